// SPDX-License-Identifier: Apache-2.0
//
// Table metadata: the JSON document that a table is, format versions 1 to 3, read and written.
//
// Parse(text) goes through the document once with CheckJson, then takes it apart a member at a time (json_text.h); it never
// builds a tree, and what is held afterwards is about the text again: parsed schemas, specs and orders, and snapshots whose
// summaries stay text. HeldBytesMax says how much at most; the caller reserves it before parsing, beside the text itself.
//
// Reading follows what the reference implementation accepts:
//   - v1 files may lack schemas (then `schema` is the one), partition specs (`partition-spec`), sort orders, last-partition-id
//   - the current snapshot id may be -1 for none
//   - the main branch is the current snapshot where refs do not say so
// A format version above 3 is ErrorKind::kUnsupported and names the file. Members that are not known, at every level, are kept
// and written again. Writing v1 adds the old members that v1 readers need.
//
// Field ids, spec ids and order ids are only ever looked up, never positions.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/spec/partition_spec.h"
#include "iceberg/spec/schema.h"
#include "iceberg/spec/snapshot.h"
#include "iceberg/spec/sort_order.h"

namespace icebound::iceberg {

constexpr int kMaxFormatVersion = 3;

/// A value; changes are made on a copy. Reading it from several threads is safe.
struct TableMetadata {
  int format_version = 2;
  std::string table_uuid;  ///< empty in old v1 files
  std::string location;
  int64_t last_sequence_number = 0;
  int64_t last_updated_ms = 0;
  int32_t last_column_id = 0;
  std::vector<std::shared_ptr<const Schema>> schemas;
  int32_t current_schema_id = 0;
  std::vector<PartitionSpec> partition_specs;
  int32_t default_spec_id = 0;
  int32_t last_partition_id = kFirstPartitionFieldId - 1;
  StringPairs properties;
  std::optional<int64_t> current_snapshot_id;
  std::vector<Snapshot> snapshots;
  std::vector<SnapshotLogEntry> snapshot_log;
  std::vector<MetadataLogEntry> metadata_log;
  std::vector<SortOrder> sort_orders;
  int32_t default_sort_order_id = kUnsortedOrderId;
  std::vector<SnapshotRef> refs;
  std::vector<StatisticsFile> statistics;
  std::vector<PartitionStatisticsFile> partition_statistics;
  int64_t next_row_id = 0;      ///< v3
  std::string encryption_keys;  ///< v3: JSON text, or empty
  std::string unknown_members;

  /// `file_name` is for messages.
  static arrow::Result<TableMetadata> Parse(std::string_view json, std::string_view file_name);

  /// Bytes of heap that Parse takes at most, its result included; `json` itself not. Takes none.
  static int64_t HeldBytesMax(std::string_view json);

  std::string ToJson() const;

  /// Null when there is none.
  const Schema* FindSchema(int32_t schema_id) const;
  const PartitionSpec* FindSpec(int32_t spec_id) const;
  const SortOrder* FindSortOrder(int32_t order_id) const;
  const Snapshot* FindSnapshot(int64_t snapshot_id) const;
  const SnapshotRef* FindRef(std::string_view name) const;
  const std::string* FindProperty(std::string_view name) const { return FindValue(properties, name); }

  /// Parse and whoever changes metadata see to it that these exist.
  const Schema& current_schema() const { return *FindSchema(current_schema_id); }
  const PartitionSpec& default_spec() const { return *FindSpec(default_spec_id); }
  const SortOrder& default_sort_order() const { return *FindSortOrder(default_sort_order_id); }
  const Snapshot* current_snapshot() const { return current_snapshot_id ? FindSnapshot(*current_snapshot_id) : nullptr; }

  /// The schema that a snapshot is read with: its own when it names one that is still there, else the current one.
  const Schema& SchemaOf(const Snapshot& snapshot) const;

  /// A field by id in the current schema or, where it was dropped, in the schemas before it, the newest first: delete files and
  /// partition specs may still be about it. Null when no schema has it.
  const Field* FindFieldInHistory(int32_t field_id) const;

  /// The tuples of a spec, with sources found in any schema the table had.
  TypePtr TupleType(const PartitionSpec& spec) const;

  /// The snapshot that was current at a time, by the log; kNotFound when the log does not go back so far.
  arrow::Result<const Snapshot*> SnapshotAsOf(int64_t timestamp_ms) const;
};

}  // namespace icebound::iceberg
