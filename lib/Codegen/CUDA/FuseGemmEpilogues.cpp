//===- FuseGemmEpilogues.cpp - Gradients into matmuls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-fuse-gemm-epilogues`: activations that save what their gradient needs, the
/// gradients of activations, and those of biases become epilogues of cuBLASLt's
/// matmuls (`mpt.gemm`), and weights' gradients are added to by their matmuls. What
/// might have and did not gets a remark.
///
//===----------------------------------------------------------------------===//

#include "../Common/ChipName.h"

#include "mpt/Codegen/CUDA/CostModel.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/MPT/IR/Gemm.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/ProgramABI/GemmPlan.h"
#include "mpt/Support/Remarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpt {
#define GEN_PASS_DEF_FUSEGEMMEPILOGUESPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

RankedTensorType typeOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

bool isStatic(Value value) {
  RankedTensorType type = typeOf(value);
  return type && type.hasStaticShape() && type.getNumElements() > 0;
}

/// All dimensions but the last as one.
RankedTensorType flatten(RankedTensorType type) {
  int64_t last = type.getShape().back();
  return RankedTensorType::get({type.getNumElements() / last, last},
                               type.getElementType());
}

Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

/// `value`, or what it is when it was not yet cast to f32: the same numbers.
Value stripWidening(Value value) {
  auto cast = stripReshapes(value).getDefiningOp<CastOp>();
  if (!cast || !isStatic(cast.getX()) || !isStatic(cast.getY()))
    return stripReshapes(value);
  auto from = dyn_cast<FloatType>(typeOf(cast.getX()).getElementType());
  Type to = typeOf(cast.getY()).getElementType();
  return from && from.getWidth() < 32 && to.isF32() ? stripReshapes(cast.getX())
                                                    : stripReshapes(value);
}

bool isSummedInF32(std::optional<Type> accType) { return !accType || accType->isF32(); }
/// Of a matmul that an epilogue may join: mpt.gemm has no fast accumulation.
template <typename OpTy>
bool isSummedInF32(OpTy matmul) {
  return !matmul.getFastAccumulation() && isSummedInF32(matmul.getAccType());
}

/// An `mpt.gemm` that does not exist yet.
struct Wanted {
  Value lhs, rhs, bias, aux, addend, lhsScales, rhsScales;
  GemmScaling lhsScaling = GemmScaling::None, rhsScaling = GemmScaling::None;
  bool transposeLhs = false, transposeRhs = false;
  Epilogue activation = Epilogue::None;
  bool isForward = false, hasBiasGrad = false;
  /// Of a matrix.
  RankedTensorType result;

  rt::MatmulCall call() const {
    bool hasActivation = activation != Epilogue::None;
    rt::MatmulCall call;
    call.transposeLhs = transposeLhs;
    call.transposeRhs = transposeRhs;
    call.epilogue = static_cast<rt::Epilogue>(activation);
    call.hasBias = bias != nullptr;
    call.hasAux = hasActivation && !isForward;
    call.hasAddend = addend != nullptr;
    call.hasSaved = hasActivation && isForward;
    call.hasBiasGrad = hasBiasGrad;
    call.hasLhsScales = lhsScales != nullptr;
    call.hasRhsScales = rhsScales != nullptr;
    call.lhsScaling = static_cast<rt::GemmScaling>(lhsScaling);
    call.rhsScaling = static_cast<rt::GemmScaling>(rhsScaling);
    return call;
  }
  rt::GemmEpilogue epilogue() const { return rt::getGemmEpilogue(call()); }
  Type biasGradType() const {
    return RankedTensorType::get({result.getShape().back()}, result.getElementType());
  }
};

class Fuser {
public:
  Fuser(func::FuncOp function, ArrayRef<int64_t> architectures, bool always)
      : function(function), architectures(architectures), always(always),
        builder(function.getContext()) {}

