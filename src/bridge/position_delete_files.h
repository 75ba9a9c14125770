// SPDX-License-Identifier: Apache-2.0
//
// Position delete files, read and checked: what they must not hold (no path, no position or a negative one) is kCorruptData
// naming the file.
#pragma once

#include <arrow/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bridge/snapshot_read.h"
#include "iceberg/deletes/delete_file.h"
#include "runtime/query_context.h"

namespace icebound::bridge {

/// Calls `visit(path, rows)` for the rows of the file in their order, runs of one path together. With `only_path`, for those of
/// that path; others are left out by what the file says of its row groups and pages.
arrow::Status VisitPositionDeletes(const iceberg::DeleteFile& deletes, const std::string* only_path,
                                   std::shared_ptr<const SnapshotRead> read, runtime::QueryContext* context,
                                   const std::function<arrow::Status(std::string_view, std::span<const int64_t>)>& visit);

}  // namespace icebound::bridge
