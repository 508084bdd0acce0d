//===- DecomposeBlockScale.cpp - 8-bit floats scaled by blocks -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tensors become [P, rows, Q, columns], where P by Q blocks have rows by columns
/// elements each, or [P Q, columns] for blocks of one row, so that a block is a row of a
/// kernel. What is missing of the last blocks is zeros. A matmul becomes one for
/// each segment of K, whose results are scaled and added.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// The blocks of a tensor [.., R, C].
class BlockView {
public:
  BlockView(DecomposeBuilder &b, RankedTensorType type, ArrayRef<int64_t> block)
      : b(b), shape(type.getShape()) {
    // A block that is larger than the tensor is the tensor.
    auto clamp = [](int64_t length, int64_t size) {
      return std::max<int64_t>(std::min(length, size), 1);
    };
    rows = clamp(block[0], shape[shape.size() - 2]);
    columns = clamp(block[1], shape.back());
    batch = ShapedType::getNumElements(shape.drop_back(2));
    blockRows = llvm::divideCeil(shape[shape.size() - 2], rows);
    blockColumns = llvm::divideCeil(shape.back(), columns);
  }

  /// `x` [.., R, C] cut into blocks.
  Value split(Value x) {
    const int64_t height = shape[shape.size() - 2], width = shape.back();
    const int64_t missingRows = blockRows * rows - height;
    const int64_t missingColumns = blockColumns * columns - width;
    if (missingRows != 0 || missingColumns != 0) {
      x = b.reshape(x, {batch, height, width});
      x = PadOp::create(b.builder, b.loc,
                        DecomposeBuilder::typeOf(x).clone(
                            {batch, height + missingRows, width + missingColumns}),
                        x, b.builder.getDenseI64ArrayAttr({0, 0, 0}),
                        b.builder.getDenseI64ArrayAttr({0, missingRows, missingColumns}),
                        DenseI64ArrayAttr(), b.builder.getF64FloatAttr(0.0));
    }
    if (rows == 1)
      return b.reshape(x, {batch * blockRows * blockColumns, columns});
    return b.reshape(x, {batch * blockRows, rows, blockColumns, columns});
  }
  /// The same, in f32 where it cannot be cut as it is: eight bits are not padded, and
  /// f4E2M1FN is not moved. What is widened later, kernels read as it is.
  Value splitStored(Value x) {
    const bool isWhole = shape[shape.size() - 2] == blockRows * rows &&
                         shape.back() == blockColumns * columns;
    const bool isFour =
        isa<Float4E2M1FNType>(DecomposeBuilder::typeOf(x).getElementType());
    return split(isWhole && !isFour ? x : b.widen(x));
  }
  /// The largest magnitude of each block of what `splitStored` has made, in f32, as
  /// `splitScales` gives it: of columns first, then of rows.
  Value reduceMagnitude(Value x) {
    if (rows == 1)
      x = magnitude(x);
    // Pointwise kernels of some rows each, which need no magnitudes in memory.
    for (int64_t left = rows, count; left != 1; left /= count) {
      count = 16;
      while (left % count != 0)
        --count;
      if (count == 1)
        count = left;
      const SmallVector<int64_t> sizes = {batch * blockRows, 1, left / count,
                                          blockColumns * columns};
      x = b.reshape(x, {sizes[0], count, sizes[2], sizes[3]});
      Value most;
      for (int64_t i = 0; i < count; ++i) {
        Value part =
            magnitude(SliceOp::create(b.builder, b.loc, x, ArrayRef<int64_t>{0, i, 0, 0},
                                      sizes, ArrayRef<int64_t>{1, 1, 1, 1}));
        most = most ? MaximumOp::create(b.builder, b.loc, part.getType(), most, part)
                          .getResult()
                    : part;
      }
      x = most;
    }
    if (rows != 1)
      x = b.reshape(x, {batch * blockRows * blockColumns, columns});
    return splitScales(columns == 1 ? x : b.reduceRow(ReduceKind::Max, x));
  }

  /// `x`, which `split` has made, as [.., R, C].
  Value join(Value x) {
    SmallVector<int64_t> padded = {batch, blockRows * rows, blockColumns * columns};
    SmallVector<int64_t> sizes = {batch, shape[shape.size() - 2], shape.back()};
    if (padded != sizes) {
      x = b.reshape(x, padded);
      x = SliceOp::create(b.builder, b.loc, x, ArrayRef<int64_t>{0, 0, 0}, sizes,
                          ArrayRef<int64_t>{1, 1, 1});
    }
    return b.reshape(x, shape);
  }

  Value magnitude(Value x) {
    x = b.widen(x);
    return AbsOp::create(b.builder, b.loc, x.getType(), x);
  }

