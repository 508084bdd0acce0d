//===- MacFormula.h - How many multiply-adds an op does, as data -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A formula over an op's shapes, from a rule table (`products`). A sum of products
/// of
///
///   3              a number
///   o1, r0         the elements of operand 1, of result 0
///   o1[-1,-2]      these dimensions of operand 1, multiplied; -1 is the last
///   o0[a:key]      those listed after `key = [` in the text of the attribute `a`
///   o1[a@x]        those where the letter x stands in a bracketed list of the
///                  attribute's text that has it
///   all(a)         the integers of the attribute `a`, multiplied; 1 without it
///   einsum(a)      all that the equation in the string attribute `a` multiplies
///   maps(a)        the iterations of a structured op whose operands and result are
///                  indexed by the affine maps in the attribute `a`
///
/// with `*` and `/` between them.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_MACFORMULA_H
#define MPT_PRECISION_MACFORMULA_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mpt {

struct MacFormula {
  struct Factor {
    enum Kind { Number, Tensor, Attribute, Einsum, Maps } kind = Number;
    bool divides = false;
    uint64_t number = 1;
    /// A tensor: of the results or operands, with some of its dimensions or all.
    bool isResult = false;
    unsigned index = 0;
    enum Select { All, Listed, ByKey, ByLetter } select = All;
    llvm::SmallVector<int, 2> dims;
    std::string attribute, key;
  };
  using Term = llvm::SmallVector<Factor, 4>;
  llvm::SmallVector<Term, 1> terms;

  /// Nullopt if `text` is not a formula, with the reason in `error`.
  static std::optional<MacFormula> parse(llvm::StringRef text, std::string &error);
};

} // namespace mpt

#endif // MPT_PRECISION_MACFORMULA_H
