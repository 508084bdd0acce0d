//===- FuseKernels.cpp - Elementwise ops and reductions as kernels -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-fuse-kernels`: builds the kernels that planFusion chose.
///
//===----------------------------------------------------------------------===//

#include "TransposedRows.h"
#include "mpt/Dialect/Kernel/Transforms/FusionPlan.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/MPT/IR/ScalarBuilder.h"
#include "mpt/Dialect/MPT/Transforms/AttentionViews.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"
#include "mpt/Dialect/MPT/Transforms/IsolateScans.h"
#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"
#include "mpt/Dialect/MPT/Transforms/JoinedPlaces.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mpt {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "mpt/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// What `value` is a reshape of.
Value getRenamed(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

/// `value` as `type`.
Value reshapeTo(OpBuilder &builder, Location loc, Value value, Type type) {
  value = getRenamed(value);
  if (value.getType() == type)
    return value;
  return ReshapeOp::create(builder, loc, type, value);
}

/// Builds one kernel.
class KernelBuilder {
public:
  KernelBuilder(const FusionPlan &plan, const FusionNode &node, Operation *insertionPoint,
                const FusionOptions &options)
      : plan(plan), node(node), options(options), builder(insertionPoint),
        loc(getFusedLoc(node)), context(builder.getContext()),
        rank(std::max<size_t>(node.domain.size(), 1)) {
    members.insert(node.ops.begin(), node.ops.end());
  }

  /// Returns transposes that nothing reads any more.
  SmallVector<TransposeOp> build();

private:
  static Location getFusedLoc(const FusionNode &node) {
    SmallVector<Location> locations;
    for (Operation *op : node.ops)
      locations.push_back(op->getLoc());
    return FusedLoc::get(node.ops.front()->getContext(), locations);
  }

  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, context); }
  AffineExpr zero() { return getAffineConstantExpr(0, context); }
  int64_t columns() { return node.domain.empty() ? 1 : node.domain.back(); }
  /// Makes the row the last dimension of `domain`.
  void moveRowLast(KernelDomain &domain);

  /// The index of each of `shape`'s dimensions at a point, for a value of that
  /// shape and extent.
  SmallVector<AffineExpr> indices(ArrayRef<int64_t> shape, KernelExtent extent);
  /// The index that an elementwise op of result `op` uses into its operand.
  AffineMap operandMap(Operation *op, Value operand);
  /// The scalar of `operand` inside the body: computed, constant or loaded.
  Value scalarOf(Operation *op, Value operand, OpBuilder &body);
  Value buildReduce(ReduceOp op, OpBuilder &body);
  bool isUsedOutside(Value value) {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return !members.contains(user); });
  }

  const FusionPlan &plan;
  const FusionNode &node;
  const FusionOptions &options;
  OpBuilder builder;
  Location loc;
  MLIRContext *context;
  unsigned rank;
  DenseSet<Operation *> members;
  std::unique_ptr<Block> body = std::make_unique<Block>();
  DenseMap<Value, Value> scalars;
  llvm::MapVector<std::pair<Value, AffineMap>, Value> loads;
  SmallVector<kernel::IndexOp> indexOps;
  bool hasRows = false, hasColumns = false;
};

SmallVector<AffineExpr> KernelBuilder::indices(ArrayRef<int64_t> shape,
                                               KernelExtent extent) {
  SmallVector<AffineExpr> exprs;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool isLast = i + 1 == shape.size();
    switch (extent) {
    case KernelExtent::Full:
      exprs.push_back(dim(i));
      break;
    case KernelExtent::Row:
      if (shape.size() == node.domain.size())
        exprs.push_back(i == node.rowDim.value_or(rank - 1) ? zero() : dim(i));
      else
        exprs.push_back(dim(node.rowDim && i >= *node.rowDim ? i + 1 : i));
      break;
    case KernelExtent::AfterColumns:
      exprs.push_back(isLast && shape[i] == columns() ? dim(rank - 1) : zero());
      break;
    }
  }
  return exprs;
}

AffineMap KernelBuilder::operandMap(Operation *op, Value operand) {
  ArrayRef<int64_t> shape = typeOf(operand).getShape();
  if (isa<ReduceOp>(op))
    return AffineMap::get(rank, 0, indices(shape, KernelExtent::Full), context);
  Value result = op->getResult(0);
  ArrayRef<int64_t> resultShape = typeOf(result).getShape();
  SmallVector<AffineExpr> at = indices(resultShape, plan.extents.lookup(result));
  SmallVector<AffineExpr> exprs(shape.size());
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [i, from] : llvm::enumerate(transpose.getPermutation()))
      exprs[from] = at[i];
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    for (size_t i = 0; i < shape.size(); ++i)
      exprs[i] = at[i] * slice.getStrides()[i] + slice.getOffsets()[i];
  } else {
    size_t shift = resultShape.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i)
      exprs[i] = shape[i] == 1 ? zero() : at[i + shift];
  }
  return AffineMap::get(rank, 0, exprs, context);
}

