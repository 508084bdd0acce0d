//===- ExampleNetworks.h - The examples' networks as steps ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What tests of whole steps share: the networks of docs/examples after passes, run
/// once on any engine with the same first state and data.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_REFERENCE_EXAMPLENETWORKS_H
#define MPT_UNITTESTS_REFERENCE_EXAMPLENETWORKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Host/Initializers.h"
#include "mpt/Host/JITEngine.h"
#include "mpt/Host/StepSignature.h"
#include "mpt/InitAll.h"
#include "mpt/Support/Philox.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <gtest/gtest.h>

namespace mpt::test {

using namespace mlir;

struct Network {
  const char *file;
  /// Replaced in the text, where not empty: sin/cos has its batch in there.
  const char *batchText;
  int64_t batch;
  /// Labels are below this; 0: targets are floats.
  int64_t classes;
  /// The longest sum: over a layer's inputs, a row's classes or a batch's rows.
  int64_t longestSum;
};

const Network kSinCos = {"sincos/sincos.mlir", "20000", 96, 0, 150};
const Network kDigits = {"digits/digits.mlir", "", 6, 10, 6 * 64};
const Network kGPT = {"gpt/gpt.mlir", "", 2, 96, 512};

using Results = llvm::StringMap<HostTensor>;

inline std::string replaceAll(std::string text, llvm::StringRef from,
                              llvm::StringRef to) {
  for (size_t at = 0;
       !from.empty() && (at = text.find(from.str(), at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to.str());
  return text;
}

/// The first value of a state argument, or data for an input.
inline HostTensor makeArgument(const Network &network, const TensorInfo &info) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(info.type, info.shape));
  if (isStateRole(info.role)) {
    llvm::cantFail(initializeTensor(tensor, *info.init, 1, info.name));
    return tensor;
  }
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    uint32_t word = philoxBlock(7, info.role == Role::Target, 0, i / 4)[i % 4];
    tensor.setElement(i, isFloatType(info.type) ? std::ldexp(word, -30) - 2.0
                                                : word % network.classes);
  }
  return tensor;
}

class ExampleNetworkTest : public ::testing::Test {
protected:
  ExampleNetworkTest() {
    static bool registered = (registerAllPasses(), true);
    (void)registered;
    context.loadDialect<MPTDialect, func::FuncDialect>();
  }

  /// The network's loss function, changed by `edit`, after `passes`.
  OwningOpRef<ModuleOp> load(const Network &network, const std::string &passes,
                             llvm::function_ref<void(func::FuncOp)> edit = nullptr) {
    auto buffer =
        llvm::MemoryBuffer::getFile(std::string(MPT_EXAMPLES_DIR "/") + network.file);
    if (!buffer) {
      ADD_FAILURE() << "cannot read " << network.file;
      return nullptr;
    }
    auto module = parseSourceString<ModuleOp>(replaceAll((*buffer)->getBuffer().str(),
                                                         network.batchText,
                                                         std::to_string(network.batch)),
                                              &context);
    if (!module)
      return nullptr;
    for (auto function : llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
      if (function.getName() != "loss")
        function.erase();
    if (edit)
      edit(module->lookupSymbol<func::FuncOp>("loss"));
    PassManager manager(&context);
    std::string pipeline = "mpt-specialize{batch=" + std::to_string(network.batch) +
                           "},mpt-autodiff" + passes;
    if (failed(parsePassPipeline(pipeline, manager)) || failed(manager.run(*module)))
      return nullptr;
    return module;
  }

  /// The results of the last of `steps` runs and, as "state:<name>", what it updates;
  /// the same first state and data for every engine.
  Results run(const Network &network, llvm::Expected<std::unique_ptr<StepEngine>> engine,
              int64_t steps = 1) {
    if (!engine) {
      ADD_FAILURE() << llvm::toString(engine.takeError());
      return {};
    }
    std::vector<HostTensor> data;
    std::vector<std::string> names;
    for (const TensorInfo &info : (*engine)->getArguments()) {
      HostTensor tensor = makeArgument(network, info);
      if (isStateRole(info.role)) {
        llvm::cantFail((*engine)->writeState(info.name, tensor));
        continue;
      }
      names.push_back(info.name);
      data.push_back(std::move(tensor));
    }
    llvm::StringMap<const HostTensor *> inputs;
    for (auto [name, tensor] : llvm::zip_equal(names, data))
      inputs[name] = &tensor;
    auto results = (*engine)->run(inputs);
    for (int64_t step = 1; results && step < steps; ++step)
      results = (*engine)->run(inputs);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    for (const ResultInfo &info : (*engine)->getResults())
      if (!info.updates.empty())
        (*results)["state:" + info.updates] =
            llvm::cantFail((*engine)->readState(info.updates));
    return std::move(*results);
  }

  MLIRContext context;
};

} // namespace mpt::test

#endif // MPT_UNITTESTS_REFERENCE_EXAMPLENETWORKS_H
