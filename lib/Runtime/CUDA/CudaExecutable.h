//===- CudaExecutable.h - A program on a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a context does for a program for GPUs. Opening one needs no GPU: until the
/// first run, state lies in the host's memory. The first run takes all memory of
/// the device and goes launch by launch; the second is recorded as a CUDA
/// graph, which it and all further ones launch. Inside there is no allocation, and
/// the host waits only for its own copies of inputs from two runs before.
/// Results can be read of the run before the last one while the last is under way.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_CUDAEXECUTABLE_H
#define MPT_LIB_RUNTIME_CUDA_CUDAEXECUTABLE_H

#include "../Common/BadIndex.h"
#include "AttentionVariant.h"
#include "CublasLtMatmul.h"
#include "CudnnGraph.h"
#include "DeviceState.h"
#include "GemmChoices.h"
#include "GraphLoops.h"
#include "KeptResults.h"
#include "NcclRanks.h"
#include "StateSnapshot.h"
#include "mpt/ProgramABI/BranchPlan.h"
#include "mpt/ProgramABI/CudaProgram.h"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mpt::rt::cuda {

/// Blocks of the device's memory start at multiples of this; cuBLASLt's workspace
/// has to.
inline int64_t alignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Sets `error`, and returns `status`.
inline int fail(std::string &error, int status, std::string message) {
  error = std::move(message);
  return status;
}

/// The matrices A, B, C and D of a matmul among its buffers: cuBLASLt takes the operands
/// of a row-major matmul in the other order.
std::array<size_t, 4> getMatrices(const Instruction &call);

class CudaExecutable {
public:
  /// `program` and `desc` outlive the step; its state is all of `state`.
  CudaExecutable(const Program &program, const mpt_cuda_desc &desc,
                 std::shared_ptr<DeviceState> state, std::string cudnn, std::string nccl)
      : program(program), desc(desc), state(std::move(state)), api(this->state->api),
        cudnn(std::move(cudnn)), nccl(std::move(nccl)) {}
  ~CudaExecutable();
  CudaExecutable(const CudaExecutable &) = delete;
  CudaExecutable &operator=(const CudaExecutable &) = delete;

  // Each returns an mpt_rt_status; `error` says more.

  /// Checks what can be checked without a device.
  int open(uint64_t numKernels, std::string &error);
  int write(const BufferRef &ref, const void *data, std::string &error);
  int read(const BufferRef &ref, void *data, std::string &error);
  /// Sets `data` to where it lies on the device. Once there has been a run.
  int find(const BufferRef &ref, void *&data, std::string &error);
  /// `inputs` by their numbers.
  int run(const std::vector<const void *> &inputs, std::string &error);
  /// Runs that follow leave copies of `refs`, state and outputs.
  void keep(std::vector<BufferRef> refs);
  /// Reads the copy of `refs[index]` of the last run, or of the one before (`ago` 1);
  /// waits for that run alone.
  int readKept(size_t index, int ago, void *data, std::string &error);

  /// Begins a copy of all `bytes` bytes of state, unless it is not on the GPU yet or
  /// there is no memory for it there: then `snapshot` stays null.
  int takeSnapshot(int64_t bytes, std::unique_ptr<StateSnapshot> &snapshot,
                   std::string &error);

