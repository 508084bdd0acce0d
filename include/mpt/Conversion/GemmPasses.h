//===- GemmPasses.h - Products of GPU libraries -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CONVERSION_GEMMPASSES_H
#define MPT_CONVERSION_GEMMPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Conversion/GemmPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Conversion/GemmPasses.h.inc"

} // namespace mpt

#endif // MPT_CONVERSION_GEMMPASSES_H
