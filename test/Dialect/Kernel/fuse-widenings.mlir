// What a kernel makes in f16 and others read in f32 is stored in f16: each reader widens it.
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func @stored
// CHECK: mpt.matmul
// CHECK: %[[K:.*]]:2 = mpt_kernel.kernel {{.*}} -> (tensor<16x72x80xf16>, tensor<16x72x80xf32>)
// CHECK: mpt.reduce %[[K]]#1
// CHECK: mpt_kernel.kernel <pointwise>(%[[K]]#0, {{.*}} -> tensor<16x72x80xf32>
// CHECK: arith.extf
func.func @stored(%a: tensor<72x16x8xf16>, %w: tensor<72x8x80xf16>, %p: tensor<16x72x80xf32>) -> (tensor<16x80xf32>, tensor<16x80xf32>) {
  %x = mpt.matmul %a, %w : (tensor<72x16x8xf16>, tensor<72x8x80xf16>) -> tensor<72x16x80xf16>
  %t = mpt.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<72x16x80xf16>) -> tensor<16x72x80xf16>
  %c = mpt.cast %t : (tensor<16x72x80xf16>) -> tensor<16x72x80xf32>
  %m = mpt.mul %p, %c : (tensor<16x72x80xf32>, tensor<16x72x80xf32>) -> tensor<16x72x80xf32>
  %s = mpt.reduce %m {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<16x72x80xf32>) -> tensor<16x80xf32>
  %b = mpt.reshape %s : (tensor<16x80xf32>) -> tensor<16x1x80xf32>
  %n = mpt.mul %b, %c : (tensor<16x1x80xf32>, tensor<16x72x80xf32>) -> tensor<16x72x80xf32>
  %r = mpt.reduce %n {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<16x72x80xf32>) -> tensor<16x80xf32>
  return %s, %r : tensor<16x80xf32>, tensor<16x80xf32>
}

// -----

// A library call reads f32 from memory.
// CHECK-LABEL: func @called
// CHECK: mpt_kernel.kernel {{.*}} -> tensor<16x72x80xf32>
// CHECK: mpt.reduce
func.func @called(%a: tensor<72x16x8xf16>, %w: tensor<72x8x80xf16>) -> tensor<16x80xf32> {
  %x = mpt.matmul %a, %w : (tensor<72x16x8xf16>, tensor<72x8x80xf16>) -> tensor<72x16x80xf16>
  %t = mpt.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<72x16x80xf16>) -> tensor<16x72x80xf16>
  %c = mpt.cast %t : (tensor<16x72x80xf16>) -> tensor<16x72x80xf32>
  %s = mpt.reduce %c {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<16x72x80xf32>) -> tensor<16x80xf32>
  return %s : tensor<16x80xf32>
}
