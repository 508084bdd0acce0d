//===- GradientsLinalg.cpp - Gradient rules of products and moves -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Vector-Jacobian products of matrix products, convolutions, attention and ops
/// that move elements. Each gradient has its operand's type.
///
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
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
    // The batch is only more rows of one product.
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

/// The gradient before the epilogue. GELU needs the value before it, which the
/// op does not return: `recompute` builds it again.
static Value throughEpilogue(GradientBuilder &b, Epilogue epilogue, Value dy,
                             Value result, function_ref<Value()> recompute) {
  switch (epilogue) {
  case Epilogue::None:
    return dy;
  case Epilogue::Relu:
    return b.make<ReluGradOp>(dy, result);
  case Epilogue::Gelu:
    return b.make<GeluGradOp>(dy, recompute(), GeluApproximation::Tanh);
  }
  return dy;
}

LogicalResult LinearOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  TypeAttr acc = getAccTypeAttr();
  dy = throughEpilogue(b, getEpilogue(), dy, getResult(), [&] {
    auto type = getTensor(getResult());
    return b.make<LinearOp>(type.clone(getStatisticType(type.getElementType())),
                            getX(), getWeight(), getBias(),
                            EpilogueAttr::get(getContext(), Epilogue::None), acc);
  });
  if (needed[0])
    operandGrads[0] =
        b.matmul(getX().getType(), dy, getWeight(), false, true, acc);
  if (needed[1])
    operandGrads[1] = b.matmul(getWeight().getType(), b.flatten(getX()),
                               b.flatten(dy), true, false, acc);
  if (getBias() && needed[2])
    operandGrads[2] = b.sumTo(dy, getTensor(getBias()));
  return success();
}

LogicalResult Conv2DOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  TypeAttr acc = getAccTypeAttr();
  dy = throughEpilogue(b, getEpilogue(), dy, getResult(), [&] {
    auto type = getTensor(getResult());
    return b.make<Conv2DOp>(type.clone(getStatisticType(type.getElementType())),
                            getX(), getFilter(), getBias(), getStridesAttr(),
                            getPaddingAttr(), getDilationsAttr(), getGroupsAttr(),
                            EpilogueAttr::get(getContext(), Epilogue::None), acc);
  });
  auto [strides, padding, dilations] =
      std::tuple(getStridesAttr(), getPaddingAttr(), getDilationsAttr());
  if (needed[0])
    operandGrads[0] = b.make<Conv2DInputGradOp>(
        getX().getType(), dy, getFilter(), strides, padding, dilations,
        getGroupsAttr(), acc);
  if (needed[1])
    operandGrads[1] = b.make<Conv2DFilterGradOp>(
        getFilter().getType(), getX(), dy, strides, padding, dilations,
        getGroupsAttr(), acc);
  if (getBias() && needed[2])
    operandGrads[2] = b.sumTo(dy, getTensor(getBias()));
  return success();
}

LogicalResult AttentionOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  if (resultGrads[1])
    return emitOpError("has no gradient rule for its result log_sum_exp");
  if (!dy)
    return success();
  auto grad = AttentionGradOp::create(
      builder, getLoc(), dy, getQuery(), getKey(), getValue(), getResult(),
      getLogSumExp(), getMask(), getCausalAttr(), getScaleAttr(), getAccTypeAttr());
  for (int i = 0; i < 3; ++i)
    operandGrads[i] = grad->getResult(i);
  return success();
}

