//===- Im2ColEmitter.cpp - Device functions around matmuls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Im2ColEmitter.h"
#include "GemmEpilogueEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Threads of a block.
static constexpr int64_t kThreads = kConvThreads;

int64_t mpt::detail::convLanes(int64_t channels, int64_t width) {
  int64_t lanes = std::min<int64_t>(8, 16 / width);
  while (channels % lanes != 0)
    lanes /= 2;
  return lanes;
}

namespace {
/// The row (or column) of the input that a position of the output sees through
/// a tap of the filter, and whether there is one.
struct Tap {
  Index place;
  Value isInside;
};
} // namespace

static Tap tapOf(GPUFunctionBuilder &code, Index out, Index tap, int64_t stride,
                 int64_t pad, int64_t dilation, int64_t size) {
  // Shifted by the padding, so that it is never negative.
  Index shifted = out * stride + tap * dilation;
  Value isInside =
      arith::AndIOp::create(code.b, code.loc, code.isLess(Index(pad - 1), shifted),
                            code.isLess(shifted, Index(size + pad)));
  return {shifted - Index(pad), isInside};
}

/// The element at a place that may not be there: zero then. Where it is not,
/// element 0 is read.
static Value loadInside(GPUFunctionBuilder &code, Value base, Type element,
                        Value isInside, Index at, int64_t lanes) {
  Value bits = code.load(base, element, code.select(isInside, at, Index(0)), lanes);
  Value zero =
      arith::ConstantOp::create(code.b, code.loc, code.b.getZeroAttr(bits.getType()));
  return arith::SelectOp::create(code.b, code.loc, isInside, bits, zero);
}

void mpt::detail::emitColumns(GPUFunctionBuilder &code, const rt::CudaConv &c,
                              Type element) {
  Value x = code.parameter(0), columns = code.parameter(2);
  Index start = code.fromInteger(code.load(code.parameter(1), code.b.getI64Type(), 0));
  int64_t lanes = convLanes(c.channels, bytesOf(element));
  int64_t frames = c.depth() / lanes, parts = c.channels / lanes;
  Index thread = code.globalThread();
  Index row = thread / frames, frame = thread % frames;
  Index position = start + row;
  Value exists =
      arith::AndIOp::create(code.b, code.loc, code.isLess(row, Index(c.chunkRows)),
                            code.isLess(position, Index(c.rows())));
  code.ifThen(exists, [&] {
    Index tap = frame / parts, channel = frame % parts * lanes;
    Index image = position / (c.outHeight * c.outWidth);
    Index inImage = position % (c.outHeight * c.outWidth);
    Tap h = tapOf(code, inImage / c.outWidth, tap / c.filterWidth, c.strideH, c.padH,
                  c.dilationH, c.height);
    Tap w = tapOf(code, inImage % c.outWidth, tap % c.filterWidth, c.strideW, c.padW,
                  c.dilationW, c.width);
    Value isInside = arith::AndIOp::create(code.b, code.loc, h.isInside, w.isInside);
    Index at = ((image * c.height + h.place) * c.width + w.place) * c.channels + channel;
    Value bits = loadInside(code, x, element, isInside, at, lanes);
    code.store(bits, columns, element, row * c.depth() + frame * lanes, lanes);
  });
}

