//===- ScalarRegion.cpp - What regions of StableHLO compute ---- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarRegion.h"
#include "Lowering.h"

#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

static StringRef getDirection(Operation *compare) {
  return getText(getAttribute(compare, "comparison_direction")).rsplit(' ').second;
}

template <typename T>
static bool compareBy(StringRef direction, T a, T b) {
  return direction == "EQ"   ? a == b
         : direction == "NE" ? a != b
         : direction == "LT" ? a < b
         : direction == "LE" ? a <= b
         : direction == "GT" ? a > b
                             : a >= b;
}

std::optional<SmallVector<double>>
mpt::stablehlo::evaluateScalars(Block &block, ArrayRef<double> arguments) {
  llvm::DenseMap<Value, double> values;
  if (block.getNumArguments() != arguments.size() || block.empty())
    return std::nullopt;
  for (auto [argument, number] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = number;
  for (Operation &op : llvm::drop_end(block)) {
    SmallVector<double> in;
    for (Value operand : op.getOperands()) {
      auto found = values.find(operand);
      if (found == values.end())
        return std::nullopt;
      in.push_back(found->second);
    }
    StringRef name = op.getName().getStringRef();
    if (!name.consume_front("stablehlo.") || op.getNumResults() != 1)
      return std::nullopt;
    // `and`, `or` and `not` of truth values; not of the bits of integers.
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    bool isTruth = type && type.getElementType().isInteger(1);
    double result;
    if (name == "constant") {
      auto value = dyn_cast_or_null<DenseElementsAttr>(getAttribute(&op, "value"));
      if (!value || !value.isSplat())
        return std::nullopt;
      if (isa<FloatType>(value.getElementType()))
        result = value.getSplatValue<APFloat>().convertToDouble();
      else if (std::optional<int64_t> number = getInteger(&op))
        result = *number;
      else
        return std::nullopt;
    } else if (name == "compare" && in.size() == 2) {
      result = compareBy(getDirection(&op), in[0], in[1]);
    } else if (name == "select" && in.size() == 3) {
      result = in[0] != 0 ? in[1] : in[2];
    } else if (name == "and" && isTruth && in.size() == 2) {
      result = in[0] != 0 && in[1] != 0;
    } else if (name == "or" && isTruth && in.size() == 2) {
      result = in[0] != 0 || in[1] != 0;
    } else if (name == "not" && isTruth && in.size() == 1) {
      result = in[0] == 0;
    } else if (name == "minimum" && in.size() == 2) {
      result = std::min(in[0], in[1]);
    } else if (name == "maximum" && in.size() == 2) {
      result = std::max(in[0], in[1]);
    } else if (name == "negate" && in.size() == 1) {
      result = -in[0];
    } else {
      return std::nullopt;
    }
    values[op.getResult(0)] = result;
  }
  SmallVector<double> results;
  for (Value value : block.back().getOperands()) {
    auto found = values.find(value);
    if (found == values.end())
      return std::nullopt;
    results.push_back(found->second);
  }
  return results;
}

/// `number` in the range of the value's type.
static std::optional<int64_t> wrapAround(Value value, int64_t number) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto integer = type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
  if (!integer || type.getNumElements() != 1)
    return std::nullopt;
  unsigned width = integer.getWidth();
  if (width >= 64)
    return number;
  APInt bits = APInt(64, number, true).trunc(width);
  return integer.isUnsigned() || width == 1 ? static_cast<int64_t>(bits.getZExtValue())
                                            : bits.getSExtValue();
}

std::optional<int64_t> IntegerEvaluator::evaluate(Value value) {
  for (const Numbers *numbers : {const_cast<const Numbers *>(&known), outer})
    if (auto found = numbers->find(value); found != numbers->end())
      return found->second;
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || !type.hasStaticShape() || type.getNumElements() != 1)
    return std::nullopt;
  if (std::optional<int64_t> number = getInteger(op))
    return number;
  StringRef name = op->getName().getStringRef();
  static constexpr StringRef arithmetic[] = {
      "add",       "subtract", "multiply", "divide",
      "remainder", "maximum",  "minimum",  "compare",
      "select",    "and",      "or",       "not",
      "negate",    "convert",  "reshape",  "broadcast_in_dim"};
  if (!name.consume_front("stablehlo.") || !llvm::is_contained(arithmetic, name))
    return std::nullopt;
  SmallVector<int64_t, 3> in;
  for (Value operand : op->getOperands()) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    if (!tensor || !isa<IntegerType>(tensor.getElementType()))
      return std::nullopt;
    std::optional<int64_t> number = evaluate(operand);
    if (!number)
      return std::nullopt;
    in.push_back(*number);
  }
  auto wrapped = [&](uint64_t number) {
    return wrapAround(value, static_cast<int64_t>(number));
  };
  if (in.size() == 1) {
    if (name == "negate")
      return wrapped(-static_cast<uint64_t>(in[0]));
    if (name == "not")
      return wrapped(~static_cast<uint64_t>(in[0]));
    if (type.getElementType().isInteger(1))
      return in[0] != 0;
    return wrapped(in[0]);
  }
  if (in.size() == 3)
    return in[0] ? in[1] : in[2];
  if (in.size() != 2)
    return std::nullopt;
  uint64_t a = in[0], b = in[1];
  if (name == "compare")
    return compareBy(getDirection(op), in[0], in[1]);
  if (name == "add")
    return wrapped(a + b);
  if (name == "subtract")
    return wrapped(a - b);
  if (name == "multiply")
    return wrapped(a * b);
  if (name == "maximum")
    return std::max(in[0], in[1]);
  if (name == "minimum")
    return std::min(in[0], in[1]);
  if (name == "and")
    return wrapped(a & b);
  if (name == "or")
    return wrapped(a | b);
  if (in[1] == 0 || (in[0] == INT64_MIN && in[1] == -1))
    return std::nullopt;
  return wrapped(name == "divide" ? in[0] / in[1] : in[0] % in[1]);
}
