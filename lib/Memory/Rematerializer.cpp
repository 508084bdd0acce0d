//===- Rematerializer.cpp - Fit one function into a memory budget -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rematerializer.h"

#include "RematConditionals.h"
#include "RematLoops.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Plans count operands and results that take the same bytes twice: by less than this.
static constexpr double mostSavedInPlace = 1.5;

/// Of the bytes without rematerialization: what misses its budget and saves less than
/// this is left out, since estimates for clients are no better.
static constexpr double leastWorthwhile = 0.8;

constexpr int64_t noLimit = std::numeric_limits<int64_t>::max();

/// Simulated executions of an op of a fused step.
static constexpr int64_t mostRunsPerOp = 2000;

FailureOr<int64_t> Rematerializer::measureArena(func::FuncOp step, int64_t most,
                                                bool needsBest, bool describe) {
  FailureOr<InstructionList> schedule =
      listInstructions(step, options.maxThreads, options.target);
  if (failed(schedule))
    return failure();
  ArenaOptions arena;
  arena.mostBytes = most;
  if (describe)
    describeMemory(step, *schedule);
  MemorySchedule planned =
      scheduleForMemory(step, *schedule, options.order, arena, needsBest);
  if (describe && planned.order != OrderHeuristic::Keep)
    for (const StepInstruction &instruction : schedule->instructions)
      if (bestOrder.empty() || bestOrder.back() != instruction.op)
        bestOrder.push_back(instruction.op);
  return planned.plan.arenaBytes;
}

void Rematerializer::describeMemory(func::FuncOp step, const InstructionList &schedule) {
  build.workspaces.clear();
  build.inPlace.clear();
  // Described in the program's order, which the planner keeps.
  ArenaOptions arena;
  arena.searchSteps = 0;
  BufferAssignment planned = assignBuffers(step, schedule, arena);
  for (const MemoryOp &op : planned.graph.ops) {
    build.workspaces[op.op] = op.workspace;
    DenseSet<unsigned> outputs;
    for (auto [output, input] : op.inPlace)
      if (planned.graph.buffers[output].inArena() && outputs.insert(output).second)
        build.inPlace[op.op] += planned.graph.buffers[output].bytes;
  }
}

LogicalResult Rematerializer::takeBestOrder() {
  if (bestOrder.empty())
    return success();
  Block &block = function.getBody().front();
  SmallVector<Operation *> order, stack;
  DenseSet<Operation *> placed;
  // Ops that are not instructions come right before their first reader.
  auto place = [&](Operation *last) {
    stack.assign(1, last);
    while (!stack.empty()) {
      Operation *op = stack.back();
      bool isReady = true;
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && !placed.contains(maker)) {
          stack.push_back(maker);
          isReady = false;
        }
      if (!isReady)
        continue;
      stack.pop_back();
      if (placed.insert(op).second)
        order.push_back(op);
    }
  };
  for (Operation *op : bestOrder)
    place(op);
  bestOrder.clear();
  for (Operation &op : block.without_terminator())
    place(&op);
  for (Operation *op : order)
    op->moveBefore(block.getTerminator());
  FailureOr<InstructionList> schedule =
      listInstructions(function, options.maxThreads, options.target);
  if (failed(schedule))
    return failure();
  describeMemory(function, *schedule);
  FailureOr<RematFunction> built = buildRematFunction(function, build);
  if (failed(built))
    return failure();
  described = std::move(*built);
  return success();
}

FailureOr<int64_t> Rematerializer::measurePlan(const RematPlan &plan, int64_t most) {
  // In a module that says what the function's own does, such as its mesh of ranks.
  OwningOpRef<ModuleOp> holder = ModuleOp::create(function.getLoc());
  if (auto module = function->getParentOfType<ModuleOp>())
    holder.get()->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  func::FuncOp trial = function.clone();
  holder->push_back(trial);
  RematFunctionOptions plain = build;
  FailureOr<RematFunction> copy = buildRematFunction(trial, plain);
  if (failed(copy))
    return failure();
  cloneForRemat(trial, *copy, plan.order, options.barrier);
  return measureArena(trial, most, /*needsBest=*/true, /*describe=*/false);
}

LogicalResult Rematerializer::addTo(RematCurve &curve) {
  if (failed(takeBestOrder()))
    return failure();
  plans = planFrontier();
  for (const RematPlan &plan : plans) {
    FailureOr<int64_t> bytes = plan.peak;
    if (isFused && failed(bytes = measurePlan(plan, noLimit)))
      return failure();
    curve.plans.push_back({*bytes, plan.cost});
  }
  for (RematCurve::Point &point : curve.points) {
    RematBound bound = boundRemat(described.graph, point.budget);
    if (!bound.infeasible)
      point.bound = std::min(bound.cost, point.bound.value_or(bound.cost));
  }
  return success();
}

