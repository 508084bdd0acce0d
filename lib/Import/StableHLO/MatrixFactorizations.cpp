//===- MatrixFactorizations.cpp - Cholesky, LU, QR, .. ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// StableHLO's factorizations of matrices, and the calls of LAPACK that JAX writes in
/// their place for CPUs.
///
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/MatrixFactorizations.h"
#include "Lowering.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;
using importer::flatten;
using importer::requireMatrices;
using importer::requireSquare;
using importer::setNoError;

static Value transposed(Lowering &l, Value x) { return l.transpose(x, {0, 2, 1}); }

static void cholesky(Lowering &l, bool isLower) {
  Value a = l.get(0);
  if (!requireSquare(l, a))
    return;
  a = flatten(l, a);
  Value factor = importer::factorizeCholesky(l, isLower ? a : transposed(l, a),
                                             /*symmetricGradient=*/false);
  l.set(l.reshape(isLower ? factor : transposed(l, factor), l.resultShape()));
}

namespace {
struct Triangular {
  bool isLeft, isLower, isUnit, isTransposed;
};
} // namespace

/// x of op(a) x = b, or of x op(a) = b.
static void solveTriangular(Lowering &l, Triangular which) {
  Value a = l.get(0), b = l.get(1);
  if (!requireSquare(l, a) || !requireMatrices(l, b))
    return;
  const int64_t n = getShape(a).back();
  if (!l.require(getShape(a).drop_back(2) == getShape(b).drop_back(2) &&
                     n == getShape(b).take_back(2)[which.isLeft ? 0 : 1] &&
                     getElement(a) == getElement(b),
                 "a matrix and a right side that do not fit"))
    return;
  a = flatten(l, a);
  b = flatten(l, b);
  // x a = b is a^T x^T = b^T.
  const bool isTransposed = which.isTransposed == which.isLeft;
  Value x = importer::solveTriangular(
      l, isTransposed ? transposed(l, a) : a, which.isLeft ? b : transposed(l, b),
      {/*isUpper=*/which.isLower == isTransposed, which.isUnit});
  l.set(l.reshape(which.isLeft ? x : transposed(l, x), l.resultShape()));
}

/// Which of `letters` LAPACK is to take for `name`; the first where it is refused.
static char getLetter(Lowering &l, StringRef name, StringRef letters) {
  auto config = dyn_cast_or_null<DictionaryAttr>(l.attribute("mhlo.backend_config"));
  auto letter = config ? config.getAs<IntegerAttr>(name) : IntegerAttr();
  for (char c : letters)
    if (letter && letter.getValue() == c)
      return c;
  l.refuse("mhlo.backend_config: expected " + name + " to be one of the letters " +
           letters);
  return letters.front();
}

/// LAPACK's getrf: the factors, the row that each was exchanged with, from 1, and whether
/// it went wrong.
static void factorizeLU(Lowering &l) {
  Value a = l.get(0);
  if (!requireSquare(l, a))
    return;
  importer::LUFactors made = importer::factorizeLU(l, flatten(l, a));
  l.set(l.reshape(made.factors, l.resultShape()));
  Value rows = l.add(made.pivots, l.number(made.pivots, 1));
  l.set(l.reshape(l.cast(rows, l.resultType(1).getElementType()), l.resultShape(1)), 1);
  setNoError(l, 2);
}

/// LAPACK's geqrf: R with the vectors of reflections below, and their factors.
static void factorizeQR(Lowering &l) {
  Value a = l.get(0);
  if (!requireMatrices(l, a))
    return;
  importer::QRFactors made = importer::factorizeQR(l, flatten(l, a));
  l.set(l.reshape(made.factors, l.resultShape()));
  l.set(l.reshape(made.scales, l.resultShape(1)), 1);
}

/// LAPACK's orgqr.
static void multiplyReflections(Lowering &l) {
  Value a = l.get(0), scales = l.get(1);
  if (!requireMatrices(l, a))
    return;
  const int64_t m = getShape(a).drop_back().back(), n = getShape(a).back();
  if (!l.require(getRank(scales) == getRank(a) - 1 &&
                     getShape(scales).drop_back() == getShape(a).drop_back(2) &&
                     getShape(scales).back() <= n && n <= m &&
                     getElement(scales) == getElement(a),
                 "reflections that do not fit the matrix"))
    return;
  Value flat = l.reshape(
      scales, {llvm::product_of(getShape(scales).drop_back()), getShape(scales).back()});
  l.set(
      l.reshape(importer::multiplyReflections(l, flatten(l, a), flat), l.resultShape()));
}

