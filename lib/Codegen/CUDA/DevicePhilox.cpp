//===- DevicePhilox.cpp - Random words in device functions ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePhilox.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

DevicePhilox::DevicePhilox(GPUFunctionBuilder &code, Value seed, Value attempt,
                           uint32_t stream)
    : code(code) {
  key[0] = low(seed);
  key[1] = exclusiveOr(high(seed), code.get32(stream));
  draw[0] = low(attempt);
  draw[1] = high(attempt);
}

SmallVector<Value, 4> DevicePhilox::block(Value number) {
  Value counter[4] = {low(number), high(number), draw[0], draw[1]};
  Value k[2] = {key[0], key[1]};
  for (int round = 0; round < 10; ++round) {
    auto [high0, low0] = multiply(0xD2511F53u, counter[0]);
    auto [high1, low1] = multiply(0xCD9E8D57u, counter[2]);
    counter[0] = exclusiveOr(exclusiveOr(high1, counter[1]), k[0]);
    counter[1] = low1;
    counter[2] = exclusiveOr(exclusiveOr(high0, counter[3]), k[1]);
    counter[3] = low0;
    k[0] = arith::AddIOp::create(code.b, code.loc, k[0], code.get32(0x9E3779B9u));
    k[1] = arith::AddIOp::create(code.b, code.loc, k[1], code.get32(0xBB67AE85u));
  }
  return SmallVector<Value, 4>(counter, counter + 4);
}

Value DevicePhilox::low(Value wide) {
  return arith::TruncIOp::create(code.b, code.loc, code.b.getI32Type(), wide);
}

Value DevicePhilox::high(Value wide) {
  return low(arith::ShRUIOp::create(code.b, code.loc, wide, code.get64(32)));
}

Value DevicePhilox::exclusiveOr(Value x, Value y) {
  return arith::XOrIOp::create(code.b, code.loc, x, y);
}

std::pair<Value, Value> DevicePhilox::multiply(uint32_t factor, Value word) {
  Value wide = arith::ExtUIOp::create(code.b, code.loc, code.b.getI64Type(), word);
  Value product = arith::MulIOp::create(code.b, code.loc, wide, code.get64(factor));
  Value upper = high(product);
  return {upper, low(product)};
}
