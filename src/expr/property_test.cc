// SPDX-License-Identifier: Apache-2.0
//
// Random batches against naive models: arithmetic and comparison against exact scalar arithmetic in 256 bits, logic against a
// table, and any expression over a batch against the same expression over its rows one at a time.
#include <arrow/compute/api.h>
#include <arrow/util/decimal.h>

#include <cmath>
#include <optional>
#include <random>

#include "expr/evaluate.h"
#include "expr/functions.h"
#include "expr/test_language.h"

namespace icebound::expr {
namespace {

using arrow::Decimal256;
using std::optional;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(engine_); }
  int64_t Bits() { return static_cast<int64_t>(engine_()); }
  /// Small, close to the bounds of a type of `bits` bits, or anything.
  int64_t Integer(int bits) {
    const int64_t max = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
    switch (Pick(4)) {
      case 0:
        return Pick(21) - 10;
      case 1:
        return Pick(2) == 0 ? max - Pick(3) : -max - 1 + Pick(3);
      default:
        return Bits() >> (64 - bits);
    }
  }
  /// A value of up to `digits` digits.
  Int128 Decimal(int digits) {
    const int used = 1 + Pick(digits);
    Int128 value = 0;
    for (int i = 0; i < used; ++i) value = value * 10 + Pick(10);
    return Pick(2) == 0 ? value : -value;
  }
  double Double() {
    static const double kSpecial[] = {0, -0.0, 1, -1, 0.1, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, NAN, 2.5};
    return Pick(2) == 0 ? kSpecial[Pick(12)] : std::ldexp(static_cast<double>(Bits()), -Pick(80));
  }

 private:
  std::mt19937_64 engine_;
};

/// A column whose array starts inside a larger one.
std::shared_ptr<arrow::Array> Sliced(const std::shared_ptr<arrow::Array>& array) { return array->Slice(3); }

template <typename T>
std::shared_ptr<arrow::Array> MakePrimitive(const TypePtr& type, const std::vector<optional<T>>& values) {
  auto builder = arrow::MakeBuilder(type).ValueOrDie();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(builder->AppendEmptyValue().ok());
  for (const auto& value : values) {
    if (!value) {
      EXPECT_TRUE(builder->AppendNull().ok());
      continue;
    }
    if constexpr (std::is_same_v<T, Int128>) {
      EXPECT_TRUE(builder
                      ->AppendScalar(*ScalarFromText(
                                          [&] {
                                            std::string text;
                                            AppendDecimal(*value, static_cast<const arrow::DecimalType&>(*type).scale(), &text);
                                            return text;
                                          }(),
                                          type)
                                          .ValueOrDie())
                      .ok());
    } else {
      EXPECT_TRUE(builder->AppendScalar(*arrow::MakeScalar(type, *value).ValueOrDie()).ok());
    }
  }
  return Sliced(builder->Finish().ValueOrDie());
}

/// left op right, as arrays or with one side constant; the value or the error of the whole batch.
arrow::Result<std::shared_ptr<arrow::Array>> RunPair(const char* op, const std::shared_ptr<arrow::Array>& left,
                                                     const std::shared_ptr<arrow::Array>& right) {
  const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("l", left->type()), arrow::field("r", right->type())}),
                                              left->length(), {left, right});
  ARROW_ASSIGN_OR_RAISE(auto call,
                        MakeCall(op, {MakeColumn(0, *batch->schema()->field(0)), MakeColumn(1, *batch->schema()->field(1))}));
  return EvaluateToArray(*call, *batch, TestContext());
}

// --- integers ----------------------------------------------------------------------------------------------------------------

optional<Int128> IntegerModel(const std::string& op, Int128 a, Int128 b, std::string* error) {
  if ((op == "/" || op == "%") && b == 0) {
    *error = "division by zero";
    return std::nullopt;
  }
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  return op == "/" ? a / b : a % b;
}

