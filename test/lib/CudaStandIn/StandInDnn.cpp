//===- StandInDnn.cpp - cuDNN's backend API without a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Descriptors hold what they are given; what one needs, and of which type, is a table.
/// Heuristics propose engines that have each something wrong with them, as cuDNN's have,
/// before one that will do.
///
//===----------------------------------------------------------------------===//

#include "StandInDnn.h"

#include <algorithm>

using namespace mpt::standin;

namespace {

constexpr Status kNotInitialized = 1001, kBadParam = 2000, kBadPointer = 2003,
                 kNotFinalized = 2004, kBadShape = 2008, kBadType = 2010,
                 kUnsupported = 3000, kUnsupportedLayout = 3004;

struct HandleState {
  Stream stream = nullptr;
};

/// An attribute of a descriptor: how many values of which type, and whether it must be
/// set before the descriptor is finalized.
struct Rule {
  CudnnKind kind;
  CudnnAttribute attribute;
  CudnnType type;
  int64_t least, most;
  bool isRequired = true;
};

using A = CudnnAttribute;
using K = CudnnKind;
using T = CudnnType;
const Rule rules[] = {
    {K::Tensor, A::TensorType, T::DataType, 1, 1},
    {K::Tensor, A::TensorDims, T::Int64, 3, 8},
    {K::Tensor, A::TensorStrides, T::Int64, 3, 8},
    {K::Tensor, A::TensorId, T::Int64, 1, 1},
    {K::Tensor, A::TensorAlignment, T::Int64, 1, 1},
    {K::Tensor, A::TensorIsVirtual, T::Boolean, 1, 1, false},
    {K::Tensor, A::TensorIsNumber, T::Boolean, 1, 1, false},
    {K::Pointwise, A::PointwiseMode, T::PointwiseMode, 1, 1},
    {K::Pointwise, A::PointwiseType, T::DataType, 1, 1},
    {K::Pointwise, A::PointwiseAxis, T::Int64, 1, 1, false},
    {K::PointwiseOperation, A::PointwiseDescription, T::Descriptor, 1, 1},
    {K::PointwiseOperation, A::PointwiseX, T::Descriptor, 1, 1},
    {K::PointwiseOperation, A::PointwiseB, T::Descriptor, 1, 1, false},
    {K::PointwiseOperation, A::PointwiseY, T::Descriptor, 1, 1},
    {K::PointwiseOperation, A::PointwiseT, T::Descriptor, 1, 1, false},
    {K::Matmul, A::MatmulType, T::DataType, 1, 1},
    {K::MatmulOperation, A::MatmulA, T::Descriptor, 1, 1},
    {K::MatmulOperation, A::MatmulB, T::Descriptor, 1, 1},
    {K::MatmulOperation, A::MatmulC, T::Descriptor, 1, 1},
    {K::MatmulOperation, A::MatmulDescription, T::Descriptor, 1, 1},
    {K::Reduction, A::ReductionOperator, T::ReductionOperator, 1, 1},
    {K::Reduction, A::ReductionType, T::DataType, 1, 1},
    {K::ReductionOperation, A::ReductionX, T::Descriptor, 1, 1},
    {K::ReductionOperation, A::ReductionY, T::Descriptor, 1, 1},
    {K::ReductionOperation, A::ReductionDescription, T::Descriptor, 1, 1},
    {K::ReshapeOperation, A::ReshapeX, T::Descriptor, 1, 1},
    {K::ReshapeOperation, A::ReshapeY, T::Descriptor, 1, 1},
    {K::Convolution, A::ConvolutionSpatialDims, T::Int64, 1, 1},
    {K::Convolution, A::ConvolutionComputeType, T::DataType, 1, 1},
    {K::Convolution, A::ConvolutionMode, T::ConvolutionMode, 1, 1},
    {K::Convolution, A::ConvolutionStrides, T::Int64, 2, 2},
    {K::Convolution, A::ConvolutionPrePaddings, T::Int64, 2, 2},
    {K::Convolution, A::ConvolutionPostPaddings, T::Int64, 2, 2},
    {K::Convolution, A::ConvolutionDilations, T::Int64, 2, 2},
    {K::ConvolutionForward, A::ForwardAlpha, T::Float, 1, 1},
    {K::ConvolutionForward, A::ForwardBeta, T::Float, 1, 1},
    {K::ConvolutionForward, A::ForwardConvolution, T::Descriptor, 1, 1},
    {K::ConvolutionForward, A::ForwardX, T::Descriptor, 1, 1},
    {K::ConvolutionForward, A::ForwardW, T::Descriptor, 1, 1},
    {K::ConvolutionForward, A::ForwardY, T::Descriptor, 1, 1},
    {K::ConvolutionBackwardData, A::DataAlpha, T::Float, 1, 1},
    {K::ConvolutionBackwardData, A::DataBeta, T::Float, 1, 1},
    {K::ConvolutionBackwardData, A::DataConvolution, T::Descriptor, 1, 1},
    {K::ConvolutionBackwardData, A::DataDx, T::Descriptor, 1, 1},
    {K::ConvolutionBackwardData, A::DataW, T::Descriptor, 1, 1},
    {K::ConvolutionBackwardData, A::DataDy, T::Descriptor, 1, 1},
    {K::ConvolutionBackwardFilter, A::FilterAlpha, T::Float, 1, 1},
    {K::ConvolutionBackwardFilter, A::FilterBeta, T::Float, 1, 1},
    {K::ConvolutionBackwardFilter, A::FilterConvolution, T::Descriptor, 1, 1},
    {K::ConvolutionBackwardFilter, A::FilterX, T::Descriptor, 1, 1},
    {K::ConvolutionBackwardFilter, A::FilterDw, T::Descriptor, 1, 1},
    {K::ConvolutionBackwardFilter, A::FilterDy, T::Descriptor, 1, 1},
    {K::OperationGraph, A::GraphHandle, T::Handle, 1, 1},
    {K::OperationGraph, A::GraphOperations, T::Descriptor, 1, 64},
    {K::EngineHeuristics, A::HeuristicsGraph, T::Descriptor, 1, 1},
    {K::EngineHeuristics, A::HeuristicsMode, T::HeuristicsMode, 1, 1},
    {K::ExecutionPlan, A::PlanHandle, T::Handle, 1, 1},
    {K::ExecutionPlan, A::PlanConfig, T::Descriptor, 1, 1},
    {K::VariantPack, A::PackIds, T::Int64, 1, 32},
    {K::VariantPack, A::PackPointers, T::VoidPtr, 1, 32},
    {K::VariantPack, A::PackWorkspace, T::VoidPtr, 1, 1, false},
};

size_t sizeOf(CudnnType type) {
  switch (type) {
  case T::Handle:
  case T::Int64:
  case T::VoidPtr:
  case T::Descriptor:
    return 8;
  case T::Boolean:
    return 1;
  default:
    return 4;
  }
}

CudnnState *getDesc(Call &call, CudnnDesc desc) {
  return get<CudnnState>(call, desc, "descriptor of cuDNN");
}

/// Engines: the plan of the first cannot be made, the second is not deterministic, the
/// third wants much workspace, the fourth has tensor cores, the fifth has none, the
/// others have tensor cores.
struct EngineModel {
  bool finalizes;
  int64_t workspace;
  std::vector<int> notes;
};
const EngineModel engines[] = {
    {false, 0, {kNoteTensorCore}},
    {true, 0, {kNoteTensorCore, kNoteNondeterministic}},
    {true, int64_t(64) << 20, {kNoteTensorCore}},
    {true, int64_t(1) << 20, {kNoteTensorCore}},
    {true, 4096, {}},
    {true, int64_t(2) << 20, {kNoteTensorCore}},
    {true, 0, {kNoteTensorCore}},
};

double microsecondsOf(int engine) {
  return engine == 4 ? 60 : state.engineMicroseconds[engine == 3 ? 0 : engine - 4];
}

/// Which engines a mode proposes. Results of a convolution alone have the operands' type:
/// for others cuDNN 9.19 proposes nothing, or what does not become a plan. Sums in f32
/// may be stored by an identity.
std::vector<int> proposalsOf(int mode, const CudnnState &graph) {
  if (isFused(graph))
    return mode == kDnnModeFallback ? std::vector<int>() : std::vector<int>{0, 1, 2, 3};
  const CudnnOperation op = operationOf(graph);
  const bool isFilter = op.kind == K::ConvolutionBackwardFilter;
  const DataType left = op.kind == K::ConvolutionBackwardData ? op.y.type : op.x.type;
  const DataType right = isFilter ? op.y.type : op.w.type;
  const DataType result = op.kind == K::ConvolutionForward ? op.y.type
                          : isFilter                       ? op.w.type
                                                           : op.x.type;
  const bool isStored = operationsOf(graph).size() > 1;
  if (left != right || (isStored ? result != DataType::F32 : result != left))
    return {};
  return mode == kDnnModeFallback ? std::vector<int>{4}
                                  : std::vector<int>{0, 1, 2, 3, 5, 6};
}

/// What an engine's plan needs. The engine of attention that will do keeps the slopes of
/// all scores of a gradient in 16 bits, as cuDNN's deterministic ones do.
int64_t workspaceOf(int engine, const CudnnState &graph) {
  if (engine != 3 || !isFused(graph))
    return engines[engine].workspace;
  int64_t bytes = 0, matmuls = 0;
  for (const CudnnState *operation : operationsOf(graph))
    if (operation->kind == K::MatmulOperation) {
      const CudnnTensorState result = tensorOf(
          *static_cast<const CudnnState *>(operation->get<void *>(A::MatmulC).front()));
      int64_t size = 2;
      for (size_t d = 0; d < result.dims.size(); ++d)
        size *= d < 2 ? result.dims[d] : (result.dims[d] + 127) / 128 * 128;
      bytes = std::max(bytes, result.isVirtual ? size : 0);
      ++matmuls;
    }
  return matmuls == 5 ? bytes : 256;
}

/// The dimensions that an operation's y must have.
bool fits(const CudnnOperation &op) {
  const auto &x = op.x.dims, &w = op.w.dims, &y = op.y.dims;
  bool isGood = x.size() == 4 && w.size() == 4 && y.size() == 4 && x[0] == y[0] &&
                w[0] == y[1] && w[1] > 0 && x[1] % w[1] == 0 && y[1] % (x[1] / w[1]) == 0;
  for (int i = 0; isGood && i < 2; ++i) {
    int64_t reach = (w[2 + i] - 1) * op.dilations[i] + 1;
    int64_t room = x[2 + i] + op.padBefore[i] + op.padAfter[i] - reach;
    isGood = op.strides[i] > 0 && room >= 0 && y[2 + i] == room / op.strides[i] + 1;
  }
  return isGood;
}

/// Channels innermost, and nothing between.
bool isPackedByChannels(const CudnnTensorState &t) {
  const auto &d = t.dims;
  return t.strides == std::vector<int64_t>{d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]};
}

