//===- LegalizeForGPU.cpp - Matmuls and attention as GPUs compute them -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-legalize-for-gpu`: the first pass over a step that is planned for GPUs.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Codegen/CUDA/WidenMatmuls.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/FusedAttention.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/UnrollScans.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_LEGALIZEFORGPUPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct LegalizeForGPUPass : mpt::impl::LegalizeForGPUPassBase<LegalizeForGPUPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!mpt::detail::hasOpsOfMPT(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no op of the mpt dialect");
    // The passes on matmuls and attention that follow look at one block.
    if (failed(mpt::detail::unrollScans(getOperation())))
      return signalPassFailure();
    // Names that are not chips are refused when the code is compiled.
    SmallVector<int64_t> architectures;
    for (StringRef chip : *chips) {
      int64_t number = 0;
      if (chip.consume_front("sm_") && !chip.consumeInteger(10, number))
        architectures.push_back(number);
    }
    RewritePatternSet patterns(&getContext());
    populateWidenMatmulsPatterns(patterns, architectures, lowBiases);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    if (fusedAttention)
      markFusedAttention(getOperation());
  }
};

} // namespace
