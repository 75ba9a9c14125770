// SPDX-License-Identifier: Apache-2.0
#include "iceberg/scan/table_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "iceberg/deletes/partition_scope.h"
#include "iceberg/scan/scan_testing.h"

namespace icebound::iceberg::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr char kFields[] = R"({"id": 1, "name": "id", "required": false, "type": "long"},
    {"id": 2, "name": "p", "required": false, "type": "string"})";
/// 0: none; 1: identity of p; 2: the same again, as after an evolution and back; 3: a void field, as v1 tables keep them.
constexpr char kSpecs[] = R"({"spec-id": 0, "fields": []},
    {"spec-id": 1, "fields": [{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}]},
    {"spec-id": 2, "fields": [{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}]},
    {"spec-id": 3, "fields": [{"name": "p", "transform": "void", "source-id": 2, "field-id": 1000}]})";

/// A task as one line: deletion vector, position deletes and whether equality deletes apply.
std::string Text(const FileTask& task) {
  std::string text = task.file.file_path + ":";
  if (task.deletion_vector) text += " V" + task.deletion_vector->file.file_path;
  std::set<std::string> positions;
  for (const auto& file : task.position_deletes) positions.insert(file->file.file_path);
  for (const std::string& path : positions) text += " " + path;
  return text + (task.has_equality_deletes ? " E" : "");
}

std::vector<std::string> Plan(const TestTable& table) {
  TestMemory memory;
  const auto tasks = PlanAll(table.Options(&memory));
  if (!tasks.ok()) return {tasks.status().message()};
  std::vector<std::string> lines;
  for (const FileTask& task : *tasks) lines.push_back(Text(task));
  return lines;
}

arrow::Status PlanStatus(const TestTable& table) {
  TestMemory memory;
  return PlanAll(table.Options(&memory)).status();
}

const Literal kA = std::string("a"), kB = std::string("b");

TEST(TableScan, OfATableWithoutSnapshotsIsEmpty) {
  const TestTable table(kFields, kSpecs);
  TestMemory memory;
  ScanOptions options = table.Options(&memory);
  options.snapshot = nullptr;
  EXPECT_THAT(PlanAll(options).ValueOrDie(), IsEmpty());
}

TEST(TableScan, TasksCarryWhatTheirManifestSays) {
  TestTable table(kFields, kSpecs);
  TestEntry rewritten = Data("a", 3, {kA});
  rewritten.value_counts = {{1, 10}};
  table.Add({.spec_id = 1, .sequence_number = 5, .entries = {rewritten}});
  TestEntry inherits = Data("b", 0);
  inherits.sequence_number.reset();
  TestEntry deleted = Data("c", 2);
  deleted.status = 2;
  table.Add({.sequence_number = 6, .entries = {deleted, inherits}});
  TestMemory memory;
  const auto tasks = PlanAll(table.Options(&memory)).ValueOrDie();
  ASSERT_EQ(tasks.size(), 2);
  EXPECT_EQ(tasks[0].file.file_path, "a");
  EXPECT_EQ(tasks[0].sequence_number, 3);
  EXPECT_EQ(tasks[0].file.spec_id, 1);
  EXPECT_THAT(tasks[0].file.partition, ElementsAre(kA));
  EXPECT_EQ(tasks[1].file.file_path, "b");
  EXPECT_EQ(tasks[1].sequence_number, 6);
  EXPECT_EQ(tasks[1].file_sequence_number, 6);
}

TEST(IcebergRules, Rule03DeleteScopeByPositionIsItsOwnNumberAndOlder) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("d4", 4), Data("d5", 5), Data("d6", 6)});
  table.AddDeletes({PositionDeletes("p5", 5), DeletionVector("v", 5, "d5")});
  EXPECT_THAT(Plan(table), ElementsAre("d4: p5", "d5: Vv", "d6:"));
}

TEST(IcebergRules, Rule03DeleteScopeByEqualityIsStrictlyOlder) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("d4", 4), Data("d5", 5), Data("d6", 6)});
  table.AddDeletes({EqualityDeletes("e5", 5)});
  EXPECT_THAT(Plan(table), ElementsAre("d4: E", "d5:", "d6:"));
}

