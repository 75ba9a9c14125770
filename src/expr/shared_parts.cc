// SPDX-License-Identifier: Apache-2.0
#include "expr/shared_parts.h"

#include <arrow/util/checked_cast.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "expr/functions.h"

namespace icebound::expr {

using arrow::internal::checked_cast;

namespace {

/// Nodes by a hash that is the same for equal ones.
class NodeIndex {
 public:
  /// What an expression means to the node above it.
  struct Summary {
    size_t hash = 0;
    bool reads_column = false;
    bool is_repeatable = true;
  };

  Summary Add(const Expr& node) {
    Summary summary = Describe(node);
    for (const ExprPtr& child : node.children()) {
      const Summary below = Add(*child);
      summary.hash = Combine(summary.hash, below.hash);
      summary.reads_column |= below.reads_column;
      summary.is_repeatable &= below.is_repeatable;
    }
    const bool is_leaf = node.children().empty();
    if (!is_leaf && summary.reads_column && summary.is_repeatable) nodes_[summary.hash].push_back(&node);
    return summary;
  }

  /// Calls visit(equal nodes) for those that occur more than once.
  template <typename Visit>
  void VisitRepeated(Visit visit) {
    for (auto& [hash, nodes] : nodes_) {
      while (nodes.size() > 1) {
        const auto others =
            std::partition(nodes.begin() + 1, nodes.end(), [&](const Expr* node) { return Equals(*node, *nodes.front()); });
        if (others - nodes.begin() > 1) visit(std::vector<const Expr*>(nodes.begin(), others));
        nodes.erase(nodes.begin(), others);
      }
    }
  }

 private:
  static size_t Combine(size_t hash, size_t more) { return (hash ^ more) * 0x9E3779B97F4A7C15ULL + (hash >> 29); }

  /// The node without its children.
  static Summary Describe(const Expr& node) {
    Summary summary;
    summary.hash = Combine(static_cast<size_t>(node.kind()), static_cast<size_t>(node.type()->id()));
    switch (node.kind()) {
      case ExprKind::kColumn:
        summary.hash = Combine(summary.hash, static_cast<size_t>(checked_cast<const ColumnExpr&>(node).index()));
        summary.reads_column = true;
        break;
      case ExprKind::kLiteral:
        break;  // Equals looks at the value.
      case ExprKind::kCall: {
        const Function& function = checked_cast<const CallExpr&>(node).function();
        summary.hash = Combine(summary.hash, std::hash<const Function*>()(&function));
        summary.is_repeatable = function.volatility == Volatility::kImmutable;
        break;
      }
      case ExprKind::kCast:
      case ExprKind::kCase:
        break;
      case ExprKind::kOuterColumn:
        summary.is_repeatable = false;
        break;
    }
    return summary;
  }

  std::unordered_map<size_t, std::vector<const Expr*>> nodes_;
};

}  // namespace

SharedParts::SharedParts(std::vector<ExprPtr> exprs) : exprs_(std::move(exprs)) {
  NodeIndex index;
  for (const ExprPtr& expr : exprs_) index.Add(*expr);
  index.VisitRepeated([this](const std::vector<const Expr*>& nodes) {
    for (const Expr* node : nodes) numbers_[node] = static_cast<int>(count_);
    ++count_;
  });
}

}  // namespace icebound::expr
