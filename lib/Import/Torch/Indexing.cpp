//===- Indexing.cpp - Torch's gathers, scatters and sorting -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scatters are sums into a table of zeros (`mpt.scatter_add`). Where torch replaces
/// elements, a second table of ones says which ones. Where an index is there twice, torch
/// leaves open which of the two values stays; here it is their sum.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

namespace {
/// An index x[.., i, j, ..]: a table with a row for each combination of the indexed
/// dimensions, and one number for all indices.
struct Indexed {
  Value table, flat;
  Shape permutation; ///< x's dimensions in the table: the indexed ones, then the others
  int64_t before;    ///< dimensions of the result before those of the indices

  /// The dimension of [index.., others..] that each dimension of torch's result is.
  Shape resultOrder() const {
    int64_t indexRank = getRank(flat), others = getRank(table) - 1;
    Shape order;
    for (int64_t i = 0; i < before; ++i)
      order.push_back(indexRank + i);
    for (int64_t i = 0; i < indexRank; ++i)
      order.push_back(i);
    for (int64_t i = before; i < others; ++i)
      order.push_back(indexRank + i);
    return order;
  }
  Shape resultShape() const {
    Shape rows(getShape(flat)), shape;
    llvm::append_range(rows, getShape(table).drop_front());
    for (int64_t dim : resultOrder())
      shape.push_back(rows[dim]);
    return shape;
  }
};
} // namespace

/// Reads the list of operand `operand`: tensors of integers, or none for a dimension that
/// is taken whole.
static std::optional<Indexed> readIndices(Lowering &l, Value x, unsigned operand) {
  SmallVector<Tensor> list = l.getList(operand);
  int64_t rank = getRank(x);
  Shape indexed, others;
  SmallVector<Value> indices;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim < static_cast<int64_t>(list.size()) && list[dim].value) {
      Value value = list[dim].channelsLast ? l.transpose(list[dim].value, {0, 3, 1, 2})
                                           : list[dim].value;
      if (!l.require(
              !getElement(value).isInteger(1),
              "a mask as index, whose result has no fixed shape; use torch.where, or a "
              "mask that is a constant: of tensors in a closure, or of buffers with "
              "persistent=False"))
        return std::nullopt;
      indexed.push_back(dim);
      indices.push_back(l.cast(value, l.builder.getI64Type()));
    } else {
      others.push_back(dim);
    }
  }
  if (!l.refusal.empty() || !l.require(!indices.empty(), "no index"))
    return std::nullopt;
  bool adjacent =
      indexed.back() - indexed.front() + 1 == static_cast<int64_t>(indexed.size());
  // One number for all indices, row-major over the indexed dimensions.
  int64_t size = 1;
  Value flat;
  for (auto [dim, value] : llvm::zip_equal(indexed, indices)) {
    int64_t length = getShape(x)[dim];
    if (!l.require(!ShapedType::isDynamic(length), "an index of an open dimension"))
      return std::nullopt;
    Value wrapped = l.wrap(value, length);
    if (indices.size() > 1)
      wrapped =
          CheckIndicesOp::create(l.builder, l.loc, wrapped.getType(), wrapped,
                                 l.builder.getI64IntegerAttr(length), IntegerAttr());
    flat = flat ? l.add(l.mul(flat, static_cast<double>(length)), wrapped) : wrapped;
    size *= length;
  }
  Shape permutation(indexed), tableShape{size};
  llvm::append_range(permutation, others);
  for (int64_t dim : others)
    tableShape.push_back(getShape(x)[dim]);
  int64_t before =
      adjacent
          ? llvm::count_if(others, [&](int64_t dim) { return dim < indexed.front(); })
          : 0;
  return Indexed{l.reshape(l.transpose(x, permutation), tableShape), flat, permutation,
                 before};
}

/// x[.., i, j, ..]
static void indexBy(Lowering &l) {
  if (std::optional<Indexed> indexed = readIndices(l, l.get(0), 1))
    l.set(l.transpose(l.gather(indexed->table, indexed->flat), indexed->resultOrder()));
}

static void indexSelect(Lowering &l) {
  Value x = l.get(0), indices = l.get(2);
  int64_t dim = l.dimension(1, getRank(x));
  if (!l.require(getRank(x) > 0 && getRank(indices) <= 1, "indices of these ranks"))
    return;
  Shape permutation{dim}, inverse;
  for (int64_t i = 0; i < getRank(x); ++i)
    if (i != dim)
      permutation.push_back(i);
  for (int64_t i = 0; i < getRank(x); ++i)
    inverse.push_back(i < dim ? i + 1 : i == dim ? 0 : i);
  Value rows =
      l.gather(l.transpose(x, permutation),
               l.reshape(indices, {getRank(indices) ? getShape(indices)[0] : 1}));
  l.set(l.transpose(rows, inverse));
}

