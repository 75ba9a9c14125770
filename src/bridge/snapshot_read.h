// SPDX-License-Identifier: Apache-2.0
//
// What everything that reads one snapshot of a table has in common.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "iceberg/catalog/catalog.h"
#include "iceberg/scan/manifest_source.h"
#include "iceberg/spec/table_metadata.h"
#include "io/column_mapping.h"
#include "io/file_systems.h"
#include "memory/memory_ledger.h"

namespace icebound::bridge {

/// Columns that no file needs to have. The first are the format's own names and numbers ("Reserved Field IDs").
inline constexpr int32_t kFilePathColumn = 2147483646;
inline constexpr int32_t kRowPositionColumn = 2147483645;
inline constexpr int32_t kRowIdColumn = 2147483540;
inline constexpr int32_t kLastUpdatedColumn = 2147483539;
/// Of position delete files.
inline constexpr int32_t kDeletePathColumn = 2147483546;
inline constexpr int32_t kDeletePositionColumn = 2147483545;
/// Ours, never stored: of the data or of the deletes; and EncodePartitionScope of the file.
inline constexpr int32_t kSequenceColumn = -2;
inline constexpr int32_t kScopeColumn = -3;

/// Immutable, thread safe.
struct SnapshotRead {
  std::shared_ptr<const iceberg::TableMetadata> metadata;
  const iceberg::Snapshot* snapshot = nullptr;  ///< of the metadata; null: a table without rows
  const iceberg::Schema* schema = nullptr;      ///< of the metadata: what the snapshot is read with
  std::string name;                             ///< for people
  io::FileSystems* file_systems = nullptr;
  memory::MemoryLedger* ledger = nullptr;
  iceberg::FileOpener open;  ///< for manifests and Puffin files
  io::ScalarsById defaults;  ///< initial defaults of all fields of the schema, in plain types
  io::FieldIdByName names;   ///< the table's name mapping; empty: none

  // As the snapshot's summary or its manifest list says; they may say nothing.
  std::optional<int64_t> rows;
  std::optional<int64_t> bytes;
  std::optional<int64_t> data_files;
  std::optional<int64_t> delete_files;
};

/// `snapshot` and `schema` are of the table's metadata.
arrow::Result<std::shared_ptr<const SnapshotRead>> MakeSnapshotRead(const iceberg::LoadedTable& table,
                                                                    const iceberg::Snapshot* snapshot,
                                                                    const iceberg::Schema& schema, std::string name,
                                                                    io::FileSystems* file_systems, memory::MemoryLedger* ledger);

/// An Iceberg field as a column of the engine: plain types, with field ids at every depth. NULL is allowed, whatever the field
/// says: a file may break its word, and a NULL must not be taken for a value then.
std::shared_ptr<arrow::Field> PlainColumn(const iceberg::Field& field);

/// A nullable column with a field id.
std::shared_ptr<arrow::Field> ColumnWithId(std::string name, std::shared_ptr<arrow::DataType> type, int32_t id);

/// A value as the column of a plain type holds it.
arrow::Result<std::shared_ptr<arrow::Scalar>> PlainScalar(std::shared_ptr<arrow::Scalar> value,
                                                          const std::shared_ptr<arrow::DataType>& type);

/// Where a location as tables write it is, verbatim: nothing is decoded.
arrow::Result<io::Location> ResolveLocation(io::FileSystems* file_systems, const std::string& location);

}  // namespace icebound::bridge
