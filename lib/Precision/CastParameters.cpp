//===- CastParameters.cpp - Parameters stored in a low type -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-cast-parameters`: what `model.half()` does in PyTorch.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Precision/Passes.h"

namespace mpt {
#define GEN_PASS_DEF_CASTPARAMETERSPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct CastParametersPass : mpt::impl::CastParametersPassBase<CastParametersPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run();
};

bool isOfBatchNorm(BlockArgument argument) {
  return llvm::any_of(argument.getUses(), [](OpOperand &use) {
    return isa<BatchNormOp, BatchNormInferenceOp>(use.getOwner()) &&
           use.getOperandNumber() != 0;
  });
}

/// The name of argument `index` in quotes, its number where it has none.
std::string describe(func::FuncOp function, unsigned index) {
  StringAttr name = StepView::getName(function, index);
  return name ? ("'" + name.getValue() + "'").str() : std::to_string(index);
}

LogicalResult CastParametersPass::run() {
  ModuleOp module = getOperation();
  if (type != "f16" && type != "bf16")
    return module.emitError("mpt-cast-parameters: unknown type '")
           << type << "'; expected f16 or bf16";
  func::FuncOp forward = findStepFunction(module, function, "mpt-cast-parameters");
  if (!forward)
    return failure();
  Block &block = forward.getBody().front();
  if (!block.getOps<GradSeedOp>().empty())
    return forward.emitError("mpt-cast-parameters: the function is differentiated "
                             "already; run this pass before --mpt-autodiff");
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Type low = type == "f16" ? Type(builder.getF16Type()) : Type(builder.getBF16Type());
  Operation *terminator = block.getTerminator();
  StepView step(forward);
  for (BlockArgument argument : forward.getArguments()) {
    unsigned index = argument.getArgNumber();
    const std::optional<Role> role = step[argument].role;
    auto wide = dyn_cast<RankedTensorType>(argument.getType());
    if (!role || !wide || (*role != Role::Parameter && *role != Role::RunningStat) ||
        !isa<FloatType>(wide.getElementType()))
      continue;
    if (!wide.getElementType().isF32())
      return mlir::emitError(argument.getLoc(), "mpt-cast-parameters: expected ")
             << StringRef(stringifyRole(*role)) << " " << describe(forward, index)
             << " to be f32, as the model declares it without this pass, found " << wide;
    if (keepBatchNorm && isOfBatchNorm(argument)) {
      // It stays f32 also where others get masters of 16 bits.
      if (*role == Role::Parameter && !step[argument].master)
        forward.setArgAttr(index, kMasterAttr, builder.getStringAttr("f32"));
      continue;
    }
    argument.setType(wide.clone(low));
    builder.setInsertionPointToStart(&block);
    auto copy =
        CastOp::create(builder, argument.getLoc(), wide, argument, builder.getUnitAttr());
    argument.replaceAllUsesExcept(copy, copy);
    // What updates it has its type.
    builder.setInsertionPoint(terminator);
    for (OpOperand &operand : terminator->getOpOperands())
      if (step.getResults()[operand.getOperandNumber()].updates == index)
        operand.set(CastOp::create(builder, operand.get().getLoc(), argument.getType(),
                                   operand.get(), UnitAttr()));
  }
  forward.setType(
      builder.getFunctionType(block.getArgumentTypes(), terminator->getOperandTypes()));
  return success();
}

} // namespace
