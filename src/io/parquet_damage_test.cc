// SPDX-License-Identifier: Apache-2.0
//
// Files that are not what they claim to be: each is a clear error of the right kind that names the file, never a crash, a hang or
// a wrong row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "io/parquet_testing.h"
#include "io/thrift_compact.h"

namespace icebound::io {
namespace {

using testing::ArrayOf;
using testing::Collect;
using testing::Directory;
using testing::Engine;
using ::testing::HasSubstr;
using testing::ReadTable;
using testing::WholeTable;
using testing::WriteFile;

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::shared_ptr<arrow::Table> SmallTable(int64_t rows) {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_TRUE(ids.Append(i).ok());
    EXPECT_TRUE((i % 5 == 0 ? texts.AppendNull() : texts.Append(fmt::format("text {}", i % 40))).ok());
    EXPECT_TRUE(lists.Append().ok());
    for (int64_t k = 0; k < i % 3; ++k)
      EXPECT_TRUE(static_cast<arrow::Int32Builder*>(lists.value_builder())->Append(static_cast<int32_t>(k)).ok());
  }
  return arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8()),
                                           arrow::field("list", arrow::list(arrow::int32()))}),
                            {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie(), lists.Finish().ValueOrDie()});
}

class ParquetDamage : public ::testing::Test {
 protected:
  arrow::Status Read(const std::string& bytes, int64_t limit_mib = 64) {
    WriteBytes(path_, bytes);
    Engine engine(limit_mib);
    return ReadTable(path_, &engine).status();
  }
  void ExpectError(const std::string& bytes, ErrorKind kind, const std::string& words) {
    const arrow::Status status = Read(bytes);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(GetErrorKind(status), kind) << status.ToString();
    EXPECT_THAT(status.message(), ::testing::AllOf(HasSubstr(path_), HasSubstr(words)));
  }
  void ExpectKindOfDamage(const arrow::Status& status) const {
    const auto kind = GetErrorKind(status);
    EXPECT_TRUE(kind == ErrorKind::kCorruptData || kind == ErrorKind::kUnsupported || kind == ErrorKind::kMemoryLimit)
        << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(path_));
  }
  std::string GoodFile(int64_t rows = 1000, std::function<void(parquet::WriterProperties::Builder*)> adjust = nullptr) {
    WriteFile(path_, *SmallTable(rows), {.row_group_rows = 400, .adjust = std::move(adjust)});
    return ReadBytes(path_);
  }

  Directory directory_;
  const std::string path_ = directory_ / "t.parquet";
};

TEST_F(ParquetDamage, WhatIsNoParquetFile) {
  ExpectError("", ErrorKind::kCorruptData, "is empty");
  ExpectError("PAR1", ErrorKind::kCorruptData, "cut short");
  ExpectError("hello", ErrorKind::kCorruptData, "not a Parquet file");
  ExpectError("a,b\n1,2\n3,4\n5,6\n", ErrorKind::kCorruptData, "not a Parquet file");
  ExpectError("PAR1PAR1", ErrorKind::kCorruptData, "cut short");
  ExpectError("PAR1" + std::string(20, 'x') + "PARE", ErrorKind::kUnsupported, "encrypted");
  ExpectError(std::string("PAR1\xff\xff\xff\xffPAR1", 12), ErrorKind::kCorruptData, "claims");
  ExpectError(std::string("PAR1\0\0\0\0PAR1", 12), ErrorKind::kCorruptData, "footer");
}

TEST_F(ParquetDamage, CutFiles) {
  const std::string good = GoodFile();
  for (const size_t cut : {good.size() - 1, good.size() - 8, good.size() / 2, size_t{100}, size_t{12}, size_t{5}}) {
    ExpectError(good.substr(0, cut), ErrorKind::kCorruptData, "cut short");
  }
  // A hole in the middle: the footer is there, and everything it says is shifted.
  const arrow::Status status = Read(good.substr(0, 200) + good.substr(400));
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(path_));
}

