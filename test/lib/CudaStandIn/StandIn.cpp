//===- StandIn.cpp - cudart without a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StandInState.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <sys/mman.h>
#include <utility>

using namespace mpt::standin;

namespace {

Error allocate(Call &call, void **pointer, size_t bytes, bool isHost) {
  if (!pointer || bytes == 0)
    return call.breach("an allocation of nothing", kInvalidValue);
  if (!isHost && state.used + static_cast<int64_t>(bytes) > state.bytes)
    return kOutOfMemory;
  if (state.parts != 0) {
    void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
      return kOutOfMemory;
    state.blocks[static_cast<char *>(mapped)] = {static_cast<int64_t>(bytes), isHost,
                                                 true};
    if (!isHost)
      state.used += bytes;
    *pointer = mapped;
    return kSuccess;
  }
  // What is not initialized is seen.
  size_t rounded = (bytes + 255) / 256 * 256;
  auto *block = static_cast<char *>(std::aligned_alloc(256, rounded));
  if (!block)
    return kOutOfMemory;
  std::memset(block, 0xa5, rounded);
  state.blocks[block] = {static_cast<int64_t>(bytes), isHost};
  if (!isHost)
    state.used += bytes;
  *pointer = block;
  return kSuccess;
}

void freeBlock(void *pointer, const Block &block) {
  if (block.isMapped)
    munmap(pointer, block.bytes);
  else
    std::free(pointer);
}
Error release(Call &call, void *pointer, bool isHost) {
  auto found = state.blocks.find(static_cast<char *>(pointer));
  if (found == state.blocks.end() || found->second.isHost != isHost)
    return call.breach("this is no live allocation", kInvalidValue);
  if (!isHost)
    state.used -= found->second.bytes;
  freeBlock(pointer, found->second);
  state.blocks.erase(found);
  return kSuccess;
}

/// Writes how often each function was called when the process ends.
struct CallsReport {
  ~CallsReport() {
    const char *path = std::getenv("MPT_STANDIN_CALLS");
    std::FILE *file = path ? std::fopen(path, "w") : nullptr;
    if (!file)
      return;
    for (const auto &[name, count] : state.calls)
      std::fprintf(file, "%s %lld\n", name.c_str(), static_cast<long long>(count));
    std::fclose(file);
  }
} callsReport;

/// The emulated kernels of the loaded program that `code` is a part of; null: none.
const mpt_simt_module *findKernels(const void *code) {
  Dl_info info;
  if (!dladdr(code, &info) || !info.dli_fname)
    return nullptr;
  void *program = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (!program)
    return nullptr;
  auto *module = static_cast<const mpt_simt_module *>(dlsym(program, "mpt_simt_module"));
  dlclose(program);
  return module;
}

/// Has `target` record into `graph` from now on.
void beginCapture(StreamState &target, GraphState &graph, bool isGiven) {
  target.isSide = false;
  target.recorded.clear();
  target.joined.clear();
  target.workspaces.clear();
  target.broken = false;
  target.capturing = true;
  target.graph = &graph;
  target.isGraphGiven = isGiven;
  capturing = &target;
}

/// Adds what `stream` has recorded to its graph.
void keepRecorded(StreamState &stream) {
  if (stream.recorded.empty())
    return;
  for (std::function<Error()> &work : stream.recorded)
    stream.graph->calls.push_back(std::move(work));
  stream.recorded.clear();
  stream.graph->last = reinterpret_cast<GraphNode>(++state.numNodes);
}

/// Whether `nodes` are all that was added to `graph` last.
bool areLast(const GraphState &graph, const GraphNode *nodes, size_t count) {
  return graph.last ? count == 1 && nodes && nodes[0] == graph.last : count == 0;
}

bool isCaptured(const GraphState &graph) {
  return std::any_of(state.objects.begin(), state.objects.end(), [&](const auto &object) {
    auto *stream = static_cast<StreamState *>(object.first);
    return object.second == "stream" && stream->capturing && stream->graph == &graph;
  });
}

Error runAll(const std::vector<std::function<Error()>> &calls) {
  for (const std::function<Error()> &work : calls)
    if (Error error = state.hangs ? kSuccess : work())
      return error;
  return kSuccess;
}

/// Runs the body of a loop while its handle's value is not 0.
Error runLoop(uint64_t handle, const GraphState &body) {
  ConditionState &loop = state.handles[handle];
  for (;;) {
    if (!std::exchange(loop.isSet, false)) {
      state.breach = "a loop of a graph runs, but nothing has set its condition";
      return kLaunchFailure;
    }
    if (loop.value == 0 || state.hangs)
      return kSuccess;
    if (Error error = runAll(body.calls))
      return error;
  }
}

/// Forgets the graphs that are parts of `graph`.
void forgetBodies(const GraphState &graph) {
  for (const std::shared_ptr<GraphState> &body : graph.bodies) {
    forgetBodies(*body);
    state.objects.erase(body.get());
  }
}

/// The kernel of GraphLoops.cpp.
Error launchCondition(Call &call, void **arguments, Stream stream) {
  uint64_t values[5];
  for (int i = 0; i < 5; ++i)
    std::memcpy(&values[i], arguments[i], sizeof(values[i]));
  auto *goesOn = reinterpret_cast<const char *>(values[1]);
  auto *count = reinterpret_cast<uint64_t *>(values[2]);
  if (!state.handles.count(values[0]))
    return call.breach("this is no handle of a conditional node", kInvalidValue);
  if (!isOnDevice(goesOn, 1) || !isOnDevice(count, sizeof(*count)) || values[2] % 8 != 0)
    return call.breach("a condition or its count is not on the device", kInvalidValue);
  const bool isStep = values[4] != 0;
  return submit(call, stream, [=, handle = values[0], most = values[3]]() -> Error {
    *count = isStep ? *count + 1 : 0;
    ConditionState &loop = state.handles[handle];
    loop.isSet = true;
    loop.value = *goesOn && *count < most;
    return kSuccess;
  });
}

} // namespace

