//===- StrictModel.h - Ops without unknown properties -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_MPT_IR_STRICTMODEL_H
#define MPT_LIB_DIALECT_MPT_IR_STRICTMODEL_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/PatternMatch.h"

namespace mpt::detail {

/// Says that an op with the attributes `own` has none called `name`, and which may be
/// meant: "has no attribute 'axis'; did you mean 'axes'?".
std::string describeUnknownAttribute(llvm::StringRef name,
                                     llvm::ArrayRef<mlir::StringAttr> own);

/// An op's model that refuses unknown entries of `<{...}>` in the generic form. What ODS
/// generates reads the entries that it knows and drops the others, so a slip in an
/// optional attribute would silently mean another op. All else is the op's own model.
class StrictModel final : public mlir::OperationName::Impl {
  using OperationName = mlir::OperationName;
  using Operation = mlir::Operation;
  using Attribute = mlir::Attribute;
  using Properties = mlir::OpaqueProperties;
  using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

public:
  explicit StrictModel(std::unique_ptr<Impl> model)
      : Impl(model->getName(), model->getDialect(), model->getTypeID(),
             std::move(model->getInterfaceMap())),
        model(std::move(model)) {}

  llvm::LogicalResult setPropertiesFromAttr(OperationName name, Properties properties,
                                            Attribute attribute,
                                            EmitError emitError) override;

  llvm::LogicalResult
  foldHook(Operation *op, llvm::ArrayRef<Attribute> operands,
           llvm::SmallVectorImpl<mlir::OpFoldResult> &results) override {
    return model->foldHook(op, operands, results);
  }
  void getCanonicalizationPatterns(mlir::RewritePatternSet &patterns,
                                   mlir::MLIRContext *context) override {
    model->getCanonicalizationPatterns(patterns, context);
  }
  bool hasTrait(mlir::TypeID id) override { return model->hasTrait(id); }
  OperationName::ParseAssemblyFn getParseAssemblyFn() override {
    return model->getParseAssemblyFn();
  }
  void populateDefaultAttrs(const OperationName &name,
                            mlir::NamedAttrList &attributes) override {
    model->populateDefaultAttrs(name, attributes);
  }
  void printAssembly(Operation *op, mlir::OpAsmPrinter &printer,
                     llvm::StringRef dialect) override {
    model->printAssembly(op, printer, dialect);
  }
  llvm::LogicalResult verifyInvariants(Operation *op) override {
    return model->verifyInvariants(op);
  }
  llvm::LogicalResult verifyRegionInvariants(Operation *op) override {
    return model->verifyRegionInvariants(op);
  }
  std::optional<Attribute> getInherentAttr(Operation *op, llvm::StringRef name) override {
    return model->getInherentAttr(op, name);
  }
  void setInherentAttr(Operation *op, mlir::StringAttr name, Attribute value) override {
    model->setInherentAttr(op, name, value);
  }
  void populateInherentAttrs(Operation *op, mlir::NamedAttrList &attributes) override {
    model->populateInherentAttrs(op, attributes);
  }
  llvm::LogicalResult verifyInherentAttrs(OperationName name,
                                          mlir::NamedAttrList &attributes,
                                          EmitError emitError) override {
    return model->verifyInherentAttrs(name, attributes, emitError);
  }
  int getOpPropertyByteSize() override { return model->getOpPropertyByteSize(); }
  void initProperties(OperationName name, Properties storage, Properties init) override {
    model->initProperties(name, storage, init);
  }
  void deleteProperties(Properties properties) override {
    model->deleteProperties(properties);
  }
  void populateDefaultProperties(OperationName name, Properties properties) override {
    model->populateDefaultProperties(name, properties);
  }
  Attribute getPropertiesAsAttr(Operation *op) override {
    return model->getPropertiesAsAttr(op);
  }
  void copyProperties(Properties to, Properties from) override {
    model->copyProperties(to, from);
  }
  bool compareProperties(Properties left, Properties right) override {
    return model->compareProperties(left, right);
  }
  llvm::hash_code hashProperties(Properties properties) override {
    return model->hashProperties(properties);
  }

private:
  std::unique_ptr<Impl> model;
};

/// As Dialect::addOperations, with strict models.
template <typename... Ops>
void addStrictOperations(mlir::Dialect *dialect) {
  (mlir::RegisteredOperationName::insert(
       std::make_unique<StrictModel>(
           std::make_unique<mlir::RegisteredOperationName::Model<Ops>>(dialect)),
       Ops::getAttributeNames()),
   ...);
}

} // namespace mpt::detail

#endif // MPT_LIB_DIALECT_MPT_IR_STRICTMODEL_H
