// SPDX-License-Identifier: Apache-2.0
#include "exec/join/nested_loop_join_operator.h"

#include "exec/join/join_testing.h"

namespace icebound::exec {
namespace {

using namespace join::test;  // NOLINT: this folder's own

using NestedLoopJoinTest = JoinTest<NestedLoopJoinOperator>;

INSTANTIATE_TEST_SUITE_P(Ways, NestedLoopJoinTest, ::testing::ValuesIn(AllWays()),
                         [](const auto& info) { return info.param.name; });

expr::ExprPtr RightColumn(const Table& left, const Table& right, int column) {
  return expr::MakeColumn(left.schema->num_fields() + column, *right.schema->field(column));
}

TEST_P(NestedLoopJoinTest, Inequality) {
  Random random(1);
  Case test{RandomTable(random, 500, 300, 0.05, true), RandomTable(random, 400, 300, 0.05, false), {}, {}};
  const auto near = expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(290));
  // Left far above right: few pairs, and rows of both sides without any.
  ASSERT_OK_AND_ASSIGN(const auto moved, expr::MakeCall("+", {RightColumn(test.left, test.right, kK), near}));
  ASSERT_OK_AND_ASSIGN(test.condition.residual, expr::MakeCall(">", {ColumnOf(test.left, kK), moved}));
  test.matches = [](const ModelRow& l, const ModelRow& r) {
    return l[kK] && r[kK] && std::stoi(*l[kK]) > std::stoi(*r[kK]) + 290;
  };
  Check(test);
}

TEST_P(NestedLoopJoinTest, AtMostOneMatch) {
  Random random(2);
  Case test{RandomTable(random, 300, 300, 0.05, false), RandomTable(random, 250, 300, 0.05, true), {}, {}};
  ASSERT_OK_AND_ASSIGN(test.condition.residual,
                       expr::MakeCall("=", {ColumnOf(test.left, kN), RightColumn(test.left, test.right, kN)}));
  test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kN); };
  Check(test);
}

TEST_P(NestedLoopJoinTest, ConditionOnOneSide) {
  Random random(3);
  Case test{RandomTable(random, 60, 300, 0.05, false), RandomTable(random, 70, 300, 0.05, false), {}, {}};
  const auto five = expr::MakeLiteral(std::make_shared<arrow::Int64Scalar>(5));
  ASSERT_OK_AND_ASSIGN(test.condition.residual, expr::MakeCall("<", {RightColumn(test.left, test.right, kN), five}));
  test.matches = [](const ModelRow&, const ModelRow& r) { return std::stoll(*r[kN]) < 5; };
  Check(test);
}

TEST_P(NestedLoopJoinTest, CrossProduct) {
  Random random(4);
  Case test{RandomTable(random, 150, 300, 0.05, false), RandomTable(random, 90, 300, 0.05, false), {}, {}};
  test.matches = [](const ModelRow&, const ModelRow&) { return true; };
  Check(test);
}

TEST_P(NestedLoopJoinTest, EmptySides) {
  Random random(7);
  const Table full = RandomTable(random, 300, 20, 0.05, false);
  const Table empty{full.schema, {}};
  for (const auto& [left, right] : {std::pair{full, empty}, {empty, full}, {empty, empty}}) {
    Case test{left, right, {}, {}};
    for (const JoinType type : AllJoinTypes()) {
      if (type == JoinType::kLeftAntiNulls || type == JoinType::kLeftMarkNulls) continue;
      SCOPED_TRACE(expr::JoinTypeName(type));
      World world(GetParam().granted_bytes, GetParam().threads);
      world.context.force_spill = GetParam().force_spill;
      {
        ASSERT_OK_AND_ASSIGN(const auto output,
                             RunJoin<NestedLoopJoinOperator>(&world, test, type, GetParam().build_left, GetParam().threads));
        int64_t rows = 0;
        for (const auto& batch : output) rows += batch->num_rows();
        const bool left_stays = type != JoinType::kInner && type != JoinType::kRight && type != JoinType::kLeftSemi;
        const bool right_stays = type == JoinType::kRight || type == JoinType::kFull;
        EXPECT_EQ(rows, (left_stays ? left.rows() : 0) + (right_stays ? right.rows() : 0));
      }
      world.ExpectNothingHeld();
    }
  }
}

