// SPDX-License-Identifier: Apache-2.0
//
// Aggregation where memory is short: wide keys and states, partitions that are split again, keys of one hash, other consumers.
#include <thread>

#include "exec/aggregate/aggregate_testing.h"
#include "exec/aggregate/hash_aggregator.h"
#include "row/hash.h"

namespace icebound::exec::aggregate {
namespace {

using namespace test;  // NOLINT: this folder's own

/// Gives batches that are made when they are asked for, so that the input takes no memory.
class MadeBatches final : public Operator {
 public:
  using Make = std::function<std::shared_ptr<arrow::RecordBatch>(int64_t index)>;
  MadeBatches(QueryContext* context, std::shared_ptr<arrow::Schema> schema, int64_t batches, int streams, Make make)
      : Operator(context, "made", std::move(schema)), batches_(batches), streams_(streams), make_(std::move(make)) {}

  arrow::Status Prepare() override { return arrow::Status::OK(); }
  int max_streams() const override { return streams_; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override { return std::make_unique<Stream>(this); }

 private:
  struct Stream final : public BatchStream {
    explicit Stream(MadeBatches* source) : source(source) {}
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
      const int64_t next = source->next_++;
      return next < source->batches_ ? source->make_(next) : nullptr;
    }
    MadeBatches* const source;
  };

  const int64_t batches_;
  const int streams_;
  const Make make_;
  std::atomic<int64_t> next_{0};
};

// Arrays made on one thread and freed on another come from malloc, whose locks the thread sanitizer sees.

std::shared_ptr<arrow::Array> Int64s(int64_t rows, const std::function<int64_t(int64_t)>& value) {
  arrow::Int64Builder builder(arrow::system_memory_pool());
  for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(value(i)).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> Strings(int64_t rows, const std::function<std::string(int64_t)>& value) {
  arrow::StringBuilder builder(arrow::system_memory_pool());
  for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(value(i)).ok());
  return builder.Finish().ValueOrDie();
}

/// Counts of an aggregation's rows: groups, and the sum of its last column.
struct Totals {
  int64_t groups = 0;
  int64_t sum = 0;
};

arrow::Result<Totals> TotalsOf(World* world, Operator* op) {
  ARROW_RETURN_NOT_OK(op->Prepare());
  std::mutex mutex;
  Totals totals;
  ARROW_RETURN_NOT_OK(DrainInParallel(&world->context, op, [&](int, BatchStream* stream) -> arrow::Status {
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const auto batch, stream->Next());
      if (batch == nullptr) return arrow::Status::OK();
      std::lock_guard lock(mutex);
      totals.groups += batch->num_rows();
      const auto& last = static_cast<const arrow::Int64Array&>(*batch->columns().back());
      for (int64_t i = 0; i < last.length(); ++i) totals.sum += last.Value(i);
    }
  }));
  return totals;
}

TEST(AggregateSpill, PartitionsAreSplitAgain) {
  // 120,000 groups of 1000 bytes, each in two batches far apart, in 2 MiB.
  constexpr int64_t kBatches = 600;
  constexpr int64_t kRows = 400;
  for (const int threads : {1, 2}) {
    World world(2 * kMiB, threads);
    {
      const auto schema = arrow::schema({arrow::field("s", arrow::utf8())});
      auto child = std::make_unique<MadeBatches>(&world.context, schema, kBatches, threads, [&](int64_t index) {
        const auto strings = Strings(kRows, [&](int64_t i) {
          std::string text = std::to_string((index % (kBatches / 2)) * kRows + i);
          return text + std::string(1000 - text.size(), 'x');
        });
        return arrow::RecordBatch::Make(schema, kRows, {strings});
      });
      AggregateCase query(schema);
      query.By({"s"});
      query.Add("count");
      ASSERT_OK_AND_ASSIGN(auto op,
                           AggregateOperator::Make(&world.context, std::move(child), query.groups, query.calls, query.Output()));
      ASSERT_OK_AND_ASSIGN(const Totals totals, TotalsOf(&world, op.get()));
      EXPECT_EQ(totals.groups, kBatches / 2 * kRows);
      EXPECT_EQ(totals.sum, kBatches * kRows);
      EXPECT_GE(op->metrics().spill_levels.load(), 2);
      EXPECT_LE(op->metrics().peak_bytes.load(), world.ledger->granted_bytes());
    }
    world.ExpectNothingHeld();
  }
}

