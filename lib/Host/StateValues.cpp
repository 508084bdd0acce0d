//===- StateValues.cpp - First and present values of state ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StateValues.h"
#include "mpt/ProgramABI/InitialValues.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/NumberToString.h"
#include "llvm/ADT/STLExtras.h"

using namespace mpt;

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static llvm::Expected<HostTensor> convert(const HostTensor &from, ElementType type) {
  auto to = HostTensor::create(type, from.getShape());
  if (!to)
    return to.takeError();
  for (int64_t i = 0, e = from.getNumElements(); i < e; ++i)
    to->setElement(i, from.getElement(i));
  return std::move(*to);
}

llvm::Expected<HostTensor> mpt::joinHalves(const HostTensor &high,
                                           const HostTensor &low) {
  auto wide = HostTensor::create(ElementType::F32, high.getShape());
  if (!wide)
    return wide.takeError();
  const auto *upper = static_cast<const uint16_t *>(high.getData());
  const auto *lower = static_cast<const int16_t *>(low.getData());
  auto *bits = static_cast<uint32_t *>(wide->getData());
  for (int64_t i = 0, e = high.getNumElements(); i < e; ++i)
    bits[i] = (static_cast<uint32_t>(upper[i]) << 16) + static_cast<uint32_t>(lower[i]);
  return std::move(*wide);
}

llvm::Expected<std::pair<HostTensor, HostTensor>>
mpt::splitHalves(const HostTensor &wide) {
  auto high = HostTensor::create(ElementType::BF16, wide.getShape());
  if (!high)
    return high.takeError();
  auto low = HostTensor::create(ElementType::I16, wide.getShape());
  if (!low)
    return low.takeError();
  rt::splitHalves(static_cast<const float *>(wide.getData()), wide.getNumElements(),
                  static_cast<uint16_t *>(high->getData()),
                  static_cast<uint16_t *>(low->getData()));
  return std::make_pair(std::move(*high), std::move(*low));
}

