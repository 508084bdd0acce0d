//===- OpFlops.cpp - Floating-point operations of an op ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/OpFlops.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mpt/Dialect/MPT/Interfaces/ElementRegionOpInterface.h"
#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"
#include "mpt/Precision/ElementTypes.h"
#include "mpt/Precision/MacFormula.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace mpt;

namespace {

using Factor = MacFormula::Factor;
using Shape = SmallVector<int64_t>;

std::string print(Attribute attribute) {
  std::string text;
  if (attribute)
    llvm::raw_string_ostream(text) << attribute;
  return text;
}

double multiply(ArrayRef<int64_t> sizes) {
  double product = 1;
  for (int64_t size : sizes)
    product *= size < 0 ? 1 : double(size);
  return product;
}

/// The items of the list that begins at `text`, up to its `]`.
SmallVector<StringRef> splitList(StringRef text) {
  SmallVector<StringRef> items;
  text.take_until([](char c) { return c == ']'; }).split(items, ',', -1, false);
  for (StringRef &item : items)
    item = item.trim();
  return items;
}

class Evaluator {
public:
  explicit Evaluator(Operation *op) : op(op) {}

  /// Nullopt where the op has not what the formula reads.
  std::optional<double> evaluate(const MacFormula &formula) const {
    double sum = 0;
    for (const MacFormula::Term &term : formula.terms) {
      double product = 1;
      for (const Factor &factor : term) {
        std::optional<double> value = evaluate(factor);
        if (!value || (factor.divides && *value == 0))
          return std::nullopt;
        product = factor.divides ? product / *value : product * *value;
      }
      sum += product;
    }
    return sum;
  }

private:
  std::optional<double> evaluate(const Factor &factor) const {
    switch (factor.kind) {
    case Factor::Number:
      return double(factor.number);
    case Factor::Tensor:
      return evaluateTensor(factor);
    case Factor::Attribute:
      return evaluateAttribute(op->getAttr(factor.attribute));
    case Factor::Einsum:
      return evaluateEinsum(op->getAttrOfType<StringAttr>(factor.attribute));
    case Factor::Maps:
      return evaluateMaps(op->getAttrOfType<ArrayAttr>(factor.attribute));
    }
    return std::nullopt;
  }

  std::optional<double> evaluateTensor(const Factor &factor) const {
    if (factor.index >= (factor.isResult ? op->getNumResults() : op->getNumOperands()))
      return std::nullopt;
    std::optional<Shape> shape =
        ElementTypes::getShape(factor.isResult ? op->getResult(factor.index).getType()
                                               : op->getOperand(factor.index).getType());
    if (!shape)
      return std::nullopt;
    if (factor.select == Factor::All)
      return multiply(*shape);
    SmallVector<int> dims(factor.dims.begin(), factor.dims.end());
    if (factor.select != Factor::Listed && !readDims(factor, dims))
      return std::nullopt;
    Shape chosen;
    for (int dim : dims) {
      if (dim < 0)
        dim += shape->size();
      if (dim < 0 || dim >= int(shape->size()))
        return std::nullopt;
      chosen.push_back((*shape)[dim]);
    }
    return multiply(chosen);
  }

  bool readDims(const Factor &factor, SmallVectorImpl<int> &dims) const {
    std::string text = print(op->getAttr(factor.attribute));
    if (factor.select == Factor::ByKey) {
      size_t at = StringRef(text).find(factor.key + " = [");
      if (at == StringRef::npos)
        return !text.empty(); // an empty list is not printed
      at += factor.key.size() + 4;
      for (StringRef item : splitList(StringRef(text).substr(at))) {
        int dim;
        if (item.getAsInteger(10, dim))
          return false;
        dims.push_back(dim);
      }
      return true;
    }
    for (size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1))
      for (auto [dim, item] : llvm::enumerate(splitList(StringRef(text).substr(at + 1))))
        if (item == factor.key)
          dims.push_back(dim);
    return !dims.empty();
  }

