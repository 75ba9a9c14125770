// SPDX-License-Identifier: Apache-2.0
//
// The Parquet writer against Arrow's reader: types, options, failures.
#include "io/parquet_writer.h"

#include <arrow/extension/uuid.h>

#include "base/injection.h"
#include "io/parquet_writer_testing.h"

namespace icebound::io {
namespace {

using namespace testing;  // NOLINT: the tests' own vocabulary

struct TypeCase {
  std::shared_ptr<arrow::DataType> type;
  std::string json;
  std::shared_ptr<arrow::DataType> read_type = nullptr;  // when it differs
};

std::vector<TypeCase> TypeCases() {
  using namespace arrow;  // NOLINT: a list of types
  const std::string numbers = "[1, null, 0, 7, 100, null, 3]";
  const std::string signed_numbers = "[1, null, -1, 7, -100, null, 127]";
  const std::string texts = R"(["a", null, "", "abc", "a", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"])";
  return {
      {boolean(), "[true, null, false, true]"},
      {int8(), signed_numbers},
      {int16(), signed_numbers},
      {int32(), "[-2147483648, null, 2147483647, 0]"},
      {int64(), "[-9223372036854775808, null, 9223372036854775807, 0]"},
      {uint8(), "[0, null, 255]"},
      {uint16(), "[0, null, 65535]"},
      {uint32(), "[0, null, 4294967295, 2147483648]"},
      {uint64(), "[0, null, 18446744073709551615, 9223372036854775808]"},
      {float16(), "[1.5, null, -2.25, 0]"},
      {float32(), "[1.5, null, -2.25, 0]"},
      {float64(), "[1.5, null, -2.25, 1e300]"},
      {utf8(), texts},
      {large_utf8(), texts},
      {utf8_view(), texts, utf8()},
      {binary(), texts},
      {large_binary(), texts},
      {binary_view(), texts, binary()},
      {fixed_size_binary(3), R"(["abc", null, "xyz"])"},
      {date32(), "[0, null, -1000, 20000]"},
      {date64(), "[0, null, -86400000, 1728000000000]", date32()},
      {time32(TimeUnit::SECOND), numbers, time32(TimeUnit::MILLI)},
      {time32(TimeUnit::MILLI), numbers},
      {time64(TimeUnit::MICRO), numbers},
      {time64(TimeUnit::NANO), numbers},
      {timestamp(TimeUnit::SECOND), signed_numbers, timestamp(TimeUnit::MILLI)},
      {timestamp(TimeUnit::MILLI), signed_numbers},
      {timestamp(TimeUnit::MICRO), signed_numbers},
      {timestamp(TimeUnit::NANO), signed_numbers},
      {timestamp(TimeUnit::MICRO, "UTC"), signed_numbers},
      {timestamp(TimeUnit::MICRO, "Europe/Berlin"), signed_numbers},
      {duration(TimeUnit::SECOND), signed_numbers},
      {duration(TimeUnit::NANO), signed_numbers},
      {decimal32(5, 2), R"(["1.25", null, "-999.99", "0.00"])"},
      {decimal64(15, 3), R"(["1.250", null, "-999999999999.999", "0.000"])"},
      {smallest_decimal(3, 0), R"(["1", null, "-999"])"},
      {decimal128(9, 2), R"(["1.25", null, "-9999999.99", "0.00"])"},
      {decimal128(15, 2), R"(["1.25", null, "-9999999999999.99", "0.00"])"},
      {decimal128(38, 10), R"(["1.2500000000", null, "-9999999999999999999999999999.9999999999", "0.0000000000"])"},
      {decimal256(12, 0), R"(["1", null, "-999999999999"])"},
      {decimal256(60, 5), R"(["1.25000", null, "-9999999999999999999999999999999999999999999999999999999.99999"])"},
      {null(), "[null, null, null]"},
      {dictionary(int8(), utf8()), texts},
      {dictionary(int32(), utf8()), texts},
      {dictionary(uint16(), binary()), texts},
      {dictionary(int16(), int64()), "[5, null, 5, 6]", int64()},
      {list(int32()), "[[1, 2], null, [], [null, 3]]"},
      {large_list(utf8()), R"([["a", "b"], null, [], [null, "c"]])"},
      {fixed_size_list(int16(), 2), "[[1, 2], [3, null]]"},
      {list(list(utf8())), R"([[["a"], [], null], null, [[null, "b"]]])"},
      {struct_({field("x", int32()), field("y", utf8())}), R"([{"x": 1, "y": "a"}, null, {"x": null, "y": "b"}])"},
      {struct_({field("l", list(struct_({field("k", int64(), false), field("v", float64())})))}),
       R"([{"l": [{"k": 1, "v": 1.5}, {"k": 2, "v": null}]}, null, {"l": []}, {"l": null}, {"l": [null]}])"},
      {map(utf8(), int32()), R"([[["a", 1], ["b", null]], null, []])"},
      {list(decimal128(20, 2)), R"([["1.25", null], null, ["-3.50"]])"},
      {list(dictionary(int32(), utf8())), R"([["a", null, "b"], null, ["a"]])"},
  };
}

