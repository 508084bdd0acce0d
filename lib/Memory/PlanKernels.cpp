//===- PlanKernels.cpp - Steps as kernels, within memory budgets -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-plan-kernels`. A step that has a budget is fused in several ways: as it is, and
/// with what fusion absorbs repeated before it (RematBeforeFusion.h). The fastest that
/// meets the budget takes the step's place.
///
//===----------------------------------------------------------------------===//

#include "RematBeforeFusion.h"
#include "RematSession.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/IsolateScans.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Memory/Passes.h"
#include "mpt/Support/Remarks.h"

#include "mlir/Pass/PassManager.h"

namespace mpt {
#define GEN_PASS_DEF_PLANKERNELSPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// Runs passes on a module that lies in the pass's own.
using RunPasses = llvm::function_ref<LogicalResult(OpPassManager &, ModuleOp)>;

/// One way to fuse a step: in a module of its own, or (the plain one) in its place.
struct Variant {
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  SmallVector<RepeatedOp> repeated;
};

/// Fuses the steps of a module.
class KernelPlanner {
public:
  KernelPlanner(RematSession &session, int64_t maxUnrolled, bool isForGPU,
                RunPasses runPipeline)
      : session(session), maxUnrolled(maxUnrolled), isForGPU(isForGPU),
        fusion(getFusionOptions(isForGPU)), runPipeline(runPipeline) {}

  LogicalResult fuseAll(ModuleOp module, MutableArrayRef<RematTarget> targets);

private:
  /// A copy of `function` in a module of its own, with what was repeated.
  FailureOr<Variant> makeVariant(func::FuncOp function, bool onlyMarked);
  LogicalResult fuse(ModuleOp module, Variant &variant);
  LogicalResult fuseWithin(ModuleOp module, RematTarget &target, Variant marked,
                           Variant free);

