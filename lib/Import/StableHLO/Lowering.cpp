//===- Lowering.cpp - Operands, attributes and results of a conversion -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

RankedTensorType mpt::stablehlo::convertTensorType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return {};
  Type element = tensor.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element)) {
    if (!llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth()))
      return {};
    element = IntegerType::get(type.getContext(), integer.getWidth());
  } else if (!isa<Float64Type, Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType,
                  Float8E5M2Type>(element)) {
    return {};
  }
  return RankedTensorType::get(tensor.getShape(), element);
}

RankedTensorType mpt::stablehlo::convertPartType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return convertTensorType(complex ? tensor.clone(complex.getElementType()) : type);
}

ArrayRef<Part> mpt::stablehlo::getParts(Value value) {
  static constexpr Part parts[] = {Part::Real, Part::Imaginary};
  const bool isComplex = isa<ComplexType>(getElementTypeOrSelf(value.getType()));
  return ArrayRef(parts).take_front(isComplex ? 2 : 1);
}

Attribute mpt::stablehlo::getAttribute(Operation *op, StringRef name) {
  if (Attribute value = op->getDiscardableAttr(name))
    return value;
  auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : Attribute();
}

StringRef mpt::stablehlo::getText(Attribute attribute) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attribute);
  return opaque && opaque.getDialectNamespace() == "stablehlo" ? opaque.getAttrData()
                                                               : StringRef();
}

bool mpt::stablehlo::isOp(Operation *op, StringRef name) {
  StringRef full = op ? op->getName().getStringRef() : StringRef();
  return full.consume_front("stablehlo.") && full == name;
}

std::optional<int64_t> mpt::stablehlo::getInteger(Operation *constant) {
  if (!isOp(constant, "constant"))
    return std::nullopt;
  auto value = dyn_cast_or_null<DenseElementsAttr>(getAttribute(constant, "value"));
  if (!value || !value.isSplat() || !isa<IntegerType>(value.getElementType()))
    return std::nullopt;
  APInt number = value.getSplatValue<APInt>();
  bool isSigned = !value.getElementType().isUnsignedInteger() && number.getBitWidth() > 1;
  if (number.getBitWidth() == 64 && !isSigned && number.isNegative())
    return std::nullopt;
  return isSigned ? number.getSExtValue() : static_cast<int64_t>(number.getZExtValue());
}

Value Lowering::get(unsigned index) {
  const Part mine = !factors || index > 1 ? part
                    : index == 0          ? factors->first
                                          : factors->second;
  if (index < size() && mine == Part::Imaginary)
    if (Value value = graph.imaginary.lookup(op->getOperand(index)))
      return value;
  if (index < size())
    if (Value value = graph.values.lookup(op->getOperand(index)))
      return value;
  refuse("operand " + Twine(index) + ": expected a tensor of known shape and type");
  return constant(0, builder.getF32Type());
}

Value Lowering::getNarrow(unsigned index) {
  Value value = get(index);
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast ? broadcast.getX() : value;
}

SmallVector<Value> Lowering::getAll() {
  SmallVector<Value> values;
  for (unsigned index : llvm::seq(0u, size()))
    values.push_back(get(index));
  return values;
}

bool Lowering::isUnsigned(unsigned index) {
  auto tensor = index < size()
                    ? dyn_cast<RankedTensorType>(op->getOperand(index).getType())
                    : RankedTensorType();
  return tensor && tensor.getElementType().isUnsignedInteger();
}

std::optional<double> Lowering::getConstant(unsigned index) {
  Value value = getNarrow(index);
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  APInt number = elements.getSplatValue<APInt>();
  return number.getBitWidth() == 1 ? number.getZExtValue()
                                   : static_cast<double>(number.getSExtValue());
}

bool Lowering::flag(StringRef name) {
  auto value = dyn_cast_or_null<BoolAttr>(attribute(name));
  return value && value.getValue();
}

