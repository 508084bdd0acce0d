//===- CodeGen.h - Programs as machine code -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_EXECUTIONENGINE_CODEGEN_H
#define MPT_EXECUTIONENGINE_CODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace mpt {

/// The machine that code is generated for: `cpu` as for -mcpu ("native": this
/// one, with its features). x86-64 only.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(llvm::StringRef cpu);

/// Makes `module` (with one `mpt.program`, or one step function, which is
/// planned first) LLVM IR, optimized for `machine`.
llvm::Expected<std::unique_ptr<llvm::Module>>
compileToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
              llvm::TargetMachine &machine, int64_t maxThreads);

/// Writes `module` as a shared library at `path`, complete or not at all (as
/// writeFileAtomically). The
/// linker is ld.lld beside LLVM's tools or on the path, else cc; its absence is
/// an error that names both.
llvm::Error writeSharedLibrary(llvm::Module &module, llvm::TargetMachine &machine,
                               llvm::StringRef path);

} // namespace mpt

#endif // MPT_EXECUTIONENGINE_CODEGEN_H
