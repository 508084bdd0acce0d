// RUN: mpt-opt %s --mpt-hoist-from-scans --split-input-file | FileCheck %s
// RUN: mpt-opt %s --mpt-hoist-from-scans=max-unrolled=20 --split-input-file | FileCheck %s --check-prefix=SHORT
// SHORT-NOT: mpt.matmul {{.*}} -> tensor<20x
// SHORT-NOT: tensor<80x

// The input's part of a cell, with its cast and its bias, for all iterations at once. The
// stack takes the place of the hidden states', which an iteration writes last.
// CHECK-LABEL: func @before
//  CHECK-SAME: (%[[X:.*]]: tensor<20x4x8xf32>, %[[W:.*]]: tensor<8x8xbf16>, %[[U:.*]]: tensor<8x8xf32>, %[[B:.*]]: tensor<8xf32>)
//       CHECK:   %[[LOW:.*]] = mpt.cast %[[X]] : (tensor<20x4x8xf32>) -> tensor<20x4x8xbf16>
//       CHECK:   %[[XW:.*]] = mpt.matmul %[[LOW]], %[[W]] : (tensor<20x4x8xbf16>, tensor<8x8xbf16>) -> tensor<20x4x8xf32>
//       CHECK:   %[[Z:.*]] = mpt.add %[[XW]], %[[B]]
//       CHECK:   mpt.scan 20 reverse carry(%{{.*}}) over(%[[X]], %[[Z]] :
//  CHECK-NEXT:   ^bb0(%[[H:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<4x8xf32>, %[[ZT:.*]]: tensor<4x8xf32>):
//  CHECK-NEXT:     %[[HU:.*]] = mpt.matmul %[[H]], %[[U]]
//  CHECK-NEXT:     mpt.add %[[ZT]], %[[HU]]
//  CHECK-NEXT:     mpt.tanh
//  CHECK-NEXT:     mpt.yield
func.func @before(%x: tensor<20x4x8xf32>, %w: tensor<8x8xbf16>, %u: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<20x4x8xf32> {
  %z = mpt.constant dense<0.0> : tensor<4x8xf32>
  %r:2 = mpt.scan 20 reverse carry(%z : tensor<4x8xf32>) over(%x : tensor<20x4x8xf32>) {
  ^bb0(%h: tensor<4x8xf32>, %e: tensor<4x8xf32>):
    %low = mpt.cast %e : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %xw = mpt.matmul %low, %w : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
    %xwb = mpt.add %xw, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %hu = mpt.matmul %h, %u : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %s = mpt.add %xwb, %hu : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = mpt.tanh %s : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpt.yield %t, %t : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32>, tensor<20x4x8xf32>
  %y = mpt.sin %r#1 : (tensor<20x4x8xf32>) -> tensor<20x4x8xf32>
  return %y : tensor<20x4x8xf32>
}

// -----

// Without a stack of its size the input's part would have to be kept beside all others: in
// inference, and where what is stacked leaves the function and so lies elsewhere.
// CHECK-LABEL: func @no_place
//   CHECK-NOT:   tensor<20x4x8xf32>, tensor<8x8xf32>
//       CHECK:   return
func.func @no_place(%x: tensor<20x4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<20x4x8xf32>) {
  %z = mpt.constant dense<0.0> : tensor<4x8xf32>
  %r = mpt.scan 20 carry(%z : tensor<4x8xf32>) over(%x : tensor<20x4x8xf32>) {
  ^bb0(%h: tensor<4x8xf32>, %e: tensor<4x8xf32>):
    %xw = mpt.matmul %e, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %s = mpt.add %xw, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = mpt.tanh %s : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpt.yield %t : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %q:2 = mpt.scan 20 carry(%z : tensor<4x8xf32>) over(%x : tensor<20x4x8xf32>) {
  ^bb0(%h: tensor<4x8xf32>, %e: tensor<4x8xf32>):
    %xw = mpt.matmul %e, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %s = mpt.add %xw, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = mpt.tanh %s : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpt.yield %t, %t : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32>, tensor<20x4x8xf32>
  return %r, %q#1 : tensor<4x8xf32>, tensor<20x4x8xf32>
}

// -----

// A backward pass: the gradient of the input, of two weights and of a bias. %d takes the
// place of the slice of %g, which is read for the last time. %acc and %bias are zeros.
// CHECK-LABEL: func @after
//  CHECK-SAME: (%[[X:.*]]: tensor<20x4x6xf32>, %[[P:.*]]: tensor<20x4x8xf32>, %[[W:.*]]: tensor<6x8xf32>, %[[U:.*]]: tensor<8x8xf32>, %[[FIRST:.*]]: tensor<8x8xf32>)
//       CHECK:   %[[G:.*]] = mpt.tanh %[[P]]
//       CHECK:   %[[R:.*]]:2 = mpt.scan 20 reverse carry(%{{.*}} : tensor<4x8xf32>) over(%[[X]], %[[G]], %[[P]] :
//  CHECK-NEXT:   ^bb0(%[[DH:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<4x6xf32>, %[[GT:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<4x8xf32>):
//  CHECK-NEXT:     %[[D:.*]] = mpt.tanh_grad %[[DH]], %[[GT]]
//  CHECK-NEXT:     %[[NEXT:.*]] = mpt.matmul %[[D]], %[[U]] {transpose_rhs}
//  CHECK-NEXT:     mpt.yield %[[NEXT]], %[[D]]
//   CHECK-DAG:   %[[DX:.*]] = mpt.matmul %[[R]]#1, %[[W]] {transpose_rhs} : (tensor<20x4x8xf32>, tensor<6x8xf32>) -> tensor<20x4x6xf32>
//   CHECK-DAG:   %[[XS:.*]] = mpt.reshape %[[X]] : (tensor<20x4x6xf32>) -> tensor<80x6xf32>
//   CHECK-DAG:   %[[DW:.*]] = mpt.matmul %[[XS]], %{{.*}} {transpose_lhs} : (tensor<80x6xf32>, tensor<80x8xf32>) -> tensor<6x8xf32>
//   CHECK-DAG:   %[[PS:.*]] = mpt.reshape %[[P]] : (tensor<20x4x8xf32>) -> tensor<80x8xf32>
//   CHECK-DAG:   %[[DU:.*]] = mpt.matmul %[[PS]], %{{.*}} {transpose_lhs} : (tensor<80x8xf32>, tensor<80x8xf32>) -> tensor<8x8xf32>
//   CHECK-DAG:   %[[SUM:.*]] = mpt.add %[[FIRST]], %[[DU]]
//   CHECK-DAG:   %[[DB:.*]] = mpt.reduce %[[R]]#1 {axes = array<i64: 0, 1>
//       CHECK:   return %[[DX]], %[[DW]], %[[SUM]], %[[DB]]
func.func @after(%x: tensor<20x4x6xf32>, %p: tensor<20x4x8xf32>, %w: tensor<6x8xf32>, %u: tensor<8x8xf32>, %first: tensor<8x8xf32>)
    -> (tensor<20x4x6xf32>, tensor<6x8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
  %z = mpt.constant dense<0.0> : tensor<4x8xf32>
  %acc = mpt.constant dense<-0.0> : tensor<6x8xf32>
  %bias = mpt.constant dense<-0.0> : tensor<8xf32>
  %g = mpt.tanh %p : (tensor<20x4x8xf32>) -> tensor<20x4x8xf32>
  %r:5 = mpt.scan 20 reverse carry(%z, %acc, %first, %bias : tensor<4x8xf32>, tensor<6x8xf32>, tensor<8x8xf32>, tensor<8xf32>)
      over(%x, %g, %p : tensor<20x4x6xf32>, tensor<20x4x8xf32>, tensor<20x4x8xf32>) {
  ^bb0(%dh: tensor<4x8xf32>, %dw: tensor<6x8xf32>, %du: tensor<8x8xf32>, %db: tensor<8xf32>, %xt: tensor<4x6xf32>, %gt: tensor<4x8xf32>, %pt: tensor<4x8xf32>):
    %d = mpt.tanh_grad %dh, %gt : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %dx = mpt.matmul %d, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
    %next = mpt.matmul %d, %u {transpose_rhs} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %m = mpt.matmul %xt, %d {transpose_lhs} : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    %n = mpt.matmul %pt, %d {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %b = mpt.reduce %d {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<4x8xf32>) -> tensor<8xf32>
    %dw1 = mpt.add %dw, %m : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %du1 = mpt.add %n, %du : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %db1 = mpt.add %db, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    mpt.yield %next, %dw1, %du1, %db1, %dx : tensor<4x8xf32>, tensor<6x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<4x6xf32>
  } : tensor<4x8xf32>, tensor<6x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<20x4x6xf32>
  return %r#4, %r#1, %r#2, %r#3 : tensor<20x4x6xf32>, tensor<6x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}

// -----

// %d has no place, and 20 of it are more than the sum: 2,560 bytes and 192.
// CHECK-LABEL: func @too_large
//       CHECK:   mpt.scan 20 carry(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<6x8xf32>)
//       CHECK:     mpt.matmul %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
//       CHECK:     mpt.yield
func.func @too_large(%x: tensor<20x4x6xf32>, %u: tensor<8x8xf32>) -> tensor<6x8xf32> {
  %z = mpt.constant dense<1.0> : tensor<4x8xf32>
  %acc = mpt.constant dense<-0.0> : tensor<6x8xf32>
  %r:2 = mpt.scan 20 carry(%z, %acc : tensor<4x8xf32>, tensor<6x8xf32>) over(%x : tensor<20x4x6xf32>) {
  ^bb0(%dh: tensor<4x8xf32>, %dw: tensor<6x8xf32>, %xt: tensor<4x6xf32>):
    %d = mpt.matmul %dh, %u {transpose_rhs} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %m = mpt.matmul %xt, %d {transpose_lhs} : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
    %dw1 = mpt.add %dw, %m : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    mpt.yield %d, %dw1 : tensor<4x8xf32>, tensor<6x8xf32>
  } : tensor<4x8xf32>, tensor<6x8xf32>
  return %r#1 : tensor<6x8xf32>
}

// -----

// Here they are less: 640 bytes and 2,048. A sum that is rounded in each iteration, moved
// and widened is one sum in f32.
// CHECK-LABEL: func @smaller
//       CHECK:   mpt.scan 20 carry(%{{.*}} : tensor<1x16xbf16>)
//       CHECK:   %[[SUM:.*]] = mpt.matmul %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<20x32xbf16>, tensor<20x16xbf16>) -> tensor<32x16xf32>
//       CHECK:   %[[T:.*]] = mpt.transpose %[[SUM]] {permutation = array<i64: 1, 0>} : (tensor<32x16xf32>) -> tensor<16x32xf32>
//       CHECK:   return %[[T]]
func.func @smaller(%x: tensor<20x1x32xbf16>, %u: tensor<16x16xbf16>) -> tensor<16x32xf32> {
  %z = mpt.constant dense<1.0> : tensor<1x16xbf16>
  %acc = mpt.constant dense<-0.0> : tensor<16x32xf32>
  %r:2 = mpt.scan 20 carry(%z, %acc : tensor<1x16xbf16>, tensor<16x32xf32>) over(%x : tensor<20x1x32xbf16>) {
  ^bb0(%dh: tensor<1x16xbf16>, %dw: tensor<16x32xf32>, %xt: tensor<1x32xbf16>):
    %d = mpt.matmul %dh, %u {transpose_rhs} : (tensor<1x16xbf16>, tensor<16x16xbf16>) -> tensor<1x16xbf16>
    %m = mpt.matmul %xt, %d {transpose_lhs} : (tensor<1x32xbf16>, tensor<1x16xbf16>) -> tensor<32x16xbf16>
    %t = mpt.transpose %m {permutation = array<i64: 1, 0>} : (tensor<32x16xbf16>) -> tensor<16x32xbf16>
    %wide = mpt.cast %t : (tensor<16x32xbf16>) -> tensor<16x32xf32>
    %dw1 = mpt.add %dw, %wide : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    mpt.yield %d, %dw1 : tensor<1x16xbf16>, tensor<16x32xf32>
  } : tensor<1x16xbf16>, tensor<16x32xf32>
  return %r#1 : tensor<16x32xf32>
}

// -----

// A sum that the iteration reads stays, and so does a product that it carries.
// CHECK-LABEL: func @read
//       CHECK:   mpt.scan 20 carry(%{{.*}}, %{{.*}} :
//       CHECK:     mpt.matmul
//       CHECK:     mpt.matmul
//       CHECK:     mpt.yield
//   CHECK-NOT:   mpt.matmul
//       CHECK:   return
func.func @read(%x: tensor<20x8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %acc = mpt.constant dense<-0.0> : tensor<8x8xf32>
  %r:2 = mpt.scan 20 carry(%acc, %acc : tensor<8x8xf32>, tensor<8x8xf32>) over(%x : tensor<20x8x8xf32>) {
  ^bb0(%s: tensor<8x8xf32>, %c: tensor<8x8xf32>, %e: tensor<8x8xf32>):
    %m = mpt.matmul %e, %e {transpose_lhs} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %s1 = mpt.add %s, %m : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = mpt.tanh %s : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %n = mpt.matmul %t, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    mpt.yield %s1, %n : tensor<8x8xf32>, tensor<8x8xf32>
  } : tensor<8x8xf32>, tensor<8x8xf32>
  return %r#0, %r#1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What is marked to be computed again is where it is for the memory. What only reads
// inputs stays with it, so that both have the same bits; sums leave.
// CHECK-LABEL: func @repeated
//       CHECK:   mpt.scan 20 carry(%{{.*}}) over(%{{[^,]*}} : tensor<20x4x8xf32>)
//       CHECK:   %[[R:.*]] = mpt.scan 20 over(%{{.*}}, %{{[^,]*}} : tensor<20x4x8xf32>, tensor<20x4x8xf32>)
//       CHECK:     mpt.matmul %{{.*}} {mpt.remat = 0 : i64} : (tensor<4x8xf32>
//       CHECK:     mpt.yield
//       CHECK:   mpt.matmul %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<80x8xf32>, tensor<80x8xf32>)
func.func @repeated(%x: tensor<20x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = mpt.constant dense<0.0> : tensor<4x8xf32>
  %acc = mpt.constant dense<-0.0> : tensor<8x8xf32>
  %r:2 = mpt.scan 20 carry(%z : tensor<4x8xf32>) over(%x : tensor<20x4x8xf32>) {
  ^bb0(%h: tensor<4x8xf32>, %e: tensor<4x8xf32>):
    %xw = mpt.matmul %e, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %s = mpt.add %xw, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = mpt.tanh %s : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpt.yield %t, %t : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32>, tensor<20x4x8xf32>
  %q = mpt.scan 20 carry(%acc : tensor<8x8xf32>) over(%x, %r#1 : tensor<20x4x8xf32>, tensor<20x4x8xf32>) {
  ^bb0(%dw: tensor<8x8xf32>, %e: tensor<4x8xf32>, %t: tensor<4x8xf32>):
    %xw = mpt.matmul %e, %w {mpt.remat = 0 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %d = mpt.tanh_grad %xw, %t : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %m = mpt.matmul %e, %d {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %dw1 = mpt.add %dw, %m : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    mpt.yield %dw1 : tensor<8x8xf32>
  } : tensor<8x8xf32>
  return %q : tensor<8x8xf32>
}

// -----

// Where all that an iteration does leaves, no loop is left.
// CHECK-LABEL: func @all
//   CHECK-NOT:   mpt.scan
//       CHECK:   mpt.matmul %{{.*}}, %{{.*}} : (tensor<20x4x8xf32>, tensor<8x6xf32>) -> tensor<20x4x6xf32>
//  CHECK-NEXT:   mpt.tanh %{{.*}} : (tensor<20x4x6xf32>)
func.func @all(%x: tensor<20x4x8xf32>, %w: tensor<8x6xf32>) -> tensor<20x4x6xf32> {
  %r = mpt.scan 20 over(%x : tensor<20x4x8xf32>) {
  ^bb0(%e: tensor<4x8xf32>):
    %m = mpt.matmul %e, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %t = mpt.tanh %m : (tensor<4x6xf32>) -> tensor<4x6xf32>
    mpt.yield %t : tensor<4x6xf32>
  } : tensor<20x4x6xf32>
  return %r : tensor<20x4x6xf32>
}

// -----

// What the loop stacks although it is the same in each iteration stays one value for what
// leaves it.
// CHECK-LABEL: func @same_in_each
//  CHECK-SAME:   %[[X:[^:]*]]: tensor<20x4x8xf32>, %[[W:[^:]*]]: tensor<8x6xf32>
//   CHECK-DAG:   mpt.matmul %[[X]], %[[W]] : (tensor<20x4x8xf32>, tensor<8x6xf32>) -> tensor<20x4x6xf32>
//   CHECK-DAG:   mpt.constant dense<[1.0{{.*}}]> : tensor<6xf32>
//       CHECK:   mpt.add %{{.*}}, %{{.*}} : (tensor<20x4x6xf32>, tensor<6xf32>)
func.func @same_in_each(%x: tensor<20x4x8xf32>, %w: tensor<8x6xf32>) -> (tensor<20x4x6xf32>, tensor<20x8x6xf32>, tensor<20x6xf32>) {
  %r:3 = mpt.scan 20 over(%x : tensor<20x4x8xf32>) {
  ^bb0(%e: tensor<4x8xf32>):
    %c = mpt.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
    %m = mpt.matmul %e, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %a = mpt.add %m, %c : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    mpt.yield %a, %w, %c : tensor<4x6xf32>, tensor<8x6xf32>, tensor<6xf32>
  } : tensor<20x4x6xf32>, tensor<20x8x6xf32>, tensor<20x6xf32>
  return %r#0, %r#1, %r#2 : tensor<20x4x6xf32>, tensor<20x8x6xf32>, tensor<20x6xf32>
}

// -----

// Sums of iterations in f16 that the loop adds up in f32 are one sum in f32: in f16 it might
// be infinite.
// CHECK-LABEL: func @wide_sums
//   CHECK-NOT:   -> tensor<32xf16>
//       CHECK:   mpt.reduce %{{.*}} : (tensor<20x1x32xf32>) -> tensor<32xf32>
//   CHECK-NOT:   -> tensor<32xf16>
func.func @wide_sums(%x: tensor<20x1x32xf16>, %y: tensor<20x1x32xf16>) -> (tensor<32x32xf32>, tensor<32xf32>) {
  %acc = mpt.constant dense<0.0> : tensor<32x32xf32>
  %bias = mpt.constant dense<0.0> : tensor<32xf32>
  %r:2 = mpt.scan 20 carry(%acc, %bias : tensor<32x32xf32>, tensor<32xf32>) over(%x, %y : tensor<20x1x32xf16>, tensor<20x1x32xf16>) {
  ^bb0(%dw: tensor<32x32xf32>, %db: tensor<32xf32>, %xt: tensor<1x32xf16>, %yt: tensor<1x32xf16>):
    %m = mpt.matmul %xt, %yt {transpose_lhs} : (tensor<1x32xf16>, tensor<1x32xf16>) -> tensor<32x32xf16>
    %mw = mpt.cast %m : (tensor<32x32xf16>) -> tensor<32x32xf32>
    %dw1 = mpt.add %dw, %mw : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %b = mpt.reduce %yt {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<1x32xf16>) -> tensor<32xf16>
    %bw = mpt.cast %b : (tensor<32xf16>) -> tensor<32xf32>
    %db1 = mpt.add %db, %bw : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    mpt.yield %dw1, %db1 : tensor<32x32xf32>, tensor<32xf32>
  } : tensor<32x32xf32>, tensor<32xf32>
  return %r#0, %r#1 : tensor<32x32xf32>, tensor<32xf32>
}

// -----

// A cast to 8 bits saturates in each iteration, so its sum stays in the loop.
// CHECK-LABEL: func @eight_bits
//       CHECK:   mpt.scan 20 carry
//       CHECK:   mpt.matmul
func.func @eight_bits(%x: tensor<20x1x32xf32>, %y: tensor<20x1x32xf32>, %acc: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %r = mpt.scan 20 carry(%acc : tensor<32x32xf32>) over(%x, %y : tensor<20x1x32xf32>, tensor<20x1x32xf32>) {
  ^bb0(%dw: tensor<32x32xf32>, %xt: tensor<1x32xf32>, %yt: tensor<1x32xf32>):
    %m = mpt.matmul %xt, %yt {transpose_lhs} : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<32x32xf32>
    %l = mpt.cast %m : (tensor<32x32xf32>) -> tensor<32x32xf8E4M3FN>
    %wide = mpt.cast %l : (tensor<32x32xf8E4M3FN>) -> tensor<32x32xf32>
    %dw1 = mpt.add %dw, %wide : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    mpt.yield %dw1 : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}

// -----

// A loop that is computed again as a whole keeps its matmul, as its copy does.
// CHECK-LABEL: func @whole
//       CHECK:   mpt.scan 20 carry
//       CHECK:   mpt.matmul {{.*}} : (tensor<4x8xf32>, tensor<8x8xf32>)
func.func @whole(%x: tensor<20x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %z = mpt.constant dense<0.0> : tensor<4x8xf32>
  %r = mpt.scan 20 carry(%z : tensor<4x8xf32>) over(%x : tensor<20x4x8xf32>) {
  ^bb0(%h: tensor<4x8xf32>, %e: tensor<4x8xf32>):
    %m = mpt.matmul %e, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %s = mpt.add %m, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = mpt.tanh %s : (tensor<4x8xf32>) -> tensor<4x8xf32>
    mpt.yield %t : tensor<4x8xf32>
  } {mpt.remat = 0 : i64} : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
