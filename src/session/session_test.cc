// SPDX-License-Identifier: Apache-2.0
//
// The public face as an embedding program meets it.
#include "icebound/session.h"

#include <arrow/api.h>
#include <arrow/testing/gtest_util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

namespace icebound {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kLimitBytes = int64_t{64} << 20;
constexpr int64_t kRows = 400'000;

/// A directory for one test: the files it reads and the session's spill directory.
class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "icebound-session-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directory(Path("spill"));
  }
  ~SessionTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::shared_ptr<Session> Open(int threads = 2) {
    BoundedSessionConfig config(kLimitBytes);
    config.target_partitions = threads;
    config.spill_directory = Path("spill");
    return CreateBoundedSession(config).ValueOrDie();
  }

  int64_t FilesInSpillDirectory() const {
    int64_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Path("spill"))) files += entry.is_regular_file();
    return files;
  }

  std::string folder_;
};

/// Rows (key descending, a text of 200 bytes that does not compress), made as they are pulled.
class CountDown final : public arrow::RecordBatchReader {
 public:
  explicit CountDown(int64_t rows) : left_(rows) {}
  std::shared_ptr<arrow::Schema> schema() const override {
    return arrow::schema({arrow::field("key", arrow::int64()), arrow::field("text", arrow::utf8())});
  }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    const int64_t rows = std::min<int64_t>(left_, 4096);
    if (rows == 0) {
      batch->reset();
      return arrow::Status::OK();
    }
    // From malloc, whose locks the thread sanitizer sees: what one thread frees another may get.
    arrow::Int64Builder keys(arrow::system_memory_pool());
    arrow::StringBuilder texts(arrow::system_memory_pool());
    for (int64_t i = 0; i < rows; ++i) {
      ARROW_RETURN_NOT_OK(keys.Append(--left_));
      for (char& c : text_) c = static_cast<char>(' ' + (random_() >> 26));
      ARROW_RETURN_NOT_OK(texts.Append(text_));
    }
    ARROW_ASSIGN_OR_RAISE(auto key, keys.Finish());
    ARROW_ASSIGN_OR_RAISE(auto text, texts.Finish());
    *batch = arrow::RecordBatch::Make(schema(), rows, {key, text});
    return arrow::Status::OK();
  }

 private:
  int64_t left_;
  std::string text_ = std::string(200, ' ');
  std::minstd_rand random_;
};

int64_t KeyAt(const arrow::RecordBatch& batch, int64_t row) {
  return static_cast<const arrow::Int64Array&>(*batch.column(0)).Value(row);
}

TEST_F(SessionTest, SortsAStreamLargerThanItsLimit) {
  auto session = Open();
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(kRows)));
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT * FROM rows ORDER BY key"));
  ASSERT_OK_AND_ASSIGN(auto reader, result->ToReader());
  int64_t expected = 0;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ASSERT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    for (int64_t row = 0; row < batch->num_rows(); ++row) ASSERT_EQ(KeyAt(*batch, row), expected++);
  }
  EXPECT_EQ(expected, kRows);
  const QueryMetrics metrics = result->metrics();
  EXPECT_GT(metrics.spilled_bytes, 0) << "the data is more than the limit";
  EXPECT_LE(metrics.peak_ledger_bytes, kLimitBytes + (50 << 20));
  EXPECT_EQ(metrics.output_rows, kRows);
  EXPECT_EQ(FilesInSpillDirectory(), 1) << "the lock alone";
}

TEST_F(SessionTest, ABatchMayOutliveReaderResultAndSession) {
  auto session = Open();
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(1000)));
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT * FROM rows ORDER BY key LIMIT 10"));
  ASSERT_OK_AND_ASSIGN(auto reader, result->ToReader());
  std::shared_ptr<arrow::RecordBatch> batch;
  ASSERT_OK(reader->ReadNext(&batch));
  session.reset();
  result.reset();
  reader.reset();
  EXPECT_FALSE(std::filesystem::exists(Path("spill") + "/lock"));
  ASSERT_EQ(batch->num_rows(), 10);
  EXPECT_EQ(KeyAt(*batch, 9), 9);
}

