// SPDX-License-Identifier: Apache-2.0
//
// The disk manager against the system: quota, full disks, descriptors, threads. What is on the disk is asked of the disk.
#include "spill/disk_manager.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <random>
#include <thread>

#include "base/injection.h"
#include "icebound/error.h"
#include "spill/spill_testing.h"

namespace icebound::spill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr int64_t kMiB = int64_t{1} << 20;

std::unique_ptr<DiskManager> MakeDisk(const std::string& directory, std::optional<int64_t> limit_bytes = std::nullopt) {
  DiskManagerOptions options;
  options.directory = directory;
  options.limit_bytes = limit_bytes;
  auto disk = DiskManager::Make(options);
  EXPECT_OK(disk.status());
  return disk.ok() ? std::move(*disk) : nullptr;
}

std::vector<uint8_t> RandomBytes(int64_t size, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  return MakeBytes(size, Content::kRandom, random);
}

/// Reads a file of equal blocks and expects `blocks` of them.
void ExpectEqualBlocks(const std::shared_ptr<SpillFile>& file, const std::vector<uint8_t>& block, int64_t blocks) {
  ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(false));
  std::vector<uint8_t> memory(block.size());
  for (int64_t i = 0; i < blocks; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto view, reader->NextInto(memory));
    ASSERT_TRUE(view.has_value());
    ASSERT_EQ(memory, block);
  }
  ASSERT_OK_AND_ASSIGN(const auto end, reader->NextInto(memory));
  EXPECT_FALSE(end.has_value());
}

// --- The directory ----------------------------------------------------------------------------------------------------------

TEST(DiskManagerTest, TheDirectoryIsPrivateAndGoesWithAllItHolds) {
  TemporaryDirectory parent;
  std::shared_ptr<SpillFile> survivor;
  {
    auto disk = MakeDisk(parent.path());
    EXPECT_THAT(disk->directory(), MatchesRegex(parent.path() + "/icebound-" + std::to_string(::getpid()) + "-[0-9a-f]+"));
    auto file = disk->CreateFile("sort run/../x").ValueOrDie();
    ASSERT_OK(file->Append(RandomBytes(1000), 1));
    EXPECT_THAT(file->path(), MatchesRegex(disk->directory() + "/0-sort-run----x.spill"));
    const auto mode = [](const std::string& path) {
      struct stat info;
      EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
      return info.st_mode & 0777;
    };
    EXPECT_EQ(mode(disk->directory()), 0700u);
    EXPECT_EQ(mode(disk->directory() + "/lock"), 0600u);
    EXPECT_EQ(mode(file->path()), 0600u);
    const std::string path = file->path();
    file.reset();
    EXPECT_FALSE(std::filesystem::exists(path)) << "the file goes with its last reference";
    EXPECT_EQ(disk->created_files(), 1);
    survivor = disk->CreateFile("left").ValueOrDie();
    ASSERT_OK(survivor->Append(RandomBytes(1000), 1));
    ASSERT_OK(survivor->Finish());
  }
  EXPECT_THAT(parent.Entries(), IsEmpty());
  // A file that outlives its manager is useless, not harmful.
  EXPECT_EQ(GetErrorKind(MakeDisk(parent.path())->CreateFile("x").ValueOrDie()->Finish()), std::nullopt);
  survivor.reset();
  EXPECT_THAT(parent.Entries(), IsEmpty());
}

TEST(DiskManagerTest, ADirectoryThatCannotBeUsedIsAClearError) {
  TemporaryDirectory parent;
  const auto make = [](const std::string& directory) {
    DiskManagerOptions options;
    options.directory = directory;
    return DiskManager::Make(options).status();
  };
  arrow::Status status = make(parent.path() + "/missing");
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kInvalidInput);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(parent.path() + "/missing does not exist"), HasSubstr("--spill-dir")));

  const std::string file = parent.path() + "/file";
  ::close(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  status = make(file);
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kInvalidInput);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(file + " is not a directory"), HasSubstr("--spill-dir")));

  // Not writable: asked as another user when this is root, whom no mode keeps out.
  ASSERT_EQ(::chmod(parent.path().c_str(), 0555), 0);
  const int child = RunInChild([&] {
    if (::geteuid() == 0) {
      ASSERT_EQ(::setresuid(65534, 65534, 65534), 0);
    }
    const arrow::Status refused = make(parent.path());
    EXPECT_EQ(GetErrorKind(refused), ErrorKind::kInvalidInput) << refused;
    EXPECT_THAT(refused.message(), AllOf(HasSubstr(parent.path()), HasSubstr("Permission denied"), HasSubstr("--spill-dir")));
  });
  EXPECT_EQ(child, 0);
  ::chmod(parent.path().c_str(), 0755);
  EXPECT_EQ(parent.Entries(), std::vector<std::string>{"file"});
}