/// The argument that holds the lower halves of `parameter`, or null.
static const TensorInfo *findLow(const StepEngine &engine, llvm::StringRef parameter) {
  const TensorInfo *found =
      llvm::find_if(engine.getArguments(), [&](const TensorInfo &argument) {
        return !parameter.empty() && argument.lowOf == parameter;
      });
  return found == engine.getArguments().end() ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

namespace {
class Initializer {
public:
  Initializer(StepEngine &engine, uint64_t seed,
              const std::map<std::string, HostTensor> &values, llvm::StringRef source)
      : engine(engine), seed(seed), values(values), source(source) {}

  llvm::Error run();
  /// Sets the values that the user gave, and no others.
  llvm::Error runGiven();

private:
  llvm::Error checkNames();
  /// Sets a value that the user gave.
  llvm::Error writeGiven(const TensorInfo &argument, const HostTensor &given);
  /// Sets the value that the seed or `mpt.init` say.
  llvm::Error writeFirst(const TensorInfo &argument);
  /// Sets a parameter and its lower halves.
  llvm::Error writeHalves(const TensorInfo &argument, const HostTensor &wide);

  StepEngine &engine;
  uint64_t seed;
  const std::map<std::string, HostTensor> &values;
  llvm::StringRef source;
  /// The engine has first values of its own.
  bool hasOwnValues = false;
  /// Whether what begins as zeros is zeros, so that large state is not written in vain.
  bool isUntouched = false;
};
} // namespace

llvm::Error Initializer::checkNames() {
  for (const auto &entry : values)
    if (llvm::none_of(engine.getArguments(), [&](const TensorInfo &argument) {
          return argument.name == entry.first && isStateRole(argument.role);
        }))
      return createFileMessage(source, "found '" + entry.first +
                                           "', which is not state of the step "
                                           "function");
  return llvm::Error::success();
}

llvm::Error Initializer::writeHalves(const TensorInfo &argument, const HostTensor &wide) {
  auto halves = splitHalves(wide);
  if (!halves)
    return halves.takeError();
  if (llvm::Error error = engine.writeState(argument.name, halves->first))
    return error;
  return engine.writeState(findLow(engine, argument.name)->name, halves->second);
}

llvm::Error Initializer::writeGiven(const TensorInfo &argument, const HostTensor &given) {
  bool fits = given.getShape() == llvm::ArrayRef<int64_t>(argument.shape);
  bool isOfType = given.getElementType() == argument.type;
  bool converts = argument.hasMaster && isFloatType(given.getElementType());
  if (!fits || !(isOfType || converts))
    return createFileMessage(source,
                             "expected '" + argument.name + "' to be " +
                                 describeTensorType(argument.type, argument.shape) +
                                 ", found " + given.describe());
  if (std::string bad = given.describeNonFinite(); !bad.empty())
    return createFileMessage(source, "expected finite numbers for '" + argument.name +
                                         "', found " + bad);
  if (isOfType)
    return engine.writeState(argument.name, given);
  const TensorInfo *low = findLow(engine, argument.name);
  auto converted = convert(given, low ? ElementType::F32 : argument.type);
  if (!converted)
    return converted.takeError();
  if (auto position = converted->findNonFinite())
    return createFileMessage(
        source, "expected numbers for '" + argument.name + "' that " +
                    stringifyElementType(converted->getElementType()) +
                    " can hold, found " + numberToString(given.getElement(*position)));
  return low ? writeHalves(argument, *converted)
             : engine.writeState(argument.name, *converted);
}

llvm::Error Initializer::writeFirst(const TensorInfo &argument) {
  const bool isSeed = argument.role == Role::Rng && argument.name == "seed" &&
                      argument.type == ElementType::I64 && argument.shape.empty();
  if (hasOwnValues && !isSeed)
    return engine.checkHasValue(argument.name);
  if (isUntouched && !isSeed &&
      (argument.init ? argument.init->kind == InitKind::Zeros
                     : beginsAsZeros(argument.role)))
    return llvm::Error::success();
  const bool isSplit = findLow(engine, argument.name) && argument.init;
  auto tensor =
      HostTensor::create(isSplit ? ElementType::F32 : argument.type, argument.shape);
  if (!tensor)
    return tensor.takeError();
  if (isSeed) {
    *tensor = HostTensor::scalarI64(static_cast<int64_t>(seed));
  } else if (argument.init) {
    if (llvm::Error error = initializeTensor(*tensor, *argument.init, seed, argument.name,
                                             engine.getNumThreads()))
      return llvm::createStringError("'" + argument.name +
                                     "': " + llvm::toString(std::move(error)));
  } else if (!beginsAsZeros(argument.role)) {
    return llvm::createStringError(
        "'" + argument.name + "' (" + llvm::StringRef(stringifyRole(argument.role)) +
        ", " + tensor->describe() +
        ") has no first value: add mpt.init to the argument or give one in "
        "a file with --init");
  }
  return isSplit ? writeHalves(argument, *tensor)
                 : engine.writeState(argument.name, *tensor);
}

llvm::Error Initializer::run() {
  if (llvm::Error error = checkNames())
    return error;
  // Before the first is written.
  isUntouched = engine.isUntouched();
  auto initialized = engine.initialize(seed);
  if (!initialized)
    return initialized.takeError();
  hasOwnValues = *initialized;
  // Lower halves first: their parameter may set them again.
  for (bool isLow : {true, false})
    for (const TensorInfo &argument : engine.getArguments()) {
      if (!isStateRole(argument.role) || argument.lowOf.empty() == isLow)
        continue;
      auto given = values.find(argument.name);
      if (llvm::Error error = given != values.end() ? writeGiven(argument, given->second)
                                                    : writeFirst(argument))
        return error;
    }
  return llvm::Error::success();
}

llvm::Error Initializer::runGiven() {
  if (llvm::Error error = checkNames())
    return error;
  // Lower halves first: their parameter may set them again.
  for (bool isLow : {true, false})
    for (const TensorInfo &argument : engine.getArguments())
      if (auto given = values.find(argument.name);
          given != values.end() && argument.lowOf.empty() != isLow)
        if (llvm::Error error = writeGiven(argument, given->second))
          return error;
  return llvm::Error::success();
}

llvm::Error mpt::writeStateValues(StepEngine &engine,
                                  const std::map<std::string, HostTensor> &values,
                                  llvm::StringRef source) {
  return Initializer(engine, 0, values, source).runGiven();
}

llvm::Error mpt::initializeState(StepEngine &engine, uint64_t seed,
                                 const std::map<std::string, HostTensor> &values,
                                 llvm::StringRef source) {
  return Initializer(engine, seed, values, source).run();
}

//===----------------------------------------------------------------------===//
// Present values
//===----------------------------------------------------------------------===//

llvm::Expected<HostTensor> mpt::readParameter(const StepEngine &engine,
                                              const TensorInfo &wanted) {
  auto value = engine.readState(wanted.name);
  if (!value)
    return value;
  const TensorInfo *stored =
      llvm::find_if(engine.getArguments(), [&](const TensorInfo &argument) {
        return argument.name == wanted.name;
      });
  if (stored == engine.getArguments().end() || !stored->hasMaster)
    return value;
  if (const TensorInfo *low = findLow(engine, wanted.name)) {
    auto rest = engine.readState(low->name);
    if (!rest)
      return rest;
    value = joinHalves(*value, *rest);
    if (!value)
      return value;
  }
  if (value->getElementType() == wanted.type || !isFloatType(wanted.type))
    return value;
  return convert(*value, wanted.type);
}