LogicalResult LSTMCellOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  if (resultGrads[2])
    return emitOpError("has no gradient rule for its result gates");
  auto stateType = getTensor(getH()), gatesType = getTensor(getGates());
  if (!stateType.hasStaticShape())
    return emitOpError("has a gradient for operands of static shape only; run "
                       "--mpt-specialize first");
  auto wide = stateType.clone(getStatisticType(getTensor(getX()).getElementType()));
  auto mul = [&](Value x, Value y) { return b.binary<MulOp>(wide, x, y); };
  SmallVector<Value, 4> gates;
  for (int64_t gate = 0; gate < 4; ++gate)
    gates.push_back(b.make<SliceOp>(
        getGates(), ArrayRef<int64_t>{0, gate * stateType.getDimSize(1)},
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
  SmallVector<Value, 4> dGates = {
      b.binary<SigmoidGradOp>(wide, mul(dc, g), i),
      b.binary<SigmoidGradOp>(wide, mul(dc, getC()), f),
      b.binary<TanhGradOp>(wide, mul(dc, i), g),
      b.binary<SigmoidGradOp>(wide, dOutput, o)};
  Value dz = b.cast(b.make<ConcatOp>(dGates, int64_t(1)), gatesType);
  TypeAttr acc = getAccTypeAttr();
  if (needed[0])
    operandGrads[0] = b.matmul(getX().getType(), dz, getWeightIh(), false, true, acc);
  if (needed[1])
    operandGrads[1] = b.matmul(stateType, dz, getWeightHh(), false, true, acc);
  if (needed[3])
    operandGrads[3] =
        b.matmul(getWeightIh().getType(), getX(), dz, true, false, acc);
  if (needed[4])
    operandGrads[4] =
        b.matmul(getWeightHh().getType(), getH(), dz, true, false, acc);
  if (getBias() && needed[5])
    operandGrads[5] = b.sumTo(dz, getTensor(getBias()));
  return success();
}

//===----------------------------------------------------------------------===//
// Ops that move elements
//===----------------------------------------------------------------------===//

LogicalResult CastOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.cast(dy, getTensor(getX()));
  return success();
}

LogicalResult ReshapeOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.reshape(dy, getTensor(getX()).getShape());
  return success();
}

LogicalResult TransposeOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = i;
  operandGrads[0] = b.make<TransposeOp>(dy, inverse);
  return success();
}

LogicalResult BroadcastOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.sumTo(dy, getTensor(getX()));
  return success();
}

LogicalResult SliceOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  if (!getTensor(getX()).hasStaticShape())
    return emitOpError("has a gradient for operands of static shape only; run "
                       "--mpt-specialize first");
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  SmallVector<int64_t> high, interior;
  for (int64_t i = 0; i < getTensor(getX()).getRank(); ++i) {
    // The type's, since `sizes` may say -1.
    int64_t size = getTensor(getY()).getDimSize(i);
    int64_t covered = size > 0 ? (size - 1) * getStrides()[i] + 1 : 0;
    high.push_back(getTensor(getX()).getDimSize(i) - getOffsets()[i] - covered);
    interior.push_back(getStrides()[i] - 1);
  }
  bool dense = llvm::all_of(interior, [](int64_t gap) { return gap == 0; });
  operandGrads[0] = b.make<PadOp>(
      dy, builder.getDenseI64ArrayAttr(getOffsets()),
      builder.getDenseI64ArrayAttr(high),
      dense ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(interior),
      builder.getF64FloatAttr(0.0));
  return success();
}

LogicalResult ConcatOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  int64_t position = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    auto type = getTensor(input);
    if (!type.hasStaticShape())
      return emitOpError("has a gradient for operands of static shape only; run "
                         "--mpt-specialize first");
    SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1);
    offsets[getAxis()] = position;
    position += type.getDimSize(getAxis());
    if (needed[i])
      operandGrads[i] =
          b.cast(b.make<SliceOp>(dy, offsets, type.getShape(), strides), type);
  }
  return success();
}

LogicalResult PadOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto type = getTensor(getX());
  SmallVector<int64_t> strides(type.getRank(), 1);
  if (getInterior())
    for (auto [stride, gap] : llvm::zip(strides, *getInterior()))
      stride += gap;
  if (!type.hasStaticShape())
    return emitOpError("has a gradient for operands of static shape only; run "
                       "--mpt-specialize first");
  operandGrads[0] = b.make<SliceOp>(dy, getLow(), type.getShape(), strides);
  return success();
}

LogicalResult GatherOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<ScatterAddOp>(getTable().getType(), getIndices(), dy);
  return success();
}
