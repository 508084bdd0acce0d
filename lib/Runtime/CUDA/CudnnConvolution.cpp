//===- CudnnConvolution.cpp - A plan as cuDNN's descriptors -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnConvolution.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include <algorithm>
#include <utility>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

#define MPT_DNN_TRY(name, expression)                                                    \
  what = name;                                                                           \
  if (Status status = (expression))                                                      \
  return status

/// Names of tensors in a graph and in the pack of a call.
static constexpr int64_t kIdX = 'x', kIdW = 'w', kIdY = 'y';

bool mpt::rt::cuda::isCudnnRefusal(Status status) {
  // Categories: 1000 parts of the library are missing, 2000 parameters, 3000 not
  // supported. From 4000 on something is broken.
  return status >= 1000 && status < 4000;
}

CudnnContext::~CudnnContext() {
  if (device)
    api.cudnnBackendDestroyDescriptor(device);
  if (handle)
    api.cudnnDestroy(handle);
}

Status CudnnContext::create(Stream stream, const char *&what) {
  MPT_DNN_TRY("cuDNN", api.cudnnCreate(&handle));
  return api.cudnnSetStream(handle, stream);
}

CudnnDescriptors::~CudnnDescriptors() {
  for (size_t i = all.size(); i-- > 0;)
    api->cudnnBackendDestroyDescriptor(all[i]);
}

CudnnDescriptors::CudnnDescriptors(CudnnDescriptors &&other)
    : api(other.api), all(std::exchange(other.all, {})) {}

Status CudnnDescriptors::create(CudnnKind kind, CudnnDesc &made) {
  CudnnDesc desc = nullptr;
  if (Status status = api->cudnnBackendCreateDescriptor(kind, &desc))
    return status;
  all.push_back(desc);
  made = desc;
  return 0;
}

namespace {

/// Sets attributes of one descriptor; keeps the first failure.
class Setter {
public:
  Setter(const CudnnApi &api, CudnnDesc desc) : api(api), desc(desc) {}

  Setter &set(CudnnAttribute attribute, CudnnType type, int64_t count,
              const void *values) {
    if (!status)
      status = api.cudnnBackendSetAttribute(desc, attribute, type, count, values);
    return *this;
  }
  Setter &descriptor(CudnnAttribute attribute, CudnnDesc value) {
    return set(attribute, CudnnType::Descriptor, 1, &value);
  }
  Setter &number(CudnnAttribute attribute, int64_t value) {
    return set(attribute, CudnnType::Int64, 1, &value);
  }
  Setter &numbers(CudnnAttribute attribute, const int64_t (&values)[2]) {
    return set(attribute, CudnnType::Int64, 2, values);
  }
  Setter &numbers(CudnnAttribute attribute, const int64_t (&values)[4]) {
    return set(attribute, CudnnType::Int64, 4, values);
  }
  Setter &code(CudnnAttribute attribute, CudnnType type, int value) {
    return set(attribute, type, 1, &value);
  }
  /// The handle, or the device that stands for one.
  Setter &place(const CudnnContext &context, CudnnAttribute ofHandle,
                CudnnAttribute ofDevice) {
    return context.device ? descriptor(ofDevice, context.device)
                          : set(ofHandle, CudnnType::Handle, 1, &context.handle);
  }
  Setter &real(CudnnAttribute attribute, float value) {
    return set(attribute, CudnnType::Float, 1, &value);
  }
  Status finalize() { return status ? status : api.cudnnBackendFinalize(desc); }

private:
  const CudnnApi &api;
  CudnnDesc desc;
  Status status = 0;
};

int dnnType(DataType type) {
  return type == DataType::F16    ? kDnnHalf
         : type == DataType::BF16 ? kDnnBFloat16
                                  : kDnnFloat;
}

} // namespace

Status CudnnContext::describe(const std::string &json, const char *&what) {
  MPT_DNN_TRY("a device",
              api.cudnnBackendCreateDescriptor(CudnnKind::DeviceProperties, &device));
  return Setter(api, device)
      .set(CudnnAttribute::DeviceJson, CudnnType::Char, static_cast<int64_t>(json.size()),
           json.data())
      .finalize();
}

CudnnConvolution::~CudnnConvolution() {
  // The plan goes before what it was made from.
  while (!kept.empty())
    kept.pop_back();
}

Status CudnnConvolution::makeTensor(const CudnnTensor &tensor, int64_t id,
                                    CudnnDesc &made, const char *&what) {
  MPT_DNN_TRY("a tensor", descriptors.create(CudnnKind::Tensor, made));
  return Setter(context.api, made)
      .code(CudnnAttribute::TensorType, CudnnType::DataType, dnnType(tensor.type))
      .numbers(CudnnAttribute::TensorDims, tensor.dims)
      .numbers(CudnnAttribute::TensorStrides, tensor.strides)
      .number(CudnnAttribute::TensorId, id)
      .number(CudnnAttribute::TensorAlignment, kGemmOperandAlignment)
      .finalize();
}

