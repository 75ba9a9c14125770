// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/grouped_update.h"

#include <algorithm>

#include "row/copy_bytes.h"

namespace icebound::exec::aggregate {
namespace {

using row::LoadAs;
using row::StoreAs;

constexpr int32_t kLanes = 4;

/// With more groups than this, rows that follow each other rarely meet; and the lanes would leave the first-level cache.
constexpr int32_t kLaneGroupsMax = 64;

/// Values v with -kSmall <= v < kSmall.
constexpr int64_t kSmall = int64_t{1} << 51;

/// 0 when value is small. May be or-ed over values.
uint64_t BeyondSmall(int64_t value) { return (static_cast<uint64_t>(value) + static_cast<uint64_t>(kSmall)) >> 52; }

/// Values of 64 bits.
struct Ints {
  const int64_t* values;

  int64_t operator[](int32_t i) const { return values[i]; }
  bool AreSmall(int32_t count) const {
    uint64_t beyond = 0;
    for (int32_t i = 0; i < count; ++i) beyond |= BeyondSmall(values[i]);
    return beyond == 0;
  }
};

/// Values of 128 bits whose lower half is the value.
struct Wides {
  const uint8_t* values;

  int64_t operator[](int32_t i) const { return LoadAs<int64_t>(values + static_cast<size_t>(i) * 16); }
  bool AreSmall(int32_t count) const {
    uint64_t beyond = 0;
    for (int32_t i = 0; i < count; ++i) {
      const int64_t low = (*this)[i];
      beyond |= BeyondSmall(low) | static_cast<uint64_t>(LoadAs<int64_t>(values + static_cast<size_t>(i) * 16 + 8) ^ (low >> 63));
    }
    return beyond == 0;
  }
};

/// The value 1 for every row.
struct Ones {
  int64_t operator[](int32_t) const { return 1; }
};

/// The value, or 0 for a row that is left out; without a branch.
int64_t Masked(int64_t value, uint8_t valid) { return value & -static_cast<int64_t>(valid != 0); }

/// Sums of one slice, by group.
struct Sums {
  int64_t sums[kLanes * kLaneGroupsMax];
  int64_t wide_sums[kSliceGroupsMax];
};

template <bool kMasked, typename Values>
int64_t SumAll(const Values& values, int32_t count, const uint8_t* valid) {
  int64_t sum = 0;
  for (int32_t i = 0; i < count; ++i) sum += kMasked ? Masked(values[i], valid[i]) : values[i];
  return sum;
}

/// Adds the values of the rows that are valid up by group; returns the sums.
template <bool kMasked, typename Values>
const int64_t* AddUp(const Values& values, const SliceGroups& groups, const uint8_t* valid, Sums* scratch) {
  const uint16_t* numbers = groups.numbers;
  const auto value = [&](int32_t i) { return kMasked ? Masked(values[i], valid[i]) : values[i]; };
  if (groups.groups > kLaneGroupsMax) {
    int64_t* sums = scratch->wide_sums;
    std::fill_n(sums, groups.groups, 0);
    for (int32_t i = 0; i < groups.count; ++i) sums[numbers[i]] += value(i);
    return sums;
  }
  int64_t* sums = scratch->sums;
  if (numbers == nullptr) {
    sums[0] = SumAll<kMasked>(values, groups.count, valid);
    return sums;
  }
  std::fill_n(sums, kLanes * groups.groups, 0);
  int64_t* lanes[kLanes];
  for (int32_t lane = 0; lane < kLanes; ++lane) lanes[lane] = sums + lane * groups.groups;
  int32_t i = 0;
  for (; i + kLanes <= groups.count; i += kLanes) {
    lanes[0][numbers[i]] += value(i);
    lanes[1][numbers[i + 1]] += value(i + 1);
    lanes[2][numbers[i + 2]] += value(i + 2);
    lanes[3][numbers[i + 3]] += value(i + 3);
  }
  for (; i < groups.count; ++i) sums[numbers[i]] += value(i);
  for (int32_t g = 0; g < groups.groups; ++g) sums[g] = lanes[0][g] + lanes[1][g] + lanes[2][g] + lanes[3][g];
  return sums;
}

template <typename Values>
const int64_t* AddUpValid(const Values& values, const SliceGroups& groups, const uint8_t* valid, Sums* scratch) {
  return valid == nullptr ? AddUp<false>(values, groups, valid, scratch) : AddUp<true>(values, groups, valid, scratch);
}

/// Calls visit(state, sum of the values) for each group that has a value.
template <typename Values, typename Visit>
bool SumGroups(const Values& values, uint32_t offset, const SliceGroups& groups, const int32_t* counts, const uint8_t* valid,
               Visit visit) {
  if (!values.AreSmall(groups.count)) return false;
  Sums sum_scratch;
  Sums count_scratch;
  const int64_t* sums = AddUpValid(values, groups, valid, &sum_scratch);
  const int64_t* valid_counts = valid == nullptr ? nullptr : AddUp<true>(Ones(), groups, valid, &count_scratch);
  for (int32_t g = 0; g < groups.groups; ++g) {
    if ((valid_counts != nullptr ? valid_counts[g] : counts[g]) > 0) visit(groups.rows[g] + offset, sums[g]);
  }
  return true;
}

void AddCounts(uint32_t offset, const SliceGroups& groups, const int32_t* counts, const uint8_t* valid) {
  Sums scratch;
  const int64_t* valid_counts = valid == nullptr ? nullptr : AddUp<true>(Ones(), groups, valid, &scratch);
  for (int32_t g = 0; g < groups.groups; ++g) {
    uint8_t* state = groups.rows[g] + offset;
    StoreAs(state, LoadAs<int64_t>(state) + (valid_counts != nullptr ? valid_counts[g] : counts[g]));
  }
}

/// One group: the sum stays in a register.
void SumDoublesOfOne(uint8_t* state, int32_t count, const SliceValues& values) {
  auto sum = LoadAs<double>(state + 1);
  uint8_t seen = state[0];
  for (int32_t i = 0; i < count; ++i) {
    if (values.valid != nullptr && values.valid[i] == 0) continue;
    sum += values.doubles[i];
    seen = 1;
  }
  state[0] = seen;
  StoreAs(state + 1, sum);
}

}  // namespace

void CountRows(const SliceGroups& groups, int32_t* counts) {
  if (groups.numbers == nullptr) {
    counts[0] = groups.count;
    return;
  }
  Sums scratch;
  const int64_t* sums = AddUp<false>(Ones(), groups, nullptr, &scratch);
  for (int32_t g = 0; g < groups.groups; ++g) counts[g] = static_cast<int32_t>(sums[g]);
}

bool UpdateGroups(StateKind kind, uint32_t offset, const SliceGroups& groups, const int32_t* counts, const SliceValues& values) {
  switch (kind) {
    case StateKind::kCount:
      AddCounts(offset, groups, counts, values.valid);
      return true;
    case StateKind::kSumInt:
      return SumGroups(Ints{values.ints}, offset, groups, counts, values.valid, [](uint8_t* state, int64_t sum) {
        state[0] = 1;
        StoreAs(state + 1, LoadAs<Int128>(state + 1) + sum);
      });
    case StateKind::kSumWide:
      return SumGroups(Wides{values.wides}, offset, groups, counts, values.valid, [](uint8_t* state, int64_t sum) {
        state[0] = 1;
        AddWide(state + 1, sum, sum < 0 ? -1 : 0);
      });
    case StateKind::kSumDouble:
      if (groups.numbers != nullptr) return false;
      SumDoublesOfOne(groups.rows[0] + offset, groups.count, values);
      return true;
    default:
      return false;
  }
}

}  // namespace icebound::exec::aggregate
