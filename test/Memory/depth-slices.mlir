// RUN: mpt-opt %s --mpt-plan-step="order=keep" --split-input-file | FileCheck %s

// Each place of a filter along the depth reads its depths where they lie: 512 bytes are two.
// CHECK-LABEL: @depths
// CHECK: [[PADDED:%.*]] = mpt_program.buffer <arena> 0 : memref<6x1x4x4x4xf32>
// CHECK: mpt_program.copy {{.*}} outs([[PADDED]] :
// CHECK-NOT: mpt_program.copy
// CHECK: [[FIRST:%.*]] = mpt_program.buffer <arena> 0 : memref<4x4x4x4xf32>
// CHECK: mpt_program.conv2d ins([[FIRST]],
// CHECK: [[LAST:%.*]] = mpt_program.buffer <arena> 512 : memref<4x4x4x4xf32>
// CHECK: mpt_program.conv2d ins([[LAST]],
func.func @depths(%x: tensor<4x1x4x4x4xf32>, %f: tensor<3x3x4x5xf32>) -> (tensor<4x4x4x5xf32>, tensor<4x4x4x5xf32>) {
  %p = mpt.pad %x {low = array<i64: 1, 0, 0, 0, 0>, high = array<i64: 1, 0, 0, 0, 0>, interior = array<i64: 0, 0, 0, 0, 0>} : (tensor<4x1x4x4x4xf32>) -> tensor<6x1x4x4x4xf32>
  %a = mpt.slice %p {offsets = array<i64: 0, 0, 0, 0, 0>, sizes = array<i64: 4, 1, 4, 4, 4>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<6x1x4x4x4xf32>) -> tensor<4x1x4x4x4xf32>
  %0 = mpt.reshape %a : (tensor<4x1x4x4x4xf32>) -> tensor<4x4x4x4xf32>
  %y = mpt.conv2d %0, %f {padding = array<i64: 1, 1, 1, 1>} : (tensor<4x4x4x4xf32>, tensor<3x3x4x5xf32>) -> tensor<4x4x4x5xf32>
  %b = mpt.slice %p {offsets = array<i64: 2, 0, 0, 0, 0>, sizes = array<i64: 4, 1, 4, 4, 4>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<6x1x4x4x4xf32>) -> tensor<4x1x4x4x4xf32>
  %1 = mpt.reshape %b : (tensor<4x1x4x4x4xf32>) -> tensor<4x4x4x4xf32>
  %z = mpt.conv2d %1, %f {padding = array<i64: 1, 1, 1, 1>} : (tensor<4x4x4x4xf32>, tensor<3x3x4x5xf32>) -> tensor<4x4x4x5xf32>
  return %y, %z : tensor<4x4x4x5xf32>, tensor<4x4x4x5xf32>
}

// -----

// A slice that keeps more than twice its bytes is copied, and so are one that begins between
// multiples of 64 bytes, one whose elements lie apart, and one that a result is, too.
// CHECK-LABEL: @copied
// CHECK-COUNT-4: mpt_program.launch @copied_kernel
func.func @copied(%x: tensor<6x4x4x2xf32>, %f: tensor<1x1x3x5xf32>, %g: tensor<1x1x2x5xf32>)
    -> (tensor<2x4x4x5xf32>, tensor<3x3x4x5xf32>, tensor<6x4x4x5xf32>, tensor<5x4x4x3xf32>, tensor<5x4x4x5xf32>) {
  %p = mpt.pad %x {low = array<i64: 0, 0, 0, 1>, high = array<i64: 0, 0, 0, 0>, interior = array<i64: 0, 0, 0, 0>} : (tensor<6x4x4x2xf32>) -> tensor<6x4x4x3xf32>
  %small = mpt.slice %p {offsets = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 4, 4, 3>, strides = array<i64: 1, 1, 1, 1>} : (tensor<6x4x4x3xf32>) -> tensor<2x4x4x3xf32>
  %0 = mpt.conv2d %small, %f : (tensor<2x4x4x3xf32>, tensor<1x1x3x5xf32>) -> tensor<2x4x4x5xf32>
  %images = mpt.slice %p {offsets = array<i64: 0, 1, 0, 0>, sizes = array<i64: 3, 3, 4, 3>, strides = array<i64: 2, 1, 1, 1>} : (tensor<6x4x4x3xf32>) -> tensor<3x3x4x3xf32>
  %1 = mpt.conv2d %images, %f : (tensor<3x3x4x3xf32>, tensor<1x1x3x5xf32>) -> tensor<3x3x4x5xf32>
  %channels = mpt.slice %p {offsets = array<i64: 0, 0, 0, 1>, sizes = array<i64: 6, 4, 4, 2>, strides = array<i64: 1, 1, 1, 1>} : (tensor<6x4x4x3xf32>) -> tensor<6x4x4x2xf32>
  %2 = mpt.conv2d %channels, %g : (tensor<6x4x4x2xf32>, tensor<1x1x2x5xf32>) -> tensor<6x4x4x5xf32>
  %result = mpt.slice %p {offsets = array<i64: 1, 0, 0, 0>, sizes = array<i64: 5, 4, 4, 3>, strides = array<i64: 1, 1, 1, 1>} : (tensor<6x4x4x3xf32>) -> tensor<5x4x4x3xf32>
  %3 = mpt.conv2d %result, %f : (tensor<5x4x4x3xf32>, tensor<1x1x3x5xf32>) -> tensor<5x4x4x5xf32>
  return %0, %1, %2, %result, %3 : tensor<2x4x4x5xf32>, tensor<3x3x4x5xf32>, tensor<6x4x4x5xf32>, tensor<5x4x4x3xf32>, tensor<5x4x4x5xf32>
}

// -----

// 36 bytes an image.
// CHECK-LABEL: @unaligned
// CHECK: mpt_program.launch @unaligned_kernel
func.func @unaligned(%x: tensor<4x3x3x1xf32>, %f: tensor<1x1x1x5xf32>) -> tensor<4x3x3x5xf32> {
  %p = mpt.pad %x {low = array<i64: 1, 0, 0, 0>, high = array<i64: 0, 0, 0, 0>, interior = array<i64: 0, 0, 0, 0>} : (tensor<4x3x3x1xf32>) -> tensor<5x3x3x1xf32>
  %a = mpt.slice %p {offsets = array<i64: 1, 0, 0, 0>, sizes = array<i64: 4, 3, 3, 1>, strides = array<i64: 1, 1, 1, 1>} : (tensor<5x3x3x1xf32>) -> tensor<4x3x3x1xf32>
  %0 = mpt.conv2d %a, %f : (tensor<4x3x3x1xf32>, tensor<1x1x1x5xf32>) -> tensor<4x3x3x5xf32>
  return %0 : tensor<4x3x3x5xf32>
}
