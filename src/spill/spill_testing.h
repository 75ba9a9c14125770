// SPDX-License-Identifier: Apache-2.0
//
// What the tests of this folder share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
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

enum class Content { kZeros, kText, kRandom, kMixed };

inline std::vector<uint8_t> MakeBytes(int64_t size, Content content, std::mt19937_64& random) {
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  if (content == Content::kZeros) return bytes;
  const char kLetters[] = "carefully final deposits detect slyly agai";
  for (size_t i = 0; i < bytes.size(); i += 8) {
    const bool noise = content == Content::kRandom || (content == Content::kMixed && (i >> 16) % 2 == 0);
    const uint64_t value = random();
    for (size_t j = i; j < std::min(i + 8, bytes.size()); ++j) {
      bytes[j] = noise ? static_cast<uint8_t>(value >> (8 * (j - i))) : static_cast<uint8_t>(kLetters[(value % 32) + (j - i)]);
    }
  }
  return bytes;
}

}  // namespace icebound::spill
