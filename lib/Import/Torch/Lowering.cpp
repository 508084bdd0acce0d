//===- Lowering.cpp - Operands, results and ops of a conversion -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

static Type convertElement(MLIRContext *context, StringRef name) {
  return llvm::StringSwitch<Type>(name)
      .Case("f64", Float64Type::get(context))
      .Case("f32", Float32Type::get(context))
      .Case("f16", Float16Type::get(context))
      .Case("bf16", BFloat16Type::get(context))
      .Cases({"si64", "i64"}, IntegerType::get(context, 64))
      .Cases({"si32", "i32"}, IntegerType::get(context, 32))
      .Cases({"si16", "i16"}, IntegerType::get(context, 16))
      .Cases({"si8", "i8"}, IntegerType::get(context, 8))
      .Case("i1", IntegerType::get(context, 1))
      .Default(Type());
}

/// The text of a type of torch, such as `vtensor<[2,3],f32>`; empty for others.
static StringRef getText(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  return opaque && opaque.getDialectNamespace() == "torch" ? opaque.getTypeData()
                                                           : StringRef();
}

RankedTensorType mpt::torch::convertTensorType(Type type) {
  StringRef data = getText(type);
  if (!data.consume_front("vtensor<[") && !data.consume_front("tensor<["))
    return {};
  auto [dims, element] = data.split("],");
  if (!element.consume_back(">"))
    return {};
  Shape shape;
  SmallVector<StringRef> parts;
  dims.split(parts, ',', -1, false);
  for (StringRef part : parts) {
    int64_t size;
    if (part.trim() == "?")
      shape.push_back(ShapedType::kDynamic);
    else if (!part.trim().getAsInteger(10, size) && size >= 0)
      shape.push_back(size);
    else
      return {};
  }
  Type converted = convertElement(type.getContext(), element.trim());
  return converted ? RankedTensorType::get(shape, converted) : RankedTensorType();
}

bool mpt::torch::isTensorList(Type type) {
  StringRef data = getText(type);
  if (!data.consume_front("list<"))
    return false;
  data.consume_front("optional<");
  return data.starts_with("vtensor") || data.starts_with("tensor");
}

Attribute mpt::torch::getConstantValue(Operation *op) {
  if (Attribute value = op->getDiscardableAttr("value"))
    return value;
  auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get("value") : Attribute();
}

/// What defines an operand, if that is one of torch's ops `name`.
static Operation *getDefiner(Value value, StringRef name) {
  Operation *op = value.getDefiningOp();
  return op && op->getName().getStringRef() == name ? op : nullptr;
}

/// The number of a `torch.constant.*`, or null.
static Attribute getScalar(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !op->getName().getStringRef().starts_with("torch.constant."))
    return {};
  return getConstantValue(op);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static constexpr int64_t toChannelsLast[] = {0, 2, 3, 1};
static constexpr int64_t toChannelsFirst[] = {0, 3, 1, 2};

bool Lowering::isNone(unsigned index) {
  return index >= size() || getDefiner(op->getOperand(index), "torch.constant.none");
}

bool Lowering::isTensor(unsigned index) {
  return index < size() && graph.tensors.contains(op->getOperand(index));
}

Tensor Lowering::getStored(unsigned index) {
  if (isTensor(index))
    return graph.tensors.lookup(op->getOperand(index));
  refuse("operand " + Twine(index) + ": expected a tensor of known shape and type");
  return {constant(0, builder.getF32Type())};
}

/// The value in the layout that it does not have, which `make` computes once a block.
static Value convertLayout(Graph &graph, OpBuilder &builder, Tensor tensor,
                           llvm::function_ref<Value()> make) {
  Value &other = graph.otherLayouts[{tensor.value, tensor.channelsLast}];
  if (!other || other.getParentBlock() != builder.getBlock())
    other = make();
  return other;
}

