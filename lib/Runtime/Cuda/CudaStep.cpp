//===- CudaStep.cpp - A program on a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"
#include "mpt/Runtime/CallPlan.h"
#include "mpt/Runtime/Runtime.h"

#include <algorithm>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Blocks of the device's memory start at multiples of this; cuBLASLt's workspace
/// has to.
static int64_t alignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Between records of bad indices: device code takes addresses at multiples of it.
static constexpr int64_t kCheckBytes = 16;

static int fail(std::string &error, int status, std::string message) {
  error = std::move(message);
  return status;
}

int CudaStep::check(Error code, const std::string &what, std::string &error) {
  if (code == kSuccess)
    return MPT_RT_OK;
  const char *why = api.cudaGetErrorString(code);
  int status = code == kNoDevice || code == kInsufficientDriver ? MPT_RT_UNSUPPORTED
               : code == kOutOfMemory                           ? MPT_RT_OUT_OF_MEMORY
                                                                : MPT_RT_RUN_FAILED;
  return fail(error, status,
              what + ": " + (why ? why : "unknown error") + " (CUDA error " +
                  std::to_string(code) + ")");
}

int CudaStep::checkLt(Status code, const std::string &what, std::string &error) {
  if (code == 0)
    return MPT_RT_OK;
  return fail(error, MPT_RT_RUN_FAILED,
              what + ": cuBLASLt status " + std::to_string(code));
}

/// Returns from the calling function if `expression` fails.
#define MPT_TRY(expression)                                                            \
  if (int status = (expression))                                                       \
  return status

CudaStep::~CudaStep() {
  if (!started)
    return;
  // What has failed may fail again; nothing can be done about that here.
  if (stream)
    api.cudaStreamSynchronize(stream);
  if (graph)
    api.cudaGraphExecDestroy(graph);
  for (Gemm &gemm : gemms) {
    for (LtLayout layout : {gemm.a, gemm.b, gemm.d})
      if (layout)
        api.cublasLtMatrixLayoutDestroy(layout);
    if (gemm.desc)
      api.cublasLtMatmulDescDestroy(gemm.desc);
  }
  if (preference)
    api.cublasLtMatmulPreferenceDestroy(preference);
  if (handle)
    api.cublasLtDestroy(handle);
  for (Event event : copied)
    if (event)
      api.cudaEventDestroy(event);
  if (library)
    api.cudaLibraryUnload(library);
  if (staging)
    api.cudaFreeHost(staging);
  if (checked)
    api.cudaFreeHost(checked);
  if (memory)
    api.cudaFree(memory);
  if (stream)
    api.cudaStreamDestroy(stream);
}

int CudaStep::open(uint64_t numKernels, std::string &error) {
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
    if (!instruction.isCall)
      continue;
    std::string why;
    // What the newest can do; a device's own limits are checked at the first run.
    if (!checkCudaCall(instruction, /*sm=*/999, why))
      return fail(error, MPT_RT_UNSUPPORTED, instruction.location + ": " + why);
  }
  hostState.assign(program.stateBytes, 0);
  hostOutput.assign(program.outputBytes, 0);
  return MPT_RT_OK;
}

char *CudaStep::addressOf(const BufferRef &ref) const {
  switch (ref.space) {
  case SpaceId::Arena:
    return memory + ref.offset;
  case SpaceId::State:
    return memory + stateAt + ref.offset;
  case SpaceId::Output:
    return memory + outputAt + ref.offset;
  case SpaceId::Constant:
    return memory + constantAt[ref.offset];
  case SpaceId::Input:
    break;
  }
  return inputs[ref.offset].device;
}

int CudaStep::write(const BufferRef &ref, const void *data, std::string &error) {
  if (!started) {
    std::memcpy(hostState.data() + ref.offset, data, ref.bytes());
    return MPT_RT_OK;
  }
  if (failed)
    return fail(error, failed, failure);
  MPT_TRY(check(api.cudaMemcpyAsync(addressOf(ref), data, ref.bytes(), HostToDevice, stream),
                "writing state", error));
  // The caller may change `data` when this returns.
  return check(api.cudaStreamSynchronize(stream), "writing state", error);
}

