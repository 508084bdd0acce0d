//===- Conv.cpp - Convolutions through oneDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Convolutions, NHWC by HWIO: oneDNN's primitives on chunks of images, one
/// thread each, with filters repacked into the layout that oneDNN likes once a
/// run. Operands are f32, widened where necessary, or, where the CPU multiplies
/// that faster, bf16. Sums are f32 and the result is rounded once. Filter
/// gradients of the chunks are added in order.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "OneDnn.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <atomic>

using namespace mpt::rt;

namespace {

int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The convolution of one chunk of images, and its gradients.
class ChunkConv {
public:
  /// Both operands are of type `operands`, the result is f32.
  bool init(const ConvCall &attributes, DataType operands, const std::vector<int64_t> &x,
            const std::vector<int64_t> &filter, const std::vector<int64_t> &y,
            int64_t images, int64_t threads) {
    const CallId kind = attributes.kind;
    int64_t groups = attributes.groups, in = filter[2], out = filter[3];
    int64_t kh = filter[0], kw = filter[1];
    auto image = [&](dnnl_memory_desc_t &desc, const std::vector<int64_t> &d,
                     bool isResult) {
      return makeDesc(desc, {images, d[3], d[1], d[2]},
                      {d[1] * d[2] * d[3], 1, d[2] * d[3], d[3]},
                      isResult ? DataType::F32 : operands);
    };
    std::vector<int64_t> dims = {out, in, kh, kw};
    std::vector<int64_t> strides = {1, out, kw * in * out, in * out};
    if (groups > 1) {
      dims = {groups, out / groups, in, kh, kw};
      strides = {out / groups, 1, out, kw * in * out, in * out};
    }
    dnnl_memory_desc_t source, target, any, hintSource, hintAny;
    DataType filterType = kind == CallId::Conv2DFilterGrad ? DataType::F32 : operands;
    if (!image(source, x, kind == CallId::Conv2DInputGrad) ||
        !image(target, y, kind == CallId::Conv2D) || !image(hintSource, x, false) ||
        !makeDesc(plain, dims, strides, filterType) ||
        !makeDesc(any, dims, {}, filterType) || !makeDesc(hintAny, dims, {}, operands))
      return false;
    const auto &padding = attributes.padding;
    int64_t step[2] = {attributes.strides[0], attributes.strides[1]},
            low[2] = {padding[0], padding[2]}, high[2] = {padding[1], padding[3]},
            dilation[2] = {attributes.dilations[0] - 1, attributes.dilations[1] - 1};
    dnnl_convolution_desc_t forward, desc;
    if (dnnl_dilated_convolution_forward_desc_init(
            &forward, dnnl_forward_training, dnnl_convolution_direct, &hintSource,
            &hintAny, nullptr, &target, step, dilation, low, high) != dnnl_success)
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
    // A thread's filter gradient in oneDNN's layout, then in ours.
    unpacked.resize(threads);
    for (std::vector<float> &area : unpacked)
      area.resize(dnnl_memory_desc_get_size(&packed) / 4 + 16);
    return conv.setArguments({{DNNL_ARG_SRC, source},
                              {DNNL_ARG_DIFF_WEIGHTS, packed},
                              {DNNL_ARG_DIFF_DST, target}},
                             threads) &&
           unpack.initReorder(packed, plain) &&
           unpack.setArguments({{DNNL_ARG_FROM, packed}, {DNNL_ARG_TO, plain}}, threads);
  }

