//===- Fourier.cpp - Torch's Fourier transforms -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mpt/Import/Common/FourierTransforms.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;
using importer::Complex;

namespace {
/// A transform along one dimension after another.
struct Transform {
  Shape dims, sizes;
  /// Of all elements of the result.
  double scale = 1;
  bool isInverse = false;
};
} // namespace

/// Sets the factor that operand `index`, the norm, asks for.
static void readScale(Lowering &l, Transform &t, unsigned index) {
  StringRef norm = l.text(index);
  double count = 1;
  for (int64_t size : t.sizes)
    count *= static_cast<double>(size);
  if (norm == "ortho")
    t.scale = 1 / std::sqrt(count);
  else if (norm.empty() || norm == "backward")
    t.scale = t.isInverse ? 1 / count : 1;
  else if (l.require(norm == "forward", "an unknown norm"))
    t.scale = t.isInverse ? 1 : 1 / count;
}

static int64_t wrapDimension(Lowering &l, int64_t dim, int64_t rank) {
  dim += dim < 0 ? rank : 0;
  return l.require(dim >= 0 && dim < rank, "a dimension that the tensor does not have")
             ? dim
             : 0;
}

/// Operands 1 to 3 of a transform along one dimension or, with `isMany`, along several:
/// sizes, dimensions and norm. With `hasHalf` the operand has half of the last dimension.
static Transform readTransform(Lowering &l, bool isMany, bool isInverse, bool hasHalf) {
  Value x = l.getComplex(0, l.resultElement()).real;
  const int64_t rank = getRank(x);
  Transform t;
  t.isInverse = isInverse;
  if (!l.require(rank > 0, "a transform of a scalar"))
    return t;
  if (isMany) {
    t.dims = l.integers(2);
    t.sizes = l.integers(1);
    if (t.dims.empty())
      t.dims = llvm::to_vector(
          llvm::seq<int64_t>(t.sizes.empty() ? 0 : rank - t.sizes.size(), rank));
  } else {
    t.dims = {l.integer(2, -1)};
    t.sizes = {l.integer(1, -1)};
  }
  if (t.sizes.empty())
    t.sizes.assign(t.dims.size(), -1);
  if (!l.require(t.sizes.size() == t.dims.size() && !t.dims.empty(),
                 "a size for each dimension"))
    return t;
  for (auto [dim, size] : llvm::zip_equal(t.dims, t.sizes)) {
    dim = wrapDimension(l, dim, rank);
    size = size == -1 ? getShape(x)[dim] : size;
  }
  const Shape given = isMany ? l.integers(1) : Shape{l.integer(1, -1)};
  if (hasHalf && (given.empty() || given.back() == -1))
    t.sizes.back() = 2 * (getShape(x)[t.dims.back()] - 1);
  readScale(l, t, 3);
  return t;
}

static Complex transformAll(Lowering &l, Complex z, const Transform &t, bool isInverse,
                            size_t count) {
  for (size_t i = 0; i < count && l.refusal.empty(); ++i)
    z = importer::transformFourier(l, z, t.dims[i], t.sizes[i], isInverse);
  return z;
}

/// fft, ifft and their forms of several dimensions.
static std::function<void(Lowering &)> transform(bool isMany, bool isInverse) {
  return [=](Lowering &l) {
    Transform t = readTransform(l, isMany, isInverse, /*hasHalf=*/false);
    if (!l.refusal.empty())
      return;
    Complex z =
        transformAll(l, l.getComplex(0, l.resultElement()), t, isInverse, t.dims.size());
    if (l.refusal.empty())
      l.set(importer::scale(l, z, t.scale));
  };
}

/// rfft and ihfft, which is its conjugate.
static std::function<void(Lowering &)> transformReal(bool isMany, bool isInverse) {
  return [=](Lowering &l) {
    Transform t = readTransform(l, isMany, isInverse, /*hasHalf=*/false);
    if (!l.refusal.empty())
      return;
    Complex z{l.get(0, l.resultElement()), {}};
    z = importer::transformFourier(l, z, t.dims.back(), t.sizes.back(), isInverse,
                                   t.sizes.back() / 2 + 1);
    z = transformAll(l, z, t, isInverse, t.dims.size() - 1);
    if (l.refusal.empty())
      l.set(importer::scale(l, z, t.scale));
  };
}

