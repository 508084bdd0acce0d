//===- Conv.cpp - Convolutions through oneDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Convolutions, NHWC by HWIO or OIHW: oneDNN's primitives on chunks of images, one
/// thread each, as planConv cuts them, with filters in the layout that oneDNN likes.
/// Operands are f32, widened chunk by chunk where necessary, or, where the CPU multiplies
/// that faster, bf16. A filter of f32 that is to be rounded is rounded when it is brought
/// into oneDNN's layout, images are chunk by chunk. Sums are f32 and the result is
/// rounded once. Where filters are large, tasks are also slices of output channels (of
/// input channels for input gradients), so that a slice of the filter stays in the cache.
/// The parts of a filter gradient are added in order, in oneDNN's layout.
///
/// Where sums are long and planConv finds that it costs little, images are brought into
/// blocks of 16 channels: with AVX-512 oneDNN then adds the terms of 16 channels apart
/// from the others, and the error grows by that number of terms and that of blocks, not
/// by the number of all terms.
///
/// With AVX2, images that are widened, or whose rows are long, are brought into blocks of
/// 8 channels, which is what oneDNN reads at a time: of the channels of a point one after
/// another, those of a row lie so far apart that they compete for few lines of the
/// first-level cache. Of f32 with long rows a task so copies a band of rows of one image.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "FilterTranspose.h"
#include "OneDnn.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unistd.h>

using namespace mpt::rt;

namespace {

int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Channels that lie side by side in blocked images, with AVX-512 and with AVX2.
constexpr int64_t channelBlock = 16, shortBlock = 8;

/// Bytes of a row of an image from which on blocks are worth copies with AVX2.
constexpr int64_t longRow = 16384;

/// Points of an image that oneDNN multiplies slower by itself than with others.
constexpr int64_t fewPoints = 16;

/// Whether oneDNN may get images of one chunk as one. oneDNN 2.6 makes wrong sums of some
/// if it emulates the instructions for bf16; with AMX that is untested.
bool joinsImages(DataType operands) {
  const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  auto has = [&](dnnl_cpu_isa_t set) { return (isa & set) == unsigned(set); };
  return operands == DataType::F32 ||
         (has(dnnl_cpu_isa_avx512_core_bf16) && !has(dnnl_cpu_isa_avx512_core_amx));
}

/// A convolution of one chunk of images, or one of its gradients.
class ChunkConv {
public:
  /// Both operands are of type `operands`; `result` is the type of images that are the
  /// result, filter gradients are f32. There are `slices` of
  /// input channels of an input gradient, else of output channels, of which this is one.
  /// With `layout` the filter has that. Images are in blocks of `block` channels, if any.
  /// With `swapped` the filter's input channels are those of the result.
  bool init(const ConvCall &attributes, DataType operands, DataType result,
            const std::vector<int64_t> &x, const std::vector<int64_t> &filter,
            const std::vector<int64_t> &y, int64_t images, int64_t slices,
            const dnnl_memory_desc_t *layout, int64_t block, bool swapped,
            int64_t threads) {
    const CallId kind = attributes.kind;
    const int64_t inSlices = kind == CallId::Conv2DInputGrad ? slices : 1,
                  outSlices = slices / inSlices;
    const std::array<int64_t, 4> sizes = attributes.getFilterSizes(filter);
    const int64_t kh = sizes[0], kw = sizes[1], allIn = sizes[2], allOut = sizes[3];
    const int64_t groups = attributes.groups;
    const int64_t in = (swapped ? allOut : allIn) / inSlices,
                  out = (swapped ? allIn : allOut) / outSlices;
    // Points meet a filter of one point each by itself: small images are one high image.
    // oneDNN multiplies an image at a time, and one of a point at a fifth of its usual
    // rate.
    const bool isOneImage = joinsImages(operands) && block == 0 && groups == 1 &&
                            kh * kw == 1 && y[1] * y[2] <= fewPoints &&
                            attributes.strides == std::array<int64_t, 2>{1, 1} &&
                            attributes.padding == std::array<int64_t, 4>{};
    auto image = [&](dnnl_memory_desc_t &desc, const std::vector<int64_t> &d,
                     int64_t channels, bool isResult) {
      if (block > 0)
        return makeBlockedDesc(desc, {images, channels, d[1], d[2]}, block);
      const int64_t count = isOneImage ? 1 : images, height = images / count * d[1];
      return makeDesc(desc, {count, channels, height, d[2]},
                      {height * d[2] * channels, 1, d[2] * channels, channels},
                      isResult ? result : operands);
    };
    // The filter as it is stored, and a slice of it without the others.
    std::vector<int64_t> dims = {out, in, kh, kw};
    std::vector<int64_t> strides = {1, allOut, kw * allIn * allOut, allIn * allOut};
    if (attributes.isOIHW)
      strides = {allIn * kh * kw, kh * kw, kw, 1};
    if (swapped)
      std::swap(strides[0], strides[1]);
    // oneDNN multiplies filters of HWIO fast, those of OIHW by plain loops.
    std::vector<int64_t> denseStrides = {1, out, kw * in * out, in * out};
    if (groups > 1) {
      dims = {groups, out / groups, in, kh, kw};
      strides.insert(strides.begin(), out / groups * strides[0]);
      denseStrides.insert(denseStrides.begin(), out / groups);
    }
    dnnl_memory_desc_t source, target, any, hintSource, hintAny;
    DataType filterType = kind == CallId::Conv2DFilterGrad ? DataType::F32 : operands;
    if (!image(source, x, x[3] / inSlices, kind == CallId::Conv2DInputGrad) ||
        !image(target, y, y[3] / outSlices, kind == CallId::Conv2D) ||
        !image(hintSource, x, x[3] / inSlices, false) ||
        !makeDesc(plain, dims, strides, filterType) ||
        !makeDesc(dense, dims, denseStrides, filterType) ||
        !makeDesc(any, dims, {}, filterType) || !makeDesc(hintAny, dims, {}, operands))
      return false;
    if (layout)
      any = *layout;
    const auto &padding = attributes.padding;
    int64_t step[2] = {attributes.strides[0], attributes.strides[1]},
            low[2] = {padding[0], padding[2]}, high[2] = {padding[1], padding[3]},
            dilation[2] = {attributes.dilations[0] - 1, attributes.dilations[1] - 1};
    dnnl_convolution_desc_t forward, desc;
    if (dnnl_dilated_convolution_forward_desc_init(
            &forward, dnnl_forward_training, dnnl_convolution_direct, &hintSource,
            kind == CallId::Conv2D ? &any : &hintAny, nullptr, &target, step, dilation,
            low, high) != dnnl_success)
      return false;
    auto initConv = [&](const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint) {
      return conv.init(desc, hint) && (operands == DataType::F32 || !conv.isReference());
    };
    if (kind == CallId::Conv2D) {
      if (!initConv(&forward, nullptr))
        return false;
      packed = conv.query(dnnl_query_weights_md);
      return conv.setArguments(
          {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, target}},
          threads);
    }
    Primitive hint;
    if (!hint.init(&forward, nullptr))
      return false;
    if (kind == CallId::Conv2DInputGrad) {
      if (dnnl_dilated_convolution_backward_data_desc_init(
              &desc, dnnl_convolution_direct, &source, &any, &target, step, dilation, low,
              high) != dnnl_success ||
          !initConv(&desc, hint.getDesc()))
        return false;
      packed = conv.query(dnnl_query_weights_md);
      return conv.setArguments({{DNNL_ARG_DIFF_SRC, source},
                                {DNNL_ARG_WEIGHTS, packed},
                                {DNNL_ARG_DIFF_DST, target}},
                               threads);
    }
    if (dnnl_dilated_convolution_backward_weights_desc_init(
            &desc, dnnl_convolution_direct, &source, &any, nullptr, &target, step,
            dilation, low, high) != dnnl_success ||
        !initConv(&desc, hint.getDesc()))
      return false;
    packed = conv.query(dnnl_query_diff_weights_md);
    // For a filter of 1 x 1 with a stride oneDNN (2.7, jit_1x1) copies the places that it
    // reads to its scratchpad, in rows of at least a block of channels, and asks for room
    // for the channels that there are.
    const bool copies = kh == 1 && kw == 1 && (step[0] > 1 || step[1] > 1);
    const int64_t missing = copies ? std::max<int64_t>(channelBlock - in, 0) : 0;
    return conv.setArguments({{DNNL_ARG_SRC, source},
                              {DNNL_ARG_DIFF_WEIGHTS, packed},
                              {DNNL_ARG_DIFF_DST, target}},
                             threads, missing * y[1] * y[2] * sizeof(float));
  }

