//===- CudaTuning.cpp - Proposals measured at the first run -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaExecutable.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/InstructionCost.h"
#include "mpt/Runtime/Runtime.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Measuring ends after so many seconds; what has not been measured then runs with the
/// first proposal, also later.
static constexpr double kMostSeconds = 0.8;

/// The proposals of all plans are measured once. With the time that is left those that
/// are not much slower than the best of their plan are measured in turns, in so many
/// rounds of a few launches, the fastest of which counts.
static constexpr int kRounds = 3, kLaunches = 5;
static constexpr double kMuchSlower = 1.5;
/// Of launches that take longer one is enough.
static constexpr double kLongMicroseconds = 500;
/// What loading the code of a proposal, at its first launch, may take.
static constexpr double kLoadMicroseconds = 10000;

/// What is multiplied decides how much power is drawn, and so the clock: of operands that
/// hold nothing yet so many bytes are random.
static constexpr int64_t kMostRandom = 256 << 20;

/// Returns from the calling function if `expression` fails.
#define MPT_TRY(expression)                                                              \
  if (int status = (expression))                                                         \
  return status

double CudaExecutable::getSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<uint16_t> CudaExecutable::makeRandom() {
  std::vector<uint16_t> numbers(1 << 20);
  uint32_t random = 12345;
  for (uint16_t &number : numbers) {
    random = random * 1664525u + 1013904223u;
    number = 0x3f00 | (random >> 16 & 0x7f) | (random >> 31) << 15;
  }
  return numbers;
}

int CudaExecutable::fillRandomly(const std::vector<uint16_t> &random,
                                 const BufferRef &ref, void *data, std::string &error) {
  if (ref.space != SpaceId::Arena && ref.space != SpaceId::Input)
    return MPT_RT_OK;
  auto *begin = static_cast<char *>(data);
  const int64_t bytes = std::min(ref.bytes(), kMostRandom);
  int64_t filled =
      std::min(bytes, static_cast<int64_t>(random.size() * sizeof(random[0])));
  MPT_TRY(check(
      api.cudaMemcpyAsync(begin, random.data(), filled, HostToDevice, state->stream),
      "measuring", error));
  for (int64_t piece; filled < bytes; filled += piece) {
    piece = std::min(filled, bytes - filled);
    MPT_TRY(check(
        api.cudaMemcpyAsync(begin + filled, begin, piece, DeviceToDevice, state->stream),
        "measuring", error));
  }
  return MPT_RT_OK;
}

int CudaExecutable::makeMarks(std::string &error) {
  marks.resize(std::max<size_t>(marks.size(), 2), nullptr);
  for (Event &mark : marks)
    if (!mark)
      MPT_TRY(check(api.cudaEventCreateWithFlags(&mark, 0), "an event", error));
  return MPT_RT_OK;
}

int CudaExecutable::clearMeasured(std::string &error) {
  for (auto [at, bytes] : {std::pair<int64_t, int64_t>(0, program.arenaBytes),
                           std::pair<int64_t, int64_t>(outputAt, program.outputBytes)})
    if (bytes > 0)
      MPT_TRY(check(api.cudaMemsetAsync(memory + at, 0, bytes, state->stream), "clearing",
                    error));
  return MPT_RT_OK;
}

void CudaExecutable::keepChoices(const GemmChoices &choices) {
  std::string why;
  if (writeGemmChoices(tuningFile, choices, why))
    notes += "; " + tuningFile + " keeps that\n";
  else
    notes += "; that cannot be kept in " + tuningFile + " (" + why +
             "): the next run may choose another, and sum in another order\n";
}

void CudaExecutable::takeKept(GemmChoices &choices) const {
  GemmChoices kept;
  std::string unused;
  if (!readGemmChoices(tuningFile, kept, unused))
    return;
  for (const auto &[plan, choice] : kept) {
    GemmChoice &own = choices.try_emplace(plan, choice).first->second;
    if (own.proposals == choice.proposals && choice.nanoseconds > 0)
      own = choice;
  }
}

