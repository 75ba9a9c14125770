// SPDX-License-Identifier: Apache-2.0
//
// Parquet files, in bounded memory, on several threads.
//
//   batches --EncodePipeline--> a ColumnEncoder a leaf column --> pages, in memory or staged --FileBuilder--> OutputFile
//
// A row group ends at row_group_rows, at row_group_bytes, when the file is full, or when the writer's budget is: a fifth of what
// the ledger can lend, at most 32 MiB. Ending early is free, but makes small row groups. So when the row group was asked for
// explicitly, or its columns are still small (many columns), its finished pages go to a spill file instead and are copied to the
// output, a column at a time, when it ends.
//
// The file: data pages of version 1, snappy by default, dictionary or PLAIN chosen by what is smaller (value_encoder.h), decimals
// of up to 18 digits as integers, statistics of chunks and pages (column and offset index), field ids from "PARQUET:field_id",
// the Arrow schema in "ARROW:schema".
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

/// What a caller with many writers sets for each; by default one writer takes what the statement has.
struct ParquetWriterResources {
  int threads = 0;           ///< that encode, the caller's included; 0: the statement's
  int64_t budget_bytes = 0;  ///< 0: from the ledger, as above
};

/// Writes batches as Parquet: one file, or with options.file_size_bytes the folder `path` of part-00000.parquet,
/// part-00001.parquet, ... Nothing is visible before Finish. Not thread safe.
class ParquetWriter : public runtime::BatchSink {
 public:
  /// kInvalidInput for a bad option or path, kUnsupported for a column type that Parquet cannot hold, kMemoryLimit when the
  /// budget cannot hold the buffers of so many columns. `file_systems` and `context` must outlive the writer.
  static arrow::Result<std::unique_ptr<ParquetWriter>> Make(const ParquetWriteOptions& options,
                                                            std::shared_ptr<arrow::Schema> schema, const std::string& path,
                                                            FileSystems* file_systems, runtime::QueryContext* context,
                                                            const ParquetWriterResources& resources = {});

  virtual int64_t rows_written() const = 0;
  /// Of the files that are complete, and of the open one so far.
  virtual int64_t bytes_written() const = 0;
  virtual int64_t row_groups_written() const = 0;
  virtual int64_t files_written() const = 0;
};

}  // namespace icebound::io
