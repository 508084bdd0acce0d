//===- AttentionTest.cpp - Attention against sums in double -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairMatmul.h"
#include "TestHelpers.h"
#include "mpt/ProgramABI/InstructionCost.h"
#include "mpt/Support/Philox.h"

#include <functional>

using namespace mpt::rt;

namespace {

constexpr DataType F32 = DataType::F32, F16 = DataType::F16, BF16 = DataType::BF16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Shape = std::vector<int64_t>;

/// One attention, computed in double.
struct Case {
  int64_t batch, heads, groups, queries, keys, width, valueWidth;
  DataType type = F32;
  bool causal = false;
  /// Of the mask and the bias; none if empty.
  Shape maskShape = {}, biasShape = {};
  double dropout = 0;
  /// What the bias of query 1 is for all keys of batch entry 0 and head 0; 0: random.
  double hidden = 0;

  Shape queryShape() const { return {batch, heads, queries, width}; }
  Shape keyShape() const { return {batch, groups, keys, width}; }
  Shape valueShape() const { return {batch, groups, keys, valueWidth}; }
  Shape resultShape() const { return {batch, heads, queries, valueWidth}; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(width)); }

  template <typename Call>
  Call call() const {
    Call call;
    call.causal = causal;
    call.scale = scale();
    call.hasMask = !maskShape.empty();
    call.hasBias = !biasShape.empty();
    call.hasSeed = call.hasAttempt = dropout > 0;
    call.dropout = dropout;
    call.stream = 3;
    return call;
  }
};

int64_t at(const Shape &shape, int64_t b, int64_t h, int64_t t, int64_t s) {
  int64_t index = 0, place[4] = {b, h, t, s};
  for (int d = 0; d < 4; ++d)
    index = index * shape[d] + (shape[d] == 1 ? 0 : place[d]);
  return index;
}

/// Runs `call` with each output in the place of a copy of the input that it may
/// overwrite, if there is one: the same `bits`.
void checkInPlace(const Instruction &call, const std::vector<Tensor *> &inputs,
                  std::vector<void *> &buffers,
                  const std::vector<std::vector<char>> &bits,
                  const std::function<void()> &run) {
  std::vector<std::pair<uint32_t, Tensor>> copies;
  for (uint32_t output = 0; output < call.numOutputs; ++output)
    for (uint32_t input = 0; input < call.numInputs; ++input)
      if (mayOverwrite(call, output, input))
        copies.emplace_back(output, castTensor(*inputs[input], inputs[input]->ref.type));
  for (auto &[output, copy] : copies)
    buffers[output + 1] = buffers[call.numInputs + output] = copy.data();
  if (!copies.empty())
    run();
  for (auto &[output, copy] : copies) {
    ASSERT_TRUE(copy.isIntact());
    ASSERT_TRUE(copy.bytes() == bits[output]) << "output " << output << " in place";
  }
}

/// Runs a call with several results on 1 to 3 threads and with all vector sets that this
/// CPU has, and last, with `pairs`, with instructions for bf16 if it has them. All
/// threads give the same bits, and so do AVX2 and AVX-512.
void run(const LibraryCall &libraryCall, const std::vector<Tensor *> &inputs,
         const std::vector<Tensor *> &outputs, bool pairs = false) {
  std::vector<VectorSet> sets = {VectorSet::Plain};
  if (getVectorSet() != VectorSet::Plain)
    sets.push_back(VectorSet::AVX2);
  if (getVectorSet() == VectorSet::AVX512)
    sets.push_back(VectorSet::AVX512);
  if (pairs)
    sets.assign(1, getVectorSet());
  std::vector<std::vector<char>> vectorBits;
  for (VectorSet set : sets) {
    std::vector<std::vector<char>> first;
    for (int threads : {1, 2, 3})
      for (int maxThreads : {threads, 4}) {
        Instruction call;
        call.call = libraryCall;
        call.numInputs = inputs.size();
        call.numOutputs = outputs.size();
        std::vector<void *> buffers;
        for (const auto *list : {&inputs, &outputs})
          for (Tensor *tensor : *list) {
            call.refs.push_back(tensor->ref);
            buffers.push_back(tensor->data());
          }
        std::string error;
        ASSERT_TRUE(checkCall(call, error)) << error;
        addScratch(call, maxThreads);
        Tensor scratch(DataType::I8, {call.hasScratch ? call.refs.back().count() : 0});
        buffers.push_back(call.hasScratch ? scratch.data() : nullptr);
        for (Tensor *output : outputs)
          std::memset(output->data(), 0x7f, output->ref.bytes());
        // NaNs.
        std::memset(scratch.data(), 0xff, scratch.ref.bytes());
        ThreadTeam team(threads);
        runAttention(call, buffers.data(), team, set, pairs);
        for (const auto *list : {&inputs, &outputs})
          for (Tensor *tensor : *list)
            ASSERT_TRUE(tensor->isIntact());
        ASSERT_TRUE(scratch.isIntact());
        std::vector<std::vector<char>> bits;
        for (Tensor *output : outputs)
          bits.push_back(output->bytes());
        if (first.empty())
          first = bits;
        ASSERT_TRUE(first == bits) << threads << " of " << maxThreads << " threads";
        checkInPlace(call, inputs, buffers, first,
                     [&] { runAttention(call, buffers.data(), team, set, pairs); });
      }
    if (set == VectorSet::Plain)
      continue;
    if (vectorBits.empty())
      vectorBits = first;
    ASSERT_TRUE(vectorBits == first) << "AVX2 and AVX-512 differ";
  }
}

