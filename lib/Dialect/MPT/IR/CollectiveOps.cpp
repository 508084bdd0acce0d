//===- CollectiveOps.cpp - Exchanges between ranks --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"
#include "TypeInference.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

bool mpt::isCollective(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp, AllGatherOp, AllToAllOp, BroadcastFromOp>(op);
}

MeshAttr mpt::getMesh(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<MeshAttr>(kMeshAttr) : MeshAttr();
}

std::optional<int64_t> mpt::getNumRanks(Operation *op, StringRef axis) {
  MeshAttr mesh = getMesh(op);
  return mesh ? mesh.getSize(axis) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// The number of ranks along `axis`, or failure after an error.
static FailureOr<int64_t> findAxis(Operation *op, StringRef axis) {
  MeshAttr mesh = getMesh(op);
  if (!mesh)
    return op->emitOpError("expected a module with the attribute 'mpt.mesh', which says "
                           "how many ranks there are along the axis '")
           << axis << "', such as mpt.mesh = #mpt.mesh<" << axis << " = 4>; found none";
  if (std::optional<int64_t> size = mesh.getSize(axis))
    return *size;
  return op->emitOpError("expected an axis of ") << mesh << ", found '" << axis << "'";
}

/// Checks that there is a result for each of one or more operands.
static LogicalResult checkPairs(Operation *op) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("expected one or more operands, found none");
  if (op->getNumResults() == op->getNumOperands())
    return success();
  return op->emitOpError("expected a result for each of the ")
         << op->getNumOperands() << " operands, found " << op->getNumResults();
}

/// Checks that result `i` has the type of its operand, with the operand's dimension 0
/// times `factor` divided by `divisor`, or, if `mayConvert`, another float type.
static LogicalResult checkResult(Operation *op, unsigned i, int64_t factor,
                                 int64_t divisor, bool mayConvert) {
  auto operand = getTensor(op->getOperand(i)), result = getTensor(op->getResult(i));
  const bool isCut = factor != 1 || divisor != 1;
  Shape shape(operand.getShape());
  if (isCut) {
    if (shape.empty())
      return op->emitOpError("expected operands with a dimension 0, found ") << operand;
    int64_t &rows = shape.front();
    if (!ShapedType::isDynamic(rows)) {
      if (rows % divisor != 0)
        return op->emitOpError("expected dimension 0 to be a multiple of the ")
               << divisor << " ranks along the axis, found " << operand;
      if (llvm::MulOverflow(rows / divisor, factor, rows))
        return op->emitOpError("expected at most 2^63 - 1 rows, found ")
               << operand << " on each of " << factor << " ranks";
    }
  }
  const Type from = operand.getElementType(), to = result.getElementType();
  const bool isConverted = mayConvert && isa<FloatType>(from) && isa<FloatType>(to);
  if (shapesAgree(shape, result.getShape()) && (from == to || isConverted))
    return success();
  return op->emitOpError("expected result ")
         << i << " of the shape " << shapeToString(shape) << " and "
         << (mayConvert && isa<FloatType>(from) ? "a float type"
                                                : "the operand's element type")
         << ", found " << result << " for " << operand;
}

/// Of results that may be of the same type as the operands at `axis` of size 1, too.
static LogicalResult checkResults(Operation *op, int64_t factor, int64_t divisor,
                                  bool mayConvert) {
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    // One rank cuts and joins nothing, but it, too, needs a dimension 0.
    if (getTensor(op->getOperand(i)).getRank() == 0 &&
        isa<ReduceScatterOp, AllGatherOp, AllToAllOp>(op))
      return op->emitOpError("expected operands with a dimension 0, found ")
             << op->getOperand(i).getType();
    if (failed(checkResult(op, i, factor, divisor, mayConvert)))
      return failure();
  }
  return success();
}

