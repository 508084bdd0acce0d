//===- FormulaParts.h - What formulas have in common ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads numbers, views and reductions, of which formulas are made. Private to the
/// matchers of Formulas.h.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_MPT_TRANSFORMS_FORMULAS_FORMULAPARTS_H
#define MPT_LIB_DIALECT_MPT_TRANSFORMS_FORMULAS_FORMULAPARTS_H

#include "Formulas.h"

namespace mpt::formulas {

/// Formulas have no deeper expressions and no more terms.
inline constexpr unsigned maxDepth = 12;
inline constexpr size_t maxTerms = 8;

llvm::ArrayRef<int64_t> getShape(mlir::Value value);
int64_t getRank(mlir::Value value);
bool isStaticFloat(mlir::Value value);

/// Writes into `why`, if given, that `op` was nearly found, and what is different.
std::nullopt_t miss(NearMiss *why, const char *op, const llvm::Twine &reason);
/// As "%g" prints it.
std::string spell(double number);
/// "[0, 2]".
std::string listDims(llvm::ArrayRef<int64_t> dims);

/// Equal but for roundings of f32.
bool isNear(double number, double wanted);
/// All elements of `value` are `wanted`.
bool isNumber(mlir::Value value, double wanted);

/// The shape without dimensions of size 1.
llvm::SmallVector<int64_t> dropUnits(llvm::ArrayRef<int64_t> shape);
/// Reads through moves, and through choices and maxima that constants decide.
View strip(View view);
/// Operand `index` of the elementwise op that computes `view`, before strip().
View getRawOperand(const View &view, unsigned index);
/// The same after strip().
View getOperand(const View &view, unsigned index);
template <typename Op>
Op getOp(const View &view) {
  return view.base.getDefiningOp<Op>();
}
/// Each dimension of `value` is the same dimension of what reads it.
bool isWhole(const View &view, mlir::Value value);
/// Reads through reshapes.
mlir::Value skipReshapes(mlir::Value value);

/// A reduction of `x`. The dimensions that are left are those of what reads it.
struct Reduced {
  mlir::Value x;
  llvm::SmallVector<int64_t> axes;
};
std::optional<Reduced> getReduced(const View &view, ReduceKind kind);
/// How many elements of x each result reads.
int64_t countReduced(const Reduced &reduced);
/// A mean, or a sum that is divided by the number of its terms.
std::optional<Reduced> getMean(View view);
/// x if `view` is log(sum e^x) over the last dimension of x, which has `rank`.
mlir::Value getLogSumExp(const View &view, int64_t rank);

/// All that read `op`'s result are among `readers`.
bool isReadOnlyBy(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> readers);

} // namespace mpt::formulas

#endif // MPT_LIB_DIALECT_MPT_TRANSFORMS_FORMULAS_FORMULAPARTS_H
