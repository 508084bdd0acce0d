//===- FuzzTarget.h - What the fuzz targets share -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every target reads its input as a user's file would be read, and checks what it
/// gets. A crash, a sanitizer's report and a call of `reportFinding` end the process,
/// which libFuzzer keeps the input of.
///
/// `--planted-bug` on a target's command line (libFuzzer leaves options with two
/// dashes alone) adds one more check that is wrong on purpose: it fails on inputs
/// that are valid, that no seed has, and that can only be reached through the whole
/// reader. A fuzzer that does not find it within a minute finds nothing else either;
/// `tools/utils/fuzz --self-test` runs all of them.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_FUZZ_FUZZTARGET_H
#define MPT_TEST_FUZZ_FUZZTARGET_H

#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

/// libFuzzer's own mutations of bytes. Returns the new size.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace mpt::fuzz {

/// Ends the process with "mpt finding: `what`" on stderr, and with `how` to see it
/// again outside the fuzzer, if that is not empty.
[[noreturn]] void reportFinding(llvm::StringRef what, llvm::StringRef how = "");

/// Whether the target looks for the planted bug.
bool hasPlantedBug();
/// Reports the planted bug if there is one and `isReached`.
void checkPlantedBug(bool isReached);

/// Counts `what` as something new for libFuzzer, in addition to covered code.
void recordFeature(llvm::StringRef what);
/// The same for a message, of which digits and quoted words do not count. Returns whether
/// it is the first of its kind in this process. A target returns -1 for a refused input
/// whose message is not: libFuzzer does not keep such an input then, and spends its time
/// on changes to what was accepted.
bool recordMessage(llvm::StringRef message);

/// A file with these bytes that lives in memory and has a path while it is open.
class MemoryFile {
public:
  MemoryFile(const uint8_t *data, size_t size);
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile();
  llvm::StringRef getPath() const { return path; }

private:
  int descriptor;
  std::string path;
};

/// A path in the folder for temporary files, of this process's own, for targets that
/// write. The file is removed when this ends.
class TemporaryFile {
public:
  TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile();
  llvm::StringRef getPath() const { return path; }

private:
  std::string path;
};

/// Copies `text` to `data` unless it is longer than `maxSize`. Returns the size of
/// what is in `data` then.
size_t replaceInput(llvm::StringRef text, uint8_t *data, size_t size, size_t maxSize);

using Random = std::minstd_rand;
inline size_t draw(Random &random, size_t count) { return random() % count; }
template <typename List>
auto &pick(Random &random, List &list) {
  return list[draw(random, std::size(list))];
}

} // namespace mpt::fuzz

#endif // MPT_TEST_FUZZ_FUZZTARGET_H
