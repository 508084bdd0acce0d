//===- CallEncoding.cpp - Library calls in the program format -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/Gemm.h"
#include "mpt/ProgramABI/CallPlan.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mpt;

std::optional<rt::DataType> mpt::encodeElementType(Type type) {
  if (type.isF64())
    return rt::DataType::F64;
  if (type.isF32())
    return rt::DataType::F32;
  if (type.isF16())
    return rt::DataType::F16;
  if (type.isBF16())
    return rt::DataType::BF16;
  if (isa<Float8E4M3FNType>(type))
    return rt::DataType::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return rt::DataType::F8E5M2;
  // No call computes in them: the runtime keeps its bits.
  if (isa<Float8E8M0FNUType, Float4E2M1FNType>(type))
    return rt::DataType::I8;
  if (!type.isSignlessInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return rt::DataType::I64;
  case 32:
    return rt::DataType::I32;
  case 16:
    return rt::DataType::I16;
  case 8:
    return rt::DataType::I8;
  case 1:
    return rt::DataType::I1;
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Tensor ops as calls
//===----------------------------------------------------------------------===//

namespace {

template <size_t n>
std::array<int64_t, n> toArray(ArrayRef<int64_t> values) {
  std::array<int64_t, n> array = {};
  llvm::copy(values.take_front(n), array.begin());
  return array;
}
rt::Epilogue convert(Epilogue epilogue) { return static_cast<rt::Epilogue>(epilogue); }

rt::LibraryCall getCall(MatmulOp op) {
  rt::MatmulCall call;
  call.transposeLhs = op.getTransposeLhs();
  call.transposeRhs = op.getTransposeRhs();
  call.fastAccumulation = op.getFastAccumulation();
  return call;
}
rt::LibraryCall getCall(LinearOp op) {
  rt::MatmulCall call;
  call.transposeRhs = op.getTransposeWeight();
  call.fastAccumulation = op.getFastAccumulation();
  call.epilogue = convert(op.getEpilogue());
  call.hasBias = op.getBias() != nullptr;
  return call;
}
rt::LibraryCall getCall(GemmOp op) {
  rt::MatmulCall call;
  call.transposeLhs = op.getTransposeLhs();
  call.transposeRhs = op.getTransposeRhs();
  call.epilogue = convert(op.getEpilogue());
  call.hasBias = op.getBias() != nullptr;
  call.hasAux = op.getAux() != nullptr;
  call.hasAddend = op.getAddend() != nullptr;
  call.hasSaved = op.getSaved() != nullptr;
  call.hasBiasGrad = op.getBiasGrad() != nullptr;
  call.hasLhsScales = op.getLhsScales() != nullptr;
  call.hasRhsScales = op.getRhsScales() != nullptr;
  call.lhsScaling = static_cast<rt::GemmScaling>(op.getLhsScaling());
  call.rhsScaling = static_cast<rt::GemmScaling>(op.getRhsScaling());
  return call;
}
rt::LibraryCall getCall(GemmQuantizeOp op) {
  rt::GemmQuantizeCall call;
  call.block = toArray<2>(op.getBlock());
  call.scaling = static_cast<rt::GemmScaling>(op.getScaling());
  call.rule = static_cast<rt::ScaleRule>(op.getRule());
  if (std::optional<Type> via = op.getVia())
    call.rounding = via->isF16() ? rt::Rounding::F16 : rt::Rounding::BF16;
  call.hasScales = op.getScales() != nullptr;
  call.hasFactor = op.getFactor() != nullptr;
  call.hasAmax = op.getAmax() != nullptr;
  call.hasRow = op.getRow() != nullptr;
  call.hasRowScales = op.getRowScales() != nullptr;
  call.hasColumn = op.getColumn() != nullptr;
  call.hasColumnScales = op.getColumnScales() != nullptr;
  return call;
}
template <typename Call, typename Op>
Call getConvCall(Op op) {
  Call call;
  call.strides = toArray<2>(op.getStrides());
  call.padding = toArray<4>(op.getPadding());
  call.dilations = toArray<2>(op.getDilations());
  call.groups = op.getGroups();
  call.oihw = op.getOihw();
  return call;
}
rt::LibraryCall getCall(Conv2DOp op) {
  auto call = getConvCall<rt::Conv2DCall>(op);
  call.epilogue = convert(op.getEpilogue());
  call.hasBias = op.getBias() != nullptr;
  return call;
}
rt::LibraryCall getCall(Conv2DInputGradOp op) {
  return getConvCall<rt::Conv2DInputGradCall>(op);
}
rt::LibraryCall getCall(Conv2DFilterGradOp op) {
  return getConvCall<rt::Conv2DFilterGradCall>(op);
}
template <typename Call, typename Op>
Call getPoolCall(Op op) {
  Call call;
  call.window = toArray<2>(op.getWindow());
  call.strides = toArray<2>(op.getStrides());
  call.padding = toArray<4>(op.getPadding());
  return call;
}
rt::LibraryCall getCall(MaxPoolOp op) { return getPoolCall<rt::MaxPoolCall>(op); }
rt::LibraryCall getCall(MaxPoolGradOp op) { return getPoolCall<rt::MaxPoolGradCall>(op); }
rt::LibraryCall getCall(AvgPoolOp op) {
  auto call = getPoolCall<rt::AvgPoolCall>(op);
  call.countIncludePad = op.getCountIncludePad();
  return call;
}
rt::LibraryCall getCall(AvgPoolGradOp op) {
  auto call = getPoolCall<rt::AvgPoolGradCall>(op);
  call.countIncludePad = op.getCountIncludePad();
  return call;
}
rt::LibraryCall getCall(GatherOp) { return rt::GatherCall(); }
rt::LibraryCall getCall(ScatterAddOp op) {
  rt::ScatterAddCall call;
  call.hasInit = op.getInit() != nullptr;
  return call;
}
rt::LibraryCall getCall(ScatterReduceOp op) {
  rt::ScatterAddCall call;
  call.hasInit = true;
  call.kind = static_cast<rt::ReduceKind>(op.getKind());
  return call;
}
rt::LibraryCall getCall(ReduceOp op) {
  rt::ReduceCall call;
  call.kind = static_cast<rt::ReduceKind>(op.getKind());
  call.axes = op.getAxes().vec();
  return call;
}
rt::LibraryCall getCall(ArgmaxOp) { return rt::ArgmaxCall(); }
rt::LibraryCall getCall(RandomMaskOp op) {
  rt::RandomMaskCall call;
  call.stream = op.getStream();
  call.rate = op.getRate().convertToDouble();
  return call;
}
rt::LibraryCall getCall(RandomBitsOp op) {
  rt::RandomBitsCall call;
  call.stream = op.getStream();
  return call;
}
rt::LibraryCall getCall(CheckIndicesOp op) {
  rt::CheckIndicesCall call;
  call.size = op.getSize();
  if (auto ignored = op.getIgnoreIndex())
    call.ignoreIndex = *ignored;
  return call;
}
/// What attention and its gradient have in common.
template <typename Call, typename Op>
Call getAttentionCall(Op op) {
  Call call;
  const auto width = cast<RankedTensorType>(op.getQuery().getType()).getShape().back();
  call.scale = op.getScale()
                   ? op.getScale()->convertToDouble()
                   : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(width, 1)));
  call.causal = op.getCausal();
  call.hasMask = op.getMask() != nullptr;
  call.hasBias = op.getBias() != nullptr;
  call.hasSeed = op.getSeed() != nullptr;
  call.hasAttempt = op.getAttempt() != nullptr;
  if (op.getDropout())
    call.dropout = op.getDropout()->convertToDouble();
  if (op.getStream())
    call.stream = *op.getStream();
  return call;
}
rt::LibraryCall getCall(AttentionOp op) {
  return getAttentionCall<rt::AttentionCall>(op);
}
rt::LibraryCall getCall(AttentionGradOp op) {
  auto call = getAttentionCall<rt::AttentionGradCall>(op);
  call.hasDbias = op.getDbias() && !op.getDbias().use_empty();
  return call;
}

rt::ReduceKind convert(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::Sum:
    return rt::ReduceKind::Sum;
  case CollectiveKind::Mean:
    return rt::ReduceKind::Mean;
  case CollectiveKind::Max:
  // Of i1, the largest.
  case CollectiveKind::Any:
    return rt::ReduceKind::Max;
  case CollectiveKind::Min:
    return rt::ReduceKind::Min;
  }
  return rt::ReduceKind::Sum;
}
/// What all_reduce and reduce_scatter have in common.
template <typename Call, typename Op>
Call getReductionCall(Op op, int64_t ranks) {
  Call call;
  call.kind = convert(op.getKind());
  call.order =
      op.getOrder() == CollectiveOrder::Rank ? rt::SumOrder::Rank : rt::SumOrder::Library;
  call.ranks = ranks;
  // f32 has all values of narrower types, which travel as they are.
  if (std::optional<Type> wire = op.getWire(); wire && !wire->isF32())
    call.rounding = wire->isBF16() ? rt::Rounding::BF16 : rt::Rounding::F16;
  return call;
}

} // namespace

