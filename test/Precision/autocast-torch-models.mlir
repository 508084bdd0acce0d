// A layer of BERT and a block of ResNet, in the form in which torch-mlir prints them
// (--mlir-print-op-generic): every op is known, and each is as PyTorch's autocast has
// it.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16 summary=%t.summary" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.summary
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-validate-precision="type=f16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" | diff %t.once.mlir -
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=bf16 strategy=paint" -o %t.paint.mlir
// RUN: mpt-opt %t.paint.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 strategy=paint" | diff %t.paint.mlir -

// SUMMARY: contractions in f16: 9, in f32: 0
// SUMMARY-NOT: on no list

!hidden = !torch.vtensor<[2,16,64],f32>
!qkv = !torch.vtensor<[2,16,192],f32>
!heads = !torch.vtensor<[2,16,4,16],f32>
!query = !torch.vtensor<[2,4,16,16],f32>
!key = !torch.vtensor<[2,4,16,16],f32>
!rows = !torch.vtensor<[8,16,16],f32>
!mask = !torch.vtensor<[2,1,1,16],f32>
!w = !torch.vtensor<[64,64],f32>
!wqkv = !torch.vtensor<[192,64],f32>
!wide = !torch.vtensor<[2,16,256],f32>
!vec = !torch.vtensor<[64],f32>
!ints = !torch.list<int>

