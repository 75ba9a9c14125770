// SPDX-License-Identifier: Apache-2.0
//
// Stored group rows (group_layout.h) on disk, a file a partition. A block holds whole rows; a row of more than a block goes on in
// the blocks behind it, which count no rows.
#pragma once

#include <arrow/result.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "exec/aggregate/group_layout.h"
#include "exec/sort/mapped_pages.h"
#include "runtime/query_context.h"
#include "spill/spill_file.h"

namespace icebound::exec::aggregate {

/// Rows on disk. A plain value; `file` is null when there are none.
struct StoredRows {
  std::shared_ptr<spill::SpillFile> file;
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t widest_row_bytes = 0;
  int level = 0;  ///< of the partitioning that made them
};

/// Writes are thread safe; Take is for one thread when nobody writes.
class PartitionFiles {
 public:
  /// Most bytes of a block; wider rows are cut.
  static constexpr int64_t kBlockBytesMax = int64_t{256} << 10;

  PartitionFiles(runtime::QueryContext* context, std::string purpose, int level, int count);

  /// Appends `rows` whole rows of together at most kBlockBytesMax, or one row of any size.
  arrow::Status Write(uint32_t partition, std::span<const std::span<const uint8_t>> parts, int64_t rows,
                      int64_t widest_row_bytes);

  StoredRows Take(uint32_t partition);

  int count() const { return static_cast<int>(files_.size()); }
  /// Stored bytes that no call has given before: threads that write at the same time count each byte once. Thread safe.
  int64_t TakeUncountedBytes() { return uncounted_bytes_.exchange(0, std::memory_order_relaxed); }

 private:
  struct File {
    std::mutex mutex;
    StoredRows rows;  // guarded by mutex
  };

  runtime::QueryContext* const context_;
  const std::string purpose_;
  std::vector<std::unique_ptr<File>> files_;
  std::atomic<int64_t> uncounted_bytes_{0};
};

/// Reads stored rows back, a block at a time, and frees them on disk. Not thread safe.
class StoredRowReader {
 public:
  /// What the buffer takes for these rows.
  static int64_t BufferBytes(const StoredRows& rows);

  static arrow::Result<std::unique_ptr<StoredRowReader>> Open(const StoredRows& rows, const GroupLayout* layout,
                                                              sort::SortBudget* budget);

  /// The next block: sets `*begin` to its first row, attached; the rows lie one behind the other. Returns their number, 0 at the
  /// end.
  arrow::Result<int64_t> Next(uint8_t** begin);

 private:
  StoredRowReader(const GroupLayout* layout, sort::SortBudget* budget) : layout_(layout), buffer_(budget) {}

  const GroupLayout* const layout_;
  sort::MappedPages buffer_;
  std::unique_ptr<spill::SpillReader> reader_;
};

}  // namespace icebound::exec::aggregate
