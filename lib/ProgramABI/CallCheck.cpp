//===- CallCheck.cpp - Whether a call's buffers fit together -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The calls trust their instructions: what is checked here is all that keeps a
/// damaged program from reading or writing outside its buffers.
///
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/CudnnPlan.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include <algorithm>
#include <type_traits>

using namespace mpt::rt;

namespace {

bool isFloat(const BufferRef &ref) { return ref.type <= DataType::F8E5M2; }
bool isIndex(const BufferRef &ref) {
  return ref.type == DataType::I32 || ref.type == DataType::I64;
}
/// Within what sums and products of a few of them cannot overflow.
bool isSmall(int64_t value) { return value >= 0 && value < int64_t(1) << 31; }

/// One instruction under examination; each check returns what is wrong, or null.
class Check {
public:
  explicit Check(const Instruction &call) : call(call) {}

  const char *check(const MatmulCall &matmul) const;
  const char *check(const Conv2DCall &) const { return checkConv(); }
  const char *check(const Conv2DInputGradCall &) const { return checkConv(); }
  const char *check(const Conv2DFilterGradCall &) const { return checkConv(); }
  const char *check(const MaxPoolCall &pool) const { return checkPool(pool); }
  const char *check(const MaxPoolGradCall &pool) const { return checkPool(pool); }
  const char *check(const AvgPoolCall &pool) const { return checkPool(pool); }
  const char *check(const AvgPoolGradCall &pool) const { return checkPool(pool); }
  const char *check(const GatherCall &) const;
  const char *check(const ScatterAddCall &scatter) const;
  const char *check(const CopyCall &copy) const;
  const char *check(const FillCall &) const { return nullptr; }
  const char *check(const ReduceCall &reduce) const;
  const char *check(const ArgmaxCall &) const;
  const char *check(const RandomMaskCall &mask) const;
  const char *check(const CheckIndicesCall &) const;
  const char *check(const RandomBitsCall &) const;
  const char *check(const GemmQuantizeCall &quantize) const;
  const char *check(const AttentionCall &attention) const {
    return checkAttention(attention);
  }
  const char *check(const AttentionGradCall &attention) const {
    return checkAttention(attention);
  }
  const char *check(const CudnnAttentionCall &) const { return checkCudnnAttention(); }
  const char *check(const CudnnAttentionGradCall &) const {
    return checkCudnnAttention();
  }
  const char *check(const AllReduceCall &reduction) const;
  const char *check(const ReduceScatterCall &reduction) const;
  const char *check(const AllGatherCall &gather) const;
  const char *check(const AllToAllCall &exchange) const;
  const char *check(const BroadcastCall &broadcast) const;
  const char *check(const RankCall &rank) const;
  const char *check(const WaitCall &wait) const;

private:
  const BufferRef &in(size_t index) const { return call.refs[index]; }
  const BufferRef &out() const { return call.refs[call.numInputs]; }
  const std::vector<int64_t> &dims(size_t index) const { return in(index).dims; }

  /// Whether all are small and at least `least`.
  template <size_t n>
  static bool areSmall(const std::array<int64_t, n> &values, int64_t least) {
    return std::all_of(values.begin(), values.end(),
                       [&](int64_t value) { return isSmall(value) && value >= least; });
  }

  const char *checkGpuEpilogue(const MatmulCall &matmul) const;
  const char *checkConv() const;
  template <typename Pool>
  const char *checkPool(const Pool &pool) const;
  template <typename Attention>
  const char *checkAttention(const Attention &attention) const;
  const char *checkCudnnAttention() const {
    CudnnAttentionPlan plan;
    return makeCudnnAttentionPlan(call, plan)
               ? nullptr
               : "the buffers of cuDNN's attention do not fit together";
  }
  template <typename Reduction>
  const char *checkReduction(const Reduction &reduction) const;
  /// A seed and an attempt come first.
  bool hasRandomState(size_t first = 0) const {
    return in(first).type == DataType::I64 && in(first + 1).type == DataType::I64 &&
           in(first).count() == 1 && in(first + 1).count() == 1;
  }

