// Matmuls of 8-bit floats with scales of blocks become cuBLASLt's, whose operands are made both ways round at once.
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 --split-input-file | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_100,sm_103 --split-input-file | FileCheck %s --check-prefixes=CHECK,NEWER
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90,sm_100 --split-input-file | FileCheck %s --check-prefix=BOTH
// BOTH-NOT: mpt.gemm %
// RUN: mpt-opt %s --mpt-legalize-for-gpu=chip=sm_90 --split-input-file --remark-policy=all --remarks-filter='mpt.cuda' --mlir-print-op-on-diagnostic=false -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: {{.*}}mpt.cuda.scaled-matmul {{.*}}256 x 384 x 272: VEC128_32F by BLK128x128_32F
// REMARK: remark: {{.*}}mpt.cuda.scaled-matmul {{.*}}256 x 272 x 384: VEC128_32F by BLK128x128_32F
// REMARK: remark: {{.*}}mpt.cuda.scaled-matmul {{.*}}272 x 384 x 256: VEC128_32F by VEC128_32F
// REMARK: remark: {{.*}}mpt.cuda.scaled-matmul-refused {{.*}}a matmul with scales BLK128x128_32F and BLK128x128_32F: one operand must have VEC128_32F
// REMARK: remark: {{.*}}mpt.cuda.scaled-matmul-refused {{.*}}its segments have 256 products, and those of the library 128
// REMARK: remark: {{.*}}mpt.cuda.scaled-matmul-refused {{.*}}its sums are those of 'accumulator_bits'
// REMARK: remark: {{.*}}mpt.cuda.scaled-matmul-refused {{.*}}all dimensions must be multiples of 16
// REMARK: remark: {{.*}}mpt.cuda.scaled-matmul-refused {{.*}}an operand is not what an mpt.quantize makes, with its scales

#power = #mpt.scale_rule<power_of_two>