TEST_F(ParquetDamage, MissingFilesAndClosedDoors) {
  Engine engine;
  EXPECT_EQ(GetErrorKind(engine.Open(directory_ / "none.parquet").status()), ErrorKind::kNotFound);
  EXPECT_EQ(GetErrorKind(engine.Open(directory_.path()).status()), ErrorKind::kNotFound);
  if (geteuid() == 0) GTEST_SKIP() << "nothing is closed to root";
  GoodFile();
  ASSERT_EQ(chmod(path_.c_str(), 0), 0);
  const arrow::Status status = engine.Open(path_).status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kIo);
  EXPECT_THAT(status.message(), HasSubstr("ermission denied"));
}

TEST_F(ParquetDamage, ErrorsNameRowGroupAndColumn) {
  const std::string good =
      GoodFile(1000, [](auto* builder) { builder->enable_page_checksum()->compression(arrow::Compression::SNAPPY); });
  const auto footer = parquet::ReadMetaData(arrow::io::ReadableFile::Open(path_).ValueOrDie());
  // A byte in the middle of a data page of the second row group's text column.
  const auto chunk = footer->RowGroup(1)->ColumnChunk(1);
  std::string bad = good;
  bad[static_cast<size_t>(chunk->data_page_offset() + 60)] ^= 0x40;
  const arrow::Status status = Read(bad);
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData);
  EXPECT_THAT(status.message(), ::testing::AllOf(HasSubstr(path_), HasSubstr("row group 1"), HasSubstr("\"text\"")));
}

TEST_F(ParquetDamage, AFlippedBitInAPageWithAChecksumIsAlwaysFound) {
  for (const auto codec : {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY, arrow::Compression::ZSTD}) {
    const std::string good = GoodFile(1000, [&](auto* builder) { builder->enable_page_checksum()->compression(codec); });
    const auto footer = parquet::ReadMetaData(arrow::io::ReadableFile::Open(path_).ValueOrDie());
    for (int leaf = 0; leaf < 3; ++leaf) {
      const auto chunk = footer->RowGroup(0)->ColumnChunk(leaf);
      const int64_t start = std::min(chunk->data_page_offset(),
                                     chunk->has_dictionary_page() ? chunk->dictionary_page_offset() : chunk->data_page_offset());
      const int64_t end = start + chunk->total_compressed_size();
      for (int64_t back = 1; back <= 20; back += 3) {  // the last page's bytes
        std::string bad = good;
        bad[static_cast<size_t>(end - back)] ^= static_cast<char>(1 << (back % 8));
        const arrow::Status status = Read(bad);
        EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData)
            << "leaf " << leaf << " byte " << back << ": " << status.ToString();
      }
    }
  }
}

/// Flips anywhere: in page headers, indexes and the footer, which no checksum protects, a flip may make another valid file. It
/// must not do worse.
TEST_F(ParquetDamage, FlippedBitsGiveErrorsOrValidTables) {
  std::mt19937_64 random(42);
  for (const auto codec : {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY, arrow::Compression::ZSTD}) {
    const std::string good = GoodFile(1000, [&](auto* builder) {
      builder->enable_page_checksum()->compression(codec)->data_pagesize(500);
      builder->data_page_version(codec == arrow::Compression::ZSTD ? parquet::ParquetDataPageVersion::V2
                                                                   : parquet::ParquetDataPageVersion::V1);
    });
    const auto footer = parquet::ReadMetaData(arrow::io::ReadableFile::Open(path_).ValueOrDie());
    const size_t footer_start = good.size() - 8 - static_cast<size_t>(footer->size());
    int errors = 0;
    for (int i = 0; i < 300; ++i) {
      std::string bad = good;
      // Half of the flips in the footer, where most of the meaning is.
      const size_t at = i % 2 == 0 ? random() % good.size() : footer_start + random() % (good.size() - footer_start);
      bad[at] = static_cast<char>(bad[at] ^ (1 << (random() % 8)));
      WriteBytes(path_, bad);
      SCOPED_TRACE(
          fmt::format("codec {}, byte {} of {} (footer from {})", static_cast<int>(codec), at, good.size(), footer_start));
      Engine engine(64);
      const auto table = ReadTable(path_, &engine);
      if (!table.ok()) {
        ++errors;
        ExpectKindOfDamage(table.status());
      } else {
        EXPECT_TRUE((*table)->ValidateFull().ok());
      }
    }
    EXPECT_GT(errors, 100);
  }
}

