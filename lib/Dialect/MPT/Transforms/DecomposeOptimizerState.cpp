//===- DecomposeOptimizerState.cpp - Optimizer state in 8 bits --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Blocks of 8-bit state become the rows of a matrix, so that a kernel has a block in a
/// row. The optimizer between the two, and what scales its gradient, is elementwise and
/// moves to the shape of that matrix, so one kernel reads, updates and writes a block.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Dialect/MPT/Transforms/OptimizerBlocks.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

//===----------------------------------------------------------------------===//
// Optimizers by blocks
//===----------------------------------------------------------------------===//

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value reshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
}

/// Makes `result` have `shape`; its readers get it reshaped back.
void setShape(Value result, ArrayRef<int64_t> shape) {
  auto before = typeOf(result);
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfterValue(result);
  result.setType(before.clone(shape));
  auto back = ReshapeOp::create(builder, result.getLoc(), before, result);
  result.replaceAllUsesExcept(back, back);
}

/// `operand` of `op` with `shape`. An op that scales a gradient for `op` alone takes the
/// shape, too.
void setOperandShape(Operation *op, OpOperand &operand, ArrayRef<int64_t> shape) {
  Value value = operand.get();
  if (typeOf(value).getShape() == shape)
    return;
  Operation *source = value.getDefiningOp();
  if (isa_and_nonnull<ClipByGlobalNormOp>(source) && value.hasOneUse()) {
    const unsigned number = cast<OpResult>(value).getResultNumber();
    setOperandShape(source, source->getOpOperand(number), shape);
    value.setType(typeOf(value).clone(shape));
    return;
  }
  OpBuilder builder(op);
  operand.set(reshape(builder, value.getLoc(), value, shape));
}

/// What reads `moment`, which an optimizer gives, and stores it: null if it is stored
/// otherwise.
QuantizeBlockwiseOp getStore(Value moment) {
  if (!moment.hasOneUse())
    return {};
  return dyn_cast<QuantizeBlockwiseOp>(*moment.user_begin());
}

void alignOptimizer(Operation *op) {
  std::optional<int64_t> length;
  for (Value operand : op->getOperands())
    if (auto load = operand.getDefiningOp<DequantizeBlockwiseOp>())
      length = load.getBlockSize();
  if (!length)
    return;
  const auto type = typeOf(op->getOperand(0));
  const int64_t count = type.getNumElements();
  if (count == 0 || count % *length != 0)
    return;
  const SmallVector<int64_t> shape = {count / *length, *length};
  for (OpOperand &operand : op->getOpOperands()) {
    if (typeOf(operand.get()).getShape() != type.getShape() || type.getRank() == 0)
      continue;
    if (auto load = operand.get().getDefiningOp<DequantizeBlockwiseOp>();
        load && load.getX().hasOneUse()) {
      setOperandShape(load, load.getCodesMutable(), shape);
      load.getX().setType(typeOf(load.getX()).clone(shape));
      continue;
    }
    setOperandShape(op, operand, shape);
  }
  for (Value result : op->getResults()) {
    QuantizeBlockwiseOp store = getStore(result);
    if (!store) {
      setShape(result, shape);
      continue;
    }
    result.setType(typeOf(result).clone(shape));
    if (store.getBits())
      setOperandShape(store, store.getBitsMutable()[0], shape);
    // Codes that are kept if the step is not taken.
    Value codes = store.getCodes();
    if (auto select = codes.hasOneUse() ? dyn_cast<SelectStateOp>(*codes.user_begin())
                                        : SelectStateOp();
        select && select.getUpdated() == codes) {
      codes.setType(typeOf(codes).clone(shape));
      setOperandShape(select, select.getOldMutable(), shape);
      setShape(select.getResult(), shape);
      continue;
    }
    setShape(codes, shape);
  }
}

} // namespace

