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
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/Codegen/CUDA/DeviceProducts.h"
#include "mpt/Codegen/Common/Passes.h"
#include "mpt/ProgramABI/CudnnPlan.h"
#include "mpt/Support/Version.h"

#include "llvm/Support/raw_ostream.h"
#include <cmath>

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
  explicit ProgramEncoder(program::ProgramOp program) : op(program) {}

  FailureOr<rt::Program> run();
  /// Kernel functions by number.
  SmallVector<std::string> kernels;

private:
  LogicalResult addSlot(program::BufferOp slot);
  /// Says what state begins with, as mpt-run would have it, or that the host must.
  void addFirstValue(program::BufferOp slot, rt::NamedTensor &tensor);
  FailureOr<rt::BufferRef> refOf(Value buffer);
  LogicalResult addRefs(rt::Instruction &instruction, ValueRange buffers);
  LogicalResult addLaunch(program::LaunchOp launch);
  LogicalResult countPart(Operation *op, size_t begin);
  void addGroup(program::LaunchOp first, StringRef function);
  LogicalResult addCall(program::LibraryCallOpInterface call);
  uint32_t kernelNumber(const std::string &name) {
    auto it = llvm::find(kernels, name);
    if (it == kernels.end()) {
      kernels.push_back(name);
      return kernels.size() - 1;
    }
    return it - kernels.begin();
  }

  program::ProgramOp op;
  rt::Program program;
  /// Instructions before the next call of cuDNN that go with it, the last such call, and
  /// the end of what goes with that.
  int64_t partsBefore = 0;
  size_t lastDnn = 0, dnnEnd = 0;
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
  auto slot = buffer.getDefiningOp<program::BufferOp>();
  auto type = dyn_cast<MemRefType>(buffer.getType());
  std::optional<rt::DataType> element =
      type ? encodeElementType(type.getElementType()) : std::nullopt;
  if (!slot || !element) {
    emitError(buffer.getLoc(), "a program can use only slots of known element types, "
                               "found ")
        << buffer.getType();
    return failure();
  }
  rt::BufferRef ref;
  ref.space = static_cast<rt::SpaceId>(slot.getSpace());
  ref.type = *element;
  ref.offset = slot.getOffset();
  ref.dims.assign(type.getShape().begin(), type.getShape().end());
  return ref;
}

LogicalResult ProgramEncoder::addSlot(program::BufferOp slot) {
  FailureOr<rt::BufferRef> ref = refOf(slot.getBuffer());
  if (failed(ref))
    return failure();
  if (slot.getSpace() == Space::Constant) {
    auto elements = dyn_cast_or_null<DenseElementsAttr>(slot.getValueAttr());
    if (!elements)
      return slot.emitError("only dense constants can be compiled");
    auto type = cast<MemRefType>(slot.getBuffer().getType());
    if (elements.getElementType() != type.getElementType() ||
        elements.getNumElements() != type.getNumElements())
      return slot.emitError("expected a 'value' of ")
             << type.getNumElements() << " elements of " << type.getElementType()
             << ", found " << elements.getType();
    // Numbers without gaps, so that the list is no longer than the program.
    const int64_t numOps = llvm::range_size(op.getBody().front());
    if (static_cast<int64_t>(slot.getOffset()) >= numOps)
      return slot.emitError("expected constants to be numbered from 0, found ")
             << slot.getOffset();
    if (program.constants.size() <= static_cast<size_t>(slot.getOffset()))
      program.constants.resize(slot.getOffset() + 1);
    // Of a splat its one element.
    std::string &bytes = program.constants[slot.getOffset()];
    ArrayRef<char> raw = elements.getRawData();
    bytes.clear();
    if (!elements.getElementType().isInteger(1)) {
      bytes.assign(raw.begin(), raw.end());
    } else if (elements.isSplat()) {
      // One byte an element.
      bytes.push_back(elements.getSplatValue<bool>());
    } else {
      for (bool bit : elements.getValues<bool>())
        bytes.push_back(bit);
    }
  }
  if (std::optional<StringRef> name = slot.getName()) {
    rt::NamedTensor tensor{name->str(), slot.getRole().value_or("").str(), *ref, "", false};
    if (slot.getSpace() == Space::State)
      addFirstValue(slot, tensor);
    program.tensors.push_back(std::move(tensor));
  }
  return success();
}

