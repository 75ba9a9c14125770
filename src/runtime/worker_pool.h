// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/status.h>

#include <cstdint>
#include <functional>

namespace icebound::runtime {

/// Stack of a worker thread. Pages of it become resident as they are touched; the size bounds what deep recursion may touch.
constexpr int64_t kWorkerStackBytes = int64_t{1} << 20;

/// Calls `work` with 0, 1, ... workers - 1, side by side: the caller's thread is worker 0, the others are new threads. Returns
/// when all have returned, always. The status is that of the worker that failed first (in time); an error does not stop the
/// others, who must look at something shared (a CancellationToken, an aborted queue) if they are to stop early.
///
/// All threads exist before any worker starts: when the system refuses one, nothing has run, and the error is kIo. An exception
/// that leaves `work` becomes that worker's error: kMemoryLimit for std::bad_alloc, kInternal otherwise. Signals are blocked in
/// the new threads, so that they reach the threads of the program that expects them. Thread safe; calls may nest.
arrow::Status RunOnThreads(int workers, const std::function<arrow::Status(int worker)>& work);

}  // namespace icebound::runtime
