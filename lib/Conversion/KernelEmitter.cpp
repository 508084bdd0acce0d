//===- KernelEmitter.cpp - A kernel as loops over vectors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static KernelBuffer describe(RankedTensorType type, AffineMap map, size_t rank) {
  KernelBuffer buffer;
  buffer.element = type.getElementType();
  buffer.strides.assign(rank, 0);
  int64_t stride = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    // The verifier has checked that the map is linear.
    FailureOr<SmallVector<int64_t>> linear =
        getLinearCoefficients(map.getResult(i), rank);
    if (succeeded(linear)) {
      for (size_t d = 0; d < rank; ++d)
        buffer.strides[d] += (*linear)[d] * stride;
      buffer.offset += linear->back() * stride;
    }
    stride *= type.getDimSize(i);
  }
  return buffer;
}

KernelEmitter::KernelEmitter(KernelFuncOp kernel)
    : kernel(kernel), info(kernel), body(kernel.getBody().front()),
      loc(kernel.getLoc()), rows(getKernelRows(kernel.getDomain())),
      columns(getKernelColumns(kernel.getDomain())),
      tasks(getKernelTasks(kernel.getDomain(), kernel.getChunkRows())) {
  lanes = std::min<int64_t>(kLanes, llvm::PowerOf2Ceil(std::max<int64_t>(columns, 1)));
  size_t rank = kernel.getDomain().size();
  auto add = [&](TypeRange types, ArrayAttr maps) {
    for (auto [type, map] : llvm::zip(types, maps))
      buffers.push_back(describe(cast<RankedTensorType>(type),
                                 cast<AffineMapAttr>(map).getValue(), rank));
  };
  add(kernel.getFunctionType().getInputs(), kernel.getOperandMaps());
  add(kernel.getFunctionType().getResults(), kernel.getResultMaps());
  for (Operation &op : body.without_terminator()) {
    unsigned level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levels.lookup(operand));
    if (isa<RowReduceOp>(op))
      mostLevels = std::max(mostLevels, ++level);
    for (Value result : op.getResults())
      levels[result] = level;
  }
}

LogicalResult KernelEmitter::check() {
  auto checkElement = [&](Type type) -> LogicalResult {
    if (type.isF32() || type.isF64() || type.isF16() || type.isBF16() ||
        type.isInteger(1) || type.isInteger(8) || type.isInteger(16) ||
        type.isInteger(32) || type.isInteger(64))
      return success();
    return kernel.emitError("the CPU code generator cannot store ")
           << type << "; convert it with mpt.cast before";
  };
  for (const KernelBuffer &buffer : buffers)
    if (failed(checkElement(buffer.element)))
      return failure();
  for (Operation &op : body) {
    if (isa<YieldOp, RowReduceOp, ColumnReduceOp, IndexOp>(op))
      continue;
    if (op.getNumRegions() == 0 && op.getNumResults() == 1 &&
        isa<arith::ArithDialect, math::MathDialect>(op.getDialect())) {
      if (failed(checkElement(op.getResult(0).getType())))
        return failure();
      continue;
    }
    return op.emitError("cannot be in a kernel's body: only arith and math ops "
                        "of one result can");
  }
  return success();
}

