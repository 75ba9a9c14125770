// SPDX-License-Identifier: Apache-2.0
//
// What became of a swap whose answer was lost.
//
// The table now is loaded and its metadata file, and the log of those before it, say:
//
//   it is, or its log holds, the file of the commit       it happened (others may have committed since)
//   it is, or its log holds, the file it was based on     it did not, and will not: whoever followed the base was another
//   neither (the log was cut), or the table is gone       unknown still
//
// The second line holds for swaps that the catalog has finished with one way or the other by the time of the look (a SQLite
// transaction that was rolled back). Where a request may still be on its way (REST), `request_is_over` is false, and a table that
// still is its base stays unknown.
#pragma once

#include <string>

#include "iceberg/catalog/catalog.h"

namespace icebound::iceberg {

/// Ok when the commit that wrote `new_location` over `base` happened; kCommitConflict, kIo (nothing changed: `failure` says why)
/// or kCommitUnknown. `now` is the table as it could be loaded after the failure, or why it could not.
arrow::Status JudgeCommit(const LoadedTable& base, const std::string& new_location, const arrow::Result<LoadedTable>& now,
                          const arrow::Status& failure, bool request_is_over);

}  // namespace icebound::iceberg
