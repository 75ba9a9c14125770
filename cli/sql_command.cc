// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "commands.h"
#include "metrics_file.h"
#include "progress.h"

namespace icebound::cli {
namespace {

/// The text is held on plain heap before there is a session to account for it.
constexpr int64_t kScriptBytesMax = int64_t{16} << 20;

struct SqlOptions {
  std::string text;
  std::string file;
  std::string output;  ///< "-" is standard output, as without -o
  std::string format;
  std::vector<std::string> parameters;

  bool writes_file() const { return !output.empty() && output != "-"; }
};

/// Runs the statements of one script in order, and stops at the first that fails.
class ScriptRun {
 public:
  ScriptRun(Session& session, const GlobalOptions& global, const SqlOptions& sql, StandardOutput& out)
      : session_(session), global_(global), sql_(sql), out_(out) {
    for (const std::string& value : sql.parameters) parameters_.push_back(std::make_shared<arrow::StringScalar>(value));
  }

  /// With --json, several results are one document: an array of them.
  arrow::Status Run(std::string_view script) {
    ARROW_ASSIGN_OR_RAISE(const auto statements, session_.SplitStatements(script));
    const bool array_of_results = global_.json && statements.size() != 1;
    if (array_of_results) ARROW_RETURN_NOT_OK(out_.Write("["));
    for (size_t i = 0; i < statements.size(); ++i) {
      if (array_of_results) ARROW_RETURN_NOT_OK(out_.Write(i > 0 ? ",\n" : "\n"));
      ARROW_RETURN_NOT_OK(RunStatement(script, statements[i], /*last=*/i + 1 == statements.size()));
    }
    return array_of_results ? out_.Write("]\n") : arrow::Status::OK();
  }

  const OperatorsByStatement& operators() const { return operators_; }

 private:
  arrow::Status RunStatement(std::string_view script, const ScriptStatement& statement, bool last) {
    ARROW_ASSIGN_OR_RAISE(auto result, session_.SqlInScript(script, statement, parameters_));
    const arrow::Status status = last && sql_.writes_file() ? WriteToFile(*result) : Print(*result);
    operators_.push_back(result->metrics().operators);
    return status;
  }

  /// The last statement with -o. With --json it answers as COPY does.
  arrow::Status WriteToFile(Result& result) {
    if (result.kind() == ResultKind::kCount || result.kind() == ResultKind::kDefinition) {
      return arrow::Status::Invalid(
          "-o ", sql_.output, " wants the rows of the last statement, which is a ",
          result.kind() == ResultKind::kCount ? "COPY that writes them itself" : "definition without any");
    }
    std::map<std::string, std::string> options;
    if (!sql_.format.empty()) options["format"] = sql_.format;
    ProgressBar progress([&result] { return result.metrics(); }, shows_progress());
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, result.WriteFile(sql_.output, options));
    progress.Stop();
    if (!global_.quiet) PrintMessage(fmt::format("{} rows written to {}\n", rows, sql_.output));
    return global_.json ? out_.Write(fmt::format("[\n{{\"count\":{}}}\n]\n", rows)) : arrow::Status::OK();
  }

  arrow::Status Print(Result& result) {
    ProgressBar progress([&result] { return result.metrics(); }, shows_progress());
    ARROW_RETURN_NOT_OK(result.Prepare());
    // The progress line must be gone before rows appear on the same terminal.
    progress.Stop();
    const std::string format = !sql_.format.empty() ? sql_.format : global_.json ? "json" : "table";
    ARROW_RETURN_NOT_OK(result.WriteStream(&out_, format).status());
    const bool needs_an_answer = global_.json && result.kind() == ResultKind::kDefinition;
    return needs_an_answer ? out_.Write("[]\n") : arrow::Status::OK();
  }

  bool shows_progress() const { return !global_.quiet && !global_.no_progress; }

  Session& session_;
  const GlobalOptions& global_;
  const SqlOptions& sql_;
  QueryParameters parameters_;  // texts, which take their types from where they stand
  StandardOutput& out_;
  OperatorsByStatement operators_;
};

arrow::Status CheckOptions(const GlobalOptions& global, const SqlOptions& sql) {
  if (global.json && !sql.format.empty() && sql.format != "json" && !sql.writes_file()) {
    return arrow::Status::Invalid("--json and --format ", sql.format, " contradict each other");
  }
  if (sql.writes_file() && sql.format == "table") {
    return arrow::Status::Invalid("--format table is for reading: a file is parquet, csv, json, jsonl or arrow");
  }
  if (!sql.writes_file() && sql.format == "parquet") {
    return arrow::Status::Invalid("Parquet cannot be printed: name a file with -o");
  }
  return arrow::Status::OK();
}

arrow::Status RunSql(const GlobalOptions& global, const SqlOptions& sql, StandardOutput& out) {
  ARROW_RETURN_NOT_OK(CheckOptions(global, sql));
  ARROW_ASSIGN_OR_RAISE(const std::string text, StatementText(sql.text, sql.file));
  CancelOnSignal cancel;
  ARROW_ASSIGN_OR_RAISE(auto session, OpenSession(global));
  cancel.Watch(session);
  ARROW_ASSIGN_OR_RAISE(MetricsFile metrics, MetricsFile::Open(global.metrics_path));
  ScriptRun run(*session, global, sql, out);
  const arrow::Status status = run.Run(text);
  const arrow::Status written = metrics.Write(MetricsDocument(session->metrics(), run.operators()));
  return status.ok() ? written : status;
}

/// Everything that `descriptor` gives, up to kScriptBytesMax. A directory opens like a file and fails here.
arrow::Result<std::string> ReadAll(int descriptor, std::string_view name) {
  std::string text;
  while (true) {
    const size_t before = text.size();
    text.resize(before + (size_t{64} << 10));
    const ssize_t bytes = read(descriptor, text.data() + before, text.size() - before);
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
    if (bytes == 0) return text;
    if (static_cast<int64_t>(text.size()) > kScriptBytesMax) {
      return arrow::Status::Invalid(name, " is longer than ", kScriptBytesMax >> 20, " MiB: give its statements in parts");
    }
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
  command->add_option("--param", sql->parameters, "Value of $1, then of $2, and so on (repeatable)")->allow_extra_args(false);
  command->add_option("-o,--output", sql->output,
                      "Write the rows of the last statement to a .parquet, .csv, .arrow, .json or .jsonl file; - prints them");
  command->add_option("--format", sql->format, "How rows are printed or written: table, csv, json, jsonl, arrow or parquet")
      ->check(CLI::IsMember({"table", "csv", "json", "jsonl", "arrow", "parquet"}));
  command->callback(
      [&global, sql, action] { *action = [&global, sql](StandardOutput& out) { return RunSql(global, *sql, out); }; });
}

}  // namespace icebound::cli
