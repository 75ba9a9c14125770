// SPDX-License-Identifier: Apache-2.0
//
// A small notation for expressions in tests, so that a case is one line: (+ 1 2.5), (substring 'text' 2 3), (cast '12' integer),
// date'1998-09-02', $0.
//
//   12        integer, or bigint when it does not fit        1.50     numeric
//   1e3       double precision                               'text'   string literal without a type yet
//   true false null                                          $n       column n of the schema
//   date'..' time'..' timestamp'..' timestamptz'..' interval'..' uuid'..' bytea'..' text'..' double'..' real'..' smallint'..'
//   bigint'..' (case when value when value else)                        (cast x type) with type as above or numeric(p,s)
//   (name argument ...)
#pragma once

#include <arrow/api.h>
#include <arrow/extension/uuid.h>
#include <arrow/util/checked_cast.h>
#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/evaluate.h"
#include "expr/expr.h"
#include "expr/number_text.h"
#include "expr/type_rules.h"

namespace icebound::expr {

class TestParser {
 public:
  /// `fold_casts` false: (cast literal type) stays a cast, to be evaluated.
  TestParser(std::string_view text, const arrow::Schema* schema, bool fold_casts = true)
      : text_(text), schema_(schema), fold_casts_(fold_casts) {}

  arrow::Result<ExprPtr> Parse() {
    SkipSpace();
    if (Take('(')) return ParseForm();
    if (Peek() == '\'') return MakeLiteral(std::make_shared<arrow::StringScalar>(ParseQuoted()));
    const std::string word = ParseWord();
    if (Peek() == '\'') {
      const std::string quoted = ParseQuoted();
      return MakeCast(MakeLiteral(std::make_shared<arrow::StringScalar>(quoted)), TypeNamed(word));
    }
    return ParseAtom(word);
  }

