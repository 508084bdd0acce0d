//===- ConvTest.cpp - Convolutions against sums in double -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OneDnn.h"
#include "TestHelpers.h"

#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

using namespace mpt::rt;

#ifndef HAS_ASAN
namespace {
/// While this is set, what is allocated as scratchpads are has a region after it that
/// nobody may write to, and is freed by `releaseScratchpads` only.
bool guardsScratchpads = false;
constexpr size_t guardBytes = 1 << 21;
std::vector<std::pair<char *, size_t>> scratchpads;

/// False if something wrote past the end of one.
bool releaseScratchpads() {
  const std::vector<char> expected(guardBytes, 'g');
  bool holds = true;
  for (auto [data, bytes] : scratchpads) {
    holds &= std::memcmp(data + bytes, expected.data(), guardBytes) == 0;
    std::free(data);
  }
  scratchpads.clear();
  return holds;
}
} // namespace

void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  auto *data = static_cast<char *>(std::malloc(bytes + guardBytes));
  if (data && guardsScratchpads) {
    std::memset(data + bytes, 'g', guardBytes);
    scratchpads.push_back({data, bytes});
  }
  return data;
}
void operator delete[](void *data) noexcept {
  for (auto [guarded, bytes] : scratchpads)
    if (guarded == data)
      return;
  std::free(data);
}
void operator delete[](void *data, size_t) noexcept { ::operator delete[](data); }
#endif

namespace {

constexpr DataType F32 = DataType::F32, F16 = DataType::F16, BF16 = DataType::BF16;

struct Problem {
  int64_t images, height, width, in, out, kh, kw;
  int64_t strideH = 1, strideW = 1;
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  int64_t dilationH = 1, dilationW = 1, groups = 1;
  bool isOIHW = false;

  int64_t outHeight() const {
    return (height + top + bottom - (kh - 1) * dilationH - 1) / strideH + 1;
  }
  int64_t outWidth() const {
    return (width + left + right - (kw - 1) * dilationW - 1) / strideW + 1;
  }
  std::vector<int64_t> xDims() const { return {images, height, width, in}; }
  std::vector<int64_t> filterDims() const {
    if (isOIHW)
      return {out, in / groups, kh, kw};
    return {kh, kw, in / groups, out};
  }
  std::vector<int64_t> yDims() const { return {images, outHeight(), outWidth(), out}; }
  LibraryCall call(CallId id) const {
    return convolution(id, {strideH, strideW}, {top, bottom, left, right},
                       {dilationH, dilationW}, groups, isOIHW);
  }

