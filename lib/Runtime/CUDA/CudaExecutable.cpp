//===- CudaExecutable.cpp - A program on a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaExecutable.h"
#include "Range.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/KernelKind.h"
#include "mpt/Runtime/Runtime.h"

#include <algorithm>
#include <utility>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// A step of more launches is not recorded as a graph: its nodes would take more memory
/// than launching them takes time.
static constexpr int64_t kMostRecorded = 1 << 18;

/// Events that are used in turn while a step is measured.
static constexpr size_t kMarks = 4096;

/// Larger inputs are not copied while the step before runs: that takes their memory twice
/// more.
static constexpr int64_t kMostLanded = 256 << 20;

/// State of so many bytes is written without waiting, so many times within about a step.
static constexpr int64_t kWritten = 64, kWrites = 128;

/// In the place of a block's address.
static const char *const kAnywhere = reinterpret_cast<const char *>(1 << 20);

/// Between records of bad indices: device code takes addresses at multiples of it.
static constexpr int64_t kCheckBytes = 16;

int CudaExecutable::check(Error code, const std::string &what, std::string &error) {
  return checkCode(api, code, what, error);
}

int CudaExecutable::checkCublasLt(Status code, const std::string &what,
                                  std::string &error) {
  if (code == 0)
    return MPT_RT_OK;
  return fail(error, MPT_RT_RUN_FAILED,
              what + ": cuBLASLt " + describeCublasLtStatus(code));
}

/// Returns from the calling function if `expression` fails.
#define MPT_TRY(expression)                                                              \
  if (int status = (expression))                                                         \
  return status

void CudaExecutable::abandon() {
  // Their destructors call libraries whose own state is gone, or wait without end.
  (void)new std::vector<CublasLtMatmul>(std::move(gemms));
  (void)new std::vector<CudnnVariantPack>(std::move(packs));
  (void)lt.release();
  for (auto &[description, found] : graphs)
    (void)found.release();
  (void)dnn.release();
  (void)variants.release();
  (void)graphLoops.release();
  if (others)
    others->abandon();
  (void)others.release();
}

CudaExecutable::~CudaExecutable() {
  if (!started)
    return;
  DeviceGuard guard(api);
  if (!guard.selectToRelease(state->device) || state->isStuck) {
    abandon();
    return;
  }
  // What has failed may fail again; nothing can be done about that here.
  std::string ignored;
  if (synchronize("ending", ignored))
    api.cudaStreamSynchronize(state->stream);
  kept.reset();
  if (graph)
    api.cudaGraphExecDestroy(graph);
  others.reset();
  for (const BoundInstruction &step : steps)
    if (step.done)
      api.cudaEventDestroy(step.done);
  gemms.clear();
  lt.reset();
  packs.clear();
  graphs.clear();
  dnn.reset();
  for (Event mark : marks)
    if (mark)
      api.cudaEventDestroy(mark);
  if (inputStream)
    api.cudaStreamDestroy(inputStream);
  for (Event event : {copied[0], copied[1], taken[0], taken[1], ordered, writtenHalf[0],
                      writtenHalf[1]})
    if (event)
      api.cudaEventDestroy(event);
  variants.reset();
  graphLoops.reset();
  if (library)
    api.cudaLibraryUnload(library);
  if (staging)
    api.cudaFreeHost(staging);
  if (checked)
    api.cudaFreeHost(checked);
  if (written)
    api.cudaFreeHost(written);
  if (memory)
    api.cudaFree(memory);
  for (Stream branch : branchStreams)
    api.cudaStreamDestroy(branch);
  if (branchMemory)
    api.cudaFree(branchMemory);
}

int CudaExecutable::open(uint64_t numKernels, std::string &error) {
  if (numKernels && (!desc.kernels || !desc.images || desc.num_images == 0))
    return fail(error, MPT_RT_INVALID_PROGRAM, "the program holds no device code");
  for (uint64_t i = 0; i < numKernels; ++i) {
    const mpt_cuda_kernel &kernel = desc.kernels[i];
    if (!kernel.name || kernel.blocks[0] < 1 || kernel.blocks[0] > 0x7fffffff ||
        kernel.blocks[1] < 1 || kernel.blocks[1] > 0xffff || kernel.threads < 1 ||
        kernel.threads > 1024)
      return fail(error, MPT_RT_INVALID_PROGRAM,
                  "kernel " + std::to_string(i) + " of the program cannot be launched");
  }
  for (const Instruction &instruction : program.instructions) {
    if (!instruction.isCall())
      continue;
    std::string why;
    // What the newest can do, or the one that has what newer ones have not; a device's
    // own limits are checked at the first run.
    if (std::string other; !checkCudaCall(instruction, /*sm=*/999, why) &&
                           !checkCudaCall(instruction, /*sm=*/90, other) &&
                           !isPlainMatmul(instruction))
      return fail(error, MPT_RT_UNSUPPORTED, instruction.location + ": " + why);
  }
  if (!checkCudnnParts(error))
    return MPT_RT_INVALID_PROGRAM;
  hostOutput.assign(program.outputBytes, 0);
  return MPT_RT_OK;
}

char *CudaExecutable::addressOf(const BufferRef &ref) const {
  switch (ref.space) {
  case SpaceId::Arena:
    return memory + ref.offset;
  case SpaceId::State:
    return state->memory + ref.offset;
  case SpaceId::Output:
    return memory + outputAt + ref.offset;
  case SpaceId::Constant:
    return memory + constantAt[ref.offset] + ref.start;
  case SpaceId::Input:
    break;
  }
  return inputs[ref.offset].device + ref.start;
}

int CudaExecutable::checkFailure(std::string &error) const {
  if (state->failed)
    return fail(error, state->failed, state->failure);
  return failed ? fail(error, failed, failure) : int(MPT_RT_OK);
}

int CudaExecutable::write(const BufferRef &ref, const void *data, std::string &error) {
  MPT_TRY(checkFailure(error));
  if (!state->isUploaded) {
    std::memcpy(state->host.data() + ref.offset, data, ref.bytes());
    return MPT_RT_OK;
  }
  DeviceGuard guard(api);
  MPT_TRY(state->select(guard, error));
  // Memory that is not pinned is copied when the stream gets there, while the host waits.
  if (started && ref.bytes() <= kWritten)
    return writeSmall(ref, data, error);
  MPT_TRY(check(
      api.cudaMemcpyAsync(addressOf(ref), data, ref.bytes(), HostToDevice, state->stream),
      "writing state", error));
  // The caller may change `data` when this returns.
  return synchronize("writing state", error);
}

