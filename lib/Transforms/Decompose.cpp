//===- Decompose.cpp - High-level ops as primitive ones -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-decompose`: applies the decompositions of Patterns.h.
///
//===----------------------------------------------------------------------===//

#include "mpt/Transforms/Passes.h"
#include "mpt/Transforms/Patterns.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "mpt/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct DecomposePass : mpt::impl::DecomposePassBase<DecomposePass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateDecomposeAttentionPatterns(set);
    populateDecomposeNNPatterns(set);
    populateDecomposeTrainingPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    WalkResult dynamic = getOperation().walk([](Operation *op) {
      if (!isa_and_nonnull<MPTDialect>(op->getDialect()))
        return WalkResult::advance();
      for (Type type : op->getResultTypes()) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        if (tensor && !tensor.hasStaticShape()) {
          op->emitError("mpt-decompose: expected static shapes, found ")
              << type << "; run --mpt-specialize first";
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    if (dynamic.wasInterrupted())
      return signalPassFailure();
    if (failed(applyPatternsGreedily(getOperation(), patterns)))
      signalPassFailure();
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
