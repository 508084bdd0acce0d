//===- AttentionVariant.h - Attention by what sm_90a has alone -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_ATTENTIONVARIANT_H
#define MPT_LIB_RUNTIME_CUDA_ATTENTIONVARIANT_H

#include "CudaApi.h"
#include "mpt/ProgramABI/CudaProgram.h"

#include <string>
#include <vector>

namespace mpt::rt::cuda {

/// cuTensorMapEncodeTiled of the driver.
using EncodeTiled = int (*)(void *map, int type, uint32_t rank, void *address,
                            const uint64_t *sizes, const uint64_t *strides,
                            const uint32_t *box, const uint32_t *steps, int interleave,
                            int swizzle, int promotion, int fill);
/// CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion.
inline constexpr int kMapF16 = 6, kMapBF16 = 9, kMapSwizzle128 = 3, kMapPromotion256 = 3;
/// cudaFuncAttributeMaxDynamicSharedMemorySize.
inline constexpr int kMostSharedAttribute = 8;
/// Bytes of a CUtensorMap, which is aligned to 64.
inline constexpr size_t kMapBytes = 128;

/// The functions that may run instead of a program's own ones on an sm_90.
class AttentionVariants {
public:
  static constexpr int kMostSeconds = 5;
  AttentionVariants(const Api &api, const mpt_cuda_desc &desc) : api(api), desc(desc) {}
  ~AttentionVariants() {
    if (library)
      api.cudaLibraryUnload(library);
  }
  AttentionVariants(const AttentionVariants &) = delete;

  /// Loads them; says in `why` why they are not used.
  void load(int architecture, std::string &why);
  /// What may run instead of kernel number `kernel`; null if nothing may.
  const mpt_cuda_variant *find(uint64_t kernel) const;
  /// Launches it on `buffers`: all of it, or what computes the first batch entries.
  Error launch(const mpt_cuda_variant &variant, std::vector<void *> buffers, bool isCheck,
               Stream stream) const;
  /// Runs the kernel, and the variant twice, on made numbers in `buffers`, of the first
  /// batch entries. Says why the variant is not to run: a call is refused, results differ
  /// by more than the variant allows, or those of its two runs at all. What fails on
  /// the device is `code`; kNotReady if it has not ended after kMostSeconds.
  std::string check(const mpt_cuda_variant &variant, Kernel kernel, uint64_t threads,
                    const std::vector<void *> &buffers, Stream stream, Error &code) const;
  /// It is not used from now on.
  void drop(const mpt_cuda_variant &variant);
  bool isEmpty() const;

private:
  const Api &api;
  const mpt_cuda_desc &desc;
  Library library = nullptr;
  EncodeTiled encode = nullptr;
  /// By their numbers in the program; null: not used.
  std::vector<Kernel> kernels;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_ATTENTIONVARIANT_H
