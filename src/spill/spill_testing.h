// SPDX-License-Identifier: Apache-2.0
//
// What the tests of this folder share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"

#define EXPECT_OK(expression)                        \
  do {                                               \
    const ::arrow::Status status_ = (expression);    \
    EXPECT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)
#define ASSERT_OK(expression)                        \
  do {                                               \
    const ::arrow::Status status_ = (expression);    \
    ASSERT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)
#define SPILL_TESTING_JOIN_(a, b) a##b
#define SPILL_TESTING_JOIN(a, b) SPILL_TESTING_JOIN_(a, b)
#define ASSERT_OK_AND_ASSIGN_(result, target, expression) \
  auto&& result = (expression);                           \
  ASSERT_TRUE(result.ok()) << result.status().ToString(); \
  target = std::move(result).ValueUnsafe()
#define ASSERT_OK_AND_ASSIGN(target, expression) ASSERT_OK_AND_ASSIGN_(SPILL_TESTING_JOIN(result_, __LINE__), target, expression)

namespace icebound::spill {

/// An empty directory that goes with all it holds.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spill-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename().string());
    return names;
  }

 private:
  std::string path_;
};

/// A file system of its own, when the test may mount one.
class MountedDirectory {
 public:
  MountedDirectory(const char* type, const char* options) {
    mounted_ = ::mount("none", directory_.path().c_str(), type, 0, options) == 0;
  }
  ~MountedDirectory() {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const std::string& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  bool mounted_ = false;
};

/// Runs `body` in a forked process and returns its wait status.
template <typename Body>
int RunInChild(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

/// Bytes that the files below `directory` take on the disk, as the system counts.
inline int64_t AllocatedBytes(const std::string& directory) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat info;
    if (entry.path().extension() == ".spill" && ::stat(entry.path().c_str(), &info) == 0) bytes += info.st_blocks * 512;
  }
  return bytes;
}

/// The count of bytes must be what the system says, which adds a few units of its own for the map of a fragmented file.
inline void ExpectOnDisk(const std::string& directory, int64_t counted_bytes) {
  constexpr int64_t kMapBytes = 64 << 10;
  const int64_t allocated_bytes = AllocatedBytes(directory);
  EXPECT_GE(allocated_bytes, counted_bytes);
  EXPECT_LE(allocated_bytes, counted_bytes + (counted_bytes == 0 ? 0 : kMapBytes));
}

/// Descriptors of this process that lead below `directory`.
inline int OpenDescriptors(const std::string& directory) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    count += std::filesystem::read_symlink(entry.path(), error).string().starts_with(directory) ? 1 : 0;
  }
  return count;
}

enum class Content { kZeros, kText, kRandom, kMixed };

/// `size` bytes: zeros; letters that LZ4 halves or so; noise; or both by turns of 64 KiB.
inline std::vector<uint8_t> MakeBytes(int64_t size, Content content, std::mt19937_64& random) {
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  if (content == Content::kZeros) return bytes;
  const char kLetters[] = "carefully final deposits detect slyly agai";
  for (size_t i = 0; i < bytes.size(); i += 8) {
    const bool noise = content == Content::kRandom || (content == Content::kMixed && (i >> 16) % 2 == 0);
    const uint64_t value = random();
    const void* source = noise ? static_cast<const void*>(&value) : kLetters + value % 32;
    std::memcpy(bytes.data() + i, source, std::min<size_t>(8, bytes.size() - i));
  }
  return bytes;
}

}  // namespace icebound::spill
