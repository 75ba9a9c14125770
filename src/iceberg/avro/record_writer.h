// SPDX-License-Identifier: Apache-2.0
//
// Writes an Avro container file (record_reader.h draws it) record by record. Memory: one block of records and its compressed
// form. A block ends with the record that makes it block_bytes long; one larger record travels alone.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iceberg/avro/block_codec.h"
#include "iceberg/avro/block_reader.h"
#include "iceberg/avro/schema.h"
#include "iceberg/avro/value_writer.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg::avro {

struct WriterOptions {
  memory::MemoryConsumer* consumer = nullptr;  ///< charged for everything; required
  Codec codec = Codec::kDeflate;
  std::optional<int> compression_level;  ///< the codec's own scale
  int64_t block_bytes = 64 << 10;        ///< before compression: what other writers use, and a reader's memory
  /// Of the header, beside avro.schema and avro.codec.
  std::vector<std::pair<std::string, std::string>> metadata;
  std::optional<SyncMarker> sync_marker;  ///< random by default
};

/// Not thread safe. The output and the consumer must outlive it. A writer that is destroyed without Finish leaves a file cut
/// short after its last whole block.
class RecordWriter {
 public:
  /// Writes the header. `name` is how messages call the file.
  static arrow::Result<std::unique_ptr<RecordWriter>> Open(arrow::io::OutputStream* output, std::string name,
                                                           std::shared_ptr<const Schema> schema, const WriterOptions& options);

  const Schema& schema() const { return *schema_; }

  /// Calls `on_record(ValueWriter&) -> arrow::Status` to write one record. After a failure of `on_record` the record is as if it
  /// had never begun, and others may follow; after a failure of the output none may.
  template <typename OnRecord>
  arrow::Status Append(OnRecord&& on_record) {
    ARROW_RETURN_NOT_OK(CheckOpen());
    const int64_t begin_bytes = block_.size();
    ValueWriter record(&block_, schema_->root());
    arrow::Status status = on_record(record);
    if (status.ok() && !record.taken_) status = record.WriteNull();
    if (!status.ok()) [[unlikely]]
      return Abandon(begin_bytes, status);
    ++block_records_;
    ++records_;
    return block_.size() >= block_bytes_ ? WriteBlock() : arrow::Status::OK();
  }

  /// Writes the last block. Does not close the output.
  arrow::Status Finish();

  int64_t records() const { return records_; }
  /// Bytes of the file: exact after Finish; before, without the block being filled.
  int64_t written_bytes() const { return written_bytes_; }
  /// What the file would have if it ended now, as if the block being filled were not compressed.
  int64_t expected_bytes() const { return written_bytes_ + block_.size(); }

 private:
  RecordWriter(arrow::io::OutputStream* output, std::string name, std::shared_ptr<const Schema> schema,
               const WriterOptions& options);

  arrow::Status CheckOpen() const;
  arrow::Status Abandon(int64_t begin_bytes, const arrow::Status& status);
  arrow::Status WriteHeader(const WriterOptions& options);
  arrow::Status WriteBlock();
  arrow::Status WriteBytes(const void* data, int64_t size);

  arrow::io::OutputStream* const output_;
  const std::string name_;
  const std::shared_ptr<const Schema> schema_;
  memory::MemoryConsumer* const consumer_;
  const int64_t block_bytes_;
  std::unique_ptr<BlockCompressor> codec_;
  SyncMarker sync_{};
  BlockBytes block_;
  int64_t block_records_ = 0;
  int64_t records_ = 0;
  int64_t written_bytes_ = 0;
  bool broken_ = false;
  bool finished_ = false;
};

}  // namespace icebound::iceberg::avro
