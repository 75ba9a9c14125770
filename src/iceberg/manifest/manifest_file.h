// SPDX-License-Identifier: Apache-2.0
//
// A manifest as the manifest list knows it: what lets a plan skip the manifest, and what its entries inherit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/spec/literal.h"

namespace icebound::iceberg {

enum class ManifestContent : int8_t { kData = 0, kDeletes = 1 };

/// What the partition values of one field look like in a whole manifest.
struct FieldSummary {
  bool contains_null = true;         // 509
  std::optional<bool> contains_nan;  // 518
  std::optional<std::string> lower;  // 510: see DecodeBound of single_value.h, with the type of the partition field
  std::optional<std::string> upper;  // 511
};

/// A value. (The field ids of the specification stand beside.)
struct ManifestFile {
  /// Of a manifest that no list describes (v1): whatever its own header says.
  static constexpr int32_t kSpecOfHeader = -1;

  std::string path;                                  // 500
  int64_t length_bytes = 0;                          // 501
  int32_t spec_id = kSpecOfHeader;                   // 502
  ManifestContent content = ManifestContent::kData;  // 517
  int64_t sequence_number = 0;                       // 515: 0 in v1
  int64_t min_sequence_number = 0;                   // 516
  int64_t added_snapshot_id = 0;                     // 503
  std::optional<int32_t> added_files;                // 504; a count that is absent may be any
  std::optional<int32_t> existing_files;             // 505
  std::optional<int32_t> deleted_files;              // 506
  std::optional<int64_t> added_rows;                 // 512
  std::optional<int64_t> existing_rows;              // 513
  std::optional<int64_t> deleted_rows;               // 514
  std::vector<FieldSummary> partitions;              // 507: one a field of the spec; none when not known
  std::optional<std::string> key_metadata;           // 519
  std::optional<int64_t> first_row_id;               // 520: v3, data manifests

  /// False only when no entry can be live.
  bool may_have_live_files() const { return added_files.value_or(1) != 0 || existing_files.value_or(1) != 0; }
};

}  // namespace icebound::iceberg
