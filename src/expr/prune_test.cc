// SPDX-License-Identifier: Apache-2.0
#include "expr/prune.h"

#include <arrow/compute/api.h>

#include <random>

#include "expr/test_language.h"

namespace icebound::expr {
namespace {

/// Columns: $0 bigint, $1 text, $2 double, $3 date, $4 numeric(10,2), $5 boolean, $6 timestamp.
std::shared_ptr<arrow::Schema> PruneSchema() {
  return arrow::schema({arrow::field("i", arrow::int64()), arrow::field("s", arrow::utf8()), arrow::field("d", arrow::float64()),
                        arrow::field("t", arrow::date32()), arrow::field("n", arrow::decimal128(10, 2)),
                        arrow::field("b", arrow::boolean()), arrow::field("ts", arrow::timestamp(arrow::TimeUnit::MICRO))});
}

std::shared_ptr<arrow::Scalar> Value(const char* text, const TypePtr& type) { return ScalarFromText(text, type).ValueOrDie(); }

/// i in [10, 20], s in [banana, cherry], d in [1, 2] without NaN, t in 1998, n in [1.00, 2.00], b only true, ts one hour; no
/// nulls.
ColumnBounds FixedBounds(int column) {
  const auto schema = PruneSchema();
  const char* bounds[][2] = {{"10", "20"},
                             {"banana", "cherry"},
                             {"1", "2"},
                             {"1998-01-01", "1998-12-31"},
                             {"1.00", "2.00"},
                             {"true", "true"},
                             {"2020-01-01 10:00", "2020-01-01 11:00"}};
  ColumnBounds result;
  result.min = Value(bounds[column][0], schema->field(column)->type());
  result.max = Value(bounds[column][1], schema->field(column)->type());
  result.null_count = 0;
  result.value_count = 100;
  result.may_contain_nan = false;
  return result;
}

bool MayMatchText(const char* text, const std::function<ColumnBounds(int)>& bounds = FixedBounds) {
  const auto schema = PruneSchema();
  return MayMatch(*ParseTest(text, schema.get()).ValueOrDie(), bounds);
}

TEST(Prune, DropsWhatCannotMatch) {
  for (const char* text : {
           "(= $0 9)",
           "(= 21 $0)",
           "(< $0 10)",
           "(<= $0 9)",
           "(> $0 20)",
           "(>= $0 21)",
           "(> 10 $0)",
           "(<= 21 $0)",
           "(and (>= $0 5) (<= $0 9))",
           "(or (< $0 10) (> $0 20))",
           "(not (>= $0 10))",
           "(not (and (>= $0 10) (<= $0 20)))",
           "(in $0 1 2 3 21)",
           "(not_in $5 true)",
           "(in $0 null 5)",
           "(not_in $0 15 null)",
           "(is_null $0)",
           "(not (is_not_null $0))",
           "(is_unknown (= $0 5))",
           "(= $0 null)",
           "(= $1 'apple')",
           "(> $1 'd')",
           "(like $1 'd%')",
           "(like $1 'ban')",
           "(like $1 'az%x')",
           "(starts_with $1 'dog')",
           "(like $1 'a!%%' '!')",
           "(> $2 2e0)",
           "(< $2 1)",
           "(= $2 double'NaN')",
           "(< $0 9.5)",
           "(> $0 20.5e0)",
           "(< $3 date'1998-01-01')",
           "(> $3 '1998-12-31')",
           "(>= $3 timestamp'1999-01-01 00:00:00')",
           "(> $4 2)",
           "(< $4 0.995)",
           "(= $4 2.005)",
           "(not $5)",
           "(= $5 false)",
           "(is_false $5)",
           "(is_not_true $5)",
           "(= (cast $6 date) date'2020-01-02')",
           "(< (cast $0 double) 9.5e0)",
           "(> (cast $3 timestamp) timestamp'1998-12-31 00:00:01')",
           "(> $6 timestamptz'2020-01-01 11:00:01+00')",
           "(is_not_distinct_from $0 5)",
           "(is_not_distinct_from $0 null)",
           "(is_distinct_from $5 true)",
           "(and true (= $0 5))",
           "(= $0 $4)",
       }) {
    EXPECT_FALSE(MayMatchText(text)) << text;
  }
}

TEST(Prune, KeepsWhatMay) {
  for (const char* text : {
           "(= $0 10)",
           "(= $0 20)",
           "(<> $0 10)",
           "(< $0 11)",
           "(>= $0 20)",
           "(not (= $0 10))",
           "(in $0 1 15)",
           "(not_in $0 15)",
           "(is_not_null $0)",
           "(is_distinct_from $0 null)",
           "(like $1 'b%')",
           "(like $1 '%x')",
           "(like $1 '_x')",
           "(like $1 'c%')",
           "(not_like $1 'b%')",
           "(ilike $1 'D%')",
           "(like $1 'ch!%' '!')",
           "(> (+ $0 1) 100)",
           "(= (lower $1) 'apple')",
           "$5",
           "(is_true $5)",
           "(= (cast $1 bigint) 5)",
           "(= (% $0 2) 5)",
           "(= (cast $6 date) date'2020-01-01')",
           "(or (= $0 5) (= $0 15))",
           "(< $0 $4)",
           "(case (= $0 5) false true)",
           "(= (coalesce $0 5) 5)",
           "true",
           "(> $4 1.995)",
           "(= (cast $4 numeric(10,1)) 1.0)",
       }) {
    EXPECT_EQ(MayMatchText(text), std::string_view(text) != "(< $0 $4)") << text;
  }
}

TEST(Prune, UnknownBoundsKeepEverythingButNullTests) {
  const auto unknown = [](int) { return ColumnBounds{}; };
  for (const char* text :
       {"(= $0 9)", "(is_null $0)", "(is_not_null $0)", "(not $5)", "(like $1 'd%')", "(in $0 1)", "(is_unknown (= $0 5))"}) {
    EXPECT_TRUE(MayMatchText(text, unknown)) << text;
  }
  const auto only_nulls = [](int) {
    ColumnBounds bounds;
    bounds.null_count = 7;
    bounds.value_count = 7;
    return bounds;
  };
  for (const char* text : {"(= $0 9)", "(<> $0 9)", "(not (= $0 9))", "(is_not_null $0)", "$5", "(not $5)", "(like $1 'd%')",
                           "(not_like $1 'd%')", "(in $0 1)", "(not_in $0 1)", "(is_distinct_from $0 null)"}) {
    EXPECT_FALSE(MayMatchText(text, only_nulls)) << text;
  }
  EXPECT_TRUE(MayMatchText("(is_null $0)", only_nulls));
  EXPECT_TRUE(MayMatchText("(is_unknown (= $0 9))", only_nulls));
  EXPECT_TRUE(MayMatchText("(is_not_true (= $0 9))", only_nulls));
}

/// NaN is above every number, and the bounds do not know of it.
TEST(Prune, NotANumberMayHideAboveTheMaximum) {
  const auto with_nan = [](int column) {
    ColumnBounds bounds = FixedBounds(column);
    bounds.may_contain_nan = true;
    return bounds;
  };
  EXPECT_TRUE(MayMatchText("(> $2 1e9)", with_nan));
  EXPECT_TRUE(MayMatchText("(= $2 double'NaN')", with_nan));
  EXPECT_TRUE(MayMatchText("(not (<= $2 2e0))", with_nan));
  EXPECT_FALSE(MayMatchText("(< $2 1)", with_nan));
  const auto nan_bounds = [](int column) {
    ColumnBounds bounds = FixedBounds(column);
    bounds.min = bounds.max = std::make_shared<arrow::DoubleScalar>(std::nan(""));
    return bounds;
  };
  EXPECT_TRUE(MayMatchText("(< $2 1)", nan_bounds));
}

/// Random rows, bounds that hold them (exact, widened, truncated or absent), random predicates: a row that matches must never be
/// pruned away.
class PruneProperty {
 public:
  explicit PruneProperty(uint32_t seed) : random_(seed), schema_(PruneSchema()) {}

