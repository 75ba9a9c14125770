// SPDX-License-Identifier: Apache-2.0
//
// The logical plan as data: the binder makes it, optimizer rules rewrite it, the planner turns it into operators. Nodes are
// immutable and shared; a rule makes new ones. Expressions of a node refer to the columns of its child's schema
// (ColumnExpr::index).
#pragma once

#include <arrow/type.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/aggregate.h"
#include "expr/expr.h"
#include "expr/join_condition.h"
#include "plan/table_source.h"

namespace icebound::plan {

class LogicalPlan;
using PlanPtr = std::shared_ptr<const LogicalPlan>;

enum class PlanKind {
  kScan,
  kFilter,
  kProject,
  kSort,
  kLimit,
  kUnionAll,
  kValues,
  kAggregate,
  kJoin,
  kApply,
  kSetOperation,
  kCopy,
};

class LogicalPlan {
 public:
  virtual ~LogicalPlan() = default;
  PlanKind kind() const { return kind_; }
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  const std::vector<PlanPtr>& children() const { return children_; }
  const PlanPtr& child() const { return children_.front(); }
  /// One line, without the children: "Sort: l_shipdate ASC NULLS LAST, l_orderkey ASC NULLS LAST".
  virtual std::string Describe() const = 0;
  virtual PlanPtr WithChildren(std::vector<PlanPtr> children) const = 0;

 protected:
  LogicalPlan(PlanKind kind, std::shared_ptr<arrow::Schema> schema, std::vector<PlanPtr> children)
      : kind_(kind), schema_(std::move(schema)), children_(std::move(children)) {}

