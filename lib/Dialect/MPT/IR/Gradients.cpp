//===- Gradients.cpp - Gradient rules of several statements -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Vector-Jacobian products that are too long for the ops' records, and what
/// those in the records are written with. Each gradient has its operand's type.
///
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

//===----------------------------------------------------------------------===//
// GradientBuilder
//===----------------------------------------------------------------------===//

Value GradientBuilder::scalar(Value like, double value) {
  Type element = getStatisticType(getTensor(like).getElementType());
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, builder.getFloatAttr(element, value)));
}

Value GradientBuilder::cast(Value value, RankedTensorType type) {
  auto from = getTensor(value);
  if (from.getElementType() == type.getElementType())
    return value;
  return CastOp::create(builder, loc, from.clone(type.getElementType()), value);
}

Value GradientBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = getTensor(value);
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, type.clone(shape), value);
}

Value GradientBuilder::sumTo(Value gradient, RankedTensorType type) {
  auto from = getTensor(gradient);
  int64_t extra = from.getRank() - type.getRank();
  SmallVector<int64_t> axes;
  Shape kept;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    bool repeated =
        i < extra || (type.getDimSize(i - extra) == 1 && from.getDimSize(i) != 1);
    if (repeated)
      axes.push_back(i);
    else
      kept.push_back(from.getDimSize(i));
  }
  if (!axes.empty())
    gradient = ReduceOp::create(
        builder, loc, RankedTensorType::get(kept, type.getElementType()), gradient,
        ReduceKindAttr::get(builder.getContext(), ReduceKind::Sum),
        builder.getDenseI64ArrayAttr(axes), UnitAttr(), TypeAttr());
  return reshape(cast(gradient, type), type.getShape());
}

Value GradientBuilder::repeat(Value gradient, RankedTensorType x,
                              ArrayRef<int64_t> axes) {
  Shape shape(x.getShape());
  for (int64_t axis : axes)
    shape[axis] = 1;
  Value kept = reshape(gradient, shape);
  return BroadcastOp::create(builder, loc, x.clone(getTensor(gradient).getElementType()),
                             kept);
}

Value GradientBuilder::flatten(Value value) {
  auto type = getTensor(value);
  if (type.getRank() == 2)
    return value;
  int64_t rows = 1;
  for (int64_t size : type.getShape().drop_back())
    rows = ShapedType::isDynamic(size) || ShapedType::isDynamic(rows)
               ? ShapedType::kDynamic
               : rows * size;
  return reshape(value, {rows, type.getShape().back()});
}

Value GradientBuilder::matmul(Type type, Value lhs, Value rhs, bool transposeLhs,
                              bool transposeRhs, TypeAttr acc) {
  return MatmulOp::create(builder, loc, type, lhs, rhs, transposeLhs, transposeRhs, acc);
}

Value GradientBuilder::selectExtreme(Value dy, Value mine, Value other,
                                     ComparePredicate wins) {
  Value zero = scalar(dy, 0.0);
  Value won = where(compare(mine, other, wins), dy, zero);
  return where(compare(mine, other, ComparePredicate::EQ), mul(dy, 0.5), won);
}

Value GradientBuilder::powBase(Value dy, Value base, Value exponent) {
  Value less = make<SubOp>(exponent, scalar(exponent, 1.0));
  Value slope = mul(make<PowOp>(base, less), exponent);
  Value zero = scalar(dy, 0.0);
  Value isConstant = compare(exponent, zero, ComparePredicate::EQ);
  return mul(dy, where(isConstant, zero, slope));
}

Value GradientBuilder::powExponent(Value dy, Value base, Value power) {
  Value zero = scalar(dy, 0.0);
  Value slope = mul(power, make<LogOp>(base));
  Value isZero = compare(base, zero, ComparePredicate::EQ);
  return mul(dy, where(isZero, zero, slope));
}

Value GradientBuilder::throughEpilogue(Operation *op, Epilogue epilogue, Value dy) {
  Value result = op->getResult(0);
  switch (epilogue) {
  case Epilogue::None:
    return dy;
  case Epilogue::Relu:
    return make<ReluGradOp>(dy, result);
  case Epilogue::Gelu: {
    Operation *plain = builder.clone(*op);
    plain->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
    plain->setAttr("epilogue", EpilogueAttr::get(op->getContext(), Epilogue::None));
    auto type = getTensor(result);
    plain->getResult(0).setType(type.clone(getStatisticType(type.getElementType())));
    return make<GeluGradOp>(dy, plain->getResult(0), GeluApproximation::Tanh);
  }
  }
  return dy;
}

