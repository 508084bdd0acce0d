//===- LinalgOps.cpp - Matmuls, convolutions, attention -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto lhs = getTensor(adaptor.getLhs()), rhs = getTensor(adaptor.getRhs());
  int64_t rank = lhs.getRank(), rhsRank = rhs.getRank();
  if (rank < 2 || (rhsRank != rank && rhsRank != 2) || rhsRank < 2)
    return emitOptionalError(location,
                             "expected lhs of rank 2 or more and rhs of the "
                             "same rank or of rank 2, found ",
                             lhs, " and ", rhs);
  Shape shape(lhs.getShape().drop_back(2));
  if (rhsRank == rank) {
    ArrayRef<int64_t> batch = rhs.getShape().drop_back(2);
    if (!shapesAgree(shape, batch))
      return emitOptionalError(location, "expected equal batch dimensions, found ",
                               shapeToString(shape), " and ", shapeToString(batch));
    for (auto [size, other] : llvm::zip(shape, batch))
      if (ShapedType::isDynamic(size))
        size = other;
  }
  bool transposeLhs = adaptor.getTransposeLhs();
  bool transposeRhs = adaptor.getTransposeRhs();
  int64_t m = lhs.getDimSize(rank - (transposeLhs ? 1 : 2));
  int64_t k = lhs.getDimSize(rank - (transposeLhs ? 2 : 1));
  int64_t rhsK = rhs.getDimSize(rhsRank - (transposeRhs ? 1 : 2));
  int64_t n = rhs.getDimSize(rhsRank - (transposeRhs ? 2 : 1));
  if (!sizesAgree(k, rhsK))
    return emitOptionalError(location, "expected equal contracted sizes, found ", k,
                             " of lhs ", lhs, " and ", rhsK, " of rhs ", rhs);
  shape.push_back(m);
  shape.push_back(n);
  types.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

LogicalResult LinearOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = getTensor(adaptor.getX()), weight = getTensor(adaptor.getWeight());
  if (x.getRank() < 1 || weight.getRank() != 2)
    return emitOptionalError(location,
                             "expected x of rank 1 or more and weight "
                             "[in, out], found ",
                             x, " and ", weight);
  bool isTransposed = adaptor.getTransposeWeight();
  int64_t in = weight.getDimSize(isTransposed ? 1 : 0);
  if (!sizesAgree(x.getShape().back(), in))
    return emitOptionalError(location, "expected weight with ", x.getShape().back(),
                             isTransposed ? " columns" : " rows",
                             ", as x has columns, found ", in);
  Shape shape(x.getShape());
  shape.back() = weight.getDimSize(isTransposed ? 0 : 1);
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

/// The error for a window that getWindowedSize does not take.
static std::string describeMisfit(int64_t size, int64_t window, int64_t stride,
                                  int64_t low, int64_t high, int64_t dilation) {
  return llvm::formatv("expected a window and a stride of at least 1 that fit the "
                       "padded size, found size {0} with padding {1} and {2}, "
                       "window {3}, dilation {4}, stride {5}",
                       size, low, high, window, dilation, stride);
}

/// The sizes [KH, KW, C / groups, O] of a filter [KH, KW, C / groups, O] or, with `oihw`,
/// [O, C / groups, KH, KW].
static Shape getFilterSizes(ArrayRef<int64_t> filter, bool isOIHW) {
  if (isOIHW)
    return {filter[2], filter[3], filter[1], filter[0]};
  return Shape(filter);
}

