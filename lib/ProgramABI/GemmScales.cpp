//===- GemmScales.cpp - Scales of 8-bit operands of cuBLASLt -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/GemmScales.h"

using namespace mpt::rt;

static int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }
static int64_t roundUp(int64_t x, int64_t y) { return divideUp(x, y) * y; }

/// Scales of a tile: those of so many rows, and blocks along K.
static constexpr int64_t kTileRows = 128, kTileBlocks = 4;

DataType mpt::rt::getScaleType(GemmScaling scaling) {
  switch (scaling) {
  case GemmScaling::Vec16UE4M3:
    return DataType::F8E4M3FN;
  case GemmScaling::Vec32UE8M0:
    // Programs keep its bits.
    return DataType::I8;
  default:
    return DataType::F32;
  }
}

int64_t mpt::rt::getScaleLength(GemmScaling scaling) {
  switch (scaling) {
  case GemmScaling::Vec16UE4M3:
    return 16;
  case GemmScaling::Vec32UE8M0:
    return 32;
  default:
    return 128;
  }
}

const char *mpt::rt::getName(GemmScaling scaling) {
  switch (scaling) {
  case GemmScaling::None:
    return "SCALAR_32F";
  case GemmScaling::Vec16UE4M3:
    return "VEC16_UE4M3";
  case GemmScaling::Vec32UE8M0:
    return "VEC32_UE8M0";
  case GemmScaling::Vec128F32:
    return "VEC128_32F";
  case GemmScaling::Block128F32:
    return "BLK128x128_32F";
  }
  return "unknown";
}

int64_t mpt::rt::countScales(GemmScaling scaling, int64_t outer, int64_t k) {
  const int64_t blocks = divideUp(k, getScaleLength(scaling));
  switch (scaling) {
  case GemmScaling::None:
    return 1;
  case GemmScaling::Vec16UE4M3:
  case GemmScaling::Vec32UE8M0:
    return roundUp(outer, kTileRows) * roundUp(blocks, kTileBlocks);
  case GemmScaling::Vec128F32:
    return outer * blocks;
  case GemmScaling::Block128F32:
    return divideUp(outer, 128) * roundUp(blocks, 4);
  }
  return 0;
}

int64_t mpt::rt::findScale(GemmScaling scaling, int64_t outer, int64_t k, int64_t o,
                           int64_t block) {
  const int64_t blocks = divideUp(k, getScaleLength(scaling));
  switch (scaling) {
  case GemmScaling::None:
    break;
  case GemmScaling::Vec16UE4M3:
  case GemmScaling::Vec32UE8M0: {
    const int64_t tile =
        o / kTileRows * divideUp(blocks, kTileBlocks) + block / kTileBlocks;
    return tile * kTileRows * kTileBlocks + o % 32 * 16 + o % kTileRows / 32 * 4 +
           block % kTileBlocks;
  }
  case GemmScaling::Vec128F32:
    return block * outer + o;
  case GemmScaling::Block128F32:
    return o / 128 * roundUp(blocks, 4) + block;
  }
  return 0;
}
