// SPDX-License-Identifier: Apache-2.0
//
// Manifests put together byte by byte after the specification, without our own writer. tests/interop reads those of other
// writers.
#include "iceberg/manifest/manifest_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "iceberg/avro/avro_bytes_test.h"

namespace icebound::iceberg {
namespace {

using avro::test::Block;
using avro::test::Bytes;
using avro::test::FileOf;
using avro::test::Header;
using avro::test::TestMemory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// A table of format version 3 with specs 0 (none), 1 (identity of p, day of ts) and 2 (identity of a column that is gone).
TableMetadata TestTable() {
  return TableMetadata::Parse(R"json({"format-version": 3, "table-uuid": "u", "location": "s3://b/t", "last-sequence-number": 9,
    "last-updated-ms": 1, "last-column-id": 5, "next-row-id": 0, "current-schema-id": 0, "schemas": [
      {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "p", "required": false, "type": "long"},
         {"id": 2, "name": "ts", "required": false, "type": "timestamp"},
         {"id": 3, "name": "n", "required": false, "type": "decimal(9, 2)"}]
}],
    "default-spec-id": 1, "last-partition-id": 1002, "partition-specs": [{"spec-id": 0, "fields": []},
      {"spec-id": 1, "fields": [{"name": "p", "transform": "identity", "source-id": 1, "field-id": 1000},
                                {"name": "ts_day", "transform": "day", "source-id": 2, "field-id": 1001}]},
      {"spec-id": 2, "fields": [{"name": "gone", "transform": "identity", "source-id": 5, "field-id": 1002},
                                {"name": "n", "transform": "identity", "source-id": 3, "field-id": 1003}]}],
    "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}]
})json",
                              "m")
      .ValueOrDie();
}

constexpr char kNoPartition[] = "";
constexpr char kIntAndDay[] = R"({"name": "p", "type": ["null", "int"], "field-id": 1000},
    {"name": "ts_day", "type": ["null", {"type": "int", "logicalType": "date"}], "field-id": 1001})";

std::string MapOf(const char* key, const char* value, int key_id) {
  return fmt::format(
      R"(["null", {{"type": "array", "logicalType": "map", "items": {{"type": "record", "name": "k{0}_v{1}", "fields":
      [{{"name": "key", "type": "{2}", "field-id": {0}}}, {{"name": "value", "type": "{3}", "field-id": {1}}}]}}}}])",
      key_id, key_id + 1, key, value);
}

