// RUN: mpt-opt %s --mpt-join-matmuls=chip=sm_90 | FileCheck %s

// Gradients of slices that tile a tensor.
// CHECK-LABEL: func.func @tiles
// CHECK-NEXT: %[[Y:.*]] = mpt.concat %arg0, %arg1, %arg2 {axis = 1 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @tiles(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>, %c: tensor<4x1xf32>) -> tensor<4x6xf32> {
  %0 = mpt.pad %b {low = array<i64: 0, 2>, high = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  %1 = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 4>} : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %2 = mpt.pad %c {low = array<i64: 0, 5>, high = array<i64: 0, 0>} : (tensor<4x1xf32>) -> tensor<4x6xf32>
  %3 = mpt.add %0, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = mpt.add %3, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}

// An overlap, a gap, other numbers than zero, and a part that is read elsewhere.
// CHECK-LABEL: func.func @overlap
// CHECK-NOT: mpt.concat
func.func @overlap(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %0 = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 2>} : (tensor<4x3xf32>) -> tensor<4x5xf32>
  %1 = mpt.pad %b {low = array<i64: 0, 2>, high = array<i64: 0, 0>} : (tensor<4x3xf32>) -> tensor<4x5xf32>
  %2 = mpt.add %0, %1 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %2 : tensor<4x5xf32>
}
// CHECK-LABEL: func.func @gap
// CHECK-NOT: mpt.concat
func.func @gap(%a: tensor<4x2xf32>, %b: tensor<4x2xf32>) -> tensor<4x5xf32> {
  %0 = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 3>} : (tensor<4x2xf32>) -> tensor<4x5xf32>
  %1 = mpt.pad %b {low = array<i64: 0, 3>, high = array<i64: 0, 0>} : (tensor<4x2xf32>) -> tensor<4x5xf32>
  %2 = mpt.add %0, %1 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %2 : tensor<4x5xf32>
}
// CHECK-LABEL: func.func @ones
// CHECK-NOT: mpt.concat
func.func @ones(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %0 = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 3>, value = 1.0 : f64} : (tensor<4x2xf32>) -> tensor<4x5xf32>
  %1 = mpt.pad %b {low = array<i64: 0, 2>, high = array<i64: 0, 0>} : (tensor<4x3xf32>) -> tensor<4x5xf32>
  %2 = mpt.add %0, %1 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %2 : tensor<4x5xf32>
}
// CHECK-LABEL: func.func @read
// CHECK-NOT: mpt.concat
func.func @read(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %0 = mpt.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 3>} : (tensor<4x2xf32>) -> tensor<4x5xf32>
  %1 = mpt.pad %b {low = array<i64: 0, 2>, high = array<i64: 0, 0>} : (tensor<4x3xf32>) -> tensor<4x5xf32>
  %2 = mpt.add %0, %1 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %1, %2 : tensor<4x5xf32>, tensor<4x5xf32>
}

// Heads of a layer's columns, and halves of these.
// CHECK-LABEL: func.func @halves
// CHECK-NEXT: %[[X:.*]] = mpt.reshape %arg0 {{.*}} -> tensor<2x5x6x8xf32>
// CHECK-NEXT: %[[Y:.*]] = mpt.slice %[[X]] {offsets = array<i64: 0, 0, 4, 4>, sizes = array<i64: 2, 5, 2, 4>
// CHECK-NEXT: return %[[Y]]
func.func @halves(%x: tensor<2x5x48xf32>) -> tensor<2x5x2x4xf32> {
  %0 = mpt.slice %x {offsets = array<i64: 0, 0, 32>, sizes = array<i64: 2, 5, 16>, strides = array<i64: 1, 1, 1>} : (tensor<2x5x48xf32>) -> tensor<2x5x16xf32>
  %1 = mpt.reshape %0 : (tensor<2x5x16xf32>) -> tensor<2x5x2x8xf32>
  %2 = mpt.slice %1 {offsets = array<i64: 0, 0, 0, 4>, sizes = array<i64: -1, -1, -1, 4>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x5x2x8xf32>) -> tensor<2x5x2x4xf32>
  return %2 : tensor<2x5x2x4xf32>
}

// Columns that do not begin at a head.
// CHECK-LABEL: func.func @askew
// CHECK: mpt.slice %arg0
// CHECK-NEXT: mpt.reshape
func.func @askew(%x: tensor<2x5x48xf32>) -> tensor<2x5x2x8xf32> {
  %0 = mpt.slice %x {offsets = array<i64: 0, 0, 30>, sizes = array<i64: 2, 5, 16>, strides = array<i64: 1, 1, 1>} : (tensor<2x5x48xf32>) -> tensor<2x5x16xf32>
  %1 = mpt.reshape %0 : (tensor<2x5x16xf32>) -> tensor<2x5x2x8xf32>
  return %1 : tensor<2x5x2x8xf32>
}
