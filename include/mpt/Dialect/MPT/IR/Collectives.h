//===- Collectives.h - Exchanges between ranks ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_COLLECTIVES_H
#define MPT_DIALECT_MPT_IR_COLLECTIVES_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

/// What collectives read and write in MLIR's model of side effects, so that none is
/// merged with another, removed, repeated or moved past another: all ranks must meet at
/// the same exchanges in the same order.
struct CommunicationResource : mlir::SideEffects::Resource::Base<CommunicationResource> {
  llvm::StringRef getName() final { return "<Communication>"; }
};

/// Whether `op` exchanges values between ranks. `mpt.rank` does not.
bool isCollective(mlir::Operation *op);

/// The mesh of the module around `op`; null if there is none.
MeshAttr getMesh(mlir::Operation *op);
/// The number of ranks along `axis` of the mesh of the module around `op`; nullopt if
/// there is no such axis.
std::optional<int64_t> getNumRanks(mlir::Operation *op, llvm::StringRef axis);

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_COLLECTIVES_H
