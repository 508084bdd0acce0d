//===- Calls.cpp - Library calls with named fields -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/Calls.h"

using namespace mpt::rt;

CallId mpt::rt::getId(const LibraryCall &call) {
  return std::visit([](const auto &one) { return one.id; }, call);
}

const char *mpt::rt::getName(const LibraryCall &call) {
  return std::visit([](const auto &one) { return one.name; }, call);
}

uint32_t mpt::rt::getNumInputs(const LibraryCall &call) {
  return std::visit([](const auto &one) { return one.numInputs(); }, call);
}

uint32_t mpt::rt::getNumOutputs(const LibraryCall &call) {
  return std::visit([](const auto &one) { return one.numOutputs(); }, call);
}

/// Looks for `id` among the calls from number `first` of LibraryCall's list on.
template <size_t first = 0>
static std::optional<LibraryCall> createCallFrom(uint32_t id) {
  if constexpr (first == std::variant_size_v<LibraryCall>) {
    return std::nullopt;
  } else {
    using Call = std::variant_alternative_t<first, LibraryCall>;
    return id == static_cast<uint32_t>(Call::id) ? LibraryCall(Call())
                                                 : createCallFrom<first + 1>(id);
  }
}

std::optional<LibraryCall> mpt::rt::createCall(uint32_t id) { return createCallFrom(id); }