void mpt::detail::alignOptimizersWithBlocks(Operation *root) {
  SmallVector<Operation *> optimizers;
  root->walk([&](Operation *op) {
    if (isa<SGDOp, AdamOp, AdamWOp>(op))
      optimizers.push_back(op);
  });
  for (Operation *op : optimizers)
    alignOptimizer(op);
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

namespace {

/// The blocks of a tensor as the rows of a matrix.
class BlockRows {
public:
  BlockRows(DecomposeBuilder &b, RankedTensorType type, int64_t blockSize)
      : b(b), shape(type.getShape()), count(type.getNumElements()),
        columns(std::max<int64_t>(std::min(blockSize, count), 1)),
        rows(llvm::divideCeil(count, columns)) {}

  /// `x` as [rows, columns]; what is missing of the last row is zero.
  Value split(Value x) {
    const int64_t missing = rows * columns - count;
    if (missing != 0) {
      Value flat = b.reshape(x, {count});
      x = PadOp::create(
          b.builder, b.loc, DecomposeBuilder::typeOf(flat).clone({rows * columns}), flat,
          b.builder.getDenseI64ArrayAttr({0}), b.builder.getDenseI64ArrayAttr({missing}),
          DenseI64ArrayAttr(), b.builder.getF64FloatAttr(0.0));
    }
    return b.reshape(x, {rows, columns});
  }
  /// What `split` has made, in the tensor's shape.
  Value join(Value x) {
    if (rows * columns != count) {
      x = b.reshape(x, {rows * columns});
      x = SliceOp::create(b.builder, b.loc, x, ArrayRef<int64_t>{0},
                          ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
    }
    return b.reshape(x, shape);
  }
  int64_t getRows() const { return rows; }

private:
  DecomposeBuilder &b;
  ArrayRef<int64_t> shape;
  int64_t count, columns, rows;
};

LogicalResult decomposeQuantizeBlockwise(QuantizeBlockwiseOp op,
                                         PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), rewriter.getF32Type());
  BlockRows blocks(b, DecomposeBuilder::typeOf(op.getX()), op.getBlockSize());
  Value x = blocks.split(op.getX());
  auto type = DecomposeBuilder::typeOf(x);
  Value magnitude = AbsOp::create(rewriter, op.getLoc(), type, x);
  Value absmax = b.reduceRow(ReduceKind::Max, magnitude);
  // Below, the reciprocal is none, or infinite.
  Value isLarge =
      b.compare(absmax, b.scalar(std::ldexp(1.0, -126)), ComparePredicate::GE);
  Value factor = b.where(isLarge, b.div(b.scalar(1.0), absmax), b.scalar(0.0));
  Value offset;
  if (Value bits = op.getBits()) {
    // From -32768 to 32767, as i16.
    Value draw = b.widen(blocks.split(bits));
    Value isUpper = b.compare(draw, b.scalar(0.0), ComparePredicate::LT);
    draw = b.where(isUpper, b.add(draw, 65536.0), draw);
    offset = b.mul(draw, std::ldexp(1.0, -16));
  }
  Value codes =
      DynamicCodeOp::create(rewriter, op.getLoc(), type.clone(rewriter.getI8Type()),
                            b.mul(x, factor), offset, op.getNonnegative());
  rewriter.replaceOp(op, {blocks.join(codes), b.reshape(absmax, {blocks.getRows()})});
  return success();
}

LogicalResult decomposeDequantizeBlockwise(DequantizeBlockwiseOp op,
                                           PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), rewriter.getF32Type());
  BlockRows blocks(b, DecomposeBuilder::typeOf(op.getCodes()), op.getBlockSize());
  Value codes = blocks.split(op.getCodes());
  Value x = DynamicValueOp::create(rewriter, op.getLoc(),
                                   DecomposeBuilder::typeOf(codes).clone(b.element),
                                   codes, op.getNonnegative());
  x = b.mul(x, b.reshape(op.getAbsmax(), {blocks.getRows(), 1}));
  rewriter.replaceOp(op, blocks.join(x));
  return success();
}

} // namespace

void mpt::populateDecomposeOptimizerStatePatterns(RewritePatternSet &patterns) {
  addPatterns(patterns, decomposeQuantizeBlockwise, decomposeDequantizeBlockwise);
}
