// SPDX-License-Identifier: Apache-2.0
//
// Loops for kernels that make text: one builder a batch, one scratch string reused by all rows.
#pragma once

#include <arrow/array/builder_binary.h>
#include <arrow/result.h>

#include <string>

#include "expr/elementwise.h"

namespace icebound::expr {

/// A utf8 or binary array: make(row, std::string* out) appends the value of a row to the empty `out`, for the rows in which no argument is null.
template <typename MakeOne>
arrow::Result<arrow::Datum> MapToText(const KernelInput& input, MakeOne make) {
  ARROW_ASSIGN_OR_RAISE(const auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  arrow::BinaryBuilder builder(input.context.pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(input.num_rows));
  std::string scratch;
  for (int64_t row = 0; row < input.num_rows; ++row) {
    if (validity != nullptr && !arrow::bit_util::GetBit(validity->data(), row)) {
      builder.UnsafeAppendNull();
      continue;
    }
    scratch.clear();
    ARROW_RETURN_NOT_OK(make(row, &scratch));
    ARROW_RETURN_NOT_OK(builder.Append(scratch));
  }
  std::shared_ptr<arrow::ArrayData> data;
  ARROW_RETURN_NOT_OK(builder.FinishInternal(&data));
  data->type = input.type;
  return data;
}

/// As MapToText where a row's value is a part of an argument or of a constant: view(row) returns a std::string_view.
template <typename ViewOne>
arrow::Result<arrow::Datum> MapToTextView(const KernelInput& input, ViewOne view) {
  ARROW_ASSIGN_OR_RAISE(const auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  arrow::BinaryBuilder builder(input.context.pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(input.num_rows));
  for (int64_t row = 0; row < input.num_rows; ++row) {
    if (validity != nullptr && !arrow::bit_util::GetBit(validity->data(), row)) {
      builder.UnsafeAppendNull();
    } else {
      ARROW_RETURN_NOT_OK(builder.Append(view(row)));
    }
  }
  std::shared_ptr<arrow::ArrayData> data;
  ARROW_RETURN_NOT_OK(builder.FinishInternal(&data));
  data->type = input.type;
  return data;
}

/// Text (or bytes) of a fixed-width result: test(row) gives an Out for rows without a null argument.
template <typename Out, typename MakeOne>
arrow::Result<arrow::Datum> MapRows(const KernelInput& input, MakeOne make) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values, arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
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
