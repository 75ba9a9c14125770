// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "commands.h"
#include "progress.h"

namespace icebound::cli {
namespace {

struct SqlOptions {
  std::string text;
  std::string file;
  std::string output;
  std::string format;
};

/// Result::Prepare in the shape of the other outcomes: no rows yet, or the error.
arrow::Result<int64_t> Prepared(Result& result) {
  ARROW_RETURN_NOT_OK(result.Prepare());
  return 0;
}

/// Runs one statement; the last one of a script may go to a file, the others (and COPY) print.
arrow::Status RunStatement(Session& session, const GlobalOptions& global, const SqlOptions& sql, std::string_view script,
                           const ScriptStatement& statement, bool to_file, StandardOutput& out) {
  ARROW_ASSIGN_OR_RAISE(auto result, session.SqlInScript(script, statement));
  ProgressBar progress(session, !global.quiet && !global.no_progress);
  arrow::Result<int64_t> rows = 0;
  if (to_file) {
    rows = result->WriteFile(sql.output);
  } else if (rows = Prepared(*result); rows.ok()) {
    // The progress line must be gone before rows appear on the same terminal.
    progress.Stop();
    const std::string format = !sql.format.empty() ? sql.format : global.json ? "json" : "table";
    rows = result->WriteStream(&out, format);
  }
  progress.Stop();
  const QueryMetrics metrics = session.metrics();
  const arrow::Status written = WriteMetrics(global, metrics);
  ARROW_RETURN_NOT_OK(rows.status());
  ARROW_RETURN_NOT_OK(written);
  if (to_file && !global.quiet) PrintMessage(fmt::format("{} rows written to {}\n", *rows, sql.output));
  return arrow::Status::OK();
}

arrow::Status RunSql(const GlobalOptions& global, const SqlOptions& sql, StandardOutput& out) {
  ARROW_ASSIGN_OR_RAISE(const std::string text, StatementText(sql.text, sql.file));
  CancelOnSignal cancel;
  ARROW_ASSIGN_OR_RAISE(auto session, OpenSession(global));
  cancel.Watch(session);
  ARROW_ASSIGN_OR_RAISE(const auto statements, session->SplitStatements(text));
  for (size_t i = 0; i < statements.size(); ++i) {
    const bool to_file = !sql.output.empty() && i + 1 == statements.size();
    ARROW_RETURN_NOT_OK(RunStatement(*session, global, sql, text, statements[i], to_file, out));
  }
  return arrow::Status::OK();
}

/// Everything that `descriptor` gives. A directory opens like a file and fails here.
arrow::Result<std::string> ReadAll(int descriptor, std::string_view name) {
  std::string text;
  while (true) {
    const size_t before = text.size();
    text.resize(before + (size_t{64} << 10));
    const ssize_t bytes = read(descriptor, text.data() + before, text.size() - before);
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
    if (bytes == 0) return text;
    if (bytes < 0 && errno != EINTR) return arrow::Status::Invalid("cannot read ", name, ": ", std::strerror(errno));
  }
}

}  // namespace

arrow::Result<std::string> StatementText(const std::string& text, const std::string& file) {
  if (text.empty() == file.empty()) {
    return arrow::Status::Invalid("give the SQL as an argument, or a file with -f, or - for standard input");
  }
  if (text == "-" || file == "-") return ReadAll(STDIN_FILENO, "standard input");
  if (file.empty()) return text;
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return arrow::Status::Invalid("cannot read the SQL file ", file, ": ", std::strerror(errno));
  auto content = ReadAll(descriptor, "the SQL file " + file);
  close(descriptor);
  return content;
}

void AddSqlCommand(CLI::App& app, const GlobalOptions& global, Action* action) {
  CLI::App* command = app.add_subcommand("sql", "Run SQL statements; files are tables: FROM 'dir/*.parquet'");
  auto sql = std::make_shared<SqlOptions>();
  command->add_option("text", sql->text, "Statements, or - for standard input");
  command->add_option("-f,--file", sql->file, "Read the statements from a file");
  command->add_option("-o,--output", sql->output, "Write the rows to a .parquet, .csv, .arrow, .json or .jsonl file");
  command->add_option("--format", sql->format, "How rows are printed: table, csv, json, jsonl or arrow")
      ->check(CLI::IsMember({"table", "csv", "json", "jsonl", "arrow"}));
  command->callback(
      [&global, sql, action] { *action = [&global, sql](StandardOutput& out) { return RunSql(global, *sql, out); }; });
}

}  // namespace icebound::cli
