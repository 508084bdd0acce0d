//===- NeighborsTest.cpp - Processes that end or stop -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Comm/Neighbors.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpt::rt;

namespace {

/// A child that waits for signals.
struct Child {
  Child() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    number = fork();
    if (number == 0) {
      const ProcessId own = getOwnProcess();
      (void)!write(ends[1], &own, sizeof(own));
      for (;;)
        pause();
    }
    EXPECT_EQ(read(ends[0], &process, sizeof(process)), ssize_t(sizeof(process)));
    close(ends[0]);
    close(ends[1]);
  }
  /// Sends a signal, and waits until its effect shows.
  void send(int signal, int options) {
    kill(number, signal);
    siginfo_t info;
    EXPECT_EQ(waitid(P_PID, number, &info, options), 0);
  }
  pid_t number;
  ProcessId process;
};

TEST(NeighborsTest, StatesOfAProcess) {
  const ProcessId own = getOwnProcess();
  EXPECT_EQ(own.number, getpid());
  EXPECT_EQ(getState(own), ProcessState::Runs);
  Child child;
  EXPECT_EQ(child.process.number, child.number);
  EXPECT_EQ(getState(child.process), ProcessState::Runs);
  child.send(SIGSTOP, WSTOPPED);
  EXPECT_EQ(getState(child.process), ProcessState::Stopped);
  child.send(SIGCONT, WCONTINUED);
  EXPECT_EQ(getState(child.process), ProcessState::Runs);
  // It is there until its parent has asked for it, but has ended.
  child.send(SIGKILL, WEXITED | WNOWAIT);
  EXPECT_EQ(getState(child.process), ProcessState::Ended);
  child.send(SIGKILL, WEXITED);
  EXPECT_EQ(getState(child.process), ProcessState::Ended);
}

TEST(NeighborsTest, OnlyProcessesOfThisMachine) {
  Child child;
  ProcessId elsewhere = getOwnProcess(), unknown;
  // Another one has the number here.
  ++elsewhere.start;
  Neighbors neighbors;
  neighbors.set({child.process, elsewhere, unknown, getOwnProcess()});
  child.send(SIGKILL, WEXITED);
  EXPECT_EQ(neighbors.find(0), ProcessState::Ended);
  for (int32_t rank : {1, 2, 3, 4, -1})
    EXPECT_EQ(neighbors.find(rank), ProcessState::Runs) << rank;
}

} // namespace
