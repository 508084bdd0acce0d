//===- StandInState.h - What both halves of the stand-in know -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_LIB_CUDASTANDINSTATE_H
#define MPT_TEST_LIB_CUDASTANDINSTATE_H

#include "../../../lib/Runtime/CUDA/CudaApi.h"
#include "StandIn.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mpt::standin {

using namespace mpt::rt;
using namespace mpt::rt::cuda;

inline constexpr Error kLaunchFailure = 719, kNotPermitted = 800, kInvalidated = 901,
                       kUnjoined = 904, kIsolation = 905;
inline constexpr Status kNotSupported = 15, kCublasLtInvalid = 7;

struct Block {
  int64_t bytes = 0;
  bool isHost = false, isMapped = false;
};
struct GraphState;
struct StreamState {
  /// The GPU that was this thread's when the stream was made.
  int device = 0;
  bool capturing = false, broken = false;
  std::vector<std::function<Error()>> recorded;
  /// What it is captured into, and whether that was there before.
  GraphState *graph = nullptr;
  bool isGraphGiven = false;
  /// A stream that waited for an event of another is a side stream: its work is put off
  /// until something waits for it, so that a wait that is missing shows in the values.
  /// While it is captured, `origin` is the stream whose capture it has joined.
  bool isSide = false;
  StreamState *origin = nullptr;
  std::deque<std::function<Error()>> queue;
  /// How many were ever put there, and taken.
  uint64_t queued = 0, taken = 0;
  /// Of the stream that a capture began with: those that have joined it, and the
  /// workspaces of matmuls by who uses them. Branches of a graph run at once.
  std::vector<StreamState *> joined;
  std::map<const void *, Stream> workspaces;
};
struct GraphState {
  std::vector<std::function<Error()>> calls;
  /// The node that all others come before; null: there is none yet.
  GraphNode last = nullptr;
  /// Those of its loops, which it owns, and where CUDA tells of each.
  std::vector<std::shared_ptr<GraphState>> bodies;
  std::vector<std::shared_ptr<Graph>> told;
  bool isBody = false;
};
/// Of a node that is a loop. Kernels set its value.
struct ConditionState {
  const GraphState *graph = nullptr;
  bool hasNode = false, isSet = false;
  unsigned value = 0;
};
struct LibraryState {
  const mpt_simt_module *module;
  /// PTX that calls cudaGraphSetConditional: the kernel of GraphLoops.cpp.
  bool setsConditions = false;
};
struct KernelState {
  /// Null: it sets a condition.
  const mpt_simt_kernel *kernel;
  const mpt_simt_module *module;
  void *library;
  /// Dynamic shared memory that it was allowed.
  size_t mostShared = 48 << 10;
};
struct DescState {
  int compute = 0, scale = 0;
  int32_t transA = 0, transB = 0, biasType = -1;
  uint32_t epilogue = 1;
  const void *bias = nullptr;
  void *aux = nullptr;
  int64_t auxLd = 0;
  const void *scalesA = nullptr, *scalesB = nullptr;
  int32_t scaleModeA = 0, scaleModeB = 0;
  int8_t fastAccumulation = 0;
};
/// When it was recorded, in the stand-in's own milliseconds.
struct EventState {
  bool recorded = false;
  double at = 0;
  StreamState *stream = nullptr;
  /// What was queued in the stream before; the capture in which it was recorded.
  uint64_t queued = 0;
  StreamState *capture = nullptr;
  /// Which of all records was its last.
  uint64_t count = 0;
};
struct LayoutState {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0, stride = 0;
  int32_t batch = 1;
};
struct PreferenceState {
  uint64_t workspace = 0;
  uint32_t reductions = 7;
  /// Of A, B, C and D.
  uint32_t alignments[4] = {256, 256, 256, 256};
};

/// The machine's GPUs that this process sees, by their numbers in the machine. Programs
/// of several processes have a GPU for each; CUDA_VISIBLE_DEVICES chooses among them.
inline std::vector<int> getDevices() {
  const char *text = std::getenv("MPT_STANDIN_DEVICES");
  const int count = text ? std::atoi(text) : 1;
  std::vector<int> devices;
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible)
    for (int i = 0; i < count; ++i)
      devices.push_back(i);
  for (char *end = nullptr; visible; visible = *end == ',' ? end + 1 : nullptr) {
    const long device = std::strtol(visible, &end, 10);
    // What comes after one that there is not is not seen either.
    if (end == visible || device < 0 || device >= count)
      break;
    devices.push_back(static_cast<int>(device));
  }
  return devices;
}

/// What they are: sm_90, or what MPT_STANDIN_CHIP says.
inline int getArchitecture() {
  const char *text = std::getenv("MPT_STANDIN_CHIP");
  return text && std::strncmp(text, "sm_", 3) == 0 ? std::atoi(text + 3) : 90;
}

/// The memory of each: 1 GiB, or what MPT_STANDIN_BYTES says.
inline int64_t getMemory() {
  const char *text = std::getenv("MPT_STANDIN_BYTES");
  return text ? std::atoll(text) : int64_t(1) << 30;
}

