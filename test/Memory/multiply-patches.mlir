// RUN: mpt-opt %s --mpt-multiply-patches --split-input-file | FileCheck %s

// Patches of images of 3 channels: rows of a matmul, in the filter's order.
// CHECK-LABEL: @hwio
// CHECK: [[X:%.*]] = mpt.reshape %arg0 : (tensor<2x8x12x3xf32>) -> tensor<2x2x4x3x4x3xf32>
// CHECK: [[T:%.*]] = mpt.transpose [[X]] {permutation = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<2x2x4x3x4x3xf32>) -> tensor<2x2x3x4x4x3xf32>
// CHECK: [[P:%.*]] = mpt.reshape [[T]] : {{.*}} -> tensor<12x48xf32>
// CHECK: [[D:%.*]] = mpt.reshape %arg1 : {{.*}} -> tensor<12x5xf32>
// CHECK: [[G:%.*]] = mpt.matmul [[P]], [[D]] {transpose_lhs} : (tensor<12x48xf32>, tensor<12x5xf32>) -> tensor<48x5xf32>
// CHECK: mpt.reshape [[G]] : (tensor<48x5xf32>) -> tensor<4x4x3x5xf32>
func.func @hwio(%x: tensor<2x8x12x3xf32>, %dy: tensor<2x2x3x5xf32>) -> tensor<4x4x3x5xf32> {
  %g = mpt.conv2d_filter_grad %x, %dy {strides = array<i64: 4, 4>} : (tensor<2x8x12x3xf32>, tensor<2x2x3x5xf32>) -> tensor<4x4x3x5xf32>
  return %g : tensor<4x4x3x5xf32>
}

// -----

// As PyTorch has filters: channels come first. The sum keeps its type, and so does the result.
// CHECK-LABEL: @oihw
// CHECK: mpt.transpose {{.*}} {permutation = array<i64: 0, 1, 3, 5, 2, 4>} : (tensor<2x2x4x3x2x3xbf16>) -> tensor<2x2x3x3x4x2xbf16>
// CHECK: mpt.matmul {{.*}} {acc_type = f32, transpose_lhs} : (tensor<12x5xbf16>, tensor<12x24xbf16>) -> tensor<5x24xf32>
// CHECK: mpt.reshape {{.*}} -> tensor<5x3x4x2xf32>
func.func @oihw(%x: tensor<2x8x6x3xbf16>, %dy: tensor<2x2x3x5xbf16>) -> tensor<5x3x4x2xf32> {
  %g = mpt.conv2d_filter_grad %x, %dy {strides = array<i64: 4, 2>, acc_type = f32, oihw} : (tensor<2x8x6x3xbf16>, tensor<2x2x3x5xbf16>) -> tensor<5x3x4x2xf32>
  return %g : tensor<5x3x4x2xf32>
}

// -----

// Images whose channels come first are read as they are.
// CHECK-LABEL: @planar
// CHECK: [[X:%.*]] = mpt.reshape %arg0 : (tensor<2x3x8x6xf32>) -> tensor<2x3x2x4x3x2xf32>
// CHECK: mpt.transpose [[X]] {permutation = array<i64: 0, 2, 4, 1, 3, 5>} : {{.*}} -> tensor<2x2x3x3x4x2xf32>
// CHECK: mpt.matmul {{.*}} {transpose_lhs} : (tensor<12x5xf32>, tensor<12x24xf32>) -> tensor<5x24xf32>
func.func @planar(%x: tensor<2x3x8x6xf32>, %dy: tensor<2x2x3x5xf32>) -> tensor<5x3x4x2xf32> {
  %t = mpt.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x8x6xf32>) -> tensor<2x8x6x3xf32>
  %g = mpt.conv2d_filter_grad %t, %dy {strides = array<i64: 4, 2>, oihw} : (tensor<2x8x6x3xf32>, tensor<2x2x3x5xf32>) -> tensor<5x3x4x2xf32>
  return %g : tensor<5x3x4x2xf32>
}

// -----

