//===- WarpgroupInstructions.h - What sm_90a has alone ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Instructions that work asynchronously: matmuls of a warpgroup (wgmma), copies of tiles
/// by the tensor memory accelerator (TMA), and the barriers in shared memory that count
/// what has arrived (mbarrier). Each is one `llvm.inline_asm` of PTX, which ptxas
/// compiles and the emulator reads (EmulatedPtx.h).
///
/// Addresses in shared memory are i32. "PTX ISA" is that of CUDA 13.0.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_WARPGROUPINSTRUCTIONS_H
#define MPT_LIB_CODEGEN_CUDA_WARPGROUPINSTRUCTIONS_H

#include "GPUFunctionBuilder.h"

namespace mpt::detail {

/// Threads of a warpgroup.
inline constexpr int64_t kWarpgroup = 128;

/// Bytes of a row of a tile in shared memory: of a swizzle of 128 bytes.
inline constexpr int64_t kPanelBytes = 128;

/// A matrix in shared memory, of rows of kPanelBytes that lie side by side, as the
/// swizzle of 128 bytes has them (PTX ISA, "Matrix Descriptor Format"): pieces of 16
/// bytes of row r change places by an exclusive or with r modulo 8.
struct PanelMatrix {
  /// Where it starts; panels start at multiples of 1024 bytes.
  Index address;
  /// From one panel to the next.
  int64_t panelBytes = 0;
};

class WarpgroupInstructions {
public:
  using Value = mlir::Value;
  explicit WarpgroupInstructions(GPUFunctionBuilder &code)
      : code(code), b(code.b), loc(code.loc) {}

  /// The function's dynamic shared memory, from the first multiple of 1024 bytes on.
  Index shared();
  /// `x`, of which LLVM knows nothing more: loops up to it stay as they are. With
  /// `staysHere` what is computed from it is computed here, not before a loop around it.
  Index conceal(Index x, bool staysHere = false);
  /// Each thread of the warpgroup has `count` registers from here on. `grows`: of a
  /// warpgroup that had fewer.
  void setRegisters(int64_t count, bool grows);

  /// A barrier whose phase ends when `count` threads have arrived, and all bytes that
  /// were announced.
  void initBarrier(Index barrier, int64_t count);
  /// Barriers that were made so far are seen by copies.
  void fenceBarriers();
  void arrive(Index barrier);
  /// Arrives and announces `bytes`.
  void arriveWithBytes(Index barrier, int64_t bytes);
  /// Waits for the end of the phase with this parity.
  void wait(Index barrier, Index parity);

  void prefetchMap(Value map);
  /// Starts to copy the box of a tensor of rank 4 from element `at` on to `to`; its bytes
  /// arrive at `barrier`. What is outside of the tensor becomes zeros.
  void startCopy(Value map, Index to, Index barrier, std::array<Index, 4> at);

  /// Registers that threads have written are seen by matmuls.
  void fence();
  /// Ends a group of matmuls.
  void commit();
  /// Waits for all but the last `groups` groups.
  void waitForGroups(int64_t groups);
  /// The sums of matmuls after a wait for them.
  llvm::SmallVector<Value> take(mlir::ValueRange sums);

  /// The number that a matmul knows a matrix by. `isTransposed`: its rows are what is
  /// summed.
  Value describe(const PanelMatrix &matrix, bool isTransposed);
  /// The matrix from `bytes` after it on.
  Value advance(Value matrix, int64_t bytes);

  /// Starts sums += A B of 64 x `columns`, 16 products each, where A is in registers
  /// (four words) or in shared memory (one number). Without `sums` they begin with zeros.
  llvm::SmallVector<Value> multiply(mlir::Type type, int64_t columns, mlir::ValueRange a,
                                    Value matrixB, bool isTransposedB,
                                    mlir::ValueRange sums);

private:
  void run(llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands);

  GPUFunctionBuilder &code;
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_WARPGROUPINSTRUCTIONS_H
