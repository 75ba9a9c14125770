// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace icebound::io {

/// Rows of one file that a scan leaves out, by their position in the file: they are looked at by no filter, and what only they
/// have is not decoded. Immutable, thread safe.
class ExcludedRows {
 public:
  virtual ~ExcludedRows() = default;

  /// How many of the file's first `rows` rows are excluded.
  virtual int64_t Count(int64_t rows) const = 0;

  /// Clears the bits of excluded rows in `bitmap`, whose bit i stands for row first_row + i. Returns how many there are.
  virtual int64_t Clear(int64_t first_row, int64_t rows, uint8_t* bitmap) const = 0;
};

}  // namespace icebound::io
