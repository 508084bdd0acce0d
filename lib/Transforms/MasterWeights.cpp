//===- MasterWeights.cpp - f32 master weights -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-master-weights`: parameters stored in f16 or bf16 become f32 state;
/// the step works on a low copy made once at its start.
///
//===----------------------------------------------------------------------===//

#include "StepFunction.h"
#include "mpt/Transforms/Passes.h"

namespace mpt {
#define GEN_PASS_DEF_MASTERWEIGHTSPASS
#include "mpt/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct MasterWeightsPass : mpt::impl::MasterWeightsPassBase<MasterWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (kind != "f32") {
      module.emitError("mpt-master-weights: unknown kind '")
          << kind << "'; expected f32";
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration() && function.getBody().hasOneBlock() &&
          failed(addMasters(function)))
        return signalPassFailure();
  }

private:
  LogicalResult addMasters(func::FuncOp function);
};

/// The next value of `parameter` that its optimizer computes, or null.
Value getOptimizerResult(Operation *op, BlockArgument parameter) {
  if (auto sgd = dyn_cast<SGDOp>(op))
    return sgd.getParam() == parameter ? sgd.getNewParam() : Value();
  if (auto adam = dyn_cast<AdamOp>(op))
    return adam.getParam() == parameter ? adam.getNewParam() : Value();
  if (auto adamw = dyn_cast<AdamWOp>(op))
    return adamw.getParam() == parameter ? adamw.getNewParam() : Value();
  return {};
}

LogicalResult MasterWeightsPass::addMasters(func::FuncOp function) {
  OpBuilder builder(&getContext());
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto role = function.getArgAttrOfType<StringAttr>(index, kRoleAttr);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!role || role.getValue() != "parameter" || !type ||
        !(type.getElementType().isF16() || type.getElementType().isBF16()))
      continue;
    Value updated;
    for (Operation *user : argument.getUsers())
      if (Value result = getOptimizerResult(user, argument))
        updated = result;
    if (!updated)
      return function.emitError("mpt-master-weights: no optimizer updates parameter ")
             << index << " of type " << type << "; run --mpt-train-step first";
    auto master = type.clone(builder.getF32Type());
    argument.setType(master);
    updated.setType(master);
    builder.setInsertionPointToStart(&function.getBody().front());
    auto copy = CastOp::create(builder, argument.getLoc(), type, argument,
                               builder.getUnitAttr());
    argument.replaceUsesWithIf(copy, [&](OpOperand &use) {
      return use.getOwner() != copy && use.getOwner() != updated.getDefiningOp();
    });
  }
  Operation *terminator = function.getBody().front().getTerminator();
  function.setType(builder.getFunctionType(function.getBody().getArgumentTypes(),
                                           terminator->getOperandTypes()));
  return success();
}

} // namespace
