//===- RowLanesEmitter.cpp - Kernels with a row in each lane -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLanesEmitter.h"
#include "../Common/RowValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// A kept value of more columns would not stay in the first-level cache.
static constexpr int64_t mostColumns = 256;
/// Where rows are reduced once and nothing is kept, each column is a vector of memory
/// that is read once.
static constexpr int64_t mostColumnsReadOnce = 1024;

RowLanesEmitter::RowLanesEmitter(kernel::FuncOp kernel) : KernelEmitter(kernel) {
  if (!isBetter())
    return;
  lanes = kLanes;
  keptValues = chooseRowValues(
      body, [&](Value value) { return isFull(value); }, levels, mostLevels,
      getKeptElements());
}

bool RowLanesEmitter::isBetter() {
  const bool readsOnce = mostLevels == 1 && keptValues.empty();
  if (kernel.getKind() == kernel::KernelKind::Pointwise || domain.size() < 2 ||
      columns < 2 || columns > (readsOnce ? mostColumnsReadOnce : mostColumns) ||
      domain[getRowDim()] < kLanes)
    return false;
  for (const ColumnPartials &part : info.getColumnPartials())
    if (isFull(kernel::ColumnReduceOp(part.op).getValue()))
      return false;
  auto yield = cast<kernel::YieldOp>(body.getTerminator());
  bool any = false;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    const bool isResult = i >= body.getNumArguments();
    if (isResult && info.isAfterColumns(yield.getValues()[i - body.getNumArguments()]))
      continue;
    const int64_t stride = buffer.strides[getRowDim()];
    if (buffer.columnStride() == 0)
      continue;
    // A vector of weights has one number for all rows.
    if (stride != 1 && (isResult || stride != 0))
      return false;
    any |= stride == 1;
  }
  return any;
}

Value RowLanesEmitter::getLaneNumbers(OpBuilder &b) {
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  return arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(VectorType::get({lanes}, b.getI64Type()),
                             ArrayRef<int64_t>(numbers)));
}