TEST_F(SessionTest, AResultKeepsItsSession) {
  auto session = Open();
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(100)));
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT * FROM rows ORDER BY key"));
  session.reset();
  ASSERT_OK_AND_ASSIGN(auto table, result->ToTable());
  EXPECT_EQ(table->num_rows(), 100);
}

TEST_F(SessionTest, CancelFromAnotherThreadEndsTheStatementAndFreesItsFiles) {
  auto session = Open();
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(int64_t{1} << 40)));
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT * FROM rows ORDER BY key"));
  std::thread canceller([&] {
    while (session->metrics().spilled_bytes == 0) std::this_thread::yield();
    session->Cancel();
  });
  const arrow::Status status = result->Prepare();
  canceller.join();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kCancelled) << status.ToString();
  result.reset();
  EXPECT_EQ(FilesInSpillDirectory(), 1);
}

TEST_F(SessionTest, TheNextStatementRunsAfterACancelledOne) {
  auto session = Open();
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(100)));
  session->Cancel();
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT * FROM rows ORDER BY key"));
  EXPECT_OK(result->Prepare());  // Cancel() stops the running statement, and none was running
}

TEST_F(SessionTest, AfterCancelAllNothingRunsAgain) {
  auto session = Open();
  session->CancelAll();
  const std::string sort = "SELECT * FROM generate_series(1, 1000000000) ORDER BY 1 DESC";
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql(sort));
  EXPECT_EQ(GetErrorKind(result->Prepare()), ErrorKind::kCancelled);
  EXPECT_EQ(GetErrorKind(session->Explain(sort, true).status()), ErrorKind::kCancelled);
  EXPECT_EQ(GetErrorKind(session->Sql("EXPLAIN ANALYZE " + sort).status()), ErrorKind::kCancelled);
}

TEST_F(SessionTest, AStreamIsScannedOnce) {
  auto session = Open();
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(10)));
  ASSERT_OK_AND_ASSIGN(auto first, session->Sql("SELECT * FROM rows"));
  ASSERT_OK(first->ToTable());
  const arrow::Status again = [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto second, session->Sql("SELECT * FROM rows"));
    return second->ToTable().status();
  }();
  EXPECT_EQ(GetErrorKind(again), ErrorKind::kInvalidInput) << again.ToString();
  EXPECT_THAT(again.message(), HasSubstr("rows"));
}

TEST_F(SessionTest, ResultsAreTakenOnce) {
  auto session = Open();
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT 1 AS one"));
  ASSERT_OK(result->ToTable());
  EXPECT_EQ(GetErrorKind(result->ToTable().status()), ErrorKind::kInvalidInput);
}

TEST_F(SessionTest, WritesParquetAndReadsItAgain) {
  auto session = Open();
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(10'000)));
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT * FROM rows ORDER BY key"));
  ParquetWriteOptions options;
  options.compression = "zstd";
  options.row_group_rows = 1000;
  ASSERT_OK_AND_ASSIGN(const int64_t written, result->WriteParquet(Path("out.parquet"), options));
  EXPECT_EQ(written, 10'000);
  ASSERT_OK(session->RegisterParquet("again", Path("out.parquet")));
  ASSERT_OK_AND_ASSIGN(auto reread, session->Sql("SELECT key FROM again WHERE key BETWEEN 4998 AND 5001"));
  ASSERT_OK_AND_ASSIGN(auto table, reread->ToTable());
  EXPECT_EQ(table->num_rows(), 4);
}

TEST_F(SessionTest, TwoSessionsWithTheirOwnLimitsLiveSideBySide) {
  auto first = Open(1), second = Open(1);
  ASSERT_OK(first->RegisterArrow("rows", std::make_shared<CountDown>(kRows / 2)));
  ASSERT_OK(second->RegisterArrow("rows", std::make_shared<CountDown>(kRows / 2)));
  ASSERT_OK_AND_ASSIGN(auto first_result, first->Sql("SELECT * FROM rows ORDER BY key"));
  ASSERT_OK_AND_ASSIGN(auto second_result, second->Sql("SELECT * FROM rows ORDER BY key DESC"));
  arrow::Status first_status, second_status;
  std::thread other([&] { first_status = first_result->Prepare(); });
  second_status = second_result->Prepare();
  other.join();
  EXPECT_OK(first_status);
  EXPECT_OK(second_status);
}

TEST_F(SessionTest, ExplainShowsThePlanAndAnalyzeWhatRan) {
  auto session = Open();
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(1000)));
  ASSERT_OK_AND_ASSIGN(const std::string plan, session->Explain("SELECT key FROM rows ORDER BY key LIMIT 3"));
  EXPECT_THAT(plan, HasSubstr("Sort: key ASC NULLS LAST fetch=3"));
  ASSERT_OK_AND_ASSIGN(const std::string analyzed, session->Explain("SELECT key FROM rows ORDER BY key LIMIT 3", true));
  EXPECT_THAT(analyzed, HasSubstr("top-k"));
}

