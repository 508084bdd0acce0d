// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=2" --mpt-train-step --mpt-fp8 | FileCheck %s
// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=2" --mpt-train-step --mpt-fp8="recipe=current" | FileCheck %s --check-prefix=CURRENT
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step --mpt-fp8 | FileCheck %s --check-prefix=ALONE

// The largest magnitudes are state, and so those of all ranks.
// CHECK: %[[OWN:.*]] = mpt.concat {{.*}} -> tensor<3x1xf32>
// CHECK-NEXT: %[[ALL:.*]] = mpt.all_reduce %[[OWN]] {axis = "data", kind = #mpt.collective_kind<max>} : (tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK: mpt.is_finite %[[ALL]]

// Scales that are no state are a rank's own.
// CURRENT-NOT: #mpt.collective_kind<max>
// ALONE-NOT: mpt.all_reduce
func.func @loss(%w: tensor<32x16xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<16x32xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.matmul %x, %w : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %z = mpt.tanh %y : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %l = mpt.reduce %z {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<16x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
