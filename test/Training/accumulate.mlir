// RUN: mpt-opt %s --mpt-autodiff --mpt-accumulate="steps=3 shared=mask" | FileCheck %s
// RUN: mpt-opt %s --mpt-autodiff --mpt-accumulate="steps=1" | FileCheck %s --check-prefix=ONE
// RUN: mpt-opt %s --mpt-autodiff --mpt-accumulate="steps=3 shared=mask" --mpt-train-step --mpt-master-weights --mpt-loss-scale --mpt-validate-loss-scale --mpt-autocast="type=f16" | FileCheck %s --check-prefix=STEP
// RUN: mpt-opt %s --mpt-autodiff --mpt-accumulate="steps=3 shared=mask" --mpt-train-step --mpt-master-weights --mpt-loss-scale --mpt-autocast="type=f16" --canonicalize --cse | FileCheck %s --check-prefix=ONCE

// ONE-NOT: mpt.accumulate

// Three times the rows, cut; the mask is not. Running state goes through, random
// numbers of micro-batch i are draw attempt * 3 + i.
// CHECK: func.func @loss(%[[W:[^:]*]]: tensor<4x2xf16> {
// CHECK-SAME: %[[S:[^:]*]]: tensor<f32> {mpt.name = "seen"
// CHECK-SAME: %[[ATTEMPT:[^:]*]]: tensor<i64> {mpt.name = "attempt"
// CHECK-SAME: %[[X:[^:]*]]: tensor<24x4xf16> {
// CHECK-SAME: tensor<8x1xf32> {mpt.name = "mask"
// CHECK-SAME: -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "seen", mpt.updates = "seen"}, tensor<i32> {mpt.name = "count"}, tensor<24x2xf32> {mpt.name = "rows"}, tensor<4x2xf32> {mpt.name = "grad.w"})
// CHECK-DAG: %[[X0:.*]] = mpt.slice %[[X]] {offsets = array<i64: 0, 0>
// CHECK-DAG: %[[DRAW:.*]] = mpt.mul %[[ATTEMPT]]
// CHECK: mpt.dropout %[[X0]], %{{.*}}, %[[DRAW]]
// CHECK: %[[S1:.*]] = mpt.add %[[S]]
// One seed for all.
// CHECK: mpt.grad_seed
// CHECK: %[[FIRST:.*]] = mpt.cast %{{.*}} : (tensor<4x2xf16>) -> tensor<4x2xf32>
// CHECK-NOT: mpt.grad_seed
// CHECK: %[[X1:.*]] = mpt.slice %[[X]] {offsets = array<i64: 8, 0>
// CHECK: %[[DRAW1:.*]] = mpt.add %[[DRAW]]
// CHECK: mpt.dropout %[[X1]], %{{.*}}, %[[DRAW1]]
// CHECK: %[[S2:.*]] = mpt.add %[[S1]]
// CHECK: %[[SECOND:.*]] = mpt.accumulate %[[FIRST]], %{{.*}} : (tensor<4x2xf32>, tensor<4x2xf16>) -> tensor<4x2xf32>
// CHECK: %[[LOSS:.*]] = mpt.accumulate %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: mpt.slice %[[X]] {offsets = array<i64: 16, 0>
// CHECK: %[[S3:.*]] = mpt.add %[[S2]]
// CHECK: %[[THIRD:.*]] = mpt.accumulate %[[SECOND]], %{{.*}} {divisor = 3 : i64}
// CHECK: %[[MEAN:.*]] = mpt.accumulate %[[LOSS]], %{{.*}} {divisor = 3 : i64}
// CHECK: %[[G:.*]] = mpt.gradients %[[THIRD]] {names = ["w"]}
// CHECK: %[[ROWS:.*]] = mpt.concat
// CHECK: return %[[MEAN]], %[[S3]], %{{.*}}, %[[ROWS]], %[[G]]

// Sums stay f32 through autocast, and there is one scale.
// STEP-COUNT-1: mpt.scale_loss
// STEP-COUNT-2: mpt.accumulate {{.*}} -> tensor<f32>
// STEP-NOT: mpt.accumulate {{.*}} -> tensor<{{.*}}f16>
// STEP: mpt.unscale
// STEP-NOT: mpt.unscale

// All micro-batches read one low copy of the master.
// ONCE: func.func @loss(%[[W:[^:]*]]: tensor<4x2xf32> {mpt.master = "f32"
// ONCE: %[[LOW:.*]] = mpt.cast %[[W]]
// ONCE-NOT: mpt.cast %[[W]]
// ONCE-COUNT-3: mpt.matmul %{{.*}}, %[[LOW]]
// ONCE-NOT: mpt.cast %[[W]]
func.func @loss(%w: tensor<4x2xf16> {mpt.name = "w", mpt.role = "parameter"},
                %s: tensor<f32> {mpt.name = "seen", mpt.role = "running_stat"},
                %seed: tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
                %attempt: tensor<i64> {mpt.name = "attempt", mpt.role = "rng"},
                %x: tensor<8x4xf16> {mpt.name = "x", mpt.role = "input"},
                %mask: tensor<8x1xf32> {mpt.name = "mask", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "seen", mpt.updates = "seen"},
        tensor<i32> {mpt.name = "count"}, tensor<8x2xf32> {mpt.name = "rows"}) {
  %d, %kept = mpt.dropout %x, %seed, %attempt {rate = 0.5 : f64, stream = 1 : i64} : (tensor<8x4xf16>, tensor<i64>, tensor<i64>) -> (tensor<8x4xf16>, tensor<8x4xi1>)
  %y = mpt.matmul %d, %w : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf32>
  %z = mpt.mul %y, %mask : (tensor<8x2xf32>, tensor<8x1xf32>) -> tensor<8x2xf32>
  %l = mpt.reduce %z {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  %s1 = mpt.add %s, %l : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %c = mpt.cast %l : (tensor<f32>) -> tensor<i32>
  return %l, %s1, %c, %z : tensor<f32>, tensor<f32>, tensor<i32>, tensor<8x2xf32>
}
