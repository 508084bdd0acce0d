//===- SlotPlan.cpp - Where every buffer of a step lives -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/SlotPlan.h"

#include "mpt/Analysis/ArenaPlan.h"
#include "mpt/Analysis/KernelInfo.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

namespace {

constexpr int64_t slotAlignment = 64;

/// What is known of one owner.
struct Buffer {
  /// Instruction that writes it first (-1: an argument or a constant).
  int64_t begin = -1;
  /// Last instruction that reads or writes it; the number of instructions if
  /// it is copied out at the end.
  int64_t end = -1;
  int64_t bytes = 0;
  /// Index into the arena's storages, for temporaries.
  std::optional<unsigned> storage;
};

class Planner {
public:
  Planner(func::FuncOp function, const StepSchedule &schedule)
      : function(function), schedule(schedule),
        endOfStep(schedule.instructions.size()) {}

  SlotPlan run() {
    placeArguments();
    findLifetimes();
    placeResults();
    placeTemporaries();
    return std::move(plan);
  }

private:
  void placeArguments();
  void findLifetimes();
  void placeResults();
  void placeTemporaries();

  /// True if result `index` of `instruction` may be written where the operands
  /// that own `old` are read by the same instruction.
  bool mayShare(const StepInstruction &instruction, unsigned index, Value old);
  /// True if `value`, written by an instruction, may be written straight into
  /// the memory of argument `old`.
  bool mayUpdateInPlace(Value value, BlockArgument old);

  Value getUpdatedArgument(unsigned result) {
    auto name = function.getResultAttrOfType<StringAttr>(result, kUpdatesAttr);
    auto it = argumentsByName.find(name);
    return name && it != argumentsByName.end() ? it->second : Value();
  }

  func::FuncOp function;
  const StepSchedule &schedule;
  int64_t endOfStep;
  SlotPlan plan;
  llvm::MapVector<Value, Buffer> buffers;
  DenseMap<StringAttr, Value> argumentsByName;
  /// The instruction and result number that write a value.
  DenseMap<Value, std::pair<unsigned, unsigned>> writers;
};

void Planner::placeArguments() {
  int64_t inputs = 0;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr))
      argumentsByName[name] = argument;
    auto role = function.getArgAttrOfType<StringAttr>(index, kRoleAttr);
    SlotPlace place;
    if (role && isStateRole(role)) {
      place = {Space::State, plan.stateBytes};
      plan.stateBytes += llvm::alignTo(
          getTensorBytes(cast<RankedTensorType>(argument.getType())),
          slotAlignment);
    } else {
      place = {Space::Input, inputs++};
    }
    plan.arguments.push_back(place);
    plan.places[argument] = place;
  }
}

void Planner::findLifetimes() {
  auto get = [&](Value value) -> Buffer & {
    auto [it, inserted] = buffers.insert({value, Buffer()});
    if (inserted)
      it->second.bytes =
          getTensorBytes(cast<RankedTensorType>(value.getType()));
    return it->second;
  };
  for (auto [i, instruction] : llvm::enumerate(schedule.instructions)) {
    for (const BufferView &input : instruction.inputs)
      get(input.value).end = i;
    for (auto [number, output] : llvm::enumerate(instruction.outputs)) {
      Buffer &buffer = get(output.value);
      if (buffer.begin < 0) {
        buffer.begin = i;
        writers[output.value] = {static_cast<unsigned>(i),
                                 static_cast<unsigned>(number)};
      }
      buffer.end = i;
    }
  }
  int64_t constants = 0;
  for (auto &entry : buffers)
    if (entry.first.getDefiningOp<ConstantOp>())
      plan.places[entry.first] = {Space::Constant, constants++};
  // Values that are returned without being read or written by an instruction.
  for (Value value : schedule.returned) {
    get(value);
    if (value.getDefiningOp<ConstantOp>() && !plan.places.count(value))
      plan.places[value] = {Space::Constant, constants++};
  }
}

bool Planner::mayShare(const StepInstruction &instruction, unsigned index,
                       Value old) {
  KernelOp kernel = instruction.kernel;
  if (!kernel)
    return false;
  auto resultMap = cast<AffineMapAttr>(kernel.getResultMaps()[index]);
  auto resultType = instruction.outputs[index].type;
  for (auto [number, input] : llvm::enumerate(instruction.inputs)) {
    if (input.value != old)
      continue;
    // The same bytes at every point: equal maps over equal layouts. Values
    // computed after all rows are written late, but then the operand's points
    // have all been read.
    if (cast<AffineMapAttr>(kernel.getOperandMaps()[number]) != resultMap ||
        input.type.getShape() != resultType.getShape() ||
        input.type.getElementTypeBitWidth() !=
            resultType.getElementTypeBitWidth())
      return false;
  }
  return true;
}