  /// Whether oneDNN runs this as matmuls, whose sums it rounds in a pass of its own.
  bool isMatmul() const { return conv.getName().find("gemm") != std::string_view::npos; }
  /// Whether oneDNN has vector code for images in blocks of so many channels.
  bool suitsBlocks(int64_t block) const {
    const std::string_view name = block == channelBlock ? "jit:avx512" : "jit:avx2";
    return conv.getName().substr(0, name.size()) == name;
  }

  Primitive conv;
  /// The filter, or a slice of it, as it is stored, in rows of its own, and as oneDNN
  /// takes it.
  dnnl_memory_desc_t plain, dense, packed;
};

/// Brings a filter, or a slice of one, into oneDNN's layout or back, in pieces of output
/// channels, or of rows of taps where these are many: the taps of bf16 lie so far apart
/// there that they compete for few lines of the first-level cache.
class FilterConversion {
public:
  bool init(const dnnl_memory_desc_t &plain, const dnnl_memory_desc_t &packed,
            bool isToPacked, int64_t threads) {
    toPacked = isToPacked;
    isTransposed = transpose.init(plain, packed);
    if (isTransposed) {
      pieces = transpose.countPieces();
      return true;
    }
    return initPieces(plain, packed, threads) || initWhole(plain, packed, threads);
  }
  int64_t countPieces() const { return pieces; }
  bool run(int64_t piece, char *plain, char *packed, int thread) {
    if (isTransposed) {
      auto *inPlain = reinterpret_cast<float *>(plain);
      auto *inPacked = reinterpret_cast<float *>(packed);
      if (toPacked)
        transpose.pack(piece, inPlain, inPacked);
      else
        transpose.unpack(piece, inPacked, inPlain);
      return true;
    }
    plain += piece * plainStep;
    packed += piece * packedStep;
    return toPacked ? reorder.run({plain, packed}, thread)
                    : reorder.run({packed, plain}, thread);
  }

private:
  static constexpr int64_t pieceChannels = 64, mostTaps = 12;

