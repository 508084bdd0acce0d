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

  const char *run() const;

private:
  bool has(uint32_t inputs, size_t ints, size_t floats = 0) const {
    return call.numInputs == inputs && call.ints.size() == ints &&
           call.floats.size() == floats;
  }
  const BufferRef &in(size_t index) const { return call.refs[index]; }
  const BufferRef &out() const { return call.refs[call.numInputs]; }
  const std::vector<int64_t> &dims(size_t index) const { return in(index).dims; }

  /// ints [first, first + count) are small and at least `least`.
  bool areSmall(size_t first, size_t count, int64_t least) const {
    return std::all_of(call.ints.begin() + first, call.ints.begin() + first + count,
                       [&](int64_t value) { return isSmall(value) && value >= least; });
  }

  const char *checkMatmul() const;
  const char *checkGpuEpilogue() const;
  const char *checkConv() const;
  const char *checkPool() const;
  const char *checkGather() const;
  const char *checkScatterAdd() const;
  const char *checkCopy() const;
  const char *checkReduce() const;
  const char *checkArgmax() const;
  const char *checkRandomMask() const;
  const char *checkRandomBits() const;
  /// A seed and an attempt come first.
  bool hasRandomState() const {
    return in(0).type == DataType::I64 && in(1).type == DataType::I64 &&
           in(0).count() == 1 && in(1).count() == 1;
  }
  const char *checkIndexCheck() const;

  const Instruction &call;
};

const char *wrongNumber = "it has a wrong number of buffers or attributes";

const char *Check::checkGpuEpilogue() const {
  auto epilogue = static_cast<GemmEpilogue>(call.ints[6]);
  bool readsBias = usesBias(epilogue) && !writesBias(epilogue);
  bool readsAux = usesAux(epilogue) && !writesAux(epilogue);
  bool hasAddend = call.ints[4] == 2;
  if (call.numInputs != 2u + readsBias + readsAux + hasAddend ||
      call.numOutputs != 1u + writesAux(epilogue) + writesBias(epilogue) ||
      (call.ints[2] != 0) != readsBias)
    return wrongNumber;
  if (out().dims.size() != 2 || dims(0).size() != 2 || dims(1).size() != 2)
    return "an epilogue that saves or reads something is for one product, not for a batch";
  int64_t rows = out().dims[0], columns = out().dims[1];
  if (hasAddend && (readsBias || readsAux || in(2).type != out().type ||
                    in(2).dims != out().dims))
    return "what is added to a product is not like its result";
  if (usesAux(epilogue)) {
    const BufferRef &aux = readsAux ? in(2) : call.refs[call.numInputs + 1];
    int64_t width = hasBits(epilogue) ? (columns + 127) / 128 * 16 : columns;
    if (aux.type != (hasBits(epilogue) ? DataType::I8 : out().type) ||
        aux.dims.size() != 2 || aux.dims[0] != rows || aux.dims[1] != width)
      return "what an activation saves does not fit its product";
  }
  if (usesBias(epilogue) &&
      (readsBias ? in(2) : call.refs[call.numInputs + 1]).count() != columns)
    return "a bias does not fit its product";
  return nullptr;
}

const char *Check::checkMatmul() const {
  bool isGpuEpilogue = call.ints.size() == 7 && call.ints[6] != 0;
  if (isGpuEpilogue)
    if (const char *why = checkGpuEpilogue())
      return why;
  if (call.numInputs < 2 || call.numInputs > 3 ||
      (call.ints.size() != 4 && call.ints.size() != 7))
    return wrongNumber;
  if (!isGpuEpilogue && call.numOutputs != 1)
    return wrongNumber;
  for (uint32_t i = 0; i <= call.numInputs; ++i)
    if (!(isGpuEpilogue && i == 2) &&
        (!isFloat(call.refs[i]) || call.refs[i].type == DataType::F64))
      return "products of this element type are not supported; use f32, bf16 or f16";
  MatmulShape shape;
  return getMatmulShape(call, shape) ? nullptr
                                     : "the operands of a product do not fit together";
}

