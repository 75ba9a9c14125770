// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/external_sorter.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <array>
#include <ostream>
#include <thread>

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

/// For the names of tests in messages: not the bytes of the struct.
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

std::vector<Way> AllWays() {
  std::vector<Way> ways;
  for (int threads : {1, 2}) {
    const std::string suffix = threads == 1 ? "OneThread" : "TwoThreads";
    ways.push_back({"InMemory" + suffix, 64 * kMiB, false, threads});
    ways.push_back({"SomeSpills" + suffix, 2 * kMiB, false, threads});
    ways.push_back({"ManySpills" + suffix, kMiB, false, threads});
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

INSTANTIATE_TEST_SUITE_P(Ways, ExternalSorterTest, ::testing::ValuesIn(AllWays()),
                         [](const auto& info) { return info.param.name; });

/// The types the model can compare.
std::vector<std::shared_ptr<arrow::DataType>> KeyTypes() {
  return {arrow::boolean(), arrow::int16(),           arrow::int32(), arrow::date32(),
          arrow::float64(), arrow::decimal128(15, 2), arrow::utf8()};
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
  Random random(1);
  arrow::Int64Builder builder;
  arrow::StringBuilder payload;
  for (int64_t row = 0; row < rows; ++row) {
    EXPECT_TRUE(builder.Append(number(row)).ok());
    std::string text(200, ' ');
    for (char& c : text) c = static_cast<char>('0' + random() % 64);
    EXPECT_TRUE(payload.Append(text).ok());
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
    EXPECT_GT(stats_.initial_runs, 1);
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

TEST_P(ExternalSorterTest, AllKeysEqual) {
  SortAndCheck(Numbers(15000, 700, [](int64_t) { return 42; }), {{0}});
}

TEST_P(ExternalSorterTest, KeysThatDifferOnlyFarBehind) {
  Random random(3);
  SortAndCheck(NumberedStrings(6000, 500,
                               [&](int64_t) {
                                 std::string text =
                                     "https://www.example.org/a/rather/long/path/that/all/have/in/common/and/more/";
                                 text += std::string(Uniform(random, 0, 3), 'x') + std::to_string(Uniform(random, 0, 500));
                                 return text + std::string(OneIn(random, 2) ? 30 : 31, 'z');
                               }),
               {{0}});
}

TEST_P(ExternalSorterTest, StringsThatArePrefixesOfOthers) {
  Random random(4);
  SortAndCheck(
      NumberedStrings(6000, 500, [&](int64_t) { return std::string(Uniform(random, 0, 60), OneIn(random, 9) ? '\0' : 'a'); }),
      {{0}});
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
  }
  for (int64_t fetch_rows : {10, 9000}) {
    SCOPED_TRACE(fetch_rows);
    SortAndCheck(falling, {{0}}, fetch_rows);
    SortAndCheck(falling, {{0, true}}, fetch_rows);
    SortAndCheck(equal, {{0}}, fetch_rows);
  }
}

TEST_P(ExternalSorterTest, FirstRowsByLongStrings) {
  Random random(12);
  const auto batches = NumberedStrings(4000, 300, [&](int64_t) {
    return std::string(Uniform(random, 200, 600), 'p') + std::to_string(Uniform(random, 0, 1000)) +
           std::string(Uniform(random, 0, 300), 'q');
  });
  for (int64_t fetch_rows : {1, 50, 2500}) SortAndCheck(batches, {{0}}, fetch_rows);
}

// --- rows that are too wide, or nearly ------------------------------------------------------------------------------------

/// `rows` strings of `bytes` bytes each, a batch each, that begin with a number that orders them.
arrow::RecordBatchVector WideStrings(int64_t rows, int64_t bytes, Random* random) {
  arrow::RecordBatchVector batches;
  const auto schema = arrow::schema(
      {arrow::field("n", arrow::int64()), arrow::field("s", arrow::utf8()), arrow::field("row", arrow::int64(), false)});
  for (int64_t row = 0; row < rows; ++row) {
    arrow::Int64Builder number;
    arrow::StringBuilder text;
    arrow::Int64Builder place;
    EXPECT_TRUE(number.Append(Uniform(*random, 0, 1000000)).ok());
    std::string value(static_cast<size_t>(bytes), static_cast<char>('a' + row % 26));
    value.replace(value.size() / 2, 8, std::to_string(Uniform(*random, 10000000, 99999999)));
    EXPECT_TRUE(text.Append(value).ok());
    EXPECT_TRUE(place.Append(row).ok());
    batches.push_back(arrow::RecordBatch::Make(
        schema, 1, {number.Finish().ValueOrDie(), text.Finish().ValueOrDie(), place.Finish().ValueOrDie()}));
  }
  return batches;
}

TEST(WideRows, MegabyteStringsSortByNumberAndByThemselves) {
  Random random(21);
  const auto batches = WideStrings(150, kMiB, &random);
  for (const int key : {0, 1}) {
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(fmt::format("key {} threads {}", key, threads));
      World world(40 * kMiB, threads);
      SortStats stats;
      {
        ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{key}}}, &stats));
        ExpectSorted(batches, output, {{key}});
      }
      EXPECT_GT(stats.initial_runs, 3);
      EXPECT_LE(world.ledger->peak_bytes(), world.ledger->granted_bytes());
      world.ExpectNothingHeld();
    }
  }
}

