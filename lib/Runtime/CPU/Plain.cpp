//===- Plain.cpp - Matmuls and convolutions without oneDNN ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What takes the place of Matmul.cpp, Conv.cpp and OneDnn.cpp in the runtime for small
/// devices: loops that compilers vectorize. Operands are widened to f32 in panels, sums
/// are f32 in an order that follows from shapes alone, and results are rounded once.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <new>

using namespace mpt::rt;

namespace {

/// target[j] += sum over i of factors[i * step] * rows[i * lead + j].
void addRows(float *__restrict target, const float *factors, int64_t step, int64_t count,
             const float *__restrict rows, int64_t lead, int64_t width) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const float a = factors[i * step], b = factors[(i + 1) * step],
                c = factors[(i + 2) * step], d = factors[(i + 3) * step];
    const float *__restrict first = rows + i * lead, *__restrict second = first + lead,
                            *__restrict third = second + lead,
                            *__restrict fourth = third + lead;
    for (int64_t j = 0; j < width; ++j)
      target[j] += a * first[j] + b * second[j] + c * third[j] + d * fourth[j];
  }
  for (; i < count; ++i) {
    const float a = factors[i * step];
    const float *__restrict row = rows + i * lead;
    for (int64_t j = 0; j < width; ++j)
      target[j] += a * row[j];
  }
}

/// A panel of floats for each thread.
class Panels {
public:
  bool allocate(int64_t floats, int64_t threads) {
    size = floats;
    memory.reset(new (std::nothrow) float[std::max<int64_t>(floats * threads, 1)]);
    return memory != nullptr;
  }
  float *get(int thread) const { return memory.get() + size * thread; }

private:
  std::unique_ptr<float[]> memory;
  int64_t size = 0;
};

class PlainMatmul : public Call {
public:
  bool init(const Instruction &instruction, int64_t threads) {
    getMatmulShape(instruction, s);
    storedLhs = instruction.refs[0].type;
    storedRhs = instruction.refs[1].type;
    const auto &call = *instruction.getCall<MatmulCall>();
    epilogue = call.epilogue;
    outIndex = instruction.numInputs;
    if (call.hasBias) {
      bias = instruction.refs[2];
      biasRow.resize(s.n);
    }
    hasBias = call.hasBias;
    // Sums, a block of the right side and one of the left.
    return panels.allocate(kRows * s.n + kDepth * s.n + kRows * kDepth, threads);
  }

  bool run(void **buffers, ThreadTeam &team, std::string &) override {
    if (hasBias)
      widen(bias.type, buffers[2], 0, biasRow.data(), s.n);
    const int64_t chunks = (s.m + kRows - 1) / kRows;
    parallelFor(s.batch * chunks, team, [&](int64_t task, int thread) {
      const int64_t first = task % chunks * kRows;
      runRows(buffers, task / chunks, first, std::min(kRows, s.m - first),
              panels.get(thread));
    });
    return true;
  }

private:
  static constexpr int64_t kRows = 64, kDepth = 64;

  /// Elements [row, + rows) x [column, + columns) of a stored matrix, row-major.
  static void copyBlock(DataType type, Rounding rounding, const void *source,
                        int64_t begin, int64_t lead, int64_t rows, int64_t columns,
                        float *target) {
    for (int64_t row = 0; row < rows; ++row)
      widen(type, rounding, source, begin + row * lead, target + row * columns, columns);
  }

