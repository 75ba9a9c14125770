// SPDX-License-Identifier: Apache-2.0
//
// Sorted runs on disk: a spill file of rows in key order.
//
//   block       whole rows (row_layout.h) one behind the other, at most block_bytes of them
//   wide row    a row larger than a block: pieces of block_bytes, a block each; the first counts 1 row, the others 0. Nothing else is in
//               those blocks.
//
// A run may be continued: when the next run's first key is not below the last one written, its rows go to the same file. So input that comes
// sorted ends up in one run a worker, whatever its size.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/sort/key_prefix.h"
#include "exec/sort/mapped_pages.h"
#include "exec/sort/row_layout.h"
#include "spill/disk_manager.h"

namespace icebound::exec::sort {

/// A finished run. Whoever reads it to the end with consume=true frees it on disk progressively; dropping `file` frees the rest.
struct SortRun {
  std::shared_ptr<spill::SpillFile> file;
  KeySpread spread;
  int64_t rows = 0;
  int64_t wide_row_bytes_max = 0;  ///< the widest row that did not fit a block; 0: none
};

/// Writes runs through one block of memory. Not thread safe.
class RunWriter {
 public:
  /// `block` is the workspace: its size is the block size. Layout, disk and block outlive the writer.
  RunWriter(const RowLayout& layout, spill::DiskManager* disk, std::span<uint8_t> block)
      : layout_(layout), disk_(*disk), block_(block) {}

  bool open() const { return run_.has_value(); }

  /// Whether rows from `first_row` on may follow the rows of the open run.
  bool CanContinue(const uint8_t* first_row) const;

  arrow::Status Open();
  arrow::Status Add(const uint8_t* row);

  /// Writes what is left, remembers what CanContinue needs of the last row added, adds the spread of the rows, and leaves the run open. The
  /// block is free for other uses until the next Add.
  arrow::Status Pause(const uint8_t* last_row, const KeySpread& spread);

  /// Writes what is left and closes the run.
  arrow::Result<SortRun> Finish();

 private:
  arrow::Status Flush();
  arrow::Status AddWide(const uint8_t* row, int64_t row_bytes);

  const RowLayout& layout_;
  spill::DiskManager& disk_;
  const std::span<uint8_t> block_;
  std::optional<SortRun> run_;
  int64_t used_bytes_ = 0;
  int64_t block_rows_ = 0;
  std::vector<uint8_t> last_key_;  // at most kLastKeyBytesMax; empty: unknown
};

/// Reads a run's rows block by block, into pages of its own. Not thread safe.
class RunReader {
 public:
  /// Pages, and the file reader's own small state, that one run needs at most while it is read.
  static int64_t BufferBytes(const SortRun& run);

  /// Takes the pages from the budget: a refusal is an error.
  static arrow::Result<std::unique_ptr<RunReader>> Open(const RowLayout& layout, SortBudget* budget, SortRun run);
  ~RunReader();

  /// Loads the next block over the last one; false at the end, when the pages and the file are already given back.
  arrow::Result<bool> NextBlock();

  const uint8_t* rows() const { return pages_.data(); }  ///< the block's rows
  int64_t row_count() const { return row_count_; }

 private:
  RunReader(const RowLayout& layout, SortBudget* budget, SortRun run)
      : layout_(layout), budget_(budget), run_(std::move(run)), pages_(budget) {}
  arrow::Status LoadRestOfWideRow(int64_t loaded_bytes);
  void Close();

  const RowLayout& layout_;
  SortBudget* const budget_;
  SortRun run_;
  MappedPages pages_;
  int64_t block_bytes_ = 0;
  int64_t row_count_ = 0;
  std::unique_ptr<spill::SpillReader> reader_;
};

}  // namespace icebound::exec::sort
