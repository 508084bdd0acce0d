//===- ExchangeOverlap.h - Exchanges beside other work ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which exchanges between ranks run beside the rest of a step, and where they are waited
/// for. A bucket of gradients is under way while the backward pass computes the next ones
/// (Li et al. 2020, "PyTorch Distributed"). The bits are the same: what an exchange reads
/// and writes is in nobody else's hands until it has ended.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_EXCHANGEOVERLAP_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_EXCHANGEOVERLAP_H

#include "mpt/Dialect/Program/Transforms/InstructionList.h"

namespace mpt {

/// Makes each exchange of `list` that has other work between itself and the first reader
/// of its results one that only begins, and adds a wait right before that reader, or at
/// the end. Exchanges are waited for in the order in which they begin. Linear.
void overlapExchanges(InstructionList &list);

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_EXCHANGEOVERLAP_H
