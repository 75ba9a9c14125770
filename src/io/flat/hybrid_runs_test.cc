// SPDX-License-Identifier: Apache-2.0
//
// Runs against a plain vector of the values that were encoded.
#include "io/flat/hybrid_runs.h"

#include <arrow/result.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace icebound::io {
namespace {

void AppendVarint(uint64_t value, std::vector<uint8_t>* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<uint8_t>(value | 0x80));
  out->push_back(static_cast<uint8_t>(value));
}

void AppendRepeats(uint32_t value, int64_t count, int bits, std::vector<uint8_t>* out) {
  AppendVarint(static_cast<uint64_t>(count) << 1, out);
  for (int byte = 0; byte < (bits + 7) / 8; ++byte) out->push_back(static_cast<uint8_t>(value >> (8 * byte)));
}

void AppendPacked(const std::vector<uint32_t>& values, int bits, std::vector<uint8_t>* out) {
  const size_t groups = (values.size() + 7) / 8;
  AppendVarint(groups << 1 | 1, out);
  const size_t begin = out->size();
  out->resize(begin + groups * static_cast<size_t>(bits), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    for (int bit = 0; bit < bits; ++bit) {
      const size_t at = i * static_cast<size_t>(bits) + static_cast<size_t>(bit);
      if ((values[i] >> bit & 1) != 0) (*out)[begin + at / 8] |= static_cast<uint8_t>(1 << (at % 8));
    }
  }
}

struct Encoded {
  std::vector<uint32_t> values;
  std::vector<uint8_t> bytes;
};

Encoded RandomRuns(int bits, std::mt19937_64* random) {
  Encoded encoded;
  const uint32_t mask = bits == 32 ? UINT32_MAX : (uint32_t{1} << bits) - 1;
  const auto runs = 1 + (*random)() % 8;
  for (uint64_t run = 0; run < runs; ++run) {
    const bool is_last = run + 1 == runs;
    if ((*random)() % 2 == 0) {
      const auto value = static_cast<uint32_t>((*random)()) & mask;
      const auto count = static_cast<int64_t>(1 + (*random)() % 100);
      AppendRepeats(value, count, bits, &encoded.bytes);
      encoded.values.insert(encoded.values.end(), static_cast<size_t>(count), value);
    } else {
      // Only the last group may be padded.
      std::vector<uint32_t> values((1 + (*random)() % 20) * 8 - (is_last ? (*random)() % 8 : 0));
      for (uint32_t& value : values) value = static_cast<uint32_t>((*random)()) & mask;
      AppendPacked(values, bits, &encoded.bytes);
      encoded.values.insert(encoded.values.end(), values.begin(), values.end());
    }
  }
  return encoded;
}

TEST(HybridRuns, GiveWhatWasEncodedInAnySteps) {
  std::mt19937_64 random(7);
  for (int bits = 0; bits <= HybridRuns::kMaxBits; ++bits) {
    for (int round = 0; round < 40; ++round) {
      const Encoded encoded = RandomRuns(bits, &random);
      // In a block of their own size, so that a sanitizer sees what lies behind.
      const std::vector<uint8_t> bytes(encoded.bytes);
      HybridRuns runs;
      runs.Start(bytes.data(), static_cast<int64_t>(bytes.size()), bits);
      for (size_t at = 0; at < encoded.values.size();) {
        const size_t count = std::min<size_t>(1 + random() % 90, encoded.values.size() - at);
        if (random() % 3 == 0) {
          ASSERT_TRUE(runs.Skip(static_cast<int64_t>(count)).ok());
        } else {
          std::vector<uint32_t> read(count);
          ASSERT_TRUE(runs.Read(static_cast<int64_t>(count), read.data()).ok());
          const auto begin = encoded.values.begin() + static_cast<int64_t>(at);
          ASSERT_TRUE(std::equal(read.begin(), read.end(), begin)) << "bits " << bits << " from " << at;
        }
        at += count;
      }
      ASSERT_FALSE(runs.Skip(9).ok()) << "there is no more, but for padding";
    }
  }
}

TEST(HybridRuns, CountsLevels) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 200; ++round) {
    const Encoded encoded = RandomRuns(1, &random);
    HybridRuns runs;
    runs.Start(encoded.bytes.data(), static_cast<int64_t>(encoded.bytes.size()), 1);
    for (size_t at = 0; at < encoded.values.size();) {
      const size_t count = std::min<size_t>(1 + random() % 90, encoded.values.size() - at);
      const auto begin = encoded.values.begin() + static_cast<int64_t>(at);
      const auto ones = std::count(begin, begin + static_cast<int64_t>(count), 1U);
      const auto is_run = runs.SkipRunOf(1, static_cast<int64_t>(count));
      ASSERT_TRUE(is_run.ok());
      if (*is_run) {
        ASSERT_EQ(ones, static_cast<int64_t>(count));
      } else {
        const auto counted = runs.SkipAndCountOnes(static_cast<int64_t>(count));
        ASSERT_TRUE(counted.ok());
        ASSERT_EQ(*counted, ones);
      }
      at += count;
    }
  }
}

TEST(HybridRuns, DamageIsFound) {
  std::mt19937_64 random(9);
  std::vector<uint32_t> read(1000);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> bytes(random() % 20);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    HybridRuns runs;
    runs.Start(bytes.data(), static_cast<int64_t>(bytes.size()), static_cast<int>(random() % 33));
    // Whatever it says, it ends, and reads nothing that is not there.
    for (int step = 0; step < 50; ++step) {
      if (!runs.Read(static_cast<int64_t>(1 + random() % 20), read.data()).ok()) break;
    }
  }
  HybridRuns runs;
  runs.Start(nullptr, 0, 5);
  EXPECT_FALSE(runs.Read(1, read.data()).ok());
}

}  // namespace
}  // namespace icebound::io