TEST(ParquetWriter, EveryTypeComesBack) {
  Directory directory;
  Engine engine;
  for (const TypeCase& test : TypeCases()) {
    SCOPED_TRACE(test.type->ToString());
    const auto table = OneColumn(ArrayOf(test.type, test.json));
    for (const char* compression : {"snappy", "zstd", "none"}) {
      WriteSettings settings;
      settings.options.compression = compression;
      settings.batch_rows = 3;
      const auto counts = WriteTable(*table, directory / "t.parquet", &engine, settings);
      ASSERT_TRUE(counts.ok()) << counts.status().ToString();
      const auto read = ReadBack(directory / "t.parquet");
      auto expected = table;
      if (test.read_type != nullptr) {
        auto column = arrow::compute::Cast(table->column(0), test.read_type).ValueOrDie().chunked_array();
        expected = arrow::Table::Make(arrow::schema({arrow::field("c", test.read_type)}), {column});
      }
      ExpectSameTable(*expected, *read);
      CheckMetadata(directory / "t.parquet");
    }
  }
  EXPECT_EQ(Names(directory.path()).size(), 1u);
}

TEST(ParquetWriter, ExtensionTypesComeBack) {
  Directory directory;
  Engine engine;
  auto storage = ArrayOf(arrow::fixed_size_binary(16), R"(["0123456789abcdef", null, "fedcba9876543210"])");
  auto table = OneColumn(arrow::ExtensionType::WrapArray(arrow::extension::uuid(), storage));
  ASSERT_STATUS_OK(WriteTable(*table, directory / "t.parquet", &engine).status());
  ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
}

TEST(ParquetWriter, RunEndEncodedBecomesPlain) {
  Directory directory;
  Engine engine;
  auto plain = ArrayOf(arrow::int32(), "[1, 1, 1, null, null, 2]");
  auto encoded = arrow::compute::RunEndEncode(plain).ValueOrDie().make_array();
  ASSERT_STATUS_OK(WriteTable(*OneColumn(encoded), directory / "t.parquet", &engine).status());
  ExpectSameTable(*OneColumn(plain), *ReadBack(directory / "t.parquet"));
}

TEST(ParquetWriter, ListsThatHideElementsBelowNulls) {
  Directory directory;
  Engine engine;
  // Row 1 is null, but its offsets cover the elements 2 and 3.
  auto elements = ArrayOf(arrow::utf8(), R"(["a", "b", "c", "d", "e"])");
  auto offsets = ArrayOf(arrow::int32(), "[0, 2, 4, 5]");
  auto validity = arrow::Buffer::FromString(std::string("\x05"));
  auto lists =
      std::make_shared<arrow::ListArray>(arrow::list(arrow::utf8()), 3, offsets->data()->buffers[1], elements, validity, 1);
  ASSERT_STATUS_OK(WriteTable(*OneColumn(lists), directory / "t.parquet", &engine).status());
  ExpectSameTable(*OneColumn(ArrayOf(arrow::list(arrow::utf8()), R"([["a", "b"], null, ["e"]])")),
                  *ReadBack(directory / "t.parquet"));
}

