//===- BlockScale.cpp - 8-bit floats scaled by blocks -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every number that the ops define as rounded to f32 is rounded here, so that scales
/// and 8-bit floats have the bits of the compiled path.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

namespace {

/// How a tensor [.., rows, columns] is cut.
struct Blocks {
  int64_t batch, rows, columns, blockRows, blockColumns;

  Blocks(ArrayRef<int64_t> shape, ArrayRef<int64_t> block)
      : batch(product(shape.drop_back(2))), rows(shape[shape.size() - 2]),
        columns(shape.back()), blockRows(block[0]), blockColumns(block[1]) {}

  int64_t countRows() const { return llvm::divideCeil(rows, blockRows); }
  int64_t countColumns() const { return llvm::divideCeil(columns, blockColumns); }
  int64_t count() const { return batch * countRows() * countColumns(); }
  /// The block of element `index`.
  int64_t find(int64_t index) const {
    const int64_t column = index % columns, row = index / columns % rows;
    return (index / (rows * columns) * countRows() + row / blockRows) * countColumns() +
           column / blockColumns;
  }
};

double getLargest(Type format) {
  return llvm::APFloat::getLargest(cast<FloatType>(format).getFloatSemantics())
      .convertToDouble();
}

double getScale(double amax, ScaleRule rule, Type format, Type scaleType,
                const Frame &frame) {
  if (!std::isfinite(amax))
    return std::numeric_limits<double>::quiet_NaN();
  if (amax <= 0)
    return 1;
  const double largest = getLargest(format);
  if (rule == ScaleRule::OcpMX)
    return std::ldexp(1.0, std::max(std::ilogb(amax) - std::ilogb(largest), -127));
  const double quotient =
      std::max(frame.round(amax / largest, Float32Type::get(format.getContext())),
               std::ldexp(1.0, -126));
  if (isa<Float8E4M3FNType>(scaleType))
    return frame.round(std::clamp(quotient, std::ldexp(1.0, -9), 448.0), scaleType);
  if (rule == ScaleRule::Largest)
    return quotient;
  int exponent = 0;
  const double fraction = std::frexp(quotient, &exponent);
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

LogicalResult evaluateBlockScale(BlockScaleOp op, Frame &frame) {
  std::vector<double> scales = frame.floats(op.getAmax());
  for (double &scale : scales)
    scale = getScale(scale, op.getRule(), op.getFormat(),
                     getElementTypeOrSelf(op.getScale().getType()), frame);
  frame.set(op.getScale(), std::move(scales));
  return success();
}

LogicalResult evaluateQuantize(QuantizeOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  const Blocks blocks(x.shape, op.getBlock());
  Type format = getElementTypeOrSelf(op.getQ().getType());
  Type f32 = Float32Type::get(op.getContext());
  std::vector<double> scales(blocks.count(), 0.0);
  for (auto [i, element] : llvm::enumerate(x.floats)) {
    double &amax = scales[blocks.find(i)];
    if (!std::isfinite(element))
      amax = std::numeric_limits<double>::quiet_NaN();
    else if (!std::isnan(amax))
      amax = std::max(amax, std::fabs(element));
  }
  for (double &scale : scales)
    scale = getScale(scale, op.getRule(), format,
                     getElementTypeOrSelf(op.getScales().getType()), frame);
  const double largest = getLargest(format);
  std::vector<double> q = x.floats;
  for (auto [i, element] : llvm::enumerate(q)) {
    element = frame.round(element / scales[blocks.find(i)], f32);
    if (!std::isnan(element))
      element = std::clamp(element, -largest, largest);
  }
  frame.set(op.getQ(), std::move(q));
  frame.set(op.getScales(), std::move(scales));
  return success();
}

/// The numbers that `q` stands for, in f32.
std::vector<double> dequantize(const Tensor &q, const std::vector<double> &scales,
                               ArrayRef<int64_t> block, const Frame &frame, Type f32) {
  const Blocks blocks(q.shape, block);
  std::vector<double> numbers = q.floats;
  for (auto [i, number] : llvm::enumerate(numbers))
    number = frame.round(number * scales[blocks.find(i)], f32);
  return numbers;
}

LogicalResult evaluateDequantize(DequantizeOp op, Frame &frame) {
  frame.set(op.getY(),
            dequantize(frame.get(op.getQ()), frame.floats(op.getScales()), op.getBlock(),
                       frame, Float32Type::get(op.getContext())));
  return success();
}

/// `sum` and `terms`, aligned to the largest exponent among them, cut to `bits`
/// significant bits towards minus infinity, and added.
double addShortly(double sum, ArrayRef<double> terms, int64_t bits) {
  double largest = std::fabs(sum);
  for (double term : terms)
    largest = std::isnan(term) ? term : std::fmax(largest, std::fabs(term));
  if (!std::isfinite(largest) ||
      llvm::any_of(terms, [](double term) { return !std::isfinite(term); }))
    return std::numeric_limits<double>::quiet_NaN();
  if (largest == 0)
    return 0;
  const int exponent = std::ilogb(largest) - static_cast<int>(bits - 1);
  auto cut = [&](double x) {
    return std::ldexp(std::floor(std::ldexp(x, -exponent)), exponent);
  };
  double result = cut(sum);
  for (double term : terms)
    result += cut(term);
  return result;
}

LogicalResult evaluateScaledMatmul(ScaledMatmulOp op, Frame &frame) {
  Type f32 = Float32Type::get(op.getContext());
  SmallVector<int64_t, 4> shape = frame.getShape(op.getResult());
  const int64_t rows = shape[0], columns = shape[1], segment = op.getSegmentSize();

  /// An operand as a segment reads it: an element and the factor of the segment's sum.
  struct Operand {
    const std::vector<double> &scales;
    Blocks blocks;
    bool transposed, hasFactors;
    int64_t sumSize;
    std::vector<double> elements;

    Operand(const Tensor &q, const std::vector<double> &scales, ArrayRef<int64_t> block,
            bool isLhs, bool isTransposed, int64_t segment, const Frame &frame, Type f32)
        : scales(scales), blocks(q.shape, block), transposed(isTransposed == isLhs) {
      const unsigned dim = transposed ? 0 : 1;
      sumSize = q.shape[dim];
      hasFactors = block[dim] % segment == 0 || block[dim] >= sumSize;
      elements = hasFactors ? q.floats : dequantize(q, scales, block, frame, f32);
    }
    /// Of the row (lhs) or column (rhs) `outer` and place `k` of the sum.
    int64_t locate(int64_t outer, int64_t k) const {
      return transposed ? k * blocks.columns + outer : outer * blocks.columns + k;
    }
    double getElement(int64_t outer, int64_t k) const {
      return elements[locate(outer, k)];
    }
    double getFactor(int64_t outer, int64_t k) const {
      return hasFactors ? scales[blocks.find(locate(outer, k))] : 1.0;
    }
  };
  const Operand lhs(frame.get(op.getLhs()), frame.floats(op.getLhsScales()),
                    op.getLhsBlock(), true, op.getTransposeLhs(), segment, frame, f32);
  const Operand rhs(frame.get(op.getRhs()), frame.floats(op.getRhsScales()),
                    op.getRhsBlock(), false, op.getTransposeRhs(), segment, frame, f32);

  std::vector<double> result = frame.zeros(op.getResult());
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t n = 0; n < columns; ++n) {
      double &sum = result[m * columns + n];
      for (int64_t begin = 0; begin < lhs.sumSize; begin += segment) {
        double partial = 0;
        SmallVector<double> terms;
        const int64_t end = std::min(begin + segment, lhs.sumSize);
        for (int64_t k = begin; k < end; ++k) {
          const double term = lhs.getElement(m, k) * rhs.getElement(n, k);
          if (op.getAccumulatorBits() == 0) {
            partial += term;
            continue;
          }
          terms.push_back(frame.round(term, f32));
          if (terms.size() == 32 || k + 1 == end) {
            partial = addShortly(partial, terms, op.getAccumulatorBits());
            terms.clear();
          }
        }
        const double factor =
            frame.round(lhs.getFactor(m, begin) * rhs.getFactor(n, begin), f32);
        partial = frame.round(frame.round(partial, f32) * factor, f32);
        sum = begin == 0 ? partial : frame.round(sum + partial, f32);
      }
    }
  frame.set(op.getResult(), std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// As GPU libraries have it
//===----------------------------------------------------------------------===//

/// Where the scales of `outer` rows of `k` elements lie.
struct ScalePlaces {
  GemmScaling scaling;
  int64_t outer, k;

  int64_t getLength() const {
    return scaling == GemmScaling::Vec16UE4M3   ? 16
           : scaling == GemmScaling::Vec32UE8M0 ? 32
                                                : 128;
  }
  int64_t countBlocks() const { return llvm::divideCeil(k, getLength()); }
  /// Where the scale of element `at` of row `row` is.
  int64_t find(int64_t row, int64_t at) const {
    const int64_t block = at / getLength();
    if (scaling == GemmScaling::Vec128F32)
      return block * outer + row;
    const int64_t padded = llvm::alignTo(countBlocks(), 4);
    if (scaling == GemmScaling::Block128F32)
      return row / 128 * padded + block;
    // A tile has 4 blocks of 128 rows: 32 lines of those of rows 32 apart.
    const int64_t tile = row / 128 * (padded / 4) + block / 4;
    return tile * 512 + row % 32 * 16 + row / 32 % 4 * 4 + block % 4;
  }
  int64_t count() const {
    const int64_t padded = llvm::alignTo(countBlocks(), 4);
    return scaling == GemmScaling::Vec128F32     ? countBlocks() * outer
           : scaling == GemmScaling::Block128F32 ? llvm::divideCeil(outer, 128) * padded
                                                 : llvm::alignTo(outer, 128) * padded;
  }
  LogicalResult check(Operation *op, ArrayRef<double> scales) const {
    if (static_cast<int64_t>(scales.size()) == count())
      return success();
    return op->emitOpError("expected ")
           << count() << " scales of " << outer << " rows of " << k << " elements as "
           << stringifyGemmScaling(scaling) << ", found " << scales.size();
  }
};

/// Two numbers of f4E2M1FN in each byte, the first in its lower bits.
std::vector<int64_t> pack(ArrayRef<double> numbers) {
  auto encode = [](double number) -> int64_t {
    APFloat value(number);
    bool losesInfo = false;
    value.convert(APFloat::Float4E2M1FN(), APFloat::rmNearestTiesToEven, &losesInfo);
    // There is no NaN. As NVIDIA's conversions have it.
    return std::isnan(number)
               ? 7
               : static_cast<int64_t>(value.bitcastToAPInt().getZExtValue());
  };
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < numbers.size(); i += 2)
    bytes.push_back(
        static_cast<int8_t>(encode(numbers[i]) | encode(numbers[i + 1]) << 4));
  return bytes;
}

/// The numbers of what `pack` has packed, or those of 8 bits as they are.
std::vector<double> unpack(const Tensor &packed, GemmScaling scaling) {
  if (scaling != GemmScaling::Vec16UE4M3)
    return packed.floats;
  std::vector<double> numbers;
  for (int64_t byte : packed.ints)
    for (int64_t bits : {byte & 15, byte >> 4 & 15})
      numbers.push_back(
          APFloat(APFloat::Float4E2M1FN(), APInt(4, static_cast<uint64_t>(bits)))
              .convertToDouble());
  return numbers;
}

/// `x` times `factor` if `factor` is the only scale. What is finite saturates.
double scaleTensor(double x, double factor, double largest, const Frame &frame,
                   Type f32) {
  if (!std::isfinite(x))
    return x;
  const double number = frame.round(x * factor, f32);
  return std::isnan(number) ? number : std::clamp(number, -largest, largest);
}

LogicalResult evaluateGemmQuantize(GemmQuantizeOp op, Frame &frame) {
  Type f32 = Float32Type::get(op.getContext());
  const Tensor &x = frame.get(op.getX());
  const int64_t rows = x.shape[0], columns = x.shape[1];
  const bool isTensor = op.getScaling() == GemmScaling::None;
  const bool isPacked = op.getScaling() == GemmScaling::Vec16UE4M3;
  std::vector<double> numbers = x.floats;
  if (std::optional<Type> via = op.getVia())
    for (double &number : numbers)
      number = frame.round(number, *via);
  if (op.getScales()) {
    const ScalePlaces places{op.getScaling(), rows, columns};
    const std::vector<double> scales = frame.floats(op.getScales());
    if (failed(places.check(op, scales)))
      return failure();
    for (auto [i, number] : llvm::enumerate(numbers))
      number = frame.round(number * scales[places.find(i / columns, i % columns)], f32);
  }
  if (op.getAmax()) {
    std::vector<double> amax = frame.zeros(op.getAmax());
    const int64_t tiles = llvm::divideCeil(columns, 128);
    for (auto [i, number] : llvm::enumerate(numbers)) {
      double &most = amax[static_cast<int64_t>(i) / columns / 128 * tiles +
                          static_cast<int64_t>(i) % columns / 128];
      if (std::isnan(number) || std::isnan(most))
        most = std::numeric_limits<double>::quiet_NaN();
      else
        most = std::max(most, std::fabs(number));
    }
    frame.set(op.getAmax(), std::move(amax));
  }
  const double factor = op.getFactor() ? frame.floats(op.getFactor())[0] : 1.0;
  if (op.getFactor() && !isTensor)
    for (double &number : numbers)
      number = frame.round(number * factor, f32);
  for (bool isColumn : {false, true}) {
    Value q = isColumn ? op.getColumn() : op.getRow();
    Value scales = isColumn ? op.getColumnScales() : op.getRowScales();
    if (!q)
      continue;
    const int64_t outer = isColumn ? columns : rows, k = isColumn ? rows : columns;
    auto read = [&](int64_t row, int64_t at) {
      return numbers[isColumn ? at * columns + row : row * columns + at];
    };
    Type format = isPacked ? Type(Float4E2M1FNType::get(op.getContext()))
                           : getElementTypeOrSelf(q.getType());
    const double largest = getLargest(format);
    std::vector<double> elements(outer * k);
    if (isTensor) {
      for (int64_t i = 0; i < outer * k; ++i)
        elements[i] = scaleTensor(read(i / k, i % k), factor, largest, frame, f32);
      frame.set(q, std::move(elements));
      continue;
    }
    const ScalePlaces places{op.getScaling(), outer, k};
    // f8E8M0FNU has no zero: its bits 0 are 2^-127.
    const double filler =
        op.getScaling() == GemmScaling::Vec32UE8M0 ? std::ldexp(1.0, -127) : 0.0;
    std::vector<double> stored(places.count(), filler);
    const int64_t height = op.getBlock()[0], width = op.getBlock()[1];
    for (int64_t top = 0; top < outer; top += height)
      for (int64_t left = 0; left < k; left += width) {
        const int64_t bottom = std::min(top + height, outer);
        const int64_t right = std::min(left + width, k);
        double amax = 0;
        for (int64_t row = top; row < bottom; ++row)
          for (int64_t at = left; at < right; ++at) {
            const double element = read(row, at);
            if (!std::isfinite(element))
              amax = std::numeric_limits<double>::quiet_NaN();
            else if (!std::isnan(amax))
              amax = std::max(amax, std::fabs(element));
          }
        const double scale = getScale(amax, op.getRule(), format,
                                      getElementTypeOrSelf(scales.getType()), frame);
        for (int64_t row = top; row < bottom; ++row)
          for (int64_t at = left; at < right; ++at) {
            double element = frame.round(read(row, at) / scale, f32);
            if (!std::isnan(element))
              element = std::clamp(element, -largest, largest);
            elements[row * k + at] = element;
            stored[places.find(row, at)] = scale;
          }
      }
    if (isPacked)
      frame.set(q, pack(elements));
    else
      frame.set(q, std::move(elements));
    frame.set(scales, std::move(stored));
  }
  return success();
}

} // namespace

LogicalResult mpt::reference::multiplyScaled(GemmOp op, Frame &frame,
                                             std::vector<double> &result) {
  Type f32 = Float32Type::get(op.getContext());
  const Tensor &lhs = frame.get(op.getLhs()), &rhs = frame.get(op.getRhs());
  const int64_t rows = lhs.shape[0], columns = rhs.shape[0];
  const std::vector<double> leftNumbers = unpack(lhs, op.getLhsScaling());
  const std::vector<double> rightNumbers = unpack(rhs, op.getRhsScaling());
  const int64_t k = static_cast<int64_t>(leftNumbers.size()) / rows;
  const ScalePlaces left{op.getLhsScaling(), rows, k},
      right{op.getRhsScaling(), columns, k};
  const std::vector<double> leftScales = frame.floats(op.getLhsScales());
  const std::vector<double> rightScales = frame.floats(op.getRhsScales());
  if (failed(left.check(op, leftScales)) || failed(right.check(op, rightScales)))
    return failure();
  const bool hasSegments = left.getLength() == 128;
  const int64_t segment = hasSegments ? 128 : k;
  result.assign(rows * columns, 0.0);
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t begin = 0; begin < k; begin += segment) {
        double partial = 0;
        for (int64_t at = begin; at < std::min(begin + segment, k); ++at) {
          double x = leftNumbers[m * k + at], y = rightNumbers[n * k + at];
          if (!hasSegments) {
            x = frame.round(x * leftScales[left.find(m, at)], f32);
            y = frame.round(y * rightScales[right.find(n, at)], f32);
          }
          partial += x * y;
        }
        partial = frame.round(partial, f32);
        if (hasSegments)
          partial =
              frame.round(partial * frame.round(leftScales[left.find(m, begin)] *
                                                    rightScales[right.find(n, begin)],
                                                f32),
                          f32);
        double &sum = result[m * columns + n];
        sum = begin == 0 ? partial : frame.round(sum + partial, f32);
      }
  return success();
}

void mpt::reference::addBlockScale(OpTable &table) {
  table.add<BlockScaleOp>(evaluateBlockScale);
  table.add<QuantizeOp>(evaluateQuantize);
  table.add<DequantizeOp>(evaluateDequantize);
  table.add<ScaledMatmulOp>(evaluateScaledMatmul);
  table.add<GemmQuantizeOp>(evaluateGemmQuantize);
}
