//===- AssignBuffers.cpp - From a fused step to a planned program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-assign-buffers`: writes down what listInstructions and assignBuffers decided as
/// a `mpt_program.program`, with every distinct kernel as one `mpt_kernel.func`.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"
#include "mpt/Dialect/MPT/Transforms/ResultNames.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/Dialect/Program/Transforms/MemorySchedule.h"
#include "mpt/Dialect/Program/Transforms/Passes.h"
#include "mpt/ProgramABI/ProgramFormat.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace mpt {
#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "mpt/Dialect/Program/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// Builds one program from a function and its plans.
class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp function, const InstructionList &schedule,
                 const BufferAssignment &plan, SymbolTable &symbols)
      : function(function), schedule(schedule), plan(plan), symbols(symbols),
        builder(function), kernels(function) {}

  program::ProgramOp build(TargetAttr target, int64_t maxThreads) {
    auto program = program::ProgramOp::create(
        builder, function.getLoc(), builder.getStringAttr(function.getName()), target,
        builder.getI64IntegerAttr(maxThreads), builder.getI64IntegerAttr(plan.arenaBytes),
        builder.getI64IntegerAttr(plan.stateBytes),
        builder.getI64IntegerAttr(plan.outputBytes), /*tuned_matmuls=*/DictionaryAttr());
    Block &block = program.getBody().emplaceBlock();
    builder.setInsertionPointToStart(&block);
    declareNamedBuffers();
    nextConstant = llvm::count_if(plan.graph.buffers, [](const MemoryBuffer &buffer) {
      return buffer.kind == MemoryKind::Constant;
    });
    buildInstructions(schedule);
    Location loc = function.getBody().front().getTerminator()->getLoc();
    buildFinalCopies(loc);
    return program;
  }

private:
  /// An iteration of a loop that is being built.
  struct Frame {
    const LoopBody &body;
    /// Where its arena begins in that of the step or iteration around it.
    int64_t arena;
    /// Of the step or iteration around it.
    const BufferAssignment &plan;
  };

  void declareNamedBuffers();
  void buildInstructions(const InstructionList &list);
  void buildLoop(const StepInstruction &instruction, int64_t arena);
  /// Where `place` of the iteration of `frames[depth - 1]` lies in the program. `owner`
  /// is the value there, and becomes that of the step or iteration which it comes from.
  BufferPlace resolve(BufferPlace place, size_t depth, Value &owner);
  void buildLaunch(StepInstruction instruction, int64_t scratchOffset);
  void buildCall(const StepInstruction &instruction, int64_t scratchOffset);
  void buildFinalCopies(Location loc);
  void buildCopy(Location loc, Value from, Value to);
  /// The function of `kernel` that writes its results to `outputs`.
  StringAttr getKernel(kernel::KernelOp kernel, ValueRange outputs);

  MemRefType bufferType(RankedTensorType type, ArrayRef<int64_t> strides = {}) {
    if (strides.empty())
      return MemRefType::get(type.getShape(), type.getElementType());
    return MemRefType::get(
        type.getShape(), type.getElementType(),
        StridedLayoutAttr::get(builder.getContext(), /*offset=*/0, strides));
  }

  /// The plan of the step or iteration that is being built.
  const BufferAssignment &getPlan() {
    return frames.empty() ? plan : frames.back().body.plan;
  }
  /// The buffer at `place` of the plan, seen as `type`; one op for each distinct view.
  Value getBuffer(Location loc, BufferPlace place, MemRefType type,
                  Value constant = Value());
  Value getBuffer(Location loc, const BufferView &view) {
    // Parts are those of state or of what is computed, which is never numbered.
    BufferPlace place = getPlan().places.lookup(view.value);
    place.offset += view.start;
    return getBuffer(loc, std::move(place), bufferType(view.type, view.strides),
                     view.value);
  }
  Value getScratch(Location loc, int64_t offset, int64_t bytes) {
    if (offset < 0)
      return Value();
    return getBuffer(loc, {program::Space::Arena, offset},
                     MemRefType::get({bytes}, builder.getI8Type()));
  }

  func::FuncOp function;
  const InstructionList &schedule;
  const BufferAssignment &plan;
  SymbolTable &symbols;
  OpBuilder builder;
  /// Where kernels go: before the function.
  OpBuilder kernels;
  llvm::StringMap<StringAttr> kernelNames;
  using View = std::tuple<program::Space, int64_t, int64_t, std::vector<int64_t>, Type>;
  static View getKey(const BufferPlace &place, Type type) {
    return {place.space,
            place.offset,
            place.start,
            {place.strides.begin(), place.strides.end()},
            type};
  }
  struct CompareViews {
    bool operator()(const View &a, const View &b) const {
      auto key = [](const View &view) {
        const auto &[space, offset, start, strides, type] = view;
        return std::make_tuple(space, offset, start, strides, type.getAsOpaquePointer());
      };
      return key(a) < key(b);
    }
  };
  /// Looked up only, so the order of types does not matter.
  std::map<View, Value, CompareViews> made;
  /// The loops around what is being built, the outermost first, and its op.
  SmallVector<Frame> frames;
  Operation *outermost = nullptr;
  /// Numbers of constants of iterations.
  DenseMap<Value, int64_t> constants;
  int64_t nextConstant = 0;
};

