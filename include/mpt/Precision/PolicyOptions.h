//===- PolicyOptions.h - A policy from a pass's options -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_POLICYOPTIONS_H
#define MPT_PRECISION_POLICYOPTIONS_H

#include "mpt/Precision/PrecisionExceptions.h"
#include "mpt/Precision/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpt {

/// The options of PrecisionPass in Passes.td.
struct PolicyOptions {
  llvm::StringRef pass, policy, type, client, wire, mixedResults;
  bool keepFirstLast, costGate;
  llvm::StringRef attentionPV, target;
  int64_t reductionLimit;
  llvm::ArrayRef<std::string> rules, allow, deny, infer, clear, stable, remove, keep;
};

struct PolicyAndSettings {
  PrecisionPolicy policy;
  PolicySettings settings;
  /// Null if no target is named.
  const TargetDescription *target = nullptr;
  /// Sums of more elements stay f32; 0: none.
  uint64_t reductionLimit = 0;

  /// The ops of `graph` that stay f32 for where they stand.
  PrecisionExceptions findExceptions(const PrecisionGraph &graph) const;
};

/// The policy that `options` describe; nullopt after an error.
std::optional<PolicyAndSettings> makePolicy(mlir::ModuleOp module,
                                            const PolicyOptions &options);

/// Adds the built-in tables of `dialects` to `table`. A dialect that has no table and is
/// not registered is an error at `module`.
llvm::LogicalResult loadTables(mlir::ModuleOp module,
                               llvm::ArrayRef<std::string> dialects, RuleTable &table);

/// Warns that `pass` found nothing to do if `policy` knows no op of `module` but
/// functions, calls and returns.
void warnOfUnknownOps(mlir::ModuleOp module, llvm::StringRef pass,
                      PrecisionPolicy &policy);

/// Adds makePolicy to the generated base of a pass that has those options.
template <typename PassBase>
struct PolicyPass : PassBase {
  using PassBase::PassBase;

  std::optional<PolicyAndSettings> makePolicy(mlir::ModuleOp module) {
    return mpt::makePolicy(
        module,
        {this->getArgument(), this->policy, this->type, this->client, this->wire,
         this->mixedResults, this->keepFirstLast, this->costGate, this->attentionPV,
         this->target, this->reductionLimit, *this->rules, *this->allow, *this->deny,
         *this->infer, *this->clear, *this->stable, *this->remove, *this->keep});
  }
};

} // namespace mpt

#endif // MPT_PRECISION_POLICYOPTIONS_H
