//===- ProgramOps.cpp - The ops of planned programs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mpt;

#include "mpt/Dialect/Program/IR/LibraryCallOpInterface.cpp.inc"

#define GET_OP_CLASSES
#include "mpt/Dialect/Program/IR/ProgramOps.cpp.inc"

/// The outputs `first`, .., `last`, which follow each other.
static MutableOperandRange getInits(OpOperand &first, OpOperand &last) {
  unsigned begin = first.getOperandNumber();
  return MutableOperandRange(first.getOwner(), begin,
                             last.getOperandNumber() + 1 - begin);
}

MutableOperandRange program::AttentionOp::getDpsInitsMutable() {
  return getInits(getResultMutable(), getLogSumExpMutable());
}

MutableOperandRange program::AttentionGradOp::getDpsInitsMutable() {
  return getInits(getDqueryMutable(), getDvalueMutable());
}