LogicalResult Conv2DOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = getTensor(adaptor.getX()), filter = getTensor(adaptor.getFilter());
  if (x.getRank() != 4 || filter.getRank() != 4)
    return emitOptionalError(location, "expected x [N, H, W, C] and filter ",
                             adaptor.getOihw() ? "[O, C / groups, KH, KW]"
                                               : "[KH, KW, C / groups, O]",
                             ", found ", x, " and ", filter);
  const Shape sizes = getFilterSizes(filter.getShape(), adaptor.getOihw());
  ArrayRef<int64_t> strides = adaptor.getStrides(), padding = adaptor.getPadding(),
                    dilations = adaptor.getDilations();
  if (strides.size() != 2 || padding.size() != 4 || dilations.size() != 2)
    return emitOptionalError(location,
                             "expected 2 strides, 4 paddings and 2 "
                             "dilations, found ",
                             strides.size(), ", ", padding.size(), " and ",
                             dilations.size());
  Shape shape = {x.getDimSize(0)};
  for (int i = 0; i < 2; ++i) {
    FailureOr<int64_t> size =
        getWindowedSize(x.getDimSize(1 + i), sizes[i], strides[i], padding[2 * i],
                        padding[2 * i + 1], dilations[i]);
    if (failed(size))
      return emitOptionalError(
          location, describeMisfit(x.getDimSize(1 + i), sizes[i], strides[i],
                                   padding[2 * i], padding[2 * i + 1], dilations[i]));
    shape.push_back(*size);
  }
  shape.push_back(sizes[3]);
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto query = getTensor(adaptor.getQuery()), value = getTensor(adaptor.getValue());
  if (query.getRank() != 4 || value.getRank() != 4 ||
      getTensor(adaptor.getKey()).getRank() != 4)
    return emitOptionalError(location,
                             "expected query, key and value of rank 4 "
                             "[B, H, T, D], found ",
                             query, ", ", adaptor.getKey().getType(), " and ", value);
  Shape shape(query.getShape());
  Shape rows(shape.begin(), shape.end() - 1);
  shape.back() = value.getDimSize(3);
  types.push_back(RankedTensorType::get(shape, query.getElementType()));
  types.push_back(RankedTensorType::get(rows, getStatisticType(query.getElementType())));
  return success();
}

/// Only sums of two operands of 8 bits may be kept in fewer bits.
template <typename OpTy>
static LogicalResult checkFastAccumulation(OpTy op, Value lhs, Value rhs) {
  auto isEightBit = [](Value operand) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(operand));
  };
  if (!op.getFastAccumulation() || (isEightBit(lhs) && isEightBit(rhs)))
    return success();
  return op.emitOpError("expected operands of 8 bits with 'fast_accumulation', found ")
         << lhs.getType() << " and " << rhs.getType();
}

LogicalResult MatmulOp::verify() {
  if (failed(checkFastAccumulation(*this, getLhs(), getRhs())))
    return failure();
  return checkAccType(*this, getAccType(), getLhs());
}

LogicalResult LinearOp::verify() {
  if (failed(checkRank(*this, getWeight(), "weight", 2)))
    return failure();
  bool isTransposed = getTransposeWeight();
  int64_t out = getTensor(getWeight()).getDimSize(isTransposed ? 0 : 1);
  if (getBias() &&
      failed(checkSameShape(*this, getBias(), "bias", {out},
                            isTransposed ? "the weight's rows" : "the weight's columns")))
    return failure();
  if (failed(checkFastAccumulation(*this, getX(), getWeight())))
    return failure();
  return checkAccType(*this, getAccType(), getX());
}

/// Checks what the convolution and its gradients have in common.
template <typename OpTy>
static LogicalResult verifyConv(OpTy op, Value inputTensor, Value filterTensor,
                                Value outputTensor) {
  ArrayRef<int64_t> input = getTensor(inputTensor).getShape(),
                    output = getTensor(outputTensor).getShape(),
                    strides = op.getStrides(), padding = op.getPadding(),
                    dilations = op.getDilations();
  const Shape filter = getFilterSizes(getTensor(filterTensor).getShape(), op.getOihw());
  const auto groups = static_cast<int64_t>(op.getGroups());
  if (failed(checkCount(op, strides, "strides", 2)) ||
      failed(checkCount(op, padding, "padding", 4)) ||
      failed(checkCount(op, dilations, "dilations", 2)) ||
      failed(checkAtLeast(op, strides, "strides", 1)) ||
      failed(checkAtLeast(op, padding, "padding", 0)) ||
      failed(checkAtLeast(op, dilations, "dilations", 1)) ||
      failed(checkAtLeast(op, groups, "groups", 1)))
    return failure();
  int64_t channels = input[3], outputs = filter[3];
  if (!ShapedType::isDynamic(channels) && !ShapedType::isDynamic(filter[2]) &&
      (channels % groups != 0 || channels / groups != filter[2]))
    return op->emitOpError("expected a filter over ")
           << channels << " channels in " << groups << " groups, found " << filter[2]
           << " channels a group";
  if (!ShapedType::isDynamic(outputs) && outputs % groups != 0)
    return op->emitOpError("expected output channels divisible by the ")
           << groups << " groups, found " << outputs;
  if (!sizesAgree(output[3], outputs) || !sizesAgree(output[0], input[0]))
    return op->emitOpError("expected an output of the shape ")
           << shapeToString({input[0], output[1], output[2], outputs}) << ", found "
           << shapeToString(output);
  for (int i = 0; i < 2; ++i) {
    FailureOr<int64_t> size =
        getWindowedSize(input[1 + i], filter[i], strides[i], padding[2 * i],
                        padding[2 * i + 1], dilations[i]);
    if (failed(size))
      return op->emitOpError(describeMisfit(input[1 + i], filter[i], strides[i],
                                            padding[2 * i], padding[2 * i + 1],
                                            dilations[i]));
    if (!sizesAgree(*size, output[1 + i]))
      return op->emitOpError("expected output size ")
             << *size << " along dimension " << 1 + i << ", found " << output[1 + i];
  }
  return success();
}

