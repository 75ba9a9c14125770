// SPDX-License-Identifier: Apache-2.0
//
// Blocks against a model: what was appended is what is read, for all sizes, contents and ways of reading, and a reader never
// hands out a byte that was not written.
#include "spill/spill_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "icebound/error.h"
#include "spill/disk_manager.h"
#include "spill/spill_testing.h"

namespace icebound::spill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SpillFileTest : public ::testing::Test {
 protected:
  void SetUp() override { Open({}); }
  void Open(DiskManagerOptions options) {
    options.directory = directory_.path();
    ASSERT_OK_AND_ASSIGN(disk_, DiskManager::Make(options));
  }

  /// Writes `blocks` to a finished file.
  std::shared_ptr<SpillFile> WriteBlocks(const std::vector<std::vector<uint8_t>>& blocks) {
    auto file = disk_->CreateFile("test").ValueOrDie();
    for (size_t i = 0; i < blocks.size(); ++i) EXPECT_OK(file->Append(blocks[i], static_cast<int64_t>(i)));
    EXPECT_OK(file->Finish());
    return file;
  }

  void ExpectBlocks(SpillReader& reader, const std::vector<std::vector<uint8_t>>& blocks, size_t first, size_t end) {
    std::vector<uint8_t> memory(kMaxBlockBytes);
    for (size_t i = first; i < end; ++i) {
      ASSERT_OK_AND_ASSIGN(const auto size, reader.PeekBytes());
      ASSERT_EQ(size, static_cast<int64_t>(blocks[i].size()));
      ASSERT_OK_AND_ASSIGN(const auto view, reader.NextInto(memory));
      ASSERT_TRUE(view.has_value());
      ASSERT_EQ(view->rows, static_cast<int64_t>(i));
      ASSERT_TRUE(std::equal(view->bytes.begin(), view->bytes.end(), blocks[i].begin(), blocks[i].end())) << "block " << i;
    }
    for (int again = 0; again < 2; ++again) {
      ASSERT_OK_AND_ASSIGN(const auto view, reader.NextInto(memory));
      EXPECT_FALSE(view.has_value());
    }
  }

  TemporaryDirectory directory_;
  std::unique_ptr<DiskManager> disk_;
};

TEST_F(SpillFileTest, BlocksOfEverySizeAndContentRoundTrip) {
  std::mt19937_64 random(1);
  std::vector<std::vector<uint8_t>> blocks;
  for (const Content content : {Content::kZeros, Content::kText, Content::kRandom, Content::kMixed}) {
    for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{27}, int64_t{28}, int64_t{4095}, int64_t{4096},
                               int64_t{4097}, kGatherBytes - 1, kGatherBytes, kGatherBytes + 1, kPieceBytes - 1, kPieceBytes,
                               kPieceBytes + 1, 2 * kPieceBytes, 5 * kPieceBytes + 77, kMaxBlockBytes - 1, kMaxBlockBytes}) {
      blocks.push_back(MakeBytes(size, content, random));
    }
  }
  auto file = WriteBlocks(blocks);
  EXPECT_EQ(file->blocks(), static_cast<int64_t>(blocks.size()));
  EXPECT_EQ(file->max_block_bytes(), kMaxBlockBytes);
  for (const bool consume : {false, true}) {
    ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(consume));
    ExpectBlocks(*reader, blocks, 0, blocks.size());
  }
}

TEST_F(SpillFileTest, RandomBlocksMatchAModelFromAnyFirstBlock) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<uint8_t>> blocks(random() % 700);
    int64_t raw_bytes = 0;
    for (auto& block : blocks) {
      const int64_t size = static_cast<int64_t>(random() % (random() % 50 == 0 ? 1'000'000 : 3000));
      block = MakeBytes(size, static_cast<Content>(random() % 4), random);
      raw_bytes += size;
    }
    auto file = WriteBlocks(blocks);
    EXPECT_EQ(file->raw_bytes(), raw_bytes);
    for (int read = 0; read < 10; ++read) {
      const size_t first = random() % (blocks.size() + 1);
      const size_t end = first + random() % (blocks.size() - first + 1);
      ReadOptions options;
      options.first_block = static_cast<int64_t>(first);
      options.end_block = static_cast<int64_t>(end);
      ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(options));
      EXPECT_EQ(reader->next_block(), static_cast<int64_t>(first));
      ExpectBlocks(*reader, blocks, first, end);
    }
  }
}

}  // namespace
}  // namespace icebound::spill
