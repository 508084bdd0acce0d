//===- MatmulGroups.cpp - Matmuls that share their left operand -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/MatmulGroups.h"
#include "mpt/Dialect/MPT/Transforms/AttentionViews.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpt;

/// Columns of a matmul below which it is left alone: adapters of low rank.
static constexpr int64_t kLeastColumns = 64;

namespace {

RankedTensorType typeOf(Value value) {
  return dyn_cast_or_null<RankedTensorType>(value.getType());
}

bool isStatic(Value value) {
  RankedTensorType type = typeOf(value);
  return type && type.hasStaticShape() && type.getNumElements() > 0;
}

double bytesOf(Value value) {
  return double(typeOf(value).getNumElements()) *
         double(llvm::divideCeil(typeOf(value).getElementTypeBitWidth(), 8));
}

Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

/// Ops that read `value` or a reshape of it, other than reshapes.
SmallVector<Operation *> getReaders(Value value) {
  SmallVector<Operation *> readers;
  SmallVector<Value> views = {value};
  for (size_t i = 0; i < views.size(); ++i)
    for (Operation *user : views[i].getUsers())
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        views.push_back(reshape.getY());
      else
        readers.push_back(user);
  return readers;
}

/// Whether kernels do `op`.
bool isInKernels(Operation *op) { return isa<ElementwiseOpInterface, ReduceOp>(op); }

Value getX(Operation *op) { return op->getOperand(0); }

bool isTransposed(Operation *op) {
  auto linear = dyn_cast<LinearOp>(op);
  return linear ? linear.getTransposeWeight() : cast<MatmulOp>(op).getTransposeRhs();
}

class Finder {
public:
  Finder(Block &block, ArrayRef<JoinRates> rates, bool isShared)
      : block(block), rates(rates), isShared(isShared) {}

  FailureOr<MatmulGroup> decide(ArrayRef<Operation *> run, std::string &why);

private:
  /// Finds the gradients of `group`; says why if they cannot be joined.
  std::optional<std::string> findGradients(MatmulGroup &group);
  std::optional<std::string> findInputGrads(MatmulGroup &group);
  std::optional<std::string> findSharedInputGrads(MatmulGroup &group);
  std::optional<std::string> findSum(MatmulGroup &group);
  std::optional<std::string> findPlace(MatmulGroup &group);
  void countCosts(MatmulGroup &group, double &savedBytes, double &savedNodes,
                  double &copiedBytes, double &addedNodes);

