// SPDX-License-Identifier: Apache-2.0
//
// A store alone: how its table adapts to the keys, what Spill writes, what comes back.
#include "exec/aggregate/group_store.h"

#include <map>
#include <set>

#include "exec/aggregate/aggregate_testing.h"
#include "row/hash.h"

namespace icebound::exec::aggregate {
namespace {

using namespace test;  // NOLINT: this folder's own

/// A store of groups by one int64, with a count and a greatest text each.
class GroupStoreTest : public ::testing::Test {
 protected:
  GroupStoreTest() : world_(200 * kMiB, 1), consumer_(world_.ledger->AddConsumer("store")), budget_(consumer_.get()) {
    layout_ =
        GroupLayout::Make({arrow::field("k", arrow::int64(), false)}, {StateKind::kCount, StateKind::kMaxBytes}).ValueOrDie();
  }

  std::unique_ptr<GroupStore> MakeStore(StoreMode mode, int bits = 3) {
    files_ = std::make_unique<PartitionFiles>(&world_.context, "store", 0, 1 << bits);
    GroupStoreOptions options;
    options.layout = layout_.get();
    options.budget = &budget_;
    options.files = files_.get();
    options.bits = bits;
    options.mode = mode;
    auto store = std::make_unique<GroupStore>(options);
    EXPECT_OK(store->Start());
    return store;
  }

  /// Counts keys, and keeps the greatest text of each: that of the key and the row's number.
  void Add(GroupStore* store, const std::vector<int64_t>& keys, const std::string& text = "") {
    for (size_t first = 0; first < keys.size(); first += kSliceRows) {
      const auto count = static_cast<int32_t>(std::min<size_t>(kSliceRows, keys.size() - first));
      std::vector<uint64_t> hashes;
      std::vector<const uint8_t*> places;
      for (int32_t i = 0; i < count; ++i) {
        const int64_t& key = keys[first + static_cast<size_t>(i)];
        hashes.push_back(row::Mix(static_cast<uint64_t>(key) + 17));
        places.push_back(reinterpret_cast<const uint8_t*>(&key));
      }
      std::vector<uint8_t*> rows(static_cast<size_t>(count));
      ASSERT_OK_AND_ASSIGN(const bool found, store->Find({count, hashes.data(), places.data(), nullptr}, rows.data(), true));
      ASSERT_TRUE(found);
      UpdateStates(StateKind::kCount, layout_->states()[0].offset, rows.data(), count, {}, store->space());
      if (text.empty()) continue;
      const std::vector<std::string_view> texts(static_cast<size_t>(count), text);
      SliceValues values;
      values.bytes = texts.data();
      ASSERT_OK(store->MakeRoom(StringBytes(values, count), true).status());
      UpdateStates(StateKind::kMaxBytes, layout_->states()[1].offset, rows.data(), count, values, store->space());
    }
  }

  int64_t CountOf(const uint8_t* row) const { return row::LoadAs<int64_t>(row + layout_->states()[0].offset); }
  int64_t KeyOf(const uint8_t* row) const { return row::LoadAs<int64_t>(layout_->Key(row)); }

  World world_;
  std::unique_ptr<memory::MemoryConsumer> consumer_;
  sort::SortBudget budget_;
  std::unique_ptr<GroupLayout> layout_;
  std::unique_ptr<PartitionFiles> files_;
};

TEST_F(GroupStoreTest, ClusteredKeysNeedNoLargeTable) {
  const auto store = MakeStore(StoreMode::kPreaggregate);
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < 1200000; ++i) keys.push_back(i / 4);
  Add(store.get(), keys);
  EXPECT_LE(store->table_entries(), 65536);
  EXPECT_FALSE(store->passes_through());
  EXPECT_GE(store->total_rows(), 300000);
  EXPECT_LE(store->total_rows(), 300100);
}

TEST_F(GroupStoreTest, UniqueKeysPassThrough) {
  const auto store = MakeStore(StoreMode::kPreaggregate);
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < 300000; ++i) keys.push_back(i);
  Add(store.get(), keys);
  EXPECT_TRUE(store->passes_through());
  EXPECT_EQ(store->total_rows(), 300000);
  EXPECT_TRUE(store->has_forgotten());
}

TEST_F(GroupStoreTest, KeysThatComeAgainAtAnyTimeGetALargerTable) {
  const auto store = MakeStore(StoreMode::kPreaggregate);
  Random random(1);
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < 2000000; ++i) keys.push_back(Uniform(random, 0, 199999));
  Add(store.get(), keys);
  EXPECT_GT(store->table_entries(), 65536);
  EXPECT_LT(store->total_rows(), 450000);
}