  Primitive conv, unpack;
  dnnl_memory_desc_t plain, packed;
  std::vector<std::vector<float>> unpacked;
};

char *aligned(std::vector<float> &area) {
  auto address = reinterpret_cast<uintptr_t>(area.data());
  return reinterpret_cast<char *>((address + 63) / 64 * 64);
}

class Conv : public Call {
public:
  void init(const Instruction &instruction, bool fastBF16) {
    call = instruction;
    operands = getProductType(call.refs[0].type, call.refs[1].type, fastBF16);
    attributes = *getConv(call);
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
    images = call.refs[xIndex].dims[0];
    if (hasNoProducts()) {
      emptyRow.resize(call.refs[call.numInputs].dims.back());
      return true;
    }
    chunk = getConvChunk(images);
    chunks = (images + chunk - 1) / chunk;
    if (operands != DataType::F32 && !prepareChunks())
      operands = DataType::F32;
    if (operands == DataType::F32 && !prepareChunks()) {
      error = "oneDNN has no convolution for these shapes";
      return false;
    }
    if (kind != CallId::Conv2DFilterGrad) {
      packedFilter.resize(dnnl_memory_desc_get_size(&whole->packed) / 4 + 16);
      samePacking =
          images % chunk == 0 || dnnl_memory_desc_equal(&whole->packed, &last->packed);
      if (!samePacking)
        lastPackedFilter.resize(dnnl_memory_desc_get_size(&last->packed) / 4 + 16);
      if (!preparePack(pack, *whole) || (!samePacking && !preparePack(lastPack, *last))) {
        error = "oneDNN cannot repack this filter";
        return false;
      }
    }
    return true;
  }

  bool run(void **buffers, ThreadTeam &team, std::string &error) override {
    if (hasNoProducts()) {
      writeEmptySums(buffers);
      return true;
    }
    char *scratch = static_cast<char *>(buffers[call.numInputs + 1]);
    char *data[3];
    for (int i : {0, 1, 2}) {
      uint32_t index = i < 2 ? i : call.numInputs;
      const BufferRef &ref = call.refs[index];
      data[i] = static_cast<char *>(buffers[index]);
      if (ref.type == (i < 2 ? operands : DataType::F32))
        continue;
      data[i] = scratch;
      scratch += alignUp(ref.count() * 4);
      if (i < 2)
        widenAll(ref, buffers[index], reinterpret_cast<float *>(data[i]), team);
    }
    auto at = [&](uint32_t index) { return data[index < 2 ? index : 2]; };
    char *x = at(xIndex), *filter = at(filterIndex), *y = at(yIndex);
    int64_t xSize = bytesPerImage(xIndex), ySize = bytesPerImage(yIndex);
    if (hasBias)
      widen(call.refs[2].type, buffers[2], 0, biasRow.data(), biasRow.size());
    std::atomic<bool> ok{true};
    if (kind != CallId::Conv2DFilterGrad) {
      ok = pack.run({filter, aligned(packedFilter)}, 0) &&
           (samePacking || lastPack.run({filter, aligned(lastPackedFilter)}, 0));
    }
    int64_t filterSize = call.refs[filterIndex].count();
    auto *sums = reinterpret_cast<float *>(scratch);
    int64_t stride = alignUp(filterSize * 4) / 4;
    auto runChunk = [&](int64_t task, int64_t slot, int thread) {
      int64_t first = task * chunk, size = std::min(chunk, images - first);
      ChunkConv &conv = size == chunk ? *whole : *last;
      if (kind == CallId::Conv2DFilterGrad) {
        char *area = aligned(conv.unpacked[thread]);
        if (!conv.conv.run({x + first * xSize, area, y + first * ySize}, thread) ||
            !conv.unpack.run({area, sums + slot * stride}, thread))
          ok = false;
        return;
      }
      char *packed = size == chunk || samePacking ? aligned(packedFilter)
                                                  : aligned(lastPackedFilter);
      if (!conv.conv.run({x + first * xSize, packed, y + first * ySize}, thread)) {
        ok = false;
        return;
      }
      int64_t channels = call.refs[yIndex].dims[3];
      if (hasBias || epilogue != Epilogue::None)
        for (char *row = y + first * ySize; row < y + (first + size) * ySize;
             row += channels * 4)
          finishRow(reinterpret_cast<float *>(row), hasBias ? biasRow.data() : nullptr,
                    channels, epilogue);
    };
    if (kind == CallId::Conv2DFilterGrad)
      sumChunks(sums, stride, filterSize, team, runChunk);
    else
      parallelFor(chunks, team,
                  [&](int64_t task, int thread) { runChunk(task, task, thread); });
    if (!ok) {
      error = "oneDNN could not run a convolution";
      return false;
    }
    auto *result = reinterpret_cast<float *>(data[2]);
    if (kind == CallId::Conv2DFilterGrad)
      result = sums;
    const BufferRef &out = call.refs[call.numInputs];
    if (kind == CallId::Conv2DFilterGrad || out.type != DataType::F32) {
      int64_t count = out.count();
      parallelFor((count + 65535) / 65536, team, [&](int64_t task, int) {
        int64_t first = task * 65536;
        narrow(out.type, result + first, buffers[call.numInputs], first,
               std::min<int64_t>(65536, count - first));
      });
    }
    return true;
  }

private:
  /// Filter gradients of all chunks, added in their order: as many at a time as there is
  /// room for, so that neither threads nor rounds change a bit.
  template <typename RunChunk>
  void sumChunks(float *sums, int64_t stride, int64_t filterSize, ThreadTeam &team,
                 RunChunk runChunk) {
    const int64_t slots = getFilterGradSums(chunks, threads);
    const int64_t room = slots == chunks ? chunks : slots - 1;
    for (int64_t done = 0; done < chunks;) {
      // The first slot has the sum, once there is one.
      const int64_t firstSlot = done > 0;
      const int64_t count = std::min(room, chunks - done);
      parallelFor(count, team, [&](int64_t task, int thread) {
        runChunk(done + task, firstSlot + task, thread);
      });
      for (int64_t slot = 1; slot < firstSlot + count; ++slot)
        for (int64_t i = 0; i < filterSize; ++i)
          sums[i] += sums[slot * stride + i];
      done += count;
    }
  }

