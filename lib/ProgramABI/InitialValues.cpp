//===- InitialValues.cpp - Seeded first values of state ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each element is a function of one Philox word. Only +, -, *, / and sqrt are
/// used on doubles, so the bits are the same with every CPU and C library.
///
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/InitialValues.h"
#include "mpt/Support/Philox.h"

#include <algorithm>
#include <limits>

using namespace mpt;
using namespace mpt::rt;

//===----------------------------------------------------------------------===//
// The normal quantile
//===----------------------------------------------------------------------===//

/// Natural logarithm of a positive normal number: x = m 2^e with m near 1, and
/// log m = 2 artanh((m - 1) / (m + 1)) by its series; |s| <= 0.172, so the
/// first term left out is below 1e-20.
static double portableLog(double x) {
  int exponent;
  double m = std::frexp(x, &exponent); // [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 12; k >= 0; --k)
    sum = sum * square + 1.0 / (2 * k + 1);
  return 2 * s * sum + exponent * 0.69314718055994530942;
}

/// numerator(x) / denominator(x), coefficients from the constant up.
static double rational(const double (&numerator)[8], const double (&denominator)[8],
                       double x) {
  double n = 0, d = 0;
  for (int i = 7; i >= 0; --i) {
    n = n * x + numerator[i];
    d = d * x + denominator[i];
  }
  return n / d;
}

