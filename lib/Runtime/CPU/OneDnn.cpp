//===- OneDnn.cpp - oneDNN primitives that run on one thread -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OneDnn.h"
#include "Call.h"
#include "Parallel.h"

#include <new>

using namespace mpt::rt;

namespace {

struct Attributes {
  dnnl_primitive_attr_t handle = nullptr;
  Attributes() {
    if (dnnl_primitive_attr_create(&handle) == dnnl_success)
      dnnl_primitive_attr_set_scratchpad_mode(handle, dnnl_scratchpad_mode_user);
  }
  ~Attributes() { dnnl_primitive_attr_destroy(handle); }

  bool addResult() {
    dnnl_post_ops_t operations = nullptr;
    const bool added =
        dnnl_post_ops_create(&operations) == dnnl_success &&
        dnnl_post_ops_append_sum(operations, 1) == dnnl_success &&
        dnnl_primitive_attr_set_post_ops(handle, operations) == dnnl_success;
    dnnl_post_ops_destroy(operations);
    return added;
  }
};

} // namespace

dnnl_engine_t mpt::rt::getEngine() {
  static dnnl_engine_t engine = [] {
    dnnl_engine_t made = nullptr;
    dnnl_engine_create(&made, dnnl_cpu, 0);
    return made;
  }();
  return engine;
}

bool mpt::rt::hasFastBF16(dnnl_cpu_isa_t isa, bool isAMD) {
  // A set holds the bits of the sets that it contains.
  auto has = [&](dnnl_cpu_isa_t set) { return (isa & set) == set; };
  return has(dnnl_cpu_isa_avx512_core_amx) ||
         (isAMD && has(dnnl_cpu_isa_avx512_core_bf16));
}

bool mpt::rt::prefersConvolutions(dnnl_cpu_isa_t isa) {
  return (isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2 &&
         (isa & dnnl_cpu_isa_avx512_core) != dnnl_cpu_isa_avx512_core;
}

bool mpt::rt::wantsDenseMatrices(dnnl_cpu_isa_t isa) {
  return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

bool mpt::rt::hasFastBF16() {
#if defined(__x86_64__)
  const bool isAMD = __builtin_cpu_is("amd");
#else
  const bool isAMD = false;
#endif
  static const bool has = hasFastBF16(dnnl_get_effective_cpu_isa(), isAMD);
  return has;
}

DataType mpt::rt::getMatmulType(DataType lhs, DataType rhs, bool fastBF16) {
  bool areBF16 = lhs == DataType::BF16 && rhs == DataType::BF16;
  return areBF16 && fastBF16 ? DataType::BF16 : DataType::F32;
}

bool mpt::rt::makeDesc(dnnl_memory_desc_t &desc, std::vector<int64_t> dims,
                       std::vector<int64_t> strides, DataType type) {
  dnnl_data_type_t element = type == DataType::BF16 ? dnnl_bf16 : dnnl_f32;
  int rank = static_cast<int>(dims.size());
  if (strides.empty())
    return dnnl_memory_desc_init_by_tag(&desc, rank, dims.data(), element,
                                        dnnl_format_tag_any) == dnnl_success;
  return dnnl_memory_desc_init_by_strides(&desc, rank, dims.data(), element,
                                          strides.data()) == dnnl_success;
}

bool mpt::rt::makeBlockedDesc(dnnl_memory_desc_t &desc, std::vector<int64_t> dims,
                              int64_t block) {
  return dnnl_memory_desc_init_by_tag(&desc, 4, dims.data(), dnnl_f32,
                                      block == 8 ? dnnl_aBcd8b : dnnl_aBcd16b) ==
         dnnl_success;
}

Primitive::~Primitive() {
  for (Handles &handles : perThread) {
    for (dnnl_exec_arg_t &arg : handles.args)
      dnnl_memory_destroy(arg.memory);
    dnnl_stream_destroy(handles.stream);
  }
  dnnl_primitive_destroy(primitive);
  dnnl_primitive_desc_destroy(primitiveDesc);
}

bool Primitive::init(const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint,
                     bool adds) {
  OneThread one;
  Attributes attributes;
  if (adds && !attributes.addResult())
    return false;
  return dnnl_primitive_desc_create(&primitiveDesc, desc, attributes.handle, getEngine(),
                                    hint) == dnnl_success &&
         dnnl_primitive_create(&primitive, primitiveDesc) == dnnl_success;
}

bool Primitive::initReorder(const dnnl_memory_desc_t &from,
                            const dnnl_memory_desc_t &to) {
  OneThread one;
  Attributes attributes;
  return dnnl_reorder_primitive_desc_create(&primitiveDesc, &from, getEngine(), &to,
                                            getEngine(),
                                            attributes.handle) == dnnl_success &&
         dnnl_primitive_create(&primitive, primitiveDesc) == dnnl_success;
}

std::string_view Primitive::getName() const {
  const char *name = nullptr;
  return dnnl_primitive_desc_query(primitiveDesc, dnnl_query_impl_info_str, 0, &name) ==
                 dnnl_success
             ? name
             : "";
}

dnnl_memory_desc_t Primitive::query(dnnl_query_t what) const {
  const dnnl_memory_desc_t *desc = dnnl_primitive_desc_query_md(primitiveDesc, what, 0);
  return desc ? *desc : dnnl_memory_desc_t();
}

bool Primitive::setArguments(std::vector<Argument> arguments, int64_t threads,
                             size_t moreScratch) {
  dnnl_memory_desc_t scratch = query(dnnl_query_scratchpad_md);
  const size_t scratchBytes = dnnl_memory_desc_get_size(&scratch);
  perThread.resize(threads);
  for (Handles &handles : perThread) {
    if (dnnl_stream_create(&handles.stream, getEngine(), dnnl_stream_default_flags) !=
        dnnl_success)
      return false;
    auto add = [&](int id, const dnnl_memory_desc_t &desc, void *data) {
      dnnl_exec_arg_t arg{id, nullptr};
      bool ok = dnnl_memory_create(&arg.memory, &desc, getEngine(), data) == dnnl_success;
      if (ok)
        handles.args.push_back(arg);
      return ok;
    };
    for (const Argument &argument : arguments)
      if (!add(argument.id, argument.desc, DNNL_MEMORY_NONE))
        return false;
    if (scratchBytes > 0) {
      handles.scratchpad.reset(new (std::nothrow) char[scratchBytes + moreScratch + 64]);
      if (!handles.scratchpad)
        return false;
      auto address = reinterpret_cast<uintptr_t>(handles.scratchpad.get());
      if (!add(DNNL_ARG_SCRATCHPAD, scratch,
               reinterpret_cast<void *>((address + 63) / 64 * 64)))
        return false;
    }
  }
  return true;
}

bool Primitive::run(std::initializer_list<void *> data, int thread) {
  Handles &handles = perThread[thread];
  const dnnl_exec_arg_t *arg = handles.args.data();
  for (void *address : data)
    if (dnnl_memory_set_data_handle((arg++)->memory, address) != dnnl_success)
      return false;
  return dnnl_primitive_execute(primitive, handles.stream,
                                static_cast<int>(handles.args.size()),
                                handles.args.data()) == dnnl_success;
}
