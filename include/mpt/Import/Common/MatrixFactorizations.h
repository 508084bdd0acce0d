//===- MatrixFactorizations.h - Cholesky, LU, solutions ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Factorizations of matrices and solutions of linear systems, which the mpt dialect has
/// no ops for, for importers. Square matrices are [B, n, n], others and right sides [B,
/// n, m], of f32 or f64, for a batch of B. All stays in f32 under autocast.
///
/// Numbers come from elimination, which runs as a scan over columns (LU, and Cholesky in
/// blocks of `kCholeskyBlock`), and from inverses of triangles, whose blocks double in
/// size: log2(n) levels of batched matmuls. No gradient passes through these. Each result
/// takes one step of refinement after them, such as x + A^-1 (b - A x), with A^-1 and x
/// as constants. Its derivative is exact, so gradients are those of textbooks (Giles
/// 2008, "Collected matrix derivative results for forward and reverse mode algorithmic
/// differentiation"; Murray 2016, arXiv 1602.07527, for Cholesky) at the cost of a few
/// matmuls. Solutions and LU factors also gain what elimination and inverses round; of
/// Cholesky factors the step changes no number. A derivative of that derivative is wrong.
///
/// Where a matrix is not positive definite, or singular in a solution or an inverse,
/// results hold NaN or infinity: nothing is reported while a step runs.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_COMMON_MATRIXFACTORIZATIONS_H
#define MPT_IMPORT_COMMON_MATRIXFACTORIZATIONS_H

#include "mpt/Import/Common/ImportBuilder.h"

namespace mpt::importer {

/// As long as it lives, what is built stays in f32 under autocast, also inside of scans:
/// differences would lose what half precision rounds.
class KeepPrecision : public mlir::OpBuilder::Listener {
public:
  explicit KeepPrecision(ImportBuilder &l);
  ~KeepPrecision() override;
  KeepPrecision(const KeepPrecision &) = delete;
  KeepPrecision &operator=(const KeepPrecision &) = delete;

  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint previous) override;

private:
  mlir::OpBuilder &builder;
  mlir::OpBuilder::Listener *next;
};

/// Whether `x` is [.., n, m] of f32 or f64 with known sizes, none of them 0, and, of
/// `requireSquare`, n is m. Refuses the op if not.
bool requireMatrices(ImportBuilder &l, mlir::Value x);
bool requireSquare(ImportBuilder &l, mlir::Value x);

/// [.., n, m] as [B, n, m].
mlir::Value flatten(ImportBuilder &l, mlir::Value x);
/// [B, n, m] as [.., n, m], where the first dimensions are `batch`, of B elements.
mlir::Value unflatten(ImportBuilder &l, mlir::Value x, Shape batch);

/// Of an op that has it, the result `index`, of integers, which says what went wrong:
/// zeros, nothing. No step reports what is wrong in the graph. `Lowering` is an
/// importer's view of an op.
template <typename Lowering>
void setNoError(Lowering &l, unsigned index) {
  if (index >= l.op->getNumResults())
    return;
  mlir::RankedTensorType type = l.resultType(index);
  l.set(l.constant(0, type.getElementType(), type.getShape()), index);
}

/// [1, n, n] with ones on the diagonal, in the element type and n of the rows of `like`,
/// [B, n, m].
mlir::Value identity(ImportBuilder &l, mlir::Value like);

/// Rows up to which Cholesky's algorithm goes column by column. Larger matrices are cut
/// in two.
inline constexpr int64_t kCholeskyBlock = 64;

/// Which triangle of a matrix counts, and whether its diagonal is taken as ones. The
/// other numbers of the matrix are not read, and have a gradient of zero.
struct Triangle {
  bool isUpper = false, isUnit = false;
};

/// x of a x = b, of which `a` is a triangle. The batch may be 1 in either.
mlir::Value solveTriangular(ImportBuilder &l, mlir::Value a, mlir::Value b,
                            Triangle triangle);

/// The lower triangle L with L L^T = a. The lower triangle of `a` decides; what is above
/// must be finite. The gradient is that of (a + a^T) / 2 if `symmetricGradient`, as in
/// PyTorch, else that of a as if it were any matrix, as in JAX, whose functions take the
/// mean themselves.
mlir::Value factorizeCholesky(ImportBuilder &l, mlir::Value a, bool symmetricGradient);

/// Of an LU decomposition with rows exchanged (LAPACK's getrf).
struct LUFactors {
  /// U, and below its diagonal L, whose diagonal is ones.
  mlir::Value factors;
  /// [B, n] of i64, from 0: in step k rows k and pivots[k] were exchanged.
  mlir::Value pivots;
  /// [B, n] of i64: row i of L U is row permutation[i] of the matrix.
  mlir::Value permutation;
};
LUFactors factorizeLU(ImportBuilder &l, mlir::Value a);

/// x of a x = b. The batch may be 1 in either.
mlir::Value solve(ImportBuilder &l, mlir::Value a, mlir::Value b);

/// Of a QR decomposition (LAPACK's geqrf): R, and below its diagonal the vectors of
/// reflections; and their factors, [B, min(m, n)]. The gradient passes through the scan
/// over columns, which keeps a matrix for each.
struct QRFactors {
  mlir::Value factors, scales;
};
QRFactors factorizeQR(ImportBuilder &l, mlir::Value a);

/// As many columns as `a` [B, m, n] has of the product of the reflections I - tau[i] v[i]
/// v[i]^T for `scales` [B, k], k <= n <= m, where v[i] has zeros, then 1, then what is
/// below the diagonal in column i of `a`.
mlir::Value multiplyReflections(ImportBuilder &l, mlir::Value a, mlir::Value scales);

/// Of a symmetric matrix, of which the lower triangle decides: eigenvalues in ascending
/// order, [B, n], and eigenvectors of length 1 in the columns of [B, n, n]. By Jacobi's
/// rotations, of n / 2 rows at a time in the order of a tournament (Brent and Luk 1985):
/// 10 rounds of all pairs up to 32 rows, 14 for more, 2 more in f64. Before the last 3
/// the vectors are made orthogonal and the matrix is made of them anew, so that errors do
/// not grow with the number of rotations. The gradient is that of any matrix, as in JAX;
/// equal eigenvalues do not change each other's vectors.
struct EigenDecomposition {
  mlir::Value values, vectors;
};
EigenDecomposition findEigenvectors(ImportBuilder &l, mlir::Value a);

/// a = U diag(s) V^T for a of [B, m, n] and k = min(m, n): U [B, m, k], s [B, k] in
/// descending order, V^T [B, k, n]. By Jacobi's rotations of the shorter dimension
/// (Hestenes 1958), as `findEigenvectors`, with 3 rounds more for more than 32 rows; the
/// other vectors are Q of a QR decomposition, so that they are orthogonal where s is 0,
/// too.
struct SingularValues {
  mlir::Value left, values, right;
};
SingularValues findSingularValues(ImportBuilder &l, mlir::Value a);

/// a^-1.
mlir::Value invert(ImportBuilder &l, mlir::Value a);

/// e^a by scaling and squaring: the Taylor polynomial of a 2^-s, squared s times, where
/// s of each matrix follows from its largest sum of absolute values of a column. NaN
/// where that is above 2^11.
mlir::Value exponentiate(ImportBuilder &l, mlir::Value a);

} // namespace mpt::importer

#endif // MPT_IMPORT_COMMON_MATRIXFACTORIZATIONS_H
