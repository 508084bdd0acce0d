//===- InstructionCost.cpp - Work that an instruction does ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/InstructionCost.h"
#include "mpt/ProgramABI/CallPlan.h"

using namespace mpt::rt;

static DataType getNarrower(DataType a, DataType b) {
  return getSize(b) < getSize(a) ? b : a;
}

InstructionCost mpt::rt::getCost(const Instruction &instruction) {
  InstructionCost cost;
  // The exchange that it waits for has its bytes.
  if (instruction.getCall<WaitCall>())
    return cost;
  const auto &refs = instruction.refs;
  const size_t count = instruction.numInputs + instruction.numOutputs;
  for (size_t i = 0; i < count && i < refs.size(); ++i)
    cost.bytes += refs[i].bytes();
  // A row is read for each row that is written.
  if (instruction.getCall<GatherCall>() && count == 3)
    cost.bytes += double(refs[2].bytes()) - refs[0].bytes();

  MatmulShape matmul;
  if (getMatmulShape(instruction, matmul)) {
    cost.flops = 2.0 * matmul.batch * matmul.m * matmul.n * matmul.k;
    cost.type = getNarrower(matmul.lhs, matmul.rhs);
  } else if (std::optional<ConvCall> conv = getConv(instruction)) {
    // Each element of the result has a filter of its own channel and group.
    const BufferRef &filter = refs[conv->filter], &y = refs[conv->y];
    const int64_t channels = y.dims.empty() ? 0 : y.dims.back();
    if (channels > 0)
      cost.flops = 2.0 * y.count() * (filter.count() / channels);
    const auto &image = refs[conv->x];
    cost.type = conv->kind == CallId::Conv2D ? getNarrower(image.type, filter.type)
                : conv->kind == CallId::Conv2DInputGrad ? getNarrower(y.type, filter.type)
                                                        : getNarrower(image.type, y.type);
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
