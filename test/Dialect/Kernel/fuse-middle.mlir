// A kernel that computes a tensor reduces a dimension of it that is not the last, so that the
// tensor need not be stored. The dimension is the row, and a vector takes 16 neighbouring rows.
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels=transposed-rows | FileCheck %s
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels | FileCheck %s --check-prefix=PLAIN
// PLAIN-COUNT-7: mpt.reduce
// PLAIN-LABEL: func @joined
// PLAIN: mpt_kernel.kernel <column>

// CHECK-LABEL: func @product
// CHECK-NOT: mpt.reduce
// CHECK: mpt_kernel.kernel <row>(%{{.*}}) domain [8, 256, 49] chunk_rows {{.*}} -> tensor<8x256xf32>
// CHECK: mpt_kernel.row_reduce <sum>
func.func @product(%x: tensor<8x49x256xf32>, %w: tensor<8x49x1xf32>) -> tensor<8x256xf32> {
  %y = mpt.mul %x, %w : (tensor<8x49x256xf32>, tensor<8x49x1xf32>) -> tensor<8x49x256xf32>
  %s = mpt.reduce %y {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<8x49x256xf32>) -> tensor<8x256xf32>
  return %s : tensor<8x256xf32>
}

// -----

// The first dimension, with the tensor as another result, and the sum in it.
// CHECK-DAG: #[[$MOVED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func @centered
// CHECK-NOT: mpt.reduce
// CHECK: mpt_kernel.kernel <row>({{.*}}) domain [32, 40] chunk_rows {{.*}} maps
// CHECK-SAME: -> [#[[$MOVED]]] : (tensor<40x32xf32>) -> tensor<40x32xf32>
func.func @centered(%x: tensor<40x2x16xf32>) -> tensor<40x2x16xf32> {
  %y = mpt.tanh %x : (tensor<40x2x16xf32>) -> tensor<40x2x16xf32>
  %s = mpt.reduce %y {axes = array<i64: 0>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<40x2x16xf32>) -> tensor<1x2x16xf32>
  %z = mpt.sub %y, %s : (tensor<40x2x16xf32>, tensor<1x2x16xf32>) -> tensor<40x2x16xf32>
  return %z : tensor<40x2x16xf32>
}

// -----

// A number of the position along the reduced dimension.
// CHECK-LABEL: func @indexed
// CHECK-NOT: mpt.reduce
// CHECK: mpt_kernel.kernel <row>({{.*}}) domain [3, 16, 5] chunk_rows
// CHECK: mpt_kernel.index 2
func.func @indexed(%x: tensor<3x5x16xf32>) -> tensor<3x16xf32> {
  %at = mpt.iota {axis = 1 : i64} : () -> tensor<3x5x16xf32>
  %y = mpt.mul %x, %at : (tensor<3x5x16xf32>, tensor<3x5x16xf32>) -> tensor<3x5x16xf32>
  %s = mpt.reduce %y {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<3x5x16xf32>) -> tensor<3x16xf32>
  return %s : tensor<3x16xf32>
}

// -----

// What lies in memory is reduced by a library call. So is what has too few neighbours for a
// vector.
// CHECK-LABEL: func @in_memory
// CHECK: mpt.reduce
// CHECK: mpt.reduce
func.func @in_memory(%x: tensor<8x49x256xf32>, %z: tensor<8x49x12xf32>) -> (tensor<8x256xf32>, tensor<8x12xf32>) {
  %s = mpt.reduce %x {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<8x49x256xf32>) -> tensor<8x256xf32>
  %y = mpt.tanh %z : (tensor<8x49x12xf32>) -> tensor<8x49x12xf32>
  %t = mpt.reduce %y {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<8x49x12xf32>) -> tensor<8x12xf32>
  return %s, %t : tensor<8x256xf32>, tensor<8x12xf32>
}

// -----

// One kernel reduces one dimension.
// CHECK-LABEL: func @two
// CHECK: mpt_kernel.kernel <row>({{.*}}) domain [8, 32, 16]
// CHECK: mpt.reduce
func.func @two(%x: tensor<8x16x32xf32>) -> (tensor<8x32xf32>, tensor<16x32xf32>) {
  %y = mpt.tanh %x : (tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %s = mpt.reduce %y {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<8x16x32xf32>) -> tensor<8x32xf32>
  %t = mpt.reduce %y {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<8x16x32xf32>) -> tensor<16x32xf32>
  return %s, %t : tensor<8x32xf32>, tensor<16x32xf32>
}

// -----

// The joined columns of a tensor that the kernel has apart, since an operand repeats along the
// last dimension only.
// CHECK-LABEL: func @joined
// CHECK-NOT: mpt.reduce
// CHECK: mpt_kernel.kernel <row>({{.*}}) domain [4, 16, 301] chunk_rows {{.*}} -> tensor<4x16xf32>
func.func @joined(%x: tensor<301x4x16xf32>, %w: tensor<301x4x1xf32>) -> tensor<64xf32> {
  %b = mpt.broadcast %w : (tensor<301x4x1xf32>) -> tensor<301x4x16xf32>
  %y = mpt.mul %b, %x : (tensor<301x4x16xf32>, tensor<301x4x16xf32>) -> tensor<301x4x16xf32>
  %r = mpt.reshape %y : (tensor<301x4x16xf32>) -> tensor<301x64xf32>
  %s = mpt.reduce %r {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<301x64xf32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// -----

// Columns that the kernel can have as one stay columns.
// CHECK-LABEL: func @columns
// CHECK: mpt_kernel.kernel <column>
func.func @columns(%x: tensor<301x64xf32>, %w: tensor<301x1xf32>) -> tensor<64xf32> {
  %y = mpt.mul %w, %x : (tensor<301x1xf32>, tensor<301x64xf32>) -> tensor<301x64xf32>
  %s = mpt.reduce %y {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<301x64xf32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}