/// As `ImportBuilder::flatPosition`, for indices of torch: checked, and from the end
/// where negative.
static Value elementPosition(Lowering &l, Value x, Value indices, int64_t dim) {
  indices = l.wrap(l.cast(indices, l.builder.getI64Type()), getShape(x)[dim]);
  if (getRank(x) > 1)
    indices = CheckIndicesOp::create(l.builder, l.loc, indices.getType(), indices,
                                     l.builder.getI64IntegerAttr(getShape(x)[dim]),
                                     IntegerAttr());
  return l.flatPosition(getShape(x), indices, dim);
}

static void gatherAlong(Lowering &l, Value x, Value indices, int64_t dim) {
  if (getRank(x) == 0)
    return l.set(l.broadcast(x, getShape(indices)));
  if (!l.require(getType(x).hasStaticShape() && getRank(indices) == getRank(x),
                 "an index of these ranks, or an open dimension"))
    return;
  Value flat = l.reshape(x, {getType(x).getNumElements()});
  l.set(l.gather(flat, elementPosition(l, x, indices, dim)));
}

static void takeAlong(Lowering &l) {
  Value x = l.get(0), indices = l.get(1);
  if (l.isNone(2))
    return gatherAlong(l, l.reshape(x, {getType(x).getNumElements()}),
                       l.reshape(indices, {getType(indices).getNumElements()}), 0);
  int64_t dim = l.dimension(2, getRank(x));
  Shape mine(getShape(x)), theirs(getShape(indices));
  if (!l.require(mine.size() == theirs.size(), "an index of these ranks"))
    return;
  for (size_t i = 0; i < mine.size(); ++i)
    if (static_cast<int64_t>(i) != dim)
      mine[i] = theirs[i] = std::max(mine[i], theirs[i]);
  gatherAlong(l, l.broadcast(x, mine), l.broadcast(indices, theirs), dim);
}

