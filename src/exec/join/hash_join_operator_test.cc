// SPDX-License-Identifier: Apache-2.0
#include "exec/join/hash_join_operator.h"

#include <gmock/gmock.h>

#include "exec/join/join_testing.h"
#include "row/hash.h"
#include "row/types_for_test.h"

namespace icebound::exec {
namespace {

using namespace join::test;  // NOLINT: this folder's own

using HashJoinTest = JoinTest<HashJoinOperator>;

INSTANTIATE_TEST_SUITE_P(Ways, HashJoinTest, ::testing::ValuesIn(AllWays()), [](const auto& info) { return info.param.name; });

TEST_P(HashJoinTest, OneIntegerKey) {
  Random random(1);
  Case test{RandomTable(random, 1000, 500, 0.02, false), RandomTable(random, 900, 500, 0.02, false), {}, {}, kK, kK};
  test.condition.keys.push_back({ColumnOf(test.left, kK), ColumnOf(test.right, kK)});
  test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kK); };
  Check(test);
}

TEST_P(HashJoinTest, NullsOnTheLeftOnly) {
  Random random(9);
  Case test{RandomTable(random, 400, 500, 0.1, false), RandomTable(random, 300, 500, 0, false), {}, {}, kK, kK};
  test.condition.keys.push_back({ColumnOf(test.left, kK), ColumnOf(test.right, kK)});
  test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kK); };
  const ModelJoin model(test.left, test.right, test.matches);
  CheckType(test, model, JoinType::kLeftAntiNulls);
  CheckType(test, model, JoinType::kLeftMarkNulls);
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
  Case test{RandomTable(random, 120, 1, 0.05, false), RandomTable(random, 110, 1, 0, false), {}, {}};
  test.condition.keys = {{ColumnOf(test.left, kK), ColumnOf(test.right, kK)}};
  // All pairs are too many for the model's texts; a residual leaves few.
  const auto right_n = expr::MakeColumn(6 + kN, *test.right.schema->field(kN));
  ASSERT_OK_AND_ASSIGN(test.condition.residual, expr::MakeCall("=", {ColumnOf(test.left, kN), right_n}));
  test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kK) && EqualText(l, r, kN); };
  Check(test);
}