/// Keys of two columns that all have the same hash.
arrow::ArrayVector KeysOfOneHash(int64_t rows, int64_t groups) {
  const auto first = Int64s(rows, [&](int64_t i) { return i % groups; });
  const auto hasher = row::RowHasher::Make({arrow::int64()}, kGroupHashSeed).ValueOrDie();
  std::vector<uint64_t> hashes(static_cast<size_t>(rows));
  EXPECT_TRUE(hasher->Hash({first}, 0, hashes).ok());
  const auto second =
      Int64s(rows, [&](int64_t i) { return static_cast<int64_t>(uint64_t{12345} - hashes[static_cast<size_t>(i)]); });
  const auto both = row::RowHasher::Make({arrow::int64(), arrow::int64()}, kGroupHashSeed).ValueOrDie();
  EXPECT_TRUE(both->Hash({first, second}, 0, hashes).ok());
  EXPECT_EQ(std::set<uint64_t>(hashes.begin(), hashes.end()).size(), 1);
  return {first, second};
}

TEST(AggregateSpill, KeysOfOneHashAreSorted) {
  constexpr int64_t kRows = 40000;
  constexpr int64_t kGroups = 15000;
  arrow::ArrayVector columns = KeysOfOneHash(kRows, kGroups);
  columns.push_back(Strings(kRows, [](int64_t i) { return "value number " + std::to_string(i * 7919 % 40000); }));
  const auto schema = arrow::schema(
      {arrow::field("a", arrow::int64(), false), arrow::field("b", arrow::int64(), false), arrow::field("s", arrow::utf8())});
  const auto whole = arrow::RecordBatch::Make(schema, kRows, columns);
  arrow::RecordBatchVector batches;
  for (int64_t first = 0; first < kRows; first += 1000) batches.push_back(whole->Slice(first, 1000));
  AggregateCase query(schema);
  query.By({"a", "b"});
  query.Add("count");
  query.Add("max", "s");
  query.Add("sum", "a");
  const auto expected = ModelRows(query, batches);
  for (const int threads : {1, 2}) {
    for (const bool force_spill : {false, true}) {
      World world(50 * kMiB, threads);
      world.context.force_spill = force_spill;
      {
        ASSERT_OK_AND_ASSIGN(const auto output, RunCase(&world, query, batches, threads));
        ExpectSameRows(OutputRows(output), expected);
      }
      world.ExpectNothingHeld();
    }
  }
}

TEST(AggregateSpill, WideStatesGoOutAndComeBack) {
  // max() of 10,000 bytes in 2500 groups: 25 MB of states in 6 MiB.
  constexpr int64_t kBatches = 100;
  constexpr int64_t kRows = 50;
  constexpr int64_t kGroups = 2500;
  for (const int threads : {1, 2}) {
    World world(6 * kMiB, threads);
    {
      const auto schema = arrow::schema({arrow::field("k", arrow::int64()), arrow::field("s", arrow::utf8())});
      auto child = std::make_unique<MadeBatches>(&world.context, schema, kBatches, threads, [&](int64_t index) {
        const auto keys = Int64s(kRows, [&](int64_t i) { return (index * kRows + i) % kGroups; });
        const auto strings =
            Strings(kRows, [&](int64_t i) { return std::string(10000, '#') + std::to_string(1000000 + index * kRows + i); });
        return arrow::RecordBatch::Make(schema, kRows, {keys, strings});
      });
      AggregateCase query(schema);
      query.By({"k"});
      query.Add("max", "s");
      ASSERT_OK_AND_ASSIGN(auto op,
                           AggregateOperator::Make(&world.context, std::move(child), query.groups, query.calls, query.Output()));
      ASSERT_OK(op->Prepare());
      int64_t groups = 0;
      std::mutex mutex;
      ASSERT_OK(DrainInParallel(&world.context, op.get(), [&](int, BatchStream* stream) -> arrow::Status {
        while (true) {
          ARROW_ASSIGN_OR_RAISE(const auto batch, stream->Next());
          if (batch == nullptr) return arrow::Status::OK();
          std::lock_guard lock(mutex);
          for (int64_t i = 0; i < batch->num_rows(); ++i, ++groups) {
            const int64_t key = static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(i);
            const auto value = static_cast<const arrow::StringArray&>(*batch->column(1)).GetView(i);
            // The group's last row has the greatest number.
            EXPECT_EQ(value.substr(10000), std::to_string(1000000 + key + kGroups));
          }
        }
      }));
      EXPECT_EQ(groups, kGroups);
      EXPECT_GT(op->metrics().spilled_bytes.load(), 0);
    }
    world.ExpectNothingHeld();
  }
}

