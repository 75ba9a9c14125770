// SPDX-License-Identifier: Apache-2.0
#include "exec/join/hash_join_operator.h"

#include <arrow/compute/cast.h>
#include <gmock/gmock.h>

#include "exec/join/hash_join.h"
#include "exec/join/join_testing.h"
#include "icebound/error.h"
#include "row/hash.h"

namespace icebound::exec {
namespace {

using namespace join::test;  // NOLINT: this folder's own

/// How much memory there is, and what that does to a join of some thousand rows.
struct Way {
  std::string name;
  int64_t granted_bytes;
  bool force_spill;
  int threads;
  bool build_left;
};

std::vector<Way> AllWays() {
  std::vector<Way> ways;
  for (const bool build_left : {false, true}) {
    for (const int threads : {1, 2}) {
      const std::string suffix = std::string(threads == 1 ? "OneThread" : "TwoThreads") + (build_left ? "Left" : "Right");
      ways.push_back({"InMemory" + suffix, 48 * kMiB, false, threads, build_left});
      ways.push_back({"OneSpill" + suffix, 1 * kMiB, false, threads, build_left});
      ways.push_back({"ManySpills" + suffix, kMiB / 2, false, threads, build_left});
      ways.push_back({"SpillAfterEachBatch" + suffix, 48 * kMiB, true, threads, build_left});
    }
  }
  return ways;
}

/// A join to run, and what the model thinks of it.
struct Case {
  Table left;
  Table right;
  expr::JoinCondition condition;
  Matches matches;
  int left_key = -1;  // the only key, when the null-aware types may be asked for
  int right_key = -1;
};

struct RunStats {
  int64_t spilled_bytes = 0;
  int64_t spill_levels = 0;
  int64_t peak_bytes = 0;
  int64_t rows = 0;
};

arrow::Result<std::unique_ptr<HashJoinOperator>> MakeJoin(World* world, const Table& left, const Table& right, JoinType type,
                                                          const expr::JoinCondition& condition, bool build_left, int streams) {
  return HashJoinOperator::Make(&world->context,
                                std::make_unique<BatchesOperator>(&world->context, left.schema, left.batches, streams),
                                std::make_unique<BatchesOperator>(&world->context, right.schema, right.batches, streams), type,
                                condition, build_left, OutputSchema(left, right, type));
}

arrow::Result<arrow::RecordBatchVector> RunJoin(World* world, const Case& test, JoinType type, bool build_left, int streams,
                                                RunStats* stats = nullptr) {
  ARROW_ASSIGN_OR_RAISE(auto join, MakeJoin(world, test.left, test.right, type, test.condition, build_left, streams));
  ARROW_RETURN_NOT_OK(join->Prepare());
  ARROW_ASSIGN_OR_RAISE(auto output, ReadAll(world, join.get()));
  if (stats != nullptr) {
    stats->spilled_bytes = join->metrics().spilled_bytes;
    stats->spill_levels = join->metrics().spill_levels;
    stats->peak_bytes = join->metrics().peak_bytes;
    stats->rows = join->metrics().rows;
  }
  return output;
}

/// Columns: k int32, s text, d decimal, x double, n int64 (the row's number), w text of any length.
Table RandomTable(Random& random, int64_t rows, int64_t key_values, double nulls, bool as_dictionary) {
  const auto maybe = [&](auto value) -> std::optional<decltype(value)> {
    if (std::uniform_real_distribution<>(0, 1)(random) < nulls) return std::nullopt;
    return value;
  };
  arrow::Decimal128Builder decimals(arrow::decimal128(15, 2));
  arrow::DoubleBuilder doubles;
  const std::vector<double> values = {0.0, -0.0, 1.5, std::nan(""), -std::nan(""), INFINITY};
  for (int64_t i = 0; i < rows; ++i) {
    const auto decimal = maybe(Uniform(random, -2, 2));
    EXPECT_TRUE((decimal ? decimals.Append(arrow::Decimal128(*decimal)) : decimals.AppendNull()).ok());
    const auto number = maybe(values[static_cast<size_t>(Uniform(random, 0, 5))]);
    EXPECT_TRUE((number ? doubles.Append(*number) : doubles.AppendNull()).ok());
  }
  auto texts = Texts(rows, [&](int64_t) { return maybe(std::string(static_cast<size_t>(Uniform(random, 0, 3)), 'a')); });
  if (as_dictionary) texts = arrow::compute::Cast(*texts, arrow::dictionary(arrow::int32(), arrow::utf8())).ValueOrDie();
  arrow::ArrayVector columns = {
      Integers(
          rows, [&](int64_t) { return maybe(Uniform(random, 0, key_values - 1)); }, arrow::int32()),
      texts,
      decimals.Finish().ValueOrDie(),
      doubles.Finish().ValueOrDie(),
      Integers(rows, [&](int64_t i) { return std::optional<int64_t>(i); }),
      Texts(rows, [&](int64_t) { return maybe(std::string(static_cast<size_t>(Uniform(random, 0, 120)), 'w')); })};
  return MakeTable(
      {arrow::field("k", arrow::int32()), arrow::field("s", texts->type()), arrow::field("d", arrow::decimal128(15, 2)),
       arrow::field("x", arrow::float64()), arrow::field("n", arrow::int64(), false), arrow::field("w", arrow::utf8())},
      std::move(columns), Uniform(random, 40, 130));
}

constexpr int kK = 0;
constexpr int kS = 1;
constexpr int kD = 2;
constexpr int kX = 3;
constexpr int kN = 4;

bool EqualText(const ModelRow& left, const ModelRow& right, int column) {
  const auto& a = left[static_cast<size_t>(column)];
  const auto& b = right[static_cast<size_t>(column)];
  return a.has_value() && b.has_value() && *a == *b;
}

bool EqualDouble(const ModelRow& left, const ModelRow& right, int column) {
  const auto& a = left[static_cast<size_t>(column)];
  const auto& b = right[static_cast<size_t>(column)];
  if (!a.has_value() || !b.has_value()) return false;
  const double x = std::stod(*a);
  const double y = std::stod(*b);
  return x == y || (std::isnan(x) && std::isnan(y));
}

bool NotDistinct(const ModelRow& left, const ModelRow& right, int column) {
  return left[static_cast<size_t>(column)] == right[static_cast<size_t>(column)];
}

class HashJoinTest : public ::testing::TestWithParam<Way> {
 protected:
  void Check(const Case& test) {
    const join::test::ModelJoin model(test.left, test.right, test.matches);
    for (const JoinType type : AllJoinTypes()) {
      const bool knows_nulls = type == JoinType::kLeftAntiNulls || type == JoinType::kLeftMarkNulls;
      if (knows_nulls && test.left_key < 0) continue;
      SCOPED_TRACE(expr::JoinTypeName(type));
      World world(GetParam().granted_bytes, GetParam().threads);
      world.context.force_spill = GetParam().force_spill;
      world.context.batch_rows = 100;
      world.context.batch_bytes = 16 << 10;
      {
        const auto output = RunJoin(&world, test, type, GetParam().build_left, GetParam().threads, &stats_);
        if (type == JoinType::kLeftSingle && model.HasSecondMatch()) {
          EXPECT_EQ(GetErrorKind(output.status()), ErrorKind::kExecution) << output.status().ToString();
          EXPECT_THAT(output.status().message(), ::testing::HasSubstr("more than one row returned by a subquery"));
        } else {
          ASSERT_OK(output.status());
          ExpectSameRows(SortedTexts(*output), model.Expected(type, test.left_key, test.right_key));
          EXPECT_EQ(stats_.rows, static_cast<int64_t>(model.Expected(type, test.left_key, test.right_key).size()));
        }
        if (GetParam().force_spill && test.left.rows() > 0 && test.right.rows() > 0) {
          EXPECT_GE(stats_.spill_levels, 1);
        }
        spill_levels_ = std::max(spill_levels_, stats_.spill_levels);
      }
      world.ExpectNothingHeld();
    }
  }

