//===- CudaMatmuls.cpp - Who does the matmuls of a program ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// cuBLASLt with an epilogue, without it and with launches that do the rest, or the
/// program's own function.
///
//===----------------------------------------------------------------------===//

#include "CudaExecutable.h"
#include "mpt/Runtime/Runtime.h"

#include <algorithm>
#include <utility>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Algorithms that cuBLASLt is asked for.
static constexpr int kProposals = 8;

#define MPT_TRY(expression)                                                              \
  if (int status = (expression))                                                         \
  return status

std::array<size_t, 4> mpt::rt::cuda::getMatrices(const Instruction &call) {
  const size_t result = call.numInputs;
  const bool hasAddend = call.getCall<MatmulCall>()->hasAddend;
  return {1, 0, hasAddend ? 2 : result, result};
}

/// Bits that cuBLASLt writes are read by it alone: who has one such matmul without its
/// epilogue has all of them without.
int CudaExecutable::findBits(std::string &error) {
  const std::string before = notes;
  for (size_t i = 0; i < program.instructions.size() && !hasOwnBits; ++i) {
    const Instruction &call = program.instructions[i];
    const auto *matmul = call.getCall<MatmulCall>();
    if (!matmul || !hasBits(getGemmEpilogue(*matmul)))
      continue;
    BoundInstruction step;
    for (const BufferRef &ref : call.refs)
      step.buffers.push_back(addressOf(ref));
    bool hasEpilogue = true;
    const Instruction *next =
        i + 1 < program.instructions.size() ? &program.instructions[i + 1] : nullptr;
    MPT_TRY(prepareGemm(call, next, step, hasEpilogue, error));
    // Once bits are written it is too late to find that no algorithm runs. Memory holds
    // zeros, and nothing yet that is needed.
    hasOwnBits = !hasEpilogue;
    if (hasOwnBits || call.refs[call.numInputs].space == SpaceId::State)
      continue;
    CublasLtMatmul &gemm = gemms.back();
    while (!hasOwnBits && isRefusedAlgorithm(runGemm(gemm, call, step)))
      hasOwnBits = !gemm.takeNext();
  }
  gemms.clear();
  notes = before;
  return MPT_RT_OK;
}

CublasLtPointers CudaExecutable::getPointers(const BoundInstruction &step) {
  auto get = [&](int buffer) -> const void * {
    return buffer < 0 ? nullptr : step.buffers[buffer];
  };
  return {get(step.bias), get(step.aux), get(step.scalesA), get(step.scalesB)};
}

/// Whether a cuBLASLt of `version` knows how the operands are scaled (the release notes
/// of CUDA 12.8 and 12.9).
static bool hasScales(const GemmPlan &plan, size_t version, std::string &why) {
  auto isOfHopper = [](GemmScaling scaling) {
    return scaling == GemmScaling::Vec128F32 || scaling == GemmScaling::Block128F32;
  };
  const size_t minor = isOfHopper(plan.scalingA) || isOfHopper(plan.scalingB) ? 9 : 8;
  if (!plan.isScaled() || version >= 120000 + minor * 100)
    return true;
  why = "8-bit matmuls with scales of blocks need cuBLAS 12." + std::to_string(minor) +
        " or newer, found " + std::to_string(version / 10000) + "." +
        std::to_string(version / 100 % 100) +
        "; install a newer one, or name another libcublasLt";
  return false;
}

bool CudaExecutable::usePlainMatmul(const Instruction &call, BoundInstruction &step,
                                    const GemmPlan &plan, const std::string &why) {
  if (plan.epilogue != GemmEpilogue::Default || !makePlainMatmul(plan, step.plain) ||
      !library ||
      api.cudaLibraryGetKernel(&step.kernel, library, step.plain.function.c_str()))
    return false;
  step.gemm = -1;
  // One line for all where there is no library.
  const std::string place = api.withoutCublasLt.empty() ? call.location : "matmuls";
  const std::string note =
      place + ": " + why + "; MPT's own function runs, which is many times slower\n";
  if (notes.find(note) == std::string::npos)
    notes += note;
  return true;
}

