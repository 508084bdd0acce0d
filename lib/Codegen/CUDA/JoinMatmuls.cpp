//===- JoinMatmuls.cpp - Matmuls of one left operand as one -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-join-matmuls`: what decideOnMatmuls has decided.
///
//===----------------------------------------------------------------------===//

#include "../Common/ChipName.h"

#include "mpt/Codegen/CUDA/CostModel.h"
#include "mpt/Codegen/CUDA/MatmulGroups.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Codegen/CUDA/SlicesInPlace.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Support/Remarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_JOINMATMULSPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Operation::moveBefore within a block, but the order of its other ops stays known.
void moveBefore(Operation *op, Operation *place) {
  op->remove();
  place->getBlock()->getOperations().insert(Block::iterator(place), op);
}

/// Joined weights and biases by their first part: micro-batches share them.
using JoinedParameters = DenseMap<Value, SmallVector<ConcatOp>>;

class Joiner {
public:
  Joiner(MatmulGroup &group, JoinedParameters &parameters)
      : group(group), parameters(parameters), builder(group.members.front().op),
        loc(FusedLoc::get(builder.getContext(), getLocations(group))) {}

  /// False, and nothing is changed, if a weight cannot be computed early enough.
  bool run();
  /// Erases what nothing reads any longer and adds it to `erased`.
  void eraseDead(DenseSet<Operation *> &erased);
  /// The joined gradients of weights and biases.
  ArrayRef<Value> getParameterGrads() const { return parameterGrads; }

private:
  static SmallVector<Location> getLocations(MatmulGroup &group) {
    return llvm::map_to_vector(group.members,
                               [](GroupedMatmul &member) { return member.op->getLoc(); });
  }
  /// What `value` is made of after `place`, casts and renamings of what is there: the
  /// last first. False if it is made of more.
  static bool findMakers(Value value, Operation *place,
                         llvm::SetVector<Operation *> &makers);
  Value concat(ArrayRef<Value> parts, int64_t axis);
  /// The same of weights or biases.
  Value concatParameters(ArrayRef<Value> parts, int64_t axis);
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    RankedTensorType type = typeOf(value).clone(shape);
    return type == value.getType() ? value
                                   : ReshapeOp::create(builder, loc, type, value).getY();
  }
  Value latest(Value value) const {
    while (Value other = replaced.lookup(value))
      value = other;
    return value;
  }
  void replace(Value old, Value by) {
    old.replaceAllUsesWith(by);
    replaced[old] = by;
  }
  /// Takes the place of `parts` by slices of `joined` along `axis`.
  void replace(ArrayRef<Value> parts, Value joined, int64_t axis);
  void joinForward();
  void joinGradients();
  /// All dys, [rows, columns].
  Value joinDys();
  template <typename Get>
  SmallVector<Value> collect(Get get) {
    return llvm::map_to_vector(
        group.members, [&](GroupedMatmul &member) -> Value { return get(member); });
  }

  MatmulGroup &group;
  JoinedParameters &parameters;
  SmallVector<Value> parameterGrads;
  /// What took the place of values of the group.
  DenseMap<Value, Value> replaced;
  OpBuilder builder;
  Location loc;
  Value weights;
};

bool Joiner::findMakers(Value value, Operation *place,
                        llvm::SetVector<Operation *> &makers) {
  Operation *maker = value.getDefiningOp();
  if (!maker || maker->getBlock() != place->getBlock() || maker->isBeforeInBlock(place))
    return true;
  if (!isa<CastOp, ReshapeOp, TransposeOp>(maker))
    return false;
  makers.insert(maker);
  return llvm::all_of(maker->getOperands(),
                      [&](Value operand) { return findMakers(operand, place, makers); });
}

Value Joiner::concat(ArrayRef<Value> parts, int64_t axis) {
  SmallVector<int64_t> shape(typeOf(parts.front()).getShape());
  shape[axis] = 0;
  for (Value part : parts)
    shape[axis] += typeOf(part).getDimSize(axis);
  return ConcatOp::create(builder, loc, typeOf(parts.front()).clone(shape), parts, axis);
}