// What makes the mask is not between two contractions.
// CHECK-LABEL: func.func @bert_layer(
// CHECK: %[[QKV:.*]] = "torch.aten.linear"({{.*}}) : {{.*}} -> !torch.vtensor<[2,16,192],f16>
// CHECK: "torch.aten.split.Tensor"(%[[QKV]], {{.*}}) : {{.*}} -> !torch.list<vtensor>
// CHECK: "torch.prim.ListUnpack"({{.*}}) : (!torch.list<vtensor>) -> (!torch.vtensor<[2,16,64],f16>, !torch.vtensor<[2,16,64],f16>, !torch.vtensor<[2,16,64],f16>)
// CHECK: "torch.aten.matmul"({{.*}}) : {{.*}} -> !torch.vtensor<[2,4,16,16],f16>
// CHECK: "torch.aten.mul.Scalar"(%arg1, {{.*}}) : {{.*}} -> !torch.vtensor<[2,1,1,16],f32>
// CHECK: "torch.aten.softmax.int"
// CHECK: "torch.aten.matmul"({{.*}}) : {{.*}} -> !torch.vtensor<[2,4,16,16],f16>
// CHECK: "torch.aten.layer_norm"
// CHECK: "torch.aten.gelu"({{.*}}) : (!torch.vtensor<[2,16,256],f16>, !torch.str) -> !torch.vtensor<[2,16,256],f16>
// CHECK: return %{{.*}} : !torch.vtensor<[2,16,64],f32>
func.func @bert_layer(%x: !hidden, %mask: !mask, %wqkv: !wqkv, %bqkv: !torch.vtensor<[192],f32>,
    %wo: !w, %bo: !vec, %g1: !vec, %b1: !vec, %w1: !torch.vtensor<[256,64],f32>,
    %c1: !torch.vtensor<[256],f32>, %w2: !torch.vtensor<[64,256],f32>, %c2: !vec,
    %g2: !vec, %b2: !vec) -> !hidden {
  %none = "torch.constant.none"() : () -> !torch.none
  %int1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %int2 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %int3 = "torch.constant.int"() {value = 3 : i64} : () -> !torch.int
  %int4 = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %int16 = "torch.constant.int"() {value = 16 : i64} : () -> !torch.int
  %int64 = "torch.constant.int"() {value = 64 : i64} : () -> !torch.int
  %last = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %false = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %lowest = "torch.constant.float"() {value = -3.4028234663852886E+38 : f64} : () -> !torch.float
  %eps = "torch.constant.float"() {value = 1.000000e-12 : f64} : () -> !torch.float
  %p = "torch.constant.float"() {value = 1.000000e-01 : f64} : () -> !torch.float
  %four = "torch.constant.float"() {value = 4.000000e+00 : f64} : () -> !torch.float
  %erf = "torch.constant.str"() {value = "none"} : () -> !torch.str
  %qkv = "torch.aten.linear"(%x, %wqkv, %bqkv) : (!hidden, !wqkv, !torch.vtensor<[192],f32>) -> !qkv
  %parts = "torch.aten.split.Tensor"(%qkv, %int64, %last) : (!qkv, !torch.int, !torch.int) -> !torch.list<vtensor>
  %q, %k, %v = "torch.prim.ListUnpack"(%parts) : (!torch.list<vtensor>) -> (!hidden, !hidden, !hidden)
  %shape = "torch.prim.ListConstruct"(%int2, %int16, %int4, %int16) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !ints
  %order = "torch.prim.ListConstruct"(%int1, %int2, %int1, %int3) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !ints
  %q0 = "torch.aten.view"(%q, %shape) : (!hidden, !ints) -> !heads
  %q1 = "torch.aten.permute"(%q0, %order) : (!heads, !ints) -> !query
  %k0 = "torch.aten.view"(%k, %shape) : (!hidden, !ints) -> !heads
  %k1 = "torch.aten.permute"(%k0, %order) : (!heads, !ints) -> !key
  %v0 = "torch.aten.view"(%v, %shape) : (!hidden, !ints) -> !heads
  %v1 = "torch.aten.permute"(%v0, %order) : (!heads, !ints) -> !key
  %k2 = "torch.aten.transpose.int"(%k1, %last, %int2) : (!key, !torch.int, !torch.int) -> !key
  %s = "torch.aten.matmul"(%q1, %k2) : (!query, !key) -> !query
  %s1 = "torch.aten.div.Scalar"(%s, %four) : (!query, !torch.float) -> !query
  %m0 = "torch.aten.rsub.Scalar"(%mask, %int1, %int1) : (!mask, !torch.int, !torch.int) -> !mask
  %m1 = "torch.aten.mul.Scalar"(%mask, %lowest) : (!mask, !torch.float) -> !mask
  %s2 = "torch.aten.add.Tensor"(%s1, %m1, %int1) : (!query, !mask, !torch.int) -> !query
  %a = "torch.aten.softmax.int"(%s2, %last, %none) : (!query, !torch.int, !torch.none) -> !query
  %a1 = "torch.aten.dropout"(%a, %p, %true) : (!query, !torch.float, !torch.bool) -> !query
  %o = "torch.aten.matmul"(%a1, %v1) : (!query, !key) -> !query
  %o1 = "torch.aten.permute"(%o, %order) : (!query, !ints) -> !heads
  %o2 = "torch.aten.contiguous"(%o1, %int1) : (!heads, !torch.int) -> !heads
  %o3 = "torch.aten.view"(%o2, %shape) : (!heads, !ints) -> !hidden
  %d = "torch.aten.linear"(%o3, %wo, %bo) : (!hidden, !w, !vec) -> !hidden
  %r = "torch.aten.add.Tensor"(%d, %x, %int1) : (!hidden, !hidden, !torch.int) -> !hidden
  %width = "torch.prim.ListConstruct"(%int64) : (!torch.int) -> !ints
  %n = "torch.aten.layer_norm"(%r, %width, %g1, %b1, %eps, %true) : (!hidden, !ints, !vec, !vec, !torch.float, !torch.bool) -> !hidden
  %f = "torch.aten.linear"(%n, %w1, %c1) : (!hidden, !torch.vtensor<[256,64],f32>, !torch.vtensor<[256],f32>) -> !wide
  %f1 = "torch.aten.gelu"(%f, %erf) : (!wide, !torch.str) -> !wide
  %f2 = "torch.aten.linear"(%f1, %w2, %c2) : (!wide, !torch.vtensor<[64,256],f32>, !vec) -> !hidden
  %r1 = "torch.aten.add.Tensor"(%f2, %n, %int1) : (!hidden, !hidden, !torch.int) -> !hidden
  %n1 = "torch.aten.layer_norm"(%r1, %width, %g2, %b2, %eps, %true) : (!hidden, !ints, !vec, !vec, !torch.float, !torch.bool) -> !hidden
  return %n1 : !hidden
}

