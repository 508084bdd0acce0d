//===- Complex.cpp - Torch's ops of complex tensors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A complex tensor is two real ones, see `Tensor`. What only moves elements, and what is
/// linear, is what it is for real tensors, once for each part. The rest has formulas.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;
using importer::Complex;

/// Runs `lower` for each part of the operands `values`.
static void runForParts(Lowering &l, const std::function<void(Lowering &)> &lower,
                        ArrayRef<unsigned> values) {
  const bool channelsLast = l.channelsLast;
  for (Part part : {Part::Real, Part::Imaginary}) {
    l.channelsLast = channelsLast;
    l.operandPart = [&](unsigned index, unsigned) {
      return llvm::is_contained(values, index) ? part : Part::Whole;
    };
    l.resultPart = part;
    lower(l);
    if (!l.refusal.empty())
      break;
  }
  l.operandPart = nullptr;
  l.resultPart = Part::Whole;
}

void mpt::torch::multiplyParts(Lowering &l, const std::function<void(Lowering &)> &lower,
                               ArrayRef<std::pair<unsigned, unsigned>> operands) {
  const bool channelsLast = l.channelsLast;
  l.resultPart = Part::Real;
  // By the power of i, modulo 2, that a product of parts has.
  Value sums[2];
  for (unsigned chosen = 0; chosen < 1u << operands.size(); ++chosen) {
    l.channelsLast = channelsLast;
    l.operandPart = [&](unsigned index, unsigned item) {
      for (auto [bit, operand] : llvm::enumerate(operands))
        if (operand == std::pair(index, item))
          return chosen >> bit & 1 ? Part::Imaginary : Part::Real;
      return Part::Whole;
    };
    lower(l);
    if (!l.refusal.empty())
      return;
    Value product = l.graph.tensors.lookup(l.op->getResult(0)).value;
    const unsigned power = llvm::popcount(chosen);
    Value &sum = sums[power % 2];
    if (!sum)
      sum = power >= 2 ? l.neg(product) : product;
    else
      sum = power % 4 >= 2 ? l.sub(sum, product) : l.add(sum, product);
  }
  l.operandPart = nullptr;
  l.set(Complex{sums[0], sums[1]});
}

void Table::byParts(Names names, std::initializer_list<unsigned> values) {
  for (const std::string &name : names) {
    std::function<void(Lowering &)> lower = find("aten." + name)->lower;
    complex({name}, [lower, values = SmallVector<unsigned>(values)](Lowering &l) {
      runForParts(l, lower, values);
    });
  }
}

void Table::byProducts(Names names) {
  for (const std::string &name : names) {
    std::function<void(Lowering &)> lower = find("aten." + name)->lower;
    complex({name}, [lower](Lowering &l) {
      SmallVector<std::pair<unsigned, unsigned>> factors;
      for (unsigned index : {0, 1})
        if (l.isComplex(index))
          factors.push_back({index, 0});
      multiplyParts(l, lower, factors);
    });
  }
}

/// An op of one or two tensors by its formula.
static std::function<void(Lowering &)> formula(Complex (*f)(importer::ImportBuilder &,
                                                            Complex)) {
  return [f](Lowering &l) { l.set(f(l, l.getComplex(0, l.resultElement()))); };
}
static std::function<void(Lowering &)> formula(Complex (*f)(importer::ImportBuilder &,
                                                            Complex, Complex)) {
  return [f](Lowering &l) {
    Type element = l.resultElement();
    l.set(f(l, l.getComplex(0, element), l.getComplex(1, element)));
  };
}
static std::function<void(Lowering &)> realFormula(Value (*f)(importer::ImportBuilder &,
                                                              Complex)) {
  return [f](Lowering &l) { l.set(f(l, l.getComplex(0, l.resultElement()))); };
}

/// self + alpha other, self - alpha other, or other - alpha self.
static std::function<void(Lowering &)> sum(bool subtract, bool reversed) {
  return [=](Lowering &l) {
    Type element = l.resultElement();
    Complex a = l.getComplex(0, element), b = l.getComplex(1, element);
    if (reversed)
      std::swap(a, b);
    b = importer::scale(l, b, l.number(2, 1));
    l.set(subtract ? importer::subtract(l, a, b) : importer::add(l, a, b));
  };
}

static Complex reciprocal(importer::ImportBuilder &l, Complex z) {
  return importer::divide(l, {l.number(z.real, 1), {}}, z);
}

static Complex square(importer::ImportBuilder &l, Complex z) {
  return importer::multiply(l, z, z);
}

