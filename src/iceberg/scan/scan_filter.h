// SPDX-License-Identifier: Apache-2.0
//
// Which manifests, data files and deletes a filter leaves, by what manifests say of them.
//
//   manifest       ranges of partition values in the manifest list
//   file           its partition tuple, under the file's own spec
//   file           counts and bounds of its columns
//   equality       its partition; bounds of its keys: a row that the filter keeps can only be deleted by a key that it keeps
//     deletes
//   positions      their partition
//
// Each gives every column of the filter a range (partition_range.h turns partition values back into columns), and the filter is
// evaluated over ranges (expr/prune.h): what cannot be true for any row within is left out. What is not known is a range without
// ends, what is not understood may be true, so neither ever leaves out a file.
//
// A bucket has no range. There a comparison with a constant is given the bucket's number as a second one,
//
//     c = 5    becomes    c = 5 AND bucket(c) = 12            c IN (5, 6)    becomes    c IN (5, 6) AND bucket(c) IN (12, 3)
//
// which is the same for every row, null or not, wherever it stands in the filter.
//
// Bounds of metrics are believed where they are right whatever wrote them: not NaN, not those of UUIDs (writers order them
// differently) unless both ends are one, and as bounds only, never as values.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "expr/expr.h"
#include "expr/prune.h"
#include "iceberg/manifest/manifest_entry.h"
#include "iceberg/manifest/manifest_file.h"
#include "iceberg/spec/table_metadata.h"

namespace icebound::iceberg {

/// Immutable, thread safe. The table's metadata must outlive it.
class ScanFilter {
 public:
  /// `conjuncts` are over columns; `field_ids` says which field of `schema` each of them is (0 or less: none). Only columns at
  /// the top of the schema are pruned by.
  static arrow::Result<ScanFilter> Make(std::vector<expr::ExprPtr> conjuncts, std::vector<int32_t> field_ids,
                                        const Schema& schema, const TableMetadata& table);

  bool empty() const { return conjuncts_.empty(); }
  /// The fields whose metrics it looks at.
  const std::vector<int32_t>& metric_fields() const { return metric_fields_; }

  /// Of a manifest of data or of deletes. (Those of the unpartitioned have no ranges.)
  bool MayMatch(const ManifestFile& manifest) const;
  bool PartitionMayMatch(const DataFile& file) const;
  bool MetricsMayMatch(const DataFile& file) const;
  /// Every row of a data file with this partition satisfies the filter.
  bool IsAlwaysTrue(const DataFile& file) const;

  bool DataMayMatch(const DataFile& file) const { return PartitionMayMatch(file) && MetricsMayMatch(file); }
  bool DeletesMayMatch(const DataFile& file) const;

 private:
  struct PartitionColumn {
    size_t field = 0;  // place in the spec
    int column = 0;    // of the filter
    TypePtr column_type;
    TypePtr value_type;
    Transform transform;
  };
  /// The filter as it is seen by the files of one spec.
  struct SpecFilter {
    int32_t spec_id = 0;
    std::vector<PartitionColumn> columns;
    std::vector<expr::ExprPtr> conjuncts;  // those that a partition may decide
    std::vector<expr::ExprPtr> not_true;   // of every conjunct; empty when a partition does not decide them all
  };
  using Bounds = std::function<expr::ColumnBounds(int column)>;
  using RangeOfField = std::function<expr::ColumnBounds(const PartitionColumn& column)>;

  ScanFilter() = default;
  arrow::Status AddSpec(const PartitionSpec& spec, const TableMetadata& table);
  arrow::Result<expr::ExprPtr> WithBuckets(const expr::ExprPtr& conjunct, const std::vector<PartitionColumn>& columns) const;
  arrow::Result<expr::ExprPtr> BucketsOf(const expr::CallExpr& call, const PartitionColumn& column) const;
  const SpecFilter* FindSpec(int32_t spec_id) const;
  Bounds PartitionBounds(const SpecFilter& spec, RangeOfField range_of) const;
  Bounds TupleBounds(const SpecFilter& spec, const DataFile& file) const;
  expr::ColumnBounds MetricBounds(const DataFile& file, int column) const;

  std::vector<expr::ExprPtr> conjuncts_;
  std::vector<int32_t> field_ids_;
  std::vector<TypePtr> column_types_;  // null: not a primitive at the top
  std::vector<int32_t> metric_fields_;
  std::vector<SpecFilter> specs_;
};

}  // namespace icebound::iceberg
