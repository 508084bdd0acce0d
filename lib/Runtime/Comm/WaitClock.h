//===- WaitClock.h - Time and rest in a wait --------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_COMM_WAITCLOCK_H
#define MPT_LIB_RUNTIME_COMM_WAITCLOCK_H

#include <chrono>
#include <time.h>

namespace mpt::rt {

/// Paces a wait for other ranks: it spins at first, since messages within a machine take
/// microseconds, and then sleeps for moments, since others may want the core. To yield
/// the core would put this thread behind all that wait for it: on a machine with other
/// work, messages took milliseconds.
class WaitClock {
public:
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  /// Whether it is time to look at the processes that are waited for. Launchers end the
  /// others a second after one is lost, and they report it first.
  bool isCheckDue(double seconds) {
    if (seconds <= nextCheck)
      return false;
    nextCheck = seconds + kBetweenChecks;
    return true;
  }
  static void rest(double seconds) {
    if (seconds < kSpinning)
      return;
    timespec pause = {0, 50'000};
    nanosleep(&pause, nullptr);
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kBetweenChecks = 0.1, kSpinning = 5e-5;
  const Clock::time_point begin = Clock::now();
  double nextCheck = kBetweenChecks;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_COMM_WAITCLOCK_H
