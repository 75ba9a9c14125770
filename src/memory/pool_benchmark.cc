// SPDX-License-Identifier: Apache-2.0
//
// What an allocation costs through the ledger, beside Arrow's own pools. The sizes are those of decoding Parquet in batches of
// 8192 rows: bitmaps of 1 KiB, values of 32 and 64 KiB, pages of 1 MiB. Each round allocates, touches and frees 64 blocks.
#include <arrow/memory_pool.h>
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <memory>

#include "memory/memory_ledger.h"

namespace icebound::memory {
namespace {

constexpr int kBlocks = 64;

MemoryLedger* SharedLedger() {
  static MemoryLedgerPtr ledger = MemoryLedger::Make({.limit_bytes = int64_t{1} << 30, .inside_host = true}).ValueOrDie();
  return ledger.get();
}

void AllocateAndFree(benchmark::State& state, arrow::MemoryPool* pool) {
  const int64_t bytes = state.range(0);
  std::array<uint8_t*, kBlocks> blocks;
  for (auto _ : state) {
    for (uint8_t*& block : blocks) {
      if (!pool->Allocate(bytes, &block).ok()) return state.SkipWithError("refused");
      block[0] = 1;
    }
    for (uint8_t* block : blocks) pool->Free(block, bytes);
  }
  state.SetItemsProcessed(state.iterations() * kBlocks);
}

void GrowByHalves(benchmark::State& state, arrow::MemoryPool* pool) {
  for (auto _ : state) {
    int64_t bytes = 1000;
    uint8_t* block = nullptr;
    if (!pool->Allocate(bytes, &block).ok()) return state.SkipWithError("refused");
    while (bytes < 64 << 20) {
      const int64_t larger_bytes = bytes + bytes / 2;
      if (!pool->Reallocate(bytes, larger_bytes, &block).ok()) return state.SkipWithError("refused");
      std::memset(block + bytes, 1, static_cast<size_t>(larger_bytes - bytes));
      bytes = larger_bytes;
    }
    pool->Free(block, bytes);
  }
}

void Ledger(benchmark::State& state) { AllocateAndFree(state, SharedLedger()->pool()); }
void System(benchmark::State& state) { AllocateAndFree(state, arrow::system_memory_pool()); }
void Default(benchmark::State& state) { AllocateAndFree(state, arrow::default_memory_pool()); }
void LedgerGrowth(benchmark::State& state) { GrowByHalves(state, SharedLedger()->pool()); }
void DefaultGrowth(benchmark::State& state) { GrowByHalves(state, arrow::default_memory_pool()); }

void Reserve(benchmark::State& state) {
  static std::unique_ptr<MemoryConsumer> consumer = SharedLedger()->AddConsumer("benchmark");
  for (auto _ : state) {
    if (!consumer->TryReserve(4096)) return state.SkipWithError("refused");
    consumer->Release(4096);
  }
}

#define SIZES Arg(64)->Arg(1 << 10)->Arg(32 << 10)->Arg(64 << 10)->Arg(1 << 20)->ThreadRange(1, 2)->UseRealTime()
BENCHMARK(Ledger)->SIZES;
BENCHMARK(System)->SIZES;
BENCHMARK(Default)->SIZES;
BENCHMARK(LedgerGrowth)->UseRealTime();
BENCHMARK(DefaultGrowth)->UseRealTime();
BENCHMARK(Reserve)->ThreadRange(1, 2)->UseRealTime();

}  // namespace
}  // namespace icebound::memory
