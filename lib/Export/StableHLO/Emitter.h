//===- Emitter.h - Helpers that build ops of StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A conversion is a function of an `Emitter`, which reads the operands of one op of mpt
/// in StableHLO, builds ops, and sets results. What it cannot do it refuses with a
/// reason. StableHLO's library is not needed: its ops are unregistered, and attributes of
/// its dialect are made from their text.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_EXPORT_STABLEHLO_EMITTER_H
#define MPT_LIB_EXPORT_STABLEHLO_EMITTER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace mpt::tostablehlo {

using Shape = llvm::SmallVector<int64_t>;

/// What is known of the function while it is converted.
struct Graph {
  /// Values of the mpt dialect in StableHLO.
  mlir::IRMapping values;
  /// Matmuls and convolutions read narrow operands as they are.
  bool readsNarrow = false;
  /// Ops without a counterpart, with the reason.
  llvm::SmallVector<std::pair<mlir::Operation *, std::string>> refused;
  int64_t numOps = 0;
};

/// Converts the ops of `block` but its terminator.
void convertBlock(Graph &graph, mlir::Block &block, mlir::OpBuilder &builder);

mlir::RankedTensorType getType(mlir::Value value);
mlir::Type getElement(mlir::Value value);
llvm::ArrayRef<int64_t> getShape(mlir::Value value);
int64_t getRank(mlir::Value value);

/// One op of the mpt dialect that is being converted.
class Emitter {
public:
  /// Fills a region, whose arguments it is given, and returns what the region returns.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;

  Emitter(Graph &graph, mlir::OpBuilder &builder, mlir::Operation *op)
      : graph(graph), builder(builder), op(op) {}

  //===--------------------------------------------------------------------===//
  // The op
  //===--------------------------------------------------------------------===//

  mlir::Value get(mlir::Value operand) { return graph.values.lookup(operand); }
  mlir::Value get(unsigned index) { return get(op->getOperand(index)); }
  mlir::RankedTensorType resultType(unsigned index = 0) {
    return getType(op->getResult(index));
  }
  /// Converts `value` to the result's element type.
  void set(mlir::Value value, unsigned index = 0);
  /// `convertBlock` gives the results values of their types.
  void refuse(const llvm::Twine &reason) { reasons = reason.str(); }
  llvm::StringRef getRefusal() const { return reasons; }

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  mlir::NamedAttribute array(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute flag(llvm::StringRef name, bool value);
  /// `#stablehlo.TEXT`, or `#stablehlo<TEXT>` where TEXT has no `<`.
  mlir::Attribute opaque(const llvm::Twine &text);
  mlir::NamedAttribute opaque(llvm::StringRef name, const llvm::Twine &text);
  /// Low and high padding of each dimension, N x 2.
  mlir::NamedAttribute padding(llvm::ArrayRef<int64_t> lowAndHigh);
  /// f32 and f64 that were not widened keep all their digits.
  mlir::NamedAttribute precision(mlir::Value lhs, mlir::Value rhs);

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  /// An op of StableHLO; `name` may be of another dialect, such as "chlo.erf".
  mlir::Operation *build(llvm::StringRef name, mlir::TypeRange results,
                         mlir::ValueRange operands,
                         llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Value make(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// Region `index` of `op` with arguments of these types.
  void fill(mlir::Operation *op, unsigned index, mlir::TypeRange arguments, Body body);

  mlir::Value constant(mlir::ElementsAttr value);
  /// All elements are `value`. Infinite in an integer type means its largest or smallest.
  mlir::Value splat(mlir::Type element, llvm::ArrayRef<int64_t> shape, double value);
  mlir::Value splatInteger(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                           int64_t value);
  /// Elementwise, of the first operand's type.
  mlir::Value unary(llvm::StringRef name, mlir::Value x) {
    return make(name, x.getType(), x);
  }
  mlir::Value binary(llvm::StringRef name, mlir::Value a, mlir::Value b) {
    return make(name, a.getType(), {a, b});
  }
  /// `direction` is EQ, NE, LT, LE, GT or GE. Integers are signed, i1 unsigned.
  mlir::Value compare(llvm::StringRef direction, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return make("select", a.getType(), {condition, a, b});
  }
  mlir::Value convert(mlir::Value x, mlir::Type element);
  /// Floats narrower than f32 in f32.
  mlir::Value widen(mlir::Value x);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// Aligned at the last dimension, as NumPy does.
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dimensions);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> offsets,
                    llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides);
  /// Widths may be negative.
  mlir::Value pad(mlir::Value x, double value, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high, llvm::ArrayRef<int64_t> interior);
  mlir::Value concatenate(llvm::ArrayRef<mlir::Value> values, int64_t dimension);
  mlir::Value iota(mlir::Type element, llvm::ArrayRef<int64_t> shape, int64_t dimension);
  mlir::Value reverse(mlir::Value x, llvm::ArrayRef<int64_t> dimensions);
  /// Over `axes` by `combiner`: add, multiply, maximum, minimum.
  mlir::Value reduce(llvm::StringRef combiner, mlir::Value x,
                     llvm::ArrayRef<int64_t> axes);
  mlir::Value reduceWindow(llvm::StringRef combiner, mlir::Value x,
                           llvm::ArrayRef<int64_t> window,
                           llvm::ArrayRef<int64_t> strides,
                           llvm::ArrayRef<int64_t> lowAndHigh);
  /// The number that changes nothing in `combiner`, a scalar.
  mlir::Value neutral(llvm::StringRef combiner, mlir::Type element);
  /// Region 0 of `op`, of two scalars.
  void fillCombiner(mlir::Operation *op, unsigned index, llvm::StringRef combiner,
                    mlir::Type element);

  Graph &graph;
  mlir::OpBuilder &builder;
  mlir::Operation *op;

private:
  std::string reasons;
};

/// Conversions by name: "mpt.matmul".
class Table {
public:
  using Conversion = std::function<void(Emitter &)>;
  template <typename Op>
  void add(void (*convert)(Op, Emitter &)) {
    conversions[Op::getOperationName()] = [convert](Emitter &emitter) {
      if (auto op = llvm::dyn_cast<Op>(emitter.op))
        convert(op, emitter);
    };
  }
  const Conversion *find(llvm::StringRef name) const {
    auto found = conversions.find(name);
    return found == conversions.end() ? nullptr : &found->second;
  }

private:
  llvm::StringMap<Conversion> conversions;
};

/// Any op that is computed element by element.
void convertElementwise(Emitter &emitter);
void populatePointwise(Table &table);
void populateShapes(Table &table);
void populateReductions(Table &table);
void populateWindows(Table &table);
void populateConvolution(Table &table);
void populateLinalg(Table &table);
void populateIndexing(Table &table);
void populateRandom(Table &table);
void populateLoops(Table &table);

} // namespace mpt::tostablehlo

#endif // MPT_LIB_EXPORT_STABLEHLO_EMITTER_H
