// SPDX-License-Identifier: Apache-2.0
//
// What is known of an Iceberg table without reading its rows: Session::DescribeTable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace icebound {

/// A column, at any depth: nested ones have their full name ("address.street").
struct TableColumn {
  int32_t field_id = 0;
  std::string name;
  std::string type;  ///< Iceberg's word
  bool required = false;
  std::string doc;
};

struct TablePartitionField {
  std::string name;
  std::string transform;  ///< "day", "bucket[16]"
  std::string column;
};

struct TableSortField {
  std::string column;
  std::string transform;
  bool descending = false;
  bool nulls_first = false;
};

struct TableSnapshot {
  int64_t snapshot_id = 0;
  int64_t committed_at_ms = 0;  ///< UTC milliseconds since the epoch
  std::string operation;
};

/// Files of one kind.
struct TableFiles {
  int64_t files = 0;
  int64_t rows = 0;
  int64_t bytes = 0;
};

/// Data files of [from_bytes, to_bytes); the last bucket has no end.
struct TableSizeBucket {
  int64_t from_bytes = 0;
  std::optional<int64_t> to_bytes;
  int64_t files = 0;
  int64_t bytes = 0;
};

/// Something that the table would be better for.
struct TableMaintenance {
  std::string action;  ///< the command: "compact", "resolve-deletes", ...
  std::string reason;
  int64_t count = 0;  ///< files, manifests or snapshots that it is about
  int64_t bytes = 0;  ///< of them; 0 for snapshots
};

/// A value.
struct TableDescription {
  std::string table;  ///< as it was named
  std::string uuid;
  std::string location;
  std::string metadata_location;
  int format_version = 0;
  int64_t last_sequence_number = 0;
  std::string read_only_reason;  ///< why nothing can be committed to it through this name; empty when it can

  int32_t schema_id = 0;
  std::vector<TableColumn> columns;
  int32_t spec_id = 0;
  std::vector<TablePartitionField> partition_fields;
  int32_t sort_order_id = 0;
  std::vector<TableSortField> sort_fields;
  std::map<std::string, std::string> properties;

  std::optional<TableSnapshot> current_snapshot;
  int64_t snapshots = 0;
  int64_t refs = 0;
  int64_t manifests = 0;  ///< of the current snapshot, as the files and deletes below are
  int64_t manifest_bytes = 0;

  TableFiles data_files;
  std::vector<TableSizeBucket> file_sizes;
  TableFiles position_delete_files;
  TableFiles equality_delete_files;
  TableFiles deletion_vectors;

  std::vector<TableMaintenance> maintenance;
};

}  // namespace icebound