TEST_F(ParquetDamage, RandomBlocksOfNoise) {
  std::mt19937_64 random(43);
  const std::string good = GoodFile(1000, [](auto* builder) { builder->compression(arrow::Compression::SNAPPY); });
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    const size_t at = random() % bad.size();
    const size_t length = std::min<size_t>(bad.size() - at, 1 + random() % 64);
    for (size_t k = 0; k < length; ++k) bad[at + k] = static_cast<char>(i % 3 == 0 ? 0 : i % 3 == 1 ? 0xff : random());
    const arrow::Status status = Read(bad);
    if (!status.ok()) ExpectKindOfDamage(status);
  }
}

/// Finds the page header at `offset` and writes another uncompressed size over the old one, which must take as many bytes.
void SetUncompressedSize(std::string* bytes, size_t offset, int32_t size) {
  std::string header;
  ThriftAppender appender(&header);
  appender.Field(2, ThriftType::kI32);
  appender.Integer(size);
  // PageHeader begins with field 1, the type: two bytes.
  for (size_t i = 1; i < header.size(); ++i) (*bytes)[offset + 2 + i] = header[i];
}

TEST_F(ParquetDamage, ADecompressionBombIsFoundBeforeItGoesOff) {
  // One page of zeros: its sizes take five bytes each as written here, so that they can be overwritten in place.
  arrow::Int64Builder builder;
  ASSERT_TRUE(builder.AppendValues(std::vector<int64_t>(40 << 20 >> 3, 0)).ok());
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("zeros", arrow::int64(), false)}), {builder.Finish().ValueOrDie()});
  WriteFile(path_, *table, {.row_group_rows = 100 << 20, .adjust = [](auto* properties) {
                              properties->compression(arrow::Compression::ZSTD)
                                  ->disable_dictionary()
                                  ->data_pagesize(1 << 30)
                                  ->max_rows_per_page(1 << 30);
                              properties->write_batch_size(1 << 30);
                            }});
  std::string bytes = ReadBytes(path_);
  const auto footer = parquet::ReadMetaData(arrow::io::ReadableFile::Open(path_).ValueOrDie());
  const auto offset = static_cast<size_t>(footer->RowGroup(0)->ColumnChunk(0)->data_page_offset());
  {
    // As it is, the page is simply larger than the limit allows: raising the limit helps, and the message says so.
    Engine engine(32);
    const arrow::Status status = ReadTable(path_, &engine).status();
    EXPECT_TRUE(status.ok() || GetErrorKind(status) == ErrorKind::kMemoryLimit) << status.ToString();
  }
  SetUncompressedSize(&bytes, offset, 100 << 20);
  const arrow::Status status = Read(bytes, 512);
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData) << status.ToString();
  EXPECT_THAT(status.message(),
              ::testing::AllOf(HasSubstr("claims to decompress"), HasSubstr("zeros"), HasSubstr("row group 0")));
}

class ParquetChange : public ParquetDamage {
 protected:
  /// Reads one batch, changes the file, and reads on to the end.
  arrow::Status ReadWhile(const std::function<void()>& change) {
    Engine engine;
    engine.context->batch_rows = 50;
    auto table = engine.Open(path_).ValueOrDie();
    auto source = table->Scan(WholeTable(*table), engine.context.get()).ValueOrDie();
    auto stream = source->OpenStream().ValueOrDie();
    EXPECT_TRUE(stream->Next().ok());
    change();
    while (true) {
      auto batch = stream->Next();
      if (!batch.ok() || *batch == nullptr) return batch.status();
    }
  }
};

TEST_F(ParquetChange, IsFoundHoweverTheFileChanges) {
  const std::string good = GoodFile(3000);
  const std::vector<std::pair<std::string, std::function<void()>>> changes = {
      {"appended", [&] { std::ofstream(path_, std::ios::app) << "more"; }},
      {"truncated", [&] { ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(good.size() / 2)), 0); }},
      {"overwritten in place", [&] { WriteBytes(path_, std::string(good.size(), '\0')); }},
      {"replaced",
       [&] {
         WriteBytes(directory_ / "other", good);
         std::filesystem::rename(directory_ / "other", path_);
       }},
      {"deleted", [&] { std::filesystem::remove(path_); }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    std::filesystem::remove(path_);
    WriteBytes(path_, good);
    usleep(20000);  // a clock tick of the file system
    const arrow::Status status = ReadWhile(change);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData) << status.ToString();
    EXPECT_THAT(status.message(), ::testing::AllOf(HasSubstr("changed while it was read"), HasSubstr(path_)));
  }
}