Value KernelBuilder::scalarOf(Operation *op, Value operand, OpBuilder &b) {
  if (Value inside = scalars.lookup(operand))
    return inside;
  SplatElementsAttr splat;
  if (matchPattern(operand, m_Constant(&splat))) {
    auto value = cast<TypedAttr>(splat.getSplatValue<Attribute>());
    return arith::ConstantOp::create(b, op->getLoc(), value);
  }
  AffineMap map = operandMap(op, operand);
  Value &load = loads[{operand, map}];
  if (!load)
    load = body->addArgument(typeOf(operand).getElementType(), operand.getLoc());
  return load;
}

Value KernelBuilder::buildReduce(ReduceOp op, OpBuilder &b) {
  Location at = op.getLoc();
  Type element = typeOf(op.getX()).getElementType();
  Type acc = getAccumulatorType(op.getAccType(), element);
  if (typeOf(op.getY()).getElementType().isF64())
    acc = b.getF64Type();
  Value x = convertFloat(b, at, scalarOf(op, op.getX(), b), acc);
  KernelExtent extent = plan.extents.lookup(op.getY());
  bool inRow = members.contains(op.getX().getDefiningOp()) &&
               plan.extents.lookup(op.getX()) == KernelExtent::Row;
  bool wholeRows = op.getAxes().size() == typeOf(op.getX()).getShape().size();
  auto note = [&](Operation *sum) {
    if (Attribute number = op->getAttr(kSumAttr))
      sum->setAttr(kSumAttr, number);
  };
  if (extent == KernelExtent::Row || (wholeRows && !inRow)) {
    x = kernel::RowReduceOp::create(b, at, op.getKind(), x);
    note(x.getDefiningOp());
    hasRows = true;
  }
  if (extent == KernelExtent::AfterColumns) {
    x = kernel::ColumnReduceOp::create(b, at, op.getKind(), x);
    note(x.getDefiningOp());
    hasColumns = true;
  }
  return convertFloat(b, at, x, typeOf(op.getY()).getElementType());
}

void KernelBuilder::moveRowLast(KernelDomain &domain) {
  const unsigned row = *node.rowDim, last = rank - 1;
  SmallVector<AffineExpr> moved;
  for (unsigned i = 0; i < rank; ++i)
    moved.push_back(dim(i == row ? last : i > row ? i - 1 : i));
  for (KernelAccess &access : domain.accesses)
    access.map = access.map.replaceDimsAndSymbols(moved, {}, rank, 0);
  for (kernel::IndexOp index : indexOps)
    index.setDim(cast<AffineDimExpr>(moved[index.getDim()]).getPosition());
  std::rotate(domain.sizes.begin() + row, domain.sizes.begin() + row + 1,
              domain.sizes.end());
  std::rotate(domain.indexed.begin() + row, domain.indexed.begin() + row + 1,
              domain.indexed.end());
}

