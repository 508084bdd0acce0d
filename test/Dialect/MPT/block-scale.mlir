// 8-bit floats scaled by blocks: the syntax, and what they are decomposed into.
// RUN: mpt-opt %s | mpt-opt | FileCheck %s --check-prefix=SYNTAX
// RUN: mpt-opt %s --mpt-decompose --cse | FileCheck %s

// SYNTAX-LABEL: func.func @rows
// SYNTAX: mpt.quantize %{{.*}} {block = array<i64: 1, 128>} : (tensor<16x256xf32>) -> (tensor<16x256xf8E4M3FN>, tensor<16x2xf32>)
// SYNTAX: mpt.dequantize %{{.*}} {block = array<i64: 1, 128>} : (tensor<16x256xf8E4M3FN>, tensor<16x2xf32>) -> tensor<16x256xbf16>

// One pass over rows of blocks; q saturates; the division and the scale are f32.
// CHECK-LABEL: func.func @rows
//   CHECK-DAG:   %[[M:.*]] = mpt.constant dense<4.480000e+02>
//   CHECK-DAG:   %[[N:.*]] = mpt.constant dense<-4.480000e+02>
//       CHECK:   %[[X:.*]] = mpt.reshape %arg0 : (tensor<16x256xf32>) -> tensor<32x128xf32>
//       CHECK:   %[[A:.*]] = mpt.abs %[[X]]
//       CHECK:   mpt.reduce %[[A]] {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<max>}
//       CHECK:   %[[S:.*]] = mpt.block_scale {{.*}} {format = f8E4M3FN} : (tensor<32x1xf32>) -> tensor<32x1xf32>
//       CHECK:   %[[Q:.*]] = mpt.div %[[X]], %[[S]]
//       CHECK:   mpt.minimum %[[Q]], %[[M]]
//       CHECK:   mpt.maximum %{{.*}}, %[[N]]
//       CHECK:   mpt.cast {{.*}} -> tensor<32x128xf8E4M3FN>
//   CHECK-NOT:   mpt.quantize
//   CHECK-NOT:   mpt.dequantize
//       CHECK:   mpt.cast {{.*}} -> tensor<32x128xbf16>
//       CHECK:   mpt.reshape {{.*}} -> tensor<16x256xbf16>
func.func @rows(%x: tensor<16x256xf32>) -> tensor<16x256xbf16> {
  %q, %s = mpt.quantize %x {block = array<i64: 1, 128>} : (tensor<16x256xf32>) -> (tensor<16x256xf8E4M3FN>, tensor<16x2xf32>)
  %y = mpt.dequantize %q, %s {block = array<i64: 1, 128>} : (tensor<16x256xf8E4M3FN>, tensor<16x2xf32>) -> tensor<16x256xbf16>
  return %y : tensor<16x256xbf16>
}

// The last blocks are smaller; scales of f8E8M0FNU are converted and not moved.
// CHECK-LABEL: func.func @edges
//       CHECK:   mpt.pad {{.*}} -> tensor<1x12x40xf32>
//       CHECK:   mpt.reshape {{.*}} -> tensor<3x4x5x8xf32>
//   CHECK-DAG:   mpt.block_scale {{.*}} : (tensor<3x1x5x1xf32>) -> tensor<3x1x5x1xf32>
//   CHECK-DAG:   %[[S:.*]] = mpt.block_scale {{.*}} : (tensor<3x5xf32>) -> tensor<3x5xf8E8M0FNU>
//       CHECK:   mpt.cast %[[S]] : (tensor<3x5xf8E8M0FNU>) -> tensor<3x5xf32>
//       CHECK:   mpt.slice {{.*}} -> tensor<1x10x33xf32>
func.func @edges(%x: tensor<10x33xf32>) -> tensor<10x33xf32> {
  %q, %s = mpt.quantize %x {block = array<i64: 4, 8>, rule = #mpt.scale_rule<ocp_mx>} : (tensor<10x33xf32>) -> (tensor<10x33xf8E5M2>, tensor<3x5xf8E8M0FNU>)
  %y = mpt.dequantize %q, %s {block = array<i64: 4, 8>} : (tensor<10x33xf8E5M2>, tensor<3x5xf8E8M0FNU>) -> tensor<10x33xf32>
  return %y : tensor<10x33xf32>
}

// Three segments of K, the last one smaller, whose sums are scaled and added in order.
// CHECK-LABEL: func.func @segments
//       CHECK:   %[[A0:.*]] = mpt.slice %arg0 {{.*}} -> tensor<16x128xf8E4M3FN>
//       CHECK:   %[[P0:.*]] = mpt.matmul %[[A0]], {{.*}} {transpose_rhs} : (tensor<16x128xf8E4M3FN>, tensor<48x128xf8E4M3FN>) -> tensor<16x48xf32>
//       CHECK:   %[[F0:.*]] = mpt.mul {{.*}} : (tensor<16x1xf32>, tensor<1x48xf32>) -> tensor<16x48xf32>
//       CHECK:   %[[T0:.*]] = mpt.mul %[[P0]], %[[F0]]
//       CHECK:   %[[P1:.*]] = mpt.matmul
//       CHECK:   %[[T1:.*]] = mpt.mul %[[P1]],
//       CHECK:   %[[S1:.*]] = mpt.add %[[T0]], %[[T1]]
//       CHECK:   %[[P2:.*]] = mpt.matmul {{.*}} : (tensor<16x44xf8E4M3FN>, tensor<48x44xf8E4M3FN>)
//       CHECK:   %[[T2:.*]] = mpt.mul %[[P2]],
//       CHECK:   %[[S2:.*]] = mpt.add %[[S1]], %[[T2]]
//       CHECK:   mpt.cast %[[S2]] : (tensor<16x48xf32>) -> tensor<16x48xbf16>
func.func @segments(%a: tensor<16x300xf8E4M3FN>, %s: tensor<16x3xf32>, %b: tensor<48x300xf8E4M3FN>, %t: tensor<1x3xf32>) -> tensor<16x48xbf16> {
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>, transpose_rhs}
      : (tensor<16x300xf8E4M3FN>, tensor<16x3xf32>, tensor<48x300xf8E4M3FN>, tensor<1x3xf32>) -> tensor<16x48xbf16>
  return %y : tensor<16x48xbf16>
}

