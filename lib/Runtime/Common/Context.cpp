//===- Context.cpp - The C ABI -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CPU/Call.h"
#include "../CPU/Parallel.h"
#include "../CUDA/CudaExecutable.h"
#include "../CUDA/StateSnapshot.h"
#include "../Comm/Communicator.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/InitialValues.h"
#include "mpt/ProgramABI/InstructionCost.h"
#include "mpt/ProgramABI/ProgramFile.h"
#include "mpt/ProgramABI/ProgramFormat.h"
#include "mpt/ProgramABI/SystemMemory.h"
#include "mpt/Runtime/Runtime.h"
#include "mpt/Support/Version.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace mpt::rt;

namespace {

/// A block of 64-byte aligned bytes that begin as zeros. Linux makes the pages of a large
/// one where they are first written, by whichever thread does that, and of 2 MiB if it
/// has them, so that fewer addresses are translated.
class AlignedBlock {
public:
  bool allocate(int64_t bytes) {
    // No more than was planned; but something, where that is nothing.
    const size_t size = std::max<size_t>((static_cast<size_t>(bytes) + 63) / 64 * 64, 64);
    if (size < size_t(8) << 20) {
      data = {static_cast<char *>(std::aligned_alloc(64, size)), Free{0}};
      if (data)
        std::memset(data.get(), 0, size);
      return data != nullptr;
    }
    void *mapped =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      return false;
#ifdef MADV_HUGEPAGE
    ::madvise(mapped, size, MADV_HUGEPAGE);
#endif
    data = {static_cast<char *>(mapped), Free{size}};
    return true;
  }
  char *get() const { return data.get(); }

private:
  struct Free {
    /// Bytes that are mapped; 0 if they are of the heap.
    size_t mapped;
    void operator()(char *pointer) const {
      if (mapped)
        ::munmap(pointer, mapped);
      else
        std::free(pointer);
    }
  };
  std::unique_ptr<char, Free> data{nullptr, Free{0}};
};

/// The memory of a program's state, and of which tensors the host has written a value.
struct StateBlock {
  AlignedBlock memory;
  std::vector<bool> isWritten;
};

/// Where a state tensor lies: in the block of its own program or of another.
struct StatePlace {
  std::shared_ptr<StateBlock> block;
  char *data = nullptr;
  /// Its number in the program whose block it is.
  size_t number = 0;

  bool isWritten() const { return block->isWritten[number]; }
  void setWritten() const { block->isWritten[number] = true; }
};

/// A state tensor of another context.
struct SharedState {
  std::string name;
  BufferRef buffer;
  StatePlace place;

  bool is(const NamedTensor &tensor) const {
    return name == tensor.name && buffer.type == tensor.buffer.type &&
           buffer.dims == tensor.buffer.dims;
  }
};

/// A buffer whose address changes.
struct MovingBuffer {
  /// Which of the instruction's.
  uint32_t position;
  /// The number of the input that it lies in, or -1.
  int64_t input;
  /// Where it lies in the first iteration: in the input, or in memory.
  int64_t start;
  char *base;
  std::vector<int64_t> strides;
};

/// An instruction with the addresses it works on.
struct BoundInstruction {
  mpt_kernel_fn kernel = nullptr;
  std::unique_ptr<Call> call;
  int64_t tasks = 0;
  std::vector<void *> buffers;
  /// The buffers that are not at one place in all runs: inputs, and those that move in
  /// loops.
  std::vector<MovingBuffer> moving;
  double milliseconds = 0;
};

const char *const typeNames[] = {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2",
                                 "i64", "i32", "i16", "i8",   "i1"};

} // namespace

struct mpt_rt_context {
  int threads = 1;
  std::unique_ptr<ThreadTeam> team;
  std::string error;
  /// Of the last run on the CPU, if that is why it failed.
  std::optional<BadIndex> badIndex;
  /// The copy of the file that was opened, and what the loader made of it.
  int file = -1;
  void *library = nullptr;
  bool isOpen = false, profiling = false;
  /// Those that did not fail.
  uint64_t runs = 0;
  Program program;
  AlignedBlock arena, output;
  std::shared_ptr<StateBlock> state;
  /// By the number of the tensor; empty for other tensors.
  std::vector<StatePlace> places;
  /// Numbers of state tensors by where they begin in the program's state.
  std::map<int64_t, size_t> stateAt;
  /// What the program that is opened next shares with another: on the CPU tensors, on a
  /// GPU all state.
  std::vector<SharedState> shared;
  std::shared_ptr<cuda::DeviceState> sharedDevice;
  std::vector<AlignedBlock> constants;
  /// The bound input data, by the input's number, and its tensor.
  std::vector<const void *> inputs;
  std::vector<size_t> inputTensors;
  std::vector<BoundInstruction> steps;
  /// Instead of blocks and steps, for a program for GPUs.
  std::unique_ptr<cuda::CudaExecutable> cuda;
  std::shared_ptr<cuda::DeviceState> deviceState;
  std::string cudart, cublasLt, cudnn, nccl;
  /// Whether matmuls are measured, and where that is kept; "": beside the program.
  bool tunes = true;
  std::string tuningFile;
  /// Most branches of a CUDA graph.
  uint32_t branches = kMostBranches;
  cuda::DeviceChoice device;
  /// Numbers of the tensors that runs leave copies of, the number of runs before the
  /// first that does, and, on the CPU, the copies of two runs.
  std::vector<size_t> kept;
  uint64_t keptAfter = 0;
  AlignedBlock copies[2];
  /// The other ranks, and the number of ranks that the program is for.
  mpt_rt_communicator *communicator = nullptr;
  int64_t ranks = 1;
  /// What state begins with that the program holds values of, by the tensor's number.
  std::vector<StateValue> stateValues;
  /// Of the library that is open; null: none.
  const char *metadata = nullptr;

  int fail(int status, std::string message) {
    error = std::move(message);
    return status;
  }

