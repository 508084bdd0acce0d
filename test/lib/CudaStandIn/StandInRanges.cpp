//===- StandInRanges.cpp - A tool that reads NVTX ranges -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StandInState.h"

#ifdef MPT_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

using namespace mpt::standin;

static std::string ranges;

extern "C" const char *mpt_standin_ranges() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return ranges.c_str();
}

#ifdef MPT_HAS_NVTX
static thread_local int depth = 0;

static int push(const char *name) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  ranges += std::string(2 * depth, ' ') + name + "\n";
  return depth++;
}
static int pop() { return --depth; }

/// What NVTX calls in the library that NVTX_INJECTION64_PATH names.
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t getExportTable) {
  auto *callbacks =
      static_cast<const NvtxExportTableCallbacks *>(getExportTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) ||
      size <= NVTX_CBID_CORE_RangePop)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}
#endif
