// SPDX-License-Identifier: Apache-2.0
#include "planner/widening_projection.h"

#include <utility>

#include "exec/project/project_operator.h"
#include "expr/widening.h"

namespace icebound::planner {

arrow::Result<std::unique_ptr<exec::Operator>> ProjectWideningExprs(runtime::QueryContext* context,
                                                                    std::unique_ptr<exec::Operator> child,
                                                                    const std::vector<expr::ExprPtr*>& exprs) {
  arrow::FieldVector fields = child->schema()->fields();
  std::vector<expr::ExprPtr> columns;
  for (size_t i = 0; i < fields.size(); ++i) columns.push_back(expr::MakeColumn(static_cast<int>(i), *fields[i]));
  const size_t own = columns.size();
  for (expr::ExprPtr* expr : exprs) {
    if ((*expr)->kind() == expr::ExprKind::kLiteral || !expr::MayWiden(**expr)) continue;
    size_t index = own;
    while (index < columns.size() && !expr::Equals(*columns[index], **expr)) ++index;
    if (index == columns.size() || !expr::IsDeterministic(**expr)) {
      index = columns.size();
      fields.push_back(arrow::field((*expr)->ToString(), (*expr)->type()));
      columns.push_back(*expr);
    }
    *expr = expr::MakeColumn(static_cast<int>(index), *fields[index], (*expr)->position());
  }
  if (columns.size() == own) return child;
  return std::make_unique<exec::ProjectOperator>(context, std::move(child), std::move(columns), arrow::schema(std::move(fields)));
}

}  // namespace icebound::planner
