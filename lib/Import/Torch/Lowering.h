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

#include "mpt/Import/Common/ComplexNumbers.h"
#include "mpt/Import/Common/ImportBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>
#include <string>

namespace mpt::torch {

/// Of a function: the backward pass of its recurrent layers runs groups of iterations
/// again instead of keeping what they compute.
inline constexpr llvm::StringLiteral kCheckpointScansAttr = "torch.checkpoint_scans";

/// A tensor of the torch graph in the mpt dialect. With `channelsLast` the value has the
/// dimensions [N, H, W, C] of what torch calls [N, C, H, W]. Of a complex tensor the
/// value is the real part.
struct Tensor {
  mlir::Value value;
  bool channelsLast = false;
  mlir::Value imaginary = {};
};

/// What a conversion sees of a complex tensor. One that knows nothing of complex numbers
/// runs once for each part.
enum class Part { Whole, Real, Imaginary };

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

/// The tensor type that a `!torch.vtensor<..>` spells, with complex elements where it has
/// such; null if it has no counterpart or leaves its shape or element type open.
mlir::RankedTensorType convertTensorType(mlir::Type type);

/// The type of each part of a complex tensor; other types are what they are.
mlir::RankedTensorType getPartType(mlir::RankedTensorType type);

/// True for `!torch.list<vtensor>` and its kin.
bool isTensorList(mlir::Type type);

/// The attribute `value` of a `torch.constant.*` or `torch.vtensor.literal`.
mlir::Attribute getConstantValue(mlir::Operation *op);

using importer::getElement;
using importer::getRank;
using importer::getShape;
using importer::getType;
using importer::Shape;

/// One op of the torch graph that is being converted. Shapes and types of operands are
/// what the graph says; every accessor refuses the op where the operand is not what it
/// expects, and returns something harmless.
class Lowering : public importer::ImportBuilder {
public:
  Lowering(Graph &graph, mlir::OpBuilder &builder, mlir::Operation *op)
      : ImportBuilder(builder, op->getLoc()), graph(graph), op(op) {}
  using ImportBuilder::number;

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
  /// Whether an operand is a complex tensor, or a list with one.
  bool isComplex(unsigned index);
  /// For each item of a list of tensors, whether it is complex.
  llvm::SmallVector<bool> areComplex(unsigned index);
  /// A complex tensor, or a real tensor or number without an imaginary part, with parts
  /// of `element`.
  importer::Complex getComplex(unsigned index, mlir::Type element);

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Of a complex result, that of its parts.
  mlir::RankedTensorType resultType(unsigned index = 0);
  mlir::Type resultElement() { return resultType().getElementType(); }
  void set(mlir::Value value, unsigned index = 0);
  /// Of a real result, the real part.
  void set(importer::Complex value, unsigned index = 0);
  void setChannelsLast(mlir::Value value, unsigned index = 0);
  /// The only result, a list of tensors.
  void setList(llvm::ArrayRef<mlir::Value> values);
  /// An op that is there for its effects, which the step does not need.
  void setNothing() {}
  /// The next value of state that the op changes in place.
  void update(unsigned operand, mlir::Value value);

  //===--------------------------------------------------------------------===//
  // Random numbers
  //===--------------------------------------------------------------------===//

  /// Zero with the probability `p`, else x / (1 - p). `mask`, if given, is the shape of
  /// what is drawn and broadcasts to x.
  mlir::Value dropout(mlir::Value x, double p, mlir::Value *mask = nullptr);
  /// 16 random bits for each element, as i16.
  mlir::Value randomBits(llvm::ArrayRef<int64_t> shape);
  /// True with probability 1 - `rate`.
  mlir::Value randomMask(llvm::ArrayRef<int64_t> shape, double rate);

  Graph &graph;
  mlir::Operation *op;
  /// The part of operand `index`, or of item `item` of a list, that accessors return;
  /// null for Part::Whole. The imaginary part of a real tensor or number is zero.
  std::function<Part(unsigned index, unsigned item)> operandPart;
  /// The part of results that is set.
  Part resultPart = Part::Whole;
  /// Operands and results are stored as [N, H, W, C]; see `alignLayouts`.
  bool channelsLast = false;
  /// For elementwise ops: all operands [N, H, W, C] if one of them is.
  void alignLayouts();

