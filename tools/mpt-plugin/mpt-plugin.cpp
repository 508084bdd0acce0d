//===- mpt-plugin.cpp - MPT inside stock mlir-opt ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `mlir-opt --load-dialect-plugin=MPTPlugin.so --pass-pipeline=...`: the
/// dialect plugin registers the passes as well. There is no pass plugin entry
/// point: loading passes without the dialect would turn ops that were parsed
/// as unregistered into registered ones mid-flight.
///
//===----------------------------------------------------------------------===//

#include "mpt/InitAll.h"
#include "mpt/Precision/ExternalModels/ExternalModels.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "MPT", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) {
            mpt::registerAllDialects(*registry);
            mpt::registerPrecisionExternalModels(*registry);
            mpt::registerAllPasses();
          }};
}
