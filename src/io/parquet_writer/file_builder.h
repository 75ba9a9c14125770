// SPDX-License-Identifier: Apache-2.0
//
// The frame of one Parquet file: magic, row groups put together from finished chunks, page indexes, footer.
//
//   PAR1 | row group 0: [dictionary page][data pages] a column | row group 1 | ...
//        | column indexes | offset indexes | footer | length | PAR1
//
// Page indexes and the footer's entries are serialized when their row group is written and wait in ByteSpools, so that a file of
// any number of row groups and columns costs no memory to speak of.
#pragma once

#include <arrow/result.h>
#include <parquet/properties.h>

#include <memory>
#include <span>
#include <vector>

#include "io/output_file.h"
#include "io/parquet_writer/byte_spool.h"
#include "io/parquet_writer/column_encoder.h"
#include "io/parquet_writer/footer.h"
#include "io/parquet_writer/staged_pages.h"
#include "io/parquet_writer/written_schema.h"

namespace icebound::io {

/// Not thread safe. Calls into the Parquet library: run it behind GuardParquet.
class FileBuilder {
 public:
  /// All arguments must outlive the builder.
  FileBuilder(OutputFile* file, const WrittenSchema* schema, std::shared_ptr<parquet::WriterProperties> properties,
              spill::DiskManager* disk, arrow::MemoryPool* pool);

  arrow::Status Start();

  /// Writes one row group: for each leaf column its dictionary page, its staged pages, then the pages that its encoder still
  /// holds (they are given back). `chunks` has one entry a leaf column.
  arrow::Status WriteRowGroup(std::span<FinishedChunk> chunks, std::span<const std::unique_ptr<ColumnEncoder>> encoders,
                              StagedPages* staged);

  /// Writes page indexes and footer. The file itself is finished by its owner.
  arrow::Status Finish();

  int64_t bytes_written() const { return file_->bytes_written(); }
  int64_t rows() const { return footer_.rows(); }
  int64_t row_groups() const { return footer_.row_groups(); }

 private:
  arrow::Status WriteChunk(int column, FinishedChunk* chunk, ColumnEncoder* encoder, StagedPages* staged);

  OutputFile* const file_;
  Footer footer_;
  ByteSpool column_indexes_;
  ByteSpool offset_indexes_;
};

}  // namespace icebound::io