template <typename T>
void CheckIntegers(Random* random, const TypePtr& type) {
  const char* op = std::vector<const char*>{"+", "-", "*", "/", "%"}[random->Pick(5)];
  const int rows = 1 + random->Pick(1200);
  const bool tame = random->Pick(2) == 0;  // No overflow, so that whole results are compared, too.
  std::vector<optional<T>> left(rows), right(rows);
  std::vector<optional<Int128>> expected(rows);
  std::string error;
  for (int i = 0; i < rows; ++i) {
    if (random->Pick(5) > 0) left[i] = static_cast<T>(tame ? random->Pick(181) - 90 : random->Integer(sizeof(T) * 8));
    if (random->Pick(5) > 0) right[i] = static_cast<T>(tame ? random->Pick(181) - 90 : random->Integer(sizeof(T) * 8));
    if (tame && right[i] == T{0}) right[i] = T{7};
    if (!left[i] || !right[i]) continue;
    std::string row_error;
    expected[i] = IntegerModel(op, *left[i], *right[i], &row_error);
    if (expected[i] && *expected[i] != static_cast<T>(*expected[i])) row_error = SqlTypeName(*type) + " out of range";
    if (error.empty()) error = row_error;
  }
  const auto result = RunPair(op, MakePrimitive<T>(type, left), MakePrimitive<T>(type, right));
  if (!error.empty()) {
    ASSERT_EQ(result.status().message(), error) << op;
    return;
  }
  ASSERT_TRUE(result.ok()) << op << result.status().ToString();
  ASSERT_TRUE((*result)->ValidateFull().ok());
  for (int i = 0; i < rows; ++i) {
    ASSERT_EQ((*result)->IsNull(i), !expected[i].has_value());
    if (expected[i])
      ASSERT_TRUE(static_cast<const typename arrow::CTypeTraits<T>::ArrayType&>(**result).Value(i) == *expected[i]) << op << i;
  }
}

TEST(Property, IntegerArithmetic) {
  Random random(1);
  for (int i = 0; i < 150 && !HasFailure(); ++i) {
    CheckIntegers<int16_t>(&random, arrow::int16());
    CheckIntegers<int32_t>(&random, arrow::int32());
    CheckIntegers<int64_t>(&random, arrow::int64());
  }
}

// --- decimals ----------------------------------------------------------------------------------------------------------------

Decimal256 Wide(Int128 value, int shift) {
  Decimal256 wide(arrow::Decimal128(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value)));
  return shift == 0 ? wide : Decimal256(wide * Decimal256::GetScaleMultiplier(shift));
}

Decimal256 DivideRounded(const Decimal256& a, const Decimal256& b) {
  const Decimal256 quotient(a / b), rest(a % b);
  const bool negative = (a.Sign() < 0) != (b.Sign() < 0);
  const Decimal256 twice(Decimal256(Decimal256::Abs(rest)) * Decimal256(2));
  if (twice < Decimal256(Decimal256::Abs(b))) return quotient;
  return Decimal256(quotient + Decimal256(negative ? -1 : 1));
}

/// What the operation is at the result's scale; nullopt for division by zero.
optional<Decimal256> DecimalModel(const std::string& op, Int128 a, int a_scale, Int128 b, int b_scale, int scale) {
  if (op == "*") {
    const Decimal256 product(Wide(a, 0) * Wide(b, 0));
    const int reduce = a_scale + b_scale - scale;
    return reduce == 0 ? product : DivideRounded(product, Decimal256(Decimal256::GetScaleMultiplier(reduce)));
  }
  if (op == "/") {
    if (b == 0) return std::nullopt;
    return DivideRounded(Wide(a, scale - a_scale + b_scale), Wide(b, 0));
  }
  const Decimal256 left = Wide(a, scale - a_scale), right = Wide(b, scale - b_scale);
  if (op == "+") return Decimal256(left + right);
  if (op == "-") return Decimal256(left + Decimal256(-right));
  if (b == 0) return std::nullopt;
  return Decimal256(left % right);
}

struct RandomDecimals {
  TypePtr type;
  std::vector<optional<Int128>> values;
};

RandomDecimals MakeDecimals(Random* random, int rows, bool integers) {
  static const int kDigits[] = {1, 5, 9, 15, 18, 19, 25, 30, 38};
  const int precision = kDigits[random->Pick(9)];
  const int scale = integers ? 0 : random->Pick(std::min(precision, 20) + 1);
  RandomDecimals decimals{DecimalType(precision, scale, random->Pick(2) == 0), std::vector<optional<Int128>>(rows)};
  const int used = random->Pick(2) == 0 ? precision : std::min(precision, 6);
  for (auto& value : decimals.values) {
    if (random->Pick(6) > 0) value = random->Decimal(used);
  }
  return decimals;
}