  bool in_memory() const { return GetParam().granted_bytes == 48 * kMiB && !GetParam().force_spill; }

  RunStats stats_;
  int64_t spill_levels_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Ways, HashJoinTest, ::testing::ValuesIn(AllWays()), [](const auto& info) { return info.param.name; });

TEST_P(HashJoinTest, OneIntegerKey) {
  Random random(1);
  for (const double nulls : {0.0, 0.02}) {
    Case test{RandomTable(random, 1500, 700, nulls, false), RandomTable(random, 1300, 700, nulls, false), {}, {}, kK, kK};
    test.condition.keys.push_back({ColumnOf(test.left, kK), ColumnOf(test.right, kK)});
    test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kK); };
    Check(test);
  }
}

TEST_P(HashJoinTest, UniqueKeys) {
  Random random(2);
  Case test{RandomTable(random, 1000, 700, 0.02, false), RandomTable(random, 1200, 700, 0, false), {}, {}, kN, kN};
  test.condition.keys.push_back({ColumnOf(test.left, kN), ColumnOf(test.right, kN)});
  test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kN); };
  Check(test);
}

TEST_P(HashJoinTest, SeveralKeysOfAllKinds) {
  Random random(3);
  Case test{RandomTable(random, 700, 20, 0.05, true), RandomTable(random, 600, 20, 0.05, false), {}, {}};
  test.condition.keys = {{ColumnOf(test.left, kK), ColumnOf(test.right, kK)},
                         {ColumnOf(test.left, kX), ColumnOf(test.right, kX)},
                         {ColumnOf(test.left, kS), ColumnOf(test.right, kS), /*null_safe=*/true},
                         {ColumnOf(test.left, kD), ColumnOf(test.right, kD), /*null_safe=*/true}};
  test.matches = [](const ModelRow& l, const ModelRow& r) {
    return EqualText(l, r, kK) && EqualDouble(l, r, kX) && NotDistinct(l, r, kS) && NotDistinct(l, r, kD);
  };
  Check(test);
}