SmallVector<TransposeOp> KernelBuilder::build() {
  OpBuilder b(context);
  b.setInsertionPointToEnd(body.get());
  for (Operation *op : node.ops) {
    Value result = op->getResult(0);
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      scalars[result] = buildReduce(reduce, b);
      continue;
    }
    if (auto iota = dyn_cast<IotaOp>(op)) {
      Type element = typeOf(result).getElementType();
      AffineExpr at =
          indices(typeOf(result).getShape(), plan.extents.lookup(result))[iota.getAxis()];
      Value index;
      if (auto plain = dyn_cast<AffineDimExpr>(at)) {
        auto indexOp = kernel::IndexOp::create(
            b, op->getLoc(), element.isInteger(64) ? b.getI64Type() : b.getI32Type(),
            plain.getPosition());
        indexOps.push_back(indexOp);
        index = indexOp;
      } else {
        index = arith::ConstantOp::create(b, op->getLoc(), b.getI32IntegerAttr(0));
      }
      if (isa<FloatType>(element)) {
        Value wide = arith::SIToFPOp::create(b, op->getLoc(), b.getF64Type(), index);
        index = convertFloat(b, op->getLoc(), wide, element);
      } else if (element.getIntOrFloatBitWidth() <
                 index.getType().getIntOrFloatBitWidth()) {
        index = arith::TruncIOp::create(b, op->getLoc(), element, index);
      } else if (element != index.getType()) {
        index = arith::ExtSIOp::create(b, op->getLoc(), element, index);
      }
      scalars[result] = index;
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(scalarOf(op, operand, b));
    // The others are loads (transposes, slices), which read at other indices.
    auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
    scalars[result] = elementwise ? elementwise.buildScalar(b, operands)
                                  : ScalarBuilder(b, op).round(operands[0]);
  }

  KernelDomain domain;
  domain.sizes = node.domain;
  if (domain.sizes.empty())
    domain.sizes.push_back(1);
  domain.indexed.assign(domain.sizes.size(), false);
  for (kernel::IndexOp index : indexOps)
    domain.indexed[index.getDim()] = true;
  domain.reduces = hasRows || hasColumns;
  SmallVector<Value> operands;
  for (auto &entry : loads) {
    operands.push_back(entry.first.first);
    domain.accesses.push_back({typeOf(entry.first.first), entry.first.second});
  }
  SmallVector<Value> results, yielded;
  for (Operation *op : node.ops) {
    Value result = op->getResult(0);
    if (!isUsedOutside(result))
      continue;
    results.push_back(result);
    yielded.push_back(scalars.lookup(result));
    // Written where a concat joins it (JoinedPlaces.h).
    std::optional<JoinedPlace> place =
        options.attentionViews ? getJoinedPlace(result) : std::optional<JoinedPlace>();
    domain.accesses.push_back(
        {typeOf(result),
         AffineMap::get(rank, 0,
                        indices(typeOf(result).getShape(), plan.extents.lookup(result)),
                        context),
         place ? place->strides : SmallVector<int64_t>()});
  }
  kernel::YieldOp::create(b, loc, yielded);
  SmallVector<TransposeOp> replaced;
  if (node.rowDim)
    moveRowLast(domain);
  else if (options.transposedRows)
    if (std::optional<TransposedRows> found =
            findTransposedRows(domain, operands, results,
                               [&](Operation *user) { return members.contains(user); })) {
      for (kernel::IndexOp index : indexOps)
        if (index.getDim() + 1 == domain.sizes.size())
          index.setDim(found->domain.sizes.size() - 1);
      domain = std::move(found->domain);
      operands = std::move(found->operands);
      results = std::move(found->results);
      replaced = std::move(found->replaced);
    }
  SmallVector<int64_t> numbers = domain.simplify();
  for (kernel::IndexOp index : indexOps)
    index.setDim(numbers[index.getDim()]);

  SmallVector<Value> inputs;
  SmallVector<AffineMap> operandMaps, resultMaps;
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(operands)) {
    const KernelAccess &access = domain.accesses[i];
    inputs.push_back(reshapeTo(builder, value.getLoc(), value, access.type));
    operandMaps.push_back(access.map);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const KernelAccess &access = domain.accesses[loads.size() + i];
    types.push_back(access.type);
    resultMaps.push_back(access.map);
  }
  kernel::KernelKind kind = hasColumns ? kernel::KernelKind::Column
                            : hasRows  ? kernel::KernelKind::Row
                                       : kernel::KernelKind::Pointwise;
  auto kernel = kernel::KernelOp::create(builder, loc, types, inputs, kind, domain.sizes,
                                         domain.getChunkRows(hasColumns),
                                         builder.getAffineMapArrayAttr(operandMaps),
                                         builder.getAffineMapArrayAttr(resultMaps));
  kernel.getBody().push_back(body.release());
  // The marks of its members: of one that is a clone, and of any whose value must stay.
  for (Operation *op : node.ops) {
    if (Attribute clone = op->getAttr(kRematAttr); clone && !kernel->hasAttr(kRematAttr))
      kernel->setAttr(kRematAttr, clone);
    auto save = op->getAttrOfType<StringAttr>(kSaveAttr);
    if (save && save.getValue() == "must" && isUsedOutside(op->getResult(0)))
      kernel->setAttr(kSaveAttr, save);
  }
  for (auto [result, output] : llvm::zip_equal(results, kernel.getOutputs())) {
    Value replacement = reshapeTo(builder, loc, output, result.getType());
    result.replaceUsesWithIf(
        replacement, [&](OpOperand &use) { return !members.contains(use.getOwner()); });
  }
  return replaced;
}

/// What a tensor times a number (of rank 0) multiplies, else null.
Value getScaled(Operation *op) {
  auto mul = dyn_cast_or_null<MulOp>(op);
  if (!mul)
    return {};
  for (auto [x, number] : {std::pair<Value, Value>{mul.getLhs(), mul.getRhs()},
                           {mul.getRhs(), mul.getLhs()}})
    if (typeOf(number).getRank() == 0 && typeOf(x).getRank() > 0 &&
        typeOf(x).getElementTypeBitWidth() <=
            typeOf(mul.getResult()).getElementTypeBitWidth())
      return x;
  return {};
}

/// The ops that multiply a tensor by numbers, one after the other, the last first,
/// and in `base` the tensor; empty if a kernel computes it, which would have to
/// store it then.
SmallVector<MulOp> getScalings(Value value, Value &base) {
  SmallVector<MulOp> chain;
  base = getRenamed(value);
  while (Value x = getScaled(base.getDefiningOp())) {
    chain.push_back(cast<MulOp>(base.getDefiningOp()));
    base = getRenamed(x);
  }
  Operation *producer = base.getDefiningOp();
  if (producer && !isJoinedPart(producer) &&
      (isFusibleElementwise(producer) || isa<ReduceOp, ConstantOp>(producer)))
    chain.clear();
  return chain;
}