void ProgramBuilder::buildInstructions(const InstructionList &list) {
  for (auto [i, instruction] : llvm::enumerate(list.instructions)) {
    const int64_t scratch = getPlan().scratchOffsets[i];
    if (instruction.loop)
      buildLoop(instruction, scratch);
    else if (instruction.kernel)
      buildLaunch(instruction, scratch);
    else
      buildCall(instruction, scratch);
  }
}

void ProgramBuilder::buildLoop(const StepInstruction &instruction, int64_t arena) {
  const LoopBody &body = *instruction.loop;
  const Location loc = instruction.loc;
  // What is carried begins where it stays.
  for (auto [init, output] : llvm::zip(body.inits, instruction.outputs)) {
    auto from = getPlan().places.find(init), to = getPlan().places.find(output.value);
    if (from != getPlan().places.end() && from->second.space == to->second.space &&
        from->second.offset == to->second.offset)
      continue;
    Value target = getBuffer(loc, output);
    if (std::optional<double> value = LoopBody::getFill(init)) {
      program::createCall(builder, loc, rt::FillCall{*value}, {}, target);
      continue;
    }
    buildCopy(loc, getBuffer(loc, from->second, cast<MemRefType>(target.getType()), init),
              target);
  }
  Value condition;
  if (body.condition)
    condition = getBuffer(loc, getPlan().places.lookup(body.condition),
                          bufferType(RankedTensorType::get({}, builder.getI1Type())),
                          body.condition);
  auto loop = program::LoopOp::create(builder, loc, builder.getI64IntegerAttr(body.count),
                                      condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&loop.getBody().emplaceBlock());
  if (frames.empty())
    outermost = loop;
  frames.push_back({body, std::max<int64_t>(arena, 0), getPlan()});
  buildInstructions(body.schedule);
  buildFinalCopies(loc);
  frames.pop_back();
  if (loop.getBody().front().empty())
    loop.erase();
}

BufferPlace ProgramBuilder::resolve(BufferPlace place, size_t depth, Value &owner) {
  if (depth == 0)
    return place;
  const Frame &frame = frames[depth - 1];
  const LoopBody &body = frame.body;
  // Of the step or iteration around this one; a slice of it moves.
  auto getOuter = [&](Value outside, RankedTensorType slice) {
    owner = outside;
    BufferPlace outer = resolve(frame.plan.places.lookup(owner), depth - 1, owner);
    if (!slice)
      return outer;
    const bool isNumbered =
        outer.space == program::Space::Input || outer.space == program::Space::Constant;
    (isNumbered ? outer.start : outer.offset) += body.getFirst(slice);
    outer.strides.resize(depth - 1, 0);
    outer.strides.push_back(body.getStride(slice));
    return outer;
  };
  func::FuncOp function = *body.function;
  switch (place.space) {
  case program::Space::Arena:
    return resolve({program::Space::Arena, frame.arena + place.offset}, depth - 1, owner);
  case program::Space::Constant: {
    auto [known, isNew] = constants.try_emplace(owner, nextConstant);
    nextConstant += isNew;
    return {program::Space::Constant, known->second};
  }
  case program::Space::State:
  case program::Space::Input:
    // Of several that begin there, all but the last have no bytes.
    for (size_t i = body.plan.arguments.size(); i-- > 0;)
      if (body.plan.arguments[i].space == place.space &&
          body.plan.arguments[i].offset == place.offset)
        return getOuter(body.arguments[i],
                        body.isSlice[i]
                            ? cast<RankedTensorType>(function.getArgumentTypes()[i])
                            : RankedTensorType());
    break;
  case program::Space::Output:
    for (size_t i = body.plan.outputs.size(); i-- > 0;)
      if (body.plan.outputs[i] && body.plan.outputs[i]->offset == place.offset)
        return getOuter(body.stacked[i],
                        cast<RankedTensorType>(function.getResultTypes()[i]));
    break;
  }
  llvm_unreachable("places of a plan are those of arguments and results");
}

