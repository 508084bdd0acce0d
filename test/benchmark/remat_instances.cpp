//===- remat_instances.cpp - Plans for public graphs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prints, for each network and budget, cost over the cost without
/// rematerialization, the lower bound, the gap and the processor time, every plan
/// replayed by the tests' simulator; the largest batches; and how planning grows.
///
///     RematBenchmark [ratios|batch|scale|optimal]... [only=NAME] [seed=N] [effort=N]
///
//===----------------------------------------------------------------------===//

#include "../unittests/Memory/RematInstances.h"
#include "mpt/Memory/Planning/RematPlan.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/resource.h>

using namespace mpt;
using namespace mpt::test;

namespace {

double now() { return double(std::clock()) / CLOCKS_PER_SEC; }

/// Only networks with this in their name.
const char *only = "";

void report(const char *name, const RematGraph &graph, const RematBudget &budget,
            const RematOptions &options) {
  if (!std::strstr(name, only))
    return;
  double start = now();
  RematResult result = planRemat(graph, budget, options);
  double seconds = now() - start;
  int64_t cost = 0, peak = simulate(graph, result.plan.order, cost);
  const char *status = result.status == RematResult::Met          ? "met"
                       : result.status == RematResult::Infeasible ? "infeasible"
                                                                  : "not found";
  if (peak > result.plan.peak || cost != result.plan.cost)
    status = "WRONG";
  std::printf(
      "%-10s %6zu ops  %.5fx  cost %.5f  bound %.5f  gap %6.3f %%  %s%s  %.2f s\n", name,
      graph.nodes.size(), double(result.budget) / result.plainPeak, result.getOverhead(),
      result.getBound(), result.getGap(), status, result.isOptimal ? " (optimal)" : "",
      seconds);
  std::fflush(stdout);
}

/// Without what is fixed, which ratios do not count.
RematGraph alone(RematGraph graph) {
  graph.fixedBytes = 0;
  return graph;
}

RematBudget ratio(double r) { return {RematBudget::Ratio, 0, r}; }

/// The largest batch within 16e9 bytes at no more than one extra forward pass.
void reportBatch(const char *name, const LayerNet &net, const RematOptions &options) {
  if (!std::strstr(name, only))
    return;
  constexpr int64_t memory = 16'000'000'000;
  int64_t most = 1;
  while (getLeastBudget(net.build(most + 1)).bytes <= memory)
    ++most;
  RematGraph one = net.build(1);
  double limit = 1 + 1.0 / 3;
  double start = now();
  for (int64_t batch = most;; --batch) {
    RematResult result =
        planRemat(net.build(batch), {RematBudget::Bytes, memory}, options);
    if (result.status != RematResult::Met || result.getOverhead() > limit)
      continue;
    int64_t cost = 0, peak = simulate(net.build(batch), result.plan.order, cost);
    std::printf("%-10s batch %ld (proved maximum %ld)  cost %.4f  peak %ld  %.2f s\n",
                name, long(batch), long(most), result.getOverhead(), long(peak),
                now() - start);
    return;
  }
}

} // namespace

int main(int argc, char **argv) {
  RematOptions options;
  auto has = [&](const char *name) {
    for (int i = 1; i < argc; ++i)
      if (!std::strcmp(argv[i], name))
        return true;
    return false;
  };
  for (int i = 1; i < argc; ++i) {
    if (!std::strncmp(argv[i], "seed=", 5))
      options.seed = std::atoll(argv[i] + 5);
    if (!std::strncmp(argv[i], "effort=", 7))
      options.effort = std::atoll(argv[i] + 7);
    if (!std::strncmp(argv[i], "only=", 5))
      only = argv[i] + 5;
  }
  LayerNet vgg16 = makeVGG(false), vgg19 = makeVGG(true), unet = makeUNet(),
           mobile = makeMobileNet(), resnet = makeResNet50();
  if (has("optimal"))
    options.strategy = RematStrategy::Optimal;
  if (has("ratios") || has("optimal")) {
    for (double r : {0.9, 0.87, 0.85, 0.832})
      report("VGG16", alone(vgg16.build(256)), ratio(r), options);
    for (double r : {0.9, 0.85, 0.8, 0.771})
      report("VGG19", alone(vgg19.build(256)), ratio(r), options);
    for (double r : {0.7, 0.5, 0.4})
      report("U-Net", alone(unet.build(32)), ratio(r), options);
  }
  if (has("ratios")) {
    for (double r : {0.5, 0.3, 0.2132, 0.19125})
      report("MobileNet", alone(mobile.build(512)), ratio(r), options);
    for (double r : {0.5, 0.3, 0.2})
      report("ResNet50", alone(resnet.build(256)), ratio(r), options);
    for (double r : {0.7, 0.5, 0.3})
      report("GPT", makeGPT(24), ratio(r), options);
    for (double r : {0.7, 0.5, 0.3})
      report("GPT, mask", makeGPT(24, /*addsMask=*/true), ratio(r), options);
  }
  if (has("batch")) {
    reportBatch("VGG19", vgg19, options);
    reportBatch("U-Net", unet, options);
    reportBatch("MobileNet", mobile, options);
  }
  if (has("scale"))
    for (uint32_t layers : {24, 256, 1024, 2564}) {
      RematGraph graph = makeGPT(layers);
      for (double r : {0.7, 0.3})
        report("GPT", graph, ratio(r), options);
    }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("most memory: %ld MiB\n", usage.ru_maxrss / 1024);
  return 0;
}
