//===- JITEngine.h - Functions compiled in this process -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_JITENGINE_H
#define MPT_HOST_JITENGINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mpt/Host/RuntimeEngine.h"

namespace mpt {

struct JITOptions : RuntimeOptions {
  /// Most bytes of a program for the CPU; 0: what this process can have
  /// (mpt/ProgramABI/SystemMemory.h).
  int64_t memoryLimit = 0;
  /// Compile for the GPU that `RuntimeOptions` choose, and run there.
  bool isCuda = false;
  /// With `isCuda`, as CudaOptions has them (mpt/Codegen/CodeGen.h).
  std::string toolkit;
  bool emulatedKernels = false;
  /// On an sm_90 alone.
  bool warpgroupAttention = false;
  /// With `isCuda`, tunes and no tuningFile: the folder of a file for each step, named
  /// by its digest, that keeps which algorithms of its matmuls are the fastest. It is
  /// made if it is not there. "", or where it cannot be written: nothing is kept, and
  /// so nothing measured.
  std::string tuningFolder;
};

/// mpt/tuning in the user's folder for caches: $XDG_CACHE_HOME, or ~/.cache if that is
/// not an absolute path; "" if the user has no home either.
std::string getUserTuningFolder();

/// Plans and compiles the function `name` of `module` for this machine's CPU, or its GPU,
/// and opens it with the runtime. `module` is consumed: its other functions are erased.
/// The error is the first diagnostic of whatever pass or check failed, with its place.
llvm::Expected<std::unique_ptr<RuntimeEngine>>
createJITEngine(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef name,
                const JITOptions &options);

} // namespace mpt

#endif // MPT_HOST_JITENGINE_H