TEST(ParquetWriter, RefusesTypesParquetCannotHold) {
  Directory directory;
  Engine engine;
  const auto open = [&](std::shared_ptr<arrow::DataType> type) {
    return ParquetWriter::Make({}, arrow::schema({arrow::field("bad one", std::move(type))}), directory / "t.parquet",
                               engine.file_systems.get(), engine.context.get())
        .status();
  };
  ASSERT_FAILS(ErrorKind::kUnsupported, "bad one", open(arrow::month_day_nano_interval()));
  ASSERT_FAILS(ErrorKind::kUnsupported, "bad one", open(arrow::dense_union({arrow::field("x", arrow::int32())})));
  ASSERT_FAILS(ErrorKind::kUnsupported, "bad one", open(arrow::struct_({})));
  EXPECT_TRUE(Names(directory.path()).empty());
}

TEST(ParquetWriter, ValuesThatDoNotFitTheirTypeAreErrors) {
  Directory directory;
  Engine engine;
  // A decimal beyond its precision would lose its upper half, a second beyond the range of milliseconds would wrap around.
  arrow::Decimal128Builder builder(arrow::decimal128(15, 2));
  ASSERT_STATUS_OK(builder.Append(arrow::Decimal128(1, 0)));
  auto wide = OneColumn(builder.Finish().ValueOrDie());
  ASSERT_FAILS(ErrorKind::kExecution, "column \"c\"", WriteTable(*wide, directory / "t.parquet", &engine).status());
  auto late = OneColumn(ArrayOf(arrow::timestamp(arrow::TimeUnit::SECOND), "[9223372036854775807]"));
  ASSERT_FAILS(ErrorKind::kExecution, "out of range", WriteTable(*late, directory / "t.parquet", &engine).status());
  auto missing = OneColumn(ArrayOf(arrow::int32(), "[1, null]"), /*nullable=*/false);
  ASSERT_FAILS(ErrorKind::kExecution, "not null", WriteTable(*missing, directory / "t.parquet", &engine).status());
  EXPECT_TRUE(Names(directory.path()).empty());
}

TEST(ParquetWriter, KeepsFieldIdsAndMetadata) {
  Directory directory;
  Engine engine;
  auto field = arrow::field(
      "c", arrow::list(arrow::field("item", arrow::int64(), true, arrow::key_value_metadata({"PARQUET:field_id"}, {"7"}))), true,
      arrow::key_value_metadata({"PARQUET:field_id"}, {"42"}));
  auto schema = arrow::schema({field}, arrow::key_value_metadata({"owner"}, {"someone"}));
  auto table = arrow::Table::Make(schema, {ArrayOf(field->type(), "[[1]]")});
  ASSERT_STATUS_OK(WriteTable(*table, directory / "t.parquet", &engine).status());
  auto reader = parquet::ParquetFileReader::OpenFile(directory / "t.parquet");
  EXPECT_EQ(reader->metadata()->schema()->group_node()->field(0)->field_id(), 42);
  EXPECT_EQ(reader->metadata()->schema()->Column(0)->schema_node()->field_id(), 7);
  EXPECT_EQ(reader->metadata()->key_value_metadata()->Get("owner").ValueOrDie(), "someone");
  EXPECT_TRUE(reader->metadata()->key_value_metadata()->Contains("ARROW:schema"));
  EXPECT_TRUE(ReadBack(directory / "t.parquet")->schema()->Equals(*schema, /*check_metadata=*/false));
}

