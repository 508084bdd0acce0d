//===- BufferAssignment.cpp - Where every buffer of a step lives -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/Transforms/BufferAssignment.h"
#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/Gemm.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/ProgramABI/CallPlan.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

/// Whether the kernel of `instruction` reads what `old` owns at each point where it
/// writes result `index`, and nowhere else: the same bytes if both lie in one place.
static bool isSamePoints(const StepInstruction &instruction, unsigned index, Value old) {
  kernel::KernelOp kernel = instruction.kernel;
  if (!kernel)
    return false;
  auto resultMap = cast<AffineMapAttr>(kernel.getResultMaps()[index]);
  auto resultType = instruction.outputs[index].type;
  // A row must not read what another one has written: each has elements of its own, or
  // the result is written after all rows.
  const KernelInfo info(kernel);
  Value yielded = kernel.getBody().front().getTerminator()->getOperand(index);
  const int64_t rows = getKernelRows(kernel.getDomain());
  const int64_t elements = resultType.getNumElements();
  if (rows > 1 && !info.isAfterColumns(yielded) &&
      elements != rows * getKernelColumns(kernel.getDomain()) &&
      !(elements == rows && info.isRowUniform(yielded)))
    return false;
  for (auto [number, input] : llvm::enumerate(instruction.inputs)) {
    if (input.value != old)
      continue;
    // The same bytes at every point: equal maps over equal layouts. Values
    // computed after all rows are written late, but then the operand's points
    // have all been read.
    if (cast<AffineMapAttr>(kernel.getOperandMaps()[number]) != resultMap ||
        input.type.getShape() != resultType.getShape() ||
        input.type.getElementTypeBitWidth() != resultType.getElementTypeBitWidth())
      return false;
  }
  return true;
}

namespace {

constexpr int64_t bufferAlignment = 64;

class Planner {
public:
  Planner(func::FuncOp function, const InstructionList &schedule,
          const ArenaOptions &options)
      : function(function), step(function), schedule(schedule), options(options),
        graph(plan.graph) {
    graph.alignment = bufferAlignment;
  }

  BufferAssignment run() {
    placeArguments();
    buildGraph();
    placeResults();
    linkUpdates();
    placeTemporaries();
    return std::move(plan);
  }

private:
  void placeArguments();
  void buildGraph();
  void placeResults();
  void linkUpdates();
  void placeTemporaries();

  /// True if result `index` of `instruction` may be written where the operands
  /// that own `old` are read by the same instruction.
  bool mayShare(const StepInstruction &instruction, unsigned index, Value old);
  /// True if `value`, written by an instruction, may be written straight into
  /// the memory of argument `old`.
  bool mayUpdateInPlace(Value value, BlockArgument old);

  Value getUpdatedArgument(unsigned result) {
    std::optional<unsigned> updates = step.getResults()[result].updates;
    return updates ? Value(function.getArgument(*updates)) : Value();
  }

  /// The graph's buffer of an owner; made if need be.
  unsigned getBuffer(Value value);

