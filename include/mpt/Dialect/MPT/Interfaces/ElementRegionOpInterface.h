//===- ElementRegionOpInterface.h - Scalar code in a region -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The op interface of ops that compute on single elements in a region, in addition to
/// PrecisionOpInterface: what autocast must know to change the types around it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_INTERFACES_ELEMENTREGIONOPINTERFACE_H
#define MPT_DIALECT_MPT_INTERFACES_ELEMENTREGIONOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "mpt/Dialect/MPT/Interfaces/ElementRegionOpInterface.h.inc"

#endif // MPT_DIALECT_MPT_INTERFACES_ELEMENTREGIONOPINTERFACE_H
