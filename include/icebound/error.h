// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of failures. Every error is an arrow::Status whose detail carries one ErrorKind; each kind is one reaction of
// the caller (and one exit code of the command line, one exception class of the Python package).
#pragma once

#include <arrow/status.h>

#include <optional>
#include <string_view>

namespace icebound {

enum class ErrorKind {
  kInvalidInput,    ///< bad SQL, option or argument: fix the request (exit 2)
  kMemoryLimit,     ///< the limit is too small for one row or for the plan: raise it (exit 3)
  kDiskLimit,       ///< spill quota, or the disk is full: free space or move the spill directory (exit 4)
  kCorruptData,     ///< a file is not what it claims to be: restore it (exit 7)
  kUnsupported,     ///< not built; the message names what and where (exit 2 when planning, else 1)
  kNotFound,        ///< a file, table or column does not exist (exit 2 when planning, else 1)
  kIo,              ///< storage or network failed (exit 1)
  kExecution,       ///< the query itself failed on its data: overflow, bad cast, division by zero (exit 1)
  kCommitConflict,  ///< another writer won and retries ran out: nothing changed (exit 5)
  kCommitUnknown,   ///< the commit may or may not have happened: look before retrying (exit 6)
  kCancelled,       ///< Cancel() or Ctrl-C (exit 130)
  kInternal,        ///< a fault of ours: report it (exit 1)
};

/// Name of a kind as it stands in messages and JSON, e.g. "memory limit".
std::string_view ToString(ErrorKind kind);

/// The kind of a failed status; nullopt for OK and for statuses that came from elsewhere without our detail.
std::optional<ErrorKind> GetErrorKind(const arrow::Status& status);

/// The exit code of the command line for this status (0 for OK).
int ExitCode(const arrow::Status& status);

}  // namespace icebound
