//===- MPTOps.cpp - Generated code of the mpt ops ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"
#include "TypeInference.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/IR/ScalarBuilder.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

// For the code in the ops' records.
using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

#include "mpt/Dialect/MPT/IR/ElementwiseOpInterface.cpp.inc"

#define GET_OP_CLASSES
#include "mpt/Dialect/MPT/IR/MPTOps.cpp.inc"