Value Lowering::get(unsigned index) {
  Tensor tensor = getStored(index);
  int64_t rank = getRank(tensor.value);
  if (tensor.channelsLast == channelsLast || (channelsLast && rank == 0))
    return tensor.value;
  return convertLayout(graph, builder, tensor, [&] {
    if (tensor.channelsLast)
      return transpose(tensor.value, toChannelsFirst);
    Shape shape(std::max<int64_t>(4 - rank, 0), 1);
    llvm::append_range(shape, getShape(tensor.value));
    return transpose(reshape(tensor.value, shape), toChannelsLast);
  });
}

Value Lowering::getChannelsLast(unsigned index) {
  if (!require(getRank(getStored(index).value) == 4, "expected a tensor of 4 dimensions"))
    return constant(0, builder.getF32Type(), {1, 1, 1, 1});
  channelsLast = true;
  Value value = get(index);
  channelsLast = false;
  return value;
}

void Lowering::alignLayouts() {
  auto tensors = llvm::make_filter_range(
      op->getOperands(), [&](Value operand) { return graph.tensors.contains(operand); });
  bool any = llvm::any_of(
      tensors, [&](Value operand) { return graph.tensors.lookup(operand).channelsLast; });
  bool all = llvm::all_of(tensors, [&](Value operand) {
    return getRank(graph.tensors.lookup(operand).value) <= 4;
  });
  channelsLast = any && all;
}

Value Lowering::get(unsigned index, Type element) {
  if (index < size() && !isTensor(index)) {
    if (Attribute scalar = getScalar(op->getOperand(index))) {
      if (auto real = dyn_cast<FloatAttr>(scalar))
        return constant(real.getValueAsDouble(), element);
      if (auto whole = dyn_cast<IntegerAttr>(scalar)) {
        if (isa<FloatType>(element) || element.isInteger(1))
          return constant(whole.getValue().isZero() ? 0
                          : whole.getType().isInteger(1)
                              ? 1
                              : static_cast<double>(whole.getValue().getSExtValue()),
                          element);
        APInt value =
            whole.getType().isInteger(1)
                ? APInt(element.getIntOrFloatBitWidth(), whole.getValue().isOne())
                : whole.getValue().sextOrTrunc(element.getIntOrFloatBitWidth());
        return ConstantOp::create(
            builder, loc,
            DenseElementsAttr::get(RankedTensorType::get({}, element), value));
      }
    }
  }
  return cast(get(index), element);
}

SmallVector<Tensor> Lowering::getList(unsigned index) {
  SmallVector<Tensor> tensors;
  if (index >= size()) {
    refuse("operand " + Twine(index) + ": expected a list of tensors");
    return tensors;
  }
  Value operand = op->getOperand(index);
  if (auto list = graph.lists.find(operand); list != graph.lists.end())
    return list->second;
  Operation *list = getDefiner(operand, "torch.prim.ListConstruct");
  if (!list) {
    refuse("operand " + Twine(index) +
           ": expected a list of tensors that the graph builds");
    return tensors;
  }
  for (Value item : list->getOperands()) {
    if (getDefiner(item, "torch.constant.none")) {
      tensors.push_back({});
    } else if (auto found = graph.tensors.find(item); found != graph.tensors.end()) {
      tensors.push_back(found->second);
    } else {
      refuse("operand " + Twine(index) + ": expected tensors of known shape and type");
      return {};
    }
  }
  return tensors;
}

SmallVector<Value> Lowering::getPlainList(unsigned index) {
  SmallVector<Value> values;
  for (Tensor tensor : getList(index)) {
    if (!require(bool(tensor.value), "a list with absent tensors"))
      return {};
    values.push_back(tensor.channelsLast ? transpose(tensor.value, toChannelsFirst)
                                         : tensor.value);
  }
  return values;
}

int64_t Lowering::integer(unsigned index, int64_t whenNone) {
  if (isNone(index))
    return whenNone;
  Attribute scalar = getScalar(op->getOperand(index));
  if (auto whole = dyn_cast_or_null<IntegerAttr>(scalar))
    return whole.getType().isInteger(1) ? whole.getValue().getZExtValue()
                                        : whole.getValue().getSExtValue();
  if (auto real = dyn_cast_or_null<FloatAttr>(scalar))
    if (real.getValue().isInteger())
      return static_cast<int64_t>(real.getValueAsDouble());
  refuse("operand " + Twine(index) + ": expected a constant integer");
  return whenNone;
}