int64_t Lowering::integer(StringRef name, int64_t whenAbsent) {
  Attribute value = attribute(name);
  if (!value)
    return whenAbsent;
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getValue().getSExtValue();
  refuse("attribute " + name + ": expected an integer");
  return whenAbsent;
}

Shape Lowering::integers(StringRef name, unsigned count, int64_t whenAbsent) {
  Attribute value = attribute(name);
  Shape numbers;
  if (!value)
    return Shape(count, whenAbsent);
  if (auto array = dyn_cast<DenseI64ArrayAttr>(value)) {
    numbers.assign(array.asArrayRef().begin(), array.asArrayRef().end());
  } else if (auto flags = dyn_cast<DenseBoolArrayAttr>(value)) {
    numbers.assign(flags.asArrayRef().begin(), flags.asArrayRef().end());
  } else if (auto dense = dyn_cast<DenseIntElementsAttr>(value)) {
    for (const APInt &number : dense)
      numbers.push_back(number.getBitWidth() == 1 ? number.getZExtValue()
                                                  : number.getSExtValue());
  } else {
    refuse("attribute " + name + ": expected integers");
    return Shape(count, whenAbsent);
  }
  if (numbers.size() == count)
    return numbers;
  refuse("attribute " + name + ": expected " + Twine(count) + " integers, found " +
         Twine(numbers.size()));
  return Shape(count, whenAbsent);
}

/// What follows `key = ` in `text`; empty if there is no such key.
static StringRef findKey(StringRef text, StringRef key) {
  for (size_t from = 0;;) {
    size_t at = text.find(key, from);
    if (at == StringRef::npos)
      return {};
    StringRef rest = text.drop_front(at + key.size()).ltrim();
    bool begins = at == 0 || !(llvm::isAlnum(text[at - 1]) || text[at - 1] == '_');
    if (begins && rest.consume_front("="))
      return rest.ltrim();
    from = at + key.size();
  }
}

Shape Lowering::list(StringRef name, StringRef key) {
  Shape numbers;
  StringRef rest = findKey(getText(attribute(name)), key);
  if (!rest.consume_front("["))
    return numbers;
  SmallVector<StringRef> parts;
  rest.take_until([](char c) { return c == ']'; }).split(parts, ',', -1, false);
  for (StringRef part : parts) {
    int64_t value;
    if (part.trim().getAsInteger(10, value)) {
      refuse("attribute " + name + ": expected integers for " + key);
      return {};
    }
    numbers.push_back(value);
  }
  return numbers;
}

int64_t Lowering::number(StringRef name, StringRef key, int64_t whenAbsent) {
  StringRef rest = findKey(getText(attribute(name)), key);
  int64_t value;
  if (rest.empty() || rest.consumeInteger(10, value))
    return whenAbsent;
  return value;
}

StringRef Lowering::bodyOf(unsigned index, unsigned result) {
  if (index >= op->getNumRegions() || !op->getRegion(index).hasOneBlock())
    return {};
  Block &block = op->getRegion(index).front();
  if (block.empty() || result >= block.back().getNumOperands())
    return {};
  Operation *inner = block.back().getOperand(result).getDefiningOp();
  unsigned half = block.getNumArguments() / 2;
  if (!inner || inner->getNumOperands() != 2 || half <= result)
    return {};
  Value a = block.getArgument(result), b = block.getArgument(half + result);
  Value x = inner->getOperand(0), y = inner->getOperand(1);
  StringRef name = inner->getName().getStringRef();
  if (!((x == a && y == b) || (x == b && y == a)) || !name.consume_front("stablehlo.") ||
      !llvm::is_contained({"add", "multiply", "maximum", "minimum", "and", "or", "xor"},
                          name))
    return {};
  return name;
}

static const Table &getElementwise() {
  static const Table table = [] {
    Table table;
    populatePointwise(table);
    return table;
  }();
  return table;
}

