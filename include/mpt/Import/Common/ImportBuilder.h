//===- ImportBuilder.h - Builds mpt ops for importers -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What conversions from other dialects share: ops of the mpt dialect with their result
/// types, and a reason for what cannot be built.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_COMMON_IMPORTBUILDER_H
#define MPT_IMPORT_COMMON_IMPORTBUILDER_H

#include "mlir/IR/Builders.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

#include <string>

namespace mpt::importer {

inline mlir::RankedTensorType getType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> getShape(mlir::Value value) {
  return getType(value).getShape();
}
inline mlir::Type getElement(mlir::Value value) {
  return getType(value).getElementType();
}
inline int64_t getRank(mlir::Value value) { return getType(value).getRank(); }

using Shape = llvm::SmallVector<int64_t>;

/// `elements` (`dense` or `dense_resource`) as a constant of `type`, whose elements have
/// as many bits, as those of unsigned integers; null if shape, bits or kind differ.
mlir::ElementsAttr retype(mlir::Attribute elements, mlir::RankedTensorType type);

/// Builds ops at the builder's insertion point. What does not fit is refused with a
/// reason, and the result is then something harmless.
class ImportBuilder {
public:
  ImportBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// Says why this op cannot be converted; the first reason counts.
  void refuse(const llvm::Twine &reason) {
    if (refusal.empty())
      refusal = reason.str();
  }
  /// Refuses unless `condition`. Returns it.
  bool require(bool condition, const llvm::Twine &reason) {
    if (!condition)
      refuse(reason);
    return condition;
  }

  //===--------------------------------------------------------------------===//
  // Operands of binary ops broadcast and have one element type.
  //===--------------------------------------------------------------------===//

  mlir::Value constant(double value, mlir::Type element,
                       llvm::ArrayRef<int64_t> shape = {});
  mlir::Value floats(llvm::ArrayRef<double> values, mlir::Type element,
                     llvm::ArrayRef<int64_t> shape);
  /// A number in the element type of `like`.
  mlir::Value number(mlir::Value like, double value) {
    return constant(value, getElement(like));
  }
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// Dimension `from` becomes the last; the others keep their order.
  mlir::Value moveToLast(mlir::Value x, int64_t from);
  /// The inverse of `moveToLast`.
  mlir::Value moveFromLast(mlir::Value x, int64_t to);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t begin, int64_t size,
                    int64_t stride = 1);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> inputs, int64_t dim);
  mlir::Value pad(mlir::Value x, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high, double value,
                  llvm::ArrayRef<int64_t> interior = {});
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, int64_t axis, mlir::Type element);
  /// The elements of dimension `dim` in reverse order.
  mlir::Value reverse(mlir::Value x, int64_t dim);
  template <typename Op>
  mlir::Value unary(mlir::Value x) {
    return Op::create(builder, loc, x.getType(), x);
  }
  template <typename Op>
  mlir::Value binary(mlir::Value a, mlir::Value b) {
    return Op::create(builder, loc, broadcastType({a, b}, getElement(a)), a, b);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary<SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary<MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary<DivOp>(a, b); }
  mlir::Value add(mlir::Value a, double b) { return b == 0 ? a : add(a, number(a, b)); }
  mlir::Value mul(mlir::Value a, double b) { return b == 1 ? a : mul(a, number(a, b)); }
  mlir::Value neg(mlir::Value x) {
    return mlir::isa<mlir::FloatType>(getElement(x)) ? unary<NegOp>(x)
                                                     : sub(number(x, 0), x);
  }
  mlir::Value abs(mlir::Value x);
  mlir::Value compare(ComparePredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(ComparePredicate predicate, mlir::Value a, double b) {
    return compare(predicate, a, number(a, b));
  }
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// e^x - 1 without the loss of digits near 0.
  mlir::Value expm1(mlir::Value x);
  mlir::Value square(mlir::Value x) { return mul(x, x); }
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes,
                     bool keepDims = false);
  /// Over the last dimension.
  mlir::Value reduceLast(ReduceKind kind, mlir::Value x, bool keepDims = false) {
    return reduce(kind, x, {getRank(x) - 1}, keepDims);
  }
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transposeA = false,
                     bool transposeB = false);
  /// x @ weight^T + bias, where the bias may be null and x has any rank above 0.
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias);
  mlir::Value softmax(mlir::Value x, int64_t dim, bool log);
  /// True where `x`, with one more dimension, equals its index along that dimension of
  /// `size` elements.
  mlir::Value oneHot(mlir::Value x, int64_t size);
  mlir::Value gather(mlir::Value table, mlir::Value indices);
  /// Of a tensor of shape `shape`, the row-major position of what `indices` (i64, of the
  /// same rank) name along dimension `dim`.
  mlir::Value flatPosition(llvm::ArrayRef<int64_t> shape, mlir::Value indices,
                           int64_t dim);
  /// The index of the element that comes at each place of the last dimension, in i64.
  /// Equal elements keep their order; NaN is larger than all.
  mlir::Value sortedIndices(mlir::Value last, bool descending);
  /// The indices of the `k` largest, or smallest, elements of the last dimension, as the
  /// first of `sortedIndices` in descending, or ascending, order.
  mlir::Value extremeIndices(mlir::Value last, int64_t k, bool largest);
  /// The index of the element at place `k` of `sortedIndices` in ascending order; the
  /// last dimension has size 1.
  mlir::Value indexAtPlace(mlir::Value last, int64_t k);
  /// The same for any order of n elements: `before`, of shape [.., n, n], says of the
  /// i-th whether the j-th comes before it; equal ones keep their order.
  mlir::Value sortedIndices(mlir::Value before, mlir::Value equal);
  /// Elements of `last` at `indices` of its last dimension.
  mlir::Value takeLast(mlir::Value last, mlir::Value indices);
  /// Indices from the end, which are negative, as indices from the beginning.
  mlir::Value wrap(mlir::Value indices, int64_t size);
  /// Of elements of up to 32 bits, i64 numbers that have their order, and are equal for
  /// equal ones and for NaN.
  mlir::Value orderedBits(mlir::Value x);
  /// More elements are sorted by a network of comparators than each with each.
  static constexpr int64_t kManyElements = 64;
  /// As `sortedIndices` for tuples of `keys`, which have one shape, by a network:
  /// `comesBefore` compares the keys of two tuples. It may call `refuse`.
  mlir::Value sortedByNetwork(llvm::ArrayRef<mlir::Value> keys,
                              llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>,
                                                             llvm::ArrayRef<mlir::Value>)>
                                  comesBefore);
  mlir::FloatAttr f64(double value) { return builder.getF64FloatAttr(value); }
  mlir::RankedTensorType broadcastType(mlir::ValueRange values, mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Why the op that is being converted cannot be; empty if it can.
  std::string refusal;
};

} // namespace mpt::importer

#endif // MPT_IMPORT_COMMON_IMPORTBUILDER_H
