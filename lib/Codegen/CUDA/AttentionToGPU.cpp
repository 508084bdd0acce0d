//===- AttentionToGPU.cpp - Attention as launches -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What fused attention of a step becomes in its program: one launch forward; backward
/// the gradients of the query, with the sums of dy times the result, of key and value,
/// which are two launches for large heads, and of the bias. Or one call of cuDNN, with
/// these launches as its alternative, and launches around it for masks and biases.
///
//===----------------------------------------------------------------------===//

#include "AttentionBiasEmitter.h"
#include "DeviceLauncher.h"
#include "WarpgroupAttentionEmitter.h"
#include "mpt/Support/Remarks.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

/// Of a tensor whose size is 1 where it is the same for all.
static SmallVector<int64_t, 4> broadcastStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t, 4> strides(computeStrides(sizes));
  for (auto [stride, size] : llvm::zip_equal(strides, sizes))
    stride = size == 1 ? 0 : stride;
  return strides;
}

/// The bits of all places at which a buffer may begin, in elements.
static int64_t placeOf(Value buffer) {
  auto declared = buffer.getDefiningOp<program::BufferOp>();
  if (!declared)
    return 1;
  int64_t place = declared.getStart();
  for (int64_t stride : declared.getStrides())
    place |= stride;
  // Inputs and constants have numbers; they begin at multiples of 16 bytes and more.
  if (declared.getSpace() != program::Space::Input &&
      declared.getSpace() != program::Space::Constant)
    place |= declared.getOffset();
  const int64_t bytes = bytesOf(typeOf(buffer).getElementType());
  return place % bytes == 0 ? place / bytes : 1;
}

/// Of a tensor [batch, heads, rows, width].
static RowStrides stridesOf(Value buffer) {
  // The verifier lets only such layouts pass.
  auto [strides, offset] = typeOf(buffer).getStridesAndOffset();
  return {strides[0], strides[1], strides[2], placeOf(buffer)};
}

namespace {

/// The launches of one attention or of its gradient.
class Expander {
public:
  Expander(Operation *op, DeviceLauncher &launcher) : op(op), launcher(launcher) {}

  /// Fails with a diagnostic if there are no functions for these shapes.
  template <typename OpTy>
  LogicalResult init(OpTy attention);
  void launch(StringRef function, int64_t blocks, ArrayRef<Value> inputs,
              ValueRange outputs,
              void (*emit)(GPUFunctionBuilder &, const AttentionShape &)) {
    launcher.launch(op->getLoc(), function, name, blocks, kAttentionThreads,
                    shape.isWide(), inputs, outputs,
                    [&](GPUFunctionBuilder &code) { emit(code, shape); });
  }

  /// Why cuDNN is not asked for this attention; empty if it is.
  std::string explainWithoutCudnn(Value dbias) const;
  /// Puts a call of cuDNN into the first of two alternatives, and launches that follow
  /// into the second, if cuDNN is asked for such attention. `sums` is log_sum_exp.
  template <typename CallOp>
  void callCudnn(CudnnScratch *scratch, SmallVector<Value> inputs,
                 SmallVector<Value> outputs, Value sums, Value dbias, Value workspace);

  /// Adds what may run instead of `attention` on `buffers`, if there is such a function.
  void addWarpgroupAttention(ArrayRef<Value> buffers);

  AttentionShape shape;
  /// Mask, bias, seed and attempt, those that there are.
  SmallVector<Value> options;
  /// Threads of a block of the functions around a call of cuDNN.
  static constexpr int64_t kThreads = 256;

private:
  Operation *op;
  DeviceLauncher &launcher;
  /// Equal attentions share their functions.
  std::string name;
};

} // namespace

