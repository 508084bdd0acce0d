//===- ForeignOps.cpp - Ops of StableHLO, which is not registered -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForeignOps.h"

using namespace mlir;
using namespace mpt::detail;

bool mpt::detail::isForeignOp(Operation *op, StringRef name) {
  StringRef full = op ? op->getName().getStringRef() : StringRef();
  return full.consume_front("stablehlo.") && full == name;
}

Value ForeignBuilder::make(StringRef name, ValueRange operands, Type type,
                           ArrayRef<NamedAttribute> attributes) {
  OperationState state(loc, ("stablehlo." + name).str());
  state.addOperands(operands);
  state.addTypes(type);
  if (!attributes.empty())
    state.propertiesAttr = builder.getDictionaryAttr(attributes);
  return builder.create(state)->getResult(0);
}

Value ForeignBuilder::makeConstant(RankedTensorType type, Attribute value) {
  return make("constant", {}, type,
              builder.getNamedAttr("value", DenseElementsAttr::get(type, value)));
}

Value ForeignBuilder::makeZeros(RankedTensorType type) {
  return makeConstant(type, builder.getZeroAttr(type.getElementType()));
}

Value ForeignBuilder::makeInteger(Type type, int64_t value) {
  auto tensor = cast<RankedTensorType>(type);
  return makeConstant(tensor, IntegerAttr::get(tensor.getElementType(), value));
}

Value ForeignBuilder::makeClamp(Value value, int64_t least, int64_t most) {
  Type type = value.getType();
  return make("clamp", {makeInteger(type, least), value, makeInteger(type, most)}, type);
}

Value ForeignBuilder::makeRow(Value whole, Value index) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> sizes(type.getShape());
  sizes[0] = 1;
  SmallVector<Value> operands = {whole, index};
  if (type.getRank() > 1)
    operands.append(type.getRank() - 1, makeInteger(index.getType(), 0));
  return make("dynamic_slice", operands, type.clone(sizes),
              getIntegers("slice_sizes", sizes));
}

Value ForeignBuilder::makeUpdate(Value whole, Value row, Value index) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<Value> operands = {whole, row, index};
  if (type.getRank() > 1)
    operands.append(type.getRank() - 1, makeInteger(index.getType(), 0));
  return make("dynamic_update_slice", operands, type);
}