/// The schema of version 2 and 3 manifests; `partition` is what stands in the partition record.
std::string ManifestSchema(const std::string& partition) {
  const auto optional = [](const char* name, const std::string& type, int id) {
    return fmt::format(R"({{"name": "{}", "type": {}, "default": null, "field-id": {}}})", name, type, id);
  };
  const std::string optional_long = R"(["null", "long"])";
  return R"({"type": "record", "name": "manifest_entry", "fields": [{"name": "status", "type": "int", "field-id": 0},)" +
         optional("snapshot_id", optional_long, 1) + "," + optional("sequence_number", optional_long, 3) + "," +
         optional("file_sequence_number", optional_long, 4) +
         R"(,{"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
           {"name": "content", "type": "int", "field-id": 134}, {"name": "file_path", "type": "string", "field-id": 100},
           {"name": "file_format", "type": "string", "field-id": 101},
           {"name": "partition", "field-id": 102, "type": {"type": "record", "name": "r102", "fields": [)" +
         partition + R"(]}}, {"name": "record_count", "type": "long", "field-id": 103},
           {"name": "file_size_in_bytes", "type": "long", "field-id": 104},)" +
         optional("value_counts", MapOf("int", "long", 119), 109) + "," +
         optional("lower_bounds", MapOf("int", "bytes", 126), 125) + "," +
         optional("split_offsets", R"(["null", {"type": "array", "items": "long", "element-id": 133}])", 132) + "," +
         optional("equality_ids", R"(["null", {"type": "array", "items": "int", "element-id": 136}])", 135) + "," +
         optional("first_row_id", optional_long, 142) + "," + optional("referenced_data_file", R"(["null", "string"])", 143) +
         "," + optional("content_offset", optional_long, 144) + "," + optional("content_size_in_bytes", optional_long, 145) +
         "]}}]}";
}

Bytes& OptionalLong(Bytes& bytes, const std::optional<int64_t>& value) {
  return value ? bytes.Long(1).Long(*value) : bytes.Long(0);
}

struct TestEntry {
  int status = 1;
  std::optional<int64_t> snapshot_id, sequence_number, file_sequence_number;
  int content = 0;
  std::string path = "s3://b/t/a.parquet";
  std::string format = "PARQUET";
  std::string partition;
  int64_t records = 10;
  std::string metrics = std::string("\0\0", 2);  // value counts and lower bounds: both null
  std::vector<int> equality_ids;
  std::optional<int64_t> first_row_id;
  std::optional<std::string> referenced;
  std::optional<int64_t> content_offset;

  std::string Encode() const {
    Bytes bytes;
    bytes.Long(status);
    OptionalLong(bytes, snapshot_id);
    OptionalLong(bytes, sequence_number);
    OptionalLong(bytes, file_sequence_number);
    bytes.Long(content).Text(path).Text(format).Raw(partition).Long(records).Long(1000).Raw(metrics);
    bytes.Long(1).Long(2).Long(4).Long(5000).Long(0);  // split offsets 4 and 5000
    if (equality_ids.empty()) {
      bytes.Long(0);
    } else {
      bytes.Long(1).Long(static_cast<int64_t>(equality_ids.size()));
      for (const int id : equality_ids) bytes.Long(id);
      bytes.Long(0);
    }
    OptionalLong(bytes, first_row_id);
    referenced ? bytes.Long(1).Text(*referenced) : bytes.Long(0);
    OptionalLong(bytes, content_offset);
    OptionalLong(bytes, content_offset ? std::optional<int64_t>(77) : std::nullopt);
    return bytes.text();
  }
};

ManifestFile ListEntry(int32_t spec_id = 0) {
  ManifestFile manifest;
  manifest.path = "s3://b/t/metadata/m0.avro";
  manifest.spec_id = spec_id;
  manifest.sequence_number = 7;
  manifest.added_snapshot_id = 70;
  return manifest;
}

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

std::string ManifestText(const std::vector<TestEntry>& entries, const std::string& partition = kNoPartition,
                         HeaderFields header = {{"format-version", "2"}, {"content", "data"}}) {
  std::string text = Header(ManifestSchema(partition), "null", header);
  for (const TestEntry& entry : entries) text += Block(1, entry.Encode());
  return text;
}

struct Outcome {
  std::vector<ManifestEntry> entries;
  arrow::Status status;
};

Outcome ReadAll(const std::string& text, const ManifestFile& manifest, bool live_only = false,
                std::optional<std::vector<int32_t>> metric_columns = std::nullopt) {
  static const TableMetadata table = TestTable();
  TestMemory memory;
  ManifestReadOptions options;
  options.consumer = memory.consumer.get();
  options.live_only = live_only;
  options.metric_columns = std::move(metric_columns);
  Outcome outcome;
  auto reader = ManifestReader::Open(FileOf(text), manifest, table, options);
  outcome.status = reader.status();
  ManifestEntry entry;
  while (outcome.status.ok()) {
    const auto more = (*reader)->Next(&entry);
    outcome.status = more.status();
    if (!more.ok() || !*more) break;
    outcome.entries.push_back(entry);
  }
  return outcome;
}

TEST(ManifestReader, EveryFieldIsReadById) {
  TestEntry entry;
  entry.snapshot_id = 5;
  entry.sequence_number = 3;
  entry.file_sequence_number = 4;
  entry.content = 2;
  entry.equality_ids = {1, 3};
  // value_counts {1: 10, 2: 9}, lower_bounds {2: "ab"}
  entry.metrics =
      Bytes().Long(1).Long(2).Long(1).Long(10).Long(2).Long(9).Long(0).Long(1).Long(1).Long(2).Text("ab").Long(0).text();
  ManifestFile manifest = ListEntry();
  manifest.content = ManifestContent::kDeletes;
  const auto read = ReadAll(ManifestText({entry}, kNoPartition, {{"format-version", "2"}, {"content", "deletes"}}), manifest);
  ASSERT_TRUE(read.status.ok()) << read.status.ToString();
  ASSERT_EQ(read.entries.size(), 1);
  const DataFile& file = read.entries[0].file;
  EXPECT_EQ(read.entries[0].snapshot_id, 5);
  EXPECT_EQ(read.entries[0].sequence_number, 3);
  EXPECT_EQ(read.entries[0].file_sequence_number, 4);
  EXPECT_EQ(file.content, FileContent::kEqualityDeletes);
  EXPECT_EQ(file.file_path, "s3://b/t/a.parquet");
  EXPECT_EQ(file.file_format, "PARQUET");
  EXPECT_EQ(file.record_count, 10);
  EXPECT_EQ(file.file_size_bytes, 1000);
  EXPECT_THAT(file.value_counts, ElementsAre(Pair(1, 10), Pair(2, 9)));
  EXPECT_EQ(*FindColumn(file.value_counts, 2), 9);
  EXPECT_EQ(FindColumn(file.value_counts, 3), nullptr);
  EXPECT_EQ(*FindColumn(file.lower_bounds, 2), "ab");
  EXPECT_THAT(file.split_offsets, ElementsAre(4, 5000));
  EXPECT_THAT(file.equality_ids, ElementsAre(1, 3));
  EXPECT_TRUE(file.partition.empty());
}

TEST(ManifestReader, MetricsOfColumnsNobodyWantsAreNotKept) {
  TestEntry entry;
  entry.metrics =
      Bytes().Long(1).Long(2).Long(1).Long(10).Long(2).Long(9).Long(0).Long(1).Long(1).Long(2).Text("ab").Long(0).text();
  const auto read = ReadAll(ManifestText({entry}), ListEntry(), true, std::vector<int32_t>{1});
  ASSERT_EQ(read.entries.size(), 1);
  EXPECT_THAT(read.entries[0].file.value_counts, ElementsAre(Pair(1, 10)));
  EXPECT_TRUE(read.entries[0].file.lower_bounds.empty());
}

TEST(ManifestReader, Rule1SequenceNumbersAreInheritedByAddedEntriesOnly) {
  TestEntry added;
  TestEntry existing;
  existing.status = 0;
  existing.snapshot_id = 60;
  existing.sequence_number = 2;
  existing.file_sequence_number = 3;
  TestEntry deleted = existing;
  deleted.status = 2;
  const auto read = ReadAll(ManifestText({added, existing, deleted}), ListEntry());
  ASSERT_EQ(read.entries.size(), 3) << read.status.ToString();
  EXPECT_EQ(read.entries[0].sequence_number, 7);
  EXPECT_EQ(read.entries[0].file_sequence_number, 7);
  EXPECT_EQ(read.entries[0].snapshot_id, 70);
  EXPECT_EQ(read.entries[1].sequence_number, 2);
  EXPECT_EQ(read.entries[1].file_sequence_number, 3);
  EXPECT_EQ(read.entries[1].snapshot_id, 60);
  EXPECT_EQ(read.entries[2].sequence_number, 2);
  EXPECT_EQ(ReadAll(ManifestText({added, existing, deleted}), ListEntry(), /*live_only=*/true).entries.size(), 2);
}

TEST(ManifestReader, Rule1AnExistingEntryWithoutItsNumbersIsCorrupt) {
  TestEntry existing;
  existing.status = 0;
  existing.sequence_number = 2;
  const auto read = ReadAll(ManifestText({existing}), ListEntry());
  EXPECT_EQ(GetErrorKind(read.status), ErrorKind::kCorruptData);
  EXPECT_THAT(read.status.message(), HasSubstr("s3://b/t/metadata/m0.avro"));
  EXPECT_THAT(read.status.message(), HasSubstr("file s3://b/t/a.parquet is EXISTING without its own sequence numbers"));
  // The list gives it the number 0: then it is older than any number.
  ManifestFile old = ListEntry();
  old.sequence_number = 0;
  existing.sequence_number.reset();
  const auto of_upgraded = ReadAll(ManifestText({existing}), old);
  ASSERT_EQ(of_upgraded.entries.size(), 1) << of_upgraded.status.ToString();
  EXPECT_EQ(of_upgraded.entries[0].sequence_number, 0);
}

TEST(ManifestReader, Rule1ManifestsOfVersion1AreOfNumberZero) {
  TestEntry existing;
  existing.status = 0;
  TestEntry added;
  // Even where a careless list gives a number: a manifest of version 1 has none to inherit.
  const auto read = ReadAll(ManifestText({existing, added}, kNoPartition, {{"schema", "{}"}}), ListEntry());
  ASSERT_EQ(read.entries.size(), 2) << read.status.ToString();
  for (const ManifestEntry& entry : read.entries) {
    EXPECT_EQ(entry.sequence_number, 0);
    EXPECT_EQ(entry.file_sequence_number, 0);
  }
}

TEST(ManifestReader, Rule2RewrittenDataKeepsItsNumberAndItsFileIsNew) {
  TestEntry rewritten;  // added by a compaction that planned at sequence number 4
  rewritten.sequence_number = 4;
  const auto read = ReadAll(ManifestText({rewritten}), ListEntry());
  ASSERT_EQ(read.entries.size(), 1);
  EXPECT_EQ(read.entries[0].sequence_number, 4);
  EXPECT_EQ(read.entries[0].file_sequence_number, 7);
}

TEST(ManifestReader, Rule18RowIdsAreGivenInOrderToEntriesWithoutOne) {
  // The example of the specification, with a deleted entry that takes no part.
  TestEntry data1;
  data1.status = 0;
  data1.sequence_number = data1.file_sequence_number = 2;
  data1.records = 25;
  data1.first_row_id = 800;
  TestEntry deleted = data1;
  deleted.status = 2;
  deleted.first_row_id.reset();
  deleted.records = 1000;
  TestEntry data2;
  data2.records = 50;
  TestEntry upgraded = data1;  // existing before the table had row ids
  upgraded.first_row_id.reset();
  ManifestFile manifest = ListEntry();
  manifest.first_row_id = 1000;
  const auto row_ids = [](const Outcome& outcome) {
    std::vector<std::optional<int64_t>> ids;
    for (const ManifestEntry& entry : outcome.entries) ids.push_back(entry.file.first_row_id);
    return ids;
  };
  const std::string text = ManifestText({data1, data2, deleted, data2, upgraded, data2});
  EXPECT_THAT(row_ids(ReadAll(text, manifest)), ElementsAre(800, 1000, std::nullopt, 1050, 1100, 1125));
  // The same when deleted entries are not asked for.
  EXPECT_THAT(row_ids(ReadAll(text, manifest, /*live_only=*/true)), ElementsAre(800, 1000, 1050, 1100, 1125));
  // A snapshot from before the upgrade has no row ids at all.
  manifest.first_row_id.reset();
  EXPECT_THAT(row_ids(ReadAll(ManifestText({data1, data2}), manifest)), ElementsAre(std::nullopt, std::nullopt));
}

TEST(ManifestReader, Rule18DeleteFilesHaveNoRowIds) {
  TestEntry deletes;
  deletes.content = 1;
  ManifestFile manifest = ListEntry();
  manifest.content = ManifestContent::kDeletes;
  manifest.first_row_id = 5;
  const auto read = ReadAll(ManifestText({deletes}, kNoPartition, {{"format-version", "3"}, {"content", "deletes"}}), manifest);
  ASSERT_EQ(read.entries.size(), 1) << read.status.ToString();
  EXPECT_EQ(read.entries[0].file.first_row_id, std::nullopt);
}

TEST(ManifestReader, PartitionsComeInTheOrderOfTheSpecAndWidened) {
  TestEntry entry;
  entry.partition = Bytes().Long(1).Long(-3).Long(1).Long(17486).text();
  const auto read = ReadAll(ManifestText({entry}, kIntAndDay), ListEntry(1));
  ASSERT_EQ(read.entries.size(), 1) << read.status.ToString();
  EXPECT_THAT(read.entries[0].file.partition, ElementsAre(Literal(int64_t{-3}), Literal(int32_t{17486})));
  EXPECT_EQ(read.entries[0].file.spec_id, 1);
  // Fields in another order, a day as a plain int, and one more that the spec does not have.
  const std::string turned = R"({"name": "x", "type": "string", "field-id": 1009},
      {"name": "ts_day", "type": ["null", "int"], "field-id": 1001}, {"name": "p", "type": ["null", "long"], "field-id": 1000})";
  entry.partition = Bytes().Text("x").Long(1).Long(-1).Long(0).text();
  const auto again = ReadAll(ManifestText({entry}, turned), ListEntry(1));
  ASSERT_EQ(again.entries.size(), 1) << again.status.ToString();
  EXPECT_THAT(again.entries[0].file.partition, ElementsAre(Literal(), Literal(int32_t{-1})));
}

