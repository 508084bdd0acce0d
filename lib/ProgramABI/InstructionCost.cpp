//===- InstructionCost.cpp - Work that an instruction does ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/InstructionCost.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/CudnnPlan.h"

#include <algorithm>

using namespace mpt::rt;

static DataType getNarrower(DataType a, DataType b) {
  return getSize(b) < getSize(a) ? b : a;
}

/// Along an axis, how many pairs there are of a point of the result and a tap of the
/// filter that meets a point of the image.
static double countTaps(const ConvCall &conv, int axis, int64_t image, int64_t taps,
                        int64_t result) {
  double count = 0;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t stride = std::max<int64_t>(conv.strides[axis], 1),
                  shift = tap * conv.dilations[axis] - conv.padding[2 * axis];
    // The first point that reads at or after 0, and the first at or after the end.
    auto getFirst = [&](int64_t place) {
      return std::clamp<int64_t>((place - shift + stride - 1) / stride, 0, result);
    };
    const int64_t first = shift >= 0 ? 0 : getFirst(0),
                  end = shift >= image ? 0 : getFirst(image);
    count += static_cast<double>(std::max<int64_t>(end - first, 0));
  }
  return count;
}

double mpt::rt::getBytes(const Instruction &instruction, size_t buffer) {
  CudnnAttentionPlan plan;
  if (makeCudnnAttentionPlan(instruction, plan))
    for (int i = 0; i < (plan.isGrad ? 8 : 4); ++i)
      if (plan.numberOf(i) == static_cast<int>(buffer)) {
        const double rows = plan.isOfKeys(i) ? double(plan.groups) * double(plan.keys)
                                             : double(plan.heads) * double(plan.queries);
        return double(plan.batch) * rows * double(plan.width) *
               double(getSize(plan.type));
      }
  return double(instruction.refs[buffer].bytes());
}

InstructionCost mpt::rt::getCost(const Instruction &instruction) {
  InstructionCost cost;
  // The exchange that it waits for has its bytes.
  if (instruction.getCall<WaitCall>())
    return cost;
  const auto &refs = instruction.refs;
  const size_t count = instruction.numInputs + instruction.numOutputs;
  for (size_t i = 0; i < count && i < refs.size(); ++i)
    cost.bytes += getBytes(instruction, i);
  // A row is read for each row that is written.
  if (instruction.getCall<GatherCall>() && count == 3)
    cost.bytes += double(refs[2].bytes()) - refs[0].bytes();

  MatmulShape matmul;
  if (getMatmulShape(instruction, matmul)) {
    cost.flops = 2.0 * matmul.batch * matmul.m * matmul.n * matmul.k;
    cost.type = getNarrower(matmul.lhs, matmul.rhs);
  } else if (std::optional<ConvCall> conv = getConv(instruction)) {
    const BufferRef &filter = refs[conv->filter], &y = refs[conv->y];
    const auto &image = refs[conv->x];
    if (filter.dims.size() == 4 && y.dims.size() == 4 && image.dims.size() == 4) {
      // The input channels of a filter are those of one group.
      const auto [height, width, in, out] = conv->getFilterSizes(filter.dims);
      cost.flops = 2.0 * double(y.dims[0]) * double(in) * double(out) *
                   countTaps(*conv, 0, image.dims[1], height, y.dims[1]) *
                   countTaps(*conv, 1, image.dims[2], width, y.dims[2]);
    }
    const DataType x = getRounded(image.type, conv->xRounding),
                   weight = getRounded(filter.type, conv->rounding);
    cost.type = conv->kind == CallId::Conv2D            ? getNarrower(x, weight)
                : conv->kind == CallId::Conv2DInputGrad ? getNarrower(y.type, weight)
                                                        : getNarrower(x, y.type);
  } else if (CudnnAttentionPlan attention;
             makeCudnnAttentionPlan(instruction, attention)) {
    const double keys =
        attention.causal ? (attention.keys + 1) / 2.0 : double(attention.keys);
    cost.flops =
        (attention.isGrad ? 10.0 : 4.0) * attention.rows() * keys * attention.width;
    cost.type = attention.type;
  } else if (AttentionPlan attention; planAttention(instruction, attention)) {
    // Two matmuls, and five for the gradient: scores, dy by values, and three gradients.
    double scores = double(attention.batch) * attention.heads * attention.queries;
    // A causal query sees the keys up to its own, counted from the last.
    scores *= attention.causal ? attention.keys - (attention.queries - 1) / 2.0
                               : double(attention.keys);
    cost.flops = 2 * scores *
                 (attention.isGrad ? 3.0 * attention.width + 2.0 * attention.valueWidth
                                   : double(attention.width) + attention.valueWidth);
    const size_t query = attention.isGrad ? 1 : 0;
    cost.type = getNarrower(refs[query].type, refs[query + 1].type);
  }
  return cost;
}

InstructionCost mpt::rt::getCost(const Program &program, size_t index) {
  const Instruction &instruction = program.instructions[index];
  if (index > 0 && !instruction.isCall() && instruction.hasScratch &&
      instruction.tasks == 1) {
    const Instruction &before = program.instructions[index - 1];
    auto isSame = [](const BufferRef &a, const BufferRef &b) {
      return a.space == b.space && a.offset == b.offset && a.type == b.type &&
             a.dims == b.dims;
    };
    if (!before.isCall() && before.hasScratch && before.kernel != instruction.kernel &&
        before.numInputs == instruction.numInputs &&
        std::equal(before.refs.begin(), before.refs.end(), instruction.refs.begin(),
                   instruction.refs.end(), isSame))
      return {};
  }
  return getCost(instruction);
}
