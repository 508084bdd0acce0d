//===- JITEngine.h - The compiled CPU engine -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_JITENGINE_H
#define MPT_HOST_JITENGINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mpt/Host/StepEngine.h"

namespace mpt {

struct JITOptions {
  /// 0: as many as the machine has.
  int threads = 0;
  /// Measure every launch and call of each run.
  bool profile = false;
  /// Most bytes of the program; 0: what this process can have
  /// (mpt/ProgramABI/SystemMemory.h).
  int64_t memoryLimit = 0;
};

/// Plans and compiles the function `name` of `module` for this machine and opens
/// it with the runtime. `module` is consumed: its other functions are erased. The
/// error is the first diagnostic of whatever pass or check failed, with its place.
llvm::Expected<std::unique_ptr<StepEngine>>
createJITEngine(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef name,
                const JITOptions &options);

} // namespace mpt

#endif // MPT_HOST_JITENGINE_H
