// SPDX-License-Identifier: Apache-2.0
//
// Avro container files: every record walked to its leaves, and read as batches of a fixed schema.
#include <arrow/io/memory.h>
#include <arrow/util/key_value_metadata.h>

#include <string>
#include <vector>

#include "fuzz/fuzz_memory.h"
#include "iceberg/avro/batch_reader.h"
#include "iceberg/avro/record_reader.h"
#include "iceberg/avro/record_writer.h"

namespace {

using namespace icebound;                 // NOLINT
using namespace icebound::iceberg::avro;  // NOLINT

constexpr char kSchema[] = R"({"type":"record","name":"row","fields":[
  {"name":"l","field-id":1,"type":["null","long"],"default":null}, {"name":"s","field-id":2,"type":"string"},
  {"name":"d","field-id":3,"type":{"type":"fixed","name":"f","size":5,"logicalType":"decimal","precision":11,"scale":3}},
  {"name":"r","field-id":4,"type":["null",{"type":"record","name":"r4","fields":[{"name":"x","field-id":5,"type":"double"},
      {"name":"a","field-id":6,"type":{"type":"array","items":["null","int"],"element-id":7}}]}]},
  {"name":"m","field-id":8,"type":{"type":"map","values":"bytes","key-id":9,"value-id":10}},
  {"name":"k","field-id":11,"type":{"type":"array","logicalType":"map","items":{"type":"record","name":"k11","fields":[
      {"name":"key","field-id":12,"type":"int"},{"name":"value","field-id":13,"type":"long"}]}}},
  {"name":"n","field-id":14,"type":{"type":"array","items":"null","element-id":15}},
  {"name":"next","type":["null","row"]}]})";

arrow::Status Walk(ValueReader& value) {
  switch (value.type().type) {
    case Type::kRecord:
      return value.ReadRecord([](const Field&, ValueReader& child) { return Walk(child); });
    case Type::kArray:
      return value.ReadArray([](ValueReader& child) { return Walk(child); });
    case Type::kMap:
      return value.ReadMap([](ValueReader& key) { return Walk(key); }, [](ValueReader& child) { return Walk(child); });
    case Type::kString: {
      std::string_view text;
      return value.Read(&text);
    }
    default:
      return arrow::Status::OK();
  }
}

std::shared_ptr<arrow::Field> Column(const char* name, int id, std::shared_ptr<arrow::DataType> type, bool nullable = true) {
  return arrow::field(name, std::move(type), nullable, arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(id)}));
}

std::shared_ptr<arrow::Schema> Wanted() {
  return arrow::schema({
      Column("l", 1, arrow::int64()),
      Column("s", 2, arrow::utf8()),
      Column("d", 3, arrow::decimal128(11, 3)),
      Column(
          "r", 4,
          arrow::struct_({Column("a", 6, arrow::list(Column("element", 7, arrow::int64()))), Column("new", 99, arrow::utf8())})),
      Column("m", 8,
             std::make_shared<arrow::MapType>(Column("key", 9, arrow::utf8(), false), Column("value", 10, arrow::binary()))),
      Column("k", 11,
             std::make_shared<arrow::MapType>(Column("key", 12, arrow::int32(), false), Column("value", 13, arrow::int64()))),
      Column("n", 14, arrow::list(Column("element", 15, arrow::null()))),
  });
}

arrow::Status ReadRecords(const std::shared_ptr<arrow::io::RandomAccessFile>& file, memory::MemoryConsumer* consumer) {
  ReaderOptions options;
  options.consumer = consumer;
  ARROW_ASSIGN_OR_RAISE(auto reader, RecordReader::Open(file, "fuzz", options));
  // A schema that was read can be written and read again.
  ARROW_ASSIGN_OR_RAISE(const auto again, Schema::Parse(reader->schema().ToJson(), consumer));
  FUZZ_CHECK(again->ToJson() == reader->schema().ToJson());
  for (bool more = true; more;) {
    ARROW_ASSIGN_OR_RAISE(more, reader->Next([](ValueReader& record) { return Walk(record); }));
  }
  return arrow::Status::OK();
}

arrow::Status ReadBatches(const std::shared_ptr<arrow::io::RandomAccessFile>& file, memory::MemoryConsumer* consumer) {
  BatchReaderOptions options;
  options.file.consumer = consumer;
  options.max_rows = 50;
  ARROW_ASSIGN_OR_RAISE(auto reader, BatchReader::Open(file, "fuzz", Wanted(), options));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, reader->Next());
    if (batch == nullptr) return arrow::Status::OK();
    const arrow::Status valid = batch->ValidateFull();
    if (!valid.ok()) std::fprintf(stderr, "%s\n", valid.ToString().c_str());
    FUZZ_CHECK(valid.ok());
  }
}

arrow::Status WriteRow(int64_t row, ValueWriter& record) {
  return record.WriteRecord([&](const Field& field, ValueWriter& value) -> arrow::Status {
    switch (field.id) {
      case 1:
        return row % 3 == 0 ? value.WriteNull() : value.Write(row << (row % 60));
      case 2:
        return value.Write("row " + std::to_string(row));
      case 3:
        return value.Write(std::string(5, static_cast<char>(row % 3)));
      case 4:
        return row % 2 == 0 ? value.WriteNull() : value.WriteRecord([](const Field& inner, ValueWriter& child) {
          return inner.id == 5 ? child.Write(1.5) : child.Write(std::vector<std::optional<int32_t>>{1, std::nullopt, 3});
        });
      case 8:
        return value.Write(std::map<std::string, std::string>{{"a", "b"}});
      case 11:
        return value.Write(std::map<int32_t, int64_t>{{1, 2}, {3, 4}});
      case 14:
        return value.WriteArray(row % 4, [](int64_t, ValueWriter& child) { return child.WriteNull(); });
      default:
        // A row inside the row.
        return row % 5 == 1 ? WriteRow(row + 1, value) : value.WriteNull();
    }
  });
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  fuzz::FuzzMemory memory;
  std::vector<std::string> seeds;
  for (const Codec codec : {Codec::kNull, Codec::kDeflate, Codec::kSnappy, Codec::kZstandard}) {
    const auto output = arrow::io::BufferOutputStream::Create().ValueOrDie();
    WriterOptions options;
    options.consumer = memory.consumer();
    options.codec = codec;
    options.block_bytes = 300;
    auto schema = Schema::Parse(kSchema, memory.consumer()).ValueOrDie();
    auto writer = RecordWriter::Open(output.get(), "seed", std::move(schema), options).ValueOrDie();
    for (int64_t row = 0; row < 30; ++row) {
      FUZZ_CHECK(writer->Append([&](ValueWriter& record) { return WriteRow(row, record); }).ok());
    }
    FUZZ_CHECK(writer->Finish().ok());
    seeds.push_back((*output->Finish())->ToString());
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::FuzzMemory memory;
  const auto file = std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(data, static_cast<int64_t>(size)));
  for (const auto& read : {ReadRecords, ReadBatches}) {
    const arrow::Status status = read(file, memory.consumer());
    if (!status.ok()) fuzz::ExpectErrorOfInput(status);
  }
  memory.ExpectNothingHeld();
  return 0;
}