Value KernelEmitter::constant(OpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Type KernelEmitter::vectorOf(Type element, int64_t width) {
  return width == 0 ? element : Type(VectorType::get({width}, element));
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
    Value term = stride == 1
                     ? at
                     : arith::MulIOp::create(b, loc, at, constant(b, stride));
    offset = arith::AddIOp::create(b, loc, offset, term);
  };
  for (auto [i, at] : llvm::enumerate(rowIndices))
    addTerm(at, buffer.strides[i]);
  if (frame.lanes)
    addTerm(frame.column, buffer.columnStride());
  Type memory = buffer.element.isInteger(1) ? b.getI8Type() : buffer.element;
  return LLVM::GEPOp::create(b, loc, pointers[index].getType(), memory,
                             pointers[index], ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelEmitter::loadFrom(Value pointer, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  Type memory = element.isInteger(1) ? b.getI8Type() : element;
  unsigned alignment = llvm::divideCeil(memory.getIntOrFloatBitWidth(), 8);
  Type type = vectorOf(memory, frame.lanes);
  Value value;
  if (frame.mask) {
    Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    value = LLVM::MaskedLoadOp::create(b, loc, type, pointer, frame.mask, zeros,
                                       b.getI32IntegerAttr(alignment), UnitAttr());
  } else {
    value = LLVM::LoadOp::create(b, loc, type, pointer, alignment);
  }
  if (!element.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

void KernelEmitter::storeTo(Value pointer, Value value, Type element, Frame &frame) {
  OpBuilder &b = *frame.builder;
  if (element.isInteger(1))
    value = arith::ExtUIOp::create(b, loc, vectorOf(b.getI8Type(), frame.lanes),
                                   value);
  unsigned alignment = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  if (frame.mask)
    LLVM::MaskedStoreOp::create(b, loc, value, pointer, frame.mask, alignment);
  else
    LLVM::StoreOp::create(b, loc, value, pointer, alignment);
}

Value KernelEmitter::load(unsigned operand, Frame &frame) {
  OpBuilder &b = *frame.builder;
  const KernelBuffer &buffer = buffers[operand];
  Value pointer = pointerTo(operand, frame);
  int64_t stride = buffer.columnStride();
  if (frame.lanes == 0 || stride == 1)
    return loadFrom(pointer, buffer.element, frame);
  // Strided: one pointer a lane.
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < frame.lanes; ++lane)
    steps.push_back(lane * stride);
  auto type = VectorType::get({frame.lanes}, b.getI64Type());
  Value offsets = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
  Type memory = buffer.element.isInteger(1) ? b.getI8Type() : buffer.element;
  auto pointerVector = VectorType::get({frame.lanes}, pointer.getType());
  Value lanePointers = LLVM::GEPOp::create(b, loc, pointerVector, memory, pointer,
                                           ArrayRef<LLVM::GEPArg>{offsets});
  Value mask = frame.mask;
  if (!mask)
    mask = arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(VectorType::get({frame.lanes}, b.getI1Type()), true));
  Type loaded = vectorOf(memory, frame.lanes);
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(loaded));
  Value value = LLVM::masked_gather::create(
      b, loc, loaded, lanePointers, mask, zeros,
      b.getI32IntegerAttr(llvm::divideCeil(memory.getIntOrFloatBitWidth(), 8)));
  if (buffer.element.isInteger(1))
    value = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zeros);
  return value;
}

