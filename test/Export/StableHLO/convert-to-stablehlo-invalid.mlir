// RUN: mpt-opt %s -allow-unregistered-dialect -split-input-file -verify-diagnostics -mpt-convert-to-stablehlo
// RUN: not mpt-opt %S/Inputs/functions.mlir -allow-unregistered-dialect -mpt-convert-to-stablehlo 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: mpt-convert-to-stablehlo: expected one function with a body, found 2; name one with function=
// SEVERAL: there is 'a'
// RUN: not mpt-opt %S/convert-to-stablehlo.mlir -split-input-file -mpt-convert-to-stablehlo 2>&1 | FileCheck %s
// CHECK: mpt-convert-to-stablehlo: StableHLO's ops are not registered here; run mpt-opt with --allow-unregistered-dialect

func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{mpt-convert-to-stablehlo: expected static shapes, found 'tensor<?x4xf32>'; run --mpt-specialize first}}
  %y = mpt.neg %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// expected-error @+1 {{mpt-convert-to-stablehlo: 1 op of @foreign has no counterpart in StableHLO; convert the step before it is planned, and without ops of other dialects}}
func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{my.op}}
  %y = "my.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = mpt.neg %y : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// expected-error @+1 {{mpt-convert-to-stablehlo: expected arguments and results that are ranked tensors, found 'f32'}}
func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}
