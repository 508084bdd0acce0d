//===- CallsToGPU.cpp - Convolutions, attention and epilogues on a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-convert-calls-to-gpu`: a program's convolutions and their gradients as matmuls
/// and launches, by the plan of CudaCallPlan.h, and its attention as launches. Where a
/// chunk starts is a constant in memory, so that all chunks share one function. What a
/// library may refuse becomes alternatives: convolutions of cuDNN, on request, and
/// matmuls with epilogues.
///
//===----------------------------------------------------------------------===//

#include "DeviceLauncher.h"
#include "GemmEpilogueEmitter.h"
#include "Im2ColEmitter.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/CudaCallPlan.h"
#include "mpt/ProgramABI/CudnnPlan.h"
#include "mpt/ProgramABI/GemmPlan.h"
#include "mpt/Support/Remarks.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

namespace mpt {
#define GEN_PASS_DEF_CONVERTCALLSTOGPUPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;
using program::LibraryCallOpInterface;

namespace {

constexpr int64_t kThreads = kConvThreads;

/// cuDNN compiles a convolution of low operands into f32 before the first step, for a
/// second or longer. With fewer FLOPs than these it would save less than that in ten
/// thousand steps, even if matmuls took twice as long.
constexpr double kManyWideFlops = 3.2e10;

Type elementOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

/// The program and the module that are built.
class Expander {
public:
  Expander(program::ProgramOp program, DeviceLauncher &launcher, bool useCudnn,
           bool useCudnnWide, bool allowTF32)
      : program(program), launcher(launcher), builder(launcher.builder),
        useCudnn(useCudnn), useCudnnWide(useCudnnWide), allowTF32(allowTF32),
        scratch(program) {}

  LogicalResult expand(LibraryCallOpInterface call);
  /// Gives a matmul that has an epilogue an alternative, for devices on which cuBLASLt
  /// refuses that.
  void addReplacement(program::MatmulOp matmul);

private:
  void addGemmReplacement(program::MatmulOp matmul, rt::GemmEpilogue epilogue);
  void addEpilogue(LibraryCallOpInterface call, ValueRange inputs, int64_t rows,
                   int64_t width, rt::Epilogue kind, Type bias);

  using Emit = DeviceLauncher::Emit;

  LogicalResult expandColumns(LibraryCallOpInterface call,
                              const rt::Instruction &instruction,
                              const rt::CudaConv &conv);
  void expandLoops(LibraryCallOpInterface call, const rt::CudaConv &conv);
  void callCudnn(LibraryCallOpInterface call, const rt::CudaConv &conv);
  void transpose(LibraryCallOpInterface call, Value from, Value to, int64_t rows,
                 int64_t columns);
  /// Launches a function over `total` threads on `inputs` and then `outputs`. It
  /// is emitted once for each `key`.
  void launch(LibraryCallOpInterface call, StringRef name, const std::string &key,
              int64_t total, ValueRange inputs, ValueRange outputs, Emit emit,
              bool isBlockEach = false);
  void multiply(LibraryCallOpInterface call, const rt::Instruction &matmul,
                ArrayRef<Value> buffers) {
    program::createCall(builder, call.getLoc(), *matmul.call, buffers.drop_back(),
                        buffers.take_back());
  }
  /// The bytes of `buffer` from element `at` on as a packed buffer of `shape`, before
  /// the op that is expanded; null if the buffer has no places inside.
  Value view(Value buffer, int64_t at, ArrayRef<int64_t> shape, Type element = Type());
  Value constant(Location loc, int64_t number);

