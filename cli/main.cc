// SPDX-License-Identifier: Apache-2.0
//
// The program `icebound`: global options, one command, one line on stderr when it fails, and an exit code that says what kind of
// failure it was (icebound/error.h).
#include <fmt/format.h>
#include <icebound/version.h>

#include <cstdlib>

#include "commands.h"

namespace icebound::cli {
namespace {

/// Arrow's text without the status code and detail around our message.
void PrintError(const arrow::Status& status) { fmt::print(stderr, "icebound: {}\n", status.message()); }

void AddGlobalOptions(CLI::App& app, GlobalOptions* options) {
  app.add_option("--memory-limit", options->memory_limit, "Bytes with a unit (512MB, 1.5GiB) or a share (50%)")
      ->envname("ICEBOUND_MEMORY_LIMIT")
      ->capture_default_str();
  app.add_option("--threads", options->threads, "Worker threads; default: the CPUs this process may use")
      ->check(CLI::Range(1, 1024));
  app.add_option("--batch-size", options->batch_size, "Rows a batch; default 8192")->check(CLI::Range(1, 1 << 20));
  app.add_option("--spill-dir", options->spill_dir, "Directory for temporary files; default: the system's");
  app.add_option("--spill-limit", options->spill_limit, "Most bytes of temporary files; default: 90% of the free space");
  app.add_option("--property", options->properties, "KEY=VALUE of a catalog or a storage (s3.endpoint=...); repeatable")
      ->take_all();
  app.add_option("--metrics", options->metrics_path, "Write counters to this file as JSON");
  app.add_flag("--json", options->json, "One JSON document on standard output");
  app.add_flag("--quiet", options->quiet, "Print only what was asked for");
  app.add_flag("--no-progress", options->no_progress, "No progress line");
}

int Main(int argc, char** argv) {
  CLI::App app("SQL over Parquet inside a memory limit that the operating system can check", "icebound");
  app.set_version_flag("--version", std::string("icebound ") + kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  GlobalOptions options;
  Action action;
  AddGlobalOptions(app, &options);
  AddSqlCommand(app, options, &action);
  AddExplainCommand(app, options, &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version end with 0; anything else is bad usage.
    return app.exit(error) == 0 ? 0 : 2;
  }
  const arrow::Status status = action();
  if (!status.ok()) PrintError(status);
  return status.IsInvalid() ? 2 : ExitCode(status);
}

}  // namespace
}  // namespace icebound::cli

int main(int argc, char** argv) { return icebound::cli::Main(argc, argv); }