  Block &block;
  ArrayRef<JoinRates> rates;
  const bool isShared;
};

/// Whether `op` is y = x w + b with a weight of its own.
bool isCandidate(Operation *op) {
  if (auto linear = dyn_cast<LinearOp>(op)) {
    if (linear.getEpilogue() != Epilogue::None)
      return false;
  } else if (auto matmul = dyn_cast<MatmulOp>(op)) {
    if (matmul.getTransposeLhs())
      return false;
  } else {
    return false;
  }
  for (Value value : op->getOperands())
    if (!isStatic(value))
      return false;
  Value weight = op->getOperand(1);
  if (!isStatic(op->getResult(0)) || typeOf(weight).getRank() != 2)
    return false;
  const int64_t columns = typeOf(op->getResult(0)).getShape().back();
  auto isJoinable = [&](Value value) {
    Type element = typeOf(value).getElementType();
    return (element.isF32() || element.isF16() || element.isBF16()) &&
           columns * element.getIntOrFloatBitWidth() % 512 == 0;
  };
  return columns >= kLeastColumns && isJoinable(weight) && isJoinable(op->getResult(0)) &&
         isJoinable(getX(op));
}

bool isAlike(Operation *a, Operation *b) {
  auto element = [](Value value) { return typeOf(value).getElementType(); };
  if (a->getName() != b->getName() || getX(a) != getX(b) ||
      isTransposed(a) != isTransposed(b) || a->getNumOperands() != b->getNumOperands() ||
      a->getDiscardableAttrDictionary() != b->getDiscardableAttrDictionary() ||
      element(a->getResult(0)) != element(b->getResult(0)))
    return false;
  for (auto [x, y] : llvm::zip(a->getOperands(), b->getOperands()))
    if (element(x) != element(y))
      return false;
  auto getAccType = [](Operation *op) {
    auto linear = dyn_cast<LinearOp>(op);
    return linear ? linear.getAccType() : cast<MatmulOp>(op).getAccType();
  };
  return getAccType(a) == getAccType(b);
}

/// Whether `sum` adds up all rows of `dy`, read with `columns` columns.
bool sumsRows(ReduceOp sum, int64_t columns) {
  RankedTensorType type = typeOf(sum.getX());
  SmallVector<int64_t> axes(sum.getAxes());
  llvm::sort(axes);
  return sum.getKind() == ReduceKind::Sum && !sum.getKeepDims() && type &&
         type.getRank() >= 2 && type.getShape().back() == columns &&
         axes == llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
}

std::optional<std::string> Finder::findInputGrads(MatmulGroup &group) {
  for (GroupedMatmul &member : group.members) {
    for (Operation *reader : member.weight.getUsers()) {
      // An optimizer, for example, reads a weight that is not cast.
      if (reader == member.op || !isa<MatmulOp, LinearOp>(reader))
        continue;
      auto matmul = dyn_cast<MatmulOp>(reader);
      if (!matmul || member.inputGrad || matmul.getRhs() != member.weight ||
          matmul.getLhs() == member.weight || matmul.getTransposeLhs() ||
          matmul.getTransposeRhs() == group.transposed || !isStatic(matmul.getLhs()) ||
          reader->getBlock() != &block)
        return "a weight is read by other matmuls, too";
      member.inputGrad = matmul;
      member.dy = stripReshapes(matmul.getLhs());
    }
  }
  return std::nullopt;
}

/// A weight has a gradient of an input for each micro-batch: that is this one's whose dy
/// is multiplied with x in turn.
std::optional<std::string> Finder::findSharedInputGrads(MatmulGroup &group) {
  for (Operation *reader : getReaders(stripReshapes(group.x))) {
    auto product = dyn_cast<MatmulOp>(reader);
    if (!product || !product.getTransposeLhs() || product.getTransposeRhs())
      continue;
    Value dy = stripReshapes(group.transposed ? product.getLhs() : product.getRhs());
    for (Operation *other : getReaders(dy)) {
      auto matmul = dyn_cast<MatmulOp>(other);
      if (!matmul || stripReshapes(matmul.getLhs()) != dy || matmul.getTransposeLhs() ||
          matmul.getTransposeRhs() == group.transposed || !isStatic(matmul.getLhs()) ||
          other->getBlock() != &block)
        continue;
      for (GroupedMatmul &member : group.members) {
        if (!isSameWeight(matmul.getRhs(), member.weight) || member.inputGrad == matmul)
          continue;
        if (member.inputGrad)
          return "a weight is read by other matmuls, too";
        member.inputGrad = matmul;
        member.dy = dy;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> Finder::findGradients(MatmulGroup &group) {
  llvm::SmallDenseSet<Value> weights;
  for (GroupedMatmul &member : group.members)
    if (!weights.insert(member.weight).second)
      return "two of them have one weight";
  if (auto why = isShared ? findSharedInputGrads(group) : findInputGrads(group))
    return why;
  auto count = [&](auto has) { return llvm::count_if(group.members, has); };
  const auto size = static_cast<int64_t>(group.members.size());
  const int64_t inputGrads = count([](auto &it) { return it.inputGrad != nullptr; });
  if (inputGrads == 0)
    return isShared ? std::optional<std::string>(
                          "a step with micro-batches or exchanges needs no sum of "
                          "gradients of their input, or does not train their weights")
                    : std::nullopt;
  if (inputGrads != size)
    return "only some of them have a gradient of their input";
  SmallVector<Operation *> readers = getReaders(stripReshapes(group.x));
  for (GroupedMatmul &member : group.members) {
    const int64_t columns = typeOf(member.op->getResult(0)).getShape().back();
    // Products of the same values with other rows are no gradients.
    for (Operation *reader : readers) {
      auto matmul = dyn_cast<MatmulOp>(reader);
      if (!matmul || !matmul.getTransposeLhs() || matmul.getTransposeRhs())
        continue;
      Value x = group.transposed ? matmul.getRhs() : matmul.getLhs(),
            dy = group.transposed ? matmul.getLhs() : matmul.getRhs();
      if (stripReshapes(x) != stripReshapes(group.x) || stripReshapes(dy) != member.dy ||
          typeOf(x).getRank() != 2 || typeOf(dy).getRank() != 2 ||
          typeOf(x).getShape().back() != typeOf(group.x).getShape().back() ||
          typeOf(dy).getShape().back() != columns || matmul->getBlock() != &block)
        continue;
      if (member.weightGrad)
        return "a weight has two gradients";
      member.weightGrad = matmul;
    }
    for (Operation *reader : getReaders(member.dy))
      if (auto sum = dyn_cast<ReduceOp>(reader);
          sum && sumsRows(sum, columns) && sum->getBlock() == &block)
        member.biasGrad = sum;
  }
  const int64_t weightGrads = count([](auto &it) { return it.weightGrad != nullptr; });
  if (weightGrads != 0 && weightGrads != size)
    return "only some of their weights are trained";
  auto typeOfGrad = [](GroupedMatmul &member) {
    return typeOf(member.weightGrad.getResult()).getElementType();
  };
  llvm::SmallDenseSet<Value> dys;
  for (GroupedMatmul &member : group.members) {
    if (!dys.insert(member.dy).second)
      return "two of them have one gradient";
    if (typeOf(member.dy).getElementType() !=
            typeOf(group.members.front().dy).getElementType() ||
        member.inputGrad.getType() != group.members.front().inputGrad.getType() ||
        member.inputGrad.getAccType() != group.members.front().inputGrad.getAccType() ||
        (member.weightGrad && (typeOfGrad(member) != typeOfGrad(group.members.front()) ||
                               member.weightGrad.getAccType() !=
                                   group.members.front().weightGrad.getAccType())))
      return "their gradients have other types";
  }
  if (count([](auto &it) { return it.biasGrad != nullptr; }) != size ||
      count([&](auto &it) {
        return it.biasGrad &&
               typeOf(it.biasGrad.getY()).getElementType() ==
                   typeOf(group.members.front().biasGrad.getY()).getElementType() &&
               it.biasGrad.getAccType() == group.members.front().biasGrad.getAccType();
      }) != size)
    for (GroupedMatmul &member : group.members)
      member.biasGrad = ReduceOp();
  return std::nullopt;
}

std::optional<std::string> Finder::findSum(MatmulGroup &group) {
  const Type type = group.members.front().inputGrad.getType();
  const std::string apart = "the gradients of their input are not added up";
  // Gradients of a residual stream are added in f32.
  const Type wide =
      cast<RankedTensorType>(type).clone(Float32Type::get(type.getContext()));
  // The sums that each gradient goes into, from the inside.
  auto getSums = [&](Value value) {
    SmallVector<AddOp> sums;
    while (value.hasOneUse()) {
      auto add = dyn_cast<AddOp>(*value.user_begin());
      if (!add || !llvm::is_contained({type, wide}, add.getResult().getType()) ||
          add->getBlock() != &block)
        break;
      sums.push_back(add);
      value = add.getResult();
    }
    return sums;
  };
  SmallVector<AddOp> common = getSums(group.members.front().inputGrad.getResult());
  llvm::SmallDenseSet<Operation *> inner;
  for (AddOp add : common)
    inner.insert(add);
  for (const GroupedMatmul &member : ArrayRef(group.members).drop_front()) {
    SmallVector<AddOp> sums = getSums(MatmulOp(member.inputGrad).getResult());
    for (AddOp add : sums)
      inner.insert(add);
    llvm::erase_if(common, [&](AddOp add) { return !llvm::is_contained(sums, add); });
  }
  if (common.empty())
    return apart;
  group.inputGrad = common.front().getResult();
  group.typeOfOthers = group.inputGrad.getType();
  llvm::SmallDenseSet<Value> grads;
  for (GroupedMatmul &member : group.members)
    grads.insert(member.inputGrad.getResult());
  SmallVector<Value> open(llvm::reverse(common.front()->getOperands()));
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (grads.contains(value))
      continue;
    auto add = value.getDefiningOp<AddOp>();
    if (!add || !inner.contains(add)) {
      group.others.push_back(value);
      continue;
    }
    if (value.getType() == wide)
      group.typeOfOthers = wide;
    open.append({add->getOperand(1), add->getOperand(0)});
  }
  return std::nullopt;
}

std::optional<std::string> Finder::findPlace(MatmulGroup &group) {
  // Where the weights are joined.
  Operation *last = group.members.front().op;
  if (group.inputGrad.getDefiningOp()->isBeforeInBlock(last))
    return "the gradient of their input is computed before them";
  for (GroupedMatmul &member : group.members) {
    Operation *maker = member.dy.getDefiningOp();
    if (maker && maker->getBlock() == &block && last->isBeforeInBlock(maker))
      last = maker;
  }
  group.firstAfterDys = last->getNextNode();
  // What reads gradients before can come after.
  llvm::SetVector<Operation *> early;
  for (GroupedMatmul &member : group.members)
    for (Operation *grad :
         {member.weightGrad.getOperation(), member.biasGrad.getOperation()})
      if (grad)
        early.insert(grad);
  const size_t grads = early.size();
  for (size_t i = 0; i < early.size(); ++i)
    for (Operation *reader : early[i]->getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*reader);
      if (!here || (here->isBeforeInBlock(group.firstAfterDys) &&
                    (here != reader || !isMemoryEffectFree(here) ||
                     llvm::any_of(group.members, [&](GroupedMatmul &member) {
                       return member.op == here || member.dy.getDefiningOp() == here;
                     })))) {
        if (!isShared)
          return "a gradient is read before all are known";
        // The next exchange, for example. Joined or not, these have the same bits as long
        // as the library adds in the same order.
        group.joinsWeightGrads = false;
        return std::nullopt;
      }
      if (here->isBeforeInBlock(group.firstAfterDys))
        early.insert(here);
    }
  group.afterGradients.assign(early.begin() + grads, early.end());
  llvm::sort(group.afterGradients,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return std::nullopt;
}

void Finder::countCosts(MatmulGroup &group, double &savedBytes, double &savedNodes,
                        double &copiedBytes, double &addedNodes) {
  const auto size = double(group.members.size());
  const bool isTrained = group.members.front().weightGrad != nullptr;
  savedNodes = size - 1;
  if (group.inputGrad) {
    savedNodes += (size - 1) * (isTrained ? 2 : 1);
    // Each is written and read again to be added up.
    savedBytes += 2 * (size - 1) * bytesOf(group.inputGrad);
  }
  for (GroupedMatmul &member : group.members) {
    // Kernels of casts write it where it is joined, in launches of their own if not in
    // one piece. Updates of pieces are launches of their own, too.
    auto cast = member.weight.getDefiningOp<CastOp>();
    const bool isCast =
        !isShared && cast && llvm::all_of(cast->getUsers(), [&](Operation *reader) {
          return reader == member.op || reader == member.inputGrad;
        });
    if (!isCast)
      copiedBytes += 2 * bytesOf(member.weight);
    if (!group.transposed || !isCast)
      addedNodes += 1;
    if (!group.transposed && isTrained)
      addedNodes += 1;
    // What reads y: kernels and attention.
    bool isInPlace = true;
    for (Operation *reader : getReaders(member.op->getResult(0)))
      isInPlace &= isInKernels(reader) || isa<SliceOp>(reader) || isReadInPlace(reader);
    if (!isInPlace)
      copiedBytes += 2 * bytesOf(member.op->getResult(0));
    if (!group.inputGrad)
      continue;
    // What makes dy, and whether nothing else reads it.
    Operation *maker = member.dy.getDefiningOp();
    auto transpose = dyn_cast_or_null<TransposeOp>(maker);
    bool isWritten =
        maker && (isa<ConcatOp>(maker) || isInKernels(maker) ||
                  (transpose && getWrittenInPlace(transpose.getX()) == member.dy));
    for (Operation *reader : getReaders(member.dy))
      isWritten &= reader == member.inputGrad || reader == member.weightGrad ||
                   reader == member.biasGrad;
    if (!isWritten) {
      copiedBytes += 2 * bytesOf(member.dy);
      addedNodes += 1;
    }
  }
}

FailureOr<MatmulGroup> Finder::decide(ArrayRef<Operation *> run, std::string &why) {
  MatmulGroup group;
  group.x = getX(run.front());
  group.transposed = isTransposed(run.front());
  group.isShared = isShared;
  for (Operation *op : run) {
    GroupedMatmul &member = group.members.emplace_back();
    member.op = op;
    member.weight = op->getOperand(1);
    if (op->getNumOperands() > 2)
      member.bias = op->getOperand(2);
  }
  std::optional<std::string> apart = findGradients(group);
  const bool hasGradients = !apart && group.members.front().inputGrad;
  if (hasGradients)
    apart = findSum(group);
  if (hasGradients && !apart)
    apart = findPlace(group);
  if (apart) {
    why = *apart;
    return failure();
  }
  double savedBytes = 0, savedNodes = 0, copiedBytes = 0, addedNodes = 0;
  countCosts(group, savedBytes, savedNodes, copiedBytes, addedNodes);
  for (const JoinRates &rate : rates) {
    group.saved = savedBytes / rate.memoryRate + savedNodes * rate.nodeGap;
    group.spent = copiedBytes / rate.memoryRate + addedNodes * rate.nodeGap;
    if (group.saved <= group.spent) {
      why = llvm::formatv("one matmul would save {0:F1} us and cost {1:F1} us",
                          group.saved * 1e6, group.spent * 1e6);
      return failure();
    }
  }
  return group;
}

} // namespace

bool mpt::isSameWeight(Value a, Value b) {
  while (a != b) {
    Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
    if (!x || !y || x->getName() != y->getName() || a.getType() != b.getType() ||
        x->getAttrDictionary() != y->getAttrDictionary())
      return false;
    const unsigned number = cast<OpResult>(a).getResultNumber();
    if (isa<AllGatherOp>(x)) {
      const unsigned other = cast<OpResult>(b).getResultNumber();
      a = x->getOperand(number);
      b = y->getOperand(other);
      continue;
    }
    if (!isa<CastOp, ReshapeOp, TransposeOp, SliceOp>(x))
      return false;
    a = x->getOperand(0);
    b = y->getOperand(0);
  }
  return true;
}

SmallVector<SmallVector<Operation *>> mpt::findMatmulRuns(Block &block) {
  SmallVector<SmallVector<Operation *>> runs;
  SmallVector<Operation *> run;
  auto finish = [&] {
    if (run.size() > 1)
      runs.push_back(run);
    run.clear();
  };
  // Others between them would keep what is computed early in memory for long.
  for (Operation &op : block.without_terminator()) {
    if (isCandidate(&op) && (run.empty() || isAlike(run.front(), &op))) {
      run.push_back(&op);
      continue;
    }
    if (!isa<MatmulOp, LinearOp, GemmOp, ScaledMatmulOp, AttentionOp, AttentionGradOp,
             Conv2DOp, ScanOp>(op))
      continue;
    finish();
    if (isCandidate(&op))
      run.push_back(&op);
  }
  finish();
  return runs;
}

FailureOr<MatmulGroup> mpt::decideOnMatmuls(ArrayRef<Operation *> run,
                                            ArrayRef<JoinRates> rates, bool isShared,
                                            std::string &why) {
  return Finder(*run.front()->getBlock(), rates, isShared).decide(run, why);
}