/// irfft, and hfft, which is that of the conjugate.
static std::function<void(Lowering &)> transformBack(bool isMany, bool isInverse) {
  return [=](Lowering &l) {
    Transform t = readTransform(l, isMany, isInverse, /*hasHalf=*/true);
    if (!l.refusal.empty())
      return;
    Complex z = l.getComplex(0, l.resultElement());
    z = transformAll(l, isInverse ? z : importer::conjugate(l, z), t, /*isInverse=*/true,
                     t.dims.size() - 1);
    if (!l.refusal.empty())
      return;
    Value x = importer::transformToReal(l, z, t.dims.back(), t.sizes.back());
    if (l.refusal.empty())
      l.set(l.mul(x, t.scale));
  };
}

/// Half of each dimension first, or back.
static std::function<void(Lowering &)> shift(bool back) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    for (int64_t dim : l.dimensions(1, getRank(x))) {
      const int64_t size = getShape(x)[dim];
      const int64_t first = back ? size / 2 : size - size / 2;
      if (!l.require(!ShapedType::isDynamic(size), "an open dimension"))
        return;
      if (first > 0 && first < size)
        x = l.concat({l.slice(x, dim, first, size - first), l.slice(x, dim, 0, first)},
                     dim);
    }
    l.set(x);
  };
}

/// Those of fftfreq, or with `isHalf` those from 0 of rfftfreq.
static void frequencies(Lowering &l, bool isHalf) {
  RankedTensorType type = l.resultType();
  const int64_t size = l.integer(0);
  const double distance = l.number(1, 1);
  if (!l.require(type.getRank() == 1 && isa<FloatType>(type.getElementType()) &&
                     size >= 1 && size <= importer::kMaxFourierSize,
                 "frequencies of this type or number"))
    return;
  SmallVector<double> values;
  for (int64_t k = 0; k < type.getDimSize(0); ++k) {
    const bool isNegative = !isHalf && 2 * k >= size && k > 0;
    values.push_back(static_cast<double>(isNegative ? k - size : k) /
                     (static_cast<double>(size) * distance));
  }
  l.set(l.floats(values, type.getElementType(), type.getShape()));
}

//===----------------------------------------------------------------------===//
// Short transforms in time
//===----------------------------------------------------------------------===//

namespace {
/// Windows of `size` elements, each `hop` after the one before, as whole numbers of
/// blocks.
struct Frames {
  int64_t size, hop, count, block;

  Frames(int64_t size, int64_t hop, int64_t count)
      : size(size), hop(hop), count(count), block(std::gcd(size, hop)) {}
  int64_t getStride() const { return hop / block; }
  int64_t getParts() const { return size / block; }
  /// From the first element of the first to after the last of the last.
  int64_t getReach() const { return hop * (count - 1) + size; }
};
} // namespace

static constexpr int64_t kMaxFrameParts = 1024;

/// x [B, T] as [B, count, size].
static Value cutFrames(Lowering &l, Value x, const Frames &frames) {
  const int64_t batch = getShape(x)[0], blocks = frames.getReach() / frames.block;
  x = l.reshape(l.slice(x, 1, 0, frames.getReach()), {batch, blocks, frames.block});
  SmallVector<Value> parts;
  for (int64_t i = 0; i < frames.getParts(); ++i)
    parts.push_back(l.slice(x, 1, i, frames.count, frames.getStride()));
  return l.concat(parts, 2);
}

/// The sums [B, T] of what frames [B, count, size] have at the same place.
static Value addFrames(Lowering &l, Value x, const Frames &frames) {
  const int64_t batch = getShape(x)[0], blocks = frames.getReach() / frames.block;
  Value sum;
  for (int64_t i = 0; i < frames.getParts(); ++i) {
    Value part = l.slice(x, 2, i * frames.block, frames.block);
    const int64_t stride = frames.getStride(), reach = stride * (frames.count - 1) + 1;
    part = l.pad(part, {0, i, 0}, {0, blocks - i - reach, 0}, 0, {0, stride - 1, 0});
    sum = sum ? l.add(sum, part) : part;
  }
  return l.reshape(sum, {batch, frames.getReach()});
}

