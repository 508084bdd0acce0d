//===- NoCuda.cpp - A runtime without CUDA ----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What takes the place of this folder's other files in the runtime for small devices.
///
//===----------------------------------------------------------------------===//

#include "CudaExecutable.h"
#include "StateSnapshot.h"
#include "mpt/Runtime/Runtime.h"

using namespace mpt::rt;
using namespace mpt::rt::cuda;

static int refuse(std::string &error) {
  error = "this runtime is without CUDA; use libMPTRuntime.so or libMPTRuntimeCuda.so";
  return MPT_RT_UNSUPPORTED;
}

bool Api::load(const std::string &, const std::string &, std::string &error) {
  refuse(error);
  return false;
}
int mpt::rt::createSocketTransport(mpt_rt_transport &, double, std::string &error) {
  return refuse(error);
}
int mpt::rt::cuda::selectDevice(const Api &, DeviceGuard &, const DeviceChoice &, int &,
                                int &, std::string &error) {
  return refuse(error);
}
int mpt::rt::cuda::checkCode(const Api &, Error, const std::string &,
                             std::string &error) {
  return refuse(error);
}
// Of what a CudaExecutable would hold.
CublasLtContext::~CublasLtContext() = default;
CublasLtMatmul::~CublasLtMatmul() = default;
CudnnContext::~CudnnContext() = default;
CudnnDescriptors::~CudnnDescriptors() = default;
DeviceState::~DeviceState() = default;
GraphLoops::~GraphLoops() = default;
KeptResults::~KeptResults() = default;
NcclRanks::~NcclRanks() = default;
StateSnapshot::~StateSnapshot() = default;
CudaExecutable::~CudaExecutable() = default;
int CudaExecutable::open(uint64_t, std::string &error) { return refuse(error); }
int CudaExecutable::write(const BufferRef &, const void *, std::string &error) {
  return refuse(error);
}
int CudaExecutable::read(const BufferRef &, void *, std::string &error) {
  return refuse(error);
}
int CudaExecutable::find(const BufferRef &, void *&, std::string &error) {
  return refuse(error);
}
void CudaExecutable::keep(std::vector<BufferRef>) {}
int CudaExecutable::readKept(size_t, int, void *, std::string &error) {
  return refuse(error);
}
int CudaExecutable::takeSnapshot(int64_t, std::unique_ptr<StateSnapshot> &,
                                 std::string &error) {
  return refuse(error);
}
int StateSnapshot::read(int64_t, int64_t, void *, std::string &error) {
  return refuse(error);
}
int64_t CudaExecutable::countBytes() { return 0; }
int CudaExecutable::run(const std::vector<const void *> &, std::string &error) {
  return refuse(error);
}
