//===- CallPlan.cpp - How a library call is cut and what it needs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

using namespace mpt::rt;

static int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }
static int64_t roundToBlocks(int64_t size) { return (size + 7) / 8 * 8; }
static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Where `call` has how it rounds its first or second operand; null if it cannot.
static Rounding *findRounding(LibraryCall &call, uint32_t operand) {
  if (operand > 1)
    return nullptr;
  if (auto *matmul = std::get_if<MatmulCall>(&call))
    return operand == 0 ? &matmul->lhsRounding : &matmul->rounding;
  if (auto *conv = std::get_if<Conv2DCall>(&call))
    return operand == 0 ? &conv->xRounding : &conv->rounding;
  if (auto *grad = std::get_if<Conv2DInputGradCall>(&call))
    return operand == 0 ? nullptr : &grad->rounding;
  auto *grad = std::get_if<Conv2DFilterGradCall>(&call);
  return grad && operand == 0 ? &grad->xRounding : nullptr;
}

bool mpt::rt::roundsOperands(LibraryCall call) {
  for (uint32_t operand : {0, 1})
    if (const Rounding *rounding = findRounding(call, operand))
      if (*rounding != Rounding::None)
        return true;
  return false;
}

bool mpt::rt::setRounding(LibraryCall &call, uint32_t operand, Rounding rounding) {
  Rounding *field = findRounding(call, operand);
  if (field)
    *field = rounding;
  return field;
}

/// Floats of a thread's panels: half of a 512 KiB second-level cache.
static constexpr int64_t panelFloats = 65536;
/// Floats of a panel of columns, and of those of the rows that are multiplied by it.
static constexpr int64_t columnFloats = 131072, rowFloats = 32768;
/// If both sides are packed for each task: floats of the rows, and numbers of a result
/// from which on such panels are small beside it; fewer where a left side of long sums is
/// widened for each panel of columns otherwise.
static constexpr int64_t packedFloats = 131072, largeResult = int64_t(1) << 21,
                         largeWidened = int64_t(1) << 19;
/// Terms of sums of at least `deepSum` that are added at a time if both sides are packed.
static constexpr int64_t deepSum = 2048, depthOfTask = 512;
/// Products, with columns counted in sixteens, and terms of what small matmuls take on
/// some CPUs. Others take so few columns, rows and terms of it at a time.
static constexpr int64_t smallProducts = int64_t(1) << 19, smallTerms = 1024,
                         columnsOfSmall = 32, rowsOfSmall = 16, depthOfSmall = 64;
/// Numbers of another small result, and terms that are added to it at a time.
static constexpr int64_t slimResult = 4096, depthOfSlim = 128;
/// Columns that a matmul wants at least and at most at a time.
static constexpr int64_t fewestColumns = 64, mostColumns = 256;
/// What is left of these, and of rows and terms, where panels are to take little memory.
static constexpr int64_t leastRows = 32, leastDepth = 64;
/// What is left of the terms of a part of a long sum.
static constexpr int64_t leastDepthOfSums = 8;
/// Rows up to which sums that are rounded at their end are taken in parts.
static constexpr int64_t keptRows = 64;
/// The part of the bytes that halves save that a thread's panels may take.
static constexpr int64_t savedShare = 2;
/// Numbers of a row of both sides from which on those that fit the cache are few.
static constexpr int64_t wideRow = 4096;
/// Tasks that a matmul wants at least.
static constexpr int64_t matmulTasks = 16;
/// Sums at least this long, and four times longer than the result is wide, are
/// cut.
static constexpr int64_t longSum = 2048;

/// Rows and columns of the square tasks that a matmul is cut into, a multiple of 16.
static int64_t getSquareTask(int64_t m, int64_t n) {
  const double area = static_cast<double>(m) * static_cast<double>(n);
  return ceilDiv(static_cast<int64_t>(std::sqrt(area / matmulTasks)), 16) * 16;
}

/// Whether a matmul is small, and widens its right side: workspace beside which operands
/// and result are little is not worth its memory.
static bool isSmall(const MatmulShape &s) {
  return s.batch == 1 && s.rhs != DataType::F32 && !isF8(s.lhs) && s.k <= smallTerms &&
         s.m * s.k <= smallProducts && s.k * s.n <= smallProducts &&
         s.m * s.k * ceilDiv(s.n, 16) * 16 <= smallProducts;
}

/// Terms of each sum that a task adds at a time if the right side is widened.
static int64_t getDepthOfWidened(const MatmulShape &s) {
  if (!s.transposeLhs || s.transposeRhs || s.out != DataType::F32 || isF8(s.lhs) ||
      (!isSmall(s) && s.m * s.n > slimResult))
    return s.k;
  // In parts of about that size, so that the last is not much shorter.
  const int64_t parts = s.k / (isSmall(s) ? depthOfSmall : depthOfSlim);
  return parts < 2 ? s.k : roundToBlocks(ceilDiv(s.k, parts));
}

/// What follows from the rows, columns and terms of the tasks of a matmul that is cut
/// into columns.
static void finishColumns(const MatmulShape &s, MatmulPlan &plan) {
  const int64_t rows = std::max<int64_t>(s.m, 1);
  plan.columnChunks = ceilDiv(std::max<int64_t>(s.n, 1), plan.columnChunk);
  plan.chunks = ceilDiv(rows, plan.rowChunk);
  plan.keepsSums = plan.depth < s.k && s.out != DataType::F32;
  const int64_t groups =
      plan.keepsSums ? plan.chunks
                     : std::min(ceilDiv(matmulTasks, plan.columnChunks), plan.chunks);
  plan.rowGroup = ceilDiv(plan.chunks, groups) * plan.rowChunk;
  plan.rowGroups = ceilDiv(rows, plan.rowGroup);
  plan.gathersLhs = s.transposeLhs ? plan.chunks > 1 : plan.depth < s.k;
  plan.columnBytes =
      alignUp(roundToBlocks(plan.depth) * roundToBlocks(plan.columnChunk) * 4);
  const bool copiesLhs = s.lhs != DataType::F32 || plan.gathersLhs;
  plan.threadBytes =
      plan.columnBytes + alignUp(copiesLhs ? plan.rowChunk * plan.depth * 4 : 0) +
      (plan.keepsSums ? 2 : 1) * alignUp(plan.rowChunk * plan.columnChunk * 4);
}

/// Most bytes of a thread's panels in a matmul of halves: what f32 needs, and a part of
/// what the halves save.
static int64_t getMostPanelBytes(const MatmulShape &s) {
  MatmulShape wide = s;
  wide.lhs = wide.rhs = wide.out = DataType::F32;
  wide.lhsRounding = wide.rounding = Rounding::None;
  // Sides that are rounded while they are read, such as weights, save nothing, but the
  // order of sums must not depend on that: counted is the smaller one.
  int64_t saved = 2 * s.k * std::min(s.m, s.n);
  if (s.out != DataType::F32)
    saved += 2 * s.m * s.n;
  const MatmulPlan plan = planMatmul(wide);
  // Partial results are f32 in each type.
  const int64_t partials = plan.partialBytes * plan.partialResults(1);
  return std::max(MatmulPlan::stackBytes,
                  plan.workspaceBytes(1) - partials + saved / savedShare);
}

