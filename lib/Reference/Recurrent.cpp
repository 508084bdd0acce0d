//===- Recurrent.cpp - LSTM cells -------------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

static LogicalResult evaluateLSTMCell(LSTMCellOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX()), &h = frame.get(op.getH());
  const std::vector<double> &inputWeight = frame.floats(op.getWeightIh()),
                            &stateWeight = frame.floats(op.getWeightHh());
  int64_t rows = x.shape[0], in = x.shape[1], size = h.shape[1];
  auto at = [&](int64_t inputs, int64_t k, int64_t column) {
    return op.getTransposeWeights() ? column * inputs + k : k * 4 * size + column;
  };
  auto sum = [&](int64_t row, int64_t column) {
    double z = op.getBias() ? frame.floats(op.getBias())[column] : 0.0;
    for (int64_t k = 0; k < in; ++k)
      z += x.floats[row * in + k] * inputWeight[at(in, k, column)];
    for (int64_t k = 0; k < size; ++k)
      z += h.floats[row * size + k] * stateWeight[at(size, k, column)];
    return z;
  };
  std::vector<double> newH, newC, gates = frame.zeros(op.getGates());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t unit = 0; unit < size; ++unit) {
      double *gate = &gates[row * 4 * size + unit];
      for (int64_t number = 0; number < 4; ++number) {
        double z = sum(row, number * size + unit);
        gate[number * size] = number == 2 ? std::tanh(z) : sigmoid(z);
      }
      double c = gate[size] * frame.floats(op.getC())[row * size + unit] +
                 gate[0] * gate[2 * size];
      newC.push_back(c);
      newH.push_back(gate[3 * size] * std::tanh(c));
    }
  frame.set(op.getNewH(), std::move(newH));
  frame.set(op.getNewC(), std::move(newC));
  frame.set(op.getGates(), std::move(gates));
  return success();
}

void mpt::reference::addRecurrent(OpTable &table) {
  table.add<LSTMCellOp>(evaluateLSTMCell);
}
