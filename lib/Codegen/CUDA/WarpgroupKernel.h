//===- WarpgroupKernel.h - What attention by wgmma shares ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A block of attention by wgmma: the first warpgroup gives its registers away, and one
/// of its warps copies tiles of two tensors into shared memory, some of each ahead of the
/// other warpgroups, which multiply 64 rows each with them.
///
/// In shared memory a tile is panels of 64 columns: rows of 128 bytes with TMA's swizzle,
/// which the descriptors of matmuls name.
///
/// Of sums of 64 rows thread (warp, g = lane / 4, t = lane % 4) has, from number 4 n on,
/// columns 8 n + 2 t and the next of row 16 warp + g, then of row 16 warp + g + 8;
/// rounded in pairs, those of 16 columns are the operand A of a following matmul (PTX
/// ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_WARPGROUPKERNEL_H
#define MPT_LIB_CODEGEN_CUDA_WARPGROUPKERNEL_H

#include "WarpgroupAttentionEmitter.h"
#include "WarpgroupInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mpt::detail {

inline constexpr double kLog2e = 1.4426950408889634;
/// Rows of a warpgroup.
inline constexpr int64_t kWarpgroupRows = 64;
/// Columns of a panel.
inline constexpr int64_t kPanel = 64;
/// A block may have 227 KiB of shared memory.
inline constexpr int64_t kMostBlockBytes = 227 << 10;

inline int64_t countTileBytes(int64_t rows, int64_t width) { return rows * width * 2; }

class WarpgroupKernel {
public:
  using Value = mlir::Value;
  using Sums = llvm::SmallVector<Value>;

protected:
  WarpgroupKernel(GPUFunctionBuilder &code, const AttentionShape &shape)
      : code(code), shape(shape), gpu(code), b(code.b), loc(code.loc),
        f32(b.getF32Type()) {}

  Value number(double value) { return code.constant(f32, value); }
  Value infinity();
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return mlir::arith::MaxNumFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return mlir::math::FmaOp::create(b, loc, x, y, z);
  }
  Value choose(Value condition, Value x, Value y) {
    return condition ? mlir::arith::SelectOp::create(b, loc, condition, x, y).getResult()
                     : x;
  }
  Value both(Value x, Value y) {
    return !x ? y : !y ? x : mlir::arith::AndIOp::create(b, loc, x, y).getResult();
  }
  Value exp2(Value x);
  /// Over the four threads that share a row of sums.
  Value overQuad(Value x, bool isMax);
  /// Two f32 as a word of two elements, rounded.
  Value pack(Value low, Value high);
  llvm::SmallVector<Value> packAll(llvm::ArrayRef<Value> sums);

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  /// Of a tensor that is read tile by tile.
  struct TileTensor {
    unsigned map = 0;
    const TensorMapPlan *plan = nullptr;
    int64_t width = 0;
  };
  /// Places in shared memory for `stages` tiles of `rows` rows of two tensors, from
  /// `memory` on, and barriers after them. Returns where these end.
  Index setTiles(const TileTensor &x, const TileTensor &y, int64_t rows, int64_t stages,
                 Index memory);
  /// Barriers: of what the block reads once, then, of each stage, whether tiles of either
  /// tensor are there, and whether they, or both, are not needed any more.
  enum Barrier { First, Second, FirstFree, SecondFree, BothFree = FirstFree };
  Index barrierOf(Barrier kind, Index stage) {
    return barriers + 8 + (stage * 4 + kind) * 8;
  }
  static int64_t countBarrierBytes(int64_t stages) { return 8 + stages * 32; }
  /// Makes them, the first one only if the block reads something once, and the last of a
  /// stage only if tiles are freed one by one: `arrivals` threads say that a tile is
  /// there. Prefetches `maps` maps.
  void initBarriers(bool readsOnce, bool freesBoth, int64_t arrivals, int64_t consumers,
                    unsigned maps);
  Index stageOf(Index tile) { return tile % stages; }
  Index parityOf(Index tile) { return tile / stages % 2; }
  int64_t tileBytes(int64_t width) const { return countTileBytes(tileRows, width); }
  Index firstAt(Index stage) { return firstMemory + stage * tileBytes(x.width); }
  Index secondAt(Index stage) { return secondMemory + stage * tileBytes(y.width); }
  void waitFor(Barrier kind, Index tile) {
    gpu.wait(barrierOf(kind, stageOf(tile)), parityOf(tile));
  }
  /// A warp does not need a tile any more.
  void release(Barrier kind, Index tile) {
    code.ifThen(code.isEqual(lane, 0),
                [&] { gpu.arrive(barrierOf(kind, stageOf(tile))); });
  }
  /// Waits until the place of a tile is free: at first all are, as after a phase before a
  /// barrier's first one.
  void waitUntilFree(Barrier kind, Index tile) {
    gpu.wait(barrierOf(kind, stageOf(tile)), Index(1) - parityOf(tile));
  }
  /// Copies `rows` rows, which a box of the map has, from row `firstRow` on.
  void copyTile(const TileTensor &tensor, Index to, Index barrier, int64_t rows,
                Index firstRow, Index head, Index entry);

  //===--------------------------------------------------------------------===//
  // Matmuls
  //===--------------------------------------------------------------------===//

  /// 64 rows that are multiplied from the left: in registers, four words for each 16
  /// columns, or in shared memory.
  struct Rows {
    llvm::SmallVector<Value> words;
    std::optional<PanelMatrix> matrix;
  };
  /// Starts `rows` times the transposed tile at `tile`, both of `width` columns.
  Sums startScores(const Rows &rows, Index tile, int64_t width);
  /// Starts sums += `a` times the tile at `tile`, which has `width` columns.
  Sums startSums(llvm::ArrayRef<Value> a, Index tile, int64_t width, const Sums &sums);

  //===--------------------------------------------------------------------===//
  // Global memory
  //===--------------------------------------------------------------------===//

  /// The first element of a head of an entry.
  static Index placeOf(const RowStrides &strides, Index entry, Index head) {
    return entry * strides.batch + head * strides.head;
  }
  /// This thread's words, as of Rows, of rows `row` and `row` + 8, or the last one, in
  /// parameter `number`.
  llvm::SmallVector<Value> loadRows(unsigned number, const RowStrides &strides,
                                    Index place, Index row, int64_t limit, int64_t width);
  /// Sums times `factors` into rows `row` and `row` + 8 where these exist.
  void storeRows(const Sums &sums, llvm::ArrayRef<Value> factors, unsigned number,
                 const RowStrides &strides, Index place, Index row, int64_t limit);

  GPUFunctionBuilder &code;
  const AttentionShape &shape;
  WarpgroupInstructions gpu;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type f32;
  TileTensor x, y;
  int64_t tileRows = 0, stages = 0;
  Index firstMemory = 0, secondMemory = 0, barriers = 0;
  /// Of a warpgroup's threads.
  Index lane = 0;
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_WARPGROUPKERNEL_H