/// Lets the panels of a matmul of halves that is cut into columns take no more memory.
static void shrinkPanels(const MatmulShape &s, MatmulPlan &plan) {
  const int64_t most = getMostPanelBytes(s);
  // For each chunk of rows whose sums are kept the right side is widened again.
  const bool mayCutSums = s.out == DataType::F32 || (!s.transposeLhs && s.m <= keptRows);
  while (plan.threadBytes > most) {
    if (plan.rowChunk > leastRows)
      plan.rowChunk = std::max(leastRows, ceilDiv(plan.rowChunk, 32) * 16);
    else if (plan.columnChunk > fewestColumns)
      plan.columnChunk = std::max(fewestColumns, ceilDiv(plan.columnChunk, 128) * 64);
    else if (mayCutSums && plan.depth > leastDepth) {
      const int64_t parts = ceilDiv(s.k, plan.depth);
      // One part more may have as many terms, rounded to blocks.
      plan.depth =
          std::min(roundToBlocks(
                       ceilDiv(s.k, plan.threadBytes / 2 > most ? 2 * parts : parts + 1)),
                   roundToBlocks(plan.depth) - roundToBlocks(1));
    } else
      return;
    finishColumns(s, plan);
  }
}

MatmulPlan mpt::rt::planMatmul(const MatmulShape &s) {
  MatmulPlan plan;
  plan.depth = s.k;
  bool widenLhs = s.lhs != DataType::F32, widenRhs = s.rhs != DataType::F32;
  bool narrowOut = s.out != DataType::F32;
  // oneDNN reads a single column in place.
  auto chooseLayout = [&](int64_t rows, int64_t k) {
    if (s.transposeLhs || s.n <= 1)
      return;
    plan.blocksRhs = 4 * roundToBlocks(k) * roundToBlocks(s.n) <= rows * (k + s.n);
    plan.turnsLhs = !plan.blocksRhs;
  };
  auto getRhsBytes = [&](int64_t k) {
    return widenRhs || plan.blocksRhs || plan.gathersRhs
               ? alignUp(roundToBlocks(k) * roundToBlocks(s.n) * 4)
               : 0;
  };
  if (s.batch == 1 && s.k >= longSum && s.k >= 4 * std::max(s.m, s.n) &&
      s.m * s.n <= 1024 * 1024) {
    // Panels of both sides in the cache; at most 32 partial results.
    int64_t chunk = std::max<int64_t>(panelFloats / std::max<int64_t>(s.m + s.n, 1), 256);
    chunk = std::max(chunk, ceilDiv(s.k, 32));
    plan.sumChunk = std::min(alignUp(chunk), s.k);
    plan.chunks = ceilDiv(s.k, plan.sumChunk);
    chooseLayout(s.m, plan.sumChunk);
    plan.gathersLhs = plan.chunks > 1 && !s.transposeLhs && s.n > 1;
    plan.gathersRhs = plan.chunks > 1 && s.transposeRhs;
    plan.partialBytes = alignUp(s.m * s.n * 4);
    const bool copiesLhs = widenLhs || plan.blocksRhs || plan.turnsLhs || plan.gathersLhs;
    auto getPanelBytes = [&](int64_t depth) {
      return alignUp(copiesLhs ? depth * s.m * 4 : 0) + getRhsBytes(depth);
    };
    plan.depth = plan.sumChunk;
    // Panels of halves hold as many terms as may be, in parts that are about equal.
    const int64_t most =
        widenLhs || widenRhs ? getMostPanelBytes(s) : getPanelBytes(plan.sumChunk);
    while (getPanelBytes(plan.depth) > most && plan.depth > leastDepthOfSums) {
      const int64_t parts = ceilDiv(plan.sumChunk, plan.depth) + 1;
      plan.depth = std::max(leastDepthOfSums,
                            std::min(roundToBlocks(ceilDiv(plan.sumChunk, parts)),
                                     roundToBlocks(plan.depth) - roundToBlocks(1)));
    }
    plan.threadBytes = getPanelBytes(plan.depth);
    return plan;
  }
  auto chooseRows = [&](int64_t floats, int64_t columns, int64_t least, int64_t most) {
    int64_t rows = floats / std::max<int64_t>(plan.depth + columns, 1);
    plan.rowChunk = std::min(std::clamp<int64_t>(rows / 16 * 16, least, most),
                             std::max<int64_t>(s.m, 1));
    plan.chunks = ceilDiv(std::max<int64_t>(s.m, 1), plan.rowChunk);
  };
  // A copy of the right side would take more memory than halves save. A large one of f32
  // would be read again for each chunk of rows, of which few are in the cache at a time
  // if they are wide.
  const bool isLarge = !s.transposeLhs && 4 * s.k * s.n > s.m * (s.k + s.n),
             isWide = s.k + s.n > wideRow,
             isDeep = s.transposeLhs && !s.transposeRhs && !narrowOut && s.k >= deepSum &&
                      s.n >= fewestColumns;
  if (s.batch == 1 && (widenRhs || (s.m >= fewestColumns && (isLarge || isWide)))) {
    const int64_t n = std::max<int64_t>(s.n, 1);
    if (isDeep)
      plan.depth = depthOfTask;
    else if (widenRhs)
      plan.depth = getDepthOfWidened(s);
    int64_t columns = columnFloats / std::max<int64_t>(plan.depth, 1) / 16 * 16;
    const bool packsBoth =
        s.transposeLhs &&
        (isDeep ||
         s.m * n >= (widenLhs && s.k >= depthOfTask ? largeWidened : largeResult));
    if (isF8(s.lhs) || packsBoth) {
      // Both sides are widened or packed for each task, least often if it is square.
      columns = std::min(packsBoth ? 2 * columns : columns, getSquareTask(s.m, n));
    } else {
      // Rows are read, or copied, for each chunk of columns. Where there are many, few
      // chunks and more groups of rows move less, and so where rows are widened.
      const int64_t many = s.lhs == DataType::F16 && !s.transposeLhs ? 128 : 1024;
      const int64_t parts = std::clamp<int64_t>(s.m / many, 1, matmulTasks);
      columns = std::min(columns, ceilDiv(ceilDiv(n * parts, matmulTasks), 16) * 16);
    }
    // Some CPUs take columns in blocks of 64. Chunks are about equal.
    columns = std::clamp(columns, fewestColumns, mostColumns);
    if (!isF8(s.lhs))
      columns = ceilDiv(ceilDiv(n, ceilDiv(n, columns)), 64) * 64;
    if (isSmall(s))
      columns = columnsOfSmall;
    plan.columnChunk = std::min(columns, n);
    // No more rows than a task has if there are to be enough tasks.
    const int64_t wanted = ceilDiv(matmulTasks, ceilDiv(n, plan.columnChunk));
    const int64_t most = std::clamp<int64_t>(ceilDiv(s.m, 16 * wanted) * 16, 32, 512);
    if (isSmall(s))
      chooseRows(rowFloats, plan.columnChunk, rowsOfSmall, rowsOfSmall);
    else
      chooseRows(packsBoth ? packedFloats : rowFloats, plan.columnChunk, 32, most);
    plan.blocksRhs = !s.transposeLhs && s.n > 1;
    plan.packsBoth = packsBoth;
    finishColumns(s, plan);
    if (widenRhs && !isF8(s.lhs))
      shrinkPanels(s, plan);
    return plan;
  }
  chooseRows(panelFloats, s.n, 48, 512);
  chooseLayout(s.sharedRhs ? s.batch * s.m : s.m, s.k);
  plan.gathersLhs = plan.chunks > 1 && s.transposeLhs;
  plan.rhsBytes = getRhsBytes(s.k);
  // A right side that one task reads stays in that thread's cache.
  plan.rhsCopies = s.sharedRhs || s.batch <= 1                  ? 1
                   : plan.chunks == 1 || s.batch >= matmulTasks ? 0
                                                                : s.batch;
  plan.threadBytes =
      alignUp(widenLhs || plan.turnsLhs || plan.gathersLhs ? plan.rowChunk * s.k * 4
                                                           : 0) +
      alignUp(narrowOut ? plan.rowChunk * s.n * 4 : 0);
  return plan;
}