// Blocks that are smaller than a segment: a matmul of the numbers that they stand for.
// CHECK-LABEL: func.func @fine
//       CHECK:   %[[Y:.*]] = mpt.matmul %{{.*}}, %{{.*}} : (tensor<16x64xf32>, tensor<64x48xf32>) -> tensor<16x48xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func @fine(%a: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xf8E8M0FNU>, %b: tensor<64x48xf8E4M3FN>, %t: tensor<2x48xf8E8M0FNU>) -> tensor<16x48xf32> {
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 32>, rhs_block = array<i64: 32, 1>, promotion = 0 : i64}
      : (tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>, tensor<64x48xf8E4M3FN>, tensor<2x48xf8E8M0FNU>) -> tensor<16x48xf32>
  return %y : tensor<16x48xf32>
}

// Blocks that are larger than the tensor need no zeros.
// CHECK-LABEL: func.func @large
//   CHECK-NOT:   mpt.pad
//       CHECK:   mpt.block_scale
//   CHECK-NOT:   mpt.pad
//       CHECK:   return
func.func @large(%x: tensor<4x8xf32>) -> (tensor<4x8xf8E4M3FN>, tensor<1x1xf32>) {
  %q, %s = mpt.quantize %x {block = array<i64: 128, 4611686018427387904>} : (tensor<4x8xf32>) -> (tensor<4x8xf8E4M3FN>, tensor<1x1xf32>)
  return %q, %s : tensor<4x8xf8E4M3FN>, tensor<1x1xf32>
}

