// RUN: mpt-opt %s --mpt-autodiff --mpt-data-parallel="size=2" --mpt-train-step --mpt-loss-scale --mpt-validate-loss-scale | FileCheck %s

// Gradients of losses with scales of their own share a bucket, side by side.
// CHECK: mpt.scale_loss
// CHECK: mpt.scale_loss
// CHECK: %[[G:.*]]:2 = mpt.all_reduce {{.*}} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: mpt.all_reduce {{.*}} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
// CHECK-DAG: mpt.gradients %[[G]]#{{.}} {mpt.loss = "a", names = ["w"]}
// CHECK-DAG: mpt.gradients %[[G]]#{{.}} {mpt.loss = "b", names = ["w"]}
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "a", mpt.loss}, tensor<f32> {mpt.name = "b", mpt.loss}) {
  %y = mpt.mul %x, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %a = mpt.reduce %y {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %z = mpt.tanh %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %b = mpt.reduce %z {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
}