  void run() {
    SmallVector<Operation *> gradients, forward, sums, microBatches;
    function.walk([&](Operation *op) {
      // A matmul from above must not move into a loop.
      if (op->getParentOfType<ScanOp>())
        return;
      if (isa<ReluGradOp, GeluGradOp>(op))
        gradients.push_back(op);
      else if (isa<GeluOp>(op))
        forward.push_back(op);
      else if (isa<ReduceOp>(op))
        sums.push_back(op);
      else if (isa<AccumulateOp>(op))
        microBatches.push_back(op);
    });
    function.walk([&](LinearOp linear) { reportWideBias(linear); });
    for (Operation *op : gradients)
      if (auto relu = dyn_cast<ReluGradOp>(op))
        fuseReluGrad(relu);
      else
        fuseGeluGrad(cast<GeluGradOp>(op));
    for (Operation *op : forward)
      fuseGelu(cast<GeluOp>(op));
    // Gradients have erased those that they took.
    for (Operation *op : sums)
      if (!erased.contains(op))
        fuseSum(cast<ReduceOp>(op));
    for (Operation *op : microBatches)
      fuseAccumulation(cast<AccumulateOp>(op));
  }

private:
  void fuseReluGrad(ReluGradOp grad);
  void fuseGeluGrad(GeluGradOp grad);
  void fuseGelu(GeluOp gelu);
  void fuseSum(ReduceOp sum);
  void fuseAccumulation(AccumulateOp accumulation);
  void reportWideBias(LinearOp linear);

  /// The matmul that `dy` of the gradient `op` comes from, as rows and columns; says
  /// why if it is one that can have no epilogue.
  bool getMatmul(Operation *op, Value dy, Wanted &wanted);
  /// The sum over rows that is the bias's gradient, if the epilogue can have it.
  ReduceOp findBiasGrad(Value gradient);
  void finishGrad(Operation *op, Wanted wanted, Value dy);

  /// Whether all chips have the epilogue and, unless `always`, it is no slower there than
  /// without; says why not.
  bool canDo(Operation *op, const Wanted &wanted);
  GemmOp create(const Wanted &wanted, Location loc);
  Value flat(Value value) {
    RankedTensorType type = typeOf(value);
    if (type.getRank() == 2)
      return value;
    return ReshapeOp::create(builder, value.getLoc(), flatten(type), value);
  }
  Value shaped(Value value, Type type) {
    if (value.getType() == type)
      return value;
    return ReshapeOp::create(builder, value.getLoc(), type, value);
  }
  remark::detail::InFlightRemark remark(RemarkId id, Operation *op) {
    auto made = emitRemark(id, op->getLoc(), function.getName());
    if (StringRef hint = getRemarkInfo(id).hint; !hint.empty())
      made << remark::detail::Remark::Arg("Suggestion", hint);
    return made;
  }
  void erase(Operation *op) {
    erased.insert(op);
    op->erase();
  }

  func::FuncOp function;
  ArrayRef<int64_t> architectures;
  bool always;
  OpBuilder builder;
  llvm::DenseSet<Operation *> erased;
};