TEST(WideRows, AMergeOfManyRunsCostsOneWideRow) {
  Random random(25);
  const auto batches = WideStrings(60, 4 * kMiB, &random);
  World world(36 * kMiB, 1);
  SortStats stats;
  {
    ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{0}}}, &stats));
    ExpectSorted(batches, output, {{0}});
  }
  // Half of these runs' rows, one each, would not fit the memory.
  EXPECT_GT(stats.final_fan_in, 6);
  EXPECT_EQ(stats.merge_levels, 1);
  EXPECT_LE(world.ledger->peak_bytes(), world.ledger->granted_bytes());
  world.ExpectNothingHeld();
}

TEST(WideRows, NarrowRowsBetweenWideOnes) {
  Random random(22);
  arrow::RecordBatchVector batches = WideStrings(40, kMiB, &random);
  for (auto& batch : batches) {
    if (OneIn(random, 2)) continue;
    auto columns = batch->columns();
    columns[1] = arrow::MakeArrayFromScalar(arrow::StringScalar("narrow"), 1).ValueOrDie();
    batch = arrow::RecordBatch::Make(batch->schema(), 1, columns);
  }
  World world(10 * kMiB, 2);
  {
    ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{1, true}}}));
    ExpectSorted(batches, output, {{1, true}});
  }
  world.ExpectNothingHeld();
}

TEST(WideRows, AQuarterOfTheLimitPasses) {
  // 64 MiB of limit grant 80 MiB.
  Random random(23);
  const auto batches = WideStrings(7, 16 * kMiB, &random);
  World world(80 * kMiB, 2);
  SortStats stats;
  {
    ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{0}}}, &stats));
    ExpectSorted(batches, output, {{0}});
  }
  EXPECT_GT(stats.initial_runs, 0);
  world.ExpectNothingHeld();
}

TEST(WideRows, MoreThanMemoryAllowsIsOneClearError) {
  Random random(24);
  const auto batches = WideStrings(1, 100 * kMiB, &random);
  World world(80 * kMiB, 2);
  const auto result = Sort(&world, batches, {{{0}}});
  EXPECT_EQ(GetErrorKind(result.status()), ErrorKind::kMemoryLimit);
  EXPECT_THAT(result.status().message(), HasSubstr("memory limit too small: a row of 100.0 MiB"));
  world.ExpectNothingHeld();
}

// --- merges of many runs --------------------------------------------------------------------------------------------------

/// Lowers the number of files this process may open.
class FileLimit {
 public:
  explicit FileLimit(rlim_t files) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = files;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(ManyRuns, TwoThousandRunsWithSixtyFourFiles) {
  const FileLimit limit(64);
  Random random(31);
  const auto batches = Numbers(2100 * 50, 50, [&](int64_t) { return Uniform(random, 0, 1000000000); });
  World world(48 * kMiB, 2);
  world.context.force_spill = true;
  SortStats stats;
  {
    ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{0}}}, &stats));
    ExpectSorted(batches, output, {{0}});
  }
  EXPECT_GT(stats.initial_runs, 2000);
  EXPECT_LE(world.ledger->peak_bytes(), world.ledger->granted_bytes());
  world.ExpectNothingHeld();
}

TEST(ManyRuns, SeveralLevelsWriteNoMoreThanTheyMust) {
  Random random(32);
  const auto batches = Numbers(600 * 200, 200, [&](int64_t) { return Uniform(random, 0, 1000000000); });
  World world(4 * kMiB, 1);
  world.context.force_spill = true;
  world.context.batch_rows = 500;
  SortStats stats;
  {
    ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{0}}}, &stats));
    ExpectSorted(batches, output, {{0}});
  }
  EXPECT_EQ(stats.initial_runs, 600);
  EXPECT_GE(stats.merge_levels, 2);
  EXPECT_GT(stats.final_fan_in, 10);
  world.ExpectNothingHeld();
}

