// SPDX-License-Identifier: Apache-2.0
//
// For the tests of this folder: runs a bound plan, a row at a time and nothing but loops, so that what a statement means can be
// held against what it should. Knows VALUES, Filter, Project, Join, Apply and simple aggregates.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "expr/evaluate.h"
#include "sql/fake_tables_test.h"

namespace icebound::sql {

class NaivePlan {
 public:
  using Row = std::vector<std::shared_ptr<arrow::Scalar>>;
  using Rows = std::vector<Row>;

  /// The rows of a statement, each as "1,null,x", sorted; or the error's first line.
  static std::string Run(std::string_view text) {
    const auto bound = BindText(text);
    if (!bound.ok()) return bound.status().message();
    const auto rows = NaivePlan().RowsOf(*bound->plan);
    if (!rows.ok()) return rows.status().message();
    std::vector<std::string> lines;
    for (const Row& row : *rows) {
      std::string line;
      for (const auto& value : row) line += (line.empty() ? "" : ",") + value->ToString();
      lines.push_back(std::move(line));
    }
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const std::string& line : lines) all += (all.empty() ? "" : " ") + line;
    return all;
  }

 private:
  using Scalar = std::shared_ptr<arrow::Scalar>;

  arrow::Result<Rows> RowsOf(const plan::LogicalPlan& plan) {
    using enum plan::PlanKind;
    switch (plan.kind()) {
      case kValues:
        return Computed(static_cast<const plan::ValuesNode&>(plan).rows());
      case kProject:
        return Project(static_cast<const plan::ProjectNode&>(plan));
      case kFilter:
        return Filter(static_cast<const plan::FilterNode&>(plan));
      case kSort:
        return RowsOf(*plan.child());
      case kAggregate:
        return Aggregate(static_cast<const plan::AggregateNode&>(plan));
      case kJoin: {
        const auto& join = static_cast<const plan::JoinNode&>(plan);
        return Join(join, join.type(), join.condition(), /*apply=*/false);
      }
      case kApply: {
        const auto& apply = static_cast<const plan::ApplyNode&>(plan);
        return Join(apply, apply.type(), apply.condition(), /*apply=*/true);
      }
      default:
        return MakeError(ErrorKind::kInternal, "the naive plan has no {}", plan.Describe());
    }
  }

  arrow::Result<Scalar> Value(const expr::ExprPtr& expr, const Row& row) {
    ARROW_ASSIGN_OR_RAISE(
        const auto constant, expr::Transform(expr, [&](const expr::ExprPtr& node) -> arrow::Result<expr::ExprPtr> {
          if (node->kind() == expr::ExprKind::kColumn) {
            return expr::MakeLiteral(row.at(static_cast<size_t>(static_cast<const expr::ColumnExpr&>(*node).index())));
          }
          if (node->kind() != expr::ExprKind::kOuterColumn) return node;
          const auto& outer = static_cast<const expr::OuterColumnExpr&>(*node);
          const Row& around = *outer_.at(outer_.size() - static_cast<size_t>(outer.levels_up()));
          return expr::MakeLiteral(around.at(static_cast<size_t>(outer.index())));
        }));
    return expr::EvaluateConstant(*constant, {arrow::default_memory_pool()});
  }

  static bool IsTrue(const Scalar& value) { return value->is_valid && static_cast<const arrow::BooleanScalar&>(*value).value; }

  arrow::Result<Row> RowOf(const std::vector<expr::ExprPtr>& exprs, const Row& row) {
    Row values;
    for (const auto& expr : exprs) {
      ARROW_ASSIGN_OR_RAISE(values.emplace_back(), Value(expr, row));
    }
    return values;
  }

  arrow::Result<Rows> Computed(const std::vector<std::vector<expr::ExprPtr>>& exprs) {
    Rows rows;
    for (const auto& row : exprs) {
      ARROW_ASSIGN_OR_RAISE(rows.emplace_back(), RowOf(row, {}));
    }
    return rows;
  }

  arrow::Result<Rows> Project(const plan::ProjectNode& project) {
    ARROW_ASSIGN_OR_RAISE(Rows rows, RowsOf(*project.child()));
    for (Row& row : rows) {
      ARROW_ASSIGN_OR_RAISE(row, RowOf(project.exprs(), row));
    }
    return rows;
  }

  arrow::Result<Rows> Filter(const plan::FilterNode& filter) {
    ARROW_ASSIGN_OR_RAISE(const Rows rows, RowsOf(*filter.child()));
    Rows kept;
    for (const Row& row : rows) {
      ARROW_ASSIGN_OR_RAISE(const Scalar value, Value(filter.predicate(), row));
      if (IsTrue(value)) kept.push_back(row);
    }
    return kept;
  }

