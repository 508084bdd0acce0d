//===- FileIO.h - Files that are whole or absent ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading and writing of files for the formats of this library. LLVM's
/// writeToOutput renames too, but does not fsync, so a crash of the machine
/// could leave an empty checkpoint.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_FILEIO_H
#define MPT_SUPPORT_FILEIO_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace mpt {

/// "<path>: <message>", the form of every error about a file.
llvm::Error createFileMessage(llvm::StringRef path, const llvm::Twine &message);

/// A regular file open for reading.
class InputFile {
public:
  static llvm::Expected<InputFile> open(llvm::StringRef path);
  InputFile(InputFile &&other)
      : path(std::move(other.path)), descriptor(other.descriptor),
        size(other.size) {
    other.descriptor = -1;
  }
  InputFile &operator=(InputFile &&) = delete;
  ~InputFile();

  llvm::StringRef getPath() const { return path; }
  uint64_t getSize() const { return size; }

  /// Reads `count` bytes at `offset`. Fails if the file ends before.
  llvm::Error read(uint64_t offset, void *data, size_t count) const;

private:
  InputFile(std::string path, int descriptor, uint64_t size)
      : path(std::move(path)), descriptor(descriptor), size(size) {}
  std::string path;
  int descriptor;
  uint64_t size;
};

/// Where `writeFileAtomically` lets its caller write.
class ByteSink {
public:
  virtual ~ByteSink();
  virtual llvm::Error append(const void *data, size_t count) = 0;
  llvm::Error append(llvm::StringRef text) {
    return append(text.data(), text.size());
  }
};

/// Gives `path` the bytes that `write` appends, or leaves it as it was: they go
/// to `path` + ".tmp" in the same directory, which is synced to disk and
/// renamed, then the directory is synced. On failure the temporary file is
/// removed; one that a killed process left is overwritten by the next call.
/// A `path` that exists and is no regular file (a device, a pipe) is written
/// in place.
llvm::Error
writeFileAtomically(llvm::StringRef path,
                    llvm::function_ref<llvm::Error(ByteSink &)> write);

/// Fails with the message that writing `path` would give if its directory is
/// missing or not writable, or if it is a directory. Creates nothing.
llvm::Error checkWritable(llvm::StringRef path);

} // namespace mpt

#endif // MPT_SUPPORT_FILEIO_H