int CudaExecutable::writeSmall(const BufferRef &ref, const void *data,
                               std::string &error) {
  auto attempt = [&](Error code) { return check(code, "writing state", error); };
  if (!written) {
    void *pinned = nullptr;
    MPT_TRY(attempt(api.cudaMallocHost(&pinned, kWritten * kWrites)));
    written = static_cast<char *>(pinned);
  }
  const int64_t place = writes % kWrites, half = place / (kWrites / 2);
  if (place % (kWrites / 2) == 0) {
    // Places of this half are free again, and those of the other one are under way.
    if (writtenHalf[half]) {
      if (others)
        MPT_TRY(others->waitForEvent(writtenHalf[half], error));
      MPT_TRY(attempt(api.cudaEventSynchronize(writtenHalf[half])));
    } else {
      MPT_TRY(attempt(api.cudaEventCreateWithFlags(&writtenHalf[half], kEventNoTiming)));
    }
  }
  char *from = written + place * kWritten;
  std::memcpy(from, data, ref.bytes());
  MPT_TRY(attempt(api.cudaMemcpyAsync(addressOf(ref), from, ref.bytes(), HostToDevice,
                                      state->stream)));
  MPT_TRY(attempt(api.cudaEventRecord(writtenHalf[half], state->stream)));
  ++writes;
  return MPT_RT_OK;
}

int CudaExecutable::find(const BufferRef &ref, void *&data, std::string &error) {
  MPT_TRY(checkFailure(error));
  DeviceGuard guard(api);
  MPT_TRY(state->select(guard, error));
  int waited = callersStream ? int(MPT_RT_OK) : synchronize("the step failed", error);
  MPT_TRY(finishReading(waited, error));
  data = addressOf(ref);
  return MPT_RT_OK;
}

int CudaExecutable::read(const BufferRef &ref, void *data, std::string &error) {
  MPT_TRY(checkFailure(error));
  const bool isState = ref.space == SpaceId::State;
  if (isState ? !state->isUploaded : !started) {
    const std::vector<char> &host = isState ? state->host : hostOutput;
    std::memcpy(data, host.data() + ref.offset, ref.bytes());
    return MPT_RT_OK;
  }
  DeviceGuard guard(api);
  MPT_TRY(state->select(guard, error));
  // A copy to memory that is not pinned waits by itself, and without end.
  int status = others ? synchronize("the step failed", error) : int(MPT_RT_OK);
  if (!status)
    status = check(api.cudaMemcpyAsync(data, addressOf(ref), ref.bytes(), DeviceToHost,
                                       state->stream),
                   "reading", error);
  if (!status)
    status = synchronize("the step failed", error);
  return finishReading(status, error);
}

void CudaExecutable::keep(std::vector<BufferRef> refs) {
  kept.reset();
  keptRefs = std::move(refs);
}

std::vector<KeptResults::Part> CudaExecutable::getKeptParts(const char *own,
                                                            const char *ofState) const {
  std::vector<KeptResults::Part> parts;
  for (const BufferRef &ref : keptRefs) {
    const bool isState = ref.space == SpaceId::State;
    parts.push_back(
        {(isState ? ofState : own + outputAt) + ref.offset, ref.bytes(), isState});
  }
  if (!checks.empty())
    parts.push_back(
        {own + checksAt, kCheckBytes * static_cast<int64_t>(checks.size()), false});
  return parts;
}

int CudaExecutable::prepareKept(std::string &error) {
  if (keptRefs.empty() || kept)
    return MPT_RT_OK;
  auto made = std::make_unique<KeptResults>(state);
  MPT_TRY(made->allocate(getKeptParts(memory, state->memory), error));
  kept = std::move(made);
  return MPT_RT_OK;
}

int CudaExecutable::readKept(size_t index, int ago, void *data, std::string &error) {
  MPT_TRY(checkFailure(error));
  DeviceGuard guard(api);
  MPT_TRY(state->select(guard, error));
  int status = MPT_RT_OK;
  if (const Event event = kept->getEvent(ago)) {
    status = others ? others->waitForEvent(event, error) : int(MPT_RT_OK);
    if (!status)
      status = check(api.cudaEventSynchronize(event), "the step failed", error);
    if (!status)
      kept->setWaited(ago);
  }
  if (!status && !checks.empty())
    // Of that run: a later one may have met a bad index, too.
    status = checkIndices(kept->find(ago, keptRefs.size()), error);
  if (!status)
    std::memcpy(data, kept->find(ago, index), keptRefs[index].bytes());
  return keepFailure(status, error);
}

int CudaExecutable::takeSnapshot(int64_t bytes, std::unique_ptr<StateSnapshot> &snapshot,
                                 std::string &error) {
  MPT_TRY(checkFailure(error));
  if (!state->isUploaded)
    return MPT_RT_OK;
  auto made = std::make_unique<StateSnapshot>(state);
  bool fits = false;
  MPT_TRY(made->take(bytes, fits, error));
  if (fits)
    snapshot = std::move(made);
  return MPT_RT_OK;
}

int CudaExecutable::finishReading(int status, std::string &error) {
  return keepFailure(status ? status : checkIndices(error), error);
}

int CudaExecutable::keepFailure(int status, const std::string &error) {
  if (status) {
    // What goes wrong on the device shows here.
    state->failed = status;
    state->failure = error;
  }
  return status;
}

int CudaExecutable::checkIndices(const char *records, std::string &error) {
  // State may be read of a program that has not run, since another has.
  if (!records)
    return MPT_RT_OK;
  for (size_t i = 0; i < checks.size(); ++i) {
    auto *place = reinterpret_cast<const uint64_t *>(records + i * kCheckBytes);
    // A copy may be under way.
    uint64_t record = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (record == 0)
      continue;
    const Instruction &instruction = program.instructions[checks[i]];
    badIndex = BadIndex{static_cast<int32_t>(record),
                        static_cast<int64_t>(0xffffffff - (record >> 32))};
    return fail(error, MPT_RT_RUN_FAILED,
                instruction.location + ": " +
                    badIndex->describe(desc.kernels[instruction.kernel].bound));
  }
  return MPT_RT_OK;
}

