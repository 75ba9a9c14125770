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

#include "base/injection.h"
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
  for (int round = 0; round < 8; ++round) {
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

TEST_F(SpillFileTest, ABlockInPartsIsTheSameBlock) {
  std::mt19937_64 random(3);
  std::vector<std::vector<uint8_t>> blocks;
  auto file = disk_->CreateFile("parts").ValueOrDie();
  for (int i = 0; i < 60; ++i) {
    std::vector<std::vector<uint8_t>> parts(random() % 200);
    std::vector<uint8_t> block;
    for (auto& part : parts) {
      part = MakeBytes(static_cast<int64_t>(random() % (random() % 20 == 0 ? 400'000 : 300)), static_cast<Content>(random() % 4),
                       random);
      block.insert(block.end(), part.begin(), part.end());
    }
    if (static_cast<int64_t>(block.size()) > kMaxBlockBytes) continue;
    const std::vector<std::span<const uint8_t>> spans(parts.begin(), parts.end());
    ASSERT_OK(file->AppendParts(spans, static_cast<int64_t>(blocks.size())));
    blocks.push_back(std::move(block));
  }
  ASSERT_OK(file->Finish());
  ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(false));
  ExpectBlocks(*reader, blocks, 0, blocks.size());
}

TEST_F(SpillFileTest, CompressesWhatShrinksAndLeavesTheRestAlone) {
  std::mt19937_64 random(4);
  const auto stored = [&](Content content) {
    std::vector<std::vector<uint8_t>> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(MakeBytes(128 << 10, content, random));
    return WriteBlocks(blocks)->stored_bytes();
  };
  constexpr int64_t kRaw = 100 * (int64_t{128} << 10);
  EXPECT_LT(stored(Content::kZeros), kRaw / 100);
  EXPECT_LT(stored(Content::kText), kRaw * 3 / 4);
  EXPECT_EQ(stored(Content::kRandom), kRaw + 100 * kBlockHeadBytes);
  EXPECT_EQ(disk_->written_raw_bytes(), 3 * kRaw);
  EXPECT_EQ(disk_->used_bytes(), 0);
}

TEST_F(SpillFileTest, AFileMayAskForMoreThanTheUsualSaving) {
  std::mt19937_64 random(4);
  const auto block = MakeBytes(128 << 10, Content::kText, random);
  int64_t stored_bytes[2];
  for (const bool demanding : {false, true}) {
    ASSERT_OK_AND_ASSIGN(auto file, disk_->CreateFile("test", demanding ? 0.9 : CompressionGauge::kMinSaving));
    for (int i = 0; i < 64; ++i) ASSERT_OK(file->Append(block, i));
    ASSERT_OK(file->Finish());
    stored_bytes[demanding] = file->stored_bytes();
    ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(true));
    ExpectBlocks(*reader, std::vector<std::vector<uint8_t>>(64, block), 0, 64);
  }
  EXPECT_LT(stored_bytes[0], 64 * (128 << 10) * 3 / 4);
  EXPECT_GT(stored_bytes[1], 60 * (128 << 10)) << "only the first window is compressed";
}

TEST_F(SpillFileTest, NextKeepsABlockUntilTheNextCallAndNeedsAPool) {
  std::mt19937_64 random(5);
  std::vector<std::vector<uint8_t>> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(MakeBytes(static_cast<int64_t>(random() % 5000), Content::kText, random));
  auto file = WriteBlocks(blocks);
  arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
  {
    ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(false, 0, &pool));
    for (const auto& block : blocks) {
      ASSERT_OK_AND_ASSIGN(const auto view, reader->Next());
      ASSERT_TRUE(view.has_value());
      EXPECT_TRUE(std::equal(view->bytes.begin(), view->bytes.end(), block.begin(), block.end()));
      EXPECT_LE(pool.bytes_allocated(), file->max_block_bytes() + 64);  // Arrow rounds up to 64
    }
    ASSERT_OK_AND_ASSIGN(const auto end, reader->Next());
    EXPECT_FALSE(end.has_value());
  }
  EXPECT_EQ(pool.bytes_allocated(), 0);
  ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(false));
  EXPECT_EQ(GetErrorKind(reader->Next().status()), ErrorKind::kInternal);
}

