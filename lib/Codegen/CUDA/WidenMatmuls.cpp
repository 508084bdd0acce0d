//===- WidenMatmuls.cpp - Matmuls that cuBLASLt can do -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/WidenMatmuls.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/ProgramABI/GemmPlan.h"

using namespace mlir;
using namespace mpt;

namespace {

template <typename Contraction>
struct WidenMatmul : OpRewritePattern<Contraction> {
  WidenMatmul(MLIRContext *context, ArrayRef<int64_t> architectures, bool lowBiases)
      : OpRewritePattern<Contraction>(context), architectures(architectures),
        lowBiases(lowBiases) {}

  LogicalResult matchAndRewrite(Contraction op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getResult().getType());
    if (!type || !(type.getElementType().isF16() || type.getElementType().isBF16()))
      return rewriter.notifyMatchFailure(op, "the result is not f16 or bf16");
    for (Type operand : op->getOperandTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(operand);
      if (!tensor || !tensor.hasStaticShape() ||
          !encodeElementType(tensor.getElementType()))
        return rewriter.notifyMatchFailure(op, "an operand that no call can have");
    }
    auto wide = type.clone(rewriter.getF32Type());
    if (canDo(op, type))
      return rewriter.notifyMatchFailure(op, "cuBLASLt can do it");
    if (lowBiases && succeeded(narrowBias(op, type, rewriter)))
      return success();
    if (!canDo(op, wide))
      return rewriter.notifyMatchFailure(op, "a wide result does not help");
    rewriter.modifyOpInPlace(op, [&] { op.getResult().setType(wide); });
    rewriter.setInsertionPointAfter(op);
    auto cast = CastOp::create(rewriter, op.getLoc(), type, op.getResult());
    rewriter.replaceAllUsesExcept(op.getResult(), cast.getResult(), cast);
    return success();
  }

private:
  /// Rounds a bias to the result's type, if there is one of another.
  LogicalResult narrowBias(Contraction op, RankedTensorType type,
                           PatternRewriter &rewriter) const {
    if constexpr (std::is_same_v<Contraction, MatmulOp>) {
      return failure();
    } else {
      auto bias = op.getBias() ? dyn_cast<RankedTensorType>(op.getBias().getType())
                               : RankedTensorType();
      if (!bias || bias.getElementType() == type.getElementType())
        return failure();
      auto cast = CastOp::create(rewriter, op.getLoc(), bias.clone(type.getElementType()),
                                 op.getBias());
      rewriter.modifyOpInPlace(op, [&] { op.getBiasMutable().assign(cast.getResult()); });
      return success();
    }
  }

  bool canDo(Contraction op, RankedTensorType result) const {
    FailureOr<rt::Instruction> call = encodeCall(
        op.getLoc(), *getLibraryCall(op), op->getOperandTypes(), TypeRange(result));
    std::string unused;
    return succeeded(call) && llvm::all_of(architectures, [&](int64_t sm) {
             return rt::checkCudaCall(*call, static_cast<int>(sm), unused);
           });
  }

  SmallVector<int64_t> architectures;
  bool lowBiases;
};

} // namespace

void mpt::populateWidenMatmulsPatterns(RewritePatternSet &patterns,
                                       ArrayRef<int64_t> architectures, bool lowBiases) {
  patterns.add<WidenMatmul<Conv2DOp>, WidenMatmul<LinearOp>, WidenMatmul<MatmulOp>>(
      patterns.getContext(), architectures, lowBiases);
}