int CudaExecutable::start(DeviceGuard &guard, std::string &error) {
  int status = state->start(guard, error);
  if (status == MPT_RT_OK) {
    // From here on there may be something to destroy.
    started = true;
    status = loadKernels(error);
  }
  if (status == MPT_RT_OK) {
    steps.resize(program.instructions.size());
    status = planCudnn(error);
  }
  if (status == MPT_RT_OK)
    status = allocate(error);
  if (status == MPT_RT_OUT_OF_MEMORY && dropLargeCudnnPlans())
    status = allocate(error);
  if (status == MPT_RT_OK)
    status = prepare(error);
  if (status == MPT_RT_OK)
    status = chooseVariants(error);
  const bool meets = communicator && std::any_of(program.instructions.begin(),
                                                 program.instructions.end(), isExchange);
  if (meets)
    status = connectRanks(status, error);
  if (status == MPT_RT_OK)
    status = tune(error);
  return status;
}

int CudaExecutable::connectRanks(int status, std::string &error) {
  // The others hear of a rank that cannot take part.
  auto made = std::make_unique<NcclRanks>(api, *communicator);
  int met = made->connect(nccl, state->device, status ? error : "", error);
  if (status || met)
    return status ? status : met;
  others = std::move(made);
  return MPT_RT_OK;
}

int CudaExecutable::synchronize(const std::string &what, std::string &error) {
  if (others)
    MPT_TRY(others->waitForStream(state->stream, error));
  return check(api.cudaStreamSynchronize(state->stream), what, error);
}

int CudaExecutable::loadKernels(std::string &error) {
  if (desc.num_images == 0)
    return MPT_RT_OK;
  // Machine code runs on its own generation from its own revision on; PTX on
  // everything newer.
  std::vector<const mpt_cuda_image *> usable;
  std::string compiledFor;
  auto known = static_cast<uint64_t>(state->architecture);
  std::vector<std::string> chips;
  for (uint64_t i = 0; i < desc.num_images; ++i) {
    const mpt_cuda_image &image = desc.images[i];
    std::string name = "sm_" + std::to_string(image.architecture);
    // Machine code and PTX of one chip are two images.
    if (std::find(chips.begin(), chips.end(), name) == chips.end()) {
      chips.push_back(name);
      compiledFor += (chips.size() > 1 ? ", " : "") + name;
    }
    if (!image.is_specific && image.architecture <= known &&
        (image.is_ptx || image.architecture / 10 == known / 10))
      usable.push_back(&image);
  }
  // Machine code first, then the newest.
  std::sort(usable.begin(), usable.end(),
            [](const mpt_cuda_image *a, const mpt_cuda_image *b) {
              return a->is_ptx != b->is_ptx ? a->is_ptx < b->is_ptx
                                            : a->architecture > b->architecture;
            });
  if (usable.empty())
    return fail(error, MPT_RT_UNSUPPORTED,
                "the program is compiled for " + compiledFor + " but this GPU is an sm_" +
                    std::to_string(state->architecture) +
                    (state->architecture < 80 ? "; MPT compiles for sm_80 and newer"
                                              : "; compile it with --chip=sm_" +
                                                    std::to_string(state->architecture)));
  // A driver may be too old for the toolkit that made the machine code, and compile PTX.
  auto isRefused = [](Error code) {
    return code == kInvalidKernelImage || code == kNoKernelImageForDevice ||
           code == kInvalidPtx || code == kJitCompilerNotFound ||
           code == kUnsupportedPtxVersion;
  };
  Error first = kSuccess;
  for (const mpt_cuda_image *image : usable) {
    Error code = api.cudaLibraryLoadData(&library, image->data, nullptr, nullptr, 0,
                                         nullptr, nullptr, 0);
    if (code != kSuccess)
      (void)api.cudaGetLastError();
    else if (first != kSuccess)
      notes += describeVersions() + " and refuses the machine code (" +
               api.cudaGetErrorString(first) + "); it has compiled the PTX of sm_" +
               std::to_string(image->architecture) + "\n";
    if (first == kSuccess)
      first = code;
    if (code == kSuccess)
      return MPT_RT_OK;
    if (!isRefused(code))
      return check(code, "the kernels cannot be loaded", error);
  }
  int status = check(first, "the kernels cannot be loaded", error);
  error += "; " + describeVersions() +
           "; install a newer driver, or compile the step with ptxas of a CUDA that this "
           "one knows (--cuda-toolkit)";
  return status;
}

int CudaExecutable::chooseVariants(std::string &error) {
  if (desc.num_variants == 0)
    return MPT_RT_OK;
  std::string why;
  variants = std::make_unique<AttentionVariants>(api, desc);
  variants->load(state->architecture, why);
  if (!why.empty())
    notes += "attention by wgmma does not run: " + why + "\n";
  for (uint64_t i = 0; i < desc.num_variants; ++i)
    if (const mpt_cuda_variant *variant = variants->find(desc.variants[i].kernel))
      MPT_TRY(chooseVariant(
          *variant, getKernelKind(desc.kernels[variant->kernel].name) + " by wgmma",
          error));
  return MPT_RT_OK;
}

int CudaExecutable::chooseVariant(const mpt_cuda_variant &variant,
                                  const std::string &name, std::string &error) {
  // Equal attentions share a kernel. What cuDNN replaces may be measured to be faster.
  std::vector<size_t> users;
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].launch && !steps[i].isSkipped &&
        (!steps[i].isReplaced || !tuningFile.empty()) &&
        program.instructions[i].kernel == variant.kernel)
      users.push_back(i);
  if (users.empty())
    return MPT_RT_OK;
  // The check writes to its buffers, which state and constants must outlive.
  auto mayOverwrite = [&](size_t user) {
    const std::vector<BufferRef> &refs = program.instructions[user].refs;
    return std::none_of(refs.begin(), refs.end(), [](const BufferRef &ref) {
      return ref.space == SpaceId::State || ref.space == SpaceId::Constant;
    });
  };
  const auto found = std::find_if(users.begin(), users.end(), mayOverwrite);
  const size_t user = found == users.end() ? users.front() : *found;
  const std::string &location = program.instructions[user].location;
  std::string why = "it cannot be checked without overwriting state or constants";
  if (found != users.end()) {
    Error code = kSuccess;
    why = variants->check(variant, steps[user].kernel, steps[user].launch->threads,
                          steps[user].buffers, state->stream, code);
    if (code) {
      const std::string what = location + ": checking " + name;
      int status = check(code, what, error);
      if (code == kNotReady) {
        state->isStuck = true;
        error = what + ": it has not ended within " +
                std::to_string(AttentionVariants::kMostSeconds) + " s";
      }
      error += "; compile with --attention-variant=mma";
      return keepFailure(status, error);
    }
  }
  if (why.empty()) {
    for (size_t i : users)
      steps[i].variant = &variant;
    return MPT_RT_OK;
  }
  notes += location + ": " + name + " does not run: " + why + "\n";
  variants->drop(variant);
  return MPT_RT_OK;
}

