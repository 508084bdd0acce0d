//===- FusionPlan.cpp - Which ops become one kernel -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/FusionPlan.h"

#include "mpt/Dialect/MPT/IR/Gemm.h"
#include "mpt/Dialect/MPT/Transforms/AttentionViews.h"
#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"
#include "mpt/Precision/RangeProfile.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;
using namespace mpt;

namespace {

/// A kernel with more ops than this spills registers and compiles slowly.
constexpr size_t mostOps = 160;
/// Readers looked at before a merge is given up.
constexpr size_t mostReaders = 256;
/// Nodes that are put later for a merge.
constexpr size_t mostDelayed = 32;
/// Tensors that one kernel reads: each is a stream and a pointer.
constexpr size_t mostReads = 32;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool isEmpty(Value value) { return llvm::is_contained(shapeOf(value), 0); }

/// True if `value` costs no load: a kernel holds it as a scalar constant.
bool isSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// How an op could be part of a kernel.
enum class Role {
  None,
  Elementwise,
  Load,
  RowReduce,
  /// Of a dimension that is not the last, in the kernel that computes the tensor.
  MiddleReduce,
  ColumnReduce,
  FullReduce
};

/// Sizes of a dimension that a vector walks along with a row in each lane, once or again
/// for what the reduction's result is part of, and of the neighbours that these rows have
/// at least (lib/Codegen/CPU/RowLanesEmitter.cpp).
constexpr int64_t leastMiddle = 2, mostMiddle = 1024, mostMiddleAgain = 256,
                  leastNeighbours = 16;

Role getRole(Operation *op) {
  // Kernels run over at least one point.
  if (llvm::any_of(op->getOperands(), isEmpty) || llvm::any_of(op->getResults(), isEmpty))
    return Role::None;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    ArrayRef<int64_t> shape = shapeOf(reduce.getX());
    Type element = cast<ShapedType>(reduce.getY().getType()).getElementType();
    if (!isa<FloatType>(element) || shape.empty() || reduce.getAxes().empty())
      return Role::None;
    auto axes = llvm::to_vector(reduce.getAxes());
    llvm::sort(axes);
    int64_t last = shape.size() - 1, count = axes.size();
    if (count == last + 1)
      return last == 0 ? Role::RowReduce : Role::FullReduce;
    if (count == 1 && axes.front() == last)
      return Role::RowReduce;
    if (count == last && axes.back() == last - 1)
      return Role::ColumnReduce;
    return count == 1 && isMiddleOfRows(shape, axes.front()) ? Role::MiddleReduce
                                                             : Role::None;
  }
  if (isFusibleLoad(op))
    return Role::Load;
  return isFusibleElementwise(op) ? Role::Elementwise : Role::None;
}

/// True if one op alone reads `op`, which widens a tensor of floats.
bool isWideningForOne(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  if (!cast || !cast->hasOneUse())
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getX()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getY()));
  return from && to && from.getWidth() < to.getWidth();
}

/// The reduction that alone reads `op`, if that widens a tensor and the reduction follows
/// it at once. The widened tensor is stored nowhere if both join a kernel.
ReduceOp getOnlyReduction(Operation *op) {
  if (!isWideningForOne(op))
    return nullptr;
  auto reduce = dyn_cast<ReduceOp>(op->getNextNode());
  return reduce && reduce.getX() == op->getResult(0) ? reduce : nullptr;
}

struct Node {
  SmallVector<Operation *> ops;
  bool isKernel = false;
  bool hasReductions = false;
  SmallVector<int64_t> domain;
  /// The row, if it is not the last dimension.
  std::optional<unsigned> rowDim;
  unsigned depth = 0;
  /// Whether it reduces rows, and whether it sums columns.
  bool reducesRows = false, sumsColumns = false;
  /// Heavy calls before its last op in program order, and tables that rows were added to.
  unsigned epoch = 0, tables = 0;
  /// Tensors that it reads from memory.
  llvm::SmallSetVector<Value, 4> reads;
  /// Nodes that read this one.
  llvm::SmallSetVector<unsigned, 4> readers;
};