  void *addressOf(const BufferRef &ref) {
    switch (ref.space) {
    case SpaceId::Arena:
      return arena.get() + ref.offset;
    case SpaceId::State: {
      auto found = stateAt.upper_bound(ref.offset);
      if (found == stateAt.begin())
        return state->memory.get() + ref.offset;
      --found;
      return places[found->second].data + (ref.offset - found->first);
    }
    case SpaceId::Output:
      return output.get() + ref.offset;
    case SpaceId::Constant:
      return constants[ref.offset].get() + ref.start;
    case SpaceId::Input:
      break;
    }
    return nullptr;
  }

  /// Opens the program, or forgets all of it again.
  int open(const mpt_program_desc *desc);
  /// Opens a file, or forgets it again.
  int openFile(const std::string &path);
  /// Gives state its first values: all of it, or what is the same for all elements alone.
  int initialize(uint64_t seed, bool onlyConstant);
  /// Makes the copies of a run on the CPU.
  void keepResults();
  /// Where the copy of a tensor of `kept` lies in its block, or, behind them, the end.
  int64_t getKeptPlace(size_t index) const;
  /// Fails if there is state that must be written before the first run and was not.
  int checkState();
  /// Fails if there are other ranks than the program is for.
  int checkRanks();

private:
  int load(const mpt_program_desc *desc);
  void findInputs();
  /// Learns how many ranks the program is for.
  int findRanks();
  /// Makes memory on the GPU for state, or takes that of the other program.
  int findDeviceState();
  /// Says where each state tensor lies, once there is memory for those of the program.
  void placeState();
  int initialize(const NamedTensor &tensor, const NamedTensor *low, uint64_t seed);
  int initialize(const NamedTensor &tensor, const StateValue &value);
  int store(const BufferRef &tensor, int64_t first, int64_t count, const void *data);
};

void mpt_rt_context::findInputs() {
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const BufferRef &buffer = program.tensors[i].buffer;
    if (buffer.space == SpaceId::Input) {
      inputTensors.resize(std::max<size_t>(inputTensors.size(), buffer.offset + 1));
      inputTensors[buffer.offset] = i;
    }
  }
  inputs.resize(inputTensors.size(), nullptr);
}

int mpt_rt_context::findRanks() {
  ranks = 1;
  for (const Instruction &instruction : program.instructions) {
    const int64_t found = instruction.call ? getRanks(*instruction.call) : 0;
    if (found < 0 || found > kMaxRanks || (found > 1 && ranks > 1 && found != ranks))
      return fail(MPT_RT_INVALID_PROGRAM,
                  instruction.location + ": the call is for " + std::to_string(found) +
                      " ranks, others of the program for " + std::to_string(ranks));
    ranks = std::max(ranks, found);
  }
  return MPT_RT_OK;
}

int mpt_rt_context::checkRanks() {
  if (ranks == 1)
    return MPT_RT_OK;
  const std::string number = std::to_string(ranks);
  if (!communicator || !communicator->isConnected)
    return fail(MPT_RT_INVALID_ARGUMENT,
                "the program was compiled for " + number +
                    " ranks and this process knows of no others; start it with 'mpirun "
                    "-n " +
                    number + " ..' and give the context a communicator");
  if (communicator->ranks != ranks)
    return fail(MPT_RT_INVALID_ARGUMENT,
                "the program was compiled for " + number + " ranks, found " +
                    std::to_string(communicator->ranks) + "; start it with 'mpirun -n " +
                    number + " ..', or compile it for as many ranks as there are");
  return MPT_RT_OK;
}

int mpt_rt_context::findDeviceState() {
  if (shared.empty() && !sharedDevice) {
    deviceState =
        std::make_shared<cuda::DeviceState>(cudart, cublasLt, device, program.stateBytes);
    return MPT_RT_OK;
  }
  const std::string what = "to share state on a GPU, ";
  if (!sharedDevice)
    return fail(MPT_RT_UNSUPPORTED, what +
                                        "both programs must be for GPUs; this one is "
                                        "for '" +
                                        program.target + "'");
  const cuda::DeviceChoice &other = sharedDevice->choice;
  if (other.number != device.number || other.isLocalRank != device.isLocalRank)
    return fail(MPT_RT_INVALID_ARGUMENT,
                what + "both programs must be for one: the other one is on GPU " +
                    std::to_string(other.number) + ", this one on GPU " +
                    std::to_string(device.number));
  // Kernels know where tensors lie from where the state begins.
  size_t count = 0;
  for (const NamedTensor &tensor : program.tensors) {
    if (tensor.buffer.space != SpaceId::State)
      continue;
    if (count == shared.size() || !shared[count].is(tensor) ||
        shared[count].buffer.offset != tensor.buffer.offset)
      return fail(MPT_RT_UNSUPPORTED, what + "programs must have the same: '" +
                                          tensor.name + "' is not " + "number " +
                                          std::to_string(count) + " of the other one's");
    ++count;
  }
  if (count != shared.size())
    return fail(MPT_RT_UNSUPPORTED, what + "programs must have the same: '" +
                                        shared[count].name +
                                        "' is state of the other one only");
  deviceState = sharedDevice;
  return MPT_RT_OK;
}

void mpt_rt_context::placeState() {
  places.assign(program.tensors.size(), {});
  state->isWritten.assign(program.tensors.size(), false);
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const NamedTensor &tensor = program.tensors[i];
    if (tensor.buffer.space != SpaceId::State)
      continue;
    // On a GPU the host has no memory for it.
    char *memory = state->memory.get();
    places[i] = {state, memory ? memory + tensor.buffer.offset : nullptr, i};
    for (const SharedState &other : shared)
      if (other.is(tensor))
        places[i] = other.place;
    if (tensor.buffer.bytes() > 0)
      stateAt[tensor.buffer.offset] = i;
  }
}

/// Elements that are initialized at a time, on the stack.
constexpr int64_t kInitialized = 2048;

/// Whether the seed that training starts with is written there.
static bool isSeedTensor(const NamedTensor &tensor) {
  return tensor.role == stringifyRole(mpt::Role::Rng) && tensor.name == "seed" &&
         tensor.buffer.type == DataType::I64 && tensor.buffer.dims.empty();
}

/// Writes elements [first, first + count) of a tensor of state.
int mpt_rt_context::store(const BufferRef &tensor, int64_t first, int64_t count,
                          const void *data) {
  BufferRef part = tensor;
  part.offset += first * getSize(part.type);
  part.dims = {count};
  if (cuda)
    return cuda->write(part, data, error);
  std::memcpy(addressOf(part), data, part.bytes());
  return MPT_RT_OK;
}

