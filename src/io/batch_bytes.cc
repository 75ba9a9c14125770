// SPDX-License-Identifier: Apache-2.0
#include "io/batch_bytes.h"

#include <arrow/type.h>

namespace icebound::io {
namespace {

/// Bytes of rows [begin, end) of a column, without its bitmap.
int64_t RangeBytes(const arrow::ArrayData& data, int64_t begin, int64_t end) {
  const int64_t from = data.offset + begin, to = data.offset + end;
  switch (data.type->id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const int32_t* offsets = data.GetValues<int32_t>(1, 0);
      return (to - from) * 4 + offsets[to] - offsets[from];
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP: {
      const int32_t* offsets = data.GetValues<int32_t>(1, 0);
      return (to - from) * 4 + RangeBytes(*data.child_data[0], offsets[from], offsets[to]);
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const int64_t size = static_cast<const arrow::FixedSizeListType&>(*data.type).list_size();
      return RangeBytes(*data.child_data[0], from * size, to * size);
    }
    case arrow::Type::STRUCT: {
      int64_t bytes = 0;
      for (const auto& child : data.child_data) bytes += RangeBytes(*child, from, to);
      return bytes;
    }
    default:
      return (to - from) * std::max(1, arrow::is_fixed_width(data.type->id()) ? data.type->byte_width() : 16);
  }
}

int64_t RangeBytes(const arrow::RecordBatch& batch, int64_t begin, int64_t end) {
  int64_t bytes = 0;
  for (int i = 0; i < batch.num_columns(); ++i) bytes += RangeBytes(*batch.column_data(i), begin, end);
  return bytes;
}

}  // namespace

int64_t HeldBytes(const arrow::ArrayData& data) {
  int64_t bytes = 0;
  for (const auto& buffer : data.buffers) bytes += buffer == nullptr ? 0 : buffer->size();
  for (const auto& child : data.child_data) bytes += HeldBytes(*child);
  if (data.dictionary != nullptr) bytes += HeldBytes(*data.dictionary);
  return bytes;
}

void SplitByBytes(std::shared_ptr<arrow::RecordBatch> batch, int64_t limit_bytes,
                  std::deque<std::shared_ptr<arrow::RecordBatch>>* out) {
  const int64_t rows = batch->num_rows();
  if (RangeBytes(*batch, 0, rows) <= limit_bytes + limit_bytes / 2) {
    out->push_back(std::move(batch));
    return;
  }
  for (int64_t begin = 0; begin < rows;) {
    // The largest end whose rows fit, at least one row: found by doubling, then halving.
    int64_t fits = 1, step = 1;
    while (begin + fits + step <= rows && RangeBytes(*batch, begin, begin + fits + step) <= limit_bytes) fits += step, step *= 2;
    for (; step > 0; step /= 2) {
      if (begin + fits + step <= rows && RangeBytes(*batch, begin, begin + fits + step) <= limit_bytes) fits += step;
    }
    out->push_back(batch->Slice(begin, fits));
    begin += fits;
  }
}

}  // namespace icebound::io
