// Loops, conditionals, blocks and calls: what flows into one value has one type.
//
// RUN: mpt-opt %s --mpt-autocast="type=bf16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-validate-precision="type=bf16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --mpt-autocast="type=bf16" | diff %t.once.mlir -

!x = tensor<4x4xf32>

// The value carried is low: contractions read it. The sum carried stays f32.
// CHECK-LABEL: func.func @for_loop(
// CHECK: %[[X:.*]] = {{.*}} %arg0 {{.*}} tensor<4x4xbf16>
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[C:.*]] = %[[X]], %[[S:.*]] = %arg0) -> (tensor<4x4xbf16>, tensor<4x4xf32>)
// CHECK: %[[D:.*]] = mpt.matmul %[[C]], {{.*}} -> tensor<4x4xbf16>
// CHECK: %[[T:.*]] = math.tanh %[[D]] : tensor<4x4xbf16>
// CHECK: math.exp %[[S]] : tensor<4x4xf32>
// CHECK: scf.yield %[[T]], %{{.*}} : tensor<4x4xbf16>, tensor<4x4xf32>
// CHECK: %[[U:.*]] = {{.*}} %[[R]]#0 {{.*}} tensor<4x4xf32>
// CHECK: return %[[U]], %[[R]]#1
func.func @for_loop(%x: !x, %w: !x, %n: index) -> (!x, !x) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %x, %s = %x) -> (!x, !x) {
    %d = mpt.matmul %c, %w : (!x, !x) -> !x
    %t = math.tanh %d : !x
    %e = math.exp %s : !x
    %u = arith.addf %s, %e : !x
    scf.yield %t, %u : !x, !x
  }
  return %r#0, %r#1 : !x, !x
}

// CHECK-LABEL: func.func @while_loop(
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (i32, tensor<4x4xbf16>) -> (i32, tensor<4x4xbf16>)
// CHECK: scf.condition({{.*}}) {{.*}} : i32, tensor<4x4xbf16>
// CHECK: ^bb0(%{{.*}}: i32, %[[C:.*]]: tensor<4x4xbf16>):
// CHECK: mpt.matmul %[[C]], {{.*}} -> tensor<4x4xbf16>
func.func @while_loop(%x: !x, %w: !x, %n: i32) -> !x {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.while (%i = %c0, %c = %x) : (i32, !x) -> (i32, !x) {
    %p = arith.cmpi slt, %i, %n : i32
    scf.condition(%p) %i, %c : i32, !x
  } do {
  ^bb0(%i: i32, %c: !x):
    %d = mpt.matmul %c, %w : (!x, !x) -> !x
    %j = arith.addi %i, %c1 : i32
    scf.yield %j, %d : i32, !x
  }
  %y = mpt.matmul %r#1, %w : (!x, !x) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @conditional(
// CHECK: %[[A:.*]] = mpt.matmul {{.*}} -> tensor<4x4xbf16>
// CHECK: %[[B:.*]] = scf.if {{.*}} -> (tensor<4x4xbf16>)
// CHECK: arith.mulf %[[A]], %[[A]] : tensor<4x4xbf16>
// CHECK: } else {
// CHECK: scf.yield %[[A]] : tensor<4x4xbf16>
// CHECK: mpt.matmul %[[B]], {{.*}} -> tensor<4x4xf32>
func.func @conditional(%x: !x, %w: !x, %p: i1) -> !x {
  %a = mpt.matmul %x, %w : (!x, !x) -> !x
  %b = scf.if %p -> !x {
    %d = arith.mulf %a, %a : !x
    scf.yield %d : !x
  } else {
    scf.yield %a : !x
  }
  %c = mpt.matmul %b, %w : (!x, !x) -> !x
  return %c : !x
}

// What goes to a block of one reader is low, what returns is f32.
// CHECK-LABEL: func.func @blocks(
// CHECK: cf.br ^[[HEAD:.*]](%{{.*}}, %arg0 : i32, tensor<4x4xf32>)
// CHECK: ^[[HEAD]](%{{.*}}: i32, %[[C:.*]]: tensor<4x4xf32>):
// CHECK: %[[L:.*]] = mpt.cast %[[C]] {autocast} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: cf.cond_br %{{.*}}, ^{{.*}}(%[[L]] : tensor<4x4xbf16>), ^{{.*}}(%[[C]] : tensor<4x4xf32>)
// CHECK: ^{{.*}}(%[[B:.*]]: tensor<4x4xbf16>):
// CHECK: %[[D:.*]] = mpt.matmul %[[B]], {{.*}} -> tensor<4x4xf32>
// CHECK: cf.br ^[[HEAD]](%{{.*}}, %[[D]] : i32, tensor<4x4xf32>)
func.func @blocks(%x: !x, %w: !x, %n: i32) -> !x {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%c0, %x : i32, !x)
^head(%i: i32, %c: !x):
  %p = arith.cmpi slt, %i, %n : i32
  cf.cond_br %p, ^body(%c : !x), ^exit(%c : !x)
^body(%b: !x):
  %d = mpt.matmul %b, %w : (!x, !x) -> !x
  %j = arith.addi %i, %c1 : i32
  cf.br ^head(%j, %d : i32, !x)
^exit(%y: !x):
  return %y : !x
}