  /// One number for each block, [.., P, Q], that broadcasts to what `split` makes.
  Value splitScales(Value scales) {
    if (rows == 1)
      return b.reshape(scales, {batch * blockRows * blockColumns, 1});
    return b.reshape(scales, {batch * blockRows, 1, blockColumns, 1});
  }

private:
  DecomposeBuilder &b;
  ArrayRef<int64_t> shape;
  int64_t rows, columns, batch, blockRows, blockColumns;
};

double getLargest(Type format) {
  return llvm::APFloat::getLargest(cast<FloatType>(format).getFloatSemantics())
      .convertToDouble();
}

LogicalResult decomposeQuantize(QuantizeOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), rewriter.getF32Type());
  BlockView view(b, DecomposeBuilder::typeOf(op.getX()), op.getBlock());
  auto scalesType = DecomposeBuilder::typeOf(op.getScales());
  Type format = getElementTypeOrSelf(op.getQ().getType());
  Value cut = view.splitStored(op.getX());
  Value amax = view.reduceMagnitude(cut);
  Value x = b.widen(cut);
  auto type = DecomposeBuilder::typeOf(x);
  auto scale = [&](Value of, Type element) -> Value {
    return BlockScaleOp::create(rewriter, op.getLoc(),
                                DecomposeBuilder::typeOf(of).clone(element), of,
                                TypeAttr::get(format), op.getRuleAttr());
  };
  // The stored scale of f8E4M3FN is a rounded number, by which elements are divided.
  const bool isRounded = isa<Float8E4M3FNType>(scalesType.getElementType());
  Value stored = scale(amax, isRounded ? scalesType.getElementType() : b.element);
  Value factor = b.widen(stored);
  Value q = b.div(x, factor);
  const double largest = getLargest(format);
  q = MinimumOp::create(rewriter, op.getLoc(), type, q, b.scalar(largest));
  q = MaximumOp::create(rewriter, op.getLoc(), type, q, b.scalar(-largest));
  // f4E2M1FN and f8E8M0FNU are not moved: what becomes f4E2M1FN is moved before, and
  // scales of f8E8M0FNU are computed apart from them.
  if (isa<Float4E2M1FNType>(format))
    q = CastOp::create(rewriter, op.getLoc(), op.getQ().getType(), view.join(q));
  else
    q = view.join(CastOp::create(rewriter, op.getLoc(), type.clone(format), q));
  Value scales =
      DecomposeBuilder::typeOf(stored).getElementType() == scalesType.getElementType()
          ? b.reshape(stored, scalesType.getShape())
          : scale(b.reshape(amax, scalesType.getShape()), scalesType.getElementType());
  rewriter.replaceOp(op, {q, scales});
  return success();
}

/// The numbers that `q` stands for, rounded to `element`.
Value dequantize(DecomposeBuilder &b, Value q, Value scales, ArrayRef<int64_t> block,
                 Type element) {
  BlockView view(b, DecomposeBuilder::typeOf(q), block);
  Value x = b.mul(b.widen(view.splitStored(q)), view.splitScales(b.widen(scales)));
  return view.join(b.round(x, DecomposeBuilder::typeOf(x).clone(element)));
}

LogicalResult decomposeDequantize(DequantizeOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), rewriter.getF32Type());
  rewriter.replaceOp(op, dequantize(b, op.getQ(), op.getScales(), op.getBlock(),
                                    getElementTypeOrSelf(op.getY().getType())));
  return success();
}

/// `size` elements of matrix `x` from `offset` on, in dimension `dim`.
Value slice(DecomposeBuilder &b, Value x, unsigned dim, int64_t offset, int64_t size) {
  SmallVector<int64_t> sizes(DecomposeBuilder::typeOf(x).getShape());
  if (sizes[dim] == size)
    return x;
  SmallVector<int64_t> offsets(sizes.size(), 0), ones(sizes.size(), 1);
  offsets[dim] = offset;
  sizes[dim] = size;
  return SliceOp::create(b.builder, b.loc, x, offsets, sizes, ones);
}

/// An operand of a scaled matmul, as its segments read it.
struct Operand {
  /// The matrix, and the f32 scales of segments; null if the matrix is dequantized.
  Value matrix, scales;
  /// The dimension of K, and of rows (lhs) or columns (rhs).
  unsigned sumDim, outerDim;
  /// Elements of a block along both.
  int64_t sumBlock, outerBlock;

  Operand(DecomposeBuilder &b, Value q, Value scales, ArrayRef<int64_t> block,
          unsigned sumDim, int64_t segment)
      : matrix(q), scales(b.widen(scales)), sumDim(sumDim), outerDim(1 - sumDim),
        sumBlock(block[sumDim]), outerBlock(block[1 - sumDim]) {
    if (sumBlock % segment == 0 || sumBlock >= getType().getDimSize(sumDim)) {
      // f4E2M1FN is not moved, and no matmul has it.
      if (isa<Float4E2M1FNType>(getType().getElementType()))
        matrix = b.widen(matrix);
      return;
    }
    matrix = dequantize(b, q, scales, block, b.element);
    this->scales = Value();
  }

