//===- StepEngine.cpp - Something that runs a function ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepEngine.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mpt;

StepEngine::~StepEngine() = default;

llvm::StringRef mpt::stringifyRole(Role role) {
  switch (role) {
  case Role::Parameter:
    return "parameter";
  case Role::OptimizerState:
    return "optimizer_state";
  case Role::RunningStat:
    return "running_stat";
  case Role::LossScale:
    return "loss_scale";
  case Role::Rng:
    return "rng";
  case Role::Schedule:
    return "schedule";
  case Role::Input:
    return "input";
  case Role::Target:
    return "target";
  }
  return "invalid";
}

std::optional<Role> mpt::parseRole(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Role>>(name)
      .Case("parameter", Role::Parameter)
      .Case("optimizer_state", Role::OptimizerState)
      .Case("running_stat", Role::RunningStat)
      .Case("loss_scale", Role::LossScale)
      .Case("rng", Role::Rng)
      .Case("schedule", Role::Schedule)
      .Case("input", Role::Input)
      .Case("target", Role::Target)
      .Default(std::nullopt);
}