std::string CudaExecutable::describeVersions() const {
  auto describe = [](int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  };
  int driver = 0, runtime = 0;
  if (api.cudaDriverGetVersion(&driver) || api.cudaRuntimeGetVersion(&runtime))
    return "the driver does not tell its version";
  return "the driver is for CUDA " + describe(driver) + ", cudart is of CUDA " +
         describe(runtime);
}

/// Whether cuBLASLt or cuDNN may need a workspace.
static bool needsWorkspace(const Program &program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(),
                     [](const Instruction &instruction) {
                       return isCudnnCall(instruction) ||
                              instruction.getCall<MatmulCall>() != nullptr;
                     });
}

int64_t CudaExecutable::layOut() {
  int64_t end = alignUp(program.arenaBytes);
  auto take = [&](int64_t bytes) {
    int64_t at = end;
    end = alignUp(end + bytes);
    return at;
  };
  workspaceAt =
      take(needsWorkspace(program) ? std::max(kGemmWorkspaceBytes, workspaceBytes) : 0);
  checks.clear();
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    if (!instruction.isCall() && desc.kernels[instruction.kernel].bound != 0)
      checks.push_back(i);
  }
  // Next to each other: results are copied together.
  outputAt = take(program.outputBytes);
  checksAt = take(kCheckBytes * static_cast<int64_t>(checks.size()));
  rankAt = take(sizeof(rank));
  countsAt = take(GraphLoops::kCountBytes * static_cast<int64_t>(program.loops.size()));
  constantAt.clear();
  for (int64_t bytes : getConstantBytes(program))
    constantAt.push_back(take(bytes));
  inputs.clear();
  stagingBytes = 0;
  for (const NamedTensor &tensor : program.tensors)
    if (tensor.buffer.space == SpaceId::Input) {
      size_t number = tensor.buffer.offset;
      inputs.resize(std::max(inputs.size(), number + 1));
      inputAt.resize(inputs.size());
      inputs[number].bytes = tensor.buffer.bytes();
      inputs[number].staging = stagingBytes;
      inputAt[number] = take(tensor.buffer.bytes());
      stagingBytes += alignUp(tensor.buffer.bytes());
    }
  landingAt = take(stagingBytes <= kMostLanded ? 2 * stagingBytes : 0);
  return std::max<int64_t>(end, 256);
}

int64_t CudaExecutable::countBytes() {
  // Laying out again would forget where the inputs lie.
  int64_t bytes = memory ? allocatedBytes : layOut() + state->bytesToAllocate();
  if (kept)
    bytes += kept->countBytes();
  else if (!keptRefs.empty())
    // Where blocks will lie does not matter.
    bytes += KeptResults::countBytes(getKeptParts(kAnywhere, kAnywhere));
  return bytes + state->snapshotBytes;
}

int CudaExecutable::allocate(std::string &error) {
  rank = communicator ? communicator->rank : 0;
  const int64_t totalBytes = layOut();
  void *block = nullptr;
  // With the state, unless another program has taken memory for it.
  const int64_t needed = totalBytes + state->bytesToAllocate();
  Error code = api.cudaMalloc(&block, totalBytes);
  memory = static_cast<char *>(block);
  if (code == kSuccess)
    code = state->allocate();
  if (code == kOutOfMemory) {
    if (memory)
      api.cudaFree(memory);
    memory = nullptr;
    size_t unused = 0, total = 0;
    (void)api.cudaMemGetInfo(&unused, &total);
    int64_t fixed = needed - program.arenaBytes;
    auto fits = static_cast<int64_t>(unused) - fixed;
    return fail(
        error, MPT_RT_OUT_OF_MEMORY,
        "the program needs " + std::to_string(needed) + " bytes of the GPU's memory (" +
            std::to_string(program.arenaBytes) + " of them for values of a step), " +
            std::to_string(unused) + " of " + std::to_string(total) + " are free; " +
            (static_cast<int64_t>(unused) >= needed
                 ? std::string("not in one piece, it seems")
             : fits > 0 ? "a step planned for at most " + std::to_string(fits) +
                              " bytes of values would fit"
                        : std::string("what is not values of a step (state, data") +
                              (needsWorkspace(program) ? ", 32 MiB for cuBLASLt" : "") +
                              ") does not fit: " + std::to_string(fixed) + " bytes"));
  }
  MPT_TRY(check(code, "memory of the GPU", error));
  allocatedBytes = needed;
  useBranch(0);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].device = memory + inputAt[i];
  if (stagingBytes > 0) {
    void *pinned = nullptr;
    MPT_TRY(check(api.cudaMallocHost(&pinned, 2 * stagingBytes), "pinned memory", error));
    staging = static_cast<char *>(pinned);
    for (Event *event : {&copied[0], &copied[1], &taken[0], &taken[1]})
      MPT_TRY(
          check(api.cudaEventCreateWithFlags(event, kEventNoTiming), "an event", error));
  }
  if (stagingBytes > 0 && stagingBytes <= kMostLanded) {
    landing = memory + landingAt;
    MPT_TRY(check(api.cudaStreamCreateWithFlags(&inputStream, kNonBlocking), "a stream",
                  error));
  }
  if (!checks.empty()) {
    void *pinned = nullptr;
    MPT_TRY(check(api.cudaMallocHost(&pinned, kCheckBytes * checks.size()),
                  "pinned memory", error));
    checked = static_cast<char *>(pinned);
    std::memset(checked, 0, kCheckBytes * checks.size());
  }
  MPT_TRY(check(api.cudaMemsetAsync(memory, 0, totalBytes, state->stream), "clearing",
                error));
  auto upload = [&](int64_t at, const void *data, size_t bytes) {
    return bytes == 0 ? MPT_RT_OK
                      : check(api.cudaMemcpyAsync(memory + at, data, bytes, HostToDevice,
                                                  state->stream),
                              "copying state", error);
  };
  MPT_TRY(state->upload(error));
  MPT_TRY(upload(rankAt, &rank, sizeof(rank)));
  const std::vector<int64_t> constantBytes = getConstantBytes(program);
  for (size_t i = 0; i < program.constants.size(); ++i) {
    // What has one value is filled a MiB at a time; elements have at most 8 bytes.
    const std::string &value = program.constants[i];
    const int64_t bytes = constantBytes[i];
    std::string filled;
    if (bytes > static_cast<int64_t>(value.size())) {
      filled.resize(std::min<int64_t>(bytes, 1 << 20));
      fillConstant(value, filled.size(), filled.data());
    }
    // The call returns when it has read pageable memory.
    const std::string &piece = filled.empty() ? value : filled;
    for (int64_t at = 0; at < bytes; at += piece.size())
      MPT_TRY(upload(constantAt[i] + at, piece.data(),
                     std::min<int64_t>(piece.size(), bytes - at)));
  }
  return check(api.cudaStreamSynchronize(state->stream), "copying state", error);
}

