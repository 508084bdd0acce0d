//===- EventLog.cpp - Event files for TensorBoard ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/EventLog.h"
#include "mpt/Support/FileIO.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <unistd.h>

using namespace mpt;

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

uint32_t mpt::computeCRC32C(llvm::StringRef data) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit)
        value = value & 1 ? value >> 1 ^ 0x82f63b78 : value >> 1;
      made[i] = value;
    }
    return made;
  }();
  uint32_t crc = 0xffffffff;
  for (unsigned char byte : data)
    crc = table[(crc ^ byte) & 0xff] ^ crc >> 8;
  return ~crc;
}

/// TFRecord's form: a CRC of data that holds CRCs would be a weak one.
static uint32_t maskedCRC(llvm::StringRef data) {
  uint32_t crc = computeCRC32C(data);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

template <typename T>
static void addLittle(std::string &out, T value) {
  char bytes[sizeof(T)];
  llvm::support::endian::write(bytes, value, llvm::endianness::little);
  out.append(bytes, sizeof(T));
}

//===----------------------------------------------------------------------===//
// Protobuf's wire format
//===----------------------------------------------------------------------===//

static void addVarint(std::string &out, uint64_t value) {
  llvm::raw_string_ostream os(out);
  llvm::encodeULEB128(value, os);
}
static void addKey(std::string &out, int field, int wireType) {
  addVarint(out, static_cast<uint64_t>(field) << 3 | wireType);
}
static void addNumber(std::string &out, int field, int64_t value) {
  addKey(out, field, 0);
  addVarint(out, static_cast<uint64_t>(value));
}
static void addDouble(std::string &out, int field, double value) {
  addKey(out, field, 1);
  addLittle(out, value);
}
static void addFloat(std::string &out, int field, float value) {
  addKey(out, field, 5);
  addLittle(out, value);
}
/// A string, a message or packed numbers.
static void addBytes(std::string &out, int field, llvm::StringRef bytes) {
  addKey(out, field, 2);
  addVarint(out, bytes.size());
  out += bytes;
}
static void addPacked(std::string &out, int field, llvm::ArrayRef<double> values) {
  std::string bytes;
  for (double value : values)
    addLittle(bytes, value);
  addBytes(out, field, bytes);
}

/// Fields of tensorflow.Event, tensorflow.Summary and tensorflow.Summary.Value.
enum {
  kEventWallTime = 1,
  kEventStep = 2,
  kEventFileVersion = 3,
  kEventSummary = 5,
  kEventSessionLog = 7,
  kSessionLogStatus = 1,
  kSessionLogStart = 1,
  kSummaryValue = 1,
  kValueTag = 1,
  kValueSimple = 2,
  kValueHistogram = 5
};

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static llvm::Error cannotWrite(llvm::StringRef path, int code) {
  return createFileMessage(path, "cannot write: " + llvm::sys::StrError(code));
}

llvm::Expected<EventLog> EventLog::create(llvm::StringRef directory,
                                          std::optional<int64_t> resumeFrom) {
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return createFileMessage(directory, "cannot make this directory: " + code.message());
  char host[256] = "localhost";
  if (::gethostname(host, sizeof(host) - 1) != 0 || !*host)
    std::snprintf(host, sizeof(host), "localhost");
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
  // TensorBoard reads the files of a directory in the order of their names.
  for (int number = 0; number < 1000; ++number) {
    llvm::SmallString<128> path = directory;
    llvm::sys::path::append(path, "events.out.tfevents." + std::to_string(seconds) + "." +
                                      host + "." + std::to_string(::getpid()) + "." +
                                      std::to_string(number));
    int descriptor = llvm::sys::RetryAfterSignal(
        -1, ::open, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST)
      continue;
    if (descriptor < 0)
      return cannotWrite(path, errno);
    EventLog log(path.str().str(), descriptor);
    std::string version;
    addBytes(version, kEventFileVersion, "brain.Event:2");
    if (llvm::Error error = log.write(version))
      return std::move(error);
    if (resumeFrom) {
      std::string start, event;
      addNumber(start, kSessionLogStatus, kSessionLogStart);
      addNumber(event, kEventStep, *resumeFrom + 1);
      addBytes(event, kEventSessionLog, start);
      if (llvm::Error error = log.write(event))
        return std::move(error);
    }
    return std::move(log);
  }
  return createFileMessage(directory, "there are too many event files of this second");
}

EventLog::EventLog(EventLog &&other)
    : path(std::move(other.path)), descriptor(other.descriptor) {
  other.descriptor = -1;
}

EventLog::~EventLog() {
  if (descriptor >= 0)
    ::close(descriptor);
}

llvm::Error EventLog::write(std::string event) {
  addDouble(
      event, kEventWallTime,
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  std::string record;
  addLittle<uint64_t>(record, event.size());
  addLittle(record, maskedCRC(record));
  record += event;
  addLittle(record, maskedCRC(event));
  llvm::StringRef rest(record);
  while (!rest.empty()) {
    ssize_t put =
        llvm::sys::RetryAfterSignal(-1, ::write, descriptor, rest.data(), rest.size());
    if (put < 0)
      return cannotWrite(path, errno);
    rest = rest.drop_front(put);
  }
  return llvm::Error::success();
}

llvm::Error EventLog::append(const MetricsRecord &record, int64_t step) {
  std::string summary;
  for (const auto &[key, number] : record.getNumbers()) {
    if (key == "step")
      continue;
    llvm::StringRef name = key;
    std::string value;
    addBytes(value, kValueTag,
             name.consume_front(kEvaluationPrefix) ? "eval/" + name.str() : key);
    addFloat(value, kValueSimple, static_cast<float>(number));
    addBytes(summary, kSummaryValue, value);
  }
  std::string event;
  addNumber(event, kEventStep, step);
  addBytes(event, kEventSummary, summary);
  return write(event);
}

llvm::Error EventLog::append(llvm::StringRef tag, const EventHistogram &histogram,
                             int64_t step) {
  std::string proto, value, summary, event;
  addDouble(proto, 1, histogram.min);
  addDouble(proto, 2, histogram.max);
  addDouble(proto, 3, histogram.count);
  addDouble(proto, 4, histogram.sum);
  addDouble(proto, 5, histogram.sumOfSquares);
  addPacked(proto, 6, histogram.limits);
  addPacked(proto, 7, histogram.counts);
  addBytes(value, kValueTag, tag);
  addBytes(value, kValueHistogram, proto);
  addBytes(summary, kSummaryValue, value);
  addNumber(event, kEventStep, step);
  addBytes(event, kEventSummary, summary);
  return write(event);
}