std::string CudaExecutable::describeTuned(const std::string &plan, bool ofCudnn) const {
  int driver = 0;
  (void)api.cudaDriverGetVersion(&driver);
  return (ofCudnn ? "cudnn " + std::to_string(dnn->api.cudnnGetVersion())
                  : "cublaslt " + std::to_string(api.cublasLtGetVersion())) +
         "; driver " + std::to_string(driver) + "; sm_" +
         std::to_string(state->architecture) + " with " +
         std::to_string(state->multiprocessors) + " multiprocessors; " + plan;
}

int CudaExecutable::measureGemm(const Instruction &call, BoundInstruction &step,
                                double deadline, std::vector<double> &times,
                                bool &isWhole, std::string &error) {
  isWhole = false;
  CublasLtMatmul &gemm = gemms[step.gemm];
  const std::array<size_t, 4> matrices = getMatrices(call);
  CublasLtPointers pointers = getPointers(step);
  // State holds what is needed: what would be written there is written elsewhere.
  int64_t scratchBytes = 0;
  for (size_t i = call.numInputs; i < call.refs.size(); ++i)
    if (call.refs[i].space == SpaceId::State)
      scratchBytes += (call.refs[i].bytes() + 255) / 256 * 256;
  void *block = nullptr;
  if (scratchBytes > 0) {
    const Error code = api.cudaMalloc(&block, scratchBytes);
    if (code == kOutOfMemory)
      return MPT_RT_OK;
    MPT_TRY(check(code, "memory of the GPU", error));
  }
  struct Free {
    const Api &api;
    void operator()(void *pointer) const { api.cudaFree(pointer); }
  };
  const std::unique_ptr<void, Free> scratch(block, {api});
  auto *next = static_cast<char *>(block);
  std::vector<void *> buffers = step.buffers;
  for (size_t i = call.numInputs; i < call.refs.size(); ++i)
    if (call.refs[i].space == SpaceId::State) {
      if (pointers.bias == buffers[i])
        pointers.bias = next;
      if (pointers.aux == buffers[i])
        pointers.aux = next;
      buffers[i] = next;
      next += (call.refs[i].bytes() + 255) / 256 * 256;
    }
  const char *what = nullptr;
  if (block)
    MPT_TRY(checkCublasLt(gemm.move(pointers, what), call.location + ": matmul", error));

  const std::vector<CublasLtHeuristic> &found = step.proposals->found;
  // What one of so many launches takes.
  auto measure = [&](size_t proposal, int launches, double &microseconds) -> int {
    auto run = [&](int times) {
      Status status = 0;
      for (int i = 0; i < times && status == 0; ++i)
        status =
            gemm.run(*lt, found[proposal].algo, buffers[matrices[0]],
                     buffers[matrices[1]], buffers[matrices[2]], buffers[matrices[3]],
                     memory + workspaceAt, kGemmWorkspaceBytes, state->stream);
      return status;
    };
    microseconds = -1;
    MPT_TRY(check(api.cudaEventRecord(marks[0], state->stream), "measuring", error));
    const Status status = run(launches);
    MPT_TRY(check(api.cudaEventRecord(marks[1], state->stream), "measuring", error));
    MPT_TRY(check(api.cudaEventSynchronize(marks[1]), "measuring", error));
    float milliseconds = 0;
    MPT_TRY(check(api.cudaEventElapsedTime(&milliseconds, marks[0], marks[1]),
                  "measuring", error));
    if (status == 0)
      microseconds = 1000.0 * milliseconds / launches;
    return status == 0 || isRefusedAlgorithm(status)
               ? int(MPT_RT_OK)
               : checkCublasLt(status, call.location + ": a matmul", error);
  };
  std::vector<double> best = times;
  bool isInTime = true;
  if (times.empty()) {
    best.assign(found.size(), -1);
    double fastest = -1;
    for (size_t i = 0; i < found.size() && isInTime; ++i) {
      // Its code is loaded first.
      MPT_TRY(measure(i, 1, best[i]));
      if (best[i] >= 0 &&
          (fastest < 0 || best[i] < kMuchSlower * fastest + kLoadMicroseconds))
        MPT_TRY(measure(i, 1, best[i]));
      if (best[i] >= 0 && (fastest < 0 || best[i] < fastest))
        fastest = best[i];
      isInTime = getSeconds() < deadline;
    }
  } else {
    double fastest = -1;
    for (double one : times)
      if (one >= 0 && (fastest < 0 || one < fastest))
        fastest = one;
    const int launches = fastest > kLongMicroseconds ? 1 : kLaunches;
    for (int round = 0; round < kRounds && isInTime; ++round)
      for (size_t i = 0; i < found.size() && isInTime; ++i) {
        if (times[i] < 0 || times[i] > kMuchSlower * fastest)
          continue;
        double microseconds = -1;
        MPT_TRY(measure(i, launches, microseconds));
        if (microseconds >= 0)
          best[i] = round == 0 ? microseconds : std::min(best[i], microseconds);
        isInTime = getSeconds() < deadline;
      }
  }
  if (block)
    MPT_TRY(checkCublasLt(gemm.move(getPointers(step), what), call.location + ": matmul",
                          error));
  // Half of a comparison is none.
  isWhole = isInTime;
  if (isWhole)
    times = std::move(best);
  return MPT_RT_OK;
}

