// SPDX-License-Identifier: Apache-2.0
//
// The finished pages of a row group that does not fit its budget, in a spill file.
//
// Each Spill takes the pages of every column, in column order, as one generation:
//
//   generation 0: [column 0 pages][column 1 pages]...   generation 1: [column 0 pages][column 1 pages]...   ...
//
// and the file wants all of column 0, then all of column 1. One reader a generation gives that with sequential reads only, as the
// last pass of a merge does, and frees the spill file behind itself. A page is written once and read once.
#pragma once

#include <arrow/result.h>

#include <memory>
#include <vector>

#include "io/output_file.h"
#include "io/parquet_writer/pool_vector.h"
#include "spill/disk_manager.h"

namespace icebound::io {

/// One row group's. Not thread safe.
class StagedPages {
 public:
  StagedPages(spill::DiskManager* disk, arrow::MemoryPool* pool) : disk_(disk), pool_(pool), buffer_(pool) {}

  using ColumnPages = std::vector<PoolVector<uint8_t>>;

  /// Writes the pages of all columns; afterwards they may go.
  arrow::Status Spill(const std::vector<const ColumnPages*>& columns);

  /// No more Spill. Required before CopyColumn.
  arrow::Status Finish();

  /// Appends what was spilled of `column` to `file`. Columns must be asked for in order, each once.
  arrow::Status CopyColumn(int column, OutputFile* file);

  bool empty() const { return generations_.empty(); }
  int64_t spilled_bytes() const { return file_ == nullptr ? 0 : file_->stored_bytes(); }
  /// Heap bytes of the bookkeeping.
  int64_t memory_bytes() const;

 private:
  struct Generation {
    int64_t first_block = 0;
    int64_t end_block = 0;
    std::vector<uint32_t> blocks;  // of each column
    std::unique_ptr<spill::SpillReader> reader;
  };

  arrow::Status SpillColumn(const ColumnPages& pages, uint32_t* blocks);

  spill::DiskManager* const disk_;
  arrow::MemoryPool* const pool_;
  std::shared_ptr<spill::SpillFile> file_;
  std::vector<Generation> generations_;
  PoolVector<uint8_t> buffer_;
};

}  // namespace icebound::io
