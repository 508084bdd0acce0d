//===- DifferentiableOpInterface.h - Reverse-mode rules ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The op interface through which `--mpt-autodiff` asks an op for its
/// vector-Jacobian product.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
#define MPT_DIALECT_MPT_INTERFACES_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "mpt/Dialect/MPT/Interfaces/DifferentiableOpInterface.h.inc"

#endif // MPT_DIALECT_MPT_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
