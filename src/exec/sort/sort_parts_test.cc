// SPDX-License-Identifier: Apache-2.0
//
// The parts of the sorter on rows made by hand: prefixes, entry sort, packing, run files, the merge order.
#include <gmock/gmock.h>

#include "exec/sort/entry_sort.h"
#include "exec/sort/key_cutoff.h"
#include "exec/sort/row_merger.h"
#include "exec/sort/row_packing.h"
#include "exec/sort/sort_testing.h"

namespace icebound::exec::sort {
namespace {

using row::test::OneIn;
using row::test::Random;
using row::test::Uniform;
using namespace test;  // NOLINT: this folder's own

/// Rows [size, 4 | key] or, when keys vary, [size, 4 | key size, 4 | payload | key]; with the slack the sorter's rows have.
class HandMadeRows {
 public:
  HandMadeRows(uint32_t fixed_key_bytes, uint32_t payload_bytes) : payload_bytes_(payload_bytes) {
    layout.key_is_fixed = fixed_key_bytes > 0;
    layout.fixed_key_bytes = fixed_key_bytes;
    layout.head_bytes = layout.key_is_fixed ? 4 : 8;
    layout.fixed_part_bytes = std::min(payload_bytes, 7u);
    if (layout.key_is_fixed) layout.fixed_part_bytes += layout.head_bytes + fixed_key_bytes;
  }

  void Add(const std::string& key, Random* random) {
    std::string payload;
    for (uint32_t i = 0; i < payload_bytes_; ++i) payload += static_cast<char>(i % 3 == 0 ? (*random)() : i);
    if (payload_bytes_ > 7) payload.resize(Uniform(*random, 7, payload_bytes_));
    std::string row(layout.head_bytes, '\0');
    row += key + payload;
    const auto row_bytes = static_cast<uint32_t>(row.size());
    const auto key_bytes = static_cast<uint32_t>(key.size());
    std::memcpy(row.data(), &row_bytes, 4);
    if (!layout.key_is_fixed) std::memcpy(row.data() + 4, &key_bytes, 4);
    row.append(kReadSlackBytes, static_cast<char>((*random)()));
    bytes_.push_back(std::make_unique<std::string>(std::move(row)));
    entries.push_back({0, reinterpret_cast<const uint8_t*>(bytes_.back()->data())});
  }

  std::string_view Key(const SortEntry& entry) const {
    return {reinterpret_cast<const char*>(layout.Key(entry.row)), layout.KeyBytes(entry.row)};
  }
  std::string_view Row(const uint8_t* row) const { return {reinterpret_cast<const char*>(row), layout.RowBytes(row)}; }

  RowLayout layout;
  std::vector<SortEntry> entries;

 private:
  const uint32_t payload_bytes_;
  std::vector<std::unique_ptr<std::string>> bytes_;
};

/// A key of bytes drawn from few values, so that ties and long common beginnings abound.
std::string RandomKey(size_t bytes, Random* random) {
  std::string key;
  for (size_t i = 0; i < bytes; ++i)
    key += static_cast<char>(OneIn(*random, 3) ? Uniform(*random, 0, 255) : Uniform(*random, 7, 8));
  return key;
}

/// Escaped and ended like row/sort_key.h's strings: no key is a prefix of another.
std::string EndedKey(std::string text) {
  std::string key;
  for (const char c : text) key += c == '\0' ? std::string("\0\xFF", 2) : std::string(1, c);
  return key + std::string(2, '\0');
}

struct KeyCase {
  std::string name;
  uint32_t fixed_bytes;
  std::function<std::string(Random*)> make;
};

/// For the names of tests in messages: not the bytes of the struct.
void PrintTo(const KeyCase& key_case, std::ostream* out) { *out << key_case.name; }

std::vector<KeyCase> KeyCases() {
  std::vector<KeyCase> cases;
  for (const uint32_t bytes : {1u, 4u, 8u, 9u, 16u, 19u, 40u, 100u, 600u}) {
    cases.push_back({"fixed" + std::to_string(bytes), bytes, [bytes](Random* random) { return RandomKey(bytes, random); }});
  }
  cases.push_back({"dateAndNumbers", 16, [](Random* random) {
                     std::string key("\x80\x00\x20\x00\x80\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00", 16);
                     key[2] = static_cast<char>(Uniform(*random, 0x20, 0x28));
                     for (const int i : {3, 9, 10, 11}) key[i] = static_cast<char>((*random)());
                     key[15] = static_cast<char>(Uniform(*random, 1, 7));
                     return key;
                   }});
  cases.push_back({"equal", 12, [](Random*) { return std::string(12, 'e'); }});
  cases.push_back({"strings", 0, [](Random* random) { return EndedKey(RandomKey(Uniform(*random, 0, 30), random)); }});
  cases.push_back({"longCommonStart", 0, [](Random* random) {
                     return EndedKey(std::string(200, 'c') + RandomKey(Uniform(*random, 0, 3), random) +
                                     std::string(Uniform(*random, 0, 20), 'd'));
                   }});
  cases.push_back({"onlyZeros", 0, [](Random* random) { return EndedKey(std::string(Uniform(*random, 0, 12), '\0')); }});
  cases.push_back({"oneCharacter", 0, [](Random* random) { return EndedKey(std::string(Uniform(*random, 0, 3000), 'x')); }});
  return cases;
}

class KeyCaseTest : public ::testing::TestWithParam<KeyCase> {
 protected:
  HandMadeRows MakeRows(int64_t count, uint32_t payload_bytes = 20) {
    HandMadeRows rows(GetParam().fixed_bytes, payload_bytes);
    for (int64_t i = 0; i < count; ++i) rows.Add(GetParam().make(&random_), &random_);
    return rows;
  }
  static RowSpread SpreadOf(const HandMadeRows& rows) {
    RowSpread spread(rows.layout);
    // In pieces, some merged.
    const std::span<const SortEntry> all(rows.entries);
    RowSpread other(rows.layout);
    spread.Add(all.first(all.size() / 3));
    other.Add(all.subspan(all.size() / 3));
    spread.Merge(other);
    return spread;
  }

