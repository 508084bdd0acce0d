// Of a value and its exact widening the narrow side is kept for the backward pass and
// the wide one made again; never are both kept.
// RUN: mpt-opt %s --mpt-rematerialize="strategy=mincut" | FileCheck %s
// RUN: mpt-opt %s --mpt-rematerialize="budget=0.9x function=widens" | FileCheck %s --check-prefix=BUDGET

// CHECK-LABEL: func.func @widens
// CHECK: %[[N:.*]] = mpt.matmul
// CHECK: mpt.cast %[[N]]
// CHECK-NOT: mpt.remat
// CHECK: mpt.grad_seed
// CHECK: mpt.cast %[[N]] {mpt.remat
// CHECK-NOT: mpt.remat
// CHECK: return
// BUDGET-LABEL: func.func @widens
// BUDGET: %[[N:.*]] = mpt.matmul
// BUDGET: mpt.cast %[[N]]
// BUDGET: mpt.cast %[[N]] {mpt.remat
func.func @widens(%x: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %n = mpt.matmul %x, %x : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %w = mpt.cast %n : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %y = mpt.matmul %w, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = mpt.matmul %y, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %b = mpt.broadcast %s {shape = array<i64: 64, 64>} : (tensor<f32>) -> tensor<64x64xf32>
  %g = mpt.mul %b, %z : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = mpt.mul %g, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// A value that was rounded is not the rounded value widened again: what the backward
// pass reads in f32 is kept in f32, and its copies are made from it.
// CHECK-LABEL: func.func @rounds
// CHECK: %[[W:.*]] = mpt.matmul
// CHECK: %[[N:.*]] = mpt.cast %[[W]] : {{.*}} -> tensor<64x64xbf16>
// CHECK: mpt.grad_seed
// CHECK: mpt.mul %{{.*}}, %[[W]]
// CHECK: %[[M:.*]] = mpt.cast %[[W]] {mpt.remat{{.*}} -> tensor<64x64xbf16>
// CHECK: %[[V:.*]] = mpt.cast %[[M]] {mpt.remat{{.*}} -> tensor<64x64xf32>
// CHECK: mpt.mul %{{.*}}, %[[V]]
func.func @rounds(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = mpt.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = mpt.cast %w : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %v = mpt.cast %n : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %y = mpt.matmul %v, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %b = mpt.broadcast %s {shape = array<i64: 64, 64>} : (tensor<f32>) -> tensor<64x64xf32>
  %f = mpt.mul %b, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = mpt.mul %f, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = mpt.mul %g, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}
