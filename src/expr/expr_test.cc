// SPDX-License-Identifier: Apache-2.0
#include "expr/expr.h"

#include <set>

#include "expr/functions.h"
#include "expr/test_language.h"

namespace icebound::expr {
namespace {

std::shared_ptr<arrow::Schema> TestSchema() {
  return arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8()), arrow::field("c", arrow::date32()),
                        arrow::field("d", arrow::decimal128(15, 2)), arrow::field("e", arrow::boolean())});
}

ExprPtr Parse(const char* text) {
  static const auto schema = TestSchema();
  return ParseTest(text, schema.get()).ValueOrDie();
}

TEST(Expr, ToStringIsSql) {
  const std::pair<const char*, const char*> cases[] = {
      {"(< $0 24)", "a < 24"},
      {"(and (or (= $0 1) (= $0 2)) (not $4))", "(a = 1 OR a = 2) AND NOT e"},
      {"(* (+ $0 1) 2)", "(a + 1) * 2"},
      {"(+ $0 (* 2 $0))", "a + 2 * a"},
      {"(- $0 (- $0 1))", "a - (a - 1)"},
      {"(- (- $0 1) $0)", "a - 1 - a"},
      {"(negate $0)", "-a"},
      {"(<= $2 '1998-09-02')", "c <= DATE '1998-09-02'"},
      {"(= $1 'it''s')", "b = 'it''s'"},
      {"(like $1 'x%')", "b LIKE 'x%'"},
      {"(not_like $1 'x!%' '!')", "b NOT LIKE 'x!%' ESCAPE '!'"},
      {"(in $0 1 2 null)", "a IN (1, 2, NULL)"},
      {"(is_null (+ $0 1))", "a + 1 IS NULL"},
      {"(is_not_true $4)", "e IS NOT TRUE"},
      {"(extract 'year' $2)", "EXTRACT(year FROM c)"},
      {"(substring $1 1 2)", "substring(b, 1, 2)"},
      {"(cast $0 bigint)", "CAST(a AS bigint)"},
      {"(case (> $0 1) 'x' 'y')", "CASE WHEN a > 1 THEN 'x' ELSE 'y' END"},
      {"(* $3 (- 1 0.05))", "d * (1 - 0.05)"},
      {"(+ $2 interval'1 month')", "c + INTERVAL '1 mon'"},
      {"(is_not_distinct_from $0 null)", "a IS NOT DISTINCT FROM NULL"},
      {"(now)", "now()"},
  };
  for (const auto& [text, sql] : cases) EXPECT_EQ(Parse(text)->ToString(), sql) << text;
}

TEST(Expr, EqualityIsStructural) {
  EXPECT_TRUE(Equals(*Parse("(+ $0 1)"), *Parse("(+ $0 1)")));
  EXPECT_FALSE(Equals(*Parse("(+ $0 1)"), *Parse("(+ $0 2)")));
  EXPECT_FALSE(Equals(*Parse("(+ $0 1)"), *Parse("(- $0 1)")));
  EXPECT_FALSE(Equals(*Parse("$0"), *Parse("$1")));
  EXPECT_FALSE(Equals(*Parse("(cast $0 bigint)"), *Parse("(cast $0 double)")));
  EXPECT_TRUE(Equals(*Parse("(case $4 1 2)"), *Parse("(case $4 1 2)")));
  EXPECT_TRUE(Equals(*Parse("double'NaN'"), *Parse("double'NaN'")));
  EXPECT_FALSE(Equals(*Parse("(in $0 1 2)"), *Parse("(not_in $0 1 2)")));
}

TEST(Expr, ColumnsAreFoundAndRenumbered) {
  const ExprPtr expr = Parse("(and (> $3 1) (= $0 (+ $0 1)) (like $1 'x'))");
  EXPECT_EQ(ReferencedColumns(*expr), (std::vector<int>{0, 1, 3}));
  const ExprPtr moved = RemapColumns(expr, {5, 6, -1, 2}).ValueOrDie();
  EXPECT_EQ(ReferencedColumns(*moved), (std::vector<int>{2, 5, 6}));
  EXPECT_EQ(moved->ToString(), expr->ToString());
  EXPECT_EQ(RemapColumns(expr, {0, 1, 2, 3}).ValueOrDie(), expr);  // Nothing to do: the same tree.
  EXPECT_FALSE(RemapColumns(expr, {5, -1, -1, 2}).ok());
  EXPECT_FALSE(RemapColumns(expr, {5}).ok());
}

