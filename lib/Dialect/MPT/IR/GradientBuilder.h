//===- GradientBuilder.h - Helpers for gradient rules -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_MPT_IR_GRADIENTBUILDER_H
#define MPT_LIB_DIALECT_MPT_IR_GRADIENTBUILDER_H

#include "TypeInference.h"

#include "mlir/IR/Builders.h"

namespace mpt::detail {

/// Short spellings of the ops that rules are made of. Results have the type of
/// the first operand unless one is given.
class GradientBuilder {
public:
  GradientBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  template <typename Op, typename... Args>
  mlir::Value make(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }
  /// An elementwise op of two operands, with result `type`.
  template <typename Op>
  mlir::Value binary(mlir::Type type, mlir::Value lhs, mlir::Value rhs) {
    return Op::create(builder, loc, type, lhs, rhs);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return make<MulOp>(a, b); }
  mlir::Value mul(mlir::Value a, double factor) {
    return make<MulOp>(a, scalar(a, factor));
  }
  mlir::Value neg(mlir::Value a) { return make<NegOp>(a); }
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return make<WhereOp>(condition, a, b);
  }
  mlir::Value compare(mlir::Value a, mlir::Value b, ComparePredicate predicate) {
    return make<CompareOp>(a, b, predicate);
  }
  /// A scalar constant of `like`'s float element type (f32 if narrower).
  mlir::Value scalar(mlir::Value like, double value);
  /// `value` in `type`'s element type.
  mlir::Value cast(mlir::Value value, mlir::RankedTensorType type);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Sums `gradient` over what broadcasting `type` to its shape repeated.
  mlir::Value sumTo(mlir::Value gradient, mlir::RankedTensorType type);
  /// `gradient` of a reduction of `x` repeated to x's shape.
  mlir::Value repeat(mlir::Value gradient, mlir::RankedTensorType x,
                     llvm::ArrayRef<int64_t> axes);
  /// The gradient of a maximum or minimum for operand `mine`, which `wins`
  /// against `other`. Ties share the gradient, as in PyTorch.
  mlir::Value selectExtreme(mlir::Value dy, mlir::Value mine, mlir::Value other,
                            ComparePredicate wins);
  /// Of power = base^exponent. To the power 0 all is 1, 0 too, where the formula
  /// says 0 * infinity; 0 to a power does not change with the power.
  mlir::Value powBase(mlir::Value dy, mlir::Value base, mlir::Value exponent);
  mlir::Value powExponent(mlir::Value dy, mlir::Value base, mlir::Value power);
  /// The tensor as [rows, last dimension].
  mlir::Value flatten(mlir::Value value);
  mlir::Value matmul(mlir::Type type, mlir::Value lhs, mlir::Value rhs, bool transposeLhs,
                     bool transposeRhs, mlir::TypeAttr acc);

  /// The gradient before the epilogue of `op`, whose result has the gradient `dy`. GELU's
  /// needs the value before it, which `op` does not return: it is computed again.
  mlir::Value throughEpilogue(mlir::Operation *op, Epilogue epilogue, mlir::Value dy);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Emits an error at `op` if one of `values` has a dynamic shape.
mlir::LogicalResult requireStaticShapes(mlir::Operation *op, mlir::ValueRange values);

/// Emits an error if a gradient reaches another result than the first.
mlir::LogicalResult requireFirstResult(mlir::Operation *op, mlir::ValueRange resultGrads);

/// Attaches the rules of ops whose records have none.
void attachGradientRules(mlir::MLIRContext &context);

} // namespace mpt::detail

#endif // MPT_LIB_DIALECT_MPT_IR_GRADIENTBUILDER_H
