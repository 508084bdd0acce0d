// Lists of tensors of the torch dialect, whose types say what they hold or not: all
// that works on one list is low, or all is f32.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-validate-precision="type=f16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" | diff %t.once.mlir -
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="policy=torch-cuda" | FileCheck %s --check-prefix=PROMOTE

!x = !torch.vtensor<[8,4],f32>
!y = !torch.vtensor<[8,8],f32>
!w = !torch.vtensor<[4,4],f32>
!v = !torch.vtensor<[8,4],f32>

// Made of what is low, read by what is low.
// CHECK-LABEL: func.func @cat(
// CHECK: %[[A:.*]] = "torch.aten.mm"
// CHECK: %[[B:.*]] = "torch.aten.mm"
// CHECK: %[[L:.*]] = "torch.prim.ListConstruct"(%[[A]], %[[B]]) : (!torch.vtensor<[8,4],f16>, !torch.vtensor<[8,4],f16>) -> !torch.list<vtensor>
// CHECK: %[[C:.*]] = "torch.aten.cat"(%[[L]], %{{.*}}) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[8,8],f16>
// CHECK: "torch.aten.mm"(%[[C]], %{{.*}}) : (!torch.vtensor<[8,8],f16>
func.func @cat(%x: !x, %w: !w, %v: !y) -> !y {
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %b = "torch.aten.mm"(%a, %w) : (!x, !w) -> !x
  %l = "torch.prim.ListConstruct"(%a, %b) : (!x, !x) -> !torch.list<vtensor>
  %c = "torch.aten.cat"(%l, %one) : (!torch.list<vtensor>, !torch.int) -> !y
  %d = "torch.aten.mm"(%c, %v) : (!y, !y) -> !y
  return %d : !y
}

// The list's type says what it holds.
// CHECK-LABEL: func.func @stack(
// CHECK: "torch.prim.ListConstruct"({{.*}}) : (!torch.vtensor<[8,4],f16>, !torch.vtensor<[8,4],f16>) -> !torch.list<vtensor<[8,4],f16>>
// CHECK: "torch.aten.stack"({{.*}}) : (!torch.list<vtensor<[8,4],f16>>, !torch.int) -> !torch.vtensor<[2,8,4],f16>
func.func @stack(%x: !x, %w: !w, %b: !torch.vtensor<[2,4,4],f32>) -> !torch.vtensor<[2,8,4],f32> {
  %zero = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %l = "torch.prim.ListConstruct"(%a, %x) : (!x, !x) -> !torch.list<vtensor<[8,4],f32>>
  %c = "torch.aten.stack"(%l, %zero) : (!torch.list<vtensor<[8,4],f32>>, !torch.int) -> !torch.vtensor<[2,8,4],f32>
  %d = "torch.aten.bmm"(%c, %b) : (!torch.vtensor<[2,8,4],f32>, !torch.vtensor<[2,4,4],f32>) -> !torch.vtensor<[2,8,4],f32>
  return %d : !torch.vtensor<[2,8,4],f32>
}

