//===- KernelRunner.h - Kernels compiled and evaluated naively -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a kernel's machine code, and evaluates the same kernel op by op over
/// all points. The evaluation computes each op in double and rounds it to the
/// op's type: the right result of +, -, *, /, sqrt and conversions of f32 and
/// narrower types, and the correctly rounded one (but for double rounding) of
/// other functions. Reductions are summed in double.
///
/// Compiled with MPT_TEST_DEVICE_KERNELS, kernels are those of GPUs, run thread by
/// thread in the emulator.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_UNITTESTS_CODEGEN_KERNELRUNNER_H
#define MPT_TEST_UNITTESTS_CODEGEN_KERNELRUNNER_H

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Host/HostTensor.h"
#include "mpt/Runtime/Emulator/Emulation.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <memory>
#include <vector>

namespace mpt::test {

using Tensors = std::vector<HostTensor>;

/// A module of kernels, compiled for this machine.
class KernelModule {
public:
  /// Fails the test and leaves the module empty if `text` cannot be compiled.
  /// `math` is that of GPUs: exact or fast. Unless `isForHost` no instructions are asked
  /// for by name that this machine may have and others not.
  explicit KernelModule(llvm::StringRef text, llvm::StringRef math = "exact",
                        bool isForHost = true);

  /// Runs the kernel over its tasks cut into calls at `cuts`.
  Tensors run(llvm::StringRef kernel, const Tensors &inputs,
              llvm::ArrayRef<int64_t> cuts = {}) const;
  /// As above with the result `result` in the buffer of operand `operand`.
  Tensors runInPlace(llvm::StringRef kernel, Tensors inputs, unsigned operand,
                     unsigned result) const;
  /// What the results should be.
  Tensors evaluate(llvm::StringRef kernel, const Tensors &inputs) const;
  /// Inputs of normally distributed numbers from `seed`; integers are 0 to 99.
  Tensors makeInputs(llvm::StringRef kernel, uint64_t seed) const;
  int64_t getTasks(llvm::StringRef kernel) const;

private:
  void compile(llvm::StringRef text, llvm::StringRef math, bool isForHost);
  void compileForDevice(llvm::StringRef math);
  void callOnDevice(kernel::FuncOp kernel, std::vector<void *> &buffers) const;
  kernel::FuncOp find(llvm::StringRef kernel) const;
  Tensors makeResults(kernel::FuncOp kernel) const;
  void call(kernel::FuncOp kernel, const Tensors &inputs, Tensors &results,
            llvm::ArrayRef<void *> resultData, llvm::ArrayRef<int64_t> cuts) const;

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> source;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  std::unique_ptr<llvm::orc::LLJIT> device;
  const mpt_simt_module *emulated = nullptr;
};

/// Element types of MLIR as the host has them.
ElementType hostType(mlir::Type type);

} // namespace mpt::test

#endif // MPT_TEST_UNITTESTS_CODEGEN_KERNELRUNNER_H