  RankedTensorType getType() const { return DecomposeBuilder::typeOf(matrix); }

  /// The factors of the segment at `begin`, [M, 1] or [1, N]; null if there are none.
  Value getFactors(DecomposeBuilder &b, int64_t begin, bool isLhs) const {
    if (!scales)
      return {};
    const int64_t size = getType().getDimSize(outerDim);
    Value factors = slice(b, scales, sumDim, begin / sumBlock, 1);
    const int64_t blocks = DecomposeBuilder::typeOf(factors).getDimSize(outerDim);
    const int64_t repeats = std::max<int64_t>(std::min(outerBlock, size), 1);
    if (repeats != 1) {
      factors = b.reshape(factors, {blocks, 1});
      factors = BroadcastOp::create(
          b.builder, b.loc, DecomposeBuilder::typeOf(factors).clone({blocks, repeats}),
          factors);
      factors = slice(b, b.reshape(factors, {blocks * repeats, 1}), 0, 0, size);
    }
    return isLhs ? b.reshape(factors, {size, 1}) : b.reshape(factors, {1, size});
  }
};

/// A tensor core's K: how many products it adds at a time.
constexpr int64_t productsAtOnce = 32;

/// The sum of `size` products from `begin` on, [M, N], as tensor cores with `bits`
/// significant bits have it.
Value sumShortly(DecomposeBuilder &b, const Operand &lhs, const Operand &rhs,
                 int64_t begin, int64_t size, int64_t bits) {
  const int64_t rows = lhs.getType().getDimSize(lhs.outerDim);
  const int64_t columns = rhs.getType().getDimSize(rhs.outerDim);
  // `count` elements of each row (lhs) or column (rhs), one after the other.
  auto getElements = [&](const Operand &operand, int64_t from, int64_t count) -> Value {
    Value x = b.widen(slice(b, operand.matrix, operand.sumDim, from, count));
    if (operand.sumDim == 1)
      return x;
    return TransposeOp::create(
        b.builder, b.loc,
        DecomposeBuilder::typeOf(x).clone(
            {operand.getType().getDimSize(operand.outerDim), count}),
        x, ArrayRef<int64_t>{1, 0});
  };
  auto apply = [&](auto tag, Value x) -> Value {
    return decltype(tag)::create(b.builder, b.loc, x.getType(), x);
  };
  Value sum;
  for (int64_t from = begin; from < begin + size; from += productsAtOnce) {
    const int64_t count = std::min(productsAtOnce, begin + size - from);
    Value terms = b.mul(b.reshape(getElements(lhs, from, count), {rows, 1, count}),
                        b.reshape(getElements(rhs, from, count), {1, columns, count}));
    Value largest = b.reduceRow(ReduceKind::Max, apply(AbsOp(), terms));
    if (sum)
      largest = MaximumOp::create(b.builder, b.loc, largest.getType(), largest,
                                  apply(AbsOp(), sum));
    // With this rule 2^8, the largest power of two of f8E4M3FN, below the exponent.
    Value unit = BlockScaleOp::create(
        b.builder, b.loc, largest.getType(), largest,
        TypeAttr::get(Float8E4M3FNType::get(b.builder.getContext())),
        ScaleRuleAttr::get(b.builder.getContext(), ScaleRule::OcpMX));
    unit = b.mul(unit, std::ldexp(1.0, static_cast<int>(8 - (bits - 1))));
    auto cut = [&](Value x) { return b.mul(apply(FloorOp(), b.div(x, unit)), unit); };
    Value added = b.reduceRow(ReduceKind::Sum, cut(terms));
    sum = sum ? b.add(cut(sum), added) : added;
  }
  return b.reshape(sum, {rows, columns});
}

/// Bytes of an f32 result from which on rows are multiplied one group after the other.
constexpr int64_t mostResultBytes = int64_t(4) << 20;

