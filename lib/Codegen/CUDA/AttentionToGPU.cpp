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
#include "mpt/ProgramABI/CudaProgram.h"
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

  /// Adds what may run on sm_90 instead of the launches, where there are such functions.
  void addWarpgroupAttention();
  void addWarpgroupGradients();

  AttentionShape shape;
  /// Mask, bias, seed and attempt, those that there are.
  SmallVector<Value> options;
  /// Threads of a block of the functions around a call of cuDNN.
  static constexpr int64_t kThreads = 256;

private:
  /// Batch entries that variants are checked with.
  int64_t countChecked() const { return std::min<int64_t>(shape.batch / shape.heads, 2); }
  /// A buffer of the launch as operands and results of the check have it: its number,
  /// whether it is f32, where its rows lie, and how many there are.
  struct Checked {
    int64_t buffer;
    bool isF32;
    RowStrides strides;
    int64_t heads, rows, width;
  };
  Checked makeRows(int64_t buffer) const {
    return {
        buffer,      true,          {shape.heads * shape.queries, shape.queries, 1, 0},
        shape.heads, shape.queries, 1};
  }
  Checked makeQueries(int64_t buffer, const RowStrides &at, int64_t width) const {
    return {buffer, false, at, shape.heads, shape.queries, width};
  }
  Checked makeKeys(int64_t buffer, const RowStrides &at, int64_t width) const {
    return {buffer, false, at, shape.groups, shape.keys, width};
  }
  struct Made {
    Checked what;
    double from, to;
  };
  struct Compared {
    Checked what;
    double absolute, relative;
  };
  /// Adds a variant of `function`, of which `kernelBlocks` blocks compute all. `maps` are
  /// tensor maps with the numbers of their buffers.
  void addVariant(StringRef function, int64_t kernelBlocks, int64_t blocks,
                  int64_t threads, int64_t sharedBytes,
                  ArrayRef<std::pair<int64_t, TensorMapPlan>> maps, int64_t buffers,
                  ArrayRef<Made> made, ArrayRef<Compared> compared,
                  DeviceLauncher::Emit emit);

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

void Expander::addVariant(StringRef function, int64_t kernelBlocks, int64_t blocks,
                          int64_t threads, int64_t sharedBytes,
                          ArrayRef<std::pair<int64_t, TensorMapPlan>> maps,
                          int64_t buffers, ArrayRef<Made> made,
                          ArrayRef<Compared> compared, DeviceLauncher::Emit emit) {
  const int64_t entries = shape.batch / shape.heads, checked = countChecked();
  // An mpt_cuda_variant from `blocks` on.
  SmallVector<int64_t> numbers = {blocks, threads, sharedBytes, shape.type.isBF16()};
  auto fill = [&](size_t rows, size_t most, int64_t columns) {
    numbers.append((most - rows) * columns, 0);
  };
  auto addNumber = [&](double number) {
    numbers.push_back(llvm::bit_cast<int64_t>(number));
  };
  auto addPlace = [&](const Checked &what) {
    // From the first to the last element.
    const int64_t elements = (checked - 1) * what.strides.batch +
                             (what.heads - 1) * what.strides.head +
                             (what.rows - 1) * what.strides.row + what.width;
    numbers.append({what.buffer, what.isF32, elements});
  };
  numbers.push_back(static_cast<int64_t>(maps.size()));
  for (const auto &[buffer, map] : maps) {
    numbers.push_back(buffer);
    llvm::append_range(numbers, map.sizes);
    llvm::append_range(numbers, map.strides);
    llvm::append_range(numbers, map.box);
  }
  fill(maps.size(), std::extent_v<decltype(mpt_cuda_variant::maps)>, 12);
  numbers.append({checked, kernelBlocks / entries * checked, blocks / entries * checked,
                  static_cast<int64_t>(made.size())});
  for (const Made &each : made) {
    addPlace(each.what);
    addNumber(each.from);
    addNumber(each.to);
  }
  fill(made.size(), std::extent_v<decltype(mpt_cuda_variant::made)>, 5);
  for (const Compared &each : compared) {
    addPlace(each.what);
    const RowStrides &at = each.what.strides;
    numbers.append(
        {each.what.heads, each.what.rows, each.what.width, at.batch, at.head, at.row});
    addNumber(each.absolute);
    addNumber(each.relative);
  }
  launcher.addVariant(op->getLoc(), function, name, threads, buffers,
                      static_cast<int64_t>(maps.size()), numbers, emit);
}

