//===- FuzzTarget.cpp - What the fuzz targets share -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <bitset>
#include <cstring>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

using namespace mpt::fuzz;

static bool plantedBug = false;

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  for (int i = 1; i < *argc; ++i)
    plantedBug |= std::strcmp((*argv)[i], "--planted-bug") == 0;
  return 0;
}

void mpt::fuzz::reportFinding(llvm::StringRef what, llvm::StringRef how) {
  llvm::errs() << "mpt finding: " << what << "\n" << how << "\n";
  __builtin_trap();
}

bool mpt::fuzz::hasPlantedBug() { return plantedBug; }

void mpt::fuzz::checkPlantedBug(bool isReached) {
  if (plantedBug && isReached)
    reportFinding("the planted bug");
}

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t seen[1 << 15];

/// The same number in every process.
static size_t getFeature(llvm::StringRef what) {
  return llvm::xxh3_64bits(what) % sizeof(seen);
}

void mpt::fuzz::recordFeature(llvm::StringRef what) { seen[getFeature(what)] = 1; }

bool mpt::fuzz::recordMessage(llvm::StringRef message) {
  std::string kind;
  bool isQuoted = false;
  for (char c : message) {
    isQuoted ^= c == '\'';
    if (!isQuoted && !llvm::isDigit(c))
      kind += c;
  }
  recordFeature(kind);
  static std::bitset<sizeof(seen)> known; // libFuzzer clears its counters before a run
  const bool isNew = !known[getFeature(kind)];
  known.set(getFeature(kind));
  return isNew;
}

MemoryFile::MemoryFile(const uint8_t *data, size_t size)
    : descriptor(::memfd_create("fuzz", MFD_CLOEXEC)),
      path("/proc/self/fd/" + std::to_string(descriptor)) {
  for (size_t done = 0; done < size;) {
    ssize_t put = ::write(descriptor, data + done, size - done);
    if (put <= 0)
      llvm::report_fatal_error("cannot write a file in memory");
    done += put;
  }
}

MemoryFile::~MemoryFile() { ::close(descriptor); }

TemporaryFile::TemporaryFile()
    : path((std::filesystem::temp_directory_path() /
            ("mpt-fuzz-" + std::to_string(::getpid())))
               .string()) {}

TemporaryFile::~TemporaryFile() { ::unlink(path.c_str()); }

size_t mpt::fuzz::replaceInput(llvm::StringRef text, uint8_t *data, size_t size,
                               size_t maxSize) {
  if (text.size() > maxSize)
    return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
