//===- DevicePools.cpp - Pooling on a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A thread has one point and a vector of channels. Windows are walked in the order
/// of the CPU's code, so the bits are the same.
///
//===----------------------------------------------------------------------===//

#include "DeviceCalls.h"
#include "GPUFunctionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// One axis: windows of `size` points every `stride`, the first at -`before`.
struct Axis {
  int64_t points, windows, size, stride, before;

  bool isInside() const { return before == 0 && (windows - 1) * stride + size <= points; }
  Index begin(Index window) const {
    Index first = window * stride - before;
    return isInside() ? first : larger(first, 0);
  }
  Index end(Index window) const {
    Index last = window * stride - before + size;
    return isInside() ? last : smaller(last, points);
  }
  Index firstWindow(GPUFunctionBuilder &code, Index point) const {
    // Of the last window without it.
    Index from = point + before - size;
    return code.select(code.isLess(from, 0), 0, larger(from, 0) / stride + 1);
  }
  Index lastWindow(Index point) const {
    return smaller((point + before) / stride, windows - 1);
  }
};

class Pool {
public:
  template <typename Call>
  Pool(const Call &call, const CallSite &site, const rt::BufferRef &x,
       const rt::BufferRef &y)
      : site(site), images(x.dims[0]), channels(x.dims[3]),
        rows{x.dims[1], y.dims[1], call.window[0], call.strides[0], call.padding[0]},
        columns{x.dims[2], y.dims[2], call.window[1], call.strides[1], call.padding[2]} {
    isMax = std::is_same_v<Call, rt::MaxPoolCall> ||
            std::is_same_v<Call, rt::MaxPoolGradCall>;
    if constexpr (std::is_same_v<Call, rt::AvgPoolCall> ||
                  std::is_same_v<Call, rt::AvgPoolGradCall>)
      countsPadding = call.countIncludePad;
    lanes = 8;
    for (Type element : site.elements)
      lanes = std::min(lanes, lanesFor(element, channels));
    bool isDouble = llvm::any_of(site.elements, [](Type type) { return type.isF64(); });
    number = isDouble ? Float64Type::get(site.device.getContext())
                      : Type(Float32Type::get(site.device.getContext()));
  }

  DeviceCall emitForward();
  DeviceCall emitGrad();

private:
  int64_t width() const { return lanes == 1 ? 0 : lanes; }
  Type vectorType() const {
    return lanes == 1 ? number : Type(VectorType::get({lanes}, number));
  }
  Value load(unsigned buffer, Index at) {
    return code->loadNumber(code->parameter(buffer), site.elements[buffer], at, width());
  }
  /// Calls body(row, column, carried) for the elements of window (i, j), in order.
  SmallVector<Value>
  forWindow(Index i, Index j, ValueRange init,
            function_ref<SmallVector<Value>(Index, Index, ValueRange)> body) {
    return code->loop(rows.begin(i), rows.end(i), 1, init,
                      [&](Index row, ValueRange outer) {
                        return code->loop(columns.begin(j), columns.end(j), 1, outer,
                                          [&](Index column, ValueRange carried) {
                                            return body(row, column, carried);
                                          });
                      });
  }
  /// Whether `value` takes the place of `best`.
  Value wins(Value value, Value best) {
    auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value {
      return arith::CmpFOp::create(code->b, code->loc, predicate, x, y);
    };
    // ugt: also if one of them is not a number.
    Value isLarger = compare(arith::CmpFPredicate::UGT, value, best);
    Value isNumber = compare(arith::CmpFPredicate::ORD, best, best);
    return arith::AndIOp::create(code->b, code->loc, isLarger, isNumber);
  }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(code->b, code->loc, condition, x, y);
  }
  /// `value` divided by what window (i, j) counts.
  Value average(Value value, Index i, Index j) {
    OpBuilder &b = code->b;
    if (countsPadding || (rows.isInside() && columns.isInside()))
      return arith::DivFOp::create(
          b, code->loc, value, code->constant(value.getType(), rows.size * columns.size));
    Index count =
        larger((rows.end(i) - rows.begin(i)) * (columns.end(j) - columns.begin(j)), 1);
    Value divisor = arith::SIToFPOp::create(b, code->loc, number, code->get(count));
    if (lanes > 1)
      divisor = vector::BroadcastOp::create(b, code->loc, value.getType(), divisor);
    return arith::DivFOp::create(b, code->loc, value, divisor);
  }
  /// Starts the function with one thread for each of `total` vectors.
  DeviceLaunch start(int64_t total, unsigned parameters) {
    DeviceLaunch launch = launchFor(site, total);
    code.emplace(site.device, site.loc, site.name, parameters, launch.threads,
                 site.isWide());
    return launch;
  }

  const CallSite &site;
  int64_t images, channels, lanes;
  Axis rows, columns;
  bool countsPadding = false, isMax;
  Type number;
  std::optional<GPUFunctionBuilder> code;
};

} // namespace

