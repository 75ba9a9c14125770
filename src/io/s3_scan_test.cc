// SPDX-License-Identifier: Apache-2.0
//
// Reading from a real S3 server; tests/servers/s3_server.sh starts one and sets the variables. Without it these tests are
// skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using testing::ArrayOf;
using testing::Engine;
using ::testing::HasSubstr;
using testing::WriteFile;

class S3 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("ICEBOUND_TEST_S3_ENDPOINT") == nullptr)
      GTEST_SKIP() << "no S3 server: run through tests/servers/s3_server.sh";
    folder_ = std::getenv("ICEBOUND_TEST_S3_FOLDER");
    properties_ = {{"s3.endpoint", std::getenv("ICEBOUND_TEST_S3_ENDPOINT")},
                   {"s3.access-key-id", std::getenv("ICEBOUND_TEST_S3_KEY")},
                   {"s3.secret-access-key", std::getenv("ICEBOUND_TEST_S3_SECRET")},
                   {"s3.region", "us-east-1"}};
  }
  std::string Uri(const std::string& key) const { return fmt::format("s3://{}/{}", std::getenv("ICEBOUND_TEST_S3_BUCKET"), key); }
  std::string Behind(const std::string& key) const {
    const std::string path = folder_ + "/" + key;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    return path;
  }

  std::string folder_;
  StorageProperties properties_;
};

std::shared_ptr<arrow::Table> Numbers(int64_t begin, int64_t end) {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  for (int64_t i = begin; i < end; ++i)
    EXPECT_TRUE(ids.Append(i).ok() && texts.Append(fmt::format("text of {}", i * 7919 % 100003)).ok());
  return arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("t", arrow::utf8())}),
                            {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
}

TEST_F(S3, ScansATableOfManyFiles) {
  constexpr int64_t kRows = 30000;
  for (int i = 0; i < 5; ++i)
    WriteFile(Behind(fmt::format("many/part={}/f.parquet", i)), *Numbers(i * kRows, (i + 1) * kRows), {.row_group_rows = 7000});
  std::ofstream(Behind("many/_SUCCESS")) << "";
  Engine engine(64, 1, properties_);
  for (const std::string& name : {std::string("many"), std::string("many/"), std::string("many/*/f.parquet"),
                                  std::string("many/**/*.parquet"), std::string("many/part={0,1,2,3,4}/f.parquet")}) {
    SCOPED_TRACE(name);
    const auto table = testing::ReadTable(Uri(name), &engine);
    ASSERT_TRUE(table.ok()) << table.status().ToString();
    EXPECT_EQ((*table)->num_rows(), 5 * kRows);
    EXPECT_TRUE((*table)->Equals(*Numbers(0, 5 * kRows)));
  }
}

TEST_F(S3, ReadsInRangesWithinTheLimit) {
  constexpr int64_t kRows = 400000;
  WriteFile(Behind("large.parquet"), *Numbers(0, kRows),
            {.row_group_rows = 100000, .adjust = [](auto* builder) { builder->disable_dictionary(); }});
  const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(Behind("large.parquet")));
  Engine engine(32, 2, properties_);
  auto table = engine.Open(Uri("large.parquet")).ValueOrDie();
  auto source = table->Scan(testing::WholeTable(*table), engine.context.get()).ValueOrDie();
  std::atomic<int64_t> rows{0}, sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < source->max_streams(); ++i) {
    threads.emplace_back([&] {
      auto stream = source->OpenStream().ValueOrDie();
      while (auto batch = stream->Next().ValueOrDie()) {
        rows += batch->num_rows();
        for (int64_t r = 0; r < batch->num_rows(); ++r) sum += static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(r);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(sum, kRows * (kRows - 1) / 2);
  EXPECT_LE(engine.ledger->peak_bytes(), engine.ledger->granted_bytes());
  EXPECT_LT(engine.metrics.input_bytes, file_bytes * 11 / 10);
}

TEST_F(S3, OneColumnIsAFractionOfTheFile) {
  WriteFile(Behind("columns.parquet"), *Numbers(0, 200000), {.adjust = [](auto* builder) { builder->disable_dictionary(); }});
  Engine engine(64, 1, properties_);
  auto table = engine.Open(Uri("columns.parquet")).ValueOrDie();
  ASSERT_TRUE(testing::Collect(*table, {.projection = {0}}, &engine).ok());
  EXPECT_LT(engine.metrics.input_bytes, static_cast<int64_t>(std::filesystem::file_size(Behind("columns.parquet"))) / 2);
}

TEST_F(S3, ErrorsNameTheObject) {
  Engine engine(64, 1, properties_);
  const auto missing = engine.Open(Uri("nothing/here.parquet")).status();
  EXPECT_EQ(GetErrorKind(missing), ErrorKind::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr(Uri("nothing/here.parquet")));
  std::ofstream(Behind("bad.parquet")) << "this is no Parquet file, whatever its name is";
  const auto bad = engine.Open(Uri("bad.parquet")).status();
  EXPECT_EQ(GetErrorKind(bad), ErrorKind::kCorruptData);
  EXPECT_THAT(bad.message(), HasSubstr(Uri("bad.parquet")));

  StorageProperties wrong = properties_;
  wrong["s3.secret-access-key"] = "wrong";
  Engine stranger(64, 1, wrong);
  EXPECT_EQ(GetErrorKind(stranger.Open(Uri("bad.parquet")).status()), ErrorKind::kIo);
  wrong["s3.endpoint"] = "http://127.0.0.1:9";
  wrong["s3.connect-timeout"] = "1";
  Engine nowhere(64, 1, wrong);
  EXPECT_EQ(GetErrorKind(nowhere.Open(Uri("bad.parquet")).status()), ErrorKind::kIo);
}

TEST_F(S3, AnObjectReplacedWhileItIsReadIsFound) {
  WriteFile(Behind("changing.parquet"), *Numbers(0, 50000), {.row_group_rows = 10000});
  Engine engine(64, 1, properties_);
  engine.context->batch_rows = 100;
  auto table = engine.Open(Uri("changing.parquet")).ValueOrDie();
  auto source = table->Scan(testing::WholeTable(*table), engine.context.get()).ValueOrDie();
  auto stream = source->OpenStream().ValueOrDie();
  ASSERT_TRUE(stream->Next().ok());
  WriteFile(Behind("changing.parquet"), *Numbers(0, 60000), {.row_group_rows = 10000});
  arrow::Status status;
  while (status.ok()) {
    auto batch = stream->Next();
    status = batch.status();
    if (status.ok() && *batch == nullptr) break;
  }
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kCorruptData) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("changed while it was read"));
}

}  // namespace
}  // namespace icebound::io