TEST(ManyRuns, MergesBeforeTheLastRunSideBySide) {
  Random random(34);
  const auto batches = Numbers(600 * 200, 200, [&](int64_t) { return Uniform(random, 0, 1000000000); });
  std::array<SortStats, 2> stats;
  for (const int threads : {1, 2}) {
    World world(6 * kMiB, threads);
    world.context.force_spill = true;
    world.context.batch_rows = 500;
    {
      ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{0}}}, &stats[threads - 1]));
      ExpectSorted(batches, output, {{0}});
    }
    EXPECT_EQ(stats[threads - 1].initial_runs, 600);
    EXPECT_LE(world.ledger->peak_bytes(), world.ledger->granted_bytes());
    world.ExpectNothingHeld();
  }
  EXPECT_EQ(stats[0].paired_merges, 0);
  EXPECT_GT(stats[1].paired_merges, 1);
  EXPECT_LT(stats[1].spilled_bytes, stats[0].spilled_bytes * 5 / 4);
}

TEST(ManyRuns, DiskStaysNearTheDataWhileItIsRead) {
  Random random(33);
  const auto batches = Numbers(200000, 5000, [&](int64_t) { return Uniform(random, 0, 1000000000); });
  World world(4 * kMiB, 2);
  {
    SortStats stats;
    ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{0}}}, &stats));
    EXPECT_LE(world.disk->peak_used_bytes(), stats.spilled_bytes * 13 / 10);
    EXPECT_LE(stats.spilled_bytes, int64_t{200000} * 220);
  }
  world.ExpectNothingHeld();
}

// --- stopping early, and failing ------------------------------------------------------------------------------------------

TEST(EndOfASort, ReaderGoesAwayEarly) {
  Random random(41);
  const auto batches = Numbers(60000, 1000, [&](int64_t) { return Uniform(random, 0, 1000000); });
  for (const int threads : {1, 2}) {
    for (const int64_t granted_bytes : {3 * kMiB, 64 * kMiB}) {
      World world(granted_bytes, threads);
      world.context.batch_rows = 100;
      for (const int64_t batches_read : {0, 1, 5}) {
        auto& metrics = world.metrics.AddOperator("sort");
        ASSERT_OK_AND_ASSIGN(auto sorter, ExternalSorter::Make(&world.context, batches[0]->schema(), {{{0}}, 3}, &metrics));
        ASSERT_OK(FeedAndFinish(&world, sorter.get(), batches));
        ASSERT_OK_AND_ASSIGN(auto stream, sorter->OpenStream());
        ASSERT_OK_AND_ASSIGN(const auto some, Drain(stream.get(), batches_read));
        EXPECT_EQ(some.size(), static_cast<size_t>(batches_read));
      }
      world.ExpectNothingHeld();
    }
  }
}

TEST(EndOfASort, InputIsAbandoned) {
  const auto batches = Numbers(30000, 1000, [](int64_t row) { return row * 7919 % 30000; });
  World world(3 * kMiB, 2);
  {
    auto& metrics = world.metrics.AddOperator("sort");
    ASSERT_OK_AND_ASSIGN(auto sorter, ExternalSorter::Make(&world.context, batches[0]->schema(), {{{0}}, 3}, &metrics));
    ASSERT_OK(sorter->StartInput(2));
    for (const auto& batch : batches) ASSERT_OK(sorter->Append(1, *batch));
    EXPECT_GT(world.disk->used_bytes(), 0);
  }
  world.ExpectNothingHeld();
}

TEST(EndOfASort, Cancelled) {
  const auto batches = Numbers(30000, 1000, [](int64_t row) { return row * 7919 % 30000; });
  for (const int threads : {1, 2}) {
    World world(3 * kMiB, threads);
    world.context.batch_rows = 100;
    {
      auto& metrics = world.metrics.AddOperator("sort");
      ASSERT_OK_AND_ASSIGN(auto sorter, ExternalSorter::Make(&world.context, batches[0]->schema(), {{{0}}, 3}, &metrics));
      ASSERT_OK(FeedAndFinish(&world, sorter.get(), batches));
      ASSERT_OK_AND_ASSIGN(auto stream, sorter->OpenStream());
      ASSERT_OK(Drain(stream.get(), 2).status());
      world.cancellation.Cancel();
      EXPECT_EQ(GetErrorKind(Drain(stream.get()).status()), ErrorKind::kCancelled);
    }
    EXPECT_EQ(GetErrorKind(Sort(&world, batches, {{{0}}}).status()), ErrorKind::kCancelled);
    world.ExpectNothingHeld();
  }
}

