// RUN: mpt-opt %s --mpt-decompose --split-input-file --verify-diagnostics | FileCheck %s
// RUN: mpt-opt %s --mpt-decompose --cse --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=CSE

// Norms in f32 with one rounding, at the end.
// CHECK-LABEL: func.func @rms_norm
//   CHECK-NOT:   mpt.rms_norm
//       CHECK:   %[[X:.*]] = mpt.cast %arg0 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
//       CHECK:   mpt.reduce {{.*}} -> tensor<4x1xf32>
//       CHECK:   %[[Y:.*]] = mpt.mul %{{.*}}, %arg1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
//       CHECK:   mpt.cast %[[Y]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
//   CHECK-NOT:   mpt.cast
func.func @rms_norm(%x: tensor<4x8xbf16>, %g: tensor<8xf32>) -> tensor<4x8xbf16> {
  %y, %r = mpt.rms_norm %x, %g : (tensor<4x8xbf16>, tensor<8xf32>) -> (tensor<4x8xbf16>, tensor<4xf32>)
  return %y : tensor<4x8xbf16>
}

// -----

// Loss and gradient read labels that are checked; once, after CSE.
// CHECK-LABEL: func.func @cross_entropy
//       CHECK:   %[[T:.*]] = mpt.check_indices %arg1 {ignore_index = -1 : i64, size = 8 : i64}
//       CHECK:   mpt.reshape %[[T]]
// CSE-LABEL: func.func @cross_entropy
//       CSE:   %[[T:.*]] = mpt.check_indices %arg1 {ignore_index = -1 : i64, size = 8 : i64}
//       CSE:   mpt.reshape %[[T]]
// One exponential serves both.
// CSE-COUNT-1:   mpt.exp
//   CSE-NOT:   mpt.{{exp|check_indices}}
//       CSE:   return
func.func @cross_entropy(%x: tensor<4x8xf32>, %t: tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %l, %lse = mpt.cross_entropy %x, %t {ignore_index = -1 : i64} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %g = mpt.cross_entropy_grad %l, %x, %t, %lse {ignore_index = -1 : i64} : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %l, %g : tensor<f32>, tensor<4x8xf32>
}

// -----

// The logarithm of a sum that is not of these logits says nothing of their powers.
// CHECK-LABEL: func.func @other_logits
// CHECK-COUNT-2: mpt.exp
// CSE-LABEL: func.func @other_logits
// CSE-COUNT-2: mpt.exp
func.func @other_logits(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>, %t: tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %l, %lse = mpt.cross_entropy %x, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %g = mpt.cross_entropy_grad %l, %z, %t, %lse : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %l, %g : tensor<f32>, tensor<4x8xf32>
}

// -----

// One product a weight, in f32; gates along the columns.
// CHECK-LABEL: func.func @lstm_cell
//       CHECK:   %[[A:.*]] = mpt.linear %arg0, %arg3, %arg5 {{.*}} -> tensor<4x64xf32>
//       CHECK:   %[[B:.*]] = mpt.matmul %arg1, %arg4 {{.*}} -> tensor<4x64xf32>
//       CHECK:   %[[Z:.*]] = mpt.add %[[A]], %[[B]]
//       CHECK:   mpt.slice %[[Z]] {offsets = array<i64: 0, 0>
//       CHECK:   mpt.slice %[[Z]] {offsets = array<i64: 0, 16>
//       CHECK:   mpt.slice %[[Z]] {offsets = array<i64: 0, 32>
//  CHECK-NEXT:   mpt.tanh
//       CHECK:   mpt.slice %[[Z]] {offsets = array<i64: 0, 48>
func.func @lstm_cell(%x: tensor<4x8xbf16>, %h: tensor<4x16xbf16>, %c: tensor<4x16xf32>, %w: tensor<8x64xbf16>, %u: tensor<16x64xbf16>, %b: tensor<64xf32>) -> (tensor<4x16xbf16>, tensor<4x16xf32>, tensor<4x64xbf16>) {
  %h1, %c1, %g = mpt.lstm_cell %x, %h, %c, %w, %u, %b : (tensor<4x8xbf16>, tensor<4x16xbf16>, tensor<4x16xf32>, tensor<8x64xbf16>, tensor<16x64xbf16>, tensor<64xf32>) -> (tensor<4x16xbf16>, tensor<4x16xf32>, tensor<4x64xbf16>)
  return %h1, %c1, %g : tensor<4x16xbf16>, tensor<4x16xf32>, tensor<4x64xbf16>
}

// -----

