// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/schema.h"

#include <arrow/array/builder_primitive.h>
#include <arrow/extension/uuid.h>
#include <arrow/util/key_value_metadata.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "iceberg/spec/arrow_schema.h"
#include "iceberg/spec/name_mapping.h"

namespace icebound::iceberg {
namespace {

using nlohmann::json;

std::shared_ptr<const Schema> ParseSchema(const std::string& text) {
  EXPECT_TRUE(CheckJson(text).ok());
  auto schema = Schema::Parse(text);
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return schema.ok() ? *schema : nullptr;
}

std::string ToJson(const Schema& schema) {
  std::string text;
  JsonWriter writer(&text);
  schema.Write(&writer);
  return text;
}

/// Everything that a schema can hold, and members that no version has.
const char kEverything[] = R"json({
  "type": "struct", "schema-id": 7, "identifier-field-ids": [1], "x-schema": {"deep": [1, 2.50, null]},
  "fields": [
    {"id": 1, "name": "id", "required": true, "type": "long", "doc": "the \"key\"", "x-field": 18446744073709551615},
    {"id": 2, "name": "u", "required": false, "type": "unknown"},
    {"id": 3, "name": "b", "required": false, "type": "boolean", "initial-default": true, "write-default": false},
    {"id": 4, "name": "i", "required": false, "type": "int", "initial-default": 3},
    {"id": 5, "name": "f", "required": false, "type": "float"},
    {"id": 6, "name": "d", "required": false, "type": "double"},
    {"id": 7, "name": "n", "required": false, "type": "decimal(9, 2)"
},
    {"id": 8, "name": "day", "required": false, "type": "date"},
    {"id": 9, "name": "t", "required": false, "type": "time"},
    {"id": 10, "name": "ts", "required": false, "type": "timestamp"},
    {"id": 11, "name": "tz", "required": false, "type": "timestamptz"},
    {"id": 12, "name": "tns", "required": false, "type": "timestamp_ns"},
    {"id": 13, "name": "tzns", "required": false, "type": "timestamptz_ns"},
    {"id": 14, "name": "s", "required": false, "type": "string"},
    {"id": 15, "name": "uu", "required": false, "type": "uuid"},
    {"id": 16, "name": "fx", "required": false, "type": "fixed[16]"},
    {"id": 17, "name": "bin", "required": false, "type": "binary"},
    {"id": 18, "name": "g", "required": false, "type": "geometry(srid:4326)"},
    {"id": 19, "name": "gg", "required": false, "type": "geography(srid:4326, karney)"},
    {"id": 20, "name": "v", "required": false, "type": "variant"},
    {"id": 21, "name": "loc", "required": true, "type": {"type": "struct", "x-struct": 1, "fields": [
       {"id": 22, "name": "lat", "required": true, "type": "double"},
       {"id": 23, "name": "lon", "required": false, "type": "double"}]}},
    {"id": 24, "name": "l", "required": false, "type":
       {"type": "list", "element-id": 25, "element": "string", "element-required": true, "x-list": "y"}},
    {"id": 26, "name": "m", "required": false, "type":
       {"type": "map", "key-id": 27, "key": "string", "value-id": 28, "value-required": false, "value":
          {"type": "struct", "fields": [{"id": 29, "name": "a.b", "required": false, "type": "int"}]}}}
  ]})json";

TEST(Schema, EverythingIsReadAndWrittenAgain) {
  const auto schema = ParseSchema(kEverything);
  ASSERT_NE(schema, nullptr);
  EXPECT_EQ(json::parse(ToJson(*schema)), json::parse(kEverything));
  // Numbers that no double holds stand as they were.
  EXPECT_NE(ToJson(*schema).find("18446744073709551615"), std::string::npos);
  EXPECT_NE(ToJson(*schema).find("2.50"), std::string::npos);
  EXPECT_TRUE(schema->SameFields(*ParseSchema(ToJson(*schema))));
  EXPECT_TRUE(schema->CheckWritable(3).ok()) << schema->CheckWritable(3).ToString();
}

