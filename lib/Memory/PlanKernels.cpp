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
  /// The ops in the order in which they run, with what is repeated.
  std::vector<uint32_t> order;
};

/// A step that is fused in more ways than one.
struct Decided {
  RematTarget *target;
  StringRef name;
  /// Whether nothing is asked of it.
  bool isUnasked;
  /// With what is marked repeated, and with what fusion absorbs: at most one each, but
  /// for what is unasked.
  SmallVector<Variant, 1> marked, free;
};

/// Bytes of the arena and time of a fused step, by estimate.
struct StepNeeds {
  int64_t bytes, cost;
};

/// What a step of which nothing is asked repeats: at these prices of a unit of time in
/// bytes, the first that is good enough. The least lets kernels run again whose results
/// matmuls read; the greatest leaves functions such as exp alone.
constexpr double pricesUnasked[] = {0.25, 0.5, 1};

/// Such a step may cost `mostMoreUnasked` more than without, and in addition this share
/// of the part of the arena that it saves. What is repeated may cost `mostAgainUnasked`
/// of the step, and as much again if it saved all of the arena, or half of it in half
/// precision: there functions take as long as in f32 and save half the bytes, and norms
/// that are not rounded (WideTemporaries.h) take more than in f32 if they are not
/// repeated. Estimates count bytes that caches hold as if they were moved.
constexpr double mostMoreUnasked = 0.05, shareOfSaved = 1. / 3, mostAgainUnasked = 0.1;

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
  FailureOr<Variant> makeVariant(func::FuncOp function, bool onlyMarked,
                                 double price = 0);
  LogicalResult fuse(ModuleOp module, Variant &variant);
  /// Whether `target` is a training step for CPUs of which nothing is asked.
  bool isUnasked(const RematTarget &target) {
    func::FuncOp function = target.function;
    return !isForGPU && !session.curves && !target.budget &&
           StringRef(session.request.strategy) == "auto" && !hasNeverMarks(function) &&
           !function.getOps<GradSeedOp>().empty();
  }
  LogicalResult fuseWithin(ModuleOp module, RematTarget &target, Variant marked,
                           Variant free);
  /// What `function`, which is fused, needs.
  FailureOr<StepNeeds> estimate(func::FuncOp function);
  /// For steps of which nothing is asked: puts the first of `variants` that needs less
  /// memory, and about as much time, in the place of `target.function`.
  LogicalResult takeSmaller(ModuleOp module, RematTarget &target,
                            MutableArrayRef<Variant> variants);
  /// Empties `variant` if it takes a sum in another order than `plain`, and says so.
  void dropIfOtherSums(func::FuncOp plain, const SumOrders &sums, Variant &variant);
  /// Tells what the step that takes the place of `target.function` repeats, and puts it
  /// there.
  void take(RematTarget &target, Variant &variant);

  RematSession &session;
  int64_t maxUnrolled;
  bool isForGPU;
  FusionOptions fusion;
  RunPasses runPipeline;
};

