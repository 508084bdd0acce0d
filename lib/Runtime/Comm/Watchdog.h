//===- Watchdog.h - A deadline for calls that cannot fail -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_COMM_WATCHDOG_H
#define MPT_LIB_RUNTIME_COMM_WATCHDOG_H

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>

namespace mpt::rt {

/// Ends the process, with a line on standard error, unless it is destroyed in time: for a
/// function that waits for other ranks without end. Where the system has no more threads,
/// nothing ends the wait.
class Watchdog {
public:
  Watchdog(const char *function, double seconds) : function(function), seconds(seconds) {
    auto run = [](void *data) -> void * {
      static_cast<Watchdog *>(data)->watch();
      return nullptr;
    };
    isRunning = pthread_create(&thread, nullptr, run, this) == 0;
  }
  ~Watchdog() {
    if (!isRunning)
      return;
    {
      std::lock_guard<std::mutex> lock(mutex);
      isOver = true;
    }
    over.notify_all();
    pthread_join(thread, nullptr);
  }
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  void watch() {
    std::unique_lock<std::mutex> lock(mutex);
    if (over.wait_for(lock, std::chrono::duration<double>(seconds),
                      [this] { return isOver; }))
      return;
    std::fprintf(stderr,
                 "mpt: %s has waited for the other ranks for %g s: one of them has "
                 "ended, stands still or does not use MPI; start all ranks again, "
                 "with a longer deadline if they are only slow\n",
                 function, seconds);
    std::fflush(stderr);
    std::_Exit(1);
  }

  const char *function;
  double seconds;
  std::mutex mutex;
  std::condition_variable over;
  bool isOver = false, isRunning = false;
  pthread_t thread = {};
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_COMM_WATCHDOG_H
