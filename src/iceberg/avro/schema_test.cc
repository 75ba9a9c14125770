// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "iceberg/avro/avro_bytes_test.h"
#include "iceberg/avro/schema_names.h"
#include "icebound/error.h"

namespace icebound::iceberg::avro {
namespace {

using test::TestMemory;
using testing::HasSubstr;

class AvroSchemaTest : public testing::Test {
 protected:
  std::shared_ptr<const Schema> Parse(std::string_view json) {
    auto schema = Schema::Parse(json, memory_.consumer.get());
    EXPECT_TRUE(schema.ok()) << schema.status().ToString();
    return schema.ok() ? *schema : nullptr;
  }
  std::string Error(std::string_view json) {
    const auto schema = Schema::Parse(json, memory_.consumer.get());
    EXPECT_FALSE(schema.ok()) << json;
    if (schema.ok()) return "";
    EXPECT_EQ(GetErrorKind(schema.status()), ErrorKind::kCorruptData) << schema.status().ToString();
    return schema.status().message();
  }

  TestMemory memory_;
};

TEST_F(AvroSchemaTest, ReadsWhatIcebergAdds) {
  const auto schema = Parse(R"({"type": "record", "name": "r", "fields": [
      {"name": "status", "type": "int", "field-id": 0, "doc": "x"},
      {"name": "snapshot", "type": ["null", "long"], "default": null, "field-id": 1},
      {"name": "_x0", "type": {"type": "array", "items": "long", "element-id": 133}, "field-id": 132,
       "iceberg-field-name": "\u0000"},
      {"name": "counts", "field-id": 109, "type": {"type": "array", "logicalType": "map", "items":
          {"type": "record", "name": "k119_v120", "fields": [{"name": "key", "type": "int", "field-id": 119},
                                                            {"name": "value", "type": "long", "field-id": 120}]}}},
      {"name": "props", "field-id": 7, "type": {"type": "map", "values": "bytes", "key-id": 8, "value-id": 9}},
      {"name": "d", "field-id": 10, "type": {"type": "fixed", "name": "f", "size": 5,
          "logicalType": "decimal", "precision": 10, "scale": 2}},
      {"name": "t", "field-id": 11, "type": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": true}},
      {"name": "again", "field-id": 12, "type": "f"}]})");
  ASSERT_NE(schema, nullptr);
  const Node& root = schema->root();
  ASSERT_EQ(root.fields.size(), 8U);
  EXPECT_EQ(root.FindField(1)->name, "snapshot");
  EXPECT_EQ(root.FindField(2), nullptr);
  EXPECT_EQ(root.fields[1].default_json, "null");
  EXPECT_TRUE(root.fields[1].type->is_nullable());
  EXPECT_EQ(root.fields[1].type->NonNull()->type, Type::kLong);
  EXPECT_EQ(root.fields[2].type->element_id, 133);
  EXPECT_EQ(root.fields[2].original_name, std::string(1, '\0'));
  EXPECT_EQ(root.fields[3].type->logical, LogicalType::kMap);
  EXPECT_EQ(root.fields[3].type->key_id, 119);
  EXPECT_EQ(root.fields[3].type->value_id, 120);
  EXPECT_EQ(root.fields[4].type->key_id, 8);
  EXPECT_EQ(root.fields[4].type->value_id, 9);
  EXPECT_EQ(root.fields[5].type->scale, 2);
  EXPECT_TRUE(root.fields[6].type->adjust_to_utc);
  EXPECT_EQ(root.fields[7].type, root.fields[5].type);
  EXPECT_FALSE(schema->is_recursive());
  // status 1, snapshot 1 + 0 (null), arrays and map 1 each, d 5, t 1, again 5
  EXPECT_EQ(root.min_bytes, 1 + 1 + 1 + 1 + 1 + 5 + 1 + 5);
}

TEST_F(AvroSchemaTest, WhatIsWrittenReadsTheSame) {
  for (const char* text : {
           R"("long")",
           R"(["null","string"])",
           R"({"type":"array","items":"int","element-id":3})",
           R"({"type":"record","name":"a.b","fields":[{"name":"x","type":{"type":"enum","name":"a.e","symbols":["A","B"]},)"
           R"("default":"A","field-id":1},{"name":"y","type":"a.e"}]})",
           R"({"type":"record","name":"n","fields":[{"name":"next","type":["null","n"],"field-id":2}]})",
           R"({"type":"map","values":{"type":"long","logicalType":"timestamp-nanos","adjust-to-utc":false},)"
           R"("key-id":1,"value-id":2})",
           R"({"type":"fixed","name":"u","size":16,"logicalType":"uuid"})",
       }) {
    EXPECT_EQ(nlohmann::json::parse(Parse(text)->ToJson()), nlohmann::json::parse(text));
  }
}

TEST_F(AvroSchemaTest, NamesAreLookedUpInTheirNamespace) {
  const auto schema = Parse(R"({"type": "record", "name": "outer", "namespace": "x.y", "fields": [
      {"name": "a", "type": {"type": "record", "name": "inner", "namespace": "z", "fields": [
          {"name": "b", "type": {"type": "fixed", "name": "f", "size": 2}}]}},
      {"name": "c", "type": {"type": "fixed", "name": "f", "size": 3}},
      {"name": "d", "type": "f"}, {"name": "e", "type": "z.f"}, {"name": "g", "type": ["null", "x.y.outer"]}]})");
  const auto& fields = schema->root().fields;
  EXPECT_EQ(schema->root().name, "x.y.outer");
  EXPECT_EQ(fields[0].type->name, "z.inner");
  EXPECT_EQ(fields[2].type->fixed_bytes, 3);
  EXPECT_EQ(fields[3].type->fixed_bytes, 2);
  EXPECT_TRUE(schema->is_recursive());
}

