// SPDX-License-Identifier: Apache-2.0
#include "expr/aggregate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "expr/test_language.h"

namespace icebound::expr {
namespace {

std::shared_ptr<arrow::Schema> TestSchema() {
  return arrow::schema({arrow::field("i", arrow::int32()), arrow::field("t", arrow::utf8()), arrow::field("d", arrow::date32()),
                        arrow::field("n", arrow::decimal128(15, 2)), arrow::field("b", arrow::boolean()),
                        arrow::field("l", arrow::int64()), arrow::field("f", arrow::float32()),
                        arrow::field("v", arrow::month_day_nano_interval()), arrow::field("u", arrow::uint64()),
                        arrow::field("m", arrow::map(arrow::utf8(), arrow::int32())),
                        arrow::field("y", arrow::dictionary(arrow::int32(), arrow::utf8()))});
}

ExprPtr Parse(const char* text) {
  static const auto schema = TestSchema();
  return ParseTest(text, schema.get()).ValueOrDie();
}

AggregateCall Make(std::string_view name, std::vector<const char*> arguments) {
  std::vector<ExprPtr> exprs;
  for (const char* text : arguments) exprs.push_back(Parse(text));
  return MakeAggregate(name, exprs, /*star=*/false, {}).ValueOrDie();
}

std::string ErrorOf(std::string_view name, std::vector<const char*> arguments, bool star = false) {
  std::vector<ExprPtr> exprs;
  for (const char* text : arguments) exprs.push_back(Parse(text));
  const auto call = MakeAggregate(name, exprs, star, {});
  if (call.ok()) return "no error";
  EXPECT_EQ(GetErrorKind(call.status()), ErrorKind::kInvalidInput);
  return call.status().message();
}

TEST(Aggregate, TypesFollowTheTable) {
  const struct {
    const char* name;
    const char* argument;
    TypePtr type;
    TypePtr argument_type;
  } cases[] = {
      {"count", "$1", arrow::int64(), arrow::utf8()},
      {"sum", "$0", arrow::int64(), arrow::int32()},
      {"sum", "$5", arrow::decimal128(38, 0), arrow::int64()},
      {"sum", "$3", arrow::decimal128(38, 2), arrow::decimal128(15, 2)},
      {"sum", "$6", arrow::float64(), arrow::float64()},
      {"sum", "$7", arrow::month_day_nano_interval(), arrow::month_day_nano_interval()},
      {"sum", "$8", arrow::decimal128(38, 0), nullptr},
      {"avg", "$0", arrow::decimal128(38, 16), arrow::int32()},
      {"avg", "$5", arrow::decimal128(38, 16), arrow::int64()},
      {"avg", "$3", arrow::decimal128(38, 16), arrow::decimal128(15, 2)},
      {"avg", "$6", arrow::float64(), arrow::float64()},
      {"min", "$2", arrow::date32(), arrow::date32()},
      {"max", "$1", arrow::utf8(), arrow::utf8()},
      {"max", "$6", arrow::float32(), arrow::float32()},
      {"stddev", "$3", arrow::float64(), arrow::float64()},
      {"var_pop", "$0", arrow::float64(), arrow::float64()},
      {"bool_and", "$4", arrow::boolean(), arrow::boolean()},
      {"every", "'true'", arrow::boolean(), arrow::boolean()},
      {"first", "$9", arrow::map(arrow::utf8(), arrow::int32()), nullptr},
      {"array_agg", "$2", arrow::list(arrow::date32()), arrow::date32()},
      {"max", "'x'", arrow::utf8(), arrow::utf8()},
      {"count", "null", arrow::int64(), arrow::utf8()},
      {"max", "$10", arrow::utf8(), nullptr},
  };
  for (const auto& expected : cases) {
    const AggregateCall call = Make(expected.name, {expected.argument});
    EXPECT_TRUE(call.type->Equals(*expected.type)) << call.ToString() << " is " << call.type->ToString();
    if (expected.argument_type == nullptr) continue;
    EXPECT_TRUE(call.arguments[0]->type()->Equals(*expected.argument_type))
        << call.ToString() << " takes " << call.arguments[0]->type()->ToString();
  }
}

TEST(Aggregate, AverageIsTypedAsTheDivision) {
  for (const char* argument : {"$3", "$5", "$8"}) {
    const AggregateCall sum = Make("sum", {argument});
    const auto quotient =
        MakeCall("/", {std::make_shared<ColumnExpr>(0, "s", sum.type), std::make_shared<ColumnExpr>(1, "c", arrow::int64())})
            .ValueOrDie();
    EXPECT_TRUE(Make("avg", {argument}).type->Equals(*quotient->type()));
  }
}

TEST(Aggregate, ToStringIsSql) {
  EXPECT_EQ(MakeAggregate("count", {}, /*star=*/true, {}).ValueOrDie().ToString(), "count(*)");
  EXPECT_EQ(Make("stddev", {"$0"}).ToString(), "stddev_samp(CAST(i AS double precision))");
  AggregateCall call = Make("string_agg", {"$1", "', '"});
  call.distinct = true;
  call.order_by = {{Parse("$1"), true, false}, {Parse("$0"), false, false}, {Parse("$2"), true, true}};
  call.filter = Parse("(> $0 0)");
  EXPECT_EQ(call.ToString(), "string_agg(DISTINCT t, ', ' ORDER BY t DESC NULLS LAST, i, d DESC) FILTER (WHERE i > 0)");
}

TEST(Aggregate, ErrorsHavePostgresWords) {
  EXPECT_EQ(ErrorOf("sum", {"$1"}),
            "function sum(text) does not exist; no candidate matches the argument types, explicit casts may help");
  EXPECT_EQ(ErrorOf("sum", {"'1'"}), "function sum(unknown) is not unique; explicit casts may help");
  EXPECT_EQ(ErrorOf("sum", {"$0", "$0"}),
            "function sum(integer, integer) does not exist; no candidate matches the argument types, explicit casts may help");
  EXPECT_EQ(ErrorOf("sum", {}, /*star=*/true),
            "function sum() does not exist; no candidate matches the argument types, explicit casts may help");
  EXPECT_NE(ErrorOf("max", {"$9"}).find("does not exist"), std::string::npos);
  EXPECT_NE(ErrorOf("string_agg", {"$0", "','"}).find("does not exist"), std::string::npos);
  EXPECT_NE(ErrorOf("string_agg", {"$1"}).find("does not exist"), std::string::npos);
  EXPECT_NE(ErrorOf("bool_or", {"$0"}).find("does not exist"), std::string::npos);
  EXPECT_NE(ErrorOf("stddev", {"$7"}).find("does not exist"), std::string::npos);
  EXPECT_EQ(ErrorOf("median", {"$0"}), "function median(integer) does not exist");
}

TEST(Aggregate, NamesAreKnown) {
  EXPECT_TRUE(IsAggregateName("count"));
  EXPECT_TRUE(IsAggregateName("every"));
  EXPECT_FALSE(IsAggregateName("abs"));
  for (const std::string_view name : AggregateNames()) EXPECT_TRUE(IsAggregateName(name));
}

TEST(Aggregate, TransformAndEquals) {
  AggregateCall call = Make("array_agg", {"$0"});
  call.order_by = {{Parse("$2"), false, false}};
  call.filter = Parse("$4");
  EXPECT_TRUE(Equals(call, call));
  int seen = 0;
  const auto same = TransformAggregate(call, [&](const ExprPtr& e) -> arrow::Result<ExprPtr> {
                      ++seen;
                      return e;
                    }).ValueOrDie();
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(Equals(call, same));
  const auto moved = TransformAggregate(call, [](const ExprPtr& e) { return RemapColumns(e, {7, 1, 2, 3, 4}); }).ValueOrDie();
  EXPECT_FALSE(Equals(call, moved));
  EXPECT_EQ(ReferencedColumns(*moved.arguments[0]), std::vector<int>{7});
  const auto wrong = TransformAggregate(call, [](const ExprPtr&) -> arrow::Result<ExprPtr> { return Parse("$1"); });
  EXPECT_EQ(GetErrorKind(wrong.status()), ErrorKind::kInternal);
  AggregateCall other = call;
  other.distinct = true;
  EXPECT_FALSE(Equals(call, other));
  other = call;
  other.filter = nullptr;
  EXPECT_FALSE(Equals(call, other));
  other = call;
  other.order_by[0].descending = true;
  EXPECT_FALSE(Equals(call, other));
}

}  // namespace
}  // namespace icebound::expr
