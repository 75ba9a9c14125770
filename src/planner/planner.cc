// SPDX-License-Identifier: Apache-2.0
#include "planner/planner.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "exec/aggregate/aggregate_operator.h"
#include "exec/join/hash_join_operator.h"
#include "exec/join/nested_loop_join_operator.h"
#include "exec/limit/limit_operator.h"
#include "exec/project/filter_operator.h"
#include "exec/project/project_operator.h"
#include "exec/scan/scan_operator.h"
#include "exec/set/set_operation_operator.h"
#include "exec/set/union_all_operator.h"
#include "exec/set/values_operator.h"
#include "exec/sort/sort_operator.h"
#include "exec/write/copy_operator.h"
#include "io/make_sink.h"
#include "planner/probe_targets.h"
#include "planner/widening_projection.h"

namespace icebound::planner {
namespace {

using OperatorPtr = std::unique_ptr<exec::Operator>;
using ProbeTargets = std::vector<ProbeTarget>;

exec::SetOperationKind KindOf(plan::SetOperation operation) {
  switch (operation) {
    case plan::SetOperation::kIntersect:
      return exec::SetOperationKind::kIntersect;
    case plan::SetOperation::kIntersectAll:
      return exec::SetOperationKind::kIntersectAll;
    case plan::SetOperation::kExcept:
      return exec::SetOperationKind::kExcept;
    case plan::SetOperation::kExceptAll:
      break;
  }
  return exec::SetOperationKind::kExceptAll;
}

/// Walks the plan once, children first. Not thread safe.
class Planner {
 public:
  Planner(runtime::QueryContext* context, io::FileSystems* file_systems) : context_(context), file_systems_(file_systems) {}

  /// `targets` are for the rows that the node gives.
  arrow::Result<OperatorPtr> Build(const plan::LogicalPlan& node, const ProbeTargets& targets = {}) {
    switch (node.kind()) {
      case plan::PlanKind::kScan:
        return BuildScan(static_cast<const plan::ScanNode&>(node), targets);
      case plan::PlanKind::kFilter:
        return BuildFilter(static_cast<const plan::FilterNode&>(node), targets);
      case plan::PlanKind::kProject:
        return BuildProject(static_cast<const plan::ProjectNode&>(node), targets);
      case plan::PlanKind::kSort:
        return BuildSort(static_cast<const plan::SortNode&>(node), targets);
      case plan::PlanKind::kLimit:
        return BuildLimit(static_cast<const plan::LimitNode&>(node));
      case plan::PlanKind::kUnionAll:
        return BuildUnionAll(static_cast<const plan::UnionAllNode&>(node), targets);
      case plan::PlanKind::kValues:
        return BuildValues(static_cast<const plan::ValuesNode&>(node));
      case plan::PlanKind::kAggregate:
        return BuildAggregate(static_cast<const plan::AggregateNode&>(node), targets);
      case plan::PlanKind::kJoin:
        return BuildJoin(static_cast<const plan::JoinNode&>(node), targets);
      case plan::PlanKind::kSetOperation:
        return BuildSetOperation(static_cast<const plan::SetOperationNode&>(node));
      case plan::PlanKind::kApply:
        break;  // decorrelation leaves none
      case plan::PlanKind::kCopy:
        return BuildCopy(static_cast<const plan::CopyNode&>(node));
    }
    return MakeError(ErrorKind::kInternal, "no operator for this plan node: {}", node.Describe());
  }

 private:
  arrow::Result<OperatorPtr> BuildScan(const plan::ScanNode& node, const ProbeTargets& targets) {
    plan::ScanRequest request = node.request();
    for (const ProbeTarget& target : targets) request.probe_filters.push_back({target.filter, target.columns});
    ARROW_ASSIGN_OR_RAISE(auto source, node.source()->Scan(request, context_));
    return std::make_unique<exec::ScanOperator>(context_, fmt::format("scan {}", node.table_name()), std::move(source));
  }

  arrow::Result<OperatorPtr> BuildFilter(const plan::FilterNode& node, const ProbeTargets& targets) {
    ARROW_ASSIGN_OR_RAISE(OperatorPtr child, Build(*node.child(), TargetsBelow(node, 0, targets)));
    return std::make_unique<exec::FilterOperator>(context_, std::move(child), node.predicate());
  }

  arrow::Result<OperatorPtr> BuildProject(const plan::ProjectNode& node, const ProbeTargets& targets) {
    ARROW_ASSIGN_OR_RAISE(OperatorPtr child, Build(*node.child(), TargetsBelow(node, 0, targets)));
    return std::make_unique<exec::ProjectOperator>(context_, std::move(child), node.exprs(), node.schema());
  }

