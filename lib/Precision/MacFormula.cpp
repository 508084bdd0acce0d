//===- MacFormula.cpp - How many multiply-adds an op does -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/MacFormula.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;
using namespace mpt;

namespace {

class FormulaParser {
public:
  FormulaParser(StringRef text, std::string &error) : rest(text), error(error) {}

  std::optional<MacFormula> parse() {
    MacFormula formula;
    do {
      MacFormula::Term term;
      if (!parseTerm(term))
        return std::nullopt;
      formula.terms.push_back(std::move(term));
    } while (consume("+"));
    if (!rest.empty()) {
      (void)fail("'+', '*', '/' or the end");
      return std::nullopt;
    }
    return formula;
  }

private:
  bool consume(StringRef token) {
    rest = rest.ltrim();
    if (!rest.consume_front(token))
      return false;
    rest = rest.ltrim();
    return true;
  }
  bool fail(StringRef expected) {
    error = ("expected " + expected + ", found '" + rest + "'").str();
    return false;
  }
  StringRef takeName() {
    StringRef name =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(name.size());
    return name;
  }
  bool parseTerm(MacFormula::Term &term) {
    bool divides = false;
    do {
      MacFormula::Factor factor;
      factor.divides = divides;
      rest = rest.ltrim();
      if (!parseFactor(factor))
        return false;
      term.push_back(std::move(factor));
      divides = consume("/");
    } while (divides || consume("*"));
    return true;
  }
  bool parseFactor(MacFormula::Factor &factor) {
    if (!rest.consumeInteger(10, factor.number))
      return true;
    using Factor = MacFormula::Factor;
    StringRef name = takeName();
    if (consume("(")) {
      if (name == "all")
        factor.kind = Factor::Attribute;
      else if (name == "einsum")
        factor.kind = Factor::Einsum;
      else if (name == "maps")
        factor.kind = Factor::Maps;
      else
        return fail("all(..), einsum(..) or maps(..) before");
      factor.attribute = takeName().str();
      return consume(")") || fail("')'");
    }
    factor.kind = Factor::Tensor;
    factor.isResult = name.starts_with("r");
    if ((!factor.isResult && !name.starts_with("o")) ||
        name.drop_front().getAsInteger(10, factor.index)) {
      rest = StringRef(name.data(), name.size() + rest.size());
      return fail("a number, o0, r0, all(..), einsum(..) or maps(..)");
    }
    return !consume("[") || parseDims(factor);
  }
  bool parseDims(MacFormula::Factor &factor) {
    using Factor = MacFormula::Factor;
    int dim;
    if (!rest.consumeInteger(10, dim)) {
      factor.select = Factor::Listed;
      factor.dims.push_back(dim);
      while (consume(",")) {
        if (rest.consumeInteger(10, dim))
          return fail("the number of a dimension");
        factor.dims.push_back(dim);
      }
      return consume("]") || fail("']'");
    }
    factor.attribute = takeName().str();
    if (consume(":"))
      factor.select = Factor::ByKey;
    else if (consume("@"))
      factor.select = Factor::ByLetter;
    else
      return fail("':' or '@'");
    factor.key = takeName().str();
    if (factor.attribute.empty() || factor.key.empty())
      return fail("attribute:key or attribute@letter before");
    return consume("]") || fail("']'");
  }

  StringRef rest;
  std::string &error;
};

} // namespace

std::optional<MacFormula> MacFormula::parse(StringRef text, std::string &error) {
  return FormulaParser(text, error).parse();
}
