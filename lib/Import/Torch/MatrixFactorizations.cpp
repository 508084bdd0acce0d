//===- MatrixFactorizations.cpp - Linear algebra beyond matmuls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ops of torch.linalg that factorize matrices, solve linear systems or take powers and
/// exponentials of matrices.
///
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/MatrixFactorizations.h"
#include "Lowering.h"

#include "mlir/Dialect/Traits.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;
using importer::flatten;
using importer::requireMatrices;
using importer::requireSquare;
using importer::setNoError;
using importer::Triangle;
using importer::unflatten;

static Shape getBatch(Value x) { return Shape(getShape(x).drop_back(2)); }

static Value transposeLast(Lowering &l, Value x) {
  Shape order = llvm::to_vector(llvm::seq<int64_t>(0, getRank(x)));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return l.transpose(x, order);
}

/// `f` of both as [B, n, m], where batches broadcast; [.., n, m].
static Value solveBatches(Lowering &l, Value a, Value b,
                          llvm::function_ref<Value(Value a, Value b)> f) {
  Shape batch;
  if (!requireSquare(l, a) || !requireMatrices(l, b) ||
      !l.require(OpTrait::util::getBroadcastedShape(getBatch(a), getBatch(b), batch) &&
                     getShape(a).back() == getShape(b).drop_back().back() &&
                     getElement(a) == getElement(b),
                 "a matrix and a right side that do not fit"))
    return b;
  // One that stands for the whole batch stays one.
  auto spread = [&](Value x) {
    if (llvm::product_of(getBatch(x)) == 1)
      return flatten(l, x);
    Shape shape(batch);
    llvm::append_range(shape, getShape(x).take_back(2));
    return flatten(l, l.broadcast(x, shape));
  };
  return unflatten(l, f(spread(a), spread(b)), batch);
}

/// x of a x = b.
static Value solveTriangle(Lowering &l, Value a, Value b, Triangle triangle) {
  return solveBatches(l, a, b, [&](Value a, Value b) {
    return importer::solveTriangular(l, a, b, triangle);
  });
}

/// x of a^T x = b.
static Value solveTransposed(Lowering &l, Value a, Value b, Triangle triangle) {
  if (!requireSquare(l, a))
    return b;
  return solveTriangle(l, transposeLast(l, a), b, {!triangle.isUpper, triangle.isUnit});
}

/// Operands: matrix, right side, upper, left = True, unitriangular = False.
static void solveTriangular(Lowering &l) {
  Value a = l.get(0), b = l.get(1);
  const Triangle triangle{l.flag(2), l.flag(4)};
  if (l.flag(3, true))
    return l.set(solveTriangle(l, a, b, triangle));
  if (requireMatrices(l, b))
    l.set(transposeLast(l, solveTransposed(l, a, transposeLast(l, b), triangle)));
}

/// `aten.triangular_solve`. Operands: right side, matrix, upper = True, transpose =
/// False, unitriangular = False. The second result is a copy of the matrix.
static void triangularSolve(Lowering &l) {
  Value b = l.get(0), a = l.get(1);
  const Triangle triangle{l.flag(2, true), l.flag(4)};
  l.set(l.flag(3) ? solveTransposed(l, a, b, triangle)
                  : solveTriangle(l, a, b, triangle));
  if (l.op->getNumResults() > 1 && !l.op->getResult(1).use_empty())
    l.set(a, 1);
}

/// What the matrix was, from its factor `index`, upper or lower: x of (L L^T) x = b.
static Value solveFromCholesky(Lowering &l, Value factor, Value b, bool isUpper) {
  const Triangle triangle{isUpper, false};
  if (isUpper) // U^T U
    return solveTriangle(l, factor, solveTransposed(l, factor, b, triangle), triangle);
  return solveTransposed(l, factor, solveTriangle(l, factor, b, triangle), triangle);
}

/// Operands: matrix, upper = False. `_ex` has a second result.
static void cholesky(Lowering &l) {
  Value a = l.get(0);
  if (!requireSquare(l, a))
    return;
  const bool isUpper = l.flag(1);
  // Of the upper triangle: that of the transposed matrix, transposed.
  Value factor = importer::factorizeCholesky(
      l, flatten(l, isUpper ? transposeLast(l, a) : a), /*symmetricGradient=*/true);
  factor = unflatten(l, factor, getBatch(a));
  l.set(isUpper ? transposeLast(l, factor) : factor);
  setNoError(l, 1);
}

