// What reads a constant that the low type cannot hold stays f32; without that check the
// constant is converted, with a warning.
//
// RUN: mpt-opt %s --mpt-autocast="type=f16" 2>&1 | FileCheck %s --check-prefix=KEPT --implicit-check-not=warning
// RUN: mpt-opt %s --mpt-autocast="type=f16 check-constants=false" 2>&1 | FileCheck %s --check-prefix=WARN

// KEPT-LABEL: func @mask
// KEPT: mpt.add {{.*}} -> tensor<4x4xf32>
// KEPT-LABEL: func @epsilon
// KEPT: mpt.add {{.*}} -> tensor<4x4xf32>
// KEPT-LABEL: func @fits
// KEPT: mpt.add {{.*}} -> tensor<4x4xf16>
// WARN: constant-range.mlir:[[@LINE+5]]:{{[0-9]+}}: warning: a number of this constant becomes infinite in 'f16'; check-constants=true keeps what reads it in f32
// WARN: constant-range.mlir:[[@LINE+11]]:{{[0-9]+}}: warning: a number of this constant becomes zero in 'f16'
// WARN-NOT: warning
func.func @mask(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = mpt.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = mpt.constant dense<-3.4e38> : tensor<4x4xf32>
  %b = mpt.add %a, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = mpt.matmul %b, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}
func.func @epsilon(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = mpt.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = mpt.constant dense<1.0e-8> : tensor<4x4xf32>
  %b = mpt.add %a, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = mpt.matmul %b, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}
func.func @fits(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = mpt.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = mpt.constant dense<0.1> : tensor<4x4xf32>
  %b = mpt.add %a, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = mpt.matmul %b, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// A mask that would be infinite goes through the sum to the softmax, which then reads f32;
// what is behind the softmax is low again.
// KEPT-LABEL: func @attention
// KEPT: mpt.add {{.*}} -> tensor<4x4xf32>
// KEPT: mpt.reshape {{.*}} -> tensor<4x4xf32>
// KEPT: mpt.softmax {{.*}} : (tensor<4x4xf32>) ->
// KEPT: mpt.matmul {{.*}}(tensor<4x4xf16>, tensor<4x4xf16>)
func.func @attention(%q: tensor<4x4xf32>, %m: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %s = mpt.matmul %q, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = mpt.constant dense<-3.4e38> : tensor<4x4xf32>
  %n = mpt.mul %m, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = mpt.add %s, %n : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = mpt.reshape %t : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = mpt.softmax %r : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %o = mpt.matmul %p, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %o : tensor<4x4xf32>
}
