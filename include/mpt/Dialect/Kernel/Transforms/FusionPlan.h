//===- FusionPlan.h - Which ops become one kernel -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Groups elementwise ops and reductions of a block into kernels. Pure: the
/// block is not changed.
///
/// Greedy, in program order: an op joins the kernels that make its operands if
/// it fits their domain. What makes that safe is a depth per node (kernel or
/// other op): one more than the deepest node it reads. Merging nodes at depth d
/// closes no cycle if every reader of theirs is deeper than d. Near-linear in
/// the number of ops.
///
/// An op that computes a whole tensor does not join a kernel that lies before a
/// matmul, convolution or pooling which the op follows: fusion would otherwise
/// move the backward pass's recomputation into the forward pass and store it.
/// Statistics (a number per row or column) may.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_TRANSFORMS_FUSIONPLAN_H
#define MPT_DIALECT_KERNEL_TRANSFORMS_FUSIONPLAN_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace mpt {

/// How a value computed in a kernel varies over its domain.
enum class KernelExtent : uint8_t {
  /// With every dimension; its shape is the domain.
  Full,
  /// Not along a row; its shape is the domain's without the row's size, or with 1 in its
  /// place.
  Row,
  /// Known only after all rows: a column reduction or what is computed of one.
  AfterColumns,
};

/// A kernel to be, or an op that stays as it is.
struct FusionNode {
  /// In program order.
  llvm::SmallVector<mlir::Operation *> ops;
  bool isKernel = false;
  /// The shape over which the kernel's body runs.
  llvm::SmallVector<int64_t> domain;
  /// The dimension that is the row, if it is not the last one: the kernel has it as its
  /// last.
  std::optional<unsigned> rowDim;
};

struct FusionPlan {
  /// In an order in which every node comes after what it reads. Constants and
  /// ops that only rename memory (reshape, barrier, casts that are rounded on read,
  /// transposes that attention does without) are in no node.
  llvm::SmallVector<FusionNode> nodes;
  /// Extent of each value that a kernel computes.
  llvm::DenseMap<mlir::Value, KernelExtent> extents;
};

/// True if `op` can be part of a kernel as an elementwise op. Transposes and
/// slices that keep the last dimension's elements adjacent count, since a load
/// can do them.
bool isFusibleElementwise(mlir::Operation *op);
/// True if `op` is a load in disguise: it reads its operand at other indices,
/// so the operand cannot be computed in the same kernel.
bool isFusibleLoad(mlir::Operation *op);

/// True if a kernel for CPUs that computes a tensor of `shape` may reduce dimension
/// `axis`, which is not the last: there are neighbours for a vector, and not too many
/// elements.
bool isMiddleOfRows(llvm::ArrayRef<int64_t> shape, int64_t axis);

/// True for the matmuls, windows and loops between which a step's memory peaks, and over
/// which kernels are not fused.
bool isHeavyCall(mlir::Operation *op);

/// True if `op` is a cast of an f32 parameter (or another argument of the function or
/// loop) to f16 or bf16 that the library calls which read it can do while they read: all
/// readers have it as a side of a matmul, or as the image or the filter of a convolution
/// or of one of its gradients. Its result then needs no memory. It lies in no kernel, and
/// is planned as a renaming of its operand.
bool isRoundedOnRead(mlir::Operation *op);

/// True if `op` is such a cast, but has reshapes among its readers, where casts of the
/// reshaped argument would be isRoundedOnRead.
bool isRoundedIfRenamed(mlir::Operation *op);

struct FusionOptions {
  /// Casts that are isRoundedOnRead stay as they are.
  bool roundOnRead = false;
  /// Columns of a kernel that both reduces rows and sums columns, at most; 0: any number.
  /// On a GPU a thread has no registers for the sums of longer rows.
  int64_t mostSummedColumns = 0;
  /// Transposes that are isAttentionView stay as they are.
  bool attentionViews = false;
  /// Kernels that reduce short rows read and write these where they lie before and after
  /// transposes, as the channels of NCHW; and one that computes a tensor also reduces a
  /// dimension of it that is not the last.
  bool transposedRows = false;
};

/// Plans the kernels of `block`.
FusionPlan planFusion(mlir::Block &block, const FusionOptions &options = {});

} // namespace mpt

#endif // MPT_DIALECT_KERNEL_TRANSFORMS_FUSIONPLAN_H
