//===- PolicyText.h - A policy file as it is written -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the file of a policy says, key by key. The build turns the built-in ones into
/// code that makes the same (GeneratePolicies.cpp).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_POLICYTEXT_H
#define MPT_LIB_PRECISION_POLICYTEXT_H

#include "mlir/IR/Location.h"
#include <optional>
#include <string>
#include <vector>

namespace mpt {

struct MoveText {
  std::string precisionClass, dialect, in;
  std::vector<std::string> ops;
  unsigned line = 0;
};
struct PatternText {
  std::string text;
  unsigned line = 0;
};
struct PolicyText {
  std::string policy, extends, strategy, attentionPV, target;
  std::optional<std::vector<std::string>> types;
  std::vector<PatternText> keep;
  std::vector<std::string> rules, probabilities, attention;
  std::string unmatched;
  std::optional<bool> mixedResults, checkConstants, foldConstants, castArguments,
      keepFirstLast, costGate;
  std::optional<uint64_t> f16ReductionLimit, bf16ReductionLimit;
  std::vector<MoveText> moves;
};

/// The policies of `yaml`. Fails after errors, at `loc` or in the text, that name
/// `source`.
llvm::FailureOr<std::vector<PolicyText>>
readPolicyTexts(mlir::Location loc, llvm::StringRef yaml, llvm::StringRef source);

} // namespace mpt

#endif // MPT_LIB_PRECISION_POLICYTEXT_H
