/*===- Registration.h - Dialects and passes ---------------------*- C -*-===*\
|*                                                                            *|
|* Part of the MPT project, under the Apache License v2.0 with LLVM           *|
|* Exceptions.                                                                *|
|* See LICENSE.                                                               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MPT_C_REGISTRATION_H
#define MPT_C_REGISTRATION_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds MPT's dialects, and those of MLIR that a step may also be written in (func, arith,
 * math, memref). Append the registry to a context before it parses. */
MLIR_CAPI_EXPORTED void mptRegisterAllDialects(MlirDialectRegistry registry);

/* Registers MPT's passes and named pipelines, and MLIR's general ones such as
 * canonicalize and cse, for the whole process. May be called again, and from any
 * thread. */
MLIR_CAPI_EXPORTED void mptRegisterAllPasses(void);

/* MPT's version, as "0.1.0". */
MLIR_CAPI_EXPORTED MlirStringRef mptGetVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* MPT_C_REGISTRATION_H */
