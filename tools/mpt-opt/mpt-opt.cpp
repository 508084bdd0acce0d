//===- mpt-opt.cpp - The optimizer driver -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mpt/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mpt::registerAllDialects(registry);
  mlir::registerAllPasses();
  mpt::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "MPT: mixed-precision training passes\n", registry));
}
