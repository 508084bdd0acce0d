//===- Interpreter.cpp - Functions evaluated op by op -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "mlir/IR/SymbolTable.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

/// Calls inside calls; a recursive program ends here.
static constexpr unsigned kMaxDepth = 64;
/// 16 GiB of doubles.
static constexpr int64_t kMaxElements = int64_t(1) << 31;

//===----------------------------------------------------------------------===//
// Rounding and types
//===----------------------------------------------------------------------===//

double mpt::reference::roundToType(double value, FloatType type) {
  if (type.isF64())
    return value;
  // C++ rounds to nearest even here too; outside the range it says nothing.
  if (type.isF32() && std::abs(value) <= std::numeric_limits<float>::max())
    return static_cast<float>(value);
  // It has neither infinity nor NaN.
  if (isa<Float4E2M1FNType>(type) && !(std::abs(value) < 6))
    return std::isnan(value) ? 6 : std::copysign(6, value);
  // Of this type APFloat converts NaN to a number that reads as infinity.
  if (isa<Float8E8M0FNUType>(type) && std::isnan(value))
    return value;
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

/// `value` modulo 2^width, sign-extended; i1 stays 0 or 1.
static int64_t wrap(int64_t value, unsigned width) {
  if (width == 1)
    return value & 1;
  return width >= 64 ? value : llvm::SignExtend64(value, width);
}

LogicalResult
mpt::reference::checkType(Type type, llvm::function_ref<InFlightDiagnostic()> emitError) {
  Type element = getElementTypeOrSelf(type);
  bool isNumber = false;
  if (auto number = dyn_cast<IntegerType>(element))
    isNumber = number.getWidth() <= 64 && !number.isUnsigned();
  else if (auto number = dyn_cast<FloatType>(element))
    isNumber = number.getWidth() <= 64;
  else
    isNumber = isa<IndexType>(element);
  if (!isNumber)
    return emitError() << "cannot be interpreted: expected floats or signless "
                          "integers of at most 64 bits, found "
                       << type;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor && element != type)
    return emitError() << "cannot be interpreted: expected scalars or ranked "
                          "tensors, found "
                       << type;
  if (!tensor)
    return success();
  if (!tensor.hasStaticShape())
    return emitError() << "cannot be interpreted: expected static shapes, found " << type
                       << "; run --mpt-specialize first";
  int64_t count = 1;
  for (int64_t size : tensor.getShape())
    if (llvm::MulOverflow(count, size, count) || count > kMaxElements)
      return emitError() << "cannot be interpreted: expected at most " << kMaxElements
                         << " elements, found " << type;
  return success();
}

