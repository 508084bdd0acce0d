//===- TypeInference.cpp - Shared shape inference -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

RankedTensorType mpt::detail::getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

FailureOr<Shape> mpt::detail::broadcastShapes(ArrayRef<int64_t> lhs,
                                              ArrayRef<int64_t> rhs) {
  Shape result(std::max(lhs.size(), rhs.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t a = i < lhs.size() ? lhs[lhs.size() - 1 - i] : 1;
    int64_t b = i < rhs.size() ? rhs[rhs.size() - 1 - i] : 1;
    int64_t &size = result[result.size() - 1 - i];
    if (a == 1)
      size = b;
    else if (b == 1 || a == b || ShapedType::isDynamic(b))
      size = a;
    else if (ShapedType::isDynamic(a))
      size = b;
    else
      return failure();
  }
  return result;
}

FailureOr<Shape> mpt::detail::inferBroadcast(std::optional<Location> location,
                                             ValueRange operands) {
  Shape shape;
  for (Value operand : operands) {
    FailureOr<Shape> next = broadcastShapes(shape, getTensor(operand).getShape());
    if (failed(next)) {
      std::string shapes;
      for (Value value : operands)
        shapes +=
            (shapes.empty() ? "" : " and ") + shapeToString(getTensor(value).getShape());
      return emitOptionalError(location,
                               "operands do not broadcast: expected sizes that are equal "
                               "or 1, aligned at the last dimension, found ",
                               shapes);
    }
    shape = *next;
  }
  return shape;
}

Type mpt::detail::getStatisticType(Type storage) {
  return getAccumulatorType(std::nullopt, storage);
}

RankedTensorType mpt::detail::getStatistics(RankedTensorType x, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, getStatisticType(x.getElementType()));
}

LogicalResult mpt::detail::checkHasRows(std::optional<Location> location,
                                        RankedTensorType x, StringRef name) {
  if (x.getRank() >= 1)
    return success();
  return emitOptionalError(location, "expected ", name, " of rank 1 or more, found ", x);
}

LogicalResult mpt::detail::inferRandom(std::optional<Location> location,
                                       ArrayRef<int64_t> shape, Type element,
                                       SmallVectorImpl<Type> &types) {
  for (int64_t size : shape)
    if (size < 0)
      return emitOptionalError(location,
                               "expected sizes of at least 0 in 'shape', found ", size);
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

bool mpt::detail::shapesAgree(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return sizesAgree(std::get<0>(pair), std::get<1>(pair));
         });
}

std::optional<int64_t> mpt::detail::countElements(ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return std::nullopt;
  if (llvm::is_contained(shape, 0))
    return 0;
  std::optional<int64_t> count = 1;
  for (int64_t size : shape)
    if (count)
      count = llvm::checkedMul(*count, size);
  return count;
}

std::string mpt::detail::shapeToString(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t size : shape) {
    if (!text.empty())
      text += "x";
    text += ShapedType::isDynamic(size) ? "?" : std::to_string(size);
  }
  return text;
}

FailureOr<int64_t> mpt::detail::getWindowedSize(int64_t size, int64_t window,
                                                int64_t stride, int64_t low, int64_t high,
                                                int64_t dilation) {
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(window))
    return ShapedType::kDynamic;
  if (window < 1 || stride < 1)
    return failure();
  // Sizes, paddings and dilations come from the file: none of this may overflow.
  std::optional<int64_t> reach = llvm::checkedMul(dilation, window - 1);
  std::optional<int64_t> room = llvm::checkedAdd(low, high);
  if (room)
    room = llvm::checkedAdd(*room, size);
  if (room && reach)
    room = llvm::checkedSub(*room, *reach);
  if (!room || !reach || *room < 1)
    return failure();
  return (*room - 1) / stride + 1;
}

