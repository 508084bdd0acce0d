//===- Range.h - A named range of a profile -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// NVTX, which profilers as nsys read: headers alone, of the CUDA toolkit. Where these
/// are missing when MPT is built, there are no ranges.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_RANGE_H
#define MPT_LIB_RUNTIME_CUDA_RANGE_H

#include <string>

#ifdef MPT_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace mpt::rt::cuda {

/// While it lives, what is launched is in the range `name`.
class Range {
public:
#ifdef MPT_HAS_NVTX
  explicit Range(const std::string &name) { nvtxRangePushA(name.c_str()); }
  ~Range() { nvtxRangePop(); }
#else
  explicit Range(const std::string &) {}
#endif
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_RANGE_H
