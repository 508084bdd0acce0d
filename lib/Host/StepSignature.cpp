//===- StepSignature.cpp - The step ABI read from IR ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepSignature.h"
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Host/DataFiles.h"
#include "mpt/Host/MetricsLog.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mpt;

std::optional<ElementType> mpt::convertElementType(Type type) {
  if (type.isF64())
    return ElementType::F64;
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (isa<Float8E4M3FNType>(type))
    return ElementType::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return ElementType::F8E5M2;
  if (type.isSignlessInteger(64))
    return ElementType::I64;
  if (type.isSignlessInteger(32))
    return ElementType::I32;
  if (type.isSignlessInteger(16))
    return ElementType::I16;
  if (type.isSignlessInteger(8))
    return ElementType::I8;
  if (type.isUnsignedInteger(8))
    return ElementType::U8;
  if (type.isSignlessInteger(1))
    return ElementType::I1;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

bool StepSignature::isStep() const {
  bool hasParameters = false;
  llvm::StringSet<> trained;
  for (const TensorInfo &argument : arguments) {
    hasParameters |= argument.role == Role::Parameter;
    if (argument.role == Role::Parameter || argument.role == Role::OptimizerState ||
        argument.role == Role::LossScale)
      trained.insert(argument.name);
  }
  return llvm::any_of(results, [&](const ResultInfo &result) {
    return !result.updates.empty() &&
           (!hasParameters || trained.contains(result.updates));
  });
}

bool StepSignature::isDynamic() const {
  return llvm::any_of(arguments, [](const TensorInfo &argument) {
    return !argument.shape.empty() && argument.shape[0] == kDynamicSize;
  });
}

/// Checks what arguments and results have in common and fills it in.
template <typename Info>
static LogicalResult readTensor(Type type, StringAttr name,
                                llvm::function_ref<InFlightDiagnostic()> emitError,
                                Info &info) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<ElementType> element =
      tensor ? convertElementType(tensor.getElementType()) : std::nullopt;
  if (!element) {
    InFlightDiagnostic error = emitError();
    error << "expected a ranked tensor of a type that the host can hold, found " << type;
    if (tensor && isa<Float4E2M1FNType, Float8E8M0FNUType>(tensor.getElementType()))
      error << "; it is a type of values inside of a step: take and give f32, f16 or "
               "bf16, with mpt.quantize and mpt.dequantize between";
    return error;
  }
  if (!name || name.getValue().empty())
    return emitError() << "expected a name in " << kNameAttr;
  for (auto [dimension, size] : llvm::enumerate(tensor.getShape())) {
    bool isOpen = ShapedType::isDynamic(size);
    if (isOpen && dimension != 0)
      return emitError() << "expected static sizes after dimension 0, found " << type;
    info.shape.push_back(isOpen ? kDynamicSize : size);
  }
  info.name = name.getValue().str();
  info.type = *element;
  return success();
}

FailureOr<StepSignature> mpt::readStepSignature(func::FuncOp function) {
  StepSignature signature;
  StepView step(function);
  for (auto [i, argument] : llvm::enumerate(step.getArguments())) {
    auto emitError = [&, i = i]() -> InFlightDiagnostic {
      return mlir::emitError(getArgumentLocation(function, i))
             << "argument " << i << " of @" << function.getName() << ": ";
    };
    TensorInfo info;
    Type type = function.getArgumentTypes()[i];
    if (failed(readTensor(type, argument.name, emitError, info)))
      return failure();
    if (!argument.role)
      return emitError() << "expected " << kRoleAttr
                         << " to be parameter, optimizer_state, running_stat, "
                            "loss_scale, rng, schedule, input or target";
    info.role = *argument.role;
    if (argument.init)
      info.init = argument.init.getSpec();
    info.hasMaster = argument.hasMaster();
    if (argument.lowOf)
      info.lowOf = argument.lowOf.getValue().str();
    if (auto shards = getShards(function, i)) {
      info.shards = std::make_shared<const ShardLayout>(std::move(shards->layout));
      info.shardSuffix = std::move(shards->suffix);
    }
    if (isStateRole(info.role) && llvm::is_contained(info.shape, kDynamicSize))
      return emitError() << "expected a static shape for a "
                         << StringRef(stringifyRole(info.role)) << ", found " << type;
    signature.arguments.push_back(std::move(info));
  }
  for (auto [i, result] : llvm::enumerate(step.getResults())) {
    auto emitError = [&, i = i]() -> InFlightDiagnostic {
      return mlir::emitError(getResultLocation(function))
             << "result " << i << " of @" << function.getName() << ": ";
    };
    ResultInfo info;
    if (failed(readTensor(function.getResultTypes()[i], result.name, emitError, info)))
      return failure();
    if (result.updates)
      info.updates = signature.arguments[*result.updates].name;
    signature.results.push_back(std::move(info));
  }
  return signature;
}

std::string mpt::computeStepDigest(func::FuncOp function) {
  func::FuncOp copy = function.clone();
  llvm::scope_exit erase([&] { copy.erase(); });
  copy->removeAttr(kBudgetAttr);
  copy->removeAttr(kMemoryOrderAttr);
  for (unsigned i = 0; i < copy.getNumArguments(); ++i)
    if (StepView::getRole(copy, i) == Role::Schedule)
      copy.removeArgAttr(i, kInitAttr);
  std::string text;
  llvm::raw_string_ostream os(text);
  copy.print(os);
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

LogicalResult mpt::checkMetricNames(func::FuncOp function,
                                    const StepSignature &signature) {
  for (auto [i, result] : llvm::enumerate(signature.results))
    if (llvm::StringRef taken = findMetricsClash(signature.arguments, result);
        !taken.empty())
      return mlir::emitError(getResultLocation(function))
             << "result " << i << " of @" << function.getName() << ": " << kNameAttr
             << " = \"" << result.name << "\" is " << taken << "; rename it";
  return success();
}

llvm::Expected<func::FuncOp> mpt::findFunction(ModuleOp module, llvm::StringRef option,
                                               llvm::StringRef name) {
  std::vector<std::string> names;
  func::FuncOp found, loss;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    names.push_back(function.getName().str());
    if (function.getName() == name)
      found = function;
    if (function.getName() == "loss" || names.size() == 1)
      loss = function;
  }
  auto file = LocationAttr(module.getLoc()).findInstanceOf<FileLineColLoc>();
  std::string model = file ? file.getFilename().str() : "the module";
  std::string list = names.empty() ? "none" : "@" + llvm::join(names, ", @");
  if (!name.empty() && !found)
    return llvm::createStringError(option + "=" + name + ": no such function in " +
                                   model + "; found " + list);
  if (found)
    return found;
  if (names.size() == 1 || (loss && loss.getName() == "loss"))
    return loss;
  if (names.empty())
    return llvm::createStringError("expected a function in " + model + ", found none");
  return llvm::createStringError("expected one function or one called @loss in " + model +
                                 ", found " + list + "; choose one with " + option);
}