FailureOr<int64_t> mpt::getProgramRanks(Operation *op) {
  MeshAttr mesh = getMesh(op);
  if (!mesh)
    return op->emitError("'")
           << op->getName() << "' is in a loop, where it cannot be planned; unroll the "
           << "loop with --mpt-unroll-scan, or exchange what the loop returns";
  std::optional<int64_t> size =
      mesh.getSize(op->getAttrOfType<StringAttr>("axis").getValue());
  if (size && *size == mesh.getNumRanks())
    return *size;
  return op->emitError("'")
         << op->getName() << "' cannot be planned: expected a mesh with one axis of more "
         << "than one rank, found " << mesh;
}

rt::LibraryCall mpt::getCollectiveCall(Operation *op, int64_t ranks, int64_t tensors) {
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    auto call = getReductionCall<rt::AllReduceCall>(reduce, ranks);
    call.numXs = call.numSums = tensors;
    return call;
  }
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return getReductionCall<rt::ReduceScatterCall>(scatter, ranks);
  if (auto broadcast = dyn_cast<BroadcastFromOp>(op)) {
    rt::BroadcastCall call;
    call.root = static_cast<int64_t>(broadcast.getRoot());
    call.ranks = ranks;
    return call;
  }
  auto getPlain = [&](auto call) -> rt::LibraryCall {
    call.ranks = ranks;
    return call;
  };
  return isa<RankOp>(op)       ? getPlain(rt::RankCall())
         : isa<AllToAllOp>(op) ? getPlain(rt::AllToAllCall())
                               : getPlain(rt::AllGatherCall());
}