  func::FuncOp function;
  StepView step;
  const InstructionList &schedule;
  ArenaOptions options;
  BufferAssignment plan;
  MemoryGraph &graph;
  /// The number of each owner's buffer.
  DenseMap<Value, unsigned> buffers;
  /// The first op that only begins: the workspace of all of them is its.
  std::optional<unsigned> firstBegun;
  /// The instruction and result number that first write a value.
  DenseMap<Value, std::pair<unsigned, unsigned>> writers;
};

unsigned Planner::getBuffer(Value value) {
  auto [it, inserted] = buffers.insert({value, graph.buffers.size()});
  if (inserted) {
    MemoryBuffer buffer;
    buffer.value = value;
    buffer.bytes = llvm::alignTo(getTensorBytes(cast<RankedTensorType>(value.getType())),
                                 bufferAlignment);
    if (value.getDefiningOp<ConstantOp>())
      buffer.kind = MemoryKind::Constant;
    else if (isa<BlockArgument>(value))
      buffer.kind = plan.places.lookup(value).space == program::Space::State
                        ? MemoryKind::State
                        : MemoryKind::Argument;
    graph.buffers.push_back(std::move(buffer));
  }
  return it->second;
}

void Planner::placeArguments() {
  int64_t inputs = 0;
  for (BlockArgument argument : function.getArguments()) {
    BufferPlace place;
    if (step[argument].isState()) {
      place = {program::Space::State, plan.stateBytes};
      plan.stateBytes += llvm::alignTo(
          getTensorBytes(cast<RankedTensorType>(argument.getType())), bufferAlignment);
    } else {
      place = {program::Space::Input, inputs++};
    }
    plan.arguments.push_back(place);
    plan.places[argument] = place;
  }
}

void Planner::buildGraph() {
  // Arguments that nothing reads take memory too.
  for (BlockArgument argument : function.getArguments())
    getBuffer(argument);
  // Ranks meet at collectives, in one order for all, and wait for them in that order.
  std::optional<unsigned> lastMeeting, lastWait;
  // The op that begins what each op with waits is for.
  DenseMap<Operation *, unsigned> begins;
  SmallVector<std::pair<unsigned, unsigned>> awaited; // buffer, op that waits
  // Of what several ops write, each a part: all but the first.
  llvm::MapVector<unsigned, SmallVector<unsigned>> laterWriters;
  for (auto [i, instruction] : llvm::enumerate(schedule.instructions)) {
    if (i == 0 || !schedule.instructions[i - 1].isPlannedWith(instruction)) {
      const unsigned number = graph.ops.size();
      graph.ops.emplace_back();
      graph.ops.back().op = instruction.op;
      graph.ops.back().repeatable = isMemoryEffectFree(instruction.op);
      if (isCollective(instruction.op)) {
        std::optional<unsigned> &last = instruction.isWait() ? lastWait : lastMeeting;
        if (last)
          graph.ops.back().after.push_back(*last);
        last = number;
        // What is joined ahead of its reader lies there from then on, so no order has it
        // join sooner.
        if (isa<AllGatherOp>(instruction.op) && !instruction.isWait() &&
            rt::isAsync(*instruction.call) && number > 0)
          graph.ops[number].after.push_back(number - 1);
        if (instruction.isWait())
          graph.ops[begins.lookup(instruction.op)].until = number;
        else
          begins[instruction.op] = number;
      }
    }
    MemoryOp &op = graph.ops.back();
    auto add = [](SmallVectorImpl<unsigned> &ids, unsigned id) {
      if (!llvm::is_contained(ids, id))
        ids.push_back(id);
    };
    if (instruction.isWait()) {
      for (const BufferView &output : instruction.outputs) {
        add(op.inputs, getBuffer(output.value));
        awaited.push_back({getBuffer(output.value), graph.ops.size() - 1});
      }
      // Arguments are read until then: no new value may take their place before.
      for (const BufferView &input : instruction.inputs)
        if (isa<BlockArgument>(input.value))
          add(op.inputs, getBuffer(input.value));
      continue;
    }
    for (const BufferView &input : instruction.inputs)
      add(op.inputs, getBuffer(input.value));
    for (auto [number, output] : llvm::enumerate(instruction.outputs)) {
      const unsigned buffer = getBuffer(output.value);
      auto [first, isNew] =
          writers.insert({output.value, {unsigned(i), unsigned(number)}});
      if (isNew || llvm::is_contained(op.outputs, buffer)) {
        add(op.outputs, buffer);
        continue;
      }
      // It lasts from the first part on.
      add(op.inputs, buffer);
      SmallVector<unsigned> &later = laterWriters[buffer];
      if (later.empty() || later.back() != graph.ops.size() - 1)
        later.push_back(graph.ops.size() - 1);
    }
    if (instruction.loop)
      plan.constantBytes += instruction.loop->plan.constantBytes;
    op.workspace = std::max<int64_t>(
        op.workspace, llvm::alignTo(instruction.scratchBytes, bufferAlignment));
    for (auto [number, output] : llvm::enumerate(instruction.outputs))
      for (const BufferView &input : instruction.inputs)
        if (mayShare(instruction, number, input.value))
          op.inPlace.push_back({getBuffer(output.value), getBuffer(input.value)});
  }
  // Exchanges run one after the other, so one workspace is enough for all.
  for (auto [number, op] : llvm::enumerate(graph.ops)) {
    if (op.until < 0)
      continue;
    if (!firstBegun) {
      firstBegun = number;
      op.workspaceUntil = *lastWait;
      continue;
    }
    int64_t &shared = graph.ops[*firstBegun].workspace;
    shared = std::max(shared, op.workspace);
    op.workspace = 0;
  }
  connectBuffers(graph);
  for (const auto &[buffer, later] : laterWriters)
    for (unsigned user : graph.buffers[buffer].users) {
      // In the order of the ops.
      if (std::binary_search(later.begin(), later.end(), user))
        continue;
      auto &after = graph.ops[user].after;
      const llvm::SmallDenseSet<unsigned> known(after.begin(), after.end());
      llvm::copy_if(later, std::back_inserter(after),
                    [&](unsigned writer) { return !known.contains(writer); });
    }
  for (auto [buffer, wait] : awaited)
    for (unsigned user : graph.buffers[buffer].users)
      if (user != wait && !llvm::is_contained(graph.ops[user].after, wait))
        graph.ops[user].after.push_back(wait);
  // Values that are returned without being read or written by an instruction.
  for (Value value : schedule.returned)
    getBuffer(value);
  int64_t constants = 0;
  for (const MemoryBuffer &buffer : graph.buffers)
    if (buffer.kind == MemoryKind::Constant) {
      plan.places[buffer.value] = {program::Space::Constant, constants++};
      plan.constantBytes += buffer.bytes;
    }
}

bool Planner::mayShare(const StepInstruction &instruction, unsigned index, Value old) {
  if (!instruction.outputs[index].isWhole())
    return false;
  // A part begins elsewhere, or is shorter.
  for (const BufferView &input : instruction.inputs)
    if (input.value == old && !input.isWhole())
      return false;
  // A loop works on what it carries in place.
  if (const LoopBody *loop = instruction.loop.get()) {
    if (llvm::count_if(instruction.inputs,
                       [&](const BufferView &input) { return input.value == old; }) != 1)
      return false;
    return index < loop->inits.size() ? loop->inits[index] == old
                                      : loop->writesAfterReads(index, old);
  }
  // cuBLASLt adds in place, too.
  if (auto gemm = dyn_cast<GemmOp>(instruction.op))
    return index == 0 && gemm.getAddend() && instruction.inputs[2].value == old &&
           llvm::count_if(instruction.inputs, [&](const BufferView &input) {
             return input.value == old;
           }) == 1;
  // Each tensor of an all_reduce may be reduced where it is.
  if (auto reduce = dyn_cast<AllReduceOp>(instruction.op))
    return instruction.inputs[index].value == old &&
           instruction.inputs[index].type == instruction.outputs[index].type &&
           llvm::count_if(reduce.getInputs(), [&](Value input) {
             return schedule.getOwner(input) == old;
           }) == 1;
  if (!instruction.overwrites.empty())
    return llvm::any_of(instruction.overwrites,
                        [&](std::pair<uint32_t, uint32_t> pair) {
                          return pair.first == index &&
                                 instruction.inputs[pair.second].value == old;
                        }) &&
           llvm::count_if(instruction.inputs, [&](const BufferView &input) {
             return input.value == old;
           }) == 1;
  return isSamePoints(instruction, index, old);
}

bool Planner::mayUpdateInPlace(Value value, BlockArgument old) {
  auto writer = writers.find(value);
  if (writer == writers.end() || plan.places.count(value))
    return false;
  const MemoryBuffer &buffer = graph.buffers[getBuffer(old)];
  const int64_t producer = graph.buffers[getBuffer(value)].producer;
  if (buffer.returned)
    return false;
  if (buffer.users.empty() || buffer.users.back() < producer)
    return true;
  auto [instruction, result] = writer->second;
  return buffer.users.back() == producer &&
         mayShare(schedule.instructions[instruction], result, old);
}

void Planner::placeResults() {
  // Arguments whose old value leaves the step are read at its end.
  for (auto [i, value] : llvm::enumerate(schedule.returned))
    if (isa<BlockArgument>(value) && getUpdatedArgument(i) != value)
      graph.buffers[getBuffer(value)].returned = true;

  for (auto [i, value] : llvm::enumerate(schedule.returned)) {
    plan.outputs.push_back(std::nullopt);
    BufferPlace place;
    MemoryBuffer &buffer = graph.buffers[getBuffer(value)];
    auto updated = dyn_cast_or_null<BlockArgument>(getUpdatedArgument(i));
    if (updated) {
      place = plan.places[updated];
      if (value == updated)
        continue;
      if (mayUpdateInPlace(value, updated)) {
        plan.places[value] = place;
        buffer.kind = MemoryKind::State;
        buffer.updates = getBuffer(updated);
        continue;
      }
    } else {
      place = {program::Space::Output, plan.outputBytes};
      plan.outputBytes += buffer.bytes;
      plan.outputs.back() = place;
      if (writers.count(value) && !plan.places.count(value)) {
        plan.places[value] = place;
        buffer.kind = MemoryKind::Output;
        continue;
      }
    }
    buffer.returned = true;
    plan.finalCopies.push_back({value, place, std::nullopt});
  }
}

void Planner::linkUpdates() {
  for (const MemoryBuffer &buffer : graph.buffers) {
    if (buffer.updates < 0)
      continue;
    for (unsigned user : graph.buffers[buffer.updates].users)
      if (user != buffer.producer)
        graph.ops[buffer.producer].after.push_back(user);
  }
}

void Planner::placeTemporaries() {
  // Final copies whose source another one overwrites go through the arena. All
  // such reads come before all writes, so they are alive together.
  DenseSet<int64_t> overwritten;
  for (const FinalCopy &copy : plan.finalCopies)
    if (copy.destination.space == program::Space::State)
      overwritten.insert(copy.destination.offset);
  SmallVector<unsigned> detours;
  for (auto [i, copy] : llvm::enumerate(plan.finalCopies)) {
    auto place = plan.places.find(copy.source);
    if (place == plan.places.end() || place->second.space != program::Space::State ||
        !overwritten.contains(place->second.offset))
      continue;
    detours.push_back(i);
    graph.finalBlocks.push_back(graph.buffers[getBuffer(copy.source)].bytes);
  }

  plan.profile = profileMemory(graph);
  ArenaPlan arena = planArena(plan.profile.blocks, options);
  plan.arenaBytes = arena.bytes;
  plan.arenaLowerBound = arena.lowerBound;
  for (auto [id, buffer] : llvm::enumerate(graph.buffers))
    if (int64_t block = plan.profile.blockOfBuffer[id]; block >= 0)
      plan.places[buffer.value] = {program::Space::Arena, arena.offsets[block]};
  int64_t op = -1;
  for (auto [i, instruction] : llvm::enumerate(schedule.instructions)) {
    if (i == 0 || !schedule.instructions[i - 1].isPlannedWith(instruction))
      ++op;
    const bool isShared = instruction.isWait() || graph.ops[op].until >= 0;
    const int64_t owner = isShared ? *firstBegun : op;
    plan.scratchOffsets.push_back(
        instruction.scratchBytes > 0 ? arena.offsets[plan.profile.blockOfWorkspace[owner]]
                                     : -1);
  }
  for (auto [copy, block] : llvm::zip_equal(detours, plan.profile.blockOfFinal))
    plan.finalCopies[copy].through =
        BufferPlace{program::Space::Arena, arena.offsets[block]};
  plan.blockOffsets = std::move(arena.offsets);
}

} // namespace

