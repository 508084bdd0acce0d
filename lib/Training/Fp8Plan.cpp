//===- Fp8Plan.cpp - Which matmuls of a step run in 8-bit floats -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Training/Fp8Plan.h"

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpt;

double mpt::getLargest(Fp8Format format) {
  return format == Fp8Format::E4M3 ? 448.0 : 57344.0;
}

namespace {

/// What makes the elements of `value`.
Value getSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What the op that makes `value` moves, rounds or joins; null if it does something else.
Value getMovedValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<AllGatherOp>(op))
    return op->getOperand(cast<OpResult>(value).getResultNumber());
  if (isa_and_nonnull<ReshapeOp, TransposeOp, SliceOp, CastOp, JoinHalvesOp>(op))
    return op->getOperand(0);
  return {};
}

/// Where the elements of `value` come from.
Value getOrigin(Value value) {
  while (Value from = getMovedValue(value))
    value = from;
  return value;
}

/// Whether `value` holds elements of parameters, perhaps rounded, joined from the shards
/// of several ranks, or from the two halves of a master.
bool isParameter(Value value) {
  value = getOrigin(value);
  return isa<BlockArgument>(value) && StepView::get(value).role == Role::Parameter;
}

/// Values that hold the same elements of a parameter, such as one that is joined once for
/// the forward pass and once for the backward pass, have one name: the first of them.
class ParameterNames {
public:
  Value find(Value value) {
    Value from = getMovedValue(value);
    if (!from)
      return value;
    Operation *op = value.getDefiningOp();
    return names
        .try_emplace({find(from).getAsOpaquePointer(), op->getName().getAsOpaquePointer(),
                      op->getAttrDictionary().getAsOpaquePointer(),
                      value.getType().getAsOpaquePointer()},
                     value)
        .first->second;
  }

private:
  /// By what is moved, the op that moves it, its attributes, and the type it gives.
  DenseMap<std::tuple<const void *, const void *, const void *, const void *>, Value>
      names;
};

/// A matrix, or the transpose of one whose rows are all dimensions but the last. A
/// parameter is read before autocast rounds it.
struct MatrixView {
  Value source;
  bool isTransposed = false;

  explicit MatrixView(Value value) : source(value) {
    auto getColumns = [](Value value) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
      return shape.empty() ? 1 : shape.back();
    };
    while (Operation *op = source.getDefiningOp()) {
      if (auto reshape = dyn_cast<ReshapeOp>(op);
          reshape && getColumns(reshape.getX()) == getColumns(source)) {
        source = reshape.getX();
      } else if (auto transpose = dyn_cast<TransposeOp>(op);
                 transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0}) {
        source = transpose.getX();
        isTransposed = !isTransposed;
      } else if (auto cast = dyn_cast<CastOp>(op);
                 cast && cast.getAutocast() && isParameter(source)) {
        source = cast.getX();
      } else {
        return;
      }
    }
  }
};

/// Whether the operands of a matmul are read transposed, as it and its operands say.
std::pair<bool, bool> getTransposes(Operation *op, const MatrixView &left,
                                    const MatrixView &right) {
  auto matmul = dyn_cast<MatmulOp>(op);
  const bool lhs = matmul && matmul.getTransposeLhs();
  const bool rhs =
      matmul ? matmul.getTransposeRhs() : cast<LinearOp>(op).getTransposeWeight();
  return {lhs != left.isTransposed, rhs != right.isTransposed};
}

/// Whether `op` multiplies with a parameter, or may do so in its body.
bool isLayer(Operation &op) {
  return isa<MatmulOp, LinearOp, Conv2DOp, Conv2DInputGradOp, LSTMCellOp, ScanOp>(op) &&
         llvm::any_of(op.getOperands(), isParameter);
}

/// The backward pass of a step.
struct BackwardPass {
  /// Everything that depends on its seed.
  DenseSet<Value> gradients;
  /// Those of them that have come through a layer: gradients of a head's result have not.
  DenseSet<Value> throughLayers;
  ParameterNames names;

  explicit BackwardPass(Block &block);

  bool hasOp(Operation &op) const {
    return llvm::any_of(op.getOperands(),
                        [&](Value operand) { return gradients.contains(operand); });
  }

private:
  void follow(Block &block, const DenseSet<Value> &seeds);
};

void BackwardPass::follow(Block &block, const DenseSet<Value> &seeds) {
  gradients = seeds;
  for (Operation &op : block) {
    if (!hasOp(op))
      continue;
    gradients.insert_range(op.getResults());
    if (isLayer(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return throughLayers.contains(operand);
        }))
      throughLayers.insert_range(op.getResults());
  }
}