bool Fuser::canDo(Operation *op, const Wanted &wanted) {
  auto flatType = [](Value value) -> Type { return flatten(typeOf(value)); };
  SmallVector<Type> inputs = {flatType(wanted.lhs), wanted.rhs.getType()},
                    outputs = {wanted.result};
  if (wanted.bias)
    inputs.push_back(wanted.bias.getType());
  if (wanted.activation != Epilogue::None)
    (wanted.isForward ? outputs : inputs)
        .push_back(getSavedType(wanted.activation, wanted.result));
  for (Value more : {wanted.addend, wanted.lhsScales, wanted.rhsScales})
    if (more)
      inputs.push_back(more.getType());
  if (wanted.hasBiasGrad)
    outputs.push_back(wanted.biasGradType());
  FailureOr<rt::Instruction> call =
      encodeCall(op->getLoc(), wanted.call(), inputs, outputs);
  if (failed(call))
    return false;
  for (int64_t sm : architectures) {
    std::string why;
    if (rt::checkCudaCall(*call, static_cast<int>(sm), why))
      continue;
    remark(RemarkId::EpilogueRefused, op) << remark::reason("sm_{0}: {1}", sm, why);
    return false;
  }
  bool isGelu = wanted.activation == Epilogue::Gelu;
  if (isGelu &&
      llvm::any_of(architectures, [](int64_t sm) { return sm < 90 || sm >= 120; })) {
    remark(RemarkId::EpilogueSlow, op) << remark::reason(
        "cuBLASLt does GELU in a kernel of its own, except on sm_90 and "
        "sm_100");
    return false;
  }
  if (always)
    return true;
  const RankedTensorType rhs = typeOf(wanted.rhs);
  const bool isOfRhs = wanted.activation == Epilogue::None;
  const double elementBytes =
      (isOfRhs ? rhs : wanted.result).getElementTypeBitWidth() / 8.0;
  for (int64_t sm : architectures) {
    const EpilogueChoice choice =
        chooseEpilogue(wanted.epilogue(), double(wanted.result.getNumElements()),
                       double(rhs.getNumElements()), elementBytes, getNearestGpuChip(sm));
    if (choice.isFaster())
      continue;
    remark(RemarkId::EpilogueSlow, op) << remark::reason(
        "sm_{0}: {1} would add {2:F1} us to the matmul, launches take {3:F1} us", sm,
        rt::getName(wanted.epilogue()), 1e6 * choice.inMatmul, 1e6 * choice.apart);
    return false;
  }
  return true;
}

GemmOp Fuser::create(const Wanted &wanted, Location loc) {
  Type saved, biasGrad;
  if (wanted.isForward)
    saved = getSavedType(wanted.activation, wanted.result);
  if (wanted.hasBiasGrad)
    biasGrad = wanted.biasGradType();
  auto gemm = GemmOp::create(builder, loc, wanted.result, saved, biasGrad,
                             flat(wanted.lhs), flat(wanted.rhs), wanted.bias, wanted.aux,
                             wanted.addend, wanted.lhsScales, wanted.rhsScales,
                             wanted.transposeLhs, wanted.transposeRhs, wanted.activation,
                             wanted.lhsScaling, wanted.rhsScaling);
  return gemm;
}

bool Fuser::getMatmul(Operation *op, Value dy, Wanted &wanted) {
  Value made = stripReshapes(dy);
  if (auto cast = made.getDefiningOp<CastOp>())
    if (stripReshapes(cast.getX()).getDefiningOp<MatmulOp>()) {
      remark(RemarkId::EpilogueCast, op);
      return false;
    }
  auto matmul = made.getDefiningOp<MatmulOp>();
  if (!matmul || !isSummedInF32(matmul) || !isStatic(made) ||
      !isStatic(op->getResult(0)) || !isStatic(matmul.getLhs()) ||
      !isStatic(matmul.getRhs()))
    return false;
  Type element = typeOf(made).getElementType();
  if (typeOf(matmul.getRhs()).getRank() != 2 ||
      (matmul.getTransposeLhs() && typeOf(matmul.getLhs()).getRank() != 2)) {
    remark(RemarkId::EpilogueRefused, op)
        << remark::reason("its second matrix is for one matmul, not for a batch");
    return false;
  }
  if (element != typeOf(op->getResult(0)).getElementType()) {
    remark(RemarkId::EpilogueCast, op);
    return false;
  }
  // A reshape between them is fine if all read it.
  for (Value value = dy;;) {
    if (!value.hasOneUse()) {
      remark(RemarkId::EpilogueShared, op);
      return false;
    }
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape)
      break;
    value = reshape.getX();
  }
  RankedTensorType type = typeOf(dy);
  if (type.getRank() == 0 || type.getShape().back() != typeOf(made).getShape().back())
    return false;
  wanted.lhs = matmul.getLhs();
  wanted.rhs = matmul.getRhs();
  wanted.transposeLhs = matmul.getTransposeLhs();
  wanted.transposeRhs = matmul.getTransposeRhs();
  wanted.result = flatten(type);
  return true;
}

