// Matmuls of few rows in a loop read an f32 copy of their weight, made once.
// RUN: mpt-opt %s --mpt-widen-scan-weights --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-plan-step --split-input-file --mlir-print-ir-after=mpt-widen-scan-weights 2>&1 | FileCheck %s --check-prefix=PLANNED
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_90'" --split-input-file --mlir-print-ir-after=mpt-widen-scan-weights 2>&1 | FileCheck %s --check-prefix=GPU
// PLANNED: IR Dump After WidenScanWeightsPass
// GPU-NOT: WidenScanWeightsPass

// Both matmuls and the layer read one copy of %w and one of %v. What they give keeps its type.
// CHECK-LABEL: func.func @copies(
// CHECK-SAME: %[[XS:[^:]*]]: tensor<20x8x32xbf16>{{.*}}, %[[W:[^:]*]]: tensor<32x32xbf16>{{.*}}, %[[V:[^:]*]]: tensor<32x32xbf16>
// CHECK-DAG: %[[WW:.*]] = mpt.cast %[[W]] : (tensor<32x32xbf16>) -> tensor<32x32xf32>
// CHECK-DAG: %[[VV:.*]] = mpt.cast %[[V]] : (tensor<32x32xbf16>) -> tensor<32x32xf32>
// CHECK: mpt.scan 20
// CHECK: mpt.matmul %{{.*}}, %[[WW]] : (tensor<8x32xbf16>, tensor<32x32xf32>) -> tensor<8x32xf32>
// CHECK: mpt.linear %{{.*}}, %[[VV]], %{{.*}} {transpose_weight} : (tensor<8x32xbf16>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<8x32xbf16>
// CHECK: mpt.matmul %{{.*}}, %[[WW]] {transpose_rhs} : (tensor<8x32xbf16>, tensor<32x32xf32>) -> tensor<8x32xbf16>
func.func @copies(%xs: tensor<20x8x32xbf16> {mpt.name = "xs", mpt.role = "input"}, %h0: tensor<8x32xbf16> {mpt.name = "h0", mpt.role = "input"}, %w: tensor<32x32xbf16> {mpt.name = "w", mpt.role = "input"}, %v: tensor<32x32xbf16> {mpt.name = "v", mpt.role = "input"}, %b: tensor<32xf32> {mpt.name = "b", mpt.role = "input"}) -> (tensor<20x8x32xbf16> {mpt.name = "ys"}) {
  %r:2 = mpt.scan 20 carry(%h0 : tensor<8x32xbf16>) over(%xs : tensor<20x8x32xbf16>) {
  ^bb0(%c: tensor<8x32xbf16>, %x: tensor<8x32xbf16>):
    %0 = mpt.matmul %c, %w : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xf32>
    %1 = mpt.tanh %0 : (tensor<8x32xf32>) -> tensor<8x32xf32>
    %2 = mpt.cast %1 : (tensor<8x32xf32>) -> tensor<8x32xbf16>
    %3 = mpt.add %2, %x : (tensor<8x32xbf16>, tensor<8x32xbf16>) -> tensor<8x32xbf16>
    %4 = mpt.linear %3, %v, %b {transpose_weight} : (tensor<8x32xbf16>, tensor<32x32xbf16>, tensor<32xf32>) -> tensor<8x32xbf16>
    %5 = mpt.matmul %4, %w {transpose_rhs} : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xbf16>
    mpt.yield %5, %4 : tensor<8x32xbf16>, tensor<8x32xbf16>
  } : tensor<8x32xbf16>, tensor<20x8x32xbf16>
  return %r#1 : tensor<20x8x32xbf16>
}

// -----

// More rows take longer than bringing the weight into its layout.
// CHECK-LABEL: func.func @many_rows(
// CHECK-NOT: mpt.cast
// CHECK: return
func.func @many_rows(%xs: tensor<20x17x32xbf16>, %h0: tensor<17x32xbf16>, %w: tensor<32x32xbf16>) -> tensor<20x17x32xbf16> {
  %r:2 = mpt.scan 20 carry(%h0 : tensor<17x32xbf16>) over(%xs : tensor<20x17x32xbf16>) {
  ^bb0(%c: tensor<17x32xbf16>, %x: tensor<17x32xbf16>):
    %0 = mpt.matmul %c, %w : (tensor<17x32xbf16>, tensor<32x32xbf16>) -> tensor<17x32xbf16>
    %1 = mpt.add %0, %x : (tensor<17x32xbf16>, tensor<17x32xbf16>) -> tensor<17x32xbf16>
    mpt.yield %1, %1 : tensor<17x32xbf16>, tensor<17x32xbf16>
  } : tensor<17x32xbf16>, tensor<20x17x32xbf16>
  return %r#1 : tensor<20x17x32xbf16>
}

// -----