SmallVector<Value> Lowering::applyBody(Block &body, ArrayRef<Value> arguments) {
  std::optional<Shape> outer =
      std::exchange(graph.elements, Shape(getShape(arguments[0])));
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    graph.values[argument] = value;
  bool fits = true;
  for (Operation &inner : llvm::drop_end(body)) {
    Lowering lowering(graph, builder, &inner);
    bool isScalar = llvm::all_of(inner.getResultTypes(), [](Type type) {
      RankedTensorType tensor = convertTensorType(type);
      return tensor && tensor.getRank() == 0;
    });
    const Table::Conversion *conversion =
        getElementwise().find(inner.getName().getStringRef());
    if (isScalar && conversion)
      (*conversion)(lowering);
    else if (isScalar && isOp(&inner, "constant"))
      setConstant(lowering);
    else if (isScalar && (isOp(&inner, "reshape") || isOp(&inner, "broadcast_in_dim")))
      lowering.set(lowering.get(0));
    else
      fits = false;
    fits = fits && lowering.refusal.empty();
    if (!fits)
      break;
  }
  SmallVector<Value> results;
  if (fits)
    for (Value result : body.back().getOperands())
      results.push_back(broadcast(graph.values.lookup(result), *graph.elements));
  graph.elements = outer;
  require(fits, "a body with other than elementwise ops");
  return results;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

RankedTensorType Lowering::resultType(unsigned index) {
  if (index < op->getNumResults())
    if (RankedTensorType type = convertPartType(op->getResult(index).getType()))
      return graph.elements && type.getRank() == 0 ? type.clone(*graph.elements) : type;
  refuse("result " + Twine(index) + ": expected a tensor of known shape and type");
  return RankedTensorType::get({}, builder.getF32Type());
}

void Lowering::set(Value value, unsigned index, Part part) {
  RankedTensorType wanted = resultType(index);
  if (!refusal.empty())
    return;
  if (graph.elements && getRank(value) == 0)
    value = broadcast(value, wanted.getShape());
  if (value.getType() != wanted) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "its result is " << value.getType() << " where the graph says " << wanted;
    return refuse(text);
  }
  Value result = op->getResult(index);
  if (llvm::is_contained(getParts(result), part))
    graph.of(part)[result] = value;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value Lowering::reshape(Value x, ArrayRef<int64_t> shape) {
  while (auto before = x.getDefiningOp<ReshapeOp>())
    x = before.getX();
  return ImportBuilder::reshape(x, shape);
}

Value Lowering::transpose(Value x, ArrayRef<int64_t> permutation) {
  Shape composed(permutation);
  while (auto before = x.getDefiningOp<TransposeOp>()) {
    for (int64_t &dim : composed)
      dim = before.getPermutation()[dim];
    x = before.getX();
  }
  return ImportBuilder::transpose(x, composed);
}

Value Lowering::constants(ArrayRef<int64_t> values, Type element,
                          ArrayRef<int64_t> shape) {
  SmallVector<APInt> numbers;
  for (int64_t value : values)
    numbers.push_back(
        APInt(64, value, /*isSigned=*/true).sextOrTrunc(element.getIntOrFloatBitWidth()));
  return ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get(shape, element), numbers));
}

Value Lowering::bitcast(Value x, Type element) {
  if (getElement(x) == element)
    return x;
  return BitcastOp::create(builder, loc, getType(x).clone(element), x);
}

Value Lowering::zeroExtend(Value x, Type element) {
  unsigned width = getElement(x).getIntOrFloatBitWidth();
  if (width == element.getIntOrFloatBitWidth())
    return x;
  Value wide = cast(x, element);
  return width == 1 ? wide : bitAnd(wide, (int64_t(1) << width) - 1);
}

Value Lowering::flipSign(Value x) {
  unsigned width = getElement(x).getIntOrFloatBitWidth();
  if (width == 1)
    return x;
  return binary<XorOp>(x, constants({static_cast<int64_t>(uint64_t(1) << (width - 1))},
                                    getElement(x), {}));
}

