//===- DecomposeLSTM.cpp - LSTM cells as matmuls and gates ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Both matmuls in f32, then the gates, which fuse into one kernel.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

LogicalResult decomposeLSTMCell(LSTMCellOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  auto state = DecomposeBuilder::typeOf(op.getNewH());
  auto wide = DecomposeBuilder::typeOf(op.getGates()).clone(b.element);
  TypeAttr acc = op.getAccTypeAttr();
  Value input =
      LinearOp::create(rewriter, op.getLoc(), wide, op.getX(), op.getWeightIh(),
                       op.getBias(), Epilogue::None, acc, op.getTransposeWeights());
  Value recurrent =
      MatmulOp::create(rewriter, op.getLoc(), wide, op.getH(), op.getWeightHh(),
                       /*transpose_lhs=*/false, op.getTransposeWeights(), acc);
  Value z = b.add(input, recurrent);
  auto gate = [&](int64_t number) -> Value {
    return SliceOp::create(rewriter, op.getLoc(), z,
                           ArrayRef<int64_t>{0, number * state.getDimSize(1)},
                           state.getShape(), ArrayRef<int64_t>{1, 1});
  };
  Value i = b.sigmoid(gate(0)), f = b.sigmoid(gate(1)), g = b.tanh(gate(2)),
        o = b.sigmoid(gate(3));
  Value c = b.add(b.mul(f, op.getC()), b.mul(i, g));
  Value h = b.mul(o, b.tanh(c));
  Value gates =
      ConcatOp::create(rewriter, op.getLoc(), ValueRange{i, f, g, o}, uint64_t(1));
  rewriter.replaceOp(op, {b.round(h, op.getNewH().getType()),
                          b.round(c, op.getNewC().getType()),
                          b.round(gates, op.getGates().getType())});
  return success();
}

} // namespace

void mpt::populateDecomposeLSTMPatterns(RewritePatternSet &patterns) {
  addPatterns(patterns, decomposeLSTMCell);
}
