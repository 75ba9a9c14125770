// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/iceberg_types.h"

#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "iceberg/avro/avro_bytes_test.h"
#include "iceberg/avro/batch_reader.h"
#include "iceberg/avro/record_writer.h"
#include "iceberg/spec/arrow_schema.h"

namespace icebound::iceberg::avro {
namespace {

using nlohmann::json;

iceberg::Field Make(int32_t id, std::string name, TypePtr type, bool required = false) {
  iceberg::Field field;
  field.id = id;
  field.name = std::move(name);
  field.required = required;
  field.type = std::move(type);
  return field;
}

class AvroIcebergTypesTest : public testing::Test {
 protected:
  std::shared_ptr<const Schema> Of(const std::vector<iceberg::Field>& fields) {
    SchemaBuilder builder(memory_.consumer.get());
    return builder.Finish(RecordOf("table", fields, &builder)).ValueOrDie();
  }
  /// The type of the only field, required.
  json TypeJson(TypePtr type) { return json::parse(Of({Make(1, "x", std::move(type), true)})->ToJson())["fields"][0]["type"]; }

  test::TestMemory memory_;
};

TEST_F(AvroIcebergTypesTest, AreWhatTheSpecificationSays) {
  // The table of appendix A.
  const std::vector<std::pair<TypePtr, const char*>> rows = {
      {iceberg::Type::Of(TypeId::kUnknown), R"("null")"},
      {iceberg::Type::Of(TypeId::kBoolean), R"("boolean")"},
      {iceberg::Type::Of(TypeId::kInt), R"("int")"},
      {iceberg::Type::Of(TypeId::kLong), R"("long")"},
      {iceberg::Type::Of(TypeId::kFloat), R"("float")"},
      {iceberg::Type::Of(TypeId::kDouble), R"("double")"},
      {*iceberg::Type::Decimal(9, 2),
       R"({"type":"fixed","name":"decimal_9_2","size":4,"logicalType":"decimal","precision":9,"scale":2})"},
      {iceberg::Type::Of(TypeId::kDate), R"({"type":"int","logicalType":"date"})"},
      {iceberg::Type::Of(TypeId::kTime), R"({"type":"long","logicalType":"time-micros"})"},
      {iceberg::Type::Of(TypeId::kTimestamp), R"({"type":"long","logicalType":"timestamp-micros","adjust-to-utc":false})"},
      {iceberg::Type::Of(TypeId::kTimestampTz), R"({"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true})"},
      {iceberg::Type::Of(TypeId::kTimestampNs), R"({"type":"long","logicalType":"timestamp-nanos","adjust-to-utc":false})"},
      {iceberg::Type::Of(TypeId::kTimestampTzNs), R"({"type":"long","logicalType":"timestamp-nanos","adjust-to-utc":true})"},
      {iceberg::Type::Of(TypeId::kString), R"("string")"},
      {iceberg::Type::Of(TypeId::kUuid), R"({"type":"fixed","name":"uuid_fixed","size":16,"logicalType":"uuid"})"},
      {*iceberg::Type::Fixed(7), R"({"type":"fixed","name":"fixed_7","size":7})"},
      {iceberg::Type::Of(TypeId::kBinary), R"("bytes")"},
      {iceberg::Type::Of(TypeId::kGeometry), R"("bytes")"},
      {iceberg::Type::Struct({Make(2, "y", iceberg::Type::Of(TypeId::kInt))}),
       R"({"type":"record","name":"r1","fields":[{"name":"y","type":["null","int"],"default":null,"field-id":2}]})"},
      {iceberg::Type::List(Make(3, "element", iceberg::Type::Of(TypeId::kInt), true)),
       R"({"type":"array","items":"int","element-id":3})"},
      {iceberg::Type::Map(Make(4, "key", iceberg::Type::Of(TypeId::kString), true),
                          Make(5, "value", iceberg::Type::Of(TypeId::kInt))),
       R"({"type":"map","values":["null","int"],"key-id":4,"value-id":5})"},
      {iceberg::Type::Map(Make(4, "key", iceberg::Type::Of(TypeId::kLong), true),
                          Make(5, "value", iceberg::Type::Of(TypeId::kInt), true)),
       R"({"type":"array","logicalType":"map","items":{"type":"record","name":"k4_v5","fields":[
           {"name":"key","type":"long","field-id":4},{"name":"value","type":"int","field-id":5}]}})"},
      {iceberg::Type::Of(TypeId::kVariant),
       R"({"type":"record","name":"r1","fields":[{"name":"metadata","type":"bytes"},{"name":"value","type":"bytes"}]})"},
  };
  for (const auto& [type, expected] : rows) EXPECT_EQ(TypeJson(type), json::parse(expected)) << type->ToString();
}

