/*===- Module.h - From text to a compiled step ------------------*- C -*-===*\
|*                                                                            *|
|* Part of the MPT project, under the Apache License v2.0 with LLVM           *|
|* Exceptions.                                                                *|
|* See LICENSE.                                                               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MPT_C_MODULE_H
#define MPT_C_MODULE_H

#include "mlir-c/IR.h"
#include "mpt-c/Error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parses a module, as text or as bytecode, and verifies it. `name` is what places in it
 * are called, as "model.mlir". The caller owns `*module` and ends it with
 * mlirModuleDestroy. */
MLIR_CAPI_EXPORTED MptError mptModuleParse(MlirContext context, MlirStringRef text,
                                           MlirStringRef name, MlirModule *module);

/* Runs passes on `module`, as "mpt-autodiff,mpt-train-step{optimizer=adam}" or
 * "builtin.module(...)"; needs mptRegisterAllPasses. If a pass fails, the module is left
 * as that pass left it, and good for nothing but mlirModuleDestroy. */
MLIR_CAPI_EXPORTED MptError mptModuleRunPipeline(MlirModule module,
                                                 MlirStringRef pipeline);

/* Compiles a training step of `module`, another function with named arguments and
 * results, or a planned program, into the shared library at `path`, complete or not at
 * all. `options` are those of mpt-compile's command line that say how to compile:
 * "--function=loss", "--target=cuda", "--chip=sm_90" and so on (mpt-compile --help). The
 * module is not changed. Remarks that --remarks and --remarks-filter ask for go to the
 * context's diagnostic handlers. */
MLIR_CAPI_EXPORTED MptError mptModuleCompile(MlirModule module, intptr_t numOptions,
                                             const MlirStringRef *options,
                                             MlirStringRef path);

#ifdef __cplusplus
}
#endif

#endif /* MPT_C_MODULE_H */
