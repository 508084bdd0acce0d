//===- DevicePhilox.h - Random words in device functions --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_DEVICEPHILOX_H
#define MPT_LIB_CODEGEN_CUDA_DEVICEPHILOX_H

#include "GPUFunctionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mpt::detail {

/// philoxBlock (mpt/Support/Philox.h) in device code. `seed` and `attempt` are i64.
class DevicePhilox {
public:
  DevicePhilox(GPUFunctionBuilder &code, mlir::Value seed, mlir::Value attempt,
               uint32_t stream);
  /// The four words (i32) of block `number` (i64).
  llvm::SmallVector<mlir::Value, 4> block(mlir::Value number);

private:
  mlir::Value low(mlir::Value wide);
  mlir::Value high(mlir::Value wide);
  mlir::Value exclusiveOr(mlir::Value x, mlir::Value y);
  std::pair<mlir::Value, mlir::Value> multiply(uint32_t factor, mlir::Value word);

  GPUFunctionBuilder &code;
  mlir::Value key[2], draw[2];
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_DEVICEPHILOX_H
