//===- HoistFromScans.cpp - Matmuls of all iterations at once ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-hoist-from-scans`: carries out what planScanHoist decides.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"
#include "mpt/Dialect/MPT/Transforms/ScanHoist.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_HOISTFROMSCANSPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {

class Hoister {
public:
  Hoister(ScanOp scan, ScanHoist hoist)
      : scan(scan), hoist(std::move(hoist)), count(scan.getTripCount()), builder(scan) {}

  void run();

private:
  RankedTensorType stackedType(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape = {count};
    llvm::append_range(shape, tensor.getShape());
    return tensor.clone(shape);
  }
  /// What `value` of the body is outside: of all iterations, or the same in each.
  Value get(Value value);
  Value batch(Operation *op);
  /// The sum over all iterations, of element type `element` if it can be made so.
  Value sum(Value value, Type element);
  Value toElement(Value value, Type element) {
    auto type = cast<RankedTensorType>(typeOf(value).clone(element));
    return value.getType() == type
               ? value
               : CastOp::create(builder, value.getLoc(), type, value).getResult();
  }

  ScanOp scan;
  ScanHoist hoist;
  int64_t count;
  OpBuilder builder;
  IRMapping outside;
};

} // namespace

Value Hoister::get(Value value) {
  if (Value known = outside.lookupOrNull(value))
    return known;
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || constant->getBlock() != &scan.getBlock())
    return value;
  return builder.clone(*constant, outside)->getResult(0);
}

Value Hoister::batch(Operation *op) {
  for (Value operand : op->getOperands())
    if (Value value = get(operand); value != operand)
      outside.map(operand, value);
  Operation *all = builder.clone(*op, outside);
  all->getResult(0).setType(stackedType(op->getResult(0).getType()));
  auto after = [](int64_t first, ArrayRef<int64_t> rest) {
    SmallVector<int64_t> list = {first};
    llvm::append_range(list, rest);
    return list;
  };
  if (auto transpose = dyn_cast<TransposeOp>(all)) {
    SmallVector<int64_t> permutation = after(-1, transpose.getPermutation());
    for (int64_t &dim : permutation)
      ++dim;
    transpose.setPermutation(permutation);
  } else if (auto slice = dyn_cast<SliceOp>(all)) {
    slice.setOffsets(after(0, slice.getOffsets()));
    slice.setSizes(after(count, slice.getSizes()));
    slice.setStrides(after(1, slice.getStrides()));
  } else if (auto concat = dyn_cast<ConcatOp>(all)) {
    concat.setAxis(concat.getAxis() + 1);
  }
  return all->getResult(0);
}

Value Hoister::sum(Value value, Type element) {
  Operation *op = value.getDefiningOp();
  const Location loc = op->getLoc();
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    auto flatten = [&](Value operand) -> Value {
      Value rows = get(operand);
      ArrayRef<int64_t> shape = typeOf(operand).getShape();
      return ReshapeOp::create(builder, loc,
                               typeOf(operand).clone({count * shape[0], shape[1]}), rows);
    };
    // Narrow operands leave the sum in f32.
    auto isNarrow = [](Value operand) {
      return getElementTypeOrSelf(operand).getIntOrFloatBitWidth() < 32;
    };
    const bool isWide =
        element.isF32() && isNarrow(matmul.getLhs()) && isNarrow(matmul.getRhs());
    auto type =
        cast<RankedTensorType>(isWide ? typeOf(value).clone(element) : typeOf(value));
    Value lhs = flatten(matmul.getLhs()), rhs = flatten(matmul.getRhs());
    return MatmulOp::create(builder, loc, type, lhs, rhs, /*transpose_lhs=*/true,
                            /*transpose_rhs=*/false, matmul.getAccTypeAttr());
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    SmallVector<int64_t> axes = {0};
    for (int64_t axis : reduce.getAxes())
      axes.push_back(axis + 1);
    // The loop may have added sums in f16 to one in f32, which holds more.
    Value x = get(reduce.getX());
    if (element.isF32() && getElementTypeOrSelf(x).getIntOrFloatBitWidth() < 32)
      x = toElement(x, element);
    Type type = typeOf(value).clone(getElementTypeOrSelf(x));
    return ReduceOp::create(builder, loc, type, x, ReduceKind::Sum, axes,
                            /*keep_dims=*/false, reduce.getAccTypeAttr());
  }
  if (auto add = dyn_cast<AddOp>(op)) {
    Value lhs = toElement(sum(add.getLhs(), element), element);
    Value rhs = toElement(sum(add.getRhs(), element), element);
    return AddOp::create(builder, loc, lhs.getType(), lhs, rhs);
  }
  Value of = sum(op->getOperand(0), element);
  if (isa<CastOp>(op))
    return of;
  IRMapping mapping;
  mapping.map(op->getOperand(0), of);
  Operation *moved = builder.clone(*op, mapping);
  moved->getResult(0).setType(
      cast<RankedTensorType>(typeOf(value).clone(getElementTypeOrSelf(of))));
  return moved->getResult(0);
}

