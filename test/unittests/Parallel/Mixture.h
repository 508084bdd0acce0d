//===- Mixture.h - A network that exchanges all kinds of values -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_PARALLEL_MIXTURE_H
#define MPT_UNITTESTS_PARALLEL_MIXTURE_H

namespace mpt::test {

/// A loss with batch norm, dropout, a parameter without a gradient, and results and state
/// of all kinds.
inline const char *const kMixture = R"(
func.func @loss(
    %w0: tensor<4x6xf32> {mpt.name = "w0", mpt.role = "parameter"},
    %g: tensor<6xf32> {mpt.name = "g", mpt.role = "parameter"},
    %b: tensor<6xf32> {mpt.name = "b", mpt.role = "parameter"},
    %w1: tensor<6x3xf32> {mpt.name = "w1", mpt.role = "parameter"},
    %unused: tensor<3xf32> {mpt.name = "unused", mpt.role = "parameter"},
    %rm: tensor<6xf32> {mpt.name = "rm", mpt.role = "running_stat"},
    %rv: tensor<6xf32> {mpt.name = "rv", mpt.role = "running_stat"},
    %n: tensor<i64> {mpt.name = "n", mpt.role = "running_stat"},
    %seed: tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
    %attempt: tensor<i64> {mpt.name = "attempt", mpt.role = "rng"},
    %x: tensor<6x4xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<6xi32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<6x3xf32> {mpt.name = "rows"},
        tensor<i32> {mpt.name = "hits"}, tensor<i1> {mpt.name = "large"},
        tensor<6xf32> {mpt.name = "rm", mpt.updates = "rm"},
        tensor<6xf32> {mpt.name = "rv", mpt.updates = "rv"},
        tensor<i64> {mpt.name = "n", mpt.updates = "n"}) {
  %0 = mpt.matmul %x, %w0 : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %1, %nm, %nv, %m, %r = mpt.batch_norm %0, %g, %b, %rm, %rv {momentum = 0.1 : f64}
      : (tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> (tensor<6x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  %2 = mpt.gelu %1 : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %3, %kept = mpt.dropout %2, %seed, %attempt {rate = 0.25 : f64, stream = 1 : i64}
      : (tensor<6x6xf32>, tensor<i64>, tensor<i64>) -> (tensor<6x6xf32>, tensor<6x6xi1>)
  %4 = mpt.matmul %3, %w1 : (tensor<6x6xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
  %loss, %lse = mpt.cross_entropy %4, %t : (tensor<6x3xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  %class = mpt.argmax %4 : (tensor<6x3xf32>) -> tensor<6xi32>
  %hit = mpt.compare %class, %t {predicate = #mpt.predicate<eq>} : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
  %ones = mpt.cast %hit : (tensor<6xi1>) -> tensor<6xf32>
  %sum = mpt.reduce %ones {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<6xf32>) -> tensor<f32>
  %hits = mpt.cast %sum : (tensor<f32>) -> tensor<i32>
  %one = mpt.constant dense<1.2> : tensor<f32>
  %large = mpt.compare %loss, %one {predicate = #mpt.predicate<gt>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %step = mpt.constant dense<1> : tensor<i64>
  %n1 = mpt.add %n, %step : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %loss, %4, %hits, %large, %nm, %nv, %n1
      : tensor<f32>, tensor<6x3xf32>, tensor<i32>, tensor<i1>, tensor<6xf32>, tensor<6xf32>, tensor<i64>
})";

} // namespace mpt::test

#endif // MPT_UNITTESTS_PARALLEL_MIXTURE_H