class Planner {
public:
  Planner(Block &block, const FusionOptions &options) : block(block), options(options) {}

  FusionPlan run() {
    // What records magnitudes comes last, so that it changes no decision on
    // anything else: the order of sums may depend on what is fused.
    for (bool records : {false, true}) {
      unsigned index = 0;
      epoch = tables = 0;
      for (Operation &op : block.without_terminator()) {
        order[&op] = index++;
        epoch += isHeavyCall(&op);
        tables += isa<ScatterAddOp>(op);
        if (isAlias(&op) || op.hasAttr(kRecordAttr) != records)
          continue;
        const Role role = getRole(&op);
        place(&op,
              role == Role::MiddleReduce && !options.transposedRows ? Role::None : role);
      }
    }
    return finish();
  }

private:
  /// True for what is in no node.
  bool isAlias(Operation *op) const {
    return isa<ReshapeOp, BarrierOp, ConstantOp>(op) ||
           (options.roundOnRead && isRoundedOnRead(op)) || isView(op);
  }
  bool isView(Operation *op) const {
    return (options.attentionViews && isAttentionView(op)) || isJoinedPart(op);
  }
  void place(Operation *op, Role role);
  /// How `op` would vary over the domain of `merged.front()` if all of `merged`
  /// were one kernel; nothing if it cannot be part of it.
  std::optional<KernelExtent> fits(Operation *op, Role role, ArrayRef<unsigned> merged);
  /// True if a row of `node` has one element of a tensor of shape `shape`.
  static bool isRowShape(ArrayRef<int64_t> shape, const Node &node);
  /// The depths of nodes after a merge: first that of the merged, then those of nodes
  /// that come later for it.
  using Depths = llvm::SmallMapVector<unsigned, unsigned, 4>;
  /// The depths if `merged` take in `op`, if that closes no cycle and keeps the limits.
  std::optional<Depths> checkMerge(Operation *op, Role role, ArrayRef<unsigned> merged,
                                   KernelExtent extent);
  /// Puts what reads `merged` after them, but nothing of `before`; `mayDelay` if that may
  /// come later than it does.
  std::optional<Depths> delayReaders(ArrayRef<unsigned> merged, unsigned depth,
                                     const llvm::SmallDenseSet<unsigned, 4> &before,
                                     bool mayDelay);
  void merge(Operation *op, ArrayRef<unsigned> merged, KernelExtent extent,
             const Depths &depths);
  SmallVector<SmallVector<unsigned>> getAttempts(ArrayRef<unsigned> candidates);
  bool tryJoin(Operation *op, Role role);
  /// Into one or several of `candidates`, at least `fewest`.
  bool tryJoin(Operation *op, Role role, ArrayRef<unsigned> candidates, size_t fewest);
  void sinkWidenings();
  FusionPlan finish();

  unsigned find(unsigned id) {
    while (parent[id] != id)
      id = parent[id] = parent[parent[id]];
    return id;
  }
  /// The node that computes `value` (through renamings), if one does.
  std::optional<unsigned> nodeOf(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (auto reshape = dyn_cast<ReshapeOp>(op)) {
        value = reshape.getX();
        continue;
      }
      if (auto barrier = dyn_cast<BarrierOp>(op)) {
        value = barrier.getInputs()[cast<OpResult>(value).getResultNumber()];
        continue;
      }
      if (isView(op)) {
        value = op->getOperand(0);
        continue;
      }
      auto it = nodesOf.find(op);
      if (it == nodesOf.end())
        return std::nullopt;
      return find(it->second);
    }
    return std::nullopt;
  }
  /// The kernel that computes `value` itself, if a kernel does.
  std::optional<unsigned> kernelOf(Value value) {
    Operation *op = value.getDefiningOp();
    auto it = op ? nodesOf.find(op) : nodesOf.end();
    if (it == nodesOf.end() || !nodes[find(it->second)].isKernel)
      return std::nullopt;
    return find(it->second);
  }

  Block &block;
  FusionOptions options;
  DenseMap<Operation *, unsigned> order;
  SmallVector<Node, 0> nodes;
  SmallVector<unsigned> parent;
  DenseMap<Operation *, unsigned> nodesOf;
  FusionPlan plan;
  /// Heavy calls so far, and tables that rows were added to.
  unsigned epoch = 0, tables = 0;
  /// The kernel that last read a value it does not compute.
  DenseMap<Value, unsigned> lastLoader;
};

