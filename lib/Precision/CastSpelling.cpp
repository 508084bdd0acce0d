//===- CastSpelling.cpp - Casts as each dialect writes them -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CastSpelling.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Precision/PrecisionGraph.h"

using namespace mlir;
using namespace mpt;

/// The codes of c10::ScalarType (c10/core/ScalarType.h of PyTorch).
static int64_t getTorchCode(FloatType type) {
  return type.isF16() ? 5 : type.isBF16() ? 15 : type.isF64() ? 7 : 6;
}

/// The block that the function around `block` begins with.
static Block *getEntryBlock(Block *block) {
  Region *region = block->getParent();
  while (Operation *op = region->getParentOp()) {
    if (op->hasTrait<OpTrait::IsIsolatedFromAbove>() || !op->getBlock())
      break;
    region = op->getParentRegion();
  }
  return &region->front();
}

void CastBuilder::addTorchOperands(OpBuilder &builder, OperationState &state) {
  MLIRContext *context = builder.getContext();
  Block *entry = getEntryBlock(builder.getInsertionBlock());
  TorchConstants &constants = torchConstants[entry];
  auto add = [&](Value &constant, StringRef name, StringRef type, Attribute value) {
    if (!constant) {
      OpBuilder atEntry(context);
      if (constants.last)
        atEntry.setInsertionPointAfter(constants.last);
      else
        atEntry.setInsertionPointToStart(entry);
      OperationState made(state.location, name);
      made.addTypes(parseType(type, context));
      if (value)
        made.addAttribute("value", value);
      constants.last = atEntry.create(made);
      constant = constants.last->getResult(0);
    }
    state.addOperands(constant);
  };
  int64_t code = getTorchCode(ElementTypes().getFloat(state.types.front()));
  add(constants.dtypes[code], "torch.constant.int", "!torch.int",
      builder.getI64IntegerAttr(code));
  // Whether the copy may overlap with others, whether it must be one, and its
  // layout.
  add(constants.no, "torch.constant.bool", "!torch.bool", builder.getBoolAttr(false));
  add(constants.no, "torch.constant.bool", "!torch.bool", builder.getBoolAttr(false));
  add(constants.none, "torch.constant.none", "!torch.none", {});
  // A cast of a function's argument would come before them.
  if (builder.getInsertionBlock() == entry && isa<BlockArgument>(state.operands.front()))
    builder.setInsertionPointAfter(constants.last);
}

Value CastBuilder::make(OpBuilder &builder, Location loc, const DialectSpelling *spelling,
                        Type type, Value value, bool widens, bool isOwn) {
  if (!spelling)
    return CastOp::create(builder, loc, type, value,
                          isOwn ? builder.getUnitAttr() : UnitAttr());
  std::unique_ptr<Form> &form = forms[widens][isOwn][spelling];
  if (!form) {
    StringRef name =
        widens && !spelling->castUpOp.empty() ? spelling->castUpOp : spelling->castOp;
    NamedAttrList attributes;
    if (!spelling->castAttributes.empty())
      if (auto parsed = dyn_cast_or_null<DictionaryAttr>(
              parseAttribute(spelling->castAttributes, builder.getContext())))
        attributes.append(parsed.getValue());
    if (isOwn)
      attributes.set(kOwnCastAttr, builder.getUnitAttr());
    OperationName opName(name, builder.getContext());
    opName.populateDefaultAttrs(attributes);
    form.reset(new Form{opName, attributes.getDictionary(builder.getContext())});
  }
  if (spelling->castForm.empty())
    return builder
        .insert(Operation::create(loc, form->name, type, value, form->attributes,
                                  /*properties=*/nullptr, /*successors=*/{},
                                  /*numRegions=*/0))
        ->getResult(0);
  OperationState state(loc, form->name);
  state.addOperands(value);
  state.addTypes(type);
  state.attributes = NamedAttrList(form->attributes);
  if (spelling->castForm == "torch")
    addTorchOperands(builder, state);
  else if (spelling->castForm == "onnx")
    state.addAttribute("to", TypeAttr::get(ElementTypes().getFloat(type)));
  return builder.create(state)->getResult(0);
}