/// `rounded` is the sum of the magnitudes of terms that were rounded to bf16, by at most
/// 2^-8 each; empty if none was.
void expectNear(const Tensor &result, const std::vector<double> &expected, double size,
                const char *what, const std::vector<double> &rounded = {}) {
  for (int64_t i = 0; i < result.count(); ++i) {
    if (std::isinf(expected[i])) {
      ASSERT_EQ(result[i], expected[i]) << what << " " << i;
      continue;
    }
    // Errors of exponents, of sums and of the rounding of queries and results.
    const double ofTerms = rounded.empty() ? 0 : 0x1p-8 * rounded[i];
    const double bound =
        4e-6 * size + ofTerms + roundingError(result.ref.type, expected[i] + ofTerms);
    ASSERT_NEAR(result[i], expected[i], bound) << what << " " << i;
  }
}

/// With `pairs` bf16 is multiplied as it is where the CPU can.
void check(const Case &c, bool pairs = false) {
  SCOPED_TRACE(testing::Message()
               << c.batch << "x" << c.heads << "/" << c.groups << " " << c.queries << "x"
               << c.keys << " " << c.width << "/" << c.valueWidth);
  Tensor query = randomTensor(c.type, c.queryShape(), 1, -2, 2),
         key = randomTensor(c.type, c.keyShape(), 2, -2, 2),
         value = randomTensor(c.type, c.valueShape(), 3),
         dy = randomTensor(c.type, c.resultShape(), 4),
         mask = randomTensor(DataType::I1, c.maskShape, 5, 0, 3),
         bias = randomTensor(c.type, c.biasShape, 6), seed(DataType::I64, {}),
         attempt(DataType::I64, {});
  seed.set(0, 77);
  attempt.set(0, 5);
  const bool hasMask = !c.maskShape.empty(), hasBias = !c.biasShape.empty();
  // A query that sees nothing.
  if (hasMask)
    for (int64_t s = 0; s < c.maskShape[3]; ++s)
      mask.set(at(c.maskShape, 0, 0, 0, s), 0);
  if (c.hidden != 0)
    for (int64_t s = 0; s < c.biasShape[3]; ++s)
      bias.set(at(c.biasShape, 0, 0, 1, s), c.hidden);
  std::vector<double> y(dy.count()), lse(c.batch * c.heads * c.queries),
      dquery(query.count()), dkey(key.count()), dvalue(value.count()),
      dbias(bias.count()), yTerms(dy.count()), dqueryTerms(query.count()),
      dkeyTerms(key.count()), dvalueTerms(value.count());
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t t = 0; t < c.queries; ++t) {
        const int64_t row = (b * c.heads + h) * c.queries + t;
        const int64_t keys = (b * c.groups + h / (c.heads / c.groups)) * c.keys;
        std::vector<double> p(c.keys), keep(c.keys, 1), scaled(c.width);
        Tensor rounded(c.type, {c.width});
        for (int64_t d = 0; d < c.width; ++d) {
          rounded.set(d, static_cast<float>(query[row * c.width + d]) *
                             static_cast<float>(c.scale()));
          scaled[d] = rounded[d];
        }
        double largest = -kInfinity, sum = 0;
        for (int64_t s = 0; s < c.keys; ++s) {
          for (int64_t d = 0; d < c.width; ++d)
            p[s] += scaled[d] * key[(keys + s) * c.width + d];
          if (hasBias)
            p[s] += bias[at(c.biasShape, b, h, t, s)];
          // The sum is f32, in which scores beside -10^9 are all the same.
          if (c.hidden != 0)
            p[s] = static_cast<float>(p[s]);
          if ((c.causal && s > t + c.keys - c.queries) ||
              (hasMask && mask[at(c.maskShape, b, h, t, s)] == 0))
            p[s] = -kInfinity;
          largest = std::max(largest, p[s]);
          if (c.dropout > 0) {
            const int64_t element = row * c.keys + s;
            const bool isKept = mpt::philoxBlock(77, 3, 5, element / 4)[element % 4] >=
                                mpt::dropoutThreshold(c.dropout);
            keep[s] = isKept ? 1 / (1 - c.dropout) : 0;
          }
        }
        for (double &power : p)
          sum += power = power == -kInfinity ? 0 : std::exp(power - largest);
        lse[row] = sum == 0 ? -kInfinity : largest + std::log(sum);
        for (int64_t s = 0; s < c.keys; ++s) {
          p[s] /= sum == 0 ? 1 : sum;
          for (int64_t e = 0; e < c.valueWidth; ++e) {
            const double term = p[s] * keep[s] * value[(keys + s) * c.valueWidth + e];
            y[row * c.valueWidth + e] += term;
            yTerms[row * c.valueWidth + e] += std::abs(term);
          }
        }
        double dot = 0;
        std::vector<double> dp(c.keys);
        for (int64_t s = 0; s < c.keys; ++s) {
          for (int64_t e = 0; e < c.valueWidth; ++e) {
            const double gradient = dy[row * c.valueWidth + e];
            dp[s] += keep[s] * gradient * value[(keys + s) * c.valueWidth + e];
            const double term = p[s] * keep[s] * gradient;
            dvalue[(keys + s) * c.valueWidth + e] += term;
            dvalueTerms[(keys + s) * c.valueWidth + e] += std::abs(term);
          }
          dot += p[s] * dp[s];
        }
        for (int64_t s = 0; s < c.keys; ++s) {
          const double gradient = p[s] * (dp[s] - dot);
          if (hasBias)
            dbias[at(c.biasShape, b, h, t, s)] += gradient;
          for (int64_t d = 0; d < c.width; ++d) {
            const double toQuery = c.scale() * gradient * key[(keys + s) * c.width + d],
                         toKey = gradient * scaled[d];
            dquery[row * c.width + d] += toQuery;
            dqueryTerms[row * c.width + d] += std::abs(toQuery);
            dkey[(keys + s) * c.width + d] += toKey;
            dkeyTerms[(keys + s) * c.width + d] += std::abs(toKey);
          }
        }
      }

  if (!pairs)
    for (auto *terms : {&yTerms, &dqueryTerms, &dkeyTerms, &dvalueTerms})
      terms->clear();
  Tensor result(c.type, c.resultShape()), sums(F32, {c.batch, c.heads, c.queries});
  std::vector<Tensor *> inputs = {&query, &key, &value};
  auto addOptional = [&] {
    if (hasMask)
      inputs.push_back(&mask);
    if (hasBias)
      inputs.push_back(&bias);
    if (c.dropout > 0)
      inputs.insert(inputs.end(), {&seed, &attempt});
  };
  addOptional();
  run(c.call<AttentionCall>(), inputs, {&result, &sums}, pairs);
  expectNear(result, y, 1, "result", yTerms);
  expectNear(sums, lse, 8, "log_sum_exp");

  // The gradient of what the forward pass would have given without rounding.
  Tensor exact(F32, c.resultShape());
  for (int64_t i = 0; i < exact.count(); ++i)
    exact.set(i, y[i]);
  Tensor dq(c.type, c.queryShape()), dk(c.type, c.keyShape()), dv(c.type, c.valueShape()),
      db(c.type, c.biasShape);
  inputs = {&dy, &query, &key, &value, &exact, &sums};
  addOptional();
  auto call = c.call<AttentionGradCall>();
  run(call, inputs, {&dq, &dk, &dv}, pairs);
  // Of sums over many queries.
  const double size = 8 + 0.5 * static_cast<double>(c.heads / c.groups * c.queries) / 16;
  expectNear(dq, dquery, 8, "dquery", dqueryTerms);
  expectNear(dk, dkey, size, "dkey", dkeyTerms);
  expectNear(dv, dvalue, size, "dvalue", dvalueTerms);
  if (!hasBias)
    return;
  call.hasDbias = true;
  run(call, inputs, {&dq, &dk, &dv, &db}, pairs);
  expectNear(dq, dquery, 8, "dquery with dbias", dqueryTerms);
  expectNear(db, dbias, 8 + static_cast<double>(dbias.size() < 100 ? 64 : 0), "dbias");
}

