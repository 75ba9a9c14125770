// SPDX-License-Identifier: Apache-2.0
//
// Documents are written out by hand after the tables of the specification. tests/interop rewrites those of other writers.
#include "iceberg/spec/table_metadata.h"

#include <arrow/memory_pool.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "iceberg/spec/metadata_file.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountersWork = false;  // the sanitizers bring their own allocator
#else
constexpr bool kCountersWork = true;
#endif

namespace icebound::iceberg {
namespace {

using nlohmann::json;

const char kV1[] = R"({"format-version": 1, "table-uuid": "d20125c8-7284-442c-9aea-15fee620737c", "location": "s3://b/t",
  "last-updated-ms": 1602638573874, "last-column-id": 3,
  "schema": {"type": "struct", "fields": [{"id": 1, "name": "x", "required": true, "type": "long"},
                                          {"id": 2, "name": "y", "required": true, "type": "long", "doc": "comment"}]},
  "partition-spec": [{"name": "x", "transform": "identity", "source-id": 1, "field-id": 1000}],
  "properties": {}, "current-snapshot-id": -1, "snapshots": []})";

/// Everything version 3 has, and at every level a member "x" that no version has.
const char kV3[] = R"({"format-version": 3, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "s3://b/t",
  "last-sequence-number": 34, "last-updated-ms": 1602638573590, "last-column-id": 3, "next-row-id": 1375, "x": {"a": [1, 2]},
  "current-schema-id": 1, "schemas": [
    {"type": "struct", "schema-id": 0, "x": 1, "fields": [{"id": 1, "name": "x", "required": true, "type": "long"},
                                                           {"id": 3, "name": "old", "required": false, "type": "string"}]},
    {"type": "struct", "schema-id": 1, "identifier-field-ids": [1], "fields": [
       {"id": 1, "name": "x", "required": true, "type": "long", "initial-default": 1, "write-default": 2},
       {"id": 2, "name": "y", "required": false, "type": "timestamp_ns", "doc": "comment", "x": null}]}],
  "default-spec-id": 1, "last-partition-id": 1001, "partition-specs": [
    {"spec-id": 0, "fields": []},
    {"spec-id": 1, "x": 1, "fields": [{"name": "old", "transform": "identity", "source-id": 3, "field-id": 1000, "x": 1},
                                      {"name": "y_day", "transform": "day", "source-id": 2, "field-id": 1001}]}],
  "default-sort-order-id": 3, "sort-orders": [{"order-id": 3, "x": 1, "fields": [
    {"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first", "x": 1}]}],
  "properties": {"a": "1", "b": "two \"quoted\" \u00e9"},
  "current-snapshot-id": 3055729675574597004,
  "refs": {"main": {"snapshot-id": 3055729675574597004, "type": "branch", "x": 1},
           "t": {"snapshot-id": 3051729675574597004, "type": "tag", "max-ref-age-ms": 10000000},
           "b": {"snapshot-id": 3051729675574597004, "type": "branch", "min-snapshots-to-keep": 2, "max-snapshot-age-ms": 5}},
  "snapshots": [
    {"snapshot-id": 3051729675574597004, "timestamp-ms": 1515100955770, "sequence-number": 0,
     "summary": {"operation": "append"}, "manifest-list": "s3://a/b/1.avro"},
    {"snapshot-id": 3055729675574597004, "parent-snapshot-id": 3051729675574597004, "timestamp-ms": 1555100955770,
     "sequence-number": 1, "summary": {"operation": "append", "added-records": "7"}, "manifest-list": "s3://a/b/2.avro",
     "schema-id": 1, "first-row-id": 1000, "added-rows": 375, "key-id": "k1", "x": {"deep": 1.50}}],
  "snapshot-log": [{"snapshot-id": 3051729675574597004, "timestamp-ms": 1515100955770, "x": 1},
                   {"snapshot-id": 3055729675574597004, "timestamp-ms": 1555100955770}],
  "metadata-log": [{"metadata-file": "s3://b/t/metadata/00000-x.metadata.json", "timestamp-ms": 1515100955770, "x": 1}],
  "statistics": [{"snapshot-id": 3055729675574597004, "statistics-path": "s3://a/b/stats.puffin", "file-size-in-bytes": 413,
    "file-footer-size-in-bytes": 42, "key-metadata": "a2V5", "x": 1, "blob-metadata": [{"type": "ndv",
    "snapshot-id": 3055729675574597004, "sequence-number": 1, "fields": [1], "properties": {"ndv": "3"}, "x": 1}]}],
  "partition-statistics": [{"snapshot-id": 3055729675574597004, "statistics-path": "s3://a/b/p.parquet",
    "file-size-in-bytes": 43, "x": 1}],
  "encryption-keys": [{"key-id": "5f819b", "key-metadata": "aWNlYmVyZwo=", "x": 1}]})";

