// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/commit_lookup.h"

#include <gmock/gmock.h>

#include "iceberg/catalog/catalog_testing.h"

namespace icebound::iceberg {
namespace {

/// A table that is `location` now and was the files in `log` before.
LoadedTable Table(const std::string& location, const std::vector<std::string>& log) {
  TableMetadata metadata = SmallTable("/t");
  for (const std::string& file : log) metadata.metadata_log.push_back({1, file, ""});
  return {{{"n"}, "t"}, location, std::make_shared<const TableMetadata>(std::move(metadata)), 0, ""};
}

TEST(JudgeCommit, ByWhatTheTableIsAndWas) {
  const LoadedTable base = Table("base", {"older"});
  const arrow::Status lost = MakeError(ErrorKind::kCommitUnknown, "the answer was lost");
  const auto judge = [&](const arrow::Result<LoadedTable>& now, bool request_is_over = true) {
    const arrow::Status status = JudgeCommit(base, "new", now, lost, request_is_over);
    if (status.ok()) return std::string("committed");
    EXPECT_THAT(status.message(), testing::HasSubstr("n.t"));
    return std::string(ToString(KindOf(status)));
  };
  EXPECT_EQ(judge(Table("new", {"older", "base"})), "committed");
  EXPECT_EQ(judge(Table("later", {"older", "base", "new", "next"})), "committed");
  EXPECT_EQ(judge(Table("base", {"older"})), "input/output");
  EXPECT_EQ(judge(Table("base", {"older"}), /*request_is_over=*/false), "commit state unknown");
  EXPECT_EQ(judge(Table("theirs", {"older", "base"})), "commit conflict");
  EXPECT_EQ(judge(Table("later", {"base", "theirs"}), /*request_is_over=*/false), "commit conflict");
  EXPECT_EQ(judge(Table("later", {"much", "has", "happened"})), "commit state unknown");
  EXPECT_EQ(judge(MakeError(ErrorKind::kNotFound, "dropped")), "commit state unknown");
}

}  // namespace
}  // namespace icebound::iceberg
