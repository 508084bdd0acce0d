//===- Shapes.cpp - Constants and moves of StableHLO ------------ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

void mpt::stablehlo::setConstant(Lowering &l) {
  (void)l.resultType();
  Attribute found = l.attribute("value");
  if (!l.refusal.empty())
    return;
  ElementsAttr value =
      importer::retype(found, convertTensorType(l.op->getResult(0).getType()));
  if (!value)
    return l.refuse("expected elements of the result's type");
  l.set(ConstantOp::create(l.builder, l.loc, value));
}

static void iota(Lowering &l) {
  int64_t axis = l.integer("iota_dimension", 0);
  RankedTensorType type = l.resultType();
  if (!l.require(axis >= 0 && axis < type.getRank(), "a dimension that is not there"))
    return;
  l.set(l.iota(type.getShape(), axis, type.getElementType()));
}

static void broadcastInDim(Lowering &l) {
  Value x = l.get(0);
  RankedTensorType type = l.resultType();
  Shape dims = l.integers("broadcast_dimensions", getRank(x), 0);
  if (!l.refusal.empty())
    return;
  // The operand's dimensions in the order of the result's.
  Shape order = llvm::to_vector(llvm::seq<int64_t>(0, getRank(x)));
  llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  Value y = l.transpose(x, order);
  Shape shape(type.getRank(), 1);
  for (auto [i, from] : llvm::enumerate(order)) {
    int64_t to = dims[from];
    if (!l.require(to >= 0 && to < type.getRank() && (i == 0 || dims[order[i - 1]] != to),
                   "a dimension that is not there"))
      return;
    shape[to] = getShape(y)[i];
  }
  // Leading dimensions of size 1 are left to the broadcast.
  ArrayRef<int64_t> narrow(shape);
  if (getRank(x) == 0)
    narrow = {};
  l.set(l.broadcast(l.reshape(y, narrow), type.getShape()));
}

static void transpose(Lowering &l) {
  Value x = l.get(0);
  Shape permutation = l.integers("permutation", getRank(x), 0);
  Shape sorted(permutation);
  llvm::sort(sorted);
  if (l.require(llvm::equal(sorted, llvm::seq<int64_t>(0, getRank(x))),
                "a permutation that leaves out a dimension"))
    l.set(l.transpose(x, permutation));
}

static void slice(Lowering &l) {
  Value x = l.get(0);
  unsigned rank = getRank(x);
  Shape starts = l.integers("start_indices", rank, 0),
        limits = l.integers("limit_indices", rank, 0),
        strides = l.integers("strides", rank, 1), sizes;
  if (!l.refusal.empty())
    return;
  for (unsigned i : llvm::seq(0u, rank)) {
    if (!l.require(strides[i] >= 1 && starts[i] >= 0 && starts[i] <= limits[i] &&
                       limits[i] <= getShape(x)[i],
                   "a slice outside of the tensor"))
      return;
    sizes.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
  }
  if (ArrayRef<int64_t>(sizes) == getShape(x) && strides == Shape(rank, 1))
    return l.set(x);
  l.set(SliceOp::create(l.builder, l.loc, getType(x).clone(sizes), x, starts, sizes,
                        strides));
}

static void pad(Lowering &l) {
  Value x = l.get(0);
  unsigned rank = getRank(x);
  Shape low = l.integers("edge_padding_low", rank, 0),
        high = l.integers("edge_padding_high", rank, 0),
        interior = l.integers("interior_padding", rank, 0);
  Value value = l.get(1);
  if (!l.refusal.empty() ||
      !l.require(getRank(value) == 0, "expected a number to pad by") ||
      !l.require(llvm::all_of(interior, [](int64_t n) { return n >= 0; }),
                 "a negative interior padding"))
    return;
  l.set(l.padBy(x, value, low, high, interior));
}

static void concatenate(Lowering &l) {
  SmallVector<Value> values = l.getAll();
  int64_t dim = l.integer("dimension", 0);
  if (!l.require(!values.empty() && dim >= 0 && dim < getRank(values[0]),
                 "a dimension that is not there"))
    return;
  for (Value value : values)
    if (!l.require(getRank(value) == getRank(values[0]), "operands of unequal ranks"))
      return;
  // What is empty adds nothing.
  SmallVector<Value> filled = llvm::filter_to_vector(
      values, [&](Value value) { return getType(value).getNumElements() != 0; });
  l.set(l.concat(filled.empty() ? ArrayRef(values).take_front() : filled, dim));
}

static void reverse(Lowering &l) {
  Value x = l.get(0);
  auto dims = dyn_cast_or_null<DenseI64ArrayAttr>(l.attribute("dimensions"));
  if (!dims)
    return l.refuse("attribute dimensions: expected integers");
  for (int64_t dim : dims.asArrayRef()) {
    if (!l.require(dim >= 0 && dim < getRank(x), "a dimension that is not there"))
      return;
    x = l.reverseDimension(x, dim);
  }
  l.set(x);
}

static void barrier(Lowering &l) {
  SmallVector<Value> values = l.getAll();
  if (!l.refusal.empty())
    return;
  auto barrier =
      BarrierOp::create(l.builder, l.loc, ValueRange(values).getTypes(), values);
  for (auto [i, value] : llvm::enumerate(barrier.getOutputs()))
    l.set(value, i);
}

void mpt::stablehlo::populateShapes(Table &t) {
  t.add({"stablehlo.constant", "chlo.constant"}, setConstant);
  t.add({"stablehlo.iota"}, iota);
  t.add({"stablehlo.broadcast_in_dim"}, broadcastInDim);
  t.add({"stablehlo.reshape"},
        [](Lowering &l) { l.set(l.reshape(l.get(0), l.resultShape())); });
  t.add({"stablehlo.transpose"}, transpose);
  t.add({"stablehlo.slice"}, slice);
  t.add({"stablehlo.pad"}, pad);
  t.add({"stablehlo.concatenate"}, concatenate);
  t.add({"stablehlo.reverse"}, reverse);
  t.add({"stablehlo.optimization_barrier"}, barrier);
}