TableMetadata Parse(const std::string& text) {
  auto metadata = TableMetadata::Parse(text, "m.json");
  EXPECT_TRUE(metadata.ok()) << metadata.status().ToString();
  return metadata.ok() ? *metadata : TableMetadata();
}

/// The message of the failure when `change` was made to a good document; empty when it is read.
template <typename Change>
std::string Fault(const char* text, Change change) {
  json document = json::parse(text);
  change(document);
  return TableMetadata::Parse(document.dump(), "s3://b/t/metadata/v7.metadata.json").status().message();
}

TEST(TableMetadata, EverythingOfVersion3IsReadAndWrittenAgain) {
  const TableMetadata metadata = Parse(kV3);
  EXPECT_EQ(json::parse(metadata.ToJson()), json::parse(kV3));
  EXPECT_NE(metadata.ToJson().find("1.50"), std::string::npos);
  EXPECT_EQ(metadata.current_schema().schema_id(), 1);
  EXPECT_EQ(metadata.default_spec().fields.size(), 2);
  EXPECT_EQ(metadata.default_sort_order().order_id, 3);
  EXPECT_EQ(metadata.current_snapshot()->Operation().ValueOrDie(), "append");
  EXPECT_EQ(*FindValue(metadata.current_snapshot()->Summary().ValueOrDie(), "added-records"), "7");
  EXPECT_EQ(metadata.current_snapshot()->first_row_id, 1000);
  EXPECT_EQ(metadata.next_row_id, 1375);
  EXPECT_EQ(*metadata.FindProperty("b"), "two \"quoted\" \xc3\xa9");
  EXPECT_EQ(metadata.FindRef("t")->max_ref_age_ms, 10000000);
  EXPECT_FALSE(metadata.FindRef("t")->is_branch);
  EXPECT_EQ(metadata.statistics[0].blobs[0].field_ids, std::vector<int32_t>{1});
}

TEST(TableMetadata, Version1IsReadAndWrittenForOldReadersToo) {
  const TableMetadata metadata = Parse(kV1);
  EXPECT_EQ(metadata.current_snapshot_id, std::nullopt);
  EXPECT_EQ(metadata.current_schema().fields().size(), 2);
  EXPECT_EQ(metadata.default_spec().fields[0].name, "x");
  EXPECT_TRUE(metadata.default_sort_order().is_unsorted());
  EXPECT_EQ(metadata.last_partition_id, 1000);
  EXPECT_EQ(metadata.last_sequence_number, 0);
  const json written = json::parse(metadata.ToJson());
  EXPECT_EQ(written["schema"]["fields"], json::parse(kV1)["schema"]["fields"]);
  EXPECT_EQ(written["schemas"][0], written["schema"]);
  EXPECT_EQ(written["partition-spec"], json::parse(kV1)["partition-spec"]);
  EXPECT_EQ(written["partition-specs"][0]["fields"], written["partition-spec"]);
  EXPECT_EQ(written["current-snapshot-id"], -1);
  EXPECT_FALSE(written.contains("last-sequence-number"));
  EXPECT_FALSE(written.contains("next-row-id"));
  // What was written is read as the same.
  EXPECT_EQ(Parse(metadata.ToJson()).ToJson(), metadata.ToJson());
}

TEST(TableMetadata, ManifestsOfOldVersion1SnapshotsAreKept) {
  json document = json::parse(kV1);
  document["snapshots"] = json::parse(R"([{"snapshot-id": 1, "timestamp-ms": 5, "manifests": ["a.avro", "b.avro"]}])");
  document["current-snapshot-id"] = 1;
  const TableMetadata metadata = Parse(document.dump());
  EXPECT_EQ(metadata.current_snapshot()->manifests, (std::vector<std::string>{"a.avro", "b.avro"}));
  EXPECT_EQ(metadata.current_snapshot()->Operation().ValueOrDie(), "");
  EXPECT_EQ(metadata.FindRef("main")->snapshot_id, 1);
  EXPECT_EQ(json::parse(metadata.ToJson())["snapshots"], document["snapshots"]);
}

