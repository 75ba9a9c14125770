// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/partition_spec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "iceberg/spec/json_value.h"
#include "iceberg/spec/sort_order.h"

namespace icebound::iceberg {
namespace {

using nlohmann::json;

std::shared_ptr<const Schema> TableSchema() {
  return Schema::Parse(R"json({"type": "struct", "schema-id": 0, "fields": [
           {"id": 1, "name": "id", "required": true, "type": "long"},
           {"id": 2, "name": "ts", "required": false, "type": "timestamp"},
           {"id": 3, "name": "name", "required": false, "type": "string"},
           {"id": 4, "name": "day", "required": false, "type": "date"},
           {"id": 5, "name": "tags", "required": false, "type":
              {"type": "list", "element-id": 6, "element": "string", "element-required": true}},
           {"id": 7, "name": "loc", "required": false, "type": {"type": "struct", "fields": [
              {"id": 8, "name": "country", "required": false, "type": "string"}]}},
           {"id": 9, "name": "price", "required": false, "type": "decimal(9,2)"},
           {"id": 10, "name": "bytes", "required": false, "type": "binary"}]})json")
      .ValueOrDie();
}

PartitionSpec SpecOf(const std::string& fields) { return PartitionSpec::ParseFields("[" + fields + "]", 3).ValueOrDie(); }

std::string FieldJson(int source_id, const std::string& name, const std::string& transform, int field_id = 1000) {
  return json{{"source-id", source_id}, {"field-id", field_id}, {"name", name}, {"transform", transform}}.dump();
}

TEST(PartitionSpec, JsonBothWaysKeepsWhatIsNotKnown) {
  const std::string text = R"({"spec-id": 5, "x": [1], "fields": [
      {"source-id": 4, "field-id": 1000, "name": "ts_day", "transform": "day", "y": {"z": 1}},
      {"source-id": 1, "field-id": 1001, "name": "id_bucket", "transform": "bucket[16]"},
      {"source-ids": [1, 2], "field-id": 1002, "name": "both", "transform": "zorder[2]"},
      {"source-id": 3, "field-id": 1003, "name": "gone", "transform": "void"}]})";
  const auto spec = PartitionSpec::Parse(text).ValueOrDie();
  std::string written;
  JsonWriter writer(&written);
  spec.Write(&writer);
  EXPECT_EQ(json::parse(written), json::parse(text));
  EXPECT_EQ(spec.highest_field_id(), 1003);
  EXPECT_FALSE(spec.is_writable());
  EXPECT_FALSE(spec.is_unpartitioned());
}

TEST(PartitionSpec, FieldIdsOfV1CountFromAThousand) {
  const auto spec = SpecOf(R"({"source-id": 1, "name": "a", "transform": "identity"},
                              {"source-id": 2, "name": "b", "transform": "day"})");
  EXPECT_EQ(spec.fields[0].field_id, 1000);
  EXPECT_EQ(spec.fields[1].field_id, 1001);
}

TEST(PartitionSpec, VoidFieldsPartitionNothing) {
  EXPECT_TRUE(SpecOf("").is_unpartitioned());
  EXPECT_TRUE(SpecOf(FieldJson(1, "a", "void")).is_unpartitioned());
  EXPECT_FALSE(SpecOf(FieldJson(1, "a", "void") + "," + FieldJson(1, "b", "identity", 1001)).is_unpartitioned());
}

TEST(PartitionSpec, TuplesHaveTheTypesOfTheirTransforms) {
  const auto spec = SpecOf(FieldJson(2, "h", "hour", 1000) + "," + FieldJson(2, "d", "day", 1001) + "," +
                           FieldJson(9, "p", "truncate[10]", 1002) + "," + FieldJson(3, "n", "bucket[4]", 1003) + "," +
                           FieldJson(99, "gone", "identity", 1004) + "," + FieldJson(3, "x", "later", 1005));
  EXPECT_EQ(spec.TupleType(*TableSchema())->ToString(),
            "struct<1000: h: optional int, 1001: d: optional date, 1002: p: optional decimal(9, 2), 1003: n: optional int, "
            "1004: gone: optional unknown, 1005: x: optional string>");
}

TEST(PartitionSpec, Rule20PathsEncodeNamesAndValuesAsAForm) {
  const auto schema = TableSchema();
  const auto path = [&](const std::string& fields, const std::vector<Literal>& tuple) {
    const PartitionSpec spec = SpecOf(fields);
    return spec.Path(*spec.TupleType(*schema), tuple);
  };
  const auto value = [](const char* word, const std::string& text) {
    return LiteralFromJson(*Type::Parse(word).ValueOrDie(), text).ValueOrDie();
  };
  EXPECT_EQ(path(FieldJson(3, "my#str%bucket", "identity"), {Literal("dev/app1/x")}), "my%23str%25bucket=dev%2Fapp1%2Fx");
  EXPECT_EQ(path(FieldJson(3, "name", "identity"), {Literal("11/12/13")}), "name=11%2F12%2F13");
  EXPECT_EQ(path(FieldJson(3, "a b", "identity"), {Literal("x y+*~\xc3\xa9")}), "a+b=x+y%2B*%7E%C3%A9");
  EXPECT_EQ(path(FieldJson(3, "name", "identity"), {Literal()}), "name=null");
  EXPECT_EQ(path(FieldJson(2, "y", "year") + "," + FieldJson(2, "m", "month") + "," + FieldJson(2, "d", "day") + "," +
                     FieldJson(2, "h", "hour"),
                 {Literal(int32_t{47}), Literal(int32_t{574}), Literal(int32_t{17486}), Literal(int32_t{-1})}),
            "y=2017/m=2017-11/d=2017-11-16/h=1969-12-31-23");
  EXPECT_EQ(path(FieldJson(2, "m", "month"), {Literal(int32_t{-1})}), "m=1969-12");
  EXPECT_EQ(path(FieldJson(4, "day", "identity"), {value("date", "\"2017-11-16\"")}), "day=2017-11-16");
  EXPECT_EQ(path(FieldJson(2, "ts", "identity"), {value("timestamp", "\"2017-11-16T22:31:08\"")}), "ts=2017-11-16T22%3A31%3A08");
  EXPECT_EQ(path(FieldJson(9, "price", "truncate[50]"), {value("decimal(9,2)", "\"10.50\"")}), "price=10.50");
  EXPECT_EQ(path(FieldJson(10, "bytes", "identity"), {value("binary", "\"00ff\"")}), "bytes=AP8%3D");
  EXPECT_EQ(path(FieldJson(1, "id_bucket", "bucket[16]"), {Literal(int32_t{7})}), "id_bucket=7");
  EXPECT_EQ(path("", {}), "");
}

