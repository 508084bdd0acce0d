//===- FourierTransforms.cpp - Fourier transforms as matmuls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/FourierTransforms.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <complex>

using namespace mlir;
using namespace mpt;
using namespace mpt::importer;

using Number = std::complex<double>;

/// e^(2 pi i k / n), exact at quarters of a turn.
static Number getRoot(int64_t k, int64_t n) {
  // In eighths of n-ths of a turn.
  int64_t angle = 8 * (k % n);
  const bool isBelow = angle > 4 * n;
  angle = isBelow ? 8 * n - angle : angle;
  const bool isLeft = angle > 2 * n;
  angle = isLeft ? 4 * n - angle : angle;
  const bool isSteep = angle > n;
  angle = isSteep ? 2 * n - angle : angle;
  const double radians =
      M_PI * static_cast<double>(angle) / (4.0 * static_cast<double>(n));
  double x = std::cos(radians), y = std::sin(radians);
  if (isSteep)
    std::swap(x, y);
  return {isLeft ? -x : x, isBelow ? -y : y};
}

/// Constants of `shape`; real ones where no number has an imaginary part.
static Complex makeConstants(ImportBuilder &l, ArrayRef<Number> numbers, Type element,
                             ArrayRef<int64_t> shape) {
  SmallVector<double> real, imaginary;
  for (Number number : numbers) {
    // Without the sign of zero.
    real.push_back(number.real() + 0.0);
    imaginary.push_back(number.imag() + 0.0);
  }
  const bool isReal = llvm::all_of(imaginary, [](double y) { return y == 0; });
  return {l.floats(real, element, shape),
          isReal ? Value() : l.floats(imaginary, element, shape)};
}

/// root(row * column, n), or its conjugate.
static Complex makeRoots(ImportBuilder &l, int64_t rows, int64_t columns, int64_t n,
                         bool inverse, Type element) {
  SmallVector<Number> roots;
  roots.reserve(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      Number root = getRoot(i * j, n);
      roots.push_back(inverse ? root : std::conj(root));
    }
  return makeConstants(l, roots, element, {rows, columns});
}

namespace {
/// How transforms are cut into shorter ones.
class Plan {
public:
  /// The factor of n by which it is cut, at most kMaxFourierMatrix; n if it is one
  /// matrix; 0 if it becomes a convolution.
  int64_t getFactor(int64_t n) {
    getCost(n);
    return steps.lookup(n).factor;
  }

private:
  struct Step {
    double cost;
    int64_t factor;
  };

  /// Multiplications for an element, as many as its traffic is worth.
  double getCost(int64_t n) {
    if (auto found = steps.find(n); found != steps.end())
      return found->second.cost;
    // A cut reads and writes all elements a few times.
    constexpr double costOfCut = 24;
    Step best{0, 0};
    auto tryStep = [&](double cost, int64_t factor) {
      if (best.cost == 0 || cost < best.cost)
        best = {cost, factor};
    };
    if (n <= kMaxFourierMatrix)
      tryStep(static_cast<double>(n), n);
    for (int64_t p = 2; p <= std::min(kMaxFourierMatrix, n / 2); ++p)
      if (n % p == 0)
        if (double rest = getCost(n / p); steps.lookup(n / p).factor)
          tryStep(static_cast<double>(p) + rest + costOfCut, p);
    return (steps[n] = best).cost;
  }

  llvm::DenseMap<int64_t, Step> steps;
};
} // namespace

static Value swapLast(ImportBuilder &l, Value x) {
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, getRank(x)));
  std::swap(permutation[getRank(x) - 1], permutation[getRank(x) - 2]);
  return l.transpose(x, permutation);
}

static Complex mapParts(Complex z, function_ref<Value(Value)> map) {
  return {map(z.real), z.imaginary ? map(z.imaginary) : Value()};
}

static Value resizeLast(ImportBuilder &l, Value x, int64_t size) {
  const int64_t now = getShape(x).back();
  if (size <= now)
    return l.slice(x, getRank(x) - 1, 0, size);
  Shape low(getRank(x), 0), high(getRank(x), 0);
  high.back() = size - now;
  return l.pad(x, low, high, 0);
}

/// The transform of a power of two numbers, in f64.
static void transformNumbers(SmallVectorImpl<Number> &numbers) {
  const int64_t n = numbers.size();
  for (int64_t i = 0, j = 0; i < n; ++i) {
    if (i < j)
      std::swap(numbers[i], numbers[j]);
    int64_t bit = n / 2;
    for (; bit && (j & bit); bit /= 2)
      j ^= bit;
    j |= bit;
  }
  for (int64_t length = 2; length <= n; length *= 2)
    for (int64_t k = 0; k < length / 2; ++k) {
      const Number root = std::conj(getRoot(k, length));
      for (int64_t begin = 0; begin < n; begin += length) {
        Number &a = numbers[begin + k], &b = numbers[begin + k + length / 2];
        const Number product = root * b;
        b = a - product;
        a += product;
      }
    }
}

static Complex transformLast(ImportBuilder &l, Plan &plan, Complex z, int64_t n,
                             int64_t count, bool inverse);

