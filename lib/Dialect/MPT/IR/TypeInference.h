//===- TypeInference.h - Shared shape inference -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_MPT_IR_TYPEINFERENCE_H
#define MPT_LIB_DIALECT_MPT_IR_TYPEINFERENCE_H

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Support/NumberToString.h"

namespace mpt::detail {

using Shape = llvm::SmallVector<int64_t>;

/// `value`'s type; the ops' operands are ranked tensors by their constraints.
mlir::RankedTensorType getTensor(mlir::Value value);

/// NumPy's broadcast of two shapes, or failure. A dynamic size gives way to a
/// static one other than 1.
mlir::FailureOr<Shape> broadcastShapes(llvm::ArrayRef<int64_t> lhs,
                                       llvm::ArrayRef<int64_t> rhs);
/// Broadcast of all operands' shapes; emits an error that names them.
mlir::FailureOr<Shape> inferBroadcast(std::optional<mlir::Location> location,
                                      mlir::ValueRange operands);

/// The element type a binary op has by default: the first float operand's, or
/// the common integer type. Emits an error for a float and an integer.
mlir::FailureOr<mlir::Type> inferArithmeticType(std::optional<mlir::Location> location,
                                                mlir::Value lhs, mlir::Value rhs);
/// The result types of ops with one result, for `inferReturnTypes`: of arithmetic
/// with broadcasting (of i1 only if `allowsBool`), of an op that returns i1 for its
/// broadcast operands, and `dy`'s type if `other` has its shape.
mlir::LogicalResult inferBinary(std::optional<mlir::Location> location, mlir::Value lhs,
                                mlir::Value rhs, llvm::SmallVectorImpl<mlir::Type> &types,
                                bool allowsBool = false);
mlir::LogicalResult inferBool(std::optional<mlir::Location> location,
                              mlir::ValueRange operands, mlir::MLIRContext *context,
                              llvm::SmallVectorImpl<mlir::Type> &types);
mlir::LogicalResult inferLikeGradient(std::optional<mlir::Location> location,
                                      mlir::Value dy, mlir::Value other,
                                      llvm::SmallVectorImpl<mlir::Type> &types);

/// `shape` and i1, i8, ..: the type of random bits. Emits an error for a negative size.
mlir::LogicalResult inferRandom(std::optional<mlir::Location> location,
                                llvm::ArrayRef<int64_t> shape, mlir::Type element,
                                llvm::SmallVectorImpl<mlir::Type> &types);
/// The pooled type of x [N, H, W, C], or an error.
mlir::FailureOr<mlir::RankedTensorType> inferPool(std::optional<mlir::Location> location,
                                                  mlir::RankedTensorType x,
                                                  llvm::ArrayRef<int64_t> window,
                                                  llvm::ArrayRef<int64_t> strides,
                                                  llvm::ArrayRef<int64_t> padding);
/// Emits an error if `x`, called `name`, has rank 0.
mlir::LogicalResult checkHasRows(std::optional<mlir::Location> location,
                                 mlir::RankedTensorType x, llvm::StringRef name);

/// f32, but f64 for f64: the type of statistics and losses.
mlir::Type getStatisticType(mlir::Type storage);
/// The type of statistics of `x` with this shape.
mlir::RankedTensorType getStatistics(mlir::RankedTensorType x,
                                     llvm::ArrayRef<int64_t> shape);

/// True if the sizes are equal or one is dynamic.
inline bool sizesAgree(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b);
}
bool shapesAgree(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// The product of the sizes; nullopt if one is dynamic or it exceeds int64_t.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// "4x?x8" for messages; "scalar" for rank 0.
std::string shapeToString(llvm::ArrayRef<int64_t> shape);

/// Output size of a window, or failure if the window does not fit.
mlir::FailureOr<int64_t> getWindowedSize(int64_t size, int64_t window, int64_t stride,
                                         int64_t low, int64_t high, int64_t dilation = 1);

/// Checks of ops' verifiers. Each emits an error on `op` that says what was
/// expected and found.
mlir::LogicalResult checkSameShape(mlir::Operation *op, mlir::Value value,
                                   llvm::StringRef name, llvm::ArrayRef<int64_t> expected,
                                   llvm::StringRef expectedName);
mlir::LogicalResult checkRank(mlir::Operation *op, mlir::Value value,
                              llvm::StringRef name, int64_t rank);
mlir::LogicalResult checkScalar(mlir::Operation *op, mlir::Value value,
                                llvm::StringRef name);
mlir::LogicalResult checkCount(mlir::Operation *op, llvm::ArrayRef<int64_t> values,
                               llvm::StringRef name, size_t expected);
mlir::LogicalResult checkAtLeast(mlir::Operation *op, llvm::ArrayRef<int64_t> values,
                                 llvm::StringRef name, int64_t minimum);
mlir::LogicalResult checkAccType(mlir::Operation *op, std::optional<mlir::Type> accType,
                                 mlir::Value operand);
/// `value` in [low, high), or [low, high] if `closed`.
mlir::LogicalResult checkInRange(mlir::Operation *op, llvm::APFloat value,
                                 llvm::StringRef name, double low, double high,
                                 bool closed = false);
/// `value` finite and not negative.
mlir::LogicalResult checkNotNegative(mlir::Operation *op, llvm::APFloat value,
                                     llvm::StringRef name);

} // namespace mpt::detail

#endif // MPT_LIB_DIALECT_MPT_IR_TYPEINFERENCE_H
