//===- MPTOps.cpp - Generated code of the mpt ops ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#define GET_OP_CLASSES
#include "mpt/Dialect/MPT/IR/MPTOps.cpp.inc"
