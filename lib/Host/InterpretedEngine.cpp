//===- InterpretedEngine.cpp - A function evaluated op by op ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/InterpretedEngine.h"

using namespace mpt;

llvm::FailureOr<std::unique_ptr<StepEngine>>
InterpretedEngine::create(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef name,
                          Evaluate evaluate) {
  auto function = module->lookupSymbol<mlir::func::FuncOp>(name);
  if (!function)
    return module->emitError() << "expected a function @" << name;
  auto signature = readStepSignature(function);
  if (llvm::failed(signature))
    return llvm::failure();
  if (signature->isDynamic())
    return function.emitError("expected static shapes; --mpt-specialize sets "
                              "an open dimension 0");
  std::unique_ptr<InterpretedEngine> engine(new InterpretedEngine());
  engine->module = std::move(module);
  engine->function = function;
  engine->signature = std::move(*signature);
  engine->evaluate = std::move(evaluate);
  return std::unique_ptr<StepEngine>(std::move(engine));
}

llvm::Expected<const TensorInfo *>
InterpretedEngine::findState(llvm::StringRef name) const {
  for (const TensorInfo &argument : signature.arguments)
    if (argument.name == name && isStateRole(argument.role))
      return &argument;
  return llvm::createStringError("no state '" + name + "'");
}

llvm::Expected<HostTensor> InterpretedEngine::readState(llvm::StringRef name) const {
  auto info = findState(name);
  if (!info)
    return info.takeError();
  auto it = state.find(name);
  if (it == state.end())
    return HostTensor::create((*info)->type, (*info)->shape);
  if (it->second.getElementType() == (*info)->type)
    return it->second;
  auto result = HostTensor::create((*info)->type, (*info)->shape);
  if (result)
    for (int64_t i = 0, e = result->getNumElements(); i < e; ++i)
      result->setElement(i, it->second.getElement(i));
  return result;
}

llvm::Error InterpretedEngine::writeState(llvm::StringRef name, const HostTensor &value) {
  auto info = findState(name);
  if (!info)
    return info.takeError();
  if (value.getElementType() != (*info)->type ||
      value.getShape() != llvm::ArrayRef<int64_t>((*info)->shape))
    return llvm::createStringError("expected '" + name + "' to be " +
                                   describeTensorType((*info)->type, (*info)->shape) +
                                   ", found " + value.describe());
  state[name] = value;
  return llvm::Error::success();
}

size_t InterpretedEngine::stateBytes() const {
  size_t bytes = 0;
  for (const auto &entry : state)
    bytes += entry.second.getByteSize();
  return bytes;
}

llvm::Expected<llvm::StringMap<HostTensor>>
InterpretedEngine::run(const llvm::StringMap<const HostTensor *> &inputs) {
  std::vector<const HostTensor *> arguments;
  for (const TensorInfo &argument : signature.arguments) {
    const HostTensor *value = nullptr;
    if (isStateRole(argument.role)) {
      auto it = state.find(argument.name);
      value = it == state.end() ? nullptr : &it->second;
    } else {
      value = inputs.lookup(argument.name);
    }
    if (!value)
      return llvm::createStringError("'" + argument.name + "' has no value");
    arguments.push_back(value);
  }
  auto results = evaluate(function, arguments);
  if (!results)
    return results.takeError();
  llvm::StringMap<HostTensor> outputs;
  for (auto [info, value] : llvm::zip_equal(signature.results, *results)) {
    if (info.updates.empty())
      outputs[info.name] = std::move(value);
    else
      state[info.updates] = std::move(value);
  }
  return std::move(outputs);
}
