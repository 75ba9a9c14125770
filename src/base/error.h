// SPDX-License-Identifier: Apache-2.0
//
// How the library makes errors: MakeError(ErrorKind::kCorruptData, "footer of {} is cut short: {} bytes", path, n).
// A message says what, where (file, row group, column, line) and what to do; values last.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "icebound/error.h"

namespace icebound {

/// Builds a failed status of `kind`. The arrow::StatusCode is the nearest one (so that Arrow's own callers react well).
[[nodiscard]] arrow::Status ErrorStatus(ErrorKind kind, std::string message);

template <typename... Args>
[[nodiscard]] arrow::Status MakeError(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return ErrorStatus(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// Gives a status that came from Arrow a kind (when it has none) and prefixes `context` ("reading x.parquet, row group 3"). The
/// place in the SQL text stays.
[[nodiscard]] arrow::Status WithContext(const arrow::Status& status, ErrorKind kind_if_none, std::string_view context);

/// A failed execution with the byte of the SQL statement that it is about; whoever has the text shows it. Successes, other kinds,
/// errors that have their place already and negative offsets (made by a rule) stay as they are.
[[nodiscard]] arrow::Status AtTextOffset(const arrow::Status& status, int offset);

/// What AtTextOffset said; nothing when nobody did.
std::optional<int> GetTextOffset(const arrow::Status& status);

/// The one named way to drop a status on purpose (destructors, clean-up after a first error).
inline void IgnoreError(const arrow::Status&) {}

}  // namespace icebound