TEST(AggregateSpill, GroupsOfStructsAreNotDoubled) {
  constexpr int64_t kRows = 60000;
  Random random(5);
  const auto number = Int64s(kRows, [&](int64_t) { return Uniform(random, 0, 200); });
  const auto text = Strings(kRows, [&](int64_t) { return std::string(static_cast<size_t>(Uniform(random, 0, 30)), 'y'); });
  const auto inner = Int64s(kRows, [&](int64_t) { return Uniform(random, 0, 3); });
  const auto pair = arrow::StructArray::Make({inner, text}, std::vector<std::string>{"p", "q"}).ValueOrDie();
  const auto schema = arrow::schema({arrow::field("n", arrow::int64()), arrow::field("t", arrow::utf8()),
                                     arrow::field("st", pair->type()), arrow::field("x", arrow::int64())});
  const auto whole = arrow::RecordBatch::Make(schema, kRows, {number, text, pair, inner});
  arrow::RecordBatchVector batches;
  for (int64_t first = 0; first < kRows; first += 1000) batches.push_back(whole->Slice(first, 1000));
  AggregateCase query(schema);
  query.By({"n", "t", "st"});
  query.Add("count");
  query.Add("sum", "x");
  for (const int64_t memory_bytes : {4 * kMiB, 60 * kMiB}) {
    World world(memory_bytes, 2);
    {
      ASSERT_OK_AND_ASSIGN(const auto output, RunCase(&world, query, batches, 2));
      ExpectSameRows(OutputRows(output), ModelRows(query, batches));
    }
    world.ExpectNothingHeld();
  }
}

TEST(AggregateSpill, IntervalsAreGroupedByLength) {
  arrow::MonthDayNanoIntervalBuilder builder;
  // A month is 30 days.
  for (int i = 0; i < 100; ++i) ASSERT_OK(builder.Append(i % 2 == 0 ? Interval{1, 0, 0} : Interval{0, 30, 0}));
  ASSERT_OK(builder.AppendNull());
  const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("v", arrow::month_day_nano_interval())}), 101,
                                              {builder.Finish().ValueOrDie()});
  for (const bool distinct : {false, true}) {
    World world(50 * kMiB, 1);
    AggregateCase query(batch->schema());
    if (!distinct) query.By({"v"});
    query.Add("count", "v").distinct = distinct;
    query.Add("sum", "v").distinct = distinct;
    ASSERT_OK_AND_ASSIGN(const auto output, RunCase(&world, query, {batch}, 1));
    const auto rows = RowTexts(output);
    if (distinct) {
      EXPECT_EQ(rows, (std::multiset<std::string>{"1 | 1M0d0ns | "}));
    } else {
      EXPECT_EQ(rows, (std::multiset<std::string>{"1M0d0ns | 100 | 50M1500d0ns | ", "NULL | 0 | NULL | "}));
    }
  }
}