double Lowering::number(unsigned index, double whenNone) {
  if (isNone(index))
    return whenNone;
  Attribute scalar = getScalar(op->getOperand(index));
  if (auto real = dyn_cast_or_null<FloatAttr>(scalar))
    return real.getValueAsDouble();
  if (isa_and_nonnull<IntegerAttr>(scalar))
    return static_cast<double>(integer(index));
  refuse("operand " + Twine(index) + ": expected a constant number");
  return whenNone;
}

bool Lowering::flag(unsigned index, bool whenNone) {
  return integer(index, whenNone) != 0;
}

StringRef Lowering::text(unsigned index) {
  if (isNone(index))
    return {};
  if (auto string = dyn_cast_or_null<StringAttr>(getScalar(op->getOperand(index))))
    return string.getValue();
  refuse("operand " + Twine(index) + ": expected a constant string");
  return {};
}

Shape Lowering::integers(unsigned index) {
  Shape values;
  if (isNone(index))
    return values;
  Operation *list = getDefiner(op->getOperand(index), "torch.prim.ListConstruct");
  if (!list) {
    values.push_back(integer(index));
    return values;
  }
  for (Value item : list->getOperands()) {
    auto whole = dyn_cast_or_null<IntegerAttr>(getScalar(item));
    values.push_back(whole ? whole.getValue().getSExtValue() : ShapedType::kDynamic);
  }
  return values;
}

Shape Lowering::integers(unsigned index, unsigned count, int64_t whenNone) {
  Shape values = integers(index);
  if (values.empty())
    return Shape(count, whenNone);
  if (values.size() == 1)
    values.resize(count, values[0]);
  if (values.size() == count && !llvm::is_contained(values, ShapedType::kDynamic))
    return values;
  refuse("operand " + Twine(index) + ": expected " + Twine(count) + " constant integers");
  return Shape(count, whenNone);
}

int64_t Lowering::dimension(unsigned index, int64_t rank) {
  int64_t dim = integer(index);
  if (dim < 0)
    dim += std::max<int64_t>(rank, 1);
  if (require(dim >= 0 && dim < std::max<int64_t>(rank, 1),
              "dimension " + Twine(integer(index)) + " of a tensor of rank " +
                  Twine(rank)))
    return dim;
  return 0;
}

Shape Lowering::dimensions(unsigned index, int64_t rank) {
  Shape dims = integers(index);
  if (dims.empty())
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t &dim : dims) {
    if (dim < 0)
      dim += std::max<int64_t>(rank, 1);
    if (!require(dim >= 0 && dim < std::max<int64_t>(rank, 1),
                 "a dimension that the tensor of rank " + Twine(rank) + " does not have"))
      return {};
  }
  if (rank == 0)
    return {};
  llvm::sort(dims);
  if (!require(std::adjacent_find(dims.begin(), dims.end()) == dims.end(),
               "a dimension that is named twice"))
    return {};
  return dims;
}

