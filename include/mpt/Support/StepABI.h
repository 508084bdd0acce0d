//===- StepABI.h - Roles and first values of a step's arguments -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an argument of a step function is for, and how its first value is made. Shared
/// by the dialect, the host and the runtime; needs neither LLVM nor MLIR. MPTReference.td
/// describes the names; StepAttributes.cpp does not compile if the two differ.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_STEPABI_H
#define MPT_SUPPORT_STEPABI_H

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mpt {

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// The meaning of an argument, its `mpt.role`.
enum class Role : uint8_t {
  Parameter,
  OptimizerState,
  RunningStat,
  LossScale,
  Rng,
  Schedule,
  Input,
  Target
};

/// The names of the roles, by number.
inline constexpr std::string_view kRoleNames[] = {
    "parameter", "optimizer_state", "running_stat", "loss_scale",
    "rng",       "schedule",        "input",        "target"};

/// The role's name ("optimizer_state").
constexpr std::string_view stringifyRole(Role role) {
  return kRoleNames[static_cast<int>(role)];
}
constexpr std::optional<Role> parseRole(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Role::Target); ++i)
    if (kRoleNames[i] == name)
      return static_cast<Role>(i);
  return std::nullopt;
}

/// Whether the argument keeps its value between steps. Inputs and targets are bound at
/// every step instead.
constexpr bool isStateRole(Role role) {
  return role != Role::Input && role != Role::Target;
}
/// Whether state of this role begins as zeros if nothing gives it a first value.
constexpr bool beginsAsZeros(Role role) {
  return role == Role::OptimizerState || role == Role::Rng;
}

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

/// How the first value of a tensor is made, the `kind` of `mpt.init`. Those after
/// Constant are random.
enum class InitKind : uint8_t {
  /// 0 and 1 everywhere, or `value`.
  Zeros,
  Ones,
  Constant,
  /// U(low, high).
  Uniform,
  /// N(mean, std).
  Normal,
  /// N(mean, std) cut at two standard deviations, as
  /// torch.nn.init.trunc_normal_(a=mean-2std, b=mean+2std).
  TruncNormal,
  /// U(-b, b) with b = 1/sqrt(fan_in): what torch.nn.Linear and Conv2d use for
  /// weight (kaiming_uniform_ with a = sqrt(5)) and bias.
  KaimingUniform,
  /// U(-b, b) with b = sqrt(6/(fan_in + fan_out)) (Glorot and Bengio 2010).
  XavierUniform
};

/// The name of a kind and of its numbers, in the order of InitSpec::numbers; unused ones
/// are empty.
struct InitKindNames {
  std::string_view name, numbers[2];
};
inline constexpr InitKindNames kInitKindNames[] = {
    {"zeros", {}},
    {"ones", {}},
    {"constant", {"value"}},
    {"uniform", {"low", "high"}},
    {"normal", {"mean", "std"}},
    {"trunc_normal", {"mean", "std"}},
    {"kaiming_uniform", {"fan_in"}},
    {"xavier_uniform", {"fan_in", "fan_out"}}};

constexpr const InitKindNames &getNames(InitKind kind) {
  return kInitKindNames[static_cast<int>(kind)];
}
constexpr std::optional<InitKind> parseInitKind(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(InitKind::XavierUniform); ++i)
    if (kInitKindNames[i].name == name)
      return static_cast<InitKind>(i);
  return std::nullopt;
}

/// A kind with its numbers.
struct InitSpec {
  InitKind kind = InitKind::Zeros;
  double numbers[2] = {0, 0};

  bool isRandom() const { return kind > InitKind::Constant; }
};

/// What is wrong with the numbers of `spec`, as "fan_in > 0"; null if they define a
/// value or a distribution.
inline const char *getRequirement(const InitSpec &spec) {
  const double first = spec.numbers[0], second = spec.numbers[1];
  const bool isFinite = std::isfinite(first) && std::isfinite(second);
  switch (spec.kind) {
  case InitKind::Zeros:
  case InitKind::Ones:
    return nullptr;
  case InitKind::Constant:
    return isFinite ? nullptr : "a finite value";
  case InitKind::Uniform:
    return isFinite && first <= second ? nullptr : "finite low <= high";
  case InitKind::Normal:
  case InitKind::TruncNormal:
    return isFinite && second >= 0 ? nullptr : "a finite mean and std >= 0";
  case InitKind::KaimingUniform:
    return isFinite && first > 0 ? nullptr : "fan_in > 0";
  case InitKind::XavierUniform:
    return isFinite && first > 0 && second > 0 ? nullptr : "fan_in > 0 and fan_out > 0";
  }
  return "a known kind";
}

} // namespace mpt

#endif // MPT_SUPPORT_STEPABI_H
