// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=momentum clip-norm=1.0" --mpt-loss-scale | FileCheck %s --check-prefixes=CHECK,DYNAMIC
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=momentum clip-norm=1.0" --mpt-loss-scale="mode=static init-scale=8" | FileCheck %s --check-prefixes=CHECK,STATIC

// CHECK: func.func @loss
// STATIC-SAME: value = 8.000000e+00 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// DYNAMIC-SAME: value = 6.553600e+04 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// DYNAMIC-SAME: mpt.name = "loss_scale.growth_tracker", mpt.role = "loss_scale"
// STATIC-NOT: growth_tracker
// CHECK-SAME: mpt.name = "found_inf"
// CHECK-SAME: mpt.name = "did_step"
// DYNAMIC-SAME: mpt.name = "loss_scale", mpt.updates = "loss_scale"
// DYNAMIC-SAME: mpt.name = "loss_scale.growth_tracker", mpt.updates = "loss_scale.growth_tracker"

// The seed alone is scaled; nothing reads a gradient that is not unscaled, and
// clipping comes behind.
// CHECK: %[[SEED:.*]] = mpt.grad_seed
// CHECK-NEXT: %[[SCALED:.*]] = mpt.scale_loss %[[SEED]], %[[SCALE:.*]] :
// CHECK-NEXT: mpt.mse_loss_grad %[[SCALED]]
// CHECK: %[[G:.*]] = mpt.gradients
// CHECK-NEXT: %[[U:.*]], %[[FINITE:.*]] = mpt.unscale %[[G]], %[[SCALE]]
// CHECK-NEXT: %[[CLIP:.*]], %[[NORM:.*]] = mpt.clip_by_global_norm %[[U]]

// Everything that is updated depends on the predicate: the optimizer reads it,
// the step count and the running statistic are selected; the attempt counts on.
// CHECK: %[[COUNT:.*]] = mpt.add %[[OLD:.*]], %{{.*}} : (tensor<i64>
// CHECK-NEXT: %[[ATTEMPT:.*]] = mpt.add
// CHECK: mpt.sgd {{.*}}grad(%[[CLIP]]) {{.*}}if(%[[FINITE]])
// CHECK: %[[STAT:.*]] = mpt.select_state %[[FINITE]], %{{.*}}, %arg1 : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[STEP:.*]] = mpt.select_state %[[FINITE]], %[[COUNT]], %[[OLD]]
// CHECK: mpt.not %[[FINITE]]
// DYNAMIC: mpt.update_loss_scale %[[SCALE]], %{{.*}}, %[[FINITE]]
// STATIC-NOT: mpt.update_loss_scale
// CHECK: return %{{.*}}, %[[STAT]], %[[NORM]], %{{.*}}, %{{.*}}, %[[STEP]], %[[ATTEMPT]]
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