TEST_F(AvroIcebergTypesTest, ATablesFileReadsAsItsArrowSchemaSays) {
  // The same table as an Avro schema and as an Arrow schema: one must read what the other wrote.
  const std::vector<iceberg::Field> fields = {
      Make(1, "a b", iceberg::Type::Of(TypeId::kLong), true),
      Make(2, "d", *iceberg::Type::Decimal(10, 3)),
      Make(3, "ts", iceberg::Type::Of(TypeId::kTimestampTzNs)),
      Make(4, "u", iceberg::Type::Of(TypeId::kUuid)),
      Make(5, "v", iceberg::Type::Of(TypeId::kVariant)),
      Make(6, "g", iceberg::Type::Of(TypeId::kGeometry)),
      Make(7, "m",
           iceberg::Type::Map(Make(8, "key", iceberg::Type::Of(TypeId::kInt), true),
                              Make(9, "value", iceberg::Type::List(Make(10, "element", iceberg::Type::Of(TypeId::kString)))))),
      Make(11, "n", iceberg::Type::Of(TypeId::kUnknown)),
  };
  const auto output = arrow::io::BufferOutputStream::Create().ValueOrDie();
  WriterOptions writer_options;
  writer_options.consumer = memory_.consumer.get();
  auto writer = RecordWriter::Open(output.get(), "t.avro", Of(fields), writer_options).ValueOrDie();
  const arrow::Status appended = writer->Append([](ValueWriter& record) {
    return record.WriteRecord([](const Field& field, ValueWriter& value) -> arrow::Status {
      switch (field.id) {
        case 1:
          return value.Write(int64_t{1} << 50);
        case 2:
          return value.Write(std::string_view("\xff\xff\xff\xff\x85", 5));
        case 3:
          return value.Write(int64_t{-1});
        case 4:
          return value.Write("0123456789abcdef");
        case 5:
          return value.WriteRecord([](const Field& part, ValueWriter& bytes) { return bytes.Write(part.name); });
        case 6:
          return value.Write("wkb");
        case 7:
          return value.Write(std::map<int32_t, std::vector<std::string>>{{1, {"x", "y"}}});
        default:
          return arrow::Status::OK();
      }
    });
  });
  ASSERT_TRUE(appended.ok()) << appended.ToString();
  ASSERT_TRUE(writer->Finish().ok());
  const auto schema = iceberg::Schema::Make(0, iceberg::Type::Struct(fields)).ValueOrDie();
  BatchReaderOptions options;
  options.file.consumer = memory_.consumer.get();
  auto reader =
      BatchReader::Open(test::FileOf((*output->Finish())->ToString()), "t.avro", ToArrowSchema(*schema), options).ValueOrDie();
  EXPECT_TRUE(reader->missing_columns().empty());
  const auto batch = reader->Next().ValueOrDie();
  ASSERT_TRUE(batch->ValidateFull().ok());
  const auto cell = [&](int column) { return (*batch->column(column)->GetScalar(0))->ToString(); };
  EXPECT_EQ(cell(0), "1125899906842624");
  EXPECT_EQ(cell(1), "-0.123");
  EXPECT_EQ(cell(2), "1969-12-31 23:59:59.999999999Z");
  const auto& variant = static_cast<const arrow::ExtensionArray&>(*batch->column(4)).storage();
  EXPECT_EQ((*variant->GetScalar(0))->ToString(), "{metadata:binary = metadata, value:binary = value}");
  EXPECT_EQ(static_cast<const arrow::BinaryArray&>(*batch->column(5)).GetView(0), "wkb");
  EXPECT_EQ(batch->column(6)->ToString(),
            arrow::json::ArrayFromJSONString(batch->column(6)->type(), R"([[[1, ["x", "y"]]]])").ValueOrDie()->ToString());
  EXPECT_EQ(batch->column(7)->null_count(), 1);
}

}  // namespace
}  // namespace icebound::iceberg::avro