int64_t mpt::reference::truncateToInt(double value, unsigned width) {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  if (value >= limit)
    return width >= 64 ? std::numeric_limits<int64_t>::max()
                       : (int64_t(1) << (width - 1)) - 1;
  if (value < -limit)
    return width >= 64 ? std::numeric_limits<int64_t>::min()
                       : -(int64_t(1) << (width - 1));
  return static_cast<int64_t>(value);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

int64_t mpt::reference::product(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

SmallVector<int64_t, 4> mpt::reference::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<int64_t> mpt::reference::mapIndices(ArrayRef<int64_t> shape,
                                                ArrayRef<int64_t> strides,
                                                int64_t offset) {
  std::vector<int64_t> indices(product(shape));
  SmallVector<int64_t, 4> point(shape.size(), 0);
  int64_t position = offset;
  for (int64_t &index : indices) {
    index = position;
    for (size_t i = shape.size(); i-- > 0;) {
      position += strides[i];
      if (++point[i] < shape[i])
        break;
      position -= strides[i] * shape[i];
      point[i] = 0;
    }
  }
  return indices;
}

std::vector<int64_t> mpt::reference::broadcastIndices(ArrayRef<int64_t> from,
                                                      ArrayRef<int64_t> to) {
  SmallVector<int64_t, 4> strides(to.size(), 0);
  SmallVector<int64_t, 4> own = rowMajorStrides(from);
  size_t extra = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    strides[extra + i] = from[i] == 1 ? 0 : own[i];
  return mapIndices(to, strides);
}

Tensor mpt::reference::pick(const Tensor &x, ArrayRef<int64_t> indices) {
  Tensor result;
  result.elementType = x.elementType;
  for (int64_t index : indices) {
    if (x.isFloat())
      result.floats.push_back(x.floats[index]);
    else
      result.ints.push_back(x.ints[index]);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

SmallVector<int64_t, 4> Frame::getShape(Value value) const {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return SmallVector<int64_t, 4>(type.getShape());
  return domain;
}

int64_t Frame::getSize(Value value) const { return product(getShape(value)); }

double Frame::round(double value, Type type) const {
  auto number = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  if (mode == Mode::Float64 || !number)
    return value;
  return roundToType(value, number);
}

double Frame::round(double value, Value like) const {
  return round(value, like.getType());
}

void Frame::define(Value value, Tensor tensor) {
  tensor.elementType = getElementTypeOrSelf(value.getType());
  tensor.shape = getShape(value);
  usesLeft[value] = std::distance(value.use_begin(), value.use_end());
  values[value] = std::make_unique<Tensor>(std::move(tensor));
}

void Frame::set(Value value, std::vector<double> elements) {
  Tensor tensor;
  for (double &element : elements)
    element = round(element, value);
  tensor.floats = std::move(elements);
  define(value, std::move(tensor));
}

void Frame::set(Value value, std::vector<int64_t> elements) {
  Tensor tensor;
  if (auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType())))
    for (int64_t &element : elements)
      element = wrap(element, type.getWidth());
  tensor.ints = std::move(elements);
  define(value, std::move(tensor));
}

void Frame::set(Value value, Tensor elements) {
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())))
    set(value, std::move(elements.floats));
  else
    set(value, std::move(elements.ints));
}

bool Frame::checkIndex(int64_t index, int64_t size, size_t position) {
  if (index >= 0 && index < size)
    return true;
  if (badIndex)
    *badIndex = BadIndex{index, static_cast<int64_t>(position)};
  return false;
}

LogicalResult Frame::runOp(Operation &op) {
  const OpTable::Evaluate *evaluate = table.lookup(op.getName().getStringRef());
  if (!evaluate)
    return op.emitOpError("cannot be interpreted: the reference engine knows the "
                          "tensor ops of mpt, mpt_kernel.kernel, func.call and scalar "
                          "arith and math; run it before the passes that made "
                          "this op");
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op.getOperandTypes()),
                                            SmallVector<Type>(op.getResultTypes())))
    if (failed(checkType(type, [&] { return op.emitOpError(); })))
      return failure();
  return (*evaluate)(&op, *this);
}

void Frame::release(Operation &op) {
  for (Value operand : op.getOperands()) {
    auto it = usesLeft.find(operand);
    if (it != usesLeft.end() && --it->second == 0)
      values.erase(operand);
  }
  for (Value result : op.getResults())
    if (result.use_empty())
      values.erase(result);
}

LogicalResult Frame::run(Operation &op) {
  if (failed(runOp(op)))
    return failure();
  release(op);
  return success();
}

LogicalResult Frame::runBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(run(op)))
      return failure();
  return success();
}