void KernelEmitter::store(unsigned result, Value value, Frame &frame) {
  unsigned index = body.getNumArguments() + result;
  storeTo(pointerTo(index, frame), value, buffers[index].element, frame);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Value KernelEmitter::cloneOp(Operation *op, Frame &frame) {
  OpBuilder &b = *frame.builder;
  Type element = op->getResult(0).getType();
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    if (frame.lanes == 0)
      return b.clone(*op)->getResult(0);
    auto type = VectorType::get({frame.lanes}, element);
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, Attribute(constantOp.getValue())));
  }
  if (auto index = dyn_cast<IndexOp>(op)) {
    Value at;
    if (index.getDim() + 1 < kernel.getDomain().size()) {
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
    return !isScalarHere && frame.outer && info.isRowUniform(candidate) &&
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
    Value low = vector::ExtractStridedSliceOp::create(
        b, loc, value, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{width / 2},
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
  Attribute factor = b.getFloatAttr(getElementTypeOrSelf(type),
                                    1.0 / static_cast<double>(count));
  if (auto vector = dyn_cast<VectorType>(type))
    factor = DenseElementsAttr::get(vector, factor);
  return arith::MulFOp::create(
      b, loc, value,
      arith::ConstantOp::create(b, loc, cast<TypedAttr>(factor)));
}

Value KernelEmitter::partialPointer(OpBuilder &b, const ColumnPartials &part,
                                    Value task, Value column) {
  Type element = ColumnReduceOp(part.op).getType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value at = arith::MulIOp::create(b, loc, task, constant(b, part.columns));
  if (column)
    at = arith::AddIOp::create(b, loc, at, column);
  at = arith::AddIOp::create(b, loc, at, constant(b, part.offset / bytes));
  return LLVM::GEPOp::create(b, loc, partials.getType(), element, partials,
                             ArrayRef<LLVM::GEPArg>{at});
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelEmitter::forColumns(
    OpBuilder &b, Frame &rowFrame, ValueRange init,
    function_ref<SmallVector<Value>(Frame &, ValueRange)> emitBody) {
  int64_t whole = columns / lanes * lanes;
  SmallVector<Value> carried(init);
  auto makeFrame = [&](OpBuilder &inner, Value column) {
    Frame frame;
    frame.builder = &inner;
    frame.lanes = lanes;
    frame.column = column;
    frame.outer = &rowFrame;
    return frame;
  };
  if (whole > 0) {
    auto loop = scf::ForOp::create(b, loc, constant(b, 0), constant(b, whole),
                                   constant(b, lanes), carried);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Frame frame = makeFrame(inner, loop.getInductionVar());
    SmallVector<Value> next = emitBody(frame, loop.getRegionIterArgs());
    if (!init.empty())
      scf::YieldOp::create(inner, loc, next);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  }
  if (whole < columns) {
    SmallVector<bool> exists(lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      exists[lane] = whole + lane < columns;
    Frame frame = makeFrame(b, constant(b, whole));
    frame.mask = arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()),
                               ArrayRef<bool>(exists)));
    carried = emitBody(frame, carried);
  }
  return carried;
}

void KernelEmitter::emitRowReductions(OpBuilder &b, Frame &rowFrame,
                                      unsigned level) {
  SmallVector<RowReduceOp> reductions;
  SmallVector<Value> init;
  for (auto reduce : body.getOps<RowReduceOp>()) {
    if (levels.lookup(reduce) != level || info.isAfterColumns(reduce))
      continue;
    // Of a value that is the same for the whole row: still one for each point.
    reductions.push_back(reduce);
    init.push_back(identity(b, reduce.getKind(), vectorOf(reduce.getType(), lanes)));
  }
  if (reductions.empty())
    return;
  SmallVector<Value> sums =
      forColumns(b, rowFrame, init, [&](Frame &frame, ValueRange carried) {
        SmallVector<Value> next;
        for (auto [reduce, sum] : llvm::zip_equal(reductions, carried)) {
          OpBuilder &inner = *frame.builder;
          Value value = evaluate(reduce.getValue(), frame);
          if (frame.mask)
            value = arith::SelectOp::create(
                inner, loc, frame.mask, value,
                identity(inner, reduce.getKind(), value.getType()));
          next.push_back(combine(inner, reduce.getKind(), sum, value));
        }
        return next;
      });
  for (auto [reduce, sum] : llvm::zip_equal(reductions, sums)) {
    Value value = foldLanes(b, reduce.getKind(), sum);
    if (reduce.getKind() == ReduceKind::Mean)
      value = scale(b, value, columns);
    rowFrame.values[reduce] = value;
  }
}

void KernelEmitter::emitRow(OpBuilder &b, Value row, Value task) {
  ArrayRef<int64_t> domain = kernel.getDomain();
  rowIndices.assign(domain.empty() ? 0 : domain.size() - 1, Value());
  Value rest = row;
  for (size_t i = rowIndices.size(); i-- > 0;) {
    if (i == 0) {
      rowIndices[i] = rest;
      break;
    }
    Value size = constant(b, domain[i]);
    rowIndices[i] = arith::RemUIOp::create(b, loc, rest, size);
    rest = arith::DivUIOp::create(b, loc, rest, size);
  }
  Frame rowFrame;
  rowFrame.builder = &b;
  // Scalars that the loops need are computed before them.
  auto evaluateUniform = [&](unsigned level) {
    for (Operation &op : body.without_terminator()) {
      if (isa<RowReduceOp, ColumnReduceOp>(op))
        continue;
      for (Value operand : op.getOperands())
        if (isa<BlockArgument>(operand) && info.isRowUniform(operand))
          (void)evaluate(operand, rowFrame);
      Value result = op.getResult(0);
      if (info.isRowUniform(result) && !info.isAfterColumns(result) &&
          levels.lookup(result) <= level && !isa<arith::ConstantOp>(op))
        (void)evaluate(result, rowFrame);
    }
    for (Value value : cast<YieldOp>(body.getTerminator()).getValues())
      if (isa<BlockArgument>(value) && info.isRowUniform(value))
        (void)evaluate(value, rowFrame);
    for (Operation &op : body.without_terminator())
      if (isa<RowReduceOp, ColumnReduceOp>(op))
        for (Value operand : op.getOperands())
          if (isa<BlockArgument>(operand) && info.isRowUniform(operand))
            (void)evaluate(operand, rowFrame);
  };
  evaluateUniform(0);
  for (unsigned level = 1; level <= mostLevels; ++level) {
    emitRowReductions(b, rowFrame, level);
    evaluateUniform(level);
  }

  auto yield = cast<YieldOp>(body.getTerminator());
  bool anyFull = false;
  for (Value value : yield.getValues())
    anyFull |= isFull(value);
  for (const ColumnPartials &part : info.getColumnPartials())
    anyFull |= isFull(ColumnReduceOp(part.op).getValue());
  auto accumulate = [&](const ColumnPartials &part, Frame &frame) {
    OpBuilder &inner = *frame.builder;
    ColumnReduceOp reduce = part.op;
    Value pointer = partialPointer(inner, part, task, frame.column);
    Value old = loadFrom(pointer, reduce.getType(), frame);
    Value sum = combine(inner, reduce.getKind(), old,
                        evaluate(reduce.getValue(), frame));
    storeTo(pointer, sum, reduce.getType(), frame);
  };
  if (anyFull)
    forColumns(b, rowFrame, {}, [&](Frame &frame, ValueRange) {
      // All loads of a point before its stores: a result may share its bytes
      // with an operand.
      for (Value value : yield.getValues())
        if (isFull(value))
          (void)evaluate(value, frame);
      for (const ColumnPartials &part : info.getColumnPartials())
        if (isFull(ColumnReduceOp(part.op).getValue()))
          (void)evaluate(ColumnReduceOp(part.op).getValue(), frame);
      for (const ColumnPartials &part : info.getColumnPartials())
        if (isFull(ColumnReduceOp(part.op).getValue()))
          accumulate(part, frame);
      for (auto [i, value] : llvm::enumerate(yield.getValues()))
        if (isFull(value))
          store(i, evaluate(value, frame), frame);
      return SmallVector<Value>();
    });
  for (const ColumnPartials &part : info.getColumnPartials())
    if (!isFull(ColumnReduceOp(part.op).getValue()))
      accumulate(part, rowFrame);
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (info.isRowUniform(value) && !info.isAfterColumns(value)) {
      // A value that is the same along a row may still have a full result.
      if (buffers[body.getNumArguments() + i].columnStride() == 0) {
        store(i, evaluate(value, rowFrame), rowFrame);
        continue;
      }
      forColumns(b, rowFrame, {}, [&, i = i, value = value](Frame &frame, ValueRange) {
        store(i, evaluate(value, frame), frame);
        return SmallVector<Value>();
      });
    }
}

void KernelEmitter::emitTask(OpBuilder &b, Value task) {
  for (const ColumnPartials &part : info.getColumnPartials()) {
    ColumnReduceOp reduce = part.op;
    auto loop = scf::ForOp::create(b, loc, constant(b, 0),
                                   constant(b, part.columns), constant(b, 1));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Value pointer = partialPointer(inner, part, task, loop.getInductionVar());
    LLVM::StoreOp::create(inner, loc,
                          identity(inner, reduce.getKind(), reduce.getType()),
                          pointer);
  }
  Value chunk = constant(b, kernel.getChunkRows());
  Value first = arith::MulIOp::create(b, loc, task, chunk);
  Value last = arith::MinSIOp::create(
      b, loc, arith::AddIOp::create(b, loc, first, chunk), constant(b, rows));
  auto loop = scf::ForOp::create(b, loc, first, last, constant(b, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  emitRow(inner, loop.getInductionVar(), task);
}

void KernelEmitter::emitCombine(OpBuilder &b) {
  ArrayRef<int64_t> domain = kernel.getDomain();
  // What is read here does not vary with the row: the first one will do.
  rowIndices.assign(domain.empty() ? 0 : domain.size() - 1, Value());
  Frame scalarFrame;
  scalarFrame.builder = &b;
  auto sumTasks = [&](const ColumnPartials &part, Frame &frame) {
    OpBuilder &at = *frame.builder;
    ColumnReduceOp reduce = part.op;
    Value start =
        identity(at, reduce.getKind(), vectorOf(reduce.getType(), frame.lanes));
    auto loop = scf::ForOp::create(at, loc, constant(at, 0), constant(at, tasks),
                                   constant(at, 1), ValueRange{start});
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    OpBuilder *saved = frame.builder;
    frame.builder = &inner;
    Value pointer =
        partialPointer(inner, part, loop.getInductionVar(), frame.column);
    Value value = loadFrom(pointer, reduce.getType(), frame);
    Value sum = combine(inner, reduce.getKind(), loop.getRegionIterArg(0), value);
    scf::YieldOp::create(inner, loc, sum);
    frame.builder = saved;
    Value result = loop.getResult(0);
    if (reduce.getKind() == ReduceKind::Mean)
      result = scale(at, result, rows);
    frame.values[reduce] = result;
  };
  for (const ColumnPartials &part : info.getColumnPartials())
    if (part.columns == 1 && info.isRowUniform(ColumnReduceOp(part.op).getResult()))
      sumTasks(part, scalarFrame);
  for (Operation &op : body.without_terminator())
    for (Value operand : op.getOperands())
      if (isa<BlockArgument>(operand) && info.isRowUniform(operand) &&
          info.isAfterColumns(op.getResult(0)) && !isa<ColumnReduceOp>(op))
        (void)evaluate(operand, scalarFrame);
  auto yield = cast<YieldOp>(body.getTerminator());
  bool anyColumns = false;
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (!info.isAfterColumns(value))
      continue;
    if (info.isRowUniform(value))
      store(i, evaluate(value, scalarFrame), scalarFrame);
    else
      anyColumns = true;
  }
  if (!anyColumns)
    return;
  // Scalars of this stage that vectors use, before the loop.
  for (Operation &op : body.without_terminator())
    if (info.isAfterColumns(op.getResult(0)) && info.isRowUniform(op.getResult(0)))
      (void)evaluate(op.getResult(0), scalarFrame);
  forColumns(b, scalarFrame, {}, [&](Frame &frame, ValueRange) {
    for (const ColumnPartials &part : info.getColumnPartials())
      if (!info.isRowUniform(ColumnReduceOp(part.op).getResult()))
        sumTasks(part, frame);
    SmallVector<std::pair<unsigned, Value>> stores;
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      if (info.isAfterColumns(value) && !info.isRowUniform(value))
        stores.push_back({i, evaluate(value, frame)});
    for (auto [i, value] : stores)
      store(i, value, frame);
    return SmallVector<Value>();
  });
}

void KernelEmitter::emit(OpBuilder &moduleBuilder) {
  MLIRContext *context = moduleBuilder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = moduleBuilder.getI64Type();
  auto emitFunction = [&](const Twine &name,
                          function_ref<void(OpBuilder &, Value, Value)> emitBody) {
    auto function = func::FuncOp::create(
        moduleBuilder, loc, name.str(),
        moduleBuilder.getFunctionType({pointer, i64, i64}, {}));
    Block *entry = function.addEntryBlock();
    OpBuilder b = OpBuilder::atBlockEnd(entry);
    pointers.clear();
    for (size_t i = 0; i <= buffers.size(); ++i) {
      bool isPartials = i == buffers.size();
      if (isPartials && info.getColumnPartials().empty())
        break;
      Value slot = LLVM::GEPOp::create(
          b, loc, pointer, pointer, entry->getArgument(0),
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      Value base = LLVM::LoadOp::create(b, loc, pointer, slot);
      if (isPartials)
        partials = base;
      else
        pointers.push_back(base);
    }
    emitBody(b, entry->getArgument(1), entry->getArgument(2));
    func::ReturnOp::create(b, loc);
  };
  emitFunction(kernel.getSymName(), [&](OpBuilder &b, Value begin, Value end) {
    auto loop = scf::ForOp::create(b, loc, begin, end, constant(b, 1));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    emitTask(inner, loop.getInductionVar());
  });
  if (kernel.getKind() == KernelKind::Column)
    emitFunction(kernel.getSymName() + "_combine",
                 [&](OpBuilder &b, Value, Value) { emitCombine(b); });
}
