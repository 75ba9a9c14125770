// SPDX-License-Identifier: Apache-2.0
#include "io/flat/flat_output.h"

#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace icebound::io {

namespace {

bool IsText(const arrow::DataType& type) { return type.id() == arrow::Type::STRING || type.id() == arrow::Type::BINARY; }

}  // namespace

FlatOutput::FlatOutput(std::shared_ptr<arrow::DataType> type, arrow::MemoryPool* pool)
    : type_(std::move(type)), pool_(pool), is_text_(IsText(*type_)), value_bytes_(is_text_ ? 0 : type_->byte_width()) {}

/// Makes the buffer larger, by half at least so that many pieces cost no more than one.
arrow::Status FlatOutput::Grow(std::shared_ptr<arrow::ResizableBuffer>* buffer, int64_t bytes) const {
  if (*buffer == nullptr) {
    ARROW_ASSIGN_OR_RAISE(*buffer, arrow::AllocateResizableBuffer(bytes, pool_));
    return arrow::Status::OK();
  }
  if ((*buffer)->size() >= bytes) return arrow::Status::OK();
  return (*buffer)->Resize(std::max(bytes, (*buffer)->size() + (*buffer)->size() / 2), /*shrink_to_fit=*/false);
}

arrow::Status FlatOutput::Reserve(int64_t rows) {
  const int64_t needed = length_ + rows;
  const bool is_new = values_ == nullptr;
  if (!is_new && needed <= capacity_) return arrow::Status::OK();
  const int64_t capacity = is_new ? needed : std::max(needed, capacity_ * 2);
  const int64_t bytes = is_text_ ? (capacity + 1) * kOffsetBytes : capacity * value_bytes_;
  ARROW_RETURN_NOT_OK(Grow(&values_, bytes));
  if (is_text_ && is_new) *reinterpret_cast<int32_t*>(values_->mutable_data()) = 0;
  if (validity_ != nullptr) ARROW_RETURN_NOT_OK(Grow(&validity_, arrow::bit_util::BytesForBits(capacity)));
  capacity_ = capacity;
  return arrow::Status::OK();
}

arrow::Status FlatOutput::ReserveText(int64_t bytes) {
  if (text_bytes_ + bytes > std::numeric_limits<int32_t>::max()) {
    return MakeError(ErrorKind::kMemoryLimit, "{} bytes of text in one batch", text_bytes_ + bytes);
  }
  return Grow(&text_, text_bytes_ + bytes + kTextSlackBytes);
}

void FlatOutput::Advance(int64_t rows, int64_t text_bytes) {
  if (validity_ != nullptr) arrow::bit_util::SetBitsTo(validity_->mutable_data(), length_, rows, true);
  length_ += rows;
  text_bytes_ += text_bytes;
}

arrow::Status FlatOutput::AdvanceWithNulls(int64_t rows, const uint8_t* null_bytes, int64_t text_bytes) {
  if (validity_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(validity_, arrow::AllocateResizableBuffer(arrow::bit_util::BytesForBits(capacity_), pool_));
    arrow::bit_util::SetBitsTo(validity_->mutable_data(), 0, length_, true);
  }
  for (int64_t i = 0; i < rows; ++i) arrow::bit_util::SetBitTo(validity_->mutable_data(), length_ + i, null_bytes[i] == 0);
  length_ += rows;
  text_bytes_ += text_bytes;
  return arrow::Status::OK();
}

void FlatOutput::Truncate(int64_t length) {
  if (length >= length_) return;
  length_ = length;
  if (is_text_) text_bytes_ = reinterpret_cast<const int32_t*>(values_->data())[length];
}

arrow::Result<std::shared_ptr<arrow::Array>> FlatOutput::Finish() {
  ARROW_RETURN_NOT_OK(Reserve(0));
  if (is_text_) ARROW_RETURN_NOT_OK(ReserveText(0));
  const int64_t bytes = is_text_ ? (length_ + 1) * kOffsetBytes : length_ * value_bytes_;
  // Smaller sizes, where they are: what lies behind is not worth a copy.
  ARROW_RETURN_NOT_OK(values_->Resize(bytes, /*shrink_to_fit=*/false));
  int64_t null_count = 0;
  if (validity_ != nullptr) {
    ARROW_RETURN_NOT_OK(validity_->Resize(arrow::bit_util::BytesForBits(length_), /*shrink_to_fit=*/false));
    validity_->ZeroPadding();
    null_count = arrow::kUnknownNullCount;
  }
  std::vector<std::shared_ptr<arrow::Buffer>> buffers = {std::move(validity_), std::move(values_)};
  if (is_text_) {
    ARROW_RETURN_NOT_OK(text_->Resize(text_bytes_, /*shrink_to_fit=*/false));
    buffers.push_back(std::move(text_));
  }
  std::shared_ptr<arrow::Array> array = arrow::MakeArray(arrow::ArrayData::Make(type_, length_, std::move(buffers), null_count));
  values_ = text_ = validity_ = nullptr;
  capacity_ = length_ = text_bytes_ = 0;
  return array;
}

}  // namespace icebound::io
