// SPDX-License-Identifier: Apache-2.0
#include "plan/logical_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/error.h"

namespace icebound::plan {
namespace {

constexpr size_t kRowsShown = 3;  // of VALUES in EXPLAIN

std::shared_ptr<arrow::Schema> ScanSchema(const TableSource& source, const ScanRequest& request) {
  arrow::FieldVector fields;
  fields.reserve(request.projection.size());
  for (int column : request.projection) fields.push_back(source.schema()->field(column));
  return arrow::schema(std::move(fields), source.schema()->metadata());
}

/// A column that passes through keeps its nullability and its metadata (field ids); a computed one may be null.
std::shared_ptr<arrow::Field> ProjectedField(const LogicalPlan& child, const expr::Expr& expr, const std::string& name) {
  if (expr.kind() == expr::ExprKind::kColumn) {
    const auto& column = static_cast<const expr::ColumnExpr&>(expr);
    return child.schema()->field(column.index())->WithName(name)->WithType(column.type());
  }
  return arrow::field(name, expr.type());
}

/// What a schema says of itself stays true while every column passes through.
std::shared_ptr<arrow::Schema> ProjectSchema(const LogicalPlan& child, const std::vector<expr::ExprPtr>& exprs,
                                             const std::vector<std::string>& names) {
  arrow::FieldVector fields;
  fields.reserve(exprs.size());
  for (size_t i = 0; i < exprs.size(); ++i) fields.push_back(ProjectedField(child, *exprs[i], names[i]));
  const auto is_column = [](const expr::ExprPtr& expr) { return expr->kind() == expr::ExprKind::kColumn; };
  const bool only_columns = std::all_of(exprs.begin(), exprs.end(), is_column);
  return arrow::schema(std::move(fields), only_columns ? child.schema()->metadata() : nullptr);
}

/// Names are those of the first child, as in PostgreSQL; a column may be null when it may be null in any child.
std::shared_ptr<arrow::Schema> UnionSchema(const std::vector<PlanPtr>& children) {
  arrow::FieldVector fields;
  const arrow::Schema& first = *children.front()->schema();
  for (int i = 0; i < first.num_fields(); ++i) {
    bool nullable = false;
    for (const PlanPtr& child : children) nullable = nullable || child->schema()->field(i)->nullable();
    fields.push_back(arrow::field(first.field(i)->name(), first.field(i)->type(), nullable));
  }
  return arrow::schema(std::move(fields));
}

std::shared_ptr<arrow::Schema> AggregateSchema(const LogicalPlan& child, const std::vector<expr::ExprPtr>& groups,
                                               const std::vector<expr::AggregateCall>& aggregates,
                                               const std::vector<std::string>& names) {
  arrow::FieldVector fields = ProjectSchema(child, groups, names)->fields();
  for (const expr::AggregateCall& call : aggregates) {
    const bool counts = call.kind == expr::AggregateKind::kCountStar || call.kind == expr::AggregateKind::kCount;
    fields.push_back(arrow::field(names[fields.size()], call.type, /*nullable=*/!counts));
  }
  return arrow::schema(std::move(fields));
}

std::string DescribeCondition(std::string_view what, const expr::JoinCondition& condition) {
  std::vector<std::string> keys;
  for (const expr::JoinKey& key : condition.keys) {
    keys.push_back(
        fmt::format("{} {} {}", key.left->ToString(), key.null_safe ? "IS NOT DISTINCT FROM" : "=", key.right->ToString()));
  }
  std::string text(what);
  if (!keys.empty() || condition.residual != nullptr) text += ":";
  if (!keys.empty()) text += fmt::format(" on [{}]", fmt::join(keys, ", "));
  if (condition.residual != nullptr) text += fmt::format(" where {}", condition.residual->ToString());
  return text;
}

void AppendExplain(const LogicalPlan& plan, int depth, std::string* text) {
  text->append(static_cast<size_t>(depth) * 2, ' ');
  text->append(plan.Describe());
  text->push_back('\n');
  for (const PlanPtr& child : plan.children()) AppendExplain(*child, depth + 1, text);
}

std::vector<std::string> ToStrings(const std::vector<expr::ExprPtr>& exprs) {
  std::vector<std::string> texts;
  texts.reserve(exprs.size());
  for (const expr::ExprPtr& expr : exprs) texts.push_back(expr->ToString());
  return texts;
}

}  // namespace

arrow::Result<std::shared_ptr<TableSource>> TableResolver::ResolveCsv(const std::string&,
                                                                      const std::vector<std::pair<std::string, std::string>>&) {
  return MakeError(ErrorKind::kUnsupported, "not supported yet: the table function read_csv");
}

arrow::Result<ResolvedTable> TableResolver::ResolveIceberg(const IcebergReference&, IcebergPart*) {
  return MakeError(ErrorKind::kUnsupported, "Iceberg tables are not supported here");
}

arrow::Result<std::shared_ptr<TableSource>> TableResolver::ResolveSeries(const SeriesBounds&) {
  return MakeError(ErrorKind::kUnsupported, "not supported yet: the table function generate_series");
}

ScanNode::ScanNode(std::shared_ptr<TableSource> source, std::string table_name, ScanRequest request)
    : LogicalPlan(PlanKind::kScan, ScanSchema(*source, request), {}),
      source_(std::move(source)),
      table_name_(std::move(table_name)),
      request_(std::move(request)) {}

std::string ScanNode::Describe() const {
  std::string text = fmt::format("Scan: {} columns=[{}]", table_name_, fmt::join(schema()->field_names(), ", "));
  if (!request_.filters.empty()) text += fmt::format(" filters=[{}]", fmt::join(ToStrings(request_.filters), ", "));
  if (request_.limit) text += fmt::format(" limit={}", *request_.limit);
  if (request_.ordered) text += " ordered";
  return text;
}

PlanPtr ScanNode::WithChildren(std::vector<PlanPtr>) const { return std::make_shared<ScanNode>(source_, table_name_, request_); }

FilterNode::FilterNode(PlanPtr child, expr::ExprPtr predicate)
    : LogicalPlan(PlanKind::kFilter, child->schema(), {child}), predicate_(std::move(predicate)) {}

std::string FilterNode::Describe() const { return "Filter: " + predicate_->ToString(); }

PlanPtr FilterNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<FilterNode>(std::move(children.front()), predicate_);
}

