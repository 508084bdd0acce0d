//===- ProgramToLLVM.cpp - A program as its table -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-convert-program-to-llvm`: serializes the `mpt_program.program` and exports it.
///
//===----------------------------------------------------------------------===//

#include "CudaGlobals.h"
#include "mpt/Codegen/Common/Passes.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/ProgramABI/GemmPlan.h"
#include "mpt/Support/Version.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace mpt {
#define GEN_PASS_DEF_CONVERTPROGRAMTOLLVMPASS
#include "mpt/Codegen/Common/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// Fills a rt::Program from an mpt_program.program.
class ProgramEncoder {
public:
  /// `architectures`: those of GPUs that a program for them is compiled for.
  ProgramEncoder(program::ProgramOp program, ArrayRef<int64_t> architectures)
      : op(program), architectures(architectures), isCuda(program.getTarget().isCuda()),
        numOps(llvm::range_size(op.getBody().front())) {}

  FailureOr<rt::Program> run();
  /// Kernel functions by number.
  SmallVector<KernelEntry> kernels;

private:
  LogicalResult addBuffer(program::BufferOp buffer);
  /// Says what state begins with, as mpt-run would have it, or that the host must.
  FailureOr<rt::BufferRef> refOf(Value buffer);
  LogicalResult addRefs(rt::Instruction &instruction, ValueRange buffers);
  LogicalResult addOp(Operation &inner);
  LogicalResult addLaunch(program::LaunchOp launch);
  LogicalResult addDeviceLaunch(program::DeviceLaunchOp launch);
  LogicalResult addCall(program::LibraryCallOpInterface call);
  LogicalResult addAlternatives(program::AlternativesOp alternatives);
  LogicalResult addLoop(program::LoopOp loop);
  uint32_t kernelNumber(StringRef name) {
    auto [known, isNew] = numbers.try_emplace(name, kernels.size());
    if (isNew)
      kernels.push_back({name.str(), program::DeviceLaunchOp()});
    return known->second;
  }

  program::ProgramOp op;
  ArrayRef<int64_t> architectures;
  bool isCuda;
  /// Of the program's body, those in loops apart.
  int64_t numOps;
  llvm::StringMap<uint32_t> numbers;
  rt::Program program;
};

