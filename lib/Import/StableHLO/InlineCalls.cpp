//===- InlineCalls.cpp - Calls and composites of StableHLO ------ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlineCalls.h"
#include "Lowering.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

static constexpr unsigned maxDepth = 128;

/// The symbol that `op` calls; null for other ops.
static FlatSymbolRefAttr getCallee(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  if (isOp(op, "composite"))
    return dyn_cast_or_null<FlatSymbolRefAttr>(getAttribute(op, "decomposition"));
  return {};
}

/// Ops of JAX's own functions have a name for a place; then it is the caller's, too.
static void addCaller(Operation *root, Location caller) {
  root->walk([&](Operation *op) {
    if (!op->getLoc()->findInstanceOf<FileLineColLoc>())
      op->setLoc(CallSiteLoc::get(op->getLoc(), caller));
  });
}

bool mpt::stablehlo::isStopGradient(Operation *op) {
  auto name = isOp(op, "composite")
                  ? dyn_cast_or_null<StringAttr>(getAttribute(op, "name"))
                  : StringAttr();
  return name && name.getValue() == "mpt.stop_gradient" &&
         op->getOperandTypes() == op->getResultTypes();
}

LogicalResult mpt::stablehlo::inlineCalls(func::FuncOp function, StringRef passName,
                                          bool composites,
                                          llvm::SetVector<Operation *> &inlined) {
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  SmallVector<std::pair<Operation *, unsigned>> calls;
  auto collect = [&](Operation *root, unsigned depth) {
    root->walk([&](Operation *op) {
      if (getCallee(op) && (composites || isa<func::CallOp>(op)))
        calls.push_back({op, depth});
    });
  };
  collect(function, 0);
  while (!calls.empty()) {
    auto [call, depth] = calls.pop_back_val();
    StringAttr name = getCallee(call).getAttr();
    auto callee = symbols.lookup<func::FuncOp>(name);
    if (isStopGradient(call)) {
      if (callee)
        inlined.insert(callee);
      continue;
    }
    if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
      return call->emitError(passName)
             << ": expected a function @" << name.getValue() << " with one block";
    if (depth == maxDepth)
      return call->emitError(passName)
             << ": @" << name.getValue()
             << " is called recursively; expected calls that end";
    inlined.insert(callee);
    Block &body = callee.front();
    Operation *terminator = body.getTerminator();
    if (call->getOperandTypes() != body.getArgumentTypes() ||
        call->getResultTypes() != terminator->getOperandTypes())
      return call->emitError(passName)
             << ": expected operands and results of the types of @" << name.getValue();
    IRMapping mapping;
    mapping.map(body.getArguments(), call->getOperands());
    OpBuilder builder(call);
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      addCaller(copy, call->getLoc());
      collect(copy, depth + 1);
    }
    for (auto [result, value] :
         llvm::zip_equal(call->getResults(), terminator->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call->erase();
  }
  return success();
}
