// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/json_value.h"

#include <arrow/array/array_nested.h>
#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "iceberg/spec/arrow_schema.h"
#include "iceberg/spec/iso_time.h"

namespace icebound::iceberg {
namespace {

TypePtr TypeOf(std::string_view word) { return Type::Parse(word).ValueOrDie(); }

std::string Write(const Type& type, const Literal& value) {
  std::string json;
  JsonWriter writer(&json);
  EXPECT_TRUE(WriteLiteralJson(type, value, &writer).ok());
  return json;
}

struct Case {
  const char* type;
  const char* json;
  Literal value;
};

/// The examples of the specification's Appendix D.
std::vector<Case> Examples() {
  const int64_t micros = int64_t{17486} * kMicrosPerDay + int64_t{81'068'123'456};  // 2017-11-16T22:31:08.123456
  return {
      {"boolean", "true", true},
      {"int", "34", int32_t{34}},
      {"long", "34", int64_t{34}},
      {"float", "1.0", 1.0f},
      {"double", "1.0", 1.0},
      {"decimal(9,2)", "\"14.20\"", arrow::Decimal128(1420)},
      {"decimal(38,0)", "\"-99999999999999999999999999999999999999\"",
       arrow::Decimal128("-99999999999999999999999999999999999999")},
      {"date", "\"2017-11-16\"", int32_t{17486}},
      {"time", "\"22:31:08.123456\"", int64_t{81'068'123'456}},
      {"timestamp", "\"2017-11-16T22:31:08.123456\"", micros},
      {"timestamptz", "\"2017-11-16T22:31:08.123456+00:00\"", micros},
      {"timestamp_ns", "\"2017-11-16T22:31:08.123456789\"", micros * 1000 + 789},
      {"timestamptz_ns", "\"2017-11-16T22:31:08.123456789+00:00\"", micros * 1000 + 789},
      {"string", "\"iceberg\"", "iceberg"},
      {"string", "\"a\\\"b\\\\c\\u000a\"", "a\"b\\c\n"},
      {"uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"",
       std::string("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7")},
      {"fixed[4]", "\"000102ff\"", std::string("\0\1\2\xff", 4)},
      {"binary", "\"000102ff\"", std::string("\0\1\2\xff", 4)},
  };
}

TEST(JsonValue, ExamplesOfTheSpecification) {
  for (const Case& c : Examples()) {
    const auto type = TypeOf(c.type);
    const auto value = LiteralFromJson(*type, c.json);
    ASSERT_TRUE(value.ok()) << c.type << value.status().ToString();
    EXPECT_TRUE(*value == c.value) << c.type << " " << c.json << " is " << LiteralText(*type, *value);
    EXPECT_EQ(Write(*type, c.value), c.json);
    const auto scalar = LiteralToScalar(*type, c.value);
    ASSERT_TRUE(scalar.ok()) << scalar.status().ToString();
    EXPECT_TRUE((*scalar)->ValidateFull().ok()) << c.type;
    EXPECT_TRUE((*scalar)->type->Equals(*ToArrowType(*type)));
    EXPECT_TRUE(LiteralFromScalar(*type, **scalar).ValueOrDie() == c.value) << c.type;
  }
}

TEST(JsonValue, OtherFormsThatWritersUse) {
  EXPECT_EQ(LiteralFromJson(*TypeOf("double"), "2").ValueOrDie(), Literal(2.0));
  EXPECT_EQ(LiteralFromJson(*TypeOf("double"), "1E+20").ValueOrDie(), Literal(1e20));
  EXPECT_EQ(LiteralFromJson(*TypeOf("timestamp"), "\"2017-11-16T22:31\"").ValueOrDie(),
            LiteralFromJson(*TypeOf("timestamp"), "\"2017-11-16T22:31:00.000\"").ValueOrDie());
  EXPECT_EQ(LiteralFromJson(*TypeOf("timestamptz"), "\"1970-01-01T00:00:01Z\"").ValueOrDie(), Literal(int64_t{1'000'000}));
  EXPECT_EQ(LiteralFromJson(*TypeOf("date"), "\"-0001-01-01\"").ValueOrDie(), Literal(int32_t{-719893}));
  EXPECT_EQ(LiteralFromJson(*TypeOf("uuid"), "\"F79C3E09-677C-4BBD-A479-3F349CB785E7\"").ValueOrDie(),
            LiteralFromJson(*TypeOf("uuid"), "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"").ValueOrDie());
  EXPECT_EQ(LiteralFromJson(*TypeOf("decimal(9,2)"), "\"14.2\"").ValueOrDie(), Literal(arrow::Decimal128(1420)));
  EXPECT_TRUE(IsNull(LiteralFromJson(*TypeOf("geometry"), "null").ValueOrDie()));
}

TEST(JsonValue, WhatIsNoValueOfTheTypeIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"boolean", "1"},
      {"int", "2147483648"},
      {"int", "1.5"},
      {"int", "\"1\""},
      {"long", "9223372036854775808"},
      {"double", "\"1.0\""},
      {"decimal(9,2)", "\"14.205\""},
      {"decimal(4,2)", "\"100.00\""},
      {"decimal(9,2)", "14.20"},
      {"date", "\"2017-02-30\""},
      {"date", "\"2017-13-01\""},
      {"date", "\"17-01-01\""},
      {"time", "\"24:00:00\""},
      {"time", "\"22:31:08.1234567\""},
      {"timestamp", "\"2017-11-16T22:31:08+00:00\""},
      {"timestamp", "\"2017-11-16 22:31:08\""},
      {"timestamptz", "\"2017-11-16T22:31:08\""},
      {"timestamptz", "\"2017-11-16T22:31:08+01:00\""},
      {"timestamp_ns", "\"2300-01-01T00:00:00\""},
      {"uuid", "\"f79c3e09677c4bbda4793f349cb785e7\""},
      {"fixed[4]", "\"0001\""},
      {"binary", "\"0g\""},
      {"geometry", "\"POINT (30 10)\""},
      {"variant", "1"},
  };
  for (const auto& [type, json] : cases) EXPECT_FALSE(LiteralFromJson(*TypeOf(type), json).ok()) << type << " " << json;
  std::string out;
  JsonWriter writer(&out);
  EXPECT_EQ(GetErrorKind(WriteLiteralJson(*TypeOf("double"), std::numeric_limits<double>::infinity(), &writer)),
            ErrorKind::kInvalidInput);
}

Field FieldOf(int32_t id, const char* name, TypePtr type, std::optional<std::string> initial = std::nullopt) {
  Field field;
  field.id = id;
  field.name = name;
  field.type = std::move(type);
  field.initial_default = std::move(initial);
  return field;
}

TEST(JsonValue, StructDefaultsTakeTheirFieldsDefaults) {
  // The table of the specification: point.x and point.y default to 0, point to null or to {}.
  const auto point = Type::Struct({FieldOf(2, "x", TypeOf("int"), "0"), FieldOf(3, "y", TypeOf("int"), "0")});
  arrow::MemoryPool* pool = arrow::default_memory_pool();
  const auto missing = DefaultValue(FieldOf(1, "point", point), DefaultKind::kInitial, pool).ValueOrDie();
  EXPECT_FALSE(missing->is_valid);
  const auto empty = DefaultValue(FieldOf(1, "point", point, "{}"), DefaultKind::kInitial, pool).ValueOrDie();
  EXPECT_EQ(empty->ToString(), "{x:int32 = 0, y:int32 = 0}");
  const auto partly = ScalarFromJson(*point, "{\"3\": -1}", DefaultKind::kInitial, pool).ValueOrDie();
  EXPECT_EQ(partly->ToString(), "{x:int32 = 0, y:int32 = -1}");
  const auto written = ScalarFromJson(*point, "{\"2\": 3}", DefaultKind::kWrite, pool).ValueOrDie();
  EXPECT_EQ(written->ToString(), "{x:int32 = 3, y:int32 = null}");
  EXPECT_TRUE(empty->ValidateFull().ok());
}

TEST(JsonValue, ListsAndMaps) {
  arrow::MemoryPool* pool = arrow::default_memory_pool();
  const auto list = Type::List(FieldOf(4, "element", TypeOf("int")));
  const auto numbers = ScalarFromJson(*list, "[1, 2, null]", DefaultKind::kInitial, pool).ValueOrDie();
  EXPECT_TRUE(numbers->ValidateFull().ok());
  EXPECT_EQ(static_cast<const arrow::ListScalar&>(*numbers).value->length(), 3);
  const auto map = Type::Map(FieldOf(5, "key", TypeOf("string")), FieldOf(6, "value", TypeOf("int")));
  const char* json = "{\"keys\": [\"a\", \"b\"], \"values\": [1, 2]}";
  const auto entries = ScalarFromJson(*map, json, DefaultKind::kInitial, pool).ValueOrDie();
  EXPECT_TRUE(entries->ValidateFull().ok());
  EXPECT_EQ(static_cast<const arrow::MapScalar&>(*entries).value->length(), 2);
  EXPECT_TRUE(CheckJsonValue(*map, json).ok());
  EXPECT_FALSE(CheckJsonValue(*map, "{\"keys\": [\"a\"], \"values\": [1, 2]}").ok());
  EXPECT_FALSE(CheckJsonValue(*list, "[1, \"x\"]").ok());
  EXPECT_FALSE(CheckJsonValue(*list, "{}").ok());
}

TEST(JsonText, FaultsHaveAPlace) {
  const auto fault = CheckJson("{\n  \"a\": 1,\n  \"b\" 2\n}");
  EXPECT_EQ(GetErrorKind(fault), ErrorKind::kCorruptData);
  EXPECT_NE(fault.message().find("line 3"), std::string::npos) << fault.message();
  EXPECT_FALSE(CheckJson("{} {}").ok());
  EXPECT_FALSE(CheckJson("").ok());
  EXPECT_FALSE(CheckJson("{\"a\": \"\xff\"}").ok());
  EXPECT_FALSE(CheckJson("[1, 2").ok());
}

TEST(JsonText, MembersAndElementsAreFoundWhereverTheirBracketsAre) {
  const std::string json = " {\"a\" : {\"x\":[1,{\"}\":\"]\"}]} , \"b\\u0062\":\"}\\\\\" ,\"c\":[ ], \"d\":null,\"a\":7 }";
  ASSERT_TRUE(CheckJson(json).ok());
  JsonObject object = JsonObject::Make(json).ValueOrDie();
  ASSERT_EQ(object.members().size(), 5);
  EXPECT_EQ(object.members()[0].value, "{\"x\":[1,{\"}\":\"]\"}]}");
  EXPECT_EQ(object.GetString("bb").ValueOrDie(), "}\\");
  EXPECT_EQ(object.GetInt32("a").ValueOrDie(), 7);  // the later of two
  EXPECT_EQ(object.Find("d"), std::nullopt);
  EXPECT_EQ(object.UnknownMembers(), "\"c\":[]");
  EXPECT_EQ(CompactJson(" { \"a b\" : [ 1 ,\t\"\\\" }\" ,\n null ] } "), "{\"a b\":[1,\"\\\" }\",null]}");
  JsonElements elements = JsonElements::Make("[ 1, \"a,]\" ,[2,[3]], {\"k\":\"}\"} ]").ValueOrDie();
  EXPECT_EQ(elements.count(), 4);
  std::vector<std::string> found;
  std::string_view element;
  while (elements.Next(&element)) found.emplace_back(element);
  EXPECT_EQ(found, (std::vector<std::string>{"1", "\"a,]\"", "[2,[3]]", "{\"k\":\"}\"}"}));
}

}  // namespace
}  // namespace icebound::iceberg
