//===- ScaledGemms.cpp - Matmuls with block scales by cuBLASLt -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/ScaledGemms.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/Support/Remarks.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include <memory>
#include <vector>

using namespace mlir;
using namespace mpt;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

/// One operand for chips of sm_90 (`isHopper`), or of sm_100 and newer. Returns why the
/// library does not take it, or nothing.
static std::string planOperand(Value q, Value scales, ArrayRef<int64_t> block,
                               bool isColumn, bool isHopper, ScaledGemmOperand &operand) {
  operand.quantize = q.getDefiningOp<QuantizeOp>();
  if (!operand.quantize || operand.quantize.getQ() != q ||
      operand.quantize.getScales() != scales)
    return "an operand is not what an mpt.quantize makes, with its scales";
  if (typeOf(q).getRank() != 2 || !typeOf(q).hasStaticShape())
    return "an operand is no matrix of a known shape";
  operand.isColumn = isColumn;
  operand.block = {block[isColumn ? 1 : 0], block[isColumn ? 0 : 1]};
  const auto [outer, length] = operand.block;
  const bool isRow = outer == 1, isSquare = outer == 128 && length == 128;
  std::string found = llvm::formatv("blocks of {0}x{1} with scales of {2}", outer, length,
                                    typeOf(scales).getElementType());
  const bool isFourBit = isa<Float4E2M1FNType>(typeOf(q).getElementType());
  if (isFourBit || isa<Float8E4M3FNType>(typeOf(scales).getElementType())) {
    if (isHopper || !isFourBit || !isRow || length != 16 ||
        !isa<Float8E4M3FNType>(typeOf(scales).getElementType()))
      return llvm::formatv("{0} in {1}, and the library has f4E2M1FN in blocks of 1x16 "
                           "with scales of f8E4M3FN, from sm_100 on",
                           typeOf(q).getElementType(), found);
    operand.scaling = GemmScaling::Vec16UE4M3;
    return "";
  }
  if (isHopper) {
    if (!typeOf(scales).getElementType().isF32() || length != 128 || !(isRow || isSquare))
      return found + ", and sm_90 has 1x128 and 128x128 with f32";
    operand.scaling = isRow ? GemmScaling::Vec128F32 : GemmScaling::Block128F32;
    return "";
  }
  if (operand.quantize.getRule() == ScaleRule::Largest)
    return "scales that are not powers of two, and sm_100 has no others";
  if (!isSquare && !(isRow && (length == 32 || length == 128)))
    return found + ", and sm_100 has 1x32, and 1x128 and 128x128 as several of them";
  operand.scaling = GemmScaling::Vec32UE8M0;
  return "";
}

ScaledGemm mpt::planScaledGemm(ScaledMatmulOp op, ArrayRef<int64_t> architectures) {
  ScaledGemm result;
  auto refuse = [&](std::string why) {
    result.why = std::move(why);
    return result;
  };
  const bool areHopper =
      llvm::all_of(architectures, [](int64_t number) { return number == 90; });
  if (!areHopper &&
      llvm::any_of(architectures, [](int64_t number) { return number < 100; }))
    return refuse("the chips have no scaling in common; compile for sm_90 alone, or for "
                  "sm_100 and newer");
  if (op.getAccumulatorBits() != 0)
    return refuse("its sums are those of 'accumulator_bits'");
  Type element = typeOf(op.getResult()).getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return refuse("its result is of another type than f32, bf16 and f16");
  const int64_t k = op.getSumSize();
  if (areHopper && op.getSegmentSize() != 128 && !(op.getSegmentSize() >= k && k <= 128))
    return refuse(
        llvm::formatv("its segments have {0} products, and those of the library "
                      "128",
                      op.getSegmentSize()));
  std::string why = planOperand(op.getLhs(), op.getLhsScales(), op.getLhsBlock(),
                                op.getTransposeLhs(), areHopper, result.lhs);
  if (why.empty())
    why = planOperand(op.getRhs(), op.getRhsScales(), op.getRhsBlock(),
                      !op.getTransposeRhs(), areHopper, result.rhs);
  if (!why.empty())
    return refuse(std::move(why));
  auto type = typeOf(op.getResult());
  rt::GemmPlan &plan = result.plan;
  plan.m = type.getDimSize(1);
  plan.n = type.getDimSize(0);
  plan.k = k;
  plan.transposeA = true;
  auto matrix = [](rt::DataType type, int64_t rows, int64_t columns) {
    return rt::GemmMatrix{type, rows, columns, rows, 0};
  };
  plan.a = matrix(*encodeElementType(typeOf(op.getRhs()).getElementType()), k, plan.m);
  plan.b = matrix(*encodeElementType(typeOf(op.getLhs()).getElementType()), k, plan.n);
  plan.d = matrix(rt::DataType::F32, plan.m, plan.n);
  plan.scalingA = static_cast<rt::GemmScaling>(result.rhs.scaling);
  plan.scalingB = static_cast<rt::GemmScaling>(result.lhs.scaling);
  for (int64_t number : architectures)
    if (!rt::checkGemmPlan(plan, static_cast<int>(number), result.why))
      return result;
  return result;
}