  /// count(*) and max of integers only.
  arrow::Result<Rows> Aggregate(const plan::AggregateNode& node) {
    ARROW_ASSIGN_OR_RAISE(const Rows rows, RowsOf(*node.child()));
    std::map<std::string, std::vector<Row>> groups;
    std::map<std::string, Row> keys;
    if (node.groups().empty()) groups[""] = {};
    for (const Row& row : rows) {
      ARROW_ASSIGN_OR_RAISE(const Row key, RowOf(node.groups(), row));
      std::string text;
      for (const Scalar& value : key) text += value->ToString() + "|";
      groups[text].push_back(row);
      keys[text] = key;
    }
    Rows result;
    for (const auto& [text, members] : groups) {
      Row row = keys[text];
      for (const expr::AggregateCall& call : node.aggregates()) {
        if (call.kind == expr::AggregateKind::kCountStar) {
          row.push_back(std::make_shared<arrow::Int64Scalar>(static_cast<int64_t>(members.size())));
          continue;
        }
        EXPECT_EQ(call.kind, expr::AggregateKind::kMax);
        Scalar greatest = arrow::MakeNullScalar(call.type);
        for (const Row& member : members) {
          ARROW_ASSIGN_OR_RAISE(const Scalar value, Value(call.arguments.front(), member));
          if (value->is_valid && (!greatest->is_valid || Integer(*value) > Integer(*greatest))) greatest = value;
        }
        row.push_back(greatest);
      }
      result.push_back(std::move(row));
    }
    return result;
  }

  static int64_t Integer(const arrow::Scalar& scalar) {
    return static_cast<const arrow::Int64Scalar&>(*scalar.CastTo(arrow::int64()).ValueOrDie()).value;
  }

  /// Whether the rows match: true, false or NULL. For IN the answer of one pair; elsewhere NULL counts as false.
  arrow::Result<Scalar> Matches(const expr::JoinCondition& condition, const Row& left, const Row& right) {
    Scalar result = std::make_shared<arrow::BooleanScalar>(true);
    const auto conjoin = [&](const Scalar& value) {
      if (!value->is_valid && IsTrue(result)) result = value;
      if (value->is_valid && !IsTrue(value)) result = value;
    };
    for (const expr::JoinKey& key : condition.keys) {
      EXPECT_TRUE(key.left->type()->Equals(*key.right->type()));
      ARROW_ASSIGN_OR_RAISE(const Scalar a, Value(key.left, left));
      ARROW_ASSIGN_OR_RAISE(const Scalar b, Value(key.right, right));
      ARROW_ASSIGN_OR_RAISE(const auto equal, expr::MakeCall(key.null_safe ? "is_not_distinct_from" : "=",
                                                             {expr::MakeLiteral(a), expr::MakeLiteral(b)}));
      ARROW_ASSIGN_OR_RAISE(const Scalar value, Value(equal, {}));
      conjoin(value);
    }
    if (condition.residual) {
      Row both = left;
      both.insert(both.end(), right.begin(), right.end());
      ARROW_ASSIGN_OR_RAISE(const Scalar value, Value(condition.residual, both));
      conjoin(value);
    }
    return result;
  }

  static Row Nulls(const arrow::Schema& schema) {
    Row row;
    for (const auto& field : schema.fields()) row.push_back(arrow::MakeNullScalar(field->type()));
    return row;
  }

  arrow::Result<Rows> Join(const plan::LogicalPlan& node, expr::JoinType type, const expr::JoinCondition& condition, bool apply) {
    using expr::JoinType;
    const plan::LogicalPlan& right_plan = *node.children()[1];
    ARROW_ASSIGN_OR_RAISE(const Rows left_rows, RowsOf(*node.children()[0]));
    Rows right_rows;
    if (!apply) {
      ARROW_ASSIGN_OR_RAISE(right_rows, RowsOf(right_plan));
    }
    std::vector<bool> right_matched(right_rows.size(), false);
    Rows result;
    for (const Row& left : left_rows) {
      if (apply) {
        outer_.push_back(&left);
        auto rows = RowsOf(right_plan);
        outer_.pop_back();
        ARROW_ASSIGN_OR_RAISE(right_rows, std::move(rows));
        right_matched.assign(right_rows.size(), false);
      }
      int matches = 0;
      bool unknown = false;
      for (size_t i = 0; i < right_rows.size(); ++i) {
        ARROW_ASSIGN_OR_RAISE(const Scalar match, Matches(condition, left, right_rows[i]));
        unknown |= !match->is_valid;
        if (!IsTrue(match)) continue;
        ++matches;
        right_matched[i] = true;
        if (!expr::HasRightColumns(type)) continue;
        Row both = left;
        both.insert(both.end(), right_rows[i].begin(), right_rows[i].end());
        result.push_back(std::move(both));
      }
      if (type == JoinType::kLeftSingle && matches > 1) {
        return MakeError(ErrorKind::kExecution, "more than one row returned by a subquery used as an expression");
      }
      const bool keeps_left = type == JoinType::kLeft || type == JoinType::kFull || type == JoinType::kLeftSingle;
      if (matches == 0 && keeps_left) {
        Row both = left;
        const Row nulls = Nulls(*right_plan.schema());
        both.insert(both.end(), nulls.begin(), nulls.end());
        result.push_back(std::move(both));
      }
      if (type == JoinType::kLeftMark || type == JoinType::kLeftMarkNulls) {
        Row marked = left;
        const bool null = type == JoinType::kLeftMarkNulls && matches == 0 && unknown;
        marked.push_back(null ? arrow::MakeNullScalar(arrow::boolean()) : std::make_shared<arrow::BooleanScalar>(matches > 0));
        result.push_back(std::move(marked));
      }
    }
    for (size_t i = 0; i < right_rows.size() && (type == JoinType::kRight || type == JoinType::kFull); ++i) {
      if (right_matched[i]) continue;
      Row both = Nulls(*node.children()[0]->schema());
      both.insert(both.end(), right_rows[i].begin(), right_rows[i].end());
      result.push_back(std::move(both));
    }
    return result;
  }

  std::vector<const Row*> outer_;  ///< of the applies around, the nearest last
};

}  // namespace icebound::sql