  const Instruction &call;
};

const char *Check::checkGpuEpilogue(const MatmulCall &matmul) const {
  GemmEpilogue epilogue = getGemmEpilogue(matmul);
  bool readsBias = usesBias(epilogue) && !writesBias(epilogue);
  bool readsAux = usesAux(epilogue) && !writesAux(epilogue);
  if (matmul.hasBias != readsBias || matmul.hasAux != readsAux ||
      matmul.hasSaved != writesAux(epilogue) ||
      matmul.hasBiasGrad != writesBias(epilogue))
    return "its epilogue does not read and write these buffers";
  if (out().dims.size() != 2 || dims(0).size() != 2 || dims(1).size() != 2)
    return "an epilogue that saves or reads something is for one matmul, not for a "
           "batch";
  int64_t rows = out().dims[0], columns = out().dims[1];
  if (matmul.hasAddend &&
      (readsBias || readsAux || in(2).type != out().type || in(2).dims != out().dims))
    return "the addend of a matmul does not have the type and shape of its result";
  if (matmul.hasLhsScales || matmul.hasRhsScales) {
    if (!matmul.hasLhsScales || !matmul.hasRhsScales)
      return "one operand of a matmul has scales, and the other has none";
    // Two numbers of four bits share a byte.
    const int64_t k =
        dims(0)[matmul.transposeLhs ? 0 : 1] * (in(0).type == DataType::I8 ? 2 : 1);
    const std::pair<GemmScaling, int64_t> operands[] = {{matmul.lhsScaling, rows},
                                                        {matmul.rhsScaling, columns}};
    for (size_t i = 0; i < 2; ++i) {
      const auto [scaling, outer] = operands[i];
      const BufferRef &scales = in(call.numInputs - 2 + i);
      if (scaling == GemmScaling::None || !isSmall(outer) || !isSmall(k) ||
          scales.type != getScaleType(scaling) ||
          scales.count() != countScales(scaling, outer, k))
        return "the scales of a matmul's operand do not fit it";
    }
  }
  if (usesAux(epilogue)) {
    const BufferRef &aux = readsAux ? in(2) : call.refs[call.numInputs + 1];
    int64_t width = hasBits(epilogue) ? (columns + 127) / 128 * 16 : columns;
    if (aux.type != (hasBits(epilogue) ? DataType::I8 : out().type) ||
        aux.dims.size() != 2 || aux.dims[0] != rows || aux.dims[1] != width)
      return "what an activation saves does not fit its matmul";
  }
  if (usesBias(epilogue) &&
      (readsBias ? in(2) : call.refs[call.numInputs + 1]).count() != columns)
    return "a bias does not fit its matmul";
  return nullptr;
}

const char *Check::check(const MatmulCall &matmul) const {
  if (usesMoreBuffers(matmul))
    if (const char *why = checkGpuEpilogue(matmul))
      return why;
  const uint32_t scales = matmul.hasLhsScales + matmul.hasRhsScales;
  // Operands of four bits lie in bytes.
  const bool isPacked = matmul.lhsScaling == GemmScaling::Vec16UE4M3 &&
                        matmul.rhsScaling == GemmScaling::Vec16UE4M3 && scales == 2 &&
                        in(0).type == DataType::I8 && in(1).type == DataType::I8;
  bool isWide = false, isNarrow = false;
  for (uint32_t i = isPacked ? 2 : 0; i <= call.numInputs; ++i) {
    if ((matmul.hasAux && i == 2) || (i < call.numInputs && i + scales >= call.numInputs))
      continue;
    if (!isFloat(call.refs[i]))
      return "matmuls of this element type are not supported; use f64, f32, bf16 or f16";
    (call.refs[i].type == DataType::F64 ? isWide : isNarrow) = true;
  }
  if (isWide && isNarrow)
    return "matmuls of element type f64 and others together are not supported; cast to "
           "one";
  if ((matmul.lhsRounding != Rounding::None && in(0).type != DataType::F32) ||
      (matmul.rounding != Rounding::None && in(1).type != DataType::F32))
    return "only an operand of f32 is rounded";
  if (matmul.fastAccumulation && (!isF8(in(0).type) || !isF8(in(1).type) || scales != 0))
    return "fast accumulation is for matmuls of two 8-bit floats without scales of "
           "blocks";
  MatmulShape shape;
  return getMatmulShape(call, shape) ? nullptr
                                     : "the operands of a matmul do not fit together";
}

const char *Check::checkConv() const {
  for (uint32_t i = 0; i <= call.numInputs; ++i)
    if (!isFloat(call.refs[i]) || call.refs[i].type == DataType::F64)
      return "convolutions of this element type are not supported; use f32, bf16 or f16";
  const char *misfit = "the operands of a convolution do not fit together";
  ConvCall conv = *getConv(call);
  if ((conv.xRounding != Rounding::None && call.refs[conv.x].type != DataType::F32) ||
      (conv.rounding != Rounding::None && call.refs[conv.filter].type != DataType::F32))
    return "only an operand of f32 is rounded";
  const auto &x = dims(conv.x), &stored = dims(conv.filter), &y = dims(conv.y);
  if (x.size() != 4 || stored.size() != 4 || y.size() != 4)
    return misfit;
  if (!areSmall(conv.strides, 1) || !areSmall(conv.padding, 0) ||
      !areSmall(conv.dilations, 1) || !isSmall(conv.groups) || conv.groups < 1)
    return "a stride, a padding, a dilation or the groups are out of range";
  for (const auto *shape : {&x, &stored, &y})
    if (!std::all_of(shape->begin(), shape->end(), isSmall))
      return misfit;
  const std::array<int64_t, 4> filter = conv.getFilterSizes(stored);
  bool fits = x[0] == y[0] && x[3] == filter[2] * conv.groups && y[3] == filter[3] &&
              filter[3] % conv.groups == 0;
  for (int i : {0, 1}) {
    int64_t reach = (filter[i] - 1) * conv.dilations[i] + 1;
    int64_t free = x[1 + i] + conv.padding[2 * i] + conv.padding[2 * i + 1] - reach;
    fits = fits && filter[i] > 0 && free >= 0 && y[1 + i] == free / conv.strides[i] + 1;
  }
  fits = fits && (!conv.hasBias || in(2).count() == filter[3]);
  return fits ? nullptr : misfit;
}

template <typename Pool>
const char *Check::checkPool(const Pool &pool) const {
  constexpr bool isMaxGrad = std::is_same_v<Pool, MaxPoolGradCall>;
  constexpr bool isGrad = isMaxGrad || std::is_same_v<Pool, AvgPoolGradCall>;
  const auto &x = isGrad ? out().dims : dims(0);
  const auto &y = isGrad ? dims(0) : out().dims;
  for (uint32_t i = 0; i <= call.numInputs; ++i)
    if (!isFloat(call.refs[i]) || call.refs[i].dims.size() != 4 ||
        !std::all_of(call.refs[i].dims.begin(), call.refs[i].dims.end(), isSmall))
      return "pooling needs floats of rank 4";
  if (!areSmall(pool.window, 1) || !areSmall(pool.strides, 1) ||
      !areSmall(pool.padding, 0))
    return "a window, a stride or a padding is out of range";
  if (x[0] != y[0] || x[3] != y[3] || (isMaxGrad && dims(1) != x))
    return "the operands of a pooling do not fit together";
  return nullptr;
}

const char *Check::check(const GatherCall &) const {
  if (!isIndex(in(1)) || in(0).type != out().type || dims(0).empty() || dims(0)[0] <= 0 ||
      out().count() != in(1).count() * (in(0).count() / dims(0)[0]))
    return "the operands of a gather do not fit together";
  return nullptr;
}

const char *Check::check(const ScatterAddCall &scatter) const {
  if (in(1).type == DataType::F64 || out().type == DataType::F64)
    return "a scatter_add adds up f32, f16 or bf16, not f64; cast to f32";
  if (!isIndex(in(0)) || !isFloat(in(1)) || !isFloat(out()) || out().dims.empty() ||
      in(1).count() !=
          in(0).count() * (out().count() / std::max<int64_t>(out().dims[0], 1)) ||
      (scatter.hasInit && (in(2).type != out().type || in(2).dims != out().dims)) ||
      scatter.kind == ReduceKind::Mean ||
      (scatter.kind != ReduceKind::Sum && !scatter.hasInit))
    return "the operands of a scatter_add do not fit together";
  return nullptr;
}

const char *Check::check(const CopyCall &copy) const {
  size_t rank = copy.sizes.size();
  if (copy.srcStrides.size() != rank || copy.dstStrides.size() != rank || rank > 64)
    return "a copy needs a source and a target stride for each of at most 64 sizes";
  if (in(0).type != out().type)
    return "a copy does not convert elements";
  for (int64_t size : copy.sizes)
    if (size < 0)
      return "a copied size is negative";
  if (std::find(copy.sizes.begin(), copy.sizes.end(), 0) != copy.sizes.end())
    return nullptr;
  // Both sides' farthest elements lie inside their buffers.
  auto fits = [&](int64_t offset, const std::vector<int64_t> &strides,
                  const BufferRef &buffer) {
    int64_t low = offset, high = offset;
    for (size_t d = 0; d < rank; ++d) {
      int64_t reach, &end = strides[d] < 0 ? low : high;
      if (__builtin_mul_overflow(copy.sizes[d] - 1, strides[d], &reach) ||
          __builtin_add_overflow(end, reach, &end))
        return false;
    }
    return low >= 0 && high < buffer.count();
  };
  return fits(copy.srcOffset, copy.srcStrides, in(0)) &&
                 fits(copy.dstOffset, copy.dstStrides, out())
             ? nullptr
             : "a copy reaches outside its buffers";
}

const char *Check::check(const ReduceCall &reduce) const {
  if (isFloat(in(0)) != isFloat(out()))
    return "a reduction mixes floats and integers";
  int64_t kept = 1, rank = static_cast<int64_t>(dims(0).size());
  for (int64_t axis : reduce.axes)
    if (axis < 0 || axis >= rank)
      return "a reduced axis does not exist";
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(reduce.axes.begin(), reduce.axes.end(), d) == reduce.axes.end())
      kept *= dims(0)[d];
  return out().count() == kept ? nullptr
                               : "the operands of a reduction do not fit together";
}

