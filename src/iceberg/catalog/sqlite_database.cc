// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/sqlite_database.h"

#include <sqlite3.h>

#include "base/error.h"
#include "base/injection.h"

namespace icebound::iceberg {
namespace {

using StatementPtr = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

ErrorKind KindOf(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::kCommitConflict;
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
      return ErrorKind::kInvalidInput;
    case SQLITE_FULL:
      return ErrorKind::kDiskLimit;
    case SQLITE_NOMEM:
      return ErrorKind::kMemoryLimit;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorKind::kCorruptData;
    default:
      return ErrorKind::kIo;
  }
}

}  // namespace

arrow::Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path, bool create, int busy_timeout_ms) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  if (connection == nullptr) return MakeError(ErrorKind::kMemoryLimit, "no memory to open catalog {}", path);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(connection, path));
  if (code == SQLITE_CANTOPEN && !create) return MakeError(ErrorKind::kNotFound, "there is no catalog file {}", path);
  if (code != SQLITE_OK) return database->Error(code, "open");
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, busy_timeout_ms);
  // A negative cache size is in KiB. FULL: a commit is on the disk when COMMIT returns.
  ARROW_RETURN_NOT_OK(database->Run("PRAGMA cache_size = -512"));
  ARROW_RETURN_NOT_OK(database->Run("PRAGMA synchronous = FULL"));
  return database;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(connection_); }

arrow::Status SqliteDatabase::Error(int code, std::string_view doing) const {
  return MakeError(KindOf(code), "catalog {}: cannot {}: {} (SQLite error {})", path_, doing, sqlite3_errmsg(connection_), code);
}

arrow::Status SqliteDatabase::Run(std::string_view sql, const Parameters& parameters,
                                  const std::function<arrow::Status(const Row&)>& visit) {
  sqlite3_stmt* prepared = nullptr;
  int code = sqlite3_prepare_v2(connection_, sql.data(), static_cast<int>(sql.size()), &prepared, nullptr);
  const StatementPtr statement(prepared, sqlite3_finalize);
  if (code != SQLITE_OK) return Error(code, sql);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int position = static_cast<int>(i) + 1;
    const auto& value = parameters[i];
    code = value ? sqlite3_bind_text(prepared, position, value->data(), static_cast<int>(value->size()), SQLITE_STATIC)
                 : sqlite3_bind_null(prepared, position);
    if (code != SQLITE_OK) return Error(code, sql);
  }
  while ((code = sqlite3_step(prepared)) == SQLITE_ROW) {
    if (!visit) continue;
    Row row;
    for (int i = 0; i < sqlite3_column_count(prepared); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(prepared, i));
      const auto text_bytes = static_cast<size_t>(sqlite3_column_bytes(prepared, i));
      if (text == nullptr) {
        row.emplace_back(std::nullopt);
      } else {
        row.emplace_back(std::string(text, text_bytes));
      }
    }
    ARROW_RETURN_NOT_OK(visit(row));
  }
  return code == SQLITE_DONE ? arrow::Status::OK() : Error(code, sql);
}

arrow::Result<std::vector<SqliteDatabase::Row>> SqliteDatabase::Query(std::string_view sql, const Parameters& parameters) {
  std::vector<Row> rows;
  ARROW_RETURN_NOT_OK(Run(sql, parameters, [&](const Row& row) {
    rows.push_back(row);
    return arrow::Status::OK();
  }));
  return rows;
}

int SqliteDatabase::changed_rows() const { return sqlite3_changes(connection_); }

arrow::Status SqliteDatabase::Commit() {
  ICEBOUND_INJECT("catalog.sql_commit");
  ARROW_RETURN_NOT_OK(Run("COMMIT"));
  ICEBOUND_INJECT("catalog.sql_committed");
  return arrow::Status::OK();
}

arrow::Status SqliteDatabase::Transact(const std::function<arrow::Status()>& body) {
  ARROW_RETURN_NOT_OK(Run("BEGIN IMMEDIATE"));
  arrow::Status done = body();
  if (done.ok()) {
    done = Commit();
    if (!done.ok() && GetErrorKind(done) != ErrorKind::kCommitConflict) {
      done = MakeError(ErrorKind::kCommitUnknown, "{}", done.message());
    }
  }
  // Some failures have ended the transaction already.
  if (!done.ok() && sqlite3_get_autocommit(connection_) == 0) IgnoreError(Run("ROLLBACK"));
  return done;
}

}  // namespace icebound::iceberg
