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
/// Most ops that calls become: functions that call each other twice double at each depth.
static constexpr int64_t maxInlined = int64_t(1) << 20;

/// The symbol that `op` calls; null for other ops.
static FlatSymbolRefAttr getCallee(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  if (isOp(op, "composite"))
    return dyn_cast_or_null<FlatSymbolRefAttr>(getAttribute(op, "decomposition"));
  return {};
}

/// Ops of JAX's own functions have a name for a place; then it is the caller's, too.
/// Returns the number of ops.
static int64_t addCaller(Operation *root, Location caller) {
  int64_t count = 0;
  root->walk([&](Operation *op) {
    ++count;
    if (!op->getLoc()->findInstanceOf<FileLineColLoc>())
      op->setLoc(CallSiteLoc::get(op->getLoc(), caller));
  });
  return count;
}

static bool isComposite(Operation *op, StringRef wanted) {
  auto name = isOp(op, "composite")
                  ? dyn_cast_or_null<StringAttr>(getAttribute(op, "name"))
                  : StringAttr();
  return name && name.getValue() == wanted;
}

bool mpt::stablehlo::isStopGradient(Operation *op) {
  return isComposite(op, "mpt.stop_gradient") &&
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
  int64_t count = 0;
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
    if (callee == function || depth == maxDepth)
      return call->emitError(passName)
             << ": @" << name.getValue()
             << " is called recursively; expected calls that end";
    if (count > maxInlined)
      return call->emitError(passName)
             << ": the calls of @" << function.getSymName() << " are more than "
             << maxInlined << " ops, and @" << name.getValue()
             << " is not the last; call functions in a loop, or fewer of them";
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
    // What it calls is in a region, of types that are still StableHLO's.
    CheckpointOp checkpoint;
    if (isComposite(call, "mpt.checkpoint")) {
      checkpoint = CheckpointOp::create(builder, call->getLoc(), call->getResultTypes());
      builder.createBlock(&checkpoint.getBody());
    }
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      count += addCaller(copy, call->getLoc());
      collect(copy, depth + 1);
    }
    SmallVector<Value> results;
    for (Value value : terminator->getOperands())
      results.push_back(mapping.lookupOrDefault(value));
    if (checkpoint) {
      YieldOp::create(builder, call->getLoc(), results);
      results.assign(checkpoint->result_begin(), checkpoint->result_end());
    }
    call->replaceAllUsesWith(results);
    call->erase();
  }
  return success();
}
