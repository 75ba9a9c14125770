// SPDX-License-Identifier: Apache-2.0
//
// The sorter alone on rows like those of TPC-H lineitem, generated in memory: nanoseconds of CPU a row in run
// generation and in the merge.
//
//   sort_benchmark --benchmark_filter=Sort/.*  arguments: MiB the sort may have, threads, key: 0 date and numbers, 1 comment
#include <benchmark/benchmark.h>

#include <ctime>
#include <random>

#include "exec/sort/external_sorter.h"
#include "memory/memory_ledger.h"
#include "runtime/query_context.h"
#include "runtime/worker_pool.h"
#include "spill/disk_manager.h"

namespace icebound::exec::sort {
namespace {

void Check(const arrow::Status& status) {
  if (!status.ok()) status.Abort();
}

constexpr int64_t kRows = 3'000'000;
constexpr int64_t kBatchRows = 8192;

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Makes the columns of one batch.
class LineitemRows {
 public:
  static std::shared_ptr<arrow::Schema> Schema() {
    const auto money = arrow::decimal128(15, 2);
    const auto required = [](std::string name, std::shared_ptr<arrow::DataType> type) { return arrow::field(name, type, false); };
    return arrow::schema(
        {required("l_orderkey", arrow::int64()), required("l_partkey", arrow::int64()), required("l_suppkey", arrow::int64()),
         required("l_linenumber", arrow::int32()), required("l_quantity", money), required("l_extendedprice", money),
         required("l_discount", money), required("l_tax", money), required("l_returnflag", arrow::utf8()),
         required("l_linestatus", arrow::utf8()), required("l_shipdate", arrow::date32()),
         required("l_commitdate", arrow::date32()), required("l_receiptdate", arrow::date32()),
         required("l_shipinstruct", arrow::utf8()), required("l_shipmode", arrow::utf8()), required("l_comment", arrow::utf8())});
  }

