//===- Random.cpp - Counter-based random bits in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Philox4x32-10 with the word layout of mpt/Support/Philox.h. Words of 32 bits are i64
/// from 0 to 2^32 - 1, so that a product of two has all its bits.
///
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mpt/Support/Philox.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

static Value number(Emitter &e, Value like, int64_t value) {
  return e.splatInteger(getElement(like), getShape(like), value);
}

static Value lowWord(Emitter &e, Value x) {
  return e.binary("and", x, number(e, x, 0xFFFFFFFF));
}

static Value highWord(Emitter &e, Value x) {
  return e.binary("shift_right_logical", x, number(e, x, 32));
}

/// Four words for each of `count` blocks, of draw `attempt` of `stream`.
static SmallVector<Value> drawBlocks(Emitter &e, Value seed, Value attempt,
                                     int64_t stream, int64_t count) {
  Type i64 = e.builder.getI64Type();
  Value block = e.iota(i64, count, 0);
  auto spread = [&](Value scalar) { return e.broadcast(scalar, count); };
  SmallVector<Value> counter = {lowWord(e, block), highWord(e, block),
                                spread(lowWord(e, attempt)),
                                spread(highWord(e, attempt))};
  int64_t streamWord = static_cast<uint32_t>(stream);
  Value key[2] = {lowWord(e, seed),
                  e.binary("xor", highWord(e, seed), number(e, seed, streamWord))};
  for (int round = 0; round < 10; ++round) {
    Value product0 = e.binary("multiply", counter[0], number(e, block, 0xD2511F53));
    Value product1 = e.binary("multiply", counter[2], number(e, block, 0xCD9E8D57));
    auto mix = [&](Value product, Value word, Value by) {
      return e.binary("xor", e.binary("xor", highWord(e, product), word), spread(by));
    };
    counter = {mix(product1, counter[1], key[0]), lowWord(e, product1),
               mix(product0, counter[3], key[1]), lowWord(e, product0)};
    key[0] = lowWord(e, e.binary("add", key[0], number(e, seed, 0x9E3779B9)));
    key[1] = lowWord(e, e.binary("add", key[1], number(e, seed, 0xBB67AE85)));
  }
  return counter;
}

/// The first elements of [blocks], [blocks], .., read element by element, as `shape`.
static Value zipWords(Emitter &e, ArrayRef<Value> words, ArrayRef<int64_t> shape) {
  int64_t blocks = getShape(words.front()).front(), perBlock = words.size();
  SmallVector<Value> columns;
  for (Value word : words)
    columns.push_back(e.reshape(word, {blocks, 1}));
  Value all = e.reshape(e.concatenate(columns, 1), blocks * perBlock);
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return e.reshape(e.slice(all, {0}, count, {1}), shape);
}

static int64_t numBlocks(RankedTensorType type, int64_t perBlock) {
  return (type.getNumElements() + perBlock - 1) / perBlock;
}

static void convertRandomMask(RandomMaskOp op, Emitter &e) {
  auto type = e.resultType();
  SmallVector<Value> words = drawBlocks(e, e.get(op.getSeed()), e.get(op.getAttempt()),
                                        op.getStream(), numBlocks(type, 4));
  Value bits = zipWords(e, words, type.getShape());
  int64_t threshold = dropoutThreshold(op.getRate().convertToDouble());
  e.set(e.compare("GE", bits, number(e, bits, threshold)));
}

static void convertRandomBits(RandomBitsOp op, Emitter &e) {
  auto type = e.resultType();
  SmallVector<Value> halves;
  for (Value word : drawBlocks(e, e.get(op.getSeed()), e.get(op.getAttempt()),
                               op.getStream(), numBlocks(type, 8))) {
    halves.push_back(e.binary("and", word, number(e, word, 0xFFFF)));
    halves.push_back(e.binary("shift_right_logical", word, number(e, word, 16)));
  }
  e.set(zipWords(e, halves, type.getShape()));
}

void mpt::tostablehlo::populateRandom(Table &table) {
  table.add(convertRandomMask);
  table.add(convertRandomBits);
}
