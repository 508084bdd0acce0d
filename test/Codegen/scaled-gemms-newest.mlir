// MXFP8 from sm_100 on: both ways round in one pass over the matrix; scales that are not powers of two stay kernels'.
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_100 | FileCheck %s
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_100' function=mxfp8" --mpt-kernels-to-gpu="chip=sm_100 format=isa" | FileCheck %s --check-prefix=PTX
// RUN: mpt-opt %s --mpt-plan-step="target='cuda sm_100' function=mxfp8" --mpt-kernels-to-gpu="chip=sm_100 format=isa" | FileCheck %s --check-prefix=CVT
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_100 --remark-policy=all --remarks-filter='mpt.cuda' --mlir-print-op-on-diagnostic=false -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: mpt.cuda.scaled-matmul-refused {{.*}}scales that are not powers of two, and sm_100 has no others

// CHECK-LABEL: func.func @mxfp8(
// CHECK: %[[Q:.*]], %[[S:.*]], %[[T:.*]], %[[U:.*]] = mpt.gemm_quantize %{{.*}} {block = array<i64: 1, 32>, resultSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scaling = #mpt.gemm_scaling<vec32_ue8m0>} : (tensor<144x160xf32>) -> (tensor<144x160xf8E4M3FN>, tensor<2048xf8E8M0FNU>, tensor<160x144xf8E4M3FN>, tensor<2048xf8E8M0FNU>)
// CHECK: mpt.gemm %[[Q]], %[[Q]] lhs_scales(%[[S]]) rhs_scales(%[[S]])
// CHECK: mpt.gemm %[[T]], %[[T]] lhs_scales(%[[U]]) rhs_scales(%[[U]])
// One launch of 2 x 2 blocks; the matrix is read in vectors of 16 bytes, of which 16 are 8 rows of 8 floats.
// PTX: .visible .entry mpt_gemm_quantize_0(
// PTX-COUNT-16: ld.global.v{{[24]}}.b
// PTX-NOT: ld.global
// PTX: ret;
// The chip converts pairs, 32 for each way round, and saturates.
// CVT: .visible .entry mpt_gemm_quantize_0(
// CVT-NOT: min.NaN.f32
// CVT-COUNT-64: cvt.rn.satfinite.e4m3x2.f32
// CVT-NOT: {{min.NaN.f32|e4m3x2}}
// CVT: ret;
func.func @mxfp8(%x: tensor<144x160xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<144x144xf32> {mpt.name = "y"}, tensor<160x160xf32> {mpt.name = "z"}) {
  %q, %s = mpt.quantize %x {block = array<i64: 1, 32>, rule = #mpt.scale_rule<power_of_two>} : (tensor<144x160xf32>) -> (tensor<144x160xf8E4M3FN>, tensor<144x5xf8E8M0FNU>)
  %t, %u = mpt.quantize %x {block = array<i64: 32, 1>, rule = #mpt.scale_rule<power_of_two>} : (tensor<144x160xf32>) -> (tensor<144x160xf8E4M3FN>, tensor<5x160xf8E8M0FNU>)
  %y = mpt.scaled_matmul %q, %s, %q, %s {lhs_block = array<i64: 1, 32>, rhs_block = array<i64: 1, 32>, transpose_rhs, promotion = 0 : i64}
      : (tensor<144x160xf8E4M3FN>, tensor<144x5xf8E8M0FNU>, tensor<144x160xf8E4M3FN>, tensor<144x5xf8E8M0FNU>) -> tensor<144x144xf32>
  %z = mpt.scaled_matmul %t, %u, %t, %u {lhs_block = array<i64: 32, 1>, rhs_block = array<i64: 32, 1>, transpose_lhs, promotion = 0 : i64}
      : (tensor<144x160xf8E4M3FN>, tensor<5x160xf8E8M0FNU>, tensor<144x160xf8E4M3FN>, tensor<5x160xf8E8M0FNU>) -> tensor<160x160xf32>
  return %y, %z : tensor<144x144xf32>, tensor<160x160xf32>
}

// CHECK-LABEL: func.func @largest(
// CHECK-NOT: mpt.gemm
func.func @largest(%x: tensor<144x256xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<144x144xf32> {mpt.name = "y"}) {
  %q, %s = mpt.quantize %x {block = array<i64: 1, 128>} : (tensor<144x256xf32>) -> (tensor<144x256xf8E4M3FN>, tensor<144x2xf32>)
  %y = mpt.scaled_matmul %q, %s, %q, %s {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 1, 128>, transpose_rhs}
      : (tensor<144x256xf8E4M3FN>, tensor<144x2xf32>, tensor<144x256xf8E4M3FN>, tensor<144x2xf32>) -> tensor<144x144xf32>
  return %y : tensor<144x144xf32>
}
