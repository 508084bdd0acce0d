// Gradients of slices that lie next to each other are concatenated: no tensor of zeros is
// made, and nothing is added.
// RUN: mpt-opt %s --mpt-decompose --split-input-file | FileCheck %s

// What autodiff makes of a matrix of queries, keys and values that attention slices.
// CHECK-LABEL: func.func @three(
// CHECK-SAME: %[[Q:.*]]: tensor<4x2xf32>, %[[K:.*]]: tensor<4x2xf32>, %[[V:.*]]: tensor<4x2xf32>)
// CHECK-NEXT: %[[Y:.*]] = mpt.concat %[[Q]], %[[K]], %[[V]] {axis = 1 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @three(%q: tensor<4x2xf32>, %k: tensor<4x2xf32>, %v: tensor<4x2xf32>) -> tensor<4x6xf32> {
  %0 = mpt.pad %v {low = array<i64: 0, 4>, high = array<i64: 0, 0>} : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %1 = mpt.pad %k {low = array<i64: 0, 2>, high = array<i64: 0, 2>} : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %2 = mpt.add %0, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = mpt.pad %q {low = array<i64: 0, 0>, high = array<i64: 0, 4>} : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %4 = mpt.add %2, %3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}

// -----

// The first two are not neighbors: the third stands between them. What is added to one of
// them stays.
// CHECK-LABEL: func.func @gap(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4xf16>, %[[K:.*]]: tensor<1x4xf16>, %[[V:.*]]: tensor<2x4xf16>, %[[X:.*]]: tensor<5x4xf16>)
// CHECK: %[[Y:.*]] = mpt.concat %[[Q]], %[[K]], %[[V]] {axis = 0 : i64}
// CHECK-NEXT: %[[S:.*]] = mpt.add %[[X]], %[[Y]]
// CHECK-NEXT: return %[[S]]
func.func @gap(%q: tensor<2x4xf16>, %k: tensor<1x4xf16>, %v: tensor<2x4xf16>, %x: tensor<5x4xf16>) -> tensor<5x4xf16> {
  %0 = mpt.pad %v {low = array<i64: 3, 0>, high = array<i64: 0, 0>} : (tensor<2x4xf16>) -> tensor<5x4xf16>
  %1 = mpt.add %0, %x : (tensor<5x4xf16>, tensor<5x4xf16>) -> tensor<5x4xf16>
  %2 = mpt.pad %q {low = array<i64: 0, 0>, high = array<i64: 3, 0>} : (tensor<2x4xf16>) -> tensor<5x4xf16>
  %3 = mpt.add %1, %2 : (tensor<5x4xf16>, tensor<5x4xf16>) -> tensor<5x4xf16>
  %4 = mpt.pad %k {low = array<i64: 2, 0>, high = array<i64: 2, 0>} : (tensor<1x4xf16>) -> tensor<5x4xf16>
  %5 = mpt.add %3, %4 : (tensor<5x4xf16>, tensor<5x4xf16>) -> tensor<5x4xf16>
  return %5 : tensor<5x4xf16>
}

// -----

// Part of the tensor has no slice: it stays zero. The sum is wider than its terms.
// CHECK-LABEL: func.func @part(
// CHECK: %[[C:.*]] = mpt.concat %arg0, %arg1 {axis = 0 : i64} : (tensor<2xf16>, tensor<3xf16>) -> tensor<5xf16>
// CHECK: mpt.pad %{{.*}} {high = array<i64: 2>, low = array<i64: 1>}
// CHECK-NOT: mpt.add
func.func @part(%a: tensor<2xf16>, %b: tensor<3xf16>) -> tensor<8xf32> {
  %0 = mpt.pad %a {low = array<i64: 1>, high = array<i64: 5>} : (tensor<2xf16>) -> tensor<8xf16>
  %1 = mpt.pad %b {low = array<i64: 3>, high = array<i64: 2>} : (tensor<3xf16>) -> tensor<8xf16>
  %2 = mpt.add %0, %1 : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// Slices that overlap, that another stands between, or whose dimensions differ, a pad that is not
// zero, has gaps or is read elsewhere, and a pad that is broadcast.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT: mpt.concat
// CHECK: return
func.func @kept(%a: tensor<2x2xf32>) -> (tensor<2x4xf32>, tensor<2x5xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<2x5xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<3x2x4xf32>) {
  %left = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 2>} : (tensor<2x2xf32>) -> tensor<2x4xf32>
  %right = mpt.pad %a {low = array<i64: 0, 2>, high = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<2x4xf32>
  %middle = mpt.pad %a {low = array<i64: 0, 1>, high = array<i64: 0, 1>} : (tensor<2x2xf32>) -> tensor<2x4xf32>
  %overlap = mpt.add %left, %middle : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>

  %begin = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 3>} : (tensor<2x2xf32>) -> tensor<2x5xf32>
  %end = mpt.pad %a {low = array<i64: 0, 3>, high = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<2x5xf32>
  %gap = mpt.add %begin, %end : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>

  %corner = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 2, 2>} : (tensor<2x2xf32>) -> tensor<4x4xf32>
  %opposite = mpt.pad %a {low = array<i64: 2, 2>, high = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<4x4xf32>
  %corners = mpt.add %corner, %opposite : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>

  %ones = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 2>, value = 1.0 : f64} : (tensor<2x2xf32>) -> tensor<2x4xf32>
  %shifted = mpt.add %ones, %right : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>

  %spread = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 2>, interior = array<i64: 0, 1>} : (tensor<2x2xf32>) -> tensor<2x5xf32>
  %between = mpt.add %spread, %end : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>

  %again = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 2>} : (tensor<2x2xf32>) -> tensor<2x4xf32>
  %last = mpt.pad %a {low = array<i64: 0, 2>, high = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<2x4xf32>
  %read = mpt.add %again, %last : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>

  %wide = mpt.reshape %read : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %three = mpt.broadcast %wide : (tensor<1x2x4xf32>) -> tensor<3x2x4xf32>
  %high = mpt.pad %a {low = array<i64: 0, 2>, high = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<2x4xf32>
  %sum = mpt.add %three, %high : (tensor<3x2x4xf32>, tensor<2x4xf32>) -> tensor<3x2x4xf32>
  return %overlap, %gap, %corners, %shifted, %between, %again, %read, %sum : tensor<2x4xf32>, tensor<2x5xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<2x5xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<3x2x4xf32>
}