TEST(Expr, ConjunctionsSplitAndJoin) {
  const auto parts = SplitConjunction(Parse("(and (and (= $0 1) $4) true (or $4 (= $0 2)))"));
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(MakeAnd(parts)->ToString(), "a = 1 AND e AND (e OR a = 2)");
  EXPECT_EQ(MakeAnd({parts[0]}), parts[0]);
  EXPECT_EQ(MakeAnd({})->ToString(), "true");
  EXPECT_TRUE(SplitConjunction(MakeAnd({})).empty());
}

TEST(Expr, TransformRebuildsOnlyWhatChanges) {
  const ExprPtr expr = Parse("(+ (* $0 2) (- $0 3))");
  const auto replaced = Transform(expr, [](const ExprPtr& node) -> arrow::Result<ExprPtr> {
                          if (node->ToString() == "2") return MakeLiteral(std::make_shared<arrow::Int32Scalar>(9));
                          return node;
                        }).ValueOrDie();
  EXPECT_EQ(replaced->ToString(), "a * 9 + (a - 3)");
  EXPECT_EQ(replaced->children()[1], expr->children()[1]);
  EXPECT_FALSE(Transform(expr, [](const ExprPtr&) -> arrow::Result<ExprPtr> { return arrow::Status::Invalid("no"); }).ok());
}

TEST(Expr, ConstantsAndVolatility) {
  EXPECT_TRUE(IsConstant(*Parse("(+ 1 2)")));
  EXPECT_TRUE(IsConstant(*Parse("(now)")));
  EXPECT_FALSE(IsDeterministic(*Parse("(now)")));
  EXPECT_FALSE(IsConstant(*Parse("(random)")));
  EXPECT_FALSE(IsConstant(*Parse("(+ $0 1)")));
  EXPECT_TRUE(IsDeterministic(*Parse("(+ $0 1)")));
}

TEST(Expr, KnowsWhatCanFail) {
  for (const char* text :
       {"(= $0 1)", "(and (= $0 1) $4)", "(like $1 'x%')", "(upper $1)", "(cast $0 bigint)", "(cast $0 text)", "(* $3 (- 1 $3))",
        "(case $4 $0 1)", "(substring $1 1 2)", "(in $0 1 2)", "(extract 'year' $2)", "(round $3)", "(coalesce $0 1)"}) {
    EXPECT_FALSE(CanFail(*Parse(text))) << text;
  }
  for (const char* text : {"(+ $0 1)", "(/ $0 2)", "(cast $1 integer)", "(cast $3 integer)", "(substring $1 1 $0)",
                           "(like $1 $1)", "(* $3 (* $3 $3))", "(and $4 (= (/ 1 $0) 1))", "(+ $2 1)", "(sqrt $0)"}) {
    EXPECT_TRUE(CanFail(*Parse(text))) << text;
  }
}

