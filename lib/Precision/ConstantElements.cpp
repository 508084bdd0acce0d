//===- ConstantElements.cpp - Constants in the low type -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantElements.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace mpt;

ConstantElements::ConstantElements(ElementsAttr elements) {
  if (!elements || !elements.getElementType().isF32()) {
    obstacle = "it is not of f32";
    return;
  }
  dense = dyn_cast<DenseFPElementsAttr>(elements);
  if (dense)
    return;
  resource = dyn_cast<DenseResourceElementsAttr>(elements);
  if (!resource) {
    obstacle = "its numbers are neither dense nor a dense resource";
    return;
  }
  const AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  if (!blob) {
    obstacle = "the module does not hold the data of its resource";
    return;
  }
  ArrayRef<char> data = blob->getData();
  const uint64_t bytes = uint64_t(resource.getNumElements()) * sizeof(float);
  if (data.size() != bytes || bytes == 0 ||
      reinterpret_cast<uintptr_t>(data.data()) % alignof(float) != 0) {
    obstacle = "the data of its resource has not the size or alignment of its type";
    return;
  }
  numbers =
      ArrayRef(reinterpret_cast<const float *>(data.data()), data.size() / sizeof(float));
}

bool ConstantElements::all(function_ref<bool(float)> predicate) const {
  if (isSplat())
    return predicate(getSplat());
  return dense ? llvm::all_of(dense.getValues<float>(), predicate)
               : llvm::all_of(numbers, predicate);
}

bool ConstantElements::losesLittle(FloatType low) const {
  float largest = 0;
  all([&](float number) {
    if (std::isfinite(number))
      largest = std::max(largest, std::fabs(number));
    return true;
  });
  // Up to half of the smallest number becomes zero; the largest, of p bits, is rounded by
  // up to its 2^-(p + 1) at least.
  const llvm::fltSemantics &semantics = low.getFloatSemantics();
  const float half = std::ldexp(APFloat::getSmallest(semantics).convertToDouble(), -1);
  return std::ldexp(largest, -1 - int(APFloat::semanticsPrecision(semantics))) >= half;
}

static APInt roundTo(APFloat number, FloatType low) {
  bool losesInfo;
  number.convert(low.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return number.bitcastToAPInt();
}

ElementsAttr ConstantElements::convert(FloatType low) const {
  if (dense)
    return dense.mapValues(low,
                           [&](const APFloat &number) { return roundTo(number, low); });
  // Dense, since modules of one context share their resources, whose names would depend
  // on the order of threads; and IREE fails on bf16 resources in kernels.
  SmallVector<uint16_t, 0> rounded;
  rounded.reserve(numbers.size());
  for (float number : numbers)
    rounded.push_back(roundTo(APFloat(number), low).getZExtValue());
  return DenseElementsAttr::getFromRawBuffer(
      resource.getType().clone(low),
      ArrayRef(reinterpret_cast<const char *>(rounded.data()),
               rounded.size() * sizeof(uint16_t)));
}
