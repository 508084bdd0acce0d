//===- Collectives.cpp - Exchanges between ranks ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "Evaluator.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

namespace {

/// The ranks along one axis of a mesh that meet: those that differ in no other axis.
class Axis {
public:
  Axis(MeshAttr mesh, StringRef name) {
    for (auto [each, extent] : llvm::zip_equal(mesh.getNames(), mesh.getSizes())) {
      if (isFound)
        stride *= extent;
      if (each.getValue() != name)
        continue;
      isFound = true;
      size = extent;
    }
  }
  int64_t getPosition(int64_t rank) const { return rank / stride % size; }
  /// The frames of those that meet `rank`, in order.
  SmallVector<Frame *> getGroup(ArrayRef<Frame *> frames, int64_t rank) const {
    SmallVector<Frame *> group;
    const int64_t first = rank - getPosition(rank) * stride;
    for (int64_t i = 0; i < size; ++i)
      group.push_back(frames[first + i * stride]);
    return group;
  }

  int64_t size = 1;

private:
  bool isFound = false;
  int64_t stride = 1;
};

} // namespace

/// f64 if `operand` or `result` is, else f32.
static Type getSumType(Value operand, Value result) {
  MLIRContext *context = operand.getContext();
  const bool isWide =
      getElementTypeOrSelf(operand).isF64() || getElementTypeOrSelf(result).isF64();
  return isWide ? Type(Float64Type::get(context)) : Type(Float32Type::get(context));
}

static double combine(CollectiveKind kind, double a, double b) {
  if (kind == CollectiveKind::Sum || kind == CollectiveKind::Mean)
    return a + b;
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return kind == CollectiveKind::Max ? std::max(a, b) : std::min(a, b);
}

static int64_t combine(CollectiveKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case CollectiveKind::Max:
    return std::max(a, b);
  case CollectiveKind::Min:
    return std::min(a, b);
  case CollectiveKind::Any:
    return a | b;
  default:
    // Of unsigned numbers, which wrap.
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

/// What `group` has of `operand`, combined in order; `result` says what sums are in.
static Tensor reduce(ArrayRef<Frame *> group, Value operand, Value result,
                     CollectiveKind kind, std::optional<Type> wire) {
  const Frame &frame = *group.front();
  Tensor total = frame.get(operand);
  if (!total.isFloat()) {
    for (Frame *other : group.drop_front())
      for (auto [value, mine] : llvm::zip_equal(total.ints, other->ints(operand)))
        value = combine(kind, value, mine);
    return total;
  }
  const Type sumType = getSumType(operand, result);
  auto send = [&](double value) { return wire ? frame.round(value, *wire) : value; };
  for (double &value : total.floats)
    value = send(value);
  for (Frame *other : group.drop_front())
    for (auto [value, mine] : llvm::zip_equal(total.floats, other->floats(operand)))
      value = frame.round(combine(kind, value, send(mine)), sumType);
  if (kind == CollectiveKind::Mean)
    for (double &value : total.floats)
      value = frame.round(value / static_cast<double>(group.size()), sumType);
  return total;
}

/// Part `part` of the rows, cut into `parts`.
static Tensor takeRows(Tensor tensor, int64_t part, int64_t parts) {
  auto cut = [&](auto &elements) {
    const size_t count = elements.size() / parts;
    elements.erase(elements.begin() + (part + 1) * count, elements.end());
    elements.erase(elements.begin(), elements.begin() + part * count);
  };
  if (tensor.isFloat())
    cut(tensor.floats);
  else
    cut(tensor.ints);
  return tensor;
}

static Tensor join(ArrayRef<Frame *> group, Value operand) {
  Tensor all = group.front()->get(operand);
  for (Frame *other : group.drop_front()) {
    const Tensor &mine = other->get(operand);
    all.floats.insert(all.floats.end(), mine.floats.begin(), mine.floats.end());
    all.ints.insert(all.ints.end(), mine.ints.begin(), mine.ints.end());
  }
  return all;
}

/// Part `part` of what each of `group` has.
static Tensor exchangeRows(ArrayRef<Frame *> group, Value operand, int64_t part,
                           int64_t parts) {
  Tensor all = takeRows(group.front()->get(operand), part, parts);
  for (Frame *other : group.drop_front()) {
    const Tensor mine = takeRows(other->get(operand), part, parts);
    all.floats.insert(all.floats.end(), mine.floats.begin(), mine.floats.end());
    all.ints.insert(all.ints.end(), mine.ints.begin(), mine.ints.end());
  }
  return all;
}

LogicalResult mpt::reference::evaluateCollective(Operation *op,
                                                 ArrayRef<Frame *> frames) {
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                            SmallVector<Type>(op->getResultTypes())))
    if (failed(checkType(type, [&] { return op->emitOpError(); })))
      return failure();
  MeshAttr mesh = getMesh(op);
  if (!mesh || static_cast<size_t>(mesh.getNumRanks()) != frames.size())
    return op->emitOpError("cannot be interpreted: ranks meet here, and one of them runs "
                           "alone; interpret all ranks of the mesh, and have collectives "
                           "outside loops and called functions");
  auto axis = op->getAttrOfType<StringAttr>("axis");
  const Axis along(mesh, axis.getValue());
  for (Frame *frame : frames) {
    const SmallVector<Frame *> group = along.getGroup(frames, frame->getRank());
    for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
      if (auto all = dyn_cast<AllReduceOp>(op)) {
        Tensor total = reduce(group, operand, result, all.getKind(), all.getWire());
        if (all.getWire())
          for (double &value : total.floats)
            value = frame->round(value, *all.getWire());
        frame->set(result, std::move(total));
      } else if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
        frame->set(result, takeRows(reduce(group, operand, result, scatter.getKind(),
                                           scatter.getWire()),
                                    along.getPosition(frame->getRank()), along.size));
      } else if (isa<AllGatherOp>(op)) {
        frame->set(result, join(group, operand));
      } else if (isa<AllToAllOp>(op)) {
        frame->set(result, exchangeRows(group, operand,
                                        along.getPosition(frame->getRank()), along.size));
      } else {
        frame->set(result, group[cast<BroadcastFromOp>(op).getRoot()]->get(operand));
      }
    }
  }
  return success();
}

void mpt::reference::addCollectives(OpTable &table) {
  auto alone = [](Operation *op, Frame &frame) { return evaluateCollective(op, &frame); };
  table.add<AllReduceOp>(alone);
  table.add<ReduceScatterOp>(alone);
  table.add<AllGatherOp>(alone);
  table.add<AllToAllOp>(alone);
  table.add<BroadcastFromOp>(alone);
  table.add<RankOp>([](RankOp op, Frame &frame) -> LogicalResult {
    MeshAttr mesh = getMesh(op);
    if (!mesh)
      return op.emitOpError("cannot be interpreted: its module has no mpt.mesh");
    frame.set(op.getNumber(), std::vector<int64_t>{
                                  Axis(mesh, op.getAxis()).getPosition(frame.getRank())});
    return success();
  });
}
