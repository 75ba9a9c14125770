// SPDX-License-Identifier: Apache-2.0
//
// The header and the blocks of an Avro container file (record_reader.h draws it), one block in memory at a time.
//
// Splits: a reader of [begin_offset, end_offset) looks for the first sync marker that starts at begin_offset or later, and reads
// the blocks that stand behind the markers of its range. The marker of the header counts too. So readers of adjoining ranges
// read every block once, whatever the ranges are.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iceberg/avro/binary.h"
#include "iceberg/avro/block_codec.h"
#include "iceberg/avro/schema.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg::avro {

using SyncMarker = std::array<uint8_t, 16>;

struct ReaderOptions {
  memory::MemoryConsumer* consumer = nullptr;  ///< charged for everything; required
  int64_t begin_offset = 0;                    ///< the split: see above
  int64_t end_offset = std::numeric_limits<int64_t>::max();
};

/// Not thread safe. The consumer must outlive it.
class BlockReader {
 public:
  static arrow::Result<std::unique_ptr<BlockReader>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name,
                                                          const ReaderOptions& options);

  const std::string& name() const { return name_; }
  const Schema& schema() const { return *schema_; }
  std::optional<std::string_view> metadata(std::string_view key) const;
  Codec codec() const { return codec_->codec(); }

  /// Makes the cursor stand at the next record, in a new block when this one is used up; false at the end of the range.
  arrow::Result<bool> Advance() {
    if (records_left_ > 0) [[likely]] {
      --records_left_;
      return true;
    }
    return NextBlock();
  }
  BlockCursor& cursor() { return cursor_; }
  /// Records of this block behind the one that Advance announced.
  int64_t records_left() const { return records_left_; }

  /// Records that stand in the file before the first of this range. Reads the frames of all blocks before; to be called before
  /// Advance.
  arrow::Result<int64_t> RecordsBefore();

  /// Gives a failure inside the block its place and its kind (kCorruptData when it has none); the reader is at its end then.
  arrow::Status Fail(const arrow::Status& status);

 private:
  BlockReader(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name, const ReaderOptions& options);

  arrow::Status ReadHeader();
  arrow::Status ParseMetadata(BlockCursor* cursor);
  arrow::Status InterpretMetadata(int64_t header_bytes);
  arrow::Status SeekToSplit(int64_t header_bytes);
  arrow::Result<bool> NextBlock();
  arrow::Status LoadBlock();
  /// What stands before and behind the data of a block.
  struct BlockFrame {
    int64_t records = 0;
    int64_t data_offset = 0;
    int64_t data_bytes = 0;
    int64_t next_offset() const { return data_offset + data_bytes + static_cast<int64_t>(sizeof(SyncMarker)); }
  };
  arrow::Result<BlockFrame> ReadBlockFrame(int64_t offset);
  /// Bytes [offset, offset + size) of the file, or up to its end: in the window, until the next call.
  arrow::Result<std::span<const uint8_t>> ReadAt(int64_t offset, int64_t size);

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const std::string name_;
  memory::MemoryConsumer* const consumer_;
  const int64_t begin_offset_;
  const int64_t end_offset_;
  int64_t file_bytes_ = 0;

  std::shared_ptr<const Schema> schema_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  memory::Reservation metadata_reservation_;
  std::unique_ptr<BlockDecompressor> codec_;
  SyncMarker sync_{};

  std::shared_ptr<arrow::ResizableBuffer> window_;  // bytes [window_offset_, + window_bytes_) of the file
  int64_t window_offset_ = 0;
  int64_t window_bytes_ = 0;

  int64_t header_bytes_ = 0;
  int64_t offset_ = 0;        // of the next block
  int64_t block_offset_ = 0;  // of the block that the cursor is in
  int64_t records_left_ = 0;
  bool in_block_ = false;
  bool at_end_ = false;
  BlockCursor cursor_;
};

}  // namespace icebound::iceberg::avro