bool Planner::isRowShape(ArrayRef<int64_t> shape, const Node &node) {
  if (node.domain.empty())
    return false;
  const unsigned rowDim = node.rowDim.value_or(node.domain.size() - 1);
  SmallVector<int64_t> rows = node.domain;
  rows[rowDim] = 1;
  if (shape == ArrayRef(rows))
    return true;
  rows.erase(rows.begin() + rowDim);
  return shape == ArrayRef(rows);
}

std::optional<KernelExtent> Planner::fits(Operation *op, Role role,
                                          ArrayRef<unsigned> merged) {
  ArrayRef<int64_t> domain = nodes[merged.front()].domain;
  auto isInside = [&](Value value) {
    std::optional<unsigned> kernel = kernelOf(value);
    return kernel && llvm::is_contained(merged, *kernel);
  };
  // Of a value inside. Kernels of another domain come in as row values.
  auto extentOf = [&](Value value) {
    return nodes[*kernelOf(value)].domain == domain ? plan.extents.lookup(value)
                                                    : KernelExtent::Row;
  };
  if (role == Role::Load)
    return std::nullopt;
  if (role != Role::Elementwise) {
    Value x = op->getOperand(0);
    bool inside = isInside(x);
    KernelExtent extent = inside ? extentOf(x) : KernelExtent::Full;
    if (role == Role::FullReduce && inside && extent == KernelExtent::Row &&
        shapeOf(x).size() == domain.size())
      return KernelExtent::AfterColumns;
    if (shapeOf(x) != domain || extent != KernelExtent::Full)
      return std::nullopt;
    if (role == Role::MiddleReduce)
      return inside ? std::optional(KernelExtent::Row) : std::nullopt;
    return role == Role::RowReduce ? KernelExtent::Row : KernelExtent::AfterColumns;
  }
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  // What every operand computed inside must be for the result to be `extent`.
  auto allInside = [&](auto ok) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !isInside(operand) || ok(operand, extentOf(operand));
    });
  };
  const std::optional<unsigned> rowDim = nodes[merged.front()].rowDim;
  const bool walksAgain = !rowDim || domain[*rowDim] <= mostMiddleAgain;
  if (shape == domain && allInside([&](Value operand, KernelExtent extent) {
        return (extent == KernelExtent::Full && shapeOf(operand) == domain) ||
               (extent == KernelExtent::Row && walksAgain &&
                shapeOf(operand).size() == domain.size());
      }))
    return KernelExtent::Full;
  if (isRowShape(shape, nodes[merged.front()]) &&
      allInside([&](Value operand, KernelExtent extent) {
        return extent == KernelExtent::Row && shapeOf(operand) == shape;
      }))
    return KernelExtent::Row;
  // An op that reads nothing of the kernel cannot follow its columns.
  if (llvm::any_of(op->getOperands(), isInside) &&
      allInside([&](Value operand, KernelExtent extent) {
        return extent == KernelExtent::AfterColumns && shapeOf(operand) == shape;
      }))
    return KernelExtent::AfterColumns;
  return std::nullopt;
}