LogicalResult Conv2DOp::verify() {
  if (failed(checkRank(*this, getX(), "x", 4)) ||
      failed(checkRank(*this, getFilter(), "filter", 4)) ||
      failed(checkRank(*this, getResult(), "result", 4)) ||
      failed(verifyConv(*this, getX(), getFilter(), getResult())))
    return failure();
  const int64_t outputs = getTensor(getFilter()).getDimSize(getOihw() ? 0 : 3);
  if (getBias() && failed(checkSameShape(*this, getBias(), "bias", {outputs},
                                         "the filter's output channels")))
    return failure();
  return checkAccType(*this, getAccType(), getX());
}

LogicalResult Conv2DInputGradOp::verify() {
  if (failed(checkRank(*this, getDy(), "dy", 4)) ||
      failed(checkRank(*this, getFilter(), "filter", 4)) ||
      failed(checkRank(*this, getResult(), "result", 4)) ||
      failed(checkAccType(*this, getAccType(), getDy())))
    return failure();
  return verifyConv(*this, getResult(), getFilter(), getDy());
}

LogicalResult Conv2DFilterGradOp::verify() {
  if (failed(checkRank(*this, getX(), "x", 4)) ||
      failed(checkRank(*this, getDy(), "dy", 4)) ||
      failed(checkRank(*this, getResult(), "result", 4)) ||
      failed(checkAccType(*this, getAccType(), getX())))
    return failure();
  return verifyConv(*this, getX(), getResult(), getDy());
}

/// What `mpt.attention` and its gradient have in common.
template <typename OpTy>
static LogicalResult verifyAttention(OpTy op) {
  if (failed(checkRank(op, op.getQuery(), "query", 4)) ||
      failed(checkRank(op, op.getKey(), "key", 4)) ||
      failed(checkRank(op, op.getValue(), "value", 4)))
    return failure();
  ArrayRef<int64_t> q = getTensor(op.getQuery()).getShape();
  ArrayRef<int64_t> v = getTensor(op.getValue()).getShape();
  // The heads of keys and values are those of the values, if these divide the query's.
  int64_t heads = q[1], groups = v[1];
  if (!sizesAgree(heads, groups) && (groups == 0 || heads % groups != 0))
    return op.emitOpError("expected a number of heads of keys and values that divides "
                          "the query's ")
           << heads << ", found " << groups;
  if (failed(checkSameShape(op, op.getKey(), "key", {q[0], groups, v[2], q[3]},
                            "[B, G, S, D]")) ||
      failed(checkSameShape(op, op.getValue(), "value", {q[0], groups, v[2], v[3]},
                            "[B, G, S, E]")))
    return failure();
  if (op.getCausal() && !ShapedType::isDynamic(q[2]) && !ShapedType::isDynamic(v[2]) &&
      v[2] < q[2])
    return op.emitOpError("expected at least as many keys as queries with "
                          "'causal', found ")
           << v[2] << " and " << q[2];
  auto checkScores = [&](Value tensor, StringRef name) -> LogicalResult {
    if (!tensor)
      return success();
    Shape scores = {q[0], q[1], q[2], v[2]};
    ArrayRef<int64_t> sizes = getTensor(tensor).getShape();
    auto isRepeated = [](auto pair) {
      auto [size, wanted] = pair;
      return size == 1 || sizesAgree(size, wanted);
    };
    if (sizes.size() != 4 || !llvm::all_of(llvm::zip(sizes, scores), isRepeated))
      return op.emitOpError("expected ")
             << name << " [B, H, T, S] of sizes 1 or those of " << shapeToString(scores)
             << ", found " << tensor.getType();
    return success();
  };
  if (failed(checkScores(op.getMask(), "mask")) ||
      failed(checkScores(op.getBias(), "bias")))
    return failure();
  bool isRandom = op.getDropout().has_value();
  if (isRandom != static_cast<bool>(op.getSeed()) ||
      isRandom != static_cast<bool>(op.getAttempt()) ||
      isRandom != op.getStream().has_value())
    return op.emitOpError("expected rng(seed, attempt), 'dropout' and 'stream' "
                          "together, found some of them alone");
  if (isRandom && failed(checkInRange(op, *op.getDropout(), "dropout", 0.0, 1.0)))
    return failure();
  return checkAccType(op, op.getAccType(), op.getQuery());
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  Shape shape(getTensor(getQuery()).getShape());
  Shape rows(shape.begin(), shape.end() - 1);
  shape.back() = getTensor(getValue()).getDimSize(3);
  if (failed(checkSameShape(*this, getDy(), "dy", shape, "the result")) ||
      failed(checkSameShape(*this, (*this).getResult(), "result", shape, "[B, H, T, E]")))
    return failure();
  return checkSameShape(*this, getLogSumExp(), "log_sum_exp", rows, "[B, H, T]");
}

