// RUN: mpt-opt %s -split-input-file -verify-diagnostics --mpt-plan-kernels=max-unrolled=0 --mpt-assign-buffers

module attributes {mpt.mesh = #mpt.mesh<data = 2, model = 2>} {
func.func @axes(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpt.all_reduce' cannot be planned: expected a mesh with one axis of more than one rank, found #mpt.mesh<data = 2, model = 2>}}
  %0 = mpt.all_reduce %x {axis = "data"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @loop(%c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpt.scan 20 carry(%c : tensor<4xf32>) {
  ^bb0(%h: tensor<4xf32>):
    // expected-error @+1 {{'mpt.all_reduce' is in a loop, where it cannot be planned; unroll the loop with --mpt-unroll-scan, or exchange what the loop returns}}
    %s = mpt.all_reduce %h {axis = "data"} : (tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %s : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

module attributes {mpt.mesh = #mpt.mesh<data = 2>} {
func.func @wire(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{the library call cannot run: only values of f32}}
  %0 = mpt.all_reduce %x {axis = "data", wire = bf16} : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
}