/// LAPACK's syevd: the vectors, the values, and whether it went wrong.
static void findEigenvectors(Lowering &l) {
  Value a = l.get(0);
  const bool isLower = getLetter(l, "uplo", "LU") == 'L';
  getLetter(l, "mode", "VN");
  if (!requireSquare(l, a) || !l.refusal.empty())
    return;
  a = flatten(l, a);
  importer::EigenDecomposition made =
      importer::findEigenvectors(l, isLower ? a : transposed(l, a));
  l.set(l.reshape(made.vectors, l.resultShape()));
  l.set(l.reshape(made.values, l.resultShape(1)), 1);
  setNoError(l, 2);
}

/// LAPACK's gesdd: what it leaves of the matrix, s, U, V^T, and whether it went wrong.
static void findSingularValues(Lowering &l) {
  Value a = l.get(0);
  const char mode = getLetter(l, "mode", "SNA");
  if (!requireMatrices(l, a) || !l.refusal.empty())
    return;
  const bool isSquare = getShape(a).back() == getShape(a).drop_back().back();
  if (!l.require(mode != 'A' || isSquare,
                 "singular vectors of zeros; say full_matrices=False"))
    return;
  importer::SingularValues made = importer::findSingularValues(l, flatten(l, a));
  // What LAPACK leaves undefined is zeros.
  auto setZeros = [&](unsigned index) {
    l.set(l.constant(0, getElement(a), l.resultShape(index)), index);
  };
  setZeros(0);
  l.set(l.reshape(made.values, l.resultShape(1)), 1);
  if (mode == 'N') {
    setZeros(2);
    setZeros(3);
  } else {
    l.set(l.reshape(made.left, l.resultShape(2)), 2);
    l.set(l.reshape(made.right, l.resultShape(3)), 3);
  }
  setNoError(l, 4);
}

void mpt::stablehlo::populateMatrixFactorizations(Table &t) {
  t.add({"stablehlo.cholesky"}, [](Lowering &l) { cholesky(l, l.flag("lower")); });
  t.add({"stablehlo.triangular_solve"}, [](Lowering &l) {
    for (StringRef name : {"left_side", "lower", "unit_diagonal"})
      if (!l.require(isa_and_nonnull<BoolAttr>(l.attribute(name)),
                     "attribute " + name + ": expected true or false"))
        return;
    StringRef transpose = getText(l.attribute("transpose_a"));
    transpose.consume_front("transpose ");
    transpose = transpose.trim("<> ");
    if (l.require(llvm::is_contained({"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}, transpose),
                  "attribute transpose_a: expected NO_TRANSPOSE, TRANSPOSE or ADJOINT"))
      solveTriangular(l, {l.flag("left_side"), l.flag("lower"), l.flag("unit_diagonal"),
                          transpose != "NO_TRANSPOSE"});
  });
  // Calls of foreign functions are found by what they call.
  t.add({"@lapack_spotrf_ffi", "@lapack_dpotrf_ffi"}, [](Lowering &l) {
    cholesky(l, getLetter(l, "uplo", "LU") == 'L');
    setNoError(l, 1);
  });
  t.add({"@lapack_strsm_ffi", "@lapack_dtrsm_ffi"}, [](Lowering &l) {
    solveTriangular(
        l, {getLetter(l, "side", "LR") == 'L', getLetter(l, "uplo", "LU") == 'L',
            getLetter(l, "diag", "NU") == 'U', getLetter(l, "trans_x", "NTC") != 'N'});
  });
  t.add({"@lapack_sgetrf_ffi", "@lapack_dgetrf_ffi"}, factorizeLU);
  t.add({"@lapack_sgeqrf_ffi", "@lapack_dgeqrf_ffi"}, factorizeQR);
  t.add({"@lapack_sorgqr_ffi", "@lapack_dorgqr_ffi"}, multiplyReflections);
  t.add({"@lapack_ssyevd_ffi", "@lapack_dsyevd_ffi"}, findEigenvectors);
  t.add({"@lapack_sgesdd_ffi", "@lapack_dgesdd_ffi"}, findSingularValues);
}
