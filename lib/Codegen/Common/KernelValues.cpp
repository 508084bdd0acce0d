//===- KernelValues.cpp - Memory, body values and reductions of a kernel -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The half of the kernel emitter that makes values: loads and stores, the ops
/// of the body on vectors of any width, and combining of partial reductions.
/// KernelEmitter.cpp has the loops around them.
///
//===----------------------------------------------------------------------===//

#include "EightBitFloats.h"
#include "KernelEmitter.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

Value KernelEmitter::constant(OpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Type KernelEmitter::vectorOf(Type element, int64_t width) {
  if (isEightBitFloat(element))
    element = IntegerType::get(element.getContext(), 8);
  return width == 0 ? element : Type(VectorType::get({width}, element));
}

Type mpt::detail::storageOf(Type element) {
  if (element.isInteger(1) || isEightBitFloat(element))
    return IntegerType::get(element.getContext(), 8);
  if (element.isF16() || element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element;
}

Value KernelEmitter::fromStorage(OpBuilder &b, Value value, Type element) {
  Type type = value.getType();
  if (element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (element.isF16() || element.isBF16()) {
    auto vector = dyn_cast<VectorType>(type);
    return arith::BitcastOp::create(b, loc, vector ? vector.clone(element) : element,
                                    value);
  }
  return value;
}

Value KernelEmitter::toStorage(OpBuilder &b, Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  Type type = vector ? vector.clone(storageOf(element)) : storageOf(element);
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, type, value);
  if (element.isF16() || element.isBF16())
    return arith::BitcastOp::create(b, loc, type, value);
  return value;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelEmitter::pointerTo(unsigned index, Frame &frame) {
  OpBuilder &b = *frame.builder;
  const KernelBuffer &buffer = buffers[index];
  Value offset = constant(b, buffer.offset);
  auto addTerm = [&](Value at, int64_t stride) {
    if (stride == 0 || !at)
      return;
    Value term =
        stride == 1 ? at : arith::MulIOp::create(b, loc, at, constant(b, stride));
    offset = arith::AddIOp::create(b, loc, offset, term);
  };
  for (auto [i, at] : llvm::enumerate(rowIndices))
    addTerm(at, buffer.strides[i]);
  if (frame.lanes)
    addTerm(frame.column, buffer.columnStride());
  Type memory = storageOf(buffer.element);
  return LLVM::GEPOp::create(b, loc, pointers[index].getType(), memory, pointers[index],
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelEmitter::loadFrom(Value pointer, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  Type memory = storageOf(element);
  unsigned alignment = memory.getIntOrFloatBitWidth() / 8;
  Type type = vectorOf(memory, frame.lanes);
  Value value;
  if (frame.mask) {
    Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    value = LLVM::MaskedLoadOp::create(b, loc, type, pointer, frame.mask, zeros,
                                       b.getI32IntegerAttr(alignment), UnitAttr());
  } else {
    value = LLVM::LoadOp::create(b, loc, type, pointer, alignment);
  }
  return fromStorage(b, value, element);
}

void KernelEmitter::storeTo(Value pointer, Value value, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  value = toStorage(b, value, element);
  unsigned alignment = storageOf(element).getIntOrFloatBitWidth() / 8;
  if (frame.mask)
    LLVM::MaskedStoreOp::create(b, loc, value, pointer, frame.mask, alignment);
  else
    LLVM::StoreOp::create(b, loc, value, pointer, alignment);
}

std::pair<Value, Value> KernelEmitter::lanePointers(unsigned index, Frame &frame) {
  OpBuilder &b = *frame.builder;
  const KernelBuffer &buffer = buffers[index];
  Value pointer = pointerTo(index, frame);
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < frame.lanes; ++lane)
    steps.push_back(lane * buffer.columnStride());
  auto type = VectorType::get({frame.lanes}, b.getI64Type());
  Value offsets = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
  Value lanePointers = LLVM::GEPOp::create(
      b, loc, VectorType::get({frame.lanes}, pointer.getType()),
      storageOf(buffer.element), pointer, ArrayRef<LLVM::GEPArg>{offsets});
  Value mask = frame.mask;
  if (!mask)
    mask = arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(VectorType::get({frame.lanes}, b.getI1Type()), true));
  return {lanePointers, mask};
}

Value KernelEmitter::load(unsigned operand, Frame &frame) {
  OpBuilder &b = *frame.builder;
  const KernelBuffer &buffer = buffers[operand];
  if (frame.lanes == 0 || buffer.columnStride() == 1)
    return loadFrom(pointerTo(operand, frame), buffer.element, frame);
  auto [pointers, mask] = lanePointers(operand, frame);
  Type memory = storageOf(buffer.element);
  Type loaded = vectorOf(memory, frame.lanes);
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(loaded));
  Value value = LLVM::masked_gather::create(
      b, loc, loaded, pointers, mask, zeros,
      b.getI32IntegerAttr(memory.getIntOrFloatBitWidth() / 8));
  return fromStorage(b, value, buffer.element);
}

void KernelEmitter::store(unsigned result, Value value, Frame &frame) {
  OpBuilder &b = *frame.builder;
  unsigned index = body.getNumArguments() + result;
  const KernelBuffer &buffer = buffers[index];
  if (frame.lanes == 0 || buffer.columnStride() == 1 || columns == 1)
    return storeTo(pointerTo(index, frame), value, buffer.element, frame);
  value = toStorage(b, value, buffer.element);
  unsigned alignment = storageOf(buffer.element).getIntOrFloatBitWidth() / 8;
  auto [pointers, mask] = lanePointers(index, frame);
  LLVM::masked_scatter::create(b, loc, value, pointers, mask,
                               b.getI32IntegerAttr(alignment));
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// An f32 rounded to bf16 in integers. Upstream's expansion chooses between the
/// result and a constant NaN, which LLVM makes a choice of bf16 scalars: on
/// processors without that type a conversion by a library that may not be there.
static Value roundScalarToBF16(OpBuilder &b, Location loc, Value value) {
  Type i32 = b.getI32Type();
  auto number = [&](int32_t constant) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(constant));
  };
  Value bits = arith::BitcastOp::create(b, loc, i32, value);
  Value high = arith::ShRUIOp::create(b, loc, bits, number(16));
  Value even = arith::AndIOp::create(b, loc, high, number(1));
  Value sum = arith::AddIOp::create(b, loc, bits, number(0x7fff));
  sum = arith::AddIOp::create(b, loc, sum, even);
  Value rounded = arith::ShRUIOp::create(b, loc, sum, number(16));
  Value quiet = arith::OrIOp::create(b, loc, high, number(0x40));
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
  Value result = arith::SelectOp::create(b, loc, isNaN, quiet, rounded);
  return arith::BitcastOp::create(
      b, loc, b.getBF16Type(), arith::TruncIOp::create(b, loc, b.getI16Type(), result));
}

Value KernelEmitter::convertFloat(OpBuilder &b, Value value, Type from, Type to) {
  // By way of f32, which holds the narrower types; f64 so that it rounds once.
  unsigned width = to.getIntOrFloatBitWidth();
  if (isEightBitFloat(from)) {
    value = extendEightBitFloat(b, loc, value, from);
    from = b.getF32Type();
  } else if (from.isF64() && width < 32) {
    value = roundToOddF32(b, loc, value);
    from = b.getF32Type();
  }
  auto vector = dyn_cast<VectorType>(value.getType());
  auto convert = [&](Type element) {
    Type type = vector ? Type(vector.clone(element)) : element;
    if (!vector && from.isF32() && element.isBF16())
      value = roundScalarToBF16(b, loc, value);
    else if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
      value = arith::ExtFOp::create(b, loc, type, value);
    else if (from != element)
      value = arith::TruncFOp::create(b, loc, type, value);
  };
  if (!isEightBitFloat(to)) {
    convert(to);
    return value;
  }
  convert(b.getF32Type());
  return truncateToEightBitFloat(b, loc, value, to);
}

Value KernelEmitter::cloneOp(Operation *op, Frame &frame) {
  OpBuilder &b = *frame.builder;
  Type element = op->getResult(0).getType();
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = constantOp.getValue();
    if (isEightBitFloat(element))
      value = b.getIntegerAttr(b.getI8Type(),
                               cast<FloatAttr>(value).getValue().bitcastToAPInt());
    if (frame.lanes != 0)
      value = DenseElementsAttr::get(VectorType::get({frame.lanes}, value.getType()),
                                     Attribute(value));
    return arith::ConstantOp::create(b, loc, value);
  }
  if (auto index = dyn_cast<kernel::IndexOp>(op)) {
    Value at;
    if (index.getDim() + 1 < domain.size()) {
      at = rowIndices[index.getDim()];
      if (!element.isInteger(64))
        at = arith::TruncIOp::create(b, loc, element, at);
      return at;
    }
    auto type = VectorType::get({frame.lanes}, b.getI64Type());
    SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, frame.lanes));
    Value lane = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
    at = arith::AddIOp::create(
        b, loc, vector::BroadcastOp::create(b, loc, type, frame.column), lane);
    if (!element.isInteger(64))
      at = arith::TruncIOp::create(b, loc, vectorOf(element, frame.lanes), at);
    return at;
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(evaluate(operand, frame));
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return convertFloat(b, operands.front(), op->getOperand(0).getType(), element);
  // As bits: on processors without these types LLVM widens a choice of scalars and
  // narrows it by a library that may not be there.
  if (isa<arith::SelectOp>(op) && (element.isF16() || element.isBF16())) {
    Value chosen =
        arith::SelectOp::create(b, loc, operands[0], toStorage(b, operands[1], element),
                                toStorage(b, operands[2], element));
    return fromStorage(b, chosen, element);
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op) && element.getIntOrFloatBitWidth() < 32) {
    // f64 holds all integers that these types can tell apart.
    OperationState state(op->getLoc(), op->getName(), operands,
                         {vectorOf(b.getF64Type(), frame.lanes)});
    return convertFloat(b, b.create(state)->getResult(0), b.getF64Type(), element);
  }
  OperationState state(op->getLoc(), op->getName(), operands,
                       {vectorOf(element, frame.lanes)},
                       op->getAttrDictionary().getValue());
  return b.create(state)->getResult(0);
}

