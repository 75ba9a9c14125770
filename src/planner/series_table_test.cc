// SPDX-License-Identifier: Apache-2.0
#include "planner/series_table.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "base/error.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::planner {
namespace {

/// What a scan runs in.
struct World {
  World() {
    memory::MemoryLedgerOptions options;
    options.limit_bytes = memory::kMinimumLimitBytes;
    ledger = memory::MemoryLedger::Make(options).ValueOrDie();
    disk = spill::DiskManager::Make({}).ValueOrDie();
    context.emplace(runtime::QueryContext{*ledger, *disk, cancellation, metrics});
    context->batch_rows = 100;
  }

  memory::MemoryLedgerPtr ledger;
  std::unique_ptr<spill::DiskManager> disk;
  runtime::CancellationToken cancellation;
  runtime::MetricsRegistry metrics;
  std::optional<runtime::QueryContext> context;
};

template <typename Scalar, typename Value>
std::shared_ptr<plan::TableSource> Integers(Value start, Value stop, Value step) {
  return MakeSeriesTable({std::make_shared<Scalar>(start), std::make_shared<Scalar>(stop), std::make_shared<Scalar>(step)})
      .ValueOrDie();
}
auto Longs(int64_t start, int64_t stop, int64_t step) { return Integers<arrow::Int64Scalar>(start, stop, step); }

void Append(const arrow::RecordBatch& batch, std::vector<int64_t>* values) {
  EXPECT_GT(batch.num_rows(), 0);
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    const auto scalar = batch.column(0)->GetScalar(row).ValueOrDie();
    values->push_back(scalar->type->id() == arrow::Type::INT32
                          ? static_cast<const arrow::Int32Scalar&>(*scalar).value
                          : static_cast<const arrow::Int64Scalar&>(*scalar->CastTo(arrow::int64()).ValueOrDie()).value);
  }
}