std::optional<Planner::Depths>
Planner::delayReaders(ArrayRef<unsigned> merged, unsigned depth,
                      const llvm::SmallDenseSet<unsigned, 4> &before, bool mayDelay) {
  Depths depths;
  depths[merged.front()] = depth;
  // In the order of their depths so far, so that each is looked at once.
  using Entry = std::pair<unsigned, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> open;
  size_t seen = 0;
  auto delay = [&](unsigned id, unsigned least) {
    for (unsigned reader : nodes[id].readers) {
      reader = find(reader);
      // Also no reader among the merged themselves: it did not join what it reads,
      // so it reads elements that are not there at the same point.
      if (llvm::is_contained(merged, reader) || before.contains(reader) ||
          (mayDelay && ++seen > mostReaders))
        return false;
      const unsigned own = nodes[reader].depth;
      if (own >= least)
        continue;
      auto [it, isNew] = depths.try_emplace(reader, least);
      if (!mayDelay || depths.size() > mostDelayed)
        return false;
      it->second = std::max(it->second, least);
      if (isNew)
        open.push({own, reader});
    }
    return true;
  };
  for (unsigned id : merged)
    if (!delay(id, depth + 1))
      return std::nullopt;
  while (!open.empty()) {
    const unsigned id = open.top().second;
    open.pop();
    if (!delay(id, depths[id] + 1))
      return std::nullopt;
  }
  return depths;
}

std::optional<Planner::Depths> Planner::checkMerge(Operation *op, Role role,
                                                   ArrayRef<unsigned> merged,
                                                   KernelExtent extent) {
  // Whole tensors are not computed before a heavy call that they come after:
  // the backward pass would move into the forward's kernels, and all it
  // recomputes would be stored. What is widened to be reduced is not: the reduction
  // joins wherever it joins.
  size_t count = 1;
  bool isStored = extent == KernelExtent::Full;
  if (ReduceOp reduction = isStored ? getOnlyReduction(op) : nullptr) {
    const Role next = getRole(reduction);
    if (next == Role::RowReduce || next == Role::ColumnReduce) {
      isStored = false;
      role = next;
      count = 2;
    }
  }
  for (unsigned id : merged)
    if (nodes[id].epoch != nodes[merged.front()].epoch ||
        (isStored && nodes[id].epoch != epoch))
      return std::nullopt;
  // Nor is a number computed with others before a table that it comes after: what reads
  // them, as updates read the check of all gradients, would wait until the table is
  // there.
  if (isStored && nodes[merged.front()].domain.empty() &&
      llvm::any_of(merged, [&](unsigned id) { return nodes[id].tables != tables; }))
    return std::nullopt;
  bool reducesRows = role == Role::RowReduce || role == Role::FullReduce;
  bool sumsColumns = role == Role::ColumnReduce;
  std::optional<unsigned> rowDim;
  if (role == Role::MiddleReduce)
    rowDim = cast<ReduceOp>(op).getAxes().front();
  for (unsigned id : merged) {
    reducesRows |= nodes[id].reducesRows;
    sumsColumns |= nodes[id].sumsColumns;
    if (nodes[id].rowDim) {
      if (rowDim && rowDim != nodes[id].rowDim)
        return std::nullopt;
      rowDim = nodes[id].rowDim;
    }
  }
  // One dimension is the row, and there are no columns across others.
  if (rowDim && (reducesRows || sumsColumns))
    return std::nullopt;
  if (rowDim)
    for (unsigned id : merged)
      if (!nodes[id].rowDim && !llvm::all_of(nodes[id].ops, [&](Operation *member) {
            return shapeOf(member->getResult(0)) ==
                   ArrayRef(nodes[merged.front()].domain);
          }))
        return std::nullopt;
  ArrayRef<int64_t> domain = nodes[merged.front()].domain;
  if (options.mostSummedColumns != 0 && reducesRows && sumsColumns && !domain.empty() &&
      domain.back() > options.mostSummedColumns)
    return std::nullopt;
  unsigned depth = 0;
  llvm::SmallSetVector<Value, 4> reads;
  llvm::SmallDenseSet<unsigned, 4> before;
  for (unsigned id : merged) {
    depth = std::max(depth, nodes[id].depth);
    count += nodes[id].ops.size();
    reads.insert_range(nodes[id].reads);
    if (nodes[id].readers.size() > mostReaders)
      return std::nullopt;
  }
  for (Value operand : op->getOperands()) {
    std::optional<unsigned> node = nodeOf(operand);
    if (node && llvm::is_contained(merged, *node)) {
      // A renaming of what is inside must be read from memory.
      if (!kernelOf(operand))
        return std::nullopt;
      continue;
    }
    if (!isSplat(operand))
      reads.insert(operand);
    if (node) {
      before.insert(*node);
      depth = std::max(depth, nodes[*node].depth + 1);
    }
  }
  if (count > mostOps || reads.size() > mostReads)
    return std::nullopt;
  // What reads the merged may wait for the other operands: all of them run between the
  // same heavy calls.
  return delayReaders(merged, depth, before, isStored);
}

