//===- InitAll.h - Register everything of MPT -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One call each for tools and embedders: dialects (with their external
/// models) and passes (with the named pipelines). In the library MPTPipelines.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_INITALL_H
#define MPT_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mpt {

/// Registers the dialects of MPT, and what makes errors of the dialects around it
/// clearer.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass and pipeline of MPT.
void registerAllPasses();

} // namespace mpt

#endif // MPT_INITALL_H