// Case 11 of the public failures: one commit adds data and deletes about it.
TEST(IcebergRules, Rule03OneCommitOfDataAndDeletes) {
  TestTable table(kFields, kSpecs);
  TestEntry data = Data("d", 0), positions = PositionDeletes("p", 0), keys = EqualityDeletes("e", 0);
  for (TestEntry* entry : {&data, &positions, &keys}) entry->sequence_number.reset();
  table.Add({.sequence_number = 5, .entries = {data}});
  table.Add({.deletes = true, .sequence_number = 5, .entries = {positions, keys}});
  EXPECT_THAT(Plan(table), ElementsAre("d: p"));
}

TEST(IcebergRules, Rule03DeletionVectorThatIsOlderThanItsFileDoesNotApply) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("d", 5)});
  table.AddDeletes({DeletionVector("v", 4, "d")});
  EXPECT_THAT(Plan(table), ElementsAre("d:"));
}

// Case 5: identity(p), both partitions hold the key.
TEST(IcebergRules, Rule04EqualityDeletesOfAPartitionStayInIt) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("a1", 1, {kA}), Data("b1", 1, {kB}), Data("n1", 1, {Literal()})}, 1);
  table.AddData({Data("a2", 1, {kA})}, 2);
  table.AddDeletes({EqualityDeletes("e", 2, {kA})}, 1);
  EXPECT_THAT(Plan(table), ElementsAre("a1: E", "b1:", "n1:", "a2:"));
}

TEST(IcebergRules, Rule04EqualityDeletesOfAnUnpartitionedSpecAreGlobal) {
  for (const int32_t spec_id : {0, 3}) {
    TestTable table(kFields, kSpecs);
    table.AddData({Data("a1", 1, {kA}), Data("b3", 3, {kB})}, 1);
    table.AddData({Data("u1", 1)}, 0);
    table.AddDeletes({EqualityDeletes("e", 2, spec_id == 0 ? std::vector<Literal>() : std::vector<Literal>{Literal()})}, spec_id);
    EXPECT_THAT(Plan(table), ElementsAre("a1: E", "b3:", "u1: E")) << spec_id;
    TestMemory memory;
    const auto scan = TableScan::Open(table.Options(&memory)).ValueOrDie();
    ASSERT_EQ(scan->equality_groups().size(), 1);
    EXPECT_TRUE(scan->equality_groups()[0].global);
  }
}

TEST(IcebergRules, Rule04PositionDeletesOfAnUnpartitionedSpecAreNotGlobal) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("a1", 1, {kA})}, 1);
  table.AddData({Data("u1", 1)}, 0);
  table.AddDeletes({PositionDeletes("p", 2)}, 0);
  EXPECT_THAT(Plan(table), ElementsAre("a1:", "u1: p"));
}

TEST(IcebergRules, Rule04PositionDeletesStayInTheirPartitionAndSpec) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("a1", 1, {kA}), Data("b1", 1, {kB}), Data("n1", 1, {Literal()})}, 1);
  table.AddData({Data("a2", 1, {kA})}, 2);
  table.AddDeletes({PositionDeletes("pa", 2, {kA}), PositionDeletes("pn", 2, {Literal()})}, 1);
  EXPECT_THAT(Plan(table), ElementsAre("a1: pa", "b1:", "n1: pn", "a2:"));
}

TEST(IcebergRules, Rule06GroupsOfEqualityDeletesHaveOneLayoutAndScope) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("a1", 1, {kA})}, 1);
  table.AddDeletes({EqualityDeletes("e1", 2, {kA}, {1}), EqualityDeletes("e21", 3, {kB}, {2, 1}),
                    EqualityDeletes("e12", 4, {Literal()}, {1, 2}), EqualityDeletes("e1b", 5, {kB}, {1})},
                   1);
  table.AddDeletes({EqualityDeletes("g1", 6, {}, {1})}, 0);
  TestMemory memory;
  const auto scan = TableScan::Open(table.Options(&memory)).ValueOrDie();
  std::vector<std::string> lines;
  const auto& groups = scan->equality_groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    std::string line = fmt::format("{} {} {}:", fmt::join(groups[i].equality_ids, ","), groups[i].global, groups[i].records);
    for (int64_t k = 0; k < groups[i].files; ++k) {
      const DeleteFile file = scan->EqualityDelete(i, k).ValueOrDie();
      EXPECT_EQ(file.file.equality_ids, groups[i].equality_ids);
      line += fmt::format(" {}@{}/{}", file.file.file_path, file.sequence_number, file.file.spec_id);
      if (!file.file.partition.empty()) line += LiteralText(*Type::Of(TypeId::kString), file.file.partition[0]);
    }
    lines.push_back(line);
  }
  EXPECT_THAT(lines,
              UnorderedElementsAre("1 false 20: e1@2/1a e1b@5/1b", "1,2 false 20: e21@3/1b e12@4/1null", "1 true 10: g1@6/0"));
}