SmallVector<SmallVector<unsigned>> Planner::getAttempts(ArrayRef<unsigned> candidates) {
  SmallVector<SmallVector<unsigned>> attempts;
  for (unsigned first : candidates) {
    // With all others of its domain, and those that can be values of its rows.
    SmallVector<unsigned> same = {first}, all;
    for (unsigned other : candidates)
      if (other != first && nodes[other].domain == nodes[first].domain)
        same.push_back(other);
    all = same;
    for (unsigned other : candidates)
      if (nodes[other].domain != nodes[first].domain && !nodes[other].hasReductions &&
          !nodes[first].rowDim && isRowShape(nodes[other].domain, nodes[first]))
        all.push_back(other);
    attempts.push_back(all);
    if (same.size() < all.size())
      attempts.push_back(same);
    if (same.size() > 1)
      attempts.push_back({first});
  }
  // The more operands come from inside the better.
  llvm::stable_sort(attempts, [](ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
    return a.size() > b.size();
  });
  return attempts;
}

bool Planner::tryJoin(Operation *op, Role role) {
  // Kernels that compute an operand, and those that read one anyway. A number that
  // another kernel computes (the reciprocal of a loss scale) draws it nowhere.
  llvm::SmallSetVector<unsigned, 4> producers, loaders, both;
  for (Value operand : op->getOperands())
    if (std::optional<unsigned> kernel = kernelOf(operand))
      producers.insert(*kernel);
  for (Value operand : op->getOperands()) {
    auto it = lastLoader.find(operand);
    if (it != lastLoader.end() && !producers.contains(find(it->second)))
      loaders.insert(find(it->second));
  }
  auto isNumber = [&](unsigned id) { return nodes[id].domain.empty(); };
  const bool fillsTensor = !shapeOf(op->getResult(0)).empty();
  both = producers;
  both.insert_range(loaders);
  if (producers.empty() || (fillsTensor && llvm::all_of(producers, isNumber)))
    return tryJoin(op, role, both.getArrayRef(), 1);
  // What one elementwise op reads goes where that goes.
  const bool goesWithReader =
      op->hasOneUse() && isFusibleElementwise(*op->getUsers().begin());
  const bool joinsLoaders = fillsTensor && !goesWithReader && !loaders.empty();
  return (joinsLoaders && tryJoin(op, role, both.getArrayRef(), 2)) ||
         tryJoin(op, role, producers.getArrayRef(), 1) ||
         (joinsLoaders && tryJoin(op, role, loaders.getArrayRef(), 1));
}

