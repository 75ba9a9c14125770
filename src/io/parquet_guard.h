// SPDX-License-Identifier: Apache-2.0
//
// The wall between the Parquet library, which throws, and the rest of icebound, which returns arrow::Status. Every call into
// parquet:: that may throw goes through GuardParquet; nothing else in the project catches exceptions of that library.
//
//   return GuardParquet(ErrorKind::kCorruptData, [&] { return "reading " + path; }, [&]() -> arrow::Status {
//     reader = parquet::ParquetFileReader::Open(...);
//     return arrow::Status::OK();
//   });
//
// What a failure becomes:
//   - a status that already has an ErrorKind keeps it (our memory pool, our files): exceptions carry it through Parquet unharmed;
//   - out of memory (std::bad_alloc too) becomes kMemoryLimit, "not implemented" becomes kUnsupported, cancellation stays;
//   - everything else gets the kind the caller named: kCorruptData when reading, kIo or kInternal when writing. Readers can
//     afford that because their files report input/output failures with a kind of their own (see input_file.h).
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace icebound::io {

/// Gives a failed status that the Parquet library returned (rather than threw) its kind, and prefixes `context`.
[[nodiscard]] arrow::Status ParquetError(const arrow::Status& status, ErrorKind kind_if_none, std::string_view context);

/// The same for the exception being handled. Call it inside a catch block only.
[[nodiscard]] arrow::Status CurrentParquetException(ErrorKind kind_if_none, std::string_view context);

namespace internal {

template <typename Context>
std::string ContextText(const Context& context) {
  if constexpr (std::is_invocable_v<const Context&>) {
    return context();
  } else {
    return std::string(std::string_view(context));
  }
}

inline const arrow::Status& StatusOf(const arrow::Status& status) { return status; }
template <typename T>
const arrow::Status& StatusOf(const arrow::Result<T>& result) {
  return result.status();
}

}  // namespace internal

/// Runs `body` (which returns arrow::Status or arrow::Result) and turns its exceptions and failures into a status with a kind and
/// a context. `context` is text, or a function that makes it (called on failure only).
template <typename Context, typename Body>
[[nodiscard]] std::invoke_result_t<Body> GuardParquet(ErrorKind kind_if_none, const Context& context, Body&& body) {
  try {
    std::invoke_result_t<Body> outcome = std::forward<Body>(body)();
    if (outcome.ok()) return outcome;
    return ParquetError(internal::StatusOf(outcome), kind_if_none, internal::ContextText(context));
  } catch (...) {
    return CurrentParquetException(kind_if_none, internal::ContextText(context));
  }
}

}  // namespace icebound::io
