//===- Lowering.h - Helpers for conversions of torch ops --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A conversion is a function of a `Lowering`: it reads operands, builds ops, and sets
/// results. What it cannot do it refuses with a reason.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_IMPORT_TORCH_LOWERING_H
#define MPT_LIB_IMPORT_TORCH_LOWERING_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>
#include <string>

namespace mpt::torch {

/// A tensor of the torch graph in the mpt dialect. With `channelsLast` the value has the
/// dimensions [N, H, W, C] of what torch calls [N, C, H, W].
struct Tensor {
  mlir::Value value;
  bool channelsLast = false;
};

/// What is known of one function while it is converted.
struct Graph {
  llvm::DenseMap<mlir::Value, Tensor> tensors;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Tensor>> lists;
  /// Values in the layout that they do not have; 1 where they have [N, H, W, C].
  llvm::DenseMap<std::pair<mlir::Value, int>, mlir::Value> otherLayouts;
  /// Values that are views of others, or have views.
  llvm::DenseSet<mlir::Value> aliased;
  /// State that an op changed in place: the function's argument, the next value.
  llvm::MapVector<mlir::Value, mlir::Value> updates;
  mlir::Value seed, attempt;
  int64_t nextStream = 0;
  mlir::func::FuncOp function;
};

/// The tensor type that a `!torch.vtensor<..>` spells; null if it has no counterpart or
/// leaves its shape or element type open.
mlir::RankedTensorType convertTensorType(mlir::Type type);

/// True for `!torch.list<vtensor>` and its kin.
bool isTensorList(mlir::Type type);

/// The attribute `value` of a `torch.constant.*` or `torch.vtensor.literal`.
mlir::Attribute getConstantValue(mlir::Operation *op);

inline mlir::RankedTensorType getType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> getShape(mlir::Value value) {
  return getType(value).getShape();
}
inline mlir::Type getElement(mlir::Value value) {
  return getType(value).getElementType();
}
inline int64_t getRank(mlir::Value value) { return getType(value).getRank(); }

using Shape = llvm::SmallVector<int64_t>;

/// One op of the torch graph that is being converted. Shapes and types of operands are
/// what the graph says; every accessor refuses the op where the operand is not what it
/// expects, and returns something harmless.
class Lowering {
public:
  Lowering(Graph &graph, mlir::OpBuilder &builder, mlir::Operation *op)
      : graph(graph), builder(builder), op(op), loc(op->getLoc()) {}

  /// Says why this op cannot be converted; the first reason counts.
  void refuse(const llvm::Twine &reason) {
    if (refusal.empty())
      refusal = reason.str();
  }
  /// Refuses unless `condition`. Returns it.
  bool require(bool condition, const llvm::Twine &reason) {
    if (!condition)
      refuse(reason);
    return condition;
  }

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  unsigned size() { return op->getNumOperands(); }
  /// Absent, or `torch.constant.none`.
  bool isNone(unsigned index);
  bool isTensor(unsigned index);
  /// The tensor with torch's order of dimensions.
  mlir::Value get(unsigned index);
  /// The tensor as it is stored.
  Tensor getStored(unsigned index);
  /// The tensor [N, H, W, C] of an operand [N, C, H, W].
  mlir::Value getChannelsLast(unsigned index);
  /// A tensor, or a number as a scalar tensor, with elements of `element`.
  mlir::Value get(unsigned index, mlir::Type element);
  /// The tensors of a list; none where the list says none.
  llvm::SmallVector<Tensor> getList(unsigned index);
  llvm::SmallVector<mlir::Value> getPlainList(unsigned index);
  int64_t integer(unsigned index, int64_t whenNone = 0);
  double number(unsigned index, double whenNone = 0);
  bool flag(unsigned index, bool whenNone = false);
  llvm::StringRef text(unsigned index);
  /// A list of integers, or one integer; empty if the operand is None. A size that the
  /// graph computes is ShapedType::kDynamic.
  Shape integers(unsigned index);
  /// Exactly `count` integers; one stands for all.
  Shape integers(unsigned index, unsigned count, int64_t whenNone);
  /// A dimension in [0, rank).
  int64_t dimension(unsigned index, int64_t rank);
  /// The dimensions of a list, sorted; all if the list is None or empty.
  Shape dimensions(unsigned index, int64_t rank);
  /// The element type in which the operands, tensors or numbers, are computed together.
  mlir::Type promote(llvm::ArrayRef<unsigned> operands);

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  mlir::RankedTensorType resultType(unsigned index = 0);
  mlir::Type resultElement() { return resultType().getElementType(); }
  void set(mlir::Value value, unsigned index = 0);
  void setChannelsLast(mlir::Value value, unsigned index = 0);
  /// The only result, a list of tensors.
  void setList(llvm::ArrayRef<mlir::Value> values);
  /// An op that is there for its effects, which the step does not need.
  void setNothing() {}
  /// The next value of state that the op changes in place.
  void update(unsigned operand, mlir::Value value);

  //===--------------------------------------------------------------------===//
  // Building. Operands of binary ops broadcast and have one element type.
  //===--------------------------------------------------------------------===//