  RematSession &session;
  int64_t maxUnrolled;
  bool isForGPU;
  FusionOptions fusion;
  RunPasses runPipeline;
};

FailureOr<Variant> KernelPlanner::makeVariant(func::FuncOp function, bool onlyMarked) {
  Variant variant;
  variant.module = ModuleOp::create(function.getLoc());
  // Such as the mesh of a step of several ranks.
  if (auto module = function->getParentOfType<ModuleOp>())
    variant.module.get()->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  variant.function = function.clone();
  variant.module->push_back(variant.function);
  FailureOr<SmallVector<RepeatedOp>> repeated =
      repeatBeforeFusion(variant.function, session.table, onlyMarked);
  if (failed(repeated))
    return failure();
  variant.repeated = std::move(*repeated);
  eraseNeverMarks(variant.function);
  return variant;
}

LogicalResult KernelPlanner::fuse(ModuleOp module, Variant &variant) {
  if (!variant.module)
    return success();
  // It lies in the module for that time, so that it can be run through passes.
  ModuleOp nested = variant.module.release();
  module.push_back(nested);
  OpPassManager passes(ModuleOp::getOperationName());
  addKernelPasses(passes, fusion);
  const bool fused = succeeded(runPipeline(passes, nested));
  isolateScans(nested);
  nested->remove();
  variant.module = nested;
  variant.function = nested.lookupSymbol<func::FuncOp>(variant.function.getName());
  return success(fused && variant.function);
}

/// Puts the fastest of what meets the budget in the place of `target.function`, which is
/// fused as it is.
LogicalResult KernelPlanner::fuseWithin(ModuleOp module, RematTarget &target,
                                        Variant marked, Variant free) {
  FailureOr<RematerializerOptions> options = session.getOptions(target.function);
  if (failed(options))
    return failure();
  SumOrders sums = getSumOrders(target.function);
  StringRef name = target.function.getName();
  for (Variant *variant : {&marked, &free}) {
    if (!variant->module)
      continue;
    std::optional<int64_t> other = findOtherSum(sums, getSumOrders(variant->function));
    if (!other)
      continue;
    Location at = target.function.getLoc();
    target.function.walk([&](Operation *op) {
      auto number = op->getAttrOfType<IntegerAttr>(kSumAttr);
      if (number && number.getInt() == *other)
        at = op->getLoc();
    });
    emitRemark(RemarkId::KeptForBits, at, name) << remark::reason(
        "{0} ops of '{1}' are not repeated before fusion: this sum would "
        "be taken in another order",
        variant->repeated.size(), name);
    *variant = Variant();
  }
  for (Variant *variant : {&marked, &free})
    if (variant->module)
      eraseTemporaryMarks(variant->function);
  eraseTemporaryMarks(target.function);

  if (options->planning.strategy == RematStrategy::MinCut)
    options->planning.strategy = RematStrategy::None;
  auto plain = std::make_unique<Rematerializer>(target.function, *options);
  if (failed(plain->prepare()))
    return failure();
  const int64_t plainBytes = plain->getOutcome().bytes, plainCost = plain->getPlainCost();
  std::optional<RematBudget> budget = target.budget;
  if (budget && budget->kind == RematBudget::Ratio)
    budget = RematBudget{RematBudget::Bytes,
                         resolveRematBudget(*budget, plainBytes).value_or(0)};

  if (session.curves) {
    SmallVector<Rematerializer *> planners = {plain.get()};
    std::unique_ptr<Rematerializer> other;
    if (free.module) {
      other = std::make_unique<Rematerializer>(free.function, *options);
      if (failed(other->prepare()))
        return failure();
      planners.push_back(other.get());
    }
    return session.draw(target.function, "arena", *plain, planners);
  }

  // In the order in which they are asked; the first of equals wins.
  SmallVector<std::pair<Variant *, std::unique_ptr<Rematerializer>>> planners;
  Variant asItIs;
  asItIs.function = target.function;
  const bool onlyFree = StringRef(session.request.strategy) == "mincut" && free.module;
  if (!onlyFree)
    planners.emplace_back(marked.module ? &marked : &asItIs,
                          marked.module ? nullptr : std::move(plain));
  if (free.module)
    planners.emplace_back(&free, nullptr);
  Rematerializer *best = nullptr;
  Variant *chosen = nullptr;
  for (auto &[variant, planner] : planners) {
    if (!planner) {
      planner = std::make_unique<Rematerializer>(variant->function, *options);
      if (failed(planner->prepare()))
        return failure();
      planner->setReference(plainCost, plainBytes);
    }
    if (failed(planner->plan(budget)))
      return failure();
    const RematOutcome &mine = planner->getOutcome();
    auto isBetter = [&] {
      const RematOutcome &other = best->getOutcome();
      if (mine.isMet != other.isMet)
        return mine.isMet;
      bool isSmaller = mine.bytes < other.bytes,
           isFaster = mine.plan.cost < other.plan.cost;
      bool byBytes = !mine.isMet || (budget && budget->kind == RematBudget::Min);
      if (byBytes)
        return mine.bytes != other.bytes ? isSmaller : isFaster;
      return mine.plan.cost != other.plan.cost ? isFaster : isSmaller;
    };
    if (!best || isBetter()) {
      best = planner.get();
      chosen = variant;
    }
    if (mine.isMet && budget && budget->kind != RematBudget::Min &&
        mine.plan.cost <= plainCost)
      break;
  }
  if (failed(best->finish()))
    return failure();
  for (const RepeatedOp &op : chosen->repeated)
    emitRemark(RemarkId::RecomputedInFusion, op.location, name)
        << remark::reason("{0} is computed again where the backward pass reads it: {1} "
                          "bytes need not be kept for that",
                          op.name, op.bytes);
  eraseMarks(chosen->function);
  if (chosen == &asItIs)
    return success();
  chosen->function->remove();
  target.function->getBlock()->getOperations().insert(target.function->getIterator(),
                                                      chosen->function);
  target.function.erase();
  return success();
}

LogicalResult KernelPlanner::fuseAll(ModuleOp module,
                                     MutableArrayRef<RematTarget> targets) {
  // Only what has something to decide goes more than one way.
  SmallVector<RematTarget *> decided;
  SmallVector<StringRef> allNames;
  SmallVector<bool> cameFused;
  StringRef asked = session.request.strategy;
  for (RematTarget &target : targets) {
    if (failed(session.getOptions(target.function)))
      return failure();
    allNames.push_back(target.function.getName());
    cameFused.push_back(isFused(target.function));
    bool decides = session.curves || target.budget || hasNeverMarks(target.function) ||
                   asked == "mincut";
    if (!decides || asked == "none" || isFused(target.function))
      continue;
    decided.push_back(&target);
    markBackward(target.function);
  }
  SmallVector<StringRef> names;
  for (RematTarget *target : decided)
    names.push_back(target->function.getName());
  OpPassManager decompose(ModuleOp::getOperationName());
  DecomposePassOptions decomposeOptions;
  decomposeOptions.maxUnrolled = maxUnrolled;
  // For GPUs all gradients are measured in a few launches.
  if (!isForGPU)
    decompose.addPass(createDeferGradientsPass());
  addDecomposePasses(decompose, decomposeOptions);
  if (failed(runPipeline(decompose, module)))
    return failure();
  isolateScans(module);
  SmallVector<std::pair<Variant, Variant>> variants;
  for (auto [target, name] : llvm::zip_equal(decided, names)) {
    // Passes may have put another in its place.
    target->function = module.lookupSymbol<func::FuncOp>(name);
    numberSums(target->function);
    auto &[marked, free] = variants.emplace_back();
    if (hasNeverMarks(target->function)) {
      FailureOr<Variant> made = makeVariant(target->function, /*onlyMarked=*/true);
      if (failed(made))
        return failure();
      marked = std::move(*made);
    }
    bool triesFree = asked == "mincut" || ((session.curves || target->budget) &&
                                           (asked == "auto" || asked == "optimal"));
    if (triesFree) {
      FailureOr<Variant> made = makeVariant(target->function, /*onlyMarked=*/false);
      if (failed(made))
        return failure();
      if (!made->repeated.empty())
        free = std::move(*made);
    }
    eraseNeverMarks(target->function);
  }
  OpPassManager kernels(ModuleOp::getOperationName());
  addKernelPasses(kernels, fusion);
  if (failed(runPipeline(kernels, module)))
    return failure();
  // Equal ops became one, also in bodies of scans.
  isolateScans(module);
  for (auto [target, name, pair] : llvm::zip_equal(decided, names, variants)) {
    auto &[marked, free] = pair;
    target->function = module.lookupSymbol<func::FuncOp>(name);
    if (failed(fuse(module, marked)) || failed(fuse(module, free)) ||
        failed(fuseWithin(module, *target, std::move(marked), std::move(free))))
      return failure();
  }
  // Steps that came fused.
  for (auto [target, name, isFusedAlready] :
       llvm::zip_equal(targets, allNames, cameFused)) {
    target.function = module.lookupSymbol<func::FuncOp>(name);
    if (isFusedAlready && asked != "none" && failed(session.planAll(target)))
      return failure();
    eraseMarks(target.function);
  }
  return success();
}

struct PlanKernelsPass : mpt::impl::PlanKernelsPassBase<PlanKernelsPass> {
  using Base::Base;
  PlanKernelsPass(const PlanKernelsPassOptions &options, std::vector<RematCurve> &curves)
      : Base(options), curves(&curves) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    RematSession session(module,
                         {getArgument(), strategy, budget, function, /*barrier=*/"",
                          /*client=*/"", order, target,
                          std::vector<std::string>(rules.begin(), rules.end()), effort,
                          maxThreads, seed},
                         curves);
    if (failed(session.readOptions()))
      return signalPassFailure();
    FailureOr<SmallVector<RematTarget>> targets = session.findTargets();
    const bool isForGPU = StringRef(target).starts_with("cuda");
    auto runPasses = [&](OpPassManager &passes, ModuleOp nested) {
      return runPipeline(passes, nested);
    };
    if (failed(targets) || failed(KernelPlanner(session, maxUnrolled, isForGPU, runPasses)
                                      .fuseAll(module, *targets)))
      signalPassFailure();
  }

private:
  /// Where set, all that can be chosen goes there, and nothing is rewritten but what
  /// fusing rewrites.
  std::vector<RematCurve> *curves = nullptr;
};

} // namespace

std::unique_ptr<Pass> mpt::createKernelCurvePass(const PlanKernelsPassOptions &options,
                                                 std::vector<RematCurve> &curves) {
  return std::make_unique<PlanKernelsPass>(options, curves);
}