  /// The seed and the number of steps tried, arguments of the function.
  std::pair<mlir::Value, mlir::Value> getRandomState();

private:
  Part getPart(unsigned index, unsigned item = 0) {
    return operandPart ? operandPart(index, item) : Part::Whole;
  }
  Tensor select(Tensor tensor, Part part);
  /// The items of a list, with their parts; nothing if the operand is no list.
  std::optional<llvm::SmallVector<Tensor>> findList(unsigned index);
};

/// Runs `lower` with each part of the complex ones of the operands, an operand and an
/// item of a list each, and joins the products; for what is linear in each of them.
void multiplyParts(Lowering &l, const std::function<void(Lowering &)> &lower,
                   llvm::ArrayRef<std::pair<unsigned, unsigned>> operands);

/// The diagonal of dimensions `a` and `b` of x, which becomes the last dimension: the
/// elements whose place along `b` is `offset` more than that along `a`.
mlir::Value diagonalOf(Lowering &l, mlir::Value x, int64_t offset, int64_t a, int64_t b);

/// What `combine` makes of the elements up to each, along the last dimension, in log2(n)
/// steps that take in elements 1, 2, 4, .. before (Hillis and Steele 1986).
mlir::Value scanLast(Lowering &l, mlir::Value last, double neutral,
                     llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// Zeros that pass their gradient on to x where the condition holds and x is finite.
mlir::Value passGradient(Lowering &l, mlir::Value x, mlir::Value where);

/// The gradient of a convolution for its input, whose result is x [N, H, W, C] and whose
/// filter, [C, O / groups, KH, KW], is this one as it is. Refuses the op, and returns
/// none, if a number is out of range.
std::optional<mlir::Value>
transposeConvolution(Lowering &l, mlir::Value x, mlir::Value filter,
                     llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> padding,
                     llvm::ArrayRef<int64_t> outputPadding,
                     llvm::ArrayRef<int64_t> dilation, int64_t groups);

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// The windows of a pooling along one dimension. By default one, of one element.
struct PoolWindows {
  int64_t kernel = 1, stride = 1, dilation = 1;
  /// Elements before the first and after the last.
  int64_t padding = 0;
  /// How many windows there are, and how far the last reaches over the padding.
  int64_t count = 1, overhang = 0;

  /// From the first element of a window to after its last.
  int64_t getReach() const { return dilation * (kernel - 1) + 1; }
};

/// What an average divides by: the elements of the whole window, those in the image and
/// its padding, or those in the image.
enum class PoolCount { Window, Padding, Image };

/// Reads the windows along dimensions of `sizes` from operands 1 to 3, the kernel, stride
/// and padding. With `ceil`, a window that begins in the image or the padding before it
/// counts though it ends after the padding. An empty `dilation` is 1. Refuses the op, and
/// returns none, if a number is out of range.
std::optional<llvm::SmallVector<PoolWindows>> readPool(Lowering &l,
                                                       llvm::ArrayRef<int64_t> sizes,
                                                       bool ceil,
                                                       llvm::ArrayRef<int64_t> dilation);

/// Reads count_include_pad and divisor_override from operands 5 and 6. Returns what an
/// average divides by, and a factor for the average.
std::pair<PoolCount, double> readPoolCount(Lowering &l,
                                           llvm::ArrayRef<PoolWindows> windows);

/// The largest elements, or the averages, of windows along H and W of x [N, H, W, C]. The
/// first of equal elements, in the order of H and W, has the gradient.
mlir::Value maxPool(Lowering &l, mlir::Value x, const PoolWindows &h,
                    const PoolWindows &w);
mlir::Value avgPool(Lowering &l, mlir::Value x, const PoolWindows &h,
                    const PoolWindows &w, PoolCount count);

/// x [N, H, W, C] as [N, height, width, C], by torch's adaptive pooling: along a
/// dimension, window i of n begins at floor(i size / n) and ends at ceil((i + 1) size /
/// n).
mlir::Value adaptiveMaxPool(Lowering &l, mlir::Value x, int64_t height, int64_t width);
mlir::Value adaptiveAvgPool(Lowering &l, mlir::Value x, int64_t height, int64_t width);

/// How an op is converted.
struct Conversion {
  /// Null where operands or results are always complex.
  std::function<void(Lowering &)> lower;
  /// The result has operand's or the broadcast shape, and each of its elements depends
  /// only on elements at the same place: any layout will do.
  bool elementwise = false;
  /// The result may share memory with the first operand.
  bool view = false;
  /// Where an operand or a result is complex; null if it may not be.
  std::function<void(Lowering &)> lowerComplex = {};
};

/// Conversions by name without the dialect: "aten.add.Tensor".
class Table {
public:
  using Names = std::initializer_list<std::string>;
  void add(Names names, std::function<void(Lowering &)> lower) {
    insert(names, {std::move(lower), false, false, {}});
  }
  void elementwise(Names names, std::function<void(Lowering &)> lower) {
    insert(names, {std::move(lower), true, false, {}});
  }
  void view(Names names, std::function<void(Lowering &)> lower) {
    insert(names, {std::move(lower), false, true, {}});
  }
  /// How ops, in addition to what they are for real tensors, are converted with complex
  /// ones.
  void complex(Names names, const std::function<void(Lowering &)> &lower) {
    for (const std::string &name : names)
      conversions["aten." + name].lowerComplex = lower;
  }
  /// Complex tensors by what real ones are converted by, called for the real and for the
  /// imaginary part: `values` are the operands that have parts, in which the op is
  /// linear.
  void byParts(Names names, std::initializer_list<unsigned> values);
  /// The same for ops that are linear in each of their operands 0 and 1.
  void byProducts(Names names);
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
void populateMatrixFactorizations(Table &table);
void populateWindows(Table &table);
void populateResizing(Table &table);
void populateNormalization(Table &table);
void populateRecurrent(Table &table);
void populateLosses(Table &table);
void populateFourier(Table &table);
/// After the others, whose conversions it runs for each part.
void populateComplex(Table &table);

} // namespace mpt::torch

#endif // MPT_LIB_IMPORT_TORCH_LOWERING_H
