//===- ProgramOps.cpp - The ops of planned programs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/ProgramABI/ProgramFormat.h"
#include "mpt/Support/ElementCount.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

#include "mpt/Dialect/Program/IR/LibraryCallOpInterface.cpp.inc"

#define GET_OP_CLASSES
#include "mpt/Dialect/Program/IR/ProgramOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

LogicalResult program::ProgramOp::verify() {
  for (auto [name, bytes] :
       {std::pair<StringRef, int64_t>{"arena_bytes", getArenaBytes()},
        {"state_bytes", getStateBytes()},
        {"output_bytes", getOutputBytes()}})
    if (bytes < 0)
      return emitOpError("expected ") << name << " of at least 0, found " << bytes;
  if (static_cast<int64_t>(getMaxThreads()) < 1)
    return emitOpError("expected max_threads of at least 1, found ")
           << static_cast<int64_t>(getMaxThreads());
  if (DictionaryAttr tuned = getTunedMatmulsAttr())
    for (NamedAttribute entry : tuned)
      if (auto words = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
          !words || words.size() != 8)
        return emitOpError(
                   "expected the eight words of an algorithm, an array<i64>, for ")
               << entry.getName() << " in 'tuned_matmuls', found " << entry.getValue();
  for (Operation &op : getBody().front())
    if (!isa_and_present<program::ProgramDialect>(op.getDialect()) ||
        isa<program::ProgramOp>(op))
      return op.emitOpError("found in a mpt_program.program: expected only buffers, "
                            "launches, calls and loops");
  return success();
}

/// Bytes of the space that `buffer` lies in; nullopt if the program does not say.
static std::optional<int64_t> getSpaceBytes(program::ProgramOp program,
                                            program::BufferOp buffer) {
  switch (buffer.getSpace()) {
  case program::Space::Arena:
    return program.getArenaBytes();
  case program::Space::State:
    return program.getStateBytes();
  case program::Space::Output:
    return program.getOutputBytes();
  case program::Space::Constant:
    if (ElementsAttr value = buffer.getValueAttr())
      return value.getNumElements() *
             llvm::divideCeil(value.getElementType().getIntOrFloatBitWidth(), 8);
    return std::nullopt;
  case program::Space::Input:
    // As many as those of the buffer that has its name.
    for (auto input : program.getBody().getOps<program::BufferOp>())
      if (input.getSpace() == program::Space::Input && input.getName() &&
          input.getOffset() == buffer.getOffset()) {
        auto type = cast<MemRefType>(input.getBuffer().getType());
        return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      }
    return std::nullopt;
  }
  return std::nullopt;
}

/// Checks the places that `buffer` moves to where `user` reads or writes it.
static LogicalResult verifyMoves(program::ProgramOp program, program::BufferOp buffer,
                                 Operation *user) {
  SmallVector<int64_t> counts;
  for (Operation *op = user->getParentOp(); op != program; op = op->getParentOp())
    if (auto loop = dyn_cast<program::LoopOp>(op))
      counts.insert(counts.begin(), loop.getCount());
  ArrayRef<int64_t> strides = buffer.getStrides();
  if (strides.size() > counts.size())
    return user->emitOpError("expected to be in as many loops as its buffers have "
                             "strides, found ")
           << counts.size() << " loops and " << strides.size() << " strides";
  auto type = cast<MemRefType>(buffer.getBuffer().getType());
  const bool isNumbered = buffer.getSpace() == program::Space::Input ||
                          buffer.getSpace() == program::Space::Constant;
  // Offsets and sizes are known to add up.
  std::optional<int64_t> least = isNumbered ? 0 : buffer.getOffset();
  least = llvm::checkedAdd<int64_t>(*least, buffer.getStart());
  std::optional<int64_t> most = program::countSpannedElements(type);
  if (least && most)
    most = llvm::checkedMulAdd<int64_t>(
        *most, llvm::divideCeil(type.getElementTypeBitWidth(), 8), *least);
  for (auto [stride, count] : llvm::zip(strides, counts)) {
    std::optional<int64_t> way = llvm::checkedMul<int64_t>(stride, count - 1);
    std::optional<int64_t> &end = stride < 0 ? least : most;
    if (end)
      end = way ? llvm::checkedAdd<int64_t>(*end, *way) : std::nullopt;
  }
  if (!least || !most)
    return user->emitOpError("expected a buffer that moves within 2^63 bytes, found ")
           << type;
  std::optional<int64_t> bytes = getSpaceBytes(program, buffer);
  if (*least < 0 || (bytes && *most > *bytes)) {
    InFlightDiagnostic error =
        user->emitOpError("expected its buffers to stay within their space");
    if (bytes)
      error << " of " << *bytes << " bytes";
    return error << ", found one that moves from byte " << *least << " to " << *most;
  }
  return success();
}

