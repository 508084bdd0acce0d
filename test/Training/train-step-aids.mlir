// RUN: split-file %s %t
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd scale-gradients=emb=0.1 clip-groups=emb=2 clip-norm=1" | FileCheck %s --check-prefix=GROUPS
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd lr=0.1 weight-decay=0.5 lr-groups=^w$=0.01 decay-groups=e=0" | FileCheck %s --check-prefix=RATES
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd lr-groups=w=0.01 warmup=3" | FileCheck %s --check-prefix=WARM
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd lr-groups=w=0.01" --mpt-learning-rate=warmup=3 | FileCheck %s --check-prefix=WARM
// RUN: not mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd lr-groups=w=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd decay-groups=v=0.1" 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=adamw skip-spikes=6 clip-norm=1" | FileCheck %s --check-prefix=SPIKES
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=adamw skip-spikes=6 ema-decay=0.99" --mpt-loss-scale | FileCheck %s --check-prefix=BOTH
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd ema-decay=0.99" | FileCheck %s --check-prefix=EMA
// RUN: mpt-opt %t/forward.mlir --mpt-autodiff --mpt-train-step | FileCheck %s --check-prefix=OFF
// RUN: mpt-opt %t/half.mlir --mpt-autodiff --mpt-train-step="optimizer=sgd clip-norm=1 ema-decay=0.5 scale-gradients=w=0.5" --mpt-master-weights --mpt-loss-scale --mpt-validate-loss-scale | FileCheck %s --check-prefix=HALF

// Scaled first, then clipped alone, then with all; the norm is that of all before.
// GROUPS: tensor<f32> {mpt.name = "grad_norm.group0"}, tensor<f32> {mpt.name = "grad_norm"}
// GROUPS: %[[G:.*]]:2 = mpt.gradients
// GROUPS: %[[S:.*]] = mpt.mul %[[G]]#0, %{{.*}} {mpt.precision = "f32"}
// GROUPS: %{{.*}}:2, %[[ALL:.*]] = mpt.clip_by_global_norm %[[S]], %[[G]]#1 {max_norm = 0x7FF0000000000000 : f64}
// GROUPS: %[[C:.*]], %[[ONE:.*]] = mpt.clip_by_global_norm %[[S]] {max_norm = 2.000000e+00 : f64}
// GROUPS: %[[D:.*]]:2, %{{.*}} = mpt.clip_by_global_norm %[[C]], %[[G]]#1 {max_norm = 1.000000e+00 : f64}
// GROUPS: mpt.sgd {{.*}} grad(%[[D]]#0)
// GROUPS: mpt.sgd {{.*}} grad(%[[D]]#1)
// GROUPS: return %{{.*}}, %[[ONE]], %[[ALL]],

// A group's learning rate is an argument of its own; a weight decay may be none.
// RATES: %[[LR:[^:]*]]: tensor<f32> {mpt.init = {kind = "constant", value = 1.000000e-01 : f64}, mpt.name = "lr", mpt.role = "schedule"}
// RATES-SAME: %[[OWN:[^:]*]]: tensor<f32> {mpt.init = {kind = "constant", value = 1.000000e-02 : f64}, mpt.name = "lr.group0", mpt.role = "schedule"}
// RATES: mpt.sgd param(%{{.*}}) grad(%{{.*}}) lr(%[[LR]])
// RATES-NOT: weight_decay
// RATES: mpt.sgd param(%{{.*}}) grad(%{{.*}}) lr(%[[OWN]])
// RATES-SAME: weight_decay = 5.000000e-01

// A schedule multiplies both, by whichever pass.
// WARM: tensor<f32> {{{[^}]*}}}, mpt.name = "lr.group0"
// WARM-NOT: lr(%lr
// WARM-NOT: lr(%arg
// WARM: mpt.sgd
// WARM: mpt.sgd

// NEGATIVE: error: mpt-train-step: lr-groups: expected REGEX=NUMBER with a finite number of at least 0, found 'w=-1'
// UNMATCHED: error: mpt-train-step: decay-groups: 'v' matches no parameter that an earlier one has not taken

