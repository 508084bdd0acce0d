//===- CallWorkspace.h - Workspace of library calls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many bytes of workspace a library call may use at most. The bound is the
/// runtime's own (mpt/Runtime/CallPlan.h), so that plan and run agree.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_ANALYSIS_CALLWORKSPACE_H
#define MPT_ANALYSIS_CALLWORKSPACE_H

#include <cstdint>

namespace mpt {

struct StepInstruction;

/// Bytes that the call `instruction` may use with up to `maxThreads` threads.
int64_t getCallWorkspaceBytes(const StepInstruction &instruction,
                              int64_t maxThreads);

} // namespace mpt

#endif // MPT_ANALYSIS_CALLWORKSPACE_H