TEST(DiskManagerTest, TheSystemsTemporaryDirectoryIsTheDefault) {
  TemporaryDirectory parent;
  const int child = RunInChild([&] {
    ::setenv("TMPDIR", parent.path().c_str(), 1);
    auto disk = MakeDisk("");
    EXPECT_THAT(disk->directory(), ::testing::StartsWith(parent.path() + "/icebound-"));
  });
  EXPECT_EQ(child, 0);
  EXPECT_THAT(parent.Entries(), IsEmpty());
}

TEST(DiskManagerTest, AForkedChildLeavesItsParentsFilesAlone) {
  TemporaryDirectory parent;
  auto disk = MakeDisk(parent.path());
  auto file = disk->CreateFile("test").ValueOrDie();
  const auto block = RandomBytes(1000);
  ASSERT_OK(file->Append(block, 1));
  ASSERT_OK(file->Finish());
  EXPECT_EQ(RunInChild([&] {
              file.reset();
              disk.reset();
            }),
            0);
  ExpectEqualBlocks(file, block, 1);
}

// --- Quota and full disks ---------------------------------------------------------------------------------------------------

TEST(DiskLimitTest, TheLimitIsNeverPassedAndTheErrorSaysWhatToDo) {
  TemporaryDirectory parent;
  auto disk = MakeDisk(parent.path(), 8 * kMiB);
  EXPECT_EQ(disk->limit_bytes(), 8 * kMiB);
  auto first = disk->CreateFile("first").ValueOrDie();
  auto second = disk->CreateFile("second").ValueOrDie();
  const auto block = RandomBytes(300'000);
  ASSERT_OK(first->Append(block, 1));
  arrow::Status status;
  int64_t blocks = 0;
  while ((status = second->Append(block, 1)).ok()) {
    ++blocks;
    ASSERT_LE(AllocatedBytes(parent.path()), 8 * kMiB + (64 << 10));
  }
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kDiskLimit);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(disk->directory()), HasSubstr("--spill-limit"), HasSubstr("--spill-dir"),
                                      HasSubstr("KiB wanted"), HasSubstr("MiB in use"), HasSubstr("spill limit 8 MiB")));
  ExpectOnDisk(parent.path(), disk->used_bytes());
  EXPECT_GT(disk->used_bytes(), 8 * kMiB - 2 * 300'000);
  // Room comes back with the other file, and the one that failed goes on where it was.
  first.reset();
  ASSERT_OK(second->Append(block, 1));
  ASSERT_OK(second->Finish());
  ExpectEqualBlocks(second, block, blocks + 1);
  second.reset();
  EXPECT_EQ(disk->used_bytes(), 0);
  EXPECT_LE(disk->peak_used_bytes(), 8 * kMiB);
}

TEST(DiskLimitTest, ALimitOfNothingAllowsNothing) {
  TemporaryDirectory parent;
  auto disk = MakeDisk(parent.path(), 0);
  auto file = disk->CreateFile("test").ValueOrDie();
  EXPECT_EQ(GetErrorKind(file->Append(std::vector<uint8_t>(1), 1)), ErrorKind::kDiskLimit);
  EXPECT_EQ(disk->used_bytes(), 0);
  EXPECT_EQ(AllocatedBytes(parent.path()), 0);
  DiskManagerOptions options;
  options.directory = parent.path();
  options.limit_bytes = -1;
  EXPECT_EQ(GetErrorKind(DiskManager::Make(options).status()), ErrorKind::kInvalidInput);
}

TEST(DiskLimitTest, TheDefaultIsNineTenthsOfTheFreeSpace) {
  MountedDirectory tmpfs("tmpfs", "size=10m");
  if (!tmpfs.mounted()) GTEST_SKIP() << "this process may not mount a tmpfs";
  auto disk = MakeDisk(tmpfs.path());
  EXPECT_GT(disk->limit_bytes(), 8 * kMiB);
  EXPECT_LE(disk->limit_bytes(), 9 * kMiB);
}