TEST_F(ParquetChange, BetweenOpeningAndScanningIsFoundToo) {
  GoodFile();
  Engine engine;
  auto table = engine.Open(path_).ValueOrDie();
  WriteFile(path_, *SmallTable(10));
  const auto batches = Collect(*table, WholeTable(*table), &engine);
  ASSERT_FALSE(batches.ok());
  EXPECT_THAT(batches.status().message(), HasSubstr("changed while it was read"));
}

TEST(ThriftWalkerTest, EndsOnAnyInput) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    ThriftWalker walker(
        [&](int64_t offset) -> arrow::Result<std::string_view> {
          return std::string_view(bytes).substr(static_cast<size_t>(offset), 1 + random() % 7);
        },
        static_cast<int64_t>(bytes.size()));
    const arrow::Status status = walker.Skip(ThriftType::kStruct);
    EXPECT_LE(walker.offset(), static_cast<int64_t>(bytes.size()));
    EXPECT_TRUE(status.ok() || status.IsInvalid());
  }
}

TEST(ThriftWalkerTest, RefusesDeepNesting) {
  const std::string bytes(1000, '\x1c');  // field 1, a struct, in a struct, in a struct...
  ThriftWalker walker(
      [&](int64_t offset) -> arrow::Result<std::string_view> {
        return std::string_view(bytes).substr(static_cast<size_t>(offset));
      },
      1000);
  EXPECT_THAT(walker.Skip(ThriftType::kStruct).message(), HasSubstr("levels deep"));
}

TEST(ThriftWalkerTest, ReadsWhatTheAppenderWrites) {
  std::string bytes;
  ThriftAppender appender(&bytes);
  appender.Field(1, ThriftType::kI32);
  appender.Integer(-5);
  appender.Field(20, ThriftType::kBinary);
  appender.Binary("twenty");
  appender.FieldInFull(21, ThriftType::kList);
  appender.List(20, ThriftType::kI64);
  for (int64_t i = 0; i < 20; ++i) appender.Integer(i << 40);
  appender.Field(22, ThriftType::kStruct);
  appender.BeginStruct();
  appender.Field(1, ThriftType::kTrue);
  appender.EndStruct();
  appender.Field(23, ThriftType::kI64);
  appender.Integer(INT64_MIN);
  bytes.push_back('\0');

  ThriftWalker walker(
      [&](int64_t offset) -> arrow::Result<std::string_view> {
        return std::string_view(bytes).substr(static_cast<size_t>(offset));
      },
      static_cast<int64_t>(bytes.size()));
  int16_t id = 0;
  const auto next = [&](int16_t expected_id, ThriftType expected_type) {
    const auto field = walker.ReadField(id).ValueOrDie();
    EXPECT_EQ(field.id, expected_id);
    EXPECT_EQ(field.type, expected_type);
    id = field.id;
  };
  next(1, ThriftType::kI32);
  EXPECT_EQ(walker.ReadInteger().ValueOrDie(), -5);
  next(20, ThriftType::kBinary);
  ASSERT_TRUE(walker.Skip(ThriftType::kBinary).ok());
  next(21, ThriftType::kList);
  EXPECT_EQ(walker.ReadList().ValueOrDie().size, 20);
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(walker.ReadInteger().ValueOrDie(), i << 40);
  next(22, ThriftType::kStruct);
  ASSERT_TRUE(walker.Skip(ThriftType::kStruct).ok());
  next(23, ThriftType::kI64);
  EXPECT_EQ(walker.ReadInteger().ValueOrDie(), INT64_MIN);
  EXPECT_EQ(walker.ReadField(id).ValueOrDie().type, ThriftType::kStop);
  EXPECT_EQ(walker.offset(), static_cast<int64_t>(bytes.size()));
}

}  // namespace
}  // namespace icebound::io