/// `value` and what reshapes make of it.
static SmallVector<Value> getViews(Value value) {
  SmallVector<Value> views = {value};
  for (size_t i = 0; i < views.size(); ++i)
    for (Operation *user : views[i].getUsers())
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        views.push_back(reshape.getY());
  return views;
}

/// Whether `sum` adds all rows of `value` (of its last dimension's length).
static bool sumsRows(ReduceOp sum, Value value) {
  RankedTensorType type = typeOf(sum.getX());
  if (sum.getKind() != ReduceKind::Sum || sum.getKeepDims() || !type ||
      type.getRank() < 2 || !isSummedInF32(sum.getAccType()) ||
      type.getShape().back() != typeOf(value).getShape().back())
    return false;
  SmallVector<int64_t> axes(sum.getAxes());
  llvm::sort(axes);
  return axes == llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
}

ReduceOp Fuser::findBiasGrad(Value gradient) {
  // The numbers as they are, not rounded to another type.
  for (Value view : getViews(gradient))
    for (Operation *user : view.getUsers()) {
      auto sum = dyn_cast<ReduceOp>(user);
      if (sum && sumsRows(sum, gradient) && typeOf(sum.getY()) &&
          typeOf(sum.getY()).getElementType() == typeOf(gradient).getElementType())
        return sum;
    }
  return ReduceOp();
}

/// Makes the gradient `op`, and the bias's if there is one, the matmul's epilogue.
void Fuser::finishGrad(Operation *op, Wanted wanted, Value dy) {
  ReduceOp sum = wanted.hasBiasGrad ? findBiasGrad(op->getResult(0)) : ReduceOp();
  builder.setInsertionPoint(op);
  GemmOp gemm =
      create(wanted, builder.getFusedLoc({stripReshapes(dy).getLoc(), op->getLoc()}));
  Value result = shaped(gemm.getResult(), op->getResult(0).getType());
  remark(RemarkId::EpilogueFused, op)
      << remark::reason("{0}", rt::getName(wanted.epilogue()));
  op->getResult(0).replaceAllUsesWith(result);
  erase(op);
  if (sum) {
    sum.getY().replaceAllUsesWith(gemm.getBiasGrad());
    erase(sum);
  }
  while (Operation *dead = dy.getDefiningOp()) {
    if (!dead->use_empty())
      break;
    dy = dead->getOperand(0);
    erase(dead);
  }
}

void Fuser::fuseReluGrad(ReluGradOp grad) {
  Wanted wanted;
  if (!getMatmul(grad, grad.getDy(), wanted))
    return;
  wanted.activation = Epilogue::Relu;
  wanted.hasBiasGrad = findBiasGrad(grad->getResult(0)) != nullptr;
  // The result of the ReLU, before or after a cast, which keeps signs.
  Value made = stripReshapes(grad.getY());
  if (auto cast = made.getDefiningOp<CastOp>())
    made = stripReshapes(cast.getX());
  auto saver = made.getDefiningOp<GemmOp>();
  auto linear = made.getDefiningOp<LinearOp>();
  bool isSaved = saver && saver.getSaved() && saver.getEpilogue() == Epilogue::Relu &&
                 made == saver.getResult();
  if ((!isSaved &&
       (!linear || linear.getEpilogue() != Epilogue::Relu || !isSummedInF32(linear))) ||
      !isStatic(made) ||
      typeOf(made).getShape().back() != wanted.result.getShape().back()) {
    remark(RemarkId::EpilogueSource, grad);
    return;
  }
  if (!canDo(grad, wanted))
    return;
  if (!isSaved) {
    Wanted forward;
    forward.lhs = linear.getX();
    forward.rhs = linear.getWeight();
    forward.transposeRhs = linear.getTransposeWeight();
    forward.bias = linear.getBias();
    forward.activation = Epilogue::Relu;
    forward.isForward = true;
    if (!isStatic(forward.lhs) || !isStatic(forward.rhs))
      return;
    forward.result = flatten(typeOf(made));
    if (!canDo(linear, forward))
      return;
    builder.setInsertionPoint(linear);
    saver = create(forward, linear.getLoc());
    remark(RemarkId::EpilogueFused, linear)
        << remark::reason("{0}", rt::getName(forward.epilogue()));
    Value result = shaped(saver.getResult(), linear.getResult().getType());
    linear.getResult().replaceAllUsesWith(result);
    erase(linear);
  }
  wanted.aux = saver.getSaved();
  finishGrad(grad, wanted, grad.getDy());
}

