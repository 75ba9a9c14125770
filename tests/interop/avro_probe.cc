// SPDX-License-Identifier: Apache-2.0
//
// What tests/interop/test_avro.py holds against other implementations:
//
//   avro_probe copy IN OUT CODEC          every record of an Avro file, read and written again
//   avro_probe batches IN SCHEMA OUT      an Avro file as Arrow batches; SCHEMA is an Arrow file whose schema is wanted, OUT
// becomes one
//   avro_probe positions FILE OFFSET SIZE the positions of a deletion vector, one a line
//   avro_probe vector OUT POSITION...     the blob of a deletion vector
//   avro_probe vectors OUT FILE POSITION...  the same for the rows of a data file, in a Puffin file
//   avro_probe wrap IN OUT CODEC          a Puffin file whose only blob is IN, compressed (none, lz4, zstd)
//   avro_probe puffin FILE                type, offset, length and payload (in hex) of each blob
//
// Memory limit: 32 MiB. A failure is one line on stderr and exit code 1.
#include <arrow/io/file.h>
#include <arrow/ipc/api.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/avro/batch_reader.h"
#include "iceberg/avro/record_reader.h"
#include "iceberg/avro/record_writer.h"
#include "iceberg/puffin/deletion_vector.h"
#include "iceberg/puffin/deletion_vector_blob.h"
#include "iceberg/puffin/puffin_file.h"

namespace icebound::iceberg {
namespace {

using avro::Field;
using avro::ValueReader;
using avro::ValueWriter;

/// A record as a tree: what real readers avoid.
struct Value {
  const avro::Node* type = nullptr;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string bytes;
  std::vector<Value> children;  // fields, elements, or keys and values in turn
};

arrow::Status ReadValue(ValueReader& reader, Value* value) {
  value->type = &reader.type();
  const auto read_child = [&](ValueReader& child) { return ReadValue(child, &value->children.emplace_back()); };
  switch (value->type->type) {
    case avro::Type::kNull:
      return reader.Skip();
    case avro::Type::kBoolean:
      return reader.Read(&value->boolean);
    case avro::Type::kInt:
    case avro::Type::kLong:
      return reader.Read(&value->integer);
    case avro::Type::kFloat:
    case avro::Type::kDouble:
      return reader.Read(&value->real);
    case avro::Type::kRecord:
      return reader.ReadRecord([&](const Field&, ValueReader& child) { return read_child(child); });
    case avro::Type::kArray:
      if (value->type->logical == avro::LogicalType::kMap) return reader.ReadMap(read_child, read_child);
      return reader.ReadArray(read_child);
    case avro::Type::kMap:
      return reader.ReadMap(read_child, read_child);
    default:
      return reader.Read(&value->bytes);
  }
}

arrow::Status WriteValue(const Value& value, ValueWriter& writer) {
  const auto count = static_cast<int64_t>(value.children.size());
  const auto child_at = [&](int64_t i) -> const Value& { return value.children[static_cast<size_t>(i)]; };
  const auto write_key = [&](int64_t i, ValueWriter& child) { return WriteValue(child_at(2 * i), child); };
  const auto write_value = [&](int64_t i, ValueWriter& child) { return WriteValue(child_at(2 * i + 1), child); };
  switch (value.type->type) {
    case avro::Type::kNull:
      return writer.WriteNull();
    case avro::Type::kBoolean:
      return writer.Write(value.boolean);
    case avro::Type::kInt:
      return writer.Write(static_cast<int32_t>(value.integer));
    case avro::Type::kLong:
      return writer.Write(value.integer);
    case avro::Type::kFloat:
      return writer.Write(static_cast<float>(value.real));
    case avro::Type::kDouble:
      return writer.Write(value.real);
    case avro::Type::kRecord: {
      int64_t next = 0;
      return writer.WriteRecord([&](const Field&, ValueWriter& child) { return WriteValue(child_at(next++), child); });
    }
    case avro::Type::kArray:
      if (value.type->logical == avro::LogicalType::kMap) return writer.WriteMap(count / 2, write_key, write_value);
      return writer.WriteArray(count, [&](int64_t i, ValueWriter& child) { return WriteValue(child_at(i), child); });
    case avro::Type::kMap:
      return writer.WriteMap(count / 2, write_key, write_value);
    default:
      return writer.Write(value.bytes);
  }
}

arrow::Status Copy(const std::string& in, const std::string& out, const std::string& codec, memory::MemoryConsumer* consumer) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(in));
  avro::ReaderOptions reader_options;
  reader_options.consumer = consumer;
  ARROW_ASSIGN_OR_RAISE(auto reader, avro::RecordReader::Open(file, in, reader_options));
  ARROW_ASSIGN_OR_RAISE(const auto output, arrow::io::FileOutputStream::Open(out));
  avro::WriterOptions writer_options;
  writer_options.consumer = consumer;
  ARROW_ASSIGN_OR_RAISE(writer_options.codec, avro::CodecByName(codec));
  ARROW_ASSIGN_OR_RAISE(auto schema, avro::Schema::Parse(reader->schema().ToJson(), consumer));
  ARROW_ASSIGN_OR_RAISE(auto writer, avro::RecordWriter::Open(output.get(), out, std::move(schema), writer_options));
  for (;;) {
    Value value;
    ARROW_ASSIGN_OR_RAISE(const bool more, reader->Next([&](ValueReader& record) { return ReadValue(record, &value); }));
    if (!more) break;
    ARROW_RETURN_NOT_OK(writer->Append([&](ValueWriter& record) { return WriteValue(value, record); }));
  }
  ARROW_RETURN_NOT_OK(writer->Finish());
  return output->Close();
}