std::optional<rt::LibraryCall> mpt::getLibraryCall(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<rt::LibraryCall>>(op)
      .Case<MatmulOp, LinearOp, GemmOp, GemmQuantizeOp, Conv2DOp, Conv2DInputGradOp,
            Conv2DFilterGradOp, MaxPoolOp, MaxPoolGradOp, AvgPoolOp, AvgPoolGradOp,
            GatherOp, ScatterAddOp, ScatterReduceOp, ReduceOp, ArgmaxOp, RandomMaskOp,
            RandomBitsOp, CheckIndicesOp, AttentionOp, AttentionGradOp>(
          [](auto op) { return getCall(op); })
      .Default([](auto) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Calls as instructions
//===----------------------------------------------------------------------===//

FailureOr<rt::Instruction> mpt::encodeCall(Location loc, const rt::LibraryCall &call,
                                           TypeRange inputs, TypeRange outputs) {
  rt::Instruction instruction;
  instruction.call = call;
  instruction.numInputs = inputs.size();
  instruction.numOutputs = outputs.size();
  for (TypeRange types : {inputs, outputs})
    for (Type type : types) {
      auto shaped = dyn_cast<ShapedType>(type);
      std::optional<rt::DataType> element =
          shaped ? encodeElementType(shaped.getElementType()) : std::nullopt;
      if (!element || !shaped.hasStaticShape()) {
        emitError(loc, "a library call cannot take a buffer of type ") << type;
        return failure();
      }
      rt::BufferRef ref;
      ref.type = *element;
      ref.dims.assign(shaped.getShape().begin(), shaped.getShape().end());
      instruction.refs.push_back(std::move(ref));
    }
  if (std::string why; !rt::checkCall(instruction, why)) {
    emitError(loc, "the library call cannot run: ") << why;
    return failure();
  }
  return instruction;
}

FailureOr<rt::Instruction> mpt::encodeCall(program::LibraryCallOpInterface call) {
  return encodeCall(call.getLoc(), call.getCall(), call.getInputs().getTypes(),
                    call.getOutputs().getTypes());
}