template <typename OpTy>
LogicalResult Expander::init(OpTy attention) {
  MemRefType queryType = typeOf(attention.getQuery()),
             keyType = typeOf(attention.getKey()),
             valueType = typeOf(attention.getValue());
  for (MemRefType type : {queryType, keyType, valueType})
    if (type.getRank() != 4)
      return op->emitError("expected an attention of tensors of rank 4, found ") << type;
  shape.batch = queryType.getDimSize(0) * queryType.getDimSize(1);
  shape.heads = queryType.getDimSize(1);
  shape.groups = keyType.getDimSize(1);
  shape.queries = queryType.getDimSize(2);
  shape.keys = keyType.getDimSize(2);
  shape.width = queryType.getDimSize(3);
  shape.valueWidth = valueType.getDimSize(3);
  shape.query = stridesOf(attention.getQuery());
  shape.key = stridesOf(attention.getKey());
  shape.value = stridesOf(attention.getValue());
  shape.result = stridesOf(attention.getResult());
  shape.isCausal = attention.getCausal();
  shape.type = queryType.getElementType();
  shape.scale = attention.getScale().convertToDouble();
  for (Value option : {attention.getMask(), attention.getBias()})
    if (option && typeOf(option).getRank() != 4)
      return op->emitError("expected a mask and a bias of rank 4, found ")
             << typeOf(option);
  if (Value mask = attention.getMask())
    shape.maskStrides = broadcastStrides(typeOf(mask).getShape());
  if (Value bias = attention.getBias()) {
    shape.biasStrides = broadcastStrides(typeOf(bias).getShape());
    llvm::append_range(shape.biasSizes, typeOf(bias).getShape());
    shape.biasType = typeOf(bias).getElementType();
    shape.biasPlace = placeOf(bias);
  }
  if (attention.getSeed()) {
    shape.dropout = attention.getDropout().convertToDouble();
    shape.stream = attention.getStream();
  }
  for (Value option : {attention.getMask(), attention.getBias(), attention.getSeed(),
                       attention.getAttempt()})
    if (option)
      options.push_back(option);
  if (!shape.isSupported())
    return op->emitError("there is no fused attention for ") << queryType;
  llvm::raw_string_ostream stream(name);
  stream << shape.isCausal << " " << attention.getScaleAttr();
  // Mask and bias may be of one type.
  stream << " " << shape.hasMask() << shape.hasBias();
  if (shape.dropout)
    stream << " " << attention.getDropoutAttr() << " " << shape.stream;
  // What begins at other multiples is accessed otherwise.
  auto add = [&](Value buffer) {
    stream << " " << buffer.getType() << "@"
           << llvm::countr_zero(uint64_t(placeOf(buffer)) | 8);
  };
  llvm::for_each(attention->getOperands(), add);
  stream << " ->";
  llvm::for_each(attention.getOutputs(), add);
  launcher.builder.setInsertionPoint(op);
  return success();
}

void Expander::addWarpgroupAttention(ArrayRef<Value> buffers) {
  std::optional<WarpgroupAttentionPlan> plan = planWarpgroupAttention(shape);
  if (!plan)
    return;
  const int64_t entries = shape.batch / shape.heads,
                checked = std::min<int64_t>(entries, 2);
  SmallVector<int64_t> numbers = {plan->blocks, plan->threads, plan->sharedBytes,
                                  shape.type.isBF16()};
  for (const TensorMapPlan &map : {plan->query, plan->key, plan->value}) {
    llvm::append_range(numbers, map.sizes);
    llvm::append_range(numbers, map.strides);
    llvm::append_range(numbers, map.box);
  }
  numbers.append({checked, shape.queryBlocks() / entries * checked,
                  plan->blocks / entries * checked});
  auto addSpan = [&](const RowStrides &at, int64_t heads, int64_t rows, int64_t width) {
    numbers.push_back((checked - 1) * at.batch + (heads - 1) * at.head +
                      (rows - 1) * at.row + width);
  };
  addSpan(shape.query, shape.heads, shape.queries, shape.width);
  addSpan(shape.key, shape.groups, shape.keys, shape.width);
  addSpan(shape.value, shape.groups, shape.keys, shape.valueWidth);
  addSpan(shape.result, shape.heads, shape.queries, shape.valueWidth);
  // Evenly distributed numbers have a variance of a third of `largest` squared. All must
  // be normal ones of f16.
  const double largest = std::clamp(
      std::sqrt(6 / (shape.scale * std::sqrt(double(shape.width)))), 0x1p-8, 0x1p12);
  numbers.append({shape.heads, shape.queries, shape.valueWidth, shape.result.batch,
                  shape.result.head, shape.result.row, llvm::bit_cast<int64_t>(largest)});
  launcher.addVariant(
      op->getLoc(), "attention", name, plan->threads,
      static_cast<int64_t>(buffers.size()), /*maps=*/3, numbers,
      [&](GPUFunctionBuilder &code) { emitWarpgroupAttention(code, shape, *plan); });
}

static int64_t countOf(ArrayRef<int64_t> sizes) { return llvm::product_of(sizes); }

std::string Expander::explainWithoutCudnn(Value dbias) const {
  if (shape.dropout)
    return "it drops other elements than mpt.attention does";
  if (shape.isCausal && shape.queries != shape.keys)
    return llvm::formatv("it is causal with {0} queries and {1} keys", shape.queries,
                         shape.keys);
  if (shape.width != shape.valueWidth || shape.width % 8 != 0)
    return llvm::formatv("heads have {0} and {1} elements; cuDNN is asked for equal "
                         "numbers that are multiples of 8",
                         shape.width, shape.valueWidth);
  for (const RowStrides &at : {shape.query, shape.key, shape.value, shape.result,
                               shape.dy, shape.dquery, shape.dkey, shape.dvalue})
    if ((at.batch | at.head | at.row | at.first) % 8 != 0)
      return "rows do not lie at multiples of 16 bytes";
  if (shape.hasMask() && shape.hasBias()) {
    int64_t added = countOf(getAddedSizes(shape));
    if (added != countOf(shape.biasSizes))
      return "the mask and the bias are the same along different dimensions";
  }
  if (dbias && (shape.biasSizes[2] != shape.queries || shape.biasSizes[3] != shape.keys))
    return "the bias that has a gradient is the same for all queries or keys";
  return "";
}