const char *Check::check(const ArgmaxCall &) const {
  if (dims(0).empty() || dims(0).back() <= 0 || !isFloat(in(0)) || !isIndex(out()) ||
      out().count() != in(0).count() / dims(0).back())
    return "the operands of an argmax do not fit together";
  return nullptr;
}

const char *Check::check(const RandomMaskCall &mask) const {
  bool isRate = mask.rate >= 0 && mask.rate < 1;
  if (!hasRandomState() || getSize(out().type) != 1 || !isRate)
    return "a random mask needs an i64 seed, an i64 attempt, a mask of bytes and a "
           "rate in [0, 1)";
  return nullptr;
}

const char *Check::check(const GemmQuantizeCall &quantize) const {
  const BufferRef &x = in(0);
  const GemmScaling scaling = quantize.scaling;
  const bool isTensor = scaling == GemmScaling::None;
  const bool isPacked = scaling == GemmScaling::Vec16UE4M3;
  if (x.dims.size() != 2 || x.type == DataType::F64 || !isFloat(x) ||
      (isF8(x.type) && (quantize.hasFactor || isPacked)) ||
      (isF8(x.type) && !isTensor) != quantize.hasScales ||
      (quantize.rounding != Rounding::None && x.type != DataType::F32))
    return "what becomes 8 bits wide is no matrix of f32, f16 or bf16, or one of 8 bits "
           "with its scales";
  const int64_t rows = x.dims[0], columns = x.dims[1];
  const auto [outerBlock, block] = quantize.block;
  const bool isSquare = outerBlock == 128 && block == 128;
  const int64_t multiple = isPacked ? 32 : 16;
  bool fits = outerBlock == 1 && block == getScaleLength(scaling);
  if (isTensor)
    fits = outerBlock == 0 && block == 0;
  else if (scaling == GemmScaling::Block128F32)
    fits = isSquare;
  else if (scaling == GemmScaling::Vec32UE8M0)
    fits = fits || isSquare || (outerBlock == 1 && block == 128);
  if (!fits || !isSmall(rows) || !isSmall(columns) || rows % multiple != 0 ||
      columns % multiple != 0 || rows == 0 || columns == 0)
    return "blocks of an 8-bit matrix do not fit its scales, or its sizes are not "
           "multiples of 16";
  auto isScales = [&](const BufferRef &scales, int64_t outer, int64_t k) {
    return scales.type == getScaleType(scaling) &&
           scales.count() == countScales(scaling, outer, k);
  };
  auto isMatrix = [&](const BufferRef &q, int64_t outer, int64_t k) {
    return (isPacked ? q.type == DataType::I8 : isF8(q.type)) &&
           q.dims == std::vector<int64_t>{outer, isPacked ? k / 2 : k};
  };
  const char *misfit = "an 8-bit matrix or its scales do not fit what they are made of";
  if (quantize.hasRowScales != (quantize.hasRow && !isTensor) ||
      quantize.hasColumnScales != (quantize.hasColumn && !isTensor) ||
      (quantize.hasScales && !isScales(in(1), rows, columns)))
    return misfit;
  auto isNumbers = [](const BufferRef &numbers, int64_t count) {
    return numbers.type == DataType::F32 && numbers.count() == count;
  };
  if (quantize.hasFactor && !isNumbers(in(1), 1))
    return misfit;
  const BufferRef *output = &call.refs[call.numInputs];
  auto isSide = [&](bool exists, int64_t outer, int64_t k) {
    if (!exists)
      return true;
    const BufferRef *q = output;
    output += isTensor ? 1 : 2;
    return isMatrix(q[0], outer, k) && (isTensor || isScales(q[1], outer, k));
  };
  if (!isSide(quantize.hasRow, rows, columns) ||
      !isSide(quantize.hasColumn, columns, rows) ||
      (quantize.hasAmax &&
       !isNumbers(*output, (rows + 127) / 128 * ((columns + 127) / 128))))
    return misfit;
  return nullptr;
}

