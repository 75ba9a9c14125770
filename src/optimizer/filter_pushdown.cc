// SPDX-License-Identifier: Apache-2.0
//
// Conjuncts sink towards the scans as far as rows and their meaning allow:
//
//   through Project    when the conjunct, written over the projection's input, computes nothing volatile
//   through Sort       always, but not through a top-k: it would choose other rows
//   through UnionAll   into every branch
//   into Scan          as hints in ScanRequest.filters; the Filter above goes away only when the source promises to apply them
//   exactly never past Limit
//
// Conjuncts keep their order, inner ones before outer ones: in `WHERE b <> 0 AND a / b > 1` the first guards the second.
#include <algorithm>
#include <iterator>

#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprPtr;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

using Conjuncts = std::vector<ExprPtr>;

PlanPtr FilteredBy(PlanPtr plan, Conjuncts conjuncts) {
  if (conjuncts.empty()) return plan;
  return std::make_shared<plan::FilterNode>(std::move(plan), expr::MakeAnd(std::move(conjuncts)));
}

arrow::Result<PlanPtr> Push(const PlanPtr& plan, Conjuncts conjuncts);

arrow::Result<PlanPtr> PushIntoScan(const PlanPtr& plan, const Conjuncts& conjuncts) {
  const auto& scan = static_cast<const plan::ScanNode&>(*plan);
  plan::ScanRequest request = scan.request();
  Conjuncts pushed, kept;
  for (const ExprPtr& conjunct : conjuncts) {
    // One that may fail must not overtake one that stays: it may be guarded by it.
    const bool may_go = expr::IsDeterministic(*conjunct) && (kept.empty() || !expr::CanFail(*conjunct));
    (may_go ? pushed : kept).push_back(conjunct);
  }
  if (pushed.empty()) return FilteredBy(plan, std::move(kept));
  request.filters.insert(request.filters.end(), pushed.begin(), pushed.end());
  PlanPtr filtered = std::make_shared<plan::ScanNode>(scan.source(), scan.table_name(), std::move(request));
  return FilteredBy(std::move(filtered), scan.source()->AppliesFiltersExactly() ? std::move(kept) : conjuncts);
}

arrow::Result<PlanPtr> PushThroughProject(const PlanPtr& plan, const Conjuncts& conjuncts) {
  const auto& project = static_cast<const plan::ProjectNode&>(*plan);
  Conjuncts below, above;
  for (const ExprPtr& conjunct : conjuncts) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr over_input, SubstituteColumns(conjunct, project.exprs()));
    // Once one stays, all after it do: an earlier conjunct may guard a later one.
    if (above.empty() && !IsVolatile(*over_input)) {
      below.push_back(std::move(over_input));
    } else {
      above.push_back(conjunct);
    }
  }
  ARROW_ASSIGN_OR_RAISE(PlanPtr child, Push(project.child(), std::move(below)));
  return FilteredBy(child == project.child() ? plan : project.WithChildren({std::move(child)}), std::move(above));
}

arrow::Result<PlanPtr> PushBelow(const PlanPtr& plan, const Conjuncts& conjuncts) {
  return RewriteChildren(plan, [&](const PlanPtr& child) { return Push(child, conjuncts); });
}

arrow::Result<PlanPtr> PushNothingBelow(const PlanPtr& plan, Conjuncts conjuncts) {
  ARROW_ASSIGN_OR_RAISE(PlanPtr below, PushBelow(plan, {}));
  return FilteredBy(std::move(below), std::move(conjuncts));
}

bool AnyVolatile(const Conjuncts& conjuncts) {
  return std::any_of(conjuncts.begin(), conjuncts.end(), [](const ExprPtr& expr) { return IsVolatile(*expr); });
}

/// `conjuncts` apply to the output of `plan`.
arrow::Result<PlanPtr> Push(const PlanPtr& plan, Conjuncts conjuncts) {
  switch (plan->kind()) {
    case PlanKind::kFilter: {
      Conjuncts all = expr::SplitConjunction(static_cast<const plan::FilterNode&>(*plan).predicate());
      std::move(conjuncts.begin(), conjuncts.end(), std::back_inserter(all));
      return Push(plan->child(), std::move(all));
    }
    case PlanKind::kScan:
      return PushIntoScan(plan, conjuncts);
    case PlanKind::kProject:
      return PushThroughProject(plan, conjuncts);
    case PlanKind::kSort:
      if (static_cast<const plan::SortNode&>(*plan).fetch()) return PushNothingBelow(plan, std::move(conjuncts));
      return PushBelow(plan, conjuncts);
    case PlanKind::kUnionAll:
      if (AnyVolatile(conjuncts)) return PushNothingBelow(plan, std::move(conjuncts));
      return PushBelow(plan, conjuncts);
    case PlanKind::kLimit:
    case PlanKind::kValues:
    case PlanKind::kCopy:
      return PushNothingBelow(plan, std::move(conjuncts));
  }
  return PushNothingBelow(plan, std::move(conjuncts));
}

}  // namespace

arrow::Result<PlanPtr> PushFilters(const PlanPtr& plan, const OptimizerOptions&) { return Push(plan, {}); }

}  // namespace icebound::optimizer
