//===- Kernels.cpp - Fused kernels, op by op --------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `mpt_kernel.kernel`, so that a graph after fusion can be held to the one before.
/// Each op of the body runs over the whole domain before the next: a scalar of
/// the body is one value per point, and what a reduction gives is repeated to
/// all the points that share it.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Reduce.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

/// For every point of `domain` the element of shape `shape` that `map` gives.
static FailureOr<std::vector<int64_t>> locate(kernel::KernelOp op, AffineMap map,
                                              ArrayRef<int64_t> domain,
                                              ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 4> own = rowMajorStrides(shape);
  SmallVector<int64_t, 4> strides(domain.size(), 0);
  int64_t offset = 0;
  if (map.getNumDims() != domain.size() || map.getNumResults() != shape.size())
    return op.emitOpError("cannot be interpreted: the map ")
           << AffineMapAttr::get(map) << " does not fit the domain";
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), own)) {
    FailureOr<SmallVector<int64_t>> coefficients =
        kernel::getLinearCoefficients(expr, map.getNumDims());
    if (failed(coefficients))
      return op.emitOpError("cannot be interpreted: expected linear maps, found ")
             << AffineMapAttr::get(map);
    for (size_t i = 0; i < domain.size(); ++i)
      strides[i] += (*coefficients)[i] * stride;
    offset += coefficients->back() * stride;
  }
  std::vector<int64_t> indices = mapIndices(domain, strides, offset);
  for (int64_t index : indices)
    if (index < 0 || index >= product(shape))
      return op.emitOpError("cannot be interpreted: the map ")
             << AffineMapAttr::get(map) << " leaves its tensor";
  return indices;
}

static LogicalResult evaluateKernel(kernel::KernelOp op, Frame &frame) {
  ArrayRef<int64_t> domain = op.getDomain();
  int64_t points = 1;
  for (int64_t size : domain)
    if (size < 0 || llvm::MulOverflow(points, size, points) || points > int64_t(1) << 31)
      return op.emitOpError("cannot be interpreted: the domain has too many points");
  Frame inside(frame.getTable(), frame.getMode(), frame.getBadIndex(), domain,
               frame.getDepth());
  Block &body = op.getBody().front();
  for (auto [input, map, argument] : llvm::zip_equal(
           op.getInputs(), op.getOperandMaps().getAsValueRange<AffineMapAttr>(),
           body.getArguments())) {
    const Tensor &tensor = frame.get(input);
    FailureOr<std::vector<int64_t>> indices = locate(op, map, domain, tensor.shape);
    if (failed(indices))
      return failure();
    inside.set(argument, pick(tensor, *indices));
  }
  if (failed(inside.runBlock(body)))
    return failure();
  for (auto [output, map, yielded] : llvm::zip_equal(
           op.getOutputs(), op.getResultMaps().getAsValueRange<AffineMapAttr>(),
           body.getTerminator()->getOperands())) {
    SmallVector<int64_t, 4> shape = frame.getShape(output);
    FailureOr<std::vector<int64_t>> indices = locate(op, map, domain, shape);
    if (failed(indices))
      return failure();
    const Tensor &value = inside.get(yielded);
    Tensor result;
    result.floats.resize(value.isFloat() ? product(shape) : 0);
    result.ints.resize(value.isFloat() ? 0 : product(shape));
    for (size_t i = 0; i < indices->size(); ++i) {
      if (value.isFloat())
        result.floats[(*indices)[i]] = value.floats[i];
      else
        result.ints[(*indices)[i]] = value.ints[i];
    }
    frame.set(output, std::move(result));
  }
  return success();
}

/// Reduces over the last dimension, or over all others, and repeats the results.
template <typename OpTy>
static void addKernelReduce(OpTable &table, bool overRows) {
  table.add<OpTy>([overRows](OpTy op, Frame &frame) {
    ArrayRef<int64_t> domain = frame.getDomain();
    int64_t width = domain.empty() ? 1 : domain.back();
    int64_t rows = domain.empty() ? 1 : product(domain.drop_back());
    std::vector<int64_t> targets(rows * width);
    for (int64_t i = 0; i < rows * width; ++i)
      targets[i] = overRows ? i % width : i / width;
    Tensor reduced = reduceTo(frame.get(op.getValue()), targets, overRows ? width : rows,
                              overRows ? rows : width, op.getKind());
    frame.set(op.getResult(), pick(reduced, targets));
    return success();
  });
}

static LogicalResult evaluateIndex(kernel::IndexOp op, Frame &frame) {
  ArrayRef<int64_t> domain = frame.getDomain();
  if (op.getDim() >= domain.size())
    return op.emitOpError("cannot be interpreted: expected a dimension in [0, ")
           << domain.size() << "), found " << op.getDim();
  SmallVector<int64_t, 4> strides(domain.size(), 0);
  strides[op.getDim()] = 1;
  frame.set(op.getResult(), mapIndices(domain, strides));
  return success();
}

void mpt::reference::addKernels(OpTable &table) {
  table.add<kernel::KernelOp>(evaluateKernel);
  addKernelReduce<kernel::RowReduceOp>(table, /*overRows=*/false);
  addKernelReduce<kernel::ColumnReduceOp>(table, /*overRows=*/true);
  table.add<kernel::IndexOp>(evaluateIndex);
}
