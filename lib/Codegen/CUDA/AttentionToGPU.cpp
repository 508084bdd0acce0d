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
/// the sums of dy times the result, the gradient of the query, and those of key and
/// value. Or one call of cuDNN, with these launches as its alternative.
///
//===----------------------------------------------------------------------===//

#include "DeviceLauncher.h"
#include "FlashAttentionEmitter.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

/// Of a tensor [batch, heads, rows, width].
static RowStrides stridesOf(Value buffer) {
  // The verifier lets only such layouts pass.
  auto [strides, offset] = typeOf(buffer).getStridesAndOffset();
  return {strides[0], strides[1], strides[2]};
}

namespace {

/// The launches of one attention or of its gradient.
class Expander {
public:
  Expander(Operation *op, DeviceLauncher &launcher) : op(op), launcher(launcher) {}

  /// Fails with a diagnostic if there are no functions for these shapes.
  template <typename OpTy>
  LogicalResult init(OpTy attention);
  void launch(StringRef function, int64_t blocks, ValueRange inputs, ValueRange outputs,
              void (*emit)(GPUFunctionBuilder &, const AttentionShape &)) {
    launcher.launch(op->getLoc(), function, name, blocks, kAttentionThreads,
                    shape.isWide(), inputs, outputs,
                    [&](GPUFunctionBuilder &code) { emit(code, shape); });
  }

  /// Puts a call of cuDNN into the first of two alternatives, and launches that follow
  /// into the second, if cuDNN is asked for such attention.
  template <typename CallOp>
  void callCudnn(ValueRange inputs, ValueRange outputs, Value workspace);