/// z / |z|, and 0 at 0.
static Complex sign(importer::ImportBuilder &l, Complex z) {
  Value magnitude = importer::abs(l, z);
  Value zero = l.compare(ComparePredicate::EQ, magnitude, 0.0);
  Value divisor = l.where(zero, l.number(magnitude, 1), magnitude);
  auto divide = [&](Value part) {
    return l.where(zero, l.number(part, 0), l.div(part, divisor));
  };
  return {divide(z.real), divide(importer::getImaginary(l, z))};
}

static void power(Lowering &l) {
  Complex z = l.getComplex(0, l.resultElement());
  const double exponent = l.number(1);
  const int times = static_cast<int>(std::abs(exponent));
  if (!l.require(times == std::abs(exponent) && times >= 1 && times <= 4,
                 "a power of complex numbers other than -4 to 4, without 0"))
    return;
  Complex product = z;
  for (int i = 1; i < times; ++i)
    product = importer::multiply(l, product, z);
  l.set(exponent < 0 ? reciprocal(l, product) : product);
}

/// x @ weight^T + bias.
static void linear(Lowering &l) {
  Type element = l.resultElement();
  Complex y = importer::multiplyBy(
      l, l.getComplex(0, element), l.getComplex(1, element),
      [&](Value x, Value weight) { return l.linear(x, weight, Value()); });
  l.set(l.isNone(2) ? y : importer::add(l, y, l.getComplex(2, element)));
}

/// With a letter for each dimension of each tensor, which is linear in all of them.
static std::function<void(Lowering &)>
einsum(const std::function<void(Lowering &)> &lower) {
  return [lower](Lowering &l) {
    SmallVector<std::pair<unsigned, unsigned>> factors;
    for (auto [item, isComplex] : llvm::enumerate(l.areComplex(1)))
      if (isComplex)
        factors.push_back({1, item});
    if (l.require(factors.size() <= 4, "more than 4 complex tensors"))
      multiplyParts(l, lower, factors);
  };
}

/// The norm of the magnitudes.
static std::function<void(Lowering &)>
normOfMagnitudes(const std::function<void(Lowering &)> &lower) {
  return [lower](Lowering &l) {
    Value operand = l.op->getOperand(0);
    const Tensor z = l.graph.tensors.lookup(operand);
    l.graph.tensors[operand] = {importer::abs(l, {z.value, z.imaginary}), z.channelsLast};
    lower(l);
    l.graph.tensors[operand] = z;
  };
}

