//===- Indexing.cpp - Gather and scatter in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

/// `count` dimensions from `first` on: "3, 4".
static std::string spellRange(int64_t first, int64_t count) {
  SmallVector<std::string> words;
  for (int64_t i = first; i < first + count; ++i)
    words.push_back(std::to_string(i));
  return llvm::join(words, ", ");
}

/// [I..] as [I.., 1], an index of one number.
static Value asVectors(Emitter &e, Value indices) {
  Shape shape(getShape(indices));
  shape.push_back(1);
  return e.reshape(indices, shape);
}

static void convertGather(GatherOp op, Emitter &e) {
  Value table = e.get(op.getTable()), indices = e.get(op.getIndices());
  int64_t rank = getRank(indices), columns = getRank(table) - 1;
  Shape shape(getShape(indices)), sizes(getShape(table));
  llvm::append_range(shape, getShape(table).drop_front());
  sizes.front() = 1;
  std::string offsets =
      columns ? "offset_dims = [" + spellRange(rank, columns) + "], " : "";
  e.set(e.make("gather", getType(table).clone(shape), {table, asVectors(e, indices)},
               {e.opaque("dimension_numbers",
                         "gather<" + offsets +
                             "collapsed_slice_dims = [0], start_index_map = [0], "
                             "index_vector_dim = " +
                             Twine(rank) + ">"),
                e.flag("indices_are_sorted", false), e.array("slice_sizes", sizes)}));
}

/// `combiner`: the op of StableHLO that combines an element with an update.
template <typename Op>
static void convertScatter(Op op, Emitter &e, StringRef combiner) {
  Value indices = e.get(op.getIndices()), updates = e.widen(e.get(op.getUpdates()));
  Type element = getElement(updates);
  ArrayRef<int64_t> table = e.resultType().getShape();
  int64_t rank = getRank(indices), columns = static_cast<int64_t>(table.size()) - 1;
  Value init = op.getInit() ? e.widen(e.get(op.getInit())) : e.splat(element, table, 0.0);
  std::string windows =
      columns ? "update_window_dims = [" + spellRange(rank, columns) + "], " : "";
  Operation *scatter = e.build(
      "scatter", RankedTensorType::get(table, element),
      {init, asVectors(e, indices), updates},
      {e.flag("indices_are_sorted", false),
       e.opaque("scatter_dimension_numbers",
                "scatter<" + windows +
                    "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
                    "index_vector_dim = " +
                    Twine(rank) + ">"),
       e.flag("unique_indices", false)});
  e.fillCombiner(scatter, 0, combiner, element);
  e.set(scatter->getResult(0));
}

static void convertScatterAdd(ScatterAddOp op, Emitter &e) {
  convertScatter(op, e, "add");
}

static void convertScatterReduce(ScatterReduceOp op, Emitter &e) {
  convertScatter(op, e,
                 op.getKind() == ReduceKind::Max   ? "maximum"
                 : op.getKind() == ReduceKind::Min ? "minimum"
                                                   : "multiply");
}

/// StableHLO has no way to stop a program.
static void convertCheckIndices(CheckIndicesOp op, Emitter &e) {
  e.set(e.get(op.getIndices()));
}

void mpt::tostablehlo::populateIndexing(Table &table) {
  table.add(convertGather);
  table.add(convertScatterAdd);
  table.add(convertScatterReduce);
  table.add(convertCheckIndices);
}
