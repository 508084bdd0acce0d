//===- CudnnConvolution.cpp - A convolution as a graph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnGraph.h"

using namespace mpt::rt;
using namespace mpt::rt::cuda;

void CudnnGraph::makeConvolution(const CudnnPlan &plan) {
  using A = CudnnAttribute;
  const bool isInputGrad = plan.kind == CallId::Conv2DInputGrad;
  const bool isFilterGrad = plan.kind == CallId::Conv2DFilterGrad;
  const CudnnTensor &resultTensor = isInputGrad ? plan.x : isFilterGrad ? plan.w : plan.y;
  // A convolution alone has its operands' type. Sums in f32 that stay in cuDNN's kernel
  // may be stored as they are by another operation.
  CudnnDesc result = nullptr, sums = nullptr;
  if (plan.isWide()) {
    result = addTensor(resultTensor, CudnnPlace::Buffer, 2);
    sums = addTensor(resultTensor, CudnnPlace::Nowhere);
  }
  // The buffers of the calls: x, w, y; y, w, x; x, y, w.
  auto make = [&](const CudnnTensor &tensor, int buffer) {
    return sums && &tensor == &resultTensor
               ? sums
               : addTensor(tensor, CudnnPlace::Buffer, buffer);
  };
  CudnnDesc x = make(plan.x, isInputGrad ? 2 : 0);
  CudnnDesc w = make(plan.w, isFilterGrad ? 2 : 1);
  CudnnDesc y = make(plan.y, isInputGrad ? 0 : isFilterGrad ? 1 : 2);
  CudnnDesc convolution = makeDescriptor(CudnnKind::Convolution);
  if (status)
    return;
  finish(CudnnSetter(context.api, convolution)
             .number(A::ConvolutionSpatialDims, 2)
             .code(A::ConvolutionComputeType, CudnnType::DataType, kDnnFloat)
             .code(A::ConvolutionMode, CudnnType::ConvolutionMode, kDnnCrossCorrelation)
             .numbers(A::ConvolutionStrides, plan.strides)
             .numbers(A::ConvolutionPrePaddings, plan.padBefore)
             .numbers(A::ConvolutionPostPaddings, plan.padAfter)
             .numbers(A::ConvolutionDilations, plan.dilations),
         "a convolution");
  CudnnDesc operation =
      makeDescriptor(isInputGrad    ? CudnnKind::ConvolutionBackwardData
                     : isFilterGrad ? CudnnKind::ConvolutionBackwardFilter
                                    : CudnnKind::ConvolutionForward);
  if (status)
    return;
  auto set = [&](A alpha, A beta, A description, A nameX, A nameW, A nameY) {
    finish(CudnnSetter(context.api, operation)
               .real(alpha, 1)
               .real(beta, 0)
               .descriptor(description, convolution)
               .descriptor(nameX, x)
               .descriptor(nameW, w)
               .descriptor(nameY, y),
           "an operation");
  };
  if (isInputGrad)
    set(A::DataAlpha, A::DataBeta, A::DataConvolution, A::DataDx, A::DataW, A::DataDy);
  else if (isFilterGrad)
    set(A::FilterAlpha, A::FilterBeta, A::FilterConvolution, A::FilterX, A::FilterDw,
        A::FilterDy);
  else
    set(A::ForwardAlpha, A::ForwardBeta, A::ForwardConvolution, A::ForwardX, A::ForwardW,
        A::ForwardY);
  operations = {operation};
  if (sums)
    addPointwise(kDnnIdentity, sums, nullptr, result);
}

Status CudnnGraph::create(const CudnnPlan &plan, const char *&what) {
  makeConvolution(plan);
  const bool isF32 = plan.x.type == DataType::F32 && plan.w.type == DataType::F32 &&
                     plan.y.type == DataType::F32;
  offsets = {std::vector<int64_t>(buffers.size())};
  return makeGraph(isF32 && !plan.allowTF32, plan.workspaceBytes(), what);
}
