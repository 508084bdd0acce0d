//===- TensorCasts.cpp - Casts to 8 bits by one scale, both ways -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/TensorCasts.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpt;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool isEightBit(Type element) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(element);
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

/// Whether all elements of `value` are `number`.
static bool isSplat(Value value, double number) {
  DenseFPElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
         elements.getSplatValue<APFloat>().convertToDouble() == number;
}

/// The operand of `op`, a commutative one of two, that is not a splat of `number`; null
/// if there is none, or `op` is null.
template <typename Op>
static Value getOther(Op op, double number) {
  if (!op)
    return {};
  for (unsigned i : {0, 1})
    if (isSplat(op->getOperand(i), number))
      return op->getOperand(1 - i);
  return {};
}

/// What `value`, of f32, is a wider copy of; itself if it is none.
static Value getNarrow(Value value) {
  auto widen = value.getDefiningOp<CastOp>();
  if (!widen)
    return value;
  Type narrow = typeOf(widen.getX()).getElementType();
  return narrow.isF16() || narrow.isBF16() ? widen.getX() : value;
}

/// The maximum of the magnitudes of `narrow`, in f32.
static ReduceOp findAmax(Value narrow, Value wide) {
  SmallVector<Value> copies = {wide};
  for (Operation *user : narrow.getUsers())
    if (auto widen = dyn_cast<CastOp>(user); widen && widen.getType() == wide.getType())
      copies.push_back(widen.getY());
  for (Value copy : copies)
    for (Operation *user : copy.getUsers())
      if (auto abs = dyn_cast<AbsOp>(user))
        for (Operation *reader : abs->getResult(0).getUsers())
          if (auto reduce = dyn_cast<ReduceOp>(reader);
              reduce && reduce.getKind() == ReduceKind::Max &&
              typeOf(reduce.getResult()).getNumElements() == 1 &&
              typeOf(reduce.getResult()).getElementType().isF32())
            return reduce;
  return {};
}

/// Whether `value` is made of `source` by ops on single numbers.
static bool isMadeOf(Value value, Value source) {
  SmallVector<Value> queue = {value};
  DenseSet<Value> seen;
  while (!queue.empty()) {
    Value one = queue.pop_back_val();
    if (one == source)
      return true;
    Operation *op = one.getDefiningOp();
    if (!op || typeOf(one).getNumElements() != 1 || !seen.insert(one).second)
      continue;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) && typeOf(operand).hasStaticShape())
        queue.push_back(operand);
  }
  return false;
}

std::optional<TensorCast> mpt::matchTensorCast(CastOp cast) {
  auto type = typeOf(cast.getY());
  Type format = type.getElementType();
  if (!isEightBit(format) || !type.hasStaticShape() || type.getRank() < 2 ||
      type.getNumElements() == 0)
    return std::nullopt;
  TensorCast result;
  result.cast = cast;
  result.columns = type.getShape().back();
  result.rows = type.getNumElements() / result.columns;
  if (result.rows % 16 != 0 || result.columns % 16 != 0)
    return std::nullopt;
  const double largest =
      APFloat::getLargest(llvm::cast<FloatType>(format).getFloatSemantics())
          .convertToDouble();
  auto where = cast.getX().getDefiningOp<WhereOp>();
  if (!where || !typeOf(where.getResult()).getElementType().isF32())
    return std::nullopt;
  Value wide = where->getOperand(2);
  auto isFinite = where->getOperand(0).getDefiningOp<IsFiniteOp>();
  Value least = getOther(where->getOperand(1).getDefiningOp<MaximumOp>(), -largest);
  Value scaled = least ? getOther(least.getDefiningOp<MinimumOp>(), largest) : Value();
  auto multiply = scaled ? scaled.getDefiningOp<MulOp>() : MulOp();
  if (!isFinite || isFinite->getOperand(0) != wide || !multiply ||
      wide.getType() != where.getType())
    return std::nullopt;
  for (unsigned i : {0, 1})
    if (Value factor = multiply->getOperand(i);
        multiply->getOperand(1 - i) == wide && typeOf(factor).getRank() == 0)
      result.factor = factor;
  if (!result.factor)
    return std::nullopt;
  result.x = getNarrow(wide);
  result.amax = findAmax(result.x, wide);
  result.isFactorOfAmax = result.amax && isMadeOf(result.factor, result.amax.getResult());
  // An argument is read as it is, and rounded on the way.
  auto round = result.x.getDefiningOp<CastOp>();
  if (round && isa<BlockArgument>(round.getX()) &&
      typeOf(round.getX()).getElementType().isF32()) {
    result.via = typeOf(result.x).getElementType();
    result.x = round.getX();
  }
  return result;
}

bool mpt::hasOwnKernel(const TensorCast &cast) {
  return cast.isFactorOfAmax || isa<BlockArgument>(cast.x);
}

//===----------------------------------------------------------------------===//
// The rewriting
//===----------------------------------------------------------------------===//

static Value reshape(OpBuilder &builder, Value value, ArrayRef<int64_t> shape) {
  auto type = typeOf(value);
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(builder, value.getLoc(), type.clone(shape), value);
}

/// Whether `op` exchanges the dimensions of a matrix.
static bool isTurn(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  return transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0};
}

