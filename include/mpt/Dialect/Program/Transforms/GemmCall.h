//===- GemmCall.h - Products with cuBLASLt's epilogues as calls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_GEMMCALL_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_GEMMCALL_H

#include "mpt/Dialect/MPT/IR/Gemm.h"
#include "mpt/ProgramABI/GemmPlan.h"

namespace mpt {

/// What distinguishes the uses of `mpt.gemm`: the epilogue that it is.
rt::GemmEpilogue getGemmEpilogue(Epilogue activation, bool isForward, bool hasBias,
                                 bool hasBiasGrad);

/// The attributes of the call (`mpt.call`'s config) that carries out an `mpt.gemm`; its
/// inputs are lhs, rhs and the bias, aux or addend, its outputs the op's results.
mlir::DictionaryAttr getGemmConfig(mlir::MLIRContext *context, bool transposeLhs,
                                   bool transposeRhs, rt::GemmEpilogue epilogue,
                                   bool hasAddend);

/// The epilogue of a call with such attributes; Default without.
rt::GemmEpilogue getGemmEpilogue(mlir::DictionaryAttr config);

/// Whether the last input of a call with such attributes is an addend.
bool hasGemmAddend(mlir::DictionaryAttr config);

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_GEMMCALL_H
