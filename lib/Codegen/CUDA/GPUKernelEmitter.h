//===- GPUKernelEmitter.h - A kernel as threads of a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_GPUKERNELEMITTER_H
#define MPT_LIB_CODEGEN_CUDA_GPUKERNELEMITTER_H

#include "../Common/KernelEmitter.h"
#include "mpt/Codegen/CUDA/DeviceKernels.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <optional>

namespace mpt::detail {

/// Threads that run together.
inline constexpr int64_t kWarp = 32;

/// Bytes of an element in memory.
inline int64_t bytesOf(mlir::Type element) {
  return storageOf(element).getIntOrFloatBitWidth() / 8;
}

/// Emits one kernel as `llvm.func`s for a `gpu.module`. A thread works on
/// vectors of up to 16 bytes of the narrowest buffer.
///
/// `pointwise`: one vector a thread, or the same vector of several rows, if rows share
/// operands: a thread then loads these once. `row`: a group of `groupThreads` threads a
/// row; a thread keeps what it has read of its `framesPerThread` vectors in
/// registers, of long rows as it lies in memory (`isPacked`), or, of rows too long for
/// that, reads them again, from the caches: backward in every second walk. Sums go
/// through the lanes, then a butterfly over the warp, then the warps in order, or, where
/// there are more than eight, through a butterfly. `column`: the same groups, several of
/// which share a task's rows; a thread keeps its columns' sums in registers. If there is
/// one task, its blocks also do what follows from the sums; otherwise a second launch
/// does.
class GPUKernelEmitter : public KernelEmitter {
public:
  /// `isBatched`: launches do other work besides this kernel's. A row kernel then has
  /// blocks as large as a column kernel's.
  explicit GPUKernelEmitter(kernel::FuncOp kernel, bool isBatched = false);

  mlir::LogicalResult check() override;
  void emit(mlir::OpBuilder &moduleBuilder) override;
  llvm::SmallVector<DeviceLaunch> getLaunches();
  /// Makes the shared memory that the functions of this kernel have, called `name`.
  void emitShared(mlir::OpBuilder &moduleBuilder, const llvm::Twine &name);
  /// What block `blockX` (i32) of launch number `stage` does, its buffers and partial
  /// sums at these pointers.
  void emitBlock(mlir::OpBuilder &b, unsigned stage, mlir::ValueRange bufferPointers,
                 Value partialPointer, Value blockX);

  /// The code that launches of a group with one key share.
  struct GroupPart {
    GPUKernelEmitter *emitter = nullptr;
    /// The function's parameter that each buffer lies in.
    llvm::SmallVector<unsigned> parameters;
  };
  /// One of the launches that a group does.
  struct Member {
    unsigned part = 0;
    int64_t elements = 0;
    /// Where the first elements of its buffers lie, in bytes from their parameters.
    llvm::SmallVector<int64_t> offsets;
  };
  /// What launches must have in common to share code: null unless every point of this
  /// kernel works on its own elements of flat buffers, or of rows of one length.
  std::optional<std::string> getGroupKey();
  /// One function for many launches, whose parameters are `parameters` blocks of memory.
  static DeviceLaunch emitGroup(mlir::OpBuilder &moduleBuilder, llvm::StringRef name,
                                llvm::ArrayRef<Member> members,
                                llvm::ArrayRef<GroupPart> parts, unsigned parameters);
  int64_t getElements() const { return rows * columns; }
  /// Where the first element of `buffer` lies in it, in bytes.
  int64_t getFirstByte(unsigned buffer) const {
    return buffers[buffer].offset * bytesOf(buffers[buffer].element);
  }
  /// Blocks that a group has for `elements` elements of this kernel.
  int64_t getGroupBlocks(int64_t elements) const;

private:
  using ColumnsBody =
      llvm::function_ref<llvm::SmallVector<Value>(Frame &, mlir::ValueRange)>;

  Value cloneOp(mlir::Operation *op, Frame &frame) override;
  Value load(unsigned operand, Frame &frame) override;
  void store(unsigned result, Value value, Frame &frame) override;
  Value loadFrom(Value pointer, mlir::Type element, Frame &frame) override;
  void storeTo(Value pointer, Value value, mlir::Type element, Frame &frame) override;
  llvm::SmallVector<Value> forColumns(mlir::OpBuilder &b, Frame &rowFrame,
                                      mlir::ValueRange init, ColumnsBody body) override;
  Value finishRowReduction(mlir::OpBuilder &b, ReduceKind kind, Value vector) override;
  mlir::Type getReducedType(kernel::RowReduceOp reduce) const override;
  Value getReducedValue(kernel::RowReduceOp reduce) const override;
  Value reduceAtOnce(mlir::OpBuilder &b, kernel::RowReduceOp reduce,
                     Frame &rowFrame) override;
  void accumulate(const ColumnPartials &part, Value task, Frame &frame) override;
  void sumTasks(const ColumnPartials &part, Frame &frame) override;
  void sumTasksInGroups(const ColumnPartials &part, Frame &frame);
  bool isForVectors() const override { return false; }
  void beforeSharedStores(mlir::OpBuilder &b) override;
  void emitTask(mlir::OpBuilder &b, Value task) override;

