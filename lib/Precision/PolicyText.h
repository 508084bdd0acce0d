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
#include "mpt/Precision/PolicyFile.h"
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
  std::string policy, extends, strategy, mixedResults, attentionPv, target;
  std::optional<std::vector<std::string>> types;
  std::vector<PatternText> keep;
  std::vector<std::string> rules, probabilities, attention;
  std::string unmatched;
  std::optional<bool> checkConstants, foldConstants, castArguments, keepFirstLast,
      costGate;
  std::optional<uint64_t> f16ReductionLimit, bf16ReductionLimit;
  std::vector<MoveText> moves;

  /// Calls `visit(key, &PolicyText::field, &PolicySettings::field, words...)` for each
  /// key that is one setting, in the order in which policies print; `words` are its
  /// values if only some are valid. The field has the key's name in camel case. A list
  /// adds to that of the policy that is extended, any other value replaces its.
  template <typename Visit>
  static void forEachKey(Visit &&visit) {
    using Text = PolicyText;
    using Settings = PolicySettings;
    visit("strategy", &Text::strategy, &Settings::strategy, "mincut", "paint", "promote",
          "none");
    visit("mixed-results", &Text::mixedResults, &Settings::mixedResults, "all", "matmuls",
          "none", "true", "false");
    visit("check-constants", &Text::checkConstants, &Settings::checkConstants);
    visit("fold-constants", &Text::foldConstants, &Settings::foldConstants);
    visit("cast-arguments", &Text::castArguments, &Settings::castArguments);
    visit("keep-first-last", &Text::keepFirstLast, &Settings::keepFirstLast);
    visit("f16-reduction-limit", &Text::f16ReductionLimit, &Settings::f16ReductionLimit);
    visit("bf16-reduction-limit", &Text::bf16ReductionLimit,
          &Settings::bf16ReductionLimit);
    visit("attention-pv", &Text::attentionPv, &Settings::attentionPV, "low", "f32");
    visit("target", &Text::target, &Settings::target);
    visit("cost-gate", &Text::costGate, &Settings::costGate);
    visit("probabilities", &Text::probabilities, &Settings::probabilities);
    visit("attention", &Text::attention, &Settings::attention);
  }
};

/// The policies of `yaml`. Fails after errors, at `loc` or in the text, that name
/// `source`.
llvm::FailureOr<std::vector<PolicyText>>
readPolicyTexts(mlir::Location loc, llvm::StringRef yaml, llvm::StringRef source);

} // namespace mpt

#endif // MPT_LIB_PRECISION_POLICYTEXT_H
