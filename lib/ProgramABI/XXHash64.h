//===- XXHash64.h - A 64-bit checksum ---------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// XXH64 with seed 0, as specified at
/// https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md. LLVM has it too, but
/// the runtime does without LLVM. It finds damage; it does not prove who wrote a file.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PROGRAMABI_XXHASH64_H
#define MPT_LIB_PROGRAMABI_XXHASH64_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mpt::rt {

/// Hashes bytes that come in pieces. Numbers are little endian, as on every machine
/// that MPT compiles for.
class XXHash64 {
public:
  void update(const void *data, size_t size) {
    auto *at = static_cast<const uint8_t *>(data);
    total += size;
    if (held + size < kStripe) {
      std::memcpy(stripe + held, at, size);
      held += size;
      return;
    }
    if (held) {
      size_t missing = kStripe - held;
      std::memcpy(stripe + held, at, missing);
      addStripe(stripe);
      at += missing;
      size -= missing;
    }
    for (; size >= kStripe; at += kStripe, size -= kStripe)
      addStripe(at);
    std::memcpy(stripe, at, size);
    held = size;
  }

  uint64_t digest() const {
    uint64_t hash = kPrime5;
    if (total >= kStripe) {
      hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) +
             rotate(lanes[3], 18);
      for (uint64_t lane : lanes)
        hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
    }
    hash += total;
    const uint8_t *at = stripe, *end = stripe + held;
    for (; end - at >= 8; at += 8)
      hash = rotate(hash ^ round(0, read<uint64_t>(at)), 27) * kPrime1 + kPrime4;
    if (end - at >= 4) {
      hash = rotate(hash ^ read<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
      at += 4;
    }
    for (; at < end; ++at)
      hash = rotate(hash ^ *at * kPrime5, 11) * kPrime1;
    hash = (hash ^ hash >> 33) * kPrime2;
    hash = (hash ^ hash >> 29) * kPrime3;
    return hash ^ hash >> 32;
  }

private:
  static constexpr size_t kStripe = 32;
  static constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                            kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                            kPrime5 = 0x27D4EB2F165667C5;

  static uint64_t rotate(uint64_t value, int by) {
    return value << by | value >> (64 - by);
  }
  static uint64_t round(uint64_t lane, uint64_t word) {
    return rotate(lane + word * kPrime2, 31) * kPrime1;
  }
  template <typename Word>
  static uint64_t read(const uint8_t *at) {
    Word word;
    std::memcpy(&word, at, sizeof(word));
    return word;
  }
  void addStripe(const uint8_t *at) {
    for (int i = 0; i < 4; ++i)
      lanes[i] = round(lanes[i], read<uint64_t>(at + 8 * i));
  }

  uint64_t lanes[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  uint64_t total = 0;
  uint8_t stripe[kStripe];
  size_t held = 0;
};

} // namespace mpt::rt

#endif // MPT_LIB_PROGRAMABI_XXHASH64_H