/// One element of `type` with `value`, or nothing if mpt-run could give the tensor
/// something else: it rounds some bf16 parameters in two parts, and each type has its own
/// way with values out of its range.
static std::optional<std::string> encodeElement(Type type, double value) {
  APInt bits;
  if (auto floating = dyn_cast<FloatType>(type)) {
    APFloat converted(value);
    bool isInexact = false;
    converted.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &isInexact);
    if (isInexact && !(type.isF32() && std::isfinite(converted.convertToDouble())))
      return std::nullopt;
    bits = converted.bitcastToAPInt();
  } else {
    auto integer = dyn_cast<IntegerType>(type);
    // What a double holds exactly, and both signs of it.
    double limit = std::ldexp(1.0, std::min(integer ? integer.getWidth() - 1 : 0u, 53u));
    if (!integer || std::trunc(value) != value || !(std::fabs(value) < limit))
      return std::nullopt;
    bits = APInt(64, static_cast<uint64_t>(static_cast<int64_t>(value)));
    bits = bits.sextOrTrunc(llvm::alignTo(integer.getWidth(), 8));
  }
  std::string bytes;
  for (unsigned at = 0; at < bits.getBitWidth(); at += 8)
    bytes.push_back(static_cast<char>(bits.extractBitsAsZExtValue(8, at)));
  return bytes;
}

void ProgramEncoder::addFirstValue(program::BufferOp slot, rt::NamedTensor &tensor) {
  DictionaryAttr init = slot.getInitAttr();
  if (!init) {
    // As in mpt-run, this alone needs none.
    tensor.needsWrite = tensor.role != "optimizer_state" && tensor.role != "rng";
    return;
  }
  auto kind = init.getAs<StringAttr>("kind");
  StringRef name = kind ? kind.getValue() : "";
  if (name == "zeros")
    return;
  std::optional<double> value;
  if (name == "ones")
    value = 1;
  else if (auto number = init.getAs<FloatAttr>("value"); number && name == "constant")
    value = number.getValueAsDouble();
  else if (auto number = init.getAs<IntegerAttr>("value"); number && name == "constant")
    value = static_cast<double>(number.getInt());
  std::optional<std::string> element;
  if (value)
    element = encodeElement(cast<MemRefType>(slot.getBuffer().getType()).getElementType(),
                            *value);
  tensor.needsWrite = !element;
  tensor.fill = element.value_or("");
}

LogicalResult ProgramEncoder::addRefs(rt::Instruction &instruction,
                                      ValueRange buffers) {
  for (Value buffer : buffers) {
    FailureOr<rt::BufferRef> ref = refOf(buffer);
    if (failed(ref))
      return failure();
    instruction.refs.push_back(*ref);
  }
  return success();
}

/// A launch of a group's function over whole blocks of memory.
void ProgramEncoder::addGroup(program::LaunchOp first, StringRef function) {
  rt::Instruction instruction;
  instruction.location = describe(first.getLoc());
  instruction.kernel = kernelNumber(function.str());
  instruction.tasks = 1;
  if (auto spaces = first->getAttrOfType<DenseI64ArrayAttr>(kDeviceSpacesAttr))
    for (int64_t space : spaces.asArrayRef()) {
      rt::BufferRef &ref = instruction.refs.emplace_back();
      ref.space = static_cast<rt::SpaceId>(space);
      ref.type = rt::DataType::I8;
      ref.dims = {ref.space == rt::SpaceId::Arena   ? program.arenaBytes
                  : ref.space == rt::SpaceId::State ? program.stateBytes
                                                    : program.outputBytes};
    }
  instruction.numOutputs = instruction.refs.size();
  program.instructions.push_back(instruction);
}