const char *Check::check(const RandomBitsCall &) const {
  return hasRandomState() && out().type == DataType::I16
             ? nullptr
             : "random bits need an i64 seed, an i64 attempt and an i16 result";
}

template <typename Attention>
const char *Check::checkAttention(const Attention &attention) const {
  const char *misfit = "the operands of an attention do not fit together";
  AttentionPlan plan;
  if (!planAttention(call, plan))
    return misfit;
  using Shape = std::vector<int64_t>;
  const Shape query = {plan.batch, plan.heads, plan.queries, plan.width},
              key = {plan.batch, plan.groups, plan.keys, plan.width},
              value = {plan.batch, plan.groups, plan.keys, plan.valueWidth},
              result = {plan.batch, plan.heads, plan.queries, plan.valueWidth},
              rows = {plan.batch, plan.heads, plan.queries},
              scores = {plan.batch, plan.heads, plan.queries, plan.keys};
  bool fits = true, isSupported = true;
  auto expect = [&](size_t i, const Shape &shape) {
    const BufferRef &ref = call.refs[i];
    fits = fits && ref.dims == shape;
    isSupported =
        isSupported && (ref.type == DataType::F32 || ref.type == DataType::F16 ||
                        ref.type == DataType::BF16);
  };
  // A size of 1 stands for any.
  auto fitsScores = [&](const BufferRef &ref) {
    bool fits = ref.dims.size() == scores.size();
    for (size_t d = 0; fits && d < scores.size(); ++d)
      fits = ref.dims[d] == scores[d] || ref.dims[d] == 1;
    return fits;
  };
  size_t next = 0;
  if (plan.isGrad)
    expect(next++, result);
  expect(next++, query);
  expect(next++, key);
  expect(next++, value);
  size_t lse = next + 1;
  if (plan.isGrad)
    expect(next++, result);
  else
    lse = call.numInputs + 1;
  expect(lse, rows);
  if (call.refs[lse].type != DataType::F32)
    return "the log_sum_exp of an attention is not f32";
  next += plan.isGrad;
  if (plan.hasMask) {
    fits = fits && fitsScores(in(next)) && getSize(in(next).type) == 1;
    ++next;
  }
  const size_t bias = next;
  if (plan.hasBias) {
    expect(bias, in(bias).dims);
    fits = fits && fitsScores(in(bias));
    ++next;
  }
  const bool isRate = attention.dropout >= 0 && attention.dropout < 1;
  if (!isRate || (plan.hasDropout ? !hasRandomState(next) : attention.dropout != 0))
    return "the dropout of an attention needs an i64 seed, an i64 attempt and a rate in "
           "[0, 1)";
  next = call.numInputs;
  if (plan.isGrad) {
    expect(next, query);
    expect(next + 1, key);
    expect(next + 2, value);
    if (plan.hasBiasGrad) {
      fits = fits && plan.hasBias;
      if (plan.hasBias)
        expect(next + 3, in(bias).dims);
    }
  } else {
    expect(next, result);
  }
  if (!isSupported)
    return "attention of this element type is not supported; use f32, bf16 or f16";
  return fits ? nullptr : misfit;
}

