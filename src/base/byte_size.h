// SPDX-License-Identifier: Apache-2.0
//
// Sizes in bytes as people write and read them, and how much of the machine this process may use.
//
// A size is a number and a unit, "512MB", "1.5 GiB", "50%":
//
//   size    = number [ " " ] unit
//   number  = digit+ [ "." digit+ ]
//   unit    = "B" | "KB" | "MB" | "GB" | "TB" | "KiB" | "MiB" | "GiB" | "TiB" | "%"      any case, all 1024-based
//
// The arithmetic is exact (128-bit integers), so "0.3GB" is the same number on every machine; what is left of a byte is cut off.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace icebound {

/// Bytes from text; "%" is of UsableMemoryBytes(). Zero, more than 100 %, beyond int64 and everything outside the grammar is
/// ErrorKind::kInvalidInput quoting the text.
arrow::Result<int64_t> ParseByteSize(std::string_view text);

/// What "%" is of, and whether nothing is a size.
struct ByteSizeRules {
  int64_t whole_bytes = 0;
  std::string_view whole_name;  ///< for messages: "memory"
  bool zero_allowed = false;
};

/// The same by other rules.
arrow::Result<int64_t> ParseByteSize(std::string_view text, const ByteSizeRules& rules);

/// "512 B", "1.5 KiB", "41.2 MiB": one decimal, 1024-based.
std::string FormatBytes(int64_t bytes);

/// "32 MiB" when `bytes` is a whole number of a unit, as people write limits; otherwise as FormatBytes.
std::string FormatByteLimit(int64_t bytes);

/// Memory this process may use: the smallest of its cgroup limits (v2 and v1, ancestors included) and the machine's memory.
/// `system_root` is put before /proc and /sys (tests point it at a directory of their own).
int64_t UsableMemoryBytes(const std::string& system_root = "");

/// Bytes that this user may still write to the file system of `directory`; nullopt when it cannot be asked.
std::optional<int64_t> FreeDiskBytes(const std::string& directory);

/// CPUs this process may use: its affinity mask, cut by the cgroup quota (rounded up). At least 1.
int UsableCpus(const std::string& system_root = "");

}  // namespace icebound