  std::shared_ptr<arrow::RecordBatch> Next(int64_t rows) {
    arrow::ArrayVector columns;
    int64_t line = 0;
    const int64_t order_before = order_;
    columns.push_back(Numbers<arrow::Int64Builder>(rows, [&] { return order_ += Uniform(0, 3) == 0 ? 1 : 0; }));
    columns.push_back(Numbers<arrow::Int64Builder>(rows, [&] { return Uniform(1, 200000); }));
    columns.push_back(Numbers<arrow::Int64Builder>(rows, [&] { return Uniform(1, 10000); }));
    columns.push_back(Numbers<arrow::Int32Builder>(rows, [&] { return 1 + (line++ + order_before) % 7; }));
    columns.push_back(Money(rows, 100, 5000));
    columns.push_back(Money(rows, 90000, 10500000));
    columns.push_back(Money(rows, 0, 10));
    columns.push_back(Money(rows, 0, 8));
    columns.push_back(Words(rows, {"A", "N", "R"}, 1));
    columns.push_back(Words(rows, {"F", "O"}, 1));
    for (int i = 0; i < 3; ++i) columns.push_back(Numbers<arrow::Date32Builder>(rows, [&] { return Uniform(8036, 10560); }));
    columns.push_back(Words(rows, {"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}, 1));
    columns.push_back(Words(rows, {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"}, 1));
    columns.push_back(Words(
        rows, {" carefully", " final", " deposits", " slyly", " ironic", " packages", " requests", "ly regular", " even"}, 4));
    return arrow::RecordBatch::Make(Schema(), rows, std::move(columns));
  }

 private:
  int64_t Uniform(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  template <typename Builder, typename Value>
  std::shared_ptr<arrow::Array> Numbers(int64_t rows, Value value) {
    Builder builder;
    for (int64_t i = 0; i < rows; ++i) Check(builder.Append(static_cast<typename Builder::value_type>(value())));
    return builder.Finish().ValueOrDie();
  }
  std::shared_ptr<arrow::Array> Money(int64_t rows, int64_t low, int64_t high) {
    arrow::Decimal128Builder builder(arrow::decimal128(15, 2));
    for (int64_t i = 0; i < rows; ++i) Check(builder.Append(arrow::Decimal128(Uniform(low, high))));
    return builder.Finish().ValueOrDie();
  }
  std::shared_ptr<arrow::Array> Words(int64_t rows, const std::vector<std::string>& words, int count) {
    arrow::StringBuilder builder;
    std::string text;
    for (int64_t i = 0; i < rows; ++i) {
      text.clear();
      for (int word = 0; word < count; ++word)
        text += words[static_cast<size_t>(Uniform(0, static_cast<int64_t>(words.size()) - 1))];
      Check(builder.Append(text));
    }
    return builder.Finish().ValueOrDie();
  }

  std::mt19937_64 random_{42};
  int64_t order_ = 1;
};

const arrow::RecordBatchVector& Batches() {
  static const arrow::RecordBatchVector kBatches = [] {
    arrow::RecordBatchVector batches;
    LineitemRows rows;
    for (int64_t made = 0; made < kRows; made += kBatchRows) batches.push_back(rows.Next(std::min(kBatchRows, kRows - made)));
    return batches;
  }();
  return kBatches;
}

void Sort(benchmark::State& state) {
  const auto& batches = Batches();
  const auto granted_bytes = state.range(0) << 20;
  const auto threads = static_cast<int>(state.range(1));
  auto ledger = memory::MemoryLedger::Make({.limit_bytes = int64_t{1} << 30}).ValueOrDie();
  auto ballast = ledger->AddConsumer("ballast");
  Check(ballast->Reserve(ledger->granted_bytes() - granted_bytes));
  auto disk = spill::DiskManager::Make({}).ValueOrDie();
  runtime::CancellationToken cancellation;
  runtime::MetricsRegistry registry;
  runtime::QueryContext context{*ledger, *disk, cancellation, registry, threads};
  const auto schema = LineitemRows::Schema();
  double generation_seconds = 0;
  double merge_seconds = 0;
  int64_t runs = 0;
  int64_t spilled_bytes = 0;
  for (auto _ : state) {
    SorterOptions options;
    options.output_columns = schema->num_fields();
    if (state.range(2) == 0) {
      for (const char* key : {"l_shipdate", "l_orderkey", "l_linenumber"}) options.keys.push_back({schema->GetFieldIndex(key)});
    } else {
      options.keys.push_back({schema->GetFieldIndex("l_comment")});
    }
    const double start = CpuSeconds();
    auto sorter = ExternalSorter::Make(&context, schema, options, &registry.AddOperator("sort")).ValueOrDie();
    Check(sorter->StartInput(threads));
    std::atomic<size_t> next{0};
    Check(runtime::RunOnThreads(threads, [&](int worker) -> arrow::Status {
      for (size_t i = next++; i < batches.size(); i = next++) ARROW_RETURN_NOT_OK(sorter->Append(worker, *batches[i]));
      return sorter->FinishWorker(worker);
    }));
    Check(sorter->FinishInput());
    const double middle = CpuSeconds();
    auto stream = sorter->OpenStream().ValueOrDie();
    while (stream->Next().ValueOrDie() != nullptr) {
    }
    generation_seconds += middle - start;
    merge_seconds += CpuSeconds() - middle;
    runs = sorter->initial_runs();
    spilled_bytes = sorter->spilled_bytes();
  }
  const auto rows = static_cast<double>(kRows) * static_cast<double>(state.iterations());
  state.counters["generate_ns_row"] = generation_seconds / rows * 1e9;
  state.counters["merge_ns_row"] = merge_seconds / rows * 1e9;
  state.counters["runs"] = static_cast<double>(runs);
  state.counters["spilled_bytes_row"] = static_cast<double>(spilled_bytes) / static_cast<double>(kRows);
}

BENCHMARK(Sort)
    ->ArgNames({"mib", "threads", "key"})
    ->ArgsProduct({{16, 200, 900}, {1, 2}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(2);

}  // namespace
}  // namespace icebound::exec::sort