TEST(ManifestReader, Rule14PartitionDecimalsAndColumnsThatAreGone) {
  const std::string fields = R"({"name": "gone", "type": ["null", "string"], "field-id": 1002},
      {"name": "n", "field-id": 1003, "type": ["null",
         {"type": "fixed", "name": "decimal_9_2", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}]})";
  TestEntry entry;
  entry.partition = Bytes().Long(1).Text("left").Long(1).Raw(std::string_view("\xff\xf0\xc9\xa7", 4)).text();
  const auto read = ReadAll(ManifestText({entry}, fields), ListEntry(2));
  ASSERT_EQ(read.entries.size(), 1) << read.status.ToString();
  EXPECT_THAT(read.entries[0].file.partition, ElementsAre(Literal("left"), Literal(arrow::Decimal128(-996953))));
}

TEST(ManifestReader, PartitionFieldsWithoutIdsGoByTheirNames) {
  const std::string fields = R"({"name": "ts_day", "type": ["null", "int"]}, {"name": "p", "type": ["null", "long"]})";
  TestEntry entry;
  entry.partition = Bytes().Long(1).Long(5).Long(1).Long(6).text();
  const auto read = ReadAll(ManifestText({entry}, fields), ListEntry(1));
  ASSERT_EQ(read.entries.size(), 1) << read.status.ToString();
  EXPECT_THAT(read.entries[0].file.partition, ElementsAre(Literal(int64_t{6}), Literal(int32_t{5})));
}

