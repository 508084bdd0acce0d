//===- DecomposeBuilder.h - Helpers for decompositions ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_DECOMPOSEBUILDER_H
#define MPT_DIALECT_MPT_TRANSFORMS_DECOMPOSEBUILDER_H

#include "mlir/IR/PatternMatch.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt::detail {

/// Builds primitive ops whose results are f32, or f64 if `storage` is f64, so
/// that a decomposition rounds once, where it calls `round`.
class DecomposeBuilder {
public:
  DecomposeBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type storage)
      : builder(builder), loc(loc), element(getAccumulatorType(std::nullopt, storage)) {}
  /// For the storage type of `value`.
  DecomposeBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value)
      : DecomposeBuilder(builder, loc, typeOf(value).getElementType()) {}

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }

  mlir::Value add(mlir::Value a, mlir::Value b) { return binary<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary<SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary<MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary<DivOp>(a, b); }
  mlir::Value add(mlir::Value a, double b) { return add(a, scalar(b)); }
  mlir::Value mul(mlir::Value a, double b) { return mul(a, scalar(b)); }
  mlir::Value div(mlir::Value a, double b) { return div(a, scalar(b)); }
  mlir::Value sigmoid(mlir::Value a) { return unary<SigmoidOp>(a); }
  mlir::Value tanh(mlir::Value a) { return unary<TanhOp>(a); }
  mlir::Value exp(mlir::Value a) { return unary<ExpOp>(a); }
  mlir::Value log(mlir::Value a) { return unary<LogOp>(a); }
  mlir::Value sqrt(mlir::Value a) { return unary<SqrtOp>(a); }
  mlir::Value rsqrt(mlir::Value a) { return unary<RsqrtOp>(a); }
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::Value a, mlir::Value b, ComparePredicate predicate) {
    return CompareOp::create(builder, loc, a, b, predicate);
  }
  /// A scalar constant of the working type.
  mlir::Value scalar(double value);
  mlir::Value integer(mlir::Type element, int64_t value);
  /// `value` in the working type.
  mlir::Value widen(mlir::Value value);
  /// `value` rounded to `type`, whose shape may be another of as many elements.
  mlir::Value round(mlir::Value value, mlir::Type type);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);

  mlir::Value reduce(ReduceKind kind, mlir::Value value, llvm::ArrayRef<int64_t> axes,
                     bool keepDims);
  /// Over the last axis, which stays with size 1.
  mlir::Value reduceRow(ReduceKind kind, mlir::Value value);
  /// Over all axes but the last; the result is [columns].
  mlir::Value reduceColumns(ReduceKind kind, mlir::Value value);
  /// Over everything; `value` is best a result of reduceRow.
  mlir::Value reduceAll(ReduceKind kind, mlir::Value value);
  /// A statistic of rows, [..], as [.., 1].
  mlir::Value asRow(mlir::Value statistic);
  /// The same elements as rows of a length that reductions like: a divisor of
  /// the number of elements.
  mlir::Value asRows(mlir::Value value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;

private:
  template <typename Op>
  mlir::Value unary(mlir::Value a) {
    return Op::create(builder, loc, typeOf(a).clone(element), a);
  }
  template <typename Op>
  mlir::Value binary(mlir::Value a, mlir::Value b) {
    return Op::create(builder, loc, broadcastType(a, b), a, b);
  }
  mlir::RankedTensorType broadcastType(mlir::Value a, mlir::Value b);
};

/// Makes the results of `op` from the statistics of its columns, [C], and `centered`, x -
/// `mean`, all in the working type.
void replaceBatchNorm(BatchNormOp op, mlir::Value mean, mlir::Value centered,
                      mlir::Value var, mlir::PatternRewriter &rewriter);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_DECOMPOSEBUILDER_H
