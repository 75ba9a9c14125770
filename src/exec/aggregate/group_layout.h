// SPDX-License-Identifier: Apache-2.0
//
// A group's row: its key, and the states of its aggregates, in one piece.
//
//   row     hash, 8 | [key bytes, 4] | states | key
//   stored  row | the bytes of its byte strings that are longer than 12, in order
//
// The key is a packed row (row/row_codec.h) of columns whose equal values have equal bytes (key_columns.h), so that keys are
// equal when their bytes are. "key bytes" is there when keys vary in width. States are as in state.h. The stored form is that of
// spill files; the addresses in it mean nothing until Attach has set them.
//
// Worked example: sum(x), max(s) GROUP BY k with an int64 k NOT NULL, the group {7: 30, "carefully final"}
//
//     hash    | 01 1E 00 .. 00 | 01 0F 00 00 00 63 61 72 65 (address)  | 07 00 00 00 00 00 00 00 | "carefully final"
//     8 bytes | sum, 17 bytes  | seen, length, "care", 17 bytes        | key                     | stored only
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/aggregate/state.h"
#include "row/copy_bytes.h"
#include "row/hash.h"
#include "row/row_codec.h"

namespace icebound::exec::aggregate {

/// Bytes that may be read (never used) behind a row.
constexpr int64_t kReadSlackBytes = 64;

/// Seed of the hashes of groups; any number would do, but not that of a join below, whose partitions would come here one by one.
constexpr uint64_t kGroupHashSeed = 0x67726F7570ULL;

/// Where a state lies in the row.
struct StatePlace {
  StateKind kind = StateKind::kCount;
  uint32_t offset = 0;
};

/// Immutable once made, hence thread safe.
class GroupLayout {
 public:
  static arrow::Result<std::unique_ptr<GroupLayout>> Make(const arrow::FieldVector& keys, const std::vector<StateKind>& states);

  const row::RowCodec& key_codec() const { return *codec_; }
  const row::RowHasher& hasher() const { return *hasher_; }
  const std::shared_ptr<arrow::Schema>& key_schema() const { return key_schema_; }
  const std::vector<StatePlace>& states() const { return states_; }
  bool has_keys() const { return key_schema_->num_fields() > 0; }

  uint32_t fixed_key_bytes() const { return fixed_key_bytes_; }
  bool has_variable_keys() const { return variable_keys_; }
  uint32_t head_bytes() const { return head_bytes_; }  ///< what lies before the states
  uint32_t key_offset() const { return key_offset_; }
  uint32_t RowBytes(uint32_t key_bytes) const { return key_offset_ + key_bytes; }

  static uint64_t Hash(const uint8_t* row) { return row::LoadAs<uint64_t>(row); }
  uint32_t KeyBytes(const uint8_t* row) const { return variable_keys_ ? row::LoadAs<uint32_t>(row + 8) : fixed_key_bytes_; }
  const uint8_t* Key(const uint8_t* row) const { return row + key_offset_; }
  uint32_t RowBytes(const uint8_t* row) const { return key_offset_ + KeyBytes(row); }

  /// Byte strings, which rows point to.
  const std::vector<uint32_t>& byte_strings() const { return byte_strings_; }
  bool has_byte_strings() const { return !byte_strings_.empty(); }

  /// Bytes of the stored form of a row, in memory or stored.
  int64_t StoredBytes(const uint8_t* row) const {
    int64_t bytes = RowBytes(row);
    for (const uint32_t offset : byte_strings_) bytes += ByteString::OutsideBytes(row + offset);
    return bytes;
  }
  /// Writes the stored form.
  void Store(const uint8_t* row, uint8_t* out) const;
  /// Makes a stored row point to its byte strings, which lie behind it. Not needed when there are none.
  void Attach(uint8_t* stored) const { AttachTo(stored, stored + RowBytes(stored)); }
  /// The same when they lie elsewhere, one behind the other.
  void AttachTo(uint8_t* row, const uint8_t* outside) const;

  /// What a row's byte strings take in a StringSpace.
  int64_t StringSpaceBytes(const uint8_t* row) const {
    int64_t bytes = 0;
    for (const uint32_t offset : byte_strings_) bytes += ByteString::SpaceBytes(ByteString::Length(row + offset));
    return bytes;
  }

  /// Writes a row without states: all bytes before the key, and the key.
  void Begin(uint8_t* row, uint64_t hash, const uint8_t* key, uint32_t key_bytes) const {
    row::StoreAs(row, hash);
    if (variable_keys_) row::StoreAs(row + 8, key_bytes);
    std::memset(row + head_bytes_, 0, key_offset_ - head_bytes_);
    row::CopyBytes(row + key_offset_, key, key_bytes);
  }

  bool KeyEquals(const uint8_t* row, const uint8_t* key, uint32_t key_bytes) const {
    if (variable_keys_ && row::LoadAs<uint32_t>(row + 8) != key_bytes) return false;
    return EqualBytes(row + key_offset_, key, key_bytes);
  }

 private:
  GroupLayout() = default;
  static bool EqualBytes(const uint8_t* left, const uint8_t* right, uint32_t bytes);

  std::shared_ptr<arrow::Schema> key_schema_;
  std::unique_ptr<row::RowCodec> codec_;
  std::unique_ptr<row::RowHasher> hasher_;
  std::vector<StatePlace> states_;
  std::vector<uint32_t> byte_strings_;
  bool variable_keys_ = false;
  uint32_t fixed_key_bytes_ = 0;
  uint32_t head_bytes_ = 8;
  uint32_t key_offset_ = 8;
};

/// Short keys are the rule, so most comparisons are a few words.
inline bool GroupLayout::EqualBytes(const uint8_t* left, const uint8_t* right, uint32_t bytes) {
  using row::LoadAs;
  if (bytes >= 8) {
    uint32_t at = 0;
    for (; at + 8 <= bytes; at += 8) {
      if (LoadAs<uint64_t>(left + at) != LoadAs<uint64_t>(right + at)) return false;
    }
    return LoadAs<uint64_t>(left + bytes - 8) == LoadAs<uint64_t>(right + bytes - 8);
  }
  if (bytes >= 4) {
    return LoadAs<uint32_t>(left) == LoadAs<uint32_t>(right) &&
           LoadAs<uint32_t>(left + bytes - 4) == LoadAs<uint32_t>(right + bytes - 4);
  }
  return bytes == 0 || (left[0] == right[0] && left[bytes >> 1] == right[bytes >> 1] && left[bytes - 1] == right[bytes - 1]);
}

/// The partition of a hash among 2^bits. Levels are independent of each other.
inline uint32_t PartitionOf(uint64_t hash, int level, int bits) {
  if (bits == 0) return 0;
  if (level > 0) hash = row::Mix(hash + static_cast<uint64_t>(level) * 0x9E3779B97F4A7C15ULL);
  return static_cast<uint32_t>(hash >> (64 - bits));
}

}  // namespace icebound::exec::aggregate