  void Run() {
    MakeRows();
    for (int i = 0; i < 40; ++i) {
      const std::string text = Predicate(3);
      const auto predicate = ParseTest(text, schema_.get());
      ASSERT_TRUE(predicate.ok()) << text << ": " << predicate.status().ToString();
      const auto kept = Filter(**predicate, batch_, TestContext());
      ASSERT_TRUE(kept.ok()) << text << ": " << kept.status().ToString();
      const bool may_match = MayMatch(**predicate, [&](int column) { return bounds_[column]; });
      if (*kept != nullptr) {
        ++matched_;
        EXPECT_TRUE(may_match) << text << "\n" << batch_->ToString();
      } else if (!may_match) {
        ++pruned_;
      }
    }
  }
  int matched() const { return matched_; }
  int pruned() const { return pruned_; }

 private:
  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  std::string Literal(int column) {
    static const std::vector<std::vector<const char*>> kValues = {
        {"-3", "0", "1", "2", "5", "9"},
        {"", "a", "ab", "abc", "b", "é"},
        {"-1.5", "0", "2", "1e9", "Infinity", "NaN"},
        {"1998-01-01", "1998-06-01", "2001-01-01"},
        {"-1.50", "0.00", "2.25", "9.99"},
        {"true", "false"},
        {"2020-01-01 00:00:00", "2020-01-01 12:00:00", "2020-01-02 00:00:00"}};
    return kValues[column][Pick(static_cast<int>(kValues[column].size()))];
  }
  std::string TypedLiteral(int column) {
    static const char* kTypes[] = {"bigint", "text", "double", "date", "", "boolean", "timestamp"};
    if (Pick(12) == 0) return "null";
    const std::string literal = Literal(column);
    if (column == 4) return literal;
    return column == 1 ? "'" + literal + "'" : std::string(kTypes[column]) + "'" + literal + "'";
  }
  /// A value of the kind of a column, sometimes behind a cast that keeps the order.
  std::string Operand(int column) {
    const std::string name = "$" + std::to_string(column);
    if (Pick(4) != 0) return name;
    if (column == 0) return "(cast " + name + (Pick(2) == 0 ? " double)" : " numeric(20,2))");
    if (column == 3) return "(cast " + name + " timestamp)";
    if (column == 4) return "(cast " + name + (Pick(2) == 0 ? " double)" : " numeric(12,1))");
    return name;
  }
  std::string Comparison() {
    static const char* kOperators[] = {"=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from"};
    const int column = Pick(7);
    const std::string op = kOperators[Pick(8)];
    const bool swapped = Pick(2) == 0;
    const std::string right = Pick(8) == 0 ? Operand(column) : TypedLiteral(column);
    return "(" + op + " " + (swapped ? right : Operand(column)) + " " + (swapped ? Operand(column) : right) + ")";
  }
  std::string Predicate(int depth) {
    const int kind = Pick(depth > 0 ? 11 : 6);
    if (kind < 2) return Comparison();
    if (kind == 2) {
      const int column = Pick(7);
      std::string list;
      for (int i = 0; i <= Pick(3); ++i) list += " " + TypedLiteral(column);
      return std::string(Pick(2) == 0 ? "(in $" : "(not_in $") + std::to_string(column) + list + ")";
    }
    if (kind == 3) {
      static const char* kPatterns[] = {"a%", "ab%", "%b", "a_%", "abc", "é%", "%", "b%%"};
      return std::string(Pick(2) == 0 ? "(like $1 '" : "(not_like $1 '") + kPatterns[Pick(8)] + "')";
    }
    if (kind == 4) return std::string(Pick(2) == 0 ? "(is_null $" : "(is_not_null $") + std::to_string(Pick(7)) + ")";
    if (kind == 5) return Pick(2) == 0 ? "$5" : "(> (+ $0 1) 3)";
    if (kind == 6) return "(not " + Predicate(depth - 1) + ")";
    if (kind == 7) {
      static const char* kTests[] = {"is_true", "is_not_true", "is_false", "is_not_false", "is_unknown", "is_not_unknown"};
      return std::string("(") + kTests[Pick(6)] + " " + Predicate(depth - 1) + ")";
    }
    return std::string(Pick(2) == 0 ? "(and " : "(or ") + Predicate(depth - 1) + " " + Predicate(depth - 1) + ")";
  }