// Case 6 of the public failures: what a key is, its field id says, in whatever schema.
TEST(IcebergRules, Rule07KeysOfColumnsThatWereDroppedAreKeys) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("d", 1)});
  table.AddDeletes({EqualityDeletes("e", 2, {}, {9})});
  EXPECT_THAT(Plan(table), ElementsAre("d: E"));
  TestMemory memory;
  const auto scan = TableScan::Open(table.Options(&memory)).ValueOrDie();
  ASSERT_EQ(scan->equality_groups().size(), 1);
  EXPECT_THAT(scan->equality_groups()[0].equality_ids, ElementsAre(9));
}

TEST(IcebergRules, Rule08DeletesUnderTheSpecOfOldDataApplyToIt) {
  // The table went on to spec 2; deletes of old files are written under theirs.
  TestTable table(kFields, kSpecs);
  table.AddData({Data("old", 1, {kA})}, 1);
  table.AddData({Data("new", 2, {kA})}, 2);
  table.AddDeletes({PositionDeletes("p1", 3, {kA}), EqualityDeletes("e1", 3, {kA})}, 1);
  table.AddDeletes({PositionDeletes("p2", 3, {kA})}, 2);
  EXPECT_THAT(Plan(table), ElementsAre("old: p1 E", "new: p2"));
}

TEST(IcebergRules, Rule08DeletesOfOneFileUnderAnotherPartitionAreCorrupt) {
  for (const bool is_vector : {false, true}) {
    TestTable table(kFields, kSpecs);
    table.AddData({Data("d", 1, {kA})}, 1);
    TestEntry deletes = is_vector ? DeletionVector("x", 2, "d", {kA}) : WithPaths(PositionDeletes("x", 2, {kA}), "d", "d");
    table.AddDeletes({deletes}, 2);
    const auto status = PlanStatus(table);
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData);
    EXPECT_THAT(status.message(), HasSubstr("delete file x is about data file d but of another partition"));
  }
}

TEST(IcebergRules, Rule19DeletionVectorStandsForAllPositionDeletes) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("d1", 1), Data("d2", 1)});
  TestEntry named = PositionDeletes("p3", 4);
  named.referenced = "d1";
  table.AddDeletes({PositionDeletes("p1", 2), WithPaths(PositionDeletes("p2", 3), "d1", "d1"), named,
                    DeletionVector("v", 2, "d1"), EqualityDeletes("e", 2)});
  EXPECT_THAT(Plan(table), ElementsAre("d1: Vv E", "d2: p1 E"));
}

TEST(IcebergRules, Rule19SeveralDeletionVectorsOfOneFileAreCorrupt) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("d", 1)});
  table.AddDeletes({DeletionVector("v1", 2, "d"), DeletionVector("w", 2, "other")});
  EXPECT_TRUE(PlanStatus(table).ok());
  table.AddDeletes({DeletionVector("v1", 3, "d")});
  const auto status = PlanStatus(table);
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData);
  EXPECT_THAT(status.message(), HasSubstr("manifest m2"));
  EXPECT_THAT(status.message(), HasSubstr("data file d has two deletion vectors"));
  // A deleted entry is not one of them.
  table = TestTable(kFields, kSpecs);
  table.AddData({Data("d", 1)});
  TestEntry gone = DeletionVector("v1", 2, "d");
  gone.status = 2;
  table.AddDeletes({gone, DeletionVector("v2", 3, "d")});
  EXPECT_THAT(Plan(table), ElementsAre("d: Vv2"));
}

