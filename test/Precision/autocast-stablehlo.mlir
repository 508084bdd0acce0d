// An unregistered dialect, by its rule table.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16" | diff %t.once.mlir -
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 mixed-results=false" -o %t.same.mlir
// RUN: FileCheck --check-prefix=SAME %s < %t.same.mlir
// RUN: mpt-opt %t.same.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 mixed-results=false" | diff %t.same.mlir -

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// A contraction whose result only f32 readers have returns f32; the weight is cast
// once for both contractions.
// CHECK-LABEL: func.func @mixed_results
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<4x4xf32>)
// CHECK-DAG: %[[XL:.*]] = "stablehlo.convert"(%[[X]]) {mpt.autocast} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK-DAG: %[[WL:.*]] = "stablehlo.convert"(%[[W]]) {mpt.autocast} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: %[[A:.*]] = "stablehlo.dot"(%[[XL]], %[[WL]]) : {{.*}} -> tensor<8x4xbf16>
// CHECK: %[[B:.*]] = "stablehlo.dot"(%[[A]], %[[WL]]) : {{.*}} -> tensor<8x4xf32>
// CHECK: "stablehlo.exponential"(%[[B]]) : (tensor<8x4xf32>) -> tensor<8x4xf32>
// SAME-LABEL: func.func @mixed_results
// SAME: %[[A:.*]] = "stablehlo.dot"
// SAME: %[[B:.*]] = "stablehlo.dot"(%[[A]], {{.*}}) : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
// SAME: %[[U:.*]] = "stablehlo.convert"(%[[B]]) {mpt.autocast} : (tensor<8x4xbf16>) -> tensor<8x4xf32>
// SAME: "stablehlo.exponential"(%[[U]])
func.func @mixed_results(%x: !x, %w: !w) -> !x {
  %a = "stablehlo.dot"(%x, %w) : (!x, !w) -> !x
  %b = "stablehlo.dot"(%a, %w) : (!x, !w) -> !x
  %c = "stablehlo.exponential"(%b) : (!x) -> !x
  return %c : !x
}

// A sum reads what is there and keeps its f32; a maximum is low with its region.
// CHECK-LABEL: func.func @reductions
// CHECK: %[[A:.*]] = "stablehlo.dot"({{.*}}) : {{.*}} -> tensor<8x4xbf16>
// CHECK: "stablehlo.reduce"(%[[A]], %{{.*}}) <{dimensions = array<i64: 1>}> ({
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
// CHECK: }) : (tensor<8x4xbf16>, tensor<f32>) -> tensor<8xf32>
// CHECK: %[[L:.*]] = "stablehlo.constant"() <{value = dense<0xFF80> : tensor<bf16>}> : () -> tensor<bf16>
// CHECK: "stablehlo.reduce"(%[[A]], %[[L]]) <{dimensions = array<i64: 1>}> ({
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<bf16>, %{{.*}}: tensor<bf16>):
// CHECK-NEXT: "stablehlo.maximum"({{.*}}) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
// CHECK: }) : (tensor<8x4xbf16>, tensor<bf16>) -> tensor<8xbf16>
func.func @reductions(%x: !x, %w: !w) -> (tensor<8xf32>, tensor<8xf32>, !x) {
  %a = "stablehlo.dot"(%x, %w) : (!x, !w) -> !x
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %s = "stablehlo.reduce"(%a, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%r) : (tensor<f32>) -> ()
  }) : (!x, tensor<f32>) -> tensor<8xf32>
  %inf = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %m = "stablehlo.reduce"(%a, %inf) <{dimensions = array<i64: 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = "stablehlo.maximum"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%r) : (tensor<f32>) -> ()
  }) : (!x, tensor<f32>) -> tensor<8xf32>
  %b = "stablehlo.dot"(%a, %w) : (!x, !w) -> !x
  return %s, %m, %b : tensor<8xf32>, tensor<8xf32>, !x
}

