//===- TestHelpers.h - For tests of the host side ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_UNITTESTS_HOST_TESTHELPERS_H
#define MPT_TEST_UNITTESTS_HOST_TESTHELPERS_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mpt::test {

/// The error's text, or "success".
inline std::string message(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "success";
}
template <typename T>
std::string message(llvm::Expected<T> value) {
  return value ? "success" : llvm::toString(value.takeError());
}

/// A directory that is removed at the end of the test.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    llvm::SmallString<128> unique;
    if (!llvm::sys::fs::createUniqueDirectory("mpt-test", unique))
      directory = unique.str().str();
  }
  ~TemporaryDirectory() { llvm::sys::fs::remove_directories(directory); }
  std::string path(llvm::StringRef name = "") const {
    return name.empty() ? directory : directory + "/" + name.str();
  }
  /// Names in the directory, sorted.
  std::string list() const {
    std::error_code code;
    std::vector<std::string> names;
    for (llvm::sys::fs::directory_iterator it(directory, code), end; it != end && !code;
         it.increment(code))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    llvm::sort(names);
    return llvm::join(names, " ");
  }

private:
  std::string directory;
};

inline void writeBytes(llvm::StringRef path, llvm::StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  os << bytes;
}

inline std::string readBytes(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

} // namespace mpt::test

#endif // MPT_TEST_UNITTESTS_HOST_TESTHELPERS_H