/// The window of a transform of `size`, from operand `index`, in its middle; null for
/// ones.
static Value readWindow(Lowering &l, unsigned index, int64_t size, int64_t length) {
  Type element = l.resultElement();
  const bool isShort = length < size;
  if (l.isNone(index) && !isShort)
    return {};
  Value window =
      l.isNone(index) ? l.constant(1, element, {length}) : l.get(index, element);
  if (!l.require(getShape(window) == ArrayRef(length), "a window of another length"))
    return {};
  const int64_t before = (size - length) / 2;
  return isShort ? l.pad(window, {before}, {size - length - before}, 0) : window;
}

/// (x, n_fft, hop_length, win_length, window, normalized, onesided, return_complex,
/// align_to_window)
static void shortTransform(Lowering &l) {
  Type element = l.resultElement();
  const bool isComplex = l.isComplex(0);
  Complex x = l.getComplex(0, element);
  const int64_t size = l.integer(1), hop = l.integer(2, size / 4),
                length = l.integer(3, size);
  const bool isHalf = l.flag(6, !isComplex);
  if (!l.require(!l.flag(8), "align_to_window") ||
      !l.require(getRank(x.real) <= 2 && getType(x.real).hasStaticShape(),
                 "an open dimension") ||
      !l.require(size >= 1 && hop >= 1 && length >= 1 && length <= size &&
                     getShape(x.real).back() >= size,
                 "windows longer than the signal, or of no elements") ||
      !l.require(!isHalf || !isComplex, "one side of the transform of complex numbers"))
    return;
  const int64_t batch = getRank(x.real) == 2 ? getShape(x.real)[0] : 1;
  const int64_t signal = getShape(x.real).back();
  const Frames frames(size, hop, (signal - size) / hop + 1);
  if (!l.require(frames.getParts() <= kMaxFrameParts,
                 "windows of more than 1024 times the greatest common divisor of n_fft "
                 "and hop_length"))
    return;
  Value window = readWindow(l, 4, size, length);
  if (!l.refusal.empty())
    return;
  auto cut = [&](Value part) {
    Value y = cutFrames(l, l.reshape(part, {batch, signal}), frames);
    return window ? l.mul(y, window) : y;
  };
  Complex z{cut(x.real), isComplex ? cut(x.imaginary) : Value()};
  z = importer::transformFourier(l, z, 2, size, /*inverse=*/false,
                                 isHalf ? size / 2 + 1 : size);
  if (!l.refusal.empty())
    return;
  if (l.flag(5))
    z = importer::scale(l, z, 1 / std::sqrt(static_cast<double>(size)));
  // Without return_complex, pairs.
  const bool givesPairs = !l.flag(7);
  Shape shape(l.resultType().getShape());
  if (givesPairs)
    shape.pop_back();
  auto finish = [&](Value part) {
    return l.reshape(l.transpose(part, {0, 2, 1}), shape);
  };
  z = {finish(z.real), finish(importer::getImaginary(l, z))};
  if (givesPairs)
    l.set(importer::toPairs(l, z));
  else
    l.set(z);
}

/// (x, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
/// return_complex)
static void inverseShortTransform(Lowering &l) {
  Type element = l.resultElement();
  Complex z = l.getComplex(0, element);
  const int64_t size = l.integer(1), hop = l.integer(2, size / 4),
                length = l.integer(3, size), rank = getRank(z.real);
  const bool isCentered = l.flag(5, true);
  if (!l.require(!l.flag(9), "return_complex=True") ||
      !l.require((rank == 2 || rank == 3) && getType(z.real).hasStaticShape(),
                 "an open dimension") ||
      !l.require(size >= 1 && hop >= 1 && length >= 1 && length <= size && hop <= length,
                 "windows that leave gaps, or have no elements"))
    return;
  const int64_t rows = getShape(z.real)[rank - 2], count = getShape(z.real)[rank - 1];
  const int64_t batch = rank == 3 ? getShape(z.real)[0] : 1;
  if (!l.require(l.isNone(7) ? rows == size / 2 + 1 || rows == size
                             : rows == (l.flag(7) ? size / 2 + 1 : size),
                 "a number of frequencies that does not fit n_fft"))
    return;
  const Frames frames(size, hop, count);
  Value window = readWindow(l, 4, size, length);
  if (!l.refusal.empty() ||
      !l.require(frames.getParts() <= kMaxFrameParts,
                 "windows of more than 1024 times the greatest common divisor of n_fft "
                 "and hop_length"))
    return;
  auto arrange = [&](Value part) {
    return l.transpose(l.reshape(part, {batch, rows, count}), {0, 2, 1});
  };
  z = {arrange(z.real), arrange(importer::getImaginary(l, z))};
  // Of all frequencies, too, the first half counts.
  Value x = importer::transformToReal(l, z, 2, size);
  if (!l.refusal.empty())
    return;
  const double n = static_cast<double>(size);
  x = l.mul(x, l.flag(6) ? 1 / std::sqrt(n) : 1 / n);
  Value ones = l.constant(1, element, {size});
  Value squares = window ? l.square(window) : ones;
  Value weights = addFrames(l, l.broadcast(squares, {1, count, size}), frames);
  x = addFrames(l, window ? l.mul(x, window) : x, frames);
  const int64_t begin = isCentered ? size / 2 : 0;
  const int64_t wanted = l.resultType().getShape().back();
  const int64_t available = std::min(wanted, frames.getReach() - begin);
  if (!l.require(available > 0, "a signal of no elements"))
    return;
  auto trim = [&](Value y) { return l.slice(y, 1, begin, available); };
  x = l.div(trim(x), trim(weights));
  if (available < wanted)
    x = l.pad(x, {0, 0}, {0, wanted - available}, 0);
  l.set(l.reshape(x, l.resultType().getShape()));
}