Value Lowering::combine(StringRef body, Value a, Value b) {
  if (body == "and" || body == "or" || body == "xor") {
    if (!require(isa<IntegerType>(getElement(a)), "the bits of floats"))
      return a;
    return body == "and"  ? binary<AndOp>(a, b)
           : body == "or" ? binary<OrOp>(a, b)
                          : binary<XorOp>(a, b);
  }
  if (getElement(a).isInteger(1)) // A sum of truth values is `or`, a product `and`.
    return body == "add" || body == "maximum" ? binary<OrOp>(a, b) : binary<AndOp>(a, b);
  if (body == "add")
    return add(a, b);
  if (body == "multiply")
    return mul(a, b);
  if (body == "maximum")
    return binary<MaximumOp>(a, b);
  return binary<MinimumOp>(a, b);
}

Value Lowering::neutral(StringRef body, Type element) {
  bool isMax = body == "maximum", isMin = body == "minimum";
  if (element.isInteger(1))
    return constant(body == "and" || body == "multiply" || isMin, element);
  if (isMax || isMin) {
    if (isa<FloatType>(element))
      return constant(isMax ? -std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::infinity(),
                      element);
    unsigned width = element.getIntOrFloatBitWidth();
    return constants({isMax ? APInt::getSignedMinValue(width).getSExtValue()
                            : APInt::getSignedMaxValue(width).getSExtValue()},
                     element, {});
  }
  return constant(body == "multiply" ? 1 : body == "and" ? -1 : 0, element);
}

bool Lowering::isNeutral(StringRef body, Value value) {
  auto attributeOf = [](Value x) -> DenseElementsAttr {
    while (Operation *op = x.getDefiningOp()) {
      if (auto constant = dyn_cast<ConstantOp>(op))
        return dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!isa<BroadcastOp, ReshapeOp>(op))
        break;
      x = op->getOperand(0);
    }
    return {};
  };
  DenseElementsAttr found = attributeOf(value);
  if (!found || !found.isSplat())
    return false;
  Value wanted = neutral(body, getElement(value));
  auto expected =
      llvm::cast<DenseElementsAttr>(wanted.getDefiningOp<ConstantOp>().getValue());
  wanted.getDefiningOp()->erase();
  if (isa<FloatType>(getElement(value))) {
    auto number = found.getSplatValue<APFloat>();
    return number.compare(expected.getSplatValue<APFloat>()) == APFloat::cmpEqual;
  }
  return found.getSplatValue<APInt>() == expected.getSplatValue<APInt>();
}

Value Lowering::reduceBits(StringRef body, Value x, ArrayRef<int64_t> axes) {
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(getShape(x)))
    if (!llvm::is_contained(axes, dim))
      shape.push_back(size);
  for (int64_t axis : axes) {
    Value odd;
    for (int64_t size = getShape(x)[axis]; size > 1; size /= 2) {
      if (size % 2) {
        Value last = slice(x, axis, size - 1, 1);
        odd = odd ? combine(body, odd, last) : last;
      }
      x = combine(body, slice(x, axis, 0, size / 2), slice(x, axis, size / 2, size / 2));
    }
    if (odd)
      x = combine(body, x, odd);
  }
  return reshape(x, shape);
}

