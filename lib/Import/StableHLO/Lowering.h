//===- Lowering.h - Helpers for conversions of StableHLO ------ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A conversion is a function of a `Lowering`: it reads operands and attributes, builds
/// ops, and sets results. What it cannot do it refuses with a reason. StableHLO's library
/// is not needed: attributes of its dialect are read from their text.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_IMPORT_STABLEHLO_LOWERING_H
#define MPT_LIB_IMPORT_STABLEHLO_LOWERING_H

#include "mpt/Import/Common/ComplexNumbers.h"
#include "mpt/Import/Common/ImportBuilder.h"
#include "mpt/Import/Common/Refusals.h"

#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>

namespace mpt::stablehlo {

using importer::getElement;
using importer::getRank;
using importer::getShape;
using importer::getType;
using importer::Shape;

/// The type of the mpt dialect for a tensor of StableHLO's: unsigned integers are
/// signless. Null if there is none.
mlir::RankedTensorType convertTensorType(mlir::Type type);

/// The same, and of a tensor of complex numbers the type of its parts.
mlir::RankedTensorType convertPartType(mlir::Type type);

/// What a conversion sees of complex tensors.
enum class Part { Real, Imaginary };

/// The parts of a tensor: both if its numbers are complex, otherwise the real one.
llvm::ArrayRef<Part> getParts(mlir::Value value);

/// What is known of one function while it is converted.
struct Graph {
  /// Values of the source in the mpt dialect. Of complex ones the real part.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Of complex values of the source the imaginary part.
  llvm::DenseMap<mlir::Value, mlir::Value> imaginary;
  llvm::DenseMap<mlir::Value, mlir::Value> &of(Part part) {
    return part == Part::Real ? values : imaginary;
  }
  /// Results of loops that are integers known here: where their counters end.
  llvm::DenseMap<mlir::Value, int64_t> integers;
  /// Ops of loops whose results are known already, or not needed.
  llvm::DenseSet<mlir::Operation *> skipped;
  importer::Refusals refusals;
  int64_t numOps = 0;
  /// JAX made the module: its names tell which functions are JAX's.
  bool isJAX = false;
  /// While a region of scalars is converted for many elements at once: their shape.
  std::optional<Shape> elements;
};

/// A unit attribute of maxima in the body of `jax.nn.relu`, while calls are inlined.
inline constexpr llvm::StringLiteral kReluAttr = "in_relu";

/// A unit attribute of choices between a value and itself that keep gradients out of
/// branches that are not taken, while a function is converted.
inline constexpr llvm::StringLiteral kGuardAttr = "branch_guard";

/// Converts the ops of `block` but its terminator.
void convertBlock(Graph &graph, mlir::Block &block, mlir::OpBuilder &builder);

/// An attribute of an op, inherent or not; null if it has none of this name.
mlir::Attribute getAttribute(mlir::Operation *op, llvm::StringRef name);
/// The text of an attribute of StableHLO's dialect: "dot<..>", "comparison_type FLOAT".
llvm::StringRef getText(mlir::Attribute attribute);
/// `op` is `stablehlo.NAME`.
bool isOp(mlir::Operation *op, llvm::StringRef name);
/// The value of a constant tensor whose elements are all equal, as an integer.
std::optional<int64_t> getInteger(mlir::Operation *constant);

/// One op of the source that is being converted. Accessors refuse the op where it is not
/// what they expect, and return something harmless.
class Lowering : public importer::ImportBuilder {
public:
  Lowering(Graph &graph, mlir::OpBuilder &builder, mlir::Operation *op)
      : ImportBuilder(builder, op->getLoc()), graph(graph), op(op) {}

  //===--------------------------------------------------------------------===//
  // Operands and attributes
  //===--------------------------------------------------------------------===//

  unsigned size() { return op->getNumOperands(); }
  mlir::Value get(unsigned index);
  /// As `get`, without the broadcasts that ops of mpt do by themselves. For an operand of
  /// an elementwise op whose other operands have the result's shape.
  mlir::Value getNarrow(unsigned index);
  llvm::SmallVector<mlir::Value> getAll();
  /// A complex operand, or a real one without an imaginary part.
  importer::Complex getComplex(unsigned index);
  /// Whether an operand or a result is complex.
  bool isComplex();
  /// The operand's elements are unsigned integers in the source.
  bool isUnsigned(unsigned index);
  /// A splat constant; nothing if the operand is something else.
  std::optional<double> getConstant(unsigned index);
  mlir::Attribute attribute(llvm::StringRef name) { return getAttribute(op, name); }
  bool flag(llvm::StringRef name);
  int64_t integer(llvm::StringRef name, int64_t whenAbsent);
  /// An array or a dense tensor of integers; `count` times `whenAbsent` without it.
  Shape integers(llvm::StringRef name, unsigned count, int64_t whenAbsent);
  /// `key = [1, 2]` or `key = 1` in the text of an attribute of StableHLO's.
  Shape list(llvm::StringRef name, llvm::StringRef key);
  int64_t number(llvm::StringRef name, llvm::StringRef key, int64_t whenAbsent);
  using ImportBuilder::number;
  /// The op that is all that region `index` computes for result `result` from the
  /// arguments of the region that belong to it: "add", "maximum", ..; "" for others.
  llvm::StringRef bodyOf(unsigned index, unsigned result = 0);
  /// The results of `body`, a region of scalars, for each element of `arguments`, which
  /// have one shape. Refuses bodies with other than elementwise ops.
  llvm::SmallVector<mlir::Value> applyBody(mlir::Block &body,
                                           llvm::ArrayRef<mlir::Value> arguments);

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Of a complex result, that of its parts.
  mlir::RankedTensorType resultType(unsigned index = 0);
  mlir::Type resultElement() { return resultType().getElementType(); }
  llvm::ArrayRef<int64_t> resultShape(unsigned index = 0) {
    return resultType(index).getShape();
  }
  void set(mlir::Value value, unsigned index = 0) { set(value, index, part); }
  void set(mlir::Value value, unsigned index, Part part);
  /// The only result, which is complex.
  void set(importer::Complex value);

