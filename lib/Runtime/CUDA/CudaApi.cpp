//===- CudaApi.cpp - cudart and cuBLASLt by dlopen -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaApi.h"

#include <cstring>
#include <dlfcn.h>
#include <utility>

using namespace mpt::rt::cuda;

static const char *const kPackage = "CUDA 12.6 or newer";

void *mpt::rt::cuda::openLibrary(const std::string &given,
                                 const std::vector<std::string> &names,
                                 const std::string &package, std::string &error) {
  const std::vector<std::string> only = {given};
  for (const std::string &name : given.empty() ? names : only)
    if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  const char *why = dlerror();
  error = "cannot load " + (given.empty() ? names.front() : given) +
          (why ? std::string(": ") + why : "") + "; install " + package +
          ", or name the library";
  return nullptr;
}

bool Api::load(const std::string &cudart, const std::string &cublasLt,
               std::string &error) {
  void *runtime = openLibrary(
      cudart, {"libcudart.so.13", "libcudart.so.12", "libcudart.so"}, kPackage, error);
  if (!runtime)
    return false;
  // `function` is a pointer to one, of any type: one lambda for all is a sixth of the
  // code.
  auto find = [&](void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    std::memcpy(function, &found, sizeof(found));
    if (!found)
      error = std::string("the CUDA libraries found have no ") + name + "; install " +
              kPackage;
    return found != nullptr;
  };
#define MPT_FIND_RUNTIME(name, parameters)                                               \
  if (!find(runtime, #name, &name))                                                      \
    return false;
#define MPT_FIND_BLAS(name, parameters)                                                  \
  if (!find(blas, #name, &name))                                                         \
    return false;
#define MPT_FIND_RENAMED(name, addition, parameters)                                     \
  if (!find(runtime, #name addition, &name) && !find(runtime, #name, &name))             \
    return false;
  MPT_CUDART_FUNCTIONS(MPT_FIND_RUNTIME)
  MPT_CUDART_RENAMED_FUNCTIONS(MPT_FIND_RENAMED)
  if (!find(runtime, "cudaGetErrorString", &cudaGetErrorString))
    return false;
  void *blas =
      openLibrary(cublasLt, {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                  kPackage, error);
  auto findAll = [&] {
    MPT_CUBLASLT_FUNCTIONS(MPT_FIND_BLAS)
    return find(blas, "cublasLtGetVersion", &cublasLtGetVersion);
  };
#undef MPT_FIND_RUNTIME
#undef MPT_FIND_RENAMED
#undef MPT_FIND_BLAS
  if (blas && findAll())
    return true;
  // A library that was named must be that one.
  if (!cublasLt.empty())
    return false;
  std::swap(withoutCublasLt, error);
  return true;
}