std::optional<GemmPlan> CudaExecutable::getPlanWithoutEpilogue(size_t index) const {
  const auto &instructions = program.instructions;
  GemmPlan plan;
  std::string unused;
  if (!makeGemmPlan(instructions[index], /*allowTF32=*/false, plan, unused) ||
      !(usesAux(plan.epilogue) || writesBias(plan.epilogue)) ||
      // Others may write bits, or read them.
      hasBits(plan.epilogue))
    return std::nullopt;
  size_t end = index + 1;
  for (; end < instructions.size() && instructions[end].replacesEpilogue; ++end) {
    const Instruction &launch = instructions[end];
    if (!steps[end].moving.empty())
      return std::nullopt;
    // State holds what is needed.
    for (size_t i = launch.numInputs; i < launch.refs.size(); ++i)
      if (launch.refs[i].space == SpaceId::State)
        return std::nullopt;
  }
  // Once it was replaced, because cuBLASLt refused it, there is nothing to choose.
  if (end == index + 1 || !steps[index + 1].isSkipped || !steps[index].moving.empty())
    return std::nullopt;
  plan.epilogue = GemmEpilogue::Default;
  return plan;
}

int CudaExecutable::measureReplacement(size_t index, double &microseconds,
                                       std::string &error) {
  microseconds = -1;
  // The first time their code is loaded.
  for (int round = 0; round <= kRounds; ++round) {
    MPT_TRY(check(api.cudaEventRecord(marks[0], state->stream), "measuring", error));
    for (size_t i = index + 1;
         i < steps.size() && program.instructions[i].replacesEpilogue; ++i) {
      steps[i].isSkipped = false;
      const int launched = launch(i, {}, error);
      steps[i].isSkipped = true;
      MPT_TRY(launched);
    }
    MPT_TRY(check(api.cudaEventRecord(marks[1], state->stream), "measuring", error));
    MPT_TRY(check(api.cudaEventSynchronize(marks[1]), "measuring", error));
    float milliseconds = 0;
    MPT_TRY(check(api.cudaEventElapsedTime(&milliseconds, marks[0], marks[1]),
                  "measuring", error));
    if (round == 1 || (round > 1 && 1000.0 * milliseconds < microseconds))
      microseconds = 1000.0 * milliseconds;
  }
  return MPT_RT_OK;
}

int CudaExecutable::dropEpilogues(const std::string &plan, std::string &error) {
  const Proposals *made = &proposals[plan];
  for (size_t i = 0; i < steps.size(); ++i) {
    BoundInstruction &step = steps[i];
    const std::optional<GemmPlan> without = step.proposals == made && step.gemm >= 0
                                                ? getPlanWithoutEpilogue(i)
                                                : std::nullopt;
    if (!without)
      continue;
    BoundInstruction plain = step;
    std::string why;
    plain.bias = plain.aux = plain.gemm = -1;
    MPT_TRY(askCublasLt(program.instructions[i], plain, *without, why, error));
    if (plain.gemm < 0)
      continue;
    // Its buffers stay where they are.
    step.bias = step.aux = -1;
    step.gemm = plain.gemm;
    step.proposals = plain.proposals;
    for (size_t j = i + 1; j < steps.size() && program.instructions[j].replacesEpilogue;
         ++j)
      steps[j].isSkipped = false;
  }
  return MPT_RT_OK;
}

