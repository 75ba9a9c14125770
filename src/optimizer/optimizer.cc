// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {
namespace {

struct Rule {
  std::string_view name;
  arrow::Result<plan::PlanPtr> (*apply)(const plan::PlanPtr&, const OptimizerOptions&);
};

// Filters show which joins can be plainer, and plainer joins let filters through: twice is enough for a subquery in a subquery.
constexpr std::array kRules = {
    Rule{"constant_folding", FoldConstants},
    Rule{"redundant_sort", DropRedundantSorts},
    Rule{"merge_projections", MergeProjections},
    Rule{"filter_pushdown", PushFilters},
    Rule{"semi_join", SimplifyJoins},
    Rule{"filter_pushdown", PushFilters},
    Rule{"semi_join", SimplifyJoins},
    Rule{"constant_folding", FoldConstants},
    Rule{"filter_pushdown", PushFilters},
    // Only the columns in use count when sides are compared by their bytes.
    Rule{"column_pruning", PruneColumns},
    Rule{"join_order", OrderJoins},
    // Which joins an aggregate meets is known now, and what the rule adds wants a place in an order, too.
    Rule{"semi_join_reduction", ReduceAggregateInputs},
    Rule{"join_order", OrderJoins},
    Rule{"filter_pushdown", PushFilters},
    Rule{"limit_pushdown", PushLimits},
    Rule{"merge_projections", MergeProjections},
    Rule{"column_pruning", PruneColumns},
    Rule{"merge_projections", MergeProjections},
    Rule{"build_side", ChooseBuildSides},
    Rule{"scan_order", OrderScans},
};

}  // namespace

std::vector<std::string_view> RuleNames() {
  std::vector<std::string_view> names;
  for (const Rule& rule : kRules) {
    if (std::find(names.begin(), names.end(), rule.name) == names.end()) names.push_back(rule.name);
  }
  return names;
}

arrow::Result<plan::PlanPtr> Optimize(plan::PlanPtr plan, const OptimizerOptions& options) {
  if (!options.pool) return MakeError(ErrorKind::kInternal, "OptimizerOptions::pool is not set");
  const std::vector<std::string_view> names = RuleNames();
  for (const std::string& name : options.disabled_rules) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return MakeError(ErrorKind::kInvalidInput, "there is no optimizer rule \"{}\"", name);
    }
  }
  ARROW_ASSIGN_OR_RAISE(plan, Decorrelate(plan, options));
  for (const Rule& rule : kRules) {
    if (options.disabled_rules.contains(rule.name)) continue;
    ARROW_ASSIGN_OR_RAISE(plan, rule.apply(plan, options));
  }
  return plan;
}

}  // namespace icebound::optimizer
