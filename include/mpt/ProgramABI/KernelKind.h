//===- KernelKind.h - What a kernel of a GPU does ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The names by which estimates (CostModel.h) and measured profiles
/// (mpt_rt_get_profile) of programs for GPUs add up launches.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_KERNELKIND_H
#define MPT_PROGRAMABI_KERNELKIND_H

#include <string>

namespace mpt::rt {

/// What a function of a device module does, from its name: "mpt_attention_dquery_3" is
/// "attention_dquery"; with "_wgmma" at its end, it is "attention_dquery (wgmma)";
/// "loss_kernel_12" is a "kernel", "loss_kernel_12_combine" its second stage, a "kernel
/// (combine)"; of groups and batches in one launch it is "kernels in one launch" and
/// "reductions in one launch".
inline std::string getKernelKind(std::string name) {
  std::string suffix;
  for (const char *ending : {"combine", "wgmma"}) {
    const std::string end = std::string("_") + ending;
    if (name.size() < end.size() ||
        name.compare(name.size() - end.size(), end.size(), end) != 0)
      continue;
    name.resize(name.size() - end.size());
    suffix = std::string(" (") + ending + ")";
  }
  if (name.compare(0, 4, "mpt_") == 0) {
    while (name.size() > 4 &&
           (name.back() == '_' || (name.back() >= '0' && name.back() <= '9')))
      name.pop_back();
    return name.substr(4) + suffix;
  }
  if (name.find("_group") != std::string::npos)
    return "kernels in one launch";
  if (name.find("_batch") != std::string::npos)
    return "reductions in one launch";
  return "kernel" + suffix;
}

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_KERNELKIND_H
