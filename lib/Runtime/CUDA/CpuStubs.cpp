//===- CpuStubs.cpp - A runtime without the CPU's libraries -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the runtime for GPUs alone has in place of oneDNN and threads.
///
//===----------------------------------------------------------------------===//

#include "../CPU/Call.h"
#include "../CPU/Parallel.h"

using namespace mpt::rt;

bool mpt::rt::hasFastBF16() { return false; }

std::unique_ptr<Call> mpt::rt::makeCall(const Instruction &, int64_t, std::string &error,
                                        bool) {
  error = "this runtime is for GPUs alone; use libMPTRuntime.so";
  return nullptr;
}

ThreadTeam::ThreadTeam(int) : count(1) {}
ThreadTeam::~ThreadTeam() = default;
void ThreadTeam::run(TaskFn function, void *body, int64_t tasks) {
  for (int64_t task = 0; task < tasks; ++task)
    function(body, task, 0);
}

extern "C" {
int omp_get_max_threads(void) { return 1; }
void omp_set_num_threads(int) {}
}