  static TypePtr TypeNamed(std::string_view name) {
    if (name.starts_with("numeric(")) {
      const size_t comma = name.find(',');
      return DecimalType(std::stoi(std::string(name.substr(8, comma - 8))), std::stoi(std::string(name.substr(comma + 1))),
                         false);
    }
    if (name == "boolean") return arrow::boolean();
    if (name == "smallint") return arrow::int16();
    if (name == "integer") return arrow::int32();
    if (name == "bigint") return arrow::int64();
    if (name == "real") return arrow::float32();
    if (name == "double") return arrow::float64();
    if (name == "text") return arrow::utf8();
    if (name == "bytea") return arrow::binary();
    if (name == "uuid") return arrow::extension::uuid();
    if (name == "date") return arrow::date32();
    if (name == "time") return arrow::time64(arrow::TimeUnit::MICRO);
    if (name == "timestamp") return arrow::timestamp(arrow::TimeUnit::MICRO);
    if (name == "timestamptz") return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    if (name == "timestamp_ns") return arrow::timestamp(arrow::TimeUnit::NANO);
    if (name == "interval") return arrow::month_day_nano_interval();
    ADD_FAILURE() << "type " << name;
    return arrow::null();
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (Peek() == ' ') ++at_;
  }
  std::string ParseQuoted() {
    std::string value;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\'' && (at_ + 1 == text_.size() || text_[at_ + 1] != '\'')) break;
      if (text_[at_] == '\'') ++at_;
      value += text_[at_];
    }
    ++at_;
    return value;
  }
  std::string ParseWord() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ')' && text_[at_] != '\'' &&
           !(text_[at_] == '(' && at_ == begin)) {
      if (text_[at_] == '(') at_ = text_.find(')', at_);  // numeric(p,s)
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  arrow::Result<ExprPtr> ParseAtom(const std::string& word) {
    if (word == "null") return MakeLiteral(std::make_shared<arrow::NullScalar>());
    if (word == "true" || word == "false") return MakeLiteral(std::make_shared<arrow::BooleanScalar>(word == "true"));
    if (word.starts_with('$')) {
      const int index = std::stoi(word.substr(1));
      return MakeColumn(index, *schema_->field(index));
    }
    if (word.find('e') != std::string::npos || word == "NaN" || word == "Infinity" || word == "-Infinity") {
      ARROW_ASSIGN_OR_RAISE(const double value, ParseDouble(word));
      return MakeLiteral(std::make_shared<arrow::DoubleScalar>(value));
    }
    if (word.find('.') != std::string::npos) {
      ARROW_ASSIGN_OR_RAISE(const auto shape, ShapeOfDecimal(word));
      ARROW_ASSIGN_OR_RAISE(auto scalar, ScalarFromText(word, arrow::decimal128(shape.precision, shape.scale)));
      return MakeLiteral(std::move(scalar));
    }
    ARROW_ASSIGN_OR_RAISE(const int64_t value, ParseInteger(word, TypeClass::kInt64));
    if (value == static_cast<int32_t>(value))
      return MakeLiteral(std::make_shared<arrow::Int32Scalar>(static_cast<int32_t>(value)));
    return MakeLiteral(std::make_shared<arrow::Int64Scalar>(value));
  }

  arrow::Result<ExprPtr> ParseForm() {
    const std::string name = ParseWord();
    if (name == "cast") {
      ARROW_ASSIGN_OR_RAISE(ExprPtr child, Parse());
      SkipSpace();
      const std::string type = ParseWord();
      Take(')');
      const TypePtr to = TypeNamed(type);
      const bool allowed = child->type()->id() == arrow::Type::STRING || IsExplicitCast(*child->type(), *to);
      if (!fold_casts_ && allowed && child->kind() == ExprKind::kLiteral) return std::make_shared<CastExpr>(std::move(child), to);
      return MakeCast(std::move(child), to);
    }
    std::vector<ExprPtr> arguments;
    for (SkipSpace(); !Take(')'); SkipSpace()) {
      if (at_ >= text_.size()) return MakeError(ErrorKind::kInternal, "unbalanced test expression {}", text_);
      ARROW_ASSIGN_OR_RAISE(ExprPtr argument, Parse());
      arguments.push_back(std::move(argument));
    }
    if (name != "case") return MakeCall(name, std::move(arguments));
    std::vector<ExprPtr> conditions, values;
    for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
      conditions.push_back(arguments[i]);
      values.push_back(arguments[i + 1]);
    }
    return MakeCase(std::move(conditions), std::move(values), arguments.size() % 2 == 1 ? arguments.back() : nullptr);
  }

  std::string_view text_;
  const arrow::Schema* schema_;
  const bool fold_casts_;
  size_t at_ = 0;
};

inline arrow::Result<ExprPtr> ParseTest(std::string_view text, const arrow::Schema* schema = nullptr) {
  return TestParser(text, schema).Parse();
}

inline EvalContext TestContext() {
  // 2024-02-29 12:34:56.789012 UTC
  return EvalContext{arrow::default_memory_pool(), 1'709'210'096'789'012};
}

/// A value as its cast to text prints it; NULL for null.
inline std::string TextOfScalar(const std::shared_ptr<arrow::Scalar>& scalar) {
  if (!scalar->is_valid) return "NULL";
  if (ClassOf(*scalar->type) >= TypeClass::kList) return scalar->ToString();
  const EvalContext context = TestContext();
  auto text = EvaluateConstant(CastExpr(MakeLiteral(scalar), arrow::utf8()), context);
  if (!text.ok()) return "error: " + text.status().message();
  return std::string(arrow::internal::checked_cast<const arrow::StringScalar&>(**text).view());
}

/// The value of a constant expression as text, or "error: ..." from making or evaluating it.
inline std::string RunTest(std::string_view text) {
  auto expr = ParseTest(text);
  if (!expr.ok()) return "error: " + expr.status().message();
  auto value = EvaluateConstant(**expr, TestContext());
  if (!value.ok()) return "error: " + value.status().message();
  return TextOfScalar(*value);
}

}  // namespace icebound::expr