void mpt::torch::populateComplex(Table &t) {
  // Between real and complex tensors.
  t.complex({"view_as_complex"},
            [](Lowering &l) { l.set(importer::fromPairs(l, l.get(0))); });
  t.complex({"view_as_real"}, [](Lowering &l) {
    l.set(importer::toPairs(l, l.getComplex(0, l.resultElement())));
  });
  t.elementwise({"real", "conj", "conj_physical", "resolve_conj", "resolve_neg"},
                [](Lowering &l) { l.set(l.get(0)); });
  t.elementwise({"_neg_view"}, [](Lowering &l) { l.set(l.neg(l.get(0))); });
  t.complex({"real"},
            [](Lowering &l) { l.set(l.getComplex(0, l.resultElement()).real); });
  t.complex({"imag"}, realFormula(importer::getImaginary));
  t.complex({"complex"}, [](Lowering &l) {
    Type element = l.resultElement();
    ArrayRef<int64_t> shape = l.resultType().getShape();
    l.set(Complex{l.broadcast(l.get(0, element), shape),
                  l.broadcast(l.get(1, element), shape)});
  });
  t.complex({"polar"}, [](Lowering &l) {
    Type element = l.resultElement();
    l.set(importer::polar(l, l.get(0, element), l.get(1, element)));
  });
  t.elementwise({"angle"}, [](Lowering &l) {
    l.set(importer::angle(l, {l.get(0, l.resultElement()), {}}));
  });

  // Formulas.
  t.complex({"conj", "_conj", "conj_physical", "_conj_physical"},
            formula(importer::conjugate));
  t.complex({"neg", "negative", "_neg_view"}, formula(importer::negate));
  t.complex({"abs", "absolute"}, realFormula(importer::abs));
  t.complex({"angle"}, realFormula(importer::angle));
  t.complex({"add.Tensor", "add.Scalar"}, sum(false, false));
  t.complex({"sub.Tensor", "sub.Scalar", "subtract.Tensor"}, sum(true, false));
  t.complex({"rsub.Tensor", "rsub.Scalar"}, sum(true, true));
  t.complex({"mul.Tensor", "mul.Scalar", "multiply.Tensor"}, formula(importer::multiply));
  t.complex({"div.Tensor", "div.Scalar", "divide.Tensor", "true_divide.Tensor"},
            formula(importer::divide));
  t.complex({"reciprocal"}, formula(reciprocal));
  t.complex({"square"}, formula(square));
  t.complex({"pow.Tensor_Scalar"}, power);
  t.complex({"exp"}, formula(importer::exp));
  t.complex({"log"}, formula(importer::log));
  t.complex({"sgn"}, formula(sign));
  t.complex({"ones", "ones_like", "new_ones"}, [](Lowering &l) {
    RankedTensorType type = l.resultType();
    l.set(Complex{l.constant(1, type.getElementType(), type.getShape()), {}});
  });
  for (const char *name :
       {"norm.Scalar", "norm.ScalarOpt_dim", "linalg_vector_norm", "frobenius_norm.dim"})
    t.complex({name}, normOfMagnitudes(t.find(std::string("aten.") + name)->lower));

  // Products.
  t.byProducts({"mm", "bmm", "matmul", "mv", "dot", "outer", "inner"});
  t.complex({"linear"}, linear);
  t.complex({"einsum"}, einsum(t.find("aten.einsum")->lower));

  // What is linear, or moves elements.
  t.byParts({"view",
             "_unsafe_view",
             "reshape",
             "flatten.using_ints",
             "unflatten.int",
             "unsqueeze",
             "squeeze",
             "squeeze.dim",
             "squeeze.dims",
             "view_as",
             "reshape_as",
             "ravel",
             "atleast_1d",
             "atleast_2d",
             "view_copy",
             "clone",
             "alias",
             "contiguous",
             "lift_fresh",
             "lift_fresh_copy",
             "detach",
             "detach_copy",
             "to.dtype",
             "to.dtype_layout",
             "to.device",
             "to.other",
             "_to_copy",
             "type_as",
             "resolve_conj",
             "resolve_neg",
             "positive",
             "transpose.int",
             "swapaxes",
             "swapdims",
             "t",
             "numpy_T",
             "mT",
             "permute",
             "movedim.int",
             "movedim.intlist",
             "moveaxis.int",
             "expand",
             "expand_as",
             "broadcast_to",
             "repeat",
             "tile",
             "slice.Tensor",
             "narrow",
             "select.int",
             "split.Tensor",
             "split.sizes",
             "split_with_sizes",
             "chunk",
             "tensor_split.sections",
             "unbind.int",
             "broadcast_tensors",
             "cat",
             "concat",
             "concatenate",
             "stack",
             "flip",
             "roll",
             "diagonal",
             "diag_embed",
             "diag",
             "trace",
             "unfold",
             "rot90",
             "fliplr",
             "flipud",
             "tril",
             "triu",
             "index.Tensor",
             "_unsafe_index.Tensor",
             "index_select",
             "gather",
             "take",
             "take_along_dim",
             "sum",
             "sum.dim_IntList",
             "mean",
             "mean.dim",
             "cumsum",
             "repeat_interleave.self_int",
             "fft_fftshift",
             "fft_ifftshift"},
            {0});
  t.byParts({"diagonal_scatter", "select_scatter", "slice_scatter"}, {0, 1});
  t.byParts({"constant_pad_nd", "masked_fill.Scalar", "masked_fill.Tensor", "index_put",
             "_unsafe_index_put"},
            {0, 2});
  t.byParts({"pad", "index_add", "scatter.src", "scatter.value", "scatter_add"}, {0, 3});
  t.byParts({"diff"}, {0, 3, 4});
  t.byParts({"where.self", "where.Scalar", "where.ScalarSelf", "where.ScalarOther"},
            {1, 2});
  t.byParts({"copy", "full", "full_like", "fill.Scalar", "fill.Tensor"}, {1});
  t.byParts({"new_full"}, {2});
  t.byParts({"zeros", "zeros_like", "new_zeros", "empty.memory_format", "empty_like",
             "new_empty", "zero"},
            {});
  t.complex({"adjoint", "mH"}, [transpose = t.find("aten.adjoint")->lower](Lowering &l) {
    runForParts(l, transpose, {0});
    if (!l.refusal.empty())
      return;
    Value &imaginary = l.graph.tensors[l.op->getResult(0)].imaginary;
    imaginary = l.neg(imaginary);
  });
}
