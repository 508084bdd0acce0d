//===- CudnnCalls.cpp - Which calls cuDNN makes -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which convolutions and attentions cuDNN does: decided once, on the device. What goes
/// with a call that is not made, or would stand in for one that is, is skipped.
///
//===----------------------------------------------------------------------===//

#include "CudaExecutable.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/Runtime/Runtime.h"

#include <algorithm>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

bool CudaExecutable::checkCudnnParts(std::string &error) const {
  int64_t end = 0, size = program.instructions.size();
  for (int64_t i = 0; i < size; ++i) {
    const Instruction &call = program.instructions[i];
    if (!isCudnnCall(call))
      continue;
    const CudnnParts &parts = call.parts;
    // One after the other, so that no sum can overflow.
    bool fits = parts.before >= 0 && parts.before <= i - end && parts.after >= 0 &&
                parts.after < size - i && parts.fallback >= 1 &&
                parts.fallback < size - i - parts.after;
    if (!fits) {
      error = call.location + ": the launches of a call of cuDNN are not next to it";
      return false;
    }
    CudnnAttentionPlan plan;
    if (call.getCall<CudnnAttentionGradCall>() && makeCudnnAttentionPlan(call, plan) &&
        (!call.hasScratch || call.refs.back().bytes() < 4 * plan.rows())) {
      error = call.location + ": the gradient of attention lacks its workspace";
      return false;
    }
    end = i + parts.after + parts.fallback + 1;
  }
  return true;
}

int CudaExecutable::startCudnn(std::string &why, std::string &error) {
  auto made = std::make_unique<CudnnContext>();
  if (!made->api.load(cudnn, why))
    return MPT_RT_OK;
  const char *what = nullptr;
  if (Status status = made->create(state->stream, what)) {
    why = std::string(what) + ": " + made->api.nameOf(status);
    if (isCudnnRefusal(status))
      return MPT_RT_OK;
    error = why;
    return MPT_RT_RUN_FAILED;
  }
  dnn = std::move(made);
  return MPT_RT_OK;
}

int CudaExecutable::planCudnn(const Instruction &call, const CudnnGraph *&graph,
                              std::string &why, std::string &error) {
  CudnnPlan plan;
  CudnnAttentionPlan attention;
  const bool isAttention = makeCudnnAttentionPlan(call, attention);
  if (!isAttention && !makeCudnnPlan(call, plan, why)) {
    error = call.location + ": " + why;
    return MPT_RT_UNSUPPORTED;
  }
  // In a CUDA graph its gradient could reach outside of memory, by the release notes of
  // cudnn-frontend 1.16.0.
  if (isAttention && attention.isGrad && attention.keys % 128 != 0 &&
      dnn->api.cudnnGetVersion() < 91501) {
    why = "the gradient of attention with other keys than multiples of 128 needs cuDNN "
          "9.15.1 or newer";
    return MPT_RT_OK;
  }
  // Calls of one plan share it.
  std::string description =
      isAttention ? describeCudnnPlan(attention) : describeCudnnPlan(plan);
  std::unique_ptr<CudnnGraph> &found = graphs[description];
  if (!found) {
    const char *what = nullptr;
    found = std::make_unique<CudnnGraph>(*dnn);
    if (Status status =
            isAttention ? found->create(attention, what) : found->create(plan, what)) {
      error = call.location + ": " + what + ": " + dnn->api.nameOf(status);
      return MPT_RT_RUN_FAILED;
    }
  }
  if (found->hasPlan())
    graph = found.get();
  else
    why = "cuDNN refuses " + description + ": " + found->refusal;
  return MPT_RT_OK;
}

int CudaExecutable::planCudnn(std::string &error) {
  std::string missing, first;
  int64_t numWithout = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &call = program.instructions[i];
    if (!isCudnnCall(call))
      continue;
    if (!dnn && missing.empty())
      if (int status = startCudnn(missing, error)) {
        error = call.location + ": " + error;
        return status;
      }
    std::string why = missing;
    if (dnn)
      if (int status = planCudnn(call, steps[i].graph, why, error))
        return status;
    const CudnnParts &parts = call.parts;
    size_t fallback = i + parts.after + 1;
    if (steps[i].graph) {
      for (int64_t j = 0; j < parts.fallback; ++j)
        steps[fallback + j].isReplaced = true;
      workspaceBytes = std::max(workspaceBytes, steps[i].graph->workspaceBytes);
      continue;
    }
    if (dnn)
      notes += call.location + ": " + why + "; it runs without cuDNN\n";
    else if (numWithout++ == 0)
      first = call.location;
    for (size_t j = i - parts.before; j < fallback; ++j)
      steps[j].isReplaced = true;
  }
  // One line for all where there is no library.
  if (numWithout == 1)
    notes += first + ": " + missing + "; it runs without cuDNN\n";
  else if (numWithout > 1)
    notes += first + ": " + missing + "; it and " + std::to_string(numWithout - 1) +
             " others run without cuDNN\n";
  return MPT_RT_OK;
}

bool CudaExecutable::dropLargeCudnnPlans() {
  std::string first;
  int64_t numDropped = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const CudnnGraph *large = steps[i].graph;
    if (!large || large->workspaceBytes <= kGemmWorkspaceBytes)
      continue;
    if (numDropped++ == 0)
      first = program.instructions[i].location;
    steps[i].graph = nullptr;
    const CudnnParts &parts = program.instructions[i].parts;
    const size_t fallback = i + parts.after + 1;
    for (size_t j = i - parts.before; j < fallback + parts.fallback; ++j)
      steps[j].isReplaced = j < fallback;
  }
  if (numDropped == 0)
    return false;
  notes += first + ": there is no memory for " +
           std::to_string((workspaceBytes - kGemmWorkspaceBytes) >> 20) +
           " MiB more of workspace for cuDNN; it";
  notes += numDropped == 1
               ? std::string(" runs without cuDNN\n")
               : " and " + std::to_string(numDropped - 1) + " others run without cuDNN\n";
  workspaceBytes = kGemmWorkspaceBytes;
  return true;
}

int CudaExecutable::launchCudnn(size_t index, std::string &error) {
  const BoundInstruction &step = steps[index];
  Status status;
  if (step.moving.empty()) {
    status = packs[step.pack].run(*dnn, *step.graph);
  } else {
    CudnnVariantPack pack(dnn->api);
    const char *what = nullptr;
    status = pack.create(*step.graph, step.buffers, memory + workspaceAt, what);
    if (!status)
      status = pack.run(*dnn, *step.graph);
  }
  if (!status)
    return MPT_RT_OK;
  error = program.instructions[index].location +
          ": a call of cuDNN: " + dnn->api.nameOf(status);
  // What has begun to be recorded cannot be taken back, and a broken device runs nothing.
  if (recording || !isCudnnRefusal(status) || !prepareWithoutCudnn(index))
    return MPT_RT_RUN_FAILED;
  // That comes after it.
  useCudnn(index, false);
  notes += error + "; it runs without cuDNN\n";
  return MPT_RT_OK;
}