TEST(PartitionSpec, SpecsAreEquivalentWhateverTheirIds) {
  const auto one = SpecOf(FieldJson(2, "d", "day", 1000));
  EXPECT_TRUE(one.IsEquivalent(SpecOf(FieldJson(2, "d", "day", 1007))));
  EXPECT_FALSE(one.IsEquivalent(SpecOf(FieldJson(2, "d2", "day"))));
  EXPECT_FALSE(one.IsEquivalent(SpecOf(FieldJson(2, "d", "hour"))));
  EXPECT_FALSE(one.IsEquivalent(SpecOf(FieldJson(4, "d", "day"))));
  EXPECT_FALSE(one.IsEquivalent(SpecOf("")));
}

TEST(PartitionSpec, WhatCannotPartitionIsRefused) {
  const auto schema = TableSchema();
  const auto refused = [&](const std::string& fields) { return SpecOf(fields).CheckWritable(*schema).message(); };
  EXPECT_EQ(refused(FieldJson(2, "ts_day", "day")), "");
  EXPECT_EQ(refused(FieldJson(8, "country", "identity")), "");
  EXPECT_EQ(refused(FieldJson(3, "name", "identity")), "");
  EXPECT_EQ(refused(FieldJson(42, "x", "day")), "partition field 'x' is of column id 42, which does not exist");
  EXPECT_NE(refused(FieldJson(3, "x", "day")), "");
  EXPECT_NE(refused(FieldJson(6, "x", "identity")), "");
  EXPECT_NE(refused(FieldJson(7, "x", "identity")), "");
  EXPECT_NE(refused(FieldJson(3, "x", "zorder")), "");
  EXPECT_NE(refused(FieldJson(2, "day", "day")), "");  // a column of this name is another thing
  EXPECT_NE(refused(FieldJson(3, "x", "identity") + "," + FieldJson(1, "x", "identity", 1001)), "");
}

TEST(PartitionSpec, Rule12PromotionsThatWouldMoveRowsAreRefused) {
  const auto allowed = [](const std::string& transform, const char* from, const char* to) {
    return SpecOf(FieldJson(4, "x", transform))
        .CheckPromotion(4, *Type::Parse(from).ValueOrDie(), *Type::Parse(to).ValueOrDie())
        .ok();
  };
  EXPECT_TRUE(allowed("bucket[4]", "int", "long"));
  EXPECT_TRUE(allowed("identity", "decimal(9,2)", "decimal(12,2)"));
  EXPECT_TRUE(allowed("day", "date", "timestamp"));
  EXPECT_FALSE(allowed("bucket[4]", "date", "timestamp"));
  EXPECT_FALSE(allowed("identity", "date", "timestamp_ns"));
  EXPECT_FALSE(allowed("later", "int", "long"));
  EXPECT_TRUE(
      SpecOf(FieldJson(4, "x", "identity")).CheckPromotion(5, *Type::Of(TypeId::kDate), *Type::Of(TypeId::kTimestamp)).ok());
}

TEST(SortOrder, JsonBothWays) {
  const std::string text = R"({"order-id": 3, "fields": [
      {"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"},
      {"transform": "bucket[4]", "source-id": 3, "direction": "desc", "null-order": "nulls-last", "x": 1}], "y": 2})";
  const auto order = SortOrder::Parse(text).ValueOrDie();
  EXPECT_TRUE(order.fields[0].nulls_first);
  EXPECT_FALSE(order.fields[0].descending);
  EXPECT_FALSE(order.fields[1].nulls_first);
  EXPECT_TRUE(order.fields[1].descending);
  std::string written;
  JsonWriter writer(&written);
  order.Write(&writer);
  EXPECT_EQ(json::parse(written), json::parse(text));
  EXPECT_TRUE(order.CheckWritable(*TableSchema()).ok());
  EXPECT_TRUE(order.IsEquivalent(order));
  EXPECT_FALSE(order.IsEquivalent(SortOrder()));
  EXPECT_FALSE(SortOrder::Parse(R"({"order-id": 3, "fields": [
      {"transform": "identity", "source-id": 2, "direction": "up", "null-order": "nulls-first"}]})")
                   .ok());
}

}  // namespace
}  // namespace icebound::iceberg