TEST(Attention, SizesAroundBlocks) {
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>(1, 1),
                               {3, 5},
                               {16, 16},
                               {63, 65},
                               {64, 64},
                               {65, 63},
                               {130, 150}})
    for (auto [width, valueWidth] :
         {std::pair<int64_t, int64_t>(64, 64), {1, 3}, {20, 33}, {16, 96}})
      check({2, 3, 3, queries, keys, width, valueWidth});
}

TEST(Attention, Halves) {
  for (DataType type : {BF16, F16}) {
    check({2, 2, 2, 70, 70, 32, 32, type});
    check({1, 4, 2, 70, 90, 24, 40, type, true});
    check({1, 2, 1, 20, 33, 17, 5, type, true, {1, 2, 20, 33}, {1, 2, 1, 33}, 0.3});
  }
}

/// Sides of matmuls are words of two bf16, except those of odd widths.
TEST(Attention, PairsOfBF16) {
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>(1, 1),
                               {3, 5},
                               {63, 65},
                               {64, 64},
                               {65, 63},
                               {130, 150}})
    for (auto [width, valueWidth] :
         {std::pair<int64_t, int64_t>(64, 64), {2, 4}, {20, 34}, {16, 96}, {7, 6}})
      check({2, 3, 3, queries, keys, width, valueWidth, BF16}, /*pairs=*/true);
  check({1, 4, 2, 70, 90, 24, 40, BF16, true}, true);
  check({1, 4, 2, 70, 131, 64, 64, BF16, false, {1, 1, 1, 131}}, true);
  check({1, 2, 1, 21, 33, 18, 6, BF16, true, {1, 2, 21, 33}, {1, 2, 1, 33}, 0.3}, true);
}

