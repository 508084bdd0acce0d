//===- StandInConvolve.cpp - Convolutions in plain loops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/CPU/Convert.h"
#include "StandInDnn.h"

using namespace mpt::standin;

namespace {

/// The 10 bits of mantissa that TF32 has.
float cutToTF32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= 0xffffe000u;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// A tensor in f32, by rows of its second dimension, as [first, third, fourth, second].
struct Wide {
  explicit Wide(const CudnnTensorState &tensor) : tensor(tensor) {
    int64_t count = 1;
    for (int64_t dim : tensor.dims)
      count *= dim;
    values.resize(count);
  }
  /// `each` gets every value and its place in memory.
  template <typename Each>
  void walk(Each each) {
    const auto &d = tensor.dims, &s = tensor.strides;
    int64_t i = 0;
    for (int64_t a = 0; a < d[0]; ++a)
      for (int64_t h = 0; h < d[2]; ++h)
        for (int64_t w = 0; w < d[3]; ++w)
          for (int64_t c = 0; c < d[1]; ++c)
            each(values[i++], a * s[0] + c * s[1] + h * s[2] + w * s[3]);
  }
  void read(const void *data, bool cuts) {
    walk([&](float &value, int64_t at) {
      value = toF32(tensor.type, data, at);
      if (cuts && tensor.type == DataType::F32)
        value = cutToTF32(value);
    });
  }
  void write(void *data) {
    walk([&](float &value, int64_t at) { fromF32(tensor.type, data, at, value); });
  }
  float *row(int64_t a, int64_t h, int64_t w) {
    const auto &d = tensor.dims;
    return &values[((a * d[2] + h) * d[3] + w) * d[1]];
  }

  const CudnnTensorState &tensor;
  std::vector<float> values;
};

} // namespace

void mpt::standin::convolve(const CudnnOperation &op, bool cuts, void *xData, void *wData,
                            void *yData) {
  bool isData = op.kind == CudnnKind::ConvolutionBackwardData;
  bool isFilter = op.kind == CudnnKind::ConvolutionBackwardFilter;
  Wide x(op.x), w(op.w), y(op.y);
  if (!isData)
    x.read(xData, cuts);
  if (!isFilter)
    w.read(wData, cuts);
  if (isData || isFilter)
    y.read(yData, cuts);
  const auto &xd = op.x.dims, &wd = op.w.dims, &yd = op.y.dims;
  int64_t depth = wd[1], perGroup = wd[0] / (xd[1] / depth);
  for (int64_t n = 0; n < yd[0]; ++n)
    for (int64_t p = 0; p < yd[2]; ++p)
      for (int64_t q = 0; q < yd[3]; ++q)
        for (int64_t r = 0; r < wd[2]; ++r)
          for (int64_t s = 0; s < wd[3]; ++s) {
            int64_t h = p * op.strides[0] - op.padBefore[0] + r * op.dilations[0];
            int64_t v = q * op.strides[1] - op.padBefore[1] + s * op.dilations[1];
            if (h < 0 || h >= xd[2] || v < 0 || v >= xd[3])
              continue;
            float *xRow = x.row(n, h, v), *yRow = y.row(n, p, q);
            for (int64_t k = 0; k < wd[0]; ++k) {
              float *in = xRow + k / perGroup * depth, *taps = w.row(k, r, s);
              float &out = yRow[k];
              if (isData)
                for (int64_t c = 0; c < depth; ++c)
                  in[c] += out * taps[c];
              else if (isFilter)
                for (int64_t c = 0; c < depth; ++c)
                  taps[c] += out * in[c];
              else
                for (int64_t c = 0; c < depth; ++c)
                  out += in[c] * taps[c];
            }
          }
  if (isData)
    x.write(xData);
  else if (isFilter)
    w.write(wData);
  else
    y.write(yData);
}
