// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/state.h"

#include <cmath>

#include "row/column_block.h"

namespace icebound::exec::aggregate {
namespace {

using row::LoadAs;
using row::StoreAs;

template <typename Visit>
[[gnu::always_inline]] inline void ForEachValid(const uint8_t* valid, int32_t count, Visit&& visit) {
  if (valid == nullptr) {
    for (int32_t i = 0; i < count; ++i) visit(i);
  } else {
    for (int32_t i = 0; i < count; ++i) {
      if (valid[i] != 0) visit(i);
    }
  }
}

/// NaN is above every number, and equal to itself.
bool IsLess(double left, double right) {
  if (std::isnan(right)) return !std::isnan(left);
  return left < right;
}
template <typename Integer>
bool IsLess(Integer left, Integer right) {
  return left < right;
}

/// States of `seen | value` that keep the least or the greatest.
template <typename Value, bool kMin>
[[gnu::always_inline]] inline void Keep(uint8_t* state, Value value) {
  const auto kept = LoadAs<Value>(state + 1);
  if (state[0] == 0 || (kMin ? IsLess(value, kept) : IsLess(kept, value))) {
    state[0] = 1;
    StoreAs(state + 1, value);
  }
}

template <typename Value, bool kMin>
void UpdateExtreme(uint32_t offset, uint8_t* const* rows, int32_t count, const uint8_t* valid, const void* values) {
  const auto* bytes = static_cast<const uint8_t*>(values);
  ForEachValid(valid, count, [&](int32_t i) ICEBOUND_ROW_INLINE {
    Keep<Value, kMin>(rows[i] + offset, LoadAs<Value>(bytes + static_cast<size_t>(i) * sizeof(Value)));
  });
}

template <typename Value, bool kMin>
void MergeExtreme(uint32_t offset, uint8_t* const* into, const uint8_t* const* from, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t* state = from[i] + offset;
    if (state[0] != 0) Keep<Value, kMin>(into[i] + offset, LoadAs<Value>(state + 1));
  }
}

bool Replaces(StateKind kind, const uint8_t* state, std::string_view value) {
  if (!ByteString::Seen(state)) return true;
  switch (kind) {
    case StateKind::kMinBytes:
      return ByteString::Compare(state, value) > 0;
    case StateKind::kMaxBytes:
      return ByteString::Compare(state, value) < 0;
    default:
      return kind == StateKind::kLastBytes;
  }
}

void UpdateMoments(uint8_t* state, double value) {
  const auto count = LoadAs<int64_t>(state) + 1;
  const auto mean = LoadAs<double>(state + 8);
  const double difference = value - mean;
  const double new_mean = mean + difference / static_cast<double>(count);
  StoreAs(state, count);
  StoreAs(state + 8, new_mean);
  StoreAs(state + 16, LoadAs<double>(state + 16) + difference * (value - new_mean));
}

void MergeMoments(uint8_t* into, const uint8_t* from) {
  const auto from_count = LoadAs<int64_t>(from);
  const auto into_count = LoadAs<int64_t>(into);
  if (from_count == 0) return;
  if (into_count == 0) {
    std::memcpy(into, from, 24);
    return;
  }
  const double total = static_cast<double>(into_count + from_count);
  const double difference = LoadAs<double>(from + 8) - LoadAs<double>(into + 8);
  StoreAs(into, into_count + from_count);
  StoreAs(into + 8, LoadAs<double>(into + 8) + difference * (static_cast<double>(from_count) / total));
  StoreAs(into + 16, LoadAs<double>(into + 16) + LoadAs<double>(from + 16) +
                         difference * difference * (static_cast<double>(into_count) * static_cast<double>(from_count) / total));
}

void AddInterval(uint8_t* state, int64_t count, int64_t months, int64_t days, Int128 nanoseconds) {
  StoreAs(state, LoadAs<int64_t>(state) + count);
  StoreAs(state + 8, LoadAs<int64_t>(state + 8) + months);
  StoreAs(state + 16, LoadAs<int64_t>(state + 16) + days);
  StoreAs(state + 24, LoadAs<Int128>(state + 24) + nanoseconds);
}

void UpdateSumInt(uint32_t offset, uint8_t* const* rows, int32_t count, const SliceValues& values) {
  ForEachValid(values.valid, count, [&](int32_t i) ICEBOUND_ROW_INLINE {
    uint8_t* state = rows[i] + offset;
    state[0] = 1;
    StoreAs(state + 1, LoadAs<Int128>(state + 1) + values.ints[i]);
  });
}

void UpdateSumDouble(uint32_t offset, uint8_t* const* rows, int32_t count, const SliceValues& values) {
  ForEachValid(values.valid, count, [&](int32_t i) ICEBOUND_ROW_INLINE {
    uint8_t* state = rows[i] + offset;
    state[0] = 1;
    StoreAs(state + 1, LoadAs<double>(state + 1) + values.doubles[i]);
  });
}

void UpdateCount(uint32_t offset, uint8_t* const* rows, int32_t count, const uint8_t* valid) {
  if (valid == nullptr) {
    for (int32_t i = 0; i < count; ++i) StoreAs(rows[i] + offset, LoadAs<int64_t>(rows[i] + offset) + 1);
  } else {
    for (int32_t i = 0; i < count; ++i) StoreAs(rows[i] + offset, LoadAs<int64_t>(rows[i] + offset) + (valid[i] != 0 ? 1 : 0));
  }
}

}  // namespace

