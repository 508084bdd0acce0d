//===- KernelsToGPU.cpp - Kernels as functions of a gpu.module -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-convert-kernels-to-gpu`: emits every kernel of the module into one
/// `gpu.module` and removes the `mpt_kernel.func`s.
///
//===----------------------------------------------------------------------===//

#include "DeviceCalls.h"
#include "DeviceLauncher.h"
#include "GPUKernelEmitter.h"
#include "LaunchGroups.h"
#include "ReductionBatches.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace mpt {
#define GEN_PASS_DEF_CONVERTKERNELSTOGPUPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;
using program::LibraryCallOpInterface;

/// What a copy reads or writes, `rows` of `columns` elements from `offset` on: the part
/// of `buffer`, so that copies into parts of one buffer do not conflict, and an offset of
/// 0; or all of it where that is no buffer of its own.
static Value takeRows(OpBuilder &builder, Value buffer, int64_t &offset, int64_t rows,
                      int64_t columns, int64_t stride) {
  auto declared = buffer.getDefiningOp<program::BufferOp>();
  auto type = cast<MemRefType>(buffer.getType());
  if (!declared || blockOf(declared).isReadOnly() || !declared.getStrides().empty() ||
      (rows > 1 && stride < columns))
    return buffer;
  const bool isPacked = rows == 1 || stride == columns;
  const int64_t begin = static_cast<int64_t>(declared.getOffset()) +
                        offset * bytesOf(type.getElementType());
  if (begin % 64 != 0 || (isPacked && type.getNumElements() == rows * columns))
    return buffer;
  offset = 0;
  MemRefLayoutAttrInterface layout;
  if (!isPacked)
    layout = StridedLayoutAttr::get(builder.getContext(), 0, {stride, 1});
  return program::BufferOp::create(
      builder, buffer.getLoc(),
      MemRefType::get({rows, columns}, type.getElementType(), layout),
      declared.getSpace(), begin);
}

/// A copy of rows as such, without dimensions of one element. Changes `copy` and the
/// buffers that it reads and writes; false if it is none of rows.
static bool reduceToRows(OpBuilder &builder, rt::Instruction &instruction,
                         SmallVectorImpl<Value> &buffers) {
  auto &copy = std::get<rt::CopyCall>(*instruction.call);
  SmallVector<std::array<int64_t, 3>> dims;
  for (auto [size, from, to] :
       llvm::zip_equal(copy.sizes, copy.srcStrides, copy.dstStrides))
    if (size != 1)
      dims.push_back({size, from, to});
  if (dims.empty())
    dims.push_back({1, 1, 1});
  if (dims.size() == 1)
    dims.insert(dims.begin(), {1, dims[0][0], dims[0][0]});
  const auto [rows, fromRow, toRow] = dims[0];
  const auto [columns, fromColumn, toColumn] = dims[1];
  if (dims.size() > 2 || rows <= 0 || columns <= 0 || fromColumn != 1 || toColumn != 1 ||
      llvm::any_of(buffers, [](Value buffer) {
        return !cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
      }))
    return false;
  buffers[0] = takeRows(builder, buffers[0], copy.srcOffset, rows, columns, fromRow);
  buffers[1] = takeRows(builder, buffers[1], copy.dstOffset, rows, columns, toRow);
  copy.sizes = {rows, columns};
  copy.srcStrides = {fromRow, 1};
  copy.dstStrides = {toRow, 1};
  if (rows == 1) {
    copy.sizes = {columns};
    copy.srcStrides = copy.dstStrides = {1};
  }
  for (auto [ref, buffer] : llvm::zip(instruction.refs, buffers))
    ref.dims = {
        program::countSpannedElements(cast<MemRefType>(buffer.getType())).value_or(0)};
  return true;
}