// 4-bit floats are converted in the tensor's own shape, and the scale that is stored, a rounded
// one, is what elements are divided by.
// CHECK-LABEL: func.func @four_bits
//       CHECK:   %[[S:.*]] = mpt.block_scale {{.*}} {format = f4E2M1FN} : (tensor<32x1xf32>) -> tensor<32x1xf8E4M3FN>
//       CHECK:   %[[W:.*]] = mpt.cast %[[S]] : (tensor<32x1xf8E4M3FN>) -> tensor<32x1xf32>
//       CHECK:   mpt.div %{{.*}}, %[[W]]
//       CHECK:   mpt.cast {{.*}} : (tensor<8x64xf32>) -> tensor<8x64xf4E2M1FN>
//       CHECK:   mpt.reshape %[[S]] : (tensor<32x1xf8E4M3FN>) -> tensor<8x4xf8E4M3FN>
func.func @four_bits(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %q, %s = mpt.quantize %x {block = array<i64: 1, 16>} : (tensor<8x64xf32>) -> (tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>)
  %y = mpt.dequantize %q, %s {block = array<i64: 1, 16>} : (tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Short sums: 32 products at a time, with the sum so far, cut to units of the largest.
// CHECK-LABEL: func.func @short_sums
//   CHECK-NOT:   mpt.matmul
//       CHECK:   %[[P:.*]] = mpt.mul {{.*}} : (tensor<4x1x32xf32>, tensor<1x8x32xf32>) -> tensor<4x8x32xf32>
//       CHECK:   mpt.block_scale {{.*}} : (tensor<4x8x1xf32>) -> tensor<4x8x1xf32>
//       CHECK:   mpt.floor
//       CHECK:   %[[T:.*]] = mpt.reduce {{.*}}kind = #mpt.reduce_kind<sum>{{.*}} -> tensor<4x8x1xf32>
//       CHECK:   mpt.abs %[[T]]
func.func @short_sums(%a: tensor<4x64xf8E4M3FN>, %s: tensor<4x1xf32>, %b: tensor<8x64xf8E4M3FN>, %t: tensor<8x1xf32>) -> tensor<4x8xf32> {
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 64>, rhs_block = array<i64: 1, 64>, promotion = 64 : i64, transpose_rhs, accumulator_bits = 14 : i64}
      : (tensor<4x64xf8E4M3FN>, tensor<4x1xf32>, tensor<8x64xf8E4M3FN>, tensor<8x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// What is quantized along columns is widened after it is cut, and its magnitudes are taken of some rows at once.
// CHECK-LABEL: func.func @columns
//       CHECK:   %[[X:.*]] = mpt.reshape %arg0 : (tensor<256x64xbf16>) -> tensor<2x128x64x1xbf16>
//       CHECK:   %[[G:.*]] = mpt.reshape %[[X]] : (tensor<2x128x64x1xbf16>) -> tensor<2x16x8x64xbf16>
//       CHECK:   %[[P0:.*]] = mpt.slice %[[G]] {offsets = array<i64: 0, 0, 0, 0>{{.*}} -> tensor<2x1x8x64xbf16>
//       CHECK:   %[[W0:.*]] = mpt.cast %[[P0]]
//       CHECK:   %[[A0:.*]] = mpt.abs %[[W0]]
// CHECK-COUNT-22: mpt.maximum
//       CHECK:   mpt.block_scale {{.*}} : (tensor<2x1x64x1xf32>) -> tensor<2x1x64x1xf32>
func.func @columns(%x: tensor<256x64xbf16>) -> (tensor<256x64xf8E4M3FN>, tensor<2x64xf32>) {
  %q, %s = mpt.quantize %x {block = array<i64: 128, 1>} : (tensor<256x64xbf16>) -> (tensor<256x64xf8E4M3FN>, tensor<2x64xf32>)
  return %q, %s : tensor<256x64xf8E4M3FN>, tensor<2x64xf32>
}

// Of a large result that is rounded at once, 1,024 rows are summed and rounded before the next.
// CHECK-LABEL: func.func @parts
//       CHECK:   mpt.slice %arg0 {offsets = array<i64: 0, 0>, {{.*}} -> tensor<1024x256xf8E4M3FN>
//       CHECK:   mpt.slice %arg1 {offsets = array<i64: 0, 0>, {{.*}} -> tensor<1024x2xf32>
// CHECK-COUNT-2: mpt.matmul {{.*}} -> tensor<1024x1024xf32>
//       CHECK:   mpt.cast {{.*}} : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
// CHECK-COUNT-2: mpt.matmul {{.*}} -> tensor<1024x1024xf32>
// CHECK-COUNT-2: mpt.matmul {{.*}} -> tensor<1000x1024xf32>
//       CHECK:   mpt.concat {{.*}} -> tensor<3048x1024xbf16>
//       CHECK:   mpt.reshape {{.*}} : (tensor<3048x1024xbf16>) -> tensor<3x1016x1024xbf16>
func.func @parts(%a: tensor<3048x256xf8E4M3FN>, %s: tensor<3048x2xf32>, %b: tensor<256x1024xf8E4M3FN>, %t: tensor<2x8xf32>) -> tensor<3x1016x1024xbf16> {
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>}
      : (tensor<3048x256xf8E4M3FN>, tensor<3048x2xf32>, tensor<256x1024xf8E4M3FN>, tensor<2x8xf32>) -> tensor<3048x1024xf32>
  %r = mpt.reshape %y : (tensor<3048x1024xf32>) -> tensor<3x1016x1024xf32>
  %z = mpt.cast %r : (tensor<3x1016x1024xf32>) -> tensor<3x1016x1024xbf16>
  return %z : tensor<3x1016x1024xbf16>
}

// One that stays f32 is summed as a whole, as is one of a single segment.
// CHECK-LABEL: func.func @whole
//   CHECK-NOT:   tensor<1024x1024xf32>
//       CHECK:   return
func.func @whole(%a: tensor<2048x256xf8E4M3FN>, %s: tensor<2048x2xf32>, %b: tensor<256x1024xf8E4M3FN>, %t: tensor<2x8xf32>,
                 %c: tensor<2048x128xf8E4M3FN>, %u: tensor<2048x1xf32>, %d: tensor<128x1024xf8E4M3FN>, %v: tensor<1x8xf32>) -> (tensor<2048x1024xf32>, tensor<2048x1024xbf16>) {
  %y = mpt.scaled_matmul %a, %s, %b, %t {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>}
      : (tensor<2048x256xf8E4M3FN>, tensor<2048x2xf32>, tensor<256x1024xf8E4M3FN>, tensor<2x8xf32>) -> tensor<2048x1024xf32>
  %w = mpt.scaled_matmul %c, %u, %d, %v {lhs_block = array<i64: 1, 128>, rhs_block = array<i64: 128, 128>}
      : (tensor<2048x128xf8E4M3FN>, tensor<2048x1xf32>, tensor<128x1024xf8E4M3FN>, tensor<1x8xf32>) -> tensor<2048x1024xf32>
  %z = mpt.cast %w : (tensor<2048x1024xf32>) -> tensor<2048x1024xbf16>
  return %y, %z : tensor<2048x1024xf32>, tensor<2048x1024xbf16>
}
