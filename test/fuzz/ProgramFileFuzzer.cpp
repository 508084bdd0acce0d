//===- ProgramFileFuzzer.cpp - Damaged files of programs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An input is a shared library. It is checked as the runtime checks it before it is
/// loaded, but not loaded: what is in it would run.
///
//===----------------------------------------------------------------------===//

#include "FuzzTarget.h"
#include "mpt/ProgramABI/ProgramFile.h"
#include <cstring>
#include <elf.h>
#include <unistd.h>

using namespace mpt::fuzz;
using namespace mpt::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MemoryFile file(data, size);
  std::string error;
  int copy = openProgramFile(file.getPath().str(), error);
  if (copy < 0) {
    if (!llvm::StringRef(error).starts_with(file.getPath()))
      reportFinding("an error does not name the file: " + error);
    recordMessage(error);
    return 0;
  }
  std::string bytes(size + 1, '\0');
  ssize_t got = ::pread(copy, bytes.data(), bytes.size(), 0);
  ::close(copy);
  if (got != static_cast<ssize_t>(size) || std::memcmp(bytes.data(), data, size) != 0)
    reportFinding("what would be loaded is not what was checked");
  checkPlantedBug(size % 8 != 0);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  std::string file(reinterpret_cast<char *>(data), size);
  if (size <= sizeof(Elf64_Ehdr))
    return LLVMFuzzerMutate(data, size, maxSize);
  for (size_t steps = 1 + draw(random, 3); steps > 0; --steps) {
    switch (draw(random, 6)) {
    case 0:
      file.resize(draw(random, file.size()));
      break;
    case 1:
      file.append(1 + draw(random, 16), '\0');
      break;
    case 2:
      if (!file.empty())
        file[draw(random, file.size())] ^= 1 << draw(random, 8);
      break;
    default:
      // The headers, which begin with a 64 bytes' one, and the note after them.
      if (file.size() > 1024) {
        size_t at = draw(random, draw(random, 2) ? sizeof(Elf64_Ehdr) : 1024);
        file[at] = draw(random, 3) ? draw(random, 256) : draw(random, 2) * 0xff;
      }
    }
  }
  // With the right size and hash most of it would be loaded.
  std::string error;
  if (draw(random, 2))
    (void)sealProgramFile(file, error);
  return replaceInput(file, data, size, maxSize);
}
