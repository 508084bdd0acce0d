//===- CudnnTuning.cpp - cuDNN's engines by measuring -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Before the first step the engine configurations of each plan are measured in the
/// memory that the step will use, with the launches around them, and compared with what
/// runs without cuDNN. Plans that take most of the step's time come first.
///
//===----------------------------------------------------------------------===//

#include "CudaExecutable.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <cstdio>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Once the first configurations of all plans are measured, comparing ends after so many
/// seconds; what has not been compared then runs with the first one, also later.
static constexpr double kMostSeconds = 0.35;
/// Seconds of the time for matmuls' proposals that measuring cuDNN may use up.
static constexpr double kMostOfMatmuls = 0.5;
/// The fastest of so many rounds counts, of what is not much slower than the best; one
/// of what takes long.
static constexpr int kRounds = 3;
static constexpr double kMuchSlower = 1.5, kLongMicroseconds = 1000;
/// What loading code at the first launch may take.
static constexpr double kLoadMicroseconds = 10000;

#define MPT_TRY(expression)                                                              \
  if (int status = (expression))                                                         \
  return status

/// The instructions from `begin` to `end`.
struct CudaExecutable::CudnnWay {
  size_t begin, end;
};

CudaExecutable::CudnnWay CudaExecutable::getCudnnWay(size_t call, bool isWithout) const {
  const CudnnParts &parts = program.instructions[call].parts;
  const size_t next = call + 1 + parts.after;
  return isWithout ? CudnnWay{next, next + parts.fallback}
                   : CudnnWay{call - parts.before, next};
}

void CudaExecutable::useCudnn(size_t call, bool isUsed) {
  for (bool isWithout : {false, true}) {
    const CudnnWay way = getCudnnWay(call, isWithout);
    for (size_t i = way.begin; i < way.end; ++i)
      steps[i].isReplaced = isWithout == isUsed;
  }
}

bool CudaExecutable::prepareWithoutCudnn(size_t call) {
  const std::string before = notes;
  const CudnnWay way = getCudnnWay(call, /*isWithout=*/true);
  bool hasEpilogue = false, isGood = true;
  for (size_t i = way.begin; i < way.end && isGood; ++i) {
    const Instruction &instruction = program.instructions[i];
    BoundInstruction &step = steps[i];
    std::string unused;
    if (!instruction.isCall())
      step.isSkipped = instruction.replacesEpilogue && hasEpilogue;
    else if (!instruction.getCall<MatmulCall>())
      step.copyBytes = instruction.refs[0].bytes();
    else if (step.gemm < 0 && !step.kernel)
      isGood = prepareGemm(instruction,
                           i + 1 < way.end ? &program.instructions[i + 1] : nullptr, step,
                           hasEpilogue, unused) == MPT_RT_OK;
    else
      hasEpilogue = i + 1 < way.end && steps[i + 1].isSkipped;
  }
  // Said only of what runs.
  notes = before;
  return isGood;
}

int CudaExecutable::measureCudnn(CudnnWay way, double fastest, double &microseconds,
                                 std::string &error) {
  const std::vector<int64_t> first(program.loops.size());
  microseconds = -1;
  // What fails here is not replaced.
  recording = true;
  int status = MPT_RT_OK;
  // The first time code is loaded.
  for (int round = 0; round <= kRounds; ++round) {
    status = check(api.cudaEventRecord(marks[0], state->stream), "measuring", error);
    for (size_t i = way.begin; i < way.end && !status; ++i)
      status = launch(i, first, error);
    if (!status)
      status = check(api.cudaEventRecord(marks[1], state->stream), "measuring", error);
    if (!status)
      status = check(api.cudaEventSynchronize(marks[1]), "measuring", error);
    float milliseconds = 0;
    if (!status)
      status = check(api.cudaEventElapsedTime(&milliseconds, marks[0], marks[1]),
                     "measuring", error);
    if (status)
      break;
    const double time = 1000.0 * milliseconds;
    microseconds = round < 2 ? time : std::min(microseconds, time);
    if (fastest >= 0 &&
        time > kMuchSlower * fastest + (round == 0 ? kLoadMicroseconds : 0))
      break;
    if (round > 0 && time > kLongMicroseconds)
      break;
  }
  recording = false;
  if (status)
    microseconds = -1;
  return status;
}

std::string CudaExecutable::describeTuned(const std::string &plan,
                                          const CudnnGraph &graph) const {
  std::string key = describeTuned(plan, /*ofCudnn=*/true);
  for (size_t call = 0; call < steps.size(); ++call) {
    if (steps[call].graph != &graph)
      continue;
    const CudnnWay way = getCudnnWay(call, /*isWithout=*/true);
    for (size_t i = way.begin; i < way.end; ++i)
      if (steps[i].variant)
        return key + "; without it by wgmma";
    break;
  }
  return key;
}

int CudaExecutable::takeCudnnChoices(const GemmChoices &choices, std::string &error) {
  for (auto &[plan, graph] : graphs) {
    const auto known = choices.find(describeTuned(plan, *graph));
    if (known == choices.end() || !graph->hasPlan() ||
        known->second.proposals != graph->countProposals())
      continue;
    const int chosen = known->second.proposal;
    const char *what = nullptr;
    bool isTaken = true;
    if (chosen >= 0 && chosen != graph->taken)
      if (Status status = graph->take(chosen, isTaken, what)) {
        error = std::string(what) + ": " + dnn->api.nameOf(status);
        return MPT_RT_RUN_FAILED;
      }
    if (!isTaken)
      notes += plan +
               ": the engine that was chosen for it cannot be used any more; another "
               "one may sum in another order\n";
    for (size_t i = 0; i < steps.size(); ++i)
      if (steps[i].graph == graph.get())
        useCudnn(i, chosen >= 0 || !prepareWithoutCudnn(i));
  }
  return MPT_RT_OK;
}

