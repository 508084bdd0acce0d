//===- MeasuredTimes.cpp - Measured times beside estimates ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/CostModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace mpt;

/// Without what tells one way of doing it from another: "attention (wgmma)" is attention.
static llvm::StringRef getOp(llvm::StringRef kind) { return kind.split(" (").first; }

llvm::Error mpt::addMeasuredTimes(ProgramEstimate &estimate, llvm::StringRef profile) {
  auto json = llvm::json::parse(profile);
  if (!json)
    return json.takeError();
  const llvm::json::Object *object = json->getAsObject();
  const llvm::json::Array *entries = object ? object->getArray("instructions") : nullptr;
  if (!entries)
    return llvm::createStringError(
        "expected an object with \"instructions\", as mpt-run --profile-json writes it");
  std::map<size_t, InstructionEstimate> known;
  for (auto *list : {&estimate.instructions, &estimate.alternatives})
    for (InstructionEstimate &one : *list)
      known[one.number] = std::move(one);
  estimate.instructions.clear();
  estimate.alternatives.clear();
  std::map<size_t, double> measured;
  for (const llvm::json::Value &value : *entries) {
    const llvm::json::Object *entry = value.getAsObject();
    auto number = entry ? entry->getInteger("number") : std::nullopt;
    auto call = entry ? entry->getString("call") : std::nullopt;
    auto ms = entry ? entry->getNumber("ms") : std::nullopt;
    if (!number || !call || !ms || *number < 0)
      return llvm::createStringError(
          "expected instructions with \"number\", \"call\" and \"ms\"");
    // Waits are edges of the graph, which have no estimate.
    if (*call == rt::WaitCall::name)
      continue;
    auto one = known.find(*number);
    if (one == known.end() || getOp(one->second.kind) != getOp(*call))
      return llvm::createStringError(
          "it is the profile of another program: instruction " + llvm::Twine(*number) +
          " is " + (one == known.end() ? "none" : "\"" + one->second.kind + "\"") +
          " here and \"" + *call + "\" there");
    measured[*number] += *ms / 1e3;
  }
  for (auto &[number, one] : known) {
    auto found = measured.find(number);
    if (found == measured.end()) {
      estimate.alternatives.push_back(std::move(one));
      continue;
    }
    one.measured = found->second;
    estimate.instructions.push_back(std::move(one));
  }
  estimate.isMeasured = true;
  return llvm::Error::success();
}
