//===- GPUKernelMapping.cpp - Which thread does what of a kernel -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The half of the GPU's kernel emitter that decides: lanes, groups of threads,
/// blocks. GPUKernelEmitter.cpp writes the code.
///
//===----------------------------------------------------------------------===//

#include "GPUKernelEmitter.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Threads of a block. More would leave too few registers to a thread.
static constexpr int64_t kBlock = 256;
/// Vectors of a row, and values in them, that a thread keeps in registers.
static constexpr int64_t kMostFrames = 4, kMostKeptValues = 96;

/// Groups of warps that share the tasks of a column kernel's second stage.
static constexpr int64_t kCombineGroups = 8;

GPUKernelEmitter::GPUKernelEmitter(kernel::FuncOp kernel, bool isBatched)
    : KernelEmitter(kernel), isBatched(isBatched) {
  hasRowReductions = !body.getOps<kernel::RowReduceOp>().empty();
  chooseLanes();
  chooseGroups();
}

void GPUKernelEmitter::chooseLanes() {
  int64_t narrowest = 16;
  for (const KernelBuffer &buffer : buffers)
    if (buffer.columnStride() == 1)
      narrowest = std::min(narrowest, bytesOf(buffer.element));
  lanes = std::min<int64_t>(std::min<int64_t>(8, 16 / narrowest),
                            llvm::bit_floor<uint64_t>(std::max<int64_t>(columns, 1)));
  // Every vector starts at a multiple of its size. A flat kernel's tail is done
  // by the element.
  auto isAligned = [&] {
    if (!isFlat() && columns % lanes != 0)
      return false;
    for (const KernelBuffer &buffer : buffers) {
      if (buffer.columnStride() != 1)
        continue;
      if (buffer.offset % lanes != 0)
        return false;
      for (size_t d = 0; d + 1 < domain.size(); ++d)
        if (domain[d] != 1 && buffer.strides[d] % lanes != 0)
          return false;
    }
    return true;
  };
  while (lanes > 1 && !isAligned())
    lanes /= 2;
  vectors = columns / lanes;
}

void GPUKernelEmitter::chooseGroups() {
  if (kernel.getKind() == kernel::KernelKind::Pointwise)
    return;
  int64_t kept = 0;
  for (BlockArgument argument : body.getArguments())
    kept += !isRowUniform(argument);
  bool storesRows = false;
  auto yield = cast<kernel::YieldOp>(body.getTerminator());
  for (Value value : yield.getValues())
    storesRows |= isRowUniform(value) && !info.isAfterColumns(value);
  if (kernel.getKind() == kernel::KernelKind::Column && !hasRowReductions &&
      !storesRows) {
    // Columns are independent.
    groupThreads = std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
    columnBlocks = llvm::divideCeil(vectors, groupThreads);
  } else if (vectors <= kWarp * kMostFrames) {
    groupThreads = std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
    framesPerThread = llvm::divideCeil(vectors, groupThreads);
  } else {
    groupThreads = std::min(kBlock, static_cast<int64_t>(llvm::alignTo(
                                        llvm::divideCeil(vectors, kMostFrames), kWarp)));
    framesPerThread = llvm::divideCeil(vectors, groupThreads);
  }
  int64_t values = std::max<int64_t>(kept, 1) + info.getColumnPartials().size();
  if (framesPerThread > kMostFrames ||
      (framesPerThread > 1 && framesPerThread * lanes * values > kMostKeptValues)) {
    framesPerThread = 0;
    groupThreads = std::min(kBlock, static_cast<int64_t>(llvm::alignTo(vectors, kWarp)));
  }
  bool isColumn = kernel.getKind() == kernel::KernelKind::Column;
  groups =
      std::max<int64_t>(1, (isColumn || isBatched ? kBlock : kBlock / 2) / groupThreads);
  // Sums in memory have one writer.
  if (framesPerThread == 0)
    groups = 1;
  if (groupThreads * groups < kWarp)
    groups = kWarp / groupThreads;
  if (groupThreads > kWarp)
    sharedBytes = 8 * groups * groupThreads / kWarp;
  for (const ColumnPartials &part : info.getColumnPartials())
    if (groups > 1)
      sharedBytes =
          std::max(sharedBytes, groups * groupThreads * lanes *
                                    bytesOf(kernel::ColumnReduceOp(part.op).getType()));
  bool storesColumns = false, storesScalars = false;
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (info.isAfterColumns(value)) {
      bool isOnce =
          isRowUniform(value) && buffers[body.getNumArguments() + i].columnStride() == 0;
      (isOnce ? storesScalars : storesColumns) = true;
    }
  combineThreads = kWarp;
  if (storesColumns) {
    combineThreads = std::min(
        storesScalars ? kBlock : kBlock / 2,
        static_cast<int64_t>(llvm::alignTo(std::max<int64_t>(columns, 1), kWarp)));
    // All blocks may read the scalars that one stores.
    if (!storesScalars) {
      if (tasks >= kCombineGroups) {
        combineThreads = kWarp;
        combineGroups = kCombineGroups;
        sharedBytes = std::max(sharedBytes, 8 * combineThreads * combineGroups);
      }
      combineBlocks = llvm::divideCeil(columns, combineThreads);
    }
  }
}

SmallVector<DeviceLaunch> GPUKernelEmitter::getLaunches() {
  DeviceLaunch launch;
  launch.function = kernel.getSymName().str();
  switch (kernel.getKind()) {
  case kernel::KernelKind::Pointwise: {
    int64_t total = isFlat() ? vectors + columns % lanes : rows * vectors;
    launch.threads = std::min(
        kBlock, static_cast<int64_t>(llvm::alignTo(std::max<int64_t>(total, 1), kWarp)));
    launch.blocks[0] = std::max<int64_t>(1, llvm::divideCeil(total, launch.threads));
    return {launch};
  }
  case kernel::KernelKind::Row:
    launch.threads = groupThreads * groups;
    launch.blocks[0] = std::max<int64_t>(1, llvm::divideCeil(rows, groups));
    return {launch};
  case kernel::KernelKind::Column:
    break;
  }
  launch.threads = groupThreads * groups;
  launch.blocks[0] = tasks;
  launch.blocks[1] = columnBlocks;
  DeviceLaunch second;
  second.function = launch.function + "_combine";
  second.blocks[0] = combineBlocks;
  second.threads = combineThreads * combineGroups;
  return {launch, second};
}

LogicalResult GPUKernelEmitter::check() {
  if (failed(KernelEmitter::check()))
    return failure();
  if (rows * columns <= 0)
    return kernel.emitError("a kernel over no points cannot be launched");
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (kernel.getKind() != kernel::KernelKind::Pointwise &&
      (rows > most || columns > most))
    return kernel.emitError("rows and columns of a reduction must be below 2^31 each");
  for (const DeviceLaunch &launch : getLaunches())
    if (launch.blocks[0] > most || launch.blocks[1] > 0xffff)
      return kernel.emitError("the domain is too large for a launch: ")
             << launch.blocks[0] << " x " << launch.blocks[1] << " blocks";
  for (Operation &op : body.without_terminator())
    if (isa<math::MathDialect>(op.getDialect())) {
      Type type = op.getResult(0).getType();
      if (!type.isF32() && !type.isF64() && !type.isInteger())
        return op.emitError("math functions run in f32 and f64 on a GPU, found ") << type;
    }
  return success();
}

SmallVector<DeviceLaunch> mpt::getDeviceLaunches(kernel::FuncOp kernel) {
  return GPUKernelEmitter(kernel).getLaunches();
}
