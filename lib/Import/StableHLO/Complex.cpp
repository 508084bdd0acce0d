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
  auto isComplexType = [](Type type) {
    return isa<ComplexType>(getElementTypeOrSelf(type));
  };
  return llvm::any_of(op->getOperandTypes(), isComplexType) ||
         llvm::any_of(op->getResultTypes(), isComplexType);
}

Complex Lowering::getComplex(unsigned index) {
  Complex z{get(index), {}};
  if (index < size())
    z.imaginary = graph.imaginary.lookup(op->getOperand(index));
  return z;
}

void Lowering::set(Complex value) {
  set(value.real);
  part = Part::Imaginary;
  if (refusal.empty())
    set(importer::getImaginary(*this, value));
  part = Part::Real;
}

/// Twice, for the real and the imaginary part.
static void byParts(Table &t, std::initializer_list<StringRef> names) {
  for (StringRef name : names) {
    const Table::Conversion lower = *t.find(name);
    t.complex({name}, [lower](Lowering &l) {
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
  t.complex({"stablehlo.abs"},
            [](Lowering &l) { l.set(importer::abs(l, l.getComplex(0))); });
  byProducts(t, {"stablehlo.dot_general", "stablehlo.dot"});
  byParts(t, {"stablehlo.broadcast_in_dim", "stablehlo.concatenate",
              "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice",
              "stablehlo.gather", "stablehlo.optimization_barrier", "stablehlo.pad",
              "stablehlo.reduce", "stablehlo.reshape", "stablehlo.reverse",
              "stablehlo.scatter", "stablehlo.select", "stablehlo.slice",
              "stablehlo.transpose"});
}