  arrow::Result<OperatorPtr> BuildSort(const plan::SortNode& node, const ProbeTargets& targets) {
    ARROW_ASSIGN_OR_RAISE(OperatorPtr child, Build(*node.child(), TargetsBelow(node, 0, targets)));
    std::vector<exec::SortKeySpec> keys;
    for (const plan::SortKey& key : node.keys()) keys.push_back({key.expr, key.descending, key.nulls_first});
    return exec::SortOperator::Make(context_, std::move(child), std::move(keys), node.fetch());
  }

  arrow::Result<OperatorPtr> BuildLimit(const plan::LimitNode& node) {
    ARROW_ASSIGN_OR_RAISE(OperatorPtr child, Build(*node.child()));
    return std::make_unique<exec::LimitOperator>(context_, std::move(child), node.limit(), node.offset());
  }

  arrow::Result<OperatorPtr> BuildUnionAll(const plan::UnionAllNode& node, const ProbeTargets& targets) {
    std::vector<OperatorPtr> children;
    for (size_t i = 0; i < node.children().size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(OperatorPtr built, Build(*node.children()[i], TargetsBelow(node, i, targets)));
      children.push_back(std::move(built));
    }
    return std::make_unique<exec::UnionAllOperator>(context_, std::move(children), node.schema());
  }

  arrow::Result<OperatorPtr> BuildValues(const plan::ValuesNode& node) {
    return std::make_unique<exec::ValuesOperator>(context_, node.rows(), node.schema());
  }

  arrow::Result<OperatorPtr> BuildAggregate(const plan::AggregateNode& node, const ProbeTargets& targets) {
    ARROW_ASSIGN_OR_RAISE(OperatorPtr child, Build(*node.child(), TargetsBelow(node, 0, targets)));
    std::vector<expr::ExprPtr> groups = node.groups();
    std::vector<expr::AggregateCall> aggregates = node.aggregates();
    std::vector<expr::ExprPtr*> inputs;
    for (expr::ExprPtr& group : groups) inputs.push_back(&group);
    for (expr::AggregateCall& call : aggregates) {
      for (expr::ExprPtr& argument : call.arguments) inputs.push_back(&argument);
      for (expr::AggregateOrder& order : call.order_by) inputs.push_back(&order.expr);
      if (call.filter != nullptr) inputs.push_back(&call.filter);
    }
    ARROW_ASSIGN_OR_RAISE(child, ProjectWideningExprs(context_, std::move(child), inputs));
    return exec::AggregateOperator::Make(context_, std::move(child), std::move(groups), std::move(aggregates), node.schema());
  }

  arrow::Result<OperatorPtr> BuildJoin(const plan::JoinNode& node, const ProbeTargets& targets) {
    ProbeTargets left_targets = TargetsBelow(node, 0, targets);
    ProbeTargets right_targets = TargetsBelow(node, 1, targets);
    std::shared_ptr<runtime::ProbeFilter> probe_filter;
    if (std::vector<int> columns = ProbeKeyColumns(node); !columns.empty()) {
      probe_filter = std::make_shared<runtime::ProbeFilter>();
      (node.build_left() ? right_targets : left_targets).push_back({probe_filter, std::move(columns)});
    }
    ARROW_ASSIGN_OR_RAISE(OperatorPtr left, Build(*node.left(), left_targets));
    ARROW_ASSIGN_OR_RAISE(OperatorPtr right, Build(*node.right(), right_targets));
    if (node.condition().keys.empty()) {
      return exec::NestedLoopJoinOperator::Make(context_, std::move(left), std::move(right), node.type(), node.condition(),
                                                node.build_left(), node.schema());
    }
    return exec::HashJoinOperator::Make(context_, std::move(left), std::move(right), node.type(), node.condition(),
                                        node.build_left(), node.schema(), std::move(probe_filter));
  }

  arrow::Result<OperatorPtr> BuildSetOperation(const plan::SetOperationNode& node) {
    ARROW_ASSIGN_OR_RAISE(OperatorPtr left, Build(*node.child()));
    ARROW_ASSIGN_OR_RAISE(OperatorPtr right, Build(*node.children()[1]));
    return exec::SetOperationOperator::Make(context_, std::move(left), std::move(right), KindOf(node.operation()), node.schema());
  }

  arrow::Result<OperatorPtr> BuildCopy(const plan::CopyNode& node) {
    // The sink first: a bad path or option must fail before anything is read.
    ARROW_ASSIGN_OR_RAISE(auto sink, io::MakeSink(node.path(), node.options(), node.child()->schema(), file_systems_, context_));
    ARROW_ASSIGN_OR_RAISE(OperatorPtr child, Build(*node.child()));
    return std::make_unique<exec::CopyOperator>(context_, std::move(child), std::move(sink), node.schema());
  }

  runtime::QueryContext* const context_;
  io::FileSystems* const file_systems_;
};

}  // namespace

arrow::Result<std::unique_ptr<exec::Operator>> PlanOperators(const plan::LogicalPlan& plan, runtime::QueryContext* context,
                                                             io::FileSystems* file_systems) {
  return Planner(context, file_systems).Build(plan);
}

}  // namespace icebound::planner
