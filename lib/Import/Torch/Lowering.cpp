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
      .Case("complex<f64>", ComplexType::get(Float64Type::get(context)))
      .Case("complex<f32>", ComplexType::get(Float32Type::get(context)))
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

RankedTensorType mpt::torch::getPartType(RankedTensorType type) {
  auto complex = dyn_cast<ComplexType>(type.getElementType());
  return complex ? type.clone(complex.getElementType()) : type;
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

Tensor Lowering::select(Tensor tensor, Part part) {
  if (!tensor.imaginary && part != Part::Imaginary)
    return tensor;
  if (!tensor.imaginary)
    return {constant(0, getElement(tensor.value), getShape(tensor.value)),
            tensor.channelsLast};
  require(part != Part::Whole, "a complex operand where a real one is expected");
  return {part == Part::Imaginary ? tensor.imaginary : tensor.value, tensor.channelsLast};
}

std::optional<SmallVector<Tensor>> Lowering::findList(unsigned index) {
  if (index >= size())
    return std::nullopt;
  Value operand = op->getOperand(index);
  if (auto list = graph.lists.find(operand); list != graph.lists.end())
    return list->second;
  Operation *list = getDefiner(operand, "torch.prim.ListConstruct");
  if (!list)
    return std::nullopt;
  SmallVector<Tensor> tensors;
  for (Value item : list->getOperands())
    tensors.push_back(graph.tensors.lookup(item));
  return tensors;
}

SmallVector<bool> Lowering::areComplex(unsigned index) {
  return llvm::map_to_vector(findList(index).value_or(SmallVector<Tensor>()),
                             [](Tensor item) { return bool(item.imaginary); });
}

bool Lowering::isComplex(unsigned index) {
  if (isTensor(index))
    return bool(graph.tensors.lookup(op->getOperand(index)).imaginary);
  return llvm::is_contained(areComplex(index), true);
}

importer::Complex Lowering::getComplex(unsigned index, Type element) {
  auto saved = operandPart;
  auto getPart = [&](Part part) {
    operandPart = [part](unsigned, unsigned) { return part; };
    return get(index, element);
  };
  importer::Complex z{getPart(Part::Real), {}};
  if (isComplex(index))
    z.imaginary = getPart(Part::Imaginary);
  operandPart = saved;
  return z;
}

Tensor Lowering::getStored(unsigned index) {
  if (isTensor(index))
    return select(graph.tensors.lookup(op->getOperand(index)), getPart(index));
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
      if (getPart(index) == Part::Imaginary)
        return constant(0, element);
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
  std::optional<SmallVector<Tensor>> list = findList(index);
  if (!list) {
    refuse("operand " + Twine(index) +
           ": expected a list of tensors that the graph builds");
    return {};
  }
  Operation *construct = getDefiner(op->getOperand(index), "torch.prim.ListConstruct");
  for (auto [item, tensor] : llvm::enumerate(*list)) {
    if (tensor.value) {
      tensor = select(tensor, getPart(index, item));
    } else if (construct &&
               !getDefiner(construct->getOperand(item), "torch.constant.none")) {
      refuse("operand " + Twine(index) + ": expected tensors of known shape and type");
      return {};
    }
  }
  return *list;
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
  if (getPart(index) == Part::Imaginary)
    return 0;
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
      return getPartType(type);
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
  Tensor &result = graph.tensors[op->getResult(index)];
  if (resultPart != Part::Imaginary)
    result = {value, stored};
  else if (isa<ComplexType>(
               convertTensorType(op->getResult(index).getType()).getElementType()))
    result.imaginary = value;
}

void Lowering::set(importer::Complex value, unsigned index) {
  resultPart = Part::Real;
  set(value.real, index);
  resultPart = Part::Imaginary;
  if (refusal.empty())
    set(importer::getImaginary(*this, value), index);
  resultPart = Part::Whole;
}

void Lowering::setChannelsLast(Value value, unsigned index) {
  channelsLast = true;
  set(value, index);
  channelsLast = false;
}

void Lowering::setList(ArrayRef<Value> values) {
  SmallVector<Tensor> &list = graph.lists[op->getResult(0)];
  if (resultPart == Part::Imaginary) {
    if (require(list.size() == values.size(), "parts of other numbers"))
      for (auto [item, value] : llvm::zip_equal(list, values))
        item.imaginary = value;
    return;
  }
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
// Random numbers
//===----------------------------------------------------------------------===//

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
