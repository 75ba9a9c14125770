// SPDX-License-Identifier: Apache-2.0
//
// How long a row takes on its way through a join, on each side, with all in memory and with next to nothing. The rows are those
// of orders (key and comment) and of lineitem (key and price), four to one; every row of lineitem finds its order.
//
//   hash_join_benchmark --benchmark_filter=mib:16
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>

#include "exec/join/hash_join.h"
#include "expr/evaluate.h"
#include "runtime/worker_pool.h"

namespace icebound::exec::join {
namespace {

constexpr int64_t kOrders = 1'000'000;
constexpr int64_t kLines = 4 * kOrders;
constexpr int64_t kBatchRows = 8192;

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Check(const arrow::Status& status) {
  if (!status.ok()) status.Abort();
}

/// Batches of key and value, in an order that has nothing to do with the keys.
template <typename Builder, typename Value>
arrow::RecordBatchVector Rows(int64_t rows, const std::shared_ptr<arrow::Schema>& schema, Value value) {
  arrow::RecordBatchVector batches;
  for (int64_t first = 0; first < rows; first += kBatchRows) {
    arrow::Int64Builder keys;
    Builder values;
    const int64_t end = std::min(rows, first + kBatchRows);
    for (int64_t i = first; i < end; ++i) {
      Check(keys.Append(static_cast<int64_t>(static_cast<uint64_t>(i) * 0x9E3779B1U % kOrders)));
      Check(values.Append(value(i)));
    }
    batches.push_back(arrow::RecordBatch::Make(schema, end - first, {keys.Finish().ValueOrDie(), values.Finish().ValueOrDie()}));
  }
  return batches;
}

std::shared_ptr<arrow::Schema> OrdersSchema() {
  return arrow::schema({arrow::field("o_orderkey", arrow::int64(), false), arrow::field("o_comment", arrow::utf8(), false)});
}
std::shared_ptr<arrow::Schema> LinesSchema() {
  return arrow::schema({arrow::field("l_orderkey", arrow::int64(), false), arrow::field("l_price", arrow::int64(), false)});
}

/// Gives the lines to the join.
class LinesOperator final : public Operator {
 public:
  explicit LinesOperator(QueryContext* context) : Operator(context, "lines", LinesSchema()) {}
  arrow::Status Prepare() override { return arrow::Status::OK(); }
  int max_streams() const override { return context()->threads; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override {
    class Stream final : public BatchStream {
     public:
      explicit Stream(std::atomic<size_t>* next) : next_(*next) {}
      arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
        const size_t next = next_++;
        return next < Batches().size() ? Batches()[next] : nullptr;
      }

     private:
      std::atomic<size_t>& next_;
    };
    return std::make_unique<Stream>(&next_);
  }
  static const arrow::RecordBatchVector& Batches() {
    static const auto kBatches = Rows<arrow::Int64Builder>(kLines, LinesSchema(), [](int64_t i) { return i; });
    return kBatches;
  }

 private:
  std::atomic<size_t> next_{0};
};

void Join(benchmark::State& state) {
  static const auto kOrdersRows = Rows<arrow::StringBuilder>(kOrders, OrdersSchema(), [](int64_t i) {
    return fmt::format("{} furiously ironic requests sleep {}", i * 7919 % 10'007, i);
  });
  LinesOperator::Batches();
  Check(expr::InitializeExpressions());
  const auto threads = static_cast<int>(state.range(1));
  auto ledger = memory::MemoryLedger::Make({.limit_bytes = int64_t{1} << 30}).ValueOrDie();
  auto ballast = ledger->AddConsumer("ballast");
  Check(ballast->Reserve(ledger->granted_bytes() - (state.range(0) << 20)));
  auto disk = spill::DiskManager::Make({}).ValueOrDie();
  runtime::CancellationToken cancellation;
  runtime::MetricsRegistry registry;
  runtime::QueryContext context{*ledger, *disk, cancellation, registry, threads};
  double build_seconds = 0;
  double probe_seconds = 0;
  int64_t spilled_bytes = 0;
  for (auto _ : state) {
    HashJoinOptions options;
    options.context = &context;
    options.metrics = &registry.AddOperator("hash join");
    options.left = LinesSchema();
    options.right = OrdersSchema();
    options.condition.keys = {{expr::MakeColumn(0, *options.left->field(0)), expr::MakeColumn(0, *options.right->field(0))}};
    options.output =
        arrow::schema({options.left->field(0), options.left->field(1), options.right->field(0), options.right->field(1)});
    const double start = CpuSeconds();
    auto join = HashJoin::Make(std::move(options)).ValueOrDie();
    Check(join->StartBuild(threads));
    std::atomic<size_t> next{0};
    Check(runtime::RunOnThreads(threads, [&](int worker) -> arrow::Status {
      for (size_t i = next++; i < kOrdersRows.size(); i = next++) ARROW_RETURN_NOT_OK(join->AppendBuild(worker, kOrdersRows[i]));
      return join->FinishBuildWorker(worker);
    }));
    Check(join->FinishBuild());
    const double middle = CpuSeconds();
    Check(join->StartProbe(std::make_unique<LinesOperator>(&context)));
    std::atomic<int64_t> rows{0};
    Check(runtime::RunOnThreads(threads, [&](int) -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(auto stream, join->OpenStream());
      while (true) {
        ARROW_ASSIGN_OR_RAISE(const auto batch, stream->Next());
        if (batch == nullptr) return arrow::Status::OK();
        rows += batch->num_rows();
      }
    }));
    if (rows != kLines) std::abort();
    build_seconds += middle - start;
    probe_seconds += CpuSeconds() - middle;
    spilled_bytes = join->spilled_bytes();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["build_ns_row"] = build_seconds / runs / static_cast<double>(kOrders) * 1e9;
  state.counters["probe_ns_row"] = probe_seconds / runs / static_cast<double>(kLines) * 1e9;
  state.counters["spilled_bytes_row"] = static_cast<double>(spilled_bytes) / static_cast<double>(kOrders + kLines);
}

BENCHMARK(Join)
    ->ArgNames({"mib", "threads"})
    ->ArgsProduct({{16, 64, 900}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(2);

}  // namespace
}  // namespace icebound::exec::join