void CheckDecimals(Random* random) {
  const std::string op = std::vector<const char*>{"+", "-", "*", "/", "%"}[random->Pick(5)];
  const int rows = 1 + random->Pick(600);
  const RandomDecimals left = MakeDecimals(random, rows, false), right = MakeDecimals(random, rows, random->Pick(3) == 0);
  const auto& left_type = static_cast<const arrow::DecimalType&>(*left.type);
  const auto& right_type = static_cast<const arrow::DecimalType&>(*right.type);
  const auto result =
      RunPair(op.c_str(), MakePrimitive<Int128>(left.type, left.values), MakePrimitive<Int128>(right.type, right.values));
  const auto call =
      MakeCall(op, {MakeColumn(0, *arrow::field("l", left.type)), MakeColumn(1, *arrow::field("r", right.type))}).ValueOrDie();
  const auto& type = static_cast<const arrow::DecimalType&>(*call->type());
  SCOPED_TRACE(left.type->ToString() + " " + op + " " + right.type->ToString() + " -> " + type.ToString());
  std::vector<optional<Decimal256>> expected(rows);
  std::string error;
  for (int i = 0; i < rows && error.empty(); ++i) {
    if (!left.values[i] || !right.values[i]) continue;
    expected[i] = DecimalModel(op, *left.values[i], left_type.scale(), *right.values[i], right_type.scale(), type.scale());
    if (!expected[i]) error = "division by zero";
    if (expected[i] && !expected[i]->FitsInPrecision(type.precision())) error = "numeric field overflow";
  }
  if (!error.empty()) {
    ASSERT_EQ(result.status().message(), error);
    return;
  }
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  ASSERT_TRUE((*result)->ValidateFull().ok()) << (*result)->ValidateFull().ToString();
  const auto wide = arrow::compute::Cast(**result, arrow::decimal256(76, type.scale())).ValueOrDie();
  for (int i = 0; i < rows; ++i) {
    ASSERT_EQ(wide->IsNull(i), !expected[i].has_value());
    if (expected[i]) ASSERT_EQ(Decimal256(static_cast<const arrow::Decimal256Array&>(*wide).GetValue(i)), *expected[i]) << i;
  }
}

TEST(Property, DecimalArithmetic) {
  Random random(2);
  for (int i = 0; i < 600 && !HasFailure(); ++i) CheckDecimals(&random);
}

// --- comparison --------------------------------------------------------------------------------------------------------------

/// -1, 0, 1 by the naive order; expected answers of the operators follow.
void CheckOrder(const std::shared_ptr<arrow::Array>& left, const std::shared_ptr<arrow::Array>& right,
                const std::vector<optional<int>>& order, const std::vector<std::pair<bool, bool>>& nulls) {
  const std::pair<const char*, bool (*)(int)> operators[] = {
      {"=", [](int o) { return o == 0; }},  {"<>", [](int o) { return o != 0; }}, {"<", [](int o) { return o < 0; }},
      {"<=", [](int o) { return o <= 0; }}, {">", [](int o) { return o > 0; }},   {">=", [](int o) { return o >= 0; }}};
  for (const auto& [op, holds] : operators) {
    const auto result = RunPair(op, left, right);
    ASSERT_TRUE(result.ok()) << op << result.status().ToString();
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ((*result)->IsNull(i), !order[i].has_value()) << op << i;
      if (order[i]) ASSERT_EQ(static_cast<const arrow::BooleanArray&>(**result).Value(i), holds(*order[i])) << op << " row " << i;
    }
  }
  const auto distinct = RunPair("is_distinct_from", left, right).ValueOrDie();
  for (size_t i = 0; i < order.size(); ++i) {
    const bool expected = nulls[i].first != nulls[i].second || (order[i] && *order[i] != 0);
    ASSERT_FALSE(distinct->IsNull(i));
    ASSERT_EQ(static_cast<const arrow::BooleanArray&>(*distinct).Value(i), expected) << i;
  }
}