void Fuser::fuseGeluGrad(GeluGradOp grad) {
  Wanted wanted;
  if (!getMatmul(grad, grad.getDy(), wanted))
    return;
  if (grad.getApproximate() != GeluApproximation::Tanh) {
    remark(RemarkId::EpilogueErf, grad);
    return;
  }
  if (!isStatic(grad.getX()) ||
      typeOf(grad.getX()).getElementType() != wanted.result.getElementType()) {
    remark(RemarkId::EpilogueCast, grad);
    return;
  }
  wanted.activation = Epilogue::Gelu;
  wanted.hasBiasGrad = findBiasGrad(grad->getResult(0)) != nullptr;
  if (!canDo(grad, wanted))
    return;
  builder.setInsertionPoint(grad);
  wanted.aux = flat(grad.getX());
  finishGrad(grad, wanted, grad.getDy());
}

void Fuser::fuseGelu(GeluOp gelu) {
  Value made = stripReshapes(gelu.getX());
  auto linear = made.getDefiningOp<LinearOp>();
  if (!linear) {
    if (auto cast = made.getDefiningOp<CastOp>())
      if (stripReshapes(cast.getX()).getDefiningOp<LinearOp>())
        remark(RemarkId::EpilogueBias, gelu);
    return;
  }
  if (gelu.getApproximate() != GeluApproximation::Tanh) {
    remark(RemarkId::EpilogueErf, gelu);
    return;
  }
  // Where nobody reads what came in, the epilogue that saves nothing will do.
  if (linear.getEpilogue() != Epilogue::None || made.hasOneUse() ||
      !isSummedInF32(linear) || !isStatic(made) || !isStatic(gelu.getY()) ||
      !isStatic(linear.getX()) || !isStatic(linear.getWeight()))
    return;
  if (typeOf(made).getElementType() != typeOf(gelu.getY()).getElementType()) {
    remark(RemarkId::EpilogueCast, gelu);
    return;
  }
  Wanted wanted;
  wanted.lhs = linear.getX();
  wanted.rhs = linear.getWeight();
  wanted.transposeRhs = linear.getTransposeWeight();
  wanted.bias = linear.getBias();
  wanted.activation = Epilogue::Gelu;
  wanted.isForward = true;
  wanted.result = flatten(typeOf(made));
  if (!canDo(gelu, wanted))
    return;
  builder.setInsertionPoint(linear);
  GemmOp gemm = create(wanted, builder.getFusedLoc({linear.getLoc(), gelu.getLoc()}));
  remark(RemarkId::EpilogueFused, gelu)
      << remark::reason("{0}", rt::getName(wanted.epilogue()));
  Value result = shaped(gemm.getResult(), gelu.getY().getType());
  Value saved = shaped(gemm.getSaved(), linear.getResult().getType());
  gelu.getY().replaceAllUsesWith(result);
  erase(gelu);
  linear.getResult().replaceAllUsesWith(saved);
  erase(linear);
}

/// Whether a kernel makes `gradient`, and then sums its rows, of `columns`, on the way.
static bool isSummedByMaker(Value gradient, int64_t columns) {
  Operation *maker = gradient.getDefiningOp();
  if (auto transpose = dyn_cast_or_null<TransposeOp>(maker))
    maker = transpose.getX().getDefiningOp();
  if (auto attention = dyn_cast_or_null<AttentionGradOp>(maker))
    return !attention.getFused();
  // A thread has no registers for the sums of long rows.
  const bool isLong = columns > getFusionOptions(/*isForGPU=*/true).mostSummedColumns;
  return maker && !isa<ConcatOp, GemmOp, MatmulOp>(maker) && !isLong;
}