TEST(ManifestReader, WhatContradictsItselfIsCorruptAndSaysWhere) {
  const auto fault = [](const TestEntry& entry, const ManifestFile& manifest = ListEntry(),
                        HeaderFields header = {{"format-version", "2"}, {"content", "data"}}) {
    const auto read = ReadAll(ManifestText({entry}, kNoPartition, std::move(header)), manifest);
    EXPECT_THAT(read.status.message(), HasSubstr("s3://b/t/metadata/m0.avro"));
    return read.status.message();
  };
  const auto with = [](auto change) {
    TestEntry entry;
    change(entry);
    return entry;
  };
  EXPECT_THAT(fault(with([](TestEntry& e) { e.status = 3; })), HasSubstr("status 3"));
  EXPECT_THAT(fault(with([](TestEntry& e) { e.content = 3; })), HasSubstr("content 3"));
  EXPECT_THAT(fault(with([](TestEntry& e) { e.content = 1; })), HasSubstr("deletes in a manifest of data files"));
  EXPECT_THAT(fault(with([](TestEntry& e) { e.path = ""; })), HasSubstr("no file path"));
  EXPECT_THAT(fault(with([](TestEntry& e) { e.records = -1; })), HasSubstr("number of records"));
  EXPECT_THAT(fault(TestEntry(), ListEntry(42)), HasSubstr("partition spec 42, which table s3://b/t does not have"));
  EXPECT_THAT(fault(TestEntry(), ListEntry(), {{"partition-spec-id", "1"}}), HasSubstr("partition spec 1, the manifest list 0"));
  EXPECT_THAT(fault(TestEntry(), ListEntry(), {{"format-version", "4"}}), HasSubstr("format version 4 is not supported"));
  EXPECT_THAT(fault(TestEntry(), ListEntry(), {{"format-version", "two"}}), HasSubstr("'two'"));
  EXPECT_THAT(fault(TestEntry(), ListEntry(), {{"content", "deletes"}}), HasSubstr("deletes"));
}