arrow::Status Batches(const std::string& in, const std::string& schema_file, const std::string& out,
                      memory::MemoryConsumer* consumer) {
  ARROW_ASSIGN_OR_RAISE(const auto schema_input, arrow::io::ReadableFile::Open(schema_file));
  ARROW_ASSIGN_OR_RAISE(const auto schema_reader, arrow::ipc::RecordBatchFileReader::Open(schema_input));
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(in));
  avro::BatchReaderOptions options;
  options.file.consumer = consumer;
  options.max_rows = 100;
  ARROW_ASSIGN_OR_RAISE(auto reader, avro::BatchReader::Open(file, in, schema_reader->schema(), options));
  ARROW_ASSIGN_OR_RAISE(const auto output, arrow::io::FileOutputStream::Open(out));
  ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeFileWriter(output, reader->schema()));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, reader->Next());
    if (batch == nullptr) break;
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
  }
  ARROW_RETURN_NOT_OK(writer->Close());
  return output->Close();
}

arrow::Status Positions(const std::string& path, int64_t offset, int64_t size, memory::MemoryConsumer* consumer) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(path));
  ARROW_ASSIGN_OR_RAISE(const auto vector, puffin::DeletionVector::Read(file.get(), path, offset, size, consumer));
  std::vector<int64_t> positions(static_cast<size_t>(vector.cardinality()));
  vector.Positions(0, positions);
  for (const int64_t position : positions) std::printf("%lld\n", static_cast<long long>(position));
  return arrow::Status::OK();
}

arrow::Status WriteVector(const std::string& path, const std::vector<int64_t>& positions, memory::MemoryConsumer* consumer) {
  puffin::DeletionVector vector(consumer);
  ARROW_RETURN_NOT_OK(vector.Add(positions));
  ARROW_ASSIGN_OR_RAISE(const auto blob, vector.Serialize());
  ARROW_ASSIGN_OR_RAISE(const auto output, arrow::io::FileOutputStream::Open(path));
  ARROW_RETURN_NOT_OK(output->Write(blob));
  return output->Close();
}