  AttentionShape shape;

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
             keyType = typeOf(attention.getKey());
  Value mask = attention.getMask();
  if (attention.getBias() || attention.getSeed())
    return op->emitError("there is no fused attention with a bias or with dropout");
  if (queryType.getRank() != 4 || keyType.getRank() != 4)
    return op->emitError("expected an attention of tensors of rank 4");
  // Rows are read 16 bytes at a time.
  for (Value buffer : op->getOperands())
    if (auto layout = dyn_cast<StridedLayoutAttr>(typeOf(buffer).getLayout());
        layout && llvm::any_of(layout.getStrides().drop_back(),
                               [](int64_t stride) { return stride % 8 != 0; }))
      return op->emitError("expected strides that are multiples of 8 elements, found ")
             << typeOf(buffer);
  shape.batch = queryType.getDimSize(0) * queryType.getDimSize(1);
  shape.heads = queryType.getDimSize(1);
  shape.groups = keyType.getDimSize(1);
  shape.queries = queryType.getDimSize(2);
  shape.keys = keyType.getDimSize(2);
  shape.width = queryType.getDimSize(3);
  shape.query = stridesOf(attention.getQuery());
  shape.key = stridesOf(attention.getKey());
  shape.value = stridesOf(attention.getValue());
  shape.result = stridesOf(attention.getResult());
  shape.isCausal = attention.getCausal();
  shape.type = queryType.getElementType();
  shape.scale = attention.getScale().convertToDouble();
  if (mask) {
    ArrayRef<int64_t> sizes = typeOf(mask).getShape();
    if (sizes.size() != 4)
      return op->emitError("expected a mask of rank 4, found ") << typeOf(mask);
    shape.maskStrides = computeStrides(sizes);
    for (auto [stride, size] : llvm::zip_equal(shape.maskStrides, sizes))
      stride = size == 1 ? 0 : stride;
  }
  if (!shape.isSupported())
    return op->emitError("there is no fused attention for ") << queryType;
  llvm::raw_string_ostream stream(name);
  stream << shape.isCausal << " " << attention.getScaleAttr();
  for (Value operand : attention->getOperands())
    stream << " " << operand.getType();
  stream << " ->";
  for (Value output : attention.getOutputs())
    stream << " " << output.getType();
  launcher.builder.setInsertionPoint(op);
  return success();
}

template <typename CallOp>
void Expander::callCudnn(ValueRange inputs, ValueRange outputs, Value workspace) {
  if (!shape.maskStrides.empty() || (shape.isCausal && shape.queries != shape.keys))
    return;
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
  program::AlternativesOp alternatives = createAlternatives(builder, op);
  builder.setInsertionPointToStart(&alternatives.getPreferred().front());
  OperationState state(op->getLoc(), CallOp::getOperationName());
  state.addOperands(inputs);
  state.addOperands(outputs);
  if (workspace)
    state.addOperands(workspace);
  auto &properties = state.getOrAddProperties<typename CallOp::Properties>();
  properties.sizes =
      builder.getDenseI64ArrayAttr({shape.batch / shape.heads, shape.heads, shape.groups,
                                    shape.queries, shape.keys, shape.width});
  properties.row_strides = builder.getDenseI64ArrayAttr(strides);
  properties.scale = builder.getF64FloatAttr(shape.scale);
  if (shape.isCausal)
    properties.causal = builder.getUnitAttr();
  builder.create(state);
  builder.setInsertionPointToStart(&alternatives.getFallback().front());
}

LogicalResult mpt::detail::expandAttention(program::AttentionOp op,
                                           DeviceLauncher &launcher, bool useCudnn) {
  Expander expander(op, launcher);
  if (failed(expander.init(op)))
    return failure();
  SmallVector<Value> inputs = {op.getQuery(), op.getKey(), op.getValue()};
  if (op.getMask())
    inputs.push_back(op.getMask());
  if (useCudnn)
    expander.callCudnn<program::CudnnAttentionOp>(
        inputs, {op.getResult(), op.getLogSumExp()}, Value());
  expander.launch("attention", expander.shape.queryBlocks(), inputs,
                  {op.getResult(), op.getLogSumExp()}, emitAttention);
  op.erase();
  return success();
}

LogicalResult mpt::detail::expandAttention(program::AttentionGradOp op,
                                           DeviceLauncher &launcher, bool useCudnn) {
  Expander expander(op, launcher);
  if (failed(expander.init(op)))
    return failure();
  AttentionShape &shape = expander.shape;
  shape.dy = stridesOf(op.getDy());
  shape.dquery = stridesOf(op.getDquery());
  shape.dkey = stridesOf(op.getDkey());
  shape.dvalue = stridesOf(op.getDvalue());
  int64_t rows = shape.batch * shape.queries;
  auto scratch = op.getWorkspace() ? op.getWorkspace().getDefiningOp<program::BufferOp>()
                                   : program::BufferOp();
  if (!scratch || typeOf(scratch).getNumElements() < rows * 4)
    return op.emitError("needs ") << rows * 4 << " bytes of workspace";
  OpBuilder outside(scratch);
  outside.setInsertionPointAfter(scratch);
  Value dots = program::BufferOp::create(
      outside, op.getLoc(), MemRefType::get({rows}, launcher.builder.getF32Type()),
      scratch.getSpace(), scratch.getOffset());
  if (useCudnn)
    expander.callCudnn<program::CudnnAttentionGradOp>(
        op.getInputs(), {op.getDquery(), op.getDkey(), op.getDvalue()},
        op.getWorkspace());
  expander.launch("attention_dots", shape.dotBlocks(), {op.getDy(), op.getResult()}, dots,
                  emitDots);
  SmallVector<Value> inputs = {op.getDy(),    op.getQuery(),     op.getKey(),
                               op.getValue(), op.getLogSumExp(), dots};
  if (op.getMask())
    inputs.push_back(op.getMask());
  expander.launch("attention_dquery", shape.queryBlocks(), inputs, op.getDquery(),
                  emitQueryGradient);
  expander.launch("attention_dkey", shape.keyBlocks(), inputs,
                  {op.getDkey(), op.getDvalue()}, emitKeyGradients);
  op.erase();
  return success();
}
