//===- MatrixFactorizations.cpp - Cholesky, LU, solutions -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/MatrixFactorizations.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::importer;

KeepPrecision::KeepPrecision(ImportBuilder &l)
    : builder(l.builder), next(l.builder.getListener()) {
  builder.setListener(this);
}

KeepPrecision::~KeepPrecision() { builder.setListener(next); }

void KeepPrecision::notifyOperationInserted(Operation *op,
                                            OpBuilder::InsertPoint previous) {
  if (!isa<ConstantOp, IotaOp, YieldOp, ScanOp>(op))
    op->setAttr(kPrecisionAttr, StringAttr::get(op->getContext(), "f32"));
  if (next)
    next->notifyOperationInserted(op, previous);
}

bool mpt::importer::requireMatrices(ImportBuilder &l, Value x) {
  return l.require(getRank(x) >= 2 && getType(x).hasStaticShape() &&
                       (getElement(x).isF32() || getElement(x).isF64()),
                   "anything but matrices of f32 or f64") &&
         l.require(getType(x).getNumElements() > 0, "empty matrices");
}

bool mpt::importer::requireSquare(ImportBuilder &l, Value x) {
  return requireMatrices(l, x) &&
         l.require(getShape(x).back() == getShape(x).drop_back().back(),
                   "matrices that are not square");
}

Value mpt::importer::flatten(ImportBuilder &l, Value x) {
  ArrayRef<int64_t> shape = getShape(x);
  return l.reshape(
      x, {llvm::product_of(shape.drop_back(2)), shape.drop_back().back(), shape.back()});
}

Value mpt::importer::unflatten(ImportBuilder &l, Value x, Shape batch) {
  llvm::append_range(batch, getShape(x).drop_front());
  return l.reshape(x, batch);
}

static Value stop(ImportBuilder &l, Value x) { return l.unary<StopGradientOp>(x); }

static Value transposed(ImportBuilder &l, Value x) { return l.transpose(x, {0, 2, 1}); }

/// [1, n, n] of truth values: whether `predicate` holds between row and column.
static Value compareRowColumn(ImportBuilder &l, ComparePredicate predicate, int64_t n) {
  Type i32 = l.builder.getI32Type();
  return l.compare(predicate, l.iota({1, n, 1}, 1, i32), l.iota({1, 1, n}, 2, i32));
}

/// The numbers of `x` where `predicate` holds between row and column; zeros elsewhere.
static Value take(ImportBuilder &l, Value x, ComparePredicate predicate) {
  return l.where(compareRowColumn(l, predicate, getShape(x)[1]), x, l.number(x, 0));
}

Value mpt::importer::identity(ImportBuilder &l, Value like) {
  const int64_t n = getShape(like)[1];
  return l.where(compareRowColumn(l, ComparePredicate::EQ, n), l.number(like, 1),
                 l.number(like, 0));
}

/// Rows `row` up to `row + rows`, of columns `column` up to `column + columns`.
static Value block(ImportBuilder &l, Value x, int64_t row, int64_t column, int64_t rows,
                   int64_t columns) {
  return l.slice(l.slice(x, 1, row, rows), 2, column, columns);
}

/// [[a, 0], [c, d]]
static Value joinLower(ImportBuilder &l, Value a, Value c, Value d) {
  Shape zeros{getShape(a)[0], getShape(a)[1], getShape(d)[2]};
  Value upper = l.concat({a, l.constant(0, getElement(a), zeros)}, 2);
  return l.concat({upper, l.concat({c, d}, 2)}, 1);
}

/// The matmul of matrices, of which one may stand for a whole batch.
static Value multiply(ImportBuilder &l, Value a, Value b, bool transposeA = false,
                      bool transposeB = false) {
  const int64_t batch = std::max(getShape(a)[0], getShape(b)[0]);
  auto spread = [&](Value x) {
    Shape shape(getShape(x));
    shape[0] = batch;
    return l.broadcast(x, shape);
  };
  return l.matmul(spread(a), spread(b), transposeA, transposeB);
}

//===----------------------------------------------------------------------===//
// Inverses of triangles
//===----------------------------------------------------------------------===//

