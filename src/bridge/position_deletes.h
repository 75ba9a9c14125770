// SPDX-License-Identifier: Apache-2.0
//
// The rows of one data file that deletes by position name, as the scan leaves them out.
//
//   deletion vector     the blob of a Puffin file, as it is
//   position deletes    files of (file_path, pos), made a bitmap. Those about this file alone are read for it
//                       (position_delete_files.h), those about several once for all of them (shared_position_deletes.h)
//
// A bitmap takes at most an eighth of a byte a row of its file, and is charged.
#pragma once

#include <arrow/result.h>

#include <memory>

#include "bridge/shared_position_deletes.h"
#include "bridge/snapshot_read.h"
#include "iceberg/scan/file_task.h"
#include "io/excluded_rows.h"
#include "memory/memory_ledger.h"
#include "runtime/query_context.h"

namespace icebound::bridge {

/// Null when there are no such deletes. The consumer outlives the result.
arrow::Result<std::shared_ptr<const io::ExcludedRows>> LoadExcludedRows(const iceberg::FileTask& task,
                                                                        const std::shared_ptr<const SnapshotRead>& read,
                                                                        runtime::QueryContext* context,
                                                                        SharedPositionDeletes* shared,
                                                                        memory::MemoryConsumer* consumer);

}  // namespace icebound::bridge