BackwardPass::BackwardPass(Block &block) {
  DenseSet<Value> seeds;
  for (auto seed : block.getOps<GradSeedOp>())
    seeds.insert(seed);
  if (seeds.empty()) {
    // A step that another framework differentiated. What a later matmul multiplies with a
    // parameter whose other dimension it sums over is the gradient of a layer's result.
    DenseMap<Value, unsigned> layers;
    for (Operation &op : block) {
      if (hasOp(op))
        gradients.insert_range(op.getResults());
      if (!isa<MatmulOp, LinearOp>(op))
        continue;
      const MatrixView left(op.getOperand(0)), right(op.getOperand(1));
      const bool isLeft = isParameter(left.source);
      if (isLeft == isParameter(right.source))
        continue;
      const auto [transposeLhs, transposeRhs] = getTransposes(&op, left, right);
      const unsigned sumDim = isLeft ? !transposeLhs : transposeRhs;
      Value parameter = names.find(isLeft ? left.source : right.source);
      Value other = isLeft ? right.source : left.source;
      auto [layer, isNew] = layers.try_emplace(parameter, sumDim);
      if (isNew || layer->second == sumDim)
        continue;
      gradients.insert(other);
      gradients.insert(op.getResult(0));
      seeds.insert(other);
    }
  }
  // What reads a gradient before a layer tells that it is one.
  follow(block, seeds);
}

/// What the forward pass does with what a layer computes.
struct ForwardPass {
  /// What a layer reads, perhaps after other ops.
  DenseSet<Value> readByLayers;
  /// What becomes integers before a layer reads it, as the scores that a router orders
  /// do.
  DenseSet<Value> orders;

  ForwardPass(Block &block, const BackwardPass &backward) {
    auto isIndex = [](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && type.getElementType().isInteger() &&
             !type.getElementType().isInteger(1);
    };
    for (Operation &op : llvm::reverse(block)) {
      if (backward.hasOp(op))
        continue;
      const bool layer = isLayer(op);
      auto isIn = [&](const DenseSet<Value> &values) {
        return llvm::any_of(op.getResults(),
                            [&](Value result) { return values.contains(result); });
      };
      if (layer || isIn(readByLayers))
        readByLayers.insert_range(op.getOperands());
      if (!layer && (isIn(orders) || llvm::any_of(op.getResults(), isIndex)))
        orders.insert_range(op.getOperands());
    }
  }
};

/// Why the matmul of `lhs` and `rhs` keeps its types; empty if it need not.
std::string findObstacle(Operation *op, Value lhs, Value rhs, int64_t alignment) {
  if (auto linear = dyn_cast<LinearOp>(op);
      linear && linear.getEpilogue() != Epilogue::None)
    return "it has an epilogue; run this pass before --mpt-fuse-epilogues";
  auto left = cast<RankedTensorType>(lhs.getType());
  auto right = cast<RankedTensorType>(rhs.getType());
  for (RankedTensorType type : {left, right}) {
    Type element = type.getElementType();
    if (!element.isF32() && !element.isF16() && !element.isBF16())
      return llvm::formatv("an operand is {0}", element).str();
    if (!type.hasStaticShape())
      return "a size is not known; run --mpt-specialize first";
  }
  if (left.getRank() > 2 && right.getRank() > 2)
    return "both operands are batches, as inside attention";
  auto isAligned = [&](int64_t size) { return size % alignment == 0; };
  // All leading dimensions of what is multiplied with a matrix are rows.
  auto getRows = [](RankedTensorType type) {
    return type.getNumElements() / std::max<int64_t>(1, type.getShape().back());
  };
  for (RankedTensorType type : {left, right})
    if (type.getNumElements() == 0 || !isAligned(getRows(type)) ||
        !isAligned(type.getShape().back()))
      return llvm::formatv("the sizes of {0} are not multiples of {1}", type, alignment)
          .str();
  return {};
}

using KeptMatmuls = SmallVectorImpl<std::pair<Operation *, std::string>>;

/// Adds the matmuls in the body of a loop to `kept`.
void keepInLoops(Operation &op, KeptMatmuls &kept) {
  if (isa<ScanOp>(op))
    op.walk([&](Operation *nested) {
      if (isa<MatmulOp, LinearOp>(nested))
        kept.push_back({nested, "it is in the body of an mpt.scan; run "
                                "--mpt-unroll-scan before this pass"});
    });
}

} // namespace

