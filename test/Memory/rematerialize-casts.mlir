// Of a value and its exact widening the narrow side is kept for the backward pass and
// the wide one made again; never are both kept.
// RUN: mpt-opt %s --mpt-rematerialize="strategy=mincut" | FileCheck %s
// Whatever the strategy and the budget:
// RUN: mpt-opt %s --mpt-rematerialize="budget=0.9x effort=20000 function=widens" --remarks-filter=mpt.remat 2>%t.remarks | FileCheck %s --check-prefix=BUDGET
// RUN: FileCheck %s --check-prefix=REMARKS < %t.remarks
// RUN: mpt-opt %s --mpt-rematerialize="budget=1x effort=20000" | FileCheck %s --check-prefixes=BUDGET,LATER,ROUNDS,CHAIN
// RUN: mpt-opt %s --mpt-rematerialize="budget=1x effort=20000 strategy=segments" | FileCheck %s --check-prefixes=BUDGET,LATER,ROUNDS,CHAIN
// RUN: mpt-opt %s --mpt-rematerialize="budget=1x effort=20000 strategy=mincut" | FileCheck %s --check-prefixes=BUDGET,LATER,ROUNDS,CHAIN
// RUN: mpt-opt %s --mpt-rematerialize="budget=1x effort=20000 strategy=optimal" | FileCheck %s --check-prefixes=BUDGET,LATER,ROUNDS,CHAIN
// Casts of other dialects, and kernels that do nothing else.
// RUN: mpt-opt %S/Inputs/rematerialize-casts-foreign.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=1x effort=20000" | FileCheck %s --check-prefix=FOREIGN
// Without a budget, and without a strategy, nothing happens.
// RUN: mpt-opt %s --mpt-rematerialize | FileCheck %s --check-prefix=NONE
// RUN: mpt-opt %s --mpt-rematerialize="budget=1x effort=20000 strategy=none" | FileCheck %s --check-prefix=NONE
// NONE-NOT: mpt.remat
// FOREIGN-LABEL: func.func @convert
// FOREIGN: %[[N:.*]] = "stablehlo.tanh"
// FOREIGN: "stablehlo.convert"(%[[N]])
// FOREIGN: "stablehlo.add"
// FOREIGN: %[[W:.*]] = "stablehlo.convert"(%[[N]]) {mpt.remat
// FOREIGN: "stablehlo.multiply"(%{{.*}}, %[[W]])
// FOREIGN-LABEL: func.func @kernel
// FOREIGN: %[[N:.*]] = mpt_kernel.kernel <pointwise>(%arg0)
// FOREIGN: mpt_kernel.kernel <pointwise>(%[[N]])
// FOREIGN-NOT: mpt.remat
// FOREIGN: mpt.matmul
// FOREIGN: mpt.matmul
// FOREIGN: mpt.matmul
// FOREIGN: mpt.matmul
// FOREIGN: %[[W:.*]] = mpt_kernel.kernel <pointwise>(%[[N]]){{.*}} {mpt.remat
// FOREIGN: mpt.matmul %{{.*}}, %[[W]]

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
// BUDGET-NOT: mpt.remat
// BUDGET: mpt.grad_seed
// BUDGET: mpt.cast %[[N]] {mpt.remat
// BUDGET-NOT: mpt.cast
// BUDGET: return
// REMARKS: mpt.remat.recomputed {{.*}}mpt.cast runs 2 times: 16384 bytes are not kept in between
func.func @widens(%x: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %n = mpt.matmul %x, %x : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %w = mpt.cast %n : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %y = mpt.matmul %w, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = mpt.matmul %y, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %b = mpt.broadcast %s : (tensor<f32>) -> tensor<64x64xf32>
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
// ROUNDS-LABEL: func.func @rounds
// ROUNDS: mpt.grad_seed
// ROUNDS: mpt.cast {{.*}}mpt.remat{{.*}} (tensor<64x64xbf16>) -> tensor<64x64xf32>
// ROUNDS: return
func.func @rounds(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = mpt.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = mpt.cast %w : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %v = mpt.cast %n : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %y = mpt.matmul %v, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %b = mpt.broadcast %s : (tensor<f32>) -> tensor<64x64xf32>
  %f = mpt.mul %b, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = mpt.mul %f, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = mpt.mul %g, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// What the forward pass does not read is made in the backward pass alone.
// LATER-LABEL: func.func @later
// LATER-NOT: mpt.cast
// LATER: mpt.grad_seed
// LATER: mpt.cast {{.*}}mpt.remat
// LATER-NOT: mpt.cast
// LATER: return
func.func @later(%x: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %n = mpt.matmul %x, %x : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %w = mpt.cast %n : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %y = mpt.matmul %n, %n : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %s = mpt.grad_seed : () -> tensor<f32>
  %b = mpt.broadcast %s : (tensor<f32>) -> tensor<64x64xf32>
  %g = mpt.mul %b, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = mpt.mul %g, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// One after the other: only the narrowest is kept. The backward pass reads a reshape.
// CHAIN-LABEL: func.func @chain
// CHAIN: %[[N:.*]] = mpt.matmul
// CHAIN: mpt.grad_seed
// CHAIN: %[[A:.*]] = mpt.cast %[[N]] {mpt.remat
// CHAIN: %[[B:.*]] = mpt.cast %[[A]] {mpt.remat
// CHAIN: mpt.reshape %[[B]]
// CHAIN: return
func.func @chain(%x: tensor<64x64xf16>) -> tensor<4096xf64> {
  %n = mpt.matmul %x, %x : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %w = mpt.cast %n : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %v = mpt.cast %w : (tensor<64x64xf32>) -> tensor<64x64xf64>
  %r = mpt.reshape %v : (tensor<64x64xf64>) -> tensor<4096xf64>
  %t = mpt.tanh %r : (tensor<4096xf64>) -> tensor<4096xf64>
  %s = mpt.grad_seed : () -> tensor<f64>
  %b = mpt.broadcast %s : (tensor<f64>) -> tensor<4096xf64>
  %g = mpt.mul %b, %t : (tensor<4096xf64>, tensor<4096xf64>) -> tensor<4096xf64>
  %h = mpt.mul %g, %r : (tensor<4096xf64>, tensor<4096xf64>) -> tensor<4096xf64>
  return %h : tensor<4096xf64>
}
