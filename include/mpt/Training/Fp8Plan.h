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
/// tensors are quantized for them, with a scale each or with one for each block. Pure:
/// the function is not changed.
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
#include <array>
#include <optional>
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
  /// No operand is a gradient.
  bool isForward;
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
/// returns false for it. Those in the body of an mpt.scan keep their types. A value that
/// depends on an mpt.grad_seed is a gradient.
Fp8Plan planFp8(mlir::func::FuncOp function, const Fp8Options &options,
                llvm::function_ref<bool(mlir::Operation *)> isKept);

//===----------------------------------------------------------------------===//
// Scales of blocks
//===----------------------------------------------------------------------===//

/// Which blocks the operands of linear layers have. All elements are f8E4M3FN.
struct Fp8BlockRecipe {
  /// Elements of a block along K, for activations and gradients.
  int64_t length = 128;
  /// Blocks of parameters are squares of that size, which serve a matmul and its
  /// gradient alike; else they are as all others.
  bool squareParameters = true;
  /// The operand of a weight's gradient that the forward pass has read is made from its
  /// 8-bit copy; else from the original tensor.
  bool fromSaved = true;
  /// The layers whose results a loss reads, and no other layer, take part.
  bool quantizeHead = false;
  /// The layers whose results become integers before another layer reads them take part,
  /// such as the router of a mixture of experts.
  bool quantizeRouter = false;
};

/// A matrix that is quantized once for all matmuls that read it in these blocks.
struct Fp8BlockTensor {
  /// The value itself; all dimensions but the last are rows.
  mlir::Value source;
  /// Rows and columns of a block.
  std::array<int64_t, 2> block;
  /// The tensor of the plan from whose 8-bit copy it is made, instead of from `source`.
  std::optional<unsigned> from;
  /// Attention makes it.
  bool isFromAttention;
};

struct Fp8BlockMatmul {
  /// An mpt.matmul, or an mpt.linear without an epilogue.
  mlir::Operation *op;
  /// Numbers of the plan's tensors, and whether the matmul reads their transposes.
  unsigned lhs, rhs;
  bool transposeLhs, transposeRhs;
};

struct Fp8BlockPlan {
  /// In program order.
  llvm::SmallVector<Fp8BlockMatmul> matmuls;
  /// In the order in which matmuls first read them; `from` is an earlier one.
  llvm::SmallVector<Fp8BlockTensor> tensors;
  /// Matmuls that keep their types, each with the reason.
  llvm::SmallVector<std::pair<mlir::Operation *, std::string>> kept;
};

/// Plans the linear layers of `function`, whose body is one block: matmuls of an
/// activation with a parameter, those of a gradient with a parameter that such a matmul
/// reads, and those of an activation that such a matmul reads with a gradient. What
/// planFp8 says of types, sizes and `isKept` holds here, too.
Fp8BlockPlan planFp8Blocks(mlir::func::FuncOp function, const Fp8BlockRecipe &recipe,
                           int64_t alignment,
                           llvm::function_ref<bool(mlir::Operation *)> isKept);

} // namespace mpt

#endif // MPT_TRAINING_FP8PLAN_H
