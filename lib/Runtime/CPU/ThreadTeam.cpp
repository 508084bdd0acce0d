//===- ThreadTeam.cpp - Threads that tasks run on ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parallel.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace mpt::rt;

// All times are in nanoseconds.

/// How long a worker waits actively for the next job: about what it takes to wake one up,
/// several times over.
static constexpr int64_t kWorkerSpin = 100'000;
/// How long the caller waits actively for the last tasks.
static constexpr int64_t kCallerSpin = 50'000;
/// Less work than this is not worth waking anybody.
static constexpr int64_t kWorthWaking = 20'000;
/// A pause of a thread that should not pause: another one had its core.
static constexpr int64_t kPreempted = 300'000;
/// So many waits are then spent asleep. Who waits actively on a core that others want
/// has used up its share of it when there is work.
static constexpr int kSleepyWaits = 256;
/// What workers may cost: a share of the time that passes, saved up to a limit. Debts
/// have a limit too, so that one odd second does not cost the threads for good.
static constexpr double kCostShare = 0.1;
static constexpr int64_t kMostCredit = 5'000'000, kMostDebt = 500'000'000;

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static void relax() {
#if defined(__x86_64__)
  for (int i = 0; i < 8; ++i)
    __builtin_ia32_pause();
#endif
}

static_assert(sizeof(std::atomic<uint32_t>) == 4, "a futex is a word");

/// Sleeps until woken, if `word` is `value`. May also return for no reason.
static void futexWait(std::atomic<uint32_t> &word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void futexWake(std::atomic<uint32_t> &word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

ThreadTeam::ThreadTeam(int size)
    : count(std::max(size, 1)), process(getpid()), credit(kMostCredit) {
  // Workers keep their addresses.
  workers.reserve(count - 1);
  // Signals are for the host's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int number = 1; number < count; ++number) {
    workers.push_back({this, number, pthread_t()});
    auto start = [](void *data) -> void * {
      auto *worker = static_cast<Worker *>(data);
      worker->team->work(worker->number);
      return nullptr;
    };
    if (pthread_create(&workers.back().thread, nullptr, start, &workers.back())) {
      workers.pop_back();
      break;
    }
    pthread_setname_np(workers.back().thread, "mpt-worker");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // What libgomp keeps for a thread is allocated here, not in a run.
  while (started != static_cast<int>(workers.size())) {
    uint32_t seen = finishedSignal;
    if (started != static_cast<int>(workers.size()))
      futexWait(finishedSignal, seen);
  }
}

ThreadTeam::~ThreadTeam() {
  if (process != getpid())
    return;
  stops = true;
  ++jobSignal;
  futexWake(jobSignal, INT_MAX);
  for (Worker &worker : workers)
    pthread_join(worker.thread, nullptr);
}

int64_t ThreadTeam::takeTasks(int thread) {
  int64_t taken = 0;
  // Looking first keeps those who only wait from writing.
  while (remaining.load(std::memory_order_relaxed) > 0) {
    int64_t left = remaining.fetch_sub(1);
    if (left <= 0)
      break;
    job.function(job.body, job.tasks - left, thread);
    ++taken;
  }
  return taken;
}

void ThreadTeam::work(int thread) {
  omp_set_num_threads(1);
  ++started;
  ++finishedSignal;
  futexWake(finishedSignal, 1);
  while (!stops) {
    uint32_t seen = jobSignal;
    if (int64_t taken = takeTasks(thread)) {
      finished += taken;
      if (callerSleeps) {
        ++finishedSignal;
        futexWake(finishedSignal, 1);
      }
      continue;
    }
    waitForWork(seen);
  }
}

void ThreadTeam::waitForWork(uint32_t seen) {
  if (sleepyWaits.load(std::memory_order_relaxed) > 0) {
    --sleepyWaits;
  } else {
    int64_t start = now(), last = start;
    while (last - start < kWorkerSpin) {
      if (remaining.load(std::memory_order_relaxed) > 0 || stops)
        return;
      relax();
      int64_t time = now();
      if (time - last > kPreempted)
        sleepyWaits = kSleepyWaits;
      last = time;
    }
  }
  // Who makes a job changes the signal and then looks for sleepers.
  ++sleepers;
  if (jobSignal == seen && !stops)
    futexWait(jobSignal, seen);
  --sleepers;
}

void ThreadTeam::waitForTasks(int64_t expected) {
  int64_t start = now();
  while (finished != expected) {
    if (now() - start < kCallerSpin) {
      relax();
      continue;
    }
    // Who finishes changes the number and then looks for the caller.
    callerSleeps = true;
    uint32_t seen = finishedSignal;
    if (finished != expected)
      futexWait(finishedSignal, seen);
    callerSleeps = false;
  }
}

void ThreadTeam::run(TaskFn function, void *body, int64_t tasks) {
  int64_t start = now();
  if (workers.empty() || credit <= 0) {
    for (int64_t task = 0; task < tasks; ++task)
      function(body, task, 0);
    credit += static_cast<int64_t>(kCostShare * static_cast<double>(now() - start));
    return;
  }
  job = {function, body, tasks};
  finished = 0;
  remaining = tasks;
  ++jobSignal;

  // The first task tells whether the others are worth waking someone.
  int64_t own = 0, waking = 0;
  if (int64_t left = remaining.fetch_sub(1); left > 0) {
    function(body, tasks - left, 0);
    ++own;
  }
  int64_t left = remaining.load(std::memory_order_relaxed);
  if (left > 0 && sleepers > 0) {
    int64_t time = now();
    if (static_cast<double>(time - start) * static_cast<double>(left) > kWorthWaking) {
      futexWake(jobSignal, static_cast<int>(std::min<int64_t>(left, count - 1)));
      waking = now() - time;
    }
  }
  own += takeTasks(0);
  int64_t theirs = tasks - own;
  int64_t end = now(), waiting = 0;
  int64_t working = end - start - waking;
  if (theirs > 0) {
    waitForTasks(theirs);
    waiting = now() - end;
    if (waiting > kPreempted && waiting > working)
      sleepyWaits = kSleepyWaits;
  }
  // What the workers' tasks would have taken the caller.
  double saved = own > 0 ? static_cast<double>(working) / static_cast<double>(own) *
                               static_cast<double>(theirs)
                         : static_cast<double>(working);
  double earned = saved - static_cast<double>(waiting + waking) +
                  kCostShare * static_cast<double>(working + waiting);
  credit = std::clamp(credit + static_cast<int64_t>(earned), -kMostDebt, kMostCredit);
}
