//===- NcclApi.cpp - NCCL by dlopen -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclApi.h"

#include <cstring>
#include <dlfcn.h>

using namespace mpt::rt::cuda;

static const char *const kPackage = "NCCL 2.14 or newer";

bool NcclApi::load(const std::string &given, std::string &error) {
  void *library = openLibrary(given, {"libnccl.so.2", "libnccl.so"}, kPackage, error);
  if (!library)
    return false;
  auto find = [&](const char *name, void *function) {
    void *found = dlsym(library, name);
    std::memcpy(function, &found, sizeof(found));
    if (!found)
      error = std::string("the NCCL found has no ") + name + "; install " + kPackage;
    return found != nullptr;
  };
  // An old one may lack others.
  if (!find("ncclGetVersion", &ncclGetVersion))
    return false;
  if (ncclGetVersion(&version) != kNcclSuccess || version < kNcclVersion) {
    error =
        "the NCCL found has version " + std::to_string(version) + "; install " + kPackage;
    return false;
  }
#define MPT_FIND(name, parameters)                                                       \
  if (!find(#name, &name))                                                               \
    return false;
  MPT_NCCL_FUNCTIONS(MPT_FIND)
#undef MPT_FIND
  return find("ncclGetErrorString", &ncclGetErrorString) &&
         find("ncclGetLastError", &ncclGetLastError);
}