Type Lowering::promote(ArrayRef<unsigned> operands) {
  // As torch.result_type: the highest of bool, integer and float decides; within it,
  // tensors that have dimensions go before those without, and these before numbers.
  struct Candidate {
    int category, priority;
    Type element;
  };
  SmallVector<Candidate> candidates;
  auto categoryOf = [](Type element) {
    return isa<FloatType>(element) ? 2 : element.isInteger(1) ? 0 : 1;
  };
  for (unsigned index : operands) {
    if (isTensor(index)) {
      Value value = getStored(index).value;
      candidates.push_back(
          {categoryOf(getElement(value)), getRank(value) ? 2 : 1, getElement(value)});
      continue;
    }
    Attribute scalar = index < size() ? getScalar(op->getOperand(index)) : Attribute();
    if (isa_and_nonnull<FloatAttr>(scalar))
      candidates.push_back({2, 0, builder.getF32Type()});
    else if (auto whole = dyn_cast_or_null<IntegerAttr>(scalar))
      candidates.push_back(whole.getType().isInteger(1)
                               ? Candidate{0, 0, builder.getI1Type()}
                               : Candidate{1, 0, builder.getI64Type()});
    else
      refuse("operand " + Twine(index) + ": expected a tensor or a constant number");
  }
  int category = 0, priority = 0;
  for (const Candidate &c : candidates)
    category = std::max(category, c.category);
  for (const Candidate &c : candidates)
    if (c.category == category)
      priority = std::max(priority, c.priority);
  Type result;
  for (const Candidate &c : candidates) {
    if (c.category != category || c.priority != priority || c.element == result)
      continue;
    unsigned width = c.element.getIntOrFloatBitWidth();
    if (!result || width > result.getIntOrFloatBitWidth())
      result = c.element;
    else if (width == result.getIntOrFloatBitWidth())
      result = builder.getF32Type(); // f16 and bf16
  }
  return result ? result : builder.getF32Type();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

RankedTensorType Lowering::resultType(unsigned index) {
  if (index < op->getNumResults())
    if (RankedTensorType type = convertTensorType(op->getResult(index).getType()))
      return type;
  refuse("result " + Twine(index) + ": expected a tensor of known shape and type");
  return RankedTensorType::get({}, builder.getF32Type());
}

/// What the dimensions of `type` are in the order [N, H, W, C].
static RankedTensorType getChannelsLastType(RankedTensorType type) {
  Shape shape;
  for (int64_t dim : toChannelsLast)
    shape.push_back(type.getDimSize(dim));
  return type.clone(shape);
}

void Lowering::set(Value value, unsigned index) {
  if (index >= op->getNumResults())
    return;
  RankedTensorType expected = resultType(index);
  bool stored = channelsLast && expected.getRank() == 4 && getRank(value) == 4;
  RankedTensorType type = getType(value);
  RankedTensorType wanted = stored ? getChannelsLastType(expected) : expected;
  if (type.getElementType() != wanted.getElementType()) {
    value = cast(value, wanted.getElementType());
    type = getType(value);
  }
  if (!refusal.empty())
    return;
  if (type != wanted) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "its result is " << type << " where the graph says " << wanted;
    return refuse(text);
  }
  graph.tensors[op->getResult(index)] = {value, stored};
}

void Lowering::setChannelsLast(Value value, unsigned index) {
  channelsLast = true;
  set(value, index);
  channelsLast = false;
}

void Lowering::setList(ArrayRef<Value> values) {
  SmallVector<Tensor> &list = graph.lists[op->getResult(0)];
  list.clear();
  for (Value value : values)
    list.push_back({value});
}

void Lowering::update(unsigned operand, Value value) {
  if (isNone(operand))
    return;
  Value state = op->getOperand(operand);
  graph.updates[state] = value;
  graph.tensors[state] = {value};
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

RankedTensorType Lowering::broadcastType(ValueRange values, Type element) {
  Shape shape;
  for (Value value : values) {
    ArrayRef<int64_t> other = getShape(value);
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    size_t offset = shape.size() - other.size();
    for (auto [i, size] : llvm::enumerate(other)) {
      int64_t &mine = shape[offset + i];
      if (mine == 1)
        mine = size;
      else
        require(size == 1 || size == mine, "operands whose shapes do not broadcast");
    }
  }
  return RankedTensorType::get(shape, element);
}

Value Lowering::constant(double value, Type element, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, element);
  if (!type.hasStaticShape()) {
    refuse("a constant tensor of open shape");
    type = RankedTensorType::get({}, element);
  }
  Attribute attribute;
  if (auto real = dyn_cast<FloatType>(element))
    attribute = builder.getFloatAttr(real, value);
  else
    attribute = builder.getIntegerAttr(
        element, element.isInteger(1) ? value != 0 : static_cast<int64_t>(value));
  return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, attribute));
}

