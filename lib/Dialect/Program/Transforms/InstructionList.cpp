//===- InstructionList.cpp - A fused step as launches and calls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/Transforms/InstructionList.h"

#include "mpt/Dialect/Kernel/Transforms/FusionPlan.h"
#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"
#include "mpt/Dialect/MPT/IR/Gemm.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/AttentionViews.h"
#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"
#include "mpt/Dialect/MPT/Transforms/JoinedPlaces.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/Dialect/Program/Transforms/ExchangeOverlap.h"
#include "mpt/Dialect/Program/Transforms/MemorySchedule.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/CudaCallPlan.h"
#include "mpt/Support/ElementCount.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpt;

namespace {

/// Row-major strides, in elements.
SmallVector<int64_t> packedStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Those of a tensor of shape `shape`, by the dimensions of its transpose.
SmallVector<int64_t, 4> transposedStrides(ArrayRef<int64_t> shape,
                                          ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> strides = packedStrides(shape);
  return llvm::map_to_vector<4>(permutation, [&](int64_t dim) { return strides[dim]; });
}

/// The type with all dimensions but the last joined into one.
RankedTensorType flattenLeading(RankedTensorType type) {
  if (type.getRank() <= 2)
    return type;
  int64_t last = type.getShape().back();
  int64_t rows = 1;
  for (int64_t size : type.getShape().drop_back())
    rows *= size;
  return RankedTensorType::get({rows, last}, type.getElementType());
}

std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

class Scheduler {
public:
  Scheduler(func::FuncOp function, int64_t maxThreads, TargetAttr target)
      : function(function), maxThreads(maxThreads), target(target),
        isForGPU(target.isCuda()) {}

  FailureOr<InstructionList> run() {
    if (!function.getBody().hasOneBlock()) {
      function.emitError("a step that is planned must have exactly one block; "
                         "found ")
          << function.getBody().getBlocks().size() << " (control flow cannot be planned)";
      return failure();
    }
    if (maxThreads < 1 || maxThreads > rt::kMaxProgramThreads)
      return function.emitError("a step is planned for 1 to ")
             << rt::kMaxProgramThreads << " threads, found " << maxThreads
             << "; give another max-threads";
    for (BlockArgument argument : function.getArguments())
      if (failed(checkBuffer(argument, argument.getLoc())))
        return failure();
    for (Operation &op : function.getBody().front().without_terminator()) {
      for (Value result : op.getResults())
        if (failed(checkBuffer(result, op.getLoc())))
          return failure();
      if (failed(visit(&op)))
        return failure();
    }
    for (Value value : function.getBody().front().getTerminator()->getOperands())
      schedule.returned.push_back(schedule.getOwner(value));
    // Each result may take a block of its own.
    for (Value value : schedule.returned)
      if (failed(checkBuffer(value, value.getLoc())))
        return failure();
    for (const StepInstruction &instruction : schedule.instructions)
      if (failed(count(instruction.scratchBytes, instruction.loc,
                       "what this op needs while "
                       "it runs")))
        return failure();
    return std::move(schedule);
  }

private:
  /// Checks that `value` can be a buffer of a program: what every later step of planning
  /// and code generation takes for granted.
  LogicalResult checkBuffer(Value value, Location loc);
  /// Adds to what all buffers take. Planning adds up sizes, and so must not overflow.
  LogicalResult count(int64_t bytes, Location loc, const Twine &what) {
    const bool isTooLarge = bytes > rt::kMaxProgramBytes;
    if (!isTooLarge)
      totalBytes += bytes;
    if (!isTooLarge && totalBytes <= (int64_t(1) << 62) - rt::kMaxProgramBytes)
      return success();
    return emitError(loc) << "planning cannot count " << what << ": "
                          << (isTooLarge ? bytes : totalBytes) << " bytes"
                          << (isTooLarge ? "" : " with all before it")
                          << ", and a program has at most 2^46; use smaller shapes";
  }