!image = !torch.vtensor<[2,64,28,28],f32>
!filter = !torch.vtensor<[64,64,3,3],f32>

// Statistics, scale and offset of the norms are f32.
// CHECK-LABEL: func.func @resnet_block(
// CHECK: %[[C:.*]] = "torch.aten.convolution"({{.*}}) : {{.*}} -> !torch.vtensor<[2,64,28,28],f16>
// CHECK: %[[N:.*]] = "torch.aten.batch_norm"(%[[C]], %arg2, %arg3, %arg4, %arg5, {{.*}}) : (!torch.vtensor<[2,64,28,28],f16>, !torch.vtensor<[64],f32>, !torch.vtensor<[64],f32>, !torch.vtensor<[64],f32>, !torch.vtensor<[64],f32>, {{.*}}) -> !torch.vtensor<[2,64,28,28],f16>
// CHECK: "torch.aten.relu"(%[[N]]) : {{.*}} -> !torch.vtensor<[2,64,28,28],f16>
// CHECK: "torch.aten.adaptive_avg_pool2d"({{.*}}) : {{.*}} -> !torch.vtensor<[2,64,1,1],f16>
// CHECK: "torch.aten.linear"({{.*}}) : {{.*}} -> !torch.vtensor<[2,10],f16>
func.func @resnet_block(%x: !image, %w1: !filter, %g: !vec, %b: !vec, %mean: !vec,
    %var: !vec, %w2: !filter, %wl: !torch.vtensor<[10,64],f32>, %bl: !torch.vtensor<[10],f32>) -> !torch.vtensor<[2,10],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %int0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %int1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %last = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %true = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %false = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %momentum = "torch.constant.float"() {value = 1.000000e-01 : f64} : () -> !torch.float
  %eps = "torch.constant.float"() {value = 1.000000e-05 : f64} : () -> !torch.float
  %ones = "torch.prim.ListConstruct"(%int1, %int1) : (!torch.int, !torch.int) -> !ints
  %empty = "torch.prim.ListConstruct"() : () -> !ints
  %c1 = "torch.aten.convolution"(%x, %w1, %none, %ones, %ones, %ones, %false, %empty, %int1) : (!image, !filter, !torch.none, !ints, !ints, !ints, !torch.bool, !ints, !torch.int) -> !image
  %n1 = "torch.aten.batch_norm"(%c1, %g, %b, %mean, %var, %true, %momentum, %eps, %true) : (!image, !vec, !vec, !vec, !vec, !torch.bool, !torch.float, !torch.float, !torch.bool) -> !image
  %r1 = "torch.aten.relu"(%n1) : (!image) -> !image
  %c2 = "torch.aten.convolution"(%r1, %w2, %none, %ones, %ones, %ones, %false, %empty, %int1) : (!image, !filter, !torch.none, !ints, !ints, !ints, !torch.bool, !ints, !torch.int) -> !image
  %n2 = "torch.aten.batch_norm"(%c2, %g, %b, %mean, %var, %true, %momentum, %eps, %true) : (!image, !vec, !vec, !vec, !vec, !torch.bool, !torch.float, !torch.float, !torch.bool) -> !image
  %s = "torch.aten.add.Tensor"(%n2, %x, %int1) : (!image, !image, !torch.int) -> !image
  %r2 = "torch.aten.relu"(%s) : (!image) -> !image
  %p = "torch.aten.adaptive_avg_pool2d"(%r2, %ones) : (!image, !ints) -> !torch.vtensor<[2,64,1,1],f32>
  %f = "torch.aten.flatten.using_ints"(%p, %int1, %last) : (!torch.vtensor<[2,64,1,1],f32>, !torch.int, !torch.int) -> !torch.vtensor<[2,64],f32>
  %l = "torch.aten.linear"(%f, %wl, %bl) : (!torch.vtensor<[2,64],f32>, !torch.vtensor<[10,64],f32>, !torch.vtensor<[10],f32>) -> !torch.vtensor<[2,10],f32>
  return %l : !torch.vtensor<[2,10],f32>
}
