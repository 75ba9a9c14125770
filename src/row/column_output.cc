// SPDX-License-Identifier: Apache-2.0
#include "row/column_output.h"

#include <arrow/extension_type.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace icebound::row {

namespace {

/// One thirty-second above the average of the first rows: a second allocation is rare, and little is held in vain.
constexpr double kMarginOverAverage = 1.03125;

/// The average of a few rows is trusted up to this: the text of an ordinary batch. Beyond it memory at most doubles.
constexpr int64_t kGenerousBytes = int64_t{512} << 10;

}  // namespace

arrow::Result<ColumnOutput> ColumnOutput::Make(const TypeShape& shape, int64_t rows, arrow::MemoryPool* pool) {
  ColumnOutput output;
  output.shape_ = &shape;
  output.pool_ = pool;
  output.rows_ = rows;
  output.is_direct_ = shape.layout != Layout::kBool && shape.value_bytes == shape.packed_bytes;
  int64_t bytes = 0;
  switch (shape.layout) {
    case Layout::kBool:
      bytes = arrow::bit_util::BytesForBits(rows);
      break;
    case Layout::kString:
      bytes = (rows + 1) * 4;
      break;
    case Layout::kLargeString:
      bytes = (rows + 1) * 8;
      break;
    case Layout::kStringView:
      output.longest_inline_ = kInlineViewBytes;
      bytes = rows * kViewBytes;
      break;
    default:
      bytes = rows * shape.value_bytes;
  }
  if (shape.layout == Layout::kNull) return output;
  ARROW_ASSIGN_OR_RAISE(auto values, arrow::AllocateBuffer(bytes, pool));
  if (shape.layout == Layout::kBool) std::memset(values->mutable_data(), 0, static_cast<size_t>(bytes));
  if (shape.layout == Layout::kString) StoreAs<int32_t>(values->mutable_data(), 0);
  if (shape.layout == Layout::kLargeString) StoreAs<int64_t>(values->mutable_data(), 0);
  output.values_ = std::move(values);
  return output;
}

arrow::Status ColumnOutput::SetValidity(int64_t first_row, const uint8_t* valid, int32_t count) {
  if (validity_ == nullptr) {
    const int64_t bytes = arrow::bit_util::BytesForBits(rows_);
    ARROW_ASSIGN_OR_RAISE(validity_, arrow::AllocateBuffer(bytes, pool_));
    std::memset(validity_->mutable_data(), 0xFF, static_cast<size_t>(bytes));
  }
  PackBits(valid, count, validity_->mutable_data(), first_row);
  null_count_ += std::count(valid, valid + count, uint8_t{0});
  return arrow::Status::OK();
}

void ColumnOutput::CommitFixed(int64_t first_row, int32_t count, const uint8_t* target) {
  if (is_direct_) return;
  if (shape_->layout == Layout::kBool) return PackBits(target, count, values_->mutable_data(), first_row);
  WidenDecimals(*shape_, target, count, values_->mutable_data() + first_row * shape_->value_bytes);
}

arrow::Status ColumnOutput::CheckStringBytes(int64_t bytes) const {
  if (shape_->layout == Layout::kLargeString || bytes <= std::numeric_limits<int32_t>::max()) return arrow::Status::OK();
  return MakeError(ErrorKind::kInternal, "a batch would hold {} bytes in a column of type {}, which addresses 2 GiB", bytes,
                   shape_->output_type->ToString());
}

arrow::Status ColumnOutput::BorrowString(std::shared_ptr<arrow::Buffer> bytes) {
  ARROW_RETURN_NOT_OK(CheckStringBytes(bytes->size()));
  used_bytes_ = bytes->size();
  if (shape_->layout == Layout::kString) StoreAs<int32_t>(values_->mutable_data() + 4, static_cast<int32_t>(used_bytes_));
  if (shape_->layout == Layout::kLargeString) StoreAs<int64_t>(values_->mutable_data() + 8, used_bytes_);
  borrowed_ = std::move(bytes);
  return arrow::Status::OK();
}

arrow::Status ColumnOutput::ReserveStringBytes(uint64_t more_bytes, int64_t rows_so_far) {
  const int64_t needed = used_bytes_ + static_cast<int64_t>(more_bytes);
  ARROW_RETURN_NOT_OK(CheckStringBytes(needed));
  if (data_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(data_, arrow::AllocateResizableBuffer(0, pool_));
  }
  if (needed <= data_->size()) return arrow::Status::OK();
  int64_t wanted = needed;
  if (rows_so_far < rows_) {
    const double average = static_cast<double>(needed) / static_cast<double>(rows_so_far);
    const double expected = average * static_cast<double>(rows_) * kMarginOverAverage;
    const int64_t most = std::max(needed * 2, kGenerousBytes);
    wanted = expected < static_cast<double>(most) ? std::max(needed, static_cast<int64_t>(expected)) : most;
  }
  return data_->Resize(wanted, /*shrink_to_fit=*/false);
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> ColumnOutput::Finish() {
  const auto& type = shape_->output_type;
  if (shape_->layout == Layout::kNull) return arrow::ArrayData::Make(type, rows_, {nullptr}, rows_);
  arrow::BufferVector buffers{validity_, values_};
  if (borrowed_ != nullptr) {
    buffers.push_back(std::move(borrowed_));
  } else if (shape_->is_string()) {
    if (data_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(data_, arrow::AllocateResizableBuffer(0, pool_));
    }
    // What the margin left over is not worth a copy; more is.
    const bool is_wasteful = data_->capacity() - used_bytes_ > used_bytes_ / 8;
    ARROW_RETURN_NOT_OK(data_->Resize(used_bytes_, is_wasteful));
    // A view column whose strings are all short needs no data buffer.
    if (shape_->layout != Layout::kStringView || used_bytes_ > 0) buffers.emplace_back(std::move(data_));
  }
  return arrow::ArrayData::Make(type, rows_, std::move(buffers), null_count_);
}

}  // namespace icebound::row