//===----------------------------------------------------------------------===//
// The rewriting
//===----------------------------------------------------------------------===//

namespace {

/// What one mpt.gemm_quantize makes: copies of one matrix.
struct Copies {
  /// Of which it is made, in program order.
  SmallVector<QuantizeOp> quantizes;
  std::array<int64_t, 2> block;
  GemmScaling scaling;
  bool hasRow = false, hasColumn = false;
  /// The copies whose rows it reads, if it is made of 8-bit floats.
  Copies *from = nullptr;
  GemmQuantizeOp made;
};

class Rewriter {
public:
  void add(ScaledMatmulOp op, ScaledGemm plan) {
    planned.push_back({op, plan, find(plan.lhs), find(plan.rhs)});
  }
  void run();

private:
  struct Planned {
    ScaledMatmulOp op;
    ScaledGemm plan;
    Copies *lhs, *rhs;
  };

  Copies *find(const ScaledGemmOperand &operand);
  Copies *findSource(Copies &copies);
  GemmQuantizeOp make(Copies &copies);
  void replace(const Planned &one);

  std::vector<Planned> planned;
  std::vector<std::unique_ptr<Copies>> all;
  /// The copies that are made in place of a quantize.
  DenseMap<Operation *, SmallVector<Copies *, 1>> copiesOf;
};

} // namespace

/// What `value` is a reshape of.
static Value getRoot(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

/// Whether nothing runs between the two that takes memory or time of its own, so that
/// both may be made where the first is.
static bool areTogether(QuantizeOp first, QuantizeOp second) {
  if (first->getBlock() != second->getBlock() || !first->isBeforeInBlock(second))
    return false;
  for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode())
    if (!isa<QuantizeOp, ReshapeOp, TransposeOp, CastOp, ConstantOp>(op))
      return false;
  return true;
}

/// The copies that have the operand; new ones if there are none.
Copies *Rewriter::find(const ScaledGemmOperand &operand) {
  QuantizeOp quantize = operand.quantize;
  auto isSame = [&](const Copies &copies) {
    QuantizeOp one = copies.quantizes.front();
    return copies.block == operand.block && copies.scaling == operand.scaling &&
           one.getRule() == quantize.getRule() &&
           getRoot(one.getX()) == getRoot(quantize.getX()) &&
           typeOf(one.getX()) == typeOf(quantize.getX()) &&
           typeOf(one.getQ()) == typeOf(quantize.getQ()) &&
           (one == quantize || areTogether(one, quantize) || areTogether(quantize, one));
  };
  Copies *found = nullptr;
  for (const auto &copies : all)
    if (isSame(*copies))
      found = copies.get();
  if (!found) {
    all.push_back(std::make_unique<Copies>());
    found = all.back().get();
    found->block = operand.block;
    found->scaling = operand.scaling;
  }
  (operand.isColumn ? found->hasColumn : found->hasRow) = true;
  if (!llvm::is_contained(found->quantizes, quantize)) {
    found->quantizes.push_back(quantize);
    copiesOf[quantize].push_back(found);
    // The first in the program is where the copies are made.
    if (quantize->isBeforeInBlock(found->quantizes.front()))
      std::swap(found->quantizes.front(), found->quantizes.back());
  }
  return found;
}

/// If what is quantized are the numbers of copies with such blocks, those.
Copies *Rewriter::findSource(Copies &copies) {
  auto back = copies.quantizes.front().getX().getDefiningOp<DequantizeOp>();
  auto quantize = back ? back.getQ().getDefiningOp<QuantizeOp>() : QuantizeOp();
  if (!quantize || quantize.getQ() != back.getQ() ||
      quantize.getScales() != back.getScales() ||
      !typeOf(back.getY()).getElementType().isF32())
    return nullptr;
  for (Copies *source : copiesOf.lookup(quantize))
    if (source != &copies && source->block == copies.block &&
        source->scaling == copies.scaling &&
        ArrayRef<int64_t>(source->block) == quantize.getBlock())
      return source;
  return nullptr;
}

