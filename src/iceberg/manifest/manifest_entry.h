// SPDX-License-Identifier: Apache-2.0
//
// What a manifest holds: data files and delete files, and what each snapshot did to them.
//
// A struct is filled again and again by the reader, so its vectors and strings keep their room from entry to entry. Metrics are
// kept flat, as pairs of column id and value in the file's order.
#pragma once

#include <arrow/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iceberg/spec/literal.h"

namespace icebound::iceberg {

enum class EntryStatus : int8_t { kExisting = 0, kAdded = 1, kDeleted = 2 };

enum class FileContent : int8_t { kData = 0, kPositionDeletes = 1, kEqualityDeletes = 2 };

std::string_view ToString(EntryStatus status);
std::string_view ToString(FileContent content);

using ColumnCounts = std::vector<std::pair<int32_t, int64_t>>;
using ColumnBytes = std::vector<std::pair<int32_t, std::string>>;

/// The value of a column; null when there is none.
const int64_t* FindColumn(const ColumnCounts& counts, int32_t field_id);
const std::string* FindColumn(const ColumnBytes& bytes, int32_t field_id);

/// One file of a table. (The field ids of the specification stand beside.)
struct DataFile {
  FileContent content = FileContent::kData;         // 134
  std::string file_path;                            // 100: opened as it stands, never decoded
  std::string file_format;                          // 101: parquet, avro, orc, puffin in any case
  int32_t spec_id = 0;                              // 141: not stored; that of the manifest
  std::vector<Literal> partition;                   // 102: one value a field of the spec, in its order
  int64_t record_count = 0;                         // 103
  int64_t file_size_bytes = 0;                      // 104
  ColumnCounts column_sizes;                        // 108
  ColumnCounts value_counts;                        // 109: nulls and NaN included
  ColumnCounts null_value_counts;                   // 110
  ColumnCounts nan_value_counts;                    // 137
  ColumnBytes lower_bounds;                         // 125: see DecodeBound of single_value.h
  ColumnBytes upper_bounds;                         // 128
  std::optional<std::string> key_metadata;          // 131
  std::vector<int64_t> split_offsets;               // 132
  std::vector<int32_t> equality_ids;                // 135: of equality deletes
  std::optional<int32_t> sort_order_id;             // 140
  std::optional<int64_t> first_row_id;              // 142: v3
  std::optional<std::string> referenced_data_file;  // 143: the one file that all deletes are about
  std::optional<int64_t> content_offset;            // 144: of a deletion vector in its Puffin file
  std::optional<int64_t> content_size_bytes;        // 145

  /// A deletion vector: position deletes in a blob of a Puffin file.
  bool is_deletion_vector() const;

  /// Empties everything and keeps the room.
  void Clear();
};

struct ManifestEntry {
  EntryStatus status = EntryStatus::kAdded;     // 0
  std::optional<int64_t> snapshot_id;           // 1: that added the file or, when deleted, removed it
  std::optional<int64_t> sequence_number;       // 3: of the data: which deletes apply. Never null in a live entry that was read
  std::optional<int64_t> file_sequence_number;  // 4: of the commit that added the file
  DataFile file;                                // 2

  bool is_live() const { return status != EntryStatus::kDeleted; }
};

}  // namespace icebound::iceberg
