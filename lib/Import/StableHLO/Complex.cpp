//===- Complex.cpp - StableHLO's ops of complex tensors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A complex tensor is two real ones: its real part in `Graph::values`, its imaginary
/// part in `Graph::imaginary`. What only moves elements, and sums, are what they are for
/// real tensors, once for each part. The rest has formulas.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mpt/Import/Common/FourierTransforms.h"

#include "mlir/IR/TypeUtilities.h"

#include <complex>

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;
using importer::Complex;

bool Lowering::isComplex() {
  auto isComplexValue = [](Value value) { return getParts(value).size() == 2; };
  return llvm::any_of(op->getOperands(), isComplexValue) ||
         llvm::any_of(op->getResults(), isComplexValue);
}

Complex Lowering::getComplex(unsigned index) {
  Complex z{get(index), {}};
  if (index < size())
    z.imaginary = graph.imaginary.lookup(op->getOperand(index));
  return z;
}

void Lowering::set(Complex value) {
  set(value.real, 0, Part::Real);
  if (refusal.empty())
    set(importer::getImaginary(*this, value), 0, Part::Imaginary);
}

/// The body of a reduction or a scatter that does with each part what it does with both:
/// it adds, or takes what comes second.
static bool isOfParts(Lowering &l) {
  for (Region &region : l.op->getRegions()) {
    if (!region.hasOneBlock() || region.front().empty())
      return false;
    Block &body = region.front();
    for (auto [index, value] : llvm::enumerate(body.back().getOperands()))
      if (l.bodyOf(region.getRegionNumber(), index) != "add" &&
          !(body.getNumArguments() == 2 && value == body.getArgument(1)))
        return false;
  }
  return true;
}

/// Twice, for the real and the imaginary part.
static void byParts(Table &t, std::initializer_list<StringRef> names) {
  for (StringRef name : names) {
    const Table::Conversion lower = *t.find(name);
    t.complex({name}, [lower](Lowering &l) {
      if (!l.require(isOfParts(l), "complex numbers in a body other than add; write it "
                                   "with jnp.real and jnp.imag"))
        return;
      for (Part part : {Part::Real, Part::Imaginary}) {
        l.part = part;
        lower(l);
        if (!l.refusal.empty())
          break;
      }
      l.part = Part::Real;
    });
  }
}

static Table::Conversion formula(Complex (*f)(importer::ImportBuilder &, Complex)) {
  return [f](Lowering &l) { l.set(f(l, l.getComplex(0))); };
}
static Table::Conversion formula(Complex (*f)(importer::ImportBuilder &, Complex,
                                              Complex)) {
  return [f](Lowering &l) { l.set(f(l, l.getComplex(0), l.getComplex(1))); };
}

static void constant(Lowering &l) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(l.attribute("value"));
  auto type = elements ? dyn_cast<ComplexType>(elements.getElementType()) : ComplexType();
  if (!l.require(type && elements.getType().getShape() == l.resultShape(),
                 "expected elements of the result's type"))
    return;
  RankedTensorType partType = l.resultType();
  SmallVector<APFloat> real, imaginary;
  if (elements.isSplat()) {
    auto value = elements.getSplatValue<std::complex<APFloat>>();
    real.push_back(value.real());
    imaginary.push_back(value.imag());
  } else {
    for (std::complex<APFloat> value : elements.getValues<std::complex<APFloat>>()) {
      real.push_back(value.real());
      imaginary.push_back(value.imag());
    }
  }
  auto make = [&](ArrayRef<APFloat> values) {
    return ConstantOp::create(l.builder, l.loc, DenseElementsAttr::get(partType, values));
  };
  l.set(Complex{make(real), make(imaginary)});
}

/// Real, or of the other width, to complex, or back.
static void convert(Lowering &l) {
  Type element = l.resultElement();
  Complex z = l.getComplex(0);
  auto cast = [&](Value part) { return part ? l.cast(part, element) : Value(); };
  if (isa<ComplexType>(getElementTypeOrSelf(l.op->getResult(0).getType())))
    l.set(Complex{cast(z.real), cast(z.imaginary)});
  else
    l.set(cast(z.real));
}

