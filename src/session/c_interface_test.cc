// SPDX-License-Identifier: Apache-2.0
#include <arrow/c/bridge.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <stdlib.h>
#include <nlohmann/json.hpp>

#include <arrow/io/file.h>
#include <arrow/json/from_string.h>

#include <filesystem>
#include <fstream>

#include "icebound/icebound.h"

namespace icebound {
namespace {

class CInterfaceTest : public ::testing::Test {
 protected:
  CInterfaceTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "icebound-c-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    Check(icebound_open("64MiB", nullptr, &session_));
  }
  ~CInterfaceTest() override {
    icebound_close(session_);
    std::filesystem::remove_all(directory_);
  }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  void Write(const std::string& name, std::string_view text) const { std::ofstream(Path(name)) << text; }

  static void Check(icebound_error* error) {
    EXPECT_EQ(error, nullptr) << icebound_error_message(error);
    icebound_error_free(error);
  }
  static void ExpectError(icebound_error* error, icebound_error_kind kind, std::string_view text) {
    EXPECT_EQ(icebound_error_kind_of(error), kind) << icebound_error_message(error);
    EXPECT_NE(std::string_view(icebound_error_message(error)).find(text), std::string_view::npos)
        << icebound_error_message(error);
    icebound_error_free(error);
  }

  arrow::Result<std::shared_ptr<arrow::Table>> Query(const char* text) {
    ArrowArrayStream stream;
    Check(icebound_sql(session_, text, &stream));
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ImportRecordBatchReader(&stream));
    return reader->ToTable();
  }

  std::string directory_;
  icebound_session* session_ = nullptr;
};

TEST_F(CInterfaceTest, ReadsParquetCsvAndStreams) {
  const auto array = arrow::json::ArrayFromJSONString(arrow::int64(), "[3, 1, 2]").ValueOrDie();
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("i", arrow::int64())}), {array});
  auto out = arrow::io::FileOutputStream::Open(Path("x.parquet")).ValueOrDie();
  ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out).ok() && out->Close().ok());
  Write("x.csv", "1;x\nNA;y\n");
  ArrowArrayStream stream;
  ASSERT_TRUE(arrow::ExportRecordBatchReader(std::make_shared<arrow::TableBatchReader>(table), &stream).ok());

  Check(icebound_register_parquet(session_, "p", Path("x.parquet").c_str(), nullptr));
  const char* const options[] = {"delimiter=;",  "header=false",   "columns=i,s", "null_string=NA",
                                 "null_string=", "types=i=double", nullptr};
  Check(icebound_register_csv(session_, "c", Path("x.csv").c_str(), options));
  Check(icebound_register_stream(session_, "a", &stream));
  EXPECT_EQ(stream.release, nullptr);

  const auto rows =
      Query(
          "SELECT i::int AS i, 'p' AS t FROM p UNION ALL SELECT i::int, s FROM c UNION ALL SELECT i::int, 'a' FROM a "
          "ORDER BY t, i")
          .ValueOrDie();
  ASSERT_EQ(rows->num_rows(), 8);
  const auto text = rows->CombineChunksToBatch().ValueOrDie();
  std::string seen;
  for (int64_t row = 0; row < 8; ++row) {
    seen +=
        text->column(1)->GetScalar(row).ValueOrDie()->ToString() + text->column(0)->GetScalar(row).ValueOrDie()->ToString() + " ";
  }
  EXPECT_EQ(seen, "a1 a2 a3 p1 p2 p3 x1 ynull ");
}

TEST_F(CInterfaceTest, RunsWhatHasNoRowsAndCounts) {
  int64_t rows = -1;
  Check(icebound_execute(session_, ("COPY (SELECT * FROM generate_series(1, 1000) AS s(i)) TO '" + Path("o.csv") + "'").c_str(),
                         &rows));
  EXPECT_EQ(rows, 1000);
  Check(icebound_execute(session_, "CREATE VIEW v AS SELECT 1 AS one", nullptr));
  Check(icebound_execute(session_, "SELECT * FROM v UNION ALL SELECT 2", &rows));
  EXPECT_EQ(rows, 2);
  char* const text = icebound_metrics_json(session_);
  const auto metrics = nlohmann::json::parse(text);
  icebound_free(text);
  EXPECT_EQ(metrics["memory_limit_bytes"], 64 << 20);
  EXPECT_EQ(metrics["output_rows"], 1002);
  EXPECT_GT(metrics["peak_rss_bytes"], 1 << 20);
  EXPECT_FALSE(metrics["operators"].empty());
}

