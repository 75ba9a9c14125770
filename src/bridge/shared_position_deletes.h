// SPDX-License-Identifier: Apache-2.0
//
// Position delete files about several data files, read once for all of them.
//
//   Load     the file is read from end to end; the positions of each run of one path (such files are sorted by path, so a path
//            has one run) become a bitmap, serialized as the blob of a deletion vector
//   index    path -> the blobs of its runs. Blobs stay in memory up to kMemoryBytes a file, the others go to a spill file
//   AddTo    the blobs of one data file are added to its vector
//
// What is kept of a delete file is its distinct paths, 40 bytes a run, and the blobs in memory, all charged. When the charge is
// refused, the files that nobody is reading are forgotten, the one that was asked for longest ago first; whoever needs one again
// reads it again.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "bridge/snapshot_read.h"
#include "iceberg/deletes/delete_file.h"
#include "iceberg/puffin/deletion_vector.h"
#include "memory/memory_ledger.h"
#include "runtime/query_context.h"

namespace icebound::bridge {

/// Thread safe. What it refers to outlives it.
class SharedPositionDeletes {
 public:
  SharedPositionDeletes(std::shared_ptr<const SnapshotRead> read, runtime::QueryContext* context,
                        memory::MemoryConsumer* consumer);
  ~SharedPositionDeletes();

  /// Adds the positions that `deletes` names of `data_file`.
  arrow::Status AddTo(const iceberg::DeleteFile& deletes, const std::string& data_file, iceberg::puffin::DeletionVector* vector);

 private:
  class IndexedFile;
  struct Slot {
    std::mutex loading;                       // held by who reads the file
    std::shared_ptr<const IndexedFile> file;  // guarded by the outer mutex; null: not read, or forgotten
    int64_t last_used = 0;                    // guarded by the outer mutex
  };

  arrow::Result<std::shared_ptr<const IndexedFile>> FileOf(const iceberg::DeleteFile& deletes);
  /// False when there is none left to forget.
  bool ForgetOne();

  const std::shared_ptr<const SnapshotRead> read_;
  runtime::QueryContext* const context_;
  memory::MemoryConsumer* const consumer_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;  // by path of the delete file; guarded by mutex_
  memory::Reservation slots_memory_;                    // guarded by mutex_
  int64_t uses_ = 0;                                    // guarded by mutex_
};

}  // namespace icebound::bridge
