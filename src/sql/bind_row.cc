// SPDX-License-Identifier: Apache-2.0
//
// Comparisons of rows, (a, b) = (c, d): all pairs are equal. Only = and <> (and IN, which is =) have a meaning here.
#include "sql/expr_binder.h"

namespace icebound::sql {

using expr::ExprPtr;

arrow::Result<std::vector<ExprPtr>> ExprBinder::BindRow(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"args", "row_format", "location"}));
  node.Text("row_format");
  return BindList(node["args"].items());
}

arrow::Result<ExprPtr> ExprBinder::CompareRows(std::string_view name, const std::vector<ExprPtr>& left,
                                               const std::vector<ExprPtr>& right, int offset) {
  if (left.size() != right.size()) return context_.Invalid(offset, "unequal number of entries in row expressions");
  if (left.size() == 1) return Call(name, {left.front(), right.front()}, offset);
  if (name != "=" && name != "<>") return context_.Unsupported(offset, fmt::format("comparisons of rows with {}", name));
  std::vector<ExprPtr> pairs;
  for (size_t i = 0; i < left.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(pairs.emplace_back(), Call(name, {left[i], right[i]}, offset));
  }
  return Call(name == "=" ? "and" : "or", std::move(pairs), offset);
}

arrow::Result<ExprPtr> ExprBinder::BindRowComparison(const Node& node, std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const auto left, BindRow(node["lexpr"]));
  ARROW_ASSIGN_OR_RAISE(const auto right, BindRow(node["rexpr"]));
  return CompareRows(name, left, right, node.location());
}

arrow::Result<ExprPtr> ExprBinder::BindRowIn(const Node& node) {
  const bool negated = node["name"].items().front().Text("sval") != "=";
  const int offset = node.location();
  ARROW_ASSIGN_OR_RAISE(const auto left, BindRow(node["lexpr"]));
  std::vector<ExprPtr> equal;
  for (const Node& item : node["rexpr"]["items"].items()) {
    if (!item.Is("RowExpr")) return context_.Unsupported(item.FirstLocation(), "a comparison of a row with a single value");
    ARROW_ASSIGN_OR_RAISE(const auto right, BindRow(item));
    ARROW_ASSIGN_OR_RAISE(equal.emplace_back(), CompareRows("=", left, right, offset));
  }
  ExprPtr in = equal.front();
  if (equal.size() > 1) {
    ARROW_ASSIGN_OR_RAISE(in, Call("or", std::move(equal), offset));
  }
  return negated ? Call("not", {std::move(in)}, offset) : ExprResult(std::move(in));
}

}  // namespace icebound::sql
