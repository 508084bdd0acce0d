//===- ReferenceTestSupport.h - Text in, numbers out ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_REFERENCE_REFERENCETESTSUPPORT_H
#define MPT_UNITTESTS_REFERENCE_REFERENCETESTSUPPORT_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Reference/Interpreter.h"
#include <gtest/gtest.h>

namespace mpt::test {

using reference::Mode;
using reference::Tensor;

/// A context that knows what models are made of and keeps the errors it hears.
class ModelTest : public ::testing::Test {
protected:
  ModelTest()
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            errors += diagnostic.str() + "\n";
        }) {
    context.loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::math::MathDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  /// A tensor of an argument's type; integers are truncated.
  static Tensor makeTensor(mlir::Type type, llvm::ArrayRef<double> values) {
    auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
    Tensor tensor;
    tensor.elementType = tensorType.getElementType();
    tensor.shape.assign(tensorType.getShape().begin(), tensorType.getShape().end());
    if (tensor.isFloat())
      tensor.floats = values;
    else
      tensor.ints.assign(values.begin(), values.end());
    return tensor;
  }

  /// Results of the function @f of `text`, as numbers; empty after an error.
  std::vector<std::vector<double>> run(llvm::StringRef text,
                                       llvm::ArrayRef<std::vector<double>> arguments,
                                       Mode mode = Mode::Storage) {
    auto module = parse(text);
    auto function = module ? module->lookupSymbol<mlir::func::FuncOp>("f") : nullptr;
    if (!function) {
      ADD_FAILURE() << "no function @f: " << errors;
      return {};
    }
    std::vector<Tensor> tensors;
    for (auto [type, values] : llvm::zip_equal(function.getArgumentTypes(), arguments))
      tensors.push_back(makeTensor(type, values));
    auto results = reference::interpret(function, tensors, mode);
    if (failed(results))
      return {};
    std::vector<std::vector<double>> numbers;
    for (Tensor &result : *results) {
      if (!result.isFloat())
        result.floats.assign(result.ints.begin(), result.ints.end());
      numbers.push_back(result.floats);
    }
    return numbers;
  }

  mlir::MLIRContext context;
  std::string errors;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace mpt::test

#endif // MPT_UNITTESTS_REFERENCE_REFERENCETESTSUPPORT_H