Value KernelEmitter::evaluate(Value value, Frame &frame) {
  if (Value known = frame.values.lookup(value))
    return known;
  // Scalars are computed once a row and repeated in the vectors
  // (constants are made where they are used).
  bool isScalarHere = frame.lanes == 0;
  auto comesFromRow = [&](Value candidate) {
    return !isScalarHere && frame.outer && isRowUniform(candidate) &&
           !candidate.getDefiningOp<arith::ConstantOp>();
  };
  if (comesFromRow(value)) {
    Value scalar = evaluate(value, *frame.outer);
    Value repeated = vector::BroadcastOp::create(
        *frame.builder, loc, vectorOf(scalar.getType(), frame.lanes), scalar);
    return frame.values[value] = repeated;
  }
  // The operands of one op at a time, without recursion over long chains.
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Value next = stack.back();
    if (frame.values.count(next)) {
      stack.pop_back();
      continue;
    }
    if (next != value && comesFromRow(next)) {
      (void)evaluate(next, frame);
      stack.pop_back();
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      frame.values[next] = load(argument.getArgNumber(), frame);
      stack.pop_back();
      continue;
    }
    Operation *op = next.getDefiningOp();
    bool ready = true;
    for (Value operand : op->getOperands())
      if (!frame.values.count(operand)) {
        stack.push_back(operand);
        ready = false;
      }
    if (!ready)
      continue;
    frame.values[next] = cloneOp(op, frame);
    stack.pop_back();
  }
  return frame.values[value];
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value KernelEmitter::identity(OpBuilder &b, ReduceKind kind, Type type) {
  Type element = getElementTypeOrSelf(type);
  Attribute value;
  if (auto floatType = dyn_cast<FloatType>(element)) {
    double number = kind == ReduceKind::Prod  ? 1.0
                    : kind == ReduceKind::Max ? -std::numeric_limits<double>::infinity()
                    : kind == ReduceKind::Min ? std::numeric_limits<double>::infinity()
                                              : 0.0;
    value = b.getFloatAttr(floatType, number);
  } else {
    unsigned width = element.getIntOrFloatBitWidth();
    llvm::APInt number(width, kind == ReduceKind::Prod ? 1 : 0);
    if (kind == ReduceKind::Max)
      number = llvm::APInt::getSignedMinValue(width);
    if (kind == ReduceKind::Min)
      number = llvm::APInt::getSignedMaxValue(width);
    value = b.getIntegerAttr(element, number);
  }
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(value));
}

