//===- Loops.cpp - Scans as loops of StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

namespace {
/// Slice `index` of dimension 0.
struct Slices {
  Slices(Emitter &e, Value index) : e(e), index(index) {}

  SmallVector<Value> getStarts(Value x) {
    SmallVector<Value> starts(getRank(x), Value());
    starts[0] = index;
    for (Value &start : MutableArrayRef<Value>(starts).drop_front())
      start = e.splat(getElement(index), {}, 0.0);
    return starts;
  }
  Value read(Value x) {
    Shape sizes(getShape(x));
    sizes[0] = 1;
    SmallVector<Value> operands = {x};
    llvm::append_range(operands, getStarts(x));
    Value slice = e.make("dynamic_slice", getType(x).clone(sizes), operands,
                         e.array("slice_sizes", sizes));
    return e.reshape(slice, getShape(x).drop_front());
  }
  Value write(Value x, Value slice) {
    Shape sizes(getShape(x));
    sizes[0] = 1;
    SmallVector<Value> operands = {x, e.reshape(slice, sizes)};
    llvm::append_range(operands, getStarts(x));
    return e.make("dynamic_update_slice", x.getType(), operands);
  }

  Emitter &e;
  Value index;
};
} // namespace

/// A counter, what is carried, and the stacked results, which each iteration writes to.
static void convertScan(ScanOp op, Emitter &e) {
  Type i32 = e.builder.getI32Type();
  int64_t count = op.getTripCount();
  // More than any loop will run.
  if (op.getConditional())
    count = std::min<int64_t>(count, std::numeric_limits<int32_t>::max());
  if (count > std::numeric_limits<int32_t>::max())
    return e.refuse("it runs more than 2^31 - 1 times");
  unsigned numCarried = op.getNumCarried();
  SmallVector<Value> inits = {e.splat(i32, {}, 0.0)};
  for (Value init : op.getInits())
    inits.push_back(e.get(init));
  for (Value stacked : op->getResults().drop_front(numCarried))
    inits.push_back(e.splat(getElement(stacked), getShape(stacked), 0.0));
  Operation *loop = e.build("while", ValueRange(inits).getTypes(), inits);
  TypeRange types = loop->getResultTypes();
  e.fill(loop, 0, types, [&](ValueRange now) -> SmallVector<Value> {
    Value goesOn = e.compare("LT", now[0], e.splatInteger(i32, {}, count));
    return {op.getConditional() ? e.binary("and", goesOn, now[1]) : goesOn};
  });
  e.fill(loop, 1, types, [&](ValueRange now) -> SmallVector<Value> {
    Value index = now[0];
    if (op.getReverse())
      index = e.binary("subtract", e.splatInteger(i32, {}, count - 1), index);
    Slices slices(e, index);
    Block &body = op.getBlock();
    for (unsigned i = 0; i < numCarried; ++i)
      e.graph.values.map(body.getArgument(i), now[i + 1]);
    for (auto [argument, input] :
         llvm::zip_equal(body.getArguments().drop_front(numCarried), op.getInputs()))
      e.graph.values.map(argument, slices.read(e.get(input)));
    convertBlock(e.graph, body, e.builder);
    SmallVector<Value> next = {e.binary("add", now[0], e.splatInteger(i32, {}, 1))};
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      next.push_back(i < numCarried ? e.get(value)
                                    : slices.write(now[i + 1], e.get(value)));
    return next;
  });
  for (auto [index, result] : llvm::enumerate(loop->getResults().drop_front()))
    e.set(result, index);
}

void mpt::tostablehlo::populateLoops(Table &table) { table.add(convertScan); }