int mpt_rt_context::initialize(const NamedTensor &tensor, const StateValue &value) {
  const BufferRef &buffer = tensor.buffer;
  const int64_t end = buffer.count();
  if (static_cast<int64_t>(value.size) == buffer.bytes())
    return end ? store(buffer, 0, end, value.data) : int(MPT_RT_OK);
  char elements[kInitialized * sizeof(double)];
  fillConstant(std::string(reinterpret_cast<const char *>(value.data), value.size),
               std::min(end, kInitialized) * value.size, elements);
  for (int64_t at = 0; at < end; at += kInitialized)
    if (int status = store(buffer, at, std::min(end - at, kInitialized), elements))
      return status;
  return MPT_RT_OK;
}

/// The f32 numbers of a parameter with a low half in `low` are split in two.
int mpt_rt_context::initialize(const NamedTensor &tensor, const NamedTensor *low,
                               uint64_t seed) {
  double drawn[kInitialized];
  float wide[kInitialized];
  uint16_t high[kInitialized], rest[kInitialized];
  char stored[kInitialized * sizeof(double)];
  const mpt::InitSpec init = tensor.init.value_or(mpt::InitSpec());
  const bool isSeed = isSeedTensor(tensor);
  for (int64_t at = 0, end = tensor.buffer.count(); at < end; at += kInitialized) {
    const int64_t count = std::min(end - at, kInitialized);
    const void *data = stored;
    drawInitialValues(init, tensor.key, seed, at, count, drawn);
    if (isSeed) {
      data = &seed;
    } else if (low) {
      encodeElements(DataType::F32, drawn, count, wide);
      splitHalves(wide, count, high, rest);
      data = high;
      if (int status = store(low->buffer, at, count, rest))
        return status;
    } else {
      encodeElements(tensor.buffer.type, drawn, count, stored);
    }
    if (int status = store(tensor.buffer, at, count, data))
      return status;
  }
  return MPT_RT_OK;
}

int mpt_rt_context::initialize(uint64_t seed, bool onlyConstant) {
  // Low halves first: their parameter may set them again.
  for (bool isLow : {true, false})
    for (size_t i = 0; i < program.tensors.size(); ++i) {
      const NamedTensor &tensor = program.tensors[i];
      if (tensor.buffer.space != SpaceId::State || tensor.lowOf.empty() == isLow ||
          (onlyConstant && places[i].block != state))
        continue;
      if (stateValues[i].data && (onlyConstant || !isSeedTensor(tensor))) {
        if (int status = initialize(tensor, stateValues[i]))
          return status;
        places[i].setWritten();
        continue;
      }
      if (tensor.needsWrite() || (onlyConstant && tensor.init && tensor.init->isRandom()))
        continue;
      // The block begins so, and pages that nothing writes are not made.
      const bool isZero = !tensor.init || tensor.init->kind == mpt::InitKind::Zeros;
      if (onlyConstant && isZero && !cuda) {
        places[i].setWritten();
        continue;
      }
      const NamedTensor *low = nullptr;
      for (const NamedTensor &other : program.tensors)
        if (tensor.init && other.lowOf == tensor.name)
          low = &other;
      if (int status = initialize(tensor, low, seed))
        return status;
      places[i].setWritten();
    }
  return MPT_RT_OK;
}

int64_t mpt_rt_context::getKeptPlace(size_t index) const {
  int64_t place = 0;
  for (size_t i = 0; i < index; ++i)
    place += (program.tensors[kept[i]].buffer.bytes() + 63) / 64 * 64;
  return place;
}

void mpt_rt_context::keepResults() {
  for (size_t i = 0; i < kept.size(); ++i) {
    const BufferRef &buffer = program.tensors[kept[i]].buffer;
    std::memcpy(copies[runs % 2].get() + getKeptPlace(i), addressOf(buffer),
                buffer.bytes());
  }
}

int mpt_rt_context::checkState() {
  if (runs > 0)
    return MPT_RT_OK;
  constexpr int kNames = 8;
  std::string names;
  int missing = 0;
  for (size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].buffer.space == SpaceId::State && !places[i].isWritten() &&
        ++missing <= kNames)
      names += (missing > 1 ? ", '" : "'") + program.tensors[i].name + "'";
  if (missing == 0)
    return MPT_RT_OK;
  if (missing > kNames)
    names += " and " + std::to_string(missing - kNames) + " more";
  return fail(MPT_RT_INVALID_ARGUMENT,
              "state without a value: " + names +
                  "; before the first run call mpt_rt_initialize, or mpt_rt_write for "
                  "state without mpt.init");
}

int mpt_rt_context::open(const mpt_program_desc *desc) {
  if (isOpen)
    return fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  int status = load(desc);
  shared.clear();
  sharedDevice.reset();
  if (status == MPT_RT_OK)
    status = initialize(0, /*onlyConstant=*/true);
  isOpen = status == MPT_RT_OK;
  if (!isOpen) {
    cuda.reset();
    deviceState.reset();
    program = Program();
    ranks = 1;
    arena = AlignedBlock();
    output = AlignedBlock();
    state.reset();
    places.clear();
    stateAt.clear();
    stateValues.clear();
    constants.clear();
    inputs.clear();
    inputTensors.clear();
    steps.clear();
  }
  return status;
}

static void closeLibrary(void *library, int file) {
  if (library)
    dlclose(library);
  // Not before: another file could get the number, and the loader know it by its name.
  if (file >= 0)
    ::close(file);
}

