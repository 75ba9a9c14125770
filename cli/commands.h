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

/// While it lives, Ctrl-C and SIGTERM cancel the session's statement instead of ending the process. One at a time.
class CancelOnSignal {
 public:
  explicit CancelOnSignal(Session* session);
  ~CancelOnSignal();
  /// A signal has come. Whoever starts another statement cancels that one, too.
  bool requested() const;
};

/// The text to run: TEXT itself, stdin for "-", or a file's content.
arrow::Result<std::string> StatementText(const std::string& text, const std::string& file);

}  // namespace icebound::cli