  /// The cast that the readers of `value` do. An empty one has nothing to round.
  static CastOp getRoundedOnRead(Value value) {
    auto cast = value.getDefiningOp<CastOp>();
    return cast && !isEmpty(cast) ? cast : CastOp();
  }
  BufferView view(Value value) {
    return view(value, dyn_cast<RankedTensorType>(value.getType()));
  }
  /// A tensor of attention, with strides if it is not packed.
  BufferView viewRows(Value value);
  /// What is written for `value` alone, to where a concat joins it, if one does.
  BufferView viewWritten(Value value);
  /// Whether `value`, an input of a concat, is made by what viewWritten is for.
  bool isWrittenWhereJoined(Value value);
  /// ... in a shape of its own.
  BufferView view(Value value, RankedTensorType type) {
    // What is rounded on read lies there as it was.
    if (CastOp cast = getRoundedOnRead(value)) {
      value = cast.getX();
      type = type.clone(getElementTypeOrSelf(value));
    }
    return {schedule.getOwner(value), type, {}, starts.lookup(value)};
  }
  /// `to` is the memory of `from`, from byte `start` on.
  void rename(Value from, Value to, int64_t start = 0) {
    schedule.owners[to] = schedule.getOwner(from);
    if (start += starts.lookup(from))
      starts[to] = start;
  }

  LogicalResult call(Operation *op, const rt::LibraryCall &libraryCall,
                     ArrayRef<BufferView> inputs, ArrayRef<BufferView> outputs) {
    StepInstruction instruction{op,
                                op->getLoc(),
                                kernel::KernelOp(),
                                libraryCall,
                                SmallVector<BufferView>(inputs),
                                SmallVector<BufferView>(outputs)};
    auto typesOf = [](ArrayRef<BufferView> views) {
      return llvm::map_to_vector(
          views, [](const BufferView &view) -> Type { return view.type; });
    };
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (CastOp cast = getRoundedOnRead(operand))
        rt::setRounding(*instruction.call, i,
                        getElementTypeOrSelf(cast.getY()).isBF16() ? rt::Rounding::BF16
                                                                   : rt::Rounding::F16);
    FailureOr<rt::Instruction> encoded =
        encodeCall(op->getLoc(), *instruction.call, typesOf(inputs), typesOf(outputs));
    if (failed(encoded))
      return failure();
    instruction.scratchBytes = isForGPU ? rt::getCudaWorkspace(*encoded)
                                        : rt::getCallWorkspace(*encoded, maxThreads);
    if (!isForGPU || isa<ScatterAddOp, ScatterReduceOp>(op))
      for (uint32_t output = 0; output < outputs.size(); ++output)
        for (uint32_t input = 0; input < inputs.size(); ++input)
          if (rt::mayOverwrite(*encoded, output, input))
            instruction.overwrites.push_back({output, input});
    schedule.instructions.push_back(std::move(instruction));
    return success();
  }

  /// A call whose operands and results are the op's own.
  LogicalResult call(Operation *op, const rt::LibraryCall &libraryCall) {
    SmallVector<BufferView> inputs, outputs;
    for (Value operand : op->getOperands())
      inputs.push_back(view(operand));
    for (Value result : op->getResults())
      outputs.push_back(view(result));
    return call(op, libraryCall, inputs, outputs);
  }

  /// dst[dstOffset + i * dstStrides] = src[srcOffset + i * srcStrides] for all
  /// i below `sizes`; offsets and strides in elements.
  LogicalResult copy(Operation *op, Value src, Value dst, ArrayRef<int64_t> sizes,
                     int64_t srcOffset, ArrayRef<int64_t> srcStrides, int64_t dstOffset,
                     ArrayRef<int64_t> dstStrides) {
    rt::CopyCall copy{sizes.vec(), srcOffset, srcStrides.vec(), dstOffset,
                      dstStrides.vec()};
    return call(op, copy, {view(src)}, {view(dst)});
  }

  /// True for an op of the dialect whose results have no elements. Kernels run
  /// over at least one point, so it is in none.
  static bool isEmpty(Operation *op) {
    return isa_and_nonnull<MPTDialect>(op->getDialect()) && op->getNumResults() > 0 &&
           llvm::all_of(op->getResultTypes(), [](Type type) {
             return cast<RankedTensorType>(type).getNumElements() == 0;
           });
  }
  /// Defines results without elements.
  LogicalResult fillResults(Operation *op) {
    for (Value result : op->getResults())
      if (failed(call(op, rt::FillCall{0.0}, {}, {view(result)})))
        return failure();
    return success();
  }

