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
// transaction that was rolled back). Where a request may still be on its way, `request_is_over` is false, and a table that
// still is its base stays unknown.
//
// A REST server names the file itself, so that there what the commit did is looked for:
//
//   the table has all snapshots that it added, or everything that it set      it happened
//   the table is one commit after its base, and main has moved               another's: ours cannot happen any more
//   anything else (it is its base still; more commits came and may have      unknown still
//   expired ours; main has not moved and a late request may be let in)
#pragma once

#include <string>

#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/metadata_changes.h"

namespace icebound::iceberg {

/// Ok when the commit that wrote `new_location` over `base` happened; kCommitConflict, kIo (nothing changed: `failure` says
/// why) or kCommitUnknown. `now` is the table as it could be loaded after the failure, or why it could not.
arrow::Status JudgeCommit(const LoadedTable& base, const std::string& new_location, const arrow::Result<LoadedTable>& now,
                          const arrow::Status& failure, bool request_is_over);

/// The same for a commit whose file's name is not known, of `updated`, which differs from its base by `changes`.
arrow::Status JudgeUnnamedCommit(const LoadedTable& base, const TableMetadata& updated, const MetadataChanges& changes,
                                 const arrow::Result<LoadedTable>& now, const arrow::Status& failure);

/// Whether all snapshots that a commit added are there (false when it added none).
bool HasNewSnapshots(const MetadataChanges& changes, const TableMetadata& now);

}  // namespace icebound::iceberg