bool mpt::rt::getMatmulShape(const Instruction &call, MatmulShape &s) {
  const auto *matmul = call.getCall<MatmulCall>();
  if (!matmul || call.numInputs < 2 || call.numOutputs < 1)
    return false;
  const BufferRef &lhs = call.refs[0], &rhs = call.refs[1],
                  &out = call.refs[call.numInputs];
  size_t rank = lhs.dims.size();
  if (rank < 2 || rhs.dims.size() < 2 || out.dims.size() != rank)
    return false;
  s.transposeLhs = matmul->transposeLhs;
  s.transposeRhs = matmul->transposeRhs;
  s.m = lhs.dims[rank - (s.transposeLhs ? 1 : 2)];
  s.k = lhs.dims[rank - (s.transposeLhs ? 2 : 1)];
  size_t rhsRank = rhs.dims.size();
  s.n = rhs.dims[rhsRank - (s.transposeRhs ? 2 : 1)];
  s.batch = 1;
  for (size_t i = 0; i + 2 < rank; ++i)
    if (__builtin_mul_overflow(s.batch, lhs.dims[i], &s.batch))
      return false;
  s.sharedRhs = rhsRank == 2;
  s.lhsRounding = matmul->lhsRounding;
  s.lhs = getRounded(lhs.type, s.lhsRounding);
  s.rounding = matmul->rounding;
  s.rhs = getRounded(rhs.type, s.rounding);
  s.out = out.type;
  int64_t rhsK = rhs.dims[rhsRank - (s.transposeRhs ? 1 : 2)];
  // Rows one after another that meet one right side are those of one matrix.
  if (s.sharedRhs && !s.transposeLhs) {
    if (__builtin_mul_overflow(s.batch, s.m, &s.m))
      return false;
    s.batch = 1;
  }
  bool biasFits =
      !matmul->hasBias || (call.numInputs >= 3 && call.refs[2].count() == s.n);
  int64_t outCount, rhsCount;
  bool isSmall = !__builtin_mul_overflow(s.m, s.n, &outCount) &&
                 !__builtin_mul_overflow(s.batch, outCount, &outCount) &&
                 !__builtin_mul_overflow(s.k, s.n, &rhsCount) &&
                 !__builtin_mul_overflow(s.sharedRhs ? 1 : s.batch, rhsCount, &rhsCount);
  return isSmall && rhsK == s.k && out.count() == outCount && biasFits &&
         rhs.count() == rhsCount;
}

/// The attributes that convolutions and their gradients share.
template <typename Call>
static ConvCall makeConvCall(const Call &call) {
  ConvCall conv;
  conv.kind = Call::id;
  conv.strides = call.strides;
  conv.dilations = call.dilations;
  conv.padding = call.padding;
  conv.groups = call.groups;
  conv.isOIHW = call.oihw;
  conv.isForCudnn = call.cudnn;
  conv.allowTF32 = call.allowTf32;
  return conv;
}

std::optional<ConvCall> mpt::rt::getConv(const Instruction &instruction) {
  if (const auto *forward = instruction.getCall<Conv2DCall>()) {
    ConvCall conv = makeConvCall(*forward);
    conv.epilogue = forward->epilogue;
    conv.xRounding = forward->xRounding;
    conv.rounding = forward->rounding;
    conv.hasBias = forward->hasBias;
    conv.y = forward->numInputs();
    return conv;
  }
  // (dy, filter) -> dx.
  if (const auto *grad = instruction.getCall<Conv2DInputGradCall>()) {
    ConvCall conv = makeConvCall(*grad);
    conv.rounding = grad->rounding;
    conv.y = 0;
    conv.x = 2;
    return conv;
  }
  // (x, dy) -> dfilter.
  if (const auto *grad = instruction.getCall<Conv2DFilterGradCall>()) {
    ConvCall conv = makeConvCall(*grad);
    conv.xRounding = grad->xRounding;
    conv.y = 1;
    conv.filter = 2;
    return conv;
  }
  return std::nullopt;
}

/// Most tasks of a convolution.
static constexpr int64_t convTasks = 16;
/// Fewer chunks than this are cut further if that moves few bytes.
static constexpr int64_t fewTasks = 8;
/// A filter at least this large does not stay in the cache from image to image.
static constexpr double largeFilter = 1 << 20;
/// Rows of a matmul that a chunk amounts to, from which on reading such a filter costs
/// little.
static constexpr double manyRows = 128;

/// Sums at least this long lose digits if they are added term by term.
static constexpr int64_t longChain = 1024;
/// Rows of a matmul that a chunk in blocks of channels amounts to, about: more would take
/// memory and save no time.
static constexpr int64_t blockedRows = 256;
/// From such a dilation on oneDNN runs input gradients as matmuls.
static constexpr int64_t largeDilation = 4;
/// Images at most this wide are multiplied in blocks of channels as fast as without.
static constexpr int64_t narrowImage = 4;

static int64_t roundTo16(int64_t size) { return (size + 15) / 16 * 16; }

/// Images of a chunk if there are to be about `parts`: equal chunks if at most half of
/// the tasks are lost by that, since oneDNN's layout of the filter need not suit a
/// shorter one.
static int64_t getImageChunk(int64_t images, int64_t parts) {
  const int64_t least = ceilDiv(images, parts);
  for (int64_t chunk = least; chunk < 2 * least; ++chunk)
    if (images % chunk == 0)
      return chunk;
  return least;
}

/// So few input channels are padded to 8, or, in bf16 with AMX, to 32 halves, of a filter
/// that is not one point. Floats of a row of bf16 and of its numbers while they wait for
/// their layout.
static constexpr int64_t fewChannels = 8, fewRows = 8, fewRowsOfBF16 = 20;

