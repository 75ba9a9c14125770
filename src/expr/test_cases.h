// SPDX-License-Identifier: Apache-2.0
//
// Runs one-line cases in every shape a value can come in: as constants, and with each literal argument turned into a column of a
// sliced batch, of a dictionary or view for text, and with null rows between.
#pragma once

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api.h>

#include <string>
#include <vector>

#include "expr/functions.h"
#include "expr/test_language.h"

namespace icebound::expr {

struct TestCase {
  const char* expression;
  const char* expected;  ///< as text, NULL, or "error: ..."
};

enum class TextShape { kPlain, kDictionary, kLarge, kView };

/// Replaces literals by columns that hold the value in rows 1 and 3 and null in row 2 (numbers from 0, after a sliced-off row and
/// before another).
class Columnizer {
 public:
  explicit Columnizer(TextShape shape) : shape_(shape) {}

  arrow::Result<ExprPtr> Rewrite(const ExprPtr& expr) {
    std::vector<ExprPtr> children;
    bool changed = false;
    const std::string_view name = expr->kind() == ExprKind::kCall ? static_cast<const CallExpr&>(*expr).name() : "";
    for (size_t i = 0; i < expr->children().size(); ++i) {
      const ExprPtr& child = expr->children()[i];
      // These read some of their arguments when the call is made.
      const bool fixed = ((name == "extract" || name == "date_part" || name == "timezone") && i == 0) ||
                         (name == "field" && i == 1) || ((name == "in" || name == "not_in") && i > 0);
      ExprPtr rewritten = child;
      if (!fixed && child->kind() == ExprKind::kLiteral) {
        ARROW_ASSIGN_OR_RAISE(rewritten, ToColumn(static_cast<const LiteralExpr&>(*child)));
      } else if (!fixed) {
        ARROW_ASSIGN_OR_RAISE(rewritten, Rewrite(child));
      }
      changed |= rewritten != child;
      children.push_back(std::move(rewritten));
    }
    return changed ? expr->WithChildren(std::move(children)) : expr;
  }

  std::shared_ptr<arrow::RecordBatch> Batch() const {
    const auto batch = arrow::RecordBatch::Make(arrow::schema(fields_), 5, columns_);
    return batch->Slice(1, 3);
  }
  bool any() const { return !columns_.empty(); }

 private:
  arrow::Result<ExprPtr> ToColumn(const LiteralExpr& literal) {
    auto* pool = arrow::default_memory_pool();
    ARROW_ASSIGN_OR_RAISE(auto value, arrow::MakeArrayFromScalar(*literal.value(), 2, pool));
    ARROW_ASSIGN_OR_RAISE(auto null, arrow::MakeArrayOfNull(literal.type(), 1, pool));
    ARROW_ASSIGN_OR_RAISE(auto column, arrow::Concatenate({value, null, value}, pool));
    if (literal.type()->id() == arrow::Type::STRING) {
      ARROW_ASSIGN_OR_RAISE(column, Reshape(column));
    }
    fields_.push_back(arrow::field(fmt::format("c{}", fields_.size()), column->type()));
    columns_.push_back(column);
    return MakeColumn(static_cast<int>(fields_.size()) - 1, *fields_.back());
  }

  arrow::Result<std::shared_ptr<arrow::Array>> Reshape(const std::shared_ptr<arrow::Array>& column) const {
    switch (shape_) {
      case TextShape::kPlain:
        return column;
      case TextShape::kDictionary: {
        ARROW_ASSIGN_OR_RAISE(const auto encoded, arrow::compute::DictionaryEncode(column));
        return encoded.make_array();
      }
      case TextShape::kLarge:
        return arrow::compute::Cast(*column, arrow::large_utf8());
      case TextShape::kView:
        return arrow::compute::Cast(*column, arrow::utf8_view());
    }
    return column;
  }

  const TextShape shape_;
  arrow::FieldVector fields_;
  arrow::ArrayVector columns_;
};

/// Errors may end in advice ("; did you mean ...") that the expectation leaves out.
inline std::string WithoutAdvice(const std::string& text) {
  return text.starts_with("error: ") ? text.substr(0, text.find("; ")) : text;
}

inline std::string RunColumnized(const ExprPtr& expr, TextShape shape) {
  Columnizer columnizer(shape);
  const auto rewritten = columnizer.Rewrite(expr);
  if (!rewritten.ok()) return "error: " + rewritten.status().message();
  const auto batch = columnizer.Batch();
  const auto result = EvaluateToArray(**rewritten, *batch, TestContext());
  if (!result.ok()) return "error: " + result.status().message();
  EXPECT_TRUE((*result)->ValidateFull().ok()) << (*result)->ValidateFull().ToString();
  EXPECT_TRUE((*result)->type()->Equals(*expr->type())) << (*result)->type()->ToString() << " for " << expr->type()->ToString();
  const std::string first = TextOfScalar((*result)->GetScalar(0).ValueOrDie());
  const std::string last = TextOfScalar((*result)->GetScalar(2).ValueOrDie());
  EXPECT_EQ(first, last);
  if (expr->kind() == ExprKind::kCall && static_cast<const CallExpr&>(*expr).function().strict && columnizer.any()) {
    EXPECT_EQ(TextOfScalar((*result)->GetScalar(1).ValueOrDie()), "NULL");
  }
  return first;
}

inline void CheckCase(const TestCase& test) {
  SCOPED_TRACE(test.expression);
  EXPECT_EQ(WithoutAdvice(RunTest(test.expression)), test.expected);
  const auto expr = TestParser(test.expression, nullptr, /*fold_casts=*/false).Parse();
  if (!expr.ok()) return;
  for (const TextShape shape : {TextShape::kPlain, TextShape::kDictionary, TextShape::kLarge, TextShape::kView}) {
    SCOPED_TRACE(static_cast<int>(shape));
    EXPECT_EQ(WithoutAdvice(RunColumnized(*expr, shape)), test.expected);
  }
}

inline void CheckCases(const std::vector<TestCase>& cases) {
  for (const TestCase& test : cases) CheckCase(test);
}

}  // namespace icebound::expr
