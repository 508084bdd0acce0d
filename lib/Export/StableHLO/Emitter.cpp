//===- Emitter.cpp - Helpers that build ops of StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

RankedTensorType mpt::tostablehlo::getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}
Type mpt::tostablehlo::getElement(Value value) { return getType(value).getElementType(); }
ArrayRef<int64_t> mpt::tostablehlo::getShape(Value value) {
  return getType(value).getShape();
}
int64_t mpt::tostablehlo::getRank(Value value) { return getType(value).getRank(); }

void Emitter::set(Value value, unsigned index) {
  graph.values.map(op->getResult(index),
                   convert(value, resultType(index).getElementType()));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

NamedAttribute Emitter::array(StringRef name, ArrayRef<int64_t> values) {
  return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
}

NamedAttribute Emitter::integer(StringRef name, int64_t value) {
  return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
}

NamedAttribute Emitter::flag(StringRef name, bool value) {
  return builder.getNamedAttr(name, builder.getBoolAttr(value));
}

Attribute Emitter::opaque(const Twine &text) {
  MLIRContext *context = builder.getContext();
  return OpaqueAttr::get(StringAttr::get(context, "stablehlo"), text.str(),
                         NoneType::get(context));
}

NamedAttribute Emitter::opaque(StringRef name, const Twine &text) {
  return builder.getNamedAttr(name, opaque(text));
}

NamedAttribute Emitter::padding(ArrayRef<int64_t> lowAndHigh) {
  auto type = RankedTensorType::get({static_cast<int64_t>(lowAndHigh.size()) / 2, 2},
                                    builder.getI64Type());
  return builder.getNamedAttr("padding", DenseIntElementsAttr::get(type, lowAndHigh));
}

/// `value` holds numbers of a type narrower than its own.
static bool isWidened(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getName().getStringRef() != "stablehlo.convert")
    return false;
  return getElement(op->getOperand(0)).getIntOrFloatBitWidth() <
         getElement(value).getIntOrFloatBitWidth();
}

