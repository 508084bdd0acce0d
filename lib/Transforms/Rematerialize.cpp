//===- Rematerialize.cpp - Fit a function into a memory budget -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-rematerialize`: describes a function to the planner (RematFunction.h),
/// chooses from its frontier (RematPlan.h) and clones ops accordingly. Of a fused step
/// a plan counts only for the arena that planSlots makes of it: plans are tried,
/// cheapest first, on copies of the function.
///
//===----------------------------------------------------------------------===//

#include "RematClones.h"
#include "mpt/Analysis/RematPlan.h"
#include "mpt/Analysis/StepOrder.h"
#include "mpt/Transforms/MemoryPasses.h"
#include "llvm/ADT/ScopeExit.h"

#include "mlir/IR/Remarks.h"

namespace mpt {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "mpt/Transforms/MemoryPasses.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

constexpr StringLiteral kBudgetAttr = "mpt.memory_budget";
/// Remarks on kept values, the largest first.
constexpr size_t maxKeptRemarks = 20;

/// The options of a remark of this pass.
remark::RemarkOpts named(StringRef name, StringRef function) {
  return remark::RemarkOpts::name(name).category("mpt.remat").function(function);
}

/// What is done to one function.
struct Outcome {
  RematPlan plan;
  /// Bytes without rematerialization, within the budget, and reached: of the arena or
  /// alive.
  int64_t plainBytes = 0, budget = 0, bytes = 0;
  bool isMet = false, isOptimal = false;
};

class Rematerializer {
public:
  Rematerializer(func::FuncOp function, RuleTable &rules, const RematOptions &options,
                 StringRef barrier, int64_t maxThreads, std::optional<MemoryOrder> order)
      : function(function), options(options), barrier(barrier), maxThreads(maxThreads),
        order(order) {
    build.rules = &rules;
    build.barrier = barrier;
  }

  LogicalResult run(StringRef budgetText);

private:
  /// Arena bytes of `step`; also fills in workspaces if `describe`.
  FailureOr<int64_t> measureArena(func::FuncOp step, bool describe);
  LogicalResult choose(std::optional<RematBudget> budget);
  LogicalResult chooseByArena();
  LogicalResult explainFailure(const RematBound &bound);
  LogicalResult apply();
  void report(const RematBound &bound);

  func::FuncOp function;
  RematOptions options;
  StringRef barrier;
  int64_t maxThreads;
  std::optional<MemoryOrder> order;
  RematFunctionOptions build;
  RematFunction described;
  std::vector<RematPlan> plans;
  bool isFused = false, isMin = false;
  Outcome outcome;
};

FailureOr<int64_t> Rematerializer::measureArena(func::FuncOp step, bool describe) {
  FailureOr<StepSchedule> schedule = scheduleStep(step, maxThreads);
  if (failed(schedule))
    return failure();
  // Described in the program's order, which the planner keeps.
  if (describe) {
    SlotPlan slots = planSlots(step, *schedule);
    for (const MemoryOp &op : slots.graph.ops) {
      build.workspaces[op.op] = op.workspace;
      DenseSet<unsigned> outputs;
      for (auto [output, input] : op.inPlace)
        if (slots.graph.buffers[output].inArena() && outputs.insert(output).second)
          build.inPlace[op.op] += slots.graph.buffers[output].bytes;
    }
  }
  return planOrderedSlots(step, *schedule, order).plan.arenaBytes;
}

LogicalResult Rematerializer::chooseByArena() {
  // Cheapest first; the first whose arena fits is the best there is.
  outcome.bytes = std::numeric_limits<int64_t>::max();
  for (RematPlan &plan : llvm::reverse(plans)) {
    func::FuncOp trial = function.clone();
    auto discard = llvm::make_scope_exit([&] { trial.erase(); });
    RematFunctionOptions plain = build;
    FailureOr<RematFunction> copy = buildRematFunction(trial, plain);
    if (failed(copy))
      return failure();
    cloneForRemat(trial, *copy, plan.order, barrier);
    FailureOr<int64_t> bytes = measureArena(trial, /*describe=*/false);
    if (failed(bytes))
      return failure();
    if (*bytes < outcome.bytes) {
      outcome.bytes = *bytes;
      outcome.plan = plan;
    }
    if (!isMin && *bytes <= outcome.budget)
      break;
  }
  if (isMin)
    outcome.budget = outcome.bytes;
  outcome.isMet = outcome.bytes <= outcome.budget;
  return success();
}

LogicalResult Rematerializer::choose(std::optional<RematBudget> budget) {
  plans = planRematFrontier(described.graph, options);
  if (plans.empty())
    return function.emitError("mpt-rematerialize: the order of '")
           << function.getName() << "' cannot be planned";
  if (!budget) {
    // What the strategy does by itself, or what the user asked for.
    bool isWhole = options.strategy == RematStrategy::Segments ||
                   options.strategy == RematStrategy::MinCut;
    plans = {isWhole ? plans.front() : plans.back()};
    isMin = true;
  } else {
    isMin = budget->kind == RematBudget::Min;
    outcome.budget = resolveRematBudget(*budget, outcome.plainBytes).value_or(0);
  }
  if (isFused)
    return chooseByArena();
  if (isMin)
    outcome.budget = plans.front().peak;
  outcome.plan = plans.front();
  for (RematPlan &plan : plans)
    if (plan.peak <= outcome.budget)
      outcome.plan = plan;
  outcome.bytes = outcome.plan.peak;
  outcome.isMet = outcome.bytes <= outcome.budget;
  if (options.strategy != RematStrategy::Optimal)
    return success();
  RematResult best = planRemat(described.graph, {RematBudget::Bytes, outcome.budget}, options);
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
                               << function.getName() << "' cannot run in " << outcome.budget
                               << " bytes: while '" << op->getName() << "' runs, "
                               << bound.infeasible->bytes
                               << " bytes must be there, whatever is computed again";
    error.attachNote() << "its operands, results and workspace take "
                       << described.graph.getWorkingSet(bound.infeasible->node)
                       << " bytes; the rest is of ops that cannot be repeated";
    return error;
  }
  return function.emitError("mpt-rematerialize: no plan found for '")
         << function.getName() << "' in " << outcome.budget << " bytes; the best found takes "
         << outcome.bytes << " bytes, none can take fewer than "
         << getLeastBudget(described.graph).bytes;
}