Status CudnnConvolution::makeOperation(const CudnnPlan &plan, const char *&what) {
  const CudnnApi &api = context.api;
  CudnnDesc x = nullptr, w = nullptr, y = nullptr, convolution = nullptr,
            operation = nullptr;
  if (Status status = makeTensor(plan.x, kIdX, x, what))
    return status;
  if (Status status = makeTensor(plan.w, kIdW, w, what))
    return status;
  if (Status status = makeTensor(plan.y, kIdY, y, what))
    return status;
  MPT_DNN_TRY("a convolution", descriptors.create(CudnnKind::Convolution, convolution));
  MPT_DNN_TRY(
      "a convolution",
      Setter(api, convolution)
          .number(CudnnAttribute::ConvolutionSpatialDims, 2)
          .code(CudnnAttribute::ConvolutionComputeType, CudnnType::DataType, kDnnFloat)
          .code(CudnnAttribute::ConvolutionMode, CudnnType::ConvolutionMode,
                kDnnCrossCorrelation)
          .numbers(CudnnAttribute::ConvolutionStrides, plan.strides)
          .numbers(CudnnAttribute::ConvolutionPrePaddings, plan.padBefore)
          .numbers(CudnnAttribute::ConvolutionPostPaddings, plan.padAfter)
          .numbers(CudnnAttribute::ConvolutionDilations, plan.dilations)
          .finalize());
  bool isInputGrad = plan.kind == CallId::Conv2DInputGrad;
  bool isFilterGrad = plan.kind == CallId::Conv2DFilterGrad;
  MPT_DNN_TRY("an operation",
              descriptors.create(isInputGrad    ? CudnnKind::ConvolutionBackwardData
                                 : isFilterGrad ? CudnnKind::ConvolutionBackwardFilter
                                                : CudnnKind::ConvolutionForward,
                                 operation));
  auto set = [&](CudnnAttribute alpha, CudnnAttribute beta, CudnnAttribute description,
                 CudnnAttribute nameX, CudnnAttribute nameW, CudnnAttribute nameY) {
    return Setter(api, operation)
        .real(alpha, 1)
        .real(beta, 0)
        .descriptor(description, convolution)
        .descriptor(nameX, x)
        .descriptor(nameW, w)
        .descriptor(nameY, y)
        .finalize();
  };
  using A = CudnnAttribute;
  MPT_DNN_TRY("an operation",
              isInputGrad ? set(A::DataAlpha, A::DataBeta, A::DataConvolution, A::DataDx,
                                A::DataW, A::DataDy)
              : isFilterGrad ? set(A::FilterAlpha, A::FilterBeta, A::FilterConvolution,
                                   A::FilterX, A::FilterDw, A::FilterDy)
                             : set(A::ForwardAlpha, A::ForwardBeta, A::ForwardConvolution,
                                   A::ForwardX, A::ForwardW, A::ForwardY));
  MPT_DNN_TRY("a graph", descriptors.create(CudnnKind::OperationGraph, graph));
  Setter setter(api, graph);
  if (!context.device)
    setter.set(A::GraphHandle, CudnnType::Handle, 1, &context.handle);
  return setter.descriptor(A::GraphOperations, operation).finalize();
}

Status CudnnConvolution::makePlan(CudnnDesc config, const char *&what) {
  // A plan that is not taken goes.
  CudnnDescriptors own(context.api);
  CudnnDesc made = nullptr;
  MPT_DNN_TRY("a plan", own.create(CudnnKind::ExecutionPlan, made));
  Status finalized =
      Setter(context.api, made)
          .place(context, CudnnAttribute::PlanHandle, CudnnAttribute::PlanDevice)
          .descriptor(CudnnAttribute::PlanConfig, config)
          .finalize();
  // An engine may also fail to be compiled; the next one may do.
  if (isCudnnRefusal(finalized) || (finalized >= 4000 && finalized < 5000)) {
    ++unfinished;
    lastStatus = finalized;
    return 0;
  }
  if (finalized)
    return finalized;
  int64_t bytes = 0, count = 0;
  MPT_DNN_TRY("a plan's workspace",
              context.api.cudnnBackendGetAttribute(made, CudnnAttribute::PlanWorkspace,
                                                   CudnnType::Int64, 1, &count, &bytes));
  if (bytes > kGemmWorkspaceBytes) {
    ++tooLarge;
    return 0;
  }
  executionPlan = made;
  kept.push_back(std::move(own));
  return 0;
}

