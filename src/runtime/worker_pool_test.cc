// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "icebound/error.h"

namespace icebound::runtime {
namespace {

using ::testing::HasSubstr;

TEST(WorkerPoolTest, RunsEveryWorkerOnceOnItsOwnThreadAndTheCallerIsWorkerZero) {
  std::mutex mutex;
  std::multiset<int> indexes;
  std::set<std::thread::id> threads;
  std::thread::id zero;
  std::barrier all_here(5);  // ends only when all five are inside at the same time
  ASSERT_TRUE(RunOnThreads(5, [&](int worker) {
                all_here.arrive_and_wait();
                std::lock_guard lock(mutex);
                indexes.insert(worker);
                threads.insert(std::this_thread::get_id());
                if (worker == 0) zero = std::this_thread::get_id();
                return arrow::Status::OK();
              }).ok());
  EXPECT_EQ(indexes, (std::multiset<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(threads.size(), 5u);
  EXPECT_EQ(zero, std::this_thread::get_id());
}

TEST(WorkerPoolTest, OneWorkerRunsOnTheCallersThreadAlone) {
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  ASSERT_TRUE(RunOnThreads(1, [&](int worker) {
                EXPECT_EQ(worker, 0);
                EXPECT_EQ(std::this_thread::get_id(), caller);
                ++calls;
                return arrow::Status::OK();
              }).ok());
  EXPECT_EQ(calls, 1);
}

/// Counts threads that have ended: its destructor runs after the thread has left the pool's code.
std::atomic<int> g_ended_threads{0};
struct ThreadEnd {
  bool armed = false;
  ~ThreadEnd() {
    if (armed) g_ended_threads.fetch_add(1);
  }
};
thread_local ThreadEnd t_thread_end;

TEST(WorkerPoolTest, TheFirstErrorInTimeWinsAndAllAreJoined) {
  for (const int first : {1, 2, 3}) {
    g_ended_threads = 0;
    std::atomic<int> returned{0};
    const arrow::Status status = RunOnThreads(4, [&](int worker) -> arrow::Status {
      t_thread_end.armed = worker == first;
      if (worker == first) {
        returned.fetch_add(1);
        return MakeError(ErrorKind::kDiskLimit, "worker {} was first", worker);
      }
      while (g_ended_threads.load() == 0) std::this_thread::yield();
      returned.fetch_add(1);
      return MakeError(ErrorKind::kCancelled, "worker {} was late", worker);
    });
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kDiskLimit) << status;
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(first) + " was first"));
    EXPECT_EQ(returned.load(), 4);
  }
}

TEST(WorkerPoolTest, ExceptionsBecomeErrors) {
  arrow::Status status = RunOnThreads(2, [](int worker) -> arrow::Status {
    if (worker == 1) throw std::runtime_error("boom");
    return arrow::Status::OK();
  });
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("boom"));
  status = RunOnThreads(2, [](int worker) -> arrow::Status {
    if (worker == 0) throw std::bad_alloc();
    return arrow::Status::OK();
  });
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kMemoryLimit);
}

TEST(WorkerPoolTest, NoWorkersIsAnError) {
  EXPECT_EQ(GetErrorKind(RunOnThreads(0, [](int) { return arrow::Status::OK(); })), ErrorKind::kInternal);
}

TEST(WorkerPoolTest, NewThreadsBlockSignalsAndTheCallersMaskIsKept) {
  sigset_t before, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  ASSERT_TRUE(RunOnThreads(2, [&](int worker) {
                sigset_t mask;
                ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                EXPECT_EQ(::sigismember(&mask, SIGINT), worker == 0 ? ::sigismember(&before, SIGINT) : 1);
                return arrow::Status::OK();
              }).ok());
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGINT), ::sigismember(&before, SIGINT));
}

TEST(WorkerPoolTest, StacksAreSmall) {
  ASSERT_TRUE(RunOnThreads(2, [&](int worker) {
                if (worker == 0) return arrow::Status::OK();
                pthread_attr_t attributes;
                size_t stack_bytes = 0;
                EXPECT_EQ(::pthread_getattr_np(::pthread_self(), &attributes), 0);
                ::pthread_attr_getstacksize(&attributes, &stack_bytes);
                ::pthread_attr_destroy(&attributes);
                EXPECT_LE(stack_bytes, 8u * kWorkerStackBytes);
                EXPECT_GE(stack_bytes, size_t{kWorkerStackBytes});
                return arrow::Status::OK();
              }).ok());
}

TEST(WorkerPoolTest, CallsNest) {
  std::atomic<int> calls{0};
  ASSERT_TRUE(RunOnThreads(3, [&](int) {
                return RunOnThreads(2, [&](int) {
                  calls.fetch_add(1);
                  return arrow::Status::OK();
                });
              }).ok());
  EXPECT_EQ(calls.load(), 6);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A sanitizer reserves terabytes of addresses, so the limit below cannot be set with one.
TEST(WorkerPoolTest, ThreadsThatCannotBeStartedAreAnErrorAndNothingRuns) {
  EXPECT_EXIT(
      {
        // Room for a few stacks only, whatever is mapped already.
        int64_t mapped_pages = 0;
        if (FILE* statm = std::fopen("/proc/self/statm", "r")) {
          if (std::fscanf(statm, "%ld", &mapped_pages) != 1) std::_Exit(2);
          std::fclose(statm);
        }
        struct rlimit limit;
        limit.rlim_cur = limit.rlim_max = static_cast<rlim_t>(mapped_pages * 4096 + 16 * kWorkerStackBytes);
        if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
        std::atomic<int> calls{0};
        const arrow::Status status = RunOnThreads(100, [&](int) {
          calls.fetch_add(1);
          return arrow::Status::OK();
        });
        std::fprintf(stderr, "%s; calls %d\n", status.ToString().c_str(), calls.load());
        std::_Exit(GetErrorKind(status) == ErrorKind::kIo && calls.load() == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "cannot start 99 worker threads.*calls 0");
}
#endif

}  // namespace
}  // namespace icebound::runtime
