// SPDX-License-Identifier: Apache-2.0
//
// Tables for tests of this folder: metadata as JSON, and manifests and lists put together byte by byte, held in memory.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "iceberg/avro/avro_bytes_test.h"
#include "iceberg/scan/table_scan.h"
#include "iceberg/spec/single_value.h"

namespace icebound::iceberg::test {

using avro::test::Block;
using avro::test::Bytes;
using avro::test::FileOf;
using avro::test::Header;
using avro::test::TestMemory;

/// An entry of a manifest. The sequence number stands there as it is given; none is inherited.
struct TestEntry {
  int content = 0;
  std::string path;
  std::vector<Literal> partition;
  std::optional<int64_t> sequence_number;
  int status = 1;
  std::string format = "PARQUET";
  int64_t records = 10;
  std::vector<int32_t> equality_ids;
  std::optional<std::string> referenced;
  std::optional<int64_t> content_offset;
  ColumnCounts value_counts, null_counts, nan_counts;
  ColumnBytes lower, upper;
};

struct TestManifest {
  int32_t spec_id = 0;
  bool deletes = false;
  int64_t sequence_number = 0;
  std::vector<TestEntry> entries;
  std::vector<FieldSummary> summaries;
  std::optional<int32_t> added, existing;  ///< counts of the list; none by default
  int format_version = 2;
};

inline TestEntry Data(std::string path, int64_t sequence_number, std::vector<Literal> partition = {}) {
  TestEntry entry;
  entry.path = std::move(path);
  entry.sequence_number = sequence_number;
  entry.partition = std::move(partition);
  return entry;
}
inline TestEntry PositionDeletes(std::string path, int64_t sequence_number, std::vector<Literal> partition = {}) {
  TestEntry entry = Data(std::move(path), sequence_number, std::move(partition));
  entry.content = 1;
  return entry;
}
inline TestEntry DeletionVector(std::string path, int64_t sequence_number, std::string about,
                                std::vector<Literal> partition = {}) {
  TestEntry entry = PositionDeletes(std::move(path), sequence_number, std::move(partition));
  entry.format = "PUFFIN";
  entry.referenced = std::move(about);
  entry.content_offset = 4;
  return entry;
}
inline TestEntry EqualityDeletes(std::string path, int64_t sequence_number, std::vector<Literal> partition = {},
                                 std::vector<int32_t> equality_ids = {1}) {
  TestEntry entry = Data(std::move(path), sequence_number, std::move(partition));
  entry.content = 2;
  entry.equality_ids = std::move(equality_ids);
  return entry;
}
/// Position deletes whose paths lie between two.
inline TestEntry WithPaths(TestEntry entry, std::string lower, std::string upper) {
  entry.lower.emplace_back(kDeleteFilePathId, std::move(lower));
  entry.upper.emplace_back(kDeleteFilePathId, std::move(upper));
  return entry;
}

/// The Avro type of a partition field.
inline std::string AvroTypeOf(const Type& type) {
  switch (type.id()) {
    case TypeId::kBoolean:
      return R"("boolean")";
    case TypeId::kInt:
    case TypeId::kDate:
      return R"("int")";
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      return R"("long")";
    case TypeId::kFloat:
      return R"("float")";
    case TypeId::kDouble:
      return R"("double")";
    case TypeId::kString:
    case TypeId::kUnknown:
      return R"("string")";
    case TypeId::kDecimal:
      return fmt::format(R"({{"type": "bytes", "logicalType": "decimal", "precision": {}, "scale": {}}})", type.precision(),
                         type.scale());
    default:
      return R"("bytes")";
  }
}

inline void PutValue(const Type& type, const Literal& value, Bytes* bytes) {
  if (IsNull(value)) {
    bytes->Long(0);
    return;
  }
  bytes->Long(1);
  if (const auto* flag = std::get_if<bool>(&value)) {
    bytes->Raw(std::string(1, *flag ? '\1' : '\0'));
  } else if (const auto* narrow = std::get_if<int32_t>(&value)) {
    bytes->Long(*narrow);
  } else if (const auto* wide = std::get_if<int64_t>(&value)) {
    bytes->Long(*wide);
  } else if (const auto* single = std::get_if<float>(&value)) {
    bytes->Float(*single);
  } else if (const auto* twice = std::get_if<double>(&value)) {
    bytes->Float(*twice);
  } else {
    bytes->Text(EncodeSingleValue(type, value).ValueOrDie());
  }
}

inline std::string Optional(const std::string& name, const std::string& type, int id) {
  return fmt::format(R"({{"name": "{}", "type": ["null", {}], "default": null, "field-id": {}}})", name, type, id);
}

inline std::string MapType(const std::string& value, int key_id) {
  return fmt::format(R"({{"type": "array", "logicalType": "map", "items": {{"type": "record", "name": "k{0}_v{1}", "fields": [
      {{"name": "key", "type": "int", "field-id": {0}}}, {{"name": "value", "type": "{2}", "field-id": {1}}}]}}}})",
                     key_id, key_id + 1, value);
}