/// The inverse of a lower triangle of n rows, a power of two. The inverses of two blocks
/// on the diagonal, and what is below the first, give that of the block that holds them:
/// [[a, 0], [c, d]]^-1 = [[a^-1, 0], [-d^-1 c a^-1, d^-1]].
static Value invertPowerOfTwo(ImportBuilder &l, Value x, bool isUnit) {
  const int64_t batch = getShape(x)[0], n = getShape(x)[1];
  Value inverse;
  if (isUnit) {
    inverse = l.constant(1, getElement(x), {batch * n, 1, 1});
  } else {
    Value diagonal = l.reduceLast(ReduceKind::Sum, take(l, x, ComparePredicate::EQ));
    inverse = l.div(l.number(x, 1), l.reshape(diagonal, {batch * n, 1, 1}));
  }
  for (int64_t size = 1; size < n; size *= 2) {
    const int64_t pairs = n / (2 * size);
    // Of each pair of blocks, what is below the first and beside the second.
    Value below = l.reshape(x, {batch, pairs, 2, size, pairs, 2, size});
    below = l.slice(l.slice(below, 2, 1, 1), 5, 0, 1);
    if (pairs > 1) {
      below = l.reshape(below, {batch, pairs, size, pairs, size});
      Type i32 = l.builder.getI32Type();
      Value isPair = l.compare(ComparePredicate::EQ, l.iota({1, pairs, 1, 1, 1}, 1, i32),
                               l.iota({1, 1, 1, pairs, 1}, 3, i32));
      below = l.reduce(ReduceKind::Sum, l.where(isPair, below, l.number(below, 0)), {3});
    }
    below = l.reshape(below, {batch * pairs, size, size});
    Value both = l.reshape(inverse, {batch * pairs, 2, size, size});
    auto half = [&](int64_t i) {
      return l.reshape(l.slice(both, 1, i, 1), {batch * pairs, size, size});
    };
    Value first = half(0), second = half(1);
    inverse =
        joinLower(l, first, l.neg(l.matmul(second, l.matmul(below, first))), second);
  }
  return l.reshape(inverse, {batch, n, n});
}

/// The inverse of a triangle. Numbers outside of it are not read.
static Value invertTriangle(ImportBuilder &l, Value x, Triangle triangle) {
  if (triangle.isUpper)
    return transposed(l, invertTriangle(l, transposed(l, x), {false, triangle.isUnit}));
  const int64_t n = getShape(x)[1], first = llvm::bit_floor<uint64_t>(n);
  if (first == n)
    return invertPowerOfTwo(l, x, triangle.isUnit);
  const int64_t rest = n - first;
  Value a = invertPowerOfTwo(l, block(l, x, 0, 0, first, first), triangle.isUnit);
  Value d = invertTriangle(l, block(l, x, first, first, rest, rest), triangle);
  Value below = block(l, x, first, 0, rest, first);
  return joinLower(l, a, l.neg(l.matmul(d, l.matmul(below, a))), d);
}

/// Of x = inverse b, what one step of refinement makes of it.
static Value refine(ImportBuilder &l, Value a, Value inverse, Value b) {
  inverse = stop(l, inverse);
  Value x = stop(l, multiply(l, inverse, b));
  return l.add(x, multiply(l, inverse, l.sub(b, multiply(l, a, x))));
}

Value mpt::importer::solveTriangular(ImportBuilder &l, Value a, Value b,
                                     Triangle triangle) {
  KeepPrecision keep(l);
  a = take(l, a,
           triangle.isUpper
               ? (triangle.isUnit ? ComparePredicate::LT : ComparePredicate::LE)
               : (triangle.isUnit ? ComparePredicate::GT : ComparePredicate::GE));
  if (triangle.isUnit)
    a = l.add(a, identity(l, a));
  return refine(l, a, invertTriangle(l, stop(l, a), triangle), b);
}

//===----------------------------------------------------------------------===//
// Scans over columns
//===----------------------------------------------------------------------===//

/// Runs `body` for n columns. It sees the number of the column, i32, and what is carried,
/// and returns what is carried next, then what is stacked. Returns the same.
static SmallVector<Value>
scanColumns(ImportBuilder &l, int64_t n, ArrayRef<Value> inits, TypeRange stacked,
            llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  SmallVector<Type> types(ValueRange(inits).getTypes());
  for (Type type : stacked) {
    Shape shape(cast<RankedTensorType>(type).getShape());
    shape.insert(shape.begin(), n);
    types.push_back(cast<RankedTensorType>(type).clone(shape));
  }
  Value numbers = l.iota({n}, 0, l.builder.getI32Type());
  auto scan =
      ScanOp::create(l.builder, l.loc, types, static_cast<uint64_t>(n), /*reverse=*/false,
                     inits, ValueRange{numbers}, /*checkpoint_every=*/IntegerAttr());
  Block &entry = scan.getBody().emplaceBlock();
  for (Value init : inits)
    entry.addArgument(init.getType(), l.loc);
  Value number =
      entry.addArgument(RankedTensorType::get({}, l.builder.getI32Type()), l.loc);
  OpBuilder::InsertionGuard guard(l.builder);
  l.builder.setInsertionPointToStart(&entry);
  SmallVector<Value> yields = body(number, entry.getArguments().drop_back());
  YieldOp::create(l.builder, l.loc, yields);
  return llvm::to_vector_of<Value>(scan.getResults());
}

