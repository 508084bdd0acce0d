//===- ProgramFuzzer.cpp - Damaged tables of programs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An input is the table of a program. What opens is run with kernels that do
/// nothing; the sanitizers see whether library calls stay inside their buffers.
///
//===----------------------------------------------------------------------===//

#include "FuzzTarget.h"
#include "mpt/ProgramABI/ProgramFormat.h"
#include "mpt/Runtime/Runtime.h"
#include "llvm/ADT/STLExtras.h"
#include <memory>

using namespace mpt::fuzz;
using namespace mpt::rt;

/// More kernels than a test's program has.
static constexpr uint64_t kKernels = 64;
/// What is larger takes time and memory, and is not wrong.
/// Numbers of calls that are tried: those there are, and one that is not.
static constexpr int kCallIds = std::variant_size_v<LibraryCall> + 1;
static constexpr int64_t kMostBytes = 1 << 22, kMostWork = 1 << 24;

static void doNothing(void **, int64_t, int64_t) {}

/// Whether one run is short.
static bool isSmall(const Program &program) {
  if (program.arenaBytes > kMostBytes || program.stateBytes > kMostBytes ||
      program.outputBytes > kMostBytes || program.instructions.size() > 256)
    return false;
  for (const NamedTensor &tensor : program.tensors)
    if (tensor.buffer.bytes() > kMostBytes)
      return false;
  int64_t runs = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    const int64_t iterations = countIterations(program, i);
    if (instruction.tasks > 4096 || (runs += iterations) > 4096)
      return false;
    // Calls multiply the sizes of what they read.
    int64_t work = iterations;
    for (const BufferRef &ref : instruction.refs)
      if (__builtin_mul_overflow(work, std::max<int64_t>(ref.count(), 1), &work))
        return false;
    if (instruction.isCall() && work > kMostWork * 64)
      return false;
  }
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Program program;
  std::string error;
  if (!readProgram(data, size, kKernels, program, error)) {
    if (error.empty())
      reportFinding("a table is refused without an error");
    return recordMessage(error) ? 0 : -1;
  }
  std::string table = writeProgram(program);
  Program again;
  if (!readProgram(reinterpret_cast<const uint8_t *>(table.data()), table.size(),
                   kKernels, again, error))
    reportFinding("cannot read what was written: " + error);
  if (writeProgram(again) != table)
    reportFinding("what was written reads as another program");
  if (!isSmall(program))
    return -1;
  for (const Instruction &instruction : program.instructions) {
    std::string kind = instruction.call ? getName(*instruction.call) : "kernel";
    recordFeature(kind + std::to_string(instruction.refs.size()));
    for (size_t i = 0; i < std::min<size_t>(instruction.refs.size(), 8); ++i)
      recordFeature(kind + std::to_string(i) + "." +
                    std::to_string(static_cast<int>(instruction.refs[i].type)) + "." +
                    std::to_string(instruction.refs[i].dims.size()));
  }
  bool hasHalf = false, hasRank = false;
  for (const Instruction &instruction : program.instructions)
    for (const BufferRef &ref : instruction.refs) {
      hasHalf |= ref.type == DataType::BF16;
      hasRank |= ref.dims.size() >= 3;
    }

  std::vector<mpt_kernel_fn> kernels(kKernels, doNothing);
  mpt_program_desc desc = {
      kProgramMagic, kFormatVersion, reinterpret_cast<const uint8_t *>(table.data()),
      table.size(),  kernels.data(), kKernels,
      nullptr};
  std::unique_ptr<mpt_rt_context, void (*)(mpt_rt_context *)> context(mpt_rt_create(1),
                                                                      mpt_rt_destroy);
  if (mpt_rt_open_desc(context.get(), &desc) != MPT_RT_OK) {
    std::string why = mpt_rt_last_error(context.get());
    if (why.empty())
      reportFinding("a program is refused without an error");
    return recordMessage(why) ? 0 : -1;
  }
  std::vector<std::unique_ptr<char[]>> inputs;
  for (int32_t i = 0; i < mpt_rt_num_tensors(context.get()); ++i) {
    mpt_rt_tensor tensor;
    if (mpt_rt_get_tensor(context.get(), i, &tensor) != MPT_RT_OK)
      reportFinding("a tensor that was counted is not there");
    inputs.push_back(std::make_unique<char[]>(tensor.bytes));
    std::fill_n(inputs.back().get(), tensor.bytes, 1);
    // One of them fits, unless two tensors share a name.
    (void)mpt_rt_bind(context.get(), tensor.name, inputs.back().get(), tensor.bytes);
    (void)mpt_rt_write(context.get(), tensor.name, inputs.back().get(), tensor.bytes);
  }
  for (int run = 0; run < 2; ++run)
    if (mpt_rt_run(context.get()) != MPT_RT_OK) {
      std::string why = mpt_rt_last_error(context.get());
      if (why.empty())
        reportFinding("a run fails without an error");
      return recordMessage(why) ? 0 : -1;
    }
  checkPlantedBug(hasHalf && hasRank);
  return 0;
}

