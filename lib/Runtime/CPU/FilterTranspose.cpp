//===- FilterTranspose.cpp - PyTorch's filters and oneDNN's layouts -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FilterTranspose.h"

#include <algorithm>

using namespace mpt::rt;

/// How far index `index` of dimension `dim` is from index 0.
static int64_t getOffset(const dnnl_memory_desc_t &desc, int dim, int64_t index) {
  const dnnl_blocking_desc_t &blocks = desc.format_desc.blocking;
  int64_t offset = 0, inner = 1;
  for (int i = blocks.inner_nblks; i-- > 0; inner *= blocks.inner_blks[i])
    if (blocks.inner_idxs[i] == dim) {
      offset += index % blocks.inner_blks[i] * inner;
      index /= blocks.inner_blks[i];
    }
  return offset + index * blocks.strides[dim];
}

static bool isPlainF32(const dnnl_memory_desc_t &desc) {
  return desc.ndims == 4 && desc.data_type == dnnl_f32 &&
         desc.format_kind == dnnl_blocked && desc.extra.flags == 0 &&
         std::equal(desc.dims, desc.dims + 4, desc.padded_dims);
}

/// Whether elements at these places lie side by side.
static bool isRun(const int64_t *places, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    if (places[i] != places[0] + i)
      return false;
  return true;
}

bool FilterTranspose::init(const dnnl_memory_desc_t &plain,
                           const dnnl_memory_desc_t &packed) {
  const dnnl_blocking_desc_t &strides = plain.format_desc.blocking;
  if (!isPlainF32(plain) || !isPlainF32(packed) || strides.inner_nblks != 0 ||
      strides.strides[0] <= strides.strides[1])
    return false;
  outStride = strides.strides[0];
  inStride = strides.strides[1];
  for (int64_t o = 0; o < plain.dims[0]; ++o)
    packedOut.push_back(getOffset(packed, 0, o));
  for (int64_t c = 0; c < plain.dims[1]; ++c)
    packedIn.push_back(getOffset(packed, 1, c));
  for (int64_t h = 0; h < plain.dims[2]; ++h)
    for (int64_t w = 0; w < plain.dims[3]; ++w) {
      plainTap.push_back(h * strides.strides[2] + w * strides.strides[3]);
      packedTap.push_back(getOffset(packed, 2, h) + getOffset(packed, 3, w));
    }
  return true;
}

template <bool isPack, typename From, typename To>
void FilterTranspose::runPiece(int64_t piece, From *plain, To *packed) const {
  auto move = [](auto &inPlain, auto &inPacked) {
    if constexpr (isPack)
      inPacked = inPlain;
    else
      inPlain = inPacked;
  };
  const auto allIn = static_cast<int64_t>(packedIn.size()),
             taps = static_cast<int64_t>(packedTap.size()),
             end = std::min<int64_t>(packedOut.size(), (piece + 1) * pieceChannels);
  for (int64_t out = piece * pieceChannels; out < end; out += tileOut)
    for (int64_t in = 0; in < allIn; in += tileIn) {
      const int64_t outs = std::min(tileOut, end - out),
                    ins = std::min(tileIn, allIn - in);
      const bool isFull = outs == tileOut && ins == tileIn;
      auto *tile = plain + out * outStride + in * inStride;
      // Runs of output or of input channels that lie side by side.
      if (isFull && isRun(&packedOut[out], tileOut)) {
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t i = 0; i < tileIn; ++i) {
            auto *from = tile + i * inStride + plainTap[tap];
            auto *to = packed + packedOut[out] + packedIn[in + i] + packedTap[tap];
            for (int64_t o = 0; o < tileOut; ++o)
              move(from[o * outStride], to[o]);
          }
      } else if (isFull && isRun(&packedIn[in], tileIn)) {
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t o = 0; o < tileOut; ++o) {
            auto *from = tile + o * outStride + plainTap[tap];
            auto *to = packed + packedOut[out + o] + packedIn[in] + packedTap[tap];
            for (int64_t i = 0; i < tileIn; ++i)
              move(from[i * inStride], to[i]);
          }
      } else {
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t i = 0; i < ins; ++i)
            for (int64_t o = 0; o < outs; ++o)
              move(tile[o * outStride + i * inStride + plainTap[tap]],
                   packed[packedOut[out + o] + packedIn[in + i] + packedTap[tap]]);
      }
    }
}

void FilterTranspose::pack(int64_t piece, const float *plain, float *packed) const {
  runPiece<true>(piece, plain, packed);
}

void FilterTranspose::unpack(int64_t piece, const float *packed, float *plain) const {
  runPiece<false>(piece, plain, packed);
}