void Expander::addWarpgroupAttention() {
  std::optional<WarpgroupAttentionPlan> plan = planWarpgroupAttention(shape);
  if (!plan)
    return;
  // Scores of evenly distributed numbers, whose variance is a third of `largest` squared,
  // have a standard deviation of 2: a few keys decide, and what is read in the wrong
  // place shows. Operands may share memory, so all have one range, of normal numbers of
  // f16.
  const double largest = std::clamp(
      std::sqrt(6 / (shape.scale * std::sqrt(double(shape.width)))), 0x1p-8, 0x1p12);
  // Each rounds probabilities, whose sum is 1, and results, all of numbers up to
  // `largest`; the rest is f32.
  const double bound = largest * ((shape.type.isBF16() ? 0x1p-6 : 0x1p-9) + 0x1p-11);
  addVariant(
      "attention", shape.queryBlocks(), plan->blocks, plan->threads, plan->sharedBytes,
      {{0, plan->query}, {1, plan->key}, {2, plan->value}},
      /*buffers=*/5,
      {{makeQueries(0, shape.query, shape.width), -largest, largest},
       {makeKeys(1, shape.key, shape.width), -largest, largest},
       {makeKeys(2, shape.value, shape.valueWidth), -largest, largest}},
      {{makeQueries(3, shape.result, shape.valueWidth), bound, 0},
       {makeRows(4), 0x1p-10, 0x1p-10}},
      [&](GPUFunctionBuilder &code) { emitWarpgroupAttention(code, shape, *plan); });
}

void Expander::addWarpgroupGradients() {
  // All terms of all sums have one sign: the queries, keys, values and dy are positive,
  // and the result, or the dots, negative. So what is rounded is a part of what is
  // compared: p or the gradients of scores, and the gradients, twice each. Evenly
  // distributed numbers up to `largest` make scores of one query with a standard
  // deviation of 2, and probabilities, with a log-sum-exp that is that far above the
  // average score, which even f16 has. The numbers of dy are such that those of dy v are
  // about `width`.
  const double width = static_cast<double>(shape.width),
               valueWidth = static_cast<double>(shape.valueWidth);
  const double largest =
      std::clamp(std::sqrt(12 / (shape.scale * std::sqrt(width))), 0x1p-8, 0x1p8);
  const double sum = shape.scale * width * largest * largest / 4 + 10,
               largestDy = 4 / largest;
  const bool isBF16 = shape.type.isBF16();
  const double relative = (isBF16 ? 0x1p-6 : 0x1p-9) + 0x1p-10;
  // Small numbers of f16 have an error of their own, in each term.
  auto getAbsolute = [&](int64_t terms, double factor) {
    return isBF16 ? 0 : 0x1p-24 * (static_cast<double>(terms) * factor + 1);
  };
  const int64_t queries = shape.queries * shape.sharing();
  SmallVector<Made> made = {
      {makeQueries(0, shape.dy, shape.valueWidth), 0, largestDy},
      {makeQueries(1, shape.query, shape.width), 0, largest},
      {makeKeys(2, shape.key, shape.width), 0, largest},
      {makeKeys(3, shape.value, shape.valueWidth), 0, largest},
      {makeRows(4), sum - 1, sum + 1},
      {makeQueries(5, shape.result, shape.valueWidth), -largest, 0}};
  auto numberMaps = [](ArrayRef<int64_t> buffers, const WarpgroupGradPlan &plan) {
    SmallVector<std::pair<int64_t, TensorMapPlan>> maps = {{buffers[0], plan.x},
                                                           {buffers[1], plan.y}};
    if (plan.own)
      maps.append({{2, (*plan.own)[0]}, {3, (*plan.own)[1]}});
    return maps;
  };
  if (auto plan = planWarpgroupQueryGradient(shape))
    addVariant("attention_dquery", shape.queryBlocks(), plan->blocks, plan->threads,
               plan->sharedBytes, numberMaps({2, 3}, *plan), /*buffers=*/8, made,
               {{makeQueries(6, shape.dquery, shape.width),
                 getAbsolute(shape.keys, shape.scale * largest), relative},
                {makeRows(7), 0, 0x1p-10}},
               [&](GPUFunctionBuilder &code) {
                 emitWarpgroupQueryGradient(code, shape, *plan);
               });
  if (auto plan = planWarpgroupKeyGradients(shape)) {
    made[5] = {makeRows(5), -2 * valueWidth, 0};
    addVariant(
        "attention_dkey", shape.keyBlocks(), plan->blocks, plan->threads,
        plan->sharedBytes, numberMaps({1, 0}, *plan), /*buffers=*/8, made,
        {{makeKeys(6, shape.dkey, shape.width),
          getAbsolute(queries, shape.scale * largest), relative},
         {makeKeys(7, shape.dvalue, shape.valueWidth), getAbsolute(queries, largestDy),
          relative}},
        [&](GPUFunctionBuilder &code) { emitWarpgroupKeyGradients(code, shape, *plan); });
  }
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
    expander.addWarpgroupAttention();
  op.erase();
  return success();
}

LogicalResult mpt::detail::expandAttention(program::AttentionGradOp op,
                                           DeviceLauncher &launcher,
                                           CudnnScratch *scratch, bool hasWarpgroups) {
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
  if (hasWarpgroups)
    expander.addWarpgroupGradients();
  op.erase();
  return success();
}
