// SPDX-License-Identifier: Apache-2.0
//
// Dictionaries under construction: value -> code, codes given in order of first appearance. Open addressing with linear probing
// over 32-bit (numbers) or 64-bit (byte strings, with half of the hash) slots; at least half of the slots are free. The entries
// lie as the dictionary page wants them.
#pragma once

#include <arrow/result.h>
#include <parquet/types.h>

#include <cstdint>
#include <cstring>

#include "io/parquet_writer/pool_vector.h"

namespace icebound::io {

namespace dictionary_hash {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio

inline uint64_t Mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t Load8(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

inline uint64_t Load4(const uint8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return word;
}

/// Compares `length` bytes; the short strings that dictionaries are made of without a call.
inline bool EqualBytes(const uint8_t* a, const uint8_t* b, uint64_t length) {
  if (length > 16) return std::memcmp(a, b, length) == 0;
  if (length >= 8) return ((Load8(a) ^ Load8(b)) | (Load8(a + length - 8) ^ Load8(b + length - 8))) == 0;
  if (length >= 4) return ((Load4(a) ^ Load4(b)) | (Load4(a + length - 4) ^ Load4(b + length - 4))) == 0;
  for (uint64_t i = 0; i < length; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Two overlapping loads cover up to 16 bytes; longer strings are folded 16 bytes at a time.
inline uint64_t HashBytes(const uint8_t* p, uint64_t length) {
  constexpr uint64_t kSeed = 0xA0761D6478BD642Fu;
  uint64_t state = kSeed ^ length;
  uint64_t rest = length;
  while (rest > 16) {
    state = Mix(Load8(p) ^ state, Load8(p + 8) ^ kMultiplier);
    p += 16;
    rest -= 16;
  }
  if (rest >= 8) return Mix(Load8(p) ^ state, Load8(p + rest - 8) ^ kMultiplier);
  if (rest >= 4) return Mix(Load4(p) ^ state, Load4(p + rest - 4) ^ kMultiplier);
  if (rest > 0) {
    const uint64_t few = uint64_t{p[0]} | uint64_t{p[rest / 2]} << 8 | uint64_t{p[rest - 1]} << 16;
    return Mix(few ^ state, kMultiplier);
  }
  return Mix(state, kMultiplier);
}

}  // namespace dictionary_hash

constexpr int64_t kFirstDictionarySlots = 512;

/// Numbers of 4 or 8 bytes, told apart by their bits.
template <typename Bits>
class NumberDictionary {
 public:
  explicit NumberDictionary(arrow::MemoryPool* pool) : entries_(pool), slots_(pool) {}

  /// Finds or adds `count` values.
  arrow::Status Encode(const Bits* values, int64_t count, uint32_t* codes) {
    ARROW_RETURN_NOT_OK(MakeRoom(count));
    const uint64_t mask = static_cast<uint64_t>(slots_.size()) - 1;
    uint32_t* slots = slots_.data();
    Bits* entries = entries_.data();
    auto entry_count = static_cast<uint32_t>(entries_.size());
    for (int64_t i = 0; i < count; ++i) {
      const Bits value = values[i];
      uint64_t slot = Slot(value);
      while (true) {
        const uint32_t held = slots[slot];
        if (held == 0) {
          entries[entry_count] = value;
          slots[slot] = ++entry_count;
          codes[i] = entry_count - 1;
          break;
        }
        if (entries[held - 1] == value) {
          codes[i] = held - 1;
          break;
        }
        slot = (slot + 1) & mask;
      }
    }
    entries_.Advance(entry_count - entries_.size());
    return arrow::Status::OK();
  }

  Bits operator[](uint32_t code) const { return entries_[code]; }
  int64_t size() const { return entries_.size(); }
  int64_t entry_bytes() const { return entries_.size() * static_cast<int64_t>(sizeof(Bits)); }
  std::span<const uint8_t> page() const {
    return {reinterpret_cast<const uint8_t*>(entries_.data()), static_cast<size_t>(entry_bytes())};
  }
  int64_t memory_bytes() const { return entries_.capacity_bytes() + slots_.capacity_bytes(); }

  /// Empties it. The table starts small again, so that a chunk with few values stays in the nearest cache.
  void Clear() {
    entries_.Clear();
    slots_.Clear();
  }
  void Release() {
    entries_.Release();
    slots_.Release();
  }

 private:
  uint64_t Slot(Bits value) const { return (static_cast<uint64_t>(value) * dictionary_hash::kMultiplier) >> shift_; }

  /// Room for `extra` more entries at a load of at most a half. What may come in one call is bounded by the caller's slices.
  arrow::Status MakeRoom(int64_t extra) {
    ARROW_RETURN_NOT_OK(entries_.Reserve(extra));
    int64_t slots = std::max(slots_.size(), kFirstDictionarySlots);
    while (slots < 2 * (entries_.size() + extra)) slots *= 2;
    if (slots == slots_.size()) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(slots_.Resize(slots));
    std::memset(slots_.data(), 0, static_cast<size_t>(slots) * sizeof(uint32_t));
    shift_ = 64 - __builtin_ctzll(static_cast<uint64_t>(slots));
    for (int64_t code = 0; code < entries_.size(); ++code) {
      uint64_t slot = Slot(entries_[code]);
      while (slots_[static_cast<int64_t>(slot)] != 0) slot = (slot + 1) & (static_cast<uint64_t>(slots) - 1);
      slots_[static_cast<int64_t>(slot)] = static_cast<uint32_t>(code) + 1;
    }
    return arrow::Status::OK();
  }

  PoolVector<Bits> entries_;
  PoolVector<uint32_t> slots_;  // code + 1; 0 = free
  int shift_ = 0;
};

/// Byte strings; entries lie behind a 4-byte length (BYTE_ARRAY), or without one (FIXED_LEN_BYTE_ARRAY).
class BytesDictionary {
 public:
  BytesDictionary(bool with_lengths, arrow::MemoryPool* pool)
      : length_bytes_(with_lengths ? 4 : 0), page_(pool), starts_(pool), slots_(pool) {}

  arrow::Status Encode(const parquet::ByteArray* values, int64_t count, uint32_t* codes) {
    ARROW_RETURN_NOT_OK(MakeRoom(count));
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t hash = dictionary_hash::HashBytes(values[i].ptr, values[i].len);
      const uint64_t mask = static_cast<uint64_t>(slots_.size()) - 1;
      uint64_t slot = hash & mask;
      while (true) {
        const uint64_t held = slots_[static_cast<int64_t>(slot)];
        if (held == 0) {
          ARROW_ASSIGN_OR_RAISE(codes[i], Add(values[i], slot, hash));
          break;
        }
        if ((held ^ hash) >> 32 == 0) {
          const auto code = static_cast<uint32_t>(held) - 1;
          const parquet::ByteArray entry = (*this)[code];
          if (entry.len == values[i].len && dictionary_hash::EqualBytes(entry.ptr, values[i].ptr, entry.len)) {
            codes[i] = code;
            break;
          }
        }
        slot = (slot + 1) & mask;
      }
    }
    return arrow::Status::OK();
  }

  parquet::ByteArray operator[](uint32_t code) const {
    const int64_t begin = starts_[code] + length_bytes_;
    return {static_cast<uint32_t>(starts_[code + 1] - begin), page_.data() + begin};
  }
  int64_t size() const { return std::max<int64_t>(starts_.size() - 1, 0); }
  int64_t entry_bytes() const { return page_.size(); }
  std::span<const uint8_t> page() const { return page_.span(); }
  int64_t memory_bytes() const { return page_.capacity_bytes() + starts_.capacity_bytes() + slots_.capacity_bytes(); }
  void Clear() {
    page_.Clear();
    starts_.Clear();
    slots_.Clear();
  }
  void Release() {
    page_.Release();
    starts_.Release();
    slots_.Release();
  }

 private:
  arrow::Result<uint32_t> Add(const parquet::ByteArray& value, uint64_t slot, uint64_t hash) {
    ARROW_RETURN_NOT_OK(page_.Reserve(length_bytes_ + static_cast<int64_t>(value.len)));
    if (length_bytes_ != 0) page_.AppendUnchecked(reinterpret_cast<const uint8_t*>(&value.len), length_bytes_);
    page_.AppendUnchecked(value.ptr, value.len);
    starts_.AppendUnchecked(page_.size());
    const auto code = static_cast<uint32_t>(starts_.size()) - 2;
    slots_[static_cast<int64_t>(slot)] = (hash >> 32 << 32) | (code + 1);
    return code;
  }

  arrow::Status MakeRoom(int64_t extra) {
    ARROW_RETURN_NOT_OK(starts_.Reserve(extra + 1));
    if (starts_.empty()) starts_.AppendUnchecked(0);
    int64_t slots = std::max(slots_.size(), kFirstDictionarySlots);
    while (slots < 2 * (size() + extra)) slots *= 2;
    if (slots == slots_.size()) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(slots_.Resize(slots));
    std::memset(slots_.data(), 0, static_cast<size_t>(slots) * sizeof(uint64_t));
    const uint64_t mask = static_cast<uint64_t>(slots) - 1;
    for (int64_t code = 0; code < size(); ++code) {
      const parquet::ByteArray entry = (*this)[static_cast<uint32_t>(code)];
      const uint64_t hash = dictionary_hash::HashBytes(entry.ptr, entry.len);
      uint64_t slot = hash & mask;
      while (slots_[static_cast<int64_t>(slot)] != 0) slot = (slot + 1) & mask;
      slots_[static_cast<int64_t>(slot)] = (hash >> 32 << 32) | (static_cast<uint64_t>(code) + 1);
    }
    return arrow::Status::OK();
  }

  const int64_t length_bytes_;
  PoolVector<uint8_t> page_;
  PoolVector<int64_t> starts_;  // of the entries in page_, and their end
  PoolVector<uint64_t> slots_;  // upper half of the hash, code + 1; 0 = free
};

}  // namespace icebound::io