static void embedding(Lowering &l) {
  Value table = l.get(0), indices = l.get(1);
  int64_t padding = l.integer(2, -1);
  if (!l.require(getRank(table) == 2, "a table of 2 dimensions") ||
      !l.require(!l.flag(3) && !l.flag(4), "scale_grad_by_freq, or sparse gradients"))
    return;
  Value rows = l.gather(table, indices);
  if (padding >= 0 && padding < getShape(table)[0]) {
    // The row of the padding has no gradient.
    Shape shape(getShape(indices));
    shape.push_back(1);
    Value isPadding = l.reshape(
        l.compare(ComparePredicate::EQ, indices, static_cast<double>(padding)), shape);
    rows = l.where(isPadding, l.unary<StopGradientOp>(rows), rows);
  }
  l.set(rows);
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// The sum of the rows of `updates` [I.., C..] at the rows that `indices` [I..] names, of
/// a table of `rows` rows.
static Value scatterFloats(Lowering &l, Value indices, Value updates, int64_t rows) {
  Shape shape(getShape(updates).drop_front(getRank(indices)));
  shape.insert(shape.begin(), rows);
  return ScatterAddOp::create(l.builder, l.loc, getType(updates).clone(shape), indices,
                              updates, Value());
}

/// As `scatterFloats`, for any type. Integers are summed as three digits to the base 4096
/// in f32: the sums are exact for numbers below 2^48, up to 4096 at one place.
static Value scatterRows(Lowering &l, Value indices, Value updates, int64_t rows) {
  Type element = getElement(updates), f32 = l.builder.getF32Type();
  if (isa<FloatType>(element))
    return scatterFloats(l, indices, updates, rows);
  if (element.isInteger(1))
    return l.cast(scatterFloats(l, indices, l.cast(updates, f32), rows), element);
  Value rest = l.cast(updates, l.builder.getI64Type());
  int64_t rank = getRank(rest);
  SmallVector<Value> digits;
  auto push = [&](Value digit) {
    Shape shape(getShape(digit));
    shape.push_back(1);
    digits.push_back(l.reshape(l.cast(digit, f32), shape));
  };
  for (int i = 0; i < 2; ++i) {
    // Division rounds to zero; digits are not negative.
    Value quotient = l.div(rest, l.number(rest, 4096));
    Value digit = l.sub(rest, l.mul(quotient, 4096.0));
    Value below = l.compare(ComparePredicate::LT, digit, 0.0);
    push(l.where(below, l.add(digit, 4096.0), digit));
    rest = l.where(below, l.add(quotient, -1.0), quotient);
  }
  push(rest);
  Value sums = scatterFloats(l, indices, l.concat(digits, rank), rows);
  Shape shape(getShape(sums).drop_back());
  auto digitOf = [&](int64_t i) {
    Value digit = l.slice(sums, getRank(sums) - 1, i, 1);
    return l.cast(l.reshape(digit, shape), l.builder.getI64Type());
  };
  Value number = l.add(l.mul(digitOf(2), 4096.0), digitOf(1));
  return l.cast(l.add(l.mul(number, 4096.0), digitOf(0)), element);
}

/// True for the rows that `indices` names, [rows, 1..] with `rank` dimensions.
static Value namedRows(Lowering &l, Value indices, int64_t rows, int64_t rank) {
  Value ones = l.constant(1, l.builder.getF32Type(), getShape(indices));
  Shape shape(rank, 1);
  shape[0] = rows;
  return l.reshape(
      l.compare(ComparePredicate::GT, scatterRows(l, indices, ones, rows), 0.0), shape);
}

/// `table` with the rows that `indices` names replaced by `updates`, or added to. Of
/// several updates of a row the last one replaces it, as in PyTorch on one thread; its
/// documentation leaves open which one does.
static Value putRows(Lowering &l, Value table, Value indices, Value updates, bool add) {
  int64_t rows = getShape(table)[0];
  updates = l.cast(updates, getElement(table));
  if (add)
    return l.add(table, scatterRows(l, indices, updates, rows));
  Value named = namedRows(l, indices, rows, getRank(table));
  // Numbers of updates are exact in f32 up to here; beyond, updates of one row are added.
  const int64_t count = getType(indices).getNumElements();
  if (count > 1 && count <= int64_t(1) << 24) {
    Type f32 = l.builder.getF32Type();
    Shape flat{count}, shape(getRank(updates), 1);
    llvm::copy(getShape(indices), shape.begin());
    Value place = l.reshape(indices, flat), order = l.iota(flat, 0, f32);
    Value none = l.constant(-1, f32, {rows});
    Value last = ScatterReduceOp::create(l.builder, l.loc, none.getType(), place, order,
                                         none, ReduceKind::Max);
    Value stays = l.compare(ComparePredicate::EQ, l.gather(last, place), order);
    updates = l.where(l.reshape(stays, shape), updates, l.number(updates, 0));
  }
  return l.where(named, scatterRows(l, indices, updates, rows), table);
}

/// The elements of the source, in order, where the mask is true.
static void maskedScatter(Lowering &l) {
  Value x = l.get(0), mask = l.get(1), source = l.get(2);
  if (!l.require(getType(x).hasStaticShape() && getType(mask).hasStaticShape() &&
                     getType(source).hasStaticShape(),
                 "an open dimension"))
    return;
  Shape shape(l.broadcastType({x, mask}, getElement(x)).getShape());
  if (ShapedType::getNumElements(shape) == 0)
    return l.set(l.broadcast(x, shape));
  // A mask that is repeated along the last dimensions, as one of tokens is, takes rows.
  if (auto repeat = mask.getDefiningOp<BroadcastOp>())
    mask = repeat.getX();
  Shape own(shape.size() - getRank(mask), 1), rows(shape);
  llvm::append_range(own, getShape(mask));
  int64_t count = getType(source).getNumElements(), row = 1;
  while (!rows.empty() && own.back() == 1 && count % (row * rows.back()) == 0) {
    row *= rows.pop_back_val();
    own.pop_back();
  }
  if (!l.require(count > 0 && getElement(source) == getElement(x),
                 "a source of another type, or without elements"))
    return;
  int64_t places = ShapedType::getNumElements(rows);
  mask = l.reshape(l.broadcast(l.reshape(mask, own), rows), {places});
  Value before = scanLast(l, l.cast(mask, l.builder.getI32Type()), 0,
                          [&](Value a, Value b) { return l.add(a, b); });
  Value index = l.where(mask, l.add(before, -1.0), l.number(before, 0));
  Value taken = l.gather(l.reshape(source, {count / row, row}), index);
  Value kept = l.reshape(l.broadcast(x, shape), {places, row});
  l.set(l.reshape(l.where(l.reshape(mask, {places, 1}), taken, kept), shape));
}

static Shape frontPermutation(int64_t rank, int64_t dim) {
  Shape permutation{dim};
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim)
      permutation.push_back(i);
  return permutation;
}
static Value moveToFront(Lowering &l, Value x, int64_t dim) {
  return l.transpose(x, frontPermutation(getRank(x), dim));
}
static Value moveFromFront(Lowering &l, Value x, int64_t dim) {
  Shape inverse(getRank(x));
  for (auto [i, from] : llvm::enumerate(frontPermutation(getRank(x), dim)))
    inverse[from] = i;
  return l.transpose(x, inverse);
}

/// index_add and index_copy: whole slices along a dimension.
static std::function<void(Lowering &)> indexInto(bool add) {
  return [=](Lowering &l) {
    Value x = l.get(0), indices = l.get(2), source = l.get(3);
    int64_t rank = getRank(x), dim = l.dimension(1, rank);
    if (!l.require(rank > 0 && getRank(source) == rank && getRank(indices) == 1 &&
                       getType(x).hasStaticShape() && getType(source).hasStaticShape(),
                   "operands of these ranks, or an open dimension"))
      return;
    indices = l.wrap(l.cast(indices, l.builder.getI64Type()), getShape(x)[dim]);
    source = moveToFront(l, source, dim);
    if (add)
      source = l.mul(l.cast(source, getElement(x)), l.number(4, 1));
    l.set(
        moveFromFront(l, putRows(l, moveToFront(l, x, dim), indices, source, add), dim));
  };
}

