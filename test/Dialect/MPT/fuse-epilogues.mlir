// RUN: mpt-opt %s --mpt-fuse-epilogues | FileCheck %s

// Bias and activation into the matmul, rounded where they were.
// CHECK-LABEL: func.func @matmul_bias_relu
//  CHECK-NEXT:   mpt.linear %arg0, %arg1, %arg2 {epilogue = #mpt.epilogue<relu>} : {{.*}} -> tensor<4x16xbf16>
//  CHECK-NEXT:   return
func.func @matmul_bias_relu(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<16xf32>) -> tensor<4x16xbf16> {
  %p = mpt.matmul %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  %s = mpt.add %p, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %y = mpt.relu %s : (tensor<4x16xf32>) -> tensor<4x16xbf16>
  return %y : tensor<4x16xbf16>
}

// CHECK-LABEL: func.func @conv_gelu
//  CHECK-NEXT:   mpt.conv2d {{.*}} #mpt.epilogue<gelu_tanh>
//  CHECK-NEXT:   return
func.func @conv_gelu(%x: tensor<1x4x4x2xf32>, %f: tensor<3x3x2x3xf32>) -> tensor<1x2x2x3xf32> {
  %p = mpt.conv2d %x, %f : (tensor<1x4x4x2xf32>, tensor<3x3x2x3xf32>) -> tensor<1x2x2x3xf32>
  %y = mpt.gelu %p {approximate = #mpt.gelu<tanh>} : (tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
  return %y : tensor<1x2x2x3xf32>
}

// The filter's layout stays.
// CHECK-LABEL: func.func @conv_oihw
//  CHECK-NEXT:   mpt.conv2d %{{.*}}, %{{.*}}, %{{.*}} {epilogue = #mpt.epilogue<relu>, oihw} : (tensor<1x4x4x2xf32>, tensor<5x2x3x3xf32>, tensor<5xf32>) -> tensor<1x2x2x5xf32>
//  CHECK-NEXT:   return
func.func @conv_oihw(%x: tensor<1x4x4x2xf32>, %f: tensor<5x2x3x3xf32>, %b: tensor<5xf32>) -> tensor<1x2x2x5xf32> {
  %p = mpt.conv2d %x, %f {oihw} : (tensor<1x4x4x2xf32>, tensor<5x2x3x3xf32>) -> tensor<1x2x2x5xf32>
  %s = mpt.add %p, %b : (tensor<1x2x2x5xf32>, tensor<5xf32>) -> tensor<1x2x2x5xf32>
  %y = mpt.relu %s : (tensor<1x2x2x5xf32>) -> tensor<1x2x2x5xf32>
  return %y : tensor<1x2x2x5xf32>
}

// Rounded relu commutes with rounding; nothing else does.
// CHECK-LABEL: func.func @rounded
//       CHECK:   mpt.linear %arg0, %arg1 {epilogue = #mpt.epilogue<relu>}
//       CHECK:   %[[P:.*]] = mpt.linear %arg0, %arg1 :
//  CHECK-NEXT:   mpt.gelu %[[P]]
//       CHECK:   %[[Q:.*]] = mpt.matmul
//  CHECK-NEXT:   mpt.add %[[Q]], %arg2
func.func @rounded(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %p = mpt.linear %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %0 = mpt.relu %p : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  %q = mpt.linear %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %1 = mpt.gelu %q {approximate = #mpt.gelu<tanh>} : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  %r = mpt.matmul %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %2 = mpt.add %r, %b : (tensor<4x16xbf16>, tensor<16xbf16>) -> tensor<4x16xbf16>
  return %0, %1, %2 : tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<4x16xbf16>
}

// Not: a matmul that is read twice, GELU's other formula, a bias of another
// shape, a bias after a bias, a transposed left matrix.
// CHECK-LABEL: func.func @kept
//       CHECK:   mpt.relu
//       CHECK:   mpt.gelu
//       CHECK:   mpt.add
//       CHECK:   mpt.add
//       CHECK:   mpt.add
func.func @kept(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %t: tensor<8x4xf32>, %b: tensor<16xf32>, %m: tensor<4x16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  %p = mpt.linear %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %0 = mpt.relu %p : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %q = mpt.linear %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = mpt.gelu %q : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = mpt.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %2 = mpt.add %r, %m : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %s = mpt.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %3 = mpt.add %s, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %u = mpt.matmul %t, %w {transpose_lhs} : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %4 = mpt.add %u, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %p, %0, %1, %2, %3, %4 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// A weight that is stored as in PyTorch.
// CHECK-LABEL: func.func @transposed_weight
//       CHECK:   mpt.linear %arg0, %arg1, %arg2 {epilogue = #mpt.epilogue<relu>, transpose_weight}
//  CHECK-NEXT:   return
func.func @transposed_weight(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %p = mpt.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %s = mpt.add %p, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %y = mpt.relu %s : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
