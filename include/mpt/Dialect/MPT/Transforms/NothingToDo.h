//===- NothingToDo.h - A pass that finds nothing to do says so -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_NOTHINGTODO_H
#define MPT_DIALECT_MPT_TRANSFORMS_NOTHINGTODO_H

#include "mlir/IR/BuiltinOps.h"

namespace mpt::detail {

/// Whether `module` holds an op of the mpt dialect, a kernel or a program.
bool hasOpsOfMPT(mlir::ModuleOp module);

/// Whether `module` holds a kernel or a program, which planning makes of a step.
bool hasKernelsOrProgram(mlir::ModuleOp module);

/// Warns that `pass` found nothing to work on, naming what is missing (`missing`, such as
/// "no parameter") and the dialects of the ops that there are. For passes that look at a
/// whole module: those that work on one function fail instead if it is not what they
/// expect. Silent where functions have bodies without ops but returns.
void warnOfNothingToDo(mlir::ModuleOp module, llvm::StringRef pass,
                       const llvm::Twine &missing);

/// Warns, at the op, of attributes of other dialects' ops with a slip in the prefix of
/// one of MPT's, as in `mtp.precision`. The dialect's verifier sees them on its own ops
/// alone.
void warnOfMisspelledAttributes(mlir::ModuleOp module);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_NOTHINGTODO_H
