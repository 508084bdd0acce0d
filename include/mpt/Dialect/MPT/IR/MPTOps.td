//===- MPTOps.td - All ops of the mpt dialect -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPS_TD
#define MPT_DIALECT_MPT_IR_MPTOPS_TD

include "mpt/Dialect/MPT/IR/MPTOpsPointwise.td"
include "mpt/Dialect/MPT/IR/MPTOpsLinalg.td"
include "mpt/Dialect/MPT/IR/MPTOpsShape.td"
include "mpt/Dialect/MPT/IR/MPTOpsNN.td"
include "mpt/Dialect/MPT/IR/MPTOpsTraining.td"
include "mpt/Dialect/MPT/IR/MPTOpsCollectives.td"
include "mpt/Dialect/MPT/IR/MPTOpsGemm.td"
include "mpt/Dialect/MPT/IR/MPTOpsBlockScale.td"

#endif // MPT_DIALECT_MPT_IR_MPTOPS_TD