TEST(TableMetadata, ALaterFormatVersionIsRefusedWithTheFile) {
  const auto status = TableMetadata::Parse(R"({"format-version": 4})", "s3://b/t/metadata/v7.metadata.json").status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kUnsupported);
  EXPECT_EQ(status.message(),
            "table metadata s3://b/t/metadata/v7.metadata.json: table format version 4 is not supported: versions 1 to 3 are");
}

TEST(TableMetadata, FaultsNameTheFileAndThePlace) {
  const std::string file = "table metadata s3://b/t/metadata/v7.metadata.json: ";
  EXPECT_EQ(Fault(kV3, [](json&) {}), "");
  for (const char* name : {"format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms",
                           "last-column-id", "schemas", "current-schema-id", "partition-specs", "default-spec-id",
                           "last-partition-id", "sort-orders", "default-sort-order-id", "next-row-id"}) {
    EXPECT_EQ(Fault(kV3, [&](json& d) { d.erase(name); }), file + "'" + name + "' is missing");
  }
  EXPECT_EQ(Fault(kV3, [](json& d) { d["snapshots"][1].erase("timestamp-ms"); }),
            file + "'snapshots', entry 2: snapshot 3055729675574597004: 'timestamp-ms' is missing");
  EXPECT_EQ(Fault(kV3, [](json& d) { d["schemas"][1]["fields"][0]["type"] = "text"; }),
            file + "'schemas', entry 2: schema 1: column 'x': type 'text' is none of Iceberg's format versions 1 to 3");
  EXPECT_EQ(Fault(kV3, [](json& d) { d["current-schema-id"] = 9; }), file + "schema 9 is the current one but does not exist");
  EXPECT_EQ(Fault(kV3, [](json& d) { d["default-spec-id"] = 9; }), file + "partition spec 9 is the default but does not exist");
  EXPECT_EQ(Fault(kV3, [](json& d) { d["default-sort-order-id"] = 9; }), file + "sort order 9 is the default but does not exist");
  EXPECT_EQ(Fault(kV3, [](json& d) { d["current-snapshot-id"] = 9, d.erase("refs"); }),
            file + "snapshot 9 is the current one but does not exist");
  EXPECT_NE(Fault(kV3, [](json& d) { d["refs"]["main"]["snapshot-id"] = 3051729675574597004; }), "");
  EXPECT_EQ(Fault(kV3, [](json& d) { d["refs"]["t"]["type"] = "label"; }),
            file + "reference 't': 'type' is neither 'branch' nor 'tag': 'label'");
  EXPECT_EQ(Fault(kV1, [](json& d) { d.erase("schema"); }), file + "'schema' is missing");
  EXPECT_EQ(GetErrorKind(TableMetadata::Parse("{\"format-version\": 2,", "m").status()), ErrorKind::kCorruptData);
}

TEST(TableMetadata, EveryPrefixOfADocumentIsRefusedWithoutHarm) {
  const std::string text = kV3;
  for (size_t length = 0; length < text.size(); length += 7) {
    EXPECT_FALSE(TableMetadata::Parse(std::string_view(text).substr(0, length), "m").ok()) << length;
  }
}

TEST(TableMetadata, WhatIsReadOfDamagedDocumentsIsWrittenAndReadAgain) {
  std::mt19937 random(20240501);
  const std::string good = kV3;
  const std::string_view pieces[] = {"null", "-1", "{}", "[]", "\"\"", "1e9", "9223372036854775808", "\"\\u0000\"", "true", ","};
  int read = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = good;
    const size_t at = random() % text.size();
    const size_t length = random() % 24;
    if (i % 2 == 0) {
      text.replace(at, length, pieces[random() % std::size(pieces)]);
    } else {
      // One value in place of another: most of these are still JSON.
      const size_t colon = text.find(':', at);
      if (colon == std::string::npos) continue;
      const size_t end = text.find_first_of(",}]", colon);
      text.replace(colon + 1, end - colon - 1, pieces[random() % std::size(pieces)]);
    }
    const auto metadata = TableMetadata::Parse(text, "m");
    if (!metadata.ok()) {
      EXPECT_TRUE(GetErrorKind(metadata.status()).has_value()) << metadata.status().ToString();
      continue;
    }
    ++read;
    const std::string written = metadata->ToJson();
    const auto again = TableMetadata::Parse(written, "m");
    ASSERT_TRUE(again.ok()) << again.status().ToString() << text;
    EXPECT_EQ(again->ToJson(), written);
  }
  EXPECT_GT(read, 100);
}