static LogicalResult checkWire(Operation *op, std::optional<Type> wire) {
  if (!wire)
    return success();
  if (!wire->isF32() && !wire->isBF16() && !wire->isF16())
    return op->emitOpError("expected 'wire' to be f32, bf16 or f16, found ") << *wire;
  for (Value input : op->getOperands())
    if (!isa<FloatType>(getTensor(input).getElementType()))
      return op->emitOpError("expected floats with 'wire', found ") << input.getType();
  return success();
}

/// Checks that operands of `element`'s kind can be combined by `kind`.
static LogicalResult checkKind(Operation *op, CollectiveKind kind) {
  for (Value input : op->getOperands()) {
    const Type element = getTensor(input).getElementType();
    const bool isFlag = element.isInteger(1);
    if (isFlag != (kind == CollectiveKind::Any))
      return op->emitOpError("expected the kind any for i1 and for nothing else, found ")
             << stringifyCollectiveKind(kind) << " of " << input.getType();
    if (kind == CollectiveKind::Mean && !isa<FloatType>(element))
      return op->emitOpError("expected floats for the kind mean, found ")
             << input.getType() << "; use the kind sum";
  }
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(findAxis(*this, getAxis())) || failed(checkPairs(*this)) ||
      failed(checkKind(*this, getKind())) || failed(checkWire(*this, getWire())))
    return failure();
  return checkResults(*this, 1, 1, /*mayConvert=*/true);
}

LogicalResult ReduceScatterOp::verify() {
  FailureOr<int64_t> ranks = findAxis(*this, getAxis());
  if (failed(ranks) || failed(checkPairs(*this)) || failed(checkWire(*this, getWire())))
    return failure();
  if (getKind() != CollectiveKind::Sum && getKind() != CollectiveKind::Mean)
    return emitOpError("expected the kind sum or mean, found ")
           << stringifyCollectiveKind(getKind())
           << "; use mpt.all_reduce and take a slice";
  return checkResults(*this, 1, *ranks, /*mayConvert=*/true);
}

LogicalResult AllGatherOp::verify() {
  FailureOr<int64_t> ranks = findAxis(*this, getAxis());
  if (failed(ranks) || failed(checkPairs(*this)))
    return failure();
  return checkResults(*this, *ranks, 1, /*mayConvert=*/false);
}

LogicalResult AllToAllOp::verify() {
  FailureOr<int64_t> ranks = findAxis(*this, getAxis());
  if (failed(ranks) || failed(checkPairs(*this)))
    return failure();
  return checkResults(*this, *ranks, *ranks, /*mayConvert=*/false);
}

LogicalResult BroadcastFromOp::verify() {
  FailureOr<int64_t> ranks = findAxis(*this, getAxis());
  if (failed(ranks) || failed(checkPairs(*this)))
    return failure();
  const int64_t root = static_cast<int64_t>(getRoot());
  if (root < 0 || root >= *ranks)
    return emitOpError("expected 'root' in [0, ")
           << *ranks << "), the ranks along the axis, found " << root;
  return checkResults(*this, 1, 1, /*mayConvert=*/false);
}

LogicalResult RankOp::verify() { return findAxis(*this, getAxis()); }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Hands the gradients that are there and needed, of which there may be none, to
/// `exchange`, and gives operands what that returns.
static void exchangeGradients(
    ValueRange resultGrads, ArrayRef<bool> needed, MutableArrayRef<Value> operandGrads,
    llvm::function_ref<Operation *(ValueRange, ArrayRef<unsigned>)> exchange) {
  SmallVector<Value> gradients;
  SmallVector<unsigned> numbers;
  for (auto [i, gradient] : llvm::enumerate(resultGrads))
    if (gradient && needed[i]) {
      gradients.push_back(gradient);
      numbers.push_back(i);
    }
  if (gradients.empty())
    return;
  Operation *op = exchange(gradients, numbers);
  for (auto [number, result] : llvm::zip_equal(numbers, op->getResults()))
    operandGrads[number] = result;
}

/// The types of the operands `numbers` of `op`.
static SmallVector<Type> typesOf(Operation *op, ArrayRef<unsigned> numbers) {
  return llvm::map_to_vector(
      numbers, [&](unsigned i) -> Type { return op->getOperand(i).getType(); });
}

