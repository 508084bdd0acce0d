//===- CudnnAttention.cpp - Attention as a graph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The graphs that NVIDIA's cudnn-frontend makes of scaled dot-product attention and of
/// its gradient, operation by operation: cuDNN's engines for attention know these.
///
//===----------------------------------------------------------------------===//

#include "CudnnGraph.h"

#include <limits>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

using A = CudnnAttribute;

CudnnDesc CudnnGraph::add(CudnnKind kind, std::initializer_list<Field> fields) {
  CudnnDesc made = makeDescriptor(kind);
  if (status)
    return nullptr;
  CudnnSetter setter(context.api, made);
  for (const Field &field : fields) {
    if (field.type == CudnnType::Int64)
      setter.number(field.attribute, field.number);
    else if (field.type != CudnnType::Descriptor)
      setter.code(field.attribute, field.type, static_cast<int>(field.number));
    else if (field.desc)
      setter.descriptor(field.attribute, field.desc);
  }
  finish(setter, "an operation");
  return made;
}

void CudnnGraph::addPointwise(int mode, CudnnDesc x, CudnnDesc b, CudnnDesc y,
                              CudnnDesc t, int64_t axis) {
  const Field type(A::PointwiseType, CudnnType::DataType,
                   mode == kDnnNotBelow ? kDnnBoolean
                   : mode == kDnnIndex  ? kDnnInt32
                                        : kDnnFloat);
  const Field itsMode(A::PointwiseMode, CudnnType::PointwiseMode, mode);
  CudnnDesc pointwise =
      mode == kDnnIndex ? add(CudnnKind::Pointwise,
                              {itsMode, type, {A::PointwiseAxis, CudnnType::Int64, axis}})
                        : add(CudnnKind::Pointwise, {itsMode, type});
  operations.push_back(
      add(CudnnKind::PointwiseOperation, {{A::PointwiseDescription, pointwise},
                                          {A::PointwiseX, x},
                                          {A::PointwiseB, b},
                                          {A::PointwiseT, t},
                                          {A::PointwiseY, y}}));
}

void CudnnGraph::addMatmul(CudnnDesc a, CudnnDesc b, CudnnDesc c) {
  CudnnDesc matmul =
      add(CudnnKind::Matmul, {{A::MatmulType, CudnnType::DataType, kDnnFloat}});
  operations.push_back(add(CudnnKind::MatmulOperation, {{A::MatmulA, a},
                                                        {A::MatmulB, b},
                                                        {A::MatmulC, c},
                                                        {A::MatmulDescription, matmul}}));
}

void CudnnGraph::addReduction(int op, CudnnDesc x, CudnnDesc y) {
  CudnnDesc reduction = add(CudnnKind::Reduction,
                            {{A::ReductionType, CudnnType::DataType, kDnnFloat},
                             {A::ReductionOperator, CudnnType::ReductionOperator, op}});
  operations.push_back(add(
      CudnnKind::ReductionOperation,
      {{A::ReductionDescription, reduction}, {A::ReductionX, x}, {A::ReductionY, y}}));
}

void CudnnGraph::addReshape(CudnnDesc x, CudnnDesc y) {
  operations.push_back(
      add(CudnnKind::ReshapeOperation, {{A::ReshapeX, x}, {A::ReshapeY, y}}));
}

