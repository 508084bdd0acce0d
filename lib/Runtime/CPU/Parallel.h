//===- Parallel.h - Tasks on the threads of libgomp -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// parallelFor over libgomp, which oneDNN uses too, so that there is one set of
/// threads. Through libgomp's entry points rather than pragmas: clang compiles
/// pragmas to another runtime's.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_PARALLEL_H
#define MPT_LIB_RUNTIME_CPU_PARALLEL_H

#include <atomic>
#include <cstdint>

extern "C" {
void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace mpt::rt {

/// Calls `body(task, thread)` for every task in [0, tasks), on at most `threads`
/// threads, in no fixed order. `thread` is in [0, threads). Asks libgomp for all
/// threads even if there are fewer tasks: it would end the others and start them
/// again for the next region.
template <typename Body>
void parallelFor(int64_t tasks, int threads, Body &&body) {
  if (tasks <= 0)
    return;
  if (threads <= 1 || tasks == 1) {
    for (int64_t task = 0; task < tasks; ++task)
      body(task, 0);
    return;
  }
  struct Shared {
    std::atomic<int64_t> next;
    int64_t tasks;
    Body &body;
  } shared{{0}, tasks, body};
  GOMP_parallel(
      [](void *data) {
        auto &work = *static_cast<Shared *>(data);
        int thread = omp_get_thread_num();
        for (int64_t task; (task = work.next.fetch_add(1)) < work.tasks;)
          work.body(task, thread);
      },
      &shared, static_cast<unsigned>(threads), 0);
}

/// While it lives, libgomp gives this thread's own parallel regions (oneDNN's)
/// one thread. parallelFor is not affected.
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