TEST(AggregateSpill, SumsBeyondTheirTypeFail) {
  const auto check = [](const std::shared_ptr<arrow::Array>& values, const char* function, bool fails) {
    const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("x", values->type())}), values->length(), {values});
    World world(50 * kMiB, 1);
    AggregateCase query(batch->schema());
    query.Add(function, "x");
    const auto output = RunCase(&world, query, {batch}, 1);
    if (fails) {
      EXPECT_EQ(GetErrorKind(output.status()), ErrorKind::kExecution) << output.status().ToString();
    } else {
      EXPECT_OK(output.status());
    }
  };
  const std::string nines(38, '9');
  const auto decimals = [&](const std::vector<std::string>& texts) {
    arrow::Decimal128Builder builder(arrow::decimal128(38, 0));
    for (const std::string& text : texts) EXPECT_TRUE(builder.Append(arrow::Decimal128(text)).ok());
    return builder.Finish().ValueOrDie();
  };
  check(decimals({nines, "1"}), "sum", true);
  // On the way the sum passes what 128 bits hold; the result does not.
  check(decimals({nines, nines, nines, "-" + nines, "-" + nines}), "sum", false);
  check(decimals({nines, nines, nines}), "sum", true);
  check(decimals({"-" + nines, "-" + nines, "-" + nines}), "sum", true);
  check(Int64s(3, [](int64_t) { return INT64_MAX; }), "sum", false);
  check(Int64s(3, [](int64_t) { return INT64_MIN; }), "avg", false);
}

TEST(AggregateSpill, DictionariesComeOutAsValues) {
  Random random(3);
  const auto words = row::test::RandomArray(arrow::dictionary(arrow::int16(), arrow::utf8()), 5000, 0.1, random);
  const auto numbers = row::test::RandomArray(arrow::dictionary(arrow::int8(), arrow::int64()), 5000, 0.1, random);
  const auto batch = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("w", words->type()), arrow::field("n", numbers->type())}), 5000, {words, numbers});
  for (const bool force_spill : {false, true}) {
    World world(50 * kMiB, 1);
    world.context.force_spill = force_spill;
    AggregateCase query(batch->schema());
    query.By({"w"});
    query.Add("count", "n");
    query.Add("min", "w");
    ASSERT_OK_AND_ASSIGN(const auto output, RunCase(&world, query, {batch}, 1));
    EXPECT_EQ(output[0]->schema()->field(0)->type()->id(), arrow::Type::STRING);
    ExpectSameRows(OutputRows(output), ModelRows(query, {batch}));
  }
}

TEST(AggregateSpill, AnyTypeIsAKey) {
  for (const auto& named : row::test::TestTypes()) {
    SCOPED_TRACE(named.name);
    Random random(9);
    const auto values = row::test::RandomArray(named.type, 300, 0.2, random);
    const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("v", values->type())}), 300, {values});
    World world(50 * kMiB, 1);
    AggregateCase query(batch->schema());
    query.By({"v"});
    query.Add("count");
    ASSERT_OK_AND_ASSIGN(const auto output, RunCase(&world, query, {batch, batch}, 1));
    // Equal keys meet: no group has fewer rows than both batches give, and all rows are there.
    int64_t rows = 0;
    std::set<std::string> keys;
    for (const auto& part : output) {
      const auto& counts = static_cast<const arrow::Int64Array&>(*part->column(1));
      for (int64_t i = 0; i < part->num_rows(); ++i) {
        rows += counts.Value(i);
        EXPECT_EQ(counts.Value(i) % 2, 0);
      }
    }
    EXPECT_EQ(rows, 600);
  }
}

