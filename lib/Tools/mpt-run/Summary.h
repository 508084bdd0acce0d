//===- Summary.h - The summary at the end of a run --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_MPT_RUN_SUMMARY_H
#define MPT_LIB_TOOLS_MPT_RUN_SUMMARY_H

#include "mpt/Host/StepEngine.h"
#include "mpt/Host/Trainer.h"

namespace mpt {

struct RunSummary {
  std::string precision;
  TrainingSummary training;
  /// Arena and state.
  size_t peakBytes = 0;
  /// What each of several ranks has of it, if they hold state together.
  std::string memory;
  StepProfile profile;
  bool printsProfile = false;
};

/// A table with a row per run, its evaluation and its profile.
void printSummaries(llvm::raw_ostream &os, llvm::ArrayRef<RunSummary> summaries);

} // namespace mpt

#endif // MPT_LIB_TOOLS_MPT_RUN_SUMMARY_H