  LogicalResult visit(Operation *op);
  LogicalResult visitMatmul(MatmulOp op);
  LogicalResult visitLinear(LinearOp op);
  LogicalResult visitGemm(Operation *op);
  LogicalResult visitCopyLike(Operation *op);
  LogicalResult visitKernel(kernel::KernelOp op);
  LogicalResult visitAttention(Operation *op);
  LogicalResult visitScan(ScanOp op);
  LogicalResult visitCollective(Operation *op);

  func::FuncOp function;
  int64_t maxThreads;
  TargetAttr target;
  bool isForGPU;
  int64_t totalBytes = 0;
  InstructionList schedule;
  /// Where renamed values begin in their owner's memory, in bytes, unless at its start.
  DenseMap<Value, int64_t> starts;
};

LogicalResult Scheduler::checkBuffer(Value value, Location loc) {
  std::string what;
  llvm::raw_string_ostream os(what);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    os << "argument " << argument.getArgNumber();
    if (StringAttr name = StepView::getName(function, argument.getArgNumber()))
      os << " (" << name << ")";
  } else {
    os << "result " << cast<OpResult>(value).getResultNumber() << " of '"
       << value.getDefiningOp()->getName() << "'";
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape()) {
    InFlightDiagnostic diagnostic =
        emitError(loc) << "planning needs ranked tensors of static shape, but " << what
                       << " is " << value.getType();
    if (type)
      diagnostic << "; give dynamic dimensions a size with --mpt-specialize first";
    return diagnostic;
  }
  std::optional<rt::DataType> element = encodeElementType(type.getElementType());
  if (!element)
    return emitError(loc) << "planning needs tensors of f64, f32, f16, bf16, f8E4M3FN, "
                          << "f8E5M2, i64, i32, i16, i8 or i1, but " << what << " is "
                          << type << "; cast it to one of them first";
  // Strides are products of sizes, also where one of the sizes is 0.
  auto sizes = llvm::map_to_vector(
      type.getShape(), [](int64_t size) { return std::max<int64_t>(size, 1); });
  std::optional<int64_t> bytes = countBytes(sizes, 8 * rt::getSize(*element));
  if (!bytes)
    return emitError(loc) << "planning cannot count the bytes of " << what
                          << ", which is " << type
                          << "; a program has at most 2^46 bytes; use smaller shapes";
  return count(*bytes, loc, what + Twine(" (") + toText(type) + ")");
}

LogicalResult Scheduler::visitMatmul(MatmulOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  auto result = cast<RankedTensorType>(op.getResult().getType());
  // Without a batch on the right the batch is only more rows.
  if (rhs.getRank() == 2 && !op.getTransposeLhs()) {
    lhs = flattenLeading(lhs);
    result = flattenLeading(result);
  }
  return call(op, *getLibraryCall(op), {view(op.getLhs(), lhs), view(op.getRhs())},
              {view(op.getResult(), result)});
}

LogicalResult Scheduler::visitLinear(LinearOp op) {
  SmallVector<BufferView> inputs = {
      view(op.getX(), flattenLeading(cast<RankedTensorType>(op.getX().getType()))),
      view(op.getWeight())};
  if (op.getBias())
    inputs.push_back(view(op.getBias()));
  return call(op, *getLibraryCall(op), inputs,
              {view(op.getResult(),
                    flattenLeading(cast<RankedTensorType>(op.getResult().getType())))});
}

LogicalResult Scheduler::visitGemm(Operation *op) {
  if (!isForGPU)
    return op->emitOpError("is done on GPUs only; plan with target=\"cuda sm_90\" or "
                           "another chip");
  return call(op, *getLibraryCall(op));
}

