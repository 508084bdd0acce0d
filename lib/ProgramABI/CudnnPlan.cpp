//===- CudnnPlan.cpp - What cuDNN is asked for -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/CudnnPlan.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>

using namespace mpt::rt;

bool mpt::rt::isCudnnCall(const Instruction &instruction) {
  if (instruction.getCall<CudnnAttentionCall>() ||
      instruction.getCall<CudnnAttentionGradCall>())
    return true;
  std::optional<ConvCall> conv = getConv(instruction);
  return conv && conv->isForCudnn;
}

static const char *nameOf(DataType type) {
  return type == DataType::F16 ? "f16" : type == DataType::BF16 ? "bf16" : "f32";
}

/// The numbers after `name`, with `between` between two.
static void append(std::string &text, const char *name, char between,
                   std::initializer_list<int64_t> numbers) {
  text += name;
  for (int64_t number : numbers)
    (text += std::to_string(number)) += between;
  text.pop_back();
}

/// `dims` are those of a buffer that is packed with channels innermost.
static CudnnTensor makeTensor(DataType type, int64_t n, int64_t c, int64_t h, int64_t w) {
  return {type, {n, c, h, w}, {h * w * c, 1, w * c, c}};
}

bool mpt::rt::makeCudnnPlan(const Instruction &call, CudnnPlan &plan,
                            std::string &error) {
  plan = CudnnPlan();
  std::optional<ConvCall> conv = getConv(call);
  if (!conv) {
    error = "cuDNN is asked for convolutions only";
    return false;
  }
  plan.kind = conv->kind;
  const BufferRef &x = call.refs[conv->x], &filter = call.refs[conv->filter],
                  &y = call.refs[conv->y];
  for (const BufferRef *buffer : {&x, &filter, &y})
    if (buffer->type != DataType::F32 && buffer->type != DataType::F16 &&
        buffer->type != DataType::BF16) {
      error = "cuDNN is asked for convolutions of f32, f16 and bf16 only";
      return false;
    }
  plan.x = makeTensor(x.type, x.dims[0], x.dims[3], x.dims[1], x.dims[2]);
  plan.y = makeTensor(y.type, y.dims[0], y.dims[3], y.dims[1], y.dims[2]);
  plan.w = makeTensor(filter.type, filter.dims[3], filter.dims[2], filter.dims[0],
                      filter.dims[1]);
  for (int i : {0, 1}) {
    plan.strides[i] = conv->strides[i];
    plan.padBefore[i] = conv->padding[2 * i];
    plan.padAfter[i] = conv->padding[2 * i + 1];
    plan.dilations[i] = conv->dilations[i];
  }
  plan.allowTF32 = conv->allowTF32;
  return true;
}

bool CudnnPlan::isWide() const {
  const bool isInputGrad = kind == CallId::Conv2DInputGrad;
  const bool isFilterGrad = kind == CallId::Conv2DFilterGrad;
  const DataType left = isInputGrad ? y.type : x.type;
  const DataType right = isFilterGrad ? y.type : w.type;
  const DataType result = isInputGrad ? x.type : isFilterGrad ? w.type : y.type;
  return left == right && left != DataType::F32 && result == DataType::F32;
}

static int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

int64_t CudnnPlan::workspaceBytes() const {
  int64_t bytes = kGemmWorkspaceBytes;
  for (const CudnnTensor *tensor : {&x, &w, &y}) {
    const auto &d = tensor->dims;
    bytes += getSize(tensor->type) * roundUp(d[0], 8) * roundUp(d[1], 8) * d[2] * d[3];
  }
  return bytes;
}