  void runRows(void **buffers, int64_t matrix, int64_t first, int64_t rows, float *sums) {
    float *right = sums + kRows * s.n, *left = right + kDepth * s.n;
    const int64_t lhsAt = matrix * s.m * s.k,
                  rhsAt = (s.sharedRhs ? 0 : matrix) * s.k * s.n;
    std::fill(sums, sums + rows * s.n, 0.0f);
    for (int64_t k = 0; k < s.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, s.k - k);
      if (s.transposeRhs)
        for (int64_t column = 0; column < s.n; ++column) {
          // Through the left panel, which is not in use yet.
          widen(storedRhs, s.rounding, buffers[1], rhsAt + column * s.k + k, left, depth);
          for (int64_t i = 0; i < depth; ++i)
            right[i * s.n + column] = left[i];
        }
      else
        copyBlock(storedRhs, s.rounding, buffers[1], rhsAt + k * s.n, s.n, depth, s.n,
                  right);
      if (s.transposeLhs)
        copyBlock(storedLhs, s.lhsRounding, buffers[0], lhsAt + k * s.m + first, s.m,
                  depth, rows, left);
      else
        copyBlock(storedLhs, s.lhsRounding, buffers[0], lhsAt + first * s.k + k, s.k,
                  rows, depth, left);
      for (int64_t row = 0; row < rows; ++row)
        addRows(sums + row * s.n, left + (s.transposeLhs ? row : row * depth),
                s.transposeLhs ? rows : 1, depth, right, s.n, s.n);
    }
    for (int64_t row = 0; row < rows; ++row)
      finishRow(sums + row * s.n, hasBias ? biasRow.data() : nullptr, s.n, epilogue);
    narrow(s.out, sums, buffers[outIndex], (matrix * s.m + first) * s.n, rows * s.n);
  }

  MatmulShape s;
  DataType storedLhs = DataType::F32, storedRhs = DataType::F32;
  Epilogue epilogue = Epilogue::None;
  bool hasBias = false;
  BufferRef bias;
  std::vector<float> biasRow;
  uint32_t outIndex = 2;
  Panels panels;
};

/// A convolution or one of its gradients, NHWC by HWIO or OIHW.
class PlainConv : public Call {
public:
  bool init(const Instruction &instruction, int64_t threads) {
    call = instruction;
    conv = *getConv(instruction);
    const auto &xDims = ref(conv.x).dims, &yDims = ref(conv.y).dims;
    const std::array<int64_t, 4> sizes = conv.getFilterSizes(ref(conv.filter).dims);
    width = xDims[2], in = xDims[3], outWidth = yDims[2], out = yDims[3];
    kernel[0] = sizes[0], kernel[1] = sizes[1];
    groupIn = sizes[2], groupOut = out / conv.groups;
    if (conv.hasBias)
      biasRow.resize(out);
    if (conv.kind != CallId::Conv2DFilterGrad)
      filter.resize(ref(conv.filter).count());
    // A row of images, one of results, and four rows of a filter's gradient.
    return panels.allocate(width * in + outWidth * out + kGradRows * groupOut, threads);
  }

  bool run(void **buffers, ThreadTeam &team, std::string &) override {
    const int64_t images = ref(conv.x).dims[0], height = ref(conv.x).dims[1],
                  outHeight = ref(conv.y).dims[1];
    if (conv.hasBias)
      widen(call.refs[2].type, buffers[2], 0, biasRow.data(), out);
    if (conv.kind == CallId::Conv2D) {
      readFilter(buffers[conv.filter], /*isTransposed=*/false);
      parallelFor(images * outHeight, team, [&](int64_t task, int thread) {
        runForward(buffers, task / outHeight, task % outHeight, panels.get(thread));
      });
    } else if (conv.kind == CallId::Conv2DInputGrad) {
      readFilter(buffers[conv.filter], /*isTransposed=*/true);
      parallelFor(images * height, team, [&](int64_t task, int thread) {
        runInputGrad(buffers, task / height, task % height, panels.get(thread));
      });
    } else {
      const int64_t blocks = (groupIn + kGradRows - 1) / kGradRows;
      parallelFor(kernel[0] * kernel[1] * conv.groups * blocks, team,
                  [&](int64_t task, int thread) {
                    const int64_t block = task % blocks, group = task / blocks;
                    runFilterGrad(buffers, group / conv.groups / kernel[1],
                                  group / conv.groups % kernel[1], group % conv.groups,
                                  block * kGradRows, panels.get(thread));
                  });
    }
    return true;
  }

private:
  /// Rows of a filter's gradient that a task makes.
  static constexpr int64_t kGradRows = 4;