void Rematerializer::report(const RematBound &bound) {
  const RematGraph &graph = described.graph;
  double total = std::max<int64_t>(graph.getTotalCost(), 1);
  std::vector<uint32_t> runs(graph.nodes.size(), 0);
  for (uint32_t node : outcome.plan.order)
    ++runs[node];
  for (auto [id, count] : llvm::enumerate(runs)) {
    if (count < 2)
      continue;
    int64_t bytes = 0;
    for (uint32_t value : graph.nodes[id].outputs)
      bytes += graph.values[value].bytes;
    remark::passed(described.ops[id]->getLoc(), named("mpt.remat.recomputed", function.getName()))
        << remark::reason("{0} runs {1} times: {2} bytes are not kept in between, for {3:P2} "
                          "of the step each time",
                          described.ops[id]->getName().getStringRef(), count, bytes,
                          graph.nodes[id].cost / total);
  }
  // What is kept all the same where most bytes are alive.
  std::vector<double> worth(graph.nodes.size() + 1, 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    worth[i + 1] = worth[i] + (i < bound.prices.size() ? bound.prices[i] : 0);
  std::vector<uint32_t> last(graph.values.size(), 0);
  for (uint32_t id = 0; id < graph.nodes.size(); ++id)
    for (uint32_t value : graph.nodes[id].inputs)
      last[value] = id;
  uint32_t peak = measureRemat(graph, getPlainOrder(graph)).peakPosition;
  SmallVector<uint32_t> kept;
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].node < peak && last[value] > peak &&
        graph.values[value].bytes > 0 && runs[graph.values[value].node] == 1)
      kept.push_back(value);
  llvm::stable_sort(kept, [&](uint32_t a, uint32_t b) {
    return graph.values[a].bytes > graph.values[b].bytes;
  });
  if (kept.size() > maxKeptRemarks)
    kept.resize(maxKeptRemarks);
  for (uint32_t value : kept) {
    const RematNode &node = graph.nodes[graph.values[value].node];
    Operation *op = described.ops[graph.values[value].node];
    if (!node.repeats()) {
      remark::missed(op->getLoc(), named("mpt.remat.kept-always", function.getName()))
          << remark::reason("{0} keeps {1} bytes: it {2}", op->getName().getStringRef(),
                            graph.values[value].bytes,
                            node.mayRepeat ? "has mpt.save = \"must\""
                                           : "has effects, or none are known");
      continue;
    }
    double price = graph.values[value].bytes *
                   (worth[last[value]] - worth[graph.values[value].node + 1]);
    remark::missed(op->getLoc(), named("mpt.remat.kept-for-price", function.getName()))
        << remark::reason("{0} keeps {1} bytes: again it would take {2:P2} of the step; the "
                          "bytes are worth {3:P2}",
                          op->getName().getStringRef(), graph.values[value].bytes,
                          node.cost / total, price / total);
  }
  double cost = outcome.plan.cost / total, least = bound.cost / total;
  remark::analysis(function.getLoc(), named("mpt.remat.summary", function.getName()))
      << remark::reason("'{0}': {1} bytes of {2} ({3}), budget {4}; predicted time {5:F4}, "
                        "at least {6:F4} in this order of ops, gap {7:F2} %{8}",
                        function.getName(), outcome.bytes, outcome.plainBytes,
                        isFused ? "arena" : "alive", outcome.budget, cost, least,
                        100 * (cost / least - 1), outcome.isOptimal ? ", optimal" : "");
}

