//===- RematFunction.h - A function as a rematerialization graph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the planner knows of a function, op by op: of ops of MPT, of registered
/// dialects (by their side effects) and of others (by rule tables). Pure.
///
/// Bytes are those that a step needs for itself: arguments, constants and what is
/// returned count as nothing. Ops that only rename memory are not nodes. A cost is a
/// time in units of what moving a byte takes: the greater of bytes moved and
/// operations over `flopsPerByte`, and a fixed part for starting.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_REMATFUNCTION_H
#define MPT_MEMORY_REMATFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Memory/Planning/RematWholeSegments.h"
#include "mpt/Precision/RuleTable.h"
#include "llvm/ADT/DenseMap.h"

namespace mpt {

struct RematFunction {
  RematGraph graph;
  /// The op of each node.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The value of each number.
  llvm::SmallVector<mlir::Value> values;
  /// The numbers of values that are in the graph.
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  /// Results of ops that rename memory, and what they rename (results of nodes,
  /// arguments or constants; never renamed ones).
  llvm::DenseMap<mlir::Value, mlir::Value> owners;

  mlir::Value getOwner(mlir::Value value) const {
    auto it = owners.find(value);
    return it == owners.end() ? value : it->second;
  }
};

struct RematFunctionOptions {
  /// For what implements no interface; gets the tables of the dialects it meets.
  RuleTable *rules = nullptr;
  /// Workspace of ops, and bytes of results that may take a dying operand's place.
  llvm::DenseMap<mlir::Operation *, int64_t> workspaces, inPlace;
  /// Name of an op that only renames its operands; may be empty.
  llvm::StringRef barrier;
  double flopsPerByte = 8;
  /// Bytes that could be moved in the time that it takes to start an op.
  int64_t startCost = 16384;
};

/// True if `op` gives the same bits each time it runs on the same operands and has no
/// other effect: what is in its regions too. Rule tables (`pure`, `repeatable`) and
/// interfaces must agree on it; what neither knows is not.
bool isRepeatable(mlir::Operation *op, const RuleTable &rules);

/// Describes `function`, which must have one block. Fails with a diagnostic on a
/// dynamic shape or a value of `mpt.save` that is neither "must" nor "never".
mlir::FailureOr<RematFunction> buildRematFunction(mlir::func::FuncOp function,
                                                  const RematFunctionOptions &options);

/// Makes the graph that of a compiler that fuses loops: rows of the tables say which ops
/// fuse (`fusion`), and elementwise ops of registered dialects do. What the regions of
/// loops and conditionals need becomes workspace.
mlir::LogicalResult fuseRematFunction(RematFunction &described,
                                      const RematFunctionOptions &options);

} // namespace mpt

#endif // MPT_MEMORY_REMATFUNCTION_H