int CudaExecutable::tuneAlone(GemmChoices &choices, std::string &error) {
  std::string why;
  if (!readGemmChoices(tuningFile, choices, why))
    notes += tuningFile + ": " + why + "; all is measured again\n";
  // Of each plan the first matmul, in the order of what they all cost.
  struct Unknown {
    std::string plan;
    size_t index;
    BoundInstruction *step;
    double flops;
    /// Microseconds of each proposal once it was measured; negative: it cannot run.
    std::vector<double> times;
  };
  std::vector<Unknown> unknown;
  auto isKnown = [&](const std::string &key, const Proposals &made) {
    auto known = choices.find(key);
    return known != choices.end() &&
           known->second.proposals == static_cast<int>(made.found.size());
  };
  for (auto &[plan, made] : proposals) {
    const std::string key = describeTuned(plan);
    if (made.found.empty() || isKnown(key, made))
      continue;
    Unknown entry = {key, steps.size(), nullptr, 0, {}};
    for (size_t i = 0; i < steps.size(); ++i)
      if (steps[i].proposals == &made && steps[i].gemm >= 0 && !steps[i].isReplaced) {
        entry.index = std::min(entry.index, i);
        entry.flops +=
            static_cast<double>(countIterations(program, i)) * getCost(program, i).flops;
      }
    if (entry.index == steps.size() ||
        (made.found.size() < 2 && !getPlanWithoutEpilogue(entry.index)))
      continue;
    entry.step = &steps[entry.index];
    unknown.push_back(std::move(entry));
  }
  if (unknown.empty())
    return MPT_RT_OK;
  // Epilogues may be slower than what replaces them.
  struct Replacement {
    std::string plan, without;
    size_t index;
    BoundInstruction step;
    /// Of the launches.
    double microseconds = -1;
  };
  std::deque<Replacement> replacements;
  for (size_t i = 0, size = unknown.size(); i < size; ++i) {
    const size_t index = unknown[i].index;
    const std::optional<GemmPlan> plan = getPlanWithoutEpilogue(index);
    if (!plan)
      continue;
    Replacement entry = {unknown[i].plan, "", index, steps[index]};
    entry.step.bias = entry.step.aux = entry.step.gemm = -1;
    entry.step.proposals = nullptr;
    MPT_TRY(askCublasLt(program.instructions[index], entry.step, *plan, why, error));
    if (entry.step.gemm < 0)
      continue;
    for (const auto &[name, made] : proposals)
      if (&made == entry.step.proposals)
        entry.without = describeTuned(name);
    replacements.push_back(std::move(entry));
    Replacement &made = replacements.back();
    const bool isListed =
        std::any_of(unknown.begin(), unknown.end(),
                    [&](const Unknown &other) { return other.plan == made.without; });
    if (!isListed && !isKnown(made.without, *made.step.proposals))
      unknown.push_back({made.without, index, &made.step, unknown[i].flops, {}});
  }
  std::sort(unknown.begin(), unknown.end(), [](const Unknown &x, const Unknown &y) {
    return x.flops != y.flops ? x.flops > y.flops : x.plan < y.plan;
  });
  MPT_TRY(makeMarks(error));
  const std::vector<uint16_t> random = makeRandom();
  const double deadline = getSeconds() + kMostSeconds - tuningSeconds;
  for (Unknown &entry : unknown) {
    GemmChoice &choice = choices[entry.plan];
    choice = GemmChoice();
    choice.proposals = static_cast<int>(entry.step->proposals->found.size());
  }
  int other = 0, late = 0;
  for (bool isAgain : {false, true})
    for (Unknown &entry : unknown) {
      if (isAgain && entry.times.empty())
        continue;
      bool isWhole = getSeconds() < deadline;
      for (size_t i = 0; i < 2 && isWhole; ++i)
        MPT_TRY(fillRandomly(random, program.instructions[entry.index].refs[i],
                             entry.step->buffers[i], error));
      if (isWhole)
        MPT_TRY(measureGemm(program.instructions[entry.index], *entry.step, deadline,
                            entry.times, isWhole, error));
      if (isWhole) {
        GemmChoice &choice = choices[entry.plan];
        choice.proposal = chooseProposal(entry.times);
        choice.nanoseconds = toNanoseconds(entry.times[choice.proposal]);
        choice.firstNanoseconds = toNanoseconds(entry.times[0]);
      } else if (!isAgain) {
        ++late;
      }
    }
  for (Replacement &entry : replacements) {
    GemmChoice &choice = choices[entry.plan];
    const GemmChoice &without = choices[entry.without];
    if (choice.nanoseconds == 0 || without.nanoseconds == 0)
      continue;
    MPT_TRY(measureReplacement(entry.index, entry.microseconds, error));
    const int64_t replaced = without.nanoseconds + toNanoseconds(entry.microseconds);
    // Less is noise.
    if (replaced < 0.97 * choice.nanoseconds) {
      choice.proposal = kWithoutChoice;
      choice.nanoseconds = replaced;
    }
  }
  // Another run may have been the first to choose.
  takeKept(choices);
  int plain = 0;
  for (const Unknown &entry : unknown) {
    other += choices[entry.plan].proposal > 0;
    plain += choices[entry.plan].proposal == kWithoutChoice;
  }
  MPT_TRY(clearMeasured(error));
  notes += "matmuls: " + std::to_string(unknown.size() - late) + " of " +
           std::to_string(unknown.size()) + " plans were measured, " +
           std::to_string(other) + " run with another algorithm than the first";
  if (plain > 0)
    notes += ", " + std::to_string(plain) + " without their epilogues, which are slower";
  keepChoices(choices);
  return MPT_RT_OK;
}