LogicalResult program::ProgramOp::verifyRegions() {
  WalkResult result = walk([&](Operation *op) {
    if (isa<BufferOp, ProgramOp, AlternativesOp>(op))
      return WalkResult::advance();
    for (Value operand : op->getOperands()) {
      auto buffer = operand.getDefiningOp<BufferOp>();
      if (!buffer)
        continue;
      auto type = cast<MemRefType>(operand.getType());
      if (!type.getLayout().isIdentity() &&
          !isa<AttentionOp, AttentionGradOp, CudnnAttentionOp, CudnnAttentionGradOp,
               DeviceLaunchOp, LaunchOp>(op)) {
        op->emitOpError("expected packed buffers, found ") << type;
        return WalkResult::interrupt();
      }
      if ((!buffer.getStrides().empty() || buffer.getStart() != 0) &&
          failed(verifyMoves(*this, buffer, op)))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult program::LoopOp::verify() {
  if (Value condition = getCondition())
    if (auto type = cast<MemRefType>(condition.getType()); type.getNumElements() != 1)
      return emitOpError("expected a condition of one element, found ") << type;
  if (getBody().front().empty())
    return emitOpError("expected launches, calls or loops in its body, found none");
  for (Operation &op : getBody().front())
    if (!isa<LaunchOp, DeviceLaunchOp, AlternativesOp, LoopOp, LibraryCallOpInterface>(
            op))
      return op.emitOpError("found in a mpt_program.loop: expected launches, calls and "
                            "loops; buffers are declared outside");
  // Loops with a condition run as often as it says.
  int64_t iterations = getCount();
  for (Operation *op = (*this)->getParentOp(); op; op = op->getParentOp())
    if (auto outer = dyn_cast<LoopOp>(op); outer && !getCondition()) {
      std::optional<int64_t> all = llvm::checkedMul<int64_t>(
          iterations, outer.getCondition() ? 1 : outer.getCount());
      iterations = all.value_or(INT64_MAX);
    }
  if (iterations > rt::kMaxIterations)
    return emitOpError(
               "expected at most 2^32 iterations with the loops around it, found ")
           << iterations;
  return success();
}

/// Whether `type` is packed, or has strides above 0 of which the last is 1.
static bool hasWholeRows(MemRefType type) {
  if (type.getLayout().isIdentity())
    return true;
  auto layout = dyn_cast<StridedLayoutAttr>(type.getLayout());
  return layout && layout.getOffset() == 0 && !layout.getStrides().empty() &&
         layout.getStrides().back() == 1 &&
         llvm::all_of(layout.getStrides(), [](int64_t stride) {
           return stride > 0 && !ShapedType::isDynamic(stride);
         });
}

std::optional<int64_t> program::countSpannedElements(MemRefType type) {
  std::optional<int64_t> elements = countElements(type.getShape());
  auto layout = dyn_cast<StridedLayoutAttr>(type.getLayout());
  if (!layout || !elements || *elements == 0)
    return elements;
  std::optional<int64_t> last = 0;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), layout.getStrides()))
    if (last)
      last = llvm::checkedMulAdd<int64_t>(size - 1, stride, *last);
  return last ? llvm::checkedAdd<int64_t>(*last, 1) : std::nullopt;
}

LogicalResult program::BufferOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  if (!type.hasStaticShape() || !hasWholeRows(type))
    return emitOpError(
               "expected a buffer of static shape that is packed, or whose strides "
               "are above 0 and end in 1, found ")
           << type;
  if (getSpace() == program::Space::Constant && !getValue())
    return emitOpError("expected 'value' in the constant space, found none");
  int64_t offset = getOffset(), start = getStart();
  if (offset < 0)
    return emitOpError("expected an offset of at least 0, found ") << offset;
  const bool isNumbered =
      getSpace() == program::Space::Input || getSpace() == program::Space::Constant;
  if (start < 0 || (start != 0 && !isNumbered))
    return emitOpError(
               "expected a start of at least 0 for inputs and constants, and of 0 "
               "for other buffers, found ")
           << start;
  const bool moves = start != 0 || !getStrides().empty();
  if (moves && getName())
    return emitOpError(
        "expected a named buffer to begin its space and not to move, found "
        "a start or strides");
  SmallVector<int64_t> places(getStrides());
  places.push_back(isNumbered ? start : offset);
  for (int64_t bytes : places)
    if (int64_t element = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
        moves && bytes % element != 0)
      return emitOpError(
                 "expected places and strides that are multiples of the element's ")
             << element << " bytes, found " << bytes;
  if (!isNumbered && !moves && offset % 64 != 0)
    return emitOpError("expected an offset that is a multiple of 64, found ") << offset;
  auto program = cast<program::ProgramOp>((*this)->getParentOp());
  int64_t width = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  std::optional<int64_t> end = program::countSpannedElements(type);
  if (end)
    end = llvm::checkedMulAdd(*end, width, offset);
  if (!end)
    return emitOpError("expected a buffer that ends below byte 2^63, found ")
           << type << " at " << offset;
  int64_t limit = getSpace() == program::Space::Arena    ? program.getArenaBytes()
                  : getSpace() == program::Space::State  ? program.getStateBytes()
                  : getSpace() == program::Space::Output ? program.getOutputBytes()
                                                         : -1;
  if (limit >= 0 && *end > limit)
    return emitOpError("expected to end within the ")
           << limit << " bytes of its space, found its end at " << *end;
  return success();
}