TEST(ManifestReader, Rule19DeletionVectorsMustSayWhereTheyAre) {
  ManifestFile manifest = ListEntry();
  manifest.content = ManifestContent::kDeletes;
  const HeaderFields header = {{"format-version", "3"}, {"content", "deletes"}};
  TestEntry vector;
  vector.content = 1;
  vector.format = "puffin";
  vector.path = "s3://b/t/v.puffin";
  EXPECT_THAT(ReadAll(ManifestText({vector}, kNoPartition, header), manifest).status.message(),
              HasSubstr("a deletion vector without its place"));
  vector.referenced = "s3://b/t/a.parquet";
  vector.content_offset = 4;
  const auto read = ReadAll(ManifestText({vector}, kNoPartition, header), manifest);
  ASSERT_EQ(read.entries.size(), 1) << read.status.ToString();
  EXPECT_TRUE(read.entries[0].file.is_deletion_vector());
  EXPECT_EQ(read.entries[0].file.content_offset, 4);
  EXPECT_EQ(read.entries[0].file.content_size_bytes, 77);
  EXPECT_EQ(read.entries[0].file.referenced_data_file, "s3://b/t/a.parquet");
}

TEST(ManifestReader, AManifestThatNoListDescribesGoesByItsHeader) {
  ManifestFile manifest;
  manifest.path = "s3://b/t/metadata/m0.avro";
  manifest.added_snapshot_id = 3;
  TestEntry entry;
  entry.partition = Bytes().Long(0).Long(0).text();
  const auto read = ReadAll(ManifestText({entry}, kIntAndDay, {{"partition-spec-id", "1"}}), manifest);
  ASSERT_EQ(read.entries.size(), 1) << read.status.ToString();
  EXPECT_EQ(read.entries[0].file.spec_id, 1);
  EXPECT_EQ(read.entries[0].snapshot_id, 3);
}

