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

/// The products of the first and the last layers, forward and backward. A layer is a
/// product that reads a parameter (an argument of the function, as it is or moved by
/// clear ops) before any other product reads it; it is a first one if it computes from
/// no other layer, a last one if no other layer computes from it. Products of its
/// gradients read an operand of it again. What is in a loop stands for many layers and
/// is none of them. (Keeping them in f32 is NVIDIA's advice for fp8 and Apex's habit
/// for f16.)
void keepFirstAndLastLayers(const PrecisionGraph &graph, PrecisionExceptions &kept);

/// Products that read attention's probabilities: what one of the ops `probabilities`
/// (softmax, exponential) makes of scores, which are products of two computed values,
/// through ops that are no products and read no product.
/// An op of `attention` does all of it and is kept as a whole.
void keepAttentionValues(const PrecisionGraph &graph,
                         const llvm::StringSet<> &probabilities,
                         const llvm::StringSet<> &attention, PrecisionExceptions &kept);

/// What a training step updates: the ops on a way from an argument to a result through
/// values of one type and no product (parameters, moments, averages, also round a loop
/// or over several steps in one function), and what only feeds them and is no larger (a
/// gradient times its rate). Also without a product behind it half would lose what is
/// added: a bf16 parameter keeps no change below its 256th. A function is a step if it
/// returns a number (the loss) or has `tf.aliasing_output`. Linear.
void keepState(const PrecisionGraph &graph, PrecisionExceptions &kept);

/// What adds to (or multiplies) itself round a loop without a product: running sums,
/// averages, gradients summed over steps, linear recurrences. Each trip rounds what all
/// trips before it have added: in bf16, sums stop at 256 times what is added, and a decay
/// of 0.999 is none. A residual stream, which products read and add to in turn, is none
/// of them. All of such a cycle, without what flows into it. Linear.
void keepRecurrences(const PrecisionGraph &graph, PrecisionExceptions &kept);

/// Infer and stable ops each of whose results is a sum (or mean, or norm) of more than
/// `limit` elements, to judge by shapes. The result would be stored low: a sum of
/// 65,505 ones is infinite in f16.
void keepLongReductions(const PrecisionGraph &graph, uint64_t limit,
                        PrecisionExceptions &kept);

} // namespace mpt

#endif // MPT_PRECISION_PRECISIONEXCEPTIONS_H