  bool initWhole(const dnnl_memory_desc_t &plain, const dnnl_memory_desc_t &packed,
                 int64_t threads) {
    const dnnl_memory_desc_t &from = toPacked ? plain : packed,
                             &to = toPacked ? packed : plain;
    return reorder.initReorder(from, to) &&
           reorder.setArguments({{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, threads);
  }
  /// One conversion serves all pieces if they lie at equal distances.
  bool initPieces(const dnnl_memory_desc_t &plain, const dnnl_memory_desc_t &packed,
                  int64_t threads) {
    const dnnl_blocking_desc_t &blocks = packed.format_desc.blocking;
    int64_t block = 1;
    for (int i = 0; i < blocks.inner_nblks; ++i)
      if (blocks.inner_idxs[i] == 0)
        block *= blocks.inner_blks[i];
    if (plain.ndims != 4 || packed.extra.flags != 0)
      return false;
    const bool isByRow = packed.data_type == dnnl_bf16 && plain.dims[2] > 1 &&
                         plain.dims[2] * plain.dims[3] > mostTaps;
    if (!isByRow && (plain.dims[0] < 2 * pieceChannels ||
                     plain.dims[0] % pieceChannels != 0 || pieceChannels % block != 0))
      return false;
    const dnnl_dim_t dims[] = {isByRow ? plain.dims[0] : pieceChannels, plain.dims[1],
                               isByRow ? 1 : plain.dims[2], plain.dims[3]},
                     first[] = {0, 0, 0, 0};
    dnnl_memory_desc_t plainPiece, packedPiece;
    if (dnnl_memory_desc_init_submemory(&plainPiece, &plain, dims, first) !=
            dnnl_success ||
        dnnl_memory_desc_init_submemory(&packedPiece, &packed, dims, first) !=
            dnnl_success ||
        !initWhole(plainPiece, packedPiece, threads))
      return false;
    const int dim = isByRow ? 2 : 0;
    pieces = plain.dims[dim] / dims[dim];
    const int64_t plainSize = plain.data_type == dnnl_bf16 ? 2 : 4,
                  packedSize = packed.data_type == dnnl_bf16 ? 2 : 4;
    plainStep = dims[dim] * plain.format_desc.blocking.strides[dim] * plainSize;
    packedStep = (isByRow ? 1 : pieceChannels / block) * blocks.strides[dim] * packedSize;
    return true;
  }

  Primitive reorder;
  FilterTranspose transpose;
  bool toPacked = true, isTransposed = false;
  int64_t pieces = 1, plainStep = 0, packedStep = 0;
};

class Conv : public Call {
public:
  void init(const Instruction &instruction, bool fastBF16) {
    call = instruction;
    attributes = *getConv(call);
    operands =
        getMatmulType(getRounded(call.refs[0].type, attributes.xRounding),
                      getRounded(call.refs[1].type, attributes.rounding), fastBF16);
    kind = attributes.kind;
    xIndex = attributes.x;
    filterIndex = attributes.filter;
    yIndex = attributes.y;
    hasBias = attributes.hasBias;
    epilogue = attributes.epilogue;
    if (hasBias)
      biasRow.resize(call.refs[2].count());
  }

  bool prepare(int64_t maxThreads, std::string &error) {
    threads = maxThreads;
    if (hasNoTerms()) {
      emptyRow.resize(call.refs[call.numInputs].dims.back());
      return true;
    }
    plan = planConv(call, threads);
    if (plan.tapBytes > 0)
      skipIdleTaps();
    if (plan.isTurned)
      turn();
    if (plan.isByTap)
      return prepareTaps(error);
    if (operands != DataType::F32 && (hasIdleTaps() || hasOddPoints()))
      operands = DataType::F32;
    if (operands != DataType::F32 && !(roundsSums() && prepareChunks(DataType::BF16)) &&
        !prepareChunks(DataType::F32))
      operands = DataType::F32;
    block = getBlock();
    if (block > 0 && !prepareBlocks())
      block = 0;
    if (wantsBands())
      isBanded = prepareBands();
    if (operands == DataType::F32 && block == 0 && !prepareChunks(DataType::F32)) {
      error = "oneDNN has no convolution for these shapes";
      return false;
    }
    if (!conversion.init(whole->plain, whole->packed, kind != CallId::Conv2DFilterGrad,
                         threads)) {
      error = "oneDNN cannot repack this filter";
      return false;
    }
    return true;
  }

  bool run(void **buffers, ThreadTeam &team, std::string &error) override {
    if (hasNoTerms()) {
      writeEmptySums(buffers);
      return true;
    }
    failed = false;
    char *scratch = static_cast<char *>(buffers[call.numInputs + 1]);
    if (kind == CallId::Conv2DFilterGrad)
      runFilterGrad(buffers, scratch, team);
    else
      runImages(buffers, scratch, team);
    if (failed)
      error = "oneDNN could not run a convolution";
    return !failed;
  }

private:
  /// The convolution and its input gradient: a task makes a chunk of images, or a slice
  /// of one.
  void runImages(void **buffers, char *scratch, ThreadTeam &team) {
    const bool isForward = kind == CallId::Conv2D, isSliced = plan.slices > 1;
    const uint32_t inIndex = isForward ? xIndex : yIndex, outIndex = call.numInputs;
    const BufferRef &out = call.refs[outIndex];
    char *sliced = scratch + (isForward ? plan.xBytes : 0);
    char *wideFilter = scratch + plan.xBytes + plan.yBytes;
    char *packed = wideFilter + plan.filterBytes;
    char *taps = packed + plan.slices * plan.packedBytes, *areas = taps + plan.tapBytes;
    const int64_t partBytes = alignUp(dnnl_memory_desc_get_size(&whole->packed));
    void *filter = plan.tapBytes > 0 ? getTaps(buffers[filterIndex], taps, team)
                                     : buffers[filterIndex];
    packFilter(filter, wideFilter, packed, partBytes, team);
    if (hasBias)
      widen(call.refs[2].type, buffers[2], 0, biasRow.data(), biasRow.size());
    const float *bias = hasBias ? biasRow.data() : nullptr;
    const int64_t channels = out.dims[3], width = channels / plan.slices;
    char *wideIn = isForward ? scratch : scratch + plan.xBytes;
    if (isBanded)
      return runBands(buffers, packed, areas, bias, team);
    const bool isBlocked = block > 0;
    const bool isWhole = isSliced && (isBlocked || !isReadAsStored(inIndex));
    if (isWhole)
      convertAll(inIndex, buffers, wideIn, team);
    parallelFor(plan.chunks * plan.slices, team, [&](int64_t task, int thread) {
      const int64_t chunk = task / plan.slices, slice = task % plan.slices;
      const int64_t first = chunk * plan.chunk, size = getChunkSize(chunk);
      alignas(64) char stack[ConvPlan::stackBytes];
      char *area = plan.getArea(areas, stack, thread), *from;
      if (isWhole)
        from = wideIn + first * countPerImage(inIndex) * getSize(operands);
      else
        from = getImages(inIndex, buffers, first, size, area);
      const int64_t outFirst = first * countPerImage(outIndex),
                    count = size * countPerImage(outIndex);
      float *to;
      if (isSliced)
        to = reinterpret_cast<float *>(sliced) + slice * (out.count() / plan.slices) +
             outFirst / plan.slices;
      else if (out.type == result && !isBlocked)
        to = reinterpret_cast<float *>(static_cast<char *>(buffers[outIndex]) +
                                       outFirst * getSize(result));
      else
        to = reinterpret_cast<float *>(
            area + (isReadAsStored(inIndex) && !isBlocked ? 0 : plan.threadInBytes));
      char *part = packed + slice * partBytes;
      Primitive &conv = getPrimitive(size);
      if (isForward ? !conv.run({from, part, to}, thread)
                    : !conv.run({to, part, from}, thread)) {
        failed = true;
        return;
      }
      if (isBlocked) {
        for (int64_t image = 0; image < size; ++image)
          unblockImage(to + image * (count / size / plan.slices), width, slice * width,
                       bias, buffers[outIndex], first + image, getAllPoints());
        return;
      }
      if (isSliced)
        return;
      if (bias || epilogue != Epilogue::None)
        for (int64_t i = 0; i < count; i += channels)
          finishRow(to + i, bias, channels, epilogue);
      if (out.type != DataType::F32 && result == DataType::F32)
        narrow(out.type, to, buffers[outIndex], outFirst, count);
    });
    if (!isSliced || isBlocked)
      return;
    // Slices as rows of all channels.
    const int64_t points = out.count() / channels;
    forPoints(points, channels, team, [&](int64_t slice, int64_t point) {
      float *row = reinterpret_cast<float *>(sliced) + (slice * points + point) * width;
      if (bias || epilogue != Epilogue::None)
        finishRow(row, bias ? bias + slice * width : nullptr, width, epilogue);
      narrow(out.type, row, buffers[outIndex], point * channels + slice * width, width);
    });
  }

  /// The same, a task being a band of an image.
  void runBands(void **buffers, char *packed, char *areas, const float *bias,
                ThreadTeam &team) {
    const bool isForward = kind == CallId::Conv2D;
    const BufferRef &out = call.refs[call.numInputs];
    parallelFor(out.dims[0] * plan.bands, team, [&](int64_t task, int thread) {
      const int64_t image = task / plan.bands, first = task % plan.bands * plan.bandRows;
      alignas(64) char stack[ConvPlan::stackBytes];
      char *area = plan.getArea(areas, stack, thread);
      char *from = blockBand(isForward ? xIndex : yIndex, buffers, image,
                             getReadRow(first), plan.bandReads, area);
      auto *to = reinterpret_cast<float *>(area + plan.threadInBytes);
      if (isForward ? !whole->conv.run({from, packed, to}, thread)
                    : !whole->conv.run({to, packed, from}, thread)) {
        failed = true;
        return;
      }
      const int64_t width = out.dims[2];
      unblockImage(to, out.dims[3], 0, bias, buffers[call.numInputs], image,
                   {first * width, std::min(plan.bandRows, out.dims[1] - first) * width,
                    plan.bandRows * width});
    });
  }
  /// The first row that a band reads whose first row is `first`; it may be outside.
  int64_t getReadRow(int64_t first) const {
    if (kind != CallId::Conv2DInputGrad)
      return first * attributes.strides[0] - attributes.padding[0];
    const int64_t taps = attributes.getFilterSizes(call.refs[filterIndex].dims)[0];
    return first + attributes.padding[0] - (taps - 1) * attributes.dilations[0];
  }
  /// `rows` rows of an image, from row `first` on, in blocks of channels, with zeros for
  /// those outside.
  char *blockBand(uint32_t index, void **buffers, int64_t image, int64_t first,
                  int64_t rows, char *area) const {
    const BufferRef &ref = call.refs[index];
    const int64_t width = ref.dims[2], channels = ref.dims[3];
    const int64_t begin = std::clamp<int64_t>(-first, 0, rows),
                  end = std::clamp<int64_t>(ref.dims[1] - first, begin, rows);
    auto *blocks = reinterpret_cast<float *>(area);
    for (int64_t c = 0; c < channels; c += block) {
      float *to = blocks + c * rows * width;
      std::fill_n(to, begin * width * block, 0.0f);
      std::fill_n(to + end * width * block, (rows - end) * width * block, 0.0f);
    }
    const float *from = static_cast<const float *>(buffers[index]) +
                        (image * ref.dims[1] + first + begin) * width * channels;
    forPieces(channels, (end - begin) * width,
              [&](int64_t channel, int64_t count, int64_t point, float *) {
                for (int64_t c = channel; c < channel + count; c += block)
                  copyBlock(blocks + c * rows * width + (begin * width + point) * block,
                            from + point * channels + c);
              });
    return area;
  }

  /// Calls `body(channel, count, point, row)` for all points of an image, with a row for
  /// `count` channels at a time: few streams are written at once.
  template <typename Body>
  static void forPieces(int64_t channels, int64_t points, Body &&body) {
    constexpr int64_t most = 64;
    float row[most];
    for (int64_t c = 0; c < channels; c += most)
      for (int64_t point = 0; point < points; ++point)
        body(c, std::min(most, channels - c), point, row);
  }
  void copyBlock(float *to, const float *from) const {
    std::memcpy(to, from, shortBlock * 4);
    if (block == channelBlock)
      std::memcpy(to + shortBlock, from + shortBlock, shortBlock * 4);
  }
  /// Images of an operand as f32 in blocks of channels, in `blocks`; in `slices` of the
  /// channels, `sliceStep` floats from one to the next.
  char *blockImages(uint32_t index, void **buffers, int64_t first, int64_t size,
                    float *blocks, int64_t slices = 1, int64_t sliceStep = 0) const {
    const BufferRef &ref = call.refs[index];
    const int64_t channels = ref.dims[3], points = ref.dims[1] * ref.dims[2],
                  width = channels / slices;
    for (int64_t image = 0; image < size; ++image) {
      float *to = blocks + image * width * points;
      forPieces(channels, points,
                [&](int64_t channel, int64_t count, int64_t point, float *row) {
                  widen(ref.type, getRoundingOf(index), buffers[index],
                        ((first + image) * points + point) * channels + channel, row,
                        count);
                  for (int64_t c = 0; c < count; c += block) {
                    const int64_t slice = slices == 1 ? 0 : (channel + c) / width;
                    copyBlock(to + slice * sliceStep +
                                  (channel + c - slice * width) * points + point * block,
                              row + c);
                  }
                });
    }
    return reinterpret_cast<char *>(blocks);
  }
  /// Points of an image of which there are blocks of `blocked` points.
  struct Points {
    int64_t first, count, blocked;
  };
  Points getAllPoints() const {
    const BufferRef &out = call.refs[call.numInputs];
    const int64_t points = out.dims[1] * out.dims[2];
    return {0, points, points};
  }
  /// Finishes `width` channels of some points of a result, from `firstChannel` on, and
  /// stores them.
  void unblockImage(const float *blocks, int64_t width, int64_t firstChannel,
                    const float *bias, void *result, int64_t image,
                    const Points points) const {
    const BufferRef &out = call.refs[call.numInputs];
    const int64_t channels = out.dims[3],
                  first = image * out.dims[1] * out.dims[2] + points.first;
    forPieces(width, points.count,
              [&](int64_t channel, int64_t count, int64_t point, float *row) {
                for (int64_t c = 0; c < count; c += block)
                  copyBlock(row + c,
                            blocks + (channel + c) * points.blocked + point * block);
                if (bias || epilogue != Epilogue::None)
                  finishRow(row, bias ? bias + firstChannel + channel : nullptr, count,
                            epilogue);
                narrow(out.type, row, result,
                       (first + point) * channels + firstChannel + channel, count);
              });
  }

  /// From here on the filter is that of the plan's taps.
  void skipIdleTaps() {
    auto &dims = call.refs[filterIndex].dims;
    for (int axis : {0, 1}) {
      int64_t &size = dims[axis + (attributes.isOIHW ? 2 : 0)];
      const int64_t first = plan.firstTap[axis], skipped = size - plan.taps[axis];
      allTaps[axis] = size;
      attributes.padding[2 * axis] -= first * attributes.dilations[axis];
      attributes.padding[2 * axis + 1] -= (skipped - first) * attributes.dilations[axis];
      size = plan.taps[axis];
    }
  }
  /// From here on this is the convolution of dy.
  void turn() {
    for (int axis : {0, 1})
      for (int end : {0, 1}) {
        int64_t &padding = attributes.padding[2 * axis + end];
        padding = (plan.taps[axis] - 1) * attributes.dilations[axis] - padding;
      }
    attributes.kind = kind = CallId::Conv2D;
    std::swap(xIndex, yIndex);
    std::swap(plan.xBytes, plan.yBytes);
  }
  /// Whether the filter's input channels are those of the result of a convolution.
  bool isSwapped() const { return plan.isTurned && attributes.groups == 1; }
  /// The plan's taps of a stored filter, in reverse order if this was turned: in their
  /// place if they lie one after another, else a copy.
  void *getTaps(void *stored, char *copy, ThreadTeam &team) const {
    const BufferRef &filter = call.refs[filterIndex];
    const bool isOIHW = attributes.isOIHW;
    const int64_t size = getSize(filter.type), taps = plan.taps[0] * plan.taps[1],
                  all = allTaps[0] * allTaps[1], pairs = filter.count() / taps,
                  first = plan.firstTap[0] * allTaps[1] + plan.firstTap[1];
    char *from = static_cast<char *>(stored) + first * (isOIHW ? 1 : pairs) * size;
    if (!isOIHW && !plan.isTurned && (plan.taps[0] == 1 || plan.taps[1] == allTaps[1]))
      return from;
    auto copyTap = [&](auto *target, const auto *source, int64_t begin, int64_t count) {
      for (int64_t pair = begin; pair < begin + count; ++pair)
        target[pair * taps] = source[pair * all];
    };
    forBlocks(pairs, team, [&](int64_t begin, int64_t count) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t place = plan.isTurned ? taps - 1 - tap : tap,
                      at = place / plan.taps[1] * allTaps[1] + place % plan.taps[1];
        if (!isOIHW)
          std::memcpy(copy + (tap * pairs + begin) * size,
                      from + (at * pairs + begin) * size, count * size);
        else if (size == 4)
          copyTap(reinterpret_cast<uint32_t *>(copy) + tap,
                  reinterpret_cast<uint32_t *>(from) + at, begin, count);
        else
          copyTap(reinterpret_cast<uint16_t *>(copy) + tap,
                  reinterpret_cast<uint16_t *>(from) + at, begin, count);
      }
    });
    return copy;
  }