/// L of a symmetric matrix, column by column (right-looking).
static Value choleskyByColumns(ImportBuilder &l, Value x) {
  const int64_t batch = getShape(x)[0], n = getShape(x)[1];
  RankedTensorType column = getType(x).clone({batch, n});
  SmallVector<Value> results =
      scanColumns(l, n, {x}, column, [&](Value k, ValueRange carried) {
        Value x = carried[0];
        Value places = l.iota({1, n}, 1, l.builder.getI32Type());
        Value isColumn = l.compare(ComparePredicate::EQ, places, k);
        Value zero = l.number(x, 0);
        Value values = l.reduceLast(ReduceKind::Sum,
                                    l.where(l.reshape(isColumn, {1, 1, n}), x, zero));
        Value pivot =
            l.reduceLast(ReduceKind::Sum, l.where(isColumn, values, zero), true);
        Value isBelow = l.compare(ComparePredicate::GE, places, k);
        values = l.where(isBelow, l.div(values, l.unary<SqrtOp>(pivot)), zero);
        Value product =
            l.mul(l.reshape(values, {batch, n, 1}), l.reshape(values, {batch, 1, n}));
        return SmallVector<Value>{l.sub(x, product), values};
      });
  return l.transpose(results[1], {1, 2, 0});
}

/// L of a symmetric matrix. Blocks are [[a, .], [c, d]].
static Value choleskyByBlocks(ImportBuilder &l, Value x) {
  const int64_t n = getShape(x)[1];
  if (n <= kCholeskyBlock)
    return choleskyByColumns(l, x);
  const int64_t first = llvm::divideCeil(n, 2 * kCholeskyBlock) * kCholeskyBlock,
                rest = n - first;
  Value a = choleskyByBlocks(l, block(l, x, 0, 0, first, first));
  Value below = block(l, x, first, 0, rest, first), inverse = invertTriangle(l, a, {});
  // c a^T = below. Refined, since d - c c^T would not be positive definite otherwise.
  Value c = l.matmul(below, inverse, false, /*transposeB=*/true);
  Value missing = l.sub(below, l.matmul(c, a, false, /*transposeB=*/true));
  c = l.add(c, l.matmul(missing, inverse, false, /*transposeB=*/true));
  Value d = l.sub(block(l, x, first, first, rest, rest), l.matmul(c, c, false, true));
  return joinLower(l, a, c, choleskyByBlocks(l, d));
}

Value mpt::importer::factorizeCholesky(ImportBuilder &l, Value a,
                                       bool symmetricGradient) {
  KeepPrecision keep(l);
  // Both triangles from the lower one.
  Value given = stop(l, a);
  Value symmetric = l.add(take(l, given, ComparePredicate::GE),
                          transposed(l, take(l, given, ComparePredicate::GT)));
  Value lower = stop(l, choleskyByBlocks(l, symmetric));
  Value inverse = stop(l, invertTriangle(l, lower, {}));
  // Zero, with the gradient of `a`. Elimination is as exact as can be: what it leaves of
  // a, divided by L twice, would make L worse where a is near to singular.
  if (symmetricGradient)
    a = l.mul(l.add(a, transposed(l, a)), 0.5);
  Value rest = l.sub(a, stop(l, a));
  Value inside = l.matmul(l.matmul(inverse, rest), inverse, false, /*transposeB=*/true);
  // The lower triangle, of the diagonal a half.
  Value scaled = l.sub(take(l, inside, ComparePredicate::GE),
                       l.mul(take(l, inside, ComparePredicate::EQ), 0.5));
  return l.add(lower, l.matmul(lower, scaled));
}

namespace {
struct Eliminated {
  Value factors, pivots, permutation;
};
} // namespace