bool Planner::mayUpdateInPlace(Value value, BlockArgument old) {
  auto writer = writers.find(value);
  if (writer == writers.end() || plan.places.count(value))
    return false;
  auto [instruction, result] = writer->second;
  auto readers = buffers.find(old);
  if (readers == buffers.end() || readers->second.end < (int64_t)instruction)
    return true;
  return readers->second.end == (int64_t)instruction &&
         mayShare(schedule.instructions[instruction], result, old);
}

void Planner::placeResults() {
  // Arguments whose old value leaves the step are read at its end.
  for (auto [i, value] : llvm::enumerate(schedule.returned))
    if (isa<BlockArgument>(value) && getUpdatedArgument(i) != value)
      buffers[value].end = endOfStep;

  for (auto [i, value] : llvm::enumerate(schedule.returned)) {
    plan.outputs.push_back(std::nullopt);
    SlotPlace place;
    auto updated = dyn_cast_or_null<BlockArgument>(getUpdatedArgument(i));
    if (updated) {
      place = plan.places[updated];
      if (value == updated)
        continue;
      if (mayUpdateInPlace(value, updated)) {
        plan.places[value] = place;
        continue;
      }
    } else {
      place = {Space::Output, plan.outputBytes};
      plan.outputBytes +=
          llvm::alignTo(buffers[value].bytes, slotAlignment);
      plan.outputs.back() = place;
      if (writers.count(value) && !plan.places.count(value)) {
        plan.places[value] = place;
        continue;
      }
    }
    buffers[value].end = endOfStep;
    plan.finalCopies.push_back({value, place, std::nullopt});
  }
}

void Planner::placeTemporaries() {
  // Storages of the arena; a result in place of its operand shares one.
  SmallVector<ArenaBuffer> storages;
  SmallVector<Value> holders; // the value that a storage holds now
  SmallVector<unsigned> scratchOf;
  for (auto [i, instruction] : llvm::enumerate(schedule.instructions)) {
    for (auto [number, output] : llvm::enumerate(instruction.outputs)) {
      Buffer &buffer = buffers[output.value];
      if (plan.places.count(output.value) || buffer.storage)
        continue;
      for (const BufferView &input : instruction.inputs) {
        Buffer &operand = buffers[input.value];
        if (!operand.storage || operand.end != (int64_t)i ||
            operand.bytes != buffer.bytes ||
            holders[*operand.storage] != input.value ||
            !mayShare(instruction, number, input.value))
          continue;
        buffer.storage = operand.storage;
        storages[*operand.storage].end = buffer.end;
        holders[*operand.storage] = output.value;
        break;
      }
      if (buffer.storage)
        continue;
      buffer.storage = storages.size();
      storages.push_back({buffer.bytes, (int64_t)i, buffer.end});
      holders.push_back(output.value);
    }
    scratchOf.push_back(storages.size());
    if (instruction.scratchBytes > 0) {
      storages.push_back(
          {instruction.scratchBytes, (int64_t)i, (int64_t)i});
      holders.push_back(Value());
    }
  }
  // Final copies whose source another one overwrites go through the arena. All
  // such reads come before all writes, so they are alive together.
  DenseSet<int64_t> overwritten;
  for (const FinalCopy &copy : plan.finalCopies)
    if (copy.destination.space == Space::State)
      overwritten.insert(copy.destination.offset);
  SmallVector<std::pair<unsigned, unsigned>> detours; // copy, storage
  for (auto [i, copy] : llvm::enumerate(plan.finalCopies)) {
    auto place = plan.places.find(copy.source);
    if (place == plan.places.end() || place->second.space != Space::State ||
        !overwritten.contains(place->second.offset))
      continue;
    detours.push_back({i, storages.size()});
    storages.push_back({buffers[copy.source].bytes, endOfStep, endOfStep});
  }

  ArenaPlan arena = planArena(storages, slotAlignment);
  plan.arenaBytes = arena.bytes;
  plan.arenaLowerBound = arena.lowerBound;
  for (auto &[value, buffer] : buffers)
    if (buffer.storage)
      plan.places[value] = {Space::Arena, arena.offsets[*buffer.storage]};
  for (auto [i, instruction] : llvm::enumerate(schedule.instructions))
    plan.scratchOffsets.push_back(
        instruction.scratchBytes > 0 ? arena.offsets[scratchOf[i]] : -1);
  for (auto [copy, storage] : detours)
    plan.finalCopies[copy].through =
        SlotPlace{Space::Arena, arena.offsets[storage]};
}

} // namespace

bool mpt::isStateRole(StringRef role) {
  return role != "input" && role != "target";
}

int64_t mpt::getTensorBytes(RankedTensorType type) {
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

SlotPlan mpt::planSlots(func::FuncOp function, const StepSchedule &schedule) {
  return Planner(function, schedule).run();
}
