// What IREE 3.13 does not compile has other spellings for it.
// RUN: mpt-opt %s -allow-unregistered-dialect -split-input-file -mpt-convert-to-stablehlo=client=iree | FileCheck %s
// RUN: mpt-opt %s -allow-unregistered-dialect -split-input-file -mpt-convert-to-stablehlo | FileCheck %s --check-prefix=XLA

// Windows that overlap: which place of each is the first largest, and then the gradients of
// each place. Others stay as they are.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<1x3x3x1xf32>, %[[DY:.*]]: tensor<1x2x2x1xf32>
// CHECK-NOT: select_and_scatter
// CHECK: %[[A:.*]] = "stablehlo.slice"(%[[X]]) <{limit_indices = array<i64: 1, 2, 2, 1>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}>
// CHECK: %[[B:.*]] = "stablehlo.slice"(%[[X]]) <{limit_indices = array<i64: 1, 2, 3, 1>, start_indices = array<i64: 0, 0, 1, 0>, strides = array<i64: 1, 1, 1, 1>}>
// CHECK: %[[GE:.*]] = "stablehlo.compare"(%[[A]], %[[B]])
// CHECK: %[[NAN:.*]] = "stablehlo.compare"(%[[A]], %[[A]])
// CHECK: %[[KEEP:.*]] = "stablehlo.or"(%[[GE]], %[[NAN]])
// CHECK: %[[TAKE:.*]] = "stablehlo.not"(%[[KEEP]])
// CHECK: "stablehlo.select"(%[[TAKE]], %[[B]], %[[A]])
// CHECK: %[[PART:.*]] = "stablehlo.select"(%{{.*}}, %[[DY]], %{{.*}})
// CHECK: "stablehlo.pad"(%[[PART]], %{{.*}}) <{edge_padding_high = array<i64: 0, 1, 1, 0>, edge_padding_low = array<i64: 0, 0, 0, 0>, interior_padding = array<i64: 0, 0, 0, 0>}>
// CHECK: "stablehlo.add"
// XLA-LABEL: func.func @main(
// XLA: "stablehlo.select_and_scatter"
func.func @overlaps(%x: tensor<1x3x3x1xf32>, %dy: tensor<1x2x2x1xf32>) -> tensor<1x3x3x1xf32> {
  %dx = mpt.max_pool_grad %dy, %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>}
      : (tensor<1x2x2x1xf32>, tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32>
  return %dx : tensor<1x3x3x1xf32>
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: "stablehlo.select_and_scatter"
func.func @apart(%x: tensor<1x4x4x1xf32>, %dy: tensor<1x2x2x1xf32>) -> tensor<1x4x4x1xf32> {
  %dx = mpt.max_pool_grad %dy, %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<1x2x2x1xf32>, tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  return %dx : tensor<1x4x4x1xf32>
}

// -----

// Matmuls with two batch dimensions, and moved values, that several read.
// CHECK-LABEL: func.func @main(
// CHECK: %[[P:.*]] = "stablehlo.dot_general"(%{{.*}}) {{.*}} -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %[[H:.*]] = "stablehlo.optimization_barrier"(%[[P]])
// CHECK: %[[T:.*]] = "stablehlo.transpose"(%[[H]])
// CHECK-NEXT: %[[HT:.*]] = "stablehlo.optimization_barrier"(%[[T]])
// CHECK: "stablehlo.exponential"(%[[HT]])
// CHECK: "stablehlo.tanh"(%[[HT]])
// CHECK: %[[ONCE:.*]] = "stablehlo.transpose"(%[[H]])
// CHECK-NEXT: return
// XLA-LABEL: func.func @main(
// XLA-NOT: optimization_barrier
func.func @held(%x: tensor<2x3x4x5xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<3x2x4x4xf32>) {
  %p = mpt.matmul %x, %x {transpose_rhs} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x4xf32>
  %t = mpt.transpose %p {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x4x4xf32>) -> tensor<2x4x3x4xf32>
  %a = mpt.exp %t : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %b = mpt.tanh %t : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %c = mpt.transpose %p {permutation = array<i64: 1, 0, 2, 3>} : (tensor<2x3x4x4xf32>) -> tensor<3x2x4x4xf32>
  return %a, %b, %c : tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<3x2x4x4xf32>
}