/// "file.mlir:12:3", the first place of a fused one.
std::string describe(Location loc) {
  std::string text;
  loc->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      llvm::raw_string_ostream(text) << file.getFilename().getValue() << ":"
                                     << file.getLine() << ":" << file.getColumn();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

FailureOr<rt::BufferRef> ProgramEncoder::refOf(Value buffer) {
  auto declared = buffer.getDefiningOp<program::BufferOp>();
  auto type = dyn_cast<MemRefType>(buffer.getType());
  std::optional<rt::DataType> element =
      type ? encodeElementType(type.getElementType()) : std::nullopt;
  if (!declared || !element) {
    emitError(buffer.getLoc(), "a program can use only buffers of known element types, "
                               "found ")
        << buffer.getType();
    return failure();
  }
  rt::BufferRef ref;
  ref.space = static_cast<rt::SpaceId>(declared.getSpace());
  ref.type = *element;
  ref.offset = declared.getOffset();
  // What device functions read with strides is all that lies between, to the runtime.
  if (type.getLayout().isIdentity())
    ref.dims.assign(type.getShape().begin(), type.getShape().end());
  else
    ref.dims = {program::countSpannedElements(type).value_or(0)};
  ref.start = declared.getStart();
  ref.strides = declared.getStrides().vec();
  return ref;
}

/// The elements of a constant whose data lies beside the module's text, one after
/// another.
static FailureOr<ArrayRef<char>> readResource(program::BufferOp buffer,
                                              DenseResourceElementsAttr elements) {
  DenseResourceElementsHandle handle = elements.getRawHandle();
  const AsmResourceBlob *blob = handle.getBlob();
  if (!blob)
    return buffer.emitError("the module does not hold the data of the resource '")
           << handle.getKey() << "'";
  ArrayRef<char> data = blob->getData();
  Type element = elements.getElementType();
  const uint64_t expected =
      uint64_t(elements.getNumElements()) *
      llvm::divideCeil(element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0, 8);
  if (data.size() != expected)
    return buffer.emitError("expected ")
           << expected << " bytes in the resource '" << handle.getKey() << "' for "
           << elements.getType() << ", found " << data.size();
  // Truth values are 0 or 1 to all that reads them.
  if (element.isInteger(1) &&
      !llvm::all_of(data, [](char c) { return c == 0 || c == 1; }))
    return buffer.emitError(
               "expected one byte of 0 or 1 for each element in the resource '")
           << handle.getKey() << "'";
  return data;
}

LogicalResult ProgramEncoder::addBuffer(program::BufferOp buffer) {
  FailureOr<rt::BufferRef> ref = refOf(buffer.getBuffer());
  if (failed(ref))
    return failure();
  if (buffer.getSpace() == program::Space::Constant) {
    ElementsAttr elements = buffer.getValueAttr();
    if (!isa_and_present<DenseElementsAttr, DenseResourceElementsAttr>(elements))
      return buffer.emitError("only constants of 'dense' and 'dense_resource' can be "
                              "compiled");
    auto type = cast<MemRefType>(buffer.getBuffer().getType());
    // A slice carries the whole.
    const bool isSlice = buffer.getStart() != 0 || !buffer.getStrides().empty();
    if (elements.getElementType() != type.getElementType() ||
        (!isSlice && elements.getNumElements() != type.getNumElements()))
      return buffer.emitError("expected a 'value' of ")
             << type.getNumElements() << " elements of " << type.getElementType()
             << ", found " << elements.getType();
    // Numbers without gaps, so that the list is no longer than the program.
    if (static_cast<int64_t>(buffer.getOffset()) >= numOps)
      return buffer.emitError("expected constants to be numbered from 0, found ")
             << buffer.getOffset();
    if (program.constants.size() <= static_cast<size_t>(buffer.getOffset()))
      program.constants.resize(buffer.getOffset() + 1);
    std::string &bytes = program.constants[buffer.getOffset()];
    bytes.clear();
    auto dense = dyn_cast<DenseElementsAttr>(elements);
    if (!dense) {
      FailureOr<ArrayRef<char>> data =
          readResource(buffer, cast<DenseResourceElementsAttr>(elements));
      if (failed(data))
        return failure();
      bytes.assign(data->begin(), data->end());
    } else if (!dense.getElementType().isInteger(1)) {
      // Of a splat its one element.
      bytes.assign(dense.getRawData().begin(), dense.getRawData().end());
    } else if (dense.isSplat()) {
      // One byte an element.
      bytes.push_back(dense.getSplatValue<bool>());
    } else {
      for (bool bit : dense.getValues<bool>())
        bytes.push_back(bit);
    }
  }
  if (std::optional<StringRef> name = buffer.getName()) {
    rt::NamedTensor tensor;
    tensor.name = name->str();
    if (RoleAttr role = buffer.getRoleAttr())
      tensor.role = stringifyRole(role.getValue());
    else if (buffer.getSpace() == program::Space::Output)
      tensor.role = "output";
    tensor.buffer = *ref;
    tensor.key = llvm::xxh3_64bits(*name);
    if (buffer.getSpace() == program::Space::State) {
      if (InitAttr init = buffer.getInitAttr())
        tensor.init = init.getSpec();
      tensor.lowOf = buffer.getLowOf().value_or("").str();
    }
    program.tensors.push_back(std::move(tensor));
  }
  return success();
}

LogicalResult ProgramEncoder::addRefs(rt::Instruction &instruction, ValueRange buffers) {
  for (Value buffer : buffers) {
    FailureOr<rt::BufferRef> ref = refOf(buffer);
    if (failed(ref))
      return failure();
    instruction.refs.push_back(*ref);
  }
  return success();
}

LogicalResult ProgramEncoder::addLaunch(program::LaunchOp launch) {
  if (isCuda)
    return launch.emitError("kernel '")
           << launch.getKernel() << "' is not compiled for a GPU; run "
           << "--mpt-kernels-to-gpu first";
  rt::Instruction instruction;
  instruction.numInputs = launch.getInputs().size();
  instruction.numOutputs = launch.getOutputs().size();
  instruction.hasScratch = launch.getPartials() != nullptr;
  instruction.tasks = launch.getTasks();
  instruction.location = describe(launch.getLoc());
  instruction.kernel = kernelNumber(launch.getKernel());
  if (failed(addRefs(instruction, launch.getOperands())))
    return failure();
  program.instructions.push_back(instruction);
  if (launch.getPartials()) {
    // The second stage of a column kernel.
    instruction.kernel = kernelNumber((launch.getKernel() + "_combine").str());
    instruction.tasks = 1;
    program.instructions.push_back(instruction);
  }
  return success();
}

LogicalResult ProgramEncoder::addDeviceLaunch(program::DeviceLaunchOp launch) {
  if (!isCuda)
    return launch.emitOpError("found in a program for ")
           << op.getTarget() << ", expected one for cuda";
  rt::Instruction instruction;
  instruction.numInputs = launch.getInputs().size();
  instruction.numOutputs = launch.getOutputs().size();
  instruction.hasScratch = launch.getWorkspace() != nullptr;
  instruction.tasks = 1;
  instruction.location = describe(launch.getLoc());
  instruction.kernel = kernelNumber(launch.getFunction().getLeafReference());
  program::DeviceLaunchOp &first = kernels[instruction.kernel].launch;
  if (!first)
    first = launch;
  if (first.getFunction() != launch.getFunction() ||
      first.getBlocks() != launch.getBlocks() ||
      first.getThreads() != launch.getThreads() ||
      first.getBound() != launch.getBound()) {
    InFlightDiagnostic error =
        launch.emitOpError("expected the function, the grid and the "
                           "bound of all launches of ")
        << launch.getFunction();
    error.attachNote(first.getLoc()) << "the first is here";
    return error;
  }
  if (failed(addRefs(instruction, launch.getOperands())))
    return failure();
  program.instructions.push_back(std::move(instruction));
  return success();
}

LogicalResult ProgramEncoder::addCall(program::LibraryCallOpInterface call) {
  FailureOr<rt::Instruction> instruction = encodeCall(call);
  if (failed(instruction))
    return failure();
  for (int64_t architecture : architectures) {
    std::string why;
    if (!rt::checkCudaCall(*instruction, static_cast<int>(architecture), why) &&
        !rt::isPlainMatmul(*instruction))
      return call->emitError("sm_") << architecture << ": " << why;
  }
  instruction->refs.clear();
  if (failed(addRefs(*instruction, call.getInputs())) ||
      failed(addRefs(*instruction, call.getOutputs())))
    return failure();
  if (Value workspace = call.getCallWorkspace()) {
    instruction->hasScratch = true;
    if (failed(addRefs(*instruction, workspace)))
      return failure();
  }
  instruction->location = describe(call.getLoc());
  program.instructions.push_back(std::move(*instruction));
  return success();
}

/// One after the other: what goes with the call, and what replaces it. The table says how
/// many there are of each.
LogicalResult ProgramEncoder::addAlternatives(program::AlternativesOp alternatives) {
  if (!isCuda)
    return alternatives.emitOpError("found in a program for ")
           << op.getTarget() << ", expected one for cuda";
  program::MatmulOp plain = alternatives.getPlainMatmul();
  const size_t begin = program.instructions.size();
  size_t call = begin;
  for (Operation &inner : alternatives.getPreferred().front()) {
    if (&inner == alternatives.getPreferredCall().getOperation())
      call = program.instructions.size();
    if (failed(addOp(inner)))
      return failure();
  }
  const size_t end = program.instructions.size();
  for (Operation &inner : alternatives.getFallback().front())
    // The runtime makes the plain matmul of the one that is refused.
    if (&inner != plain.getOperation() && failed(addOp(inner)))
      return failure();
  if (plain) {
    for (rt::Instruction &replacing : llvm::drop_begin(program.instructions, end))
      replacing.replacesEpilogue = true;
    return success();
  }
  program.instructions[call].parts = {
      static_cast<int64_t>(call - begin), static_cast<int64_t>(end - call - 1),
      static_cast<int64_t>(program.instructions.size() - end)};
  return success();
}

LogicalResult ProgramEncoder::addLoop(program::LoopOp loop) {
  const size_t number = program.loops.size();
  program.loops.emplace_back();
  const auto begin = static_cast<uint32_t>(program.instructions.size());
  for (Operation &inner : loop.getBody().front())
    if (failed(addOp(inner)))
      return failure();
  program.loops[number] = {begin,
                           static_cast<uint32_t>(program.instructions.size()),
                           static_cast<int64_t>(loop.getCount()),
                           {}};
  if (!loop.getCondition())
    return success();
  FailureOr<rt::BufferRef> condition = refOf(loop.getCondition());
  if (failed(condition))
    return failure();
  program.loops[number].condition = std::move(*condition);
  if (!isCuda)
    return success();
  size_t depth = 1;
  for (Operation *op = loop->getParentOp(); isa_and_nonnull<program::LoopOp>(op);
       op = op->getParentOp())
    ++depth;
  std::string why = rt::findObstacleToNode(program, program.loops[number], depth);
  return why.empty() ? success() : loop.emitOpError(llvm::StringRef(why).drop_front());
}

LogicalResult ProgramEncoder::addOp(Operation &inner) {
  if (auto loop = dyn_cast<program::LoopOp>(inner))
    return addLoop(loop);
  if (auto launch = dyn_cast<program::LaunchOp>(inner))
    return addLaunch(launch);
  if (auto launch = dyn_cast<program::DeviceLaunchOp>(inner))
    return addDeviceLaunch(launch);
  if (auto alternatives = dyn_cast<program::AlternativesOp>(inner))
    return addAlternatives(alternatives);
  // Device functions do attention on a GPU.
  auto call = dyn_cast<program::LibraryCallOpInterface>(inner);
  if (!call || (op.getTarget().isCuda() &&
                isa<program::AttentionOp, program::AttentionGradOp>(inner)))
    return inner.emitOpError(
        "is not expanded to launches; run --mpt-convert-calls-to-gpu "
        "first");
  if (program::isCudnnCall(call) && !isa<program::AlternativesOp>(call->getParentOp()))
    return call.emitOpError("is a call of cuDNN, which is expected in "
                            "mpt_program.alternatives: they say what runs without cuDNN");
  return addCall(call);
}

FailureOr<rt::Program> ProgramEncoder::run() {
  program.name = op.getSymName().str();
  program.target = op.getTarget().getText();
  program.version = kVersion;
  program.maxThreads = op.getMaxThreads();
  program.arenaBytes = op.getArenaBytes();
  program.stateBytes = op.getStateBytes();
  program.outputBytes = op.getOutputBytes();
  for (Operation &inner : op.getBody().front()) {
    auto buffer = dyn_cast<program::BufferOp>(inner);
    if (failed(buffer ? addBuffer(buffer) : addOp(inner)))
      return failure();
  }
  return program;
}

struct ConvertProgramToLLVMPass
    : mpt::impl::ConvertProgramToLLVMPassBase<ConvertProgramToLLVMPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto programs = llvm::to_vector(module.getOps<program::ProgramOp>());
    if (programs.size() != 1) {
      module.emitError("expected one mpt_program.program, found ")
          << programs.size() << "; plan a step with --mpt-plan-step first";
      return signalPassFailure();
    }
    program::ProgramOp op = programs.front();
    const bool isCuda = op.getTarget().isCuda();
    SmallVector<int64_t> architectures;
    if (isCuda && failed(getArchitectures(module, architectures)))
      return signalPassFailure();
    ProgramEncoder encoder(op, architectures);
    FailureOr<rt::Program> program = encoder.run();
    if (failed(program))
      return signalPassFailure();
    // Before anything is changed.
    for (const KernelEntry &kernel : encoder.kernels)
      if (isCuda ? failed(checkCompiled(kernel))
                 : failed(checkLowered(module, op, kernel)))
        return signalPassFailure();
    LLVM::GlobalOp cuda;
    if (isCuda)
      cuda = emitCudaGlobals(op, encoder.kernels);
    op.erase();
    emitGlobals(module, rt::writeProgram(*program), encoder.kernels, cuda);
  }

