//===- IsolateScans.cpp - Loops that name all they read -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/IsolateScans.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static void isolate(ScanOp scan) {
  scan.getBlock().walk([](Operation *op) {
    op->removeAttr(kSaveAttr);
    op->removeAttr(kBackwardAttr);
  });
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(scan.getBody(), above);
  above.remove_if([](Value value) { return value.getDefiningOp<ConstantOp>(); });

  const unsigned carried = scan.getNumCarried();
  Block &block = scan.getBlock();
  YieldOp yield = scan.getYield();
  SmallVector<Value> inits(scan.getInits()), inputs, yielded, results;
  SmallVector<Type> types;
  for (Value value : yield.getValues().take_front(carried))
    yielded.push_back(value);
  for (Value result : scan.getResults().take_front(carried))
    results.push_back(result);
  for (Value value : above) {
    BlockArgument argument =
        block.insertArgument(inits.size(), value.getType(), value.getLoc());
    value.replaceUsesWithIf(argument, [&](OpOperand &use) {
      return scan.getBody().isAncestor(use.getOwner()->getParentRegion());
    });
    inits.push_back(value);
    yielded.push_back(argument);
    results.push_back(Value());
  }
  llvm::BitVector unread(block.getNumArguments());
  for (auto [i, input] : llvm::enumerate(scan.getInputs())) {
    if (block.getArgument(inits.size() + i).use_empty())
      unread.set(inits.size() + i);
    else
      inputs.push_back(input);
  }
  for (auto [result, value] :
       llvm::zip_equal(scan.getResults().drop_front(carried),
                       llvm::to_vector(yield.getValues().drop_front(carried))))
    if (!result.use_empty()) {
      results.push_back(result);
      yielded.push_back(value);
    }
  if (above.empty() && unread.none() && results.size() == scan.getNumResults())
    return;
  block.eraseArguments(unread);
  yield.getValuesMutable().assign(yielded);
  for (Value init : inits)
    types.push_back(init.getType());
  for (Value result : ArrayRef(results).drop_front(inits.size()))
    types.push_back(result.getType());

  OpBuilder builder(scan);
  auto isolated = ScanOp::create(builder, scan.getLoc(), types, scan.getTripCount(),
                                 scan.getReverse(), inits, inputs, IntegerAttr(),
                                 scan.getConditional());
  isolated->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  isolated.getBody().takeBody(scan.getBody());
  for (auto [old, result] : llvm::zip_equal(results, isolated.getResults()))
    if (old)
      old.replaceAllUsesWith(result);
  scan.erase();
}

void mpt::detail::isolateScans(Operation *root) {
  // Inner ones first: what they read from above may be from above the outer one, too.
  SmallVector<ScanOp> scans;
  root->walk<WalkOrder::PostOrder>([&](ScanOp scan) { scans.push_back(scan); });
  for (ScanOp scan : scans)
    isolate(scan);
}