/// The product over `axes`: halves are multiplied until one is left.
static Complex reduceProduct(Lowering &l, Complex z, ArrayRef<int64_t> axes) {
  auto cut = [&](int64_t axis, int64_t from, int64_t count) {
    return Complex{l.slice(z.real, axis, from, count),
                   l.slice(z.imaginary, axis, from, count)};
  };
  for (int64_t axis : axes) {
    std::optional<Complex> odd;
    for (int64_t size = getShape(z.real)[axis]; size > 1; size /= 2) {
      if (size % 2) {
        Complex last = cut(axis, size - 1, 1);
        odd = odd ? importer::multiply(l, *odd, last) : last;
      }
      z = importer::multiply(l, cut(axis, 0, size / 2), cut(axis, size / 2, size / 2));
    }
    if (odd)
      z = importer::multiply(l, z, *odd);
  }
  return {l.reshape(z.real, l.resultShape()), l.reshape(z.imaginary, l.resultShape())};
}

/// Sums of parts, or one product.
static void reduce(Lowering &l, const Table::Conversion &byParts) {
  auto axes = dyn_cast_or_null<DenseI64ArrayAttr>(l.attribute("dimensions"));
  Complex z = l.getComplex(0), first = l.getComplex(1);
  if (l.size() != 2 || l.op->getNumResults() != 1 || l.bodyOf(0) != "multiply" || !axes ||
      llvm::any_of(axes.asArrayRef(), [&](int64_t axis) {
        return axis < 0 || axis >= getRank(z.real) || getShape(z.real)[axis] == 0;
      }))
    return byParts(l);
  l.set(importer::multiply(l, reduceProduct(l, z, axes.asArrayRef()), first));
}

/// What is linear in both operands.
static void byProducts(Table &t, std::initializer_list<StringRef> names) {
  for (StringRef name : names) {
    const Table::Conversion lower = *t.find(name);
    t.complex({name}, [lower](Lowering &l) {
      auto multiply = [&](Part a, Part b) -> Value {
        l.factors = {a, b};
        lower(l);
        l.factors.reset();
        // After a refusal something harmless.
        Value product = l.graph.values.lookup(l.op->getResult(0));
        return product ? product : l.constant(0, l.resultElement(), l.resultShape());
      };
      const bool isA = bool(l.getComplex(0).imaginary),
                 isB = bool(l.getComplex(1).imaginary);
      Value real = multiply(Part::Real, Part::Real), imaginary;
      if (isA && isB)
        real = l.sub(real, multiply(Part::Imaginary, Part::Imaginary));
      if (isB)
        imaginary = multiply(Part::Real, Part::Imaginary);
      if (isA) {
        Value other = multiply(Part::Imaginary, Part::Real);
        imaginary = imaginary ? l.add(imaginary, other) : other;
      }
      l.set(Complex{real, imaginary});
    });
  }
}

/// EQ or NE, of both parts.
static void compare(Lowering &l) {
  StringRef direction = getText(l.attribute("comparison_direction"));
  const bool equal = direction.contains("EQ");
  if (!l.require(equal || direction.contains("NE"),
                 "an order of complex numbers; compare jnp.real and jnp.imag"))
    return;
  const auto predicate = equal ? ComparePredicate::EQ : ComparePredicate::NE;
  Complex a = l.getComplex(0), b = l.getComplex(1);
  Value real = l.compare(predicate, a.real, b.real),
        imaginary = l.compare(predicate, importer::getImaginary(l, a),
                              importer::getImaginary(l, b));
  l.set(equal ? l.binary<AndOp>(real, imaginary) : l.binary<OrOp>(real, imaginary));
}

