// SPDX-License-Identifier: Apache-2.0
//
// A column of a batch that is being put together from pieces: values are written to its end until Finish makes an array of them.
// A piece that could not be finished is taken back with Truncate.
#pragma once

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>

namespace icebound::io {

/// Columns of fixed width, and of text or bytes with 32-bit offsets. Not thread safe.
class FlatOutput {
 public:
  /// Texts are copied 16 bytes at a time: so much behind the last one may be written to.
  static constexpr int64_t kTextSlackBytes = 16;

  /// The pool outlives the arrays.
  FlatOutput(std::shared_ptr<arrow::DataType> type, arrow::MemoryPool* pool);

  int64_t length() const { return length_; }
  /// What the values so far take.
  int64_t bytes() const { return is_text_ ? length_ * kOffsetBytes + text_bytes_ : length_ * value_bytes_; }

  /// Makes room for `rows` more values.
  arrow::Status Reserve(int64_t rows);
  /// Makes room for so many more bytes of text; kMemoryLimit when offsets cannot say where they are.
  arrow::Status ReserveText(int64_t bytes);

  /// Where the next values go, within what was reserved.
  uint8_t* values_end() { return values_->mutable_data() + length_ * value_bytes_; }
  int32_t* offsets_end() { return reinterpret_cast<int32_t*>(values_->mutable_data()) + length_ + 1; }
  uint8_t* text_end() { return text_->mutable_data() + text_bytes_; }
  int32_t text_bytes() const { return static_cast<int32_t>(text_bytes_); }

  /// Counts `rows` values, and `text_bytes` bytes of text, as written. None is NULL.
  void Advance(int64_t rows, int64_t text_bytes = 0);
  /// As Advance; null_bytes[i] != 0: the i-th of them is NULL.
  arrow::Status AdvanceWithNulls(int64_t rows, const uint8_t* null_bytes, int64_t text_bytes = 0);

  /// Drops the values from `length` on.
  void Truncate(int64_t length);

  /// The values, and starts again.
  arrow::Result<std::shared_ptr<arrow::Array>> Finish();

 private:
  static constexpr int64_t kOffsetBytes = sizeof(int32_t);

  arrow::Status Grow(std::shared_ptr<arrow::ResizableBuffer>* buffer, int64_t bytes) const;

  const std::shared_ptr<arrow::DataType> type_;
  arrow::MemoryPool* const pool_;
  const bool is_text_;
  const int64_t value_bytes_;                       // 0 for text
  std::shared_ptr<arrow::ResizableBuffer> values_;  // or offsets; sizes of buffers are capacities until Finish
  std::shared_ptr<arrow::ResizableBuffer> text_;
  std::shared_ptr<arrow::ResizableBuffer> validity_;  // null until there is a NULL
  int64_t capacity_ = 0;
  int64_t length_ = 0;
  int64_t text_bytes_ = 0;
};

}  // namespace icebound::io