Value Lowering::floats(ArrayRef<double> values, Type element, ArrayRef<int64_t> shape) {
  SmallVector<Attribute> attributes;
  for (double value : values)
    attributes.push_back(builder.getFloatAttr(element, value));
  return ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get(shape, element), attributes));
}

Value Lowering::cast(Value x, Type element) {
  if (getElement(x) == element)
    return x;
  return CastOp::create(builder, loc, getType(x).clone(element), x);
}

Value Lowering::reshape(Value x, ArrayRef<int64_t> shape) {
  RankedTensorType type = getType(x);
  if (type.getShape() == shape)
    return x;
  auto result = RankedTensorType::get(shape, type.getElementType());
  if (type.hasStaticShape() && result.hasStaticShape() &&
      type.getNumElements() != result.getNumElements()) {
    refuse("a reshape that changes the number of elements");
    return constant(0, type.getElementType(), shape);
  }
  return ReshapeOp::create(builder, loc, result, x);
}

Value Lowering::transpose(Value x, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return x;
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(getShape(x)[dim]);
  return TransposeOp::create(builder, loc, getType(x).clone(shape), x, permutation);
}

Value Lowering::moveToLast(Value x, int64_t from) {
  Shape permutation;
  for (int64_t dim : llvm::seq<int64_t>(0, getRank(x)))
    if (dim != from)
      permutation.push_back(dim);
  if (getRank(x))
    permutation.push_back(from);
  return transpose(x, permutation);
}

Value Lowering::moveFromLast(Value x, int64_t to) {
  if (getRank(x) == 0)
    return x;
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, getRank(x) - 1));
  permutation.insert(permutation.begin() + to, getRank(x) - 1);
  return transpose(x, permutation);
}

Value Lowering::broadcast(Value x, ArrayRef<int64_t> shape) {
  if (getShape(x) == shape)
    return x;
  size_t rank = getRank(x);
  bool fits = rank <= shape.size();
  for (size_t i = 0; fits && i < rank; ++i) {
    int64_t size = getShape(x)[i];
    fits = size == 1 || size == shape[shape.size() - rank + i];
  }
  if (!require(fits, "a broadcast to a shape that does not fit"))
    return constant(0, getElement(x), shape);
  return BroadcastOp::create(builder, loc, getType(x).clone(shape), x);
}

Value Lowering::slice(Value x, int64_t dim, int64_t begin, int64_t size, int64_t stride) {
  ArrayRef<int64_t> shape = getShape(x);
  if (begin == 0 && size == shape[dim] && stride == 1)
    return x;
  if (!require(!ShapedType::isDynamic(shape[dim]), "a slice of an open dimension") ||
      !require(begin >= 0 && size >= 0 && stride >= 1 &&
                   (size == 0 || begin + (size - 1) * stride < shape[dim]),
               "a slice outside of the tensor"))
    return x;
  Shape offsets(shape.size(), 0), sizes(shape), strides(shape.size(), 1), result(shape);
  for (int64_t &length : sizes)
    if (ShapedType::isDynamic(length))
      length = -1;
  offsets[dim] = begin;
  sizes[dim] = result[dim] = size;
  strides[dim] = stride;
  return SliceOp::create(builder, loc, getType(x).clone(result), x, offsets, sizes,
                         strides);
}

Value Lowering::concat(ArrayRef<Value> inputs, int64_t dim) {
  if (inputs.size() == 1)
    return inputs[0];
  Shape shape(getShape(inputs[0]));
  shape[dim] = 0;
  for (Value input : inputs)
    shape[dim] += getShape(input)[dim];
  return ConcatOp::create(builder, loc, getType(inputs[0]).clone(shape), inputs, dim);
}

Value Lowering::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, double value,
                    ArrayRef<int64_t> interior) {
  Shape shape(getShape(x));
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t between = interior.empty() ? 0 : interior[i];
    int64_t added = low[i] + high[i] + std::max<int64_t>(shape[i] - 1, 0) * between;
    if (added != 0 &&
        !require(!ShapedType::isDynamic(shape[i]), "padding an open dimension"))
      return x;
    if (added != 0)
      shape[i] += added;
  }
  return PadOp::create(
      builder, loc, getType(x).clone(shape), x, builder.getDenseI64ArrayAttr(low),
      builder.getDenseI64ArrayAttr(high),
      interior.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(interior),
      f64(value));
}