int CudaExecutable::askCublasLt(const Instruction &call, BoundInstruction &step,
                                const GemmPlan &plan, std::string &why,
                                std::string &error) {
  if (!api.withoutCublasLt.empty()) {
    why = api.withoutCublasLt;
    return MPT_RT_OK;
  }
  if (!checkGemmPlan(plan, state->architecture, why) ||
      !hasScales(plan, api.cublasLtGetVersion(), why))
    return MPT_RT_OK;
  const char *what = nullptr;
  auto attempt = [&](Status code) {
    return checkCublasLt(code, call.location + ": " + what, error);
  };
  if (!lt) {
    lt = std::make_unique<CublasLtContext>(api);
    MPT_TRY(attempt(lt->create(what)));
  }
  CublasLtMatmul matmul(api);
  MPT_TRY(attempt(matmul.create(plan, getPointers(step), what)));
  Status code = propose(call, step, plan, matmul);
  if (!matmul.hasAlgo) {
    why = "cuBLASLt refuses (" + describeCublasLtStatus(code) + ") " +
          describeGemmPlan(plan);
    return MPT_RT_OK;
  }
  step.gemm = static_cast<int>(gemms.size());
  gemms.push_back(std::move(matmul));
  return MPT_RT_OK;
}

int CudaExecutable::prepareGemm(const Instruction &call, const Instruction *next,
                                BoundInstruction &step, bool &hasEpilogue,
                                std::string &error) {
  GemmPlan plan;
  std::string why;
  if (!makeGemmPlan(call, /*allowTF32=*/false, plan, why))
    return fail(error, MPT_RT_UNSUPPORTED, call.location + ": " + why);
  // After the result, or the third operand.
  const int written = call.numOutputs > 1 ? static_cast<int>(call.numInputs) + 1 : -1;
  step.bias = call.getCall<MatmulCall>()->hasBias ? 2
              : writesBias(plan.epilogue)         ? written
                                                  : -1;
  step.aux = !usesAux(plan.epilogue) ? -1 : writesAux(plan.epilogue) ? written : 2;
  if (plan.isScaled()) {
    // The last ones; the right side is A.
    step.scalesA = static_cast<int>(call.numInputs) - 1;
    step.scalesB = step.scalesA - 1;
  }
  hasEpilogue = true;
  MPT_TRY(askCublasLt(call, step, plan, why, error));
  if (step.gemm >= 0 && hasOwnBits && hasBits(plan.epilogue)) {
    why = "cuBLASLt refuses another matmul with such bits";
    step.gemm = -1;
    gemms.pop_back();
  }
  if (step.gemm < 0 && next && next->replacesEpilogue) {
    if (api.withoutCublasLt.empty())
      notes +=
          call.location + ": " + why + "; it runs without the epilogue, and a kernel\n";
    plan.epilogue = GemmEpilogue::Default;
    hasEpilogue = false;
    step.bias = step.aux = -1;
    MPT_TRY(askCublasLt(call, step, plan, why, error));
  }
  if (step.gemm < 0)
    return usePlainMatmul(call, step, plan, why)
               ? int(MPT_RT_OK)
               : fail(error, MPT_RT_UNSUPPORTED, call.location + ": " + why);
  if (desc.num_tuned == 0 || !desc.tuned)
    return MPT_RT_OK;
  CublasLtMatmul &gemm = gemms[step.gemm];
  std::string key = tuningKey(api.cublasLtGetVersion(), state->architecture,
                              state->multiprocessors, plan);
  for (uint64_t i = 0; i < desc.num_tuned; ++i)
    if (key == desc.tuned[i].key) {
      // The proposals stay behind it.
      gemm.others.insert(gemm.others.begin(), gemm.algo);
      step.proposals = nullptr;
      gemmWorkspace = kGemmWorkspaceBytes;
      std::memcpy(gemm.algo.data, desc.tuned[i].algo, sizeof(gemm.algo.data));
      notes += call.location + ": runs with a measured algorithm\n";
    }
  return MPT_RT_OK;
}

Status CudaExecutable::propose(const Instruction &call, BoundInstruction &step,
                               const GemmPlan &plan, CublasLtMatmul &matmul) {
  CublasLtAlignments alignments;
  std::string key = describeGemmPlan(plan) + "; aligned to";
  const std::array<size_t, 4> matrices = getMatrices(call);
  for (size_t i = 0; i < matrices.size(); ++i) {
    const size_t matrix = matrices[i];
    // Where it lies in each iteration of the loops around it.
    auto places = reinterpret_cast<uintptr_t>(step.buffers[matrix]);
    for (int64_t stride : call.refs[matrix].strides)
      places |= static_cast<uintptr_t>(stride);
    uint32_t &bytes = alignments.bytes[i];
    while (places % bytes != 0)
      bytes /= 2;
    key += " " + std::to_string(bytes);
  }
  auto [known, isNew] = proposals.try_emplace(std::move(key));
  Proposals &made = known->second;
  if (isNew)
    made.status = matmul.propose(*lt, kProposals, made.found, alignments);
  for (const CublasLtHeuristic &proposal : made.found)
    gemmWorkspace =
        std::max(gemmWorkspace, alignUp(static_cast<int64_t>(proposal.workspaceSize)));
  step.proposals = &made;
  matmul.take(made.found);
  return made.status;
}