/// Renames parameters instead of their narrow copies, as imports reshape weights for
/// their matmuls, so that the matmuls round what they read.
void renameBeforeRounding(Block &block) {
  SmallVector<CastOp> casts;
  for (Operation &op : block)
    if (isRoundedIfRenamed(&op))
      casts.push_back(cast<CastOp>(op));
  for (CastOp narrow : casts) {
    Value x = narrow.getX();
    for (Operation *user : llvm::make_early_inc_range(narrow->getUsers())) {
      if (!isa<ReshapeOp>(user))
        continue;
      OpBuilder builder(user);
      auto type = typeOf(user->getResult(0));
      Value renamed =
          reshapeTo(builder, user->getLoc(), x, type.clone(typeOf(x).getElementType()));
      Value rounded = CastOp::create(builder, narrow.getLoc(), type, renamed);
      user->getResult(0).replaceAllUsesWith(rounded);
      user->erase();
    }
    if (narrow.use_empty())
      narrow.erase();
  }
}

/// Whether `op` takes the whole blocks of a tensor, or what is left, as norms and checks
/// of gradients read it.
bool isPartOfGradient(Operation *op) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  if (!slice || typeOf(slice.getX()).getRank() != 1 || slice.getStrides().front() != 1)
    return false;
  const int64_t all = typeOf(slice.getX()).getNumElements(),
                begin = slice.getOffsets().front(), size = slice.getSizes().front(),
                whole = all - all % mpt::detail::kGradientBlock;
  return (begin == 0 && size == whole) || (begin == whole && begin + size == all);
}

/// Renames what lies in memory, or takes parts of it, instead of what is scaled (an
/// unscaled or clipped gradient), so that each kernel can scale what it reads.
void renameBeforeScaling(Block &block) {
  DenseMap<std::pair<Value, Type>, Value> renamed;
  DenseMap<std::pair<Value, Attribute>, Value> parts;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    const bool isPart = isPartOfGradient(&op);
    Value base;
    if (!isa<ReshapeOp>(op) && !isPart)
      continue;
    Value x = op.getOperand(0), y = op.getResult(0);
    SmallVector<MulOp> chain = getScalings(x, base);
    if (chain.empty()) {
      // What checks a part is read again by the norm.
      if (isPart)
        parts.try_emplace({getRenamed(x), op.getAttrDictionary()}, y);
      else if (isPartOfGradient(x.getDefiningOp()))
        renamed.try_emplace({x, y.getType()}, y);
      continue;
    }
    auto type = typeOf(y);
    auto from = type.clone(typeOf(base).getElementType());
    OpBuilder builder(&op);
    Value &value = isPart ? parts[{base, op.getAttrDictionary()}] : renamed[{base, from}];
    if (!value && isPart) {
      // Views are placed in the order of the block: what a part reads comes before it.
      Value line =
          reshapeTo(builder, op.getLoc(), base, typeOf(x).clone(from.getElementType()));
      value = builder.clone(op)->getResult(0);
      value.getDefiningOp()->setOperand(0, line);
      value.setType(from);
    } else if (!value) {
      value = reshapeTo(builder, op.getLoc(), base, from);
    }
    Value result = value;
    for (MulOp mul : llvm::reverse(chain)) {
      IRMapping mapping;
      mapping.map(getScaled(mul), result);
      Operation *copy = builder.clone(*mul, mapping);
      copy->getResult(0).setType(type.clone(typeOf(mul.getResult()).getElementType()));
      result = copy->getResult(0);
    }
    y.replaceAllUsesWith(result);
    op.erase();
  }
}

/// One barrier for each tensor. A barrier of several (`jax.checkpoint`) would have to
/// come after all that computes any of them, which the plan does not know.
void splitBarriers(Block &block) {
  for (auto barrier : llvm::make_early_inc_range(block.getOps<BarrierOp>())) {
    if (barrier.getInputs().size() < 2)
      continue;
    OpBuilder builder(barrier);
    for (auto [input, output] :
         llvm::zip_equal(barrier.getInputs(), barrier.getOutputs()))
      output.replaceAllUsesWith(
          BarrierOp::create(builder, barrier.getLoc(), output.getType(), input)
              .getResult(0));
    barrier.erase();
  }
}

