//===- CudnnGraph.h - Plans as cuDNN's graphs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// cuDNN proposes engine configurations for a graph of operations; the first that MPT can
/// use and that becomes a plan is the one, unless another is faster (CudnnTuning.cpp).
/// All of it is made before anything is recorded; a run is one call, or one for each part
/// of attention.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_CUDNNGRAPH_H
#define MPT_LIB_RUNTIME_CUDA_CUDNNGRAPH_H

#include "CudnnApi.h"
#include "mpt/ProgramABI/CudnnPlan.h"

#include <initializer_list>
#include <memory>

namespace mpt::rt::cuda {

/// The library's handle, on a stream; or a device that need not be there, for which
/// plans are made but cannot run.
struct CudnnContext {
  CudnnApi api;
  CudnnHandle handle = nullptr;
  CudnnDesc device = nullptr;

  CudnnContext() = default;
  ~CudnnContext();
  CudnnContext(const CudnnContext &) = delete;
  CudnnContext &operator=(const CudnnContext &) = delete;
  /// cuDNN's status; `what` says of what.
  Status create(Stream stream, const char *&what);
  /// Instead of that: the device's properties, as cuDNN 9.8 and newer write them.
  Status describe(const std::string &json, const char *&what);
};

/// Descriptors that go together, the last one first.
class CudnnDescriptors {
public:
  explicit CudnnDescriptors(const CudnnApi &api) : api(&api) {}
  ~CudnnDescriptors();
  CudnnDescriptors(CudnnDescriptors &&other);
  CudnnDescriptors &operator=(CudnnDescriptors &&) = delete;

  Status create(CudnnKind kind, CudnnDesc &made);

  const CudnnApi *api;

private:
  std::vector<CudnnDesc> all;
};

/// Sets attributes of one descriptor; keeps the first failure.
class CudnnSetter {
public:
  CudnnSetter(const CudnnApi &api, CudnnDesc desc) : api(api), desc(desc) {}

  CudnnSetter &set(CudnnAttribute attribute, CudnnType type, int64_t count,
                   const void *values) {
    if (!status)
      status = api.cudnnBackendSetAttribute(desc, attribute, type, count, values);
    return *this;
  }
  CudnnSetter &descriptor(CudnnAttribute attribute, CudnnDesc value) {
    return set(attribute, CudnnType::Descriptor, 1, &value);
  }
  CudnnSetter &number(CudnnAttribute attribute, int64_t value) {
    return set(attribute, CudnnType::Int64, 1, &value);
  }
  template <size_t n>
  CudnnSetter &numbers(CudnnAttribute attribute, const int64_t (&values)[n]) {
    return set(attribute, CudnnType::Int64, n, values);
  }
  CudnnSetter &code(CudnnAttribute attribute, CudnnType type, int value) {
    return set(attribute, type, 1, &value);
  }
  CudnnSetter &flag(CudnnAttribute attribute, bool value) {
    return set(attribute, CudnnType::Boolean, 1, &value);
  }
  /// The handle, or the device that stands for one.
  CudnnSetter &place(const CudnnContext &context, CudnnAttribute ofHandle,
                     CudnnAttribute ofDevice) {
    return context.device ? descriptor(ofDevice, context.device)
                          : set(ofHandle, CudnnType::Handle, 1, &context.handle);
  }
  CudnnSetter &real(CudnnAttribute attribute, float value) {
    return set(attribute, CudnnType::Float, 1, &value);
  }
  Status finalize() { return status ? status : api.cudnnBackendFinalize(desc); }

private:
  const CudnnApi &api;
  CudnnDesc desc;
  Status status = 0;
};

/// Whether a status of cuDNN says that it will not do something, rather than that
/// something has failed.
bool isCudnnRefusal(Status status);

/// Where the elements of a tensor of a graph are.
enum class CudnnPlace {
  /// In a buffer of the call.
  Buffer,
  /// In a number of the host's, f32.
  Number,
  /// Only inside cuDNN's kernel.
  Nowhere,
};

/// What is run for all calls of one plan.
class CudnnGraph {
public:
  explicit CudnnGraph(const CudnnContext &context)
      : context(context), descriptors(context.api), configs(context.api) {}
  CudnnGraph(const CudnnGraph &) = delete;
  CudnnGraph &operator=(const CudnnGraph &) = delete;