  program::ProgramOp program;
  DeviceLauncher &launcher;
  OpBuilder &builder;
  bool useCudnn, useCudnnWide, allowTF32;

public:
  /// What calls of cuDNN need: filters that fit no call's workspace, and what attention
  /// adds.
  CudnnScratch scratch;

private:
  /// The op of the program that is expanded or is in the loop that is, or what it is
  /// becoming.
  Operation *place = nullptr;
  Operation *getPlace(Operation *op) {
    return program.getBody().front().findAncestorOpInBlock(*op);
  }
  llvm::DenseMap<int64_t, Value> constants;
};

Value Expander::constant(Location loc, int64_t number) {
  Value &found = constants[number];
  if (found)
    return found;
  int64_t next = 0;
  for (auto declared : program.getBody().getOps<program::BufferOp>())
    if (declared.getSpace() == program::Space::Constant)
      next = std::max(next, static_cast<int64_t>(declared.getOffset()) + 1);
  auto type = RankedTensorType::get({1}, builder.getI64Type());
  OpBuilder b = OpBuilder::atBlockBegin(&program.getBody().front());
  return found = program::BufferOp::create(b, loc, MemRefType::get({1}, b.getI64Type()),
                                           program::Space::Constant, next,
                                           DenseElementsAttr::get(type, number));
}

Value Expander::view(Value buffer, int64_t at, ArrayRef<int64_t> shape, Type element) {
  auto declared = buffer.getDefiningOp<program::BufferOp>();
  if (!element)
    element = elementOf(buffer);
  int64_t offset = declared ? declared.getOffset() : 0;
  if (at != 0) {
    if (!declared || declared.getSpace() == program::Space::Input ||
        declared.getSpace() == program::Space::Constant)
      return Value();
    offset += at * bytesOf(elementOf(buffer));
    if (offset % 64 != 0)
      return Value();
  }
  if (!declared)
    return Value();
  OpBuilder outside(place);
  return program::BufferOp::create(
      outside, buffer.getLoc(), MemRefType::get(shape, element), declared.getSpace(),
      offset, declared.getValueAttr(), declared.getStart(), declared.getStrides());
}

void Expander::launch(LibraryCallOpInterface call, StringRef name, const std::string &key,
                      int64_t total, ValueRange inputs, ValueRange outputs, Emit emit,
                      bool isBlockEach) {
  int64_t blocks = isBlockEach ? total : (total + kThreads - 1) / kThreads;
  bool isWide = total >= (int64_t(1) << 31) - 2 * kThreads;
  launcher.launch(call.getLoc(), name, key, blocks, kThreads, isWide, inputs, outputs,
                  emit);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::string keyOf(const rt::CudaConv &conv, std::initializer_list<int64_t> more) {
  std::string key;
  for (int64_t number : {conv.images,
                         conv.height,
                         conv.width,
                         conv.channels,
                         conv.outHeight,
                         conv.outWidth,
                         conv.outChannels,
                         conv.filterHeight,
                         conv.filterWidth,
                         conv.strideH,
                         conv.strideW,
                         conv.padH,
                         conv.padW,
                         conv.dilationH,
                         conv.dilationW,
                         conv.groups,
                         int64_t(conv.epilogue),
                         int64_t(conv.hasBias),
                         int64_t(conv.x),
                         int64_t(conv.filter),
                         int64_t(conv.y),
                         conv.chunkRows})
    key += std::to_string(number) + " ";
  for (int64_t number : more)
    key += std::to_string(number) + " ";
  return key;
}

void Expander::expandLoops(LibraryCallOpInterface call, const rt::CudaConv &c) {
  ValueRange in = call.getInputs();
  Value out = call.getOutputs().front();
  int64_t count = cast<MemRefType>(out.getType()).getNumElements();
  if (isa<program::Conv2DOp>(call)) {
    Type bias = in.size() > 2 ? elementOf(in[2]) : Type();
    launch(call, "grouped_conv",
           keyOf(c, {bias ? bytesOf(bias) : 0, bias && bias.isF16()}), count, in, out,
           [&](GPUFunctionBuilder &code) {
             emitGroupedOutput(code, c, elementOf(in[0]), elementOf(in[1]), bias,
                               elementOf(out));
           });
  } else if (isa<program::Conv2DInputGradOp>(call)) {
    launch(call, "grouped_input_grad", keyOf(c, {}), count, in, out,
           [&](GPUFunctionBuilder &code) {
             emitGroupedInputGrad(code, c, elementOf(in[0]), elementOf(in[1]),
                                  elementOf(out));
           });
  } else {
    launch(
        call, "grouped_filter_grad", keyOf(c, {}), count, in, out,
        [&](GPUFunctionBuilder &code) {
          emitGroupedFilterGrad(code, c, elementOf(in[0]), elementOf(in[1]),
                                elementOf(out));
        },
        /*isBlockEach=*/true);
  }
}

LogicalResult Expander::expandColumns(LibraryCallOpInterface call,
                                      const rt::Instruction &instruction,
                                      const rt::CudaConv &c) {
  ValueRange in = call.getInputs();
  Value out = call.getOutputs().front(), workspace = call.getCallWorkspace();
  bool isInputGrad = isa<program::Conv2DInputGradOp>(call);
  bool isFilterGrad = isa<program::Conv2DFilterGradOp>(call);
  bool isColumns = c.kind == rt::CudaConv::Kind::Columns;
  int64_t needed = c.columnBytes + c.sumBytes;
  int64_t given = workspace ? cast<MemRefType>(workspace.getType()).getNumElements() : 0;
  if (given < needed)
    return call->emitError("needs a workspace of ")
           << needed << " bytes on a GPU, found " << given
           << "; plan the step with a target of cuda";
  Value y = isInputGrad ? in[0] : isFilterGrad ? in[1] : out;
  Value filter = isFilterGrad ? out : in[1];
  Value x = isInputGrad ? out : in[0];
  int64_t filterShape[] = {c.depth(), c.outChannels};
  Value target = view(filter, 0, filterShape);
  if (c.sumBytes)
    target = view(workspace, c.columnBytes, filterShape, builder.getF32Type());
  for (int64_t chunk = 0; chunk < c.chunks; ++chunk) {
    int64_t begin = c.chunkBegin(chunk), rows = c.chunkEnd(chunk) - begin;
    Value part = view(y, begin * c.outChannels, {rows, c.outChannels});
    Type element = isInputGrad ? Type(builder.getF32Type()) : elementOf(x);
    Value columns = isColumns ? view(workspace, 0, {rows, c.depth()}, element)
                              : view(x, 0, {rows, c.depth()});
    if (!part || !columns || !target)
      return call->emitError("a convolution's result or its gradient is an input of the "
                             "step, and too large for one matmul on a GPU");
    Value start = isColumns ? constant(call.getLoc(), begin) : Value();
    if (isColumns && !isInputGrad) {
      int64_t total = c.chunkRows * c.depth() / convLanes(c.channels, bytesOf(element));
      // The last chunk's matrix is smaller; the function knows.
      launch(call, "columns", keyOf(c, {}), total, {x, start}, columns,
             [&](GPUFunctionBuilder &code) { emitColumns(code, c, element); });
    }
    rt::Instruction matmul = rt::getConvMatmul(instruction, c, chunk);
    if (isInputGrad) {
      multiply(call, matmul, {part, target, columns});
      if (isColumns) {
        int64_t images = c.chunkRows / (c.outHeight * c.outWidth);
        int64_t total =
            images * c.height * c.width * c.channels / convLanes(c.channels, 4);
        launch(call, "overlap", keyOf(c, {}), total, {columns, start}, x,
               [&](GPUFunctionBuilder &code) { emitOverlap(code, c, elementOf(x)); });
      }
    } else if (isFilterGrad) {
      multiply(call, matmul, {columns, part, target});
    } else {
      SmallVector<Value> buffers = {columns, target};
      if (c.hasBias)
        buffers.push_back(in[2]);
      buffers.push_back(part);
      multiply(call, matmul, buffers);
    }
  }
  if (c.sumBytes) {
    int64_t count = c.depth() * c.outChannels;
    launch(call, "rounding", std::to_string(count) + " " + std::to_string(int(c.filter)),
           count, {target}, out,
           [&](GPUFunctionBuilder &code) { emitRounding(code, count, elementOf(out)); });
  }
  return success();
}

void Expander::transpose(LibraryCallOpInterface call, Value from, Value to, int64_t rows,
                         int64_t columns) {
  std::string key;
  llvm::raw_string_ostream(key)
      << rows << " " << columns << " " << elementOf(from) << " " << elementOf(to);
  launch(
      call, "transposed", key, transposedBlocks(rows, columns), from, to,
      [&](GPUFunctionBuilder &code) {
        emitTransposed(code, rows, columns, elementOf(from), elementOf(to));
      },
      /*isBlockEach=*/true);
}

/// A convolution as cuDNN does it: without bias and activation.
static rt::LibraryCall getCudnnCall(rt::LibraryCall call, bool allowTF32) {
  auto change = [&](auto &conv) {
    conv.cudnn = true;
    conv.allowTf32 = allowTF32;
  };
  if (auto *forward = std::get_if<rt::Conv2DCall>(&call)) {
    change(*forward);
    forward->hasBias = false;
    forward->epilogue = rt::Epilogue::None;
  } else if (auto *inputGrad = std::get_if<rt::Conv2DInputGradCall>(&call)) {
    change(*inputGrad);
  } else if (auto *filterGrad = std::get_if<rt::Conv2DFilterGradCall>(&call)) {
    change(*filterGrad);
  }
  return call;
}

/// The call of cuDNN, a launch that transposes the filter before it, or the
/// filter's gradient after it, and one for bias and activation.
void Expander::callCudnn(LibraryCallOpInterface call, const rt::CudaConv &c) {
  SmallVector<Value> inputs(call.getInputs().take_front(2));
  Value out = call.getOutputs().front(), workspace = call.getCallWorkspace();
  bool isForward = isa<program::Conv2DOp>(call);
  bool isFilterGrad = isa<program::Conv2DFilterGradOp>(call);
  Value filter = isFilterGrad ? out : inputs[1];
  // cuDNN has no f32 gradients of low operands: they are widened when they are
  // transposed.
  auto type = MemRefType::get(cast<MemRefType>(filter.getType()).getShape(),
                              elementOf(inputs[1]));
  int64_t bytes = type.getNumElements() * bytesOf(type.getElementType());
  // The workspace is the one of the matmuls, which then do not run.
  Value transposed;
  if (workspace && cast<MemRefType>(workspace.getType()).getNumElements() >= bytes) {
    transposed = view(workspace, 0, type.getShape(), type.getElementType());
  } else {
    OpBuilder outside(place);
    transposed = scratch.get(outside, call.getLoc(), type).first;
  }
  if (!isFilterGrad) {
    transpose(call, filter, transposed, c.depth(), c.outChannels);
    inputs[1] = transposed;
  }
  bool isF32 = c.x == rt::DataType::F32 && c.filter == rt::DataType::F32 &&
               c.y == rt::DataType::F32;
  program::createCall(builder, call.getLoc(),
                      getCudnnCall(call.getCall(), allowTF32 && isF32), inputs,
                      isFilterGrad ? transposed : out);
  if (isFilterGrad)
    transpose(call, transposed, out, c.outChannels, c.depth());
  if (isForward && (c.hasBias || c.epilogue != rt::Epilogue::None)) {
    Type bias = c.hasBias ? elementOf(call.getInputs()[2]) : Type();
    addEpilogue(call, call.getInputs().drop_front(2), c.rows(), c.outChannels, c.epilogue,
                bias);
  }
}

/// Adds `bias`, if it has a type, to the rows of the call's output, and more.
void Expander::addEpilogue(LibraryCallOpInterface call, ValueRange inputs, int64_t rows,
                           int64_t width, rt::Epilogue kind, Type bias) {
  Value out = call.getOutputs().front();
  std::string key;
  llvm::raw_string_ostream(key)
      << rows << " " << width << " " << int(kind) << " " << elementOf(out) << " " << bias;
  launch(call, "epilogue", key, rows * width / convLanes(width, 4), inputs, out,
         [&](GPUFunctionBuilder &code) {
           emitEpilogue(code, rows, width, kind, bias, elementOf(out));
         });
}

/// For epilogues that save or read something, or sum.
void Expander::addGemmReplacement(program::MatmulOp matmul, rt::GemmEpilogue epilogue) {
  Value out = matmul.getResult();
  auto type = cast<MemRefType>(out.getType());
  int64_t rows = type.getShape()[0], width = type.getShape()[1];
  bool hasBias = rt::usesBias(epilogue) && !rt::writesBias(epilogue);
  Type bias = hasBias ? elementOf(matmul.getInputs()[2]) : Type();
  std::string key;
  llvm::raw_string_ostream(key) << rows << " " << width << " " << rt::getName(epilogue)
                                << " " << elementOf(out) << " " << bias;
  if (rt::usesAux(epilogue)) {
    bool isForward = rt::writesAux(epilogue), isBits = rt::hasBits(epilogue);
    ValueRange outputs = matmul.getOutputs();
    int64_t threads =
        isBits ? rows * ((width + 7) / 8) : rows * width / convLanes(width, 4);
    launch(matmul, "epilogue", key, threads, matmul.getInputs().drop_front(2),
           isForward ? outputs : outputs.take_front(1), [&](GPUFunctionBuilder &code) {
             if (isForward && isBits)
               emitReluSaving(code, rows, width, bias, elementOf(out));
             else if (isForward)
               emitGeluSaving(code, rows, width, bias, elementOf(out));
             else if (isBits)
               emitReluGrad(code, rows, width, elementOf(out));
             else
               emitGeluGrad(code, rows, width, elementOf(out));
           });
  }
  if (!rt::writesBias(epilogue))
    return;
  // The gradient is the result, or what a weight's gradient is made of.
  Value gradient = rt::usesAux(epilogue) ? out : matmul.getInputs()[1];
  rt::ReduceCall sum;
  sum.axes = {0};
  program::createCall(builder, matmul.getLoc(), sum, gradient, matmul.getBiasGrad());
}

void Expander::addReplacement(program::MatmulOp matmul) {
  auto call = std::get<rt::MatmulCall>(matmul.getCall());
  bool saves = call.hasSaved || call.hasAux || call.hasBiasGrad;
  Value out = matmul.getResult();
  auto type = cast<MemRefType>(out.getType());
  if (!saves &&
      (call.hasAddend || (call.epilogue == rt::Epilogue::None && !call.hasBias) ||
       type.getRank() == 0 || type.getNumElements() == 0 || elementOf(out).isF64()))
    return;
  program::AlternativesOp alternatives = createAlternatives(builder, matmul);
  matmul->moveBefore(&alternatives.getPreferred().front(),
                     alternatives.getPreferred().front().end());
  builder.setInsertionPointToStart(&alternatives.getFallback().front());
  SmallVector<Value> inputs = {matmul.getLhs(), matmul.getRhs()};
  for (Value more : {matmul.getAddend(), matmul.getLhsScales(), matmul.getRhsScales()})
    if (more)
      inputs.push_back(more);
  program::createCall(builder, matmul.getLoc(), program::withoutEpilogue(call), inputs,
                      out);
  if (saves)
    return addGemmReplacement(matmul, rt::getGemmEpilogue(call));
  int64_t width = type.getShape().back(), rows = type.getNumElements() / width;
  Type bias = call.hasBias ? elementOf(matmul.getBias()) : Type();
  addEpilogue(matmul, matmul.getInputs().drop_front(2), rows, width, call.epilogue, bias);
}

LogicalResult Expander::expand(LibraryCallOpInterface call) {
  FailureOr<rt::Instruction> instruction = encodeCall(call);
  if (failed(instruction))
    return failure();
  rt::CudaConv conv = rt::planCudaConv(*instruction);
  if (instruction->refs[instruction->numInputs].count() == 0 || conv.rows() == 0)
    return call->emitError("a convolution over nothing is not done on GPUs");
  place = getPlace(call);
  builder.setInsertionPoint(call);
  rt::CudnnPlan plan;
  std::string unused;
  bool hasCall = useCudnn && conv.kind != rt::CudaConv::Kind::Matmul &&
                 rt::makeCudnnPlan(*instruction, plan, unused);
  // The filter's gradient is asked for in its operands' type. Loops are slow.
  if (plan.isWide() && !isa<program::Conv2DFilterGradOp>(call) && !useCudnnWide &&
      conv.kind != rt::CudaConv::Kind::Loops)
    hasCall &= 2.0 * conv.rows() * conv.depth() * conv.outChannels >= kManyWideFlops;
  if (hasCall) {
    program::AlternativesOp alternatives = createAlternatives(builder, call);
    place = getPlace(alternatives);
    builder.setInsertionPointToStart(&alternatives.getPreferred().front());
    callCudnn(call, conv);
    builder.setInsertionPointToStart(&alternatives.getFallback().front());
  }
  if (conv.kind == rt::CudaConv::Kind::Loops) {
    if (!hasCall)
      emitRemark(RemarkId::GroupedConvolution, call.getLoc(), program.getSymName())
          << remark::reason("{0} groups of {1} to {2} channels", conv.groups,
                            conv.channels / conv.groups, conv.outChannels / conv.groups);
    expandLoops(call, conv);
  } else if (failed(expandColumns(call, *instruction, conv)))
    return failure();
  call->erase();
  return success();
}

struct ConvertCallsToGPUPass
    : mpt::impl::ConvertCallsToGPUPassBase<ConvertCallsToGPUPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<program::F32Matmuls> mode = program::symbolizeF32Matmuls(f32Matmuls);
    if (!mode) {
      module.emitError("unknown f32-matmuls '")
          << f32Matmuls << "'; choose exact, tf32 or bf16x9";
      return signalPassFailure();
    }
    if (!mpt::detail::hasKernelsOrProgram(module))
      return mpt::detail::warnOfNothingToDo(module, getArgument(),
                                            "no kernel and no program");
    DeviceLauncher launcher(module);
    for (auto program : module.getOps<program::ProgramOp>())
      if (failed(convert(program, launcher, *mode)))
        return signalPassFailure();
  }

private:
  LogicalResult convert(program::ProgramOp program, DeviceLauncher &launcher,
                        program::F32Matmuls mode);

