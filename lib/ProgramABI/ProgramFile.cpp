//===- ProgramFile.cpp - Programs as shared libraries -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/ProgramFile.h"
#include "XXHash64.h"
#include "mpt/ProgramABI/ProgramFormat.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpt::rt;

namespace {

constexpr char kOwner[] = "MPT";
constexpr uint32_t kNoteType = 1;
/// Headers and notes lie in the first bytes of a library. More is not searched.
constexpr size_t kHeadBytes = 65536;

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "add the ELF number of this machine"
#endif

struct Machine {
  uint16_t number;
  const char *name;
};
constexpr Machine kMachines[] = {
    {EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_386, "i386"},  {EM_ARM, "arm"},
    {EM_RISCV, "riscv64"}, {EM_PPC64, "ppc64"},     {EM_S390, "s390x"}};

std::string describeMachine(uint16_t number) {
  for (const Machine &machine : kMachines)
    if (machine.number == number)
      return machine.name;
  return "ELF machine " + std::to_string(number);
}

/// Closes a descriptor unless it is released.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  int release() {
    int released = number;
    number = -1;
    return released;
  }
  int number;
};

std::string describeCutOff(uint64_t expected, uint64_t found) {
  return "expected " + std::to_string(expected) + " bytes, found " +
         std::to_string(found) +
         ": it was cut short, or changed (by strip, patchelf or a signing tool) after "
         "mpt-compile wrote it; copy or compile it again";
}

/// Where the ProgramNote lies in a file of `fileSize` bytes that begins with `head`,
/// which may be for another machine only if `anyMachine`. Returns false and says why if
/// there is none.
bool findNote(const char *head, size_t size, uint64_t fileSize, uint64_t &found,
              std::string &error, bool anyMachine = false) {
  auto fail = [&](std::string what) {
    error = std::move(what);
    return false;
  };
  Elf64_Ehdr elf;
  if (size < SELFMAG || std::memcmp(head, ELFMAG, SELFMAG) != 0)
    return fail(size == 0 ? "the file is empty; mpt-compile writes programs"
                          : "not a shared library; mpt-compile writes programs");
  if (size < sizeof(elf))
    return fail(describeCutOff(sizeof(elf), size));
  std::memcpy(&elf, head, sizeof(elf));
  std::string here = "; this machine is " + describeMachine(kMachine);
  if (elf.e_ident[EI_DATA] != ELFDATA2LSB)
    return fail("built for a big-endian machine" + here);
  if (elf.e_machine != kMachine && !anyMachine)
    return fail("built for " + describeMachine(elf.e_machine) + here +
                "; compile the step for it");
  if (elf.e_ident[EI_CLASS] != ELFCLASS64)
    return fail("built for a 32-bit machine" + here);
  uint64_t headers = uint64_t(elf.e_phnum) * sizeof(Elf64_Phdr);
  auto lacks = [&](uint64_t offset, uint64_t bytes) {
    return offset > fileSize || bytes > fileSize - offset;
  };
  if (elf.e_phentsize == sizeof(Elf64_Phdr) && lacks(elf.e_phoff, headers))
    return fail(describeCutOff(elf.e_phoff + headers, fileSize));
  bool hasHeaders = elf.e_phentsize == sizeof(Elf64_Phdr) && elf.e_phoff <= size &&
                    headers <= size - elf.e_phoff;
  for (uint64_t i = 0; hasHeaders && i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, head + elf.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type != PT_NOTE)
      continue;
    if (lacks(segment.p_offset, segment.p_filesz))
      return fail(describeCutOff(segment.p_offset + segment.p_filesz, fileSize));
    uint64_t at = segment.p_offset;
    uint64_t end = std::min<uint64_t>(size, at + segment.p_filesz);
    auto align = [](uint64_t bytes) { return (bytes + 3) / 4 * 4; };
    Elf64_Nhdr note;
    while (at < end && end - at >= sizeof(note)) {
      std::memcpy(&note, head + at, sizeof(note));
      uint64_t name = at + sizeof(note), text = name + align(note.n_namesz);
      at = text + align(note.n_descsz);
      if (at <= end && note.n_type == kNoteType && note.n_namesz == sizeof(kOwner) &&
          note.n_descsz == sizeof(ProgramNote) &&
          std::memcmp(head + name, kOwner, sizeof(kOwner)) == 0) {
        found = text;
        return true;
      }
    }
  }
  return fail("a library without mpt-compile's note: it is not a program, is damaged or "
              "was made by an older MPT; compile the step again");
}

