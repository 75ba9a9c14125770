// SPDX-License-Identifier: Apache-2.0
//
// Joins whose scans drop rows by the other side's keys, against the same statements over streams of batches, of which nothing is
// known and nothing dropped: the same rows.
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/testing/gtest_util.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "icebound/session.h"

namespace icebound {
namespace {

/// id, two keys with NULLs and repetitions, a text, a day and a value.
std::shared_ptr<arrow::Table> RandomRows(int64_t rows, int64_t keys, std::mt19937_64* random) {
  arrow::Int64Builder id, k, v;
  arrow::Int32Builder m;
  arrow::StringBuilder t;
  arrow::Date32Builder d;
  arrow::Status status;
  for (int64_t i = 0; i < rows; ++i) {
    const auto draw = [&](int64_t below) { return static_cast<int64_t>((*random)() % static_cast<uint64_t>(below)); };
    const bool is_null = draw(10) == 0;
    status &= id.Append(i);
    status &= is_null ? k.AppendNull() : k.Append(draw(keys));
    status &= draw(10) == 0 ? m.AppendNull() : m.Append(static_cast<int32_t>(draw(50)));
    status &= draw(10) == 0 ? t.AppendNull() : t.Append("text " + std::to_string(draw(keys)));
    status &= d.Append(static_cast<int32_t>(9000 + draw(60)));
    status &= v.Append(draw(100));
  }
  EXPECT_TRUE(status.ok());
  const auto finish = [](arrow::ArrayBuilder& builder) { return builder.Finish().ValueOrDie(); };
  return arrow::Table::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("k", arrow::int64()), arrow::field("m", arrow::int32()),
                     arrow::field("t", arrow::utf8()), arrow::field("d", arrow::date32()), arrow::field("v", arrow::int64())}),
      {finish(id), finish(k), finish(m), finish(t), finish(d), finish(v)});
}

class JoinOverParquet : public ::testing::Test {
 protected:
  JoinOverParquet() {
    std::string pattern = (std::filesystem::temp_directory_path() / "icebound-joins-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~JoinOverParquet() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Write(const std::string& name, std::shared_ptr<arrow::Table> table) {
    auto file = arrow::io::FileOutputStream::Open(folder_ + "/" + name + ".parquet").ValueOrDie();
    parquet::WriterProperties::Builder properties;
    properties.max_rows_per_page(static_cast<int64_t>(50 + random_() % 500));
    properties.dictionary_pagesize_limit(static_cast<int64_t>(random_() % 4000));
    ASSERT_OK(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, static_cast<int64_t>(200 + random_() % 3000),
                                         properties.build()));
    ASSERT_OK(file->Close());
    tables_[name] = std::move(table);
  }

  std::shared_ptr<Session> Open(bool over_parquet) {
    BoundedSessionConfig config(int64_t{64} << 20);
    config.target_partitions = 2;
    config.spill_directory = folder_;
    auto session = CreateBoundedSession(config).ValueOrDie();
    for (const auto& [name, table] : tables_) {
      if (over_parquet) {
        EXPECT_TRUE(session->RegisterParquet(name, folder_ + "/" + name + ".parquet").ok());
      } else {
        EXPECT_TRUE(session->RegisterArrow(name, std::make_shared<arrow::TableBatchReader>(table)).ok());
      }
    }
    return session;
  }

