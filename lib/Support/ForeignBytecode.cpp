//===- ForeignBytecode.cpp - Bytecode with ops of other compilers -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/ForeignBytecode.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

/// The properties of an op that is not registered, or null.
static Attribute getForeignProperties(Operation *op) {
  return op->isRegistered() ? Attribute() : op->getPropertiesAsAttribute();
}

LogicalResult mpt::checkForeignProperties(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    if (!getForeignProperties(op))
      return WalkResult::advance();
    return op->emitError("'")
           << op->getName()
           << "' is not registered here, and bytecode has its properties in a form that "
              "only its dialect can read; expected MLIR's generic text "
              "(--mlir-print-op-generic), or bytecode of version 4 "
              "(--emit-bytecode-version=4)";
  });
  return failure(result.wasInterrupted());
}

LogicalResult mpt::moveForeignProperties(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    Attribute properties = getForeignProperties(op);
    if (!properties)
      return WalkResult::advance();
    auto dictionary = llvm::dyn_cast<DictionaryAttr>(properties);
    if (!dictionary)
      return op->emitError("cannot write '")
             << op->getName()
             << "' as bytecode: expected properties that are a dictionary, "
             << "found " << properties;
    NamedAttrList attributes(op->getDiscardableAttrDictionary());
    for (NamedAttribute each : dictionary)
      attributes.set(each.getName(), each.getValue());
    op->setDiscardableAttrs(attributes.getDictionary(op->getContext()));
    return op->setPropertiesFromAttribute(Attribute(), {});
  });
  return failure(result.wasInterrupted());
}
