// RUN: mpt-opt %s --mpt-unroll-scan -split-input-file -verify-diagnostics | FileCheck %s
// RUN: mpt-opt %s --mpt-decompose -split-input-file | FileCheck %s --check-prefix=DECOMPOSE

// Slices go in, iteration after iteration; what is stacked comes out in the order of the
// slices. A value from above is the same in each.
// DECOMPOSE-LABEL: func.func @forward
// DECOMPOSE-NOT: mpt.scan
// CHECK-LABEL: func.func @forward
//  CHECK-SAME: (%[[C:.*]]: tensor<2xf32>, %[[X:.*]]: tensor<2x2xf32>, %[[W:.*]]: tensor<2xf32>)
//  CHECK-NEXT: %[[S0:.*]] = mpt.slice %[[X]] {offsets = array<i64: 0, 0>, sizes = array<i64: 1, 2>
//  CHECK-NEXT: %[[X0:.*]] = mpt.reshape %[[S0]] : (tensor<1x2xf32>) -> tensor<2xf32>
//  CHECK-NEXT: %[[P0:.*]] = mpt.mul %[[X0]], %[[W]]
//  CHECK-NEXT: %[[N0:.*]] = mpt.add %[[C]], %[[P0]]
//  CHECK-NEXT: %[[S1:.*]] = mpt.slice %[[X]] {offsets = array<i64: 1, 0>, sizes = array<i64: 1, 2>
//  CHECK-NEXT: %[[X1:.*]] = mpt.reshape %[[S1]]
//  CHECK-NEXT: %[[P1:.*]] = mpt.mul %[[X1]], %[[W]]
//  CHECK-NEXT: %[[N1:.*]] = mpt.add %[[N0]], %[[P1]]
//  CHECK-NEXT: %[[Y0:.*]] = mpt.reshape %[[N0]] : (tensor<2xf32>) -> tensor<1x2xf32>
//  CHECK-NEXT: %[[Y1:.*]] = mpt.reshape %[[N1]]
//  CHECK-NEXT: %[[Y:.*]] = mpt.concat %[[Y0]], %[[Y1]] {axis = 0 : i64}
//  CHECK-NEXT: return %[[N1]], %[[Y]]
func.func @forward(%c: tensor<2xf32>, %x: tensor<2x2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>) {
  %a:2 = mpt.scan 2 carry(%c : tensor<2xf32>) over(%x : tensor<2x2xf32>) {
  ^bb0(%h: tensor<2xf32>, %e: tensor<2xf32>):
    %p = mpt.mul %e, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %n = mpt.add %h, %p : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %n, %n : tensor<2xf32>, tensor<2xf32>
  } : tensor<2xf32>, tensor<2x2xf32>
  return %a#0, %a#1 : tensor<2xf32>, tensor<2x2xf32>
}

// -----

// The second scan reads what the first one made, and no stack of it. Zeros that a sum
// begins with are left out.
// CHECK-LABEL: func.func @reverse
//  CHECK-SAME: (%[[X:.*]]: tensor<2x2xf32>)
//   CHECK-NOT: mpt.concat
//       CHECK: %[[E0:.*]] = mpt.exp
//       CHECK: %[[E1:.*]] = mpt.exp
//  CHECK-NEXT: %[[R1:.*]] = mpt.relu %[[E1]]
//  CHECK-NEXT: %[[R0:.*]] = mpt.relu %[[E0]]
//  CHECK-NEXT: %[[SUM:.*]] = mpt.add %[[R1]], %[[R0]]
//  CHECK-NEXT: return %[[SUM]]
func.func @reverse(%x: tensor<2x2xf32>) -> tensor<2xf32> {
  %zeros = mpt.constant dense<-0.0> : tensor<2xf32>
  %y = mpt.scan 2 over(%x : tensor<2x2xf32>) {
  ^bb0(%e: tensor<2xf32>):
    %p = mpt.exp %e : (tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %p : tensor<2xf32>
  } : tensor<2x2xf32>
  %s = mpt.scan 2 reverse carry(%zeros : tensor<2xf32>) over(%y : tensor<2x2xf32>) {
  ^bb0(%h: tensor<2xf32>, %e: tensor<2xf32>):
    %p = mpt.relu %e : (tensor<2xf32>) -> tensor<2xf32>
    %n = mpt.add %h, %p : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %n : tensor<2xf32>
  } : tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

// Scans in scans and in other regions.
// CHECK-LABEL: func.func @nested
//   CHECK-NOT: mpt.scan
// CHECK-COUNT-6: mpt.exp
//   CHECK-NOT: mpt.exp
//       CHECK: mpt.checkpoint
// CHECK-COUNT-3: mpt.tanh
//   CHECK-NOT: mpt.tanh
func.func @nested(%c: tensor<2xf32>) -> tensor<2xf32> {
  %a = mpt.scan 2 carry(%c : tensor<2xf32>) {
  ^bb0(%h: tensor<2xf32>):
    %b = mpt.scan 3 carry(%h : tensor<2xf32>) {
    ^bb0(%g: tensor<2xf32>):
      %p = mpt.exp %g : (tensor<2xf32>) -> tensor<2xf32>
      mpt.yield %p : tensor<2xf32>
    } : tensor<2xf32>
    mpt.yield %b : tensor<2xf32>
  } : tensor<2xf32>
  %d = mpt.checkpoint {
    %b = mpt.scan 3 carry(%a : tensor<2xf32>) {
    ^bb0(%g: tensor<2xf32>):
      %p = mpt.tanh %g : (tensor<2xf32>) -> tensor<2xf32>
      mpt.yield %p : tensor<2xf32>
    } : tensor<2xf32>
    mpt.yield %b : tensor<2xf32>
  } : tensor<2xf32>
  return %d : tensor<2xf32>
}

// -----

module {
  // CHECK-LABEL: func.func @none
  //  CHECK-NEXT: mpt.exp
  // expected-warning @below {{mpt-unroll-scan: found nothing to do: there is no mpt.scan in this module}}
  func.func @none(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = mpt.exp %x : (tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
}
