//===- GemmCall.cpp - Products with cuBLASLt's epilogues as calls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/Transforms/GemmCall.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpt;
using rt::GemmEpilogue;

static constexpr llvm::StringLiteral kEpilogueEntry = "gpu_epilogue";
static constexpr llvm::StringLiteral kAddendEntry = "addend";

GemmEpilogue mpt::getGemmEpilogue(Epilogue activation, bool isForward, bool hasBias,
                                  bool hasBiasGrad) {
  bool isRelu = activation == Epilogue::Relu;
  // The columns of rhs are the rows of cuBLASLt's A.
  if (activation == Epilogue::None)
    return hasBiasGrad ? GemmEpilogue::BGradA : GemmEpilogue::Default;
  if (isForward && hasBias)
    return isRelu ? GemmEpilogue::ReluAuxBias : GemmEpilogue::GeluAuxBias;
  if (isForward)
    return isRelu ? GemmEpilogue::ReluAux : GemmEpilogue::GeluAux;
  if (hasBiasGrad)
    return isRelu ? GemmEpilogue::DReluBGrad : GemmEpilogue::DGeluBGrad;
  return isRelu ? GemmEpilogue::DRelu : GemmEpilogue::DGelu;
}

DictionaryAttr mpt::getGemmConfig(MLIRContext *context, bool transposeLhs,
                                  bool transposeRhs, GemmEpilogue epilogue,
                                  bool hasAddend) {
  Builder builder(context);
  SmallVector<NamedAttribute> config = {builder.getNamedAttr(
      kEpilogueEntry, builder.getI64IntegerAttr(static_cast<int64_t>(epilogue)))};
  if (transposeLhs)
    config.push_back(builder.getNamedAttr("transpose_lhs", builder.getUnitAttr()));
  if (transposeRhs)
    config.push_back(builder.getNamedAttr("transpose_rhs", builder.getUnitAttr()));
  if (hasAddend)
    config.push_back(builder.getNamedAttr(kAddendEntry, builder.getUnitAttr()));
  return builder.getDictionaryAttr(config);
}

bool mpt::hasGemmAddend(DictionaryAttr config) {
  return config && config.contains(kAddendEntry);
}

GemmEpilogue mpt::getGemmEpilogue(DictionaryAttr config) {
  auto entry = config ? config.getAs<IntegerAttr>(kEpilogueEntry) : IntegerAttr();
  return entry ? static_cast<GemmEpilogue>(entry.getInt()) : GemmEpilogue::Default;
}
