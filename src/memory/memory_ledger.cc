// SPDX-License-Identifier: Apache-2.0
//
// How large a ledger is.
#include "memory/memory_ledger.h"

#include <unistd.h>

#include <algorithm>

#include "base/byte_size.h"
#include "base/error.h"
#include "memory/bounded_ledger.h"

namespace icebound::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// What a process may use beyond a small limit, and the limit from which on it may use nothing beyond.
constexpr int64_t kSlackBytes = 50 * kMiB;
constexpr int64_t kExactFromBytes = 128 * kMiB;

// Never lent: stacks, messages, the odd malloc of a library on the error and spill paths. Measured: opening Parquet files, some
// thirty kernels, writing Parquet and IPC left 2.4 MiB of malloc behind.
constexpr int64_t kEmergencyBytes = 4 * kMiB;

// Pages of Arrow's and our own code and constant tables that queries touch after the baseline was taken. Measured for the same
// work: 9 MiB beyond a process whose kernels are registered already, 14 MiB beyond one that has just loaded the libraries, 20 MiB
// beyond one whose library pages were dropped first; where the process is ours the ResidentGuard drops them again in time.
constexpr int64_t kLibraryBytes = 16 * kMiB;

// In a host program nobody drops them, and the baseline is from before our kernels were registered (1.4 MiB of malloc).
constexpr int64_t kHostLibraryBytes = 22 * kMiB;

// Below this the smallest plan (one scanning thread and one sort) has no room to work.
constexpr int64_t kGrantedBytesMin = 24 * kMiB;

}  // namespace

int64_t PromisedResidentBytes(int64_t limit_bytes) {
  return std::min(limit_bytes + kSlackBytes, std::max(limit_bytes, kExactFromBytes));
}

void MemoryLedgerDeleter::operator()(MemoryLedger* ledger) const { ledger->Retire(); }

arrow::Result<MemoryLedgerPtr> MemoryLedger::Make(const MemoryLedgerOptions& options) {
  if (options.limit_bytes < kMinimumLimitBytes) {
    return MakeError(ErrorKind::kMemoryLimit, "memory limit {} is below the minimum of {}", FormatByteLimit(options.limit_bytes),
                     FormatByteLimit(kMinimumLimitBytes));
  }
  if (sysconf(_SC_PAGESIZE) != kPageBytes) {
    return MakeError(ErrorKind::kUnsupported, "this system has memory pages of {} bytes; only {} are supported",
                     sysconf(_SC_PAGESIZE), kPageBytes);
  }
  const int64_t promised_bytes =
      options.inside_host ? options.limit_bytes + kSlackBytes : PromisedResidentBytes(options.limit_bytes);
  const int64_t taken_bytes =
      options.baseline_bytes + kEmergencyBytes + (options.inside_host ? kHostLibraryBytes : kLibraryBytes);
  const int64_t granted_bytes = promised_bytes - taken_bytes;
  if (granted_bytes < kGrantedBytesMin) {
    return MakeError(
        ErrorKind::kMemoryLimit,
        "memory limit {} is too small: the process already holds {} and needs {} more to work, but may have {} in all",
        FormatByteLimit(options.limit_bytes), FormatBytes(taken_bytes), FormatBytes(kGrantedBytesMin),
        FormatBytes(promised_bytes));
  }
  const std::optional<int64_t> guarded_bytes = options.inside_host ? std::nullopt : std::optional<int64_t>(promised_bytes);
  return MemoryLedgerPtr(new BoundedLedger(options, granted_bytes, guarded_bytes));
}

}  // namespace icebound::memory
