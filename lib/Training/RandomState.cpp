//===- RandomState.cpp - Random bits of a step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomState.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult RandomState::find(func::FuncOp step, StepEditor &editor, StringRef pass) {
  if (attempt)
    return success();
  MLIRContext *context = step.getContext();
  auto scalar = RankedTensorType::get({}, IntegerType::get(context, 64));
  for (StringRef name : {"attempt", "seed"}) {
    BlockArgument found = editor.getArgument(name);
    if (!found && name == "seed")
      found = editor.addArgument(scalar, "seed", Role::Rng, getZerosInit(context));
    if (!found || found.getType() != scalar)
      return mlir::emitError(found ? found.getLoc() : step.getLoc())
             << pass << ": stochastic rounding needs an argument named '" << name
             << "' of type " << scalar << ", found "
             << (found ? "another type" : "none; run --mpt-train-step first");
    (name == "seed" ? seed : attempt) = found;
  }
  step.walk([&](Operation *op) {
    if (auto stream = op->getAttrOfType<IntegerAttr>("stream"))
      nextStream = std::max(nextStream, stream.getInt() + 1);
  });
  return success();
}

Value RandomState::draw(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape) {
  return RandomBitsOp::create(
      builder, loc, RankedTensorType::get(shape, builder.getI16Type()), seed, attempt,
      builder.getI64IntegerAttr(nextStream++), builder.getDenseI64ArrayAttr(shape));
}
