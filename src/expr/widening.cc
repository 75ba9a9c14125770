// SPDX-License-Identifier: Apache-2.0
#include "expr/widening.h"

#include <arrow/scalar.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace icebound::expr {
namespace {

/// Functions whose result is not bounded by a small multiple of their arguments' values, or that add arguments up.
constexpr std::array<std::string_view, 9> kWidening = {"repeat", "||",      "concat",         "concat_ws", "lpad",
                                                       "rpad",   "replace", "regexp_replace", "overlay"};

/// A literal this long, repeated over 8192 rows, is more than a batch should hold (1 MiB).
constexpr int64_t kLongLiteralBytes = 128;

bool IsLongLiteral(const Expr& expr) {
  if (expr.kind() != ExprKind::kLiteral) return false;
  const arrow::Scalar& value = *static_cast<const LiteralExpr&>(expr).value();
  if (!value.is_valid) return false;
  if (arrow::is_base_binary_like(value.type->id())) {
    return static_cast<const arrow::BaseBinaryScalar&>(value).value->size() > kLongLiteralBytes;
  }
  return arrow::is_nested(value.type->id());
}

}  // namespace

bool MayWiden(const Expr& expr) {
  if (IsLongLiteral(expr)) return true;
  if (expr.kind() == ExprKind::kCall) {
    const std::string_view name = static_cast<const CallExpr&>(expr).name();
    if (std::find(kWidening.begin(), kWidening.end(), name) != kWidening.end()) return true;
  }
  return std::any_of(expr.children().begin(), expr.children().end(), [](const ExprPtr& child) { return MayWiden(*child); });
}

}  // namespace icebound::expr
