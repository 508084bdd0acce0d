//===- Evaluator.h - Helpers of evaluators ----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_REFERENCE_EVALUATOR_H
#define MPT_LIB_REFERENCE_EVALUATOR_H

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Reference/Interpreter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <memory>

namespace mpt::reference {

class OpTable;

/// The values of one running function or kernel body.
class Frame {
public:
  /// `domain` is the shape of scalars: none in a function, a kernel's domain in
  /// its body, where one scalar stands for one value per point. `depth` counts
  /// the calls above. `badIndex`, which may be null, is for `checkIndex`. `rank` is
  /// the number of the rank that runs, among all of the mesh.
  Frame(const OpTable &table, Mode mode, std::optional<BadIndex> *badIndex,
        llvm::ArrayRef<int64_t> domain = {}, unsigned depth = 0, int64_t rank = 0)
      : table(table), mode(mode), badIndex(badIndex),
        domain(domain.begin(), domain.end()), depth(depth), rank(rank) {}

  /// Stays valid while ops are evaluated until the value's last use is over.
  const Tensor &get(mlir::Value value) const { return *values.find(value)->second; }
  const std::vector<double> &floats(mlir::Value value) const { return get(value).floats; }
  const std::vector<int64_t> &ints(mlir::Value value) const { return get(value).ints; }

  llvm::SmallVector<int64_t, 4> getShape(mlir::Value value) const;
  int64_t getSize(mlir::Value value) const;
  /// Zeros, one for each element of `value`.
  std::vector<double> zeros(mlir::Value value) const {
    return std::vector<double>(getSize(value), 0.0);
  }

  /// Defines `value`: one rounding to its element type, or one wrap.
  void set(mlir::Value value, std::vector<double> elements);
  void set(mlir::Value value, std::vector<int64_t> elements);
  /// Of whichever kind the element type asks for.
  void set(mlir::Value value, Tensor elements);
  /// One rounding to the element type of `like`; none in Float64 mode.
  double round(double value, mlir::Value like) const;
  double round(double value, mlir::Type type) const;

  /// Runs the ops of `block` but its terminator. Values without further uses
  /// are dropped on the way.
  mlir::LogicalResult runBlock(mlir::Block &block);
  /// Runs one op, and drops what has no further uses.
  mlir::LogicalResult run(mlir::Operation &op);
  /// Drops values that have no uses after `op`, which has run.
  void release(mlir::Operation &op);
  /// Keeps the values from above that ops in `block` use until it has run `times` times.
  void keepForRuns(mlir::Block &block, int64_t times);

  /// Whether `index`, at `position` of its tensor, is in [0, size). Keeps one that is not
  /// for `interpret`.
  bool checkIndex(int64_t index, int64_t size, size_t position);
  std::optional<BadIndex> *getBadIndex() const { return badIndex; }

  const OpTable &getTable() const { return table; }
  Mode getMode() const { return mode; }
  llvm::ArrayRef<int64_t> getDomain() const { return domain; }
  unsigned getDepth() const { return depth; }
  int64_t getRank() const { return rank; }

private:
  mlir::LogicalResult runOp(mlir::Operation &op);
  void define(mlir::Value value, Tensor tensor);

  const OpTable &table;
  Mode mode;
  std::optional<BadIndex> *badIndex;
  llvm::SmallVector<int64_t, 4> domain;
  unsigned depth;
  int64_t rank;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Tensor>> values;
  llvm::DenseMap<mlir::Value, int64_t> usesLeft;
};

/// Evaluators by op name.
class OpTable {
public:
  using Evaluate = std::function<mlir::LogicalResult(mlir::Operation *, Frame &)>;

  template <typename OpTy>
  void add(std::function<mlir::LogicalResult(OpTy, Frame &)> evaluate) {
    entries[OpTy::getOperationName()] =
        [evaluate = std::move(evaluate)](mlir::Operation *op, Frame &frame) {
          return evaluate(llvm::cast<OpTy>(op), frame);
        };
  }
  /// Null if there is none.
  const Evaluate *lookup(llvm::StringRef name) const {
    auto it = entries.find(name);
    return it == entries.end() ? nullptr : &it->second;
  }

  /// The table of all ops.
  static const OpTable &get();

private:
  llvm::StringMap<Evaluate> entries;
};

void addPointwise(OpTable &table);
void addBinary(OpTable &table);
void addShape(OpTable &table);
void addLinalg(OpTable &table);
void addAttention(OpTable &table);
void addWindows(OpTable &table);
void addRecurrent(OpTable &table);
void addReductions(OpTable &table);
void addNorms(OpTable &table);
void addLosses(OpTable &table);
void addTraining(OpTable &table);
void addHalves(OpTable &table);
void addBlockScale(OpTable &table);
/// The sums of a matmul whose operands have scales, in f32.
llvm::LogicalResult multiplyScaled(GemmOp op, Frame &frame, std::vector<double> &result);
void addOptimizerState(OpTable &table);
void addScalars(OpTable &table);
void addKernels(OpTable &table);
void addCollectives(OpTable &table);

/// Evaluates a collective on all ranks of the mesh of its module: `frames[r]` is that of
/// rank r. Fails after an error if there are not as many.
mlir::LogicalResult evaluateCollective(mlir::Operation *op,
                                       llvm::ArrayRef<Frame *> frames);

/// Fails after an error if `type` is no scalar or tensor that can be held.
mlir::LogicalResult checkType(mlir::Type type,
                              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

int64_t product(llvm::ArrayRef<int64_t> sizes);
llvm::SmallVector<int64_t, 4> rowMajorStrides(llvm::ArrayRef<int64_t> shape);
/// For every point of `shape` in row-major order: offset + sum of its indices
/// times `strides`.
std::vector<int64_t> mapIndices(llvm::ArrayRef<int64_t> shape,
                                llvm::ArrayRef<int64_t> strides, int64_t offset = 0);
/// For every element of shape `to`, the element of shape `from` that NumPy's
/// broadcasting repeats there.
std::vector<int64_t> broadcastIndices(llvm::ArrayRef<int64_t> from,
                                      llvm::ArrayRef<int64_t> to);
/// Bits of `mpt.random_mask`.
std::vector<int64_t> drawMask(int64_t size, int64_t seed, int64_t attempt, int64_t stream,
                              double rate);
/// The elements of `x` at `indices`.
Tensor pick(const Tensor &x, llvm::ArrayRef<int64_t> indices);

double sigmoid(double x);
double gelu(double x, GeluApproximation kind);
/// The derivative of `gelu`.
double geluSlope(double x, GeluApproximation kind);
double applyEpilogue(double x, Epilogue epilogue);
/// `value` truncated to a signed integer of `width` bits, saturating; NaN is 0.
int64_t truncateToInt(double value, unsigned width);

} // namespace mpt::reference

#endif // MPT_LIB_REFERENCE_EVALUATOR_H
