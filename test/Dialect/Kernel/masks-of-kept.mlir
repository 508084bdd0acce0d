// A mask that compares what is kept in any case is made where it is read.
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels | FileCheck %s

// The linear layer's result is read by the sigmoid of the backward pass.
// CHECK-LABEL: func @kept
// CHECK-NOT: i1>
// CHECK: return
func.func @kept(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %most = mpt.constant dense<2.000000e+01> : tensor<f32>
  %zero = mpt.constant dense<0.000000e+00> : tensor<f32>
  %z = mpt.matmul %x, %w : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %soft = mpt.softplus %z : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %mask = mpt.compare %z, %most {predicate = #mpt.predicate<gt>} : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xi1>
  %y = mpt.where %mask, %z, %soft : (tensor<16x8xi1>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %dy = mpt.matmul %y, %v : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %part = mpt.where %mask, %dy, %zero : (tensor<16x8xi1>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %s = mpt.sigmoid %z : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %dz = mpt.mul %part, %s : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %y, %dz : tensor<16x8xf32>, tensor<16x8xf32>
}

// -----

// An argument is there in any case.
// CHECK-LABEL: func @argument
// CHECK-NOT: i1>
// CHECK: return
func.func @argument(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> tensor<16x8xf32> {
  %zero = mpt.constant dense<0.000000e+00> : tensor<f32>
  %mask = mpt.compare %zero, %x {predicate = #mpt.predicate<lt>} : (tensor<f32>, tensor<16x8xf32>) -> tensor<16x8xi1>
  %y = mpt.where %mask, %x, %zero : (tensor<16x8xi1>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %z = mpt.matmul %y, %w : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %d = mpt.where %mask, %z, %zero : (tensor<16x8xi1>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  return %d : tensor<16x8xf32>
}

// -----

// Of what dies, the mask is kept, which is smaller; what a kernel makes need not lie in memory.
// CHECK-LABEL: func @dead
// CHECK: mpt_kernel.kernel {{.*}}tensor<128xi1>
// CHECK-LABEL: func @made
// CHECK: mpt_kernel.kernel {{.*}}tensor<128xi1>
func.func @dead(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<16x8xf32> {
  %zero = mpt.constant dense<0.000000e+00> : tensor<f32>
  %z = mpt.matmul %x, %w : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %mask = mpt.compare %z, %zero {predicate = #mpt.predicate<gt>} : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xi1>
  %y = mpt.where %mask, %z, %zero : (tensor<16x8xi1>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %dy = mpt.matmul %y, %v : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %dz = mpt.where %mask, %dy, %zero : (tensor<16x8xi1>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  return %dz : tensor<16x8xf32>
}
func.func @made(%x: tensor<16x8xf32>, %v: tensor<8x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %zero = mpt.constant dense<0.000000e+00> : tensor<f32>
  %z = mpt.exp %x : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %mask = mpt.compare %z, %zero {predicate = #mpt.predicate<gt>} : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xi1>
  %y = mpt.where %mask, %z, %zero : (tensor<16x8xi1>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %dy = mpt.matmul %y, %v : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %part = mpt.where %mask, %dy, %zero : (tensor<16x8xi1>, tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %dz = mpt.mul %part, %z : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %y, %dz : tensor<16x8xf32>, tensor<16x8xf32>
}