const char *Check::check(const CheckIndicesCall &) const {
  return isIndex(in(0)) && out().type == in(0).type && out().count() == in(0).count()
             ? nullptr
             : "the operands of a check_indices do not fit together";
}

//===----------------------------------------------------------------------===//
// Calls of several processes
//===----------------------------------------------------------------------===//

const char *const kRanksOutOfRange = "the number of ranks is not in [1, 65536]";

bool isNumberOfRanks(int64_t ranks) { return ranks >= 1 && ranks <= kMaxRanks; }

/// Whether `large` has `ranks` times as many elements as `small`.
bool isMultiple(const BufferRef &large, const BufferRef &small, int64_t ranks) {
  int64_t all;
  return !__builtin_mul_overflow(small.count(), ranks, &all) && large.count() == all;
}

/// Types that are reduced in f32.
bool isReducedInF32(DataType type) {
  return type == DataType::F32 || type == DataType::F16 || type == DataType::BF16;
}

template <typename Reduction>
const char *Check::checkReduction(const Reduction &reduction) const {
  if (!isNumberOfRanks(reduction.ranks))
    return kRanksOutOfRange;
  const DataType type = in(0).type, result = out().type;
  for (uint32_t i = 0; i < call.numInputs + call.numOutputs; ++i)
    if (call.refs[i].type != (i < call.numInputs ? type : result))
      return "the tensors that are reduced over ranks do not have one element type, or "
             "their results do not";
  const bool isInF32 = isReducedInF32(type);
  if (isInF32 ? !isReducedInF32(result) : result != type)
    return "what is reduced over ranks cannot have this result type";
  if (isFloat(in(0)) && !isInF32 && type != DataType::F64)
    return "a reduction over ranks of this element type is not supported; use f64, f32, "
           "bf16, f16 or integers";
  const ReduceKind kind = reduction.kind;
  if (kind != ReduceKind::Sum && kind != ReduceKind::Mean && kind != ReduceKind::Max &&
      kind != ReduceKind::Min)
    return "ranks are reduced by sum, mean, max or min";
  if (kind == ReduceKind::Mean && !isFloat(in(0)))
    return "integers have no mean over ranks; use sum";
  if (kind == ReduceKind::Sum && type == DataType::I1)
    return "i1 has no sum over ranks; use max or min";
  if (reduction.rounding != Rounding::None && !isInF32)
    return "only values of f32, f16 and bf16 are rounded before they travel";
  return nullptr;
}