uint32_t StateBytes(StateKind kind) {
  switch (kind) {
    case StateKind::kCount:
      return 8;
    case StateKind::kSumInt:
    case StateKind::kMinWide:
    case StateKind::kMaxWide:
      return 17;
    case StateKind::kSumWide:
      return 25;
    case StateKind::kSumDouble:
    case StateKind::kMinInt:
    case StateKind::kMaxInt:
    case StateKind::kMinDouble:
    case StateKind::kMaxDouble:
      return 9;
    case StateKind::kSumInterval:
      return 40;
    case StateKind::kMoments:
      return 24;
    case StateKind::kMinBytes:
    case StateKind::kMaxBytes:
    case StateKind::kFirstBytes:
    case StateKind::kLastBytes:
      return ByteString::kStateBytes;
  }
  return 0;
}

int64_t StringBytes(const SliceValues& values, int32_t count) {
  int64_t bytes = 0;
  ForEachValid(values.valid, count,
               [&](int32_t i) { bytes += ByteString::SpaceBytes(static_cast<uint32_t>(values.bytes[i].size())); });
  return bytes;
}

void UpdateStates(StateKind kind, uint32_t offset, uint8_t* const* rows, int32_t count, const SliceValues& values,
                  StringSpace* space) {
  switch (kind) {
    case StateKind::kCount:
      return UpdateCount(offset, rows, count, values.valid);
    case StateKind::kSumInt:
      return UpdateSumInt(offset, rows, count, values);
    case StateKind::kSumWide:
      return ForEachValid(values.valid, count, [&](int32_t i) {
        const auto value = LoadAs<Int128>(values.wides + static_cast<size_t>(i) * 16);
        rows[i][offset] = 1;
        AddWide(rows[i] + offset + 1, value, value < 0 ? -1 : 0);
      });
    case StateKind::kSumDouble:
      return UpdateSumDouble(offset, rows, count, values);
    case StateKind::kSumInterval:
      return ForEachValid(values.valid, count, [&](int32_t i) {
        const auto value = LoadAs<Interval>(values.intervals + static_cast<size_t>(i) * sizeof(Interval));
        AddInterval(rows[i] + offset, 1, value.months, value.days, value.nanoseconds);
      });
    case StateKind::kMoments:
      return ForEachValid(values.valid, count, [&](int32_t i) { UpdateMoments(rows[i] + offset, values.doubles[i]); });
    case StateKind::kMinInt:
      return UpdateExtreme<int64_t, true>(offset, rows, count, values.valid, values.ints);
    case StateKind::kMaxInt:
      return UpdateExtreme<int64_t, false>(offset, rows, count, values.valid, values.ints);
    case StateKind::kMinWide:
      return UpdateExtreme<Int128, true>(offset, rows, count, values.valid, values.wides);
    case StateKind::kMaxWide:
      return UpdateExtreme<Int128, false>(offset, rows, count, values.valid, values.wides);
    case StateKind::kMinDouble:
      return UpdateExtreme<double, true>(offset, rows, count, values.valid, values.doubles);
    case StateKind::kMaxDouble:
      return UpdateExtreme<double, false>(offset, rows, count, values.valid, values.doubles);
    case StateKind::kMinBytes:
    case StateKind::kMaxBytes:
    case StateKind::kFirstBytes:
    case StateKind::kLastBytes:
      return ForEachValid(values.valid, count, [&](int32_t i) {
        uint8_t* state = rows[i] + offset;
        if (Replaces(kind, state, values.bytes[i])) ByteString::Store(state, values.bytes[i], space);
      });
  }
}