LogicalResult ProgramEncoder::addLaunch(program::LaunchOp launch) {
  if (auto group = launch->getAttrOfType<StringAttr>(kDeviceGroupAttr)) {
    if (!group.empty())
      addGroup(launch, group);
    return success();
  }
  rt::Instruction instruction;
  instruction.numInputs = launch.getInputs().size();
  instruction.numOutputs = launch.getOutputs().size();
  instruction.hasScratch = launch.getPartials() != nullptr;
  instruction.tasks = launch.getTasks();
  instruction.location = describe(launch.getLoc());
  instruction.replacesEpilogue = launch->hasAttr(kReplacesEpilogueAttr);
  instruction.kernel = kernelNumber(launch.getKernel().str());
  if (failed(addRefs(instruction, launch.getInputs())) ||
      failed(addRefs(instruction, launch.getOutputs())))
    return failure();
  if (launch.getPartials() && failed(addRefs(instruction, launch.getPartials())))
    return failure();
  program.instructions.push_back(instruction);
  if (launch.getPartials()) {
    // The second stage of a column kernel.
    instruction.kernel = kernelNumber(launch.getKernel().str() + "_combine");
    instruction.tasks = 1;
    program.instructions.push_back(instruction);
  }
  return success();
}

LogicalResult ProgramEncoder::addCall(program::LibraryCallOpInterface call) {
  FailureOr<rt::Instruction> instruction = encodeCall(call);
  if (failed(instruction))
    return failure();
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
  auto functions = call->getAttrOfType<ArrayAttr>(kDeviceFunctionsAttr);
  if (!functions) {
    program.instructions.push_back(std::move(*instruction));
    return success();
  }
  // Device code carries it out.
  instruction->call.reset();
  instruction->tasks = 1;
  instruction->replacesEpilogue = call->hasAttr(kReplacesEpilogueAttr);
  for (Attribute function : functions) {
    auto name = dyn_cast<StringAttr>(function);
    if (!name)
      return call->emitError("expected names of functions, found ") << function;
    instruction->kernel = kernelNumber(name.str());
    program.instructions.push_back(*instruction);
  }
  return success();
}

/// Counts what `op` has become, instructions from `begin` on, as part of a call of cuDNN.
LogicalResult ProgramEncoder::countPart(Operation *op, size_t begin) {
  size_t end = program.instructions.size();
  if (begin < end && rt::isCudnnCall(program.instructions[begin])) {
    program.instructions[begin].parts.before = std::exchange(partsBefore, 0);
    lastDnn = begin;
    dnnEnd = end;
    return success();
  }
  auto part = op->getAttrOfType<StringAttr>(kConvolutionPartAttr);
  bool isBefore = part && part == "before", isBehind = part && part == "behind";
  if (isBefore) {
    partsBefore += end - begin;
    return success();
  }
  if (partsBefore != 0 || (part && begin != dnnEnd) ||
      (isBehind && program.instructions[lastDnn].parts.instead != 0))
    return op->emitError("what goes with a call of cuDNN is not beside it");
  if (part) {
    rt::CudnnParts &parts = program.instructions[lastDnn].parts;
    (isBehind ? parts.behind : parts.instead) += end - begin;
    dnnEnd = end;
  }
  return success();
}

