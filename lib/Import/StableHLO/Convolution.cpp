//===- Convolution.cpp - convolution of StableHLO --------------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Any layout, stride, padding, dilation and groups, over 0 to 3 dimensions. JAX spells
/// the gradients of a convolution as convolutions, too. Two forms are recognized:
///
/// - the filter reversed: the gradient for the input;
/// - an input whose first dimension is summed over, which was the batch: the gradient for
///   the filter.
///
/// Others become `mpt.conv2d`, of an input that is spread by zeros where it is dilated.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

namespace {
/// The dimensions of a tensor by their meaning: two named ones and the spatial ones.
struct Layout {
  int64_t first = -1, second = -1;
  Shape spatial;
};

struct Conv {
  Layout x, filter, y;
  Shape strides, low, high, lhsDilation, rhsDilation;
  int64_t featureGroups = 1, batchGroups = 1;
  bool reversed = false;
};
} // namespace

/// `[b, 0, 1, f]` with the names `b` and `f`.
static std::optional<Layout> parseLayout(StringRef text, StringRef first,
                                         StringRef second) {
  Layout layout;
  if (!text.consume_front("[") || !text.consume_back("]"))
    return std::nullopt;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  layout.spatial.assign(parts.size() >= 2 ? parts.size() - 2 : 0, -1);
  for (auto [position, part] : llvm::enumerate(parts)) {
    int64_t dim;
    part = part.trim();
    if (part == first)
      layout.first = position;
    else if (part == second)
      layout.second = position;
    else if (!part.getAsInteger(10, dim) && dim >= 0 &&
             dim < static_cast<int64_t>(layout.spatial.size()))
      layout.spatial[dim] = position;
  }
  if (layout.first < 0 || layout.second < 0 ||
      llvm::is_contained(layout.spatial, int64_t(-1)))
    return std::nullopt;
  return layout;
}

/// Reads the attributes; refuses what does not fit.
static Conv readConv(Lowering &l) {
  Conv conv;
  StringRef text = getText(l.attribute("dimension_numbers"));
  bool parsed = text.consume_front("conv<") && text.consume_back(">");
  auto [operands, result] = text.split("->");
  auto [lhs, rhs] = operands.split("]x[");
  std::string lhsText = (lhs + "]").str(), rhsText = ("[" + rhs).str();
  std::optional<Layout> x = parseLayout(StringRef(lhsText).trim(), "b", "f"),
                        filter = parseLayout(StringRef(rhsText).trim(), "i", "o"),
                        y = parseLayout(result.trim(), "b", "f");
  if (!l.require(parsed && x && filter && y, "attribute dimension_numbers: expected "
                                             "#stablehlo.conv<[..]x[..]->[..]>"))
    return conv;
  conv.x = *x;
  conv.filter = *filter;
  conv.y = *y;
  unsigned rank = x->spatial.size();
  conv.strides = l.integers("window_strides", rank, 1);
  conv.lhsDilation = l.integers("lhs_dilation", rank, 1);
  conv.rhsDilation = l.integers("rhs_dilation", rank, 1);
  Shape padding = l.integers("padding", 2 * rank, 0),
        reversal = l.integers("window_reversal", rank, 0);
  for (unsigned i : llvm::seq(0u, rank)) {
    conv.low.push_back(padding[2 * i]);
    conv.high.push_back(padding[2 * i + 1]);
    l.require(conv.strides[i] >= 1 && conv.lhsDilation[i] >= 1 &&
                  conv.rhsDilation[i] >= 1,
              "a stride or dilation below 1");
  }
  conv.featureGroups = l.integer("feature_group_count", 1);
  conv.batchGroups = l.integer("batch_group_count", 1);
  int64_t ranks = rank + 2;
  l.require(getRank(l.get(0)) == ranks && getRank(l.get(1)) == ranks &&
                l.resultType().getRank() == ranks && filter->spatial.size() == rank &&
                y->spatial.size() == rank,
            "operands whose ranks are not those of dimension_numbers");
  l.require(conv.featureGroups >= 1 && conv.batchGroups >= 1,
            "a number of groups below 1");
  l.require(conv.featureGroups == 1 || conv.batchGroups == 1,
            "groups of features and of the batch at once");
  conv.reversed = rank > 0 && llvm::all_of(reversal, [](int64_t flag) { return flag; });
  l.require(conv.reversed || llvm::none_of(reversal, [](int64_t flag) { return flag; }),
            "a window that is reversed in some dimensions");
  return conv;
}

