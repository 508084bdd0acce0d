//===- VectorSet.h - Vector instructions of this CPU ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_VECTORSET_H
#define MPT_LIB_RUNTIME_CPU_VECTORSET_H

namespace mpt::rt {

/// Vector instructions that code is compiled for: none beyond those of any x86-64, or of
/// any other CPU; AVX2 with F16C; AVX-512 F, BW, DQ and VL.
enum class VectorSet { Plain, AVX2, AVX512 };

/// The largest set that this CPU has.
inline VectorSet getVectorSet() {
#if defined(__x86_64__)
  static const VectorSet set = [] {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c"))
      return VectorSet::Plain;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? VectorSet::AVX512
               : VectorSet::AVX2;
  }();
  return set;
#else
  return VectorSet::Plain;
#endif
}

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_VECTORSET_H
