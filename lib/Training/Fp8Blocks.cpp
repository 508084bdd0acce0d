//===- Fp8Blocks.cpp - Matmuls of 8-bit floats scaled by blocks -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fp8Blocks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// Rewrites one function after a plan.
class BlockRewriter {
public:
  BlockRewriter(func::FuncOp function, const Fp8BlockPlan &plan,
                const Fp8BlockScales &scales)
      : plan(plan), scales(scales), context(function.getContext()),
        f32(Float32Type::get(context)), made(plan.tensors.size()) {}

  void run() {
    for (const Fp8BlockMatmul &planned : plan.matmuls)
      rewrite(planned);
  }

private:
  struct Quantized {
    /// Null until it is made.
    Value q, scales;
  };

  const Quantized &get(unsigned number, Operation *reader);
  void rewrite(const Fp8BlockMatmul &planned);
  Value cast(OpBuilder &builder, Location loc, Value x, Type element) {
    auto type = mlir::cast<RankedTensorType>(x.getType());
    if (type.getElementType() == element)
      return x;
    return CastOp::create(builder, loc, type.clone(element), x, /*autocast=*/false);
  }
  Value reshape(OpBuilder &builder, Location loc, Value x, ArrayRef<int64_t> shape) {
    auto type = mlir::cast<RankedTensorType>(x.getType());
    if (type.getShape() == shape)
      return x;
    return ReshapeOp::create(builder, loc, type.clone(shape), x);
  }

  const Fp8BlockPlan &plan;
  const Fp8BlockScales &scales;
  MLIRContext *context;
  Type f32;
  SmallVector<Quantized> made;
  /// What stands for results of matmuls that are gone: a matmul may read them as they
  /// are.
  DenseMap<Value, Value> replaced;
};

/// The 8-bit copy of tensor `number`. One of the original tensor is made where that is,
/// so that the original need not be kept; one of another copy where it is read first.
const BlockRewriter::Quantized &BlockRewriter::get(unsigned number, Operation *reader) {
  Quantized &quantized = made[number];
  if (quantized.q)
    return quantized;
  const Fp8BlockTensor &tensor = plan.tensors[number];
  Value source = replaced.lookup(tensor.source);
  if (!source)
    source = tensor.source;
  Location loc = source.getLoc();
  OpBuilder builder(reader);
  Value x;
  if (tensor.from) {
    const Quantized &copy = get(*tensor.from, reader);
    x = DequantizeOp::create(builder, loc,
                             mlir::cast<RankedTensorType>(copy.q.getType()).clone(f32),
                             copy.q, copy.scales, plan.tensors[*tensor.from].block);
  } else {
    builder.setInsertionPointAfterValue(source);
    auto type = mlir::cast<RankedTensorType>(source.getType());
    const int64_t columns = type.getShape().back();
    x = reshape(builder, loc, source, {type.getNumElements() / columns, columns});
  }
  auto type = mlir::cast<RankedTensorType>(x.getType());
  Type scaleType = scales.areE8M0 ? Type(Float8E8M0FNUType::get(context)) : f32;
  SmallVector<int64_t> counts(type.getShape());
  for (auto [count, size] : llvm::zip_equal(counts, tensor.block))
    count = llvm::divideCeil(count, size);
  auto scalesType = RankedTensorType::get(counts, scaleType);
  auto op = QuantizeOp::create(builder, loc, type.clone(Float8E4M3FNType::get(context)),
                               scalesType, x, tensor.block, scales.getRule(tensor));
  quantized = {op.getQ(), op.getScales()};
  return quantized;
}

void BlockRewriter::rewrite(const Fp8BlockMatmul &planned) {
  Operation *op = planned.op;
  Location loc = op->getLoc();
  const Quantized &lhs = get(planned.lhs, op), &rhs = get(planned.rhs, op);
  OpBuilder builder(op);
  auto type = mlir::cast<RankedTensorType>(op->getResult(0).getType());
  const int64_t columns = type.getShape().back();
  auto matrix = RankedTensorType::get({type.getNumElements() / columns, columns}, f32);
  Value result = ScaledMatmulOp::create(builder, loc, matrix, lhs.q, lhs.scales, rhs.q,
                                        rhs.scales, plan.tensors[planned.lhs].block,
                                        plan.tensors[planned.rhs].block,
                                        planned.transposeLhs, planned.transposeRhs,
                                        scales.promotion, scales.accumulatorBits);
  result = reshape(builder, loc, result, type.getShape());
  if (auto linear = dyn_cast<LinearOp>(op); linear && linear.getBias())
    result = AddOp::create(builder, loc, type.clone(f32), result,
                           cast(builder, loc, linear.getBias(), f32));
  result = cast(builder, loc, result, type.getElementType());
  replaced[op->getResult(0)] = result;
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

} // namespace

void mpt::detail::rewriteFp8Blocks(func::FuncOp function, const Fp8BlockPlan &plan,
                                   const Fp8BlockScales &scales) {
  BlockRewriter(function, plan, scales).run();
}