/// Writes a Puffin file with what `append` appends.
template <typename Append>
arrow::Status WritePuffin(const std::string& path, memory::MemoryConsumer* consumer, const Append& append) {
  ARROW_ASSIGN_OR_RAISE(const auto output, arrow::io::FileOutputStream::Open(path));
  ARROW_ASSIGN_OR_RAISE(auto writer, puffin::PuffinWriter::Open(output.get(), path, consumer));
  ARROW_RETURN_NOT_OK(append(writer.get()));
  ARROW_RETURN_NOT_OK(writer->Finish({{"created-by", "avro_probe"}}));
  return output->Close();
}

arrow::Status WriteVectors(const std::string& path, const std::string& data_file, const std::vector<int64_t>& positions,
                           memory::MemoryConsumer* consumer) {
  puffin::DeletionVector vector(consumer);
  ARROW_RETURN_NOT_OK(vector.Add(positions));
  return WritePuffin(path, consumer, [&](puffin::PuffinWriter* writer) {
    return puffin::AppendDeletionVector(data_file, &vector, writer).status();
  });
}

arrow::Status Wrap(const std::string& in, const std::string& out, const std::string& codec, memory::MemoryConsumer* consumer) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(in));
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
  ARROW_ASSIGN_OR_RAISE(const auto bytes, file->ReadAt(0, size));
  puffin::BlobMetadata metadata;
  metadata.type = "bytes";
  const auto blob_codec = codec == "lz4"    ? puffin::BlobCodec::kLz4
                          : codec == "zstd" ? puffin::BlobCodec::kZstd
                                            : puffin::BlobCodec::kNone;
  return WritePuffin(out, consumer, [&](puffin::PuffinWriter* writer) {
    return writer->Append(metadata, {bytes->data(), static_cast<size_t>(bytes->size())}, blob_codec).status();
  });
}

arrow::Status ShowPuffin(const std::string& path, memory::MemoryConsumer* consumer) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(path));
  ARROW_ASSIGN_OR_RAISE(auto reader, puffin::PuffinReader::Open(file, path, consumer));
  for (const auto& blob : reader->blobs()) {
    ARROW_ASSIGN_OR_RAISE(const auto payload, reader->ReadBlob(blob));
    std::printf("%s %lld %lld %s\n", blob.type.c_str(), static_cast<long long>(blob.offset), static_cast<long long>(blob.length),
                payload->ToHexString().c_str());
  }
  return arrow::Status::OK();
}

arrow::Status Run(const std::vector<std::string>& words) {
  memory::MemoryLedgerOptions options;
  options.limit_bytes = int64_t{32} << 20;
  options.inside_host = true;
  ARROW_ASSIGN_OR_RAISE(const auto ledger, memory::MemoryLedger::Make(options));
  const auto consumer = ledger->AddConsumer("probe");
  const size_t count = words.size();
  if (count == 4 && words[0] == "copy") return Copy(words[1], words[2], words[3], consumer.get());
  if (count == 4 && words[0] == "batches") return Batches(words[1], words[2], words[3], consumer.get());
  if (count == 4 && words[0] == "positions")
    return Positions(words[1], std::stoll(words[2]), std::stoll(words[3]), consumer.get());
  if (count == 2 && words[0] == "puffin") return ShowPuffin(words[1], consumer.get());
  if (count == 4 && words[0] == "wrap") return Wrap(words[1], words[2], words[3], consumer.get());
  std::vector<int64_t> positions;
  if (count >= 2 && words[0] == "vector") {
    for (size_t i = 2; i < count; ++i) positions.push_back(std::stoll(words[i]));
    return WriteVector(words[1], positions, consumer.get());
  }
  if (count >= 3 && words[0] == "vectors") {
    for (size_t i = 3; i < count; ++i) positions.push_back(std::stoll(words[i]));
    return WriteVectors(words[1], words[2], positions, consumer.get());
  }
  return MakeError(ErrorKind::kInvalidInput, "see the head of avro_probe.cc");
}

}  // namespace
}  // namespace icebound::iceberg

int main(int argc, char** argv) {
  const auto status = icebound::iceberg::Run(std::vector<std::string>(argv + 1, argv + argc));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
