//===- ComplexNumbers.h - Complex tensors as pairs of real ones -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The mpt dialect has no complex types. Importers keep a complex tensor as two real
/// ones, and build real ops of them, which have the gradients that PyTorch has: that of
/// a real loss for z is the one for Re z plus i times the one for Im z.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_COMMON_COMPLEXNUMBERS_H
#define MPT_IMPORT_COMMON_COMPLEXNUMBERS_H

#include "mpt/Import/Common/ImportBuilder.h"

namespace mpt::importer {

/// Two tensors of floats of one type. Without `imaginary` the numbers are real.
struct Complex {
  mlir::Value real, imaginary;
};

/// The imaginary part, zeros if there is none.
mlir::Value getImaginary(ImportBuilder &l, Complex z);

/// z [.., 2], whose last dimension holds the real and the imaginary part, and back.
Complex fromPairs(ImportBuilder &l, mlir::Value pairs);
mlir::Value toPairs(ImportBuilder &l, Complex z);

/// Operands broadcast and have one element type.
Complex add(ImportBuilder &l, Complex a, Complex b);
Complex subtract(ImportBuilder &l, Complex a, Complex b);
Complex multiply(ImportBuilder &l, Complex a, Complex b);
/// Scaled by the larger part of the divisor: its square does not overflow.
Complex divide(ImportBuilder &l, Complex a, Complex b);
Complex negate(ImportBuilder &l, Complex z);
Complex conjugate(ImportBuilder &l, Complex z);
/// z times a real number.
Complex scale(ImportBuilder &l, Complex z, double factor);
Complex exp(ImportBuilder &l, Complex z);
/// The principal value, with an angle between -pi and pi.
Complex log(ImportBuilder &l, Complex z);
/// The principal value, with a real part that is not negative. The gradient at 0 is 0.
Complex sqrt(ImportBuilder &l, Complex z);
/// z^w = exp(w log z). A power of 0 is 1 if w is 0, and otherwise 0; no gradient goes
/// there.
Complex power(ImportBuilder &l, Complex z, Complex w);
/// |z| (cos angle + i sin angle) of two real tensors.
Complex polar(ImportBuilder &l, mlir::Value magnitude, mlir::Value angle);

/// |z| without overflow on the way, with the gradient 0 at 0.
mlir::Value abs(ImportBuilder &l, Complex z);
/// The angle of z, between -pi and pi, with the gradient 0 at 0. Real numbers have 0 or
/// pi.
mlir::Value angle(ImportBuilder &l, Complex z);

/// What `apply` makes of two factors, which must be linear in each: four real ones, or
/// two if a factor is real.
Complex multiplyBy(ImportBuilder &l, Complex a, Complex b,
                   llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> apply);

/// Keeps the arithmetic of the builder's block after `last`, or all if null, in f32 under
/// autocast (`mpt.precision`), as PyTorch's autocast leaves complex numbers and Fourier
/// transforms. Ops that only move elements have the precision of what they move.
void keepArithmeticInF32(ImportBuilder &l, mlir::Operation *last);

} // namespace mpt::importer

#endif // MPT_IMPORT_COMMON_COMPLEXNUMBERS_H