TEST(TableMetadata, Rule7DroppedColumnsAreFoundInTheHistory) {
  const TableMetadata metadata = Parse(kV3);
  EXPECT_EQ(metadata.current_schema().FindField(3), nullptr);
  EXPECT_EQ(metadata.FindFieldInHistory(3)->name, "old");
  EXPECT_EQ(metadata.FindFieldInHistory(1)->initial_default, "1");
  EXPECT_EQ(metadata.FindFieldInHistory(4), nullptr);
  EXPECT_EQ(metadata.TupleType(metadata.default_spec())->ToString(),
            "struct<1000: old: optional string, 1001: y_day: optional date>");
}

TEST(TableMetadata, TimeTravelGoesByTheLog) {
  const TableMetadata metadata = Parse(kV3);
  EXPECT_EQ(metadata.SnapshotAsOf(1515100955770).ValueOrDie()->snapshot_id, 3051729675574597004);
  EXPECT_EQ(metadata.SnapshotAsOf(1555100955769).ValueOrDie()->snapshot_id, 3051729675574597004);
  EXPECT_EQ(metadata.SnapshotAsOf(1999999999999).ValueOrDie()->snapshot_id, 3055729675574597004);
  for (const int64_t far_ms : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min() / 1000 - 1}) {
    EXPECT_EQ(GetErrorKind(metadata.SnapshotAsOf(far_ms).status()), ErrorKind::kNotFound);
  }
  EXPECT_TRUE(metadata.SnapshotAsOf(std::numeric_limits<int64_t>::max()).ok());
  const auto before = metadata.SnapshotAsOf(1515100955769).status();
  EXPECT_EQ(GetErrorKind(before), ErrorKind::kNotFound);
  EXPECT_NE(before.message().find("2018-01-04T21:22:35.769+00:00"), std::string::npos) << before.message();
}

int64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

std::string Repeated(const std::string& member, int count, const std::function<json(int)>& make) {
  json document = json::parse(kV3);
  for (int i = 0; i < count; ++i) document[member].push_back(make(i));
  return document.dump();
}

TEST(TableMetadata, HeldBytesAreBoundedByTheText) {
  if (!kCountersWork) GTEST_SKIP() << "the allocator's counters do not work here";
  const auto snapshot = [](int i) {
    json summary{{"operation", "append"}};
    for (int entry = 0; entry < 15; ++entry) summary["total-things-number-" + std::to_string(entry)] = std::to_string(i * entry);
    return json{{"snapshot-id", i + 1},
                {"timestamp-ms", i},
                {"sequence-number", i},
                {"summary", summary},
                {"manifest-list", "s3://bucket/warehouse/db/table/metadata/snap-" + std::to_string(i) + ".avro"},
                {"schema-id", 1}};
  };
  const auto bare_snapshot = [](int i) {
    return json{{"snapshot-id", i + 1}, {"timestamp-ms", i}, {"sequence-number", i}, {"manifest-list", "m"}};
  };
  const auto log = [](int i) { return json{{"snapshot-id", i}, {"timestamp-ms", i}}; };
  const auto wide_schema = [](int i) {
    json schema{{"type", "struct"}, {"schema-id", i + 2}, {"fields", json::array()}};
    for (int id = 1; id <= 1000; ++id) {
      schema["fields"].push_back({{"id", id}, {"name", "c" + std::to_string(id)}, {"required", false}, {"type", "int"}});
    }
    return schema;
  };
  const auto nested_schema = [](int i) {
    json schema{{"type", "struct"}, {"schema-id", i + 2}, {"fields", json::array()}};
    for (int id = 1; id <= 1000; id += 2) {
      schema["fields"].push_back(
          {{"id", id},
           {"name", ""},
           {"required", true},
           {"type", {{"type", "list"}, {"element-id", id + 1}, {"element-required", true}, {"element", "int"}}}});
    }
    return schema;
  };
  const auto spec = [](int i) { return json{{"spec-id", i + 2}, {"fields", json::array()}}; };
  json with_properties = json::parse(kV3);
  for (int i = 0; i < 10000; ++i) with_properties["properties"]["p" + std::to_string(i)] = "";
  json with_refs = json::parse(kV3);
  for (int i = 0; i < 5000; ++i) {
    with_refs["refs"]["r" + std::to_string(i)] = {{"snapshot-id", 3051729675574597004}, {"type", "tag"}};
  }
  const std::string usual = Repeated("snapshots", 3000, snapshot);
  EXPECT_LE(TableMetadata::HeldBytesMax(usual), 2 * static_cast<int64_t>(usual.size()));  // a bound that says something
  for (const std::string& text : {usual, with_properties.dump(), with_refs.dump(), Repeated("snapshots", 3000, bare_snapshot),
                                  Repeated("snapshot-log", 10000, log), Repeated("schemas", 5, wide_schema),
                                  Repeated("schemas", 5, nested_schema), Repeated("partition-specs", 5000, spec)}) {
    const int64_t before = HeapBytes();
    const auto metadata = TableMetadata::Parse(text, "m").ValueOrDie();
    const int64_t held = HeapBytes() - before;
    const int64_t bound = TableMetadata::HeldBytesMax(text);
    EXPECT_LE(held, bound) << text.size();
    EXPECT_LE(bound, 20 * static_cast<int64_t>(text.size()));
  }
}