bool Planner::tryJoin(Operation *op, Role role, ArrayRef<unsigned> candidates,
                      size_t fewest) {
  // The deepest (latest) first.
  SmallVector<unsigned> sorted(candidates);
  llvm::stable_sort(
      sorted, [&](unsigned a, unsigned b) { return nodes[a].depth > nodes[b].depth; });
  SmallVector<SmallVector<unsigned>> attempts = getAttempts(sorted);
  // What follows column reductions runs on one thread, so an elementwise op
  // goes there only if no other kernel takes it.
  for (bool afterColumns : {false, true})
    for (ArrayRef<unsigned> merged : attempts) {
      if (merged.size() < fewest)
        continue;
      std::optional<KernelExtent> extent = fits(op, role, merged);
      if (!extent || (role == Role::Elementwise &&
                      (*extent == KernelExtent::AfterColumns) != afterColumns))
        continue;
      std::optional<Depths> depths = checkMerge(op, role, merged, *extent);
      if (!depths)
        continue;
      merge(op, merged, *extent, *depths);
      return true;
    }
  return false;
}

void Planner::merge(Operation *op, ArrayRef<unsigned> merged, KernelExtent extent,
                    const Depths &depths) {
  unsigned first = merged.front();
  Node &target = nodes[first];
  for (unsigned id : merged.drop_front()) {
    if (nodes[id].domain != target.domain)
      for (Operation *rowOp : nodes[id].ops)
        plan.extents[rowOp->getResult(0)] = KernelExtent::Row;
    parent[id] = first;
    llvm::append_range(target.ops, nodes[id].ops);
    target.reads.insert_range(nodes[id].reads);
    target.readers.insert_range(nodes[id].readers);
    target.hasReductions |= nodes[id].hasReductions;
    target.reducesRows |= nodes[id].reducesRows;
    target.sumsColumns |= nodes[id].sumsColumns;
    if (nodes[id].rowDim)
      target.rowDim = nodes[id].rowDim;
    nodes[id].ops.clear();
  }
  llvm::SmallSetVector<unsigned, 4> readers;
  for (unsigned reader : target.readers)
    readers.insert(find(reader));
  target.readers = std::move(readers);
  target.ops.push_back(op);
  for (auto [id, depth] : depths)
    nodes[id].depth = depth;
  nodesOf[op] = first;
  plan.extents[op->getResult(0)] = extent;
}

void Planner::place(Operation *op, Role role) {
  const bool joins = role != Role::None && role != Role::Load && tryJoin(op, role);
  if (role == Role::MiddleReduce && joins)
    nodes[find(nodesOf[op])].rowDim = cast<ReduceOp>(op).getAxes().front();
  else if (role == Role::MiddleReduce)
    role = Role::None;
  if (!joins) {
    unsigned id = nodes.size();
    Node node;
    node.epoch = epoch;
    node.tables = tables;
    node.ops.push_back(op);
    node.isKernel = role != Role::None;
    for (Value operand : op->getOperands())
      if (std::optional<unsigned> producer = nodeOf(operand))
        node.depth = std::max(node.depth, nodes[*producer].depth + 1);
    if (node.isKernel) {
      bool isReduce = role != Role::Elementwise && role != Role::Load;
      node.hasReductions = isReduce;
      node.domain.assign(shapeOf(isReduce ? op->getOperand(0) : op->getResult(0)));
      plan.extents[op->getResult(0)] = role == Role::RowReduce ? KernelExtent::Row
                                       : isReduce ? KernelExtent::AfterColumns
                                                  : KernelExtent::Full;
    }
    nodes.push_back(std::move(node));
    parent.push_back(id);
    nodesOf[op] = id;
  }
  unsigned self = find(nodesOf[op]);
  nodes[self].reducesRows |= role == Role::RowReduce || role == Role::FullReduce;
  nodes[self].sumsColumns |= role == Role::ColumnReduce;
  for (Value operand : op->getOperands()) {
    std::optional<unsigned> producer = nodeOf(operand);
    if (producer && *producer != self)
      nodes[*producer].readers.insert(self);
    if (nodes[self].isKernel && (!producer || *producer != self) && !isSplat(operand))
      nodes[self].reads.insert(operand);
    nodes[self].hasReductions |= role == Role::RowReduce || role == Role::MiddleReduce ||
                                 role == Role::ColumnReduce || role == Role::FullReduce;
    if (nodes[self].isKernel && (!producer || *producer != self) && !isSplat(operand) &&
        shapeOf(operand) == ArrayRef<int64_t>(nodes[self].domain) && role != Role::Load)
      lastLoader[operand] = self;
  }
}