struct State {
  std::vector<int> devices = getDevices();
  int major = getArchitecture() / 10, minor = getArchitecture() % 10;
  int64_t bytes = getMemory(), used = 0;
  const mpt_simt_module *module = nullptr;
  const void *image = nullptr;
  std::string breach, failing;
  int failAfter = 0, failCode = 0;
  std::map<std::string, int64_t> calls;
  std::map<const char *, Block> blocks;
  /// Everything that has to be destroyed, by address.
  std::map<void *, std::string> objects;
  /// A clock that only matmuls, cuDNN and some kernels move, by what they are said to
  /// take.
  double now = 0;
  /// How often events were recorded in streams whose work is put off.
  uint64_t records = 0;
  /// What each algorithm that is proposed takes.
  double milliseconds[4] = {0.03, 0.02, 0.01, 0.04};
  /// Of cuDNN's engines, and of kernels by name.
  double engineMicroseconds[3] = {50, 20, 35};
  std::map<std::string, double> launchMicroseconds;
  /// Of matmuls with other epilogues than a bias, times these.
  double epilogueFactor = 1;
  /// Epilogues that cuBLASLt is to refuse.
  std::vector<uint32_t> refused;
  /// Of how many algorithms, and how, running fails; how loading of machine code does.
  int failingAlgorithms = 0, algorithmCode = 0, machineCodeCode = 0;
  bool failsWithEpilogueOnly = false;
  /// Operations that cuDNN is to refuse, and what it says it is.
  std::vector<int> refusedConvolutions;
  int64_t blasVersion = 130101, dnnVersion = 91900;
  /// Of conditional nodes, by handle; handles are numbers from 1.
  std::map<uint64_t, ConditionState> handles;
  /// Of nodes, which are numbers, too.
  uintptr_t numNodes = 0;
  int driverVersion = 13000;
  /// What launches with tensor maps return.
  int mapsCode = 0;
  /// How many there were, by kernel.
  std::map<std::string, int64_t> mapLaunches;
  /// What cudaGetLastError returns.
  int lastError = 0;
  /// An exchange between ranks does not end: neither does what comes after it.
  bool hangs = false;
  /// See mpt_standin_set_parts.
  int64_t parts = 0;
};

inline std::recursive_mutex mutex;
inline State state;
/// What this thread captures: cudaStreamCaptureModeThreadLocal forbids calls to the
/// thread that captures alone.
inline thread_local StreamState *capturing = nullptr;
/// This thread's GPU.
inline thread_local int currentDevice = 0;

/// One call of the library: counts it, and fails it if it should fail.
struct Call {
  explicit Call(const char *name) : lock(mutex), name(name) {
    int64_t count = ++state.calls[name];
    if (state.failing == name && count >= state.failAfter)
      forced = keep(state.failCode);
  }
  /// For cudaGetLastError.
  int keep(int code) const {
    if (std::strncmp(name, "cuda", 4) == 0 && code)
      state.lastError = code;
    return code;
  }
  int breach(const std::string &why, int code) {
    if (state.breach.empty())
      state.breach = std::string(name) + ": " + why;
    return keep(code);
  }
  std::lock_guard<std::recursive_mutex> lock;
  const char *name;
  int forced = 0;
};

#define MPT_BEGIN(name)                                                                  \
  Call call(name);                                                                       \
  if (call.forced)                                                                       \
  return call.forced
/// For calls that a capture forbids.
#define MPT_BEGIN_OUTSIDE(name)                                                          \
  MPT_BEGIN(name);                                                                       \
  if (capturing) {                                                                       \
    capturing->broken = true;                                                            \
    return call.breach("not allowed while a stream is captured", kNotPermitted);         \
  }

template <typename T>
void *make(const char *what, T *object) {
  state.objects[object] = what;
  return object;
}

template <typename T>
T *get(Call &call, void *object, const char *what) {
  auto found = state.objects.find(object);
  if (found != state.objects.end() && found->second == what)
    return static_cast<T *>(object);
  call.breach(std::string("this is no live ") + what, 0);
  return nullptr;
}

template <typename T>
int destroy(Call &call, void *object, const char *what) {
  T *found = get<T>(call, object, what);
  if (!found)
    return kInvalidValue;
  state.objects.erase(object);
  delete found;
  return 0;
}

/// Whether [pointer, + bytes) is inside one block of the device.
inline bool isOnDevice(const void *pointer, int64_t bytes) {
  auto *at = static_cast<const char *>(pointer);
  auto next = state.blocks.upper_bound(at);
  if (next == state.blocks.begin())
    return false;
  auto &[start, block] = *std::prev(next);
  return !block.isHost && at - start + bytes <= block.bytes;
}

/// A stream of this thread's GPU: none of another may be used.
inline StreamState *getStream(Call &call, Stream stream) {
  auto *found = get<StreamState>(call, stream, "stream");
  if (!found || found->device == currentDevice)
    return found;
  call.breach("a stream of GPU " + std::to_string(found->device) + " while GPU " +
                  std::to_string(currentDevice) + " is this thread's",
              0);
  return nullptr;
}

/// The same, or the default stream, in which nothing is ever under way here. Only events
/// are for it.
inline StreamState *getAnyStream(Call &call, Stream stream) {
  static StreamState defaultStream;
  return stream ? getStream(call, stream) : &defaultStream;
}

/// Does what is queued in `stream`, or records it into the capture, up to `queued`.
inline Error flush(StreamState &stream, uint64_t queued) {
  for (; !stream.queue.empty() && stream.taken < queued; ++stream.taken) {
    std::function<Error()> work = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (stream.origin)
      stream.origin->recorded.push_back(std::move(work));
    else if (Error error = state.hangs ? kSuccess : work())
      return error;
  }
  return kSuccess;
}

/// Runs `work` now, or when the graph runs that `stream` is captured into.
inline Error submit(Call &call, Stream stream, std::function<Error()> work) {
  auto *target = getStream(call, stream);
  if (!target)
    return kInvalidValue;
  if (target->isSide) {
    target->queue.push_back(std::move(work));
    ++target->queued;
    return kSuccess;
  }
  if (!target->capturing)
    return state.hangs ? kSuccess : work();
  target->recorded.push_back(std::move(work));
  return kSuccess;
}

} // namespace mpt::standin

#endif // MPT_TEST_LIB_CUDASTANDINSTATE_H