  /// Of the GPU's memory that the first run takes, or has taken, for kept results, too,
  /// and what snapshots of the state take.
  int64_t countBytes();
  Stream getStream() const { return state->stream; }
  /// What an instruction took, in all iterations of the loops around it.
  struct ProfileEntry {
    size_t instruction;
    std::string what;
    double milliseconds;
  };
  /// Of the last run that was profiled, in the order of the program: of what ran.
  const std::vector<ProfileEntry> &getProfile() const { return profiled; }
  /// What the program of several ranks exchanges data with; set before the first run.
  mpt_rt_communicator *communicator = nullptr;
  /// The stream of the host's that runs have a place in.
  std::optional<Stream> callersStream;
  /// Inputs on the device stay as they are.
  bool keepInputs = false;
  /// By the number of an input: whether it is bound to memory of the GPU.
  std::vector<bool> isOnDevice;
  /// Instructions are launched one by one and measured.
  bool profiling = false;
  /// Where the choice among cuBLASLt's proposals is kept; "": the first is taken. Set
  /// before the first run.
  std::string tuningFile;
  /// Most branches of the step's graph. Set before the first run.
  uint32_t mostBranches = kMostBranches;
  /// What was decided at the first run, a line each.
  std::string notes;
  /// If that is why the device failed.
  std::optional<BadIndex> badIndex;

private:
  /// What cuBLASLt proposed for matmuls of one plan and alignments.
  struct Proposals {
    Status status = 0;
    std::vector<CublasLtHeuristic> found;
  };
  struct BoundInstruction {
    Kernel kernel = nullptr;
    const mpt_cuda_kernel *launch = nullptr;
    /// What runs instead.
    const mpt_cuda_variant *variant = nullptr;
    std::vector<void *> buffers, arguments;
    int gemm = -1;
    /// Which the algorithms of `gemm` are; null if another was measured at compile time.
    Proposals *proposals = nullptr;
    /// What cuDNN does, and the number of its buffers' pack.
    const CudnnGraph *graph = nullptr;
    int pack = -1;
    size_t copyBytes = 0;
    /// What is done otherwise: by the epilogue of the matmul before; by cuDNN, or
    /// without it.
    bool isSkipped = false, isReplaced = false;
    /// The buffers that move in loops: which, and where they are in the first iteration.
    std::vector<std::pair<size_t, char *>> moving;
    /// Of the first of exchanges that are one group: how many they are, and when they
    /// are done. The others have 0.
    size_t exchanges = 0;
    Event done = nullptr;
    /// Which buffers a matmul uses beside its matrices, or -1.
    int bias = -1, aux = -1, scalesA = -1, scalesB = -1;
    /// Of a matmul that cuBLASLt cannot run: how `kernel` does it.
    PlainMatmul plain;
  };
  struct Input {
    char *device = nullptr;
    int64_t bytes = 0, staging = 0;
  };