TEST_F(SpillFileTest, WrongUseIsAnErrorAndHarmsNothing) {
  const std::vector<std::vector<uint8_t>> blocks = {std::vector<uint8_t>(100, 1), std::vector<uint8_t>(5000, 2)};
  auto file = disk_->CreateFile("test").ValueOrDie();
  EXPECT_EQ(GetErrorKind(file->OpenReader(false).status()), ErrorKind::kInternal) << "not finished";
  EXPECT_EQ(GetErrorKind(file->Append(std::vector<uint8_t>(kMaxBlockBytes + 1), 1)), ErrorKind::kInternal) << "too large";
  EXPECT_EQ(GetErrorKind(file->Append(blocks[0], -1)), ErrorKind::kInternal);
  EXPECT_EQ(GetErrorKind(file->Append(blocks[0], int64_t{1} << 32)), ErrorKind::kInternal);
  for (size_t i = 0; i < blocks.size(); ++i) ASSERT_OK(file->Append(blocks[i], static_cast<int64_t>(i)));
  ASSERT_OK(file->Finish());
  EXPECT_EQ(GetErrorKind(file->Append(blocks[0], 1)), ErrorKind::kInternal) << "finished";
  EXPECT_EQ(GetErrorKind(file->Finish()), ErrorKind::kInternal);
  EXPECT_EQ(GetErrorKind(file->OpenReader(false, 3).status()), ErrorKind::kInternal);
  EXPECT_EQ(GetErrorKind(file->OpenReader(false, -1).status()), ErrorKind::kInternal);
  ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(false));
  std::vector<uint8_t> small(99);
  EXPECT_EQ(GetErrorKind(reader->NextInto(small).status()), ErrorKind::kInternal) << "no room";
  ExpectBlocks(*reader, blocks, 0, blocks.size());
  ASSERT_OK_AND_ASSIGN(auto at_end, file->OpenReader(false, 2));
  ExpectBlocks(*at_end, blocks, 2, 2);
}

// --- Damage -----------------------------------------------------------------------------------------------------------------

class DamagedSpillFileTest : public SpillFileTest {
 protected:
  /// Reads the whole file; the first error, or OK when all blocks came back as written.
  arrow::Status ReadAll(SpillFile& file, const std::vector<std::vector<uint8_t>>& blocks) {
    ARROW_ASSIGN_OR_RAISE(auto reader, file.OpenReader(false));
    std::vector<uint8_t> memory(static_cast<size_t>(file.max_block_bytes()));
    for (const auto& block : blocks) {
      ARROW_ASSIGN_OR_RAISE(const auto view, reader->NextInto(memory));
      if (!view.has_value()) return arrow::Status::Invalid("ends early");
      EXPECT_TRUE(std::equal(view->bytes.begin(), view->bytes.end(), block.begin(), block.end()))
          << "wrong bytes without an error";
    }
    return arrow::Status::OK();
  }

  void ExpectCorrupt(const arrow::Status& status, const SpillFile& file) {
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData) << status;
    EXPECT_THAT(status.message(), AllOf(HasSubstr(file.path()), HasSubstr("offset"), HasSubstr("block")));
  }

  void Overwrite(const SpillFile& file, int64_t offset, std::span<const uint8_t> bytes) {
    const int fd = ::open(file.path().c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::pwrite(fd, bytes.data(), bytes.size(), offset), static_cast<ssize_t>(bytes.size()));
    ::close(fd);
  }

  std::vector<uint8_t> Contents(const SpillFile& file) {
    std::vector<uint8_t> bytes(static_cast<size_t>(file.stored_bytes()));
    const int fd = ::open(file.path().c_str(), O_RDONLY);
    EXPECT_EQ(::pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    ::close(fd);
    return bytes;
  }
};