/// Bytes that oneDNN's layouts of a filter take at most: channels come in blocks of 16,
/// those of results in blocks of up to 64, and some layouts have a few more rows. What
/// takes more is not used.
static int64_t getPackedFilterBytes(const ConvCall &conv, DataType operands, int64_t area,
                                    int64_t in, int64_t out) {
  const int64_t groups = conv.groups;
  if (groups == 1 && area > 1 && in < fewChannels &&
      conv.kind != CallId::Conv2DInputGrad) {
    const int64_t outs = out > 64 ? ceilDiv(out, 64) * 64 : roundTo16(out),
                  rows = operands == DataType::BF16 ? fewRowsOfBF16 : fewRows;
    return alignUp(area * rows * outs * 4);
  }
  if (groups == 1)
    return alignUp(area * (roundTo16(in) + 16) * roundTo16(out) * 4);
  if (in == 1 && out == groups)
    return alignUp(area * roundTo16(groups) * 4);
  return alignUp(area * groups * roundTo16(in) * roundTo16(out / groups) * 4);
}

/// What the cuts of a convolution cost. `shared` is read by every slice of `channels`,
/// `sliced` is copied into slices or out of them.
struct ConvTraffic {
  double macs, chunkBytes, sharedBytes, slicedBytes;
  int64_t channels, fewestChannels;
};

/// Cuts a convolution so that little memory moves. Compared are bytes, and twenty
/// multiplications and additions as one byte, as on one thread, with a surcharge for
/// fewer tasks than threads might take.
static void cutConv(ConvPlan &plan, int64_t images, const ConvTraffic &traffic) {
  double least = -1;
  for (int64_t parts = convTasks; parts >= 1; parts /= 2)
    for (int64_t slices = 1; slices <= convTasks; slices *= 2) {
      if (slices > 1 && (traffic.channels % (16 * slices) != 0 ||
                         traffic.channels / slices < traffic.fewestChannels))
        continue;
      const int64_t chunk = getImageChunk(images, parts);
      const int64_t chunks = ceilDiv(images, chunk);
      const auto tasks = static_cast<double>(std::min(chunks * slices, convTasks));
      double bytes = traffic.macs / 10 +
                     static_cast<double>(chunks) * traffic.chunkBytes +
                     static_cast<double>(slices) * traffic.sharedBytes;
      if (slices > 1)
        bytes += 2 * traffic.slicedBytes;
      const double cost = bytes * (tasks + 2) / tasks;
      if (least >= 0 && cost >= least)
        continue;
      least = cost;
      plan.chunk = chunk;
      plan.chunks = chunks;
      plan.slices = slices;
    }
}

/// Whether a convolution, or its input gradient, adds so many terms that blocks of
/// channels pay, and takes about as long with them.
static bool wantsBlocks(const ConvCall &conv, const std::array<int64_t, 4> &filter,
                        const BufferRef &y) {
  const auto [height, width, in, out] = filter;
  if (conv.kind == CallId::Conv2DFilterGrad || conv.groups != 1 || height * width == 1 ||
      in % 16 != 0 || out % 16 != 0)
    return false;
  if (conv.kind == CallId::Conv2D)
    return y.dims[2] <= narrowImage && height * width * in >= longChain;
  return height * width * out >= longChain;
}

/// Points of an image of dy up to which a filter gradient is a matmul, also with a filter
/// of 1 x 1, and if most products are with padding; points of a sum; and channels of a
/// block.
static constexpr int64_t fewPoints = 64, fewestPoints = 4, mostPoints = 1024,
                         pointsOfSum = 512, fewestBlock = 64, mostBlock = 256;
/// Channels and points of a row from which on a filter gradient over it is made tap by
/// tap.
static constexpr int64_t fewestRowChannels = 32, fewestRowPoints = 256;

/// Points of y along an axis that read one of x through a tap, and not padding, added up
/// over the taps; and the taps through which any does.
struct TapReads {
  int64_t reads = 0, taps = 0;
};
static TapReads countReads(const ConvCall &conv, int axis, int64_t taps, int64_t xSize,
                           int64_t ySize) {
  TapReads all;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t before = all.reads;
    for (int64_t point = 0; point < ySize; ++point) {
      const int64_t read = point * conv.strides[axis] - conv.padding[2 * axis] +
                           tap * conv.dilations[axis];
      all.reads += read >= 0 && read < xSize;
    }
    all.taps += all.reads > before;
  }
  return all;
}

/// Whether dilations let at least half of the products of a filter gradient be with
/// padding.
static bool isMostlyPadding(const ConvCall &conv, const BufferRef &x, const BufferRef &y,
                            const std::array<int64_t, 4> &filter) {
  int64_t reads = 2, all = 1;
  for (int axis : {0, 1}) {
    if (conv.dilations[axis] <= 1 && filter[axis] > 1)
      return false;
    reads *=
        countReads(conv, axis, filter[axis], x.dims[1 + axis], y.dims[1 + axis]).reads;
    all *= filter[axis] * y.dims[1 + axis];
  }
  return reads <= all;
}

/// Makes matmuls of a filter gradient of many channels, if images are small or most
/// products are with padding; false for others.
static bool planFilterGradMatmul(ConvPlan &plan, const ConvCall &conv, const BufferRef &x,
                                 const BufferRef &y, std::array<int64_t, 4> filter) {
  const int64_t taps = filter[0] * filter[1], in = filter[2], out = filter[3];
  const int64_t channels = std::min(in, out), images = x.dims[0],
                points = y.dims[1] * y.dims[2];
  if (conv.kind != CallId::Conv2DFilterGrad || conv.groups != 1 ||
      channels < fewestBlock || points > mostPoints)
    return false;
  if (points > (taps == 1 ? fewestPoints : std::min(fewPoints, channels / 4)) &&
      !isMostlyPadding(conv, x, y, filter))
    return false;
  plan.inBlock = std::min(in, mostBlock);
  plan.outBlock = std::min(out, mostBlock);
  auto countTasks = [&] {
    return taps * ceilDiv(in, plan.inBlock) * ceilDiv(out, plan.outBlock);
  };
  // Narrow blocks read the other side more often.
  for (int64_t least : {2 * fewestBlock, fewestBlock})
    for (int64_t *block : {&plan.inBlock, &plan.outBlock})
      if (countTasks() < convTasks)
        *block = std::min(*block, least);
  plan.chunk = std::clamp<int64_t>(pointsOfSum / points, 1, images);
  plan.chunks = ceilDiv(images, plan.chunk);
  plan.threadInBytes = alignUp(plan.chunk * points * plan.inBlock * 4);
  plan.threadOutBytes = alignUp(plan.chunk * points * plan.outBlock * 4);
  if (conv.isOIHW && taps > 1)
    plan.filterBytes = alignUp(taps * in * out * 4);
  const int64_t sums = plan.chunks > 1 ? 2 : 1;
  plan.threadBytes = plan.threadInBytes + plan.threadOutBytes +
                     sums * alignUp(plan.inBlock * plan.outBlock * 4);
  return true;
}

/// Points of an image up to which a convolution, or its input gradient, is a matmul for
/// each point, and up to which it is where images are fewer than so many, since each
/// point reads its taps again. Numbers of the filter that such a matmul reads at least,
/// and images and bytes of points that a task has.
static constexpr int64_t mostSinglePoints = 16, mostPointsOfFew = 4, fewImages = 8,
                         fewestWeights = 16384, imagesOfTask = 32, mostImages = 64,
                         pointBytes = 131072;

