// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/buffer.h>
#include <arrow/result.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "exec/sort/mapped_pages.h"
#include "exec/sort/row_layout.h"
#include "row/copy_bytes.h"

namespace icebound::exec::sort {

/// The next rows of a merge, in order: addresses, and the bytes of those rows that would not stay where they are. Not
/// thread safe.
class RowBatch {
 public:
  /// Bytes that a batch of this size takes from the budget.
  static int64_t BufferBytes(int64_t rows_max, int64_t bytes_max) {
    return MappedPages::RoundUp(bytes_max + kReadSlackBytes) +
           MappedPages::RoundUp(rows_max * static_cast<int64_t>(sizeof(uint8_t*)));
  }

  static arrow::Result<std::unique_ptr<RowBatch>> Make(SortBudget* budget, int64_t rows_max, int64_t bytes_max) {
    std::unique_ptr<RowBatch> batch(new RowBatch(budget, rows_max, bytes_max));
    ARROW_RETURN_NOT_OK(batch->bytes_.Resize(bytes_max + kReadSlackBytes));
    ARROW_RETURN_NOT_OK(batch->addresses_.Resize(rows_max * static_cast<int64_t>(sizeof(uint8_t*))));
    return batch;
  }

  void Clear() {
    row_count_ = used_bytes_ = 0;
    borrows_row_ = false;
    owner_.reset();
  }

  /// Whether a row of this size may be added; a wider one than any batch takes travels alone (AddAlone).
  bool HasRoom(int64_t row_bytes) const { return row_count_ < rows_max_ && row_bytes <= bytes_max_ - used_bytes_; }
  bool empty() const { return row_count_ == 0; }

  /// Adds a row that stays where it is until the batch is cleared.
  const uint8_t* AddAddress(const uint8_t* row, int64_t row_bytes) {
    addresses()[row_count_++] = row;
    used_bytes_ += row_bytes;
    return row;
  }

  /// Adds a row that the caller writes to the address returned.
  uint8_t* AddSpace(int64_t row_bytes) {
    uint8_t* space = bytes_.data() + used_bytes_;
    AddAddress(space, row_bytes);
    return space;
  }

  /// Adds a copy of a row; returns where it is.
  const uint8_t* AddCopy(const uint8_t* row, int64_t row_bytes) {
    uint8_t* copy = bytes_.data() + used_bytes_;
    row::CopyBytes(copy, row, static_cast<size_t>(row_bytes));
    return AddAddress(copy, row_bytes);
  }

  /// Adds the address of a row to an empty batch and fills it.
  void AddAlone(const uint8_t* row) {
    addresses()[row_count_++] = row;
    used_bytes_ = bytes_max_;
    borrows_row_ = true;
  }

  /// The same for a row at the beginning of a buffer of its own, which stays until the batch is cleared.
  void AddAlone(std::shared_ptr<arrow::Buffer> row) {
    AddAlone(row->data());
    borrows_row_ = false;
    owner_ = std::move(row);
  }

  /// Drops rows behind the first `row_count`.
  void Truncate(int64_t row_count) { row_count_ = std::min(row_count_, row_count); }

  int64_t row_count() const { return row_count_; }
  bool borrows_row() const { return borrows_row_; }  ///< it is good only until the merge goes on
  /// Where the only row lies, when it has a buffer of its own; null otherwise.
  std::shared_ptr<arrow::Buffer> TakeOwner() { return std::move(owner_); }
  std::span<const uint8_t*> rows() { return {addresses(), static_cast<size_t>(row_count_)}; }

 private:
  RowBatch(SortBudget* budget, int64_t rows_max, int64_t bytes_max)
      : rows_max_(rows_max), bytes_max_(bytes_max), bytes_(budget), addresses_(budget) {}
  const uint8_t** addresses() { return reinterpret_cast<const uint8_t**>(addresses_.data()); }

  const int64_t rows_max_;
  const int64_t bytes_max_;
  MappedPages bytes_;
  MappedPages addresses_;
  int64_t row_count_ = 0;
  int64_t used_bytes_ = 0;
  bool borrows_row_ = false;
  std::shared_ptr<arrow::Buffer> owner_;
};

}  // namespace icebound::exec::sort