/// LU column by column (right-looking), with the largest number of a column as pivot.
static Eliminated eliminate(ImportBuilder &l, Value x) {
  const int64_t batch = getShape(x)[0], n = getShape(x)[1];
  Type i32 = l.builder.getI32Type(), i64 = l.builder.getI64Type();
  Value order = l.broadcast(l.iota({1, n}, 1, i64), {batch, n});
  auto chosenType = RankedTensorType::get({batch}, i64);
  SmallVector<Value> results =
      scanColumns(l, n, {x, order}, chosenType, [&](Value k, ValueRange carried) {
        Value x = carried[0], order = carried[1];
        Value zero = l.number(x, 0), places = l.iota({1, n}, 1, i32);
        Value isThis = l.compare(ComparePredicate::EQ, places, k);
        Value isThisRow = l.reshape(isThis, {1, n, 1}),
              isThisColumn = l.reshape(isThis, {1, 1, n});
        auto getColumn = [&](Value x) {
          return l.reduceLast(ReduceKind::Sum, l.where(isThisColumn, x, zero));
        };
        Value isLeft = l.compare(ComparePredicate::GE, places, k);
        Value sizes = l.where(isLeft, l.abs(getColumn(x)), l.number(x, -1));
        Value at = ArgmaxOp::create(l.builder, l.loc, chosenType, sizes);
        Value isChosen = l.oneHot(at, n);
        // Exchanges both rows.
        auto exchange = [&](Value x, Value isThis, Value isChosen) {
          Value zero = l.number(x, 0);
          Value mine = l.reduce(ReduceKind::Sum, l.where(isThis, x, zero), {1}, true);
          Value other = l.reduce(ReduceKind::Sum, l.where(isChosen, x, zero), {1}, true);
          return std::pair(l.where(isThis, other, l.where(isChosen, mine, x)), other);
        };
        order = exchange(order, isThis, isChosen).first;
        auto [exchanged, row] =
            exchange(x, isThisRow, l.reshape(isChosen, {batch, n, 1}));
        Value pivot =
            l.reduceLast(ReduceKind::Sum, l.where(isThisColumn, row, zero)); // [B, 1]
        Value isZero = l.compare(ComparePredicate::EQ, pivot, 0.0);
        Value isBelow = l.compare(ComparePredicate::GT, places, k);
        Value factor = l.where(
            isBelow, l.div(getColumn(exchanged), l.where(isZero, l.number(x, 1), pivot)),
            zero);
        factor = l.reshape(factor, {batch, n, 1});
        Value right = l.where(l.reshape(isBelow, {1, 1, n}), row, zero);
        Value next = l.sub(exchanged, l.mul(factor, right));
        // Factors take the place of what they make zero.
        Value isFactor =
            l.binary<AndOp>(l.broadcast(l.reshape(isBelow, {1, n, 1}), {1, n, n}),
                            l.broadcast(isThisColumn, {1, n, n}));
        return SmallVector<Value>{l.where(isFactor, factor, next), order, at};
      });
  return {results[0], l.transpose(results[2], {1, 0}), results[1]};
}

/// [B, n, n] with a one in column order[i] of row i.
static Value makePermutation(ImportBuilder &l, Value order, Value like) {
  const int64_t n = getShape(like)[1];
  return l.where(l.oneHot(order, n), l.number(like, 1), l.number(like, 0));
}

LUFactors mpt::importer::factorizeLU(ImportBuilder &l, Value a) {
  KeepPrecision keep(l);
  Eliminated made = eliminate(l, stop(l, a));
  Value upper = stop(l, take(l, made.factors, ComparePredicate::LE));
  Value lower = stop(
      l, l.add(take(l, made.factors, ComparePredicate::GT), identity(l, made.factors)));
  // The rest between P a and L U, as L^-1 rest U^-1: its lower part changes L, its upper
  // part U.
  Value rest =
      l.sub(l.matmul(makePermutation(l, made.permutation, a), a), l.matmul(lower, upper));
  // A pivot of zero, of a singular matrix, counts as one there.
  Value isDiagonal = compareRowColumn(l, ComparePredicate::EQ, getShape(a)[1]);
  Value pivots =
      l.where(l.compare(ComparePredicate::EQ, upper, 0.0), l.number(upper, 1), upper);
  Value regular = l.where(isDiagonal, pivots, upper);
  rest = l.matmul(l.matmul(stop(l, invertTriangle(l, lower, {false, true})), rest),
                  stop(l, invertTriangle(l, regular, {true, false})));
  Value below = l.matmul(lower, take(l, rest, ComparePredicate::GT)),
        above = l.matmul(take(l, rest, ComparePredicate::LE), regular);
  Value change =
      l.where(compareRowColumn(l, ComparePredicate::GT, getShape(a)[1]), below, above);
  return {l.add(stop(l, made.factors), change), made.pivots, made.permutation};
}