/// Copies and fills that a group of launches can do become launches of kernels. Those in
/// loops and alternatives stay calls.
static LogicalResult makeMovesLaunches(program::ProgramOp program, SymbolTable &symbols,
                                       llvm::StringMap<kernel::FuncOp> &known) {
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front())) {
    auto call = dyn_cast<LibraryCallOpInterface>(op);
    if (!call || !isa<program::CopyOp, program::FillOp>(op))
      continue;
    FailureOr<rt::Instruction> instruction = encodeCall(call);
    if (failed(instruction))
      return failure();
    SmallVector<Value> buffers(call.getInputs());
    llvm::append_range(buffers, call.getOutputs());
    OpBuilder place(&op);
    if (isa<program::CopyOp>(op) && !reduceToRows(place, *instruction, buffers))
      continue;
    auto [entry, isNew] = known.try_emplace(keyOf(*instruction));
    if (isNew) {
      SmallVector<Type> elements;
      for (Value buffer : buffers)
        elements.push_back(cast<MemRefType>(buffer.getType()).getElementType());
      OpBuilder builder(program);
      // Two underscores: calls that stay have one.
      const std::string name = (llvm::Twine("mpt_") + rt::getName(*instruction->call) +
                                "__" + llvm::Twine(known.size()))
                                   .str();
      kernel::FuncOp kernel =
          createMoveKernel(builder, op.getLoc(), name, *instruction, elements);
      if (kernel && GPUKernelEmitter(kernel).getGroupKey()) {
        kernel->remove();
        symbols.insert(kernel, Block::iterator(program));
        entry->second = kernel;
      } else if (kernel) {
        kernel.erase();
      }
    }
    kernel::FuncOp kernel = entry->second;
    if (!kernel) {
      for (Value buffer : buffers)
        if (Operation *declared = buffer.getDefiningOp();
            declared && declared->use_empty())
          declared->erase();
      continue;
    }
    const size_t numInputs = call.getInputs().size();
    program::LaunchOp::create(
        place, op.getLoc(), kernel.getSymName(), ArrayRef(buffers).take_front(numInputs),
        ArrayRef(buffers).drop_front(numInputs), /*partials=*/Value(), /*tasks=*/1);
    op.erase();
  }
  return success();
}

namespace {

/// A program whose calls and launches become launches of device functions. First all
/// functions are emitted, then the ops are replaced.
/// Functions of the module that do what several launches do. Those of two programs may
/// begin with the same kernel: their numbers count on.
struct SharedFunctions {
  unsigned batches = 0, groups = 0;
};

class ProgramConverter {
public:
  ProgramConverter(program::ProgramOp program, OpBuilder &device,
                   SharedFunctions &functions)
      : program(program), symbols(program->getParentOfType<ModuleOp>()), device(device),
        functions(functions) {}

  /// Emits the functions of calls that no library does. Calls that need scratch memory
  /// share one block after the arena.
  LogicalResult emitCalls(DeviceCallEmitter &emitter);
  /// Emits functions that do what several launches do.
  void emitShared();
  /// Adds the kernels of the launches that are left.
  LogicalResult addKernels(llvm::StringMap<SmallVector<DeviceLaunch>> &kernels);
  /// `kernels`: the launches of each kernel's functions.
  void replace(const llvm::StringMap<SmallVector<DeviceLaunch>> &kernels);

private:
  DeviceLaunch emitGroup(const LaunchGroup &group);
  /// All bytes of `block`, or of an input or constant what begins with its first byte.
  Value getWhole(const MemoryBlock &block);