// A loop that carries what exp made is f32, with a cast in front of the contraction.
// CHECK-LABEL: func.func @denied_loop(
// CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = %arg0) -> (tensor<4x4xf32>)
// CHECK: %[[L:.*]] = mpt.cast %[[C]] {autocast}
// CHECK: %[[D:.*]] = mpt.matmul %[[L]], {{.*}} -> tensor<4x4xf32>
// CHECK: math.exp %[[D]] : tensor<4x4xf32>
// CHECK: scf.yield {{.*}} : tensor<4x4xf32>
func.func @denied_loop(%x: !x, %w: !x, %n: index) -> !x {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %x) -> (!x) {
    %d = mpt.matmul %c, %w : (!x, !x) -> !x
    %e = math.exp %d : !x
    scf.yield %e : !x
  }
  return %r : !x
}

// What threads share keeps its type; what each computes of it need not.
// CHECK-LABEL: func.func @forall(
// CHECK: scf.forall {{.*}} shared_outs(%[[O:.*]] = %arg0) -> (tensor<4x4xf32>)
// CHECK: %[[M:.*]] = mpt.matmul {{.*}} : (tensor<1x4xbf16>, tensor<4x4xbf16>) -> tensor<1x4xf32>
// CHECK: tensor.parallel_insert_slice %[[M]] into %[[O]]{{.*}} : tensor<1x4xf32> into tensor<4x4xf32>
func.func @forall(%x: !x, %w: !x) -> !x {
  %f = scf.forall (%i) in (4) shared_outs(%o = %x) -> !x {
    %s = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : !x to tensor<1x4xf32>
    %m = mpt.matmul %s, %w : (tensor<1x4xf32>, !x) -> tensor<1x4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %m into %o[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into !x
    }
  }
  return %f : !x
}

// Functions keep their types, whoever can see them.
// CHECK-LABEL: func.func private @callee(
// CHECK-SAME: tensor<4x4xf32>, {{.*}}: tensor<4x4xf32>) -> tensor<4x4xf32>
func.func private @callee(%x: !x, %w: !x) -> !x {
  %a = mpt.matmul %x, %w : (!x, !x) -> !x
  return %a : !x
}
// CHECK-LABEL: func.func @caller(
// CHECK-SAME: tensor<4x4xf32>, {{.*}}: tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: call @callee({{.*}}) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: call @caller({{.*}}) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
func.func @caller(%x: !x, %w: !x) -> !x {
  %a = mpt.matmul %x, %w : (!x, !x) -> !x
  %b = func.call @callee(%a, %w) : (!x, !x) -> !x
  %c = func.call @caller(%b, %w) : (!x, !x) -> !x
  %d = mpt.matmul %c, %w : (!x, !x) -> !x
  return %d : !x
}
