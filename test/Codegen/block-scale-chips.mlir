// Scales of blocks need chips whose matmuls have them; operands are transposed with their scales.
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 --split-input-file -verify-diagnostics | FileCheck %s
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_100 --split-input-file | FileCheck %s --check-prefix=NEWEST
// NEWEST-NOT: mpt.transpose
// RUN: not mpt-opt %s --mpt-legalize-for-gpu=chip=sm_100,sm_89 --split-input-file 2>&1 | FileCheck %s --check-prefix=OLDER
// OLDER: error: a matmul of 8-bit floats with f32 scales of blocks needs sm_90 or newer, and this is compiled for sm_89; use recipe=current of --mpt-fp8
// OLDER: error: a matmul of 8-bit floats with f8E8M0FNU scales of blocks needs sm_100 or newer, and this is compiled for sm_89; use recipe=current of --mpt-fp8
// RUN: not mpt-opt %s --mpt-legalize-for-gpu=chip=sm_80 --split-input-file 2>&1 | FileCheck %s --check-prefix=OLDEST
// OLDEST: error: a matmul of 8-bit floats with f32 scales of blocks needs sm_90 or newer, and this is compiled for sm_80; use --mpt-autocast, since this chip has no 8-bit floats
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_100'" --split-input-file | FileCheck %s --check-prefix=PROGRAM
// PROGRAM-COUNT-2: mpt_program.program

// CHECK-LABEL: func.func @f32(
// CHECK-SAME: %[[A:[^:]*]]: tensor<256x32xf8E4M3FN> {{.*}}, %[[S:[^:]*]]: tensor<2x32xf32> {{.*}}, %[[B:[^:]*]]: tensor<256x144xf8E4M3FN> {{.*}}, %[[T:[^:]*]]: tensor<2x2xf32>
// CHECK: %[[L:.*]] = mpt.gemm_quantize %[[A]] {block = array<i64: 0, 0>, {{.*}} : (tensor<256x32xf8E4M3FN>) -> tensor<32x256xf8E4M3FN>
// CHECK: %[[LS:.*]] = mpt.transpose %[[S]] {permutation = array<i64: 1, 0>} : (tensor<2x32xf32>) -> tensor<32x2xf32>
// CHECK: %[[R:.*]] = mpt.gemm_quantize %[[B]]
// CHECK: %[[RS:.*]] = mpt.transpose %[[T]]
// CHECK: mpt.scaled_matmul %[[L]], %[[LS]], %[[R]], %[[RS]] {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>, transpose_rhs} :
func.func @f32(%a: tensor<256x32xf8E4M3FN> {mpt.name = "a", mpt.role = "input"}, %s: tensor<2x32xf32> {mpt.name = "s", mpt.role = "input"},
    %b: tensor<256x144xf8E4M3FN> {mpt.name = "b", mpt.role = "input"}, %t: tensor<2x2xf32> {mpt.name = "t", mpt.role = "input"}) -> (tensor<32x144xf32> {mpt.name = "y"}) {
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 128, 1>, rhs_block = array<i64: 128, 128>, transpose_lhs}
      : (tensor<256x32xf8E4M3FN>, tensor<2x32xf32>, tensor<256x144xf8E4M3FN>, tensor<2x2xf32>) -> tensor<32x144xf32>
  return %y : tensor<32x144xf32>
}

// -----

func.func @mxfp8(%x: tensor<32x64xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<32x32xf32> {mpt.name = "y"}) {
  %a, %e = mpt.quantize %x {block = array<i64: 1, 32>, rule = #mpt.scale_rule<power_of_two>} : (tensor<32x64xf32>) -> (tensor<32x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>)
  // expected-error @below {{a matmul of 8-bit floats with f8E8M0FNU scales of blocks needs sm_100 or newer, and this is compiled for sm_90; use recipe=deepseek or recipe=current of --mpt-fp8}}
  %y = mpt.scaled_matmul %a, %e, %a, %e {lhs_block = array<i64: 1, 32>, rhs_block = array<i64: 1, 32>, transpose_rhs, promotion = 0 : i64}
      : (tensor<32x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>, tensor<32x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
