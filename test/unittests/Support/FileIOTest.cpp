//===- FileIOTest.cpp - Files that are whole or absent ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/FileIO.h"
#include "../Host/TestHelpers.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpt;
using test::message;

namespace {

class FileIOTest : public ::testing::Test {
protected:
  test::TemporaryDirectory directory;
  std::string path = directory.path("out");
};

llvm::Error writeText(llvm::StringRef path, llvm::StringRef text) {
  return writeFileAtomically(path,
                             [&](ByteSink &sink) { return sink.append(text); });
}

TEST_F(FileIOTest, WritesAndReplaces) {
  EXPECT_EQ(message(writeText(path, "one")), "success");
  EXPECT_EQ(message(writeText(path, "two")), "success");
  EXPECT_EQ(test::readBytes(path), "two");
  EXPECT_EQ(directory.list(), "out");
}

TEST_F(FileIOTest, AFailedWriterLeavesTheOldFile) {
  llvm::cantFail(writeText(path, "old"));
  EXPECT_EQ(message(writeFileAtomically(path,
                                        [](ByteSink &sink) -> llvm::Error {
                                          llvm::cantFail(sink.append("half"));
                                          return llvm::createStringError("no");
                                        })),
            "no");
  EXPECT_EQ(test::readBytes(path), "old");
  EXPECT_EQ(directory.list(), "out");
}

// A process killed after all bytes are written and before the rename.
TEST_F(FileIOTest, AKilledWriterLeavesTheOldFile) {
  llvm::cantFail(writeText(path, "old"));
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    llvm::cantFail(writeFileAtomically(path, [](ByteSink &sink) {
      llvm::cantFail(sink.append("new"));
      raise(SIGKILL);
      return llvm::Error::success();
    }));
    _exit(0);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(test::readBytes(path), "old");
  // What it left does not disturb the next writer.
  EXPECT_EQ(directory.list(), "out out.tmp");
  EXPECT_EQ(message(writeText(path, "newer")), "success");
  EXPECT_EQ(test::readBytes(path), "newer");
  EXPECT_EQ(directory.list(), "out");
}

// A limit on file size fails the write half way, as a full disk does.
TEST_F(FileIOTest, AFullDiskLeavesTheOldFile) {
  llvm::cantFail(writeText(path, "old"));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string text = message(writeText(path, std::string(5000, 'x')));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(text, path + ": cannot write: File too large");
  EXPECT_EQ(test::readBytes(path), "old");
  EXPECT_EQ(directory.list(), "out");
}

TEST_F(FileIOTest, DevicesAreWrittenInPlace) {
  EXPECT_EQ(message(writeText("/dev/null", "text")), "success");
  EXPECT_EQ(message(writeText("/dev/full", "text")),
            "/dev/full: cannot write: No space left on device");
  struct stat status;
  ASSERT_EQ(stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(FileIOTest, UnwritablePlaces) {
  std::string missing = directory.path("none/out");
  EXPECT_EQ(message(writeText(missing, "x")),
            missing + ": cannot write: No such file or directory");
  EXPECT_EQ(message(checkWritable(missing)),
            missing + ": cannot write: No such file or directory");
  EXPECT_EQ(message(checkWritable(directory.path())),
            directory.path() +
                ": cannot write: expected a file, found a directory");
  EXPECT_EQ(message(checkWritable(path)), "success");
  EXPECT_EQ(directory.list(), "");
  EXPECT_EQ(message(checkWritable("relative-name")), "success");
}

TEST_F(FileIOTest, ReadsRanges) {
  test::writeBytes(path, "0123456789");
  auto file = InputFile::open(path);
  ASSERT_EQ(bool(file), true);
  char data[4] = {};
  EXPECT_EQ(message(file->read(3, data, 3)), "success");
  EXPECT_EQ(llvm::StringRef(data), "345");
  EXPECT_EQ(message(file->read(8, data, 3)),
            path + ": truncated: expected 11 bytes, found 10");
}

} // namespace
