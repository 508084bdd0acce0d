//===- TrainingOps.cpp - Gradients, loss scale, optimizers, structure -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult GradientsOp::verify() {
  if (getNames().size() != getInputs().size())
    return emitOpError("expected a name for each of the ")
           << getInputs().size() << " gradients, found " << getNames().size();
  llvm::StringSet<> seen;
  for (Attribute name : getNames())
    if (!seen.insert(cast<StringAttr>(name).getValue()).second)
      return emitOpError("expected distinct names, found ") << name << " twice";
  return success();
}

LogicalResult GradSeedOp::verify() { return checkScalar(*this, getSeed(), "seed"); }

LogicalResult ScaleLossOp::verify() { return checkScalar(*this, getScale(), "scale"); }

LogicalResult UnscaleOp::verify() {
  for (Value gradient : getUnscaled())
    if (getTensor(gradient).getElementType().getIntOrFloatBitWidth() < 32)
      return emitOpError("expected unscaled gradients in f32 or f64, found ")
             << gradient.getType()
             << ": a gradient that the loss scale kept from underflow would "
                "underflow here";
  return checkScalar(*this, getScale(), "scale");
}

LogicalResult UpdateLossScaleOp::verify() {
  if (failed(checkScalar(*this, getScale(), "scale")))
    return failure();
  double growth = getGrowthFactor().convertToDouble();
  double backoff = getBackoffFactor().convertToDouble();
  if (!(growth > 1.0 && getGrowthFactor().isFinite()))
    return emitOpError("expected a finite 'growth_factor' above 1, found ")
           << numberToString(growth);
  if (!(backoff > 0.0 && backoff < 1.0))
    return emitOpError("expected 'backoff_factor' in (0, 1), found ")
           << numberToString(backoff);
  return checkAtLeast(*this, static_cast<int64_t>(getGrowthInterval()), "growth_interval",
                      1);
}

LogicalResult ClipByGlobalNormOp::verify() {
  if (getMaxNorm().convertToDouble() > 0.0)
    return success();
  return emitOpError("expected 'max_norm' above 0, found ")
         << numberToString(getMaxNorm().convertToDouble());
}

LogicalResult SelectStateOp::verify() {
  Type type = getOld().getType();
  if (getUpdated().getType() == type && getResult().getType() == type)
    return success();
  return emitOpError("expected updated state, old state and result of one type, "
                     "found ")
         << getUpdated().getType() << ", " << type << " and " << getResult().getType();
}

/// Checks that what an optimizer reads has the parameter's shape.
static LogicalResult verifyOptimizer(Operation *op, Value param, Value lr,
                                     ArrayRef<std::pair<Value, StringRef>> values,
                                     llvm::APFloat weightDecay) {
  for (auto [value, name] : values)
    if (failed(checkSameShape(op, value, name, getTensor(param).getShape(),
                              "the parameter")))
      return failure();
  if (failed(checkScalar(op, lr, "lr")))
    return failure();
  return checkNotNegative(op, weightDecay, "weight_decay");
}

LogicalResult SGDOp::verify() {
  SmallVector<std::pair<Value, StringRef>> values = {{getGradient(), "gradient"}};
  if (getMomentumBuffer())
    values.push_back({getMomentumBuffer(), "momentum buffer"});
  if (!getMomentumBuffer() && !getMomentum().isZero())
    return emitOpError("expected a momentum buffer with 'momentum' ")
           << numberToString(getMomentum().convertToDouble()) << ", found none";
  // As torch.optim.SGD.
  if (getNesterov() && (getMomentum().isZero() || !getDampening().isZero()))
    return emitOpError("expected 'momentum' above 0 and 'dampening' 0 with "
                       "'nesterov', found ")
           << numberToString(getMomentum().convertToDouble()) << " and "
           << numberToString(getDampening().convertToDouble());
  if (failed(checkNotNegative(*this, getMomentum(), "momentum")) ||
      failed(checkInRange(*this, getDampening(), "dampening", 0.0, 1.0,
                          /*closed=*/true)))
    return failure();
  return verifyOptimizer(*this, getParam(), getLr(), values, getWeightDecay());
}