LogicalResult Rematerializer::chooseByArena() {
  // Cheapest first; the first whose arena fits is the best there is. For the least
  // arena the smallest first.
  outcome.bytes = std::numeric_limits<int64_t>::max();
  if (!isMin)
    std::reverse(plans.begin(), plans.end());
  for (RematPlan &plan : plans) {
    // What is in place, or in another order, does not save that much.
    int64_t wanted = isMin ? outcome.bytes : outcome.budget;
    if (plan.peak > mostSavedInPlace * double(wanted) && &plan != &plans.back())
      continue;
    FailureOr<int64_t> bytes = measurePlan(plan, wanted);
    if (failed(bytes))
      return failure();
    if (*bytes < outcome.bytes ||
        (*bytes == outcome.bytes && plan.cost < outcome.plan.cost)) {
      outcome.bytes = *bytes;
      outcome.plan = plan;
    }
    if (!isMin && *bytes <= outcome.budget)
      break;
  }
  if (isMin)
    outcome.budget = outcome.bytes;
  outcome.isMet = outcome.bytes <= outcome.budget;
  if (outcome.isMet)
    return success();
  // What is said to be the best was only placed greedily.
  FailureOr<int64_t> bytes = measurePlan(outcome.plan, noLimit);
  if (failed(bytes))
    return failure();
  outcome.bytes = *bytes;
  return success();
}

std::vector<RematPlan> Rematerializer::planFrontier() const {
  if (options.client)
    return planWholeSegments(described.graph,
                             options.planning.strategy == RematStrategy::MinCut);
  return planRematFrontier(described.graph, options.planning);
}

LogicalResult Rematerializer::chooseForClient() {
  OwningOpRef<func::FuncOp> best;
  std::optional<RematFunction> bestDescribed;
  auto take = [&](const RematPlan &plan) {
    outcome.plan = plan;
    outcome.bytes = plan.peak;
  };
  auto chooseFrom = [&](ArrayRef<RematPlan> plans) {
    // The cheapest within the budget, or the one with the fewest bytes.
    const RematPlan *chosen = &plans.front();
    for (const RematPlan &plan : plans)
      if (!isMin && plan.peak <= outcome.budget)
        chosen = &plan;
    return chosen;
  };
  take(*chooseFrom(plans));
  // Repeating in loops costs the more the more of it there is.
  for (LoopRemat level : {LoopRemat::Free, LoopRemat::All}) {
    if ((!isMin && outcome.bytes <= outcome.budget) ||
        (level == LoopRemat::All && options.planning.strategy == RematStrategy::MinCut))
      break;
    OwningOpRef<func::FuncOp> trial(function.clone());
    if (recomputeInLoops(*trial, level, *options.rules) == 0)
      continue;
    FailureOr<RematFunction> other = buildRematFunction(*trial, build);
    if (failed(other) || failed(fuseRematFunction(*other, build)))
      return failure();
    std::vector<RematPlan> frontier = planWholeSegments(
        other->graph, options.planning.strategy == RematStrategy::MinCut);
    const RematPlan *chosen = chooseFrom(frontier);
    if (chosen->peak >= outcome.bytes)
      continue;
    take(*chosen);
    bestDescribed = std::move(*other);
    best = std::move(trial);
  }
  if (isMin)
    outcome.budget = outcome.bytes;
  outcome.isMet = outcome.bytes <= outcome.budget;
  if (!outcome.isMet && outcome.bytes > leastWorthwhile * double(outcome.plainBytes)) {
    take(plans.back());
    return success();
  }
  if (best) {
    function.getBody().takeBody(best->getBody());
    described = std::move(*bestDescribed);
  }
  return success();
}

LogicalResult Rematerializer::choose(std::optional<RematBudget> budget) {
  plans = planFrontier();
  if (plans.empty())
    return function.emitError("mpt-rematerialize: the order of '")
           << function.getName() << "' cannot be planned";
  if (!budget) {
    // What the strategy does by itself, or what the user asked for.
    bool isWhole = options.planning.strategy == RematStrategy::Segments ||
                   options.planning.strategy == RematStrategy::MinCut;
    plans = {isWhole ? plans.front() : plans.back()};
    isMin = true;
  } else {
    isMin = budget->kind == RematBudget::Min;
    outcome.budget = resolveRematBudget(*budget, outcome.plainBytes).value_or(0);
  }
  if (isFused)
    return chooseByArena();
  if (options.client)
    return chooseForClient();
  if (isMin)
    outcome.budget = plans.front().peak;
  outcome.plan = plans.front();
  for (RematPlan &plan : plans)
    if (plan.peak <= outcome.budget)
      outcome.plan = plan;
  outcome.bytes = outcome.plan.peak;
  outcome.isMet = outcome.bytes <= outcome.budget;
  if (options.planning.strategy != RematStrategy::Optimal)
    return success();
  RematResult best =
      planRemat(described.graph, {RematBudget::Bytes, outcome.budget}, options.planning);
  if (best.status == RematResult::Met) {
    outcome.plan = best.plan;
    outcome.bytes = best.plan.peak;
    outcome.isMet = true;
  }
  outcome.isOptimal = best.isOptimal;
  return success();
}