  /// The filter in oneDNN's layout, slice by slice.
  void packFilter(void *stored, char *wide, char *packed, int64_t partBytes,
                  ThreadTeam &team) {
    const BufferRef &filter = call.refs[filterIndex];
    auto *from = static_cast<char *>(stored);
    const bool rounds = attributes.rounding != Rounding::None;
    if (rounds && operands == DataType::BF16) {
      from = packed + getRoundedOffset();
      forBlocks(filter.count(), team, [&](int64_t first, int64_t count) {
        narrow(operands, static_cast<const float *>(stored) + first, from, first, count);
      });
    } else if (filter.type != operands) {
      widenAll(filter, stored, reinterpret_cast<float *>(wide), team);
      from = wide;
    }
    const int64_t pieces = conversion.countPieces(),
                  step = getFilterStep(getSize(operands));
    parallelFor(plan.slices * pieces, team, [&](int64_t task, int thread) {
      const int64_t slice = task / pieces;
      if (!conversion.run(task % pieces, from + slice * step, packed + slice * partBytes,
                          thread))
        failed = true;
    });
    if (!rounds || operands != DataType::F32)
      return;
    const int64_t elements = dnnl_memory_desc_get_size(&whole->packed) / 4;
    for (int64_t slice = 0; slice < plan.slices; ++slice) {
      auto *part = reinterpret_cast<float *>(packed + slice * partBytes);
      forBlocks(elements, team, [&](int64_t first, int64_t count) {
        round(attributes.rounding, part + first, part + first, count);
      });
    }
  }
  /// Where, in the bytes for the packed slices, a filter that is rounded to bf16 waits to
  /// be packed: at the end. Planned are 4 bytes for an element.
  int64_t getRoundedOffset() const {
    return plan.slices * plan.packedBytes - alignUp(2 * call.refs[filterIndex].count());
  }
  /// Whether there is room for all slices in a layout.
  bool fits(const dnnl_memory_desc_t &packed) const {
    const auto size = static_cast<int64_t>(dnnl_memory_desc_get_size(&packed));
    if (attributes.rounding != Rounding::None && operands == DataType::BF16)
      return plan.slices * alignUp(size) <= getRoundedOffset();
    return size <= plan.packedBytes;
  }
  /// Bytes from one slice of the filter to the next, of elements of `size` bytes.
  int64_t getFilterStep(int64_t size) const {
    const auto [height, width, in, out] =
        attributes.getFilterSizes(call.refs[filterIndex].dims);
    const bool isOfInputs = kind == CallId::Conv2DInputGrad || isSwapped();
    int64_t channel = isOfInputs ? out : 1;
    if (attributes.isOIHW)
      channel = height * width * (isOfInputs ? 1 : in);
    return (isOfInputs ? in : out) / plan.slices * channel * size;
  }