  std::vector<std::string> Rows(Session* session, const std::string& sql) {
    std::vector<std::string> rows;
    auto result = session->Sql(sql);
    EXPECT_TRUE(result.ok()) << result.status().ToString() << "\n" << sql;
    if (!result.ok()) return rows;
    auto table = (*result)->ToTable();
    EXPECT_TRUE(table.ok()) << table.status().ToString() << "\n" << sql;
    if (!table.ok()) return rows;
    for (int64_t row = 0; row < (*table)->num_rows(); ++row) {
      std::string text;
      for (const auto& column : (*table)->columns()) text += column->GetScalar(row).ValueOrDie()->ToString() + "|";
      rows.push_back(std::move(text));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  std::string Pick(const std::vector<std::string>& choices) { return choices[random_() % choices.size()]; }

  std::string RandomStatement() {
    const std::string bound = std::to_string(random_() % 30);
    const std::string condition = Pick({"a.k = b.k", "a.m = b.m AND a.k = b.k", "a.t = b.t", "a.d = b.d AND a.k = b.k"});
    const std::string small_b = "(SELECT * FROM b WHERE v < " + bound + ") AS b";
    const std::string small_c = "(SELECT * FROM c WHERE v < " + bound + ") AS c";
    const std::string kind = Pick({"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"});
    switch (random_() % 8) {
      case 0:
        return "SELECT a.id, a.t, b.id FROM a " + kind + " " + small_b + " ON " + condition;
      case 1:
        return "SELECT a.id, b.id, c.id FROM a " + kind + " " + small_b + " ON " + condition + " " +
               Pick({"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"}) + " " + small_c + " ON a.k = c.k";
      case 2:
        return "SELECT a.id, b.id, c.id FROM a " + kind + " b ON " + condition + " JOIN " + small_c + " ON b.k = c.k";
      case 3:
        return "SELECT id, t FROM a WHERE k " + Pick({"IN", "NOT IN"}) + " (SELECT k FROM b WHERE v < " + bound +
               Pick({"", " AND k IS NOT NULL"}) + ")";
      case 4:
        return "SELECT id, t FROM a WHERE " + Pick({"EXISTS", "NOT EXISTS"}) + " (SELECT 1 FROM b WHERE " + condition +
               " AND b.v < " + bound + ")";
      case 5:
        return "SELECT g.k, n, s, b.id FROM (SELECT k, count(*) AS n, sum(v) AS s FROM a GROUP BY k) AS g " + kind + " " +
               small_b + " ON g.k = b.k";
      case 6:
        return "SELECT u.id, b.id FROM (SELECT id, k FROM a WHERE v > 50 UNION ALL SELECT id, k FROM c) AS u " + kind + " " +
               small_b + " ON u.k = b.k";
      default:
        return "SELECT a.id, b.id FROM a " + kind + " " + small_b + " ON " + condition + " WHERE a.v < 50 OR a.t LIKE '%1'";
    }
  }

  std::string folder_;
  std::mt19937_64 random_{21};
  std::map<std::string, std::shared_ptr<arrow::Table>> tables_;
};

TEST_F(JoinOverParquet, GivesWhatStreamsGive) {
  for (int round = 0; round < 6; ++round) {
    const auto keys = static_cast<int64_t>(20 + random_() % 2000);
    Write("a", RandomRows(3000, keys, &random_));
    Write("b", RandomRows(400, keys, &random_));
    Write("c", RandomRows(200, keys, &random_));
    for (int query = 0; query < 20; ++query) {
      const std::string sql = RandomStatement();
      const std::vector<std::string> expected = Rows(Open(/*over_parquet=*/false).get(), sql);
      ASSERT_EQ(Rows(Open(/*over_parquet=*/true).get(), sql), expected) << sql;
    }
  }
}

TEST_F(JoinOverParquet, TheScanGivesFewRowsMoreThanMatch) {
  Write("a", RandomRows(20000, 5000, &random_));
  Write("b", RandomRows(50, 5000, &random_));
  const auto session = Open(/*over_parquet=*/true);
  ASSERT_OK_AND_ASSIGN(auto result, session->Sql("SELECT a.id, a.t FROM a JOIN b ON a.k = b.k"));
  ASSERT_OK_AND_ASSIGN(auto table, result->ToTable());
  int64_t scanned = -1;
  for (const auto& metrics : result->metrics().operators) {
    if (metrics.name == "scan a") scanned = metrics.rows;
  }
  EXPECT_GT(table->num_rows(), 0);
  EXPECT_GE(scanned, table->num_rows() / 4);
  EXPECT_LT(scanned, 2000) << "of 20000";
}

}  // namespace
}  // namespace icebound