/// A sum of cosines of multiples of the angle, which goes around once in n elements, or
/// n - 1 if not `isPeriodic`.
static std::function<void(Lowering &)> window(std::initializer_list<double> terms,
                                              bool hasFlag) {
  return [terms = SmallVector<double>(terms), hasFlag](Lowering &l) {
    RankedTensorType type = l.resultType();
    const int64_t size = type.getRank() == 1 ? type.getDimSize(0) : -1;
    const bool isPeriodic = !hasFlag || l.flag(1);
    if (!l.require(isa<FloatType>(type.getElementType()) && size >= 1 &&
                       size <= importer::kMaxFourierSize,
                   "a window of this type or length"))
      return;
    const double period = static_cast<double>(isPeriodic ? size : size - 1);
    SmallVector<double> values(size, 1);
    for (int64_t i = 0; size > 1 && i < size; ++i) {
      const double angle = 2 * M_PI * static_cast<double>(i) / period;
      values[i] = 0;
      for (auto [k, term] : llvm::enumerate(terms))
        values[i] += term * std::cos(static_cast<double>(k) * angle);
    }
    l.set(l.floats(values, type.getElementType(), {size}));
  };
}

void mpt::torch::populateFourier(Table &t) {
  t.complex({"fft_fft"}, transform(false, false));
  t.complex({"fft_ifft"}, transform(false, true));
  t.complex({"fft_fft2", "fft_fftn"}, transform(true, false));
  t.complex({"fft_ifft2", "fft_ifftn"}, transform(true, true));
  t.complex({"fft_rfft"}, transformReal(false, false));
  t.complex({"fft_ihfft"}, transformReal(false, true));
  t.complex({"fft_rfft2", "fft_rfftn"}, transformReal(true, false));
  t.add({"fft_irfft"}, transformBack(false, true));
  t.complex({"fft_irfft"}, transformBack(false, true));
  t.add({"fft_hfft"}, transformBack(false, false));
  t.complex({"fft_hfft"}, transformBack(false, false));
  t.add({"fft_irfft2", "fft_irfftn"}, transformBack(true, true));
  t.complex({"fft_irfft2", "fft_irfftn"}, transformBack(true, true));
  t.add({"fft_fftshift"}, shift(false));
  t.add({"fft_ifftshift"}, shift(true));
  t.add({"fft_fftfreq"}, [](Lowering &l) { frequencies(l, /*isHalf=*/false); });
  t.add({"fft_rfftfreq"}, [](Lowering &l) { frequencies(l, /*isHalf=*/true); });
  t.add({"stft"}, shortTransform);
  t.complex({"stft"}, shortTransform);
  t.complex({"istft"}, inverseShortTransform);
  t.add({"hann_window"}, window({0.5, -0.5}, false));
  t.add({"hann_window.periodic"}, window({0.5, -0.5}, true));
  t.add({"hamming_window"}, window({0.54, -0.46}, false));
  t.add({"hamming_window.periodic"}, window({0.54, -0.46}, true));
  t.add({"blackman_window"}, window({0.42, -0.5, 0.08}, false));
  t.add({"blackman_window.periodic"}, window({0.42, -0.5, 0.08}, true));
}
