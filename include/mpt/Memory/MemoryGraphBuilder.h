//===- MemoryGraphBuilder.h - The memory of a function, op by op -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A MemoryGraph of a function in which every op makes its results: any dialect,
/// registered or not. What shares memory and what may run again is what the rule
/// tables say (`memory`), and interfaces where there is no row.
///
///  - Tensors of static shape count; i1 takes a byte. Other types take nothing.
///  - An argument that is updated (`mpt.updates` on a result, `tf.aliasing_output`)
///    is State, and its next value lies in it if all readers of the old one come
///    before; one with `jax.buffer_donor` is Donated; others are Arguments.
///  - What loops, conditionals and called functions keep at once is workspace of
///    the op; what they return is the op's results.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_MEMORYGRAPHBUILDER_H
#define MPT_MEMORY_MEMORYGRAPHBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Memory/Planning/MemoryGraph.h"
#include "mpt/Precision/RuleTable.h"

namespace mpt {

/// The graph of `function`; op i of it is the i-th op of its block. Fails with a
/// diagnostic on dynamic shapes and on control flow between blocks.
mlir::FailureOr<MemoryGraph> buildMemoryGraph(mlir::func::FuncOp function,
                                              const RuleTable &rules,
                                              int64_t alignment = 256);

} // namespace mpt

#endif // MPT_MEMORY_MEMORYGRAPHBUILDER_H