  program::ProgramOp program;
  SymbolTable symbols;
  OpBuilder &device;
  SharedFunctions &functions;
  SmallVector<std::pair<LibraryCallOpInterface, DeviceCall>> calls;
  SmallVector<SharedLaunch> shared;
  llvm::DenseSet<Operation *> members;
};

LogicalResult ProgramConverter::emitCalls(DeviceCallEmitter &emitter) {
  int64_t scratch = 0;
  WalkResult result = program.walk([&](LibraryCallOpInterface call) {
    FailureOr<DeviceCall> made = emitter.emit(call);
    if (failed(made))
      return WalkResult::interrupt();
    if (made->isForLibrary)
      return WalkResult::advance();
    // What the CPU's code would have used.
    call.getCallWorkspaceMutable().clear();
    scratch = std::max(scratch, made->scratchBytes);
    calls.push_back({call, *made});
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (scratch == 0)
    return success();
  int64_t offset = llvm::alignTo(program.getArenaBytes(), 256);
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  auto type = MemRefType::get({scratch}, builder.getI8Type());
  program.setArenaBytes(offset + llvm::alignTo(scratch, 64));
  auto declared = program::BufferOp::create(builder, program.getLoc(), type,
                                            program::Space::Arena, offset);
  for (auto &[call, made] : calls)
    if (made.scratchBytes != 0)
      call.getCallWorkspaceMutable().assign(declared.getBuffer());
  return success();
}

void ProgramConverter::emitShared() {
  for (const auto &batch : batchReductions(program))
    shared.push_back(emitBatch(program, batch,
                               (program::LaunchOp(batch.front()).getKernel() + "_batch" +
                                Twine(functions.batches++))
                                   .str(),
                               device));
  for (const LaunchGroup &group : groupLaunches(program))
    shared.push_back({group.launches, {emitGroup(group)}, group.blocks});
  for (const SharedLaunch &launch : shared)
    members.insert(launch.members.begin(), launch.members.end());
}

DeviceLaunch ProgramConverter::emitGroup(const LaunchGroup &group) {
  // Two groups may begin with the same kernel. Those of a program's own kernels have
  // their names, others the program's.
  const auto *named = llvm::find_if(group.launches, [](program::LaunchOp launch) {
    return !launch.getKernel().starts_with("mpt_");
  });
  const StringRef beginning = named == group.launches.end()
                                  ? program.getSymName()
                                  : program::LaunchOp(*named).getKernel();
  std::string name = (beginning + "_group" + llvm::Twine(functions.groups++)).str();
  // The code of each part is that of its largest member.
  SmallVector<std::unique_ptr<GPUKernelEmitter>> emitters(group.partBlocks.size());
  SmallVector<GPUKernelEmitter::Member> members;
  for (auto [number, part] : llvm::enumerate(group.parts)) {
    program::LaunchOp launch = group.launches[number];
    auto emitter = std::make_unique<GPUKernelEmitter>(
        symbols.lookup<kernel::FuncOp>(launch.getKernel()));
    GPUKernelEmitter::Member &member = members.emplace_back();
    member.part = part;
    member.elements = emitter->getElements();
    for (ValueRange buffers :
         {ValueRange(launch.getInputs()), ValueRange(launch.getOutputs())})
      for (Value buffer : buffers)
        member.offsets.push_back(
            startInBlock(buffer.getDefiningOp<program::BufferOp>()) +
            emitter->getFirstByte(static_cast<unsigned>(member.offsets.size())));
    if (!emitters[part] || member.elements > emitters[part]->getElements())
      emitters[part] = std::move(emitter);
  }
  SmallVector<GPUKernelEmitter::GroupPart> parts;
  for (auto [emitter, blocks] : llvm::zip_equal(emitters, group.partBlocks))
    parts.push_back({emitter.get(), blocks});
  return GPUKernelEmitter::emitGroup(device, name, members, parts, group.blocks.size());
}

LogicalResult
ProgramConverter::addKernels(llvm::StringMap<SmallVector<DeviceLaunch>> &kernels) {
  WalkResult result = program.walk([&](program::LaunchOp launch) -> WalkResult {
    if (members.contains(launch))
      return WalkResult::advance();
    if (!symbols.lookup<kernel::FuncOp>(launch.getKernel()))
      return launch.emitOpError("expected ")
             << launch.getKernelAttr() << " to be an mpt_kernel.func, found a function; "
             << "run --mpt-convert-kernels-to-gpu before kernels are lowered for the CPU";
    kernels.try_emplace(launch.getKernel());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

Value ProgramConverter::getWhole(const MemoryBlock &block) {
  if (block.isReadOnly())
    for (auto declared : program.getBody().getOps<program::BufferOp>())
      if (blockOf(declared) == block && declared.getStart() == 0)
        return declared.getBuffer();
  const program::Space space = block.space;
  int64_t bytes = space == program::Space::Arena   ? program.getArenaBytes()
                  : space == program::Space::State ? program.getStateBytes()
                                                   : program.getOutputBytes();
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  return program::BufferOp::create(
      builder, program.getLoc(), MemRefType::get({bytes}, builder.getI8Type()), space, 0);
}

void ProgramConverter::replace(
    const llvm::StringMap<SmallVector<DeviceLaunch>> &kernels) {
  for (auto &[call, made] : calls) {
    OpBuilder builder(call);
    for (const DeviceLaunch &launch : made.launches)
      createDeviceLaunch(builder, call.getLoc(), launch, call.getInputs(),
                         call.getOutputs(), call.getCallWorkspace());
    call->erase();
  }
  // Of a matmul without elements nothing may be left to do after the plain one.
  program.walk([](program::AlternativesOp alternatives) {
    if (!alternatives.getPlainMatmul() ||
        !llvm::hasSingleElement(alternatives.getFallback().front()))
      return;
    alternatives.getPreferredCall()->moveBefore(alternatives);
    alternatives.erase();
  });
  llvm::DenseMap<std::pair<program::Space, int64_t>, Value> whole;
  for (const SharedLaunch &launch : shared) {
    SmallVector<Value> readOnly, buffers;
    for (const MemoryBlock &block : launch.blocks) {
      Value &buffer = whole[{block.space, block.number}];
      if (!buffer)
        buffer = getWhole(block);
      (block.isReadOnly() ? readOnly : buffers).push_back(buffer);
    }
    // The stages of a batch in the places of its first members.
    for (auto [member, stage] : llvm::zip(launch.members, launch.launches)) {
      OpBuilder builder(member);
      createDeviceLaunch(builder, member->getLoc(), stage, readOnly, buffers);
    }
    for (program::LaunchOp member : launch.members)
      member.erase();
  }
  program.walk([&](program::LaunchOp launch) {
    OpBuilder builder(launch);
    for (const DeviceLaunch &stage : kernels.find(launch.getKernel())->second)
      createDeviceLaunch(builder, launch.getLoc(), stage, launch.getInputs(),
                         launch.getOutputs(), launch.getPartials());
    launch.erase();
  });
}

struct ConvertKernelsToGPUPass
    : mpt::impl::ConvertKernelsToGPUPassBase<ConvertKernelsToGPUPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!mpt::detail::hasKernelsOrProgram(module))
      return mpt::detail::warnOfNothingToDo(module, getArgument(),
                                            "no kernel and no program");
    auto programs = llvm::to_vector(module.getOps<program::ProgramOp>());
    {
      SymbolTable symbols(module);
      llvm::StringMap<kernel::FuncOp> moves;
      for (program::ProgramOp program : programs)
        if (failed(makeMovesLaunches(program, symbols, moves)))
          return signalPassFailure();
    }
    auto kernels = llvm::to_vector(module.getOps<kernel::FuncOp>());
    for (kernel::FuncOp kernel : kernels)
      if (failed(GPUKernelEmitter(kernel).check()))
        return signalPassFailure();
    // mpt-convert-calls-to-gpu may have put functions there.
    Operation *taken = module.lookupSymbol(kDeviceModule);
    auto device = dyn_cast_or_null<gpu::GPUModuleOp>(taken);
    if (taken && (!device || !hasLaunches(programs))) {
      module.emitError("the name @")
          << kDeviceModule << ", which kernels go to, is taken";
      return signalPassFailure();
    }
    bool hasCalls = llvm::any_of(programs, [](program::ProgramOp program) {
      return program.walk([](LibraryCallOpInterface) { return WalkResult::interrupt(); })
          .wasInterrupted();
    });
    if (kernels.empty() && !device && !hasCalls)
      return;
    SmallVector<Attribute> targets;
    for (const std::string &chip : chips)
      targets.push_back(NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                                  "nvptx64-nvidia-cuda", chip));
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    if (!device)
      device = gpu::GPUModuleOp::create(builder, module.getLoc(), kDeviceModule);
    if (!targets.empty())
      device.setTargetsAttr(builder.getArrayAttr(targets));
    OpBuilder inner = OpBuilder::atBlockEnd(&device.getBodyRegion().front());
    DeviceCallEmitter calls(inner);
    llvm::StringMap<SmallVector<DeviceLaunch>> alone;
    std::vector<ProgramConverter> converters;
    SharedFunctions functions;
    for (program::ProgramOp program : programs) {
      ProgramConverter &converter = converters.emplace_back(program, inner, functions);
      if (failed(converter.emitCalls(calls)))
        return signalPassFailure();
      converter.emitShared();
      if (failed(converter.addKernels(alone)))
        return signalPassFailure();
    }
    for (kernel::FuncOp kernel : kernels) {
      if (programs.empty() || alone.contains(kernel.getSymName())) {
        GPUKernelEmitter emitter(kernel);
        alone[kernel.getSymName()] = emitter.getLaunches();
        emitter.emit(inner);
      }
      kernel.erase();
    }
    for (ProgramConverter &converter : converters)
      converter.replace(alone);
  }

private:
  static bool hasLaunches(ArrayRef<program::ProgramOp> programs) {
    return llvm::any_of(programs, [](program::ProgramOp program) {
      return program.walk([](program::DeviceLaunchOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
    });
  }
};

} // namespace