/// Moves the sum over the rows of a gradient into the matmul that computes the weight's
/// gradient from it.
void Fuser::fuseSum(ReduceOp sum) {
  if (!isStatic(sum.getX()) || !isStatic(sum.getY()))
    return;
  Value gradient = stripWidening(sum.getX());
  const int64_t columns = typeOf(sum.getX()).getShape().back();
  if (!isStatic(gradient) || !sumsRows(sum, sum.getX()) ||
      isSummedByMaker(gradient, columns))
    return;
  for (Value view : getViews(gradient))
    for (Operation *user : view.getUsers()) {
      auto matmul = dyn_cast<MatmulOp>(user);
      if (!matmul || matmul.getRhs() != view || !matmul.getTransposeLhs() ||
          matmul.getTransposeRhs() || matmul.getLhs() == view || !isSummedInF32(matmul) ||
          !isStatic(matmul.getResult()) || !isStatic(matmul.getLhs()) ||
          typeOf(matmul.getLhs()).getRank() != 2 ||
          typeOf(matmul.getRhs()).getRank() != 2 ||
          typeOf(matmul.getRhs()).getShape().back() != columns)
        continue;
      Wanted wanted;
      wanted.lhs = matmul.getLhs();
      wanted.rhs = matmul.getRhs();
      wanted.transposeLhs = true;
      wanted.hasBiasGrad = true;
      wanted.result = typeOf(matmul.getResult());
      bool isFirst =
          sum->getBlock() == matmul->getBlock() && sum->isBeforeInBlock(matmul);
      Operation *first = isFirst ? sum.getOperation() : matmul.getOperation();
      auto isReady = [&](Value value) {
        Operation *op = value.getDefiningOp();
        return !op || (op->getBlock() == first->getBlock() && op->isBeforeInBlock(first));
      };
      if (sum->getBlock() != matmul->getBlock() || !isReady(wanted.lhs) ||
          !isReady(wanted.rhs))
        continue;
      // The epilogue's sum has the type of the weight's gradient.
      const Type asked = typeOf(sum.getY()).getElementType();
      const bool isRounded = wanted.result.getElementType() != asked;
      if (isRounded && !(wanted.result.getElementType().isF32() &&
                         (asked.isF16() || asked.isBF16()))) {
        remark(RemarkId::EpilogueCast, sum);
        return;
      }
      if (!canDo(sum, wanted))
        return;
      builder.setInsertionPoint(first);
      GemmOp gemm = create(wanted, builder.getFusedLoc({matmul.getLoc(), sum.getLoc()}));
      remark(RemarkId::EpilogueFused, sum)
          << remark::reason("{0}", rt::getName(wanted.epilogue()));
      matmul.getResult().replaceAllUsesWith(gemm.getResult());
      Value biasGrad = gemm.getBiasGrad();
      // Those that widen it again have it as it is.
      for (Operation *reader : llvm::make_early_inc_range(sum.getY().getUsers()))
        if (auto widening = dyn_cast<CastOp>(reader);
            isRounded && widening && widening.getY().getType() == biasGrad.getType()) {
          widening.getY().replaceAllUsesWith(biasGrad);
          erase(widening);
        }
      if (isRounded && !sum.getY().use_empty())
        biasGrad = CastOp::create(builder, sum.getLoc(), sum.getY().getType(), biasGrad);
      sum.getY().replaceAllUsesWith(biasGrad);
      erase(matmul);
      erase(sum);
      return;
    }
}

