//===- FileIO.h - Files that are whole or absent ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading and writing of files: the one writer of everything that MPT's tools
/// leave on disk. LLVM's writeToOutput renames too, but it does not fsync, so a
/// crash of the machine could leave an empty checkpoint, and it replaces a
/// symbolic link by a file.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_FILEIO_H
#define MPT_SUPPORT_FILEIO_H

#include "llvm/ADT/ArrayRef.h"
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
      : path(std::move(other.path)), descriptor(other.descriptor), size(other.size) {
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
  llvm::Error append(llvm::StringRef text) { return append(text.data(), text.size()); }
};

/// The file that a write to `path` replaces: `path` with its last component's
/// symbolic links followed, also where the last of them points at nothing yet.
/// Fails on a cycle of links.
llvm::Expected<std::string> resolveLinks(llvm::StringRef path);

/// Gives the file that `path` names the bytes that `write` appends, or leaves it
/// as it was. The bytes go to a new file in the same directory, NAME.tmp-XXXXXXXX
/// with random digits, which is synced to disk and renamed; then the directory is
/// synced. A symbolic link stays and its target is replaced; a file that is
/// replaced hands on its permissions. Any number of writers may write one path at
/// the same time: the last to finish wins, whole.
///
/// On failure the temporary file is removed. One that a killed process left is
/// removed by the next call for the same path: writers hold a lock on theirs,
/// which ends with the process. A `path` that exists and is not a regular file (a
/// device, a pipe) is written in place.
llvm::Error writeFileAtomically(llvm::StringRef path,
                                llvm::function_ref<llvm::Error(ByteSink &)> write);
/// The same for `text`.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef text);

/// Fails with the message that writing `path` would give if its directory is
/// missing or not writable, or if it is a directory. Creates nothing.
llvm::Error checkWritable(llvm::StringRef path);

/// A file that a command line names.
struct FileUse {
  /// As the user knows it: "--data x", "the model".
  std::string what;
  /// Empty: not given.
  std::string path;
  bool isOutput = false;
};

/// Fails if an output is the same file as an input or another output: by device
/// and inode (so through symbolic and hard links too), or, where no file exists
/// yet, by name in the same directory. Standard output and standard error count
/// as outputs where they are files. Devices and pipes may be named twice.
llvm::Error checkDistinctFiles(llvm::ArrayRef<FileUse> uses);

/// One run's claim on a file that it writes. Held until the object or the process
/// ends, however it ends: it is an flock(2) on PATH.mpt-lock, with symbolic links
/// of PATH followed. The lock's file is removed when the claim ends; one that a
/// killed process left is taken over.
class FileLock {
public:
  /// Fails with "in use by another run" and that run's process, if it is known.
  /// Only regular files are locked.
  static llvm::Expected<FileLock> acquire(llvm::StringRef path);
  FileLock(FileLock &&other)
      : lockPath(std::move(other.lockPath)), descriptor(other.descriptor),
        whyNot(std::move(other.whyNot)) {
    other.descriptor = -1;
  }
  FileLock &operator=(FileLock &&) = delete;
  ~FileLock();

  /// Why the file system has no locks; empty if it has.
  llvm::StringRef getWhyNot() const { return whyNot; }

private:
  FileLock() = default;
  std::string lockPath;
  int descriptor = -1;
  std::string whyNot;
};

} // namespace mpt

#endif // MPT_SUPPORT_FILEIO_H