void Frame::keepForRuns(Block &block, int64_t times) {
  block.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      // Below the block, a body that runs several times keeps its own.
      if (auto it = usesLeft.find(operand);
          it != usesLeft.end() &&
          !block.getParent()->isAncestor(operand.getParentRegion()))
        it->second += times - 1;
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Gives `frame` the arguments of `function`, after checks of both.
static LogicalResult enterFunction(func::FuncOp function, ArrayRef<Tensor> arguments,
                                   Frame &frame) {
  if (function.isExternal())
    return function.emitOpError("cannot be interpreted: it has no body; give the "
                                "module that defines it");
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("cannot be interpreted: expected one block, "
                                "without branches, found ")
           << function.getBody().getBlocks().size();
  Block &block = function.getBody().front();
  if (arguments.size() != block.getNumArguments())
    return function.emitOpError("expected ")
           << block.getNumArguments() << " arguments, found " << arguments.size();
  for (BlockArgument argument : block.getArguments()) {
    auto emitError = [&] {
      return function.emitOpError() << "argument " << argument.getArgNumber() << " ";
    };
    if (failed(checkType(argument.getType(), emitError)))
      return failure();
    const Tensor &value = arguments[argument.getArgNumber()];
    if (value.elementType != getElementTypeOrSelf(argument.getType()) ||
        value.size() != frame.getSize(argument) ||
        value.shape != frame.getShape(argument))
      return emitError() << "expected elements of type " << argument.getType()
                         << ", found " << value.size() << " elements of type "
                         << value.elementType;
    frame.set(argument, value);
  }
  return success();
}

/// What `function` returns once its ops have run in `frame`.
static FailureOr<std::vector<Tensor>> leaveFunction(func::FuncOp function,
                                                    const Frame &frame) {
  Operation *terminator = function.getBody().front().getTerminator();
  if (!isa<func::ReturnOp>(terminator))
    return terminator->emitOpError("cannot be interpreted: expected func.return");
  std::vector<Tensor> results;
  for (Value value : terminator->getOperands())
    results.push_back(frame.get(value));
  return results;
}

static FailureOr<std::vector<Tensor>>
runFunction(func::FuncOp function, ArrayRef<Tensor> arguments, Mode mode, unsigned depth,
            const OpTable &table, std::optional<BadIndex> *badIndex, int64_t rank = 0) {
  Frame frame(table, mode, badIndex, {}, depth, rank);
  if (failed(enterFunction(function, arguments, frame)) ||
      failed(frame.runBlock(function.getBody().front())))
    return failure();
  return leaveFunction(function, frame);
}

static LogicalResult evaluateCall(func::CallOp op, Frame &frame) {
  auto callee =
      SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
  if (!callee)
    return op.emitOpError("cannot be interpreted: no function ") << op.getCallee();
  if (frame.getDepth() >= kMaxDepth)
    return op.emitOpError("cannot be interpreted: more than ")
           << kMaxDepth
           << " calls inside one another; remove the recursion or "
              "inline the calls";
  std::vector<Tensor> arguments;
  for (Value operand : op.getOperands())
    arguments.push_back(frame.get(operand));
  FailureOr<std::vector<Tensor>> results =
      runFunction(callee, arguments, frame.getMode(), frame.getDepth() + 1,
                  frame.getTable(), frame.getBadIndex(), frame.getRank());
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip_equal(op.getResults(), *results))
    frame.set(value, std::move(result));
  return success();
}

const OpTable &OpTable::get() {
  static const OpTable table = [] {
    OpTable all;
    addPointwise(all);
    addBinary(all);
    addShape(all);
    addLinalg(all);
    addAttention(all);
    addWindows(all);
    addRecurrent(all);
    addReductions(all);
    addNorms(all);
    addLosses(all);
    addTraining(all);
    addHalves(all);
    addBlockScale(all);
    addOptimizerState(all);
    addScalars(all);
    addKernels(all);
    addCollectives(all);
    all.add<func::CallOp>(evaluateCall);
    return all;
  }();
  return table;
}

FailureOr<std::vector<Tensor>>
mpt::reference::interpret(func::FuncOp function, ArrayRef<Tensor> arguments, Mode mode,
                          std::optional<BadIndex> *badIndex) {
  return runFunction(function, arguments, mode, 0, OpTable::get(), badIndex);
}

