// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/hybrid_encoding.h"

#include <array>
#include <cstring>
#include <utility>

namespace icebound::io {
namespace {

constexpr int kGroup = 8;
constexpr int kMaxVarintBytes = 5;

int64_t WriteVarint(uint64_t value, uint8_t* out) {
  int64_t bytes = 0;
  while (value >= 0x80) {
    out[bytes++] = static_cast<uint8_t>(value) | 0x80;
    value >>= 7;
  }
  out[bytes++] = static_cast<uint8_t>(value);
  return bytes;
}

/// Packs eight values of kBits bits into kBits bytes.
template <int kBits, typename T>
inline void PackGroup(const T* values, uint8_t* out) {
  uint64_t word = 0;
  int filled = 0;
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) {
    word |= static_cast<uint64_t>(values[i]) << filled;
    filled += kBits;
    if (filled >= 32) {
      std::memcpy(out, &word, 4);
      out += 4;
      word >>= 32;
      filled -= 32;
    }
  }
  std::memcpy(out, &word, static_cast<size_t>(filled) / 8);
}

template <int kBits, typename T>
void PackGroups(const T* values, int64_t groups, uint8_t* out) {
  for (int64_t group = 0; group < groups; ++group) PackGroup<kBits>(values + group * kGroup, out + group * kBits);
}

template <typename T>
using Packer = void (*)(const T*, int64_t, uint8_t*);

template <typename T, int... kBits>
constexpr std::array<Packer<T>, sizeof...(kBits)> MakePackers(std::integer_sequence<int, kBits...>) {
  return {&PackGroups<kBits + 1, T>...};
}

template <typename T>
constexpr auto kPackers = MakePackers<T>(std::make_integer_sequence<int, 8 * sizeof(T)>());

template <typename T>
inline bool IsUniform(const T* group) {
  const T first = group[0];
  T difference = 0;
  for (int i = 1; i < kGroup; ++i) difference |= group[i] ^ first;
  return difference == 0;
}

template <typename T>
class HybridWriter {
 public:
  HybridWriter(int bit_width, uint8_t* out) : bit_width_(bit_width), value_bytes_((bit_width + 7) / 8), start_(out), out_(out) {}

  /// Packs the groups in [begin, end) of `values`.
  void WritePacked(const T* values, int64_t groups) {
    if (groups == 0) return;
    out_ += WriteVarint(static_cast<uint64_t>(groups) << 1 | 1, out_);
    kPackers<T>[bit_width_ - 1](values, groups, out_);
    out_ += groups * bit_width_;
  }

  void WriteRun(T value, int64_t count) {
    out_ += WriteVarint(static_cast<uint64_t>(count) << 1, out_);
    std::memcpy(out_, &value, value_bytes_);
    out_ += value_bytes_;
  }

  /// A run interrupts the packed groups around it: it pays when it saves the header of the packed part that follows, too.
  bool RunPays(int64_t groups) const { return groups * bit_width_ > kMaxVarintBytes + value_bytes_ + 1; }

  int64_t bytes() const { return out_ - start_; }

 private:
  const int bit_width_;
  const int value_bytes_;
  uint8_t* const start_;
  uint8_t* out_;
};

template <typename T>
int64_t Encode(const T* values, int64_t count, int bit_width, uint8_t* out) {
  HybridWriter<T> writer(bit_width, out);
  const int64_t whole_groups = count / kGroup;
  int64_t packed_begin = 0;  // first group that is not written yet
  int64_t group = 0;
  while (group < whole_groups) {
    const T* first = values + group * kGroup;
    if (!IsUniform(first)) {
      ++group;
      continue;
    }
    int64_t end = group + 1;
    while (end < whole_groups && values[end * kGroup] == *first && IsUniform(values + end * kGroup)) ++end;
    if (writer.RunPays(end - group)) {
      writer.WritePacked(values + packed_begin * kGroup, group - packed_begin);
      int64_t run = (end - group) * kGroup;
      if (end == whole_groups) {
        while (group * kGroup + run < count && values[group * kGroup + run] == *first) ++run;
      }
      writer.WriteRun(*first, run);
      packed_begin = end;
      if (group * kGroup + run == count) return writer.bytes();
      if (end == whole_groups) {  // the run ends inside the last, partial group
        std::array<T, kGroup> tail{};
        const int64_t done = group * kGroup + run;
        std::copy(values + done, values + count, tail.begin());
        writer.WritePacked(tail.data(), 1);
        return writer.bytes();
      }
    }
    group = end;
  }
  writer.WritePacked(values + packed_begin * kGroup, whole_groups - packed_begin);
  if (count % kGroup != 0) {
    std::array<T, kGroup> tail{};
    std::copy(values + whole_groups * kGroup, values + count, tail.begin());
    writer.WritePacked(tail.data(), 1);
  }
  return writer.bytes();
}

}  // namespace

int64_t EncodeHybrid(const uint32_t* values, int64_t count, int bit_width, uint8_t* out) {
  return Encode(values, count, bit_width, out);
}

int64_t EncodeHybrid(const uint8_t* values, int64_t count, int bit_width, uint8_t* out) {
  return Encode(values, count, bit_width, out);
}

int64_t EncodeHybridRun(uint32_t value, int64_t count, int bit_width, uint8_t* out) {
  HybridWriter<uint32_t> writer(bit_width, out);
  writer.WriteRun(value, count);
  return writer.bytes();
}

}  // namespace icebound::io