bool CudaExecutable::replaceGemm(size_t index, Status code) {
  const Instruction &call = program.instructions[index];
  const Instruction *next = index + 1 < program.instructions.size()
                                ? &program.instructions[index + 1]
                                : nullptr;
  BoundInstruction &step = steps[index];
  GemmPlan plan;
  std::string why, unused;
  if (!makeGemmPlan(call, /*allowTF32=*/false, plan, unused))
    return false;
  const bool hasReplacement = next && next->replacesEpilogue;
  const bool dropsEpilogue = hasReplacement && steps[index + 1].isSkipped;
  // Others may have written bits, or are about to read them.
  if (dropsEpilogue && hasBits(plan.epilogue))
    return false;
  if (hasReplacement && !dropsEpilogue)
    plan.epilogue = GemmEpilogue::Default;
  why = "cuBLASLt fails to run (" + describeCublasLtStatus(code) + ") " +
        describeGemmPlan(plan);
  const std::string before = notes;
  if (dropsEpilogue) {
    const std::string note =
        call.location + ": " + why + "; it runs without the epilogue, and a kernel\n";
    plan.epilogue = GemmEpilogue::Default;
    step.bias = step.aux = step.gemm = -1;
    if (askCublasLt(call, step, plan, why, unused))
      return false;
    for (size_t i = index + 1;
         i < steps.size() && program.instructions[i].replacesEpilogue; ++i)
      steps[i].isSkipped = false;
    notes += note;
    if (step.gemm >= 0)
      return true;
  }
  if (usePlainMatmul(call, step, plan, why))
    return true;
  notes = before;
  return false;
}

Status CudaExecutable::runGemm(const CublasLtMatmul &gemm, const Instruction &call,
                               const BoundInstruction &step) {
  const auto [a, b, c, d] = getMatrices(call);
  return gemm.run(*lt, gemm.algo, step.buffers[a], step.buffers[b], step.buffers[c],
                  step.buffers[d], workspace, workspaceSize, stream);
}

int CudaExecutable::launchPlainMatmul(BoundInstruction &step, const Instruction &call,
                                      std::string &error) {
  std::vector<void *> arguments;
  for (size_t matrix : getMatrices(call))
    arguments.push_back(&step.buffers[matrix]);
  for (int scales : {step.scalesA, step.scalesB})
    if (scales >= 0)
      arguments.push_back(&step.buffers[scales]);
  for (int64_t &number : step.plain.numbers)
    arguments.push_back(&number);
  return check(api.cudaLaunchKernel(
                   step.kernel, {static_cast<unsigned>(step.plain.blocks), 1, 1},
                   {unsigned(kPlainMatmulThreads), 1, 1}, arguments.data(), 0, stream),
               call.location + ": launching " + step.plain.function, error);
}

int CudaExecutable::launchGemm(size_t index, std::string &error) {
  BoundInstruction &step = steps[index];
  const Instruction &call = program.instructions[index];
  while (step.gemm >= 0) {
    CublasLtMatmul &gemm = gemms[step.gemm];
    if (!step.moving.empty()) {
      const char *what = nullptr;
      Status code = gemm.move(getPointers(step), what);
      if (code)
        return checkCublasLt(code, call.location + ": " + what, error);
    }
    Status code = runGemm(gemm, call, step);
    // What has begun to be recorded cannot be taken back.
    if (code == 0 || recording || !isRefusedAlgorithm(code))
      return checkCublasLt(code, call.location + ": a matmul", error);
    if (gemm.takeNext()) {
      notes += call.location + ": an algorithm fails to run (" +
               describeCublasLtStatus(code) + "); the next one is tried\n";
    } else if (!replaceGemm(index, code)) {
      return checkCublasLt(code, call.location + ": a matmul", error);
    }
  }
  return launchPlainMatmul(step, call, error);
}