void mpt::detail::emitOverlap(GPUFunctionBuilder &code, const rt::CudaConv &c,
                              Type element) {
  Value columns = code.parameter(0), dx = code.parameter(2);
  Type f32 = code.b.getF32Type();
  Index start = code.fromInteger(code.load(code.parameter(1), code.b.getI64Type(), 0));
  int64_t lanes = convLanes(c.channels, 4);
  int64_t image = c.outHeight * c.outWidth, parts = c.channels / lanes;
  int64_t chunkImages = c.chunkRows / image;
  Index thread = code.globalThread();
  Index place = thread / parts, channel = thread % parts * lanes;
  Index firstImage = start / image;
  Index inChunk = place / (c.height * c.width), inImage = place % (c.height * c.width);
  Value exists =
      arith::AndIOp::create(code.b, code.loc, code.isLess(inChunk, Index(chunkImages)),
                            code.isLess(firstImage + inChunk, Index(c.images)));
  code.ifThen(exists, [&] {
    Value zero = code.constant(VectorType::get({lanes}, f32), 0);
    auto sums = code.loop(0, c.filterHeight, 1, zero, [&](Index kh, ValueRange outer) {
      return code.loop(0, c.filterWidth, 1, outer, [&](Index kw, ValueRange carried) {
        // out * stride = place + pad - tap * dilation, shifted to stay
        // positive.
        auto find = [&](Index at, Index tap, int64_t taps, int64_t stride, int64_t pad,
                        int64_t dilation, int64_t size) {
          int64_t shift = llvm::alignTo((taps - 1) * dilation, stride);
          Index shifted = at + Index(pad + shift) - tap * dilation;
          Index out = shifted / stride;
          Value fits = code.isEqual(shifted % stride, 0);
          if (stride == 1)
            fits = arith::ConstantOp::create(code.b, code.loc, code.b.getBoolAttr(true));
          fits = arith::AndIOp::create(code.b, code.loc, fits,
                                       code.isLess(Index(shift / stride - 1), out));
          fits = arith::AndIOp::create(code.b, code.loc, fits,
                                       code.isLess(out, Index(size + shift / stride)));
          return Tap{out - Index(shift / stride), fits};
        };
        Tap h = find(inImage / c.width, kh, c.filterHeight, c.strideH, c.padH,
                     c.dilationH, c.outHeight);
        Tap w = find(inImage % c.width, kw, c.filterWidth, c.strideW, c.padW, c.dilationW,
                     c.outWidth);
        Value fits = arith::AndIOp::create(code.b, code.loc, h.isInside, w.isInside);
        Index row = (inChunk * c.outHeight + h.place) * c.outWidth + w.place;
        Index at = row * c.depth() + (kh * c.filterWidth + kw) * c.channels + channel;
        Value part = loadInside(code, columns, f32, fits, at, lanes);
        Value sum = arith::AddFOp::create(code.b, code.loc, carried.front(), part);
        return SmallVector<Value>{sum};
      });
    });
    Index at = (firstImage * (c.height * c.width) + place) * c.channels + channel;
    code.storeNumber(sums.front(), dx, element, at, lanes);
  });
}

/// Of a block of emitTransposed.
static constexpr int64_t kTile = 32;

int64_t mpt::detail::transposedBlocks(int64_t rows, int64_t columns) {
  return ((rows + kTile - 1) / kTile) * ((columns + kTile - 1) / kTile);
}

void mpt::detail::emitTransposed(GPUFunctionBuilder &code, int64_t rows, int64_t columns,
                                 Type from, Type to) {
  // A column more, so that a column's elements lie in different banks.
  constexpr int64_t pitch = kTile + 1, step = kConvThreads / kTile;
  Value tile = code.shared(kTile * pitch * bytesOf(from));
  int64_t across = (columns + kTile - 1) / kTile;
  Index top = code.blockX() / across * kTile, left = code.blockX() % across * kTile;
  Index lane = code.thread() % kTile, line = code.thread() / kTile;
  auto both = [&](Value x, Value y) -> Value {
    return arith::AndIOp::create(code.b, code.loc, x, y);
  };
  for (int64_t i = 0; i < kTile; i += step) {
    Index row = top + line + i, column = left + lane;
    code.ifThen(both(code.isLess(row, rows), code.isLess(column, columns)), [&] {
      code.store(code.load(code.parameter(0), from, row * columns + column), tile, from,
                 (line + i) * pitch + lane);
    });
  }
  code.barrier();
  for (int64_t i = 0; i < kTile; i += step) {
    Index row = left + line + i, column = top + lane;
    code.ifThen(both(code.isLess(row, columns), code.isLess(column, rows)), [&] {
      Index at = lane * pitch + line + i, place = row * rows + column;
      if (from == to)
        code.store(code.load(tile, from, at), code.parameter(1), to, place);
      else
        code.storeNumber(code.loadNumber(tile, from, at), code.parameter(1), to, place);
    });
  }
}