  void chooseLanes();
  void chooseGroups();
  void chooseLongRows(int64_t fullSums);
  void chooseSharedDim();
  /// Values that do not vary along dimension `dim` and are needed by others that do.
  llvm::SmallVector<Value> findSharedValues(size_t dim);
  /// Threads of a pointwise kernel.
  int64_t countPoints();
  void chooseCombine();
  void emitPointwise(mlir::OpBuilder &b);
  void emitSharingRows(mlir::OpBuilder &b, Value at);
  void emitRows(mlir::OpBuilder &b);
  void emitColumns(mlir::OpBuilder &b);
  void emitCombineStage(mlir::OpBuilder &b);
  /// What block `inMember` of a member of a group does.
  void emitMember(mlir::OpBuilder &b, mlir::ValueRange memberPointers, Value inMember,
                  Value elements);
  /// The sums of all groups of a block, written by the first.
  void storeSums(mlir::OpBuilder &b, const ColumnPartials &part, Value task,
                 llvm::ArrayRef<Value> sums);
  Frame makeFrame(mlir::OpBuilder &b, Frame *rowFrame, unsigned number, Value vector);
  /// Asks for this thread's part of a row that comes later, of a long one for the
  /// beginning.
  void prefetchRow(mlir::OpBuilder &b, Value row);
  /// forColumns of a row that no thread keeps.
  llvm::SmallVector<Value> walk(mlir::OpBuilder &b, Frame &rowFrame,
                                mlir::ValueRange init, ColumnsBody body);
  /// Reduces `value` over `threads` (a power of two up to 32) neighbours.
  Value butterfly(mlir::OpBuilder &b, ReduceKind kind, Value value, int64_t threads);
  Value shuffle(mlir::OpBuilder &b, Value value, int64_t distance);
  /// Whether a thread keeps its part of `operand`'s row as it lies in memory.
  bool isKeptPacked(unsigned operand) const;
  /// What a thread keeps of `operand` in `frame`, as a vector of words.
  Value loadPacked(unsigned operand, Frame &frame);
  /// `word` (i32) by way of assembly that does nothing, so that LLVM keeps the word
  /// instead of all that is computed from it.
  Value hide(mlir::OpBuilder &b, Value word);
  void barrier(mlir::OpBuilder &b);
  Value sharedPointer(mlir::OpBuilder &b, mlir::Type element, Value index);
  Value constant32(mlir::OpBuilder &b, int64_t value);
  Value widen(mlir::OpBuilder &b, Value value);
  Value both(mlir::OpBuilder &b, Value x, Value y);
  Value isBelow(mlir::OpBuilder &b, Value x, Value y);

  /// Vectors of a row.
  int64_t vectors = 1;
  /// Threads that share a row; groups of them in a block; vectors that a thread
  /// keeps, or 0 if rows are too long.
  int64_t groupThreads = 1, groups = 1, framesPerThread = 1;
  /// Of rows that are read again: vectors that a thread loads before it works on them.
  int64_t framesAtOnce = 1;
  /// Blocks for which a multiprocessor must have registers; 0: as ptxas likes.
  int64_t blocksAtOnce = 0;
  /// Blocks side by side along a row.
  int64_t columnBlocks = 1;
  int64_t combineBlocks = 1, combineThreads = 32;
  /// Groups of threads that share the tasks of a column.
  int64_t combineGroups = 1;
  /// Of a pointwise kernel: the dimension along which a thread takes `rowsPerThread`
  /// indices, every `rowsAtOnce`-th of a tile, and how many tiles there are.
  size_t sharedDim = 0;
  int64_t rowsPerThread = 1, rowsAtOnce = 1, tiles = 1;
  /// Threads keep elements as they lie in memory, and compute again from them what
  /// each walk over the row needs.
  bool isPacked = false;
  bool hasRowReductions = false, isCombining = false, isBatched = false;
  /// The blocks of a column kernel's only task end with its second stage.
  bool hasOneStage = false;
  /// Bytes of a block's shared memory.
  int64_t sharedBytes = 0;

  // Of the function being emitted.
  /// The block and thread (i32), the group's number in the block, and the thread's in
  /// the group; `inGroup` counts on in blocks side by side.
  Value block, thread, group, inBlockRow, inGroup;
  /// The vector that a pointwise thread works on.
  Value onlyColumn;
  /// Whether the group has a row; null if all have.
  Value rowMask;
  /// Whether this group stores a column's sum; null if there is only one.
  Value combineMask;
  /// Whether this thread stores what a row has once; null if there is only one.
  Value isFirst;
  mlir::LLVM::GlobalOp shared;
  std::vector<Frame> frames;
  /// Of rows that are read again: whether there is a row, and whether the next walk over
  /// it begins with the last columns.
  bool isInRow = false, isBackward = false;
  /// Of a pointwise thread's rows: what they share.
  ValueMap sharedValues;
  /// Words of a row that a thread keeps, by frame and operand.
  llvm::DenseMap<std::pair<unsigned, unsigned>, Value> packedWords;
  /// Sums of the column reductions, by part and frame.
  llvm::SmallVector<llvm::SmallVector<Value>> sums;
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_GPUKERNELEMITTER_H
