//===- Philox.h - Counter-based random bits ---------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011), with the word layout that every random number of MPT uses:
/// dropout masks, initial values and shuffles. A plain header without
/// dependences, so that the runtime and the compiler share it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_PHILOX_H
#define MPT_SUPPORT_PHILOX_H

#include <array>
#include <cmath>
#include <cstdint>

namespace mpt {

/// Ten rounds of Philox4x32 on `counter` under `key`.
inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = static_cast<uint64_t>(0xD2511F53u) * counter[0];
    uint64_t product1 = static_cast<uint64_t>(0xCD9E8D57u) * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9u; // Golden ratio.
    key[1] += 0xBB67AE85u; // sqrt(3) - 1.
  }
  return counter;
}

/// Streams of the host; those of a program's ops are below 2^31.
constexpr uint32_t kInitializerStream = 0x80000000u;
constexpr uint32_t kShuffleStream = 0x80000001u;

/// Four random words of `stream`: block `block` of draw `attempt`. The key is
/// (low half of seed, stream xor high half of seed); the counter is block, then
/// attempt, low words first. Element i of a tensor uses word i mod 4 of block
/// i / 4.
inline std::array<uint32_t, 4> philoxBlock(uint64_t seed, uint32_t stream,
                                           uint64_t attempt, uint64_t block) {
  return philox4x32(
      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
       static_cast<uint32_t>(attempt), static_cast<uint32_t>(attempt >> 32)},
      {static_cast<uint32_t>(seed), stream ^ static_cast<uint32_t>(seed >> 32)});
}

/// What `philoxBlock` gives for `lanes` blocks from `block` on, side by side as compilers
/// like it: word w of block `block` + i is words[w][i].
template <int lanes>
inline __attribute__((always_inline)) void philoxBlocks(uint64_t seed, uint32_t stream,
                                                        uint64_t attempt, uint64_t block,
                                                        uint32_t (&words)[4][lanes]) {
  for (int lane = 0; lane < lanes; ++lane) {
    words[0][lane] = static_cast<uint32_t>(block + lane);
    words[1][lane] = static_cast<uint32_t>((block + lane) >> 32);
    words[2][lane] = static_cast<uint32_t>(attempt);
    words[3][lane] = static_cast<uint32_t>(attempt >> 32);
  }
  uint32_t key[2] = {static_cast<uint32_t>(seed),
                     stream ^ static_cast<uint32_t>(seed >> 32)};
  // Ten times the code would be no faster.
#if defined(__clang__)
#pragma clang loop unroll(disable)
#endif
  for (int round = 0; round < 10; ++round) {
    for (int lane = 0; lane < lanes; ++lane) {
      uint64_t product0 = static_cast<uint64_t>(0xD2511F53u) * words[0][lane];
      uint64_t product1 = static_cast<uint64_t>(0xCD9E8D57u) * words[2][lane];
      uint32_t word1 = words[1][lane], word3 = words[3][lane];
      words[0][lane] = static_cast<uint32_t>(product1 >> 32) ^ word1 ^ key[0];
      words[1][lane] = static_cast<uint32_t>(product1);
      words[2][lane] = static_cast<uint32_t>(product0 >> 32) ^ word3 ^ key[1];
      words[3][lane] = static_cast<uint32_t>(product0);
    }
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
}

/// 16 random bits for each of 8 `lanes` elements from block `block` on, eight a block:
/// element i has half i mod 2 (the lower first) of word (i mod 8) / 2 of block i / 8.
template <int lanes>
inline __attribute__((always_inline)) void philoxHalves(uint64_t seed, uint32_t stream,
                                                        uint64_t attempt, uint64_t block,
                                                        uint16_t *halves) {
  uint32_t words[4][lanes];
  philoxBlocks(seed, stream, attempt, block, words);
  for (int lane = 0; lane < lanes; ++lane)
    for (int word = 0; word < 4; ++word) {
      halves[lane * 8 + word * 2] = static_cast<uint16_t>(words[word][lane]);
      halves[lane * 8 + word * 2 + 1] = static_cast<uint16_t>(words[word][lane] >> 16);
    }
}

/// An element is kept iff its random word is at least this: floor(rate * 2^32),
/// for 0 <= rate < 1.
inline uint32_t dropoutThreshold(double rate) {
  return static_cast<uint32_t>(std::floor(rate * 4294967296.0));
}

} // namespace mpt

#endif // MPT_SUPPORT_PHILOX_H
