//===- FourierTransforms.h - Fourier transforms as matmuls ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Discrete Fourier transforms, which the mpt dialect has no op for, for importers. A
/// short one is a matmul with a constant matrix of roots of unity. A longer one of n = p
/// q elements is n / p transforms of p, a multiplication by n roots, and n / q transforms
/// of q (Cooley and Tukey 1965), so that it takes time in proportion to n times the sum
/// of the factors. One of n elements where n has a prime factor above `kMaxFourierMatrix`
/// is two transforms of a power of two from 2 n to 4 n elements (Bluestein 1970).
///
/// Roots are computed in f64 and rounded once. The matmuls stay in f32 under autocast.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_COMMON_FOURIERTRANSFORMS_H
#define MPT_IMPORT_COMMON_FOURIERTRANSFORMS_H

#include "mpt/Import/Common/ComplexNumbers.h"

#include <optional>

namespace mpt::importer {

/// The most rows of a constant matrix of roots.
inline constexpr int64_t kMaxFourierMatrix = 128;
/// The most elements of a transform. Its constants have up to 2.2 times as many numbers
/// beside matrices, or 23 times where it has a large prime factor.
inline constexpr int64_t kMaxFourierSize = 1 << 20;

/// The sums over j of z[j] e^(-2 pi i j k / n), or of e^(2 pi i j k / n) if `inverse`,
/// along dimension `dim`, not scaled. The dimension is cut, or filled with zeros, to
/// n = `size` elements. Of the sums it has the first `count`; without it, all n. Refuses
/// open dimensions and sizes out of 1 to `kMaxFourierSize`.
Complex transformFourier(ImportBuilder &l, Complex z, int64_t dim, int64_t size,
                         bool inverse, std::optional<int64_t> count = std::nullopt);

/// The real numbers x[j] whose transform, not inverse, is n = `size` times the first
/// n / 2 + 1 numbers z, cut or filled with zeros, and whose others are their conjugates.
/// Not scaled. As in other libraries, imaginary parts of z[0] and, if n is even, z[n / 2]
/// do not count.
mlir::Value transformToReal(ImportBuilder &l, Complex z, int64_t dim, int64_t size);

} // namespace mpt::importer

#endif // MPT_IMPORT_COMMON_FOURIERTRANSFORMS_H