TEST_P(NestedLoopJoinTest, ItDoesSpill) {
  Random random(8);
  Case test{RandomTable(random, 60, 700, 0, false), RandomTable(random, 60, 700, 0, false), {}, {}};
  const Table large = RandomTable(random, 6000, 700, 0, false);
  (GetParam().build_left ? test.left : test.right) = large;
  ASSERT_OK_AND_ASSIGN(test.condition.residual,
                       expr::MakeCall("=", {ColumnOf(test.left, kN), RightColumn(test.left, test.right, kN)}));
  test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kN); };
  const ModelJoin model(test.left, test.right, test.matches);
  CheckType(test, model, JoinType::kFull);
  if (!in_memory()) {
    EXPECT_GE(spill_levels_, 1);
  }
}

struct Loops {
  int64_t rows = 0;
  int64_t peak_bytes = 0;
  int64_t spilled_bytes = 0;
};

arrow::Result<Loops> CountLoops(World* world, const Case& test, JoinType type, bool build_left) {
  ARROW_ASSIGN_OR_RAISE(auto join,
                        MakeJoin<NestedLoopJoinOperator>(world, test.left, test.right, type, test.condition, build_left, 2));
  ARROW_RETURN_NOT_OK(join->Prepare());
  std::atomic<int64_t> rows{0};
  ARROW_RETURN_NOT_OK(DrainInParallel(&world->context, join.get(), [&](int, BatchStream* stream) -> arrow::Status {
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const auto batch, stream->Next());
      if (batch == nullptr) return arrow::Status::OK();
      rows += batch->num_rows();
    }
  }));
  return Loops{rows, join->metrics().peak_bytes, join->metrics().spilled_bytes};
}

Table Numbers(int64_t rows, int64_t first, int64_t text_bytes) {
  return MakeTable({arrow::field("v", arrow::int64()), arrow::field("s", arrow::utf8())},
                   {Integers(rows, [&](int64_t i) { return std::optional<int64_t>(first + i); }),
                    Texts(rows, [&](int64_t) { return std::string(static_cast<size_t>(text_bytes), 'x'); })},
                   4096);
}

// A large side against one row: elsewhere the large side was concatenated. It is the build side here, the wrong way round.
TEST(NestedLoopJoin, LargeBuildSideInFlatMemory) {
  Case test{Numbers(300'000, 1, 32), Numbers(1, 200'000, 1), {}, {}};
  ASSERT_OK_AND_ASSIGN(test.condition.residual,
                       expr::MakeCall(">", {ColumnOf(test.left, 0), RightColumn(test.left, test.right, 0)}));
  for (const bool build_left : {false, true}) {
    World world(3 * kMiB, 2);
    ASSERT_OK_AND_ASSIGN(const Loops loops, CountLoops(&world, test, JoinType::kInner, build_left));
    EXPECT_EQ(loops.rows, 100'000);
    EXPECT_LE(loops.peak_bytes, 5 * kMiB);
    EXPECT_EQ(loops.spilled_bytes > 0, build_left);
  }
}

// A child that can be run only once (BatchesOperator insists) on both sides, the build side as large as memory.
TEST(NestedLoopJoin, NoChildIsRunTwice) {
  constexpr int64_t kRows = 2500;
  Case test{Numbers(kRows, 0, 100), Numbers(kRows, 0, 100), {}, {}};
  const auto right = RightColumn(test.left, test.right, 0);
  const auto five = expr::MakeLiteral(std::make_shared<arrow::Int64Scalar>(5));
  ASSERT_OK_AND_ASSIGN(const auto above, expr::MakeCall("+", {right, five}));
  ASSERT_OK_AND_ASSIGN(const auto greater, expr::MakeCall(">", {ColumnOf(test.left, 0), right}));
  ASSERT_OK_AND_ASSIGN(const auto near, expr::MakeCall("<", {ColumnOf(test.left, 0), above}));
  test.condition.residual = expr::MakeAnd({greater, near});
  constexpr int64_t kPairs = 4 * kRows - 10;  // right + 1 .. right + 4, but for the last ones
  for (const bool build_left : {false, true}) {
    for (const auto& [type, rows] : {std::pair{JoinType::kInner, kPairs},
                                     {JoinType::kLeft, kPairs + 1},
                                     {JoinType::kFull, kPairs + 2},
                                     {JoinType::kLeftSemi, kRows - 1},
                                     {JoinType::kLeftAnti, int64_t{1}}}) {
      SCOPED_TRACE(expr::JoinTypeName(type));
      World world(250 << 10, 2);
      world.context.batch_rows = 512;
      world.context.batch_bytes = 16 << 10;
      ASSERT_OK_AND_ASSIGN(const Loops loops, CountLoops(&world, test, type, build_left));
      EXPECT_EQ(loops.rows, rows);
      EXPECT_GT(loops.spilled_bytes, 0);
    }
  }
}

}  // namespace
}  // namespace icebound::exec