/// True if `op` widens a tensor of narrow floats, and adds or multiplies something small,
/// such as a mean or a factor per row or column; or if it does that to the result of up
/// to three such ops, as norms do. The narrow tensor has fewer bytes to keep and to read.
/// It may lie in memory in any case: the result of a library call, or an argument. If a
/// kernel makes it, what is small must be computed too, such as a mean, and kernels alone
/// may read the result, so that none stores it.
bool isShiftedWidening(Operation *op, int depth = 0) {
  if (!isa<AddOp, SubOp, MulOp>(op) || depth > 3)
    return false;
  auto type = typeOf(op->getResult(0));
  Value full, small;
  for (Value operand : op->getOperands()) {
    if (typeOf(operand).getShape() == type.getShape()) {
      if (full)
        return false;
      full = operand;
    } else if (small = operand;
               8 * typeOf(operand).getNumElements() > type.getNumElements()) {
      return false;
    }
  }
  if (!full || !isa<FloatType>(typeOf(full).getElementType()))
    return false;
  const unsigned from = typeOf(full).getElementTypeBitWidth(),
                 to = type.getElementTypeBitWidth();
  if (from == to) {
    Operation *producer = full.getDefiningOp();
    return producer && isShiftedWidening(producer, depth + 1);
  }
  if (from > to)
    return false;
  Operation *producer = getRenamed(full).getDefiningOp();
  if (!producer ||
      !(isFusibleElementwise(producer) || isa<ReduceOp, ConstantOp>(producer)))
    return true;
  return isa<ElementwiseOpInterface>(producer) && typeOf(small).getRank() > 0 &&
         getRenamed(small).getDefiningOp() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<ElementwiseOpInterface, ReduceOp>(user);
         });
}

/// True if `op` is the x - m of an e^(x - m) with a number m for each row, and x is a
/// widened narrow tensor or lies in memory.
bool isShiftedExponent(Operation *op) {
  auto sub = dyn_cast_or_null<SubOp>(op);
  if (!sub || !llvm::all_of(sub->getUsers(), llvm::IsaPred<ExpOp>))
    return false;
  auto type = typeOf(sub.getResult()), small = typeOf(sub.getRhs());
  if (typeOf(sub.getLhs()).getShape() != type.getShape() ||
      small.getRank() != type.getRank() || type.getRank() == 0 ||
      small.getShape().back() != 1 || type.getShape().back() == 1)
    return false;
  Operation *producer = getRenamed(sub.getLhs()).getDefiningOp();
  return !producer || isa<CastOp>(producer) || !isFusibleElementwise(producer);
}

/// Whether parts that are read make up all of `whole`, which is a matmul's result or an
/// argument, so that it is kept in any case.
bool isKeptForParts(Value whole) {
  if (Operation *maker = whole.getDefiningOp())
    if (!isa<MatmulOp, LinearOp, GemmOp>(maker))
      return false;
  int64_t parts = 0;
  SmallVector<Value> views = {whole};
  llvm::SmallDenseSet<Attribute> seen;
  for (size_t i = 0; i < views.size(); ++i)
    for (Operation *user : views[i].getUsers())
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        views.push_back(reshape.getY());
      else if (auto part = dyn_cast<SliceOp>(user);
               part && seen.insert(part->getAttrDictionary()).second)
        parts += typeOf(part.getResult()).getNumElements();
  return parts >= typeOf(whole).getNumElements();
}

/// Whether `op` is an activation of a gate that is kept for its gradient, and kernels
/// alone read the result: those of the backward pass, which read the gate anyway, make it
/// again.
bool isActivationOfGate(Operation &op) {
  if (!isa<SiluOp, GeluOp>(op) || op.hasOneUse() ||
      !llvm::all_of(op.getUsers(), isFusibleElementwise))
    return false;
  Value gate = op.getOperand(0);
  return llvm::any_of(gate.getUsers(), llvm::IsaPred<SiluGradOp, GeluGradOp>);
}

/// Whether `mask` compares a tensor that lies in memory with a constant, and that tensor
/// is read again no earlier than the mask: each reader then makes it for itself.
bool isMaskOfKept(CompareOp mask) {
  Value x = mask.getLhs();
  if (x.getDefiningOp<ConstantOp>())
    x = mask.getRhs();
  else if (!mask.getRhs().getDefiningOp<ConstantOp>())
    return false;
  Operation *producer = getRenamed(x).getDefiningOp();
  if (!producer)
    return true;
  if (isFusibleElementwise(producer) || isa<ReduceOp, ConstantOp>(producer))
    return false;
  auto findLast = [&](Value value) {
    Operation *last = nullptr;
    for (Operation *user : value.getUsers())
      if (user != mask && (!last || last->isBeforeInBlock(user)))
        last = user;
    return last;
  };
  auto isHere = [&](Operation *user) { return user->getBlock() == mask->getBlock(); };
  if (!llvm::all_of(mask->getUsers(), isHere) || !llvm::all_of(x.getUsers(), isHere))
    return false;
  Operation *last = findLast(mask.getResult()), *lastOfX = findLast(x);
  return last && lastOfX && !lastOfX->isBeforeInBlock(last);
}

/// Whether `op` is an outer product (sum, difference) of much smaller tensors that
/// kernels alone read.
bool isOuterProduct(Operation &op) {
  if (!isa<MulOp, AddOp, SubOp>(op) || op.hasOneUse() ||
      !llvm::all_of(op.getUsers(), isFusibleElementwise))
    return false;
  const int64_t elements = typeOf(op.getResult(0)).getNumElements();
  return llvm::all_of(op.getOperands(), [&](Value operand) {
    return 8 * typeOf(operand).getNumElements() <= elements;
  });
}

