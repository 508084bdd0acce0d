//===- PrecisionExceptions.h - Single ops that stay f32 -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ops that a policy keeps in f32 for where they stand in the network, not for what
/// they are called. Pure; linear in the graph.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_PRECISIONEXCEPTIONS_H
#define MPT_PRECISION_PRECISIONEXCEPTIONS_H

#include "mpt/Precision/PrecisionPlan.h"

#include "llvm/ADT/StringSet.h"

namespace mpt {

/// The contractions of the first and the last layers, forward and backward. A layer is a
/// contraction that reads a parameter (an argument of the function, as it is or moved by
/// clear ops) before any other contraction reads it. It is a first layer if it computes
/// from no other layer, and a last layer if no other layer computes from it. Contractions
/// of its gradients read one of its operands again. A contraction in a loop stands for
/// many layers and is not kept. (Keeping them in f32 is NVIDIA's advice for fp8 and
/// Apex's habit for f16.)
void keepFirstAndLastLayers(const PrecisionGraph &graph, PrecisionExceptions &kept);

/// Contractions that read attention's probabilities. Those are the results of the ops
/// `probabilities` (softmax, exponential) on scores, which are contractions of two
/// computed values, possibly through ops that are not contractions and read none.
/// An op of `attention` does all of it and is kept as a whole.
void keepAttentionValues(const PrecisionGraph &graph,
                         const llvm::StringSet<> &probabilities,
                         const llvm::StringSet<> &attention, PrecisionExceptions &kept);

/// What a training step updates: the ops on a path from an argument to a result through
/// values of one type and no contraction (parameters, moments, averages, also around a
/// loop or over several steps in one function), and ops that only feed them and are no
/// larger (a gradient times its rate). Even without a contraction after it, a low type
/// would lose updates: a bf16 parameter keeps no change below its 256th. A function is a
/// step if it
/// returns a number (the loss) or has `tf.aliasing_output`. Linear.
void keepState(const PrecisionGraph &graph, PrecisionExceptions &kept);

/// Values that a loop adds to (or multiplies with) themselves without a contraction:
/// running sums, averages, gradients summed over steps, linear recurrences. Each
/// iteration rounds the sum of all iterations before it: in bf16, sums stop at 256 times
/// the addend, and a decay of 0.999 becomes 1. A residual stream, which contractions read
/// and add to in turn, is not kept. Keeps the whole cycle, but not what flows into it.
/// Linear.
void keepRecurrences(const PrecisionGraph &graph, PrecisionExceptions &kept);

/// Infer and stable ops each of whose results is a sum (or mean, or norm) of more than
/// `limit` elements, to judge by shapes. The result would be stored low: a sum of
/// 65,505 ones is infinite in f16.
void keepLongReductions(const PrecisionGraph &graph, uint64_t limit,
                        PrecisionExceptions &kept);

} // namespace mpt

#endif // MPT_PRECISION_PRECISIONEXCEPTIONS_H