  mlir::Value constant(double value, mlir::Type element,
                       llvm::ArrayRef<int64_t> shape = {});
  mlir::Value floats(llvm::ArrayRef<double> values, mlir::Type element,
                     llvm::ArrayRef<int64_t> shape);
  /// A number in the element type of `like`.
  mlir::Value number(mlir::Value like, double value) {
    return constant(value, getElement(like));
  }
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// Dimension `from` becomes the last; the others keep their order.
  mlir::Value moveToLast(mlir::Value x, int64_t from);
  /// The inverse of `moveToLast`.
  mlir::Value moveFromLast(mlir::Value x, int64_t to);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t begin, int64_t size,
                    int64_t stride = 1);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> inputs, int64_t dim);
  mlir::Value pad(mlir::Value x, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high, double value,
                  llvm::ArrayRef<int64_t> interior = {});
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, int64_t axis, mlir::Type element);
  /// The elements of dimension `dim` in reverse order.
  mlir::Value reverse(mlir::Value x, int64_t dim);
  template <typename Op>
  mlir::Value unary(mlir::Value x) {
    return Op::create(builder, loc, x.getType(), x);
  }
  template <typename Op>
  mlir::Value binary(mlir::Value a, mlir::Value b) {
    return Op::create(builder, loc, broadcastType({a, b}, getElement(a)), a, b);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary<SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary<MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary<DivOp>(a, b); }
  mlir::Value add(mlir::Value a, double b) { return b == 0 ? a : add(a, number(a, b)); }
  mlir::Value mul(mlir::Value a, double b) { return b == 1 ? a : mul(a, number(a, b)); }
  mlir::Value neg(mlir::Value x) {
    return mlir::isa<mlir::FloatType>(getElement(x)) ? unary<NegOp>(x)
                                                     : sub(number(x, 0), x);
  }
  mlir::Value abs(mlir::Value x);
  mlir::Value compare(ComparePredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(ComparePredicate predicate, mlir::Value a, double b) {
    return compare(predicate, a, number(a, b));
  }
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// e^x - 1 without the loss of digits near 0.
  mlir::Value expm1(mlir::Value x);
  mlir::Value square(mlir::Value x) { return mul(x, x); }
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes,
                     bool keepDims = false);
  /// Over the last dimension.
  mlir::Value reduceLast(ReduceKind kind, mlir::Value x, bool keepDims = false) {
    return reduce(kind, x, {getRank(x) - 1}, keepDims);
  }
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transposeA = false,
                     bool transposeB = false);
  /// x @ weight^T + bias, where the bias may be null and x has any rank above 0.
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias);
  mlir::Value softmax(mlir::Value x, int64_t dim, bool log);
  /// True where `x`, with one more dimension, equals its index along that dimension of
  /// `size` elements.
  mlir::Value oneHot(mlir::Value x, int64_t size);
  mlir::Value gather(mlir::Value table, mlir::Value indices);
  /// Indices from the end, which are negative, as indices from the beginning.
  mlir::Value wrap(mlir::Value indices, int64_t size);
  /// Zero with the probability `p`, else x / (1 - p). `mask`, if given, is the shape of
  /// what is drawn and broadcasts to x.
  mlir::Value dropout(mlir::Value x, double p, mlir::Value *mask = nullptr);
  /// 16 random bits for each element, as i16.
  mlir::Value randomBits(llvm::ArrayRef<int64_t> shape);
  /// True with probability 1 - `rate`.
  mlir::Value randomMask(llvm::ArrayRef<int64_t> shape, double rate);
  mlir::FloatAttr f64(double value) { return builder.getF64FloatAttr(value); }
  mlir::RankedTensorType broadcastType(mlir::ValueRange values, mlir::Type element);

  Graph &graph;
  mlir::OpBuilder &builder;
  mlir::Operation *op;
  mlir::Location loc;
  std::string refusal;
  /// Operands and results are stored as [N, H, W, C]; see `alignLayouts`.
  bool channelsLast = false;
  /// For elementwise ops: all operands [N, H, W, C] if one of them is.
  void alignLayouts();

  /// The seed and the number of steps tried, arguments of the function.
  std::pair<mlir::Value, mlir::Value> getRandomState();
};

/// How an op is converted.
struct Conversion {
  std::function<void(Lowering &)> lower;
  /// The result has operand's or the broadcast shape, and each of its elements depends
  /// only on elements at the same place: any layout will do.
  bool elementwise = false;
  /// The result may share memory with the first operand.
  bool view = false;
};

/// Conversions by name without the dialect: "aten.add.Tensor".
class Table {
public:
  using Names = std::initializer_list<std::string>;
  void add(Names names, std::function<void(Lowering &)> lower) {
    insert(names, {std::move(lower), false, false});
  }
  void elementwise(Names names, std::function<void(Lowering &)> lower) {
    insert(names, {std::move(lower), true, false});
  }
  void view(Names names, std::function<void(Lowering &)> lower) {
    insert(names, {std::move(lower), false, true});
  }
  const Conversion *find(llvm::StringRef name) const {
    auto found = conversions.find(name);
    return found == conversions.end() ? nullptr : &found->second;
  }
  const llvm::StringMap<Conversion> &get() const { return conversions; }

private:
  void insert(Names names, const Conversion &conversion) {
    for (const std::string &name : names)
      conversions["aten." + name] = conversion;
  }
  llvm::StringMap<Conversion> conversions;
};

void populatePointwise(Table &table);
void populateReductions(Table &table);
void populateShapes(Table &table);
void populateIndexing(Table &table);
void populateRandom(Table &table);
void populateVolumes(Table &table);
void populateLinalg(Table &table);
void populateWindows(Table &table);
void populateNormalization(Table &table);
void populateRecurrent(Table &table);
void populateLosses(Table &table);

} // namespace mpt::torch

#endif // MPT_LIB_IMPORT_TORCH_LOWERING_H
