// SPDX-License-Identifier: Apache-2.0
//
// Aggregate states: what a group's row holds for an aggregate between its first input row and its result. A state may be split
// over any number of rows of the same group (of other workers, of spilled partitions); merging them in any order gives the same
// result, exactly so for all kinds but those of floating point. A state of zero bytes is that of no rows.
//
//   kind                       bytes in the row                                         argument
//   kCount                     count, 8                                                 a mask, or none: every row
//   kSumInt                    seen, 1 | sum, 16                                        64-bit integers
//   kSumWide                   seen, 1 | sum, 24 (192 bits, little endian)              128-bit integers
//   kSumDouble                 seen, 1 | sum, 8                                         doubles
//   kSumInterval               count, 8 | months, 8 | days, 8 | nanoseconds, 16         intervals
//   kMoments                   count, 8 | mean, 8 | sum of squared differences, 8       doubles
//   kMinInt, kMaxInt           seen, 1 | value, 8                                       64-bit integers
//   kMinWide, kMaxWide         seen, 1 | value, 16                                      128-bit integers
//   kMinDouble, kMaxDouble     seen, 1 | value, 8                                       doubles, NaN above all
//   kMinBytes, kMaxBytes       byte string (below), memcmp order                        byte strings
//   kFirstBytes, kLastBytes    byte string: the first, or last, that came               byte strings
//
//   byte string   seen, 1 | length, 4 | up to 12 bytes in place, or the first 4 bytes and the address of all of them, 8
//
// A sum of 64-bit integers cannot pass 128 bits, nor one of 128-bit integers 192: results are checked against their type at the
// end, so that an intermediate value never decides whether there is an error.
//
// The moments are kept by Welford's method and merged by that of Chan, Golub and LeVeque ("Updating Formulae and a Pairwise
// Algorithm for Computing Sample Variances", 1979).
#pragma once

#include <arrow/type.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "row/copy_bytes.h"

namespace icebound::exec::aggregate {

using Int128 = __int128;
using Interval = arrow::MonthDayNanoIntervalType::MonthDayNanos;

enum class StateKind : uint8_t {
  kCount,
  kSumInt,
  kSumWide,
  kSumDouble,
  kSumInterval,
  kMoments,
  kMinInt,
  kMaxInt,
  kMinWide,
  kMaxWide,
  kMinDouble,
  kMaxDouble,
  kMinBytes,
  kMaxBytes,
  kFirstBytes,
  kLastBytes,
};

/// Bytes of a state in the row.
uint32_t StateBytes(StateKind kind);

inline bool IsByteString(StateKind kind) { return kind >= StateKind::kMinBytes; }

/// Argument values of up to kSliceRows rows. `valid[i]` is 0 for rows that the state leaves out; null: there are none. One of the
/// other pointers is set, as the kind wants it.
struct SliceValues {
  const uint8_t* valid = nullptr;
  const int64_t* ints = nullptr;
  const uint8_t* wides = nullptr;  ///< 16 bytes each, not aligned
  const double* doubles = nullptr;
  const uint8_t* intervals = nullptr;  ///< arrow's 16 bytes each
  const std::string_view* bytes = nullptr;
};

constexpr int32_t kSliceRows = 1024;

/// Adds a value to the 192 bits of a kSumWide state; `value_high` are those above the value's own 128.
inline void AddWide(uint8_t* sum, Int128 value, int64_t value_high) {
  using Unsigned = unsigned __int128;
  const auto low = row::LoadAs<Unsigned>(sum);
  const Unsigned added = low + static_cast<Unsigned>(value);
  row::StoreAs(sum, added);
  const auto carry = static_cast<uint64_t>(added < low);
  row::StoreAs(sum + 16, row::LoadAs<uint64_t>(sum + 16) + static_cast<uint64_t>(value_high) + carry);
}

/// Room for byte strings beside the rows. Whoever updates makes sure of the room first (StringBytes).
class StringSpace {
 public:
  /// `bytes` from what was made sure of.
  uint8_t* Take(uint32_t bytes) {
    uint8_t* place = next_;
    next_ += bytes;
    return place;
  }
  bool HasRoom(int64_t bytes) const { return bytes <= end_ - next_; }
  void Use(uint8_t* begin, uint8_t* end) {
    next_ = begin;
    end_ = end;
  }

 private:
  uint8_t* next_ = nullptr;
  uint8_t* end_ = nullptr;
};

/// A byte string in a row.
class ByteString {
 public:
  static constexpr uint32_t kInPlaceBytes = 12;
  static constexpr uint32_t kStateBytes = 17;

  /// What a string of this length takes in a StringSpace.
  static uint32_t SpaceBytes(uint32_t length) { return length <= kInPlaceBytes ? 0 : (length + 15) & ~uint32_t{15}; }

  static bool Seen(const uint8_t* state) { return state[0] != 0; }
  static uint32_t Length(const uint8_t* state) { return row::LoadAs<uint32_t>(state + 1); }
  /// Bytes outside of the row.
  static uint32_t OutsideBytes(const uint8_t* state) {
    const uint32_t length = Length(state);
    return length <= kInPlaceBytes ? 0 : length;
  }
  static std::string_view View(const uint8_t* state) {
    const uint32_t length = Length(state);
    if (length <= kInPlaceBytes) return {reinterpret_cast<const char*>(state) + 5, length};
    return {row::LoadAs<const char*>(state + 9), length};
  }
  static void PointTo(uint8_t* state, const uint8_t* outside) { row::StoreAs(state + 9, outside); }

  /// Sets the value; takes space only when the old value's is too small.
  static void Store(uint8_t* state, std::string_view value, StringSpace* space) {
    const auto length = static_cast<uint32_t>(value.size());
    const uint32_t old_space = SpaceBytes(Length(state));
    state[0] = 1;
    row::StoreAs(state + 1, length);
    if (length <= kInPlaceBytes) {
      std::memset(state + 5, 0, kInPlaceBytes);
      std::memcpy(state + 5, value.data(), length);
      return;
    }
    uint8_t* place = SpaceBytes(length) <= old_space ? row::LoadAs<uint8_t*>(state + 9) : space->Take(SpaceBytes(length));
    row::CopyBytes(place, value.data(), length);
    std::memcpy(state + 5, value.data(), 4);
    row::StoreAs(state + 9, place);
  }

  /// Order of a seen value and another one.
  static int Compare(const uint8_t* state, std::string_view value) {
    if (value.size() >= 4 && Length(state) >= 4) {
      const uint32_t left = __builtin_bswap32(row::LoadAs<uint32_t>(state + 5));
      const uint32_t right = __builtin_bswap32(row::LoadAs<uint32_t>(value.data()));
      if (left != right) return left < right ? -1 : 1;
    }
    return View(state).compare(value);
  }
};

/// What the slice's values may take of a StringSpace.
int64_t StringBytes(const SliceValues& values, int32_t count);

/// Adds row i of the slice to the state at states[i] + offset, in order; a row may come several times. `space` is for byte
/// strings.
void UpdateStates(StateKind kind, uint32_t offset, uint8_t* const* rows, int32_t count, const SliceValues& values,
                  StringSpace* space);

/// Merges the state at from[i] + offset into that at into[i] + offset, in order. With `space` byte strings are copied to it,
/// without, the address is taken over.
void MergeStates(StateKind kind, uint32_t offset, uint8_t* const* into, const uint8_t* const* from, int32_t count,
                 StringSpace* space);

}  // namespace icebound::exec::aggregate
