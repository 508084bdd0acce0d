//===- GemmPlan.h - A matmul as a call of cuBLASLt -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What cublasLtMatmul is asked for, as data, and which of it the library can
/// do. Sources of the rules: NVIDIA's documentation of cublasLtMatmul (tables of
/// types and of epilogues, CUDA 13.0) and of narrow precision (scaling modes), and
/// cublasLt.h of 13.1. Needs neither CUDA nor LLVM.
///
/// cuBLASLt is column-major, MPT's buffers row-major: the matmul is asked for
/// transposed, with the operands swapped. Y[M, N] = X[M, K] W[K, N] becomes
/// D = A B with A = W as an N x K, B = X as a K x M and D = Y as an N x M matrix;
/// no data moves. (Epilogues with biases and activations do not exist for
/// row-major results, so the library's own row order is no way out.)
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_GEMMPLAN_H
#define MPT_PROGRAMABI_GEMMPLAN_H

#include "mpt/ProgramABI/GemmScales.h"
#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt {

/// The type in which matmuls are summed; the values are cublasComputeType_t's.
enum class GemmCompute : int32_t {
  F32 = 68,
  F64 = 70,
  /// f32 operands, cut to TF32's 10 bits of mantissa.
  F32FastTF32 = 77,
  /// f32 operands, each as three bf16, nine matmuls: f32's accuracy.
  F32EmulatedBF16x9 = 78,
};

/// What happens to the sums before they are rounded; the values are
/// cublasLtEpilogue_t's.
enum class GemmEpilogue : int32_t {
  Default = 1,
  Relu = 2,
  Bias = 4,
  ReluBias = 6,
  Gelu = 32,
  GeluBias = 36,
  ReluAux = 130,
  ReluAuxBias = 134,
  DRelu = 136,
  DReluBGrad = 152,
  GeluAux = 160,
  GeluAuxBias = 164,
  DGelu = 192,
  DGeluBGrad = 208,
  BGradA = 256,
  BGradB = 512,
};

/// What cuBLASLt is asked for to do a matmul with its bias, activation and further
/// buffers.
GemmEpilogue getGemmEpilogue(const MatmulCall &call);
/// Whether an epilogue reads or writes a vector of one number per row of D.
bool usesBias(GemmEpilogue epilogue);
/// Whether it writes that vector: the sum of a gradient over rows.
bool writesBias(GemmEpilogue epilogue);
/// Whether it reads or writes a second matrix: what came into the activation
/// (GELU), or whether it was positive (ReLU, one bit an element).
bool usesAux(GemmEpilogue epilogue);
/// Whether it writes the second matrix.
bool writesAux(GemmEpilogue epilogue);
/// Whether the second matrix is one of bits, whose order is the library's own.
bool hasBits(GemmEpilogue epilogue);
/// As in cuBLASLt, without CUBLASLT_EPILOGUE_.
const char *getName(GemmEpilogue epilogue);

/// A column-major matrix as it lies in memory, and from one of a batch to the
/// next (0: all the same), in elements.
struct GemmMatrix {
  DataType type = DataType::F32;
  int64_t rows = 0, columns = 0, ld = 0, stride = 0;
};

/// D = epilogue(alpha op(A) op(B) + beta D).
struct GemmPlan {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool transposeA = false, transposeB = false;
  GemmMatrix a, b, d;
  GemmCompute compute = GemmCompute::F32;
  GemmEpilogue epilogue = GemmEpilogue::Default;
  /// Of the bias, where there is one. Its length is m.
  DataType bias = DataType::F32;
  /// Of the second matrix, where there is one, in elements (ReLU: in bits).
  int64_t auxLd = 0;
  double alpha = 1, beta = 0;
  /// How the blocks of A and of B are scaled.
  GemmScaling scalingA = GemmScaling::None, scalingB = GemmScaling::None;
  /// Sums of 8-bit operands may have fewer bits than `compute` says
  /// (CUBLASLT_MATMUL_DESC_FAST_ACCUM). It is for operands without scales of blocks. By
  /// NVIDIA's documentation it changes sums on Ada and Hopper (sm_89, sm_90) alone.
  bool fastAccumulation = false;

  bool isScaled() const {
    return scalingA != GemmScaling::None || scalingB != GemmScaling::None;
  }
};

/// Bytes that the runtime reserves for cuBLASLt's own sums, after the planned
/// arena, and what they and operands must be aligned to.
inline constexpr int64_t kGemmWorkspaceBytes = 32 << 20;
inline constexpr int64_t kGemmWorkspaceAlignment = 256;
inline constexpr int64_t kGemmOperandAlignment = 16;

/// The plan of a Matmul instruction for an architecture (90 for sm_90). A side
/// that is one for the whole batch joins the batch to the rows where it can.
/// f32 matmuls are exact unless `allowTF32`. False, with `error` set, if
/// the operands do not fit together.
bool makeGemmPlan(const Instruction &matmul, bool allowTF32, GemmPlan &plan,
                  std::string &error);

/// Whether cuBLASLt multiplies 8-bit floats on architecture `sm` only if the summed
/// dimension is the last one of both operands (A transposed, B not).
inline bool wantsSummedLast(int sm) { return sm < 100 || sm >= 120; }

/// Whether cuBLASLt can do `plan` on architecture `sm`; if not, `error` says
/// what and what to do about it.
bool checkGemmPlan(const GemmPlan &plan, int sm, std::string &error);

/// Whether the runtime for GPUs can do the call on architecture `sm`: matmuls
/// that checkGemmPlan takes, and copies that rearrange nothing. If not, `error`
/// says why.
bool checkCudaCall(const Instruction &call, int sm, std::string &error);

/// One line for people and tests: "m=.. n=.. k=.. A=f16[..]T ..".
std::string describeGemmPlan(const GemmPlan &plan);

/// How a matmul is done where cuBLASLt cannot: by a function of the program that
/// all matmuls of the same types share. A block of kPlainMatmulThreads makes
/// kPlainMatmulTile x kPlainMatmulTile elements of D; sums are f32, over ascending
/// k. Its parameters are the addresses of A, B, C (what beta adds) and D, those
/// of the scales of A and B if there are any, and `numbers`, each of 64 bits.
struct PlainMatmul {
  /// "mpt_matmul_bf16_bf16_f32", of the types of A, B and D, and how A and B are scaled.
  std::string function;
  enum Number { M, N, K, RowA, StepA, BatchA, StepB, ColumnB, BatchB, LdD, BatchD, Adds };
  static constexpr int kNumbers = Adds + 1;
  /// From one row of op(A) to the next, from one k to the next, and so on, in elements;
  /// Adds is 1 if beta is.
  int64_t numbers[kNumbers] = {};
  int64_t blocks = 0;
};
inline constexpr int64_t kPlainMatmulTile = 64, kPlainMatmulThreads = 256;

/// False if there is no such function: for integers and f64, alpha other than 1, scales
/// of a kind that programs do not have, or more blocks than one launch has. What `plan`
/// has as epilogue is left out.
bool makePlainMatmul(const GemmPlan &plan, PlainMatmul &matmul);

/// Whether a call is a matmul without an epilogue that such a function does on every GPU,
/// whatever checkCudaCall says of cuBLASLt.
bool isPlainMatmul(const Instruction &call);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_GEMMPLAN_H
