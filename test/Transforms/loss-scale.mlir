// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=momentum clip-norm=1.0" --mpt-loss-scale | FileCheck %s --check-prefixes=CHECK,DYNAMIC
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=momentum clip-norm=1.0" --mpt-loss-scale="mode=static init-scale=8" | FileCheck %s --check-prefixes=CHECK,STATIC
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=momentum" --mpt-loss-scale --mpt-validate-loss-scale | FileCheck %s --check-prefix=MEASURED
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=momentum scale-gradients=w=0.5" --mpt-loss-scale="mode=static" | FileCheck %s --check-prefix=SHRUNK
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="preset=megatron min-scale=4" | FileCheck %s --check-prefix=MEGATRON
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="preset=nobody" 2>&1 | FileCheck %s --check-prefix=PRESET
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="hysteresis=2" 2>&1 | FileCheck %s --check-prefix=HYSTERESIS
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="growth-factor=1" 2>&1 | FileCheck %s --check-prefix=GROWTH
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="backoff-factor=1.5" 2>&1 | FileCheck %s --check-prefix=BACKOFF
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="growth-interval=0" 2>&1 | FileCheck %s --check-prefix=INTERVAL
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="min-scale=8 max-scale=4" 2>&1 | FileCheck %s --check-prefix=BOUNDS
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="init-scale=4 min-scale=8" 2>&1 | FileCheck %s --check-prefix=BELOW
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=static growth-interval=5" 2>&1 | FileCheck %s --check-prefix=CONSTANT
// Statistics alone are no step.
// RUN: not mpt-opt %s --mpt-autodiff --mpt-loss-scale 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: mpt-loss-scale: the function updates no parameter; run --mpt-train-step first
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="init-scale=inf" 2>&1 | FileCheck %s --check-prefix=INFINITE
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax min-scale=0" 2>&1 | FileCheck %s --check-prefix=AMAX
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax window=0" 2>&1 | FileCheck %s --check-prefix=WINDOW

// MEGATRON: value = 0x41F0000000000000 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// MEGATRON-SAME: value = 2.000000e+00 : f64}, mpt.name = "loss_scale.hysteresis_tracker"
// MEGATRON-SAME: mpt.name = "loss_scale.at_min"
// MEGATRON-NOT: at_max
// PRESET: error: mpt-loss-scale: unknown preset 'nobody'; expected one of torch, tf, keras, apex, megatron, deepspeed, deepspeed-consecutive, deepspeed-0.18, deepspeed-0.18-consecutive, jmp, paddle
// HYSTERESIS: error: mpt-loss-scale: the preset 'torch' has no hysteresis; megatron, deepspeed and paddle have
// GROWTH: error: mpt-loss-scale: growth-factor must be above 1, got 1
// BACKOFF: error: mpt-loss-scale: backoff-factor must be between 0 and 1, got 1.5
// INTERVAL: error: mpt-loss-scale: growth-interval must be above 0, got 0
// BOUNDS: error: mpt-loss-scale: min-scale is above max-scale
// BELOW: error: mpt-loss-scale: init-scale is 4, outside min-scale, which is 8{{$}}
// CONSTANT: error: mpt-loss-scale: growth-interval has no meaning with mode=static, whose scale never changes; remove it, or use mode=dynamic
// INFINITE: error: mpt-loss-scale: init-scale must be a number above 0, got inf
// AMAX: error: mpt-loss-scale: mode=amax needs a min-scale and a max-scale above 0
// WINDOW: error: mpt-loss-scale: margin and window must be 1 or more

// CHECK: func.func @loss
// STATIC-SAME: value = 8.000000e+00 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// DYNAMIC-SAME: value = 6.553600e+04 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// DYNAMIC-SAME: mpt.name = "loss_scale.growth_tracker", mpt.role = "loss_scale"
// STATIC-NOT: growth_tracker
// CHECK-SAME: mpt.name = "found_inf"
// CHECK-SAME: mpt.name = "did_step"
// CHECK-SAME: mpt.name = "loss_scale", mpt.updates = "loss_scale"
// DYNAMIC-SAME: mpt.name = "loss_scale.growth_tracker", mpt.updates = "loss_scale.growth_tracker"

