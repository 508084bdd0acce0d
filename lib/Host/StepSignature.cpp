//===- StepSignature.cpp - The step ABI read from IR ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepSignature.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Host/DataFiles.h"
#include "mpt/Host/MetricsLog.h"
#include "llvm/ADT/STLExtras.h"
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
// mpt.init
//===----------------------------------------------------------------------===//

namespace {
/// One field of a scheme and where its value goes.
struct InitField {
  llvm::StringRef name;
  double *number = nullptr;
  int64_t *integer = nullptr;
};
} // namespace

FailureOr<InitSpec>
mpt::parseInitAttribute(DictionaryAttr attribute,
                        llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto kindName = attribute.getAs<StringAttr>("kind");
  if (!kindName)
    return emitError() << kInitAttr << ": expected a string 'kind'";
  std::optional<InitKind> kind = parseInitKind(kindName.getValue());
  if (!kind)
    return emitError() << kInitAttr << ": unknown kind '" << kindName.getValue()
                       << "'; known are zeros, ones, constant, uniform, "
                          "normal, trunc_normal, kaiming_uniform and "
                          "xavier_uniform";
  InitSpec spec;
  spec.kind = *kind;
  llvm::SmallVector<InitField> fields;
  switch (*kind) {
  case InitKind::Zeros:
  case InitKind::Ones:
    break;
  case InitKind::Constant:
    fields = {{"value", &spec.value}};
    break;
  case InitKind::Uniform:
    fields = {{"low", &spec.low}, {"high", &spec.high}};
    break;
  case InitKind::Normal:
  case InitKind::TruncNormal:
    fields = {{"mean", &spec.mean}, {"std", &spec.std}};
    break;
  case InitKind::KaimingUniform:
    fields = {{"fan_in", nullptr, &spec.fanIn}};
    break;
  case InitKind::XavierUniform:
    fields = {{"fan_in", nullptr, &spec.fanIn},
              {"fan_out", nullptr, &spec.fanOut}};
    break;
  }
  for (const InitField &field : fields) {
    Attribute value = attribute.get(field.name);
    auto number = dyn_cast_or_null<FloatAttr>(value);
    auto integer = dyn_cast_or_null<IntegerAttr>(value);
    if (field.number && number)
      *field.number = number.getValueAsDouble();
    else if (integer && integer.getType().isSignlessInteger(64))
      field.number ? void(*field.number = integer.getInt())
                   : void(*field.integer = integer.getInt());
    else
      return emitError() << kInitAttr << " kind '" << kindName.getValue()
                         << "': expected "
                         << (field.number ? "a number" : "an i64") << " '"
                         << field.name << "'";
  }
  for (NamedAttribute entry : attribute)
    if (entry.getName() != "kind" &&
        llvm::none_of(fields, [&](const InitField &field) {
          return field.name == entry.getName().getValue();
        }))
      return emitError() << kInitAttr << " kind '" << kindName.getValue()
                         << "': unknown field '" << entry.getName().getValue() << "'";
  if (llvm::Error error = verifyInitSpec(spec))
    return emitError() << kInitAttr << ": " << llvm::toString(std::move(error));
  return spec;
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
static LogicalResult
readTensor(Type type, DictionaryAttr attributes, llvm::StringSet<> &names,
           llvm::function_ref<InFlightDiagnostic()> emitError, Info &info) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<ElementType> element =
      tensor ? convertElementType(tensor.getElementType()) : std::nullopt;
  if (!element)
    return emitError() << "expected a ranked tensor of a type that the host "
                          "can hold, found "
                       << type;
  auto name = attributes ? attributes.getAs<StringAttr>(kNameAttr) : nullptr;
  if (!name || name.getValue().empty())
    return emitError() << "expected a name in " << kNameAttr;
  if (!names.insert(name.getValue()).second)
    return emitError() << "expected a unique " << kNameAttr << ", found '"
                       << name.getValue() << "' twice";
  for (auto [dimension, size] : llvm::enumerate(tensor.getShape())) {
    bool isOpen = ShapedType::isDynamic(size);
    if (isOpen && dimension != 0)
      return emitError() << "expected static sizes behind dimension 0, found "
                         << type;
    info.shape.push_back(isOpen ? kDynamicSize : size);
  }
  info.name = name.getValue().str();
  info.type = *element;
  return success();
}

