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
#include "llvm/ADT/SetVector.h"

#include <tuple>

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
    std::optional<RematBudget> common = parseRematBudget(budget);
    if (!budget.empty() && !common) {
      getOperation().emitError(getArgument())
          << ": expected a budget such as 4GiB, 512MB, 1000, 0.5x, 50% or min, found '"
          << budget << "'";
      return signalPassFailure();
    }
    for (auto step : getOperation().getOps<func::FuncOp>())
      if (!step.isDeclaration() && failed(run(step, common)))
        return signalPassFailure();
  }

private:
  LogicalResult run(func::FuncOp step, std::optional<RematBudget> wanted);
};

/// What two tensors that gathers join have in common if the results are the same: the
/// axis, what is joined, and in which element type.
using Key = std::tuple<Attribute, Type, Value>;

Key getKey(AllGatherOp op, Value input) {
  Type type = getElementTypeOrSelf(input);
  // Each may be rounded by itself.
  if (auto cast = input.getDefiningOp<CastOp>())
    input = cast.getX();
  return {op.getAxisAttr(), type, input};
}

/// A gather all of whose tensors have been joined before.
struct Repetition {
  AllGatherOp op;
  /// For each of its results, the last one before it that is the same.
  SmallVector<Value> earlier;
};

/// In the order of the block.
SmallVector<Repetition> findRepetitions(Block &block) {
  SmallVector<Repetition> found;
  DenseMap<Key, Value> last;
  for (auto op : block.getOps<AllGatherOp>()) {
    Repetition repetition = {op, {}};
    for (auto [input, output] : llvm::zip_equal(op.getInputs(), op.getOutputs()))
      if (Value before = last.lookup(getKey(op, input));
          before && before.getType() == output.getType())
        repetition.earlier.push_back(before);
    for (auto [input, output] : llvm::zip_equal(op.getInputs(), op.getOutputs()))
      last[getKey(op, input)] = output;
    if (repetition.earlier.size() == op.getOutputs().size())
      found.push_back(std::move(repetition));
  }
  return found;
}

LogicalResult KeepGathersPass::run(func::FuncOp step, std::optional<RematBudget> wanted) {
  if (auto own = step->getAttrOfType<StringAttr>(kBudgetAttr))
    wanted = parseRematBudget(own.getValue());
  if (!step.getBody().hasOneBlock())
    return success();
  Block &block = step.getBody().front();
  if (!wanted || findRepetitions(block).empty())
    return success();

  // What is read in half precision alone takes half of the bytes.
  if (failed(narrowGathers(block)))
    return failure();

  SmallVector<Repetition> repetitions = findRepetitions(block);
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
  for (Repetition &repetition : repetitions) {
    KeepCandidate candidate;
    candidate.begin = candidate.end = positions.lookup(repetition.op);
    for (Value value : llvm::SmallSetVector<Value, 4>(repetition.earlier.begin(),
                                                      repetition.earlier.end()))
      if (auto it = buffers.find(value); it != buffers.end()) {
        candidate.bytes += graph->buffers[it->second].bytes;
        // From where the first of them would be free.
        candidate.begin =
            std::min(candidate.begin, profile.lifetimes[it->second].second + 1);
      }
    candidates.push_back(candidate);
  }
  // What a result that is dropped is replaced by.
  DenseMap<Value, Value> replaced;
  for (unsigned number : planKept(profile.bytes, candidates, most)) {
    auto &[op, earlier] = repetitions[number];
    for (auto [before, output] : llvm::zip_equal(earlier, op.getOutputs())) {
      Value kept = replaced.lookup_or(before, before);
      output.replaceAllUsesWith(kept);
      replaced[output] = kept;
    }
    op.erase();
  }
  return success();
}

} // namespace
