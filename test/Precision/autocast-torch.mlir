// torch-mlir's ops, by a rule table: tensor types are text here, casts name their
// type by PyTorch's code (5 is f16, 15 is bf16, 6 is f32).
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-validate-precision="type=f16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" | diff %t.once.mlir -
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16" -o %t.bf16.mlir
// RUN: FileCheck %s --check-prefix=BF16 < %t.bf16.mlir
// RUN: mpt-opt %t.bf16.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16" | diff %t.bf16.mlir -

!x = !torch.vtensor<[8,4],f32>
!w = !torch.vtensor<[4,4],f32>
!b = !torch.vtensor<[4],f32>

// CHECK-LABEL: func.func @mlp(
// BF16-LABEL: func.func @mlp(
// CHECK-DAG: %[[F16:.*]] = "torch.constant.int"() {value = 5 : i64} : () -> !torch.int
// CHECK-DAG: %[[F32:.*]] = "torch.constant.int"() {value = 6 : i64} : () -> !torch.int
// CHECK-DAG: %[[NO:.*]] = "torch.constant.bool"() {value = false} : () -> !torch.bool
// CHECK-DAG: %[[NONE:.*]] = "torch.constant.none"() : () -> !torch.none
// CHECK: %[[W:.*]] = "torch.aten.to.dtype"(%arg1, %[[F16]], %[[NO]], %[[NO]], %[[NONE]]) {mpt.autocast} : (!torch.vtensor<[4,4],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[4,4],f16>
// CHECK: "torch.aten.linear"({{.*}}, %[[W]], {{.*}}) : {{.*}} -> !torch.vtensor<[8,4],f16>
// CHECK: "torch.aten.relu"({{.*}}) : (!torch.vtensor<[8,4],f16>) -> !torch.vtensor<[8,4],f16>
// CHECK: %[[C:.*]] = "torch.vtensor.literal"() {value = dense<5.000000e-01> : tensor<4xf16>} : () -> !torch.vtensor<[4],f16>
// CHECK: "torch.aten.add.Tensor"(%{{.*}}, %[[C]], %{{.*}}) : {{.*}} -> !torch.vtensor<[8,4],f16>
// CHECK: "torch.aten.softmax.int"({{.*}}) : {{.*}} -> !torch.vtensor<[8,4],f16>
// CHECK: %[[D:.*]] = "torch.aten.mm"({{.*}}) : {{.*}} -> !torch.vtensor<[8,4],f16>
// CHECK: %[[R:.*]] = "torch.aten.to.dtype"(%[[D]], %[[F32]], %[[NO]], %[[NO]], %[[NONE]]) {mpt.autocast} : (!torch.vtensor<[8,4],f16>, {{.*}}) -> !torch.vtensor<[8,4],f32>
// CHECK: return %[[R]]
// BF16: "torch.constant.int"() {value = 15 : i64} : () -> !torch.int
func.func @mlp(%x: !x, %w: !w, %b: !b) -> !x {
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %none = "torch.constant.none"() : () -> !torch.none
  %a = "torch.aten.linear"(%x, %w, %b) : (!x, !w, !b) -> !x
  %r = "torch.aten.relu"(%a) : (!x) -> !x
  %l = "torch.vtensor.literal"() {value = dense<0.5> : tensor<4xf32>} : () -> !b
  %s = "torch.aten.add.Tensor"(%r, %l, %one) : (!x, !b, !torch.int) -> !x
  %c = "torch.aten.linear"(%s, %w, %b) : (!x, !w, !b) -> !x
  %p = "torch.aten.softmax.int"(%c, %one, %none) : (!x, !torch.int, !torch.none) -> !x
  %d = "torch.aten.mm"(%p, %w) : (!x, !w) -> !x
  return %d : !x
}

// The lists of the CPU, for bf16, do not have exp.
// CHECK-LABEL: func.func @exp(
// BF16-LABEL: func.func @exp(
// CHECK: %[[A:.*]] = "torch.aten.mm"
// CHECK: %[[U:.*]] = "torch.aten.to.dtype"(%[[A]], {{.*}}) {mpt.autocast}
// CHECK: %[[E:.*]] = "torch.aten.exp"(%[[U]]) : (!torch.vtensor<[8,4],f32>) -> !torch.vtensor<[8,4],f32>
// BF16: "torch.aten.exp"({{.*}}) : (!torch.vtensor<[8,4],bf16>) -> !torch.vtensor<[8,4],bf16>
func.func @exp(%x: !x, %w: !w) -> !x {
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %e = "torch.aten.exp"(%a) : (!x) -> !x
  %c = "torch.aten.mm"(%e, %w) : (!x, !w) -> !x
  return %c : !x
}

