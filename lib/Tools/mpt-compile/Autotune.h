//===- Autotune.h - Algorithms of matmuls, kept in a file -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_MPT_COMPILE_AUTOTUNE_H
#define MPT_LIB_TOOLS_MPT_COMPILE_AUTOTUNE_H

#include "mpt/Codegen/CodeGen.h"
#include "mpt/Tools/CompileStep.h"

namespace mpt {

/// What --autotune does: matmuls that are not in the file are measured on this
/// machine's GPU, if it has one, and written to it; returns what the file holds
/// for `plans`, of all devices and versions of cuBLASLt, in the keys' order.
llvm::Expected<std::vector<TunedMatmul>> autotune(llvm::ArrayRef<rt::GemmPlan> plans,
                                                  const CompileOptions &options);

} // namespace mpt

#endif // MPT_LIB_TOOLS_MPT_COMPILE_AUTOTUNE_H
