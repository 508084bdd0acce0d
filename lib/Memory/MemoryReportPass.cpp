//===- MemoryReportPass.cpp - The pass that reports memory ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/Program/Transforms/MemorySchedule.h"
#include "mpt/Memory/MemoryGraphBuilder.h"
#include "mpt/Memory/MemoryReport.h"
#include "mpt/Memory/Passes.h"
#include "mpt/Precision/PlanOptions.h"
#include "mpt/ProgramABI/ProgramFormat.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mpt {
#define GEN_PASS_DEF_MEMORYREPORTPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct MemoryReportPass : mpt::impl::MemoryReportPassBase<MemoryReportPass> {
  using Base::Base;
  MemoryReportPass(const MemoryReportPass &other) : Base(other) {}

  void runOnOperation() override {
    if (failed(report(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult report(ModuleOp module);
  LogicalResult checkOptions(ModuleOp module);
  FailureOr<std::vector<MemoryReport>> readBefore(ModuleOp module);
  LogicalResult reportPareto(ModuleOp module, ArrayRef<func::FuncOp> functions);
  FailureOr<MemoryReport> reportStep(ModuleOp module, func::FuncOp function);
  FailureOr<MemoryReport> reportOps(func::FuncOp function, const RuleTable &table);

  Option<bool> pareto{
      *this, "pareto",
      llvm::cl::desc(
          "Time against memory instead, for budgets from the whole down: a CSV "
          "table (format=text) or a page with a picture (format=html)"),
      llvm::cl::init(false)};

  InFlightDiagnostic error(ModuleOp module) {
    return emitError(module.getLoc()) << getArgument() << ": ";
  }
};

/// True for a function that the planner of steps takes, once it is fused.
bool isStep(func::FuncOp function) {
  bool anyOp = false;
  for (Operation &op : function.getBody().front()) {
    if (isa<func::ReturnOp>(op))
      continue;
    if (!isa_and_nonnull<MPTDialect, kernel::KernelDialect>(op.getDialect()))
      return false;
    anyOp = true;
  }
  return anyOp && function.getBody().hasOneBlock();
}

bool isFused(func::FuncOp function) {
  return llvm::any_of(function.getBody().front(),
                      [](Operation &op) { return isa<kernel::KernelOp>(op); });
}

LogicalResult MemoryReportPass::checkOptions(ModuleOp module) {
  if (format != "text" && format != "json" && format != "html")
    return error(module) << "format must be text, json or html, got '" << format << "'";
  if (grain != "auto" && grain != "kernels" && grain != "ops")
    return error(module) << "grain must be auto, kernels or ops, got '" << grain << "'";
  if (maxThreads < 1 || maxThreads > rt::kMaxProgramThreads)
    return error(module) << "max-threads must be 1 to " << rt::kMaxProgramThreads
                         << ", got " << maxThreads.getValue();
  if (alignment < 1 || alignment > (int64_t(1) << 30))
    return error(module) << "alignment must be from 1 to 2^30, got "
                         << alignment.getValue();
  if (top < 0)
    return error(module) << "top must not be negative, got " << top.getValue();
  if (order != "best" && !symbolizeOrderHeuristic(order))
    return error(module) << "order must be best, keep, early-update, least-peak or "
                            "depth-first, got '"
                         << order << "'";
  return success();
}

FailureOr<std::vector<MemoryReport>> MemoryReportPass::readBefore(ModuleOp module) {
  if (compare.empty())
    return std::vector<MemoryReport>();
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(compare, &why);
  if (!file)
    return error(module) << "compare: " << why;
  llvm::Expected<std::vector<MemoryReport>> reports = readMemoryJSON(file->getBuffer());
  if (!reports)
    return error(module) << "compare: " << compare << " is not a memory report: "
                         << llvm::toString(reports.takeError());
  return std::move(*reports);
}

/// Puts what `function` may refer to into `copy`: the other functions of its module
/// without their bodies, other symbols as they are.
static void declareOthers(ModuleOp module, func::FuncOp function, ModuleOp copy) {
  for (Operation &op : *module.getBody()) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (!symbol || symbol.getName() == function.getName())
      continue;
    auto other = dyn_cast<func::FuncOp>(op);
    if (!other) {
      copy.push_back(op.clone());
      continue;
    }
    auto declaration = cast<func::FuncOp>(other->cloneWithoutRegions());
    declaration.setPrivate();
    copy.push_back(declaration);
  }
}

LogicalResult MemoryReportPass::reportPareto(ModuleOp module,
                                             ArrayRef<func::FuncOp> functions) {
  std::vector<RematCurve> curves;
  for (func::FuncOp function : functions) {
    // Planned on copies, as in reportStep.
    OpBuilder builder(module.getBody(), module.getBody()->end());
    ModuleOp copy = ModuleOp::create(builder, function.getLoc());
    copy->setDiscardableAttrs(module->getDiscardableAttrDictionary());
    OwningOpRef<ModuleOp> holder;
    func::FuncOp clone = function.clone();
    // What the function itself asks for is one point of the curve.
    clone->removeAttr(kBudgetAttr);
    copy.push_back(clone);
    declareOthers(module, function, copy);
    OpPassManager passes(ModuleOp::getOperationName());
    auto add = [&](auto options, auto createPass) {
      options.function = function.getName().str();
      options.maxThreads = maxThreads;
      options.order = order;
      options.rules.assign(rules.begin(), rules.end());
      passes.addPass(createPass(options, curves));
    };
    if (grain != "ops" && isStep(function)) {
      passes.addPass(createWidenTemporariesPass());
      add(PlanKernelsPassOptions(), createKernelCurvePass);
    } else
      add(RematerializePassOptions(), createRematCurvePass);
    const bool done = succeeded(runPipeline(passes, copy));
    copy->remove();
    holder = copy;
    if (!done)
      return failure();
  }
  auto write = [&](llvm::raw_ostream &os) {
    if (format == "html")
      printRematPage(curves, os);
    else
      printRematCSV(curves, os);
  };
  if (!output.empty())
    return writeReport(module, getArgument(), "output", output, write);
  write(llvm::errs());
  return success();
}

FailureOr<MemoryReport> MemoryReportPass::reportStep(ModuleOp module,
                                                     func::FuncOp function) {
  // A copy that is fused lies in the module for that time, so that it can be run
  // through passes.
  OwningOpRef<ModuleOp> holder;
  func::FuncOp step = function;
  if (!isFused(function)) {
    OpBuilder builder(module.getBody(), module.getBody()->end());
    ModuleOp copy = ModuleOp::create(builder, function.getLoc());
    copy->setDiscardableAttrs(module->getDiscardableAttrDictionary());
    step = function.clone();
    copy.push_back(step);
    // As --mpt-plan-step does for CPUs.
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createWidenTemporariesPass());
    passes.addPass(createFuseAttentionPass());
    PlanKernelsPassOptions fusion;
    fusion.maxThreads = maxThreads;
    fusion.order = order;
    passes.addPass(createPlanKernelsPass(fusion));
    const bool fused = succeeded(runPipeline(passes, copy));
    copy->remove();
    holder = copy;
    if (!fused)
      return failure();
    // Passes may have put another in its place.
    step = copy.lookupSymbol<func::FuncOp>(function.getName());
    if (!step)
      return failure();
  }
  FailureOr<std::optional<OrderHeuristic>> wanted =
      getWantedOrder(step, order, getArgument());
  if (failed(wanted))
    return failure();
  FailureOr<InstructionList> schedule =
      listInstructions(step, maxThreads, TargetAttr::get(&getContext(), "cpu", {}));
  if (failed(schedule))
    return failure();
  MemorySchedule planned = scheduleForMemory(step, *schedule, *wanted);
  MemoryReport report =
      makeMemoryReport(planned.plan.graph, planned.plan.profile,
                       planned.plan.blockOffsets, planned.plan.arenaBytes);
  report.grain = "kernels";
  report.order = stringifyOrderHeuristic(planned.order);
  // What the program says, to the byte.
  report.state = planned.plan.stateBytes;
  report.results = planned.plan.outputBytes;
  for (const OrderTrial &trial : planned.trials)
    report.trials.push_back(
        {stringifyOrderHeuristic(trial.order).str(), trial.peak, trial.arenaBytes});
  return report;
}

FailureOr<MemoryReport> MemoryReportPass::reportOps(func::FuncOp function,
                                                    const RuleTable &table) {
  FailureOr<MemoryGraph> graph = buildMemoryGraph(function, table, alignment);
  if (failed(graph))
    return failure();
  MemoryProfile profile = profileMemory(*graph);
  ArenaOptions options;
  options.alignment = alignment;
  ArenaPlan arena = planArena(profile.blocks, options);
  MemoryReport report = makeMemoryReport(*graph, profile, arena.offsets, arena.bytes);
  report.grain = "ops";
  return report;
}

LogicalResult MemoryReportPass::report(ModuleOp module) {
  std::vector<FileUse> files = {{"compare", compare}};
  for (const std::string &table : rules)
    files.push_back({"rules", table});
  files.push_back({"output", output, /*isOutput=*/true});
  if (failed(checkOptions(module)) ||
      failed(checkReportFiles(module, getArgument(), files)))
    return failure();
  FailureOr<std::vector<MemoryReport>> before = readBefore(module);
  if (failed(before))
    return failure();
  RuleTable table;
  for (StringRef dialect : RuleTable::getBuiltinDialects())
    table.addBuiltin(dialect);
  for (const std::string &file : rules)
    if (failed(table.addFile(module.getLoc(), file)))
      return failure();

  SmallVector<func::FuncOp> functions;
  for (auto candidate : module.getOps<func::FuncOp>())
    if (!candidate.isExternal() && (function.empty() || candidate.getName() == function))
      functions.push_back(candidate);
  if (functions.empty() && !function.empty())
    return error(module) << "no function '" << function << "' with a body";
  if (functions.empty())
    mpt::detail::warnOfNothingToDo(module, getArgument(), "no function with a body");
  if (pareto) {
    if (format == "json" || !compare.empty())
      return error(module) << "pareto has format text (CSV) or html, and no compare";
    return reportPareto(module, functions);
  }
  std::vector<MemoryReport> reports;
  for (func::FuncOp each : functions) {
    if (grain == "kernels" && !isStep(each))
      return each.emitError() << getArgument()
                              << ": grain=kernels is for functions of the mpt dialect "
                                 "alone; use grain=ops";
    FailureOr<MemoryReport> made = grain != "ops" && isStep(each)
                                       ? reportStep(module, each)
                                       : reportOps(each, table);
    if (failed(made))
      return failure();
    made->function = each.getName().str();
    reports.push_back(std::move(*made));
  }
  auto write = [&](llvm::raw_ostream &os) {
    if (format == "json")
      printMemoryJSON(reports, *before, os);
    else if (format == "html")
      printMemoryPage(reports, *before, os);
    else
      printMemoryText(reports, *before, top, os);
  };
  if (!output.empty())
    return writeReport(module, getArgument(), "output", output, write);
  write(llvm::errs());
  return success();
}

} // namespace
