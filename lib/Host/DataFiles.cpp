//===- DataFiles.cpp - Data sets for a function's inputs --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/DataFiles.h"
#include "mpt/Host/NumpyIO.h"
#include "mpt/Host/SafetensorsIO.h"
#include "mpt/Support/FileIO.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpt;

std::string mpt::findNearest(llvm::StringRef name,
                             llvm::ArrayRef<std::string> candidates) {
  unsigned best = std::max<size_t>(2, name.size() / 3) + 1;
  std::string nearest;
  for (const std::string &candidate : candidates) {
    unsigned distance = name.edit_distance(candidate, true, best);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

llvm::Expected<DataSpec> mpt::parseDataSpec(llvm::StringRef option,
                                            llvm::StringRef text) {
  auto [name, file] = text.split('=');
  if (name.empty() || file.empty())
    return llvm::createStringError(option + " " + text + ": expected NAME=FILE");
  DataSpec spec;
  spec.name = name.str();
  for (llvm::StringRef extension : {".npz:", ".safetensors:"}) {
    size_t at = file.find(extension);
    if (at == llvm::StringRef::npos)
      continue;
    spec.path = file.take_front(at + extension.size() - 1).str();
    spec.member = file.drop_front(at + extension.size()).str();
    if (spec.member.empty())
      return llvm::createStringError(option + " " + text + ": expected a name after ':'");
    return spec;
  }
  spec.path = file.str();
  if (!file.ends_with(".npy") && !file.ends_with(".npz") &&
      !file.ends_with(".safetensors"))
    return llvm::createStringError(
        option + " " + text + ": expected a .npy, .npz or .safetensors file, found '" +
        file + "'");
  return spec;
}

llvm::Expected<HostTensor> mpt::readDataFile(const DataSpec &spec) {
  llvm::StringRef path = spec.path;
  if (path.ends_with(".npy"))
    return readNpy(path);
  if (path.ends_with(".npz"))
    return readNpz(path, spec.member);
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  return file->read(spec.member);
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

/// "f32[?, 64]".
static std::string describeArgument(const TensorInfo &argument) {
  std::string text = stringifyElementType(argument.type).str();
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(argument.shape, os, [&](int64_t size) {
    if (size == kDynamicSize)
      os << '?';
    else
      os << size;
  });
  os << ']';
  return text;
}

static llvm::StringRef getNumpyName(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return "float64";
  case ElementType::F32:
    return "float32";
  case ElementType::F16:
    return "float16";
  case ElementType::I64:
    return "int64";
  case ElementType::I32:
    return "int32";
  case ElementType::I16:
    return "int16";
  case ElementType::I8:
    return "int8";
  case ElementType::U8:
    return "uint8";
  case ElementType::I1:
    return "bool";
  case ElementType::BF16:
  case ElementType::F8E4M3FN:
  case ElementType::F8E5M2:
    break;
  }
  return "";
}

static llvm::Error checkTensor(const TensorInfo &argument, const DataSpec &spec,
                               const HostTensor &data) {
  llvm::ArrayRef<int64_t> expected = argument.shape, found = data.getShape();
  std::string mismatch = "expected " + describeArgument(argument) + " for '" +
                         argument.name + "', found " + data.describe();
  if (data.getElementType() != argument.type) {
    llvm::StringRef numpy = getNumpyName(argument.type);
    return createFileMessage(spec.getSource(),
                             mismatch + (numpy.empty() ? ""
                                                       : "; convert it, for example with "
                                                         "array.astype('" +
                                                             numpy.str() + "')"));
  }
  if (expected.size() != found.size() ||
      (!expected.empty() && expected.drop_front() != found.drop_front()))
    return createFileMessage(spec.getSource(), mismatch);
  if (std::string bad = data.describeNonFinite(); !bad.empty())
    return createFileMessage(spec.getSource(), "expected finite numbers for '" +
                                                   argument.name + "', found " + bad);
  return llvm::Error::success();
}

llvm::Expected<BoundData> mpt::bindData(llvm::ArrayRef<TensorInfo> arguments,
                                        llvm::StringRef option,
                                        llvm::ArrayRef<DataSpec> specs,
                                        int64_t requestedBatch,
                                        llvm::ArrayRef<std::string> whole) {
  std::vector<std::string> names;
  for (const TensorInfo &argument : arguments)
    if (!isStateRole(argument.role))
      names.push_back(argument.name);
  for (const std::string &name : names)
    if (llvm::is_contained(name, '='))
      return llvm::createStringError("input '" + name + "': " + option +
                                     " NAME=FILE ends NAME at the first '='; rename it");
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!llvm::is_contained(names, specs[i].name)) {
      std::string nearest = findNearest(specs[i].name, names);
      return llvm::createStringError(
          option + " " + specs[i].name + ": the function has no such input; " +
          (nearest.empty()
               ? (names.empty() ? "it has none" : "it has " + llvm::join(names, ", "))
               : "did you mean '" + nearest + "'?"));
    }
    for (size_t j = 0; j < i; ++j)
      if (specs[i].name == specs[j].name)
        return llvm::createStringError(option + " " + specs[i].name + ": given twice");
  }

  struct Input {
    const TensorInfo *argument;
    const DataSpec *spec;
    HostTensor data;
    /// Has exactly the argument's static shape.
    bool fits;
    bool whole;
  };
  std::vector<Input> inputs;
  int64_t batch = requestedBatch;
  const TensorInfo *batchOwner = nullptr;
  for (const TensorInfo &argument : arguments) {
    if (isStateRole(argument.role))
      continue;
    const DataSpec *spec = llvm::find_if(specs, [&](const DataSpec &candidate) {
      return candidate.name == argument.name;
    });
    if (spec == specs.end())
      return llvm::createStringError("missing data for '" + argument.name + "' (" +
                                     describeArgument(argument) + "): give " + option +
                                     " " + argument.name + "=FILE");
    auto data = readDataFile(*spec);
    if (!data)
      return data.takeError();
    if (llvm::Error error = checkTensor(argument, *spec, *data))
      return std::move(error);
    bool fits = data->getShape() == llvm::ArrayRef<int64_t>(argument.shape);
    bool isWhole = llvm::is_contained(whole, argument.name);
    if (isWhole && !fits)
      return createFileMessage(spec->getSource(),
                               "expected " + describeArgument(argument) + " for '" +
                                   argument.name + "', which --whole names, found " +
                                   data->describe() +
                                   (llvm::is_contained(argument.shape, kDynamicSize)
                                        ? "; an input of --whole has a fixed size"
                                        : ""));
    if (!fits && argument.shape[0] != kDynamicSize) {
      if (batch && batch != argument.shape[0])
        return llvm::createStringError(
            "'" + argument.name + "' is " + describeArgument(argument) +
            ", which fixes the batch to " + llvm::Twine(argument.shape[0]) + "; " +
            (batchOwner
                 ? "'" + batchOwner->name + "' fixes it to " + std::to_string(batch)
                 : "the batch asked for is " + std::to_string(batch)));
      batch = argument.shape[0];
      batchOwner = &argument;
    }
    inputs.push_back({&argument, spec, std::move(*data), fits, isWhole});
  }

  // Without a word of user or function, a batch is the whole data set.
  bool byRows = batchOwner != nullptr, isOpen = false;
  for (const Input &input : inputs)
    if (!input.fits && input.argument->shape[0] == kDynamicSize) {
      byRows = isOpen = true;
      if (!batch)
        batch = input.data.getShape()[0];
    }

  BoundData bound;
  const Input *first = nullptr;
  for (Input &input : inputs) {
    input.whole |= input.fits && (!byRows || input.data.getRank() == 0 ||
                                  input.data.getShape()[0] != batch ||
                                  (isOpen && input.argument->role == Role::Input));
    if (!input.whole) {
      int64_t rows = input.data.getShape()[0];
      if (first && rows != first->data.getShape()[0]) {
        // A table whose first dimension happens to be the batch is one of the two.
        const Input *table = input.fits ? &input : first->fits ? first : nullptr;
        return createFileMessage(
            input.spec->getSource(),
            "expected " + llvm::Twine(first->data.getShape()[0]) + " rows as in " +
                first->spec->getSource() + ", found " + llvm::Twine(rows) +
                (table ? "; if every step reads all of '" + table->argument->name +
                             "', give --whole=" + table->argument->name
                       : ""));
      }
      if (rows < batch || rows == 0)
        return createFileMessage(input.spec->getSource(),
                                 "expected at least one batch of " +
                                     llvm::Twine(std::max<int64_t>(batch, 1)) +
                                     " rows, found " + llvm::Twine(rows));
      if (!first)
        first = &input;
    }
  }
  for (Input &input : inputs)
    bound.fields.push_back({input.argument->name, std::move(input.data), input.whole,
                            input.spec->getSource()});
  bound.batch = byRows ? batch : 0;
  return std::move(bound);
}
