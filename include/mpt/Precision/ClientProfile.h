//===- ClientProfile.h - What other compilers make of low ops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which ops may read low operands and return f32, and what the compilers that read
/// autocast's output refuse or round.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_CLIENTPROFILE_H
#define MPT_PRECISION_CLIENTPROFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mpt {

/// In order: a later one permits fewer ops of two types.
enum class MixedResults : uint8_t {
  /// Contractions where only f32 ops read the result, and sums.
  All,
  /// Every matmul and convolution returns f32, sums read what they return.
  Matmuls,
  /// No op.
  None,
};

/// The words for them, in that order.
inline constexpr llvm::StringRef kMixedResultsWords[] = {"all", "matmuls", "none"};

inline llvm::StringRef stringifyMixedResults(MixedResults mixed) {
  return kMixedResultsWords[static_cast<unsigned>(mixed)];
}
/// Also of the aliases `true` and `false`.
std::optional<MixedResults> symbolizeMixedResults(llvm::StringRef text);

/// What keeps a compiler from merging repeated ops with the originals and from running
/// them early.
enum class RematIsolation : uint8_t {
  /// It is not known.
  None,
  /// stablehlo.optimization_barrier.
  Barrier,
  /// A stablehlo.if whose condition always holds, which the compiler cannot see. XLA's
  /// CPU compiler removes barriers before it merges equal ops.
  Conditional,
};

/// A compiler that reads what autocast writes.
struct ClientProfile {
  llvm::StringRef name;
  MixedResults mixedResults;
  /// Ops that it computes in the type that they are given, though sums within need f32.
  llvm::ArrayRef<llvm::StringRef> deny;
  RematIsolation isolation;
};

/// The profile called `name`, or null.
const ClientProfile *findClient(llvm::StringRef name);
llvm::SmallVector<llvm::StringRef> getClients();

} // namespace mpt

#endif // MPT_PRECISION_CLIENTPROFILE_H