/// Gives each user its own copy, next to it, of what is cheaper to compute again
/// than to store: index tensors, masks made of them or of what lies in memory, widened
/// narrow floats (also shifted or scaled), f32 numbers kept in two halves, what lies in
/// memory times a number, outer products, and the powers that a cross-entropy adds, which
/// its gradient reads.
void duplicateCheapOps(Block &block, bool forGPU) {
  DenseMap<Value, bool> keptForParts;
  auto isPartOfKept = [&](Operation &op) {
    auto slice = dyn_cast<SliceOp>(op);
    if (!slice || !isFusibleLoad(slice))
      return false;
    Value whole = getRenamed(slice.getX());
    auto [known, isNew] = keptForParts.try_emplace(whole, false);
    if (isNew)
      known->second = isKeptForParts(whole);
    return known->second;
  };
  auto isCheap = [&](Operation &op) {
    if (forGPU && (isActivationOfGate(op) || isPartOfKept(op)))
      return true;
    // Made of what the step keeps anyway.
    if (isa<IotaOp, JoinHalvesOp, AddCompensationOp>(op))
      return true;
    if (auto compare = dyn_cast<CompareOp>(op))
      return isMaskOfKept(compare) || llvm::any_of(op.getOperands(), [](Value operand) {
               return operand.getDefiningOp<IotaOp>() != nullptr;
             });
    if (auto cast = dyn_cast<CastOp>(op)) {
      Type from = typeOf(cast.getX()).getElementType();
      Type to = typeOf(cast.getY()).getElementType();
      return isa<FloatType>(from) && isa<FloatType>(to) &&
             from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
    }
    // For others it is stored, which serves all.
    if (auto exp = dyn_cast<ExpOp>(op))
      return isShiftedExponent(exp.getX().getDefiningOp()) &&
             llvm::all_of(op.getUsers(), [](Operation *user) {
               return isFusibleElementwise(user) || isa<ReduceOp>(user);
             });
    Value base;
    return isShiftedExponent(&op) || isShiftedWidening(&op) || isOuterProduct(op) ||
           (getScaled(&op) && !getScalings(op.getResult(0), base).empty());
  };
  // Backwards, so that a copy's operands are copied in turn.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isCheap(op))
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op.getUses())
      if (use.getOwner()->getBlock() == &block)
        uses.push_back(&use);
    for (OpOperand *use : uses)
      use->set(OpBuilder(use->getOwner()).clone(op)->getResult(0));
    if (op.use_empty())
      op.erase();
  }
}

/// Joins arguments that several loops read, forward and backward, again for each: the
/// weights of LSTMs that have a matrix for each gate. The loops' time hides that of a
/// copy.
void duplicateJoins(Block &block) {
  for (auto concat : llvm::make_early_inc_range(block.getOps<ConcatOp>())) {
    if (!llvm::all_of(concat.getInputs(), llvm::IsaPred<BlockArgument>) ||
        !llvm::all_of(concat->getUsers(), llvm::IsaPred<ScanOp>))
      continue;
    llvm::SetVector<Operation *> loops;
    for (Operation *user : concat->getUsers())
      if (user->getBlock() == &block)
        loops.insert(user);
    SmallVector<Operation *> sorted = loops.takeVector();
    llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *loop : ArrayRef(sorted).drop_front()) {
      // So that it is not merged with the first.
      OpBuilder builder(loop);
      Value input = concat.getInputs().front();
      Value again = BarrierOp::create(builder, concat.getLoc(), input.getType(), input)
                        .getResult(0);
      Operation *copy = builder.clone(*concat);
      copy->setOperand(0, again);
      loop->replaceUsesOfWith(concat.getResult(), copy->getResult(0));
    }
  }
}

bool isWidening(Operation *op) {
  auto cast = dyn_cast_or_null<CastOp>(op);
  if (!cast)
    return false;
  auto from = dyn_cast<FloatType>(typeOf(cast.getX()).getElementType()),
       to = dyn_cast<FloatType>(typeOf(cast.getY()).getElementType());
  return from && to && from.getWidth() < to.getWidth();
}

/// Whether `value` lies in memory for others: no kernel computes it, or another shape of
/// it is read.
bool liesInMemory(Value value, ReshapeOp except) {
  value = getRenamed(value);
  Operation *op = value.getDefiningOp();
  if (!op || !(isFusibleElementwise(op) || isa<ReduceOp>(op)))
    return true;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<ReshapeOp>(user) && user != except;
  });
}

