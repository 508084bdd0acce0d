//===- EmulationTest.cpp - Copies of the emulator -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Runtime/Emulator/Emulation.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mpt::rt;

namespace {

const mpt_simt_ops *simt = nullptr;
alignas(16) float from[8] = {1, 2, 3, 4, 5, 6, 7, 8}, to[8];
float early = 0;

void copyTwice(void **) {
  simt->start_copy(to, from, 16);
  simt->end_copies();
  simt->start_copy(to + 4, from + 4, 8);
  simt->end_copies();
  early = to[0];
  simt->wait_for_copies(1);
  // The first group is there, the second is not.
  if (to[0] == 1 && std::isnan(to[4]))
    simt->wait_for_copies(0);
}
void forget(void **) {
  simt->start_copy(to, from, 16);
  simt->end_copies();
}
/// Waits for groups that have ended only.
void waitTooEarly(void **) {
  simt->start_copy(to, from, 16);
  simt->wait_for_copies(0);
}
void misplace(void **) {
  simt->start_copy(to, from + 1, 12);
  simt->end_copies();
  simt->wait_for_copies(0);
}

bool run(void (*kernel)(void **), std::string &error) {
  mpt_simt_kernel one = {"copies", kernel, 0};
  mpt_simt_module module = {&simt, &one, 1};
  return runEmulated(module, one, 1, 1, 1, nullptr, error);
}

TEST(Emulation, CopiesAreThereWhenTheyAreWaitedFor) {
  std::string error;
  ASSERT_TRUE(run(copyTwice, error)) << error;
  EXPECT_TRUE(std::isnan(early));
  const float wanted[8] = {1, 2, 3, 4, 5, 6, 0, 0};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(to[i], wanted[i]) << i;
}

TEST(Emulation, CopiesThatAreNotWaitedFor) {
  for (auto kernel : {forget, waitTooEarly, misplace}) {
    std::string error;
    EXPECT_FALSE(run(kernel, error));
    EXPECT_EQ(error,
              "kernel copies: a copy to shared memory is not waited for, or not of "
              "16 bytes");
  }
}

} // namespace
