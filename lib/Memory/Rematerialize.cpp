//===- Rematerialize.cpp - Fit functions into memory budgets -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-rematerialize`. With `grain=kernels` steps are fused here, in several ways if
/// there is a budget: as they are, and with what fusion absorbs repeated before it
/// (RematBeforeFusion.h). The fastest that meets the budget takes the step's place.
///
//===----------------------------------------------------------------------===//

#include "RematBeforeFusion.h"
#include "Rematerializer.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Support/Remarks.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/ResultNames.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace mpt {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// A function to plan.
struct Target {
  func::FuncOp function;
  std::optional<RematBudget> budget;
};

/// One way to fuse a step: in a module of its own, or (the plain one) in its place.
struct Variant {
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  SmallVector<RepeatedOp> repeated;
};

bool isFused(func::FuncOp function) {
  return !function.getOps<kernel::KernelOp>().empty();
}

struct RematerializePass : mpt::impl::RematerializePassBase<RematerializePass> {
  using Base::Base;
  RematerializePass(const RematerializePassOptions &options,
                    std::vector<RematCurve> &curves)
      : Base(options), curves(&curves) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(readOptions(module)))
      return signalPassFailure();
    FailureOr<SmallVector<Target>> targets = findTargets(module);
    if (succeeded(targets) && module.getOps<func::FuncOp>().empty())
      return warnOfNothingToDo(module, getArgument(), "no function with a body");
    if (succeeded(targets) && planning.planning.strategy == RematStrategy::None &&
        grain != "kernels")
      return;
    if (failed(targets) || failed(grain == "kernels" ? fuseAll(module, *targets)
                                                     : planAll(*targets)))
      signalPassFailure();
  }

private:
  LogicalResult readOptions(ModuleOp module);
  FailureOr<SmallVector<Target>> findTargets(ModuleOp module);
  FailureOr<RematerializerOptions> getOptions(func::FuncOp target);
  LogicalResult planAll(ArrayRef<Target> targets);
  LogicalResult fuseAll(ModuleOp module, MutableArrayRef<Target> targets);
  /// A copy of `function` in a module of its own, with what was repeated.
  FailureOr<Variant> makeVariant(func::FuncOp function, bool onlyMarked);
  LogicalResult fuse(ModuleOp module, Variant &variant);
  /// A curve of `target` with what each of `planners` has to offer.
  LogicalResult draw(func::FuncOp target, StringRef measure, Rematerializer &plain,
                     ArrayRef<Rematerializer *> planners);
  LogicalResult fuseWithin(ModuleOp module, Target &target, Variant marked, Variant free);

  /// Where set, all that can be chosen goes there, and nothing is rewritten but what
  /// fusing rewrites.
  std::vector<RematCurve> *curves = nullptr;
  /// Passes are copied, tables are not.
  std::shared_ptr<RuleTable> table;
  RematerializerOptions planning;
};

LogicalResult RematerializePass::readOptions(ModuleOp module) {
  std::optional<RematStrategy> chosen = parseRematStrategy(strategy);
  if (!chosen)
    return module.emitError("mpt-rematerialize: unknown strategy '")
           << strategy << "'; expected auto, none, segments, mincut or optimal";
  if (effort < 0 || maxThreads < 1)
    return module.emitError("mpt-rematerialize: effort must be at least 0 and max-threads "
                            "at least 1");
  if (!barrier.empty() && !StringRef(barrier).contains('.'))
    return module.emitError("mpt-rematerialize: barrier must name an op with its dialect, "
                            "such as stablehlo.optimization_barrier, found '")
           << barrier << "'";
  if (grain != "auto" && grain != "kernels")
    return module.emitError("mpt-rematerialize: grain must be auto or kernels, got '")
           << grain << "'";
  table = std::make_shared<RuleTable>();
  for (const std::string &file : *rules)
    if (failed(table->addFile(module.getLoc(), file)))
      return failure();
  planning.rules = table.get();
  planning.planning.strategy = *chosen;
  planning.planning.effort = effort;
  planning.planning.seed = seed;
  planning.barrier = barrier;
  planning.maxThreads = maxThreads;
  planning.target = TargetAttr::fromText(
      target, [&] { return module.emitError("mpt-rematerialize: "); }, &getContext());
  return success(planning.target != TargetAttr());
}

