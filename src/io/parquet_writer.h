// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include <memory>
#include <string>

#include "icebound/result.h"
#include "io/file_systems.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::io {

/// Writes batches as Parquet: one file, or with options.file_size_bytes the folder `path` of part-00000.parquet, part-00001.parquet, ...
/// Nothing is visible before Finish. Not thread safe.
class ParquetWriter : public runtime::BatchSink {
 public:
  /// kInvalidInput for a bad option or path, kUnsupported for a column type that Parquet cannot hold. `file_systems` and `context` must
  /// outlive the writer.
  static arrow::Result<std::unique_ptr<ParquetWriter>> Make(const ParquetWriteOptions& options, std::shared_ptr<arrow::Schema> schema,
                                                            const std::string& path, FileSystems* file_systems,
                                                            runtime::QueryContext* context);

  virtual int64_t rows_written() const = 0;
};

}  // namespace icebound::io
