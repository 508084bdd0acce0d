//===- LSTMCellFormula.cpp - Formula of an LSTM cell ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormulaParts.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::formulas;

namespace {
/// Columns of one or of the sum of two tensors [B, 4H].
struct Gate {
  Value first, second;
  int64_t begin;
};
} // namespace

static std::optional<Gate> getGate(Value z) {
  auto takeSlice = [&](Value value, int64_t &begin) {
    auto slice = value.getDefiningOp<SliceOp>();
    if (!slice || getRank(value) != 2 || slice.getOffsets()[0] != 0 ||
        getShape(slice.getX())[0] != getShape(value)[0] ||
        getShape(slice.getX())[1] != 4 * getShape(value)[1] ||
        llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
      return Value();
    begin = slice.getOffsets()[1];
    return Value(slice.getX());
  };
  Gate gate;
  if (Value sum = takeSlice(z, gate.begin)) {
    auto add = sum.getDefiningOp<AddOp>();
    if (!add)
      return std::nullopt;
    gate.first = add.getLhs();
    gate.second = add.getRhs();
    return gate;
  }
  auto add = z.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  int64_t begin = 0;
  gate.first = takeSlice(add.getLhs(), gate.begin);
  gate.second = takeSlice(add.getRhs(), begin);
  if (!gate.first || !gate.second || begin != gate.begin)
    return std::nullopt;
  return gate;
}

std::optional<LSTMCell> formulas::matchLSTMCell(Operation *root, NearMiss *why) {
  auto newH = dyn_cast<MulOp>(root);
  if (!newH || !isStaticFloat(newH.getResult()) || getRank(newH.getResult()) != 2)
    return std::nullopt;
  // The factors of a product, first that which `is` wants.
  auto split = [](MulOp mul, auto is) -> std::pair<Value, Value> {
    if (!mul)
      return {};
    if (is(mul.getLhs()))
      return {mul.getLhs(), mul.getRhs()};
    if (is(mul.getRhs()))
      return {mul.getRhs(), mul.getLhs()};
    return {};
  };
  auto isTanh = [](Value value) { return bool(value.getDefiningOp<TanhOp>()); };
  auto isSigmoid = [](Value value) { return bool(value.getDefiningOp<SigmoidOp>()); };
  auto argument = [](Value value) { return value.getDefiningOp()->getOperand(0); };
  auto [tanhC, sigmoidO] = split(newH, isTanh);
  if (!tanhC || !isSigmoid(sigmoidO))
    return std::nullopt;
  Value newC = argument(tanhC);
  auto sum = newC.getDefiningOp<AddOp>();
  if (!sum)
    return std::nullopt;
  auto left = sum.getLhs().getDefiningOp<MulOp>();
  auto right = sum.getRhs().getDefiningOp<MulOp>();
  auto [tanhG, sigmoidI] = split(right, isTanh);
  if (!tanhG || !isSigmoid(sigmoidI)) {
    std::swap(left, right);
    std::tie(tanhG, sigmoidI) = split(right, isTanh);
  }
  if (!left || !tanhG || !isSigmoid(sigmoidI))
    return std::nullopt;
  auto [sigmoidF, c] = split(left, isSigmoid);
  if (!sigmoidF || c.getType() != newC.getType() || newC.getType() != newH.getType())
    return std::nullopt;
  int64_t width = getShape(newC)[1];
  LSTMCell cell{nullptr, nullptr, c, newC};
  Value first, second;
  Value gates[] = {sigmoidI, sigmoidF, tanhG, sigmoidO};
  for (auto [index, gate] : llvm::enumerate(gates)) {
    std::optional<Gate> found = getGate(argument(gate));
    // Gates that others read, as gradients do, have to be computed in any case.
    if (!found || (index && (found->first != first || found->second != second)))
      return miss(why, "mpt.lstm_cell",
                  "gates are not the quarters of one sum x W + h U + bias");
    if (!gate.hasOneUse())
      return miss(why, "mpt.lstm_cell", "others read a gate");
    if (found->begin != int64_t(index) * width)
      return miss(why, "mpt.lstm_cell",
                  "gates are not in the order input, forget, cell, output");
    first = found->first;
    second = found->second;
  }
  auto isDense = [&](Operation *op) {
    auto linear = dyn_cast_or_null<LinearOp>(op);
    auto matmul = dyn_cast_or_null<MatmulOp>(op);
    if (linear && linear.getEpilogue() == Epilogue::None)
      return getRank(linear.getX()) == 2;
    return matmul && !matmul.getTransposeLhs() && getRank(matmul.getLhs()) == 2;
  };
  cell.input = first.getDefiningOp();
  cell.hidden = second.getDefiningOp();
  if (!isDense(cell.input) || !isDense(cell.hidden))
    return miss(why, "mpt.lstm_cell",
                "gates are not the quarters of one sum x W + h U + bias");
  auto getColumns = [](Operation *op) { return getShape(op->getOperand(0))[1]; };
  // The hidden state has as many columns as the cell's.
  if (getColumns(cell.hidden) != width ||
      (getColumns(cell.input) == width && isa<BlockArgument>(cell.input->getOperand(0))))
    std::swap(cell.input, cell.hidden);
  if (getColumns(cell.hidden) != width)
    return std::nullopt;
  return cell;
}