Status finalizeTensor(Call &call, const CudnnState &desc) {
  CudnnTensorState tensor = tensorOf(desc);
  if (tensor.dims.size() != tensor.strides.size())
    return call.breach("a tensor has as many strides as dimensions", kBadShape);
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    if (tensor.dims[i] < 1 || tensor.strides[i] < 1)
      return call.breach("a tensor has a dimension or stride below 1", kBadShape);
  return 0;
}

} // namespace

CudnnTensorState mpt::standin::tensorOf(const CudnnState &desc) {
  CudnnTensorState tensor;
  int type = desc.get<int>(A::TensorType).front();
  tensor.type = type == kDnnHalf       ? DataType::F16
                : type == kDnnBFloat16 ? DataType::BF16
                : type == kDnnInt32    ? DataType::I32
                : type == kDnnBoolean  ? DataType::I1
                                       : DataType::F32;
  auto isSet = [&](A attribute) {
    return desc.has(attribute) && desc.get<char>(attribute).front();
  };
  tensor.isVirtual = isSet(A::TensorIsVirtual);
  tensor.isNumber = isSet(A::TensorIsNumber);
  tensor.dims = desc.get<int64_t>(A::TensorDims);
  tensor.strides = desc.get<int64_t>(A::TensorStrides);
  tensor.id = desc.get<int64_t>(A::TensorId).front();
  tensor.alignment = desc.get<int64_t>(A::TensorAlignment).front();
  return tensor;
}