const char *Check::checkConv() const {
  bool isForward = static_cast<CallId>(call.target) == CallId::Conv2D;
  if (call.numInputs < 2 || call.numInputs > (isForward ? 3 : 2) ||
      (call.ints.size() != 11 && !isDnnCall(call)))
    return wrongNumber;
  for (uint32_t i = 0; i <= call.numInputs; ++i)
    if (!isFloat(call.refs[i]) || call.refs[i].type == DataType::F64)
      return "convolutions of this element type are not supported; use f32, bf16 or f16";
  const char *misfit = "the operands of a convolution do not fit together";
  bool isInputGrad = static_cast<CallId>(call.target) == CallId::Conv2DInputGrad;
  bool isFilterGrad = static_cast<CallId>(call.target) == CallId::Conv2DFilterGrad;
  const auto &x = isInputGrad ? out().dims : dims(0);
  const auto &filter = isFilterGrad ? out().dims : dims(1);
  const auto &y = isForward ? out().dims : isInputGrad ? dims(0) : dims(1);
  if (x.size() != 4 || filter.size() != 4 || y.size() != 4)
    return misfit;
  if (!areSmall(0, 2, 1) || !areSmall(2, 4, 0) || !areSmall(6, 3, 1))
    return "a stride, a padding, a dilation or the groups are out of range";
  for (const auto *shape : {&x, &filter, &y})
    if (!std::all_of(shape->begin(), shape->end(), isSmall))
      return misfit;
  int64_t groups = call.ints[8];
  bool fits = x[0] == y[0] && x[3] == filter[2] * groups && y[3] == filter[3] &&
              filter[3] % groups == 0;
  for (int i : {0, 1}) {
    int64_t reach = (filter[i] - 1) * call.ints[6 + i] + 1;
    int64_t free = x[1 + i] + call.ints[2 + 2 * i] + call.ints[3 + 2 * i] - reach;
    fits = fits && filter[i] > 0 && free >= 0 && y[1 + i] == free / call.ints[i] + 1;
  }
  bool hasBias = isForward && call.ints[9];
  fits = fits && hasBias == (call.numInputs == 3) &&
         (!hasBias || in(2).count() == filter[3]);
  return fits ? nullptr : misfit;
}

const char *Check::checkPool() const {
  auto id = static_cast<CallId>(call.target);
  bool isGrad = id == CallId::MaxPoolGrad || id == CallId::AvgPoolGrad;
  if (!has(id == CallId::MaxPoolGrad ? 2 : 1, 9))
    return wrongNumber;
  const auto &x = isGrad ? out().dims : dims(0);
  const auto &y = isGrad ? dims(0) : out().dims;
  for (uint32_t i = 0; i <= call.numInputs; ++i)
    if (!isFloat(call.refs[i]) || call.refs[i].dims.size() != 4 ||
        !std::all_of(call.refs[i].dims.begin(), call.refs[i].dims.end(), isSmall))
      return "pooling needs floats of rank 4";
  if (!areSmall(0, 4, 1) || !areSmall(4, 4, 0))
    return "a window, a stride or a padding is out of range";
  if (x[0] != y[0] || x[3] != y[3] || (id == CallId::MaxPoolGrad && dims(1) != x))
    return "the operands of a pooling do not fit together";
  return nullptr;
}

const char *Check::checkGather() const {
  if (!has(2, 0))
    return wrongNumber;
  if (!isIndex(in(1)) || in(0).type != out().type || dims(0).empty() ||
      dims(0)[0] <= 0 ||
      out().count() != in(1).count() * (in(0).count() / dims(0)[0]))
    return "the operands of a gather do not fit together";
  return nullptr;
}

const char *Check::checkScatterAdd() const {
  if (!has(2, 0))
    return wrongNumber;
  if (!isIndex(in(0)) || !isFloat(in(1)) || !isFloat(out()) ||
      in(1).type == DataType::F64 || out().type == DataType::F64 ||
      out().dims.empty() ||
      in(1).count() !=
          in(0).count() * (out().count() / std::max<int64_t>(out().dims[0], 1)))
    return "the operands of a scatter_add do not fit together";
  return nullptr;
}