void ProgramBuilder::declareNamedBuffers() {
  auto declare = [&](BufferPlace place, Type type, StringAttr name, RoleAttr role,
                     InitAttr init, StringAttr lowOf) {
    auto buffer = bufferType(cast<RankedTensorType>(type));
    made[getKey(place, buffer)] = program::BufferOp::create(
        builder, function.getLoc(), buffer, place.space, place.offset, /*start=*/0,
        /*strides=*/ArrayRef<int64_t>(), name, role, init, lowOf, ElementsAttr());
  };
  StepView step(function);
  for (auto [i, argument] : llvm::enumerate(step.getArguments()))
    declare(plan.arguments[i], function.getArgumentTypes()[i], argument.name,
            RoleAttr::get(builder.getContext(), argument.role.value_or(Role::Input)),
            argument.init, argument.lowOf);
  for (auto [i, place] : llvm::enumerate(plan.outputs))
    if (place)
      declare(*place, function.getResultTypes()[i], step.getResults()[i].name, {}, {},
              {});
}

Value ProgramBuilder::getBuffer(Location loc, BufferPlace place, MemRefType type,
                                Value constant) {
  place = resolve(std::move(place), frames.size(), constant);
  while (!place.strides.empty() && place.strides.back() == 0)
    place.strides.pop_back();
  Value &known = made[getKey(place, type)];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder);
  if (!frames.empty())
    builder.setInsertionPoint(outermost);
  ElementsAttr value;
  if (place.space == program::Space::Constant)
    if (auto op = constant.getDefiningOp<ConstantOp>()) {
      value = op.getValue();
      loc = op.getLoc();
    }
  return known = program::BufferOp::create(builder, loc, type, place.space, place.offset,
                                           value, place.start, place.strides);
}

StringAttr ProgramBuilder::getKernel(kernel::KernelOp kernel, ValueRange outputs) {
  SmallVector<Type> results(kernel.getOutputs().getTypes());
  for (auto [result, output] : llvm::zip_equal(results, outputs))
    if (auto buffer = cast<MemRefType>(output.getType());
        !buffer.getLayout().isIdentity())
      result = buffer;
  auto type = builder.getFunctionType(kernel.getInputs().getTypes(), results);
  // Kernels are equal if they print alike but for names and locations.
  std::string key;
  llvm::raw_string_ostream stream(key);
  // Marks of clones tell them from their originals, which they share code with.
  NamedAttrList attributes(kernel->getAttrDictionary());
  attributes.erase(kRematAttr);
  stream << type << attributes.getDictionary(builder.getContext());
  AsmState state(kernel, OpPrintingFlags().useLocalScope());
  for (Operation &op : kernel.getBody().front())
    op.print(stream << "\n", state);
  auto [it, inserted] = kernelNames.try_emplace(key);
  if (!inserted)
    return it->second;
  auto func = kernel::FuncOp::create(
      kernels, kernel.getLoc(), builder.getStringAttr(function.getName() + "_kernel"),
      TypeAttr::get(type), kernel.getKindAttr(), kernel.getDomainAttr(),
      kernel.getChunkRowsAttr(), kernel.getOperandMapsAttr(), kernel.getResultMapsAttr());
  IRMapping mapping;
  kernel.getBody().cloneInto(&func.getBody(), mapping);
  it->second = symbols.insert(func);
  return it->second;
}

void ProgramBuilder::buildLaunch(StepInstruction instruction, int64_t scratchOffset) {
  kernel::KernelOp kernel = instruction.kernel;
  SmallVector<Value> inputs, outputs;
  for (const BufferView &input : instruction.inputs)
    inputs.push_back(getBuffer(instruction.loc, input));
  for (const BufferView &output : instruction.outputs)
    outputs.push_back(getBuffer(instruction.loc, output));
  Value partials = getScratch(instruction.loc, scratchOffset, instruction.scratchBytes);
  program::LaunchOp::create(builder, instruction.loc,
                            FlatSymbolRefAttr::get(getKernel(kernel, outputs)), inputs,
                            outputs, partials,
                            builder.getI64IntegerAttr(getKernelTasks(
                                kernel.getDomain(), kernel.getChunkRows())));
}