LogicalResult AllReduceOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                          ArrayRef<bool> needed,
                                          MutableArrayRef<Value> operandGrads) {
  if (getKind() != CollectiveKind::Sum && getKind() != CollectiveKind::Mean)
    return emitOpError("of the kind ")
           << stringifyCollectiveKind(getKind())
           << " has no gradient; use the kind sum or mean, or mpt.stop_gradient";
  exchangeGradients(resultGrads, needed, operandGrads,
                    [&](ValueRange gradients, ArrayRef<unsigned> numbers) {
                      return AllReduceOp::create(
                          builder, getLoc(), typesOf(*this, numbers), gradients,
                          getAxisAttr(), getKindAttr(), getOrderAttr(), getWireAttr());
                    });
  return success();
}

LogicalResult ReduceScatterOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                              ArrayRef<bool> needed,
                                              MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  exchangeGradients(
      resultGrads, needed, operandGrads,
      [&](ValueRange gradients, ArrayRef<unsigned> numbers) {
        SmallVector<Type> types;
        for (auto [gradient, number] : llvm::zip_equal(gradients, numbers))
          types.push_back(
              getTensor(getOperand(number)).clone(getTensor(gradient).getElementType()));
        return AllGatherOp::create(builder, getLoc(), types, gradients, getAxisAttr());
      });
  const std::optional<int64_t> ranks = getNumRanks(*this, getAxis());
  for (auto [gradient, input] : llvm::zip_equal(operandGrads, getInputs())) {
    if (!gradient)
      continue;
    if (getKind() == CollectiveKind::Mean)
      gradient = b.make<DivOp>(gradient, b.scalar(gradient, double(ranks.value_or(1))));
    gradient = b.cast(gradient, getTensor(input));
  }
  return success();
}

LogicalResult AllGatherOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                          ArrayRef<bool> needed,
                                          MutableArrayRef<Value> operandGrads) {
  exchangeGradients(
      resultGrads, needed, operandGrads,
      [&](ValueRange gradients, ArrayRef<unsigned> numbers) {
        return ReduceScatterOp::create(
            builder, getLoc(), typesOf(*this, numbers), gradients, getAxisAttr(),
            CollectiveKindAttr::get(getContext(), CollectiveKind::Sum),
            CollectiveOrderAttr::get(getContext(), CollectiveOrder::Rank), TypeAttr());
      });
  return success();
}

LogicalResult AllToAllOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  exchangeGradients(resultGrads, needed, operandGrads,
                    [&](ValueRange gradients, ArrayRef<unsigned>) {
                      return AllToAllOp::create(builder, getLoc(), gradients.getTypes(),
                                                gradients, getAxisAttr());
                    });
  return success();
}

LogicalResult BroadcastFromOp::buildGradients(OpBuilder &builder, ValueRange resultGrads,
                                              ArrayRef<bool> needed,
                                              MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  exchangeGradients(
      resultGrads, needed, operandGrads,
      [&](ValueRange gradients, ArrayRef<unsigned> numbers) {
        return AllReduceOp::create(
            builder, getLoc(), typesOf(*this, numbers), gradients, getAxisAttr(),
            CollectiveKindAttr::get(getContext(), CollectiveKind::Sum),
            CollectiveOrderAttr::get(getContext(), CollectiveOrder::Rank), TypeAttr());
      });
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  Value isRoot;
  for (Value &gradient : operandGrads) {
    if (!gradient)
      continue;
    if (!isRoot)
      isRoot =
          b.compare(RankOp::create(builder, getLoc(), scalar, getAxisAttr()),
                    ConstantOp::create(builder, getLoc(), scalar,
                                       DenseElementsAttr::get(scalar, getRootAttr())),
                    ComparePredicate::EQ);
    Value zero = b.cast(b.scalar(gradient, 0.0),
                        RankedTensorType::get({}, getTensor(gradient).getElementType()));
    gradient = b.where(isRoot, gradient, zero);
  }
  return success();
}
