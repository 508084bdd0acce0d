//===- ReductionBatches.cpp - Which reductions can be one launch -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReductionBatches.h"
#include "GPUKernelEmitter.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// How far a launch may move, in launches and calls: keeps this linear.
static constexpr size_t kReach = 2048;
/// Buffers of a launch that a table lists.
static constexpr size_t kMostBuffers = 8;
/// Of new places in the arena.
static constexpr int64_t kAlignment = 256;

namespace {

/// A launch or call where it will be.
struct Entry {
  Operation *op;
  SmallVector<ByteRange> ranges;
  size_t instructions;
};

struct Batch {
  /// Threads of a block of its first stage.
  int64_t threads;
  /// Last one first.
  SmallVector<program::LaunchOp> launches;
};

} // namespace

/// Threads of a block of the launches that `kernel` has in a batch, or 0 if it can be in
/// none: the second stage of all is one warp's.
static int64_t threadsOf(kernel::FuncOp kernel) {
  if (!kernel || kernel.getKind() == kernel::KernelKind::Pointwise)
    return 0;
  SmallVector<DeviceLaunch> launches =
      GPUKernelEmitter(kernel, /*isBatched=*/true).getLaunches();
  if (launches.front().blocks[1] != 1)
    return 0;
  if (launches.size() == 2 &&
      (launches[1].threads != kWarp || launches[1].blocks[0] != 1))
    return 0;
  return launches.front().threads;
}

/// Whether `launch` makes a single number, and a table can say where all buffers are.
static bool makesNumber(program::LaunchOp launch) {
  if (launch.getInputs().size() + launch.getOutputs().size() > kMostBuffers)
    return false;
  // Inputs of the program and constants are blocks of their own.
  for (ValueRange buffers :
       {ValueRange(launch.getInputs()), ValueRange(launch.getOutputs())})
    for (Value buffer : buffers) {
      auto declared = buffer.getDefiningOp<program::BufferOp>();
      if (!declared || declared.getSpace() == program::Space::Input ||
          declared.getSpace() == program::Space::Constant)
        return false;
    }
  return llvm::any_of(launch.getOutputs(), [](Value output) {
    return cast<MemRefType>(output.getType()).getRank() == 0;
  });
}

/// Gives each launch of `batches` partial sums of its own, after the arena.
static void separatePartials(program::ProgramOp program,
                             ArrayRef<SmallVector<program::LaunchOp>> batches) {
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  // A batch is done when the next begins.
  int64_t start = llvm::alignTo(program.getArenaBytes(), kAlignment), end = start;
  for (ArrayRef<program::LaunchOp> batch : batches) {
    int64_t offset = start;
    for (program::LaunchOp launch : batch) {
      if (!launch.getPartials())
        continue;
      auto type = cast<MemRefType>(launch.getPartials().getType());
      auto declared = program::BufferOp::create(builder, launch.getLoc(), type,
                                                program::Space::Arena, offset);
      launch.getPartialsMutable().assign(declared.getBuffer());
      offset += llvm::alignTo(type.getNumElements() * bytesOf(type.getElementType()),
                              kAlignment);
    }
    end = std::max(end, offset);
  }
  if (end > start)
    program.setArenaBytes(end);
}

SmallVector<SmallVector<program::LaunchOp>>
mpt::detail::batchReductions(program::ProgramOp program) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  llvm::StringMap<int64_t> threads;
  auto threadsFor = [&](program::LaunchOp launch) {
    auto [place, isNew] = threads.try_emplace(launch.getKernel());
    if (isNew)
      place->second = threadsOf(symbols.lookup<kernel::FuncOp>(launch.getKernel()));
    return place->second;
  };
  // From the last to the first: entries are in reverse, and a launch that joins moves
  // to just before (in `entries`: after) the batch's earliest member.
  const llvm::DenseSet<Operation *> besideExchanges = findOpsBesideExchanges(program);
  std::vector<Entry> entries;
  SmallVector<Batch> batches;
  auto ops = llvm::to_vector(llvm::make_pointer_range(program.getBody().front()));
  for (Operation *op : llvm::reverse(ops)) {
    auto launch = dyn_cast<program::LaunchOp>(op);
    if (isa<program::BufferOp>(op))
      continue;
    Entry entry = {op, rangesOf(op), countInstructions(op)};
    int64_t size = launch && makesNumber(launch) ? threadsFor(launch) : 0;
    if (size == 0) {
      entries.push_back(std::move(entry));
      continue;
    }
    // In a batch its partial sums have another place.
    SmallVector<ByteRange> moving = rangesOf(op, /*withPartials=*/false);
    bool hasJoined = false;
    for (Batch &batch : batches) {
      if (batch.threads != size)
        continue;
      size_t place = 0, reach = 0;
      for (size_t i = entries.size(); i-- > 0;) {
        reach += entries[i].instructions;
        if (reach > kReach || conflict(entries[i].ranges, moving))
          break;
        if (entries[i].op == batch.launches.back())
          place = i + 1;
        // All members are past.
        if (entries[i].op == batch.launches.front()) {
          hasJoined = true;
          break;
        }
      }
      if (!hasJoined)
        continue;
      if (batch.launches.size() == 1)
        for (Entry &known : entries)
          if (known.op == batch.launches.front())
            known.ranges = rangesOf(known.op, /*withPartials=*/false);
      batch.launches.push_back(launch);
      entries.insert(entries.begin() + place, {op, moving, 1});
      break;
    }
    if (hasJoined)
      continue;
    if (besideExchanges.contains(op)) {
      entries.push_back(std::move(entry));
      continue;
    }
    batches.push_back({size, {launch}});
    entries.push_back(std::move(entry));
  }
  SmallVector<SmallVector<program::LaunchOp>> result;
  for (const Batch &batch : llvm::reverse(batches))
    if (batch.launches.size() > 1)
      result.emplace_back(llvm::reverse(batch.launches));
  if (result.empty())
    return result;
  Block &block = program.getBody().front();
  for (Entry &entry : llvm::reverse(entries))
    entry.op->moveBefore(&block, block.end());
  separatePartials(program, result);
  return result;
}