/// fft_type and, for the last dimensions, fft_length. Inverse transforms are divided by
/// the number of elements.
static void transform(Lowering &l) {
  StringRef type = getText(l.attribute("fft_type"));
  type.consume_front("fft_type ");
  type = type.trim("<> ");
  const bool isInverse = type == "IFFT" || type == "IRFFT";
  auto lengths = dyn_cast_or_null<DenseI64ArrayAttr>(l.attribute("fft_length"));
  Complex z = l.getComplex(0);
  const int64_t rank = getRank(z.real);
  if (!l.require(llvm::is_contained({"FFT", "IFFT", "RFFT", "IRFFT"}, type),
                 "attribute fft_type: expected FFT, IFFT, RFFT or IRFFT") ||
      !l.require(lengths && !lengths.empty() && lengths.size() <= rank,
                 "attribute fft_length: expected a length for each dimension"))
    return;
  ArrayRef<int64_t> sizes = lengths.asArrayRef();
  const int64_t first = rank - lengths.size(), last = rank - 1;
  double count = 1;
  for (int64_t size : sizes)
    count *= static_cast<double>(size);
  if (type == "RFFT")
    z = importer::transformFourier(l, z, last, sizes.back(), false, sizes.back() / 2 + 1);
  // The last dimension of real numbers is the first or the last one.
  const int64_t end = type == "RFFT" || type == "IRFFT" ? last : rank;
  for (int64_t dim = first; dim < end && l.refusal.empty(); ++dim)
    z = importer::transformFourier(l, z, dim, sizes[dim - first], isInverse);
  if (type == "IRFFT" && l.refusal.empty())
    z = {importer::transformToReal(l, z, last, sizes.back()), {}};
  if (!l.refusal.empty())
    return;
  z = importer::scale(l, z, isInverse ? 1 / count : 1);
  if (type == "IRFFT")
    l.set(z.real);
  else
    l.set(z);
}

void mpt::stablehlo::populateComplex(Table &t) {
  t.complex({"stablehlo.complex"},
            [](Lowering &l) { l.set(Complex{l.get(0), l.get(1)}); });
  t.add({"stablehlo.real"}, [](Lowering &l) { l.set(l.get(0)); });
  t.complex({"stablehlo.real"}, [](Lowering &l) { l.set(l.get(0)); });
  t.complex({"stablehlo.imag"},
            [](Lowering &l) { l.set(importer::getImaginary(l, l.getComplex(0))); });
  t.complex({"stablehlo.fft"}, transform);
  t.complex({"stablehlo.constant"}, constant);
  t.complex({"stablehlo.convert"}, convert);
  t.complex({"stablehlo.add"}, formula(importer::add));
  t.complex({"stablehlo.subtract"}, formula(importer::subtract));
  t.complex({"stablehlo.multiply"}, formula(importer::multiply));
  t.complex({"stablehlo.divide"}, formula(importer::divide));
  t.complex({"stablehlo.negate"}, formula(importer::negate));
  t.complex({"chlo.conj"}, formula(importer::conjugate));
  t.complex({"stablehlo.exponential"}, formula(importer::exp));
  t.complex({"stablehlo.log"}, formula(importer::log));
  t.complex({"stablehlo.sqrt"}, formula(importer::sqrt));
  t.complex({"stablehlo.power"}, formula(importer::power));
  t.complex({"stablehlo.compare"}, compare);
  t.complex({"stablehlo.abs"},
            [](Lowering &l) { l.set(importer::abs(l, l.getComplex(0))); });
  byProducts(t, {"stablehlo.dot_general", "stablehlo.dot"});
  t.complex({"chlo.square"}, [](Lowering &l) {
    l.set(importer::multiply(l, l.getComplex(0), l.getComplex(0)));
  });
  byParts(t, {"stablehlo.broadcast_in_dim", "stablehlo.concatenate",
              "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice",
              "stablehlo.gather", "stablehlo.optimization_barrier", "stablehlo.pad",
              "stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.reshape",
              "stablehlo.reverse", "stablehlo.scatter", "stablehlo.select",
              "stablehlo.slice", "stablehlo.transpose"});
  // Before, that of sums.
  const Table::Conversion sums = *t.findComplex("stablehlo.reduce");
  t.complex({"stablehlo.reduce"}, [sums](Lowering &l) { reduce(l, sums); });
}
