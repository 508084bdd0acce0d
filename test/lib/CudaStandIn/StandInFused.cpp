//===- StandInFused.cpp - Graphs of several operations -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Knows nothing of attention: each operation is what cuDNN's documentation says of it.
/// A tensor of size 1, or, among heads, of a divisor of the size, is the same for all.
///
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/CPU/Convert.h"
#include "StandInDnn.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mpt::standin;
using A = CudnnAttribute;
using K = CudnnKind;

namespace {

const CudnnState *at(const CudnnState &from, A attribute) {
  return static_cast<const CudnnState *>(from.get<void *>(attribute).front());
}
int codeOf(const CudnnState &from, A attribute) {
  return from.get<int>(attribute).front();
}

using Dims = std::vector<int64_t>;

/// What an operation reads, and what it writes.
struct Operands {
  std::vector<const CudnnState *> inputs;
  const CudnnState *output = nullptr;
};

Operands operandsOf(const CudnnState &op) {
  switch (op.kind) {
  case K::PointwiseOperation: {
    Operands found = {{at(op, A::PointwiseX)}, at(op, A::PointwiseY)};
    for (A optional : {A::PointwiseB, A::PointwiseT})
      if (op.has(optional))
        found.inputs.push_back(at(op, optional));
    return found;
  }
  case K::MatmulOperation:
    return {{at(op, A::MatmulA), at(op, A::MatmulB)}, at(op, A::MatmulC)};
  case K::ReductionOperation:
    return {{at(op, A::ReductionX)}, at(op, A::ReductionY)};
  default:
    return {{at(op, A::ReshapeX)}, at(op, A::ReshapeY)};
  }
}

/// A tensor's elements, packed.
struct Elements {
  Dims dims;
  std::vector<float> values;

  /// The element that stands for point `point` of a larger tensor.
  float &get(const Dims &point, const Dims &sizes) {
    int64_t at = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      at = at * dims[i] + point[i] / (sizes[i] / dims[i]);
    return values[at];
  }
};

template <typename Each>
void forEachPoint(const Dims &dims, Each each) {
  Dims point(dims.size());
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t d = dims.size(); d-- > 0;) {
      point[d] = rest % dims[d];
      rest /= dims[d];
    }
    each(point, i);
  }
}

int64_t offsetOf(const CudnnTensorState &tensor, const Dims &point) {
  int64_t offset = 0;
  for (size_t d = 0; d < point.size(); ++d)
    offset += point[d] * tensor.strides[d];
  return offset;
}

float roundTo(DataType type, float value) {
  if (type != DataType::F16 && type != DataType::BF16)
    return value;
  uint16_t bits = 0;
  fromF32(type, &bits, 0, value);
  return toF32(type, &bits, 0);
}

bool divides(const Dims &small, const Dims &large) {
  if (small.size() != large.size())
    return false;
  for (size_t i = 0; i < small.size(); ++i)
    if (large[i] % small[i] != 0)
      return false;
  return true;
}

const char *checkOperation(const CudnnState &op) {
  Operands operands = operandsOf(op);
  std::vector<Dims> in;
  for (const CudnnState *input : operands.inputs)
    in.push_back(tensorOf(*input).dims);
  const CudnnTensorState output = tensorOf(*operands.output);
  const Dims &out = output.dims;
  switch (op.kind) {
  case K::PointwiseOperation:
    for (const Dims &dims : in)
      if (!divides(dims, out))
        return "the tensors of an elementwise operation do not fit together";
    if (codeOf(*at(op, A::PointwiseDescription), A::PointwiseMode) == kDnnSelect &&
        in.size() != 3)
      return "a selection has three tensors";
    return nullptr;
  case K::MatmulOperation: {
    if (in[0].size() != 4 || in[1].size() != 4 || out.size() != 4)
      return "a matmul here has tensors of rank 4";
    bool fits = in[0][3] == in[1][2] && in[0][2] == out[2] && in[1][3] == out[3];
    for (int i : {0, 1})
      for (const Dims &dims : in)
        fits &= out[i] % dims[i] == 0;
    return fits ? nullptr : "the tensors of a matmul do not fit together";
  }
  case K::ReductionOperation:
    return divides(out, in[0]) ? nullptr : "the tensors of a reduction do not fit";
  default:
    return nullptr;
  }
}

} // namespace

std::vector<const CudnnState *> mpt::standin::operationsOf(const CudnnState &graph) {
  std::vector<const CudnnState *> operations;
  for (void *operation : graph.get<void *>(A::GraphOperations))
    operations.push_back(static_cast<const CudnnState *>(operation));
  return operations;
}

bool mpt::standin::isFused(const CudnnState &graph) {
  auto operations = operationsOf(graph);
  return std::all_of(operations.begin(), operations.end(), [](const CudnnState *op) {
    return op->kind == K::PointwiseOperation || op->kind == K::MatmulOperation ||
           op->kind == K::ReductionOperation || op->kind == K::ReshapeOperation;
  });
}

