// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace icebound {

/// How concurrent operators share the limit. kFair divides it evenly among the spillable ones; kGreedy serves first come first
/// (to compare).
enum class PoolPolicy { kFair, kGreedy };

/// What a session may use. Only the limit is required.
///
///     icebound::BoundedSessionConfig config(512 << 20);
///     config.spill_directory = "/mnt/scratch";
struct BoundedSessionConfig {
  explicit BoundedSessionConfig(int64_t memory_limit_bytes) : memory_limit_bytes(memory_limit_bytes) {}

  int64_t memory_limit_bytes;                  ///< bytes, at least 32 MiB
  std::optional<int> target_partitions;        ///< threads; default: CPUs this process may use (affinity and cgroup quota)
  std::optional<int64_t> batch_size;           ///< rows; default 8192
  std::optional<std::string> spill_directory;  ///< default: the system's temporary directory
  std::optional<int64_t> spill_limit_bytes;    ///< default: 90 % of the free space at start; 0: nothing spills
  std::optional<PoolPolicy> pool;              ///< default kFair

  /// True for the command line, which owns its process: the limit then covers the libraries too, VmHWM <= min(limit + 50 MiB,
  /// max(limit, 128 MiB)). In a host program (the default) the promise is growth over the session's start <= limit + 50 MiB.
  bool owns_process = false;
};

/// Bytes from a number and a unit: B KB MB GB TB or KiB MiB GiB TiB (all 1024-based), any case, one space allowed, fractions
/// allowed ("1.5GB"); "50%" is of the memory this process may use (cgroup first, then the machine). Anything else is
/// ErrorKind::kInvalidInput quoting the text.
arrow::Result<int64_t> ParseMemoryLimit(std::string_view text);

/// The same for spill_limit_bytes: "50%" is of the space that is free now on the disk of `spill_directory` (empty: the system's
/// temporary directory), and "0B", no spilling at all, is allowed.
arrow::Result<int64_t> ParseSpillLimit(std::string_view text, const std::string& spill_directory);

}  // namespace icebound
