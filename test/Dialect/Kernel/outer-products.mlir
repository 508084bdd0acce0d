// RUN: mpt-opt %s --mpt-fuse-kernels --split-input-file | FileCheck %s

// An outer product is not stored for the kernels that read it: each multiplies again.
// CHECK-LABEL: func @read_twice
// CHECK: [[W:%.*]] = mpt_kernel.kernel <pointwise>(%{{.*}}, %arg1, %arg2)
// CHECK-SAME: (tensor<64xf32>, tensor<32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
// CHECK: [[Y:%.*]] = mpt.matmul %arg3, [[W]]
// CHECK: mpt_kernel.kernel <pointwise>(%{{.*}}, %arg1, [[Y]])
// CHECK-SAME: (tensor<64xf32>, tensor<32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
func.func @read_twice(%left: tensor<64x1xf32>, %right: tensor<32xf32>, %w: tensor<64x32xf32>, %x: tensor<64x64xf32>) -> tensor<64x32xf32> {
  %noise = mpt.mul %left, %right : (tensor<64x1xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %noisy = mpt.mul %w, %noise : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %y = mpt.matmul %x, %noisy : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %dw = mpt.mul %y, %noise : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %dw : tensor<64x32xf32>
}

// -----

// What a matmul reads is stored for it, and serves all.
// CHECK-LABEL: func @stored
// CHECK: [[N:%.*]] = mpt_kernel.kernel <pointwise>(%{{.*}}, %arg1)
// CHECK: [[LINE:%.*]] = mpt.reshape [[N]]
// CHECK: mpt.matmul %arg2, [[N]]
// CHECK: mpt_kernel.kernel <pointwise>(%{{.*}}, [[LINE]])
func.func @stored(%left: tensor<64x1xf32>, %right: tensor<32xf32>, %x: tensor<64x64xf32>) -> tensor<64x32xf32> {
  %noise = mpt.mul %left, %right : (tensor<64x1xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %y = mpt.matmul %x, %noise : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %dw = mpt.mul %y, %noise : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %dw : tensor<64x32xf32>
}