TEST_F(GroupStoreTest, ExactStoresHaveEachGroupOnce) {
  const auto store = MakeStore(StoreMode::kExact);
  Random random(2);
  std::vector<int64_t> keys;
  std::map<int64_t, int64_t> expected;
  for (int64_t i = 0; i < 300000; ++i) {
    keys.push_back(Uniform(random, -60000, 60000));
    ++expected[keys.back()];
  }
  Add(store.get(), keys);
  store->Seal();
  EXPECT_EQ(store->total_rows(), static_cast<int64_t>(expected.size()));
  std::map<int64_t, int64_t> actual;
  for (uint32_t p = 0; p < 8; ++p) {
    for (RowChunk* chunk = store->chunks(p); chunk != nullptr; chunk = chunk->next) {
      for (const uint8_t* row = chunk->begin(); row != chunk->end; row += layout_->RowBytes(row)) {
        EXPECT_EQ(PartitionOf(GroupLayout::Hash(row), 0, 3), p);
        actual[KeyOf(row)] += CountOf(row);
      }
    }
  }
  EXPECT_EQ(actual, expected);
}

TEST_F(GroupStoreTest, WhatIsSpilledComesBack) {
  // Texts of no, few, many, and more bytes than a block: each needs another way to the disk.
  const std::vector<std::string> texts{
      "", "in place", std::string(100, 'a'), std::string(40000, 'b'), std::string(300000, 'c'), std::string(20 << 20, 'd')};
  const auto store = MakeStore(StoreMode::kPreaggregate);
  std::map<int64_t, std::string> expected;
  for (int round = 0; round < 2; ++round) {
    for (size_t t = 0; t < texts.size(); ++t) {
      std::vector<int64_t> keys;
      for (int64_t i = 0; i < (t < 4 ? 40 : 2); ++i) keys.push_back(static_cast<int64_t>(t) * 1000 + round * 100 + i);
      Add(store.get(), keys, texts[t]);
      for (const int64_t key : keys) expected[key] = texts[t];
    }
    ASSERT_OK(store->Spill());
    EXPECT_EQ(store->total_rows(), 0);
    ASSERT_OK(store->Shrink());
  }
  std::map<int64_t, std::string> actual;
  for (uint32_t p = 0; p < 8; ++p) {
    StoredRows stored = files_->Take(p);
    ASSERT_OK_AND_ASSIGN(const auto reader, StoredRowReader::Open(stored, layout_.get(), &budget_));
    int64_t rows = 0;
    while (true) {
      uint8_t* row = nullptr;
      ASSERT_OK_AND_ASSIGN(const int64_t count, reader->Next(&row));
      if (count == 0) break;
      rows += count;
      for (int64_t i = 0; i < count; ++i, row += layout_->StoredBytes(row)) {
        EXPECT_EQ(CountOf(row), 1);
        actual[KeyOf(row)] = std::string(ByteString::View(row + layout_->states()[1].offset));
      }
    }
    EXPECT_EQ(rows, stored.rows);
  }
  EXPECT_TRUE(actual == expected);
}

TEST_F(GroupStoreTest, ARefusalLeavesEverythingInPlace) {
  const auto store = MakeStore(StoreMode::kExact);
  // Somebody takes all there is.
  auto other = world_.ledger->AddConsumer("other");
  while (other->TryReserve(kMiB)) {
  }
  while (other->TryReserve(4096)) {
  }
  std::vector<int64_t> keys;
  std::vector<uint64_t> hashes;
  std::vector<const uint8_t*> places;
  std::vector<uint8_t*> rows(kSliceRows);
  keys.reserve(2000000);
  bool refused = false;
  for (int64_t slice = 0; slice < 1000 && !refused; ++slice) {
    hashes.clear();
    places.clear();
    for (int64_t i = 0; i < kSliceRows; ++i) {
      keys.push_back(slice * kSliceRows + i);
      hashes.push_back(row::Mix(static_cast<uint64_t>(keys.back())));
      places.push_back(reinterpret_cast<const uint8_t*>(&keys.back()));
    }
    ASSERT_OK_AND_ASSIGN(const bool found, store->Find({kSliceRows, hashes.data(), places.data(), nullptr}, rows.data(), false));
    refused = !found;
  }
  EXPECT_TRUE(refused);
  // After a spill the same slice fits into what Start took.
  ASSERT_OK(store->Spill());
  ASSERT_OK_AND_ASSIGN(const bool found, store->Find({kSliceRows, hashes.data(), places.data(), nullptr}, rows.data(), false));
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace icebound::exec::aggregate