FailureOr<Variant> KernelPlanner::makeVariant(func::FuncOp function, bool onlyMarked,
                                              double price) {
  Variant variant;
  variant.module = ModuleOp::create(function.getLoc());
  // Such as the mesh of a step of several ranks.
  if (auto module = function->getParentOfType<ModuleOp>())
    variant.module.get()->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  variant.function = function.clone();
  variant.module->push_back(variant.function);
  FailureOr<SmallVector<RepeatedOp>> repeated = repeatBeforeFusion(
      variant.function, session.table, variant.order, onlyMarked, price);
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

void KernelPlanner::dropIfOtherSums(func::FuncOp plain, const SumOrders &sums,
                                    Variant &variant) {
  if (!variant.module)
    return;
  std::optional<int64_t> other =
      findOtherSum(sums, getSumOrders(variant.function, isForGPU));
  if (!other)
    return;
  StringRef name = plain.getName();
  Location at = plain.getLoc();
  plain.walk([&](Operation *op) {
    auto number = op->getAttrOfType<IntegerAttr>(kSumAttr);
    if (number && number.getInt() == *other)
      at = op->getLoc();
  });
  emitRemark(RemarkId::KeptForBits, at, name)
      << remark::reason("{0} ops of '{1}' are not repeated before fusion: this sum would "
                        "be taken in another order",
                        variant.repeated.size(), name);
  variant = Variant();
}

void KernelPlanner::take(RematTarget &target, Variant &variant) {
  StringRef name = target.function.getName();
  for (const RepeatedOp &op : variant.repeated)
    emitRemark(RemarkId::RecomputedInFusion, op.location, name)
        << remark::reason("{0} is computed again where the backward pass reads it: {1} "
                          "bytes need not be kept for that",
                          op.name, op.bytes);
  eraseMarks(variant.function);
  if (variant.function == target.function)
    return;
  variant.function->remove();
  target.function->getBlock()->getOperations().insert(target.function->getIterator(),
                                                      variant.function);
  target.function.erase();
}

FailureOr<StepNeeds> KernelPlanner::estimate(func::FuncOp function) {
  FailureOr<RematerializerOptions> options = session.getOptions(function);
  if (failed(options))
    return failure();
  FailureOr<InstructionList> schedule =
      listInstructions(function, options->maxThreads, options->target);
  RematFunctionOptions build;
  build.rules = &session.table;
  FailureOr<RematFunction> described = buildRematFunction(function, build);
  if (failed(schedule) || failed(described))
    return failure();
  // Offsets are not searched for: the step that is taken is planned again.
  ArenaOptions arena;
  arena.searchSteps = 0;
  MemorySchedule planned = scheduleForMemory(function, *schedule, options->order, arena);
  return StepNeeds{planned.plan.arenaBytes, described->graph.getTotalCost()};
}

LogicalResult KernelPlanner::takeSmaller(ModuleOp module, RematTarget &target,
                                         MutableArrayRef<Variant> variants) {
  Variant plain;
  plain.function = target.function;
  const SumOrders sums = getSumOrders(target.function, isForGPU);
  eraseTemporaryMarks(target.function);
  FailureOr<StepNeeds> before = estimate(target.function);
  if (failed(before))
    return failure();
  Variant *chosen = &plain;
  const bool isHalf = llvm::any_of(target.function.getOps(), [](Operation &op) {
    return llvm::any_of(op.getResultTypes(), [](Type type) {
      Type element = getElementTypeOrSelf(type);
      return element.isBF16() || element.isF16();
    });
  });
  const double share = isHalf ? 2 : 1;
  for (Variant &variant : variants) {
    double again = 0;
    for (const RepeatedOp &op : variant.repeated)
      again += double(op.cost);
    // Too much, whatever it saves.
    if (again > 2 * mostAgainUnasked * double(before->cost))
      continue;
    if (failed(fuse(module, variant)))
      return failure();
    if (findOtherSum(sums, getSumOrders(variant.function, isForGPU)))
      continue;
    eraseTemporaryMarks(variant.function);
    FailureOr<StepNeeds> after = estimate(variant.function);
    if (failed(after))
      return failure();
    const double saved = 1 - double(after->bytes) / double(before->bytes),
                 more = mostMoreUnasked + shareOfSaved * saved,
                 mostAgain = mostAgainUnasked * (1 + std::min(1., share * saved));
    if (saved > 0 && again <= mostAgain * double(before->cost) &&
        double(after->cost) <= (1 + more) * double(before->cost)) {
      chosen = &variant;
      break;
    }
  }
  take(target, *chosen);
  return success();
}

/// Puts the fastest of what meets the budget in the place of `target.function`, which is
/// fused as it is.
LogicalResult KernelPlanner::fuseWithin(ModuleOp module, RematTarget &target,
                                        Variant marked, Variant free) {
  FailureOr<RematerializerOptions> options = session.getOptions(target.function);
  if (failed(options))
    return failure();
  SumOrders sums = getSumOrders(target.function, isForGPU);
  for (Variant *variant : {&marked, &free})
    dropIfOtherSums(target.function, sums, *variant);
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
  take(target, *chosen);
  return success();
}

LogicalResult KernelPlanner::fuseAll(ModuleOp module,
                                     MutableArrayRef<RematTarget> targets) {
  // Only what has something to decide goes more than one way.
  SmallVector<Decided, 0> decided;
  SmallVector<StringRef> allNames;
  SmallVector<bool> cameFused;
  StringRef asked = session.request.strategy;
  for (RematTarget &target : targets) {
    if (failed(session.getOptions(target.function)))
      return failure();
    allNames.push_back(target.function.getName());
    cameFused.push_back(isFused(target.function));
    const bool unasked = isUnasked(target);
    bool decides = session.curves || target.budget || hasNeverMarks(target.function) ||
                   asked == "mincut" || unasked;
    if (!decides || asked == "none" || isFused(target.function))
      continue;
    decided.push_back({&target, target.function.getName(), unasked, {}, {}});
    markBackward(target.function);
  }
  OpPassManager decompose(ModuleOp::getOperationName());
  DecomposePassOptions decomposeOptions;
  decomposeOptions.maxUnrolled = maxUnrolled;
  // For GPUs all gradients are measured in a few launches.
  if (!isForGPU) {
    decompose.addPass(createDeferGradientsPass());
    decompose.addPass(createMultiplyPatchesPass());
    decompose.addPass(createFoldTransposesPass());
    decompose.addPass(createFoldScatterAddsPass());
    decompose.addPass(createPoolBeforeReluPass());
  }
  addDecomposePasses(decompose, decomposeOptions);
  if (failed(runPipeline(decompose, module)))
    return failure();
  isolateScans(module);
  for (Decided &each : decided) {
    // Passes may have put another in its place.
    RematTarget &target = *each.target;
    target.function = module.lookupSymbol<func::FuncOp>(each.name);
    numberSums(target.function);
    auto make = [&](SmallVectorImpl<Variant> &into, bool onlyMarked, double price) {
      FailureOr<Variant> made = makeVariant(target.function, onlyMarked, price);
      if (failed(made))
        return failure();
      // At another price the same may be repeated.
      const bool isKnown = !into.empty() && into.back().order == made->order;
      if (!isKnown && (onlyMarked || !made->repeated.empty()))
        into.push_back(std::move(*made));
      return success();
    };
    if (hasNeverMarks(target.function) &&
        failed(make(each.marked, /*onlyMarked=*/true, 0)))
      return failure();
    bool triesFree = asked == "mincut" || ((session.curves || target.budget) &&
                                           (asked == "auto" || asked == "optimal"));
    if (triesFree && failed(make(each.free, /*onlyMarked=*/false, 0)))
      return failure();
    if (each.isUnasked)
      for (double price : pricesUnasked)
        if (failed(make(each.free, /*onlyMarked=*/false, price)))
          return failure();
    eraseNeverMarks(target.function);
  }
  OpPassManager kernels(ModuleOp::getOperationName());
  addKernelPasses(kernels, fusion);
  if (failed(runPipeline(kernels, module)))
    return failure();
  // Equal ops became one, also in bodies of scans.
  isolateScans(module);
  for (Decided &each : decided) {
    each.target->function = module.lookupSymbol<func::FuncOp>(each.name);
    if (each.isUnasked) {
      if (failed(takeSmaller(module, *each.target, each.free)))
        return failure();
      continue;
    }
    auto first = [](SmallVectorImpl<Variant> &variants) {
      return variants.empty() ? Variant() : std::move(variants.front());
    };
    Variant marked = first(each.marked), free = first(each.free);
    if (failed(fuse(module, marked)) || failed(fuse(module, free)) ||
        failed(fuseWithin(module, *each.target, std::move(marked), std::move(free))))
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