Value Joiner::concatParameters(ArrayRef<Value> parts, int64_t axis) {
  SmallVector<ConcatOp> &known = parameters[parts.front()];
  Operation *place = &*builder.getInsertionPoint();
  for (ConcatOp other : known)
    if (other.getAxis() == static_cast<uint64_t>(axis) &&
        llvm::equal(other.getInputs(), parts) && other->getBlock() == place->getBlock() &&
        other->isBeforeInBlock(place))
      return other.getResult();
  Value joined = concat(parts, axis);
  known.push_back(joined.getDefiningOp<ConcatOp>());
  return joined;
}

void Joiner::replace(ArrayRef<Value> parts, Value joined, int64_t axis) {
  const size_t rank = typeOf(joined).getRank();
  SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
  for (Value part : parts) {
    Value slice = SliceOp::create(builder, loc, typeOf(part), joined, offsets,
                                  typeOf(part).getShape(), strides);
    offsets[axis] += typeOf(part).getDimSize(axis);
    replace(part, slice);
  }
}

void Joiner::joinForward() {
  Operation *first = group.members.front().op;
  weights = concatParameters(collect([](auto &member) { return member.weight; }),
                             group.transposed ? 0 : 1);
  SmallVector<int64_t> shape(typeOf(first->getResult(0)).getShape());
  shape.back() = typeOf(weights).getDimSize(group.transposed ? 0 : 1);
  // The first one, of all.
  IRMapping mapping;
  mapping.map(group.members.front().weight, weights);
  if (group.members.front().bias)
    mapping.map(group.members.front().bias,
                concatParameters(collect([](auto &member) { return member.bias; }), 0));
  Operation *joined = builder.clone(*first, mapping);
  joined->setLoc(loc);
  joined->getResult(0).setType(typeOf(first->getResult(0)).clone(shape));
  replace(collect([](auto &member) { return member.op->getResult(0); }),
          joined->getResult(0), shape.size() - 1);
}

Value Joiner::joinDys() {
  int64_t columns = 0;
  for (GroupedMatmul &member : group.members)
    columns += typeOf(member.weight).getDimSize(group.transposed ? 0 : 1);
  const int64_t rows = typeOf(group.members.front().dy).getNumElements() /
                       typeOf(group.members.front().op->getResult(0)).getShape().back();
  // Along the first dimension of columns, if all have the same others.
  ArrayRef<int64_t> shape = typeOf(group.members.front().dy).getShape();
  int64_t axis = 0;
  for (int64_t seen = 1; axis < static_cast<int64_t>(shape.size()) && seen < rows; ++axis)
    seen *= shape[axis];
  auto isAlike = [&](GroupedMatmul &member) {
    ArrayRef<int64_t> other = typeOf(member.dy).getShape();
    return other.size() == shape.size() &&
           other.take_front(axis) == shape.take_front(axis) &&
           other.drop_front(axis + 1) == shape.drop_front(axis + 1);
  };
  int64_t seen = 1;
  for (int64_t size : shape.take_front(axis))
    seen *= size;
  SmallVector<Value> dys = collect([&](auto &member) { return latest(member.dy); });
  if (seen != rows || axis == static_cast<int64_t>(shape.size()) ||
      !llvm::all_of(group.members, isAlike)) {
    axis = 1;
    for (Value &dy : dys)
      dy = reshape(dy, {rows, typeOf(dy).getNumElements() / rows});
  }
  return reshape(concat(dys, axis), {rows, columns});
}

