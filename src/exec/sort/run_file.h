// SPDX-License-Identifier: Apache-2.0
//
// Sorted runs on disk: a spill file of rows in key order. Its blocks:
//
//   packing     [0, 4 | row_packing.h]                      how the rows of the following blocks are packed
//   rows        [1, 4 | unpacked bytes, 4 | packed rows]    at most block_bytes when unpacked
//   wide row    [2, 4 | the first block_bytes of a row]     a row larger than a block, as it is; counts 1 row
//   more of it  [3, 4 | the next ones]                      counts 0 rows
//
// A wide row is loaded when its turn comes, and not before: of a row whose key ends in its first piece, the reader holds that
// piece only, which is all that comparing needs. So a merge of any number of runs costs one wide row, not one a run.
//
// A run may be continued: when the next rows' first key is not below the last one written, they go to the same file,
// behind a packing of their own. So input that comes sorted ends up in one run a worker, whatever its size.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/sort/mapped_pages.h"
#include "exec/sort/row_layout.h"
#include "exec/sort/row_packing.h"
#include "exec/sort/row_spread.h"
#include "spill/disk_manager.h"

namespace icebound::exec::sort {

/// A finished run. Whoever reads it to the end frees it on disk progressively; dropping `file` frees the rest.
struct SortRun {
  std::shared_ptr<spill::SpillFile> file;
  RowSpread spread;
  int64_t rows = 0;
  int64_t block_bytes_max = 0;     ///< of unpacked rows
  int64_t wide_row_bytes_max = 0;  ///< the widest row that did not fit a block; 0: none
  /// What a reader must hold of a wide row to compare it, at most: its first piece, or all of it when its key does not end there.
  int64_t wide_held_bytes_max = 0;
  int64_t partial_row_bytes_max = 0;  ///< the widest row of which it holds the first piece only; 0: none

  /// What a run costs in memory while it waits: this value, and the file's own small state.
  static constexpr int64_t kStateBytes = 4096;
};

/// Writes runs through one block of memory. Not thread safe.
class RunWriter {
 public:
  /// Memory it needs for blocks of so many unpacked bytes.
  static int64_t WorkspaceBytes(int64_t block_bytes) { return block_bytes + kBlockHeadBytes + kReadSlackBytes; }

  /// Layout, disk and workspace outlive the writer.
  RunWriter(const RowLayout& layout, spill::DiskManager* disk, uint8_t* workspace, int64_t block_bytes)
      : layout_(layout), disk_(*disk), block_(workspace), block_bytes_max_(block_bytes) {}

  bool open() const { return run_.has_value(); }

  /// Whether rows from `first_row` on may follow the rows of the open run.
  bool CanContinue(const uint8_t* first_row) const;

  arrow::Status Open();

  /// The rows that follow are among those of `spread`.
  arrow::Status Begin(const RowSpread& spread);
  arrow::Status Add(const uint8_t* row);

  /// Writes what is left, and remembers what CanContinue needs of the last row added. The run stays open; the
  /// workspace is free for other uses until the next Begin.
  arrow::Status Pause(const uint8_t* last_row);

  /// Writes what is left and closes the run.
  arrow::Result<SortRun> Finish();

 private:
  friend class RunReader;
  static constexpr int64_t kBlockHeadBytes = 8;

  arrow::Status Flush();
  arrow::Status AddWide(const uint8_t* row, int64_t row_bytes);
  uint8_t* block_rows() const { return block_ + kBlockHeadBytes; }

  const RowLayout& layout_;
  spill::DiskManager& disk_;
  uint8_t* const block_;
  const int64_t block_bytes_max_;
  std::optional<SortRun> run_;
  std::optional<RowPacking> packing_;
  uint8_t* next_ = nullptr;     // in the block
  int64_t unpacked_bytes_ = 0;  // of the rows in the block
  int64_t block_row_count_ = 0;
  std::vector<uint8_t> last_key_;  // at most kLastKeyBytesMax; empty: unknown
};

/// Reads a run's rows block by block, into pages of its own, and frees them on disk. Not thread safe.
class RunReader {
 public:
  /// Memory that one run needs at most while it is read, beside its state; and the scratch that all readers of a merge share.
  static int64_t BufferBytes(const SortRun& run);
  static int64_t ScratchBytes(const SortRun& run) { return run.file->max_block_bytes() + kReadSlackBytes; }

  /// Takes the pages from the budget: a refusal is an error. Layout and budget outlive the reader.
  static arrow::Result<std::unique_ptr<RunReader>> Open(const RowLayout& layout, SortBudget* budget, SortRun run);
  ~RunReader();

  /// Loads the next block over the last one; false at the end, when the pages and the file are already given back.
  arrow::Result<bool> NextBlock(std::span<uint8_t> scratch);

  const uint8_t* rows() const { return pages_.data(); }  ///< the block's rows
  int64_t row_count() const { return row_count_; }

  /// Whether the block is the head and key of a wide row only.
  bool row_is_partial() const { return rest_bytes_ > 0; }

  /// Copies a partial row to `row` and loads the rest behind it, once, before the next block. `row` has the row's size.
  arrow::Status LoadWholeRow(std::span<uint8_t> row, std::span<uint8_t> scratch);

 private:
  RunReader(const RowLayout& layout, SortBudget* budget, SortRun run)
      : layout_(layout), budget_(budget), run_(std::move(run)), pages_(budget) {}
  arrow::Status UnpackRows(std::span<const uint8_t> block);
  arrow::Status BeginWideRow(std::span<const uint8_t> first_piece, std::span<uint8_t> scratch);
  arrow::Status LoadPieces(std::span<uint8_t> rest, std::span<uint8_t> scratch);
  arrow::Status Corrupt(std::string_view what) const;
  void Close();

  const RowLayout& layout_;
  SortBudget* const budget_;
  SortRun run_;
  MappedPages pages_;
  int64_t row_count_ = 0;
  int64_t held_row_bytes_ = 0;  // of a partial row, in pages_
  int64_t rest_bytes_ = 0;      // of a partial row, still in the file
  std::optional<RowPacking> packing_;
  std::unique_ptr<spill::SpillReader> reader_;
};

}  // namespace icebound::exec::sort
