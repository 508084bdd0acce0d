//===- InterruptsTest.cpp - Signals that ask a tool to end ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/Interrupts.h"
#include "../Host/TestHelpers.h"
#include "mpt/Support/FileIO.h"
#include "gtest/gtest.h"
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpt;

namespace {

/// What a process of its own does with signals: its exit status, or minus the signal
/// that killed it.
int runChild(const std::function<void()> &body) {
  pid_t child = fork();
  if (child == 0) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
      std::signal(signal, SIG_DFL);
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(InterruptsTest, EndAWriteAndLeaveTheOldFile) {
  test::TemporaryDirectory directory;
  std::string path = directory.path("out");
  test::writeBytes(path, "old");
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(runChild([&] {
                installInterruptHandlers("test");
                FileLock lock = llvm::cantFail(FileLock::acquire(path));
                llvm::cantFail(writeFileAtomically(path, [&](ByteSink &sink) {
                  llvm::cantFail(sink.append("new"));
                  raise(signal);
                  return llvm::Error::success();
                }));
              }),
              128 + signal);
    EXPECT_EQ(test::readBytes(path), "old");
    EXPECT_EQ(directory.list(), "out");
  }
}

TEST(InterruptsTest, AreDeferred) {
  EXPECT_EQ(runChild([&] {
              installInterruptHandlers("test");
              {
                DeferInterrupts deferred;
                if (getDeferredInterrupt() != 0)
                  _exit(1);
                for (int signal : {SIGTERM, SIGTERM, SIGHUP, SIGINT, SIGINT})
                  raise(signal);
                if (getDeferredInterrupt() != SIGTERM)
                  _exit(2);
              }
              raise(SIGINT);
            }),
            128 + SIGINT);
}

// A person who asks again means it.
TEST(InterruptsTest, ASecondCtrlCEnds) {
  EXPECT_EQ(runChild([&] {
              installInterruptHandlers("test");
              DeferInterrupts deferred;
              raise(SIGINT);
              raise(SIGINT);
              sleep(2);
              raise(SIGTERM);
              raise(SIGINT);
            }),
            128 + SIGINT);
}

TEST(InterruptsTest, CtrlCEndsWhatWaitsAfterSigterm) {
  EXPECT_EQ(runChild([&] {
              installInterruptHandlers("test");
              DeferInterrupts deferred;
              raise(SIGTERM);
              raise(SIGINT);
              sleep(2);
              raise(SIGINT);
            }),
            128 + SIGINT);
}

TEST(InterruptsTest, WhatIsIgnoredStaysIgnored) {
  EXPECT_EQ(runChild([&] {
              std::signal(SIGHUP, SIG_IGN);
              installInterruptHandlers("test");
              raise(SIGHUP);
              // A pipe that nobody reads.
              int ends[2];
              if (pipe(ends) != 0)
                _exit(3);
              close(ends[0]);
              if (write(ends[1], "x", 1) != -1 || errno != EPIPE)
                _exit(4);
            }),
            0);
}

} // namespace