template <typename L, typename R, typename Order>
void CheckComparison(const std::shared_ptr<arrow::Array>& left, const std::shared_ptr<arrow::Array>& right,
                     const std::vector<optional<L>>& left_values, const std::vector<optional<R>>& right_values, Order order_of) {
  std::vector<optional<int>> order(left_values.size());
  std::vector<std::pair<bool, bool>> nulls;
  for (size_t i = 0; i < order.size(); ++i) {
    nulls.emplace_back(!left_values[i], !right_values[i]);
    if (left_values[i] && right_values[i]) order[i] = order_of(*left_values[i], *right_values[i]);
  }
  CheckOrder(left, right, order, nulls);
}

TEST(Property, DecimalComparison) {
  Random random(3);
  for (int round = 0; round < 100 && !HasFailure(); ++round) {
    const int rows = 1 + random.Pick(700);
    const RandomDecimals left = MakeDecimals(&random, rows, false), right = MakeDecimals(&random, rows, false);
    const int a = static_cast<const arrow::DecimalType&>(*left.type).scale(),
              b = static_cast<const arrow::DecimalType&>(*right.type).scale();
    CheckComparison(MakePrimitive<Int128>(left.type, left.values), MakePrimitive<Int128>(right.type, right.values), left.values,
                    right.values, [&](Int128 x, Int128 y) {
                      const Decimal256 l = Wide(x, std::max(a, b) - a), r = Wide(y, std::max(a, b) - b);
                      return l < r ? -1 : (r < l ? 1 : 0);
                    });
  }
}

TEST(Property, FloatComparison) {
  Random random(4);
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    std::vector<optional<double>> left(1 + random.Pick(900)), right(left.size());
    for (auto* side : {&left, &right}) {
      for (auto& value : *side) {
        if (random.Pick(6) > 0) value = random.Double();
      }
    }
    CheckComparison(MakePrimitive<double>(arrow::float64(), left), MakePrimitive<double>(arrow::float64(), right), left, right,
                    [](double x, double y) {
                      if (std::isnan(x) || std::isnan(y))
                        return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
                      return x < y ? -1 : (x > y ? 1 : 0);
                    });
  }
}

TEST(Property, TextComparison) {
  Random random(5);
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    std::vector<optional<std::string>> left(1 + random.Pick(600)), right(left.size());
    arrow::StringBuilder builders[2];
    std::shared_ptr<arrow::Array> arrays[2];
    std::vector<optional<std::string>>* sides[2] = {&left, &right};
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(builders[side].Append("before").ok());
      for (auto& value : *sides[side]) {
        if (random.Pick(6) == 0) {
          ASSERT_TRUE(builders[side].AppendNull().ok());
          continue;
        }
        value.emplace();
        for (int i = random.Pick(4); i > 0; --i) value->push_back("abA z\xC3\xA9"[random.Pick(5)]);
        ASSERT_TRUE(builders[side].Append(*value).ok());
      }
      arrays[side] = Sliced(builders[side].Finish().ValueOrDie());
    }
    CheckComparison(arrays[0], arrays[1], left, right,
                    [](const std::string& x, const std::string& y) { return x < y ? -1 : (x > y ? 1 : 0); });
    CheckComparison(arrow::compute::DictionaryEncode(arrays[0]).ValueOrDie().make_array(), arrays[1], left, right,
                    [](const std::string& x, const std::string& y) { return x < y ? -1 : (x > y ? 1 : 0); });
  }
}

// --- any expression: a batch is its rows -------------------------------------------------------------------------------------

class RowByRow {
 public:
  explicit RowByRow(uint32_t seed) : random_(seed) {
    schema_ = arrow::schema({arrow::field("i", arrow::int32()), arrow::field("j", arrow::int32()),
                             arrow::field("s", arrow::utf8()), arrow::field("t", arrow::dictionary(arrow::int8(), arrow::utf8())),
                             arrow::field("d", arrow::decimal64(6, 2)), arrow::field("b", arrow::boolean()),
                             arrow::field("u", arrow::date32())});
  }

