//===- Rematerializer.h - Fit one function into a memory budget -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Describes a function to the planner (RematFunction.h), chooses from its frontier
/// (RematPlan.h) and clones ops accordingly. Of a fused step a plan counts only for the
/// arena that scheduleForMemory makes of it: plans are tried, cheapest first, on copies
/// of the function.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_REMATERIALIZER_H
#define MPT_LIB_MEMORY_REMATERIALIZER_H

#include "RematClones.h"
#include "mpt/Dialect/Program/Transforms/MemorySchedule.h"
#include "mpt/Memory/Planning/RematCurve.h"
#include "mpt/Memory/Planning/RematPlan.h"
#include "mpt/Precision/ClientProfile.h"

namespace mpt::detail {

/// What is done to one function.
struct RematOutcome {
  RematPlan plan;
  /// Bytes without rematerialization, within the budget, and reached: of the arena or
  /// alive.
  int64_t plainBytes = 0, budget = 0, bytes = 0;
  bool isMet = false, isOptimal = false;
};

struct RematerializerOptions {
  RuleTable *rules = nullptr;
  RematOptions planning;
  llvm::StringRef barrier;
  /// The compiler that runs the function; null: MPT, or one that runs ops one by one.
  const ClientProfile *client = nullptr;
  int64_t maxThreads = 2;
  TargetAttr target;
  std::optional<OrderHeuristic> order;
};

class Rematerializer {
public:
  Rematerializer(mlir::func::FuncOp function, const RematerializerOptions &options)
      : function(function), options(options) {
    build.rules = options.rules;
    build.barrier = options.barrier;
  }

  /// Describes and measures the function as it is.
  mlir::LogicalResult prepare();
  /// Chooses what to do; without a budget, what the strategy does by itself or
  /// `mpt.save` asks for. Changes nothing.
  mlir::LogicalResult plan(std::optional<RematBudget> budget);
  /// Emits remarks and rewrites the function, or says why not.
  mlir::LogicalResult finish();

  /// Adds all that can be chosen to `curve`, whose budgets are set.
  mlir::LogicalResult addTo(RematCurve &curve);

  const RematOutcome &getOutcome() const { return outcome; }
  int64_t getPlainCost() const { return described.graph.getTotalCost(); }
  /// Costs are told as multiples of that of a function in whose place this one is.
  void setReference(int64_t cost, int64_t bytes) {
    referenceCost = cost;
    outcome.plainBytes = bytes;
  }

private:
  /// Arena bytes of `step`, or more than these where they are more than `most`. Without
  /// `needsBest` also where they are not, but no more than `most` then. Also fills in
  /// workspaces if `describe`.
  mlir::FailureOr<int64_t> measureArena(mlir::func::FuncOp step, int64_t most,
                                        bool needsBest, bool describe);
  /// Arena bytes of the function run as `plan` says, or more than these where they are
  /// more than `most`.
  mlir::FailureOr<int64_t> measurePlan(const RematPlan &plan, int64_t most);
  /// What `build` says of ops' workspaces and of results in place.
  void describeMemory(mlir::func::FuncOp step, const InstructionList &schedule);
  /// Puts the ops of a fused function into the order with the smallest arena: what a plan
  /// keeps in the program's order, gradients until all updates say, need not be there.
  mlir::LogicalResult takeBestOrder();
  /// All that can be chosen.
  std::vector<RematPlan> planFrontier() const;
  mlir::LogicalResult choose(std::optional<RematBudget> budget);
  mlir::LogicalResult chooseByArena();
  /// With loops that keep less for the backward pass, where the budget asks for it.
  mlir::LogicalResult chooseForClient();
  mlir::LogicalResult explainFailure(const RematBound &bound);
  mlir::LogicalResult apply();
  /// Remarks on what is done and what not; see RematRemarks.cpp.
  void report(const RematBound &bound);
  void reportKept(const RematBound &bound, llvm::ArrayRef<uint32_t> runs, double total);

  mlir::func::FuncOp function;
  RematerializerOptions options;
  RematFunctionOptions build;
  RematFunction described;
  std::vector<RematPlan> plans;
  /// Ops of a fused function in the order with the smallest arena; empty: as they are.
  std::vector<mlir::Operation *> bestOrder;
  bool isFused = false, isMin = false, isIdle = false;
  int64_t referenceCost = 0;
  RematOutcome outcome;
};

} // namespace mpt::detail

#endif // MPT_LIB_MEMORY_REMATERIALIZER_H
