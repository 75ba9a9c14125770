// SPDX-License-Identifier: Apache-2.0
//
// What is left by processes that were killed goes, what belongs to living ones stays, and the two cannot be confused by any race.
#include "spill/private_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>

#include <random>

#include "icebound/error.h"
#include "spill/disk_manager.h"
#include "spill/spill_testing.h"

namespace icebound::spill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string BaseName(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// A child process that spills into `directory`, reports its private directory, and then waits until told to check its file
/// and end.
class SpillingProcess {
 public:
  explicit SpillingProcess(const std::string& directory) {
    int to_parent[2], to_child[2];
    EXPECT_EQ(::pipe(to_parent), 0);
    EXPECT_EQ(::pipe(to_child), 0);
    pid_ = ::fork();
    if (pid_ == 0) Run(directory, to_parent[1], to_child[0]);
    ::close(to_parent[1]);
    ::close(to_child[0]);
    to_child_ = to_child[1];
    char name[512] = {};
    EXPECT_GT(::read(to_parent[0], name, sizeof name - 1), 0);
    ::close(to_parent[0]);
    directory_ = name;
  }
  ~SpillingProcess() { ::close(to_child_); }

  const std::string& directory() const { return directory_; }
  void Kill() {
    ::kill(pid_, SIGKILL);
    int status;
    ::waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
  /// Lets it read its file and end; its exit code.
  int Finish() {
    EXPECT_EQ(::write(to_child_, "x", 1), 1);
    int status;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  [[noreturn]] static void Run(const std::string& directory, int to_parent, int from_parent) {
    DiskManagerOptions options;
    options.directory = directory;
    auto disk = DiskManager::Make(options).ValueOrDie();
    auto file = disk->CreateFile("spilled").ValueOrDie();
    const std::vector<uint8_t> block(100'000, 7);
    for (int i = 0; i < 10; ++i) {
      if (!file->Append(block, 1).ok()) std::_Exit(2);
    }
    const std::string& name = disk->directory();
    if (::write(to_parent, name.data(), name.size()) < 0) std::_Exit(3);
    char go;
    if (::read(from_parent, &go, 1) != 1 || !file->Finish().ok()) std::_Exit(4);
    auto reader = file->OpenReader(false).ValueOrDie();
    std::vector<uint8_t> memory(block.size());
    for (int i = 0; i < 10; ++i) {
      const auto view = reader->NextInto(memory);
      if (!view.ok() || !view->has_value() || memory != block) std::_Exit(5);
    }
    reader.reset();
    file.reset();
    disk.reset();
    std::_Exit(0);
  }

  pid_t pid_ = -1;
  int to_child_ = -1;
  std::string directory_;
};

TEST(ReclaimTest, TheNextStartRemovesWhatAKilledProcessLeftAndNothingOfALivingOne) {
  TemporaryDirectory parent;
  SpillingProcess killed(parent.path());
  SpillingProcess living(parent.path());
  killed.Kill();
  EXPECT_THAT(parent.Entries(), UnorderedElementsAre(BaseName(killed.directory()), BaseName(living.directory())));
  EXPECT_GT(AllocatedBytes(killed.directory()), 0);
  DiskManagerOptions options;
  options.directory = parent.path();
  {
    ASSERT_OK_AND_ASSIGN(auto disk, DiskManager::Make(options));
    EXPECT_THAT(parent.Entries(), UnorderedElementsAre(BaseName(living.directory()), BaseName(disk->directory())));
  }
  EXPECT_EQ(living.Finish(), 0) << "the living process lost its file";
  EXPECT_THAT(parent.Entries(), IsEmpty());
}

TEST(ReclaimTest, OnlyDirectoriesOfOursAreTouched) {
  TemporaryDirectory parent;
  const auto make_directory = [&](const std::string& name) {
    std::filesystem::create_directory(parent.path() + "/" + name);
    ::close(::open((parent.path() + "/" + name + "/data.spill").c_str(), O_CREAT | O_WRONLY, 0600));
    ::close(::open((parent.path() + "/" + name + "/lock").c_str(), O_CREAT | O_WRONLY, 0600));
  };
  const std::vector<std::string> strangers = {"icebound-data",
                                              "icebound-1-0123456789abcde",
                                              "icebound-1-0123456789abcdefg",
                                              "icebound--0123456789abcdef",
                                              "icebound-x1-0123456789abcdef",
                                              "xicebound-1-0123456789abcdef"};
  for (const auto& name : strangers) make_directory(name);
  // A file and a symbolic link with names of ours.
  ::close(::open((parent.path() + "/icebound-1-00000000000000aa").c_str(), O_CREAT | O_WRONLY, 0600));
  std::filesystem::create_directory_symlink(parent.path() + "/icebound-data", parent.path() + "/icebound-1-00000000000000bb");
  make_directory("icebound-1-00000000000000cc");
  EXPECT_EQ(ReclaimDeadDirectories(parent.path()), 1) << "the last one is a dead directory of ours";
  for (const auto& name : strangers) EXPECT_TRUE(std::filesystem::exists(parent.path() + "/" + name + "/data.spill")) << name;
  EXPECT_TRUE(std::filesystem::exists(parent.path() + "/icebound-1-00000000000000aa"));
  EXPECT_TRUE(std::filesystem::is_symlink(parent.path() + "/icebound-1-00000000000000bb"));
  EXPECT_FALSE(std::filesystem::exists(parent.path() + "/icebound-1-00000000000000cc"));
}

TEST(ReclaimTest, DirectoriesOfOtherUsersAreLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  TemporaryDirectory parent;
  const std::string name = parent.path() + "/icebound-1-0123456789abcdef";
  std::filesystem::create_directory(name);
  ::close(::open((name + "/lock").c_str(), O_CREAT | O_WRONLY, 0600));
  ASSERT_EQ(::chown(name.c_str(), 65534, 65534), 0);
  EXPECT_EQ(ReclaimDeadDirectories(parent.path()), 0);
  EXPECT_TRUE(std::filesystem::exists(name + "/lock"));
}

TEST(ReclaimTest, AReclaimThatWasKilledIsFinishedByTheNext) {
  TemporaryDirectory parent;
  // Killed between the lock file and the directory: an empty one is left.
  const std::string empty = parent.path() + "/icebound-1-0123456789abcdef";
  std::filesystem::create_directory(empty);
  // Not of ours, or the lock file was lost: with files in it, it is not deleted on a guess.
  const std::string lockless = parent.path() + "/icebound-2-0123456789abcdef";
  std::filesystem::create_directory(lockless);
  ::close(::open((lockless + "/1-sort.spill").c_str(), O_CREAT | O_WRONLY, 0600));
  // A sub-directory cannot be ours; the lock stays, so that the directory can still be reclaimed when it is gone.
  const std::string nested = parent.path() + "/icebound-3-0123456789abcdef";
  std::filesystem::create_directories(nested + "/sub");
  ::close(::open((nested + "/lock").c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_EQ(ReclaimDeadDirectories(parent.path()), 1);
  EXPECT_FALSE(std::filesystem::exists(empty));
  EXPECT_TRUE(std::filesystem::exists(lockless + "/1-sort.spill"));
  EXPECT_TRUE(std::filesystem::exists(nested + "/lock"));
  std::filesystem::remove(nested + "/sub");
  EXPECT_EQ(ReclaimDeadDirectories(parent.path()), 1);
  EXPECT_FALSE(std::filesystem::exists(nested));
}

TEST(ReclaimTest, TheLockIsHeldForAsLongAsTheDirectoryLives) {
  TemporaryDirectory parent;
  ASSERT_OK_AND_ASSIGN(auto directory, PrivateDirectory::Make(parent.path()));
  const int lock = ::open((directory->path() + "/lock").c_str(), O_RDWR);
  ASSERT_GE(lock, 0);
  EXPECT_EQ(::flock(lock, LOCK_EX | LOCK_NB), -1);
  char pid[32] = {};
  EXPECT_GT(::read(lock, pid, sizeof pid - 1), 0);
  EXPECT_EQ(std::atoi(pid), ::getpid());
  EXPECT_EQ(ReclaimDeadDirectories(parent.path()), 0);
  directory.reset();
  EXPECT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  ::close(lock);
  EXPECT_THAT(parent.Entries(), IsEmpty());
}

TEST(ReclaimTest, ProcessesThatStartEndAndDieAllAtOnceNeverLoseADirectory) {
  TemporaryDirectory parent;
  constexpr int kProcesses = 6;
  constexpr int kRounds = 150;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int round = 0; round < kRounds; ++round) {
        auto directory = PrivateDirectory::Make(parent.path());
        if (!directory.ok()) std::_Exit(2);
        const std::string file = (*directory)->path() + "/1-test.spill";
        const int fd = ::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0) std::_Exit(3);
        ::close(fd);
        ::sched_yield();
        struct stat info;
        if (::stat(file.c_str(), &info) != 0 || ::stat(((*directory)->path() + "/lock").c_str(), &info) != 0) std::_Exit(4);
        // Half of the processes die with their last directory in place.
        if (round == kRounds - 1 && process % 2 == 0) ::raise(SIGKILL);
      }
      std::_Exit(0);
    }
    children.push_back(child);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status;
    ::waitpid(children[process], &status, 0);
    if (process % 2 == 0) {
      EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    } else {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    }
  }
  ReclaimDeadDirectories(parent.path());
  EXPECT_THAT(parent.Entries(), IsEmpty());
}

}  // namespace
}  // namespace icebound::spill