int CudaStep::read(const BufferRef &ref, void *data, std::string &error) {
  if (!started) {
    const std::vector<char> &host =
        ref.space == SpaceId::State ? hostState : hostOutput;
    std::memcpy(data, host.data() + ref.offset, ref.bytes());
    return MPT_RT_OK;
  }
  if (failed)
    return fail(error, failed, failure);
  MPT_TRY(check(api.cudaMemcpyAsync(data, addressOf(ref), ref.bytes(), DeviceToHost, stream),
                "reading", error));
  int status = check(api.cudaStreamSynchronize(stream), "the step failed", error);
  if (!status)
    status = checkIndices(error);
  if (status) {
    // What goes wrong on the device shows here.
    failed = status;
    failure = error;
  }
  return status;
}

int CudaStep::checkIndices(std::string &error) {
  for (size_t i = 0; i < checks.size(); ++i) {
    auto *place = reinterpret_cast<const uint64_t *>(checked + i * kCheckBytes);
    // A copy may be under way.
    uint64_t record = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (record == 0)
      continue;
    const Instruction &instruction = program.instructions[checks[i]];
    return fail(error, MPT_RT_RUN_FAILED,
                instruction.location + ": index " +
                    std::to_string(static_cast<int32_t>(record)) + " at position " +
                    std::to_string(0xffffffff - (record >> 32)) + " is outside [0, " +
                    std::to_string(desc.kernels[instruction.target].bound) + ")");
  }
  return MPT_RT_OK;
}

int CudaStep::start(std::string &error) {
  MPT_TRY(api.load(cudart, cublasLt, error) ? MPT_RT_OK : MPT_RT_UNSUPPORTED);
  int count = 0;
  MPT_TRY(check(api.cudaGetDeviceCount(&count), "no GPU can be used", error));
  if (count == 0)
    return fail(error, MPT_RT_UNSUPPORTED, "this machine has no GPU");
  // From here on there may be something to destroy.
  started = true;
  MPT_TRY(check(api.cudaSetDevice(0), "no GPU can be used", error));
  int major = 0, minor = 0;
  MPT_TRY(check(api.cudaDeviceGetAttribute(&major, kAttributeMajor, 0), "the GPU", error));
  MPT_TRY(check(api.cudaDeviceGetAttribute(&minor, kAttributeMinor, 0), "the GPU", error));
  architecture = major * 10 + minor;
  MPT_TRY(check(api.cudaStreamCreateWithFlags(&stream, kNonBlocking), "a stream", error));
  MPT_TRY(loadKernels(error));
  MPT_TRY(allocate(error));
  return prepare(error);
}

int CudaStep::loadKernels(std::string &error) {
  if (desc.num_images == 0)
    return MPT_RT_OK;
  // Machine code runs on its own generation from its own revision on; PTX on
  // everything newer.
  const mpt_cuda_image *best = nullptr;
  auto rank = [](const mpt_cuda_image &image) {
    return image.architecture * 2 + (image.is_ptx ? 0 : 1);
  };
  std::string compiledFor;
  auto known = static_cast<uint64_t>(architecture);
  for (uint64_t i = 0; i < desc.num_images; ++i) {
    const mpt_cuda_image &image = desc.images[i];
    compiledFor += (i ? ", sm_" : "sm_") + std::to_string(image.architecture);
    bool runs = image.architecture <= known &&
                (image.is_ptx || image.architecture / 10 == known / 10);
    if (runs && (!best || (best->is_ptx && !image.is_ptx) ||
                 (best->is_ptx == image.is_ptx && rank(image) > rank(*best))))
      best = &image;
  }
  if (!best)
    return fail(error, MPT_RT_UNSUPPORTED,
                "the program is compiled for " + compiledFor + " but this GPU is an sm_" +
                    std::to_string(architecture) + "; compile it with --chip=sm_" +
                    std::to_string(architecture));
  return check(api.cudaLibraryLoadData(&library, best->data, nullptr, nullptr, 0, nullptr,
                                       nullptr, 0),
               "the kernels cannot be loaded", error);
}

