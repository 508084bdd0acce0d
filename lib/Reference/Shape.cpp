//===- Shape.cpp - Constants, casts and ops that move elements --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Also the ops that return their operands, and checkpoint regions.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

static LogicalResult evaluateConstant(ConstantOp op, Frame &frame) {
  ElementsAttr value = op.getValue();
  if (isa<FloatType>(value.getElementType())) {
    if (auto numbers = value.tryGetValues<llvm::APFloat>()) {
      std::vector<double> elements;
      for (llvm::APFloat number : *numbers)
        elements.push_back(number.convertToDouble());
      frame.set(op.getResult(), std::move(elements));
      return success();
    }
  } else if (auto numbers = value.tryGetValues<llvm::APInt>()) {
    std::vector<int64_t> elements;
    for (llvm::APInt number : *numbers)
      elements.push_back(number.getSExtValue());
    frame.set(op.getResult(), std::move(elements));
    return success();
  }
  return op.emitOpError("cannot be interpreted: expected a dense or sparse "
                        "elements attribute, found ")
         << value;
}

static LogicalResult evaluateIota(IotaOp op, Frame &frame) {
  SmallVector<int64_t, 4> shape = frame.getShape(op.getResult());
  SmallVector<int64_t, 4> strides(shape.size(), 0);
  strides[op.getAxis()] = 1;
  std::vector<int64_t> indices = mapIndices(shape, strides);
  Tensor result;
  result.floats.assign(indices.begin(), indices.end());
  result.ints = std::move(indices);
  frame.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateCast(CastOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  Type to = getElementTypeOrSelf(op.getType());
  Tensor y;
  if (auto width = dyn_cast<IntegerType>(to)) {
    // To i1: whether the number is not zero. Else set() wraps integers.
    bool toBool = width.getWidth() == 1;
    for (double value : x.floats)
      y.ints.push_back(toBool ? value != 0.0 : truncateToInt(value, width.getWidth()));
    for (int64_t value : x.ints)
      y.ints.push_back(toBool ? value != 0 : value);
  } else if (x.isFloat()) {
    y.floats = x.floats;
  } else {
    // Not by way of double, which would round an i64 twice.
    for (int64_t value : x.ints) {
      llvm::APFloat number(frame.getMode() == Mode::Float64
                               ? llvm::APFloat::IEEEdouble()
                               : cast<FloatType>(to).getFloatSemantics());
      number.convertFromAPInt(llvm::APInt(64, value, true), true,
                              llvm::APFloat::rmNearestTiesToEven);
      y.floats.push_back(number.convertToDouble());
    }
  }
  frame.set(op.getY(), std::move(y));
  return success();
}

static LogicalResult evaluateTranspose(TransposeOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  SmallVector<int64_t, 4> own = rowMajorStrides(x.shape), strides;
  for (int64_t dim : op.getPermutation())
    strides.push_back(own[dim]);
  frame.set(op.getY(), pick(x, mapIndices(frame.getShape(op.getY()), strides)));
  return success();
}

static LogicalResult evaluateBroadcast(BroadcastOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  frame.set(op.getY(), pick(x, broadcastIndices(x.shape, frame.getShape(op.getY()))));
  return success();
}

static LogicalResult evaluateSlice(SliceOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  SmallVector<int64_t, 4> strides = rowMajorStrides(x.shape);
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    offset += op.getOffsets()[i] * strides[i];
    strides[i] *= op.getStrides()[i];
  }
  frame.set(op.getY(), pick(x, mapIndices(frame.getShape(op.getY()), strides, offset)));
  return success();
}

/// Copies the elements of `from` to positions `indices` of `to`.
static void place(const Tensor &from, ArrayRef<int64_t> indices, Tensor &to) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (from.isFloat())
      to.floats[indices[i]] = from.floats[i];
    else
      to.ints[indices[i]] = from.ints[i];
  }
}

