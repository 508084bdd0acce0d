//===- TestHelpers.h - Calls on small tensors -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs one library call as a program would: workspace of exactly the planned
/// size, and bytes around every buffer that must not change. Results are held
/// against sums in double, with the bound gamma_n = n u / (1 - n u) on sums of n
/// terms in f32 in any order (Higham, Accuracy and Stability, section 3.1).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_RUNTIME_TESTHELPERS_H
#define MPT_UNITTESTS_RUNTIME_TESTHELPERS_H

#include "Call.h"
#include "Convert.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

namespace mpt::rt {

inline double gammaOf(double n) {
  double nu = n * std::ldexp(1.0, -24);
  return nu / (1 - nu);
}

/// The largest error of rounding a number near `value` to `type`.
inline double roundingError(DataType type, double value) {
  int digits = 24, least = -149;
  switch (type) {
  case DataType::F16:
    digits = 11, least = -24;
    break;
  case DataType::BF16:
    digits = 8, least = -133;
    break;
  case DataType::F8E4M3FN:
    digits = 4, least = -9;
    break;
  case DataType::F8E5M2:
    digits = 3, least = -16;
    break;
  default:
    break;
  }
  return std::max(std::ldexp(std::fabs(value), -digits), std::ldexp(0.5, least));
}

/// A packed tensor with 64 bytes on both sides that belong to nobody.
class Tensor {
public:
  Tensor(DataType type, std::vector<int64_t> dims) {
    ref.type = type;
    ref.dims = std::move(dims);
    storage.assign(ref.bytes() + 192, guard);
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    shift = (address + 127) / 64 * 64 - address;
  }
  Tensor(const Tensor &) = delete;
  Tensor(Tensor &&) = default;

  void *data() { return storage.data() + shift; }
  const void *data() const { return storage.data() + shift; }
  int64_t count() const { return ref.count(); }
  double operator[](int64_t i) const {
    switch (ref.type) {
    case DataType::F64:
      return static_cast<const double *>(data())[i];
    case DataType::I64:
      return static_cast<double>(static_cast<const int64_t *>(data())[i]);
    case DataType::I32:
      return static_cast<const int32_t *>(data())[i];
    case DataType::I16:
      return static_cast<const int16_t *>(data())[i];
    case DataType::I8:
    case DataType::I1:
      return static_cast<const int8_t *>(data())[i];
    default:
      return toF32(ref.type, data(), i);
    }
  }
  void set(int64_t i, double value) {
    switch (ref.type) {
    case DataType::F64:
      static_cast<double *>(data())[i] = value;
      return;
    case DataType::I64:
      static_cast<int64_t *>(data())[i] = static_cast<int64_t>(value);
      return;
    case DataType::I32:
      static_cast<int32_t *>(data())[i] = static_cast<int32_t>(value);
      return;
    case DataType::I8:
    case DataType::I1:
      static_cast<int8_t *>(data())[i] = static_cast<int8_t>(value);
      return;
    default:
      fromF32(ref.type, data(), i, static_cast<float>(value));
    }
  }
  bool isIntact() const {
    for (size_t i = 0; i < storage.size(); ++i)
      if ((i < shift || i >= shift + ref.bytes()) && storage[i] != guard)
        return false;
    return true;
  }
  std::vector<char> bytes() const {
    return {storage.begin() + shift, storage.begin() + shift + ref.bytes()};
  }

  BufferRef ref;

private:
  static constexpr char guard = 0x5c;
  std::vector<char> storage;
  size_t shift;
};

/// Uniform in [low, high), rounded to the type.
inline Tensor randomTensor(DataType type, std::vector<int64_t> dims, unsigned seed,
                           double low = -1, double high = 1) {
  Tensor tensor(type, std::move(dims));
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> value(low, high);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, value(rng));
  return tensor;
}

/// `tensor` rounded to `type`.
inline Tensor castTensor(const Tensor &tensor, DataType type) {
  Tensor result(type, tensor.ref.dims);
  for (int64_t i = 0; i < tensor.count(); ++i)
    result.set(i, tensor[i]);
  return result;
}

/// Numbers of f32 that f16 or bf16 rounds up, down, to even, to a subnormal number, to
/// zero or to an infinity, in the first of `tensor`'s elements.
inline void setRoundedNumbers(Tensor &tensor) {
  const double numbers[] = {
      1.00390625, 1.01171875, 1.00048828125, 1.00146484375,         -0.3,
      6.0e-8,     2.9e-8,     1.0e-5,        std::ldexp(1.0, -130), std::ldexp(1.0, -140),
      65519.0,    70000.0};
  int64_t i = 0;
  for (double number : numbers)
    if (i < tensor.count())
      tensor.set(i++, number);
}