static void invert(Lowering &l) {
  Value a = l.get(0);
  if (!requireSquare(l, a))
    return;
  l.set(unflatten(l, importer::invert(l, flatten(l, a)), getBatch(a)));
  setNoError(l, 1);
}

/// Operands: matrix, right side, left = True. The right side is a vector, or a batch of
/// vectors, where its shape is that of the matrix without the last dimension.
static void solve(Lowering &l) {
  Value a = l.get(0), b = l.get(1);
  if (!requireSquare(l, a))
    return;
  const bool isVector = getRank(b) == 1 || getShape(b) == getShape(a).drop_back();
  const bool isLeft = l.flag(2, true);
  if (isVector) {
    Shape shape(getShape(b));
    shape.push_back(1);
    b = l.reshape(b, shape);
  }
  if (!requireMatrices(l, b))
    return;
  auto run = [&](Value a, Value b) { return importer::solve(l, a, b); };
  // x a = b is a^T x^T = b^T.
  Value x = isLeft || isVector ? solveBatches(l, a, b, run)
                               : transposeLast(l, solveBatches(l, transposeLast(l, a),
                                                               transposeLast(l, b), run));
  if (isVector)
    x = l.reshape(x, getShape(x).drop_back());
  l.set(x);
}

/// Operand 1: the exponent, by squares.
static void matrixPower(Lowering &l) {
  Value a = l.get(0);
  int64_t n = l.integer(1);
  if (!requireSquare(l, a) || !l.require(n > -1024 && n < 1024, "a power above 1023"))
    return;
  Value square = flatten(l, a), result;
  if (n < 0)
    square = importer::invert(l, square);
  for (n = std::abs(n); n > 0; n /= 2) {
    if (n % 2)
      result = result ? l.matmul(result, square) : square;
    if (n > 1)
      square = l.matmul(square, square);
  }
  if (!result)
    result = l.broadcast(importer::identity(l, square), getShape(square));
  l.set(unflatten(l, result, getBatch(a)));
}

static void exponentiate(Lowering &l) {
  Value a = l.get(0);
  if (requireSquare(l, a))
    l.set(unflatten(l, importer::exponentiate(l, flatten(l, a)), getBatch(a)));
}

static void multiplyReflections(Lowering &l) {
  Value a = l.get(0), tau = l.get(1);
  if (!requireMatrices(l, a))
    return;
  Shape batch = getBatch(a);
  const int64_t m = getShape(a).drop_back().back(), k = getShape(a).back();
  Shape expected(batch);
  expected.push_back(k);
  if (!l.require(m >= k && getShape(tau) == ArrayRef<int64_t>(expected),
                 "factors for another number of reflections than there are columns") ||
      !l.require(getElement(a) == getElement(tau), "factors of another type"))
    return;
  l.set(unflatten(l,
                  importer::multiplyReflections(
                      l, flatten(l, a), l.reshape(tau, {llvm::product_of(batch), k})),
                  batch));
}

/// `linalg_eigh` (values and vectors), or only the values. Operand 1 says which triangle.
static void eigenvalues(Lowering &l) {
  Value a = l.get(0);
  if (!requireSquare(l, a))
    return;
  const bool isUpper = l.size() > 1 && !l.isNone(1) && l.text(1).equals_insensitive("U");
  importer::EigenDecomposition made =
      importer::findEigenvectors(l, flatten(l, isUpper ? transposeLast(l, a) : a));
  const bool hasVectors = l.op->getNumResults() > 1;
  Shape shape(getShape(a).drop_back());
  l.set(l.reshape(made.values, shape));
  if (hasVectors && !l.op->getResult(1).use_empty())
    l.set(unflatten(l, made.vectors, getBatch(a)), 1);
}

