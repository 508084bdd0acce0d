//===- ScaleModel.cpp - A step on many ranks, on paper ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Parallel/ScaleModel.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>

using namespace mpt;

llvm::Expected<Link> mpt::parseLink(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ':');
  Link link;
  double numbers[] = {0, 0, 1e6 * link.overhead};
  bool isGood = words.size() == 2 || words.size() == 3;
  for (size_t i = 0; isGood && i < words.size(); ++i)
    isGood = !words[i].getAsDouble(numbers[i]) && std::isfinite(numbers[i]) &&
             (i == 2 ? numbers[i] >= 0 : numbers[i] > 0);
  if (!isGood)
    return llvm::createStringError(
        "expected 'GB/s:us' or 'GB/s:us:us' (bandwidth, latency and the cost of a "
        "message), as in '1:50', found '" +
        text + "'");
  link.bandwidth = 1e9 * numbers[0];
  link.latency = 1e-6 * numbers[1];
  link.overhead = 1e-6 * numbers[2];
  return link;
}

namespace {

/// Adds up what rank 0 sends; of at least two ranks.
class Traffic {
public:
  Traffic(int64_t ranks, const Cluster &cluster)
      : cluster(cluster), ranks(ranks),
        near(std::min(cluster.ranksPerMachine, ranks) - 1), far(ranks - 1 - near) {}

  /// Messages to every other rank at once; of `bytes` in all.
  void addPhase(double bytes) {
    const double toNear = bytes * near / (ranks - 1), toFar = bytes * far / (ranks - 1);
    result.bytesWithin += toNear;
    result.bytesBetween += toFar;
    result.messages += ranks - 1;
    // All ranks of a machine share its link.
    const double within = near ? cluster.within.latency + near * cluster.within.overhead +
                                     toNear / cluster.within.bandwidth
                               : 0;
    const double sharing = near + 1;
    const double between = far ? cluster.between.latency +
                                     far * cluster.between.overhead +
                                     toFar * sharing / cluster.between.bandwidth
                               : 0;
    result.seconds += std::max(within, between);
  }
  /// A reduction that a library does, of `bytes`: log n steps there and back
  /// (Rabenseifner 2004), with most of the bytes to ranks of other machines.
  void addReduction(double bytes) {
    const double sent = 2 * bytes * (ranks - 1) / ranks;
    // What a machine's ranks have added once does not travel for each of them.
    const double toFar =
        far ? 2 * bytes / (near + 1) * (1 - double(near + 1) / ranks) : 0;
    const double toNear = sent - toFar;
    result.bytesWithin += toNear;
    result.bytesBetween += toFar;
    const double machines = std::ceil(double(ranks) / (near + 1));
    const double nearSteps = 2 * std::ceil(std::log2(near + 1.0)),
                 farSteps = 2 * std::ceil(std::log2(machines));
    result.messages += nearSteps + farSteps;
    result.seconds += nearSteps * (cluster.within.latency + cluster.within.overhead) +
                      farSteps * (cluster.between.latency + cluster.between.overhead) +
                      toNear / cluster.within.bandwidth +
                      toFar * (near + 1) / cluster.between.bandwidth;
  }
  /// Bytes that the rank itself moves.
  void addMoves(double bytes) { result.seconds += bytes / cluster.memory; }

  ExchangeTraffic result;

private:
  const Cluster &cluster;
  int64_t ranks, near, far;
};

/// The exchange of segments that lib/Runtime/CPU/Collectives.cpp does.
void addReduction(const rt::ReductionPlan &plan, bool isForLibrary, Traffic &traffic) {
  const int64_t wire = rt::getSize(plan.wire), back = rt::getSize(plan.back);
  if (isForLibrary)
    traffic.addPhase(plan.ranks - 1);
  for (int64_t at = 0; at < plan.elements;) {
    const int64_t left = plan.elements - at, part = plan.getPart(left);
    const int64_t own = std::min(left, part);
    const int64_t done = plan.isScatter ? part : std::min(left, plan.ranks * part);
    const int64_t others = plan.isScatter ? (plan.ranks - 1) * part : done - own;
    // Packed, added and unpacked.
    traffic.addMoves(2.0 * (others + own) * (wire + back) + done * back);
    if (isForLibrary) {
      traffic.addReduction(double(std::min(left, plan.ranks * plan.part)) * wire);
      at += std::min(left, plan.ranks * plan.part);
      continue;
    }
    traffic.addPhase(double(others) * wire);
    if (!plan.isScatter)
      traffic.addPhase(double(plan.ranks - 1) * own * back);
    at += done;
  }
}

} // namespace