// A result type that the program gives is kept; so are casts, also from integers, but one
// from f32 to f32 is nothing.
// CHECK-LABEL: func.func @given(
// CHECK: "torch.aten.softmax.int"({{.*}}) : (!torch.vtensor<[8,4],f32>, !torch.int, !torch.int) -> !torch.vtensor<[8,4],f32>
// CHECK: %[[C:.*]] = "torch.aten.mm"
// CHECK: %[[T:.*]] = "torch.aten.to.dtype"(%[[C]], {{.*}}) {mpt.autocast} : (!torch.vtensor<[8,4],f16>, {{.*}}) -> !torch.vtensor<[8,4],f32>
// CHECK: %[[J:.*]] = "torch.aten.to.dtype"(%arg2, {{.*}}) : (!torch.vtensor<[8,4],si64>, {{.*}}) -> !torch.vtensor<[8,4],f32>
// CHECK: %[[L:.*]] = "torch.aten.to.dtype"(%[[J]], {{.*}}) {mpt.autocast} : (!torch.vtensor<[8,4],f32>, {{.*}}) -> !torch.vtensor<[8,4],f16>
// CHECK: "torch.aten.mm"(%[[L]], {{.*}})
func.func @given(%x: !x, %w: !w, %i: !torch.vtensor<[8,4],si64>) -> (!x, !x) {
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %f32 = "torch.constant.int"() {value = 6 : i64} : () -> !torch.int
  %false = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %none = "torch.constant.none"() : () -> !torch.none
  %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
  %p = "torch.aten.softmax.int"(%a, %one, %f32) : (!x, !torch.int, !torch.int) -> !x
  %c = "torch.aten.mm"(%p, %w) : (!x, !w) -> !x
  %t = "torch.aten.to.dtype"(%c, %f32, %false, %false, %none) : (!x, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !x
  %j = "torch.aten.to.dtype"(%i, %f32, %false, %false, %none) : (!torch.vtensor<[8,4],si64>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !x
  %d = "torch.aten.mm"(%j, %w) : (!x, !w) -> !x
  return %t, %d : !x, !x
}

// In a branch too, the constants of casts stand where all of them can be read.
// CHECK-LABEL: func.func @nested(
// CHECK-NEXT: %[[F16:.*]] = "torch.constant.int"() {value = 5 : i64}
// CHECK: "torch.prim.If"
// CHECK: %[[X:.*]] = "acme.read"
// CHECK: %[[L:.*]] = "torch.aten.to.dtype"(%[[X]], %[[F16]], {{.*}}) {mpt.autocast}
// CHECK: "torch.aten.mm"(%[[L]], {{.*}}) : {{.*}} -> !torch.vtensor<[8,4],f16>
func.func @nested(%p: !torch.bool, %w: !w) -> !x {
  %r = "torch.prim.If"(%p) ({
    %x = "acme.read"() : () -> !x
    %a = "torch.aten.mm"(%x, %w) : (!x, !w) -> !x
    "torch.prim.If.yield"(%a) : (!x) -> ()
  }, {
    %x = "acme.read"() : () -> !x
    "torch.prim.If.yield"(%x) : (!x) -> ()
  }) : (!torch.bool) -> !x
  return %r : !x
}

// A scalar constant that the low type cannot hold keeps its reader in f32, as does what
// is behind a mask up to the softmax; one that it holds does not.
// CHECK-LABEL: @scalars
// CHECK: torch.aten.masked_fill.Scalar{{.*}} -> !torch.vtensor<[16,16],f32>
// CHECK: torch.aten._softmax{{.*}} -> !torch.vtensor<[16,16],f32>
// CHECK: torch.aten.mul.Scalar{{.*}} -> !torch.vtensor<[16,16],f16>
func.func @scalars(%x: !torch.vtensor<[16,16],f32>, %m: !torch.vtensor<[16,16],i1>) -> !torch.vtensor<[16,16],f32> {
  %lowest = "torch.constant.float"() {value = -3.4028234663852886E+38 : f64} : () -> !torch.float
  %half = "torch.constant.float"() {value = 5.0E-1 : f64} : () -> !torch.float
  %axis = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %false = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %0 = "torch.aten.mm"(%x, %x) : (!torch.vtensor<[16,16],f32>, !torch.vtensor<[16,16],f32>) -> !torch.vtensor<[16,16],f32>
  %1 = "torch.aten.masked_fill.Scalar"(%0, %m, %lowest) : (!torch.vtensor<[16,16],f32>, !torch.vtensor<[16,16],i1>, !torch.float) -> !torch.vtensor<[16,16],f32>
  %2 = "torch.aten._softmax"(%1, %axis, %false) : (!torch.vtensor<[16,16],f32>, !torch.int, !torch.bool) -> !torch.vtensor<[16,16],f32>
  %3 = "torch.aten.mm"(%2, %x) : (!torch.vtensor<[16,16],f32>, !torch.vtensor<[16,16],f32>) -> !torch.vtensor<[16,16],f32>
  %4 = "torch.aten.mul.Scalar"(%3, %half) : (!torch.vtensor<[16,16],f32>, !torch.float) -> !torch.vtensor<[16,16],f32>
  %5 = "torch.aten.mm"(%4, %x) : (!torch.vtensor<[16,16],f32>, !torch.vtensor<[16,16],f32>) -> !torch.vtensor<[16,16],f32>
  return %5 : !torch.vtensor<[16,16],f32>
}