int mpt_rt_context::openFile(const std::string &path) {
  // The loader gets a copy that nobody else writes. A file that is changed in place would
  // change under running code, and the loader takes a path, or a file, that it knows for
  // what it was when it first saw it.
  file = openProgramFile(path, error);
  if (file < 0)
    return MPT_RT_INVALID_PROGRAM;
  // With the process's number, so that a debugger that reads the name finds it too.
  std::string name =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
  library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  int status = MPT_RT_INVALID_PROGRAM;
  if (!library) {
    const char *why = dlerror();
    fail(status, path + ": the loader refuses it: " + (why ? why : "no reason given"));
  } else if (auto *desc =
                 static_cast<const mpt_program_desc *>(dlsym(library, "mpt_program"))) {
    status = open(desc);
    if (status == MPT_RT_OK && cuda && tunes && tuningFile.empty())
      cuda->tuningFile = path + ".tuning";
    metadata = static_cast<const char *>(dlsym(library, kProgramMetadata));
  } else {
    fail(status, path + ": no symbol mpt_program; compile the step again");
  }
  if (status != MPT_RT_OK) {
    closeLibrary(library, file);
    library = nullptr;
    metadata = nullptr;
    file = -1;
  }
  return status;
}

int mpt_rt_context::load(const mpt_program_desc *desc) {
  if (!desc || desc->magic != kProgramMagic)
    return fail(MPT_RT_INVALID_PROGRAM, "this is not a program of MPT");
  if (desc->format_version != kFormatVersion)
    return fail(MPT_RT_INVALID_PROGRAM,
                "the program has format " + std::to_string(desc->format_version) +
                    " but this runtime reads format " + std::to_string(kFormatVersion) +
                    "; compile it again");
  if (!desc->table || (desc->num_kernels && !desc->kernels && !desc->cuda))
    return fail(MPT_RT_INVALID_PROGRAM, "the program's descriptor is incomplete");
  std::string why;
  if (!readProgram(desc->table, desc->table_size, desc->num_kernels, program, why))
    return fail(MPT_RT_INVALID_PROGRAM, why);
  if (!readStateValues(desc->state, desc->state_size, program, stateValues, why))
    return fail(MPT_RT_INVALID_PROGRAM, why);
  if (program.version != mpt::kVersion)
    return fail(MPT_RT_INVALID_PROGRAM, "the program was compiled by MPT " +
                                            program.version + " but this runtime is of " +
                                            mpt::kVersion + "; compile it again");
  if (int status = findRanks())
    return status;
  const std::vector<int64_t> constantBytes = getConstantBytes(program);
  // Of a program for GPUs, state and outputs are here, too.
  int64_t arenaBytes = 0, allConstants = 0;
  if (!desc->cuda) {
    arenaBytes = program.arenaBytes;
    for (int64_t bytes : constantBytes)
      allConstants += bytes;
  }
  const int64_t needed =
      arenaBytes + program.stateBytes + program.outputBytes + allConstants;
  if (int64_t memory = getSystemMemory(); needed > memory)
    return fail(MPT_RT_OUT_OF_MEMORY,
                "the program needs " + std::to_string(needed) +
                    " bytes of memory (arena " + std::to_string(arenaBytes) + ", state " +
                    std::to_string(program.stateBytes) + ", outputs " +
                    std::to_string(program.outputBytes) + ", constants " +
                    std::to_string(allConstants) + "), this process can have " +
                    std::to_string(memory) +
                    "; compile it for a smaller batch or with a memory budget");
  state = std::make_shared<StateBlock>();
  if (desc->cuda) {
    if (int status = findDeviceState())
      return status;
    cuda = std::make_unique<cuda::CudaExecutable>(program, *desc->cuda, deviceState,
                                                  cudnn, nccl);
    cuda->tuningFile = tunes ? tuningFile : "";
    cuda->mostBranches = branches;
    findInputs();
    placeState();
    return cuda->open(desc->num_kernels, error);
  }
  if (program.target.rfind("cuda", 0) == 0)
    return fail(MPT_RT_UNSUPPORTED, "the program is for '" + program.target +
                                        "' but its code is for the CPU");
  if (sharedDevice)
    return fail(
        MPT_RT_UNSUPPORTED,
        "the program is for the CPU and the other one, whose state it shares, for "
        "a GPU");
#if defined(__x86_64__)
  if (program.target.find("avx512") != std::string::npos &&
      !__builtin_cpu_supports("avx512f"))
    return fail(MPT_RT_UNSUPPORTED, "the program was compiled for AVX-512, which "
                                    "this CPU lacks");
#endif

  constants.resize(program.constants.size());
  bool hasMemory = arena.allocate(program.arenaBytes) &&
                   state->memory.allocate(program.stateBytes) &&
                   output.allocate(program.outputBytes);
  for (size_t i = 0; hasMemory && i < constants.size(); ++i) {
    hasMemory = constants[i].allocate(constantBytes[i]);
    if (hasMemory)
      fillConstant(program.constants[i], constantBytes[i], constants[i].get());
  }
  if (!hasMemory)
    return fail(MPT_RT_OUT_OF_MEMORY,
                "no memory for " + std::to_string(needed) + " bytes");
  findInputs();
  placeState();
  // Exchanges that have begun, and how many are waited for.
  std::vector<Call *> begun;
  size_t ended = 0;
  for (const Instruction &instruction : program.instructions) {
    BoundInstruction step;
    for (const BufferRef &ref : instruction.refs) {
      const bool isInput = ref.space == SpaceId::Input;
      void *address = addressOf(ref);
      if (isInput || !ref.strides.empty())
        step.moving.push_back({static_cast<uint32_t>(step.buffers.size()),
                               isInput ? ref.offset : -1, ref.start,
                               static_cast<char *>(address), ref.strides});
      step.buffers.push_back(address);
    }
    if (instruction.isCall()) {
      step.buffers.push_back(nullptr); // a missing workspace
      step.call = makeCall(instruction, program.maxThreads, why);
      if (!step.call)
        return fail(MPT_RT_UNSUPPORTED, instruction.location + ": " + why);
      step.call->setCommunicator(communicator);
      // Each is waited for in its turn: readProgram has checked it.
      if (isAsync(*instruction.call))
        begun.push_back(step.call.get());
      if (instruction.getCall<WaitCall>())
        step.call->setBegun(begun[ended++]);
    } else {
      step.kernel = desc->kernels[instruction.kernel];
      step.tasks = instruction.tasks;
    }
    steps.push_back(std::move(step));
  }
  team = std::make_unique<ThreadTeam>(
      static_cast<int>(std::min<int64_t>(threads, program.maxThreads)));
  return MPT_RT_OK;
}

