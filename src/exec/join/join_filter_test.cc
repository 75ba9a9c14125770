// SPDX-License-Identifier: Apache-2.0
#include "exec/join/join_filter.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "exec/sort/sort_testing.h"

namespace icebound::exec::join {
namespace {

using row::test::Random;

/// A filter of `bytes` over hashes; there are no keys with ranges.
class Filled {
 public:
  Filled(int64_t bytes, const std::vector<uint64_t>& hashes)
      : consumer_(world_.context.ledger.AddConsumer("filter")), budget_(consumer_.get()), filter_(&budget_, {}) {
    filter_.Start(bytes);
    std::vector<KeyRange> ranges = filter_.NewRanges();
    filter_.Add({}, hashes, std::vector<uint8_t>(hashes.size(), 1), &ranges);
    filter_.Publish({ranges}, {}, static_cast<int64_t>(hashes.size()));
  }
  const JoinFilter& get() const { return filter_; }
  int64_t Passing(const std::vector<uint64_t>& hashes) const {
    std::vector<uint8_t> pass(hashes.size(), 1);
    return filter_.ApplyBloom(hashes, pass);
  }

 private:
  sort::test::World world_{16 * sort::test::kMiB, 1};
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  sort::SortBudget budget_;
  JoinFilter filter_;
};

std::vector<uint64_t> RandomHashes(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

// Folded or not: every row that was added passes, and few others do.
TEST(JoinFilter, PassesWhatWasAddedAndLittleElse) {
  const std::vector<uint64_t> others = RandomHashes(20000, 2);
  for (const int64_t bytes : {int64_t{4} << 10, int64_t{12} << 10, int64_t{64} << 10, int64_t{200} << 10, int64_t{1} << 20}) {
    for (const size_t rows : {size_t{1}, size_t{20}, size_t{500}, size_t{3000}, size_t{40000}}) {
      SCOPED_TRACE(fmt::format("{} bytes, {} rows", bytes, rows));
      const std::vector<uint64_t> added = RandomHashes(rows, rows);
      const Filled filter(bytes, added);
      const double bits_per_row = static_cast<double>(bytes) * 8 / static_cast<double>(rows);
      EXPECT_EQ(filter.get().has_bloom(), bits_per_row >= 3);
      if (!filter.get().has_bloom()) continue;
      EXPECT_EQ(filter.Passing(added), static_cast<int64_t>(rows));
      if (bits_per_row >= 24) EXPECT_LT(filter.Passing(others), 1000) << "one in twenty";
    }
  }
}

}  // namespace
}  // namespace icebound::exec::join
