//===- Convolution.cpp - Convolutions and their gradients in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gradients are convolutions, spelled as JAX spells them: for the input, the gradient is
/// spread out by the strides and meets the reversed filter; for the filter, channels and
/// batch change places.
///
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "Products.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

namespace {
struct Convolution {
  /// As in #stablehlo.conv<..>.
  StringRef dimensions;
  Shape strides, lowAndHigh, lhsDilation, rhsDilation;
  int64_t featureGroups = 1, batchGroups = 1;
};
} // namespace

static Value convolve(Emitter &e, Value lhs, Value rhs, ArrayRef<int64_t> shape,
                      const Convolution &how, std::optional<Type> accumulator) {
  Type sum = widenFactors(e, lhs, rhs, accumulator);
  return e.make("convolution", RankedTensorType::get(shape, sum), {lhs, rhs},
                {e.integer("batch_group_count", how.batchGroups),
                 e.opaque("dimension_numbers", "conv<" + how.dimensions + ">"),
                 e.integer("feature_group_count", how.featureGroups),
                 e.array("lhs_dilation", how.lhsDilation), e.padding(how.lowAndHigh),
                 e.precision(lhs, rhs), e.array("rhs_dilation", how.rhsDilation),
                 e.builder.getNamedAttr("window_reversal",
                                        e.builder.getDenseBoolArrayAttr({false, false})),
                 e.array("window_strides", how.strides)});
}

/// Without a bias and an activation, which are ops of their own by now.
static void convertConv2D(Conv2DOp op, Emitter &e) {
  Convolution how;
  how.dimensions = op.getOihw() ? "[b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f]"
                                : "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
  how.strides = Shape(op.getStrides());
  how.lowAndHigh = Shape(op.getPadding());
  how.lhsDilation = {1, 1};
  how.rhsDilation = Shape(op.getDilations());
  how.featureGroups = op.getGroups();
  e.set(convolve(e, e.get(op.getX()), e.get(op.getFilter()), e.resultType().getShape(),
                 how, op.getAccType()));
}

static void convertInputGrad(Conv2DInputGradOp op, Emitter &e) {
  Value dy = e.get(op.getDy()), filter = e.get(op.getFilter());
  ArrayRef<int64_t> x = e.resultType().getShape();
  bool isOIHW = op.getOihw();
  int64_t groups = op.getGroups(), first = isOIHW ? 2 : 0;
  Convolution how;
  how.strides = {1, 1};
  how.lhsDilation = Shape(op.getStrides());
  how.rhsDilation = Shape(op.getDilations());
  how.featureGroups = groups;
  for (int64_t i : {0, 1}) {
    int64_t reach = op.getDilations()[i] * (getShape(filter)[first + i] - 1);
    int64_t spread = (getShape(dy)[i + 1] - 1) * op.getStrides()[i] + 1;
    int64_t low = reach - op.getPadding()[2 * i];
    how.lowAndHigh.append({low, x[i + 1] + reach - spread - low});
  }
  filter = e.reverse(filter, {first, first + 1});
  how.dimensions = isOIHW ? "[b, 0, 1, f]x[i, o, 0, 1]->[b, 0, 1, f]"
                          : "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]";
  if (groups > 1) {
    // Outputs of a group are what is summed: [KH, KW, O / groups, C].
    ArrayRef<int64_t> shape = getShape(filter);
    int64_t outputs = shape[isOIHW ? 0 : 3] / groups, inputs = shape[isOIHW ? 1 : 2];
    int64_t height = shape[first], width = shape[first + 1];
    if (isOIHW)
      filter = e.transpose(e.reshape(filter, {groups, outputs, inputs, height, width}),
                           {3, 4, 1, 0, 2});
    else
      filter = e.transpose(e.reshape(filter, {height, width, inputs, groups, outputs}),
                           {0, 1, 4, 3, 2});
    filter = e.reshape(filter, {height, width, outputs, groups * inputs});
    how.dimensions = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
  }
  e.set(convolve(e, dy, filter, x, how, op.getAccType()));
}

static void convertFilterGrad(Conv2DFilterGradOp op, Emitter &e) {
  Value x = e.get(op.getX()), dy = e.get(op.getDy());
  ArrayRef<int64_t> filter = e.resultType().getShape();
  bool isOIHW = op.getOihw();
  Convolution how;
  how.dimensions = isOIHW ? "[f, 0, 1, b]x[i, 0, 1, o]->[f, b, 0, 1]"
                          : "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]";
  how.strides = Shape(op.getDilations());
  how.lhsDilation = {1, 1};
  how.rhsDilation = Shape(op.getStrides());
  how.batchGroups = op.getGroups();
  for (int64_t i : {0, 1}) {
    int64_t low = op.getPadding()[2 * i];
    int64_t spread = (getShape(dy)[i + 1] - 1) * op.getStrides()[i] + 1;
    int64_t reach = op.getDilations()[i] * (filter[(isOIHW ? 2 : 0) + i] - 1);
    how.lowAndHigh.append({low, reach + spread - getShape(x)[i + 1] - low});
  }
  e.set(convolve(e, x, dy, filter, how, op.getAccType()));
}

void mpt::tostablehlo::populateConvolution(Table &table) {
  table.add(convertConv2D);
  table.add(convertInputGrad);
  table.add(convertFilterGrad);
}
