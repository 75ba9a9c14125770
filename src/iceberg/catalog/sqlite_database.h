// SPDX-License-Identifier: Apache-2.0
//
// One connection to a SQLite file: prepared statements with text parameters, and transactions whose failures say whether they may
// have taken effect.
//
// A write transaction takes the file's write lock first (BEGIN IMMEDIATE), waiting up to its timeout for another process, so
// that nothing inside it can fail for a lock. Until COMMIT is sent, every failure rolls back and nothing happened; of COMMIT's
// own failures only SQLITE_BUSY is sure to have changed nothing, all others are kCommitUnknown.
#pragma once

#include <arrow/result.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace icebound::iceberg {

constexpr int kBusyTimeoutMs = 30'000;

/// What one connection holds at most: its page cache (limited below), and statements and schema of two small tables.
constexpr int64_t kSqliteHeldBytes = 1 << 20;

/// Not thread safe.
class SqliteDatabase {
 public:
  /// A row: nullopt for NULL.
  using Row = std::vector<std::optional<std::string>>;
  using Parameters = std::vector<std::optional<std::string_view>>;

  /// `path` may be ":memory:". kNotFound when the file does not exist and `create` is false.
  static arrow::Result<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, bool create,
                                                             int busy_timeout_ms = kBusyTimeoutMs);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  /// Runs one statement; `visit` (may be empty) sees each row. Parameters fill ?1, ?2, ... A violated constraint is
  /// kInvalidInput, a lock held too long kCommitConflict (nothing changed, and it may work later).
  arrow::Status Run(std::string_view sql, const Parameters& parameters = {},
                    const std::function<arrow::Status(const Row&)>& visit = {});
  arrow::Result<std::vector<Row>> Query(std::string_view sql, const Parameters& parameters = {});
  /// Rows that the last INSERT, UPDATE or DELETE touched.
  int changed_rows() const;

  /// Runs `body` as one transaction; see above. A failure of `body` rolls back and is returned.
  arrow::Status Transact(const std::function<arrow::Status()>& body);

 private:
  SqliteDatabase(sqlite3* connection, std::string path) : connection_(connection), path_(std::move(path)) {}
  arrow::Status Error(int code, std::string_view doing) const;
  arrow::Status Commit();

  sqlite3* const connection_;
  const std::string path_;
};

}  // namespace icebound::iceberg