void RowLanesEmitter::emitRowRange(OpBuilder &b, Value first, Value last, Value task) {
  inRows = true;
  rowIndices.assign(domain.size() - 1, Value());
  auto emitLanes = [&](OpBuilder &at, Value begin, Value end) {
    Value step = constant(at, lanes);
    Value count = arith::SubIOp::create(at, loc, end, begin);
    Value rest = arith::RemUIOp::create(at, loc, count, step);
    Value whole = arith::SubIOp::create(at, loc, end, rest);
    auto loop = scf::ForOp::create(at, loc, begin, whole, step);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    rowIndices[getRowDim()] = loop.getInductionVar();
    emitRowAtIndices(inner, task);
    Value hasRest =
        arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ne, rest, constant(at, 0));
    inner = scf::IfOp::create(at, loc, hasRest).getThenBodyBuilder();
    Value numbers = getLaneNumbers(inner);
    rowMask = arith::CmpIOp::create(
        inner, loc, arith::CmpIPredicate::slt, numbers,
        vector::BroadcastOp::create(inner, loc, numbers.getType(), rest));
    rowIndices[getRowDim()] = whole;
    emitRowAtIndices(inner, task);
    rowMask = Value();
  };
  if (domain.size() == 2) {
    emitLanes(b, first, last);
    inRows = false;
    return;
  }
  // Rows of one index of the other dimensions at a time.
  Value size = constant(b, domain[getRowDim()]);
  Value begin = arith::DivUIOp::create(b, loc, first, size);
  Value end = arith::DivUIOp::create(
      b, loc, arith::AddIOp::create(b, loc, last, constant(b, domain[getRowDim()] - 1)),
      size);
  auto loop = scf::ForOp::create(b, loc, begin, end, constant(b, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value rest = loop.getInductionVar();
  Value base = arith::MulIOp::create(inner, loc, rest, size);
  for (size_t i = getRowDim(); i-- > 0;) {
    if (i == 0) {
      rowIndices[i] = rest;
      break;
    }
    Value extent = constant(inner, domain[i]);
    rowIndices[i] = arith::RemUIOp::create(inner, loc, rest, extent);
    rest = arith::DivUIOp::create(inner, loc, rest, extent);
  }
  emitLanes(inner,
            arith::MaxSIOp::create(inner, loc,
                                   arith::SubIOp::create(inner, loc, first, base),
                                   constant(inner, 0)),
            arith::MinSIOp::create(inner, loc,
                                   arith::SubIOp::create(inner, loc, last, base), size));
  inRows = false;
}

KernelEmitter::Frame RowLanesEmitter::makeRowFrame(OpBuilder &b) {
  Frame frame;
  frame.builder = &b;
  frame.lanes = lanes;
  frame.mask = rowMask;
  return frame;
}

SmallVector<Value> RowLanesEmitter::forColumns(
    OpBuilder &b, Frame &rowFrame, ValueRange init,
    function_ref<SmallVector<Value>(Frame &, ValueRange)> emitBody) {
  if (!inRows)
    return KernelEmitter::forColumns(b, rowFrame, init, emitBody);
  auto emitLoop = [&](OpBuilder &at, Value begin, int64_t step, ValueRange carried) {
    auto loop = scf::ForOp::create(at, loc, begin, constant(at, columns),
                                   constant(at, step), carried);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Frame frame = makeRowFrame(inner);
    frame.column = loop.getInductionVar();
    frame.outer = &rowFrame;
    SmallVector<Value> next = emitBody(frame, loop.getRegionIterArgs());
    if (!carried.empty())
      scf::YieldOp::create(inner, loc, next);
    return loop.getResults();
  };
  if (init.empty()) {
    emitLoop(b, constant(b, 0), 1, init);
    return {};
  }
  // A row's bits do not depend on how it lies: columns are reduced in the parts that
  // lanes would have, and these are folded as lanes are. What follows the reductions are
  // flags, whose order does not matter.
  const int64_t parts =
      std::min<int64_t>(kLanes, llvm::PowerOf2Ceil(static_cast<uint64_t>(columns)));
  const size_t count = reducedKinds.size();
  SmallVector<Value> places;
  for (Value start : init.take_front(count))
    places.push_back(allocate(b, getElementTypeOrSelf(start), parts * lanes));
  auto makePart = [&](OpBuilder &at) {
    Frame frame;
    frame.builder = &at;
    frame.lanes = lanes;
    return frame;
  };
  auto partOf = [&](OpBuilder &at, size_t i, Value part) {
    Value element = arith::MulIOp::create(at, loc, part, constant(at, lanes));
    return elementOf(at, places[i], getElementTypeOrSelf(init[i]), element);
  };
  auto loop = scf::ForOp::create(b, loc, constant(b, 0), constant(b, parts),
                                 constant(b, 1), init.drop_front(count));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  SmallVector<Value> carried(init.take_front(count));
  llvm::append_range(carried, loop.getRegionIterArgs());
  ResultRange results = emitLoop(inner, loop.getInductionVar(), parts, carried);
  Frame frame = makePart(inner);
  for (size_t i = 0; i < count; ++i)
    storeTo(partOf(inner, i, loop.getInductionVar()), results[i],
            getElementTypeOrSelf(init[i]), frame);
  if (init.size() > count)
    scf::YieldOp::create(inner, loc, results.drop_front(count));
  SmallVector<Value> reduced;
  frame = makePart(b);
  for (size_t i = 0; i < count; ++i) {
    SmallVector<Value> values;
    for (int64_t part = 0; part < parts; ++part)
      values.push_back(loadFrom(partOf(b, i, constant(b, part)),
                                getElementTypeOrSelf(init[i]), frame));
    for (int64_t width = parts; width > 1; width /= 2)
      for (int64_t part = 0; part < width / 2; ++part)
        values[part] =
            combine(b, reducedKinds[i], values[part], values[part + width / 2]);
    reduced.push_back(values.front());
  }
  llvm::append_range(reduced, loop.getResults());
  return reduced;
}

Value RowLanesEmitter::finishRowReduction(OpBuilder &b, ReduceKind kind, Value vector) {
  return inRows ? vector : KernelEmitter::finishRowReduction(b, kind, vector);
}

void RowLanesEmitter::accumulate(const ColumnPartials &part, Value task, Frame &frame) {
  OpBuilder &b = *frame.builder;
  kernel::ColumnReduceOp reduce = part.op;
  Value values = evaluate(reduce.getValue(), frame);
  if (frame.mask)
    values = arith::SelectOp::create(b, loc, frame.mask, values,
                                     identity(b, reduce.getKind(), values.getType()));
  Frame scalar;
  scalar.builder = &b;
  Value pointer = blockSums.count(reduce) ? blockPointer(b, part, Value())
                                          : partialPointer(b, part, task, Value());
  Value sum = loadFrom(pointer, reduce.getType(), scalar);
  // Row after row, as where each is emitted by itself.
  for (int64_t lane = 0; lane < lanes; ++lane)
    sum = combine(b, reduce.getKind(), sum,
                  vector::ExtractOp::create(b, loc, values, ArrayRef<int64_t>{lane}));
  storeTo(pointer, sum, reduce.getType(), scalar);
}

Value RowLanesEmitter::load(unsigned operand, Frame &frame) {
  if (!inRows || frame.lanes == 0 || laneStride(buffers[operand]) != 0)
    return KernelEmitter::load(operand, frame);
  Frame scalar;
  scalar.builder = frame.builder;
  Value value = loadFrom(pointerTo(operand, frame), buffers[operand].element, scalar);
  return KernelEmitter::repeat(value, frame);
}

int64_t RowLanesEmitter::laneStride(const KernelBuffer &buffer) const {
  return inRows ? buffer.strides[getRowDim()] : buffer.columnStride();
}

Value RowLanesEmitter::repeat(Value rowValue, Frame &frame) {
  return inRows ? rowValue : KernelEmitter::repeat(rowValue, frame);
}

Value RowLanesEmitter::indexOf(unsigned dim, Type element, Frame &frame) {
  if (!inRows)
    return KernelEmitter::indexOf(dim, element, frame);
  OpBuilder &b = *frame.builder;
  auto type = VectorType::get({lanes}, b.getI64Type());
  Value at = vector::BroadcastOp::create(
      b, loc, type, dim + 1 == domain.size() ? frame.column : rowIndices[dim]);
  if (dim == getRowDim())
    at = arith::AddIOp::create(b, loc, at, getLaneNumbers(b));
  if (!element.isInteger(64))
    at = arith::TruncIOp::create(b, loc, vectorOf(element, lanes), at);
  return at;
}

Value RowLanesEmitter::keptPlace(Value row, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  return elementOf(
      b, row, element,
      inRows ? arith::MulIOp::create(b, loc, frame.column, constant(b, lanes)).getResult()
             : frame.column);
}