// A layer, its input's gradient, and its weight's, of which one operand is made from the 8-bit copy.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:[^:]*]]: tensor<256x272xbf16>, %[[W:[^:]*]]: tensor<272x384xf32>, %[[DY:[^:]*]]: tensor<256x384xbf16>
// HOPPER: %[[XQ:.*]], %[[XS:.*]] = mpt.gemm_quantize %[[X]] {block = array<i64: 1, 128>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>, scaling = #mpt.gemm_scaling<vec128_32f>} : (tensor<256x272xbf16>) -> (tensor<256x272xf8E4M3FN>, tensor<768xf32>)
// HOPPER: %[[WQ:.*]], %[[WS:.*]], %[[WT:.*]], %[[WU:.*]] = mpt.gemm_quantize %[[W]] {block = array<i64: 128, 128>, {{.*}}scaling = #mpt.gemm_scaling<blk128x128_32f>} : (tensor<272x384xf32>) -> (tensor<272x384xf8E4M3FN>, tensor<12xf32>, tensor<384x272xf8E4M3FN>, tensor<12xf32>)
// HOPPER: %[[Y:.*]] = mpt.gemm %[[XQ]], %[[WT]] lhs_scales(%[[XS]]) rhs_scales(%[[WU]]) {lhs_scaling = #mpt.gemm_scaling<vec128_32f>, {{.*}}rhs_scaling = #mpt.gemm_scaling<blk128x128_32f>, transpose_rhs} : {{.*}} -> tensor<256x384xbf16>
// HOPPER: %[[DQ:.*]], %[[DS:.*]], %[[DT:.*]], %[[DU:.*]] = mpt.gemm_quantize %[[DY]] {block = array<i64: 1, 128>, {{.*}} : (tensor<256x384xbf16>) -> (tensor<256x384xf8E4M3FN>, tensor<768xf32>, tensor<384x256xf8E4M3FN>, tensor<768xf32>)
// HOPPER: %[[DX:.*]] = mpt.gemm %[[DQ]], %[[WQ]] lhs_scales(%[[DS]]) rhs_scales(%[[WS]]) {{.*}} -> tensor<256x272xf32>
// HOPPER: %[[XT:.*]], %[[XU:.*]] = mpt.gemm_quantize %[[XQ]] scales(%[[XS]]) {block = array<i64: 1, 128>, resultSegmentSizes = array<i32: 0, 0, 1, 1, 0>, {{.*}} : (tensor<256x272xf8E4M3FN>, tensor<768xf32>) -> (tensor<272x256xf8E4M3FN>, tensor<544xf32>)
// HOPPER: %[[DW:.*]] = mpt.gemm %[[XT]], %[[DT]] lhs_scales(%[[XU]]) rhs_scales(%[[DU]]) {{.*}} -> tensor<272x384xf32>
// CHECK-NOT: mpt.quantize
// CHECK-NOT: mpt.scaled_matmul
// HOPPER: return %[[Y]], %[[DX]], %[[DW]]
// NEWER: mpt.gemm_quantize %[[X]] {block = array<i64: 1, 128>, {{.*}}scaling = #mpt.gemm_scaling<vec32_ue8m0>} : (tensor<256x272xbf16>) -> (tensor<256x272xf8E4M3FN>, tensor<3072xf8E8M0FNU>)
// NEWER: mpt.gemm_quantize %[[W]] {block = array<i64: 128, 128>, {{.*}}scaling = #mpt.gemm_scaling<vec32_ue8m0>} : (tensor<272x384xf32>) -> (tensor<272x384xf8E4M3FN>, tensor<4608xf8E8M0FNU>, tensor<384x272xf8E4M3FN>, tensor<4608xf8E8M0FNU>)
// NEWER: mpt.gemm {{.*}}lhs_scaling = #mpt.gemm_scaling<vec32_ue8m0>
// NEWER: return
func.func @layer(%x: tensor<256x272xbf16>, %w: tensor<272x384xf32>, %dy: tensor<256x384xbf16>) -> (tensor<256x384xbf16>, tensor<256x272xf32>, tensor<272x384xf32>) {
  %q, %s = mpt.quantize %x {block = array<i64: 1, 128>, rule = #power} : (tensor<256x272xbf16>) -> (tensor<256x272xf8E4M3FN>, tensor<256x3xf32>)
  %p, %t = mpt.quantize %w {block = array<i64: 128, 128>, rule = #power} : (tensor<272x384xf32>) -> (tensor<272x384xf8E4M3FN>, tensor<3x3xf32>)
  %y = mpt.scaled_matmul %q, %s, %p, %t {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>}
      : (tensor<256x272xf8E4M3FN>, tensor<256x3xf32>, tensor<272x384xf8E4M3FN>, tensor<3x3xf32>) -> tensor<256x384xf32>
  %low = mpt.cast %y : (tensor<256x384xf32>) -> tensor<256x384xbf16>
  %d, %e = mpt.quantize %dy {block = array<i64: 1, 128>, rule = #power} : (tensor<256x384xbf16>) -> (tensor<256x384xf8E4M3FN>, tensor<256x3xf32>)
  %f, %g = mpt.quantize %dy {block = array<i64: 128, 1>, rule = #power} : (tensor<256x384xbf16>) -> (tensor<256x384xf8E4M3FN>, tensor<2x384xf32>)
  %dx = mpt.scaled_matmul %d, %e, %p, %t {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>, transpose_rhs}
      : (tensor<256x384xf8E4M3FN>, tensor<256x3xf32>, tensor<272x384xf8E4M3FN>, tensor<3x3xf32>) -> tensor<256x272xf32>
  %back = mpt.dequantize %q, %s {block = array<i64: 1, 128>} : (tensor<256x272xf8E4M3FN>, tensor<256x3xf32>) -> tensor<256x272xf32>
  %r, %u = mpt.quantize %back {block = array<i64: 128, 1>, rule = #power} : (tensor<256x272xf32>) -> (tensor<256x272xf8E4M3FN>, tensor<2x272xf32>)
  %dw = mpt.scaled_matmul %r, %u, %f, %g {lhs_block = array<i64: 128, 1>, rhs_block = array<i64: 128, 1>, transpose_lhs}
      : (tensor<256x272xf8E4M3FN>, tensor<2x272xf32>, tensor<256x384xf8E4M3FN>, tensor<2x384xf32>) -> tensor<272x384xf32>
  return %low, %dx, %dw : tensor<256x384xbf16>, tensor<256x272xf32>, tensor<272x384xf32>
}

// -----

#power = #mpt.scale_rule<power_of_two>

// What the library of sm_90 does not do stays: squares by squares, other segments, short sums, odd sizes, arguments.
// HOPPER-LABEL: func.func @kept(
// HOPPER-COUNT-5: mpt.scaled_matmul
// HOPPER-NOT: mpt.gemm
// HOPPER: return
func.func @kept(%x: tensor<128x256xf32>, %o: tensor<128x40xf32>, %a: tensor<128x256xf8E4M3FN>, %b: tensor<128x2xf32>)
    -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>) {
  %p, %t = mpt.quantize %x {block = array<i64: 128, 128>, rule = #power} : (tensor<128x256xf32>) -> (tensor<128x256xf8E4M3FN>, tensor<1x2xf32>)
  %square = mpt.scaled_matmul %p, %t, %p, %t {lhs_block = array<i64: 128, 128>, rhs_block = array<i64: 128, 128>, transpose_rhs}
      : (tensor<128x256xf8E4M3FN>, tensor<1x2xf32>, tensor<128x256xf8E4M3FN>, tensor<1x2xf32>) -> tensor<128x128xf32>
  %q, %s = mpt.quantize %x {block = array<i64: 1, 128>, rule = #power} : (tensor<128x256xf32>) -> (tensor<128x256xf8E4M3FN>, tensor<128x2xf32>)
  %long = mpt.scaled_matmul %q, %s, %q, %s {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 1, 128>, transpose_rhs, promotion = 256 : i64}
      : (tensor<128x256xf8E4M3FN>, tensor<128x2xf32>, tensor<128x256xf8E4M3FN>, tensor<128x2xf32>) -> tensor<128x128xf32>
  %short = mpt.scaled_matmul %q, %s, %q, %s {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 1, 128>, transpose_rhs, accumulator_bits = 14 : i64}
      : (tensor<128x256xf8E4M3FN>, tensor<128x2xf32>, tensor<128x256xf8E4M3FN>, tensor<128x2xf32>) -> tensor<128x128xf32>
  %r, %u = mpt.quantize %o {block = array<i64: 1, 128>, rule = #power} : (tensor<128x40xf32>) -> (tensor<128x40xf8E4M3FN>, tensor<128x1xf32>)
  %odd = mpt.scaled_matmul %r, %u, %r, %u {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 1, 128>, transpose_rhs}
      : (tensor<128x40xf8E4M3FN>, tensor<128x1xf32>, tensor<128x40xf8E4M3FN>, tensor<128x1xf32>) -> tensor<128x128xf32>
  %argument = mpt.scaled_matmul %a, %b, %q, %s {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 1, 128>, transpose_rhs}
      : (tensor<128x256xf8E4M3FN>, tensor<128x2xf32>, tensor<128x256xf8E4M3FN>, tensor<128x2xf32>) -> tensor<128x128xf32>
  return %square, %long, %short, %odd, %argument : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
}

// The library has no results of f64.
// HOPPER-LABEL: func.func @wide
// HOPPER-NOT: mpt.gemm
// HOPPER: return
func.func @wide(%x: tensor<128x256xf32>) -> tensor<128x128xf64> {
  %q, %s = mpt.quantize %x {block = array<i64: 1, 128>} : (tensor<128x256xf32>) -> (tensor<128x256xf8E4M3FN>, tensor<128x2xf32>)
  %y = mpt.scaled_matmul %q, %s, %q, %s {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 1, 128>, transpose_rhs}
      : (tensor<128x256xf8E4M3FN>, tensor<128x2xf32>, tensor<128x256xf8E4M3FN>, tensor<128x2xf32>) -> tensor<128x128xf64>
  return %y : tensor<128x128xf64>
}
