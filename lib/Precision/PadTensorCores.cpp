//===- PadTensorCores.cpp - Pad matmuls to the sizes of tensor cores -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-pad-tensor-cores`. Zeros change no sum: a padded matmul has the same
/// elements, among others that are cut off again.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PolicyOptions.h"
#include "mpt/Precision/TensorCorePadding.h"
#include "mpt/Support/Remarks.h"

#include "llvm/Support/FormatVariadic.h"

namespace mpt {
#define GEN_PASS_DEF_PADTENSORCORESPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// True for types that tensor cores read.
bool isLow(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 16;
}

/// The sizes of a matmul of MPT's dialect; nullopt for other ops, other types and
/// dynamic sizes.
std::optional<MatmulSizes> getMatmulSizes(Operation *op) {
  if (!isa<MatmulOp, LinearOp>(op))
    return std::nullopt;
  auto lhs = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto rhs = dyn_cast<RankedTensorType>(op->getOperand(1).getType());
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!lhs || !rhs || !result || !lhs.hasStaticShape() || !rhs.hasStaticShape() ||
      lhs.getRank() < 2 || rhs.getRank() < 2 || !isLow(lhs.getElementType()) ||
      lhs.getElementType() != rhs.getElementType())
    return std::nullopt;
  MatmulSizes shape;
  auto getBatch = [](RankedTensorType type) {
    int64_t batch = 1;
    for (int64_t size : type.getShape().drop_back(2))
      batch *= size;
    return batch;
  };
  shape.lhsBatch = getBatch(lhs);
  shape.rhsBatch = getBatch(rhs);
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    shape.transposeLhs = matmul.getTransposeLhs();
    shape.transposeRhs = matmul.getTransposeRhs();
  } else {
    shape.transposeRhs = cast<LinearOp>(op).getTransposeWeight();
  }
  ArrayRef<int64_t> left = lhs.getShape().take_back(2),
                    right = rhs.getShape().take_back(2);
  shape.m = left[shape.transposeLhs ? 1 : 0];
  shape.k = left[shape.transposeLhs ? 0 : 1];
  shape.n = right[shape.transposeRhs ? 0 : 1];
  shape.lhsType = lhs.getElementType();
  shape.resultType = result.getElementType();
  return shape;
}

class Padder {
public:
  explicit Padder(const TargetDescription &target) : target(target) {}

  void run(Operation *op, const MatmulSizes &shape) {
    std::optional<MatmulPadding> padding = planPadding(shape, target);
    if (!padding)
      return;
    std::string text =
        llvm::formatv("{0} x {1} x {2} to {3} x {4} x {5}: saves {6:F1} us "
                      "at most, costs {7:F1} us on {8}",
                      shape.m, shape.n, shape.k, padding->m, padding->n, padding->k,
                      padding->saved, padding->cost, target.name)
            .str();
    if (!padding->pays()) {
      emitRemark(RemarkId::Unaligned, op->getLoc(), "") << remark::reason("{0}", text);
      return;
    }
    emitRemark(RemarkId::Padded, op->getLoc(), "") << remark::reason("{0}", text);
    rewrite(op, shape, *padding);
  }

private:
  /// `value` with its last two dimensions as `rows` by `columns`.
  Value pad(OpBuilder &builder, Location loc, Value value, int64_t rows,
            int64_t columns) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape()), low(shape.size()), high(shape.size());
    const size_t last = shape.size() - 1;
    high[last] = columns - shape[last];
    shape[last] = columns;
    if (last != 0) {
      high[last - 1] = rows - shape[last - 1];
      shape[last - 1] = rows;
    }
    if (llvm::all_of(high, [](int64_t size) { return size == 0; }))
      return value;
    // Later matmuls of the block read the same copy.
    Value &copy = copies[{value, builder.getBlock(), rows, columns}];
    if (!copy)
      copy = PadOp::create(
          builder, loc, type.clone(shape), value, builder.getDenseI64ArrayAttr(low),
          builder.getDenseI64ArrayAttr(high),
          /*interior=*/DenseI64ArrayAttr(), builder.getF64FloatAttr(0.0));
    return copy;
  }

  void rewrite(Operation *op, const MatmulSizes &shape, const MatmulPadding &to) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    auto map = [&](unsigned index, int64_t rows, int64_t columns) {
      return pad(builder, loc, op->getOperand(index), rows, columns);
    };
    SmallVector<Value> operands = {
        shape.transposeLhs ? map(0, to.k, to.m) : map(0, to.m, to.k),
        shape.transposeRhs ? map(1, to.n, to.k) : map(1, to.k, to.n)};
    if (op->getNumOperands() == 3)
      operands.push_back(map(2, 0, to.n)); // bias
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<int64_t> sizes(result.getShape());
    sizes[sizes.size() - 2] = to.m;
    sizes[sizes.size() - 1] = to.n;
    Operation *matmul = builder.clone(*op);
    matmul->setOperands(operands);
    matmul->getResult(0).setType(result.clone(sizes));
    Value cut = matmul->getResult(0);
    if (cut.getType() != result) {
      SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
      cut =
          SliceOp::create(builder, loc, result, cut, offsets, result.getShape(), strides);
    }
    op->getResult(0).replaceAllUsesWith(cut);
    op->erase();
  }

  const TargetDescription &target;
  /// By value, block, rows and columns.
  llvm::DenseMap<std::tuple<Value, Block *, int64_t, int64_t>, Value> copies;
};

struct PadTensorCoresPass
    : PolicyPass<mpt::impl::PadTensorCoresPassBase<PadTensorCoresPass>> {
  using PolicyPass::PolicyPass;

  /// A matmul of another dialect, whose dimensions only its own ops can pad.
  void advise(Operation *op, const TargetDescription &target) {
    for (Type type : op->getOperandTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || tensor.getRank() == 0 || !isLow(tensor.getElementType()) ||
          !target.hasUnits(tensor.getElementType()))
        continue;
      const int64_t multiple =
          target.alignment * 8 / tensor.getElementType().getIntOrFloatBitWidth();
      const int64_t size = tensor.getShape().back();
      if (ShapedType::isDynamic(size) || size % multiple == 0)
        continue;
      emitRemark(RemarkId::Unaligned, op->getLoc(), "")
          << remark::reason("the last dimension of {0} is {1}; multiples of {2} suit the "
                            "units of {3}",
                            tensor, size, multiple, target.name);
      return;
    }
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<PolicyAndSettings> chosen = makePolicy(module);
    if (!chosen)
      return signalPassFailure();
    if (!chosen->target) {
      mlir::emitError(module.getLoc())
          << getArgument()
          << ": no target is named; give target=sm_90 or the module an attribute "
          << kTargetAttr << " = \"sm_90\"";
      return signalPassFailure();
    }
    Padder padder(*chosen->target);
    SmallVector<Operation *> matmuls;
    module.walk([&](Operation *op) {
      if (chosen->policy.lookup(op).isContraction(op))
        matmuls.push_back(op);
    });
    if (chosen->policy.hadErrors())
      return signalPassFailure();
    if (matmuls.empty())
      mpt::detail::warnOfNothingToDo(module, getArgument(),
                                     "no matmul and no convolution");
    for (Operation *op : matmuls) {
      if (std::optional<MatmulSizes> shape = getMatmulSizes(op))
        padder.run(op, *shape);
      else
        advise(op, *chosen->target);
    }
  }
};

} // namespace
