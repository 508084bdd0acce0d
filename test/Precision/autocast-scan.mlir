// What mpt.scan carries has one type throughout, and what it stacks the type of its
// slices.
//
// RUN: mpt-opt %s --mpt-autocast="type=f16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-validate-precision="type=f16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --mpt-autocast="type=f16" | diff %t.once.mlir -

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// Carried through matmuls, and stacked for one; the weight is cast once.
// CHECK-LABEL: func.func @low(
// CHECK-DAG: %[[W:.*]] = mpt.cast %{{.*}} {autocast} : (tensor<4x4xf32>) -> tensor<4x4xf16>
// CHECK-DAG: %[[A:.*]] = mpt.matmul {{.*}} -> tensor<8x4xf16>
// CHECK: %[[L:.*]]:2 = mpt.scan 5 carry(%[[A]] : tensor<8x4xf16>) over(%{{.*}} : tensor<5x8x4xf16>) {
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<8x4xf16>, %{{.*}}: tensor<8x4xf16>):
// CHECK-NOT: mpt.cast
// CHECK: %[[N:.*]] = mpt.matmul %[[H]], %[[W]] : (tensor<8x4xf16>, tensor<4x4xf16>) -> tensor<8x4xf16>
// CHECK: mpt.yield %{{.*}}, %{{.*}} : tensor<8x4xf16>, tensor<8x4xf16>
// CHECK: } : tensor<8x4xf16>, tensor<5x8x4xf16>
// CHECK: mpt.matmul %[[L]]#1
func.func @low(%x: !x, %xs: tensor<5x8x4xf32>, %w: !w) -> (!x, tensor<5x8x4xf32>) {
  %a = mpt.matmul %x, %w : (!x, !w) -> !x
  %b = mpt.matmul %xs, %w : (tensor<5x8x4xf32>, !w) -> tensor<5x8x4xf32>
  %r:2 = mpt.scan 5 carry(%a : !x) over(%b : tensor<5x8x4xf32>) {
  ^bb0(%h: !x, %e: !x):
    %n = mpt.matmul %h, %w : (!x, !w) -> !x
    %s = mpt.add %n, %e : (!x, !x) -> !x
    %t = mpt.relu %s : (!x) -> !x
    mpt.yield %t, %t : !x, !x
  } : !x, tensor<5x8x4xf32>
  %c = mpt.matmul %r#0, %w : (!x, !w) -> !x
  %d = mpt.matmul %r#1, %w : (tensor<5x8x4xf32>, !w) -> tensor<5x8x4xf32>
  return %c, %d : !x, tensor<5x8x4xf32>
}

// Must stay: what is carried is a sum over the iterations, as the gradient of a weight
// is. What is added may be low.
// CHECK-LABEL: func.func @sum(
// CHECK: mpt.scan 5 reverse carry(%{{.*}} : tensor<4x4xf32>) over(%{{.*}} : tensor<5x8x4xf16>) {
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<4x4xf32>, %[[E:.*]]: tensor<8x4xf16>):
// CHECK: %[[G:.*]] = mpt.matmul %[[E]], %[[E]] {transpose_lhs} : (tensor<8x4xf16>, tensor<8x4xf16>) ->
// CHECK: %[[N:.*]] = mpt.add %[[S]], %{{.*}} -> tensor<4x4xf32>
// CHECK: mpt.yield %[[N]] : tensor<4x4xf32>
// CHECK: } : tensor<4x4xf32>
func.func @sum(%xs: tensor<5x8x4xf32>, %w: !w) -> !w {
  %zeros = mpt.constant dense<-0.0> : !w
  %b = mpt.matmul %xs, %w : (tensor<5x8x4xf32>, !w) -> tensor<5x8x4xf32>
  %r = mpt.scan 5 reverse carry(%zeros : !w) over(%b : tensor<5x8x4xf32>) {
  ^bb0(%s: !w, %e: !x):
    %g = mpt.matmul %e, %e {transpose_lhs} : (!x, !x) -> !w
    %n = mpt.add %s, %g : (!w, !w) -> !w
    mpt.yield %n : !w
  } : !w
  return %r : !w
}