  void Run() {
    MakeBatch();
    for (int i = 0; i < 30 && !testing::Test::HasFailure(); ++i) {
      const std::string text = Boolean(4);
      SCOPED_TRACE(text);
      Check(text);
    }
  }
  int errors() const { return errors_; }

 private:
  int Pick(int count) { return random_.Pick(count); }

  void Check(const std::string& text) {
    const auto expr = ParseTest(text, schema_.get());
    ASSERT_TRUE(expr.ok()) << expr.status().ToString();
    const auto whole = EvaluateToArray(**expr, *batch_, TestContext());
    bool any_error = false;
    std::string kept_rows;
    for (int64_t row = 0; row < batch_->num_rows(); ++row) {
      const auto single = EvaluateToArray(**expr, *batch_->Slice(row, 1), TestContext());
      any_error |= !single.ok();
      if (!single.ok()) continue;
      if (whole.ok()) ASSERT_TRUE((*single)->RangeEquals(**whole, 0, 1, row)) << row << "\n" << (*whole)->ToString();
      if ((*single)->IsValid(0) && static_cast<const arrow::BooleanArray&>(**single).Value(0))
        kept_rows += std::to_string(row) + " ";
    }
    ASSERT_EQ(any_error, !whole.ok()) << whole.status().ToString();
    const auto kept = Filter(**expr, batch_, TestContext());
    // A filter may leave rows out before the conjunct that would have failed for them, but never fails where evaluation does not.
    if (!kept.ok()) ++errors_;
    ASSERT_TRUE(kept.ok() || any_error);
    if (any_error) return;
    std::string filtered;
    if (*kept != nullptr) {
      ASSERT_TRUE((*kept)->ValidateFull().ok());
      for (int64_t i = 0; i < (*kept)->num_rows(); ++i)
        filtered += (*kept)->column(7)->GetScalar(i).ValueOrDie()->ToString() + " ";
    }
    ASSERT_EQ(filtered, kept_rows);
  }

  std::string Integer(int depth) {
    const int kind = Pick(depth > 0 ? 9 : 3);
    if (kind == 0) return std::to_string(Pick(7) - 3);
    if (kind < 3) return Pick(2) == 0 ? "$0" : "$1";
    if (kind < 6) return std::string("(") + "+-*/%"[Pick(5)] + " " + Integer(depth - 1) + " " + Integer(depth - 1) + ")";
    if (kind == 6) return "(case " + Boolean(depth - 1) + " " + Integer(depth - 1) + " " + Integer(depth - 1) + ")";
    if (kind == 7) return "(coalesce " + Integer(depth - 1) + " " + Integer(depth - 1) + ")";
    return Pick(2) == 0 ? "(length " + Text(depth - 1) + ")" : "(cast (extract 'day' $6) integer)";
  }
  std::string Text(int depth) {
    const int kind = Pick(depth > 0 ? 8 : 3);
    if (kind == 0) return std::vector<const char*>{"'a'", "'ab'", "''", "'b%'"}[Pick(4)];
    if (kind < 3) return Pick(2) == 0 ? "$2" : "$3";
    if (kind == 3) return "(upper " + Text(depth - 1) + ")";
    if (kind == 4) return "(|| " + Text(depth - 1) + " " + Text(depth - 1) + ")";
    if (kind == 5) return "(substring " + Text(depth - 1) + " " + Integer(0) + " " + Integer(0) + ")";
    if (kind == 6)
      return "(case " + Boolean(depth - 1) + " " + Text(depth - 1) + " " + Boolean(depth - 1) + " " + Text(depth - 1) + ")";
    return "(coalesce " + Text(depth - 1) + " " + Text(depth - 1) + ")";
  }
  std::string Decimal(int depth) {
    const int kind = Pick(depth > 0 ? 5 : 2);
    if (kind == 0) return "1.25";
    if (kind == 1) return "$4";
    if (kind == 2) return std::string("(") + "+-*/%"[Pick(5)] + " " + Decimal(depth - 1) + " " + Decimal(depth - 1) + ")";
    return "(case " + Boolean(depth - 1) + " " + Decimal(depth - 1) + " $4)";
  }
  std::string Boolean(int depth) {
    const int kind = Pick(depth > 0 ? 12 : 4);
    const std::string op = std::vector<const char*>{"=", "<>", "<", "<=", ">", ">=", "is_distinct_from"}[Pick(7)];
    if (kind == 0) return "$5";
    if (kind == 1) return "(" + op + " " + Integer(depth - 1) + " " + Integer(depth - 1) + ")";
    if (kind == 2) return "(" + op + " " + Text(depth - 1) + " " + Text(depth - 1) + ")";
    if (kind == 3) return "(" + op + " " + Decimal(depth - 1) + " " + Decimal(depth - 1) + ")";
    if (kind == 4) return "(not " + Boolean(depth - 1) + ")";
    if (kind == 5) return "(is_null " + Integer(depth - 1) + ")";
    if (kind == 6) return "(like " + Text(depth - 1) + " " + std::vector<const char*>{"'a%'", "'%b'", "'_'", "$2"}[Pick(4)] + ")";
    if (kind == 7) return "(in " + Integer(depth - 1) + " 1 2 " + (Pick(3) == 0 ? "null" : "3") + ")";
    if (kind == 8) return "(case " + Boolean(depth - 1) + " " + Boolean(depth - 1) + " " + Boolean(depth - 1) + ")";
    return std::string(Pick(2) == 0 ? "(and " : "(or ") + Boolean(depth - 1) + " " + Boolean(depth - 1) + ")";
  }

