// RUN: mpt-opt %s --cse | FileCheck %s --strict-whitespace

// Equal barriers stay apart, with what each guards; equal ops behind one barrier
// are merged, and a barrier that nothing reads is dropped.
// CHECK-LABEL: func.func @barriers
//       CHECK:   %[[A:.*]] = mpt.barrier %arg0 : (tensor<4xf32>) -> tensor<4xf32>
//  CHECK-NEXT:   %[[B:.*]] = mpt.barrier %arg0 : (tensor<4xf32>) -> tensor<4xf32>
//  CHECK-NEXT:   %[[X:.*]] = mpt.exp %[[A]] :
//  CHECK-NEXT:   %[[Y:.*]] = mpt.exp %[[B]] :
//  CHECK-NEXT:   return %[[X]], %[[Y]], %[[X]] :
func.func @barriers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = mpt.barrier %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.barrier %x : (tensor<4xf32>) -> tensor<4xf32>
  %dead = mpt.barrier %x : (tensor<4xf32>) -> tensor<4xf32>
  %0 = mpt.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpt.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpt.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Ops without operands print one space after their name.
// CHECK-LABEL: func.func @no_operands
//       CHECK:   %{{.*}} = mpt.grad_seed : () -> tensor<f32>
//       CHECK:   %{{.*}} = mpt.iota {axis = 0 : i64} : () -> tensor<4xi32>
func.func @no_operands() -> (tensor<f32>, tensor<4xi32>) {
  %s = mpt.grad_seed : () -> tensor<f32>
  %i = mpt.iota {axis = 0 : i64} : () -> tensor<4xi32>
  return %s, %i : tensor<f32>, tensor<4xi32>
}