TEST_F(CInterfaceTest, ErrorsHaveAKindAndAText) {
  icebound_session* other = reinterpret_cast<icebound_session*>(this);
  ExpectError(icebound_open("lots", nullptr, &other), ICEBOUND_INVALID_INPUT, "lots");
  EXPECT_EQ(other, nullptr);
  ExpectError(icebound_open("1MB", nullptr, &other), ICEBOUND_MEMORY_LIMIT, "32 MiB");
  const char* const options[] = {"thread=1", nullptr};
  ExpectError(icebound_open("64MB", options, &other), ICEBOUND_INVALID_INPUT, "thread=1");
  const char* const bare[] = {"threads", nullptr};
  ExpectError(icebound_open("64MB", bare, &other), ICEBOUND_INVALID_INPUT, "name=value");
  ExpectError(icebound_open(nullptr, nullptr, &other), ICEBOUND_INVALID_INPUT, "NULL");
  ExpectError(icebound_register_parquet(session_, "t", Path("none.parquet").c_str(), nullptr), ICEBOUND_NOT_FOUND,
              "does not exist");
  ExpectError(icebound_register_csv(nullptr, "t", "x.csv", nullptr), ICEBOUND_INVALID_INPUT, "session");
  ArrowArrayStream stream;
  ExpectError(icebound_sql(session_, "SELECT 1 +", &stream), ICEBOUND_INVALID_INPUT, "LINE 1");
  const char* const types[] = {"types=a=money", nullptr};
  Write("a.csv", "a\n1\n");
  ExpectError(icebound_register_csv(session_, "t", Path("a.csv").c_str(), types), ICEBOUND_INVALID_INPUT, "money");
}

TEST_F(CInterfaceTest, AStreamKeepsItsSessionAndTellsItsErrors) {
  ArrowArrayStream stream;
  Check(icebound_sql(session_, "SELECT 10 / (i - 20000) FROM generate_series(1, 30000) AS s(i)", &stream));
  EXPECT_EQ(icebound_stream_error_kind(session_), ICEBOUND_OK);
  ArrowArray batch;
  int code = 0;
  while ((code = stream.get_next(&stream, &batch)) == 0 && batch.release != nullptr) batch.release(&batch);
  EXPECT_NE(code, 0);
  EXPECT_NE(std::string_view(stream.get_last_error(&stream)).find("division by zero"), std::string_view::npos);
  EXPECT_EQ(icebound_stream_error_kind(session_), ICEBOUND_EXECUTION);
  stream.release(&stream);

  Check(icebound_sql(session_, "SELECT i FROM generate_series(1, 30000) AS s(i)", &stream));
  icebound_close(session_);
  session_ = nullptr;
  int64_t rows = 0;
  while (stream.get_next(&stream, &batch) == 0 && batch.release != nullptr) {
    rows += batch.length;
    batch.release(&batch);
  }
  EXPECT_EQ(rows, 30000);
  stream.release(&stream);
}

TEST_F(CInterfaceTest, CancelStopsAStream) {
  ArrowArrayStream stream;
  Check(icebound_sql(session_, "SELECT i FROM generate_series(1, 100000000) AS s(i)", &stream));
  icebound_cancel(session_);
  ArrowArray batch;
  int code = 0;
  while ((code = stream.get_next(&stream, &batch)) == 0 && batch.release != nullptr) batch.release(&batch);
  EXPECT_NE(code, 0);
  EXPECT_EQ(icebound_stream_error_kind(session_), ICEBOUND_CANCELLED);
  stream.release(&stream);
}

TEST_F(CInterfaceTest, AttachesCatalogs) {
  const std::string uri = "uri=sqlite:///" + Path("catalog.db");
  const char* const options[] = {uri.c_str(), nullptr};
  Check(icebound_attach_catalog(session_, "prod", options));
  ExpectError(icebound_execute(session_, "SELECT * FROM prod.sales.orders", nullptr), ICEBOUND_NOT_FOUND,
              "there is no namespace \"sales\" in catalog prod");
  ExpectError(icebound_attach_catalog(session_, "prod", options), ICEBOUND_INVALID_INPUT, "attached already");
  ExpectError(icebound_attach_catalog(session_, "nowhere_configured", nullptr), ICEBOUND_NOT_FOUND, "nowhere_configured");
  ExpectError(icebound_attach_catalog(nullptr, "prod", options), ICEBOUND_INVALID_INPUT, "session");
  ExpectError(icebound_attach_catalog(session_, nullptr, options), ICEBOUND_INVALID_INPUT, "name");
}

}  // namespace
}  // namespace icebound
