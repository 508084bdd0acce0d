//===- ReferenceEngine.h - The interpreter as an engine ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_REFERENCE_REFERENCEENGINE_H
#define MPT_REFERENCE_REFERENCEENGINE_H

#include "mlir/IR/OwningOpRef.h"
#include "mpt/Host/StepEngine.h"
#include "mpt/Reference/Interpreter.h"

namespace mpt {

/// An engine that interprets `@name` of `module`. In Float64 mode its state
/// holds doubles between runs, whatever the arguments' types. Errors are those
/// that the interpreter emits, with their place in the model. A function that needs
/// more than `memoryLimit` bytes (0: what this process can have) is refused.
llvm::Expected<std::unique_ptr<StepEngine>>
createReferenceEngine(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef name,
                      reference::Mode mode, int64_t memoryLimit = 0);

} // namespace mpt

#endif // MPT_REFERENCE_REFERENCEENGINE_H