/// Collects the transposes of `value` as a matrix of `rows`, and says whether anything
/// else reads it.
static bool findTurns(Value value, int64_t rows, SmallVectorImpl<TransposeOp> &turns) {
  bool isRead = false;
  for (Operation *user : value.getUsers()) {
    if (isTurn(user) && typeOf(value).getDimSize(0) == rows)
      turns.push_back(cast<TransposeOp>(user));
    else if (auto reshape = dyn_cast<ReshapeOp>(user);
             reshape && typeOf(reshape.getResult()).getRank() == 2 &&
             typeOf(reshape.getResult()).getDimSize(0) == rows)
      isRead |= findTurns(reshape.getResult(), rows, turns);
    else
      isRead = true;
  }
  return isRead;
}

static GemmQuantizeOp makeOp(OpBuilder &builder, Location loc, Value x, Value factor,
                             Type via, Type row, Type column, Type amax) {
  const int64_t block[] = {0, 0};
  return GemmQuantizeOp::create(
      builder, loc, row, /*row_scales=*/Type(), column, /*column_scales=*/Type(), amax, x,
      /*scales=*/Value(), factor, block, GemmScaling::None, ScaleRule::PowerOfTwo,
      via ? TypeAttr::get(via) : TypeAttr());
}

/// Erases `op`, and what it alone reads.
static void eraseDead(Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  SmallVector<Operation *> sources;
  for (Value operand : operands)
    if (Operation *source = operand.getDefiningOp();
        source && !llvm::is_contained(sources, source))
      sources.push_back(source);
  for (Operation *source : sources)
    eraseDead(source);
}

/// `reduced` are the maxima that are replaced already.
static void replace(const TensorCast &planned, bool both,
                    DenseSet<Operation *> &reduced) {
  CastOp cast = planned.cast;
  Location loc = cast.getLoc();
  OpBuilder builder(cast);
  const int64_t rows = planned.rows, columns = planned.columns;
  SmallVector<TransposeOp> turns;
  bool hasRow = findTurns(cast.getY(), rows, turns);
  if (!hasRow && turns.empty())
    return;
  if (!both && !turns.empty()) {
    hasRow = true;
    turns.clear();
  }
  auto matrix = typeOf(cast.getY()).clone(ArrayRef<int64_t>{rows, columns});
  auto turned = matrix.clone(ArrayRef<int64_t>{columns, rows});
  // The maxima of tiles, if all that reads the maximum comes later.
  ReduceOp reduce = planned.isFactorOfAmax ? ReduceOp() : planned.amax;
  if (reduce && !reduced.insert(reduce).second)
    reduce = ReduceOp();
  if (reduce && llvm::any_of(reduce->getUsers(), [&](Operation *user) {
        return user->getBlock() != cast->getBlock() || user->isBeforeInBlock(cast);
      }))
    reduce = ReduceOp();
  Type amax;
  const int64_t tiles[] = {llvm::divideCeilSigned(rows, 128),
                           llvm::divideCeilSigned(columns, 128)};
  if (reduce)
    amax = RankedTensorType::get(tiles, builder.getF32Type());
  GemmQuantizeOp made =
      makeOp(builder, loc, reshape(builder, planned.x, {rows, columns}), planned.factor,
             planned.via, hasRow ? Type(matrix) : Type(),
             turns.empty() ? Type() : Type(turned), amax);
  if (reduce) {
    Value whole =
        ReduceOp::create(builder, loc, RankedTensorType::get({}, builder.getF32Type()),
                         made.getAmax(), ReduceKind::Max, ArrayRef<int64_t>{0, 1},
                         /*keep_dims=*/false, /*acc_type=*/TypeAttr());
    reduce.getResult().replaceAllUsesWith(
        reshape(builder, whole, typeOf(reduce.getResult()).getShape()));
  }
  SmallVector<Operation *> dead;
  for (TransposeOp turn : turns) {
    turn.getResult().replaceAllUsesWith(made.getColumn());
    dead.push_back(turn.getX().getDefiningOp());
    turn.erase();
  }
  if (hasRow)
    cast.getY().replaceAllUsesWith(
        reshape(builder, made.getRow(), typeOf(cast.getY()).getShape()));
  for (Operation *op : llvm::SmallSetVector<Operation *, 4>(dead.begin(), dead.end()))
    if (op != cast)
      eraseDead(op);
  if (isOpTriviallyDead(cast))
    eraseDead(cast);
  if (reduce)
    eraseDead(reduce);
}

/// The transposes of an 8-bit matrix are one.
static void replaceTurns(Operation *root) {
  DenseMap<Value, GemmQuantizeOp> made;
  root->walk([&](TransposeOp op) {
    auto type = typeOf(op.getX());
    if (!isTurn(op) || !isEightBit(type.getElementType()) || !type.hasStaticShape())
      return;
    for (int64_t size : type.getShape())
      if (size == 0 || size % 16 != 0)
        return;
    OpBuilder builder(op);
    GemmQuantizeOp &before = made[op.getX()];
    if (!before || before->getBlock() != op->getBlock())
      before = makeOp(builder, op.getLoc(), op.getX(), /*factor=*/Value(), /*via=*/Type(),
                      /*row=*/Type(), op.getType(), /*amax=*/Type());
    op.getResult().replaceAllUsesWith(before.getColumn());
    op.erase();
  });
}

void mpt::fuseTensorCasts(Operation *root, bool both) {
  SmallVector<TensorCast> planned;
  root->walk([&](CastOp cast) {
    std::optional<TensorCast> match = matchTensorCast(cast);
    if (match && hasOwnKernel(*match))
      planned.push_back(*match);
  });
  DenseSet<Operation *> reduced;
  for (const TensorCast &one : planned)
    replace(one, both, reduced);
  replaceTurns(root);
}