static LogicalResult evaluateConcat(ConcatOp op, Frame &frame) {
  SmallVector<int64_t, 4> shape = frame.getShape(op.getY());
  SmallVector<int64_t, 4> strides = rowMajorStrides(shape);
  Tensor y;
  y.floats.resize(product(shape));
  y.ints.resize(product(shape));
  int64_t position = 0;
  for (Value input : op.getInputs()) {
    const Tensor &x = frame.get(input);
    place(x, mapIndices(x.shape, strides, position * strides[op.getAxis()]), y);
    position += x.shape[op.getAxis()];
  }
  frame.set(op.getY(), std::move(y));
  return success();
}

static LogicalResult evaluatePad(PadOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  double value = op.getValue().convertToDouble();
  SmallVector<int64_t, 4> shape = frame.getShape(op.getY());
  SmallVector<int64_t, 4> strides = rowMajorStrides(shape);
  Tensor y;
  y.floats.assign(product(shape), value);
  y.ints.assign(product(shape), truncateToInt(value, 64));
  int64_t offset = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    offset += op.getLow()[i] * strides[i];
    if (op.getInterior())
      strides[i] *= 1 + (*op.getInterior())[i];
  }
  place(x, mapIndices(x.shape, strides, offset), y);
  frame.set(op.getY(), std::move(y));
  return success();
}

/// Emits an error unless every index is in [0, size) or `ignored`.
static LogicalResult checkIndices(Operation *op, Frame &frame, ArrayRef<int64_t> indices,
                                  int64_t size, std::optional<int64_t> ignored = {}) {
  for (auto [position, index] : llvm::enumerate(indices))
    if (index != ignored && !frame.checkIndex(index, size, position))
      return op->emitOpError("expected indices in [0, ")
             << size << "), found " << index << "; check the data";
  return success();
}

static LogicalResult evaluateGather(GatherOp op, Frame &frame) {
  const Tensor &table = frame.get(op.getTable());
  const std::vector<int64_t> &rows = frame.ints(op.getIndices());
  if (failed(checkIndices(op, frame, rows, table.shape.front())))
    return failure();
  int64_t width = product(ArrayRef<int64_t>(table.shape).drop_front());
  std::vector<int64_t> indices;
  for (int64_t row : rows)
    for (int64_t i = 0; i < width; ++i)
      indices.push_back(row * width + i);
  frame.set(op.getY(), pick(table, indices));
  return success();
}

static LogicalResult evaluateCheckIndices(CheckIndicesOp op, Frame &frame) {
  std::vector<int64_t> indices = frame.ints(op.getIndices());
  if (failed(checkIndices(op, frame, indices, op.getSize(), op.getIgnoreIndex())))
    return failure();
  frame.set(op.getChecked(), std::move(indices));
  return success();
}

/// Rows combined with those of the table that `indices` name.
template <typename Op, typename Combine>
static LogicalResult evaluateScatter(Op op, Frame &frame, Combine combine) {
  const std::vector<int64_t> &rows = frame.ints(op.getIndices());
  const std::vector<double> &updates = frame.floats(op.getUpdates());
  SmallVector<int64_t, 4> shape = frame.getShape(op.getTable());
  if (failed(checkIndices(op, frame, rows, shape.front())))
    return failure();
  int64_t width = product(ArrayRef<int64_t>(shape).drop_front());
  std::vector<double> table =
      op.getInit() ? frame.floats(op.getInit()) : frame.zeros(op.getTable());
  for (size_t r = 0; r < rows.size(); ++r)
    for (int64_t i = 0; i < width; ++i)
      table[rows[r] * width + i] =
          combine(table[rows[r] * width + i], updates[r * width + i]);
  frame.set(op.getTable(), std::move(table));
  return success();
}

static LogicalResult evaluateScatterReduce(ScatterReduceOp op, Frame &frame) {
  return evaluateScatter(op, frame, [&](double x, double y) {
    if (op.getKind() == ReduceKind::Prod)
      return x * y;
    if (std::isnan(x) || std::isnan(y))
      return std::numeric_limits<double>::quiet_NaN();
    return op.getKind() == ReduceKind::Max ? std::max(x, y) : std::min(x, y);
  });
}

