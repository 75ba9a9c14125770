// SPDX-License-Identifier: Apache-2.0
//
// A change of table metadata in the words of the REST protocol: what must still be true of the table (requirements), and what
// to do to it (updates), found by comparing the metadata before with the metadata after.
//
// Updates stand in an order in which each finds what it refers to:
//
//   uuid, format version, location, properties
//   new schemas, then the current one; new specs, then the default; new sort orders, then the default
//   new snapshots, new and moved references, removed references
//   statistics removed and set, then snapshots removed (which takes their statistics along), then specs and schemas removed
//
// The server numbers what is new by itself (the highest id + 1), so the newest is chosen as "the last one added", -1.
//
// Requirements: the uuid; the snapshot of main and of every reference that is set or removed (every one at all when snapshots,
// specs or schemas go, so that nothing goes that somebody came to use); the last column and partition field ids when ids are
// given out; the current schema, default spec and default sort order when they change. The protocol has none for properties and
// location: of two writers who set the same property at the same time, both succeed.
//
// What the server does by itself is not compared: sequence number, row ids, timestamps, the logs.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string>
#include <vector>

#include "iceberg/spec/table_metadata.h"

namespace icebound::iceberg {

struct MetadataChanges {
  std::string requirements_json;  ///< an array
  std::string updates_json;       ///< an array
  int64_t updates = 0;
  std::vector<int64_t> new_snapshot_ids;
};

/// `base` is null for a table that is created, whole, from `updated`. kUnsupported for a change that the protocol has no word
/// for, kInternal for one that is never allowed (another snapshot under an old id).
arrow::Result<MetadataChanges> CompareMetadata(const TableMetadata* base, const TableMetadata& updated);

}  // namespace icebound::iceberg
