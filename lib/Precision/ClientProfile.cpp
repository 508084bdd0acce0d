//===- ClientProfile.cpp - What other compilers make of low ops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/ClientProfile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mpt;
using llvm::StringRef;

std::optional<MixedResults> mpt::symbolizeMixedResults(StringRef text) {
  if (text == "true")
    return MixedResults::All;
  if (text == "false")
    return MixedResults::None;
  const auto *found = llvm::find(kMixedResultsWords, text);
  if (found == std::end(kMixedResultsWords))
    return std::nullopt;
  return static_cast<MixedResults>(found - std::begin(kMixedResultsWords));
}

/// PyTorch's kernels sum in f32 inside; what torch-mlir makes of these ops does not
/// (20,000 ones of bf16 sum to 256).
static constexpr StringRef torchMlirSums[] = {"torch.aten.sum*",
                                              "torch.aten.mean*",
                                              "torch.aten.prod*",
                                              "torch.aten.cumsum",
                                              "torch.aten.cumprod",
                                              "torch.aten.log_softmax.int",
                                              "torch.aten._log_softmax",
                                              "torch.aten.var*",
                                              "torch.aten.std*",
                                              "torch.aten.norm*",
                                              "torch.aten.linalg_vector_norm",
                                              "torch.prims.var",
                                              "torch.prims.sum"};

static constexpr ClientProfile clients[] = {
    {"generic", MixedResults::All, {}, RematIsolation::None},
    // It refuses a reduction whose region adds in another type than its operand's, and
    // sums a dot in the type of its result.
    {"iree", MixedResults::Matmuls, {}, RematIsolation::Barrier},
    // What it makes is compiled by IREE.
    {"torch-mlir", MixedResults::Matmuls, torchMlirSums, RematIsolation::None},
    // It refuses some dots of two bf16 tensors into f32 when they run.
    {"xla-cpu", MixedResults::None, {}, RematIsolation::Conditional},
    {"xla-gpu", MixedResults::All, {}, RematIsolation::Barrier},
};

const ClientProfile *mpt::findClient(StringRef name) {
  const auto *found = llvm::find_if(
      clients, [&](const ClientProfile &client) { return client.name == name; });
  return found == std::end(clients) ? nullptr : found;
}

llvm::SmallVector<StringRef> mpt::getClients() {
  return llvm::map_to_vector(clients,
                             [](const ClientProfile &each) { return each.name; });
}