TEST(DiskLimitTest, AFullDiskIsACleanError) {
  MountedDirectory tmpfs("tmpfs", "size=16m");
  if (!tmpfs.mounted()) GTEST_SKIP() << "this process may not mount a tmpfs";
  auto disk = MakeDisk(tmpfs.path(), int64_t{1} << 40);
  for (const int64_t size : {int64_t{1} << 20, int64_t{3} << 20}) {
    std::mt19937_64 random(2);
    // Plain blocks, and compressed ones that take several writes each.
    const auto block = MakeBytes(size, size == kMiB ? Content::kRandom : Content::kMixed, random);
    auto file = disk->CreateFile("full").ValueOrDie();
    arrow::Status status;
    int64_t blocks = 0;
    while ((status = file->Append(block, 1)).ok()) ASSERT_LE(++blocks, 40);
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kDiskLimit);
    EXPECT_THAT(status.message(), AllOf(HasSubstr(disk->directory()), HasSubstr("is full"), HasSubstr("No space left on device"),
                                        HasSubstr("wanted"), HasSubstr("in use"), HasSubstr("--spill-dir")));
    ExpectOnDisk(tmpfs.path(), disk->used_bytes());
    ASSERT_OK(file->Finish());
    ExpectEqualBlocks(file, block, blocks);
    file.reset();
    EXPECT_EQ(disk->used_bytes(), 0);
    EXPECT_EQ(AllocatedBytes(tmpfs.path()), 0);
  }
  disk.reset();
  EXPECT_EQ(std::filesystem::directory_iterator(tmpfs.path()), std::filesystem::directory_iterator());
}

TEST(DiskLimitTest, AFileSizeLimitOfTheProcessIsADiskLimit) {
  TemporaryDirectory parent;
  const int child = RunInChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {static_cast<rlim_t>(2 * kMiB), static_cast<rlim_t>(2 * kMiB)};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    auto disk = MakeDisk(parent.path());
    auto file = disk->CreateFile("test").ValueOrDie();
    const auto block = RandomBytes(900'000);
    ASSERT_OK(file->Append(block, 1));
    ASSERT_OK(file->Append(block, 1));
    const arrow::Status status = file->Append(block, 1);
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kDiskLimit) << status;
    ASSERT_OK(file->Finish());
    ExpectEqualBlocks(file, block, 2);
    ExpectOnDisk(parent.path(), disk->used_bytes());
  });
  EXPECT_EQ(child, 0);
}

TEST(DiskLimitTest, AWriteThatFailsAnywhereLeavesFileAndCountAsTheyWere) {
  TemporaryDirectory parent;
  auto disk = MakeDisk(parent.path());
  std::mt19937_64 random(3);
  const auto small = MakeBytes(50'000, Content::kText, random);
  const auto large = MakeBytes(2 * kMiB + 1, Content::kMixed, random);
  auto file = disk->CreateFile("test").ValueOrDie();
  ASSERT_OK(file->Append(small, 1));
  const int64_t used = disk->used_bytes();
  int64_t writes = 0;
  {
    // How many writes a large block takes.
    ScopedInjection count("spill.write", [](int64_t) { return arrow::Status::OK(); });
    auto probe = disk->CreateFile("probe").ValueOrDie();
    ASSERT_OK(probe->Append(large, 1));
    writes = count.hits();
  }
  ASSERT_GT(writes, 3);
  for (int64_t nth = 1; nth <= writes; ++nth) {
    ScopedInjection broken("spill.write", ScopedInjection::FailOnHit(nth, MakeError(ErrorKind::kIo, "Input/output error")));
    EXPECT_EQ(GetErrorKind(file->Append(large, 1)), ErrorKind::kIo);
    EXPECT_EQ(disk->used_bytes(), used);
    ExpectOnDisk(parent.path(), used);
    EXPECT_EQ(file->blocks(), 1);
  }
  ASSERT_OK(file->Append(small, 1));
  ASSERT_OK(file->Finish());
  ExpectEqualBlocks(file, small, 2);
  ScopedInjection broken("spill.create", ScopedInjection::FailOnHit(1, MakeError(ErrorKind::kIo, "Input/output error")));
  EXPECT_EQ(GetErrorKind(disk->CreateFile("x").status()), ErrorKind::kIo);
}

// --- Descriptors ------------------------------------------------------------------------------------------------------------

TEST(DescriptorTest, TwoThousandFilesFitSixtyFourDescriptors) {
  TemporaryDirectory parent;
  const int child = RunInChild([&] {
    struct rlimit limit = {64, 64};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    auto disk = MakeDisk(parent.path());
    EXPECT_EQ(disk->max_open_files(), 16);
    constexpr int kFiles = 2000;
    std::vector<std::shared_ptr<SpillFile>> files;
    for (int i = 0; i < kFiles; ++i) {
      files.push_back(disk->CreateFile("run").ValueOrDie());
      ASSERT_OK(files.back()->Append(RandomBytes(100 + i % 50, i), i));
    }
    for (int i = 0; i < kFiles; ++i) ASSERT_OK(files[i]->Append(RandomBytes(200 + i % 50, i + kFiles), i));
    std::vector<std::unique_ptr<SpillReader>> readers;
    for (auto& file : files) {
      ASSERT_OK(file->Finish());
      readers.push_back(file->OpenReader(true).ValueOrDie());
    }
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < kFiles; ++i) {
        const auto expected = RandomBytes((round + 1) * 100 + i % 50, i + round * kFiles);
        std::vector<uint8_t> memory(static_cast<size_t>(files[i]->max_block_bytes()));
        ASSERT_OK_AND_ASSIGN(const auto view, readers[i]->NextInto(memory));
        ASSERT_TRUE(std::equal(view->bytes.begin(), view->bytes.end(), expected.begin(), expected.end()));
      }
      EXPECT_LE(OpenDescriptors(parent.path()), 16 + 2);
    }
    readers.clear();
    files.clear();
    EXPECT_EQ(disk->used_bytes(), 0);
    EXPECT_EQ(OpenDescriptors(parent.path()), 2) << "the directory and its lock";
  });
  EXPECT_EQ(child, 0);
  EXPECT_THAT(parent.Entries(), IsEmpty());
}

