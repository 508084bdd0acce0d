//===- FilterTranspose.h - PyTorch's filters and oneDNN's layouts -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// f32 filters [O, C, KH, KW] in tiles that fit the first cache. oneDNN's own conversion
/// reads one element of each output channel in turn; these are often a multiple of 4096
/// bytes apart, so that each is read from memory (10 ns an element for 512 x 1024 x 1 x
/// 1, here less than one).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_RUNTIME_CPU_FILTERTRANSPOSE_H
#define MPT_RUNTIME_CPU_FILTERTRANSPOSE_H

#include "dnnl.h"
#include <cstdint>
#include <vector>

namespace mpt::rt {

class FilterTranspose {
public:
  /// False if this is not for such a pair of layouts: both f32, `plain` without blocks
  /// and with rows of output channels, `packed` without padding.
  bool init(const dnnl_memory_desc_t &plain, const dnnl_memory_desc_t &packed);
  /// Parts that may run at the same time.
  int64_t countPieces() const {
    return (static_cast<int64_t>(packedOut.size()) + pieceChannels - 1) / pieceChannels;
  }
  void pack(int64_t piece, const float *plain, float *packed) const;
  void unpack(int64_t piece, const float *packed, float *plain) const;

private:
  static constexpr int64_t pieceChannels = 64;
  static constexpr int64_t tileOut = 8, tileIn = 16;
  template <bool isPack, typename From, typename To>
  void runPiece(int64_t piece, From *plain, To *packed) const;

  int64_t outStride = 0, inStride = 0;
  std::vector<int64_t> plainTap;
  /// Where an element lies in the packed filter: the sum of these, in elements.
  std::vector<int64_t> packedOut, packedIn, packedTap;
};

} // namespace mpt::rt

#endif // MPT_RUNTIME_CPU_FILTERTRANSPOSE_H