TEST(ManifestReader, MemoryIsThatOfOneEntryHoweverManyThereAre) {
  // An entry whose thousand bounds of no bytes take much more here than in the file.
  TestEntry wide;
  Bytes metrics;
  metrics.Long(0).Long(1).Long(1000);
  for (int column = 0; column < 1000; ++column) metrics.Long(column).Long(0);
  wide.metrics = metrics.Long(0).text();
  const std::string block = Block(1, wide.Encode());
  const auto peak = [&](int entries, int64_t granted) -> arrow::Result<int64_t> {
    const TableMetadata table = TestTable();
    TestMemory memory(granted);
    std::string text = Header(ManifestSchema(kNoPartition), "null", {{"format-version", "2"}, {"content", "data"}});
    for (int i = 0; i < entries; ++i) text += block;
    ManifestReadOptions options;
    options.consumer = memory.consumer.get();
    ARROW_ASSIGN_OR_RAISE(auto reader, ManifestReader::Open(FileOf(text), ListEntry(), table, options));
    ManifestEntry entry;
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(const bool more, reader->Next(&entry));
      if (!more) return memory.consumer->peak_bytes();
      EXPECT_EQ(entry.file.lower_bounds.size(), 1000);
    }
  };
  const int64_t one = peak(1, int64_t{64} << 20).ValueOrDie();
  EXPECT_GE(one, 1000 * static_cast<int64_t>(sizeof(ColumnBytes::value_type)));
  EXPECT_LE(peak(2000, int64_t{64} << 20).ValueOrDie(), one + (256 << 10));
  EXPECT_EQ(GetErrorKind(peak(1, one / 4).status()), ErrorKind::kMemoryLimit);
}

constexpr char kListV1[] = R"({"type": "record", "name": "manifest_file", "fields": [
    {"name": "manifest_path", "type": "string", "field-id": 500}, {"name": "manifest_length", "type": "long", "field-id": 501},
    {"name": "partition_spec_id", "type": "int", "field-id": 502},
    {"name": "added_snapshot_id", "type": ["null", "long"], "default": null, "field-id": 503},
    {"name": "added_data_files_count", "type": ["null", "int"], "default": null, "field-id": 504}]})";

constexpr char kListV3[] = R"({"type": "record", "name": "manifest_file", "fields": [
    {"name": "manifest_path", "type": "string", "field-id": 500}, {"name": "manifest_length", "type": "long", "field-id": 501},
    {"name": "partition_spec_id", "type": "int", "field-id": 502}, {"name": "content", "type": "int", "field-id": 517},
    {"name": "sequence_number", "type": "long", "field-id": 515},
    {"name": "min_sequence_number", "type": "long", "field-id": 516},
    {"name": "added_snapshot_id", "type": "long", "field-id": 503}, {"name": "added_files_count", "type": "int", "field-id": 504},
    {"name": "existing_files_count", "type": "int", "field-id": 505},
    {"name": "deleted_files_count", "type": "int", "field-id": 506},
    {"name": "added_rows_count", "type": "long", "field-id": 512},
    {"name": "existing_rows_count", "type": "long", "field-id": 513},
    {"name": "deleted_rows_count", "type": "long", "field-id": 514},
    {"name": "partitions", "field-id": 507, "type": ["null", {"type": "array", "element-id": 508, "items":
       {"type": "record", "name": "r508", "fields": [{"name": "contains_null", "type": "boolean", "field-id": 509},
          {"name": "contains_nan", "type": ["null", "boolean"], "field-id": 518},
          {"name": "lower_bound", "type": ["null", "bytes"], "field-id": 510},
          {"name": "upper_bound", "type": ["null", "bytes"], "field-id": 511}]}}]},
    {"name": "key_metadata", "type": ["null", "bytes"], "field-id": 519},
    {"name": "first_row_id", "type": ["null", "long"], "field-id": 520}]})";

