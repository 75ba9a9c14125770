// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gtest/gtest.h>

namespace icebound {
namespace {

TEST(TextOffset, TheInnermostStays) {
  const arrow::Status inner = AtTextOffset(MakeError(ErrorKind::kExecution, "wrong"), 7);
  EXPECT_EQ(GetTextOffset(inner), 7);
  EXPECT_EQ(GetErrorKind(inner), ErrorKind::kExecution);
  EXPECT_EQ(GetTextOffset(AtTextOffset(inner, 3)), 7);
  EXPECT_EQ(GetTextOffset(WithContext(inner, ErrorKind::kIo, "reading x")), 7);
}

TEST(TextOffset, IsOfExecutionErrorsAlone) {
  EXPECT_EQ(GetTextOffset(AtTextOffset(MakeError(ErrorKind::kIo, "gone"), 3)), std::nullopt);
  EXPECT_EQ(GetTextOffset(AtTextOffset(arrow::Status::Invalid("of no kind"), 3)), std::nullopt);
  EXPECT_EQ(GetTextOffset(AtTextOffset(MakeError(ErrorKind::kExecution, "wrong"), -1)), std::nullopt);
  EXPECT_TRUE(AtTextOffset(arrow::Status::OK(), 3).ok());
}

}  // namespace
}  // namespace icebound
