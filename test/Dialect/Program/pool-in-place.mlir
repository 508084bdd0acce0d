// The gradient of a max pooling lies where x does if windows do not overlap: 8 KiB, beside dy.
// RUN: mpt-opt %s --split-input-file --mpt-plan-step=max-threads=2 | FileCheck %s

// CHECK-LABEL: mpt_program.program @apart attributes {arena_bytes = 10240 : i64
// CHECK: %[[DX:.*]] = mpt_program.buffer <arena> [[AT:[0-9]+]] : memref<2x8x8x16xf32>
// CHECK: mpt_program.max_pool_grad ins(%{{.*}}, %[[DX]] : {{.*}}) outs(%[[DX]] : memref<2x8x8x16xf32>)
func.func @apart(%x: tensor<2x8x8x16xf32>) -> tensor<f32> {
  %h = mpt.tanh %x : (tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %y = mpt.max_pool %h {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x8x8x16xf32>) -> tensor<2x4x4x16xf32>
  %dy = mpt.exp %y : (tensor<2x4x4x16xf32>) -> tensor<2x4x4x16xf32>
  %dx = mpt.max_pool_grad %dy, %h {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x4x4x16xf32>, tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %s = mpt.reduce %dx {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x8x8x16xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// Rows of padding before the first: windows lie across the rows of two tasks.
// CHECK-LABEL: mpt_program.program @padded attributes {arena_bytes = 18944 : i64
func.func @padded(%x: tensor<2x8x8x16xf32>) -> tensor<f32> {
  %h = mpt.tanh %x : (tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %y = mpt.max_pool %h {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 0, 0>} : (tensor<2x8x8x16xf32>) -> tensor<2x5x4x16xf32>
  %dy = mpt.exp %y : (tensor<2x5x4x16xf32>) -> tensor<2x5x4x16xf32>
  %dx = mpt.max_pool_grad %dy, %h {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 0, 0>} : (tensor<2x5x4x16xf32>, tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %s = mpt.reduce %dx {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x8x8x16xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// Windows that overlap.
// CHECK-LABEL: mpt_program.program @overlapping attributes {arena_bytes = 17536 : i64
func.func @overlapping(%x: tensor<2x8x8x16xf32>) -> tensor<f32> {
  %h = mpt.tanh %x : (tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %y = mpt.max_pool %h {window = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (tensor<2x8x8x16xf32>) -> tensor<2x3x3x16xf32>
  %dy = mpt.exp %y : (tensor<2x3x3x16xf32>) -> tensor<2x3x3x16xf32>
  %dx = mpt.max_pool_grad %dy, %h {window = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (tensor<2x3x3x16xf32>, tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %s = mpt.reduce %dx {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x8x8x16xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// x is read after the gradient.
// CHECK-LABEL: mpt_program.program @read_later attributes {arena_bytes = 18432 : i64
func.func @read_later(%x: tensor<2x8x8x16xf32>) -> tensor<f32> {
  %h = mpt.tanh %x : (tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %y = mpt.max_pool %h {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x8x8x16xf32>) -> tensor<2x4x4x16xf32>
  %dy = mpt.exp %y : (tensor<2x4x4x16xf32>) -> tensor<2x4x4x16xf32>
  %dx = mpt.max_pool_grad %dy, %h {window = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x4x4x16xf32>, tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %m = mpt.mul %dx, %h : (tensor<2x8x8x16xf32>, tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %s = mpt.reduce %m {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x8x8x16xf32>) -> tensor<f32>
  return %s : tensor<f32>
}