Value Lowering::iota(ArrayRef<int64_t> shape, int64_t axis, Type element) {
  auto type = RankedTensorType::get(shape, element);
  if (!require(type.hasStaticShape(), "indices of an open dimension"))
    return constant(0, element);
  return IotaOp::create(builder, loc, type, axis);
}

Value Lowering::reverse(Value x, int64_t dim) {
  int64_t size = getShape(x)[dim];
  if (!require(size <= 1024, "reversing a dimension of more than 1024 elements"))
    return x;
  SmallVector<Value> parts;
  for (int64_t i = size; i-- > 0;)
    parts.push_back(slice(x, dim, i, 1));
  return parts.size() > 1 ? concat(parts, dim) : x;
}

Value Lowering::abs(Value x) {
  if (isa<FloatType>(getElement(x)))
    return unary<AbsOp>(x);
  return binary<MaximumOp>(x, neg(x));
}

Value Lowering::compare(ComparePredicate predicate, Value a, Value b) {
  return CompareOp::create(builder, loc, broadcastType({a, b}, builder.getI1Type()), a, b,
                           predicate);
}

Value Lowering::where(Value condition, Value a, Value b) {
  // There is no choice between truth values.
  if (getElement(a).isInteger(1))
    return cast(
        where(condition, cast(a, builder.getI8Type()), cast(b, builder.getI8Type())),
        builder.getI1Type());
  return WhereOp::create(builder, loc, broadcastType({condition, a, b}, getElement(a)),
                         condition, a, b);
}

Value Lowering::expm1(Value x) {
  // e^x - 1 = 2 t / (1 - t) with t = tanh(x / 2).
  Value small = compare(ComparePredicate::LT, abs(x), 1.0);
  Value t = unary<TanhOp>(mul(where(small, x, number(x, 0)), 0.5));
  Value near = div(mul(t, 2.0), sub(number(x, 1), t));
  Value far = add(unary<ExpOp>(x), -1.0);
  return where(small, near, far);
}

Value Lowering::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  if (axes.empty())
    return x;
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(getShape(x))) {
    if (!llvm::is_contained(axes, dim))
      shape.push_back(size);
    else if (keepDims)
      shape.push_back(1);
  }
  return ReduceOp::create(builder, loc, getType(x).clone(shape), x, kind, axes, keepDims,
                          TypeAttr());
}

Value Lowering::matmul(Value a, Value b, bool transposeA, bool transposeB) {
  Shape shape(getShape(a).drop_back(2));
  int64_t rankA = getRank(a), rankB = getRank(b);
  shape.push_back(getShape(a)[rankA - (transposeA ? 1 : 2)]);
  shape.push_back(getShape(b)[rankB - (transposeB ? 2 : 1)]);
  int64_t inner = getShape(a)[rankA - (transposeA ? 2 : 1)];
  require(inner == getShape(b)[rankB - (transposeB ? 1 : 2)],
          "a matmul of matrices that do not fit");
  return MatmulOp::create(builder, loc, getType(a).clone(shape), a, b, transposeA,
                          transposeB, TypeAttr());
}

Value Lowering::linear(Value x, Value weight, Value bias) {
  if (!require(getRank(x) >= 1 && getRank(weight) == 2, "a linear layer of these ranks"))
    return x;
  Shape shape(getShape(x));
  if (shape.back() != getShape(weight)[1]) {
    refuse("a linear layer whose weight does not fit");
    return x;
  }
  shape.back() = getShape(weight)[0];
  Value rows = getRank(x) == 1 ? reshape(x, {1, getShape(x)[0]}) : x;
  Value y;
  if (bias) {
    Shape rowsShape(getShape(rows));
    rowsShape.back() = shape.back();
    y = LinearOp::create(builder, loc, getType(x).clone(rowsShape), rows, weight, bias,
                         Epilogue::None, TypeAttr(), /*transpose_weight=*/true);
  } else {
    y = matmul(rows, weight, false, true);
  }
  return reshape(y, shape);
}

