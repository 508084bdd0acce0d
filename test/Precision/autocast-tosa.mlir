// TOSA. bf16 contractions return f32, which is all that TOSA has; zero points and
// limits have the type of what they belong to.
// tosa-validate knows the types that the specification permits.
//
// RUN: mpt-opt %s --mpt-autocast="type=bf16" -o %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir
// RUN: mpt-opt %t.once.mlir --mpt-validate-precision="type=bf16" -o /dev/null
// RUN: mpt-opt %t.once.mlir --mpt-autocast="type=bf16" | diff %t.once.mlir -
// RUN: mlir-opt %t.once.mlir --tosa-attach-target="profiles=pro_fp,pro_int extensions=bf16,controlflow" --tosa-validate="strict-op-spec-alignment" -o %t.valid
// RUN: mpt-opt %s --mpt-autocast="type=f16" -o %t.f16.mlir
// RUN: mlir-opt %t.f16.mlir --tosa-attach-target="profiles=pro_fp,pro_int extensions=controlflow" --tosa-validate="strict-op-spec-alignment" -o %t.valid
// RUN: mpt-opt %t.f16.mlir --mpt-autocast="type=f16" | diff %t.f16.mlir -

!x = tensor<1x4x4xf32>

// CHECK-LABEL: func.func @mlp(
// CHECK-DAG: %[[XL:.*]] = tosa.cast %arg0 {mpt.autocast} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
// CHECK-DAG: %[[WL:.*]] = tosa.cast %arg1 {mpt.autocast} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
// CHECK-DAG: %[[Z:.*]] = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xbf16>}>
// CHECK: %[[M:.*]] = tosa.matmul %[[XL]], %[[WL]], %[[Z]], %[[Z]] : {{.*}} -> tensor<1x4x4xf32>
// CHECK: %[[L:.*]] = tosa.cast %[[M]] {mpt.autocast} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
// CHECK: tosa.tanh %[[L]] : (tensor<1x4x4xbf16>) -> tensor<1x4x4xbf16>
// CHECK: tosa.clamp {{.*}} {max_val = 0x7F80 : bf16, min_val = 0.000000e+00 : bf16} : (tensor<1x8x4xbf16>) -> tensor<1x8x4xbf16>
// CHECK: %[[Y:.*]] = tosa.matmul {{.*}} -> tensor<1x8x4xf32>
// CHECK: tosa.exp %[[Y]] : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
func.func @mlp(%x: !x, %w: !x) -> tensor<1x8x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %m = tosa.matmul %x, %w, %zp, %zp : (!x, !x, tensor<1xf32>, tensor<1xf32>) -> !x
  %s = tosa.tanh %m : (!x) -> !x
  %t = tosa.concat %s, %s {axis = 1 : i32} : (!x, !x) -> tensor<1x8x4xf32>
  %r = tosa.clamp %t {min_val = 0.0 : f32, max_val = 3.40282347E+38 : f32} : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %y = tosa.matmul %r, %w, %zp, %zp : (tensor<1x8x4xf32>, !x, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x4xf32>
  %e = tosa.exp %y : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  return %e : tensor<1x8x4xf32>
}

