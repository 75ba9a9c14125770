// SPDX-License-Identifier: Apache-2.0
//
// The footer of a Parquet file, written as the row groups are: FileMetaData of parquet.thrift, in Thrift's compact protocol.
//
// The Parquet library would keep an object of about 1.1 KiB for every column chunk until the file ends: 9 MiB for 490 row groups
// of 16 columns, and without bound for a table of 2000 columns. Here a chunk's entry is serialized at once (some 150 bytes) and
// waits in a ByteSpool. Only the places of the page indexes are not known yet: they follow the entry as two lengths, and become
// offsets when the entries are copied to the file.
//
//   record of the spool = u32 bytes | i64 first word | i64 second word | bytes
//     a chunk       length of its column index, of its offset index, ColumnChunk without these fields and without its end
//     a row group   0, 0, RowGroup after its list of columns
//
// The rest (schema, key-value metadata, column orders) is taken from the library's own serialization of an empty file.
#pragma once

#include <arrow/result.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include <string>

#include "io/output_file.h"
#include "io/parquet_writer/byte_spool.h"
#include "io/parquet_writer/column_encoder.h"
#include "io/parquet_writer/written_schema.h"

namespace icebound::io {

/// Where a chunk lies in the file.
struct ChunkPlace {
  int64_t start = 0;       ///< of the dictionary page, or of the first data page without one
  int64_t data_start = 0;  ///< of the first data page
  int64_t end = 0;
  int64_t column_index_bytes = 0;  ///< 0: none
  int64_t offset_index_bytes = 0;
};

/// Collects entries, then writes them. Not thread safe.
class Footer {
 public:
  Footer(const WrittenSchema* schema, std::shared_ptr<parquet::WriterProperties> properties, spill::DiskManager* disk,
         arrow::MemoryPool* pool);

  /// The next column chunk of the open row group.
  arrow::Status AddChunk(int column, const FinishedChunk& chunk, const ChunkPlace& place);
  /// Ends the open row group.
  arrow::Status EndRowGroup(int64_t rows);

  /// Appends FileMetaData to `file`. The column indexes begin at one offset, the offset indexes at the other, in the order of the
  /// chunks.
  arrow::Status WriteTo(OutputFile* file, int64_t column_indexes_offset, int64_t offset_indexes_offset);

  int64_t rows() const { return rows_; }
  int64_t row_groups() const { return row_groups_; }

 private:
  /// The fields of FileMetaData before the row count, and those after the row groups.
  struct Frame {
    std::string head;
    std::string tail;
  };

  arrow::Result<Frame> MakeFrame() const;
  arrow::Status CopyRowGroup(ByteSpool::Reader* records, int64_t* column_indexes_offset, int64_t* offset_indexes_offset,
                             std::string* out) const;
  arrow::Status AddRecord(int64_t first, int64_t second);

  const WrittenSchema* const schema_;
  const std::shared_ptr<parquet::WriterProperties> properties_;
  ByteSpool spool_;
  std::string entry_;  // under construction
  int64_t rows_ = 0;
  int64_t row_groups_ = 0;
  // Of the open row group:
  int64_t group_offset_ = 0;
  int64_t group_uncompressed_bytes_ = 0;
  int64_t group_compressed_bytes_ = 0;
};

}  // namespace icebound::io
