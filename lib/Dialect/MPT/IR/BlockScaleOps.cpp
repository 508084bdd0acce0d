//===- BlockScaleOps.cpp - 8-bit floats scaled by blocks -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Each segment of a matmul is a matmul of its own.
static constexpr int64_t mostSegments = 4096;

/// "[1, 128]" for messages.
static std::string describeBlock(ArrayRef<int64_t> block) {
  return "[" +
         llvm::join(llvm::map_range(block, [](int64_t n) { return std::to_string(n); }),
                    ", ") +
         "]";
}

/// The shape of the scales of a tensor of `shape`, or an error.
static FailureOr<Shape> inferScales(std::optional<Location> location,
                                    RankedTensorType tensor, StringRef name,
                                    ArrayRef<int64_t> block, StringRef blockName) {
  if (block.size() != 2 || block[0] < 1 || block[1] < 1) {
    (void)emitOptionalError(location, "expected ", blockName,
                            " to have the rows and columns of a block, each at least 1, "
                            "found ",
                            describeBlock(block));
    return failure();
  }
  if (tensor.getRank() < 2) {
    (void)emitOptionalError(location, "expected ", name,
                            " of rank 2 or more, whose last two dimensions blocks cut, "
                            "found ",
                            tensor, "; reshape it first");
    return failure();
  }
  Shape shape(tensor.getShape());
  for (auto [size, length] :
       llvm::zip_equal(MutableArrayRef<int64_t>(shape).take_back(2), block))
    if (!ShapedType::isDynamic(size))
      size = llvm::divideCeil(size, length);
  return shape;
}

/// Checks that `scales` has one scale for each block of `tensor`.
static LogicalResult checkScales(Operation *op, Value tensor, StringRef name,
                                 Value scales, StringRef scalesName,
                                 ArrayRef<int64_t> block, StringRef blockName) {
  FailureOr<Shape> shape =
      inferScales(op->getLoc(), getTensor(tensor), name, block, blockName);
  if (failed(shape))
    return failure();
  if (shapesAgree(*shape, getTensor(scales).getShape()))
    return success();
  return op->emitOpError("expected ")
         << scalesName << " of shape " << shapeToString(*shape)
         << ", one for each block of " << describeBlock(block) << " of "
         << tensor.getType() << ", found " << scales.getType();
}

/// Checks that scales of type `type` can hold what `rule` makes.
static LogicalResult checkRule(Operation *op, ScaleRule rule, Type type) {
  if (rule != ScaleRule::Largest && isa<Float8E4M3FNType>(type))
    return op->emitOpError("expected the rule 'largest' with scales of ")
           << type << ", found '" << stringifyScaleRule(rule)
           << "'; use scales of f8E8M0FNU or f32";
  if (rule != ScaleRule::Largest || !isa<Float8E8M0FNUType>(type))
    return success();
  return op->emitOpError("expected scales of f32 with the rule 'largest', found ")
         << type << ", which holds powers of two alone; use the rule 'power_of_two' or "
         << "'ocp_mx'";
}

LogicalResult BlockScaleOp::verify() {
  if (!isa<Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType>(getFormat()))
    return emitOpError("expected the format f8E4M3FN, f8E5M2 or f4E2M1FN, found ")
           << getFormat();
  return checkRule(*this, getRule(), getTensor(getScale()).getElementType());
}

LogicalResult QuantizeOp::inferReturnTypes(MLIRContext *context,
                                           std::optional<Location> location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto x = getTensor(adaptor.getX());
  FailureOr<Shape> scales = inferScales(location, x, "x", adaptor.getBlock(), "block");
  if (failed(scales))
    return failure();
  types.push_back(x.clone(Float8E4M3FNType::get(context)));
  types.push_back(RankedTensorType::get(*scales, Float32Type::get(context)));
  return success();
}

LogicalResult QuantizeOp::verify() {
  return checkRule(*this, getRule(), getTensor(getScales()).getElementType());
}

LogicalResult DequantizeOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  types.push_back(getTensor(adaptor.getQ()).clone(Float32Type::get(context)));
  return success();
}

LogicalResult DequantizeOp::verify() {
  return checkScales(*this, getQ(), "q", getScales(), "scales", getBlock(), "block");
}

LogicalResult ScaledMatmulOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  auto lhs = getTensor(adaptor.getLhs()), rhs = getTensor(adaptor.getRhs());
  if (lhs.getRank() != 2 || rhs.getRank() != 2)
    return emitOptionalError(location, "expected matrices lhs and rhs, found ", lhs,
                             " and ", rhs,
                             "; reshape leading dimensions into rows first");
  const bool transposeLhs = adaptor.getTransposeLhs();
  const bool transposeRhs = adaptor.getTransposeRhs();
  const int64_t k = lhs.getDimSize(transposeLhs ? 0 : 1);
  const int64_t rhsK = rhs.getDimSize(transposeRhs ? 1 : 0);
  if (!sizesAgree(k, rhsK))
    return emitOptionalError(location, "expected equal contracted sizes, found ", k,
                             " of lhs ", lhs, " and ", rhsK, " of rhs ", rhs);
  types.push_back(RankedTensorType::get(
      {lhs.getDimSize(transposeLhs ? 1 : 0), rhs.getDimSize(transposeRhs ? 0 : 1)},
      Float32Type::get(context)));
  return success();
}

int64_t ScaledMatmulOp::getSumSize() {
  return getTensor(getLhs()).getDimSize(getTransposeLhs() ? 0 : 1);
}

int64_t ScaledMatmulOp::getSegmentSize() {
  return getPromotion() == 0 ? std::max<int64_t>(getSumSize(), 1) : getPromotion();
}

LogicalResult ScaledMatmulOp::verify() {
  if (failed(checkScales(*this, getLhs(), "lhs", getLhsScales(), "lhs_scales",
                         getLhsBlock(), "lhs_block")) ||
      failed(checkScales(*this, getRhs(), "rhs", getRhsScales(), "rhs_scales",
                         getRhsBlock(), "rhs_block")))
    return failure();
  if (const int64_t bits = getAccumulatorBits(); bits != 0 && (bits < 8 || bits > 18))
    return emitOpError("expected 'accumulator_bits' from 8 to 18, or 0 for f32, found ")
           << bits;
  const int64_t promotion = getPromotion();
  if (promotion < 0)
    return emitOpError("expected a promotion of at least 1, or 0 for all of K, found ")
           << promotion;
  if (promotion == 0)
    return success();
  if (!ShapedType::isDynamic(getSumSize()) &&
      llvm::divideCeil(getSumSize(), promotion) > mostSegments)
    return emitOpError("expected at most ")
           << mostSegments << " segments of K, found " << getSumSize()
           << " elements with a promotion of " << promotion
           << "; give it a larger promotion";
  const std::pair<StringRef, int64_t> blocks[] = {
      {"lhs", getLhsBlock()[getTransposeLhs() ? 0 : 1]},
      {"rhs", getRhsBlock()[getTransposeRhs() ? 1 : 0]}};
  for (auto [name, length] : blocks)
    if (length % promotion != 0 && promotion % length != 0)
      return emitOpError("expected a promotion that is a multiple or a divisor of the ")
             << length << " elements along K of a block of " << name << ", found "
             << promotion;
  return success();
}