static Value invertByElimination(ImportBuilder &l, Value a) {
  Eliminated made = eliminate(l, a);
  Value lower = invertTriangle(l, made.factors, {false, true}),
        upper = invertTriangle(l, made.factors, {true, false});
  return l.matmul(upper, l.matmul(lower, makePermutation(l, made.permutation, a)));
}

Value mpt::importer::solve(ImportBuilder &l, Value a, Value b) {
  KeepPrecision keep(l);
  return refine(l, a, invertByElimination(l, stop(l, a)), b);
}

Value mpt::importer::invert(ImportBuilder &l, Value a) {
  KeepPrecision keep(l);
  return refine(l, a, invertByElimination(l, stop(l, a)), identity(l, a));
}

//===----------------------------------------------------------------------===//
// Reflections
//===----------------------------------------------------------------------===//

QRFactors mpt::importer::factorizeQR(ImportBuilder &l, Value a) {
  KeepPrecision keep(l);
  const int64_t batch = getShape(a)[0], m = getShape(a)[1], n = getShape(a)[2];
  Type i32 = l.builder.getI32Type();
  RankedTensorType scale = getType(a).clone({batch});
  SmallVector<Value> results =
      scanColumns(l, std::min(m, n), {a}, scale, [&](Value k, ValueRange carried) {
        Value x = carried[0], zero = l.number(x, 0), one = l.number(x, 1);
        Value rows = l.iota({1, m, 1}, 1, i32), columns = l.iota({1, 1, n}, 2, i32);
        Value isThis = l.compare(ComparePredicate::EQ, columns, k);
        Value isRow = l.compare(ComparePredicate::EQ, rows, k),
              isBelow = l.compare(ComparePredicate::GT, rows, k);
        Value column = l.reduce(ReduceKind::Sum, l.where(isThis, x, zero), {2}, true);
        Value below = l.where(isBelow, column, zero);
        auto sumRows = [&](Value x) { return l.reduce(ReduceKind::Sum, x, {1}, true); };
        Value alpha = sumRows(l.where(isRow, column, zero)); // [B, 1, 1]
        Value rest = sumRows(l.square(below));
        // Nothing below: no reflection, as in LAPACK.
        Value isDone = l.compare(ComparePredicate::EQ, rest, 0.0);
        Value norm = l.unary<SqrtOp>(l.where(isDone, one, l.add(l.square(alpha), rest)));
        Value beta =
            l.where(l.compare(ComparePredicate::LT, alpha, 0.0), norm, l.neg(norm));
        Value tau = l.where(isDone, zero, l.div(l.sub(beta, alpha), beta));
        Value vector =
            l.div(below, l.where(isDone, one, l.sub(alpha, beta))); // [B, m, 1]
        Value whole = l.where(isRow, one, vector);
        Value change = l.mul(l.mul(whole, tau), sumRows(l.mul(whole, x)));
        Value isRight = l.compare(ComparePredicate::GT, columns, k);
        Value mine = l.where(isBelow, vector,
                             l.where(isRow, l.where(isDone, alpha, beta), column));
        Value next = l.where(isRight, l.sub(x, change), l.where(isThis, mine, x));
        return SmallVector<Value>{next, l.reshape(tau, {batch})};
      });
  return {results[0], l.transpose(results[1], {1, 0})};
}

/// As I - V T V^T (Schreiber and Van Loan 1989), with T = (I + D W)^-1 D for D =
/// diag(tau) and W the part of V^T V above its diagonal.
Value mpt::importer::multiplyReflections(ImportBuilder &l, Value a, Value scales) {
  KeepPrecision keep(l);
  Type i32 = l.builder.getI32Type();
  const int64_t m = getShape(a)[1], n = getShape(a)[2], k = getShape(scales)[1];
  Value row = l.iota({1, m, 1}, 1, i32), column = l.iota({1, 1, n}, 2, i32);
  Value zero = l.number(a, 0);
  Value one = l.where(l.compare(ComparePredicate::EQ, row, column), l.number(a, 1), zero);
  Value v = l.add(l.where(l.compare(ComparePredicate::GT, row, column), a, zero), one);
  v = l.slice(v, 2, 0, k);
  Value factors = l.reshape(scales, {getShape(scales)[0], k, 1});
  // The diagonal of the system is taken as ones, what is below as zeros.
  Value system = l.mul(factors, l.matmul(v, v, /*transposeA=*/true));
  Value first = l.slice(v, 1, 0, n); // V^T's first n columns, transposed.
  Value right = l.mul(factors, transposed(l, first));
  Value inner = solveTriangular(l, system, right, {true, true});
  return l.sub(one, l.matmul(v, inner));
}

