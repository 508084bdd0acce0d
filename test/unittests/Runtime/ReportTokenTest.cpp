//===- ReportTokenTest.cpp - One rank of a machine reports ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Comm/ReportToken.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpt::rt;

namespace {

/// Whether a child process that joins `token` is the first to take it.
bool takesInAChild(ReportToken &token) {
  const ProcessId parent = getOwnProcess();
  const int32_t descriptor = token.getDescriptor();
  const pid_t child = fork();
  if (child == 0) {
    ReportToken own;
    own.join(parent, descriptor);
    _exit(own.take());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WEXITSTATUS(status) != 0;
}

TEST(ReportTokenTest, OneOfAMachineTakesIt) {
  ReportToken token;
  ASSERT_GE(token.getDescriptor(), 0);
  EXPECT_TRUE(takesInAChild(token));
  EXPECT_FALSE(takesInAChild(token));
  EXPECT_FALSE(token.take());
}

TEST(ReportTokenTest, WhatCannotBeSharedIsOnesOwn) {
  ReportToken token, other;
  // No such process, and no such file.
  token.join({0, 0}, 3);
  token.join(getOwnProcess(), -1);
  EXPECT_TRUE(token.take());
  EXPECT_FALSE(token.take());
  EXPECT_TRUE(other.take());
}

} // namespace
