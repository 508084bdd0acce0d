// State that the step hands on as it is, such as a seed, may be read by gradients: nothing is
// exchanged for it. So do examples whose random seed is both an argument and a result.
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=2" | FileCheck %s

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<i64> {mpt.name = "seed"
// CHECK: mpt.dropout %{{.*}}, %[[SEED]]
// CHECK-NOT: mpt.all_gather
// CHECK: return %{{[^,]*}}, %[[SEED]]
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %seed: tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
                %attempt: tensor<i64> {mpt.name = "attempt", mpt.role = "rng"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<i64> {mpt.name = "new_seed", mpt.updates = "seed"}) {
  %d, %kept = mpt.dropout %x, %seed, %attempt {rate = 0.5 : f64, stream = 1 : i64} : (tensor<8x4xf32>, tensor<i64>, tensor<i64>) -> (tensor<8x4xf32>, tensor<8x4xi1>)
  %y = mpt.mul %d, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %l, %seed : tensor<f32>, tensor<i64>
}
