/*===- Error.h - Errors of the C API ------------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the MPT project, under the Apache License v2.0 with LLVM           *|
|* Exceptions.                                                                *|
|* See LICENSE.                                                               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* MPT's C API builds on MLIR's (mlir-c): contexts, modules and strings are   *|
|* MlirContext, MlirModule and MlirStringRef. It has MLIR's conventions:      *|
|*                                                                            *|
|*  - A handle is a struct with one pointer. The pointer of a null handle is  *|
|*    NULL.                                                                   *|
|*  - What mpt...Create, mpt...Open and mpt...Parse give belongs to the       *|
|*    caller, who ends it with mpt...Destroy. Destroying a null handle does   *|
|*    nothing. Destroying twice, and using what was destroyed, is undefined.  *|
|*  - Strings that are returned live as long as the object that they are of,  *|
|*    and end in a zero byte that is not counted.                             *|
|*                                                                            *|
|* A function that can fail returns an MptError: null on success. A null      *|
|* handle where an object is expected is such an error; getters return an     *|
|* empty string, 0 or a null handle then. Results are set on success alone.   *|
|*                                                                            *|
|* No function prints, aborts or throws, with one exception: LLVM's option    *|
|* parser prints a line to standard error about a value that an option of a   *|
|* pass cannot take (mptModuleRunPipeline). While a function runs, the        *|
|* context's errors are collected in the MptError. Warnings and remarks go to *|
|* the handlers that the caller has attached with                             *|
|* mlirContextAttachDiagnosticHandler.                                        *|
|*                                                                            *|
|* An object, and a context with all of its modules, belongs to one thread at *|
|* a time.                                                                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MPT_C_ERROR_H
#define MPT_C_ERROR_H

#include "mlir-c/Diagnostics.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MptError {
  void *ptr;
} MptError;

/* One message of the compiler. `line` and `column` count from 1; they are 0 where no
 * place in the file is known. `file` is empty where no file is. */
typedef struct MptDiagnostic {
  MlirDiagnosticSeverity severity;
  MlirStringRef file;
  intptr_t line;
  intptr_t column;
  MlirStringRef message;
} MptDiagnostic;

/* True on success. */
static inline bool mptErrorIsNull(MptError error) { return !error.ptr; }

MLIR_CAPI_EXPORTED void mptErrorDestroy(MptError error);

/* The whole error in one text: the first diagnostic with its place, as
 * "model.mlir:3:5: message". */
MLIR_CAPI_EXPORTED MlirStringRef mptErrorGetText(MptError error);

/* Diagnostics in the order in which they came: errors, each with its notes after it. An
 * error has at least one. A null error has none. */
MLIR_CAPI_EXPORTED intptr_t mptErrorGetNumDiagnostics(MptError error);
MLIR_CAPI_EXPORTED MptDiagnostic mptErrorGetDiagnostic(MptError error, intptr_t index);

#ifdef __cplusplus
}
#endif

#endif /* MPT_C_ERROR_H */