/// Makes matmuls of a convolution, or an input gradient, of few points of many channels,
/// if at least three in eight of its products are with padding, or with a stride three in
/// ten, or it is one of 1 x 1 with a stride; false for others.
static bool planPointMatmuls(ConvPlan &plan, const ConvCall &conv, const BufferRef &x,
                             const BufferRef &filter, const BufferRef &y,
                             std::array<int64_t, 4> sizes) {
  const bool isForward = conv.kind == CallId::Conv2D;
  const int64_t taps = sizes[0] * sizes[1], images = x.dims[0];
  const BufferRef &operand = isForward ? x : y, &result = isForward ? y : x;
  const int64_t points = result.dims[1] * result.dims[2];
  if (conv.kind == CallId::Conv2DFilterGrad || conv.groups != 1 ||
      getSize(filter.type) < 2 || std::min(sizes[2], sizes[3]) < fewestBlock ||
      std::max(points, operand.dims[1] * operand.dims[2]) > mostSinglePoints)
    return false;
  const TapReads rows = countReads(conv, 0, sizes[0], x.dims[1], y.dims[1]),
                 columns = countReads(conv, 1, sizes[1], x.dims[2], y.dims[2]);
  const int64_t reads = rows.reads * columns.reads, all = taps * y.dims[1] * y.dims[2];
  const bool hasStride = conv.strides[0] > 1 || conv.strides[1] > 1;
  if (hasStride ? taps > 1 && 10 * reads > 7 * all : 8 * reads > 5 * all)
    return false;
  // Taps of a row side by side, in sums that lose no digits.
  const int64_t in = operand.dims[3];
  const int64_t span =
      isForward && !conv.isOIHW && conv.dilations[1] == 1
          ? std::clamp<int64_t>(longChain / in, 1, std::min(sizes[1], operand.dims[2]))
          : 1;
  if (span * in * result.dims[3] < fewestWeights ||
      (images < fewImages && (points > mostPointsOfFew || taps == 1)))
    return false;
  plan.pointTaps = span;
  const int64_t rowBytes = span * in * 4;
  const int64_t most = std::clamp<int64_t>(pointBytes / rowBytes, 1, mostImages);
  plan.chunk = getImageChunk(
      images, std::max(ceilDiv(images, most),
                       std::min(ceilDiv(convTasks, points),
                                std::max<int64_t>(images / imagesOfTask, 1))));
  plan.chunks = ceilDiv(images, plan.chunk);
  if (operand.type != DataType::F32 || operand.dims[1] * operand.dims[2] > 1)
    plan.threadInBytes = alignUp(plan.chunk * rowBytes);
  plan.threadBytes = plan.threadInBytes + alignUp(plan.chunk * result.dims[3] * 4);
  // The taps that are read, rounded or widened, and apart.
  if ((conv.isOIHW && taps > 1) || filter.type != DataType::F32 ||
      conv.rounding != Rounding::None)
    plan.filterBytes = alignUp(rows.taps * columns.taps * sizes[2] * sizes[3] * 4);
  return true;
}

/// Makes each tap of a filter gradient over long rows by itself, image by image, as that
/// of a filter of one point; false for others.
static bool planRowTaps(ConvPlan &plan, const ConvCall &conv, const BufferRef &x,
                        const BufferRef &y, std::array<int64_t, 4> filter) {
  const std::array<int64_t, 2> one = {1, 1};
  if (conv.kind != CallId::Conv2DFilterGrad || conv.groups != 1 || x.dims[1] != 1 ||
      y.dims[1] != 1 || filter[0] != 1 || filter[1] == 1 || conv.strides != one ||
      conv.padding[0] != 0 || conv.padding[2] < 0 || conv.padding[2] >= y.dims[2] ||
      std::min(filter[2], filter[3]) < fewestRowChannels || y.dims[2] < fewestRowPoints)
    return false;
  plan.isByTap = true;
  plan.chunk = 1;
  plan.chunks = x.dims[0];
  return true;
}

/// Makes blocks of channels of a filter gradient with one channel a group; false for
/// others.
static bool planDepthwiseGrad(ConvPlan &plan, const ConvCall &conv, const BufferRef &x,
                              const BufferRef &y, std::array<int64_t, 4> filter) {
  constexpr int64_t lanes = 16;
  const int64_t images = x.dims[0], channels = x.dims[3];
  if (conv.kind != CallId::Conv2DFilterGrad || channels < 2 || conv.groups != channels ||
      filter[3] != channels)
    return false;
  plan.isDepthwiseGrad = true;
  const int64_t blocks = ceilDiv(channels, lanes);
  plan.chunk = getImageChunk(images, ceilDiv(convTasks, blocks));
  plan.chunks = ceilDiv(images, plan.chunk);
  const int64_t sumBytes = filter[0] * filter[1] * lanes * 4;
  if (plan.chunks > 1) {
    plan.sums = plan.chunks;
    plan.packedBytes = alignUp(blocks * sumBytes);
  }
  // Rows of x that a row of dy meets, and that row.
  const int64_t rows = (filter[0] - 1) * conv.dilations[0] + 1,
                width = conv.padding[2] + x.dims[2] + conv.padding[3];
  plan.threadBytes = alignUp(sumBytes + (rows * width + y.dims[2]) * lanes * 4);
  return true;
}

/// Leaves out the first and the last taps of a filter that read padding alone, and their
/// part of `sizes`, if half of the taps or more remain unread.
static void skipIdleTaps(ConvPlan &plan, const ConvCall &conv, const BufferRef &x,
                         const BufferRef &filter, const BufferRef &y,
                         std::array<int64_t, 4> &sizes) {
  if (conv.kind == CallId::Conv2DFilterGrad || getSize(filter.type) < 2)
    return;
  for (int axis : {0, 1}) {
    int64_t low = conv.padding[2 * axis], high = conv.padding[2 * axis + 1], first = 0,
            count = sizes[axis];
    const int64_t step = conv.dilations[axis],
                  last = (y.dims[1 + axis] - 1) * conv.strides[axis];
    for (; count > 1 && low >= step && last < low; ++first, --count)
      low -= step;
    for (; count > 1 && high >= step && (count - 1) * step - low >= x.dims[1 + axis];
         --count)
      high -= step;
    plan.firstTap[axis] = first;
    plan.taps[axis] = count;
  }
  if (2 * plan.taps[0] * plan.taps[1] > sizes[0] * sizes[1])
    return;
  sizes[0] = plan.taps[0];
  sizes[1] = plan.taps[1];
  plan.tapBytes =
      alignUp(sizes[0] * sizes[1] * sizes[2] * sizes[3] * getSize(filter.type));
}