  void MakeBatch() {
    const int rows = 1 + Pick(40);
    std::vector<optional<int32_t>> i(rows), j(rows), u(rows), order(rows);
    std::vector<optional<Int128>> d(rows);
    std::vector<optional<bool>> b(rows);
    arrow::StringBuilder s, t;
    for (auto* builder : {&s, &t}) EXPECT_TRUE(builder->AppendValues({"x", "y", "z"}).ok());
    for (int row = 0; row < rows; ++row) {
      if (Pick(5) > 0) i[row] = Pick(7) - 3;
      if (Pick(5) > 0) j[row] = Pick(5) == 0 ? 2147483647 : Pick(4);
      if (Pick(5) > 0) d[row] = Pick(9999) - 5000;
      if (Pick(5) > 0) b[row] = Pick(2) == 0;
      if (Pick(5) > 0) u[row] = Pick(30000) - 10000;
      order[row] = row;
      for (auto* builder : {&s, &t}) {
        EXPECT_TRUE(
            (Pick(5) == 0 ? builder->AppendNull() : builder->Append(std::vector<const char*>{"", "a", "ab", "b", "bé"}[Pick(5)]))
                .ok());
      }
    }
    const auto text = Sliced(s.Finish().ValueOrDie());
    const auto dictionary = arrow::compute::DictionaryEncode(t.Finish().ValueOrDie()).ValueOrDie().make_array();
    const auto indices =
        arrow::compute::Cast(*static_cast<const arrow::DictionaryArray&>(*dictionary).indices(), arrow::int8()).ValueOrDie();
    const auto narrow = arrow::DictionaryArray::FromArrays(schema_->field(3)->type(), indices,
                                                           static_cast<const arrow::DictionaryArray&>(*dictionary).dictionary())
                            .ValueOrDie();
    auto fields = schema_->fields();
    fields.push_back(arrow::field("row", arrow::int32()));
    batch_ = arrow::RecordBatch::Make(
        arrow::schema(fields), rows,
        {MakePrimitive<int32_t>(arrow::int32(), i), MakePrimitive<int32_t>(arrow::int32(), j), text, Sliced(narrow),
         MakePrimitive<Int128>(arrow::decimal64(6, 2), d), MakePrimitive<bool>(arrow::boolean(), b),
         MakePrimitive<int32_t>(arrow::date32(), u), MakePrimitive<int32_t>(arrow::int32(), order)});
  }

  Random random_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int errors_ = 0;
};

TEST(Property, BatchIsItsRows) {
  int errors = 0;
  for (uint32_t seed = 0; seed < 120 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RowByRow rows(seed);
    rows.Run();
    errors += rows.errors();
  }
  EXPECT_GT(errors, 100);  // Failing expressions are part of what is compared.
}

}  // namespace
}  // namespace icebound::expr
