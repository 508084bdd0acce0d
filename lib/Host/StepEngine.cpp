//===- StepEngine.cpp - The interface of engines ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepEngine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpt;

StepEngine::~StepEngine() = default;
StateSnapshot::~StateSnapshot() = default;

llvm::Error StepEngine::watch(std::vector<std::string> names) {
  for (const std::string &name : names)
    if (auto value = readState(name); !value)
      return value.takeError();
  watched = std::move(names);
  return llvm::Error::success();
}

llvm::Error StepEngine::begin(const llvm::StringMap<const HostTensor *> &inputs) {
  auto outputs = run(inputs);
  if (!outputs)
    return outputs.takeError();
  begun = std::move(*outputs);
  return llvm::Error::success();
}

llvm::Expected<StepResults> StepEngine::finish() {
  if (!begun)
    return llvm::createStringError("no run is under way");
  StepResults results{std::move(*begun), {}};
  begun.reset();
  for (const std::string &name : watched) {
    auto value = readState(name);
    if (!value)
      return value.takeError();
    results.state[name] = std::move(*value);
  }
  return std::move(results);
}

namespace {
/// Copies of state.
class CopiedState : public StateSnapshot {
public:
  llvm::Expected<HostTensor> readState(llvm::StringRef name) override {
    auto it = values.find(name);
    if (it == values.end())
      return llvm::createStringError("there is no state named '" + name + "'");
    HostTensor value = std::move(it->second);
    values.erase(it);
    return std::move(value);
  }
  llvm::StringMap<HostTensor> values;
};
} // namespace

llvm::Expected<std::unique_ptr<StateSnapshot>> StepEngine::takeSnapshot() const {
  auto snapshot = std::make_unique<CopiedState>();
  for (const TensorInfo &argument : getArguments()) {
    if (!isStateRole(argument.role) || argument.isShared)
      continue;
    auto value = readState(argument.name);
    if (!value)
      return value.takeError();
    snapshot->values[argument.name] = std::move(*value);
  }
  return snapshot;
}

char BadIndexError::ID = 0;

void BadIndexError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code BadIndexError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}
