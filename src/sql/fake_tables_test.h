// SPDX-License-Identifier: Apache-2.0
//
// For the tests of this folder: tables that exist as schemas only.
#pragma once

#include <arrow/type.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "expr/type_rules.h"
#include "plan/logical_plan.h"
#include "plan/table_source.h"
#include "runtime/batch_stream.h"
#include "sql/statement.h"

namespace icebound::sql {

class FakeTable final : public plan::TableSource {
 public:
  FakeTable(std::shared_ptr<arrow::Schema> schema, bool can_scan_again)
      : schema_(std::move(schema)), can_scan_again_(can_scan_again) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::string Describe() const override { return "fake"; }
  bool CanScanAgain() const override { return can_scan_again_; }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest&, runtime::QueryContext*) const override {
    return MakeError(ErrorKind::kInternal, "a fake table has no rows");
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const bool can_scan_again_;
};

/// Knows tables by their dotted name and by path. Not thread safe.
class FakeTables final : public plan::TableResolver {
 public:
  void Add(const std::string& name, arrow::FieldVector fields, bool can_scan_again = true) {
    tables_[name] = std::make_shared<FakeTable>(arrow::schema(std::move(fields)), can_scan_again);
  }
  void AddPath(const std::string& path, arrow::FieldVector fields) {
    paths_[path] = std::make_shared<FakeTable>(arrow::schema(std::move(fields)), true);
  }

  arrow::Result<plan::ResolvedTable> ResolveName(const std::vector<std::string>& parts) override {
    std::string name;
    for (const std::string& part : parts) name += (name.empty() ? "" : ".") + part;
    const auto found = tables_.find(name);
    if (found == tables_.end()) return MakeError(ErrorKind::kNotFound, "table \"{}\" does not exist", name);
    return found->second;
  }
  arrow::Result<std::shared_ptr<plan::TableSource>> ResolvePath(const std::string& path) override {
    const auto found = paths_.find(path);
    if (found == paths_.end()) return MakeError(ErrorKind::kNotFound, "no file matches '{}'", path);
    return found->second;
  }
  arrow::Result<std::shared_ptr<plan::TableSource>> ResolveCsv(
      const std::string& path, const std::vector<std::pair<std::string, std::string>>& options) override {
    last_csv = path;
    for (const auto& [name, value] : options) last_csv += "; " + name + "=" + value;
    return ResolvePath(path);
  }
  arrow::Result<plan::ResolvedTable> ResolveIceberg(const plan::IcebergReference& reference,
                                                    plan::IcebergPart* at_fault) override {
    last_iceberg = reference;
    *at_fault = iceberg_fault;
    if (iceberg_fault != plan::IcebergPart::kTable) return MakeError(ErrorKind::kNotFound, "no such thing");
    return ResolveName({reference.table});
  }
  plan::PlanPtr ResolveView(const std::vector<std::string>& parts) override {
    const auto found = views.find(parts.back());
    return parts.size() == 1 && found != views.end() ? found->second : nullptr;
  }
  arrow::Result<std::shared_ptr<plan::TableSource>> ResolveSeries(const plan::SeriesBounds& bounds) override {
    last_series = bounds;
    return std::make_shared<FakeTable>(arrow::schema({arrow::field("generate_series", bounds.start->type, false)}), true);
  }
  std::vector<std::string> TableNames() const override {
    std::vector<std::string> names;
    for (const auto& entry : tables_) names.push_back(entry.first);
    return names;
  }

  std::map<std::string, plan::PlanPtr> views;
  plan::SeriesBounds last_series;
  std::string last_csv;
  plan::IcebergReference last_iceberg;
  plan::IcebergPart iceberg_fault = plan::IcebergPart::kTable;

 private:
  std::map<std::string, std::shared_ptr<plan::TableSource>> tables_;
  std::map<std::string, std::shared_ptr<plan::TableSource>> paths_;
};

/// t(a int, b bigint, s text, d date, f double, ok boolean, n numeric(15,2), ts timestamp, p struct(x int, y text)), u("Mixed"
/// int, "CASE" text), ns.v(a int), c.n.m.w.files(a int), l(k int not null, v bigint, s text), r(k bigint not null, v int,
/// w text), stream(a int) that can be read once, 'dir/lineitem.parquet' and 'dir/*.parquet' (l_orderkey bigint, l_shipdate date,
/// l_comment text).
inline FakeTables TestTables() {
  FakeTables tables;
  using arrow::field;
  tables.Add("t", {field("a", arrow::int32()), field("b", arrow::int64()), field("s", arrow::utf8()), field("d", arrow::date32()),
                   field("f", arrow::float64()), field("ok", arrow::boolean()), field("n", arrow::decimal128(15, 2)),
                   field("ts", arrow::timestamp(arrow::TimeUnit::MICRO)),
                   field("p", arrow::struct_({field("x", arrow::int32()), field("y", arrow::utf8())}))});
  tables.Add("u", {field("Mixed", arrow::int32()), field("CASE", arrow::utf8())});
  tables.Add("ns.v", {field("a", arrow::int32())});
  tables.Add("c.n.m.w.files", {field("a", arrow::int32())});
  tables.Add("l", {field("k", arrow::int32(), /*nullable=*/false), field("v", arrow::int64()), field("s", arrow::utf8())});
  tables.Add("r", {field("k", arrow::int64(), /*nullable=*/false), field("v", arrow::int32()), field("w", arrow::utf8())});
  tables.Add("stream", {field("a", arrow::int32())}, /*can_scan_again=*/false);
  for (const char* path : {"dir/lineitem.parquet", "dir/*.parquet"}) {
    tables.AddPath(
        path, {field("l_orderkey", arrow::int64()), field("l_shipdate", arrow::date32()), field("l_comment", arrow::utf8())});
  }
  return tables;
}

inline arrow::Result<BoundStatement> BindText(std::string_view text) {
  FakeTables tables = TestTables();
  BindOptions options;
  options.pool = arrow::default_memory_pool();
  return BindStatement(text, tables, options);
}

/// The plan's text, or "<kind>: <message>".
inline std::string PlanOrError(std::string_view text) {
  const auto bound = BindText(text);
  if (bound.ok()) return plan::ExplainText(*bound->plan);
  const auto kind = GetErrorKind(bound.status());
  return std::string(kind ? ToString(*kind) : "no kind") + ": " + bound.status().message();
}

/// The output columns: "a integer, b text", or the error.
inline std::string ColumnsOrError(std::string_view text) {
  const auto bound = BindText(text);
  if (!bound.ok()) return PlanOrError(text);
  std::string columns;
  for (const auto& field : bound->plan->schema()->fields()) {
    columns += (columns.empty() ? "" : ", ") + field->name() + " " + expr::SqlTypeName(*field->type());
  }
  return columns;
}

}  // namespace icebound::sql