/// All values, read by `threads` streams.
std::vector<int64_t> Read(const plan::TableSource& table, plan::ScanRequest request = {.projection = {0}}, int threads = 1) {
  World world;
  std::vector<std::vector<int64_t>> parts(static_cast<size_t>(threads));
  {
    auto source = table.Scan(request, &*world.context).ValueOrDie();
    EXPECT_GE(source->max_streams(), 1);
    std::vector<std::thread> workers;
    for (int i = 0; i < std::min(threads, source->max_streams()); ++i) {
      workers.emplace_back([&, i] {
        auto stream = source->OpenStream().ValueOrDie();
        while (auto batch = stream->Next().ValueOrDie()) {
          EXPECT_LE(batch->num_rows(), world.context->batch_rows);
          Append(*batch, &parts[static_cast<size_t>(i)]);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  world.ledger->Trim();
  EXPECT_EQ(world.ledger->reserved_bytes(), 0);
  std::vector<int64_t> values;
  for (const auto& part : parts) values.insert(values.end(), part.begin(), part.end());
  EXPECT_EQ(world.metrics.input_rows, static_cast<int64_t>(values.size()));
  return values;
}

std::vector<int64_t> Model(__int128 start, __int128 stop, __int128 step) {
  std::vector<int64_t> values;
  for (__int128 value = start; step > 0 ? value <= stop : value >= stop; value += step) {
    values.push_back(static_cast<int64_t>(value));
  }
  return values;
}

TEST(SeriesTable, CountsUpAndDown) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  const std::vector<std::array<int64_t, 3>> cases = {
      {1, 10, 1},     {1, 10, 3},           {10, 1, -4},          {1, 0, 1},          {0, 1, -1},         {5, 5, 7},
      {-500, 499, 1}, {kMax - 3, kMax, 2},  {kMin + 3, kMin, -2}, {kMin, kMax, kMax}, {kMax, kMin, kMin}, {1, 100, 1},
      {1, 101, 1},    {0, kMax, kMax / 250}};
  for (const auto& [start, stop, step] : cases) {
    const auto table = Longs(start, stop, step);
    const std::vector<int64_t> expected = Model(start, stop, step);
    EXPECT_EQ(Read(*table), expected) << start << " " << stop << " " << step;
    EXPECT_EQ(table->statistics().rows, static_cast<int64_t>(expected.size()));
  }
  constexpr int32_t kIntMax = std::numeric_limits<int32_t>::max();
  EXPECT_EQ((Read(*Integers<arrow::Int32Scalar>(kIntMax - 1, kIntMax, 1))), Model(kIntMax - 1, kIntMax, 1));
}

TEST(SeriesTable, StreamsShareTheRows) {
  std::vector<int64_t> values = Read(*Longs(1, 10'050, 1), {.projection = {0}}, 4);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, Model(1, 10'050, 1));
}

TEST(SeriesTable, OrderedIsOneStream) {
  World world;
  EXPECT_EQ(Longs(1, 1000, 1)->Scan({.projection = {0}, .ordered = true}, &*world.context).ValueOrDie()->max_streams(), 1);
  EXPECT_EQ(Longs(1, 1000, 1)->Scan({.projection = {0}}, &*world.context).ValueOrDie()->max_streams(), 10);
}

TEST(SeriesTable, LimitsAndProjections) {
  EXPECT_EQ(Read(*Longs(1, 1'000'000'000'000, 1), {.projection = {0}, .limit = 250}), Model(1, 250, 1));
  World world;
  const auto source = Longs(1, 250, 1)->Scan({}, &*world.context).ValueOrDie();
  EXPECT_EQ(source->schema()->num_fields(), 0);
  const auto stream = source->OpenStream().ValueOrDie();
  int64_t rows = 0;
  while (const auto batch = stream->Next().ValueOrDie()) rows += batch->num_rows();
  EXPECT_EQ(rows, 250) << "rows without columns are counted";
}

std::shared_ptr<arrow::Scalar> Timestamp(const std::string& text) {
  return arrow::Scalar::Parse(arrow::timestamp(arrow::TimeUnit::MICRO), text).ValueOrDie();
}
std::shared_ptr<arrow::Scalar> Interval(int32_t months, int32_t days, int64_t nanoseconds) {
  return std::make_shared<arrow::MonthDayNanoIntervalScalar>(
      arrow::MonthDayNanoIntervalType::MonthDayNanos{months, days, nanoseconds});
}

std::vector<std::string> ReadTimestamps(const plan::SeriesBounds& bounds) {
  World world;
  const auto table = MakeSeriesTable(bounds).ValueOrDie();
  const auto source = table->Scan({.projection = {0}}, &*world.context).ValueOrDie();
  EXPECT_EQ(source->max_streams(), 1);
  const auto stream = source->OpenStream().ValueOrDie();
  std::vector<std::string> texts;
  while (const auto batch = stream->Next().ValueOrDie()) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      texts.push_back(batch->column(0)->GetScalar(row).ValueOrDie()->ToString().substr(0, 19));
    }
  }
  return texts;
}

TEST(SeriesTable, TimestampsAddTheIntervalAgainAndAgain) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(ReadTimestamps({Timestamp("2020-01-31"), Timestamp("2020-04-30"), Interval(1, 0, 0)}),
            (Texts{"2020-01-31 00:00:00", "2020-02-29 00:00:00", "2020-03-29 00:00:00", "2020-04-29 00:00:00"}));
  EXPECT_EQ(ReadTimestamps({Timestamp("2020-01-02"), Timestamp("2020-01-01"), Interval(0, 0, -43'200'000'000'000)}),
            (Texts{"2020-01-02 00:00:00", "2020-01-01 12:00:00", "2020-01-01 00:00:00"}));
  EXPECT_EQ(ReadTimestamps({Timestamp("2020-01-02"), Timestamp("2020-01-01"), Interval(0, 1, 0)}), Texts{});
  EXPECT_EQ(ReadTimestamps({Timestamp("2020-01-01"), Timestamp("2020-12-31"), Interval(0, 1, 0)}).size(), 366u);
}

TEST(SeriesTable, NullsAndZeroSteps) {
  const auto null = arrow::MakeNullScalar(arrow::int64());
  const auto one = std::make_shared<arrow::Int64Scalar>(1);
  EXPECT_EQ(Read(*MakeSeriesTable({null, one, one}).ValueOrDie()), std::vector<int64_t>{});
  EXPECT_EQ(Read(*MakeSeriesTable({one, one, null}).ValueOrDie()), std::vector<int64_t>{});
  for (const auto& status : {MakeSeriesTable({one, one, std::make_shared<arrow::Int64Scalar>(0)}).status(),
                             MakeSeriesTable({Timestamp("2020-01-01"), Timestamp("2020-01-01"), Interval(1, -30, 0)}).status()}) {
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kInvalidInput);
    EXPECT_EQ(status.message(), "step size cannot equal zero");
  }
  EXPECT_EQ(GetErrorKind(MakeSeriesTable({one, one, Interval(1, 0, 0)}).status()), ErrorKind::kInternal);
}

TEST(SeriesTable, StopsWhenCancelled) {
  World world;
  const auto source = Longs(1, 1'000'000, 1)->Scan({.projection = {0}}, &*world.context).ValueOrDie();
  const auto stream = source->OpenStream().ValueOrDie();
  ASSERT_TRUE(stream->Next().ok());
  world.cancellation.Cancel();
  EXPECT_EQ(GetErrorKind(stream->Next().status()), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace icebound::planner