DeviceCall Pool::emitForward() {
  int64_t vectors = channels / lanes;
  int64_t total = images * rows.windows * columns.windows * vectors;
  DeviceCall result;
  if (total == 0)
    return result;
  result.launches.push_back(start(total, 2));
  Index at = code->globalThread();
  code->ifThen(code->isLess(at, total), [&] {
    Index first = at % vectors * lanes, point = at / vectors;
    Index j = point % columns.windows, rest = point / columns.windows;
    Index i = rest % rows.windows, image = rest / rows.windows;
    double none = isMax ? -std::numeric_limits<double>::infinity() : 0;
    Value init = code->constant(vectorType(), none);
    auto sums = forWindow(
        i, j, init,
        [&](Index row, Index column, ValueRange carried) -> SmallVector<Value> {
          Index from = ((image * rows.points + row) * columns.points + column) * channels;
          Value value = load(0, from + first);
          if (isMax)
            return {choose(wins(value, carried[0]), value, carried[0])};
          return {arith::AddFOp::create(code->b, code->loc, carried[0], value)};
        });
    Value y = isMax ? sums[0] : average(sums[0], i, j);
    code->storeNumber(y, code->parameter(1), site.elements[1], at * lanes, width());
  });
  code->finish();
  return result;
}

/// A thread has a tile of points, so that a window's largest element is searched once for
/// the points in it that share a thread. Every point adds its windows in order.
DeviceCall Pool::emitGrad() {
  const bool isTiled = isMax && rows.stride * columns.stride <= 4;
  const int64_t height = isTiled ? rows.stride : 1, width = isTiled ? columns.stride : 1;
  const int64_t vectors = channels / lanes;
  const int64_t down = llvm::divideCeil(rows.points, height),
                across = llvm::divideCeil(columns.points, width);
  const int64_t total = images * down * across * vectors;
  unsigned out = site.call.numInputs;
  DeviceCall result;
  if (total == 0)
    return result;
  result.launches.push_back(start(total, out + 1));
  OpBuilder &b = code->b;
  Index at = code->globalThread();
  code->ifThen(code->isLess(at, total), [&] {
    Index first = at % vectors * lanes, tile = at / vectors;
    Index column = tile % across * width, rest = tile / across;
    Index row = rest % down * height, image = rest / down;
    Value zero = code->constant(vectorType(), 0);
    auto spread = [&](Value number) -> Value {
      if (lanes == 1)
        return number;
      auto type = VectorType::get({lanes}, number.getType());
      return vector::BroadcastOp::create(b, code->loc, type, number);
    };
    Type i32 = b.getI32Type();
    auto toNumber = [&](Index index) -> Value {
      Value value = code->get(index);
      return value.getType() == i32
                 ? value
                 : arith::TruncIOp::create(b, code->loc, i32, value).getResult();
    };
    auto addWindow = [&](Index i, Index j, ValueRange sums) -> SmallVector<Value> {
      Index from = ((image * rows.windows + i) * columns.windows + j) * channels;
      Value gradient = load(0, from + first);
      if (!isMax)
        return {arith::AddFOp::create(b, code->loc, sums[0], average(gradient, i, j))};
      // The first element of a window is its best so far, whatever it is: with
      // -inf and no winner yet, the window's first wins.
      Value none = code->constant(vectorType(), -std::numeric_limits<double>::infinity());
      Index top = rows.begin(i), left = columns.begin(j);
      auto placeOf = [&](Index r, Index q) {
        return (r - top) * columns.size + (q - left);
      };
      auto best =
          forWindow(i, j, {none, spread(toNumber(Index(0)))},
                    [&](Index r, Index q, ValueRange carried) -> SmallVector<Value> {
                      Index point =
                          ((image * rows.points + r) * columns.points + q) * channels;
                      Value value = load(1, point + first);
                      Value takes = wins(value, carried[0]);
                      return {choose(takes, value, carried[0]),
                              choose(takes, spread(toNumber(placeOf(r, q))), carried[1])};
                    });
      SmallVector<Value> added;
      for (int64_t point = 0; point < height * width; ++point) {
        Index r = row + point / width, q = column + point % width;
        // Windows of other points of the tile may be none of this one.
        Value isInside = arith::AndIOp::create(b, code->loc, code->isLess(r, rows.end(i)),
                                               code->isLess(q, columns.end(j)));
        isInside = arith::AndIOp::create(
            b, code->loc, isInside,
            arith::AndIOp::create(b, code->loc, code->isLess(top, r + 1),
                                  code->isLess(left, q + 1)));
        Index place = code->select(isInside, placeOf(r, q), -1);
        Value isBest = arith::CmpIOp::create(b, code->loc, arith::CmpIPredicate::eq,
                                             best[1], spread(toNumber(place)));
        added.push_back(arith::AddFOp::create(b, code->loc, sums[point],
                                              choose(isBest, gradient, zero)));
      }
      return added;
    };
    Index firstRow = rows.firstWindow(*code, row);
    Index firstColumn = columns.firstWindow(*code, column);
    Index lastRow = rows.lastWindow(smaller(row + (height - 1), rows.points - 1));
    Index lastColumn =
        columns.lastWindow(smaller(column + (width - 1), columns.points - 1));
    auto sums =
        code->loop(firstRow, lastRow + 1, 1, SmallVector<Value>(height * width, zero),
                   [&](Index i, ValueRange outer) {
                     return code->loop(firstColumn, lastColumn + 1, 1, outer,
                                       [&](Index j, ValueRange carried) {
                                         return addWindow(i, j, carried);
                                       });
                   });
    for (int64_t point = 0; point < height * width; ++point) {
      Index r = row + point / width, q = column + point % width;
      auto store = [&] {
        Index to = ((image * rows.points + r) * columns.points + q) * channels + first;
        code->storeNumber(sums[point], code->parameter(out), site.elements[out], to,
                          this->width());
      };
      if (rows.points % height == 0 && columns.points % width == 0)
        store();
      else
        code->ifThen(arith::AndIOp::create(b, code->loc, code->isLess(r, rows.points),
                                           code->isLess(q, columns.points)),
                     store);
    }
  });
  code->finish();
  return result;
}

DeviceCall mpt::detail::emitCall(const rt::MaxPoolCall &call, const CallSite &site) {
  return Pool(call, site, site.ref(0), site.ref(1)).emitForward();
}
DeviceCall mpt::detail::emitCall(const rt::AvgPoolCall &call, const CallSite &site) {
  return Pool(call, site, site.ref(0), site.ref(1)).emitForward();
}
DeviceCall mpt::detail::emitCall(const rt::MaxPoolGradCall &call, const CallSite &site) {
  return Pool(call, site, site.ref(2), site.ref(0)).emitGrad();
}
DeviceCall mpt::detail::emitCall(const rt::AvgPoolGradCall &call, const CallSite &site) {
  return Pool(call, site, site.ref(1), site.ref(0)).emitGrad();
}