LogicalResult mpt::detail::requireStaticShapes(Operation *op, ValueRange values) {
  for (Value value : values)
    if (!getTensor(value).hasStaticShape())
      return op->emitOpError("has a gradient for operands of static shape only; run "
                             "--mpt-specialize first");
  return success();
}

LogicalResult mpt::detail::requireFirstResult(Operation *op, ValueRange resultGrads) {
  if (llvm::any_of(resultGrads.drop_front(), [](Value grad) { return grad; }))
    return op->emitOpError("has a gradient rule for its first result only");
  return success();
}

//===----------------------------------------------------------------------===//
// Matmul and LSTM
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  bool tl = getTransposeLhs(), tr = getTransposeRhs();
  TypeAttr acc = getAccTypeAttr();
  bool shared = rhs.getRank() == 2 && lhs.getRank() > 2;
  if (needed[0]) {
    Value right = getRhs();
    if (tl && shared) {
      Shape shape(lhs.getShape().drop_back(2));
      llvm::append_range(shape, rhs.getShape());
      right = b.make<BroadcastOp>(rhs.clone(shape), right);
    }
    operandGrads[0] = tl ? b.matmul(lhs, right, dy, tr, true, acc)
                         : b.matmul(lhs, dy, right, false, !tr, acc);
  }
  if (!needed[1])
    return success();
  Value left = getLhs();
  if (shared && !tl) {
    // The batch only adds rows to one matmul.
    left = b.flatten(left);
    dy = b.flatten(dy);
  }
  if (shared && tl) {
    Shape shape(lhs.getShape().drop_back(2));
    llvm::append_range(shape, rhs.getShape());
    auto type = RankedTensorType::get(shape, getStatisticType(rhs.getElementType()));
    Value batched = tr ? b.matmul(type, dy, left, true, tl, acc)
                       : b.matmul(type, left, dy, !tl, false, acc);
    operandGrads[1] = b.sumTo(batched, rhs);
    return success();
  }
  operandGrads[1] = tr ? b.matmul(rhs, dy, left, true, tl, acc)
                       : b.matmul(rhs, left, dy, !tl, false, acc);
  return success();
}

