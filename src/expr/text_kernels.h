// SPDX-License-Identifier: Apache-2.0
//
// Loops for kernels that make text or bytes. Values go straight into the result's buffers, which the evaluation's pool has
// granted: a function that makes one huge value (repeat, lpad, replace) is stopped by the memory limit, not by the system.
#pragma once

#include <arrow/buffer_builder.h>
#include <arrow/result.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.h"
#include "expr/elementwise.h"

namespace icebound::expr {

/// The text (or bytes) of an array under construction, value after value. One thread only.
class TextSink {
 public:
  explicit TextSink(arrow::MemoryPool* pool) : offsets_(pool), data_(pool) {}

  arrow::Status Reserve(int64_t num_rows) {
    ARROW_RETURN_NOT_OK(offsets_.Reserve(num_rows + 1));
    offsets_.UnsafeAppend(0);
    return arrow::Status::OK();
  }

  /// Adds to the current value.
  arrow::Status Append(std::string_view text) {
    return text.empty() ? arrow::Status::OK() : data_.Append(text.data(), static_cast<int64_t>(text.size()));
  }
  arrow::Status Append(char c) { return data_.Append(1, static_cast<uint8_t>(c)); }
  arrow::Status Append(int64_t count, std::string_view text) {
    if (text.empty()) return arrow::Status::OK();
    if (count > 0 && static_cast<int64_t>(text.size()) > std::numeric_limits<int32_t>::max() / count) return TooLong();
    if (count <= 0) return arrow::Status::OK();
    const int64_t bytes = count * static_cast<int64_t>(text.size());
    ARROW_ASSIGN_OR_RAISE(char* const begin, Extend(bytes));
    // What is there already is copied behind itself: a few long copies instead of many short ones.
    auto done = static_cast<int64_t>(text.size());
    std::memcpy(begin, text.data(), text.size());
    for (; done < bytes; done += std::min(done, bytes - done)) {
      std::memcpy(begin + done, begin, static_cast<size_t>(std::min(done, bytes - done)));
    }
    return arrow::Status::OK();
  }
  /// Room for `bytes` more, to be written before the next call.
  arrow::Result<char*> Extend(int64_t bytes) {
    ARROW_RETURN_NOT_OK(data_.Reserve(bytes));
    char* begin = reinterpret_cast<char*>(data_.mutable_data()) + data_.length();
    data_.UnsafeAdvance(bytes);
    return begin;
  }
  /// Takes the last `bytes` back.
  void Shrink(int64_t bytes) { data_.Rewind(data_.length() - bytes); }

  /// Ends the current value.
  arrow::Status Finish() {
    if (data_.length() > std::numeric_limits<int32_t>::max()) return TooLong();
    offsets_.UnsafeAppend(static_cast<int32_t>(data_.length()));
    return arrow::Status::OK();
  }

  arrow::Result<arrow::Datum> Array(const TypePtr& type, int64_t num_rows, std::shared_ptr<arrow::Buffer> validity) {
    std::shared_ptr<arrow::Buffer> offsets, data;
    ARROW_RETURN_NOT_OK(offsets_.Finish(&offsets));
    ARROW_RETURN_NOT_OK(data_.Finish(&data));
    const int64_t null_count = validity == nullptr ? 0 : arrow::kUnknownNullCount;
    return arrow::ArrayData::Make(type, num_rows, {std::move(validity), std::move(offsets), std::move(data)}, null_count);
  }

 private:
  static arrow::Status TooLong() { return MakeError(ErrorKind::kExecution, "requested length too large"); }

  arrow::TypedBufferBuilder<int32_t> offsets_;
  arrow::BufferBuilder data_;
};

/// A utf8 or binary array: make(row, TextSink* sink) appends the value of a row; it is called for the rows without a null
/// argument, whose bitmap is `validity`.
template <typename MakeOne>
arrow::Result<arrow::Datum> MapToSinkWith(const KernelInput& input, std::shared_ptr<arrow::Buffer> validity, MakeOne make) {
  TextSink sink(input.context.pool);
  ARROW_RETURN_NOT_OK(sink.Reserve(input.num_rows));
  const uint8_t* valid = validity == nullptr ? nullptr : validity->data();
  for (int64_t row = 0; row < input.num_rows; ++row) {
    if (valid == nullptr || arrow::bit_util::GetBit(valid, row)) ARROW_RETURN_NOT_OK(make(row, &sink));
    ARROW_RETURN_NOT_OK(sink.Finish());
  }
  return sink.Array(input.type, input.num_rows, std::move(validity));
}

template <typename MakeOne>
arrow::Result<arrow::Datum> MapToSink(const KernelInput& input, MakeOne make) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  return MapToSinkWith(input, std::move(validity), make);
}

/// For short values: make(row, std::string* out) appends to the empty `out`, which is reused.
template <typename MakeOne>
arrow::Result<arrow::Datum> MapToText(const KernelInput& input, MakeOne make) {
  std::string scratch;
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    scratch.clear();
    ARROW_RETURN_NOT_OK(make(row, &scratch));
    return sink->Append(scratch);
  });
}

/// Where a row's value is a part of an argument: view(row) returns a std::string_view.
template <typename ViewOne>
arrow::Result<arrow::Datum> MapToTextView(const KernelInput& input, ViewOne view) {
  return MapToSink(input, [&](int64_t row, TextSink* sink) { return sink->Append(view(row)); });
}

/// A fixed-width result: make(row, Out* out) returns a Status, for rows without a null argument.
template <typename Out, typename MakeOne>
arrow::Result<arrow::Datum> MapRows(const KernelInput& input, MakeOne make) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  for (int64_t row = 0; row < input.num_rows; ++row) {
    out[row] = Out{};
    if (validity != nullptr && !arrow::bit_util::GetBit(validity->data(), row)) continue;
    ARROW_RETURN_NOT_OK(make(row, &out[row]));
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(values));
}

/// A boolean array: test(row) for rows without a null argument.
template <typename TestOne>
arrow::Result<arrow::Datum> MapRowsToBoolean(const KernelInput& input, TestOne test) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  const uint8_t* valid = validity == nullptr ? nullptr : validity->data();
  ARROW_ASSIGN_OR_RAISE(auto bits, MapRowsToBits(input.num_rows, input.context.pool, [&](int64_t row) {
                          return valid != nullptr && !arrow::bit_util::GetBit(valid, row) ? false : static_cast<bool>(test(row));
                        }));
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(bits));
}

}  // namespace icebound::expr
