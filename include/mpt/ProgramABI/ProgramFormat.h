//===- ProgramFormat.h - The serialized program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A planned program as bytes: what a compiled module or `.so` exports under
/// the symbol `mpt_program`, written by the compiler, read by every runtime.
/// Needs neither LLVM nor MLIR.
///
/// All numbers are little endian. A string is its length (u32) and its bytes; a
/// list its length (u32) and its entries. The table holds, in this order:
///   name, target (strings), version of MPT (string),
///   max_threads, arena, state, output bytes (i64 each),
///   constants (list of byte strings), tensors (list), instructions (list),
///   loops (list).
/// A loop is the number of its first instruction, how many there are (u32 each), how
/// often they run (i64), and whether it has a condition (u8), then its buffer. Loops are
/// in the order of their first instructions, and of two that begin together the outer one
/// comes first. A constant's string is its bytes, or one element if all elements are
/// equal: who opens the program fills the rest. A tensor is its name, role, buffer, the
/// parameter that it is the low half of, its kind of init (u8: 0 for none, else the
/// kind's number and 1), two numbers (f64) and key (u64).
///
/// A program may also hold values that its state begins with, such as a trained model's
/// weights. They are in a block of their own, which is not copied when it is read: a
/// list of names (string), offsets in the block (u64, a multiple of 64) and sizes (u64),
/// then the bytes. A value is the bytes of the tensor, or one element if all elements are
/// equal.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_PROGRAMFORMAT_H
#define MPT_PROGRAMABI_PROGRAMFORMAT_H

#include "mpt/ProgramABI/Calls.h"
#include "mpt/Support/StepABI.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

extern "C" {
/// A kernel over tasks [begin, end). `buffers`: operands, results, and the
/// partial sums of column kernels.
typedef void (*mpt_kernel_fn)(void **buffers, int64_t begin, int64_t end);

struct mpt_cuda_desc;

/// What a program exports as `mpt_program`. One for GPUs has `cuda` (see
/// CudaProgram.h) and no `kernels`. `state` are values that its state begins with
/// (readStateValues), or null.
struct mpt_program_desc {
  uint64_t magic;
  uint64_t format_version;
  const uint8_t *table;
  uint64_t table_size;
  const mpt_kernel_fn *kernels;
  uint64_t num_kernels;
  const struct mpt_cuda_desc *cuda;
  const uint8_t *state;
  uint64_t state_size;
};
}

namespace mpt::rt {

inline constexpr uint64_t kProgramMagic = 0x3130474f52505f4d; // "M_PROG01"
inline constexpr uint64_t kFormatVersion = 18;

/// Most bytes of a program's arena, state, outputs and constants together. A process on
/// x86-64 addresses 2^47 bytes.
inline constexpr int64_t kMaxProgramBytes = int64_t(1) << 46;
/// Most threads that a program is planned for.
inline constexpr int64_t kMaxProgramThreads = 4096;

/// Element types, as stored. i1 takes one byte.
enum class DataType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3FN,
  F8E5M2,
  I64,
  I32,
  I16,
  I8,
  I1
};
/// Bytes of one element.
inline int64_t getSize(DataType type) {
  switch (type) {
  case DataType::F64:
  case DataType::I64:
    return 8;
  case DataType::F32:
  case DataType::I32:
    return 4;
  case DataType::F16:
  case DataType::BF16:
  case DataType::I16:
    return 2;
  default:
    return 1;
  }
}

enum class SpaceId : uint8_t { Arena, State, Input, Output, Constant };

/// A packed row-major buffer. `offset` is bytes, or the number of the input or
/// constant. `start` is bytes from there: of an input or constant where the buffer
/// begins. `strides` are the bytes by which it moves with each iteration of the loops
/// around the instruction, the outermost first; there may be fewer than loops.
struct BufferRef {
  SpaceId space = SpaceId::Arena;
  DataType type = DataType::F32;
  int64_t offset = 0;
  std::vector<int64_t> dims;
  int64_t start = 0;
  std::vector<int64_t> strides;

  int64_t count() const {
    int64_t n = 1;
    for (int64_t dim : dims)
      n *= dim;
    return n;
  }
  int64_t bytes() const { return count() * getSize(type); }
};

/// A tensor that the host knows by name.
struct NamedTensor {
  std::string name;
  /// `mpt.role`, or "output".
  std::string role;
  BufferRef buffer;
  /// Of state: its first value. Without one, zeros if the role begins as zeros; else the
  /// host must write it before the first run.
  std::optional<InitSpec> init;
  /// The hash of the name from which random first values are drawn (InitialValues.h).
  uint64_t key = 0;
  /// Of state: the parameter whose low 16 bits it holds, or empty.
  std::string lowOf;

  /// True for state that the host must write before the first run.
  bool needsWrite() const {
    std::optional<Role> known = parseRole(role);
    return buffer.space == SpaceId::State && !init && !(known && beginsAsZeros(*known));
  }
};

/// The neighbours of a call of cuDNN: how many instructions `before` and `after` it run
/// only if cuDNN takes the call, and how many after those, its `fallback`, only if not.
struct CudnnParts {
  int64_t before = 0, after = 0, fallback = 0;
};

/// A library call or the launch of a kernel. Buffers are the inputs, then the outputs,
/// then scratch memory if there is any: a call's workspace or a kernel's partial sums.
struct Instruction {
  /// None for a launch.
  std::optional<LibraryCall> call;
  /// The number of a launch's kernel, and its tasks.
  uint32_t kernel = 0;
  int64_t tasks = 0;
  /// Of a launch: it does what the epilogue of the matmul before it does, and runs only
  /// where cuBLASLt refuses that.
  bool replacesEpilogue = false;
  /// Of a convolution that cuDNN is asked for.
  CudnnParts parts;
  uint32_t numInputs = 0;
  uint32_t numOutputs = 0;
  bool hasScratch = false;
  std::vector<BufferRef> refs;
  /// Where in the source it comes from.
  std::string location;

