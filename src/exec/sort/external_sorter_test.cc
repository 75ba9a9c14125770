// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/external_sorter.h"

#include <gmock/gmock.h>

#include "exec/sort/sort_testing.h"
#include "icebound/error.h"

namespace icebound::exec::sort {
namespace {

using row::test::OneIn;
using row::test::Random;
using row::test::RandomArray;
using row::test::Uniform;
using ::testing::HasSubstr;
using namespace test;  // NOLINT: this folder's own

/// How much memory there is, and what that does to a sort of some 15 000 rows.
struct Way {
  std::string name;
  int64_t granted_bytes;
  bool force_spill;
  int threads;
};

std::vector<Way> AllWays() {
  std::vector<Way> ways;
  for (int threads : {1, 2}) {
    const std::string suffix = threads == 1 ? "OneThread" : "TwoThreads";
    ways.push_back({"InMemory" + suffix, 64 * kMiB, false, threads});
    ways.push_back({"SomeSpills" + suffix, 5 * kMiB, false, threads});
    ways.push_back({"ManySpills" + suffix, 2 * kMiB, false, threads});
    ways.push_back({"SpillAfterEachBatch" + suffix, 64 * kMiB, true, threads});
  }
  return ways;
}

class ExternalSorterTest : public ::testing::TestWithParam<Way> {
 protected:
  /// Sorts in this way and judges the result.
  void SortAndCheck(const arrow::RecordBatchVector& batches, const std::vector<SortColumn>& keys,
                    std::optional<int64_t> fetch_rows = std::nullopt) {
    World world(GetParam().granted_bytes, GetParam().threads);
    world.context.force_spill = GetParam().force_spill;
    world.context.batch_rows = 1000;
    world.context.batch_bytes = 256 << 10;
    {
      ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {keys, 0, fetch_rows}, &stats_));
      ExpectSorted(batches, output, keys, fetch_rows);
    }
    world.ExpectNothingHeld();
  }

  bool in_memory() const { return GetParam().granted_bytes == 64 * kMiB && !GetParam().force_spill; }

  SortStats stats_;
};

INSTANTIATE_TEST_SUITE_P(Ways, ExternalSorterTest, ::testing::ValuesIn(AllWays()), [](const auto& info) { return info.param.name; });

/// The types the model can compare.
std::vector<std::shared_ptr<arrow::DataType>> KeyTypes() {
  return {arrow::boolean(), arrow::int16(), arrow::int32(), arrow::date32(), arrow::float64(), arrow::decimal128(15, 2), arrow::utf8()};
}

TEST_P(ExternalSorterTest, RandomSchemasAndKeys) {
  const std::vector<row::test::NamedType> types = row::test::TestTypes();
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int64_t rows = Uniform(random, 1, 3000);
    arrow::FieldVector fields;
    arrow::ArrayVector columns;
    std::vector<SortColumn> keys;
    for (int64_t i = Uniform(random, 1, 3); i > 0; --i) {
      const auto type = KeyTypes()[Uniform(random, 0, 6)];
      const bool nullable = OneIn(random, 2);
      keys.push_back({static_cast<int>(fields.size()), OneIn(random, 2), OneIn(random, 2)});
      fields.push_back(arrow::field("k" + std::to_string(i), type, nullable));
      columns.push_back(RandomArray(type, rows, nullable ? 0.1 : 0, random));
    }
    for (int64_t i = Uniform(random, 0, 5); i > 0; --i) {
      const auto& type = types[Uniform(random, 0, static_cast<int64_t>(types.size()) - 1)].type;
      fields.push_back(arrow::field("p" + std::to_string(i), type));
      columns.push_back(RandomArray(type, rows, 0.1, random));
    }
    SortAndCheck(MakeBatches(fields, columns, Uniform(random, 1, 1500)), keys);
  }
}

