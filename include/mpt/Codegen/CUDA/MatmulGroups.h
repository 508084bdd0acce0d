//===- MatmulGroups.h - Matmuls that share their left operand -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which matmuls of a step should become one (mpt-join-matmuls), by what that saves and
/// costs on GPUs. Pure: the block is not changed.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_MATMULGROUPS_H
#define MPT_CODEGEN_CUDA_MATMULGROUPS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

/// What joining is decided by: of a chip (CostModel.h), the bytes that its memory moves
/// per second and the seconds from one node of a graph to the next.
struct JoinRates {
  double memoryRate = 0, nodeGap = 0;
};

/// One of the matmuls of a group, y = x w + b, and what is computed for its gradients.
struct GroupedMatmul {
  /// mpt.linear or mpt.matmul.
  mlir::Operation *op = nullptr;
  mlir::Value weight, bias;
  /// y's gradient, without the reshapes that its readers have.
  mlir::Value dy;
  /// dy w^T, x^T dy (its transpose if the weight is transposed) and the sum of dy's rows;
  /// null where the step has none. The first may read the weight as it was gathered
  /// again.
  MatmulOp inputGrad, weightGrad;
  ReduceOp biasGrad;
};

struct MatmulGroup {
  mlir::Value x;
  /// Weights are [N, K].
  bool transposed = false;
  /// Two or more, in program order. All or none have each gradient.
  llvm::SmallVector<GroupedMatmul> members;
  /// The step has micro-batches or exchanges: if the weights are not all known before the
  /// first member, the gradients alone are joined.
  bool isShared = false;
  /// Whether the gradients of weights and biases are joined, too. If not, they are needed
  /// before all values that they come from are known.
  bool joinsWeightGrads = true;
  /// The sum of all input gradients and of `others`; null without input gradients.
  mlir::Value inputGrad;
  llvm::SmallVector<mlir::Value> others;
  /// The type in which `others` are added: f32 elements if one of the sums has them.
  mlir::Type typeOfOthers;
  /// All values that the joined gradients need come before it.
  mlir::Operation *firstAfterDys = nullptr;
  /// Ops before that which read gradients of weights and biases, or what these make of
  /// them, in program order: they may follow it.
  llvm::SmallVector<mlir::Operation *> afterGradients;
  /// By the rates: what joining saves and costs, in seconds.
  double saved = 0, spent = 0;
};

/// Matmuls of `block` that share their left operand, are alike and have no other matmul
/// between them: two or more, in program order.
llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>
findMatmulRuns(mlir::Block &block);

/// Whether two values are one weight: the same, or made alike of what two
/// `mpt.all_gather` have made of the same.
bool isSameWeight(mlir::Value a, mlir::Value b);

/// The group of `run`, ops of one block in program order before any is fused, if it saves
/// more than it costs by all of `rates`. Otherwise `why` says why they stay apart. What
/// it has holds until the block is changed, for example by joining another group.
///
/// `isShared`: the step has micro-batches or exchanges. What it makes must have the same
/// bits whichever it has, and only the sum of the gradients of the input differs if
/// joined: so that is decided by what all of these have in common, and without it nothing
/// is joined.
llvm::FailureOr<MatmulGroup> decideOnMatmuls(llvm::ArrayRef<mlir::Operation *> run,
                                             llvm::ArrayRef<JoinRates> rates,
                                             bool isShared, std::string &why);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_MATMULGROUPS_H
