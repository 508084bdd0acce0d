//===- RuntimeEngine.h - A compiled program as an engine --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a compiled program, for CPUs or GPUs, through the C ABI of the runtime
/// (mpt/Runtime/Runtime.h). The program is code in this process (JITEngine.h) or a file
/// that mpt-compile wrote.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_RUNTIMEENGINE_H
#define MPT_HOST_RUNTIMEENGINE_H

#include "mpt/Host/StepEngine.h"
#include "mpt/Host/StepProfile.h"
#include <memory>

struct mpt_program_desc;
struct mpt_rt_communicator;
struct mpt_rt_context;

namespace mpt {

struct RuntimeOptions {
  /// 0: as many as the machine has.
  int threads = 0;
  /// Measure every launch and call of each run.
  bool profile = false;
  /// CUDA's number of the GPU, and libraries by path or name; "": those that the loader
  /// finds. Programs for CPUs use none of these.
  int device = 0;
  /// `device` is this rank's number among those of its machine; which GPU it is depends
  /// on those that the process sees.
  bool isLocalRank = false;
  std::string cudart, cublasLt, cudnn, nccl;
  /// Whether the algorithms of matmuls on a GPU are measured before the first step, and
  /// where the choice is kept; "": beside the program (mpt_rt_set_tuning).
  bool tunes = true;
  std::string tuningFile;
  /// Most branches of a step's CUDA graph, 1 to 3 (mpt_rt_set_graph_branches).
  int graphBranches = 3;
  /// State of this engine's name, type and shape is shared with it; it must be alive
  /// while the new one is opened, and neither runs while the other does. On the CPU.
  const class RuntimeEngine *sharedState = nullptr;
  /// The ranks that a program of several exchanges data with; outlives the engine.
  mpt_rt_communicator *communicator = nullptr;
};

class RuntimeEngine : public StepEngine {
public:
  /// Opens the file at `path`. What is known of arguments and results is what the
  /// program says: names, roles, types, shapes, and the metadata that mpt-compile leaves
  /// (mpt/ProgramABI/ProgramFile.h). State starts with the program's values.
  static llvm::Expected<std::unique_ptr<RuntimeEngine>>
  open(llvm::StringRef path, const RuntimeOptions &options);
  /// Opens the file at `path`, compiled from a function with these arguments and
  /// results. The host gives state its first values.
  static llvm::Expected<std::unique_ptr<RuntimeEngine>>
  open(llvm::StringRef path, std::vector<TensorInfo> arguments,
       std::vector<ResultInfo> results, const RuntimeOptions &options);
  /// Opens a program in memory, compiled from such a function. `code` owns it.
  static llvm::Expected<std::unique_ptr<RuntimeEngine>>
  create(const mpt_program_desc *program, std::shared_ptr<void> code,
         std::vector<TensorInfo> arguments, std::vector<ResultInfo> results,
         const RuntimeOptions &options);
  ~RuntimeEngine() override;

  llvm::ArrayRef<TensorInfo> getArguments() const override { return arguments; }
  llvm::ArrayRef<ResultInfo> getResults() const override { return results; }
  llvm::Expected<HostTensor> readState(llvm::StringRef name) const override;
  llvm::Error writeState(llvm::StringRef name, const HostTensor &value) override;
  llvm::Expected<bool> initialize(uint64_t seed) override;
  bool isUntouched() const override { return untouched; }
  llvm::Error checkHasValue(llvm::StringRef name) const override;
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &inputs) override;
  // On a GPU, once something is watched or there are outputs to wait for, a run may begin
  // before the one before it is finished; measured runs are waited for.
  llvm::Error watch(std::vector<std::string> names) override;
  int64_t getDepth() const override {
    return keptOutputs.size() + keptState.size() ? 2 : 1;
  }
  llvm::Error begin(const llvm::StringMap<const HostTensor *> &inputs) override;
  llvm::Expected<StepResults> finish() override;
  llvm::Expected<std::unique_ptr<StateSnapshot>> takeSnapshot() const override;
  size_t arenaBytes() const override;
  size_t stateBytes() const override;
  StepProfile profile() const override;
  /// Measures the runs that follow, from RuntimeOptions::profile on or from here; what
  /// was measured before is forgotten when it begins.
  void setProfiling(bool on);
  std::string notes() const override;
  int64_t getNumRanks() const override;
  int64_t getNumThreads() const override { return threads > 1 ? threads : 1; }

  // Without copies: `run` is these.