/// Blocks have room for as many queries and keys as there are.
TEST(Attention, FewQueriesOrKeys) {
  for (auto [queries, keys] :
       {std::pair<int64_t, int64_t>(16, 16), {5, 17}, {70, 9}, {33, 16}, {9, 70}, {1, 1}})
    for (DataType type : {F32, F16, BF16})
      for (bool pairs : {false, true}) {
        if (pairs && type != BF16)
          continue;
        check({2, 3, 3, queries, keys, 18, 34, type}, pairs);
        check({2,
               4,
               2,
               queries,
               keys,
               18,
               6,
               type,
               false,
               {2, 4, queries, keys},
               {1, 4, queries, keys},
               0.25},
              pairs);
        for (Shape bias : {Shape{1, 1, 1, keys}, {1, 4, queries, 1}})
          check({2, 4, 4, queries, keys, 16, 16, type, keys >= queries, {}, bias}, pairs);
      }
}

/// The instructions for bf16 are used where they are: other sums have other bits.
TEST(Attention, PairsHaveTheirOwnBits) {
  if (getVectorSet() != VectorSet::AVX512 || !hasPairMatmul())
    GTEST_SKIP() << "this CPU has no instructions for bf16";
  const Shape shape = {1, 1, 64, 64};
  Tensor query = randomTensor(BF16, shape, 1), key = randomTensor(BF16, shape, 2),
         value = randomTensor(BF16, shape, 3), result(F32, shape), lse(F32, {1, 1, 64});
  AttentionCall call;
  call.scale = 0.125;
  run(call, {&query, &key, &value}, {&result, &lse});
  const std::vector<char> wide = result.bytes();
  run(call, {&query, &key, &value}, {&result, &lse}, /*pairs=*/true);
  EXPECT_NE(wide, result.bytes());
}