  const BufferRef &ref(uint32_t index) const { return call.refs[index]; }

  /// Where an element of the filter is stored.
  int64_t getFilterIndex(int64_t point, int64_t i, int64_t o) const {
    if (conv.isOIHW)
      return (o * groupIn + i) * kernel[0] * kernel[1] + point;
    return (point * groupIn + i) * out + o;
  }
  /// The filter in f32, [KH, KW, C / groups, O]; transposed: output channels before input
  /// channels.
  void readFilter(const void *source, bool isTransposed) {
    if (!isTransposed && !conv.isOIHW)
      return widen(ref(conv.filter).type, conv.rounding, source, 0, filter.data(),
                   filter.size());
    stored.resize(filter.size());
    widen(ref(conv.filter).type, conv.rounding, source, 0, stored.data(), stored.size());
    for (int64_t point = 0; point < kernel[0] * kernel[1]; ++point) {
      float *begin = filter.data() + point * groupIn * out;
      for (int64_t i = 0; i < groupIn; ++i)
        for (int64_t o = 0; o < out; ++o)
          begin[isTransposed ? o * groupIn + i : i * out + o] =
              stored[getFilterIndex(point, i, o)];
    }
  }
  /// The row or column of the image that a result and a point of the filter read.
  int64_t positionOf(int dim, int64_t result, int64_t point) const {
    return result * conv.strides[dim] + point * conv.dilations[dim] -
           conv.padding[2 * dim];
  }
  void readRow(uint32_t index, const void *source, int64_t image, int64_t row,
               float *target) const {
    const auto &dims = ref(index).dims;
    const int64_t count = dims[2] * dims[3];
    widen(ref(index).type, index == conv.x ? conv.xRounding : Rounding::None, source,
          (image * dims[1] + row) * count, target, count);
  }

  void runForward(void **buffers, int64_t image, int64_t row, float *source) {
    float *sums = source + width * in;
    std::fill(sums, sums + outWidth * out, 0.0f);
    for (int64_t ky = 0; ky < kernel[0]; ++ky) {
      const int64_t y = positionOf(0, row, ky);
      if (y < 0 || y >= ref(conv.x).dims[1])
        continue;
      readRow(conv.x, buffers[conv.x], image, y, source);
      for (int64_t kx = 0; kx < kernel[1]; ++kx) {
        const float *weights = filter.data() + (ky * kernel[1] + kx) * groupIn * out;
        for (int64_t column = 0; column < outWidth; ++column) {
          const int64_t x = positionOf(1, column, kx);
          if (x < 0 || x >= width)
            continue;
          for (int64_t group = 0; group < conv.groups; ++group)
            addRows(sums + column * out + group * groupOut,
                    source + x * in + group * groupIn, 1, groupIn,
                    weights + group * groupOut, out, groupOut);
        }
      }
    }
    for (int64_t column = 0; column < outWidth; ++column)
      finishRow(sums + column * out, conv.hasBias ? biasRow.data() : nullptr, out,
                conv.epilogue);
    narrow(ref(conv.y).type, sums, buffers[conv.y],
           (image * ref(conv.y).dims[1] + row) * outWidth * out, outWidth * out);
  }