inline std::string ManifestSchema(const Type& tuple_type) {
  std::string partition;
  for (const Field& field : tuple_type.fields()) {
    partition += (partition.empty() ? "" : ",") + Optional(fmt::format("p{}", field.id), AvroTypeOf(*field.type), field.id);
  }
  return R"({"type": "record", "name": "manifest_entry", "fields": [{"name": "status", "type": "int", "field-id": 0},)" +
         Optional("sequence_number", R"("long")", 3) + "," + Optional("file_sequence_number", R"("long")", 4) +
         R"(,{"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
           {"name": "content", "type": "int", "field-id": 134}, {"name": "file_path", "type": "string", "field-id": 100},
           {"name": "file_format", "type": "string", "field-id": 101},
           {"name": "partition", "field-id": 102, "type": {"type": "record", "name": "r102", "fields": [)" +
         partition + R"(]}}, {"name": "record_count", "type": "long", "field-id": 103},
           {"name": "file_size_in_bytes", "type": "long", "field-id": 104},)" +
         Optional("value_counts", MapType("long", 119), 109) + "," + Optional("null_value_counts", MapType("long", 121), 110) +
         "," + Optional("nan_value_counts", MapType("long", 138), 137) + "," +
         Optional("lower_bounds", MapType("bytes", 126), 125) + "," + Optional("upper_bounds", MapType("bytes", 129), 128) + "," +
         Optional("equality_ids", R"({"type": "array", "items": "int", "element-id": 136})", 135) + "," +
         Optional("referenced_data_file", R"("string")", 143) + "," + Optional("content_offset", R"("long")", 144) + "," +
         Optional("content_size_in_bytes", R"("long")", 145) + "]}}]}";
}

template <typename Pairs, typename Put>
void PutMap(const Pairs& pairs, Bytes* bytes, Put put) {
  if (pairs.empty()) {
    bytes->Long(0);
    return;
  }
  bytes->Long(1).Long(static_cast<int64_t>(pairs.size()));
  for (const auto& [column, value] : pairs) {
    bytes->Long(column);
    put(value);
  }
  bytes->Long(0);
}

inline std::string EncodeEntry(const TestEntry& entry, const Type& tuple_type) {
  Bytes bytes;
  const auto put_optional = [&](const std::optional<int64_t>& value) { value ? bytes.Long(1).Long(*value) : bytes.Long(0); };
  bytes.Long(entry.status);
  put_optional(entry.sequence_number);
  put_optional(entry.sequence_number);
  bytes.Long(entry.content).Text(entry.path).Text(entry.format);
  for (size_t i = 0; i < tuple_type.fields().size(); ++i) PutValue(*tuple_type.fields()[i].type, entry.partition[i], &bytes);
  bytes.Long(entry.records).Long(1000);
  for (const ColumnCounts* counts : {&entry.value_counts, &entry.null_counts, &entry.nan_counts}) {
    PutMap(*counts, &bytes, [&](int64_t count) { bytes.Long(count); });
  }
  for (const ColumnBytes* bounds : {&entry.lower, &entry.upper}) {
    PutMap(*bounds, &bytes, [&](const std::string& bound) { bytes.Text(bound); });
  }
  if (entry.equality_ids.empty()) {
    bytes.Long(0);
  } else {
    bytes.Long(1).Long(static_cast<int64_t>(entry.equality_ids.size()));
    for (const int32_t id : entry.equality_ids) bytes.Long(id);
    bytes.Long(0);
  }
  entry.referenced ? bytes.Long(1).Text(*entry.referenced) : bytes.Long(0);
  put_optional(entry.content_offset);
  put_optional(entry.content_offset ? std::optional<int64_t>(77) : std::nullopt);
  return bytes.text();
}

inline std::string EncodeManifest(const TestManifest& manifest, const TableMetadata& table) {
  const TypePtr tuple_type = table.TupleType(*table.FindSpec(manifest.spec_id));
  std::vector<std::pair<std::string, std::string>> header = {{"format-version", std::to_string(manifest.format_version)},
                                                             {"partition-spec-id", std::to_string(manifest.spec_id)},
                                                             {"content", manifest.deletes ? "deletes" : "data"}};
  std::string text = Header(ManifestSchema(*tuple_type), "null", header);
  for (const TestEntry& entry : manifest.entries) text += Block(1, EncodeEntry(entry, *tuple_type));
  return text;
}

inline std::string EncodeManifestList(const std::vector<std::pair<std::string, TestManifest>>& manifests) {
  std::string text = Header(
      R"({"type": "record", "name": "manifest_file", "fields": [
        {"name": "manifest_path", "type": "string", "field-id": 500},
        {"name": "manifest_length", "type": "long", "field-id": 501},
        {"name": "partition_spec_id", "type": "int", "field-id": 502}, {"name": "content", "type": "int", "field-id": 517},
        {"name": "sequence_number", "type": "long", "field-id": 515},)" +
      Optional("added_files_count", R"("int")", 504) + "," + Optional("existing_files_count", R"("int")", 505) + "," +
      Optional("partitions",
               R"({"type": "array", "element-id": 508, "items": {"type": "record", "name": "r508", "fields": [
          {"name": "contains_null", "type": "boolean", "field-id": 509},)" +
                   Optional("contains_nan", R"("boolean")", 518) + "," + Optional("lower", R"("bytes")", 510) + "," +
                   Optional("upper", R"("bytes")", 511) + "]}}",
               507) +
      "]}");
  for (const auto& [path, manifest] : manifests) {
    Bytes bytes;
    bytes.Text(path).Long(1).Long(manifest.spec_id).Long(manifest.deletes ? 1 : 0).Long(manifest.sequence_number);
    for (const auto& count : {manifest.added, manifest.existing}) count ? bytes.Long(1).Long(*count) : bytes.Long(0);
    if (manifest.summaries.empty()) {
      bytes.Long(0);
    } else {
      bytes.Long(1).Long(static_cast<int64_t>(manifest.summaries.size()));
      for (const FieldSummary& summary : manifest.summaries) {
        bytes.Raw(std::string(1, summary.contains_null ? '\1' : '\0'));
        summary.contains_nan ? bytes.Long(1).Raw(std::string(1, *summary.contains_nan ? '\1' : '\0')) : bytes.Long(0);
        for (const auto* bound : {&summary.lower, &summary.upper}) *bound ? bytes.Long(1).Text(**bound) : bytes.Long(0);
      }
      bytes.Long(0);
    }
    text += Block(1, bytes.text());
  }
  return text;
}

