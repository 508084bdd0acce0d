//===- CostModel.cpp - What a program costs on a GPU ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/CostModel.h"
#include "mpt/ProgramABI/BranchPlan.h"
#include "mpt/ProgramABI/CudaProgram.h"
#include "mpt/ProgramABI/CudnnPlan.h"
#include "mpt/ProgramABI/InstructionCost.h"
#include "mpt/ProgramABI/KernelKind.h"
#include "mpt/ProgramABI/ProgramFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <dlfcn.h>
#include <unistd.h>

using namespace mpt;

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

// Peaks, memory, processors and clocks are those of NVIDIA's datasheets (A100 80 GB SXM,
// H100 SXM5, H200 SXM, DGX B200; dense FLOPs). Registers, warps, blocks and shared memory
// are those of the CUDA C++ Programming Guide, "Compute Capabilities"; lanes per clock
// those of its table of arithmetic throughput.
//
// Measured on an H200 (driver 580, CUDA 13, cuDNN 9; steps of GPT-2, BERT-base, ResNet-50
// and sin/cos in bf16): copies at 4.25 of 4.8 TB/s, 0.886; cuBLASLt's matmuls of bf16
// with large results at 700 to 760 TFLOP/s, their memory and gap beside them, 0.78 of
// 989; cuDNN's convolutions at 340 to 650, most at 0.53; graphs of small launches at 4 us
// a node. All shares are taken to be the same on all chips. The second-level cache
// delivers 5120 bytes a clock (NVIDIA A100 Tensor Core GPU Architecture), of which 0.65
// is taken to be reached. mma.sync reaches 5/8 of Hopper's tensor cores, which only wgmma
// fills, and is taken to be as fast on Blackwell. `halfWarps` makes attention as slow as
// hand estimates from its machine code; kernels that were measured agree with it.
static constexpr double kMemoryShare = 0.886, kTensorShare = 0.78, kCacheShare = 0.65;
static constexpr double kFloatShare = 0.75, kConvolutionShare = 0.53;
// cuDNN's attention reaches 288 TFLOP/s on an H100 with 64 elements a head, 1024
// positions and a causal mask (FlashAttention-3, Shah et al. 2024); more without a mask,
// with longer rows and wider heads, which is not counted on. Its deterministic gradient
// is guessed at nine tenths of that.
static constexpr double kAttentionShare = 0.29, kAttentionGradShare = 0.26;

// What epilogues add to a matmul, in clocks of one multiprocessor for each element.
// Measured on an H200 (CUDA 13, bf16; cuBLASLt's first proposals), as the time beyond
// that of a plain matmul of the same FLOPs at 740 TFLOP/s:
//   DGELU_BGRAD    65536 x 3072 x 768    1.740 ms, plain 0.418
//   GELU_AUX_BIAS  65536 x 3072 x 768    0.604 ms, plain 0.418
//   BGRADA         768 x 2304 x 65536    0.496 ms, plain 0.313 (1.2 ps for each element)
//                  768 x 50304 x 65536  11.963 ms, plain 6.843 (1.6 ps)
//                  768 x 2304 x 16384    0.131 ms, plain 0.078 (1.4 ps)
//                  768 x 30528 x 16384   1.451 ms, plain 1.038 (0.8 ps)
// All chips are taken to need the same clocks.
static constexpr double kEpilogueUnit = 132 * 1.7e9;
static constexpr double kGeluAuxClocks = 0.92e-12 * kEpilogueUnit,
                        kGeluGradClocks = 6.57e-12 * kEpilogueUnit,
                        kBiasGradClocks = 1.2e-12 * kEpilogueUnit;