// The seed alone is scaled; nothing reads a gradient that is not unscaled, and
// clipping comes behind.
// CHECK: %[[LOSS:.*]] = mpt.mse_loss
// CHECK: %[[MEAN:.*]] = mpt.add
// CHECK: %[[SEED:.*]] = mpt.grad_seed
// CHECK-NEXT: %[[SCALED:.*]] = mpt.scale_loss %[[SEED]], %[[SCALE:.*]] :
// CHECK-NEXT: mpt.mse_loss_grad %[[SCALED]]
// CHECK: %[[G:.*]] = mpt.gradients
// CHECK-NEXT: %[[U:.*]], %[[GRADIENTS:.*]] = mpt.unscale %[[G]], %[[SCALE]]
// CHECK-NEXT: %[[CLIP:.*]], %[[NORM:.*]] = mpt.clip_by_global_norm %[[U]]

// Gradients, norm, loss and running statistics are finite, or the step is not taken.
// CHECK-NEXT: %[[OTHERS:.*]] = mpt.all_finite %[[NORM]], %[[LOSS]], %[[MEAN]] :
// CHECK-NEXT: %[[FINITE:.*]] = mpt.and %[[GRADIENTS]], %[[OTHERS]]

// Everything that is updated depends on the predicate: the optimizer reads it,
// the step count and the running statistic are selected; the attempt counts on.
// CHECK: %[[COUNT:.*]] = mpt.add %[[OLD:.*]], %{{.*}} : (tensor<i64>
// CHECK-NEXT: %[[ATTEMPT:.*]] = mpt.add
// CHECK: mpt.sgd {{.*}}grad(%[[CLIP]]) {{.*}}if(%[[FINITE]])
// CHECK: mpt.not %[[FINITE]]
// CHECK: %[[STAT:.*]] = mpt.select_state %[[FINITE]], %[[MEAN]], %arg1 : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[STEP:.*]] = mpt.select_state %[[FINITE]], %[[COUNT]], %[[OLD]]
// DYNAMIC: mpt.update_loss_scale %[[SCALE]], %{{.*}}, %[[FINITE]]
// STATIC-NOT: mpt.update_loss_scale
// CHECK: return %{{.*}}, %[[STAT]], %[[NORM]], %{{.*}}, %{{.*}}, %[[STEP]], %[[ATTEMPT]]

// Where the step returns no norm yet, it is that of what the optimizer reads.
// MEASURED: {mpt.name = "grad_norm"}
// MEASURED: %[[U:.*]], %{{.*}} = mpt.unscale
// MEASURED-NEXT: %{{.*}}, %[[N:.*]] = mpt.clip_by_global_norm %[[U]] {max_norm = 0x7FF0000000000000 : f64}
// MEASURED: mpt.sgd {{.*}} grad(%[[U]])
// MEASURED: return {{.*}}, %[[N]] :
// SHRUNK: %[[U:.*]], %{{.*}} = mpt.unscale
// SHRUNK: %[[S:.*]] = mpt.mul %[[U]]
// SHRUNK-NEXT: %{{.*}}, %[[N:.*]] = mpt.clip_by_global_norm %[[S]]
// SHRUNK: mpt.sgd {{.*}} grad(%[[S]])
// SHRUNK: return {{.*}}, %[[N]] :
func.func @loss(%w: tensor<4x1xf32> {mpt.name = "w", mpt.role = "parameter"},
                %mean: tensor<f32> {mpt.name = "mean", mpt.role = "running_stat"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"},
                %t: tensor<8x1xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "new_mean", mpt.updates = "mean"}) {
  %y = mpt.linear %x, %w : (tensor<8x4xf32>, tensor<4x1xf32>) -> tensor<8x1xf32>
  %l = mpt.mse_loss %y, %t : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<f32>
  %m = mpt.add %mean, %l : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l, %m : tensor<f32>, tensor<f32>
}