TEST(Schema, FieldsAreFoundByIdAndByName) {
  const auto schema = ParseSchema(kEverything);
  EXPECT_EQ(schema->FindField(23)->name, "lon");
  EXPECT_EQ(schema->FullName(23), "loc.lon");
  EXPECT_EQ(schema->FullName(29), "m.value.a.b");
  EXPECT_EQ(schema->FindField("m.value.a.b")->id, 29);
  EXPECT_EQ(schema->FindField("l.element")->id, 25);
  EXPECT_EQ(schema->FindField("LOC.Lat"), nullptr);
  EXPECT_EQ(schema->FindField("LOC.Lat", /*case_sensitive=*/false)->id, 22);
  EXPECT_EQ(schema->FindField(30), nullptr);
  EXPECT_EQ(schema->FindField("loc.lo"), nullptr);
  EXPECT_EQ(schema->Parent(29)->id, 28);
  EXPECT_EQ(schema->Parent(1), nullptr);
  EXPECT_EQ(schema->highest_field_id(), 29);
}

TEST(Schema, TypeWordsWithBlanksAreRead) {
  EXPECT_EQ(*Type::Parse("decimal(9,2)").ValueOrDie(), *Type::Parse("decimal( 9 , 2 )").ValueOrDie());
  EXPECT_EQ(*Type::Parse("fixed[ 16 ]").ValueOrDie(), *Type::Fixed(16).ValueOrDie());
  EXPECT_EQ(Type::Parse("geography(a,b,karney)").ValueOrDie()->crs(), "a,b");
  EXPECT_EQ(Type::Parse("geometry").ValueOrDie()->crs(), "");
  EXPECT_EQ(Type::Parse("Long").ValueOrDie(), Type::Of(TypeId::kLong));
  for (const char* word : {"decimal(9)", "decimal(39,2)", "decimal(0,0)", "fixed[x]", "fixed[-1]", "interval", "lon", ""}) {
    EXPECT_FALSE(Type::Parse(word).ok()) << word;
  }
  EXPECT_EQ(GetErrorKind(Type::Parse("interval").status()), ErrorKind::kUnsupported);
}

TEST(Schema, FaultsNameTheColumn) {
  const auto fault = [](const std::string& fields) {
    return Schema::Parse(R"({"type": "struct", "schema-id": 4, "fields": [)" + fields + "]}").status().message();
  };
  const std::string good = R"({"id": 1, "name": "a", "required": true, "type": "long"})";
  EXPECT_EQ(fault(good), "");
  EXPECT_EQ(fault(good + R"(, {"id": 1, "name": "b", "required": true, "type": "long"})"),
            "schema 4: field id 1 is given twice, to 'a' and 'b'");
  EXPECT_EQ(fault(R"({"id": -1, "name": "a", "required": true, "type": "long"})"), "schema 4: field id -1 of 'a' is negative");
  EXPECT_EQ(fault(R"({"id": 1, "name": "a", "type": "long"})"), "schema 4: column 'a': 'required' is missing");
  EXPECT_EQ(fault(R"({"id": 1, "name": "a", "required": true, "type": {"type": "struct", "fields": [
                   {"id": 2, "name": "b", "required": true, "type": "interval"}]}})"),
            "schema 4: column 'a': column 'b': type 'interval' is none of Iceberg's format versions 1 to 3");
  EXPECT_EQ(fault(R"({"id": "1", "name": "a", "required": true, "type": "long"})"),
            "schema 4: column 'a': 'id': a whole number is expected, not \"1\"");
}

TEST(Schema, NestingIsBounded) {
  // A megabyte of lists in lists, which would exhaust the stack.
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += R"({"type":"list","element-id":1,"element-required":true,"element":)";
  text += "\"int\"" + std::string(20'000, '}');
  const auto type = ParseTypeJson(text);
  EXPECT_EQ(GetErrorKind(type.status()), ErrorKind::kCorruptData);
}

