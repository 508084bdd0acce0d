//===- RematSession.cpp - Functions and budgets of one run of a pass -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematSession.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/ResultNames.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/ProgramABI/ProgramFormat.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

bool mpt::detail::isFused(func::FuncOp function) {
  return !function.getOps<kernel::KernelOp>().empty();
}

LogicalResult RematSession::readOptions() {
  auto error = [&] { return module.emitError(request.pass) << ": "; };
  std::optional<RematStrategy> chosen = parseRematStrategy(request.strategy);
  if (!chosen)
    return error() << "unknown strategy '" << request.strategy
                   << "'; expected auto, none, segments, mincut or optimal";
  if (request.effort < 0 || request.maxThreads < 1 ||
      request.maxThreads > rt::kMaxProgramThreads)
    return error() << "effort must be at least 0 and max-threads 1 to "
                   << rt::kMaxProgramThreads;
  if (!request.barrier.empty() && !StringRef(request.barrier).contains('.'))
    return error() << "barrier must name an op with its dialect, such as "
                      "stablehlo.optimization_barrier, found '"
                   << request.barrier << "'";
  if (!request.client.empty()) {
    planning.client = findClient(request.client);
    if (!planning.client)
      return error() << "unknown client '" << request.client << "'; expected one of "
                     << llvm::join(getClients(), ", ");
    if (*chosen == RematStrategy::Optimal || *chosen == RematStrategy::None)
      return error() << "strategy=" << request.strategy
                     << " plans single ops, whose order a client does not keep; use "
                        "auto, segments or mincut with client="
                     << request.client;
    if (request.barrier.empty() && planning.client->isolation == RematIsolation::None)
      return error() << "nothing is known that keeps the client '" << request.client
                     << "' from undoing it; name an op in barrier";
  }
  for (const std::string &file : request.rules)
    if (failed(table.addFile(module.getLoc(), file)))
      return failure();
  planning.rules = &table;
  planning.planning.strategy = *chosen;
  planning.planning.effort = request.effort;
  planning.planning.seed = request.seed;
  planning.barrier = request.barrier;
  if (planning.client && request.barrier.empty() &&
      planning.client->isolation == RematIsolation::Barrier)
    planning.barrier = "stablehlo.optimization_barrier";
  planning.maxThreads = request.maxThreads;
  planning.target =
      TargetAttr::fromText(request.target, [&] { return error(); }, module.getContext());
  return success(planning.target != TargetAttr());
}

FailureOr<SmallVector<RematTarget>> RematSession::findTargets() {
  const std::string &name = request.function;
  if (!name.empty()) {
    auto named = module.lookupSymbol<func::FuncOp>(name);
    if (!named || named.isDeclaration())
      return mlir::emitError(getModuleLocation(module), request.pass)
             << ": no function '" << name << "' with a body in this module";
  }
  SmallVector<RematTarget> targets;
  for (auto candidate : module.getOps<func::FuncOp>()) {
    if (candidate.isDeclaration() || (!name.empty() && candidate.getName() != name))
      continue;
    warnOfUnnamedResults(candidate, request.pass);
    WalkResult marked = candidate.walk([&](Operation *op) {
      for (StringRef mark : {kBackwardAttr, kSumAttr})
        if (op->hasAttr(mark)) {
          op->emitError(request.pass) << ": expected no '" << mark
                                      << "', which this pass sets and removes; remove it";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (marked.wasInterrupted())
      return failure();
    auto own = candidate->getAttrOfType<StringAttr>(kBudgetAttr);
    StringRef text = own ? own.getValue() : StringRef(request.budget);
    if (!candidate.getBody().hasOneBlock()) {
      const size_t blocks = candidate.getBody().getBlocks().size();
      if (text.empty() && name.empty()) {
        if (request.strategy == "mincut" || request.strategy == "segments")
          candidate.emitWarning(request.pass)
              << ": '" << candidate.getName() << "' stays as it is: it has " << blocks
              << " blocks, not one";
        continue;
      }
      return candidate.emitError(request.pass)
             << ": expected a function of one block, found " << blocks;
    }
    RematTarget target{candidate, parseRematBudget(text)};
    if (!text.empty() && !target.budget)
      return candidate.emitError(request.pass)
             << ": expected a budget such as 4GiB, 512MB, 1000, 0.5x, 50% or min, found '"
             << text << "'";
    targets.push_back(target);
  }
  warnOfMisspelledAttributes(module);
  if (module.getOps<func::FuncOp>().empty())
    warnOfNothingToDo(module, request.pass, "no function with a body");
  return targets;
}

FailureOr<RematerializerOptions> RematSession::getOptions(func::FuncOp target) {
  FailureOr<std::optional<OrderHeuristic>> wanted =
      getWantedOrder(target, request.order, request.pass);
  if (failed(wanted))
    return failure();
  RematerializerOptions options = planning;
  options.order = *wanted;
  return options;
}

LogicalResult RematSession::planAll(ArrayRef<RematTarget> targets) {
  for (const RematTarget &target : targets) {
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

LogicalResult RematSession::draw(func::FuncOp target, StringRef measure,
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