/// By 2 j k = j^2 + k^2 - (k - j)^2: a convolution with e^(pi i t^2 / n).
static Complex transformByConvolution(ImportBuilder &l, Plan &plan, Complex z, int64_t n,
                                      int64_t count, bool inverse) {
  Type element = getElement(z.real);
  const int64_t given = getShape(z.real).back();
  auto getChirp = [&](int64_t t) {
    Number root = getRoot((t * t) % (2 * n), 2 * n);
    return inverse ? std::conj(root) : root;
  };
  auto makeChirp = [&](int64_t size) {
    SmallVector<Number> numbers;
    for (int64_t t = 0; t < size; ++t)
      numbers.push_back(std::conj(getChirp(t)));
    return makeConstants(l, numbers, element, {size});
  };
  const int64_t size = llvm::PowerOf2Ceil(given + count - 1);
  SmallVector<Number> filter(size);
  for (int64_t t = 1 - given; t < count; ++t)
    filter[t < 0 ? size + t : t] = getChirp(t) / static_cast<double>(size);
  transformNumbers(filter);
  z = multiply(l, z, makeChirp(given));
  z = transformLast(l, plan, z, size, size, /*inverse=*/false);
  z = multiply(l, z, makeConstants(l, filter, element, {size}));
  z = transformLast(l, plan, z, size, count, /*inverse=*/true);
  return multiply(l, z, makeChirp(count));
}

/// The first `count` of the n sums along the last dimension, which has n elements or
/// fewer, before zeros. The rank is 2 at least.
static Complex transformLast(ImportBuilder &l, Plan &plan, Complex z, int64_t n,
                             int64_t count, bool inverse) {
  Type element = getElement(z.real);
  const int64_t given = getShape(z.real).back(), p = plan.getFactor(n);
  if (p == n) {
    if (n == 1)
      return z;
    return multiplyBy(l, z, makeRoots(l, given, count, n, inverse, element),
                      [&](Value x, Value roots) { return l.matmul(x, roots); });
  }
  if (p == 0)
    return transformByConvolution(l, plan, z, n, count, inverse);
  // j = q j1 + j2 and k = k1 + p k2: over j1, then over j2.
  const int64_t q = n / p, rows = llvm::divideCeil(given, q);
  Shape batch(getShape(z.real).drop_back());
  auto reshapeLast = [&](Value x, ArrayRef<int64_t> sizes) {
    Shape shape(batch);
    llvm::append_range(shape, sizes);
    return l.reshape(x, shape);
  };
  z = mapParts(z, [&](Value x) {
    return swapLast(l, reshapeLast(resizeLast(l, x, rows * q), {rows, q}));
  });
  z = transformLast(l, plan, z, p, p, inverse);
  z = multiply(l, z, makeRoots(l, q, p, n, inverse, element));
  z = mapParts(z, [&](Value x) { return swapLast(l, x); });
  const int64_t columns = llvm::divideCeil(count, p);
  z = transformLast(l, plan, z, q, columns, inverse);
  return mapParts(z, [&](Value x) {
    return resizeLast(l, reshapeLast(swapLast(l, x), {columns * p}), count);
  });
}

/// Whether a dimension can be transformed.
static bool requireSize(ImportBuilder &l, Value x, int64_t dim, int64_t size) {
  return l.require(dim >= 0 && dim < getRank(x), "a transform of a dimension that the "
                                                 "tensor does not have") &&
         l.require(!ShapedType::isDynamic(getShape(x)[dim]) && getShape(x)[dim] > 0,
                   "a transform of an open or empty dimension") &&
         l.require(size >= 1 && size <= kMaxFourierSize,
                   "a transform of other than 1 to " + Twine(kMaxFourierSize) +
                       " elements");
}

/// `transform` along the last dimension of two or more.
static Complex transformAlong(ImportBuilder &l, Complex z, int64_t dim,
                              function_ref<Complex(Complex)> transform) {
  Block *block = l.builder.getInsertionBlock();
  Operation *last = block->empty() ? nullptr : &block->back();
  const bool isVector = getRank(z.real) == 1;
  z = mapParts(z, [&](Value x) {
    return isVector ? l.reshape(x, {1, getShape(x)[0]}) : l.moveToLast(x, dim);
  });
  z = transform(z);
  z = mapParts(z, [&](Value x) {
    return isVector ? l.reshape(x, {getShape(x)[1]}) : l.moveFromLast(x, dim);
  });
  keepArithmeticInF32(l, last);
  return z;
}

Complex mpt::importer::transformFourier(ImportBuilder &l, Complex z, int64_t dim,
                                        int64_t size, bool inverse,
                                        std::optional<int64_t> count) {
  if (!requireSize(l, z.real, dim, size))
    return z;
  return transformAlong(l, z, dim, [&](Complex z) {
    if (getShape(z.real).back() > size)
      z = mapParts(z, [&](Value x) { return resizeLast(l, x, size); });
    Plan plan;
    return transformLast(l, plan, z, size, count.value_or(size), inverse);
  });
}

Value mpt::importer::transformToReal(ImportBuilder &l, Complex z, int64_t dim,
                                     int64_t size) {
  if (!requireSize(l, z.real, dim, size))
    return z.real;
  return transformAlong(
             l, z, dim,
             [&](Complex z) -> Complex {
               const int64_t half = size / 2 + 1;
               if (getShape(z.real).back() > half)
                 z = mapParts(z, [&](Value x) { return resizeLast(l, x, half); });
               // Each number but the first, and the last of an even size,
               // stands for its conjugate, too.
               SmallVector<double> real, imaginary;
               for (int64_t k = 0; k < getShape(z.real).back(); ++k) {
                 const bool isOne = k == 0 || 2 * k == size;
                 real.push_back(isOne ? 1 : 2);
                 imaginary.push_back(isOne ? 0 : 2);
               }
               auto weigh = [&](Value x, ArrayRef<double> weights) {
                 return l.mul(
                     x, l.floats(weights, getElement(x), {int64_t(weights.size())}));
               };
               z = {weigh(z.real, real),
                    z.imaginary ? weigh(z.imaginary, imaginary) : Value()};
               Plan plan;
               return {transformLast(l, plan, z, size, size, /*inverse=*/true).real, {}};
             })
      .real;
}