LogicalResult LSTMCellOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  if (resultGrads[2])
    return emitOpError("has no gradient rule for its result gates");
  auto stateType = getTensor(getH()), gatesType = getTensor(getGates());
  if (failed(requireStaticShapes(*this, getH())))
    return failure();
  auto wide = stateType.clone(getStatisticType(getTensor(getX()).getElementType()));
  auto mul = [&](Value x, Value y) { return b.binary<MulOp>(wide, x, y); };
  SmallVector<Value, 4> gates;
  for (int64_t gate = 0; gate < 4; ++gate)
    gates.push_back(b.make<SliceOp>(getGates(),
                                    ArrayRef<int64_t>{0, gate * stateType.getDimSize(1)},
                                    stateType.getShape(), ArrayRef<int64_t>{1, 1}));
  auto [i, f, g, o] = std::tuple(gates[0], gates[1], gates[2], gates[3]);
  // Through new_h = o tanh(new_c) to the cell's state.
  Value dh = resultGrads[0], dc = resultGrads[1], dOutput;
  if (dh) {
    Value activated = b.make<TanhOp>(wide, getNewC());
    dOutput = mul(dh, activated);
    Value through = b.binary<TanhGradOp>(wide, mul(dh, o), activated);
    dc = dc ? b.binary<AddOp>(wide, through, dc) : through;
  } else {
    dOutput = b.make<BroadcastOp>(wide, b.scalar(getX(), 0.0));
  }
  if (needed[2])
    operandGrads[2] = b.cast(mul(dc, f), getTensor(getC()));
  if (llvm::none_of(needed.take_front(2), [](bool n) { return n; }) &&
      llvm::none_of(needed.drop_front(3), [](bool n) { return n; }))
    return success();
  SmallVector<Value, 4> dGates = {b.binary<SigmoidGradOp>(wide, mul(dc, g), i),
                                  b.binary<SigmoidGradOp>(wide, mul(dc, getC()), f),
                                  b.binary<TanhGradOp>(wide, mul(dc, i), g),
                                  b.binary<SigmoidGradOp>(wide, dOutput, o)};
  Value dz = b.cast(b.make<ConcatOp>(dGates, int64_t(1)), gatesType);
  TypeAttr acc = getAccTypeAttr();
  bool isTransposed = getTransposeWeights();
  if (needed[0])
    operandGrads[0] =
        b.matmul(getX().getType(), dz, getWeightIh(), false, !isTransposed, acc);
  if (needed[1])
    operandGrads[1] = b.matmul(stateType, dz, getWeightHh(), false, !isTransposed, acc);
  auto weightGrad = [&](Value weight, Value x) {
    return isTransposed ? b.matmul(weight.getType(), dz, x, true, false, acc)
                        : b.matmul(weight.getType(), x, dz, true, false, acc);
  };
  if (needed[3])
    operandGrads[3] = weightGrad(getWeightIh(), getX());
  if (needed[4])
    operandGrads[4] = weightGrad(getWeightHh(), getH());
  if (getBias() && needed[5])
    operandGrads[5] = b.sumTo(dz, getTensor(getBias()));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto type = getTensor(getX());
  Value spread = b.repeat(dy, type, getAxes());
  switch (getKind()) {
  case ReduceKind::Sum:
    break;
  case ReduceKind::Mean: {
    int64_t count = 1;
    for (int64_t axis : getAxes()) {
      if (type.isDynamicDim(axis))
        return emitOpError("has a gradient of 'mean' over static sizes only; run "
                           "--mpt-specialize first");
      count *= type.getDimSize(axis);
    }
    spread = b.mul(spread, 1.0 / static_cast<double>(count));
    break;
  }
  case ReduceKind::Max:
  case ReduceKind::Min: {
    // Equal elements share the gradient, as torch.amax. A NaN equals no element, so the
    // gradient of all is 0 / 0, a NaN.
    Value hit =
        b.compare(getX(), b.repeat(getY(), type, getAxes()), ComparePredicate::EQ);
    auto counts = getTensor(dy).clone(getStatisticType(type.getElementType()));
    Value ones = b.where(hit, b.scalar(dy, 1.0), b.scalar(dy, 0.0));
    Value count =
        b.make<ReduceOp>(counts, ones, ReduceKindAttr::get(getContext(), ReduceKind::Sum),
                         getAxesAttr(), getKeepDimsAttr(), TypeAttr());
    spread = b.make<DivOp>(b.where(hit, spread, b.scalar(dy, 0.0)),
                           b.repeat(count, type, getAxes()));
    break;
  }
  case ReduceKind::Prod: {
    // The product of the others: without zeros, that of all over the element.
    // If there is one zero, only that element has a gradient; with two, none has.
    Value zero = b.scalar(getX(), 0.0), one = b.scalar(getX(), 1.0);
    Value isZero = b.compare(getX(), zero, ComparePredicate::EQ);
    Value nonZero = b.where(isZero, one, getX());
    auto reduce = [&](Value value, ReduceKind kind) {
      auto wide = getTensor(getY()).clone(getStatisticType(type.getElementType()));
      Value y = b.make<ReduceOp>(wide, value, ReduceKindAttr::get(getContext(), kind),
                                 getAxesAttr(), getKeepDimsAttr(), TypeAttr());
      return b.repeat(y, type, getAxes());
    };
    Value zeros = reduce(b.where(isZero, one, zero), ReduceKind::Sum);
    Value product = reduce(nonZero, ReduceKind::Prod);
    Value ofZero = b.where(b.compare(zeros, one, ComparePredicate::EQ), product, zero);
    Value ofOthers = b.where(b.compare(zeros, zero, ComparePredicate::EQ),
                             b.make<DivOp>(product, nonZero), zero);
    spread = b.mul(spread, b.where(isZero, ofZero, ofOthers));
    break;
  }
  }
  operandGrads[0] = b.cast(spread, type);
  return success();
}