  //===--------------------------------------------------------------------===//
  // Building
  //===--------------------------------------------------------------------===//

  /// Reshapes of reshapes and transposes of transposes are one op, or none.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value constants(llvm::ArrayRef<int64_t> values, mlir::Type element,
                        llvm::ArrayRef<int64_t> shape);
  /// The bits of integers `x` that are 1 in `mask`; shifts, which fill with zeros.
  mlir::Value bitAnd(mlir::Value x, int64_t mask) {
    return binary<AndOp>(x, constants({mask}, getElement(x), {}));
  }
  mlir::Value shiftLeft(mlir::Value x, int64_t n) {
    return n ? binary<ShiftLeftOp>(x, constants({n}, getElement(x), {})) : x;
  }
  mlir::Value shiftRight(mlir::Value x, int64_t n) {
    return n ? binary<ShiftRightLogicalOp>(x, constants({n}, getElement(x), {})) : x;
  }
  mlir::Value bitcast(mlir::Value x, mlir::Type element);
  /// Integers as wider ones, with zeros above their bits.
  mlir::Value zeroExtend(mlir::Value x, mlir::Type element);
  /// Unsigned integers of up to 32 bits as i64 of the same values.
  mlir::Value zeroExtend(mlir::Value x) { return zeroExtend(x, builder.getI64Type()); }
  /// For unsigned integers: numbers whose signed order is the order of `x`.
  mlir::Value flipSign(mlir::Value x);
  mlir::Value logicalNot(mlir::Value x) { return unary<NotOp>(x); }
  /// Unsigned integers compared by their values.
  mlir::Value compareUnsigned(ComparePredicate predicate, mlir::Value a, mlir::Value b) {
    return compare(predicate, flipSign(a), flipSign(b));
  }
  /// `kind` over `axes` of truth values or numbers: "add", "maximum", "and", ..
  mlir::Value reduceBy(llvm::StringRef body, mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// The same for and, or and xor of integers: halves are combined until one is left.
  mlir::Value reduceBits(llvm::StringRef body, mlir::Value x,
                         llvm::ArrayRef<int64_t> axes);
  /// `a` and `b` by the op `body`.
  mlir::Value combine(llvm::StringRef body, mlir::Value a, mlir::Value b);
  /// The number that changes nothing in `combine`.
  mlir::Value neutral(llvm::StringRef body, mlir::Type element);
  /// Is `value` a splat of the number that changes nothing?
  bool isNeutral(llvm::StringRef body, mlir::Value value);
  /// Padding by a value, with negative widths.
  mlir::Value padBy(mlir::Value x, mlir::Value value, Shape low, Shape high,
                    Shape interior);
  /// Dimension `dim` in reverse order, by slices or by a gather.
  mlir::Value reverseDimension(mlir::Value x, int64_t dim);
  /// Row-major position of coordinates, each an i64 tensor or null for 0.
  mlir::Value linearize(llvm::ArrayRef<mlir::Value> coordinates,
                        llvm::ArrayRef<int64_t> sizes);
  mlir::Value clampIndex(mlir::Value x, int64_t largest);

  Graph &graph;
  mlir::Operation *op;
  /// The part of complex operands that `get` returns, and of complex results that `set`
  /// sets.
  Part part = Part::Real;
  /// Instead of `part`, that of operands 0 and 1.
  std::optional<std::pair<Part, Part>> factors;
};

/// Conversions by name: "stablehlo.add".
class Table {
public:
  using Conversion = std::function<void(Lowering &)>;
  void add(std::initializer_list<llvm::StringRef> names, const Conversion &lower) {
    for (llvm::StringRef name : names)
      conversions[name] = lower;
  }
  /// Where an operand or a result is complex.
  void complex(std::initializer_list<llvm::StringRef> names, const Conversion &lower) {
    for (llvm::StringRef name : names)
      complexConversions[name] = lower;
  }
  const Conversion *find(llvm::StringRef name) const {
    auto found = conversions.find(name);
    return found == conversions.end() ? nullptr : &found->second;
  }
  const Conversion *findComplex(llvm::StringRef name) const {
    auto found = complexConversions.find(name);
    return found == complexConversions.end() ? nullptr : &found->second;
  }
  /// The names of all, sorted.
  llvm::SmallVector<llvm::StringRef> getNames() const {
    llvm::SmallVector<llvm::StringRef> names = llvm::to_vector(conversions.keys());
    llvm::append_range(names, complexConversions.keys());
    llvm::sort(names);
    names.erase(llvm::unique(names), names.end());
    return names;
  }

private:
  llvm::StringMap<Conversion> conversions, complexConversions;
};

/// The conversion of constants.
void setConstant(Lowering &l);

void populatePointwise(Table &table);
void populateRandom(Table &table);
void populateShapes(Table &table);
void populateReductions(Table &table);
void populateWindows(Table &table);
void populateConvolution(Table &table);
void populateLinalg(Table &table);
void populateMatrixFactorizations(Table &table);
void populateIndexing(Table &table);
void populateSorting(Table &table);
void populateLoops(Table &table);
/// After the others, whose conversions it runs for each part.
void populateComplex(Table &table);

} // namespace mpt::stablehlo

#endif // MPT_LIB_IMPORT_STABLEHLO_LOWERING_H
