//===- Layers.h - A network whose parameters have several blocks -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_PARALLEL_LAYERS_H
#define MPT_UNITTESTS_PARALLEL_LAYERS_H

namespace mpt::test {

/// A loss whose parameters are, in elements: two blocks; 9,600, which are rows of 128;
/// 4,489, which no power of two divides; and vectors. One is read by a matmul and by
/// another op.
inline const char *const kLayers = R"(
func.func @loss(
    %w0: tensor<64x128xf32> {mpt.name = "w0", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %b0: tensor<128xf32> {mpt.name = "b0", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w1: tensor<128x75xf32> {mpt.name = "w1", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %w2: tensor<75x67xf32> {mpt.name = "w2", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %w3: tensor<67x67xf32> {mpt.name = "w3", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %g: tensor<67xf32> {mpt.name = "g", mpt.role = "parameter", mpt.decay = false, mpt.init = {kind = "ones"}},
    %x: tensor<4x64xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<4xi32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.linear %x, %w0, %b0 : (tensor<4x64xf32>, tensor<64x128xf32>, tensor<128xf32>) -> tensor<4x128xf32>
  %1 = mpt.gelu %0 : (tensor<4x128xf32>) -> tensor<4x128xf32>
  %2 = mpt.matmul %1, %w1 : (tensor<4x128xf32>, tensor<128x75xf32>) -> tensor<4x75xf32>
  %3 = mpt.tanh %2 : (tensor<4x75xf32>) -> tensor<4x75xf32>
  %4 = mpt.matmul %3, %w2 : (tensor<4x75xf32>, tensor<75x67xf32>) -> tensor<4x67xf32>
  %5, %r = mpt.rms_norm %4, %g : (tensor<4x67xf32>, tensor<67xf32>) -> (tensor<4x67xf32>, tensor<4xf32>)
  %6 = mpt.matmul %5, %w3 : (tensor<4x67xf32>, tensor<67x67xf32>) -> tensor<4x67xf32>
  %7 = mpt.reduce %w3 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0>} : (tensor<67x67xf32>) -> tensor<67xf32>
  %8 = mpt.add %6, %7 : (tensor<4x67xf32>, tensor<67xf32>) -> tensor<4x67xf32>
  %loss, %lse = mpt.cross_entropy %8, %t : (tensor<4x67xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return %loss : tensor<f32>
})";

} // namespace mpt::test

#endif // MPT_UNITTESTS_PARALLEL_LAYERS_H
