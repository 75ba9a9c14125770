// SPDX-License-Identifier: Apache-2.0
#include "io/make_sink.h"

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <parquet/file_reader.h>

#include "base/injection.h"
#include "io/output_testing.h"
#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using testing::ArrayOf;
using testing::Directory;
using testing::Engine;
using testing::FileContent;
using testing::Names;

class MakeSinkTest : public ::testing::Test {
 protected:
  arrow::Status Write(const std::string& name, const CopyOptions& options = {}) {
    auto array = ArrayOf(arrow::int64(), "[1, null, 3]");
    auto schema = arrow::schema({arrow::field("a", arrow::int64())});
    ARROW_ASSIGN_OR_RAISE(auto sink,
                          MakeSink(directory_ / name, options, schema, engine_.file_systems.get(), engine_.context.get()));
    ARROW_RETURN_NOT_OK(sink->Write(arrow::RecordBatch::Make(schema, 3, {array})));
    return sink->Finish();
  }

  Directory directory_;
  Engine engine_;
};

TEST_F(MakeSinkTest, TheExtensionDecides) {
  for (const char* name : {"t.parquet", "t.csv", "t.arrow", "t.json", "t.jsonl", "T.CSV"}) ASSERT_STATUS_OK(Write(name));
  EXPECT_EQ(FileContent(directory_ / "t.csv"), "a\n1\n\n3\n");
  EXPECT_EQ(FileContent(directory_ / "T.CSV"), FileContent(directory_ / "t.csv"));
  EXPECT_EQ(FileContent(directory_ / "t.jsonl"), "{\"a\":1}\n{\"a\":null}\n{\"a\":3}\n");
  EXPECT_EQ(FileContent(directory_ / "t.json"), "[\n{\"a\":1},\n{\"a\":null},\n{\"a\":3}\n]\n");
  EXPECT_EQ(parquet::ParquetFileReader::OpenFile(directory_ / "t.parquet")->metadata()->num_rows(), 3);
  auto reader =
      arrow::ipc::RecordBatchFileReader::Open(arrow::io::ReadableFile::Open(directory_ / "t.arrow").ValueOrDie()).ValueOrDie();
  EXPECT_EQ(reader->CountRows().ValueOrDie(), 3);
}

TEST_F(MakeSinkTest, TheOptionOverrulesTheExtension) {
  ASSERT_STATUS_OK(Write("t.dat", {{"format", "CSV"}}));
  EXPECT_EQ(FileContent(directory_ / "t.dat"), "a\n1\n\n3\n");
  ASSERT_STATUS_OK(
      Write("t.csv", {{"format", "parquet"}, {"compression", "ZSTD"}, {"compression_level", "3"}, {"row_group_size", "2"}}));
  EXPECT_EQ(parquet::ParquetFileReader::OpenFile(directory_ / "t.csv")->metadata()->num_row_groups(), 2);
  ASSERT_STATUS_OK(Write("parts", {{"format", "parquet"}, {"file_size_bytes", "1MB"}}));
  EXPECT_EQ(Names(directory_ / "parts"), std::vector<std::string>{"part-00000.parquet"});
}

TEST_F(MakeSinkTest, BadRequestsLeaveNothing) {
  ASSERT_FAILS(ErrorKind::kInvalidInput, "extension", Write("noextension"));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "\"xml\"", Write("t.xml"));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "did you mean \"compression\"", Write("t.parquet", {{"compresion", "zstd"}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "did you mean \"row_group_size\"", Write("t.parquet", {{"row_group_siz", "1"}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "compression", Write("t.parquet", {{"compression", "lzo"}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "compression_level",
               Write("t.parquet", {{"compression", "zstd"}, {"compression_level", "x"}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "row_group_size", Write("t.parquet", {{"row_group_size", "0"}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "one option under two names",
               Write("t.parquet", {{"row_group_size", "1"}, {"row_group_rows", "1"}}));
  for (const char* size : {"", "-1", "0", "12XB", "50%", "99999999TB", "1e3"}) {
    ASSERT_FAILS(ErrorKind::kInvalidInput, "file_size_bytes", Write("t.parquet", {{"file_size_bytes", size}}));
  }
  ASSERT_FAILS(ErrorKind::kInvalidInput, "did you mean \"header\"", Write("t.csv", {{"headers", "true"}}));
  ASSERT_FAILS(ErrorKind::kNotFound, "does not exist", Write("missing/t.csv"));
  EXPECT_TRUE(Names(directory_.path()).empty());
}

TEST_F(MakeSinkTest, FailuresLeaveNothing) {
  for (const char* name : {"t.parquet", "t.csv", "t.arrow", "t.json", "t.jsonl"}) {
    for (const char* point : {"output.create", "output.write", "output.sync", "output.rename"}) {
      ScopedInjection failure(point, ScopedInjection::FailOnHit(1, MakeError(ErrorKind::kDiskLimit, "injected")));
      ASSERT_FAILS(ErrorKind::kDiskLimit, "injected", Write(name));
      EXPECT_TRUE(Names(directory_.path()).empty()) << name << " " << point;
    }
  }
}

}  // namespace
}  // namespace icebound::io