// Forward: a dense layer of all patches, with the bias, the activation and the types of sums and result.
// CHECK-LABEL: @forward
// CHECK: mpt.transpose {{.*}} {permutation = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<2x2x4x3x4x3xbf16>) -> tensor<2x2x3x4x4x3xbf16>
// CHECK: [[F:%.*]] = mpt.reshape %arg1 : (tensor<4x4x3x5xbf16>) -> tensor<48x5xbf16>
// CHECK: [[Y:%.*]] = mpt.linear {{.*}}, [[F]], %arg2 {acc_type = f32, epilogue = #mpt.epilogue<relu>} : (tensor<12x48xbf16>, tensor<48x5xbf16>, tensor<5xf32>) -> tensor<12x5xf32>
// CHECK: mpt.reshape [[Y]] : (tensor<12x5xf32>) -> tensor<2x2x3x5xf32>
func.func @forward(%x: tensor<2x8x12x3xbf16>, %f: tensor<4x4x3x5xbf16>, %b: tensor<5xf32>) -> tensor<2x2x3x5xf32> {
  %y = mpt.conv2d %x, %f, %b {strides = array<i64: 4, 4>, epilogue = #mpt.epilogue<relu>, acc_type = f32} : (tensor<2x8x12x3xbf16>, tensor<4x4x3x5xbf16>, tensor<5xf32>) -> tensor<2x2x3x5xf32>
  return %y : tensor<2x2x3x5xf32>
}

// -----

// With PyTorch's layouts, of image and filter.
// CHECK-LABEL: @forward_planar
// CHECK: [[X:%.*]] = mpt.reshape %arg0 : (tensor<2x3x8x6xf32>) -> tensor<2x3x2x4x3x2xf32>
// CHECK: mpt.transpose [[X]] {permutation = array<i64: 0, 2, 4, 1, 3, 5>} : {{.*}} -> tensor<2x2x3x3x4x2xf32>
// CHECK: [[F:%.*]] = mpt.reshape %arg1 : (tensor<5x3x4x2xf32>) -> tensor<5x24xf32>
// CHECK: mpt.linear {{.*}}, [[F]] {transpose_weight} : (tensor<12x24xf32>, tensor<5x24xf32>) -> tensor<12x5xf32>
func.func @forward_planar(%x: tensor<2x3x8x6xf32>, %f: tensor<5x3x4x2xf32>) -> tensor<2x2x3x5xf32> {
  %t = mpt.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x8x6xf32>) -> tensor<2x8x6x3xf32>
  %y = mpt.conv2d %t, %f {strides = array<i64: 4, 2>, oihw} : (tensor<2x8x6x3xf32>, tensor<5x3x4x2xf32>) -> tensor<2x2x3x5xf32>
  return %y : tensor<2x2x3x5xf32>
}

// -----

// As below, forward.
// CHECK-LABEL: @forward_others
// CHECK-COUNT-7: mpt.conv2d
// CHECK-NOT: mpt.linear
func.func @forward_others(%x: tensor<1x9x9x3xf32>, %wide: tensor<1x9x9x16xf32>, %a: tensor<3x3x3x6xf32>, %b: tensor<4x4x3x6xf32>, %c: tensor<1x1x3x6xf32>, %d: tensor<3x3x1x6xf32>, %e: tensor<3x3x16x6xf32>)
    -> (tensor<1x4x4x6xf32>, tensor<1x2x2x6xf32>, tensor<1x3x3x6xf32>, tensor<1x9x9x6xf32>, tensor<1x3x3x6xf32>, tensor<1x3x3x6xf32>, tensor<1x1x1x6xf32>) {
  %0 = mpt.conv2d %x, %a {strides = array<i64: 2, 2>} : (tensor<1x9x9x3xf32>, tensor<3x3x3x6xf32>) -> tensor<1x4x4x6xf32>
  %1 = mpt.conv2d %x, %b {strides = array<i64: 4, 4>} : (tensor<1x9x9x3xf32>, tensor<4x4x3x6xf32>) -> tensor<1x2x2x6xf32>
  %2 = mpt.conv2d %x, %b {strides = array<i64: 4, 4>, padding = array<i64: 1, 2, 1, 2>} : (tensor<1x9x9x3xf32>, tensor<4x4x3x6xf32>) -> tensor<1x3x3x6xf32>
  %3 = mpt.conv2d %x, %c : (tensor<1x9x9x3xf32>, tensor<1x1x3x6xf32>) -> tensor<1x9x9x6xf32>
  %4 = mpt.conv2d %x, %d {strides = array<i64: 3, 3>, groups = 3 : i64} : (tensor<1x9x9x3xf32>, tensor<3x3x1x6xf32>) -> tensor<1x3x3x6xf32>
  %5 = mpt.conv2d %wide, %e {strides = array<i64: 3, 3>} : (tensor<1x9x9x16xf32>, tensor<3x3x16x6xf32>) -> tensor<1x3x3x6xf32>
  %6 = mpt.conv2d %x, %a {strides = array<i64: 3, 3>, dilations = array<i64: 4, 4>} : (tensor<1x9x9x3xf32>, tensor<3x3x3x6xf32>) -> tensor<1x1x1x6xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1x4x4x6xf32>, tensor<1x2x2x6xf32>, tensor<1x3x3x6xf32>, tensor<1x9x9x6xf32>, tensor<1x3x3x6xf32>, tensor<1x3x3x6xf32>, tensor<1x1x1x6xf32>
}

