//===- MetricsLog.cpp - Metrics as JSON lines -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/MetricsLog.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/Interrupts.h"
#include "mpt/Support/ParseJSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpt;

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

template <typename T>
static std::string formatFloat(T value) {
  if (std::isnan(value))
    return "\"NaN\"";
  if (std::isinf(value))
    return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  char text[40];
  auto result = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, result.ptr);
}

std::string mpt::formatElement(const HostTensor &tensor, int64_t index) {
  ElementType type = tensor.getElementType();
  if (type == ElementType::I64) {
    int64_t value;
    std::memcpy(&value, tensor.getBytes().data() + index * sizeof(value), sizeof(value));
    return std::to_string(value);
  }
  double value = tensor.getElement(index);
  if (type == ElementType::I1)
    return value != 0 ? "true" : "false";
  if (!isFloatType(type))
    return std::to_string(static_cast<int64_t>(value));
  return type == ElementType::F64 ? formatFloat(value)
                                  : formatFloat(static_cast<float>(value));
}

llvm::StringRef mpt::findMetricsClash(llvm::ArrayRef<TensorInfo> arguments,
                                      const ResultInfo &result) {
  if (!result.updates.empty() || !result.shape.empty())
    return "";
  llvm::StringRef name = result.name;
  if (llvm::is_contained(kMetricsColumns, name))
    return "a column of the metrics";
  if (name.starts_with(kEvaluationPrefix))
    return "the prefix of evaluation's columns in the metrics";
  if (llvm::any_of(arguments, [&](const TensorInfo &argument) {
        return argument.role == Role::LossScale && argument.name == name;
      }))
    return "the loss scale's column in the metrics";
  return "";
}

void MetricsRecord::addRaw(llvm::StringRef key, llvm::StringRef json) {
  llvm::raw_string_ostream os(body);
  if (!body.empty())
    os << ", ";
  os << llvm::json::Value(llvm::json::fixUTF8(key)) << ": " << json;
}

void MetricsRecord::add(llvm::StringRef key, int64_t value) {
  addRaw(key, std::to_string(value));
  numbers.push_back({key.str(), static_cast<double>(value)});
}

void MetricsRecord::add(llvm::StringRef key, double value) {
  addRaw(key, formatFloat(value));
  numbers.push_back({key.str(), value});
}

void MetricsRecord::add(llvm::StringRef key, llvm::StringRef text) {
  std::string json;
  llvm::raw_string_ostream(json) << llvm::json::Value(llvm::json::fixUTF8(text));
  addRaw(key, json);
}

void MetricsRecord::add(llvm::StringRef key, const HostTensor &tensor) {
  if (tensor.getRank() == 0) {
    numbers.push_back({key.str(), tensor.getElement(0)});
    return addRaw(key, formatElement(tensor, 0));
  }
  // A bracket opens before and closes after every element whose
  // position is a multiple of a dimension's stride.
  std::string json;
  llvm::ArrayRef<int64_t> shape = tensor.getShape();
  if (tensor.getNumElements() == 0)
    return addRaw(key, "[]");
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    if (i != 0)
      json += ", ";
    int64_t stride = 1;
    std::string opening, closing;
    for (int64_t size : llvm::reverse(shape)) {
      stride *= size;
      if (i % stride == 0)
        opening += '[';
      if ((i + 1) % stride == 0)
        closing += ']';
    }
    json += opening + formatElement(tensor, i) + closing;
  }
  addRaw(key, json);
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// Bytes of the lines to keep when a run resumes.
static int64_t getKeptBytes(llvm::StringRef text, int64_t keepThrough) {
  int64_t kept = 0;
  while (!text.empty()) {
    size_t end = text.find('\n');
    if (end == llvm::StringRef::npos)
      break; // Cut off in the middle.
    llvm::Expected<llvm::json::Value> json = parseJSON(text.take_front(end));
    if (!json) {
      llvm::consumeError(json.takeError());
      break;
    }
    const llvm::json::Object *object = json->getAsObject();
    std::optional<int64_t> step = object ? object->getInteger("step") : std::nullopt;
    if (!step || *step > keepThrough)
      break;
    kept += end + 1;
    text = text.drop_front(end + 1);
  }
  return kept;
}

llvm::Expected<MetricsLog> MetricsLog::open(llvm::StringRef path, bool resume,
                                            int64_t keepThrough) {
  auto fail = [&] {
    return createFileMessage(path, "cannot write: " + llvm::sys::StrError(errno));
  };
  llvm::Expected<int> descriptor = openForWriting(path, O_CREAT);
  if (!descriptor)
    return descriptor.takeError();
  MetricsLog log(path.str(), *descriptor, true, 0);
  struct stat status;
  if (::fstat(*descriptor, &status) != 0)
    return fail();
  log.isRegular = S_ISREG(status.st_mode);
  if (!log.isRegular)
    return std::move(log);
  if (resume) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return createFileMessage(path, "cannot read: " + buffer.getError().message());
    log.size = getKeptBytes((*buffer)->getBuffer(), keepThrough);
  }
  if (::ftruncate(*descriptor, log.size) != 0 ||
      ::lseek(*descriptor, log.size, SEEK_SET) < 0)
    return fail();
  return std::move(log);
}

MetricsLog::MetricsLog(MetricsLog &&other)
    : path(std::move(other.path)), descriptor(other.descriptor),
      isRegular(other.isRegular), size(other.size) {
  other.descriptor = -1;
}

MetricsLog::~MetricsLog() {
  if (descriptor >= 0)
    ::close(descriptor);
}

llvm::Error MetricsLog::append(const MetricsRecord &record) {
  std::string line = record.getLine() + "\n";
  llvm::StringRef rest(line);
  while (!rest.empty()) {
    ssize_t put =
        llvm::sys::RetryAfterSignal(-1, ::write, descriptor, rest.data(), rest.size());
    if (put < 0) {
      llvm::Error error =
          createFileMessage(path, "cannot write: " + llvm::sys::StrError(errno));
      if (isRegular && ::ftruncate(descriptor, size) == 0)
        ::lseek(descriptor, size, SEEK_SET);
      return error;
    }
    rest = rest.drop_front(put);
  }
  size += line.size();
  return llvm::Error::success();
}

llvm::Error MetricsLog::sync() {
  if (isRegular && ::fsync(descriptor) != 0 && errno != EINVAL)
    return createFileMessage(path, "cannot write: " + llvm::sys::StrError(errno));
  return llvm::Error::success();
}