const char *Check::check(const AllReduceCall &reduction) const {
  // The numbers of buffers are compared after 32 bits of these.
  if (reduction.numXs < 1 || reduction.numXs != call.numInputs ||
      reduction.numSums != reduction.numXs)
    return "an all_reduce needs at least one tensor, and a result for each";
  if (const char *why = checkReduction(reduction))
    return why;
  int64_t elements = 0;
  for (uint32_t i = 0; i < call.numInputs; ++i) {
    if (call.refs[call.numInputs + i].dims != dims(i))
      return "the result of an all_reduce does not have the shape of its tensor";
    if (__builtin_add_overflow(elements, in(i).count(), &elements))
      return "the tensors of an all_reduce have more than 2^63 elements";
  }
  return nullptr;
}

const char *Check::check(const ReduceScatterCall &reduction) const {
  if (const char *why = checkReduction(reduction))
    return why;
  return isMultiple(in(0), out(), reduction.ranks)
             ? nullptr
             : "the operand of a reduce_scatter is not a result for each rank";
}

const char *Check::check(const AllGatherCall &gather) const {
  if (!isNumberOfRanks(gather.ranks))
    return kRanksOutOfRange;
  return in(0).type == out().type && isMultiple(out(), in(0), gather.ranks)
             ? nullptr
             : "the result of an all_gather is not an operand of each rank";
}

