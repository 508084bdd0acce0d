// RUN: mpt-opt %s --mpt-fold-transposes --split-input-file | FileCheck %s

// Both sides, also where one was transposed already, and a weight.
// CHECK-LABEL: @matrices
// CHECK-NOT: mpt.transpose
// CHECK: mpt.matmul %arg0, %arg1 {transpose_rhs} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
// CHECK: mpt.matmul %arg2, %arg1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
// CHECK: mpt.matmul %arg1, %arg3 {transpose_lhs} : (tensor<6x8xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
// CHECK: mpt.linear %arg0, %arg1 {transpose_weight} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
func.func @matrices(%x: tensor<4x8xf32>, %keys: tensor<6x8xf32>, %dy: tensor<4x6xf32>, %z: tensor<6x5xf32>) -> (tensor<4x6xf32>, tensor<4x8xf32>, tensor<8x5xf32>, tensor<4x6xf32>) {
  %t = mpt.transpose %keys {permutation = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %0 = mpt.matmul %x, %t : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = mpt.matmul %dy, %t {transpose_rhs} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
  %2 = mpt.matmul %t, %z : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
  %3 = mpt.linear %x, %t : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0, %1, %2, %3 : tensor<4x6xf32>, tensor<4x8xf32>, tensor<8x5xf32>, tensor<4x6xf32>
}

// -----

// A matmul of a transposed matrix with itself, of each of a batch.
// CHECK-LABEL: @batch
// CHECK-NOT: mpt.transpose
// CHECK: mpt.matmul %arg0, %arg0 {transpose_lhs, transpose_rhs} : (tensor<2x4x4xbf16>, tensor<2x4x4xbf16>) -> tensor<2x4x4xf32>
func.func @batch(%x: tensor<2x4x4xbf16>) -> tensor<2x4x4xf32> {
  %t = mpt.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x4xbf16>) -> tensor<2x4x4xbf16>
  %0 = mpt.matmul %t, %t : (tensor<2x4x4xbf16>, tensor<2x4x4xbf16>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}

// -----

// A mean over images that a transpose has at the end is one over those that it reads.
// CHECK-LABEL: @means
// CHECK-NOT: mpt.transpose
// CHECK: %[[M:.*]] = mpt.reduce %{{.*}} {axes = array<i64: 2, 3>, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4x5xf32>) -> tensor<2x3xf32>
// CHECK: mpt.reshape %[[M]] : (tensor<2x3xf32>) -> tensor<2x1x1x3xf32>
// CHECK: mpt.reduce %{{.*}} {axes = array<i64: 0, 1, 2, 3>, kind = #mpt.reduce_kind<max>} : (tensor<2x3x4x5xf32>) -> tensor<f32>
func.func @means(%x: tensor<2x3x4x5xf32>) -> (tensor<2x1x1x3xf32>, tensor<f32>) {
  %t = mpt.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x4x5xf32>) -> tensor<2x4x5x3xf32>
  %m = mpt.reduce %t {axes = array<i64: 1, 2>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x4x5x3xf32>) -> tensor<2x1x1x3xf32>
  %u = mpt.transpose %x {permutation = array<i64: 3, 1, 2, 0>} : (tensor<2x3x4x5xf32>) -> tensor<5x3x4x2xf32>
  %n = mpt.reduce %u {axes = array<i64: 0, 1, 2, 3>, kind = #mpt.reduce_kind<max>} : (tensor<5x3x4x2xf32>) -> tensor<f32>
  return %m, %n : tensor<2x1x1x3xf32>, tensor<f32>
}

// -----

// What is left is in another order, or something else reads the transpose.
// CHECK-LABEL: @other_means
// CHECK-COUNT-2: mpt.transpose
func.func @other_means(%x: tensor<2x3x4x5xf32>) -> (tensor<4x2xf32>, tensor<2x3xf32>, tensor<2x4x5x3xf32>) {
  %t = mpt.transpose %x {permutation = array<i64: 2, 0, 3, 1>} : (tensor<2x3x4x5xf32>) -> tensor<4x2x5x3xf32>
  %m = mpt.reduce %t {axes = array<i64: 2, 3>, kind = #mpt.reduce_kind<mean>} : (tensor<4x2x5x3xf32>) -> tensor<4x2xf32>
  %u = mpt.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x4x5xf32>) -> tensor<2x4x5x3xf32>
  %n = mpt.reduce %u {axes = array<i64: 1, 2>, kind = #mpt.reduce_kind<mean>} : (tensor<2x4x5x3xf32>) -> tensor<2x3xf32>
  return %m, %n, %u : tensor<4x2xf32>, tensor<2x3xf32>, tensor<2x4x5x3xf32>
}

// -----

// Returned, read by an addition as well, as the rows of a linear layer, as the left side of a
// batch with one right side, and other permutations.
// CHECK-LABEL: @others
// CHECK-COUNT-5: mpt.transpose
// CHECK-NOT: transpose_
func.func @others(%x: tensor<4x4xf32>, %y: tensor<2x4x8xf32>, %w: tensor<4x5xf32>, %z: tensor<2x4x6x3xf32>, %v: tensor<2x4x3x5xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x5xf32>, tensor<2x8x5xf32>, tensor<4x2x6x5xf32>) {
  %0 = mpt.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = mpt.matmul %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = mpt.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = mpt.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = mpt.matmul %x, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = mpt.add %4, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = mpt.neg %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = mpt.transpose %6 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %8 = mpt.linear %7, %w : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %9 = mpt.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
  %10 = mpt.matmul %9, %w : (tensor<2x8x4xf32>, tensor<4x5xf32>) -> tensor<2x8x5xf32>
  %11 = mpt.transpose %z {permutation = array<i64: 1, 0, 2, 3>} : (tensor<2x4x6x3xf32>) -> tensor<4x2x6x3xf32>
  %12 = mpt.reshape %v : (tensor<2x4x3x5xf32>) -> tensor<4x2x3x5xf32>
  %13 = mpt.matmul %11, %12 : (tensor<4x2x6x3xf32>, tensor<4x2x3x5xf32>) -> tensor<4x2x6x5xf32>
  return %0, %1, %5, %8, %10, %13 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x5xf32>, tensor<2x8x5xf32>, tensor<4x2x6x5xf32>
}