/// [first, spatial.., second], or [spatial.., first, second] for filters.
static Value arrange(Lowering &l, Value x, const Layout &layout, bool isFilter) {
  Shape order;
  if (!isFilter)
    order.push_back(layout.first);
  llvm::append_range(order, layout.spatial);
  if (isFilter)
    order.push_back(layout.first);
  order.push_back(layout.second);
  return l.transpose(x, order);
}

/// Sets the result from [batch, spatial.., features].
static void setResult(Lowering &l, Value y, const Conv &conv) {
  Shape order(getRank(y));
  order[conv.y.first] = 0;
  for (auto [i, dim] : llvm::enumerate(conv.y.spatial))
    order[dim] = i + 1;
  order[conv.y.second] = getRank(y) - 1;
  if (l.refusal.empty())
    l.set(l.transpose(y, order));
}

/// With a leading dimension of size 1 where there are fewer than two.
static void widenTo2D(Conv &conv) {
  while (conv.strides.size() < 2) {
    for (Shape *list : {&conv.strides, &conv.lhsDilation, &conv.rhsDilation})
      list->insert(list->begin(), 1);
    conv.low.insert(conv.low.begin(), 0);
    conv.high.insert(conv.high.begin(), 0);
  }
}
static Value widenImages(Lowering &l, Value x) {
  Shape shape(getShape(x));
  while (shape.size() < 4)
    shape.insert(shape.begin() + 1, 1);
  return l.reshape(x, shape);
}
static Value widenFilter(Lowering &l, Value filter) {
  Shape shape(getShape(filter));
  while (shape.size() < 4)
    shape.insert(shape.begin(), 1);
  return l.reshape(filter, shape);
}

/// `x` [N, S.., C] without the last `count` places along dimension `dim`.
static Value cropHigh(Lowering &l, Value x, int64_t dim, int64_t count) {
  return count <= 0 ? x : l.slice(x, dim, 0, getShape(x)[dim] - count);
}

/// sum over n and places of x [N, H, W, C] and dy [N, OH, OW, O] -> [KH, KW, C / groups,
/// O]. Returns null if the form does not fit.
static Value filterGradient(Lowering &l, Value x, Value dy, const Conv &conv,
                            ArrayRef<int64_t> kernel) {
  Shape padding;
  for (int i : {0, 1}) {
    int64_t stride = conv.rhsDilation[i], dilation = conv.strides[i];
    int64_t need = (getShape(dy)[i + 1] - 1) * stride + dilation * (kernel[i] - 1) + 1 -
                   getShape(x)[i + 1] - conv.low[i];
    if (conv.low[i] < 0 || conv.lhsDilation[i] != 1)
      return {};
    // Rows after the last that is read.
    if (need < 0) {
      if (getShape(x)[i + 1] + need < 1)
        return {};
      x = cropHigh(l, x, i + 1, -need);
    }
    padding.push_back(conv.low[i]);
    padding.push_back(std::max<int64_t>(need, 0));
  }
  int64_t groups = conv.batchGroups;
  Shape shape{kernel[0], kernel[1], getShape(x)[3] / groups, getShape(dy)[3]};
  return Conv2DFilterGradOp::create(
      l.builder, l.loc, RankedTensorType::get(shape, l.resultElement()), x, dy,
      conv.rhsDilation, padding, conv.strides, groups, TypeAttr());
}

