//===- Shards.h - State that ranks hold together ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `mpt.shards`, an attribute of a parameter that is this rank's shard of several
/// tensors:
///
///     mpt.shards = {axis = "data", ranks = 2 : i64, blocks = 1 : i64,
///                   tensors = [{name = "w", shape = array<i64: 128, 64>, order = 0 :
///                   i64,
///                               init = {kind = "zeros"}}],
///                   pieces = array<i64: 0, 0, 0, 4096, 0, 0, 1, 4096, 8192, 0>}
///
/// Each piece is five numbers: tensor, rank, begin, end, offset (ShardLayout.h). State of
/// the optimizer whose name is the parameter's with a suffix, and which has the shape of
/// a shard, is cut alike, and so are the scales of its blocks (suffix `.absmax`). With an
/// entry `joined`, the parameter is the shards of all ranks, one after the other.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_SHARDS_H
#define MPT_DIALECT_MPT_IR_SHARDS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Support/ShardLayout.h"

namespace mpt {

/// `layout` as an attribute. `inits` has the attribute `mpt.init` of each tensor, or
/// null.
mlir::DictionaryAttr getShardsAttr(mlir::MLIRContext *context, const ShardLayout &layout,
                                   llvm::ArrayRef<mlir::Attribute> inits);

/// `shards`, an `mpt.shards` attribute, of an argument that is those of all ranks.
mlir::DictionaryAttr getJoinedShardsAttr(mlir::DictionaryAttr shards);

/// What `attribute` says of an argument of type `type`. Emits what is wrong through
/// `emitError` and fails unless it is of the form above, the type is [size] (of those of
/// all ranks, [ranks size]), pieces lie in the shards without an overlap, and cover each
/// tensor once.
llvm::FailureOr<ShardLayout>
readShards(mlir::Attribute attribute, mlir::Type type,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// A layout, and what is added to the names of its tensors.
struct ShardedState {
  ShardLayout layout;
  std::string suffix;
};

/// How argument `index` of `function`, a parameter or state of its optimizer, is cut;
/// nullopt if it is not.
std::optional<ShardedState> getShards(mlir::FunctionOpInterface function, unsigned index);

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_SHARDS_H