void Joiner::joinGradients() {
  builder.setInsertionPoint(group.firstAfterDys);
  Value dys = joinDys();
  const int64_t rows = typeOf(dys).getDimSize(0), columns = typeOf(dys).getDimSize(1);
  MatmulOp weightGrad = group.members.front().weightGrad;
  ReduceOp biasGrad = group.members.front().biasGrad;
  if (MatmulOp grad = group.joinsWeightGrads ? weightGrad : MatmulOp()) {
    Value x = reshape(latest(group.x), {rows, typeOf(group.x).getShape().back()});
    auto joined = MatmulOp::create(
        builder, loc,
        typeOf(grad).clone(group.transposed
                               ? ArrayRef({columns, typeOf(x).getDimSize(1)})
                               : ArrayRef({typeOf(x).getDimSize(1), columns})),
        group.transposed ? dys : x, group.transposed ? x : dys,
        /*transpose_lhs=*/true, /*transpose_rhs=*/false, grad.getAccTypeAttr());
    replace(collect([](auto &member) { return member.weightGrad.getResult(); }), joined,
            group.transposed ? 0 : 1);
    parameterGrads.push_back(joined);
  }
  if (ReduceOp grad = group.joinsWeightGrads ? biasGrad : ReduceOp()) {
    auto joined = ReduceOp::create(builder, loc, typeOf(grad.getY()).clone({columns}),
                                   dys, ReduceKind::Sum, ArrayRef<int64_t>{0},
                                   /*keep_dims=*/false, grad.getAccTypeAttr());
    replace(collect([](auto &member) { return member.biasGrad.getY(); }), joined, 0);
    parameterGrads.push_back(joined.getY());
  }
  for (Operation *reader : group.afterGradients)
    moveBefore(reader, group.firstAfterDys);
  MatmulOp grad = group.members.front().inputGrad;
  SmallVector<int64_t> shape(typeOf(grad.getLhs()).getShape());
  shape.back() = columns;
  builder.setInsertionPoint(group.inputGrad.getDefiningOp());
  // Of weights that were gathered again, those.
  SmallVector<Value> read =
      collect([](auto &member) { return member.inputGrad.getRhs(); });
  if (!weights || read != collect([](auto &member) { return member.weight; }))
    weights = concatParameters(read, group.transposed ? 0 : 1);
  const Type type = group.inputGrad.getType();
  Value sum =
      MatmulOp::create(builder, loc, group.others.empty() ? type : Type(grad.getType()),
                       reshape(dys, shape), weights,
                       /*transpose_lhs=*/false,
                       /*transpose_rhs=*/!group.transposed, grad.getAccTypeAttr());
  Value others;
  for (Value other : group.others)
    others = others
                 ? AddOp::create(builder, loc, group.typeOfOthers, others, latest(other))
                       .getResult()
                 : latest(other);
  if (others)
    sum = AddOp::create(builder, group.inputGrad.getLoc(), type, others, sum);
  replace(group.inputGrad, sum);
}

bool Joiner::run() {
  Operation *first = group.members.front().op;
  llvm::SetVector<Operation *> makers;
  for (GroupedMatmul &member : group.members)
    for (Value value : {member.weight, member.bias})
      if (value && !findMakers(value, first, makers)) {
        if (!group.isShared)
          return false;
        joinGradients();
        return true;
      }
  SmallVector<Operation *> ordered = makers.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *maker : ordered)
    moveBefore(maker, first);
  joinForward();
  if (group.inputGrad)
    joinGradients();
  return true;
}

void Joiner::eraseDead(DenseSet<Operation *> &erased) {
  SmallVector<Operation *> open;
  if (group.inputGrad)
    open.push_back(group.inputGrad.getDefiningOp());
  for (GroupedMatmul &member : group.members)
    for (Operation *op :
         {member.op, member.inputGrad.getOperation(), member.weightGrad.getOperation(),
          member.biasGrad.getOperation()})
      if (op)
        open.push_back(op);
  DenseSet<Operation *> gone;
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (gone.contains(op) || !isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        open.push_back(maker);
    gone.insert(op);
    op->erase();
  }
  erased.insert_range(gone);
}