  void MakeRows() {
    arrow::ArrayVector columns;
    bounds_.assign(7, {});
    const int num_rows = 1 + Pick(6);
    for (int column = 0; column < 7; ++column) {
      const TypePtr type = schema_->field(column)->type();
      auto builder = arrow::MakeBuilder(type).ValueOrDie();
      const int null_share = Pick(4);  // 0: none, 3: all
      std::shared_ptr<arrow::Scalar> min, max;
      bool has_nan = false;
      int64_t nulls = 0;
      for (int row = 0; row < num_rows; ++row) {
        if (Pick(3) < null_share) {
          ++nulls;
          ASSERT_TRUE(builder->AppendNull().ok());
          continue;
        }
        const auto value = ScalarFromText(Literal(column), type).ValueOrDie();
        ASSERT_TRUE(builder->AppendScalar(*value).ok());
        if (column == 2 && std::isnan(static_cast<const arrow::DoubleScalar&>(*value).value)) {
          has_nan = true;
          continue;
        }
        if (min == nullptr || Less(value, min)) min = value;
        if (max == nullptr || Less(max, value)) max = value;
      }
      columns.push_back(builder->Finish().ValueOrDie());
      ColumnBounds& bounds = bounds_[column];
      if (Pick(6) != 0) bounds.min = min;
      if (Pick(6) != 0) bounds.max = max;
      // rounded up
      if (column == 1 && bounds.max != nullptr && Pick(3) == 0) bounds.max = std::make_shared<arrow::StringScalar>("\xF4");
      if (column == 1 && bounds.min != nullptr && Pick(3) == 0) bounds.min = std::make_shared<arrow::StringScalar>("");
      if (Pick(6) != 0) bounds.null_count = nulls;
      if (Pick(6) != 0) bounds.value_count = num_rows;
      bounds.may_contain_nan = column == 2 && (has_nan || Pick(2) == 0);
    }
    batch_ = arrow::RecordBatch::Make(schema_, num_rows, std::move(columns));
  }

  static bool Less(const std::shared_ptr<arrow::Scalar>& left, const std::shared_ptr<arrow::Scalar>& right) {
    const auto less = MakeCall("<", {MakeLiteral(left), MakeLiteral(right)}).ValueOrDie();
    return static_cast<const arrow::BooleanScalar&>(*EvaluateConstant(*less, TestContext()).ValueOrDie()).value;
  }

  std::mt19937 random_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::vector<ColumnBounds> bounds_;
  int matched_ = 0, pruned_ = 0;
};

TEST(Prune, NeverDropsAMatchingRow) {
  int matched = 0, pruned = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    PruneProperty property(seed);
    property.Run();
    matched += property.matched();
    pruned += property.pruned();
    if (testing::Test::HasFailure()) break;
  }
  // The property says little when nothing matches or nothing is pruned.
  EXPECT_GT(matched, 3000);
  EXPECT_GT(pruned, 1000);
}

}  // namespace
}  // namespace icebound::expr