void ProgramBuilder::buildCall(const StepInstruction &instruction,
                               int64_t scratchOffset) {
  SmallVector<Value> inputs, outputs;
  for (const BufferView &input : instruction.inputs)
    inputs.push_back(getBuffer(instruction.loc, input));
  for (const BufferView &output : instruction.outputs)
    outputs.push_back(getBuffer(instruction.loc, output));
  Value workspace = getScratch(instruction.loc, scratchOffset, instruction.scratchBytes);
  program::createCall(builder, instruction.loc, *instruction.call, inputs, outputs,
                      workspace);
}

void ProgramBuilder::buildCopy(Location loc, Value from, Value to) {
  ArrayRef<int64_t> shape = cast<MemRefType>(from.getType()).getShape();
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  rt::CopyCall copy{shape.vec(),
                    0,
                    {strides.begin(), strides.end()},
                    0,
                    {strides.begin(), strides.end()}};
  program::createCall(builder, loc, copy, from, to);
}

void ProgramBuilder::buildFinalCopies(Location loc) {
  const BufferAssignment &plan = getPlan();
  auto typeOf = [&](const FinalCopy &copy) {
    return bufferType(cast<RankedTensorType>(copy.source.getType()));
  };
  for (const FinalCopy &copy : plan.finalCopies)
    if (copy.through)
      buildCopy(
          loc, getBuffer(loc, plan.places.lookup(copy.source), typeOf(copy), copy.source),
          getBuffer(loc, *copy.through, typeOf(copy)));
  for (const FinalCopy &copy : plan.finalCopies)
    buildCopy(loc,
              copy.through ? getBuffer(loc, *copy.through, typeOf(copy))
                           : getBuffer(loc, plan.places.lookup(copy.source), typeOf(copy),
                                       copy.source),
              getBuffer(loc, copy.destination, typeOf(copy)));
}

/// "tensor<4x8xf32> at model.mlir:3:8" or "state 'w' of tensor<4x8xf32>": a buffer of
/// `step` in messages.
std::string describe(func::FuncOp step, const MemoryBuffer &buffer) {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef kind = buffer.kind == MemoryKind::State      ? "state "
                   : buffer.kind == MemoryKind::Constant ? "constant of "
                   : buffer.kind == MemoryKind::Output   ? "result of "
                                                         : "";
  os << kind;
  if (auto argument = dyn_cast<BlockArgument>(buffer.value)) {
    StringAttr name = StepView::getName(step, argument.getArgNumber());
    os << "'" << (name ? name.getValue() : "") << "' of " << buffer.value.getType();
    return text;
  }
  os << buffer.value.getType();
  if (auto place = LocationAttr(buffer.value.getLoc()).findInstanceOf<FileLineColLoc>())
    os << " at " << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn();
  return text;
}

/// Fails if a constant does not fit in a program's file, which counts bytes in 32 bits.
/// Of a splat it holds one element.
LogicalResult checkConstants(const InstructionList &schedule,
                             const BufferAssignment &plan) {
  for (const StepInstruction &instruction : schedule.instructions)
    if (instruction.loop &&
        failed(checkConstants(instruction.loop->schedule, instruction.loop->plan)))
      return failure();
  for (const MemoryBuffer &buffer : plan.graph.buffers)
    if (auto op = buffer.value.getDefiningOp<ConstantOp>();
        op && !op.getValue().isSplat() && buffer.bytes > int64_t(UINT32_MAX))
      return op.emitError(
                 "mpt-assign-buffers: expected a constant of less than 2^32 bytes, "
                 "unless all of its elements are equal; found ")
             << op.getValue().getShapedType() << " of " << buffer.bytes
             << " bytes; make it an argument";
  return success();
}

