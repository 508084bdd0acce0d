// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=adamw" --mpt-master-weights | FileCheck %s

// A parameter stored in bf16 becomes f32 state with one copy in bf16 that the
// network reads; the optimizer reads and writes the master. One stored in f32
// is its own master.
// CHECK: func.func @loss(%[[W:.*]]: tensor<4x1xf32> {mpt.name = "w"
// CHECK-SAME: %[[B:.*]]: tensor<1xf32> {mpt.name = "b"
// CHECK-SAME: tensor<4x1xf32> {mpt.name = "w", mpt.updates = "w"}
// CHECK: %[[LOW:.*]] = mpt.cast %[[W]] {{.*}}: (tensor<4x1xf32>) -> tensor<4x1xbf16>
// CHECK-NOT: mpt.cast
// CHECK: mpt.linear %{{.*}}, %[[LOW]], %[[B]]
// CHECK: mpt.adamw param(%[[W]]) {{.*}} : (tensor<4x1xf32>, tensor<4x1xbf16>
// CHECK-SAME: -> (tensor<4x1xf32>
// CHECK: mpt.adamw param(%[[B]])
func.func @loss(%w: tensor<4x1xbf16> {mpt.name = "w", mpt.role = "parameter"},
                %b: tensor<1xf32> {mpt.name = "b", mpt.role = "parameter"},
                %x: tensor<8x4xbf16> {mpt.name = "x", mpt.role = "input"},
                %t: tensor<8x1xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %y = mpt.linear %x, %w, %b : (tensor<8x4xbf16>, tensor<4x1xbf16>, tensor<1xf32>) -> tensor<8x1xf32>
  %l = mpt.mse_loss %y, %t : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