/// The second operation of a graph, if it is an identity.
static const CudnnState *getIdentity(const CudnnState &graph) {
  auto at = [](const CudnnState &from, A attribute) {
    return static_cast<const CudnnState *>(from.get<void *>(attribute).front());
  };
  std::vector<const CudnnState *> operations = operationsOf(graph);
  const bool isOne =
      operations.size() == 2 && operations[1]->kind == K::PointwiseOperation &&
      at(*operations[1], A::PointwiseDescription)->get<int>(A::PointwiseMode).front() ==
          kDnnIdentity;
  return isOne ? operations[1] : nullptr;
}

/// Whether the sums of a graph's convolution stay inside in f32, and an identity stores
/// all of them.
static bool isStoredSum(const CudnnState &graph) {
  auto at = [](const CudnnState &from, A attribute) {
    return static_cast<const CudnnState *>(from.get<void *>(attribute).front());
  };
  const CudnnState *identity = getIdentity(graph);
  if (!identity)
    return false;
  const CudnnState &op = *operationsOf(graph).front();
  const CudnnState *sum = at(*identity, A::PointwiseX);
  if (sum != at(op, op.kind == K::ConvolutionBackwardData     ? A::DataDx
                    : op.kind == K::ConvolutionBackwardFilter ? A::FilterDw
                                                              : A::ForwardY))
    return false;
  const CudnnTensorState inside = tensorOf(*sum),
                         stored = tensorOf(*at(*identity, A::PointwiseY));
  return inside.isVirtual && inside.type == DataType::F32 && !stored.isVirtual &&
         stored.dims == inside.dims;
}