  /// Returns cuDNN's status if it fails; `what` says of what. If cuDNN refuses, the
  /// status is 0 and `refusal` says why.
  Status create(const CudnnPlan &plan, const char *&what);
  Status create(const CudnnAttentionPlan &plan, const char *&what,
                int64_t scoreBytes = kAttentionScoreBytes);
  bool hasPlan() const { return executionPlan != nullptr; }
  /// Whether cuDNN compiles its plans, each for about as long as a step or longer. Those
  /// of a convolution alone are there.
  bool isCompiled() const { return operations.size() > 1; }
  /// How many configurations may be used, in cuDNN's order.
  int countProposals() const { return static_cast<int>(proposals.size()); }
  /// Makes the plan of the configuration `proposal`, which then runs. False, and the plan
  /// is as before, if it does not become one. cuDNN's status as above.
  Status take(int proposal, bool &isTaken, const char *&what);

  std::string refusal;
  CudnnDesc executionPlan = nullptr;
  /// The configuration that runs.
  int taken = 0;
  /// The most that any of the configurations needs.
  int64_t workspaceBytes = 0;
  /// For each part, the bytes from the tensors of the first part to its own, in the order
  /// of `buffers`.
  std::vector<std::vector<int64_t>> offsets;
  /// Of the tensors in memory: their names in the graph, and which buffer of the call
  /// each is, or -1 - i for `numbers[i]`.
  std::vector<int64_t> ids;
  std::vector<int> buffers;
  float numbers[3] = {};

private:
  /// A tensor: of a buffer or number, its place in `buffers`.
  CudnnDesc addTensor(const CudnnTensor &tensor, CudnnPlace place, int buffer = 0);
  CudnnDesc makeDescriptor(CudnnKind kind);
  void finish(CudnnSetter &setter, const char *name);
  /// An attribute that is a descriptor, or a number of one of cuDNN's enumerations or an
  /// integer.
  struct Field {
    CudnnAttribute attribute;
    CudnnType type;
    union {
      CudnnDesc desc;
      int64_t number;
    };
    Field(CudnnAttribute attribute, CudnnDesc desc)
        : attribute(attribute), type(CudnnType::Descriptor), desc(desc) {}
    Field(CudnnAttribute attribute, CudnnType type, int64_t number)
        : attribute(attribute), type(type), number(number) {}
  };
  CudnnDesc add(CudnnKind kind, std::initializer_list<Field> fields);
  void makeConvolution(const CudnnPlan &plan);
  void makeAttention(const CudnnAttentionPlan &plan);
  /// y = mode(x, b), where t chooses between these in a selection, and `axis` is that of
  /// an index.
  void addPointwise(int mode, CudnnDesc x, CudnnDesc b, CudnnDesc y,
                    CudnnDesc t = nullptr, int64_t axis = 0);
  void addMatmul(CudnnDesc a, CudnnDesc b, CudnnDesc c);
  void addReduction(int op, CudnnDesc x, CudnnDesc y);
  /// The same elements in memory, named otherwise.
  void addReshape(CudnnDesc x, CudnnDesc y);
  /// Makes a graph of `operations`, and a plan for it that needs at most `mostWorkspace`.
  Status makeGraph(bool isExact, int64_t mostWorkspace, const char *&what);

  Status propose(int mode, bool isExact, const char *&what);
  /// Keeps `config` if it may be used.
  Status consider(CudnnDesc config, bool isExact, const char *&what);

  const CudnnContext &context;
  CudnnDescriptors descriptors;
  CudnnDesc graph = nullptr;
  /// While the graph is built: the first failure, and of what.
  Status status = 0;
  const char *failed = nullptr;
  int64_t nextId = 1;
  std::vector<CudnnDesc> operations;
  int64_t mostBytes = 0;
  /// What proposals are made from; and what the plan is.
  CudnnDescriptors configs;
  struct Proposal {
    CudnnDesc config;
    int64_t bytes;
  };
  std::vector<Proposal> proposals;
  std::unique_ptr<CudnnDescriptors> plan;
  /// Configurations that were proposed, and why they were not taken; what the smallest of
  /// those that are too large needs.
  int proposed = 0, inexact = 0, tooLarge = 0, unfinished = 0;
  int64_t leastBytes = 0;
  Status lastStatus = 0;
};

/// The buffers of one call.
class CudnnVariantPack {
public:
  explicit CudnnVariantPack(const CudnnApi &api) : descriptors(api) {}

  /// `buffers`: those of the call.
  Status create(const CudnnGraph &graph, const std::vector<void *> &buffers,
                void *workspace, const char *&what);
  Status run(const CudnnContext &context, const CudnnGraph &graph) const;

private:
  CudnnDescriptors descriptors;
  /// One for each part.
  std::vector<CudnnDesc> packs;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_CUDNNGRAPH_H