static void indexFill(Lowering &l) {
  Value x = l.get(0), indices = l.get(2);
  int64_t rank = getRank(x), dim = l.dimension(1, rank);
  if (!l.require(rank > 0 && getRank(indices) == 1 && getType(x).hasStaticShape(),
                 "operands of these ranks, or an open dimension"))
    return;
  indices = l.wrap(l.cast(indices, l.builder.getI64Type()), getShape(x)[dim]);
  Shape shape(rank, 1);
  shape[dim] = getShape(x)[dim];
  Value named = l.reshape(namedRows(l, indices, shape[dim], 1), shape);
  l.set(l.where(named, l.get(3, getElement(x)), x));
}

/// The index of each row, [E], i64 from 0, of an index for each element of rows of x that
/// is the same along a row: one of shape [E, 1..] that was expanded. Null for others.
/// Whole rows are scattered at once then, as in graph networks.
static Value getRowIndices(Lowering &l, Value x, Value indices, int64_t dim) {
  auto expanded = indices.getDefiningOp<BroadcastOp>();
  if (!expanded || dim != 0 || getShape(indices).drop_front() != getShape(x).drop_front())
    return {};
  Value rows = expanded.getX();
  const int64_t count = getShape(indices)[0];
  if (getRank(rows) != getRank(x) || getShape(rows)[0] != count ||
      getType(rows).getNumElements() != count)
    return {};
  return l.wrap(l.cast(l.reshape(rows, {count}), l.builder.getI64Type()), getShape(x)[0]);
}

/// scatter and scatter_add: an index for each element.
static void scatterAlong(Lowering &l, Value source, bool add) {
  Value x = l.get(0), indices = l.get(2);
  if (getRank(x) == 0) {
    source = l.reshape(source, {});
    return l.set(add ? l.add(x, source) : source);
  }
  int64_t rank = getRank(x), dim = l.dimension(1, rank);
  if (!l.require(getType(x).hasStaticShape() && getType(indices).hasStaticShape() &&
                     getRank(indices) == rank &&
                     (getRank(source) == rank || getRank(source) == 0),
                 "operands of these ranks, or an open dimension"))
    return;
  Value rows = getRowIndices(l, x, indices, dim);
  Value position = rows ? Value() : elementPosition(l, x, indices, dim);
  int64_t count = getType(x).getNumElements();
  if (getRank(source) == 0 && !add) {
    Value named = rows ? namedRows(l, rows, getShape(x)[0], rank)
                       : l.reshape(namedRows(l, position, count, 1), getShape(x));
    return l.set(l.where(named, source, x));
  }
  source = l.broadcast(source, getRank(source) ? getShape(source) : getShape(indices));
  for (int64_t i = 0; i < rank; ++i)
    source = l.slice(source, i, 0, getShape(indices)[i]);
  if (rows)
    return l.set(putRows(l, x, rows, source, add));
  Value table = putRows(l, l.reshape(x, {count}), position, source, add);
  l.set(l.reshape(table, getShape(x)));
}