static constexpr GpuChip
makeChip(const char *name, const char *fullName, int architecture, double processors,
         double clock, double memory, double cacheBytes, double localBytes,
         double sharedBytes, double floatLanes, double doubleLanes, double mmaRate,
         double peakLow, double peakF8, double peakTF32, double peakF32, double peakF64) {
  GpuChip chip{};
  chip.name = name;
  chip.fullName = fullName;
  chip.architecture = architecture;
  chip.processors = processors;
  chip.clock = clock;
  chip.memoryRate = kMemoryShare * memory;
  chip.cacheRate = kCacheShare * 5120 * clock;
  chip.cacheBytes = cacheBytes;
  chip.localBytes = localBytes;
  chip.sharedBytes = sharedBytes;
  chip.registers = 65536;
  chip.maxWarps = 64;
  chip.maxBlocks = 32;
  chip.floatLanes = floatLanes;
  chip.doubleLanes = doubleLanes;
  chip.mmaRate = mmaRate;
  // Of the peak, 4096, what attention forward reaches, which waits for exponentials, too:
  // on an H200 that of GPT-2 (64 x 12 heads of 64, 1,024 tokens, causal) made 116 GFLOP,
  // with those in the tiles on the diagonal, in 0.407 ms.
  chip.wgmmaRate = architecture == 90 ? 1275 : mmaRate;
  chip.matmulLow = kTensorShare * peakLow;
  chip.matmulF8 = kTensorShare * peakF8;
  chip.matmulTF32 = kTensorShare * peakTF32;
  chip.matmulF32 = kFloatShare * peakF32;
  chip.matmulF64 = kFloatShare * peakF64;
  chip.convolutionLow = kConvolutionShare * peakLow;
  chip.attentionLow = kAttentionShare * peakLow;
  chip.attentionGradLow = kAttentionGradShare * peakLow;
  chip.geluAuxTime = kGeluAuxClocks / (processors * clock);
  chip.geluGradTime = kGeluGradClocks / (processors * clock);
  chip.biasGradTime = kBiasGradClocks / (processors * clock);
  chip.nodeGap = 4e-6;
  chip.memoryLatency = 520e-9;
  chip.cacheLatency = 280e-9;
  chip.halfWarps = 2.6;
  return chip;
}

static constexpr double kKB = 1024, kMB = 1024 * kKB;
static constexpr GpuChip chips[] = {
    makeChip("a100", "NVIDIA A100 80 GB SXM", 80, 108, 1.41e9, 2.039e12, 40 * kMB,
             192 * kKB, 164 * kKB, 64, 32, 2048, 312e12, 312e12, 156e12, 19.5e12,
             19.5e12),
    makeChip("h100", "NVIDIA H100 SXM", 90, 132, 1.7e9, 3.35e12, 50 * kMB, 256 * kKB,
             228 * kKB, 128, 64, 2560, 989e12, 1979e12, 494e12, 67e12, 67e12),
    makeChip("h200", "NVIDIA H200 SXM", 90, 132, 1.7e9, 4.8e12, 50 * kMB, 256 * kKB,
             228 * kKB, 128, 64, 2560, 989e12, 1979e12, 494e12, 67e12, 67e12),
    makeChip("b200", "NVIDIA B200", 100, 148, 1.85e9, 8e12, 126 * kMB, 256 * kKB,
             228 * kKB, 128, 64, 2560, 2250e12, 4500e12, 1125e12, 75e12, 37e12),
};

llvm::ArrayRef<GpuChip> mpt::getGpuChips() { return chips; }
const GpuChip *mpt::findGpuChip(llvm::StringRef name) {
  for (const GpuChip &chip : chips)
    if (name == chip.name)
      return &chip;
  return nullptr;
}
const GpuChip *mpt::findGpuChip(int architecture) {
  for (const GpuChip &chip : chips)
    if (chip.architecture == architecture)
      return &chip;
  return nullptr;
}
const GpuChip &mpt::getNearestGpuChip(int64_t architecture) {
  const GpuChip *nearest = &chips[0];
  for (const GpuChip &chip : chips)
    if (chip.architecture <= architecture && chip.architecture > nearest->architecture)
      nearest = &chip;
  return *nearest;
}

double mpt::getEpilogueTime(rt::GemmEpilogue epilogue, double result, double rhs,
                            const GpuChip &chip) {
  switch (epilogue) {
  case rt::GemmEpilogue::GeluAux:
  case rt::GemmEpilogue::GeluAuxBias:
    return chip.geluAuxTime * result;
  case rt::GemmEpilogue::DGelu:
  case rt::GemmEpilogue::DGeluBGrad:
    return chip.geluGradTime * result;
  case rt::GemmEpilogue::BGradA:
  case rt::GemmEpilogue::BGradB:
    return chip.biasGradTime * rhs;
  default:
    return 0;
  }
}

