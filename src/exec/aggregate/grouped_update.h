// SPDX-License-Identifier: Apache-2.0
//
// States of a slice whose rows belong to few groups.
//
// UpdateStates (state.h) reads and writes a state for every row, each time waiting for what the row before has written. Here rows
// carry the number of their group, so that values are added up in a small array first, one entry a group, and each state is
// written once a slice. With a handful of groups rows in a row often meet the same entry: then there are kLanes arrays, taken in
// turns, so that an addition need not wait for the one before. How many rows a group has is counted once a slice, for all states.
//
//   numbers  0 1 0 0 2      lanes  0 1 2 3 0       sums of lane 0: {v0, 0, v4}, 1: {0, v1, 0}, 2: {v2, 0, 0}, 3: {v3, 0, 0}
//
// Sums are 64-bit while every value of the slice is below 2^51: 1024 of them cannot overflow. Other slices take the way of
// UpdateStates. Sums of floating point are added in the order of rows, as there.
#pragma once

#include <cstdint>

#include "exec/aggregate/state.h"

namespace icebound::exec::aggregate {

/// Most groups of a slice.
constexpr int32_t kSliceGroupsMax = 1024;

/// The groups of a slice's rows.
struct SliceGroups {
  int32_t count = 0;                  ///< rows
  const uint16_t* numbers = nullptr;  ///< of each row's group; null: all rows are of group 0
  int32_t groups = 0;                 ///< numbers are below
  uint8_t* const* rows = nullptr;     ///< by number
};

/// Counts the rows of each group.
void CountRows(const SliceGroups& groups, int32_t* counts);

/// As UpdateStates. `counts` is from CountRows. False, and nothing done, when this kind or these values go another way.
bool UpdateGroups(StateKind kind, uint32_t offset, const SliceGroups& groups, const int32_t* counts, const SliceValues& values);

}  // namespace icebound::exec::aggregate