/// How the values that a scatter brings to one place become one: torch's names.
static Value reduceScattered(Lowering &l, StringRef kind, Value x, Value indices,
                             Value source, int64_t dim, bool includeSelf) {
  Type element = getElement(x);
  const Shape whole(getShape(x));
  int64_t rank = getRank(x), count = getType(x).getNumElements();
  if (kind == "sum" || kind == "mean") {
    Value position = getRowIndices(l, x, indices, dim);
    // Of a row, or an element.
    int64_t places = getShape(x)[0];
    Shape placeShape(rank, 1);
    placeShape[0] = places;
    if (!position) {
      position = elementPosition(l, x, indices, dim);
      places = count;
      placeShape = Shape(getShape(x));
    }
    Value ones = l.constant(1, l.builder.getF32Type(), getShape(position));
    Value counts = l.reshape(scatterRows(l, position, ones, places), placeShape);
    Value own = includeSelf ? x
                            : l.where(l.compare(ComparePredicate::GT, counts, 0.0),
                                      l.number(x, 0), x);
    Value sum =
        l.add(own, l.reshape(scatterRows(l, position, source, places), getShape(x)));
    if (kind == "sum")
      return sum;
    l.require(isa<FloatType>(element), "a mean of integers");
    counts = includeSelf ? l.add(counts, 1.0)
                         : l.binary<MaximumOp>(counts, l.number(counts, 1));
    return l.div(sum, l.cast(counts, element));
  }
  const ReduceKind reduce = kind == "prod"   ? ReduceKind::Prod
                            : kind == "amax" ? ReduceKind::Max
                                             : ReduceKind::Min;
  double most = isa<FloatType>(element)
                    ? std::numeric_limits<double>::infinity()
                    : std::ldexp(1.0, element.getIntOrFloatBitWidth() - 2);
  double nothing = kind == "prod" ? 1 : kind == "amax" ? -most : most;
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 32) {
    Value rows = getRowIndices(l, x, indices, dim);
    Value position = rows ? rows : elementPosition(l, x, indices, dim);
    if (!rows) {
      x = l.reshape(x, {count});
      position = l.reshape(position, {getType(position).getNumElements()});
      source = l.reshape(source, {getType(source).getNumElements()});
    }
    const Shape shape(getShape(x));
    if (!includeSelf)
      x = l.where(namedRows(l, position, shape[0], shape.size()),
                  l.constant(nothing, element), x);
    Value table = ScatterReduceOp::create(l.builder, l.loc, x.getType(), position,
                                          l.cast(source, element), x, reduce);
    return l.reshape(table, whole);
  }
  const int64_t length = getShape(indices)[dim];
  constexpr int64_t limit = int64_t(1) << 26;
  if (!l.require(!element.isInteger(1), "a reduction of bools") ||
      !l.require(length < limit / std::max<int64_t>(count, 1),
                 "a reduction other than sum and mean, of more than 2^26 pairs of an "
                 "index and a place"))
    return x;
  indices = l.wrap(l.cast(indices, l.builder.getI64Type()), getShape(x)[dim]);
  indices = CheckIndicesOp::create(l.builder, l.loc, indices.getType(), indices,
                                   l.builder.getI64IntegerAttr(getShape(x)[dim]),
                                   IntegerAttr());
  // Where there are fewer indices than places in another dimension: none.
  Shape low(rank, 0), high(rank, 0);
  for (int64_t i = 0; i < rank; ++i)
    high[i] = i == dim ? 0 : getShape(x)[i] - getShape(indices)[i];
  indices = l.moveToLast(l.pad(indices, low, high, -1), dim);
  source = l.moveToLast(l.pad(source, low, high, 0), dim);
  Value own = l.moveToLast(x, dim);
  // A row for each place, of its own value and what is brought to it: all of it can be
  // computed where the row is reduced.
  Shape before(rank, 0), none(rank, 0);
  before.back() = 1;
  indices = l.pad(indices, before, none, -1);
  source = l.pad(source, before, none, 0);
  Shape row(getShape(indices)), place(getShape(own));
  const int64_t columns = row.back();
  row.insert(row.end() - 1, 1);
  place.push_back(1);
  Type integer = getElement(indices);
  Value hit = l.compare(ComparePredicate::EQ, l.reshape(indices, row),
                        l.reshape(l.iota({place[rank - 1]}, 0, integer),
                                  {place[rank - 1], 1})); // [.., places, indices]
  Value isOwn = l.compare(ComparePredicate::EQ, l.iota({columns}, 0, integer), 0.0);
  if (!includeSelf) {
    Value named = l.reduce(ReduceKind::Sum, l.cast(hit, l.builder.getF32Type()), {rank});
    own = l.where(l.compare(ComparePredicate::GT, named, 0.0),
                  l.constant(nothing, element), own);
  }
  Value values = l.where(hit, l.reshape(source, row), l.constant(nothing, element));
  values = l.where(isOwn, l.reshape(own, place), values);
  return l.moveFromLast(l.reduce(reduce, values, {rank}), dim);
}

static void scatterReduce(Lowering &l, StringRef kind, bool includeSelf) {
  Value source = l.get(3, getElement(l.get(0)));
  if (kind == "sum" && includeSelf)
    return scatterAlong(l, source, /*add=*/true);
  Value x = l.get(0), indices = l.get(2);
  Shape shape(getShape(x));
  if (shape.empty()) {
    x = l.reshape(x, {1});
    indices = l.reshape(indices, {1});
    source = l.reshape(source, {1});
  }
  int64_t rank = getRank(x), dim = l.dimension(1, rank);
  if (!l.require(kind == "sum" || kind == "mean" || kind == "prod" || kind == "amax" ||
                     kind == "amin",
                 "the reduction " + kind) ||
      !l.require(getType(x).hasStaticShape() && getType(indices).hasStaticShape() &&
                     getRank(indices) == rank &&
                     (getRank(source) == rank || getRank(source) == 0),
                 "operands of these ranks, or an open dimension"))
    return;
  source = l.broadcast(source, getRank(source) ? getShape(source) : getShape(indices));
  for (int64_t i = 0; i < rank; ++i)
    source = l.slice(source, i, 0, getShape(indices)[i]);
  Value result = reduceScattered(l, kind, x, indices, source, dim, includeSelf);
  if (l.refusal.empty())
    l.set(l.reshape(result, shape));
}

//===----------------------------------------------------------------------===//
// Views by strides
//===----------------------------------------------------------------------===//