LogicalResult program::LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!symbol)
    return emitOpError("expected an mpt_kernel.func named ")
           << getKernelAttr() << ", found nothing of that name";
  // Once kernels are lowered their names belong to functions.
  auto kernel = dyn_cast<kernel::FuncOp>(symbol);
  if (!kernel && isa<FunctionOpInterface>(symbol))
    return success();
  if (!kernel)
    return emitOpError("expected ")
           << getKernelAttr() << " to be an mpt_kernel.func, found '" << symbol->getName()
           << "'";
  auto matches = [](TypeRange buffers, TypeRange tensors) {
    if (buffers.size() != tensors.size())
      return false;
    for (auto [buffer, tensor] : llvm::zip(buffers, tensors))
      if (cast<ShapedType>(buffer).getShape() != cast<ShapedType>(tensor).getShape() ||
          cast<ShapedType>(buffer).getElementType() !=
              cast<ShapedType>(tensor).getElementType() ||
          (isa<MemRefType>(tensor) ? buffer != tensor
                                   : !cast<MemRefType>(buffer).getLayout().isIdentity()))
        return false;
    return true;
  };
  if (!matches(getInputs().getTypes(), kernel.getFunctionType().getInputs()) ||
      !matches(getOutputs().getTypes(), kernel.getFunctionType().getResults()))
    return emitOpError("expected buffers as in ")
           << kernel.getFunctionType() << ", found " << getInputs().getTypes() << " and "
           << getOutputs().getTypes();
  int64_t rows = 1;
  for (int64_t size : kernel.getDomain().drop_back(kernel.getDomain().empty() ? 0 : 1))
    rows *= size;
  int64_t tasks = llvm::divideCeil(rows, kernel.getChunkRows());
  if (static_cast<int64_t>(getTasks()) != tasks)
    return emitOpError("expected ")
           << tasks << " tasks, found " << static_cast<int64_t>(getTasks());
  bool isColumn = kernel.getKind() == kernel::KernelKind::Column;
  if (isColumn != (getPartials() != nullptr))
    return emitOpError("expected ")
           << (isColumn ? "partials" : "no partials") << " for a kernel of kind '"
           << kernel::stringifyKernelKind(kernel.getKind()) << "', found "
           << (isColumn ? "none" : "some");
  return success();
}

LogicalResult program::DeviceLaunchOp::verify() {
  // The most that CUDA takes.
  constexpr int64_t most[] = {0x7fffffff, 0xffff};
  for (auto [blocks, limit] : llvm::zip_equal(getBlocks(), most))
    if (blocks < 1 || blocks > limit)
      return emitOpError("expected 1 to ") << limit << " blocks, found " << blocks;
  auto threads = static_cast<int64_t>(getThreads()),
       bound = static_cast<int64_t>(getBound());
  if (threads < 1 || threads > 1024)
    return emitOpError("expected 1 to 1024 threads, found ") << threads;
  if (bound < 0)
    return emitOpError("expected a bound of at least 0, found ") << bound;
  if (getFunction().getNestedReferences().size() != 1)
    return emitOpError("expected a function of a module, as in @mpt_kernels::@f, found ")
           << getFunction();
  return success();
}

LogicalResult program::DeviceLaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *module =
      symbols.lookupNearestSymbolFrom(*this, getFunction().getRootReference());
  if (!module)
    return emitOpError("expected a gpu.module or gpu.binary named @")
           << getFunction().getRootReference().getValue()
           << ", found nothing of that name";
  // A binary names its functions no more.
  if (!module->hasTrait<OpTrait::SymbolTable>())
    return success();
  auto function = dyn_cast_or_null<FunctionOpInterface>(
      symbols.lookupSymbolIn(module, getFunction().getLeafReference()));
  if (!function)
    return emitOpError("expected a function ") << getFunction() << ", found none";
  size_t expected = getNumOperands() + (getBound() != 0);
  if (function.getNumArguments() != expected)
    return emitOpError("expected a function of ")
           << expected << " buffers, found one of " << function.getNumArguments();
  return success();
}

