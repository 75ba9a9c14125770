// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <vector>

#include "exec/sort/mapped_pages.h"
#include "exec/sort/sort_budget.h"

namespace icebound::exec::sort {

/// Rows one behind the other in chunks. A chunk stays where it is until Reset or Free, so rows are referred to by
/// address; each chunk has kReadSlackBytes of readable bytes behind its rows. Chunks are kept over a Reset, for the
/// next run. A row wider than an eighth of a chunk gets pages of its own, so that at most an eighth of a chunk is
/// ever left unused.
///
/// Not thread safe. The budget outlives it.
class RowArena {
 public:
  /// `chunk_bytes` is a multiple of the page size.
  RowArena(SortBudget* budget, int64_t chunk_bytes) : budget_(budget), chunk_bytes_(chunk_bytes) {}

  /// Room for one row behind the last one, or nullptr when new pages would be needed and are refused: by the budget,
  /// or because the arena would then hold more than `held_bytes_max`.
  uint8_t* TryAllocate(int64_t bytes, int64_t held_bytes_max) {
    if (bytes > end_ - next_ || IsWide(bytes)) return TryAllocateSlow(bytes, held_bytes_max);
    uint8_t* row = next_;
    next_ += bytes;
    return row;
  }

  /// As TryAllocate, but a refusal is an error: for the first row of a run, when there is nothing left to spill.
  arrow::Result<uint8_t*> Allocate(int64_t bytes);

  /// Forgets the rows. Chunks are kept, the pages of wide rows go back to the budget.
  void Reset();

  /// Forgets the rows and gives everything back.
  void Free();

  int64_t held_bytes() const { return held_bytes_; }

 private:
  bool IsWide(int64_t bytes) const { return bytes > chunk_bytes_ / 8; }
  uint8_t* TryAllocateSlow(int64_t bytes, int64_t held_bytes_max);
  bool UseKeptChunk();
  void Use(MappedPages chunk);

  SortBudget* budget_;
  int64_t chunk_bytes_;
  std::vector<MappedPages> chunks_;  // in use; the last one is being filled
  std::vector<MappedPages> kept_;    // waiting for the next run
  std::vector<MappedPages> wide_;    // a row each
  uint8_t* next_ = nullptr;
  uint8_t* end_ = nullptr;
  int64_t held_bytes_ = 0;
};

}  // namespace icebound::exec::sort