  int start(DeviceGuard &guard, std::string &error);
  /// What has failed before.
  int checkFailure(std::string &error) const;
  /// Leaves what cannot be given back once the driver has gone.
  void abandon();
  int allocate(std::string &error);
  /// Says where in the GPU's memory all but the state lies, and how much that is.
  int64_t layOut();
  int loadKernels(std::string &error);
  /// Has what runs better on this GPU run, if it computes the same. Before the first
  /// step: writes arena, inputs and outputs.
  int chooseVariants(std::string &error);
  /// The same for one kernel: all of its launches, or none, are of `variant`.
  int chooseVariant(const mpt_cuda_variant &variant, const std::string &name,
                    std::string &error);
  /// "the driver is for CUDA 12.4, cudart is of CUDA 13.0".
  std::string describeVersions() const;
  int findBits(std::string &error);
  int prepare(std::string &error);
  static CublasLtPointers getPointers(const BoundInstruction &step);
  int prepareGemm(const Instruction &call, const Instruction *next,
                  BoundInstruction &step, bool &hasEpilogue, std::string &error);
  /// Makes the matmul `plan` of cuBLASLt, with algorithms, and says in `step` which; or
  /// sets `why` to the reason why cuBLASLt cannot run it.
  int askCublasLt(const Instruction &call, BoundInstruction &step, const GemmPlan &plan,
                  std::string &why, std::string &error);
  /// Has the program's own function do a matmul; false if there is none for it.
  bool usePlainMatmul(const Instruction &call, BoundInstruction &step,
                      const GemmPlan &plan, const std::string &why);
  /// Asks cuBLASLt for algorithms, once for equal plans, and keeps them in `matmul`.
  Status propose(const Instruction &call, BoundInstruction &step, const GemmPlan &plan,
                 CublasLtMatmul &matmul);
  /// Before the first step: has matmuls run with the proposals that `tuningFile` names,
  /// or, for plans that it does not know, with those that are fastest when measured, and
  /// adds these to the file. All ranks take those of rank 0.
  int tune(std::string &error);
  /// The same for this process alone; `choices` are those of the program.
  int tuneAlone(GemmChoices &choices, std::string &error);
  /// Sends `choices` of rank 0 to the others.
  int shareChoices(GemmChoices &choices, std::string &error);
  /// Measures the proposals of the matmul `call`, as `step` has it, until `deadline`, in
  /// seconds of the steady clock: all of them once, or, if `times` (microseconds) tells
  /// of that, the best ones in turns. Leaves `times` alone if it did not come to an end.
  /// On zeros and random numbers: writes arena, inputs and outputs.
  int measureGemm(const Instruction &call, BoundInstruction &step, double deadline,
                  std::vector<double> &times, bool &isWhole, std::string &error);
  /// The plan of the matmul `index` without its epilogue, if that one saves or reads what
  /// gradients need and launches that replace it can be measured and run instead.
  std::optional<GemmPlan> getPlanWithoutEpilogue(size_t index) const;
  /// What the launches take that replace the epilogue of the matmul `index`. Writes arena
  /// and outputs.
  int measureReplacement(size_t index, double &microseconds, std::string &error);
  /// Has the matmuls of `plan` run without their epilogues, and the launches after them.
  int dropEpilogues(const std::string &plan, std::string &error);
  /// What choices are good for: the GPU, the driver and cuBLASLt, or cuDNN.
  std::string describeTuned(const std::string &plan, bool ofCudnn = false) const;
  /// The same of what cuDNN does for `graph`, with what it is compared to.
  std::string describeTuned(const std::string &plan, const CudnnGraph &graph) const;
  /// Adds the choices of the file to `choices`, or puts them in the place of others:
  /// another run may have been the first to choose.
  void takeKept(GemmChoices &choices) const;
  /// Writes the file, and ends a line of `notes` with how that went.
  void keepChoices(const GemmChoices &choices);
  int makeMarks(std::string &error);
  static double getSeconds();
  /// Numbers from 0.5 to 1 of both signs for who reads them as bf16 or f32, small ones
  /// for who reads them as another type.
  static std::vector<uint16_t> makeRandom();
  /// Of arena and inputs.
  int fillRandomly(const std::vector<uint16_t> &random, const BufferRef &ref, void *data,
                   std::string &error);
  /// Arena and outputs are as the first step expects them.
  int clearMeasured(std::string &error);
  /// What a call of cuDNN is with the launches around it, and what runs without it.
  struct CudnnWay;
  CudnnWay getCudnnWay(size_t call, bool isWithout) const;
  void useCudnn(size_t call, bool isUsed);
  /// Prepares what runs without cuDNN; false if it cannot run.
  bool prepareWithoutCudnn(size_t call);
  /// What the fastest of several launches takes, after the first; of one if that takes
  /// long, or much longer than `fastest`, unless that is negative.
  int measureCudnn(CudnnWay way, double fastest, double &microseconds,
                   std::string &error);
  /// Measures cuDNN's configurations for plans that `tuningFile` does not know, and adds
  /// them to the file and to `choices`. Writes arena, inputs and outputs.
  int tuneCudnn(GemmChoices &choices, std::string &error);
  int takeCudnnChoices(const GemmChoices &choices, std::string &error);
  /// Takes streams, and memory for their matmuls, if the step is to have branches and
  /// there is memory for them.
  int prepareBranches(std::string &error);
  BranchPlan planBranches() const;
  void useBranch(uint32_t branch);
  /// Records the step into the capture of the stream, in branches.
  /// `events` has one more than the plan has steps.
  int enqueueBranches(const BranchPlan &plan, const std::vector<Event> &events,
                      std::string &error);
  /// Runs a matmul with the algorithm that it has.
  Status runGemm(const CublasLtMatmul &gemm, const Instruction &call,
                 const BoundInstruction &step);
  /// Runs a matmul; where an algorithm fails to run, with the next one.
  int launchGemm(size_t index, std::string &error);
  int launchPlainMatmul(BoundInstruction &step, const Instruction &call,
                        std::string &error);
  /// Has the matmul `index`, none of whose algorithms runs, done without its epilogue
  /// from now on, and the launches after it do the rest; without cuBLASLt if need be.
  /// False if that cannot be done.
  bool replaceGemm(size_t index, Status code);
  bool checkCudnnParts(std::string &error) const;
  int startCudnn(std::string &why, std::string &error);
  /// The graph of a call; null, with `why` set, if the call is not made.
  int planCudnn(const Instruction &call, const CudnnGraph *&graph, std::string &why,
                std::string &error);
  /// Of all of the program, before memory is taken; also says which other instructions
  /// are skipped.
  int planCudnn(std::string &error);
  /// Where there is no memory for the workspace of cuDNN's plans, has calls that want
  /// more of it than cuBLASLt run without cuDNN. False if there are none.
  bool dropLargeCudnnPlans();
  /// Where cuDNN refuses to run it, what runs without cuDNN does from now on.
  int launchCudnn(size_t index, std::string &error);
  /// Meets the other ranks, if there are any. `status` and `error`: how the start went.
  int connectRanks(int status, std::string &error);
  /// Finds the exchanges that are one group each.
  int prepareExchanges(std::string &error);
  int launchExchange(size_t index, std::string &error);
  /// An exchange of one process that was given no communicator.
  int copyExchanged(size_t index, std::string &error);
  /// The host waits for all that is on the device, but not for ranks that do not come.
  int synchronize(const std::string &what, std::string &error);
  /// What is done with an instruction in these iterations of the loops around it.
  using Visit = std::function<int(size_t, const std::vector<int64_t> &)>;
  /// Visits all instructions in the order in which they run. Of loops with conditions,
  /// recording visits one iteration; else the host reads the conditions.
  int visitAll(const Visit &visit, std::string &error);
  /// Those in [begin, end), in these iterations of the loops around them; `loop` is the
  /// first loop that begins there or later.
  int visitRange(size_t begin, size_t end, size_t loop, std::vector<int64_t> &iterations,
                 const Visit &visit, std::string &error);
  int visitLoop(size_t number, std::vector<int64_t> &iterations, const Visit &visit,
                std::string &error);
  int enqueue(std::string &error);
  int copyChecks(std::string &error);
  /// Copies the bound `data` to the inputs' places. Inputs of the host go there by way of
  /// pinned memory, so that they may be written when this returns.
  int copyInputs(const std::vector<const void *> &data, std::string &error);
  /// Lets `later` wait for what is in `earlier`.
  int order(Stream earlier, Stream later, std::string &error);
  /// In the given iterations of the loops around the instruction.
  int launch(size_t index, const std::vector<int64_t> &iterations, std::string &error);
  int profile(std::string &error);
  int capture(std::string &error);
  /// Writes state of at most kWritten bytes by way of pinned memory, without waiting.
  int writeSmall(const BufferRef &ref, const void *data, std::string &error);
  char *addressOf(const BufferRef &ref) const;
  /// The first bad index that the device has told of so far, or that `records` tell of,
  /// as an error.
  int checkIndices(std::string &error) { return checkIndices(checked, error); }
  int checkIndices(const char *records, std::string &error);
  /// Takes memory for copies of results, if there are to be some.
  int prepareKept(std::string &error);
  /// What it copies, in blocks of memory at these addresses.
  std::vector<KeptResults::Part> getKeptParts(const char *own, const char *ofState) const;
  /// Checks indices if all is well so far, and keeps what is not for later calls.
  int finishReading(int status, std::string &error);
  /// Keeps what is not well for later calls; returns `status`.
  int keepFailure(int status, const std::string &error);
  int check(Error code, const std::string &what, std::string &error);
  int checkCublasLt(Status code, const std::string &what, std::string &error);