TEST(ParquetWriter, NoRowsMakeAValidFile) {
  Directory directory;
  Engine engine;
  auto table = OneColumn(ArrayOf(arrow::utf8(), "[]"));
  ASSERT_STATUS_OK(WriteTable(*table, directory / "t.parquet", &engine).status());
  ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
  WriteSettings parts;
  parts.options.file_size_bytes = 1000;
  ASSERT_STATUS_OK(WriteTable(*table, directory / "parts", &engine, parts).status());
  EXPECT_EQ(Names(directory / "parts"), std::vector<std::string>{"part-00000.parquet"});
}

TEST(ParquetWriter, FailuresLeaveNothing) {
  Directory directory;
  const auto table = ShapesTable(30'000, 9);
  for (const char* point : {"output.create", "output.write", "output.sync", "output.rename", "spill.write"}) {
    for (int64_t hit : {1, 2, 20}) {
      for (bool parts : {false, true}) {
        Engine engine(256, 3);
        WriteSettings settings;
        settings.options.row_group_rows = 20'000;
        settings.resources.budget_bytes = kMiB;
        if (parts) settings.options.file_size_bytes = kMiB;
        arrow::Status status;
        int64_t hits = 0;
        {
          ScopedInjection failure(point,
                                  ScopedInjection::FailOnHit(hit, MakeError(ErrorKind::kDiskLimit, "injected at {}", point)));
          status = WriteTable(*table, directory / "t.parquet", &engine, settings).status();
          hits = failure.hits();
        }
        if (hits < hit) {
          EXPECT_TRUE(status.ok()) << status.ToString();
          std::filesystem::remove_all(directory / "t.parquet");
          continue;
        }
        ASSERT_FAILS(ErrorKind::kDiskLimit, point, status);
        EXPECT_TRUE(Names(directory.path()).empty()) << point << " " << hit;
        EXPECT_EQ(engine.disk->used_bytes(), 0);
      }
    }
  }
}

TEST(ParquetWriter, AbortLeavesNothingAndTheLedgerEmpty) {
  Directory directory;
  Engine engine(64, 2);
  const auto table = ShapesTable(20'000, 10);
  auto writer = ParquetWriter::Make({}, table->schema(), directory / "t.parquet", engine.file_systems.get(), engine.context.get())
                    .ValueOrDie();
  auto batch = table->CombineChunksToBatch().ValueOrDie();
  ASSERT_STATUS_OK(writer->Write(batch));
  writer->Abort();
  EXPECT_TRUE(Names(directory.path()).empty());
  writer.reset();
  engine.ledger->Trim();
  EXPECT_EQ(engine.ledger->reserved_bytes(), 0);
}

TEST(ParquetWriter, BadOptionsAreRefusedBeforeAnythingHappens) {
  Directory directory;
  Engine engine;
  const auto open = [&](const ParquetWriteOptions& options, const std::string& path) {
    return ParquetWriter::Make(options, arrow::schema({arrow::field("c", arrow::int32())}), path, engine.file_systems.get(),
                               engine.context.get())
        .status();
  };
  ParquetWriteOptions options;
  options.compression = "lzo";
  ASSERT_FAILS(ErrorKind::kInvalidInput, "lzo", open(options, directory / "t.parquet"));
  options = {};
  options.compression_level = 3;
  ASSERT_FAILS(ErrorKind::kInvalidInput, "zstd only", open(options, directory / "t.parquet"));
  options.compression = "zstd";
  options.compression_level = 99;
  ASSERT_FAILS(ErrorKind::kInvalidInput, "99", open(options, directory / "t.parquet"));
  options = {};
  options.row_group_rows = 0;
  ASSERT_FAILS(ErrorKind::kInvalidInput, "row_group_rows", open(options, directory / "t.parquet"));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "folder", open({}, directory.path()));
  ASSERT_FAILS(ErrorKind::kNotFound, "does not exist", open({}, directory / "missing/t.parquet"));
  EXPECT_TRUE(Names(directory.path()).empty());
}

}  // namespace
}  // namespace icebound::io
