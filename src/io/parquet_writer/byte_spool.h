// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <memory>
#include <span>

#include "io/output_file.h"
#include "io/parquet_writer/pool_vector.h"
#include "spill/disk_manager.h"

namespace icebound::io {

/// Bytes that are written now and copied to the end of a file later (the page indexes): in memory up to `memory_bytes_max`,
/// beyond it in a spill file. Not thread safe.
class ByteSpool final : public arrow::io::OutputStream {
 public:
  ByteSpool(spill::DiskManager* disk, arrow::MemoryPool* pool, int64_t memory_bytes_max)
      : disk_(disk), pool_(pool), memory_bytes_max_(memory_bytes_max), buffer_(pool) {}

  arrow::Status Write(const void* data, int64_t bytes) override;
  using arrow::io::OutputStream::Write;
  arrow::Result<int64_t> Tell() const override { return bytes_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

  int64_t bytes() const { return bytes_; }

  /// Gives the bytes back in order, freeing the spill file behind itself. Borrows the spool.
  class Reader {
   public:
    /// Exactly `bytes` bytes.
    arrow::Status Read(void* out, int64_t bytes);

   private:
    friend class ByteSpool;
    Reader(ByteSpool* spool, arrow::MemoryPool* pool) : spool_(spool), block_(pool) {}

    ByteSpool* const spool_;
    std::unique_ptr<spill::SpillReader> spilled_;  // null: none, or all read
    PoolVector<uint8_t> block_;
    std::span<const uint8_t> rest_;  // of the block that was read last
    bool in_memory_ = false;         // rest_ is what the spool held in memory
  };

  /// No more writes. Once.
  arrow::Result<std::unique_ptr<Reader>> Read();

  /// Appends everything to `file`. Once.
  arrow::Status CopyTo(OutputFile* file);

 private:
  spill::DiskManager* const disk_;
  arrow::MemoryPool* const pool_;
  const int64_t memory_bytes_max_;  // at most spill::kMaxBlockBytes
  int64_t bytes_ = 0;
  PoolVector<uint8_t> buffer_;  // what is not in the spill file
  std::shared_ptr<spill::SpillFile> file_;
};

}  // namespace icebound::io