/// A reduction of a tensor in another shape is in another kernel than what computes the
/// tensor, which is then stored. What widens it, or computes it elementwise of tensors
/// that are stored anyway, moves after the reshape, to the kernel of the reduction.
void computeAfterReshapes(Block &block) {
  auto move = [&](ReshapeOp reshape) {
    Operation *op = reshape.getX().getDefiningOp();
    if (!op || op->getBlock() != &block || !op->hasOneUse() ||
        !isa<ElementwiseOpInterface>(op) || op->getNumResults() != 1 ||
        typeOf(reshape.getX()).getRank() == 0)
      return false;
    const bool widens = isWidening(op);
    for (Value operand : op->getOperands()) {
      if (typeOf(operand).getRank() == 0)
        continue;
      Operation *maker = operand.getDefiningOp();
      // A kernel holds a constant of one number as a scalar, unless it is reshaped.
      if (typeOf(operand).getShape() != typeOf(reshape.getX()).getShape() ||
          isa_and_nonnull<ConstantOp>(maker))
        return false;
      Value stored =
          isWidening(maker) && maker->hasOneUse() ? maker->getOperand(0) : operand;
      if (!widens && !liesInMemory(stored, reshape))
        return false;
    }
    ArrayRef<int64_t> shape = typeOf(reshape.getY()).getShape();
    OpBuilder builder(reshape);
    // One value for all readers, so that one kernel reads it.
    auto reshapeOnce = [&](Value operand) -> Value {
      auto type = typeOf(operand).clone(shape);
      for (Operation *user : operand.getUsers())
        if (auto other = dyn_cast<ReshapeOp>(user);
            other && other.getY().getType() == type && other->getBlock() == &block &&
            other->isBeforeInBlock(reshape))
          return other.getY();
      return ReshapeOp::create(builder, reshape.getLoc(), type, operand);
    };
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (typeOf(operand).getRank() != 0 && !mapping.contains(operand))
        mapping.map(operand, reshapeOnce(operand));
    Operation *moved = builder.clone(*op, mapping);
    moved->getResult(0).setType(reshape.getY().getType());
    reshape.getY().replaceAllUsesWith(moved->getResult(0));
    reshape.erase();
    op->erase();
    return true;
  };
  auto isReducedAlone = [](ReshapeOp reshape) {
    return reshape->hasOneUse() && isa<ReduceOp>(*reshape->getUsers().begin());
  };
  // Widenings first: what they read is stored then.
  for (bool widenings : {true, false}) {
    SmallVector<ReshapeOp> reshapes = llvm::to_vector(block.getOps<ReshapeOp>());
    for (ReshapeOp reshape : reshapes) {
      Operation *op = reshape.getX().getDefiningOp();
      if (!isReducedAlone(reshape) || !op || isWidening(op) != widenings)
        continue;
      SmallVector<Value> operands(op->getOperands());
      if (!move(reshape))
        continue;
      // And what widens its operands.
      for (Value operand : operands)
        if (isWidening(operand.getDefiningOp()) && operand.hasOneUse())
          if (auto next = dyn_cast<ReshapeOp>(*operand.getUsers().begin()))
            move(next);
    }
  }
}

/// Whether `value` is computed elementwise, by a few ops of its shape, of what repeats
/// along some of the dimensions after the first and not along others: a kernel cannot
/// have these dimensions as one.
bool repeatsInside(Value value) {
  constexpr unsigned mostOpsLookedAt = 16;
  ArrayRef<int64_t> shape = typeOf(value).getShape().drop_front();
  SmallVector<Value> queue = {value};
  for (unsigned i = 0; i < queue.size() && i < mostOpsLookedAt; ++i) {
    Operation *op = queue[i].getDefiningOp();
    if (!op || !isFusibleElementwise(op) || isFusibleLoad(op))
      continue;
    for (Value operand : op->getOperands()) {
      auto type = typeOf(operand);
      if (type.getShape() == typeOf(value).getShape()) {
        queue.push_back(operand);
        continue;
      }
      ArrayRef<int64_t> read = type.getShape();
      if (read.size() == shape.size() + 1)
        read = read.drop_front();
      if (read != shape && llvm::any_of(read, [](int64_t size) { return size != 1; }))
        return true;
    }
  }
  return false;
}

