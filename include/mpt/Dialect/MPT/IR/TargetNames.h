//===- TargetNames.h - Machines that mpt.target may name -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_TARGETNAMES_H
#define MPT_DIALECT_MPT_IR_TARGETNAMES_H

#include "llvm/ADT/StringRef.h"

namespace mpt {

/// What `mpt.target` and the option `target` of precision passes may be. What each
/// machine does fast is in lib/Precision/TargetDescription.cpp, in the same order.
inline constexpr llvm::StringLiteral kTargetNames[] = {
    "sm_70", "sm_75",  "sm_80",   "sm_86",      "sm_89",
    "sm_90", "sm_100", "cpu-amx", "cpu-generic"};

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_TARGETNAMES_H
