//===- ProgramDialect.cpp - Registration of the mpt_program dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../MPT/IR/StrictModel.h"
#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpt;

#include "mpt/Dialect/Program/IR/ProgramDialect.cpp.inc"
#include "mpt/Dialect/Program/IR/ProgramEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mpt/Dialect/Program/IR/ProgramAttrs.cpp.inc"

void program::ProgramDialect::initialize() {
  mpt::detail::addStrictOperations<
#define GET_OP_LIST
#include "mpt/Dialect/Program/IR/ProgramOps.cpp.inc"
      >(this);
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mpt/Dialect/Program/IR/ProgramAttrs.cpp.inc"
      >();
}
