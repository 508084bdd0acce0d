//===- KeptResults.cpp - What runs have made, in the host's memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptResults.h"
#include "mpt/Runtime/Runtime.h"

#include <algorithm>
#include <numeric>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Returns from the calling function if `expression` fails.
#define MPT_TRY(expression)                                                              \
  if (int status = (expression))                                                         \
  return status

/// What lies apart by no more is copied together.
static constexpr int64_t kGap = 256;

/// Larger results are copied between the runs: that takes no memory of the GPU.
static constexpr int64_t kMostParked = 256 << 20;

KeptResults::~KeptResults() {
  const Api &api = state->api;
  DeviceGuard guard(api);
  if (!guard.selectToRelease(state->device))
    return;
  if (stream) {
    api.cudaStreamSynchronize(stream);
    api.cudaStreamDestroy(stream);
  }
  for (Event event : {made[0], made[1], fetched[0], fetched[1]})
    if (event)
      api.cudaEventDestroy(event);
  if (pinned)
    api.cudaFreeHost(pinned);
  if (parked)
    api.cudaFree(parked);
}

KeptResults::Layout KeptResults::layOut(const std::vector<Part> &parts) {
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(parts[a].isState, parts[a].data) <
           std::make_pair(parts[b].isState, parts[b].data);
  });
  Layout layout;
  std::vector<Span> &spans = layout.spans;
  layout.places.assign(parts.size(), 0);
  for (size_t index : order) {
    const Part &part = parts[index];
    if (part.bytes == 0)
      continue;
    // No copy reaches from one block of memory into another.
    if (spans.empty() || part.isState != spans.back().isState ||
        part.data > spans.back().data + spans.back().bytes + kGap)
      spans.push_back({part.data, 0, layout.bytes, part.isState});
    Span &span = spans.back();
    span.bytes = std::max<int64_t>(span.bytes, part.data + part.bytes - span.data);
    layout.places[index] = span.at + (part.data - span.data);
    layout.bytes = (span.at + span.bytes + 255) / 256 * 256;
  }
  layout.bytes = std::max<int64_t>(layout.bytes, 256);
  return layout;
}

int64_t KeptResults::countBytes(const std::vector<Part> &parts) {
  const int64_t bytes = layOut(parts).bytes;
  return bytes <= kMostParked / 2 ? 2 * bytes : 0;
}

int KeptResults::allocate(const std::vector<Part> &parts, std::string &error) {
  Layout layout = layOut(parts);
  spans = std::move(layout.spans);
  places = std::move(layout.places);
  bytes = layout.bytes;
  const Api &api = state->api;
  if (bytes <= kMostParked / 2) {
    void *block = nullptr;
    const Error code = api.cudaMalloc(&block, 2 * bytes);
    if (code != kOutOfMemory)
      MPT_TRY(checkCode(api, code, "memory of the GPU for results", error));
    parked = code == kSuccess ? static_cast<char *>(block) : nullptr;
  }
  void *block = nullptr;
  MPT_TRY(checkCode(api, api.cudaMallocHost(&block, 2 * bytes),
                    "pinned memory for results", error));
  pinned = static_cast<char *>(block);
  MPT_TRY(checkCode(api, api.cudaStreamCreateWithFlags(&stream, kNonBlocking), "a stream",
                    error));
  for (Event *event : {&made[0], &made[1], &fetched[0], &fetched[1]})
    MPT_TRY(checkCode(api, api.cudaEventCreateWithFlags(event, kEventNoTiming),
                      "an event", error));
  return MPT_RT_OK;
}

int KeptResults::copy(std::string &error) {
  const Api &api = state->api;
  const int64_t half = copies % 2, at = half * bytes;
  auto attempt = [&](Error code) {
    return checkCode(api, code, "copying results", error);
  };
  auto move = [&](char *to, const char *from, int64_t count, int kind, Stream in) {
    return attempt(api.cudaMemcpyAsync(to, from, count, kind, in));
  };
  if (parked && copies >= 2 && !hasWaited[half])
    MPT_TRY(attempt(api.cudaStreamWaitEvent(state->stream, fetched[half], 0)));
  if (parked)
    for (const Span &span : spans)
      MPT_TRY(move(parked + at + span.at, span.data, span.bytes, DeviceToDevice,
                   state->stream));
  MPT_TRY(attempt(api.cudaEventRecord(made[half], state->stream)));
  MPT_TRY(attempt(api.cudaStreamWaitEvent(stream, made[half], 0)));
  if (parked)
    MPT_TRY(move(pinned + at, parked + at, bytes, DeviceToHost, stream));
  for (const Span &span : parked ? std::vector<Span>() : spans)
    MPT_TRY(move(pinned + at + span.at, span.data, span.bytes, DeviceToHost, stream));
  MPT_TRY(attempt(api.cudaEventRecord(fetched[half], stream)));
  if (!parked)
    MPT_TRY(attempt(api.cudaStreamWaitEvent(state->stream, fetched[half], 0)));
  hasWaited[half] = false;
  ++copies;
  return MPT_RT_OK;
}