  /// A task makes the part of a chunk of images in a slice of the gradient. There are as
  /// many parts at a time as there is room for, so that neither threads nor rounds change
  /// a bit.
  void runFilterGrad(void **buffers, char *scratch, ThreadTeam &team) {
    const BufferRef &y = call.refs[yIndex], &out = call.refs[filterIndex];
    char *slicedY = scratch + plan.xBytes;
    char *plain = slicedY + plan.yBytes;
    char *sums = plain + plan.filterBytes;
    char *areas = sums + plan.sums * plan.slices * plan.packedBytes;
    const bool isSliced = plan.slices > 1;
    if (isSliced) {
      if (!isReadAsStored(xIndex))
        convertAll(xIndex, buffers, scratch, team);
      sliceY(buffers, slicedY, team);
    }
    const int64_t sliceBytes = y.count() / plan.slices * getSize(operands);
    const int64_t partBytes = getTapBytes() * std::max<int64_t>(tapRanges.size(), 1);
    const int64_t slotBytes = plan.slices * partBytes;
    const int64_t chunks =
        isBanded ? call.refs[xIndex].dims[0] * plan.bands : plan.chunks;
    const int64_t room = plan.sums == chunks ? chunks : plan.sums - 1;
    for (int64_t done = 0; done < chunks;) {
      // The first slot has the sum, once there is one.
      const int64_t firstSlot = done > 0, count = std::min(room, chunks - done);
      parallelFor(count * plan.slices, team, [&](int64_t task, int thread) {
        const int64_t chunk = done + task / plan.slices, slice = task % plan.slices;
        const int64_t first = chunk * plan.chunk, size = getChunkSize(chunk);
        alignas(64) char stack[ConvPlan::stackBytes];
        char *area = plan.getArea(areas, stack, thread), *from, *gradient;
        if (isBanded) {
          const int64_t image = chunk / plan.bands,
                        row = chunk % plan.bands * plan.bandRows;
          from = blockBand(xIndex, buffers, image, getReadRow(row), plan.bandReads, area);
          gradient = blockBand(yIndex, buffers, image, row, plan.bandRows,
                               area + plan.threadInBytes);
        } else if (isSliced) {
          from = isReadAsStored(xIndex) ? static_cast<char *>(buffers[xIndex]) : scratch;
          from += first * countPerImage(xIndex) * getSize(operands);
          gradient = slicedY + slice * sliceBytes +
                     first * countPerImage(yIndex) / plan.slices * getSize(operands);
        } else {
          from = getImages(xIndex, buffers, first, size, area);
          gradient = getImages(yIndex, buffers, first, size,
                               area + (isReadAsStored(xIndex) ? 0 : plan.threadInBytes));
        }
        char *part =
            sums + (firstSlot + task / plan.slices) * slotBytes + slice * partBytes;
        if (plan.isByTap ? !runTaps(from, part, gradient, thread)
                         : !getPrimitive(size).run({from, part, gradient}, thread))
          failed = true;
      });
      addParts(reinterpret_cast<float *>(sums), slotBytes / 4, firstSlot + count, team);
      done += count;
    }
    char *gradients =
        out.type == DataType::F32 ? static_cast<char *>(buffers[filterIndex]) : plain;
    // Of slices, or of taps.
    const int64_t pieces = conversion.countPieces(),
                  step = plan.isByTap ? getTapStep() : getFilterStep(4);
    const int64_t parts = plan.isByTap ? tapRanges.size() : plan.slices;
    const int64_t bytes = partBytes * plan.slices / parts;
    parallelFor(parts * pieces, team, [&](int64_t task, int thread) {
      const int64_t slice = task / pieces;
      if (!conversion.run(task % pieces, gradients + slice * step, sums + slice * bytes,
                          thread))
        failed = true;
    });
    if (out.type != DataType::F32)
      forBlocks(out.count(), team, [&](int64_t first, int64_t count) {
        narrow(out.type, reinterpret_cast<float *>(plain) + first, buffers[filterIndex],
               first, count);
      });
  }