/// Emits an error that names the largest values if the program takes more than `limit`
/// bytes. All in one message: who runs a step sees no notes.
LogicalResult checkMemory(func::FuncOp step, const BufferAssignment &plan,
                          int64_t limit) {
  // None is above 2^62 (see listInstructions).
  uint64_t needed = uint64_t(plan.arenaBytes) + plan.stateBytes;
  needed += uint64_t(plan.outputBytes) + plan.constantBytes;
  if (needed <= uint64_t(limit))
    return success();
  // Of the arena, what is alive where it is fullest.
  SmallVector<unsigned> largest =
      getLiveBuffers(plan.graph, plan.profile, plan.profile.peakPosition);
  for (auto [id, buffer] : llvm::enumerate(plan.graph.buffers))
    if (!buffer.inArena() && buffer.kind != MemoryKind::Argument && buffer.updates < 0)
      largest.push_back(id);
  llvm::stable_sort(largest, [&](unsigned a, unsigned b) {
    return plan.graph.buffers[a].bytes > plan.graph.buffers[b].bytes;
  });
  if (largest.size() > 3)
    largest.resize(3);
  InFlightDiagnostic diagnostic =
      step.emitError("mpt-assign-buffers: @")
      << step.getName() << " needs " << needed << " bytes of memory (arena "
      << plan.arenaBytes << ", state " << plan.stateBytes << ", results "
      << plan.outputBytes << ", constants " << plan.constantBytes << ") and may have "
      << limit << " (memory-limit)";
  for (auto [i, id] : llvm::enumerate(largest))
    diagnostic << (i == 0 ? "; largest: " : ", ")
               << describe(step, plan.graph.buffers[id]) << " ("
               << plan.graph.buffers[id].bytes << ")";
  return diagnostic << "; use a smaller batch, narrower types, micro-batches "
                       "(mpt-accumulate) or a memory budget (mpt-rematerialize)";
}

struct AssignBuffersPass : mpt::impl::AssignBuffersPassBase<AssignBuffersPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    AssignBuffersPassBase::getDependentDialects(registry);
    registry.insert<program::ProgramDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp step = findFunction(module);
    if (!step)
      return signalPassFailure();
    FailureOr<std::optional<OrderHeuristic>> wanted =
        getWantedOrder(step, order, getArgument());
    if (failed(wanted))
      return signalPassFailure();
    auto machine = TargetAttr::fromText(
        target, [&] { return module.emitError("mpt-assign-buffers: "); }, &getContext());
    if (!machine)
      return signalPassFailure();
    FailureOr<InstructionList> schedule = listInstructions(step, maxThreads, machine);
    if (failed(schedule))
      return signalPassFailure();
    for (unsigned i : mpt::detail::getUnnamedResults(step)) {
      mlir::emitError(getResultLocation(step),
                      "mpt-assign-buffers: expected a 'mpt.name' on "
                      "result ")
          << i << ", found none; programs give results by name";
      return signalPassFailure();
    }
    MemorySchedule planned = scheduleForMemory(step, *schedule, *wanted);
    if (lateUpdates && !*wanted)
      delayUpdates(step, *schedule, planned);
    if (separate)
      separateValues(step, *schedule, planned);
    const BufferAssignment &plan = planned.plan;
    if (failed(checkConstants(*schedule, plan)) ||
        failed(checkMemory(step, plan, memoryLimit)))
      return signalPassFailure();
    SymbolTable symbols(module);
    // The program takes the function's name.
    ProgramBuilder(step, *schedule, plan, symbols).build(machine, maxThreads);
    step.erase();
  }

private:
  func::FuncOp findFunction(ModuleOp module) {
    if (maxThreads < 1) {
      module.emitError("mpt-assign-buffers: max-threads must be at least 1, got ")
          << maxThreads.getValue();
      return {};
    }
    if (memoryLimit < 1 || memoryLimit > rt::kMaxProgramBytes) {
      module.emitError("mpt-assign-buffers: memory-limit must be 1 to 2^46 bytes, got ")
          << memoryLimit.getValue();
      return {};
    }
    if (!function.empty()) {
      auto step = module.lookupSymbol<func::FuncOp>(function);
      if (!step || step.isDeclaration())
        mlir::emitError(mpt::detail::getModuleLocation(module),
                        "mpt-assign-buffers: no function '")
            << function << "' with a body in this module";
      return step && !step.isDeclaration() ? step : func::FuncOp();
    }
    SmallVector<func::FuncOp> functions;
    for (auto candidate : module.getOps<func::FuncOp>())
      if (!candidate.isDeclaration())
        functions.push_back(candidate);
    if (functions.size() == 1)
      return functions.front();
    InFlightDiagnostic diagnostic =
        mlir::emitError(mpt::detail::getModuleLocation(module),
                        "mpt-assign-buffers: expected one function, found ")
        << functions.size() << "; name one with function=";
    for (func::FuncOp candidate : functions)
      diagnostic.attachNote(candidate.getLoc()) << "'" << candidate.getName() << "'";
    return {};
  }
};

} // namespace