//===----------------------------------------------------------------------===//
// Rotations
//===----------------------------------------------------------------------===//

/// The rotations of row i and row i + h that make their product `both` zero, of rows of
/// squares `first` and `second`, all [B, h, 1]: sines, and sine / (1 + cosine).
static std::pair<Value, Value> makeRotations(ImportBuilder &l, Value first, Value second,
                                             Value both) {
  Value one = l.number(both, 1), zero = l.number(both, 0);
  Value isZero = l.compare(ComparePredicate::EQ, both, 0.0);
  Value tau = l.div(l.sub(second, first), l.mul(l.where(isZero, one, both), 2.0));
  Value sign = l.where(l.compare(ComparePredicate::GE, tau, 0.0), one, l.number(tau, -1));
  Value root = l.unary<SqrtOp>(l.add(l.square(tau), 1.0));
  Value tangent = l.where(isZero, zero, l.div(sign, l.add(l.abs(tau), root)));
  Value cosine = l.div(one, l.unary<SqrtOp>(l.add(l.square(tangent), 1.0)));
  Value sine = l.mul(tangent, cosine);
  return {sine, l.div(sine, l.add(cosine, 1.0))};
}

/// Rotates row i with row i + h and orders rows such that the next pairs lie so; after
/// 2 h - 1 times all pairs have met, and rows lie as they did. In the form of Rutishauser
/// (1966), which rounds little where an angle is small.
static Value rotateRows(ImportBuilder &l, Value x, std::pair<Value, Value> rotations) {
  auto [sine, ratio] = rotations;
  const int64_t h = getShape(x)[1] / 2;
  Value top = l.slice(x, 1, 0, h), bottom = l.slice(x, 1, h, h);
  Value first = l.sub(top, l.mul(sine, l.add(bottom, l.mul(ratio, top)))),
        second = l.add(bottom, l.mul(sine, l.sub(top, l.mul(ratio, bottom))));
  if (h == 1)
    return l.concat({first, second}, 1);
  SmallVector<Value> rows{l.slice(first, 1, 0, 1), l.slice(second, 1, 0, 1)};
  if (h > 2)
    rows.push_back(l.slice(first, 1, 1, h - 2));
  rows.push_back(l.slice(second, 1, 1, h - 1));
  rows.push_back(l.slice(first, 1, h - 1, 1));
  return l.concat(rows, 1);
}

/// The rows of `x` closer to orthogonal ones of length 1: x + (x - x x^T x) / 2.
static Value orthogonalize(ImportBuilder &l, Value x) {
  Value product = l.matmul(l.matmul(x, x, false, /*transposeB=*/true), x);
  return l.add(x, l.mul(l.sub(x, product), 0.5));
}

/// Rounds of all pairs, but for the last ones.
static int64_t countSweeps(Value x, int64_t n) {
  return (n <= 32 ? 7 : 11) + (getElement(x).isF64() ? 2 : 0);
}

/// The vectors in rows, of an even number, after `sweeps` of a symmetric matrix, and what
/// the matrix is in them.
static std::pair<Value, Value> sweepMatrix(ImportBuilder &l, Value a, Value vectors,
                                           int64_t sweeps) {
  const int64_t n = getShape(a)[1], h = n / 2;
  SmallVector<Value> results =
      scanColumns(l, sweeps * (n - 1), {a, vectors}, {}, [&](Value, ValueRange carried) {
        auto getDiagonal = [&](int64_t row, int64_t column) {
          Value part =
              take(l, block(l, carried[0], row, column, h, h), ComparePredicate::EQ);
          return l.reduceLast(ReduceKind::Sum, part, true);
        };
        auto rotations =
            makeRotations(l, getDiagonal(0, 0), getDiagonal(h, h), getDiagonal(0, h));
        Value rotated =
            rotateRows(l, transposed(l, rotateRows(l, carried[0], rotations)), rotations);
        return SmallVector<Value>{rotated, rotateRows(l, carried[1], rotations)};
      });
  return {results[0], results[1]};
}