FailureOr<SmallVector<Target>> RematerializePass::findTargets(ModuleOp module) {
  if (!function.empty()) {
    auto named = module.lookupSymbol<func::FuncOp>(function);
    if (!named || named.isDeclaration())
      return mlir::emitError(mpt::detail::getModuleLocation(module),
                             "mpt-rematerialize: no function '")
             << function << "' with a body in this module";
  }
  SmallVector<Target> targets;
  for (auto candidate : module.getOps<func::FuncOp>()) {
    if (candidate.isDeclaration() ||
        (!function.empty() && candidate.getName() != function))
      continue;
    warnOfUnnamedResults(candidate, getArgument());
    WalkResult marked = candidate.walk([&](Operation *op) {
      for (StringRef mark : {kBackwardAttr, kSumAttr})
        if (op->hasAttr(mark)) {
          op->emitError("mpt-rematerialize: expected no '")
              << mark << "', which this pass sets and removes; remove it";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (marked.wasInterrupted())
      return failure();
    auto own = candidate->getAttrOfType<StringAttr>(kBudgetAttr);
    StringRef text = own ? own.getValue() : StringRef(budget);
    if (!candidate.getBody().hasOneBlock()) {
      if (text.empty() && function.empty()) {
        if (strategy == "mincut" || strategy == "segments")
          candidate.emitWarning("mpt-rematerialize: '")
              << candidate.getName() << "' stays as it is: it has "
              << candidate.getBody().getBlocks().size() << " blocks, not one";
        continue;
      }
      return candidate.emitError("mpt-rematerialize: expected a function of one block, "
                                 "found ")
             << candidate.getBody().getBlocks().size();
    }
    Target target{candidate, parseRematBudget(text)};
    if (!text.empty() && !target.budget)
      return candidate.emitError("mpt-rematerialize: expected a budget such as 4GiB, 512MB, "
                                 "1000, 0.5x, 50% or min, found '")
             << text << "'";
    targets.push_back(target);
  }
  return targets;
}

FailureOr<RematerializerOptions> RematerializePass::getOptions(func::FuncOp target) {
  FailureOr<std::optional<MemoryOrder>> wanted =
      getWantedOrder(target, order, getArgument());
  if (failed(wanted))
    return failure();
  RematerializerOptions options = planning;
  options.order = *wanted;
  return options;
}

LogicalResult RematerializePass::planAll(ArrayRef<Target> targets) {
  for (const Target &target : targets) {
    FailureOr<RematerializerOptions> options = getOptions(target.function);
    if (failed(options))
      return failure();
    Rematerializer planner(target.function, *options);
    if (curves) {
      StringRef measure = isFused(target.function) ? "arena" : "alive";
      if (failed(planner.prepare()) ||
          failed(draw(target.function, measure, planner, &planner)))
        return failure();
      continue;
    }
    if (failed(planner.prepare()) || failed(planner.plan(target.budget)) ||
        failed(planner.finish()))
      return failure();
  }
  return success();
}

LogicalResult RematerializePass::draw(func::FuncOp target, StringRef measure,
                                      Rematerializer &plain,
                                      ArrayRef<Rematerializer *> planners) {
  RematCurve curve;
  curve.function = target.getName().str();
  curve.measure = measure.str();
  curve.plainBytes = plain.getOutcome().bytes;
  curve.plainCost = plain.getPlainCost();
  for (double ratio : RematCurve::getRatios()) {
    RematBudget budget{RematBudget::Ratio, 0, ratio};
    curve.points.push_back(
        {ratio, resolveRematBudget(budget, curve.plainBytes).value_or(0), {}, {}});
  }
  for (Rematerializer *planner : planners)
    if (failed(planner->addTo(curve)))
      return failure();
  curve.choose();
  curves->push_back(std::move(curve));
  return success();
}

FailureOr<Variant> RematerializePass::makeVariant(func::FuncOp function, bool onlyMarked) {
  Variant variant;
  variant.module = ModuleOp::create(function.getLoc());
  variant.function = function.clone();
  variant.module->push_back(variant.function);
  FailureOr<SmallVector<RepeatedOp>> repeated =
      repeatBeforeFusion(variant.function, *table, onlyMarked);
  if (failed(repeated))
    return failure();
  variant.repeated = std::move(*repeated);
  eraseNeverMarks(variant.function);
  return variant;
}

LogicalResult RematerializePass::fuse(ModuleOp module, Variant &variant) {
  if (!variant.module)
    return success();
  // It lies in the module for that time, so that it can be run through passes.
  ModuleOp nested = variant.module.release();
  module.push_back(nested);
  OpPassManager passes(ModuleOp::getOperationName());
  addKernelPasses(passes);
  const bool fused = succeeded(runPipeline(passes, nested));
  nested->remove();
  variant.module = nested;
  variant.function = nested.lookupSymbol<func::FuncOp>(variant.function.getName());
  return success(fused && variant.function);
}

/// Puts the fastest of what meets the budget in the place of `target.function`, which is
/// fused as it is.
LogicalResult RematerializePass::fuseWithin(ModuleOp module, Target &target,
                                            Variant marked, Variant free) {
  FailureOr<RematerializerOptions> options = getOptions(target.function);
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
    emitRemark(RemarkId::KeptForBits, at, name)
        << remark::reason("{0} ops of '{1}' are not repeated before fusion: this sum would "
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

  if (curves) {
    SmallVector<Rematerializer *> planners = {plain.get()};
    std::unique_ptr<Rematerializer> other;
    if (free.module) {
      other = std::make_unique<Rematerializer>(free.function, *options);
      if (failed(other->prepare()))
        return failure();
      planners.push_back(other.get());
    }
    return draw(target.function, "arena", *plain, planners);
  }

  // In the order in which they are asked; the first of equals wins.
  SmallVector<std::pair<Variant *, std::unique_ptr<Rematerializer>>> planners;
  Variant asItIs;
  asItIs.function = target.function;
  const bool onlyFree = StringRef(strategy) == "mincut" && free.module;
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
      bool isSmaller = mine.bytes < other.bytes, isFaster = mine.plan.cost < other.plan.cost;
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

LogicalResult RematerializePass::fuseAll(ModuleOp module,
                                         MutableArrayRef<Target> targets) {
  // Only what has something to decide goes more than one way.
  SmallVector<Target *> decided;
  SmallVector<StringRef> allNames;
  SmallVector<bool> cameFused;
  StringRef asked = strategy;
  for (Target &target : targets) {
    if (failed(getOptions(target.function)))
      return failure();
    allNames.push_back(target.function.getName());
    cameFused.push_back(isFused(target.function));
    bool decides = curves || target.budget || hasNeverMarks(target.function) ||
                   asked == "mincut";
    if (!decides || asked == "none" || isFused(target.function))
      continue;
    decided.push_back(&target);
    markBackward(target.function);
  }
  SmallVector<StringRef> names;
  for (Target *target : decided)
    names.push_back(target->function.getName());
  OpPassManager decompose(ModuleOp::getOperationName());
  addDecomposePasses(decompose);
  if (failed(runPipeline(decompose, module)))
    return failure();
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
    bool triesFree = asked == "mincut" ||
                     ((curves || target->budget) && (asked == "auto" || asked == "optimal"));
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
  addKernelPasses(kernels);
  if (failed(runPipeline(kernels, module)))
    return failure();
  for (auto [target, name, pair] : llvm::zip_equal(decided, names, variants)) {
    auto &[marked, free] = pair;
    target->function = module.lookupSymbol<func::FuncOp>(name);
    if (failed(fuse(module, marked)) || failed(fuse(module, free)) ||
        failed(fuseWithin(module, *target, std::move(marked), std::move(free))))
      return failure();
  }
  // Steps that came fused.
  for (auto [target, name, isFusedAlready] : llvm::zip_equal(targets, allNames, cameFused)) {
    target.function = module.lookupSymbol<func::FuncOp>(name);
    if (isFusedAlready && asked != "none" && failed(planAll(target)))
      return failure();
    eraseMarks(target.function);
  }
  return success();
}

} // namespace

std::unique_ptr<Pass> mpt::createRematCurvePass(const RematerializePassOptions &options,
                                                std::vector<RematCurve> &curves) {
  return std::make_unique<RematerializePass>(options, curves);
}
