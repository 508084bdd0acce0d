//===- DeviceTrace.h - What a launch of device code executes ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts the work of a launch by walking through its PTX: some warps of the grid are
/// executed with real thread numbers, loop counters and addresses, but without data. That
/// gives the instructions by unit, the sectors of memory that are read and written, how
/// far apart two accesses to one sector are, and conflicts of shared memory. Needs
/// neither CUDA nor MLIR.
///
/// MPT's kernels branch on thread numbers, shapes and tables in constant memory, and
/// hardly on data. An index that a kernel loads is a pseudo-random number below the
/// kernel's bound. All other numbers that it loads are 0, and a branch on a float is not
/// taken.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_DEVICETRACE_H
#define MPT_CODEGEN_CUDA_DEVICETRACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mpt {

/// What a cubin says of one kernel.
struct CubinKernel {
  /// Of a thread.
  int64_t registers = 0;
  /// Bytes of a block.
  int64_t sharedBytes = 0;
  /// Bytes of a thread's local memory: what spills to memory, and arrays.
  int64_t stackBytes = 0;
  /// In the file, with what pads the end.
  int64_t instructions = 0;
  /// Loads from global memory among them: more than in PTX if ptxas has unrolled loops.
  int64_t globalLoads = 0;
  /// Loads from local memory and stores to it among them, of four bytes each.
  int64_t localAccesses = 0;
};

/// The kernels in a cubin, by name. Reads the ELF sections that ptxas writes, so it needs
/// no cuobjdump. Fails if `bytes` are no cubin.
llvm::Expected<llvm::StringMap<CubinKernel>> readCubin(llvm::StringRef bytes);

/// Bytes of global memory that a parameter points to.
struct TraceBuffer {
  uint64_t address = 0, bytes = 0;
};

/// A launch of a kernel whose parameters are pointers.
struct TraceLaunch {
  std::string function;
  uint64_t blocks[2] = {1, 1};
  uint64_t threads = 32;
  /// Indices that the kernel loads are below it. 0: it loads none.
  uint64_t bound = 0;
  std::vector<TraceBuffer> buffers;
};

/// Accesses to sectors that the same warp has accessed before, by the bytes that it has
/// accessed in between.
class ReuseDistances {
public:
  void add(uint64_t distance, double bytes);
  void add(const ReuseDistances &other, double weight);
  /// Bytes of accesses whose distance is more than `distance`.
  double getBeyond(double distance) const;

private:
  /// Four to each power of two.
  std::array<double, 256> bytes = {};
};

/// The work of a launch. Sums are over all warps of the grid.
struct LaunchTrace {
  /// Units that execute a warp's instructions.
  enum Unit { Integer, Float, Double, Special, Tensor, Memory, Control };
  static constexpr unsigned kUnits = 7;

  /// Instructions of warps, as ptxas expands those of PTX.
  double instructions = 0;
  std::array<double, kUnits> byUnit = {};
  /// Of all threads: additions and multiplications, an FMA being two.
  double floatFlops = 0, doubleFlops = 0;
  /// Of mma and wgmma instructions, and of wgmma alone.
  double tensorFlops = 0, warpgroupFlops = 0;
  /// Tiles that are copied by tensor maps, whose bytes are not counted.
  double tiles = 0;
  /// Exponentials, reciprocals, roots and conversions of all threads.
  double specialOps = 0;
  /// Rows of 128 bytes that shared memory delivers or takes.
  double sharedWavefronts = 0;
  /// Bytes of the sectors of 32 bytes that warps load from global memory, and bytes that
  /// they store.
  double loadBytes = 0, storeBytes = 0;
  /// Bytes that the launch reads or writes at all, each once.
  double uniqueLoads = 0, uniqueStores = 0;
  /// Of a warp's accesses to what it has read or written before. For stores the distance
  /// is that from the store before.
  ReuseDistances reloads, restores;
  /// Of the longest warp that was executed: how often it waits for global memory, and how
  /// many instructions it executes.
  double waits = 0, longest = 0;
  /// Warps of the grid, and those that were executed.
  double warps = 0;
  uint64_t executed = 0;
  /// The budget ended before all chosen warps were done: everything is too low.
  bool isCut = false;
};

/// The kernels of a PTX file.
class DeviceCode {
public:
  /// Fails, with the line, on what is not PTX as LLVM writes it.
  static llvm::Expected<DeviceCode> parse(llvm::StringRef ptx);
  DeviceCode(DeviceCode &&);
  ~DeviceCode();

  /// The work of `launch`. `cubin` is its kernel's machine code if there is any. Executes
  /// at most about `budget` instructions of warps. The result depends on nothing else.
  llvm::Expected<LaunchTrace> trace(const TraceLaunch &launch, const CubinKernel *cubin,
                                    uint64_t budget = 12'000'000) const;

  /// Opcodes that are counted as one instruction because nothing more is known of them.
  llvm::ArrayRef<std::string> getUnknownOpcodes() const;

private:
  struct Impl;
  explicit DeviceCode(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_DEVICETRACE_H