TEST_P(HashJoinTest, KeyByExpressionAndTextKey) {
  Random random(4);
  Case test{RandomTable(random, 700, 60, 0.05, false), RandomTable(random, 700, 60, 0.05, true), {}, {}};
  const auto one = expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(1));
  ASSERT_OK_AND_ASSIGN(const auto next, expr::MakeCall("+", {ColumnOf(test.left, kK), one}));
  test.condition.keys = {{ColumnOf(test.left, kS), ColumnOf(test.right, kS)}, {next, ColumnOf(test.right, kK)}};
  test.matches = [](const ModelRow& l, const ModelRow& r) {
    return EqualText(l, r, kS) && l[kK] && r[kK] && std::stoi(*l[kK]) + 1 == std::stoi(*r[kK]);
  };
  Check(test);
}

TEST_P(HashJoinTest, Residual) {
  Random random(5);
  Case test{RandomTable(random, 800, 60, 0.05, true), RandomTable(random, 600, 60, 0.05, true), {}, {}};
  test.condition.keys = {{ColumnOf(test.left, kK), ColumnOf(test.right, kK)}};
  const auto right_n = expr::MakeColumn(6 + kN, *test.right.schema->field(kN));
  ASSERT_OK_AND_ASSIGN(test.condition.residual, expr::MakeCall("<", {ColumnOf(test.left, kN), right_n}));
  test.matches = [](const ModelRow& l, const ModelRow& r) {
    return EqualText(l, r, kK) && std::stoll(*l[kN]) < std::stoll(*r[kN]);
  };
  Check(test);
}

TEST_P(HashJoinTest, OneKeyHasNearlyAll) {
  Random random(6);
  Case test{RandomTable(random, 900, 1, 0.05, false), RandomTable(random, 500, 1, 0, false), {}, {}, kK, kK};
  test.condition.keys = {{ColumnOf(test.left, kK), ColumnOf(test.right, kK)}};
  test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kK); };
  // 450 000 pairs are too many for the model's texts; a residual leaves few.
  const auto right_n = expr::MakeColumn(6 + kN, *test.right.schema->field(kN));
  ASSERT_OK_AND_ASSIGN(const auto equal, expr::MakeCall("=", {ColumnOf(test.left, kN), right_n}));
  Case few = test;
  few.left_key = few.right_key = -1;
  few.condition.residual = equal;
  few.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kK) && EqualText(l, r, kN); };
  Check(few);
}

TEST_P(HashJoinTest, EmptySides) {
  Random random(7);
  const Table full = RandomTable(random, 300, 20, 0.05, false);
  const Table empty{full.schema, {}};
  for (const auto& [left, right] : {std::pair{full, empty}, {empty, full}, {empty, empty}}) {
    Case test{left, right, {}, {}, kK, kK};
    test.condition.keys = {{ColumnOf(left, kK), ColumnOf(right, kK)}};
    test.matches = [](const ModelRow&, const ModelRow&) { return false; };
    // The model takes the width of a row from the rows.
    const join::test::ModelJoin model(left, right, test.matches);
    for (const JoinType type : AllJoinTypes()) {
      SCOPED_TRACE(expr::JoinTypeName(type));
      World world(GetParam().granted_bytes, GetParam().threads);
      world.context.force_spill = GetParam().force_spill;
      {
        ASSERT_OK_AND_ASSIGN(const auto output, RunJoin(&world, test, type, GetParam().build_left, GetParam().threads));
        int64_t rows = 0;
        for (const auto& batch : output) rows += batch->num_rows();
        EXPECT_EQ(rows, [&] {
          const bool left_stays = type != JoinType::kInner && type != JoinType::kRight && type != JoinType::kLeftSemi;
          const bool right_stays = type == JoinType::kRight || type == JoinType::kFull;
          return (left_stays ? left.rows() : 0) + (right_stays ? right.rows() : 0);
        }());
      }
      world.ExpectNothingHeld();
    }
  }
}

}  // namespace
}  // namespace icebound::exec
