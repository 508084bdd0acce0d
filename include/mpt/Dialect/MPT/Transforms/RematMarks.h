//===- RematMarks.h - Attributes that rematerialization reads -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Marks on ops of a step and how rewrites hand them on: what the user says of keeping
/// an op's values, what makes a clone unique, and what must be found again after
/// fusion.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_REMATMARKS_H
#define MPT_DIALECT_MPT_TRANSFORMS_REMATMARKS_H

#include "mlir/IR/PatternMatch.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt::detail {

/// Gives `into`, which does the work of `first` and `second` from now on, the marks of
/// both: values of one are kept if those of either were to be.
inline void joinMarks(mlir::Operation *first, mlir::Operation *second,
                      mlir::Operation *into) {
  auto save = [](mlir::Operation *op) {
    return op->getAttrOfType<mlir::StringAttr>(kSaveAttr);
  };
  auto isMust = [](mlir::StringAttr attribute) {
    return attribute && attribute.getValue() == "must";
  };
  mlir::StringAttr a = save(first), b = save(second);
  mlir::Attribute clone = first->getAttr(kRematAttr);
  if (!clone)
    clone = second->getAttr(kRematAttr);
  bool isBackward = first->hasAttr(kBackwardAttr) || second->hasAttr(kBackwardAttr);
  if (isMust(a) || (a == b && a))
    into->setAttr(kSaveAttr, a);
  else if (isMust(b))
    into->setAttr(kSaveAttr, b);
  else
    into->removeAttr(kSaveAttr);
  if (clone)
    into->setAttr(kRematAttr, clone);
  if (isBackward)
    into->setAttr(kBackwardAttr, mlir::UnitAttr::get(into->getContext()));
}

/// Hands the marks of the op that a pattern matches to the ops that it makes.
class MarkListener : public mlir::RewriterBase::Listener {
public:
  void notifyPatternBegin(const mlir::Pattern &, mlir::Operation *root) override {
    marks.clear();
    for (llvm::StringRef name : {kRematAttr, kSaveAttr, kBackwardAttr})
      if (mlir::Attribute value = root->getAttr(name))
        marks.push_back({mlir::StringAttr::get(root->getContext(), name), value});
  }
  void notifyPatternEnd(const mlir::Pattern &, llvm::LogicalResult) override {
    marks.clear();
  }
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint previous) override {
    if (previous.isSet() || mlir::isa<ConstantOp, ReshapeOp>(op))
      return;
    for (mlir::NamedAttribute mark : marks)
      if (!op->hasAttr(mark.getName()))
        op->setAttr(mark.getName(), mark.getValue());
  }

private:
  llvm::SmallVector<mlir::NamedAttribute, 3> marks;
};

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_REMATMARKS_H