/// Ops that only move elements: strided copies, after a fill where some
/// elements come from nowhere.
LogicalResult Scheduler::visitCopyLike(Operation *op) {
  auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
  Value result = op->getResult(0);
  SmallVector<int64_t> dstStrides = packedStrides(resultType.getShape());
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    return copy(
        op, transpose.getX(), result, resultType.getShape(), 0,
        transposedStrides(cast<RankedTensorType>(transpose.getX().getType()).getShape(),
                          transpose.getPermutation()),
        0, dstStrides);
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    SmallVector<int64_t> strides =
        packedStrides(cast<RankedTensorType>(slice.getX().getType()).getShape());
    int64_t offset = 0;
    for (auto [i, stride] : llvm::enumerate(strides)) {
      offset += slice.getOffsets()[i] * stride;
      stride *= slice.getStrides()[i];
    }
    return copy(op, slice.getX(), result, resultType.getShape(), offset, strides, 0,
                dstStrides);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    auto type = cast<RankedTensorType>(broadcast.getX().getType());
    SmallVector<int64_t> packed = packedStrides(type.getShape());
    SmallVector<int64_t> strides(resultType.getRank(), 0);
    int64_t shift = resultType.getRank() - type.getRank();
    for (int64_t i = 0; i < type.getRank(); ++i)
      strides[i + shift] = type.getDimSize(i) == 1 ? 0 : packed[i];
    return copy(op, broadcast.getX(), result, resultType.getShape(), 0, strides, 0,
                dstStrides);
  }
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    int64_t position = 0, axis = concat.getAxis(), start = 0;
    // A concat may itself lie in what another one joins.
    if (isForGPU) {
      JoinedPlace place = getJoinedPlace(concat);
      result = place.concat.getResult();
      dstStrides = std::move(place.strides);
      start = place.start;
    }
    for (Value input : concat.getInputs()) {
      auto type = cast<RankedTensorType>(input.getType());
      if (!isWrittenWhereJoined(input) &&
          failed(copy(op, input, result, type.getShape(), 0,
                      packedStrides(type.getShape()), start + position * dstStrides[axis],
                      dstStrides)))
        return failure();
      position += type.getDimSize(axis);
    }
    return success();
  }
  auto pad = cast<PadOp>(op);
  auto type = cast<RankedTensorType>(pad.getX().getType());
  if (failed(
          call(op, rt::FillCall{pad.getValue().convertToDouble()}, {}, {view(result)})))
    return failure();
  int64_t offset = 0;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    offset += pad.getLow()[i] * dstStrides[i];
    if (pad.getInterior())
      dstStrides[i] *= 1 + (*pad.getInterior())[i];
  }
  return copy(op, pad.getX(), result, type.getShape(), 0, packedStrides(type.getShape()),
              offset, dstStrides);
}

LogicalResult Scheduler::visitKernel(kernel::KernelOp op) {
  if (!countElements(op.getDomain()))
    return op.emitOpError(
        "of more than 2^50 points cannot be planned; use smaller shapes");
  StepInstruction instruction{op, op.getLoc(), op, std::nullopt, {}, {}};
  for (Value input : op.getInputs())
    instruction.inputs.push_back(view(input));
  for (Value output : op.getOutputs())
    instruction.outputs.push_back(viewWritten(output));
  instruction.scratchBytes = KernelInfo(op).getPartialsBytes();
  schedule.instructions.push_back(std::move(instruction));
  return success();
}

BufferView Scheduler::viewWritten(Value value) {
  std::optional<JoinedPlace> place =
      isForGPU ? getJoinedPlace(value) : std::optional<JoinedPlace>();
  if (!place)
    return view(value);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t, 4> strides(ArrayRef<int64_t>(place->strides));
  // All of it may lie in one piece.
  if (strides == ArrayRef<int64_t>(packedStrides(type.getShape())))
    strides.clear();
  return {place->concat.getResult(), type, strides,
          place->start * llvm::divideCeil(type.getElementTypeBitWidth(), 8)};
}

bool Scheduler::isWrittenWhereJoined(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  Operation *maker = value.getDefiningOp();
  // Concats write where they lie themselves.
  if (isForGPU && isa_and_nonnull<ConcatOp>(maker))
    return getJoinedPlace(cast<ConcatOp>(maker)).concat != maker;
  auto transpose = dyn_cast_or_null<TransposeOp>(maker);
  return isForGPU &&
         (isa_and_nonnull<kernel::KernelOp>(maker) ||
          (transpose && getWrittenInPlace(transpose.getX()) == value)) &&
         getJoinedPlace(value).has_value();
}