TEST(AggregateSpill, WaitingGroupsAreGivenUp) {
  // Groups that stay in memory until they are read go to disk when somebody needs the memory before that.
  World world(40 * kMiB, 2);
  {
    const auto schema = arrow::schema({arrow::field("k", arrow::int64())});
    auto child = std::make_unique<MadeBatches>(&world.context, schema, 200, 2, [&](int64_t index) {
      return arrow::RecordBatch::Make(schema, 2000, {Int64s(2000, [&](int64_t i) { return index * 2000 + i; })});
    });
    AggregateCase query(schema);
    query.By({"k"});
    query.Add("count");
    ASSERT_OK_AND_ASSIGN(auto op,
                         AggregateOperator::Make(&world.context, std::move(child), query.groups, query.calls, query.Output()));
    ASSERT_OK(op->Prepare());
    EXPECT_EQ(op->metrics().spilled_bytes.load(), 0);
    auto other = world.ledger->AddConsumer("other");
    ASSERT_OK(other->Reserve(world.ledger->available_bytes() + 4 * kMiB));
    EXPECT_GT(op->metrics().spilled_bytes.load(), 0);
    ASSERT_OK_AND_ASSIGN(const auto stream, op->OpenStream());
    ASSERT_OK_AND_ASSIGN(const auto output, sort::test::Drain(stream.get()));
    int64_t rows = 0;
    for (const auto& batch : output) rows += batch->num_rows();
    EXPECT_EQ(rows, 400000);
    other->Release(other->reserved_bytes());
  }
  world.ExpectNothingHeld();
}

TEST(AggregateSpill, InputIsNotKept) {
  // Keys and states are copies: a batch is gone when the next but one is asked for, whatever is aggregated.
  World world(20 * kMiB, 1);
  {
    std::vector<std::weak_ptr<arrow::Array>> made;
    const auto schema = arrow::schema({arrow::field("url", arrow::utf8())});
    auto child = std::make_unique<MadeBatches>(&world.context, schema, 60, 1, [&](int64_t index) {
      for (size_t i = 0; i + 2 < made.size(); ++i) EXPECT_TRUE(made[i].expired());
      const auto urls = Strings(500, [&](int64_t i) {
        return "https://example.org/" + std::string(300, 'u') + std::to_string((index * 7919 + i * 31) % 9000);
      });
      made.push_back(urls);
      return arrow::RecordBatch::Make(schema, 500, {urls});
    });
    AggregateCase query(schema);
    query.By({"url"});
    query.Add("max", "url");
    query.Add("count", "url").distinct = true;
    query.Add("count");
    ASSERT_OK_AND_ASSIGN(auto op,
                         AggregateOperator::Make(&world.context, std::move(child), query.groups, query.calls, query.Output()));
    ASSERT_OK_AND_ASSIGN(const Totals totals, TotalsOf(&world, op.get()));
    EXPECT_EQ(totals.sum, 30000);
    EXPECT_LE(totals.groups, 9000);
  }
  world.ExpectNothingHeld();
}

TEST(AggregateSpill, MemoryIsGivenToOthers) {
  // Another consumer asks for most of what there is while groups gather.
  World world(40 * kMiB, 1);
  {
    auto other = world.ledger->AddConsumer("other");
    const auto schema = arrow::schema({arrow::field("k", arrow::int64())});
    auto child = std::make_unique<MadeBatches>(&world.context, schema, 200, 1, [&](int64_t index) {
      if (index == 150) {
        EXPECT_TRUE(other->Reserve(25 * kMiB).ok());
      }
      return arrow::RecordBatch::Make(schema, 2000, {Int64s(2000, [&](int64_t i) { return index * 2000 + i; })});
    });
    AggregateCase query(schema);
    query.By({"k"});
    query.Add("count");
    ASSERT_OK_AND_ASSIGN(auto op,
                         AggregateOperator::Make(&world.context, std::move(child), query.groups, query.calls, query.Output()));
    ASSERT_OK_AND_ASSIGN(const Totals totals, TotalsOf(&world, op.get()));
    EXPECT_EQ(totals.groups, 400000);
    EXPECT_EQ(totals.sum, 400000);
    EXPECT_GT(op->metrics().spilled_bytes.load(), 0);
    other->Release(25 * kMiB);
  }
  world.ExpectNothingHeld();
}

}  // namespace
}  // namespace icebound::exec::aggregate