int CudaExecutable::tuneCudnn(GemmChoices &choices, std::string &error) {
  std::string why;
  if (!readGemmChoices(tuningFile, choices, why))
    notes += tuningFile + ": " + why + "; all is measured again\n";
  struct Unknown {
    std::string key;
    CudnnGraph *graph;
    size_t call;
    double uses = 0;
    /// Microseconds of the configurations, and without cuDNN; negative: not measured.
    std::vector<double> times;
    double without = -1;
    double ofStep() const { return uses * std::max(times[0], 0.0); }
  };
  std::vector<Unknown> unknown;
  // State holds what is needed.
  auto writesState = [&](size_t call) {
    const size_t end = getCudnnWay(call, true).end;
    for (size_t i = getCudnnWay(call, false).begin; i < end; ++i) {
      const Instruction &instruction = program.instructions[i];
      for (size_t j = instruction.numInputs; j < instruction.refs.size(); ++j)
        if (instruction.refs[j].space == SpaceId::State)
          return true;
    }
    return false;
  };
  for (auto &[plan, graph] : graphs) {
    const int count = graph->countProposals();
    Unknown entry = {describeTuned(plan, *graph), graph.get(), steps.size(), 0, {}};
    const auto known = choices.find(entry.key);
    if (count == 0 || (known != choices.end() && known->second.proposals == count))
      continue;
    for (size_t i = 0; i < steps.size(); ++i)
      if (steps[i].graph == graph.get()) {
        entry.uses += static_cast<double>(countIterations(program, i));
        if (entry.call == steps.size() && !writesState(i))
          entry.call = i;
      }
    entry.times.assign(count, -1);
    if (entry.call < steps.size())
      unknown.push_back(std::move(entry));
  }
  if (unknown.empty())
    return takeCudnnChoices(choices, error);
  const double start = getSeconds();
  MPT_TRY(makeMarks(error));
  const std::vector<uint16_t> random = makeRandom();
  for (Unknown &entry : unknown) {
    const CudnnWay way = getCudnnWay(entry.call, /*isWithout=*/false);
    for (size_t i = way.begin; i <= entry.call; ++i)
      for (size_t j = 0; j < program.instructions[i].numInputs; ++j)
        MPT_TRY(fillRandomly(random, program.instructions[i].refs[j], steps[i].buffers[j],
                             error));
    std::string failed;
    if (measureCudnn(way, -1, entry.times[0], failed))
      notes += failed + "; others are tried\n";
  }
  const double deadline = getSeconds() + kMostSeconds;
  int compared = 0, others = 0, without = 0;
  double before = 0, after = 0;
  for (size_t done = 0; done < unknown.size(); ++done) {
    for (size_t i = done + 1; i < unknown.size(); ++i)
      if (unknown[i].ofStep() > unknown[done].ofStep())
        std::swap(unknown[i], unknown[done]);
    Unknown &entry = unknown[done];
    const bool isInTime = getSeconds() < deadline;
    double fastest = entry.times[0];
    auto measure = [&](bool isWithout, double &time) {
      std::string unused;
      // What fails is none.
      if (measureCudnn(getCudnnWay(entry.call, isWithout), fastest, time, unused) == 0 &&
          (fastest < 0 || time < fastest))
        fastest = time;
    };
    if (isInTime && prepareWithoutCudnn(entry.call)) {
      useCudnn(entry.call, false);
      measure(true, entry.without);
      useCudnn(entry.call, true);
    }
    // Another plan is compiled for longer than there is time.
    const bool isMany = !entry.graph->isCompiled();
    for (int i = 1; i < entry.graph->countProposals() && isMany; ++i) {
      bool isTaken = false;
      const char *what = nullptr;
      if (getSeconds() >= deadline || entry.graph->take(i, isTaken, what))
        break;
      if (isTaken)
        measure(false, entry.times[i]);
    }
    GemmChoice &choice = choices[entry.key];
    choice.proposals = entry.graph->countProposals();
    choice.proposal = chooseProposal(entry.times);
    double best = entry.times[choice.proposal];
    // Less is noise.
    if (entry.without >= 0 && (best < 0 || entry.without < 0.97 * best)) {
      choice.proposal = kWithoutChoice;
      best = entry.without;
    }
    choice.nanoseconds = toNanoseconds(best);
    choice.firstNanoseconds = toNanoseconds(entry.times[0]);
    compared += isInTime;
    before += entry.ofStep() / 1000;
    after += entry.uses * std::max(best, 0.0) / 1000;
  }
  takeKept(choices);
  for (const Unknown &entry : unknown) {
    others += choices[entry.key].proposal > 0;
    without += choices[entry.key].proposal < 0;
  }
  MPT_TRY(clearMeasured(error));
  tuningSeconds = std::min(getSeconds() - start, kMostOfMatmuls);
  char text[224];
  std::snprintf(
      text, sizeof(text),
      "cuDNN: %d of %d plans were compared, %d run with another engine than the "
      "first, %d without cuDNN: %.3f ms of a step instead of %.3f",
      compared, static_cast<int>(unknown.size()), others, without, after, before);
  notes += text;
  keepChoices(choices);
  return takeCudnnChoices(choices, error);
}