arrow::RecordBatchVector NumberedStrings(int64_t rows, int64_t batch_rows, const std::function<std::string(int64_t)>& text) {
  arrow::StringBuilder builder;
  for (int64_t row = 0; row < rows; ++row) EXPECT_TRUE(builder.Append(text(row)).ok());
  return MakeBatches({arrow::field("s", arrow::utf8(), false)}, {builder.Finish().ValueOrDie()}, batch_rows);
}

arrow::RecordBatchVector Numbers(int64_t rows, int64_t batch_rows, const std::function<int64_t(int64_t)>& number) {
  arrow::Int64Builder builder;
  arrow::StringBuilder payload;
  for (int64_t row = 0; row < rows; ++row) {
    EXPECT_TRUE(builder.Append(number(row)).ok());
    EXPECT_TRUE(payload.Append(std::string(200, static_cast<char>('a' + row % 26))).ok());
  }
  return MakeBatches({arrow::field("n", arrow::int64(), false), arrow::field("p", arrow::utf8(), false)},
                     {builder.Finish().ValueOrDie(), payload.Finish().ValueOrDie()}, batch_rows);
}

TEST_P(ExternalSorterTest, RandomNumbers) {
  Random random(7);
  SortAndCheck(Numbers(15000, 700, [&](int64_t) { return Uniform(random, -1000000, 1000000); }), {{0}});
  if (in_memory()) {
    EXPECT_EQ(stats_.initial_runs, 0);
    EXPECT_EQ(stats_.spilled_bytes, 0);
  } else {
    EXPECT_GT(stats_.initial_runs, 2);
    EXPECT_GT(stats_.spilled_bytes, 0);
  }
}

TEST_P(ExternalSorterTest, AscendingInputIsOneRunAWorker) {
  SortAndCheck(Numbers(15000, 700, [](int64_t row) { return row / 3; }), {{0}});
  EXPECT_LE(stats_.initial_runs, GetParam().threads);
}

TEST_P(ExternalSorterTest, DescendingInput) {
  SortAndCheck(Numbers(15000, 700, [](int64_t row) { return -row; }), {{0}});
  SortAndCheck(Numbers(15000, 700, [](int64_t row) { return -row; }), {{0, true}});
}

TEST_P(ExternalSorterTest, AllKeysEqual) { SortAndCheck(Numbers(15000, 700, [](int64_t) { return 42; }), {{0}}); }

TEST_P(ExternalSorterTest, KeysThatDifferOnlyFarBehind) {
  Random random(3);
  SortAndCheck(NumberedStrings(6000, 500,
                               [&](int64_t) {
                                 std::string text = "https://www.example.org/a/rather/long/path/that/all/have/in/common/and/more/";
                                 text += std::string(Uniform(random, 0, 3), 'x') + std::to_string(Uniform(random, 0, 500));
                                 return text + std::string(OneIn(random, 2) ? 30 : 31, 'z');
                               }),
               {{0}});
}

TEST_P(ExternalSorterTest, StringsThatArePrefixesOfOthers) {
  Random random(4);
  SortAndCheck(NumberedStrings(6000, 500, [&](int64_t) { return std::string(Uniform(random, 0, 60), OneIn(random, 9) ? '\0' : 'a'); }), {{0}});
}

TEST_P(ExternalSorterTest, FewRows) {
  for (int64_t rows : {1, 2, 300}) {
    SCOPED_TRACE(rows);
    SortAndCheck(Numbers(rows, 100, [](int64_t row) { return row * 7919 % 300; }), {{0}});
  }
}

TEST_P(ExternalSorterTest, NoRows) {
  const auto batches = Numbers(0, 1, [](int64_t) { return 0; });
  SortAndCheck(batches, {{0}});
  World world(GetParam().granted_bytes, GetParam().threads);
  ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{0}}}));
  EXPECT_TRUE(output.empty());
}

