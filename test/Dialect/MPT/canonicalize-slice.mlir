// RUN: mpt-opt %s --canonicalize | FileCheck %s

// What is left of the transpose only moves dimensions of size 1.
// CHECK-LABEL: func.func @slice_of_transpose
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x5x6xf32>
// CHECK-NEXT: %[[S:.*]] = mpt.slice %[[X]] {offsets = array<i64: 3, 1, 2>, sizes = array<i64: 1, 2, 2>, strides = array<i64: 1, 3, 2>} : (tensor<4x5x6xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT: %[[R:.*]] = mpt.reshape %[[S]] : (tensor<1x2x2xf32>) -> tensor<2x1x2xf32>
// CHECK-NEXT: return %[[R]]
func.func @slice_of_transpose(%x: tensor<4x5x6xf32>) -> tensor<2x1x2xf32> {
  %t = mpt.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x5x6xf32>) -> tensor<5x4x6xf32>
  %s = mpt.slice %t {offsets = array<i64: 1, 3, 2>, sizes = array<i64: 2, 1, 2>, strides = array<i64: 3, 1, 2>} : (tensor<5x4x6xf32>) -> tensor<2x1x2xf32>
  return %s : tensor<2x1x2xf32>
}

// The batch is open: -1 takes the whole of it.
// CHECK-LABEL: func.func @open_batch
// CHECK-NEXT: %[[S:.*]] = mpt.slice %{{.*}} {offsets = array<i64: 0, 4, 0>, sizes = array<i64: -1, 1, 6>, strides = array<i64: 1, 1, 1>} : (tensor<?x5x6xf32>) -> tensor<?x1x6xf32>
// CHECK-NEXT: %[[R:.*]] = mpt.reshape %[[S]] : (tensor<?x1x6xf32>) -> tensor<1x?x6xf32>
// CHECK-NEXT: return %[[R]]
func.func @open_batch(%x: tensor<?x5x6xf32>) -> tensor<1x?x6xf32> {
  %t = mpt.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<?x5x6xf32>) -> tensor<5x?x6xf32>
  %s = mpt.slice %t {offsets = array<i64: 4, 0, 0>, sizes = array<i64: 1, -1, 6>, strides = array<i64: 1, 1, 1>} : (tensor<5x?x6xf32>) -> tensor<1x?x6xf32>
  return %s : tensor<1x?x6xf32>
}

// The slice has to be transposed as well.
// CHECK-LABEL: func.func @slice_of_rows
// CHECK-NEXT: mpt.transpose
// CHECK-NEXT: mpt.slice
func.func @slice_of_rows(%x: tensor<4x5x6xf32>) -> tensor<2x2x6xf32> {
  %t = mpt.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x5x6xf32>) -> tensor<5x4x6xf32>
  %s = mpt.slice %t {offsets = array<i64: 0, 0, 0>, sizes = array<i64: 2, 2, 6>, strides = array<i64: 1, 1, 1>} : (tensor<5x4x6xf32>) -> tensor<2x2x6xf32>
  return %s : tensor<2x2x6xf32>
}

// The last state of a layer, batch first: what is carried.
// CHECK-LABEL: func.func @last_of_scan
// CHECK: %[[SCAN:.*]]:2 = mpt.scan
// CHECK: %[[R:.*]] = mpt.reshape %[[SCAN]]#0 : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: return %[[R]]
func.func @last_of_scan(%c: tensor<4xf32>, %x: tensor<5x4xf32>) -> tensor<4x1xf32> {
  %last, %all = mpt.scan 5 carry(%c : tensor<4xf32>) over(%x : tensor<5x4xf32>) {
  ^bb0(%h: tensor<4xf32>, %xi: tensor<4xf32>):
    %n = mpt.add %h, %xi : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %n, %n : tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<5x4xf32>
  %t = mpt.transpose %all {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %s = mpt.slice %t {offsets = array<i64: 0, 4>, sizes = array<i64: 4, 1>, strides = array<i64: 1, 1>} : (tensor<4x5xf32>) -> tensor<4x1xf32>
  return %s : tensor<4x1xf32>
}

// From the last slice to the first: slice 0 is the last one, slice 4 is not.
// CHECK-LABEL: func.func @last_of_reverse_scan
// CHECK: %[[SCAN:.*]]:2 = mpt.scan 5 reverse
// CHECK: %[[R:.*]] = mpt.reshape %[[SCAN]]#0
// CHECK: %[[S:.*]] = mpt.slice %[[SCAN]]#1 {offsets = array<i64: 4, 0>
// CHECK: return %[[R]], %[[S]]
func.func @last_of_reverse_scan(%c: tensor<4xf32>, %x: tensor<5x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %last, %all = mpt.scan 5 reverse carry(%c : tensor<4xf32>) over(%x : tensor<5x4xf32>) {
  ^bb0(%h: tensor<4xf32>, %xi: tensor<4xf32>):
    %n = mpt.add %h, %xi : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %n, %n : tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<5x4xf32>
  %s = mpt.slice %all {offsets = array<i64: 0, 0>, sizes = array<i64: 1, 4>, strides = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<1x4xf32>
  %e = mpt.slice %all {offsets = array<i64: 4, 0>, sizes = array<i64: 1, 4>, strides = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<1x4xf32>
  return %s, %e : tensor<1x4xf32>, tensor<1x4xf32>
}

// Not the last, more than one, a part of one, and not what is carried.
// CHECK-LABEL: func.func @not_last_of_scan
// CHECK: mpt.slice %{{.*}}#1 {offsets = array<i64: 3, 0>
// CHECK: mpt.slice %{{.*}}#1 {offsets = array<i64: 3, 0>, sizes = array<i64: 2, 4>
// CHECK: mpt.slice %{{.*}}#1 {offsets = array<i64: 4, 0>, sizes = array<i64: 1, 2>
// CHECK: mpt.slice %{{.*}}#2 {offsets = array<i64: 4, 0>
func.func @not_last_of_scan(%c: tensor<4xf32>, %x: tensor<5x4xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>, tensor<1x2xf32>, tensor<1x4xf32>) {
  %last, %all, %before = mpt.scan 5 carry(%c : tensor<4xf32>) over(%x : tensor<5x4xf32>) {
  ^bb0(%h: tensor<4xf32>, %xi: tensor<4xf32>):
    %n = mpt.add %h, %xi : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %n, %n, %h : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<5x4xf32>, tensor<5x4xf32>
  %0 = mpt.slice %all {offsets = array<i64: 3, 0>, sizes = array<i64: 1, 4>, strides = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<1x4xf32>
  %1 = mpt.slice %all {offsets = array<i64: 3, 0>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<2x4xf32>
  %2 = mpt.slice %all {offsets = array<i64: 4, 0>, sizes = array<i64: 1, 2>, strides = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<1x2xf32>
  %3 = mpt.slice %before {offsets = array<i64: 4, 0>, sizes = array<i64: 1, 4>, strides = array<i64: 1, 1>} : (tensor<5x4xf32>) -> tensor<1x4xf32>
  return %0, %1, %2, %3 : tensor<1x4xf32>, tensor<2x4xf32>, tensor<1x2xf32>, tensor<1x4xf32>
}