EpilogueChoice mpt::chooseEpilogue(rt::GemmEpilogue epilogue, double result, double rhs,
                                   double elementBytes, const GpuChip &chip) {
  double elements = 0, nodes = 0;
  switch (epilogue) {
  case rt::GemmEpilogue::GeluAux:
  case rt::GemmEpilogue::GeluAuxBias:
    elements = 2 * result;
    nodes = 1;
    break;
  case rt::GemmEpilogue::DRelu:
  case rt::GemmEpilogue::DGelu:
    elements = 3 * result;
    nodes = 1;
    break;
  case rt::GemmEpilogue::DReluBGrad:
  case rt::GemmEpilogue::DGeluBGrad:
    elements = 3 * result;
    nodes = 2;
    break;
  case rt::GemmEpilogue::BGradA:
  case rt::GemmEpilogue::BGradB:
    elements = rhs;
    nodes = 2;
    break;
  default:
    // A ReLU is part of the matmul whether it is saved or not.
    break;
  }
  return {getEpilogueTime(epilogue, result, rhs, chip),
          nodes * chip.nodeGap + elements * elementBytes / chip.memoryRate};
}

llvm::StringRef mpt::getName(CostBound bound) {
  switch (bound) {
  case CostBound::Memory:
    return "DRAM";
  case CostBound::Cache:
    return "L2";
  case CostBound::TensorCores:
    return "tensor cores";
  case CostBound::IssueSlots:
    return "issue slots";
  case CostBound::Arithmetic:
    return "arithmetic";
  case CostBound::SpecialUnits:
    return "special units";
  case CostBound::SharedMemory:
    return "shared memory";
  case CostBound::Latency:
    return "latency";
  case CostBound::Gap:
    return "launch";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Blocks of a kernel that a multiprocessor has room for.
static double getBlocksAtOnce(const CubinKernel &kernel, uint64_t threads,
                              const GpuChip &chip) {
  double warps = double(llvm::divideCeil(threads, 32));
  double most = std::min(chip.maxBlocks, std::floor(chip.maxWarps / warps));
  // Registers are given to warps in units of 256, in each of four parts of a processor.
  if (kernel.registers) {
    double perWarp = double(llvm::alignTo(kernel.registers * 32, 256));
    most =
        std::min(most, std::floor(4 * std::floor(chip.registers / 4 / perWarp) / warps));
  }
  // CUDA keeps 1 KiB of each block for itself.
  if (kernel.sharedBytes)
    most =
        std::min(most, std::floor(chip.sharedBytes / (double(kernel.sharedBytes) + kKB)));
  return std::max(most, 1.0);
}

namespace {
/// The longest of several times.
struct Longest {
  double seconds = 0;
  CostBound bound = CostBound::Gap;
  void add(CostBound what, double time) {
    if (time > seconds) {
      seconds = time;
      bound = what;
    }
  }
};

/// What takes time beside each other: moving bytes, computing, and waiting for what is
/// moved. Of each the longest part counts. None is fully hidden by another of about its
/// length: together they take the root of the sum of their squares.
class Beside {
public:
  void move(CostBound what, double time) { moving.add(what, time); }
  void compute(CostBound what, double time) { computing.add(what, time); }
  void wait(double time) { waiting.add(CostBound::Latency, time); }
  /// Sets the time and bound of `estimate`.
  void finish(const GpuChip &chip, InstructionEstimate &estimate) const {
    Longest longest;
    double squares = 0;
    for (const Longest &part : {moving, computing, waiting}) {
      longest.add(part.bound, part.seconds);
      squares += part.seconds * part.seconds;
    }
    estimate.bound = longest.seconds > chip.nodeGap ? longest.bound : CostBound::Gap;
    estimate.seconds = chip.nodeGap + std::sqrt(squares);
  }

private:
  Longest moving, computing, waiting;
};
} // namespace

/// Bytes of local memory that do not stay in the first-level cache: all, if the threads
/// that run at once have more than it holds.
static double getSpilledBytes(const LaunchTrace &trace, const CubinKernel &cubin,
                              double threadsAtOnce, double localCache) {
  if (double(cubin.stackBytes) * threadsAtOnce <= localCache || cubin.instructions == 0)
    return 0;
  // As often as the average instruction.
  const double times = trace.longest / double(cubin.instructions);
  return 4.0 * 32 * double(cubin.localAccesses) * times * trace.warps;
}

void mpt::estimateLaunch(const LaunchTrace &trace, const GpuChip &chip,
                         InstructionEstimate &estimate) {
  const double blocks = double(estimate.blocks[0]) * double(estimate.blocks[1]);
  estimate.blocksAtOnce = getBlocksAtOnce(estimate.cubin, estimate.threads, chip);
  estimate.waves = blocks / (estimate.blocksAtOnce * chip.processors);
  const double processors = std::min(chip.processors, std::max(blocks, 1.0));
  const double warpsPerBlock = double(llvm::divideCeil(estimate.threads, 32));
  // Warps that run at once, on one processor and in all.
  const double local =
      std::min(estimate.blocksAtOnce, std::ceil(blocks / chip.processors)) *
      warpsPerBlock;
  const double atOnce = std::min(local * processors, trace.warps);

  // What other warps access in the meantime pushes a sector out, too. Three quarters of a
  // cache are taken to be of use.
  const double localCache =
      std::max(0.0, chip.localBytes - estimate.blocksAtOnce * estimate.cubin.sharedBytes);
  const double nearDistance = 0.75 * localCache / std::max(local, 1.0);
  const double farDistance = 0.75 * chip.cacheBytes / std::max(atOnce, 1.0);
  estimate.bytesRead = trace.uniqueLoads + trace.reloads.getBeyond(farDistance);
  estimate.bytesWritten = trace.uniqueStores + trace.restores.getBeyond(farDistance);
  const double again = trace.reloads.getBeyond(0);
  const double hits = again - trace.reloads.getBeyond(nearDistance);
  // What other warps load, too, those of a multiprocessor find in its cache.
  const double shared = std::max(0.0, trace.loadBytes - again - trace.uniqueLoads);
  estimate.cacheBytes =
      trace.loadBytes - hits - shared * (1 - 1 / std::max(local, 1.0)) +
      trace.storeBytes +
      getSpilledBytes(trace, estimate.cubin, 32 * local, 0.75 * localCache);
  estimate.floatFlops = trace.floatFlops;
  estimate.doubleFlops = trace.doubleFlops;
  estimate.specialOps = trace.specialOps;
  estimate.tensorFlops = trace.tensorFlops;
  estimate.instructions = trace.instructions;
  estimate.isCut = trace.isCut;

  // Few warps leave units idle while they wait for results.
  const double perScheduler = std::max(atOnce / processors / 4, 0.25);
  const double busy = perScheduler / (perScheduler + chip.halfWarps);
  const double clocks = processors * chip.clock * busy;
  using Unit = LaunchTrace::Unit;
  Beside beside;
  beside.move(CostBound::Memory, estimate.getBytes() / chip.memoryRate);
  beside.move(CostBound::Cache, estimate.cacheBytes / chip.cacheRate);
  beside.compute(CostBound::IssueSlots, trace.instructions / 4 / clocks);
  beside.compute(CostBound::Arithmetic,
                 std::max(trace.byUnit[Unit::Float] * 32 / chip.floatLanes,
                          std::max(trace.byUnit[Unit::Double] * 32 / chip.doubleLanes,
                                   // 64 lanes of integers.
                                   trace.byUnit[Unit::Integer] / 2)) /
                     clocks);
  // 16 lanes.
  beside.compute(CostBound::SpecialUnits, trace.byUnit[Unit::Special] * 2 / clocks);
  beside.compute(CostBound::SharedMemory, trace.sharedWavefronts / clocks);
  // wgmma needs no other warps to fill tensor cores.
  beside.compute(CostBound::TensorCores,
                 (trace.tensorFlops - trace.warpgroupFlops) / chip.mmaRate / clocks +
                     trace.warpgroupFlops / chip.wgmmaRate / (processors * chip.clock));
  // One warp after the other in the same place.
  const double fromMemory = estimate.cacheBytes > 0
                                ? std::min(1.0, estimate.bytesRead / estimate.cacheBytes)
                                : 0;
  const double latency =
      chip.cacheLatency + fromMemory * (chip.memoryLatency - chip.cacheLatency);
  beside.wait(std::ceil(estimate.waves) * trace.waits * latency);
  beside.finish(chip, estimate);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

llvm::Expected<DeviceProgram> mpt::readDeviceProgram(llvm::StringRef path) {
  std::string error;
  int file = rt::openProgramFile(path.str(), error);
  if (file < 0)
    return llvm::createStringError(error);
  // A copy in memory, whose hash was checked.
  void *library =
      dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  ::close(file);
  if (!library)
    return llvm::createStringError(path + ": cannot load: " + dlerror());
  llvm::scope_exit unload([&] { dlclose(library); });
  auto *desc = static_cast<const mpt_program_desc *>(dlsym(library, "mpt_program"));
  if (!desc)
    return llvm::createStringError(path +
                                   ": no symbol mpt_program; compile the step again");
  if (!desc->cuda)
    return llvm::createStringError(
        path + ": expected a program for GPUs, found one for the CPU; compile the step "
               "with --target=cuda");
  DeviceProgram result;
  std::string why;
  if (!rt::readProgram(desc->table, desc->table_size, desc->num_kernels, result.program,
                       why))
    return llvm::createStringError(path + ": " + why);
  for (uint64_t i = 0; i < desc->num_kernels; ++i) {
    const mpt_cuda_kernel &kernel = desc->cuda->kernels[i];
    result.kernels.push_back({kernel.name,
                              {kernel.blocks[0], kernel.blocks[1]},
                              kernel.threads,
                              kernel.bound});
  }
  for (uint64_t i = 0; i < desc->cuda->num_variants; ++i) {
    const mpt_cuda_variant &variant = desc->cuda->variants[i];
    // The first map may be of queries, which a block reads once.
    uint64_t tileBytes = 2;
    for (uint64_t size : variant.maps[variant.num_maps - 1].box)
      tileBytes *= size;
    result.variants[variant.kernel] = {
        {variant.name, {variant.blocks, 1}, variant.threads, 0},
        variant.shared_bytes,
        {},
        tileBytes};
    for (uint64_t j = 0; j < variant.num_maps; ++j)
      result.variants[variant.kernel].maps.push_back(variant.maps[j].buffer);
  }
  for (uint64_t i = 0; i < desc->cuda->num_images; ++i) {
    const mpt_cuda_image &image = desc->cuda->images[i];
    std::string bytes(static_cast<const char *>(image.data), image.size);
    if (image.is_specific)
      (image.is_ptx ? result.specificPtx : result.specificCubin) = std::move(bytes);
    else if (image.is_ptx)
      result.ptx = std::move(bytes);
    else
      result.cubins[int(image.architecture)] = std::move(bytes);
  }
  return result;
}

/// Where a buffer lies in the addresses of the trace: spaces are far apart.
static TraceBuffer getBuffer(const rt::BufferRef &ref) {
  constexpr uint64_t kSpace = uint64_t(1) << 52, kObject = uint64_t(1) << 42;
  uint64_t base = (uint64_t(ref.space) + 1) * kSpace;
  bool isNumbered = ref.space == rt::SpaceId::Input || ref.space == rt::SpaceId::Constant;
  base += isNumbered ? uint64_t(ref.offset) % 1024 * kObject + ref.start : ref.offset;
  return {base, uint64_t(ref.bytes())};
}

/// What cuDNN moves besides the buffers of a call; returns how many times the FLOPs it
/// does. Tensor cores want channels in multiples of 8: tensors with others are copied.
/// The slopes of scores are written and read.
static double addCudnnWork(const rt::Instruction &call, InstructionEstimate &estimate) {
  double extra = 0, factor = 1;
  rt::CudnnAttentionPlan attention;
  rt::CudnnPlan plan;
  std::string unused;
  if (rt::makeCudnnAttentionPlan(call, attention)) {
    if (attention.isGrad)
      extra = double(attention.rows()) * double(attention.keys) *
              double(rt::getSize(attention.type)) / (attention.causal ? 2 : 1);
  } else if (rt::isCudnnCall(call) && rt::makeCudnnPlan(call, plan, unused) &&
             rt::getSize(plan.x.type) == 2 && plan.x.dims[1] == plan.w.dims[1]) {
    for (const rt::CudnnTensor *tensor : {&plan.x, &plan.y}) {
      const int64_t *dims = tensor->dims;
      const auto filled = double(llvm::alignTo(dims[1], 8));
      if (dims[1] % 8 == 0)
        continue;
      factor *= filled / double(dims[1]);
      extra += double(rt::getSize(tensor->type)) * double(dims[0]) * filled *
               double(dims[2]) * double(dims[3]);
    }
  }
  estimate.bytesRead += extra;
  estimate.bytesWritten += extra;
  return factor;
}

/// What of a program does not run, and which matmuls run without their epilogues.
struct Choice {
  std::vector<bool> skipped, isPlain;
};

/// By instruction, where `without` are plans that run without their epilogue or without
/// cuDNN.
static Choice choose(const rt::Program &program, const llvm::StringSet<> &without) {
  const size_t count = program.instructions.size();
  Choice choice{std::vector<bool>(count, false), std::vector<bool>(count, false)};
  for (size_t i = 0; i < count; ++i) {
    const rt::Instruction &call = program.instructions[i];
    std::string unused;
    // What runs only where cuDNN refuses a call, or without it.
    if (call.parts.fallback > 0) {
      rt::CudnnPlan convolution;
      rt::CudnnAttentionPlan attention;
      const bool isWithout =
          rt::makeCudnnAttentionPlan(call, attention)
              ? without.contains(rt::describeCudnnPlan(attention))
              : rt::makeCudnnPlan(call, convolution, unused) &&
                    without.contains(rt::describeCudnnPlan(convolution));
      const size_t next = i + 1 + call.parts.after;
      for (size_t j = isWithout ? i - call.parts.before : next;
           j < (isWithout ? next : next + call.parts.fallback) && j < count; ++j)
        choice.skipped[j] = true;
    }
    const bool hasReplacement =
        i + 1 < count && program.instructions[i + 1].replacesEpilogue;
    rt::GemmPlan plan;
    choice.isPlain[i] = hasReplacement &&
                        rt::makeGemmPlan(call, /*allowTF32=*/false, plan, unused) &&
                        without.contains(rt::describeGemmPlan(plan));
    // Launches after a matmul do what its epilogue does.
    if (call.replacesEpilogue) {
      size_t matmul = i;
      while (matmul > 0 && program.instructions[matmul].replacesEpilogue)
        --matmul;
      if (!choice.isPlain[matmul])
        choice.skipped[i] = true;
    }
  }
  return choice;
}

llvm::Expected<llvm::StringSet<>> mpt::readPlansWithout(llvm::StringRef tuning,
                                                        const GpuChip &chip) {
  const char *what = "expected choices among algorithms, as a run on a GPU keeps them";
  auto [first, rest] = tuning.split('\n');
  if (first != "MPT's choices among algorithms of cuBLASLt, 1")
    return llvm::createStringError(what);
  const std::string gpu = "; sm_" + std::to_string(chip.architecture) + " with " +
                          std::to_string(static_cast<int>(chip.processors)) +
                          " multiprocessors; ";
  llvm::StringSet<> without;
  bool isKnown = false;
  llvm::SmallVector<llvm::StringRef> lines;
  rest.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    int chosen = 0;
    auto [number, others] = line.split(' ');
    const size_t at = line.find(gpu);
    if (number.getAsInteger(10, chosen) || others.empty())
      return llvm::createStringError(what);
    if (at == llvm::StringRef::npos)
      continue;
    isKnown = true;
    const llvm::StringRef plan = line.substr(at + gpu.size()).split(';').first;
    if (chosen < 0)
      without.insert(plan);
    else
      without.erase(plan);
  }
  if (!isKnown)
    return llvm::createStringError(
        "it has no choice of a GPU like " + llvm::Twine(chip.name) + ", sm_" +
        llvm::Twine(chip.architecture) + " with " +
        llvm::Twine(static_cast<int>(chip.processors)) + " multiprocessors");
  return without;
}

/// A library call: what it computes against what it moves. A matmul that `isPlain` has no
/// epilogue.
static void estimateCall(const rt::Instruction &call, bool isPlain, const GpuChip &chip,
                         InstructionEstimate &estimate) {
  const rt::InstructionCost cost = rt::getCost(call);
  for (unsigned i = 0; i < call.refs.size() && i < call.numInputs + call.numOutputs; ++i)
    (i < call.numInputs ? estimate.bytesRead : estimate.bytesWritten) +=
        rt::getBytes(call, i);
  const auto *matmul = call.getCall<rt::MatmulCall>();
  if (matmul && matmul->accumulate)
    estimate.bytesRead += double(call.refs[call.numInputs].bytes());
  const double times = addCudnnWork(call, estimate);
  estimate.cacheBytes = estimate.getBytes();
  estimate.kind =
      std::visit([](const auto &c) { return std::string(c.name); }, *call.call);
  double rate = 0;
  auto isLow = [](rt::DataType type) {
    return type == rt::DataType::F16 || type == rt::DataType::BF16;
  };
  bool isTensor = true;
  switch (cost.type) {
  case rt::DataType::F16:
  case rt::DataType::BF16:
    rate = chip.matmulLow;
    estimate.tensorType = cost.type == rt::DataType::F16 ? "f16" : "bf16";
    break;
  case rt::DataType::F8E4M3FN:
  case rt::DataType::F8E5M2:
    rate = chip.matmulF8;
    estimate.tensorType = "f8";
    break;
  case rt::DataType::F64:
    rate = chip.matmulF64;
    isTensor = false;
    break;
  default:
    if (matmul && matmul->f32Matmuls == rt::F32Matmuls::TF32) {
      rate = chip.matmulTF32;
      estimate.tensorType = "tf32";
    } else if (matmul && matmul->f32Matmuls == rt::F32Matmuls::BF16x9) {
      rate = chip.matmulLow / 9;
      estimate.tensorType = "bf16x9";
    } else {
      rate = chip.matmulF32;
      isTensor = false;
    }
  }
  if (!matmul && isLow(cost.type))
    rate = call.getCall<rt::CudnnAttentionCall>()       ? chip.attentionLow
           : call.getCall<rt::CudnnAttentionGradCall>() ? chip.attentionGradLow
                                                        : chip.convolutionLow;
  if (isTensor)
    estimate.tensorFlops = cost.flops;
  else
    (cost.type == rt::DataType::F64 ? estimate.doubleFlops : estimate.floatFlops) =
        cost.flops;
  if (cost.flops == 0)
    estimate.tensorType.clear();
  const double epilogue = matmul && !isPlain
                              ? getEpilogueTime(rt::getGemmEpilogue(*matmul),
                                                double(call.refs[call.numInputs].count()),
                                                double(call.refs[1].count()), chip)
                              : 0;
  Beside beside;
  beside.move(CostBound::Memory, estimate.getBytes() / chip.memoryRate);
  beside.compute(isTensor ? CostBound::TensorCores : CostBound::Arithmetic,
                 times * cost.flops / rate);
  beside.finish(chip, estimate);
  estimate.seconds += epilogue;
}

/// Multiplies what is of one run.
static void repeat(InstructionEstimate &estimate, double runs) {
  estimate.runs = runs;
  for (double *amount :
       {&estimate.bytesRead, &estimate.bytesWritten, &estimate.cacheBytes,
        &estimate.tensorFlops, &estimate.floatFlops, &estimate.doubleFlops,
        &estimate.specialOps, &estimate.instructions, &estimate.seconds})
    *amount *= runs;
}

llvm::Expected<ProgramEstimate> mpt::estimateProgram(const DeviceProgram &device,
                                                     const GpuChip &chip,
                                                     const llvm::StringSet<> &without) {
  ProgramEstimate result;
  result.name = device.program.name;
  result.chip = &chip;
  // Machine code runs on chips of its own generation that are not older.
  const std::string *cubin = nullptr;
  std::string found;
  for (const auto &[architecture, bytes] : device.cubins) {
    found += (found.empty() ? "sm_" : ", sm_") + std::to_string(architecture);
    if (architecture / 10 == chip.architecture / 10 && architecture <= chip.architecture)
      cubin = &bytes;
  }
  std::string wanted = "sm_" + std::to_string(chip.architecture);
  if (!cubin && !device.kernels.empty())
    return llvm::createStringError("expected machine code for " + wanted + " (" +
                                   chip.name + "), found that for " + found +
                                   "; compile the step with --chip=" + wanted);
  llvm::StringMap<CubinKernel> machineCode;
  if (cubin) {
    auto read = readCubin(*cubin);
    if (!read)
      return read.takeError();
    machineCode = std::move(*read);
  }
  auto code = DeviceCode::parse(llvm::StringRef(device.ptx).rtrim('\0'));
  if (!code)
    return code.takeError();

  // What an sm_90 runs instead.
  std::optional<DeviceCode> specific;
  if (chip.architecture == 90 && !device.variants.empty()) {
    auto parsed = DeviceCode::parse(llvm::StringRef(device.specificPtx).rtrim('\0'));
    if (!parsed)
      return parsed.takeError();
    specific.emplace(std::move(*parsed));
    auto read = readCubin(device.specificCubin);
    if (!read)
      return read.takeError();
    for (auto &entry : *read)
      machineCode[entry.getKey()] = entry.getValue();
  }

  const rt::Program &program = device.program;
  std::map<uint32_t, LaunchTrace> traces;
  unsigned cuts = 0;
  const Choice choice = choose(program, without);
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const rt::Instruction &instruction = program.instructions[i];
    const bool isAlternative = choice.skipped[i];
    // An edge of the graph, no node.
    if (instruction.getCall<rt::WaitCall>())
      continue;
    InstructionEstimate estimate;
    estimate.location = instruction.location;
    estimate.number = i;
    if (instruction.isCall()) {
      estimateCall(instruction, choice.isPlain[i], chip, estimate);
    } else {
      auto variant = device.variants.find(instruction.kernel);
      const bool isVariant = specific && variant != device.variants.end();
      const DeviceProgram::Kernel &kernel =
          isVariant ? variant->second.kernel : device.kernels[instruction.kernel];
      estimate.function = kernel.name;
      estimate.kind = rt::getKernelKind(kernel.name);
      estimate.blocks[0] = kernel.blocks[0];
      estimate.blocks[1] = kernel.blocks[1];
      estimate.threads = kernel.threads;
      auto known = machineCode.find(kernel.name);
      if (known != machineCode.end())
        estimate.cubin = known->second;
      if (isVariant)
        estimate.cubin.sharedBytes += variant->second.sharedBytes;
      // All launches of a function do the same in other places.
      auto [place, isNew] = traces.try_emplace(instruction.kernel);
      if (isNew) {
        TraceLaunch launch{kernel.name,
                           {kernel.blocks[0], kernel.blocks[1]},
                           kernel.threads,
                           kernel.bound,
                           {}};
        // Tensor maps come first.
        uint64_t mapped = 0;
        if (isVariant)
          for (uint64_t buffer : variant->second.maps) {
            launch.buffers.push_back(getBuffer(instruction.refs[buffer]));
            mapped += launch.buffers.back().bytes;
          }
        for (const rt::BufferRef &ref : instruction.refs)
          launch.buffers.push_back(getBuffer(ref));
        auto traced = (isVariant ? *specific : *code).trace(launch, &estimate.cubin);
        if (!traced)
          return traced.takeError();
        place->second = std::move(*traced);
        if (isVariant) {
          // Blocks of a head run at once and share its keys and values in the
          // second-level cache.
          const double bytes = place->second.tiles * double(variant->second.tileBytes);
          place->second.loadBytes += bytes;
          place->second.uniqueLoads += std::min(bytes, double(mapped));
        }
      }
      estimateLaunch(place->second, chip, estimate);
      if (estimate.tensorFlops > 0)
        estimate.tensorType = "f16 or bf16";
      cuts += estimate.isCut && isNew && !isAlternative;
    }
    repeat(estimate, double(rt::countIterations(program, i)));
    (isAlternative ? result.alternatives : result.instructions)
        .push_back(std::move(estimate));
  }
  // What a GPU says of itself, as the table of chips has it.
  const rt::BranchPlan branches = rt::planBranches(
      program, choice.skipped,
      rt::getBranchRates(chip.memoryRate / kMemoryShare, chip.matmulLow / kTensorShare));
  result.branches = branches.count;
  if (branches.count > 1)
    result.shareInBranches = branches.parallel / branches.serial;
  if (!code->getUnknownOpcodes().empty())
    result.notes.push_back("counted as one instruction each: " +
                           llvm::join(code->getUnknownOpcodes(), ", "));
  if (cuts)
    result.notes.push_back(std::to_string(cuts) +
                           " kernels run too long to be counted in full: their numbers "
                           "are too low");
  return result;
}

void EstimateGroup::add(const InstructionEstimate &one) {
  nodes += one.runs;
  seconds += one.seconds;
  bytesRead += one.bytesRead;
  bytesWritten += one.bytesWritten;
  tensorFlops += one.tensorFlops;
  otherFlops += one.floatFlops + one.doubleFlops;
  instructions += one.instructions;
  measured += one.measured;
  bounds[one.bound] += one.seconds;
}

std::vector<EstimateGroup> mpt::groupEstimates(const ProgramEstimate &estimate,
                                               std::string InstructionEstimate::*name) {
  std::map<std::string, EstimateGroup> groups;
  for (const InstructionEstimate &one : estimate.instructions)
    groups[one.*name].add(one);
  std::vector<EstimateGroup> result;
  for (auto &[key, group] : groups) {
    group.name = key;
    result.push_back(std::move(group));
  }
  llvm::sort(result, [](const EstimateGroup &a, const EstimateGroup &b) {
    return std::tie(b.measured, b.seconds, a.name) <
           std::tie(a.measured, a.seconds, b.name);
  });
  return result;
}
