// SPDX-License-Identifier: Apache-2.0
//
// How fast a table is scanned under a limit, and how much memory the system saw. The table is ICEBOUND_BENCHMARK_PARQUET (a path;
// TPC-H lineitem is the usual one), or a made-up one of two million rows.
//
//   ICEBOUND_BENCHMARK_PARQUET=lineitem.parquet parquet_scan_benchmark --benchmark_filter=64MiB
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <thread>

#include "io/parquet_table.h"
#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

const std::string& TablePath() {
  static const testing::Directory directory;
  static const std::string path = [] {
    if (const char* given = std::getenv("ICEBOUND_BENCHMARK_PARQUET"); given != nullptr) return std::string(given);
    constexpr int64_t kRows = 2'000'000;
    arrow::Int64Builder ids;
    arrow::Decimal128Builder prices(arrow::decimal128(15, 2));
    arrow::StringBuilder flags, texts;
    for (int64_t i = 0; i < kRows; ++i) {
      const uint64_t mixed = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u >> 20;
      arrow::Status status = ids.Append(i);
      status &= prices.Append(arrow::Decimal128(static_cast<int64_t>(mixed % 10'000'000)));
      status &= flags.Append(mixed % 3 == 0 ? "A" : "R");
      status &= texts.Append(fmt::format("text {} of many", mixed % 1'000'003));
      if (!status.ok()) std::abort();
    }
    arrow::ArrayVector columns;
    for (arrow::ArrayBuilder* builder : std::initializer_list<arrow::ArrayBuilder*>{&ids, &prices, &flags, &texts}) {
      columns.push_back(builder->Finish().ValueOrDie());
    }
    arrow::FieldVector fields;
    for (size_t i = 0; i < columns.size(); ++i) fields.push_back(arrow::field(fmt::format("c{}", i), columns[i]->type()));
    testing::WriteFile(directory / "t.parquet", *arrow::Table::Make(arrow::schema(fields), columns), {.row_group_rows = 120'000});
    return directory / "t.parquet";
  }();
  return path;
}

/// Reads everything on as many threads as the scan allows, up to `threads`.
int64_t Drain(runtime::StreamSource* source) {
  std::atomic<int64_t> rows{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < source->max_streams(); ++i) {
    threads.emplace_back([&] {
      auto stream = source->OpenStream().ValueOrDie();
      while (auto batch = stream->Next().ValueOrDie()) rows += batch->num_rows();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return rows;
}

void BM_Scan(benchmark::State& state) {
  const int64_t limit_mib = state.range(0);
  const int threads = static_cast<int>(state.range(1));
  const std::string& path = TablePath();
  int64_t rows = 0, bytes = 0, peak = 0;
  for (auto _ : state) {
    testing::Engine engine(limit_mib, threads);
    auto table = engine.Open(path).ValueOrDie();
    auto source = table->Scan(testing::WholeTable(*table), engine.context.get()).ValueOrDie();
    rows += Drain(source.get());
    bytes += engine.metrics.input_bytes;
    peak = std::max(peak, engine.ledger->peak_bytes());
  }
  state.SetItemsProcessed(rows);
  state.SetBytesProcessed(bytes);
  state.counters["ledger_peak_MiB"] = static_cast<double>(peak) / (1 << 20);
  state.counters["VmHWM_MiB"] = static_cast<double>(memory::ProbeResidentMemory().peak_bytes) / (1 << 20);
}
BENCHMARK(BM_Scan)
    ->ArgNames({"MiB", "threads"})
    ->Args({32, 1})
    ->Args({64, 2})
    ->Args({256, 2})
    ->Unit(benchmark::kSecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace icebound::io