LogicalResult LSTMCellOp::inferReturnTypes(MLIRContext *context,
                                           std::optional<Location> location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto x = getTensor(adaptor.getX()), h = getTensor(adaptor.getH());
  auto weight = getTensor(adaptor.getWeightIh());
  if (x.getRank() != 2 || h.getRank() != 2 || weight.getRank() != 2)
    return emitOptionalError(location,
                             "expected x [B, I], h [B, H] and weight_ih "
                             "[I, 4H], found ",
                             x, ", ", h, " and ", weight);
  int64_t rows =
      ShapedType::isDynamic(h.getDimSize(0)) ? x.getDimSize(0) : h.getDimSize(0);
  types.push_back(x.clone({rows, h.getDimSize(1)}));
  types.push_back(getTensor(adaptor.getC()).clone({rows, h.getDimSize(1)}));
  types.push_back(
      x.clone({rows, weight.getDimSize(adaptor.getTransposeWeights() ? 0 : 1)}));
  return success();
}

LogicalResult LSTMCellOp::verify() {
  if (failed(checkRank(*this, getX(), "x", 2)) ||
      failed(checkRank(*this, getH(), "h", 2)))
    return failure();
  int64_t rows = getTensor(getX()).getDimSize(0), in = getTensor(getX()).getDimSize(1);
  int64_t size = getTensor(getH()).getDimSize(1);
  std::optional<int64_t> columns = ShapedType::isDynamic(size)
                                       ? ShapedType::kDynamic
                                       : llvm::checkedMul<int64_t>(size, 4);
  if (!columns)
    return emitOpError("expected four times h's columns to be below 2^63, found ")
           << getH().getType();
  auto checkWeight = [&](Value weight, StringRef name, int64_t inputs, StringRef plain,
                         StringRef transposed) {
    return getTransposeWeights()
               ? checkSameShape(*this, weight, name, {*columns, inputs}, transposed)
               : checkSameShape(*this, weight, name, {inputs, *columns}, plain);
  };
  if (failed(checkSameShape(*this, getH(), "h", {rows, size}, "[B, H]")) ||
      failed(checkSameShape(*this, getC(), "c", {rows, size}, "[B, H]")) ||
      failed(checkWeight(getWeightIh(), "weight_ih", in, "[I, 4H]", "[4H, I]")) ||
      failed(checkWeight(getWeightHh(), "weight_hh", size, "[H, 4H]", "[4H, H]")))
    return failure();
  if (getBias() && failed(checkSameShape(*this, getBias(), "bias", {*columns}, "[4H]")))
    return failure();
  return checkAccType(*this, getAccType(), getX());
}
