//===- LinalgModels.cpp - Structured ops in mixed precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a structured op is shows in its iterators and its region, named or not:
/// contractions and convolutions are allowed, with low inputs and an f32 output;
/// other reductions sum in f32; what is parallel computes in f32 and stores low.
///
//===----------------------------------------------------------------------===//

#include "ElementRegions.h"
#include "mpt/Dialect/MPT/Interfaces/ElementRegionOpInterface.h"
#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"
#include "mpt/Precision/ExternalModels/ExternalModels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpt;

namespace {

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// A contraction, or a convolution that multiplies with its filter (a pooling is
/// a convolution by shape, but does not read its window's elements).
bool isContraction(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() < 2 || op.getNumDpsInits() != 1 || !op.getBlock())
    return false;
  for (OpOperand *input : op.getDpsInputOperands())
    if (!op.payloadUsesValueFromOperand(input))
      return false;
  return linalg::isaContractionOpInterface(op) || linalg::isaConvolutionOpInterface(op);
}

/// A scalar operand (of linalg.fill) has the type of the tensors' elements.
void convertScalars(linalg::LinalgOp op, Type had, Type wanted) {
  if (had == wanted || !isa<FloatType>(had) || !isa<FloatType>(wanted))
    return;
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get().getType() == had) {
      OpBuilder builder(op);
      input->set(
          convertFloat(builder, op.getLoc(), cast<FloatType>(wanted), input->get()));
    }
}

/// The region of a named op is made from its operands' types. False if `op`
/// spells its own.
bool rebuildRegion(linalg::LinalgOp op) {
  auto build = op.getRegionBuilder();
  if (!build)
    return false;
  Block &block = *op.getBlock();
  bool fits = true;
  for (auto [operand, argument] : llvm::zip(op->getOperands(), block.getArguments()))
    fits &= getElementTypeOrSelf(operand.getType()) == argument.getType();
  if (fits)
    return true;
  unsigned first = op.getDpsInits().empty() ? 0 : op.getNumDpsInputs();
  convertScalars(op, block.getArgument(first).getType(),
                 getElementTypeOrSelf(op->getOperand(first).getType()));
  block.clear();
  for (auto [operand, argument] : llvm::zip(op->getOperands(), block.getArguments()))
    argument.setType(getElementTypeOrSelf(operand.getType()));
  ImplicitLocOpBuilder builder(op.getLoc(), op->getContext());
  builder.setInsertionPointToStart(&block);
  build(builder, block, op->getAttrs(), [&] { return op->emitOpError(); });
  return true;
}

template <typename Op>
struct StructuredPrecision
    : PrecisionOpInterface::ExternalModel<StructuredPrecision<Op>, Op> {
  PrecisionClass getPrecisionClass(Operation *op, Type) const {
    auto structured = cast<linalg::LinalgOp>(op);
    if (isContraction(structured))
      return PrecisionClass::Allow;
    return structured.getNumReductionLoops() != 0 ? PrecisionClass::Deny
                                                  : PrecisionClass::Stable;
  }
  bool isFixedPrecisionOperand(Operation *op, unsigned index) const {
    auto structured = cast<linalg::LinalgOp>(op);
    return structured.getNumReductionLoops() != 0 &&
           structured.isDpsInit(&op->getOpOperand(index));
  }
};

template <typename Op>
struct StructuredRegion
    : ElementRegionOpInterface::ExternalModel<StructuredRegion<Op>, Op> {
  Region &getElementRegion(Operation *op) const { return op->getRegion(0); }
  bool combinesElements(Operation *op) const {
    return cast<linalg::LinalgOp>(op).getNumReductionLoops() != 0;
  }
  bool readsAnyElement(Operation *op, unsigned index) const {
    auto structured = cast<linalg::LinalgOp>(op);
    // Of named ops, only those that accumulate convert what they read; the region
    // of a transpose or broadcast is not even written.
    return structured.isDpsInput(&op->getOpOperand(index)) &&
           (isa<linalg::GenericOp, linalg::MapOp, linalg::ReduceOp>(op) ||
            (structured.getRegionBuilder() && structured.getNumReductionLoops() != 0));
  }
  void convertElementRegion(Operation *op) const {
    auto structured = cast<linalg::LinalgOp>(op);
    if (rebuildRegion(structured))
      return;
    SmallVector<Type> arguments, results;
    for (Value operand : op->getOperands())
      arguments.push_back(getElementTypeOrSelf(operand.getType()));
    for (Value init : structured.getDpsInits())
      results.push_back(getElementTypeOrSelf(init.getType()));
    convertElementBlock(*structured.getBlock(), arguments, results);
  }
};

template <typename... Ops>
void attachStructured(MLIRContext *context) {
  (Ops::template attachInterface<StructuredPrecision<Ops>, StructuredRegion<Ops>>(
       *context),
   ...);
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

/// The region makes the elements around the source.
struct PadPrecision : PrecisionOpInterface::ExternalModel<PadPrecision, tensor::PadOp> {
  PrecisionClass getPrecisionClass(Operation *, Type) const {
    return PrecisionClass::Clear;
  }
};

struct PadRegion : ElementRegionOpInterface::ExternalModel<PadRegion, tensor::PadOp> {
  Region &getElementRegion(Operation *op) const { return op->getRegion(0); }
  bool combinesElements(Operation *) const { return false; }
  bool readsAnyElement(Operation *, unsigned) const { return false; }
  void convertElementRegion(Operation *op) const {
    convertElementBlock(op->getRegion(0).front(), {},
                        getElementTypeOrSelf(op->getResult(0).getType()));
  }
};

} // namespace

void mpt::registerPrecisionExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachStructured<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::PadOp::attachInterface<PadPrecision, PadRegion>(*context);
  });
}
