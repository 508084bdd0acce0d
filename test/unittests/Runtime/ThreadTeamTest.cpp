//===- ThreadTeamTest.cpp - Tasks on several threads ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parallel.h"
#include "gtest/gtest.h"

#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mpt::rt;

namespace {

void spend(std::chrono::microseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(ThreadTeamTest, EveryTaskRunsOnce) {
  for (int size : {1, 2, 3, 8}) {
    ThreadTeam team(size);
    EXPECT_EQ(team.size(), size);
    for (int64_t tasks : {0, 1, 2, 3, 7, 64, 1000})
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<int> runs(tasks, 0);
        std::atomic<bool> isInRange{true};
        parallelFor(tasks, team, [&](int64_t task, int thread) {
          if (task < 0 || task >= tasks || thread < 0 || thread >= size)
            isInRange = false;
          else
            ++runs[task];
        });
        ASSERT_TRUE(isInRange);
        // What tasks wrote is seen after the loop.
        for (int64_t task = 0; task < tasks; ++task)
          ASSERT_EQ(runs[task], 1) << task << " of " << tasks << " on " << size;
      }
  }
}

TEST(ThreadTeamTest, ANumberIsUsedByOneThreadAtATime) {
  ThreadTeam team(4);
  std::atomic<int> busy[4] = {};
  std::atomic<bool> isShared{false};
  for (int repeat = 0; repeat < 200; ++repeat)
    parallelFor(50, team, [&](int64_t, int thread) {
      if (busy[thread]++)
        isShared = true;
      spend(std::chrono::microseconds(2));
      --busy[thread];
    });
  EXPECT_FALSE(isShared);
}

TEST(ThreadTeamTest, WorkersWork) {
  ThreadTeam team(2);
  std::atomic<int> byWorker{0};
  // The machine may be busy: until it has happened.
  for (int repeat = 0; repeat < 2000 && byWorker == 0; ++repeat)
    parallelFor(20, team, [&](int64_t, int thread) {
      byWorker += thread;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
  EXPECT_GT(byWorker, 0);
}

/// What a worker on a core that others use looks like: each of its tasks takes a
/// thousand times what it takes the caller.
TEST(ThreadTeamTest, WorkersThatCostMoreThanTheySaveArePaused) {
  ThreadTeam team(2);
  constexpr int kLoops = 2000, kTasks = 8;
  std::atomic<int> byWorker{0};
  for (int loop = 0; loop < kLoops; ++loop)
    parallelFor(kTasks, team, [&](int64_t, int thread) {
      if (thread == 0)
        return spend(std::chrono::microseconds(10));
      ++byWorker;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    });
  // One in each loop would be 2000. The caller's own 160 ms, or more on a busy machine,
  // pay for a few.
  EXPECT_LT(byWorker, kLoops / 10);
}

TEST(ThreadTeamTest, AChildProcessGoesOnAlone) {
  ThreadTeam team(3);
  int64_t sum = 0;
  parallelFor(10, team, [&](int64_t task, int) { __atomic_add_fetch(&sum, task, 0); });
  EXPECT_EQ(sum, 45);
  pid_t child = fork();
  if (child == 0) {
    alarm(60); // instead of hanging
    int64_t count = 0;
    for (int repeat = 0; repeat < 100; ++repeat)
      parallelFor(10, team, [&](int64_t, int thread) { count += thread == 0; });
    team.~ThreadTeam();
    _exit(count == 1000 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadTeamTest, SignalsAreForTheHost) {
  static std::atomic<pthread_t> handler{};
  std::signal(SIGUSR1, [](int) { handler = pthread_self(); });
  ThreadTeam team(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    // Blocked here, it would go to any thread that takes it.
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    kill(getpid(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(handler.load());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(handler.load(), pthread_self());
    handler = pthread_t();
  }
  std::signal(SIGUSR1, SIG_DFL);
}

} // namespace