mpt_rt_context *mpt_rt_create(int32_t threads) {
  auto *context = new (std::nothrow) mpt_rt_context;
  if (!context)
    return nullptr;
  int machine = static_cast<int>(std::thread::hardware_concurrency());
  context->threads = threads > 0 ? threads : std::max(machine, 1);
  return context;
}

void mpt_rt_destroy(mpt_rt_context *context) {
  if (!context)
    return;
  void *library = context->library;
  int file = context->file;
  delete context;
  closeLibrary(library, file);
}

const char *mpt_rt_last_error(const mpt_rt_context *context) {
  return context ? context->error.c_str() : "no context";
}

int mpt_rt_open(mpt_rt_context *context, const char *path) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!path)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "no path");
  if (context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  return context->openFile(path);
}

int mpt_rt_set_cuda_libraries(mpt_rt_context *context, const char *cudart,
                              const char *cublaslt) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  context->cudart = cudart ? cudart : "";
  context->cublasLt = cublaslt ? cublaslt : "";
  return MPT_RT_OK;
}

int mpt_rt_set_tuning(mpt_rt_context *context, int on, const char *path) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  context->tunes = on != 0;
  context->tuningFile = path ? path : "";
  return MPT_RT_OK;
}

int mpt_rt_set_graph_branches(mpt_rt_context *context, int32_t most) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  if (most < 1 || most > static_cast<int32_t>(kMostBranches))
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         "a CUDA graph has 1 to " + std::to_string(kMostBranches) +
                             " branches, found " + std::to_string(most));
  context->branches = static_cast<uint32_t>(most);
  return MPT_RT_OK;
}

int mpt_rt_set_cudnn_library(mpt_rt_context *context, const char *cudnn) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  context->cudnn = cudnn ? cudnn : "";
  return MPT_RT_OK;
}

int mpt_rt_set_nccl_library(mpt_rt_context *context, const char *nccl) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  context->nccl = nccl ? nccl : "";
  return MPT_RT_OK;
}

int mpt_rt_set_cuda_device(mpt_rt_context *context, int32_t device) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  if (device < 0)
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         "GPUs are numbered from 0, found " + std::to_string(device));
  context->device = {device, /*isLocalRank=*/false};
  return MPT_RT_OK;
}

int mpt_rt_set_local_rank(mpt_rt_context *context, int32_t rank) {
  if (int status = mpt_rt_set_cuda_device(context, rank))
    return status;
  context->device.isLocalRank = true;
  return MPT_RT_OK;
}

/// What is known of the chosen GPU; also how much of its memory is free, if there is a
/// place for that.
static int findDevice(mpt_rt_context *context, int &device, int &architecture,
                      int64_t *unused = nullptr) {
  cuda::Api api;
  if (!api.load(context->cudart, context->cublasLt, context->error))
    return MPT_RT_UNSUPPORTED;
  cuda::DeviceGuard guard(api);
  int status = cuda::selectDevice(api, guard, context->device, device, architecture,
                                  context->error);
  if (status != MPT_RT_OK || !unused)
    return status;
  size_t found = 0, total = 0;
  status = cuda::checkCode(api, api.cudaMemGetInfo(&found, &total), "the GPU's memory",
                           context->error);
  *unused = static_cast<int64_t>(found);
  return status;
}

int mpt_rt_get_cuda_memory(mpt_rt_context *context, int64_t *needed, int64_t *unused) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!needed || !unused)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "no place for the bytes");
  if (!context->isOpen || !context->cuda)
    return context->fail(MPT_RT_UNSUPPORTED, "no program for GPUs is open");
  *needed = context->cuda->countBytes();
  int device = 0, architecture = 0;
  return findDevice(context, device, architecture, unused);
}

int mpt_rt_get_cuda_device(mpt_rt_context *context, int32_t *device) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!device)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "no place for the device");
  int found = 0, unused = 0;
  int status = findDevice(context, found, unused);
  if (status == MPT_RT_OK)
    *device = found;
  return status;
}

int mpt_rt_get_cuda_architecture(mpt_rt_context *context, int32_t *architecture) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!architecture)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "no place for the architecture");
  int unused = 0, found = 0;
  int status = findDevice(context, unused, found);
  if (status == MPT_RT_OK)
    *architecture = found;
  return status;
}

int mpt_rt_share_state(mpt_rt_context *context, const mpt_rt_context *other) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "this context has a program already");
  if (!other || !other->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "no program to share state with");
  context->shared.clear();
  context->sharedDevice = other->deviceState;
  for (size_t i = 0; i < other->program.tensors.size(); ++i)
    if (const NamedTensor &tensor = other->program.tensors[i];
        tensor.buffer.space == SpaceId::State)
      context->shared.push_back({tensor.name, tensor.buffer, other->places[i]});
  return MPT_RT_OK;
}

int mpt_rt_open_desc(mpt_rt_context *context, const mpt_program_desc *desc) {
  return context ? context->open(desc) : MPT_RT_INVALID_ARGUMENT;
}

const char *mpt_rt_target(const mpt_rt_context *context) {
  return context ? context->program.target.c_str() : "";
}

const char *mpt_rt_metadata(const mpt_rt_context *context) {
  return context && context->metadata ? context->metadata : "";
}

int32_t mpt_rt_num_tensors(const mpt_rt_context *context) {
  return context ? static_cast<int32_t>(context->program.tensors.size()) : 0;
}

int mpt_rt_get_tensor(const mpt_rt_context *context, int32_t index,
                      mpt_rt_tensor *tensor) {
  if (!context || !tensor || index < 0 || index >= mpt_rt_num_tensors(context))
    return MPT_RT_INVALID_ARGUMENT;
  const NamedTensor &found = context->program.tensors[index];
  *tensor = {found.name.c_str(),
             found.role.c_str(),
             typeNames[static_cast<int>(found.buffer.type)],
             static_cast<int32_t>(found.buffer.dims.size()),
             found.buffer.dims.data(),
             static_cast<size_t>(found.buffer.bytes())};
  return MPT_RT_OK;
}

