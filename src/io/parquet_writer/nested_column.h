// SPDX-License-Identifier: Apache-2.0
//
// Nested columns: the Parquet library turns structs, lists and maps into definition and repetition levels and hands each leaf to
// a column writer. Here those column writers are ours: thin proxies that pass levels and leaf arrays on to a ColumnEncoder. They
// are reached through the library's own seams: a ParquetFileWriter::Contents and a RowGroupWriter::Contents that write nothing.
#pragma once

#include <arrow/result.h>
#include <parquet/arrow/writer.h>

#include <memory>
#include <span>

#include "io/parquet_writer/column_encoder.h"

namespace icebound::io {

/// Feeds the encoders of one nested field. Not thread safe. Calls into the Parquet library: run it behind GuardParquet.
class NestedColumn {
 public:
  /// `field` is as in WrittenSchema::arrow_schema. `encoders` are those of its leaves and must outlive this object.
  static arrow::Result<std::unique_ptr<NestedColumn>> Make(const std::shared_ptr<arrow::Field>& field,
                                                           std::shared_ptr<parquet::WriterProperties> properties,
                                                           arrow::MemoryPool* pool,
                                                           std::span<const std::unique_ptr<ColumnEncoder>> encoders);

  arrow::Status Write(std::shared_ptr<arrow::Array> array, EncodeWorkspace* workspace);

 private:
  struct Proxies;
  NestedColumn(std::shared_ptr<arrow::DataType> type, arrow::MemoryPool* pool) : type_(std::move(type)), pool_(pool) {}

  const std::shared_ptr<arrow::DataType> type_;
  arrow::MemoryPool* const pool_;
  std::shared_ptr<Proxies> proxies_;
  std::unique_ptr<parquet::arrow::FileWriter> levels_;
};

}  // namespace icebound::io
