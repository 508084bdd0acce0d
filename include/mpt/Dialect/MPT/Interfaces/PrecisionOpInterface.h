//===- PrecisionOpInterface.h - How autocast may treat an op ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The classes of automatic mixed precision and the op interface that gives
/// them. The first four are those of TensorFlow's auto_mixed_precision.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_INTERFACES_PRECISIONOPINTERFACE_H
#define MPT_DIALECT_MPT_INTERFACES_PRECISIONOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace mpt {

/// How an op is treated when a graph is painted in a low-precision type.
enum class PrecisionClass : uint8_t {
  /// Runs in low precision (matmul, convolution).
  Allow,
  /// Runs in f32 (exp, pow, optimizers).
  Deny,
  /// Low only between allowed ops and not downstream of a denied one.
  Infer,
  /// No arithmetic that matters: follows its neighbours (reshape, relu, max).
  Clear,
  /// Low-precision operands and results, f32 inside (softmax, norms).
  Stable,
  /// Keeps the types it has; nothing is painted through it (bit casts, calls to
  /// foreign code). What is on no list is treated so too.
  Fixed,
};

/// The spelling used in attributes, policies and messages.
llvm::StringRef stringifyPrecisionClass(PrecisionClass precisionClass);
/// The inverse; nullopt for any other text.
std::optional<PrecisionClass> symbolizePrecisionClass(llvm::StringRef text);

} // namespace mpt

#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h.inc"

#endif // MPT_DIALECT_MPT_INTERFACES_PRECISIONOPINTERFACE_H
