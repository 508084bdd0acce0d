//===- ElementTypes.cpp - The float in a tensor type -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/ElementTypes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mpt/Support/ThreadDiagnosticHandler.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpt;

constexpr uint64_t kMostElements = uint64_t(1) << 40;

static FloatType parseFloat(MLIRContext *context, StringRef word) {
  if (word == "f16")
    return Float16Type::get(context);
  if (word == "bf16")
    return BFloat16Type::get(context);
  if (word == "f32")
    return Float32Type::get(context);
  if (word == "f64")
    return Float64Type::get(context);
  return {};
}

namespace {
/// The parts of a tensor type that its dialect spells `vtensor<[2,3],f32>` or
/// `tensor<[2,3],f32,...>`: the text before the element type and after it.
struct SpelledTensor {
  StringRef before, element, after, dims;
};
} // namespace

/// What `data`, the text of a type, says of one item if it is a list.
static bool stripList(StringRef &data) {
  if (!data.consume_front("list<"))
    return false;
  data.consume_front("optional<");
  return true;
}

static bool startsWithTensor(StringRef data) {
  data.consume_front("v");
  return data.starts_with("tensor");
}

/// `list<vtensor>`, which says nothing of its tensors.
static bool isUntyped(OpaqueType type) {
  StringRef data = type.getTypeData();
  return data == "list<vtensor>" || data == "list<tensor>";
}

/// Of a tensor, or of a list of tensors.
static std::optional<SpelledTensor> splitSpelled(OpaqueType type) {
  StringRef data = type.getTypeData(), item = data;
  stripList(item);
  if (!item.starts_with("vtensor<[") && !item.starts_with("tensor<["))
    return std::nullopt;
  size_t open = data.find('['), close = data.find("],", open);
  if (close == StringRef::npos)
    return std::nullopt;
  size_t begin = close + 2;
  size_t end = data.find_first_of(",>", begin);
  if (end == StringRef::npos)
    return std::nullopt;
  return SpelledTensor{data.take_front(begin), data.slice(begin, end),
                       data.drop_front(end), data.slice(open + 1, close)};
}

static SmallVector<int64_t> readDims(const SpelledTensor &tensor) {
  SmallVector<int64_t> shape;
  SmallVector<StringRef> dims;
  tensor.dims.split(dims, ',', -1, false);
  for (StringRef dim : dims) {
    int64_t size;
    const bool isStatic = !dim.trim().getAsInteger(10, size) && size >= 0;
    shape.push_back(isStatic ? size : ShapedType::kDynamic);
  }
  return shape;
}

constexpr StringLiteral kHandle = "variant";

/// The tensor type in `variant<tensor<..>>`, a handle to a list; null if `type`
/// is nothing like it.
static TensorType getListElement(OpaqueType type) {
  StringRef data = type.getTypeData();
  if (!data.consume_front(kHandle) || !data.consume_front("<") || !data.consume_back(">"))
    return {};
  // Text that is not a type is not an error here: it is not a list.
  ThreadDiagnosticHandler silent(type.getContext(), [](Diagnostic &) {});
  return dyn_cast_or_null<TensorType>(parseType(data, type.getContext()));
}

/// True if `type` says nothing of the list.
static bool isOpenHandle(OpaqueType type) { return type.getTypeData() == kHandle; }

static uint64_t countElements(ArrayRef<int64_t> shape) {
  uint64_t count = 1;
  for (int64_t size : shape) {
    if (size == 0)
      return 0;
    if (ShapedType::isDynamic(size))
      continue;
    count = count > kMostElements / size ? kMostElements : count * size;
  }
  return count;
}

ElementTypes::Info ElementTypes::find(Type type) {
  auto [entry, isNew] = known.try_emplace(type);
  if (!isNew)
    return entry->second;
  Info &info = entry->second;
  if (isa<RankedTensorType, UnrankedTensorType, VectorType>(type)) {
    auto shaped = cast<ShapedType>(type);
    if (auto handle = dyn_cast<OpaqueType>(shaped.getElementType())) {
      if (TensorType element = getListElement(handle)) {
        info.element = dyn_cast<FloatType>(element.getElementType());
        info.list = info.element ? List::Known : List::None;
      } else if (isOpenHandle(handle)) {
        info.list = List::Open;
      }
      return info;
    }
    info.element = dyn_cast<FloatType>(shaped.getElementType());
    info.elements = shaped.hasRank() ? countElements(shaped.getShape()) : 1;
  } else if (auto opaque = dyn_cast<OpaqueType>(type)) {
    if (std::optional<SpelledTensor> tensor = splitSpelled(opaque)) {
      info.element = parseFloat(type.getContext(), tensor->element);
      StringRef data = opaque.getTypeData();
      if (stripList(data))
        info.list = info.element ? List::Known : List::None;
      else
        info.elements = countElements(readDims(*tensor));
    } else if (isUntyped(opaque)) {
      info.list = List::Untyped;
    } else if (StringRef data = opaque.getTypeData();
               stripList(data) && data.contains("tensor")) {
      info.list = List::Open;
    }
  }
  return info;
}

bool ElementTypes::isUntypedTensor(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  if (!opaque || !startsWithTensor(opaque.getTypeData()))
    return false;
  std::optional<SpelledTensor> tensor = splitSpelled(opaque);
  return !tensor || tensor->element == "unk";
}

std::optional<SmallVector<int64_t>> ElementTypes::getShape(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!shaped.hasRank())
      return std::nullopt;
    return SmallVector<int64_t>(shaped.getShape());
  }
  if (auto opaque = dyn_cast<OpaqueType>(type))
    if (std::optional<SpelledTensor> tensor = splitSpelled(opaque))
      return readDims(*tensor);
  return std::nullopt;
}

Type ElementTypes::clone(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!isa<RankedTensorType, UnrankedTensorType, VectorType>(type))
      return {};
    if (isa<FloatType>(shaped.getElementType()))
      return shaped.clone(element);
    auto handle = dyn_cast<OpaqueType>(shaped.getElementType());
    TensorType held = handle ? getListElement(handle) : TensorType();
    if (!held || !isa<FloatType>(held.getElementType()))
      return {};
    std::string text;
    llvm::raw_string_ostream(text) << kHandle << "<" << held.clone(element) << ">";
    return shaped.clone(OpaqueType::get(handle.getDialectNamespace(), text));
  }
  auto opaque = dyn_cast<OpaqueType>(type);
  std::optional<SpelledTensor> tensor;
  if (opaque)
    tensor = splitSpelled(opaque);
  if (opaque && isUntyped(opaque))
    return type;
  if (!tensor || !parseFloat(type.getContext(), tensor->element))
    return {};
  std::string text;
  llvm::raw_string_ostream(text) << tensor->before << element << tensor->after;
  return OpaqueType::get(opaque.getDialectNamespace(), text);
}