/// The tensor `name` if `bytes` is its size and `ok` holds for its space.
template <typename Ok>
static const NamedTensor *findChecked(mpt_rt_context *context, const char *name,
                                      const void *data, size_t bytes, Ok &&ok,
                                      const char *what) {
  if (!context->isOpen) {
    context->error = "no program is open";
    return nullptr;
  }
  const NamedTensor *tensor = nullptr;
  for (const NamedTensor &candidate : context->program.tensors)
    if (name && data && candidate.name == name && ok(candidate.buffer.space)) {
      tensor = &candidate;
      break;
    }
  if (!tensor) {
    context->error =
        std::string("the program has no ") + what + " named '" + (name ? name : "") + "'";
    return nullptr;
  }
  if (bytes != static_cast<size_t>(tensor->buffer.bytes())) {
    context->error = std::string(what) + " '" + name + "' has " +
                     std::to_string(tensor->buffer.bytes()) + " bytes, not " +
                     std::to_string(bytes);
    return nullptr;
  }
  return tensor;
}

int mpt_rt_initialize(mpt_rt_context *context, uint64_t seed) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "no program is open");
  return context->initialize(seed, /*onlyConstant=*/false);
}

int mpt_rt_write(mpt_rt_context *context, const char *name, const void *data,
                 size_t bytes) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  const NamedTensor *tensor = findChecked(
      context, name, data, bytes, [](SpaceId space) { return space == SpaceId::State; },
      "state");
  if (!tensor)
    return MPT_RT_INVALID_ARGUMENT;
  if (!context->cuda)
    std::memcpy(context->addressOf(tensor->buffer), data, bytes);
  else if (int status = context->cuda->write(tensor->buffer, data, context->error))
    return status;
  context->places[tensor - context->program.tensors.data()].setWritten();
  return MPT_RT_OK;
}

int mpt_rt_needs_value(const mpt_rt_context *context, const char *name) {
  if (!context || !context->isOpen || !name)
    return 0;
  for (size_t i = 0; i < context->program.tensors.size(); ++i) {
    const NamedTensor &tensor = context->program.tensors[i];
    if (tensor.buffer.space == SpaceId::State && tensor.name == name)
      return !context->places[i].isWritten();
  }
  return 0;
}

/// Copies a tensor of `space` out.
static int readTensor(mpt_rt_context *context, const char *name, void *data, size_t bytes,
                      SpaceId wanted, const char *what) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  const NamedTensor *tensor = findChecked(
      context, name, data, bytes, [&](SpaceId space) { return space == wanted; }, what);
  if (!tensor)
    return MPT_RT_INVALID_ARGUMENT;
  if (wanted == SpaceId::Output && context->runs == 0)
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         "output '" + tensor->name + "': no run has made it yet");
  if (context->cuda)
    return context->cuda->read(tensor->buffer, data, context->error);
  std::memcpy(data, context->addressOf(tensor->buffer), bytes);
  return MPT_RT_OK;
}

int mpt_rt_read(mpt_rt_context *context, const char *name, void *data, size_t bytes) {
  return readTensor(context, name, data, bytes, SpaceId::State, "state");
}

int mpt_rt_read_output(mpt_rt_context *context, const char *name, void *data,
                       size_t bytes) {
  return readTensor(context, name, data, bytes, SpaceId::Output, "output");
}

int mpt_rt_get_data(mpt_rt_context *context, int32_t index, void **data) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!data || index < 0 || index >= mpt_rt_num_tensors(context))
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         "no tensor has the number " + std::to_string(index));
  if (context->cuda)
    return context->fail(MPT_RT_UNSUPPORTED,
                         "tensors of a program for GPUs have no address on the host");
  const BufferRef &buffer = context->program.tensors[index].buffer;
  *data = buffer.space == SpaceId::Input
              ? const_cast<void *>(context->inputs[buffer.offset])
          : buffer.space == SpaceId::State ? context->places[index].data
                                           : context->addressOf(buffer);
  return MPT_RT_OK;
}

int mpt_rt_get_device_data(mpt_rt_context *context, int32_t index, void **data) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!data || index < 0 || index >= mpt_rt_num_tensors(context) ||
      context->program.tensors[index].buffer.space == SpaceId::Input)
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         "no state or output has the number " + std::to_string(index));
  if (!context->cuda)
    return context->fail(MPT_RT_UNSUPPORTED,
                         "the program is for the CPU; its tensors lie on the host");
  if (context->runs == 0)
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         "tensors lie on the GPU after the first run");
  return context->cuda->find(context->program.tensors[index].buffer, *data,
                             context->error);
}

static int bindInput(mpt_rt_context *context, const char *name, const void *data,
                     size_t bytes, bool isOnDevice) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (isOnDevice && context->isOpen && !context->cuda)
    return context->fail(MPT_RT_UNSUPPORTED, "the program is for the CPU; bind '" +
                                                 std::string(name ? name : "") +
                                                 "' to memory of the host");
  const NamedTensor *tensor = findChecked(
      context, name, data, bytes, [](SpaceId space) { return space == SpaceId::Input; },
      "input");
  if (!tensor)
    return MPT_RT_INVALID_ARGUMENT;
  context->inputs[tensor->buffer.offset] = data;
  if (context->cuda) {
    context->cuda->isOnDevice.resize(context->inputs.size());
    context->cuda->isOnDevice[tensor->buffer.offset] = isOnDevice;
  }
  return MPT_RT_OK;
}

int mpt_rt_bind(mpt_rt_context *context, const char *name, const void *data,
                size_t bytes) {
  return bindInput(context, name, data, bytes, /*isOnDevice=*/false);
}

int mpt_rt_bind_device(mpt_rt_context *context, const char *name, const void *data,
                       size_t bytes) {
  return bindInput(context, name, data, bytes, /*isOnDevice=*/true);
}

