//===- FileIO.cpp - Files that are whole or absent --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/FileIO.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpt;

llvm::Error mpt::createFileMessage(llvm::StringRef path,
                                   const llvm::Twine &message) {
  return llvm::createStringError(path + ": " + message);
}

static llvm::Error createErrnoMessage(llvm::StringRef path,
                                      llvm::StringRef action) {
  return createFileMessage(path, "cannot " + action + ": " +
                                     llvm::sys::StrError(errno));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

llvm::Expected<InputFile> InputFile::open(llvm::StringRef path) {
  std::string name = path.str();
  int descriptor = llvm::sys::RetryAfterSignal(-1, ::open, name.c_str(),
                                               O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return createErrnoMessage(path, "open");
  InputFile file(std::move(name), descriptor, 0);
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return createErrnoMessage(path, "read");
  if (!S_ISREG(status.st_mode))
    return createFileMessage(path, S_ISDIR(status.st_mode)
                                       ? "expected a file, found a directory"
                                       : "expected a regular file");
  file.size = status.st_size;
  return std::move(file);
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

llvm::Error InputFile::read(uint64_t offset, void *data, size_t count) const {
  char *out = static_cast<char *>(data);
  while (count > 0) {
    ssize_t got = llvm::sys::RetryAfterSignal(-1, ::pread, descriptor, out,
                                              count, offset);
    if (got < 0)
      return createErrnoMessage(path, "read");
    if (got == 0)
      return createFileMessage(
          path, "truncated: expected " + llvm::Twine(offset + count) +
                    " bytes, found " + llvm::Twine(offset));
    out += got;
    offset += got;
    count -= got;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

ByteSink::~ByteSink() = default;

namespace {
class DescriptorSink : public ByteSink {
public:
  DescriptorSink(llvm::StringRef path, int descriptor)
      : path(path), descriptor(descriptor) {}
  llvm::Error append(const void *data, size_t count) override {
    const char *in = static_cast<const char *>(data);
    while (count > 0) {
      ssize_t put = llvm::sys::RetryAfterSignal(
          -1, ::write, descriptor, in, std::min<size_t>(count, 1 << 30));
      if (put < 0)
        return createErrnoMessage(path, "write");
      in += put;
      count -= put;
    }
    return llvm::Error::success();
  }

private:
  llvm::StringRef path;
  int descriptor;
};
} // namespace

static std::string getDirectory(llvm::StringRef path) {
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  return parent.empty() ? "." : parent.str();
}

/// Makes a rename in the directory of `path` durable. File systems that cannot
/// sync directories answer EINVAL, which is as good as it gets there.
static llvm::Error syncDirectory(llvm::StringRef path) {
  int descriptor =
      ::open(getDirectory(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return createErrnoMessage(path, "sync the directory");
  bool failed = ::fsync(descriptor) != 0 && errno != EINVAL;
  llvm::Error error = failed ? createErrnoMessage(path, "sync the directory")
                             : llvm::Error::success();
  ::close(descriptor);
  return error;
}

llvm::Error
mpt::writeFileAtomically(llvm::StringRef path,
                         llvm::function_ref<llvm::Error(ByteSink &)> write) {
  std::string target = path.str();
  struct stat status;
  bool inPlace =
      ::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  std::string temporary = inPlace ? target : target + ".tmp";
  int flags = O_WRONLY | O_CLOEXEC | (inPlace ? 0 : O_CREAT | O_TRUNC);
  int descriptor =
      llvm::sys::RetryAfterSignal(-1, ::open, temporary.c_str(), flags, 0666);
  if (descriptor < 0)
    return createErrnoMessage(path, "write");

  DescriptorSink sink(path, descriptor);
  llvm::Error error = write(sink);
  if (!error && !inPlace && ::fsync(descriptor) != 0)
    error = createErrnoMessage(path, "write");
  if (::close(descriptor) != 0 && !error)
    error = createErrnoMessage(path, "write");
  if (!error && !inPlace && ::rename(temporary.c_str(), target.c_str()) != 0)
    error = createErrnoMessage(path, "write");
  if (inPlace)
    return error;
  if (error) {
    ::unlink(temporary.c_str());
    return error;
  }
  return syncDirectory(path);
}

llvm::Error mpt::checkWritable(llvm::StringRef path) {
  std::string target = path.str(), directory = getDirectory(path);
  struct stat status;
  bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return createFileMessage(path, "cannot write: expected a file, found a "
                                   "directory");
  if (exists && !S_ISREG(status.st_mode))
    return ::access(target.c_str(), W_OK) == 0
               ? llvm::Error::success()
               : createErrnoMessage(path, "write");
  if (::access(directory.c_str(), W_OK | X_OK) != 0 ||
      (exists && ::access(target.c_str(), W_OK) != 0))
    return createErrnoMessage(path, "write");
  return llvm::Error::success();
}