BufferView Scheduler::viewRows(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (isForGPU && transpose && isReadInPlace(transpose)) {
    Value source = transpose.getX();
    int64_t start = 0;
    if (Operation *slice = source.getDefiningOp())
      if (std::optional<int64_t> inPlace = getStartInPlace(slice)) {
        source = slice->getOperand(0);
        start = *inPlace;
      }
    return {schedule.getOwner(source), type,
            transposedStrides(cast<RankedTensorType>(source.getType()).getShape(),
                              transpose.getPermutation()),
            starts.lookup(source) + start};
  }
  auto written = isForGPU ? getWrittenInPlace(value) : TypedValue<RankedTensorType>();
  if (!written)
    return view(value);
  transpose = cast<TransposeOp>(written.getDefiningOp());
  BufferView whole = viewWritten(written);
  SmallVector<int64_t> strides(ArrayRef<int64_t>(whole.strides));
  if (strides.empty())
    strides = packedStrides(written.getType().getShape());
  whole.type = type;
  whole.strides.clear();
  for (int64_t dim : invertPermutationVector(transpose.getPermutation()))
    whole.strides.push_back(strides[dim]);
  return whole;
}

/// A gradient of the bias that nothing reads is not computed.
LogicalResult Scheduler::visitAttention(Operation *op) {
  SmallVector<BufferView> inputs, outputs;
  for (Value operand : op->getOperands())
    inputs.push_back(viewRows(operand));
  for (Value result : op->getResults())
    if (auto grad = dyn_cast<AttentionGradOp>(op);
        !grad || result != grad.getDbias() || !result.use_empty())
      outputs.push_back(viewRows(result));
  return call(op, *getLibraryCall(op), inputs, outputs);
}

/// One iteration of `scan` as a function. `above` are the values that the scan uses from
/// above, and `changes` says which of the carried ones do. Where the target wants slices
/// to begin at multiples of `alignment` bytes, those that do not are copied.
static OwningOpRef<func::FuncOp> makeBody(ScanOp scan, ValueRange above,
                                          const llvm::BitVector &changes,
                                          int64_t alignment) {
  Block &body = scan.getBlock();
  Builder attributes(scan.getContext());
  const Location loc = scan.getLoc();
  const unsigned carried = scan.getNumCarried();
  SmallVector<Type> types(body.getArgumentTypes());
  llvm::append_range(types, above.getTypes());
  auto function =
      func::FuncOp::create(loc, "body", FunctionType::get(scan.getContext(), types, {}));
  Block *block = function.addEntryBlock();
  auto builder = OpBuilder::atBlockEnd(block);
  auto align = [&](Value slice) -> Value {
    auto type = cast<RankedTensorType>(slice.getType());
    if (getTensorBytes(type) % alignment == 0)
      return slice;
    auto same = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    return TransposeOp::create(builder, slice.getLoc(), type, slice, same);
  };
  IRMapping mapping;
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    Value here = block->getArgument(i);
    mapping.map(argument, i < carried ? here : align(here));
  }
  for (auto [i, value] : llvm::enumerate(above))
    mapping.map(value, block->getArgument(body.getNumArguments() + i));
  auto cloneConstant = [&](Value value) {
    if (auto constant = value.getDefiningOp<ConstantOp>();
        constant && !mapping.contains(value))
      builder.clone(*constant, mapping);
  };
  // Constants are above, wherever they are used.
  scan.getBlock().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!scan.getBody().isAncestor(operand.getParentRegion()))
        cloneConstant(operand);
  });
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> returned;
  SmallVector<NamedAttrList> notes;
  for (auto [i, value] : llvm::enumerate(scan.getYield().getValues())) {
    Value here = mapping.lookupOrDefault(value);
    if (i < carried && !changes[i])
      continue;
    returned.push_back(i < carried ? here : align(here));
    NamedAttrList &note = notes.emplace_back();
    if (i >= carried)
      continue;
    StringAttr name = attributes.getStringAttr("carried" + Twine(i));
    note.set(kUpdatesAttr, name);
    function.setArgAttr(i, kNameAttr, name);
    function.setArgAttr(i, kRoleAttr,
                        RoleAttr::get(scan.getContext(), Role::RunningStat));
  }
  func::ReturnOp::create(builder, loc, returned);
  function.setFunctionType(
      FunctionType::get(scan.getContext(), types, ValueRange(returned).getTypes()));
  for (auto [i, note] : llvm::enumerate(notes))
    function.setResultAttrs(i, note.getDictionary(scan.getContext()));
  return function;
}