  std::optional<double> evaluateAttribute(Attribute attribute) const {
    if (!attribute)
      return 1.0;
    if (auto number = dyn_cast<IntegerAttr>(attribute))
      return double(number.getInt());
    if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute))
      return multiply(numbers.asArrayRef());
    if (auto numbers = dyn_cast<DenseIntElementsAttr>(attribute)) {
      double product = 1;
      for (const llvm::APInt &number : numbers.getValues<llvm::APInt>())
        product *= double(number.getSExtValue());
      return product;
    }
    if (auto list = dyn_cast<ArrayAttr>(attribute)) {
      double product = 1;
      for (Attribute each : list) {
        auto number = dyn_cast<IntegerAttr>(each);
        if (!number)
          return std::nullopt;
        product *= double(number.getInt());
      }
      return product;
    }
    return std::nullopt;
  }

  /// Each letter is a dimension; "..." are those that have none.
  std::optional<double> evaluateEinsum(StringAttr equation) const {
    if (!equation)
      return std::nullopt;
    SmallVector<StringRef> inputs;
    StringRef(equation.getValue()).split("->").first.split(inputs, ',');
    llvm::MapVector<char, double> sizes;
    double others = 1;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      std::string letters;
      const bool open = input.contains("...");
      for (char c : input)
        if (llvm::isAlpha(c))
          letters += c;
      if (i >= op->getNumOperands())
        return std::nullopt;
      std::optional<Shape> shape = ElementTypes::getShape(op->getOperand(i).getType());
      if (!shape || shape->size() < letters.size() ||
          (!open && shape->size() != letters.size()))
        return std::nullopt;
      const size_t front =
          open ? llvm::count_if(input.split("...").first, llvm::isAlpha) : letters.size();
      const size_t more = shape->size() - letters.size();
      others = std::max(others, multiply(ArrayRef(*shape).slice(front, more)));
      for (size_t l = 0; l < letters.size(); ++l) {
        double &size = sizes[letters[l]];
        size = std::max(size, multiply((*shape)[l < front ? l : l + more]));
      }
    }
    double product = others;
    for (auto &[letter, size] : sizes)
      product *= size;
    return product;
  }

  std::optional<double> evaluateMaps(ArrayAttr maps) const {
    if (!maps || maps.size() != op->getNumOperands())
      return std::nullopt;
    SmallVector<double> sizes;
    for (auto [i, each] : llvm::enumerate(maps)) {
      auto map = dyn_cast<AffineMapAttr>(each);
      std::optional<Shape> shape = ElementTypes::getShape(op->getOperand(i).getType());
      if (!map || !shape || shape->size() != map.getValue().getNumResults())
        return std::nullopt;
      sizes.resize(map.getValue().getNumDims(), 0);
      for (auto [result, size] : llvm::zip(map.getValue().getResults(), *shape))
        if (auto dim = dyn_cast<AffineDimExpr>(result))
          sizes[dim.getPosition()] = multiply(size);
    }
    double product = 1;
    for (double size : sizes) {
      if (size == 0)
        return std::nullopt;
      product *= size;
    }
    return product;
  }

  Operation *op;
};

} // namespace

std::optional<OpFlops> mpt::countFlops(Operation *op, const RuleTable &rules,
                                       bool isContraction) {
  // What a float needs to be whole.
  auto round = [](double macs) {
    return uint64_t(std::llround(std::min(2 * macs, 0x1p62)));
  };
  // A structured op is a contraction if its region multiplies its inputs.
  if (isa<ElementRegionOpInterface>(op))
    if (auto interface = dyn_cast<PrecisionOpInterface>(op))
      if (interface.getPrecisionClass(BFloat16Type::get(op->getContext())) !=
          PrecisionClass::Allow)
        return std::nullopt;
  StringRef text = rules.getProductFormula(op->getName().getStringRef());
  std::string error;
  if (!text.empty())
    if (std::optional<MacFormula> formula = MacFormula::parse(text, error))
      if (std::optional<double> macs = Evaluator(op).evaluate(*formula))
        return OpFlops{round(*macs), false};
  if (!isContraction)
    return std::nullopt;
  ElementTypes types;
  auto count = [&](Type type) {
    return types.getFloat(type) ? double(types.getNumElements(type)) : 0.0;
  };
  double first = 0, second = 0, made = 0;
  for (Type type : op->getOperandTypes()) {
    double elements = count(type);
    if (elements > first)
      std::swap(elements, first);
    second = std::max(second, elements);
  }
  for (Type type : op->getResultTypes())
    made = std::max(made, count(type));
  return OpFlops{round(std::sqrt(first * second * made)), true};
}
