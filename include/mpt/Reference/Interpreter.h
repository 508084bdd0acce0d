//===- Interpreter.h - Functions evaluated op by op -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The oracle that compiled code is held to. It evaluates functions of the mpt
/// dialect (and the arith and math ops inside `mpt_kernel.kernel`) one op at a time, in
/// plain loops over numbers of double precision, from what the ops' definitions
/// say. It shares no code with the passes, the code generator or the runtime.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_REFERENCE_INTERPRETER_H
#define MPT_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace mpt::reference {

/// Where floating-point values are rounded. Integers always wrap to their
/// width.
enum class Mode {
  /// Every op computes in f64 and rounds each result once, to nearest even, to
  /// the result's element type. `acc_type` is not followed: sums are f64, so a
  /// result is within half a unit in the last place of its exact value, up to
  /// the error of f64. Where an op's definition rounds something inside (the
  /// scaled query, the probabilities and their gradients in attention, the
  /// reciprocal of the loss scale), so does this mode.
  Storage,
  /// Nothing is rounded: a tensor of any float type holds doubles.
  Float64
};

/// A value: row-major elements of a static shape.
struct Tensor {
  /// A float type or a signless integer type of at most 64 bits.
  mlir::Type elementType;
  llvm::SmallVector<int64_t, 4> shape;
  /// The elements if `elementType` is a float type.
  std::vector<double> floats;
  /// The elements otherwise, sign-extended; i1 is 0 or 1.
  std::vector<int64_t> ints;

  bool isFloat() const { return llvm::isa<mlir::FloatType>(elementType); }
  int64_t size() const {
    return static_cast<int64_t>(isFloat() ? floats.size() : ints.size());
  }
};

/// `value` rounded to nearest even in `type`. Overflow gives what the type has
/// for it: an infinity, or NaN for f8E4M3FN.
double roundToType(double value, mlir::FloatType type);

/// An index outside its table, and its position among the indices in row-major order.
struct BadIndex {
  int64_t index = 0, position = 0;
};

/// Evaluates `function` (and the functions of its module that it calls) on
/// `arguments`, which have the arguments' element types and shapes. In Storage
/// mode they are rounded to these types first. Emits an error at the op and
/// fails on an op that it does not know, a type or shape that it cannot hold
/// and an index or label out of range, which it gives in `badIndex`, too.
mlir::FailureOr<std::vector<Tensor>>
interpret(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments, Mode mode,
          std::optional<BadIndex> *badIndex = nullptr);

/// As `interpret`, on all ranks of the mesh of `function`'s module: `arguments[r]` and
/// element r of the result are those of rank r. The ranks run in one thread and meet at
/// each collective. Emits an error and fails on a collective that is not in the
/// function's own block (in a loop or a called function).
mlir::FailureOr<std::vector<std::vector<Tensor>>>
interpretRanks(mlir::func::FuncOp function, llvm::ArrayRef<std::vector<Tensor>> arguments,
               Mode mode);

/// About the most bytes that `interpret` needs for `function`: eight for each element
/// that is alive at a time (in a kernel, for each scalar and point), and as much again
/// for the operands and results of the op that runs. Stops at the largest int64_t.
int64_t estimateMemory(mlir::func::FuncOp function);

/// Whether `interpret` evaluates ops of this name.
bool isInterpreted(llvm::StringRef operationName);

} // namespace mpt::reference

#endif // MPT_REFERENCE_INTERPRETER_H