TEST(EndOfASort, DiskIsFull) {
  Random random(42);
  const auto batches = Numbers(60000, 1000, [&](int64_t) { return Uniform(random, 0, 1000000); });
  World world(3 * kMiB, 2, /*spill_limit_bytes=*/kMiB);
  const arrow::Status status = Sort(&world, batches, {{{0}}}).status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kDiskLimit) << status.ToString();
  world.ExpectNothingHeld();
}

TEST(EndOfASort, DiskIsFullDuringAnEarlyMerge) {
  Random random(43);
  const auto batches = Numbers(400 * 200, 200, [&](int64_t) { return Uniform(random, 0, 1000000000); });
  const auto sort = [&](std::optional<int64_t> spill_limit_bytes, int64_t* peak_bytes) {
    World world(kMiB, 1, spill_limit_bytes);
    world.context.force_spill = true;
    SortStats stats;
    const arrow::Status status = Sort(&world, batches, {{{0}}}, &stats).status();
    EXPECT_TRUE(!status.ok() || stats.merge_levels > 1);
    *peak_bytes = world.disk->peak_used_bytes();
    world.ExpectNothingHeld();
    return status;
  };
  int64_t peak_bytes = 0;
  ASSERT_OK(sort(std::nullopt, &peak_bytes));
  ASSERT_OK(sort(peak_bytes, &peak_bytes));
  const arrow::Status status = sort(peak_bytes - 1, &peak_bytes);
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kDiskLimit) << status.ToString();
}

// --- memory shared with others --------------------------------------------------------------------------------------------

TEST(SharedMemory, AnotherConsumerTakesEveryFreedByte) {
  Random random(51);
  const auto batches = Numbers(100000, 1000, [&](int64_t) { return Uniform(random, 0, 1000000); });
  for (const int threads : {1, 2}) {
    World world(8 * kMiB, threads);
    std::atomic<bool> stop{false};
    auto grabber = world.ledger->AddConsumer("grabber");
    std::thread thread([&] {
      while (!stop.load()) {
        while (grabber->TryReserve(64 << 10)) {
        }
        std::this_thread::yield();
      }
    });
    SortStats stats;
    {
      const auto output = Sort(&world, batches, {{{0}}}, &stats);
      stop.store(true);
      thread.join();
      ASSERT_OK(output.status());
      ExpectSorted(batches, *output, {{0}});
    }
    EXPECT_GT(stats.initial_runs, 0);
    grabber.reset();
    world.ExpectNothingHeld();
  }
}

TEST(SharedMemory, RowsAreSpilledForWhoeverNeedsTheMemory) {
  const auto batches = Numbers(20000, 1000, [](int64_t row) { return row * 7919 % 20000; });
  World world(20 * kMiB, 1);
  auto& metrics = world.metrics.AddOperator("sort");
  {
    ASSERT_OK_AND_ASSIGN(auto sorter, ExternalSorter::Make(&world.context, batches[0]->schema(), {{{0}}, 3}, &metrics));
    ASSERT_OK(sorter->StartInput(1));
    for (const auto& batch : batches) ASSERT_OK(sorter->Append(0, *batch));
    EXPECT_EQ(world.disk->used_bytes(), 0);
    auto other = world.ledger->AddConsumer("scan");
    ASSERT_OK(other->Reserve(world.ledger->available_bytes() + kMiB));
    EXPECT_GT(world.disk->used_bytes(), 0);
    ASSERT_OK(sorter->FinishWorker(0));
    ASSERT_OK(sorter->FinishInput());
    ASSERT_OK_AND_ASSIGN(auto stream, sorter->OpenStream());
    ASSERT_OK_AND_ASSIGN(const auto output, Drain(stream.get()));
    ExpectSorted(batches, output, {{0}});
    EXPECT_GT(metrics.spilled_bytes.load(), 0);
  }
  EXPECT_EQ(metrics.rows.load(), 20000);
  EXPECT_GT(metrics.peak_bytes.load(), 0);
  world.ExpectNothingHeld();
}

TEST(SharedMemory, MoreMemoryNeverFailsWhereLessWasEnough) {
  Random random(52);
  for (const int64_t rows : {300, 3000, 9000, 10000, 30000}) {
    const auto batches = Numbers(rows, 500, [&](int64_t) { return Uniform(random, 0, 1000000); });
    for (int64_t granted_bytes = 2 * kMiB; granted_bytes <= 24 * kMiB; granted_bytes += granted_bytes / 3) {
      SCOPED_TRACE(fmt::format("{} rows, {} bytes", rows, granted_bytes));
      World world(granted_bytes, 2);
      ASSERT_OK_AND_ASSIGN(const auto output, Sort(&world, batches, {{{0}}}));
      ExpectSorted(batches, output, {{0}});
    }
  }
}

}  // namespace
}  // namespace icebound::exec::sort