/// Reads up to `size` bytes at `offset`; fewer only at the end. -1 on failure.
ssize_t readAt(int file, uint64_t offset, char *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = ::pread(file, data + done, size - done, offset + done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (got == 0)
      break;
    done += got;
  }
  return done;
}

bool writeAll(int file, const char *data, size_t size) {
  while (size > 0) {
    ssize_t put = ::write(file, data, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return false;
    data += put;
    size -= put;
  }
  return true;
}

/// Makes what of the note's hash lies in `data`, which begins at `offset` of the file, 0.
void clearHash(char *data, uint64_t offset, size_t size, uint64_t noteAt) {
  uint64_t hashAt = noteAt + offsetof(ProgramNote, hash);
  uint64_t first = std::max(hashAt, offset);
  uint64_t last = std::min<uint64_t>(hashAt + sizeof(ProgramNote::hash), offset + size);
  if (first < last)
    std::memset(data + (first - offset), 0, last - first);
}

std::string toHex(uint64_t value) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4)
    text += "0123456789abcdef"[value >> shift & 15];
  return text;
}

} // namespace

std::string mpt::rt::makeProgramNote() {
  Elf64_Nhdr header = {sizeof(kOwner), sizeof(ProgramNote), kNoteType};
  ProgramNote note = {kFormatVersion, 0, 0};
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes.append(kOwner, sizeof(kOwner));
  return bytes.append(reinterpret_cast<const char *>(&note), sizeof(note));
}

bool mpt::rt::sealProgramFile(std::string &file, std::string &error) {
  uint64_t at = 0;
  if (!findNote(file.data(), std::min(file.size(), kHeadBytes), file.size(), at, error,
                /*anyMachine=*/true))
    return false;
  ProgramNote note;
  std::memcpy(&note, &file[at], sizeof(note));
  note.fileSize = file.size();
  note.hash = 0;
  std::memcpy(&file[at], &note, sizeof(note));
  XXHash64 hash;
  hash.update(file.data(), file.size());
  note.hash = hash.digest();
  std::memcpy(&file[at], &note, sizeof(note));
  return true;
}

int mpt::rt::openProgramFile(const std::string &path, std::string &error) {
  auto fail = [&](const std::string &what) {
    error = path + ": " + what;
    return -1;
  };
  auto failWithErrno = [&](const std::string &what) {
    return fail(what + ": " + std::strerror(errno));
  };
  // A pipe would keep the call waiting.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0)
    return failWithErrno("cannot open");
  struct stat status;
  if (::fstat(file.number, &status) != 0)
    return failWithErrno("cannot read");
  if (!S_ISREG(status.st_mode))
    return fail(S_ISDIR(status.st_mode) ? "expected a file, found a directory"
                                        : "expected a regular file");
  char block[kHeadBytes];
  ssize_t got = readAt(file.number, 0, block, sizeof(block));
  if (got < 0)
    return failWithErrno("cannot read");
  uint64_t size = status.st_size, noteAt = 0;
  std::string why;
  if (!findNote(block, got, size, noteAt, why))
    return fail(why);
  ProgramNote note;
  std::memcpy(&note, block + noteAt, sizeof(note));
  if (note.fileSize != size)
    return fail(describeCutOff(note.fileSize, size));

  std::string name = path.substr(path.rfind('/') + 1);
  Descriptor copy(::memfd_create(name.substr(0, 200).c_str(), MFD_CLOEXEC));
  if (copy.number < 0)
    return failWithErrno("cannot make a copy in memory");
  XXHash64 hash;
  for (uint64_t at = 0; at < size; at += got) {
    got = readAt(file.number, at, block, std::min<uint64_t>(sizeof(block), size - at));
    if (got < 0)
      return failWithErrno("cannot read");
    if (got == 0)
      return fail(describeCutOff(size, at));
    if (!writeAll(copy.number, block, got))
      return failWithErrno("cannot make a copy in memory");
    clearHash(block, at, got, noteAt);
    hash.update(block, got);
  }
  if (hash.digest() != note.hash)
    return fail("damaged: its hash is " + toHex(hash.digest()) +
                " but mpt-compile noted " + toHex(note.hash) +
                "; copy or compile it again");
  if (note.formatVersion != kFormatVersion)
    return fail("the program has format " + std::to_string(note.formatVersion) +
                " but this runtime reads format " + std::to_string(kFormatVersion) +
                "; compile it again");
  return copy.release();
}