FailureOr<std::vector<std::vector<Tensor>>>
mpt::reference::interpretRanks(func::FuncOp function,
                               ArrayRef<std::vector<Tensor>> arguments, Mode mode) {
  MeshAttr mesh = getMesh(function);
  const size_t ranks = mesh ? mesh.getNumRanks() : 1;
  if (arguments.size() != ranks)
    return function.emitOpError("expected arguments for each of the ")
           << ranks << " ranks of the mesh, found those of " << arguments.size();
  std::vector<std::unique_ptr<Frame>> owners;
  SmallVector<Frame *> frames;
  for (const std::vector<Tensor> &own : arguments) {
    owners.push_back(std::make_unique<Frame>(OpTable::get(), mode, nullptr,
                                             ArrayRef<int64_t>(), 0, frames.size()));
    frames.push_back(owners.back().get());
    if (failed(enterFunction(function, own, *frames.back())))
      return failure();
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    const bool meets = isCollective(&op);
    if (meets && failed(evaluateCollective(&op, frames)))
      return failure();
    for (Frame *frame : frames) {
      if (meets)
        frame->release(op);
      else if (failed(frame->run(op)))
        return failure();
    }
  }
  std::vector<std::vector<Tensor>> results;
  for (Frame *frame : frames) {
    FailureOr<std::vector<Tensor>> own = leaveFunction(function, *frame);
    if (failed(own))
      return failure();
    results.push_back(std::move(*own));
  }
  return results;
}

namespace {

/// Adds up what a block keeps; sums and products saturate.
class MemoryEstimate {
public:
  int64_t run(func::FuncOp function) {
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return 0;
    // The caller's values, and the copies that are computed with.
    Block &block = function.getBody().front();
    uint64_t arguments = 0;
    for (BlockArgument argument : block.getArguments())
      arguments = llvm::SaturatingAdd(arguments, getBytes(argument, {}));
    return std::min<uint64_t>(llvm::SaturatingAdd(arguments, runBlock(block, {})),
                              std::numeric_limits<int64_t>::max());
  }

private:
  static uint64_t getBytes(Value value, ArrayRef<int64_t> domain) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    uint64_t bytes = 8;
    for (int64_t size : type ? type.getShape() : domain)
      bytes = llvm::SaturatingMultiply(bytes, uint64_t(std::max<int64_t>(size, 0)));
    return bytes;
  }

  /// The most bytes that the ops of `block` keep at once.
  uint64_t runBlock(Block &block, ArrayRef<int64_t> domain) {
    uint64_t live = 0, peak = 0;
    for (BlockArgument argument : block.getArguments())
      live = llvm::SaturatingAdd(live, getBytes(argument, domain));
    peak = live;
    DenseMap<Value, size_t> usesLeft;
    auto drop = [&](Value value) {
      // Below saturation the sum holds these bytes.
      live -= std::min(live, getBytes(value, domain));
    };
    for (Operation &op : block.without_terminator()) {
      uint64_t own = 0;
      for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getOperands()),
                                             SmallVector<Value>(op.getResults())))
        own = llvm::SaturatingAdd(own, getBytes(value, domain));
      for (Value result : op.getResults())
        live = llvm::SaturatingAdd(live, getBytes(result, domain));
      peak = std::max(peak, llvm::SaturatingAdd(live, std::max(own, runInside(op))));
      for (Value operand : op.getOperands()) {
        auto [it, isFirst] = usesLeft.try_emplace(
            operand, std::distance(operand.use_begin(), operand.use_end()));
        if (--it->second == 0)
          drop(operand);
      }
      for (Value result : op.getResults())
        if (result.use_empty())
          drop(result);
    }
    return peak;
  }

  uint64_t runInside(Operation &op) {
    if (auto kernel = dyn_cast<kernel::KernelOp>(op))
      return runBlock(kernel.getBody().front(), kernel.getDomain());
    if (isa<ScanOp, CheckpointOp>(op))
      return runBlock(op.getRegion(0).front(), {});
    auto call = dyn_cast<func::CallOp>(op);
    auto callee = call ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                             call, call.getCalleeAttr())
                       : func::FuncOp();
    // A function that calls itself ends in an error.
    if (!callee || !running.insert(callee).second)
      return 0;
    auto known = callees.find(callee);
    const uint64_t bytes = known != callees.end() ? known->second : run(callee);
    callees[callee] = bytes;
    running.erase(callee);
    return bytes;
  }

  llvm::DenseSet<Operation *> running;
  DenseMap<Operation *, uint64_t> callees;
};

} // namespace

int64_t mpt::reference::estimateMemory(func::FuncOp function) {
  return MemoryEstimate().run(function);
}

bool mpt::reference::isInterpreted(StringRef operationName) {
  return OpTable::get().lookup(operationName) != nullptr;
}