/// Whether `function` has micro-batches, or parameters or gradients of it go between
/// ranks.
bool isShared(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return isCollective(op) || isa<AccumulateOp>(op) ? WalkResult::interrupt()
                                                         : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Adds a micro-batch's `joined` gradients to the sums of the earlier ones, if these are
/// parts of one tensor, too: so that the matmul that makes them can.
void joinSums(Value joined) {
  SmallVector<SliceOp> parts;
  for (Operation *user : joined.getUsers()) {
    auto part = dyn_cast<SliceOp>(user);
    if (!part || !part->hasOneUse())
      return;
    parts.push_back(part);
  }
  Value sum;
  AccumulateOp last;
  SmallVector<AccumulateOp> sums;
  for (SliceOp part : parts) {
    auto accumulation = dyn_cast<AccumulateOp>(*part->user_begin());
    auto before =
        accumulation ? accumulation.getSum().getDefiningOp<SliceOp>() : SliceOp();
    if (!before || accumulation.getGradient() != part.getResult() ||
        before.getOffsets() != part.getOffsets() ||
        before.getStrides() != part.getStrides() ||
        before.getResult().getType().getShape() !=
            part.getResult().getType().getShape() ||
        (sum && (before.getX() != sum || accumulation.getDivisor() != last.getDivisor() ||
                 accumulation->getBlock() != last->getBlock())))
      return;
    sum = before.getX();
    sums.push_back(accumulation);
    if (!last || last->isBeforeInBlock(accumulation))
      last = accumulation;
  }
  if (!last || typeOf(sum).getShape() != typeOf(joined).getShape())
    return;
  Block *block = last->getBlock();
  for (AccumulateOp accumulation : sums)
    for (Operation *reader : accumulation->getUsers()) {
      Operation *here = block->findAncestorOpInBlock(*reader);
      if (!here || !last->isBeforeInBlock(here))
        return;
    }
  OpBuilder builder(last);
  Value all = AccumulateOp::create(builder, last.getLoc(), sum.getType(), sum, joined,
                                   last.getDivisorAttr());
  for (auto [part, accumulation] : llvm::zip_equal(parts, sums)) {
    Value slice = SliceOp::create(builder, accumulation.getLoc(),
                                  accumulation.getResult().getType(), all,
                                  part.getOffsets(), part.getSizes(), part.getStrides());
    accumulation.getResult().replaceAllUsesWith(slice);
  }
  for (auto [part, accumulation] : llvm::zip_equal(parts, sums)) {
    Operation *before = accumulation.getSum().getDefiningOp();
    accumulation.erase();
    part.erase();
    if (isOpTriviallyDead(before))
      before->erase();
  }
}

struct JoinMatmulsPass : mpt::impl::JoinMatmulsPassBase<JoinMatmulsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<JoinRates> rates;
    for (StringRef chip : chips) {
      std::optional<int64_t> architecture = parseChipName(chip);
      if (!architecture) {
        getOperation().emitError("mpt-join-matmuls: unknown chip '")
            << chip << "'; expected one such as sm_90";
        return signalPassFailure();
      }
      const GpuChip &known = getNearestGpuChip(*architecture);
      rates.push_back({known.memoryRate, known.nodeGap});
    }
    if (!mpt::detail::hasOpsOfMPT(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no op of the mpt dialect");
    const FrozenRewritePatternSet patterns = [&] {
      RewritePatternSet set(&getContext());
      populateSlicesInPlacePatterns(set);
      return set;
    }();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration())
        continue;
      if (failed(applyPatternsGreedily(function, patterns)))
        return signalPassFailure();
      for (Block &block : function.getBody())
        join(function, block, rates);
      if (failed(applyPatternsGreedily(function, patterns)))
        return signalPassFailure();
    }
  }

  void join(func::FuncOp function, Block &block, ArrayRef<JoinRates> rates) {
    auto refuse = [&](Operation *op, const Twine &why) {
      emitRemark(RemarkId::MatmulsNotJoined, op->getLoc(), function.getName())
          << remark::reason("{0}", why.str());
    };
    // One after the other: joining some changes what others read, and where. None of what
    // it adds is in a run.
    DenseSet<Operation *> erased;
    JoinedParameters parameters;
    SmallVector<Value> grads;
    const bool shared = isShared(function);
    for (SmallVector<Operation *> &run : findMatmulRuns(block)) {
      llvm::erase_if(run, [&](Operation *op) { return erased.contains(op); });
      if (run.size() < 2)
        continue;
      llvm::sort(run, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      Operation *first = run.front();
      const Location loc = first->getLoc();
      std::string why;
      FailureOr<MatmulGroup> group = decideOnMatmuls(run, rates, shared, why);
      if (failed(group)) {
        refuse(first, why);
        continue;
      }
      std::string columns;
      for (GroupedMatmul &member : group->members)
        columns += (columns.empty() ? "" : " + ") +
                   std::to_string(typeOf(member.op->getResult(0)).getShape().back());
      Joiner joiner(*group, parameters);
      if (!joiner.run()) {
        refuse(first, "a weight is computed after the first of them");
        continue;
      }
      joiner.eraseDead(erased);
      llvm::append_range(grads, joiner.getParameterGrads());
      emitRemark(RemarkId::MatmulsJoined, loc, function.getName()) << remark::reason(
          "{0} of {1} columns; saves {2:F1} us, costs {3:F1} us", group->members.size(),
          columns, group->saved * 1e6, group->spent * 1e6);
    }
    for (Value joined : grads)
      joinSums(joined);
  }
};

} // namespace