// Equal values are not merged by the pass.
// CHECK-LABEL: func.func @not_merged
// CHECK-COUNT-2: mpt.exp
func.func @not_merged(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// A size that only an operand has.
func.func @open_size(%p: tensor<?x3xf32>, %t: tensor<?x3xf32>) -> tensor<f32> {
  // expected-error @+1 {{mpt-decompose: expected static shapes, found 'tensor<?x3xf32>'; run --mpt-specialize first}}
  %l = mpt.mse_loss %p, %t : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Queries of the heads that share a head of keys follow each other; nothing is repeated.
// CHECK-LABEL: func.func @attention_groups
//   CHECK-NOT:   mpt.broadcast
//       CHECK:   mpt.reshape %{{.*}} : (tensor<2x4x3x8xf32>) -> tensor<2x2x6x8xf32>
//       CHECK:   mpt.matmul %{{.*}}, %arg1 {transpose_rhs} : (tensor<2x2x6x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x2x6x5xf32>
//       CHECK:   mpt.reshape %{{.*}} : (tensor<2x2x6x5xf32>) -> tensor<2x4x3x5xf32>
//       CHECK:   mpt.matmul %{{.*}}, %arg2 : (tensor<2x2x6x5xf32>, tensor<2x2x5x6xf32>) -> tensor<2x2x6x6xf32>
//       CHECK:   mpt.reshape %{{.*}} : (tensor<2x2x6x6xf32>) -> tensor<2x4x3x6xf32>
func.func @attention_groups(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x6xf32>) -> tensor<2x4x3x6xf32> {
  %y, %lse = mpt.attention %q, %k, %v : (tensor<2x4x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x6xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x4x3xf32>)
  return %y : tensor<2x4x3x6xf32>
}

// -----

// As many heads of keys as of queries: no reshape, no draws, no guard of rows that see
// nothing.
// CHECK-LABEL: func.func @attention_plain
//   CHECK-NOT:   mpt.reshape
//   CHECK-NOT:   mpt.random_mask
//   CHECK-NOT:   mpt.where
//       CHECK:   return
func.func @attention_plain(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %y, %lse = mpt.attention %q, %k, %k : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3xf32>)
  return %y : tensor<2x4x3x8xf32>
}

// -----

// The bias is added in f32; its gradient is summed over what it was broadcast over. Both
// passes draw the same mask, which CSE makes one.
// CHECK-LABEL: func.func @attention_bias
//       CHECK:   %[[B:.*]] = mpt.cast %arg2 : (tensor<1x4x1x5xf16>) -> tensor<1x4x1x5xf32>
//       CHECK:   mpt.add %{{.*}}, %[[B]] : (tensor<2x4x3x5xf32>, tensor<1x4x1x5xf32>) -> tensor<2x4x3x5xf32>
//       CHECK:   mpt.random_mask %arg4, %arg4 {rate = 2.500000e-01 : f64, shape = array<i64: 2, 4, 3, 5>, stream = 1 : i64}
//       CHECK:   mpt.random_mask
//       CHECK:   %[[D:.*]] = mpt.reduce %{{.*}} {axes = array<i64: 0, 2>, keep_dims, kind = #mpt.reduce_kind<sum>} : (tensor<2x4x3x5xf32>) -> tensor<1x4x1x5xf32>
//       CHECK:   mpt.cast %[[D]] : (tensor<1x4x1x5xf32>) -> tensor<1x4x1x5xf16>
// CSE-LABEL: func.func @attention_bias
//       CSE:   mpt.random_mask
//   CSE-NOT:   mpt.random_mask
//       CSE:   return
func.func @attention_bias(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %b: tensor<1x4x1x5xf16>, %dy: tensor<2x4x3x8xf32>, %s: tensor<i64>) -> tensor<1x4x1x5xf16> {
  %y, %lse = mpt.attention %q, %k, %k bias(%b) rng(%s, %s) {dropout = 0.25 : f64, stream = 1 : i64} : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<1x4x1x5xf16>, tensor<i64>, tensor<i64>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3xf32>)
  %dq, %dk, %dv, %db = mpt.attention_grad %dy, %q, %k, %k, %y, %lse bias(%b) rng(%s, %s) {dropout = 0.25 : f64, stream = 1 : i64} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3xf32>, tensor<1x4x1x5xf16>, tensor<i64>, tensor<i64>) -> (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<1x4x1x5xf16>)
  return %db : tensor<1x4x1x5xf16>
}

// -----

// Over the last dimension and others: rows first, in f32, then what is left of each.
// CHECK-LABEL: func.func @reduce_rows_first
//       CHECK:   %[[X:.*]] = mpt.reshape %arg0 : (tensor<2x3x4x5xf16>) -> tensor<6x20xf16>
//       CHECK:   %[[R:.*]] = mpt.reduce %[[X]] {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<mean>} : (tensor<6x20xf16>) -> tensor<6x1xf32>
//       CHECK:   %[[M:.*]] = mpt.reshape %[[R]] : (tensor<6x1xf32>) -> tensor<2x3xf32>
//       CHECK:   %[[Y:.*]] = mpt.reduce %[[M]] {axes = array<i64: 0>, kind = #mpt.reduce_kind<mean>} : (tensor<2x3xf32>) -> tensor<3xf32>
//       CHECK:   mpt.cast %[[Y]] : (tensor<3xf32>) -> tensor<3xf16>
func.func @reduce_rows_first(%x: tensor<2x3x4x5xf16>) -> tensor<3xf16> {
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 2, 3>, acc_type = f32} : (tensor<2x3x4x5xf16>) -> tensor<3xf16>
  return %y : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func @reduce_rows_then_call
//       CHECK:   mpt.reduce %{{.*}} {axes = array<i64: 1>, keep_dims, kind = #mpt.reduce_kind<max>} : (tensor<120x6xf32>) -> tensor<120x1xf32>
//       CHECK:   mpt.reduce %{{.*}} {axes = array<i64: 0, 2>, kind = #mpt.reduce_kind<max>} : (tensor<2x3x4x5xf32>) -> tensor<3x5xf32>
//       CHECK:   mpt.reshape %{{.*}} : (tensor<3x5xf32>) -> tensor<1x3x1x5x1xf32>
func.func @reduce_rows_then_call(%x: tensor<2x3x4x5x6xf32>) -> tensor<1x3x1x5x1xf32> {
  %y = mpt.reduce %x {kind = #mpt.reduce_kind<max>, axes = array<i64: 0, 2, 4>, keep_dims} : (tensor<2x3x4x5x6xf32>) -> tensor<1x3x1x5x1xf32>
  return %y : tensor<1x3x1x5x1xf32>
}
