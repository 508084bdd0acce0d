// Gradients that are added three times or more in a row: each sum reads the one before in f32,
// and all else what is rounded.
//
// RUN: mpt-opt %s --mpt-widen-temporaries | FileCheck %s
// RUN: mpt-opt %s --mpt-widen-temporaries --mpt-widen-temporaries | FileCheck %s
// RUN: mpt-opt %s --mpt-widen-temporaries --remarks-filter='mpt\.kernels' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: wide-sums.mlir:[[# @LINE + 17]]:8: remark: {{.*}}kept-wide{{.*}}mpt.add is not rounded to bf16
// REMARK: wide-sums.mlir:[[# @LINE + 18]]:8: remark: {{.*}}kept-wide{{.*}}mpt.add is not rounded to bf16
// REMARK-NOT: mpt.add is not rounded
// CHECK-LABEL: @stream
// CHECK:      %[[A:.*]] = mpt.add {{.*}} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[ROUNDED:.*]] = mpt.cast %[[A]] : (tensor<8x8xf32>) -> tensor<8x8xbf16>
// CHECK-NEXT: %[[X:.*]] = mpt.matmul %[[ROUNDED]],
// CHECK-NEXT: %[[B:.*]] = mpt.add %[[A]], %[[X]] : (tensor<8x8xf32>, tensor<8x8xbf16>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[ROUNDED:.*]] = mpt.cast %[[B]]
// CHECK-NEXT: %[[X:.*]] = mpt.matmul %[[ROUNDED]],
// CHECK-NEXT: %[[C:.*]] = mpt.add %[[X]], %[[B]] : (tensor<8x8xbf16>, tensor<8x8xf32>) -> tensor<8x8xbf16>
// CHECK-NEXT: return %[[C]]
func.func @stream(%x: tensor<8x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %seed = mpt.grad_seed : () -> tensor<f32>
  %g = mpt.cast %seed : (tensor<f32>) -> tensor<bf16>
  %0 = mpt.mul %x, %g : (tensor<8x8xbf16>, tensor<bf16>) -> tensor<8x8xbf16>
  %1 = mpt.matmul %0, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %a = mpt.add %0, %1 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.matmul %a, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %b = mpt.add %a, %2 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %3 = mpt.matmul %b, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c = mpt.add %3, %b : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %c : tensor<8x8xbf16>
}

// Two in a row.
// CHECK-LABEL: @two
// CHECK-NOT: xf32>
// CHECK: return
func.func @two(%x: tensor<8x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %seed = mpt.grad_seed : () -> tensor<f32>
  %g = mpt.cast %seed : (tensor<f32>) -> tensor<bf16>
  %0 = mpt.mul %x, %g : (tensor<8x8xbf16>, tensor<bf16>) -> tensor<8x8xbf16>
  %1 = mpt.matmul %0, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %a = mpt.add %0, %1 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.matmul %a, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %b = mpt.add %a, %2 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %b : tensor<8x8xbf16>
}

// The forward pass keeps what it adds up.
// CHECK-LABEL: @forward
// CHECK-NOT: xf32>
// CHECK: return
func.func @forward(%x: tensor<8x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %0 = mpt.matmul %x, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %a = mpt.add %x, %0 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = mpt.matmul %a, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %b = mpt.add %a, %1 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.matmul %b, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c = mpt.add %b, %2 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %c : tensor<8x8xbf16>
}

// Parts of one sum, which nothing else reads, may wait for long: f32 would be twice the bytes.
// CHECK-LABEL: @parts
// CHECK: mpt.grad_seed
// CHECK-NOT: xf32>
// CHECK: return
func.func @parts(%x: tensor<8x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %s = mpt.grad_seed : () -> tensor<f32>
  %seed = mpt.cast %s : (tensor<f32>) -> tensor<bf16>
  %0 = mpt.mul %x, %seed : (tensor<8x8xbf16>, tensor<bf16>) -> tensor<8x8xbf16>
  %1 = mpt.matmul %0, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %a = mpt.add %0, %1 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.matmul %1, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %b = mpt.add %a, %2 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %3 = mpt.matmul %2, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c = mpt.add %b, %3 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %c : tensor<8x8xbf16>
}

// Sums of other shapes are not in the row.
// CHECK-LABEL: @others
// CHECK: mpt.add {{.*}} -> tensor<1x8xbf16>
// CHECK-NOT: mpt.cast {{.*}}xf32>) -> tensor<{{.*}}x8xbf16>
// CHECK: return
func.func @others(%x: tensor<1x8xbf16>, %y: tensor<8x8xbf16>, %w: tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<1x8xbf16>) {
  %seed = mpt.grad_seed : () -> tensor<f32>
  %g = mpt.cast %seed : (tensor<f32>) -> tensor<bf16>
  %0 = mpt.mul %x, %g : (tensor<1x8xbf16>, tensor<bf16>) -> tensor<1x8xbf16>
  %a = mpt.add %0, %x : (tensor<1x8xbf16>, tensor<1x8xbf16>) -> tensor<1x8xbf16>
  %1 = mpt.matmul %a, %w : (tensor<1x8xbf16>, tensor<8x8xbf16>) -> tensor<1x8xbf16>
  %b = mpt.add %y, %a : (tensor<8x8xbf16>, tensor<1x8xbf16>) -> tensor<8x8xbf16>
  %2 = mpt.matmul %b, %w : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c = mpt.add %b, %2 : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %c, %1 : tensor<8x8xbf16>, tensor<1x8xbf16>
}