int mpt_rt_run(mpt_rt_context *context) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "no program is open");
  context->badIndex.reset();
  if (int status = context->checkState())
    return status;
  if (int status = context->checkRanks())
    return status;
  for (size_t i = 0; i < context->inputs.size(); ++i)
    if (!context->inputs[i])
      return context->fail(MPT_RT_INVALID_ARGUMENT,
                           "input '" +
                               context->program.tensors[context->inputTensors[i]].name +
                               "' is not bound");
  if (context->cuda) {
    const mpt_rt_communicator *group = context->communicator;
    context->cuda->communicator =
        group && group->isConnected && group->ranks == context->ranks
            ? context->communicator
            : nullptr;
    int status = context->cuda->run(context->inputs, context->error);
    context->runs += status == MPT_RT_OK;
    return status;
  }
  // Inside a call oneDNN must not spread over threads by itself: its sums would
  // depend on how many there are.
  OneThread one;
  // What waits, for other threads or ranks, takes no processor time.
  const bool waits = context->team->size() > 1 || context->communicator;
  const clockid_t clock = waits ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
  auto getNanoseconds = [&] {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  if (context->profiling)
    for (BoundInstruction &step : context->steps)
      step.milliseconds = 0;
  int status = forEachIteration(
      context->program,
      [&](size_t i, const std::vector<int64_t> &iterations) -> int {
        BoundInstruction &step = context->steps[i];
        for (const MovingBuffer &buffer : step.moving) {
          auto *base = buffer.input < 0 ? buffer.base
                                        : static_cast<char *>(const_cast<void *>(
                                              context->inputs[buffer.input])) +
                                              buffer.start;
          step.buffers[buffer.position] = base + getDistance(buffer.strides, iterations);
        }
        const double start = context->profiling ? getNanoseconds() : 0;
        if (step.kernel) {
          parallelFor(step.tasks, *context->team, [&](int64_t task, int) {
            step.kernel(step.buffers.data(), task, task + 1);
          });
        } else {
          std::string why;
          if (!step.call->run(step.buffers.data(), *context->team, why)) {
            context->badIndex = step.call->badIndex;
            const bool isLost = context->communicator && context->communicator->hasFailed;
            return context->fail(isLost ? MPT_RT_COMMUNICATION_FAILED : MPT_RT_RUN_FAILED,
                                 context->program.instructions[i].location + ": " + why);
          }
        }
        if (context->profiling)
          step.milliseconds += (getNanoseconds() - start) * 1e-6;
        return MPT_RT_OK;
      },
      [&](const BufferRef &condition, const std::vector<int64_t> &iterations) {
        const char *base =
            condition.space == SpaceId::Input
                ? static_cast<const char *>(context->inputs[condition.offset]) +
                      condition.start
                : static_cast<const char *>(context->addressOf(condition));
        return base[getDistance(condition.strides, iterations)] != 0;
      });
  if (status != MPT_RT_OK) {
    if (context->communicator)
      context->communicator->cancel();
    return status;
  }
  ++context->runs;
  context->keepResults();
  return MPT_RT_OK;
}

uint64_t mpt_rt_get_num_runs(const mpt_rt_context *context) {
  return context ? context->runs : 0;
}

int mpt_rt_keep_results(mpt_rt_context *context, const int32_t *tensors, int32_t count) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!context->isOpen)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "no program is open");
  std::vector<BufferRef> refs;
  for (int32_t i = 0; i < count; ++i) {
    if (!tensors || tensors[i] < 0 || tensors[i] >= mpt_rt_num_tensors(context) ||
        context->program.tensors[tensors[i]].buffer.space == SpaceId::Input)
      return context->fail(MPT_RT_INVALID_ARGUMENT,
                           "no state or output has the number " +
                               (tensors ? std::to_string(tensors[i]) : "of none"));
    refs.push_back(context->program.tensors[tensors[i]].buffer);
  }
  context->kept.assign(tensors, tensors + refs.size());
  context->keptAfter = context->runs;
  if (context->cuda) {
    context->cuda->keep(std::move(refs));
    return MPT_RT_OK;
  }
  for (AlignedBlock &block : context->copies) {
    block = AlignedBlock();
    if (count > 0 && !block.allocate(context->getKeptPlace(refs.size()))) {
      context->kept.clear();
      return context->fail(MPT_RT_OUT_OF_MEMORY, "no memory for copies of results");
    }
  }
  return MPT_RT_OK;
}

int mpt_rt_read_result(mpt_rt_context *context, uint64_t run, int32_t tensor, void *data,
                       size_t bytes) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  const auto found =
      std::find(context->kept.begin(), context->kept.end(), static_cast<size_t>(tensor));
  const size_t index = found - context->kept.begin();
  const NamedTensor *named =
      found == context->kept.end() ? nullptr : &context->program.tensors[*found];
  if (!named || !data || bytes != static_cast<size_t>(named->buffer.bytes()))
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         named ? "'" + named->name + "' has " +
                                     std::to_string(named->buffer.bytes()) +
                                     " bytes, not " + std::to_string(bytes)
                               : "runs keep no copy of tensor " + std::to_string(tensor) +
                                     "; name it in mpt_rt_keep_results");
  if (run <= context->keptAfter || run > context->runs || run + 1 < context->runs)
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         "there is no copy of '" + named->name + "' of run " +
                             std::to_string(run) + " after run " +
                             std::to_string(context->runs) + "; the last two are kept");
  if (context->cuda)
    return context->cuda->readKept(index, static_cast<int>(context->runs - run), data,
                                   context->error);
  std::memcpy(data, context->copies[run % 2].get() + context->getKeptPlace(index), bytes);
  return MPT_RT_OK;
}

struct mpt_rt_snapshot {
  struct Tensor {
    std::string name;
    int64_t offset, bytes;
  };
  std::vector<Tensor> tensors;
  /// On the GPU, or all state on the host.
  std::unique_ptr<cuda::StateSnapshot> device;
  AlignedBlock host;
  std::string error;
};

int mpt_rt_take_snapshot(mpt_rt_context *context, mpt_rt_snapshot **snapshot) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!context->isOpen || !snapshot)
    return context->fail(MPT_RT_INVALID_ARGUMENT,
                         snapshot ? "no program is open" : "no place for the snapshot");
  auto made = std::make_unique<mpt_rt_snapshot>();
  for (const NamedTensor &tensor : context->program.tensors)
    if (tensor.buffer.space == SpaceId::State)
      made->tensors.push_back({tensor.name, tensor.buffer.offset, tensor.buffer.bytes()});
  const int64_t bytes = context->program.stateBytes;
  if (context->cuda)
    if (int status = context->cuda->takeSnapshot(bytes, made->device, context->error))
      return status;
  if (!made->device) {
    if (!made->host.allocate(bytes))
      return context->fail(MPT_RT_OUT_OF_MEMORY, "no memory for a copy of " +
                                                     std::to_string(bytes) +
                                                     " bytes of state");
    for (const NamedTensor &tensor : context->program.tensors) {
      if (tensor.buffer.space != SpaceId::State)
        continue;
      char *place = made->host.get() + tensor.buffer.offset;
      if (!context->cuda)
        std::memcpy(place, context->addressOf(tensor.buffer), tensor.buffer.bytes());
      else if (int status = context->cuda->read(tensor.buffer, place, context->error))
        return status;
    }
  }
  *snapshot = made.release();
  return MPT_RT_OK;
}

