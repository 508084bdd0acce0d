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

#include "../Common/ChipName.h"

#include "mpt/Codegen/CUDA/BatchStatistics.h"
#include "mpt/Codegen/CUDA/EightBitMatmuls.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Codegen/CUDA/ScaledGemms.h"
#include "mpt/Codegen/CUDA/TensorCasts.h"
#include "mpt/Codegen/CUDA/WidenMatmuls.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/FusedAttention.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/UnrollScans.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_LEGALIZEFORGPUPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

/// [O, C / groups, KH, KW] as [KH, KW, C / groups, O].
static constexpr int64_t kToHWIO[] = {2, 3, 1, 0};
/// The opposite.
static constexpr int64_t kToOIHW[] = {3, 2, 0, 1};

static RankedTensorType getHWIOType(Value filter) {
  auto type = cast<RankedTensorType>(filter.getType());
  return type.clone(applyPermutation(type.getShape(), kToHWIO));
}

/// Device code reads filters as [KH, KW, C / groups, O] alone.
template <typename ConvOp>
static LogicalResult transposeFilter(ConvOp op, PatternRewriter &rewriter) {
  if (!op.getOihw())
    return failure();
  auto filter = TransposeOp::create(rewriter, op.getLoc(), getHWIOType(op.getFilter()),
                                    op.getFilter(), kToHWIO);
  rewriter.modifyOpInPlace(op, [&] {
    op.getFilterMutable().assign(filter.getResult());
    op.setOihw(false);
  });
  return success();
}

static LogicalResult transposeFilterGrad(Conv2DFilterGradOp op,
                                         PatternRewriter &rewriter) {
  if (!op.getOihw())
    return failure();
  const Type type = op.getType();
  rewriter.modifyOpInPlace(op, [&] {
    op.getResult().setType(getHWIOType(op.getResult()));
    op.setOihw(false);
  });
  rewriter.setInsertionPointAfter(op);
  auto gradient =
      TransposeOp::create(rewriter, op.getLoc(), type, op.getResult(), kToOIHW);
  rewriter.replaceAllUsesExcept(op.getResult(), gradient.getResult(), gradient);
  return success();
}

namespace {

struct LegalizeForGPUPass : mpt::impl::LegalizeForGPUPassBase<LegalizeForGPUPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!mpt::detail::hasOpsOfMPT(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no op of the mpt dialect");
    // As planning does, but before matmuls get epilogues.
    if (failed(mpt::detail::unrollScans(getOperation(), maxUnrolled)))
      return signalPassFailure();
    // Names that are not chips are refused when the code is compiled.
    SmallVector<int64_t> architectures;
    for (StringRef chip : *chips)
      if (std::optional<int64_t> architecture = parseChipName(chip))
        architectures.push_back(*architecture);
    if (failed(checkBlockScales(getOperation(), architectures)))
      return signalPassFailure();
    rewriteScaledGemms(getOperation(), architectures);
    RewritePatternSet patterns(&getContext());
    if (llvm::any_of(architectures,
                     [](int64_t number) { return rt::wantsSummedLast(number); }))
      populateEightBitMatmulPatterns(patterns);
    patterns.add(transposeFilter<Conv2DOp>);
    patterns.add(transposeFilter<Conv2DInputGradOp>);
    patterns.add(transposeFilterGrad);
    populateWidenMatmulsPatterns(patterns, architectures, lowBiases);
    populateBatchStatisticsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    // Older chips have no conversions to 8 bits.
    if (!architectures.empty() && *llvm::min_element(architectures) >= 89)
      for (auto function : getOperation().getOps<func::FuncOp>())
        fuseTensorCasts(function, bothOrientations && !function->hasAttr(kBudgetAttr));
    if (fusedAttention)
      markFusedAttention(getOperation(), RemarkId::AttentionDecomposed,
                         explainUnfusedOnGPU);
  }
};

} // namespace
