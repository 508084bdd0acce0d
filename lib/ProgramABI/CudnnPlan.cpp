//===- CudnnPlan.cpp - A convolution as a call of cuDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/CudnnPlan.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>

using namespace mpt::rt;

bool mpt::rt::isCudnnCall(const Instruction &instruction) {
  std::optional<ConvCall> conv = getConv(instruction);
  return conv && conv->isForCudnn;
}

static const char *nameOf(DataType type) {
  return type == DataType::F16 ? "f16" : type == DataType::BF16 ? "bf16" : "f32";
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

std::string mpt::rt::describeCudnnPlan(const CudnnPlan &plan) {
  auto tensor = [](const char *name, const CudnnTensor &tensor) {
    std::string text = std::string(name) + "=" + nameOf(tensor.type) + "[";
    for (int i = 0; i < 4; ++i)
      text += (i ? "x" : "") + std::to_string(tensor.dims[i]);
    return text + "]";
  };
  auto pair = [](const char *name, const int64_t (&numbers)[2]) {
    return std::string(" ") + name + "=" + std::to_string(numbers[0]) + "x" +
           std::to_string(numbers[1]);
  };
  bool isInputGrad = plan.kind == CallId::Conv2DInputGrad;
  bool isFilterGrad = plan.kind == CallId::Conv2DFilterGrad;
  return std::string(isInputGrad    ? "input's gradient "
                     : isFilterGrad ? "filter's gradient "
                                    : "convolution ") +
         tensor("x", plan.x) + " " + tensor("w", plan.w) + " " + tensor("y", plan.y) +
         pair("strides", plan.strides) + pair("pad", plan.padBefore) + " to " +
         std::to_string(plan.padAfter[0]) + "x" + std::to_string(plan.padAfter[1]) +
         pair("dilations", plan.dilations) + (plan.allowTF32 ? " tf32" : "");
}