TEST(Schema, WhatMayNotBeWrittenIsRefusedWithTheColumn) {
  const auto refusal = [](const std::string& field, int version, const std::string& identifiers = "[]") {
    const auto schema = ParseSchema(R"({"type": "struct", "schema-id": 0, "identifier-field-ids": )" + identifiers +
                                    R"(, "fields": [)" + field + "]}");
    return schema->CheckWritable(version).message();
  };
  const auto field = [](const std::string& rest) { return R"({"id": 1, "name": "a", "required": false, )" + rest + "}"; };
  EXPECT_EQ(refusal(field(R"("type": "timestamp_ns")"), 2),
            "column 'a' is of type timestamp_ns, which tables of format version 2 do not have");
  EXPECT_EQ(refusal(field(R"("type": "timestamp_ns")"), 3), "");
  EXPECT_EQ(refusal(field(R"("type": "int", "initial-default": 1)"), 2),
            "column 'a' has an initial default, which format version 2 does not know");
  EXPECT_NE(refusal(field(R"("type": "int", "write-default": "x")"), 3), "");
  EXPECT_NE(refusal(field(R"("type": "variant", "write-default": 1)"), 3), "");
  EXPECT_NE(refusal(R"({"id": 1, "name": "a", "required": true, "type": "unknown"})", 3), "");
  EXPECT_NE(refusal(R"({"id": 2147483640, "name": "a", "required": true, "type": "int"})", 3), "");
  EXPECT_NE(refusal(field(R"("type": "int")") + R"(, {"id": 2, "name": "a", "required": true, "type": "int"})", 3), "");
  EXPECT_EQ(refusal(field(R"("type": "int")"), 2, "[1]"), "column 'a' cannot identify rows: it is optional");
  EXPECT_NE(refusal(R"({"id": 1, "name": "a", "required": true, "type": "double"})", 2, "[1]"), "");
  EXPECT_NE(refusal(R"({"id": 1, "name": "l", "required": true, "type":
              {"type": "list", "element-id": 2, "element": "int", "element-required": true}})",
                    2, "[2]"),
            "");
  EXPECT_NE(refusal(R"({"id": 1, "name": "s", "required": false, "type": {"type": "struct", "fields": [
              {"id": 2, "name": "x", "required": true, "type": "int"}]}})",
                    2, "[2]"),
            "");
}

TEST(ArrowSchema, FieldIdsAndTypesSurviveBothWays) {
  const auto schema = ParseSchema(kEverything);
  const auto arrow_schema = ToArrowSchema(*schema);
  EXPECT_EQ(arrow_schema->field(14)->type()->ToString(), "extension<arrow.uuid>");
  EXPECT_EQ(arrow_schema->field(12)->type()->ToString(), "timestamp[ns, tz=UTC]");
  EXPECT_EQ(arrow_schema->field(0)->metadata()->Get(kFieldIdKey).ValueOrDie(), "1");
  EXPECT_FALSE(arrow_schema->field(0)->nullable());
  const auto& list = static_cast<const arrow::ListType&>(*arrow_schema->field(21)->type());
  EXPECT_EQ(list.value_field()->metadata()->Get(kFieldIdKey).ValueOrDie(), "25");
  FromArrowOptions options;
  options.format_version = 3;
  options.schema_id = 7;
  const auto back = FromArrowSchema(*arrow_schema, options);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ((*back)->fields().size(), schema->fields().size());
  for (size_t i = 0; i < schema->fields().size(); ++i) {
    const Field& before = schema->fields()[i];
    const Field& after = (*back)->fields()[i];
    EXPECT_EQ(after.id, before.id);
    EXPECT_EQ(after.required, before.required) << before.name;
    const bool physical = before.type->id() == TypeId::kGeometry || before.type->id() == TypeId::kGeography;
    EXPECT_EQ(after.type->ToString(), physical ? "binary" : before.type->ToString()) << before.name;
  }
}

