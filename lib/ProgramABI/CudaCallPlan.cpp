//===- CudaCallPlan.cpp - Calls that a GPU does in several parts -*- C++
//-*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/CudaCallPlan.h"

#include <algorithm>
#include <numeric>

using namespace mpt::rt;

/// Bytes of a chunk's matrix: it is written and read once each, and stays in
/// the second-level cache of the GPUs in question (40 to 126 MB) in between.
static constexpr int64_t kColumnBytes = 24 << 20;

static int64_t alignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

CudaConv mpt::rt::planCudaConv(const Instruction &call) {
  auto id = static_cast<CallId>(call.target);
  bool isInputGrad = id == CallId::Conv2DInputGrad;
  bool isFilterGrad = id == CallId::Conv2DFilterGrad;
  const BufferRef &out = call.refs[call.numInputs];
  const BufferRef &x = isInputGrad ? out : call.refs[0];
  const BufferRef &filter = isFilterGrad ? out : call.refs[1];
  const BufferRef &y = isInputGrad    ? call.refs[0]
                       : isFilterGrad ? call.refs[1]
                                      : out;
  CudaConv conv;
  conv.images = x.dims[0];
  conv.height = x.dims[1];
  conv.width = x.dims[2];
  conv.channels = x.dims[3];
  conv.filterHeight = filter.dims[0];
  conv.filterWidth = filter.dims[1];
  conv.outHeight = y.dims[1];
  conv.outWidth = y.dims[2];
  conv.outChannels = y.dims[3];
  conv.strideH = call.ints[0];
  conv.strideW = call.ints[1];
  conv.padH = call.ints[2];
  conv.padW = call.ints[4];
  conv.dilationH = call.ints[6];
  conv.dilationW = call.ints[7];
  conv.groups = call.ints[8];
  conv.hasBias = call.ints[9];
  conv.epilogue = call.ints[10];
  conv.x = x.type;
  conv.filter = filter.type;
  conv.y = y.type;
  conv.chunkRows = conv.rows();
  if (conv.groups != 1 || out.count() == 0 || conv.rows() == 0)
    return conv;
  bool hasPadding =
      call.ints[2] || call.ints[3] || call.ints[4] || call.ints[5];
  if (conv.filterHeight == 1 && conv.filterWidth == 1 && conv.strideH == 1 &&
      conv.strideW == 1 && !hasPadding) {
    conv.kind = CudaConv::Kind::Product;
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

Instruction mpt::rt::getConvProduct(const Instruction &call,
                                    const CudaConv &conv, int64_t chunk) {
  auto id = static_cast<CallId>(call.target);
  int64_t rows = conv.chunkEnd(chunk) - conv.chunkBegin(chunk);
  int64_t depth = conv.depth();
  auto ref = [](DataType type, std::vector<int64_t> dims) {
    BufferRef made;
    made.type = type;
    made.dims = std::move(dims);
    return made;
  };
  bool isColumns = conv.kind == CudaConv::Kind::Columns;
  Instruction product;
  product.isCall = true;
  product.target = static_cast<uint32_t>(CallId::Matmul);
  product.numInputs = 2;
  product.numOutputs = 1;
  product.location = call.location;
  BufferRef filter = ref(conv.filter, {depth, conv.outChannels});
  BufferRef y = ref(conv.y, {rows, conv.outChannels});
  BufferRef x = ref(conv.x, {rows, depth});
  switch (id) {
  case CallId::Conv2DInputGrad:
    if (isColumns)
      x.type = DataType::F32;
    product.refs = {y, filter, x};
    product.ints = {0, 1, 0, 0};
    break;
  case CallId::Conv2DFilterGrad:
    if (conv.chunks > 1)
      filter.type = DataType::F32;
    product.refs = {x, y, filter};
    product.ints = {1, 0, 0, 0};
    if (chunk > 0)
      product.ints.insert(product.ints.end(), {1, 0, 0});
    break;
  default:
    product.refs = {x, filter};
    if (conv.hasBias) {
      product.refs.push_back(call.refs[2]);
      product.numInputs = 3;
    }
    product.refs.push_back(y);
    product.ints = {0, 0, conv.hasBias, conv.epilogue};
    break;
  }
  return product;
}

int64_t mpt::rt::getCudaWorkspace(const Instruction &call) {
  switch (static_cast<CallId>(call.target)) {
  case CallId::Conv2D:
  case CallId::Conv2DInputGrad:
  case CallId::Conv2DFilterGrad: {
    CudaConv conv = planCudaConv(call);
    return conv.columnBytes + conv.sumBytes;
  }
  default:
    return 0;
  }
}
