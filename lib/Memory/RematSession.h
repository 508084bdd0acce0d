//===- RematSession.h - Functions and budgets of one run of a pass -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `mpt-rematerialize` and `mpt-plan-kernels` have in common: the options, the
/// functions that they name, and fitting these into their budgets as they are.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_REMATSESSION_H
#define MPT_LIB_MEMORY_REMATSESSION_H

#include "Rematerializer.h"

namespace mpt::detail {

/// The options of a pass, unchecked.
struct RematRequest {
  /// The pass, which begins diagnostics about options.
  llvm::StringRef pass;
  std::string strategy, budget, function, barrier, client, order, target;
  std::vector<std::string> rules;
  int64_t effort, maxThreads;
  uint64_t seed;
};

/// A function to plan.
struct RematTarget {
  mlir::func::FuncOp function;
  std::optional<RematBudget> budget;
};

/// Whether the function has kernels.
bool isFused(mlir::func::FuncOp function);

class RematSession {
public:
  /// Plans go to `curves`, and nothing is rewritten, unless it is null.
  RematSession(mlir::ModuleOp module, RematRequest request,
               std::vector<RematCurve> *curves)
      : request(std::move(request)), curves(curves), module(module) {}

  /// Checks the options. Fails with a diagnostic.
  mlir::LogicalResult readOptions();
  /// The functions that the options name, with their budgets: that of the function's
  /// `mpt.memory_budget`, else that of the options.
  mlir::FailureOr<llvm::SmallVector<RematTarget>> findTargets();
  /// How `target` is planned.
  mlir::FailureOr<RematerializerOptions> getOptions(mlir::func::FuncOp target);
  /// Fits each function into its budget as it is.
  mlir::LogicalResult planAll(llvm::ArrayRef<RematTarget> targets);
  /// A curve of `target` with what each of `planners` has to offer.
  mlir::LogicalResult draw(mlir::func::FuncOp target, llvm::StringRef measure,
                           Rematerializer &plain,
                           llvm::ArrayRef<Rematerializer *> planners);

  const RematRequest request;
  std::vector<RematCurve> *const curves;
  RuleTable table;

private:
  mlir::ModuleOp module;
  RematerializerOptions planning;
};

} // namespace mpt::detail

#endif // MPT_LIB_MEMORY_REMATSESSION_H