/// Changes one field of the program.
static void mutateProgram(Program &program, Random &random) {
  auto number = [&](uint64_t old) -> int64_t {
    switch (draw(random, 6)) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return old * 2;
    case 3:
      return draw(random, 9);
    case 4:
      return (uint64_t(1) << draw(random, 64)) - draw(random, 2);
    default:
      return (old + 63) / 64 * 64;
    }
  };
  auto changeRef = [&](BufferRef &ref) {
    switch (draw(random, 8)) {
    case 6:
      ref.start = draw(random, 2) ? number(ref.start) : 4 * int64_t(draw(random, 64));
      break;
    case 7:
      if (ref.strides.empty() || draw(random, 3) == 0)
        ref.strides.push_back((int64_t(draw(random, 9)) - 4) * 4);
      else if (draw(random, 4) == 0)
        ref.strides.pop_back();
      else
        pick(random, ref.strides) = number(pick(random, ref.strides));
      break;
    case 0:
      ref.space = static_cast<SpaceId>(draw(random, 6));
      break;
    case 1:
    case 2:
      ref.type = static_cast<DataType>(draw(random, 12));
      break;
    case 3:
      ref.offset = draw(random, 2) ? number(ref.offset) : 64 * int64_t(draw(random, 64));
      break;
    default:
      if (ref.dims.empty() || draw(random, 3) == 0)
        ref.dims.insert(ref.dims.begin() + draw(random, ref.dims.size() + 1),
                        draw(random, 3));
      else if (draw(random, 4) == 0)
        ref.dims.erase(ref.dims.begin() + draw(random, ref.dims.size()));
      else
        pick(random, ref.dims) = number(pick(random, ref.dims));
    }
  };
  switch (draw(random, 10)) {
  case 0:
    if (!program.tensors.empty())
      changeRef(pick(random, program.tensors).buffer);
    return;
  case 1: {
    int64_t *sizes[] = {&program.maxThreads, &program.arenaBytes, &program.stateBytes,
                        &program.outputBytes};
    int64_t &size = *pick(random, sizes);
    size = number(size);
    return;
  }
  case 2:
    if (!program.instructions.empty()) {
      size_t at = draw(random, program.instructions.size());
      if (draw(random, 2))
        program.instructions.erase(program.instructions.begin() + at);
      else
        program.instructions.push_back(program.instructions[at]);
    }
    return;
  case 3:
    if (program.loops.empty() || draw(random, 4) == 0) {
      const auto begin =
          static_cast<uint32_t>(draw(random, program.instructions.size() + 1));
      const auto length = static_cast<uint32_t>(draw(random, 4));
      program.loops.insert(
          program.loops.begin() + draw(random, program.loops.size() + 1),
          {begin, begin + length, static_cast<int64_t>(draw(random, 9))});
    } else {
      size_t at = draw(random, program.loops.size());
      Loop &loop = program.loops[at];
      switch (draw(random, 4)) {
      case 0:
        program.loops.erase(program.loops.begin() + at);
        break;
      case 1:
        loop.count = number(loop.count);
        break;
      case 2:
        loop.begin = static_cast<uint32_t>(number(loop.begin));
        break;
      default:
        loop.end = static_cast<uint32_t>(number(loop.end));
      }
    }
    return;
  default:
    break;
  }
  if (program.instructions.empty())
    return;
  Instruction &instruction = pick(random, program.instructions);
  switch (draw(random, 8)) {
  case 0:
    if (instruction.call)
      instruction.call = createCall(draw(random, kCallIds));
    else
      instruction.kernel = draw(random, 20);
    break;
  case 1:
    if (instruction.call)
      instruction.call.reset();
    else
      instruction.call = createCall(draw(random, kCallIds));
    break;
  case 2:
    instruction.tasks = number(instruction.tasks);
    break;
  case 3:
  case 4:
    // Some of the call's attributes.
    if (instruction.call)
      std::visit(
          [&](auto &call) {
            call.forEachField(call, [&](const char *, auto &field) {
              using Field = std::decay_t<decltype(field)>;
              if (draw(random, 3))
                return;
              if constexpr (std::is_same_v<Field, bool>)
                field = !field;
              else if constexpr (std::is_same_v<Field, int64_t>)
                field = number(field);
              else if constexpr (std::is_same_v<Field, double>)
                field = number(1) * 0.5;
              else if constexpr (std::is_same_v<Field, std::vector<int64_t>>)
                field.empty() ? field.push_back(draw(random, 3))
                              : void(pick(random, field) = number(pick(random, field)));
            });
          },
          *instruction.call);
    break;
  case 5:
    if (!instruction.refs.empty()) {
      size_t at = draw(random, instruction.refs.size());
      instruction.refs.insert(instruction.refs.begin() + at, instruction.refs[at]);
      instruction.numInputs += draw(random, 2);
    }
    break;
  default:
    if (!instruction.refs.empty())
      changeRef(pick(random, instruction.refs));
  }
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  Program program;
  std::string error;
  // Also of a table that is refused for its contents all is read.
  (void)readProgram(data, size, kKernels, program, error);
  if (program.instructions.empty() || draw(random, 6) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  for (size_t steps = 1 + draw(random, 3); steps > 0; --steps)
    mutateProgram(program, random);
  return replaceInput(writeProgram(program), data, size, maxSize);
}