TEST(ArrowSchema, NewIdsAreGivenLevelByLevel) {
  const auto inner = arrow::struct_({arrow::field("x", arrow::int8(), false), arrow::field("y", arrow::large_utf8())});
  const auto schema = arrow::schema({arrow::field("a", inner), arrow::field("b", arrow::list(arrow::uint32())),
                                     arrow::field("c", arrow::dictionary(arrow::int32(), arrow::utf8()))});
  FromArrowOptions options;
  EXPECT_EQ(FromArrowSchema(*schema, options).status().message(), "column 'a' has no field id");
  options.assign_ids = true;
  const auto fresh = FromArrowSchema(*schema, options).ValueOrDie();
  EXPECT_EQ(fresh->type()->ToString(),
            "struct<1: a: optional struct<4: x: required int, 5: y: optional string>, 2: b: optional list<long>, "
            "3: c: optional string>");
  EXPECT_EQ(fresh->FindField("b.element")->id, 6);
}

TEST(ArrowSchema, WhatATableCannotHoldIsRefused) {
  FromArrowOptions options;
  options.assign_ids = true;
  const auto refused = [&](const std::shared_ptr<arrow::DataType>& type) {
    return FromArrowSchema(*arrow::schema({arrow::field("a", arrow::struct_({arrow::field("b", type)}))}), options)
        .status()
        .message();
  };
  EXPECT_EQ(refused(arrow::uint64()), "column 'a.b' is of type uint64, which a table of format version 2 cannot hold: cast it");
  EXPECT_NE(refused(arrow::timestamp(arrow::TimeUnit::NANO)), "");
  EXPECT_NE(refused(arrow::decimal256(50, 2)), "");
  EXPECT_NE(refused(arrow::month_day_nano_interval()), "");
  EXPECT_NE(refused(arrow::null()), "");
  options.nanos_as_micros = true;
  EXPECT_EQ(refused(arrow::timestamp(arrow::TimeUnit::NANO)), "");
  options.nanos_as_micros = false;
  options.format_version = 3;
  EXPECT_EQ(refused(arrow::timestamp(arrow::TimeUnit::NANO)), "");
  EXPECT_EQ(refused(arrow::null()), "");
}

TEST(NameMapping, IsReadAndWritten) {
  // The example of the specification.
  const std::string text = R"([ { "field-id": 1, "names": ["id", "record_id"] }, { "field-id": 2, "names": ["data"] },
     { "field-id": 3, "names": ["location"], "fields": [ { "field-id": 4, "names": ["latitude", "lat"] },
                                                         { "names": ["a.b"], "x": 1 } ] } ])";
  const auto mapping = NameMapping::Parse(text).ValueOrDie();
  EXPECT_EQ(json::parse(mapping.ToJson()), json::parse(text));
  EXPECT_EQ(FindMapped(mapping.fields, "record_id")->field_id, 1);
  const MappedField* location = FindMapped(mapping.fields, "location");
  EXPECT_EQ(FindMapped(location->fields, "lat")->field_id, 4);
  EXPECT_EQ(FindMapped(location->fields, "a.b")->field_id, std::nullopt);
  EXPECT_EQ(FindMapped(mapping.fields, "location.lat"), nullptr);
  EXPECT_FALSE(NameMapping::Parse(R"([{"names": ["a"]}, {"names": ["b", "a"]}])").ok());
  EXPECT_FALSE(NameMapping::Parse("[{]").ok());
}

TEST(NameMapping, OfASchemaMapsEveryColumn) {
  const auto mapping = NameMapping::Of(*ParseSchema(kEverything));
  const MappedField* map = FindMapped(mapping.fields, "m");
  EXPECT_EQ(map->field_id, 26);
  EXPECT_EQ(FindMapped(map->fields, "key")->field_id, 27);
  EXPECT_EQ(FindMapped(FindMapped(map->fields, "value")->fields, "a.b")->field_id, 29);
  EXPECT_EQ(FindMapped(FindMapped(mapping.fields, "l")->fields, "element")->field_id, 25);
}

}  // namespace
}  // namespace icebound::iceberg