/// Whether a loop with a condition begins while an exchange is under way: its stream
/// would have to join the recorded one before the loop's node.
static bool crossesExchange(const Program &program) {
  int64_t underWay = 0;
  size_t loop = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    for (; loop < program.loops.size() && program.loops[loop].begin == i; ++loop)
      if (program.loops[loop].condition && underWay > 0)
        return true;
    const Instruction &call = program.instructions[i];
    if (call.getCall<WaitCall>())
      --underWay;
    else if (call.call && isAsync(*call.call))
      ++underWay;
  }
  return false;
}

int CudaExecutable::prepare(std::string &error) {
  MPT_TRY(findBits(error));
  int64_t numChecks = 0;
  bool hasEpilogue = false;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    BoundInstruction &step = steps[i];
    for (const BufferRef &ref : instruction.refs) {
      if (!ref.strides.empty())
        step.moving.push_back({step.buffers.size(), addressOf(ref)});
      step.buffers.push_back(addressOf(ref));
    }
    if (!instruction.isCall()) {
      step.launch = &desc.kernels[instruction.kernel];
      MPT_TRY(check(api.cudaLibraryGetKernel(&step.kernel, library, step.launch->name),
                    instruction.location + ": kernel " + step.launch->name, error));
      if (step.launch->bound != 0)
        step.buffers.push_back(memory + checksAt + kCheckBytes * numChecks++);
      step.isSkipped = instruction.replacesEpilogue && hasEpilogue && !step.isReplaced;
    } else if (step.graph) {
      CudnnVariantPack pack(dnn->api);
      const char *what = nullptr;
      if (Status code =
              pack.create(*step.graph, step.buffers, memory + workspaceAt, what))
        return fail(error, MPT_RT_RUN_FAILED,
                    instruction.location + ": " + what + ": " + dnn->api.nameOf(code));
      step.pack = static_cast<int>(packs.size());
      packs.push_back(std::move(pack));
    } else if (step.isReplaced) {
      // Nothing more to prepare.
    } else if (instruction.getCall<MatmulCall>()) {
      const Instruction *next =
          i + 1 < program.instructions.size() ? &program.instructions[i + 1] : nullptr;
      MPT_TRY(prepareGemm(instruction, next, step, hasEpilogue, error));
    } else if (!instruction.getCall<WaitCall>() && !isExchange(instruction)) {
      step.copyBytes = instruction.refs[0].bytes();
    }
  }
  MPT_TRY(prepareExchanges(error));
  // Where the buffers' addresses lie is known now that the list is whole.
  for (BoundInstruction &step : steps)
    for (void *&buffer : step.buffers)
      step.arguments.push_back(&buffer);
  for (size_t i = 0; i < steps.size(); ++i)
    numLaunches = std::min(numLaunches + countIterations(program, i), kMostRecorded + 1);
  if (std::none_of(program.loops.begin(), program.loops.end(),
                   [](const Loop &loop) { return loop.condition.has_value(); }))
    return MPT_RT_OK;
  std::string why;
  auto made = std::make_unique<GraphLoops>(api);
  if (crossesExchange(program))
    why = "an exchange between ranks is under way beside one";
  if (why.empty() && made->load(why)) {
    graphLoops = std::move(made);
  } else {
    notes += "no CUDA graph has the loops that end when a value is false (" + why +
             "); the host reads the value before each iteration\n";
    numLaunches = kMostRecorded + 1;
  }
  return MPT_RT_OK;
}

int CudaExecutable::launch(size_t index, const std::vector<int64_t> &iterations,
                           std::string &error) {
  BoundInstruction &step = steps[index];
  const Instruction &instruction = program.instructions[index];
  if (step.isSkipped || step.isReplaced)
    return MPT_RT_OK;
  for (auto [position, base] : step.moving)
    step.buffers[position] =
        base + getDistance(instruction.refs[position].strides, iterations);
  if (step.variant)
    return check(variants->launch(*step.variant, step.buffers, /*isCheck=*/false, stream),
                 instruction.location + ": launching " + step.variant->name, error);
  if (step.launch) {
    Dim3 grid = {static_cast<unsigned>(step.launch->blocks[0]),
                 static_cast<unsigned>(step.launch->blocks[1]), 1};
    Dim3 block = {static_cast<unsigned>(step.launch->threads), 1, 1};
    return check(
        api.cudaLaunchKernel(step.kernel, grid, block, step.arguments.data(), 0, stream),
        instruction.location + ": launching " + step.launch->name, error);
  }
  if (step.graph)
    return launchCudnn(index, error);
  if (instruction.getCall<WaitCall>() || isExchange(instruction))
    return launchExchange(index, error);
  if (instruction.getCall<RankCall>())
    return check(api.cudaMemcpyAsync(step.buffers[0], memory + rankAt, step.copyBytes,
                                     DeviceToDevice, state->stream),
                 instruction.location + ": copying", error);
  if (instruction.getCall<MatmulCall>())
    return launchGemm(index, error);
  return check(api.cudaMemcpyAsync(step.buffers[1], step.buffers[0], step.copyBytes,
                                   DeviceToDevice, stream),
               instruction.location + ": copying", error);
}

