// SPDX-License-Identifier: Apache-2.0
//
// Avro object container files, read record by record.
//
// The file
//     magic "Obj" 01 | map of metadata (avro.schema, avro.codec, the writer's own) | sync marker (16 bytes)
//     then blocks:  count (varint) | bytes (varint) | the records, compressed as a whole | sync marker
//
// Reading holds one block: its stored bytes, and its decompressed bytes unless the codec is null. Both are buffers of the
// consumer's pool, kept from block to block. Files come from strangers, so nothing is believed before it is checked:
//
//   what the file says                        what is checked before a byte of it is allocated or a loop begins
//   length of a block, of the header          lies inside the file
//   records of a block                        each takes at least Node::min_bytes, and records of nothing are bounded
//   decompressed size (snappy, zstandard)     is what the codec can make of these bytes at most; then reserved
//   decompressed size (deflate: unsaid)       grows step by step, every step reserved before it is filled
//   items of an array or map                  as records
//   lengths of strings                        lie inside the block
//   sync marker, checksum (snappy), codec     are right, and all of the block is used by its records
//
// Failures are kCorruptData and name the file, the block's offset in the file and the offset inside its (decompressed) data.
//
// The layers, from the bytes up: binary.h (varints, a cursor that cannot leave its block), block_codec.h (codecs), block_reader.h
// (header and blocks), then value_reader.h with this file (records into structs: manifests), and batch_reader.h (records into
// Arrow batches: data files). Writing: record_writer.h, value_writer.h.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iceberg/avro/block_reader.h"
#include "iceberg/avro/schema.h"
#include "iceberg/avro/value_reader.h"

namespace icebound::iceberg::avro {

/// Records of one file, or of one split of it. Not thread safe. The consumer of the options must outlive it.
class RecordReader {
 public:
  /// Reads the header. `name` is how messages call the file. The file must not be changed by others while it is read.
  static arrow::Result<std::unique_ptr<RecordReader>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name,
                                                           const ReaderOptions& options);

  const Schema& schema() const { return blocks_->schema(); }
  /// A value of the header's metadata ("partition-spec-id"), or nullopt. Valid as long as the reader.
  std::optional<std::string_view> metadata(std::string_view key) const { return blocks_->metadata(key); }

  /// Calls `on_record(ValueReader&) -> arrow::Status` with the next record; false when there is none. After a failure the reader
  /// gives no more records.
  template <typename OnRecord>
  arrow::Result<bool> Next(OnRecord&& on_record) {
    ARROW_ASSIGN_OR_RAISE(const bool more, blocks_->Advance());
    if (!more) return false;
    ValueReader record(&blocks_->cursor(), schema().root());
    arrow::Status status = on_record(record);
    if (status.ok() && !record.taken_) status = record.Skip();
    if (!status.ok()) [[unlikely]]
      return blocks_->Fail(status);
    return true;
  }

 private:
  explicit RecordReader(std::unique_ptr<BlockReader> blocks) : blocks_(std::move(blocks)) {}

  std::unique_ptr<BlockReader> blocks_;
};

}  // namespace icebound::iceberg::avro