int CudaStep::allocate(std::string &error) {
  bool hasGemms = false;
  for (const Instruction &instruction : program.instructions)
    hasGemms |= instruction.isCall &&
                static_cast<CallId>(instruction.target) == CallId::Matmul;
  int64_t end = alignUp(program.arenaBytes);
  auto take = [&](int64_t bytes) {
    int64_t at = end;
    end = alignUp(end + bytes);
    return at;
  };
  workspaceAt = take(hasGemms ? kGemmWorkspaceBytes : 0);
  stateAt = take(program.stateBytes);
  outputAt = take(program.outputBytes);
  for (const std::string &constant : program.constants)
    constantAt.push_back(take(constant.size()));
  std::vector<int64_t> inputAt;
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
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    if (!instruction.isCall && desc.kernels[instruction.target].bound != 0)
      checks.push_back(i);
  }
  checksAt = take(kCheckBytes * static_cast<int64_t>(checks.size()));
  totalBytes = std::max<int64_t>(end, 256);
  void *block = nullptr;
  Error code = api.cudaMalloc(&block, totalBytes);
  if (code == kOutOfMemory) {
    size_t unused = 0, total = 0;
    (void)api.cudaMemGetInfo(&unused, &total);
    int64_t fixed = totalBytes - program.arenaBytes;
    auto fits = static_cast<int64_t>(unused) - fixed;
    return fail(error, MPT_RT_OUT_OF_MEMORY,
                "the program needs " + std::to_string(totalBytes) +
                    " bytes of the GPU's memory (" + std::to_string(program.arenaBytes) +
                    " of them for values of a step), " + std::to_string(unused) + " of " +
                    std::to_string(total) + " are free; " +
                    (fits > 0 ? "a step planned for at most " + std::to_string(fits) +
                                    " bytes of values would fit"
                              : "its state alone does not fit"));
  }
  MPT_TRY(check(code, "memory of the GPU", error));
  memory = static_cast<char *>(block);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].device = memory + inputAt[i];
  if (stagingBytes > 0) {
    void *pinned = nullptr;
    MPT_TRY(check(api.cudaMallocHost(&pinned, 2 * stagingBytes), "pinned memory", error));
    staging = static_cast<char *>(pinned);
    for (Event &event : copied)
      MPT_TRY(check(api.cudaEventCreateWithFlags(&event, kEventNoTiming), "an event", error));
  }
  if (!checks.empty()) {
    void *pinned = nullptr;
    MPT_TRY(check(api.cudaMallocHost(&pinned, kCheckBytes * checks.size()), "pinned memory",
                  error));
    checked = static_cast<char *>(pinned);
    std::memset(checked, 0, kCheckBytes * checks.size());
  }
  MPT_TRY(check(api.cudaMemsetAsync(memory, 0, totalBytes, stream), "clearing", error));
  auto upload = [&](int64_t at, const void *data, size_t bytes) {
    return bytes == 0 ? MPT_RT_OK
                      : check(api.cudaMemcpyAsync(memory + at, data, bytes, HostToDevice,
                                                  stream),
                              "copying state", error);
  };
  MPT_TRY(upload(stateAt, hostState.data(), hostState.size()));
  for (size_t i = 0; i < program.constants.size(); ++i)
    MPT_TRY(upload(constantAt[i], program.constants[i].data(), program.constants[i].size()));
  return check(api.cudaStreamSynchronize(stream), "copying state", error);
}

int CudaStep::prepare(std::string &error) {
  int64_t numChecks = 0;
  for (const Instruction &instruction : program.instructions) {
    Step step;
    for (const BufferRef &ref : instruction.refs)
      step.buffers.push_back(addressOf(ref));
    if (!instruction.isCall) {
      step.launch = &desc.kernels[instruction.target];
      MPT_TRY(check(api.cudaLibraryGetKernel(&step.kernel, library, step.launch->name),
                    instruction.location + ": kernel " + step.launch->name, error));
      if (step.launch->bound != 0)
        step.buffers.push_back(memory + checksAt + kCheckBytes * numChecks++);
    } else if (static_cast<CallId>(instruction.target) == CallId::Matmul) {
      MPT_TRY(prepareGemm(instruction, step, error));
    } else {
      step.copyBytes = instruction.refs[0].bytes();
    }
    steps.push_back(std::move(step));
  }
  // Where the buffers' addresses lie is known now that the list is whole.
  for (Step &step : steps)
    for (void *&buffer : step.buffers)
      step.arguments.push_back(&buffer);
  return MPT_RT_OK;
}