/// Makes a convolution of the input gradient of a depthwise one without strides, or of
/// one with a dilation of at least 4: oneDNN takes up to three times as long for the
/// former, has only plain loops for it with dilations, and runs the latter as a matmul
/// whose terms it adds one by one.
static void turnInputGrad(ConvPlan &plan, const ConvCall &conv, const BufferRef &filter,
                          const std::array<int64_t, 4> &sizes) {
  const std::array<int64_t, 2> one = {1, 1};
  const bool isDepthwise = conv.groups > 1 && sizes[2] == 1 && sizes[3] == conv.groups,
             isDilated = conv.groups == 1 &&
                         std::max(conv.dilations[0], conv.dilations[1]) >= largeDilation;
  if (conv.kind != CallId::Conv2DInputGrad || !(isDepthwise || isDilated) ||
      conv.strides != one || getSize(filter.type) < 2)
    return;
  const std::array<int64_t, 4> all = conv.getFilterSizes(filter.dims);
  std::array<int64_t, 2> first{};
  if (plan.tapBytes > 0)
    first = plan.firstTap;
  for (int axis : {0, 1}) {
    const int64_t step = conv.dilations[axis], span = (sizes[axis] - 1) * step,
                  skipped = all[axis] - sizes[axis];
    if (conv.padding[2 * axis] - first[axis] * step > span ||
        conv.padding[2 * axis + 1] - (skipped - first[axis]) * step > span)
      return;
  }
  plan.isTurned = true;
  plan.firstTap = first;
  plan.taps = {sizes[0], sizes[1]};
  plan.tapBytes =
      alignUp(sizes[0] * sizes[1] * sizes[2] * sizes[3] * getSize(filter.type));
}

/// Bytes of a row of an image from which on bands in blocks are worth copies, for filter
/// gradients half of them; and those of a band, and of the images beside such a band, at
/// least this many times as large.
static constexpr int64_t longRow = 16384, bandBytes = 393216, imagesPerBand = 16;

/// Makes room for a band of rows, in blocks of channels, of what a convolution of f32, or
/// a gradient of it, reads and writes, if rows are long.
static void planBands(ConvPlan &plan, const ConvCall &conv, const BufferRef &x,
                      const BufferRef &filter, const BufferRef &y,
                      const std::array<int64_t, 4> &sizes) {
  constexpr int64_t block = 8;
  const int64_t xRow = x.dims[2] * x.dims[3] * 4, yRow = y.dims[2] * y.dims[3] * 4;
  for (const BufferRef *ref : {&x, &filter, &y})
    if (ref->type != DataType::F32)
      return;
  const bool isInputGrad = conv.kind == CallId::Conv2DInputGrad,
             isFilterGrad = conv.kind == CallId::Conv2DFilterGrad;
  if (conv.groups != 1 || sizes[0] * sizes[1] == 1 || x.dims[3] % block != 0 ||
      y.dims[3] % block != 0 ||
      std::max(xRow, yRow) < (isFilterGrad ? longRow / 2 : longRow) ||
      conv.rounding != Rounding::None || (isInputGrad && conv.strides[0] > 1))
    return;
  // One row of the result reads this many; each further one as many as the stride more.
  const int64_t least = (sizes[0] - 1) * conv.dilations[0] + 1,
                step = isInputGrad ? 1 : conv.strides[0];
  const int64_t rows = isInputGrad ? x.dims[1] : y.dims[1],
                readRow = isInputGrad ? yRow : xRow, row = isInputGrad ? xRow : yRow;
  const int64_t most = (bandBytes - (least - step) * readRow) / (step * readRow + row);
  // Rows that two bands read should be few.
  if (most < std::min(rows, 2 * (least - step)))
    return;
  const int64_t bands = ceilDiv(rows, std::clamp<int64_t>(most, 1, rows)),
                bandRows = ceilDiv(rows, bands), reads = (bandRows - 1) * step + least;
  const int64_t inBytes = alignUp(reads * readRow), bytes = inBytes + bandRows * row;
  if (4 * (x.count() + y.count()) < imagesPerBand * bytes)
    return;
  plan.bandRows = bandRows;
  plan.bands = ceilDiv(rows, bandRows);
  plan.bandReads = reads;
  plan.threadInBytes = inBytes;
  plan.threadBytes = alignUp(bytes);
}

ConvPlan mpt::rt::planConv(const Instruction &call, int64_t maxThreads) {
  ConvPlan plan;
  std::optional<ConvCall> conv = getConv(call);
  if (!conv || conv->groups < 1 || call.refs.size() < 3)
    return plan;
  for (uint32_t i : {conv->x, conv->filter, conv->y})
    if (i >= call.refs.size() || call.refs[i].dims.size() != 4)
      return plan;
  BufferRef x = call.refs[conv->x];
  x.type = getRounded(x.type, conv->xRounding);
  const BufferRef &filter = call.refs[conv->filter], &y = call.refs[conv->y];
  if (x.count() <= 0 || filter.count() <= 0 || y.count() <= 0)
    return plan;
  std::array<int64_t, 4> sizes = conv->getFilterSizes(filter.dims);
  if (planPointMatmuls(plan, *conv, x, filter, y, sizes))
    return plan;
  skipIdleTaps(plan, *conv, x, filter, y, sizes);
  turnInputGrad(plan, *conv, filter, sizes);
  const auto [kernelHeight, kernelWidth, in, out] = sizes;
  const int64_t images = x.dims[0], filterCount = kernelHeight * kernelWidth * in * out;
  const bool isFilterGrad = conv->kind == CallId::Conv2DFilterGrad,
             isInputGrad = conv->kind == CallId::Conv2DInputGrad;
  if (planFilterGradMatmul(plan, *conv, x, y, {kernelHeight, kernelWidth, in, out}))
    return plan;
  if (planDepthwiseGrad(plan, *conv, x, y, sizes))
    return plan;
  plan.chunk = getImageChunk(images, convTasks);
  plan.chunks = ceilDiv(images, plan.chunk);
  auto getTraffic = [](const BufferRef &ref) {
    return 4.0 * static_cast<double>(ref.count());
  };
  const double rows = static_cast<double>(y.count()) / static_cast<double>(out),
               filterBytes = 4.0 * static_cast<double>(filterCount);
  ConvTraffic traffic{rows * static_cast<double>(filterCount),
                      filterBytes,
                      getTraffic(isInputGrad ? y : x),
                      getTraffic(isInputGrad ? x : y),
                      isInputGrad ? in : out,
                      64};
  if (isFilterGrad) {
    // A part of the gradient is written, read again and added. Its slices may be narrow.
    traffic.chunkBytes *= 3;
    traffic.fewestChannels = 32;
  }
  if (conv->groups > 1)
    traffic.fewestChannels = traffic.channels;
  const bool isLarge =
      filterBytes >= largeFilter && rows < manyRows * static_cast<double>(plan.chunks);
  if (!planRowTaps(plan, *conv, x, y, sizes) &&
      (isFilterGrad || isLarge || plan.chunks < fewTasks))
    cutConv(plan, images, traffic);
  plan.hasBlocks = wantsBlocks(*conv, sizes, y);
  if (plan.hasBlocks && plan.slices == 1) {
    const int64_t points = x.dims[1] * x.dims[2];
    const int64_t most = std::max<int64_t>(blockedRows / points, 1);
    if (plan.chunk > most)
      plan.chunk = getImageChunk(images, ceilDiv(images, most));
    plan.chunks = ceilDiv(images, plan.chunk);
  }
  // Operands of other types than bf16 are multiplied as f32.
  const DataType operands = getRounded(call.refs[0].type, conv->xRounding);
  int64_t packedIn = isInputGrad ? in / plan.slices : in,
          packedOut = isInputGrad ? out : out / plan.slices;
  if (plan.isTurned && conv->groups == 1)
    std::swap(packedIn, packedOut);
  plan.packedBytes = getPackedFilterBytes(*conv, operands, kernelHeight * kernelWidth,
                                          packedIn, packedOut);
  auto getBytes = [](const BufferRef &ref) { return alignUp(ref.count() * 4); };
  auto getChunkBytes = [&](const BufferRef &ref) {
    return ref.type == DataType::F32 && !plan.hasBlocks
               ? 0
               : alignUp(ref.count() / images * plan.chunk * 4);
  };
  if (filter.type != DataType::F32)
    plan.filterBytes = alignUp(filterCount * 4);
  if (isFilterGrad)
    plan.sums = std::min(plan.chunks, std::max<int64_t>(maxThreads, 1) + 1);
  if (plan.slices > 1) {
    // One is in slices; the other is widened or blocked, if at all, before there are any.
    if (isInputGrad || x.type != DataType::F32 || plan.hasBlocks)
      plan.xBytes = getBytes(x);
    if (!isInputGrad || y.type != DataType::F32 || plan.hasBlocks)
      plan.yBytes = getBytes(y);
    return plan;
  }
  // The first operand, and the other one or the result.
  plan.threadInBytes = getChunkBytes(isInputGrad ? y : x);
  plan.threadBytes = plan.threadInBytes + getChunkBytes(isInputGrad ? x : y);
  if (plan.threadBytes == 0 && plan.chunks > 1 && !plan.isByTap && plan.tapBytes == 0 &&
      !plan.isTurned)
    planBands(plan, *conv, x, filter, y, sizes);
  return plan;
}