LogicalResult Rematerializer::apply() {
  if (outcome.plan.order.size() == described.ops.size())
    return success();
  cloneForRemat(function, described, outcome.plan.order, barrier);
  // The rewritten function must take what was promised.
  FailureOr<int64_t> bytes;
  if (isFused) {
    bytes = measureArena(function, /*describe=*/false);
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

LogicalResult Rematerializer::run(StringRef budgetText) {
  std::optional<RematBudget> budget;
  if (!budgetText.empty()) {
    budget = parseRematBudget(budgetText);
    if (!budget)
      return function.emitError("mpt-rematerialize: expected a budget such as 4GiB, 512MB, "
                                "1000, 0.5x, 50% or min, found '")
             << budgetText << "'";
  }
  Block &block = function.getBody().front();
  isFused = llvm::any_of(block, [](Operation &op) { return isa<KernelOp>(op); });
  if (isFused) {
    FailureOr<int64_t> bytes = measureArena(function, /*describe=*/true);
    if (failed(bytes))
      return failure();
    outcome.plainBytes = *bytes;
  }
  FailureOr<RematFunction> built = buildRematFunction(function, build);
  if (failed(built))
    return failure();
  described = std::move(*built);
  if (!isFused)
    outcome.plainBytes = measureRemat(described.graph, getPlainOrder(described.graph)).peak;
  bool hasNever = llvm::any_of(described.graph.nodes, [](const RematNode &node) {
    return node.save == RematSave::Never;
  });
  bool isWhole = options.strategy == RematStrategy::Segments ||
                 options.strategy == RematStrategy::MinCut;
  if (described.ops.empty() || (!budget && !isWhole && !hasNever))
    return success();
  if (failed(choose(budget)))
    return failure();
  RematBound bound = boundRemat(described.graph, outcome.budget);
  if (outcome.isOptimal)
    bound.cost = outcome.plan.cost;
  if (!outcome.isMet)
    return explainFailure(bound);
  report(bound);
  return apply();
}

struct RematerializePass : mpt::impl::RematerializePassBase<RematerializePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<RematStrategy> chosen = parseRematStrategy(strategy);
    if (!chosen) {
      module.emitError("mpt-rematerialize: unknown strategy '")
          << strategy << "'; expected auto, none, segments, mincut or optimal";
      return signalPassFailure();
    }
    if (effort < 0 || maxThreads < 1) {
      module.emitError("mpt-rematerialize: effort must be at least 0 and max-threads at "
                       "least 1");
      return signalPassFailure();
    }
    if (!barrier.empty() && !StringRef(barrier).contains('.')) {
      module.emitError("mpt-rematerialize: barrier must name an op with its dialect, such "
                       "as stablehlo.optimization_barrier, found '")
          << barrier << "'";
      return signalPassFailure();
    }
    RuleTable table;
    for (const std::string &file : *rules)
      if (failed(table.addFile(module.getLoc(), file)))
        return signalPassFailure();
    if (!function.empty()) {
      auto named = module.lookupSymbol<func::FuncOp>(function);
      if (!named || named.isDeclaration()) {
        module.emitError("mpt-rematerialize: no function '")
            << function << "' with a body in this module";
        return signalPassFailure();
      }
    }
    if (*chosen == RematStrategy::None)
      return;
    RematOptions planning;
    planning.strategy = *chosen;
    planning.effort = effort;
    planning.seed = seed;
    for (auto candidate : module.getOps<func::FuncOp>()) {
      if (candidate.isDeclaration() ||
          (!function.empty() && candidate.getName() != function))
        continue;
      auto own = candidate->getAttrOfType<StringAttr>(kBudgetAttr);
      StringRef text = own ? own.getValue() : StringRef(budget);
      if (!candidate.getBody().hasOneBlock()) {
        if (text.empty() && function.empty())
          continue;
        candidate.emitError("mpt-rematerialize: expected a function of one block, found ")
            << candidate.getBody().getBlocks().size();
        return signalPassFailure();
      }
      FailureOr<std::optional<MemoryOrder>> wanted =
          getWantedOrder(candidate, order, getArgument());
      if (failed(wanted) ||
          failed(Rematerializer(candidate, table, planning, barrier, maxThreads, *wanted)
                     .run(text)))
        return signalPassFailure();
    }
  }
};

} // namespace