 private:
  const PlanKind kind_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::vector<PlanPtr> children_;
};

/// Reads a table. The schema is the projection's; filters (over the projected columns) drop rows early, and exactly when the
/// source says so.
class ScanNode final : public LogicalPlan {
 public:
  ScanNode(std::shared_ptr<TableSource> source, std::string table_name, ScanRequest request);
  const std::shared_ptr<TableSource>& source() const { return source_; }
  const std::string& table_name() const { return table_name_; }
  const ScanRequest& request() const { return request_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const std::shared_ptr<TableSource> source_;
  const std::string table_name_;
  const ScanRequest request_;
};

/// Keeps the rows for which the predicate is true.
class FilterNode final : public LogicalPlan {
 public:
  FilterNode(PlanPtr child, expr::ExprPtr predicate);
  const expr::ExprPtr& predicate() const { return predicate_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const expr::ExprPtr predicate_;
};

class ProjectNode final : public LogicalPlan {
 public:
  ProjectNode(PlanPtr child, std::vector<expr::ExprPtr> exprs, std::vector<std::string> names);
  const std::vector<expr::ExprPtr>& exprs() const { return exprs_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const std::vector<expr::ExprPtr> exprs_;
};

/// One ORDER BY item; the binder has put PostgreSQL's defaults in (ASC NULLS LAST, DESC NULLS FIRST).
struct SortKey {
  expr::ExprPtr expr;
  bool descending = false;
  bool nulls_first = false;
};

/// Sorts; with `fetch` only the first fetch rows are wanted (top-k).
class SortNode final : public LogicalPlan {
 public:
  SortNode(PlanPtr child, std::vector<SortKey> keys, std::optional<int64_t> fetch);
  const std::vector<SortKey>& keys() const { return keys_; }
  std::optional<int64_t> fetch() const { return fetch_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const std::vector<SortKey> keys_;
  const std::optional<int64_t> fetch_;
};

class LimitNode final : public LogicalPlan {
 public:
  LimitNode(PlanPtr child, std::optional<int64_t> limit, int64_t offset);
  std::optional<int64_t> limit() const { return limit_; }
  int64_t offset() const { return offset_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const std::optional<int64_t> limit_;
  const int64_t offset_;
};

/// All rows of all children, one child after another; the children already have the same column types.
class UnionAllNode final : public LogicalPlan {
 public:
  explicit UnionAllNode(std::vector<PlanPtr> children);
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;
};

/// Constant rows (VALUES, SELECT without FROM): every expression is constant and of its column's type.
class ValuesNode final : public LogicalPlan {
 public:
  ValuesNode(std::shared_ptr<arrow::Schema> schema, std::vector<std::vector<expr::ExprPtr>> rows);
  const std::vector<std::vector<expr::ExprPtr>>& rows() const { return rows_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const std::vector<std::vector<expr::ExprPtr>> rows_;
};

/// GROUP BY: one row for each distinct combination of the group expressions (NULLs are alike), with those first and then the
/// aggregates. Without groups exactly one row, also over no input. Without aggregates it is SELECT DISTINCT.
class AggregateNode final : public LogicalPlan {
 public:
  AggregateNode(PlanPtr child, std::vector<expr::ExprPtr> groups, std::vector<expr::AggregateCall> aggregates,
                std::vector<std::string> names);
  const std::vector<expr::ExprPtr>& groups() const { return groups_; }
  const std::vector<expr::AggregateCall>& aggregates() const { return aggregates_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const std::vector<expr::ExprPtr> groups_;
  const std::vector<expr::AggregateCall> aggregates_;
};

/// Joins its two children; expr/join_condition.h says which rows and columns come out. A mark column is the last one, called
/// "mark". The planner builds the hash table over the right child unless `build_left` says otherwise.
class JoinNode final : public LogicalPlan {
 public:
  JoinNode(PlanPtr left, PlanPtr right, expr::JoinType type, expr::JoinCondition condition, bool build_left = false);
  expr::JoinType type() const { return type_; }
  const expr::JoinCondition& condition() const { return condition_; }
  bool build_left() const { return build_left_; }
  const PlanPtr& left() const { return children()[0]; }
  const PlanPtr& right() const { return children()[1]; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const expr::JoinType type_;
  const expr::JoinCondition condition_;
  const bool build_left_;
};

/// A join whose right child is evaluated anew for each left row: it may hold OuterColumnExpr, whose level 1 is the left child's
/// columns. The binder makes it of subqueries in expressions (EXISTS: kLeftMark; IN: kLeftMarkNulls; scalar: kLeftSingle) and of
/// LATERAL (kInner, kLeft); decorrelation makes joins of it before anything else runs. In the condition, keys and residual are as
/// in a JoinNode.
class ApplyNode final : public LogicalPlan {
 public:
  ApplyNode(PlanPtr left, PlanPtr right, expr::JoinType type, expr::JoinCondition condition);
  expr::JoinType type() const { return type_; }
  const expr::JoinCondition& condition() const { return condition_; }
  const PlanPtr& left() const { return children()[0]; }
  const PlanPtr& right() const { return children()[1]; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const expr::JoinType type_;
  const expr::JoinCondition condition_;
};

enum class SetOperation { kIntersect, kIntersectAll, kExcept, kExceptAll };

/// INTERSECT and EXCEPT: rows are compared as whole, NULLs alike. Both children have the same column types; the names are the
/// left one's. (UNION is UnionAllNode below an AggregateNode.)
class SetOperationNode final : public LogicalPlan {
 public:
  SetOperationNode(PlanPtr left, PlanPtr right, SetOperation operation);
  SetOperation operation() const { return operation_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const SetOperation operation_;
};

/// The columns that a join of these inputs gives: the sides that can miss are nullable.
std::shared_ptr<arrow::Schema> JoinSchema(const arrow::Schema& left, const arrow::Schema& right, expr::JoinType type);

/// COPY (child) TO 'path' (options): gives one row, column `count` (bigint). Option names are lower case; the planner checks
/// them against the format.
class CopyNode final : public LogicalPlan {
 public:
  CopyNode(PlanPtr child, std::string path, std::map<std::string, std::string> options);
  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& options() const { return options_; }
  std::string Describe() const override;
  PlanPtr WithChildren(std::vector<PlanPtr> children) const override;

 private:
  const std::string path_;
  const std::map<std::string, std::string> options_;
};

/// The tree as indented text, one node a line.
std::string ExplainText(const LogicalPlan& plan);

}  // namespace icebound::plan