// A mask that bf16 would make infinite, and a number that it would make zero,
// keep in f32 what reads them. Others become low constants.
// CHECK-LABEL: func.func @constants
// CHECK: %[[HALF:.*]] = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<8x4xbf16>}>
// CHECK: %[[A:.*]] = "stablehlo.dot"
// CHECK: "stablehlo.multiply"(%{{.*}}, %[[HALF]]) : {{.*}} -> tensor<8x4xbf16>
// CHECK: "stablehlo.select"({{.*}}) : (tensor<8x4xi1>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: return
func.func @constants(%x: !x, %w: !w, %p: tensor<8x4xi1>) -> !x {
  %half = "stablehlo.constant"() <{value = dense<0.5> : tensor<8x4xf32>}> : () -> !x
  %mask = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
  %masks = "stablehlo.broadcast_in_dim"(%mask) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> !x
  %a = "stablehlo.dot"(%x, %w) : (!x, !w) -> !x
  %h = "stablehlo.multiply"(%a, %half) : (!x, !x) -> !x
  %b = "stablehlo.dot"(%h, %w) : (!x, !w) -> !x
  %s = "stablehlo.select"(%p, %b, %masks) : (tensor<8x4xi1>, !x, !x) -> !x
  %c = "stablehlo.dot"(%s, %w) : (!x, !w) -> !x
  return %c : !x
}

// What a loop carries is one variable: low here, where contractions read it, with
// the cast in front of the loop; the counter is not touched.
// CHECK-LABEL: func.func @loop
// CHECK: %[[X:.*]] = "stablehlo.convert"(%arg0) {mpt.autocast}
// CHECK: %[[R:.*]]:2 = "stablehlo.while"(%{{.*}}, %[[X]]) ({
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<8x4xbf16>):
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[C:.*]]: tensor<8x4xbf16>):
// CHECK: "stablehlo.dot"(%[[C]], %{{.*}}) : {{.*}} -> tensor<8x4xbf16>
// CHECK: }) : (tensor<i32>, tensor<8x4xbf16>) -> (tensor<i32>, tensor<8x4xbf16>)
// CHECK: "stablehlo.convert"(%[[R]]#1) {mpt.autocast} : (tensor<8x4xbf16>) -> tensor<8x4xf32>
func.func @loop(%x: !x, %w: !w, %n: tensor<i32>) -> !x {
  %i = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %r:2 = "stablehlo.while"(%i, %x) ({
  ^bb0(%j: tensor<i32>, %c: !x):
    %p = "stablehlo.compare"(%j, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }, {
  ^bb0(%j: tensor<i32>, %c: !x):
    %k = "stablehlo.add"(%j, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %d = "stablehlo.dot"(%c, %w) : (!x, !w) -> !x
    %t = "stablehlo.tanh"(%d) : (!x) -> !x
    "stablehlo.return"(%k, %t) : (tensor<i32>, !x) -> ()
  }) : (tensor<i32>, !x) -> (tensor<i32>, !x)
  return %r#1 : !x
}

// A weight's update is not between contractions: it stays f32.
// CHECK-LABEL: func.func @update
// CHECK: %[[G:.*]] = "stablehlo.dot"({{.*}}) : {{.*}} -> tensor<4x4xf32>
// CHECK: %[[S:.*]] = "stablehlo.multiply"(%[[G]], %{{.*}}) : {{.*}} -> tensor<4x4xf32>
// CHECK: "stablehlo.subtract"(%arg1, %[[S]]) : {{.*}} -> tensor<4x4xf32>
func.func @update(%x: tensor<4x8xf32>, %w: !w, %dy: tensor<8x4xf32>, %lr: !w) -> !w {
  %g = "stablehlo.dot"(%x, %dy) : (tensor<4x8xf32>, tensor<8x4xf32>) -> !w
  %s = "stablehlo.multiply"(%g, %lr) : (!w, !w) -> !w
  %n = "stablehlo.subtract"(%w, %s) : (!w, !w) -> !w
  return %n : !w
}
