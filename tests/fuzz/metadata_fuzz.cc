// SPDX-License-Identifier: Apache-2.0
//
// Table metadata in JSON: what is accepted can be used, is written as what it was read from, and is held within the bound that
// was reserved for it.
#include <malloc.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "fuzz/fuzz_memory.h"
#include "iceberg/spec/table_metadata.h"

namespace {

using namespace icebound;           // NOLINT
using namespace icebound::iceberg;  // NOLINT

int64_t held_bytes = 0;
int64_t peak_bytes = 0;

void* Counted(size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) std::abort();
  held_bytes += static_cast<int64_t>(malloc_usable_size(block));
  peak_bytes = std::max(peak_bytes, held_bytes);
  return block;
}

void Freed(void* block) {
  if (block != nullptr) held_bytes -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}

/// For the message of an error, and what JSON's scanner holds beside the text.
constexpr int64_t kSlackBytes = 16 << 10;

void Use(const TableMetadata& metadata) {
  FUZZ_CHECK(metadata.FindSchema(metadata.current_schema_id) == &metadata.current_schema());
  FUZZ_CHECK(metadata.FindSortOrder(metadata.default_sort_order_id) != nullptr);
  FUZZ_CHECK(!metadata.current_snapshot_id || metadata.current_snapshot() != nullptr);
  for (const PartitionSpec& spec : metadata.partition_specs) {
    const TypePtr tuple = metadata.TupleType(spec);
    FUZZ_CHECK(tuple->fields().size() == spec.fields.size());
    IgnoreError(spec.CheckWritable(metadata.current_schema()));
  }
  for (const SortOrder& order : metadata.sort_orders) IgnoreError(order.CheckWritable(metadata.current_schema()));
  for (const auto& schema : metadata.schemas) IgnoreError(schema->CheckWritable(metadata.format_version));
  for (const Snapshot& snapshot : metadata.snapshots) {
    FUZZ_CHECK(snapshot.Summary().ok());
    metadata.SchemaOf(snapshot);
    IgnoreError(metadata.SnapshotAsOf(snapshot.timestamp_ms).status());
  }
}

}  // namespace

void* operator new(size_t size) { return Counted(size); }
void* operator new[](size_t size) { return Counted(size); }
void operator delete(void* block) noexcept { Freed(block); }
void operator delete[](void* block) noexcept { Freed(block); }
void operator delete(void* block, size_t) noexcept { Freed(block); }
void operator delete[](void* block, size_t) noexcept { Freed(block); }