TEST(MetadataFile, Rule20NamesOfCompressedFilesInBothForms) {
  const auto parse = [](const char* path) { return ParseMetadataFileName(path); };
  EXPECT_EQ(parse("s3://b/t/metadata/v3.metadata.json")->version, 3);
  EXPECT_TRUE(parse("v3.metadata.json")->has_leading_v);
  EXPECT_EQ(parse("v3.gz.metadata.json")->codec, MetadataCodec::kGzip);
  EXPECT_EQ(parse("v3.metadata.json.gz")->codec, MetadataCodec::kGzip);
  EXPECT_EQ(parse("00012-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json")->version, 12);
  EXPECT_EQ(parse("00012-9c12d441.gz.metadata.json")->codec, MetadataCodec::kGzip);
  for (const char* other :
       {"v3.json", "vx.metadata.json", "v3x.metadata.json", "00012.metadata.json", "snap-1.avro", "", "v3.metadata.json.zst"}) {
    EXPECT_EQ(parse(other), std::nullopt) << other;
  }
  EXPECT_EQ(FileSystemMetadataName(3, MetadataCodec::kGzip), "v3.gz.metadata.json");
  EXPECT_EQ(CatalogMetadataName(3, "u-u", MetadataCodec::kNone), "00003-u-u.metadata.json");
  EXPECT_EQ(MetadataCodecByName("GZIP").ValueOrDie(), MetadataCodec::kGzip);
  EXPECT_FALSE(MetadataCodecByName("zstd").ok());
}

std::string_view View(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

TEST(MetadataFile, Rule20CompressionIsReadOffTheBytesNotTheName) {
  arrow::MemoryPool* pool = arrow::default_memory_pool();
  std::string text = kV3;
  for (int i = 0; i < 8; ++i) text += std::string(50'000, static_cast<char>(' '));  // larger than the first guess
  const auto zipped = MetadataFileBytes(text, MetadataCodec::kGzip, pool).ValueOrDie();
  EXPECT_LT(zipped->size(), 10'000);
  EXPECT_EQ(View(*MetadataText(zipped, "v3.metadata.json", pool).ValueOrDie()), text);
  const auto plain = MetadataFileBytes(text, MetadataCodec::kNone, pool).ValueOrDie();
  EXPECT_EQ(View(*MetadataText(plain, "v3.gz.metadata.json", pool).ValueOrDie()), text);
  // Two members that follow each other are one text.
  const auto twice = arrow::Buffer::FromString(zipped->ToString() + zipped->ToString());
  EXPECT_EQ(View(*MetadataText(twice, "m", pool).ValueOrDie()), text + text);
}

TEST(MetadataFile, DamagedAndBoundlessStreamsAreRefused) {
  arrow::MemoryPool* pool = arrow::default_memory_pool();
  const std::string text(1 << 20, 'x');
  const auto zipped = MetadataFileBytes(text, MetadataCodec::kGzip, pool).ValueOrDie();
  for (int64_t length = 2; length < zipped->size(); length += 13) {
    const auto cut = MetadataText(arrow::SliceBuffer(zipped, 0, length), "cut.json", pool);
    EXPECT_EQ(GetErrorKind(cut.status()), ErrorKind::kCorruptData) << length;
    EXPECT_NE(cut.status().message().find("cut.json"), std::string::npos);
  }
  EXPECT_EQ(GetErrorKind(MetadataText(zipped, "bomb", pool, 100'000).status()), ErrorKind::kCorruptData);
}

}  // namespace
}  // namespace icebound::iceberg
