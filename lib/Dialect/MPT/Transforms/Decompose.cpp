//===- Decompose.cpp - High-level ops as primitive ones -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-decompose`: applies the decompositions of Patterns.h. Then merges equal
/// computations of scalars, which every parameter's optimizer repeats (bias
/// corrections), equal reshapes, which cost nothing, and equal checks of labels;
/// larger values are left as they are, since merging them would undo
/// recomputation.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct EqualOps : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op),
        /*hashOperands=*/OperationEquivalence::directHashValue,
        /*hashResults=*/OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
        b == getTombstoneKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(a), const_cast<Operation *>(b),
        OperationEquivalence::IgnoreLocations);
  }
};

/// Merges equal pure ops of `block` that reshape, check or return scalars.
void mergeEqualOps(Block &block) {
  llvm::DenseSet<Operation *, EqualOps> known;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool isFree = isa<ReshapeOp, CheckIndicesOp>(op) ||
                  llvm::all_of(op.getResultTypes(), [](Type type) {
                    auto tensor = dyn_cast<RankedTensorType>(type);
                    return tensor && tensor.getRank() == 0;
                  });
    if (!isFree || op.getNumResults() == 0 || op.getNumRegions() != 0 ||
        !isMemoryEffectFree(&op))
      continue;
    auto [it, inserted] = known.insert(&op);
    if (inserted)
      continue;
    op.replaceAllUsesWith(*it);
    op.erase();
  }
}

struct DecomposePass : mpt::impl::DecomposePassBase<DecomposePass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateDecomposeAttentionPatterns(set);
    populateDecomposeLSTMPatterns(set);
    populateDecomposeNNPatterns(set);
    populateDecomposeShapePatterns(set);
    populateDecomposeTrainingPatterns(set);
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
    if (dynamic.wasInterrupted())
      return signalPassFailure();
    // The terminator is revisited for every result that is replaced, and folding
    // looks at all of its operands each time.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    MarkListener marks;
    config.setListener(&marks);
    if (failed(applyPatternsGreedily(getOperation(), patterns, config)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        mergeEqualOps(block);
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
