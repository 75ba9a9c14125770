// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <vector>

#include "base/error.h"

namespace icebound::runtime {
namespace {

// The sanitizers' frames are several times larger.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStackBytes = 8 * kWorkerStackBytes;
#else
constexpr size_t kStackBytes = kWorkerStackBytes;
#endif

enum class Gate { kClosed, kOpen, kAbandoned };

/// What the threads of one call share.
struct Group {
  const std::function<arrow::Status(int)>& work;
  std::mutex mutex;
  std::condition_variable gate_changed;
  Gate gate = Gate::kClosed;  // guarded by mutex
  arrow::Status first_error;  // guarded by mutex

  explicit Group(const std::function<arrow::Status(int)>& work) : work(work) {}

  void SetGate(Gate value) {
    {
      std::lock_guard lock(mutex);
      gate = value;
    }
    gate_changed.notify_all();
  }

  void Run(int worker) {
    arrow::Status status = RunCatching(worker);
    if (status.ok()) return;
    std::lock_guard lock(mutex);
    if (first_error.ok()) first_error = std::move(status);
  }

  arrow::Status RunCatching(int worker) {
    try {
      return work(worker);
    } catch (const std::bad_alloc&) {
      return MakeError(ErrorKind::kMemoryLimit, "the system has no memory left for worker {}", worker);
    } catch (const std::exception& error) {
      return MakeError(ErrorKind::kInternal, "worker {} failed with an exception: {}", worker, error.what());
    }
  }
};

struct Worker {
  Group* group;
  int index;
  pthread_t thread;
};

void* WorkerMain(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  Group& group = *worker->group;
  Gate gate;
  {
    std::unique_lock lock(group.mutex);
    group.gate_changed.wait(lock, [&] { return group.gate != Gate::kClosed; });
    gate = group.gate;
  }
  if (gate == Gate::kOpen) group.Run(worker->index);
  return nullptr;
}

/// Starts as many as it can; returns 0 or the error of the first that could not be started.
int StartThreads(std::vector<Worker>* workers) {
  pthread_attr_t attributes;
  int error = ::pthread_attr_init(&attributes);
  if (error != 0) {
    workers->clear();
    return error;
  }
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  // A new thread inherits the mask.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  size_t started = 0;
  while (error == 0 && started < workers->size()) {
    Worker& worker = (*workers)[started];
    error = ::pthread_create(&worker.thread, &attributes, WorkerMain, &worker);
    if (error == 0) ++started;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  workers->resize(started);
  return error;
}

}  // namespace

arrow::Status RunOnThreads(int workers, const std::function<arrow::Status(int worker)>& work) {
  if (workers < 1) return MakeError(ErrorKind::kInternal, "{} workers asked for: at least 1", workers);
  Group group(work);
  std::vector<Worker> threads;
  threads.reserve(static_cast<size_t>(workers - 1));
  for (int i = 1; i < workers; ++i) threads.push_back({&group, i, {}});
  const int start_error = StartThreads(&threads);
  if (start_error == 0) {
    group.SetGate(Gate::kOpen);
    group.Run(0);
  } else {
    group.SetGate(Gate::kAbandoned);
  }
  for (const Worker& thread : threads) ::pthread_join(thread.thread, nullptr);
  if (start_error != 0) {
    return MakeError(ErrorKind::kIo, "cannot start {} worker threads: {} (fewer threads, or raise ulimit -u)", workers - 1,
                     std::strerror(start_error));
  }
  return group.first_error;
}

}  // namespace icebound::runtime
