//===- KeepGathers.cpp - Joined parameters that fit stay --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-keep-gathers`: an exchange that only repeats an earlier one is dropped if there
/// is room for what that one joined.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Memory/MemoryGraphBuilder.h"
#include "mpt/Memory/Passes.h"
#include "mpt/Memory/Planning/KeepPlan.h"
#include "mpt/Memory/Planning/RematPlan.h"
#include "mpt/Support/MemoryBudget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <map>

namespace mpt {
#define GEN_PASS_DEF_KEEPGATHERSPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct KeepGathersPass : mpt::impl::KeepGathersPassBase<KeepGathersPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto step : getOperation().getOps<func::FuncOp>())
      if (!step.isDeclaration() && failed(run(step)))
        return signalPassFailure();
  }

private:
  LogicalResult run(func::FuncOp step);
};

/// What two gathers have in common if they join the same: the axis and, for each tensor,
/// what is joined and in which element type.
using Key = std::vector<const void *>;

Key getKey(AllGatherOp op) {
  Key key = {op.getAxisAttr().getAsOpaquePointer()};
  for (Value input : op.getInputs()) {
    key.push_back(getElementTypeOrSelf(input).getAsOpaquePointer());
    // Each may be rounded by itself.
    if (auto cast = input.getDefiningOp<CastOp>())
      input = cast.getX();
    key.push_back(input.getAsOpaquePointer());
  }
  return key;
}

/// Pairs of exchanges that follow each other and join the same.
SmallVector<std::pair<AllGatherOp, AllGatherOp>> findPairs(Block &block) {
  SmallVector<std::pair<AllGatherOp, AllGatherOp>> pairs;
  std::map<Key, AllGatherOp> last;
  for (auto op : block.getOps<AllGatherOp>()) {
    auto [it, isNew] = last.try_emplace(getKey(op), op);
    if (isNew)
      continue;
    pairs.push_back({it->second, op});
    it->second = op;
  }
  return pairs;
}

LogicalResult KeepGathersPass::run(func::FuncOp step) {
  if (!step.getBody().hasOneBlock())
    return success();
  Block &block = step.getBody().front();
  if (findPairs(block).empty())
    return success();
  auto own = step->getAttrOfType<StringAttr>(kBudgetAttr);
  StringRef text = own ? own.getValue() : StringRef(budget);
  std::optional<RematBudget> wanted = parseRematBudget(text);
  if (!text.empty() && !wanted)
    return step.emitError(getArgument())
           << ": expected a budget such as 4GiB, 512MB, 1000, 0.5x, 50% or min, found '"
           << text << "'";
  if (!wanted)
    return success();

  // What is read in half precision alone takes half of the bytes.
  SmallVector<Operation *> gathers;
  for (auto op : block.getOps<AllGatherOp>())
    gathers.push_back(op);
  RewritePatternSet patterns(&getContext());
  populateNarrowGathersPatterns(patterns);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  if (failed(applyOpPatternsGreedily(gathers, std::move(patterns), config)))
    return failure();

  SmallVector<std::pair<AllGatherOp, AllGatherOp>> pairs = findPairs(block);
  RuleTable table;
  FailureOr<MemoryGraph> graph = buildMemoryGraph(step, table, /*alignment=*/64);
  if (failed(graph))
    return failure();
  MemoryProfile profile = profileMemory(*graph);
  // The least memory leaves no room.
  const int64_t most = resolveRematBudget(*wanted, profile.peak).value_or(0);
  DenseMap<Operation *, int64_t> positions;
  for (auto [position, op] : llvm::enumerate(graph->ops))
    positions[op.op] = position;
  DenseMap<Value, unsigned> buffers;
  for (auto [number, buffer] : llvm::enumerate(graph->buffers))
    buffers[buffer.value] = number;
  SmallVector<KeepCandidate> candidates;
  for (auto [first, again] : pairs) {
    KeepCandidate candidate;
    candidate.end = positions.lookup(again);
    candidate.begin = positions.lookup(first);
    for (Value output : first.getOutputs())
      if (auto it = buffers.find(output); it != buffers.end()) {
        candidate.bytes += graph->buffers[it->second].bytes;
        candidate.begin =
            std::max(candidate.begin, profile.lifetimes[it->second].second + 1);
      }
    candidate.begin = std::min(candidate.begin, candidate.end);
    candidates.push_back(candidate);
  }
  for (unsigned number : planKept(profile.bytes, candidates, most)) {
    auto [first, again] = pairs[number];
    again.replaceAllUsesWith(first);
    // The next pair begins with what takes its place.
    for (auto &pair : pairs)
      if (pair.first == again)
        pair.first = first;
    again.erase();
  }
  return success();
}

} // namespace