/// dx [N, H, W, C] of dy [N, OH, OW, O] and the filter, not reversed, [KH, KW, O /
/// groups, C].
static Value inputGradient(Lowering &l, Value dy, Value filter, const Conv &conv,
                           ArrayRef<int64_t> image) {
  Shape padding;
  ArrayRef<int64_t> fs = getShape(filter);
  for (int i : {0, 1}) {
    int64_t reach = conv.rhsDilation[i] * (fs[i] - 1), stride = conv.lhsDilation[i];
    int64_t low = reach - conv.low[i];
    int64_t high = (getShape(dy)[i + 1] - 1) * stride + reach + 1 - image[i] - low;
    if (conv.strides[i] != 1 || low < 0 || -high >= stride)
      return {};
    padding.push_back(low);
    padding.push_back(std::max<int64_t>(high, 0));
  }
  // [KH, KW, C / groups, O]
  int64_t groups = conv.featureGroups, channels = fs[3] / groups;
  Value f;
  if (groups == 1) {
    f = l.transpose(filter, {0, 1, 3, 2});
  } else {
    f = l.reshape(filter, {fs[0], fs[1], fs[2], groups, channels});
    f = l.reshape(l.transpose(f, {0, 1, 4, 3, 2}),
                  {fs[0], fs[1], channels, groups * fs[2]});
  }
  Shape shape{getShape(dy)[0], image[0], image[1], fs[3]};
  return Conv2DInputGradOp::create(
      l.builder, l.loc, RankedTensorType::get(shape, l.resultElement()), dy, f,
      conv.lhsDilation, padding, conv.rhsDilation, groups, TypeAttr());
}

/// Zeros between the elements of dilated inputs, and padding below 0.
static Value spread(Lowering &l, Value x, Conv &conv) {
  unsigned rank = conv.strides.size();
  Shape low(rank + 2, 0), high(rank + 2, 0), interior(rank + 2, 0);
  bool any = false;
  for (unsigned i : llvm::seq(0u, rank)) {
    if (conv.lhsDilation[i] == 1 && conv.low[i] >= 0 && conv.high[i] >= 0)
      continue;
    any = true;
    low[i + 1] = conv.low[i];
    high[i + 1] = conv.high[i];
    interior[i + 1] = conv.lhsDilation[i] - 1;
    conv.low[i] = conv.high[i] = 0;
    conv.lhsDilation[i] = 1;
  }
  return any ? l.padBy(x, l.constant(0, getElement(x)), low, high, interior) : x;
}

static Value convolveImages(Lowering &l, Value x, Value filter, const Conv &conv,
                            unsigned from) {
  Shape strides(ArrayRef(conv.strides).drop_front(from)),
      dilations(ArrayRef(conv.rhsDilation).drop_front(from)), padding;
  Shape shape{getShape(x)[0]};
  for (int i : {0, 1}) {
    int64_t low = conv.low[from + i], high = conv.high[from + i];
    padding.push_back(low);
    padding.push_back(high);
    int64_t room =
        getShape(x)[i + 1] + low + high - dilations[i] * (getShape(filter)[i] - 1) - 1;
    if (!l.require(room >= 0, "a filter that is larger than the input"))
      return x;
    shape.push_back(room / strides[i] + 1);
  }
  shape.push_back(getShape(filter)[3]);
  return Conv2DOp::create(l.builder, l.loc,
                          RankedTensorType::get(shape, l.resultElement()), x, filter,
                          Value(), strides, padding, dilations, conv.featureGroups,
                          Epilogue::None, TypeAttr());
}

/// A sum of convolutions over H and W, one for each place of the filter along D.
static Value convolveVolume(Lowering &l, Value x, Value filter, const Conv &conv) {
  int64_t places = getShape(filter)[0];
  if (!l.require(places <= 64, "a filter of more than 64 places along the first of three "
                               "dimensions"))
    return x;
  x = l.pad(x, {0, conv.low[0], 0, 0, 0}, {0, conv.high[0], 0, 0, 0}, 0);
  x = l.transpose(x, {1, 0, 2, 3, 4});
  int64_t room = getShape(x)[0] - conv.rhsDilation[0] * (places - 1) - 1;
  if (!l.require(room >= 0, "a filter that is larger than the input"))
    return x;
  int64_t depth = room / conv.strides[0] + 1;
  Value sum;
  ArrayRef<int64_t> fs = getShape(filter);
  for (int64_t k = 0; k < places; ++k) {
    Value part = l.slice(x, 0, k * conv.rhsDilation[0], depth, conv.strides[0]);
    ArrayRef<int64_t> s = getShape(part);
    Value images = l.reshape(part, {s[0] * s[1], s[2], s[3], s[4]});
    Value one = l.reshape(l.slice(filter, 0, k, 1), {fs[1], fs[2], fs[3], fs[4]});
    Value y = convolveImages(l, images, one, conv, 1);
    sum = sum ? l.add(sum, y) : y;
  }
  ArrayRef<int64_t> s = getShape(sum);
  Value volume = l.reshape(sum, {depth, getShape(x)[1], s[1], s[2], s[3]});
  return l.transpose(volume, {1, 0, 2, 3, 4});
}