arrow::Result<std::vector<ManifestFile>> ReadList(const std::string& text) {
  TestMemory memory;
  ARROW_ASSIGN_OR_RAISE(auto reader, ManifestListReader::Open(FileOf(text), "s3://b/t/snap-1.avro", memory.consumer.get()));
  std::vector<ManifestFile> manifests;
  ManifestFile manifest;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const bool more, reader->Next(&manifest));
    if (!more) return manifests;
    manifests.push_back(manifest);
  }
}

TEST(ManifestListReader, Rule20TheVersionIsReadOffTheSchemaAndCountsOffTheirIds) {
  // No format version in the header, the old name of a count, and counts that are not there.
  const auto read = ReadList(Header(kListV1) + Block(1, Bytes().Text("m.avro").Long(500).Long(0).Long(0).Long(1).Long(3).text()));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const ManifestFile& manifest = read->at(0);
  EXPECT_EQ(manifest.path, "m.avro");
  EXPECT_EQ(manifest.length_bytes, 500);
  EXPECT_EQ(manifest.content, ManifestContent::kData);
  EXPECT_EQ(manifest.sequence_number, 0);
  EXPECT_EQ(manifest.min_sequence_number, 0);
  EXPECT_EQ(manifest.added_files, 3);
  EXPECT_EQ(manifest.existing_files, std::nullopt);
  EXPECT_TRUE(manifest.may_have_live_files());
}

TEST(ManifestListReader, EveryFieldOfVersion3) {
  Bytes record;
  record.Text("s3://b/t/m.avro")
      .Long(500)
      .Long(1)
      .Long(0)
      .Long(7)
      .Long(2)
      .Long(70)
      .Long(0)
      .Long(0)
      .Long(4)
      .Long(10)
      .Long(0)
      .Long(44);
  record.Long(1).Long(2);  // two summaries
  record.Raw(std::string_view("\1", 1)).Long(0).Long(1).Text("\x01").Long(1).Text("\x05");
  record.Raw(std::string_view("\0", 1)).Long(1).Raw(std::string_view("\1", 1)).Long(0).Long(0);
  record.Long(0).Long(1).Text("key").Long(1).Long(1000);
  const auto read = ReadList(Header(kListV3) + Block(1, record.text()));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const ManifestFile& manifest = read->at(0);
  EXPECT_EQ(manifest.spec_id, 1);
  EXPECT_EQ(manifest.sequence_number, 7);
  EXPECT_EQ(manifest.min_sequence_number, 2);
  EXPECT_EQ(manifest.added_snapshot_id, 70);
  EXPECT_EQ(manifest.deleted_files, 4);
  EXPECT_EQ(manifest.added_rows, 10);
  EXPECT_EQ(manifest.deleted_rows, 44);
  EXPECT_FALSE(manifest.may_have_live_files());
  ASSERT_EQ(manifest.partitions.size(), 2);
  EXPECT_TRUE(manifest.partitions[0].contains_null);
  EXPECT_EQ(manifest.partitions[0].contains_nan, std::nullopt);
  EXPECT_EQ(manifest.partitions[0].lower, "\x01");
  EXPECT_EQ(manifest.partitions[0].upper, "\x05");
  EXPECT_EQ(manifest.partitions[1].contains_nan, true);
  EXPECT_EQ(manifest.partitions[1].lower, std::nullopt);
  EXPECT_EQ(manifest.key_metadata, "key");
  EXPECT_EQ(manifest.first_row_id, 1000);
}

TEST(ManifestListReader, DamageIsCorruptDataWithThePath) {
  const auto read = ReadList(Header(kListV1) + Block(1, Bytes().Text("").Long(500).Long(0).Long(0).Long(0).text()));
  EXPECT_EQ(GetErrorKind(read.status()), ErrorKind::kCorruptData);
  EXPECT_THAT(read.status().message(), HasSubstr("manifest list s3://b/t/snap-1.avro"));
  EXPECT_THAT(ReadList("PAR1").status().message(), HasSubstr("manifest list s3://b/t/snap-1.avro"));
}

}  // namespace
}  // namespace icebound::iceberg
