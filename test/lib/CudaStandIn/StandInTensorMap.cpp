//===- StandInTensorMap.cpp - Tensor maps without a GPU --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// cuTensorMapEncodeTiled of the driver, held to the rules that cuda.h states, for what
/// the emulator copies: elements of two bytes, without interleaving.
///
//===----------------------------------------------------------------------===//

#include "StandInState.h"

using namespace mpt::standin;

static int64_t shiftedBy = 0, stretchedBy = 0, firstShifted = 0, lastShifted = -1;

/// What is wrong with a map; "" if nothing is.
static std::string checkMap(const void *map, int type, uint32_t rank, const void *address,
                            const uint64_t *sizes, const uint64_t *strides,
                            const uint32_t *box, const uint32_t *steps, int interleave,
                            int swizzle, int promotion, int fill) {
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return "a tensor map that is not at a multiple of 64 bytes";
  if (type != 1 && type != 6 && type != 9)
    return "a tensor map of elements that have not two bytes";
  if (rank != 4)
    return "a tensor map whose rank is not 4";
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0)
    return "a tensor map of a tensor that is not at a multiple of 16 bytes";
  int64_t last = 0;
  for (uint32_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || sizes[i] > uint64_t(1) << 32)
      return "a tensor map of a size that is 0 or more than 2^32";
    if (box[i] == 0 || box[i] > 256)
      return "a tensor map of a box that is empty or longer than 256";
    if (steps[i] != 1)
      return "a tensor map that leaves elements out";
    if (i == 0) {
      last += 2 * (static_cast<int64_t>(sizes[0]) - 1);
      continue;
    }
    const uint64_t stride = strides[i - 1];
    if (stride % 16 != 0 || stride >= uint64_t(1) << 40)
      return "a tensor map of a stride that is no multiple of 16, or 2^40 or more";
    const uint64_t before = i == 1 ? 2 : strides[i - 2];
    if (stride % before != 0 || stride < before * sizes[i - 1])
      return "a tensor map of a stride that does not include the one before";
    last += static_cast<int64_t>(stride * (sizes[i] - 1));
  }
  if (box[0] * 2 % 16 != 0)
    return "a tensor map of a box whose rows are no multiple of 16 bytes";
  if (interleave != 0 || swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 ||
      fill != 0)
    return "a tensor map with an option that is not known here";
  if (swizzle != 0 && box[0] * 2 > 16u << swizzle)
    return "a tensor map of a box whose rows are longer than its swizzle";
  if (!isOnDevice(address, last + 2))
    return "a tensor map of what is not on the device";
  return "";
}

extern "C" {

void mpt_standin_shift_maps(int64_t bytes, int64_t entryBytes, int64_t first,
                            int64_t last) {
  shiftedBy = bytes;
  stretchedBy = entryBytes;
  firstShifted = first;
  lastShifted = last;
}

Error cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                             const uint64_t *sizes, const uint64_t *strides,
                             const uint32_t *box, const uint32_t *steps, int interleave,
                             int swizzle, int promotion, int fill) {
  MPT_BEGIN("cuTensorMapEncodeTiled");
  std::string wrong = checkMap(map, type, rank, address, sizes, strides, box, steps,
                               interleave, swizzle, promotion, fill);
  if (!wrong.empty())
    return call.breach(wrong, kInvalidValue);
  mpt_simt_tensor_map made = {};
  made.magic = mpt_simt_tensor_map::kMagic;
  made.rank = static_cast<int16_t>(rank);
  made.element_bytes = 2;
  const int64_t number = state.calls["cuTensorMapEncodeTiled"];
  const bool isShifted = number >= firstShifted && number <= lastShifted;
  made.address = static_cast<char *>(address) + (isShifted ? shiftedBy : 0);
  made.swizzle_bytes = static_cast<int16_t>(swizzle == 0 ? 16 : 16 << swizzle);
  for (uint32_t i = 0; i < rank; ++i) {
    made.sizes[i] = static_cast<int64_t>(sizes[i]);
    made.box[i] = static_cast<int16_t>(box[i]);
    if (i > 0)
      made.strides[i - 1] = static_cast<int64_t>(strides[i - 1]);
  }
  made.strides[rank - 2] += isShifted ? stretchedBy : 0;
  static_assert(sizeof(made) <= 128);
  std::memcpy(map, &made, sizeof(made));
  return kSuccess;
}

Error cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                       unsigned version, unsigned long long flags,
                                       int *found) {
  MPT_BEGIN("cudaGetDriverEntryPointByVersion");
  if (std::strcmp(symbol, "cuTensorMapEncodeTiled") != 0 || version < 12000 || flags != 0)
    return call.breach("a function of the driver that is not known here", kInvalidValue);
  *function = reinterpret_cast<void *>(&cuTensorMapEncodeTiled);
  *found = 0;
  return kSuccess;
}

} // extern "C"