//===----------------------------------------------------------------------===//
// Alternatives
//===----------------------------------------------------------------------===//

rt::MatmulCall program::withoutEpilogue(rt::MatmulCall call) {
  call.epilogue = rt::Epilogue::None;
  call.hasBias = call.hasAux = call.hasSaved = call.hasBiasGrad = false;
  return call;
}

/// Whether two calls say the same.
static bool areEqual(const rt::MatmulCall &x, const rt::MatmulCall &y) {
  std::vector<int64_t> fields[2];
  for (auto [call, values] : {std::pair(&x, &fields[0]), std::pair(&y, &fields[1])})
    rt::MatmulCall::forEachField(*call,
                                 [&, values = values](const char *, const auto &field) {
                                   values->push_back(static_cast<int64_t>(field));
                                 });
  return fields[0] == fields[1];
}

bool program::isCudnnCall(Operation *op) {
  if (isa_and_nonnull<CudnnAttentionOp, CudnnAttentionGradOp>(op))
    return true;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<Conv2DOp, Conv2DInputGradOp, Conv2DFilterGradOp>(
          [](auto convolution) { return convolution.getCudnn(); })
      .Default(false);
}

program::LibraryCallOpInterface program::AlternativesOp::getPreferredCall() {
  auto calls = getPreferred().front().getOps<LibraryCallOpInterface>();
  return calls.empty() ? LibraryCallOpInterface() : *calls.begin();
}

program::MatmulOp program::AlternativesOp::getPlainMatmul() {
  if (!isa_and_nonnull<MatmulOp>(getPreferredCall().getOperation()))
    return MatmulOp();
  return dyn_cast<MatmulOp>(getFallback().front().front());
}

LogicalResult program::AlternativesOp::verify() {
  for (Region *region : {&getPreferred(), &getFallback()}) {
    if (region->front().empty())
      return emitOpError("expected calls or launches in both regions, found none in the ")
             << (region == &getPreferred() ? "first" : "second");
    for (Operation &op : region->front())
      if (!isa<LibraryCallOpInterface, DeviceLaunchOp, AlternativesOp>(op))
        return op.emitOpError(
            "found in mpt_program.alternatives: expected calls, launches "
            "on a device and alternatives");
  }
  Block &preferred = getPreferred().front(), &fallback = getFallback().front();
  auto calls = preferred.getOps<LibraryCallOpInterface>();
  if (!llvm::hasSingleElement(calls) || !preferred.getOps<AlternativesOp>().empty())
    return emitOpError("expected one library call in the first region, and no "
                       "alternatives, found ")
           << llvm::range_size(calls) << " calls and "
           << llvm::range_size(preferred.getOps<AlternativesOp>()) << " alternatives";
  LibraryCallOpInterface call = getPreferredCall();
  if (isCudnnCall(call)) {
    if (isa<AlternativesOp>((*this)->getParentOp()))
      return emitOpError("expected alternatives of a matmul within others, found '")
             << call->getName() << "'";
    return success();
  }
  auto matmul = dyn_cast<MatmulOp>(call.getOperation());
  if (!matmul)
    return emitOpError("expected a call of cuDNN or a matmul with an epilogue, "
                       "found '")
           << call->getName() << "'";
  if (!llvm::hasSingleElement(preferred) || !fallback.getOps<AlternativesOp>().empty() ||
      llvm::hasSingleElement(fallback))
    return emitOpError(
        "expected the matmul alone in the first region, and launches after "
        "the plain one in the second");
  auto plain = dyn_cast<MatmulOp>(fallback.front());
  auto asked = std::get<rt::MatmulCall>(matmul.getCall());
  if (!plain || plain.getLhs() != matmul.getLhs() || plain.getRhs() != matmul.getRhs() ||
      plain.getResult() != matmul.getResult() ||
      plain.getAddend() != matmul.getAddend() ||
      plain.getLhsScales() != matmul.getLhsScales() ||
      plain.getRhsScales() != matmul.getRhsScales() ||
      !areEqual(std::get<rt::MatmulCall>(plain.getCall()), withoutEpilogue(asked)))
    return emitOpError("expected the second region to begin with the same matmul without "
                       "its epilogue");
  if (areEqual(asked, withoutEpilogue(asked)))
    return emitOpError("expected a matmul with an epilogue, found one without");
  return success();
}
