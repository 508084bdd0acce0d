//===- RuleText.h - Rule tables as their YAML has them -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What reads a table's text: used when a user's file is read, and when the build
/// turns the built-in tables into C++ (GenerateRules.cpp).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_RULETEXT_H
#define MPT_LIB_PRECISION_RULETEXT_H

#include "mlir/IR/Location.h"
#include "mpt/Precision/OpRule.h"
#include "llvm/Support/Allocator.h"
#include <vector>

namespace mpt {

/// The tables of one dialect.
struct RuleSets {
  llvm::StringRef dialect;
  llvm::ArrayRef<RuleSet> sets;
};

/// Whether the value of a key is not its default. Lists are empty by default.
template <typename T>
bool isSet(const T &value, const T &initial) {
  return value != initial;
}
template <typename T>
bool isSet(llvm::ArrayRef<T> value, llvm::ArrayRef<T>) {
  return !value.empty();
}

/// Calls `visit(key, value)` for each key of `rule` that does not have its default.
template <typename Visit>
void forEachSetKey(const OpRule &rule, Visit &&visit) {
  OpRule::forEachKey([&](llvm::StringRef key, auto field) {
    if (isSet(rule.*field, OpRule().*field))
      visit(key, rule.*field);
  });
}

/// The tables of `yaml`, in order; what they consist of is put into `storage`. A
/// table that extends one of `bases` comes after it, for its own dialect.
/// Fails after errors, at `loc` or in the text, that name `source`: also an op in
/// two rows of one table is one.
llvm::FailureOr<std::vector<RuleSet>>
readRuleSets(mlir::Location loc, llvm::StringRef yaml, llvm::StringRef source,
             llvm::ArrayRef<RuleSets> bases, llvm::BumpPtrAllocator &storage);

} // namespace mpt

#endif // MPT_LIB_PRECISION_RULETEXT_H
