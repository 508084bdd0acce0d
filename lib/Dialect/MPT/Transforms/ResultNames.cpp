//===- ResultNames.cpp - Results of training functions have names -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/ResultNames.h"

#include "mpt/Dialect/MPT/IR/StepView.h"

using namespace mlir;
using namespace mpt;

SmallVector<unsigned> mpt::detail::getUnnamedResults(func::FuncOp function) {
  const StepView step(function);
  SmallVector<unsigned> unnamed;
  if (step.hasUpdates() || llvm::any_of(step.getArguments(), [](const auto &argument) {
        return argument.role;
      }))
    for (auto [i, result] : llvm::enumerate(step.getResults()))
      if (!result.name)
        unnamed.push_back(i);
  return unnamed;
}

/// Whether a pass has made ops of `function`: its backward pass, casts or kernels.
static bool isMadeByPasses(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        auto cast = dyn_cast<CastOp>(op);
        return isa<GradSeedOp, GradientsOp>(op) || (cast && cast.getAutocast()) ||
                       op->getDiscardableAttr(kOwnCastAttr) ||
                       op->getName().getDialectNamespace() == "mpt_kernel"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void mpt::detail::warnOfUnnamedResults(func::FuncOp function, StringRef pass) {
  SmallVector<unsigned> unnamed = getUnnamedResults(function);
  if (unnamed.empty() || isMadeByPasses(function))
    return;
  for (unsigned i : unnamed)
    mlir::emitWarning(getResultLocation(function), pass)
        << ": result " << i << " has no 'mpt.name', which mpt-run and mpt-compile need";
}