int mpt_rt_read_snapshot(mpt_rt_snapshot *snapshot, const char *name, void *data,
                         size_t bytes) {
  if (!snapshot || !name || !data)
    return MPT_RT_INVALID_ARGUMENT;
  for (const mpt_rt_snapshot::Tensor &tensor : snapshot->tensors) {
    if (tensor.name != name)
      continue;
    if (bytes != static_cast<size_t>(tensor.bytes)) {
      snapshot->error = "state '" + tensor.name + "' has " +
                        std::to_string(tensor.bytes) + " bytes, not " +
                        std::to_string(bytes);
      return MPT_RT_INVALID_ARGUMENT;
    }
    if (snapshot->device)
      return snapshot->device->read(tensor.offset, tensor.bytes, data, snapshot->error);
    std::memcpy(data, snapshot->host.get() + tensor.offset, bytes);
    return MPT_RT_OK;
  }
  snapshot->error = std::string("the program has no state named '") + name + "'";
  return MPT_RT_INVALID_ARGUMENT;
}

const char *mpt_rt_snapshot_error(const mpt_rt_snapshot *snapshot) {
  return snapshot ? snapshot->error.c_str() : "no snapshot";
}

void mpt_rt_destroy_snapshot(mpt_rt_snapshot *snapshot) { delete snapshot; }

int mpt_rt_get_bad_index(const mpt_rt_context *context, int64_t *index,
                         int64_t *position) {
  if (!context || !index || !position)
    return MPT_RT_INVALID_ARGUMENT;
  const std::optional<BadIndex> &bad =
      context->cuda ? context->cuda->badIndex : context->badIndex;
  if (!bad)
    return MPT_RT_INVALID_ARGUMENT;
  *index = bad->index;
  *position = bad->position;
  return MPT_RT_OK;
}

void mpt_rt_keep_inputs(mpt_rt_context *context, int keep) {
  if (context && context->cuda)
    context->cuda->keepInputs = keep != 0;
}

int mpt_rt_set_cuda_stream(mpt_rt_context *context, void *stream) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (!context->cuda)
    return context->fail(MPT_RT_UNSUPPORTED,
                         context->isOpen ? "the program is for the CPU, which has "
                                           "no streams"
                                         : "no program is open");
  context->cuda->callersStream = stream;
  return MPT_RT_OK;
}

void *mpt_rt_cuda_stream(const mpt_rt_context *context) {
  return context && context->cuda ? context->cuda->getStream() : nullptr;
}

const char *mpt_rt_notes(const mpt_rt_context *context) {
  return context && context->cuda ? context->cuda->notes.c_str() : "";
}

size_t mpt_rt_arena_bytes(const mpt_rt_context *context) {
  return context ? context->program.arenaBytes : 0;
}

size_t mpt_rt_state_bytes(const mpt_rt_context *context) {
  return context ? context->program.stateBytes : 0;
}

void mpt_rt_set_profiling(mpt_rt_context *context, int on) {
  if (!context)
    return;
  context->profiling = on != 0;
  if (context->cuda)
    context->cuda->profiling = on != 0;
}

int mpt_rt_get_profile(const mpt_rt_context *context, int32_t index, const char **what,
                       const char **location, double *milliseconds) {
  const int32_t number = mpt_rt_get_profile_instruction(context, index);
  if (number < 0 || !what || !location || !milliseconds)
    return MPT_RT_INVALID_ARGUMENT;
  const Instruction &instruction = context->program.instructions[number];
  *location = instruction.location.c_str();
  if (context->cuda) {
    const auto &entry = context->cuda->getProfile()[index];
    *what = entry.what.c_str();
    *milliseconds = entry.milliseconds;
  } else {
    *what = instruction.call ? getName(*instruction.call) : "kernel";
    *milliseconds = context->steps[index].milliseconds;
  }
  return MPT_RT_OK;
}

int32_t mpt_rt_get_profile_instruction(const mpt_rt_context *context, int32_t index) {
  if (!context || index < 0)
    return -1;
  const auto entry = static_cast<size_t>(index);
  if (!context->cuda)
    return entry < context->steps.size() ? index : -1;
  const auto &profile = context->cuda->getProfile();
  return entry < profile.size() ? static_cast<int32_t>(profile[entry].instruction) : -1;
}

int mpt_rt_set_communicator(mpt_rt_context *context, mpt_rt_communicator *communicator) {
  if (!context)
    return MPT_RT_INVALID_ARGUMENT;
  if (context->runs > 0)
    return context->fail(MPT_RT_INVALID_ARGUMENT, "the program has run already");
  context->communicator = communicator;
  for (BoundInstruction &step : context->steps)
    if (step.call)
      step.call->setCommunicator(communicator);
  return MPT_RT_OK;
}

int32_t mpt_rt_get_program_ranks(const mpt_rt_context *context) {
  return context ? static_cast<int32_t>(context->ranks) : 1;
}

int mpt_rt_get_cost(const mpt_rt_context *context, int32_t index, double *flops,
                    const char **type, double *bytes) {
  if (!context || !flops || !type || !bytes || index < 0 ||
      index >= static_cast<int32_t>(context->program.instructions.size()))
    return MPT_RT_INVALID_ARGUMENT;
  const InstructionCost cost = getCost(context->program, index);
  const auto count = static_cast<double>(countIterations(context->program, index));
  *flops = count * cost.flops;
  *type = typeNames[static_cast<size_t>(cost.type)];
  *bytes = count * cost.bytes;
  return MPT_RT_OK;
}