std::vector<std::string> FuzzSeeds() {
  const std::string fields = R"json("fields":[{"id":1,"name":"x","required":true,"type":"long"},
    {"id":2,"name":"p","required":false,"type":{"type":"struct","fields":[{"id":3,"name":"q","required":false,
     "type":"decimal(9, 2)","doc":"d"},{"id":4,"name":"r","required":true,"type":"fixed[16]"}]}},
    {"id":5,"name":"l","required":false,"type":{"type":"list","element-id":6,"element":"string","element-required":false}},
    {"id":7,"name":"m","required":false,"type":{"type":"map","key-id":8,"key":"int","value-id":9,"value":"timestamptz",
     "value-required":true}},{"id":10,"name":"ts","required":false,"type":"timestamp"}])json";
  const std::string spec_fields = R"json([{"source-id":1,"field-id":1000,"name":"x_b","transform":"bucket[16]"},
    {"source-id":10,"field-id":1001,"name":"ts_d","transform":"day"}])json";
  const std::string v1 = R"json({"format-version":1,"table-uuid":"d20125c8-7284-442c-9aea-15fee620737c","location":"s3://b/t",
    "last-updated-ms":1602638573874,"last-column-id":10,"schema":{"type":"struct",)json" +
                         fields + R"json(},"partition-spec":)json" + spec_fields +
                         R"json(,"properties":{"a":"1"},"current-snapshot-id":-1,"snapshots":[{"snapshot-id":1,
    "timestamp-ms":1602638573822,"manifests":["a.avro","b.avro"]}]})json";
  const std::string v2 = R"json({"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"s3://b/t",
    "last-sequence-number":34,"last-updated-ms":1602638573590,"last-column-id":10,"current-schema-id":1,"schemas":[
    {"type":"struct","schema-id":0,"fields":[{"id":1,"name":"x","required":true,"type":"int"}]},
    {"type":"struct","schema-id":1,"identifier-field-ids":[1],)json" +
                         fields + R"json(}],"default-spec-id":1,"partition-specs":[
    {"spec-id":0,"fields":[]},{"spec-id":1,"fields":)json" +
                         spec_fields + R"json(}],"last-partition-id":1001,
    "default-sort-order-id":3,"sort-orders":[{"order-id":3,"fields":[{"transform":"truncate[4]","source-id":5,
    "direction":"asc","null-order":"nulls-first"},{"transform":"identity","source-id":1,"direction":"desc",
    "null-order":"nulls-last"}]}],"properties":{"write.x":"\u00e9\n"},"current-snapshot-id":2,"snapshots":[{"snapshot-id":1,
    "timestamp-ms":1515100955770,"sequence-number":0,"summary":{"operation":"append"},"manifest-list":"s3://a/1.avro"},
    {"snapshot-id":2,"parent-snapshot-id":1,"timestamp-ms":1555100955770,"sequence-number":1,"summary":{"operation":
    "overwrite","added-rows":"5"},"manifest-list":"s3://a/2.avro","schema-id":1,"extra":[1,{"a":null}]}],"snapshot-log":[
    {"snapshot-id":1,"timestamp-ms":1515100955770},{"snapshot-id":2,"timestamp-ms":1555100955770}],"metadata-log":[
    {"metadata-file":"s3://b/1.json","timestamp-ms":1515100}],"refs":{"main":{"snapshot-id":2,"type":"branch",
    "min-snapshots-to-keep":2,"max-snapshot-age-ms":5},"t":{"snapshot-id":1,"type":"tag","max-ref-age-ms":1}},"statistics":[
    {"snapshot-id":2,"statistics-path":"s3://a/2.puffin","file-size-in-bytes":413,"file-footer-size-in-bytes":42,
    "blob-metadata":[{"type":"ndv","snapshot-id":2,"sequence-number":1,"fields":[1],"properties":{"n":"1"}}]}],
    "partition-statistics":[{"snapshot-id":2,"statistics-path":"s3://a/p.parquet","file-size-in-bytes":43}],
    "more":{"b":[]}})json";
  const std::string v3 = R"json({"format-version":3,"table-uuid":"9c12d441","location":"/t","last-sequence-number":1,
    "last-updated-ms":1,"last-column-id":6,"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[
    {"id":1,"name":"x","required":true,"type":"timestamp_ns","initial-default":"2020-01-01T00:00:00.000000001",
     "write-default":"2021-01-01T00:00:00"},{"id":2,"name":"v","required":false,"type":"variant"},
    {"id":3,"name":"g","required":false,"type":"geography(srid:4326, karney)"},{"id":4,"name":"u","required":false,
     "type":"unknown"},{"id":5,"name":"b","required":true,"type":"binary","initial-default":"00ff"},{"id":6,"name":"s",
     "required":false,"type":{"type":"struct","fields":[]},"initial-default":{}}]}],"default-spec-id":0,"partition-specs":[
    {"spec-id":0,"fields":[{"source-ids":[1],"field-id":1000,"name":"h","transform":"hour"}]}],"last-partition-id":1000,
    "default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],"next-row-id":7,"current-snapshot-id":1,
    "snapshots":[{"snapshot-id":1,"timestamp-ms":1,"sequence-number":1,"first-row-id":0,"added-rows":7,"key-id":"k",
    "summary":{"operation":"append"},"manifest-list":"1.avro"}],"encryption-keys":[{"key-id":"k","encrypted-key-metadata":
    "a"}],"refs":{"main":{"snapshot-id":1,"type":"branch"}}})json";
  std::vector<std::string> seeds;
  for (const std::string& text : {v1, v2, v3}) {
    seeds.push_back(text);
    const auto metadata = TableMetadata::Parse(text, "seed");
    if (!metadata.ok()) std::fprintf(stderr, "%s\n", metadata.status().ToString().c_str());
    FUZZ_CHECK(metadata.ok());
    seeds.push_back(metadata->ToJson());
  }
  return seeds;
}

std::vector<std::string> FuzzPieces() {
  return {"null",
          "true",
          "0",
          "-1",
          "1e400",
          "0.5",
          "2147483647",
          "-2147483648",
          "9223372036854775807",
          "9223372036854775808",
          "99999999999999999999999",
          "\"\"",
          "\"x\"",
          "\"\\u0000\"",
          "\"\\ud800\"",
          "[]",
          "{}",
          "[[[[[[]]]]]]",
          "{\"a\":{}}",
          ",",
          ":",
          "\"",
          "\\",
          "[",
          "]",
          "{",
          "}",
          "\"struct\"",
          "\"list\"",
          "\"decimal(38, 38)\"",
          "\"decimal(0,-1)\"",
          "\"fixed[0]\"",
          "\"bucket[0]\"",
          "\"void\"",
          "\"truncate[2147483648]\"",
          "\"variant\"",
          "\"id\":1,",
          "\"type\":\"int\"",
          "{\"type\":\"list\",\"element-id\":1,\"element\":\"int\",\"element-required\":true}"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const int64_t bound_bytes = TableMetadata::HeldBytesMax(json);
  const int64_t before_bytes = held_bytes;
  peak_bytes = held_bytes;
  {
    const auto metadata = TableMetadata::Parse(json, "fuzz");
    FUZZ_CHECK(peak_bytes - before_bytes <= bound_bytes + kSlackBytes);
    if (!metadata.ok()) {
      fuzz::ExpectErrorOfInput(metadata.status());
      return 0;
    }
    Use(*metadata);
    const std::string written = metadata->ToJson();
    const auto again = TableMetadata::Parse(written, "again");
    if (!again.ok()) std::fprintf(stderr, "%s\n%s\n", again.status().ToString().c_str(), written.c_str());
    FUZZ_CHECK(again.ok());
    FUZZ_CHECK(again->ToJson() == written);
  }
  return 0;
}