Value Lowering::reduceBy(StringRef body, Value x, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return x;
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= getShape(x)[axis];
  if (count == 0) {
    Shape shape;
    for (auto [dim, size] : llvm::enumerate(getShape(x)))
      if (!llvm::is_contained(axes, dim))
        shape.push_back(size);
    return broadcast(neutral(body, getElement(x)), shape);
  }
  if (getElement(x).isInteger(1)) {
    if (body == "xor")
      return cast(reduceBits(body, cast(x, builder.getI8Type()), axes),
                  builder.getI1Type());
    bool any = body == "or" || body == "add" || body == "maximum";
    Value numbers = cast(x, builder.getI32Type());
    return cast(reduce(any ? ReduceKind::Max : ReduceKind::Min, numbers, axes),
                builder.getI1Type());
  }
  if (body == "and" || body == "or" || body == "xor")
    return reduceBits(body, x, axes);
  return reduce(body == "add"        ? ReduceKind::Sum
                : body == "multiply" ? ReduceKind::Prod
                : body == "maximum"  ? ReduceKind::Max
                                     : ReduceKind::Min,
                x, axes);
}

Value Lowering::padBy(Value x, Value value, Shape low, Shape high, Shape interior) {
  // Negative widths are slices, of what interior padding has spread.
  Shape cutLow(low.size()), cutHigh(low.size());
  for (size_t i = 0; i < low.size(); ++i) {
    cutLow[i] = std::max<int64_t>(-low[i], 0);
    cutHigh[i] = std::max<int64_t>(-high[i], 0);
    low[i] = std::max<int64_t>(low[i], 0);
    high[i] = std::max<int64_t>(high[i], 0);
  }
  bool pads = llvm::any_of(low, [](int64_t n) { return n; }) ||
              llvm::any_of(high, [](int64_t n) { return n; }) ||
              llvm::any_of(llvm::enumerate(interior), [&](auto entry) {
                return entry.value() && getShape(x)[entry.index()] > 1;
              });
  Shape gaps = llvm::any_of(interior, [](int64_t n) { return n; }) ? interior : Shape();
  if (pads) {
    std::optional<double> number;
    if (auto constant = value.getDefiningOp<ConstantOp>())
      if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
          elements && elements.isSplat()) {
        if (isa<FloatType>(elements.getElementType()))
          number = elements.getSplatValue<APFloat>().convertToDouble();
        else if (APInt whole = elements.getSplatValue<APInt>();
                 whole.getSignificantBits() <= 53 || whole.getBitWidth() == 1)
          number = whole.getBitWidth() == 1 ? whole.getZExtValue()
                                            : static_cast<double>(whole.getSExtValue());
      }
    Type element = getElement(x);
    auto padTruth = [&](Value v, double with) -> Value {
      if (!getElement(v).isInteger(1))
        return pad(v, low, high, with, gaps);
      return cast(pad(cast(v, builder.getI8Type()), low, high, with, gaps), element);
    };
    if (number) {
      x = padTruth(x, *number);
    } else {
      Value inside = padTruth(constant(1, builder.getI1Type(), getShape(x)), 0);
      inside =
          getElement(inside).isInteger(1) ? inside : cast(inside, builder.getI1Type());
      x = where(inside, padTruth(x, 0), value);
    }
  }
  for (size_t i = 0; i < low.size(); ++i) {
    int64_t size = getShape(x)[i] - cutLow[i] - cutHigh[i];
    if (!require(size >= 0, "padding that removes more than there is"))
      return x;
    x = slice(x, i, cutLow[i], size);
  }
  return x;
}

Value Lowering::reverseDimension(Value x, int64_t dim) {
  int64_t size = getShape(x)[dim];
  if (size <= 1)
    return x;
  if (size <= 8)
    return reverse(x, dim);
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, size)));
  Shape permutation{dim}, inverse(getRank(x));
  for (int64_t i : llvm::seq<int64_t>(0, getRank(x)))
    if (i != dim)
      permutation.push_back(i);
  for (auto [i, from] : llvm::enumerate(permutation))
    inverse[from] = i;
  bool truth = getElement(x).isInteger(1);
  Value rows = truth ? cast(x, builder.getI8Type()) : x;
  Value y = transpose(gather(transpose(rows, permutation),
                             constants(order, builder.getI64Type(), {size})),
                      inverse);
  return truth ? cast(y, builder.getI1Type()) : y;
}