TEST_F(AvroSchemaTest, SaysWhatIsWrong) {
  EXPECT_THAT(Error("{"), HasSubstr("not JSON"));
  EXPECT_THAT(Error("5"), HasSubstr("neither a name, nor an object, nor an array"));
  EXPECT_THAT(Error(R"("nope")"), HasSubstr(R"(no type of the name "nope")"));
  EXPECT_THAT(Error("[]"), HasSubstr("no types"));
  EXPECT_THAT(Error(R"(["int", ["long"]])"), HasSubstr("directly inside a union"));
  EXPECT_THAT(Error(R"({"type":"record","name":"r"})"), HasSubstr("no fields"));
  EXPECT_THAT(Error(R"({"type":"record","fields":[]})"), HasSubstr("no name"));
  EXPECT_THAT(
      Error(
          R"({"type":"record","name":"r","fields":[{"name":"a","type":{"type":"record","name":"q","fields":[{"name":"b"}]}}]})"),
      HasSubstr(R"(field "a": field "b": there is no type)"));
  EXPECT_THAT(Error(R"({"type":"record","name":"r","fields":[{"name":"a","type":"int","field-id":4294967296}]})"),
              HasSubstr("does not fit in 32 bits"));
  EXPECT_THAT(Error(R"({"type":"fixed","name":"f","size":-3})"), HasSubstr("no size"));
  EXPECT_THAT(Error(R"(["null",{"type":"fixed","name":"f","size":1},{"type":"fixed","name":"f","size":1}])"),
              HasSubstr("defined twice"));
}

TEST_F(AvroSchemaTest, DepthIsBounded) {
  for (const int depth : {kMaxSchemaDepth, kMaxSchemaDepth + 1, 1000000}) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += R"({"type":"array","items":)";
    text += "\"int\"" + std::string(static_cast<size_t>(depth), '}');
    if (depth == kMaxSchemaDepth) {
      EXPECT_NE(Parse(text), nullptr);
    } else {
      EXPECT_THAT(Error(text), testing::AnyOf(HasSubstr("nested deeper"), HasSubstr("larger than")));
    }
  }
}

TEST_F(AvroSchemaTest, IsChargedAndGivenBack) {
  std::string text = R"({"type":"record","name":"r","fields":[)";
  for (int i = 0; i < 10000; ++i) {
    text +=
        (i > 0 ? R"(,{"name":"column)" : R"({"name":"column)") + std::to_string(i) + R"(","type":["null","long"],"field-id":1})";
  }
  text += "]}";
  const auto schema = Parse(text);
  EXPECT_GT(memory_.consumer->reserved_bytes(), 10000 * static_cast<int64_t>(sizeof(Field) + sizeof(Node)));
  TestMemory little(1 << 20);
  const auto refused = Schema::Parse(text, little.consumer.get());
  EXPECT_EQ(GetErrorKind(refused.status()), ErrorKind::kMemoryLimit) << refused.status().ToString();
}

TEST_F(AvroSchemaTest, BuildsWhatItSays) {
  SchemaBuilder builder(memory_.consumer.get());
  const Node* root =
      builder.Record("r2", {builder.Required("a b", 1, builder.Decimal(9, 2)), builder.Optional("u", 2, builder.Uuid()),
                            builder.Optional("v", 3, builder.Uuid()),
                            builder.Required("m", 4, builder.Map(5, builder.Primitive(Type::kInt), 6, builder.Date()))});
  const auto schema = builder.Finish(root).ValueOrDie();
  EXPECT_EQ(
      schema->ToJson(),
      R"({"type":"record","name":"r2","fields":[)"
      R"({"name":"a_x20b","type":{"type":"fixed","name":"decimal_9_2","size":4,"logicalType":"decimal","precision":9,"scale":2},)"
      R"("field-id":1,"iceberg-field-name":"a b"},)"
      R"({"name":"u","type":["null",{"type":"fixed","name":"uuid_fixed","size":16,"logicalType":"uuid"}],)"
      R"("default":null,"field-id":2},)"
      R"({"name":"v","type":["null","uuid_fixed"],"default":null,"field-id":3},)"
      R"({"name":"m","type":{"type":"array","items":{"type":"record","name":"k5_v6","fields":[)"
      R"({"name":"key","type":"int","field-id":5},)"
      R"({"name":"value","type":{"type":"int","logicalType":"date"},"field-id":6}]},"logicalType":"map"},"field-id":4}]})");
  EXPECT_EQ(Parse(schema->ToJson())->ToJson(), schema->ToJson());
}

TEST_F(AvroSchemaTest, FewestBytesOfDecimals) {
  // From the table specification: 4 bytes hold 9 digits, 8 hold 18, 16 hold 38.
  SchemaBuilder builder(memory_.consumer.get());
  for (const auto& [precision, bytes] :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {9, 4}, {10, 5}, {18, 8}, {19, 9}, {38, 16}}) {
    EXPECT_EQ(builder.Decimal(precision, 0)->fixed_bytes, bytes) << precision;
  }
}

TEST(AvroNames, AreMadeAsIcebergMakesThem) {
  EXPECT_EQ(AvroName("plain_1"), "plain_1");
  EXPECT_EQ(AvroName("1a"), "_1a");
  EXPECT_EQ(AvroName("a.b"), "a_x2Eb");
  EXPECT_EQ(AvroName("#x"), "_x23x");
  EXPECT_EQ(AvroName("\xC3\xA4"), "_xE4");
  EXPECT_EQ(AvroName("\xF0\x9F\x98\x8E"), "_xD83D_xDE0E");
}

}  // namespace
}  // namespace icebound::iceberg::avro