FailureOr<rt::Program> ProgramEncoder::run() {
  program.name = op.getSymName().str();
  program.target = op.getTarget().str();
  program.version = kVersion;
  program.maxThreads = op.getMaxThreads();
  program.arenaBytes = op.getArenaBytes();
  program.stateBytes = op.getStateBytes();
  program.outputBytes = op.getOutputBytes();
  for (Operation &inner : op.getBody().front()) {
    LogicalResult result = success();
    size_t begin = program.instructions.size();
    if (auto slot = dyn_cast<program::BufferOp>(inner))
      result = addSlot(slot);
    else if (auto launch = dyn_cast<program::LaunchOp>(inner))
      result = addLaunch(launch);
    else if (auto call = dyn_cast<program::LibraryCallOpInterface>(inner))
      result = addCall(call);
    else
      result = inner.emitOpError("is not expanded to launches; run the passes for GPUs "
                                 "first");
    if (failed(result) || (!isa<program::BufferOp>(inner) && failed(countPart(&inner, begin))))
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
    ProgramEncoder encoder(programs.front());
    FailureOr<rt::Program> program = encoder.run();
    if (failed(program))
      return signalPassFailure();
    // Before anything is changed.
    bool isCuda = isCudaTarget(program->target);
    if (isCuda && failed(checkCudaProgram(programs.front(), *program, encoder.kernels)))
      return signalPassFailure();
    for (const std::string &kernel : encoder.kernels)
      if (!isCuda &&
           !module.lookupSymbol<LLVM::LLVMFuncOp>(kernel)) {
        programs.front().emitError("kernel '")
            << kernel << "' is not an LLVM function; lower kernels first";
        return signalPassFailure();
      }
    programs.front().erase();
    LLVM::GlobalOp cuda;
    if (isCuda)
      cuda = emitCudaGlobals(module, encoder.kernels);
    emitGlobals(module, rt::writeProgram(*program), encoder.kernels, cuda);
  }

private:
  void emitGlobals(ModuleOp module, const std::string &table,
                   ArrayRef<std::string> kernels, LLVM::GlobalOp cuda);
};

void ConvertProgramToLLVMPass::emitGlobals(ModuleOp module,
                                           const std::string &table,
                                           ArrayRef<std::string> kernels,
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
  ArrayRef<std::string> hostKernels = cuda ? ArrayRef<std::string>() : kernels;
  auto functions =
      LLVM::LLVMArrayType::get(pointer, std::max<size_t>(hostKernels.size(), 1));
  auto kernelTable = LLVM::GlobalOp::create(
      builder, loc, functions, /*isConstant=*/false, LLVM::Linkage::Internal,
      "mpt_program_kernels", Attribute());
  auto initialize = [&](LLVM::GlobalOp global, Type type,
                        function_ref<void(OpBuilder &, Value &)> fill) {
    OpBuilder inner = OpBuilder::atBlockEnd(&global.getInitializer().emplaceBlock());
    Value value = LLVM::UndefOp::create(inner, loc, type);
    fill(inner, value);
    LLVM::ReturnOp::create(inner, loc, value);
  };
  initialize(kernelTable, functions, [&](OpBuilder &b, Value &value) {
    for (auto [i, kernel] : llvm::enumerate(hostKernels)) {
      Value address = LLVM::AddressOfOp::create(b, loc, pointer, kernel);
      value = LLVM::InsertValueOp::create(b, loc, value, address,
                                          static_cast<int64_t>(i));
    }
    if (hostKernels.empty())
      value = LLVM::InsertValueOp::create(
          b, loc, value, LLVM::ZeroOp::create(b, loc, pointer), int64_t(0));
  });
  auto descType = LLVM::LLVMStructType::getLiteral(
      context, {i64, i64, pointer, i64, pointer, i64, pointer});
  auto desc = LLVM::GlobalOp::create(builder, loc, descType, /*isConstant=*/false,
                                     LLVM::Linkage::External, "mpt_program",
                                     Attribute());
  initialize(desc, descType, [&](OpBuilder &b, Value &value) {
    auto number = [&](uint64_t n) -> Value {
      return LLVM::ConstantOp::create(b, loc, i64,
                                      b.getI64IntegerAttr(static_cast<int64_t>(n)));
    };
    Value fields[] = {
        number(rt::kProgramMagic),
        number(rt::kFormatVersion),
        LLVM::AddressOfOp::create(b, loc, pointer, "mpt_program_table"),
        number(table.size()),
        cuda ? LLVM::ZeroOp::create(b, loc, pointer).getResult()
             : LLVM::AddressOfOp::create(b, loc, pointer, "mpt_program_kernels")
                   .getResult(),
        number(kernels.size()),
        cuda ? LLVM::AddressOfOp::create(b, loc, pointer, cuda.getSymName()).getResult()
             : LLVM::ZeroOp::create(b, loc, pointer).getResult()};
    for (auto [i, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(b, loc, value, field,
                                          static_cast<int64_t>(i));
  });
}

} // namespace
