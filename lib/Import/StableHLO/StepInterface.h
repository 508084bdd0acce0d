//===- StepInterface.h - Names, roles and updates of arguments  -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_IMPORT_STABLEHLO_STEPINTERFACE_H
#define MPT_LIB_IMPORT_STABLEHLO_STEPINTERFACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpt::stablehlo {

/// Gives arguments `mpt.name` and `mpt.role`, and results `mpt.name` and `mpt.updates`,
/// as the pass describes, where `function` does not have them. Reports what does not fit.
llvm::LogicalResult addStepInterface(mlir::func::FuncOp function,
                                     llvm::StringRef parameters, unsigned state);

} // namespace mpt::stablehlo

#endif // MPT_LIB_IMPORT_STABLEHLO_STEPINTERFACE_H
