// SPDX-License-Identifier: Apache-2.0
//
// The other side of column_block.h: a column of known row count, written block after block straight into buffers of a pool.
#pragma once

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "row/column_block.h"
#include "row/type_shape.h"

namespace icebound::row {

/// Collects one column of any layout that is not nested. Rows come in order. Not thread safe.
class ColumnOutput {
 public:
  /// Allocates what depends on the row count. `shape` must outlive this.
  static arrow::Result<ColumnOutput> Make(const TypeShape& shape, int64_t rows, arrow::MemoryPool* pool);

  /// Records validity (bytes of 1 or 0) of rows that have a null among them; rows never told of are valid.
  arrow::Status SetValidity(int64_t first_row, const uint8_t* valid, int32_t count);

  /// Fixed widths: where to put `count` packed values, then commit. The target is the column's own buffer when packed and
  /// Arrow's values are alike.
  uint8_t* FixedTarget(int64_t first_row, uint8_t* scratch) {
    return is_direct_ ? values_->mutable_data() + first_row * shape_->value_bytes : scratch;
  }
  void CommitFixed(int64_t first_row, int32_t count, const uint8_t* target);

  /// Strings: what a string of `length` bytes takes outside its slot: short ones live inside their view.
  uint64_t StringBytes(uint32_t length) const { return length <= longest_inline_ ? 0 : length; }

  /// Makes room for `more_bytes` of StringBytes, which bring the rows with room to `rows_so_far`. Allocates for the rows to
  /// come as well, by the average so far and within bounds. kInternal when 32-bit offsets would overflow.
  arrow::Status ReserveStringBytes(uint64_t more_bytes, int64_t rows_so_far);

  /// Appends strings in row order without checks. Copied out for a block so that its fields live in registers, then given back.
  template <Layout kLayout>
  struct StringSink {
    uint8_t* slots;  ///< offsets or views
    uint8_t* data;
    int64_t used_bytes;

    /// Where the string of `row` goes, `length` bytes.
    [[gnu::always_inline]] uint8_t* Place(int64_t row, uint32_t length) {
      if constexpr (kLayout == Layout::kStringView) {
        uint8_t* view = slots + row * kViewBytes;
        StoreAs<uint64_t>(view, length);
        StoreAs<uint64_t>(view + 8, 0);
        if (length <= kInlineViewBytes) return view + 4;
        StoreAs<uint32_t>(view + 12, static_cast<uint32_t>(used_bytes));  // buffer 0, at this offset
      }
      uint8_t* place = data + used_bytes;
      used_bytes += length;
      if constexpr (kLayout == Layout::kString) StoreAs<int32_t>(slots + (row + 1) * 4, static_cast<int32_t>(used_bytes));
      if constexpr (kLayout == Layout::kLargeString) StoreAs<int64_t>(slots + (row + 1) * 8, used_bytes);
      return place;
    }

    /// Ends a row begun with Place.
    [[gnu::always_inline]] void Seal(int64_t row, uint32_t length, const uint8_t* place) {
      if constexpr (kLayout == Layout::kStringView) {
        if (length > kInlineViewBytes) std::memcpy(slots + row * kViewBytes + 4, place, 4);
      }
    }

    [[gnu::always_inline]] void Append(int64_t row, const uint8_t* text, uint32_t length) {
      uint8_t* place = Place(row, length);
      CopyBytes(place, text, length);
      Seal(row, length, place);
    }
    void AppendNull(int64_t row) { Place(row, 0); }
  };

  /// Strings with offsets: the only row is these bytes, which are kept and not copied.
  arrow::Status BorrowString(std::shared_ptr<arrow::Buffer> bytes);

  /// Calls fill(sink) with the sink of this column's layout.
  template <typename Fill>
  void WriteStrings(Fill&& fill) {
    switch (shape_->layout) {
      case Layout::kString:
        return WriteStringsOf<Layout::kString>(fill);
      case Layout::kLargeString:
        return WriteStringsOf<Layout::kLargeString>(fill);
      default:
        return WriteStringsOf<Layout::kStringView>(fill);
    }
  }

  /// Data of the output type. Call once, when all rows are there.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Finish();

 private:
  template <Layout kLayout, typename Fill>
  void WriteStringsOf(Fill& fill) {
    StringSink<kLayout> sink{values_->mutable_data(), data_ ? data_->mutable_data() : nullptr, used_bytes_};
    fill(sink);
    used_bytes_ = sink.used_bytes;
  }

  arrow::Status CheckStringBytes(int64_t bytes) const;

  const TypeShape* shape_ = nullptr;
  arrow::MemoryPool* pool_ = nullptr;
  int64_t rows_ = 0;
  bool is_direct_ = false;
  uint32_t longest_inline_ = 0;
  std::shared_ptr<arrow::Buffer> validity_;
  int64_t null_count_ = 0;
  std::shared_ptr<arrow::Buffer> values_;  ///< values, offsets or views
  std::unique_ptr<arrow::ResizableBuffer> data_;
  std::shared_ptr<arrow::Buffer> borrowed_;  ///< instead of data_
  int64_t used_bytes_ = 0;
};

}  // namespace icebound::row
