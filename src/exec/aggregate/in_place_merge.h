// SPDX-License-Identifier: Apache-2.0
//
// Merges the rows that several stores have of one partition, where they lie: a table of addresses is built over them, and the
// states of a row whose group is already there are merged into the first one's (and cleared, so that nothing is counted twice if
// the merge has to be given up).
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <span>
#include <vector>

#include "exec/aggregate/group_layout.h"
#include "exec/aggregate/group_store.h"
#include "exec/sort/mapped_pages.h"

namespace icebound::exec::aggregate {

/// Not thread safe.
class InPlaceMerge {
 public:
  /// What the table takes for so many rows.
  static int64_t TableBytes(int64_t rows);

  InPlaceMerge(const GroupLayout* layout, sort::SortBudget* budget) : layout_(*layout), table_(budget) {}

  /// Makes the table for so many rows.
  arrow::Status Start(int64_t rows);

  /// False when too many different keys have one hash: the rows are as good as before, but this merge has to be given up.
  bool Add(RowChunk* first);

  /// The next merged rows, as many as fit; empty at the end. After the last Add.
  void Next(std::vector<const uint8_t*>* rows, int64_t rows_max, int64_t bytes_max);

 private:
  bool AddSlice(uint8_t* const* rows, int32_t count);

  const GroupLayout& layout_;
  sort::MappedPages table_;
  uint64_t mask_ = 0;
  uint64_t next_slot_ = 0;
};

}  // namespace icebound::exec::aggregate
