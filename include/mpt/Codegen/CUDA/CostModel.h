//===- CostModel.h - What a program costs on a GPU --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Estimates, without a GPU, what each launch and call of a program for GPUs reads,
/// writes and computes, how long that takes, and which limit of the chip it meets first.
/// The work of launches is counted in their PTX (DeviceTrace.h), that of library calls
/// follows from their shapes. docs/CUDA.md tells how times follow from work.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_COSTMODEL_H
#define MPT_CODEGEN_CUDA_COSTMODEL_H

#include "mpt/Codegen/CUDA/DeviceTrace.h"
#include "mpt/ProgramABI/GemmPlan.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace mpt {

/// A GPU as numbers. Rates are what good programs reach, not peaks, and per second unless
/// they are per clock.
struct GpuChip {
  /// "h100", and NVIDIA's name.
  const char *name, *fullName;
  /// 90: sm_90.
  int architecture;
  double processors, clock;
  /// Bytes: of memory per second, and of the second-level cache per second and in all.
  double memoryRate, cacheRate, cacheBytes;
  /// Of a multiprocessor: bytes of first-level cache and shared memory together, of
  /// shared memory alone, registers, warps and blocks.
  double localBytes, sharedBytes, registers, maxWarps, maxBlocks;
  /// Lanes of f32 and of f64 that a multiprocessor executes per clock.
  double floatLanes, doubleLanes;
  /// FLOPs that mma instructions of a kernel make per clock and multiprocessor, and those
  /// that wgmma makes.
  double mmaRate, wgmmaRate;
  /// FLOPs of matmuls by cuBLASLt, by the type of operands: bf16 and f16, 8-bit floats,
  /// tf32, f32 and f64.
  double matmulLow, matmulF8, matmulTF32, matmulF32, matmulF64;
  /// FLOPs of convolutions of f16 and bf16 by cuDNN.
  double convolutionLow;
  /// FLOPs of attention and of its gradient by cuDNN.
  double attentionLow, attentionGradLow;
  /// Seconds that cuBLASLt's epilogues add to a matmul, for each element that they work
  /// on: GELU with what came into it saved, GELU's gradient, and a bias's gradient in the
  /// matmul of the weight's.
  double geluAuxTime, geluGradTime, biasGradTime;
  /// Seconds from one node of a graph to the next, and until a load from memory and from
  /// the second-level cache returns.
  double nodeGap, memoryLatency, cacheLatency;
  /// Warps of a scheduler with which the busiest unit works half of the time.
  double halfWarps;
};

/// All chips, and the one of that name or architecture (null: none).
llvm::ArrayRef<GpuChip> getGpuChips();
const GpuChip *findGpuChip(llvm::StringRef name);
const GpuChip *findGpuChip(int architecture);
/// The first of the newest architecture that is no newer, or the oldest chip.
const GpuChip &getNearestGpuChip(int64_t architecture);

/// Seconds that `epilogue` adds to a matmul. Its result has `result` elements, its right
/// operand `rhs`, whose rows BGRADA sums. 0 of epilogues that were not measured.
double getEpilogueTime(rt::GemmEpilogue epilogue, double result, double rhs,
                       const GpuChip &chip);

/// Seconds that something takes as an epilogue, beyond the matmul, and as launches of
/// kernels beside a matmul without it.
struct EpilogueChoice {
  double inMatmul = 0, apart = 0;
  bool isFaster() const { return inMatmul <= apart; }
};

/// For `result` and `rhs` as above, of elements of `elementBytes`. The launches read and
/// write each matrix once; sums over rows have a second stage.
EpilogueChoice chooseEpilogue(rt::GemmEpilogue epilogue, double result, double rhs,
                              double elementBytes, const GpuChip &chip);

/// What takes longest in a launch or call.
enum class CostBound {
  Memory,
  Cache,
  TensorCores,
  IssueSlots,
  Arithmetic,
  SpecialUnits,
  SharedMemory,
  Latency,
  Gap
};
/// "DRAM", "L2", "tensor cores", "issue slots", "arithmetic", "special units",
/// "shared memory", "latency" or "launch".
llvm::StringRef getName(CostBound bound);

/// One instruction of a program, in all iterations of the loops around it.
struct InstructionEstimate {
  /// "matmul", "kernel", "attention_dquery": what it does.
  std::string kind;
  /// Of a launch; "" for a call.
  std::string function;
  std::string location;
  /// Which of the program's instructions it is.
  size_t number = 0;
  /// Times that it runs.
  double runs = 1;
  /// Bytes of device memory, and bytes between processors and the second-level cache.
  double bytesRead = 0, bytesWritten = 0, cacheBytes = 0;
  /// On tensor cores, and the type of the operands; on other units.
  double tensorFlops = 0;
  std::string tensorType;
  double floatFlops = 0, doubleFlops = 0, specialOps = 0;
  /// Instructions of warps; 0 for a call, as all that follows.
  double instructions = 0;
  CubinKernel cubin;
  uint64_t blocks[2] = {0, 0}, threads = 0;
  /// Blocks that a multiprocessor has at once, and how often all processors are filled.
  double blocksAtOnce = 0, waves = 0;
  /// Of one run and of all, with the gap before it.
  double seconds = 0;
  CostBound bound = CostBound::Memory;
  bool isCut = false;
  /// What it took in all its runs, if the estimate has measured times.
  double measured = 0;

