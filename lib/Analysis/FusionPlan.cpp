//===- FusionPlan.cpp - Which ops become one kernel -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/FusionPlan.h"

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;
using namespace mpt;

namespace {

/// A kernel with more ops than this spills registers and compiles slowly.
constexpr size_t mostOps = 160;
/// Readers looked at before a merge is given up.
constexpr size_t mostReaders = 256;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool isAlias(Operation *op) { return isa<ReshapeOp, BarrierOp, ConstantOp>(op); }

/// How an op could be part of a kernel.
enum class Role { None, Elementwise, Load, RowReduce, ColumnReduce, FullReduce };

Role getRole(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    ArrayRef<int64_t> shape = shapeOf(reduce.getX());
    Type element = cast<ShapedType>(reduce.getY().getType()).getElementType();
    if (!isa<FloatType>(element) || shape.empty() || reduce.getAxes().empty() ||
        llvm::is_contained(shape, 0))
      return Role::None;
    auto axes = llvm::to_vector(reduce.getAxes());
    llvm::sort(axes);
    int64_t last = shape.size() - 1, count = axes.size();
    if (count == last + 1)
      return last == 0 ? Role::RowReduce : Role::FullReduce;
    if (count == 1 && axes.front() == last)
      return Role::RowReduce;
    if (count == last && axes.back() == last - 1 && !reduce.getKeepDims())
      return Role::ColumnReduce;
    return Role::None;
  }
  if (isFusibleLoad(op))
    return Role::Load;
  return isFusibleElementwise(op) ? Role::Elementwise : Role::None;
}

struct Node {
  SmallVector<Operation *> ops;
  bool isKernel = false;
  SmallVector<int64_t> domain;
  unsigned depth = 0;
  /// Nodes that read this one.
  llvm::SmallSetVector<unsigned, 4> readers;
};

class Planner {
public:
  explicit Planner(Block &block) : block(block) {}

  FusionPlan run() {
    unsigned index = 0;
    for (Operation &op : block.without_terminator()) {
      order[&op] = index++;
      if (!isAlias(&op))
        place(&op, getRole(&op));
    }
    return finish();
  }

private:
  void place(Operation *op, Role role);
  /// The domain and extent with which `op` fits node `id`, if it does.
  std::optional<KernelExtent> fits(Operation *op, Role role, unsigned id,
                                   ArrayRef<unsigned> merged);
  bool tryJoin(Operation *op, Role role);
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
      auto it = nodes_of.find(op);
      if (it == nodes_of.end())
        return std::nullopt;
      return find(it->second);
    }
    return std::nullopt;
  }
  /// The kernel that computes `value` itself, if a kernel does.
  std::optional<unsigned> kernelOf(Value value) {
    Operation *op = value.getDefiningOp();
    auto it = op ? nodes_of.find(op) : nodes_of.end();
    if (it == nodes_of.end() || !nodes[find(it->second)].isKernel)
      return std::nullopt;
    return find(it->second);
  }

  Block &block;
  DenseMap<Operation *, unsigned> order;
  SmallVector<Node> nodes;
  SmallVector<unsigned> parent;
  DenseMap<Operation *, unsigned> nodes_of;
  FusionPlan plan;
  /// The kernel that last read a value it does not compute.
  DenseMap<Value, unsigned> lastLoader;
};

std::optional<KernelExtent> Planner::fits(Operation *op, Role role, unsigned id,
                                          ArrayRef<unsigned> merged) {
  ArrayRef<int64_t> domain = nodes[id].domain;
  auto isInside = [&](Value value) {
    std::optional<unsigned> kernel = kernelOf(value);
    return kernel && llvm::is_contained(merged, *kernel);
  };
  if (role == Role::Load)
    return std::nullopt;
  if (role != Role::Elementwise) {
    Value x = op->getOperand(0);
    bool inside = isInside(x);
    KernelExtent extent = inside ? plan.extents.lookup(x) : KernelExtent::Full;
    if (role == Role::FullReduce && inside && extent == KernelExtent::Row &&
        shapeOf(x).size() == domain.size())
      return KernelExtent::AfterColumns;
    if (shapeOf(x) != domain || extent != KernelExtent::Full)
      return std::nullopt;
    return role == Role::RowReduce ? KernelExtent::Row
                                   : KernelExtent::AfterColumns;
  }
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  // What every operand computed inside must be for the result to be `extent`.
  auto allInside = [&](auto ok) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !isInside(operand) || ok(operand, plan.extents.lookup(operand));
    });
  };
  if (shape == domain &&
      allInside([&](Value operand, KernelExtent extent) {
        return (extent == KernelExtent::Full && shapeOf(operand) == domain) ||
               (extent == KernelExtent::Row &&
                shapeOf(operand).size() == domain.size());
      }))
    return KernelExtent::Full;
  bool kept = shape.size() == domain.size() && !shape.empty() &&
              shape.back() == 1 && shape.drop_back() == domain.drop_back();
  bool dropped = !domain.empty() && shape == domain.drop_back();
  if ((kept || dropped) && allInside([&](Value operand, KernelExtent extent) {
        return extent == KernelExtent::Row && shapeOf(operand) == shape;
      }))
    return KernelExtent::Row;
  if (allInside([&](Value operand, KernelExtent extent) {
        return extent == KernelExtent::AfterColumns && shapeOf(operand) == shape;
      }))
    return KernelExtent::AfterColumns;
  return std::nullopt;
}