void mpt::detail::emitRounding(GPUFunctionBuilder &code, int64_t count, Type element) {
  Index thread = code.globalThread();
  code.ifThen(code.isLess(thread, Index(count)), [&] {
    Value number = code.loadNumber(code.parameter(0), code.b.getF32Type(), thread);
    code.storeNumber(number, code.parameter(1), element, thread);
  });
}

void mpt::detail::emitGroupedOutput(GPUFunctionBuilder &code, const rt::CudaConv &c,
                                    Type xType, Type filterType, Type biasType,
                                    Type yType) {
  Index thread = code.globalThread();
  int64_t depth = c.channels / c.groups, width = c.outChannels / c.groups;
  Type f32 = code.b.getF32Type();
  code.ifThen(code.isLess(thread, Index(c.rows() * c.outChannels)), [&] {
    Index channel = thread % c.outChannels, position = thread / c.outChannels;
    Index image = position / (c.outHeight * c.outWidth);
    Index inImage = position % (c.outHeight * c.outWidth);
    Index first = channel / width * depth;
    auto sums = code.loop(
        0, c.filterHeight * c.filterWidth, 1, code.constant(f32, 0),
        [&](Index tap, ValueRange outer) {
          Tap h = tapOf(code, inImage / c.outWidth, tap / c.filterWidth, c.strideH,
                        c.padH, c.dilationH, c.height);
          Tap w = tapOf(code, inImage % c.outWidth, tap % c.filterWidth, c.strideW,
                        c.padW, c.dilationW, c.width);
          Value isInside =
              arith::AndIOp::create(code.b, code.loc, h.isInside, w.isInside);
          Index at =
              ((image * c.height + h.place) * c.width + w.place) * c.channels + first;
          at = code.select(isInside, at, Index(0));
          Value none = code.constant(f32, 0);
          return code.loop(0, depth, 1, outer, [&](Index i, ValueRange carried) {
            Value x = code.loadNumber(code.parameter(0), xType, at + i);
            Value f = code.loadNumber(code.parameter(1), filterType,
                                      (tap * depth + i) * c.outChannels + channel);
            x = arith::SelectOp::create(code.b, code.loc, isInside, x, none);
            Value product = arith::MulFOp::create(code.b, code.loc, x, f);
            return SmallVector<Value>{
                arith::AddFOp::create(code.b, code.loc, carried.front(), product)};
          });
        });
    Value bias =
        c.hasBias ? code.loadNumber(code.parameter(2), biasType, channel) : Value();
    code.storeNumber(finishOutput(code, c.epilogue, sums.front(), bias),
                     code.parameter(c.hasBias ? 3 : 2), yType, thread);
  });
}