/// Elements that a task of a pooling reads or writes, about.
static constexpr int64_t bandElements = 65536;

/// The plan of a pooling of `x`, an image larger than `result` if that is the pooled one.
template <typename Pool>
static PoolPlan makePoolPlan(const Pool &pool, const Instruction &call) {
  constexpr bool isMaxGrad = std::is_same_v<Pool, MaxPoolGradCall>;
  constexpr bool isGrad = isMaxGrad || std::is_same_v<Pool, AvgPoolGradCall>;
  PoolPlan plan;
  const BufferRef &result = call.refs[call.numInputs];
  const BufferRef &x = isGrad ? result : call.refs[0];
  if (x.dims.size() != 4 || result.dims.size() != 4)
    return plan;
  plan.overlaps = pool.window[0] > pool.strides[0] || pool.window[1] > pool.strides[1];
  // Rows of x that a row of the result comes from or belongs to.
  const int64_t perRow =
      isGrad ? 1
             : std::clamp<int64_t>(pool.strides[0], 1, std::max<int64_t>(x.dims[1], 1));
  const int64_t rowElements = std::max<int64_t>(x.dims[2] * x.dims[3], 1);
  const int64_t all = std::max<int64_t>(result.dims[1], 1);
  plan.rows = std::max<int64_t>(bandElements / (rowElements * perRow), 1);
  // Windows that two bands share are searched twice: at most one in four, and none if
  // they do not overlap.
  if (isMaxGrad && pool.strides[0] > 0) {
    const int64_t least = plan.overlaps ? 4 * pool.strides[0] : 1;
    plan.rows = ceilDiv(std::max(plan.rows, least), pool.strides[0]) * pool.strides[0];
    plan.isInPlace =
        !plan.overlaps && pool.padding[0] == 0 && call.refs[1].type == result.type;
  }
  plan.rows = std::min(plan.rows, all);
  plan.bands = std::max<int64_t>(bandElements / (rowElements * perRow * plan.rows), 1);
  if constexpr (isMaxGrad) {
    bool isOne = true, hasDoubles = false;
    for (uint32_t i = 0; i <= call.numInputs; ++i) {
      isOne &= call.refs[i].type == result.type;
      hasDoubles |= call.refs[i].type == DataType::F64;
    }
    bool isWide = result.type == DataType::F32 || result.type == DataType::F64;
    if (plan.overlaps && !(isOne && isWide))
      plan.threadBytes = alignUp(plan.rows * rowElements * (hasDoubles ? 8 : 4));
  }
  return plan;
}

PoolPlan mpt::rt::planPool(const Instruction &instruction) {
  if (const auto *pool = instruction.getCall<MaxPoolCall>())
    return makePoolPlan(*pool, instruction);
  if (const auto *pool = instruction.getCall<AvgPoolCall>())
    return makePoolPlan(*pool, instruction);
  if (const auto *pool = instruction.getCall<MaxPoolGradCall>())
    return makePoolPlan(*pool, instruction);
  if (const auto *pool = instruction.getCall<AvgPoolGradCall>())
    return makePoolPlan(*pool, instruction);
  return PoolPlan();
}

/// Tasks of a gradient, about: where there are fewer heads, they are cut into parts.
static constexpr int64_t attentionTasks = 8;

template <typename Attention>
static bool makeAttentionPlan(const Attention &call, const Instruction &instruction,
                              AttentionPlan &plan) {
  plan = AttentionPlan();
  plan.isGrad = Attention::id == CallId::AttentionGrad;
  if (instruction.numInputs != call.numInputs() ||
      instruction.numOutputs != call.numOutputs() ||
      instruction.refs.size() < size_t(call.numInputs()) + call.numOutputs())
    return false;
  auto dims = [&](size_t i) -> const std::vector<int64_t> & {
    return instruction.refs[i].dims;
  };
  const size_t query = plan.isGrad ? 1 : 0;
  for (size_t i = query; i < query + 3; ++i)
    if (dims(i).size() != 4)
      return false;
  const auto &q = dims(query), &k = dims(query + 1), &v = dims(query + 2);
  plan.causal = call.causal;
  plan.hasMask = call.hasMask;
  plan.hasBias = call.hasBias;
  plan.hasDropout = call.hasSeed;
  plan.scale = call.scale;
  plan.dropout = call.dropout;
  plan.stream = call.stream;
  plan.batch = q[0];
  plan.heads = q[1];
  plan.queries = q[2];
  plan.width = q[3];
  plan.groups = k[1];
  plan.keys = k[2];
  plan.valueWidth = v[3];
  // All of this is far from overflow.
  const int64_t most = int64_t(1) << 31;
  for (const auto *shape : {&q, &k, &v})
    for (int64_t size : *shape)
      if (size < 0 || size >= most)
        return false;
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3] ||
      (plan.groups == 0 ? plan.heads != 0 : plan.heads % plan.groups != 0) ||
      (plan.causal && plan.keys < plan.queries) || call.hasSeed != call.hasAttempt)
    return false;

  // A block of scores and what is added to them or multiplied by them; numbers of rows.
  constexpr int64_t block = AttentionPlan::queryBlock;
  const int64_t keys = plan.keyRoom();
  const bool hasTile = call.hasMask || call.hasBias;
  const int64_t tiles = 1 + hasTile + plan.hasDropout + (hasTile || plan.hasDropout);
  int64_t floats = tiles * block * keys + 3 * block;
  // The queries, and keys and values in another type. Values make room for rows of
  // results, and in the forward pass keys for those of queries.
  const int64_t keyRows = plan.isGrad ? keys : plan.rowRoom();
  floats += block * plan.width + keyRows * plan.width + plan.rowRoom() * plan.valueWidth;
  if (!plan.isGrad) {
    floats += block * plan.valueWidth;
    plan.threadBytes = alignUp(floats * 4);
    return true;
  }
  if constexpr (Attention::id == CallId::AttentionGrad)
    plan.hasBiasGrad = call.hasDbias;
  // The gradients of scores and queries, dy, and rows of queries and dy in whole vectors.
  const int64_t width = roundTo16(plan.width), valueWidth = roundTo16(plan.valueWidth);
  floats += block * (keys + plan.width + plan.valueWidth) +
            plan.queryRoom() * (width + valueWidth);
  if (plan.hasBiasGrad)
    floats += block * keys + block;
  plan.threadBytes = alignUp(floats * 4);
  const int64_t tasks = std::max<int64_t>(plan.batch * plan.groups, 1);
  const int64_t blocks =
      plan.queryBlocks() * (plan.groups == 0 ? 0 : plan.heads / plan.groups);
  plan.parts = std::clamp<int64_t>(ceilDiv(attentionTasks, tasks), 1,
                                   std::max<int64_t>(blocks, 1));
  const bool isWide = instruction.refs[instruction.numInputs + 1].type == DataType::F32 &&
                      instruction.refs[instruction.numInputs + 2].type == DataType::F32 &&
                      width == plan.width && valueWidth == plan.valueWidth;
  plan.copiesSums = !isWide || plan.parts > 1;
  plan.sumFloats = plan.keys * (width + valueWidth);
  return true;
}

