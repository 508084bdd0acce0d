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
  return writeFileAtomically(path, [&](ByteSink &sink) { return sink.append(text); });
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
  // What it left does not disturb the next writer, which removes it.
  std::string left = directory.list();
  EXPECT_EQ(llvm::StringRef(left).take_front(12), "out out.tmp-");
  EXPECT_EQ(left.size(), 20u);
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
            directory.path() + ": cannot write: expected a file, found a directory");
  EXPECT_EQ(message(checkWritable(path)), "success");
  EXPECT_EQ(directory.list(), "");
  EXPECT_EQ(message(checkWritable("relative-name")), "success");
}

// A second writer neither writes to the first one's file nor takes it away.
TEST_F(FileIOTest, WritersOfOnePathDoNotMeet) {
  llvm::cantFail(writeFileAtomically(path, [&](ByteSink &sink) -> llvm::Error {
    llvm::cantFail(sink.append("fir"));
    llvm::cantFail(writeText(path, "second"));
    EXPECT_EQ(test::readBytes(path), "second");
    return sink.append("st");
  }));
  EXPECT_EQ(test::readBytes(path), "first");
  EXPECT_EQ(directory.list(), "out");
}

TEST_F(FileIOTest, ManyProcessesWriteOnePath) {
  std::vector<pid_t> children;
  for (char letter : llvm::StringRef("abcd")) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0; i < 25; ++i)
        llvm::cantFail(writeText(path, std::string(20000, letter)));
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::string text = test::readBytes(path);
  EXPECT_EQ(text, std::string(20000, text.empty() ? ' ' : text[0]));
  EXPECT_EQ(directory.list(), "out");
}

TEST_F(FileIOTest, SymbolicLinksStay) {
  std::string link = directory.path("link"), folder = directory.path("folder");
  llvm::cantFail(writeText(path, "old"));
  ASSERT_EQ(::mkdir(folder.c_str(), 0777), 0);
  // A link to a link in another folder, which points back.
  ASSERT_EQ(::symlink("folder/inner", link.c_str()), 0);
  ASSERT_EQ(::symlink("../out", (folder + "/inner").c_str()), 0);
  EXPECT_EQ(message(checkWritable(link)), "success");
  EXPECT_EQ(message(writeText(link, "new")), "success");
  EXPECT_EQ(test::readBytes(path), "new");
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(link));
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(folder + "/inner"));
  // One that points at nothing makes its target.
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(message(writeText(link, "made")), "success");
  EXPECT_EQ(test::readBytes(path), "made");
  // Nowhere to write to, and a cycle.
  std::string lost = directory.path("lost"), cycle = directory.path("cycle");
  ASSERT_EQ(::symlink("none/out", lost.c_str()), 0);
  ASSERT_EQ(::symlink("cycle", cycle.c_str()), 0);
  for (bool isCheck : {true, false}) {
    auto write = [&](const std::string &name) {
      return message(isCheck ? checkWritable(name) : writeText(name, "x"));
    };
    EXPECT_EQ(write(lost), lost + ": cannot write: No such file or directory");
    EXPECT_EQ(write(cycle), cycle + ": cannot write: Too many levels of symbolic links");
  }
  EXPECT_EQ(directory.list(), "cycle folder link lost out");
}

TEST_F(FileIOTest, KeepsPermissionsAndOddNames) {
  path = directory.path("50% of.it");
  llvm::cantFail(writeText(path, "old"));
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  llvm::cantFail(writeText(path, "new"));
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  EXPECT_EQ(directory.list(), "50% of.it");
}

TEST_F(FileIOTest, OutputsAreNoOtherFile) {
  std::string link = directory.path("link"), hard = directory.path("hard"),
              folder = directory.path("folder"), fresh = directory.path("fresh"),
              again = folder + "/../fresh";
  llvm::cantFail(writeText(path, "x"));
  ASSERT_EQ(::symlink("out", link.c_str()), 0);
  ASSERT_EQ(::link(path.c_str(), hard.c_str()), 0);
  ASSERT_EQ(::mkdir(folder.c_str(), 0777), 0);
  auto check = [](std::string input, std::string output, bool isOutput = false) {
    return message(
        checkDistinctFiles({{"--in", input, isOutput}, {"--out", output, true}}));
  };
  EXPECT_EQ(check(path, path),
            "--out: '" + path + "' is also the file of --in; give it a file of its own");
  EXPECT_EQ(check(path, link), "--out: '" + link + "' is also the file of --in ('" +
                                   path + "'); give it a file of its own");
  EXPECT_EQ(check(hard, link), "--out: '" + link + "' is also the file of --in ('" +
                                   hard + "'); give it a file of its own");
  // Files that do not exist yet.
  EXPECT_EQ(check(fresh, again, true), "--out: '" + again +
                                           "' is also the file of --in ('" + fresh +
                                           "'); give it a file of its own");
  EXPECT_EQ(check(fresh, folder + "/fresh", true), "success");
  EXPECT_EQ(check("/dev/null", "/dev/null", true), "success");
  EXPECT_EQ(check("", "", true), "success");
  // Two inputs may be one file.
  EXPECT_EQ(message(checkDistinctFiles({{"--a", path}, {"--b", link}})), "success");
}

TEST_F(FileIOTest, LocksAreExclusiveAndNameTheProcess) {
  std::string link = directory.path("link");
  ASSERT_EQ(::symlink("out", link.c_str()), 0);
  {
    FileLock lock = llvm::cantFail(FileLock::acquire(path));
    EXPECT_EQ(lock.getWhyNot(), "");
    for (const std::string &name : {path, link})
      EXPECT_EQ(message(FileLock::acquire(name)),
                name + ": in use by another run (process " + std::to_string(::getpid()) +
                    "); wait until it ends, or give another file");
    EXPECT_EQ(directory.list(), "link out.mpt-lock");
  }
  EXPECT_EQ(directory.list(), "link");
  EXPECT_EQ(message(FileLock::acquire(path)), "success");
  EXPECT_EQ(message(FileLock::acquire("/dev/null")), "success");
}

TEST_F(FileIOTest, AKilledOwnerLosesItsLock) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    FileLock lock = llvm::cantFail(FileLock::acquire(path));
    if (::write(ready[1], "x", 1) == 1)
      ::pause();
    _exit(1);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(message(FileLock::acquire(path)),
            path + ": in use by another run (process " + std::to_string(child) +
                "); wait until it ends, or give another file");
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(directory.list(), "out.mpt-lock");
  EXPECT_EQ(message(FileLock::acquire(path)), "success");
  EXPECT_EQ(directory.list(), "");
  ::close(ready[0]);
  ::close(ready[1]);
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