/// Moves what widens a tensor for one kernel alone from the kernel that makes that tensor
/// into the one that reads it: the narrow tensor is stored. The reader runs later in any
/// case, so no cycle closes.
void Planner::sinkWidenings() {
  for (unsigned id = 0; id < nodes.size(); ++id) {
    if (!nodes[id].isKernel)
      continue;
    llvm::erase_if(nodes[id].ops, [&](Operation *op) {
      if (!isWideningForOne(op))
        return false;
      Operation *reader = *op->getUsers().begin();
      auto it = nodesOf.find(reader);
      if (it == nodesOf.end())
        return false;
      const unsigned other = find(it->second);
      const ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
      const bool isFull =
          isa<ReduceOp>(reader) ||
          (isFusibleElementwise(reader) &&
           plan.extents.lookup(reader->getResult(0)) == KernelExtent::Full);
      if (other == id || !nodes[other].isKernel || !isFull ||
          shape != ArrayRef<int64_t>(nodes[other].domain))
        return false;
      nodes[other].ops.push_back(op);
      nodesOf[op] = other;
      plan.extents[op->getResult(0)] = KernelExtent::Full;
      return true;
    });
  }
}

FusionPlan Planner::finish() {
  sinkWidenings();
  // Kahn's algorithm; among the nodes that are ready, the one that begins
  // first in program order.
  SmallVector<unsigned> key(nodes.size()), pending(nodes.size());
  SmallVector<llvm::SmallSetVector<unsigned, 4>> readers(nodes.size());
  for (auto [id, node] : llvm::enumerate(nodes)) {
    llvm::sort(node.ops, [&](Operation *a, Operation *b) { return order[a] < order[b]; });
    if (!node.ops.empty())
      key[id] = order[node.ops.front()];
  }
  for (auto [id, node] : llvm::enumerate(nodes))
    for (Operation *op : node.ops)
      for (Value operand : op->getOperands())
        if (std::optional<unsigned> producer = nodeOf(operand))
          if (*producer != id && readers[*producer].insert(id))
            ++pending[id];
  using Entry = std::pair<unsigned, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  for (auto [id, node] : llvm::enumerate(nodes))
    if (!node.ops.empty() && pending[id] == 0)
      ready.push({key[id], id});
  while (!ready.empty()) {
    unsigned id = ready.top().second;
    ready.pop();
    for (unsigned reader : readers[id])
      if (--pending[reader] == 0)
        ready.push({key[reader], reader});
    plan.nodes.push_back({std::move(nodes[id].ops), nodes[id].isKernel,
                          std::move(nodes[id].domain), nodes[id].rowDim});
  }
  return std::move(plan);
}

} // namespace

bool mpt::isMiddleOfRows(ArrayRef<int64_t> shape, int64_t axis) {
  return shape[axis] >= leastMiddle && shape[axis] <= mostMiddle &&
         shape.back() >= leastNeighbours;
}

bool mpt::isHeavyCall(Operation *op) {
  return isa<GemmOp, GemmQuantizeOp, MatmulOp, LinearOp, Conv2DOp, Conv2DInputGradOp,
             Conv2DFilterGradOp, MaxPoolOp, MaxPoolGradOp, AvgPoolOp, AvgPoolGradOp,
             ScanOp>(op);
}

bool mpt::isFusibleLoad(Operation *op) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    return !permutation.empty() &&
           permutation.back() == static_cast<int64_t>(permutation.size()) - 1;
  }
  if (auto slice = dyn_cast<SliceOp>(op))
    return !slice.getStrides().empty() && slice.getStrides().back() == 1;
  return false;
}