CudnnOperation mpt::standin::operationOf(const CudnnState &graph) {
  auto at = [](const CudnnState &from, A attribute) {
    return static_cast<const CudnnState *>(from.get<void *>(attribute).front());
  };
  const CudnnState &op = *at(graph, A::GraphOperations);
  CudnnOperation made;
  made.kind = op.kind;
  bool isData = op.kind == K::ConvolutionBackwardData;
  bool isFilter = op.kind == K::ConvolutionBackwardFilter;
  const CudnnState &convolution = *at(op, isData     ? A::DataConvolution
                                          : isFilter ? A::FilterConvolution
                                                     : A::ForwardConvolution);
  // What is in memory: where an identity stores a result, that of the identity.
  const CudnnState *identity = getIdentity(graph);
  auto tensorAt = [&](A attribute) {
    const CudnnState *tensor = at(op, attribute);
    return tensorOf(identity && at(*identity, A::PointwiseX) == tensor
                        ? *at(*identity, A::PointwiseY)
                        : *tensor);
  };
  made.x = tensorAt(isData ? A::DataDx : isFilter ? A::FilterX : A::ForwardX);
  made.w = tensorAt(isData ? A::DataW : isFilter ? A::FilterDw : A::ForwardW);
  made.y = tensorAt(isData ? A::DataDy : isFilter ? A::FilterDy : A::ForwardY);
  made.strides = convolution.get<int64_t>(A::ConvolutionStrides);
  made.padBefore = convolution.get<int64_t>(A::ConvolutionPrePaddings);
  made.padAfter = convolution.get<int64_t>(A::ConvolutionPostPaddings);
  made.dilations = convolution.get<int64_t>(A::ConvolutionDilations);
  return made;
}

namespace {

Status finalizeOperation(Call &call, const CudnnState &desc) {
  // As a graph of it would be read.
  CudnnState graph;
  const void *self = &desc;
  graph.set(A::GraphOperations, &self, sizeof(self));
  return fits(operationOf(graph))
             ? 0
             : call.breach("the tensors of a convolution do not fit together", kBadShape);
}

Status finalizePlan(const CudnnState &desc) {
  auto *config = static_cast<const CudnnState *>(desc.get<void *>(A::PlanConfig).front());
  if (!engines[config->engine].finalizes)
    return kUnsupported;
  if (isFused(*config->graph))
    return 0;
  CudnnOperation op = operationOf(*config->graph);
  bool isDense =
      isPackedByChannels(op.x) && isPackedByChannels(op.w) && isPackedByChannels(op.y);
  return isDense ? 0 : kUnsupportedLayout;
}

} // namespace