TEST_F(SessionTest, LongStatementsFitASmallLimit) {
  auto session = Open();  // 64 MiB
  std::string numbers = "SELECT count(*) FROM generate_series(1, 100000) AS t(x) WHERE x IN (0";
  for (int i = 1; i < 50'000; ++i) numbers += ", " + std::to_string(2 * i);
  std::string rows = "SELECT * FROM (VALUES (0, 'row 0', 0.5)";
  for (int i = 1; i < 20'000; ++i) rows += ", (" + std::to_string(i) + ", 'row " + std::to_string(i) + "', 0.5)";
  ASSERT_OK_AND_ASSIGN(auto counted, session->Sql(numbers + ")"));
  ASSERT_OK_AND_ASSIGN(auto table, counted->ToTable());
  EXPECT_EQ(table->column(0)->chunk(0)->GetScalar(0).ValueOrDie()->ToString(), "49999");
  ASSERT_OK_AND_ASSIGN(auto listed, session->Sql(rows + ") AS t(a, b, c)"));
  ASSERT_OK_AND_ASSIGN(table, listed->ToTable());
  EXPECT_EQ(table->num_rows(), 20'000);
  // What does not fit says so by the limit, not by a fixed length.
  for (int i = 0; i < 400'000; ++i) numbers += ", 1";
  EXPECT_EQ(GetErrorKind(session->Sql(numbers + ")").status()), ErrorKind::kMemoryLimit);
}

TEST_F(SessionTest, ViewsAreChargedAsLongAsTheyAreThere) {
  const auto session = Open();
  const auto run = [&](const std::string& text) { return session->Sql(text).status(); };
  std::string values = "(0)";
  for (int i = 1; i < 5000; ++i) values += fmt::format(",({})", i);
  ASSERT_TRUE(run("CREATE VIEW v AS VALUES " + values).ok());
  const int64_t one = session->metrics().reserved_bytes;
  ASSERT_TRUE(run("CREATE OR REPLACE VIEW v AS VALUES " + values).ok());
  ASSERT_TRUE(run("CREATE VIEW w AS VALUES " + values).ok());
  const int64_t two = session->metrics().reserved_bytes;
  EXPECT_GT(two, one + (int64_t{1} << 20));
  ASSERT_TRUE(run("DROP VIEW v, w").ok());
  EXPECT_LT(session->metrics().reserved_bytes, two - (int64_t{2} << 20));
  // More than there is memory for is refused, and what was there stays.
  arrow::Status status;
  int views = 0;
  while (status.ok() && views < 1000) status = run(fmt::format("CREATE VIEW v{} AS VALUES {}", views++, values));
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kMemoryLimit) << views;
  EXPECT_TRUE(run("SELECT * FROM v0").ok());
}

TEST_F(SessionTest, AResultSaysWhatItIs) {
  auto session = Open();
  const auto kind_of = [&](const std::string& sql) {
    auto result = session->Sql(sql);
    EXPECT_OK(result.status());
    return (*result)->kind();
  };
  EXPECT_EQ(kind_of("SELECT 1"), ResultKind::kRows);
  EXPECT_EQ(kind_of("EXPLAIN SELECT 1"), ResultKind::kPlan);
  EXPECT_EQ(kind_of("COPY (SELECT 1) TO '" + Path("x.csv") + "'"), ResultKind::kCount);
  EXPECT_EQ(kind_of("CREATE VIEW v AS SELECT 1"), ResultKind::kDefinition);
}

TEST_F(SessionTest, MetricsOfASessionAreSumsOverItsStatements) {
  auto session = Open(1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT * FROM generate_series(1, 1000) LIMIT 100"));
    ASSERT_OK(result->ToTable());
    EXPECT_EQ(result->metrics().output_rows, 100);
  }
  EXPECT_FALSE(session->Sql("SELECT nosuch").ok());
  ASSERT_OK_AND_ASSIGN(auto unread, session->Sql("SELECT * FROM generate_series(1, 7)"));
  ASSERT_OK_AND_ASSIGN(auto last, session->Sql("SELECT * FROM generate_series(1, 5000)"));
  ASSERT_OK(last->ToTable());
  const QueryMetrics metrics = session->metrics();
  EXPECT_EQ(metrics.output_rows, 5300);
  EXPECT_GE(metrics.input_rows, 5300);
  EXPECT_GE(metrics.wall_seconds, last->metrics().wall_seconds);
  ASSERT_FALSE(metrics.operators.empty());
  for (const OperatorMetrics& row : metrics.operators) {
    if (row.name.starts_with("scan")) {
      EXPECT_GE(row.peak_bytes, 5000 * 4) << row.name;
    }
  }
  ASSERT_OK(unread->ToTable());
  EXPECT_EQ(session->metrics().output_rows, 5307) << "a result that is read late counts, too";
}

TEST_F(SessionTest, ErrorsSayWhatAndWhere) {
  auto session = Open();
  const arrow::Status status = session->Sql("SELECT 1,\n       nosuch\nFROM (VALUES (1)) AS t(such)").status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kInvalidInput);
  EXPECT_THAT(status.message(), HasSubstr("LINE 2, COLUMN 8:        nosuch\n                         ^"));
  EXPECT_THAT(status.message(), HasSubstr("such"));
  EXPECT_EQ(GetErrorKind(session->RegisterParquet("t", Path("nosuch.parquet"))), ErrorKind::kNotFound);
  EXPECT_EQ(GetErrorKind(session->RegisterArrow("t", nullptr)), ErrorKind::kInvalidInput);
  EXPECT_EQ(GetErrorKind(session->SetProperty("", "x")), ErrorKind::kInvalidInput);
}

/// Runs `text` to its end; it must fail while it runs.
std::string RunningError(Session* session, const std::string& text) {
  auto result = session->Sql(text);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return "";
  const arrow::Status status = (*result)->ToTable().status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kExecution) << status.ToString();
  return status.message();
}

TEST_F(SessionTest, ErrorsOfRunningStatementsPointIntoTheText) {
  auto session = Open();
  EXPECT_EQ(RunningError(session.get(), "SELECT 1 +\n  10 / (i - 3)\nFROM generate_series(1, 5) t(i)"),
            "division by zero\n"
            "LINE 2, COLUMN 6:   10 / (i - 3)\n"
            "                       ^");
  EXPECT_EQ(RunningError(session.get(), "SELECT i FROM generate_series(1, 5) t(i) WHERE CAST('a' || i AS int) = 1"),
            "invalid input syntax for type integer: \"a1\"\n"
            "LINE 1, COLUMN 48: SELECT i FROM generate_series(1, 5) t(i) WHERE CAST('a' || i AS int) = 1\n"
            "                                                                  ^");
  EXPECT_THAT(RunningError(session.get(), "SELECT (SELECT i FROM generate_series(1, 5) t(i)) AS two"),
              testing::AllOf(HasSubstr("more than one row returned"), HasSubstr("LINE 1, COLUMN 8: SELECT (SELECT i FROM")));
  EXPECT_THAT(RunningError(session.get(),
                           "SELECT i, (SELECT x FROM (VALUES (1, 2), (1, 3)) v(k, x) WHERE k = i)\n"
                           "FROM generate_series(1, 5) t(i)"),
              testing::AllOf(HasSubstr("more than one row returned"), HasSubstr("LINE 1, COLUMN 11: SELECT i, (SELECT x")));
  EXPECT_THAT(RunningError(session.get(),
                           "SELECT sum(x) FROM (VALUES (CAST('9e37' AS decimal(38, 0))),"
                           " (CAST('9e37' AS decimal(38, 0)))) v(x)"),
              testing::AllOf(HasSubstr("overflow in an aggregate"), HasSubstr("LINE 1, COLUMN 8: SELECT sum(x)")));
}

TEST_F(SessionTest, ErrorsOfScriptsCountTheLinesOfTheWhole) {
  auto session = Open();
  const std::string script = "SELECT 1;\n\n  SELECT 2; SELECT 7 / i\nFROM generate_series(0, 1) t(i);\nSELECT 3";
  ASSERT_OK_AND_ASSIGN(const auto parts, session->SplitStatements(script));
  ASSERT_EQ(parts.size(), 4);
  ASSERT_OK_AND_ASSIGN(auto result, session->SqlInScript(script, parts[2]));
  EXPECT_THAT(result->ToTable().status().message(), HasSubstr("LINE 3, COLUMN 22:   SELECT 2; SELECT 7 / i\n"));
}

TEST_F(SessionTest, ErrorsInsideViewsPointNowhere) {
  // The text of the view is not that of the statement.
  auto session = Open();
  ASSERT_OK(session->Sql("CREATE VIEW v AS SELECT 1 / i AS x, i FROM generate_series(0, 3) t(i)"));
  EXPECT_EQ(RunningError(session.get(), "SELECT x FROM v"), "division by zero");
  EXPECT_EQ(RunningError(session.get(), "SELECT 1 / (i - 1) FROM v"),
            "division by zero\nLINE 1, COLUMN 10: SELECT 1 / (i - 1) FROM v\n                            ^");
}

TEST_F(SessionTest, ConfigurationsThatCannotWorkAreRefused) {
  const auto kind_of = [](const BoundedSessionConfig& config) { return GetErrorKind(CreateBoundedSession(config).status()); };
  EXPECT_EQ(kind_of(BoundedSessionConfig((int64_t{32} << 20) - 1)), ErrorKind::kMemoryLimit);
  EXPECT_EQ(kind_of(BoundedSessionConfig(-1)), ErrorKind::kMemoryLimit);
  BoundedSessionConfig config(kLimitBytes);
  config.target_partitions = 0;
  EXPECT_EQ(kind_of(config), ErrorKind::kInvalidInput);
  config.target_partitions.reset();
  config.batch_size = 0;
  EXPECT_EQ(kind_of(config), ErrorKind::kInvalidInput);
  config.batch_size.reset();
  config.spill_directory = Path("nosuch");
  EXPECT_EQ(kind_of(config), ErrorKind::kInvalidInput);
  std::ofstream(Path("file")) << "not a directory";
  config.spill_directory = Path("file");
  EXPECT_EQ(kind_of(config), ErrorKind::kInvalidInput);
  config.spill_directory = Path("spill");
  config.spill_limit_bytes = -1;
  EXPECT_EQ(kind_of(config), ErrorKind::kInvalidInput);
}

TEST_F(SessionTest, ASpillLimitIsAnErrorThatNamesTheDirectory) {
  BoundedSessionConfig config(kLimitBytes);
  config.spill_directory = Path("spill");
  config.spill_limit_bytes = int64_t{4} << 20;
  ASSERT_OK_AND_ASSIGN(auto session, CreateBoundedSession(config));
  ASSERT_OK(session->RegisterArrow("rows", std::make_shared<CountDown>(kRows)));
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT * FROM rows ORDER BY text, key"));
  const arrow::Status status = result->Prepare();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kDiskLimit) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(Path("spill")));
}

TEST_F(SessionTest, ParametersHaveTypesOfTheirOwn) {
  auto session = Open();
  const QueryParameters parameters = {arrow::MakeScalar(int64_t{40}), arrow::MakeScalar("2024-02-28"),
                                      arrow::MakeNullScalar(arrow::int32())};
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT $1 + 2, $2::date + 2, $3 IS NULL", parameters));
  ASSERT_OK_AND_ASSIGN(const auto table, result->ToTable());
  ASSERT_EQ(table->num_rows(), 1);
  std::string row;
  for (const auto& column : table->columns()) row += column->GetScalar(0).ValueOrDie()->ToString() + " ";
  EXPECT_EQ(row, "42 2024-03-01 true ");
  const auto missing = session->Sql("SELECT $4", parameters).status();
  EXPECT_THAT(missing.message(), HasSubstr("there is no parameter $4"));
  EXPECT_THAT(session->Sql("SELECT $1", {nullptr}).status().message(), HasSubstr("a null pointer"));
}

}  // namespace
}  // namespace icebound