/// A loop over a body that is planned as a step of its own. What it keeps lies in the
/// loop's workspace.
LogicalResult Scheduler::visitScan(ScanOp op) {
  const unsigned carried = op.getNumCarried();
  Block &body = op.getBlock();
  YieldOp yield = op.getYield();
  if (!yield)
    return op.emitOpError("expected a body that ends in mpt.yield");
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op.getBody(), above);
  above.remove_if([](Value value) { return value.getDefiningOp<ConstantOp>(); });
  llvm::BitVector changes(carried);
  for (unsigned i = 0; i < carried; ++i)
    changes[i] = yield.getValues()[i] != body.getArgument(i);

  auto loop = std::make_shared<LoopBody>();
  loop->count = op.getTripCount();
  loop->reverse = op.getReverse();
  StepInstruction instruction{op, op.getLoc(), kernel::KernelOp(), std::nullopt, {}, {}};
  for (unsigned i = 0; i < carried; ++i) {
    Value init = op.getInits()[i], result = op.getResult(i);
    if (!changes[i] || !LoopBody::getFill(schedule.getOwner(init)))
      instruction.inputs.push_back(view(init));
    loop->isSlice.push_back(false);
    loop->arguments.push_back(changes[i] ? result : schedule.getOwner(init));
    if (changes[i]) {
      instruction.outputs.push_back(view(result));
      loop->inits.push_back(schedule.getOwner(init));
    } else {
      schedule.owners[result] = schedule.getOwner(init);
    }
  }
  if (op.getConditional())
    loop->condition = loop->arguments.front();
  for (Value input : op.getInputs()) {
    instruction.inputs.push_back(view(input));
    loop->arguments.push_back(schedule.getOwner(input));
    loop->isSlice.push_back(true);
  }
  for (Value value : above) {
    instruction.inputs.push_back(view(value));
    loop->arguments.push_back(schedule.getOwner(value));
    loop->isSlice.push_back(false);
  }
  for (unsigned i = 0; i < carried; ++i)
    if (changes[i])
      loop->stacked.push_back(Value());
  for (Value result : op.getResults().drop_front(carried)) {
    instruction.outputs.push_back(view(result));
    loop->stacked.push_back(result);
  }
  if (instruction.outputs.empty())
    return success();
  // As device code and cuBLASLt have buffers of the arena.
  loop->function = makeBody(op, above.getArrayRef(), changes, isForGPU ? 64 : 1);
  FailureOr<InstructionList> inner = Scheduler(*loop->function, maxThreads, target).run();
  if (failed(inner))
    return failure();
  loop->schedule = std::move(*inner);
  loop->plan = scheduleForMemory(*loop->function, loop->schedule).plan;
  instruction.scratchBytes = loop->plan.arenaBytes;
  instruction.loop = std::move(loop);
  schedule.instructions.push_back(std::move(instruction));
  return success();
}

/// One call for each tensor; of an all_reduce one for each pair of element types, as its
/// call takes a list.
LogicalResult Scheduler::visitCollective(Operation *op) {
  FailureOr<int64_t> ranks = getProgramRanks(op);
  if (failed(ranks))
    return failure();
  if (isa<RankOp>(op))
    return call(op, getCollectiveCall(op, *ranks, 1));
  // By types, in the order of the op.
  llvm::MapVector<std::pair<Type, Type>, SmallVector<unsigned>> groups;
  for (auto [i, operand, result] : llvm::enumerate(op->getOperands(), op->getResults()))
    groups[{getElementTypeOrSelf(operand), getElementTypeOrSelf(result)}].push_back(i);
  for (auto &[types, numbers] : groups) {
    const size_t atOnce = isa<AllReduceOp>(op) ? numbers.size() : 1;
    for (ArrayRef<unsigned> rest = numbers; !rest.empty();
         rest = rest.drop_front(atOnce)) {
      SmallVector<BufferView> inputs, outputs;
      for (unsigned number : rest.take_front(atOnce)) {
        inputs.push_back(view(op->getOperand(number)));
        outputs.push_back(view(op->getResult(number)));
      }
      if (failed(call(op, getCollectiveCall(op, *ranks, atOnce), inputs, outputs)))
        return failure();
    }
  }
  return success();
}

