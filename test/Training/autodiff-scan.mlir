// RUN: mpt-opt %s -split-input-file -mpt-autodiff | FileCheck %s
// RUN: mpt-opt %s -split-input-file -mpt-autodiff -mpt-decompose -o /dev/null

// The backward pass carries the gradient of h, and the sum for w. It reads x again, what
// the first scan stacks by itself, and the factor of w, which the first scan returns in
// addition.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<2xf32> {{.*}}, %[[X:[^:]*]]: tensor<3x2xf32>
//       CHECK: %[[F:.*]]:3 = mpt.scan 3 carry(%[[H0:.*]] : tensor<2xf32>) over(%[[X]] : tensor<3x2xf32>) {
//  CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<2xf32>, %[[E:.*]]: tensor<2xf32>):
//  CHECK-NEXT:   %[[P:.*]] = mpt.mul %[[H]], %[[E]]
//       CHECK:   %[[T:.*]] = mpt.tanh
//       CHECK:   mpt.yield %[[T]], %[[T]], %[[P]] :
//       CHECK: } : tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
//       CHECK: mpt.grad_seed
//       CHECK: %[[DY:.*]] = mpt.broadcast
//       CHECK: %[[B:.*]]:2 = mpt.scan 3 reverse carry(%{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>) over(%[[DY]], %[[F]]#1, %{{.*}}, %{{.*}} : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
//       CHECK:   mpt.tanh_grad
//   CHECK-NOT:   mpt.tanh
//       CHECK:   mpt.yield %{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>
//       CHECK: mpt.gradients %[[B]]#1 {names = ["w"]}
func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<3x2xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h0 = mpt.constant dense<1.0> : tensor<2xf32>
  %h, %hs = mpt.scan 3 carry(%h0 : tensor<2xf32>) over(%x : tensor<3x2xf32>) {
  ^bb0(%c: tensor<2xf32>, %e: tensor<2xf32>):
    %p = mpt.mul %c, %e : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %q = mpt.mul %p, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %n = mpt.tanh %q : (tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %n, %n : tensor<2xf32>, tensor<2xf32>
  } : tensor<2xf32>, tensor<3x2xf32>
  %l = mpt.reduce %hs {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<3x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Must stay: no parameter reaches the scan, and nothing more is stacked for a
// parameter that reaches its results alone.
// CHECK-LABEL: func.func @loss
//       CHECK: mpt.scan 3 over(%{{.*}} : tensor<3x2xf32>) {
//       CHECK: } : tensor<3x2xf32>
//   CHECK-NOT: mpt.scan
func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<3x2xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %hs = mpt.scan 3 over(%x : tensor<3x2xf32>) {
  ^bb0(%e: tensor<2xf32>):
    %n = mpt.tanh %e : (tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %n : tensor<2xf32>
  } : tensor<3x2xf32>
  %p = mpt.mul %hs, %w : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %l = mpt.reduce %p {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<3x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// With checkpoint_every, groups of iterations run again in the backward pass; only what
// they carry is stacked. The copies are unique.
// CHECK-LABEL: func.func @loss
//       CHECK: %[[XS:.*]] = mpt.reshape %{{.*}} : (tensor<6x2xf32>) -> tensor<3x2x2xf32>
//       CHECK: mpt.scan 3 carry(%{{.*}} : tensor<2xf32>) over(%[[XS]] : tensor<3x2x2xf32>) {
//       CHECK:   mpt.scan 2 carry
//       CHECK:   } : tensor<2xf32>
//       CHECK: } : tensor<2xf32>, tensor<3x2xf32>
//       CHECK: mpt.scan 3 reverse
//       CHECK:   mpt.scan 2 carry
//       CHECK:     mpt.tanh {{.*}}mpt.remat
//       CHECK:   mpt.scan 2 reverse carry
//       CHECK:     mpt.tanh_grad
func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<6x2xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %h0 = mpt.constant dense<1.0> : tensor<2xf32>
  %h = mpt.scan 6 carry(%h0 : tensor<2xf32>) over(%x : tensor<6x2xf32>) {
  ^bb0(%c: tensor<2xf32>, %e: tensor<2xf32>):
    %p = mpt.mul %c, %e : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %q = mpt.mul %p, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %n = mpt.tanh %q : (tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %n : tensor<2xf32>
  } {checkpoint_every = 2 : i64} : tensor<2xf32>
  %l = mpt.reduce %h {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Two losses: both backward passes read the same stacked result.
// CHECK-LABEL: func.func @loss
//       CHECK: mpt.scan 3 carry
//       CHECK: } : tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
//       CHECK: mpt.grad_seed
//       CHECK: mpt.scan 3 reverse
//       CHECK: mpt.grad_seed
//       CHECK: mpt.scan 3 reverse
//   CHECK-NOT: mpt.scan
func.func @loss(%w: tensor<2xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<3x2xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "a", mpt.loss}, tensor<f32> {mpt.name = "b", mpt.loss}) {
  %h, %hs = mpt.scan 3 carry(%w : tensor<2xf32>) over(%x : tensor<3x2xf32>) {
  ^bb0(%c: tensor<2xf32>, %e: tensor<2xf32>):
    %p = mpt.mul %c, %e : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %n = mpt.mul %p, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    mpt.yield %n, %c : tensor<2xf32>, tensor<2xf32>
  } : tensor<2xf32>, tensor<3x2xf32>
  %k = mpt.reduce %hs {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<3x2xf32>) -> tensor<f32>
  %l = mpt.reduce %h {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %k, %l : tensor<f32>, tensor<f32>
}

// -----

// A branch that gradients flow through is computed, taken or not, and no gradient comes out
// of it where it is not; another one, and a loop that ends early, stay what they are.
// CHECK-LABEL: func.func @loss
// CHECK-SAME:  %[[W:[a-z0-9]*]]: tensor<f32> {{{.*}}}, %[[X:[a-z0-9]*]]: tensor<f32> {{{.*}}}, %[[P:[a-z0-9]*]]: tensor<i1>
// CHECK:       mpt.scan conditional 9 carry(%[[P]], %[[X]] :
// CHECK:       mpt.scan conditional 1 carry(%[[P]],
// CHECK:       %[[S:.*]] = mpt.stop_gradient %[[W]]
// CHECK-NEXT:  %[[G:.*]] = mpt.where %[[P]], %[[W]], %[[S]]
// CHECK-NEXT:  %[[L:.*]] = mpt.log %[[G]]
// CHECK-NEXT:  mpt.where %[[P]], %[[L]], %[[W]]
// CHECK-NOT:   mpt.scan
// CHECK:       mpt.gradients
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"},
                       %x: tensor<f32> {mpt.name = "x", mpt.role = "input"},
                       %p: tensor<i1> {mpt.name = "p", mpt.role = "input"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %a:2 = mpt.scan conditional 9 carry(%p, %x : tensor<i1>, tensor<f32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<f32>):
    %n = mpt.exp %v : (tensor<f32>) -> tensor<f32>
    mpt.yield %c, %n : tensor<i1>, tensor<f32>
  } : tensor<i1>, tensor<f32>
  %b:2 = mpt.scan conditional 1 carry(%p, %a#1 : tensor<i1>, tensor<f32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<f32>):
    %n = mpt.exp %v : (tensor<f32>) -> tensor<f32>
    mpt.yield %c, %n : tensor<i1>, tensor<f32>
  } : tensor<i1>, tensor<f32>
  %y:2 = mpt.scan conditional 1 carry(%p, %w : tensor<i1>, tensor<f32>) {
  ^bb0(%c: tensor<i1>, %v: tensor<f32>):
    %n = mpt.log %v : (tensor<f32>) -> tensor<f32>
    mpt.yield %c, %n : tensor<i1>, tensor<f32>
  } : tensor<i1>, tensor<f32>
  %loss = mpt.mul %y#1, %b#1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
