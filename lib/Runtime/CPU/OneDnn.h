//===- OneDnn.h - oneDNN primitives that run on one thread -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The only files that know oneDNN's interface (2.x): primitives made for one
/// thread, so that the number of threads does not change their bits, with
/// scratchpads of our own for each thread, so that one primitive may run on
/// several threads at once. All memory is taken when a primitive is made.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_ONEDNN_H
#define MPT_LIB_RUNTIME_CPU_ONEDNN_H

#include "mpt/ProgramABI/ProgramFormat.h"

#include <cstdint>
#include <dnnl.h>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

namespace mpt::rt {

/// The CPU engine, or null.
dnnl_engine_t getEngine();

/// Whether matmuls of bf16 run faster than those of f32 on a CPU of this instruction
/// set: with AMX, and with AVX512_BF16 on AMD's, twice as fast. Intel's take twice as
/// long with AVX512_BF16 as in f32, and those with plain AVX-512 only emulate it, three
/// times slower.
bool hasFastBF16(dnnl_cpu_isa_t isa, bool isAMD);

/// Whether matmuls of f32 run faster as convolutions of 1x1 on a CPU of this
/// instruction set: with AVX2 and no AVX-512. There oneDNN's matmul is up to 1.2 times
/// as slow and takes a panel of 16 KiB from the heap whenever it runs, unless the left
/// side is transposed.
bool prefersConvolutions(dnnl_cpu_isa_t isa);

/// Whether oneDNN's fast matmul takes only matrices whose rows lie one after another:
/// with AVX-512 (2.6). For others it has one that copies panels to the heap.
bool wantsDenseMatrices(dnnl_cpu_isa_t isa);

/// The type in which operands are multiplied, with sums in f32: bf16 if both are
/// and the CPU has `fastBF16`, else f32. Operands of other types are converted.
DataType getMatmulType(DataType lhs, DataType rhs, bool fastBF16);

/// The f32 or bf16 tensor with these logical sizes and strides, or, without
/// strides, in a layout that oneDNN chooses.
bool makeDesc(dnnl_memory_desc_t &desc, std::vector<int64_t> dims,
              std::vector<int64_t> strides, DataType type = DataType::F32);

/// The f32 images with these sizes N, C, H, W in blocks of 8 or 16 channels.
bool makeBlockedDesc(dnnl_memory_desc_t &desc, std::vector<int64_t> dims, int64_t block);

/// One primitive and what each thread needs to run it.
class Primitive {
public:
  struct Argument {
    int id;
    dnnl_memory_desc_t desc;
  };

  Primitive() = default;
  Primitive(const Primitive &) = delete;
  Primitive &operator=(const Primitive &) = delete;
  ~Primitive();

  /// Makes the primitive of an operation descriptor (for gradients, with the
  /// forward one as `hint`), or, if it `adds`, one whose result is added to what lies
  /// there. False if oneDNN has none.
  bool init(const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint,
            bool adds = false);
  /// oneDNN's name of what runs, such as "jit_1x1:avx2"; "" if it has none.
  std::string_view getName() const;
  /// Whether oneDNN has nothing but its plain loops for this.
  bool isReference() const {
    return getName().empty() || getName().substr(0, 3) == "ref";
  }
  /// The layout it wants for an argument whose descriptor had none.
  dnnl_memory_desc_t query(dnnl_query_t what) const;
  /// A conversion between two layouts.
  bool initReorder(const dnnl_memory_desc_t &from, const dnnl_memory_desc_t &to);
  /// Fixes the arguments, in the order in which run gets their data. Each thread's
  /// scratchpad has `moreScratch` bytes after those that oneDNN asks for.
  bool setArguments(std::vector<Argument> arguments, int64_t threads,
                    size_t moreScratch = 0);

  bool run(std::initializer_list<void *> data, int thread);
  const_dnnl_primitive_desc_t getDesc() const { return primitiveDesc; }
  bool isReady() const { return !perThread.empty(); }

private:
  struct Handles {
    dnnl_stream_t stream = nullptr;
    std::vector<dnnl_exec_arg_t> args;
    std::unique_ptr<char[]> scratchpad;
  };
  dnnl_primitive_desc_t primitiveDesc = nullptr;
  dnnl_primitive_t primitive = nullptr;
  std::vector<Handles> perThread;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_ONEDNN_H