LogicalResult ScatterReduceOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                              ArrayRef<bool> needed,
                                              MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  auto type = getTensor(getTable());
  auto wide = type.clone(getStatisticType(type.getElementType()));
  Value dy = b.cast(resultGrads[0], wide), one = b.scalar(dy, 1.0),
        zero = b.scalar(dy, 0.0);
  auto gather = [&](Value table) { return b.make<GatherOp>(table, getIndices()); };
  // How many of a row's updates, and of `init`, fulfill a condition.
  auto count = [&](Value ofUpdates, Value ofInit) {
    return b.make<ScatterAddOp>(wide, getIndices(), b.where(ofUpdates, one, zero),
                                b.where(ofInit, one, zero));
  };
  Value ofUpdates, ofInit;
  if (getKind() == ReduceKind::Prod) {
    // The product of the others, as for mpt.reduce.
    auto withoutZeros = [&](Value value, Value isZero) {
      return b.cast(b.where(isZero, one, value), wide);
    };
    auto isZero = [&](Value value) {
      return b.compare(value, b.scalar(value, 0.0), ComparePredicate::EQ);
    };
    Value isZeroUpdate = isZero(getUpdates()), isZeroInit = isZero(getInit());
    Value updates = withoutZeros(getUpdates(), isZeroUpdate),
          init = withoutZeros(getInit(), isZeroInit);
    Value zeros = count(isZeroUpdate, isZeroInit);
    Value product = b.mul(
        dy, b.make<ScatterReduceOp>(wide, getIndices(), updates, init, getKindAttr()));
    auto only = [&](Value number) {
      return b.where(b.compare(zeros, number, ComparePredicate::EQ), product, zero);
    };
    Value ofZero = only(one), ofOthers = only(zero);
    ofUpdates =
        b.where(isZeroUpdate, gather(ofZero), b.make<DivOp>(gather(ofOthers), updates));
    ofInit = b.where(isZeroInit, ofZero, b.make<DivOp>(ofOthers, init));
  } else {
    // Equal ones share the gradient. If the largest is a NaN, that of all is a NaN, as
    // for mpt.reduce.
    Value isUpdate = b.compare(getUpdates(), gather(getTable()), ComparePredicate::EQ);
    Value isInit = b.compare(getInit(), getTable(), ComparePredicate::EQ);
    Value share = b.make<DivOp>(dy, count(isUpdate, isInit));
    ofUpdates = b.mul(b.where(isUpdate, one, zero), gather(share));
    ofInit = b.mul(b.where(isInit, one, zero), share);
  }
  operandGrads[1] = b.cast(ofUpdates, getTensor(getUpdates()));
  operandGrads[2] = b.cast(ofInit, type);
  return success();
}

