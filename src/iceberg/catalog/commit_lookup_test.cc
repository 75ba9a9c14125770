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
  return {{{"n"}, "t"}, location, std::make_shared<const TableMetadata>(std::move(metadata)), 0, "", {}};
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

/// The same table with one snapshot more, which is current.
TableMetadata WithSnapshot(const TableMetadata& metadata, int64_t id) {
  TableMetadata changed = metadata;
  Snapshot snapshot;
  snapshot.snapshot_id = id;
  snapshot.manifest_list = "s.avro";
  changed.snapshots.push_back(snapshot);
  changed.current_snapshot_id = id;
  changed.refs = {{.name = std::string(kMainBranch), .snapshot_id = id, .is_branch = true}};
  return changed;
}

TEST(JudgeUnnamedCommit, ByWhatTheTableHas) {
  const LoadedTable base = Table("base", {"older"});
  const TableMetadata appended = WithSnapshot(*base.metadata, 7);
  const TableMetadata named = WithProperty(*base.metadata, "p", "1");
  const arrow::Status lost = MakeError(ErrorKind::kCommitUnknown, "the answer was lost");
  const auto judge = [&](const TableMetadata& updated, const arrow::Result<LoadedTable>& now) {
    const arrow::Status status = JudgeUnnamedCommit(base, updated, *CompareMetadata(base.metadata.get(), updated), now, lost);
    return status.ok() ? std::string("committed") : std::string(ToString(KindOf(status)));
  };
  const auto loaded = [&](TableMetadata metadata, const std::string& location, const std::vector<std::string>& log) {
    metadata.metadata_log.clear();
    for (const std::string& file : log) metadata.metadata_log.push_back({1, file, ""});
    return LoadedTable{base.identifier, location, std::make_shared<const TableMetadata>(std::move(metadata)), 0, "", {}};
  };
  const std::vector<std::string> after_base = {"older", "base"};
  EXPECT_EQ(judge(appended, loaded(appended, "new", after_base)), "committed");
  EXPECT_EQ(judge(appended, loaded(WithSnapshot(appended, 8), "later", {"older", "base", "new"})), "committed");
  EXPECT_EQ(judge(appended, loaded(*base.metadata, "base", {"older"})), "commit state unknown");
  EXPECT_EQ(judge(appended, loaded(WithSnapshot(*base.metadata, 9), "theirs", after_base)), "commit conflict");
  // A request that is late could still be let in: main is where it was.
  EXPECT_EQ(judge(appended, loaded(named, "theirs", after_base)), "commit state unknown");
  // Ours may have come, and have been expired.
  EXPECT_EQ(judge(appended, loaded(WithSnapshot(*base.metadata, 9), "later", {"older", "base", "x"})), "commit state unknown");
  EXPECT_EQ(judge(appended, MakeError(ErrorKind::kNotFound, "dropped")), "commit state unknown");

  EXPECT_EQ(judge(named, loaded(named, "new", after_base)), "committed");
  EXPECT_EQ(judge(named, loaded(*base.metadata, "base", {"older"})), "commit state unknown");
  EXPECT_EQ(judge(named, loaded(appended, "theirs", after_base)), "commit conflict");
}

}  // namespace
}  // namespace icebound::iceberg