  void runInputGrad(void **buffers, int64_t image, int64_t row, float *sums) {
    float *source = sums + width * in;
    std::fill(sums, sums + width * in, 0.0f);
    for (int64_t ky = 0; ky < kernel[0]; ++ky) {
      // The result's row that reads this one.
      const int64_t scaled = row + conv.padding[0] - ky * conv.dilations[0];
      const int64_t y = scaled / conv.strides[0];
      if (scaled < 0 || scaled % conv.strides[0] || y >= ref(conv.y).dims[1])
        continue;
      readRow(conv.y, buffers[conv.y], image, y, source);
      for (int64_t kx = 0; kx < kernel[1]; ++kx) {
        const float *weights = filter.data() + (ky * kernel[1] + kx) * groupIn * out;
        for (int64_t column = 0; column < outWidth; ++column) {
          const int64_t x = positionOf(1, column, kx);
          if (x < 0 || x >= width)
            continue;
          for (int64_t group = 0; group < conv.groups; ++group)
            addRows(sums + x * in + group * groupIn,
                    source + column * out + group * groupOut, 1, groupOut,
                    weights + group * groupOut * groupIn, groupIn, groupIn);
        }
      }
    }
    narrow(ref(conv.x).type, sums, buffers[conv.x],
           (image * ref(conv.x).dims[1] + row) * width * in, width * in);
  }

  void runFilterGrad(void **buffers, int64_t ky, int64_t kx, int64_t group, int64_t first,
                     float *source) {
    float *gradient = source + width * in, *sums = gradient + outWidth * out;
    const int64_t rows = std::min(kGradRows, groupIn - first);
    std::fill(sums, sums + rows * groupOut, 0.0f);
    const auto &xDims = ref(conv.x).dims, &yDims = ref(conv.y).dims;
    for (int64_t image = 0; image < xDims[0]; ++image)
      for (int64_t row = 0; row < yDims[1]; ++row) {
        const int64_t y = positionOf(0, row, ky);
        if (y < 0 || y >= xDims[1])
          continue;
        readRow(conv.x, buffers[conv.x], image, y, source);
        readRow(conv.y, buffers[conv.y], image, row, gradient);
        // Columns whose window's point is in the image follow each other.
        int64_t begin = 0, end = outWidth;
        while (begin < end && positionOf(1, begin, kx) < 0)
          ++begin;
        while (begin < end && positionOf(1, end - 1, kx) >= width)
          --end;
        if (begin == end)
          continue;
        const float *points = source + positionOf(1, begin, kx) * in + group * groupIn;
        for (int64_t i = 0; i < rows; ++i)
          addRows(sums + i * groupOut, points + first + i, conv.strides[1] * in,
                  end - begin, gradient + begin * out + group * groupOut, out, groupOut);
      }
    const int64_t run = conv.isOIHW ? 1 : groupOut;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t o = 0; o < groupOut; o += run)
        narrow(ref(conv.filter).type, sums + i * groupOut + o, buffers[conv.filter],
               getFilterIndex(ky * kernel[1] + kx, first + i, group * groupOut + o), run);
  }

  Instruction call;
  ConvCall conv;
  /// Sizes of the image's and the result's rows, of the filter, and of a group.
  int64_t width = 0, in = 0, outWidth = 0, out = 0, kernel[2] = {0, 0}, groupIn = 0,
          groupOut = 0;
  std::vector<float> filter, stored, biasRow;
  Panels panels;
};

template <typename T>
std::unique_ptr<Call> make(const Instruction &instruction, int64_t threads,
                           std::string &error) {
  auto call = std::make_unique<T>();
  if (call->init(instruction, threads))
    return call;
  error = "no memory for the panels of a call";
  return nullptr;
}

} // namespace

bool mpt::rt::hasFastBF16() { return false; }

std::unique_ptr<Call> mpt::rt::makeMatmul(const Instruction &instruction, int64_t threads,
                                          bool, std::string &error) {
  return make<PlainMatmul>(instruction, threads, error);
}

std::unique_ptr<Call> mpt::rt::makeConv(const Instruction &instruction, int64_t threads,
                                        bool, std::string &error) {
  return make<PlainConv>(instruction, threads, error);
}

// No library here spreads over threads by itself.
extern "C" {
int omp_get_max_threads(void) { return 1; }
void omp_set_num_threads(int) {}
}
