// SPDX-License-Identifier: Apache-2.0
//
// Puffin files, and deletion vectors under a checksum that is right.
#include <arrow/io/memory.h>
#include <arrow/util/crc32.h>

#include <cstring>
#include <string>
#include <vector>

#include "fuzz/fuzz_memory.h"
#include "iceberg/puffin/deletion_vector.h"
#include "iceberg/puffin/puffin_file.h"

namespace {

using namespace icebound;                   // NOLINT
using namespace icebound::iceberg::puffin;  // NOLINT

arrow::Status ReadFile(const std::shared_ptr<arrow::io::RandomAccessFile>& file, memory::MemoryConsumer* consumer) {
  ARROW_ASSIGN_OR_RAISE(auto reader, PuffinReader::Open(file, "fuzz", consumer));
  for (const BlobMetadata& blob : reader->blobs()) {
    const auto payload = reader->ReadBlob(blob);
    if (!payload.ok()) fuzz::ExpectErrorOfInput(payload.status());
  }
  return arrow::Status::OK();
}

/// Takes the bytes for a vector, whose frame it makes right.
arrow::Status ReadVector(const uint8_t* data, size_t size, memory::MemoryConsumer* consumer) {
  const std::string body = std::string("\xd1\xd3\x39\x64") + std::string(reinterpret_cast<const char*>(data), size);
  const auto big_endian = [](uint32_t value) {
    return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
                       static_cast<char>(value)};
  };
  const std::string blob =
      big_endian(static_cast<uint32_t>(body.size())) + body + big_endian(arrow::internal::crc32(0, body.data(), body.size()));
  ARROW_ASSIGN_OR_RAISE(auto vector,
                        DeletionVector::Parse({reinterpret_cast<const uint8_t*>(blob.data()), blob.size()}, consumer));
  // What was accepted can be used.
  std::vector<int64_t> positions(1000);
  const int64_t count = vector.Positions(0, positions);
  for (int64_t i = 0; i < count; ++i) FUZZ_CHECK(vector.Contains(positions[static_cast<size_t>(i)]));
  std::vector<uint8_t> bits(1000, 0xff);
  FUZZ_CHECK(vector.ClearDeleted(0, 8000, bits.data()) <= vector.cardinality());
  DeletionVector other(consumer);
  ARROW_RETURN_NOT_OK(other.Add(std::vector<int64_t>{1, 100, 70000}));
  ARROW_RETURN_NOT_OK(vector.Union(other));
  const int64_t cardinality = vector.cardinality();
  ARROW_ASSIGN_OR_RAISE(const auto again, vector.Serialize());
  ARROW_ASSIGN_OR_RAISE(const auto parsed, DeletionVector::Parse({again->data(), static_cast<size_t>(again->size())}, consumer));
  FUZZ_CHECK(parsed.cardinality() == cardinality);
  return arrow::Status::OK();
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  fuzz::FuzzMemory memory;
  std::vector<std::string> seeds;
  // Arrays, bitmaps and runs; two keys.
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < 5000; ++i) positions.push_back(i * 2);
  for (int64_t i = 0; i < 100; ++i)
    positions.insert(positions.end(), {100000 + i, 200000 + i * 7, (int64_t{3} << 32) + i * 70000});
  DeletionVector vector(memory.consumer());
  FUZZ_CHECK(vector.Add(positions).ok());
  const auto blob = vector.Serialize().ValueOrDie();
  seeds.push_back(blob->ToString().substr(8, static_cast<size_t>(blob->size()) - 12));
  FUZZ_CHECK(vector.Add(std::vector<int64_t>{1}).ok());
  for (const BlobCodec codec : {BlobCodec::kNone, BlobCodec::kLz4}) {
    const auto output = arrow::io::BufferOutputStream::Create().ValueOrDie();
    auto writer = PuffinWriter::Open(output.get(), "seed", memory.consumer()).ValueOrDie();
    BlobMetadata metadata;
    metadata.type = std::string(kDeletionVectorType);
    metadata.fields = {2147483546};
    metadata.properties = {{"cardinality", "3"}};
    const std::string payload(2000, 'x');
    for (const BlobCodec blob_codec : {BlobCodec::kNone, BlobCodec::kLz4, BlobCodec::kZstd}) {
      FUZZ_CHECK(writer->Append(metadata, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()}, blob_codec).ok());
    }
    FUZZ_CHECK(writer->Finish({{"created-by", "fuzz"}}, codec).ok());
    seeds.push_back((*output->Finish())->ToString());
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::FuzzMemory memory;
  arrow::Status status =
      ReadFile(std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(data, static_cast<int64_t>(size))),
               memory.consumer());
  if (!status.ok()) fuzz::ExpectErrorOfInput(status);
  status = ReadVector(data, size, memory.consumer());
  if (!status.ok()) fuzz::ExpectErrorOfInput(status);
  memory.ExpectNothingHeld();
  return 0;
}
