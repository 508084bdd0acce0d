//===- FakeEngine.h - A step engine without a compiler ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_UNITTESTS_HOST_FAKEENGINE_H
#define MPT_TEST_UNITTESTS_HOST_FAKEENGINE_H

#include "mpt/Host/StepEngine.h"
#include <map>

namespace mpt::test {

/// Fits y = w x by gradient descent on f32 scalars: w -= 0.1 d/dw mean (w x -
/// y)^2. State: w (parameter), attempt (rng). Result: loss.
class FakeEngine : public StepEngine {
public:
  explicit FakeEngine(int64_t batch) {
    InitSpec uniform{InitKind::Uniform, {0, 1}};
    InitSpec zeros;
    arguments = {{"w", Role::Parameter, ElementType::F32, {}, uniform},
                 {"attempt", Role::Rng, ElementType::I64, {}, zeros},
                 {"x", Role::Input, ElementType::F32, {batch, 1}, std::nullopt},
                 {"y", Role::Target, ElementType::F32, {batch, 1}, std::nullopt}};
    results = {{"loss", ElementType::F32, {}, ""},
               {"w_new", ElementType::F32, {}, "w"},
               {"attempt_new", ElementType::I64, {}, "attempt"}};
    state["w"] = HostTensor::scalar(ElementType::F32, 0);
    state["attempt"] = HostTensor::scalarI64(0);
  }
  llvm::ArrayRef<TensorInfo> getArguments() const override { return arguments; }
  llvm::ArrayRef<ResultInfo> getResults() const override { return results; }
  llvm::Expected<HostTensor> readState(llvm::StringRef name) const override {
    auto it = state.find(name.str());
    if (it == state.end())
      return llvm::createStringError("no state '" + name + "'");
    return it->second;
  }
  llvm::Error writeState(llvm::StringRef name, const HostTensor &value) override {
    auto it = state.find(name.str());
    if (it == state.end() || it->second.describe() != value.describe())
      return llvm::createStringError("no state '" + name + "'");
    it->second = value;
    return llvm::Error::success();
  }
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &inputs) override {
    const HostTensor &x = *inputs.lookup("x"), &y = *inputs.lookup("y");
    float w = state["w"].getElement(0), loss = 0, gradient = 0;
    for (int64_t i = 0; i < x.getNumElements(); ++i) {
      float xi = x.getElement(i), difference = w * xi - y.getElement(i);
      loss += difference * difference;
      gradient += 2 * difference * xi;
    }
    float count = x.getNumElements();
    state["w"].setElement(0, w - 0.1f * gradient / count);
    state["attempt"].setElement(0, state["attempt"].getElement(0) + 1);
    llvm::StringMap<HostTensor> outputs;
    outputs["loss"] = HostTensor::scalar(ElementType::F32, loss / count);
    return std::move(outputs);
  }
  size_t arenaBytes() const override { return 0; }
  size_t stateBytes() const override { return 12; }

private:
  std::vector<TensorInfo> arguments;
  std::vector<ResultInfo> results;
  std::map<std::string, HostTensor> state;
};

} // namespace mpt::test

#endif // MPT_TEST_UNITTESTS_HOST_FAKEENGINE_H