//===----------------------------------------------------------------------===//
// Exchanges between ranks
//===----------------------------------------------------------------------===//

int CudaExecutable::prepareExchanges(std::string &error) {
  /// Of a buffer, which NCCL reads or writes.
  struct Place {
    const char *begin, *end;
    bool meets(const Place &other) const {
      return begin < other.end && other.begin < end;
    }
  };
  std::vector<Place> read, written;
  size_t first = 0;
  bool isOpen = false;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &call = program.instructions[i];
    if (!isExchange(call)) {
      isOpen = false;
      continue;
    }
    sentBytes += countIterations(program, i) * getSentBytes(call, rank);
    std::vector<Place> ins, outs;
    for (uint32_t j = 0; j < call.numInputs + call.numOutputs; ++j) {
      const char *begin = static_cast<char *>(steps[i].buffers[j]);
      (j < call.numInputs ? ins : outs).push_back({begin, begin + call.refs[j].bytes()});
    }
    auto meet = [](const std::vector<Place> &some, const std::vector<Place> &others) {
      return std::any_of(some.begin(), some.end(), [&](const Place &one) {
        return std::any_of(others.begin(), others.end(),
                           [&](const Place &other) { return one.meets(other); });
      });
    };
    if (isOpen && program.loops.empty() &&
        isAsync(*call.call) == isAsync(*program.instructions[first].call) &&
        !meet(ins, written) && !meet(outs, written) && !meet(outs, read)) {
      ++steps[first].exchanges;
    } else {
      first = i;
      isOpen = true;
      steps[i].exchanges = 1;
      read.clear();
      written.clear();
      MPT_TRY(check(api.cudaEventCreateWithFlags(&steps[i].done, kEventNoTiming),
                    "an event", error));
    }
    read.insert(read.end(), ins.begin(), ins.end());
    written.insert(written.end(), outs.begin(), outs.end());
  }
  return MPT_RT_OK;
}

int CudaExecutable::copyExchanged(size_t index, std::string &error) {
  const Instruction &call = program.instructions[index];
  for (uint32_t i = 0; i < call.numInputs; ++i)
    if (const int64_t bytes = call.refs[i].bytes();
        bytes > 0 && steps[index].buffers[i] != steps[index].buffers[call.numInputs + i])
      MPT_TRY(check(api.cudaMemcpyAsync(steps[index].buffers[call.numInputs + i],
                                        steps[index].buffers[i], bytes, DeviceToDevice,
                                        state->stream),
                    call.location + ": copying", error));
  return MPT_RT_OK;
}

int CudaExecutable::launchExchange(size_t index, std::string &error) {
  const Instruction &call = program.instructions[index];
  if (call.getCall<WaitCall>()) {
    if (!others)
      return MPT_RT_OK;
    Event done = pending.front();
    pending.pop_front();
    return others->join(state->stream, done, error);
  }
  const BoundInstruction &step = steps[index];
  if (!others)
    return copyExchanged(index, error);
  if (step.exchanges == 0)
    return MPT_RT_OK;
  std::vector<NcclRanks::Exchange> group;
  for (size_t i = index; i < index + step.exchanges; ++i)
    group.push_back({&program.instructions[i], steps[i].buffers.data()});
  MPT_TRY(others->begin(group, state->stream, step.done, error));
  if (!isAsync(*call.call))
    return others->join(state->stream, step.done, error);
  pending.insert(pending.end(), step.exchanges, step.done);
  return MPT_RT_OK;
}

int CudaExecutable::visitLoop(size_t number, std::vector<int64_t> &iterations,
                              const Visit &visit, std::string &error) {
  const Loop &loop = program.loops[number];
  auto visitBody = [&] {
    return visitRange(loop.begin, loop.end, number + 1, iterations, visit, error);
  };
  const char *value = nullptr;
  if (loop.condition)
    value = addressOf(*loop.condition) + getDistance(loop.condition->strides, iterations);
  if (value && recording) {
    const char *what = "recording a loop";
    GraphLoops::Open open;
    MPT_TRY(check(graphLoops->begin(state->stream, value,
                                    memory + countsAt + GraphLoops::kCountBytes * number,
                                    loop.count, open),
                  what, error));
    MPT_TRY(visitBody());
    return check(graphLoops->end(state->stream, open), what, error);
  }
  for (int64_t i = 0; i < loop.count; ++i) {
    iterations.back() = i;
    if (value) {
      char goesOn = 0;
      MPT_TRY(check(api.cudaMemcpyAsync(&goesOn, value, 1, DeviceToHost, state->stream),
                    "reading the condition of a loop", error));
      MPT_TRY(synchronize("the step failed", error));
      if (!goesOn)
        break;
    }
    MPT_TRY(visitBody());
  }
  return MPT_RT_OK;
}

int CudaExecutable::visitRange(size_t begin, size_t end, size_t loop,
                               std::vector<int64_t> &iterations, const Visit &visit,
                               std::string &error) {
  const std::vector<Loop> &loops = program.loops;
  while (begin < end) {
    if (loop == loops.size() || loops[loop].begin != begin) {
      MPT_TRY(visit(begin++, iterations));
      continue;
    }
    iterations.push_back(0);
    MPT_TRY(visitLoop(loop, iterations, visit, error));
    iterations.pop_back();
    begin = loops[loop].end;
    while (loop < loops.size() && loops[loop].begin < begin)
      ++loop;
  }
  return MPT_RT_OK;
}

int CudaExecutable::visitAll(const Visit &visit, std::string &error) {
  std::vector<int64_t> iterations;
  return visitRange(0, steps.size(), 0, iterations, visit, error);
}

int CudaExecutable::enqueue(std::string &error) {
  pending.clear();
  MPT_TRY(visitAll(
      [&](size_t i, const std::vector<int64_t> &iterations) {
        return launch(i, iterations, error);
      },
      error));
  return copyChecks(error);
}