const char *Check::checkCopy() const {
  if (call.numInputs != 1 || call.ints.empty() || call.ints[0] < 0 ||
      call.ints[0] > 64 ||
      call.ints.size() != static_cast<size_t>(3 * call.ints[0] + 3) ||
      in(0).type != out().type)
    return wrongNumber;
  const int64_t *sizes = &call.ints[1];
  int64_t rank = call.ints[0];
  for (int64_t d = 0; d < rank; ++d)
    if (sizes[d] < 0)
      return "a copied size is negative";
  if (std::find(sizes, sizes + rank, 0) != sizes + rank)
    return nullptr;
  // Both sides' farthest elements lie inside their buffers.
  for (int side : {0, 1}) {
    const int64_t *offset = sizes + rank + side * (rank + 1);
    int64_t low = *offset, high = *offset;
    bool fits = true;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t reach, &end = offset[1 + d] < 0 ? low : high;
      fits = fits && !__builtin_mul_overflow(sizes[d] - 1, offset[1 + d], &reach) &&
             !__builtin_add_overflow(end, reach, &end);
    }
    if (!fits || low < 0 || high >= call.refs[side].count())
      return "a copy reaches outside its buffers";
  }
  return nullptr;
}

const char *Check::checkReduce() const {
  if (call.numInputs != 1 || call.ints.empty())
    return wrongNumber;
  if (call.ints[0] < 0 || call.ints[0] > 4 || isFloat(in(0)) != isFloat(out()))
    return "a reduction has an unknown kind or mixes floats and integers";
  int64_t kept = 1, rank = static_cast<int64_t>(dims(0).size());
  for (auto axis = call.ints.begin() + 1; axis != call.ints.end(); ++axis)
    if (*axis < 0 || *axis >= rank)
      return "a reduced axis does not exist";
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(call.ints.begin() + 1, call.ints.end(), d) == call.ints.end())
      kept *= dims(0)[d];
  return out().count() == kept ? nullptr
                               : "the operands of a reduction do not fit together";
}

const char *Check::checkArgmax() const {
  if (!has(1, 0))
    return wrongNumber;
  if (dims(0).empty() || dims(0).back() <= 0 || !isFloat(in(0)) || !isIndex(out()) ||
      out().count() != in(0).count() / dims(0).back())
    return "the operands of an argmax do not fit together";
  return nullptr;
}

const char *Check::checkRandomMask() const {
  if (!has(2, 1, 1))
    return wrongNumber;
  bool isRate = call.floats[0] >= 0 && call.floats[0] < 1;
  if (!hasRandomState() || getSize(out().type) != 1 || !isRate)
    return "a random mask needs an i64 seed, an i64 attempt, a mask of bytes and a "
           "rate in [0, 1)";
  return nullptr;
}

const char *Check::checkRandomBits() const {
  if (!has(2, 1))
    return wrongNumber;
  return hasRandomState() && out().type == DataType::I16
             ? nullptr
             : "random bits need an i64 seed, an i64 attempt and an i16 result";
}

const char *Check::checkIndexCheck() const {
  if (!has(1, 3))
    return wrongNumber;
  return isIndex(in(0)) && out().type == in(0).type && out().count() == in(0).count()
             ? nullptr
             : "the operands of a check_indices do not fit together";
}

const char *Check::run() const {
  bool isProduct = static_cast<CallId>(call.target) == CallId::Matmul;
  if (call.refs.size() < size_t(call.numInputs) + call.numOutputs ||
      call.numOutputs < 1 || (call.numOutputs > 1 && !isProduct))
    return wrongNumber;
  switch (static_cast<CallId>(call.target)) {
  case CallId::Matmul:
    return checkMatmul();
  case CallId::Conv2D:
  case CallId::Conv2DInputGrad:
  case CallId::Conv2DFilterGrad:
    return checkConv();
  case CallId::MaxPool:
  case CallId::MaxPoolGrad:
  case CallId::AvgPool:
  case CallId::AvgPoolGrad:
    return checkPool();
  case CallId::Gather:
    return checkGather();
  case CallId::ScatterAdd:
    return checkScatterAdd();
  case CallId::Copy:
    return checkCopy();
  case CallId::Fill:
    return has(0, 0, 1) ? nullptr : wrongNumber;
  case CallId::Reduce:
    return checkReduce();
  case CallId::Argmax:
    return checkArgmax();
  case CallId::RandomMask:
    return checkRandomMask();
  case CallId::CheckIndices:
    return checkIndexCheck();
  case CallId::RandomBits:
    return checkRandomBits();
  }
  return "it is no call of this runtime";
}

} // namespace

bool mpt::rt::checkCall(const Instruction &call, std::string &error) {
  const char *wrong = Check(call).run();
  if (wrong)
    error = wrong;
  return !wrong;
}
