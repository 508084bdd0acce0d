//===- CudnnGraph.cpp - Plans as cuDNN's graphs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnGraph.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include <algorithm>
#include <cstdio>
#include <utility>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

#define MPT_DNN_TRY(name, expression)                                                    \
  if (Status status = (what = name, (expression)))                                       \
  return status

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

static int dnnType(DataType type) {
  return type == DataType::F16    ? kDnnHalf
         : type == DataType::BF16 ? kDnnBFloat16
         : type == DataType::I32  ? kDnnInt32
         : type == DataType::I1   ? kDnnBoolean
                                  : kDnnFloat;
}

Status CudnnContext::describe(const std::string &json, const char *&what) {
  MPT_DNN_TRY("a device",
              api.cudnnBackendCreateDescriptor(CudnnKind::DeviceProperties, &device));
  return CudnnSetter(api, device)
      .set(CudnnAttribute::DeviceJson, CudnnType::Char, static_cast<int64_t>(json.size()),
           json.data())
      .finalize();
}

CudnnDesc CudnnGraph::makeDescriptor(CudnnKind kind) {
  CudnnDesc made = nullptr;
  if (!status) {
    status = descriptors.create(kind, made);
    failed = "a descriptor";
  }
  return made;
}

void CudnnGraph::finish(CudnnSetter &setter, const char *name) {
  if (status)
    return;
  status = setter.finalize();
  failed = name;
}

CudnnDesc CudnnGraph::addTensor(const CudnnTensor &tensor, CudnnPlace place, int buffer) {
  CudnnDesc made = makeDescriptor(CudnnKind::Tensor);
  if (status)
    return nullptr;
  CudnnSetter setter(context.api, made);
  setter.code(CudnnAttribute::TensorType, CudnnType::DataType, dnnType(tensor.type))
      .numbers(CudnnAttribute::TensorDims, tensor.dims)
      .numbers(CudnnAttribute::TensorStrides, tensor.strides)
      .number(CudnnAttribute::TensorId, nextId)
      .number(CudnnAttribute::TensorAlignment, kGemmOperandAlignment);
  if (place == CudnnPlace::Nowhere)
    setter.flag(CudnnAttribute::TensorIsVirtual, true);
  if (place == CudnnPlace::Number)
    setter.flag(CudnnAttribute::TensorIsNumber, true);
  finish(setter, "a tensor");
  if (place != CudnnPlace::Nowhere) {
    ids.push_back(nextId);
    buffers.push_back(buffer);
  }
  ++nextId;
  return made;
}

/// Most configurations that are kept after the first one that becomes a plan: cuDNN lists
/// them with the one that it expects to be fastest first.
static constexpr size_t kMostOthers = 5;