/// The vectors in rows that make the rows of `x`, an even number, orthogonal.
static Value sweepRows(ImportBuilder &l, Value x, Value vectors, int64_t sweeps) {
  const int64_t n = getShape(x)[1], h = n / 2;
  SmallVector<Value> results =
      scanColumns(l, sweeps * (n - 1), {x, vectors}, {}, [&](Value, ValueRange carried) {
        Value top = l.slice(carried[0], 1, 0, h), bottom = l.slice(carried[0], 1, h, h);
        auto multiplyRows = [&](Value a, Value b) {
          return l.reduceLast(ReduceKind::Sum, l.mul(a, b), true);
        };
        auto rotations =
            makeRotations(l, multiplyRows(top, top), multiplyRows(bottom, bottom),
                          multiplyRows(top, bottom));
        return SmallVector<Value>{rotateRows(l, carried[0], rotations),
                                  rotateRows(l, carried[1], rotations)};
      });
  return results[1];
}

/// `x`, [B, n, m], with its rows in the order of `indices`, [B, n].
static Value orderRows(ImportBuilder &l, Value x, Value indices) {
  const int64_t batch = getShape(x)[0], n = getShape(x)[1], m = getShape(x)[2];
  Value first = l.mul(l.iota({batch, 1}, 0, getElement(indices)), static_cast<double>(n));
  Value rows = l.gather(l.reshape(x, {batch * n, m}),
                        l.reshape(l.add(indices, first), {batch * n}));
  return l.reshape(rows, getShape(x));
}

/// [B, n, n] of 1 / (x_j - x_i) for rows i and columns j, 0 where they are equal.
static Value invertDifferences(ImportBuilder &l, Value x) {
  const int64_t batch = getShape(x)[0], n = getShape(x)[1];
  Value difference = l.sub(l.reshape(x, {batch, 1, n}), l.reshape(x, {batch, n, 1}));
  Value isZero = l.compare(ComparePredicate::EQ, difference, 0.0);
  return l.where(isZero, l.number(x, 0),
                 l.div(l.number(x, 1), l.where(isZero, l.number(x, 1), difference)));
}

static Value takeDiagonal(ImportBuilder &l, Value x) {
  return l.reduceLast(ReduceKind::Sum, take(l, x, ComparePredicate::EQ));
}

EigenDecomposition mpt::importer::findEigenvectors(ImportBuilder &l, Value a) {
  KeepPrecision keep(l);
  const int64_t n = getShape(a)[1], odd = n % 2;
  Value given = stop(l, a);
  Value x = l.add(take(l, given, ComparePredicate::GE),
                  transposed(l, take(l, given, ComparePredicate::GT)));
  // A row of zeros meets the one that is left over, and stays as it is.
  if (odd)
    x = l.pad(x, {0, 0, 0}, {0, 1, 1}, 0);
  Value start = l.broadcast(identity(l, x), getShape(x));
  Value rows = sweepMatrix(l, x, start, countSweeps(x, n)).second;
  rows = orthogonalize(l, orthogonalize(l, rows));
  Value anew = l.matmul(l.matmul(rows, x), rows, false, /*transposeB=*/true);
  anew = l.mul(l.add(anew, transposed(l, anew)), 0.5);
  Value last = sweepMatrix(l, anew, start, 3).second;
  rows = orthogonalize(l, l.matmul(last, rows));
  Value values = l.reduceLast(ReduceKind::Sum, l.mul(l.matmul(rows, x), rows));
  if (odd) {
    rows = block(l, rows, 0, 0, n, n);
    values = l.slice(values, 1, 0, n);
  }
  Value order = l.sortedIndices(values, /*descending=*/false);
  values = stop(l, l.takeLast(values, order));
  Value vectors = stop(l, transposed(l, orderRows(l, rows, order)));
  // Zero, with the gradient of `a`.
  Value rest = l.sub(a, given);
  Value inside = l.matmul(l.matmul(vectors, rest, /*transposeA=*/true), vectors);
  Value change = l.matmul(vectors, l.mul(invertDifferences(l, values), inside));
  return {l.add(values, takeDiagonal(l, inside)), l.add(vectors, change)};
}

