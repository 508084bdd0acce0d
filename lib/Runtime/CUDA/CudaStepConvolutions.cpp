//===- CudaStepConvolutions.cpp - A program's calls of cuDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which convolutions cuDNN does: decided once, on the device. What goes with a call
/// that is not made, or would stand in for one that is, is skipped.
///
//===----------------------------------------------------------------------===//

#include "CudaStep.h"
#include "mpt/Runtime/Runtime.h"

using namespace mpt::rt;
using namespace mpt::rt::cuda;

bool CudaStep::checkDnnParts(std::string &error) const {
  int64_t end = 0, size = program.instructions.size();
  for (int64_t i = 0; i < size; ++i) {
    const Instruction &call = program.instructions[i];
    if (!isCudnnCall(call))
      continue;
    const CudnnParts &parts = call.parts;
    // One after the other, so that no sum can overflow.
    bool fits = parts.before >= 0 && parts.before <= i - end && parts.behind >= 0 &&
                parts.behind < size - i && parts.instead >= 1 &&
                parts.instead < size - i - parts.behind;
    if (!fits) {
      error = call.location + ": what goes with a call of cuDNN is not beside it";
      return false;
    }
    end = i + parts.behind + parts.instead + 1;
  }
  return true;
}

int CudaStep::startDnn(std::string &why, std::string &error) {
  auto made = std::make_unique<DnnContext>();
  if (!made->api.load(cudnn, why))
    return MPT_RT_OK;
  const char *what = nullptr;
  if (Status status = made->create(stream, what)) {
    why = std::string(what) + ": " + made->api.nameOf(status);
    if (isDnnRefusal(status))
      return MPT_RT_OK;
    error = why;
    return MPT_RT_RUN_FAILED;
  }
  dnn = std::move(made);
  return MPT_RT_OK;
}

int CudaStep::prepareConvolution(const Instruction &call, Step &step, std::string &why,
                                 std::string &error) {
  CudnnPlan plan;
  if (!makeCudnnPlan(call, plan, why)) {
    error = call.location + ": " + why;
    return MPT_RT_UNSUPPORTED;
  }
  const char *what = nullptr;
  auto fails = [&](Status status) {
    if (status)
      error = call.location + ": " + what + ": " + dnn->api.nameOf(status);
    return status != 0;
  };
  // Calls of one plan share it.
  std::string description = describeCudnnPlan(plan);
  std::unique_ptr<DnnConvolution> &found = convolutions[description];
  if (!found) {
    found = std::make_unique<DnnConvolution>(*dnn);
    if (fails(found->create(plan, what)))
      return MPT_RT_RUN_FAILED;
  }
  if (!found->hasPlan()) {
    why = "cuDNN refuses " + description + ": " + found->refusal;
    return MPT_RT_OK;
  }
  void *first = addressOf(call.refs[0]), *second = addressOf(call.refs[1]),
       *result = addressOf(call.refs[call.numInputs]);
  DnnPack pack(dnn->api);
  bool isInputGrad = plan.kind == CallId::Conv2DInputGrad;
  bool isFilterGrad = plan.kind == CallId::Conv2DFilterGrad;
  if (fails(pack.create(isInputGrad ? result : first, isFilterGrad ? result : second,
                        isInputGrad    ? first
                        : isFilterGrad ? second
                                       : result,
                        memory + workspaceAt, what)))
    return MPT_RT_RUN_FAILED;
  step.convolution = found.get();
  step.pack = static_cast<int>(packs.size());
  packs.push_back(std::move(pack));
  return MPT_RT_OK;
}

int CudaStep::prepareConvolutions(std::vector<Step> &prepared, std::string &error) {
  prepared.resize(program.instructions.size());
  std::string missing;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &call = program.instructions[i];
    if (!isCudnnCall(call))
      continue;
    if (!dnn && missing.empty())
      if (int status = startDnn(missing, error)) {
        error = call.location + ": " + error;
        return status;
      }
    std::string why = missing;
    if (dnn)
      if (int status = prepareConvolution(call, prepared[i], why, error))
        return status;
    const CudnnParts &parts = call.parts;
    size_t instead = i + parts.behind + 1;
    if (prepared[i].convolution) {
      for (int64_t j = 0; j < parts.instead; ++j)
        prepared[instead + j].isSkipped = true;
      continue;
    }
    notes += call.location + ": " + why + "; it runs without cuDNN\n";
    for (size_t j = i - parts.before; j < instead; ++j)
      prepared[j].isSkipped = true;
  }
  return MPT_RT_OK;
}

int CudaStep::launchConvolution(const Step &step, const Instruction &call,
                                std::string &error) {
  Status status = packs[step.pack].run(*dnn, *step.convolution);
  if (!status)
    return MPT_RT_OK;
  error = call.location + ": a convolution: " + dnn->api.nameOf(status);
  return MPT_RT_RUN_FAILED;
}
