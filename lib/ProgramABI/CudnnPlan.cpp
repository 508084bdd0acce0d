//===- CudnnPlan.cpp - A convolution as a call of cuDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/CudnnPlan.h"

#include <algorithm>

using namespace mpt::rt;

/// Ints of a convolution, and with those for cuDNN.
static constexpr size_t kConvInts = 11, kDnnInts = kConvInts + 4;

bool mpt::rt::isDnnCall(const Instruction &call) {
  auto id = static_cast<CallId>(call.target);
  return call.isCall && call.ints.size() == kDnnInts &&
         (id == CallId::Conv2D || id == CallId::Conv2DInputGrad ||
          id == CallId::Conv2DFilterGrad);
}

DnnParts mpt::rt::getDnnParts(const Instruction &call) {
  return {call.ints[kConvInts], call.ints[kConvInts + 1], call.ints[kConvInts + 2]};
}

static const char *nameOf(DataType type) {
  return type == DataType::F16 ? "f16" : type == DataType::BF16 ? "bf16" : "f32";
}

/// `dims` are those of a buffer that is packed with channels innermost.
static DnnTensor makeTensor(DataType type, int64_t n, int64_t c, int64_t h, int64_t w) {
  return {type, {n, c, h, w}, {h * w * c, 1, w * c, c}};
}

bool mpt::rt::makeDnnPlan(const Instruction &call, DnnPlan &plan, std::string &error) {
  plan = DnnPlan();
  plan.kind = static_cast<CallId>(call.target);
  const BufferRef &out = call.refs[call.numInputs];
  const BufferRef &x = plan.kind == CallId::Conv2DInputGrad ? out : call.refs[0];
  const BufferRef &filter = plan.kind == CallId::Conv2DFilterGrad ? out : call.refs[1];
  const BufferRef &y = plan.kind == CallId::Conv2DInputGrad    ? call.refs[0]
                       : plan.kind == CallId::Conv2DFilterGrad ? call.refs[1]
                                                               : out;
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
    plan.strides[i] = call.ints[i];
    plan.padBefore[i] = call.ints[2 + 2 * i];
    plan.padBehind[i] = call.ints[3 + 2 * i];
    plan.dilations[i] = call.ints[6 + i];
  }
  plan.allowTF32 = call.ints.size() == kDnnInts && call.ints[kConvInts + 3];
  return true;
}

std::string mpt::rt::describeDnnPlan(const DnnPlan &plan) {
  auto tensor = [](const char *name, const DnnTensor &tensor) {
    std::string text = std::string(name) + "=" + nameOf(tensor.type) + "[";
    for (int i = 0; i < 4; ++i)
      text += (i ? "x" : "") + std::to_string(tensor.dims[i]);
    return text + "]";
  };
  auto pair = [](const char *name, const int64_t(&numbers)[2]) {
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
         std::to_string(plan.padBehind[0]) + "x" + std::to_string(plan.padBehind[1]) +
         pair("dilations", plan.dilations) + (plan.allowTF32 ? " tf32" : "");
}