TEST(Attention, Causal) {
  check({1, 2, 2, 130, 130, 16, 16, F32, true});
  check({1, 2, 2, 70, 200, 16, 16, F32, true});
  check({1, 2, 2, 1, 67, 16, 16, F32, true});
}

TEST(Attention, GroupsOfHeads) {
  check({2, 6, 2, 70, 70, 16, 16});
  check({1, 8, 1, 33, 66, 8, 8, F32, true});
}

TEST(Attention, Masks) {
  for (Shape mask : {Shape{2, 3, 70, 80}, {2, 1, 1, 80}, {1, 3, 70, 1}, {1, 1, 70, 80}})
    for (bool causal : {false, true})
      check({2, 3, 3, 70, 80, 16, 16, F32, causal, mask});
}

TEST(Attention, Biases) {
  for (Shape bias : {Shape{2, 3, 70, 80},
                     {2, 1, 1, 80},
                     {1, 3, 70, 1},
                     {1, 3, 70, 80},
                     {1, 1, 1, 1},
                     {2, 3, 1, 1}})
    for (bool causal : {false, true})
      check({2, 3, 3, 70, 80, 16, 16, F32, causal, {}, bias});
}

/// A row that a bias hides as a whole has the mean of all values, and its gradient.
TEST(Attention, BiasesThatHideRows) {
  for (double hidden : {-1e9, -3e38, 1e30}) {
    check({2, 3, 3, 70, 80, 16, 16, F32, false, {}, {2, 3, 70, 80}, 0, hidden});
    check({2, 3, 1, 20, 150, 16, 16, F32, true, {}, {1, 1, 20, 150}, 0, hidden});
    check({2,
           3,
           3,
           70,
           80,
           16,
           16,
           F32,
           false,
           {2, 3, 70, 80},
           {2, 3, 70, 1},
           0.25,
           hidden});
    check({1, 2, 2, 70, 80, 16, 16, BF16, false, {}, {1, 1, 70, 80}, 0, hidden});
  }
}

TEST(Attention, MaskOfRowsAndBiasOfColumns) {
  check({2, 3, 3, 20, 80, 16, 16, F32, false, {2, 3, 20, 80}, {1, 3, 1, 80}});
}

TEST(Attention, Dropout) {
  check({2, 3, 3, 70, 80, 16, 16, F32, false, {}, {}, 0.25});
  check({1, 2, 1, 67, 67, 16, 16, F32, true, {}, {1, 2, 67, 67}, 0.5});
}

/// Large scores neither overflow nor lose what is small beside them; a NaN is seen.
TEST(Attention, LargeScores) {
  Tensor query(F32, {1, 1, 2, 1}), key(F32, {1, 1, 70, 1}), value(F32, {1, 1, 70, 1}),
      result(F32, {1, 1, 2, 1}), lse(F32, {1, 1, 2});
  query.set(0, 1e4);
  query.set(1, -1e4);
  for (int64_t i = 0; i < 70; ++i) {
    key.set(i, static_cast<double>(i));
    value.set(i, static_cast<double>(i));
  }
  AttentionCall call;
  call.scale = 1;
  run(call, {&query, &key, &value}, {&result, &lse});
  EXPECT_EQ(result[0], 69);
  EXPECT_EQ(result[1], 0);
  EXPECT_EQ(lse[0], 69e4);
  key.set(65, NAN);
  run(call, {&query, &key, &value}, {&result, &lse});
  EXPECT_TRUE(std::isnan(result[0]) && std::isnan(lse[1]));
}

TEST(Attention, WorkspaceHasNoScores) {
  auto getBytes = [](int64_t keys, bool isGrad) {
    Case c{1, 12, 12, 1024, keys, 64, 64};
    Tensor query(F32, c.queryShape()), key(F32, c.keyShape());
    Tensor rows(F32, {1, 12, 1024});
    Instruction call;
    call.refs =
        isGrad ? std::vector<BufferRef>{query.ref, query.ref, key.ref, key.ref, query.ref,
                                        rows.ref,  query.ref, key.ref, key.ref}
               : std::vector<BufferRef>{query.ref, key.ref, key.ref, query.ref, rows.ref};
    call.call = isGrad ? LibraryCall(c.call<AttentionGradCall>())
                       : LibraryCall(c.call<AttentionCall>());
    call.numInputs = isGrad ? 6 : 3;
    call.numOutputs = isGrad ? 3 : 2;
    std::string error;
    EXPECT_TRUE(checkCall(call, error)) << error;
    return getCallWorkspace(call, 2);
  };
  EXPECT_EQ(getBytes(1024, false), getBytes(64, false));
  EXPECT_EQ(getBytes(1024, true), getBytes(64, true));
  EXPECT_LT(getBytes(1024, true), 512 * 1024);
  // Nor room for more keys than there are.
  EXPECT_LE(getBytes(16, false), getBytes(64, false) - 2 * 48 * 64 * 4);
  EXPECT_LE(getBytes(16, true), getBytes(64, true) - 2 * 2 * 48 * 64 * 4);
}

