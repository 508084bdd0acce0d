//===- GemmEpilogueEmitter.cpp - Kernels that replace an epilogue -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmEpilogueEmitter.h"
#include "Im2ColEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

Value mpt::detail::finishOutput(GPUFunctionBuilder &code, rt::Epilogue epilogue,
                                Value sum, Value bias) {
  OpBuilder &b = code.b;
  Location loc = code.loc;
  auto number = [&](double value) { return code.constant(sum.getType(), value); };
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, loc, x, y);
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, loc, x, y);
  };
  if (bias)
    sum = add(sum, bias);
  if (epilogue == rt::Epilogue::Relu)
    return arith::MaximumFOp::create(b, loc, sum, number(0));
  if (epilogue != rt::Epilogue::Gelu)
    return sum;
  Value cube = mul(mul(mul(number(0.044715), sum), sum), sum);
  Value inner = mul(number(0.7978845608028654), add(sum, cube));
  Value tanh = math::TanhOp::create(b, loc, inner);
  return mul(mul(number(0.5), sum), add(number(1), tanh));
}

void mpt::detail::emitEpilogue(GPUFunctionBuilder &code, int64_t rows, int64_t width,
                               rt::Epilogue epilogue, Type biasType, Type type) {
  int64_t lanes = convLanes(width, 4);
  Index thread = code.globalThread();
  code.ifThen(code.isLess(thread, Index(rows * width / lanes)), [&] {
    Value sum =
        code.loadNumber(code.parameter(biasType ? 1 : 0), type, thread * lanes, lanes);
    Value bias = biasType ? code.loadNumber(code.parameter(0), biasType,
                                            thread % (width / lanes) * lanes, lanes)
                          : Value();
    code.storeNumber(finishOutput(code, epilogue, sum, bias),
                     code.parameter(biasType ? 1 : 0), type, thread * lanes, lanes);
  });
}

/// Calls `body` for each of the columns of this thread's byte that exist, and returns
/// whether `body` did so, as bits.
static Value forBits(GPUFunctionBuilder &code, int64_t width, Index column,
                     llvm::function_ref<Value(int64_t, Index)> body) {
  OpBuilder &b = code.b;
  Location loc = code.loc;
  Type i8 = b.getI8Type();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(i8, value));
  };
  Value bits = number(0);
  for (int64_t i = 0; i < 8; ++i) {
    Index at = column + i;
    // Beyond the row the last column is looked at again, and nothing recorded.
    Value exists = code.isLess(at, Index(width));
    Value isSet = body(i, code.select(exists, at, Index(width - 1)));
    isSet = arith::AndIOp::create(b, loc, isSet, exists);
    Value bit = arith::SelectOp::create(b, loc, isSet, number(int8_t(1 << i)), number(0));
    bits = arith::OrIOp::create(b, loc, bits, bit);
  }
  return bits;
}

/// Bytes of a row of bits.
static int64_t bytesOfBits(int64_t width) { return (width + 127) / 128 * 16; }

void mpt::detail::emitReluSaving(GPUFunctionBuilder &code, int64_t rows, int64_t width,
                                 Type biasType, Type type) {
  OpBuilder &b = code.b;
  unsigned y = biasType ? 1 : 0;
  int64_t bytes = (width + 7) / 8;
  Index thread = code.globalThread();
  Type i8 = b.getI8Type();
  code.ifThen(code.isLess(thread, Index(rows * bytes)), [&] {
    Index row = thread / bytes, byte = thread % bytes;
    SmallVector<std::pair<Value, Index>> results;
    Value bits = forBits(code, width, byte * 8, [&](int64_t, Index column) {
      Index at = row * width + column;
      Value sum = code.loadNumber(code.parameter(y), type, at);
      if (biasType)
        sum = arith::AddFOp::create(b, code.loc, sum,
                                    code.loadNumber(code.parameter(0), biasType, column));
      results.push_back({finishOutput(code, rt::Epilogue::Relu, sum, Value()), column});
      return arith::CmpFOp::create(b, code.loc, arith::CmpFPredicate::OGT, sum,
                                   code.constant(sum.getType(), 0))
          .getResult();
    });
    // All are read before any is written: the last column may be there twice.
    for (auto &[result, column] : results)
      code.storeNumber(result, code.parameter(y), type, row * width + column);
    code.store(bits, code.parameter(y + 1), i8, row * bytesOfBits(width) + byte);
  });
}