static int cudaType(DataType type) {
  switch (type) {
  case DataType::F64: return 1;
  case DataType::F16: return 2;
  case DataType::BF16: return 14;
  case DataType::F8E4M3FN: return 28;
  case DataType::F8E5M2: return 29;
  default: return 0;
  }
}

int CudaStep::prepareGemm(const Instruction &call, Step &step, std::string &error) {
  GemmPlan plan;
  std::string why;
  if (!makeGemmPlan(call, /*allowTF32=*/false, plan, why) ||
      !checkGemmPlan(plan, architecture, why))
    return fail(error, MPT_RT_UNSUPPORTED, call.location + ": " + why);
  auto attempt = [&](Status code, const char *what) {
    return checkLt(code, call.location + ": " + what, error);
  };
  if (!handle) {
    MPT_TRY(attempt(api.cublasLtCreate(&handle), "cuBLASLt"));
    MPT_TRY(attempt(api.cublasLtMatmulPreferenceCreate(&preference), "cuBLASLt"));
    auto bytes = static_cast<uint64_t>(kGemmWorkspaceBytes);
    MPT_TRY(attempt(api.cublasLtMatmulPreferenceSetAttribute(
                        preference, kPreferenceWorkspace, &bytes, sizeof(bytes)),
                    "the workspace"));
    // Parts of a sum are not rounded to the result's type in between.
    uint32_t reductions = kReductionsInPlace | kReductionsComputeType;
    MPT_TRY(attempt(api.cublasLtMatmulPreferenceSetAttribute(
                        preference, kPreferenceReductions, &reductions, sizeof(reductions)),
                    "the reductions"));
  }
  step.gemm = static_cast<int>(gemms.size());
  Gemm &gemm = gemms.emplace_back();
  gemm.isDouble = plan.compute == GemmCompute::F64;
  gemm.alpha = plan.alpha;
  gemm.beta = plan.beta;
  int scaleType = gemm.isDouble ? cudaType(DataType::F64) : cudaType(DataType::F32);
  MPT_TRY(attempt(api.cublasLtMatmulDescCreate(&gemm.desc, static_cast<int>(plan.compute),
                                               scaleType),
                  "a product"));
  auto set = [&](int attribute, const auto &value) {
    return attempt(api.cublasLtMatmulDescSetAttribute(gemm.desc, attribute, &value,
                                                      sizeof(value)),
                   "a product's attribute");
  };
  MPT_TRY(set(kDescTransA, int32_t(plan.transposeA)));
  MPT_TRY(set(kDescTransB, int32_t(plan.transposeB)));
  MPT_TRY(set(kDescEpilogue, static_cast<uint32_t>(plan.epilogue)));
  if (usesBias(plan.epilogue)) {
    const void *bias = step.buffers[2];
    MPT_TRY(set(kDescBiasPointer, bias));
    MPT_TRY(set(kDescBiasType, int32_t(cudaType(plan.bias))));
  }
  auto layout = [&](LtLayout &made, const GemmMatrix &matrix) {
    MPT_TRY(attempt(api.cublasLtMatrixLayoutCreate(&made, cudaType(matrix.type),
                                                   matrix.rows, matrix.columns, matrix.ld),
                    "a matrix"));
    if (plan.batch == 1)
      return int(MPT_RT_OK);
    auto count = static_cast<int32_t>(plan.batch);
    MPT_TRY(attempt(api.cublasLtMatrixLayoutSetAttribute(made, kLayoutBatchCount, &count,
                                                         sizeof(count)),
                    "a batch"));
    return attempt(api.cublasLtMatrixLayoutSetAttribute(made, kLayoutBatchStride,
                                                        &matrix.stride,
                                                        sizeof(matrix.stride)),
                   "a batch");
  };
  MPT_TRY(layout(gemm.a, plan.a));
  MPT_TRY(layout(gemm.b, plan.b));
  MPT_TRY(layout(gemm.d, plan.d));
  LtHeuristic found = {};
  int count = 0;
  Status code = api.cublasLtMatmulAlgoGetHeuristic(handle, gemm.desc, gemm.a, gemm.b,
                                                   gemm.d, gemm.d, preference, 1, &found,
                                                   &count);
  if (code != 0 || count == 0)
    return fail(error, MPT_RT_UNSUPPORTED,
                call.location + ": cuBLASLt has no algorithm for " +
                    describeGemmPlan(plan) + " (status " + std::to_string(code) + ")");
  gemm.algo = found.algo;
  return MPT_RT_OK;
}

