//===- JoinedPlaces.h - Tensors that are made where they are joined -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What nothing reads but a concat can be written into its part of the concat's result,
/// by what makes it with strides, instead of being copied there. Pure.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_JOINEDPLACES_H
#define MPT_DIALECT_MPT_TRANSFORMS_JOINEDPLACES_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include <optional>

namespace mpt {

/// Where a tensor lies in the result of a concat.
struct JoinedPlace {
  ConcatOp concat;
  /// By the tensor's dimensions: elements from one index to the next.
  llvm::SmallVector<int64_t> strides;
  /// Of its first element, in elements.
  int64_t start = 0;
};

/// Where the result of `concat`, of static shape, lies: in its own memory, or, if nothing
/// reads it but another concat of the block, perhaps after reshapes, in the result of
/// that, and so on.
JoinedPlace getJoinedPlace(ConcatOp concat);

/// Where `value` lies, if nothing reads it but a concat of its block, perhaps after
/// reshapes. Nothing if its dimensions have no strides there, if the elements of a row
/// are not next to each other, if it does not begin at a multiple of 64 bytes, or if its
/// rows do not at multiples of 16, as code of GPUs wants them to.
std::optional<JoinedPlace> getJoinedPlace(mlir::Value value);

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_JOINEDPLACES_H