void CudnnGraph::makeAttention(const CudnnAttentionPlan &plan) {
  const int64_t batch = plan.batch, heads = plan.heads, queries = plan.queries,
                keys = plan.keys, width = plan.width;
  // `number` is that of its strides.
  auto buffer = [&](int number, int64_t itsHeads, int64_t rows,
                    bool isTransposed) __attribute__((noinline)) {
    const auto &s = plan.strides[number];
    CudnnTensor tensor = {
        plan.type, {batch, itsHeads, rows, width}, {s.batch, s.head, s.row, 1}};
    if (isTransposed) {
      std::swap(tensor.dims[2], tensor.dims[3]);
      std::swap(tensor.strides[2], tensor.strides[3]);
    }
    return addTensor(tensor, CudnnPlace::Buffer, plan.numberOf(number));
  };
  auto packed = [&](DataType type, int64_t rows, int64_t columns) {
    return CudnnTensor{type,
                       {batch, heads, rows, columns},
                       {heads * rows * columns, rows * columns, columns, 1}};
  };
  // Called often: not a copy in each place.
  auto inside = [&](DataType type, int64_t rows, int64_t columns)
                    __attribute__((noinline)) {
                      return addTensor(packed(type, rows, columns), CudnnPlace::Nowhere);
                    };
  auto scores = [&](DataType type = DataType::F32) {
    return inside(type, queries, keys);
  };
  auto number = [&](int i, float value) {
    numbers[i] = value;
    return addTensor({DataType::F32, {1, 1, 1, 1}, {1, 1, 1, 1}}, CudnnPlace::Number,
                     -1 - i);
  };
  auto pointwise = [&](int mode, CudnnDesc x, CudnnDesc b, CudnnDesc t = nullptr) {
    CudnnDesc y = scores();
    addPointwise(mode, x, b, y, t);
    return y;
  };
  /// Minus infinity where the key comes after the query.
  auto mask = [&](CudnnDesc x) {
    if (!plan.causal)
      return x;
    CudnnDesc row = scores(DataType::I32), column = scores(DataType::I32),
              isSeen = scores(DataType::I1);
    addPointwise(kDnnIndex, x, nullptr, row, nullptr, 2);
    addPointwise(kDnnIndex, x, nullptr, column, nullptr, 3);
    addPointwise(kDnnNotBelow, row, column, isSeen);
    return pointwise(kDnnSelect, x, number(2, -std::numeric_limits<float>::infinity()),
                     isSeen);
  };
  const int first = plan.isGrad ? 1 : 0;
  CudnnDesc scale = number(0, static_cast<float>(plan.scale));
  CudnnDesc query = buffer(first, heads, queries, false);
  CudnnDesc keyT = buffer(first + 1, plan.groups, keys, true);
  CudnnDesc sums =
      addTensor(packed(DataType::F32, queries, 1), CudnnPlace::Buffer, plan.sumsNumber());
  auto biasLike = [&](DataType type, int itsNumber) {
    const auto &d = plan.biasSizes;
    return addTensor(
        {type, {d[0], d[1], d[2], d[3]}, {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1}},
        CudnnPlace::Buffer, itsNumber);
  };
  auto scaledScores = [&] {
    CudnnDesc raw = scores();
    addMatmul(query, keyT, raw);
    CudnnDesc scaled = pointwise(kDnnMultiply, raw, scale);
    return plan.hasBias
               ? pointwise(kDnnPlus, scaled, biasLike(DataType::F32, plan.biasNumber()))
               : scaled;
  };
  if (!plan.isGrad) {
    CudnnDesc value = buffer(2, plan.groups, keys, false),
              result = buffer(3, heads, queries, false);
    CudnnDesc seen = mask(scaledScores());
    CudnnDesc most = inside(DataType::F32, queries, 1),
              sum = inside(DataType::F32, queries, 1),
              log = inside(DataType::F32, queries, 1);
    addReduction(kDnnMax, seen, most);
    CudnnDesc powers = pointwise(kDnnExp, pointwise(kDnnSubtract, seen, most), nullptr);
    addReduction(kDnnAdd, powers, sum);
    addPointwise(kDnnLog, sum, nullptr, log);
    addPointwise(kDnnPlus, most, log, sums);
    CudnnDesc p = scores(plan.type);
    addPointwise(kDnnDivide, powers, sum, p);
    addMatmul(p, value, result);
    return;
  }
  CudnnDesc dy = buffer(0, heads, queries, false),
            valueT = buffer(3, plan.groups, keys, true),
            result = buffer(4, heads, queries, false),
            dquery = buffer(5, heads, queries, false),
            dkey = buffer(6, plan.groups, keys, false),
            dvalue = buffer(7, plan.groups, keys, false);
  // The workspace of the call.
  CudnnDesc dots = addTensor(packed(DataType::F32, queries, 1), CudnnPlace::Buffer,
                             plan.lastNumber() + 1);
  CudnnDesc products = inside(DataType::F32, queries, width),
            sum = inside(DataType::F32, queries, 1);
  addPointwise(kDnnMultiply, dy, result, products);
  addReduction(kDnnAdd, products, sum);
  // What dropout would divide by.
  addPointwise(kDnnMultiply, sum, number(1, 1), dots);
  CudnnDesc p =
      pointwise(kDnnExp, mask(pointwise(kDnnSubtract, scaledScores(), sums)), nullptr);
  /// x^T y for x [queries, keys] and y [queries, width]: of a head of keys, the sum over
  /// its heads of queries.
  auto multiplyTransposed = [&](CudnnDesc x, CudnnDesc y, CudnnDesc into) {
    CudnnTensor tensor = packed(plan.type, queries, keys);
    std::swap(tensor.dims[2], tensor.dims[3]);
    std::swap(tensor.strides[2], tensor.strides[3]);
    CudnnDesc transposed = addTensor(tensor, CudnnPlace::Nowhere);
    addReshape(x, transposed);
    if (plan.groups == heads)
      return addMatmul(transposed, y, into);
    CudnnDesc each = inside(plan.type, keys, width);
    addMatmul(transposed, y, each);
    addReduction(kDnnAdd, each, into);
  };
  multiplyTransposed(p, dy, dvalue);
  CudnnDesc dp = scores();
  addMatmul(dy, valueT, dp);
  CudnnDesc unscaled = pointwise(kDnnMultiply, pointwise(kDnnSubtract, dp, dots), p);
  if (plan.hasBiasGrad)
    addReduction(kDnnAdd, unscaled, biasLike(plan.type, plan.lastNumber()));
  CudnnDesc slopes = pointwise(kDnnMultiply, unscaled, scale);
  multiplyTransposed(slopes, query, dkey);
  const auto &s = plan.strides[2];
  CudnnDesc key = addTensor(
      {DataType::F32, {batch, plan.groups, keys, width}, {s.batch, s.head, s.row, 1}},
      CudnnPlace::Nowhere);
  addReshape(keyT, key);
  addMatmul(slopes, key, dquery);
}

Status CudnnGraph::create(const CudnnAttentionPlan &plan, const char *&what,
                          int64_t scoreBytes) {
  const CudnnAttentionParts parts = cutCudnnPlan(plan, scoreBytes);
  makeAttention(parts.plan);
  for (auto [entry, head] : parts.begins) {
    offsets.emplace_back();
    for (int buffer : buffers)
      offsets.back().push_back(buffer < 0 ? 0 : plan.offsetOf(buffer, entry, head));
  }
  return makeGraph(/*isExact=*/false, parts.workspaceBytes, what);
}
