//===- Shapes.cpp - Constants and moves in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

static void convertConstant(ConstantOp op, Emitter &e) {
  e.set(e.constant(op.getValue()));
}

/// Narrow floats round the index.
static void convertIota(IotaOp op, Emitter &e) {
  auto type = e.resultType();
  bool isExact =
      isa<IntegerType>(type.getElementType()) && !type.getElementType().isInteger(1);
  Type element = isExact ? type.getElementType() : Type(e.builder.getI64Type());
  e.set(e.iota(element, type.getShape(), op.getAxis()));
}

static void convertReshape(ReshapeOp op, Emitter &e) {
  e.set(e.reshape(e.get(op.getX()), e.resultType().getShape()));
}

static void convertBroadcast(BroadcastOp op, Emitter &e) {
  e.set(e.broadcast(e.get(op.getX()), e.resultType().getShape()));
}

static void convertTranspose(TransposeOp op, Emitter &e) {
  e.set(e.transpose(e.get(op.getX()), op.getPermutation()));
}

static void convertSlice(SliceOp op, Emitter &e) {
  e.set(e.slice(e.get(op.getX()), op.getOffsets(), e.resultType().getShape(),
                op.getStrides()));
}

static void convertConcat(ConcatOp op, Emitter &e) {
  SmallVector<Value> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(e.convert(e.get(input), e.resultType().getElementType()));
  e.set(e.concatenate(inputs, op.getAxis()));
}

static void convertPad(PadOp op, Emitter &e) {
  Shape interior(getRank(op.getX()), 0);
  if (op.getInterior())
    interior.assign(op.getInterior()->begin(), op.getInterior()->end());
  Value x = e.convert(e.get(op.getX()), e.resultType().getElementType());
  e.set(e.pad(x, op.getValue().convertToDouble(), op.getLow(), op.getHigh(), interior));
}

static void convertBarrier(BarrierOp op, Emitter &e) {
  SmallVector<Value> inputs;
  for (Value input : op->getOperands())
    inputs.push_back(e.get(input));
  if (inputs.empty())
    return;
  Operation *barrier =
      e.build("optimization_barrier", ValueRange(inputs).getTypes(), inputs);
  for (auto [index, result] : llvm::enumerate(barrier->getResults()))
    e.set(result, index);
}

void mpt::tostablehlo::populateShapes(Table &table) {
  table.add(convertConstant);
  table.add(convertIota);
  table.add(convertReshape);
  table.add(convertBroadcast);
  table.add(convertTranspose);
  table.add(convertSlice);
  table.add(convertConcat);
  table.add(convertPad);
  table.add(convertBarrier);
}