Status CudnnGraph::take(int proposal, bool &isTaken, const char *&what) {
  isTaken = false;
  // A plan that is not taken goes.
  auto own = std::make_unique<CudnnDescriptors>(context.api);
  CudnnDesc made = nullptr;
  MPT_DNN_TRY("a plan", own->create(CudnnKind::ExecutionPlan, made));
  Status finalized =
      CudnnSetter(context.api, made)
          .place(context, CudnnAttribute::PlanHandle, CudnnAttribute::PlanDevice)
          .descriptor(CudnnAttribute::PlanConfig, proposals[proposal].config)
          .finalize();
  // An engine may also fail to be compiled; the next one may do. A device that is only
  // described loads nothing.
  if (isCudnnRefusal(finalized) || (finalized >= 4000 && finalized < 5000) ||
      (finalized && context.device)) {
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
  if (bytes > mostBytes) {
    ++tooLarge;
    leastBytes = leastBytes ? std::min(leastBytes, bytes) : bytes;
    return 0;
  }
  // Once memory is taken there is no more than that.
  if (executionPlan && bytes > workspaceBytes)
    return 0;
  workspaceBytes = std::max(workspaceBytes, bytes);
  executionPlan = made;
  plan = std::move(own);
  taken = proposal;
  isTaken = true;
  return 0;
}

Status CudnnGraph::consider(CudnnDesc config, bool isExact, const char *&what) {
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
  // Before 9.2 cuDNN tells only once there is a plan.
  int64_t bytes = 0;
  if (context.api.cudnnGetVersion() >= 90200)
    MPT_DNN_TRY("an engine's workspace", context.api.cudnnBackendGetAttribute(
                                             config, CudnnAttribute::ConfigWorkspace,
                                             CudnnType::Int64, 1, &count, &bytes));
  if (bytes > mostBytes) {
    ++tooLarge;
    leastBytes = leastBytes ? std::min(leastBytes, bytes) : bytes;
    return 0;
  }
  proposals.push_back({config, bytes});
  return 0;
}

Status CudnnGraph::propose(int mode, bool isExact, const char *&what) {
  const CudnnApi &api = context.api;
  CudnnDescriptors own(api);
  CudnnDesc heuristics = nullptr;
  MPT_DNN_TRY("heuristics", own.create(CudnnKind::EngineHeuristics, heuristics));
  CudnnSetter setter(api, heuristics);
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
  std::vector<CudnnDesc> made(count);
  for (CudnnDesc &config : made) {
    MPT_DNN_TRY("an engine configuration",
                configs.create(CudnnKind::EngineConfig, config));
  }
  if (count > 0) {
    MPT_DNN_TRY("heuristics", api.cudnnBackendGetAttribute(
                                  heuristics, CudnnAttribute::HeuristicsResults,
                                  CudnnType::Descriptor, count, &count, made.data()));
  }
  made.resize(std::min<size_t>(made.size(), count));
  for (CudnnDesc config : made) {
    ++proposed;
    if (Status status = consider(config, isExact, what))
      return status;
  }
  bool isTaken = false;
  for (int i = 0; i < countProposals() && !isTaken; ++i)
    if (Status status = take(i, isTaken, what))
      return status;
  // Those that become no plan are none.
  proposals.erase(proposals.begin(),
                  proposals.begin() + (isTaken ? taken : countProposals()));
  taken = 0;
  proposals.resize(std::min(proposals.size(), 1 + kMostOthers));
  for (const Proposal &proposal : proposals)
    workspaceBytes = std::max(workspaceBytes, proposal.bytes);
  return 0;
}

Status CudnnGraph::makeGraph(bool isExact, int64_t mostWorkspace, const char *&what) {
  mostBytes = mostWorkspace;
  graph = makeDescriptor(CudnnKind::OperationGraph);
  CudnnSetter setter(context.api, graph);
  if (!status && !context.device)
    setter.set(CudnnAttribute::GraphHandle, CudnnType::Handle, 1, &context.handle);
  if (!status)
    setter.set(CudnnAttribute::GraphOperations, CudnnType::Descriptor,
               static_cast<int64_t>(operations.size()), operations.data());
  finish(setter, "a graph");
  what = failed;
  if (isCudnnRefusal(status)) {
    refusal = std::string(what) + ": " + context.api.nameOf(status);
    return 0;
  }
  if (status)
    return status;
  for (int mode : {kDnnModeA, kDnnModeFallback}) {
    status = propose(mode, isExact, what);
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
  auto mebibytes = [](int64_t bytes) {
    return static_cast<long long>((bytes + (1 << 20) - 1) >> 20);
  };
  char smallest[48] = "", text[256];
  if (tooLarge)
    std::snprintf(smallest, sizeof(smallest), ", the smallest %lld MiB",
                  mebibytes(leastBytes));
  std::snprintf(text, sizeof(text),
                "none of its %d engine configurations can be used (%d are not "
                "deterministic or not exact, %d need more than %lld MiB%s, %d could not "
                "be made into a plan",
                proposed, inexact, tooLarge, mebibytes(mostBytes), smallest, unfinished);
  refusal = text + (lastStatus ? ", the last one: " + last + ")" : ")");
  return 0;
}

Status CudnnVariantPack::run(const CudnnContext &context, const CudnnGraph &graph) const {
  for (CudnnDesc pack : packs)
    if (Status status =
            context.api.cudnnBackendExecute(context.handle, graph.executionPlan, pack))
      return status;
  return 0;
}

Status CudnnVariantPack::create(const CudnnGraph &graph,
                                const std::vector<void *> &buffers, void *workspace,
                                const char *&what) {
  what = "a call's buffers";
  std::vector<const void *> pointers(graph.buffers.size());
  const auto count = static_cast<int64_t>(pointers.size());
  for (const std::vector<int64_t> &offsets : graph.offsets) {
    for (size_t i = 0; i < pointers.size(); ++i) {
      const int buffer = graph.buffers[i];
      pointers[i] = buffer < 0 ? static_cast<const void *>(&graph.numbers[-1 - buffer])
                               : static_cast<char *>(buffers[buffer]) + offsets[i];
    }
    packs.push_back(nullptr);
    if (Status status = descriptors.create(CudnnKind::VariantPack, packs.back()))
      return status;
    if (Status status =
            CudnnSetter(*descriptors.api, packs.back())
                .set(CudnnAttribute::PackIds, CudnnType::Int64, count, graph.ids.data())
                .set(CudnnAttribute::PackPointers, CudnnType::VoidPtr, count,
                     pointers.data())
                .set(CudnnAttribute::PackWorkspace, CudnnType::VoidPtr, 1, &workspace)
                .finalize())
      return status;
  }
  return 0;
}