const char *mpt::standin::checkFused(const CudnnState &graph) {
  std::vector<const CudnnState *> made;
  std::vector<int64_t> ids;
  auto isMade = [&](const CudnnState *tensor) {
    return std::find(made.begin(), made.end(), tensor) != made.end();
  };
  for (const CudnnState *op : operationsOf(graph)) {
    if (const char *wrong = checkOperation(*op))
      return wrong;
    Operands operands = operandsOf(*op);
    for (const CudnnState *input : operands.inputs)
      if (tensorOf(*input).isVirtual && !isMade(input))
        return "a virtual tensor is read before it is made";
    if (isMade(operands.output) || tensorOf(*operands.output).isNumber)
      return "a tensor is made twice, or is a number";
    made.push_back(operands.output);
  }
  return nullptr;
}

std::vector<CudnnTensorState> mpt::standin::buffersOf(const CudnnState &graph) {
  std::map<int64_t, CudnnTensorState> found;
  auto add = [&](const CudnnState *tensor) {
    CudnnTensorState state = tensorOf(*tensor);
    if (!state.isVirtual && !state.isNumber)
      found[state.id] = state;
  };
  for (const CudnnState *op : operationsOf(graph)) {
    Operands operands = operandsOf(*op);
    for (const CudnnState *input : operands.inputs)
      add(input);
    add(operands.output);
  }
  std::vector<CudnnTensorState> buffers;
  for (auto &[id, tensor] : found)
    buffers.push_back(tensor);
  return buffers;
}

void mpt::standin::runFused(const CudnnState &graph,
                            const std::function<void *(const CudnnTensorState &)> &find) {
  std::map<const CudnnState *, Elements> known;
  auto read = [&](const CudnnState *desc) -> Elements & {
    auto [place, isNew] = known.try_emplace(desc);
    Elements &elements = place->second;
    if (!isNew)
      return elements;
    const CudnnTensorState tensor = tensorOf(*desc);
    elements.dims = tensor.dims;
    const void *data = find(tensor);
    forEachPoint(tensor.dims, [&](const Dims &point, int64_t) {
      elements.values.push_back(toF32(tensor.type, data, offsetOf(tensor, point)));
    });
    return elements;
  };
  for (const CudnnState *op : operationsOf(graph)) {
    Operands operands = operandsOf(*op);
    std::vector<Elements *> in;
    for (const CudnnState *input : operands.inputs)
      in.push_back(&read(input));
    const CudnnTensorState output = tensorOf(*operands.output);
    Elements out = {output.dims, {}};
    int64_t count = 1;
    for (int64_t dim : output.dims)
      count *= dim;
    out.values.resize(count);
    if (op->kind == K::PointwiseOperation) {
      const CudnnState &description = *at(*op, A::PointwiseDescription);
      const int mode = codeOf(description, A::PointwiseMode);
      forEachPoint(out.dims, [&](const Dims &point, int64_t i) {
        auto value = [&](size_t n) { return in[n]->get(point, out.dims); };
        float &y = out.values[i];
        switch (mode) {
        case kDnnPlus:
          y = value(0) + value(1);
          break;
        case kDnnMultiply:
          y = value(0) * value(1);
          break;
        case kDnnDivide:
          y = value(0) / value(1);
          break;
        case kDnnSubtract:
          y = value(0) - value(1);
          break;
        case kDnnExp:
          y = std::exp(value(0));
          break;
        case kDnnLog:
          y = std::log(value(0));
          break;
        case kDnnNotBelow:
          y = value(0) >= value(1);
          break;
        case kDnnIndex:
          y = static_cast<float>(
              point[description.get<int64_t>(A::PointwiseAxis).front()]);
          break;
        case kDnnSelect:
          y = value(2) != 0 ? value(0) : value(1);
          break;
        }
      });
    } else if (op->kind == K::MatmulOperation) {
      const int64_t depth = in[0]->dims[3];
      const Dims left = {out.dims[0], out.dims[1], out.dims[2], depth};
      const Dims right = {out.dims[0], out.dims[1], depth, out.dims[3]};
      forEachPoint(out.dims, [&](const Dims &p, int64_t i) {
        float sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += in[0]->get({p[0], p[1], p[2], k}, left) *
                 in[1]->get({p[0], p[1], k, p[3]}, right);
        out.values[i] = sum;
      });
    } else if (op->kind == K::ReductionOperation) {
      const bool isMax =
          codeOf(*at(*op, A::ReductionDescription), A::ReductionOperator) == kDnnMax;
      std::fill(out.values.begin(), out.values.end(),
                isMax ? -std::numeric_limits<float>::infinity() : 0.0f);
      forEachPoint(in[0]->dims, [&](const Dims &point, int64_t i) {
        float &y = out.get(point, in[0]->dims);
        y = isMax ? std::max(y, in[0]->values[i]) : y + in[0]->values[i];
      });
    } else {
      // Elements keep their places in memory.
      const CudnnTensorState input = tensorOf(*operands.inputs[0]);
      std::map<int64_t, float> places;
      forEachPoint(input.dims, [&](const Dims &point, int64_t i) {
        places[offsetOf(input, point)] = in[0]->values[i];
      });
      forEachPoint(out.dims, [&](const Dims &point, int64_t i) {
        out.values[i] = places.at(offsetOf(output, point));
      });
    }
    for (float &value : out.values)
      value = roundTo(output.type, value);
    if (!output.isVirtual) {
      void *data = find(output);
      forEachPoint(out.dims, [&](const Dims &point, int64_t i) {
        fromF32(output.type, data, offsetOf(output, point), out.values[i]);
      });
    }
    known[operands.output] = std::move(out);
  }
}