Value Lowering::softmax(Value x, int64_t dim, bool log) {
  if (getRank(x) == 0)
    return log ? sub(x, x) : constant(1, getElement(x));
  Value last = moveToLast(x, dim);
  Value y = log ? unary<LogSoftmaxOp>(last) : unary<SoftmaxOp>(last);
  return moveFromLast(y, dim);
}

Value Lowering::oneHot(Value x, int64_t size) {
  Shape shape(getShape(x));
  shape.push_back(1);
  Value classes = iota({size}, 0, getElement(x));
  return compare(ComparePredicate::EQ, reshape(x, shape), classes);
}

Value Lowering::gather(Value table, Value indices) {
  Shape shape(getShape(indices));
  llvm::append_range(shape, getShape(table).drop_front());
  Type element = getElement(indices);
  if (!element.isInteger(32) && !element.isInteger(64))
    indices = cast(indices, builder.getI64Type());
  return GatherOp::create(builder, loc, getType(table).clone(shape), table, indices);
}

Value Lowering::wrap(Value indices, int64_t size) {
  return where(compare(ComparePredicate::LT, indices, 0.0),
               add(indices, static_cast<double>(size)), indices);
}

std::pair<Value, Value> Lowering::getRandomState() {
  if (!graph.seed) {
    Block &entry = graph.function.front();
    auto add = [&](StringRef name) {
      auto type = RankedTensorType::get({}, builder.getI64Type());
      unsigned index = graph.function.getNumArguments();
      NamedAttrList attributes;
      attributes.set("mpt.name", builder.getStringAttr(name));
      attributes.set("mpt.role", builder.getStringAttr("rng"));
      attributes.set("mpt.init", builder.getDictionaryAttr(builder.getNamedAttr(
                                     "kind", builder.getStringAttr("zeros"))));
      (void)graph.function.insertArgument(index, type,
                                          attributes.getDictionary(op->getContext()),
                                          graph.function.getLoc());
      return entry.getArgument(index);
    };
    graph.seed = add("seed");
    graph.attempt = add("attempt");
  }
  return {graph.seed, graph.attempt};
}

Value Lowering::randomMask(ArrayRef<int64_t> shape, double rate) {
  auto [seed, attempt] = getRandomState();
  auto type = RankedTensorType::get(shape, builder.getI1Type());
  if (!require(type.hasStaticShape(), "random numbers of open shape") ||
      !require(rate >= 0 && rate < 1, "a probability outside of [0, 1)"))
    return constant(1, builder.getI1Type());
  return RandomMaskOp::create(builder, loc, type, seed, attempt, f64(rate),
                              builder.getI64IntegerAttr(graph.nextStream++),
                              builder.getDenseI64ArrayAttr(shape));
}

Value Lowering::randomBits(ArrayRef<int64_t> shape) {
  auto [seed, attempt] = getRandomState();
  auto type = RankedTensorType::get(shape, builder.getIntegerType(16));
  if (!require(type.hasStaticShape(), "random numbers of open shape"))
    return constant(0, type.getElementType());
  return RandomBitsOp::create(builder, loc, type, seed, attempt,
                              builder.getI64IntegerAttr(graph.nextStream++),
                              builder.getDenseI64ArrayAttr(shape));
}

Value Lowering::dropout(Value x, double p, Value *mask) {
  if (p == 1)
    return constant(0, getElement(x), getShape(x));
  if (!require(p >= 0 && p < 1, "a probability of dropout outside of [0, 1]"))
    return x;
  auto [seed, attempt] = getRandomState();
  auto dropout = DropoutOp::create(
      builder, loc, x.getType(), getType(x).clone(builder.getI1Type()), x, seed, attempt,
      f64(p), builder.getI64IntegerAttr(graph.nextStream++));
  if (mask)
    *mask = dropout.getMask();
  return dropout.getY();
}