static void convolution(Lowering &l) {
  Conv conv = readConv(l);
  unsigned rank = conv.strides.size();
  if (!l.refusal.empty())
    return;
  if (!l.require(rank <= 3, "a convolution over more than 3 dimensions") ||
      !l.require(isa<FloatType>(getElement(l.get(0))) &&
                     isa<FloatType>(getElement(l.get(1))) &&
                     isa<FloatType>(l.resultElement()),
                 "elements that are not floats"))
    return;
  // The filter as it was before it was reversed.
  Value source = l.get(1);
  bool reversed = conv.reversed;
  Operation *definer = l.op->getOperand(1).getDefiningOp();
  if (!reversed && isOp(definer, "reverse"))
    if (auto dims =
            dyn_cast_or_null<DenseI64ArrayAttr>(getAttribute(definer, "dimensions"));
        dims && dims.size() == static_cast<int64_t>(rank) &&
        llvm::all_of(conv.filter.spatial, [&](int64_t dim) {
          return llvm::is_contained(dims.asArrayRef(), dim);
        }))
      if (Value before = l.graph.values.lookup(definer->getOperand(0))) {
        source = before;
        reversed = true;
      }
  Value x = arrange(l, l.get(0), conv.x, false);
  Value filter = arrange(l, source, conv.filter, true);
  Shape image; // of the result
  for (int64_t dim : conv.y.spatial)
    image.push_back(l.resultShape()[dim]);
  if (!l.require(getShape(x).back() == getShape(filter)[rank] * (conv.featureGroups),
                 "a filter that does not fit") ||
      !l.require(getShape(filter)[rank + 1] % (conv.featureGroups * conv.batchGroups) ==
                         0 &&
                     getShape(x)[0] % conv.batchGroups == 0,
                 "groups that do not divide the channels"))
    return;
  if (llvm::is_contained(l.resultShape(), 0))
    return l.set(l.constant(0, l.resultElement(), l.resultShape()));
  Shape wanted{l.resultShape()[conv.y.first]};
  llvm::append_range(wanted, image);
  wanted.push_back(l.resultShape()[conv.y.second]);
  Conv plain = conv;
  if (rank <= 2) {
    widenTo2D(plain);
    while (image.size() < 2)
      image.insert(image.begin(), 1);
    Value images = widenImages(l, x), kernel = widenFilter(l, filter);
    Value y;
    if (reversed && conv.batchGroups == 1)
      y = inputGradient(l, images, kernel, plain, image);
    else if (!reversed && conv.featureGroups == 1 && conv.x.second == 0) {
      // [N, H, W, C] of the forward pass: what is the batch here are channels.
      Value input = l.transpose(images, {3, 1, 2, 0});
      Value dy = l.transpose(kernel, {2, 0, 1, 3});
      if (Value df = filterGradient(l, input, dy, plain, image))
        y = l.transpose(df, {2, 0, 1, 3});
    }
    if (y)
      return setResult(l, l.reshape(y, wanted), conv);
  }
  if (reversed)
    for (unsigned i : llvm::seq(0u, rank))
      filter = l.reverseDimension(filter, i);
  // Groups of the batch are groups of features.
  if (int64_t groups = conv.batchGroups; groups > 1) {
    Shape shape(getShape(x)), order, merged(shape);
    merged[0] /= groups;
    merged.back() *= groups;
    shape[0] /= groups;
    shape.insert(shape.begin(), groups);
    for (int64_t i : llvm::seq<int64_t>(1, shape.size() - 1))
      order.push_back(i);
    order.push_back(0);
    order.push_back(shape.size() - 1);
    x = l.reshape(l.transpose(l.reshape(x, shape), order), merged);
    plain.featureGroups = groups;
    plain.batchGroups = 1;
  }
  if (rank <= 2) {
    x = spread(l, widenImages(l, x), plain);
    x = convolveImages(l, x, widenFilter(l, filter), plain, 0);
  } else {
    x = spread(l, x, plain);
    x = convolveVolume(l, x, filter, plain);
  }
  if (l.refusal.empty())
    setResult(l, l.reshape(x, wanted), conv);
}

void mpt::stablehlo::populateConvolution(Table &t) {
  t.add({"stablehlo.convolution"}, convolution);
}