// -----

// Windows that overlap, that leave elements out or read padding, filters of one element,
// groups, dilations, and as many channels as a block of a layout has.
// CHECK-LABEL: @others
// CHECK-COUNT-7: mpt.conv2d_filter_grad
// CHECK-NOT: mpt.matmul
func.func @others(%x: tensor<1x9x9x3xf32>, %a: tensor<1x4x4x5xf32>, %b: tensor<1x2x2x5xf32>, %c: tensor<1x3x3x5xf32>, %d: tensor<1x9x9x5xf32>, %e: tensor<1x3x3x6xf32>, %wide: tensor<1x9x9x16xf32>, %one: tensor<1x1x1x5xf32>)
    -> (tensor<3x3x3x5xf32>, tensor<4x4x3x5xf32>, tensor<4x4x3x5xf32>, tensor<1x1x3x5xf32>, tensor<3x3x1x6xf32>, tensor<3x3x16x5xf32>, tensor<3x3x3x5xf32>) {
  %0 = mpt.conv2d_filter_grad %x, %a {strides = array<i64: 2, 2>} : (tensor<1x9x9x3xf32>, tensor<1x4x4x5xf32>) -> tensor<3x3x3x5xf32>
  %1 = mpt.conv2d_filter_grad %x, %b {strides = array<i64: 4, 4>} : (tensor<1x9x9x3xf32>, tensor<1x2x2x5xf32>) -> tensor<4x4x3x5xf32>
  %2 = mpt.conv2d_filter_grad %x, %c {strides = array<i64: 4, 4>, padding = array<i64: 1, 2, 1, 2>} : (tensor<1x9x9x3xf32>, tensor<1x3x3x5xf32>) -> tensor<4x4x3x5xf32>
  %3 = mpt.conv2d_filter_grad %x, %d : (tensor<1x9x9x3xf32>, tensor<1x9x9x5xf32>) -> tensor<1x1x3x5xf32>
  %4 = mpt.conv2d_filter_grad %x, %e {strides = array<i64: 3, 3>, groups = 3 : i64} : (tensor<1x9x9x3xf32>, tensor<1x3x3x6xf32>) -> tensor<3x3x1x6xf32>
  %5 = mpt.conv2d_filter_grad %wide, %c {strides = array<i64: 3, 3>} : (tensor<1x9x9x16xf32>, tensor<1x3x3x5xf32>) -> tensor<3x3x16x5xf32>
  %6 = mpt.conv2d_filter_grad %x, %one {strides = array<i64: 3, 3>, dilations = array<i64: 4, 4>} : (tensor<1x9x9x3xf32>, tensor<1x1x1x5xf32>) -> tensor<3x3x3x5xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x3x3x5xf32>, tensor<4x4x3x5xf32>, tensor<4x4x3x5xf32>, tensor<1x1x3x5xf32>, tensor<3x3x1x6xf32>, tensor<3x3x16x5xf32>, tensor<3x3x3x5xf32>
}

// -----

