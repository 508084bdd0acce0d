//===- Random.cpp - rng_bit_generator ------------------------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random bits as XLA makes them: Threefry2x32 and Philox4x32-10 (Salmon et al. 2011),
/// with XLA's order of the words in the result. `DEFAULT` is Philox, as on XLA's CPUs and
/// GPUs. JAX's own keys (`jax.random`) are Threefry spelled in ops of bits, and come in
/// as such.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/Support/MathExtras.h"
#include <array>

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

namespace {
/// The new state, without the key, and the bits.
struct Output {
  SmallVector<Value, 2> state;
  Value bits;
};
} // namespace

/// The halves of 64 bits, each as an i64 from 0 to 2^32 - 1.
static Value lowWord(Lowering &l, Value x) { return l.bitAnd(x, 0xFFFFFFFF); }
static Value highWord(Lowering &l, Value x) { return l.shiftRight(x, 32); }

static Value joinWords(Lowering &l, Value low, Value high) {
  return l.binary<OrOp>(low, l.shiftLeft(high, 32));
}

static Value addNumber(Lowering &l, Value x, int64_t number) {
  return l.add(x, l.constants({number}, getElement(x), {}));
}

//===----------------------------------------------------------------------===//
// Threefry2x32
//===----------------------------------------------------------------------===//

/// Words of 32 bits; the key's are scalars.
static std::array<Value, 2> threefry(Lowering &l, std::array<Value, 2> x,
                                     std::array<Value, 2> key) {
  static constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Value parity = l.binary<XorOp>(l.binary<XorOp>(key[0], key[1]),
                                 l.constants({0x1BD11BDA}, l.builder.getI32Type(), {}));
  Value keys[3] = {key[0], key[1], parity};
  x = {l.add(x[0], keys[0]), l.add(x[1], keys[1])};
  for (int group = 0; group < 5; ++group) {
    for (int distance : rotations[group % 2]) {
      x[0] = l.add(x[0], x[1]);
      Value turned =
          l.binary<OrOp>(l.shiftLeft(x[1], distance), l.shiftRight(x[1], 32 - distance));
      x[1] = l.binary<XorOp>(x[0], turned);
    }
    x[0] = l.add(x[0], keys[(group + 1) % 3]);
    x[1] = addNumber(l, l.add(x[1], keys[(group + 2) % 3]), group + 1);
  }
  return x;
}

/// Threefry of the numbers from `counter` on, in the shape `shape`.
static std::array<Value, 2> drawThreefry(Lowering &l, Value key, Value counter,
                                         ArrayRef<int64_t> shape) {
  Type i32 = l.builder.getI32Type(), i64 = l.builder.getI64Type();
  int64_t count = ShapedType::getNumElements(shape);
  Value number = l.add(l.reshape(l.iota({count}, 0, i64), shape), counter);
  auto words = [&](Value x) -> std::array<Value, 2> {
    return {l.cast(x, i32), l.cast(highWord(l, x), i32)};
  };
  return threefry(l, words(number), words(key));
}

/// The dimension along which XLA draws pairs of numbers: the first even one, else the
/// largest.
static int64_t getPairDimension(ArrayRef<int64_t> shape) {
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size % 2 == 0)
      return dim;
  return llvm::max_element(shape) - shape.begin();
}

static Output generateThreefry(Lowering &l, Value key, Value counter,
                               RankedTensorType type) {
  Type element = type.getElementType(), i64 = l.builder.getI64Type();
  Shape shape(type.getShape());
  if (element.isInteger(64)) {
    std::array<Value, 2> words = drawThreefry(l, key, counter, shape);
    Value bits = joinWords(l, l.zeroExtend(words[0], i64), l.zeroExtend(words[1], i64));
    return {{addNumber(l, counter, type.getNumElements())}, bits};
  }
  bool scalar = shape.empty();
  if (scalar)
    shape = {1};
  int64_t dim = getPairDimension(shape);
  Shape half(shape), even(shape);
  half[dim] = llvm::divideCeil(shape[dim], 2);
  even[dim] = 2 * half[dim];
  Shape column(half);
  column.insert(column.begin() + dim + 1, 1);
  std::array<Value, 2> words = drawThreefry(l, key, counter, half);
  Value pairs = l.reshape(
      l.concat({l.reshape(words[0], column), l.reshape(words[1], column)}, dim + 1),
      even);
  Value bits = l.slice(pairs, dim, 0, shape[dim]);
  return {{addNumber(l, counter, ShapedType::getNumElements(half))},
          l.cast(l.reshape(bits, type.getShape()), element)};
}

//===----------------------------------------------------------------------===//
// Philox4x32-10
//===----------------------------------------------------------------------===//

