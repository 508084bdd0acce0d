// torch.prim.If and torch.prim.Loop: what is carried has one type. The trip count
// and the condition come before it, in other numbers outside and inside.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-validate-precision="type=bf16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16" | diff %t.once.mlir -

!x = !torch.vtensor<[8,4],f32>
!w = !torch.vtensor<[4,4],f32>

// What is carried is low all the way.
// CHECK-LABEL: func.func @loop(
// CHECK: %[[A:.*]] = "torch.aten.mm"({{.*}}) : (!torch.vtensor<[8,4],bf16>, !torch.vtensor<[4,4],bf16>) -> !torch.vtensor<[8,4],bf16>
// CHECK: %[[L:.*]]:2 = "torch.prim.Loop"(%{{.*}}, %{{.*}}, %[[A]], %arg2) ({
// CHECK: ^bb0(%{{.*}}: !torch.int, %[[H:.*]]: !torch.vtensor<[8,4],bf16>, %[[S:.*]]: !torch.vtensor<[],f32>):
// CHECK: %[[N:.*]] = "torch.aten.mm"(%[[H]], %{{.*}}) : {{.*}} -> !torch.vtensor<[8,4],bf16>
// CHECK: "torch.prim.Loop.condition"(%{{.*}}, %[[N]], %{{.*}}) : (!torch.bool, !torch.vtensor<[8,4],bf16>, !torch.vtensor<[],f32>) -> ()
// CHECK: }) : (!torch.int, !torch.bool, !torch.vtensor<[8,4],bf16>, !torch.vtensor<[],f32>) -> (!torch.vtensor<[8,4],bf16>, !torch.vtensor<[],f32>)
// CHECK: "torch.aten.mm"(%[[L]]#0, %{{.*}}) : (!torch.vtensor<[8,4],bf16>
func.func @loop(%x: !x, %w: !w, %s: !torch.vtensor<[],f32>) -> (!x, !torch.vtensor<[],f32>) {
  %trips = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %r:2 = "torch.prim.Loop"(%trips, %true, %a, %s) ({
  ^bb0(%i: !torch.int, %h: !x, %sum: !torch.vtensor<[],f32>):
    %n = "torch.aten.mm"(%h, %w) : (!x, !w) -> !x
    %more = "my.loss"(%sum) : (!torch.vtensor<[],f32>) -> !torch.vtensor<[],f32>
    "torch.prim.Loop.condition"(%true, %n, %more) : (!torch.bool, !x, !torch.vtensor<[],f32>) -> ()
  }) : (!torch.int, !torch.bool, !x, !torch.vtensor<[],f32>) -> (!x, !torch.vtensor<[],f32>)
  %d = "torch.aten.mm"(%r#0, %w) : (!x, !w) -> !x
  return %d, %r#1 : !x, !torch.vtensor<[],f32>
}

// Must stay: the same, but what the body does with it is f32.
// CHECK-LABEL: func.func @kept(
// CHECK: ^bb0(%{{.*}}: !torch.int, %{{.*}}: !torch.vtensor<[8,4],f32>):
// CHECK: "torch.prim.Loop.condition"({{.*}}) : (!torch.bool, !torch.vtensor<[8,4],f32>) -> ()
// CHECK: }) : (!torch.int, !torch.bool, !torch.vtensor<[8,4],f32>) -> !torch.vtensor<[8,4],f32>
func.func @kept(%x: !x, %w: !w) -> !x {
  %trips = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %r = "torch.prim.Loop"(%trips, %true, %x) ({
  ^bb0(%i: !torch.int, %h: !x):
    %n = "torch.aten.cdist"(%h, %h) : (!x, !x) -> !x
    "torch.prim.Loop.condition"(%true, %n) : (!torch.bool, !x) -> ()
  }) : (!torch.int, !torch.bool, !x) -> !x
  %d = "torch.aten.mm"(%r, %w) : (!x, !w) -> !x
  return %d : !x
}

// CHECK-LABEL: func.func @if(
// CHECK: %[[R:.*]] = "torch.prim.If"(%arg2) ({
// CHECK: "torch.prim.If.yield"(%{{.*}}) : (!torch.vtensor<[8,4],bf16>) -> ()
// CHECK: }, {
// CHECK: "torch.prim.If.yield"(%{{.*}}) : (!torch.vtensor<[8,4],bf16>) -> ()
// CHECK: }) : (!torch.bool) -> !torch.vtensor<[8,4],bf16>
// CHECK: "torch.aten.mm"(%[[R]], %{{.*}}) : (!torch.vtensor<[8,4],bf16>
func.func @if(%x: !x, %w: !w, %c: !torch.bool) -> !x {
  %r = "torch.prim.If"(%c) ({
    %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
    "torch.prim.If.yield"(%a) : (!x) -> ()
  }, {
    %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
    %b = "torch.aten.relu"(%a) : (!x) -> !x
    "torch.prim.If.yield"(%b) : (!x) -> ()
  }) : (!torch.bool) -> !x
  %d = "torch.aten.mm"(%r, %w) : (!x, !w) -> !x
  return %d : !x
}

// A list that a loop carries, and one whose type does not say what it carries.
// CHECK-LABEL: func.func @lists(
// CHECK: ^bb0(%{{.*}}: !torch.int, %[[L:.*]]: !torch.list<vtensor<[8,4],bf16>>):
// CHECK: "torch.aten.cat"(%[[L]], %{{.*}}) : (!torch.list<vtensor<[8,4],bf16>>, !torch.int) -> !torch.vtensor<[8,4],bf16>
// CHECK: ^bb0(%{{.*}}: !torch.int, %[[U:.*]]: !torch.list<vtensor>):
// CHECK: %[[C:.*]] = "torch.aten.cat"(%[[U]], %{{.*}}) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[8,4],f32>
// CHECK: "torch.prim.ListConstruct"({{.*}}) : (!torch.vtensor<[8,4],f32>) -> !torch.list<vtensor>
func.func @lists(%x: !x, %w: !w) -> !x {
  %trips = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %l = "torch.prim.ListConstruct"(%a) : (!x) -> !torch.list<vtensor<[8,4],f32>>
  %r = "torch.prim.Loop"(%trips, %true, %l) ({
  ^bb0(%i: !torch.int, %h: !torch.list<vtensor<[8,4],f32>>):
    %c = "torch.aten.cat"(%h, %trips) : (!torch.list<vtensor<[8,4],f32>>, !torch.int) -> !x
    %n = "torch.aten.mm"(%c, %w) : (!x, !w) -> !x
    %m = "torch.prim.ListConstruct"(%n) : (!x) -> !torch.list<vtensor<[8,4],f32>>
    "torch.prim.Loop.condition"(%true, %m) : (!torch.bool, !torch.list<vtensor<[8,4],f32>>) -> ()
  }) : (!torch.int, !torch.bool, !torch.list<vtensor<[8,4],f32>>) -> !torch.list<vtensor<[8,4],f32>>
  %d = "torch.aten.cat"(%r, %trips) : (!torch.list<vtensor<[8,4],f32>>, !torch.int) -> !x
  %e = "torch.aten.mm"(%d, %w) : (!x, !w) -> !x
  %ul = "torch.prim.ListConstruct"(%e) : (!x) -> !torch.list<vtensor>
  %ur = "torch.prim.Loop"(%trips, %true, %ul) ({
  ^bb0(%i: !torch.int, %h: !torch.list<vtensor>):
    %c = "torch.aten.cat"(%h, %trips) : (!torch.list<vtensor>, !torch.int) -> !x
    %n = "torch.aten.mm"(%c, %w) : (!x, !w) -> !x
    %m = "torch.prim.ListConstruct"(%n) : (!x) -> !torch.list<vtensor>
    "torch.prim.Loop.condition"(%true, %m) : (!torch.bool, !torch.list<vtensor>) -> ()
  }) : (!torch.int, !torch.bool, !torch.list<vtensor>) -> !torch.list<vtensor>
  %f = "torch.aten.cat"(%ur, %trips) : (!torch.list<vtensor>, !torch.int) -> !x
  return %f : !x
}
