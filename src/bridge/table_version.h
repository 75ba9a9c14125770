// SPDX-License-Identifier: Apache-2.0
//
// Which version of a table a statement means.
//
//   nothing         the current snapshot, read with the current schema
//   snapshot_id     that snapshot, read with its own schema
//   as_of           the snapshot that was current then, as the table's history tells; its own schema
//   ref             a tag: its snapshot with its own schema. A branch: its newest snapshot, with the table's current schema, for
//                   a branch goes on being written to
#pragma once

#include <arrow/result.h>

#include "iceberg/spec/table_metadata.h"
#include "plan/table_source.h"

namespace icebound::bridge {

/// Points into the metadata.
struct TableVersion {
  const iceberg::Snapshot* snapshot = nullptr;  ///< null: a table that nothing was ever written to
  const iceberg::Schema* schema = nullptr;
};

/// kNotFound for a snapshot, a time or a ref that the table does not have.
arrow::Result<TableVersion> SelectVersion(const iceberg::TableMetadata& metadata, const plan::IcebergReference& reference);

}  // namespace icebound::bridge