/// `buffer`, or, if it is a part of a larger tensor, all from its first to its last
/// element: a call's buffers have sizes, and cuDNN's attention has strides besides.
static Value spanOf(Value buffer) {
  MemRefType type = typeOf(buffer);
  const int64_t span = program::countSpannedElements(type).value_or(0);
  auto declared = buffer.getDefiningOp<program::BufferOp>();
  if (!declared || span <= type.getNumElements())
    return buffer;
  OpBuilder outside(declared);
  outside.setInsertionPointAfter(declared);
  return program::BufferOp::create(
      outside, declared.getLoc(), MemRefType::get({span}, type.getElementType()),
      declared.getSpace(), declared.getOffset(), ElementsAttr(), declared.getStart(),
      declared.getStrides());
}

template <typename CallOp>
void Expander::callCudnn(CudnnScratch *scratch, SmallVector<Value> inputs,
                         SmallVector<Value> outputs, Value sums, Value dbias,
                         Value workspace) {
  if (!scratch)
    return;
  constexpr bool ofGradient = std::is_same_v<CallOp, program::CudnnAttentionGradOp>;
  auto program = op->getParentOfType<program::ProgramOp>();
  std::string why = explainWithoutCudnn(dbias);
  if (!why.empty()) {
    emitRemark(RemarkId::AttentionWithoutCudnn, op->getLoc(), program.getSymName())
        << remark::reason("{0}", why);
    return;
  }
  OpBuilder &builder = launcher.builder;
  SmallVector<int64_t> strides;
  auto addStrides = [&](ValueRange buffers) {
    for (Value buffer : buffers)
      // Not of log_sum_exp.
      if (typeOf(buffer).getRank() == 4) {
        RowStrides rows = stridesOf(buffer);
        strides.append({rows.batch, rows.head, rows.row});
      }
  };
  addStrides(inputs);
  addStrides(outputs);
  // What is added, log_sum_exp as cuDNN takes it, and the bias's gradient in its type.
  OpBuilder outside(program.getBody().front().findAncestorOpInBlock(*op));
  Value added, taken, gradient;
  Type f32 = builder.getF32Type();
  int64_t end = 0;
  auto take = [&](MemRefType type) {
    auto [buffer, next] = scratch->get(outside, op->getLoc(), type, end);
    end = next;
    return buffer;
  };
  if (!options.empty()) {
    added = take(MemRefType::get(getAddedSizes(shape), f32));
    if (ofGradient)
      taken = take(MemRefType::get(typeOf(sums).getShape(), f32));
    if (dbias)
      gradient = shape.biasType == shape.type
                     ? dbias
                     : take(MemRefType::get(shape.biasSizes, shape.type));
  }
  program::AlternativesOp alternatives = createAlternatives(builder, op);
  builder.setInsertionPointToStart(&alternatives.getPreferred().front());
  auto launchAround = [&](StringRef function, int64_t threads, ArrayRef<Value> from,
                          ValueRange to, DeviceLauncher::Emit emit) {
    launcher.launch(op->getLoc(), function, name, llvm::divideCeil(threads, kThreads),
                    kThreads, shape.isWide(), from, to, emit);
  };
  const int64_t rows = shape.batch * shape.queries;
  if (added) {
    SmallVector<Value> from(options), to = {added};
    if (ofGradient) {
      from.push_back(sums);
      to.push_back(taken);
      llvm::replace(inputs, sums, taken);
    }
    const int64_t elements = countOf(getAddedSizes(shape));
    launchAround(
        "attention_added", ofGradient ? std::max(elements, rows) : elements, from, to,
        [&](GPUFunctionBuilder &code) { emitAddedBias(code, shape, ofGradient); });
  }
  OperationState state(op->getLoc(), CallOp::getOperationName());
  auto add = [&](ValueRange buffers) {
    for (Value buffer : buffers)
      state.addOperands(spanOf(buffer));
  };
  add(inputs);
  if (added)
    state.addOperands(added);
  add(outputs);
  if (gradient)
    state.addOperands(gradient);
  if (workspace)
    state.addOperands(workspace);
  auto &properties = state.getOrAddProperties<typename CallOp::Properties>();
  SmallVector<int32_t> segments(inputs.size(), 1);
  segments.push_back(added != nullptr);
  segments.append(outputs.size(), 1);
  if (ofGradient)
    segments.push_back(gradient != nullptr);
  segments.push_back(workspace != nullptr);
  llvm::copy(segments, properties.operandSegmentSizes.begin());
  properties.sizes =
      builder.getDenseI64ArrayAttr({shape.batch / shape.heads, shape.heads, shape.groups,
                                    shape.queries, shape.keys, shape.width});
  properties.row_strides = builder.getDenseI64ArrayAttr(strides);
  properties.scale = builder.getF64FloatAttr(shape.scale);
  if (shape.isCausal)
    properties.causal = builder.getUnitAttr();
  builder.create(state);
  if (added && !ofGradient)
    launchAround("attention_hidden", rows * kWarp, {}, outputs,
                 [&](GPUFunctionBuilder &code) { emitHiddenRows(code, shape); });
  if (gradient && gradient != dbias)
    launchAround("attention_widened", countOf(shape.biasSizes), gradient, dbias,
                 [&](GPUFunctionBuilder &code) { emitWidenedBias(code, shape); });
  builder.setInsertionPointToStart(&alternatives.getFallback().front());
}