/// A sum of several segments and the next segment's products are f32, and as large as the
/// result. Of one that is rounded at once, some rows are summed and rounded before the
/// next ones. Rows do not depend on each other.
LogicalResult splitScaledMatmul(ScaledMatmulOp op, PatternRewriter &rewriter) {
  auto getOnlyUser = [](Value value) {
    return value.hasOneUse() ? *value.user_begin() : nullptr;
  };
  auto reshape = dyn_cast_or_null<ReshapeOp>(getOnlyUser(op.getResult()));
  auto round = dyn_cast_or_null<CastOp>(
      getOnlyUser(reshape ? reshape.getResult() : op.getResult()));
  auto type = DecomposeBuilder::typeOf(op.getResult());
  if (!round || !type.getElementType().isF32() ||
      op.getSumSize() <= op.getSegmentSize() ||
      !DecomposeBuilder::typeOf(op.getLhsScales()).getElementType().isF32())
    return failure();
  Type low = DecomposeBuilder::typeOf(round.getY()).getElementType();
  const unsigned dim = op.getTransposeLhs() ? 1 : 0;
  const int64_t block = op.getLhsBlock()[dim], rows = type.getDimSize(0);
  const int64_t rowBytes = type.getDimSize(1) * 4;
  if ((!low.isF16() && !low.isBF16()) || rowBytes * rows <= mostResultBytes)
    return failure();
  const int64_t part =
      llvm::alignTo(std::max<int64_t>(mostResultBytes / rowBytes, 1), block);
  if (part >= rows)
    return failure();
  DecomposeBuilder b(rewriter, op.getLoc(), rewriter.getF32Type());
  SmallVector<Value> parts;
  for (int64_t begin = 0; begin < rows; begin += part) {
    const int64_t size = std::min(part, rows - begin);
    Value lhs = slice(b, op.getLhs(), dim, begin, size);
    Value scales =
        slice(b, op.getLhsScales(), dim, begin / block, llvm::divideCeil(size, block));
    Value sum = ScaledMatmulOp::create(
        rewriter, op.getLoc(), type.clone({size, type.getDimSize(1)}), lhs, scales,
        op.getRhs(), op.getRhsScales(), op.getLhsBlock(), op.getRhsBlock(),
        op.getTransposeLhs(), op.getTransposeRhs(), op.getPromotion(),
        op.getAccumulatorBits());
    parts.push_back(CastOp::create(rewriter, round.getLoc(),
                                   DecomposeBuilder::typeOf(sum).clone(low), sum,
                                   /*autocast=*/false));
  }
  Value whole = ConcatOp::create(rewriter, op.getLoc(), type.clone(low), parts,
                                 rewriter.getI64IntegerAttr(0));
  rewriter.replaceOp(round,
                     b.reshape(whole, DecomposeBuilder::typeOf(round.getY()).getShape()));
  if (reshape)
    rewriter.eraseOp(reshape);
  rewriter.eraseOp(op);
  return success();
}

LogicalResult decomposeScaledMatmul(ScaledMatmulOp op, PatternRewriter &rewriter) {
  if (succeeded(splitScaledMatmul(op, rewriter)))
    return success();
  DecomposeBuilder b(rewriter, op.getLoc(), rewriter.getF32Type());
  auto type = DecomposeBuilder::typeOf(op.getResult());
  auto wide = type.clone(b.element);
  const int64_t sumSize = op.getSumSize(), segment = op.getSegmentSize();
  if (sumSize == 0) {
    Value zero = ConstantOp::create(
        rewriter, op.getLoc(), DenseElementsAttr::get(wide, rewriter.getF32FloatAttr(0)));
    rewriter.replaceOp(op, b.round(zero, type));
    return success();
  }
  Operand lhs(b, op.getLhs(), op.getLhsScales(), op.getLhsBlock(),
              op.getTransposeLhs() ? 0 : 1, segment);
  Operand rhs(b, op.getRhs(), op.getRhsScales(), op.getRhsBlock(),
              op.getTransposeRhs() ? 1 : 0, segment);
  // Matmuls have operands of 8 bits both or of f32 both.
  if (lhs.getType().getElementType().isF32() || rhs.getType().getElementType().isF32()) {
    lhs.matrix = b.widen(lhs.matrix);
    rhs.matrix = b.widen(rhs.matrix);
  }
  Value sum;
  for (int64_t begin = 0; begin < sumSize; begin += segment) {
    const int64_t size = std::min(segment, sumSize - begin);
    Value term;
    if (op.getAccumulatorBits() != 0)
      term = sumShortly(b, lhs, rhs, begin, size, op.getAccumulatorBits());
    else
      term = MatmulOp::create(rewriter, op.getLoc(), wide,
                              slice(b, lhs.matrix, lhs.sumDim, begin, size),
                              slice(b, rhs.matrix, rhs.sumDim, begin, size),
                              op.getTransposeLhs(), op.getTransposeRhs(),
                              /*acc_type=*/TypeAttr());
    Value factors = lhs.getFactors(b, begin, /*isLhs=*/true);
    Value others = rhs.getFactors(b, begin, /*isLhs=*/false);
    if (factors && others)
      factors = b.mul(factors, others);
    else if (others)
      factors = others;
    if (factors)
      term = b.mul(term, factors);
    sum = sum ? b.add(sum, term) : term;
  }
  rewriter.replaceOp(op, b.round(sum, type));
  return success();
}

} // namespace

void mpt::populateDecomposeBlockScalePatterns(RewritePatternSet &patterns) {
  addPatterns(patterns, decomposeQuantize, decomposeDequantize, decomposeScaledMatmul);
}