/// A table of one snapshot in memory.
class TestTable {
 public:
  /// Members of the metadata's JSON object: fields of the one schema, and the specs.
  TestTable(const std::string& schema_fields, const std::string& specs, int format_version = 2,
            const std::string& snapshot = R"("manifest-list": "list")") {
    const std::string json = fmt::format(
        R"({{"format-version": {}, "table-uuid": "u", "location": "s3://b/t", "last-sequence-number": 90, "last-updated-ms": 1,
          "last-column-id": 100, "next-row-id": 0, "current-schema-id": 0, "schemas": [{{"type": "struct", "schema-id": 0,
          "fields": [{}]}}], "default-spec-id": 0, "last-partition-id": 2000, "partition-specs": [{}], "default-sort-order-id": 0,
          "sort-orders": [{{"order-id": 0, "fields": []}}], "current-snapshot-id": 7, "snapshots": [{{"snapshot-id": 7,
          "sequence-number": 90, "timestamp-ms": 1, {}, "summary": {{"operation": "append"}}}}]}})",
        format_version, schema_fields, specs, snapshot);
    metadata = std::make_shared<const TableMetadata>(TableMetadata::Parse(json, "m").ValueOrDie());
  }

  void Add(TestManifest manifest) {
    manifests.emplace_back(fmt::format("m{}", manifests.size()), std::move(manifest));
    files[manifests.back().first] = EncodeManifest(manifests.back().second, *metadata);
    files["list"] = EncodeManifestList(manifests);
  }
  void AddData(std::vector<TestEntry> entries, int32_t spec_id = 0) { Add({.spec_id = spec_id, .entries = std::move(entries)}); }
  void AddDeletes(std::vector<TestEntry> entries, int32_t spec_id = 0) {
    Add({.spec_id = spec_id, .deletes = true, .entries = std::move(entries)});
  }

  FileOpener opener() const {
    return [this](const std::string& location) -> arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> {
      const auto found = files.find(location);
      if (found == files.end()) return MakeError(ErrorKind::kNotFound, "there is no file {}", location);
      return FileOf(found->second);
    };
  }

  ScanOptions Options(TestMemory* memory) const {
    ScanOptions options;
    options.table = metadata;
    options.snapshot = metadata->current_snapshot();
    options.open = opener();
    options.consumer = memory->consumer.get();
    return options;
  }

  std::shared_ptr<const TableMetadata> metadata;
  std::vector<std::pair<std::string, TestManifest>> manifests;
  std::map<std::string, std::string> files;
};

inline arrow::Result<std::vector<FileTask>> ReadTasks(TableScan* scan) {
  std::vector<FileTask> tasks;
  for (;;) {
    FileTask task;
    ARROW_ASSIGN_OR_RAISE(const bool more, scan->Next(&task));
    if (!more) return tasks;
    tasks.push_back(std::move(task));
  }
}

inline arrow::Result<std::vector<FileTask>> PlanAll(const ScanOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto scan, TableScan::Open(options));
  return ReadTasks(scan.get());
}

}  // namespace icebound::iceberg::test
