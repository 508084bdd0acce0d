//===- AttentionBiasEmitter.cpp - What cuDNN's attention adds -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBiasEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// What is added where nothing is seen, and least elsewhere.
static constexpr double kHidden = -2e38, kLeast = -1e38;

static constexpr double kInf = std::numeric_limits<double>::infinity();

SmallVector<int64_t, 4> mpt::detail::getAddedSizes(const AttentionShape &shape) {
  SmallVector<int64_t, 4> sizes(4, 1);
  const int64_t all[] = {shape.batch / shape.heads, shape.heads, shape.queries,
                         shape.keys};
  for (ArrayRef<int64_t> strides :
       {ArrayRef<int64_t>(shape.maskStrides), ArrayRef<int64_t>(shape.biasStrides)})
    for (auto [size, stride, most] : llvm::zip(sizes, strides, all))
      if (stride != 0)
        size = most;
  return sizes;
}

static int64_t countOf(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

void mpt::detail::emitAddedBias(GPUFunctionBuilder &code, const AttentionShape &shape,
                                bool ofGradient) {
  OpBuilder &b = code.b;
  Location loc = code.loc;
  Type f32 = b.getF32Type();
  const SmallVector<int64_t, 4> sizes = getAddedSizes(shape);
  Index at = code.globalThread();
  unsigned next = 0;
  Value mask = shape.hasMask() ? code.parameter(next++) : Value();
  Value bias = shape.hasBias() ? code.parameter(next++) : Value();
  Value sums = ofGradient ? code.parameter(next++) : Value();
  code.ifThen(code.isLess(at, countOf(sizes)), [&] {
    Index rest = at, maskAt(0), biasAt(0);
    for (int i = 3; i >= 0; --i) {
      Index coordinate = i == 0 ? rest : rest % sizes[i];
      rest = rest / sizes[i];
      if (mask)
        maskAt = maskAt + coordinate * shape.maskStrides[i];
      if (bias)
        biasAt = biasAt + coordinate * shape.biasStrides[i];
    }
    Value added = code.constant(f32, 0);
    if (bias) {
      Value given = code.loadNumber(bias, shape.biasType, biasAt);
      Value isHidden = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, given,
                                             code.constant(f32, -kInf));
      // A NaN stays one.
      Value isLow = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, given,
                                          code.constant(f32, kLeast));
      Value kept =
          arith::SelectOp::create(b, loc, isLow, code.constant(f32, kLeast), given);
      added =
          arith::SelectOp::create(b, loc, isHidden, code.constant(f32, kHidden), kept);
    }
    if (mask) {
      Value bit = code.load(mask, b.getI1Type(), maskAt);
      Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(bit.getType()));
      Value isSeen = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, zero);
      added = arith::SelectOp::create(b, loc, isSeen, added, code.constant(f32, kHidden));
    }
    code.store(added, code.parameter(next), f32, at);
  });
  if (!ofGradient)
    return;
  code.ifThen(code.isLess(at, shape.batch * shape.queries), [&] {
    Value sum = code.load(sums, f32, at);
    Value isHidden = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum,
                                           code.constant(f32, -kInf));
    sum = arith::SelectOp::create(b, loc, isHidden, code.constant(f32, kInf), sum);
    code.store(sum, code.parameter(next + 1), f32, at);
  });
}

void mpt::detail::emitHiddenRows(GPUFunctionBuilder &code, const AttentionShape &shape) {
  OpBuilder &b = code.b;
  Index thread = code.globalThread(), row = thread / kWarp, lane = thread % kWarp;
  Type f32 = b.getF32Type();
  code.ifThen(code.isLess(row, shape.batch * shape.queries), [&] {
    Value sum = code.load(code.parameter(1), f32, row);
    Value isHidden = arith::CmpFOp::create(b, code.loc, arith::CmpFPredicate::OLT, sum,
                                           code.constant(f32, (kHidden + kLeast) / 2));
    code.ifThen(isHidden, [&] {
      Index batch = row / shape.queries, query = row % shape.queries;
      Index first = batch / shape.heads * shape.result.batch +
                    batch % shape.heads * shape.result.head + query * shape.result.row;
      for (int64_t i = 0; i < shape.valueWidth; i += kWarp)
        code.ifThen(code.isLess(lane + i, shape.valueWidth), [&] {
          code.storeNumber(code.constant(f32, 0), code.parameter(0), shape.type,
                           first + lane + i);
        });
      code.ifThen(code.isEqual(lane, 0), [&] {
        code.store(code.constant(f32, -kInf), code.parameter(1), f32, row);
      });
    });
  });
}

void mpt::detail::emitWidenedBias(GPUFunctionBuilder &code, const AttentionShape &shape) {
  Index at = code.globalThread();
  code.ifThen(code.isLess(at, countOf(shape.biasSizes)), [&] {
    Value gradient = code.loadNumber(code.parameter(0), shape.type, at);
    code.storeNumber(gradient, code.parameter(1), shape.biasType, at);
  });
}
