// RUN: mpt-opt %s --mpt-unroll-scan | FileCheck %s
// RUN: mpt-opt %s --mpt-decompose | FileCheck %s

// What may end early is not unrolled, but what is in it.
// CHECK-LABEL: func.func @conditional
// CHECK:       mpt.scan conditional 1 carry
// CHECK-COUNT-2: mpt.exp
// CHECK-NOT:   mpt.scan
// CHECK:       mpt.scan conditional 3 carry
func.func @conditional(%flag: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<i1>) {
  %r:2 = mpt.scan conditional 1 carry(%flag, %x : tensor<i1>, tensor<f32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<f32>):
    %s = mpt.scan 2 carry(%v : tensor<f32>) {
    ^bb1(%u: tensor<f32>):
      %e = mpt.exp %u : (tensor<f32>) -> tensor<f32>
      mpt.yield %e : tensor<f32>
    } : tensor<f32>
    mpt.yield %c, %s : tensor<i1>, tensor<f32>
  } : tensor<i1>, tensor<f32>
  %q = mpt.scan conditional 3 carry(%flag : tensor<i1>) {
  ^bb0(%c: tensor<i1>):
    %n = mpt.not %c : (tensor<i1>) -> tensor<i1>
    mpt.yield %n : tensor<i1>
  } : tensor<i1>
  return %r#1, %q : tensor<f32>, tensor<i1>
}