std::string mpt::rt::describeCudnnPlan(const CudnnPlan &plan) {
  auto tensor = [](const char *name, const CudnnTensor &tensor) {
    std::string text = std::string(name) + "=" + nameOf(tensor.type) + "[";
    const auto &d = tensor.dims;
    append(text, "", 'x', {d[0], d[1], d[2], d[3]});
    return text + "]";
  };
  auto pair = [](const char *name, const int64_t (&numbers)[2]) {
    std::string text;
    append(text, name, 'x', {numbers[0], numbers[1]});
    return text;
  };
  bool isInputGrad = plan.kind == CallId::Conv2DInputGrad;
  bool isFilterGrad = plan.kind == CallId::Conv2DFilterGrad;
  return std::string(isInputGrad    ? "input's gradient "
                     : isFilterGrad ? "filter's gradient "
                                    : "convolution ") +
         tensor("x", plan.x) + " " + tensor("w", plan.w) + " " + tensor("y", plan.y) +
         pair(" strides=", plan.strides) + pair(" pad=", plan.padBefore) +
         pair(" to ", plan.padAfter) + pair(" dilations=", plan.dilations) +
         (plan.allowTF32 ? " tf32" : "");
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

int64_t CudnnAttentionPlan::workspaceBytes() const {
  if (!isGrad)
    return kGemmWorkspaceBytes;
  const int64_t size = getSize(type), shared = groups < heads ? 2 * width * keys : 0;
  return kGemmWorkspaceBytes +
         size * batch * heads * (roundUp(queries, 128) * roundUp(keys, 128) + shared);
}

int64_t CudnnAttentionPlan::offsetOf(int buffer, int64_t entry, int64_t head) const {
  for (int i = 0; i < (isGrad ? 8 : 4); ++i)
    if (numberOf(i) == buffer)
      return getSize(type) *
             (entry * strides[i].batch +
              (isOfKeys(i) ? head / (heads / groups) : head) * strides[i].head);
  if (buffer == sumsNumber())
    return 4 * (entry * heads + head) * queries;
  const bool isBias = hasBias && buffer == biasNumber();
  if (!isBias && !(hasBiasGrad && buffer == lastNumber()))
    // The workspace, which all parts use.
    return 0;
  const int64_t matrix = biasSizes[2] * biasSizes[3];
  return (isBias ? 4 : getSize(type)) * matrix *
         ((biasSizes[0] > 1 ? entry * biasSizes[1] : 0) + (biasSizes[1] > 1 ? head : 0));
}

CudnnAttentionParts mpt::rt::cutCudnnPlan(const CudnnAttentionPlan &plan,
                                          int64_t scoreBytes) {
  CudnnAttentionParts parts;
  parts.plan = plan;
  parts.begins = {{0, 0}};
  const int64_t most = kGemmWorkspaceBytes + scoreBytes;
  // Some groups have all of their heads of queries.
  auto cut = [&](int64_t entries, int64_t groups) {
    CudnnAttentionPlan part = plan;
    part.batch = entries;
    part.groups = groups;
    part.heads = plan.heads / plan.groups * groups;
    part.biasSizes[0] = std::min(plan.biasSizes[0], part.batch);
    part.biasSizes[1] = std::min(plan.biasSizes[1], part.heads);
    // Each begins where cuDNN is told that tensors are aligned.
    for (int i = 0; i <= plan.lastNumber(); ++i)
      for (int64_t offset : {plan.offsetOf(i, entries < plan.batch ? entries : 0, 0),
                             plan.offsetOf(i, 0, groups < plan.groups ? part.heads : 0)})
        if (offset % kGemmOperandAlignment != 0)
          return;
    parts.plan = part;
    parts.begins.clear();
    for (int64_t entry = 0; entry < plan.batch; entry += entries)
      for (int64_t head = 0; head < plan.heads; head += part.heads)
        parts.begins.push_back({entry, head});
  };
  const auto isLarge = [&] { return parts.plan.workspaceBytes() > most; };
  const auto isSummed = [&](int dimension) {
    return plan.hasBiasGrad && plan.biasSizes[dimension] == 1;
  };
  for (int64_t entries = plan.batch - 1; entries > 0 && isLarge() && !isSummed(0);
       --entries)
    if (plan.batch % entries == 0)
      cut(entries, plan.groups);
  if (parts.plan.batch == 1 && !isSummed(1))
    for (int64_t groups = plan.groups - 1; groups > 0 && isLarge(); --groups)
      if (plan.groups % groups == 0)
        cut(1, groups);
  const int64_t gradients =
      4 * plan.width * (plan.rows() + 2 * plan.batch * plan.heads * plan.keys);
  parts.workspaceBytes = std::min(parts.plan.workspaceBytes(),
                                  std::max(most, kGemmWorkspaceBytes + gradients));
  return parts;
}

template <typename Call>
static bool makePlan(const Call &call, const Instruction &instruction,
                     CudnnAttentionPlan &plan) {
  plan = CudnnAttentionPlan();
  plan.isGrad = Call::id == CallId::CudnnAttentionGrad;
  plan.hasBias = call.hasBias;
  if constexpr (Call::id == CallId::CudnnAttentionGrad)
    plan.hasBiasGrad = call.hasDbias;
  plan.causal = call.causal;
  plan.scale = call.scale;
  const auto &sizes = call.sizes;
  const auto isGood = [](int64_t value) { return value > 0 && value < int64_t(1) << 31; };
  if (!std::all_of(sizes.begin(), sizes.end(), isGood))
    return false;
  plan.batch = sizes[0], plan.heads = sizes[1], plan.groups = sizes[2];
  plan.queries = sizes[3], plan.keys = sizes[4], plan.width = sizes[5];
  const auto &refs = instruction.refs;
  const size_t count = instruction.numInputs + instruction.numOutputs;
  if (count != call.numInputs() + call.numOutputs() || refs.size() < count)
    return false;
  plan.type = refs[0].type;
  // Rows of 16 bytes, on which cuDNN insists.
  if (plan.heads % plan.groups || plan.width % 8 || plan.width > 256 ||
      (plan.causal && plan.queries != plan.keys) ||
      (plan.type != DataType::F16 && plan.type != DataType::BF16))
    return false;
  int64_t last = 0;
  const BufferRef &sums = refs[plan.sumsNumber()];
  if (sums.type != DataType::F32 ||
      __builtin_mul_overflow(plan.batch * plan.heads, plan.queries, &last) ||
      sums.count() < last)
    return false;
  if (plan.hasBias) {
    const BufferRef &bias = refs[plan.biasNumber()];
    const int64_t most[] = {plan.batch, plan.heads, plan.queries, plan.keys};
    if (bias.type != DataType::F32 || bias.dims.size() != 4)
      return false;
    for (size_t d = 0; d < 4; ++d) {
      plan.biasSizes[d] = bias.dims[d];
      if (bias.dims[d] != 1 && bias.dims[d] != most[d])
        return false;
    }
  }
  if (plan.hasBiasGrad) {
    const BufferRef &dbias = refs[plan.lastNumber()];
    if (!plan.hasBias || dbias.type != plan.type ||
        dbias.dims != refs[plan.biasNumber()].dims || plan.biasSizes[2] != plan.queries ||
        plan.biasSizes[3] != plan.keys)
      return false;
  }
  for (int next = 0; next < (plan.isGrad ? 8 : 4); ++next) {
    const int i = plan.numberOf(next);
    const bool isKeys = plan.isOfKeys(next);
    const int64_t dims[] = {plan.batch, isKeys ? plan.groups : plan.heads,
                            isKeys ? plan.keys : plan.queries};
    last = plan.width - 1;
    for (size_t d = 0; d < 3; ++d) {
      const int64_t stride = call.rowStrides[3 * next + d];
      int64_t way = 0;
      if (stride <= 0 || stride % 8 ||
          __builtin_mul_overflow(dims[d] - 1, stride, &way) ||
          __builtin_add_overflow(last, way, &last))
        return false;
    }
    if (refs[i].type != plan.type || refs[i].count() <= last)
      return false;
    plan.strides[next] = {call.rowStrides[3 * next], call.rowStrides[3 * next + 1],
                          call.rowStrides[3 * next + 2]};
  }
  return true;
}

bool mpt::rt::makeCudnnAttentionPlan(const Instruction &call, CudnnAttentionPlan &plan) {
  if (const auto *attention = call.getCall<CudnnAttentionCall>())
    return makePlan(*attention, call, plan);
  if (const auto *attention = call.getCall<CudnnAttentionGradCall>())
    return makePlan(*attention, call, plan);
  return false;
}

std::string mpt::rt::describeCudnnPlan(const CudnnAttentionPlan &plan) {
  std::string text = plan.isGrad ? "gradient of attention " : "attention ";
  text += nameOf(plan.type);
  const std::pair<const char *, int64_t> sizes[] = {
      {" batch=", plan.batch},     {" heads=", plan.heads}, {" groups=", plan.groups},
      {" queries=", plan.queries}, {" keys=", plan.keys},   {" width=", plan.width},
      {" causal=", plan.causal}};
  for (const auto &[name, number] : sizes)
    append(text, name, ' ', {number});
  // All of it: plans of one text share a graph.
  char scale[32];
  std::snprintf(scale, sizeof(scale), "%.17g", plan.scale);
  text += std::string(" scale=") + scale;
  const auto &bias = plan.biasSizes;
  if (plan.hasBias)
    append(text, plan.hasBiasGrad ? " bias with gradient=" : " bias=", ',',
           {bias[0], bias[1], bias[2], bias[3]});
  const char *name = " strides=";
  for (int i = 0; i < (plan.isGrad ? 8 : 4); ++i) {
    const auto &strides = plan.strides[i];
    append(text, name, ',', {strides.batch, strides.head, strides.row});
    name = ",";
  }
  return text;
}
