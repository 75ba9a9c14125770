// SPDX-License-Identifier: Apache-2.0
//
// Avro data files to Arrow batches of the columns that are wanted.
//
// Columns are recognised by field id at every depth (PARQUET:field_id of the wanted schema, field-id of the file), as the table
// format demands: names and order are the file's own affair. What the file has and nobody wants is skipped. What is wanted and
// the file does not have is the default given for its id, else null; missing_columns() says which columns of the top that are,
// since what stands in their place is for the caller to know (a partition's value, row lineage). Files without ids take them
// from names.
//
// A batch ends at max_rows rows, or with the row that makes it max_bytes long, whichever is first. Memory: one block of the file
// (record_reader.h), and the batch, as buffers of the consumer's pool.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/scalar.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "iceberg/avro/block_reader.h"
#include "iceberg/avro/column_decoder.h"

namespace icebound::iceberg::avro {

struct BatchReaderOptions {
  ReaderOptions file;
  int64_t max_rows = 8192;
  int64_t max_bytes = int64_t{1} << 20;
  /// By field id, at any depth, each of the type of its field.
  std::map<int32_t, std::shared_ptr<arrow::Scalar>> defaults;
  /// Asked for fields that have no id. Empty: they are not recognised.
  IdsByName ids_by_name;
};

/// Not thread safe. The consumer must outlive it; batches may outlive both.
class BatchReader {
 public:
  /// `wanted` may have no columns: batches then count rows. A column whose stored type does not fit is kUnsupported.
  static arrow::Result<std::unique_ptr<BatchReader>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name,
                                                          std::shared_ptr<arrow::Schema> wanted, BatchReaderOptions options);

  const std::shared_ptr<arrow::Schema>& schema() const { return wanted_; }
  /// Indices of the columns that the file does not have.
  const std::vector<int>& missing_columns() const { return missing_columns_; }

  /// A batch of at least one row, or null at the end (and after a failure).
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next();

  /// Rows that stand in the file before this reader's first row: those of the splits before. Reads the frames of all blocks
  /// before.
  arrow::Result<int64_t> RowsBefore() { return blocks_->RecordsBefore(); }

 private:
  BatchReader(std::unique_ptr<BlockReader> blocks, std::shared_ptr<arrow::Schema> wanted, BatchReaderOptions options)
      : blocks_(std::move(blocks)), wanted_(std::move(wanted)), options_(std::move(options)) {}

  arrow::Status MakeDecoders();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> FinishBatch(int64_t rows);

  const std::unique_ptr<BlockReader> blocks_;
  const std::shared_ptr<arrow::Schema> wanted_;
  const BatchReaderOptions options_;
  DecoderContext context_;
  std::unique_ptr<ColumnDecoder> rows_;  // a struct of all columns
  std::vector<int> missing_columns_;
};

}  // namespace icebound::iceberg::avro