ExchangeTraffic mpt::getTraffic(const rt::Instruction &exchange, int64_t ranks,
                                const Cluster &cluster) {
  if (ranks == 1)
    return {};
  Traffic traffic(ranks, cluster);
  rt::Instruction instruction = exchange;
  rt::SumOrder order = rt::SumOrder::Rank;
  if (auto *call = std::get_if<rt::AllReduceCall>(&*instruction.call)) {
    call->ranks = ranks;
    order = call->order;
  } else if (auto *scatter = std::get_if<rt::ReduceScatterCall>(&*instruction.call)) {
    // Of a result for each rank of the program: another number has other results.
    const int64_t elements = instruction.refs[0].count();
    instruction.refs[instruction.numInputs].dims = {(elements + ranks - 1) / ranks};
    scatter->ranks = ranks;
  }
  rt::ReductionPlan plan;
  if (rt::planReduction(instruction, plan)) {
    const bool isForLibrary =
        order == rt::SumOrder::Library && !plan.isScatter && plan.elements > 0 &&
        plan.wire == plan.back &&
        (plan.wire == rt::DataType::F32 || plan.wire == rt::DataType::F64) &&
        (plan.kind == rt::ReduceKind::Sum || plan.kind == rt::ReduceKind::Mean);
    addReduction(plan, isForLibrary, traffic);
    return traffic.result;
  }
  const double bytes = instruction.refs[0].bytes();
  if (std::holds_alternative<rt::AllToAllCall>(*instruction.call)) {
    traffic.addPhase((ranks - 1) * bytes / ranks);
    traffic.addMoves(2 * bytes / ranks);
    return traffic.result;
  }
  // A broadcast's root, which rank 0 is for the worst case, sends as much.
  traffic.addPhase((ranks - 1) * bytes);
  traffic.addMoves(2 * bytes);
  return traffic.result;
}

ScalePoint mpt::simulate(const ScaleProgram &program, int64_t ranks,
                         const Cluster &cluster) {
  ScalePoint point;
  point.ranks = ranks;
  std::vector<ExchangeTraffic> traffic;
  for (const ScaledExchange &exchange : program.exchanges)
    traffic.push_back(getTraffic(exchange.instruction, ranks, cluster));
  // Where the step is, where the last exchange ends, and where each does.
  double now = 0, last = 0, compute = 0;
  std::vector<double> ends(traffic.size(), 0);
  for (const ScaleEvent &event : program.events) {
    if (event.kind == ScaleEvent::Work) {
      now += event.seconds;
      compute += event.seconds;
      continue;
    }
    if (event.kind == ScaleEvent::Wait) {
      now = std::max(now, ends[event.exchange]);
      continue;
    }
    const ExchangeTraffic &one = traffic[event.exchange];
    last = ends[event.exchange] = std::max(now, last) + one.seconds;
    if (event.kind == ScaleEvent::Exchange)
      now = last;
    point.exchange += 1e3 * one.seconds;
    point.bytesBetween += one.bytesBetween;
    point.bytesWithin += one.bytesWithin;
  }
  point.compute = 1e3 * compute;
  point.step = 1e3 * now;
  point.exposed = point.step - point.compute;
  const double fixed = double(program.arena) + program.outputs + program.constants +
                       program.state - program.optimizer - program.parameters;
  const double n = static_cast<double>(ranks), parameters = program.parameters,
               optimizer = program.optimizer;
  point.memory.data = fixed + parameters + optimizer;
  point.memory.zero1 = point.memory.zero2 = fixed + parameters + optimizer / n;
  // Two units are whole, and so are the gradients of two (--mpt-shard-parameters).
  const double units = 4 * std::min<double>(parameters / 16, 25 << 20);
  point.memory.zero3 = fixed + (parameters + optimizer) / n + units;
  point.zero3Bytes = 3 * (n - 1) / n * parameters;
  return point;
}
