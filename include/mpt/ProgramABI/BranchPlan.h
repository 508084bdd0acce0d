//===- BranchPlan.h - What of a step may run at once ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Branches of a step's CUDA graph: small launches, which leave most of a GPU idle, run
/// beside others that neither read nor overwrite what they write. Pure, and the same for
/// the same program: needs neither CUDA nor LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_BRANCHPLAN_H
#define MPT_PROGRAMABI_BRANCHPLAN_H

#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt {

inline constexpr uint32_t kMostBranches = 3;

/// An instruction that runs.
struct BranchStep {
  uint32_t instruction = 0;
  uint32_t branch = 0;
  /// By branch: 1 more than the place in the list of the last step there that it waits
  /// for itself, or 0. What else it comes after is done by then.
  uint32_t after[kMostBranches] = {};
};

/// Steps of one branch run one after the other, and after those of other branches that
/// they wait for.
struct BranchPlan {
  /// 1: all instructions as they are in the program; the list is then empty.
  uint32_t count = 1;
  /// In an order in which they may run.
  std::vector<BranchStep> steps;
  /// Estimates, in seconds: one after the other, and in branches.
  double serial = 0, parallel = 0;
};

/// What work takes on a GPU that is busy, in bytes and FLOPs per second; at first that of
/// an H200 (4.8 TB/s and 989 TFLOP/s of bf16 at best).
struct BranchRates {
  double bytes = 3e12, flops = 3e14;
};
/// The rates of another GPU, by the best that its memory and tensor cores reach, in bytes
/// and FLOPs of bf16 per second; where one is not known (0) an H200's.
BranchRates getBranchRates(double memory, double tensorCores);
/// The best that tensor cores of architecture `sm` reach, in dense FLOPs of bf16 for each
/// clock and multiprocessor (by NVIDIA's datasheets of A100, H100, B200 and L40S).
double getTensorFlopsPerClock(int sm);

/// Branches of `program`, at most `most`, which is from 1 to kMostBranches. `skipped`
/// says of each instruction whether it does not run.
///
/// Two instructions are ordered as in the program if bytes that one of them writes are
/// read or written by the other, so that memory which several values share keeps its
/// meaning. One branch where more would not be faster: of few instructions, of those that
/// keep a GPU busy, and of chains. Also with loops, exchanges between ranks and calls of
/// cuDNN, and of more than 1,024 instructions or 8,192 of their buffers.
BranchPlan planBranches(const Program &program, const std::vector<bool> &skipped,
                        const BranchRates &rates = {}, uint32_t most = kMostBranches);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_BRANCHPLAN_H