/// The position of each element of a view of a contiguous tensor of `count` elements:
/// sizes, strides and offset are operands from `first` on. Null where it leaves it.
static Value stridedPositions(Lowering &l, unsigned first, int64_t count, bool distinct) {
  Shape sizes = l.integers(first), strides = l.integers(first + 1);
  int64_t offset = l.integer(first + 2), last = offset;
  bool known = sizes.size() == strides.size() &&
               !llvm::is_contained(sizes, ShapedType::kDynamic) &&
               !llvm::is_contained(strides, ShapedType::kDynamic);
  if (!l.require(known && !ShapedType::isDynamic(count), "open sizes or strides"))
    return {};
  SmallVector<std::pair<int64_t, int64_t>> dims; // (stride, size)
  for (auto [size, stride] : llvm::zip_equal(sizes, strides)) {
    last += (std::max<int64_t>(size, 1) - 1) * stride;
    if (size > 1)
      dims.push_back({stride, size});
  }
  llvm::sort(dims);
  int64_t span = 0; // of the dimensions of smaller strides
  for (auto [stride, size] : dims) {
    if (!l.require(!distinct || stride > span, "places that overlap"))
      return {};
    span += stride * (size - 1);
  }
  if (!l.require(offset >= 0 && last < count, "places outside of the tensor"))
    return {};
  Type i64 = l.builder.getI64Type();
  Value position = l.constant(static_cast<double>(offset), i64, sizes);
  for (auto [i, stride] : llvm::enumerate(strides))
    position = l.add(position, l.mul(l.iota(sizes, i, i64), static_cast<double>(stride)));
  return position;
}

/// Shapes that torch's strides would spell are views of their own in functional graphs:
/// what is left reads elements by their positions, as diagonals.
static void asStrided(Lowering &l) {
  Value x = l.get(0);
  int64_t count =
      getType(x).hasStaticShape() ? getType(x).getNumElements() : ShapedType::kDynamic;
  if (Value position = stridedPositions(l, 1, count, /*distinct=*/false))
    l.set(l.gather(l.reshape(x, {count}), position));
}

static void asStridedScatter(Lowering &l) {
  Value x = l.get(0), source = l.get(1, getElement(l.get(0)));
  int64_t count =
      getType(x).hasStaticShape() ? getType(x).getNumElements() : ShapedType::kDynamic;
  if (Value position = stridedPositions(l, 2, count, /*distinct=*/true))
    l.set(l.reshape(putRows(l, l.reshape(x, {count}), position, source, false),
                    getShape(x)));
}

//===----------------------------------------------------------------------===//
// Bags of embeddings
//===----------------------------------------------------------------------===//

/// The length of each bag, if the graph says that all have one: offsets that are
/// arange(0, count, length).
static std::optional<int64_t> bagLength(Lowering &l, int64_t count) {
  Operation *op = l.op->getOperand(2).getDefiningOp();
  if (!op || op->getName().getStringRef() != "torch.aten.arange.start_step")
    return std::nullopt;
  Lowering arange(l.graph, l.builder, op);
  int64_t begin = arange.integer(0), end = arange.integer(1), step = arange.integer(2, 1);
  if (!arange.refusal.empty() || begin != 0 || end != count || step <= 0 || count % step)
    return std::nullopt;
  return step;
}

/// Operands: weight, indices, offsets, scale_grad_by_freq, mode, sparse,
/// per_sample_weights, include_last_offset, padding_idx. Of the results there is the
/// first.
static void embeddingBag(Lowering &l) {
  Value table = l.get(0), indices = l.get(1), offsets = l.get(2);
  enum { Sum, Mean, Max };
  int64_t mode = l.integer(4), padding = l.integer(8);
  bool padded = !l.isNone(8);
  if (!l.require(getRank(table) == 2 && getRank(indices) == 1 && getRank(offsets) == 1 &&
                     getType(indices).hasStaticShape() &&
                     getType(offsets).hasStaticShape(),
                 "operands of these ranks, or an open dimension") ||
      !l.require(!l.flag(3) && !l.flag(5), "scale_grad_by_freq, or sparse gradients"))
    return;
  int64_t count = getShape(indices)[0], bags = l.resultType().getDimSize(0);
  int64_t width = getShape(table)[1];
  if (!l.refusal.empty())
    return;
  Type element = getElement(table), i64 = l.builder.getI64Type();
  Value rows = l.gather(table, indices);
  if (!l.isNone(6))
    rows = l.mul(rows, l.reshape(l.get(6, element), {count, 1}));
  Value counted = l.constant(1, element, {count, 1});
  if (padded) {
    padding += padding < 0 ? getShape(table)[0] : 0;
    Value real =
        l.reshape(l.compare(ComparePredicate::NE, indices, static_cast<double>(padding)),
                  {count, 1});
    rows = l.where(
        real, rows,
        l.number(rows, mode == Max ? -std::numeric_limits<double>::infinity() : 0));
    counted = l.cast(real, element);
  }
  Value result, counts;
  std::optional<int64_t> length = bagLength(l, count);
  if (length) {
    rows = l.reshape(rows, {bags, *length, width});
    counts = l.reduce(ReduceKind::Sum, l.reshape(counted, {bags, *length, 1}), {1});
    result = l.reduce(mode == Max ? ReduceKind::Max : ReduceKind::Sum, rows, {1});
  } else {
    if (!l.require(mode != Max, "the mode max, of bags by offsets"))
      return;
    offsets = l.reshape(l.slice(l.cast(offsets, i64), 0, 0, bags), {1, bags});
    Value begun = l.compare(ComparePredicate::LE, offsets, l.iota({count, 1}, 0, i64));
    Value bag = l.add(l.reduceLast(ReduceKind::Sum, l.cast(begun, i64)), -1.0);
    result = scatterRows(l, bag, rows, bags);
    counts = scatterRows(l, bag, counted, bags);
  }
  if (mode == Mean)
    result = l.div(result, l.binary<MaximumOp>(counts, l.number(counts, 1)));
  else if (mode == Max) // Bags of nothing but padding are 0.
    result = l.where(l.compare(ComparePredicate::GT, counts, 0.0), result,
                     l.number(result, 0));
  l.set(result);
}