LogicalResult Scheduler::visit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<kernel::KernelOp>(
          [&](kernel::KernelOp kernel) { return visitKernel(kernel); })
      .Case<ScanOp>([&](ScanOp scan) { return visitScan(scan); })
      .Case<ConstantOp>([](auto) { return success(); })
      .Case<ReshapeOp>([&](ReshapeOp reshape) {
        rename(reshape.getX(), reshape.getY());
        return success();
      })
      .Case<CastOp>([&](CastOp cast) -> LogicalResult {
        if (isEmpty(cast))
          return fillResults(cast);
        if (isForGPU || !isRoundedOnRead(cast))
          return cast.emitError(
              "'mpt.cast' is neither in a kernel nor of a parameter or an input "
              "that all its readers, library calls of a CPU, can round; run "
              "--mpt-decompose and --mpt-fuse-kernels before planning");
        rename(cast.getX(), cast.getY());
        return success();
      })
      .Case<BarrierOp>([&](BarrierOp barrier) {
        for (auto [input, output] :
             llvm::zip_equal(barrier.getInputs(), barrier.getOutputs()))
          rename(input, output);
        return success();
      })
      .Case<MatmulOp>([&](MatmulOp matmul) { return visitMatmul(matmul); })
      .Case<LinearOp>([&](LinearOp linear) { return visitLinear(linear); })
      .Case<GemmOp, GemmQuantizeOp>([&](Operation *gemm) { return visitGemm(gemm); })
      .Case<AllReduceOp, ReduceScatterOp, AllGatherOp, AllToAllOp, BroadcastFromOp,
            RankOp>([&](Operation *collective) { return visitCollective(collective); })
      .Case<TransposeOp>([&](TransposeOp transpose) {
        // Attention reads or writes its elements where they are.
        return isForGPU && isAttentionView(transpose) ? success()
                                                      : visitCopyLike(transpose);
      })
      .Case<SliceOp>([&](SliceOp slice) -> LogicalResult {
        if (isForGPU && isAttentionView(slice))
          return success();
        if (!isJoinedPart(slice))
          return visitCopyLike(slice);
        rename(slice.getX(), slice.getResult(),
               getPartOffset(slice) *
                   llvm::divideCeil(slice.getResult().getType().getElementTypeBitWidth(),
                                    8));
        return success();
      })
      .Case<BroadcastOp, ConcatOp, PadOp>(
          [&](Operation *copyLike) { return visitCopyLike(copyLike); })
      .Case<AttentionOp, AttentionGradOp>([&](auto attention) -> LogicalResult {
        if (attention.getFused())
          return visitAttention(attention);
        return attention->emitError("'")
               << attention->getName() << "' is not decomposed; run --mpt-decompose "
               << "before planning";
      })
      .Default([&](Operation *other) -> LogicalResult {
        std::optional<rt::LibraryCall> libraryCall = getLibraryCall(other);
        if (!libraryCall && isEmpty(other))
          return fillResults(other);
        if (!libraryCall)
          return other->emitError("'")
                 << other->getName()
                 << "' is neither a kernel nor a library call; run "
                    "--mpt-decompose and --mpt-fuse-kernels before planning";
        return call(other, *libraryCall);
      });
}

} // namespace

FailureOr<InstructionList> mpt::listInstructions(func::FuncOp function,
                                                 int64_t maxThreads, TargetAttr target) {
  FailureOr<InstructionList> list = Scheduler(function, maxThreads, target).run();
  // Nothing in a loop is an exchange.
  if (succeeded(list))
    overlapExchanges(*list);
  return list;
}