SingularValues mpt::importer::findSingularValues(ImportBuilder &l, Value a) {
  const int64_t batch = getShape(a)[0];
  if (getShape(a)[1] < getShape(a)[2]) {
    SingularValues found = findSingularValues(l, transposed(l, a));
    return {transposed(l, found.right), found.values, transposed(l, found.left)};
  }
  KeepPrecision keep(l);
  const int64_t n = getShape(a)[2], odd = n % 2;
  Value given = stop(l, a), x = transposed(l, given); // Columns are rows.
  if (odd)
    x = l.pad(x, {0, 0, 0}, {0, 1, 0}, 0);
  Value one = l.number(x, 1), zero = l.number(x, 0);
  Value square = l.matmul(x, x, false, /*transposeB=*/true);
  Value start = l.broadcast(identity(l, square), getShape(square));
  Value rows = sweepRows(l, x, start, countSweeps(x, n));
  rows = orthogonalize(l, orthogonalize(l, rows));
  Value last = sweepRows(l, l.matmul(rows, x), start, n <= 32 ? 3 : 6);
  rows = orthogonalize(l, l.matmul(last, rows));
  Value scaled = l.matmul(rows, x); // U^T, each row times its singular value.
  if (odd) {
    rows = block(l, rows, 0, 0, n, n);
    scaled = l.slice(scaled, 1, 0, n);
  }
  Value values = l.unary<SqrtOp>(l.reduceLast(ReduceKind::Sum, l.square(scaled)));
  Value order = l.sortedIndices(values, /*descending=*/true);
  values = stop(l, l.takeLast(values, order));
  Value isZero = l.compare(ComparePredicate::EQ, values, 0.0);
  Value inverse = l.where(isZero, zero, l.div(one, l.where(isZero, one, values)));
  Value right = stop(l, orderRows(l, rows, order)); // V^T
  // U is the Q of U diag(s), whose R is diagonal but for rounding, so that it is
  // orthogonal where s is near 0, too.
  QRFactors reflections = factorizeQR(l, transposed(l, orderRows(l, scaled, order)));
  Value left = multiplyReflections(l, reflections.factors, reflections.scales);
  Value diagonal = takeDiagonal(l, l.slice(reflections.factors, 1, 0, n));
  Value isNegative = l.compare(ComparePredicate::LT, diagonal, 0.0);
  left = l.where(l.reshape(isNegative, {batch, 1, n}), l.neg(left), left);
  left = stop(l, left);
  // Zero, with the gradient of `a`.
  Value rest = l.matmul(l.sub(a, given), right, false, /*transposeB=*/true); // [B, m, n]
  Value inside = l.matmul(left, rest, /*transposeA=*/true);
  Value wide = l.reshape(values, {batch, 1, n}), high = l.reshape(values, {batch, n, 1});
  Value differences = invertDifferences(l, l.square(values));
  auto both = [&](Value x) { return l.mul(differences, l.add(x, transposed(l, x))); };
  Value changeLeft = l.matmul(left, both(l.mul(inside, wide)));
  Value outside = l.sub(rest, l.matmul(left, inside));
  changeLeft = l.add(changeLeft, l.mul(outside, l.reshape(inverse, {batch, 1, n})));
  Value changeRight = l.matmul(both(l.mul(inside, high)), right, /*transposeA=*/true);
  return {l.add(left, changeLeft), l.add(values, takeDiagonal(l, inside)),
          l.add(right, changeRight)};
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

Value mpt::importer::exponentiate(ImportBuilder &l, Value a) {
  KeepPrecision keep(l);
  // Norms up to 0.5 after scaling: the first term that is left out is below a half of the
  // last bit of 1, 0.5^9 / 9! = 2^-27 and 0.5^17 / 17! = 2^-65.
  constexpr int mostSquarings = 12;
  const int64_t terms = getElement(a).isF64() ? 16 : 8, batch = getShape(a)[0];
  Value norm =
      l.reduce(ReduceKind::Max, l.reduce(ReduceKind::Sum, l.abs(stop(l, a)), {1}), {1});
  norm = l.reshape(norm, {batch, 1, 1});
  // One squaring for each of 0.5, 1, 2, .. that the norm is above.
  Value scale = l.number(norm, 1);
  SmallVector<Value> squares;
  for (int i = 0; i < mostSquarings; ++i) {
    squares.push_back(l.compare(ComparePredicate::GT, norm, std::ldexp(0.5, i)));
    scale = l.where(squares.back(), l.number(norm, std::ldexp(0.5, -i)), scale);
  }
  Value x = l.mul(a, scale), one = identity(l, a);
  Value result = l.add(one, l.mul(x, 1.0 / static_cast<double>(terms)));
  for (int64_t i = terms - 1; i > 0; --i)
    result = l.add(one, l.mul(l.matmul(x, result), 1.0 / static_cast<double>(i)));
  for (Value again : squares)
    result = l.where(again, l.matmul(result, result), result);
  Value isLarge = l.compare(ComparePredicate::GT, norm, std::ldexp(0.5, mostSquarings));
  return l.where(isLarge, l.number(a, std::numeric_limits<double>::quiet_NaN()), result);
}
