// RUN: mpt-opt %s -split-input-file -mpt-autodiff | FileCheck %s

// The seed is one op, the gradients go through one op and become results named
// after the parameters. A bias that broadcasting repeated gets the sum.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<4x3xf32> {{.*}}, %[[B:[^:]*]]: tensor<3xf32> {{.*}}, %[[X:[^:]*]]: tensor<2x4xf32> {{.*}}, %[[T:[^:]*]]: tensor<2x3xf32>
//  CHECK-SAME: -> (tensor<f32> {mpt.name = "loss"}, tensor<4x3xf32> {mpt.name = "grad.w"}, tensor<3xf32> {mpt.name = "grad.b"})
//       CHECK:   %[[P:.*]] = mpt.matmul %[[X]], %[[W]]
//       CHECK:   %[[Q:.*]] = mpt.add %[[P]], %[[B]]
//       CHECK:   %[[L:.*]] = mpt.mse_loss %[[Q]], %[[T]]
//       CHECK:   %[[SEED:.*]] = mpt.grad_seed : () -> tensor<f32>
//       CHECK:   %[[DQ:.*]] = mpt.mse_loss_grad %[[SEED]], %[[Q]], %[[T]]
//   CHECK-DAG:   %[[DB:.*]] = mpt.reduce %[[DQ]] {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<2x3xf32>) -> tensor<3xf32>
//   CHECK-DAG:   %[[DW:.*]] = mpt.matmul %[[X]], %[[DQ]] {transpose_lhs} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
//       CHECK:   %[[G:.*]]:2 = mpt.gradients %[[DW]], %[[DB]] {names = ["w", "b"]}
//       CHECK:   return %[[L]], %[[G]]#0, %[[G]]#1
func.func @loss(%w: tensor<4x3xf32> {mpt.name = "w", mpt.role = "parameter"},
                %b: tensor<3xf32> {mpt.name = "b", mpt.role = "parameter"},
                %x: tensor<2x4xf32> {mpt.name = "x", mpt.role = "input"},
                %t: tensor<2x3xf32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %p = mpt.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %q = mpt.add %p, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %l = mpt.mse_loss %q, %t : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// Other functions are left alone.
// CHECK-LABEL: func.func @other
//  CHECK-SAME: -> tensor<f32> {
//   CHECK-NOT: mpt.grad_seed
func.func @other(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// A size of 1 that was repeated is summed and stays; a scalar gets everything.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<2x1xf32> {{.*}}, %[[S:[^:]*]]: tensor<f32> {{.*}}, %[[X:[^:]*]]: tensor<2x3xf32>)
//       CHECK:   %[[SEED:.*]] = mpt.grad_seed
//       CHECK:   %[[ONE:.*]] = mpt.reshape %[[SEED]] : (tensor<f32>) -> tensor<1x1xf32>
//       CHECK:   %[[DQ:.*]] = mpt.broadcast %[[ONE]] : (tensor<1x1xf32>) -> tensor<2x3xf32>
//       CHECK:   %[[NEG:.*]] = mpt.neg %[[DQ]]
//       CHECK:   %[[DS:.*]] = mpt.reduce %[[NEG]] {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<2x3xf32>) -> tensor<f32>
//       CHECK:   %[[DP:.*]] = mpt.mul %[[DQ]], %[[X]]
//       CHECK:   %[[ROWS:.*]] = mpt.reduce %[[DP]] {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<2x3xf32>) -> tensor<2xf32>
//       CHECK:   %[[DW:.*]] = mpt.reshape %[[ROWS]] : (tensor<2xf32>) -> tensor<2x1xf32>
//       CHECK:   mpt.gradients %[[DW]], %[[DS]] {names = ["w", "s"]}
func.func @loss(%w: tensor<2x1xf32> {mpt.name = "w", mpt.role = "parameter"},
                %s: tensor<f32> {mpt.name = "s", mpt.role = "parameter"},
                %x: tensor<2x3xf32>) -> tensor<f32> {
  %p = mpt.mul %x, %w : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %q = mpt.sub %p, %s : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %l = mpt.reduce %q {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// y = tanh(w) is used by relu and by the sum, w by tanh and by the product: the
// gradients of all uses are added before they go on.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<4xf32>
//       CHECK:   %[[Y:.*]] = mpt.tanh %[[W]]
//       CHECK:   %[[Z:.*]] = mpt.relu %[[Y]]
//       CHECK:   %[[A:.*]] = mpt.add %[[Y]], %[[Z]]
//       CHECK:   mpt.grad_seed
//       CHECK:   %[[DB:.*]] = mpt.broadcast
//       CHECK:   %[[DA:.*]] = mpt.mul %[[DB]], %[[W]]
//       CHECK:   %[[DW1:.*]] = mpt.mul %[[DB]], %[[A]]
//       CHECK:   %[[DY1:.*]] = mpt.relu_grad %[[DA]], %[[Z]]
//       CHECK:   %[[DY:.*]] = mpt.add %[[DA]], %[[DY1]]
//       CHECK:   %[[DW2:.*]] = mpt.tanh_grad %[[DY]], %[[Y]]
//       CHECK:   %[[DW:.*]] = mpt.add %[[DW1]], %[[DW2]]
//       CHECK:   mpt.gradients %[[DW]]
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %y = mpt.tanh %w : (tensor<4xf32>) -> tensor<4xf32>
  %z = mpt.relu %y : (tensor<4xf32>) -> tensor<4xf32>
  %a = mpt.add %y, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = mpt.mul %a, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = mpt.reduce %b {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Both operands of one op are the same value.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<f32>
//       CHECK:   %[[SEED:.*]] = mpt.grad_seed
//       CHECK:   %[[A:.*]] = mpt.mul %[[SEED]], %[[W]]
//       CHECK:   %[[B:.*]] = mpt.mul %[[SEED]], %[[W]]
//       CHECK:   %[[D:.*]] = mpt.add %[[A]], %[[B]]
//       CHECK:   mpt.gradients %[[D]]
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %l = mpt.mul %w, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Integer and boolean operands get no gradient, and none passes through a
// comparison.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%{{.*}}: tensor<8x2xf32> {{.*}}, %[[IDS:[^:]*]]: tensor<4xi32>, %[[C:[^:]*]]: tensor<4x1xi1>)
//       CHECK:   %[[N:.*]] = mpt.cast
//       CHECK:   mpt.grad_seed
//       CHECK:   %[[DM:.*]] = mpt.broadcast
//       CHECK:   %[[DA:.*]] = mpt.mul %[[DM]], %[[N]]
//       CHECK:   %[[ZERO:.*]] = mpt.constant dense<0.0{{.*}}> : tensor<f32>
//       CHECK:   %[[DY:.*]] = mpt.where %[[C]], %[[DA]], %[[ZERO]]
//       CHECK:   %[[DT:.*]] = mpt.scatter_add %[[IDS]], %[[DY]] : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
//       CHECK:   mpt.gradients %[[DT]] {names = ["t"]}
func.func @loss(%t: tensor<8x2xf32> {mpt.name = "t", mpt.role = "parameter"},
                %ids: tensor<4xi32>, %c: tensor<4x1xi1>) -> tensor<f32> {
  %y = mpt.gather %t, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %z = mpt.constant dense<0.0> : tensor<f32>
  %a = mpt.where %c, %y, %z : (tensor<4x1xi1>, tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  %k = mpt.compare %a, %z {predicate = #mpt.predicate<gt>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xi1>
  %n = mpt.cast %k : (tensor<4x2xi1>) -> tensor<4x2xf32>
  %m = mpt.mul %a, %n : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %l = mpt.reduce %m {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The stopped factor counts as a constant.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<f32>
//       CHECK:   %[[S:.*]] = mpt.stop_gradient %[[W]]
//       CHECK:   %[[SEED:.*]] = mpt.grad_seed
//  CHECK-NEXT:   %[[D:.*]] = mpt.mul %[[SEED]], %[[S]]
//  CHECK-NEXT:   mpt.gradients %[[D]]
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %s = mpt.stop_gradient %w : (tensor<f32>) -> tensor<f32>
  %l = mpt.mul %w, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Regions are inlined, and what does not leave one is not saved.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<4xf32> {{.*}}, %[[X:[^:]*]]: tensor<4xf32>)
//   CHECK-NOT:   mpt.checkpoint
//       CHECK:   %[[A:.*]] = mpt.mul %[[W]], %[[X]] {mpt.save = "never"}
//       CHECK:   %[[B:.*]] = mpt.sin %[[A]] {mpt.save = "never"}
//       CHECK:   %[[C:.*]] = mpt.exp %[[B]] {mpt.save = "never"}
//       CHECK:   %[[D:.*]] = mpt.tanh %[[C]] :
//       CHECK:   %[[L:.*]] = mpt.reduce %[[D]] {{{[^m]*}}mpt.reduce_kind<sum>} :
//       CHECK:   mpt.grad_seed
//       CHECK:   %[[DD:.*]] = mpt.broadcast
//       CHECK:   %[[DC:.*]] = mpt.tanh_grad %[[DD]], %[[D]] :
//       CHECK:   %[[DB:.*]] = mpt.mul %[[DC]], %[[C]] :
//       CHECK:   %[[COS:.*]] = mpt.cos %[[A]] :
//       CHECK:   %[[DA:.*]] = mpt.mul %[[DB]], %[[COS]] :
//       CHECK:   %[[DW:.*]] = mpt.mul %[[DA]], %[[X]] :
//       CHECK:   mpt.gradients %[[DW]]
func.func @loss(%w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<4xf32>) -> tensor<f32> {
  %y = mpt.checkpoint {
    %a = mpt.mul %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %i = mpt.checkpoint {
      %b = mpt.sin %a : (tensor<4xf32>) -> tensor<4xf32>
      %c = mpt.exp %b : (tensor<4xf32>) -> tensor<4xf32>
      mpt.yield %c : tensor<4xf32>
    } : tensor<4xf32>
    %d = mpt.tanh %i : (tensor<4xf32>) -> tensor<4xf32>
    mpt.yield %d : tensor<4xf32>
  } : tensor<4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A region may return a value from above, or nothing that is used.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<f32>
//       CHECK:   %[[L:.*]] = mpt.exp %[[W]] :
//       CHECK:   %[[SEED:.*]] = mpt.grad_seed
//       CHECK:   mpt.mul %[[SEED]], %[[L]]
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %y:2 = mpt.checkpoint {
    %a = mpt.sin %w : (tensor<f32>) -> tensor<f32>
    mpt.yield %w, %a : tensor<f32>, tensor<f32>
  } : tensor<f32>, tensor<f32>
  %l = mpt.exp %y#0 : (tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A parameter's gradient has its type, also where the product returns f32 and
// where a cast is in between.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: (%[[W:[^:]*]]: tensor<4x3xbf16> {{.*}}, %[[X:[^:]*]]: tensor<2x4xbf16>)
//  CHECK-SAME: -> (tensor<f32>, tensor<4x3xbf16> {mpt.name = "grad.w"})
//       CHECK:   mpt.grad_seed
//       CHECK:   %[[UP:.*]] = mpt.mul {{.*}} -> tensor<4x3xf32>
//       CHECK:   %[[D1:.*]] = mpt.cast %{{.*}} : (tensor<4x3xf32>) -> tensor<4x3xbf16>
//       CHECK:   %[[D2:.*]] = mpt.matmul %[[X]], %{{.*}} {transpose_lhs} : (tensor<2x4xbf16>, tensor<2x3xf32>) -> tensor<4x3xbf16>
//       CHECK:   %[[D:.*]] = mpt.add %[[D1]], %[[D2]] : (tensor<4x3xbf16>, tensor<4x3xbf16>) -> tensor<4x3xbf16>
//       CHECK:   mpt.gradients %[[D]] {names = ["w"]} : (tensor<4x3xbf16>) -> tensor<4x3xbf16>
func.func @loss(%w: tensor<4x3xbf16> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<2x4xbf16>) -> tensor<f32> {
  %y = mpt.matmul %x, %w : (tensor<2x4xbf16>, tensor<4x3xbf16>) -> tensor<2x3xf32>
  %v = mpt.cast %w : (tensor<4x3xbf16>) -> tensor<4x3xf32>
  %e = mpt.exp %v : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %k = mpt.reduce %e {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  %m = mpt.add %l, %k : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %m : tensor<f32>
}

// -----

// Ops without a rule are fine where no parameter goes through them to the loss:
// before the parameters, in a metric, in the next running statistics.
// CHECK-LABEL: func.func @loss
//  CHECK-SAME: -> (tensor<f32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> {mpt.name = "grad.g"})
//       CHECK:   math.absf
//       CHECK:   scf.if
//       CHECK:   mpt.grad_seed
//       CHECK:   %{{.*}}, %[[DG:.*]], %{{.*}} = mpt.batch_norm_grad
//       CHECK:   mpt.gradients %[[DG]] {names = ["g"]}
func.func @loss(%g: tensor<3xf32> {mpt.name = "g", mpt.role = "parameter"},
                %x: tensor<4x3xf32>, %c: tensor<3xf32>, %flag: i1)
    -> (tensor<f32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = math.absf %x : tensor<4x3xf32>
  %b = scf.if %flag -> tensor<4x3xf32> {
    scf.yield %a : tensor<4x3xf32>
  } else {
    scf.yield %x : tensor<4x3xf32>
  }
  %y, %nm, %nv, %m, %r = mpt.batch_norm %b, %g, %c, %c, %c : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %norms = mpt.reduce %y {kind = #mpt.reduce_kind<max>, axes = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  %metric = math.sqrt %norms : tensor<4xf32>
  %l = mpt.reduce %y {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  return %l, %metric, %nm, %nv : tensor<f32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// The loss is a parameter.
// CHECK-LABEL: func.func @loss
//       CHECK:   %[[SEED:.*]] = mpt.grad_seed
//       CHECK:   mpt.gradients %[[SEED]] {names = ["w"]}
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// The derivatives of sign and floor are zero wherever they exist.
// CHECK-LABEL: func.func @loss
//       CHECK:   %[[F:.*]] = mpt.floor
//       CHECK:   %[[SEED:.*]] = mpt.grad_seed
//       CHECK:   %[[D:.*]] = mpt.mul %[[SEED]], %[[F]] :
//   CHECK-NOT:   mpt.add
//       CHECK:   mpt.gradients %[[D]]
func.func @loss(%w: tensor<f32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %s = mpt.sign %w : (tensor<f32>) -> tensor<f32>
  %f = mpt.floor %s : (tensor<f32>) -> tensor<f32>
  %l = mpt.mul %w, %f : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The matmuls of a gradient stay in f32 with the op; those of another are free.
// CHECK-LABEL: func.func @loss
//       CHECK:   mpt.matmul {{.*}} {mpt.precision = "f32"}
//       CHECK:   mpt.matmul {{.*}} {transpose_rhs}
//       CHECK:   mpt.matmul {{.*}} {transpose_lhs}
//       CHECK:   mpt.matmul {{.*}} {mpt.precision = "f32", transpose_rhs}
//       CHECK:   mpt.matmul {{.*}} {mpt.precision = "f32", transpose_lhs}
func.func @loss(%w: tensor<4x4xf32> {mpt.name = "w", mpt.role = "parameter"}) -> tensor<f32> {
  %a = mpt.matmul %w, %w {mpt.precision = "f32"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = mpt.matmul %a, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %l = mpt.reduce %b {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