/// What a damaged program may ask for.
/// The gradient of the query may lie where the query does. Those of keys and values may
/// if they are added elsewhere first, and none may if all is read again for a bias.
TEST(Attention, InPlace) {
  auto overwritten = [](const Case &c, bool hasDbias = false) {
    auto call = c.call<AttentionGradCall>();
    call.hasDbias = hasDbias;
    Tensor dy(c.type, c.resultShape()), query(c.type, c.queryShape()),
        key(c.type, c.keyShape()), value(c.type, c.valueShape()),
        lse(F32, {c.batch, c.heads, c.queries}), bias(c.type, c.biasShape);
    Instruction made;
    made.call = call;
    for (Tensor *tensor : {&dy, &query, &key, &value, &dy, &lse})
      made.refs.push_back(tensor->ref);
    if (!c.biasShape.empty())
      made.refs.push_back(bias.ref);
    made.numInputs = made.refs.size();
    for (Tensor *tensor : {&query, &key, &value})
      made.refs.push_back(tensor->ref);
    if (hasDbias)
      made.refs.push_back(bias.ref);
    made.numOutputs = made.refs.size() - made.numInputs;
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (uint32_t output = 0; output < made.numOutputs; ++output)
      for (uint32_t input = 0; input < made.numInputs; ++input)
        if (mayOverwrite(made, output, input))
          pairs.push_back({output, input});
    return pairs;
  };
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
  const Pairs all = {{0, 1}, {1, 2}, {2, 3}};
  // Rows of whole vectors in f32, and of many heads, are added where they belong.
  EXPECT_EQ(overwritten({4, 8, 8, 20, 20, 32, 32}), Pairs({{0, 1}}));
  EXPECT_EQ(overwritten({4, 8, 8, 20, 20, 12, 12}), all);
  EXPECT_EQ(overwritten({4, 8, 8, 20, 20, 32, 32, BF16}), all);
  // Of few heads each part of the queries has sums of its own.
  EXPECT_EQ(overwritten({1, 2, 2, 200, 200, 32, 32}), all);
  Case biased = {4, 8, 8, 20, 20, 12, 12, F32, false, {}, {1, 8, 20, 20}};
  EXPECT_EQ(overwritten(biased), all);
  EXPECT_EQ(overwritten(biased, /*hasDbias=*/true), Pairs());
}