void Hoister::run() {
  Block &body = scan.getBlock();
  const unsigned carried = scan.getNumCarried();
  const Location loc = scan.getLoc();
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments().drop_front(carried), scan.getInputs()))
    outside.map(argument, input);

  // Before.
  for (Operation *op : hoist.before)
    outside.map(op->getResult(0), batch(op));
  SmallVector<Value> yielded(scan.getYield().getValues());
  SmallVector<Value> inits, inputs(scan.getInputs()), yields;
  SmallVector<Type> types;
  for (Value input : hoist.inputs) {
    Value slice = body.addArgument(input.getType(), loc);
    inputs.push_back(outside.lookup(input));
    input.replaceUsesWithIf(
        slice, [&](OpOperand &use) { return !hoist.before.contains(use.getOwner()); });
    for (Value &value : MutableArrayRef(yielded).take_front(carried))
      if (value == input)
        value = slice;
  }

  // What the loop goes on to carry and to stack, and the results that it has for that.
  llvm::BitVector removed(body.getNumArguments());
  for (const CarriedSum &sum : hoist.sums)
    removed.set(sum.carried);
  SmallVector<unsigned> kept;
  for (unsigned i = 0; i < yielded.size(); ++i) {
    Operation *op = yielded[i].getDefiningOp();
    if (i < carried ? removed.test(i)
                    : op && (hoist.after.contains(op) || hoist.before.contains(op)))
      continue;
    kept.push_back(i);
    yields.push_back(yielded[i]);
    types.push_back(scan.getResult(i).getType());
    if (i < carried)
      inits.push_back(scan.getInits()[i]);
  }
  for (Value value : hoist.stacked) {
    yields.push_back(value);
    types.push_back(stackedType(value.getType()));
  }
  auto made = ScanOp::create(builder, loc, types, scan.getTripCount(), scan.getReverse(),
                             inits, inputs, IntegerAttr());
  made->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  for (auto [i, number] : llvm::enumerate(kept)) {
    scan.getResult(number).replaceAllUsesWith(made.getResult(i));
    // What is the same in each iteration is that value, not a stack of it.
    Value value = yielded[number];
    if (number >= carried && value.getParentBlock() == &body &&
        !value.getDefiningOp<ConstantOp>())
      outside.map(value, made.getResult(i));
  }
  for (auto [i, value] : llvm::enumerate(hoist.stacked))
    outside.map(value, made.getResult(kept.size() + i));

  // After.
  for (Operation *op : hoist.after)
    outside.map(op->getResult(0), batch(op));
  for (unsigned i = carried; i < yielded.size(); ++i)
    if (Operation *op = yielded[i].getDefiningOp();
        op && (hoist.after.contains(op) || hoist.before.contains(op)))
      scan.getResult(i).replaceAllUsesWith(outside.lookup(yielded[i]));
  for (const CarriedSum &sums : hoist.sums) {
    Value total = scan.getInits()[sums.carried];
    // x + -0 is x, also where x is -0.
    auto constant = total.getDefiningOp<ConstantOp>();
    auto splat =
        constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
    const bool isNothing = splat && splat.getSplatValue<APFloat>().isNegZero();
    auto type = typeOf(total);
    for (Value addend : sums.addends) {
      Value all = toElement(sum(addend, type.getElementType()), type.getElementType());
      total = total == scan.getInits()[sums.carried] && isNothing
                  ? all
                  : AddOp::create(builder, loc, type, total, all).getResult();
    }
    scan.getResult(sums.carried).replaceAllUsesWith(total);
  }

  // What only these have read goes, too.
  scan.getYield().getValuesMutable().assign(yields);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  body.eraseArguments(removed);
  made.getBody().takeBody(scan.getBody());
  scan.erase();
  if (made->getNumResults() == 0 && made.getBlock().without_terminator().empty())
    made.erase();
}

namespace {

struct HoistFromScansPass : mpt::impl::HoistFromScansPassBase<HoistFromScansPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateDecomposeLSTMPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ScanOp> scans;
      SmallVector<Operation *> cells;
      // Inner ones first: what leaves them may leave the outer one, too.
      bool isRepeated = false;
      function.walk<WalkOrder::PostOrder>([&](Operation *op) {
        auto around = op->getParentOfType<ScanOp>();
        if (around && isa<LSTMCellOp>(op))
          cells.push_back(op);
        isRepeated |= (around || isa<ScanOp>(op)) && op->hasAttr(kRematAttr);
        if (auto scan = dyn_cast<ScanOp>(op);
            scan && static_cast<int64_t>(scan.getTripCount()) > maxUnrolled)
          scans.push_back(scan);
      });
      if (scans.empty())
        continue;
      GreedyRewriteConfig config;
      config.enableFolding(false);
      MarkListener marks;
      config.setListener(&marks);
      (void)applyOpPatternsGreedily(cells, patterns, config);
      for (ScanOp scan : scans) {
        // What an iteration computes again must have the bits that it had.
        const bool onlyAfter = isRepeated || scan->getParentOfType<ScanOp>();
        if (ScanHoist hoist = planScanHoist(scan, onlyAfter); !hoist.isEmpty())
          Hoister(scan, std::move(hoist)).run();
      }
    }
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
