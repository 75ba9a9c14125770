// SPDX-License-Identifier: Apache-2.0
#include "iceberg/puffin/deletion_vector_blob.h"

#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "icebound/error.h"
#include "memory/memory_testing.h"

namespace icebound::iceberg::puffin {
namespace {

TEST(DeletionVectorBlob, AFileOfManyVectorsReadsByItsOffsets) {
  const auto ledger = memory::MakeLedger(int64_t{64} << 20);
  const auto consumer = ledger->AddConsumer("deletes");
  const auto output = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto writer = PuffinWriter::Open(output.get(), "d.puffin", consumer.get()).ValueOrDie();
  std::vector<BlobMetadata> written;
  for (int64_t i = 1; i <= 20; ++i) {
    DeletionVector vector(consumer.get());
    ASSERT_TRUE(vector.Add(std::vector<int64_t>{i, i * 10, i * 100}).ok());
    written.push_back(AppendDeletionVector("s3://b/" + std::to_string(i), &vector, writer.get()).ValueOrDie());
  }
  DeletionVector empty(consumer.get());
  EXPECT_EQ(GetErrorKind(AppendDeletionVector("x", &empty, writer.get()).status()), ErrorKind::kInternal);
  ASSERT_TRUE(writer->Finish({{"created-by", "icebound"}}).ok());
  const auto file = std::make_shared<arrow::io::BufferReader>(*output->Finish());
  const auto reader = PuffinReader::Open(file, "d.puffin", consumer.get()).ValueOrDie();
  ASSERT_EQ(reader->blobs().size(), 20U);
  for (size_t i = 0; i < 20; ++i) {
    const BlobMetadata& blob = reader->blobs()[i];
    EXPECT_EQ(blob.property("referenced-data-file"), "s3://b/" + std::to_string(i + 1));
    EXPECT_EQ(blob.property("cardinality"), "3");
    EXPECT_EQ(blob.snapshot_id, -1);
    EXPECT_EQ(blob.sequence_number, -1);
    EXPECT_EQ(blob.offset, written[i].offset);
    EXPECT_EQ(blob.length, written[i].length);
    const auto vector = DeletionVector::Read(file.get(), "d.puffin", blob.offset, blob.length, consumer.get()).ValueOrDie();
    EXPECT_TRUE(vector.Contains(static_cast<int64_t>(i + 1) * 100));
    EXPECT_EQ(vector.cardinality(), 3);
  }
}

}  // namespace
}  // namespace icebound::iceberg::puffin
