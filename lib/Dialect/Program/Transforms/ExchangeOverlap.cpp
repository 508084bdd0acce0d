//===- ExchangeOverlap.cpp - Exchanges beside other work --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/Transforms/ExchangeOverlap.h"
#include "mpt/ProgramABI/CallPlan.h"

using namespace mlir;
using namespace mpt;

namespace {

/// The exchanges of one op: its instructions [begin, end).
struct Group {
  size_t begin, end;
  /// Where it is waited for: before this instruction.
  size_t wait;
};

bool isExchange(const StepInstruction &instruction) {
  return instruction.call && rt::getRanks(*instruction.call) > 0 &&
         !std::holds_alternative<rt::RankCall>(*instruction.call);
}

/// Whether it takes time that an exchange can run beside.
bool isWork(const StepInstruction &instruction) {
  return !instruction.call || rt::getRanks(*instruction.call) == 0;
}

} // namespace

void mpt::overlapExchanges(InstructionList &list) {
  std::vector<StepInstruction> &instructions = list.instructions;
  const size_t count = instructions.size();
  SmallVector<Group> groups;
  DenseMap<Value, unsigned> makers;
  for (size_t i = 0; i < count; ++i) {
    for (const BufferView &input : instructions[i].inputs)
      if (auto maker = makers.find(input.value); maker != makers.end())
        groups[maker->second].wait = std::min(groups[maker->second].wait, i);
    if (!isExchange(instructions[i]))
      continue;
    if (!groups.empty() && groups.back().end == i &&
        instructions[i - 1].op == instructions[i].op)
      ++groups.back().end;
    else
      groups.push_back({i, i + 1, count});
    for (const BufferView &output : instructions[i].outputs)
      makers[output.value] = groups.size() - 1;
  }
  if (groups.empty())
    return;

  // Who waits for one that began later waits for all before it.
  for (size_t i = groups.size() - 1; i-- > 0;)
    if (groups[i + 1].begin < groups[i].wait)
      groups[i].wait = std::min(groups[i].wait, groups[i + 1].wait);
  // How many instructions before each are other work.
  SmallVector<size_t> work(count + 1, 0);
  for (size_t i = 0; i < count; ++i)
    work[i + 1] = work[i] + isWork(instructions[i]);

  std::vector<StepInstruction> result;
  size_t next = 0;
  auto waitBefore = [&](size_t position, size_t &group) {
    for (; group < groups.size() && groups[group].wait == position; ++group)
      for (size_t i = groups[group].begin; i < groups[group].end; ++i) {
        const StepInstruction &begun = instructions[i];
        if (!rt::isAsync(*begun.call))
          continue;
        StepInstruction wait = begun;
        rt::WaitCall call;
        call.numXs = wait.inputs.size();
        call.numResults = wait.outputs.size();
        wait.call = call;
        result.push_back(std::move(wait));
      }
  };
  for (const Group &group : groups)
    if (work[group.wait] > work[group.end])
      for (size_t i = group.begin; i < group.end; ++i)
        rt::setAsync(*instructions[i].call);
  for (size_t i = 0; i < count; ++i) {
    waitBefore(i, next);
    result.push_back(instructions[i]);
  }
  waitBefore(count, next);
  instructions = std::move(result);
}