  double getBytes() const { return bytesRead + bytesWritten; }
  double getFlops() const { return tensorFlops + floatFlops + doubleFlops; }
};

/// A program for GPUs as its file has it.
struct DeviceProgram {
  struct Kernel {
    std::string name;
    uint64_t blocks[2] = {1, 1}, threads = 0, bound = 0;
  };
  /// What runs instead of a kernel on an sm_90 (mpt_cuda_variant).
  struct Variant {
    Kernel kernel;
    uint64_t sharedBytes = 0;
    /// The numbers of the launch's buffers that tensor maps are of, and bytes of a tile.
    std::vector<uint64_t> maps;
    uint64_t tileBytes = 0;
  };
  rt::Program program;
  std::vector<Kernel> kernels;
  /// By the number of the kernel.
  std::map<uint64_t, Variant> variants;
  std::string specificPtx, specificCubin;
  std::string ptx;
  /// Machine code by architecture.
  std::map<int, std::string> cubins;
};

/// Reads a file that mpt-compile wrote. Fails if it is no program for GPUs.
llvm::Expected<DeviceProgram> readDeviceProgram(llvm::StringRef path);

struct ProgramEstimate {
  std::string name;
  const GpuChip *chip = nullptr;
  /// In the order in which they run. Of alternatives those that run where the libraries
  /// do what they are asked for, or that a GPU has chosen.
  std::vector<InstructionEstimate> instructions;
  /// Of the step's graph, and the time that they take together, as a part of the sum of
  /// their times (mpt/ProgramABI/BranchPlan.h).
  unsigned branches = 1;
  double shareInBranches = 1;
  /// What the counts leave out.
  std::vector<std::string> notes;
  /// What runs instead where a library refuses a call. With measured times: what has not
  /// run.
  std::vector<InstructionEstimate> alternatives;
  bool isMeasured = false;
};

/// The plans (describeGemmPlan, describeCudnnPlan) that a GPU like `chip` has measured to
/// be faster without their epilogue, or without cuDNN, by `tuning`: the text of a file
/// that keeps such choices ("Choosing algorithms by measuring" in docs/CUDA.md). Of
/// several choices for one plan the last one counts. Fails if it is no such text, or has
/// no choice of such a GPU.
llvm::Expected<llvm::StringSet<>> readPlansWithout(llvm::StringRef tuning,
                                                   const GpuChip &chip);

/// The cost of one step on `chip`, where `without` are plans that run without their
/// epilogue or without cuDNN. Fails, with the remedy, if the program has no machine code
/// for the chip.
llvm::Expected<ProgramEstimate> estimateProgram(const DeviceProgram &program,
                                                const GpuChip &chip,
                                                const llvm::StringSet<> &without = {});

/// Adds the times of `profile`, JSON as `mpt-run --profile-json` writes it of this
/// program: `instructions` are then those that ran. Fails if it is no such JSON, or that
/// of another program.
llvm::Error addMeasuredTimes(ProgramEstimate &estimate, llvm::StringRef profile);

/// A launch's time and bound on `chip`, from its work: fills in what follows from it.
void estimateLaunch(const LaunchTrace &trace, const GpuChip &chip,
                    InstructionEstimate &estimate);

/// Instructions with one name, added up, longest first, by measured times if there are
/// any.
struct EstimateGroup {
  std::string name;
  double nodes = 0, seconds = 0, bytesRead = 0, bytesWritten = 0, tensorFlops = 0,
         otherFlops = 0, instructions = 0;
  double measured = 0;
  /// Seconds by bound.
  std::map<CostBound, double> bounds;

  void add(const InstructionEstimate &one);
};
std::vector<EstimateGroup> groupEstimates(const ProgramEstimate &estimate,
                                          std::string InstructionEstimate::*name);

/// As text; of functions and sources those that take longest.
void printEstimate(const ProgramEstimate &estimate, llvm::raw_ostream &os);
/// One object; docs/CUDA.md describes it.
void printEstimateJSON(const ProgramEstimate &estimate, llvm::raw_ostream &os);
/// One page, with the roofline.
void printEstimatePage(const ProgramEstimate &estimate, llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_COSTMODEL_H
