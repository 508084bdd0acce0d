//===- PolicyFile.h - A precision policy as data -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a policy changes of the tables' and ops' own classes, and how autocast
/// plans under it. Presets are such files that are built in (lib/Precision/Presets);
/// docs/Policies.md describes the YAML.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_POLICYFILE_H
#define MPT_PRECISION_POLICYFILE_H

#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mpt {

/// Where a policy says something.
struct PolicyPlace {
  /// Empty for options and built-in policies.
  std::string file;
  unsigned line = 0;
  /// The file says `unmatched: ignore`: its patterns need not match.
  bool mayMiss = false;

  /// This place, or `otherwise` if it is in no file.
  mlir::Location getLoc(mlir::Location otherwise) const {
    return file.empty()
               ? otherwise
               : mlir::FileLineColLoc::get(otherwise.getContext(), file, line, 1);
  }
};

/// Regular expression: ops at the places that it matches keep f32.
struct KeepPattern {
  std::string text;
  PolicyPlace place = {};
};

/// Ops put on a list.
struct PolicyMove {
  PrecisionClass precisionClass = PrecisionClass::Fixed;
  /// Names with their dialect, or patterns with `*`.
  std::vector<std::string> ops;
  /// Regular expression of the places (op name, file:line, name, @function) where
  /// the move counts; empty: everywhere.
  std::string in;
  /// Who says so: "torch-cuda", the path of a file, "option deny".
  std::string origin;
  /// Moves of a higher layer go before those of a lower one.
  unsigned layer = 0;
  PolicyPlace place = {};
};

struct PolicySettings {
  /// This policy and those that it extends, nearest first.
  std::vector<std::string> names;
  /// The file that was named; empty for a built-in policy.
  std::string file;
  /// The low types that it is for ("f16", "bf16"), the default one first.
  std::vector<std::string> types;
  std::string strategy;
  /// One of kMixedResultsWords.
  std::string mixedResults = "all";
  bool checkConstants = true, foldConstants = true;
  /// What a function gets is low for strategy `promote`: the model was cast.
  bool castArguments = false;
  /// Contractions of the first and last layers stay f32.
  bool keepFirstLast = false;
  /// "f32" keeps contractions of attention's probabilities and values; they come from
  /// the ops called `probabilities`, or all is one op called `attention`.
  std::string attentionPV;
  std::vector<std::string> probabilities, attention;
  /// Sums of more elements stay f32 if the low type is f16, or bf16; 0: none.
  uint64_t f16ReductionLimit = 0, bf16ReductionLimit = 0;
  uint64_t &getReductionLimit(bool f16) {
    return f16 ? f16ReductionLimit : bf16ReductionLimit;
  }
  /// Name of a target (TargetDescription.h), or empty.
  std::string target;
  /// With a target, a contraction stays f32 if its casts cost more than it gains.
  bool costGate = true;
  std::vector<PolicyMove> moves;
  std::vector<KeepPattern> keep;
  /// Paths of rule tables.
  std::vector<std::string> rules;
};

/// The names of the built-in policies, in alphabetical order.
llvm::SmallVector<llvm::StringRef> getBuiltinPolicies();

/// The policy called `name`, or that of a file if `name` ends in ".yaml" or
/// ".yml"; with what it extends. Errors are emitted with the place in the file, or
/// at `loc`.
llvm::FailureOr<PolicySettings> loadPolicy(mlir::Location loc, llvm::StringRef name);

/// Writes `settings` as a policy file that means the same, with the origin of each
/// move as a comment.
void printPolicy(const PolicySettings &settings, llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_PRECISION_POLICYFILE_H
