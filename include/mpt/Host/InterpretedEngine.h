//===- InterpretedEngine.h - A function evaluated op by op ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_INTERPRETEDENGINE_H
#define MPT_HOST_INTERPRETEDENGINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mpt/Host/StepSignature.h"
#include <functional>

namespace mpt {

/// A StepEngine around an evaluator of functions. State keeps the element types
/// that the evaluator returns, which may be wider than the function's: so an
/// f64 evaluation stays f64 from step to step.
class InterpretedEngine : public StepEngine {
public:
  /// From all arguments to all results, in order.
  using Evaluate = std::function<llvm::Expected<std::vector<HostTensor>>(
      mlir::func::FuncOp function, llvm::ArrayRef<const HostTensor *>)>;

  /// An engine for `@name` of `module`, whose shapes must be static. Emits an
  /// error and fails if that is not a function that `readStepSignature` takes.
  static llvm::FailureOr<std::unique_ptr<StepEngine>>
  create(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef name,
         Evaluate evaluate);

  llvm::ArrayRef<TensorInfo> getArguments() const override { return signature.arguments; }
  llvm::ArrayRef<ResultInfo> getResults() const override { return signature.results; }
  llvm::Expected<HostTensor> readState(llvm::StringRef name) const override;
  llvm::Error writeState(llvm::StringRef name, const HostTensor &value) override;
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &inputs) override;
  size_t arenaBytes() const override { return 0; }
  size_t stateBytes() const override;

private:
  llvm::Expected<const TensorInfo *> findState(llvm::StringRef name) const;

  InterpretedEngine() = default;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  StepSignature signature;
  Evaluate evaluate;
  llvm::StringMap<HostTensor> state;
};

} // namespace mpt

#endif // MPT_HOST_INTERPRETEDENGINE_H
