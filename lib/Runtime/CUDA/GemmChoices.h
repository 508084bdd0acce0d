//===- GemmChoices.h - Which proposals of libraries run ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The choice among cuBLASLt's and cuDNN's proposals by their times, and the file that
/// keeps it beside a program, so that later runs sum in the same order. The file is text:
/// a line that says what it is, then a line for each plan,
///
///   PROPOSAL PROPOSALS NANOSECONDS FIRST PLAN
///
/// with the number of the chosen proposal, from 0 (-1: none of them, but a matmul without
/// the epilogue and launches after it, or what runs without cuDNN), and of all; how long
/// it took, and how long the first one did (0: not measured); and what the choice is for:
/// the versions of the library and of the driver, the GPU, the plan and its matrices'
/// alignments. Needs neither CUDA nor LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_GEMMCHOICES_H
#define MPT_LIB_RUNTIME_CUDA_GEMMCHOICES_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpt::rt::cuda {

/// Instead of a proposal's number: the matmul without its epilogue, and launches that do
/// the rest, are faster than all of them; or what the program does without cuDNN.
inline constexpr int kWithoutChoice = -1;

struct GemmChoice {
  /// The number of the proposal, from 0, or kWithoutChoice; and how many there are.
  int proposal = 0, proposals = 0;
  /// Of what was chosen and of the first; 0: not measured.
  int64_t nanoseconds = 0, firstNanoseconds = 0;
};

/// By what they are for.
using GemmChoices = std::map<std::string, GemmChoice>;

/// The proposal to run with, by what each takes; negative: it does not run. A later one
/// must be at least 3 % faster than those before it: less is noise.
int chooseProposal(const std::vector<double> &microseconds);

/// 0: not measured.
int64_t toNanoseconds(double microseconds);

std::string printGemmChoices(const GemmChoices &choices);
/// False if `text` is none that printGemmChoices made; `choices` is empty then.
bool parseGemmChoices(const std::string &text, GemmChoices &choices);

/// Empty choices, and true, if there is no such file; false, with `error` set, if there
/// is one that cannot be read.
bool readGemmChoices(const std::string &path, GemmChoices &choices, std::string &error);
/// All of the file or nothing of it, also if several processes write. False, with `error`
/// set, if it cannot be written.
bool writeGemmChoices(const std::string &path, const GemmChoices &choices,
                      std::string &error);

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_GEMMCHOICES_H