/// Sums over the first dimension of a tensor whose others `--mpt-decompose` joined are
/// sums of the tensor as it is, where the kernel that computes it has them apart.
void splitColumns(Block &block) {
  for (auto reduce : llvm::make_early_inc_range(block.getOps<ReduceOp>())) {
    auto joined = reduce.getX().getDefiningOp<ReshapeOp>();
    if (!joined || reduce.getAxes() != ArrayRef<int64_t>(0))
      continue;
    ArrayRef<int64_t> shape = typeOf(joined.getX()).getShape();
    auto type = typeOf(reduce.getY());
    if (shape.size() < 3 || typeOf(reduce.getX()).getRank() != 2 ||
        shape.front() != typeOf(reduce.getX()).getDimSize(0) ||
        !isMiddleOfRows(shape, 0) || !repeatsInside(joined.getX()))
      continue;
    OpBuilder builder(reduce);
    auto split = cast<ReduceOp>(builder.clone(*reduce));
    split.getXMutable().assign(joined.getX());
    split.setKeepDims(false);
    split.getY().setType(type.clone(shape.drop_front()));
    reduce.getY().replaceAllUsesWith(
        ReshapeOp::create(builder, reduce.getLoc(), type, split.getY()));
    reduce.erase();
    if (joined->use_empty())
      joined.erase();
  }
}

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void fuse(Block &block, const FusionOptions &options) {
  eraseDead(block);
  for (auto scan : block.getOps<ScanOp>())
    fuse(scan.getBlock(), options);
  splitBarriers(block);
  renameBeforeScaling(block);
  if (options.roundOnRead)
    renameBeforeRounding(block);
  duplicateCheapOps(block, /*forGPU=*/options.attentionViews);
  duplicateJoins(block);
  if (options.transposedRows)
    splitColumns(block);
  computeAfterReshapes(block);
  FusionPlan plan = planFusion(block, options);
  Operation *terminator = block.getTerminator();

  DenseSet<Operation *> replaced;
  for (const FusionNode &node : plan.nodes) {
    if (node.isKernel)
      for (TransposeOp transpose : KernelBuilder(plan, node, terminator, options).build())
        replaced.insert(transpose);
    else if (!replaced.contains(node.ops.front()))
      node.ops.front()->moveBefore(terminator);
  }
  for (Operation *transpose : replaced) {
    auto reshape = transpose->getOperand(0).getDefiningOp<ReshapeOp>();
    transpose->erase();
    if (reshape)
      reshape->erase();
  }
  for (const FusionNode &node : llvm::reverse(plan.nodes))
    if (node.isKernel)
      for (Operation *op : llvm::reverse(node.ops)) {
        op->dropAllUses();
        op->erase();
      }
  // Constants first. Renamings, also of the new kernels, come right after what they
  // rename.
  SmallVector<Operation *> renamings, constants;
  for (Operation &op : block) {
    if (isa<ReshapeOp, BarrierOp>(op) || (options.roundOnRead && isRoundedOnRead(&op)) ||
        (options.attentionViews && isAttentionView(&op)) || isJoinedPart(&op))
      renamings.push_back(&op);
    else if (isa<ConstantOp>(op))
      constants.push_back(&op);
  }
  for (Operation *op : llvm::reverse(constants))
    op->moveBefore(&block, block.begin());
  DenseMap<Operation *, Operation *> placed;
  for (Operation *op : renamings) {
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      reshape.getXMutable().assign(getRenamed(reshape.getX()));
    Operation *source = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (!source || source->isBeforeInBlock(producer))
          source = producer;
    Operation *&last = placed.try_emplace(source, source).first->second;
    if (last)
      op->moveAfter(last);
    else
      op->moveBefore(&block, block.begin());
    last = op;
  }
  eraseDead(block);
}

bool isOfDialect(Operation &op) {
  return isa_and_nonnull<MPTDialect, kernel::KernelDialect>(op.getDialect());
}

/// Planning reorders ops by their operands alone and takes these for tensors.
LogicalResult check(Operation *op) {
  if (!isOfDialect(*op) ||
      (op->getNumRegions() > 0 && !isa<kernel::KernelOp, ScanOp>(op)))
    return op->emitError("mpt-fuse-kernels: expected a step of mpt ops without "
                         "regions other than of mpt.scan, found '")
           << op->getName() << "'; "
           << (isa<CheckpointOp>(op) ? "run --mpt-decompose first"
                                     : "lower or unroll it first");
  if (failed(checkStaticShapes(op, "mpt-fuse-kernels")))
    return failure();
  if (auto scan = dyn_cast<ScanOp>(op))
    for (Operation &inner : scan.getBlock().without_terminator())
      if (failed(check(&inner)))
        return failure();
  if (isa<BarrierOp>(op))
    for (auto [from, to] : llvm::zip_equal(op->getOperandTypes(), op->getResultTypes()))
      if (getElementTypeOrSelf(from) != getElementTypeOrSelf(to))
        return op->emitError("mpt-fuse-kernels: expected one element type, found ")
               << from << " and " << to << "; run --mpt-decompose first";
  return success();
}

struct FuseKernelsPass : mpt::impl::FuseKernelsPassBase<FuseKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!mpt::detail::hasOpsOfMPT(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no op of the mpt dialect");
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration() || !function.getBody().hasOneBlock())
        continue;
      Block &block = function.getBody().front();
      if (llvm::none_of(block, isOfDialect))
        continue;
      for (Operation &op : block.without_terminator())
        if (failed(check(&op)))
          return signalPassFailure();
      mpt::detail::isolateScans(function);
      fuse(block, {roundOnRead, mostSummedColumns, attentionViews, transposedRows});
    }
  }
};

} // namespace