Status CudnnConvolution::tryConfig(CudnnDesc config, bool isExact, const char *&what) {
  CudnnDescriptors own(context.api);
  CudnnDesc engine = nullptr;
  int64_t count = 0;
  MPT_DNN_TRY("an engine", own.create(CudnnKind::Engine, engine));
  MPT_DNN_TRY("an engine", context.api.cudnnBackendGetAttribute(
                               config, CudnnAttribute::ConfigEngine,
                               CudnnType::Descriptor, 1, &count, &engine));
  int notes[kNoteCount] = {};
  count = 0;
  MPT_DNN_TRY("an engine's notes",
              context.api.cudnnBackendGetAttribute(engine, CudnnAttribute::EngineNotes,
                                                   CudnnType::NumericalNote, kNoteCount,
                                                   &count, notes));
  auto has = [&](int note) {
    return std::find(notes, notes + std::min<int64_t>(count, kNoteCount), note) !=
           notes + std::min<int64_t>(count, kNoteCount);
  };
  // The same bits on every run, exact products, sums in f32.
  if (has(kNoteNondeterministic) || has(kNoteDownConverts) ||
      has(kNoteReducedReduction) || has(kNoteFFT) || has(kNoteWinograd) ||
      (isExact && has(kNoteTensorCore))) {
    ++inexact;
    return 0;
  }
  return makePlan(config, what);
}

Status CudnnConvolution::propose(int mode, bool isExact, const char *&what) {
  const CudnnApi &api = context.api;
  CudnnDescriptors own(api);
  CudnnDesc heuristics = nullptr;
  MPT_DNN_TRY("heuristics", own.create(CudnnKind::EngineHeuristics, heuristics));
  Setter setter(api, heuristics);
  if (context.device)
    setter.descriptor(CudnnAttribute::HeuristicsDevice, context.device);
  MPT_DNN_TRY("heuristics",
              setter.descriptor(CudnnAttribute::HeuristicsGraph, graph)
                  .code(CudnnAttribute::HeuristicsMode, CudnnType::HeuristicsMode, mode)
                  .finalize());
  int64_t count = 0;
  MPT_DNN_TRY("heuristics",
              api.cudnnBackendGetAttribute(heuristics, CudnnAttribute::HeuristicsResults,
                                           CudnnType::Descriptor, 0, &count, nullptr));
  CudnnDescriptors made(api);
  std::vector<CudnnDesc> configs(count);
  for (CudnnDesc &config : configs) {
    MPT_DNN_TRY("an engine configuration", made.create(CudnnKind::EngineConfig, config));
  }
  if (count > 0) {
    MPT_DNN_TRY("heuristics", api.cudnnBackendGetAttribute(
                                  heuristics, CudnnAttribute::HeuristicsResults,
                                  CudnnType::Descriptor, count, &count, configs.data()));
  }
  configs.resize(std::min<size_t>(configs.size(), count));
  for (CudnnDesc config : configs) {
    ++proposed;
    if (Status status = tryConfig(config, isExact, what))
      return status;
    if (executionPlan) {
      // What it was made from stays with it, and goes after it.
      kept.insert(kept.begin(), std::move(made));
      break;
    }
  }
  return 0;
}

Status CudnnConvolution::create(const CudnnPlan &plan, const char *&what) {
  Status status = makeOperation(plan, what);
  if (isCudnnRefusal(status)) {
    refusal = std::string(what) + ": " + context.api.nameOf(status);
    return 0;
  }
  if (status)
    return status;
  bool isF32 = plan.x.type == DataType::F32 && plan.w.type == DataType::F32 &&
               plan.y.type == DataType::F32;
  for (int mode : {kDnnModeA, kDnnModeFallback}) {
    status = propose(mode, isF32 && !plan.allowTF32, what);
    if (isCudnnRefusal(status))
      lastStatus = status;
    else if (status)
      return status;
    if (executionPlan)
      return 0;
  }
  std::string last = lastStatus ? context.api.nameOf(lastStatus) : "";
  if (proposed == 0) {
    refusal = "it proposes no engine" + (lastStatus ? ": " + last : "");
    return 0;
  }
  refusal = "none of its " + std::to_string(proposed) +
            " engine configurations can be used (" + std::to_string(inexact) +
            " are not deterministic or not exact, " + std::to_string(tooLarge) +
            " need more than 32 MiB, " + std::to_string(unfinished) +
            " could not be made into a plan" +
            (lastStatus ? ", the last one: " + last + ")" : ")");
  return 0;
}

Status CudnnVariantPack::create(void *x, void *w, void *y, void *workspace,
                                const char *&what) {
  MPT_DNN_TRY("a call's buffers", descriptors.create(CudnnKind::VariantPack, pack));
  int64_t ids[] = {kIdX, kIdW, kIdY};
  void *pointers[] = {x, w, y};
  return Setter(*descriptors.api, pack)
      .set(CudnnAttribute::PackIds, CudnnType::Int64, 3, ids)
      .set(CudnnAttribute::PackPointers, CudnnType::VoidPtr, 3, pointers)
      .set(CudnnAttribute::PackWorkspace, CudnnType::VoidPtr, 1, &workspace)
      .finalize();
}