LogicalResult Rematerializer::explainFailure(const RematBound &bound) {
  if (bound.infeasible) {
    Operation *op = described.ops[bound.infeasible->node];
    InFlightDiagnostic error = op->emitError("mpt-rematerialize: '")
                               << function.getName() << "' cannot run in "
                               << outcome.budget << " bytes: while '" << op->getName()
                               << "' runs, " << bound.infeasible->bytes
                               << " bytes must be there, whatever is computed again";
    if (isa<ScanOp>(op))
      error << "; give it 'checkpoint_every', or unroll it with --mpt-unroll-scan";
    error.attachNote() << "its operands, results and workspace take "
                       << described.graph.getWorkingSet(bound.infeasible->node)
                       << " bytes; the rest is of ops that cannot be repeated";
    return error;
  }
  return function.emitError("mpt-rematerialize: no plan found for '")
         << function.getName() << "' in " << outcome.budget
         << " bytes; the best found takes " << outcome.bytes
         << " bytes, none can take fewer than " << getLeastBudget(described.graph).bytes;
}

LogicalResult Rematerializer::apply() {
  if (outcome.plan.order.size() == described.ops.size())
    return success();
  SmallVector<RematGroup> groups =
      cloneForRemat(function, described, outcome.plan.order, options.barrier);
  if (options.client) {
    if (options.client->isolation == RematIsolation::Conditional &&
        options.barrier.empty())
      isolateInConditionals(function, groups, *options.rules);
    return success();
  }
  // The rewritten function must take what was promised.
  FailureOr<int64_t> bytes;
  if (isFused) {
    bytes =
        measureArena(function, outcome.bytes, /*needsBest=*/false, /*describe=*/false);
  } else {
    FailureOr<RematFunction> after = buildRematFunction(function, build);
    if (succeeded(after))
      bytes = measureRemat(after->graph, getPlainOrder(after->graph)).peak;
  }
  if (failed(bytes))
    return failure();
  if (*bytes > outcome.bytes)
    return function.emitError("mpt-rematerialize: '")
           << function.getName() << "' was planned to take " << outcome.bytes
           << " bytes but takes " << *bytes;
  return success();
}

LogicalResult Rematerializer::prepare() {
  Block &block = function.getBody().front();
  isFused = llvm::any_of(block, [](Operation &op) { return isa<kernel::KernelOp>(op); });
  if (isFused) {
    FailureOr<int64_t> bytes =
        measureArena(function, noLimit, /*needsBest=*/true, /*describe=*/true);
    if (failed(bytes))
      return failure();
    outcome.plainBytes = outcome.bytes = *bytes;
  }
  FailureOr<RematFunction> built = buildRematFunction(function, build);
  if (failed(built))
    return failure();
  described = std::move(*built);
  if (options.client) {
    if (isFused)
      return function.emitError("mpt-rematerialize: '")
             << function.getName() << "' has kernels, which MPT runs; leave out client="
             << options.client->name;
    if (failed(fuseRematFunction(described, build)))
      return failure();
  }
  if (!isFused)
    outcome.plainBytes = outcome.bytes =
        measureRemat(described.graph, getPlainOrder(described.graph)).peak;
  referenceCost = described.graph.getTotalCost();
  // Each plan of a step is one more arena to plan; small ones have few that differ.
  if (isFused)
    options.planning.effort =
        std::min<int64_t>(options.planning.effort, mostRunsPerOp * described.ops.size());
  return success();
}

LogicalResult Rematerializer::plan(std::optional<RematBudget> budget) {
  bool hasNever = llvm::any_of(described.graph.nodes, [](const RematNode &node) {
    return node.save == RematSave::Never;
  });
  bool isWhole = options.planning.strategy == RematStrategy::Segments ||
                 options.planning.strategy == RematStrategy::MinCut;
  isIdle = described.ops.empty() || (!budget && !isWhole && !hasNever);
  if (isIdle) {
    outcome.isMet = true;
    return success();
  }
  if (budget && failed(takeBestOrder()))
    return failure();
  return choose(budget);
}

LogicalResult Rematerializer::finish() {
  if (isIdle)
    return success();
  RematBound bound = boundRemat(described.graph, outcome.budget);
  if (outcome.isOptimal)
    bound.cost = outcome.plan.cost;
  if (!outcome.isMet && options.client) {
    // An estimate proves nothing.
    InFlightDiagnostic warning =
        function.emitWarning("mpt-rematerialize: '")
        << function.getName() << "' takes " << outcome.bytes
        << " bytes, by estimate, and " << outcome.budget
        << " were asked for; no plan of whole segments takes "
        << (outcome.bytes == outcome.plainBytes ? "a fifth less, so it stays as it is"
                                                : "fewer");
    if (function.walk([](func::CallOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      warning << "; what it calls is not planned with it: inline the calls first "
                 "(of StableHLO: python -m mpt.jax --inline FILE)";
  } else if (!outcome.isMet) {
    return explainFailure(bound);
  }
  report(bound);
  return apply();
}
