//===- MPTDialect.cpp - Registration of the mpt dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrictModel.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpt;

#include "mpt/Dialect/MPT/IR/MPTDialect.cpp.inc"
#include "mpt/Dialect/MPT/IR/MPTEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mpt/Dialect/MPT/IR/MPTAttrs.cpp.inc"

void MPTDialect::initialize() {
  detail::addStrictOperations<
#define GET_OP_LIST
#include "mpt/Dialect/MPT/IR/MPTOps.cpp.inc"
      >(this);
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mpt/Dialect/MPT/IR/MPTAttrs.cpp.inc"
      >();
  addBytecodeInterface();
}

Operation *MPTDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                           Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
