// The named pipeline: a dynamic scale for f16, none for bf16 unless asked for,
// one cast per weight, f32 products where only f32 is read.
// RUN: mpt-opt %s --mpt-mixed-precision="type=f16 optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,SCALED -DLOW=f16
// RUN: mpt-opt %s --mpt-mixed-precision="type=bf16 optimizer=sgd" | FileCheck %s --check-prefixes=CHECK,UNSCALED -DLOW=bf16 --implicit-check-not=unscale
// RUN: mpt-opt %s --mpt-mixed-precision="type=bf16 optimizer=sgd loss-scale=static" | FileCheck %s --check-prefixes=CHECK,SCALED -DLOW=bf16
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-mixed-precision="type=bf16 from=step" | FileCheck %s --check-prefixes=CHECK -DLOW=bf16

// SCALED: mpt.name = "loss_scale"
// UNSCALED-NOT: loss_scale
// CHECK: %[[W:.*]] = mpt.cast %arg0 {{.*}} -> tensor<4x4x[[LOW]]>
// CHECK-NOT: mpt.cast %arg0
// CHECK: mpt.linear %{{.*}}, %[[W]], %arg1 {{.*}}: (tensor<8x4x[[LOW]]>, tensor<4x4x[[LOW]]>, tensor<4xf32>) -> tensor<8x4x[[LOW]]>
// CHECK: mpt.linear %{{.*}}, %[[W]] {{.*}} -> tensor<8x4x[[LOW]]>
// CHECK: mpt.mse_loss {{.*}} -> tensor<f32>
// The gradient of the shared weight: two matmuls that return f32 or what
// their sum reads.
// CHECK: mpt.matmul {{.*}}transpose_lhs
// SCALED: mpt.unscale
// CHECK: mpt.sgd param(%arg0) {{.*}} -> tensor<4x4xf32>
func.func @loss(%w: tensor<4x4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %b: tensor<4xf32> {mpt.name = "b", mpt.role = "parameter"},
                %x: tensor<8x4xf32> {mpt.name = "x", mpt.role = "input"},
                %t: tensor<8x4xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.linear %x, %w, %b : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %r = mpt.relu %h : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = mpt.linear %r, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %l = mpt.mse_loss %y, %t : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