/// `linalg_svd` (U, values, V^T; operand 1 asks for whole bases), or only the values.
static void singularValues(Lowering &l) {
  Value a = l.get(0);
  if (!requireMatrices(l, a))
    return;
  const int64_t m = getShape(a).drop_back().back(), n = getShape(a).back();
  const bool hasVectors = l.op->getNumResults() > 1;
  if (!l.require(!hasVectors || m == n || !l.flag(1, true),
                 "bases of the whole space; pass full_matrices=False"))
    return;
  importer::SingularValues made = importer::findSingularValues(l, flatten(l, a));
  Shape shape(getBatch(a));
  shape.push_back(std::min(m, n));
  l.set(l.reshape(made.values, shape), hasVectors ? 1 : 0);
  if (!hasVectors)
    return;
  if (!l.op->getResult(0).use_empty())
    l.set(unflatten(l, made.left, getBatch(a)));
  if (!l.op->getResult(2).use_empty())
    l.set(unflatten(l, made.right, getBatch(a)), 2);
}

/// `linalg_qr`: Q and R. Operand 1 says how many columns Q has, or that it has none.
static void orthogonalize(Lowering &l) {
  Value a = l.get(0);
  if (!requireMatrices(l, a))
    return;
  StringRef mode = l.isNone(1) ? "reduced" : l.text(1);
  const int64_t m = getShape(a).drop_back().back(), n = getShape(a).back();
  if (!l.require(mode == "reduced" || mode == "complete" || mode == "r",
                 "the mode " + mode))
    return;
  importer::KeepPrecision keep(l);
  importer::QRFactors made = importer::factorizeQR(l, flatten(l, a));
  const int64_t columns = mode == "complete" ? m : std::min(m, n);
  Type i32 = l.builder.getI32Type();
  Value right = l.slice(made.factors, 1, 0, columns);
  Value isUpper = l.compare(ComparePredicate::LE, l.iota({1, columns, 1}, 1, i32),
                            l.iota({1, 1, n}, 2, i32));
  l.set(unflatten(l, l.where(isUpper, right, l.number(right, 0)), getBatch(a)), 1);
  if (l.op->getResult(0).use_empty() || mode == "r")
    return;
  Value reflections = columns > n ? l.pad(made.factors, {0, 0, 0}, {0, 0, columns - n}, 0)
                                  : l.slice(made.factors, 2, 0, columns);
  l.set(unflatten(l, importer::multiplyReflections(l, reflections, made.scales),
                  getBatch(a)));
}

enum class Determinant { Value, Log, SignAndLog };

/// From the diagonal of U and the number of rows that were exchanged.
static std::function<void(Lowering &)> determinant(Determinant kind) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    if (!requireSquare(l, x))
      return;
    for (unsigned i = kind == Determinant::SignAndLog ? 2 : 1; i < l.op->getNumResults();
         ++i)
      if (!l.require(l.op->getResult(i).use_empty(), "the LU decomposition"))
        return;
    importer::LUFactors made = importer::factorizeLU(l, flatten(l, x));
    importer::KeepPrecision keep(l);
    Value diagonal = diagonalOf(l, made.factors, 0, 1, 2);
    Value place = l.iota({1, getShape(x).back()}, 1, getElement(made.pivots));
    Value stays = l.compare(ComparePredicate::EQ, made.pivots, place);
    Value sign = l.reduceLast(
        ReduceKind::Prod, l.where(stays, l.number(diagonal, 1), l.number(diagonal, -1)));
    auto set = [&](Value value, unsigned index) {
      l.set(l.reshape(value, getBatch(x)), index);
    };
    if (kind == Determinant::Value)
      return set(l.mul(sign, l.reduceLast(ReduceKind::Prod, diagonal)), 0);
    sign = l.mul(sign, l.reduceLast(ReduceKind::Prod, l.unary<SignOp>(diagonal)));
    Value log = l.reduceLast(ReduceKind::Sum, l.unary<LogOp>(l.abs(diagonal)));
    if (kind == Determinant::Log)
      return set(l.where(l.compare(ComparePredicate::LT, sign, 0.0),
                         l.number(log, std::numeric_limits<double>::quiet_NaN()), log),
                 0);
    set(sign, 0);
    set(log, 1);
  };
}

/// Blocks of operand 0 scaled by each number of operand 1's place: [a0 b0, a1 b1, ..].
static void kron(Lowering &l) {
  Type element = l.resultElement();
  Value a = l.get(0, element), b = l.get(1, element);
  const size_t rank = std::max(getRank(a), getRank(b));
  Shape shapeA(rank - getRank(a), 1), shapeB(rank - getRank(b), 1);
  llvm::append_range(shapeA, getShape(a));
  llvm::append_range(shapeB, getShape(b));
  Shape left, right;
  for (size_t i = 0; i < rank; ++i) {
    left.append({shapeA[i], 1});
    right.append({1, shapeB[i]});
  }
  if (l.require(getType(a).hasStaticShape() && getType(b).hasStaticShape(),
                "an open dimension"))
    l.set(l.reshape(l.mul(l.reshape(a, left), l.reshape(b, right)),
                    l.resultType().getShape()));
}