TEST(DescriptorTest, GivesItsOwnBackWhenTheProcessHasNoneLeft) {
  TemporaryDirectory parent;
  const int child = RunInChild([&] {
    struct rlimit limit = {64, 64};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    auto disk = MakeDisk(parent.path());
    const auto block = RandomBytes(1000);
    std::vector<std::shared_ptr<SpillFile>> files;
    for (int i = 0; i < 5; ++i) {
      files.push_back(disk->CreateFile("test").ValueOrDie());
      ASSERT_OK(files.back()->Append(block, 1));
    }
    // The rest of the process takes every other descriptor.
    while (::dup(0) >= 0) {
    }
    ASSERT_EQ(errno, EMFILE);
    for (int i = 0; i < 5; ++i) {
      files.push_back(disk->CreateFile("test").ValueOrDie());
      ASSERT_OK(files.back()->Append(block, 1));
    }
    for (auto& file : files) {
      ASSERT_OK(file->Finish());
      ExpectEqualBlocks(file, block, 1);
    }
    // With none of its own to give back, it says what is missing.
    files.clear();
    while (::dup(0) >= 0) {
    }
    const arrow::Status status = disk->CreateFile("test").status();
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kIo);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n")));
  });
  EXPECT_EQ(child, 0);
}

TEST(DescriptorTest, NoneIsLeftBehindByErrors) {
  TemporaryDirectory parent;
  const auto block = RandomBytes(100'000);
  const int before = OpenDescriptors("");
  {
    auto disk = MakeDisk(parent.path(), 350'000);
    for (int i = 0; i < 50; ++i) {
      auto file = disk->CreateFile("test").ValueOrDie();
      while (file->Append(block, 1).ok()) {
      }
      ASSERT_OK(file->Finish());
      auto reader = file->OpenReader(i % 2 == 0).ValueOrDie();
      std::vector<uint8_t> memory(block.size());
      ASSERT_OK(reader->NextInto(memory).status());
      ASSERT_EQ(::truncate(file->path().c_str(), 150'000), 0);
      EXPECT_FALSE(reader->NextInto(memory).ok());
    }
    EXPECT_EQ(disk->used_bytes(), 0);
  }
  EXPECT_EQ(OpenDescriptors(""), before);
}

TEST(DescriptorTest, AFileRemovedByOthersIsAnErrorThatNamesIt) {
  TemporaryDirectory parent;
  DiskManagerOptions options;
  options.directory = parent.path();
  options.max_open_files = 1;  // at least 4 are used
  ASSERT_OK_AND_ASSIGN(auto disk, DiskManager::Make(options));
  EXPECT_EQ(disk->max_open_files(), 4);
  auto file = disk->CreateFile("test").ValueOrDie();
  ASSERT_OK(file->Append(RandomBytes(100), 1));
  ASSERT_OK(file->Finish());
  std::vector<std::shared_ptr<SpillFile>> others;
  for (int i = 0; i < 4; ++i) others.push_back(disk->CreateFile("other").ValueOrDie());
  std::filesystem::remove(file->path());
  ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(false));
  std::vector<uint8_t> memory(100);
  const arrow::Status status = reader->NextInto(memory).status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kIo);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(file->path()), HasSubstr("No such file")));
  reader.reset();
  file.reset();
  others.clear();
  EXPECT_EQ(disk->used_bytes(), 0);
}

