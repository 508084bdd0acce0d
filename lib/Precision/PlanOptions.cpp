//===- PlanOptions.cpp - A plan from a pass's options -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PlanOptions.h"

#include "mpt/Support/FileIO.h"

using namespace mlir;
using namespace mpt;

/// Reads the profile and finds its values; null after an error.
static std::shared_ptr<const MatchedRanges> readProfile(ModuleOp module, Type low,
                                                        const PlanOptions &options) {
  auto read = readRangeProfile(options.profile);
  if (!read) {
    mlir::emitError(module.getLoc())
        << options.pass << ": profile: " << llvm::toString(read.takeError());
    return nullptr;
  }
  const FloatFormat *format = findFloatFormat(low.isF16() ? "f16" : "bf16");
  if (!llvm::is_contained(read->formats, format->name)) {
    mlir::emitError(module.getLoc())
        << options.pass << ": profile: " << options.profile << " has no counts for "
        << format->name << "; record it with --mpt-instrument=\"type=" << format->name
        << "\"";
    return nullptr;
  }
  if (!(options.profileMargin > 0) || !(options.profileUnderflow >= 0)) {
    mlir::emitError(module.getLoc())
        << options.pass
        << ": expected a profile-margin above 0 and a profile-underflow of at least 0, "
           "found "
        << std::to_string(options.profileMargin) << " and "
        << std::to_string(options.profileUnderflow);
    return nullptr;
  }
  auto matched = std::make_shared<MatchedRanges>(matchRanges(
      module, *read, *format, {options.profileMargin, options.profileUnderflow}));
  if (matched->values.empty())
    mlir::emitWarning(module.getLoc())
        << options.pass << ": profile: none of the " << read->values.size()
        << " values of " << options.profile
        << " is in this module, by function, op name and location; the profile "
           "decides nothing. Record it again from the present file";
  return matched;
}

/// Says so if a target's cost gate leaves nothing low.
static void warnOfGate(ModuleOp module, StringRef pass, const PlannedModule &planned) {
  bool anyLow = false, anyGated = false;
  for (uint32_t v = 0; v < planned.graph.getVertices().size(); ++v) {
    anyLow |= planned.plan.isLow(v);
    anyGated |= planned.plan[v].reason == PrecisionReason::CostGate;
  }
  if (anyGated && !anyLow)
    mlir::emitWarning(module.getLoc())
        << pass << ": on " << planned.chosen.target->name
        << " the casts of every contraction cost more than it gains, so nothing runs in "
        << planned.chosen.policy.getLowType()
        << "; without a target, or with cost-gate=false, contractions do";
}

std::unique_ptr<PlannedModule> mpt::makePlan(ModuleOp module,
                                             std::optional<PolicyAndSettings> chosen,
                                             const PlanOptions &options) {
  if (!chosen)
    return nullptr;
  StringRef name =
      options.strategy.empty() ? chosen->settings.strategy : options.strategy;
  std::optional<PrecisionStrategy> strategy = symbolizePrecisionStrategy(name);
  if (!strategy) {
    mlir::emitError(module.getLoc()) << options.pass << ": unknown strategy '" << name
                                     << "'; expected mincut, paint, promote or none";
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
  if (!options.profile.empty()) {
    planOptions.ranges = readProfile(module, chosen->policy.getLowType(), options);
    if (!planOptions.ranges)
      return nullptr;
  }
  auto planned = std::make_unique<PlannedModule>(module, std::move(*chosen), graphOptions,
                                                 planOptions);
  if (planned->chosen.policy.hadErrors())
    return nullptr;
  planned->chosen.policy.warnOfUnused(module, options.pass);
  warnOfGate(module, options.pass, *planned);
  warnOfUnknownOps(module, options.pass, planned->chosen.policy);
  return planned;
}

LogicalResult mpt::checkReportFiles(ModuleOp module, StringRef pass,
                                    std::vector<FileUse> uses) {
  if (auto file = dyn_cast<FileLineColLoc>(module.getLoc()))
    uses.insert(uses.begin(), {"the module", file.getFilename().str()});
  for (FileUse &use : uses)
    if (use.path == "-")
      use.path.clear();
  if (llvm::Error error = checkDistinctFiles(uses))
    return mlir::emitError(module.getLoc())
           << pass << ": " << llvm::toString(std::move(error));
  return success();
}

LogicalResult mpt::writeReport(ModuleOp module, StringRef pass, StringRef option,
                               StringRef path,
                               llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  if (path == "-") {
    llvm::outs() << text;
    return success();
  }
  if (llvm::Error error = writeFileAtomically(path, text))
    return mlir::emitError(module.getLoc())
           << pass << ": " << option << ": " << llvm::toString(std::move(error));
  return success();
}

LogicalResult mpt::checkPattern(ModuleOp module, StringRef pass, StringRef option,
                                StringRef text) {
  std::string error;
  if (llvm::Regex(text).isValid(error))
    return success();
  InFlightDiagnostic diagnostic = mlir::emitError(module.getLoc());
  diagnostic
      << pass << ": " << option << ": expected a regular expression of an op's name, "
      << "location (file:line, name) or function (@name), such as 'softmax'; found ";
  if (text.empty())
    return diagnostic << "none";
  return diagnostic << "'" << text << "' (" << error << ")";
}

void mpt::explain(ModuleOp module, StringRef pass, const PlannedModule &planned,
                  StringRef text) {
  llvm::Regex pattern(text);
  if (explainPrecision(planned.plan, planned.planner, pattern) == 0)
    mlir::emitWarning(module.getLoc())
        << pass << ": explain: no op or location matches '" << text << "'";
}
