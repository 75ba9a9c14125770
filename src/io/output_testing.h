// SPDX-License-Identifier: Apache-2.0
//
// What the tests of writing share.
#pragma once

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"

namespace icebound::io::testing {

#define ASSERT_STATUS_OK(expression)                 \
  do {                                               \
    const arrow::Status status_ = (expression);      \
    ASSERT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)

#define ASSERT_FAILS(kind, text, expression)                                          \
  do {                                                                                \
    const arrow::Status status_ = (expression);                                       \
    ASSERT_FALSE(status_.ok());                                                       \
    EXPECT_EQ(icebound::GetErrorKind(status_), kind) << status_.ToString();           \
    EXPECT_NE(status_.message().find(text), std::string::npos) << status_.ToString(); \
  } while (false)

inline std::string FileContent(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void PutFile(const std::string& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

/// Names in a folder, hidden ones too, sorted.
inline std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace icebound::io::testing
