// Ops of TensorFlow with operands or results of f32 alone, whatever they are else:
// ResizeBilinear reads bf16 and returns f32, GRUBlockCell has no other type.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-bf16" | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=tf-fp16" | FileCheck %s --check-prefixes=CHECK,F16
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" | FileCheck %s

// CHECK-LABEL: func.func @resize(
// BF16: "tf.ResizeBilinear"{{.*}} : (tensor<1x8x8x4xbf16>, tensor<2xi32>) -> tensor<1x16x16x4xf32>
// F16: "tf.ResizeBilinear"{{.*}} : (tensor<1x8x8x4xf32>, tensor<2xi32>) -> tensor<1x16x16x4xf32>
// CHECK: "tf.Conv2D"{{.*}} : (tensor<1x16x16x4x{{b?}}f16>, tensor<3x3x4x4x{{b?}}f16>)
func.func @resize(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x4xf32>, %size: tensor<2xi32>) -> tensor<1x16x16x4xf32> {
  %0 = "tf.Conv2D"(%x, %w) : (tensor<1x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x8x8x4xf32>
  %1 = "tf.ResizeBilinear"(%0, %size) : (tensor<1x8x8x4xf32>, tensor<2xi32>) -> tensor<1x16x16x4xf32>
  %2 = "tf.Conv2D"(%1, %w) : (tensor<1x16x16x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x16x16x4xf32>
  %3 = "tf.Identity"(%2) : (tensor<1x16x16x4xf32>) -> tensor<1x16x16x4xf32>
  return %3 : tensor<1x16x16x4xf32>
}

// CHECK-LABEL: func.func @gru(
// CHECK: "tf.GRUBlockCell"{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<16x16xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
func.func @gru(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %h: tensor<4x8xf32>, %a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16xf32>, %d: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = "tf.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1:4 = "tf.GRUBlockCell"(%0, %h, %a, %b, %c, %d) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<16x16xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  %2 = "tf.MatMul"(%1#3, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
