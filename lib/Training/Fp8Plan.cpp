//===- Fp8Plan.cpp - Which matmuls of a step run in 8-bit floats -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Training/Fp8Plan.h"

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpt;

double mpt::getLargest(Fp8Format format) {
  return format == Fp8Format::E4M3 ? 448.0 : 57344.0;
}

namespace {

/// What makes the elements of `value`.
Value getSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Everything that depends on the seed of the backward pass.
DenseSet<Value> findGradients(Block &block) {
  DenseSet<Value> gradients;
  for (Operation &op : block) {
    const bool reads = llvm::any_of(
        op.getOperands(), [&](Value operand) { return gradients.contains(operand); });
    if (reads || isa<GradSeedOp>(op))
      gradients.insert_range(op.getResults());
  }
  return gradients;
}

/// Why the matmul of `lhs` and `rhs` keeps its types; empty if it need not.
std::string findObstacle(Operation *op, Value lhs, Value rhs, int64_t alignment) {
  if (auto linear = dyn_cast<LinearOp>(op);
      linear && linear.getEpilogue() != Epilogue::None)
    return "it has an epilogue; run this pass before --mpt-fuse-epilogues";
  auto left = cast<RankedTensorType>(lhs.getType());
  auto right = cast<RankedTensorType>(rhs.getType());
  for (RankedTensorType type : {left, right}) {
    Type element = type.getElementType();
    if (!element.isF32() && !element.isF16() && !element.isBF16())
      return llvm::formatv("an operand is {0}", element).str();
    if (!type.hasStaticShape())
      return "a size is not known; run --mpt-specialize first";
  }
  if (left.getRank() > 2 && right.getRank() > 2)
    return "both operands are batches, as inside attention";
  auto isAligned = [&](int64_t size) { return size % alignment == 0; };
  // All leading dimensions of what is multiplied with a matrix are rows.
  auto getRows = [](RankedTensorType type) {
    return type.getNumElements() / std::max<int64_t>(1, type.getShape().back());
  };
  for (RankedTensorType type : {left, right})
    if (type.getNumElements() == 0 || !isAligned(getRows(type)) ||
        !isAligned(type.getShape().back()))
      return llvm::formatv("the sizes of {0} are not multiples of {1}", type, alignment)
          .str();
  return {};
}

} // namespace

Fp8Plan mpt::planFp8(func::FuncOp function, const Fp8Options &options,
                     llvm::function_ref<bool(Operation *)> isKept) {
  Fp8Plan plan;
  Block &block = function.getBody().front();
  DenseSet<Value> gradients = findGradients(block);
  DenseMap<std::pair<Value, unsigned>, unsigned> numbers;
  auto getTensor = [&](Value value) {
    Value source = getSource(value);
    const Fp8Format format =
        options.hybrid && gradients.contains(source) ? Fp8Format::E5M2 : Fp8Format::E4M3;
    auto [entry, isNew] =
        numbers.try_emplace({source, static_cast<unsigned>(format)}, plan.tensors.size());
    if (isNew)
      plan.tensors.push_back({source, format});
    return entry->second;
  };
  for (Operation &op : block) {
    if (!isa<MatmulOp, LinearOp>(op))
      continue;
    Value lhs = op.getOperand(0), rhs = op.getOperand(1);
    std::string obstacle =
        isKept(&op) ? "keep= names it" : findObstacle(&op, lhs, rhs, options.alignment);
    if (!obstacle.empty()) {
      plan.kept.push_back({&op, std::move(obstacle)});
      continue;
    }
    const unsigned left = getTensor(lhs);
    plan.matmuls.push_back({&op, left, getTensor(rhs)});
  }
  return plan;
}
