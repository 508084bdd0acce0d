//===- PlanOptions.h - A plan from a pass's options -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_PLANOPTIONS_H
#define MPT_PRECISION_PLANOPTIONS_H

#include "mpt/Precision/CastProfitability.h"
#include "mpt/Precision/PolicyOptions.h"
#include "mpt/Precision/PrecisionRemarks.h"
#include "mpt/Support/FileIO.h"

namespace mpt {

/// The options of PlanningPass in Passes.td that no policy has.
struct PlanOptions {
  llvm::StringRef pass, strategy;
  bool checkConstants, foldConstants, specializeCalls;
  llvm::StringRef profile;
  double profileMargin, profileUnderflow;
};

/// A plan and all that it points to.
struct PlannedModule {
  PlannedModule(mlir::ModuleOp module, PolicyAndSettings chosen,
                PrecisionGraph::Options graphOptions, PrecisionPlanOptions planOptions)
      : chosen(std::move(chosen)), graph(module, this->chosen.policy, graphOptions),
        plan(makePlan(graph, planOptions)),
        planner{module, &this->chosen.policy, graphOptions, std::move(planOptions),
                [this](const PrecisionGraph &other, PrecisionPlanOptions &options) {
                  adapt(other, options);
                }} {}
  PlannedModule(const PlannedModule &) = delete;

  PolicyAndSettings chosen;
  PrecisionGraph graph;
  PrecisionPlan plan;
  PrecisionPlanner planner;

private:
  /// What is said of single vertices.
  void adapt(const PrecisionGraph &graph, PrecisionPlanOptions &options) const {
    options.exceptions = chosen.findExceptions(graph);
    // The other strategies are what others do.
    if (options.strategy == PrecisionStrategy::MinCut) {
      keepState(graph, options.exceptions);
      keepRecurrences(graph, options.exceptions);
    }
    if (chosen.target && chosen.settings.costGate) {
      options.cost = getCastCost(*chosen.target);
      options.gains = getContractionGains(graph, chosen.policy.getRules(), *chosen.target,
                                          chosen.policy.getLowType(), options.cost);
    }
  }
  PrecisionPlan makePlan(const PrecisionGraph &graph, PrecisionPlanOptions &options) {
    adapt(graph, options);
    return planPrecision(graph, options);
  }
};

/// The plan that `options` describe; null after an error.
std::unique_ptr<PlannedModule> makePlan(mlir::ModuleOp module,
                                        std::optional<PolicyAndSettings> chosen,
                                        const PlanOptions &options);

/// Fails if a report of `pass` is the file of the module, of an input of `uses` or of
/// another report. A path "-" is standard output.
llvm::LogicalResult checkReportFiles(mlir::ModuleOp module, llvm::StringRef pass,
                                     std::vector<FileUse> uses);

/// Writes what `write` writes to the file of the option `option`; fails with an
/// error at `module` if that cannot be done.
llvm::LogicalResult writeReport(mlir::ModuleOp module, llvm::StringRef pass,
                                llvm::StringRef option, llvm::StringRef path,
                                llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Fails with an error of the option `option` if `text` is not a regular expression.
llvm::LogicalResult checkPattern(mlir::ModuleOp module, llvm::StringRef pass,
                                 llvm::StringRef option, llvm::StringRef text);

/// Explains the ops that `text`, a regular expression, matches; warns if it matches
/// nothing.
void explain(mlir::ModuleOp module, llvm::StringRef pass, const PlannedModule &planned,
             llvm::StringRef text);

/// Adds makePlan to the generated base of a pass that has those options.
template <typename PassBase>
struct PlanPass : PolicyPass<PassBase> {
  using PolicyPass<PassBase>::PolicyPass;

  std::unique_ptr<PlannedModule> makePlan(mlir::ModuleOp module) {
    return mpt::makePlan(module, this->makePolicy(module),
                         {this->getArgument(), this->strategy, this->checkConstants,
                          this->foldConstants, this->specializeCalls, this->profile,
                          this->profileMargin, this->profileUnderflow});
  }
};

} // namespace mpt

#endif // MPT_PRECISION_PLANOPTIONS_H
