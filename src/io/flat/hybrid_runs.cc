// SPDX-License-Identifier: Apache-2.0
#include "io/flat/hybrid_runs.h"

#include <arrow/result.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace icebound::io {
namespace {

static_assert(std::endian::native == std::endian::little);

uint64_t Load64(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

/// Eight values from `kBits` bytes, of which up to 7 more are loaded.
template <int kBits, size_t... kIndex>
void UnpackEight(const uint8_t* bytes, uint32_t* out, std::index_sequence<kIndex...>) {
  constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  ((out[kIndex] = static_cast<uint32_t>((Load64(bytes + kIndex * kBits / 8) >> (kIndex * kBits % 8)) & kMask)), ...);
}

template <int kBits>
void UnpackGroups(const uint8_t* bytes, int64_t groups, uint32_t* out) {
  for (int64_t i = 0; i < groups; ++i) UnpackEight<kBits>(bytes + i * kBits, out + 8 * i, std::make_index_sequence<8>());
}

using GroupUnpacker = void (*)(const uint8_t* bytes, int64_t groups, uint32_t* out);

template <size_t... kBits>
constexpr std::array<GroupUnpacker, sizeof...(kBits)> MakeUnpackers(std::index_sequence<kBits...>) {
  return {&UnpackGroups<static_cast<int>(kBits)>...};
}

constexpr auto kUnpackers = MakeUnpackers(std::make_index_sequence<HybridRuns::kMaxBits + 1>());

arrow::Status CutShort() { return arrow::Status::Invalid("its dictionary indexes or levels end in the middle of a run"); }

}  // namespace

void HybridRuns::Start(const uint8_t* data, int64_t size, int bits) {
  next_ = data;
  end_ = data + size;
  bits_ = bits;
  repeats_ = packed_ = 0;
}

arrow::Status HybridRuns::NeedRun() {
  while (repeats_ == 0 && packed_ == 0) {
    uint64_t header = 0;
    for (int shift = 0;; shift += 7) {
      if (next_ == end_ || shift > 28) return CutShort();
      header |= static_cast<uint64_t>(*next_ & 0x7F) << shift;
      if ((*next_++ & 0x80) == 0) break;
    }
    const auto count = static_cast<int64_t>(header >> 1);
    if ((header & 1) == 0) {
      const int value_bytes = (bits_ + 7) / 8;
      if (end_ - next_ < value_bytes) return CutShort();
      repeated_ = 0;
      std::memcpy(&repeated_, next_, static_cast<size_t>(value_bytes));
      if (bits_ < 32) repeated_ &= (uint32_t{1} << bits_) - 1;
      next_ += value_bytes;
      repeats_ = count;
    } else {
      packed_bytes_ = next_;
      packed_at_ = 0;
      packed_ = count * 8;
      // Some writers leave the padding of the last group out.
      if (bits_ > 0) packed_ = std::min(packed_, (end_ - next_) * 8 / bits_);
      next_ += std::min<int64_t>(count * bits_, end_ - next_);
      if (packed_ == 0 && count > 0) return CutShort();
    }
  }
  return arrow::Status::OK();
}

void HybridRuns::Unpack(int64_t count, uint32_t* out) {
  const uint64_t mask = (uint64_t{1} << bits_) - 1;
  const auto unpack_one = [&] {
    const int64_t bit = packed_at_++ * bits_;
    const uint8_t* from = packed_bytes_ + bit / 8;
    uint64_t word = 0;
    std::memcpy(&word, from, static_cast<size_t>(std::min<int64_t>(8, end_ - from)));
    *out++ = static_cast<uint32_t>((word >> (bit % 8)) & mask);
    --count;
  };
  while (count > 0 && packed_at_ % 8 != 0) unpack_one();
  const uint8_t* from = packed_bytes_ + packed_at_ * bits_ / 8;
  // The last load of a group begins below its end and takes 8 bytes.
  const int64_t safe_groups = bits_ == 0 ? count / 8 : (end_ - from - 8) / bits_;
  const int64_t groups = std::clamp<int64_t>(safe_groups, 0, count / 8);
  if (bits_ == 0) {
    std::fill_n(out, groups * 8, 0);
  } else {
    kUnpackers[static_cast<size_t>(bits_)](from, groups, out);
  }
  out += groups * 8, count -= groups * 8, packed_at_ += groups * 8;
  while (count > 0) unpack_one();
}

arrow::Status HybridRuns::Read(int64_t count, uint32_t* out) {
  while (count > 0) {
    ARROW_RETURN_NOT_OK(NeedRun());
    const int64_t taken = std::min(count, std::max(repeats_, packed_));
    if (repeats_ > 0) {
      std::fill_n(out, taken, repeated_);
      repeats_ -= taken;
    } else {
      Unpack(taken, out);
      packed_ -= taken;
    }
    out += taken, count -= taken;
  }
  return arrow::Status::OK();
}

arrow::Status HybridRuns::Skip(int64_t count) {
  while (count > 0) {
    ARROW_RETURN_NOT_OK(NeedRun());
    const int64_t taken = std::min(count, std::max(repeats_, packed_));
    if (repeats_ > 0) {
      repeats_ -= taken;
    } else {
      packed_at_ += taken, packed_ -= taken;
    }
    count -= taken;
  }
  return arrow::Status::OK();
}

arrow::Result<int64_t> HybridRuns::SkipAndCountOnes(int64_t count) {
  int64_t ones = 0;
  while (count > 0) {
    ARROW_RETURN_NOT_OK(NeedRun());
    if (repeats_ > 0) {
      const int64_t taken = std::min(count, repeats_);
      ones += repeated_ == 1 ? taken : 0;
      repeats_ -= taken, count -= taken;
      continue;
    }
    uint32_t values[256];
    const int64_t taken = std::min({count, packed_, static_cast<int64_t>(std::size(values))});
    Unpack(taken, values);
    for (int64_t i = 0; i < taken; ++i) ones += values[i];
    packed_ -= taken, count -= taken;
  }
  return ones;
}

arrow::Result<bool> HybridRuns::SkipRunOf(uint32_t value, int64_t count) {
  if (count == 0) return true;
  ARROW_RETURN_NOT_OK(NeedRun());
  if (repeats_ < count || repeated_ != value) return false;
  repeats_ -= count;
  return true;
}

}  // namespace icebound::io