TEST_F(DamagedSpillFileTest, AnyChangedByteIsFound) {
  std::mt19937_64 random(6);
  std::vector<std::vector<uint8_t>> blocks;
  for (const Content content : {Content::kText, Content::kRandom, Content::kZeros, Content::kText}) {
    blocks.push_back(MakeBytes(200 + static_cast<int64_t>(random() % 300), content, random));
  }
  auto file = WriteBlocks(blocks);
  const auto bytes = Contents(*file);
  ASSERT_OK(ReadAll(*file, blocks));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t flip : {uint8_t{0x01}, uint8_t{0x80}, uint8_t{0xff}}) {
      const uint8_t changed = bytes[i] ^ flip;
      Overwrite(*file, static_cast<int64_t>(i), {&changed, 1});
      ExpectCorrupt(ReadAll(*file, blocks), *file);
    }
    Overwrite(*file, static_cast<int64_t>(i), {&bytes[i], 1});
  }
  ASSERT_OK(ReadAll(*file, blocks));
}

TEST_F(DamagedSpillFileTest, ChangesInLongBlocksAreFound) {
  std::mt19937_64 random(7);
  const std::vector<std::vector<uint8_t>> blocks = {MakeBytes(9 * kPieceBytes + 5, Content::kMixed, random)};
  auto file = WriteBlocks(blocks);
  ASSERT_LT(file->stored_bytes(), static_cast<int64_t>(blocks[0].size()));
  const auto bytes = Contents(*file);
  for (int i = 0; i < 200; ++i) {
    const size_t place = random() % bytes.size();
    const uint8_t changed = bytes[place] ^ static_cast<uint8_t>(1 + random() % 255);
    Overwrite(*file, static_cast<int64_t>(place), {&changed, 1});
    ExpectCorrupt(ReadAll(*file, blocks), *file);
    Overwrite(*file, static_cast<int64_t>(place), {&bytes[place], 1});
  }
  ASSERT_OK(ReadAll(*file, blocks));
}

TEST_F(DamagedSpillFileTest, ABlockAtAnotherBlocksPlaceIsFound) {
  std::mt19937_64 random(8);
  const std::vector<std::vector<uint8_t>> blocks = {MakeBytes(300, Content::kRandom, random),
                                                    MakeBytes(300, Content::kRandom, random)};
  auto file = WriteBlocks(blocks);
  const auto bytes = Contents(*file);
  ASSERT_EQ(bytes.size(), 2 * (300u + kBlockHeadBytes));
  Overwrite(*file, 0, std::span(bytes).subspan(300 + kBlockHeadBytes));
  ExpectCorrupt(ReadAll(*file, blocks), *file);
}

TEST_F(DamagedSpillFileTest, ACutFileIsFoundWhereverItIsCut) {
  std::mt19937_64 random(9);
  const std::vector<std::vector<uint8_t>> blocks = {
      MakeBytes(300, Content::kText, random), MakeBytes(200, Content::kRandom, random), MakeBytes(400, Content::kText, random)};
  auto file = WriteBlocks(blocks);
  for (int64_t length = file->stored_bytes() - 1; length >= 0; --length) {
    ASSERT_EQ(::truncate(file->path().c_str(), length), 0);
    const arrow::Status status = ReadAll(*file, blocks);
    ExpectCorrupt(status, *file);
    EXPECT_THAT(status.message(), HasSubstr("cut short"));
  }
}

TEST_F(DamagedSpillFileTest, ReadErrorsOfTheSystemAreIoErrors) {
  const std::vector<std::vector<uint8_t>> blocks = {std::vector<uint8_t>(300, 1)};
  auto file = WriteBlocks(blocks);
  ScopedInjection broken("spill.read", ScopedInjection::FailOnHit(1, MakeError(ErrorKind::kIo, "Input/output error")));
  EXPECT_EQ(GetErrorKind(ReadAll(*file, blocks)), ErrorKind::kIo);
  ASSERT_OK(ReadAll(*file, blocks));
}

