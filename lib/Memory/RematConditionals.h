//===- RematConditionals.h - Repeated ops in conditionals -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// XLA's CPU compiler removes optimization barriers before it merges equal ops. A
/// conditional stays: nothing is merged across computations, and it runs only once its
/// predicate is there. JAX's checkpoint was lowered so before XLA had barriers.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_REMATCONDITIONALS_H
#define MPT_LIB_MEMORY_REMATCONDITIONALS_H

#include "RematClones.h"

namespace mpt::detail {

/// Puts each group of clones, together with the ops after it up to the last one that
/// reads a clone, into a stablehlo.if. The predicate is true whatever the step
/// computes, and follows from a value that the backward pass makes just before the
/// group. Ops that may not run twice stay outside, and end what goes inside. Convolutions
/// of the backward pass, and what follows from them, stay outside, too: XLA's CPU
/// compiler runs them many times slower inside. They end before the next group begins,
/// and ops that fuse into them are computed outside from what is stored inside.
void isolateInConditionals(mlir::func::FuncOp function, llvm::ArrayRef<RematGroup> groups,
                           const RuleTable &rules);

} // namespace mpt::detail

#endif // MPT_LIB_MEMORY_REMATCONDITIONALS_H
