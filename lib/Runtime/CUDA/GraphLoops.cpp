//===- GraphLoops.cpp - Loops in CUDA graphs --------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphLoops.h"

#include <utility>

using namespace mpt::rt::cuda;

/// Returns from the calling function if `expression` fails.
#define MPT_TRY(expression)                                                              \
  if (Error code = (expression))                                                         \
  return code

/// The first driver with conditional nodes.
static constexpr int kFirstDriver = 12040;

/// cudaGraphSetConditional(handle, *value && count < most), where `count` is what it was
/// and 1 more if `step`, else 0. The driver knows the function.
static const char *const kKernel = R"(// MPT
.version 7.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 h,.param .b32 v);
.visible .entry mpt_goes_on(.param .b64 handle,.param .b64 value,.param .b64 count,.param .b64 most,.param .b64 step){
.reg .pred p,q;
.reg .b32 v;
.reg .b64 h,a,c,n,m;
ld.param.b64 h,[handle];
ld.param.b64 a,[value];
ld.param.b64 c,[count];
ld.param.b64 m,[step];
ld.global.u8 v,[a];
ld.global.u64 n,[c];
add.u64 n,n,1;
setp.ne.u64 p,m,0;
selp.b64 n,n,0,p;
st.global.u64 [c],n;
ld.param.b64 m,[most];
setp.ne.u32 p,v,0;
setp.lt.u64 q,n,m;
and.pred p,p,q;
selp.b32 v,1,0,p;
{
.param .b64 x;
.param .b32 y;
st.param.b64 [x],h;
st.param.b32 [y],v;
call.uni cudaGraphSetConditional,(x,y);
}
ret;
}
)";

GraphLoops::~GraphLoops() {
  if (library)
    api.cudaLibraryUnload(library);
}

bool GraphLoops::load(std::string &why) {
  int driver = 0;
  if (api.cudaDriverGetVersion(&driver) || driver < kFirstDriver) {
    why = "the driver is older than CUDA 12.4";
    return false;
  }
  Error code = api.cudaLibraryLoadData(&library, kKernel, nullptr, nullptr, 0, nullptr,
                                       nullptr, 0);
  if (!code)
    code = api.cudaLibraryGetKernel(&kernel, library, "mpt_goes_on");
  if (!code)
    return true;
  (void)api.cudaGetLastError();
  why = api.cudaGetErrorString(code);
  return false;
}

Error GraphLoops::launch(Stream stream, Open &open) {
  void *arguments[5];
  for (int i = 0; i < 5; ++i)
    arguments[i] = &open.arguments[i];
  return api.cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream);
}

Error GraphLoops::pause(Stream stream) {
  Graph recorded = nullptr;
  isPaused = true;
  Error code = api.cudaStreamEndCapture(stream, &recorded);
  // Bodies are part of it.
  if (!whole)
    whole = recorded;
  return code;
}

Error GraphLoops::resume(Stream stream, Graph into, const GraphNode *after) {
  MPT_TRY(api.cudaStreamBeginCaptureToGraph(stream, into, after, nullptr, after ? 1 : 0,
                                            kCaptureThreadLocal));
  isPaused = false;
  return kSuccess;
}

Error GraphLoops::begin(Stream stream, const char *value, char *count, int64_t most,
                        Open &open) {
  int status = 0;
  const GraphNode *last = nullptr;
  size_t numLast = 0;
  auto look = [&] {
    return api.cudaStreamGetCaptureInfo(stream, &status, nullptr, &open.around, &last,
                                        nullptr, &numLast);
  };
  MPT_TRY(look());
  ConditionalParams loop;
  MPT_TRY(api.cudaGraphConditionalHandleCreate(&loop.handle, open.around, 0, 0));
  open.arguments[0] = loop.handle;
  open.arguments[1] = reinterpret_cast<uintptr_t>(value);
  open.arguments[2] = reinterpret_cast<uintptr_t>(count);
  open.arguments[3] = static_cast<uint64_t>(most);
  MPT_TRY(launch(stream, open));
  // That is what the node comes after.
  MPT_TRY(look());
  const std::vector<GraphNode> before(last, last + numLast);
  MPT_TRY(pause(stream));
  MPT_TRY(api.cudaGraphAddNode(&open.node, open.around, before.data(), nullptr,
                               before.size(), &loop));
  return resume(stream, loop.bodies[0], nullptr);
}

Error GraphLoops::end(Stream stream, Open &open) {
  open.arguments[4] = 1;
  MPT_TRY(launch(stream, open));
  MPT_TRY(pause(stream));
  return resume(stream, open.around, &open.node);
}

Error GraphLoops::endCapture(Stream stream, Graph &recorded) {
  Error code = std::exchange(isPaused, false)
                   ? kSuccess
                   : api.cudaStreamEndCapture(stream, &recorded);
  if (Graph all = std::exchange(whole, nullptr))
    recorded = all;
  return code;
}