TEST(IcebergRules, Rule19DeletionVectorsKeepTheirPlace) {
  TestTable table(kFields, kSpecs, 3);
  table.AddData({Data("s3://b/t/d%2F1.parquet", 1), Data("s3://b/t/d2.parquet", 1)});
  TestEntry second = DeletionVector("s3://b/t/v.puffin", 2, "s3://b/t/d2.parquet");
  second.content_offset = 99;
  table.AddDeletes({DeletionVector("s3://b/t/v.puffin", 2, "s3://b/t/d%2F1.parquet"), second});
  TestMemory memory;
  const auto tasks = PlanAll(table.Options(&memory)).ValueOrDie();
  ASSERT_EQ(tasks.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(tasks[i].deletion_vector.has_value());
    const DataFile& vector = tasks[i].deletion_vector->file;
    EXPECT_TRUE(tasks[i].deletion_vector->about_one_file);
    EXPECT_TRUE(vector.is_deletion_vector());
    EXPECT_EQ(vector.file_path, "s3://b/t/v.puffin");
    EXPECT_EQ(vector.referenced_data_file, tasks[i].file.file_path);
    EXPECT_EQ(vector.content_offset, i == 0 ? 4 : 99);
    EXPECT_EQ(vector.content_size_bytes, 77);
    EXPECT_EQ(vector.record_count, 10);
    EXPECT_EQ(vector.file_size_bytes, 1000);
  }
}

TEST(DeleteIndex, PathBoundsLeavePositionDeletesOut) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("t/a", 1), Data("t/b", 1), Data("t/c", 1), Data("u", 1)});
  TestEntry lower_only = PositionDeletes("p5", 2), upper_only = PositionDeletes("p6", 2);
  lower_only.lower = {{kDeleteFilePathId, "t/c"}};
  upper_only.upper = {{kDeleteFilePathId, "t/a"}};
  table.AddDeletes({WithPaths(PositionDeletes("p1", 2), "t/a", "t/b"), WithPaths(PositionDeletes("p2", 2), "t/b", "t/b"),
                    WithPaths(PositionDeletes("p3", 2), "t/b", "u"), PositionDeletes("p4", 2), lower_only, upper_only});
  EXPECT_THAT(Plan(table), ElementsAre("t/a: p1 p4 p6", "t/b: p1 p2 p3 p4", "t/c: p3 p4 p5", "u: p3 p4 p5"));
}

// Some writers cut the bounds of paths as those of any text (apache/iceberg 6694).
TEST(IcebergRules, AlsoPathBoundsThatWereCutAreBounds) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("s3://bucket/data/1.parquet", 1), Data("s3://other/data/1.parquet", 1)});
  table.AddDeletes({WithPaths(PositionDeletes("p", 2), "s3://bucket/data", "s3://bucket/datb")});
  EXPECT_THAT(Plan(table), ElementsAre("s3://bucket/data/1.parquet: p", "s3://other/data/1.parquet:"));
}

TEST(TableScan, ManifestsOfAnOldSnapshotWithoutAList) {
  TestTable table(kFields, kSpecs, 1, R"("manifests": ["m0", "m1"])");
  TestEntry inherits = Data("a", 0, {kA});
  inherits.sequence_number.reset();
  table.Add({.spec_id = 1, .entries = {inherits}, .format_version = 1});
  inherits.path = "b";
  inherits.partition.clear();
  table.Add({.spec_id = 0, .entries = {inherits}, .format_version = 1});
  table.files.erase("list");
  EXPECT_THAT(Plan(table), ElementsAre("a:", "b:"));
}

TEST(TableScan, MissingFilesAreNamed) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("a", 1)});
  table.AddDeletes({PositionDeletes("p", 1)});
  for (const std::string file : {"m0", "m1", "list"}) {
    TestTable broken(table);
    broken.files.erase(file);
    const auto status = PlanStatus(broken);
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kNotFound) << file;
    EXPECT_THAT(status.message(), HasSubstr("there is no file " + file));
    EXPECT_THAT(status.message(), HasSubstr("snapshot 7"));
  }
}