const char *Check::check(const AllToAllCall &exchange) const {
  if (!isNumberOfRanks(exchange.ranks))
    return kRanksOutOfRange;
  return in(0).type == out().type && dims(0) == out().dims &&
                 in(0).count() % exchange.ranks == 0
             ? nullptr
             : "the operand of an all_to_all has no part for each rank";
}

const char *Check::check(const BroadcastCall &broadcast) const {
  if (!isNumberOfRanks(broadcast.ranks))
    return kRanksOutOfRange;
  if (broadcast.root < 0 || broadcast.root >= broadcast.ranks)
    return "the root of a broadcast is no rank";
  return in(0).type == out().type && dims(0) == out().dims
             ? nullptr
             : "the operands of a broadcast do not fit together";
}

/// What it waits for has been checked, and readProgram compares the buffers.
const char *Check::check(const WaitCall &wait) const {
  // The numbers of buffers are compared after 32 bits of these.
  return wait.numXs >= 1 && wait.numXs == call.numInputs && wait.numResults >= 1 &&
                 wait.numResults == call.numOutputs
             ? nullptr
             : "a wait needs the buffers of the exchange that it waits for";
}

const char *Check::check(const RankCall &rank) const {
  if (!isNumberOfRanks(rank.ranks))
    return kRanksOutOfRange;
  return isIndex(out()) && out().count() == 1 ? nullptr
                                              : "a rank is one number of i64 or i32";
}

} // namespace

bool mpt::rt::checkCall(const Instruction &call, std::string &error) {
  if (!call.call) {
    error = "a launch is not a library call";
    return false;
  }
  uint32_t inputs = getNumInputs(*call.call), outputs = getNumOutputs(*call.call);
  if (call.numInputs != inputs || call.numOutputs != outputs ||
      call.refs.size() < size_t(inputs) + outputs) {
    error = std::string("'") + getName(*call.call) + "' needs " + std::to_string(inputs) +
            " inputs and " + std::to_string(outputs) + " outputs, found " +
            std::to_string(call.numInputs) + " and " + std::to_string(call.numOutputs);
    return false;
  }
  const char *wrong =
      std::visit([&](const auto &one) { return Check(call).check(one); }, *call.call);
  if (wrong)
    error = wrong;
  return !wrong;
}