Value KernelEmitter::combine(OpBuilder &b, ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return isFloat ? arith::AddFOp::create(b, loc, x, y).getResult()
                   : arith::AddIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Prod:
    return isFloat ? arith::MulFOp::create(b, loc, x, y).getResult()
                   : arith::MulIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Max:
    return isFloat ? arith::MaximumFOp::create(b, loc, x, y).getResult()
                   : arith::MaxSIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Min:
    break;
  }
  return isFloat ? arith::MinimumFOp::create(b, loc, x, y).getResult()
                 : arith::MinSIOp::create(b, loc, x, y).getResult();
}

Value KernelEmitter::foldLanes(OpBuilder &b, ReduceKind kind, Value value) {
  auto type = cast<VectorType>(value.getType());
  // Halves onto each other: a fixed tree.
  for (int64_t width = type.getDimSize(0); width > 1; width /= 2) {
    Value low = vector::ExtractStridedSliceOp::create(b, loc, value, ArrayRef<int64_t>{0},
                                                      ArrayRef<int64_t>{width / 2},
                                                      ArrayRef<int64_t>{1});
    Value high = vector::ExtractStridedSliceOp::create(
        b, loc, value, ArrayRef<int64_t>{width / 2}, ArrayRef<int64_t>{width / 2},
        ArrayRef<int64_t>{1});
    value = combine(b, kind, low, high);
  }
  return vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{0});
}

Value KernelEmitter::scale(OpBuilder &b, Value value, int64_t count) {
  Type type = value.getType();
  Attribute factor =
      b.getFloatAttr(getElementTypeOrSelf(type), 1.0 / static_cast<double>(count));
  if (auto vector = dyn_cast<VectorType>(type))
    factor = DenseElementsAttr::get(vector, factor);
  return arith::MulFOp::create(
      b, loc, value, arith::ConstantOp::create(b, loc, cast<TypedAttr>(factor)));
}

Value KernelEmitter::partialPointer(OpBuilder &b, const ColumnPartials &part, Value task,
                                    Value column) {
  Type element = kernel::ColumnReduceOp(part.op).getType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value at = arith::MulIOp::create(b, loc, task, constant(b, part.columns));
  if (column)
    at = arith::AddIOp::create(b, loc, at, column);
  at = arith::AddIOp::create(b, loc, at, constant(b, part.offset / bytes));
  return LLVM::GEPOp::create(b, loc, partials.getType(), element, partials,
                             ArrayRef<LLVM::GEPArg>{at});
}