/// Adds a micro-batch's gradient of a weight to the sum of the earlier ones: beta = 1.
/// The division of the last sum remains an op after it.
void Fuser::fuseAccumulation(AccumulateOp accumulation) {
  Value part = accumulation.getGradient(), sum = accumulation.getSum();
  RankedTensorType type = typeOf(accumulation.getResult());
  if (!isStatic(accumulation.getResult()) || part.getType() != type || !part.hasOneUse())
    return;
  Operation *maker = part.getDefiningOp(), *before = sum.getDefiningOp();
  if (!maker || maker->getBlock() != accumulation->getBlock() ||
      (before &&
       (before->getBlock() != maker->getBlock() || !before->isBeforeInBlock(maker))))
    return;
  Wanted wanted;
  wanted.result = type;
  wanted.addend = sum;
  auto gemm = dyn_cast<GemmOp>(maker);
  if (gemm) {
    if (part != gemm.getResult() || gemm.getAddend() ||
        gemm.getEpilogue() != Epilogue::None)
      return;
    wanted.lhs = gemm.getLhs();
    wanted.rhs = gemm.getRhs();
    wanted.transposeLhs = gemm.getTransposeLhs();
    wanted.transposeRhs = gemm.getTransposeRhs();
    wanted.hasBiasGrad = gemm.getBiasGrad() != nullptr;
    wanted.lhsScales = gemm.getLhsScales();
    wanted.rhsScales = gemm.getRhsScales();
    wanted.lhsScaling = gemm.getLhsScaling();
    wanted.rhsScaling = gemm.getRhsScaling();
  } else {
    auto matmul = dyn_cast<MatmulOp>(maker);
    if (!matmul || !isSummedInF32(matmul) || !isStatic(matmul.getLhs()) ||
        !isStatic(matmul.getRhs()) || typeOf(matmul.getLhs()).getRank() != 2 ||
        typeOf(matmul.getRhs()).getRank() != 2)
      return;
    wanted.lhs = matmul.getLhs();
    wanted.rhs = matmul.getRhs();
    wanted.transposeLhs = matmul.getTransposeLhs();
    wanted.transposeRhs = matmul.getTransposeRhs();
  }
  if (!canDo(accumulation, wanted))
    return;
  builder.setInsertionPoint(maker);
  GemmOp made =
      create(wanted, builder.getFusedLoc({maker->getLoc(), accumulation.getLoc()}));
  remark(RemarkId::EpilogueFused, accumulation) << remark::reason("{0}", "beta = 1");
  if (wanted.hasBiasGrad)
    gemm.getBiasGrad().replaceAllUsesWith(made.getBiasGrad());
  Value result = made.getResult();
  if (int64_t divisor = accumulation.getDivisor(); divisor != 1) {
    builder.setInsertionPoint(accumulation);
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value count = ConstantOp::create(
        builder, accumulation.getLoc(),
        DenseElementsAttr::get(
            scalar, FloatAttr::get(type.getElementType(), static_cast<double>(divisor))));
    result = DivOp::create(builder, accumulation.getLoc(), type, result, count);
  }
  accumulation.getResult().replaceAllUsesWith(result);
  erase(accumulation);
  erase(maker);
}

/// A matmul that was widened for its bias.
void Fuser::reportWideBias(LinearOp linear) {
  if (!linear.getBias() || !linear->hasOneUse() || !isStatic(linear.getResult()) ||
      !isStatic(linear.getX()))
    return;
  auto cast = dyn_cast<CastOp>(*linear->user_begin());
  if (cast && isStatic(cast.getY()) &&
      typeOf(linear.getResult()).getElementType().isF32() &&
      typeOf(cast.getY()).getElementType() == typeOf(linear.getX()).getElementType())
    remark(RemarkId::EpilogueBias, linear);
}

struct FuseGemmEpiloguesPass
    : mpt::impl::FuseGemmEpiloguesPassBase<FuseGemmEpiloguesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<int64_t> architectures;
    for (StringRef chip : chips) {
      std::optional<int64_t> architecture = parseChipName(chip);
      if (!architecture) {
        getOperation().emitError("mpt-fuse-gemm-epilogues: unknown chip '")
            << chip << "'; expected one such as sm_90";
        return signalPassFailure();
      }
      architectures.push_back(*architecture);
    }
    if (!mpt::detail::hasOpsOfMPT(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no op of the mpt dialect");
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration())
        Fuser(function, architectures, always).run();
  }
};

} // namespace