int CudaExecutable::shareChoices(GemmChoices &choices, std::string &error) {
  std::string text;
  // A rank without choices sends nothing.
  if (rank == 0 && !choices.empty())
    text = printGemmChoices(choices);
  uint64_t bytes = text.size();
  std::vector<uint64_t> all(communicator->ranks);
  auto lost = [&] {
    error = communicator->error;
    return int(MPT_RT_COMMUNICATION_FAILED);
  };
  if (!communicator->gather(&bytes, sizeof(bytes), all.data()))
    return lost();
  text.resize(all[0]);
  std::vector<mpt_rt_message> sends(communicator->ranks), receives(communicator->ranks);
  if (rank == 0)
    sends.assign(communicator->ranks, {text.data(), text.size()});
  receives[0] = {text.data(), text.size()};
  if (!communicator->exchange(sends.data(), receives.data()))
    return lost();
  parseGemmChoices(text, choices);
  return MPT_RT_OK;
}

int CudaExecutable::tune(std::string &error) {
  GemmChoices choices, ofCudnn;
  int status = MPT_RT_OK;
  if (!tuningFile.empty() && rank == 0) {
    // First: what it finds slow are matmuls.
    status = graphs.empty() ? int(MPT_RT_OK) : tuneCudnn(ofCudnn, error);
    status = status ? status : tuneAlone(choices, error);
    choices.insert(ofCudnn.begin(), ofCudnn.end());
  }
  if (others) {
    // The other ranks wait for this, whatever became of it.
    std::string unused;
    const int shared = shareChoices(choices, status ? unused : error);
    status = status ? status : shared;
  }
  if (status)
    return status;
  if (dnn)
    MPT_TRY(takeCudnnChoices(choices, error));
  std::vector<std::string> dropped;
  for (auto &[plan, made] : proposals)
    if (auto known = choices.find(describeTuned(plan));
        known != choices.end() && known->second.proposal == kWithoutChoice &&
        known->second.proposals == static_cast<int>(made.found.size()))
      dropped.push_back(plan);
  for (const std::string &plan : dropped)
    MPT_TRY(dropEpilogues(plan, error));
  for (auto &[plan, made] : proposals) {
    auto known = choices.find(describeTuned(plan));
    if (known == choices.end() || known->second.proposal <= 0 ||
        known->second.proposals != static_cast<int>(made.found.size()))
      continue;
    auto chosen = made.found.begin() + known->second.proposal;
    std::rotate(made.found.begin(), chosen, chosen + 1);
    for (BoundInstruction &step : steps)
      if (step.proposals == &made && step.gemm >= 0)
        gemms[step.gemm].take(made.found);
  }
  return MPT_RT_OK;
}