  /// Binds an input or target to memory that stays valid for the runs that follow. Fails
  /// unless `bytes` is the input's size.
  llvm::Error bind(llvm::StringRef name, const void *data, size_t bytes);
  /// As `bind`, to memory of the GPU that the program runs on.
  llvm::Error bindDevice(llvm::StringRef name, const void *data, size_t bytes);
  /// Runs take their place among the work in `stream`, of the GPU that the program runs
  /// on.
  llvm::Error setCudaStream(void *stream);
  /// Runs once on what is bound.
  llvm::Error runBound();
  /// Copies an output of the last run to `data`. Fails unless `bytes` is its size.
  llvm::Error readOutput(llvm::StringRef name, void *data, size_t bytes) const;
  /// The same for state, and back.
  llvm::Error readStateBytes(llvm::StringRef name, void *data, size_t bytes) const;
  llvm::Error writeStateBytes(llvm::StringRef name, const void *data, size_t bytes);
  /// Runs that follow leave copies of these tensors, by their numbers in the order of
  /// arguments and outputs, for readResult (mpt_rt_keep_results). In place of `watch`.
  llvm::Error keepResults(llvm::ArrayRef<int32_t> tensors);
  /// Copies out what such a tensor was after run `run` of countRuns.
  llvm::Error readResult(uint64_t run, int32_t tensor, void *data, size_t bytes) const;
  uint64_t countRuns() const;
  /// Where a tensor lies on the CPU, by its number in the order of arguments and outputs.
  llvm::Expected<void *> getData(int32_t index);
  /// The same on the GPU that the program runs on, after a run; not of inputs.
  llvm::Expected<void *> getDeviceData(int32_t index);

  /// What the program was compiled for: "cuda sm_90", say.
  llvm::StringRef getTarget() const;
  /// CUDA's number of the GPU that the program runs on.
  llvm::Expected<int> getCudaDevice();
  /// Of a program for GPUs: the bytes of the GPU's memory that its first run takes, and
  /// those that are free (mpt_rt_get_cuda_memory).
  llvm::Expected<std::pair<int64_t, int64_t>> countDeviceMemory();
  /// A line more of `notes`.
  void addNote(llvm::StringRef note) { ownNotes += (note + "\n").str(); }
  bool isCuda() const { return getTarget().starts_with("cuda"); }
  /// Of a file: the digest of the step function that it was compiled from, as
  /// checkpoints have it; "" if the file has none.
  llvm::StringRef getDigest() const { return digest; }
  /// Of a file: false if it was compiled from a function that trains nothing.
  bool isStep() const { return isTraining; }

private:
  RuntimeEngine() = default;
  llvm::Error createContext(const RuntimeOptions &options);
  /// Fills in arguments and results from the open program.
  llvm::Error readSignature();
  llvm::Error readMetadata();
  llvm::Error lastError(llvm::StringRef what) const;
  /// Why a run failed, by the status that was returned.
  llvm::Error runError(int status) const;
  /// Binds all inputs.
  llvm::Error bindAll(const llvm::StringMap<const HostTensor *> &inputs);
  /// Exchanges with other ranks so far.
  ExchangeProfile countExchanges() const;
  /// Of a run before which countExchanges was `before`.
  void addToProfile(const ExchangeProfile &before);
  const TensorInfo *findState(llvm::StringRef name) const;

  std::vector<TensorInfo> arguments;
  std::vector<ResultInfo> results;
  std::string path, digest, ownNotes;
  bool isTraining = true;
  /// Nothing but the program knows first values of state.
  bool holdsFirstValues = false;
  bool untouched = true;
  bool profiling = false;
  /// Sums of each instruction's milliseconds over `profiledSteps` steps: the first, or
  /// all after it. `runs` counts both. It is slower than the rest: memory is touched for
  /// the first time.
  std::vector<double> profiled;
  int64_t profiledSteps = 0, runs = 0;
  /// Null: of a step of one process.
  mpt_rt_communicator *communicator = nullptr;
  /// Sums over these steps.
  ExchangeProfile exchanged;
  int threads = 0;
  /// Outputs and the state that is watched, with their numbers in the program, where runs
  /// overlap; and the number of the last run that is finished.
  std::vector<std::pair<int32_t, std::string>> keptOutputs, keptState;
  uint64_t finished = 0;
  /// The code must outlive the context.
  std::shared_ptr<void> code;
  mpt_rt_context *context = nullptr;
};

/// The chip to compile for, as "sm_90", of the GPU that `options` choose. Fails if there
/// is none, and says why.
llvm::Expected<std::string> findCudaChip(const RuntimeOptions &options);

} // namespace mpt

#endif // MPT_HOST_RUNTIMEENGINE_H
