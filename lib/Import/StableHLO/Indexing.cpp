//===- Indexing.cpp - gather, scatter and slices at indices ----- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Indexed dimensions of a tensor become the rows of a table, which `mpt.gather`,
/// `mpt.scatter_add` and `mpt.scatter_reduce` take by their row-major positions.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/ADT/StringSwitch.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value Lowering::clampIndex(Value x, int64_t largest) {
  return binary<MinimumOp>(binary<MaximumOp>(x, number(x, 0)),
                           number(x, static_cast<double>(largest)));
}

Value Lowering::linearize(ArrayRef<Value> coordinates, ArrayRef<int64_t> sizes) {
  Value position;
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (coordinates[i]) {
      Value part = mul(coordinates[i], static_cast<double>(stride));
      position = position ? add(position, part) : part;
    }
    stride *= sizes[i];
  }
  return position;
}

static int64_t productOf(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

/// Operand `index`, integers, as i64.
static Value getIndices(Lowering &l, unsigned index) {
  Value x = l.get(index);
  if (!l.require(isa<IntegerType>(getElement(x)), "indices that are not integers"))
    return l.constant(0, l.builder.getI64Type());
  if (!l.isUnsigned(index))
    return l.cast(x, l.builder.getI64Type());
  if (!getElement(x).isInteger(64))
    return l.zeroExtend(x);
  // Out of range in any case.
  Value largest = l.constants({std::numeric_limits<int64_t>::max()}, getElement(x), {});
  return l.where(l.compare(ComparePredicate::LT, x, 0.0), largest, x);
}

namespace {
/// The dimension numbers of a gather or scatter.
struct Numbers {
  Shape window;       // of the slices or updates
  Shape collapsed;    // of the operand, not in the window
  Shape operandBatch; // of the operand
  Shape indicesBatch; // of the indices
  Shape map;          // of the operand, for each index
  int64_t vector = 0; // of the indices

  bool isWindow(int64_t dim) const {
    return !llvm::is_contained(collapsed, dim) && !llvm::is_contained(operandBatch, dim);
  }
};

/// The dimensions of an operand of which some places are chosen, and those that are taken
/// whole.
struct Rows {
  Shape indexed, whole; // dimensions of the operand
  Shape rowSizes;       // of the indexed ones in the operand
  Shape windowSizes;    // of the indexed ones in the window
  Shape order;          // indexed, then whole
};
} // namespace

/// Index `k` of each vector, without the vectors' dimension.
static Value indexOf(Lowering &l, Value indices, int64_t vector, int64_t k) {
  if (vector == getRank(indices))
    return indices;
  Shape shape(getShape(indices));
  shape.erase(shape.begin() + vector);
  return l.reshape(l.slice(indices, vector, k, 1), shape);
}

/// Of each dimension in `rows.indexed` the coordinate of each place of the window, as i64
/// [batch.., window..], any size 1; null for 0. `limit` bounds each start: -1 not at all.
/// `valid`, if given, is whether the whole window of a start lies inside.
static SmallVector<Value> getCoordinates(Lowering &l, Value operand, Value indices,
                                         const Numbers &n, const Rows &rows,
                                         ArrayRef<int64_t> batch, bool clamp,
                                         Value *valid) {
  SmallVector<Value> coordinates;
  Type i64 = l.builder.getI64Type();
  unsigned rank = batch.size() + rows.indexed.size();
  auto spread = [&](Value start) { // [batch..] -> [batch.., 1..]
    Shape shape(getShape(start));
    shape.resize(rank, 1);
    return l.reshape(start, shape);
  };
  for (auto [i, dim] : llvm::enumerate(rows.indexed)) {
    Value coordinate;
    int64_t last = rows.rowSizes[i] - rows.windowSizes[i];
    const int64_t *mapped = llvm::find(n.map, dim);
    const int64_t *batched = llvm::find(n.operandBatch, dim);
    if (mapped != n.map.end()) {
      Value start = indexOf(l, indices, n.vector, mapped - n.map.begin());
      if (clamp)
        start = l.clampIndex(start, last);
      if (valid) {
        Value inside = l.binary<AndOp>(
            l.compare(ComparePredicate::GE, start, 0.0),
            l.compare(ComparePredicate::LE, start, static_cast<double>(last)));
        *valid = *valid ? l.binary<AndOp>(*valid, inside) : inside;
      }
      coordinate = spread(start);
    } else if (batched != n.operandBatch.end()) {
      int64_t from = n.indicesBatch[batched - n.operandBatch.begin()];
      from -= from > n.vector;
      Shape shape(rank, 1);
      shape[from] = batch[from];
      coordinate = l.iota(shape, from, i64);
    }
    if (rows.windowSizes[i] > 1) {
      Shape shape(rank, 1);
      shape[batch.size() + i] = rows.windowSizes[i];
      Value offset = l.iota(shape, batch.size() + i, i64);
      coordinate = coordinate ? l.add(coordinate, offset) : offset;
    }
    coordinates.push_back(coordinate);
  }
  return coordinates;
}

/// Positions of rows as [batch.., window..].
static Value getPositions(Lowering &l, ArrayRef<Value> coordinates, const Rows &rows,
                          ArrayRef<int64_t> batch) {
  Shape shape(batch);
  llvm::append_range(shape, rows.windowSizes);
  Value position = l.linearize(coordinates, rows.rowSizes);
  if (!position)
    position = l.constant(0, l.builder.getI64Type());
  return l.broadcast(position, shape);
}

static bool checkNumbers(Lowering &l, const Numbers &n, int64_t operandRank,
                         Value indices) {
  int64_t rank = getRank(indices);
  auto below = [](ArrayRef<int64_t> dims, int64_t limit) {
    return llvm::all_of(dims, [=](int64_t dim) { return dim >= 0 && dim < limit; });
  };
  int64_t vectors = n.vector == rank  ? 1
                    : n.vector < rank ? getShape(indices)[n.vector]
                                      : -1;
  return l.require(
      below(n.collapsed, operandRank) && below(n.operandBatch, operandRank) &&
          below(n.map, operandRank) && below(n.indicesBatch, rank) &&
          n.operandBatch.size() == n.indicesBatch.size() && n.vector >= 0 &&
          n.vector <= rank && vectors == static_cast<int64_t>(n.map.size()) &&
          !llvm::is_contained(n.indicesBatch, n.vector),
      "dimension numbers that do not fit the operands");
}

static Shape getBatch(Value indices, int64_t vector) {
  Shape batch(getShape(indices));
  if (vector < static_cast<int64_t>(batch.size()))
    batch.erase(batch.begin() + vector);
  return batch;
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// As the op gather, for any window.
static Value gatherWindows(Lowering &l, Value operand, Value indices, const Numbers &n,
                           ArrayRef<int64_t> sizes, ArrayRef<int64_t> resultShape) {
  Rows rows;
  for (int64_t dim : llvm::seq<int64_t>(0, getRank(operand))) {
    int64_t size = getShape(operand)[dim];
    if (!l.require(sizes[dim] >= 0 && sizes[dim] <= size &&
                       (n.isWindow(dim) || sizes[dim] == 1),
                   "a slice that is larger than the tensor"))
      return operand;
    bool mapped = llvm::is_contained(n.map, dim);
    if (llvm::is_contained(n.operandBatch, dim) || (mapped && sizes[dim] != size)) {
      rows.indexed.push_back(dim);
      rows.rowSizes.push_back(size);
      rows.windowSizes.push_back(sizes[dim]);
    } else {
      rows.whole.push_back(dim);
    }
  }
  if (llvm::is_contained(resultShape, 0))
    return l.constant(0, getElement(operand), resultShape);
  // What is not indexed starts at 0.
  Shape tableShape{productOf(rows.rowSizes)};
  for (int64_t dim : rows.whole) {
    operand = l.slice(operand, dim, 0, sizes[dim]);
    tableShape.push_back(sizes[dim]);
  }
  rows.order = rows.indexed;
  llvm::append_range(rows.order, rows.whole);
  Shape batch = getBatch(indices, n.vector);
  SmallVector<Value> coordinates =
      getCoordinates(l, operand, indices, n, rows, batch, /*clamp=*/true, nullptr);
  Value table = l.reshape(l.transpose(operand, rows.order), tableShape);
  bool truth = getElement(table).isInteger(1);
  if (truth)
    table = l.cast(table, l.builder.getI8Type());
  Value y = l.gather(table, getPositions(l, coordinates, rows, batch));
  if (truth)
    y = l.cast(y, l.builder.getI1Type());
  // [batch.., indexed.., whole..] without the collapsed ones, which have size 1.
  Shape shape(batch), windowDims; // windowDims: the operand's dimension of each
  for (auto [dim, size] : llvm::zip_equal(rows.indexed, rows.windowSizes))
    if (n.isWindow(dim)) {
      shape.push_back(size);
      windowDims.push_back(dim);
    }
  for (int64_t dim : rows.whole)
    if (n.isWindow(dim)) {
      shape.push_back(sizes[dim]);
      windowDims.push_back(dim);
    }
  y = l.reshape(y, shape);
  // Window dimensions in the operand's order go to n.window, others to the rest.
  if (!l.require(n.window.size() == windowDims.size() &&
                     shape.size() == resultShape.size(),
                 "dimension numbers that do not fit the result"))
    return y;
  Shape sorted(windowDims), order(shape.size(), -1);
  llvm::sort(sorted);
  for (auto [k, dim] : llvm::enumerate(sorted)) {
    int64_t to = n.window[k];
    if (!l.require(to >= 0 && to < static_cast<int64_t>(order.size()) && order[to] < 0,
                   "dimension numbers that do not fit the result"))
      return y;
    order[to] = batch.size() + (llvm::find(windowDims, dim) - windowDims.begin());
  }
  int64_t next = 0;
  for (int64_t &from : order)
    if (from < 0)
      from = next++;
  return l.transpose(y, order);
}

static void gather(Lowering &l) {
  Value operand = l.get(0), indices = getIndices(l, 1);
  StringRef name = "dimension_numbers";
  Numbers n{
      l.list(name, "offset_dims"),           l.list(name, "collapsed_slice_dims"),
      l.list(name, "operand_batching_dims"), l.list(name, "start_indices_batching_dims"),
      l.list(name, "start_index_map"),       l.number(name, "index_vector_dim", 0)};
  Shape sizes = l.integers("slice_sizes", getRank(operand), 1);
  if (!l.refusal.empty() || !checkNumbers(l, n, getRank(operand), indices))
    return;
  l.set(gatherWindows(l, operand, indices, n, sizes, l.resultShape()));
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// More comparisons of rows with indices, or of indices with each other, than this are
/// refused.
static constexpr int64_t maxComparisons = int64_t(1) << 28;

namespace {
/// Rows of `table` [rows, width] become what `body` makes of them and of the updates
/// [count, width] at `indices` [count], i64. Rows that are out of range are left out.
struct RowScatter {
  Lowering &l;
  Value table, indices, updates;
  int64_t rows, count, width;
  Type element;

  RowScatter(Lowering &l, Value table, Value indices, Value updates)
      : l(l), table(table), indices(indices), updates(updates), rows(getShape(table)[0]),
        count(getShape(updates)[0]), width(getShape(table)[1]),
        element(getElement(table)) {}

  /// [count]: whether an index is in range.
  Value isInside() {
    return l.binary<AndOp>(
        l.compare(ComparePredicate::GE, indices, 0.0),
        l.compare(ComparePredicate::LT, indices, static_cast<double>(rows)));
  }
  /// The indices; `rows` where they are out of range.
  Value getRow() {
    return l.where(isInside(), indices, l.number(indices, static_cast<double>(rows)));
  }

  /// Zeros with `numbers` (floats, [count, n]) added to rows.
  Value sum(Value numbers) {
    auto scatter = [&](int64_t height, Value at, Value updates) -> Value {
      auto type =
          RankedTensorType::get({height, getShape(numbers)[1]}, getElement(numbers));
      return ScatterAddOp::create(l.builder, l.loc, type, at, updates, Value());
    };
    // What is out of range is added to one more row, or as zeros, whichever copies less.
    if (rows < count)
      return l.slice(scatter(rows + 1, getRow(), numbers), 0, 0, rows);
    Value inside = isInside();
    return scatter(rows, l.where(inside, indices, l.number(indices, 0)),
                   l.where(l.reshape(inside, {count, 1}), numbers, l.number(numbers, 0)));
  }

  /// Zeros with `updates`, of unequal indices, in their rows. Integers are moved as parts
  /// of 16 bits, which f32 holds.
  Value place() {
    if (isa<FloatType>(element))
      return sum(updates);
    Type f32 = l.builder.getF32Type();
    unsigned bits = element.getIntOrFloatBitWidth();
    if (bits <= 16)
      return l.cast(sum(l.cast(updates, f32)), element);
    SmallVector<Value> parts;
    for (unsigned bit = 0; bit < bits; bit += 16)
      parts.push_back(l.cast(l.bitAnd(l.shiftRight(updates, bit), 0xffff), f32));
    Value sums = l.cast(sum(l.concat(parts, 1)), element), whole;
    for (auto [i, part] : llvm::enumerate(parts)) {
      Value column = l.shiftLeft(l.slice(sums, 1, i * width, width), 16 * i);
      whole = whole ? l.binary<OrOp>(whole, column) : column;
    }
    return whole;
  }

  /// Rows replaced by `updates` of unequal indices.
  Value replace() {
    Value hits = sum(l.constant(1, l.builder.getF32Type(), {count, 1}));
    return l.where(l.compare(ComparePredicate::GT, hits, 0.0), place(), table);
  }

  /// [n, count]: whether an update's index is the n-th of `numbers`.
  Value isAt(Value numbers) {
    return l.compare(ComparePredicate::EQ, l.reshape(indices, {1, count}),
                     l.reshape(numbers, {getType(numbers).getNumElements(), 1}));
  }

  bool affords(int64_t comparisons, int64_t each) {
    return l.require(comparisons <= maxComparisons / count / std::max<int64_t>(each, 1),
                     "updates of too many rows that may be equal; say unique_indices");
  }

  /// Leaves the last update of each row alone.
  void dropEarlier() {
    if (!affords(count, 1))
      return;
    Type i64 = l.builder.getI64Type();
    Value later = l.compare(ComparePredicate::GT, l.iota({1, count}, 1, i64),
                            l.iota({count, 1}, 0, i64));
    Value dropped = l.reduceBy("or", l.binary<AndOp>(isAt(indices), later), {1});
    indices = l.where(dropped, l.number(indices, -1), indices);
  }

  Value set(bool unique) {
    if (unique || count == 1)
      return replace();
    if (count < rows) {
      dropEarlier();
      return l.refusal.empty() ? replace() : table;
    }
    if (!affords(rows, 1))
      return table;
    Type i64 = l.builder.getI64Type();
    Value last = l.reduceLast(ReduceKind::Max,
                              l.where(isAt(l.iota({rows}, 0, i64)),
                                      l.iota({1, count}, 1, i64), l.constant(-1, i64)));
    Value chosen = l.gather(updates, l.binary<MaximumOp>(last, l.constant(0, i64)));
    Value any = l.reshape(l.compare(ComparePredicate::GE, last, 0.0), {rows, 1});
    return l.where(any, chosen, table);
  }

  /// The table's rows at the indices, or some others where these are out of range.
  Value current() { return l.gather(table, l.clampIndex(indices, rows - 1)); }

  /// `updates` of equal indices combined, for the n-th of `numbers`.
  Value combined(StringRef body, Value numbers) {
    int64_t n = getType(numbers).getNumElements();
    Value candidates =
        l.where(l.reshape(isAt(numbers), {n, count, 1}),
                l.reshape(updates, {1, count, width}), l.neutral(body, element));
    return l.reduceBy(body, candidates, {1});
  }

  Value combine(StringRef body, bool unique) {
    if (body == "add" && isa<FloatType>(element)) {
      Value sums = sum(updates);
      return l.isNeutral("add", table) ? sums : l.add(table, sums);
    }
    const std::optional<ReduceKind> kind =
        llvm::StringSwitch<std::optional<ReduceKind>>(body)
            .Case("maximum", ReduceKind::Max)
            .Case("minimum", ReduceKind::Min)
            .Case("multiply", ReduceKind::Prod)
            .Default(std::nullopt);
    if (kind && !unique && isa<FloatType>(element) &&
        element.getIntOrFloatBitWidth() <= 32)
      return reduce(*kind, l.neutral(body, element), l.isNeutral(body, table));
    if (rows <= count) {
      if (!unique && !affords(rows, width))
        return table;
      if (!unique)
        return l.combine(body, table,
                         combined(body, l.iota({rows}, 0, l.builder.getI64Type())));
    } else if (!unique && count > 1) {
      if (!affords(count, width))
        return table;
      updates = combined(body, indices);
      dropEarlier();
    }
    updates = l.combine(body, current(), updates);
    return replace();
  }

  /// Rows of floats and the updates of each, which may be several. neutral: what changes
  /// nothing; isNeutral: all of the table is.
  Value reduce(ReduceKind kind, Value neutral, bool isNeutral) {
    auto scatter = [&](Value first, Value at, Value updates) -> Value {
      return ScatterReduceOp::create(l.builder, l.loc, first.getType(), at, updates,
                                     first, kind);
    };
    // What is out of range goes to one more row, or changes nothing, whichever copies
    // less.
    if (rows < count) {
      Value first = isNeutral ? l.broadcast(neutral, {rows + 1, width})
                              : l.concat({table, l.broadcast(neutral, {1, width})}, 0);
      return l.slice(scatter(first, getRow(), updates), 0, 0, rows);
    }
    Value inside = isInside();
    return scatter(table, l.where(inside, indices, l.number(indices, 0)),
                   l.where(l.reshape(inside, {count, 1}), updates, neutral));
  }

  /// Any body. One update after the other, if they may have one index.
  Value apply(Block &body, bool unique) {
    if (unique || count == 1) {
      SmallVector<Value> results = l.applyBody(body, {current(), updates});
      if (!l.require(results.size() == 1, "a body of more than one result"))
        return table;
      updates = results[0];
      return replace();
    }
    if (!affords(rows, width))
      return table;
    auto scan = ScanOp::create(
        l.builder, l.loc, TypeRange(table.getType()), l.builder.getI64IntegerAttr(count),
        UnitAttr(), ValueRange(table), ValueRange{indices, updates},
        /*checkpoint_every=*/IntegerAttr(), /*conditional=*/UnitAttr());
    OpBuilder::InsertionGuard guard(l.builder);
    SmallVector<Type> types = {table.getType(),
                               getType(indices).clone(ArrayRef<int64_t>()),
                               getType(updates).clone({width})};
    Block *block = l.builder.createBlock(&scan.getBody(), {}, types,
                                         SmallVector<Location>(3, l.loc));
    Value now = block->getArgument(0);
    Value here =
        l.compare(ComparePredicate::EQ, l.iota({rows, 1}, 0, l.builder.getI64Type()),
                  block->getArgument(1));
    SmallVector<Value> results =
        l.applyBody(body, {now, l.broadcast(block->getArgument(2), getShape(table))});
    if (!l.require(results.size() == 1, "a body of more than one result"))
      results = {now};
    YieldOp::create(l.builder, l.loc, l.where(here, results[0], now));
    return scan.getResult(0);
  }
};
} // namespace

/// As `RowScatter`, for a table, indices and updates of any shape that fits, and a body
/// that is one op, "set" or "" for any.
static Value scatterRows(Lowering &l, Value table, Value indices, Value updates,
                         StringRef body, bool unique) {
  Type element = getElement(table);
  Type i32 = l.builder.getI32Type();
  if (element.isInteger(1) && !body.empty()) {
    StringRef numbers = body == "and" || body == "multiply" ? "minimum"
                        : body == "or" || body == "add"     ? "maximum"
                                                            : body;
    return l.cast(scatterRows(l, l.cast(table, i32), indices, l.cast(updates, i32),
                              numbers, unique),
                  element);
  }
  int64_t rows = getShape(table)[0], count = getType(indices).getNumElements(),
          width = productOf(getShape(table).drop_front());
  if (count == 0)
    return table;
  Value wide = l.reshape(table, {rows, width});
  RowScatter scatter(l, wide, l.reshape(indices, {count}),
                     l.reshape(updates, {count, width}));
  Value result = body == "set"  ? scatter.set(unique)
                 : body.empty() ? scatter.apply(l.op->getRegion(0).front(), unique)
                                : scatter.combine(body, unique);
  return l.reshape(result, getShape(table));
}

static void scatter(Lowering &l) {
  if (!l.require(l.size() == 3 && l.op->getNumResults() == 1 &&
                     l.op->getNumRegions() == 1 && l.op->getRegion(0).hasOneBlock(),
                 "expected one operand, indices and updates"))
    return;
  Value operand = l.get(0), indices = getIndices(l, 1), updates = l.get(2);
  StringRef name = "scatter_dimension_numbers";
  Numbers n{l.list(name, "update_window_dims"),
            l.list(name, "inserted_window_dims"),
            l.list(name, "input_batching_dims"),
            l.list(name, "scatter_indices_batching_dims"),
            l.list(name, "scatter_dims_to_operand_dims"),
            l.number(name, "index_vector_dim", 0)};
  StringRef body = l.bodyOf(0);
  Block &block = l.op->getRegion(0).front();
  if (block.getNumArguments() == 2 && !block.empty() &&
      block.back().getNumOperands() == 1 &&
      block.back().getOperand(0) == block.getArgument(1))
    body = "set";
  if (!l.require(block.getNumArguments() == 2 && !block.empty() &&
                     block.back().getNumOperands() == 1,
                 "expected a body of two arguments and one result"))
    return;
  // The order of unsigned integers is that of others with another sign.
  bool flips = l.isUnsigned(0) && (body == "maximum" || body == "minimum");
  if (flips) {
    operand = l.flipSign(operand);
    updates = l.flipSign(updates);
  }
  int64_t rank = getRank(operand);
  if (!l.refusal.empty() || !checkNumbers(l, n, rank, indices))
    return;
  // The window's size along each dimension of the operand.
  Shape sizes(rank, 1), updateDims;
  size_t next = 0;
  bool fits = true;
  for (int64_t dim : llvm::seq<int64_t>(0, rank)) {
    if (!n.isWindow(dim))
      continue;
    fits = fits && next < n.window.size() && n.window[next] >= 0 &&
           n.window[next] < getRank(updates);
    if (!fits)
      break;
    sizes[dim] = getShape(updates)[n.window[next++]];
  }
  Shape batch = getBatch(indices, n.vector);
  if (!l.require(fits && next == n.window.size() &&
                     getRank(updates) == static_cast<int64_t>(batch.size() + next),
                 "dimension numbers that do not fit the updates"))
    return;
  Rows rows;
  for (int64_t dim : llvm::seq<int64_t>(0, rank)) {
    int64_t size = getShape(operand)[dim];
    if (sizes[dim] != size || !n.isWindow(dim) || llvm::is_contained(n.map, dim)) {
      rows.indexed.push_back(dim);
      rows.rowSizes.push_back(size);
      rows.windowSizes.push_back(sizes[dim]);
    } else {
      rows.whole.push_back(dim);
    }
  }
  rows.order = rows.indexed;
  llvm::append_range(rows.order, rows.whole);
  if (getType(updates).getNumElements() == 0 || getType(operand).getNumElements() == 0)
    return l.set(l.get(0));
  // Updates as [batch.., indexed.., whole..].
  Shape order, arranged;
  for (int64_t dim : llvm::seq<int64_t>(0, getRank(updates)))
    if (!llvm::is_contained(n.window, dim))
      order.push_back(dim);
  auto windowOf = [&](int64_t dim) {
    size_t k = 0;
    for (int64_t other : llvm::seq<int64_t>(0, dim))
      k += n.isWindow(other);
    return n.window[k];
  };
  for (int64_t dim : rows.order)
    if (n.isWindow(dim))
      order.push_back(windowOf(dim));
  arranged = batch;
  llvm::append_range(arranged, rows.windowSizes);
  Shape tableShape{productOf(rows.rowSizes)}, permuted(rows.rowSizes);
  for (int64_t dim : rows.whole) {
    arranged.push_back(sizes[dim]);
    tableShape.push_back(sizes[dim]);
    permuted.push_back(sizes[dim]);
  }
  Value values = l.reshape(l.transpose(updates, order), arranged), valid;
  SmallVector<Value> coordinates =
      getCoordinates(l, operand, indices, n, rows, batch, /*clamp=*/false, &valid);
  Value positions = getPositions(l, coordinates, rows, batch);
  if (valid) {
    Shape shape(batch);
    shape.resize(getRank(positions), 1);
    positions = l.where(l.reshape(valid, shape), positions, l.number(positions, -1));
  }
  Value table = l.reshape(l.transpose(operand, rows.order), tableShape);
  if (l.isNeutral("add", operand))
    table = l.constant(0, getElement(operand), tableShape);
  // One window has no place twice.
  bool unique = l.flag("unique_indices") || productOf(batch) == 1;
  table = scatterRows(l, table, positions, values, body, unique);
  Shape inverse(rank);
  for (auto [i, dim] : llvm::enumerate(rows.order))
    inverse[dim] = i;
  if (!l.refusal.empty())
    return;
  Value result = l.transpose(l.reshape(table, permuted), inverse);
  l.set(flips ? l.flipSign(result) : result);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The first indices of a dynamic slice, from operand `from` on; constants are clamped.
static std::optional<Shape> getConstantStarts(Lowering &l, unsigned from,
                                              ArrayRef<int64_t> shape,
                                              ArrayRef<int64_t> sizes) {
  Shape starts;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    std::optional<double> number = l.getConstant(from + i);
    int64_t last = shape[i] - size;
    if (last == 0)
      number = 0;
    if (!number)
      return std::nullopt;
    starts.push_back(std::clamp<int64_t>(static_cast<int64_t>(*number), 0, last));
  }
  return starts;
}

static bool checkSizes(Lowering &l, ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes,
                       unsigned from) {
  bool fits = sizes.size() == shape.size() && l.size() == from + shape.size();
  for (auto [size, whole] : llvm::zip(sizes, shape))
    fits = fits && size >= 0 && size <= whole;
  return l.require(fits, "a slice that does not fit");
}

static void dynamicSlice(Lowering &l) {
  Value x = l.get(0);
  Shape shape(getShape(x)), sizes = l.integers("slice_sizes", getRank(x), 1);
  if (!l.refusal.empty() || !checkSizes(l, shape, sizes, 1))
    return;
  if (std::optional<Shape> starts = getConstantStarts(l, 1, shape, sizes)) {
    for (auto [dim, start] : llvm::enumerate(*starts))
      x = l.slice(x, dim, start, sizes[dim]);
    return l.set(x);
  }
  // One vector of indices, with an index for each dimension that is not whole.
  Numbers n;
  SmallVector<Value> starts;
  for (int64_t dim : llvm::seq<int64_t>(0, getRank(x))) {
    n.window.push_back(dim);
    if (sizes[dim] != shape[dim]) {
      n.map.push_back(dim);
      starts.push_back(l.reshape(getIndices(l, dim + 1), {1}));
    }
  }
  Value indices = l.concat(starts, 0);
  if (l.refusal.empty())
    l.set(gatherWindows(l, x, indices, n, sizes, sizes));
}

static void dynamicUpdateSlice(Lowering &l) {
  Value x = l.get(0), update = l.get(1);
  Shape shape(getShape(x)), sizes(getShape(update));
  if (!l.refusal.empty() || !checkSizes(l, shape, sizes, 2))
    return;
  if (shape == sizes)
    return l.set(update);
  if (getType(update).getNumElements() == 0)
    return l.set(x);
  Value inside;
  auto restrict = [&](Value condition) {
    inside = inside ? l.binary<AndOp>(inside, condition) : condition;
  };
  Type i64 = l.builder.getI64Type();
  std::optional<Shape> starts = getConstantStarts(l, 2, shape, sizes);
  if (starts && llvm::count_if(llvm::zip(shape, sizes), [](auto pair) {
                  return std::get<0>(pair) != std::get<1>(pair);
                }) == 1) {
    for (auto [dim, start] : llvm::enumerate(*starts)) {
      if (shape[dim] == sizes[dim])
        continue;
      SmallVector<Value> parts;
      if (start)
        parts.push_back(l.slice(x, dim, 0, start));
      parts.push_back(update);
      if (int64_t rest = shape[dim] - start - sizes[dim])
        parts.push_back(l.slice(x, dim, start + sizes[dim], rest));
      return l.set(l.concat(parts, dim));
    }
  }
  for (int64_t dim : llvm::seq<int64_t>(0, getRank(x))) {
    if (sizes[dim] == shape[dim])
      continue;
    Value start =
        l.reshape(l.clampIndex(getIndices(l, dim + 2), shape[dim] - sizes[dim]), {});
    Value place = l.sub(l.iota({shape[dim]}, 0, i64), start);
    Value here = l.binary<AndOp>(
        l.compare(ComparePredicate::GE, place, 0.0),
        l.compare(ComparePredicate::LT, place, static_cast<double>(sizes[dim])));
    Shape along(getRank(x) - dim, 1);
    along[0] = shape[dim];
    restrict(l.reshape(here, along));
    // The update's slice at each place; anything outside.
    if (sizes[dim] == 1)
      continue; // broadcasts
    Shape order{dim}, inverse(getRank(x));
    for (int64_t i : llvm::seq<int64_t>(0, getRank(x)))
      if (i != dim)
        order.push_back(i);
    for (auto [i, from] : llvm::enumerate(order))
      inverse[from] = i;
    bool truth = getElement(update).isInteger(1);
    Value rows = truth ? l.cast(update, l.builder.getI8Type()) : update;
    rows = l.gather(l.transpose(rows, order), l.clampIndex(place, sizes[dim] - 1));
    update = l.transpose(rows, inverse);
    if (truth)
      update = l.cast(update, l.builder.getI1Type());
  }
  l.set(l.where(inside, update, x));
}

void mpt::stablehlo::populateIndexing(Table &t) {
  t.add({"stablehlo.gather"}, gather);
  t.add({"stablehlo.scatter"}, scatter);
  t.add({"stablehlo.dynamic_slice"}, dynamicSlice);
  t.add({"stablehlo.dynamic_update_slice"}, dynamicUpdateSlice);
}