bool mpt::isFusibleElementwise(Operation *op) {
  if (isFusibleLoad(op))
    return true;
  return isa<ElementwiseOpInterface, IotaOp>(op);
}

/// Columns of a result up to which the left side of a matmul is read once or twice, and
/// terms for each column from which on a copy of the left side is large.
static constexpr int64_t fewColumns = 128, manyTerms = 4;

/// Whether a matmul that rounds its left side takes no more time than one of a copy, or
/// that would take more memory than halves of the result save: it rounds again for each
/// panel of columns.
static bool canRoundLeft(Value lhs, bool isTransposed, Value rhs, Value result) {
  auto type = cast<RankedTensorType>(lhs.getType());
  const int64_t rank = type.getRank();
  const int64_t features = type.getDimSize(rank - 1),
                terms = type.getDimSize(rank - (isTransposed ? 2 : 1)),
                columns = cast<RankedTensorType>(result.getType()).getShape().back();
  // Matmuls of a batch are not cut into columns.
  return cast<RankedTensorType>(rhs.getType()).getRank() > 2 || columns <= fewColumns ||
         features >= columns || terms >= manyTerms * columns;
}

/// Whether a library call can round `use` while it reads it.
static bool canRound(OpOperand &use) {
  Operation *reader = use.getOwner();
  const unsigned number = use.getOperandNumber();
  // Either side, or image and filter; no bias and no gradient of a result.
  if (auto matmul = dyn_cast<MatmulOp>(reader))
    return number == 1 || canRoundLeft(matmul.getLhs(), matmul.getTransposeLhs(),
                                       matmul.getRhs(), matmul.getResult());
  if (auto linear = dyn_cast<LinearOp>(reader))
    return number == 1 ||
           (number == 0 &&
            canRoundLeft(linear.getX(), false, linear.getWeight(), linear.getResult()));
  if (isa<Conv2DOp>(reader))
    return number <= 1;
  if (auto conv = dyn_cast<Conv2DInputGradOp>(reader))
    return number == conv.getFilterMutable().getOperandNumber();
  if (auto conv = dyn_cast<Conv2DFilterGradOp>(reader))
    return number == conv.getXMutable().getOperandNumber();
  return false;
}

/// Whether library calls in `block` read `value` alone, and can round it; with
/// `withReshapes` they may read what it is reshaped to.
static bool isRoundable(Value value, Block *block, bool withReshapes = false) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    if (use.getOwner()->getBlock() != block)
      return false;
    auto reshape = dyn_cast<ReshapeOp>(use.getOwner());
    return withReshapes && reshape ? isRoundable(reshape.getY(), block) : canRound(use);
  });
}

/// Whether `op` casts an argument of the function or loop from f32 to f16 or bf16.
static bool isNarrowArgument(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  if (!cast || cast.use_empty() || isEmpty(cast.getY()))
    return false;
  auto from = getElementTypeOrSelf(cast.getX()), to = getElementTypeOrSelf(cast.getY());
  if (!from.isF32() || !(to.isF16() || to.isBF16()))
    return false;
  // What the step computes may die where it is rounded.
  Value source = cast.getX();
  while (auto reshape = source.getDefiningOp<ReshapeOp>())
    source = reshape.getX();
  return isa<BlockArgument>(source);
}

bool mpt::isRoundedOnRead(Operation *op) {
  return isNarrowArgument(op) && isRoundable(op->getResult(0), op->getBlock());
}

bool mpt::isRoundedIfRenamed(Operation *op) {
  return isNarrowArgument(op) && llvm::any_of(op->getUsers(), llvm::IsaPred<ReshapeOp>) &&
         isRoundable(op->getResult(0), op->getBlock(), /*withReshapes=*/true);
}

FusionPlan mpt::planFusion(Block &block, const FusionOptions &options) {
  return Planner(block, options).run();
}
