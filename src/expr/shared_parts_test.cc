// SPDX-License-Identifier: Apache-2.0
#include "expr/shared_parts.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <arrow/testing/gtest_util.h>
#include <gtest/gtest.h>

#include "expr/evaluate.h"
#include "expr/test_language.h"

namespace icebound::expr {
namespace {

class SharedPartsTest : public ::testing::Test {
 protected:
  const std::shared_ptr<arrow::Schema> schema_ =
      arrow::schema({arrow::field("p", arrow::decimal128(15, 2)), arrow::field("d", arrow::decimal128(15, 2))});
  const std::shared_ptr<arrow::RecordBatch> batch_ =
      arrow::RecordBatch::Make(schema_, 3, {FromJson(R"(["10.00", "20.00", null])"), FromJson(R"(["0.10", "0.00", "0.50"])")});

  static std::shared_ptr<arrow::Array> FromJson(const char* json) {
    return arrow::json::ArrayFromJSONString(arrow::decimal128(15, 2), json).ValueOrDie();
  }
  ExprPtr Column(int i) const { return MakeColumn(i, *schema_->field(i)); }
  static ExprPtr Call(const char* name, std::vector<ExprPtr> arguments) {
    return MakeCall(name, std::move(arguments)).ValueOrDie();
  }
  static ExprPtr Number(int64_t value) { return MakeLiteral(arrow::MakeScalar(value)); }
  ExprPtr Discounted() const { return Call("*", {Column(0), Call("-", {Number(1), Column(1)})}); }
};

TEST_F(SharedPartsTest, EqualPartsHaveOneNumber) {
  const ExprPtr alone = Discounted();
  const ExprPtr inside = Discounted();
  const ExprPtr taxed = Call("*", {inside, Call("+", {Number(1), Column(1)})});
  const SharedParts parts({alone, taxed});
  EXPECT_EQ(parts.count(), 2u) << "p * (1 - d), and 1 - d within it";
  EXPECT_GE(parts.NumberOf(*alone), 0);
  EXPECT_EQ(parts.NumberOf(*alone), parts.NumberOf(*inside));
  EXPECT_EQ(parts.NumberOf(*taxed), -1);
  EXPECT_EQ(parts.NumberOf(*Column(0)), -1);
}

TEST_F(SharedPartsTest, ConstantsAndRandomNumbersAreNoParts) {
  const auto noise = [&] { return Call("+", {Call("*", {Column(0), Column(1)}), Call("random", {})}); };
  EXPECT_EQ(SharedParts({Call("+", {Number(1), Number(2)}), Call("+", {Number(1), Number(2)})}).count(), 0u);
  const ExprPtr noisy = noise();
  EXPECT_EQ(SharedParts({noisy, noise()}).NumberOf(*noisy), -1);
}

TEST_F(SharedPartsTest, ValuesAreThoseWithoutParts) {
  const ExprPtr taxed = Call("*", {Discounted(), Call("+", {Number(1), Column(1)})});
  // Divides by zero in the second row, if a branch were evaluated for it.
  const auto inverse = [&] { return Call("/", {Number(1), Column(1)}); };
  const ExprPtr guarded =
      MakeCase({Call("<>", {Column(1), Number(0)})}, {inverse()}, Call("-", {Discounted(), Number(3)})).ValueOrDie();
  const ExprPtr guarded_again =
      MakeCase({Call("=", {Column(1), Number(0)})}, {Number(0)}, Call("*", {inverse(), Discounted()})).ValueOrDie();
  const std::vector<ExprPtr> exprs{Discounted(), taxed, guarded, Call("-", {Discounted(), Column(1)}), guarded_again};
  const SharedParts parts(exprs);
  EXPECT_GE(parts.count(), 3u);
  PartValues values(parts);
  EvalContext with_parts = TestContext();
  with_parts.parts = &values;
  for (int run = 0; run < 2; ++run) {
    for (const ExprPtr& expr : exprs) {
      ASSERT_OK_AND_ASSIGN(const auto expected, EvaluateToArray(*expr, *batch_, TestContext()));
      ASSERT_OK_AND_ASSIGN(const auto actual, EvaluateToArray(*expr, *batch_, with_parts));
      EXPECT_TRUE(actual->Equals(*expected)) << expr->ToString() << ": " << actual->ToString();
    }
  }
  const arrow::Datum* kept = values.Find(*exprs[0]);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->length(), 3);
}

}  // namespace
}  // namespace icebound::expr
