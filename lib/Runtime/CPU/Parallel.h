//===- Parallel.h - Tasks on several threads --------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// parallelFor and the threads that it runs on. What a task is follows from shapes
/// alone; which thread runs it does not matter to a single bit.
///
/// The calling thread works too, and takes every task that no worker has taken. It never
/// waits for a worker to begin, only for tasks that workers have begun. A worker that the
/// scheduler keeps off its core for milliseconds therefore delays the caller by one task.
/// And the team keeps account: time that the caller has spent waiting counts against the
/// time that workers have saved. When waiting outweighs, as it may on a busy machine, the
/// caller goes on alone until it is made up for.
///
/// oneDNN brings libgomp with it, whose threads are not used: at the end of a parallel
/// region they all have to meet.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_PARALLEL_H
#define MPT_LIB_RUNTIME_CPU_PARALLEL_H

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <type_traits>
#include <vector>

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace mpt::rt {

/// Threads that work for one caller at a time. Idle workers wait actively for a short
/// time, then sleep. A team that was inherited by fork() has no workers and goes on
/// without.
class ThreadTeam {
public:
  /// A task of a loop, and which thread of the team runs it.
  using TaskFn = void (*)(void *body, int64_t task, int thread);

  /// A team of `size` threads, at least 1, of which the caller is one. If the system has
  /// no more threads, there are fewer. Returns when all are running.
  explicit ThreadTeam(int size);
  /// Ends the workers.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  /// Thread numbers are below this.
  int size() const { return count; }

  /// Runs all tasks in [0, tasks). Allocates nothing.
  void run(TaskFn function, void *body, int64_t tasks);

private:
  struct Worker {
    ThreadTeam *team;
    int number;
    pthread_t thread;
  };
  struct Job {
    TaskFn function;
    void *body;
    int64_t tasks;
  };

  void work(int thread);
  /// Takes and runs tasks until there are none to take; returns how many.
  int64_t takeTasks(int thread);
  void waitForWork(uint32_t seen);
  void waitForTasks(int64_t expected);

  int count;
  int process;
  std::vector<Worker> workers;
  /// Read by those who have taken a task of it and not yet reported it as finished.
  Job job{};
  /// Nanoseconds that workers may cost; used by the caller alone.
  int64_t credit;
  // Fields that different threads write lie a cache line apart. With alignas the team
  // would take an aligned block from the heap, as tensors do.
  char apartFromCaller[64];
  /// Tasks that nobody has taken; 0 or less: none.
  std::atomic<int64_t> remaining{0};
  char apartFromRemaining[64];
  /// Tasks of the job that workers have finished.
  std::atomic<int64_t> finished{0};
  std::atomic<bool> callerSleeps{false};
  /// Workers that are running.
  std::atomic<int> started{0};
  /// Futex: changes when a worker has started, or finished while the caller sleeps.
  std::atomic<uint32_t> finishedSignal{0};
  char apartFromFinished[64];
  /// Futex: changes with every job, and at the end.
  std::atomic<uint32_t> jobSignal{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stops{false};
  /// Waits that are to be spent asleep, because the cores are wanted by others.
  std::atomic<int> sleepyWaits{0};
};

/// Calls `body(task, thread)` for every task in [0, tasks), in no fixed order. `thread`
/// is in [0, team.size()).
template <typename Body>
void parallelFor(int64_t tasks, ThreadTeam &team, Body &&body) {
  if (team.size() <= 1 || tasks <= 1) {
    for (int64_t task = 0; task < tasks; ++task)
      body(task, 0);
    return;
  }
  using Callee = std::remove_reference_t<Body>;
  team.run([](void *data, int64_t task,
              int thread) { (*static_cast<Callee *>(data))(task, thread); },
           const_cast<void *>(static_cast<const void *>(&body)), tasks);
}

/// While it lives, oneDNN runs on one thread when this thread calls it: its sums would
/// depend on how many there are. Workers of a team are like that always.
class OneThread {
public:
  OneThread() : before(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before); }
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;

private:
  int before;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_PARALLEL_H
