// RUN: split-file %s %t
// RUN: mpt-opt %t/two.mlir --mpt-autodiff | FileCheck %s --check-prefix=GRAD
// RUN: mpt-opt %t/two.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd clip-norm=1" --mpt-loss-scale --mpt-validate-loss-scale | FileCheck %s --check-prefix=SCALE
// RUN: mpt-opt %t/two.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-loss-scale="mode=amax" --mpt-validate-loss-scale | FileCheck %s --check-prefix=AMAX
// RUN: not mpt-opt %t/vector.mlir --mpt-autodiff 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not mpt-opt %t/unnamed.mlir --mpt-autodiff 2>&1 | FileCheck %s --check-prefix=UNNAMED
// RUN: not mpt-opt %t/apart.mlir --mpt-autodiff 2>&1 | FileCheck %s --check-prefix=APART
// RUN: not mpt-opt %t/torn.mlir --mpt-loss-scale 2>&1 | FileCheck %s --check-prefix=TORN

// A seed and gradients for each loss, of what it reaches.
// GRAD: tensor<2xf32> {mpt.name = "grad.first.w"}, tensor<2xf32> {mpt.name = "grad.first.v"}, tensor<2xf32> {mpt.name = "grad.second.w"})
// GRAD: mpt.grad_seed {mpt.loss = "first"}
// GRAD: mpt.grad_seed {mpt.loss = "second"}
// GRAD: mpt.gradients {{.*}} {mpt.loss = "first", names = ["w", "v"]}
// GRAD: mpt.gradients {{.*}} {mpt.loss = "second", names = ["w"]}

// Each is scaled and unscaled by its own; then they are added, in f32; one predicate.
// SCALE: %[[A:[^:]*]]: tensor<f32> {{{[^}]*}}}, mpt.name = "loss_scale.first", mpt.role = "loss_scale"}
// SCALE-SAME: %[[B:[^:]*]]: tensor<f32> {{{[^}]*}}}, mpt.name = "loss_scale.second", mpt.role = "loss_scale"}
// SCALE-SAME: {mpt.name = "found_inf"}
// SCALE-SAME: {mpt.name = "found_inf.first"}
// SCALE-SAME: {mpt.name = "found_inf.second"}
// SCALE-SAME: {mpt.name = "did_step"}
// SCALE-SAME: {mpt.name = "loss_scale.first", mpt.updates = "loss_scale.first"}
// SCALE-SAME: {mpt.name = "loss_scale.second.growth_tracker", mpt.updates = "loss_scale.second.growth_tracker"}
// SCALE: mpt.scale_loss %{{.*}}, %[[A]]
// SCALE: mpt.scale_loss %{{.*}}, %[[B]]
// SCALE: %[[U:.*]]:2, %[[OK1:.*]] = mpt.unscale {{.*}}, %[[A]] :
// SCALE: %[[V:.*]], %[[OK2:.*]] = mpt.unscale {{.*}}, %[[B]] :
// SCALE: %[[SUM:.*]] = mpt.add %[[U]]#0, %[[V]] {mpt.precision = "f32"}
// SCALE: %{{.*}}, %[[N:.*]] = mpt.clip_by_global_norm %[[SUM]], %[[U]]#1
// SCALE: %[[GRADIENTS:.*]] = mpt.and %[[OK1]], %[[OK2]]
// SCALE: %[[OTHERS:.*]] = mpt.all_finite %[[N]], %{{.*}}, %{{.*}} :
// SCALE: %[[OK:.*]] = mpt.and %[[GRADIENTS]], %[[OTHERS]]
// SCALE: mpt.sgd {{.*}} if(%[[OK]])
// SCALE: mpt.update_loss_scale %[[A]], %{{.*}}, %[[OK1]]
// SCALE: mpt.update_loss_scale %[[B]], %{{.*}}, %[[OK2]]

// One norm, of what is added.
// RUN: mpt-opt %t/two.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-loss-scale="mode=static" | FileCheck %s --check-prefix=NORM
// NORM: {mpt.name = "loss_scale.first", mpt.updates = "loss_scale.first"}
// NORM-SAME: {mpt.name = "loss_scale.second", mpt.updates = "loss_scale.second"}
// NORM-SAME: {mpt.name = "grad_norm"}
// NORM: %[[U:.*]]:2, %{{.*}} = mpt.unscale
// NORM: %[[SUM:.*]] = mpt.add %[[U]]#0, %{{.*}} {mpt.precision = "f32"}
// NORM: mpt.clip_by_global_norm %[[SUM]], %[[U]]#1 {max_norm = 0x7FF0000000000000 : f64}

// Micro-batches: each loss has sums of its own.
// RUN: mpt-opt %t/two.mlir --mpt-autodiff --mpt-accumulate="steps=2" | FileCheck %s --check-prefix=SUMS
// SUMS: %[[FIRST:.*]] = mpt.accumulate {{.*}} {divisor = 2 : i64} : (tensor<2xf32>
// SUMS: mpt.gradients {{.*}} {mpt.loss = "first", names = ["w", "v"]}
// SUMS: mpt.gradients {{.*}} {mpt.loss = "second", names = ["w"]}
// SUMS-NOT: mpt.gradients

// AMAX: mpt.name = "loss_scale.first.amax_history"
// AMAX: mpt.name = "loss_scale.second.amax_history"

// VECTOR: error: mpt-autodiff: expected result 1, which has 'mpt.loss', to be a scalar float tensor; found 'tensor<2xf32>'
// UNNAMED: error: mpt-autodiff: expected a 'mpt.name' on result 0, which has 'mpt.loss'
// APART: error: mpt-autodiff: no parameter reaches the loss "second"
// TORN: error: mpt-loss-scale: expected each of several mpt.grad_seed and its mpt.gradients to have the same 'mpt.loss'

//--- two.mlir
func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"},
                %v: tensor<2xf32> {mpt.name = "v", mpt.role = "parameter"},
                %x: tensor<2xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "first", mpt.loss}, tensor<f32> {mpt.name = "second", mpt.loss}) {
  %a = mpt.mul %w, %v : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = mpt.mul %w, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %l = mpt.reduce %a {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  %m = mpt.reduce %b {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %l, %m : tensor<f32>, tensor<f32>
}

//--- vector.mlir
func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"}, %l: tensor<f32>)
    -> (tensor<f32>, tensor<2xf32> {mpt.name = "second", mpt.loss}) {
  return %l, %w : tensor<f32>, tensor<2xf32>
}

//--- unnamed.mlir
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> (tensor<f32> {mpt.loss}) {
  return %w : tensor<f32>
}

//--- apart.mlir
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}, %l: tensor<f32>)
    -> (tensor<f32> {mpt.name = "first", mpt.loss}, tensor<f32> {mpt.name = "second", mpt.loss}) {
  return %w, %l : tensor<f32>, tensor<f32>
}

//--- torn.mlir
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %s = mpt.grad_seed {mpt.loss = "a"} : () -> tensor<f32>
  %t = mpt.grad_seed {mpt.loss = "b"} : () -> tensor<f32>
  %g = mpt.gradients %s {names = ["w"], mpt.loss = "a"} : (tensor<f32>) -> tensor<f32>
  %h = mpt.gradients %t {names = ["w"], mpt.loss = "c"} : (tensor<f32>) -> tensor<f32>
  return %w : tensor<f32>
}
