// Kernels that reduce short rows read and write them where they lie around transposes,
// as the channels of NCHW.
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels=transposed-rows | FileCheck %s
// RUN: mpt-opt %s --split-input-file --mpt-fuse-kernels | FileCheck %s --check-prefix=PLAIN
// PLAIN-COUNT-10: mpt.transpose
// PLAIN-NOT: mpt.transpose

// CHECK: #[[$NCHW:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-LABEL: func @both_sides
// CHECK-NOT: mpt.transpose
// CHECK: mpt_kernel.kernel <row>(%{{.*}}) domain [2, 35, 3] chunk_rows {{.*}} maps [#[[$NCHW]]] -> [#[[$NCHW]]] : (tensor<2x3x35xf32>) -> tensor<2x3x35xf32>
// CHECK-NOT: mpt.transpose
func.func @both_sides(%x: tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32> {
  %t = mpt.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x5x7xf32>) -> tensor<2x5x7x3xf32>
  %s = mpt.reduce %t {axes = array<i64: 3>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<2x5x7x3xf32>) -> tensor<2x5x7x1xf32>
  %y = mpt.sub %t, %s : (tensor<2x5x7x3xf32>, tensor<2x5x7x1xf32>) -> tensor<2x5x7x3xf32>
  %r = mpt.transpose %y {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x5x7x3xf32>) -> tensor<2x3x5x7xf32>
  return %r : tensor<2x3x5x7xf32>
}

// -----

// The kernel has the dimensions of rows as one, and reads a number of each row and one of
// each column.
// CHECK-DAG: #[[$NCHW:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-LABEL: func @joined_rows
// CHECK-NOT: mpt.transpose
// CHECK: mpt_kernel.kernel <row>({{.*}}) domain [2, 35, 3] chunk_rows {{.*}} maps
// CHECK-SAME: -> [#[[$NCHW]], #[[$ROW]]]
// CHECK: mpt_kernel.index 2
// CHECK-NOT: mpt.transpose
func.func @joined_rows(%x: tensor<2x3x5x7xf32>, %i: tensor<70x1xi64>, %w: tensor<3xf32>) -> (tensor<2x3x5x7xf32>, tensor<70xf32>) {
  %t = mpt.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x5x7xf32>) -> tensor<2x5x7x3xf32>
  %rows = mpt.reshape %t : (tensor<2x5x7x3xf32>) -> tensor<70x3xf32>
  %at = mpt.iota {axis = 1 : i64} : () -> tensor<70x3xi64>
  %hit = mpt.compare %at, %i {predicate = #mpt.predicate<eq>} : (tensor<70x3xi64>, tensor<70x1xi64>) -> tensor<70x3xi1>
  %scaled = mpt.mul %rows, %w : (tensor<70x3xf32>, tensor<3xf32>) -> tensor<70x3xf32>
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %y = mpt.where %hit, %scaled, %zero : (tensor<70x3xi1>, tensor<70x3xf32>, tensor<f32>) -> tensor<70x3xf32>
  %s = mpt.reduce %y {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<70x3xf32>) -> tensor<70xf32>
  %back = mpt.reshape %y : (tensor<70x3xf32>) -> tensor<2x5x7x3xf32>
  %r = mpt.transpose %back {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x5x7x3xf32>) -> tensor<2x3x5x7xf32>
  return %r, %s : tensor<2x3x5x7xf32>, tensor<70xf32>
}

// -----

// Something else reads the result as it is.
// CHECK-LABEL: func @read_as_it_is
// CHECK-COUNT-2: mpt.transpose
func.func @read_as_it_is(%x: tensor<2x3x5x7xf32>) -> (tensor<2x3x5x7xf32>, tensor<2x5x7x3xf32>) {
  %t = mpt.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x5x7xf32>) -> tensor<2x5x7x3xf32>
  %s = mpt.reduce %t {axes = array<i64: 3>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<2x5x7x3xf32>) -> tensor<2x5x7x1xf32>
  %y = mpt.sub %t, %s : (tensor<2x5x7x3xf32>, tensor<2x5x7x1xf32>) -> tensor<2x5x7x3xf32>
  %r = mpt.transpose %y {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x5x7x3xf32>) -> tensor<2x3x5x7xf32>
  return %r, %y : tensor<2x3x5x7xf32>, tensor<2x5x7x3xf32>
}

// -----

// Too few neighbours to fill a vector, rows that are too long, a transpose that is marked,
// and one whose last dimension is not that of neighbouring rows.
// CHECK-LABEL: func @others
// CHECK-COUNT-4: mpt.transpose
func.func @others(%x: tensor<2x3x5xf32>, %z: tensor<2x257x32xf32>, %w: tensor<2x3x32xf32>, %v: tensor<3x32x2xf32>)
    -> (tensor<2x5xf32>, tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x32xf32>) {
  %t = mpt.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x5xf32>) -> tensor<2x5x3xf32>
  %a = mpt.reduce %t {axes = array<i64: 2>, kind = #mpt.reduce_kind<sum>} : (tensor<2x5x3xf32>) -> tensor<2x5xf32>
  %u = mpt.transpose %z {permutation = array<i64: 0, 2, 1>} : (tensor<2x257x32xf32>) -> tensor<2x32x257xf32>
  %b = mpt.reduce %u {axes = array<i64: 2>, kind = #mpt.reduce_kind<sum>} : (tensor<2x32x257xf32>) -> tensor<2x32xf32>
  %m = mpt.transpose %w {mpt.save = "must", permutation = array<i64: 0, 2, 1>} : (tensor<2x3x32xf32>) -> tensor<2x32x3xf32>
  %c = mpt.reduce %m {axes = array<i64: 2>, kind = #mpt.reduce_kind<sum>} : (tensor<2x32x3xf32>) -> tensor<2x32xf32>
  %o = mpt.transpose %v {permutation = array<i64: 2, 1, 0>} : (tensor<3x32x2xf32>) -> tensor<2x32x3xf32>
  %e = mpt.reduce %o {axes = array<i64: 2>, kind = #mpt.reduce_kind<sum>} : (tensor<2x32x3xf32>) -> tensor<2x32xf32>
  return %a, %b, %c, %e : tensor<2x5xf32>, tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x32xf32>
}