namespace {

// The gradients of convolutions are linear in both operands, too. In a forward function
// they are transposed convolutions, and gradients that a loss reads (penalties of
// gradients, meta-learning). Attached apart from the ops' records, since the other ops
// that `--mpt-autodiff` makes have no gradient.

template <typename Op>
Value makeConv(GradientBuilder &b, Op like, Type type, Value x, Value filter) {
  return b.make<Conv2DOp>(type, x, filter, Value(), like.getStridesAttr(),
                          like.getPaddingAttr(), like.getDilationsAttr(),
                          like.getGroupsAttr(),
                          EpilogueAttr::get(like.getContext(), Epilogue::None),
                          like.getAccTypeAttr(), like.getOihwAttr());
}

/// `GradOp` with the window of `like`.
template <typename GradOp, typename Op>
Value makeConvGrad(GradientBuilder &b, Op like, Type type, Value first, Value second) {
  return b.make<GradOp>(type, first, second, like.getStridesAttr(), like.getPaddingAttr(),
                        like.getDilationsAttr(), like.getGroupsAttr(),
                        like.getAccTypeAttr(), like.getOihwAttr());
}

/// Of dx = A(filter)^T dy, where A is the convolution: that of dy is the convolution of
/// the gradient of dx, and that of the filter the one of the convolution whose input is
/// the gradient of dx.
struct InputGradRule
    : DifferentiableOpInterface::ExternalModel<InputGradRule, Conv2DInputGradOp> {
  LogicalResult buildGradients(Operation *op, OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGrads) const {
    auto conv = cast<Conv2DInputGradOp>(op);
    GradientBuilder b(builder, op->getLoc());
    Value gradient = resultGrads[0];
    if (needed[0])
      operandGrads[0] =
          makeConv(b, conv, conv.getDy().getType(), gradient, conv.getFilter());
    if (needed[1])
      operandGrads[1] = makeConvGrad<Conv2DFilterGradOp>(
          b, conv, conv.getFilter().getType(), gradient, conv.getDy());
    return success();
  }
};

/// Of df with <df, g> = <dy, A(g) x> for each g: with the gradient of df as g, that of x
/// is A(g)^T dy, and that of dy the convolution A(g) x.
struct FilterGradRule
    : DifferentiableOpInterface::ExternalModel<FilterGradRule, Conv2DFilterGradOp> {
  LogicalResult buildGradients(Operation *op, OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGrads) const {
    auto conv = cast<Conv2DFilterGradOp>(op);
    GradientBuilder b(builder, op->getLoc());
    Value gradient = resultGrads[0];
    if (needed[0])
      operandGrads[0] = makeConvGrad<Conv2DInputGradOp>(b, conv, conv.getX().getType(),
                                                        conv.getDy(), gradient);
    if (needed[1])
      operandGrads[1] = makeConv(b, conv, conv.getDy().getType(), conv.getX(), gradient);
    return success();
  }
};

/// Of `mpt.max_pool_grad`, which is linear in dy: the gradient of an element of dy is
/// that of the element of dx to which it goes. The first largest element of a window
/// (row-major) is the first of the largest of its rows. Where an element goes changes
/// only at kinks.
struct MaxPoolGradRule
    : DifferentiableOpInterface::ExternalModel<MaxPoolGradRule, MaxPoolGradOp> {
  LogicalResult buildGradients(Operation *op, OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGrads) const {
    auto pool = cast<MaxPoolGradOp>(op);
    if (!needed[0])
      return success();
    if (failed(requireStaticShapes(op, op->getOperands())))
      return failure();
    GradientBuilder b(builder, op->getLoc());
    Value x = pool.getX(), gradient = resultGrads[0];
    for (int dim : {1, 0})
      selectAlong(b, x, gradient, dim + 1, pool.getWindow()[dim], pool.getStrides()[dim],
                  pool.getPadding()[2 * dim], pool.getPadding()[2 * dim + 1]);
    operandGrads[0] = b.cast(gradient, getTensor(pool.getDy()));
    return success();
  }

  /// Replaces x by the largest element of each window of one dimension, and `gradient` by
  /// what lies at its place.
  static void selectAlong(GradientBuilder &b, Value &x, Value &gradient, int64_t dim,
                          int64_t window, int64_t stride, int64_t low, int64_t high) {
    auto pad = [&](Value value, int64_t first, double with) -> Value {
      SmallVector<int64_t> before(4), after(4);
      before[dim] = first;
      after[dim] = high;
      return first || high
                 ? b.make<PadOp>(value, b.builder.getDenseI64ArrayAttr(before),
                                 b.builder.getDenseI64ArrayAttr(after),
                                 DenseI64ArrayAttr(), b.builder.getF64FloatAttr(with))
                 : value;
    };
    SmallVector<int64_t> offsets(4), sizes(getTensor(x).getShape()), strides(4, 1);
    // Where all of a window is -infinity, its first element is the largest, whose
    // gradient lies in the padding before it, too.
    if (low) {
      sizes[dim] = 1;
      Value first = b.make<SliceOp>(gradient, offsets, sizes, strides);
      SmallVector<Value> parts(low, first);
      parts.push_back(gradient);
      gradient = b.make<ConcatOp>(parts, uint64_t(dim));
    }
    x = pad(x, low, -std::numeric_limits<double>::infinity());
    gradient = pad(gradient, 0, 0);
    sizes = llvm::to_vector(getTensor(x).getShape());
    sizes[dim] = (sizes[dim] - window) / stride + 1;
    strides[dim] = stride;
    Value best, ofBest;
    for (int64_t offset : llvm::seq(window)) {
      offsets[dim] = offset;
      Value next = b.make<SliceOp>(x, offsets, sizes, strides);
      Value ofNext = b.make<SliceOp>(gradient, offsets, sizes, strides);
      if (offset == 0) {
        best = next;
        ofBest = ofNext;
        continue;
      }
      // A NaN is the largest.
      Value isLargest = b.compare(best, next, ComparePredicate::GE);
      Value isNaN = b.compare(best, best, ComparePredicate::NE);
      auto choose = [&](Value first, Value second) {
        return b.where(isLargest, first, b.where(isNaN, first, second));
      };
      ofBest = choose(ofBest, ofNext);
      best = choose(best, next);
    }
    x = best;
    gradient = ofBest;
  }
};

} // namespace

void mpt::detail::attachGradientRules(MLIRContext &context) {
  Conv2DInputGradOp::attachInterface<InputGradRule>(context);
  Conv2DFilterGradOp::attachInterface<FilterGradRule>(context);
  MaxPoolGradOp::attachInterface<MaxPoolGradRule>(context);
}