/// Results are the operands, rounded to the results' types.
template <typename OpTy>
static void addIdentity(OpTable &table) {
  table.add<OpTy>([](OpTy op, Frame &frame) {
    for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
      Tensor copy = frame.get(operand);
      frame.set(result, std::move(copy));
    }
    return success();
  });
}

static LogicalResult evaluateCheckpoint(CheckpointOp op, Frame &frame) {
  Block &body = op.getBody().front();
  if (failed(frame.runBlock(body)))
    return failure();
  for (auto [operand, result] :
       llvm::zip_equal(body.getTerminator()->getOperands(), op.getOutputs())) {
    Tensor copy = frame.get(operand);
    frame.set(result, std::move(copy));
  }
  return success();
}

static LogicalResult evaluateScan(ScanOp op, Frame &frame) {
  Block &body = op.getBlock();
  const int64_t count = op.getTripCount();
  const unsigned carried = op.getNumCarried();
  ValueRange yielded = op.getYield().getValues();
  std::vector<Tensor> now;
  for (Value init : op.getInits())
    now.push_back(frame.get(init));
  std::vector<Tensor> stacked(op.getNumResults() - carried);
  for (auto [tensor, result] :
       llvm::zip_equal(stacked, op.getResults().drop_front(carried))) {
    tensor.elementType = cast<RankedTensorType>(result.getType()).getElementType();
    if (tensor.isFloat())
      tensor.floats.resize(frame.getSize(result));
    else
      tensor.ints.resize(frame.getSize(result));
  }
  frame.keepForRuns(body, count);
  for (int64_t i = 0; i < count; ++i) {
    if (op.getConditional() && !now.front().ints.front())
      break;
    const int64_t index = op.getIndex(i);
    for (unsigned k = 0; k < carried; ++k)
      frame.set(body.getArgument(k), std::move(now[k]));
    for (auto [argument, input] :
         llvm::zip_equal(body.getArguments().drop_front(carried), op.getInputs())) {
      const int64_t size = frame.getSize(argument);
      auto elements = llvm::to_vector(llvm::seq(index * size, (index + 1) * size));
      frame.set(argument, pick(frame.get(input), elements));
    }
    if (failed(frame.runBlock(body)))
      return failure();
    for (unsigned k = 0; k < carried; ++k)
      now[k] = frame.get(yielded[k]);
    for (auto [tensor, value] : llvm::zip_equal(stacked, yielded.drop_front(carried))) {
      const Tensor &slice = frame.get(value);
      const int64_t begin = index * frame.getSize(value);
      llvm::copy(slice.floats, tensor.floats.begin() + (tensor.isFloat() ? begin : 0));
      llvm::copy(slice.ints, tensor.ints.begin() + (tensor.isFloat() ? 0 : begin));
    }
  }
  for (auto [result, tensor] :
       llvm::zip_equal(op.getResults(), llvm::concat<Tensor>(now, stacked)))
    frame.set(result, std::move(tensor));
  return success();
}

void mpt::reference::addShape(OpTable &table) {
  table.add<ConstantOp>(evaluateConstant);
  table.add<IotaOp>(evaluateIota);
  table.add<CastOp>(evaluateCast);
  addIdentity<ReshapeOp>(table);
  table.add<TransposeOp>(evaluateTranspose);
  table.add<BroadcastOp>(evaluateBroadcast);
  table.add<SliceOp>(evaluateSlice);
  table.add<ConcatOp>(evaluateConcat);
  table.add<PadOp>(evaluatePad);
  table.add<GatherOp>(evaluateGather);
  table.add<CheckIndicesOp>(evaluateCheckIndices);
  table.add<ScatterAddOp>([](ScatterAddOp op, Frame &frame) {
    return evaluateScatter(op, frame, std::plus<double>());
  });
  table.add<ScatterReduceOp>(evaluateScatterReduce);
  addIdentity<StopGradientOp>(table);
  addIdentity<GradientsOp>(table);
  addIdentity<BarrierOp>(table);
  table.add<CheckpointOp>(evaluateCheckpoint);
  table.add<ScanOp>(evaluateScan);
}
