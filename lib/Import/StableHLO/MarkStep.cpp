//===- MarkStep.cpp - Seed and gradients of a step of JAX -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-mark-stablehlo-step`: a step that JAX differentiated tells by two composites
/// where its backward pass begins and where its gradients are. They become the ops of mpt
/// that `--mpt-loss-scale` looks for; everything else stays StableHLO.
///
//===----------------------------------------------------------------------===//

#include "InlineCalls.h"
#include "Lowering.h"
#include "StepInterface.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Import/StableHLO/Passes.h"
#include "mpt/Support/ForeignCalls.h"

#include "mlir/Pass/Pass.h"

namespace mpt {
#define GEN_PASS_DEF_MARKSTABLEHLOSTEPPASS
#include "mpt/Import/StableHLO/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;
using namespace mpt::stablehlo;

static constexpr StringLiteral passName = "mpt-mark-stablehlo-step";

namespace {

/// The composites called `name` in `root`.
SmallVector<Operation *> findComposites(Operation *root, StringRef name) {
  SmallVector<Operation *> found;
  root->walk([&](Operation *op) {
    auto own = isOp(op, "composite")
                   ? dyn_cast_or_null<StringAttr>(getAttribute(op, "name"))
                   : StringAttr();
    if (own && own.getValue() == name)
      found.push_back(op);
  });
  return found;
}

struct MarkStableHLOStepPass
    : mpt::impl::MarkStableHLOStepPassBase<MarkStableHLOStepPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    unused.clear();
    bool any = !findComposites(module, "mpt.grad_seed").empty() ||
               !findComposites(module, "mpt.gradients").empty();
    if (!any)
      return warnOfNothingToDo(module, passName,
                               "no composite named mpt.grad_seed or mpt.gradients, which "
                               "mpt.jax.grad_seed and mpt.jax.gradients make");
    // A mark may lie in what the step calls.
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          failed(inlineCalls(function, passName, /*composites=*/false, unused)))
        return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>()) {
      if (unused.contains(function))
        continue;
      SmallVector<Operation *> seeds = findComposites(function, "mpt.grad_seed"),
                               marks = findComposites(function, "mpt.gradients");
      if (seeds.empty() && marks.empty())
        continue;
      if (failed(mark(function, seeds, marks)))
        return signalPassFailure();
    }
    // By name: MLIR does not know the uses inside ops that may be symbol tables. What
    // only functions use that go themselves goes, too.
    SetVector<Operation *> left;
    for (Operation &op : *module.getBody())
      if (!unused.contains(&op))
        left.insert(&op);
    SymbolTable symbols(module);
    for (size_t i = 0; i < left.size(); ++i)
      left[i]->walk([&](Operation *op) {
        walkSymbols(op, [&](SymbolRefAttr symbol) {
          if (Operation *callee = symbols.lookup(symbol.getLeafReference()))
            left.insert(callee);
        });
      });
    for (Operation *dead : unused)
      if (!left.contains(dead) &&
          SymbolTable::getSymbolVisibility(dead) == SymbolTable::Visibility::Private)
        dead->erase();
  }

private:
  LogicalResult mark(func::FuncOp function, ArrayRef<Operation *> seeds,
                     ArrayRef<Operation *> marks);

  /// Decompositions of what is gone.
  SetVector<Operation *> unused;
};

LogicalResult MarkStableHLOStepPass::mark(func::FuncOp function,
                                          ArrayRef<Operation *> seeds,
                                          ArrayRef<Operation *> marks) {
  if (seeds.size() != 1 || marks.size() != 1)
    return function.emitError(passName)
           << ": expected one composite mpt.grad_seed and one mpt.gradients in @"
           << function.getSymName() << ", found " << seeds.size() << " and "
           << marks.size() << "; mark one loss and all gradients at once";
  Operation *seed = seeds.front(), *gradients = marks.front();
  for (Operation *op : {seed, gradients}) {
    if (op->getBlock() != &function.getBody().front())
      return op->emitError(passName)
             << ": expected it in the body of @" << function.getSymName()
             << ", found it in a region of '" << op->getParentOp()->getName()
             << "'; a loop of micro-batches cannot be scaled as a whole";
    if (op->getOperandTypes() != op->getResultTypes() || op->getNumOperands() == 0 ||
        !llvm::all_of(op->getOperandTypes(), [](Type type) {
          auto tensor = dyn_cast<RankedTensorType>(type);
          return tensor && tensor.hasStaticShape() &&
                 isa<FloatType>(tensor.getElementType());
        }))
      return op->emitError(passName)
             << ": expected results that are its operands, tensors of floats of known "
                "shape";
    if (auto callee =
            dyn_cast_or_null<FlatSymbolRefAttr>(getAttribute(op, "decomposition")))
      if (auto target =
              SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(function, callee);
          target && target.isPrivate())
        unused.insert(target);
  }
  if (seed->getNumOperands() != 1 ||
      cast<RankedTensorType>(seed->getOperand(0).getType()).getRank() != 0)
    return seed->emitError(passName)
           << ": expected the gradient of a loss, which is one number, found "
           << seed->getOperandTypes();
  // Where a step makes its seed first, and keeps it for its backward pass, the forward
  // pass ends at the first use.
  Block &body = function.getBody().front();
  Operation *reader = body.getTerminator();
  for (Operation *user : seed->getUsers())
    if (Operation *top = body.findAncestorOpInBlock(*user);
        top && top->isBeforeInBlock(reader))
      reader = top;
  seed->moveBefore(reader);
  OpBuilder builder(seed);
  // The seed of JAX, which is 1 unless the loss is part of something else, times ours.
  Type type = seed->getOperand(0).getType();
  Value one = GradSeedOp::create(builder, seed->getLoc(), type);
  OperationState product(seed->getLoc(), "stablehlo.multiply");
  product.addOperands({seed->getOperand(0), one});
  product.addTypes(type);
  seed->replaceAllUsesWith(builder.create(product));
  builder.setInsertionPoint(gradients);
  SmallVector<std::string> names;
  for (unsigned i = 0; i < gradients->getNumOperands(); ++i)
    names.push_back("gradient" + std::to_string(i));
  // Those that are returned say whose they are.
  for (auto [number, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (StringAttr result = StepView::getResultName(function, number))
      if (StringRef name = result.getValue();
          value.getDefiningOp() == gradients && name.consume_front("grad."))
        names[cast<OpResult>(value).getResultNumber()] = name.str();
  SmallVector<StringRef> words(names.begin(), names.end());
  auto marker =
      GradientsOp::create(builder, gradients->getLoc(), gradients->getOperands(),
                          builder.getStrArrayAttr(words));
  gradients->replaceAllUsesWith(marker.getOutputs());
  seed->erase();
  gradients->erase();
  return addStepInterface(function, parameters, state);
}

} // namespace
