//===- ProgramFileTest.cpp - Whole, damaged and other files -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/ProgramFile.h"
#include "TestHelpers.h"
#include "XXHash64.h"
#include "mpt/ProgramABI/ProgramFormat.h"

#include "llvm/Support/xxhash.h"
#include <cstdlib>
#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpt::rt;

namespace {

uint64_t hashOf(const std::string &bytes) {
  XXHash64 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.digest();
}

TEST(XXHash64Test, PublishedValues) {
  EXPECT_EQ(hashOf(""), 0xef46db3751d8e999u);
  EXPECT_EQ(hashOf("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(hashOf("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(hashOf("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST(XXHash64Test, AsLLVMInPiecesOfAnySize) {
  std::string bytes;
  uint32_t state = 1;
  for (size_t length = 0; length < 300; ++length) {
    EXPECT_EQ(hashOf(bytes), llvm::xxHash64(bytes)) << length;
    for (size_t piece : {1, 7, 31, 32, 33, 100}) {
      XXHash64 hash;
      for (size_t at = 0; at < length; at += piece)
        hash.update(bytes.data() + at, std::min(piece, length - at));
      EXPECT_EQ(hash.digest(), llvm::xxHash64(bytes)) << length << " by " << piece;
    }
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<char>(state >> 24));
  }
}

class ProgramFileTest : public testing::Test {
protected:
  ~ProgramFileTest() override { close(file); }

  /// Headers, another note, ours, and `size` bytes of content.
  static std::string makeLibrary(size_t size = 100000) {
    Elf64_Ehdr elf = {};
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_ident[EI_CLASS] = ELFCLASS64;
    elf.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.e_type = ET_DYN;
    elf.e_machine = EM_X86_64;
    elf.e_phoff = sizeof(elf);
    elf.e_phentsize = sizeof(Elf64_Phdr);
    elf.e_phnum = 2;
    Elf64_Phdr load = {}, note = {};
    load.p_type = PT_LOAD;
    note.p_type = PT_NOTE;
    note.p_offset = sizeof(elf) + 2 * sizeof(load);
    std::string other("\x04\0\0\0\x03\0\0\0\x03\0\0\0GNU\0abc\0", 20);
    std::string notes = other + makeProgramNote();
    note.p_filesz = notes.size();
    std::string bytes(reinterpret_cast<char *>(&elf), sizeof(elf));
    bytes.append(reinterpret_cast<char *>(&load), sizeof(load));
    bytes.append(reinterpret_cast<char *>(&note), sizeof(note));
    bytes += notes;
    for (size_t i = 0; i < size; ++i)
      bytes.push_back(static_cast<char>(i * i >> 7));
    return bytes;
  }
  static std::string makeSealed(size_t size = 100000) {
    std::string bytes = makeLibrary(size), error;
    EXPECT_TRUE(sealProgramFile(bytes, error)) << error;
    return bytes;
  }
  void write(const std::string &bytes) {
    ASSERT_EQ(ftruncate(file, bytes.size()), 0);
    ASSERT_EQ(pwrite(file, bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  /// The error of opening a file of these bytes, less its path; "" if there is none.
  std::string open(const std::string &bytes) {
    write(bytes);
    return openPath(path);
  }
  static std::string openPath(const std::string &path) {
    std::string error;
    int copy = openProgramFile(path, error);
    if (copy >= 0) {
      EXPECT_EQ(error, "");
      close(copy);
      return "";
    }
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_EQ(error.rfind(path + ": ", 0), 0u) << error;
    return error.substr(path.size() + 2);
  }

  // Thousands of them: not on a disk.
  int file = memfd_create("step.so", 0);
  std::string path = "/proc/self/fd/" + std::to_string(file);
};

TEST_F(ProgramFileTest, TheCopyHasTheFilesBytes) {
  for (size_t size : {0, 100, 65536, 200001}) {
    std::string bytes = makeSealed(size), error;
    write(bytes);
    int copy = openProgramFile(path, error);
    ASSERT_GE(copy, 0) << error;
    // Whatever becomes of the file.
    write("x");
    std::string found(bytes.size() + 1, '\0');
    EXPECT_EQ(pread(copy, &found[0], found.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    found.pop_back();
    EXPECT_TRUE(found == bytes);
    close(copy);
  }
}

TEST_F(ProgramFileTest, EveryTruncationIsRefused) {
  std::string bytes = makeSealed(300);
  ASSERT_EQ(open(bytes), "");
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(open(bytes.substr(0, length)), "") << length;
  EXPECT_EQ(open(""), "the file is empty; mpt-compile writes programs");
  std::string changed = ": it was cut short, or changed (by strip, patchelf or a signing "
                        "tool) after mpt-compile wrote it; copy or compile it again";
  EXPECT_EQ(open(bytes.substr(0, 40)), "expected 64 bytes, found 40" + changed);
  EXPECT_EQ(open(bytes.substr(0, 100)), "expected 176 bytes, found 100" + changed);
  EXPECT_EQ(open(bytes.substr(0, 180)), "expected 236 bytes, found 180" + changed);
  EXPECT_EQ(open(bytes.substr(0, 400)), "expected 536 bytes, found 400" + changed);
  EXPECT_EQ(open(bytes + "x"), "expected 536 bytes, found 537" + changed);
}

TEST_F(ProgramFileTest, EveryFlippedBitIsRefused) {
  std::string bytes = makeSealed(100);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= 1 << bit % 8;
    EXPECT_NE(open(damaged), "") << bit;
  }
  // Far from the headers, in a block that is read later.
  bytes = makeSealed();
  bytes[90000] ^= 1;
  std::string why = open(bytes);
  EXPECT_EQ(why.substr(0, 21), "damaged: its hash is ") << why;
  EXPECT_NE(why.find("; copy or compile it again"), std::string::npos) << why;
}

TEST_F(ProgramFileTest, OtherFilesAndMachines) {
  EXPECT_EQ(open("MODEL = 1"), "not a shared library; mpt-compile writes programs");
  auto withHeader = [&](auto &&change) {
    std::string bytes = makeSealed();
    change(*reinterpret_cast<Elf64_Ehdr *>(&bytes[0]));
    return open(bytes);
  };
  EXPECT_EQ(withHeader([](Elf64_Ehdr &elf) { elf.e_machine = EM_AARCH64; }),
            "built for aarch64; this machine is x86_64; compile the step for it");
  EXPECT_EQ(withHeader([](Elf64_Ehdr &elf) { elf.e_machine = 258; }),
            "built for ELF machine 258; this machine is x86_64; compile the step for it");
  EXPECT_EQ(withHeader([](Elf64_Ehdr &elf) { elf.e_ident[EI_DATA] = ELFDATA2MSB; }),
            "built for a big-endian machine; this machine is x86_64");
  EXPECT_EQ(withHeader([](Elf64_Ehdr &elf) { elf.e_ident[EI_CLASS] = ELFCLASS32; }),
            "built for a 32-bit machine; this machine is x86_64");
  std::string none = "a library without mpt-compile's note: it is not a program, is "
                     "damaged or was made by an older MPT; compile the step again";
  EXPECT_EQ(withHeader([](Elf64_Ehdr &elf) { elf.e_phnum = 1; }), none);
  EXPECT_EQ(withHeader([](Elf64_Ehdr &elf) { elf.e_phentsize = 1; }), none);
  // A whole file of another version.
  std::string bytes = makeLibrary();
  bytes[bytes.find(std::string("MPT\0", 4)) + 4] = kFormatVersion + 1;
  std::string error;
  ASSERT_TRUE(sealProgramFile(bytes, error)) << error;
  EXPECT_EQ(open(bytes), "the program has format " + std::to_string(kFormatVersion + 1) +
                             " but this runtime reads format " +
                             std::to_string(kFormatVersion) + "; compile it again");
  bytes = "something else";
  EXPECT_FALSE(sealProgramFile(bytes, error));
}

TEST_F(ProgramFileTest, WhatIsNoRegularFile) {
  char name[] = "/tmp/mpt-program-file-XXXXXX";
  std::string folder = mkdtemp(name), pipe = folder + "/step.so";
  EXPECT_EQ(openPath(pipe), "cannot open: No such file or directory");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(openPath(pipe), "expected a regular file"); // and does not wait
  EXPECT_EQ(openPath(folder), "expected a file, found a directory");
  unlink(pipe.c_str());
  rmdir(folder.c_str());
}

} // namespace