/// x[indices] = values, or += values.
static void indexPut(Lowering &l) {
  Value x = l.get(0), values = l.get(2, getElement(l.get(0)));
  SmallVector<Tensor> list = l.getList(1);
  bool add = l.flag(3);
  if (!l.refusal.empty())
    return;
  // A mask, of the first dimensions, that chooses where one value goes.
  if (list.size() == 1 && list[0].value && getElement(list[0].value).isInteger(1)) {
    Value mask = l.getPlainList(1)[0];
    if (!l.require(getRank(mask) <= getRank(x) && getType(values).hasStaticShape() &&
                       getType(values).getNumElements() == 1,
                   "a mask as index, with more than one value"))
      return;
    Shape shape(getShape(mask));
    shape.resize(getRank(x), 1);
    values = l.reshape(values, {});
    return l.set(l.where(l.reshape(mask, shape), add ? l.add(x, values) : values, x));
  }
  std::optional<Indexed> indexed = readIndices(l, x, 1);
  if (!indexed)
    return;
  // The values as [index.., others..].
  Shape shape = indexed->resultShape(), order = indexed->resultOrder();
  Shape inverse(order.size());
  for (auto [i, from] : llvm::enumerate(order))
    inverse[from] = i;
  values = l.transpose(l.broadcast(values, shape), inverse);
  Value table = putRows(l, indexed->table, indexed->flat, values, add);
  Shape permuted, back(getRank(x));
  for (auto [i, dim] : llvm::enumerate(indexed->permutation)) {
    permuted.push_back(getShape(x)[dim]);
    back[dim] = i;
  }
  l.set(l.transpose(l.reshape(table, permuted), back));
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

namespace {
struct Sorted {
  Value values, indices; // along the last dimension
};
} // namespace

static Sorted sortLast(Lowering &l, Value last, bool descending) {
  Value indices = l.sortedIndices(last, descending);
  return {l.refusal.empty() ? l.takeLast(last, indices) : last, indices};
}

/// Results: values if `withValues`, then indices if `withIndices`.
static std::function<void(Lowering &)> sortBy(unsigned dimOperand, unsigned descending,
                                              bool withValues, bool withIndices) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    if (getRank(x) == 0) {
      if (withValues)
        l.set(x);
      if (withIndices)
        l.set(l.constant(0, l.builder.getI64Type()), withValues ? 1 : 0);
      return;
    }
    int64_t dim =
        l.isNone(dimOperand) ? getRank(x) - 1 : l.dimension(dimOperand, getRank(x));
    Sorted sorted = sortLast(l, l.moveToLast(x, dim), l.flag(descending));
    if (withValues)
      l.set(l.moveFromLast(sorted.values, dim));
    if (withIndices)
      l.set(l.moveFromLast(sorted.indices, dim), withValues ? 1 : 0);
  };
}

/// The index of the element at place `k` of the order of each row; with `findsNaN` of the
/// first NaN if there is one. Null if there is none.
static Value findKth(Lowering &l, Value last, int64_t k, bool findsNaN) {
  int64_t size = getShape(last).back();
  if (!l.require(k >= 0 && k < size, "an element that is not there"))
    return nullptr;
  Value index = l.indexAtPlace(last, k);
  if (!l.refusal.empty())
    return nullptr;
  if (findsNaN && isa<FloatType>(getElement(last))) {
    Type i64 = l.builder.getI64Type();
    Value first = l.reduceLast(ReduceKind::Min,
                               l.where(l.compare(ComparePredicate::NE, last, last),
                                       l.iota({size}, 0, i64),
                                       l.constant(static_cast<double>(size), i64)),
                               /*keepDims=*/true);
    index = l.where(l.compare(ComparePredicate::LT, first, static_cast<double>(size)),
                    first, index);
  }
  return index;
}

/// The element at place `k` of the order along `dim`, and its index.
static void setKth(Lowering &l, Value x, int64_t dim, int64_t k, bool findsNaN) {
  Value last = getRank(x) ? l.moveToLast(x, dim) : l.reshape(x, {1});
  Value index = findKth(l, last, k, findsNaN);
  if (!index)
    return;
  l.set(l.reshape(l.takeLast(last, index), l.resultType(0).getShape()));
  l.set(l.reshape(index, l.resultType(1).getShape()), 1);
}

static void kthValue(Lowering &l) {
  Value x = l.get(0);
  setKth(l, x,
         l.isNone(2) ? std::max<int64_t>(getRank(x) - 1, 0) : l.dimension(2, getRank(x)),
         l.integer(1) - 1, /*findsNaN=*/false);
}