/// Words are i64 from 0 to 2^32 - 1, so that a product of two has all its bits.
static std::array<Value, 4> philox(Lowering &l, std::array<Value, 4> words, Value key) {
  Type i64 = l.builder.getI64Type();
  auto times = [&](Value x, int64_t factor) {
    return l.mul(x, l.constants({factor}, i64, {}));
  };
  auto mix = [&](Value product, Value word, Value by) {
    return l.binary<XorOp>(l.binary<XorOp>(highWord(l, product), word), by);
  };
  std::array<Value, 2> keys = {lowWord(l, key), highWord(l, key)};
  for (int round = 0; round < 10; ++round) {
    Value first = times(words[0], 0xD2511F53), second = times(words[2], 0xCD9E8D57);
    words = {mix(second, words[1], keys[0]), lowWord(l, second),
             mix(first, words[3], keys[1]), lowWord(l, first)};
    keys = {lowWord(l, addNumber(l, keys[0], 0x9E3779B9)),
            lowWord(l, addNumber(l, keys[1], 0xBB67AE85))};
  }
  return words;
}

/// `low` and `high` are the counter of 128 bits.
static Output generatePhilox(Lowering &l, Value key, Value low, Value high,
                             RankedTensorType type) {
  Type element = type.getElementType(), i64 = l.builder.getI64Type();
  bool wide = element.isInteger(64);
  int64_t count = type.getNumElements(), perBlock = wide ? 2 : 4;
  int64_t blocks = llvm::divideCeil(count, perBlock);
  auto advance = [&](Value by) -> std::pair<Value, Value> {
    Value next = l.add(by, low);
    Value carry = l.compareUnsigned(ComparePredicate::LT, next, low);
    return {next, l.add(l.cast(carry, i64), high)};
  };
  auto [lows, highs] = advance(l.iota({blocks}, 0, i64));
  std::array<Value, 4> words = philox(
      l, {lowWord(l, lows), highWord(l, lows), lowWord(l, highs), highWord(l, highs)},
      key);
  SmallVector<Value> columns;
  if (wide)
    columns = {joinWords(l, words[0], words[1]), joinWords(l, words[2], words[3])};
  else
    for (Value word : words)
      columns.push_back(l.cast(word, element));
  for (Value &column : columns)
    column = l.reshape(column, {blocks, 1});
  Value all = l.reshape(l.concat(columns, 1), {blocks * perBlock});
  auto [nextLow, nextHigh] = advance(l.constants({blocks}, i64, {}));
  return {{nextLow, nextHigh}, l.reshape(l.slice(all, 0, 0, count), type.getShape())};
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

static void rngBitGenerator(Lowering &l) {
  if (!l.require(l.size() == 1 && l.op->getNumResults() == 2,
                 "expected a state, and the new state and bits as results"))
    return;
  Value state = l.get(0);
  RankedTensorType type = l.resultType(1);
  if (!l.refusal.empty())
    return;
  StringRef algorithm = getText(l.attribute("rng_algorithm")).rsplit(' ').second;
  bool isThreefry = algorithm == "THREE_FRY";
  if (!l.require(isThreefry || algorithm == "PHILOX" || algorithm == "DEFAULT",
                 "attribute rng_algorithm: expected DEFAULT, THREE_FRY or PHILOX"))
    return;
  int64_t size = getRank(state) == 1 ? getShape(state)[0] : 0;
  if (!l.require(getElement(state).isInteger(64) &&
                     (size == 2 || (size == 3 && !isThreefry)),
                 "expected a state of 2 numbers of 64 bits, or 3 for PHILOX") ||
      !l.require(isa<IntegerType>(type.getElementType()) &&
                     !type.getElementType().isInteger(1),
                 "random bits that are not integers"))
    return;
  auto part = [&](int64_t i) { return l.reshape(l.slice(state, 0, i, 1), {}); };
  Value key = part(0);
  if (type.getNumElements() == 0) {
    l.set(state, 0);
    return l.set(l.constant(0, type.getElementType(), type.getShape()), 1);
  }
  Output output = isThreefry
                      ? generateThreefry(l, key, part(1), type)
                      : generatePhilox(l, key, part(1), part(size == 3 ? 2 : 0), type);
  SmallVector<Value> next{l.reshape(key, {1})};
  for (Value word : ArrayRef(output.state).take_front(size - 1))
    next.push_back(l.reshape(word, {1}));
  l.set(l.concat(next, 0), 0);
  l.set(output.bits, 1);
}

void mpt::stablehlo::populateRandom(Table &t) {
  t.add({"stablehlo.rng_bit_generator"}, rngBitGenerator);
}