namespace {

void MergeByteStrings(StateKind kind, uint32_t offset, uint8_t* const* into, const uint8_t* const* from, int32_t count,
                      StringSpace* space) {
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t* state = from[i] + offset;
    uint8_t* target = into[i] + offset;
    if (!ByteString::Seen(state) || !Replaces(kind, target, ByteString::View(state))) continue;
    if (space == nullptr) {
      std::memcpy(target, state, ByteString::kStateBytes);
    } else {
      ByteString::Store(target, ByteString::View(state), space);
    }
  }
}

}  // namespace

void MergeStates(StateKind kind, uint32_t offset, uint8_t* const* into, const uint8_t* const* from, int32_t count,
                 StringSpace* space) {
  const auto each = [&](auto&& merge) {
    for (int32_t i = 0; i < count; ++i) merge(into[i] + offset, from[i] + offset);
  };
  switch (kind) {
    case StateKind::kCount:
      return each([](uint8_t* to, const uint8_t* state) { StoreAs(to, LoadAs<int64_t>(to) + LoadAs<int64_t>(state)); });
    case StateKind::kSumInt:
      return each([](uint8_t* to, const uint8_t* state) {
        to[0] |= state[0];
        StoreAs(to + 1, LoadAs<Int128>(to + 1) + LoadAs<Int128>(state + 1));
      });
    case StateKind::kSumWide:
      return each([](uint8_t* to, const uint8_t* state) {
        to[0] |= state[0];
        AddWide(to + 1, LoadAs<Int128>(state + 1), LoadAs<int64_t>(state + 17));
      });
    case StateKind::kSumDouble:
      return each([](uint8_t* to, const uint8_t* state) {
        to[0] |= state[0];
        StoreAs(to + 1, LoadAs<double>(to + 1) + LoadAs<double>(state + 1));
      });
    case StateKind::kSumInterval:
      return each([](uint8_t* to, const uint8_t* state) {
        AddInterval(to, LoadAs<int64_t>(state), LoadAs<int64_t>(state + 8), LoadAs<int64_t>(state + 16),
                    LoadAs<Int128>(state + 24));
      });
    case StateKind::kMoments:
      return each(MergeMoments);
    case StateKind::kMinInt:
      return MergeExtreme<int64_t, true>(offset, into, from, count);
    case StateKind::kMaxInt:
      return MergeExtreme<int64_t, false>(offset, into, from, count);
    case StateKind::kMinWide:
      return MergeExtreme<Int128, true>(offset, into, from, count);
    case StateKind::kMaxWide:
      return MergeExtreme<Int128, false>(offset, into, from, count);
    case StateKind::kMinDouble:
      return MergeExtreme<double, true>(offset, into, from, count);
    case StateKind::kMaxDouble:
      return MergeExtreme<double, false>(offset, into, from, count);
    case StateKind::kMinBytes:
    case StateKind::kMaxBytes:
    case StateKind::kFirstBytes:
    case StateKind::kLastBytes:
      return MergeByteStrings(kind, offset, into, from, count, space);
  }
}

}  // namespace icebound::exec::aggregate