  /// Others are exact as they are.
  static bool areF32(program::MatmulOp matmul) {
    return llvm::all_of(
        ArrayRef<Value>{matmul.getLhs(), matmul.getRhs(), matmul.getResult()},
        [](Value buffer) { return elementOf(buffer).isF32(); });
  }
};

/// For fewer scores cuDNN's compiler, which runs before the first step, takes longer than
/// its functions save in thousands of steps.
static constexpr int64_t kManyScores = 1 << 24;

template <typename AttentionOp>
static bool isLargeAndPlain(AttentionOp op) {
  const auto rows = cast<MemRefType>(op.getLogSumExp().getType());
  const auto key = cast<MemRefType>(op.getKey().getType());
  return !op.getMask() && !op.getBias() && !op.getSeed() &&
         rows.getNumElements() * key.getShape()[2] >= kManyScores;
}

LogicalResult ConvertCallsToGPUPass::convert(program::ProgramOp program,
                                             DeviceLauncher &launcher,
                                             program::F32Matmuls mode) {
  Expander expander(program, launcher, cudnn, cudnnWide,
                    mode == program::F32Matmuls::TF32);
  SmallVector<Operation *> attentions;
  SmallVector<LibraryCallOpInterface> convolutions;
  program.walk([&](Operation *op) {
    if (isa<program::AttentionOp, program::AttentionGradOp>(op))
      attentions.push_back(op);
    else if (isa<program::Conv2DOp, program::Conv2DInputGradOp,
                 program::Conv2DFilterGradOp>(op) &&
             !isa<program::AlternativesOp>(op->getParentOp()))
      convolutions.push_back(cast<LibraryCallOpInterface>(op));
  });
  const bool hasWarpgroups =
      warpgroupAttention &&
      llvm::any_of(program.getTarget().getChips(),
                   [](StringAttr chip) { return chip.getValue() == "sm_90"; });
  const bool isNew = llvm::all_of(program.getTarget().getChips(), [](StringAttr chip) {
    StringRef name = chip.getValue();
    unsigned number = 0;
    return name.consume_front("sm_") && !name.consumeInteger(10, number) && number >= 90;
  });
  for (Operation *op : attentions) {
    auto attention = dyn_cast<program::AttentionOp>(op);
    bool isForCudnn = cudnnAttention ||
                      (cudnnPlainAttention && isNew &&
                       (attention ? isLargeAndPlain(attention)
                                  : isLargeAndPlain(cast<program::AttentionGradOp>(op))));
    CudnnScratch *scratch = isForCudnn ? &expander.scratch : nullptr;
    if (failed(attention ? expandAttention(attention, launcher, scratch, hasWarpgroups)
                         : expandAttention(cast<program::AttentionGradOp>(op), launcher,
                                           scratch, hasWarpgroups)))
      return failure();
  }
  for (LibraryCallOpInterface call : convolutions)
    if (failed(expander.expand(call)))
      return failure();
  SmallVector<program::MatmulOp> matmuls;
  program.walk([&](program::MatmulOp matmul) { matmuls.push_back(matmul); });
  for (program::MatmulOp matmul : matmuls) {
    if (areF32(matmul))
      matmul.setF32Matmuls(mode);
    expander.addReplacement(matmul);
  }
  expander.scratch.finish();
  return success();
}

} // namespace
