//===- FloatFormats.h - What a floating-point format can hold -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The magnitudes at which rounding to a format changes its kind: to zero, to a
/// subnormal number, to an infinity. Rounding is to nearest, ties to even, as
/// `mpt.cast` rounds. No MLIR in here.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_FLOATFORMATS_H
#define MPT_PRECISION_FLOATFORMATS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace mpt {

/// All numbers are magnitudes, and exact in f32.
struct FloatFormat {
  /// As MLIR spells the type ("f8E4M3FN").
  llvm::StringRef name;
  /// Largest finite, smallest normal and smallest subnormal number.
  double largest, smallestNormal, smallest;
  /// The smallest f32 that does not round to zero; that rounds to a normal number;
  /// that rounds to no finite number (infinity for f32 itself).
  float nonZeroFrom, normalFrom, overflowFrom;
};

/// f32, bf16, f16, f8E5M2, f8E4M3FN: from wide to narrow.
llvm::ArrayRef<FloatFormat> getFloatFormats();
/// The format called `name`, or null.
const FloatFormat *findFloatFormat(llvm::StringRef name);

/// Numbers of one format in blocks of `length` along a tensor's last dimension. Each
/// block has the power of two as its scale that mpt.block_scale gives with
/// `power_of_two`, so no magnitude is too large.
struct BlockFormat {
  const FloatFormat *element;
  int64_t length;
};
/// The format called `name`: an 8-bit format and a length from 2 to 4096, such as
/// "f8E4M3FN/32"; nullopt for all else.
std::optional<BlockFormat> findBlockFormat(llvm::StringRef name);
/// Whether `name` is a format or one of blocks: what ranges are counted for.
bool isRangeFormat(llvm::StringRef name);

/// What is counted of a tensor: how many magnitudes reach each of `thresholds`,
/// which ascend and begin with 0 (all but NaN), the smallest subnormal f32 (all
/// but NaN and zeros) and end with infinity. All other figures are differences.
struct RangeThresholds {
  std::vector<float> thresholds;
  /// For `formats` (by name; those of blocks have counts of their own) and the powers of
  /// two in `edges`, which ascend.
  RangeThresholds(llvm::ArrayRef<std::string> formats, llvm::ArrayRef<int64_t> edges);
  /// The index of `threshold`, which must be one of them.
  size_t indexOf(float threshold) const;
};

} // namespace mpt

#endif // MPT_PRECISION_FLOATFORMATS_H
