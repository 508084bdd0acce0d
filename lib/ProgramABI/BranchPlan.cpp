//===- BranchPlan.cpp - What of a step may run at once ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/BranchPlan.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/CudnnPlan.h"
#include "mpt/ProgramABI/InstructionCost.h"

#include <algorithm>

using namespace mpt::rt;

/// Seconds of a node that has next to nothing to do (a step of 30 such nodes took 122 us
/// on an H200), and a guess at what waiting for another branch adds.
static constexpr double kNode = 4e-6, kWait = 1e-6;
/// The best of an H200.
static constexpr double kMemory = 4.8e12, kTensorCores = 9.89e14;
/// Of the time of the nodes, what may be work that keeps the GPU busy.
static constexpr double kMostWork = 0.5;
/// What is left of the time, at most.
static constexpr double kMostTime = 0.9;
static constexpr size_t kFewestInstructions = 8, kMostInstructions = 1024;
/// Each buffer is compared with each other one.
static constexpr size_t kMostBuffers = 8192;

namespace {
/// An instruction that runs, in the order of the program.
struct Node {
  const Instruction *instruction = nullptr;
  /// Its own time, and that from its beginning to the end of the step.
  double time = 0, ahead = 0;
  /// Which others it comes after, by their numbers.
  std::vector<uint32_t> before;
  /// Once it has a place in the plan: 1 more than that, and when it ends.
  uint32_t place = 0;
  double end = 0;
  uint32_t branch = 0;
  /// By branch: the last place there that is done when it is, and 1 more; 0: none.
  uint32_t done[kMostBranches] = {};
};
} // namespace

/// Whether one writes what the other reads or writes.
static bool conflict(const Instruction &a, const Instruction &b) {
  for (size_t i = 0; i < a.refs.size(); ++i)
    for (size_t j = 0; j < b.refs.size(); ++j) {
      const BufferRef &x = a.refs[i], &y = b.refs[j];
      const bool isWritten = i >= a.numInputs || j >= b.numInputs;
      // Nothing writes inputs and constants, which are numbered.
      if (isWritten && x.space == y.space && x.offset < y.offset + y.bytes() &&
          y.offset < x.offset + x.bytes())
        return true;
    }
  return false;
}

double mpt::rt::getTensorFlopsPerClock(int sm) {
  // sm_86, sm_89 and sm_120 are those of workstations.
  return sm >= 120 ? 1024 : sm >= 100 ? 8192 : sm >= 90 ? 4096 : sm > 80 ? 1024 : 2048;
}

BranchRates mpt::rt::getBranchRates(double memory, double tensorCores) {
  BranchRates rates;
  if (memory > 0)
    rates.bytes *= memory / kMemory;
  if (tensorCores > 0)
    rates.flops *= tensorCores / kTensorCores;
  return rates;
}

BranchPlan mpt::rt::planBranches(const Program &program, const std::vector<bool> &skipped,
                                 const BranchRates &rates, uint32_t most) {
  BranchPlan plan;
  if (most <= 1 || program.instructions.size() > kMostInstructions ||
      !program.loops.empty())
    return plan;
  std::vector<Node> nodes;
  size_t numBuffers = 0;
  double work = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    if (instruction.isCall() &&
        (getRanks(*instruction.call) > 0 || isCudnnCall(instruction)))
      return plan;
    if (skipped[i])
      continue;
    numBuffers += instruction.refs.size();
    const InstructionCost cost = getCost(instruction);
    const double own = std::max(cost.bytes / rates.bytes, cost.flops / rates.flops);
    Node &node = nodes.emplace_back();
    node.instruction = &instruction;
    node.time = node.ahead = kNode + own;
    work += own;
    plan.serial += node.time;
  }
  plan.parallel = plan.serial;
  if (numBuffers > kMostBuffers || nodes.size() < kFewestInstructions ||
      work > kMostWork * plan.serial)
    return plan;
  for (size_t i = nodes.size(); i-- > 0;)
    for (size_t j = 0; j < i; ++j)
      if (conflict(*nodes[i].instruction, *nodes[j].instruction)) {
        nodes[i].before.push_back(static_cast<uint32_t>(j));
        nodes[j].ahead = std::max(nodes[j].ahead, nodes[j].time + nodes[i].ahead);
      }

  // Of those that may be next, the first to begin, and of these the one with the most
  // time ahead; in the branch where it begins first.
  std::vector<BranchStep> steps;
  const Node *latest[kMostBranches] = {};
  double length = work;
  while (steps.size() < nodes.size()) {
    Node *next = nullptr;
    uint32_t branch = 0;
    double begin = 0;
    for (Node &node : nodes) {
      bool isReady = node.place == 0;
      for (size_t j = node.before.size(); isReady && j-- > 0;)
        isReady = nodes[node.before[j]].place != 0;
      for (uint32_t b = 0; isReady && b < most; ++b) {
        double at = latest[b] ? latest[b]->end : 0;
        for (uint32_t j : node.before)
          at = std::max(at, nodes[j].end + (nodes[j].branch == b ? 0 : kWait));
        if (next && (at > begin || (at == begin && node.ahead <= next->ahead)))
          continue;
        next = &node;
        branch = b;
        begin = at;
      }
    }
    BranchStep step;
    step.instruction =
        static_cast<uint32_t>(next->instruction - program.instructions.data());
    step.branch = next->branch = branch;
    if (latest[branch])
      std::copy_n(latest[branch]->done, kMostBranches, next->done);
    // The last first: it may have waited for the others.
    while (true) {
      const Node *last = nullptr;
      for (uint32_t j : next->before) {
        const Node &node = nodes[j];
        if (node.branch != branch && node.place > next->done[node.branch] &&
            (!last || node.place > last->place))
          last = &node;
      }
      if (!last)
        break;
      step.after[last->branch] = last->place;
      for (uint32_t b = 0; b < kMostBranches; ++b)
        next->done[b] = std::max(next->done[b], last->done[b]);
    }
    steps.push_back(step);
    next->place = next->done[branch] = static_cast<uint32_t>(steps.size());
    next->end = begin + next->time;
    latest[branch] = next;
    length = std::max(length, next->end);
    plan.count = std::max(plan.count, branch + 1);
  }
  if (plan.count == 1 || length > kMostTime * plan.serial) {
    plan.count = 1;
    return plan;
  }
  plan.parallel = length;
  plan.steps = std::move(steps);
  return plan;
}