// CHECK-LABEL: func.func @cnn(
// CHECK: %[[C:.*]] = tosa.conv2d {{.*}}acc_type = f32{{.*}} : (tensor<1x8x8x4xbf16>, tensor<4x3x3x4xbf16>, tensor<4xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<1x6x6x4xbf16>
// CHECK: %[[P:.*]] = tosa.max_pool2d %[[C]] {{.*}} -> tensor<1x3x3x4xbf16>
// CHECK: tosa.conv2d %[[P]], {{.*}} -> tensor<1x1x1x4xbf16>
// CHECK: tosa.cast {{.*}} {mpt.autocast} : (tensor<1x1x1x4xbf16>) -> tensor<1x1x1x4xf32>
func.func @cnn(%x: tensor<1x8x8x4xf32>, %w: tensor<4x3x3x4xf32>, %b: tensor<4xf32>) -> tensor<1x1x1x4xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %c = tosa.conv2d %x, %w, %b, %zp, %zp {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
      : (tensor<1x8x8x4xf32>, tensor<4x3x3x4xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x4xf32>
  %p = tosa.max_pool2d %c {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
      : (tensor<1x6x6x4xf32>) -> tensor<1x3x3x4xf32>
  %d = tosa.conv2d %p, %w, %b, %zp, %zp {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
      : (tensor<1x3x3x4xf32>, tensor<4x3x3x4xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x1x4xf32>
  return %d : tensor<1x1x1x4xf32>
}

// What a loop carries is one variable. The weight is low, cast in front of the loop;
// what the contractions make is f32. The regions stay isolated.
// CHECK-LABEL: func.func @loop(
// CHECK: %[[WL:.*]] = tosa.cast %arg1 {mpt.autocast} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
// CHECK: tosa.while_loop (%{{.*}} = %arg2, %{{.*}} = %arg0, %{{.*}} = %[[WL]]) : (tensor<i32>, tensor<1x4x4xf32>, tensor<1x4x4xbf16>) -> (tensor<i32>, tensor<1x4x4xf32>, tensor<1x4x4xbf16>)
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[C:.*]]: tensor<1x4x4xf32>, %[[W:.*]]: tensor<1x4x4xbf16>):
// CHECK: %[[L:.*]] = tosa.cast %[[C]] {mpt.autocast} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
// CHECK: %[[M:.*]] = tosa.matmul %[[L]], %[[W]], {{.*}} -> tensor<1x4x4xf32>
// CHECK: tosa.yield %{{.*}}, %[[M]], %[[W]] : tensor<i32>, tensor<1x4x4xf32>, tensor<1x4x4xbf16>
func.func @loop(%x: !x, %w: !x, %n: tensor<i32>) -> !x {
  %r:3 = tosa.while_loop (%i = %n, %c = %x, %v = %w) : (tensor<i32>, !x, !x) -> (tensor<i32>, !x, !x) {
    %ten = "tosa.const"() <{values = dense<10> : tensor<i32>}> : () -> tensor<i32>
    %p = tosa.greater_equal %ten, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tosa.yield %p : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %c: !x, %v: !x):
    %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %one = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %j = tosa.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %m = tosa.matmul %c, %v, %zp, %zp : (!x, !x, tensor<1xf32>, tensor<1xf32>) -> !x
    tosa.yield %j, %m, %v : tensor<i32>, !x, !x
  }
  return %r#1 : !x
}

// A sum is f32, and what it reads and the contractions only need be cast once.
// CHECK-LABEL: func.func @others(
// CHECK: tosa.mul {{.*}} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xi8>) -> tensor<1x4x4xf32>
// CHECK: tosa.negate {{.*}} : (tensor<1x4x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
// CHECK: %[[F:.*]] = tosa.cast %arg2 : (tensor<1x4x4xi32>) -> tensor<1x4x4xf32>
// CHECK: %[[A:.*]] = tosa.add {{.*}} -> tensor<1x4x4xf32>
// CHECK: tosa.reduce_sum %[[A]] {axis = 2 : i32} : (tensor<1x4x4xf32>) -> tensor<1x4x1xf32>
// CHECK: tosa.cast %[[A]] : (tensor<1x4x4xf32>) -> tensor<1x4x4xi32>
func.func @others(%x: !x, %w: !x, %i: tensor<1x4x4xi32>) -> (!x, tensor<1x4x1xf32>, tensor<1x4x4xi32>) {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %m = tosa.matmul %x, %w, %zp, %zp : (!x, !x, tensor<1xf32>, tensor<1xf32>) -> !x
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %q = tosa.mul %m, %x, %shift : (!x, !x, tensor<1xi8>) -> !x
  %n = tosa.negate %q, %zp, %zp : (!x, tensor<1xf32>, tensor<1xf32>) -> !x
  %f = tosa.cast %i : (tensor<1x4x4xi32>) -> !x
  %a = tosa.add %n, %f : (!x, !x) -> !x
  %y = tosa.matmul %a, %w, %zp, %zp : (!x, !x, tensor<1xf32>, tensor<1xf32>) -> !x
  %s = tosa.reduce_sum %a {axis = 2 : i32} : (!x) -> tensor<1x4x1xf32>
  %j = tosa.cast %a : (!x) -> tensor<1x4x4xi32>
  return %y, %s, %j : !x, tensor<1x4x1xf32>, tensor<1x4x4xi32>
}