TEST(Expr, CommonTypes) {
  const auto common = [](const std::vector<TypePtr>& types) -> std::string {
    const auto type = CommonType(types);
    return type.ok() ? SqlTypeName(**type) : "error: " + type.status().message();
  };
  EXPECT_EQ(common({arrow::int16(), arrow::int64()}), "bigint");
  EXPECT_EQ(common({arrow::int8(), arrow::uint8()}), "smallint");
  EXPECT_EQ(common({arrow::int32(), arrow::decimal128(5, 2)}), "numeric(12,2)");
  EXPECT_EQ(common({arrow::decimal128(5, 2), arrow::decimal128(6, 4)}), "numeric(7,4)");
  EXPECT_EQ(common({arrow::decimal128(38, 2), arrow::decimal128(38, 10)}), "numeric(38,2)");
  EXPECT_EQ(common({arrow::int64(), arrow::float32()}), "real");
  EXPECT_EQ(common({arrow::decimal128(5, 2), arrow::float64()}), "double precision");
  EXPECT_EQ(common({arrow::date32(), arrow::timestamp(arrow::TimeUnit::MICRO)}), "timestamp without time zone");
  EXPECT_EQ(common({arrow::timestamp(arrow::TimeUnit::NANO), arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")}),
            "timestamp with time zone");
  EXPECT_EQ(common({arrow::utf8(), arrow::large_utf8(), arrow::dictionary(arrow::int32(), arrow::utf8())}), "text");
  EXPECT_EQ(common({arrow::null(), arrow::int32()}), "integer");
  EXPECT_EQ(common({arrow::null()}), "text");
  EXPECT_EQ(common({}), "text");
  EXPECT_EQ(common({arrow::list(arrow::int32()), arrow::list(arrow::int64())}), "bigint[]");
  EXPECT_EQ(common({arrow::int32(), arrow::utf8()}), "error: types integer and text cannot be matched");
  EXPECT_EQ(common({arrow::boolean(), arrow::int32()}), "error: types boolean and integer cannot be matched");
  EXPECT_TRUE((*CommonType({arrow::decimal64(5, 2), arrow::decimal64(6, 4)}))->Equals(*arrow::decimal64(7, 4)));
  EXPECT_TRUE((*CommonType({arrow::decimal64(5, 2), arrow::decimal128(5, 2)}))->Equals(*arrow::decimal128(5, 2)));
}

/// An explicitly typed string literal no longer bends to its context.
TEST(Expr, TypedStringLiterals) {
  EXPECT_TRUE(ParseTest("(+ '1' 1)").ok());
  EXPECT_FALSE(ParseTest("(+ text'1' 1)").ok());
  EXPECT_TRUE(ParseTest("(< date'2020-01-01' '2020-01-02')").ok());
  EXPECT_FALSE(ParseTest("(< date'2020-01-01' text'2020-01-02')").ok());
}

/// Every overload can be called: it has a kernel (or is evaluated by strategy) and, with a signature, a result type.
TEST(Functions, RegistryIsComplete) {
  const FunctionRegistry& registry = FunctionRegistry::Get();
  std::set<std::string_view> names;
  for (const std::string_view name : registry.Names()) {
    const FunctionFamily& family = *registry.Find(name);
    names.insert(name);
    EXPECT_TRUE(family.rewriter != nullptr || family.resolver != nullptr || !family.overloads.empty()) << name;
    for (const Function* function : family.overloads) {
      const bool by_strategy = function->strategy != Strategy::kEager && function->strategy != Strategy::kFirst;
      EXPECT_TRUE(function->kernel != nullptr || by_strategy) << name;
      EXPECT_TRUE(function->result_type != nullptr || family.resolver != nullptr || family.rewriter != nullptr) << name;
    }
  }
  EXPECT_EQ(registry.Find("no such function"), nullptr);
  // The names of the table in functions.h.
  for (const char* name : {"+",
                           "-",
                           "*",
                           "/",
                           "%",
                           "negate",
                           "^",
                           "=",
                           "<>",
                           "<",
                           "<=",
                           ">",
                           ">=",
                           "is_distinct_from",
                           "is_not_distinct_from",
                           "and",
                           "or",
                           "not",
                           "is_null",
                           "is_not_null",
                           "is_true",
                           "is_not_true",
                           "is_false",
                           "is_not_false",
                           "is_unknown",
                           "is_not_unknown",
                           "in",
                           "not_in",
                           "like",
                           "not_like",
                           "ilike",
                           "not_ilike",
                           "~",
                           "~*",
                           "!~",
                           "!~*",
                           "||",
                           "extract",
                           "date_part",
                           "subscript",
                           "field",
                           "timezone",
                           "coalesce",
                           "nullif",
                           "greatest",
                           "least",
                           "concat",
                           "concat_ws",
                           "length",
                           "lower",
                           "upper",
                           "trim",
                           "substring",
                           "position",
                           "replace",
                           "round",
                           "now",
                           "current_date",
                           "date_trunc",
                           "to_timestamp",
                           "age",
                           "make_date"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace icebound::expr
