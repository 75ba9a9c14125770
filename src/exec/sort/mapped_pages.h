// SPDX-License-Identifier: Apache-2.0
//
// Anonymous pages, charged to a SortBudget. They come straight from the system and go straight back, so what is
// charged is what is resident at most; and they grow by remapping, so that the sort array of millions of rows grows
// without ever holding two copies.
#pragma once

#include <arrow/status.h>

#include <cstdint>
#include <span>

#include "exec/sort/sort_budget.h"

namespace icebound::exec::sort {

/// Not thread safe. The budget outlives it.
class MappedPages {
 public:
  MappedPages() = default;
  explicit MappedPages(SortBudget* budget) : budget_(budget) {}
  MappedPages(MappedPages&& other) noexcept { *this = std::move(other); }
  MappedPages& operator=(MappedPages&& other) noexcept;
  ~MappedPages() { Free(); }

  /// Grows or shrinks to `bytes` rounded up to pages, keeping the content; addresses may change. False when the
  /// budget refuses (nothing changed then).
  bool TryResize(int64_t bytes);

  /// As TryResize; a refusal is an error (ErrorKind::kMemoryLimit).
  arrow::Status Resize(int64_t bytes);

  void Free();

  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  static int64_t RoundUp(int64_t bytes);

 private:
  /// Changes the mapping; the budget has been settled by the caller for a larger one.
  arrow::Status Remap(int64_t bytes);

  SortBudget* budget_ = nullptr;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace icebound::exec::sort
