// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace icebound::io {

/// What cuts the bytes of a file into records and values.
struct CsvDialect {
  char delimiter = ',';
  std::optional<char> quote = '"';  ///< opens a value when it is its first byte; doubled inside
  std::optional<char> escape;       ///< inside quotes: the next byte is taken as it is
};

}  // namespace icebound::io
