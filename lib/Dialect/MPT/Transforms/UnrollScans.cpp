//===- UnrollScans.cpp - Loops as their iterations --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-unroll-scan` and `--mpt-select-branches`. The slices of a stacked result are
/// remembered, so that the scan of a backward pass reads the values that the forward pass
/// made, and not slices of their concatenation.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/UnrollScans.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mpt {
#define GEN_PASS_DEF_SELECTBRANCHESPASS
#define GEN_PASS_DEF_UNROLLSCANPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// More ops than this take too long to plan.
static constexpr int64_t kMaxUnrolledOps = int64_t(1) << 20;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {

class Unroller {
public:
  explicit Unroller(int64_t maxIterations) : maxIterations(maxIterations) {}
  LogicalResult run(Block &block);
  /// Erases the stacked results that nobody reads.
  void finish();

private:
  LogicalResult unroll(ScanOp scan);
  /// Slice `index` of dimension 0 of `stacked`, without that dimension.
  Value getSlice(OpBuilder &builder, Location loc, Value stacked, int64_t index);
  Value stack(OpBuilder &builder, Location loc, ArrayRef<Value> values);

  /// Of stacked results of scans that were unrolled, the reshapes of their slices: what
  /// they read may be results of scans that are still to be unrolled.
  DenseMap<Value, SmallVector<ReshapeOp>> slices;
  SmallVector<Operation *> stacks;
  int64_t maxIterations;
  int64_t numOps = 0;
};

} // namespace

Value Unroller::getSlice(OpBuilder &builder, Location loc, Value stacked, int64_t index) {
  if (auto known = slices.find(stacked); known != slices.end())
    return known->second[index].getX();
  auto type = typeOf(stacked);
  RankedTensorType sliceType = type.clone(type.getShape().drop_front());
  // A cast of what a scan stacked is a cast of each slice.
  if (auto cast = stacked.getDefiningOp<CastOp>(); cast && slices.contains(cast.getX())) {
    auto slice = cast.clone();
    slice->setOperand(0, slices[cast.getX()][index].getX());
    slice->getResult(0).setType(sliceType);
    builder.insert(slice.getOperation());
    return slice.getY();
  }
  SmallVector<int64_t> offsets(type.getRank(), 0), sizes(type.getShape()),
      ones(type.getRank(), 1);
  offsets[0] = index;
  sizes[0] = 1;
  Value slice =
      SliceOp::create(builder, loc, type.clone(sizes), stacked, offsets, sizes, ones);
  return ReshapeOp::create(builder, loc, sliceType, slice);
}

Value Unroller::stack(OpBuilder &builder, Location loc, ArrayRef<Value> values) {
  SmallVector<Value> parts;
  SmallVector<ReshapeOp> reshapes;
  for (Value value : values) {
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape.insert(shape.begin(), 1);
    reshapes.push_back(
        ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value));
    parts.push_back(reshapes.back());
    stacks.push_back(reshapes.back());
  }
  Value whole = parts.front();
  if (parts.size() > 1) {
    auto concat = ConcatOp::create(builder, loc, parts, uint64_t(0));
    stacks.push_back(concat);
    whole = concat;
  }
  slices[whole] = std::move(reshapes);
  return whole;
}

LogicalResult Unroller::unroll(ScanOp scan) {
  Block &body = scan.getBlock();
  YieldOp yield = scan.getYield();
  const int64_t count = scan.getTripCount();
  int64_t bodyOps = 0;
  scan->walk([&](Operation *) { ++bodyOps; });
  if (bodyOps > (kMaxUnrolledOps - numOps) / count)
    return scan.emitOpError("cannot be unrolled: ")
           << count << " iterations of " << bodyOps << " ops are more than the "
           << kMaxUnrolledOps << " ops that a program may have; take a shorter sequence";
  numOps += bodyOps * count;

  OpBuilder builder(scan);
  const unsigned carried = scan.getNumCarried();
  SmallVector<Value> now(scan.getInits());
  SmallVector<SmallVector<Value>> stacked(scan.getNumResults() - carried,
                                          SmallVector<Value>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = scan.getIndex(i);
    IRMapping mapping;
    mapping.map(body.getArguments().take_front(carried), now);
    for (auto [argument, input] :
         llvm::zip_equal(body.getArguments().drop_front(carried), scan.getInputs()))
      if (!argument.use_empty())
        mapping.map(argument, getSlice(builder, scan.getLoc(), input, index));
    for (Operation &op : body.without_terminator()) {
      Operation *clone = builder.clone(op, mapping);
      for (StringRef mark : {kSaveAttr, kBackwardAttr})
        if (Attribute value = scan->getAttr(mark);
            value && clone->getNumResults() != 0 && !clone->hasAttr(mark) &&
            !clone->hasTrait<OpTrait::ConstantLike>())
          clone->setAttr(mark, value);
      // The gradients that a scan adds up begin with zeros.
      SmallVector<OpFoldResult> folded;
      while (isa<AddOp>(clone) && succeeded(clone->fold(folded)) && folded.empty())
        ; // Its operands have changed places.
      if (folded.empty() || !isa<Value>(folded.front()))
        continue;
      mapping.map(op.getResult(0), cast<Value>(folded.front()));
      clone->erase();
    }
    auto yielded = llvm::map_to_vector(
        yield.getValues(), [&](Value value) { return mapping.lookupOrDefault(value); });
    now.assign(yielded.begin(), yielded.begin() + carried);
    for (auto [list, value] :
         llvm::zip_equal(stacked, ArrayRef(yielded).drop_front(carried)))
      list[index] = value;
  }
  for (unsigned i = 0; i < carried; ++i)
    scan.getResult(i).replaceAllUsesWith(now[i]);
  for (auto [result, list] :
       llvm::zip_equal(scan.getResults().drop_front(carried), stacked))
    if (!result.use_empty())
      result.replaceAllUsesWith(stack(builder, scan.getLoc(), list));
  return success();
}