// --- Freeing behind the reader ----------------------------------------------------------------------------------------------

TEST_F(SpillFileTest, ConsumingFreesTheDiskBehindTheReader) {
  std::mt19937_64 random(10);
  std::vector<std::vector<uint8_t>> blocks;
  for (int i = 0; i < 200; ++i)
    blocks.push_back(MakeBytes(50'000 + static_cast<int64_t>(random() % 50'000), Content::kRandom, random));
  auto file = WriteBlocks(blocks);
  const int64_t whole = disk_->used_bytes();
  ExpectOnDisk(directory_.path(), whole);
  ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(true));
  std::vector<uint8_t> memory(100'000);
  int64_t left = file->stored_bytes();
  for (const auto& block : blocks) {
    ASSERT_OK(reader->NextInto(memory).status());
    left -= static_cast<int64_t>(block.size()) + kBlockHeadBytes;
    EXPECT_LE(disk_->used_bytes(), left + (int64_t{1} << 20) + 2 * 65536);
    EXPECT_GE(disk_->used_bytes(), left);
    EXPECT_EQ(disk_->used_bytes(), file->disk_bytes());
    ExpectOnDisk(directory_.path(), disk_->used_bytes());
  }
  ASSERT_OK_AND_ASSIGN(const auto end, reader->NextInto(memory));
  EXPECT_FALSE(end.has_value());
  EXPECT_EQ(disk_->used_bytes(), 0);
  EXPECT_EQ(AllocatedBytes(directory_.path()), 0);
  // The freed blocks say so to whoever comes late.
  ASSERT_OK_AND_ASSIGN(auto late, file->OpenReader(false));
  const arrow::Status status = late->NextInto(memory).status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData);
  EXPECT_THAT(status.message(), HasSubstr("freed"));
  reader.reset();
  late.reset();
  file.reset();
  EXPECT_EQ(disk_->used_bytes(), 0);
}

TEST_F(SpillFileTest, RewritingAFileThroughAConsumingReaderNeverTakesTwiceTheDisk) {
  // What a merge pass does: 64 MiB in, 64 MiB out.
  std::mt19937_64 random(11);
  std::vector<std::vector<uint8_t>> blocks;
  for (int i = 0; i < 256; ++i) blocks.push_back(MakeBytes(256 << 10, Content::kRandom, random));
  auto file = WriteBlocks(blocks);
  const int64_t whole = disk_->used_bytes();
  ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(true));
  auto copy = disk_->CreateFile("copy").ValueOrDie();
  std::vector<uint8_t> memory(256 << 10);
  int64_t most_allocated = 0;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto view, reader->NextInto(memory));
    if (!view.has_value()) break;
    ASSERT_OK(copy->Append(view->bytes, view->rows));
    most_allocated = std::max(most_allocated, AllocatedBytes(directory_.path()));
  }
  ASSERT_OK(copy->Finish());
  EXPECT_LT(disk_->peak_used_bytes(), whole + (int64_t{3} << 20));
  EXPECT_LT(most_allocated, whole + (int64_t{3} << 20));
  ASSERT_OK_AND_ASSIGN(auto check, copy->OpenReader(false));
  ExpectBlocks(*check, blocks, 0, blocks.size());
}