ProjectNode::ProjectNode(PlanPtr child, std::vector<expr::ExprPtr> exprs, std::vector<std::string> names)
    : LogicalPlan(PlanKind::kProject, ProjectSchema(*child, exprs, names), {child}), exprs_(std::move(exprs)) {}

std::string ProjectNode::Describe() const {
  std::vector<std::string> items;
  for (size_t i = 0; i < exprs_.size(); ++i) {
    const std::string& name = schema()->field(static_cast<int>(i))->name();
    std::string text = exprs_[i]->ToString();
    items.push_back(text == name ? std::move(text) : fmt::format("{} AS {}", text, name));
  }
  return fmt::format("Project: {}", fmt::join(items, ", "));
}

PlanPtr ProjectNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<ProjectNode>(std::move(children.front()), exprs_, schema()->field_names());
}

SortNode::SortNode(PlanPtr child, std::vector<SortKey> keys, std::optional<int64_t> fetch)
    : LogicalPlan(PlanKind::kSort, child->schema(), {child}), keys_(std::move(keys)), fetch_(fetch) {}

std::string SortNode::Describe() const {
  std::vector<std::string> items;
  for (const SortKey& key : keys_) {
    items.push_back(
        fmt::format("{} {} NULLS {}", key.expr->ToString(), key.descending ? "DESC" : "ASC", key.nulls_first ? "FIRST" : "LAST"));
  }
  std::string text = fmt::format("Sort: {}", fmt::join(items, ", "));
  if (fetch_) text += fmt::format(" fetch={}", *fetch_);
  return text;
}

PlanPtr SortNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<SortNode>(std::move(children.front()), keys_, fetch_);
}

LimitNode::LimitNode(PlanPtr child, std::optional<int64_t> limit, int64_t offset)
    : LogicalPlan(PlanKind::kLimit, child->schema(), {child}), limit_(limit), offset_(offset) {}

std::string LimitNode::Describe() const {
  std::string text = limit_ ? fmt::format("Limit: {}", *limit_) : "Limit: all";
  if (offset_ > 0) text += fmt::format(" offset={}", offset_);
  return text;
}

PlanPtr LimitNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<LimitNode>(std::move(children.front()), limit_, offset_);
}

UnionAllNode::UnionAllNode(std::vector<PlanPtr> children) : LogicalPlan(PlanKind::kUnionAll, UnionSchema(children), children) {}

std::string UnionAllNode::Describe() const { return "UnionAll"; }

PlanPtr UnionAllNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<UnionAllNode>(std::move(children));
}

ValuesNode::ValuesNode(std::shared_ptr<arrow::Schema> schema, std::vector<std::vector<expr::ExprPtr>> rows)
    : LogicalPlan(PlanKind::kValues, std::move(schema), {}), rows_(std::move(rows)) {}

std::string ValuesNode::Describe() const {
  std::string text = fmt::format("Values: {} row{}", rows_.size(), rows_.size() == 1 ? "" : "s");
  if (schema()->num_fields() == 0) return text;
  for (size_t i = 0; i < rows_.size() && i < kRowsShown; ++i) {
    text += fmt::format("{} ({})", i == 0 ? ":" : ",", fmt::join(ToStrings(rows_[i]), ", "));
  }
  return rows_.size() > kRowsShown ? text + ", ..." : text;
}

PlanPtr ValuesNode::WithChildren(std::vector<PlanPtr>) const { return std::make_shared<ValuesNode>(schema(), rows_); }

