// RUN: mpt-opt %s -split-input-file -verify-diagnostics --mpt-unroll-scan

func.func @long(%c: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{'mpt.scan' op cannot be unrolled: 1000000000000 iterations of 3 ops are more than the 1048576 ops that a program may have; take a shorter sequence}}
  %a = mpt.scan 1000000000000 carry(%c : tensor<2xf32>) {
  ^bb0(%h: tensor<2xf32>):
    %p = mpt.exp %h : (tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %p : tensor<2xf32>
  } : tensor<2xf32>
  return %a : tensor<2xf32>
}

// -----

func.func @open(%c: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{mpt-unroll-scan: expected static shapes, found 'tensor<?xf32>'; run --mpt-specialize first}}
  %a = mpt.scan 2 carry(%c : tensor<?xf32>) {
  ^bb0(%h: tensor<?xf32>):
    %p = mpt.exp %h : (tensor<?xf32>) -> tensor<?xf32>
    mpt.yield %p : tensor<?xf32>
  } : tensor<?xf32>
  return %a : tensor<?xf32>
}
