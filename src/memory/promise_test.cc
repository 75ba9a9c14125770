// SPDX-License-Identifier: Apache-2.0
//
// The promise, as the operating system measures it: a process of its own fills its ledger to the brim on two threads, runs
// kernels all the while, and its high-water mark is read at the end.
#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/testing/gtest_util.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "memory/ledger_vector.h"
#include "memory/memory_testing.h"
#include "memory/process_tuning.h"
#include "memory/resident_guard.h"

namespace icebound::memory {
namespace {

namespace cp = arrow::compute;

/// Arrow's kernels over arrays of `pool`, so that code and tables of the libraries become resident.
arrow::Status RunKernels(arrow::MemoryPool* pool, uint64_t seed) {
  std::mt19937_64 random(seed);
  arrow::Int64Builder numbers(pool);
  arrow::StringBuilder strings(pool);
  for (int i = 0; i < 8192; ++i) {
    ARROW_RETURN_NOT_OK(numbers.Append(static_cast<int64_t>(random() % 1000) + 1));
    ARROW_RETURN_NOT_OK(strings.Append("row " + std::to_string(random() % 100)));
  }
  ARROW_ASSIGN_OR_RAISE(auto number_array, numbers.Finish());
  ARROW_ASSIGN_OR_RAISE(auto string_array, strings.Finish());
  const arrow::Datum n(number_array);
  const arrow::Datum s(string_array);
  cp::ExecContext context(pool);
  for (const char* name : {"add", "subtract", "multiply", "divide", "less", "equal", "min_element_wise", "bit_wise_and"}) {
    ARROW_RETURN_NOT_OK(cp::CallFunction(name, {n, n}, &context).status());
  }
  for (const char* name : {"unique", "value_counts", "dictionary_encode", "sum", "mean", "min_max", "is_null"}) {
    ARROW_RETURN_NOT_OK(cp::CallFunction(name, {n}, &context).status());
  }
  for (const char* name :
       {"utf8_upper", "utf8_length", "ascii_reverse", "binary_length", "dictionary_encode", "utf8_trim_whitespace"}) {
    ARROW_RETURN_NOT_OK(cp::CallFunction(name, {s}, &context).status());
  }
  ARROW_ASSIGN_OR_RAISE(arrow::Datum indices, cp::CallFunction("array_sort_indices", {n}, &context));
  ARROW_RETURN_NOT_OK(cp::CallFunction("take", {s, indices}, &context).status());
  return cp::CallFunction("take", {n, indices}, &context).status();
}

/// Takes and touches memory until refused, gives a random part back, and so on.
void FillRepeatedly(MemoryLedger* ledger, int rounds, uint64_t seed) {
  auto consumer = ledger->AddConsumer("filler");
  std::mt19937_64 random(seed);
  for (int round = 0; round < rounds; ++round) {
    std::vector<LedgerVector<uint8_t>> vectors;
    while (true) {
      LedgerVector<uint8_t> vector(consumer.get());
      const int64_t bytes = static_cast<int64_t>(random() % (random() % 4 == 0 ? 2 * kMiB : 64 << 10)) + 1;
      if (!vector.Resize(bytes).ok()) break;
      std::memset(vector.data(), 1, static_cast<size_t>(bytes));
      vectors.push_back(std::move(vector));
      if (vectors.size() % 100 == 0) IgnoreError(RunKernels(consumer->pool(), seed));
    }
  }
}

std::string KeepPromise(int64_t limit_bytes) {
  TuneProcessForBound();
  IgnoreError(cp::Initialize());
  MemoryLedgerOptions options;
  options.limit_bytes = limit_bytes;
  options.baseline_bytes = MeasureBaseline();
  options.stall_timeout_ms = 50;
  auto ledger = std::move(MemoryLedger::Make(options)).ValueOrDie();
  if (!RunKernels(ledger->pool(), 1).ok()) return "kernels fail in an empty ledger";
  std::thread other([&] { FillRepeatedly(ledger.get(), 4, 2); });
  FillRepeatedly(ledger.get(), 4, 3);
  other.join();
  const int64_t peak = ProbeResidentMemory().peak_bytes;
  const int64_t promised = PromisedResidentBytes(limit_bytes);
  if (ledger->peak_bytes() < ledger->granted_bytes() - kMiB) return "the ledger was never full";
  if (peak > promised) return fmt::format("VmHWM {} KiB is beyond the promise of {} KiB", peak / 1024, promised / 1024);
  if (peak < options.baseline_bytes + ledger->granted_bytes() - 8 * kMiB) return "the ledger's bytes were not resident at all";
  return "";
}

TEST(Promise, HoldsWithAFullLedger) {
  SKIP_WHEN_SANITIZED();
  for (int64_t limit : {32 * kMiB, 64 * kMiB, 128 * kMiB}) {
    SCOPED_TRACE(limit);
    ExpectInChild([limit] { return KeepPromise(limit); });
  }
}

TEST(Promise, LedgerPeakIsTheAnonymousPeak) {
  SKIP_WHEN_SANITIZED();
  ExpectInChild([]() -> std::string {
    auto ledger = MakeLedger(200 * kMiB);
    auto scan = ledger->AddConsumer("scan");
    const int64_t start = ProbeResidentMemory().anonymous_bytes;
    std::mt19937_64 random(5);
    std::vector<std::shared_ptr<arrow::Buffer>> buffers;
    int64_t peak = 0;
    for (int step = 0; step < 3000; ++step) {
      const int64_t bytes = BlockBytes(static_cast<int64_t>(random() % (random() % 8 == 0 ? 6 * kMiB : 100 << 10)) + 1);
      auto buffer = arrow::AllocateBuffer(bytes, scan->pool());
      if (buffer.ok()) {
        std::memset((*buffer)->mutable_data(), 1, static_cast<size_t>(bytes));
        buffers.push_back(std::move(*buffer));
      }
      peak = std::max(peak, ProbeResidentMemory().anonymous_bytes - start);
      if (!buffer.ok() || random() % 4 == 0) buffers.erase(buffers.begin() + static_cast<int64_t>(random() % buffers.size()));
    }
    if (ledger->peak_bytes() < 150 * kMiB) return "too little was allocated to show anything";
    const int64_t difference = peak - ledger->peak_bytes();
    if (difference > 4 * kMiB || difference < -4 * kMiB) {
      return fmt::format("the ledger's peak is {}, the system's {}", ledger->peak_bytes(), peak);
    }
    return "";
  });
}

TEST(ResidentGuard, DropsLibraryPagesNearThePromise) {
  SKIP_WHEN_SANITIZED();
  ExpectInChild([]() -> std::string {
    IgnoreError(cp::Initialize());
    auto ledger = MakeLedger(64 * kMiB);
    if (!RunKernels(ledger->pool(), 1).ok()) return "kernels fail";
    const ResidentMemory before = ProbeResidentMemory();
    ResidentGuard far_away(before.current_bytes + 100 * kMiB);
    for (int i = 0; i < 1000; ++i) far_away.Tick();
    if (far_away.drops() != 0) return "dropped although the promise is far away";
    ResidentGuard near(before.current_bytes + kMiB);
    for (int i = 0; i < 1000; ++i) near.Tick();
    if (near.drops() != 1) return fmt::format("{} drops within a moment", near.drops());
    const ResidentMemory after = ProbeResidentMemory();
    if (before.current_bytes - after.current_bytes < 5 * kMiB) return "nothing to speak of was dropped";
    if (after.anonymous_bytes < before.anonymous_bytes - kMiB) return "pages with data were dropped";
    return RunKernels(ledger->pool(), 2).ok() ? "" : "kernels fail afterwards";
  });
}

}  // namespace
}  // namespace icebound::memory