TEST(TableScan, CountsOfTheListThatSayNothingIsThereDoNotHideFiles) {
  TestTable table(kFields, kSpecs);
  table.Add({.entries = {Data("a", 1)}, .added = 0, .existing = 0});
  table.Add({.deletes = true, .entries = {PositionDeletes("p", 1)}, .added = 0, .existing = 0});
  EXPECT_THAT(Plan(table), ElementsAre("a: p"));
}

TEST(TableScan, AManifestWithFewerFilesThanItsListCountsIsCorrupt) {
  for (const bool deletes : {false, true}) {
    TestTable table(kFields, kSpecs);
    table.Add({.deletes = deletes, .entries = {deletes ? PositionDeletes("a", 1) : Data("a", 1)}, .added = 1, .existing = 1});
    const auto status = PlanStatus(table);
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData);
    EXPECT_THAT(status.message(), HasSubstr("manifest m0 holds 1 live files, its manifest list counts 2"));
  }
}

TEST(TableScan, FailsForGood) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("a", 1)});
  table.AddData({Data("b", 1)});
  table.AddData({Data("c", 1)});
  table.files["m1"] = table.files["m1"].substr(0, table.files["m1"].size() - 1);
  TestMemory memory;
  const auto scan = TableScan::Open(table.Options(&memory)).ValueOrDie();
  FileTask task;
  EXPECT_TRUE(scan->Next(&task).ValueOrDie());
  for (int i = 0; i < 2; ++i) {
    const auto status = scan->Next(&task).status();
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData);
    EXPECT_THAT(status.message(), HasSubstr("manifest m1"));
  }
}