int CudaStep::enqueue(std::string &error) {
  char *workspace = memory + workspaceAt;
  for (size_t i = 0; i < steps.size(); ++i) {
    Step &step = steps[i];
    const std::string &location = program.instructions[i].location;
    if (step.launch) {
      Dim3 grid = {static_cast<unsigned>(step.launch->blocks[0]),
                   static_cast<unsigned>(step.launch->blocks[1]), 1};
      Dim3 block = {static_cast<unsigned>(step.launch->threads), 1, 1};
      MPT_TRY(check(api.cudaLaunchKernel(step.kernel, grid, block, step.arguments.data(),
                                         0, stream),
                    location + ": launching " + step.launch->name, error));
      continue;
    }
    if (step.gemm < 0) {
      MPT_TRY(check(api.cudaMemcpyAsync(step.buffers[1], step.buffers[0], step.copyBytes,
                                        DeviceToDevice, stream),
                    location + ": copying", error));
      continue;
    }
    const Gemm &gemm = gemms[step.gemm];
    float alpha = static_cast<float>(gemm.alpha), beta = static_cast<float>(gemm.beta);
    const void *scales[] = {&alpha, &beta};
    if (gemm.isDouble) {
      scales[0] = &gemm.alpha;
      scales[1] = &gemm.beta;
    }
    void *d = step.buffers[program.instructions[i].numInputs];
    MPT_TRY(checkLt(api.cublasLtMatmul(handle, gemm.desc, scales[0], step.buffers[1], gemm.a,
                                       step.buffers[0], gemm.b, scales[1], d, gemm.d, d,
                                       gemm.d, &gemm.algo, workspace, kGemmWorkspaceBytes,
                                       stream),
                    location + ": a product", error));
  }
  if (checks.empty())
    return MPT_RT_OK;
  return check(api.cudaMemcpyAsync(checked, memory + checksAt, kCheckBytes * checks.size(),
                                   DeviceToHost, stream),
               "copying what indices were wrong", error);
}

int CudaStep::capture(std::string &error) {
  MPT_TRY(check(api.cudaStreamBeginCapture(stream, kCaptureThreadLocal),
                "recording the step", error));
  int status = enqueue(error);
  Graph recorded = nullptr;
  Error code = api.cudaStreamEndCapture(stream, &recorded);
  if (status == MPT_RT_OK)
    status = check(code, "recording the step", error);
  if (status == MPT_RT_OK)
    status = check(api.cudaGraphInstantiate(&graph, recorded, 0),
                   "making a graph of the step", error);
  if (recorded)
    api.cudaGraphDestroy(recorded);
  return status;
}

int CudaStep::run(const std::vector<const void *> &data, std::string &error) {
  if (failed)
    return fail(error, failed, failure);
  int status = started ? checkIndices(error) : start(error);
  if (status == MPT_RT_OK && !inputs.empty()) {
    int64_t half = runs % 2;
    char *place = staging + half * stagingBytes;
    if (runs >= 2)
      status = check(api.cudaEventSynchronize(copied[half]), "copying inputs", error);
    for (size_t i = 0; status == MPT_RT_OK && i < inputs.size(); ++i) {
      const Input &input = inputs[i];
      std::memcpy(place + input.staging, data[i], input.bytes);
      status = check(api.cudaMemcpyAsync(input.device, place + input.staging, input.bytes,
                                         HostToDevice, stream),
                     "copying inputs", error);
    }
    if (status == MPT_RT_OK)
      status = check(api.cudaEventRecord(copied[half], stream), "copying inputs", error);
  }
  if (status == MPT_RT_OK && runs == 1)
    status = capture(error);
  if (status == MPT_RT_OK)
    status = graph ? check(api.cudaGraphLaunch(graph, stream), "launching the step", error)
                   : enqueue(error);
  if (status != MPT_RT_OK && started) {
    failed = status;
    failure = error;
  }
  runs += status == MPT_RT_OK;
  return status;
}
