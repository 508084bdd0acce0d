//===- Fp8Plan.h - Which matmuls of a step run in 8-bit floats -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides which matmuls of a step take operands of f8E4M3FN and f8E5M2, and which
/// tensors are quantized for them. Pure: the function is not changed.
///
/// The choice of formats is that of Micikevicius et al., "FP8 Formats for Deep
/// Learning" (2022) and of NVIDIA's Transformer Engine (`Format.HYBRID`): activations
/// and weights need digits, gradients need range.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TRAINING_FP8PLAN_H
#define MPT_TRAINING_FP8PLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace mpt {

enum class Fp8Format : uint8_t {
  /// f8E4M3FN: 3 bits of mantissa, up to 448, no infinity.
  E4M3,
  /// f8E5M2: 2 bits of mantissa, up to 57344.
  E5M2,
};

/// The largest finite number of `format`.
double getLargest(Fp8Format format);

/// A tensor that is quantized once for all matmuls that read it in this format.
struct Fp8Tensor {
  /// The value itself. Matmuls may read it through reshapes and transposes.
  mlir::Value source;
  Fp8Format format;
};

struct Fp8Matmul {
  /// An mpt.matmul, or an mpt.linear without an epilogue.
  mlir::Operation *op;
  /// Numbers of the plan's tensors.
  unsigned lhs, rhs;
};

struct Fp8Plan {
  /// In program order.
  llvm::SmallVector<Fp8Matmul> matmuls;
  /// In the order in which matmuls first read them; each once.
  llvm::SmallVector<Fp8Tensor> tensors;
  /// Matmuls that keep their types, each with the reason.
  llvm::SmallVector<std::pair<mlir::Operation *, std::string>> kept;
};

struct Fp8Options {
  /// Gradients are f8E5M2; else everything is f8E4M3FN.
  bool hybrid = true;
  /// All sizes of a matmul must be multiples of this (cuBLASLt: 16).
  int64_t alignment = 16;
};

/// Plans the matmuls of `function`, whose body is one block. A matmul takes part if its
/// operands are f32, f16 or bf16, its sizes are known and aligned, one operand is a
/// matrix (so the two matmuls inside attention do not), it has no epilogue and `isKept`
/// returns false for it. A value that depends on an mpt.grad_seed is a gradient.
Fp8Plan planFp8(mlir::func::FuncOp function, const Fp8Options &options,
                llvm::function_ref<bool(mlir::Operation *)> isKept);

} // namespace mpt

#endif // MPT_TRAINING_FP8PLAN_H
