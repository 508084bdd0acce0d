// RUN: mpt-opt %s --mpt-autocast="type=f16" --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-autocast="type=f16" --mpt-autocast="type=f16" --split-input-file | FileCheck %s

// A sum in f32 widens what it adds while it reads it, so a cast for sums alone moves no bytes: what a
// norm's backward pass multiplies and adds is stored in f16, and so is what leads to the next matmul.
// The products that are added are not: f16 holds neither them nor their sum.

// CHECK-LABEL: func.func @products
// CHECK: [[A:%.*]] = mpt.matmul %{{.*}} -> tensor<128x256xf16>
// CHECK: [[T:%.*]] = mpt.tanh [[A]] : (tensor<128x256xf16>) -> tensor<128x256xf16>
// CHECK: [[TW:%.*]] = mpt.cast [[T]] {autocast} : (tensor<128x256xf16>) -> tensor<128x256xf32>
// CHECK: [[U:%.*]] = mpt.gelu [[T]] : (tensor<128x256xf16>) -> tensor<128x256xf16>
// CHECK: [[UW:%.*]] = mpt.cast [[U]] {autocast} : (tensor<128x256xf16>) -> tensor<128x256xf32>
// CHECK: mpt.matmul [[U]],
// CHECK: [[P:%.*]] = mpt.mul [[TW]], [[UW]] : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
// CHECK: mpt.reduce [[P]]
// CHECK: mpt.reduce [[UW]] {{.*}}mean
func.func @products(%x: tensor<128x256xf32>, %v: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> (tensor<128x256xf32>, tensor<256xf32>, tensor<256xf32>) {
  %a = mpt.matmul %x, %v : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %t = mpt.tanh %a : (tensor<128x256xf32>) -> tensor<128x256xf32>
  %u = mpt.gelu %t : (tensor<128x256xf32>) -> tensor<128x256xf32>
  %b = mpt.matmul %u, %w : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %p = mpt.mul %t, %u : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
  %s = mpt.reduce %p {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<128x256xf32>) -> tensor<256xf32>
  %m = mpt.reduce %u {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<128x256xf32>) -> tensor<256xf32>
  return %b, %s, %m : tensor<128x256xf32>, tensor<256xf32>, tensor<256xf32>
}

// -----

// What a matmul returns in f32 at no cost is not rounded for a sum.

// CHECK-LABEL: func.func @loss
// CHECK: [[Z:%.*]] = mpt.matmul %{{.*}} -> tensor<128x256xf32>
// CHECK: [[P:%.*]] = mpt.mul [[Z]], [[Z]] : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
// CHECK: mpt.reduce [[P]]
func.func @loss(%x: tensor<128x256xf32>, %w: tensor<256x256xf32>) -> tensor<f32> {
  %z = mpt.matmul %x, %w : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %p = mpt.mul %z, %z : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
  %s = mpt.reduce %p {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<mean>} : (tensor<128x256xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// A reader that does not add moves the bytes of a cast, which are more than those of the cast for the second matmul.

// CHECK-LABEL: func.func @others
// CHECK: mpt.matmul %{{.*}} -> tensor<128x256xf32>
// CHECK: [[T:%.*]] = mpt.tanh %{{.*}} -> tensor<128x256xf32>
// CHECK: [[U:%.*]] = mpt.gelu %{{.*}} -> tensor<128x256xf32>
// CHECK: mpt.exp [[T]]
// CHECK: mpt.exp [[U]]
func.func @others(%x: tensor<128x256xf32>, %v: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> (tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>) {
  %a = mpt.matmul %x, %v : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %t = mpt.tanh %a : (tensor<128x256xf32>) -> tensor<128x256xf32>
  %u = mpt.gelu %t : (tensor<128x256xf32>) -> tensor<128x256xf32>
  %b = mpt.matmul %u, %w : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %c = mpt.exp %t : (tensor<128x256xf32>) -> tensor<128x256xf32>
  %d = mpt.exp %u : (tensor<128x256xf32>) -> tensor<128x256xf32>
  return %b, %c, %d : tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>
}

// -----

// The largest is a number that is read, so it is in f16 what was; a product of numbers is not.

// CHECK-LABEL: func.func @largest
// CHECK: [[A:%.*]] = mpt.matmul %{{.*}} -> tensor<128x256xf16>
// CHECK: [[M:%.*]] = mpt.reduce [[A]] {{.*}}max{{.*}} : (tensor<128x256xf16>) -> tensor<256xf16>
// CHECK: mpt.reduce {{.*}}prod{{.*}} -> tensor<256xf32>
func.func @largest(%x: tensor<128x256xf32>, %v: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> (tensor<1x256xf32>, tensor<256xf32>) {
  %a = mpt.matmul %x, %v : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %m = mpt.reduce %a {axes = array<i64: 0>, kind = #mpt.reduce_kind<max>} : (tensor<128x256xf32>) -> tensor<256xf32>
  %r = mpt.reshape %m : (tensor<256xf32>) -> tensor<1x256xf32>
  %b = mpt.matmul %r, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  %c = mpt.matmul %x, %w : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %p = mpt.reduce %c {axes = array<i64: 0>, kind = #mpt.reduce_kind<prod>} : (tensor<128x256xf32>) -> tensor<256xf32>
  return %b, %p : tensor<1x256xf32>, tensor<256xf32>
}
