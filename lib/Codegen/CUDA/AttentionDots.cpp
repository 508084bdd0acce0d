//===- AttentionDots.cpp - What attention's gradients start from -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sums over rows of dy times the result, which are those of the probabilities times
/// their gradients: a warp a row.
///
//===----------------------------------------------------------------------===//

#include "AttentionCode.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

void mpt::detail::emitDots(DeviceCode &code, const AttentionShape &shape) {
  Index thread = code.globalThread(), row = thread / kWarp, lane = thread % kWarp;
  Type f32 = code.b.getF32Type();
  // Whole warps stay or leave.
  code.ifThen(code.isLess(row, shape.batch * shape.queries), [&] {
    Value sum = code.constant(f32, 0);
    for (int64_t i = 0; i < shape.width; i += kWarp) {
      Index column = smaller(lane + i, shape.width - 1);
      Value x =
          code.loadNumber(code.parameter(0), shape.type, row * shape.width + column);
      Value y =
          code.loadNumber(code.parameter(1), shape.type, row * shape.width + column);
      Value product = arith::MulFOp::create(code.b, code.loc, x, y);
      if (i + kWarp > shape.width)
        product =
            arith::SelectOp::create(code.b, code.loc, code.isLess(lane + i, shape.width),
                                    product, code.constant(f32, 0));
      sum = arith::AddFOp::create(code.b, code.loc, sum, product);
    }
    for (int64_t distance = kWarp / 2; distance > 0; distance /= 2)
      sum = arith::AddFOp::create(code.b, code.loc, sum, code.exchange(sum, distance));
    code.ifThen(code.isEqual(lane, 0),
                [&] { code.store(sum, code.parameter(2), f32, row); });
  });
}