  /// Points of a row of dy that a tap writes from a point within x, and their
  /// convolution.
  struct TapRange {
    int64_t first = 0, count = 0;
    ChunkConv *conv = nullptr;
  };

  /// A filter gradient of 1 x 1 for each tap, on the points that it reads.
  bool prepareTaps(std::string &error) {
    const BufferRef &filter = call.refs[filterIndex];
    const std::array<int64_t, 4> sizes = attributes.getFilterSizes(filter.dims);
    const int64_t width = call.refs[xIndex].dims[2], points = call.refs[yIndex].dims[2];
    for (int64_t tap = 0; tap < sizes[1]; ++tap) {
      const int64_t shift = tap * attributes.dilations[1] - attributes.padding[2],
                    first = std::max<int64_t>(0, -shift);
      tapRanges.push_back(
          {first, std::max<int64_t>(0, std::min(points, width - shift) - first)});
    }
    if (operands == DataType::F32 || !prepareTapConvs(sizes)) {
      operands = DataType::F32;
      if (!prepareTapConvs(sizes)) {
        error = "oneDNN has no convolution for these shapes";
        return false;
      }
    }
    // A tap as it is stored.
    const int64_t in = sizes[2], out = sizes[3], taps = sizes[1];
    dnnl_memory_desc_t plain;
    if (makeDesc(plain, {out, in, 1, 1},
                 attributes.isOIHW ? std::vector<int64_t>{in * taps, taps, taps, 1}
                                   : std::vector<int64_t>{1, out, in * out, in * out}) &&
        conversion.init(plain, whole->packed, /*isToPacked=*/false, threads))
      return true;
    error = "oneDNN cannot repack this filter";
    return false;
  }
  bool prepareTapConvs(const std::array<int64_t, 4> &sizes) {
    tapConvs.clear();
    ConvCall one = attributes;
    one.dilations = {1, 1};
    one.padding = {};
    const std::vector<int64_t> filter =
        one.isOIHW ? std::vector<int64_t>{sizes[3], sizes[2], 1, 1}
                   : std::vector<int64_t>{1, 1, sizes[2], sizes[3]};
    for (TapRange &range : tapRanges) {
      const TapRange *same =
          std::find_if(tapRanges.data(), &range,
                       [&](const TapRange &o) { return o.count == range.count; });
      range.conv = same == &range ? nullptr : same->conv;
      if (range.count == 0 || range.conv)
        continue;
      tapConvs.push_back(std::make_unique<ChunkConv>());
      range.conv = tapConvs.back().get();
      const std::vector<int64_t> x = {1, 1, range.count, sizes[2]},
                                 y = {1, 1, range.count, sizes[3]};
      const dnnl_memory_desc_t *layout =
          tapConvs.size() > 1 ? &tapConvs.front()->packed : nullptr;
      if (!range.conv->init(one, operands, DataType::F32, x, filter, y, 1, 1, layout,
                            /*block=*/0, /*swapped=*/false, threads))
        return false;
    }
    if (tapConvs.empty())
      return false;
    whole = std::move(tapConvs.front());
    return getTapBytes() * static_cast<int64_t>(tapRanges.size()) <= plan.packedBytes;
  }
  /// Bytes of a tap, or of a slice, in oneDNN's layout.
  int64_t getTapBytes() const {
    return alignUp(dnnl_memory_desc_get_size(&whole->packed));
  }
  /// Bytes from a tap of the stored gradient to the next.
  int64_t getTapStep() const {
    const auto [height, width, in, out] =
        attributes.getFilterSizes(call.refs[filterIndex].dims);
    return attributes.isOIHW ? 4 : in * out * 4;
  }
  bool runTaps(const char *x, char *part, char *dy, int thread) {
    const int64_t size = getSize(operands), in = call.refs[xIndex].dims[3] * size,
                  out = call.refs[yIndex].dims[3] * size, bytes = getTapBytes();
    bool isRun = true;
    for (size_t tap = 0; tap < tapRanges.size(); ++tap, part += bytes) {
      const TapRange &range = tapRanges[tap];
      const int64_t read = range.first - attributes.padding[2] +
                           static_cast<int64_t>(tap) * attributes.dilations[1];
      if (range.count == 0)
        std::memset(part, 0, bytes);
      else
        isRun &= range.conv->conv.run(
            {const_cast<char *>(x) + read * in, part, dy + range.first * out}, thread);
    }
    return isRun;
  }

  /// Adds to the first of `count` slots the others, in their order.
  static void addParts(float *sums, int64_t stride, int64_t count, ThreadTeam &team) {
    if (count > 1)
      forBlocks(stride, team, [&](int64_t first, int64_t size) {
        for (int64_t slot = 1; slot < count; ++slot)
          for (int64_t i = first; i < first + size; ++i)
            sums[i] += sums[slot * stride + i];
      });
  }

