//===- ProgramBuilder.h - Small programs by hand ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_RUNTIME_PROGRAMBUILDER_H
#define MPT_UNITTESTS_RUNTIME_PROGRAMBUILDER_H

#include "TestHelpers.h"
#include "mpt/Runtime/Runtime.h"
#include "mpt/Support/Version.h"

namespace mpt::rt {

/// Appends buffers and calls; every buffer has bytes of its own.
class ProgramBuilder {
public:
  explicit ProgramBuilder(int64_t maxThreads = 4) {
    program.name = "test";
    program.target = "x86_64";
    program.version = kVersion;
    program.maxThreads = maxThreads;
  }

  BufferRef arena(DataType type, std::vector<int64_t> dims) {
    return place(SpaceId::Arena, type, std::move(dims), program.arenaBytes);
  }
  BufferRef state(const std::string &name, DataType type, std::vector<int64_t> dims) {
    BufferRef ref = place(SpaceId::State, type, std::move(dims), program.stateBytes);
    program.tensors.push_back({name, "parameter", ref, mpt::InitSpec(), 0, ""});
    return ref;
  }
  BufferRef output(const std::string &name, DataType type, std::vector<int64_t> dims) {
    BufferRef ref = place(SpaceId::Output, type, std::move(dims), program.outputBytes);
    program.tensors.push_back({name, "output", ref});
    return ref;
  }
  BufferRef input(const std::string &name, DataType type, std::vector<int64_t> dims) {
    BufferRef ref;
    ref.space = SpaceId::Input;
    ref.type = type;
    ref.dims = std::move(dims);
    ref.offset = inputs++;
    program.tensors.push_back({name, "input", ref});
    return ref;
  }
  BufferRef constant(DataType type, const std::string &bytes, std::vector<int64_t> dims) {
    BufferRef ref;
    ref.space = SpaceId::Constant;
    ref.type = type;
    ref.dims = std::move(dims);
    ref.offset = program.constants.size();
    program.constants.push_back(bytes);
    return ref;
  }
  void call(const LibraryCall &libraryCall, const std::vector<BufferRef> &in,
            const BufferRef &out) {
    this->call(libraryCall, in, std::vector<BufferRef>{out});
  }
  void call(const LibraryCall &libraryCall, const std::vector<BufferRef> &in,
            const std::vector<BufferRef> &out) {
    Instruction call = makeInstruction(libraryCall, in, out.front());
    call.refs.insert(call.refs.end(), out.begin() + 1, out.end());
    call.numOutputs = out.size();
    if (int64_t bytes = getCallWorkspace(call, program.maxThreads)) {
      call.hasScratch = true;
      call.refs.push_back(arena(DataType::I8, {bytes}));
    }
    call.location = "test.mlir:" + std::to_string(program.instructions.size() + 1) + ":1";
    program.instructions.push_back(std::move(call));
  }
  void launch(int64_t tasks, const std::vector<BufferRef> &in, const BufferRef &out) {
    Instruction launch = makeInstruction(std::nullopt, in, out);
    launch.tasks = tasks;
    launch.location = "test.mlir:1:1";
    program.instructions.push_back(std::move(launch));
  }

  Program program;

private:
  BufferRef place(SpaceId space, DataType type, std::vector<int64_t> dims, int64_t &end) {
    BufferRef ref;
    ref.space = space;
    ref.type = type;
    ref.dims = std::move(dims);
    ref.offset = end;
    end += (ref.bytes() + 63) / 64 * 64;
    return ref;
  }
  int64_t inputs = 0;
};

/// A program for GPUs with the table `table`; both arguments outlive the result.
inline mpt_program_desc describeForCuda(const std::string &table, uint64_t numKernels,
                                        const mpt_cuda_desc &cuda) {
  return {kProgramMagic, kFormatVersion, reinterpret_cast<const uint8_t *>(table.data()),
          table.size(),  nullptr,        numKernels,
          &cuda};
}

/// A table with a descriptor around it; must outlive its context.
struct Descriptor {
  Descriptor(std::string bytes, const std::vector<mpt_kernel_fn> &functions = {})
      : table(std::move(bytes)), kernels(functions) {
    desc = {
        kProgramMagic, kFormatVersion, reinterpret_cast<const uint8_t *>(table.data()),
        table.size(),  kernels.data(), kernels.size()};
  }
  Descriptor(const Descriptor &) = delete;
  std::string table;
  std::vector<mpt_kernel_fn> kernels;
  mpt_program_desc desc;
};

/// A context that ends with its scope.
struct Context {
  explicit Context(int threads = 2) : rt(mpt_rt_create(threads)) {}
  Context(const Context &) = delete;
  ~Context() { mpt_rt_destroy(rt); }
  std::string error() const { return mpt_rt_last_error(rt); }
  mpt_rt_context *rt;
};

} // namespace mpt::rt

#endif // MPT_UNITTESTS_RUNTIME_PROGRAMBUILDER_H
