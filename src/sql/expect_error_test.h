// SPDX-License-Identifier: Apache-2.0
//
// For the tests of this folder: errors and where their caret stands. In the statements the position is marked by »; it is removed
// before the rest is bound.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sql/fake_tables_test.h"
#include "sql/sql_error.h"

namespace icebound::sql {

/// Expects an error of `kind` that begins with `message`, at the mark (or without a position when there is none).
inline void ExpectError(std::string marked, ErrorKind kind, std::string_view message) {
  constexpr std::string_view kMark = "»";
  const size_t at = marked.find(kMark);
  if (at != std::string::npos) marked.erase(at, kMark.size());
  const auto bound = BindText(marked);
  ASSERT_FALSE(bound.ok()) << marked << "\n" << (bound->plan ? plan::ExplainText(*bound->plan) : "");
  const std::string& text = bound.status().message();
  EXPECT_EQ(GetErrorKind(bound.status()), kind) << marked << "\n" << text;
  EXPECT_EQ(text.substr(0, text.find('\n')), message) << marked;
  if (at == std::string::npos) {
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  } else {
    EXPECT_EQ(text.substr(text.find('\n') + 1), RenderCaret(marked, at)) << marked << "\n" << text;
  }
}

inline void ExpectInvalid(std::string marked, std::string_view message) {
  ExpectError(std::move(marked), ErrorKind::kInvalidInput, message);
}

inline void ExpectUnsupported(std::string marked, std::string_view what) {
  ASSERT_NE(marked.find("»"), std::string::npos) << marked;
  ExpectError(std::move(marked), ErrorKind::kUnsupported, "not supported yet: " + std::string(what));
}

}  // namespace icebound::sql
