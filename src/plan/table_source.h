// SPDX-License-Identifier: Apache-2.0
//
// A table as the planner sees it. The plan only names the runtime's types: who scans (a Parquet file, a registered reader,
// later an Iceberg table) lives above.
#pragma once

#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/expr.h"

namespace icebound::runtime {
class ProbeFilter;
class StreamSource;
struct QueryContext;
}  // namespace icebound::runtime

namespace icebound::plan {

class LogicalPlan;
using PlanPtr = std::shared_ptr<const LogicalPlan>;

/// What a join above the scan will know of its keys when its other side is complete; `columns` are the keys, of the projection.
/// The scan may drop rows that the filter's test (runtime/probe_filter.h) rejects.
struct ScanProbeFilter {
  std::shared_ptr<const runtime::ProbeFilter> filter;
  std::vector<int> columns;
};

/// What the plan asks of a scan. The source may ignore filters and limit (they are hints: the plan keeps its own Filter and
/// Limit above when the source does not say that it applied them).
struct ScanRequest {
  std::vector<int> projection;                 ///< columns of TableSource::schema(), in the order wanted
  std::vector<expr::ExprPtr> filters;          ///< conjuncts over the projected columns
  std::optional<int64_t> limit;                ///< rows enough for the plan
  bool ordered = false;                        ///< keep the table's own order: one stream
  std::vector<ScanProbeFilter> probe_filters;  ///< the planner's
};

struct TableStatistics {
  std::optional<int64_t> rows;
  std::optional<int64_t> bytes;
};

/// What is known of a column without reading it. Good enough to choose between plans, not to answer queries: bounds and counts
/// may come from a part of the table.
struct ColumnStatistics {
  std::shared_ptr<arrow::Scalar> min;  ///< of the column's type; null when unknown
  std::shared_ptr<arrow::Scalar> max;
  std::optional<int64_t> null_count;
  std::optional<double> distinct_count;
  std::optional<double> value_bytes;  ///< of a value in memory, on average
};

/// Immutable once made; thread safe.
class TableSource {
 public:
  virtual ~TableSource() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual TableStatistics statistics() const { return {}; }
  /// One for each column of the schema, or none at all. May read a little of the table, so it is only asked for plans with joins.
  virtual arrow::Result<std::vector<ColumnStatistics>> column_statistics() const { return std::vector<ColumnStatistics>(); }
  /// One line for EXPLAIN: "parquet lineitem.parquet (1 file, 53 row groups)".
  virtual std::string Describe() const = 0;
  /// True when the scan drops every row a filter rejects, so that the plan needs no Filter above.
  virtual bool AppliesFiltersExactly() const { return false; }
  /// False for one-shot inputs (a registered reader): the plan must not scan it twice.
  virtual bool CanScanAgain() const { return true; }
  virtual arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const ScanRequest& request,
                                                                     runtime::QueryContext* context) const = 0;
};

/// generate_series(start, stop, step). All three are integers of one type, or start and stop are timestamps of one type and step
/// is an interval; any may be NULL.
struct SeriesBounds {
  std::shared_ptr<arrow::Scalar> start;
  std::shared_ptr<arrow::Scalar> stop;  ///< included
  std::shared_ptr<arrow::Scalar> step;
};

/// FROM iceberg('table', ...): which table, which version of it, and which of its tables.
struct IcebergReference {
  std::string table;                   ///< 'catalog.namespace.name', a table's directory, or a metadata file
  std::optional<int64_t> snapshot_id;  ///< at most one of these three
  std::optional<int64_t> as_of_us;     ///< the version that was current then: UTC microseconds since the epoch
  std::optional<std::string> ref;      ///< a branch or tag
  std::string metadata_table;          ///< "snapshots", "files", ...; empty: the rows

  bool names_version() const { return snapshot_id || as_of_us || ref; }
};

/// The part of a reference that an error is about.
enum class IcebergPart { kTable, kVersion, kMetadataTable };

/// What a name means: a table to scan, or the query that it stands for.
struct ResolvedTable {
  ResolvedTable(std::shared_ptr<TableSource> table) : source(std::move(table)) {}  // NOLINT(google-explicit-constructor)
  ResolvedTable(PlanPtr plan) : query(std::move(plan)) {}                          // NOLINT(google-explicit-constructor)
  ResolvedTable(PlanPtr plan, int hidden) : query(std::move(plan)), hidden_columns(hidden) {}

  std::shared_ptr<TableSource> source;  ///< or null:
  PlanPtr query;
  int hidden_columns = 0;  ///< so many last ones of the query's are found by their names, but not by *
};

/// How SQL names become tables; the session implements it. Errors have no position: the binder adds it.
class TableResolver {
 public:
  virtual ~TableResolver() = default;
  /// FROM a.b.c
  virtual arrow::Result<ResolvedTable> ResolveName(const std::vector<std::string>& parts) = 0;
  /// FROM iceberg('table', option => value, ...). `at_fault` is set on error.
  virtual arrow::Result<ResolvedTable> ResolveIceberg(const IcebergReference& reference, IcebergPart* at_fault);
  /// The bound query of the view a.b.c; null when there is none. Views are asked before tables.
  virtual PlanPtr ResolveView(const std::vector<std::string>& parts) { return nullptr; }
  /// FROM 'path, glob or directory'
  virtual arrow::Result<std::shared_ptr<TableSource>> ResolvePath(const std::string& path) = 0;
  /// FROM read_csv('path, glob or directory', option => value, ...)
  virtual arrow::Result<std::shared_ptr<TableSource>> ResolveCsv(const std::string& path,
                                                                 const std::vector<std::pair<std::string, std::string>>& options);
  /// FROM generate_series(start, stop, step): one column, never NULL.
  virtual arrow::Result<std::shared_ptr<TableSource>> ResolveSeries(const SeriesBounds& bounds);
  /// Known names, for "did you mean".
  virtual std::vector<std::string> TableNames() const = 0;
};

}  // namespace icebound::plan
