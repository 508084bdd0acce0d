//===- GPUFunctionBuilder.h - Short names for writing device functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A builder for the device functions of library calls: arithmetic on indices that
/// folds constants, vectors in memory, loops, and what threads do together.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_GPUFUNCTIONBUILDER_H
#define MPT_LIB_CODEGEN_CUDA_GPUFUNCTIONBUILDER_H

#include "GPUKernelEmitter.h"

#include <optional>

namespace mpt::detail {

class GPUFunctionBuilder;

/// An index (i32, or i64 in functions over much memory; never negative), or a
/// constant that has not been materialized.
class Index {
public:
  Index(int64_t number) : number(number) {}
  Index(GPUFunctionBuilder &code, mlir::Value value) : code(&code), value(value) {}

  GPUFunctionBuilder *code = nullptr;
  mlir::Value value;
  int64_t number = 0;
  bool isConstant() const { return !value; }
};
Index operator+(Index x, Index y);
Index operator-(Index x, Index y);
Index operator*(Index x, Index y);
Index operator/(Index x, Index y);
Index operator%(Index x, Index y);
Index smaller(Index x, Index y);
Index larger(Index x, Index y);

/// The body of one function.
class GPUFunctionBuilder {
public:
  using Value = mlir::Value;
  using Body = llvm::function_ref<void()>;
  using LoopBody = llvm::function_ref<llvm::SmallVector<Value>(Index, mlir::ValueRange)>;

  /// Starts a kernel of `parameters` pointers, and then `numbers` of 64 bits, at the end
  /// of `device`. `isWide` makes indices i64. The first parameters of all are `maps`
  /// tensor maps, which lie in the kernel's constant memory.
  GPUFunctionBuilder(mlir::OpBuilder &device, mlir::Location loc, llvm::StringRef name,
                     int64_t parameters, int64_t threads, bool isWide,
                     int64_t numbers = 0, int64_t maps = 0);
  /// Ends it.
  void finish();

  Value parameter(unsigned i) { return function.getArgument(maps + i); }
  Value map(unsigned i) { return function.getArgument(i); }
  /// An attribute of the function.
  void setAttribute(llvm::StringRef name, mlir::Attribute value) {
    function->setAttr(name, value);
  }
  /// Limits registers so that a multiprocessor has room for so many blocks.
  void wantBlocksAtOnce(int32_t blocks);

  Index thread();
  /// thread() % kWarp if a block is one row of threads, which no compiler knows.
  Index lane();
  Index blockX();
  Index blockY();
  /// blockX() * threads + thread().
  Index globalThread();

  mlir::Type indexType() { return index; }
  Value get(Index x);
  Value get32(int64_t number);
  Value get64(int64_t number);
  /// Any integer value that is known to be a good index.
  Index fromInteger(Value value);
  Value isLess(Index x, Index y);
  Value isEqual(Index x, Index y);
  Index select(Value condition, Index x, Index y);

  void ifThen(Value condition, Body body);
  /// `carried`, or what `body` makes of it if `condition` holds.
  llvm::SmallVector<Value> ifThen(Value condition, mlir::ValueRange carried,
                                  llvm::function_ref<llvm::SmallVector<Value>()> body);
  /// for (i = begin; i < end; i += step) carried = body(i, carried).
  llvm::SmallVector<Value> loop(Index begin, Index end, Index step, mlir::ValueRange init,
                                LoopBody body);

  /// `lanes` elements (0: one, as a scalar) from element `at` of `base` on, as they
  /// lie in memory.
  Value load(Value base, mlir::Type element, Index at, int64_t lanes = 0);
  void store(Value value, Value base, mlir::Type element, Index at, int64_t lanes = 0);
  /// In f64 for f64, else in f32; integers in i64.
  Value loadNumber(Value base, mlir::Type element, Index at, int64_t lanes = 0);
  void storeNumber(Value value, Value base, mlir::Type element, Index at,
                   int64_t lanes = 0);
  /// The type that loadNumber gives.
  mlir::Type numberType(mlir::Type element, int64_t lanes = 0);
  Value constant(mlir::Type type, double number);

  /// Shared memory of `bytes`, at multiples of 16.
  Value shared(int64_t bytes);
  void barrier();
  /// Of a warp's threads.
  void warpBarrier();
  /// Starts to copy 16 bytes from element `fromAt` of `from` to element `toAt` of shared
  /// memory, both at multiples of 16 bytes, without waiting (cp.async). With `isThere` (a
  /// condition) zeros where it does not hold; `fromAt` is a good index in any case.
  void startCopy(Value to, Index toAt, Value from, Index fromAt, mlir::Type element,
                 Value isThere = {});
  /// Ends a group of copies.
  void endCopies();
  /// Waits for all copies that this thread has started; others see them after a barrier.
  void waitForCopies();
  /// `value` (32 or 64 bits) of the thread whose number in the warp is this one's
  /// exclusive or `distance`.
  Value exchange(Value value, int64_t distance);
  /// The mask of the warp's threads for which `condition` holds.
  Value ballot(Value condition);
  /// Records that `value` at `position` is outside its bounds. Of several, the one
  /// with the smallest position stays.
  void fault(Value record, Index position, Value value);

  mlir::OpBuilder b;
  mlir::Location loc;

private:
  mlir::LLVM::LLVMFuncOp function;
  mlir::OpBuilder device;
  mlir::Type index;
  int64_t threads;
  unsigned maps = 0, numShared = 0;
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_GPUFUNCTIONBUILDER_H
