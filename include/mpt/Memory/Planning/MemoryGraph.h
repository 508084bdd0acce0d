//===- MemoryGraph.h - What a function keeps in memory, and when -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The model of memory that everything which plans or reports memory shares: ops
/// in an order, and the buffers they read and write. Plain data, so that it can be
/// made of a fused step (BufferAssignment.h), of any function op by op,
/// or by hand.
///
/// While op p runs, these temporaries take memory: what a later op still reads or
/// the function returns, the op's inputs and outputs, and its workspace. Outputs
/// come to life before the op, inputs die after it. An output may take the bytes of
/// an input that dies at the op, where the op permits it (`inPlace`). Arguments,
/// state and constants are there throughout and are counted apart.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_MEMORYGRAPH_H
#define MPT_MEMORY_PLANNING_MEMORYGRAPH_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "mpt/Memory/Planning/ArenaPlan.h"
#include "llvm/ADT/SmallVector.h"

namespace mpt {

/// Whose memory a buffer takes.
enum class MemoryKind : uint8_t {
  /// The arena's, from the op that makes it to the last that reads it.
  Temporary,
  /// As Temporary, but alive from the start: an argument whose memory the caller
  /// gives away.
  Donated,
  /// Is there throughout, and not in the arena.
  Argument,
  State,
  Constant,
  /// A block of the results' own.
  Output,
};

struct MemoryBuffer {
  /// The value that owns the memory (never one that only renames it); null if made
  /// by hand.
  mlir::Value value;
  MemoryKind kind = MemoryKind::Temporary;
  /// Rounded up to the graph's alignment.
  int64_t bytes = 0;
  /// The op that makes it; -1: there from the start.
  int64_t producer = -1;
  /// The ops that read it, ascending, each once.
  llvm::SmallVector<unsigned, 4> users;
  /// Alive to the end.
  bool returned = false;
  /// The State buffer that this one is the next value of, and into which it is
  /// written straight, so that it takes no memory of its own; -1: none. All other
  /// readers of the old value run before.
  int64_t updates = -1;

  /// True if it takes bytes of the arena.
  bool inArena() const {
    return kind == MemoryKind::Temporary || kind == MemoryKind::Donated;
  }
};

struct MemoryOp {
  /// Null if made by hand.
  mlir::Operation *op = nullptr;
  /// Buffers, each once. No other op has the same output.
  llvm::SmallVector<unsigned, 4> inputs, outputs;
  /// What the op needs only while it runs: workspace, partial sums, the most that
  /// its regions or the function it calls keep at once. Rounded up.
  int64_t workspace = 0;
  /// (output, input): the output may take the input's bytes if that dies here.
  llvm::SmallVector<std::pair<unsigned, unsigned>, 2> inPlace;
  /// Ops that must run before, though this one reads nothing of theirs: readers of
  /// state that it overwrites.
  llvm::SmallVector<unsigned, 2> after;
  /// Of an op that only begins, such as an exchange between ranks: the op that waits for
  /// its end. Until then its workspace, its outputs, and inputs whose bytes no output has
  /// taken, are in use. -1: none.
  int64_t until = -1;
  /// The op until which the workspace is in use, if that is not `until`: others have it
  /// after this one. -1: none.
  int64_t workspaceUntil = -1;
  /// Running it again on the same operands gives the same bits and nothing else
  /// happens.
  bool repeatable = true;
};

struct MemoryGraph {
  /// Of every buffer, in bytes.
  int64_t alignment = 64;
  llvm::SmallVector<MemoryBuffer> buffers;
  /// In the order of the program.
  llvm::SmallVector<MemoryOp> ops;
  /// Bytes of blocks that are needed after the last op, all at once.
  llvm::SmallVector<int64_t> finalBlocks;

  /// Bytes of all buffers of `kind`.
  int64_t getBytes(MemoryKind kind) const;
  /// The ops that must run before op `index`, ascending, each once.
  llvm::SmallVector<unsigned> getPredecessors(unsigned index) const;
};

/// What a graph comes to if its ops run in some order. Positions count ops in that
/// order; the end of the function is position `ops.size()`.
struct MemoryProfile {
  /// Blocks of the arena: one for each chain of buffers that follow each other in
  /// place, each workspace and each final block. Begin and end are positions.
  llvm::SmallVector<ArenaBuffer> blocks;
  /// The block of each buffer, -1 for those not in the arena; of each op's
  /// workspace (by the op's number), -1 without; of each final block.
  llvm::SmallVector<int64_t> blockOfBuffer, blockOfWorkspace, blockOfFinal;
  /// First and last position of each buffer, whatever its kind.
  llvm::SmallVector<std::pair<int64_t, int64_t>> lifetimes;
  /// Bytes of temporaries at each position, the end included.
  llvm::SmallVector<int64_t> bytes;
  /// The most of `bytes`, and where that is first reached.
  int64_t peak = 0;
  unsigned peakPosition = 0;
};

/// The profile of `graph` if its ops run in `order` (numbers of ops; empty: the
/// program's). `order` must respect getPredecessors. Linear but for a logarithm.
MemoryProfile profileMemory(const MemoryGraph &graph,
                            llvm::ArrayRef<unsigned> order = {});

/// The buffers of the arena that are alive at `position` of `profile`.
llvm::SmallVector<unsigned>
getLiveBuffers(const MemoryGraph &graph, const MemoryProfile &profile, unsigned position);

/// Sets `producer` and `users` of all buffers from the ops' inputs and outputs.
void connectBuffers(MemoryGraph &graph);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_MEMORYGRAPH_H