int CudaExecutable::order(Stream earlier, Stream later, std::string &error) {
  const char *what = "waiting for the caller's stream";
  if (!ordered)
    MPT_TRY(
        check(api.cudaEventCreateWithFlags(&ordered, kEventNoTiming), "an event", error));
  MPT_TRY(check(api.cudaEventRecord(ordered, earlier), what, error));
  return check(api.cudaStreamWaitEvent(later, ordered, 0), what, error);
}

int CudaExecutable::copyChecks(std::string &error) {
  if (checks.empty())
    return MPT_RT_OK;
  return check(api.cudaMemcpyAsync(checked, memory + checksAt,
                                   kCheckBytes * checks.size(), DeviceToHost,
                                   state->stream),
               "copying what indices were wrong", error);
}

int CudaExecutable::profile(std::string &error) {
  pending.clear();
  marks.resize(std::min<size_t>(numLaunches, kMarks) + 1, nullptr);
  for (Event &mark : marks)
    if (!mark)
      MPT_TRY(check(api.cudaEventCreateWithFlags(&mark, 0), "an event", error));
  // Negative: it has not run.
  std::vector<double> milliseconds(steps.size(), -1);
  // The instructions between the marks so far.
  std::vector<size_t> measured;
  auto read = [&]() -> int {
    if (others)
      MPT_TRY(others->waitForEvent(marks[measured.size()], error));
    MPT_TRY(check(api.cudaEventSynchronize(marks[measured.size()]), "the step failed",
                  error));
    for (size_t i = 0; i < measured.size(); ++i) {
      float found = 0;
      MPT_TRY(check(api.cudaEventElapsedTime(&found, marks[i], marks[i + 1]), "measuring",
                    error));
      double &sum = milliseconds[measured[i]];
      sum = std::max(sum, 0.0) + found;
    }
    measured.clear();
    return MPT_RT_OK;
  };
  MPT_TRY(check(api.cudaEventRecord(marks[0], state->stream), "measuring", error));
  MPT_TRY(visitAll(
      [&](size_t i, const std::vector<int64_t> &iterations) -> int {
        const BoundInstruction &step = steps[i];
        if (step.isSkipped || step.isReplaced)
          return MPT_RT_OK;
        Range range(
            (step.variant                       ? std::string(step.variant->name)
             : step.launch                      ? std::string(step.launch->name)
             : step.kernel                      ? step.plain.function
             : step.gemm >= 0                   ? std::string("matmul")
             : getConv(program.instructions[i]) ? std::string("convolution")
             : isExchange(program.instructions[i]) || isCudnnCall(program.instructions[i])
                 ? std::string(getName(*program.instructions[i].call))
                 : std::string("copy")) +
            " " + program.instructions[i].location);
        if (measured.size() + 1 == marks.size()) {
          MPT_TRY(read());
          MPT_TRY(
              check(api.cudaEventRecord(marks[0], state->stream), "measuring", error));
        }
        MPT_TRY(launch(i, iterations, error));
        measured.push_back(i);
        return check(api.cudaEventRecord(marks[measured.size()], state->stream),
                     "measuring", error);
      },
      error));
  MPT_TRY(copyChecks(error));
  MPT_TRY(read());
  profiled.clear();
  for (size_t i = 0; i < steps.size(); ++i) {
    if (milliseconds[i] < 0)
      continue;
    const BoundInstruction &step = steps[i];
    const char *function = step.variant  ? step.variant->name
                           : step.launch ? step.launch->name
                                         : nullptr;
    profiled.push_back(
        {i, function ? getKernelKind(function) : getName(*program.instructions[i].call),
         milliseconds[i]});
  }
  return MPT_RT_OK;
}

BranchPlan CudaExecutable::planBranches() const {
  std::vector<bool> skipped;
  for (const BoundInstruction &step : steps)
    skipped.push_back(step.isSkipped || step.isReplaced);
  return rt::planBranches(program, skipped, state->branchRates, mostBranches);
}

void CudaExecutable::useBranch(uint32_t branch) {
  const bool isFirst = branch == 0;
  stream = isFirst ? state->stream : branchStreams[branch - 1];
  workspace = isFirst ? memory + workspaceAt : branchMemory + (branch - 1) * branchBytes;
  workspaceSize = isFirst ? kGemmWorkspaceBytes : branchBytes;
}

int CudaExecutable::prepareBranches(std::string &error) {
  const BranchPlan plan = planBranches();
  if (plan.count == 1)
    return MPT_RT_OK;
  branchBytes = gemmWorkspace;
  if (const int64_t bytes = (plan.count - 1) * branchBytes) {
    void *block = nullptr;
    const Error code = api.cudaMalloc(&block, bytes);
    if (code == kOutOfMemory) {
      (void)api.cudaGetLastError();
      return MPT_RT_OK;
    }
    MPT_TRY(check(code, "memory of the GPU", error));
    branchMemory = static_cast<char *>(block);
    allocatedBytes += bytes;
  }
  for (uint32_t i = 1; i < plan.count; ++i) {
    Stream made = nullptr;
    MPT_TRY(check(api.cudaStreamCreateWithFlags(&made, kNonBlocking), "a stream", error));
    branchStreams.push_back(made);
  }
  return MPT_RT_OK;
}

int CudaExecutable::enqueueBranches(const BranchPlan &plan,
                                    const std::vector<Event> &events,
                                    std::string &error) {
  const char *what = "ordering the branches of the step";
  auto wait = [&](uint32_t event) {
    return check(api.cudaStreamWaitEvent(stream, events[event], 0), what, error);
  };
  auto record = [&](uint32_t event) {
    return check(api.cudaEventRecord(events[event], stream), what, error);
  };
  // As in a step's `after`; the first event is where other branches begin.
  uint32_t last[kMostBranches] = {};
  std::vector<bool> isAwaited(events.size(), false);
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    last[plan.steps[i].branch] = i + 1;
    for (uint32_t earlier : plan.steps[i].after)
      isAwaited[earlier] = true;
  }
  for (uint32_t earlier : last)
    isAwaited[earlier] = true;
  MPT_TRY(record(0));
  bool begun[kMostBranches] = {true};
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    const BranchStep &step = plan.steps[i];
    useBranch(step.branch);
    if (!std::exchange(begun[step.branch], true))
      MPT_TRY(wait(0));
    for (uint32_t earlier : step.after)
      if (earlier != 0)
        MPT_TRY(wait(earlier));
    MPT_TRY(launch(step.instruction, {}, error));
    if (isAwaited[i + 1])
      MPT_TRY(record(i + 1));
  }
  useBranch(0);
  for (uint32_t branch = 1; branch < plan.count; ++branch)
    MPT_TRY(wait(last[branch]));
  return copyChecks(error);
}

