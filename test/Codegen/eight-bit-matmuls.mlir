// Before sm_100 cuBLASLt sums the last dimension of 8-bit operands; the others are transposed.
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_89,sm_100 --split-input-file | FileCheck %s
// Elsewhere nothing changes.
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_100 --split-input-file | FileCheck %s --check-prefix=SAME
// RUN: mpt-opt %s --mpt-legalize-for-gpu --split-input-file | FileCheck %s --check-prefix=SAME
// SAME-NOT: mpt.transpose
// What they make compiles.
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_89 sm_90'" --split-input-file | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: mpt_program.matmul {{.*}}transpose_rhs
// PROGRAM: mpt_program.matmul {{.*}}transpose_rhs

// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: %[[A:[^:]*]]: tensor<3x64x32xf8E4M3FN> {{.*}}, %[[B:[^:]*]]: tensor<3x64x48xf8E5M2>
// CHECK: %[[L:.*]] = mpt.transpose %[[A]] {permutation = array<i64: 0, 2, 1>} : (tensor<3x64x32xf8E4M3FN>) -> tensor<3x32x64xf8E4M3FN>
// CHECK: %[[R:.*]] = mpt.transpose %[[B]] {permutation = array<i64: 0, 2, 1>} : (tensor<3x64x48xf8E5M2>) -> tensor<3x48x64xf8E5M2>
// CHECK: mpt.matmul %[[L]], %[[R]] {transpose_rhs} :
func.func @matmul(%a: tensor<3x64x32xf8E4M3FN> {mpt.name = "a", mpt.role = "input"}, %b: tensor<3x64x48xf8E5M2> {mpt.name = "b", mpt.role = "input"}) -> (tensor<3x32x48xf32> {mpt.name = "y"}) {
  %y = mpt.matmul %a, %b {transpose_lhs} : (tensor<3x64x32xf8E4M3FN>, tensor<3x64x48xf8E5M2>) -> tensor<3x32x48xf32>
  return %y : tensor<3x32x48xf32>
}

// -----

// CHECK-LABEL: func.func @linear(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x16x32xf8E4M3FN> {{.*}}, %[[W:[^:]*]]: tensor<32x48xf8E4M3FN>
// CHECK: %[[T:.*]] = mpt.gemm_quantize %[[W]] {{.*}}scaling = #mpt.gemm_scaling<none>} : (tensor<32x48xf8E4M3FN>) -> tensor<48x32xf8E4M3FN>
// CHECK: mpt.linear %[[X]], %[[T]] {transpose_weight} :
func.func @linear(%x: tensor<2x16x32xf8E4M3FN> {mpt.name = "x", mpt.role = "input"}, %w: tensor<32x48xf8E4M3FN> {mpt.name = "w", mpt.role = "input"}) -> (tensor<2x16x48xf32> {mpt.name = "y"}) {
  %y = mpt.linear %x, %w : (tensor<2x16x32xf8E4M3FN>, tensor<32x48xf8E4M3FN>) -> tensor<2x16x48xf32>
  return %y : tensor<2x16x48xf32>
}
