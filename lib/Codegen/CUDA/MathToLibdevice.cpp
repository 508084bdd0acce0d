//===- MathToLibdevice.cpp - Calls of CUDA's math library -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-math-to-libdevice`. NVPTX has no code for LLVM's intrinsics of these
/// functions, and ends the process on them. Upstream's patterns replace them. They would
/// also call libdevice for what NVPTX has instructions for, such as sqrt and abs, and so
/// change the code of every kernel: those ops are legal here.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mpt {
#define GEN_PASS_DEF_MATHTOLIBDEVICEPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

/// Whether `op` needs no function: it is not an op of math, or NVPTX has instructions for
/// it.
static bool hasInstructions(Operation *op) {
  return !isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
         isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::ClampFOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp,
             math::FloorOp, math::FmaOp, math::IsFiniteOp, math::IsInfOp, math::IsNaNOp,
             math::IsNormalOp, math::RoundEvenOp, math::RsqrtOp, math::SqrtOp,
             math::TruncOp>(op);
}

namespace {

struct MathToLibdevicePass : mpt::impl::MathToLibdevicePassBase<MathToLibdevicePass> {
  using Base::Base;

  void runOnOperation() override {
    const LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    populateLibDeviceConversionPatterns(converter, patterns);
    ConversionTarget target(getContext());
    // What upstream has no function for stays, and is found below.
    target.markUnknownOpDynamicallyLegal([](Operation *op) {
      return hasInstructions(op) ? std::optional(true) : std::nullopt;
    });
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    WalkResult result = getOperation().walk([](Operation *op) {
      if (hasInstructions(op))
        return WalkResult::advance();
      op->emitError("'") << op->getName() << "' of "
                         << getElementTypeOrSelf(op->getResult(0).getType())
                         << " has no code for GPUs";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
  }
};

} // namespace