  bool isCall() const { return call.has_value(); }
  /// The call if it is a `T`, else null.
  template <typename T>
  const T *getCall() const {
    return call ? std::get_if<T>(&*call) : nullptr;
  }
};

/// Instructions [begin, end) run `count` times. With a condition, a truth value, they do
/// so until it is false before an iteration.
struct Loop {
  uint32_t begin = 0, end = 0;
  int64_t count = 1;
  std::optional<BufferRef> condition;
};

/// Most iterations of a loop, those of the loops around it counted in, but for loops with
/// conditions.
inline constexpr int64_t kMaxIterations = int64_t(1) << 32;

struct Program {
  std::string name, target, version;
  int64_t maxThreads = 1, arenaBytes = 0, stateBytes = 0, outputBytes = 0;
  /// All bytes of each, or one element for all.
  std::vector<std::string> constants;
  std::vector<NamedTensor> tensors;
  std::vector<Instruction> instructions;
  /// Ascending, outer ones before those inside; none of them overlap.
  std::vector<Loop> loops;
};

/// Calls `body` with the number of each instruction and the iterations of the loops
/// around it, the outermost first, in the order in which they run, until it returns
/// something other than 0. Returns that, or 0. `isTrue` says whether the condition of a
/// loop, a buffer, holds in these iterations.
template <typename Body, typename Condition>
int forEachIteration(const Program &program, Body &&body, Condition &&isTrue) {
  struct Active {
    const Loop *loop;
    size_t next;
  };
  std::vector<Active> active;
  std::vector<int64_t> iterations;
  auto goesOn = [&](const Loop &loop) {
    return !loop.condition || isTrue(*loop.condition, std::as_const(iterations));
  };
  size_t next = 0;
  for (size_t i = 0; i < program.instructions.size();) {
    bool runs = true;
    for (; runs && next < program.loops.size() && program.loops[next].begin == i;
         ++next) {
      active.push_back({&program.loops[next], next + 1});
      iterations.push_back(0);
      runs = goesOn(program.loops[next]);
    }
    if (runs) {
      if (int status = body(i, std::as_const(iterations)))
        return status;
      ++i;
    } else {
      // As after the last iteration.
      iterations.back() = active.back().loop->count - 1;
      i = active.back().loop->end;
      while (next < program.loops.size() && program.loops[next].begin < i)
        ++next;
    }
    while (!active.empty() && active.back().loop->end == i) {
      const Loop &loop = *active.back().loop;
      if (++iterations.back() < loop.count && goesOn(loop)) {
        i = loop.begin;
        next = active.back().next;
        break;
      }
      active.pop_back();
      iterations.pop_back();
    }
  }
  return 0;
}

/// As if all conditions held.
template <typename Body>
int forEachIteration(const Program &program, Body &&body) {
  return forEachIteration(program, body,
                          [](const BufferRef &, const auto &) { return true; });
}

/// How often an instruction runs in one run of the program; loops with conditions count
/// as one iteration.
inline int64_t countIterations(const Program &program, size_t instruction) {
  int64_t count = 1;
  for (const Loop &loop : program.loops)
    if (loop.begin <= instruction && instruction < loop.end && !loop.condition)
      count *= loop.count;
  return count;
}

/// Why a GPU cannot run `loop`, which has a condition and is, with those around it, one
/// of `depth` loops; "" if it can. Its iterations are one node of a CUDA graph, so that
/// all do the same to the same buffers.
std::string findObstacleToNode(const Program &program, const Loop &loop, size_t depth);

/// How far a buffer has moved in these iterations, in bytes.
inline int64_t getDistance(const std::vector<int64_t> &strides,
                           const std::vector<int64_t> &iterations) {
  int64_t distance = 0;
  for (size_t i = 0; i < strides.size(); ++i)
    distance += strides[i] * iterations[i];
  return distance;
}

/// Bytes of each constant's memory: of the largest buffer that is seen in it.
std::vector<int64_t> getConstantBytes(const Program &program);

/// Writes `bytes` bytes to `data`: those of `value`, over and over.
void fillConstant(const std::string &value, int64_t bytes, char *data);

/// The table of a program.
std::string writeProgram(const Program &program);

/// Reads a table. Every length is checked against what is left and every
/// buffer against its space; on failure `error` says what is wrong.
bool readProgram(const uint8_t *data, uint64_t size, uint64_t numKernels,
                 Program &program, std::string &error);

/// What a tensor of state begins with: its bytes, or those of one element for all.
struct StateValue {
  std::string name;
  const uint8_t *data = nullptr;
  uint64_t size = 0;
};

/// Most bytes of the values of state that a program holds: what loaders and linkers take
/// in one piece on all machines.
inline constexpr uint64_t kMaxStateValueBytes = uint64_t(1) << 31;

/// Writes the block of these values to `block`. Where all elements are equal it holds one
/// of them, whose size is in `elementSizes`. Fails if it would have more than `maxBytes`.
bool writeStateValues(std::vector<StateValue> values,
                      const std::vector<int64_t> &elementSizes, uint64_t maxBytes,
                      std::string &block, std::string &error);

/// Reads a block of values of `program`'s state. `values` has one for each tensor of the
/// program, whose data is null if the block has none and otherwise lies in the block. On
/// failure `error` says what is wrong.
bool readStateValues(const uint8_t *block, uint64_t size, const Program &program,
                     std::vector<StateValue> &values, std::string &error);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_PROGRAMFORMAT_H
