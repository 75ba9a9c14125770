// SPDX-License-Identifier: Apache-2.0
#include "optimizer/disjunctions.h"

#include <algorithm>

namespace icebound::optimizer {

using expr::ExprPtr;

namespace {

constexpr size_t kComparedBranchesMax = 64;  // a generated OR of thousands is not worth comparing all with all

bool IsCall(const expr::Expr& expr, std::string_view name) {
  return expr.kind() == expr::ExprKind::kCall && static_cast<const expr::CallExpr&>(expr).name() == name;
}

void AppendBranches(const ExprPtr& expr, std::vector<ExprPtr>* branches) {
  if (!IsCall(*expr, "or")) {
    branches->push_back(expr);
    return;
  }
  for (const ExprPtr& child : expr->children()) AppendBranches(child, branches);
}

bool Contains(const std::vector<ExprPtr>& list, const expr::Expr& expr) {
  return std::any_of(list.begin(), list.end(), [&](const ExprPtr& item) { return expr::Equals(*item, expr); });
}

/// Appends the disjunction of the branches, each a list of conjuncts; nothing when a branch is always true.
arrow::Status AppendDisjunction(std::vector<std::vector<ExprPtr>> branches, std::vector<ExprPtr>* conjuncts) {
  std::vector<ExprPtr> disjuncts;
  for (std::vector<ExprPtr>& branch : branches) {
    if (branch.empty()) return arrow::Status::OK();
    disjuncts.push_back(expr::MakeAnd(std::move(branch)));
  }
  ARROW_ASSIGN_OR_RAISE(conjuncts->emplace_back(), expr::MakeCall("or", std::move(disjuncts)));
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::vector<ExprPtr>> SplitWithCommonFactors(const ExprPtr& predicate) {
  std::vector<ExprPtr> conjuncts;
  for (const ExprPtr& conjunct : expr::SplitConjunction(predicate)) {
    std::vector<ExprPtr> disjuncts;
    AppendBranches(conjunct, &disjuncts);
    std::vector<std::vector<ExprPtr>> branches;
    for (const ExprPtr& disjunct : disjuncts) branches.push_back(expr::SplitConjunction(disjunct));
    std::vector<ExprPtr> common;
    for (const ExprPtr& candidate : branches.front()) {
      // One that may fail could be guarded by what stays behind.
      const bool movable = branches.size() > 1 && expr::IsDeterministic(*candidate) && !expr::CanFail(*candidate);
      const bool in_all =
          std::all_of(branches.begin(), branches.end(), [&](const auto& list) { return Contains(list, *candidate); });
      if (movable && in_all && !Contains(common, *candidate)) common.push_back(candidate);
    }
    if (common.empty()) {
      conjuncts.push_back(conjunct);
      continue;
    }
    for (std::vector<ExprPtr>& branch : branches) {
      std::erase_if(branch, [&](const ExprPtr& expr) { return Contains(common, *expr); });
    }
    conjuncts.insert(conjuncts.end(), common.begin(), common.end());
    ARROW_RETURN_NOT_OK(AppendDisjunction(std::move(branches), &conjuncts));
  }
  return conjuncts;
}

arrow::Result<ExprPtr> ImpliedBy(const ExprPtr& predicate, const std::function<bool(int column)>& includes) {
  if (IsCall(*predicate, "and")) {
    std::vector<ExprPtr> implied;
    for (const ExprPtr& child : predicate->children()) {
      ARROW_ASSIGN_OR_RAISE(ExprPtr part, ImpliedBy(child, includes));
      if (part != nullptr) implied.push_back(std::move(part));
    }
    return implied.empty() ? nullptr : expr::MakeAnd(std::move(implied));
  }
  if (IsCall(*predicate, "or")) {
    std::vector<ExprPtr> implied;
    for (const ExprPtr& child : predicate->children()) {
      ARROW_ASSIGN_OR_RAISE(ExprPtr part, ImpliedBy(child, includes));
      if (part == nullptr) return nullptr;
      if (implied.size() > kComparedBranchesMax || !Contains(implied, *part)) implied.push_back(std::move(part));
    }
    return implied.size() == 1 ? implied.front() : expr::MakeCall("or", std::move(implied));
  }
  const std::vector<int> columns = expr::ReferencedColumns(*predicate);
  const bool inside = !columns.empty() && std::all_of(columns.begin(), columns.end(), includes);
  return inside && expr::IsDeterministic(*predicate) && !expr::CanFail(*predicate) ? predicate : nullptr;
}

}  // namespace icebound::optimizer