// No elements.
// CHECK-LABEL: @empty
// CHECK: mpt.conv2d_filter_grad
func.func @empty(%x: tensor<0x8x12x3xf32>, %dy: tensor<0x2x3x5xf32>) -> tensor<4x4x3x5xf32> {
  %g = mpt.conv2d_filter_grad %x, %dy {strides = array<i64: 4, 4>} : (tensor<0x8x12x3xf32>, tensor<0x2x3x5xf32>) -> tensor<4x4x3x5xf32>
  return %g : tensor<4x4x3x5xf32>
}

// -----

// Images of one point are rows of a matrix, for any number of channels: the convolution and both
// gradients, in either layout of the filter.
// CHECK-LABEL: @points
// CHECK: mpt.linear {{.*}}, %arg2 {acc_type = f32, transpose_weight} : (tensor<8x64xf16>, tensor<16x64xf16>, tensor<16xf32>) -> tensor<8x16xf16>
// CHECK: mpt.matmul {{.*}} {acc_type = f32} : (tensor<8x16xf16>, tensor<16x64xf16>) -> tensor<8x64xf16>
// CHECK: mpt.matmul {{.*}} {acc_type = f32, transpose_lhs} : (tensor<8x16xf16>, tensor<8x64xf16>) -> tensor<16x64xf32>
// CHECK: mpt.matmul {{.*}} {transpose_rhs} : (tensor<8x16xf16>, tensor<64x16xf16>) -> tensor<8x64xf16>
// CHECK-NOT: mpt.conv2d
func.func @points(%x: tensor<8x1x1x64xf16>, %f: tensor<16x64x1x1xf16>, %b: tensor<16xf32>, %dy: tensor<8x1x1x16xf16>, %g: tensor<1x1x64x16xf16>)
    -> (tensor<8x1x1x16xf16>, tensor<8x1x1x64xf16>, tensor<16x64x1x1xf32>, tensor<8x1x1x64xf16>) {
  %0 = mpt.conv2d %x, %f, %b {acc_type = f32, oihw} : (tensor<8x1x1x64xf16>, tensor<16x64x1x1xf16>, tensor<16xf32>) -> tensor<8x1x1x16xf16>
  %1 = mpt.conv2d_input_grad %dy, %f {acc_type = f32, oihw} : (tensor<8x1x1x16xf16>, tensor<16x64x1x1xf16>) -> tensor<8x1x1x64xf16>
  %2 = mpt.conv2d_filter_grad %x, %dy {acc_type = f32, oihw} : (tensor<8x1x1x64xf16>, tensor<8x1x1x16xf16>) -> tensor<16x64x1x1xf32>
  %3 = mpt.conv2d_input_grad %dy, %g : (tensor<8x1x1x16xf16>, tensor<1x1x64x16xf16>) -> tensor<8x1x1x64xf16>
  return %0, %1, %2, %3 : tensor<8x1x1x16xf16>, tensor<8x1x1x64xf16>, tensor<16x64x1x1xf32>, tensor<8x1x1x64xf16>
}

// -----

// More points, groups and padding stay.
// CHECK-LABEL: @no_points
// CHECK-COUNT-3: mpt.conv2d_input_grad
// CHECK-NOT: mpt.matmul
func.func @no_points(%a: tensor<8x2x1x16xf16>, %b: tensor<8x1x1x16xf16>, %c: tensor<8x3x3x16xf16>, %f: tensor<1x1x64x16xf16>, %g: tensor<1x1x8x16xf16>)
    -> (tensor<8x2x1x64xf16>, tensor<8x1x1x16xf16>, tensor<8x1x1x64xf16>) {
  %0 = mpt.conv2d_input_grad %a, %f : (tensor<8x2x1x16xf16>, tensor<1x1x64x16xf16>) -> tensor<8x2x1x64xf16>
  %1 = mpt.conv2d_input_grad %b, %g {groups = 2 : i64} : (tensor<8x1x1x16xf16>, tensor<1x1x8x16xf16>) -> tensor<8x1x1x16xf16>
  %2 = mpt.conv2d_input_grad %c, %f {padding = array<i64: 1, 1, 1, 1>} : (tensor<8x3x3x16xf16>, tensor<1x1x64x16xf16>) -> tensor<8x1x1x64xf16>
  return %0, %1, %2 : tensor<8x2x1x64xf16>, tensor<8x1x1x16xf16>, tensor<8x1x1x64xf16>
}
