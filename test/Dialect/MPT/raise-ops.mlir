// RUN: mpt-opt %s --mpt-raise-ops | FileCheck %s
// RUN: mpt-opt %s --mpt-raise-ops --remarks-filter="mpt\.raise" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// REMARK-DAG: raise-ops.mlir:[[#@LINE+10]]:8: remark: [Passed] mpt.raise.raised | Category:mpt.raise | Function=softmax | Reason=mpt.softmax

// CHECK-LABEL: func.func @softmax
//  CHECK-NEXT:   %[[Y:.*]] = mpt.softmax %arg0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func @softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = mpt.reduce %x {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<max>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = mpt.sub %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = mpt.exp %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = mpt.reduce %2 {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %4 = mpt.div %2, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// Over the other dimension, of another sum, with e^x for others, with a shift by the maximum
// of another value.
// REMARK-DAG: not-raised {{.*}} Function=not_softmax | Reason="mpt.softmax: the sum is over dimensions [0], expected the last alone"
// REMARK-DAG: not-raised {{.*}} Function=not_softmax | Reason="mpt.softmax: the sum is that of other exponentials"
// REMARK-DAG: not-raised {{.*}} Function=not_softmax | Reason="mpt.softmax: others read the exponentials"
// REMARK-DAG: not-raised {{.*}} Function=not_softmax | Reason="mpt.softmax: the sum is not read as that of its own row"
// CHECK-LABEL: func.func @not_softmax
//   CHECK-NOT:   mpt.softmax
//       CHECK:   return
func.func @not_softmax(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = mpt.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = mpt.exp %z : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = mpt.exp %e : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = mpt.reduce %f {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = mpt.div %f, %0 : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = mpt.reduce %f {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %3 = mpt.div %g, %2 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %4 = mpt.reduce %e {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %5 = mpt.div %e, %4 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  // Each column by the sum of a row.
  %6 = mpt.reduce %f {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<4x4xf32>) -> tensor<4xf32>
  %7 = mpt.div %f, %6 : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %1, %3, %5, %g, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// A maximum that is made finite, and the logarithm of a sum of e^x.
// CHECK-LABEL: func.func @log_softmax
//  CHECK-NEXT:   %[[Y:.*]] = mpt.log_softmax %arg0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
//  CHECK-NEXT:   return %[[Y]]
func.func @log_softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %low = mpt.constant dense<0xFF800000> : tensor<f32>
  %0 = mpt.reduce %x {axes = array<i64: 1>, kind = #mpt.reduce_kind<max>} : (tensor<2x4xf32>) -> tensor<2xf32>
  %1 = mpt.maximum %low, %0 : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = mpt.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
  %3 = mpt.sub %x, %2 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %4 = mpt.exp %3 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = mpt.reduce %4 {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<2x4xf32>) -> tensor<2xf32>
  %6 = mpt.reshape %5 : (tensor<2xf32>) -> tensor<2x1xf32>
  %7 = mpt.log %6 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %8 = mpt.sub %3, %7 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %8 : tensor<2x4xf32>
}

// x a + (beta - mean a) with a = gamma rstd, of x that is a sum itself.
// CHECK-LABEL: func.func @layer_norm
//  CHECK-NEXT:   %[[X:.*]] = mpt.add %arg0, %arg0
//  CHECK-NEXT:   %[[Y:.*]], %{{.*}}, %{{.*}} = mpt.layer_norm %[[X]], %arg1, %arg2 {eps = 5.000000e-01 : f64}
//  CHECK-NEXT:   return %[[Y]]
func.func @layer_norm(%source: tensor<2x4xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>) -> tensor<2x4xf32> {
  %n = mpt.constant dense<4.0> : tensor<f32>
  %eps = mpt.constant dense<0.5> : tensor<f32>
  %x = mpt.add %source, %source : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %mean = mpt.reduce %x {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %0 = mpt.sub %x, %mean : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = mpt.mul %0, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = mpt.reduce %1 {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %var = mpt.div %2, %n : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = mpt.add %var, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %rstd = mpt.rsqrt %3 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %a = mpt.mul %rstd, %gamma : (tensor<2x1xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = mpt.mul %mean, %a : (tensor<2x1xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = mpt.sub %beta, %4 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = mpt.mul %x, %a : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = mpt.add %6, %5 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %7 : tensor<2x4xf32>
}

// (x - mean) / sqrt(E x^2 - mean^2 + eps) over all dimensions but the last.
// CHECK-LABEL: func.func @batch_norm
//       CHECK:   mpt.batch_norm %arg0, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {eps = 5.000000e-01 : f64, momentum = 1.000000e+00 : f64}
//   CHECK-NOT:   mpt.sqrt
//       CHECK:   return
func.func @batch_norm(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %eps = mpt.constant dense<0.5> : tensor<f32>
  %mean = mpt.reduce %x {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<4xf32>
  %0 = mpt.mul %x, %x : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = mpt.reduce %0 {axes = array<i64: 1, 0>, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<4xf32>
  %2 = mpt.mul %mean, %mean : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mpt.sub %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %var = mpt.maximum %3, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = mpt.add %eps, %var : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = mpt.sqrt %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = mpt.sub %x, %mean : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %7 = mpt.div %6, %5 : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return %7 : tensor<2x3x4xf32>
}

// Two groups of two channels, with statistics of groups that are copied for their channels, as in
// flax.
// CHECK-LABEL: func.func @group_norm
//       CHECK:   %[[X:.*]] = mpt.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<2x3x2x2xf32>
//       CHECK:   %[[T:.*]] = mpt.transpose %[[X]] {permutation = array<i64: 0, 2, 1, 3>}
//       CHECK:   %[[R:.*]] = mpt.reshape %[[T]] : (tensor<2x2x3x2xf32>) -> tensor<4x6xf32>
//       CHECK:   %[[Y:.*]], %{{.*}}, %{{.*}} = mpt.layer_norm %[[R]], %{{.*}}, %{{.*}} {eps = 5.000000e-01 : f64}
//       CHECK:   %[[U:.*]] = mpt.reshape %[[Y]] : (tensor<4x6xf32>) -> tensor<2x2x3x2xf32>
//       CHECK:   %[[B:.*]] = mpt.transpose %[[U]] {permutation = array<i64: 0, 2, 1, 3>}
//       CHECK:   %[[F:.*]] = mpt.reshape %[[B]] : (tensor<2x3x2x2xf32>) -> tensor<2x3x4xf32>
//       CHECK:   %[[G:.*]] = mpt.reshape %arg1 : (tensor<4xf32>) -> tensor<1x1x4xf32>
//       CHECK:   mpt.mul %[[F]], %[[G]]
//   CHECK-NOT:   mpt.rsqrt
//       CHECK:   return
func.func @group_norm(%x: tensor<2x3x4xf32>, %gamma: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %eps = mpt.constant dense<0.5> : tensor<f32>
  %groups = mpt.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x3x2x2xf32>
  %mean = mpt.reduce %groups {axes = array<i64: 1, 3>, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x2x2xf32>) -> tensor<2x2xf32>
  %0 = mpt.mul %groups, %groups : (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %1 = mpt.reduce %0 {axes = array<i64: 1, 3>, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x2x2xf32>) -> tensor<2x2xf32>
  %2 = mpt.mul %mean, %mean : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = mpt.sub %1, %2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = mpt.reshape %mean : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
  %5 = mpt.broadcast %4 : (tensor<2x2x1xf32>) -> tensor<2x2x2xf32>
  %6 = mpt.reshape %5 : (tensor<2x2x2xf32>) -> tensor<2x1x4xf32>
  %7 = mpt.reshape %3 : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
  %8 = mpt.broadcast %7 : (tensor<2x2x1xf32>) -> tensor<2x2x2xf32>
  %9 = mpt.reshape %8 : (tensor<2x2x2xf32>) -> tensor<2x1x4xf32>
  %10 = mpt.add %9, %eps : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<2x1x4xf32>
  %11 = mpt.rsqrt %10 : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %12 = mpt.sub %x, %6 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  %13 = mpt.mul %11, %gamma : (tensor<2x1x4xf32>, tensor<4xf32>) -> tensor<2x1x4xf32>
  %14 = mpt.mul %12, %13 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  return %14 : tensor<2x3x4xf32>
}

// Statistics of groups are copied in another order than the groups' channels; the mean is that of
// other groups.
// CHECK-LABEL: func.func @not_group_norm
//   CHECK-NOT:   mpt.layer_norm
//       CHECK:   return
func.func @not_group_norm(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %eps = mpt.constant dense<0.5> : tensor<f32>
  %groups = mpt.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x3x2x2xf32>
  %mean = mpt.reduce %groups {axes = array<i64: 1, 3>, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x2x2xf32>) -> tensor<2x2xf32>
  %0 = mpt.mul %groups, %groups : (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %1 = mpt.reduce %0 {axes = array<i64: 1, 3>, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x2x2xf32>) -> tensor<2x2xf32>
  %2 = mpt.mul %mean, %mean : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = mpt.sub %1, %2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = mpt.reshape %mean : (tensor<2x2xf32>) -> tensor<2x1x2xf32>
  %5 = mpt.broadcast %4 : (tensor<2x1x2xf32>) -> tensor<2x2x2xf32>
  %6 = mpt.reshape %5 : (tensor<2x2x2xf32>) -> tensor<2x1x4xf32>
  %7 = mpt.reshape %3 : (tensor<2x2xf32>) -> tensor<2x1x2xf32>
  %8 = mpt.broadcast %7 : (tensor<2x1x2xf32>) -> tensor<2x2x2xf32>
  %9 = mpt.reshape %8 : (tensor<2x2x2xf32>) -> tensor<2x1x4xf32>
  %10 = mpt.add %9, %eps : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<2x1x4xf32>
  %11 = mpt.rsqrt %10 : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %12 = mpt.sub %x, %6 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  %13 = mpt.mul %12, %11 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  %14 = mpt.reshape %mean : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
  %15 = mpt.broadcast %14 : (tensor<2x2x1xf32>) -> tensor<2x2x2xf32>
  %16 = mpt.reshape %15 : (tensor<2x2x2xf32>) -> tensor<2x1x4xf32>
  %17 = mpt.sub %x, %16 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  %18 = mpt.mul %17, %11 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  return %13, %18 : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// gamma = 1 + w, as in Gemma.
// CHECK-LABEL: func.func @rms_norm
//       CHECK:   %[[G:.*]] = mpt.add %arg1
//  CHECK-NEXT:   mpt.rms_norm %arg0, %[[G]] {eps = 5.000000e-01 : f64}
func.func @rms_norm(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  %one = mpt.constant dense<1.0> : tensor<f32>
  %two = mpt.constant dense<2.0> : tensor<f32>
  %eps = mpt.constant dense<0.5> : tensor<f32>
  %0 = mpt.pow %x, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = mpt.reduce %0 {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = mpt.add %1, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = mpt.rsqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = mpt.mul %x, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = mpt.add %w, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = mpt.mul %4, %5 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// The variance of n - 1 numbers, that of another value, over a dimension in the middle,
// x - mean that is returned.
// REMARK-DAG: not-raised {{.*}} Function=not_norm | Reason="mpt.rms_norm: the sum of 4 squares is divided by 3, not by their number"
// REMARK-DAG: not-raised {{.*}} Function=not_norm | Reason="mpt.rms_norm: expected x rstd gamma of the x that the mean of squares is of, with gamma along the last dimension"
// REMARK-DAG: not-raised {{.*}} Function=not_norm | Reason="mpt.rms_norm: the mean is over dimensions [1], expected the last alone"
// REMARK-DAG: not-raised {{.*}} Function=not_norm | Reason="mpt.layer_norm: others read a value in between that is as large as x"
// CHECK-LABEL: func.func @not_norm
//   CHECK-NOT:   mpt.layer_norm
//   CHECK-NOT:   mpt.rms_norm
//   CHECK-NOT:   mpt.batch_norm
//       CHECK:   return
func.func @not_norm(%x: tensor<2x3x4xf32>, %z: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %three = mpt.constant dense<3.0> : tensor<f32>
  %four = mpt.constant dense<4.0> : tensor<f32>
  %0 = mpt.mul %x, %x : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = mpt.reduce %0 {axes = array<i64: 2>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %2 = mpt.div %1, %three : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %3 = mpt.rsqrt %2 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %4 = mpt.mul %x, %3 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %5 = mpt.div %1, %four : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %6 = mpt.rsqrt %5 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %7 = mpt.mul %z, %6 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %8 = mpt.reduce %0 {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  %9 = mpt.rsqrt %8 : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %10 = mpt.mul %x, %9 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  %mean = mpt.reduce %z {axes = array<i64: 2>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %11 = mpt.sub %z, %mean : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %12 = mpt.mul %11, %11 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %13 = mpt.reduce %12 {axes = array<i64: 2>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %14 = mpt.rsqrt %13 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %15 = mpt.mul %11, %14 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  return %4, %7, %10, %11, %15 : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// The bias of three heads of two.
// CHECK-LABEL: func.func @linear
//       CHECK:   %[[B:.*]] = mpt.reshape %arg2 : (tensor<3x2xf32>) -> tensor<6xf32>
//  CHECK-NEXT:   %[[Y:.*]] = mpt.linear %arg0, %arg1, %[[B]] : (tensor<2x4x5xf32>, tensor<5x6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
//  CHECK-NEXT:   mpt.reshape %[[Y]] : (tensor<2x4x6xf32>) -> tensor<2x4x3x2xf32>
func.func @linear(%x: tensor<2x4x5xf32>, %w: tensor<5x6xf32>, %b: tensor<3x2xf32>) -> tensor<2x4x3x2xf32> {
  %0 = mpt.reshape %x : (tensor<2x4x5xf32>) -> tensor<8x5xf32>
  %1 = mpt.matmul %0, %w : (tensor<8x5xf32>, tensor<5x6xf32>) -> tensor<8x6xf32>
  %2 = mpt.reshape %1 : (tensor<8x6xf32>) -> tensor<2x4x3x2xf32>
  %3 = mpt.reshape %b : (tensor<3x2xf32>) -> tensor<1x1x3x2xf32>
  %4 = mpt.add %2, %3 : (tensor<2x4x3x2xf32>, tensor<1x1x3x2xf32>) -> tensor<2x4x3x2xf32>
  return %4 : tensor<2x4x3x2xf32>
}

// CHECK-LABEL: func.func @conv
//       CHECK:   mpt.conv2d %arg0, %arg1, %arg2 {padding = array<i64: 1, 1, 1, 1>}
func.func @conv(%x: tensor<1x4x4x2xf32>, %f: tensor<3x3x2x5xf32>, %b: tensor<5xf32>) -> tensor<1x4x4x5xf32> {
  %0 = mpt.conv2d %x, %f {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x4x4x5xf32>
  %1 = mpt.add %0, %b : (tensor<1x4x4x5xf32>, tensor<5xf32>) -> tensor<1x4x4x5xf32>
  return %1 : tensor<1x4x4x5xf32>
}

// A bias for each row, a bias for each element, a matmul that others read, two batches.
// REMARK-DAG: not-raised {{.*}} Function=not_linear | Reason="mpt.linear: what is added is not one number for each column"
// REMARK-DAG: not-raised {{.*}} Function=not_linear | Reason="mpt.linear: others read the result without its bias"
// REMARK-DAG: not-raised {{.*}} Function=not_linear | Reason="mpt.linear: each batch has a matrix of its own"
// CHECK-LABEL: func.func @not_linear
//   CHECK-NOT:   mpt.linear
//       CHECK:   return
func.func @not_linear(%x: tensor<4x5xf32>, %w: tensor<5x4xf32>, %c: tensor<4x1xf32>, %d: tensor<4x4xf32>, %b: tensor<4xf32>, %v: tensor<2x5x4xf32>, %u: tensor<2x4x5xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4x4xf32>) {
  %0 = mpt.matmul %x, %w : (tensor<4x5xf32>, tensor<5x4xf32>) -> tensor<4x4xf32>
  %1 = mpt.add %0, %c : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %2 = mpt.matmul %x, %w : (tensor<4x5xf32>, tensor<5x4xf32>) -> tensor<4x4xf32>
  %3 = mpt.add %2, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = mpt.matmul %x, %w : (tensor<4x5xf32>, tensor<5x4xf32>) -> tensor<4x4xf32>
  %5 = mpt.add %4, %b : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %6 = mpt.matmul %u, %v : (tensor<2x4x5xf32>, tensor<2x5x4xf32>) -> tensor<2x4x4xf32>
  %7 = mpt.add %6, %b : (tensor<2x4x4xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  return %1, %3, %4, %5, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4x4xf32>
}

// Scaled queries, a causal mask, and values in the first place.
// CHECK-LABEL: func.func @attention
//       CHECK:   %[[V:.*]] = mpt.transpose %arg2 {permutation = array<i64: 0, 1, 3, 2>}
//       CHECK:   %[[Y:.*]], %{{.*}} = mpt.attention %arg0, %arg1, %[[V]] {causal, scale = 5.000000e-01 : f64}
//  CHECK-NEXT:   mpt.transpose %[[Y]] {permutation = array<i64: 0, 2, 1, 3>}
func.func @attention(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x4x3xf32>) -> tensor<1x3x2x4xf32> {
  %low = mpt.constant dense<-1.0e30> : tensor<f32>
  %two = mpt.constant dense<2.0> : tensor<f32>
  %rows = mpt.iota {axis = 0 : i64} : () -> tensor<3x3xi32>
  %columns = mpt.iota {axis = 1 : i64} : () -> tensor<3x3xi32>
  %seen = mpt.compare %columns, %rows {predicate = #mpt.predicate<le>} : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
  %0 = mpt.div %q, %two : (tensor<1x2x3x4xf32>, tensor<f32>) -> tensor<1x2x3x4xf32>
  %1 = mpt.matmul %0, %k {transpose_rhs} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32>
  %2 = mpt.where %seen, %1, %low : (tensor<3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %3 = mpt.softmax %2 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %4 = mpt.matmul %v, %3 {transpose_rhs} : (tensor<1x2x4x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x4x3xf32>
  %5 = mpt.transpose %4 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x2x4x3xf32>) -> tensor<1x3x2x4xf32>
  return %5 : tensor<1x3x2x4xf32>
}

// A causal mask as a constant; another one stays a mask.
// CHECK-LABEL: func.func @constant_masks
//       CHECK:   mpt.attention %arg0, %arg1, %arg2 {causal, scale = 1.000000e+00 : f64}
//       CHECK:   %[[MASK:.*]] = mpt.reshape %{{.*}} : (tensor<2x2xi1>) -> tensor<1x1x2x2xi1>
//       CHECK:   mpt.attention %arg0, %arg1, %arg2, %[[MASK]] {scale = 1.000000e+00 : f64}
func.func @constant_masks(%q: tensor<1x2x2x4xf32>, %k: tensor<1x2x2x4xf32>, %v: tensor<1x2x2x4xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) {
  %low = mpt.constant dense<0xFF800000> : tensor<f32>
  %lower = mpt.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %other = mpt.constant dense<[[true, true], [true, false]]> : tensor<2x2xi1>
  %0 = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x2xf32>
  %1 = mpt.where %lower, %0, %low : (tensor<2x2xi1>, tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %2 = mpt.softmax %1 : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %3 = mpt.matmul %2, %v : (tensor<1x2x2x2xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %4 = mpt.where %other, %0, %low : (tensor<2x2xi1>, tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %5 = mpt.softmax %4 : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %6 = mpt.matmul %5, %v : (tensor<1x2x2x2xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  return %3, %6 : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>
}

// A causal mask among others, one of them always true. A row that sees nothing becomes the mean
// of all values.
// CHECK-LABEL: func.func @causal_and_padded
//       CHECK:   %[[CAUSAL:.*]] = mpt.compare %{{.*}}, %{{.*}} {predicate = #mpt.predicate<ge>} : (tensor<1x1x3x1xi32>, tensor<1x1x1x4xi32>) -> tensor<1x1x3x4xi1>
//       CHECK:   %[[SEEN:.*]] = mpt.and %arg3, %[[CAUSAL]]
//       CHECK:   %[[ANY:.*]] = mpt.cast %{{.*}} : (tensor<2x1x3x1xi32>) -> tensor<2x1x3x1xi1>
//       CHECK:   %[[Y:.*]], %{{.*}} = mpt.attention %arg0, %arg1, %arg2, %arg3 {causal, scale = 1.000000e+00 : f64}
//       CHECK:   %[[MEAN:.*]] = mpt.reduce %arg2 {axes = array<i64: 2>, keep_dims, kind = #mpt.reduce_kind<mean>}
//       CHECK:   mpt.where %[[ANY]], %[[Y]], %[[MEAN]]
func.func @causal_and_padded(%q: tensor<2x2x3x5xf32>, %k: tensor<2x2x4x5xf32>, %v: tensor<2x2x4x5xf32>, %m: tensor<2x1x1x4xi1>) -> tensor<2x2x3x5xf32> {
  %low = mpt.constant dense<-1.0e30> : tensor<f32>
  %true = mpt.constant dense<true> : tensor<i1>
  %three = mpt.constant dense<3> : tensor<i32>
  %four = mpt.constant dense<4> : tensor<i32>
  %0 = mpt.iota {axis = 0 : i64} : () -> tensor<3x4xi32>
  %late = mpt.add %0, %four : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  %rows = mpt.sub %late, %three : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  %columns = mpt.iota {axis = 1 : i64} : () -> tensor<3x4xi32>
  %lower = mpt.compare %rows, %columns {predicate = #mpt.predicate<ge>} : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
  %both = mpt.and %m, %lower : (tensor<2x1x1x4xi1>, tensor<3x4xi1>) -> tensor<2x1x3x4xi1>
  %seen = mpt.and %true, %both : (tensor<i1>, tensor<2x1x3x4xi1>) -> tensor<2x1x3x4xi1>
  %1 = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x2x3x5xf32>, tensor<2x2x4x5xf32>) -> tensor<2x2x3x4xf32>
  %2 = mpt.where %seen, %1, %low : (tensor<2x1x3x4xi1>, tensor<2x2x3x4xf32>, tensor<f32>) -> tensor<2x2x3x4xf32>
  %3 = mpt.softmax %2 : (tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  %4 = mpt.matmul %3, %v : (tensor<2x2x3x4xf32>, tensor<2x2x4x5xf32>) -> tensor<2x2x3x5xf32>
  return %4 : tensor<2x2x3x5xf32>
}

// With a finite number, a row that sees nothing sees everything, with a query of zeros; with
// -inf it stays as it is. Scores are scaled, and a bias is added.
// CHECK-LABEL: func.func @masks
//       CHECK:   %[[ANY:.*]] = mpt.cast %{{.*}} : (tensor<1x1x1x1xi32>) -> tensor<1x1x1x1xi1>
//       CHECK:   %[[NONE:.*]] = mpt.not %[[ANY]]
//       CHECK:   %[[MASK:.*]] = mpt.or %arg3, %[[NONE]]
//       CHECK:   %[[Q:.*]] = mpt.where %[[ANY]], %arg0, %{{.*}} : (tensor<1x1x1x1xi1>, tensor<1x2x3x4xf32>, tensor<f32>) -> tensor<1x2x3x4xf32>
//       CHECK:   mpt.attention %[[Q]], %arg1, %arg2, %[[MASK]] {scale = 2.000000e+00 : f64}
//       CHECK:   mpt.attention %arg0, %arg1, %arg2, %arg3 bias(%arg4) {scale = 1.000000e+00 : f64}
func.func @masks(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x3x4xf32>, %m: tensor<1x1x1x3xi1>, %b: tensor<1x2x3x3xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %low = mpt.constant dense<-1.0e30> : tensor<f32>
  %lowest = mpt.constant dense<0xFF800000> : tensor<f32>
  %two = mpt.constant dense<2.0> : tensor<f32>
  %1 = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32>
  %2 = mpt.mul %1, %two : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %3 = mpt.where %m, %2, %low : (tensor<1x1x1x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %4 = mpt.softmax %3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = mpt.matmul %4, %v : (tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %6 = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32>
  %7 = mpt.add %6, %b : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %8 = mpt.where %m, %7, %lowest : (tensor<1x1x1x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %9 = mpt.softmax %8 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %10 = mpt.matmul %9, %v : (tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return %5, %10 : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// A number that hides little, probabilities that are returned.
// REMARK-DAG: not-raised {{.*}} Function=not_attention | Reason="mpt.attention: others read the probabilities"
// REMARK-DAG: not-raised {{.*}} Function=not_attention | Reason="mpt.attention: what is masked becomes -10, expected a number of at most -1e9"
// CHECK-LABEL: func.func @not_attention
//   CHECK-NOT:   mpt.attention
//       CHECK:   return
func.func @not_attention(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x3x4xf32>, %m: tensor<1x1x1x3xi1>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x3xf32>) {
  %low = mpt.constant dense<-10.0> : tensor<f32>
  %0 = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32>
  %1 = mpt.where %m, %0, %low : (tensor<1x1x1x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %2 = mpt.softmax %1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %3 = mpt.matmul %2, %v : (tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %4 = mpt.softmax %0 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = mpt.matmul %4, %v : (tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return %3, %5, %4 : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x3xf32>
}

// CHECK-LABEL: func.func @cross_entropy
//       CHECK:   %[[Y:.*]] = mpt.reshape %arg1 : (tensor<4x1xi64>) -> tensor<4xi64>
//  CHECK-NEXT:   %[[L:.*]], %{{.*}} = mpt.cross_entropy %arg0, %[[Y]] : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
//  CHECK-NEXT:   return %[[L]]
func.func @cross_entropy(%x: tensor<4x5xf32>, %y: tensor<4x1xi64>) -> tensor<f32> {
  %zero = mpt.constant dense<0> : tensor<i64>
  %last = mpt.constant dense<4> : tensor<i64>
  %width = mpt.constant dense<5> : tensor<i64>
  %count = mpt.constant dense<4.0> : tensor<f32>
  %rows = mpt.iota {axis = 0 : i64} : () -> tensor<4x1xi64>
  %0 = mpt.maximum %y, %zero : (tensor<4x1xi64>, tensor<i64>) -> tensor<4x1xi64>
  %1 = mpt.minimum %0, %last : (tensor<4x1xi64>, tensor<i64>) -> tensor<4x1xi64>
  %2 = mpt.mul %rows, %width : (tensor<4x1xi64>, tensor<i64>) -> tensor<4x1xi64>
  %3 = mpt.add %1, %2 : (tensor<4x1xi64>, tensor<4x1xi64>) -> tensor<4x1xi64>
  %4 = mpt.log_softmax %x : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %5 = mpt.reshape %4 : (tensor<4x5xf32>) -> tensor<20xf32>
  %6 = mpt.gather %5, %3 : (tensor<20xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
  %7 = mpt.reduce %6 {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<4x1xf32>) -> tensor<f32>
  %8 = mpt.div %7, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %9 = mpt.neg %8 : (tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}

// Rows of another width, labels that may leave their row, rows that are weighed.
// REMARK-DAG: not-raised {{.*}} Function=not_cross_entropy | Reason="mpt.cross_entropy: what is read is not one element of each row, at its label"
// REMARK-DAG: not-raised {{.*}} Function=not_cross_entropy | Reason="mpt.cross_entropy: a label may be one of the next row"
// REMARK-DAG: not-raised {{.*}} Function=not_cross_entropy | Reason="mpt.cross_entropy: losses of rows are weighed or masked"
// CHECK-LABEL: func.func @not_cross_entropy
//   CHECK-NOT:   mpt.cross_entropy
//       CHECK:   return
func.func @not_cross_entropy(%x: tensor<4x5xf32>, %y: tensor<4xi64>, %w: tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = mpt.constant dense<0> : tensor<i64>
  %last = mpt.constant dense<4> : tensor<i64>
  %width = mpt.constant dense<5> : tensor<i64>
  %less = mpt.constant dense<4> : tensor<i64>
  %rows = mpt.iota {axis = 0 : i64} : () -> tensor<4xi64>
  %0 = mpt.maximum %y, %zero : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %1 = mpt.minimum %0, %last : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %2 = mpt.mul %rows, %width : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %3 = mpt.mul %rows, %less : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %4 = mpt.log_softmax %x : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %5 = mpt.reshape %4 : (tensor<4x5xf32>) -> tensor<20xf32>
  %6 = mpt.add %1, %3 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %7 = mpt.gather %5, %6 : (tensor<20xf32>, tensor<4xi64>) -> tensor<4xf32>
  %8 = mpt.reduce %7 {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<4xf32>) -> tensor<f32>
  %9 = mpt.add %y, %2 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %10 = mpt.gather %5, %9 : (tensor<20xf32>, tensor<4xi64>) -> tensor<4xf32>
  %11 = mpt.reduce %10 {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<4xf32>) -> tensor<f32>
  %12 = mpt.add %1, %2 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %13 = mpt.gather %5, %12 : (tensor<20xf32>, tensor<4xi64>) -> tensor<4xf32>
  %14 = mpt.mul %13, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %15 = mpt.reduce %14 {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<4xf32>) -> tensor<f32>
  return %8, %11, %15 : tensor<f32>, tensor<f32>, tensor<f32>
}

// One-hot labels: a row whose label is out of range counts nothing.
// CHECK-LABEL: func.func @one_hot_loss
//       CHECK:   %[[ROWS:.*]] = mpt.reshape %arg1 : (tensor<4x1xi64>) -> tensor<4xi64>
//       CHECK:   %[[ABOVE:.*]] = mpt.compare %[[ROWS]], %{{.*}} {predicate = #mpt.predicate<ge>}
//       CHECK:   %[[BELOW:.*]] = mpt.compare %[[ROWS]], %{{.*}} {predicate = #mpt.predicate<lt>}
//       CHECK:   %[[IS:.*]] = mpt.and %[[ABOVE]], %[[BELOW]]
//       CHECK:   %[[LABELS:.*]] = mpt.where %[[IS]], %[[ROWS]]
//       CHECK:   %[[LOSS:.*]], %{{.*}} = mpt.cross_entropy %arg0, %[[LABELS]] {ignore_index = -1 : i64, reduction = #mpt.loss_reduction<sum>}
//       CHECK:   mpt.mul %[[LOSS]], %{{.*}} : (tensor<f32>, tensor<f32>)
//   CHECK-NOT:   mpt.log_softmax
//       CHECK:   return
func.func @one_hot_loss(%x: tensor<4x5xf32>, %y: tensor<4x1xi64>) -> tensor<f32> {
  %classes = mpt.iota {axis = 1 : i64} : () -> tensor<4x5xi64>
  %0 = mpt.compare %y, %classes {predicate = #mpt.predicate<eq>} : (tensor<4x1xi64>, tensor<4x5xi64>) -> tensor<4x5xi1>
  %1 = mpt.cast %0 : (tensor<4x5xi1>) -> tensor<4x5xf32>
  %2 = mpt.log_softmax %x : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %3 = mpt.mul %2, %1 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %4 = mpt.reduce %3 {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<4x5xf32>) -> tensor<4xf32>
  %5 = mpt.neg %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = mpt.reduce %5 {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<4xf32>) -> tensor<f32>
  return %6 : tensor<f32>
}

// Probabilities, classes along the other dimension, labels of each element, a log-softmax that
// is returned.
// REMARK-DAG: not-raised {{.*}} Function=not_one_hot | Reason="mpt.cross_entropy: labels are neither integers nor their one-hot form: they may be smoothed, or probabilities"
// REMARK-DAG: not-raised {{.*}} Function=not_one_hot | Reason="mpt.cross_entropy: others read the log-softmax"
// CHECK-LABEL: func.func @not_one_hot
//   CHECK-NOT:   mpt.cross_entropy
//       CHECK:   return
func.func @not_one_hot(%x: tensor<5x5xf32>, %y: tensor<5x1xi64>, %z: tensor<5x5xi64>, %smooth: tensor<5x5xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<5x5xf32>) {
  %rows = mpt.iota {axis = 0 : i64} : () -> tensor<5x5xi64>
  %classes = mpt.iota {axis = 1 : i64} : () -> tensor<5x5xi64>
  %0 = mpt.log_softmax %x : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %1 = mpt.mul %0, %smooth : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %2 = mpt.reduce %1 {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<5x5xf32>) -> tensor<f32>
  %3 = mpt.log_softmax %x : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %4 = mpt.compare %y, %rows {predicate = #mpt.predicate<eq>} : (tensor<5x1xi64>, tensor<5x5xi64>) -> tensor<5x5xi1>
  %5 = mpt.cast %4 : (tensor<5x5xi1>) -> tensor<5x5xf32>
  %6 = mpt.mul %3, %5 : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %7 = mpt.reduce %6 {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<5x5xf32>) -> tensor<f32>
  %8 = mpt.log_softmax %x : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %9 = mpt.compare %z, %classes {predicate = #mpt.predicate<eq>} : (tensor<5x5xi64>, tensor<5x5xi64>) -> tensor<5x5xi1>
  %10 = mpt.cast %9 : (tensor<5x5xi1>) -> tensor<5x5xf32>
  %11 = mpt.mul %8, %10 : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %12 = mpt.reduce %11 {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<5x5xf32>) -> tensor<f32>
  %13 = mpt.log_softmax %x : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %14 = mpt.compare %y, %classes {predicate = #mpt.predicate<eq>} : (tensor<5x1xi64>, tensor<5x5xi64>) -> tensor<5x5xi1>
  %15 = mpt.cast %14 : (tensor<5x5xi1>) -> tensor<5x5xf32>
  %16 = mpt.mul %13, %15 : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %17 = mpt.reduce %16 {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<5x5xf32>) -> tensor<f32>
  return %2, %7, %12, %17, %13 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<5x5xf32>
}

// REMARK-DAG: not-raised {{.*}} Function=not_log_softmax | Reason="mpt.log_softmax: the sum is over dimensions [0], expected the last alone"
// REMARK-DAG: not-raised {{.*}} Function=not_log_softmax | Reason="mpt.log_softmax: others read the exponentials"
// REMARK-DAG: not-raised {{.*}} Function=not_log_softmax | Reason="mpt.log_softmax: the sum is that of other exponentials"
// CHECK-LABEL: func.func @not_log_softmax
//   CHECK-NOT:   mpt.log_softmax
//       CHECK:   return
func.func @not_log_softmax(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = mpt.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = mpt.reduce %0 {axes = array<i64: 0>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %2 = mpt.log %1 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = mpt.sub %x, %2 : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %4 = mpt.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = mpt.reduce %4 {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %6 = mpt.log %5 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = mpt.sub %x, %6 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %8 = mpt.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = mpt.reduce %8 {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %10 = mpt.log %9 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %11 = mpt.sub %z, %10 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %3, %7, %11, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Statistics over the batch alone, gamma for each row, a standard deviation of n - 1 numbers.
// REMARK-DAG: not-raised {{.*}} Function=not_batch_norm | Reason="mpt.layer_norm: the mean is over dimensions [0], expected the last alone, all others, or some without the first"
// REMARK-DAG: not-raised {{.*}} Function=not_batch_norm | Reason="mpt.batch_norm: expected (x - mean) rstd gamma + beta of the x that the variance is of, with gamma and beta along the last dimension"
// REMARK-DAG: not-raised {{.*}} Function=not_batch_norm | Reason="mpt.layer_norm: the sum of 6 squares is divided by 5, not by their number"
// CHECK-LABEL: func.func @not_batch_norm
//   CHECK-NOT:   mpt.batch_norm
//   CHECK-NOT:   mpt.layer_norm
//       CHECK:   return
func.func @not_batch_norm(%x: tensor<2x3x4xf32>, %gamma: tensor<3x1xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %five = mpt.constant dense<5.0> : tensor<f32>
  %eps = mpt.constant dense<0.5> : tensor<f32>
  %mean = mpt.reduce %x {axes = array<i64: 0>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<1x3x4xf32>
  %0 = mpt.sub %x, %mean : (tensor<2x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = mpt.mul %0, %0 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %2 = mpt.reduce %1 {axes = array<i64: 0>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<1x3x4xf32>
  %3 = mpt.add %2, %eps : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<1x3x4xf32>
  %4 = mpt.rsqrt %3 : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %5 = mpt.mul %0, %4 : (tensor<2x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x4xf32>
  %mean2 = mpt.reduce %x {axes = array<i64: 0, 1>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<1x1x4xf32>
  %6 = mpt.sub %x, %mean2 : (tensor<2x3x4xf32>, tensor<1x1x4xf32>) -> tensor<2x3x4xf32>
  %7 = mpt.mul %6, %6 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %8 = mpt.reduce %7 {axes = array<i64: 0, 1>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<2x3x4xf32>) -> tensor<1x1x4xf32>
  %9 = mpt.add %8, %eps : (tensor<1x1x4xf32>, tensor<f32>) -> tensor<1x1x4xf32>
  %10 = mpt.rsqrt %9 : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  %11 = mpt.mul %10, %gamma : (tensor<1x1x4xf32>, tensor<3x1xf32>) -> tensor<1x3x4xf32>
  %12 = mpt.mul %6, %11 : (tensor<2x3x4xf32>, tensor<1x3x4xf32>) -> tensor<2x3x4xf32>
  %centered = mpt.sub %x, %mean2 : (tensor<2x3x4xf32>, tensor<1x1x4xf32>) -> tensor<2x3x4xf32>
  %squares = mpt.mul %centered, %centered : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %13 = mpt.reduce %squares {axes = array<i64: 0, 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<2x3x4xf32>) -> tensor<1x1x4xf32>
  %14 = mpt.div %13, %five : (tensor<1x1x4xf32>, tensor<f32>) -> tensor<1x1x4xf32>
  %15 = mpt.sqrt %14 : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  %16 = mpt.div %centered, %15 : (tensor<2x3x4xf32>, tensor<1x1x4xf32>) -> tensor<2x3x4xf32>
  return %5, %12, %16 : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// Dropout in between, one head without its dimension, queries of another type.
// REMARK-DAG: not-raised {{.*}} Function=changed_probabilities | Reason="mpt.attention: probabilities are changed after their softmax"
// REMARK-DAG: not-raised {{.*}} Function=changed_probabilities | Reason="mpt.attention: its matmul has operands of 5 and 5 dimensions, expected 3 or 4: batch, heads, rows and columns"
// REMARK-DAG: not-raised {{.*}} Function=changed_probabilities | Reason="mpt.attention: expected scores that are a matmul, multiplied by numbers, with values added and one mask"
// CHECK-LABEL: func.func @changed_probabilities
//   CHECK-NOT:   mpt.attention
//       CHECK:   return
func.func @changed_probabilities(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x3x4xf32>, %keep: tensor<1x2x3x3xi1>, %s: tensor<1x2x3x3xf32>, %p: tensor<1x1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %0 = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32>
  %1 = mpt.softmax %0 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %2 = mpt.where %keep, %1, %zero : (tensor<1x2x3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %3 = mpt.matmul %2, %v : (tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %4 = mpt.matmul %p, %p {transpose_rhs} : (tensor<1x1x2x3x4xf32>, tensor<1x1x2x3x4xf32>) -> tensor<1x1x2x3x3xf32>
  %5 = mpt.softmax %4 : (tensor<1x1x2x3x3xf32>) -> tensor<1x1x2x3x3xf32>
  %6 = mpt.matmul %5, %p : (tensor<1x1x2x3x3xf32>, tensor<1x1x2x3x4xf32>) -> tensor<1x1x2x3x4xf32>
  %7 = mpt.tanh %0 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %8 = mpt.softmax %7 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %9 = mpt.matmul %8, %v : (tensor<1x2x3x3xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return %3, %6, %9 : tensor<1x2x3x4xf32>, tensor<1x1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// Numbers of no GELU and no SiLU, and a gate.
// REMARK-DAG: not-raised {{.*}} Function=not_activations | Reason="mpt.gelu: expected x / 2 (1 + erf(x / sqrt(2))), with no other number"
// REMARK-DAG: not-raised {{.*}} Function=not_activations | Reason="mpt.gelu: expected x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), with no other number"
// REMARK-DAG: not-raised {{.*}} Function=not_activations | Reason="mpt.silu: expected x sigmoid(x), with no other number"
// REMARK-NOT: Function=gate
// CHECK-LABEL: func.func @not_activations
//   CHECK-NOT:   mpt.gelu
//   CHECK-NOT:   mpt.silu
//       CHECK:   return
func.func @not_activations(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = mpt.constant dense<1.0> : tensor<f32>
  %half = mpt.constant dense<0.5> : tensor<f32>
  %inverse = mpt.constant dense<0.7> : tensor<f32>
  %cubic = mpt.constant dense<0.045> : tensor<f32>
  %root = mpt.constant dense<0.7978845608> : tensor<f32>
  %quick = mpt.constant dense<1.702> : tensor<f32>
  %h = mpt.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = mpt.mul %x, %inverse : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = mpt.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpt.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = mpt.mul %h, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = mpt.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = mpt.mul %4, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = mpt.mul %5, %cubic : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %7 = mpt.add %x, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = mpt.mul %7, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %9 = mpt.tanh %8 : (tensor<4xf32>) -> tensor<4xf32>
  %10 = mpt.add %9, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %11 = mpt.mul %h, %10 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %12 = mpt.mul %x, %quick : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %13 = mpt.sigmoid %12 : (tensor<4xf32>) -> tensor<4xf32>
  %14 = mpt.mul %x, %13 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3, %11, %14 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func @gate(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpt.sigmoid %z : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpt.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @lstm_cell
//  CHECK-NEXT:   %[[H:.*]], %[[C:.*]], %{{.*}} = mpt.lstm_cell %arg0, %arg1, %arg2, %arg3, %arg4, %arg5
//  CHECK-NEXT:   return %[[H]], %[[C]]
func.func @lstm_cell(%x: tensor<2x3xf32>, %h: tensor<2x4xf32>, %c: tensor<2x4xf32>, %w: tensor<3x16xf32>, %u: tensor<4x16xf32>, %b: tensor<16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = mpt.linear %h, %u, %b : (tensor<2x4xf32>, tensor<4x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
  %d = mpt.matmul %x, %w : (tensor<2x3xf32>, tensor<3x16xf32>) -> tensor<2x16xf32>
  %z = mpt.add %a, %d : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  %zi = mpt.slice %z {offsets = array<i64: 0, 0>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zf = mpt.slice %z {offsets = array<i64: 0, 4>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zg = mpt.slice %z {offsets = array<i64: 0, 8>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zo = mpt.slice %z {offsets = array<i64: 0, 12>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %i = mpt.sigmoid %zi : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %f = mpt.sigmoid %zf : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %o = mpt.sigmoid %zo : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %g = mpt.tanh %zg : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %fc = mpt.mul %f, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %ig = mpt.mul %i, %g : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %newc = mpt.add %fc, %ig : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = mpt.tanh %newc : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %newh = mpt.mul %o, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %newh, %newc : tensor<2x4xf32>, tensor<2x4xf32>
}

// Gates in another order.
// REMARK-DAG: not-raised {{.*}} Function=not_lstm_cell | Reason="mpt.lstm_cell: gates are not in the order input, forget, cell, output"
// CHECK-LABEL: func.func @not_lstm_cell
//   CHECK-NOT:   mpt.lstm_cell
//       CHECK:   return
func.func @not_lstm_cell(%x: tensor<2x3xf32>, %h: tensor<2x4xf32>, %c: tensor<2x4xf32>, %w: tensor<3x16xf32>, %u: tensor<4x16xf32>, %b: tensor<16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = mpt.linear %h, %u, %b : (tensor<2x4xf32>, tensor<4x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
  %d = mpt.matmul %x, %w : (tensor<2x3xf32>, tensor<3x16xf32>) -> tensor<2x16xf32>
  %z = mpt.add %a, %d : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  %zi = mpt.slice %z {offsets = array<i64: 0, 0>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zf = mpt.slice %z {offsets = array<i64: 0, 8>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zg = mpt.slice %z {offsets = array<i64: 0, 4>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zo = mpt.slice %z {offsets = array<i64: 0, 12>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %i = mpt.sigmoid %zi : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %f = mpt.sigmoid %zf : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %o = mpt.sigmoid %zo : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %g = mpt.tanh %zg : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %fc = mpt.mul %f, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %ig = mpt.mul %i, %g : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %newc = mpt.add %fc, %ig : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = mpt.tanh %newc : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %newh = mpt.mul %o, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %newh, %newc : tensor<2x4xf32>, tensor<2x4xf32>
}

// A gate that is returned.
// REMARK-DAG: not-raised {{.*}} Function=read_gate | Reason="mpt.lstm_cell: others read a gate"
// CHECK-LABEL: func.func @read_gate
//   CHECK-NOT:   mpt.lstm_cell
//       CHECK:   return
func.func @read_gate(%x: tensor<2x3xf32>, %h: tensor<2x4xf32>, %c: tensor<2x4xf32>, %w: tensor<3x16xf32>, %u: tensor<4x16xf32>, %b: tensor<16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = mpt.linear %h, %u, %b : (tensor<2x4xf32>, tensor<4x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
  %d = mpt.matmul %x, %w : (tensor<2x3xf32>, tensor<3x16xf32>) -> tensor<2x16xf32>
  %z = mpt.add %a, %d : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  %zi = mpt.slice %z {offsets = array<i64: 0, 0>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zf = mpt.slice %z {offsets = array<i64: 0, 4>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zg = mpt.slice %z {offsets = array<i64: 0, 8>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %zo = mpt.slice %z {offsets = array<i64: 0, 12>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<2x4xf32>
  %i = mpt.sigmoid %zi : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %f = mpt.sigmoid %zf : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %o = mpt.sigmoid %zo : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %g = mpt.tanh %zg : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %fc = mpt.mul %f, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %ig = mpt.mul %i, %g : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %newc = mpt.add %fc, %ig : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = mpt.tanh %newc : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %newh = mpt.mul %o, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %newh, %newc, %f : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// Attention as eager code of PyTorch has it: what is hidden comes first, and padding and
// causality hide by one or the other.
// CHECK-LABEL: func.func @hides
//       CHECK:   %[[SHOWN:.*]] = mpt.not %{{.*}} : (tensor<2x1x1x8xi1>)
//       CHECK:   mpt.attention {{.*}}causal
//   CHECK-NOT:   mpt.softmax
func.func @hides(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pads: tensor<2x1x1x8xi1>) -> tensor<2x4x8x16xf32> {
  %low = mpt.constant dense<0xFF800000> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %later = mpt.compare %column, %row {predicate = #mpt.predicate<gt>} : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %hidden = mpt.or %pads, %later : (tensor<2x1x1x8xi1>, tensor<8x8xi1>) -> tensor<2x1x8x8xi1>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = mpt.where %hidden, %low, %s : (tensor<2x1x8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = mpt.softmax %m : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// Of heads alone, with dropout, scores that are widened for the softmax, a bias and a mask
// that is added.
// CHECK-LABEL: func.func @heads
//       CHECK:   %[[Q:.*]] = mpt.reshape %arg0 : (tensor<6x8x16xbf16>) -> tensor<1x6x8x16xbf16>
//       CHECK:   mpt.attention %[[Q]], {{.*}}bias({{.*}}causal, dropout = 1.000000e-01 : f64, {{.*}}stream = 3 : i64
//   CHECK-NOT:   mpt.softmax
func.func @heads(%q: tensor<6x8x16xbf16>, %k: tensor<6x8x16xbf16>, %v: tensor<6x8x16xbf16>, %b: tensor<6x8x8xf32> {mpt.name = "b", mpt.role = "parameter"}, %seed: tensor<i64>, %attempt: tensor<i64>) -> tensor<6x8x16xbf16> {
  %low = mpt.constant dense<-3.40282347E+38> : tensor<f32>
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %seen = mpt.compare %column, %row {predicate = #mpt.predicate<le>} : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %mask = mpt.where %seen, %zero, %low : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<6x8x16xbf16>, tensor<6x8x16xbf16>) -> tensor<6x8x8xbf16>
  %w = mpt.cast %s : (tensor<6x8x8xbf16>) -> tensor<6x8x8xf32>
  %a = mpt.add %w, %b : (tensor<6x8x8xf32>, tensor<6x8x8xf32>) -> tensor<6x8x8xf32>
  %m = mpt.add %a, %mask : (tensor<6x8x8xf32>, tensor<8x8xf32>) -> tensor<6x8x8xf32>
  %p = mpt.softmax %m : (tensor<6x8x8xf32>) -> tensor<6x8x8xf32>
  %n = mpt.cast %p : (tensor<6x8x8xf32>) -> tensor<6x8x8xbf16>
  %d, %kept = mpt.dropout %n, %seed, %attempt {rate = 0.1 : f64, stream = 3 : i64} : (tensor<6x8x8xbf16>, tensor<i64>, tensor<i64>) -> (tensor<6x8x8xbf16>, tensor<6x8x8xi1>)
  %y = mpt.matmul %d, %v : (tensor<6x8x8xbf16>, tensor<6x8x16xbf16>) -> tensor<6x8x16xbf16>
  return %y : tensor<6x8x16xbf16>
}

// A mask of -1e9 that is added leaves scores their differences where all is hidden, so it
// stays a bias.
// CHECK-LABEL: func.func @added_low
//       CHECK:   mpt.attention {{.*}} bias(
func.func @added_low(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %seen: tensor<2x1x1x8xi1>) -> tensor<2x4x8x16xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %mask = mpt.where %seen, %zero, %low : (tensor<2x1x1x8xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x8xf32>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = mpt.add %s, %mask : (tensor<2x4x8x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x4x8x8xf32>
  %p = mpt.softmax %m : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// Others read which probabilities were kept.
// CHECK-LABEL: func.func @kept
//   CHECK-NOT:   mpt.attention
//       CHECK:   return
func.func @kept(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %seed: tensor<i64>, %attempt: tensor<i64>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x8xi1>) {
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %p = mpt.softmax %s : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %d, %kept = mpt.dropout %p, %seed, %attempt {rate = 0.1 : f64, stream = 3 : i64} : (tensor<2x4x8x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x4x8x8xf32>, tensor<2x4x8x8xi1>)
  %y = mpt.matmul %d, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y, %kept : tensor<2x4x8x16xf32>, tensor<2x4x8x8xi1>
}

// Keys that hide the earlier ones, and a mask of -100.
// CHECK-LABEL: func.func @earlier
//   CHECK-NOT:   causal
//       CHECK:   return
func.func @earlier(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %low = mpt.constant dense<0xFF800000> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %hidden = mpt.compare %column, %row {predicate = #mpt.predicate<le>} : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = mpt.where %hidden, %low, %s : (tensor<8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = mpt.softmax %m : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}
// CHECK-LABEL: func.func @small_mask
//   CHECK-NOT:   mpt.attention
//       CHECK:   return
func.func @small_mask(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %pads: tensor<2x1x1x8xi1>) -> tensor<2x4x8x16xf32> {
  %low = mpt.constant dense<-100.0> : tensor<f32>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %m = mpt.where %pads, %low, %s : (tensor<2x1x1x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = mpt.softmax %m : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// ~z of an integer z is 0 at -1, not where z is not 0.
// CHECK-LABEL: func.func @not_of_integers
//   CHECK-NOT:   causal
//       CHECK:   return
func.func @not_of_integers(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %zero = mpt.constant dense<0> : tensor<i32>
  %one = mpt.constant dense<1> : tensor<i32>
  %hidden = mpt.compare %column, %row {predicate = #mpt.predicate<gt>} : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %z = mpt.where %hidden, %one, %zero : (tensor<8x8xi1>, tensor<i32>, tensor<i32>) -> tensor<8x8xi32>
  %n = mpt.not %z : (tensor<8x8xi32>) -> tensor<8x8xi32>
  %seen = mpt.compare %n, %zero {predicate = #mpt.predicate<ne>} : (tensor<8x8xi32>, tensor<i32>) -> tensor<8x8xi1>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %seen, %s, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %w : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// Halves are 0 as integers.
// CHECK-LABEL: func.func @cut_to_integers
//   CHECK-NOT:   causal
//       CHECK:   return
func.func @cut_to_integers(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %zero = mpt.constant dense<0> : tensor<i32>
  %halves = mpt.constant dense<[[0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]]> : tensor<8x8xf32>
  %z = mpt.cast %halves : (tensor<8x8xf32>) -> tensor<8x8xi32>
  %seen = mpt.compare %z, %zero {predicate = #mpt.predicate<ne>} : (tensor<8x8xi32>, tensor<i32>) -> tensor<8x8xi1>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %seen, %s, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %w : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// Truth values as wider and wider numbers.
// CHECK-LABEL: func.func @widened_truth
//       CHECK:   mpt.attention {{.*}}causal
func.func @widened_truth(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %lower = mpt.compare %row, %column {predicate = #mpt.predicate<ge>} : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %z = mpt.cast %lower : (tensor<8x8xi1>) -> tensor<8x8xi8>
  %i = mpt.cast %z : (tensor<8x8xi8>) -> tensor<8x8xi32>
  %f = mpt.cast %i : (tensor<8x8xi32>) -> tensor<8x8xf32>
  %seen = mpt.compare %f, %zero {predicate = #mpt.predicate<ne>} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xi1>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %seen, %s, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %w : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// Rows minus a half: keys before the query alone.
// CHECK-LABEL: func.func @half_a_row
//   CHECK-NOT:   causal
//       CHECK:   return
func.func @half_a_row(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %half = mpt.constant dense<0.5> : tensor<f32>
  %r = mpt.cast %row : (tensor<8x8xi32>) -> tensor<8x8xf32>
  %c = mpt.cast %column : (tensor<8x8xi32>) -> tensor<8x8xf32>
  %h = mpt.sub %r, %half : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %seen = mpt.compare %h, %c {predicate = #mpt.predicate<ge>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %seen, %s, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %w : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// Positions in bf16, in which later ones are rounded.
// CHECK-LABEL: func.func @narrow_rows
//   CHECK-NOT:   causal
//       CHECK:   return
func.func @narrow_rows(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %r = mpt.cast %row : (tensor<8x8xi32>) -> tensor<8x8xbf16>
  %c = mpt.cast %column : (tensor<8x8xi32>) -> tensor<8x8xbf16>
  %seen = mpt.compare %r, %c {predicate = #mpt.predicate<ge>} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xi1>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %seen, %s, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %w : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// With a bias, a row that is hidden as a whole is the mean of all values, too.
// CHECK-LABEL: func.func @biased_rows
//       CHECK:   %[[ANY:.*]] = mpt.cast %{{.*}} : (tensor<1x1x8x1xi32>) -> tensor<1x1x8x1xi1>
//       CHECK:   %[[Y:.*]], %{{.*}} = mpt.attention %arg0, %arg1, %arg2, %{{.*}} bias(
//       CHECK:   %[[MEAN:.*]] = mpt.reduce %arg2 {axes = array<i64: 2>, keep_dims, kind = #mpt.reduce_kind<mean>}
//       CHECK:   mpt.where %[[ANY]], %[[Y]], %[[MEAN]]
func.func @biased_rows(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>, %m: tensor<8x8xi1>, %b: tensor<2x8x8xf32> {mpt.name = "b", mpt.role = "parameter"}) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %a = mpt.add %s, %b : (tensor<1x2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %m, %a, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %w : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// A row that sees only keys that a bias hides sees those that the mask hides.
// CHECK-LABEL: func.func @added_pads
// REMARK-DAG: not-raised {{.*}} Function=added_pads | Reason="mpt.attention: what is masked becomes -1e+09, and what is added may be as low"
//   CHECK-NOT:   mpt.attention
//       CHECK:   return
func.func @added_pads(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>, %pads: tensor<1x1x1x8xf32>) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %lowest = mpt.constant dense<-3.40282347E+38> : tensor<f32>
  %seen = mpt.compare %row, %column {predicate = #mpt.predicate<ge>} : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %bias = mpt.mul %pads, %lowest : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<1x1x1x8xf32>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %a = mpt.add %s, %bias : (tensor<1x2x8x8xf32>, tensor<1x1x1x8xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %seen, %a, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %w : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// Of a mask that is an input nothing is known.
// CHECK-LABEL: func.func @added_unseen
// REMARK-DAG: not-raised {{.*}} Function=added_unseen | Reason="mpt.attention: what is masked becomes -1e+09, and what is added may be as low"
//   CHECK-NOT:   mpt.attention
//       CHECK:   return
func.func @added_unseen(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>, %pads: tensor<1x1x1x8xf32> {mpt.name = "pads", mpt.role = "input"}) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e9> : tensor<f32>
  %row = mpt.iota {axis = 0 : i64} : () -> tensor<8x8xi32>
  %column = mpt.iota {axis = 1 : i64} : () -> tensor<8x8xi32>
  %seen = mpt.compare %row, %column {predicate = #mpt.predicate<ge>} : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %a = mpt.add %s, %pads : (tensor<1x2x8x8xf32>, tensor<1x1x1x8xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %seen, %a, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %w : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// Others read the probabilities after they were narrowed.
// CHECK-LABEL: func.func @read_narrowed
//   CHECK-NOT:   mpt.attention
//       CHECK:   return
func.func @read_narrowed(%q: tensor<2x8x4xbf16>, %k: tensor<2x8x4xbf16>, %v: tensor<2x8x4xbf16>) -> (tensor<2x8x4xbf16>, tensor<1x2x8x8xbf16>) {
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<2x8x4xbf16>, tensor<2x8x4xbf16>) -> tensor<2x8x8xbf16>
  %w = mpt.cast %s : (tensor<2x8x8xbf16>) -> tensor<2x8x8xf32>
  %0 = mpt.reshape %w : (tensor<2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %1 = mpt.softmax %0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %2 = mpt.cast %1 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xbf16>
  %p = mpt.reshape %2 : (tensor<1x2x8x8xbf16>) -> tensor<2x8x8xbf16>
  %y = mpt.matmul %p, %v : (tensor<2x8x8xbf16>, tensor<2x8x4xbf16>) -> tensor<2x8x4xbf16>
  return %y, %2 : tensor<2x8x4xbf16>, tensor<1x2x8x8xbf16>
}

// What is added after the mask has a gradient also where all is hidden.
// REMARK-DAG: not-raised {{.*}} Function=added_last | Reason="mpt.attention: what is added to masked scores has a gradient where all is masked"
// CHECK-LABEL: func.func @added_last
//   CHECK-NOT:   mpt.attention
//       CHECK:   return
func.func @added_last(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x8x4xf32>, %v: tensor<1x2x8x4xf32>, %m: tensor<8x8xi1>, %b: tensor<2x8x8xf32> {mpt.name = "b", mpt.role = "parameter"}) -> tensor<1x2x8x4xf32> {
  %low = mpt.constant dense<-1.0e30> : tensor<f32>
  %s = mpt.matmul %q, %k {transpose_rhs} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x8xf32>
  %w = mpt.where %m, %s, %low : (tensor<8x8xi1>, tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %a = mpt.add %w, %b : (tensor<1x2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %p = mpt.softmax %a : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %y = mpt.matmul %p, %v : (tensor<1x2x8x8xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return %y : tensor<1x2x8x4xf32>
}

// A variance as a difference is that of (x - mean), where no norm is found.
// REMARK-DAG: raised {{.*}} Function=variance | Reason="the mean of (x - mean)^2"
// CHECK-LABEL: func.func @variance
//       CHECK:   %[[N:.*]] = mpt.constant dense<4.0
//       CHECK:   %[[S:.*]] = mpt.reduce %arg0
//       CHECK:   %[[M:.*]] = mpt.div %[[S]], %[[N]]
//       CHECK:   %[[K:.*]] = mpt.reshape %[[M]] : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
//       CHECK:   %[[C:.*]] = mpt.sub %arg0, %[[K]]
//       CHECK:   %[[Q:.*]] = mpt.mul %[[C]], %[[C]]
//       CHECK:   %[[T:.*]] = mpt.reduce %[[Q]] {axes = array<i64: 1>
//       CHECK:   %[[V:.*]] = mpt.div %[[T]], %[[N]]
//   CHECK-NOT:   mpt.sub
//       CHECK:   return %[[V]]
func.func @variance(%x: tensor<2x4x3xf32>) -> tensor<2x3xf32> {
  %n = mpt.constant dense<4.0> : tensor<f32>
  %sum = mpt.reduce %x {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<2x4x3xf32>) -> tensor<2x3xf32>
  %mean = mpt.div %sum, %n : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %squares = mpt.mul %x, %x : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %sums = mpt.reduce %squares {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<2x4x3xf32>) -> tensor<2x3xf32>
  %means = mpt.div %sums, %n : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %square = mpt.mul %mean, %mean : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %var = mpt.sub %means, %square : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %var : tensor<2x3xf32>
}

// So is that of what a mask shows.
// CHECK-LABEL: func.func @masked_variance
//       CHECK:   %[[C:.*]] = mpt.sub %arg0, %{{.*}} : (tensor<4x3xf32>, tensor<1x3xf32>)
//       CHECK:   %[[Q:.*]] = mpt.mul %[[C]], %[[C]]
//       CHECK:   %[[W:.*]] = mpt.where %arg1, %[[Q]], %{{.*}}
//       CHECK:   %[[T:.*]] = mpt.reduce %[[W]]
//       CHECK:   %[[V:.*]] = mpt.div %[[T]], %{{.*}}
//       CHECK:   return %[[V]]
func.func @masked_variance(%x: tensor<4x3xf32>, %mask: tensor<4x1xi1>) -> tensor<3xf32> {
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %wide = mpt.broadcast %mask : (tensor<4x1xi1>) -> tensor<4x3xi1>
  %ones = mpt.cast %wide : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %n = mpt.reduce %ones {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %shown = mpt.where %mask, %x, %zero : (tensor<4x1xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %sum = mpt.reduce %shown {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %mean = mpt.div %sum, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %squares = mpt.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %chosen = mpt.where %mask, %squares, %zero : (tensor<4x1xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %sums = mpt.reduce %chosen {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %means = mpt.div %sums, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %square = mpt.mul %mean, %mean : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %var = mpt.sub %means, %square : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %var : tensor<3xf32>
}

// Not where the divisor is no count of what the mask shows, nor where the sums are divided by other numbers, nor of
// two tensors, nor where what divides the sums repeats them.
// CHECK-LABEL: func.func @other_count
//       CHECK:   %[[D:.*]] = mpt.sub %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<3xf32>)
//       CHECK:   return %[[D]]
func.func @other_count(%x: tensor<4x3xf32>, %mask: tensor<4x1xi1>, %n: tensor<3xf32>) -> tensor<3xf32> {
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %shown = mpt.where %mask, %x, %zero : (tensor<4x1xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %sum = mpt.reduce %shown {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %mean = mpt.div %sum, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %squares = mpt.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %chosen = mpt.where %mask, %squares, %zero : (tensor<4x1xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %sums = mpt.reduce %chosen {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %means = mpt.div %sums, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %square = mpt.mul %mean, %mean : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %var = mpt.sub %means, %square : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %var : tensor<3xf32>
}
// CHECK-LABEL: func.func @other_number
//       CHECK:   %[[D:.*]] = mpt.sub %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<3xf32>)
//       CHECK:   return %[[D]]
func.func @other_number(%x: tensor<4x3xf32>) -> tensor<3xf32> {
  %n = mpt.constant dense<3.0> : tensor<f32>
  %sum = mpt.reduce %x {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %mean = mpt.div %sum, %n : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %squares = mpt.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %sums = mpt.reduce %squares {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %means = mpt.div %sums, %n : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %square = mpt.mul %mean, %mean : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %var = mpt.sub %means, %square : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %var : tensor<3xf32>
}
// CHECK-LABEL: func.func @other_tensor
//       CHECK:   %[[D:.*]] = mpt.sub %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<3xf32>)
//       CHECK:   return %[[D]]
func.func @other_tensor(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> tensor<3xf32> {
  %mean = mpt.reduce %y {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %squares = mpt.mul %x, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %means = mpt.reduce %squares {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<4x3xf32>) -> tensor<3xf32>
  %square = mpt.mul %mean, %mean : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %var = mpt.sub %means, %square : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %var : tensor<3xf32>
}
// CHECK-LABEL: func.func @repeated_sums
//       CHECK:   %[[D:.*]] = mpt.sub %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>)
//       CHECK:   return %[[D]]
func.func @repeated_sums(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %n = mpt.constant dense<0.125> : tensor<4x8xf32>
  %sum = mpt.reduce %x {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %mean = mpt.mul %sum, %n : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %squares = mpt.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %sums = mpt.reduce %squares {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %means = mpt.mul %sums, %n : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %square = mpt.mul %mean, %mean : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %var = mpt.sub %means, %square : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %var : tensor<4x8xf32>
}