  Random random_{5};
};

INSTANTIATE_TEST_SUITE_P(Keys, KeyCaseTest, ::testing::ValuesIn(KeyCases()), [](const auto& info) { return info.param.name; });

TEST_P(KeyCaseTest, EntriesAreSortedWhateverTheScratch) {
  for (const size_t scratch_entries : {1u, 300u, 100000u}) {
    for (const int64_t count : {1, 2, 20, 100, 3000}) {
      HandMadeRows rows = MakeRows(count);
      std::vector<std::string> expected;
      for (const SortEntry& entry : rows.entries) expected.emplace_back(rows.Key(entry));
      std::sort(expected.begin(), expected.end());
      std::vector<SortEntry> scratch(scratch_entries);
      const KeyPrefix prefix(SpreadOf(rows));
      prefix.Compute(rows.entries);
      SortEntries(rows.layout, prefix, rows.entries, scratch);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(rows.Key(rows.entries[i]), expected[i]) << i << " of " << count;
    }
  }
}

TEST_P(KeyCaseTest, PrefixesOrderAsKeysDo) {
  const HandMadeRows rows = MakeRows(500);
  const KeyPrefix prefix(SpreadOf(rows));
  for (size_t i = 1; i < rows.entries.size(); ++i) {
    const SortEntry& left = rows.entries[i - 1];
    const SortEntry& right = rows.entries[i];
    const int by_key = rows.Key(left).compare(rows.Key(right));
    const uint64_t left_prefix = prefix.Of(left.row);
    const uint64_t right_prefix = prefix.Of(right.row);
    if (left_prefix != right_prefix) {
      ASSERT_EQ(left_prefix < right_prefix, by_key < 0);
    } else if (prefix.exact()) {
      ASSERT_EQ(by_key, 0);
    } else {
      const size_t equal_bytes = std::min({rows.Key(left).size(), rows.Key(right).size(), size_t{prefix.resume_offset()}});
      ASSERT_EQ(rows.Key(left).substr(0, equal_bytes), rows.Key(right).substr(0, equal_bytes));
    }
    if (prefix.bits() < 64) {
      ASSERT_LT(left_prefix, uint64_t{1} << prefix.bits());
    }
  }
}

/// A prefix made for some rows is used for others exactly when that gives the right order.
TEST_P(KeyCaseTest, PrefixesThatSuitOtherRowsOrderThem) {
  int suited = 0;
  for (int attempt = 0; attempt < 60; ++attempt) {
    const KeyPrefix prefix(SpreadOf(MakeRows(Uniform(random_, 2, 200))));
    HandMadeRows rows = MakeRows(Uniform(random_, 1, 100));
    RowSpread spread(rows.layout);
    spread.Add(rows.entries);
    if (!prefix.Suits(spread)) continue;
    ++suited;
    std::vector<std::string> expected;
    for (const SortEntry& entry : rows.entries) expected.emplace_back(rows.Key(entry));
    std::sort(expected.begin(), expected.end());
    std::vector<SortEntry> scratch(50);
    prefix.Compute(rows.entries);
    SortEntries(rows.layout, prefix, rows.entries, scratch);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(rows.Key(rows.entries[i]), expected[i]);
  }
  if (GetParam().name == "dateAndNumbers" || GetParam().name == "fixed4") {
    EXPECT_GT(suited, 0);
  }
}

TEST(KeyPrefix, IsExactWhenFewBitsVary) {
  Random random(1);
  HandMadeRows rows(16, 0);
  for (int i = 0; i < 5000; ++i) rows.Add(KeyCases()[9].make(&random), &random);
  RowSpread spread(rows.layout);
  spread.Add(rows.entries);
  EXPECT_TRUE(KeyPrefix(spread).exact());
  EXPECT_LE(KeyPrefix(spread).bits(), 44);
}

TEST_P(KeyCaseTest, PackedRowsComeBack) {
  for (const uint32_t payload_bytes : {0u, 5u, 20u, 900u}) {
    const HandMadeRows rows = MakeRows(200, payload_bytes);
    RowSpread spread(rows.layout);
    spread.Add(rows.entries);
    const RowPacking packing(spread);
    std::vector<uint8_t> encoded(RowPacking::EncodedBytes(rows.layout));
    RowPacking::Encode(spread, encoded.data());
    const RowPacking decoded(rows.layout, encoded.data());

    int64_t row_bytes = 0;
    for (const SortEntry& entry : rows.entries) row_bytes += rows.layout.RowBytes(entry.row);
    std::vector<uint8_t> packed(row_bytes + kReadSlackBytes);
    uint8_t* end = packed.data();
    for (const SortEntry& entry : rows.entries) end = packing.Pack(entry.row, end);
    const auto packed_bytes = static_cast<size_t>(end - packed.data());
    ASSERT_LE(packed_bytes, static_cast<size_t>(row_bytes));
    std::vector<uint8_t> unpacked(row_bytes + kReadSlackBytes);
    ASSERT_TRUE(decoded.Unpack({packed.data(), packed_bytes}, 200, unpacked.data(), row_bytes));
    const uint8_t* at = unpacked.data();
    for (const SortEntry& entry : rows.entries) {
      ASSERT_EQ(rows.Row(at), rows.Row(entry.row));
      at += rows.layout.RowBytes(at);
    }
    // Bytes that are not such rows are refused, not read over their end.
    EXPECT_FALSE(decoded.Unpack({packed.data(), packed_bytes}, 199, unpacked.data(), row_bytes));
    EXPECT_FALSE(decoded.Unpack({packed.data(), packed_bytes - 1}, 200, unpacked.data(), row_bytes));
    EXPECT_FALSE(decoded.Unpack({packed.data(), packed_bytes}, 200, unpacked.data(), row_bytes - 1));
  }
}

/// Merges runs of sorted entries, half of them by way of a spill file, and compares with a sort of all.
TEST_P(KeyCaseTest, RunsAreMerged) {
  for (const int run_count : {1, 2, 3, 7, 16, 33}) {
    SCOPED_TRACE(run_count);
    World world(20 * kMiB, 1);
    auto consumer = world.ledger->AddConsumer("sort");
    SortBudget budget(consumer.get());
    HandMadeRows rows = MakeRows(1000);
    std::vector<std::string> expected;
    for (const SortEntry& entry : rows.entries) expected.emplace_back(rows.Key(entry));
    std::sort(expected.begin(), expected.end());

    RowMerger::Inputs inputs{{}, {}, SpreadOf(rows)};
    std::vector<uint8_t> workspace(RunWriter::WorkspaceBytes(4096));
    const size_t run_rows = (rows.entries.size() + run_count - 1) / run_count;
    for (int run = 0; run < run_count; ++run) {
      const size_t begin = std::min(run * run_rows, rows.entries.size());
      const std::span<SortEntry> entries(rows.entries.data() + begin, std::min(run_rows, rows.entries.size() - begin));
      std::sort(entries.begin(), entries.end(),
                [&](const SortEntry& left, const SortEntry& right) { return rows.Key(left) < rows.Key(right); });
      if (run % 2 == 0) {
        inputs.entries.push_back(entries);
        continue;
      }
      RunWriter writer(rows.layout, world.disk.get(), workspace.data(), 4096);
      ASSERT_OK(writer.Open());
      RowSpread spread(rows.layout);
      spread.Add(entries);
      ASSERT_OK(writer.Begin(spread));
      for (const SortEntry& entry : entries) ASSERT_OK(writer.Add(entry.row));
      ASSERT_OK_AND_ASSIGN(SortRun written, writer.Finish());
      inputs.runs.push_back(std::move(written));
    }
    ASSERT_OK_AND_ASSIGN(auto merger, RowMerger::Make(rows.layout, &budget, std::move(inputs)));
    ASSERT_OK_AND_ASSIGN(auto batch, RowBatch::Make(&budget, 64, 8192));
    size_t place = 0;
    while (true) {
      ASSERT_OK(merger->Fill(batch.get()));
      if (batch->empty()) break;
      for (const uint8_t* row : batch->rows()) {
        ASSERT_EQ(rows.Key({0, row}), expected.at(place)) << place;
        ++place;
      }
    }
    EXPECT_EQ(place, expected.size());
  }
}

TEST(MergeOrder, KeysThatAgreeLongerThanACodeCanCount) {
  // Offsets beyond 65535 words of 6 bytes do not fit a code.
  Random random(9);
  HandMadeRows rows(0, 10);
  const std::string start(6 * 65535 - 20, 's');
  for (int i = 0; i < 12; ++i)
    rows.Add(EndedKey(start + std::string(Uniform(random, 0, 40), 't') + std::to_string(Uniform(random, 0, 3))), &random);
  for (int i = 0; i < 6; ++i) rows.Add(EndedKey(start + std::string(60, 't')), &random);
  std::vector<std::string> expected;
  for (const SortEntry& entry : rows.entries) expected.emplace_back(rows.Key(entry));
  std::sort(expected.begin(), expected.end());
  World world(20 * kMiB, 1);
  auto consumer = world.ledger->AddConsumer("sort");
  SortBudget budget(consumer.get());
  RowMerger::Inputs inputs{{}, {}, RowSpread(rows.layout)};
  inputs.spread.Add(rows.entries);
  for (size_t run = 0; run < 6; ++run) {
    const std::span<SortEntry> entries(rows.entries.data() + 3 * run, 3);
    std::sort(entries.begin(), entries.end(),
              [&](const SortEntry& left, const SortEntry& right) { return rows.Key(left) < rows.Key(right); });
    inputs.entries.push_back(entries);
  }
  ASSERT_OK_AND_ASSIGN(auto merger, RowMerger::Make(rows.layout, &budget, std::move(inputs)));
  ASSERT_OK_AND_ASSIGN(auto batch, RowBatch::Make(&budget, 1000, 12 * kMiB));
  ASSERT_OK(merger->Fill(batch.get()));
  ASSERT_EQ(batch->row_count(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(rows.Key({0, batch->rows()[i]}) == expected[i]) << i;
}

TEST(KeyCutoff, TightensAsRunsAreReported) {
  Random random(2);
  HandMadeRows rows(8, 0);
  for (int i = 0; i < 100; ++i) rows.Add(std::string("0000000") + static_cast<char>(i), &random);
  const std::span<const SortEntry> all(rows.entries);
  KeyCutoff cutoff(rows.layout, 50);
  uint64_t version = 0;
  std::string key;
  cutoff.AddRun(all.subspan(60, 40));
  EXPECT_FALSE(cutoff.Refresh(&version, &key));
  cutoff.AddRun(all.subspan(20, 40));
  ASSERT_TRUE(cutoff.Refresh(&version, &key));
  EXPECT_EQ(key.back(), 69);
  cutoff.AddRun(all.subspan(0, 20));
  ASSERT_TRUE(cutoff.Refresh(&version, &key));
  EXPECT_EQ(key.back(), 49);
  cutoff.Offer(rows.entries[55].row);
  ASSERT_TRUE(cutoff.Refresh(&version, &key));
  EXPECT_EQ(key.back(), 49);
  cutoff.Offer(rows.entries[12].row);
  ASSERT_TRUE(cutoff.Refresh(&version, &key));
  EXPECT_EQ(key.back(), 12);
}

TEST(SortBudget, KeepsWhatComesBackUntilItMayGo) {
  World world(10 * kMiB, 1);
  auto consumer = world.ledger->AddConsumer("sort");
  SortBudget budget(consumer.get());
  ASSERT_TRUE(budget.TryTake(4 * kMiB));
  budget.Give(3 * kMiB);
  EXPECT_EQ(consumer->reserved_bytes(), 4 * kMiB);
  EXPECT_EQ(budget.slack_bytes(), 3 * kMiB);
  ASSERT_OK(budget.Take(5 * kMiB));
  EXPECT_EQ(consumer->reserved_bytes(), 6 * kMiB);
  EXPECT_FALSE(budget.TryTake(30 * kMiB));
  EXPECT_EQ(GetErrorKind(budget.Take(30 * kMiB)), ErrorKind::kMemoryLimit);
  budget.Give(6 * kMiB);
  EXPECT_EQ(budget.ReturnSlack(2 * kMiB), 4 * kMiB);
  EXPECT_EQ(consumer->reserved_bytes(), 2 * kMiB);
}

}  // namespace
}  // namespace icebound::exec::sort