  /// dy as `slices` tensors one after another, each of some of the channels.
  void sliceY(void **buffers, char *target, ThreadTeam &team) {
    const BufferRef &y = call.refs[yIndex];
    if (block > 0)
      return blockAll(yIndex, buffers, target, plan.slices, team);
    const void *source = buffers[yIndex];
    const int64_t channels = y.dims[3], width = channels / plan.slices;
    const int64_t points = y.count() / channels, size = getSize(operands);
    forPoints(points, channels, team, [&](int64_t slice, int64_t point) {
      const int64_t from = point * channels + slice * width;
      char *to = target + (slice * points + point) * width * size;
      if (y.type == operands)
        std::memcpy(to, static_cast<const char *>(source) + from * size, width * size);
      else
        widen(y.type, source, from, reinterpret_cast<float *>(to), width);
    });
  }
  /// Calls body(slice, point) for all slices of all points of an image tensor.
  template <typename Body>
  void forPoints(int64_t points, int64_t channels, ThreadTeam &team, Body &&body) const {
    const int64_t perTask = std::max<int64_t>(1, 65536 / channels);
    parallelFor((points + perTask - 1) / perTask, team, [&](int64_t task, int) {
      const int64_t begin = task * perTask, end = std::min(points, begin + perTask);
      for (int64_t slice = 0; slice < plan.slices; ++slice)
        for (int64_t point = begin; point < end; ++point)
          body(slice, point);
    });
  }

  Rounding getRoundingOf(uint32_t index) const {
    return index == xIndex ? attributes.xRounding : Rounding::None;
  }
  /// Whether the images of an operand are multiplied as they are stored.
  bool isReadAsStored(uint32_t index) const {
    return call.refs[index].type == operands && getRoundingOf(index) == Rounding::None;
  }
  /// `count` elements of an operand from element `first` on in the type that is
  /// multiplied.
  void convert(uint32_t index, const void *source, int64_t first, char *target,
               int64_t count) const {
    if (operands == DataType::BF16)
      narrow(operands, static_cast<const float *>(source) + first, target, 0, count);
    else
      widen(call.refs[index].type, getRoundingOf(index), source, first,
            reinterpret_cast<float *>(target), count);
  }
  void convertAll(uint32_t index, void **buffers, char *target, ThreadTeam &team) const {
    if (block > 0)
      return blockAll(index, buffers, target, /*slices=*/1, team);
    forBlocks(call.refs[index].count(), team, [&](int64_t first, int64_t count) {
      convert(index, buffers[index], first, target + first * getSize(operands), count);
    });
  }
  /// All images in blocks of channels, in slices one after another.
  void blockAll(uint32_t index, void **buffers, char *target, int64_t slices,
                ThreadTeam &team) const {
    auto *blocks = reinterpret_cast<float *>(target);
    parallelFor(call.refs[index].dims[0], team, [&](int64_t image, int) {
      blockImages(index, buffers, image, 1,
                  blocks + image * countPerImage(index) / slices, slices,
                  call.refs[index].count() / slices);
    });
  }
  /// Images of an operand in the type that is multiplied, in `area` if that is another
  /// or they are in blocks.
  char *getImages(uint32_t index, void **buffers, int64_t first, int64_t size,
                  char *area) const {
    const int64_t perImage = countPerImage(index);
    if (block > 0)
      return blockImages(index, buffers, first, size, reinterpret_cast<float *>(area));
    if (isReadAsStored(index))
      return static_cast<char *>(buffers[index]) + first * perImage * getSize(operands);
    convert(index, buffers[index], first * perImage, area, size * perImage);
    return area;
  }
  int64_t countPerImage(uint32_t index) const {
    return call.refs[index].count() / call.refs[index].dims[0];
  }
  int64_t getChunkSize(int64_t chunk) const {
    return std::min(plan.chunk, call.refs[xIndex].dims[0] - chunk * plan.chunk);
  }
  Primitive &getPrimitive(int64_t images) {
    return isBanded || images == plan.chunk ? whole->conv : last->conv;
  }