// --- Memory and threads -----------------------------------------------------------------------------------------------------

TEST(DiskManagerMemoryTest, TheScratchIsAllThatItTakesAndIsTakenAtTheStart) {
  TemporaryDirectory parent;
  arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
  DiskManagerOptions options;
  options.directory = parent.path();
  options.scratch_buffers = 2;
  options.pool = &pool;
  {
    ASSERT_OK_AND_ASSIGN(auto disk, DiskManager::Make(options));
    const int64_t scratch = pool.bytes_allocated();
    EXPECT_EQ(disk->scratch_bytes(), 2 * kScratchBytes);
    EXPECT_GE(scratch, disk->scratch_bytes());
    std::mt19937_64 random(4);
    const auto block = MakeBytes(4 * kMiB, Content::kText, random);
    auto file = disk->CreateFile("test").ValueOrDie();
    for (int i = 0; i < 4; ++i) ASSERT_OK(file->Append(block, 1));
    ASSERT_OK(file->Finish());
    ExpectEqualBlocks(file, block, 4);
    EXPECT_LE(pool.max_memory(), scratch);
  }
  EXPECT_EQ(pool.bytes_allocated(), 0);
}

TEST(DiskManagerThreadsTest, FilesOnDifferentThreadsDoNotMeet) {
  for (const int scratch_buffers : {1, 8}) {
    TemporaryDirectory parent;
    DiskManagerOptions options;
    options.directory = parent.path();
    options.scratch_buffers = scratch_buffers;
    options.max_open_files = 4;  // fewer than files in use: threads evict each other's
    ASSERT_OK_AND_ASSIGN(auto disk, DiskManager::Make(options));
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937_64 random(thread);
        for (int round = 0; round < 4; ++round) {
          std::vector<std::vector<uint8_t>> blocks;
          std::vector<std::shared_ptr<SpillFile>> files = {disk->CreateFile("a").ValueOrDie(),
                                                           disk->CreateFile("b").ValueOrDie()};
          for (int i = 0; i < 20; ++i) {
            blocks.push_back(MakeBytes(static_cast<int64_t>(random() % 100'000), static_cast<Content>(random() % 4), random));
            for (auto& file : files) ASSERT_OK(file->Append(blocks.back(), i));
          }
          for (auto& file : files) {
            ASSERT_OK(file->Finish());
            ASSERT_OK_AND_ASSIGN(auto reader, file->OpenReader(true));
            std::vector<uint8_t> memory(static_cast<size_t>(file->max_block_bytes()));
            for (const auto& block : blocks) {
              ASSERT_OK_AND_ASSIGN(const auto view, reader->NextInto(memory));
              ASSERT_TRUE(std::equal(view->bytes.begin(), view->bytes.end(), block.begin(), block.end()));
            }
          }
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(disk->used_bytes(), 0);
    EXPECT_LE(OpenDescriptors(parent.path()), 2 + 4);
  }
}

TEST(DiskManagerThreadsTest, ManyReadersOfOneFileOnManyThreads) {
  TemporaryDirectory parent;
  auto disk = MakeDisk(parent.path());
  std::mt19937_64 random(5);
  const auto block = MakeBytes(30'000, Content::kText, random);
  auto file = disk->CreateFile("test").ValueOrDie();
  for (int i = 0; i < 40; ++i) ASSERT_OK(file->Append(block, 1));
  ASSERT_OK(file->Finish());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) threads.emplace_back([&] { ExpectEqualBlocks(file, block, 40); });
  for (auto& thread : threads) thread.join();
}

TEST(DiskManagerThreadsTest, TheQuotaHoldsWhenAllPushAtOnce) {
  TemporaryDirectory parent;
  auto disk = MakeDisk(parent.path(), 4 * kMiB);
  std::vector<std::shared_ptr<SpillFile>> files(6);
  std::vector<std::thread> threads;
  for (auto& file : files) {
    threads.emplace_back([&] {
      file = disk->CreateFile("test").ValueOrDie();
      const auto block = RandomBytes(10'000);
      arrow::Status status;
      while ((status = file->Append(block, 1)).ok()) {
      }
      EXPECT_EQ(GetErrorKind(status), ErrorKind::kDiskLimit);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(disk->peak_used_bytes(), 4 * kMiB);
  ExpectOnDisk(parent.path(), disk->used_bytes());
  files.clear();
  EXPECT_EQ(disk->used_bytes(), 0);
}

}  // namespace
}  // namespace icebound::spill
