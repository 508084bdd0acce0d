// After autocast, what lies between 8-bit matmuls is bf16, and parameters are quantized as
// they were before autocast rounded them.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-autocast="type=bf16" --mpt-fp8="recipe=deepseek" --canonicalize | FileCheck %s
// Before it autocast sees no matmul that reads these values, and leaves them in f32.
// RUN: mpt-opt %s --mpt-autodiff --mpt-train-step="optimizer=sgd" --mpt-fp8="recipe=deepseek" --mpt-autocast="type=bf16" --canonicalize | FileCheck %s --check-prefix=BEFORE

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[W1:.*]]: tensor<128x256xf32>
// CHECK-SAME: %[[W2:.*]]: tensor<256x128xf32>
// CHECK-DAG: mpt.quantize %[[W1]] {block = array<i64: 128, 128>,
// CHECK-DAG: mpt.quantize %[[W2]] {block = array<i64: 128, 128>,
// CHECK: mpt.gelu %{{.*}} : (tensor<128x256xbf16>) -> tensor<128x256xbf16>
// CHECK: mpt.quantize %{{.*}} {block = array<i64: 1, 128>, {{.*}} : (tensor<128x256xbf16>)
// A cast of the model's own is part of the model.
// CHECK: %[[OWN:.*]] = mpt.cast %{{.*}} : (tensor<128x128xf32>) -> tensor<128x128xbf16>
// CHECK: mpt.quantize %[[OWN]] {block = array<i64: 128, 128>,
// CHECK: mpt.gelu_grad {{.*}} tensor<128x256xbf16>) -> tensor<128x256xbf16>
// BEFORE-LABEL: func.func @loss(
// BEFORE: mpt.gelu %{{.*}} -> tensor<128x256xf32>
func.func @loss(
    %w1: tensor<128x256xf32> {mpt.name = "w1", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %w2: tensor<256x128xf32> {mpt.name = "w2", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %w3: tensor<128x128xf32> {mpt.name = "w3", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %head: tensor<128x16xf32> {mpt.name = "head", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %x: tensor<128x128xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<128x16xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %a = mpt.linear %x, %w1 : (tensor<128x128xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
  %b = mpt.gelu %a : (tensor<128x256xf32>) -> tensor<128x256xf32>
  %c = mpt.linear %b, %w2 : (tensor<128x256xf32>, tensor<256x128xf32>) -> tensor<128x128xf32>
  %l3 = mpt.cast %w3 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
  %d = mpt.linear %c, %l3 : (tensor<128x128xf32>, tensor<128x128xbf16>) -> tensor<128x128xf32>
  %e = mpt.linear %d, %head : (tensor<128x128xf32>, tensor<128x16xf32>) -> tensor<128x16xf32>
  %l = mpt.mse_loss %e, %y : (tensor<128x16xf32>, tensor<128x16xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
