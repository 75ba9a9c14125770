// SPDX-License-Identifier: Apache-2.0
//
// The program `icebound`: global options, one command, one line on stderr when it fails, and an exit code that says what kind of
// failure it was (icebound/error.h).
#include <arrow/util/io_util.h>
#include <fmt/format.h>
#include <icebound/version.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <sstream>

#include "commands.h"

namespace icebound::cli {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitMemory = 3;
constexpr int kExitDiskFull = 4;
/// What shells report of a program that SIGPIPE ended.
constexpr int kExitReaderGone = 128 + SIGPIPE;

constexpr char kExamples[] =
    "Examples:\n"
    "  icebound sql \"SELECT * FROM 'in/*.parquet' WHERE ts >= DATE '2024-01-01' ORDER BY ts LIMIT 10\"\n"
    "  icebound --memory-limit 512MB sql \"COPY (SELECT * FROM 'in/*.parquet' ORDER BY ts) TO 'sorted.parquet'\"\n"
    "  icebound explain --analyze \"SELECT * FROM 'in/*.parquet' ORDER BY ts\"\n"
    "\n";

constexpr char kExitCodes[] =
    "Exit codes:\n"
    "  0    done\n"
    "  1    the job failed: storage, or the data itself (overflow, division by zero)\n"
    "  2    bad usage or SQL, a file that is not there\n"
    "  3    the memory limit is too small for one row or for the plan\n"
    "  4    spill limit reached, or a disk is full\n"
    "  7    a file is not what it claims to be: truncated, corrupt, changed while it was read\n"
    "  130  cancelled by Ctrl-C, SIGTERM or SIGHUP\n"
    "  141  the reader of standard output has gone\n";

void AddGlobalOptions(CLI::App& app, GlobalOptions* options) {
  app.add_option("--memory-limit", options->memory_limit, "Bytes with a unit (512MB, 1.5GiB) or a share (50%)")
      ->envname("ICEBOUND_MEMORY_LIMIT")
      ->capture_default_str();
  app.add_option("--threads", options->threads, "Worker threads; default: the CPUs this process may use")
      ->check(CLI::Range(1, 1024));
  app.add_option("--batch-size", options->batch_size, "Rows a batch; default 8192")->check(CLI::Range(1, 1 << 20));
  app.add_option("--spill-dir", options->spill_dir, "Directory for temporary files; default: the system's");
  app.add_option("--spill-limit", options->spill_limit,
                 "Most bytes of temporary files, 0B for none, or a share (50%) of the disk's free space; default 90%");
  app.add_option("--catalog", options->catalog,
                 "Iceberg catalog of .pyiceberg.yaml or PYICEBERG_CATALOG__... whose tables are namespace.table");
  app.add_option("--property", options->properties, "KEY=VALUE of a catalog or a storage (s3.endpoint=...); repeatable")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--metrics", options->metrics_path, "Write counters to this file as JSON");
  app.add_flag("--json", options->json, "One JSON document on standard output");
  app.add_flag("--quiet", options->quiet, "Print only what was asked for");
  app.add_flag("--no-progress", options->no_progress, "No progress line");
}

/// The options of the program stand before or after the command: the help of a command shows them, too.
void ShowGlobalOptionsInHelp(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    command->footer([&app] {
      std::vector<const CLI::Option*> options;
      for (const CLI::Option* option : app.get_options()) {
        if (option != app.get_help_ptr() && option != app.get_version_ptr()) options.push_back(option);
      }
      return CLI::Formatter().make_group("Options of every command", false, options);
    });
  }
}

/// The exit code of a failure (icebound/error.h), also of those that are the program's own and have no ErrorKind.
int ExitCodeOf(const arrow::Status& status) {
  const int error = arrow::internal::ErrnoFromStatus(status);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) return kExitDiskFull;
  return status.IsInvalid() ? kExitUsage : ExitCode(status);
}

/// Arrow's text without the status code and detail around our message.
int Fail(const arrow::Status& status) {
  PrintMessage(fmt::format("icebound: {}\n", status.message()));
  return ExitCodeOf(status);
}

/// What is left to say when the command is over. An output that nobody received is a failure whatever the command returned.
int Finish(const arrow::Status& status, const StandardOutput& out) {
  if (out.reader_is_gone()) return kExitReaderGone;
  if (!out.failure().ok()) return Fail(out.failure());
  return status.ok() ? 0 : Fail(status);
}

int Main(int argc, char** argv) {
  CLI::App app("SQL over Parquet and Iceberg inside a memory limit that the operating system can check", "icebound");
  app.set_version_flag("--version", std::string("icebound ") + kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  GlobalOptions options;
  Action action;
  AddGlobalOptions(app, &options);
  AddSqlCommand(app, options, &action);
  AddExplainCommand(app, options, &action);
  AddTableCommand(app, options, &action);
  ShowGlobalOptionsInHelp(app);
  app.footer(std::string(kExamples) + kExitCodes);
  StandardOutput out;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream help, complaint;
    const bool asked_for = app.exit(error, help, complaint) == 0;  // help and version end with 0; anything else is bad usage
    PrintMessage(complaint.str());
    const arrow::Status status = out.Write(help.str());
    return asked_for ? Finish(status, out) : kExitUsage;
  }
  return Finish(action(out), out);
}

/// The library reports by status; what is thrown all the same ends here, as one line instead of an abort.
int GuardedMain(int argc, char** argv) {
  OccupyStandardDescriptors();
  // A reader that goes (`| head`) must not end the process before it has removed its temporary files.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return Main(argc, argv);
  } catch (const std::bad_alloc&) {
    PrintMessage("icebound: the system has no more memory for this process\n");
    return kExitMemory;
  } catch (const std::exception& error) {
    PrintMessage(fmt::format("icebound: internal error: {}\n", error.what()));
    return 1;
  }
}

}  // namespace
}  // namespace icebound::cli

int main(int argc, char** argv) { return icebound::cli::GuardedMain(argc, argv); }
