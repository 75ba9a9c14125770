// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <vector>

#include "io/parquet_footer.h"

namespace icebound::io {

/// What one row group promises about memory and work, for each column of its file.
struct ParquetMorselShape {
  int64_t rows = 0;
  std::vector<int64_t> column_bytes;      ///< decoding a column holds about this much at a time,
  std::vector<int64_t> compressed_bytes;  ///< and this much of compressed pages, when it has no budget for them
  std::vector<bool> column_splits;        ///< its pages can be found by row: flat, with an offset index
};

/// Of the file's first row group; all zero when it has none.
arrow::Result<ParquetMorselShape> FirstMorselShape(ParquetFooter* footer);

}  // namespace icebound::io