/// The lower of the two in the middle, of a dimension or of all elements.
static void median(Lowering &l) {
  Value x = l.get(0);
  if (!l.require(getType(x).hasStaticShape(), "the median of an open dimension"))
    return;
  if (l.op->getNumResults() > 1) {
    int64_t dim = l.dimension(1, getRank(x));
    return setKth(l, x, dim, ((getRank(x) ? getShape(x)[dim] : 1) - 1) / 2,
                  /*findsNaN=*/true);
  }
  const int64_t size = getType(x).getNumElements();
  x = l.reshape(x, {size});
  Value index = findKth(l, x, (size - 1) / 2, /*findsNaN=*/true);
  if (!index)
    return;
  Value found = l.takeLast(x, index);
  if (isa<FloatType>(getElement(x))) {
    // Its gradient goes to all elements that equal it, in equal parts.
    found = l.unary<StopGradientOp>(found);
    Value equal = l.compare(ComparePredicate::EQ, x, found);
    Value count = l.reduceLast(ReduceKind::Sum, l.cast(equal, getElement(x)), true);
    Value total = l.reduceLast(ReduceKind::Sum, passGradient(l, x, equal), true);
    found = l.add(found, l.div(total, l.binary<MaximumOp>(count, l.number(count, 1))));
  }
  l.set(l.reshape(found, l.resultType().getShape()));
}

/// How many of the sorted boundaries are below (or equal to) each value.
static void countBelow(Lowering &l, Value boundaries, Value values, bool right) {
  Type element = l.promote({0, 1});
  boundaries = l.cast(boundaries, element);
  values = l.cast(values, element);
  if (getRank(boundaries) > 1) { // a row of boundaries for each row of values
    Shape shape(getShape(boundaries));
    shape.insert(shape.end() - 1, 1);
    boundaries = l.reshape(boundaries, shape);
  }
  Shape shape(getShape(values));
  shape.push_back(1);
  Value below = l.compare(right ? ComparePredicate::LE : ComparePredicate::LT, boundaries,
                          l.reshape(values, shape));
  l.set(l.cast(l.reduceLast(ReduceKind::Sum, l.cast(below, l.builder.getI64Type())),
               l.resultElement()));
}

void mpt::torch::populateIndexing(Table &t) {
  t.add({"index.Tensor", "_unsafe_index.Tensor"}, indexBy);
  t.add({"index_select"}, indexSelect);
  t.add({"masked_scatter"}, maskedScatter);
  t.add({"gather"}, [](Lowering &l) {
    Value x = l.get(0);
    gatherAlong(l, x, l.get(2), l.dimension(1, getRank(x)));
  });
  t.add({"take_along_dim"}, takeAlong);
  t.add({"take"}, [](Lowering &l) {
    Value x = l.get(0);
    l.set(l.gather(l.reshape(x, {getType(x).getNumElements()}),
                   l.wrap(l.get(1), getType(x).getNumElements())));
  });
  t.add({"index_add"}, indexInto(true));
  t.add({"index_copy"}, indexInto(false));
  t.add({"index_fill.int_Scalar", "index_fill.int_Tensor"}, indexFill);
  t.add({"index_put", "_unsafe_index_put"}, indexPut);
  t.add({"scatter.src", "scatter.value"}, [](Lowering &l) {
    scatterAlong(l, l.get(3, getElement(l.get(0))), /*add=*/false);
  });
  t.add({"scatter_add"}, [](Lowering &l) { scatterAlong(l, l.get(3), /*add=*/true); });
  t.add({"scatter_reduce.two"},
        [](Lowering &l) { scatterReduce(l, l.text(4), l.flag(5, true)); });
  t.add({"scatter.reduce", "scatter.value_reduce"}, [](Lowering &l) {
    StringRef kind = l.text(4);
    scatterReduce(l, kind == "add" ? "sum" : kind == "multiply" ? "prod" : kind, true);
  });
  t.add({"as_strided"}, asStrided);
  t.add({"as_strided_scatter"}, asStridedScatter);
  t.add({"sort"}, sortBy(1, 2, true, true));
  t.add({"sort.stable"}, sortBy(2, 3, true, true));
  t.add({"argsort"}, sortBy(1, 2, false, true));
  t.add({"argsort.stable"}, sortBy(2, 3, false, true));
  t.add({"msort"}, [](Lowering &l) {
    Value x = l.get(0);
    l.set(getRank(x) ? l.moveFromLast(sortLast(l, l.moveToLast(x, 0), false).values, 0)
                     : x);
  });
  t.add({"kthvalue"}, kthValue);
  t.add({"median", "median.dim"}, median);
  t.add({"searchsorted.Tensor"}, [](Lowering &l) {
    if (l.require(l.isNone(4) && l.isNone(5), "side or sorter"))
      countBelow(l, l.get(0), l.get(1), l.flag(3));
  });
  t.add({"bucketize.Tensor"},
        [](Lowering &l) { countBelow(l, l.get(1), l.get(0), l.flag(3)); });
  t.add({"embedding"}, embedding);
  t.add({"embedding_bag", "embedding_bag.padding_idx"}, embeddingBag);
}