  const Program &program;
  const mpt_cuda_desc &desc;
  const std::shared_ptr<DeviceState> state;
  const Api &api;
  std::string cudnn, nccl;
  /// Of outputs, while there is no device.
  std::vector<char> hostOutput;
  bool started = false;
  /// The step is being recorded or measured: what fails is not tried again.
  bool recording = false;
  /// Why it could not be started. Other programs of its state may run.
  int failed = 0;
  std::string failure;
  char *memory = nullptr;
  int64_t allocatedBytes = 0;
  /// Of the branch that instructions are launched into.
  Stream stream = nullptr;
  char *workspace = nullptr;
  int64_t workspaceSize = 0;
  /// Streams of the second branch and those after it, and their workspaces.
  std::vector<Stream> branchStreams;
  char *branchMemory = nullptr;
  /// The most bytes that an algorithm of a matmul takes of one.
  int64_t gemmWorkspace = 0;
  /// Of each workspace.
  int64_t branchBytes = 0;
  int64_t workspaceAt = 0, workspaceBytes = 0, outputAt = 0, rankAt = 0, countsAt = 0,
          landingAt = 0;
  std::vector<int64_t> inputAt;
  std::vector<int64_t> constantAt;
  std::vector<Input> inputs;
  /// Pinned, twice the inputs' bytes; and as much of the GPU's memory, where a stream of
  /// its own copies them while the step before runs, or null.
  char *staging = nullptr, *landing = nullptr;
  int64_t stagingBytes = 0;
  Stream inputStream = nullptr;
  /// The pinned half may be written again; the half on the GPU may.
  Event copied[2] = {nullptr, nullptr}, taken[2] = {nullptr, nullptr};
  /// Between the stream and the caller's.
  Event ordered = nullptr;
  /// Pinned, for small state that the host writes, such as learning rates: places that
  /// are used in turn, and when the writes of either half are done.
  char *written = nullptr;
  Event writtenHalf[2] = {nullptr, nullptr};
  int64_t writes = 0;
  /// What runs leave copies of, and, behind these, records of bad indices; once there has
  /// been such a run.
  std::vector<BufferRef> keptRefs;
  std::unique_ptr<KeptResults> kept;
  Library library = nullptr;
  std::unique_ptr<AttentionVariants> variants;
  std::unique_ptr<CublasLtContext> lt;
  std::vector<BoundInstruction> steps;
  std::vector<CublasLtMatmul> gemms;
  /// By plan and alignments.
  std::map<std::string, Proposals> proposals;
  /// If the program is for several ranks; and the exchanges that were begun, by when they
  /// are done, in order.
  std::unique_ptr<NcclRanks> others;
  std::deque<Event> pending;
  /// This rank's number, for the device, and what a step sends.
  int64_t rank = 0;
  uint64_t sentBytes = 0;
  /// If the program calls cuDNN and there is one; plans by what they do.
  std::unique_ptr<CudnnContext> dnn;
  std::map<std::string, std::unique_ptr<CudnnGraph>> graphs;
  std::vector<CudnnVariantPack> packs;
  /// Of the time for measuring matmuls, what measuring cuDNN has taken.
  double tuningSeconds = 0;
  /// What ReLU saves has the order of the launches that replace epilogues.
  bool hasOwnBits = false;
  /// Records of bad indices: their launches, where they lie on the device, and
  /// their pinned copy, which every step brings up to date.
  std::vector<size_t> checks;
  int64_t checksAt = 0;
  char *checked = nullptr;
  /// Between instructions, when they are measured.
  std::vector<Event> marks;
  /// How many launches and calls a step is, at most kMostRecorded + 1.
  int64_t numLaunches = 0;
  std::vector<ProfileEntry> profiled;
  /// If loops have conditions, and the driver knows such loops.
  std::unique_ptr<GraphLoops> graphLoops;
  GraphExec graph = nullptr;
  /// Runs, and those that copied inputs.
  int64_t runs = 0, copies = 0;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_CUDAEXECUTABLE_H