TEST_P(HashJoinTest, EmptySides) {
  Random random(7);
  const Table full = RandomTable(random, 300, 20, 0.05, false);
  const Table empty{full.schema, {}};
  for (const auto& [left, right] : {std::pair{full, empty}, {empty, full}, {empty, empty}}) {
    Case test{left, right, {}, {}, kK, kK};
    test.condition.keys = {{ColumnOf(left, kK), ColumnOf(right, kK)}};
    test.matches = [](const ModelRow&, const ModelRow&) { return false; };
    for (const JoinType type : AllJoinTypes()) {
      SCOPED_TRACE(expr::JoinTypeName(type));
      World world(GetParam().granted_bytes, GetParam().threads);
      world.context.force_spill = GetParam().force_spill;
      {
        ASSERT_OK_AND_ASSIGN(const auto output,
                             RunJoin<HashJoinOperator>(&world, test, type, GetParam().build_left, GetParam().threads));
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

TEST_P(HashJoinTest, ItDoesSpill) {
  Random random(8);
  Case test{RandomTable(random, 300, 700, 0, false), RandomTable(random, 300, 700, 0, false), {}, {}};
  (GetParam().build_left ? test.left : test.right) = RandomTable(random, 9000, 700, 0, false);
  test.condition.keys = {{ColumnOf(test.left, kN), ColumnOf(test.right, kN)}};
  test.matches = [](const ModelRow& l, const ModelRow& r) { return EqualText(l, r, kN); };
  const ModelJoin model(test.left, test.right, test.matches);
  CheckType(test, model, JoinType::kFull);
  if (!in_memory()) {
    EXPECT_GE(spill_levels_, 1);
  }
}

// --- one thing at a time -----------------------------------------------------------------------------------------------------

/// Integers only: k, the key, and n, the row's number, with ballast of `text_bytes` when more than 0.
Table KeyTable(int64_t rows, const std::function<std::optional<int64_t>(int64_t)>& key, int64_t text_bytes = 0) {
  arrow::ArrayVector columns = {Integers(rows, key), Integers(rows, [](int64_t i) { return std::optional<int64_t>(i); })};
  arrow::FieldVector fields = {arrow::field("k", arrow::int64()), arrow::field("n", arrow::int64(), false)};
  if (text_bytes > 0) {
    columns.push_back(Texts(rows, [&](int64_t) { return std::string(static_cast<size_t>(text_bytes), 't'); }));
    fields.push_back(arrow::field("t", arrow::utf8()));
  }
  return MakeTable(std::move(fields), std::move(columns), 8192);
}

struct Counted {
  int64_t rows = 0;
  int64_t batches = 0;
  int64_t spilled_bytes = 0;
  int64_t peak_bytes = 0;
};

/// Runs a join and only counts its rows.
arrow::Result<Counted> CountJoin(World* world, const Case& test, JoinType type, bool build_left, int streams = 2) {
  ARROW_ASSIGN_OR_RAISE(auto join,
                        MakeJoin<HashJoinOperator>(world, test.left, test.right, type, test.condition, build_left, streams));
  ARROW_RETURN_NOT_OK(join->Prepare());
  std::atomic<int64_t> rows{0};
  std::atomic<int64_t> batches{0};
  ARROW_RETURN_NOT_OK(DrainInParallel(&world->context, join.get(), [&](int, BatchStream* stream) -> arrow::Status {
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const auto batch, stream->Next());
      if (batch == nullptr) return arrow::Status::OK();
      rows += batch->num_rows();
      ++batches;
    }
  }));
  return Counted{rows, batches, join->metrics().spilled_bytes, join->metrics().peak_bytes};
}

Case KeyCase(Table left, Table right) {
  Case test{std::move(left), std::move(right), {}, {}};
  test.condition.keys = {{ColumnOf(test.left, 0), ColumnOf(test.right, 0)}};
  return test;
}

// A filter made from the part of the build side that stayed in memory lost rows of a semi join elsewhere.
TEST(HashJoin, FilterSeesTheWholeBuildSide) {
  const Table few_keys = KeyTable(300'000, [](int64_t i) { return i % 25; });
  const Case same = KeyCase(few_keys, few_keys);
  for (const bool build_left : {false, true}) {
    World world(4 * kMiB, 1);
    ASSERT_OK_AND_ASSIGN(const Counted counted, CountJoin(&world, same, JoinType::kLeftSemi, build_left, 1));
    EXPECT_EQ(counted.rows, 300'000);
    EXPECT_GT(counted.spilled_bytes, 0);
  }
  const Case half =
      KeyCase(KeyTable(200'000, [](int64_t i) { return i % 4000; }), KeyTable(
                                                                         100'000, [](int64_t i) { return i % 2000; }, 16));
  for (const bool build_left : {false, true}) {
    World world(3 * kMiB, 1);
    ASSERT_OK_AND_ASSIGN(const Counted counted, CountJoin(&world, half, JoinType::kLeftSemi, build_left, 1));
    EXPECT_EQ(counted.rows, 100'000);
    EXPECT_GT(counted.spilled_bytes, 0);
  }
}

TEST(HashJoin, FilterDropsRowsBeforeTheyAreWritten) {
  // One in a hundred of the left rows has a match, within the range of the keys and far from it.
  const auto right = KeyTable(
      20'000, [](int64_t i) { return i * 100; }, 200);
  for (const int64_t step : {1, 1000}) {
    const Case test = KeyCase(KeyTable(400'000, [&](int64_t i) { return i * step; }), right);
    World world(3 * kMiB, 2);
    ASSERT_OK_AND_ASSIGN(const Counted counted, CountJoin(&world, test, JoinType::kInner, /*build_left=*/false));
    EXPECT_EQ(counted.rows, step == 1 ? 4'000 : 2'000);
    // The build side was written, and no more than a part of the 400'000 rows of 26 bytes.
    EXPECT_LT(counted.spilled_bytes, 6 * kMiB);
    ASSERT_OK_AND_ASSIGN(const Counted all, CountJoin(&world, test, JoinType::kLeft, /*build_left=*/false));
    EXPECT_EQ(all.rows, 400'000);
  }
}

// One key group larger than memory, and only its first rows pass the residual: what a spilled group forgot elsewhere.
TEST(HashJoin, ResidualTrueForTheFirstRowsOfALargeGroup) {
  constexpr int64_t kRows = 100'000;
  Case test = KeyCase(KeyTable(40, [](int64_t) { return 7; }), KeyTable(kRows, [](int64_t) { return 7; }));
  const auto right_n = expr::MakeColumn(3, *test.right.schema->field(1));
  ASSERT_OK_AND_ASSIGN(test.condition.residual, expr::MakeCall("=", {ColumnOf(test.left, 1), right_n}));
  test.left = KeyTable(40, [](int64_t) { return 7; });
  for (const bool build_left : {false, true}) {
    for (const auto& [type, rows] : {std::pair{JoinType::kLeftAnti, int64_t{0}},
                                     {JoinType::kLeftSemi, 40},
                                     {JoinType::kLeftMark, 40},
                                     {JoinType::kInner, 40},
                                     {JoinType::kRight, kRows}}) {
      SCOPED_TRACE(expr::JoinTypeName(type));
      World world(kMiB, 2);
      world.context.batch_rows = 1024;
      ASSERT_OK_AND_ASSIGN(const Counted counted, CountJoin(&world, test, type, build_left));
      EXPECT_EQ(counted.rows, rows);
    }
  }
}

// One key has the whole build side, eight times what there is: splitting can never help.
TEST(HashJoin, EqualKeysAtAnEighthOfTheirSize) {
  constexpr int64_t kRows = 200'000;  // 34 bytes each
  const Case test =
      KeyCase(KeyTable(1000, [](int64_t i) { return i < 3 ? 7 : i + 1000; }), KeyTable(kRows, [](int64_t) { return 7; }));
  for (const bool build_left : {false, true}) {
    for (const int threads : {1, 2}) {
      World world(kRows * 34 / 8, threads);
      world.context.batch_rows = 1024;
      world.context.batch_bytes = 64 << 10;
      ASSERT_OK_AND_ASSIGN(Counted counted, CountJoin(&world, test, JoinType::kInner, build_left));
      EXPECT_EQ(counted.rows, 3 * kRows);
      ASSERT_OK_AND_ASSIGN(counted, CountJoin(&world, test, JoinType::kFull, build_left));
      EXPECT_EQ(counted.rows, 3 * kRows + 997);
      if (!build_left) {
        EXPECT_GT(counted.spilled_bytes, 0);
      }
    }
  }
}

TEST(HashJoin, EqualKeysOnBothSidesInFlatMemory) {
  constexpr int64_t kRows = 3000;
  const Case test = KeyCase(KeyTable(
                                kRows, [](int64_t) { return 7; }, 500),
                            KeyTable(
                                kRows, [](int64_t) { return 7; }, 500));
  for (const int64_t granted_bytes : {kMiB, 16 * kMiB}) {
    World world(granted_bytes, 2);
    world.context.batch_rows = 1024;
    world.context.batch_bytes = 128 << 10;
    ASSERT_OK_AND_ASSIGN(const Counted counted, CountJoin(&world, test, JoinType::kInner, false));
    EXPECT_EQ(counted.rows, kRows * kRows);
    EXPECT_LT(counted.peak_bytes, 8 * kMiB);
    EXPECT_GT(counted.batches, kRows * kRows * 1000 / (512 << 10));
  }
}

/// The inverse of row::Mix.
uint64_t Unmix(uint64_t word) {
  const auto inverse = [](uint64_t odd) {
    uint64_t result = odd;
    for (int i = 0; i < 6; ++i) result *= 2 - odd * result;
    return result;
  };
  const auto unshift = [](uint64_t value, int shift) {
    uint64_t result = value;
    for (int i = 0; i < 4; ++i) result = value ^ (result >> shift);
    return result;
  };
  word = unshift(word, 31) * inverse(0x94D049BB133111EBULL);
  word = unshift(word, 27) * inverse(0xBF58476D1CE4E5B9ULL);
  return unshift(word, 30);
}

TEST(HashJoin, KeysEqualInAllHashBits) {
  constexpr int64_t kRows = 3000;
  const auto side = [](int64_t rows) {
    // The hash of (a, b) is Mix(Mix(seed + a) + b): b makes it the same for all.
    const auto a = Integers(rows, [](int64_t i) { return std::optional<int64_t>(i); });
    const auto hasher = row::RowHasher::Make({arrow::int64()}).ValueOrDie();
    std::vector<uint64_t> hashes(static_cast<size_t>(rows));
    EXPECT_TRUE(hasher->Hash({a}, 0, hashes).ok());
    const auto b = Integers(rows, [&](int64_t i) {
      return std::optional<int64_t>(static_cast<int64_t>(Unmix(42) - hashes[static_cast<size_t>(i)]));
    });
    const auto both = row::RowHasher::Make({arrow::int64(), arrow::int64()}).ValueOrDie();
    EXPECT_TRUE(both->Hash({a, b}, 0, hashes).ok());
    EXPECT_THAT(hashes, ::testing::Each(42));
    return MakeTable({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int64())}, {a, b}, 500);
  };
  Case test{side(kRows), side(2 * kRows), {}, {}};
  test.condition.keys = {{ColumnOf(test.left, 0), ColumnOf(test.right, 0)}, {ColumnOf(test.left, 1), ColumnOf(test.right, 1)}};
  for (const bool build_left : {false, true}) {
    World world(160 << 10, 2);
    world.context.batch_rows = 256;
    world.context.batch_bytes = 16 << 10;
    ASSERT_OK_AND_ASSIGN(const Counted inner, CountJoin(&world, test, JoinType::kInner, build_left));
    EXPECT_EQ(inner.rows, kRows);
    ASSERT_OK_AND_ASSIGN(const Counted right, CountJoin(&world, test, JoinType::kRight, build_left));
    EXPECT_EQ(right.rows, 2 * kRows);
    EXPECT_GT(inner.spilled_bytes, 0);
  }
}

TEST(HashJoin, RowsWiderThanAChunkAndThanABlock) {
  // 9 MB does not fit into one piece of a spill file.
  const std::vector<size_t> widths = {10, 40'000, 300'000, 9'000'000};
  const auto table = [&](int64_t rows) {
    return MakeTable(
        {arrow::field("k", arrow::int64()), arrow::field("t", arrow::utf8())},
        {Integers(rows, [](int64_t i) { return i; }),
         Texts(rows, [&](int64_t i) { return std::string(i == 3 ? widths[3] : widths[static_cast<size_t>(i % 3)], 'a'); })},
        1);
  };
  Case test{table(12), table(9), {}, {}};
  test.condition.keys = {{ColumnOf(test.left, 0), ColumnOf(test.right, 0)}};
  test.matches = [](const ModelRow& l, const ModelRow& r) { return l[0] == r[0]; };
  const ModelJoin model(test.left, test.right, test.matches);
  for (const bool force_spill : {false, true}) {
    for (const int threads : {1, 2}) {
      World world(52 * kMiB, threads);
      world.context.force_spill = force_spill;
      ASSERT_OK_AND_ASSIGN(const auto output, RunJoin<HashJoinOperator>(&world, test, JoinType::kFull, false, threads));
      ExpectSameRows(SortedTexts(output), model.Expected(JoinType::kFull));
    }
  }
}

TEST(HashJoin, TheProbeSideIsNotRunForNothing) {
  class NeverRun final : public Operator {
   public:
    NeverRun(QueryContext* context, const Table& table) : Operator(context, "never run", table.schema) {}
    arrow::Status Prepare() override { return arrow::Status::Invalid("it was run"); }
    int max_streams() const override { return 1; }
    arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override { return arrow::Status::Invalid("it was run"); }
  };
  const Table full = KeyTable(1000, [](int64_t i) { return i; });
  const Case test = KeyCase(full, full);
  for (const JoinType type : {JoinType::kInner, JoinType::kLeft}) {
    World world(8 * kMiB, 2);
    ASSERT_OK_AND_ASSIGN(auto join, HashJoinOperator::Make(&world.context, std::make_unique<NeverRun>(&world.context, full),
                                                           std::make_unique<BatchesOperator>(&world.context, full.schema,
                                                                                             arrow::RecordBatchVector{}, 2),
                                                           type, test.condition, false, OutputSchema(full, full, type)));
    const arrow::Status prepared = join->Prepare();
    EXPECT_EQ(prepared.ok(), type == JoinType::kInner);
    if (!prepared.ok()) continue;
    ASSERT_OK_AND_ASSIGN(const auto output, ReadAll(&world, join.get()));
    EXPECT_TRUE(output.empty());
  }
}

TEST(HashJoin, GivesMemoryBackBetweenBuildAndProbe) {
  // The other side wants all that the ledger has while it is prepared.
  class Greedy final : public Operator {
   public:
    Greedy(World* world, const Table& table)
        : Operator(&world->context, "greedy", table.schema),
          consumer_(world->ledger->AddConsumer("greedy")),
          input_(&world->context, table.schema, table.batches, 2) {}
    arrow::Status Prepare() override {
      ARROW_RETURN_NOT_OK(consumer_->Reserve(6 * kMiB));
      consumer_->Release(6 * kMiB);
      return input_.Prepare();
    }
    int max_streams() const override { return 2; }
    arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override { return input_.OpenStream(); }

   private:
    std::unique_ptr<memory::MemoryConsumer> consumer_;
    BatchesOperator input_;
  };
  const Case test = KeyCase(KeyTable(50'000, [](int64_t i) { return i; }), KeyTable(100'000, [](int64_t i) { return i; }));
  World world(8 * kMiB, 2);
  ASSERT_OK_AND_ASSIGN(
      auto join,
      HashJoinOperator::Make(&world.context, std::make_unique<Greedy>(&world, test.left),
                             std::make_unique<BatchesOperator>(&world.context, test.right.schema, test.right.batches, 2),
                             JoinType::kInner, test.condition, false, OutputSchema(test.left, test.right, JoinType::kInner)));
  ASSERT_OK(join->Prepare());
  ASSERT_OK_AND_ASSIGN(const auto output, ReadAll(&world, join.get()));
  EXPECT_EQ(SortedTexts(output).size(), 50'000U);
}

TEST(HashJoin, AFullDiskIsAnErrorAndLeavesNothing) {
  const Case test = KeyCase(KeyTable(100'000, [](int64_t i) { return i; }), KeyTable(100'000, [](int64_t i) { return i; }));
  World world(2 * kMiB, 2, /*spill_limit_bytes=*/kMiB);
  {
    const auto result = CountJoin(&world, test, JoinType::kInner, false);
    EXPECT_EQ(GetErrorKind(result.status()), ErrorKind::kDiskLimit) << result.status().ToString();
  }
  world.ExpectNothingHeld();
}

// Every type as a payload and as a key: each row finds itself, through tables, files and columns that were never packed.
TEST(HashJoin, AllTypes) {
  for (const auto& [name, type] : row::test::TestTypes()) {
    SCOPED_TRACE(name);
    Random random(17);
    constexpr int64_t kRows = 600;
    const auto values = row::test::RandomArray(type, kRows, 0.1, random);
    const Table table = MakeTable({arrow::field("v", type), arrow::field("n", arrow::int64(), false)},
                                  {values, Integers(kRows, [](int64_t i) { return std::optional<int64_t>(i); })}, 50);
    for (const bool null_safe : {false, true}) {
      Case test{table, table, {}, {}};
      test.condition.keys = {{ColumnOf(table, 1), ColumnOf(table, 1)}, {ColumnOf(table, 0), ColumnOf(table, 0), null_safe}};
      int64_t expected = kRows;
      for (const auto& batch : table.batches) {
        const std::vector<ModelRow> rows = RowsOf({batch});
        for (const ModelRow& row : rows) expected -= !null_safe && !row[0].has_value() ? 1 : 0;
      }
      for (const bool force_spill : {false, true}) {
        World world(48 * kMiB, 2);
        world.context.force_spill = force_spill;
        world.context.batch_rows = 100;
        ASSERT_OK_AND_ASSIGN(const auto output, RunJoin<HashJoinOperator>(&world, test, JoinType::kInner, false, 2));
        int64_t rows = 0;
        for (const ModelRow& row : RowsOf(output)) {
          ++rows;
          EXPECT_EQ(row[0], row[2]);
          EXPECT_EQ(row[1], row[3]);
        }
        EXPECT_EQ(rows, expected);
      }
    }
  }
}

// Several joins of one plan are prepared from the top down, each while those above wait with their build sides.
TEST(HashJoin, FourJoinsInOnePlan) {
  constexpr int64_t kRows = 30'000;
  const Table table = KeyTable(
      kRows, [](int64_t i) { return i; }, 40);
  for (const int64_t granted_bytes : {int64_t{3} << 20, int64_t{48} << 20}) {
    World world(granted_bytes, 2);
    world.context.batch_rows = 1024;
    world.context.batch_bytes = 64 << 10;
    std::unique_ptr<Operator> plan = std::make_unique<BatchesOperator>(&world.context, table.schema, table.batches, 2);
    Table wide = table;
    for (int i = 0; i < 4; ++i) {
      auto right = std::make_unique<BatchesOperator>(&world.context, table.schema, table.batches, 2);
      const auto output = OutputSchema(wide, table, JoinType::kInner);
      expr::JoinCondition condition;
      condition.keys = {{expr::MakeColumn(0, *table.schema->field(0)), expr::MakeColumn(0, *table.schema->field(0))}};
      ASSERT_OK_AND_ASSIGN(plan, HashJoinOperator::Make(&world.context, std::move(plan), std::move(right), JoinType::kInner,
                                                        std::move(condition), false, output));
      wide.schema = output;
    }
    ASSERT_OK(plan->Prepare());
    std::atomic<int64_t> rows{0};
    ASSERT_OK(DrainInParallel(&world.context, plan.get(), [&](int, BatchStream* stream) -> arrow::Status {
      while (true) {
        ARROW_ASSIGN_OR_RAISE(const auto batch, stream->Next());
        if (batch == nullptr) return arrow::Status::OK();
        rows += batch->num_rows();
      }
    }));
    EXPECT_EQ(rows, kRows);
    plan.reset();
    world.ExpectNothingHeld();
  }
}

TEST(HashJoin, AStreamClosedEarlyLeavesNothing) {
  const Case test = KeyCase(KeyTable(50'000, [](int64_t i) { return i; }), KeyTable(50'000, [](int64_t i) { return i; }));
  for (const int64_t granted_bytes : {2 * kMiB, 48 * kMiB}) {
    for (const int batches : {0, 1, 5}) {
      World world(granted_bytes, 2);
      world.context.batch_rows = 512;
      {
        ASSERT_OK_AND_ASSIGN(
            auto join, MakeJoin<HashJoinOperator>(&world, test.left, test.right, JoinType::kFull, test.condition, false, 2));
        ASSERT_OK(join->Prepare());
        ASSERT_OK_AND_ASSIGN(auto stream, join->OpenStream());
        for (int i = 0; i < batches; ++i) ASSERT_OK(stream->Next().status());
      }
      world.ExpectNothingHeld();
    }
  }
}

TEST(HashJoin, OneStreamReadsEverything) {
  const Case test = KeyCase(KeyTable(50'000, [](int64_t i) { return i; }), KeyTable(50'000, [](int64_t i) { return i; }));
  World world(2 * kMiB, 2);
  ASSERT_OK_AND_ASSIGN(auto join,
                       MakeJoin<HashJoinOperator>(&world, test.left, test.right, JoinType::kFull, test.condition, false, 2));
  ASSERT_OK(join->Prepare());
  ASSERT_OK_AND_ASSIGN(auto stream, join->OpenStream());
  int64_t rows = 0;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto batch, stream->Next());
    if (batch == nullptr) break;
    rows += batch->num_rows();
  }
  EXPECT_EQ(rows, 50'000);
}

}  // namespace
}  // namespace icebound::exec
