// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "metrics_file.h"
#include "progress.h"

namespace icebound::cli {
namespace {

struct ExplainOptions {
  std::string text;
  std::string file;
  bool analyze = false;
};

/// The plan, or with --json {"plan": text} and with --analyze besides that {"metrics": ...} in place of the text's table.
arrow::Status ShowPlan(Session& session, const GlobalOptions& global, const ExplainOptions& explain, const std::string& text,
                       StandardOutput& out) {
  nlohmann::ordered_json document;
  if (global.json && explain.analyze) {
    ARROW_ASSIGN_OR_RAISE(document["plan"], session.Explain(text, /*analyze=*/false));
  }
  ProgressBar progress([&session] { return session.metrics(); }, explain.analyze && !global.quiet && !global.no_progress);
  ARROW_ASSIGN_OR_RAISE(const std::string plan, session.Explain(text, explain.analyze));
  progress.Stop();
  if (!global.json) return out.Write(plan);
  if (explain.analyze) {
    const QueryMetrics metrics = session.metrics();
    document["metrics"] = MetricsDocument(metrics, {metrics.operators});
  } else {
    document["plan"] = plan;
  }
  return out.Write(document.dump(2) + "\n");
}

arrow::Status RunExplain(const GlobalOptions& global, const ExplainOptions& explain, StandardOutput& out) {
  ARROW_ASSIGN_OR_RAISE(const std::string text, StatementText(explain.text, explain.file));
  CancelOnSignal cancel;
  ARROW_ASSIGN_OR_RAISE(auto session, OpenSession(global));
  cancel.Watch(session);
  ARROW_ASSIGN_OR_RAISE(MetricsFile metrics_file, MetricsFile::Open(global.metrics_path));
  const arrow::Status status = ShowPlan(*session, global, explain, text, out);
  const QueryMetrics metrics = session->metrics();
  const arrow::Status written = metrics_file.Write(MetricsDocument(metrics, {metrics.operators}));
  return status.ok() ? written : status;
}

}  // namespace

void AddExplainCommand(CLI::App& app, const GlobalOptions& global, Action* action) {
  CLI::App* command = app.add_subcommand("explain", "Show the plan of a statement");
  auto explain = std::make_shared<ExplainOptions>();
  command->add_option("text", explain->text, "The statement, or - for standard input");
  command->add_option("-f,--file", explain->file, "Read the statement from a file");
  command->add_flag("--analyze", explain->analyze, "Run it; show rows, time, peak memory and spilled bytes by operator");
  command->callback([&global, explain, action] {
    *action = [&global, explain](StandardOutput& out) { return RunExplain(global, *explain, out); };
  });
}

}  // namespace icebound::cli