bool Planner::tryJoin(Operation *op, Role role) {
  // Kernels that compute an operand, the deepest (latest) first.
  llvm::SmallSetVector<unsigned, 4> candidates;
  for (Value operand : op->getOperands())
    if (std::optional<unsigned> kernel = kernelOf(operand))
      candidates.insert(*kernel);
  // A reduction of something that a kernel of its domain reads anyway.
  if (candidates.empty() && role != Role::Elementwise && role != Role::Load) {
    auto it = lastLoader.find(op->getOperand(0));
    if (it != lastLoader.end())
      candidates.insert(find(it->second));
  }
  SmallVector<unsigned> sorted(candidates.begin(), candidates.end());
  llvm::stable_sort(sorted, [&](unsigned a, unsigned b) {
    return nodes[a].depth > nodes[b].depth;
  });
  for (unsigned first : sorted) {
    // All candidates of the same domain together, else the first alone.
    SmallVector<unsigned> all = {first};
    for (unsigned other : sorted)
      if (other != first && nodes[other].domain == nodes[first].domain)
        all.push_back(other);
    SmallVector<SmallVector<unsigned>> attempts = {all};
    if (all.size() > 1)
      attempts.push_back({first});
    for (ArrayRef<unsigned> merged : attempts) {
      std::optional<KernelExtent> extent = fits(op, role, first, merged);
      if (!extent)
        continue;
      unsigned depth = 0;
      size_t count = 1;
      for (unsigned id : merged) {
        depth = std::max(depth, nodes[id].depth);
        count += nodes[id].ops.size();
      }
      for (Value operand : op->getOperands())
        if (std::optional<unsigned> node = nodeOf(operand))
          if (!llvm::is_contained(merged, *node))
            depth = std::max(depth, nodes[*node].depth + 1);
      // An operand that is a renaming of what is inside must be read from
      // memory, so it cannot be inside.
      bool legal = count <= mostOps &&
                   llvm::all_of(op->getOperands(), [&](Value operand) {
                     std::optional<unsigned> node = nodeOf(operand);
                     return !node || kernelOf(operand) ||
                            !llvm::is_contained(merged, *node);
                   });
      for (unsigned id : merged) {
        if (!legal)
          break;
        legal = nodes[id].readers.size() <= mostReaders;
        for (unsigned reader : nodes[id].readers) {
          unsigned root = find(reader);
          if (!llvm::is_contained(merged, root) && nodes[root].depth <= depth)
            legal = false;
        }
      }
      if (!legal)
        continue;
      // Merge into `first`.
      Node &target = nodes[first];
      for (unsigned id : merged) {
        if (id == first)
          continue;
        parent[id] = first;
        llvm::append_range(target.ops, nodes[id].ops);
        for (unsigned reader : nodes[id].readers)
          target.readers.insert(reader);
        nodes[id].ops.clear();
      }
      llvm::SmallSetVector<unsigned, 4> readers;
      for (unsigned reader : target.readers)
        if (find(reader) != first)
          readers.insert(find(reader));
      target.readers = std::move(readers);
      target.ops.push_back(op);
      target.depth = depth;
      nodes_of[op] = first;
      plan.extents[op->getResult(0)] = *extent;
      return true;
    }
  }
  return false;
}

void Planner::place(Operation *op, Role role) {
  if (role == Role::None || role == Role::Load || !tryJoin(op, role)) {
    unsigned id = nodes.size();
    Node node;
    node.ops.push_back(op);
    node.isKernel = role != Role::None;
    for (Value operand : op->getOperands())
      if (std::optional<unsigned> producer = nodeOf(operand))
        node.depth = std::max(node.depth, nodes[*producer].depth + 1);
    if (node.isKernel) {
      bool isReduce = role != Role::Elementwise && role != Role::Load;
      node.domain.assign(
          shapeOf(isReduce ? op->getOperand(0) : op->getResult(0)));
      plan.extents[op->getResult(0)] =
          role == Role::RowReduce ? KernelExtent::Row
          : isReduce              ? KernelExtent::AfterColumns
                                  : KernelExtent::Full;
    }
    nodes.push_back(std::move(node));
    parent.push_back(id);
    nodes_of[op] = id;
  }
  unsigned self = find(nodes_of[op]);
  for (Value operand : op->getOperands()) {
    std::optional<unsigned> producer = nodeOf(operand);
    if (producer && *producer != self)
      nodes[*producer].readers.insert(self);
    if (nodes[self].isKernel && (!producer || *producer != self) &&
        shapeOf(operand) == ArrayRef<int64_t>(nodes[self].domain))
      lastLoader[operand] = self;
  }
}

FusionPlan Planner::finish() {
  // Kahn's algorithm; among the nodes that are ready, the one that ends first
  // in program order.
  SmallVector<unsigned> key(nodes.size()), pending(nodes.size());
  SmallVector<llvm::SmallSetVector<unsigned, 4>> readers(nodes.size());
  for (auto [id, node] : llvm::enumerate(nodes)) {
    llvm::sort(node.ops, [&](Operation *a, Operation *b) {
      return order[a] < order[b];
    });
    if (!node.ops.empty())
      key[id] = order[node.ops.back()];
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
                          std::move(nodes[id].domain)});
  }
  return std::move(plan);
}

} // namespace

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
  return isa<NegOp, AbsOp, ExpOp, LogOp, SqrtOp, RsqrtOp, ReciprocalOp, TanhOp,
             SigmoidOp, ErfOp, SinOp, CosOp, ReluOp, SiluOp, SignOp, FloorOp,
             GeluOp, IsFiniteOp, NotOp, ReluGradOp, TanhGradOp, SigmoidGradOp,
             SiluGradOp, GeluGradOp, AddOp, SubOp, MulOp, DivOp, MaximumOp,
             MinimumOp, PowOp, CompareOp, AndOp, OrOp, WhereOp, CastOp, IotaOp,
             BroadcastOp>(op);
}

FusionPlan mpt::planFusion(Block &block) { return Planner(block).run(); }
