//===- StepFunction.cpp - Helpers of passes over step functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpt;

func::FuncOp mpt::detail::findStepFunction(ModuleOp module, StringRef name,
                                           StringRef pass) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function || function.isDeclaration()) {
    InFlightDiagnostic diagnostic =
        module.emitError(pass) << ": no function '" << name
                               << "' with a body; name one with function=";
    for (auto candidate : module.getOps<func::FuncOp>())
      diagnostic.attachNote(candidate.getLoc())
          << "there is '" << candidate.getName() << "'";
    return {};
  }
  if (!function.getBody().hasOneBlock()) {
    function.emitError(pass)
        << ": expected a function of one block, found "
        << function.getBody().getBlocks().size()
        << " (branches cannot be differentiated or planned)";
    return {};
  }
  return function;
}

BlockArgument mpt::detail::getNamedArgument(func::FuncOp function,
                                            StringRef name) {
  for (BlockArgument argument : function.getArguments())
    if (auto attribute = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), kNameAttr))
      if (attribute.getValue() == name)
        return argument;
  return {};
}

BlockArgument mpt::detail::addStepArgument(func::FuncOp function, Type type,
                                           StringRef name, StringRef role,
                                           DictionaryAttr init) {
  Builder builder(function.getContext());
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
      builder.getNamedAttr(kRoleAttr, builder.getStringAttr(role))};
  if (init)
    attributes.push_back(builder.getNamedAttr(kInitAttr, init));
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, type, builder.getDictionaryAttr(attributes),
                                function.getLoc());
  return function.getArgument(index);
}

void mpt::detail::addStepResult(func::FuncOp function, Value value,
                                StringRef name, StringRef updates) {
  Builder builder(function.getContext());
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kNameAttr, builder.getStringAttr(name))};
  if (!updates.empty())
    attributes.push_back(
        builder.getNamedAttr(kUpdatesAttr, builder.getStringAttr(updates)));
  (void)function.insertResult(function.getNumResults(), value.getType(),
                              builder.getDictionaryAttr(attributes));
  Operation *terminator = function.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), value);
}

DictionaryAttr mpt::detail::getZerosInit(MLIRContext *context) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      builder.getNamedAttr("kind", builder.getStringAttr("zeros")));
}

DictionaryAttr mpt::detail::getConstantInit(MLIRContext *context, double value) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("kind", builder.getStringAttr("constant")),
       builder.getNamedAttr("value", builder.getF64FloatAttr(value))});
}
