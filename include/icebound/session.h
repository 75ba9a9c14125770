// SPDX-License-Identifier: Apache-2.0
//
// The face of the library: a session with a memory limit that the operating system can check.
//
//     icebound::BoundedSessionConfig config(512 << 20);
//     ARROW_ASSIGN_OR_RAISE(auto session, icebound::CreateBoundedSession(config));
//     ARROW_RETURN_NOT_OK(session->RegisterParquet("data", "s3://bucket/table/data.parquet"));
//     ARROW_ASSIGN_OR_RAISE(auto result, session->Sql("SELECT * FROM data ORDER BY timestamp"));
//     ARROW_ASSIGN_OR_RAISE(auto reader, result->ToReader());
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/scalar.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "icebound/config.h"
#include "icebound/error.h"
#include "icebound/metrics.h"
#include "icebound/result.h"
#include "icebound/source_options.h"
#include "icebound/table.h"

namespace icebound {

/// One statement of a longer text, without its semicolon.
struct ScriptStatement {
  std::string text;
  size_t offset = 0;  ///< byte of the script where it begins
};

/// Values of $1, $2, ... in a statement.
using QueryParameters = std::vector<std::shared_ptr<arrow::Scalar>>;

/// A bounded session. Sessions are independent: no global state, two with different limits may live in one process. One statement
/// runs at a time; Cancel(), CancelAll() and metrics() may be called from any thread, the rest from one thread at a time. Results
/// and readers keep their session alive; batches that came out of them may outlive it.
class Session {
 public:
  virtual ~Session() = default;

  /// Names a Parquet file, glob or directory: local, s3://, gs://, abfs://. The schema is read now; the files must not change
  /// while used.
  virtual arrow::Status RegisterParquet(std::string name, const std::string& path_or_glob_or_dir,
                                        const ParquetReadOptions& options = {}) = 0;

  /// Names a CSV file, glob or directory (its *.csv and *.tsv files) in the same places. Headers, and a sample that says the
  /// columns' types, are read now.
  virtual arrow::Status RegisterCsv(std::string name, const std::string& path_or_glob_or_dir,
                                    const CsvReadOptions& options = {}) = 0;

  /// Names a stream of batches. It can be scanned once.
  virtual arrow::Status RegisterArrow(std::string name, std::shared_ptr<arrow::RecordBatchReader> reader) = 0;

  /// Opens an Iceberg catalog: its tables are `name.namespace.table` in SQL, and those of the first catalog that was attached
  /// `namespace.table`, too. Properties have PyIceberg's names (uri, type, warehouse, s3.endpoint, ...) and go before what
  /// .pyiceberg.yaml and PYICEBERG_CATALOG__... variables say of a catalog of that name; storage properties of the session hold
  /// where both are silent. Catalogs of that configuration need not be attached to be named in SQL.
  virtual arrow::Status AttachCatalog(const std::string& name, const std::map<std::string, std::string>& properties = {}) = 0;

  /// What an Iceberg table is made of, and what maintenance it needs: `table` is a name ("catalog.namespace.name"), a directory
  /// or a metadata file. Reads all manifests of its current snapshot, no data.
  virtual arrow::Result<TableDescription> DescribeTable(const std::string& table) = 0;

  /// Storage properties ("s3.endpoint", "s3.access-key-id", ...; the names PyIceberg uses).
  virtual arrow::Status SetProperty(const std::string& key, const std::string& value) = 0;

  /// Binds and plans one statement. Errors point at line, column and a caret. Rows are computed when the result is read; COPY
  /// runs when its result is. `parameters` are the values of $1, $2, ...: a string takes its type from where it stands, as a
  /// quoted one in the text does; the others have their own.
  virtual arrow::Result<std::unique_ptr<Result>> Sql(std::string_view text, const QueryParameters& parameters = {}) = 0;

  /// The same for a statement that SplitStatements cut out of `script`: errors show lines of the script.
  virtual arrow::Result<std::unique_ptr<Result>> SqlInScript(std::string_view script, const ScriptStatement& statement,
                                                             const QueryParameters& parameters = {}) = 0;

  /// Cuts a text into its statements (for scripts), comments and empty ones dropped.
  virtual arrow::Result<std::vector<ScriptStatement>> SplitStatements(std::string_view text) const = 0;

  /// The plan as text; with `analyze` the statement runs and every operator shows rows, time, peak bytes and spilled bytes.
  virtual arrow::Result<std::string> Explain(std::string_view text, bool analyze = false) = 0;

  /// Counters since the session started: sums over its statements, those that still run included; peaks are the session's,
  /// operators those of the last statement. Result::metrics has one statement's.
  virtual QueryMetrics metrics() const = 0;

  /// Stops the running statement at its next batch: it fails with ErrorKind::kCancelled. The next one runs again. Lock-free,
  /// callable from a signal handler.
  virtual void Cancel() = 0;

  /// As Cancel, and every statement that starts later fails so, too: for a program that is ending, whose signal may come just
  /// before a statement. Lock-free, callable from a signal handler.
  virtual void CancelAll() = 0;
};

/// Opens a session: checks the limit (at least 32 MiB), creates the private spill directory and removes those that dead processes
/// left.
arrow::Result<std::shared_ptr<Session>> CreateBoundedSession(const BoundedSessionConfig& config);

}  // namespace icebound
