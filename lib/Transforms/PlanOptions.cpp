//===- PlanOptions.cpp - A plan from a pass's options -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanOptions.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace mpt;

std::unique_ptr<PlannedModule> mpt::makePlan(ModuleOp module,
                                             std::optional<PolicyAndSettings> chosen,
                                             const PlanOptions &options) {
  if (!chosen)
    return nullptr;
  StringRef name =
      options.strategy.empty() ? chosen->settings.strategy : options.strategy;
  std::optional<PrecisionStrategy> strategy = symbolizePrecisionStrategy(name);
  if (!strategy) {
    module.emitError(options.pass)
        << ": unknown strategy '" << name << "'; expected mincut, paint, promote or none";
    return nullptr;
  }
  PrecisionGraph::Options graphOptions;
  graphOptions.likeGrappler = *strategy == PrecisionStrategy::Paint;
  graphOptions.specializeCalls = options.specializeCalls;
  graphOptions.foldConstants = options.foldConstants && chosen->settings.foldConstants;
  PrecisionPlanOptions planOptions;
  planOptions.strategy = *strategy;
  planOptions.checkConstants = options.checkConstants && chosen->settings.checkConstants;
  planOptions.castArguments = chosen->settings.castArguments;
  auto planned = std::make_unique<PlannedModule>(module, std::move(*chosen),
                                                 graphOptions, planOptions);
  return planned->chosen.policy.hadErrors() ? nullptr : std::move(planned);
}

LogicalResult mpt::writeReport(ModuleOp module, StringRef pass, StringRef option,
                               StringRef path,
                               llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(path, &error);
  if (!file)
    return module.emitError(pass) << ": " << option << ": " << error;
  write(file->os());
  file->keep();
  return success();
}

LogicalResult mpt::explain(ModuleOp module, StringRef pass,
                           const PlannedModule &planned, StringRef text) {
  llvm::Regex pattern(text);
  std::string error;
  if (!pattern.isValid(error))
    return module.emitError(pass) << ": explain: " << error;
  if (explainPrecision(planned.plan, planned.planner, pattern) == 0)
    module.emitWarning(pass) << ": explain: no op or location matches '" << text << "'";
  return success();
}