FailureOr<StepSignature> mpt::readStepSignature(func::FuncOp function) {
  StepSignature signature;
  llvm::StringSet<> argumentNames, resultNames;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    auto emitError = [&]() -> InFlightDiagnostic {
      return mlir::emitError(getArgumentLocation(function, i))
             << "argument " << i << " of @" << function.getName() << ": ";
    };
    DictionaryAttr attributes = function.getArgAttrDict(i);
    TensorInfo info;
    if (failed(readTensor(function.getArgumentTypes()[i], attributes,
                          argumentNames, emitError, info)))
      return failure();
    auto roleName = attributes.getAs<StringAttr>(kRoleAttr);
    std::optional<Role> role =
        roleName ? parseRole(roleName.getValue()) : std::nullopt;
    if (!role)
      return emitError() << "expected " << kRoleAttr
                         << " to be parameter, optimizer_state, running_stat, "
                            "loss_scale, rng, schedule, input or target";
    info.role = *role;
    if (Attribute init = attributes.get(kInitAttr)) {
      auto dictionary = dyn_cast<DictionaryAttr>(init);
      if (!dictionary)
        return emitError() << "expected " << kInitAttr
                           << " to be a dictionary, found " << init;
      auto spec = parseInitAttribute(dictionary, emitError);
      if (failed(spec))
        return failure();
      info.init = *spec;
    }
    auto master = attributes.getAs<StringAttr>(kMasterAttr);
    info.hasMaster = master && master.getValue() != "none";
    if (auto lowOf = attributes.getAs<StringAttr>(kLowOfAttr))
      info.lowOf = lowOf.getValue().str();
    if (isStateRole(info.role) && llvm::is_contained(info.shape, kDynamicSize))
      return emitError() << "expected a static shape for a "
                         << stringifyRole(info.role) << ", found "
                         << function.getArgumentTypes()[i];
    signature.arguments.push_back(std::move(info));
  }
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    auto emitError = [&]() -> InFlightDiagnostic {
      return mlir::emitError(getResultLocation(function))
             << "result " << i << " of @" << function.getName() << ": ";
    };
    DictionaryAttr attributes = function.getResultAttrDict(i);
    ResultInfo info;
    if (failed(readTensor(function.getResultTypes()[i], attributes, resultNames,
                          emitError, info)))
      return failure();
    if (auto updates = attributes.getAs<StringAttr>(kUpdatesAttr)) {
      auto argument =
          llvm::find_if(signature.arguments, [&](const TensorInfo &candidate) {
            return candidate.name == updates.getValue();
          });
      if (argument == signature.arguments.end())
        return emitError() << kUpdatesAttr << " names '" << updates.getValue()
                           << "', which is no argument";
      if (argument->type != info.type || argument->shape != info.shape)
        return emitError() << "expected the type of '" << argument->name
                           << "', which it updates, found "
                           << function.getResultTypes()[i];
      info.updates = argument->name;
    }
    signature.results.push_back(std::move(info));
  }
  return signature;
}

std::string mpt::computeStepDigest(func::FuncOp function) {
  std::string text;
  llvm::raw_string_ostream os(text);
  function.print(os);
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

llvm::Expected<func::FuncOp> mpt::findFunction(ModuleOp module,
                                               llvm::StringRef option,
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
  std::string list = names.empty() ? "none" : "@" + llvm::join(names, ", @");
  if (!name.empty() && !found)
    return llvm::createStringError(
        option + "=" + name + ": no such function in the model; found " + list);
  if (found)
    return found;
  if (names.size() == 1 || (loss && loss.getName() == "loss"))
    return loss;
  return llvm::createStringError(
      "expected one function or one called @loss in the model, found " + list +
      "; choose one with " + option);
}