LogicalResult mpt::detail::expandAttention(program::AttentionOp op,
                                           DeviceLauncher &launcher,
                                           CudnnScratch *scratch, bool hasWarpgroups) {
  Expander expander(op, launcher);
  if (failed(expander.init(op)))
    return failure();
  SmallVector<Value> inputs = {op.getQuery(), op.getKey(), op.getValue()};
  expander.callCudnn<program::CudnnAttentionOp>(scratch, inputs,
                                                {op.getResult(), op.getLogSumExp()},
                                                op.getLogSumExp(), Value(), Value());
  llvm::append_range(inputs, expander.options);
  expander.launch("attention", expander.shape.queryBlocks(), inputs,
                  {op.getResult(), op.getLogSumExp()}, emitAttention);
  if (hasWarpgroups)
    expander.addWarpgroupAttention(
        {op.getQuery(), op.getKey(), op.getValue(), op.getResult(), op.getLogSumExp()});
  op.erase();
  return success();
}

LogicalResult mpt::detail::expandAttention(program::AttentionGradOp op,
                                           DeviceLauncher &launcher,
                                           CudnnScratch *scratch) {
  Expander expander(op, launcher);
  if (failed(expander.init(op)))
    return failure();
  AttentionShape &shape = expander.shape;
  shape.dy = stridesOf(op.getDy());
  shape.dquery = stridesOf(op.getDquery());
  shape.dkey = stridesOf(op.getDkey());
  shape.dvalue = stridesOf(op.getDvalue());
  // Dots, and factors beside a bias.
  int64_t rows = shape.batch * shape.queries * (shape.hasBias() ? 2 : 1);
  auto workspace = op.getWorkspace()
                       ? op.getWorkspace().getDefiningOp<program::BufferOp>()
                       : program::BufferOp();
  if (!workspace || typeOf(workspace).getNumElements() < rows * 4)
    return op.emitError("needs ") << rows * 4 << " bytes of workspace";
  OpBuilder outside(workspace);
  outside.setInsertionPointAfter(workspace);
  Value dots = program::BufferOp::create(
      outside, op.getLoc(), MemRefType::get({rows}, launcher.builder.getF32Type()),
      workspace.getSpace(), workspace.getOffset());
  SmallVector<Value> inputs = {op.getDy(),    op.getQuery(),  op.getKey(),
                               op.getValue(), op.getResult(), op.getLogSumExp()};
  expander.callCudnn<program::CudnnAttentionGradOp>(
      scratch, inputs, {op.getDquery(), op.getDkey(), op.getDvalue()}, op.getLogSumExp(),
      op.getDbias(), op.getWorkspace());
  inputs = {op.getDy(),    op.getQuery(),     op.getKey(),
            op.getValue(), op.getLogSumExp(), op.getResult()};
  llvm::append_range(inputs, expander.options);
  expander.launch("attention_dquery", shape.queryBlocks(), inputs, {op.getDquery(), dots},
                  emitQueryGradient);
  inputs[5] = dots;
  if (shape.splitsKeyGradients()) {
    expander.launch("attention_dkey", shape.keyBlocks(), inputs, op.getDkey(),
                    emitKeyGradient);
    expander.launch("attention_dvalue", shape.keyBlocks(), inputs, op.getDvalue(),
                    emitValueGradient);
  } else {
    expander.launch("attention_dkey", shape.keyBlocks(), inputs,
                    {op.getDkey(), op.getDvalue()}, emitKeyGradients);
  }
  if (op.getDbias())
    expander.launch("attention_dbias", shape.biasBlocks(), inputs, op.getDbias(),
                    emitBiasGradient);
  op.erase();
  return success();
}