/// Matrices of a list along the diagonal, zeros elsewhere. Vectors are rows.
static void blockDiagonal(Lowering &l) {
  ArrayRef<int64_t> shape = l.resultType().getShape();
  if (!l.require(shape.size() == 2, "a result that is no matrix"))
    return;
  SmallVector<Value> rows;
  int64_t column = 0;
  for (Value x : l.getPlainList(0)) {
    if (!l.require(getRank(x) <= 2 && getType(x).hasStaticShape(), "more dimensions"))
      return;
    x = l.cast(x, l.resultElement());
    if (getRank(x) < 2)
      x = l.reshape(x, {1, getType(x).getNumElements()});
    const int64_t width = getShape(x)[1];
    rows.push_back(l.pad(x, {0, column}, {0, shape.back() - column - width}, 0));
    column += width;
  }
  if (l.require(!rows.empty(), "an empty list"))
    l.set(l.concat(rows, 0));
}

/// From the left; the first and the last may be vectors.
static void multiDot(Lowering &l) {
  SmallVector<Value> factors = l.getPlainList(0);
  if (!l.require(factors.size() >= 2, "fewer than two matrices"))
    return;
  Value result;
  for (auto [i, x] : llvm::enumerate(factors)) {
    const bool isRow = i == 0;
    if (getRank(x) == 1)
      x = isRow ? l.reshape(x, {1, getShape(x)[0]}) : l.reshape(x, {getShape(x)[0], 1});
    if (!l.require(getRank(x) == 2 && getElement(x) == getElement(factors[0]),
                   "other than matrices of one type"))
      return;
    result = result ? l.matmul(result, x) : x;
  }
  l.set(l.reshape(result, l.resultType().getShape()));
}

void mpt::torch::populateMatrixFactorizations(Table &t) {
  t.add({"linalg_cholesky", "linalg_cholesky_ex", "cholesky"}, cholesky);
  t.add({"linalg_solve_triangular"}, solveTriangular);
  t.add({"triangular_solve"}, triangularSolve);
  t.add({"cholesky_solve"},
        [](Lowering &l) { l.set(solveFromCholesky(l, l.get(1), l.get(0), l.flag(2))); });
  t.add({"cholesky_inverse"}, [](Lowering &l) {
    Value factor = l.get(0);
    if (!requireSquare(l, factor))
      return;
    const int64_t n = getShape(factor).back();
    Value right = l.reshape(importer::identity(l, flatten(l, factor)), {n, n});
    l.set(solveFromCholesky(l, factor, right, l.flag(1)));
  });
  t.add({"inverse", "linalg_inv", "linalg_inv_ex"}, invert);
  t.add({"linalg_solve", "linalg_solve_ex"}, [](Lowering &l) {
    solve(l);
    setNoError(l, 1);
  });
  t.add({"_linalg_solve_ex"}, [](Lowering &l) {
    for (unsigned i = 1; i < l.op->getNumResults(); ++i)
      if (!l.require(l.op->getResult(i).use_empty(), "the LU decomposition"))
        return;
    solve(l);
  });
  t.add({"det", "linalg_det", "_linalg_det"}, determinant(Determinant::Value));
  t.add({"logdet"}, determinant(Determinant::Log));
  t.add({"slogdet", "linalg_slogdet", "_linalg_slogdet"},
        determinant(Determinant::SignAndLog));
  t.add({"linalg_eigh", "linalg_eigvalsh"}, eigenvalues);
  t.add({"linalg_svd", "linalg_svdvals"}, singularValues);
  t.add({"linalg_qr"}, orthogonalize);
  t.add({"matrix_power", "linalg_matrix_power"}, matrixPower);
  t.add({"matrix_exp", "linalg_matrix_exp"}, exponentiate);
  t.add({"linalg_householder_product", "orgqr"}, multiplyReflections);
  t.add({"kron"}, kron);
  t.add({"block_diag"}, blockDiagonal);
  t.add({"linalg_multi_dot", "chain_matmul"}, multiDot);
}