Fp8Plan mpt::planFp8(func::FuncOp function, const Fp8Options &options,
                     llvm::function_ref<bool(Operation *)> isKept) {
  Fp8Plan plan;
  Block &block = function.getBody().front();
  const DenseSet<Value> gradients = BackwardPass(block).gradients;
  DenseMap<std::pair<Value, unsigned>, unsigned> numbers;
  auto getTensor = [&](Value value) {
    Value source = getSource(value);
    const Fp8Format format =
        options.hybrid && gradients.contains(source) ? Fp8Format::E5M2 : Fp8Format::E4M3;
    auto [entry, isNew] =
        numbers.try_emplace({source, static_cast<unsigned>(format)}, plan.tensors.size());
    if (isNew)
      plan.tensors.push_back({source, format});
    return entry->second;
  };
  for (Operation &op : block) {
    keepInLoops(op, plan.kept);
    if (!isa<MatmulOp, LinearOp>(op))
      continue;
    Value lhs = op.getOperand(0), rhs = op.getOperand(1);
    std::string obstacle =
        isKept(&op) ? "keep= names it" : findObstacle(&op, lhs, rhs, options.alignment);
    if (!obstacle.empty()) {
      plan.kept.push_back({&op, std::move(obstacle)});
      continue;
    }
    const unsigned left = getTensor(lhs), right = getTensor(rhs);
    const bool isForward =
        !gradients.contains(getSource(lhs)) && !gradients.contains(getSource(rhs));
    plan.matmuls.push_back({&op, left, right, isForward});
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Scales of blocks
//===----------------------------------------------------------------------===//

namespace {

/// Whether attention makes the elements of `value`, as one op or as matmuls of batches.
bool isFromAttention(Value value) {
  value = getOrigin(value);
  auto getRank = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getRank();
  };
  if (auto matmul = value.getDefiningOp<MatmulOp>())
    return getRank(matmul.getLhs()) > 2 && getRank(matmul.getRhs()) > 2 &&
           !isParameter(matmul.getLhs()) && !isParameter(matmul.getRhs());
  return value.getDefiningOp<AttentionOp>() != nullptr;
}

/// The parameter whose gradient `value` is part of; null if there is none or not one.
Value findGradientParameter(Value value, Block &block) {
  // A step that another framework differentiated says nothing of it.
  if (block.getOps<GradientsOp>().empty())
    return {};
  llvm::SmallSetVector<Value, 8> queue;
  queue.insert(value);
  StringAttr name;
  for (size_t i = 0; i < queue.size(); ++i)
    for (OpOperand &use : queue[i].getUses()) {
      if (auto marker = dyn_cast<GradientsOp>(use.getOwner())) {
        auto found = cast<StringAttr>(marker.getNames()[use.getOperandNumber()]);
        if (name && name != found)
          return {};
        name = found;
        continue;
      }
      queue.insert_range(use.getOwner()->getResults());
    }
  for (BlockArgument argument : block.getArguments())
    if (name && StepView::get(argument).name == name)
      return argument;
  return {};
}

/// What a matmul is to a linear layer.
enum class Part { Layer, InputGradient, ParameterGradient, None };

/// Chooses the matmuls that take part. Those of a layer's backward pass follow the
/// layer: the input's gradient by the parameter, the parameter's by the input.
class BlockPlanner {
public:
  BlockPlanner(func::FuncOp function, const Fp8BlockRecipe &recipe, int64_t alignment,
               llvm::function_ref<bool(Operation *)> isKept)
      : block(function.getBody().front()), recipe(recipe), alignment(alignment),
        isKept(isKept), backward(block), forward(block, backward) {}

  Fp8BlockPlan run() {
    for (Part part :
         {Part::Layer, Part::InputGradient, Part::ParameterGradient, Part::None})
      for (Operation &op : block)
        if (isa<MatmulOp, LinearOp>(op) && getPart(&op) == part)
          choose(&op, part);
    for (Operation &op : block) {
      keepInLoops(op, plan.kept);
      if (isa<MatmulOp, LinearOp>(op))
        place(&op);
    }
    return std::move(plan);
  }

private:
  bool isGradient(Value value) const { return backward.gradients.contains(value); }
  Part getPart(Operation *op) const;
  void choose(Operation *op, Part part);
  std::string findPartObstacle(Operation *op, Part part, Value parameter, Value other);
  void place(Operation *op);
  unsigned getTensor(Value source, unsigned sumDim);

  Block &block;
  const Fp8BlockRecipe &recipe;
  int64_t alignment;
  llvm::function_ref<bool(Operation *)> isKept;
  BackwardPass backward;
  ForwardPass forward;
  /// Of the layers that take part.
  DenseSet<Value> parameters, inputs;
  /// Of those that do not, and gradients of their results.
  DenseSet<Value> keptParameters, keptGradients;
  /// The arguments that `parameters` come from.
  DenseSet<Value> origins;
  DenseMap<Operation *, std::string> obstacles;
  Fp8BlockPlan plan;
};

Part BlockPlanner::getPart(Operation *op) const {
  const MatrixView left(op->getOperand(0)), right(op->getOperand(1));
  const bool isLhsParameter = isParameter(left.source);
  const bool isRhsParameter = isParameter(right.source);
  if (isLhsParameter != isRhsParameter)
    return isGradient(isLhsParameter ? right.source : left.source) ? Part::InputGradient
                                                                   : Part::Layer;
  return isLhsParameter || isGradient(left.source) == isGradient(right.source)
             ? Part::None
             : Part::ParameterGradient;
}

/// `other` is the input of a layer, or the gradient of its result. The gradient of a
/// parameter has the input in place of `parameter`.
std::string BlockPlanner::findPartObstacle(Operation *op, Part part, Value parameter,
                                           Value other) {
  const char *followed = "the layer whose gradient it computes keeps its types";
  switch (part) {
  case Part::Layer:
    if (!recipe.quantizeHead && !forward.readByLayers.contains(op->getResult(0)))
      return "a loss reads its result; quantize-head lets it take part";
    if (!recipe.quantizeRouter && forward.orders.contains(op->getResult(0)))
      return "its result orders or chooses, as a router's does; quantize-router lets it "
             "take part";
    return {};
  case Part::InputGradient:
    // A parameter may be the head's and another layer's.
    if (!parameters.contains(parameter) ||
        (keptParameters.contains(parameter) && !backward.throughLayers.contains(other)))
      return followed;
    return {};
  case Part::ParameterGradient:
    if (!inputs.contains(parameter) || keptGradients.contains(other))
      return followed;
    // Another layer may read the same input.
    if (Value origin = findGradientParameter(op->getResult(0), block);
        origin && !origins.contains(origin))
      return followed;
    return {};
  case Part::None:
    break;
  }
  return "its operands are not those of a linear layer or of its gradients";
}

/// Decides whether `op` takes part. What it follows is decided.
void BlockPlanner::choose(Operation *op, Part part) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  const MatrixView left(lhs), right(rhs);
  const bool isSecond = part == Part::ParameterGradient ? isGradient(left.source)
                                                        : isParameter(right.source);
  Value parameter = isSecond ? right.source : left.source;
  Value other = isSecond ? left.source : right.source;
  if (part != Part::ParameterGradient)
    parameter = backward.names.find(parameter);
  std::string obstacle =
      isKept(op) ? "keep= names it" : findObstacle(op, lhs, rhs, alignment);
  if (auto matmul = dyn_cast<MatmulOp>(op);
      obstacle.empty() && matmul && matmul.getTransposeLhs() &&
      cast<RankedTensorType>(lhs.getType()).getRank() > 2)
    obstacle = "its first operand is a batch of transposed matrices";
  if (obstacle.empty())
    obstacle = findPartObstacle(op, part, parameter, other);
  if (part == Part::Layer && obstacle.empty()) {
    parameters.insert(parameter);
    origins.insert(getOrigin(parameter));
    inputs.insert(other);
  } else if (part == Part::Layer) {
    keptParameters.insert(parameter);
  } else if (part == Part::InputGradient && !obstacle.empty()) {
    keptGradients.insert(other);
  }
  if (!obstacle.empty())
    obstacles[op] = std::move(obstacle);
}

unsigned BlockPlanner::getTensor(Value source, unsigned sumDim) {
  std::array<int64_t, 2> shape = {1, 1};
  shape[sumDim] = recipe.length;
  const bool parameter = isParameter(source);
  if (parameter && recipe.squareParameters)
    shape = {recipe.length, recipe.length};
  std::optional<unsigned> from;
  for (auto [number, tensor] : llvm::enumerate(plan.tensors)) {
    if (tensor.source != source)
      continue;
    if (tensor.block == shape)
      return number;
    if (!parameter && !isGradient(source) && recipe.fromSaved && !tensor.from)
      from = number;
  }
  const bool fromAttention = !parameter && !isGradient(source) && isFromAttention(source);
  plan.tensors.push_back({source, shape, from, fromAttention});
  return plan.tensors.size() - 1;
}

void BlockPlanner::place(Operation *op) {
  if (auto obstacle = obstacles.find(op); obstacle != obstacles.end()) {
    plan.kept.push_back({op, std::move(obstacle->second)});
    return;
  }
  const MatrixView left(op->getOperand(0)), right(op->getOperand(1));
  const auto [transposeLhs, transposeRhs] = getTransposes(op, left, right);
  const unsigned lhsNumber = getTensor(left.source, transposeLhs ? 0 : 1);
  const unsigned rhsNumber = getTensor(right.source, transposeRhs ? 1 : 0);
  plan.matmuls.push_back({op, lhsNumber, rhsNumber, transposeLhs, transposeRhs});
}

} // namespace

Fp8BlockPlan mpt::planFp8Blocks(func::FuncOp function, const Fp8BlockRecipe &recipe,
                                int64_t alignment,
                                llvm::function_ref<bool(Operation *)> isKept) {
  return BlockPlanner(function, recipe, alignment, isKept).run();
}