private:
  static LogicalResult checkLowered(ModuleOp module, program::ProgramOp op,
                                    const KernelEntry &kernel) {
    if (module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name))
      return success();
    return op.emitError("kernel '")
           << kernel.name << "' is not an LLVM function; lower kernels first";
  }
  void emitGlobals(ModuleOp module, const std::string &table,
                   ArrayRef<KernelEntry> kernels, LLVM::GlobalOp cuda);
};

void ConvertProgramToLLVMPass::emitGlobals(ModuleOp module, const std::string &table,
                                           ArrayRef<KernelEntry> kernels,
                                           LLVM::GlobalOp cuda) {
  Location loc = module.getLoc();
  MLIRContext *context = &getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();

  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), table.size());
  LLVM::GlobalOp::create(builder, loc, bytes, /*isConstant=*/true,
                         LLVM::Linkage::Internal, "mpt_program_table",
                         builder.getStringAttr(table));
  ArrayRef<KernelEntry> hostKernels = cuda ? ArrayRef<KernelEntry>() : kernels;
  auto functions =
      LLVM::LLVMArrayType::get(pointer, std::max<size_t>(hostKernels.size(), 1));
  auto kernelTable =
      LLVM::GlobalOp::create(builder, loc, functions, /*isConstant=*/false,
                             LLVM::Linkage::Internal, "mpt_program_kernels", Attribute());
  auto initialize = [&](LLVM::GlobalOp global, Type type,
                        function_ref<void(OpBuilder &, Value &)> fill) {
    OpBuilder inner = OpBuilder::atBlockEnd(&global.getInitializer().emplaceBlock());
    Value value = LLVM::UndefOp::create(inner, loc, type);
    fill(inner, value);
    LLVM::ReturnOp::create(inner, loc, value);
  };
  initialize(kernelTable, functions, [&](OpBuilder &b, Value &value) {
    for (auto [i, kernel] : llvm::enumerate(hostKernels)) {
      Value address = LLVM::AddressOfOp::create(b, loc, pointer, kernel.name);
      value =
          LLVM::InsertValueOp::create(b, loc, value, address, static_cast<int64_t>(i));
    }
    if (hostKernels.empty())
      value = LLVM::InsertValueOp::create(
          b, loc, value, LLVM::ZeroOp::create(b, loc, pointer), int64_t(0));
  });
  auto descType = LLVM::LLVMStructType::getLiteral(
      context, {i64, i64, pointer, i64, pointer, i64, pointer, pointer, i64});
  auto desc = LLVM::GlobalOp::create(builder, loc, descType, /*isConstant=*/false,
                                     LLVM::Linkage::External, "mpt_program", Attribute());
  initialize(desc, descType, [&](OpBuilder &b, Value &value) {
    auto number = [&](uint64_t n) -> Value {
      return LLVM::ConstantOp::create(b, loc, i64,
                                      b.getI64IntegerAttr(static_cast<int64_t>(n)));
    };
    Value fields[] = {
        number(rt::kProgramMagic), number(rt::kFormatVersion),
        LLVM::AddressOfOp::create(b, loc, pointer, "mpt_program_table"),
        number(table.size()),
        cuda ? LLVM::ZeroOp::create(b, loc, pointer).getResult()
             : LLVM::AddressOfOp::create(b, loc, pointer, "mpt_program_kernels")
                   .getResult(),
        number(kernels.size()),
        cuda ? LLVM::AddressOfOp::create(b, loc, pointer, cuda.getSymName()).getResult()
             : LLVM::ZeroOp::create(b, loc, pointer).getResult(),
        // Values of state, which the compiler's caller adds.
        LLVM::ZeroOp::create(b, loc, pointer), number(0)};
    for (auto [i, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(b, loc, value, field, static_cast<int64_t>(i));
  });
}

} // namespace
