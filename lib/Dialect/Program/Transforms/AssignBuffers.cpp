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
    for (auto [i, instruction] : llvm::enumerate(schedule.instructions)) {
      builder.setInsertionPointToEnd(&block);
      if (instruction.kernel)
        buildLaunch(instruction, plan.scratchOffsets[i]);
      else
        buildCall(instruction, plan.scratchOffsets[i]);
    }
    builder.setInsertionPointToEnd(&block);
    buildFinalCopies();
    return program;
  }

private:
  void declareNamedBuffers();
  void buildLaunch(StepInstruction instruction, int64_t scratchOffset);
  void buildCall(const StepInstruction &instruction, int64_t scratchOffset);
  void buildFinalCopies();
  void buildCopy(Location loc, Value from, Value to);
  StringAttr getKernel(kernel::KernelOp kernel);

  MemRefType bufferType(RankedTensorType type) {
    return MemRefType::get(type.getShape(), type.getElementType());
  }

  /// The buffer at `place` seen as `type`; one op for each distinct view.
  Value getBuffer(Location loc, BufferPlace place, MemRefType type,
                  Value constant = Value());
  Value getBuffer(Location loc, const BufferView &view) {
    return getBuffer(loc, plan.places.lookup(view.value), bufferType(view.type),
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
  DenseMap<std::tuple<unsigned, int64_t, Type>, Value> made;
};

void ProgramBuilder::declareNamedBuffers() {
  auto declare = [&](BufferPlace place, Type type, StringAttr name, RoleAttr role,
                     InitAttr init, StringAttr lowOf) {
    auto buffer = bufferType(cast<RankedTensorType>(type));
    made[{static_cast<unsigned>(place.space), place.offset, buffer}] =
        program::BufferOp::create(builder, function.getLoc(), buffer, place.space,
                                  place.offset, name, role, init, lowOf, ElementsAttr());
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
  Value &known = made[{static_cast<unsigned>(place.space), place.offset, type}];
  if (known)
    return known;
  ElementsAttr value;
  if (place.space == program::Space::Constant)
    if (auto op = constant.getDefiningOp<ConstantOp>())
      value = op.getValue();
  return known = program::BufferOp::create(builder, loc, type, place.space, place.offset,
                                           value);
}

StringAttr ProgramBuilder::getKernel(kernel::KernelOp kernel) {
  auto type = builder.getFunctionType(kernel.getInputs().getTypes(),
                                      kernel.getOutputs().getTypes());
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
                            FlatSymbolRefAttr::get(getKernel(kernel)), inputs, outputs,
                            partials,
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
  if (instruction.call) {
    program::createCall(builder, instruction.loc, *instruction.call, inputs, outputs,
                        workspace);
    return;
  }
  if (auto op = dyn_cast<AttentionOp>(instruction.op)) {
    Value mask = op.getMask() ? inputs[3] : Value();
    program::AttentionOp::create(builder, instruction.loc, inputs[0], inputs[1],
                                 inputs[2], mask, outputs[0], outputs[1], op.getCausal(),
                                 op.getScaleAttr());
    return;
  }
  auto op = cast<AttentionGradOp>(instruction.op);
  Value mask = op.getMask() ? inputs[6] : Value();
  program::AttentionGradOp::create(builder, instruction.loc, inputs[0], inputs[1],
                                   inputs[2], inputs[3], inputs[4], inputs[5], mask,
                                   outputs[0], outputs[1], outputs[2], workspace,
                                   op.getCausal(), op.getScaleAttr());
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

void ProgramBuilder::buildFinalCopies() {
  Location loc = function.getBody().front().getTerminator()->getLoc();
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
LogicalResult checkConstants(const BufferAssignment &plan) {
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
    BufferAssignment plan = scheduleForMemory(step, *schedule, *wanted).plan;
    if (failed(checkConstants(plan)) || failed(checkMemory(step, plan, memoryLimit)))
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