bool mpt::rt::planAttention(const Instruction &instruction, AttentionPlan &plan) {
  if (const auto *attention = instruction.getCall<AttentionCall>())
    return makeAttentionPlan(*attention, instruction, plan);
  if (const auto *attention = instruction.getCall<AttentionGradCall>())
    return makeAttentionPlan(*attention, instruction, plan);
  return false;
}

bool mpt::rt::mayOverwrite(const Instruction &instruction, uint32_t output,
                           uint32_t input) {
  std::string error;
  if (!checkCall(instruction, error))
    return false;
  if (instruction.getCall<MaxPoolGradCall>())
    return output == 0 && input == 1 && planPool(instruction).isInPlace;
  if (const auto *scatter = instruction.getCall<ScatterAddCall>())
    return output == 0 && input == 2 && scatter->hasInit;
  if (const auto *matmul = instruction.getCall<MatmulCall>())
    return output == 0 && input == 2 && matmul->hasAddend;
  // A block of queries is read before its gradient is written, and so is a head of keys,
  // unless gradients are added where they belong. The gradient of a bias reads all again.
  AttentionPlan plan;
  return instruction.getCall<AttentionGradCall>() && output < 3 && input == output + 1 &&
         instruction.refs[input].type ==
             instruction.refs[instruction.numInputs + output].type &&
         planAttention(instruction, plan) && !plan.hasBiasGrad &&
         (output == 0 || plan.copiesSums);
}

int64_t mpt::rt::getRanks(const LibraryCall &call) {
  return std::visit(Overloaded{[](const AllReduceCall &one) { return one.ranks; },
                               [](const ReduceScatterCall &one) { return one.ranks; },
                               [](const AllGatherCall &one) { return one.ranks; },
                               [](const AllToAllCall &one) { return one.ranks; },
                               [](const BroadcastCall &one) { return one.ranks; },
                               [](const RankCall &one) { return one.ranks; },
                               [](const auto &) { return int64_t(0); }},
                    call);
}

bool mpt::rt::isAsync(const LibraryCall &call) {
  return std::visit(Overloaded{[](const AllReduceCall &one) { return one.async; },
                               [](const ReduceScatterCall &one) { return one.async; },
                               [](const AllGatherCall &one) { return one.async; },
                               [](const AllToAllCall &one) { return one.async; },
                               [](const BroadcastCall &one) { return one.async; },
                               [](const auto &) { return false; }},
                    call);
}

void mpt::rt::setAsync(LibraryCall &call) {
  std::visit(Overloaded{[](AllReduceCall &one) { one.async = true; },
                        [](ReduceScatterCall &one) { one.async = true; },
                        [](AllGatherCall &one) { one.async = true; },
                        [](AllToAllCall &one) { one.async = true; },
                        [](BroadcastCall &one) { one.async = true; }, [](auto &) {}},
             call);
}

/// Elements of a segment of a reduction, about: enough to hide how long a message is
/// under way, few enough to stay in the cache between the two exchanges.
static constexpr int64_t segmentElements = 1 << 18;

template <typename Reduction>
static bool makeReductionPlan(const Reduction &call, const Instruction &instruction,
                              ReductionPlan &plan) {
  plan = ReductionPlan();
  const size_t inputs = instruction.numInputs, outputs = instruction.numOutputs;
  if (inputs == 0 || outputs == 0 || instruction.refs.size() < inputs + outputs ||
      call.ranks < 1 || call.ranks > kMaxRanks)
    return false;
  plan.isScatter = Reduction::id == CallId::ReduceScatter;
  plan.kind = call.kind;
  plan.ranks = call.ranks;
  plan.type = instruction.refs[0].type;
  plan.wire = getRounded(plan.type, call.rounding);
  plan.result = instruction.refs[inputs].type;
  plan.back = plan.isScatter ? plan.result : getRounded(plan.result, call.rounding);
  for (size_t i = 0; i < outputs; ++i)
    if (__builtin_add_overflow(plan.elements, instruction.refs[inputs + i].count(),
                               &plan.elements))
      return false;
  // Whole vectors and lines of the cache, but no more than there is.
  const int64_t most = roundTo16(ceilDiv(segmentElements, call.ranks));
  const int64_t all = plan.isScatter ? plan.elements : ceilDiv(plan.elements, call.ranks);
  plan.part = std::min(most, all);
  return true;
}

bool mpt::rt::planReduction(const Instruction &instruction, ReductionPlan &plan) {
  if (const auto *reduction = instruction.getCall<AllReduceCall>())
    return makeReductionPlan(*reduction, instruction, plan);
  if (const auto *reduction = instruction.getCall<ReduceScatterCall>())
    return makeReductionPlan(*reduction, instruction, plan);
  return false;
}

int64_t mpt::rt::getCallWorkspace(const Instruction &call, int64_t maxThreads) {
  MatmulShape shape;
  if (getMatmulShape(call, shape)) // f64 has its panels on the stack.
    return shape.lhs == DataType::F64 ? 0 : planMatmul(shape).workspaceBytes(maxThreads);
  if (getConv(call))
    return planConv(call, maxThreads).workspaceBytes(std::max<int64_t>(maxThreads, 1));
  if (call.getCall<MaxPoolGradCall>())
    return planPool(call).threadBytes * std::max<int64_t>(maxThreads, 1);
  if (AttentionPlan attention; planAttention(call, attention))
    return attention.workspaceBytes(std::max<int64_t>(maxThreads, 1));
  if (ReductionPlan reduction; planReduction(call, reduction))
    return reduction.workspaceBytes();
  // f32 sums of a narrow table.
  if (call.getCall<ScatterAddCall>() && call.refs[call.numInputs].type != DataType::F32)
    return alignUp(call.refs[call.numInputs].count() * 4);
  return 0;
}