inline Instruction makeInstruction(const std::optional<LibraryCall> &call,
                                   const std::vector<BufferRef> &inputs,
                                   const BufferRef &output) {
  Instruction instruction;
  instruction.call = call;
  instruction.numInputs = inputs.size();
  instruction.numOutputs = 1;
  instruction.refs = inputs;
  instruction.refs.push_back(output);
  return instruction;
}

inline MatmulCall matmul(bool transposeLhs = false, bool transposeRhs = false,
                         bool hasBias = false, Epilogue epilogue = Epilogue::None) {
  MatmulCall call;
  call.transposeLhs = transposeLhs;
  call.transposeRhs = transposeRhs;
  call.hasBias = hasBias;
  call.epilogue = epilogue;
  return call;
}

/// A convolution, or one of its gradients, without a bias.
inline LibraryCall convolution(CallId id, std::array<int64_t, 2> strides,
                               std::array<int64_t, 4> padding,
                               std::array<int64_t, 2> dilations = {1, 1},
                               int64_t groups = 1, bool isOIHW = false) {
  LibraryCall call = *createCall(static_cast<uint32_t>(id));
  auto set = [&](auto &conv) {
    conv.strides = strides;
    conv.padding = padding;
    conv.dilations = dilations;
    conv.groups = groups;
    conv.oihw = isOIHW;
  };
  std::visit(Overloaded{[&](Conv2DCall &conv) { set(conv); },
                        [&](Conv2DInputGradCall &conv) { set(conv); },
                        [&](Conv2DFilterGradCall &conv) { set(conv); },
                        [&](auto &) { ADD_FAILURE() << "not a convolution"; }},
             call);
  return call;
}

/// A copy of `count` elements in their order.
inline CopyCall plainCopy(int64_t count) { return {{count}, 0, {1}, 0, {1}}; }

/// Adds the workspace that the planner would reserve.
inline void addScratch(Instruction &call, int64_t maxThreads) {
  int64_t bytes = getCallWorkspace(call, maxThreads);
  if (bytes == 0)
    return;
  call.hasScratch = true;
  BufferRef scratch;
  scratch.type = DataType::I8;
  scratch.dims = {bytes};
  call.refs.push_back(scratch);
}

/// Runs a call into `output` on 1, 2 and 3 threads, which must give the same
/// bits. With `byLibrary` it is a matmul that oneDNN carries out whatever its size.
/// Returns the error message.
inline std::string runCall(const LibraryCall &libraryCall,
                           const std::vector<const Tensor *> &inputs, Tensor &output,
                           bool fastBF16 = hasFastBF16(), bool byLibrary = false) {
  std::vector<BufferRef> refs;
  for (const Tensor *input : inputs)
    refs.push_back(input->ref);
  std::vector<char> first;
  for (int threads : {1, 2, 3}) {
    for (int maxThreads : {threads, 4}) {
      Instruction call = makeInstruction(libraryCall, refs, output.ref);
      addScratch(call, maxThreads);
      Tensor scratch(DataType::I8, {call.hasScratch ? call.refs.back().count() : 0});
      std::string error;
      std::unique_ptr<Call> made =
          byLibrary ? makeLibraryMatmul(call, maxThreads, fastBF16, error)
                    : makeCall(call, maxThreads, error, fastBF16);
      if (!made)
        return error;
      std::vector<void *> buffers;
      for (const Tensor *input : inputs)
        buffers.push_back(const_cast<void *>(input->data()));
      buffers.push_back(output.data());
      buffers.push_back(call.hasScratch ? scratch.data() : nullptr);
      std::memset(output.data(), 0x7f, output.ref.bytes());
      OneThread one;
      ThreadTeam team(threads);
      if (!made->run(buffers.data(), team, error))
        return error.empty() ? "failed without a message" : error;
      for (const Tensor *input : inputs)
        EXPECT_TRUE(input->isIntact());
      EXPECT_TRUE(output.isIntact());
      EXPECT_TRUE(scratch.isIntact());
      if (first.empty())
        first = output.bytes();
      EXPECT_TRUE(first == output.bytes())
          << threads << " of " << maxThreads << " threads";
    }
  }
  return "";
}

} // namespace mpt::rt

#endif // MPT_UNITTESTS_RUNTIME_TESTHELPERS_H