int CudaExecutable::capture(std::string &error) {
  BranchPlan plan = planBranches();
  // Matmuls may do without their epilogues since streams and memory were taken.
  if (plan.count > 1 + branchStreams.size() || gemmWorkspace > branchBytes)
    plan.count = 1;
  // Where branches begin, and after each step of the plan.
  struct Events {
    const Api &api;
    std::vector<Event> all;
    ~Events() {
      for (Event event : all)
        api.cudaEventDestroy(event);
    }
  } events{api, {}};
  while (plan.count > 1 && events.all.size() <= plan.steps.size()) {
    Event made = nullptr;
    MPT_TRY(
        check(api.cudaEventCreateWithFlags(&made, kEventNoTiming), "an event", error));
    events.all.push_back(made);
  }
  MPT_TRY(check(api.cudaStreamBeginCapture(state->stream, kCaptureThreadLocal),
                "recording the step", error));
  recording = true;
  int status = plan.count > 1 ? enqueueBranches(plan, events.all, error) : enqueue(error);
  recording = false;
  useBranch(0);
  Graph recorded = nullptr;
  Error code = graphLoops ? graphLoops->endCapture(state->stream, recorded)
                          : api.cudaStreamEndCapture(state->stream, &recorded);
  if (status == MPT_RT_OK)
    status = check(code, "recording the step", error);
  if (status == MPT_RT_OK)
    status = check(api.cudaGraphInstantiate(&graph, recorded, 0),
                   "making a graph of the step", error);
  if (recorded)
    api.cudaGraphDestroy(recorded);
  return status;
}

int CudaExecutable::copyInputs(const std::vector<const void *> &data,
                               std::string &error) {
  const int64_t half = copies % 2;
  char *place = staging + half * stagingBytes, *arrived = landing + half * stagingBytes;
  auto wait = [&](Event event) -> int {
    // An exchange precedes that copy.
    if (others)
      MPT_TRY(others->waitForEvent(event, error));
    return check(api.cudaEventSynchronize(event), "copying inputs", error);
  };
  auto copy = [&](void *to, const void *from, int64_t bytes, int kind, Stream stream) {
    return check(api.cudaMemcpyAsync(to, from, bytes, kind, stream), "copying inputs",
                 error);
  };
  isOnDevice.resize(inputs.size());
  const bool hasDevice =
      std::find(isOnDevice.begin(), isOnDevice.end(), true) != isOnDevice.end();
  const bool hasHost =
      std::find(isOnDevice.begin(), isOnDevice.end(), false) != isOnDevice.end();
  // Pinned memory is free again.
  if (hasHost && copies >= 2)
    MPT_TRY(wait(copied[half]));
  Stream arriving = landing ? inputStream : state->stream;
  if (hasHost && landing && copies >= 2)
    MPT_TRY(check(api.cudaStreamWaitEvent(arriving, taken[half], 0), "copying inputs",
                  error));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input &input = inputs[i];
    if (isOnDevice[i])
      continue;
    std::memcpy(place + input.staging, data[i], input.bytes);
    MPT_TRY(copy(landing ? arrived + input.staging : input.device, place + input.staging,
                 input.bytes, HostToDevice, arriving));
  }
  // What the step waits for is its own inputs, not those of the steps after it.
  MPT_TRY(check(api.cudaEventRecord(copied[half], arriving), "copying inputs", error));
  if (hasHost && landing)
    MPT_TRY(check(api.cudaStreamWaitEvent(state->stream, copied[half], 0),
                  "copying inputs", error));
  // Their makers are done, or are ordered before the default stream.
  const bool waitsForInputs = !callersStream && hasDevice;
  if (waitsForInputs)
    MPT_TRY(check(api.cudaStreamSynchronize(nullptr), "waiting for inputs", error));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input &input = inputs[i];
    if (isOnDevice[i] || landing)
      MPT_TRY(copy(input.device, isOnDevice[i] ? data[i] : arrived + input.staging,
                   input.bytes, DeviceToDevice, state->stream));
  }
  MPT_TRY(
      check(api.cudaEventRecord(taken[half], state->stream), "copying inputs", error));
  ++copies;
  // The caller may write them when this returns.
  return waitsForInputs ? wait(taken[half]) : int(MPT_RT_OK);
}

int CudaExecutable::run(const std::vector<const void *> &data, std::string &error) {
  MPT_TRY(checkFailure(error));
  DeviceGuard guard(api);
  if (!started) {
    int status = start(guard, error);
    if (status != MPT_RT_OK && state->started) {
      failed = status;
      failure = error;
    }
    if (status != MPT_RT_OK)
      return status;
  }
  int status = state->select(guard, error);
  // Nothing has run yet, and memory may come.
  if (status == MPT_RT_OK)
    MPT_TRY(prepareKept(error));
  // With what memory is left.
  if (status == MPT_RT_OK && runs == 0 && branchStreams.empty())
    status = prepareBranches(error);
  if (status == MPT_RT_OK)
    status = checkIndices(error);
  if (status == MPT_RT_OK && callersStream)
    status = order(*callersStream, state->stream, error);
  // The first run has nothing to keep.
  if (status == MPT_RT_OK && !inputs.empty() && !(keepInputs && runs > 0))
    status = copyInputs(data, error);
  if (status == MPT_RT_OK && runs >= 1 && !graph && !profiling &&
      numLaunches <= kMostRecorded)
    status = capture(error);
  if (status == MPT_RT_OK && profiling)
    status = profile(error);
  else if (status == MPT_RT_OK)
    status = graph ? check(api.cudaGraphLaunch(graph, state->stream),
                           "launching the step", error)
                   : enqueue(error);
  if (status == MPT_RT_OK && kept)
    status = kept->copy(error);
  // After the copies: what is in the caller's stream may write over what they read.
  if (status == MPT_RT_OK && callersStream)
    status = order(state->stream, *callersStream, error);
  keepFailure(status, error);
  runs += status == MPT_RT_OK;
  if (status == MPT_RT_OK && others)
    communicator->sentBytes += sentBytes;
  return status;
}