template <typename Adam>
static LogicalResult verifyAdam(Adam op) {
  if (failed(checkInRange(op, op.getBeta1(), "beta1", 0.0, 1.0)) ||
      failed(checkInRange(op, op.getBeta2(), "beta2", 0.0, 1.0)) ||
      failed(checkNotNegative(op, op.getEps(), "eps")))
    return failure();
  return verifyOptimizer(op, op.getParam(), op.getLr(),
                         {{op.getGradient(), "gradient"},
                          {op.getExpAvg(), "exp_avg"},
                          {op.getExpAvgSq(), "exp_avg_sq"}},
                         op.getWeightDecay());
}
LogicalResult AdamOp::verify() { return verifyAdam(*this); }
LogicalResult AdamWOp::verify() { return verifyAdam(*this); }

//===----------------------------------------------------------------------===//
// Accumulation, and parameters stored in 16 bits
//===----------------------------------------------------------------------===//

LogicalResult AccumulateOp::verify() {
  if (failed(checkSameShape(*this, getGradient(), "gradient",
                            getTensor(getSum()).getShape(), "the sum")))
    return failure();
  return checkAtLeast(*this, static_cast<int64_t>(getDivisor()), "divisor", 1);
}

LogicalResult JoinHalvesOp::verify() {
  return checkSameShape(*this, getLow(), "low half", getTensor(getHigh()).getShape(),
                        "the high half");
}

LogicalResult AddCompensationOp::verify() {
  return checkSameShape(*this, getCompensation(), "compensation",
                        getTensor(getParam()).getShape(), "the parameter");
}

LogicalResult StochasticRoundOp::verify() {
  return checkSameShape(*this, getBits(), "bits", getTensor(getX()).getShape(),
                        "the numbers");
}

//===----------------------------------------------------------------------===//
// State in 8 bits
//===----------------------------------------------------------------------===//

LogicalResult DynamicCodeOp::verify() {
  if (!getOffset())
    return success();
  return checkSameShape(*this, getOffset(), "offset", getTensor(getX()).getShape(), "x");
}

/// The shape of the largest magnitudes of blocks of `x`.
static int64_t countBlocks(RankedTensorType x, int64_t blockSize) {
  std::optional<int64_t> count = countElements(x.getShape());
  return count && blockSize > 0 ? llvm::divideCeil(*count, blockSize)
                                : ShapedType::kDynamic;
}

static LogicalResult verifyBlocks(Operation *op, Value elements, Value absmax,
                                  int64_t blockSize) {
  if (failed(checkAtLeast(op, blockSize, "block_size", 1)))
    return failure();
  const int64_t expected = countBlocks(getTensor(elements), blockSize);
  if (shapesAgree({expected}, getTensor(absmax).getShape()))
    return success();
  return op->emitOpError("expected absmax to have one number for each block of ")
         << blockSize << " elements of " << elements.getType() << ", "
         << shapeToString({expected}) << ", found " << absmax.getType();
}

LogicalResult QuantizeBlockwiseOp::inferReturnTypes(MLIRContext *context,
                                                    std::optional<Location>,
                                                    Adaptor adaptor,
                                                    SmallVectorImpl<Type> &types) {
  auto x = getTensor(adaptor.getX());
  types.push_back(x.clone(IntegerType::get(context, 8)));
  types.push_back(RankedTensorType::get({countBlocks(x, adaptor.getBlockSize())},
                                        Float32Type::get(context)));
  return success();
}

LogicalResult QuantizeBlockwiseOp::verify() {
  if (getBits() &&
      failed(checkSameShape(*this, getBits(), "bits", getTensor(getX()).getShape(), "x")))
    return failure();
  return verifyBlocks(*this, getX(), getAbsmax(), getBlockSize());
}

LogicalResult DequantizeBlockwiseOp::verify() {
  return verifyBlocks(*this, getCodes(), getAbsmax(), getBlockSize());
}

/// `value` if it has the type of `result`.
static OpFoldResult ofType(Value value, Value result) {
  return value.getType() == result.getType() ? OpFoldResult(value) : OpFoldResult();
}

OpFoldResult JoinHalvesOp::fold(FoldAdaptor) {
  auto high = getHigh().getDefiningOp<HighHalfOp>();
  auto low = getLow().getDefiningOp<LowHalfOp>();
  return high && low && high.getX() == low.getX() ? ofType(high.getX(), getX())
                                                  : OpFoldResult();
}

