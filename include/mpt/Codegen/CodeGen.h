//===- CodeGen.h - Programs as machine code -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CODEGEN_H
#define MPT_CODEGEN_CODEGEN_H

#include "mpt/ProgramABI/GemmPlan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mpt {

/// The machine that code is generated for: `triple` as clang has it ("": this machine),
/// of x86-64 or little-endian AArch64, and `cpu` as for -mcpu ("native": this one, with
/// its features, or for another triple any that there is).
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(llvm::StringRef cpu, llvm::StringRef triple = "");

/// Makes `module` (with one `mpt_program.program`, or one step function, which is
/// planned first) LLVM IR, optimized for `machine`. Fails if the step needs more than
/// `memoryLimit` bytes, before code is generated.
llvm::Expected<std::unique_ptr<llvm::Module>>
compileToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
              llvm::TargetMachine &machine, int64_t maxThreads,
              int64_t memoryLimit = rt::kMaxProgramBytes);

/// The same as object files for this machine, which link with each other. With
/// `maxThreads` above 1 the kernels of large steps are compiled in as many parts at a
/// time, on the threads of the module's context; the code of a kernel does not depend on
/// that.
llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
compileToObjects(mlir::ModuleOp module, int64_t maxThreads,
                 int64_t memoryLimit = rt::kMaxProgramBytes);

/// The eight words of a cuBLASLt algorithm, and what it is for
/// (mpt/ProgramABI/CudaProgram.h).
struct TunedMatmul {
  std::string key;
  std::array<int64_t, 8> algo;
};
using TuneMatmuls =
    std::function<llvm::Expected<std::vector<TunedMatmul>>(llvm::ArrayRef<rt::GemmPlan>)>;

struct CudaOptions {
  /// Architectures to compile for, as ptxas names them; at least one.
  std::vector<std::string> chips;
  /// The CUDA toolkit's folder; "": that of the ptxas on the path, else
  /// /usr/local/cuda.
  std::string toolkit;
  /// Export the kernels as `mpt_simt_module`, too (see mpt/Runtime/Emulator/Emulation.h).
  bool emulatedKernels = false;
  /// How f32 matmuls are summed: exact, tf32 or bf16x9.
  std::string f32Matmuls = "exact";
  /// FMAs and ex2.approx in kernels (mpt-math-to-instructions).
  bool fastMath = true;
  /// Round biases of low matmuls to their type (WidenMatmuls.h).
  bool lowBiases = false;
  /// Attention as device functions, where there are some for it.
  bool fusedAttention = true;
  /// Epilogues that save and read what gradients need (mpt-fuse-gemm-epilogues): those
  /// that are faster, saving (all that there are) or plain (none).
  std::string epilogues = "faster";
  /// Matmuls that share their left operand as one, where that is faster
  /// (mpt-join-matmuls).
  bool joinMatmuls = true;
  /// Convolutions by cuDNN where it is installed; otherwise, as without this, as matmuls.
  bool cudnn = true;
  /// The same of small ones of f16 or bf16 into f32, which cuDNN compiles.
  bool cudnnWide = false;
  /// Attention by cuDNN where it is installed and has it; otherwise as without this.
  bool cudnnAttention = false;
  /// The same of large attention without mask, bias and dropout, if all chips are sm_90
  /// or newer.
  bool cudnnPlainAttention = true;
  /// For sm_90, attention and its gradients by wgmma and TMA in an image of sm_90a, of
  /// which a GPU runs each that computes what the other function does.
  bool warpgroupAttention = false;
  /// If set, returns algorithms for a step's matmuls, by key.
  TuneMatmuls tune;
};

/// As compileToLLVM, for GPUs: machine code for each chip, and PTX for the newest
/// and newer ones. `machine` is the host's. Fails, with the place in the source, on
/// what the runtime for GPUs cannot do.
llvm::Expected<std::unique_ptr<llvm::Module>> compileToCuda(mlir::ModuleOp module,
                                                            llvm::LLVMContext &context,
                                                            llvm::TargetMachine &machine,
                                                            const CudaOptions &options);

/// Adds values that the state of the compiled program `module` begins with
/// (mpt/ProgramABI/ProgramFormat.h, writeStateValues).
llvm::Error addStateValues(llvm::Module &module, llvm::StringRef block);

/// Writes `module` as a shared library at `path`, complete or not at all (as
/// writeFileAtomically), with the note that the runtime checks it by
/// (mpt/ProgramABI/ProgramFile.h), which is added to `module`. The linker is ld.lld in
/// LLVM's folder or on the path, else, for this machine, cc; its absence is an error that
/// names both. Segments begin at multiples of `pageSize` bytes; 0: of the linker's.
llvm::Error writeSharedLibrary(llvm::Module &module, llvm::TargetMachine &machine,
                               llvm::StringRef path, uint64_t pageSize = 0);

/// Writes `module` as an object file at `path`, complete or not at all, for a program
/// that is linked statically. The descriptor (`mpt_program`) is called `symbol` there.
llvm::Error writeObject(llvm::Module &module, llvm::TargetMachine &machine,
                        llvm::StringRef symbol, llvm::StringRef path);

} // namespace mpt

#endif // MPT_CODEGEN_CODEGEN_H
