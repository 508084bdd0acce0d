//===- SystemMemory.cpp - What memory a process can have -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/SystemMemory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

// C's files: streams would add 400 KB of locales to the runtime for small devices.

/// The number in `path`; the largest if there is no such file, or none in it ("max").
static int64_t readLimit(const std::string &path) {
  int64_t limit = 0;
  if (std::FILE *file = std::fopen(path.c_str(), "re")) {
    if (std::fscanf(file, "%" SCNd64, &limit) != 1)
      limit = 0;
    std::fclose(file);
  }
  return limit > 0 ? limit : INT64_MAX;
}

/// The lowest limit of the control group `group` under `root` and of those around it.
static int64_t readGroupLimit(const std::string &root, std::string group,
                              const char *name) {
  int64_t limit = INT64_MAX;
  while (true) {
    limit = std::min(limit, readLimit(root + group + "/" + name));
    size_t slash = group.rfind('/');
    if (slash == std::string::npos)
      return limit;
    group.resize(slash);
  }
}

int64_t mpt::rt::getSystemMemory() {
  int64_t memory = INT64_MAX;
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && bytes > 0)
    memory = int64_t(pages) * bytes;
  for (int resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit;
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < uint64_t(memory))
      memory = limit.rlim_cur;
  }
  std::FILE *groups = std::fopen("/proc/self/cgroup", "re");
  if (!groups)
    return memory;
  char *buffer = nullptr;
  size_t capacity = 0;
  // Lines of "number:controllers:path"; version 2 has "0::path".
  while (getline(&buffer, &capacity, groups) > 0) {
    std::string line = buffer;
    if (line.back() == '\n')
      line.pop_back();
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,")
      memory = std::min(memory, readGroupLimit("/sys/fs/cgroup", group, "memory.max"));
    else if (controllers.find(",memory,") != std::string::npos)
      memory = std::min(memory, readGroupLimit("/sys/fs/cgroup/memory", group,
                                               "memory.limit_in_bytes"));
  }
  std::free(buffer);
  std::fclose(groups);
  return memory;
}