TEST_P(ExternalSorterTest, RowsOfTheKeyAlone) {
  arrow::Int64Builder builder;
  for (int64_t row = 0; row < 20000; ++row) ASSERT_OK(builder.Append(row * 7919 % 20000));
  const auto batches = MakeBatches({}, {}, 1);
  ASSERT_OK_AND_ASSIGN(auto column, builder.Finish());
  const auto schema = arrow::schema({arrow::field("n", arrow::int64())});
  World world(GetParam().granted_bytes, GetParam().threads);
  world.context.force_spill = GetParam().force_spill;
  ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, {arrow::RecordBatch::Make(schema, 20000, {column})}, {{{0}}}));
  int64_t expected = 0;
  for (const auto& batch : output) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      ASSERT_EQ(static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(row), expected++);
    }
  }
  EXPECT_EQ(expected, 20000);
}

TEST_P(ExternalSorterTest, RowsWithoutAnyBytes) {
  const auto schema = arrow::schema({arrow::field("nothing", arrow::null())});
  const auto batch = arrow::RecordBatch::Make(schema, 5000, {std::make_shared<arrow::NullArray>(5000)});
  World world(GetParam().granted_bytes, GetParam().threads);
  world.context.force_spill = GetParam().force_spill;
  ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, {batch, batch}, {{{0}}}));
  int64_t rows = 0;
  for (const auto& each : output) rows += each->num_rows();
  EXPECT_EQ(rows, 10000);
}

TEST_P(ExternalSorterTest, ComputedKeysDoNotComeOut) {
  arrow::Int64Builder key;
  arrow::Int64Builder value;
  for (int64_t row = 0; row < 3000; ++row) {
    ASSERT_OK(key.Append(row * 31 % 3000));
    ASSERT_OK(value.Append(2 * (row * 31 % 3000)));
  }
  const auto schema = arrow::schema({arrow::field("v", arrow::int64()), arrow::field("k", arrow::int64())});
  const auto batch = arrow::RecordBatch::Make(schema, 3000, {value.Finish().ValueOrDie(), key.Finish().ValueOrDie()});
  World world(GetParam().granted_bytes, GetParam().threads);
  world.context.force_spill = GetParam().force_spill;
  ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, {batch}, {{{1, true}}, 1}));
  int64_t expected = 3000;
  for (const auto& each : output) {
    ASSERT_EQ(each->num_columns(), 1);
    for (int64_t row = 0; row < each->num_rows(); ++row) {
      ASSERT_EQ(static_cast<const arrow::Int64Array&>(*each->column(0)).Value(row), 2 * --expected);
    }
  }
  EXPECT_EQ(expected, 0);
}

TEST_P(ExternalSorterTest, FirstRows) {
  Random random(11);
  const auto random_numbers = Numbers(15000, 700, [&](int64_t) { return Uniform(random, 0, 3000); });
  const auto falling = Numbers(15000, 700, [](int64_t row) { return -row; });
  const auto equal = Numbers(15000, 700, [](int64_t) { return 1; });
  for (int64_t fetch_rows : {0, 1, 10, 1000, 9000, 15000, 100000}) {
    SCOPED_TRACE(fetch_rows);
    SortAndCheck(random_numbers, {{0}}, fetch_rows);
    SortAndCheck(falling, {{0}}, fetch_rows);
    SortAndCheck(falling, {{0, true}}, fetch_rows);
    SortAndCheck(equal, {{0}}, fetch_rows);
  }
}

TEST_P(ExternalSorterTest, FirstRowsByLongStrings) {
  Random random(12);
  const auto batches = NumberedStrings(4000, 300, [&](int64_t) {
    return std::string(Uniform(random, 200, 600), 'p') + std::to_string(Uniform(random, 0, 1000)) + std::string(Uniform(random, 0, 300), 'q');
  });
  for (int64_t fetch_rows : {1, 50, 2500}) SortAndCheck(batches, {{0}}, fetch_rows);
}

}  // namespace
}  // namespace icebound::exec::sort