LogicalResult Unroller::run(Block &block) {
  for (auto it = block.begin(); it != block.end();) {
    Operation *op = &*it;
    auto scan = dyn_cast<ScanOp>(op);
    if (!scan || scan.getConditional() ||
        static_cast<int64_t>(scan.getTripCount()) > maxIterations) {
      for (Region &region : op->getRegions())
        for (Block &inner : region)
          if (failed(run(inner)))
            return failure();
      ++it;
      continue;
    }
    // What was made comes next: there may be scans in the body.
    Operation *before = op->getPrevNode();
    if (failed(unroll(scan)))
      return failure();
    scan.erase();
    it = before ? std::next(before->getIterator()) : block.begin();
  }
  return success();
}

void Unroller::finish() {
  for (Operation *op : llvm::reverse(stacks))
    if (op->use_empty())
      op->erase();
}

LogicalResult mpt::detail::unrollScans(Operation *root, int64_t maxIterations) {
  if (maxIterations < 0)
    return root->emitError("expected max-unrolled to be at least 0, found ")
           << maxIterations;
  Unroller unroller(maxIterations);
  for (Region &region : root->getRegions())
    for (Block &block : region)
      if (failed(unroller.run(block)))
        return failure();
  unroller.finish();
  return success();
}

void mpt::detail::selectBranch(ScanOp scan, bool isDifferentiated) {
  OpBuilder builder(scan);
  Location loc = scan.getLoc();
  Block &body = scan.getBlock();
  Value here = scan.getInits().front();
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(scan.getBody(), captured);
  IRMapping mapping;
  auto guard = [&](Value inside, Value value) {
    if (!isDifferentiated || !isa<FloatType>(typeOf(value).getElementType()) ||
        value.getDefiningOp<ConstantOp>())
      return mapping.map(inside, value);
    Value stopped = StopGradientOp::create(builder, loc, value.getType(), value);
    mapping.map(inside,
                WhereOp::create(builder, loc, value.getType(), here, value, stopped));
  };
  for (auto [argument, init] : llvm::zip_equal(body.getArguments(), scan.getInits()))
    if (!argument.use_empty())
      guard(argument, init);
  for (Value value : captured)
    guard(value, value);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [i, value] : llvm::enumerate(scan.getYield().getValues())) {
    Value init = scan.getInits()[i];
    // What the body leaves as it is.
    if (value == body.getArgument(i)) {
      scan.getResult(i).replaceAllUsesWith(init);
      continue;
    }
    Value taken = mapping.lookupOrDefault(value);
    scan.getResult(i).replaceAllUsesWith(
        WhereOp::create(builder, loc, init.getType(), here, taken, init));
  }
  scan.erase();
}

namespace {
struct SelectBranchesPass : mpt::impl::SelectBranchesPassBase<SelectBranchesPass> {
  using Base::Base;

  void runOnOperation() override {
    // Inner ones first: they are cloned with what is around them.
    SmallVector<ScanOp> scans;
    getOperation().walk([&](ScanOp scan) {
      if (scan.getConditional() && scan.getTripCount() == 1)
        scans.push_back(scan);
    });
    for (ScanOp scan : scans)
      selectBranch(scan, /*isDifferentiated=*/false);
  }
};

struct UnrollScanPass : mpt::impl::UnrollScanPassBase<UnrollScanPass> {
  using Base::Base;

  void runOnOperation() override {
    bool any = false;
    WalkResult isStatic = getOperation().walk([&](ScanOp scan) {
      any = true;
      return failed(checkStaticShapes(scan, "mpt-unroll-scan")) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
    });
    if (!any)
      return warnOfNothingToDo(getOperation(), getArgument(), "no mpt.scan");
    if (isStatic.wasInterrupted() || failed(unrollScans(getOperation())))
      signalPassFailure();
  }
};
} // namespace