  bool hasNoTerms() const {
    return call.refs[xIndex].count() == 0 || call.refs[filterIndex].count() == 0 ||
           call.refs[yIndex].count() == 0;
  }
  /// Whether a tap of a filter gradient meets only padding along the width. oneDNN 2.6
  /// leaves it as it was if operands are bf16, images have a width of 1 and strides
  /// are 2.
  bool hasIdleTaps() const {
    if (kind != CallId::Conv2DFilterGrad)
      return false;
    const int64_t taps = attributes.getFilterSizes(call.refs[filterIndex].dims)[1];
    const int64_t width = call.refs[xIndex].dims[2], outWidth = call.refs[yIndex].dims[2];
    auto meets = [&](int64_t tap, int64_t out) {
      const int64_t column = out * attributes.strides[1] - attributes.padding[2] +
                             tap * attributes.dilations[1];
      return column >= 0 && column < width;
    };
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t out = 0;
      while (out < outWidth && !meets(tap, out))
        ++out;
      if (out == outWidth)
        return true;
    }
    return false;
  }
  /// Whether this is the input gradient of a 1 x 1 convolution to an odd number of
  /// channels. oneDNN 2.6 adds to it part of the next point if operands are bf16.
  bool hasOddPoints() const {
    const auto sizes = attributes.getFilterSizes(call.refs[filterIndex].dims);
    return kind == CallId::Conv2DInputGrad && sizes[0] * sizes[1] == 1 &&
           call.refs[yIndex].dims[3] % 2 != 0;
  }
  /// Sums over nothing: zeros, then bias and epilogue.
  void writeEmptySums(void **buffers) {
    const BufferRef &out = call.refs[call.numInputs];
    int64_t width = static_cast<int64_t>(emptyRow.size());
    std::fill(emptyRow.begin(), emptyRow.end(), 0.0f);
    if (hasBias)
      widen(call.refs[2].type, buffers[2], 0, biasRow.data(), biasRow.size());
    finishRow(emptyRow.data(), hasBias ? biasRow.data() : nullptr, width, epilogue);
    for (int64_t first = 0; first < out.count(); first += width)
      narrow(out.type, emptyRow.data(), buffers[call.numInputs], first, width);
  }
  /// Whether oneDNN may round the sums, in its registers: nothing else is done to them.
  bool roundsSums() const {
    return kind != CallId::Conv2DFilterGrad && plan.slices == 1 && !hasBias &&
           epilogue == Epilogue::None && call.refs[call.numInputs].type == DataType::BF16;
  }
  std::unique_ptr<ChunkConv> makeChunk(int64_t size, const dnnl_memory_desc_t *layout,
                                       int64_t block) const {
    auto conv = std::make_unique<ChunkConv>();
    const bool ok = conv->init(attributes, operands, result, call.refs[xIndex].dims,
                               call.refs[filterIndex].dims, call.refs[yIndex].dims, size,
                               plan.slices, layout, block, isSwapped(), threads);
    return ok ? std::move(conv) : nullptr;
  }
  /// Channels of the blocks in which images are multiplied; 0 for none. With AVX2 images
  /// that are widened go there at no cost.
  int64_t getBlock() const {
    if (operands != DataType::F32)
      return 0;
    if (!prefersConvolutions(dnnl_get_effective_cpu_isa()))
      return plan.hasBlocks ? channelBlock : 0;
    const BufferRef &x = call.refs[xIndex], &y = call.refs[yIndex];
    auto isLong = [](const BufferRef &ref) {
      return ref.dims[2] * ref.dims[3] * 4 >= longRow;
    };
    const auto sizes = attributes.getFilterSizes(call.refs[filterIndex].dims);
    if (attributes.groups != 1 || sizes[0] * sizes[1] == 1 ||
        x.dims[3] % shortBlock != 0 || y.dims[3] % shortBlock != 0)
      return 0;
    // What is in slices is a copy anyway.
    const bool isSliced = plan.slices > 1, isInputGrad = kind == CallId::Conv2DInputGrad;
    const bool isWidened = (!isReadAsStored(xIndex) || (isSliced && isInputGrad)) &&
                           (!isReadAsStored(yIndex) || (isSliced && !isInputGrad));
    return isWidened || (plan.hasBlocks && (isLong(x) || isLong(y))) ? shortBlock : 0;
  }
  /// The same in blocks of channels; false if this CPU gains nothing by them.
  bool prepareBlocks() {
    result = DataType::F32;
    const int64_t lastSize = getChunkSize(plan.chunks - 1);
    last.reset();
    whole = makeChunk(plan.chunk, nullptr, block);
    if (!whole || !whole->suitsBlocks(block) || !fits(whole->packed))
      return false;
    if (lastSize == plan.chunk)
      return true;
    last = makeChunk(lastSize, &whole->packed, block);
    return last && last->suitsBlocks(block);
  }
  /// Whether images of f32 go into blocks of channels, band by band, with AVX2. Only
  /// filter gradients gain by that if the first-level cache has more ways than it had in
  /// such processors for long.
  bool wantsBands() const {
    constexpr long smallCache = 32768;
    return operands == DataType::F32 && plan.bandRows > 0 &&
           prefersConvolutions(dnnl_get_effective_cpu_isa()) &&
           (kind == CallId::Conv2DFilterGrad ||
            sysconf(_SC_LEVEL1_DCACHE_SIZE) <= smallCache);
  }
  /// A band of an image in blocks of channels, with rows of zeros for what it reads
  /// outside the image; false if this CPU gains nothing by it.
  bool prepareBands() {
    result = DataType::F32;
    ConvCall band = attributes;
    std::vector<int64_t> x = call.refs[xIndex].dims, y = call.refs[yIndex].dims;
    const bool isInputGrad = kind == CallId::Conv2DInputGrad;
    x[1] = isInputGrad ? plan.bandRows : plan.bandReads;
    y[1] = isInputGrad ? plan.bandReads : plan.bandRows;
    band.padding[0] = band.padding[1] = isInputGrad ? plan.bandReads - plan.bandRows : 0;
    last.reset();
    whole = std::make_unique<ChunkConv>();
    if (!whole->init(band, operands, result, x, call.refs[filterIndex].dims, y, 1, 1,
                     nullptr, shortBlock, isSwapped(), threads) ||
        !whole->suitsBlocks(shortBlock) || !fits(whole->packed))
      return false;
    block = shortBlock;
    return true;
  }
  /// What a chunk of images, and a last, shorter one, needs: with the filter as oneDNN
  /// likes it for the former, or in its own layout if the latter does not go with it or
  /// there is no room.
  /// The results are of type `images`.
  bool prepareChunks(DataType images) {
    result = images;
    const int64_t lastSize = getChunkSize(plan.chunks - 1);
    auto make = [&](int64_t size, const dnnl_memory_desc_t *layout) {
      return makeChunk(size, layout, /*block=*/0);
    };
    const dnnl_memory_desc_t *layout = nullptr;
    dnnl_memory_desc_t dense;
    for (int attempt = 0; attempt < 2; ++attempt) {
      last.reset();
      whole = make(plan.chunk, layout);
      if (!whole || (images != DataType::F32 && whole->isMatmul()))
        return false;
      const bool hasRoom = fits(whole->packed);
      if (hasRoom && lastSize != plan.chunk)
        last = make(lastSize, &whole->packed);
      // Plain loops are the last resort.
      const bool suits =
          !last || !last->conv.isReference() || whole->conv.isReference() || layout;
      if (hasRoom && suits && (lastSize == plan.chunk || last))
        return true;
      dense = whole->dense;
      layout = &dense;
    }
    return false;
  }
  /// Calls body(first, count) for blocks of `all` elements.
  template <typename Body>
  static void forBlocks(int64_t all, ThreadTeam &team, Body &&body) {
    constexpr int64_t block = 16384;
    parallelFor((all + block - 1) / block, team, [&](int64_t task, int) {
      body(task * block, std::min(block, all - task * block));
    });
  }
  static void widenAll(const BufferRef &ref, const void *source, float *target,
                       ThreadTeam &team) {
    forBlocks(ref.count(), team, [&](int64_t first, int64_t count) {
      widen(ref.type, source, first, target + first, count);
    });
  }

  Instruction call;
  CallId kind = CallId::Conv2D;
  uint32_t xIndex = 0, filterIndex = 1, yIndex = 2;
  DataType operands = DataType::F32;
  /// What oneDNN writes: f32, or bf16 if that is the result.
  DataType result = DataType::F32;
  bool hasBias = false;
  /// Channels of a block of images; 0 if they are multiplied as they are stored.
  int64_t block = 0;
  /// Whether a task has a band of an image.
  bool isBanded = false;
  ConvCall attributes;
  Epilogue epilogue = Epilogue::None;
  ConvPlan plan;
  /// The stored filter's, by axis.
  int64_t allTaps[2] = {0, 0};
  int64_t threads = 1;
  std::unique_ptr<ChunkConv> whole, last;
  /// Of a filter gradient that is made tap by tap; the first convolution is `whole`.
  std::vector<TapRange> tapRanges;
  std::vector<std::unique_ptr<ChunkConv>> tapConvs;
  FilterConversion conversion;
  std::vector<float> biasRow, emptyRow;
  std::atomic<bool> failed{false};
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeConv(const Instruction &instruction,
                                        int64_t maxThreads, bool fastBF16,
                                        std::string &error) {
  const ConvPlan plan = planConv(instruction, maxThreads);
  if (plan.isDepthwiseGrad)
    return makeDepthwiseFilterGrad(instruction, maxThreads);
  if (plan.pointTaps > 0)
    return makeConvMatmul(instruction, maxThreads, fastBF16, error);
  if (plan.inBlock > 0)
    return makeFilterGradMatmul(instruction, maxThreads, fastBF16, error);
  auto call = std::make_unique<Conv>();
  call->init(instruction, fastBF16);
  if (!call->prepare(maxThreads, error))
    return nullptr;
  return call;
}