NamedAttribute Emitter::precision(Value lhs, Value rhs) {
  auto spell = [&](Value value) {
    bool isExact = isWidened(value) || getElement(value).getIntOrFloatBitWidth() < 32;
    return opaque(isExact ? "precision DEFAULT" : "precision HIGHEST");
  };
  return builder.getNamedAttr("precision_config",
                              builder.getArrayAttr({spell(lhs), spell(rhs)}));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Operation *Emitter::build(StringRef name, TypeRange results, ValueRange operands,
                          ArrayRef<NamedAttribute> attributes) {
  std::string full = name.contains('.') ? name.str() : ("stablehlo." + name).str();
  unsigned numRegions = llvm::StringSwitch<unsigned>(name)
                            .Cases({"while", "select_and_scatter"}, 2)
                            .Cases({"reduce", "reduce_window", "scatter"}, 1)
                            .Default(0);
  OperationState state(op->getLoc(), full, operands, results, {});
  if (!attributes.empty())
    state.propertiesAttr = builder.getDictionaryAttr(attributes);
  for (unsigned i = 0; i < numRegions; ++i)
    state.addRegion();
  return builder.create(state);
}

Value Emitter::make(StringRef name, Type result, ValueRange operands,
                    ArrayRef<NamedAttribute> attributes) {
  return build(name, result, operands, attributes)->getResult(0);
}

void Emitter::fill(Operation *of, unsigned index, TypeRange arguments, Body body) {
  OpBuilder::InsertionGuard guard(builder);
  Block &block = of->getRegion(index).emplaceBlock();
  block.addArguments(arguments, SmallVector<Location>(arguments.size(), op->getLoc()));
  builder.setInsertionPointToStart(&block);
  SmallVector<Value> results = body(block.getArguments());
  build("return", {}, results);
}

Value Emitter::constant(ElementsAttr value) {
  return make("constant", value.getType(), {}, builder.getNamedAttr("value", value));
}

Value Emitter::splat(Type element, ArrayRef<int64_t> shape, double value) {
  auto type = RankedTensorType::get(shape, element);
  if (auto number = dyn_cast<FloatType>(element)) {
    APFloat rounded(value);
    bool losesInfo;
    rounded.convert(number.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return constant(DenseElementsAttr::get(type, rounded));
  }
  unsigned width = element.getIntOrFloatBitWidth();
  APInt integer = value == std::numeric_limits<double>::infinity()
                      ? APInt::getSignedMaxValue(width)
                  : value == -std::numeric_limits<double>::infinity()
                      ? APInt::getSignedMinValue(width)
                      : APInt(64, static_cast<int64_t>(value), true).trunc(width);
  return constant(DenseElementsAttr::get(type, integer));
}

Value Emitter::splatInteger(Type element, ArrayRef<int64_t> shape, int64_t value) {
  auto type = RankedTensorType::get(shape, element);
  return constant(DenseElementsAttr::get(
      type, APInt(64, value, true).trunc(element.getIntOrFloatBitWidth())));
}

Value Emitter::compare(StringRef direction, Value a, Value b) {
  Type element = getElement(a);
  StringRef kind = isa<FloatType>(element) ? "FLOAT"
                   : element.isInteger(1)  ? "UNSIGNED"
                                           : "SIGNED";
  return make("compare", getType(a).clone(builder.getI1Type()), {a, b},
              {opaque("compare_type", "comparison_type " + kind),
               opaque("comparison_direction", "comparison_direction " + direction)});
}

Value Emitter::convert(Value x, Type element) {
  if (getElement(x) == element)
    return x;
  return make("convert", getType(x).clone(element), x);
}

Value Emitter::widen(Value x) {
  auto type = dyn_cast<FloatType>(getElement(x));
  return type && type.getWidth() < 32 ? convert(x, builder.getF32Type()) : x;
}

Value Emitter::reshape(Value x, ArrayRef<int64_t> shape) {
  if (getShape(x) == shape)
    return x;
  return make("reshape", getType(x).clone(shape), x);
}

Value Emitter::transpose(Value x, ArrayRef<int64_t> permutation) {
  Shape shape;
  for (int64_t dimension : permutation)
    shape.push_back(getShape(x)[dimension]);
  return make("transpose", getType(x).clone(shape), x, array("permutation", permutation));
}

Value Emitter::broadcast(Value x, ArrayRef<int64_t> shape) {
  if (getShape(x) == shape)
    return x;
  int64_t rank = getRank(x);
  Shape dimensions;
  for (int64_t i = 0; i < rank; ++i)
    dimensions.push_back(static_cast<int64_t>(shape.size()) - rank + i);
  return broadcast(x, shape, dimensions);
}

Value Emitter::broadcast(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dimensions) {
  return make("broadcast_in_dim", getType(x).clone(shape), x,
              array("broadcast_dimensions", dimensions));
}

Value Emitter::slice(Value x, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                     ArrayRef<int64_t> strides) {
  Shape limits;
  for (auto [offset, size, stride] : llvm::zip_equal(offsets, sizes, strides))
    limits.push_back(size > 0 ? offset + (size - 1) * stride + 1 : offset);
  return make("slice", getType(x).clone(sizes), x,
              {array("limit_indices", limits), array("start_indices", offsets),
               array("strides", strides)});
}

Value Emitter::pad(Value x, double value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                   ArrayRef<int64_t> interior) {
  Shape shape;
  for (auto [size, before, after, between] :
       llvm::zip_equal(getShape(x), low, high, interior))
    shape.push_back(size + before + after + std::max<int64_t>(size - 1, 0) * between);
  return make("pad", getType(x).clone(shape), {x, splat(getElement(x), {}, value)},
              {array("edge_padding_high", high), array("edge_padding_low", low),
               array("interior_padding", interior)});
}

Value Emitter::concatenate(ArrayRef<Value> values, int64_t dimension) {
  Shape shape(getShape(values.front()));
  for (Value value : values.drop_front())
    shape[dimension] += getShape(value)[dimension];
  return make("concatenate", getType(values.front()).clone(shape), values,
              integer("dimension", dimension));
}

Value Emitter::iota(Type element, ArrayRef<int64_t> shape, int64_t dimension) {
  return make("iota", RankedTensorType::get(shape, element), {},
              integer("iota_dimension", dimension));
}

Value Emitter::reverse(Value x, ArrayRef<int64_t> dimensions) {
  return make("reverse", x.getType(), x, array("dimensions", dimensions));
}

Value Emitter::neutral(StringRef combiner, Type element) {
  double infinity = std::numeric_limits<double>::infinity();
  return splat(element, {},
               llvm::StringSwitch<double>(combiner)
                   .Case("multiply", 1.0)
                   .Case("maximum", -infinity)
                   .Case("minimum", infinity)
                   .Default(0.0));
}

void Emitter::fillCombiner(Operation *of, unsigned index, StringRef combiner,
                           Type element) {
  auto scalar = RankedTensorType::get({}, element);
  fill(of, index, {scalar, scalar}, [&](ValueRange arguments) -> SmallVector<Value> {
    return {binary(combiner, arguments[0], arguments[1])};
  });
}

Value Emitter::reduce(StringRef combiner, Value x, ArrayRef<int64_t> axes) {
  Shape shape;
  for (auto [dimension, size] : llvm::enumerate(getShape(x)))
    if (!llvm::is_contained(axes, static_cast<int64_t>(dimension)))
      shape.push_back(size);
  Type element = getElement(x);
  Operation *reduction =
      build("reduce", getType(x).clone(shape), {x, neutral(combiner, element)},
            array("dimensions", axes));
  fillCombiner(reduction, 0, combiner, element);
  return reduction->getResult(0);
}

Value Emitter::reduceWindow(StringRef combiner, Value x, ArrayRef<int64_t> window,
                            ArrayRef<int64_t> strides, ArrayRef<int64_t> lowAndHigh) {
  Shape shape, ones(getRank(x), 1);
  for (auto [i, size] : llvm::enumerate(getShape(x)))
    shape.push_back(
        (size + lowAndHigh[2 * i] + lowAndHigh[2 * i + 1] - window[i]) / strides[i] + 1);
  Type element = getElement(x);
  Operation *reduction =
      build("reduce_window", getType(x).clone(shape), {x, neutral(combiner, element)},
            {array("base_dilations", ones), padding(lowAndHigh),
             array("window_dilations", ones), array("window_dimensions", window),
             array("window_strides", strides)});
  fillCombiner(reduction, 0, combiner, element);
  return reduction->getResult(0);
}