// One predicate for all state but the counters that advance always.
// SPIKES: %{{.*}}:2, %[[NORM:.*]] = mpt.clip_by_global_norm {{.*}} {max_norm = 1.000000e+00 : f64}
// SPIKES-NOT: mpt.clip_by_global_norm
// SPIKES: mpt.cast %[[NORM]] {mpt.precision = "f32"} : (tensor<f32>) -> tensor<f64>
// SPIKES: %[[OK:.*]] = mpt.and
// SPIKES: mpt.not %[[OK]]
// SPIKES: mpt.adamw {{.*}} if(%[[OK]])
// SPIKES: mpt.adamw {{.*}} if(%[[OK]])
// SPIKES: mpt.select_state %[[OK]], {{.*}} tensor<f64>
// SPIKES: mpt.select_state %[[OK]], {{.*}} tensor<f64>
// SPIKES: mpt.select_state %[[OK]], {{.*}} tensor<i64>
// SPIKES: %[[STEP:.*]] = mpt.select_state %[[OK]], {{.*}} tensor<i64>
// SPIKES-NOT: mpt.select_state
// SPIKES: return {{.*}}, %[[STEP]], %{{.*}}, %[[OK]], %{{.*}} :

// With a loss scale there is one predicate again: both. The scale follows its own.
// BOTH: %{{.*}}:2, %[[GRADIENTS:.*]] = mpt.unscale
// BOTH: %[[OTHERS:.*]] = mpt.all_finite
// BOTH-NEXT: %[[FINITE:.*]] = mpt.and %[[GRADIENTS]], %[[OTHERS]]
// BOTH: %[[OK:.*]] = mpt.and {{.*}} {mpt.precision = "f32"}
// BOTH-NEXT: %[[BOTH:.*]] = mpt.and %[[OK]], %[[FINITE]]
// BOTH: mpt.adamw {{.*}} if(%[[BOTH]])
// BOTH: mpt.adamw {{.*}} if(%[[BOTH]])
// BOTH: mpt.select_state %[[BOTH]], {{.*}} tensor<f64>
// BOTH: mpt.select_state %[[BOTH]], {{.*}} tensor<16x4xf32>
// BOTH: mpt.select_state %[[FINITE]], {{.*}} tensor<i64>
// BOTH: mpt.update_loss_scale %{{.*}}, %{{.*}}, %[[FINITE]]

// EMA: %[[W:[^:]*]]: tensor<16x4xf32> {mpt.init = {kind = "zeros"}, mpt.name = "emb.ema", mpt.role = "optimizer_state"}
// EMA: tensor<16x4xf32> {mpt.name = "emb.ema", mpt.updates = "emb.ema"}
// EMA: %[[NEW:.*]] = mpt.sgd param(%arg0)
// EMA: mpt.sub %[[NEW]], %[[W]] {mpt.precision = "f32"}
// EMA: mpt.where

// OFF-NOT: mpt.clip_by_global_norm
// OFF-NOT: mpt.select_state
// OFF-NOT: mpt.where
// OFF-NOT: did_step
// OFF-NOT: .ema
// OFF-NOT: if(

// Gradients of parameters stored in f16 stay f32 behind the loss scale, and the average
// is of the master.
// HALF: %[[U:.*]], %{{.*}} = mpt.unscale {{.*}} : (tensor<4x1xf16>, tensor<f32>) -> (tensor<4x1xf32>, tensor<i1>)
// HALF: %[[S:.*]] = mpt.mul %[[U]], {{.*}} -> tensor<4x1xf32>
// HALF: %[[C:.*]], %{{.*}} = mpt.clip_by_global_norm %[[S]] {{.*}} : (tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<f32>)
// HALF: %[[NEW:.*]] = mpt.sgd param(%{{.*}}) grad(%[[C]]) {{.*}} -> tensor<4x1xf32>
// HALF: mpt.sub %[[NEW]], %{{.*}} (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>

//--- forward.mlir
func.func @loss(%e: tensor<16x4xf32> {mpt.name = "emb", mpt.role = "parameter"},
                %w: tensor<4x1xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<8xi64> {mpt.name = "x", mpt.role = "input"},
                %t: tensor<8x1xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.gather %e, %x : (tensor<16x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %y = mpt.linear %h, %w : (tensor<8x4xf32>, tensor<4x1xf32>) -> tensor<8x1xf32>
  %l = mpt.mse_loss %y, %t : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

//--- half.mlir
func.func @loss(%w: tensor<4x1xf16> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<8x4xf16> {mpt.name = "x", mpt.role = "input"},
                %t: tensor<8x1xf16> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.linear %x, %w : (tensor<8x4xf16>, tensor<4x1xf16>) -> tensor<8x1xf16>
  %l = mpt.mse_loss %y, %t : (tensor<8x1xf16>, tensor<8x1xf16>) -> tensor<f32>
  return %l : tensor<f32>
}