double mpt::rt::normalQuantile(double p) {
  // Coefficients of PPND16: centre, near tail, far tail.
  static const double a[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                              1.9715909503065514427e+3, 1.3731693765509461125e+4,
                              4.5921953931549871457e+4, 6.7265770927008700853e+4,
                              3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static const double b[8] = {1,
                              4.2313330701600911252e+1,
                              6.8718700749205790830e+2,
                              5.3941960214247511077e+3,
                              2.1213794301586595867e+4,
                              3.9307895800092710610e+4,
                              2.8729085735721942674e+4,
                              5.2264952788528545610e+3};
  static const double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                              5.76949722146069140550e0,  3.64784832476320460504e0,
                              1.27045825245236838258e0,  2.41780725177450611770e-1,
                              2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[8] = {1,
                              2.05319162663775882187e0,
                              1.67638483018380384940e0,
                              6.89767334985100004550e-1,
                              1.48103976427480074590e-1,
                              1.51986665636164571966e-2,
                              5.47593808499534494600e-4,
                              1.05075007164441684324e-9};
  static const double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                              1.78482653991729133580e0,  2.96560571828504891230e-1,
                              2.65321895265761230930e-2, 1.24266094738807843860e-3,
                              2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double f[8] = {1,
                              5.99832206555887937690e-1,
                              1.36929880922735805310e-1,
                              1.48753612908506148525e-2,
                              7.86869131145613259100e-4,
                              1.84631831751005468180e-5,
                              1.42151175831644588870e-7,
                              2.04426310338993978564e-15};
  double q = p - 0.5;
  if (std::fabs(q) <= 0.425)
    return q * rational(a, b, 0.180625 - q * q);
  double r = std::sqrt(-portableLog(q < 0 ? p : 1 - p));
  double z = r <= 5 ? rational(c, d, r - 1.6) : rational(e, f, r - 5);
  return q < 0 ? -z : z;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Maps a uniform number in (0, 1) to the kind's distribution.
static double transform(const InitSpec &spec, double uniform) {
  // The standard normal's distribution function at -2 and +2.
  constexpr double kLow = 0.02275013194817920720, kHigh = 0.97724986805182079280;
  const double first = spec.numbers[0], second = spec.numbers[1];
  double bound = 0;
  switch (spec.kind) {
  case InitKind::Zeros:
    return 0;
  case InitKind::Ones:
    return 1;
  case InitKind::Constant:
    return first;
  case InitKind::Uniform:
    return first + uniform * (second - first);
  case InitKind::Normal:
    return first + second * rt::normalQuantile(uniform);
  case InitKind::TruncNormal:
    return first + second * rt::normalQuantile(kLow + uniform * (kHigh - kLow));
  case InitKind::KaimingUniform:
    bound = 1.0 / std::sqrt(first);
    break;
  case InitKind::XavierUniform:
    bound = std::sqrt(6.0 / (first + second));
    break;
  }
  return (2 * uniform - 1) * bound;
}

void mpt::rt::drawInitialValues(const InitSpec &spec, uint64_t key, uint64_t seed,
                                int64_t first, int64_t count, double *values) {
  if (!spec.isRandom()) {
    std::fill_n(values, count, transform(spec, 0));
    return;
  }
  std::array<uint32_t, 4> words{};
  for (int64_t i = first; i < first + count; ++i) {
    if (i == first || i % 4 == 0)
      words = philoxBlock(seed, kInitializerStream, key, i / 4);
    // Never 0 or 1.
    *values++ = transform(spec, (words[i % 4] + 0.5) * 0x1p-32);
  }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// A float of at most 16 bits: bits of its mantissa, the exponent of its least normal
/// number, and what is greater than its greatest number becomes.
struct SmallFloat {
  int mantissa, minExponent;
  uint32_t signBit, greatest, overflow, nan;
};
} // namespace

static SmallFloat getSmallFloat(DataType type) {
  switch (type) {
  case DataType::F16:
    return {10, -14, 0x8000, 0x7BFF, 0x7C00, 0x7E00};
  case DataType::BF16:
    return {7, -126, 0x8000, 0x7F7F, 0x7F80, 0x7FC0};
  case DataType::F8E5M2:
    return {2, -14, 0x80, 0x7B, 0x7C, 0x7E};
  default: // F8E4M3FN, which has no infinity
    return {3, -6, 0x80, 0x7E, 0x7F, 0x7F};
  }
}

static uint32_t encodeSmallFloat(DataType type, double value) {
  const SmallFloat format = getSmallFloat(type);
  const uint32_t sign = std::signbit(value) ? format.signBit : 0;
  if (std::isnan(value))
    return sign | format.nan;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | format.overflow;
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude < 2^exponent
  const int scale =
      magnitude == 0 ? format.minExponent : std::max(exponent - 1, format.minExponent);
  // In units of the last bit, of which there are at most 2^(mantissa + 1): exact but for
  // the one rounding.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa - scale));
  // Numbers count on from one exponent to the next, so a carry needs no care.
  const double bits =
      units + std::ldexp(double(scale - format.minExponent), format.mantissa);
  return sign | (bits > format.greatest ? format.overflow : static_cast<uint32_t>(bits));
}

template <typename T>
static void storeInteger(double value, void *element) {
  using Limits = std::numeric_limits<T>;
  T result = 0;
  double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(Limits::min()))
    result = Limits::min();
  else if (rounded >= static_cast<double>(Limits::max()))
    result = Limits::max();
  else if (!std::isnan(value))
    result = static_cast<T>(rounded);
  std::memcpy(element, &result, sizeof(T));
}

static void encodeElement(DataType type, double value, char *element) {
  switch (type) {
  case DataType::F64:
    std::memcpy(element, &value, sizeof(value));
    return;
  case DataType::F32: {
    float narrowed = static_cast<float>(value);
    std::memcpy(element, &narrowed, sizeof(narrowed));
    return;
  }
  case DataType::F16:
  case DataType::BF16:
  case DataType::F8E4M3FN:
  case DataType::F8E5M2: {
    // Little endian.
    uint32_t bits = encodeSmallFloat(type, value);
    std::memcpy(element, &bits, getSize(type));
    return;
  }
  case DataType::I64:
    return storeInteger<int64_t>(value, element);
  case DataType::I32:
    return storeInteger<int32_t>(value, element);
  case DataType::I16:
    return storeInteger<int16_t>(value, element);
  case DataType::I8:
    return storeInteger<int8_t>(value, element);
  case DataType::I1:
    *element = value != 0;
    return;
  }
}

void mpt::rt::encodeElements(DataType type, const double *values, int64_t count,
                             void *data) {
  for (int64_t i = 0; i < count; ++i)
    encodeElement(type, values[i], static_cast<char *>(data) + i * getSize(type));
}

void mpt::rt::splitHalves(const float *wide, int64_t count, uint16_t *high,
                          uint16_t *low) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &wide[i], sizeof(bits));
    high[i] = static_cast<uint16_t>((bits + 0x8000u) >> 16);
    low[i] = static_cast<uint16_t>(bits);
  }
}
