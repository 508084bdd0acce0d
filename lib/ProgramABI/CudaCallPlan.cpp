//===- CudaCallPlan.cpp - Calls that a GPU does in several parts -*- C++
//-*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/CudaCallPlan.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <numeric>

using namespace mpt::rt;

/// Bytes of a chunk's matrix: it is written and read once each, and stays in
/// the second-level cache of the GPUs in question (40 to 126 MB) in between.
static constexpr int64_t kColumnBytes = 24 << 20;

static int64_t alignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

CudaConv mpt::rt::planCudaConv(const Instruction &call) {
  std::optional<ConvCall> made = getConv(call);
  if (!made)
    return CudaConv();
  const ConvCall &attributes = *made;
  bool isInputGrad = attributes.kind == CallId::Conv2DInputGrad;
  bool isFilterGrad = attributes.kind == CallId::Conv2DFilterGrad;
  const BufferRef &out = call.refs[call.numInputs], &x = call.refs[attributes.x],
                  &filter = call.refs[attributes.filter], &y = call.refs[attributes.y];
  const std::array<int64_t, 4> sizes = attributes.getFilterSizes(filter.dims);
  CudaConv conv;
  conv.images = x.dims[0];
  conv.height = x.dims[1];
  conv.width = x.dims[2];
  conv.channels = x.dims[3];
  conv.filterHeight = sizes[0];
  conv.filterWidth = sizes[1];
  conv.outHeight = y.dims[1];
  conv.outWidth = y.dims[2];
  conv.outChannels = y.dims[3];
  conv.strideH = attributes.strides[0];
  conv.strideW = attributes.strides[1];
  conv.padH = attributes.padding[0];
  conv.padW = attributes.padding[2];
  conv.dilationH = attributes.dilations[0];
  conv.dilationW = attributes.dilations[1];
  conv.groups = attributes.groups;
  conv.hasBias = attributes.hasBias;
  conv.epilogue = attributes.epilogue;
  conv.x = x.type;
  conv.filter = filter.type;
  conv.y = y.type;
  conv.chunkRows = conv.rows();
  if (conv.groups != 1 || out.count() == 0 || conv.rows() == 0)
    return conv;
  bool hasPadding = attributes.padding != std::array<int64_t, 4>{};
  if (conv.filterHeight == 1 && conv.filterWidth == 1 && conv.strideH == 1 &&
      conv.strideW == 1 && !hasPadding) {
    conv.kind = CudaConv::Kind::Matmul;
    return conv;
  }
  conv.kind = CudaConv::Kind::Columns;
  // Rows of an input's gradient overlap: they are added in f32.
  int64_t width = isInputGrad ? 4 : getSize(conv.x);
  int64_t image = conv.outHeight * conv.outWidth;
  int64_t unit = isInputGrad ? image : 1;
  // Chunks of the output's buffer start at multiples of 64 bytes.
  int64_t bytes = unit * conv.outChannels * getSize(conv.y);
  unit *= 64 / std::gcd<int64_t>(bytes, 64);
  int64_t row = std::max<int64_t>(conv.depth() * width, 1);
  conv.chunkRows = std::max(kColumnBytes / row / unit, int64_t(1)) * unit;
  conv.chunkRows = std::min(conv.chunkRows, conv.rows());
  conv.chunks = (conv.rows() + conv.chunkRows - 1) / conv.chunkRows;
  conv.columnBytes = alignUp(conv.chunkRows * row);
  if (isFilterGrad && conv.chunks > 1 && conv.filter != DataType::F32)
    conv.sumBytes = alignUp(filter.count() * 4);
  return conv;
}

Instruction mpt::rt::getConvMatmul(const Instruction &call, const CudaConv &conv,
                                   int64_t chunk) {
  int64_t rows = conv.chunkEnd(chunk) - conv.chunkBegin(chunk);
  int64_t depth = conv.depth();
  auto ref = [](DataType type, std::vector<int64_t> dims) {
    BufferRef made;
    made.type = type;
    made.dims = std::move(dims);
    return made;
  };
  bool isColumns = conv.kind == CudaConv::Kind::Columns;
  Instruction instruction;
  MatmulCall matmul;
  instruction.location = call.location;
  BufferRef filter = ref(conv.filter, {depth, conv.outChannels});
  BufferRef y = ref(conv.y, {rows, conv.outChannels});
  BufferRef x = ref(conv.x, {rows, depth});
  if (call.getCall<Conv2DInputGradCall>()) {
    if (isColumns)
      x.type = DataType::F32;
    instruction.refs = {y, filter, x};
    matmul.transposeRhs = true;
  } else if (call.getCall<Conv2DFilterGradCall>()) {
    if (conv.chunks > 1)
      filter.type = DataType::F32;
    instruction.refs = {x, y, filter};
    matmul.transposeLhs = true;
    matmul.accumulate = chunk > 0;
  } else {
    instruction.refs = {x, filter};
    if (conv.hasBias)
      instruction.refs.push_back(call.refs[2]);
    instruction.refs.push_back(y);
    matmul.hasBias = conv.hasBias;
    matmul.epilogue = conv.epilogue;
  }
  instruction.call = matmul;
  instruction.numInputs = matmul.numInputs();
  instruction.numOutputs = matmul.numOutputs();
  return instruction;
}

int64_t mpt::rt::getCudaWorkspace(const Instruction &call) {
  // A number per row of the query, two beside a bias.
  if (const auto *grad = call.getCall<AttentionGradCall>())
    return (4 * (grad->hasBias ? 2 : 1) * call.refs[5].count() + 63) / 64 * 64;
  if (!getConv(call))
    return 0;
  CudaConv conv = planCudaConv(call);
  return conv.columnBytes + conv.sumBytes;
}
