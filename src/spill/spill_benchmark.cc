// SPDX-License-Identifier: Apache-2.0
//
// Append and NextInto on one thread, on rows like TPC-H's lineitem and on noise. Bytes a second are raw bytes; `stored` is the
// size on disk for each raw byte.
#include <arrow/util/logging.h>
#include <benchmark/benchmark.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "spill/disk_manager.h"

namespace icebound::spill {
namespace {

constexpr int64_t kFileBytes = int64_t{128} << 20;

/// Rows of fixed-width columns and a comment, one behind the other.
std::vector<uint8_t> LineItemRows(int64_t bytes) {
  static constexpr const char* kWords[] = {"carefully", "final",     "deposits", "detect",      "slyly", "ironic",
                                           "requests",  "furiously", "even",     "accounts",    "sleep", "quickly",
                                           "bold",      "packages",  "regular",  "theodolites", "nag",   "blithely"};
  std::mt19937_64 random(1);
  std::vector<uint8_t> rows;
  rows.reserve(static_cast<size_t>(bytes) + 256);
  const auto put = [&](auto value) {
    const auto* begin = reinterpret_cast<const uint8_t*>(&value);
    rows.insert(rows.end(), begin, begin + sizeof value);
  };
  for (int64_t order = 1; static_cast<int64_t>(rows.size()) < bytes; ++order) {
    for (int32_t line = 1; line <= 1 + static_cast<int32_t>(random() % 7); ++line) {
      put(order * 4);
      put(static_cast<int64_t>(random() % 2'000'000));
      put(static_cast<int64_t>(random() % 100'000));
      put(line);
      put(static_cast<int64_t>((1 + random() % 50) * 100));
      put(static_cast<int64_t>(90'000 + random() % 10'000'000));
      put(static_cast<int64_t>(random() % 11));
      put(static_cast<int64_t>(random() % 9));
      put(static_cast<uint16_t>(random() % 3 * 257));
      for (int date = 0; date < 3; ++date) put(static_cast<int32_t>(8000 + random() % 2500));
      put(static_cast<uint32_t>(random() % 28));
      std::string comment;
      for (size_t word = 0; word < 2 + random() % 5; ++word) comment.append(kWords[random() % std::size(kWords)]).append(" ");
      put(static_cast<uint32_t>(comment.size()));
      rows.insert(rows.end(), comment.begin(), comment.end());
    }
  }
  rows.resize(static_cast<size_t>(bytes));
  return rows;
}

std::vector<uint8_t> Noise(int64_t bytes) {
  std::mt19937_64 random(2);
  std::vector<uint8_t> noise(static_cast<size_t>(bytes));
  for (size_t i = 0; i + 8 <= noise.size(); i += 8) {
    const uint64_t value = random();
    std::memcpy(noise.data() + i, &value, sizeof value);
  }
  return noise;
}

const std::vector<uint8_t>& Input(bool noise) {
  static const std::vector<uint8_t> rows = LineItemRows(int64_t{32} << 20);
  static const std::vector<uint8_t> random = Noise(int64_t{32} << 20);
  return noise ? random : rows;
}

std::shared_ptr<SpillFile> Write(DiskManager& disk, const std::vector<uint8_t>& input, int64_t block_bytes) {
  auto file = disk.CreateFile("benchmark").ValueOrDie();
  for (int64_t done = 0; done < kFileBytes; done += block_bytes) {
    const auto offset = static_cast<size_t>(done % static_cast<int64_t>(input.size()));
    ARROW_CHECK_OK(file->Append(std::span(input).subspan(offset, static_cast<size_t>(block_bytes)), 1));
  }
  ARROW_CHECK_OK(file->Finish());
  return file;
}

/// Arguments: block KiB, 1 for noise.
void BM_Append(benchmark::State& state) {
  auto disk = DiskManager::Make({}).ValueOrDie();
  const auto& input = Input(state.range(1) != 0);
  for (auto _ : state) {
    auto file = Write(*disk, input, state.range(0) << 10);
    state.counters["stored"] = static_cast<double>(file->stored_bytes()) / static_cast<double>(kFileBytes);
  }
  state.SetBytesProcessed(state.iterations() * kFileBytes);
}

void BM_NextInto(benchmark::State& state) {
  auto disk = DiskManager::Make({}).ValueOrDie();
  const bool consume = state.range(2) != 0;
  const auto& input = Input(state.range(1) != 0);
  auto file = Write(*disk, input, state.range(0) << 10);
  std::vector<uint8_t> memory(static_cast<size_t>(file->max_block_bytes()));
  for (auto _ : state) {
    auto reader = file->OpenReader(consume).ValueOrDie();
    while (reader->NextInto(memory).ValueOrDie().has_value()) {
    }
    if (consume) {
      state.PauseTiming();
      reader.reset();
      file = Write(*disk, input, state.range(0) << 10);
      state.ResumeTiming();
    }
  }
  state.SetBytesProcessed(state.iterations() * kFileBytes);
}

BENCHMARK(BM_Append)->ArgsProduct({{64, 256, 1024}, {0, 1}})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_NextInto)->ArgsProduct({{64, 256, 1024}, {0, 1}, {0, 1}})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace icebound::spill