std::optional<double> LoopBody::getFill(Value init) {
  auto constant = init.getDefiningOp<ConstantOp>();
  auto splat =
      constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  auto value = splat.getSplatValue<APFloat>();
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

bool LoopBody::writesAfterReads(unsigned result, Value input) const {
  auto found = llvm::find(arguments, input);
  if (found == arguments.end() || !isSlice[found - arguments.begin()])
    return false;
  func::FuncOp body = *function;
  Value slice = body.getArgument(found - arguments.begin());
  Value written = schedule.returned[result];
  if (getTensorBytes(cast<RankedTensorType>(slice.getType())) !=
          getTensorBytes(cast<RankedTensorType>(written.getType())) ||
      llvm::is_contained(schedule.returned, slice))
    return false;
  // What the iteration does not write there itself is copied at its end.
  if (plan.places.lookup(written).space != program::Space::Output)
    return true;
  auto isOf = [](Value value) {
    return [value](const BufferView &view) { return view.value == value; };
  };
  bool isWritten = false;
  for (const StepInstruction &instruction : schedule.instructions) {
    const bool isRead = llvm::any_of(instruction.inputs, isOf(slice));
    if (isRead && isWritten)
      return false;
    auto output = llvm::find_if(instruction.outputs, isOf(written));
    if (output == instruction.outputs.end())
      continue;
    isWritten = true;
    if (isRead && !isSamePoints(instruction, output - instruction.outputs.begin(), slice))
      return false;
  }
  return true;
}

int64_t LoopBody::getStride(RankedTensorType slice) const {
  return reverse ? -getTensorBytes(slice) : getTensorBytes(slice);
}

int64_t LoopBody::getFirst(RankedTensorType slice) const {
  return reverse ? (count - 1) * getTensorBytes(slice) : 0;
}

int64_t mpt::getTensorBytes(RankedTensorType type) {
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

BufferAssignment mpt::assignBuffers(func::FuncOp function,
                                    const InstructionList &schedule,
                                    ArenaOptions options) {
  options.alignment = bufferAlignment;
  return Planner(function, schedule, options).run();
}