TEST(Attention, Misfits) {
  Case c{2, 4, 2, 6, 8, 16, 24};
  auto makeRef = [](DataType type, const Shape &shape) {
    BufferRef ref;
    ref.type = type;
    ref.dims = shape;
    return ref;
  };
  const BufferRef query = makeRef(F32, c.queryShape()), key = makeRef(F32, c.keyShape()),
                  value = makeRef(F32, c.valueShape()),
                  result = makeRef(F32, c.resultShape()), rows = makeRef(F32, {2, 4, 6}),
                  one = makeRef(DataType::I64, {});
  auto explain = [&](const LibraryCall &libraryCall, std::vector<BufferRef> refs) {
    Instruction call;
    call.call = libraryCall;
    call.numInputs = getNumInputs(libraryCall);
    call.numOutputs = getNumOutputs(libraryCall);
    call.refs = std::move(refs);
    std::string error;
    checkCall(call, error);
    getCallWorkspace(call, 2);
    getCost(call);
    return error;
  };
  AttentionCall forward = c.call<AttentionCall>();
  const std::string misfit = "the operands of an attention do not fit together";
  EXPECT_EQ(explain(forward, {query, key, value, result, rows}), "");
  EXPECT_EQ(explain(forward, {query, value, value, result, rows}), misfit);
  EXPECT_EQ(explain(forward, {query, key, value, query, rows}), misfit);
  EXPECT_EQ(explain(forward, {query, key, value, result, makeRef(F32, {2, 4, 5})}),
            misfit);
  EXPECT_EQ(explain(forward, {makeRef(F32, {2, 3, 6, 16}), key, value,
                              makeRef(F32, {2, 3, 6, 24}), makeRef(F32, {2, 3, 6})}),
            misfit);
  EXPECT_EQ(explain(forward, {query, makeRef(F32, {2, 0, 8, 16}),
                              makeRef(F32, {2, 0, 8, 24}), result, rows}),
            misfit);
  EXPECT_EQ(explain(forward, {query, key, value, result, makeRef(F16, {2, 4, 6})}),
            "the log_sum_exp of an attention is not f32");
  EXPECT_EQ(explain(forward,
                    {query, makeRef(DataType::F64, c.keyShape()), value, result, rows}),
            "attention of this element type is not supported; use f32, bf16 or f16");
  AttentionCall masked = forward;
  masked.hasMask = true;
  EXPECT_EQ(explain(masked, {query, key, value, makeRef(DataType::I1, {2, 1, 1, 8}),
                             result, rows}),
            "");
  EXPECT_EQ(explain(masked, {query, key, value, makeRef(DataType::I1, {2, 1, 1, 7}),
                             result, rows}),
            misfit);
  EXPECT_EQ(
      explain(masked, {query, key, value, makeRef(F32, {2, 1, 1, 8}), result, rows}),
      misfit);
  AttentionCall dropped = forward;
  dropped.hasSeed = dropped.hasAttempt = true;
  dropped.dropout = 0.5;
  EXPECT_EQ(explain(dropped, {query, key, value, one, one, result, rows}), "");
  dropped.dropout = 1;
  EXPECT_NE(explain(dropped, {query, key, value, one, one, result, rows}), "");
  dropped.dropout = 0.5;
  EXPECT_NE(explain(dropped, {query, key, value, one, rows, result, rows}), "");
  dropped.hasAttempt = false;
  EXPECT_EQ(explain(dropped, {query, key, value, one, result, rows}), misfit);
  AttentionGradCall gradient = c.call<AttentionGradCall>();
  EXPECT_EQ(
      explain(gradient, {result, query, key, value, result, rows, query, key, value}),
      "");
  EXPECT_EQ(
      explain(gradient, {query, query, key, value, result, rows, query, key, value}),
      misfit);
  gradient.hasDbias = true;
  EXPECT_EQ(explain(gradient,
                    {result, query, key, value, result, rows, query, key, value, key}),
            misfit);
  // A causal query would see keys before the first.
  AttentionCall causal = forward;
  causal.causal = true;
  EXPECT_EQ(explain(causal, {makeRef(F32, {2, 4, 9, 16}), key, value,
                             makeRef(F32, {2, 4, 9, 24}), makeRef(F32, {2, 4, 9})}),
            misfit);
}

TEST(Attention, Cost) {
  Case c{2, 4, 2, 6, 8, 16, 24};
  Tensor query(F16, c.queryShape()), key(F16, c.keyShape()), value(F16, c.valueShape()),
      result(F16, c.resultShape()), rows(F32, {2, 4, 6});
  Instruction call;
  call.call = c.call<AttentionCall>();
  call.numInputs = 3;
  call.numOutputs = 2;
  call.refs = {query.ref, key.ref, value.ref, result.ref, rows.ref};
  EXPECT_EQ(getCost(call).flops, 2 * 2 * 4 * 6 * 8 * (16 + 24));
  EXPECT_EQ(getCost(call).type, F16);
  call.call = c.call<AttentionGradCall>();
  call.numInputs = 6;
  call.numOutputs = 3;
  call.refs = {result.ref, query.ref, key.ref, value.ref, result.ref,
               rows.ref,   query.ref, key.ref, value.ref};
  EXPECT_EQ(getCost(call).flops, 2 * 2 * 4 * 6 * 8 * (3 * 16 + 2 * 24));
  // Query i sees i + 3 of the keys.
  c.causal = true;
  call.call = c.call<AttentionGradCall>();
  EXPECT_EQ(getCost(call).flops, 2 * 2 * 4 * (3 + 4 + 5 + 6 + 7 + 8) * (3 * 16 + 2 * 24));
}

} // namespace
