//===- Linalg.cpp - Matmuls ------------------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

/// out [rows, columns] += lhs [rows, inner] rhs [inner, columns], each operand
/// read with its own strides.
static void multiply(double *out, const double *lhs, const double *rhs, int64_t rows,
                     int64_t columns, int64_t inner,
                     std::pair<int64_t, int64_t> lhsStrides,
                     std::pair<int64_t, int64_t> rhsStrides) {
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t k = 0; k < inner; ++k) {
      double a = lhs[m * lhsStrides.first + k * lhsStrides.second];
      const double *row = rhs + k * rhsStrides.first;
      for (int64_t n = 0; n < columns; ++n)
        out[m * columns + n] += a * row[n * rhsStrides.second];
    }
}

/// The strides of a matrix [rows, columns] that is stored as it is or transposed.
static std::pair<int64_t, int64_t> matrixStrides(int64_t rows, int64_t columns,
                                                 bool isTransposed) {
  return isTransposed ? std::pair<int64_t, int64_t>(1, rows)
                      : std::pair<int64_t, int64_t>(columns, 1);
}

static LogicalResult evaluateMatmul(MatmulOp op, Frame &frame) {
  const Tensor &lhs = frame.get(op.getLhs()), &rhs = frame.get(op.getRhs());
  SmallVector<int64_t, 4> shape = frame.getShape(op.getResult());
  ArrayRef<int64_t> dims(shape);
  int64_t batch = product(dims.drop_back(2));
  int64_t rows = dims[dims.size() - 2], columns = dims.back();
  ArrayRef<int64_t> lhsMatrix = ArrayRef<int64_t>(lhs.shape).take_back(2);
  int64_t inner = op.getTransposeLhs() ? lhsMatrix[0] : lhsMatrix[1];
  bool shared = rhs.shape.size() == 2;

  auto lhsStrides = matrixStrides(rows, inner, op.getTransposeLhs());
  auto rhsStrides = matrixStrides(inner, columns, op.getTransposeRhs());
  std::vector<double> result = frame.zeros(op.getResult());
  for (int64_t b = 0; b < batch; ++b)
    multiply(result.data() + b * rows * columns, lhs.floats.data() + b * rows * inner,
             rhs.floats.data() + (shared ? 0 : b * inner * columns), rows, columns, inner,
             lhsStrides, rhsStrides);
  frame.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateLinear(LinearOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX()), &weight = frame.get(op.getWeight());
  int64_t in = weight.shape[0], out = weight.shape[1];
  if (op.getTransposeWeight())
    std::swap(in, out);
  int64_t rows = product(ArrayRef<int64_t>(x.shape).drop_back());
  std::vector<double> result = frame.zeros(op.getResult());
  multiply(result.data(), x.floats.data(), weight.floats.data(), rows, out, in,
           matrixStrides(rows, in, false),
           matrixStrides(in, out, op.getTransposeWeight()));
  for (size_t i = 0; i < result.size(); ++i) {
    if (op.getBias())
      result[i] += frame.floats(op.getBias())[i % out];
    result[i] = applyEpilogue(result[i], op.getEpilogue());
  }
  frame.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateGemm(GemmOp op, Frame &frame) {
  if (op.getEpilogue() == Epilogue::Relu)
    return op.emitOpError("cannot be interpreted with a ReLU, whose saved bits have an "
                          "order that is private to cuBLASLt; interpret the step before "
                          "--mpt-fuse-gemm-epilogues");
  const Tensor &lhs = frame.get(op.getLhs()), &rhs = frame.get(op.getRhs());
  SmallVector<int64_t, 4> shape = frame.getShape(op.getResult());
  int64_t rows = shape[0], columns = shape[1];
  int64_t inner = lhs.shape[op.getTransposeLhs() ? 0 : 1];
  auto lhsStrides = matrixStrides(rows, inner, op.getTransposeLhs());
  auto rhsStrides = matrixStrides(inner, columns, op.getTransposeRhs());
  std::vector<double> result = frame.zeros(op.getResult());
  if (!op.getLhsScales())
    multiply(result.data(), lhs.floats.data(), rhs.floats.data(), rows, columns, inner,
             lhsStrides, rhsStrides);
  else if (failed(multiplyScaled(op, frame, result)))
    return failure();
  for (size_t i = 0; i < result.size(); ++i) {
    if (op.getBias())
      result[i] += frame.floats(op.getBias())[i % columns];
    if (op.getAddend())
      result[i] += frame.floats(op.getAddend())[i];
  }
  if (op.getSaved()) {
    frame.set(op.getSaved(), result);
    for (double &element : result)
      element = applyEpilogue(element, op.getEpilogue());
  }
  if (op.getAux())
    for (auto [element, x] : llvm::zip_equal(result, frame.floats(op.getAux())))
      element *= geluSlope(x, GeluApproximation::Tanh);
  if (op.getBiasGrad()) {
    std::vector<double> sums = frame.zeros(op.getBiasGrad());
    bool sumsRhs = op.getEpilogue() == Epilogue::None;
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t i = 0, e = sumsRhs ? inner : rows; i < e; ++i)
        sums[n] += sumsRhs ? rhs.floats[i * rhsStrides.first + n * rhsStrides.second]
                           : result[i * columns + n];
    frame.set(op.getBiasGrad(), std::move(sums));
  }
  frame.set(op.getResult(), std::move(result));
  return success();
}

void mpt::reference::addLinalg(OpTable &table) {
  table.add<MatmulOp>(evaluateMatmul);
  table.add<LinearOp>(evaluateLinear);
  table.add<GemmOp>(evaluateGemm);
}
