// SPDX-License-Identifier: Apache-2.0
//
// Puffin files: blobs of statistics and deletion vectors, with a footer that says what they are.
//
//     magic "PFA1" | blob | blob | ... | footer
//     footer:  magic | payload (JSON) | payload bytes (4, little-endian) | flags (4 bytes) | magic
//     flags:   bit 0 of the first byte: the payload is one LZ4 frame. Any other bit is not understood and refused.
//
//     {"blobs": [{"type": "deletion-vector-v1", "fields": [2147483546], "snapshot-id": -1, "sequence-number": -1, "offset": 4,
//                 "length": 42, "properties": {"referenced-data-file": "...", "cardinality": "3"}}],
//      "properties": {"created-by": "..."}}
//
// Reading is lazy: the footer when the file is opened, a blob when it is asked for. Compressed bytes say how large they become
// (the format demands it); that is compared with what is possible and reserved before they are decompressed.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/memory_ledger.h"

namespace icebound::iceberg::puffin {

using Properties = std::vector<std::pair<std::string, std::string>>;

struct BlobMetadata {
  std::string type;
  std::vector<int32_t> fields;  ///< ids of the fields it was computed from
  int64_t snapshot_id = -1;
  int64_t sequence_number = -1;
  int64_t offset = 0;
  int64_t length = 0;
  std::string compression_codec;  ///< "", "lz4" or "zstd"
  Properties properties;

  std::optional<std::string_view> property(std::string_view key) const;
};

/// Not thread safe. The consumer must outlive it and the buffers it gives.
class PuffinReader {
 public:
  /// Reads the footer. `name` is how messages call the file.
  static arrow::Result<std::unique_ptr<PuffinReader>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name,
                                                           memory::MemoryConsumer* consumer);

  const std::vector<BlobMetadata>& blobs() const { return blobs_; }
  const Properties& properties() const { return properties_; }

  /// The blob's bytes, decompressed. `blob` is one of blobs().
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadBlob(const BlobMetadata& blob);

 private:
  PuffinReader(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name, memory::MemoryConsumer* consumer)
      : file_(std::move(file)), name_(std::move(name)), consumer_(consumer), reservation_(consumer) {}

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadRange(int64_t offset, int64_t bytes);
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadFooterPayload();
  arrow::Status ParseFooter(std::string_view json);
  arrow::Status ParseBlob(std::string_view json);

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const std::string name_;
  memory::MemoryConsumer* const consumer_;
  memory::Reservation reservation_;  // of what stands below
  std::vector<BlobMetadata> blobs_;
  Properties properties_;
  int64_t footer_offset_ = 0;  // blobs end here
};

enum class BlobCodec : uint8_t { kNone, kLz4, kZstd };

/// Not thread safe. The output and the consumer must outlive it.
class PuffinWriter {
 public:
  /// Writes the magic.
  static arrow::Result<std::unique_ptr<PuffinWriter>> Open(arrow::io::OutputStream* output, std::string name,
                                                           memory::MemoryConsumer* consumer);

  /// Writes a blob. `metadata` says all but offset, length and codec; the result says these too. Deletion vectors are not
  /// compressed.
  arrow::Result<BlobMetadata> Append(BlobMetadata metadata, std::span<const uint8_t> payload, BlobCodec codec = BlobCodec::kNone);

  /// Writes the footer, compressed when `codec` is kLz4. Does not close the output.
  arrow::Status Finish(const Properties& properties, BlobCodec codec = BlobCodec::kNone);

  int64_t written_bytes() const { return written_bytes_; }

 private:
  PuffinWriter(arrow::io::OutputStream* output, std::string name, memory::MemoryConsumer* consumer)
      : output_(output), name_(std::move(name)), consumer_(consumer), footer_reservation_(consumer) {}

  arrow::Status Write(const void* data, int64_t bytes);

  arrow::io::OutputStream* const output_;
  const std::string name_;
  memory::MemoryConsumer* const consumer_;
  std::string blobs_json_;  // of the footer: the blobs so far
  memory::Reservation footer_reservation_;
  int64_t written_bytes_ = 0;
};

}  // namespace icebound::iceberg::puffin
