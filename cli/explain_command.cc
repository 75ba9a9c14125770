// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "progress.h"

namespace icebound::cli {
namespace {

struct ExplainOptions {
  std::string text;
  std::string file;
  bool analyze = false;
};

arrow::Status RunExplain(const GlobalOptions& global, const ExplainOptions& explain, StandardOutput& out) {
  ARROW_ASSIGN_OR_RAISE(const std::string text, StatementText(explain.text, explain.file));
  CancelOnSignal cancel;
  ARROW_ASSIGN_OR_RAISE(auto session, OpenSession(global));
  cancel.Watch(session);
  ProgressBar progress(*session, explain.analyze && !global.quiet && !global.no_progress);
  ARROW_ASSIGN_OR_RAISE(const std::string plan, session->Explain(text, explain.analyze));
  progress.Stop();
  ARROW_RETURN_NOT_OK(out.Write(plan));
  return WriteMetrics(global, session->metrics());
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