TEST_F(SpillFileTest, ReadersOfRangesShareABlockAndFreeTheRest) {
  std::mt19937_64 random(12);
  std::vector<std::vector<uint8_t>> blocks;
  std::vector<int64_t> offsets;
  auto file = disk_->CreateFile("test").ValueOrDie();
  for (int i = 0; i < 300; ++i) {
    blocks.push_back(MakeBytes(30'000, Content::kRandom, random));
    offsets.push_back(file->stored_bytes());
    ASSERT_OK(file->Append(blocks.back(), i));
  }
  ASSERT_OK(file->Finish());
  // Four ranges; neighbours both read the block at their border and so neither frees it.
  const std::vector<int64_t> borders = {0, 70, 71, 200, 299};
  const auto read_range = [&](size_t range) {
    ReadOptions options;
    options.first_block = borders[range];
    options.first_offset = offsets[static_cast<size_t>(borders[range])];
    options.end_block = borders[range + 1] + 1;
    options.consume_begin = range == 0 ? 0 : borders[range] + 1;
    options.consume_end = range + 2 == borders.size() ? kAllBlocks : borders[range + 1];
    auto reader = file->OpenReader(options).ValueOrDie();
    ExpectBlocks(*reader, blocks, static_cast<size_t>(options.first_block), static_cast<size_t>(options.end_block));
  };
  // Two at a time, so that the later ones open when their neighbours' blocks are gone.
  for (const size_t first : {0, 2}) {
    std::thread other([&] { read_range(first + 1); });
    read_range(first);
    other.join();
  }
  ExpectOnDisk(directory_.path(), disk_->used_bytes());
  // Three border blocks are left, with the units they touch.
  EXPECT_LE(disk_->used_bytes(), 3 * (30'000 + 2 * 4096));
  EXPECT_GE(disk_->used_bytes(), 3 * 30'000);
  for (const size_t border : {70, 71, 200}) {
    ReadOptions options;
    options.first_block = static_cast<int64_t>(border);
    options.first_offset = offsets[border];
    options.end_block = options.first_block + 1;
    ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(options));
    ExpectBlocks(*reader, blocks, border, border + 1);
  }
}

TEST_F(SpillFileTest, WithoutHolesTheBytesStayCountedUntilTheFileGoes) {
  std::mt19937_64 random(13);
  std::vector<std::vector<uint8_t>> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(MakeBytes(50'000, Content::kRandom, random));
  auto file = WriteBlocks(blocks);
  const int64_t whole = disk_->used_bytes();
  {
    ScopedInjection no_holes("spill.punch", ScopedInjection::FailFromHit(1, MakeError(ErrorKind::kUnsupported, "no holes")));
    ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(true));
    ExpectBlocks(*reader, blocks, 0, blocks.size());
    EXPECT_EQ(no_holes.hits(), 1) << "asked again after a refusal";
  }
  EXPECT_EQ(disk_->used_bytes(), whole);
  ExpectOnDisk(directory_.path(), whole);
  file.reset();
  EXPECT_EQ(disk_->used_bytes(), 0);
}

TEST(SpillFileSystemTest, AFileSystemWithoutHolesWorks) {
  MountedDirectory ramfs("ramfs", "");
  if (!ramfs.mounted()) GTEST_SKIP() << "this process may not mount a ramfs";
  DiskManagerOptions options;
  options.directory = ramfs.path();
  options.limit_bytes = int64_t{64} << 20;
  ASSERT_OK_AND_ASSIGN(auto disk, DiskManager::Make(options));
  auto file = disk->CreateFile("test").ValueOrDie();
  std::mt19937_64 random(14);
  const auto block = MakeBytes(100'000, Content::kRandom, random);
  for (int i = 0; i < 40; ++i) ASSERT_OK(file->Append(block, 1));
  ASSERT_OK(file->Finish());
  const int64_t whole = disk->used_bytes();
  ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(true));
  std::vector<uint8_t> memory(100'000);
  for (int i = 0; i < 40; ++i) {
    ASSERT_OK(reader->NextInto(memory).status());
    ASSERT_EQ(memory, block);
  }
  EXPECT_EQ(disk->used_bytes(), whole);
  reader.reset();
  file.reset();
  EXPECT_EQ(disk->used_bytes(), 0);
}

}  // namespace
}  // namespace icebound::spill