GemmQuantizeOp Rewriter::make(Copies &copies) {
  if (copies.made)
    return copies.made;
  QuantizeOp first = copies.quantizes.front();
  OpBuilder builder(first);
  auto type = typeOf(first.getX()), format = typeOf(first.getQ());
  Value x = first.getX(), scales;
  if (copies.from) {
    GemmQuantizeOp source = make(*copies.from);
    x = source.getRow();
    scales = source.getRowScales();
  }
  const int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  auto scalesType = [&](int64_t outer, int64_t k) -> Type {
    Type element = builder.getF32Type();
    if (copies.scaling == GemmScaling::Vec32UE8M0)
      element = Float8E8M0FNUType::get(builder.getContext());
    else if (copies.scaling == GemmScaling::Vec16UE4M3)
      element = Float8E4M3FNType::get(builder.getContext());
    return RankedTensorType::get(
        {rt::countScales(static_cast<rt::GemmScaling>(copies.scaling), outer, k)},
        element);
  };
  // Two numbers of four bits share a byte.
  auto matrixType = [&](int64_t outer, int64_t k) -> Type {
    if (copies.scaling == GemmScaling::Vec16UE4M3)
      return RankedTensorType::get({outer, k / 2}, builder.getI8Type());
    return format.clone({outer, k});
  };
  Type none;
  copies.made = GemmQuantizeOp::create(
      builder, first.getLoc(), copies.hasRow ? matrixType(rows, columns) : none,
      copies.hasRow ? scalesType(rows, columns) : none,
      copies.hasColumn ? matrixType(columns, rows) : none,
      copies.hasColumn ? scalesType(columns, rows) : none, /*amax=*/none, x, scales,
      /*factor=*/Value(), copies.block, copies.scaling, first.getRule(),
      /*via=*/TypeAttr());
  copies.made->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  return copies.made;
}

void Rewriter::replace(const Planned &one) {
  ScaledMatmulOp op = one.op;
  auto get = [](Copies *copies, const ScaledGemmOperand &operand) {
    GemmQuantizeOp made = copies->made;
    return operand.isColumn ? std::pair(made.getColumn(), made.getColumnScales())
                            : std::pair(made.getRow(), made.getRowScales());
  };
  auto [lhs, lhsScales] = get(one.lhs, one.plan.lhs);
  auto [rhs, rhsScales] = get(one.rhs, one.plan.rhs);
  // A result that is rounded at once, maybe as another shape, is rounded by the library.
  Value result = op.getResult();
  auto getOnlyUser = [](Value value) {
    return value.hasOneUse() ? *value.user_begin() : nullptr;
  };
  auto reshape = dyn_cast_or_null<ReshapeOp>(getOnlyUser(result));
  auto round =
      dyn_cast_or_null<CastOp>(getOnlyUser(reshape ? reshape.getResult() : result));
  Type element = typeOf(result).getElementType();
  if (Type low = round ? typeOf(round.getY()).getElementType() : element;
      element.isF32() && (low.isF16() || low.isBF16()))
    element = low;
  else
    round = CastOp();
  OpBuilder builder(op);
  auto gemm = GemmOp::create(
      builder, op.getLoc(), typeOf(result).clone(element), /*saved=*/Type(),
      /*bias_grad=*/Type(), lhs, rhs, /*bias=*/Value(), /*aux=*/Value(),
      /*addend=*/Value(), lhsScales, rhsScales, /*transpose_lhs=*/false,
      /*transpose_rhs=*/true, Epilogue::None, one.plan.lhs.scaling, one.plan.rhs.scaling);
  if (!round) {
    result.replaceAllUsesWith(gemm.getResult());
  } else if (!reshape) {
    round.getY().replaceAllUsesWith(gemm.getResult());
    round.erase();
  } else {
    builder.setInsertionPoint(reshape);
    auto reshaped = ReshapeOp::create(builder, reshape.getLoc(), typeOf(round.getY()),
                                      gemm.getResult());
    round.getY().replaceAllUsesWith(reshaped.getResult());
    round.erase();
    reshape.erase();
  }
  op.erase();
}

void Rewriter::run() {
  for (const auto &copies : all)
    if ((copies->from = findSource(*copies)))
      copies->from->hasRow = true;
  for (const auto &copies : all)
    make(*copies);
  for (const Planned &one : planned)
    replace(one);
  // What nothing reads any more, the last first.
  for (const auto &copies : llvm::reverse(all))
    for (QuantizeOp quantize : copies->quantizes) {
      if (!copiesOf.erase(quantize))
        continue;
      Operation *dead = quantize;
      while (dead && isa<QuantizeOp, DequantizeOp, ReshapeOp>(dead) &&
             dead->use_empty()) {
        Operation *next = dead->getOperand(0).getDefiningOp();
        // Another pass over the list erases it.
        const bool isListed = next && copiesOf.contains(next);
        dead->erase();
        dead = isListed ? nullptr : next;
      }
    }
}

void mpt::rewriteScaledGemms(Operation *root, ArrayRef<int64_t> architectures) {
  if (architectures.empty())
    return;
  Rewriter rewriter;
  root->walk([&](ScaledMatmulOp op) {
    ScaledGemm plan = planScaledGemm(op, architectures);
    auto function = op->getParentOfType<SymbolOpInterface>();
    StringRef name = function ? function.getName() : StringRef();
    if (!plan.why.empty()) {
      emitRemark(RemarkId::ScaledGemmMissed, op.getLoc(), name)
          << remark::reason("{0}", plan.why);
      return;
    }
    emitRemark(RemarkId::ScaledGemm, op.getLoc(), name) << remark::reason(
        "{0} x {1} x {2}: {3} by {4}", plan.plan.n, plan.plan.m, plan.plan.k,
        rt::getName(plan.plan.scalingB), rt::getName(plan.plan.scalingA));
    rewriter.add(op, std::move(plan));
  });
  rewriter.run();
}