void mpt::detail::emitGroupedInputGrad(GPUFunctionBuilder &code, const rt::CudaConv &c,
                                       Type yType, Type filterType, Type xType) {
  Index thread = code.globalThread();
  int64_t depth = c.channels / c.groups, width = c.outChannels / c.groups;
  Type f32 = code.b.getF32Type();
  int64_t count = c.images * c.height * c.width * c.channels;
  code.ifThen(code.isLess(thread, Index(count)), [&] {
    Index channel = thread % c.channels, place = thread / c.channels;
    Index image = place / (c.height * c.width), inImage = place % (c.height * c.width);
    Index first = channel / depth * width;
    auto sums = code.loop(
        0, c.filterHeight * c.filterWidth, 1, code.constant(f32, 0),
        [&](Index tap, ValueRange outer) {
          auto find = [&](Index at, Index tap, int64_t taps, int64_t stride, int64_t pad,
                          int64_t dilation, int64_t size) {
            int64_t shift = llvm::alignTo((taps - 1) * dilation, stride);
            Index shifted = at + Index(pad + shift) - tap * dilation;
            Index out = shifted / stride;
            Value fits = code.isEqual(out * stride, shifted);
            fits = arith::AndIOp::create(code.b, code.loc, fits,
                                         code.isLess(Index(shift / stride - 1), out));
            fits = arith::AndIOp::create(code.b, code.loc, fits,
                                         code.isLess(out, Index(size + shift / stride)));
            return Tap{out - Index(shift / stride), fits};
          };
          Tap h = find(inImage / c.width, tap / c.filterWidth, c.filterHeight, c.strideH,
                       c.padH, c.dilationH, c.outHeight);
          Tap w = find(inImage % c.width, tap % c.filterWidth, c.filterWidth, c.strideW,
                       c.padW, c.dilationW, c.outWidth);
          Value fits = arith::AndIOp::create(code.b, code.loc, h.isInside, w.isInside);
          Index at =
              ((image * c.outHeight + h.place) * c.outWidth + w.place) * c.outChannels +
              first;
          at = code.select(fits, at, Index(0));
          Value none = code.constant(f32, 0);
          return code.loop(0, width, 1, outer, [&](Index i, ValueRange carried) {
            Value dy = code.loadNumber(code.parameter(0), yType, at + i);
            Value f = code.loadNumber(code.parameter(1), filterType,
                                      (tap * depth + channel % depth) * c.outChannels +
                                          first + i);
            dy = arith::SelectOp::create(code.b, code.loc, fits, dy, none);
            Value product = arith::MulFOp::create(code.b, code.loc, dy, f);
            return SmallVector<Value>{
                arith::AddFOp::create(code.b, code.loc, carried.front(), product)};
          });
        });
    code.storeNumber(sums.front(), code.parameter(2), xType, thread);
  });
}

void mpt::detail::emitGroupedFilterGrad(GPUFunctionBuilder &code, const rt::CudaConv &c,
                                        Type xType, Type yType, Type filterType) {
  Index element = code.blockX(), thread = code.thread();
  int64_t depth = c.channels / c.groups, width = c.outChannels / c.groups;
  Type f32 = code.b.getF32Type();
  Index channel = element % c.outChannels, rest = element / c.outChannels;
  Index tap = rest / depth, in = channel / width * depth + rest % depth;
  auto sums = code.loop(
      thread, c.rows(), kThreads, code.constant(f32, 0),
      [&](Index position, ValueRange carried) {
        Index image = position / (c.outHeight * c.outWidth);
        Index inImage = position % (c.outHeight * c.outWidth);
        Tap h = tapOf(code, inImage / c.outWidth, tap / c.filterWidth, c.strideH, c.padH,
                      c.dilationH, c.height);
        Tap w = tapOf(code, inImage % c.outWidth, tap % c.filterWidth, c.strideW, c.padW,
                      c.dilationW, c.width);
        Value isInside = arith::AndIOp::create(code.b, code.loc, h.isInside, w.isInside);
        Index at = ((image * c.height + h.place) * c.width + w.place) * c.channels + in;
        Value x = code.loadNumber(code.parameter(0), xType,
                                  code.select(isInside, at, Index(0)));
        x = arith::SelectOp::create(code.b, code.loc, isInside, x, code.constant(f32, 0));
        Value dy =
            code.loadNumber(code.parameter(1), yType, position * c.outChannels + channel);
        Value product = arith::MulFOp::create(code.b, code.loc, x, dy);
        return SmallVector<Value>{
            arith::AddFOp::create(code.b, code.loc, carried.front(), product)};
      });
  Value sum = sums.front();
  for (int64_t distance = kWarp / 2; distance > 0; distance /= 2)
    sum = arith::AddFOp::create(code.b, code.loc, sum, code.exchange(sum, distance));
  Value warps = code.shared(4 * kThreads / kWarp);
  code.ifThen(code.isEqual(thread % kWarp, 0),
              [&] { code.store(sum, warps, f32, thread / kWarp); });
  code.barrier();
  code.ifThen(code.isEqual(thread, 0), [&] {
    Value total = code.load(warps, f32, 0);
    for (int64_t i = 1; i < kThreads / kWarp; ++i)
      total = arith::AddFOp::create(code.b, code.loc, total, code.load(warps, f32, i));
    code.storeNumber(total, code.parameter(2), filterType, element);
  });
}