OpFoldResult HighHalfOp::fold(FoldAdaptor) {
  auto joined = getX().getDefiningOp<JoinHalvesOp>();
  return joined ? ofType(joined.getHigh(), getHigh()) : OpFoldResult();
}

OpFoldResult LowHalfOp::fold(FoldAdaptor) {
  auto joined = getX().getDefiningOp<JoinHalvesOp>();
  return joined ? ofType(joined.getLow(), getLow()) : OpFoldResult();
}

void YieldOp::build(OpBuilder &, OperationState &) {}

LogicalResult CheckpointOp::verify() {
  if (getBody().getNumArguments() != 0)
    return emitOpError("expected a body without arguments, found ")
           << getBody().getNumArguments() << "; values from above can be used";
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (yield && yield.getValues().getTypes() == getOutputs().getTypes())
    return success();
  return emitOpError("expected mpt.yield of the results' types ")
         << getOutputs().getTypes() << ", found values of "
         << (yield ? TypeRange(yield.getValues().getTypes()) : TypeRange());
}

YieldOp ScanOp::getYield() { return dyn_cast<YieldOp>(getBlock().getTerminator()); }

/// `type` without dimension 0.
static Type getSliceType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(tensor.getShape().drop_front());
}

LogicalResult ScanOp::verify() {
  const int64_t count = getTripCount();
  if (getConditional()) {
    auto first = getInits().empty()
                     ? RankedTensorType()
                     : dyn_cast<RankedTensorType>(getInits().front().getType());
    if (!first || first.getRank() != 0 || !first.getElementType().isInteger(1))
      return emitOpError("expected the first carried value of a conditional scan to be a "
                         "tensor<i1>, found ")
             << (getInits().empty() ? Type(NoneType::get(getContext()))
                                    : getInits().front().getType());
    if (!getInputs().empty() || getNumResults() != getNumCarried() || getReverse() ||
        getCheckpointEvery())
      return emitOpError("expected a conditional scan without inputs, stacked results, "
                         "'reverse' and 'checkpoint_every'");
  }
  auto checkStacked = [&](StringRef what, unsigned number, Type type) -> LogicalResult {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() > 0 && tensor.getDimSize(0) == count)
      return success();
    return emitOpError("expected ")
           << count << " slices along dimension 0 of " << what << " " << number
           << ", found " << type << "; its size there is the trip count";
  };
  for (auto [i, type] : llvm::enumerate(getInputs().getTypes()))
    if (failed(checkStacked("input", i, type)))
      return failure();
  if (std::optional<uint64_t> every = getCheckpointEvery();
      every && count % static_cast<int64_t>(*every) != 0)
    return emitOpError("expected 'checkpoint_every' to divide the trip count ")
           << count << ", found " << *every;

  SmallVector<Type> arguments(getInits().getTypes());
  for (Type type : getInputs().getTypes())
    arguments.push_back(getSliceType(type));
  if (getBlock().getArgumentTypes() != TypeRange(arguments))
    return emitOpError("expected a body with arguments of the carried types, then of one "
                       "slice of each input: ")
           << arguments << "; found " << getBlock().getArgumentTypes();

  const unsigned carried = getNumCarried();
  YieldOp yield = getYield();
  const unsigned yielded = yield ? yield.getValues().size() : 0;
  if (yielded < carried || yielded != getNumResults())
    return emitOpError("expected mpt.yield of ")
           << carried << " carried values and one slice of each further result, "
           << getNumResults() << " in all, found " << yielded;
  for (unsigned i = 0; i < yielded; ++i) {
    const Type value = yield.getValues()[i].getType(), result = getResult(i).getType();
    if (i < carried) {
      if (value != arguments[i] || result != arguments[i])
        return emitOpError("expected carried value ")
               << i << " to keep its type " << arguments[i] << ", found " << value
               << " yielded and a result of " << result;
      continue;
    }
    if (failed(checkStacked("result", i, result)))
      return failure();
    if (getSliceType(result) != value)
      return emitOpError("expected mpt.yield of a slice of result ")
             << i << ", " << getSliceType(result) << ", found " << value;
  }
  return success();
}
