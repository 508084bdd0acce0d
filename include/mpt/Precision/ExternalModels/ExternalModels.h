//===- ExternalModels.h - Interfaces for MLIR's own dialects ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MLIR's ops that a rule table cannot describe get MPT's interfaces here:
/// linalg's structured ops, whose regions follow the types around them. A library
/// of its own, so that a tool without linalg does not link it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_EXTERNALMODELS_EXTERNALMODELS_H
#define MPT_PRECISION_EXTERNALMODELS_EXTERNALMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpt {

/// Attaches PrecisionOpInterface and ElementRegionOpInterface to the ops of
/// linalg (structured ops) and tensor (`tensor.pad`) when those are loaded.
void registerPrecisionExternalModels(mlir::DialectRegistry &registry);

} // namespace mpt

#endif // MPT_PRECISION_EXTERNALMODELS_EXTERNALMODELS_H