void mpt::detail::emitReluGrad(GPUFunctionBuilder &code, int64_t rows, int64_t width,
                               Type type) {
  OpBuilder &b = code.b;
  int64_t bytes = (width + 7) / 8;
  Index thread = code.globalThread();
  Type i8 = b.getI8Type();
  code.ifThen(code.isLess(thread, Index(rows * bytes)), [&] {
    Index row = thread / bytes, byte = thread % bytes;
    Value bits = code.load(code.parameter(0), i8, row * bytesOfBits(width) + byte);
    for (int64_t i = 0; i < 8; ++i)
      code.ifThen(code.isLess(byte * 8 + i, Index(width)), [&] {
        Value mask =
            arith::ConstantOp::create(b, code.loc, b.getIntegerAttr(i8, int8_t(1 << i)));
        Value none = arith::ConstantOp::create(b, code.loc, b.getIntegerAttr(i8, 0));
        Value isSet =
            arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::ne,
                                  arith::AndIOp::create(b, code.loc, bits, mask), none);
        Index at = row * width + byte * 8 + i;
        Value dy = code.loadNumber(code.parameter(1), type, at);
        dy = arith::SelectOp::create(b, code.loc, isSet, dy,
                                     code.constant(dy.getType(), 0));
        code.storeNumber(dy, code.parameter(1), type, at);
      });
  });
}

void mpt::detail::emitGeluSaving(GPUFunctionBuilder &code, int64_t rows, int64_t width,
                                 Type biasType, Type type) {
  unsigned y = biasType ? 1 : 0;
  int64_t lanes = convLanes(width, 4);
  Index thread = code.globalThread();
  code.ifThen(code.isLess(thread, Index(rows * width / lanes)), [&] {
    Value sum = code.loadNumber(code.parameter(y), type, thread * lanes, lanes);
    if (biasType)
      sum =
          arith::AddFOp::create(code.b, code.loc, sum,
                                code.loadNumber(code.parameter(0), biasType,
                                                thread % (width / lanes) * lanes, lanes));
    code.storeNumber(sum, code.parameter(y + 1), type, thread * lanes, lanes);
    code.storeNumber(finishOutput(code, rt::Epilogue::Gelu, sum, Value()),
                     code.parameter(y), type, thread * lanes, lanes);
  });
}

void mpt::detail::emitGeluGrad(GPUFunctionBuilder &code, int64_t rows, int64_t width,
                               Type type) {
  OpBuilder &b = code.b;
  Location loc = code.loc;
  int64_t lanes = convLanes(width, 4);
  Index thread = code.globalThread();
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, loc, x, y);
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, loc, x, y);
  };
  code.ifThen(code.isLess(thread, Index(rows * width / lanes)), [&] {
    Value x = code.loadNumber(code.parameter(0), type, thread * lanes, lanes);
    Value dy = code.loadNumber(code.parameter(1), type, thread * lanes, lanes);
    auto number = [&](double value) { return code.constant(x.getType(), value); };
    // c = sqrt(2 / pi): t = tanh(c (x + 0.044715 x^3)),
    // gelu' = (1 + t) / 2 + x / 2 (1 - t^2) c (1 + 3 0.044715 x^2).
    Value square = mul(x, x);
    Value inner =
        mul(number(0.7978845608028654), add(x, mul(mul(number(0.044715), square), x)));
    Value t = math::TanhOp::create(b, loc, inner);
    Value slope = mul(number(0.7978845608028654),
                      add(number(1), mul(number(3 * 0.044715), square)));
    Value fall = arith::SubFOp::create(b, loc, number(1), mul(t, t));
    Value grad = add(mul(number(0.5), add(number(1), t)),
                     mul(mul(mul(number(0.5), x), fall), slope));
    code.storeNumber(mul(dy, grad), code.parameter(1), type, thread * lanes, lanes);
  });
}