LogicalResult mpt::detail::checkSameShape(Operation *op, Value value, StringRef name,
                                          ArrayRef<int64_t> expected,
                                          StringRef expectedName) {
  if (shapesAgree(getTensor(value).getShape(), expected))
    return success();
  return op->emitOpError("expected ")
         << name << " of the shape of " << expectedName << ", " << shapeToString(expected)
         << ", found " << shapeToString(getTensor(value).getShape());
}

LogicalResult mpt::detail::checkRank(Operation *op, Value value, StringRef name,
                                     int64_t rank) {
  if (getTensor(value).getRank() == rank)
    return success();
  return op->emitOpError("expected ")
         << name << " of rank " << rank << ", found " << value.getType();
}

LogicalResult mpt::detail::checkScalar(Operation *op, Value value, StringRef name) {
  if (getTensor(value).getRank() == 0)
    return success();
  return op->emitOpError("expected ")
         << name << " to be a scalar (rank 0), found " << value.getType();
}

LogicalResult mpt::detail::checkCount(Operation *op, ArrayRef<int64_t> values,
                                      StringRef name, size_t expected) {
  if (values.size() == expected)
    return success();
  return op->emitOpError("expected ")
         << expected << " values in '" << name << "', found " << values.size();
}

LogicalResult mpt::detail::checkAtLeast(Operation *op, ArrayRef<int64_t> values,
                                        StringRef name, int64_t minimum) {
  for (int64_t value : values)
    if (value < minimum)
      return op->emitOpError("expected values of at least ")
             << minimum << " in '" << name << "', found " << value;
  return success();
}

LogicalResult mpt::detail::checkAccType(Operation *op, std::optional<Type> accType,
                                        Value operand) {
  if (!accType)
    return success();
  Type storage = getTensor(operand).getElementType();
  bool ok = accType->isF32() || accType->isF64();
  if (ok && accType->getIntOrFloatBitWidth() < storage.getIntOrFloatBitWidth())
    ok = false;
  if (ok)
    return success();
  return op->emitOpError("expected acc_type f32 or f64, no narrower than the "
                         "operands' ")
         << storage << ", found " << *accType;
}

LogicalResult mpt::detail::checkInRange(Operation *op, llvm::APFloat value,
                                        StringRef name, double low, double high,
                                        bool closed) {
  double number = value.convertToDouble();
  if (number >= low && (number < high || (closed && number == high)))
    return success();
  return op->emitOpError("expected '")
         << name << "' in [" << numberToString(low) << ", " << numberToString(high)
         << (closed ? "]" : ")") << ", found " << numberToString(number);
}

LogicalResult mpt::detail::checkNotNegative(Operation *op, llvm::APFloat value,
                                            StringRef name) {
  double number = value.convertToDouble();
  if (number >= 0.0 && value.isFinite())
    return success();
  return op->emitOpError("expected a finite '")
         << name << "' of at least 0, found " << numberToString(number);
}

bool mpt::detail::areCompatibleUpToFloatType(TypeRange inferred, TypeRange actual) {
  if (inferred.size() != actual.size())
    return false;
  for (auto [a, b] : llvm::zip(inferred, actual)) {
    Type left = getElementTypeOrSelf(a), right = getElementTypeOrSelf(b);
    if (failed(verifyCompatibleShape(a, b)))
      return false;
    if (left != right && !(isa<FloatType>(left) && isa<FloatType>(right)))
      return false;
  }
  return true;
}

bool mpt::detail::areCompatibleIndices(TypeRange inferred, TypeRange actual) {
  return inferred.size() == 1 && actual.size() == 1 &&
         succeeded(verifyCompatibleShape(inferred[0], actual[0])) &&
         (getElementTypeOrSelf(actual[0]).isInteger(32) ||
          getElementTypeOrSelf(actual[0]).isInteger(64));
}

Type mpt::getAccumulatorType(std::optional<Type> accType, Type storageType) {
  if (accType)
    return *accType;
  if (isa<FloatType>(storageType) && storageType.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(storageType.getContext());
  return storageType;
}