extern "C" {

void mpt_standin_reset() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (auto &[pointer, block] : state.blocks)
    freeBlock(const_cast<char *>(pointer), block);
  state = State();
  capturing = nullptr;
  currentDevice = 0;
}
void mpt_standin_set_kernels(const mpt_simt_module *module) { state.module = module; }
void mpt_standin_set_device(int count, int major, int minor, int64_t bytes) {
  state.devices.clear();
  for (int i = 0; i < count; ++i)
    state.devices.push_back(i);
  state.major = major;
  state.minor = minor;
  state.bytes = bytes;
}
void mpt_standin_fail(const char *function, int after, int code) {
  state.failing = function ? function : "";
  state.failAfter = after;
  state.failCode = code;
}
void mpt_standin_fail_algorithms(int count, int code, int withEpilogueOnly) {
  state.failsWithEpilogueOnly = withEpilogueOnly != 0;
  state.failingAlgorithms = count;
  state.algorithmCode = code;
}
void mpt_standin_set_times(double first, double second, double third, double fourth) {
  const double times[] = {first, second, third, fourth};
  for (int i = 0; i < 4; ++i)
    state.milliseconds[i] = times[i] / 1000;
}
void mpt_standin_set_engine_times(double first, double second, double third) {
  const double times[] = {first, second, third};
  std::copy(times, times + 3, state.engineMicroseconds);
}
void mpt_standin_set_launch_time(const char *kernel, double microseconds) {
  state.launchMicroseconds[kernel] = microseconds;
}
void mpt_standin_slow_epilogues(double factor) { state.epilogueFactor = factor; }
void mpt_standin_set_parts(int64_t parts) { state.parts = parts; }
void mpt_standin_fail_maps(int code) { state.mapsCode = code; }
int64_t mpt_standin_map_launches(const char *prefix) {
  int64_t launches = 0;
  for (const auto &[name, count] : state.mapLaunches)
    launches += name.rfind(prefix, 0) == 0 ? count : 0;
  return launches;
}
void mpt_standin_refuse_machine_code(int code) { state.machineCodeCode = code; }
void mpt_standin_refuse_epilogue(unsigned epilogue) { state.refused.push_back(epilogue); }
void mpt_standin_set_driver_version(int version) { state.driverVersion = version; }
const char *mpt_standin_breach() { return state.breach.c_str(); }
int64_t mpt_standin_calls(const char *function) { return state.calls[function]; }
int64_t mpt_standin_alive() {
  return static_cast<int64_t>(state.blocks.size() + state.objects.size());
}
const void *mpt_standin_image() { return state.image; }

//===----------------------------------------------------------------------===//
// cudart
//===----------------------------------------------------------------------===//