  bool hasNoProducts() const {
    return call.refs[xIndex].count() == 0 || call.refs[filterIndex].count() == 0 ||
           call.refs[yIndex].count() == 0;
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
  /// What a chunk of images, and a last, shorter one, needs.
  bool prepareChunks() {
    int64_t lastSize = images - chunk * (chunks - 1);
    auto make = [&](int64_t size) {
      auto conv = std::make_unique<ChunkConv>();
      bool ok =
          conv->init(attributes, operands, call.refs[xIndex].dims,
                     call.refs[filterIndex].dims, call.refs[yIndex].dims, size, threads);
      return ok ? std::move(conv) : nullptr;
    };
    whole = make(chunk);
    if (whole && lastSize != chunk)
      last = make(lastSize);
    return whole && (lastSize == chunk || last);
  }
  /// Operands are stored as they are multiplied, results in f32.
  int64_t bytesPerImage(uint32_t index) const {
    int64_t size = index < 2 ? getSize(operands) : 4;
    return call.refs[index].count() / images * size;
  }
  bool preparePack(Primitive &primitive, ChunkConv &conv) {
    return primitive.initReorder(conv.plain, conv.packed) &&
           primitive.setArguments(
               {{DNNL_ARG_FROM, conv.plain}, {DNNL_ARG_TO, conv.packed}}, 1);
  }
  void widenAll(const BufferRef &ref, void *source, float *target, ThreadTeam &team) {
    int64_t count = ref.count();
    parallelFor((count + 65535) / 65536, team, [&](int64_t task, int) {
      int64_t first = task * 65536;
      widen(ref.type, source, first, target + first,
            std::min<int64_t>(65536, count - first));
    });
  }

  Instruction call;
  CallId kind = CallId::Conv2D;
  uint32_t xIndex = 0, filterIndex = 1, yIndex = 2;
  DataType operands = DataType::F32;
  bool hasBias = false, samePacking = true;
  ConvCall attributes;
  Epilogue epilogue = Epilogue::None;
  int64_t images = 0, chunk = 1, chunks = 1, threads = 1;
  std::unique_ptr<ChunkConv> whole, last;
  Primitive pack, lastPack;
  std::vector<float> packedFilter, lastPackedFilter, biasRow, emptyRow;
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeConv(const Instruction &instruction,
                                        int64_t maxThreads, bool fastBF16,
                                        std::string &error) {
  auto call = std::make_unique<Conv>();
  call->init(instruction, fastBF16);
  if (!call->prepare(maxThreads, error))
    return nullptr;
  return call;
}
