//===- SpreadKernels.cpp - Tasks for the blocks of a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-spread-kernels`: cuts column kernels into as many tasks as keep a large GPU
/// busy. A task is a block there.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace mpt {
#define GEN_PASS_DEF_SPREADKERNELSPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

/// Four blocks for each of an H200's 132 processors.
static constexpr int64_t kBlocks = 528;
/// Points that a block works on at once, and columns that it is wide if they do not
/// depend on each other.
static constexpr int64_t kPointsAtOnce = 2048, kColumns = 256;
/// Threads of a block, and those that share a row at most if columns are independent.
static constexpr int64_t kBlock = 256, kWarp = 32;
/// Rows that a group of threads adds in the time that a second launch takes, and points
/// of all rows if one block does them.
static constexpr int64_t kRowsInTurn = 8, kMostPoints = 16384;

/// Whether one task is faster than several and a second launch that adds what they leave.
static bool isShort(int64_t rows, int64_t columns, bool hasRows) {
  int64_t threads = llvm::PowerOf2Ceil(hasRows ? llvm::divideCeil(columns, 4) : columns);
  threads = std::min(threads, hasRows && columns > 4 * kWarp ? kBlock : kWarp);
  return rows <= kRowsInTurn * (kBlock / threads) &&
         (!hasRows || rows * columns <= kMostPoints);
}

static int64_t getChunkRows(kernel::KernelOp kernel) {
  int64_t rows = getKernelRows(kernel.getDomain());
  int64_t columns = std::max<int64_t>(getKernelColumns(kernel.getDomain()), 1);
  bool hasRows = !kernel.getBody().front().getOps<kernel::RowReduceOp>().empty();
  if (isShort(rows, columns, hasRows))
    return std::max<int64_t>(rows, 1);
  int64_t side = hasRows ? 1 : llvm::divideCeil(columns, kColumns);
  int64_t atOnce = std::clamp<int64_t>(kPointsAtOnce / columns, 1, 8);
  int64_t chunk = llvm::divideCeil(rows, std::max<int64_t>(kBlocks / side, 1));
  // Two rows for each group of threads, or the partial sums cost more than they
  // save.
  chunk = std::max(chunk, atOnce > 1 ? 2 * atOnce : 1);
  return std::clamp<int64_t>(chunk, 1, std::max<int64_t>(rows, 1));
}

namespace {

struct SpreadKernelsPass : mpt::impl::SpreadKernelsPassBase<SpreadKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!mpt::detail::hasKernelsOrProgram(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no kernel and no program");
    getOperation().walk([](kernel::KernelOp kernel) {
      if (kernel.getKind() == kernel::KernelKind::Column)
        kernel.setChunkRows(getChunkRows(kernel));
    });
  }
};

} // namespace
