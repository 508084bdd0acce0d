//===- TargetDescription.cpp - The speeds of a machine ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/TargetDescription.h"

#include "mpt/Dialect/MPT/IR/TargetNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;

static const TargetDescription targets[] = {
    // name, machine, f32, f16, bf16, f8, GB/s, us, bytes
    {kTargetNames[0], "V100 SXM2", 15.7, 125, 0, 0, 900, 2, 16},
    {kTargetNames[1], "T4", 8.1, 65, 0, 0, 320, 2, 16},
    {kTargetNames[2], "A100 SXM 80 GB", 19.5, 312, 312, 0, 2039, 2, 16},
    {kTargetNames[3], "A10", 31.2, 125, 125, 0, 600, 2, 16},
    {kTargetNames[4], "L40S", 91.6, 362, 362, 733, 864, 2, 16},
    {kTargetNames[5], "H100 SXM", 66.9, 989, 989, 1979, 3350, 2, 16},
    {kTargetNames[6], "B200", 75, 2250, 2250, 4500, 7700, 2, 16},
    // Per core and cycle, AMX's bf16 does 32 times what two AVX-512 units do in f32;
    // 56 cores at 2 GHz.
    {kTargetNames[7], "Xeon 8480+", 7.2, 0, 229, 0, 307, 1, 64},
    // Half types are widened; they save bytes alone.
    {kTargetNames[8], "any x86-64", 1, 0, 0, 0, 50, 1, 4},
};

static_assert(std::size(targets) == std::size(kTargetNames));

double TargetDescription::getRate(Type low) const {
  double rate = low.isF16() ? f16 : low.isBF16() ? bf16 : low.isF32() ? f32 : f8;
  return std::max(rate, f32) * 1e12;
}

LogicalResult mpt::findTarget(ModuleOp module, StringRef name,
                              const TargetDescription *&target, Location named) {
  target = nullptr;
  if (name.empty()) {
    auto text = module->getAttrOfType<StringAttr>(kTargetAttr);
    if (!text)
      return success();
    name = text.getValue();
    named = module.getLoc();
  }
  for (const TargetDescription &each : targets)
    if (each.name == name)
      target = &each;
  if (target)
    return success();
  return mlir::emitError(named) << "unknown target '" << name << "'; expected one of "
                                << llvm::join(ArrayRef(kTargetNames), ", ");
}
