//===- PolicyOptions.cpp - A policy from a pass's options -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyOptions.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;

/// The low-precision type called `name`, or null after an error.
static Type parseLowType(ModuleOp module, StringRef pass, StringRef name) {
  if (name == "f16")
    return Float16Type::get(module.getContext());
  if (name == "bf16")
    return BFloat16Type::get(module.getContext());
  module.emitError(pass) << ": unknown type '" << name << "'; expected f16 or bf16";
  return {};
}

std::optional<PolicyAndPreset> mpt::makePolicy(ModuleOp module,
                                               const PolicyOptions &options) {
  auto preset = llvm::find_if(getPrecisionPresets(), [&](const PrecisionPreset &each) {
    return each.name == options.policy;
  });
  if (preset == getPrecisionPresets().end()) {
    module.emitError(options.pass)
        << ": unknown policy '" << options.policy << "'; expected one of "
        << llvm::join(llvm::map_range(getPrecisionPresets(),
                                      [](const PrecisionPreset &each) {
                                        return each.name;
                                      }),
                      ", ");
    return std::nullopt;
  }
  StringRef type = options.type;
  if (type.empty())
    type = preset->type.empty() ? StringRef("bf16") : preset->type;
  Type low = parseLowType(module, options.pass, type);
  if (!low)
    return std::nullopt;
  if (!preset->type.empty() && preset->type != type) {
    module.emitError(options.pass) << ": the policy '" << preset->name << "' is for "
                                   << preset->type << ", not for " << type;
    return std::nullopt;
  }
  PrecisionPolicy policy(low, preset->name);
  policy.setMixedResults(options.mixedResults && preset->mixedResults);
  for (const std::string &file : options.rules)
    if (failed(policy.getRules().addFile(module.getLoc(), file)))
      return std::nullopt;
  auto add = [&](PrecisionClass precisionClass, ArrayRef<std::string> names) {
    return policy.add(module.getLoc(), precisionClass, names);
  };
  if (failed(add(PrecisionClass::Allow, options.allow)) ||
      failed(add(PrecisionClass::Deny, options.deny)) ||
      failed(add(PrecisionClass::Infer, options.infer)) ||
      failed(add(PrecisionClass::Clear, options.clear)) ||
      failed(add(PrecisionClass::Stable, options.stable)) ||
      failed(policy.keep(module.getLoc(), options.keep)))
    return std::nullopt;
  return PolicyAndPreset{std::move(policy), *preset};
}
