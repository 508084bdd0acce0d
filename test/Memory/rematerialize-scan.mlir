// A loop that reads an argument of the function may be computed again. The argument has no op
// that makes it, which ended mpt-opt.
// RUN: mpt-opt %s --pass-pipeline="builtin.module(mpt-autodiff{function=loss},mpt-rematerialize{budget=min})" | FileCheck %s
// CHECK-LABEL: func.func @loss
// CHECK: mpt.scan 40
// CHECK: mpt.linear %{{.*}}, %arg0
// CHECK: mpt.scan 40 reverse

func.func @loss(
    %w: tensor<8x8xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %v: tensor<8x512xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %v2: tensor<512x8xf32> {mpt.name = "v2", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 8 : i64}},
    %x: tensor<4x40x8xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %zero = mpt.constant dense<0.0> : tensor<4x8xf32>
  %xs = mpt.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x40x8xf32>) -> tensor<40x4x8xf32>
  %h, %hs = mpt.scan 40 carry(%zero : tensor<4x8xf32>) over(%xs : tensor<40x4x8xf32>) {
  ^bb0(%hi: tensor<4x8xf32>, %e: tensor<4x8xf32>):
    %p = mpt.linear %e, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %s = mpt.add %p, %hi : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = mpt.tanh %s : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpt.yield %t, %t : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32>, tensor<40x4x8xf32>
  %a = mpt.linear %hs, %v : (tensor<40x4x8xf32>, tensor<8x512xf32>) -> tensor<40x4x512xf32>
  %b = mpt.tanh %a : (tensor<40x4x512xf32>) -> tensor<40x4x512xf32>
  %c = mpt.linear %b, %v2 : (tensor<40x4x512xf32>, tensor<512x8xf32>) -> tensor<40x4x8xf32>
  %c2 = mpt.mul %c, %c : (tensor<40x4x8xf32>, tensor<40x4x8xf32>) -> tensor<40x4x8xf32>
  %loss = mpt.reduce %c2 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1, 2>} : (tensor<40x4x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