TEST(TableScan, SeveralThreadsShareItsTasks) {
  TestTable table(kFields, kSpecs);
  std::set<std::string> expected;
  for (int m = 0; m < 20; ++m) {
    std::vector<TestEntry> entries;
    for (int i = 0; i < 50; ++i) entries.push_back(Data(fmt::format("d{}", 50 * m + i), 1));
    for (const TestEntry& entry : entries) expected.insert(entry.path + ": p");
    table.AddData(entries);
  }
  table.AddDeletes({PositionDeletes("p", 1)});
  TestMemory memory;
  const auto scan = TableScan::Open(table.Options(&memory)).ValueOrDie();
  std::vector<std::vector<std::string>> lines(4);
  std::vector<std::thread> threads;
  for (auto& mine : lines) {
    threads.emplace_back([&] {
      FileTask task;
      while (scan->Next(&task).ValueOrDie()) mine.push_back(Text(task));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> seen;
  size_t count = 0;
  for (const auto& mine : lines) {
    seen.insert(mine.begin(), mine.end());
    count += mine.size();
  }
  EXPECT_EQ(count, 1000);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(scan->counts().tasks, 1000);
  EXPECT_EQ(scan->counts().data_manifests, 20);
}

TEST(TableScan, ScansShareTheDeletesOfOneThatReadThem) {
  TestTable table(kFields, kSpecs);
  table.AddData({Data("a1", 1, {kA}), Data("b1", 1, {kB}), Data("b9", 9, {kB})}, 1);
  table.AddDeletes({PositionDeletes("pb", 2, {kB}), EqualityDeletes("ea", 2, {kA})}, 1);
  TestMemory memory;
  ScanOptions options = table.Options(&memory);
  options.deletes_of = TableScan::Open(options).ValueOrDie();
  table.files.erase("m1");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<std::string> lines;
      const auto tasks = PlanAll(options).ValueOrDie();
      for (const FileTask& task : tasks) lines.push_back(Text(task));
      EXPECT_THAT(lines, ElementsAre("a1: E", "b1: pb", "b9:"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto shared = TableScan::Open(options).ValueOrDie();
  EXPECT_EQ(shared->equality_groups().size(), 1);
  EXPECT_EQ(shared->counts().delete_manifests, 0);
  ScanOptions other = options;
  other.snapshot = nullptr;
  EXPECT_EQ(GetErrorKind(TableScan::Open(other).status()), ErrorKind::kInternal);
}

// --- all pairs ------------------------------------------------------------------------------------------------------------

struct Placed {
  int32_t spec_id;
  TestEntry entry;
};

/// The specification's rules, word by word, over every pair.
std::string Model(const Placed& data, const std::vector<Placed>& deletes) {
  const auto same_partition = [&](const Placed& other) {
    if (data.spec_id != other.spec_id) return false;
    for (size_t i = 0; i < data.entry.partition.size(); ++i) {
      if (!SameLiteral(data.entry.partition[i], other.entry.partition[i])) return false;
    }
    return true;
  };
  std::string vector, text = data.entry.path + ":";
  std::set<std::string> positions;
  bool equality = false;
  for (const Placed& other : deletes) {
    const TestEntry& entry = other.entry;
    if (entry.content == 2) {
      const bool in_scope = other.spec_id == 0 || other.spec_id == 3 || same_partition(other);
      equality |= in_scope && *data.entry.sequence_number < *entry.sequence_number;
      continue;
    }
    if (!same_partition(other) || *data.entry.sequence_number > *entry.sequence_number) continue;
    if (entry.referenced && *entry.referenced != data.entry.path) continue;
    if (!entry.lower.empty() && data.entry.path < entry.lower[0].second) continue;
    if (!entry.upper.empty() && data.entry.path > entry.upper[0].second) continue;
    if (entry.format == "PUFFIN") {
      vector = " V" + entry.path;
    } else {
      positions.insert(entry.path);
    }
  }
  text += vector;
  if (vector.empty()) {
    for (const std::string& path : positions) text += " " + path;
  }
  return text + (equality ? " E" : "");
}

TEST(DeleteIndex, MatchesAsAllPairsBySpecification) {
  std::mt19937 random(20261201);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 60; ++round) {
    TestTable table(kFields, kSpecs);
    const auto partition_of = [&](int32_t spec_id) -> std::vector<Literal> {
      if (spec_id == 0) return {};
      if (spec_id == 3 || below(4) == 0) return {Literal()};
      return {Literal(std::string(1, static_cast<char>('a' + below(3))))};
    };
    std::vector<Placed> data, deletes;
    for (int i = 0; i < 30; ++i) {
      const int32_t spec_id = below(4);
      data.push_back({spec_id, Data(fmt::format("t/{}/d{:02}", below(3), i), below(8), partition_of(spec_id))});
    }
    std::set<std::string> with_vector;
    for (int i = 0; i < 40; ++i) {
      Placed placed{below(4), {}};
      const std::string path = fmt::format("x{:02}", i);
      const int kind = below(5);
      if (kind == 0) {
        placed.entry = EqualityDeletes(path, below(8), partition_of(placed.spec_id), {1 + below(2)});
      } else if (kind == 1) {
        placed.entry = PositionDeletes(path, below(8), partition_of(placed.spec_id));
      } else if (kind == 2) {
        auto lower = data[static_cast<size_t>(below(30))].entry.path, upper = data[static_cast<size_t>(below(30))].entry.path;
        if (lower >= upper) continue;  // equal bounds are about one file
        placed.entry = WithPaths(PositionDeletes(path, below(8), partition_of(placed.spec_id)), lower, upper);
      } else {
        // About one file, so of its partition.
        const Placed& about = data[static_cast<size_t>(below(30))];
        placed.spec_id = about.spec_id;
        if (kind == 3) {
          placed.entry = WithPaths(PositionDeletes(path, below(8), about.entry.partition), about.entry.path, about.entry.path);
          if (below(2) == 0) placed.entry.referenced = about.entry.path;
        } else {
          if (!with_vector.insert(about.entry.path).second) continue;
          placed.entry = DeletionVector(path, below(8), about.entry.path, about.entry.partition);
        }
      }
      deletes.push_back(placed);
    }
    std::vector<std::string> expected;
    for (int32_t spec_id = 0; spec_id < 4; ++spec_id) {
      std::vector<TestEntry> entries;
      for (const Placed& placed : deletes) {
        if (placed.spec_id == spec_id) entries.push_back(placed.entry);
      }
      table.AddDeletes(entries, spec_id);
      entries.clear();
      for (const Placed& placed : data) {
        if (placed.spec_id != spec_id) continue;
        entries.push_back(placed.entry);
        expected.push_back(Model(placed, deletes));
      }
      table.AddData(entries, spec_id);
    }
    ASSERT_EQ(Plan(table), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace icebound::iceberg::test
