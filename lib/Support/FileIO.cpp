//===- FileIO.cpp - Files that are whole or absent --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/FileIO.h"
#include "mpt/Support/Interrupts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace mpt;

llvm::Error mpt::createFileMessage(llvm::StringRef path, const llvm::Twine &message) {
  return llvm::createStringError(path + ": " + message);
}

static llvm::Error createErrnoMessage(llvm::StringRef path, llvm::StringRef action) {
  return createFileMessage(path, "cannot " + action + ": " + llvm::sys::StrError(errno));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

llvm::Expected<InputFile> InputFile::open(llvm::StringRef path) {
  std::string name = path.str();
  int descriptor =
      // Without waiting for the writer of a pipe, which is an error below.
      llvm::sys::RetryAfterSignal(-1, ::open, name.c_str(),
                                  O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return createErrnoMessage(path, "open");
  InputFile file(std::move(name), descriptor, 0);
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return createErrnoMessage(path, "read");
  if (!S_ISREG(status.st_mode))
    return createFileMessage(path, S_ISDIR(status.st_mode)
                                       ? "expected a file, found a directory"
                                       : "expected a regular file");
  file.size = status.st_size;
  return std::move(file);
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

llvm::Error InputFile::read(uint64_t offset, void *data, size_t count) const {
  char *out = static_cast<char *>(data);
  while (count > 0) {
    ssize_t got =
        llvm::sys::RetryAfterSignal(-1, ::pread, descriptor, out, count, offset);
    if (got < 0)
      return createErrnoMessage(path, "read");
    if (got == 0)
      return createFileMessage(path, "truncated: expected " +
                                         llvm::Twine(offset + count) + " bytes, found " +
                                         llvm::Twine(offset));
    out += got;
    offset += got;
    count -= got;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

ByteSink::~ByteSink() = default;

namespace {
class DescriptorSink : public ByteSink {
public:
  DescriptorSink(llvm::StringRef path, int descriptor)
      : path(path), descriptor(descriptor) {}
  llvm::Error append(const void *data, size_t count) override {
    const char *in = static_cast<const char *>(data);
    while (count > 0) {
      ssize_t put = llvm::sys::RetryAfterSignal(-1, ::write, descriptor, in,
                                                std::min<size_t>(count, 1 << 30));
      if (put < 0)
        return createErrnoMessage(path, "write");
      in += put;
      count -= put;
    }
    return llvm::Error::success();
  }

private:
  llvm::StringRef path;
  int descriptor;
};
} // namespace

static std::string getDirectory(llvm::StringRef path) {
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  return parent.empty() ? "." : parent.str();
}

/// Makes a rename in the directory of `path` durable. File systems that cannot
/// sync directories answer EINVAL, and a directory that may be written but not
/// read cannot be opened: that is as good as it gets there.
static llvm::Error syncDirectory(llvm::StringRef path) {
  int descriptor = ::open(getDirectory(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return errno == EACCES ? llvm::Error::success()
                           : createErrnoMessage(path, "sync the directory");
  bool failed = ::fsync(descriptor) != 0 && errno != EINVAL;
  llvm::Error error =
      failed ? createErrnoMessage(path, "sync the directory") : llvm::Error::success();
  ::close(descriptor);
  return error;
}

llvm::Expected<std::string> mpt::resolveLinks(llvm::StringRef path) {
  std::string target = path.str();
  // As many as Linux follows.
  for (int link = 0; link < 40; ++link) {
    struct stat status;
    if (::lstat(target.c_str(), &status) != 0 || !S_ISLNK(status.st_mode))
      return target;
    llvm::SmallString<256> content;
    content.resize_for_overwrite(PATH_MAX);
    ssize_t size = ::readlink(target.c_str(), content.data(), content.size());
    if (size < 0)
      return createErrnoMessage(path, "write");
    content.truncate(size);
    if (llvm::sys::path::is_absolute(content)) {
      target = content.str().str();
    } else {
      llvm::SmallString<256> joined(getDirectory(target));
      llvm::sys::path::append(joined, content);
      target = joined.str().str();
    }
  }
  errno = ELOOP;
  return createErrnoMessage(path, "write");
}

/// Takes an exclusive lock without waiting. False with errno EWOULDBLOCK if
/// another process has it; on other values the file system has no locks.
static bool lockNow(int descriptor) {
  return llvm::sys::RetryAfterSignal(-1, ::flock, descriptor, LOCK_EX | LOCK_NB) == 0;
}

/// The path still names the file of `descriptor`.
static bool isNamed(int descriptor, const std::string &path) {
  struct stat own, named;
  return ::fstat(descriptor, &own) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

static constexpr llvm::StringLiteral kTemporary(".tmp-");

/// Removes temporary files for `target` whose writers have ended.
static void removeStale(llvm::StringRef target) {
  std::string prefix = (llvm::sys::path::filename(target) + kTemporary).str();
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(getDirectory(target), code), end;
       !code && it != end; it.increment(code)) {
    llvm::StringRef digits = llvm::sys::path::filename(it->path());
    if (!digits.consume_front(prefix) || digits.size() != 8 ||
        !llvm::all_of(digits, llvm::isHexDigit))
      continue;
    int descriptor = ::open(it->path().c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
      continue;
    if (lockNow(descriptor))
      ::unlink(it->path().c_str());
    ::close(descriptor);
  }
}

/// Makes a new, locked file for the bytes of `target`, and sets `name` to its
/// path. Returns -1 and sets errno on failure.
static int createTemporary(const std::string &target, std::string &name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = target + kTemporary.str() +
           llvm::utohexstr(llvm::sys::Process::GetRandomNumber(),
                           /*LowerCase=*/true, /*Width=*/8);
    int descriptor = llvm::sys::RetryAfterSignal(
        -1, ::open, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST)
      continue;
    if (descriptor < 0)
      return -1;
    removeOnInterrupt(name);
    // Between these two calls removeStale may take the file for an ended one's.
    llvm::sys::RetryAfterSignal(-1, ::flock, descriptor, LOCK_EX);
    if (isNamed(descriptor, name))
      return descriptor;
    ::close(descriptor);
    keepOnInterrupt(name);
  }
  errno = EEXIST;
  return -1;
}

static llvm::Error writeInPlace(llvm::StringRef path,
                                llvm::function_ref<llvm::Error(ByteSink &)> write) {
  llvm::Expected<int> descriptor = openForWriting(path);
  if (!descriptor)
    return descriptor.takeError();
  DescriptorSink sink(path, *descriptor);
  llvm::Error error = write(sink);
  if (::close(*descriptor) != 0 && !error)
    return createErrnoMessage(path, "write");
  return error;
}

llvm::Error mpt::writeFileAtomically(llvm::StringRef path,
                                     llvm::function_ref<llvm::Error(ByteSink &)> write) {
  struct stat old;
  const bool exists = ::stat(path.str().c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode))
    return writeInPlace(path, write);
  auto resolved = resolveLinks(path);
  if (!resolved)
    return resolved.takeError();
  const std::string &target = *resolved;
  removeStale(target);
  std::string temporary;
  int descriptor = createTemporary(target, temporary);
  if (descriptor < 0)
    return createErrnoMessage(path, "write");
  llvm::scope_exit forget([&] { keepOnInterrupt(temporary); });

  if (exists) {
    // The owner only changes for a superuser; a failure leaves the writer's.
    if (::fchown(descriptor, old.st_uid, old.st_gid) != 0)
      errno = 0;
    if (::fchmod(descriptor, old.st_mode & 07777) != 0)
      errno = 0;
  }
  DescriptorSink sink(path, descriptor);
  llvm::Error error = write(sink);
  if (!error && ::fsync(descriptor) != 0)
    error = createErrnoMessage(path, "write");
  if (!error && ::rename(temporary.c_str(), target.c_str()) != 0)
    error = createErrnoMessage(path, "write");
  if (error)
    ::unlink(temporary.c_str());
  // NFS may tell of a full disk here; fsync has told most of it.
  if (::close(descriptor) != 0 && !error)
    error = createErrnoMessage(path, "write");
  if (error)
    return error;
  return syncDirectory(target);
}

llvm::Error mpt::writeFileAtomically(llvm::StringRef path, llvm::StringRef text) {
  return writeFileAtomically(path, [&](ByteSink &sink) { return sink.append(text); });
}

llvm::Error mpt::checkWritable(llvm::StringRef path) {
  struct stat status;
  bool exists = ::stat(path.str().c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return createFileMessage(path, "cannot write: expected a file, found a "
                                   "directory");
  if (exists && !S_ISREG(status.st_mode))
    return ::access(path.str().c_str(), W_OK) == 0 ? llvm::Error::success()
                                                   : createErrnoMessage(path, "write");
  auto target = resolveLinks(path);
  if (!target)
    return target.takeError();
  if (::access(getDirectory(*target).c_str(), W_OK | X_OK) != 0 ||
      (exists && ::access(target->c_str(), W_OK) != 0))
    return createErrnoMessage(path, "write");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Files of one command line
//===----------------------------------------------------------------------===//

namespace {
/// What makes two names the same file.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  /// Of a file that does not exist yet; then the two above are its directory's.
  std::string name;
  bool operator==(const FileIdentity &other) const {
    return device == other.device && inode == other.inode && name == other.name;
  }
};
} // namespace

/// What FileLock adds to the name of a file.
static constexpr llvm::StringLiteral kLockSuffix = ".mpt-lock";

/// Nothing for devices, pipes and directories, and where no file can be.
static std::optional<FileIdentity> identify(const std::string &path) {
  struct stat status;
  FileIdentity identity;
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode))
      return std::nullopt;
  } else {
    auto target = resolveLinks(path);
    if (!target) {
      llvm::consumeError(target.takeError());
      return std::nullopt;
    }
    if (::stat(getDirectory(*target).c_str(), &status) != 0)
      return std::nullopt;
    identity.name = llvm::sys::path::filename(*target).str();
  }
  identity.device = status.st_dev;
  identity.inode = status.st_ino;
  return identity;
}

llvm::Error mpt::checkDistinctFiles(llvm::ArrayRef<FileUse> uses) {
  struct Known {
    FileIdentity identity;
    const FileUse *use;
  };
  std::vector<Known> known;
  for (const FileUse &use : uses) {
    if (use.path.empty())
      continue;
    if (use.isOutput && llvm::StringRef(use.path).ends_with(kLockSuffix))
      return createFileMessage(use.what, "'" + use.path + "' ends with '" + kLockSuffix +
                                             "', as the locks of outputs do; give it "
                                             "another name");
    std::optional<FileIdentity> identity = identify(use.path);
    if (!identity)
      continue;
    for (const Known &other : known)
      if (other.identity == *identity && (use.isOutput || other.use->isOutput)) {
        // The output is what would have to change.
        const bool isThis = use.isOutput;
        const FileUse &output = isThis ? use : *other.use;
        const FileUse &input = isThis ? *other.use : use;
        return createFileMessage(
            output.what,
            "'" + output.path + "' is also the file of " + input.what +
                (input.path == output.path ? "" : " ('" + input.path + "')") +
                "; give it a file of its own");
      }
    known.push_back({*identity, &use});
  }
  for (auto [descriptor, name] : {std::pair(STDOUT_FILENO, "standard output"),
                                  std::pair(STDERR_FILENO, "standard error")}) {
    struct stat status;
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
      continue;
    for (const Known &other : known)
      if (other.use->isOutput && other.identity.name.empty() &&
          other.identity.device == status.st_dev && other.identity.inode == status.st_ino)
        return createFileMessage(other.use->what,
                                 "'" + other.use->path + "' is also the file that " +
                                     name + " goes to; give it a file of its own");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

static std::string getHost() {
  char host[256] = {};
  return ::gethostname(host, sizeof(host) - 1) == 0 ? host : "";
}

/// " (process 12)" or " (process 12 on gpu07)", as the owner of the lock has
/// written it; empty if it has not (yet).
static std::string describeOwner(int descriptor) {
  char text[300];
  ssize_t size = ::pread(descriptor, text, sizeof(text), 0);
  auto [process, host] =
      llvm::StringRef(text, std::max<ssize_t>(size, 0)).split('\n').first.split(' ');
  uint64_t number;
  if (process.getAsInteger(10, number))
    return "";
  return (" (process " + process +
          (host.empty() || host == getHost() ? "" : " on " + host) + ")")
      .str();
}

llvm::Expected<FileLock> FileLock::acquire(llvm::StringRef path) {
  FileLock lock;
  struct stat status;
  if (::stat(path.str().c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return std::move(lock);
  auto target = resolveLinks(path);
  if (!target)
    return target.takeError();
  std::string lockPath = *target + kLockSuffix.str();
  for (int attempt = 0; attempt < 100; ++attempt) {
    int descriptor = llvm::sys::RetryAfterSignal(
        -1, ::open, lockPath.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0)
      return createErrnoMessage(lockPath, "write");
    if (!lockNow(descriptor)) {
      int why = errno;
      std::string owner = describeOwner(descriptor);
      ::close(descriptor);
      if (why == EWOULDBLOCK)
        return createFileMessage(path, "in use by another run" + owner +
                                           "; wait until it ends, or give another "
                                           "file");
      ::unlink(lockPath.c_str());
      lock.whyNot = llvm::sys::StrError(why);
      return std::move(lock);
    }
    // An owner that has ended since may have removed the file.
    if (!isNamed(descriptor, lockPath)) {
      ::close(descriptor);
      continue;
    }
    removeOnInterrupt(lockPath);
    lock.lockPath = std::move(lockPath);
    lock.descriptor = descriptor;
    // For the message above alone: on a full disk it names no process.
    std::string owner = std::to_string(::getpid()) + " " + getHost() + "\n";
    if (::ftruncate(descriptor, 0) != 0 ||
        ::pwrite(descriptor, owner.data(), owner.size(), 0) < 0)
      errno = 0;
    return std::move(lock);
  }
  return createFileMessage(path, "in use by another run");
}

FileLock::~FileLock() {
  if (descriptor < 0)
    return;
  // While it is locked: a file of this name made later is another run's.
  ::unlink(lockPath.c_str());
  keepOnInterrupt(lockPath);
  ::close(descriptor);
}
