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
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax window=1000000000" 2>&1 | FileCheck %s --check-prefix=WINDOW
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax margin=0.5" 2>&1 | FileCheck %s --check-prefix=MARGIN
// MARGIN: error: mpt-loss-scale: margin must be 1 or more

// What would be ignored, or what f32 does not hold, is refused by name.
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=dynamic window=4" 2>&1 | FileCheck %s --check-prefix=DYN-WINDOW
// DYN-WINDOW: error: mpt-loss-scale: window has no meaning with mode=dynamic, whose scale follows the steps that overflow; remove it, or use mode=amax
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="margin=4" 2>&1 | FileCheck %s --check-prefix=DYN-MARGIN
// DYN-MARGIN: error: mpt-loss-scale: margin has no meaning with mode=dynamic, whose
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="type=bf16" 2>&1 | FileCheck %s --check-prefix=DYN-TYPE
// DYN-TYPE: error: mpt-loss-scale: type has no meaning with mode=dynamic, whose
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=static window=4" 2>&1 | FileCheck %s --check-prefix=STATIC-WINDOW
// STATIC-WINDOW: error: mpt-loss-scale: window has no meaning with mode=static, whose scale never changes; remove it, or use mode=amax
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax growth-interval=3" 2>&1 | FileCheck %s --check-prefix=AMAX-INTERVAL
// AMAX-INTERVAL: error: mpt-loss-scale: growth-interval has no meaning with mode=amax, whose scale follows the largest gradient; remove it, or use mode=dynamic
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax growth-factor=3" 2>&1 | FileCheck %s --check-prefix=AMAX-GROWTH
// AMAX-GROWTH: error: mpt-loss-scale: growth-factor has no meaning with mode=amax, whose
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax hysteresis=3" 2>&1 | FileCheck %s --check-prefix=AMAX-HYSTERESIS
// AMAX-HYSTERESIS: error: mpt-loss-scale: hysteresis has no meaning with mode=amax, whose
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax preset=tf" 2>&1 | FileCheck %s --check-prefix=AMAX-PRESET
// AMAX-PRESET: error: mpt-loss-scale: preset has no meaning with mode=amax, whose
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax type=f8" 2>&1 | FileCheck %s --check-prefix=AMAX-TYPE
// AMAX-TYPE: error: mpt-loss-scale: type must be f16, bf16 or f32, got f8
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="min-scale=-1" 2>&1 | FileCheck %s --check-prefix=MIN
// MIN: error: mpt-loss-scale: min-scale must be 0 (none) or a number above 0 that f32 holds, got -1
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="max-scale=-1" 2>&1 | FileCheck %s --check-prefix=MAX
// MAX: error: mpt-loss-scale: max-scale must be 0 (none) or a number above 0 that f32 holds, got -1
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="max-scale=1e39" 2>&1 | FileCheck %s --check-prefix=MAX-INF
// MAX-INF: error: mpt-loss-scale: max-scale must be 0 (none) or a number above 0 that f32 holds, got 1e+39
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="init-scale=-1" 2>&1 | FileCheck %s --check-prefix=INIT
// INIT: error: mpt-loss-scale: init-scale must be a number above 0 that f32 holds, got -1
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=static init-scale=1e39" 2>&1 | FileCheck %s --check-prefix=INIT-INF
// INIT-INF: error: mpt-loss-scale: init-scale must be a number above 0 that f32 holds, got 1e+39
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=static init-scale=1e-50" 2>&1 | FileCheck %s --check-prefix=INIT-ZERO
// INIT-ZERO: error: mpt-loss-scale: init-scale must be a number above 0 that f32 holds, got 1e-50
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="growth-factor=-1" 2>&1 | FileCheck %s --check-prefix=GROWTH-NEGATIVE
// GROWTH-NEGATIVE: error: mpt-loss-scale: growth-factor must be a number above 1 that f32 holds, got -1
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="growth-factor=inf" 2>&1 | FileCheck %s --check-prefix=GROWTH-INF
// GROWTH-INF: error: mpt-loss-scale: growth-factor must be a number above 1 that f32 holds, got inf
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="backoff-factor=-1" 2>&1 | FileCheck %s --check-prefix=BACKOFF-NEGATIVE
// BACKOFF-NEGATIVE: error: mpt-loss-scale: backoff-factor must be between 0 and 1, got -1
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="growth-interval=-1" 2>&1 | FileCheck %s --check-prefix=INTERVAL-NEGATIVE
// INTERVAL-NEGATIVE: error: mpt-loss-scale: growth-interval must be above 0 and below 2^31 - 1, got -1
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="growth-interval=4294967296" 2>&1 | FileCheck %s --check-prefix=INTERVAL-LARGE
// INTERVAL-LARGE: error: mpt-loss-scale: growth-interval must be above 0 and below 2^31 - 1, got 4.29497e+09
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="preset=megatron hysteresis=-1" 2>&1 | FileCheck %s --check-prefix=HYSTERESIS-NEGATIVE
// HYSTERESIS-NEGATIVE: error: mpt-loss-scale: hysteresis must be above 0 and below 2^31 - 1, got -1

// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="init-scale=nan" 2>&1 | FileCheck %s --check-prefix=INIT-NAN
// INIT-NAN: error: mpt-loss-scale: init-scale must be a number above 0 that f32 holds, got nan
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="init-scale=-9223372036854775808" 2>&1 | FileCheck %s --check-prefix=INIT-LEAST
// INIT-LEAST: error: mpt-loss-scale: init-scale must be a number above 0 that f32 holds, got -9.22337e+18
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="min-scale=nan" 2>&1 | FileCheck %s --check-prefix=MIN-NAN
// MIN-NAN: error: mpt-loss-scale: min-scale must be 0 (none) or a number above 0 that f32 holds, got nan
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="growth-factor=1e308" 2>&1 | FileCheck %s --check-prefix=GROWTH-LARGE
// GROWTH-LARGE: error: mpt-loss-scale: growth-factor must be a number above 1 that f32 holds, got 1e+308
// RUN: not mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="backoff-factor=nan" 2>&1 | FileCheck %s --check-prefix=BACKOFF-NAN
// BACKOFF-NAN: error: mpt-loss-scale: backoff-factor must be between 0 and 1, got nan

// A first scale that is not given goes where the bounds are.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="max-scale=1024" | FileCheck %s --check-prefix=CEILING
// CEILING: value = 1.024000e+03 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="preset=tf min-scale=65536" | FileCheck %s --check-prefix=FLOOR
// FLOOR: value = 6.553600e+04 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"

// What a printed pipeline says, with all options and their defaults, is taken again.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=static" --dump-pass-pipeline 2>&1 >/dev/null | FileCheck %s --check-prefix=PRINTED
// PRINTED: mpt-loss-scale{backoff-factor=-INF growth-factor=-INF growth-interval=-9223372036854775808 hysteresis=-9223372036854775808 init-scale=-INF margin=1.600000e+01 max-scale=-INF min-scale=-INF mode=static preset=torch type=f16 window=16}
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="backoff-factor=-INF growth-factor=-INF growth-interval=-9223372036854775808 hysteresis=-9223372036854775808 init-scale=-INF margin=1.600000e+01 max-scale=-INF min-scale=-INF mode=static preset=torch type=f16 window=16" | FileCheck %s --check-prefix=REREAD
// REREAD: value = 6.553600e+04 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"

// amax keeps the gradients below the largest number of what they are in.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax" | FileCheck %s --check-prefix=LARGEST-F16
// LARGEST-F16: mpt.constant dense<6.550400e+04> : tensor<f32>
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax type=bf16" | FileCheck %s --check-prefix=LARGEST-BF16
// LARGEST-BF16: mpt.constant dense<3.38953139E+38> : tensor<f32>
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-loss-scale="mode=amax type=f32" | FileCheck %s --check-prefix=LARGEST-F32
// LARGEST-F32: mpt.constant dense<3.40282347E+38> : tensor<f32>

// Only factors that f32 does not hold need f64.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-loss-scale="growth-factor=1.1" --mpt-decompose | FileCheck %s --check-prefix=WIDE
// WIDE: mpt.constant dense<1.100000e+00> : tensor<f64>
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-loss-scale="growth-factor=1.5" --mpt-decompose | FileCheck %s --check-prefix=NARROW
// NARROW-NOT: f64>

// MEGATRON: value = 0x41F0000000000000 : f64}, mpt.name = "loss_scale", mpt.role = "loss_scale"
// MEGATRON-SAME: value = 2.000000e+00 : f64}, mpt.name = "loss_scale.hysteresis_tracker"
// MEGATRON-SAME: mpt.name = "loss_scale.at_min"
// MEGATRON-NOT: at_max
// PRESET: error: mpt-loss-scale: unknown preset 'nobody'; expected one of torch, tf, keras, apex, megatron, deepspeed, deepspeed-consecutive, deepspeed-0.18, deepspeed-0.18-consecutive, jmp, paddle
// HYSTERESIS: error: mpt-loss-scale: the preset 'torch' has no hysteresis; megatron, deepspeed and paddle have
// GROWTH: error: mpt-loss-scale: growth-factor must be a number above 1 that f32 holds, got 1
// BACKOFF: error: mpt-loss-scale: backoff-factor must be between 0 and 1, got 1.5
// INTERVAL: error: mpt-loss-scale: growth-interval must be above 0 and below 2^31 - 1, got 0
// BOUNDS: error: mpt-loss-scale: min-scale is above max-scale
// BELOW: error: mpt-loss-scale: init-scale is 4, outside min-scale, which is 8{{$}}
// CONSTANT: error: mpt-loss-scale: growth-interval has no meaning with mode=static, whose scale never changes; remove it, or use mode=dynamic
// INFINITE: error: mpt-loss-scale: init-scale must be a number above 0 that f32 holds, got inf
// AMAX: error: mpt-loss-scale: mode=amax needs a min-scale and a max-scale above 0
// WINDOW: error: mpt-loss-scale: window must be 1 to 65536 steps, got {{0|1000000000}}

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