  /// Calls body(x index, filter index, y index) for every product there is.
  template <typename Body>
  void forProducts(Body &&body) const {
    int64_t perGroupIn = in / groups, perGroupOut = out / groups;
    for (int64_t n = 0; n < images; ++n)
      for (int64_t i = 0; i < outHeight(); ++i)
        for (int64_t j = 0; j < outWidth(); ++j)
          for (int64_t p = 0; p < kh; ++p)
            for (int64_t q = 0; q < kw; ++q) {
              int64_t row = i * strideH - top + p * dilationH;
              int64_t column = j * strideW - left + q * dilationW;
              if (row < 0 || row >= height || column < 0 || column >= width)
                continue;
              for (int64_t o = 0; o < out; ++o)
                for (int64_t c = 0; c < perGroupIn; ++c)
                  body(((n * height + row) * width + column) * in +
                           o / perGroupOut * perGroupIn + c,
                       isOIHW ? ((o * perGroupIn + c) * kh + p) * kw + q
                              : ((p * kw + q) * perGroupIn + c) * out + o,
                       ((n * outHeight() + i) * outWidth() + j) * out + o);
            }
  }
};

/// Sums of products with the sum of their sizes and their number.
struct Sums {
  explicit Sums(int64_t count) : value(count), size(count), terms(count) {}
  void add(int64_t i, double term) {
    value[i] += term;
    size[i] += std::fabs(term);
    ++terms[i];
  }
  void compare(const Tensor &found, bool relu = false) const {
    for (int64_t i = 0; i < found.count(); ++i) {
      double expected = relu ? std::max(value[i], 0.0) : value[i];
      double bound = gammaOf(terms[i] + 1) * size[i];
      bound += roundingError(found.ref.type, std::fabs(expected) + bound);
      ASSERT_NEAR(found[i], expected, bound) << i;
    }
  }
  std::vector<double> value, size;
  std::vector<int64_t> terms;
};

void checkLayout(const Problem &p, DataType type, bool fastBF16) {
  Tensor x = randomTensor(type, p.xDims(), 1);
  Tensor filter = randomTensor(type, p.filterDims(), 2);
  Tensor bias = randomTensor(type, {p.out}, 3);
  Tensor dy = randomTensor(type, p.yDims(), 4);
  Tensor y(type, p.yDims()), dx(type, p.xDims());
  // Weight gradients are kept in f32.
  Tensor dfilter(F32, p.filterDims());
  Sums forward(y.count()), biased(y.count()), input(x.count()), weights(filter.count());
  p.forProducts([&](int64_t xi, int64_t fi, int64_t yi) {
    forward.add(yi, x[xi] * filter[fi]);
    input.add(xi, dy[yi] * filter[fi]);
    weights.add(fi, dy[yi] * x[xi]);
  });
  biased = forward;
  for (int64_t i = 0; i < y.count(); ++i)
    biased.add(i, bias[i % p.out]);

  ASSERT_EQ(runCall(p.call(CallId::Conv2D), {&x, &filter}, y, fastBF16), "");
  forward.compare(y);
  auto withBias = std::get<Conv2DCall>(p.call(CallId::Conv2D));
  withBias.hasBias = true;
  withBias.epilogue = Epilogue::Relu;
  ASSERT_EQ(runCall(withBias, {&x, &filter, &bias}, y, fastBF16), "");
  biased.compare(y, /*relu=*/true);
  ASSERT_EQ(runCall(p.call(CallId::Conv2DInputGrad), {&dy, &filter}, dx, fastBF16), "");
  input.compare(dx);
  ASSERT_EQ(runCall(p.call(CallId::Conv2DFilterGrad), {&x, &dy}, dfilter, fastBF16), "");
  weights.compare(dfilter);
}

/// Checks both layouts of the filter.
void check(Problem p, DataType type = F32, bool fastBF16 = hasFastBF16()) {
  for (bool isOIHW : {false, true}) {
    p.isOIHW = isOIHW;
    checkLayout(p, type, fastBF16);
  }
}

TEST(ConvTest, Plain) {
  check({2, 6, 5, 3, 4, 3, 3});
  check({3, 8, 8, 16, 32, 3, 3, 1, 1, 1, 1, 1, 1});
  check({1, 4, 4, 8, 8, 1, 1});
  check({1, 3, 3, 1, 1, 3, 3});
}

ConvPlan planOf(CallId id, const Problem &p, DataType type, int64_t threads) {
  auto make = [&](std::vector<int64_t> dims, DataType type) {
    BufferRef ref;
    ref.type = type;
    ref.dims = std::move(dims);
    return ref;
  };
  BufferRef x = make(p.xDims(), type), y = make(p.yDims(), type),
            filter = make(p.filterDims(), type);
  Instruction call = id == CallId::Conv2D ? makeInstruction(p.call(id), {x, filter}, y)
                     : id == CallId::Conv2DInputGrad
                         ? makeInstruction(p.call(id), {y, filter}, x)
                         : makeInstruction(p.call(id), {x, y}, make(p.filterDims(), F32));
  ConvPlan plan = planConv(call, threads);
  EXPECT_EQ(getCallWorkspace(call, threads), plan.workspaceBytes(threads));
  return plan;
}
ConvPlan planFilterGrad(const Problem &p, DataType type, int64_t threads) {
  return planOf(CallId::Conv2DFilterGrad, p, type, threads);
}

/// Images of a thread that are widened lie on its stack if they are few: filter gradients
/// of halves take what those of f32 do.
TEST(ConvTest, SmallImagesNeedNoWorkspace) {
  const Problem small{2, 16, 16, 16, 3, 3, 3, 1, 1, 1, 1, 1, 1},
      points{2, 4, 4, 128, 128, 1, 1},
      depthwise{2, 8, 8, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16},
      large{2, 32, 32, 16, 3, 3, 3, 1, 1, 1, 1, 1, 1};
  for (DataType type : {F16, BF16}) {
    for (const Problem &p : {small, depthwise}) {
      const ConvPlan plan = planFilterGrad(p, type, 4);
      EXPECT_TRUE(plan.usesStack());
      EXPECT_GT(plan.threadBytes, 0);
      EXPECT_EQ(plan.workspaceBytes(4), planFilterGrad(p, F32, 4).workspaceBytes(4));
    }
    EXPECT_FALSE(planFilterGrad(large, type, 4).usesStack());
    for (const Problem &p : {small, points, depthwise, large})
      check(p, type);
  }
}

TEST(ConvTest, MoreImagesThanRoomForTheirSums) {
  // Four chunks of ten images, the last of seven: filter gradients of as many as there
  // are threads, and the sum of those before. The same bits for any number of threads.
  Problem p{37, 5, 4, 3, 4, 3, 3, 1, 1, 1, 1, 1, 1};
  check(p);
  check({17, 4, 4, 8, 8, 1, 1});
  EXPECT_EQ(planFilterGrad(p, F32, 1).chunks, 4);
  EXPECT_EQ(planFilterGrad(p, F32, 1).sums, 2);
  EXPECT_EQ(planFilterGrad(p, F32, 2).sums, 3);
  EXPECT_EQ(planFilterGrad(p, F32, 64).sums, 4);
  const int64_t packed = 9 * 8 * 16 * 4;
  EXPECT_EQ(planFilterGrad(p, F32, 2).workspaceBytes(2), 3 * packed);
}

/// Bytes of a filter in the layout that oneDNN likes for a convolution; 0 if it has none.
int64_t getLayoutBytes(const Problem &p, DataType type) {
  dnnl_memory_desc_t x, filter, y;
  dnnl_convolution_desc_t desc;
  const dnnl_dim_t strides[] = {p.strideH, p.strideW}, dense[] = {0, 0},
                   low[] = {p.top, p.left}, high[] = {p.bottom, p.right};
  auto makeImages = [](dnnl_memory_desc_t &to, const std::vector<int64_t> &d,
                       DataType type) {
    return makeDesc(to, {d[0], d[3], d[1], d[2]},
                    {d[1] * d[2] * d[3], 1, d[2] * d[3], d[3]}, type);
  };
  Primitive conv;
  if (!makeImages(x, p.xDims(), type) || !makeImages(y, p.yDims(), F32) ||
      !makeDesc(filter, {p.out, p.in, p.kh, p.kw}, {}, type) ||
      dnnl_dilated_convolution_forward_desc_init(
          &desc, dnnl_forward_training, dnnl_convolution_direct, &x, &filter, nullptr, &y,
          strides, dense, low, high) != dnnl_success ||
      !conv.init(&desc, nullptr))
    return 0;
  const dnnl_memory_desc_t layout = conv.query(dnnl_query_weights_md);
  return static_cast<int64_t>(dnnl_memory_desc_get_size(&layout));
}

/// Layouts of filters of few input channels have few rows: one that does not fit would be
/// multiplied as it is stored, by plain loops.
TEST(ConvTest, FewChannels) {
  for (int64_t in : {1, 3, 5, 7})
    for (int64_t out : {16, 64, 100}) {
      const Problem stem{2, 11, 11, in, out, 3, 3, 2, 2, 1, 1, 1, 1},
          patches{3, 12, 12, in, out, 4, 4, 4, 4};
      for (const Problem &p : {stem, patches}) {
        check(p);
        const int64_t outs = out > 64 ? 128 : out, area = p.kh * p.kw;
        EXPECT_EQ(planOf(CallId::Conv2D, p, F32, 2).packedBytes, area * 8 * outs * 4);
        EXPECT_EQ(planOf(CallId::Conv2D, p, BF16, 2).packedBytes, area * 20 * outs * 4);
        const ConvPlan gradient = planFilterGrad(p, F16, 2);
        EXPECT_EQ(gradient.packedBytes * gradient.slices, area * 8 * outs * 4);
        // oneDNN's own layouts fit.
        EXPECT_LE(getLayoutBytes(p, F32), area * 8 * outs * 4);
        EXPECT_LE(getLayoutBytes(p, BF16), area * 20 * outs * 4);
      }
    }
  const Problem more{2, 11, 11, 8, 64, 3, 3, 2, 2, 1, 1, 1, 1},
      point{2, 11, 11, 3, 64, 1, 1};
  EXPECT_EQ(planOf(CallId::Conv2D, more, F32, 2).packedBytes, 9 * 32 * 64 * 4);
  EXPECT_EQ(planOf(CallId::Conv2D, point, F32, 2).packedBytes, 32 * 64 * 4);
}

#ifndef HAS_ASAN
TEST(ConvTest, ScratchpadsHold) {
  // oneDNN copies what a stride reads, in rows of 16 channels at least.
  for (int64_t in : {1, 3, 8, 15, 16, 17})
    for (int64_t size : {100, 128}) {
      const Problem p{1, size, size, in, 48, 1, 1, 2, 2};
      Tensor x = randomTensor(F32, p.xDims(), 1), dy = randomTensor(F32, p.yDims(), 2),
             gradient(F32, p.filterDims());
      guardsScratchpads = true;
      EXPECT_EQ(runCall(p.call(CallId::Conv2DFilterGrad), {&x, &dy}, gradient), "");
      guardsScratchpads = false;
      EXPECT_TRUE(releaseScratchpads()) << in << " channels of " << size << " x " << size;
    }
}
#endif

/// Filters that are large beside the images are cut into slices of channels, alone or
/// along with chunks of images, and those beside which images are large into chunks
/// alone.
TEST(ConvTest, CutsOfFilterGradients) {
  auto expectCut = [](const Problem &p, int64_t chunks, int64_t slices) {
    ConvPlan plan = planFilterGrad(p, F32, 2);
    EXPECT_EQ(plan.chunks, chunks);
    EXPECT_EQ(plan.slices, slices);
  };
  // Layers of ResNet-18 on images of 224 x 224 and 32 x 32.
  expectCut({8, 56, 56, 64, 64, 3, 3, 1, 1, 1, 1, 1, 1}, 8, 1);
  expectCut({8, 14, 14, 256, 256, 3, 3, 1, 1, 1, 1, 1, 1}, 2, 8);
  expectCut({8, 8, 8, 64, 512, 3, 3, 1, 1, 1, 1, 1, 1}, 1, 16);
  // Depthwise: eight blocks of 16 channels.
  expectCut({32, 16, 16, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 128}, 2, 1);
}

/// With one channel a group channels lie in the lanes, and the sums of some images are
/// parts of the gradient.
TEST(ConvTest, DepthwiseFilterGradients) {
  auto isDepthwise = [](const Problem &p) {
    return planFilterGrad(p, F32, 2).isDepthwiseGrad;
  };
  // Two channels a group; two results of each; one channel.
  EXPECT_FALSE(isDepthwise({2, 6, 6, 32, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16}));
  EXPECT_FALSE(isDepthwise({2, 6, 6, 16, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16}));
  EXPECT_FALSE(isDepthwise({2, 6, 6, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1}));
  for (Problem p : {// Nine images, each a part; whole lanes, and four channels more.
                    Problem{9, 6, 5, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16},
                    Problem{3, 9, 8, 20, 20, 5, 4, 2, 1, 2, 2, 2, 1, 1, 1, 20},
                    // One part.
                    Problem{2, 7, 7, 256, 256, 7, 7, 1, 1, 3, 3, 3, 3, 1, 1, 256},
                    // Rows that no tap reads, and taps that read nothing.
                    Problem{2, 9, 9, 32, 32, 2, 2, 3, 3, 0, 0, 0, 0, 1, 1, 32},
                    Problem{2, 8, 9, 18, 18, 3, 2, 1, 2, 2, 2, 3, 1, 2, 3, 18},
                    Problem{2, 1, 1, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16},
                    Problem{5, 4, 6, 2, 2, 1, 8, 1, 1, 0, 0, 4, 3, 1, 1, 2}}) {
    ASSERT_TRUE(isDepthwise(p));
    for (DataType type : {F32, F16, BF16})
      for (auto [result, isOIHW] : {std::pair(F32, false), std::pair(BF16, false),
                                    std::pair(F32, true), std::pair(F16, true)}) {
        p.isOIHW = isOIHW;
        Tensor x = randomTensor(type, p.xDims(), 1),
               dy = randomTensor(type, p.yDims(), 2), dfilter(result, p.filterDims());
        Sums sums(dfilter.count());
        p.forProducts(
            [&](int64_t xi, int64_t fi, int64_t yi) { sums.add(fi, dy[yi] * x[xi]); });
        ASSERT_EQ(runCall(p.call(CallId::Conv2DFilterGrad), {&x, &dy}, dfilter), "");
        sums.compare(dfilter);
        Instruction call = makeInstruction(p.call(CallId::Conv2DFilterGrad),
                                           {x.ref, dy.ref}, dfilter.ref);
        addScratch(call, 2);
        Tensor scratch(DataType::I8, {call.refs.back().count()});
        ThreadTeam team(2);
        for (VectorSet set : {VectorSet::Plain, VectorSet::AVX2, VectorSet::AVX512}) {
          if (set > getVectorSet())
            continue;
          std::memset(dfilter.data(), 0x7f, dfilter.ref.bytes());
          void *buffers[] = {x.data(), dy.data(), dfilter.data(), scratch.data()};
          std::string error;
          ASSERT_TRUE(makeDepthwiseFilterGrad(call, 2, set)->run(buffers, team, error));
          EXPECT_TRUE(dfilter.isIntact() && scratch.isIntact());
          sums.compare(dfilter);
        }
      }
  }
}

/// Filter gradients of small images and many channels are matmuls, with blocks of
/// channels and chunks of images that need not divide them.
TEST(ConvTest, FilterGradientsAsMatmuls) {
  using Blocks = std::pair<int64_t, int64_t>;
  auto getBlocks = [](const Problem &p) {
    ConvPlan plan = planFilterGrad(p, F32, 2);
    return Blocks(plan.inBlock, plan.outBlock);
  };
  const Blocks none(0, 0);
  EXPECT_EQ(getBlocks({8, 7, 7, 512, 512, 3, 3, 1, 1, 1, 1, 1, 1}), Blocks(256, 256));
  EXPECT_EQ(getBlocks({64, 4, 4, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1}), Blocks(64, 128));
  EXPECT_EQ(getBlocks({64, 2, 2, 512, 512, 1, 1}), Blocks(128, 128));
  // Dilations, with most products with padding.
  EXPECT_EQ(getBlocks({4, 16, 16, 960, 256, 3, 3, 1, 1, 12, 12, 12, 12, 12, 12}),
            Blocks(256, 256));
  EXPECT_EQ(getBlocks({8, 14, 14, 256, 256, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2}), none);
  EXPECT_EQ(getBlocks({1, 40, 40, 64, 64, 3, 3, 1, 1, 36, 36, 36, 36, 36, 36}), none);
  // Large images, few channels, points of images, groups.
  EXPECT_EQ(getBlocks({8, 14, 14, 256, 256, 3, 3, 1, 1, 1, 1, 1, 1}), none);
  EXPECT_EQ(getBlocks({8, 8, 8, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1}), none);
  EXPECT_EQ(getBlocks({8, 2, 2, 63, 128, 3, 3, 1, 1, 1, 1, 1, 1}), none);
  EXPECT_EQ(getBlocks({8, 3, 3, 256, 256, 1, 1}), none);
  EXPECT_EQ(getBlocks({8, 2, 2, 512, 512, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2}), none);

  for (Problem p : {Problem{5, 3, 2, 64, 96, 3, 3, 1, 1, 1, 1, 1, 1},
                    Problem{2, 3, 3, 70, 300, 3, 2, 1, 1, 2, 0, 0, 1},
                    Problem{3, 5, 5, 64, 128, 3, 3, 2, 2, 1, 1, 1, 1},
                    Problem{2, 6, 6, 64, 64, 3, 3, 1, 1, 0, 0, 0, 0, 2, 2},
                    Problem{2, 9, 10, 64, 70, 3, 3, 1, 1, 6, 6, 7, 7, 6, 7},
                    Problem{3, 5, 12, 64, 64, 1, 3, 1, 1, 0, 0, 15, 15, 1, 15},
                    // Taps that read nothing.
                    Problem{4, 1, 1, 64, 64, 3, 3, 1, 1, 1, 1, 1, 1},
                    // Two chunks, the second shorter.
                    Problem{150, 2, 2, 64, 65, 1, 1}}) {
    ASSERT_GT(getBlocks(p).first, 0);
    for (DataType type : {F32, F16, BF16})
      for (bool fastBF16 : {false, true})
        for (auto [result, isOIHW] : {std::pair(F32, false), std::pair(BF16, false),
                                      std::pair(F32, true), std::pair(BF16, true)}) {
          p.isOIHW = isOIHW;
          Tensor x = randomTensor(type, p.xDims(), 1),
                 dy = randomTensor(type, p.yDims(), 2), dfilter(result, p.filterDims());
          Sums sums(dfilter.count());
          p.forProducts(
              [&](int64_t xi, int64_t fi, int64_t yi) { sums.add(fi, dy[yi] * x[xi]); });
          ASSERT_EQ(
              runCall(p.call(CallId::Conv2DFilterGrad), {&x, &dy}, dfilter, fastBF16),
              "");
          sums.compare(dfilter);
        }
  }
}

/// Convolutions of few points of many channels, of which three in eight products are with
/// padding, and their input gradients, are matmuls by point; so are strided ones of 1
/// x 1.
TEST(ConvTest, PointsAsMatmuls) {
  auto countTaps = [](const Problem &p, CallId id = CallId::Conv2D) {
    return planOf(id, p, F32, 2).pointTaps;
  };
  const Problem square{32, 2, 2, 256, 256, 3, 3, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(countTaps(square), 2);
  EXPECT_EQ(countTaps(square, CallId::Conv2DInputGrad), 1);
  EXPECT_EQ(countTaps(square, CallId::Conv2DFilterGrad), 0);
  EXPECT_EQ(countTaps({32, 3, 3, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1}), 3);
  EXPECT_EQ(countTaps({32, 4, 4, 128, 128, 3, 3, 2, 2, 1, 1, 1, 1}), 3);
  EXPECT_EQ(countTaps({32, 4, 4, 128, 256, 1, 1, 2, 2}), 1);
  // Sums of 1,024 terms, and dilated taps, which do not lie side by side.
  EXPECT_EQ(countTaps({32, 3, 3, 512, 512, 3, 3, 1, 1, 1, 1, 1, 1}), 2);
  EXPECT_EQ(countTaps({32, 4, 4, 128, 128, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2}), 1);
  EXPECT_EQ(countTaps({1, 2, 2, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1}), 2);
  // Few images, more points, less padding, a matmul of all points, few channels, groups.
  EXPECT_EQ(countTaps({7, 3, 3, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1}), 0);
  EXPECT_EQ(countTaps({7, 4, 4, 128, 128, 1, 1, 2, 2}), 0);
  EXPECT_EQ(countTaps({32, 5, 4, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1}), 0);
  EXPECT_EQ(countTaps({32, 4, 4, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1}), 0);
  EXPECT_EQ(countTaps({32, 4, 4, 128, 128, 3, 3, 2, 2}), 0);
  EXPECT_EQ(countTaps({32, 4, 4, 128, 128, 1, 1}), 0);
  EXPECT_EQ(countTaps({32, 2, 2, 63, 256, 3, 3, 1, 1, 1, 1, 1, 1}), 0);
  EXPECT_EQ(countTaps({32, 2, 2, 64, 64, 3, 3, 1, 1, 1, 1, 1, 1}), 0);
  EXPECT_EQ(countTaps({32, 2, 2, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2}), 0);

  for (Problem p : {Problem{5, 2, 2, 128, 130, 3, 3, 1, 1, 1, 1, 1, 1},
                    Problem{8, 3, 3, 130, 129, 3, 2, 1, 1, 2, 0, 0, 1},
                    Problem{8, 3, 2, 129, 130, 3, 3, 2, 2, 1, 1, 1, 1},
                    Problem{8, 4, 4, 128, 128, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2},
                    // Points of x that nothing reads, and of y that read nothing.
                    Problem{8, 4, 4, 128, 135, 1, 1, 3, 2},
                    Problem{8, 1, 2, 128, 128, 1, 2, 1, 1, 1, 1, 3, 1},
                    // Images of one point; two chunks, the second shorter.
                    Problem{4, 1, 1, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1},
                    Problem{67, 2, 1, 128, 129, 3, 3, 1, 1, 1, 1, 1, 1}}) {
    ASSERT_GT(countTaps(p), 0);
    ASSERT_GT(countTaps(p, CallId::Conv2DInputGrad), 0);
    for (DataType type : {F32, F16, BF16})
      for (bool fastBF16 : {false, true})
        check(p, type, fastBF16);
  }
}

TEST(ConvTest, SlicesOfChannels) {
  const Problem alone{5, 3, 2, 16, 96, 3, 3, 1, 1, 1, 1, 1, 1},
      strided{3, 5, 5, 24, 128, 3, 3, 2, 2, 1, 1, 1, 1}, point{2, 4, 4, 40, 64, 1, 1},
      dilated{2, 7, 7, 16, 64, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2},
      chunks{4, 6, 6, 16, 64, 3, 3, 1, 1, 1, 1, 1, 1};
  EXPECT_GT(planFilterGrad(alone, F32, 2).slices, 1);
  EXPECT_GT(planFilterGrad(strided, F32, 2).slices, 1);
  EXPECT_GT(planFilterGrad(point, F32, 2).slices, 1);
  EXPECT_GT(planFilterGrad(dilated, F32, 2).slices, 1);
  EXPECT_GT(planFilterGrad(chunks, F32, 2).slices, 1);
  EXPECT_GT(planFilterGrad(chunks, F32, 2).chunks, 1);
  for (DataType type : {F32, F16, BF16})
    for (const Problem &p : {alone, strided, point, dilated, chunks})
      check(p, type, /*fastBF16=*/false);
}

/// Where images are so small that at most half of the taps read them, the others are left
/// out, in less memory.
TEST(ConvTest, TapsThatReadPaddingAlone) {
  using Taps = std::array<int64_t, 4>;
  auto getTaps = [](CallId id, const Problem &p) {
    const ConvPlan plan = planOf(id, p, F32, 2);
    if (plan.tapBytes == 0)
      return Taps{};
    return Taps{plan.firstTap[0], plan.taps[0], plan.firstTap[1], plan.taps[1]};
  };
  const Problem point{6, 1, 1, 32, 48, 3, 3, 1, 1, 1, 1, 1, 1},
      strided{5, 2, 2, 16, 32, 3, 3, 2, 2, 1, 1, 1, 1},
      // A row of points; dilated and grouped.
      row{3, 1, 6, 16, 32, 5, 3, 1, 1, 2, 2, 1, 1},
      column{3, 6, 1, 16, 32, 3, 7, 1, 1, 1, 1, 3, 3},
      dilated{4, 2, 3, 16, 24, 3, 3, 1, 1, 2, 2, 3, 3, 2, 3, 2},
      // One channel a group; more padding before than behind.
      depthwise{3, 1, 2, 16, 16, 3, 3, 1, 1, 1, 1, 2, 0, 1, 1, 16},
      uneven{3, 2, 2, 8, 16, 4, 4, 1, 1, 3, 0, 3, 0};
  EXPECT_EQ(getTaps(CallId::Conv2D, point), Taps({1, 1, 1, 1}));
  EXPECT_EQ(getTaps(CallId::Conv2D, strided), Taps({1, 2, 1, 2}));
  EXPECT_EQ(getTaps(CallId::Conv2DInputGrad, strided), Taps({1, 2, 1, 2}));
  EXPECT_EQ(getTaps(CallId::Conv2D, row), Taps({2, 1, 0, 3}));
  EXPECT_EQ(getTaps(CallId::Conv2D, column), Taps({0, 3, 3, 1}));
  EXPECT_EQ(getTaps(CallId::Conv2DInputGrad, dilated), Taps({1, 1, 1, 1}));
  EXPECT_EQ(getTaps(CallId::Conv2D, depthwise), Taps({1, 1, 1, 2}));
  EXPECT_EQ(getTaps(CallId::Conv2D, uneven), Taps({2, 2, 2, 2}));
  // Gradients of filters have all taps; more than half are read, or all.
  EXPECT_EQ(getTaps(CallId::Conv2DFilterGrad, point), Taps());
  EXPECT_EQ(getTaps(CallId::Conv2D, {2, 1, 4, 8, 8, 2, 3, 1, 1, 1, 0, 0, 0}),
            Taps({1, 1, 0, 3}));
  EXPECT_EQ(getTaps(CallId::Conv2D, {2, 2, 4, 8, 8, 3, 1, 1, 1, 1, 1, 0, 0}), Taps());
  EXPECT_EQ(getTaps(CallId::Conv2D, {2, 2, 2, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1}), Taps());
  for (DataType type : {F32, F16, BF16})
    for (const Problem &p : {point, strided, row, column, dilated, depthwise, uneven})
      for (bool fastBF16 : {false, hasFastBF16()})
        check(p, type, fastBF16);

  const Problem large{64, 1, 1, 512, 512, 3, 3, 1, 1, 1, 1, 1, 1},
      dense{64, 1, 1, 512, 512, 1, 1};
  EXPECT_LT(planOf(CallId::Conv2D, large, F32, 2).workspaceBytes(2),
            planOf(CallId::Conv2D, dense, F32, 2).workspaceBytes(2) + 512 * 512 * 4 + 64);
}

/// The input gradient of a convolution without strides that is depthwise or has a large
/// dilation is a convolution of dy.
TEST(ConvTest, InputGradientsAsConvolutions) {
  auto isTurned = [](CallId id, const Problem &p) {
    return planOf(id, p, F32, 2).isTurned;
  };
  const CallId grad = CallId::Conv2DInputGrad;
  const Problem same{2, 9, 8, 32, 32, 5, 5, 1, 1, 4, 4, 4, 4, 2, 2, 32},
      uneven{3, 7, 6, 16, 16, 3, 2, 1, 1, 3, 1, 2, 0, 2, 2, 16},
      rows{2, 6, 7, 16, 16, 3, 3, 1, 1, 1, 1, 3, 3, 1, 3, 16},
      // One tap is left.
      one{2, 3, 3, 16, 16, 3, 3, 1, 1, 4, 4, 4, 4, 4, 4, 16},
      dense{2, 9, 9, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16},
      // Large dilations along a row, both axes, of which most taps read padding, in
      // slices and in blocks of channels.
      row{3, 1, 40, 24, 40, 1, 3, 1, 1, 0, 0, 0, 0, 1, 4},
      causal{2, 1, 40, 17, 5, 1, 2, 1, 1, 0, 0, 8, 0, 1, 8},
      both{2, 12, 12, 16, 32, 3, 3, 1, 1, 4, 4, 5, 5, 4, 5},
      far{2, 6, 6, 64, 64, 3, 3, 1, 1, 5, 5, 5, 5, 5, 5},
      sliced{16, 1, 40, 384, 256, 1, 3, 1, 1, 0, 0, 4, 4, 1, 4, 1, true},
      blocked{2, 1, 24, 32, 512, 1, 3, 1, 1, 0, 0, 4, 4, 1, 4},
      // Not with strides, groups of several channels, more padding than a filter has.
      strided{2, 9, 9, 16, 16, 3, 3, 2, 1, 2, 2, 2, 2, 2, 2, 16},
      wide{2, 9, 9, 16, 32, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2, 16},
      padded{2, 5, 5, 16, 16, 3, 3, 1, 1, 6, 1, 2, 2, 2, 2, 16},
      near{2, 9, 9, 16, 16, 3, 3, 1, 1, 3, 3, 3, 3, 3, 3};
  EXPECT_GT(planOf(grad, sliced, F32, 2).slices, 1);
  EXPECT_TRUE(planOf(grad, blocked, F32, 2).hasBlocks);
  for (const Problem &p :
       {same, uneven, rows, one, dense, row, causal, both, far, blocked}) {
    EXPECT_TRUE(isTurned(grad, p));
    EXPECT_FALSE(isTurned(CallId::Conv2D, p));
    for (DataType type : {F32, F16, BF16})
      for (bool fastBF16 : {false, hasFastBF16()})
        check(p, type, fastBF16);
  }
  for (const Problem &p : {strided, wide, padded, near}) {
    EXPECT_FALSE(isTurned(grad, p));
    check(p);
  }
  // The slices of dx take more room than those of dy, which is f32 and not copied.
  EXPECT_TRUE(isTurned(grad, sliced));
  EXPECT_GT(planOf(grad, sliced, F32, 2).chunks, 1);
  EXPECT_FALSE(planOf(grad, sliced, F32, 2).hasBlocks);
  for (DataType type : {F32, BF16}) {
    Tensor dy = randomTensor(type, sliced.yDims(), 1), dx(type, sliced.xDims()),
           filter = randomTensor(type, sliced.filterDims(), 2);
    Sums input(dx.count());
    sliced.forProducts(
        [&](int64_t xi, int64_t fi, int64_t yi) { input.add(xi, dy[yi] * filter[fi]); });
    ASSERT_EQ(runCall(sliced.call(grad), {&dy, &filter}, dx, hasFastBF16()), "");
    input.compare(dx);
  }
}

/// The filter gradient over long rows is one of a single point for each tap.
TEST(ConvTest, FilterGradientsTapByTap) {
  auto isByTap = [](CallId id, const Problem &p) {
    return planOf(id, p, F32, 2).isByTap;
  };
  const CallId grad = CallId::Conv2DFilterGrad;
  const Problem causal{3, 1, 300, 32, 48, 1, 3, 1, 1, 0, 0, 16, 0, 1, 8},
      same{2, 1, 257, 48, 33, 1, 4, 1, 1, 0, 0, 2, 3, 1, 2},
      // The last tap reads nothing but padding; more images than sums.
      idle{5, 1, 260, 32, 32, 1, 3, 1, 1, 0, 0, 0, 520, 1, 260},
      images{9, 1, 256, 32, 32, 1, 2, 1, 1, 0, 0, 0, 1},
      // Not over short rows, several rows, with strides, groups, one tap, few channels.
      brief{2, 1, 250, 32, 32, 1, 3, 1, 1, 0, 0, 1, 1},
      rows{2, 2, 256, 32, 32, 1, 3, 1, 1, 0, 0, 1, 1},
      strided{2, 1, 514, 32, 32, 1, 3, 1, 2, 0, 0, 1, 1},
      grouped{2, 1, 256, 64, 64, 1, 3, 1, 1, 0, 0, 1, 1, 1, 1, 2},
      point{2, 1, 256, 32, 32, 1, 1}, narrow{2, 1, 256, 16, 32, 1, 3, 1, 1, 0, 0, 1, 1};
  for (const Problem &p : {causal, same, idle, images}) {
    EXPECT_TRUE(isByTap(grad, p));
    EXPECT_FALSE(isByTap(CallId::Conv2DInputGrad, p));
    for (DataType type : {F32, F16, BF16})
      for (bool isOIHW : {false, true})
        for (DataType result : {F32, BF16}) {
          Problem laid = p;
          laid.isOIHW = isOIHW;
          Tensor x = randomTensor(type, p.xDims(), 1),
                 dy = randomTensor(type, p.yDims(), 4);
          Tensor dfilter(result, laid.filterDims());
          Sums weights(dfilter.count());
          laid.forProducts([&](int64_t xi, int64_t fi, int64_t yi) {
            weights.add(fi, dy[yi] * x[xi]);
          });
          ASSERT_EQ(runCall(laid.call(grad), {&x, &dy}, dfilter, hasFastBF16()), "");
          weights.compare(dfilter);
        }
  }
  for (const Problem &p : {brief, rows, strided, grouped, point, narrow})
    EXPECT_FALSE(isByTap(grad, p));
}

/// A filter or image of f32 that is rounded while it is read gives the bits of one that
/// was cast before, and takes no more memory than one that is not rounded.
TEST(ConvTest, RoundsWhileReading) {
  for (Problem p : {Problem{4, 6, 6, 16, 64, 3, 3, 1, 1, 1, 1, 1, 1},
                    Problem{2, 3, 3, 256, 256, 3, 3, 1, 1, 1, 1, 1, 1},
                    Problem{3, 5, 5, 24, 130, 3, 3, 2, 2, 1, 1, 1, 1},
                    Problem{2, 6, 5, 8, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 4},
                    Problem{4, 1, 1, 64, 96, 3, 3, 1, 1, 1, 1, 1, 1},
                    Problem{4, 2, 2, 64, 96, 3, 3, 2, 2, 1, 1, 1, 1},
                    Problem{4, 2, 2, 128, 160, 3, 3, 1, 1, 1, 1, 1, 1},
                    Problem{4, 2, 2, 160, 128, 3, 3, 2, 2, 1, 1, 1, 1},
                    Problem{2, 6, 6, 48, 48, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 48}})
    for (bool isOIHW : {false, true}) {
      p.isOIHW = isOIHW;
      for (CallId id : {CallId::Conv2D, CallId::Conv2DInputGrad}) {
        const bool isForward = id == CallId::Conv2D;
        const uint32_t filterNumber = 1;
        Tensor filter = randomTensor(F32, p.filterDims(), 2);
        setRoundedNumbers(filter);
        for (Rounding rounding : {Rounding::F16, Rounding::BF16})
          for (bool fastBF16 : {false, true}) {
            const DataType type = getRounded(F32, rounding);
            Tensor in = randomTensor(type, isForward ? p.xDims() : p.yDims(), 1),
                   low = castTensor(filter, type);
            Tensor expected(type, isForward ? p.yDims() : p.xDims()),
                found(type, expected.ref.dims);
            LibraryCall call = p.call(id);
            ASSERT_EQ(runCall(call, {&in, &low}, expected, fastBF16), "");
            ASSERT_TRUE(setRounding(call, filterNumber, rounding));
            ASSERT_EQ(runCall(call, {&in, &filter}, found, fastBF16), "");
            EXPECT_TRUE(expected.bytes() == found.bytes())
                << p.in << " " << p.out << " " << isForward << isOIHW << fastBF16;
            Instruction rounded = makeInstruction(call, {in.ref, filter.ref}, found.ref);
            // Matmuls of points copy taps as they round, others as they pack.
            const ConvPlan plan = planConv(rounded, 2);
            EXPECT_TRUE(plan.filterBytes == 0 || plan.pointTaps > 0);
            EXPECT_LE(
                plan.workspaceBytes(2),
                getCallWorkspace(makeInstruction(call, {in.ref, low.ref}, found.ref), 2));
          }
      }
      for (CallId id : {CallId::Conv2D, CallId::Conv2DFilterGrad}) {
        const bool isForward = id == CallId::Conv2D;
        const uint32_t imageNumber = 0;
        Tensor image = randomTensor(F32, p.xDims(), 2);
        setRoundedNumbers(image);
        for (Rounding rounding : {Rounding::F16, Rounding::BF16})
          for (bool fastBF16 : {false, true}) {
            const DataType type = getRounded(F32, rounding);
            Tensor other = randomTensor(type, isForward ? p.filterDims() : p.yDims(), 1),
                   low = castTensor(image, type);
            Tensor expected(F32, isForward ? p.yDims() : p.filterDims()),
                found(F32, expected.ref.dims);
            LibraryCall call = p.call(id);
            ASSERT_EQ(runCall(call, {&low, &other}, expected, fastBF16), "");
            const int64_t bytes = getCallWorkspace(
                makeInstruction(call, {low.ref, other.ref}, found.ref), 2);
            ASSERT_TRUE(setRounding(call, imageNumber, rounding));
            ASSERT_EQ(runCall(call, {&image, &other}, found, fastBF16), "");
            EXPECT_TRUE(expected.bytes() == found.bytes())
                << p.in << " " << p.out << " " << isForward << isOIHW << fastBF16;
            EXPECT_EQ(getCallWorkspace(
                          makeInstruction(call, {image.ref, other.ref}, found.ref), 2),
                      bytes);
          }
      }
    }
}

/// The layout of the filter changes neither the plan nor a bit of the result, but where
/// matmuls take taps side by side or one by one, and where filter gradients are matmuls,
/// which are transposed then: oneDNN's for AVX2 add some columns in another order.
TEST(ConvTest, LayoutsOfFilters) {
  for (Problem p :
       {Problem{4, 6, 6, 16, 64, 3, 3, 1, 1, 1, 1, 1, 1},
        Problem{3, 3, 4, 256, 128, 3, 2, 2, 2, 1, 1, 1, 1},
        Problem{2, 6, 5, 8, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 4},
        Problem{9, 3, 3, 80, 64, 3, 3, 1, 1, 1, 1, 1, 1},
        Problem{4, 1, 1, 64, 96, 3, 3, 1, 1, 1, 1, 1, 1},
        Problem{4, 2, 2, 24, 96, 3, 3, 2, 2, 1, 1, 1, 1},
        Problem{2, 5, 5, 20, 64, 3, 3, 1, 1, 1, 1, 1, 1}, Problem{2, 5, 5, 64, 20, 1, 1},
        // There may be no room for oneDNN's layouts of these.
        Problem{8, 14, 14, 240, 40, 1, 1},
        Problem{8, 14, 14, 240, 240, 5, 5, 1, 1, 2, 2, 2, 2, 1, 1, 240}}) {
    Problem q = p;
    q.isOIHW = true;
    auto swap = [&](const Tensor &from, Tensor &to, bool isToOIHW) {
      const int64_t area = p.kh * p.kw, in = p.in / p.groups;
      for (int64_t at = 0; at < area; ++at)
        for (int64_t i = 0; i < in; ++i)
          for (int64_t o = 0; o < p.out; ++o) {
            const int64_t hwio = (at * in + i) * p.out + o,
                          oihw = (o * in + i) * area + at;
            to.set(isToOIHW ? oihw : hwio, from[isToOIHW ? hwio : oihw]);
          }
    };
    Tensor x = randomTensor(F32, p.xDims(), 1), dy = randomTensor(F32, p.yDims(), 2),
           hwio = randomTensor(F32, p.filterDims(), 3), oihw(F32, q.filterDims());
    swap(hwio, oihw, /*isToOIHW=*/true);
    for (CallId id :
         {CallId::Conv2D, CallId::Conv2DInputGrad, CallId::Conv2DFilterGrad}) {
      const ConvPlan one = planOf(id, p, F32, 2), other = planOf(id, q, F32, 2);
      EXPECT_EQ(one.pointTaps > 0, other.pointTaps > 0);
      if (one.pointTaps > 0)
        continue;
      EXPECT_EQ(one.chunks, other.chunks);
      EXPECT_EQ(one.slices, other.slices);
      EXPECT_EQ(one.inBlock, other.inBlock);
      EXPECT_EQ(one.outBlock, other.outBlock);
      // Matmuls make [KH, KW, C, O].
      const int64_t reordered = one.inBlock > 0 ? hwio.ref.bytes() : 0;
      EXPECT_EQ(one.workspaceBytes(2) + reordered, other.workspaceBytes(2));
    }
    Tensor y(F32, p.yDims()), sameY(F32, p.yDims()), dx(F32, p.xDims()),
        sameDx(F32, p.xDims()), df(F32, p.filterDims()), stored(F32, q.filterDims()),
        sameDf(F32, p.filterDims());
    ASSERT_EQ(runCall(p.call(CallId::Conv2D), {&x, &hwio}, y), "");
    ASSERT_EQ(runCall(q.call(CallId::Conv2D), {&x, &oihw}, sameY), "");
    auto hasSameSums = [&](CallId id) {
      const ConvPlan plan = planOf(id, p, F32, 2);
      return plan.inBlock == 0 && plan.pointTaps == 0;
    };
    // Each sum of n products of numbers below 1 is at most n^2 2^-24 off.
    auto expectClose = [](const Tensor &one, const Tensor &other, int64_t terms) {
      const double bound = 2 * double(terms) * terms * 0x1p-24;
      for (int64_t i = 0; i < one.count(); ++i)
        EXPECT_NEAR(one[i], other[i], bound) << i;
    };
    if (hasSameSums(CallId::Conv2D))
      EXPECT_EQ(y.bytes(), sameY.bytes());
    else
      expectClose(y, sameY, p.kh * p.kw * p.in);
    ASSERT_EQ(runCall(p.call(CallId::Conv2DInputGrad), {&dy, &hwio}, dx), "");
    ASSERT_EQ(runCall(q.call(CallId::Conv2DInputGrad), {&dy, &oihw}, sameDx), "");
    if (hasSameSums(CallId::Conv2DInputGrad))
      EXPECT_EQ(dx.bytes(), sameDx.bytes());
    else
      expectClose(dx, sameDx, p.kh * p.kw * p.out);
    ASSERT_EQ(runCall(p.call(CallId::Conv2DFilterGrad), {&x, &dy}, df), "");
    ASSERT_EQ(runCall(q.call(CallId::Conv2DFilterGrad), {&x, &dy}, stored), "");
    swap(stored, sameDf, /*isToOIHW=*/false);
    if (hasSameSums(CallId::Conv2DFilterGrad))
      EXPECT_EQ(df.bytes(), sameDf.bytes());
    else
      expectClose(df, sameDf, p.images * p.outHeight() * p.outWidth());
  }
}

/// Equal chunks where there are, also if that makes fewer of them.
TEST(ConvTest, ChunksOfImages) {
  auto expectChunk = [](int64_t images, int64_t chunk, int64_t chunks) {
    ConvPlan plan = planOf(CallId::Conv2D, {images, 9, 9, 8, 8, 3, 3}, F32, 2);
    EXPECT_EQ(plan.chunk, chunk) << images;
    EXPECT_EQ(plan.chunks, chunks) << images;
  };
  expectChunk(64, 4, 16);
  expectChunk(100, 10, 10);
  expectChunk(37, 3, 13);
  expectChunk(17, 2, 9);
  expectChunk(1, 1, 1);
}

/// Large filters that meet few rows: convolutions and input gradients in slices.
TEST(ConvTest, SlicesOfResults) {
  const Problem square{2, 5, 4, 128, 256, 3, 3, 1, 1, 1, 1, 1, 1},
      strided{3, 5, 4, 256, 128, 3, 3, 2, 2, 1, 1, 1, 1}, point{5, 1, 1, 384, 1024, 1, 1};
  for (const Problem &p : {square, strided, point}) {
    EXPECT_GT(planOf(CallId::Conv2D, p, F32, 2).slices, 1);
    EXPECT_GT(planOf(CallId::Conv2DInputGrad, p, F32, 2).slices, 1);
    check(p, F32);
  }
  check(square, F16);
  check(strided, BF16, /*fastBF16=*/false);
  // Fewer images than threads might be.
  const Problem one{1, 9, 8, 16, 128, 3, 3, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(planOf(CallId::Conv2D, one, F32, 2).slices, 2);
  EXPECT_EQ(planOf(CallId::Conv2DInputGrad, one, F32, 2).slices, 1);
  check(one, F32);
  // Enough rows, a small filter, groups.
  for (const Problem &p : {Problem{8, 28, 28, 256, 256, 3, 3, 1, 1, 1, 1, 1, 1},
                           Problem{8, 4, 4, 64, 64, 3, 3, 1, 1, 1, 1, 1, 1},
                           Problem{2, 2, 2, 512, 512, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2}})
    for (CallId id : {CallId::Conv2D, CallId::Conv2DInputGrad})
      EXPECT_EQ(planOf(id, p, F32, 2).slices, 1);
}

/// Where input gradients, and convolutions of narrow images, add many terms, images are
/// brought into blocks of channels.
const Problem longSums{5, 4, 4, 512, 512, 3, 3, 1, 1, 1, 1, 1, 1},
    fewPlaces{2, 6, 3, 256, 512, 3, 3, 2, 2, 1, 1, 1, 1},
    wideImages{1, 7, 7, 128, 128, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2};

TEST(ConvTest, PlansOfBlocks) {
  auto has = [](CallId id, const Problem &p) { return planOf(id, p, F32, 2).hasBlocks; };
  for (const Problem &p : {longSums, fewPlaces, wideImages})
    EXPECT_TRUE(has(CallId::Conv2DInputGrad, p));
  EXPECT_TRUE(has(CallId::Conv2D, longSums));
  EXPECT_TRUE(has(CallId::Conv2D, fewPlaces));
  EXPECT_GT(planOf(CallId::Conv2D, fewPlaces, F32, 2).slices, 1);
  // A wide image, few terms, 1 x 1, no whole blocks, groups, a filter gradient.
  EXPECT_FALSE(has(CallId::Conv2D, wideImages));
  for (const Problem &p : {Problem{2, 4, 4, 64, 64, 3, 3, 1, 1, 1, 1, 1, 1},
                           Problem{2, 4, 4, 1024, 1024, 1, 1},
                           Problem{2, 4, 4, 520, 520, 3, 3, 1, 1, 1, 1, 1, 1},
                           Problem{2, 4, 4, 512, 512, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2}}) {
    EXPECT_FALSE(has(CallId::Conv2D, p));
    EXPECT_FALSE(has(CallId::Conv2DInputGrad, p));
  }
  EXPECT_FALSE(has(CallId::Conv2DFilterGrad, longSums));
  // Chunks of one large image each: the memory of blocks does not grow with the batch.
  EXPECT_EQ(planOf(CallId::Conv2DInputGrad,
                   {64, 28, 28, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1}, F32, 2)
                .chunk,
            1);
}

TEST(ConvTest, BlocksOfChannels) {
  check(fewPlaces);
  check(wideImages, F16);
  // Chunks of several images, the last of fewer, without slices.
  const Problem chunks{37, 3, 3, 16, 128, 3, 3, 1, 1, 1, 1, 1, 1};
  const ConvPlan plan = planOf(CallId::Conv2DInputGrad, chunks, F32, 2);
  EXPECT_TRUE(plan.hasBlocks);
  EXPECT_GT(plan.chunk, 1);
  EXPECT_NE(37 % plan.chunk, 0);
  EXPECT_EQ(plan.slices, 1);
  check(chunks);
  check(chunks, BF16, /*fastBF16=*/false);
}

/// Images that are widened, and input gradients with long rows, are in blocks of eight
/// channels with AVX2: chunks of several images, more channels than are copied at a time,
/// strides, dilations.
TEST(ConvTest, BlocksOfEightChannels) {
  for (DataType type : {F16, BF16}) {
    check({37, 5, 4, 8, 24, 3, 3, 1, 1, 1, 1, 1, 1}, type, /*fastBF16=*/false);
    check({3, 9, 7, 72, 40, 3, 2, 2, 1, 0, 1, 2, 0}, type, /*fastBF16=*/false);
  }
  check({2, 11, 9, 16, 8, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2}, F16);
  check({2, 3, 32, 16, 128, 3, 3, 1, 1, 1, 1, 1, 1});
}

/// Images of f32 with long rows have room for a band of rows in blocks of channels,
/// beside which they are large; with AVX2 filter gradients are made so, and with a small
/// cache the others.
TEST(ConvTest, BandsOfRows) {
  const CallId forward = CallId::Conv2D, inputGrad = CallId::Conv2DInputGrad,
               filterGrad = CallId::Conv2DFilterGrad;
  using Bands = std::array<int64_t, 3>;
  auto getBands = [](CallId id, const Problem &p, DataType type = F32) {
    const ConvPlan plan = planOf(id, p, type, 2);
    return Bands{plan.bands, plan.bandRows, plan.bandReads};
  };
  const Bands none{};
  const Problem wide{6, 24, 512, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1};
  for (CallId id : {forward, inputGrad, filterGrad})
    EXPECT_EQ(getBands(id, wide), Bands({3, 8, 10}));
  EXPECT_LE(planOf(forward, wide, F32, 1).threadBytes, 393216);
  // Rows of 8 KiB, few images, halves, channels that are no blocks, one point, groups.
  const Problem half{9, 25, 256, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(getBands(forward, half), none);
  EXPECT_EQ(getBands(filterGrad, half), Bands({2, 13, 15}));
  for (const Problem &p : {Problem{2, 24, 512, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1},
                           Problem{18, 24, 512, 12, 8, 3, 3, 1, 1, 1, 1, 1, 1},
                           Problem{18, 24, 512, 8, 8, 1, 1},
                           Problem{18, 24, 512, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2}})
    EXPECT_EQ(getBands(forward, p), none);
  EXPECT_EQ(getBands(forward, wide, F16), none);

  // The last band is shorter; strides, dilations, more padding before than after.
  for (const Problem &p : {half, Problem{9, 41, 256, 8, 8, 3, 3, 2, 1, 1, 1, 1, 1},
                           Problem{10, 26, 256, 8, 8, 3, 2, 1, 1, 2, 2, 1, 0, 2, 1},
                           Problem{9, 24, 256, 8, 8, 4, 3, 1, 1, 3, 0, 1, 1}}) {
    EXPECT_GT(getBands(filterGrad, p)[0], 1);
    check(p);
  }
  check(wide);
}

/// With rounding errors that are independent, of at most u times a partial sum each, B
/// chains of T terms of variance 1, added one after another, have an expected square
/// error of at most u^2 (B T^2 + T B^2) / 2, beside sums of variance B T. Rounding errors
/// of this kind have 0.4 u, so one chain of 4608 terms (1e-6 here) misses the bound.
TEST(ConvTest, ErrorsOfLongSums) {
  const bool addsBlocks = wantsDenseMatrices(dnnl_get_effective_cpu_isa());
  // The latter as matmuls, of two taps and then one of each row of the filter.
  const Problem points{9, 3, 3, 512, 512, 3, 3, 1, 1, 1, 1, 1, 1};
  for (const auto &[p, blocks] :
       {std::pair(longSums, addsBlocks ? 512 / 16 : 1), std::pair(points, 6)}) {
    Tensor x = randomTensor(F32, p.xDims(), 1),
           filter = randomTensor(F32, p.filterDims(), 2),
           dy = randomTensor(F32, p.yDims(), 3), y(F32, p.yDims()), dx(F32, p.xDims());
    std::vector<double> forward(y.count()), input(x.count());
    p.forProducts([&](int64_t xi, int64_t fi, int64_t yi) {
      forward[yi] += x[xi] * filter[fi];
      input[xi] += dy[yi] * filter[fi];
    });
    const double terms = 512.0 * 9 / blocks;
    const double bound = std::ldexp(std::sqrt((terms + blocks) / 2), -24);
    auto expectClose = [&](const Tensor &found, const std::vector<double> &exact) {
      double error = 0, size = 0;
      for (int64_t i = 0; i < found.count(); ++i) {
        error += (found[i] - exact[i]) * (found[i] - exact[i]);
        size += exact[i] * exact[i];
      }
      EXPECT_LT(std::sqrt(error / size), bound);
    };
    ASSERT_EQ(runCall(p.call(CallId::Conv2D), {&x, &filter}, y), "");
    expectClose(y, forward);
    ASSERT_EQ(runCall(p.call(CallId::Conv2DInputGrad), {&dy, &filter}, dx), "");
    expectClose(dx, input);
  }
}

/// Many output channels are repacked in pieces.
TEST(ConvTest, PiecesOfFilters) {
  check({2, 4, 3, 5, 128, 3, 3, 1, 1, 1, 1, 1, 1});
  check({2, 4, 3, 20, 192, 1, 1});
  check({3, 4, 3, 5, 192, 3, 2, 1, 1, 1, 1, 1, 1}, F16);
}

TEST(ConvTest, FilterGradientsOfHalves) {
  // The result of f32 or narrower operands, rounded once.
  for (const Problem &p :
       {Problem{3, 4, 4, 8, 64, 3, 3, 1, 1, 1, 1, 1, 1},
        Problem{20, 4, 4, 3, 5, 3, 3, 1, 1, 1, 1, 1, 1},
        Problem{3, 4, 4, 8, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, true}})
    for (DataType type : {F32, BF16}) {
      Tensor x = randomTensor(type, p.xDims(), 1), dy = randomTensor(type, p.yDims(), 2),
             dfilter(BF16, p.filterDims());
      Sums sums(dfilter.count());
      p.forProducts(
          [&](int64_t xi, int64_t fi, int64_t yi) { sums.add(fi, dy[yi] * x[xi]); });
      ASSERT_EQ(runCall(p.call(CallId::Conv2DFilterGrad), {&x, &dy}, dfilter), "");
      sums.compare(dfilter);
    }
}

TEST(ConvTest, StridesPaddingDilation) {
  check({2, 9, 7, 3, 5, 3, 3, 2, 2, 1, 0, 1, 1});
  check({2, 9, 7, 3, 5, 3, 2, 2, 1, 0, 1, 2, 0});
  check({2, 11, 9, 4, 4, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2});
  check({1, 9, 9, 16, 16, 3, 3, 3, 2, 1, 1, 1, 1, 1, 2});
}

TEST(ConvTest, Groups) {
  check({2, 6, 5, 4, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2});
  check({2, 6, 5, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 8});
}

TEST(ConvTest, Types) {
  for (DataType type : {F16, BF16}) {
    check({3, 6, 5, 3, 4, 3, 3, 1, 1, 1, 1, 1, 1}, type);
    check({2, 9, 7, 4, 6, 3, 3, 2, 2, 1, 0, 1, 1, 1, 1, 2}, type);
  }
}

/// Operands of bf16 as they are. oneDNN has that from AVX-512 on.
TEST(ConvTest, BF16Operands) {
  if ((dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) !=
      dnnl_cpu_isa_avx512_core)
    GTEST_SKIP() << "oneDNN has no bf16 on this CPU";
  check({3, 6, 5, 3, 4, 3, 3, 1, 1, 1, 1, 1, 1}, BF16, true);
  check({2, 8, 8, 33, 17, 3, 3, 1, 1, 1, 1, 1, 1}, BF16, true);
  check({2, 8, 8, 64, 32, 3, 3, 1, 1, 1, 1, 1, 1}, BF16, true);
  check({2, 9, 7, 4, 6, 3, 3, 2, 2, 1, 0, 1, 1, 1, 1, 2}, BF16, true);
  check({37, 5, 4, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1}, BF16, true);
  // Filter gradients in slices of channels, and filters in pieces.
  check({5, 3, 2, 16, 96, 3, 3, 1, 1, 1, 1, 1, 1}, BF16, true);
  check({3, 5, 5, 24, 128, 3, 3, 2, 2, 1, 1, 1, 1}, BF16, true);
  check({2, 4, 4, 40, 64, 1, 1}, BF16, true);
  // Results in slices of channels.
  check({2, 2, 2, 128, 256, 3, 3, 1, 1, 1, 1, 1, 1}, BF16, true);
  check({5, 1, 1, 384, 1024, 1, 1}, BF16, true);
  // Results that oneDNN rounds: long sums must not be rounded part by part.
  check({2, 7, 7, 1152, 320, 1, 1}, BF16, true);
  check({2, 7, 7, 48, 1152, 1, 1}, BF16, true);
  // Filters that are brought into oneDNN's layout row by row.
  check({2, 6, 6, 32, 64, 5, 5, 1, 1, 2, 2, 2, 2}, BF16, true);
  check({1, 7, 6, 17, 128, 4, 7, 2, 1, 2, 2, 2, 2}, BF16, true);
  check({1, 9, 9, 512, 48, 3, 3, 1, 1, 1, 1, 1, 1}, BF16, true);
  check({9, 6, 6, 32, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 32}, BF16, true);
  // Odd numbers of channels, whose input gradients oneDNN gets wrong.
  for (int64_t out : {1, 11, 13, 25})
    check({4, 1, 300, 25, out, 1, 1}, BF16, true);
}

/// Taps of a filter that meet only padding: their gradients are zeros. With strides of 2
/// and bf16 oneDNN leaves what was in memory there.
TEST(ConvTest, TapsOfPadding) {
  for (int64_t width : {1, 2, 3})
    for (int64_t kw : {2, 3})
      for (int64_t stride : {1, 2})
        for (int64_t left : {0, 1, 2})
          for (int64_t right : {0, 1, 2})
            if (width + left + right >= kw)
              check({7, 6, width, 29, 32, 2, kw, 1, stride, 0, 1, left, right}, BF16);
}

/// The way of CPUs without bf16, wherever this runs.
TEST(ConvTest, WidenedBF16) {
  check({3, 6, 5, 3, 4, 3, 3, 1, 1, 1, 1, 1, 1}, BF16, false);
}

/// More images than tasks, and a last task with fewer of them.
TEST(ConvTest, ManyImages) {
  ASSERT_EQ(planFilterGrad({37, 5, 4, 3, 4, 3, 3, 1, 1, 1, 1, 1, 1}, F32, 2).chunk, 10);
  check({37, 5, 4, 3, 4, 3, 3, 1, 1, 1, 1, 1, 1});
  check({37, 5, 4, 3, 4, 3, 3, 1, 1, 1, 1, 1, 1}, BF16);
}

// Images of a chunk are one high image to oneDNN, but with strides, padding or groups.
TEST(ConvTest, FiltersOfOnePoint) {
  for (DataType type : {F32, BF16, F16}) {
    check({37, 1, 1, 48, 64, 1, 1}, type);
    check({35, 2, 3, 32, 80, 1, 1}, type);
    check({19, 3, 2, 7, 21, 1, 1}, type);
    check({4, 7, 7, 40, 24, 1, 1}, type);
    check({6, 3, 3, 16, 16, 1, 1, 2, 2}, type);
    check({5, 3, 2, 16, 32, 1, 1, 1, 1, 1, 0, 0, 1}, type);
    check({5, 2, 2, 32, 32, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 4}, type);
  }
  // Large filters have several images a chunk, and slices.
  Problem large{18, 1, 1, 256, 1024, 1, 1};
  for (CallId id : {CallId::Conv2D, CallId::Conv2DInputGrad})
    EXPECT_GT(planOf(id, large, F32, 2).chunk, 1);
  check(large);
  check(large, BF16);
}

// Results are zeros (and biases), not what was there.
TEST(ConvTest, SumsOfNothing) {
  for (DataType type : {F32, BF16}) {
    check({0, 5, 5, 2, 3, 3, 3}, type);
    check({2, 5, 5, 0, 3, 3, 3}, type);
    check({2, 5, 5, 2, 0, 3, 3}, type);
  }
}

TEST(ConvTest, Misfits) {
  Problem good{2, 6, 5, 4, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2};
  auto error = [&](Problem p, std::vector<int64_t> xDims = {},
                   std::vector<int64_t> yDims = {}) {
    Tensor x(F32, xDims.empty() ? good.xDims() : xDims), filter(F32, good.filterDims());
    Tensor y(F32, yDims.empty() ? good.yDims() : yDims);
    return runCall(p.call(CallId::Conv2D), {&x, &filter}, y);
  };
  std::string misfit = "the operands of a convolution do not fit together";
  std::string range = "a stride, a padding, a dilation or the groups are out of range";
  EXPECT_EQ(error(good), "");
  EXPECT_EQ(error(good, {3, 6, 5, 4}), misfit);
  EXPECT_EQ(error(good, {2, 6, 5, 6}), misfit);
  EXPECT_EQ(error(good, {2, 6, 5}), misfit);
  EXPECT_EQ(error(good, {}, {2, 7, 5, 6}), misfit);
  EXPECT_EQ(error(good, {}, {2, 6, 5, 8}), misfit);
  auto with = [&](int64_t Problem::*member, int64_t value) {
    Problem p = good;
    p.*member = value;
    Tensor x(F32, good.xDims()), filter(F32, good.filterDims()), y(F32, good.yDims());
    return runCall(p.call(CallId::Conv2D), {&x, &filter}, y);
  };
  EXPECT_EQ(with(&Problem::strideH, 0), range);
  EXPECT_EQ(with(&Problem::strideW, -1), range);
  EXPECT_EQ(with(&Problem::top, -1), range);
  EXPECT_EQ(with(&Problem::right, int64_t(1) << 40), range);
  EXPECT_EQ(with(&Problem::dilationH, 0), range);
  EXPECT_EQ(with(&Problem::groups, 0), range);
  EXPECT_EQ(with(&Problem::groups, 4), misfit);
  EXPECT_EQ(with(&Problem::strideH, 2), misfit);
  // A filter of the other layout.
  Problem other = good;
  other.isOIHW = true;
  EXPECT_EQ(error(other), misfit);
  LibraryCall rounds = good.call(CallId::Conv2D);
  ASSERT_TRUE(setRounding(rounds, /*operand=*/1, Rounding::F16));
  Tensor lowX(F16, good.xDims()), lowFilter(F16, good.filterDims()),
      lowY(F16, good.yDims());
  EXPECT_EQ(runCall(rounds, {&lowX, &lowFilter}, lowY),
            "only an operand of f32 is rounded");
  LibraryCall gradient = good.call(CallId::Conv2DFilterGrad);
  EXPECT_FALSE(setRounding(gradient, /*operand=*/1, Rounding::F16));
  Tensor x(DataType::I32, good.xDims()), filter(F32, good.filterDims()),
      y(F32, good.yDims());
  EXPECT_EQ(runCall(good.call(CallId::Conv2D), {&x, &filter}, y),
            "convolutions of this element type are not supported; use f32, "
            "bf16 or f16");
}

} // namespace