// CHECK-LABEL: func.func @few_iterations(
// CHECK-NOT: mpt.cast
// CHECK: return
func.func @few_iterations(%xs: tensor<3x16x32xbf16>, %h0: tensor<16x32xbf16>, %w: tensor<16x32xbf16>, %v: tensor<32x16xbf16>) -> tensor<3x16x32xbf16> {
  %r:2 = mpt.scan 3 carry(%h0 : tensor<16x32xbf16>) over(%xs : tensor<3x16x32xbf16>) {
  ^bb0(%c: tensor<16x32xbf16>, %x: tensor<16x32xbf16>):
    %0 = mpt.matmul %c, %v : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> tensor<16x16xbf16>
    %1 = mpt.matmul %0, %w : (tensor<16x16xbf16>, tensor<16x32xbf16>) -> tensor<16x32xbf16>
    %2 = mpt.add %1, %x : (tensor<16x32xbf16>, tensor<16x32xbf16>) -> tensor<16x32xbf16>
    mpt.yield %2, %2 : tensor<16x32xbf16>, tensor<16x32xbf16>
  } : tensor<16x32xbf16>, tensor<3x16x32xbf16>
  return %r#1 : tensor<3x16x32xbf16>
}

// -----

// The first copy takes what the loop's stacks save, 20 x 2 x 32 x 2 x 2 bytes; the second would take more.
// CHECK-LABEL: func.func @bytes(
// CHECK: mpt.cast %{{.*}} : (tensor<32x32xbf16>) -> tensor<32x32xf32>
// CHECK-NOT: mpt.cast
// CHECK: mpt.matmul {{.*}} : (tensor<2x32xbf16>, tensor<32x32xf32>) -> tensor<2x32xbf16>
// CHECK: mpt.matmul {{.*}} : (tensor<2x32xbf16>, tensor<32x32xbf16>) -> tensor<2x32xbf16>
func.func @bytes(%xs: tensor<20x2x32xbf16>, %h0: tensor<2x32xbf16>, %w: tensor<32x32xbf16>, %v: tensor<32x32xbf16>) -> tensor<20x2x32xbf16> {
  %r:2 = mpt.scan 20 carry(%h0 : tensor<2x32xbf16>) over(%xs : tensor<20x2x32xbf16>) {
  ^bb0(%c: tensor<2x32xbf16>, %x: tensor<2x32xbf16>):
    %0 = mpt.matmul %c, %w : (tensor<2x32xbf16>, tensor<32x32xbf16>) -> tensor<2x32xbf16>
    %1 = mpt.matmul %0, %v : (tensor<2x32xbf16>, tensor<32x32xbf16>) -> tensor<2x32xbf16>
    %2 = mpt.add %1, %x : (tensor<2x32xbf16>, tensor<2x32xbf16>) -> tensor<2x32xbf16>
    mpt.yield %2, %2 : tensor<2x32xbf16>, tensor<2x32xbf16>
  } : tensor<2x32xbf16>, tensor<20x2x32xbf16>
  return %r#1 : tensor<20x2x32xbf16>
}

// -----

// Weights that the loop changes or makes, transposed left sides, gradients of weights, and f32.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: -> tensor<8x8xf32>
// CHECK: return
func.func @others(%xs: tensor<20x8x8xbf16>, %h0: tensor<8x8xbf16>, %w: tensor<8x8xbf16>, %f: tensor<8x8xf32>) -> tensor<20x8x8xbf16> {
  %r:3 = mpt.scan 20 carry(%h0, %w : tensor<8x8xbf16>, tensor<8x8xbf16>) over(%xs : tensor<20x8x8xbf16>) {
  ^bb0(%c: tensor<8x8xbf16>, %m: tensor<8x8xbf16>, %x: tensor<8x8xbf16>):
    %0 = mpt.matmul %c, %m : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
    %1 = mpt.matmul %0, %w {transpose_lhs} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
    %2 = mpt.matmul %1, %x : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
    %3 = mpt.matmul %2, %f : (tensor<8x8xbf16>, tensor<8x8xf32>) -> tensor<8x8xbf16>
    mpt.yield %3, %1, %2 : tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>
  } : tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<20x8x8xbf16>
  return %r#2 : tensor<20x8x8xbf16>
}

// -----

// Iterations that are repeated keep their bits.
// CHECK-LABEL: func.func @repeated(
// CHECK-NOT: mpt.cast
// CHECK: return
func.func @repeated(%xs: tensor<20x8x32xf16>, %h0: tensor<8x32xf16>, %w: tensor<32x32xf16>) -> tensor<20x8x32xf16> {
  %r:2 = mpt.scan 20 carry(%h0 : tensor<8x32xf16>) over(%xs : tensor<20x8x32xf16>) {
  ^bb0(%c: tensor<8x32xf16>, %x: tensor<8x32xf16>):
    %0 = mpt.matmul %c, %w {mpt.remat = 0 : i64} : (tensor<8x32xf16>, tensor<32x32xf16>) -> tensor<8x32xf16>
    %1 = mpt.add %0, %x : (tensor<8x32xf16>, tensor<8x32xf16>) -> tensor<8x32xf16>
    mpt.yield %1, %1 : tensor<8x32xf16>, tensor<8x32xf16>
  } : tensor<8x32xf16>, tensor<20x8x32xf16>
  return %r#1 : tensor<20x8x32xf16>
}