extern "C" {

void mpt_standin_set_cudnn_version(int64_t version) { state.dnnVersion = version; }
void mpt_standin_refuse_convolutions(int kind) {
  state.refusedConvolutions.push_back(kind);
}

size_t cudnnGetVersion() { return state.dnnVersion; }
const char *cudnnGetErrorString(Status status) {
  switch (status) {
  case 0:
    return "CUDNN_STATUS_SUCCESS";
  case kNotInitialized:
    return "CUDNN_STATUS_NOT_INITIALIZED";
  case kBadParam:
    return "CUDNN_STATUS_BAD_PARAM";
  case kUnsupported:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case kUnsupportedLayout:
    return "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT";
  case 4000:
    return "CUDNN_STATUS_INTERNAL_ERROR";
  case 5000:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  default:
    return "CUDNN_UNKNOWN_STATUS";
  }
}
Status cudnnCreate(CudnnHandle *handle) {
  MPT_BEGIN_OUTSIDE("cudnnCreate");
  *handle = make("cuDNN handle", new HandleState);
  return 0;
}
Status cudnnDestroy(CudnnHandle handle) {
  MPT_BEGIN_OUTSIDE("cudnnDestroy");
  return destroy<HandleState>(call, handle, "cuDNN handle");
}
Status cudnnSetStream(CudnnHandle handle, Stream stream) {
  MPT_BEGIN_OUTSIDE("cudnnSetStream");
  auto *found = get<HandleState>(call, handle, "cuDNN handle");
  if (!found || !getStream(call, stream))
    return kBadParam;
  found->stream = stream;
  return 0;
}
Status cudnnBackendCreateDescriptor(CudnnKind kind, CudnnDesc *desc) {
  MPT_BEGIN_OUTSIDE("cudnnBackendCreateDescriptor");
  auto *made = new CudnnState;
  made->kind = kind;
  *desc = make("descriptor of cuDNN", made);
  return 0;
}
Status cudnnBackendDestroyDescriptor(CudnnDesc desc) {
  MPT_BEGIN_OUTSIDE("cudnnBackendDestroyDescriptor");
  return destroy<CudnnState>(call, desc, "descriptor of cuDNN");
}
Status cudnnBackendSetAttribute(CudnnDesc desc, CudnnAttribute attribute, CudnnType type,
                                int64_t count, const void *values) {
  MPT_BEGIN_OUTSIDE("cudnnBackendSetAttribute");
  CudnnState *target = getDesc(call, desc);
  if (!target)
    return kBadParam;
  std::string name = "attribute " + std::to_string(static_cast<int>(attribute));
  if (target->isFinal)
    return call.breach(name + " is set after the descriptor is finalized", kBadParam);
  auto rule = std::find_if(std::begin(rules), std::end(rules), [&](const Rule &rule) {
    return rule.kind == target->kind && rule.attribute == attribute;
  });
  if (rule == std::end(rules))
    return call.breach(name + " is none of this descriptor", kBadParam);
  if (rule->type != type)
    return call.breach(name + " has another type", kBadType);
  if (count < rule->least || count > rule->most || !values)
    return call.breach(name + " has another number of values", kBadParam);
  for (int64_t i = 0; i < count; ++i) {
    void *value = nullptr;
    if (type == T::Descriptor || type == T::Handle)
      std::memcpy(&value, static_cast<const char *>(values) + i * 8, 8);
    if (type == T::Handle && !get<HandleState>(call, value, "cuDNN handle"))
      return kBadParam;
    if (type != T::Descriptor)
      continue;
    CudnnState *named = getDesc(call, value);
    if (!named || !named->isFinal)
      return call.breach(name + " is a descriptor that is not finalized", kNotFinalized);
  }
  target->set(attribute, values, count * sizeOf(type));
  return 0;
}
Status cudnnBackendFinalize(CudnnDesc desc) {
  MPT_BEGIN_OUTSIDE("cudnnBackendFinalize");
  CudnnState *target = getDesc(call, desc);
  if (!target)
    return kBadParam;
  for (const Rule &rule : rules)
    if (rule.kind == target->kind && rule.isRequired && !target->has(rule.attribute))
      return call.breach("attribute " + std::to_string(static_cast<int>(rule.attribute)) +
                             " is missing",
                         kBadParam);
  Status status = 0;
  switch (target->kind) {
  case K::Tensor:
    status = finalizeTensor(call, *target);
    break;
  case K::ConvolutionForward:
  case K::ConvolutionBackwardData:
  case K::ConvolutionBackwardFilter:
    status = finalizeOperation(call, *target);
    if (std::find(state.refusedConvolutions.begin(), state.refusedConvolutions.end(),
                  static_cast<int>(target->kind)) != state.refusedConvolutions.end())
      status = kUnsupported;
    break;
  case K::OperationGraph:
    if (isFused(*target)) {
      if (const char *wrong = checkFused(*target))
        status = call.breach(wrong, kBadShape);
      else if (std::find(
                   state.refusedConvolutions.begin(), state.refusedConvolutions.end(),
                   static_cast<int>(target->kind)) != state.refusedConvolutions.end())
        status = kUnsupported;
    } else if (operationsOf(*target).size() != 1 && !isStoredSum(*target)) {
      status = call.breach("a convolution stands alone in its graph, or with an identity "
                           "that stores its sums in f32",
                           kBadParam);
    }
    break;
  case K::ExecutionPlan:
    status = finalizePlan(*target);
    break;
  case K::VariantPack:
    if (target->get<int64_t>(A::PackIds).size() !=
        target->get<void *>(A::PackPointers).size())
      status = call.breach("a pack has as many pointers as names", kBadParam);
    break;
  case K::Engine:
  case K::EngineConfig:
    return call.breach("heuristics make these", kBadParam);
  default:
    break;
  }
  target->isFinal = status == 0;
  return status;
}
Status cudnnBackendGetAttribute(CudnnDesc desc, CudnnAttribute attribute, CudnnType type,
                                int64_t requested, int64_t *count, void *values) {
  MPT_BEGIN_OUTSIDE("cudnnBackendGetAttribute");
  CudnnState *source = getDesc(call, desc);
  if (!source)
    return kBadParam;
  if (!source->isFinal)
    return call.breach("a descriptor that is not finalized is read", kNotFinalized);
  auto hasType = [&](CudnnType expected) { return type == expected; };
  if (source->kind == K::EngineHeuristics && attribute == A::HeuristicsResults &&
      hasType(T::Descriptor)) {
    auto *graph =
        static_cast<CudnnState *>(source->get<void *>(A::HeuristicsGraph).front());
    std::vector<int> proposals =
        proposalsOf(source->get<int>(A::HeuristicsMode).front(), *graph);
    *count = static_cast<int64_t>(proposals.size());
    for (int64_t i = 0; i < std::min(requested, *count); ++i) {
      CudnnState *config = getDesc(call, static_cast<CudnnDesc *>(values)[i]);
      if (!config || config->kind != K::EngineConfig)
        return call.breach("this is no descriptor of an engine configuration", kBadParam);
      config->engine = proposals[i];
      config->graph = graph;
      config->isFinal = true;
    }
    if (requested > 0)
      *count = std::min(requested, *count);
    return 0;
  }
  if (source->kind == K::EngineConfig && attribute == A::ConfigEngine &&
      hasType(T::Descriptor) && requested == 1) {
    CudnnState *engine = getDesc(call, *static_cast<CudnnDesc *>(values));
    if (!engine || engine->kind != K::Engine)
      return call.breach("this is no descriptor of an engine", kBadParam);
    engine->engine = source->engine;
    engine->isFinal = true;
    *count = 1;
    return 0;
  }
  if (source->kind == K::Engine && attribute == A::EngineNotes &&
      hasType(T::NumericalNote) && requested >= kNoteCount) {
    const std::vector<int> &notes = engines[source->engine].notes;
    *count = static_cast<int64_t>(notes.size());
    std::copy(notes.begin(), notes.end(), static_cast<int *>(values));
    return 0;
  }
  if (source->kind == K::EngineConfig && attribute == A::ConfigWorkspace &&
      hasType(T::Int64) && requested == 1 && state.dnnVersion >= 90200) {
    *static_cast<int64_t *>(values) = workspaceOf(source->engine, *source->graph);
    *count = 1;
    return 0;
  }
  if (source->kind == K::ExecutionPlan && attribute == A::PlanWorkspace &&
      hasType(T::Int64) && requested == 1) {
    auto *config = static_cast<CudnnState *>(source->get<void *>(A::PlanConfig).front());
    *static_cast<int64_t *>(values) = workspaceOf(config->engine, *config->graph);
    *count = 1;
    return 0;
  }
  return call.breach("attribute " + std::to_string(static_cast<int>(attribute)) +
                         " cannot be read like this",
                     kBadParam);
}
Status cudnnBackendExecute(CudnnHandle handle, CudnnDesc plan, CudnnDesc pack) {
  MPT_BEGIN("cudnnBackendExecute");
  auto *library = get<HandleState>(call, handle, "cuDNN handle");
  CudnnState *chosen = getDesc(call, plan), *given = getDesc(call, pack);
  if (!library || !chosen || !given)
    return kBadParam;
  if (chosen->kind != K::ExecutionPlan || given->kind != K::VariantPack ||
      !chosen->isFinal || !given->isFinal)
    return call.breach("not a plan and a pack that are finalized", kNotFinalized);
  auto *config = getDesc(call, chosen->get<void *>(A::PlanConfig).front());
  if (!config || !getDesc(call, config->graph))
    return kBadParam;
  std::vector<int64_t> ids = given->get<int64_t>(A::PackIds);
  std::vector<void *> pointers = given->get<void *>(A::PackPointers);
  auto bufferOf = [&](const CudnnTensorState &tensor, void *&found) -> Status {
    auto place = std::find(ids.begin(), ids.end(), tensor.id);
    if (place == ids.end())
      return call.breach("the pack lacks a tensor of the graph", kBadParam);
    found = pointers[place - ids.begin()];
    int64_t last = 0;
    for (size_t i = 0; i < tensor.dims.size(); ++i)
      last += (tensor.dims[i] - 1) * tensor.strides[i];
    if (!isOnDevice(found, (last + 1) * getSize(tensor.type)))
      return call.breach("a tensor lies outside the device's allocations", kBadPointer);
    if (reinterpret_cast<uintptr_t>(found) % tensor.alignment)
      return call.breach("a tensor is not aligned as its descriptor says", kBadPointer);
    return 0;
  };
  int64_t bytes = workspaceOf(config->engine, *config->graph);
  void *workspace = given->has(A::PackWorkspace)
                        ? given->get<void *>(A::PackWorkspace).front()
                        : nullptr;
  if (bytes > 0 && (!isOnDevice(workspace, bytes) ||
                    reinterpret_cast<uintptr_t>(workspace) % kGemmWorkspaceAlignment))
    return call.breach("the workspace is not aligned or not on the device", kBadPointer);
  const double microseconds = microsecondsOf(config->engine);
  if (isFused(*config->graph)) {
    std::map<int64_t, void *> places;
    for (size_t i = 0; i < ids.size(); ++i)
      places[ids[i]] = pointers[i];
    for (const CudnnTensorState &tensor : buffersOf(*config->graph))
      if (Status status = bufferOf(tensor, places[tensor.id]))
        return status;
    const CudnnState &graph = *config->graph;
    return submit(call, library->stream, [=, &graph]() -> Error {
      state.now += microseconds / 1000;
      runFused(graph, [&](const CudnnTensorState &tensor) {
        auto place = places.find(tensor.id);
        return place == places.end() ? nullptr : place->second;
      });
      if (bytes > 0)
        std::memset(workspace, 0xa5, std::min<int64_t>(bytes, 4096));
      return kSuccess;
    });
  }
  CudnnOperation op = operationOf(*config->graph);
  void *x = nullptr, *w = nullptr, *y = nullptr;
  for (Status status : {bufferOf(op.x, x), bufferOf(op.w, w), bufferOf(op.y, y)})
    if (status)
      return status;
  const std::vector<int> &notes = engines[config->engine].notes;
  bool cuts = std::find(notes.begin(), notes.end(), kNoteTensorCore) != notes.end();
  return submit(call, library->stream, [=]() -> Error {
    state.now += microseconds / 1000;
    convolve(op, cuts, x, w, y);
    if (bytes > 0)
      std::memset(workspace, 0xa5, std::min<int64_t>(bytes, 4096));
    return kSuccess;
  });
}

} // extern "C"
