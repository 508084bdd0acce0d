//===- AttentionToGPU.cpp - Attention as launches -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What fused attention of a step becomes in its program: one launch forward; backward
/// the sums of dy times the result, the gradient of the query, and those of key and
/// value.
///
//===----------------------------------------------------------------------===//

#include "AttentionCode.h"
#include "DeviceLauncher.h"
#include "mpt/Dialect/MPT/Transforms/FusedAttention.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult mpt::detail::expandAttention(LaunchOp launch, Operation *declaration,
                                           DeviceLauncher &launcher) {
  auto config = declaration->getAttrOfType<DictionaryAttr>(kAttentionAttr);
  ValueRange in = launch.getInputs(), out = launch.getOutputs();
  bool isGradient = out.size() == 3;
  size_t inputs = isGradient ? 6 : 3;
  if (!config || (!isGradient && out.size() != 2) ||
      (in.size() != inputs && in.size() != inputs + 1))
    return launch.emitError("expected the buffers of an attention or of its gradient");
  auto typeOf = [](Value buffer) { return cast<MemRefType>(buffer.getType()); };
  MemRefType query = typeOf(in[isGradient ? 1 : 0]), key = typeOf(in[isGradient ? 2 : 1]);
  AttentionShape shape;
  if (query.getRank() != 4 || key.getRank() != 4)
    return launch.emitError("expected an attention of tensors of rank 4");
  shape.batch = query.getDimSize(0) * query.getDimSize(1);
  shape.heads = query.getDimSize(1);
  shape.queries = query.getDimSize(2);
  shape.keys = key.getDimSize(2);
  shape.width = query.getDimSize(3);
  shape.isCausal = config.contains("causal");
  shape.type = query.getElementType();
  auto scale = dyn_cast_or_null<FloatAttr>(config.get("scale"));
  shape.scale = scale ? scale.getValueAsDouble()
                      : 1 / std::sqrt(static_cast<double>(shape.width));
  ValueRange mask = in.drop_front(inputs);
  in = in.take_front(inputs);
  if (!mask.empty()) {
    ArrayRef<int64_t> sizes = typeOf(mask[0]).getShape();
    if (sizes.size() != 4)
      return launch.emitError("expected a mask of rank 4, found ") << typeOf(mask[0]);
    shape.maskStrides = computeStrides(sizes);
    for (auto [stride, size] : llvm::zip_equal(shape.maskStrides, sizes))
      stride = size == 1 ? 0 : stride;
  }
  if (!shape.isSupported())
    return launch.emitError("there is no fused attention for ") << query;
  std::string name;
  llvm::raw_string_ostream(name) << query << " " << key << " " << shape.isCausal << " "
                                 << scale;
  if (!mask.empty())
    llvm::raw_string_ostream(name) << " " << typeOf(mask[0]);
  launcher.builder.setInsertionPoint(launch);
  Location loc = launch.getLoc();
  auto make = [&](StringRef function, int64_t blocks, ValueRange inputs,
                  ValueRange outputs, void (*emit)(DeviceCode &, const AttentionShape &)) {
    launcher.launch(loc, function, name, blocks, kAttentionThreads, shape.isWide(), inputs,
                    outputs, [&](DeviceCode &code) { emit(code, shape); });
  };
  if (!isGradient) {
    SmallVector<Value> operands(in);
    llvm::append_range(operands, mask);
    make("attention", shape.queryBlocks(), operands, out, emitAttention);
  } else {
    // dy, query, key, value, result, log-sum-exp.
    int64_t rows = shape.batch * shape.queries;
    Value partials = launch.getPartials();
    auto scratch = partials ? partials.getDefiningOp<SlotOp>() : SlotOp();
    if (!scratch || typeOf(scratch).getNumElements() < rows * 4)
      return launch.emitError("needs ") << rows * 4 << " bytes of workspace";
    Value dots = SlotOp::create(
        launcher.builder, loc, MemRefType::get({rows}, launcher.builder.getF32Type()),
        scratch.getSpace(), scratch.getOffset(), StringAttr(), StringAttr(),
        DictionaryAttr(), StringAttr(), ElementsAttr());
    make("attention_dots", shape.dotBlocks(), {in[0], in[4]}, dots, emitDots);
    SmallVector<Value> operands = {in[0], in[1], in[2], in[3], in[5], dots};
    llvm::append_range(operands, mask);
    make("attention_dquery", shape.queryBlocks(), operands, out[0], emitQueryGradient);
    make("attention_dkey", shape.keyBlocks(), operands, out.drop_front(), emitKeyGradients);
  }
  launch.erase();
  return success();
}
