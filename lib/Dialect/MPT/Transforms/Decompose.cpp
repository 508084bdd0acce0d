//===- Decompose.cpp - High-level ops as primitive ones -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-decompose`: applies the decompositions of Patterns.h. Equal computations, such
/// as the bias corrections that every parameter's optimizer repeats, are left to CSE,
/// which runs after it (addDecomposePasses).
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/OptimizerBlocks.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Dialect/MPT/Transforms/UnrollScans.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct DecomposePass : mpt::impl::DecomposePassBase<DecomposePass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateDecomposeAttentionPatterns(set);
    populateDecomposeBlockScalePatterns(set);
    populateDecomposeLSTMPatterns(set);
    populateDecomposeNNPatterns(set);
    populateDecomposeOptimizerStatePatterns(set);
    populateDecomposeShapePatterns(set);
    populateDecomposeTrainingPatterns(set);
    populateNarrowGathersPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    if (!hasOpsOfMPT(getOperation()))
      return warnOfNothingToDo(getOperation(), getArgument(), "no op of the mpt dialect");
    WalkResult dynamic = getOperation().walk([](Operation *op) {
      if (isa_and_nonnull<MPTDialect>(op->getDialect()) &&
          failed(checkStaticShapes(op, "mpt-decompose")))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (dynamic.wasInterrupted() || failed(unrollScans(getOperation(), maxUnrolled)))
      return signalPassFailure();
    alignOptimizersWithBlocks(getOperation());
    // The terminator is revisited for every result that is replaced, and folding
    // looks at all of its operands each time.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    MarkListener marks;
    config.setListener(&marks);
    if (failed(applyPatternsGreedily(getOperation(), patterns, config)))
      return signalPassFailure();
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
