//===- CudnnApi.cpp - cuDNN by dlopen -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnApi.h"

#include <cstring>
#include <dlfcn.h>

using namespace mpt::rt::cuda;

bool CudnnApi::load(const std::string &given, std::string &error) {
  void *library = openLibrary(given, {"libcudnn.so.9", "libcudnn.so"}, "cuDNN 9", error);
  if (!library)
    return false;
  auto find = [&](const char *name, void *function) {
    void *found = dlsym(library, name);
    std::memcpy(function, &found, sizeof(found));
    if (!found)
      error = std::string("the cuDNN found has no ") + name + "; install cuDNN 9";
    return found != nullptr;
  };
  // An old one may lack others.
  if (!find("cudnnGetVersion", &cudnnGetVersion))
    return false;
  if (size_t version = cudnnGetVersion(); version < kDnnVersion) {
    error =
        "the cuDNN found has version " + std::to_string(version) + "; install cuDNN 9";
    return false;
  }
#define MPT_FIND(name, parameters)                                                       \
  if (!find(#name, &name))                                                               \
    return false;
  MPT_CUDNN_FUNCTIONS(MPT_FIND)
#undef MPT_FIND
  return find("cudnnGetErrorString", &cudnnGetErrorString);
}

std::string CudnnApi::nameOf(int status) const {
  const char *name = cudnnGetErrorString(status);
  return std::string(name ? name : "unknown status") + " (" + std::to_string(status) +
         ")";
}
