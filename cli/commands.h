// SPDX-License-Identifier: Apache-2.0
//
// One file a command. Each adds itself to the parser and, when chosen, runs and returns the status that becomes the exit code.
#pragma once

#include <arrow/status.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "options.h"
#include "standard_output.h"

namespace icebound::cli {

/// What main runs after parsing: set by the chosen command. Whatever a command prints goes through `out`.
using Action = std::function<arrow::Status(StandardOutput& out)>;

void AddSqlCommand(CLI::App& app, const GlobalOptions& options, Action* action);
void AddExplainCommand(CLI::App& app, const GlobalOptions& options, Action* action);
void AddTableCommand(CLI::App& app, const GlobalOptions& options, Action* action);

/// From now on Ctrl-C, SIGTERM and SIGHUP cancel the session's statements instead of ending the process, which then cleans up and
/// exits with 130. One at a time. Made before the session, so that a signal never meets a half-opened one.
class CancelOnSignal {
 public:
  CancelOnSignal();
  ~CancelOnSignal();
  /// Also acts on a signal that has come before.
  void Watch(std::shared_ptr<Session> session);

 private:
  std::shared_ptr<Session> session_;
};

/// The text to run: TEXT itself, stdin for "-", or a file's content.
arrow::Result<std::string> StatementText(const std::string& text, const std::string& file);

}  // namespace icebound::cli
