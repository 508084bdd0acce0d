//===- CastProfitability.cpp - What low precision gains on a target -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/CastProfitability.h"

#include "mpt/Precision/ElementTypes.h"
#include "mpt/Precision/OpFlops.h"

#include <algorithm>

using namespace mlir;
using namespace mpt;

/// A petabyte: far below what a cut can add up, far above what a cast costs.
static constexpr uint64_t kMostGain = 1000000000000000;

static bool isDynamic(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return !shaped.hasStaticShape();
  std::optional<SmallVector<int64_t>> shape = ElementTypes::getShape(type);
  return ElementTypes::isUntypedTensor(type) ||
         (shape && llvm::any_of(*shape, ShapedType::isDynamic));
}

CastCost mpt::getCastCost(const TargetDescription &target) {
  CastCost cost;
  // GB/s times us is 1000 bytes.
  cost.overhead = static_cast<uint64_t>(target.bandwidth * target.launch * 1000);
  return cost;
}

std::vector<uint64_t> mpt::getContractionGains(const PrecisionGraph &graph,
                                               const RuleTable &rules,
                                               const TargetDescription &target, Type low,
                                               const CastCost &cost) {
  const double bytesPerSecond = target.bandwidth * 1e9;
  std::vector<uint64_t> gains(graph.getVertices().size());
  for (uint32_t v = 0; v < gains.size(); ++v) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    if (!vertex.contraction || vertex.precisionClass != PrecisionClass::Allow)
      continue;
    // Who knows how large it is: not to be left out for that.
    if (llvm::any_of(vertex.op->getOperandTypes(), isDynamic) ||
        llvm::any_of(vertex.op->getResultTypes(), isDynamic)) {
      gains[v] = kMostGain;
      continue;
    }
    std::optional<OpFlops> flops = countFlops(vertex.op, rules, /*isContraction=*/true);
    if (!flops)
      continue;
    double elements = 0;
    unsigned depth = 0;
    auto add = [&](ArrayRef<uint32_t> values) {
      for (uint32_t value : values) {
        elements += static_cast<double>(graph.getValues()[value].elements);
        depth = std::max<unsigned>(depth, graph.getValues()[value].loopDepth);
      }
    };
    add(graph.getConsumed(v));
    add(graph.getProduced(v));
    auto getSeconds = [&](double rate, double elementBytes) {
      return std::max(static_cast<double>(flops->flops) / rate,
                      elements * elementBytes / bytesPerSecond);
    };
    const double saved =
        getSeconds(target.f32 * 1e12, 4) - getSeconds(target.getRate(low), 2);
    const double bytes = saved * bytesPerSecond;
    gains[v] = static_cast<uint64_t>(std::clamp(bytes, 0.0, double(kMostGain)))
               << std::min(cost.loopShift * depth, 10u);
  }
  return gains;
}