// The three parts of what attention's one contraction makes.
// CHECK-LABEL: func.func @split(
// CHECK: %[[S:.*]] = "torch.aten.split.Tensor"({{.*}}) : (!torch.vtensor<[8,12],f16>, !torch.int, !torch.int) -> !torch.list<vtensor<[8,4],f16>>
// CHECK: %[[U:.*]]:3 = "torch.prim.ListUnpack"(%[[S]]) : (!torch.list<vtensor<[8,4],f16>>) -> (!torch.vtensor<[8,4],f16>, !torch.vtensor<[8,4],f16>, !torch.vtensor<[8,4],f16>)
// CHECK: "torch.aten.mm"(%[[U]]#0, %{{.*}}) : (!torch.vtensor<[8,4],f16>
func.func @split(%x: !x, %w: !torch.vtensor<[4,12],f32>) -> (!torch.vtensor<[8,8],f32>) {
  %four = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %a = "torch.aten.mm"(%x, %w) : (!x, !torch.vtensor<[4,12],f32>) -> !torch.vtensor<[8,12],f32>
  %s = "torch.aten.split.Tensor"(%a, %four, %one) : (!torch.vtensor<[8,12],f32>, !torch.int, !torch.int) -> !torch.list<vtensor<[8,4],f32>>
  %u:3 = "torch.prim.ListUnpack"(%s) : (!torch.list<vtensor<[8,4],f32>>) -> (!x, !x, !x)
  %t = "torch.aten.t"(%u#1) : (!x) -> !torch.vtensor<[4,8],f32>
  %d = "torch.aten.mm"(%u#0, %t) : (!x, !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[8,8],f32>
  %e = "torch.aten.mm"(%d, %u#2) : (!torch.vtensor<[8,8],f32>, !x) -> !x
  %f = "torch.aten.t"(%e) : (!x) -> !torch.vtensor<[4,8],f32>
  %g = "torch.aten.mm"(%e, %f) : (!x, !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[8,8],f32>
  return %g : !torch.vtensor<[8,8],f32>
}

// A contraction that reads a list.
// CHECK-LABEL: func.func @einsum(
// CHECK: "torch.prim.ListConstruct"({{.*}}) : (!torch.vtensor<[8,4],f16>, !torch.vtensor<[4,4],f16>) -> !torch.list<vtensor>
// CHECK: "torch.aten.einsum"({{.*}}) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !torch.vtensor<[8,4],f16>
func.func @einsum(%x: !x, %w: !w) -> !x {
  %equation = "torch.constant.str"() {value = "ij,jk->ik"} : () -> !torch.str
  %none = "torch.constant.none"() : () -> !torch.none
  %l = "torch.prim.ListConstruct"(%x, %w) : (!x, !w) -> !torch.list<vtensor>
  %d = "torch.aten.einsum"(%equation, %l, %none) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !x
  return %d : !x
}

// Must stay: nobody says what an operator's list holds, nor what it wants.
// CHECK-LABEL: func.func @foreign(
// CHECK: %[[A:.*]] = "torch.aten.mm"
// CHECK: %[[U:.*]] = "torch.aten.to.dtype"(%[[A]]
// CHECK: %[[L:.*]] = "torch.prim.ListConstruct"(%[[U]], %arg0) : (!torch.vtensor<[8,4],f32>, !torch.vtensor<[8,4],f32>) -> !torch.list<vtensor>
// CHECK: %[[F:.*]] = "torch.operator"(%[[L]])
// CHECK: %[[C:.*]] = "torch.aten.cat"(%[[F]], %{{.*}}) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[8,4],f32>
func.func @foreign(%x: !x, %w: !w) -> !x {
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %l = "torch.prim.ListConstruct"(%a, %x) : (!x, !x) -> !torch.list<vtensor>
  %f = "torch.operator"(%l) {name = "my.op"} : (!torch.list<vtensor>) -> !torch.list<vtensor>
  %c = "torch.aten.cat"(%f, %one) : (!torch.list<vtensor>, !torch.int) -> !x
  %d = "torch.aten.mm"(%c, %w) : (!x, !w) -> !x
  return %d : !x
}

// Must stay: the list is returned.
// CHECK-LABEL: func.func @returned(
// CHECK-SAME: -> !torch.list<vtensor<[8,4],f32>>
// CHECK: "torch.prim.ListConstruct"({{.*}}) : (!torch.vtensor<[8,4],f32>) -> !torch.list<vtensor<[8,4],f32>>
func.func @returned(%x: !x, %w: !w) -> !torch.list<vtensor<[8,4],f32>> {
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %l = "torch.prim.ListConstruct"(%a) : (!x) -> !torch.list<vtensor<[8,4],f32>>
  return %l : !torch.list<vtensor<[8,4],f32>>
}

// Must stay: a list of lists, one of pairs, and one whose tensor has an unknown type.
// CHECK-LABEL: func.func @nested(
// CHECK: "torch.prim.ListConstruct"({{.*}}) : (!torch.vtensor<[8,4],f32>) -> !torch.list<vtensor>
// CHECK: "torch.prim.ListConstruct"({{.*}}) : (!torch.list<vtensor>) -> !torch.list<list<vtensor>>
// CHECK: "torch.prim.TupleConstruct"({{.*}}) : (!torch.vtensor<[8,4],f32>, !torch.int) -> !torch.tuple<vtensor<[8,4],f32>, int>
// CHECK: "torch.prim.ListConstruct"({{.*}}) : (!torch.vtensor<[8,4],f32>, !torch.vtensor) -> !torch.list<vtensor>
func.func @nested(%x: !x, %w: !w, %u: !torch.vtensor) -> !torch.list<list<vtensor>> {
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %l = "torch.prim.ListConstruct"(%a) : (!x) -> !torch.list<vtensor>
  %ll = "torch.prim.ListConstruct"(%l) : (!torch.list<vtensor>) -> !torch.list<list<vtensor>>
  %t = "torch.prim.TupleConstruct"(%a, %one) : (!x, !torch.int) -> !torch.tuple<vtensor<[8,4],f32>, int>
  %tl = "torch.prim.ListConstruct"(%t) : (!torch.tuple<vtensor<[8,4],f32>, int>) -> !torch.list<tuple<vtensor<[8,4],f32>, int>>
  %m = "torch.prim.ListConstruct"(%a, %u) : (!x, !torch.vtensor) -> !torch.list<vtensor>
  %c = "torch.aten.cat"(%m, %one) : (!torch.list<vtensor>, !torch.int) -> !x
  %d = "torch.aten.mm"(%c, %w) : (!x, !w) -> !x
  return %ll : !torch.list<list<vtensor>>
}

// Lists of indices are none of ours.
// CHECK-LABEL: func.func @index(
// CHECK: %[[L:.*]] = "torch.prim.ListConstruct"(%arg2) : (!torch.vtensor<[3],si64>) -> !torch.list<optional<vtensor>>
// CHECK: "torch.aten.index.Tensor"(%{{.*}}, %[[L]]) : (!torch.vtensor<[8,4],f16>, !torch.list<optional<vtensor>>) -> !torch.vtensor<[3,4],f16>
func.func @index(%x: !x, %w: !w, %i: !torch.vtensor<[3],si64>) -> !torch.vtensor<[3,4],f32> {
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %l = "torch.prim.ListConstruct"(%i) : (!torch.vtensor<[3],si64>) -> !torch.list<optional<vtensor>>
  %c = "torch.aten.index.Tensor"(%a, %l) : (!x, !torch.list<optional<vtensor>>) -> !torch.vtensor<[3,4],f32>
  %d = "torch.aten.mm"(%c, %w) : (!torch.vtensor<[3,4],f32>, !w) -> !torch.vtensor<[3,4],f32>
  return %d : !torch.vtensor<[3,4],f32>
}

// PyTorch casts each tensor of einsum's list; cat's type is the widest of its list's.
// PROMOTE-LABEL: func.func @of_parameters(
// PROMOTE: "torch.prim.ListConstruct"(%{{.*}}) : (!torch.vtensor<[8,4],f16>, !torch.vtensor<[4,4],f16>) -> !torch.list<vtensor>
// PROMOTE: "torch.aten.einsum"{{.*}} -> !torch.vtensor<[8,4],f16>
// PROMOTE: "torch.prim.ListConstruct"(%{{.*}}) : (!torch.vtensor<[8,4],f32>, !torch.vtensor<[8,4],f32>) -> !torch.list<vtensor>
// PROMOTE: "torch.aten.cat"{{.*}} -> !torch.vtensor<[8,8],f32>
func.func @of_parameters(%x: !x, %w: !w) -> (!x, !y) {
  %none = "torch.constant.none"() : () -> !torch.none
  %text = "torch.constant.str"() {value = "ij,kj->ik"} : () -> !torch.str
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l = "torch.prim.ListConstruct"(%x, %w) : (!x, !w) -> !torch.list<vtensor>
  %a = "torch.aten.einsum"(%text, %l, %none) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !x
  %m = "torch.prim.ListConstruct"(%a, %x) : (!x, !x) -> !torch.list<vtensor>
  %b = "torch.aten.cat"(%m, %one) : (!torch.list<vtensor>, !torch.int) -> !y
  return %a, %b : !x, !y
}
