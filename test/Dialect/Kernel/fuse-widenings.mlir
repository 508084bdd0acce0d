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

// -----

// What a reduction reads in another shape is computed in its kernel: it widens a tensor, and
// multiplies it with another one that lies in memory.
// CHECK-LABEL: func @reshaped
// CHECK: mpt.matmul
// CHECK: mpt_kernel.kernel {{.*}} -> tensor<8x4x512xf16>
// CHECK-NOT: x512xf32>
// CHECK: mpt_kernel.kernel <row>({{.*}}) domain [32, 512] {{.*}} (tensor<32x512xf16>, tensor<32x512xf16>) -> (tensor<32xf32>, tensor<32xf32>)
// CHECK-NOT: x512xf32>
// CHECK: return
func.func @reshaped(%a: tensor<32x16xf16>, %w: tensor<16x512xf16>, %b: tensor<4x1xf16>) -> (tensor<32xf32>, tensor<32xf32>) {
  %x = mpt.matmul %a, %w : (tensor<32x16xf16>, tensor<16x512xf16>) -> tensor<32x512xf16>
  %y = mpt.reshape %x : (tensor<32x512xf16>) -> tensor<8x4x512xf16>
  %g = mpt.mul %y, %b : (tensor<8x4x512xf16>, tensor<4x1xf16>) -> tensor<8x4x512xf16>
  %c = mpt.cast %g : (tensor<8x4x512xf16>) -> tensor<8x4x512xf32>
  %r = mpt.reshape %c : (tensor<8x4x512xf32>) -> tensor<32x512xf32>
  %s = mpt.reduce %r {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<32x512xf32>) -> tensor<32xf32>
  %d = mpt.cast %y : (tensor<8x4x512xf16>) -> tensor<8x4x512xf32>
  %p = mpt.mul %c, %d : (tensor<8x4x512xf32>, tensor<8x4x512xf32>) -> tensor<8x4x512xf32>
  %q = mpt.reshape %p : (tensor<8x4x512xf32>) -> tensor<32x512xf32>
  %t = mpt.reduce %q {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<32x512xf32>) -> tensor<32xf32>
  return %s, %t : tensor<32xf32>, tensor<32xf32>
}

// -----

// A product of two tensors that are not stored stays where they are: one is stored for two.
// CHECK-LABEL: func @not_stored
// CHECK: mpt_kernel.kernel <pointwise>({{.*}} -> tensor<8x4x512xf32>
// CHECK: mpt_kernel.kernel <row>
func.func @not_stored(%x: tensor<8x4x512xf32>, %b: tensor<4x1xf32>) -> tensor<32xf32> {
  %g = mpt.mul %x, %b : (tensor<8x4x512xf32>, tensor<4x1xf32>) -> tensor<8x4x512xf32>
  %h = mpt.add %x, %b : (tensor<8x4x512xf32>, tensor<4x1xf32>) -> tensor<8x4x512xf32>
  %p = mpt.mul %g, %h : (tensor<8x4x512xf32>, tensor<8x4x512xf32>) -> tensor<8x4x512xf32>
  %q = mpt.reshape %p : (tensor<8x4x512xf32>) -> tensor<32x512xf32>
  %t = mpt.reduce %q {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<32x512xf32>) -> tensor<32xf32>
  return %t : tensor<32xf32>
}
