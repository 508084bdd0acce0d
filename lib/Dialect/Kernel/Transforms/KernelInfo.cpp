//===- KernelInfo.cpp - Facts about kernel bodies ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

int64_t mpt::getKernelRows(ArrayRef<int64_t> domain) {
  int64_t rows = 1;
  for (int64_t size : domain.empty() ? domain : domain.drop_back())
    rows *= size;
  return rows;
}

int64_t mpt::getKernelColumns(ArrayRef<int64_t> domain) {
  return domain.empty() ? 1 : domain.back();
}

int64_t mpt::getKernelTasks(ArrayRef<int64_t> domain, int64_t chunkRows) {
  int64_t rows = getKernelRows(domain);
  if (rows <= 0 || chunkRows <= 0)
    return 1;
  return llvm::divideCeil(rows, chunkRows);
}

/// A sum over many rows grows by blocks of so many, whose own sums have the digits that
/// the whole would round away, if those of all sums of the kernel take at most so many
/// bytes.
static constexpr int64_t rowsOfBlocks = 32, mostBlockBytes = 32768;

KernelInfo::KernelInfo(Operation *op) {
  ArrayRef<int64_t> domain;
  int64_t chunkRows = 1;
  ArrayAttr operandMaps;
  Region *region = nullptr;
  if (auto kernel = dyn_cast<kernel::KernelOp>(op)) {
    domain = kernel.getDomain();
    chunkRows = kernel.getChunkRows();
    operandMaps = kernel.getOperandMaps();
    region = &kernel.getBody();
  } else if (auto func = dyn_cast<kernel::FuncOp>(op)) {
    domain = func.getDomain();
    chunkRows = func.getChunkRows();
    operandMaps = func.getOperandMaps();
    region = &func.getBody();
  }
  if (!region || region->empty())
    return;

  int64_t tasks = getKernelTasks(domain, chunkRows);
  int64_t columns = getKernelColumns(domain);
  unsigned lastDim = domain.empty() ? 0 : domain.size() - 1;
  Block &block = region->front();
  for (BlockArgument argument : block.getArguments()) {
    if (argument.getArgNumber() >= operandMaps.size())
      break;
    auto map = dyn_cast<AffineMapAttr>(operandMaps[argument.getArgNumber()]);
    if (map && (domain.empty() || !map.getValue().isFunctionOfDim(lastDim)))
      rowUniform.insert(argument);
  }
  for (Operation &bodyOp : block.without_terminator()) {
    bool uniform = true, after = false;
    for (Value operand : bodyOp.getOperands()) {
      uniform &= isRowUniform(operand);
      after |= isAfterColumns(operand);
    }
    if (isa<kernel::RowReduceOp>(bodyOp))
      uniform = true;
    if (auto index = dyn_cast<kernel::IndexOp>(bodyOp))
      uniform = domain.empty() || index.getDim() != lastDim;
    if (auto reduce = dyn_cast<kernel::ColumnReduceOp>(bodyOp)) {
      after = true;
      int64_t width = uniform ? 1 : columns;
      partials.push_back({reduce, width, partialsBytes});
      int64_t elementBytes =
          llvm::divideCeil(reduce.getType().getIntOrFloatBitWidth(), 8);
      partialsBytes += llvm::alignTo(tasks * width * elementBytes, 64);
    }
    for (Value result : bodyOp.getResults()) {
      if (uniform)
        rowUniform.insert(result);
      if (after)
        afterColumns.insert(result);
    }
  }
  int64_t bytes = 0;
  for (const ColumnPartials &part : partials)
    bytes += llvm::alignTo(part.columns * 8, 64);
  if (chunkRows >= 2 * rowsOfBlocks && bytes <= mostBlockBytes)
    rowsPerBlock = rowsOfBlocks;
}
