// SPDX-License-Identifier: Apache-2.0
//
// Runs the scripts of this folder (logic_script.h): logic_test FOLDER [--mode=plain|spill|tiny|one_thread] [gtest options].
// The answers are the same in every mode; they were taken from DuckDB, or written by hand where PostgreSQL's differ.
//
//   plain        512 MiB, two threads
//   spill        every breaker spills after each batch it takes, batches of 16 rows
//   tiny         32 MiB
//   one_thread   512 MiB, one thread
#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "logic_script.h"
#include "session/session_impl.h"

namespace icebound::testing {
namespace {

struct Mode {
  std::string name = "plain";
  int64_t limit_bytes = int64_t{512} << 20;
  int threads = 2;
  std::optional<int64_t> batch_rows;
  bool force_spill = false;
};

arrow::Result<Mode> ModeOf(const std::string& name) {
  Mode mode;
  mode.name = name;
  if (name == "spill") {
    mode.force_spill = true;
    mode.batch_rows = 16;
  } else if (name == "tiny") {
    mode.limit_bytes = int64_t{32} << 20;
  } else if (name == "one_thread") {
    mode.threads = 1;
  } else if (name != "plain") {
    return arrow::Status::Invalid("unknown mode ", name);
  }
  return mode;
}

arrow::Result<std::string> CellText(const arrow::Array& column, int64_t row) {
  if (column.IsNull(row)) return "NULL";
  ARROW_ASSIGN_OR_RAISE(const auto scalar, column.GetScalar(row));
  ARROW_ASSIGN_OR_RAISE(const std::string text, [&]() -> arrow::Result<std::string> {
    if (!arrow::is_nested(column.type_id()) && arrow::compute::CanCast(*column.type(), *arrow::utf8())) {
      ARROW_ASSIGN_OR_RAISE(const arrow::Datum cast, arrow::compute::Cast(scalar, arrow::utf8()));
      return std::string(cast.scalar_as<arrow::StringScalar>().view());
    }
    return scalar->ToString();
  }());
  return text.empty() ? "(empty)" : text;
}

/// The rows as a script has them.
arrow::Result<std::vector<std::string>> RowsOf(Result& result) {
  ARROW_ASSIGN_OR_RAISE(const auto reader, result.ToReader());
  std::vector<std::string> rows;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return rows;
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      std::string line;
      for (int i = 0; i < batch->num_columns(); ++i) {
        ARROW_ASSIGN_OR_RAISE(const std::string cell, CellText(*batch->column(i), row));
        line += (i == 0 ? "" : "\t") + cell;
      }
      rows.push_back(std::move(line));
    }
  }
}

/// One script in one mode, in a session of its own.
class LogicTest : public ::testing::Test {
 public:
  LogicTest(std::filesystem::path path, Mode mode) : path_(std::move(path)), mode_(std::move(mode)) {}

  void TestBody() override {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    const auto records = ParseLogicScript(text.str());
    ASSERT_TRUE(records.ok()) << records.status().ToString();
    ASSERT_FALSE(records->empty());
    BoundedSessionConfig config(mode_.limit_bytes);
    config.target_partitions = mode_.threads;
    config.batch_size = mode_.batch_rows;
    auto session = SessionImpl::Make(config);
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    (*session)->ForceSpill(mode_.force_spill);
    for (const LogicRecord& record : *records) Check(**session, record);
  }

 private:
  static arrow::Result<std::vector<std::string>> Run(Session& session, const std::string& sql) {
    ARROW_ASSIGN_OR_RAISE(const auto result, session.Sql(sql));
    return RowsOf(*result);
  }

  void Check(Session& session, const LogicRecord& record) {
    const auto rows = Run(session, record.sql);
    const std::string where = fmt::format("{}:{}\n{}", path_.filename().string(), record.line, record.sql);
    if (record.fails) {
      EXPECT_FALSE(rows.ok()) << where << "should fail: " << record.error_text;
      if (rows.ok()) return;
      EXPECT_NE(rows.status().message().find(record.error_text), std::string::npos) << where << rows.status().message();
      return;
    }
    ASSERT_TRUE(rows.ok()) << where << rows.status().message();
    if (record.is_query) {
      const std::string difference = CompareRows(record, *rows);
      EXPECT_TRUE(difference.empty()) << where << difference;
    }
  }

  const std::filesystem::path path_;
  const Mode mode_;
};

TEST(LogicScript, FaultsAreFound) {
  EXPECT_FALSE(ParseLogicScript("query I\nSELECT 1\n").ok()) << "no answer";
  EXPECT_FALSE(ParseLogicScript("querry I\nSELECT 1\n----\n1\n").ok());
  EXPECT_FALSE(ParseLogicScript("statement error\nSELECT x\n").ok());
  const auto records = ParseLogicScript("query IR\nSELECT 1, 2\n----\n1\t2.0\n");
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(CompareRows(records->front(), {"1\t2"}), "");
  EXPECT_NE(CompareRows(records->front(), {"1\t3"}), "");
  EXPECT_NE(CompareRows(records->front(), {}), "");
  EXPECT_NE(CompareRows(records->front(), {"1\t2", "1\t2"}), "");
}

int Main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::string folder, mode_name = "plain";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--mode=")) {
      mode_name = argument.substr(7);
    } else {
      folder = argument;
    }
  }
  const auto mode = ModeOf(mode_name);
  if (!mode.ok() || !std::filesystem::is_directory(folder)) {
    std::cerr << "usage: logic_test FOLDER [--mode=plain|spill|tiny|one_thread]\n";
    return 2;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".slt") continue;
    ::testing::RegisterTest("Sql", fmt::format("{}_{}", entry.path().stem().string(), mode->name).c_str(), nullptr, nullptr,
                            __FILE__, __LINE__,
                            [path = entry.path(), mode = *mode]() -> ::testing::Test* { return new LogicTest(path, mode); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace icebound::testing

int main(int argc, char** argv) { return icebound::testing::Main(argc, argv); }