AggregateNode::AggregateNode(PlanPtr child, std::vector<expr::ExprPtr> groups, std::vector<expr::AggregateCall> aggregates,
                             std::vector<std::string> names)
    : LogicalPlan(PlanKind::kAggregate, AggregateSchema(*child, groups, aggregates, names), {child}),
      groups_(std::move(groups)),
      aggregates_(std::move(aggregates)) {}

std::string AggregateNode::Describe() const {
  std::string text = "Aggregate:";
  if (!groups_.empty()) text += fmt::format(" groups=[{}]", fmt::join(ToStrings(groups_), ", "));
  std::vector<std::string> calls;
  for (const expr::AggregateCall& call : aggregates_) calls.push_back(call.ToString());
  if (!calls.empty()) text += fmt::format(" aggregates=[{}]", fmt::join(calls, ", "));
  return text;
}

PlanPtr AggregateNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<AggregateNode>(std::move(children.front()), groups_, aggregates_, schema()->field_names());
}

JoinNode::JoinNode(PlanPtr left, PlanPtr right, expr::JoinType type, expr::JoinCondition condition, bool build_left)
    : LogicalPlan(PlanKind::kJoin, JoinSchema(*left->schema(), *right->schema(), type), {left, right}),
      type_(type),
      condition_(std::move(condition)),
      build_left_(build_left) {}

std::string JoinNode::Describe() const {
  return fmt::format("{}{}{}", expr::JoinTypeName(type_), DescribeCondition("Join", condition_),
                     build_left_ ? " build=left" : "");
}

PlanPtr JoinNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<JoinNode>(std::move(children[0]), std::move(children[1]), type_, condition_, build_left_);
}

ApplyNode::ApplyNode(PlanPtr left, PlanPtr right, expr::JoinType type, expr::JoinCondition condition)
    : LogicalPlan(PlanKind::kApply, JoinSchema(*left->schema(), *right->schema(), type), {left, right}),
      type_(type),
      condition_(std::move(condition)) {}

std::string ApplyNode::Describe() const {
  return fmt::format("{}{}", expr::JoinTypeName(type_), DescribeCondition("Apply", condition_));
}

PlanPtr ApplyNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<ApplyNode>(std::move(children[0]), std::move(children[1]), type_, condition_);
}

SetOperationNode::SetOperationNode(PlanPtr left, PlanPtr right, SetOperation operation)
    : LogicalPlan(PlanKind::kSetOperation, UnionSchema({left, right}), {left, right}), operation_(operation) {}

std::string SetOperationNode::Describe() const {
  switch (operation_) {
    case SetOperation::kIntersect:
      return "Intersect";
    case SetOperation::kIntersectAll:
      return "IntersectAll";
    case SetOperation::kExcept:
      return "Except";
    case SetOperation::kExceptAll:
      return "ExceptAll";
  }
  return "?";
}

PlanPtr SetOperationNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<SetOperationNode>(std::move(children[0]), std::move(children[1]), operation_);
}

std::shared_ptr<arrow::Schema> JoinSchema(const arrow::Schema& left, const arrow::Schema& right, expr::JoinType type) {
  using expr::JoinType;
  const bool left_may_miss = type == JoinType::kRight || type == JoinType::kFull;
  const bool right_may_miss = type == JoinType::kLeft || type == JoinType::kFull || type == JoinType::kLeftSingle;
  arrow::FieldVector fields;
  for (const auto& field : left.fields()) fields.push_back(left_may_miss ? field->WithNullable(true) : field);
  if (expr::HasRightColumns(type)) {
    for (const auto& field : right.fields()) fields.push_back(right_may_miss ? field->WithNullable(true) : field);
  }
  if (type == JoinType::kLeftMark || type == JoinType::kLeftMarkNulls) {
    fields.push_back(arrow::field("mark", arrow::boolean(), type == JoinType::kLeftMarkNulls));
  }
  return arrow::schema(std::move(fields));
}

CopyNode::CopyNode(PlanPtr child, std::string path, std::map<std::string, std::string> options)
    : LogicalPlan(PlanKind::kCopy, arrow::schema({arrow::field("count", arrow::int64(), /*nullable=*/false)}),
                  {std::move(child)}),
      path_(std::move(path)),
      options_(std::move(options)) {}

std::string CopyNode::Describe() const {
  std::vector<std::string> items;
  for (const auto& [name, value] : options_) items.push_back(fmt::format("{} {}", name, value));
  return fmt::format("Copy: to '{}'{}", path_, items.empty() ? "" : fmt::format(" ({})", fmt::join(items, ", ")));
}

PlanPtr CopyNode::WithChildren(std::vector<PlanPtr> children) const {
  return std::make_shared<CopyNode>(std::move(children.front()), path_, options_);
}

std::string ExplainText(const LogicalPlan& plan) {
  std::string text;
  AppendExplain(plan, 0, &text);
  return text;
}

}  // namespace icebound::plan