const char *cudaGetErrorString(Error code) {
  switch (code) {
  case kSuccess:
    return "no error";
  case kOutOfMemory:
    return "out of memory";
  case kInsufficientDriver:
    return "CUDA driver version is insufficient for CUDA runtime version";
  case kNoDevice:
    return "no CUDA-capable device is detected";
  case 209:
    return "no kernel image is available for execution on the device";
  case 700:
    return "an illegal memory access was encountered";
  default:
    return "unknown error";
  }
}
Error cudaRuntimeGetVersion(int *version) {
  MPT_BEGIN("cudaRuntimeGetVersion");
  *version = 13000;
  return kSuccess;
}
Error cudaDriverGetVersion(int *version) {
  MPT_BEGIN("cudaDriverGetVersion");
  *version = state.driverVersion;
  return kSuccess;
}
Error cudaGetLastError() {
  MPT_BEGIN("cudaGetLastError");
  return std::exchange(state.lastError, 0);
}
Error cudaGetDeviceCount(int *count) {
  MPT_BEGIN("cudaGetDeviceCount");
  *count = static_cast<int>(state.devices.size());
  return *count ? kSuccess : kNoDevice;
}
Error cudaGetDevice(int *device) {
  MPT_BEGIN("cudaGetDevice");
  *device = currentDevice;
  return kSuccess;
}
Error cudaSetDevice(int device) {
  MPT_BEGIN("cudaSetDevice");
  if (device < 0 || device >= static_cast<int>(state.devices.size()))
    return kNoDevice;
  currentDevice = device;
  return kSuccess;
}
Error cudaDeviceGetAttribute(int *value, int attribute, int) {
  MPT_BEGIN("cudaDeviceGetAttribute");
  // An H200's.
  const std::map<int, int> others = {{kAttributeMultiprocessors, 132},
                                     {kAttributeClock, 1980000},
                                     {kAttributeMemoryClock, 3201000},
                                     {kAttributeMemoryBus, 6144}};
  if (auto known = others.find(attribute); known != others.end()) {
    *value = known->second;
    return kSuccess;
  }
  if (attribute != kAttributeMajor && attribute != kAttributeMinor)
    return call.breach("an attribute that is not known here", kInvalidValue);
  *value = attribute == kAttributeMajor ? state.major : state.minor;
  return kSuccess;
}
Error cudaDeviceGetPCIBusId(char *id, int length, int device) {
  MPT_BEGIN("cudaDeviceGetPCIBusId");
  if (!id || length < 13 || device < 0 ||
      device >= static_cast<int>(state.devices.size()))
    return call.breach("no such GPU, or no room for its place", kInvalidValue);
  std::snprintf(id, length, "0000:%02x:00.0", state.devices[device] + 1);
  return kSuccess;
}
Error cudaMemGetInfo(size_t *unused, size_t *total) {
  MPT_BEGIN("cudaMemGetInfo");
  *unused = state.bytes - state.used;
  *total = state.bytes;
  return kSuccess;
}
Error cudaMalloc(void **pointer, size_t bytes) {
  MPT_BEGIN_OUTSIDE("cudaMalloc");
  return allocate(call, pointer, bytes, false);
}
Error cudaFree(void *pointer) {
  MPT_BEGIN_OUTSIDE("cudaFree");
  return release(call, pointer, false);
}
Error cudaMallocHost(void **pointer, size_t bytes) {
  MPT_BEGIN_OUTSIDE("cudaMallocHost");
  return allocate(call, pointer, bytes, true);
}
Error cudaFreeHost(void *pointer) {
  MPT_BEGIN_OUTSIDE("cudaFreeHost");
  return release(call, pointer, true);
}
Error cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, Stream stream) {
  MPT_BEGIN("cudaMemcpyAsync");
  auto size = static_cast<int64_t>(bytes);
  if ((kind != DeviceToHost && !isOnDevice(to, size)) ||
      (kind != HostToDevice && !isOnDevice(from, size)))
    return call.breach("a copy reaches outside the device's allocations", kInvalidValue);
  return submit(call, stream, [=] {
    std::memmove(to, from, bytes);
    return kSuccess;
  });
}
Error cudaMemsetAsync(void *to, int value, size_t bytes, Stream stream) {
  MPT_BEGIN("cudaMemsetAsync");
  if (!isOnDevice(to, static_cast<int64_t>(bytes)))
    return call.breach("a fill reaches outside the device's allocations", kInvalidValue);
  return submit(call, stream, [=] {
    constexpr size_t kPage = 4096;
    auto *begin = static_cast<char *>(to), *end = begin + bytes;
    auto *first = reinterpret_cast<char *>(
        (reinterpret_cast<uintptr_t>(begin) + kPage - 1) / kPage * kPage);
    auto *last =
        reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(end) / kPage * kPage);
    if (state.parts == 0 || value != 0 || first >= last) {
      std::memset(begin, value, bytes);
      return kSuccess;
    }
    // Whole pages are zeros again when they are next touched.
    std::memset(begin, 0, first - begin);
    madvise(first, last - first, MADV_DONTNEED);
    std::memset(last, 0, end - last);
    return kSuccess;
  });
}
Error cudaStreamCreateWithFlags(Stream *stream, unsigned) {
  MPT_BEGIN_OUTSIDE("cudaStreamCreateWithFlags");
  *stream = make("stream", new StreamState);
  static_cast<StreamState *>(*stream)->device = currentDevice;
  return kSuccess;
}
Error cudaStreamDestroy(Stream stream) {
  MPT_BEGIN_OUTSIDE("cudaStreamDestroy");
  // Events may outlive it.
  for (auto &[object, what] : state.objects)
    if (what == "event")
      if (auto *event = static_cast<EventState *>(object); event->stream == stream)
        event->stream = nullptr;
  return destroy<StreamState>(call, stream, "stream");
}
Error cudaStreamSynchronize(Stream stream) {
  MPT_BEGIN_OUTSIDE("cudaStreamSynchronize");
  // The default stream, on which nothing waits here.
  if (!stream)
    return kSuccess;
  auto *target = getStream(call, stream);
  if (!target)
    return kInvalidValue;
  if (Error error = flush(*target, target->queued))
    return error;
  return state.hangs
             ? call.breach("the host waits without end for ranks that do not come",
                           kLaunchFailure)
             : kSuccess;
}
Error cudaStreamQuery(Stream stream) {
  MPT_BEGIN_OUTSIDE("cudaStreamQuery");
  auto *target = getStream(call, stream);
  if (!target)
    return kInvalidValue;
  if (Error error = flush(*target, target->queued))
    return error;
  return call.keep(state.hangs ? kNotReady : kSuccess);
}
Error cudaStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  MPT_BEGIN("cudaStreamWaitEvent");
  auto *target = getAnyStream(call, stream);
  auto *found = get<EventState>(call, event, "event");
  if (!target || !found || !found->recorded || !found->stream || flags != 0)
    return call.breach("expected a stream of this GPU and an event that was recorded",
                       kInvalidValue);
  StreamState &from = *found->stream;
  StreamState *into = target->origin      ? target->origin
                      : target->capturing ? target
                                          : nullptr;
  if (!found->capture) {
    if (into)
      return call.breach("a captured stream waits for what is outside of the capture",
                         kIsolation);
    if (from.isSide)
      return flush(from, found->queued);
    target->isSide |= stream && target != &from;
    return kSuccess;
  }
  if (!found->capture->capturing || (into && into != found->capture))
    return call.breach("a stream waits for an event of another capture", kIsolation);
  if (!into) {
    if (Error error = flush(*target, target->queued))
      return error;
    target->origin = found->capture;
    target->isSide = true;
    found->capture->joined.push_back(target);
  }
  return from.isSide ? flush(from, found->queued) : kSuccess;
}
Error cudaStreamBeginCapture(Stream stream, int) {
  MPT_BEGIN_OUTSIDE("cudaStreamBeginCapture");
  auto *target = getStream(call, stream);
  if (!target)
    return kInvalidValue;
  // What was put off comes before.
  if (Error error = flush(*target, target->queued))
    return error;
  beginCapture(*target, *new GraphState, /*isGiven=*/false);
  return kSuccess;
}
Error cudaStreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode *after,
                                    const void *edges, size_t numAfter, int) {
  MPT_BEGIN_OUTSIDE("cudaStreamBeginCaptureToGraph");
  auto *target = getStream(call, stream);
  auto *into = get<GraphState>(call, graph, "graph");
  if (!target || !into)
    return kInvalidValue;
  if (edges || !areLast(*into, after, numAfter))
    return call.breach("what is captured does not come after the graph's last node",
                       kInvalidValue);
  if (Error error = flush(*target, target->queued))
    return error;
  beginCapture(*target, *into, /*isGiven=*/true);
  return kSuccess;
}
Error cudaStreamGetCaptureInfo(Stream stream, int *status, unsigned long long *,
                               Graph *graph, const GraphNode **last, const void **edges,
                               size_t *numLast) {
  MPT_BEGIN("cudaStreamGetCaptureInfo");
  auto *target = getStream(call, stream);
  if (!target)
    return kInvalidValue;
  *status = target->capturing ? 1 : 0;
  if (!target->capturing || edges)
    return call.breach("the stream is not being captured", kInvalidValue);
  keepRecorded(*target);
  // A graph by its handle from here on.
  if (!target->isGraphGiven)
    state.objects[target->graph] = "graph";
  *graph = target->graph;
  *last = &target->graph->last;
  *numLast = target->graph->last ? 1 : 0;
  return kSuccess;
}
Error cudaGraphConditionalHandleCreate(uint64_t *handle, Graph graph, unsigned,
                                       unsigned flags) {
  MPT_BEGIN("cudaGraphConditionalHandleCreate");
  auto *found = get<GraphState>(call, graph, "graph");
  if (!found || flags != 0)
    return kInvalidValue;
  *handle = state.handles.size() + 1;
  state.handles[*handle].graph = found;
  return kSuccess;
}
Error cudaGraphAddNode(GraphNode *node, Graph graph, const GraphNode *after,
                       const void *edges, size_t numAfter, ConditionalParams *params) {
  MPT_BEGIN_OUTSIDE("cudaGraphAddNode");
  auto *found = get<GraphState>(call, graph, "graph");
  if (!found || !params)
    return kInvalidValue;
  auto handle = state.handles.find(params->handle);
  if (params->type != 13 || params->kind != 1 || params->size != 1 ||
      handle == state.handles.end() || handle->second.graph != found ||
      std::exchange(handle->second.hasNode, true))
    return call.breach("this is no loop with a handle of this graph and of its own",
                       kInvalidValue);
  if (edges || isCaptured(*found) || !areLast(*found, after, numAfter))
    return call.breach("the node does not come after the graph's last one",
                       kInvalidValue);
  auto body = std::make_shared<GraphState>();
  body->isBody = true;
  found->bodies.push_back(body);
  found->told.push_back(std::make_shared<Graph>(make("graph", body.get())));
  params->bodies = found->told.back().get();
  found->calls.push_back(
      [body, number = params->handle] { return runLoop(number, *body); });
  *node = found->last = reinterpret_cast<GraphNode>(++state.numNodes);
  return kSuccess;
}
Error cudaStreamEndCapture(Stream stream, Graph *graph) {
  MPT_BEGIN("cudaStreamEndCapture");
  auto *target = getStream(call, stream);
  if (!target || !target->capturing)
    return call.breach("the stream is not being captured", kInvalidValue);
  target->capturing = false;
  capturing = nullptr;
  *graph = nullptr;
  keepRecorded(*target);
  GraphState *recorded = std::exchange(target->graph, nullptr);
  // Nobody else knows it.
  const bool isNew = state.objects.count(recorded) == 0;
  bool isJoined = true;
  for (StreamState *side : target->joined) {
    isJoined &= side->queue.empty();
    side->queue.clear();
    side->taken = side->queued;
    side->origin = nullptr;
  }
  if (target->broken || !isJoined) {
    if (!target->isGraphGiven) {
      forgetBodies(*recorded);
      state.objects.erase(recorded);
      delete recorded;
    }
    return target->broken
               ? kInvalidated
               : call.breach(
                     "a stream that was forked from the captured one has not joined it",
                     kUnjoined);
  }
  *graph = isNew ? make("graph", recorded) : recorded;
  return kSuccess;
}
Error cudaGraphInstantiate(GraphExec *exec, Graph graph, unsigned long long) {
  MPT_BEGIN_OUTSIDE("cudaGraphInstantiate");
  auto *source = get<GraphState>(call, graph, "graph");
  if (!source)
    return kInvalidValue;
  *exec = make("executable graph", new GraphState(*source));
  return kSuccess;
}
Error cudaGraphLaunch(GraphExec exec, Stream stream) {
  MPT_BEGIN_OUTSIDE("cudaGraphLaunch");
  auto *graph = get<GraphState>(call, exec, "executable graph");
  if (!graph)
    return kInvalidValue;
  return submit(call, stream, [calls = graph->calls] { return runAll(calls); });
}
Error cudaGraphDestroy(Graph graph) {
  MPT_BEGIN("cudaGraphDestroy");
  auto *found = get<GraphState>(call, graph, "graph");
  if (!found)
    return kInvalidValue;
  if (found->isBody || isCaptured(*found))
    return call.breach("a graph that is a part of another, or being recorded",
                       kInvalidValue);
  forgetBodies(*found);
  return destroy<GraphState>(call, graph, "graph");
}
Error cudaGraphExecDestroy(GraphExec exec) {
  MPT_BEGIN("cudaGraphExecDestroy");
  return destroy<GraphState>(call, exec, "executable graph");
}
Error cudaEventCreateWithFlags(Event *event, unsigned) {
  MPT_BEGIN_OUTSIDE("cudaEventCreateWithFlags");
  *event = make("event", new EventState);
  return kSuccess;
}
Error cudaEventDestroy(Event event) {
  MPT_BEGIN("cudaEventDestroy");
  return destroy<EventState>(call, event, "event");
}
Error cudaEventRecord(Event event, Stream stream) {
  MPT_BEGIN("cudaEventRecord");
  auto *found = get<EventState>(call, event, "event");
  auto *source = getAnyStream(call, stream);
  if (!found || !source)
    return kInvalidValue;
  StreamState *capture = source->origin      ? source->origin
                         : source->capturing ? source
                                             : nullptr;
  if (source->isSide && !capture) {
    // When what comes before is done.
    source->queue.push_back([event, count = ++state.records] {
      auto object = state.objects.find(event);
      if (object != state.objects.end() && object->second == "event")
        if (auto *reached = static_cast<EventState *>(event); reached->count == count)
          reached->at = state.now;
      return kSuccess;
    });
    ++source->queued;
  }
  *found = {true, state.now, source, source->queued, capture, state.records};
  return kSuccess;
}
Error cudaEventElapsedTime(float *milliseconds, Event from, Event to) {
  MPT_BEGIN("cudaEventElapsedTime");
  auto *first = get<EventState>(call, from, "event");
  auto *second = get<EventState>(call, to, "event");
  if (!first || !second || !first->recorded || !second->recorded)
    return call.breach("an event was not recorded", kInvalidValue);
  for (const EventState *event : {first, second})
    if (event->stream && event->stream->taken < event->queued)
      return call.breach("nobody has waited for the event", kNotReady);
  *milliseconds = static_cast<float>(second->at - first->at);
  return kSuccess;
}
Error cudaEventSynchronize(Event event) {
  MPT_BEGIN_OUTSIDE("cudaEventSynchronize");
  auto *found = get<EventState>(call, event, "event");
  if (!found || !found->recorded)
    return call.breach("the event was not recorded", kInvalidValue);
  if (Error error = found->stream ? flush(*found->stream, found->queued) : kSuccess)
    return error;
  return state.hangs
             ? call.breach("the host waits without end for ranks that do not come",
                           kLaunchFailure)
             : kSuccess;
}
Error cudaEventQuery(Event event) {
  MPT_BEGIN_OUTSIDE("cudaEventQuery");
  auto *found = get<EventState>(call, event, "event");
  if (!found || !found->recorded || found->capture)
    return call.breach("the event was not recorded", kInvalidValue);
  if (Error error = found->stream ? flush(*found->stream, found->queued) : kSuccess)
    return error;
  return call.keep(state.hangs ? kNotReady : kSuccess);
}
Error cudaLibraryLoadData(Library *library, const void *code, int *, void **, unsigned,
                          int *, void **, unsigned) {
  MPT_BEGIN_OUTSIDE("cudaLibraryLoadData");
  auto *text = static_cast<const char *>(code);
  const bool isPtx =
      std::strncmp(text, "//", 2) == 0 || std::strncmp(text, "ptx", 3) == 0;
  if (isPtx && std::strstr(text, "call.uni cudaGraphSetConditional,")) {
    *library = make("library", new LibraryState{nullptr, true});
    return kSuccess;
  }
  state.image = code;
  if (state.machineCodeCode != 0 && !isPtx)
    return call.keep(state.machineCodeCode);
  *library =
      make("library", new LibraryState{state.module ? state.module : findKernels(code)});
  return kSuccess;
}
Error cudaLibraryUnload(Library library) {
  MPT_BEGIN_OUTSIDE("cudaLibraryUnload");
  // Its kernels go with it.
  for (auto object = state.objects.begin(); object != state.objects.end();) {
    auto *kernel = static_cast<KernelState *>(object->first);
    if (object->second == "kernel" && kernel->library == library) {
      delete kernel;
      object = state.objects.erase(object);
    } else {
      ++object;
    }
  }
  return destroy<LibraryState>(call, library, "library");
}
Error cudaLibraryGetKernel(Kernel *kernel, Library library, const char *name) {
  MPT_BEGIN_OUTSIDE("cudaLibraryGetKernel");
  auto *found = get<LibraryState>(call, library, "library");
  if (!found)
    return kInvalidValue;
  const mpt_simt_module *module = found->module;
  if (found->setsConditions && std::strcmp(name, "mpt_goes_on") == 0) {
    *kernel = make("kernel", new KernelState{nullptr, nullptr, library});
    return kSuccess;
  }
  for (int64_t i = 0; module && i < module->num_kernels; ++i)
    if (std::strcmp(module->kernels[i].name, name) == 0) {
      *kernel = make("kernel", new KernelState{&module->kernels[i], module, library});
      return kSuccess;
    }
  return 500; // cudaErrorSymbolNotFound
}
Error cudaFuncSetAttribute(const void *kernel, int attribute, int value) {
  MPT_BEGIN_OUTSIDE("cudaFuncSetAttribute");
  auto *found = get<KernelState>(call, const_cast<void *>(kernel), "kernel");
  // Of an sm_90 227 KiB for a block.
  if (!found || attribute != 8 || value < 0 || value > 227 << 10)
    return call.breach("an attribute that the device does not allow", kInvalidValue);
  found->mostShared = static_cast<size_t>(value);
  return kSuccess;
}
Error cudaLaunchKernel(const void *kernel, Dim3 grid, Dim3 block, void **arguments,
                       size_t shared, Stream stream) {
  MPT_BEGIN("cudaLaunchKernel");
  auto *found = get<KernelState>(call, const_cast<void *>(kernel), "kernel");
  if (!found)
    return kInvalidValue;
  if (!found->kernel)
    return launchCondition(call, arguments, stream);
  if (grid.z != 1 || block.y != 1 || block.z != 1 || shared > found->mostShared ||
      block.x > 1024 || block.x == 0 || grid.x == 0 || grid.x > 0x7fffffff ||
      grid.y == 0 || grid.y > 0xffff)
    return call.breach("a launch that the device does not allow", kInvalidValue);
  if (found->kernel->maps > 0)
    ++state.mapLaunches[found->kernel->name];
  if (found->kernel->maps > 0 && state.mapsCode != 0) {
    state.hangs = state.mapsCode == kNotReady;
    return state.hangs ? kSuccess : call.keep(state.mapsCode);
  }
  // Parameters are copied when a kernel is launched or captured.
  std::vector<void *> values;
  struct alignas(64) Map {
    char bytes[128];
  };
  std::vector<Map> maps(found->kernel->maps);
  for (int64_t i = 0; i < found->kernel->parameters; ++i) {
    if (i < found->kernel->maps) {
      std::memcpy(maps[i].bytes, arguments[i], sizeof(Map));
      continue;
    }
    void *value;
    std::memcpy(&value, arguments[i], sizeof(value));
    const bool isNumber = i >= found->kernel->parameters - found->kernel->numbers;
    if (isNumber) {
      values.push_back(value);
      continue;
    }
    if (!isOnDevice(value, 1) || reinterpret_cast<uintptr_t>(value) % 16)
      return call.breach("parameter " + std::to_string(i) + " of " + found->kernel->name +
                             " is no aligned address of the device",
                         kInvalidValue);
    values.push_back(value);
  }
  const auto time = state.launchMicroseconds.find(found->kernel->name);
  const double microseconds = time == state.launchMicroseconds.end() ? 0 : time->second;
  return submit(call, stream, [=]() -> Error {
    state.now += microseconds / 1000;
    std::vector<void *> slots = values, pointers;
    std::vector<Map> places = maps;
    for (Map &place : places)
      pointers.push_back(place.bytes);
    for (void *&slot : slots)
      pointers.push_back(&slot);
    std::string error;
    if (runEmulated(*found->module, *found->kernel, grid.x, grid.y, block.x,
                    pointers.data(), error, state.parts, static_cast<int64_t>(shared)))
      return kSuccess;
    if (state.breach.empty())
      state.breach = error;
    return 719; // cudaErrorLaunchFailure
  });
}

} // extern "C"
