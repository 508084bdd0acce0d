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

#ifndef MPT_LIB_RUNTIME_ONEDNN_H
#define MPT_LIB_RUNTIME_ONEDNN_H

#include <cstdint>
#include <dnnl.h>
#include <initializer_list>
#include <memory>
#include <vector>

namespace mpt::rt {

/// The CPU engine, or null.
dnnl_engine_t getEngine();

/// The f32 tensor with these logical sizes and strides.
bool makeDesc(dnnl_memory_desc_t &desc, std::vector<int64_t> dims,
              std::vector<int64_t> strides);

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
  /// forward one as `hint`). False if oneDNN has none.
  bool init(const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint);
  /// The layout it wants for an argument whose descriptor was `any`.
  dnnl_memory_desc_t query(dnnl_query_t what) const;
  /// A conversion between two layouts.
  bool initReorder(const dnnl_memory_desc_t &from, const dnnl_memory_desc_t &to);
  /// Fixes the arguments, in the order in which run gets their data.
  bool setArguments(std::vector<Argument> arguments, int64_t threads);

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

#endif // MPT_LIB_RUNTIME_ONEDNN_H
