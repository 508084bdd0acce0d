//===- Calls.h - Library calls with named fields -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The library calls of a program: a number, a name and a struct of attributes each,
/// made from mpt/Dialect/Program/IR/Calls.td, which also says what they compute. Needs
/// neither LLVM nor MLIR.
///
/// Code that handles every call visits the variant with one overload per call
/// (`Overloaded`), so that a call that was forgotten does not compile.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_CALLS_H
#define MPT_PROGRAMABI_CALLS_H

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace mpt::rt {

#include "mpt/ProgramABI/Calls.h.inc"

CallId getId(const LibraryCall &call);
/// As the ops of `mpt_program` are called: "conv2d_input_grad".
const char *getName(const LibraryCall &call);
uint32_t getNumInputs(const LibraryCall &call);
uint32_t getNumOutputs(const LibraryCall &call);

/// The call of number `id` with the default attributes; nullopt if there is none.
std::optional<LibraryCall> createCall(uint32_t id);

/// One function object out of several lambdas, to visit a LibraryCall.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_CALLS_H
