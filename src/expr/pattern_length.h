// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/status.h>

#include <string_view>

#include "base/error.h"

namespace icebound::expr {

/// Patterns and templates are compiled into structures many times their size, on plain heap outside the ledger: bounding the text
/// bounds those. 64 KiB make a few MiB.
inline constexpr size_t kPatternBytesMax = size_t{64} << 10;

/// `what` names it in the error: "LIKE pattern".
inline arrow::Status CheckPatternLength(std::string_view pattern, std::string_view what) {
  if (pattern.size() <= kPatternBytesMax) return arrow::Status::OK();
  return MakeError(ErrorKind::kExecution, "a {} may have at most {} bytes, this one has {}", what, kPatternBytesMax,
                   pattern.size());
}

}  // namespace icebound::expr
